"""`tallystick store`: a graph and its events in a folder of their own, without a memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from tallystick.records.clock import stamp, system_clock
from tallystick.records.errors import Refused
from tallystick.records.path import ABANDONED, MERGED, MemoryPath
from tallystick.stores.phase import workspace
from tallystick.stores.phase.comparison import Comparison
from tallystick.stores.phase.findings import Diagnostic, refused_in
from tallystick.stores.phase.runtime import PhaseMemoryRuntime
from tallystick.stores.phase.workspace import LAST, action_in, approval_in, events_in, given_in, joined, open_workspace
from tallystick.surfaces.cli.command import Call, command, print_bytes, print_json, waiting
from tallystick.surfaces.cli.graph import envelope_counts
from tallystick.surfaces.cli.options import STANDARD_INPUT, option, read_input
from tallystick.surfaces.present.names import count, counts
from tallystick.surfaces.present.text import bad, bold, dim, finding_page, good, outcome, row, short, shown, warn

_LIMIT = 20  # lines of one kind
_DEEPEST = 40  # levels that are indented
_KINDS = {"envelope": "a graph", "profile": "a profile", "events": "events"}
_DIFFERENCES = {"missing": ", missing", "other": ", other", "branch": ", of a branch", "untold": ""}

_folder = click.argument("folder", type=click.Path(), metavar="DIR")
_action = click.argument("action", type=click.Path(), metavar="ACTION")


def _command(name: str, *examples: str, **more: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function a command about the workspace DIR, so without `--folder`."""
    exits = {4: "damaged or incomplete: run `tallystick store diagnose`", **more.pop("exits", {})}
    make = command(f"store {name}", *examples, without=("folder",), exits=exits, **more)
    return lambda function: make(_folder(function))


def _rebuilt(call: Call, runtime: PhaseMemoryRuntime) -> dict[str, Any]:
    """Report the files that could not be read and were written again from the log; the same, for --json."""
    for each in runtime.rebuilt:
        call.warn(each)
    return {"rebuilt": runtime.rebuilt} if runtime.rebuilt else {}


@_command("create", "tallystick store create notes")
def create(call: Call, folder: str) -> None:
    """DIR is created if it does not exist. A folder with other files is refused; an existing workspace stays as it is.
    Prints where it is.
    """
    made = workspace.create(folder)
    line = outcome("Created an empty workspace at" if made else "Nothing to do: there is a workspace at", folder)
    call.answer({"folder": str(Path(folder).absolute()), "made": made}, [line])


