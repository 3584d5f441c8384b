"""`tallystick consolidate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tallystick.records.belief import OWNER
from tallystick.records.errors import ConsolidationRuleError
from tallystick.records.fact import text_of, triple_of
from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.options import option, speaker
from tallystick.surfaces.cli.progress import progress, waiting
from tallystick.surfaces.present.names import handle
from tallystick.surfaces.present.terminal import bold, dim, outcome, warn, width
from tallystick.surfaces.present.text import cells, short, shown
from tallystick.surfaces.present.time import ago, count, when

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.delta import Delta
    from tallystick.records.episode import Episode
    from tallystick.records.fact import Fact
    from tallystick.records.rule import Consolidated, ConsolidationRule, Finding, RuleStatus

KINDS = ("add", "update", "delete", "noop")

_MODES = {"keep": "--add", "drop": "--drop", "listed": "--list", "due": "--due", "findings": "--findings"}
_COLOURS = {"add": "green", "update": "yellow", "delete": "red"}
_SHOWN = 50  # lines of one kind; --json has all
_KIND_WIDTH, _FROM_WIDTH, _NAME_WIDTH, _REASON_WIDTH = 6, 26, 24, 400
_AROUND = 45  # characters of a filter before and after the wrong place


@command(
    "consolidate",
    "tallystick consolidate people.yaml --dry-run",
    "tallystick consolidate people.yaml --extractor english",
    "tallystick consolidate --add people.yaml",
    "tallystick consolidate --due",
    exits={0: "done, also when there was nothing to do"},
)
@click.argument("file", required=False, type=click.Path())
@option("again --all", "Over everything again, not only over what is new.")
@option("--dry-run", "Show what would be made, and stop.")
@option("--extractor WHO", "What reads claims from words: english, none, or URL#MODEL.")
@option("keep --add", "Save the rules of FILE, so that they run when they are due.")
@option("--drop ID", "Remove a saved rule. The facts it made stay.")
@option("listed --list", "List the saved rules: cadence, new episodes, last and next run.")
@option("--due", "Run what is due, for everyone or for --user; for a crontab.")
@option("--findings", "List episodes that were skipped, and why.")
@speaker
def consolidate(call: Call, /, file: str | None, **options: Any) -> None:
    """FILE has a rule, or a list of them, as YAML or JSON:

    \b
      id: people                     # recorded with every fact it makes
      when_filter: content LIKE '%Ana%' AND timestamp >= '2026-01-01'
      cadence: {every: 20}           # episodes; or {cron: "0 9 * * 1", zone: Europe/Berlin}
      then_emits: [people]           # channels

    Runs each over the episodes since its last run. Prints what was made: the kind of change, the fact, its confidence,
    and its episode; then pending reviews, and skipped episodes. The metadata of an episode (subject, predicate, object,
    intent, replaces) comes first; an extractor reads the rest from its words. Doing it again changes nothing.
    """
    modes = [name for name in _MODES if options[name] not in (None, False)]
    if len(modes) > 1:
        raise click.UsageError(f"choose one of {_MODES[modes[0]]} and {_MODES[modes[1]]}")
    mode = modes[0] if modes else None
    if (file is None) == (mode in (None, "keep")):
        raise click.UsageError("name a FILE of rules, or one of --list, --due, --findings and --drop ID")
    if mode and (options["again"] or options["dry_run"]):
        raise click.UsageError(f"--all and --dry-run need a FILE to run, and do not go with {_MODES[mode]}")
    read_only = mode in ("listed", "findings") or options["dry_run"]
    with call.memory(read_only=read_only) as memory:
        if mode is None:
            rules = _rules(call, memory, Path(file or ""))
            _run(call, memory, rules, options["again"], options["dry_run"], options["extractor"])
        elif mode == "keep":
            rules = _rules(call, memory, Path(file or ""))
            with memory.batch():
                for rule in rules:
                    memory.rules.put(rule)
            on_demand = dim("  (without a cadence, it runs only on demand)")
            call.answer(rules, [outcome("Saved", rule.id) + ("" if rule.cadence else on_demand) for rule in rules])
        elif mode == "due":
            _run_due(call, memory, everyone=call.user is None, extractor=options["extractor"])
        elif mode == "drop":
            memory.rules.drop(options["drop"])
            call.answer({"dropped": options["drop"]}, [outcome("Dropped", options["drop"])])
        elif mode == "listed":
            saved = memory.rules.all()
            call.answer(saved, _rule_table(saved) if saved else [dim("No saved rules.")])
        else:
            found = [(each, memory.episodes.find(each.source)) for each in memory.rules.findings()]
            names = ((each, episode.id if episode else each.source) for each, episode in found)
            value = [
                {"rule": each.rule, "episode": name, "reason": each.reason, "seq": each.seq} for each, name in names
            ]
            call.answer(value, _finding_table(found) if found else [dim("No skipped episodes.")])


def _rules(call: Call, memory: Memory, path: Path) -> list[ConsolidationRule]:
    """The rules of a file. A wrong filter is printed, with the place."""
    from tallystick.memory.facts.rules import FilterError, read_rules

    try:
        return read_rules(path, columns=memory.episodes.columns())
    except FilterError as error:
        for line in _pointed_at(error.filter, error.at):
            call.note(line)
        raise ConsolidationRuleError(str(error), error.at) from None


def _run(
    call: Call, memory: Memory, rules: list[ConsolidationRule], again: bool, dry_run: bool, extractor: str | None
) -> None:
    found: list[dict[str, Any]] = []
    for rule in rules:
        if dry_run:
            with waiting("Reading …"):
                deltas = memory.episodes.consolidate(rule, since_last=not again, extractor=extractor)
            found.append({
                "rule": rule.id, "deltas": [delta.model_dump(mode="json") for delta in deltas],
                "findings": [{"episode": each.episode_id, "reason": each.reason} for each in deltas.findings],
            })  # fmt: skip
            page = _proposed(memory, rule, deltas)
        else:
            total = memory.episodes.health().fragment_count if again else memory.rules.waiting(rule.id)
            with progress("Reading …", total or 0) as on_progress:
                made = memory.consolidate(rule, since_last=not again, extractor=extractor, on_progress=on_progress)
            found.append(made.to_dict())
            page = _made(made)
        if not call.json:
            click.echo("\n".join(page))
    if call.json:
        call.print(found)


def _run_due(call: Call, memory: Memory, *, everyone: bool, extractor: str | None) -> None:
    """Run what is due, and print what ran, also if another rule went wrong.

    Nobody reads along, and it may be several people's: counts, and no words.
    """
    made: list[Consolidated] = []
    try:
        with waiting("Reading …"):
            memory.run_due(everyone=everyone, extractor=extractor, notify=made.append)
    finally:
        value = [
            {
                "rule": each.rule, "user": each.user, "read": each.read, "considered": each.considered,
                "made": each.made, "waiting": len(each.waiting), "findings": len(each.findings),
            }
            for each in made
        ]  # fmt: skip
        if call.json:
            call.print(value)
        elif made:
            click.echo("\n".join(map(_due_line, made)))


# -- what was made -----------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """One change: its kind, its words, its confidence, and its episodes."""

    kind: str
    words: str
    confidence: float
    episodes: Sequence[str]


def _made(made: Consolidated) -> Iterator[str]:
    """A run of a rule: a summary, its changes, pending reviews and skipped episodes."""
    changes = [_of_fact(fact) for fact in made.facts]
    yield f"{bold(shown(made.rule))}{dim(':')} {_summary(changes, made.considered)}"
    yield from _table(changes)
    if made.waiting:
        names = " ".join(shown(review[-6:]) for review in made.waiting[:_SHOWN])
        yield warn(f"  {count(len(made.waiting), 'review')} pending: {names}") + dim("    tallystick review")
    yield from _skipped((each.episode_id, each.reason) for each in made.findings)


def _proposed(memory: Memory, rule: ConsolidationRule, deltas: Any) -> Iterator[str]:
    """The changes that a rule would make."""
    changes = [_of_delta(memory, delta) for delta in deltas if delta.kind != "noop" or delta.corroborates]
    yield f"{bold(shown(rule.id))}{dim(':')} {_summary(changes)}{dim('; nothing was changed')}"
    yield from _table(changes)
    yield from _skipped((each.episode_id, each.reason) for each in deltas.findings)


def _due_line(made: Consolidated) -> str:
    """A line for a rule that ran, without any of its words."""
    whose = "" if made.user == OWNER else dim(f" of {short(made.user, 40)}")
    parts = [_summary([_of_fact(fact) for fact in made.facts], made.considered)]
    if made.waiting:
        parts.append(f"{count(len(made.waiting), 'review')} pending")
    if made.findings:
        parts.append(count(len(made.findings), "finding"))
    return f"{bold(shown(made.rule))}{whose}{dim(':')} {', '.join(parts)}"


def _summary(changes: Sequence[Line], considered: int | None = None) -> str:
    made = Counter(change.kind for change in changes)
    kinds = ", ".join(f"{made[kind]:,} {kind}" for kind in KINDS if made[kind]) or "nothing new"
    return kinds if considered is None else f"{kinds} of {count(considered, 'episode')}"


def _of_fact(fact: Fact) -> Line:
    step = fact.lineage[-1] if fact.lineage else {}
    words = _words(fact.payload) or fact.id
    return Line(str(step.get("kind", "add")), words, fact.confidence, step.get("source_episode_ids", ()))


def _of_delta(memory: Memory, delta: Delta) -> Line:
    def named(name: str) -> str:
        """The words of a fact, or a phrase for whatever comes from an episode."""
        belief = memory.get(name)
        return (" → ".join(belief.triple) or belief.text) if belief else f"what comes from {handle(name)}"

    if delta.kind == "delete":
        words = ", ".join(map(named, delta.replaces))
    elif delta.kind == "noop":
        words = ", ".join(map(named, delta.corroborates))
    else:
        words = _words(delta.fact_payload)
    return Line(delta.kind, words, delta.confidence, delta.source_episode_ids)


def _words(payload: dict[str, Any]) -> str:
    return " → ".join(triple_of(payload)) or text_of(payload)


def _table(changes: Sequence[Line]) -> Iterator[str]:
    room = width() - _KIND_WIDTH - _FROM_WIDTH - 14
    listed = [(change, short(change.words, room)) for change in changes[:_SHOWN]]
    widest = max((cells(words) for _, words in listed), default=0)
    for change, words in listed:
        kind = click.style(change.kind.ljust(_KIND_WIDTH), fg=_COLOURS.get(change.kind), dim=change.kind == "noop")
        pad = " " * (widest - cells(words))
        origin = dim(short(", ".join(change.episodes), _FROM_WIDTH))
        yield f"  {kind}  {words}{pad}  {dim(f'{change.confidence:<4.2g}')}  {origin}"
    if len(changes) > _SHOWN:
        yield dim(f"  and {len(changes) - _SHOWN:,} more, shown by --json")


def _skipped(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    listed = list(found)
    for name, reason in listed[:_SHOWN]:
        yield warn(f"  skipped {short(name, _FROM_WIDTH)}: ") + short(reason, _REASON_WIDTH)
    if len(listed) > _SHOWN:
        yield dim(f"  and {len(listed) - _SHOWN:,} more; `tallystick consolidate --findings` lists them")


# -- rules, findings, a wrong filter -----------------------------------------------------------------------------------


def _rule_table(rules: Sequence[RuleStatus]) -> Iterator[str]:
    """A line for each saved rule."""
    rows: list[tuple[str, str, RuleStatus]] = []
    for each in rules:
        cadence, when_due = each.rule.cadence, "on demand"
        if "every" in cadence:
            when_due = f"every {count(cadence['every'], 'episode')}"
        elif "cron" in cadence:
            when_due = short(f"cron {cadence['cron']} {cadence.get('zone', 'UTC')}", 60)
        rows.append((short(each.rule.id, _NAME_WIDTH), when_due, each))
    names, cadences = max(cells(name) for name, *_ in rows), max(cells(due) for _, due, _ in rows)
    for name, when_due, each in rows:
        pads = " " * (names - cells(name)), " " * (cadences - cells(when_due))
        last = f"last ran {ago(each.last)}" if each.last else "never ran"
        then = "  " + warn("due now") if each.is_due else dim(f"  next {when(each.next)}") if each.next else ""
        yield f"{bold(name)}{pads[0]}  {when_due}{pads[1]}  {each.waiting:>5,} waiting  {dim(last)}{then}"


def _finding_table(found: Sequence[tuple[Finding, Episode | None]]) -> Iterator[str]:
    """A line for each skipped episode, and below it the reason."""
    for each, episode in found:
        name, words = (episode.id, episode.content) if episode else (each.source, "")
        name = short(name, _FROM_WIDTH)
        yield f"{bold(name)}  {short(words, width() - cells(name) - 2)}".rstrip()
        yield dim(f"    {shown(each.rule)}: ") + short(each.reason, _REASON_WIDTH)


def _pointed_at(text: str, at: int | None) -> Iterator[str]:
    """The filter on one line, as much of it as fits, and a caret under the wrong character."""
    if at is None:
        return
    before, after = (
        shown(part.replace("\r\n", "\n").replace("\n", " ").replace("\t", " "))
        for part in (text[max(0, at - _AROUND) : at], text[at : at + _AROUND])
    )
    before = "…" * (at > _AROUND) + before
    yield f"  {before}{after}" + "…" * (len(text) > at + _AROUND)
    yield f"  {' ' * cells(before)}^"
