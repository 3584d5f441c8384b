"""Reading: `tallystick status`, `show` and `log`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from tallystick.records.audit import AuditLine
from tallystick.records.clock import stamp
from tallystick.records.event import Event
from tallystick.records.fact import fact_of
from tallystick.surfaces.cli.command import Call, command, print_json
from tallystick.surfaces.cli.options import complete, on_path, option, whose
from tallystick.surfaces.present.beliefs import EPISODES, history as history_lines, neighbours, page, table
from tallystick.surfaces.present.events import audit_line, event_line, is_more
from tallystick.surfaces.present.names import DOORS, ago, count, read_moment, short_path, size, when
from tallystick.surfaces.present.text import bad, bold, dim, good, row, short, shown, warn

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief, Mark
    from tallystick.records.entity import Link
    from tallystick.records.episode import Episode
    from tallystick.records.recall import Neighbour
    from tallystick.records.status import Status

Listed = Event | AuditLine

_AT_ONCE = 200  # lines of the log that are printed together


@command(
    "status", "tallystick status", exits={0: "done, and no problem was seen", 4: "there is a problem: it is printed"}
)
@whose
def status(call: Call) -> int:
    """Prints where it is, how much it holds and what is new this week, the pending reviews, whether the chain of events
    is intact at its end, how far a witness outside the folder confirms it, the last write, its size on disk, and what
    is wrong, if anything. It does not read every event: `tallystick ledger verify` does. `tallystick` alone, on a
    terminal, does the same.
    """
    with call.memory(read_only=True) as memory:
        found = memory.status()
    call.answer(found, _status_page(found))
    return 4 if found.trouble else 0


def _status_page(found: Status) -> Iterator[str]:
    yield bold(short_path(found.folder))
    yield ""
    yield from _counts(found)
    yield ""
    pending = warn(f"{found.waiting:,} pending") + dim(": `tallystick review`")
    reviews = [pending if found.waiting else dim("none pending")]
    for each in found.reviews:
        reviews.append(f"{bold(shown(each.id[-6:]))}  {short(each.asks, 48)}  {dim(shown(each.trust))}")
    if found.waiting > len(found.reviews):
        reviews.append(dim(f"and {found.waiting - len(found.reviews):,} more"))
    yield from row("review", reviews)
    chain = f"{good('intact')}, {count(found.events, 'event')} {dim('(`tallystick ledger verify` reads every one)')}"
    if found.trouble:
        chain = bad("not intact") + dim(f", {count(found.events, 'event')} can be read; run `tallystick check`")
    yield from row("chain", chain)
    yield from row("witness", _witness(found))
    by = found.by and f", {DOORS.get(found.by.partition(':')[0]) or shown(found.by)}"
    yield from row("last write", f"{ago(found.last)}{by} {dim(f'({when(found.last)})')}")
    yield from row("on disk", size(found.size))
    yield from row("times", warn(shown(found.times)) if found.times else "")
    yield from row("writing", "" if found.writable else warn("read-only here"))
    yield from row("warning", warn(shown(found.warning)) if found.warning else "")
    yield from row("trouble", bad(shown(found.trouble)) if found.trouble else "")


def _counts(found: Status) -> Iterator[str]:
    """The number of each kind, aligned. Zero is left out, but for beliefs."""
    parts = (
        good(f"{found.learned:,} learned this week") if found.learned else "",
        dim(f"{found.forgotten:,} forgotten") if found.forgotten else "",
    )
    counts = {
        "beliefs": found.beliefs, "episodes": found.episodes, "pages": found.pages, "entities": found.entities or 0,
        "paths": found.paths, "vectors": found.vectors,
    }  # fmt: skip
    room = max(len(f"{number:,}") for number in counts.values())
    for name, number in counts.items():
        more = dim(", ").join(filter(None, parts)) if name == "beliefs" else ""
        if number or name == "beliefs":
            yield from row(name, f"{bold(f'{number:>{room},}')}  {more}".rstrip())


def _witness(found: Status) -> str:
    if found.checkpoint is None:
        return f"none outside the folder {dim('(`tallystick ledger checkpoint` makes one)')}"
    if found.checkpoint > found.events:
        return warn(f"outside the folder, for {count(found.checkpoint, 'event')}, which is more than there are")
    much = "all" if found.checkpoint == found.events else f"{found.checkpoint:,}"
    return f"outside the folder, for {much} of {count(found.events, 'event')}{dim(f', {ago(found.checkpoint_at)}')}"


@command("show", "tallystick show", "tallystick show ana-tea --history", "tallystick show --at 2026-05-03")
@click.argument("name", required=False, shell_complete=complete)
@option("--history", "Every version it had, oldest first.")
@option("--why", "The reasons for its status, down to what it depends on.")
@option("--at MOMENT", "As it was then: an event's number, a date or a time.")
@on_path
@whose
def show(call: Call, name: str | None, history: bool, why: bool, at: str | None, path: str | None) -> None:
    """NAME is a belief's key, any of its ids, or the last six characters of one; or an episode's id. Without it, prints
    every current belief, a line each: name, confidence, first words.
    """
    if history + why + (at is not None) > 1:
        raise click.UsageError("choose one of --history, --why and --at")
    if name is None and (history or why):
        raise click.UsageError("name a belief: tallystick show NAME " + ("--history" if history else "--why"))
    moment, path = None if at is None else read_moment(at), path or ""
    with call.memory(read_only=True) as memory:
        if name is None:
            beliefs = memory.beliefs.query(believed_at=moment, path=path)
            call.answer(beliefs, table(beliefs) if beliefs else [dim("No beliefs.")])
        elif history:
            versions = memory.history(name, path=path)
            call.answer(versions, history_lines(versions))
        elif why:
            reasons = memory.why(name, path=path)
            indented = [(len(line) - len(line.lstrip(" "))) * " " + short(line, 400) for line in reasons.lines()]
            call.answer(reasons, indented)
        elif moment is None and memory.get(name, path=path) is None and (episode := memory.episodes.find(name)):
            near, links = memory.related(episode.source, path=path), memory.links(episode.source, path=path)
            call.answer({**episode.to_dict(), "related": near, "links": links}, _episode(episode, near, links))
        else:
            belief = memory.show(name, believed_at=moment, path=path)
            is_now = moment is None and belief.is_held
            near = memory.related(belief.id, path=path) if is_now else []
            marks = memory.marks(belief.id, path=path) if is_now else []
            links = memory.links(belief.id, path=path) if is_now else []
            call.answer(
                {**belief.to_dict(), "related": near, "marks": marks, "links": links},
                _belief(memory, belief, near, marks, links),
            )


def _episode(episode: Episode, near: list[Neighbour], links: list[Link]) -> Iterator[str]:
    yield bold(shown(episode.content))
    yield ""
    yield from row("id", shown(episode.id))
    yield from row("happened", when(stamp(episode.timestamp)))
    for name in ("session", "agent", "user", "trust"):
        yield from row(name, shown(getattr(episode, name)))
    pairs = (f"{shown(key)} {shown(str(value))}" for key, value in episode.metadata.items())
    yield from row("metadata", ", ".join(pairs))
    yield from row("names", ", ".join(shown(str(link)) for link in links))
    yield from row("related", neighbours(near))


def _belief(
    memory: Memory, belief: Belief, near: list[Neighbour], marks: list[Mark], links: list[Link]
) -> Iterator[str]:  # fmt: skip
    names = {ref: found.key for ref in belief.rests_on if (found := memory.get(ref))}
    sources = fact_of(belief).episodes[-EPISODES:]
    episodes = {name: episode.content for name in sources if (episode := memory.episodes.find(name))}
    yield from page(belief, names, episodes)
    yield from row("names", ", ".join(shown(str(link)) for link in links if link.entity != belief.about))
    yield from row("related", neighbours(near))
    yield from row("marks", "; ".join(map(str, marks)))
    if belief.is_held and (why := memory.withheld(belief.id)):
        yield from row("hidden", shown(why.why))


@command(
    "log",
    "tallystick log --last 20",
    "tallystick log --op belief.put",
    "tallystick log --audit --last 20",
    "tallystick log 40",
)
@click.argument("start", required=False, type=click.IntRange(min=0), metavar="[SEQ]")
@option("-f --follow", "Go on as others write, until Ctrl-C.")
@option("-n --last N", "Only the last N.", type=click.IntRange(min=0))
@option("--op KIND", "Only that kind: belief, belief.put, erase, ledger …", default="")
@option("--audit", "Who did what, to what, and on whose approval; no words of the memory.")
def log(call: Call, start: int | None, follow: bool, last: int | None, op: str, audit: bool) -> None:
    """From event SEQ on, or all. Prints a line each: number, time, by whom, kind, and a summary. With --json, an array;
    with --follow as well, or with --jsonl, an object per line. With --audit, an act per line: number, time, by whom,
    what, to what, and its outcome; `tallystick ledger prove SEQ` proves it. An undo is one line; --json has its events.
    """
    with call.memory(read_only=True) as memory:
        events = _chosen(memory, start or 0, last, op, follow, audit)
        if call.jsonl or (call.json and follow):
            for event in events:
                print_json(event.to_dict(), indent=None)
        elif call.json:
            between = "["
            for event in events:
                click.echo(between, nl=False)
                print_json(event.to_dict(), indent=None, end="")
                between = ",\n"
            click.echo("[]" if between == "[" else "]")
        else:
            room = max(len(str(memory.ledger.size)), 4)
            lines = _lines(memory, events, room)
            while some := list(islice(lines, 1 if follow else _AT_ONCE)):
                click.echo("\n".join(some))


def _lines(memory: Memory, events: Iterator[Listed], room: int) -> Iterator[str]:
    before: Event | None = None
    for event in events:
        if isinstance(event, AuditLine):
            yield audit_line(event, room)
        elif not is_more(event, before):
            yield event_line(event, memory.get, room, is_doubted=memory.ledger.is_doubted(event.seq))
        before = event if isinstance(event, Event) else None


def _chosen(memory: Memory, start: int, last: int | None, op: str, follow: bool, audit: bool) -> Iterator[Listed]:
    def listed(start: int, follow: bool = False) -> Iterator[Listed]:
        if not audit:
            return memory.log(start, op=op, follow=follow)
        return (line for line in memory.audit(start, follow=follow) if line.op.startswith(op))

    if last is None:
        yield from listed(start, follow)
        return
    end = memory.ledger.size
    near = start if op or audit else max(start, end - last)  # those of one kind may be far back
    recent = deque(listed(near), maxlen=min(last, end))
    yield from recent
    if follow:
        yield from listed(max(end, recent[-1].seq + 1 if recent else 0), follow=True)