@_command(
    "import",
    "tallystick store import notes ana.json graph.json",
    "tallystick store import notes events.jsonl --dry-run",
    "cat graph.json | tallystick store import notes -",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@option("--at TIME", "The time to record for records without an event.  [now]")
@option("--dry-run", "Only show what would be imported.")
def import_(call: Call, folder: str, files: tuple[str, ...], at: str | None, dry_run: bool) -> None:
    """Each FILE is a graph envelope, a profile, or events, one per line; `-` is standard input. Its content decides,
    not its name. Events are kept as they are; a record without an event gets one, so that a replay gives the graph. A
    record in DIR with the same id is replaced; an event never is. Prints what was imported.
    """
    runtime = open_workspace(folder)
    with waiting("Importing …"):
        given = [given_in(*read_input(name)) for name in files]
        taken = runtime.import_envelope(joined(given), at=at, dry_run=dry_run)
    numbers = {**taken.records, "paths": len(taken.paths), "events": taken.events}
    answer = {
        "files": [{"file": each.name, "kind": each.kind} for each in given], "taken": numbers,
        "replaced": taken.replaced, "known_events": taken.known, "dry_run": dry_run, **_rebuilt(call, runtime),
    }  # fmt: skip
    verb = "Would import" if dry_run else "Imported"
    page = [outcome(verb, counts(numbers))]
    for each in given:
        page += row(_KINDS[each.kind], shown(each.name))
    page += row("replaced", count(taken.replaced, "record") if taken.replaced else "")
    page += row("known", f"{count(taken.known, 'event')} that were here already" if taken.known else "")
    call.answer(answer, page)


@_command(
    "append",
    "tallystick store append notes events.jsonl",
    """echo '{"kind":"path.branch","path_id":"main"}' | tallystick store append notes""",
)
@click.argument("file", default=STANDARD_INPUT, type=click.Path(), metavar="[FILE]")
def append(call: Call, folder: str, file: str) -> None:
    """FILE has an event per line (default: standard input). One without `at` happens now; one without `id` gets an id
    from its content. All are recorded in DIR, or none: a used id, a path that is not open or a put without its record
    is refused, and so is an action that needs approval (see `store apply`). Prints the ids.
    """
    runtime = open_workspace(folder)
    events = list(events_in(*read_input(file), at=stamp(system_clock())))
    runtime.record(events)
    page = [outcome("Recorded", count(len(events), "event"))]
    for event in events[:_LIMIT]:
        about = event.path_id if event.kind.startswith("path.") else ", ".join(event.subject_ids)
        page.append(f"  {shown(event.id)}  {shown(event.kind)}  {short(about, 60)}")
    if len(events) > _LIMIT:
        page.append(dim(f"  … and {len(events) - _LIMIT:,} more"))
    call.answer({"events": [event.id for event in events], **_rebuilt(call, runtime)}, page)


@_command("inspect", "tallystick store inspect notes")
@option("--last N", f"How many events to show.  [{LAST}]", type=click.IntRange(min=0), default=LAST)
def inspect(call: Call, folder: str, last: int) -> None:
    """Prints how many records of each kind DIR has, the paths as a tree with their states, the schema version and the
    last events. With --json, all of it as one object.
    """
    runtime = open_workspace(folder)
    found = workspace.inspected(runtime, last)
    findings = runtime.diagnostics()
    paths = runtime.store.list_paths()
    answer = {"folder": str(getattr(runtime.store, "root", folder)), **found, "findings": len(findings)}
    call.answer(answer, _inspected(found, paths, len(findings)))


def _inspected(found: dict[str, Any], paths: list[MemoryPath], findings: int) -> Iterator[str]:
    numbers, kinds = found["counts"], found["kinds"]
    yield from row("schema", f"version {found['schema_version']}")
    names = [(each["id"], each.get("label", "")) for each in found["profiles"]]
    yield from row("profiles", [f"{short(name, 40)}  {dim(short(label, 60))}" for name, label in names])
    for part in ("nodes", "edges", "events"):
        by_kind = ", ".join(f"{number:,} {short(kind, 40)}" for kind, number in kinds[part].items())
        yield from row(part, f"{numbers[part]:,}" + (f"  {dim(by_kind)}" if by_kind else ""))
    yield from row("paths", f"{numbers['paths']:,}" if numbers["paths"] else "")
    yield from row("plans", f"{numbers['activation_plans']:,}" if numbers["activation_plans"] else "")
    yield from row("audit", count(numbers["audit"], "attempt") if numbers["audit"] else "")
    if findings:
        yield from row("findings", bad(f"{findings:,}") + dim("  see `tallystick store diagnose`"))
    if paths:
        yield ""
        yield from (f"  {line}" for line in _tree(paths))
    if found["last_events"]:
        yield ""
    for event in found["last_events"]:
        about = ", ".join(event["subject_ids"]) or event["path_id"]
        yield f"  {dim(event['at'][:19].replace('T', ' '))}  {shown(event['kind']):<15}  {short(about, 60)}"


def _tree(paths: Sequence[MemoryPath]) -> Iterator[str]:
    """A line for each path, its branches below it. A cycle, or a missing parent, hides none of them."""
    below: dict[str, list[MemoryPath]] = {}
    names = {path.path_id for path in paths}
    for path in paths:
        below.setdefault(path.parent_id if path.parent_id in names else "", []).append(path)
    drawn: set[str] = set()
    pending = [(path, "", "") for path in reversed((*below.get("", ()), *paths))]  # the second time: those in a cycle
    while pending:
        path, lead, branch = pending.pop()
        if path.path_id in drawn:
            continue
        drawn.add(path.path_id)
        state = path.state
        if state == MERGED:
            state = f"merged into {shown(path.merged_into)}"
        elif state == ABANDONED:
            state = f"abandoned: {short(path.abandoned_reason, 60)}"
        details = dim(f"{state}, {count(len(path.event_ids), 'event')}")
        yield f"{dim(lead + branch)}{bold(shown(path.path_id))}  {details}"
        inner = (lead + ("" if not branch else "│   " if branch.startswith("├") else "    "))[: 4 * _DEEPEST]
        children = [child for child in below.get(path.path_id, ()) if child.path_id not in drawn]
        for number, child in enumerate(reversed(children)):
            pending.append((child, inner, "├── " if number else "└── "))


@_command(
    "export",
    "tallystick store export notes graph-of-notes.json",
    "tallystick store export notes > also.json",
    exits={4: "some of it could not be read and is not in the envelope: run `tallystick store diagnose`"},
)
@click.argument("file", required=False, type=click.Path(), metavar="[FILE]")
@option("--force", "Replace FILE if it exists.")
def export(call: Call, folder: str, file: str | None, force: bool) -> int:
    """Prints the envelope of DIR, or writes it to FILE, completely or not at all, and prints what is in it. Activation
    plans and the audit are not included. `tallystick store import` is the way back.
    """
    runtime = open_workspace(folder)
    with waiting("Writing …"):
        envelope, lost = runtime.export(), workspace.unread(runtime)
        data = envelope.to_bytes()
    if lost:
        call.warn(f"incomplete: {count(lost, 'place')} could not be read; see `tallystick store diagnose`")
    if file is None:
        print_bytes([data])
    else:
        if Path(file).exists() and not force:
            raise Refused(f"{file} exists already; choose another name, or replace it with --force", "exists")
        workspace.write_file(Path(file), data)
        numbers = envelope_counts(envelope)
        line = f"{dim('Wrote')} {bold(counts(numbers))} {dim('to')} {shown(file)}"
        call.answer({"file": file, "bytes": len(data), **numbers}, [line])
    return 4 if lost else 0


@_command(
    "diagnose",
    "tallystick store diagnose notes",
    exits={0: "done, and there is no error", 4: "there are errors: see what is printed"},
)
def diagnose(call: Call, folder: str) -> int:
    """Prints each finding in DIR with its place (file, line and byte, if it is a line), the reason and the way out, the
    worst first: edges without their ends, orphaned events, unknown schema versions, unreadable lines, changes without
    the approval they need, an audit that contradicts the log, and more.
    """
    runtime = open_workspace(folder)
    with waiting("Reading everything …"):
        findings = runtime.diagnostics()
    report = [(each.severity, each.code, each.reason, each.place, each.remedy) for each in findings]
    call.answer(findings, finding_page(report))
    return 4 if any(finding.severity == "error" for finding in findings) else 0


@_command(
    "replay",
    "tallystick store replay notes",
    "tallystick store replay notes --path main",
    exits={4: "the graph differs from its log, which --write fixes; or an event lacks the approval it needs"},
)
@option("--write", "Write every record as the log has it.")
@option("--path PATH", "Show what is visible from that path instead.")
def replay(call: Call, folder: str, write: bool, path: str | None) -> int:
    """Prints whether the graph in DIR is the one that its events make, and each record that differs. A record without
    any event is listed and left alone. An event that lacks the approval it needs is not carried out, and is listed with
    its line. With --path, prints what is visible from there: what was said on that path, on what was merged into it,
    and above it.
    """
    if path is not None and write:
        raise click.UsageError("choose one of --path and --write")
    runtime = open_workspace(folder)
    if path is not None:
        seen = runtime.replay(path)
        refused = refused_in(runtime.log, seen.refused)
        answer = {"path": path, **seen.to_dict(), "refused": refused}
        numbers = {"profiles": len(seen.profiles), "nodes": len(seen.nodes), "edges": len(seen.edges)}
        page = [f"{dim('Visible from')} {shown(path)}{dim(':')} {counts(numbers)}"]
        for name, node in seen.nodes.items():
            page += row("node", f"{short(name, 40)}  {dim(short(node.get('label', ''), 60))}")
        call.answer(answer, (*page, *_refused(refused)))
        return 4 if refused else 0
    with waiting("Replaying …"):
        found = runtime.rebuild() if write else runtime.compare()
    refused = refused_in(runtime.log, found.snapshot.refused)
    answer = {
        "same": found.is_same, "events": found.snapshot.events, "digest": found.snapshot.digest, "alike": found.alike,
        "differences": [asdict(each) for each in found.differences],
        "skipped": [asdict(each) for each in found.snapshot.skipped], "written": write and not found.is_same,
        "refused": refused, **_rebuilt(call, runtime),
    }  # fmt: skip
    call.answer(answer, (*_compared(found, write), *_refused(refused)))
    return 4 if refused or not (found.is_same or write) else 0


def _compared(found: Comparison, write: bool) -> Iterator[str]:
    if found.is_same:
        yield good(f"The graph matches its log: {counts(found.alike)}, from {count(found.snapshot.events, 'event')}")
    else:
        different = f"{count(len(found.wrong), 'record')} not as in the log"
        yield good(f"Fixed: {different}") if write else bad(different)
    yield from row("digest", dim(found.snapshot.digest))
    for name, some in (("differs", found.wrong), ("no event", found.untold)):
        listed = [f"{each.part[:-1]} {short(each.id, 60)}{dim(_DIFFERENCES[each.how])}" for each in some]
        more = [dim(f"… and {len(listed) - _LIMIT:,} more")] if len(listed) > _LIMIT else []
        yield from row(name, listed[:_LIMIT] + more)
    skipped = [f"event {shown(each.event_id)}: {short(each.reason, 200)}" for each in found.snapshot.skipped]
    yield from row("skipped", [warn(each) for each in skipped[:_LIMIT]])


def _refused(refused: list[Diagnostic]) -> Iterator[str]:
    yield from row("refused", [bad(f"{shown(each.place)}: {short(each.reason, 200)}") for each in refused[:_LIMIT]])
    if refused:
        yield from row("way out", shown(refused[0].remedy))


@_command("approve", "tallystick store approve notes archive.json --by ana > yes.json")
@_action
@option("--by NAME", "Who approves: not the one who asks.", required=True)
@option(
    "--hours N", type=click.FloatRange(min=0, min_open=True, max=24 * 365), default=24.0,
    help="How long the approval lasts.  [24]",
)  # fmt: skip
def approve(call: Call, folder: str, action: str, by: str, hours: float) -> None:
    """ACTION is a file with the request: `kind`, `subject_ids`, `by`, and where needed `changes`, `reason` and
    `path_id`. Prints the approval, to be kept in a file: it counts once, for exactly this action on the records as they
    are in DIR now, until it expires. The request is printed on standard error.
    """
    runtime = open_workspace(folder)
    asked, saw = action_in(*read_input(action))
    current = runtime.propose(
        asked.kind, asked.subject_ids, by=asked.by, changes=asked.changes, reason=asked.reason, path_id=asked.path_id
    )
    asked = asked if saw else replace(asked, seen=current.seen)
    approval = runtime.approve(asked, by=by, lasts=timedelta(hours=hours))
    if why_not := runtime.policy.why_not(asked, approval, approval.at):
        raise Refused(f"{asked.label}: {why_not}")
    why = f", because {short(asked.reason, 200)}" if asked.reason else ""
    call.note(f"tallystick: {shown(by)} approves: {asked.label}, asked for by {shown(asked.by)}{why}")
    print_json({**approval.to_dict(), **({} if saw else {"seen": asked.seen})})


@_command(
    "apply",
    "tallystick store apply notes archive.json --approval yes.json",
    exits={1: "refused, or not approved: nothing was changed but the audit"},
)
@_action
@option("--approval FILE", "The approval, as `store approve` printed it.", type=click.Path())
def apply(call: Call, folder: str, action: str, approval: str | None) -> None:
    """ACTION is a file as for `store approve`. To archive, supersede, merge, retract, promote, end, weaken or compact
    needs somebody else's approval of exactly that; to activate or reinforce needs none. Every attempt is in
    `audit.jsonl` of DIR, granted or denied. Prints what was changed.
    """
    runtime = open_workspace(folder)
    asked, saw = action_in(*read_input(action))
    approved = None
    if approval is not None:
        approved, seen = approval_in(*read_input(approval))
        asked = asked if saw else replace(asked, seen=seen)
    done = runtime.apply(asked, approved)
    payload = done.event.payload
    answer = {"event": done.event.id, "nodes": sorted(payload["nodes"]), "edges": sorted(payload["edges"])}
    page = [
        outcome("Done:", done.action.label),
        *row("event", shown(done.event.id)),
        *row("changed", counts({"nodes": len(payload["nodes"]), "edges": len(payload["edges"])})),
        *row("approved by", shown(payload["approval"]["by"]) if payload["approval"] else ""),
    ]
    call.answer({**answer, **_rebuilt(call, runtime)}, page)
