"""`tallystick consolidate`, which makes facts of episodes; and `tallystick tidy`, which proposes what can go."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from tallystick.records.belief import OWNER
from tallystick.records.errors import ConsolidationRuleError, NotFound, Refused
from tallystick.records.fact import text_of, triple_of
from tallystick.surfaces.cli.command import Call, command, progress, waiting
from tallystick.surfaces.cli.options import LIMIT, decoded, from_standard_input, option, speaker
from tallystick.surfaces.present.names import ago, called, count, handle, page_name, when
from tallystick.surfaces.present.text import bold, cells, column, dim, outcome, short, shown, warn, width

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.delta import Delta
    from tallystick.records.episode import Episode
    from tallystick.records.fact import Fact
    from tallystick.records.page import Compaction
    from tallystick.records.proposal import Proposal
    from tallystick.records.rule import Consolidated, ConsolidationRule, Finding, RuleStatus

KINDS = ("add", "update", "delete", "noop")

_MODES = {"keep": "--add", "drop": "--drop", "listed": "--list", "due": "--due", "findings": "--findings"}
_COLOURS = {"add": "green", "update": "yellow", "delete": "red"}
_SHOWN = 50  # lines of one kind; --json has all
_KIND_WIDTH, _FROM_WIDTH, _NAME_WIDTH, _REASON_WIDTH = 6, 26, 24, 400
_AROUND = 45  # characters of a filter before and after the wrong place

T = TypeVar("T")
Numbered = Sequence[tuple[int, T]]

DONE = {
    "forget": "Forgot", "fade": "Removed from recall", "merge": "Merged", "choose": "Forgot", "rest": "Made dormant",
}  # fmt: skip

_TEXTS = 6  # of one proposal
_DIFF_LINES = 24
_MARKS = {"-": "red", "+": "green"}
_UNIMPORTANT = re.compile(r"\s*\Z|(?:entry_count|needs_compact|updated): ")  # lines of a difference


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
            value = [
                {"rule": each.rule, "episode": episode.id if episode else each.source, "reason": each.reason,
                 "seq": each.seq} for each, episode in found
            ]  # fmt: skip
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


class Line(NamedTuple):
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
    listed = column([short(change.words, room) for change in changes[:_SHOWN]])
    for change, words in zip(changes, listed, strict=False):
        kind = click.style(change.kind.ljust(_KIND_WIDTH), fg=_COLOURS.get(change.kind), dim=change.kind == "noop")
        origin = dim(short(", ".join(change.episodes), _FROM_WIDTH))
        yield f"  {kind}  {words}  {dim(f'{change.confidence:<4.2g}')}  {origin}"
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
    due = []
    for each in rules:
        cadence, when_due = each.rule.cadence, "on demand"
        if "every" in cadence:
            when_due = f"every {count(cadence['every'], 'episode')}"
        elif "cron" in cadence:
            when_due = short(f"cron {cadence['cron']} {cadence.get('zone', 'UTC')}", 60)
        due.append(when_due)
    names = column([short(each.rule.id, _NAME_WIDTH) for each in rules])
    for name, when_due, each in zip(names, column(due), rules, strict=True):
        last = f"last ran {ago(each.last)}" if each.last else "never ran"
        then = "  " + warn("due now") if each.is_due else dim(f"  next {when(each.next)}") if each.next else ""
        yield f"{bold(name)}  {when_due}  {each.waiting:>5,} waiting  {dim(last)}{then}"


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


@command(
    "tidy",
    "tallystick tidy",
    'tallystick tidy --apply all --yes --reason "spring cleaning"',
    "tallystick tidy --compact",
    exits={1: "refused, not found, changed meanwhile, or declined"},
)
@option("chosen --apply N...", "Carry out proposal N, or all. Repeat for more.")
@option("--yes", "With --apply, do not ask; for scripts.")
@option("--reason TEXT", "Why you apply them.", default="")
@option("--limit N", "At most so many proposals.  [50]", type=click.IntRange(1, 10_000), default=50)
@option("is_compact --compact", "Compact pages that are flagged or too long.")
@option("--rewrite FILE", "With --compact --apply NAME: a rewrite of that page.", default="")
@speaker
def tidy(
    call: Call, chosen: tuple[str, ...], yes: bool, reason: str, limit: int, is_compact: bool, rewrite: str,
) -> None:  # fmt: skip
    """Prints beliefs that have expired, contradict or repeat another one, or were not said or used for long, and pages
    that were not touched for long, each with the reason: `+` stays, `-` would go. Names the flagged pages, for
    --compact. With --apply, shows the chosen ones and asks first; N is the number or the six characters next to it,
    which stay the same as long as the same is proposed. Words and history stay: `tallystick erase` is the command that
    destroys.

    With --compact, prints the pages that can be compacted, and what each would become: superseded entries go into a
    dated note, repeats are joined. N is then a number or a page. A compaction that would lose a fact is refused, and so
    is such a rewrite; the page stays flagged, with the reason.
    """
    if reason and not chosen:
        raise click.UsageError("--reason goes with --apply")
    if rewrite and not is_compact:
        raise click.UsageError("--rewrite needs --compact: tallystick tidy --compact --rewrite FILE --apply NAME")
    with call.memory() as memory:
        if rewrite:
            if len(chosen) != 1:
                raise click.UsageError("name the page: --rewrite FILE --apply NAME")
            if rewrite == "-":
                text = from_standard_input() + "\n"
            else:
                with Path(rewrite).open("rb") as opened:
                    text = decoded(opened.read(LIMIT + 1), rewrite).removeprefix("\ufeff")
            done = memory.pages.compact(page_name(memory, chosen[0]), text, reason=reason)
            call.answer([done], [_compacted(done)])
        elif is_compact:
            _tidy_pages(call, memory, chosen, yes=yes, reason=reason)
        else:
            _tidy_beliefs(call, memory, chosen, limit, yes=yes, reason=reason)


def _picked(
    found: Numbered[T], chosen: Sequence[str], names_of: Callable[[T], Sequence[str]], nothing: str
) -> Numbered[T]:
    """The chosen ones, each once, in the order in which they are listed."""
    numbers = {name: number for number, each in found for name in (str(number), *names_of(each))}
    if missing := [name for name in chosen if name not in numbers]:
        raise NotFound(nothing.format(repr(missing[0])))
    wanted = {numbers[name] for name in chosen}
    return [(number, each) for number, each in found if number in wanted]


def _tidy_beliefs(call: Call, memory: Memory, chosen: Sequence[str], limit: int, *, yes: bool, reason: str) -> None:
    with waiting("Looking through the memory …"):
        found = list(enumerate(memory.tidy.proposals(limit=limit), 1))
    if not chosen:
        flagged = [page.path for page in memory.pages.list(True, True) if page.needs_compact]
        page = [*_proposals(found)] if found or not flagged else []
        if found:
            page += ["", dim("  tallystick tidy --apply 1    or    tallystick tidy --apply all")]
        hint = dim("is flagged; see what it becomes: tallystick tidy --compact")
        page += [f"{bold(shown(path))} {hint}" for path in flagged]
        call.answer([each for _, each in found], page)
        return
    nothing = "no proposal {}; run `tallystick tidy` to list them"
    picked = found if "all" in chosen else _picked(found, chosen, lambda each: [each.id], nothing)
    if picked and not yes:
        unattended = "see the proposals with `tallystick tidy`, confirm with --yes"
        call.confirm(f"Apply {count(len(picked), 'proposal')}?", _proposals(picked), unattended=unattended)

    def carry_out(proposal: Proposal) -> Proposal:
        memory.tidy.apply(proposal, reason=reason)
        return proposal

    done = call.one_by_one([each for _, each in picked], carry_out)
    call.answer(done, [*map(_applied, done)] or [dim("Nothing to tidy.")])
    if len(picked) > len(done):
        failed = count(len(picked) - len(done), "proposal")
        raise Refused(f"{failed} could not be applied; run `tallystick tidy` to list them", "incomplete")


def _proposals(found: Numbered[Proposal]) -> Iterator[str]:
    if not found:
        yield dim("Nothing to tidy.")
    for number, each in found:
        yield f"{number:>3}  {dim(each.id)}  {bold(each.kind)}{dim(':')} {short(each.why, width() - 25)}"
        for name, text in list(zip(each.ids, each.texts, strict=True))[:_TEXTS]:
            mark = "-" if name in each.goes else "+"
            yield click.style(f"     {mark} {short(text, width() - 7)}", fg=_MARKS[mark])
        if len(each.ids) > _TEXTS:
            yield dim(f"       and {len(each.ids) - _TEXTS} more")


def _applied(each: Proposal) -> str:
    name, text = each.ids[-1][-6:], each.texts[-1]
    if each.action == "merge":
        text = f"{count(len(each.ids), 'belief')}, {each.texts[0]}"
    elif each.action == "rest":
        name, _, text = text.partition(": ")
    return outcome(DONE[each.action], name, text)


def _tidy_pages(call: Call, memory: Memory, chosen: Sequence[str], *, yes: bool, reason: str) -> None:
    with waiting("Looking through the pages …"):
        found = list(enumerate(memory.pages.compactions(), 1))
    if not chosen:
        call.answer([each for _, each in found], _compactions(found, ends=True))
        return
    if "all" in chosen:
        picked: Numbered[Compaction] = [pair for pair in found if pair[1].is_any and pair[1].is_acceptable]
    else:
        nothing = "no page {} to compact; run `tallystick tidy --compact` to list them"
        picked = _picked(found, chosen, lambda each: [each.path, called(each)], nothing)
    if picked and not yes:
        unattended = "see what changes with `tallystick tidy --compact`, confirm with --yes"
        call.confirm(f"Compact {count(len(picked), 'page')}?", _compactions(picked), unattended=unattended)
    done = call.one_by_one([each for _, each in picked], lambda each: memory.pages.compact(each, reason=reason))
    call.answer(done, [*map(_compacted, done)] or [dim("No page to compact.")])
    if len(picked) > len(done):
        failed = count(len(picked) - len(done), "page")
        raise Refused(f"{failed} could not be compacted; `tallystick tidy --compact` says why", "incomplete")


def _compactions(found: Numbered[Compaction], *, ends: bool = False) -> Iterator[str]:
    if not found:
        yield dim("No page to compact.")
    for number, each in found:
        name = short(called(each), max(width() - 40, 20))
        yield f"{number:>3}  {bold(name)}{dim(':')} {short(each.why, max(width() - len(name) - 8, 20))}"
        yield from _effect(each)
    if ends and any(each.is_any and each.is_acceptable for _, each in found):
        yield ""
        yield dim("  tallystick tidy --compact --apply 1    or    tallystick tidy --compact --apply all")


def _effect(each: Compaction) -> Iterator[str]:
    """What would become of a page: why it is refused, or the lines that would change."""
    if each.losses:
        yield warn("     not compacted, because something would be lost:")
        yield from (f"     {short(loss, width() - 5)}" for loss in each.losses)
    elif not each.is_any:
        yield dim("     nothing on it can be compacted; give a rewrite of it: --rewrite FILE")
    else:
        yield dim(
            f"     {each.entries_before:,} entries into {each.entries_after:,}, "
            f"about {each.tokens_before:,} tokens into {each.tokens_after:,}"
        )
        changed = (line for line in each.diff.split("\n")[2:] if line[:1] in _MARKS)
        marked = [line for line in changed if not _UNIMPORTANT.match(line[1:])]
        for line in marked[:_DIFF_LINES]:
            yield click.style(f"     {line[0]} {short(line[1:], width() - 7)}", fg=_MARKS[line[0]])
        if len(marked) > _DIFF_LINES:
            yield dim(f"       and {count(len(marked) - _DIFF_LINES, 'line')} more; --json has all of it")


def _compacted(each: Compaction) -> str:
    if not each.is_any:
        return outcome("Unchanged", called(each), "nothing to compact")
    return outcome("Compacted", called(each), f"{each.entries_before:,} entries into {each.entries_after:,}")
