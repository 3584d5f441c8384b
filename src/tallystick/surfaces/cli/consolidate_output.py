"""What a rule made of episodes, as a person reads it. What others wrote is shown like all stored text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tallystick.records.belief import OWNER
from tallystick.records.fact_view import text_of, triple_of
from tallystick.surfaces.present.names import handle
from tallystick.surfaces.present.terminal import bold, dim, warn, width
from tallystick.surfaces.present.text import cells, short, shown
from tallystick.surfaces.present.time import ago, count, when

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.delta import Delta
    from tallystick.records.episode import Episode
    from tallystick.records.fact import Fact
    from tallystick.records.rule import Consolidated, ConsolidationRule, Finding, RuleStatus

KINDS = ("add", "update", "delete", "noop")

_COLOURS = {"add": "green", "update": "yellow", "delete": "red"}
_SHOWN = 50  # lines of one kind; --json has all
_KIND_ROOM, _FROM_ROOM, _NAME_ROOM = 6, 26, 24
_REASON = 400
_AROUND = 45  # characters of a filter before and after what is pointed at


class Line(NamedTuple):
    """One change: of which kind, what it says, how sure that is, and from which episodes."""

    kind: str
    says: str
    confidence: float
    episodes: Sequence[str]


# -- what was made -----------------------------------------------------------------------------------------------------


def came_to(made: Consolidated) -> Iterator[str]:
    """A run of a rule: a summary, then everything that it changed, what waits and what made no sense."""
    lines = [_of_fact(fact) for fact in made.facts]
    yield f"{bold(shown(made.rule))}{dim(':')} {_summary(lines, made.considered)}"
    yield from _table(lines)
    if made.waiting:
        names = " ".join(shown(review[-6:]) for review in made.waiting[:_SHOWN])
        wait = "waits" if len(made.waiting) == 1 else "wait"
        yield warn(f"  {count(len(made.waiting), 'review')} {wait} for a yes: {names}") + dim("    tallystick review")
    yield from _findings((each.episode_id, each.reason) for each in made.findings)


def proposed(memory: Memory, rule: ConsolidationRule, deltas: Any) -> Iterator[str]:
    """What a rule would make."""
    lines = [_of_delta(memory, delta) for delta in deltas if delta.kind != "noop" or delta.corroborates]
    yield f"{bold(shown(rule.id))}{dim(':')} {_summary(lines)}{dim('; nothing was changed')}"
    yield from _table(lines)
    yield from _findings((each.episode_id, each.reason) for each in deltas.findings)


def what_was_due(made: Sequence[Consolidated]) -> Iterator[str]:
    """A line for each rule that ran, without any of its words."""
    for each in made:
        whose = "" if each.user == OWNER else dim(f" of {short(each.user, 40)}")
        parts = [_summary([_of_fact(fact) for fact in each.facts], each.considered)]
        if each.waiting:
            parts.append(f"{count(len(each.waiting), 'review')} to answer")
        if each.findings:
            parts.append(count(len(each.findings), "finding"))
        yield f"{bold(shown(each.rule))}{whose}{dim(':')} {', '.join(parts)}"


def _summary(lines: Sequence[Line], considered: int | None = None) -> str:
    """How much was changed; of a rule that found nothing new, that."""
    made = Counter(line.kind for line in lines)
    kinds = ", ".join(f"{made[kind]:,} {kind}" for kind in KINDS if made[kind]) or "nothing new"
    return kinds if considered is None else f"{kinds} of {count(considered, 'episode')}"


def _of_fact(fact: Fact) -> Line:
    step = fact.lineage[-1] if fact.lineage else {}
    says = _says(fact.payload) or fact.id
    return Line(str(step.get("kind", "add")), says, fact.confidence, step.get("source_episode_ids", ()))


def _of_delta(memory: Memory, delta: Delta) -> Line:
    if delta.kind == "delete":
        says = ", ".join(_named(memory, name) for name in delta.replaces)
    elif delta.kind == "noop":
        says = ", ".join(_named(memory, name) for name in delta.corroborates)
    else:
        says = _says(delta.fact_payload)
    return Line(delta.kind, says, delta.confidence, delta.source_episode_ids)


def _named(memory: Memory, name: str) -> str:
    """What a name means: a fact, or whatever comes from an episode."""
    belief = memory.get(name)
    if belief is not None:
        return " → ".join(belief.triple) or belief.text
    return f"what comes of {handle(name)}"


def _says(payload: dict[str, Any]) -> str:
    return " → ".join(triple_of(payload)) or text_of(payload)


def _table(made: Sequence[Line]) -> Iterator[str]:
    room = width() - _KIND_ROOM - _FROM_ROOM - 14
    widest = min(max((cells(short(line.says, room)) for line in made[:_SHOWN]), default=0), room)
    for line in made[:_SHOWN]:
        kind = click.style(line.kind.ljust(_KIND_ROOM), fg=_COLOURS.get(line.kind), dim=line.kind == "noop")
        says = short(line.says, room)
        pad = " " * (widest - cells(says))
        origin = ", ".join(line.episodes)
        yield f"  {kind}  {says}{pad}  {dim(f'{line.confidence:<4.2g}')}  {dim(short(origin, _FROM_ROOM))}"
    if len(made) > _SHOWN:
        yield dim(f"  and {len(made) - _SHOWN:,} more, shown by --json")


def _findings(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    listed = list(found)
    for name, reason in listed[:_SHOWN]:
        yield warn(f"  set aside {short(name, _FROM_ROOM)}: ") + short(reason, _REASON)
    if len(listed) > _SHOWN:
        yield dim(f"  and {len(listed) - _SHOWN:,} more; `tallystick consolidate --findings` lists them")


# -- rules and findings ------------------------------------------------------------------------------------------------


def rules_page(rules: Sequence[RuleStatus]) -> Iterator[str]:
    """A line for each rule that is kept."""
    rows = [(short(each.rule.id, _NAME_ROOM), _cadence(each.rule.cadence), each) for each in rules]
    names = max(cells(name) for name, *_ in rows)
    whens = max(cells(cadence) for _, cadence, _ in rows)
    for name, cadence, each in rows:
        pads = " " * (names - cells(name)), " " * (whens - cells(cadence))
        last = f"last ran {ago(each.last)}" if each.last else "never ran"
        then = "  " + warn("due now") if each.is_due else dim(f"  next {when(each.next)}") if each.next else ""
        yield f"{bold(name)}{pads[0]}  {cadence}{pads[1]}  {each.waiting:>5,} waiting  {dim(last)}{then}"


def _cadence(cadence: dict[str, Any]) -> str:
    if "every" in cadence:
        return f"every {count(cadence['every'], 'episode')}"
    if "cron" in cadence:
        return short(f"cron {cadence['cron']} {cadence.get('zone', 'UTC')}", 60)
    return "when asked"


def findings_page(found: Sequence[tuple[Finding, Episode | None]]) -> Iterator[str]:
    """A line for each episode that was set aside, and below it why."""
    for each, episode in found:
        name, words = (episode.id, episode.content) if episode else (each.source, "")
        name = short(name, _FROM_ROOM)
        yield f"{bold(name)}  {short(words, width() - cells(name) - 2)}".rstrip()
        yield dim(f"    {shown(each.rule)}: ") + short(each.reason, _REASON)


# -- a filter that is wrong --------------------------------------------------------------------------------------------


def pointed_at(text: str, at: int | None) -> Iterator[str]:
    """The filter on one line, as much of it as fits, and a caret under the character that is not understood."""
    if at is None:
        return
    before, after = _on_one_line(text[max(0, at - _AROUND) : at]), _on_one_line(text[at : at + _AROUND])
    before = "…" * (at > _AROUND) + before
    yield f"  {before}{after}" + "…" * (len(text) > at + _AROUND)
    yield f"  {' ' * cells(before)}^"


def _on_one_line(text: str) -> str:
    return shown(text.replace("\r\n", "\n").replace("\n", " ").replace("\t", " "))
