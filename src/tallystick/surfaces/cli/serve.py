"""Serving a memory, `tallystick mcp` and `tallystick serve`; and setting up a client, `tallystick connect`.

Of a client's file only the lines that change are printed: the lines around them may hold somebody's password.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from tallystick.memory import settings
from tallystick.records.belief import OWNER
from tallystick.records.display import common_ends
from tallystick.records.errors import Refused
from tallystick.records.fields import TRUST
from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.options import option, whose, yes as yes_option
from tallystick.surfaces.connect import clients, plan
from tallystick.surfaces.connect.clients import BY_NAME, CLIENTS, GENERIC, Client, Entry, this_program
from tallystick.surfaces.connect.plan import Change, Puzzled
from tallystick.surfaces.mcp.profiles import PROFILES, tools_of
from tallystick.surfaces.present.names import count, short_path
from tallystick.surfaces.present.text import bold, dim, good, short, shown, warn, width

if TYPE_CHECKING:
    from tallystick.surfaces.mcp.tool import Tool
    from tallystick.surfaces.server.listen import Where
    from tallystick.surfaces.server.worker import MemoryWorker

_NEEDED = ("fastapi", "mcp", "markdown_it", "nh3", "prometheus_client", "sse_starlette", "uvicorn")

profiles_option = option(
    "profiles --profile NAME...", type=click.Choice(tuple(PROFILES)),
    help="Offer other tools over MCP too: reference, chatgpt, claude, pages. Repeat for more.",
)  # fmt: skip
_agent = option("--agent NAME", "The agent that speaks, as a separate source.", default="")
_trust = partial(option, "--trust WHO", type=click.Choice(TRUST), default="agent")

_COMPARED = 400  # lines that are compared in order


@command(
    "mcp",
    "tallystick mcp",
    "tallystick mcp --agent claude-code",
    "tallystick mcp -C ./notes --trust tool",
    without=["json", "jsonl"],
)
@profiles_option
@_trust("As whom the client speaks: human, agent, tool, web, import.  [agent]")
@option("--session NAME", "The session, where a call names none.", default="")
@_agent
@option("--http", "Serve over HTTP, to any number of clients that have the token.")
@option("--host ADDRESS", "With --http: the address to listen on.  [127.0.0.1]")
@option("--port N", "With --http: the port; 0: any free one.  [8722]", type=click.IntRange(0, 65535))
@option("--allow NAME...", "With --http: another host name that clients may use, such as a proxy's. Repeat for more.")
@option("--new-token", "With --http: replace the token; a running server accepts the old one until it ends.")
@whose
def mcp(call: Call, /, profiles: tuple[str, ...], trust: str, session: str, agent: str, **http: Any) -> None:
    """Speaks the Model Context Protocol on standard input and output until the client closes them, and prints a line on
    standard error when it is ready. Creates the memory if there is none. It serves one user, whatever a client asks.

    A client has the trust of an agent: changing what a person stated needs a person's approval, which is asked for in
    the client if it can do that, or is pending in `tallystick review`.

    With --http it serves any number of clients over HTTP, on this machine only by default, until Ctrl-C. Each must send
    the token, which is created on the first start; standard error names the address and where the token is.
    """
    check_packages("the MCP server", ["mcp"])
    import asyncio

    log_to_standard_error()
    chosen, where = tools(profiles), None
    if http.pop("http"):
        from tallystick.surfaces.server.listen import HOST, PORT, Where

        port = PORT if http["port"] is None else http["port"]
        where = Where(http["host"] or HOST, port, http["allow"])
    elif stray := next((name for name, value in http.items() if value not in (None, ()) and value is not False), ""):
        raise click.UsageError(f"--{stray.replace('_', '-')} needs --http")
    worker = holder(call, trust, session, agent)
    if where is not None:
        from tallystick.surfaces.serve.app import serve_mcp

        asyncio.run(serve_mcp(worker, chosen, where, note=call.note, renew=http["new_token"]))
        return
    from tallystick.surfaces.mcp.offers import Offers
    from tallystick.surfaces.mcp.transport import serve

    call.note(f"tallystick: serving {shown(call.place())} as {trust}, {count(len(chosen), 'tool')}")
    if sys.stdin.isatty():
        call.note("tallystick: this is for programs; `tallystick connect` sets one up. Ctrl-C ends it")
    handlers: dict[str, Any] = Offers(worker).handlers
    asyncio.run(serve(worker, chosen, **handlers))


def check_packages(what: str, names: Sequence[str]) -> None:
    """Refuse, with the line that installs it, if a package is missing."""
    if missing := next((name for name in names if find_spec(name) is None), ""):
        package = missing.replace("_", "-")
        raise Refused(f"{what} needs the package {package}: pip install '.[serve]' in a checkout", "unavailable")


def log_to_standard_error() -> None:
    """Print what packages log on standard error, a line each, without a traceback."""
    import logging

    class OneLine(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return f"tallystick: {short(record.getMessage(), 300)}"

    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def tools(profiles: Sequence[str]) -> tuple[Tool, ...]:
    """The eight tools, then those of the profiles, in an order that does not depend on how they were named."""
    from tallystick.surfaces.mcp.tools import TOOLS

    found = TOOLS + tuple(tool for name in PROFILES if name in profiles for tool in tools_of(name))
    names = [tool.name for tool in found]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise Refused(f"two of these profiles have a tool {twice!r}; serve them separately", "duplicate")
    return found


def holder(
    call: Call, trust: str, session: str, agent: str, notify: Callable[[str], None] | None = None
) -> MemoryWorker:
    """The memory to serve to MCP clients. What a person answers through one is a source of its own."""
    from tallystick.memory.memory import Memory
    from tallystick.surfaces.server.worker import MemoryWorker, Person

    opens = partial(Memory, call.address() or call.usable(), user=call.owner(), notify=notify or call.warn)
    source = source_of(agent)
    by = f"elicit:{source}"
    person = Person(by, partial(opens, by=by, trust="human"), options_of(call))
    return MemoryWorker(partial(opens, by=f"mcp:{source}", trust=trust), person=person, session=session, agent=agent)


def options_of(call: Call) -> str:
    """The options with which a command uses the same memory."""
    is_named = call.folder and not call.address()  # an address may hold a password
    named = f" -C {quote(str(Path(call.folder or '').absolute()))}" if is_named else ""
    return named + (f" --user {quote(call.owner())}" if call.owner() != OWNER else "")


def source_of(agent: str) -> str:
    """A stable opaque id: the same agent started again is the same source, and cannot corroborate itself."""
    from hashlib import sha256

    return sha256(agent.encode()).hexdigest()[:8] if agent else "local"


@command("serve", "tallystick serve", "tallystick serve --open", "tallystick serve --link", without=["json", "jsonl"])
@option("--host ADDRESS", "The address to listen on.  [127.0.0.1]")
@option("--port N", "The port; 0: any free one.  [8722]", type=click.IntRange(0, 65535))
@option("--allow NAME...", "Another host name that clients may use, such as a proxy's. Repeat for more.")
@option("--link", "Print a login link for the server that is running, and stop.")
@option("open_page --open", "Open the page in the browser when it is ready.")
@option("--new-token", "Replace the token; all sessions end, and a running server accepts the old one until it ends.")
@option(
    "--rate N", "Requests a second that each client may make, on average; 0: no limit.  [200]", type=click.FloatRange(0)
)
@profiles_option
@_trust("As whom programs speak: human, agent, tool, web, import.  [agent]")
@_agent
@whose
def serve(
    call: Call, /, host: str | None, port: int | None, allow: tuple[str, ...], link: bool, open_page: bool,
    new_token: bool, rate: float | None, profiles: tuple[str, ...], trust: str, agent: str,
) -> None:  # fmt: skip
    """Serves, on this machine only by default and until Ctrl-C: the page in a browser, for the person whose memory it
    is; the API under /v1 and MCP at /mcp, for programs that send the token; and runs the rules that are due. Creates
    the memory if there is none. It serves one user.

    Prints, on standard error, a link that logs the browser in: it works once, for ten minutes. --link prints another
    one, on standard output, while the server runs. The token is created on the first start and is never printed.

    Programs have the trust of an agent: changing what a person stated needs a person's approval, which can be given on
    the page.
    """
    check_packages("the server", _NEEDED)
    from tallystick.surfaces.server.listen import HOST, PORT, Where, is_listening

    where = Where(host or HOST, PORT if port is None else port, allow)
    if link:
        click.echo(_link(call, where))
        if not is_listening(where):
            call.note(f"tallystick: nothing listens on port {where.port}; if it is another, name it with --port")
        return
    import asyncio

    from tallystick.memory.memory import Memory
    from tallystick.surfaces.serve.app import Holds, ServerNotices, serve as serve_all
    from tallystick.surfaces.server.worker import MemoryWorker

    log_to_standard_error()
    chosen, notices = tools(profiles), ServerNotices(call.note)
    opens = partial(Memory, call.usable(), user=call.owner(), notify=notices)
    workers = Holds(  # each with its own source
        page=MemoryWorker(partial(opens, by="page:local", trust="human")),
        api=MemoryWorker(partial(opens, by=f"http:{source_of(agent)}", trust=trust), agent=agent),
        mcp=holder(call, trust, "", agent, notices),
        rules=MemoryWorker(partial(opens, by="rules:local", trust="human")),
    )
    asyncio.run(serve_all(
        workers, chosen, where, notices=notices, note=call.note, options=options_of(call), rate=rate,
        renew=new_token, ready=_open if open_page else None,
    ))  # fmt: skip


def _link(call: Call, where: Where) -> str:
    """A login link for the server that runs there. Whoever has the token can make one."""
    from tallystick.memory.core.token import token_of
    from tallystick.surfaces.serve.access_control import made_code
    from tallystick.surfaces.server.listen import address

    if not where.port:
        raise click.UsageError("--link needs the port on which the server listens: --port N")
    with call.memory(read_only=True) as memory:
        token = token_of(memory.status().ledger, memory.user)
    return f"{address(where.host, where.port)}/login?code={made_code(token, where.port, time.time())}"


def _open(link: str) -> None:
    """Open the page in a thread: a browser that runs in the terminal blocks whoever starts it."""
    import webbrowser
    from threading import Thread

    Thread(target=webbrowser.open, args=(link,), daemon=True).start()


@dataclass(frozen=True, slots=True)
class Setup:
    client: Client
    project: Path | None
    program: list[str]
    folder: str  # empty: where tallystick looks by itself
    entry: Entry
    capture: bool

    @property
    def groups(self) -> plan.Groups:
        return plan.wanted(self.program, self.folder) if self.capture else {}


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(each.name, help=each.title) for each in CLIENTS if each.name.startswith(incomplete)]


@command(
    "connect",
    "tallystick connect",
    "tallystick connect claude-code --print",
    "tallystick connect cursor --project --yes",
    "tallystick connect cursor --project --remove --yes",
    exits={0: "done, or shown", 1: "refused, or the client's file is not understood: what to add is printed"},
)
@click.argument("client", required=False, shell_complete=_complete)
@option("--project", "For the project in this folder only.")
@option("--user-wide", "For everything you do.  [this]")
@option("--capture", "Also start each session with a frame, and record what is said in it.")
@option("--http URL", "Connect to a running server (`mcp --http`) instead of starting one.")
@profiles_option
@option("print_only --print", "Only print what to add, and where.")
@yes_option
@option("--remove", "Remove tallystick from the client's files; with --capture its hooks.")
def connect(
    call: Call, client: str | None, project: bool, user_wide: bool, capture: bool, http: str | None,
    profiles: tuple[str, ...], print_only: bool, yes: bool, remove: bool,
) -> None:  # fmt: skip
    """Shows what changes in the configuration of CLIENT, asks, keeps a copy of the old file next to it, and writes.
    Everything else in the file stays as it is. Without CLIENT, lists the known clients, which of them are installed,
    and which are connected. For an unknown client, prints what most clients understand.

    The client uses the memory that --folder or $TALLYSTICK_HOME names; with --project the one of this folder, if it has
    one; else what tallystick finds where the client starts it, mostly ~/.tallystick.
    """
    if project and user_wide:
        raise click.UsageError("choose --project or --user-wide")
    if remove and (print_only or http or profiles):
        raise click.UsageError("--remove removes whatever is there; leave --print, --http and --profile out")
    if http and (profiles or call.folder):
        raise click.UsageError("a running server has its own memory and tools; leave --folder and --profile out")
    if client is None:
        rows = [_row(each) for each in CLIENTS]
        call.answer(rows, _table(rows))
        return
    known = BY_NAME.get(client, GENERIC)
    if remove and known is GENERIC:
        raise Refused(f"no client named {client!r}; run `tallystick connect` to list them")
    setup = _setup(call, known, Path.cwd() if project else None, client, capture, http, profiles)
    if known is GENERIC or print_only:
        _print_manual(call, setup, client)
    else:
        if http is None and not remove:
            check_packages("the MCP server", ["mcp"])
        _change(call, setup, remove=remove, yes=yes)


def _setup(
    call: Call, client: Client, project: Path | None, name: str, capture: bool, http: str | None,
    profiles: Sequence[str],
) -> Setup:  # fmt: skip
    """The setup, or a refusal of what this client does not support."""
    if client is not GENERIC and project is not None and not client.project:
        raise Refused(f"{client.title} has no project file; leave --project out", "unsupported")
    if capture and client.hooks is None:
        raise Refused(f"{client.title} has no hooks that tallystick supports; leave --capture out", "unsupported")
    program, folder = this_program(), ""
    if call.folder or settings.is_set("TALLYSTICK_HOME") or (project and call.locate() != Path.home() / settings.NAME):
        folder = str(call.locate().absolute())
    words = [*program, "mcp", "--agent", name, *(word for each in profiles for word in ("--profile", each))]
    words += ["--folder", folder] if folder else []
    if strange := next((word for word in words if any("\ud800" <= char <= "\udfff" for char in word)), ""):
        raise Refused(f"{strange!r} is not UTF-8, so no configuration can hold it; use another folder name", "text")
    if http is None:
        return Setup(client, project, program, folder, client.starts(words), capture)
    if not http.startswith(("http://", "https://")) or not http.isprintable() or " " in http:
        raise Refused(f"not a server address: {http!r}; write it like http://127.0.0.1:8722/mcp", "name")
    if client.remote is None:
        why = f"{client.title} cannot read the server's token from a variable; leave --http out"
        raise Refused(why, "unsupported")
    return Setup(client, project, program, folder, client.remote(http), capture)


def _row(client: Client) -> dict[str, Any]:
    """One client: where its files are, whether it is installed, where it is connected, and what is wrong."""
    places = {"user": None} | ({"project": Path.cwd()} if client.project else {})
    connected, wrong = [], ""
    for name, project in places.items():
        try:
            connected += [name] if plan.is_connected(client, project=project) else []
        except (OSError, Refused, Puzzled) as error:
            wrong = f"{client.path(project=project)}: {error}"
    return {
        "client": client.name, "title": client.title, "file": str(client.path()), "found": client.is_found(),
        "connected": connected, "wrong": wrong,
    }  # fmt: skip


def _table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    names = max(len(row["client"]) for row in rows)
    for row in rows:
        state = "found".ljust(14) if row["found"] else dim("not found".ljust(14))
        if row["connected"]:
            state = good(("connected" if "user" in row["connected"] else "connected here").ljust(14))
        yield f"  {bold(row['client'].ljust(names))}  {state}  {dim(short_path(row['file']))}"
        if row["wrong"]:
            yield f"  {' ' * names}  {warn(shown(row['wrong']))}"
    yield dim("`tallystick connect NAME` connects one; for another name it prints what to add")


# -- writing -----------------------------------------------------------------------------------------------------------


def _change(call: Call, setup: Setup, *, remove: bool, yes: bool) -> None:
    """Show the changes, ask, and write them. Where nobody can be asked, say how to have them written."""
    client, remarks = setup.client, [] if remove else _remarks(setup)
    try:
        if remove:
            changes = plan.to_disconnect(client, project=setup.project, hooks_alone=setup.capture)
        else:
            changes = plan.to_connect(client, setup.entry, setup.groups, project=setup.project)
    except Puzzled as error:
        if not remove:
            _print_manual(call, setup, client.name)
        way = f"nothing was changed, {'edit' if remove else 'add'} it by hand"
        raise Refused(f"{error.path} is not understood: {error.why}; {way}", "file") from None
    if not remove:
        done = f"{good('Connected.')} Restart {client.title}, and ask it what it remembers."
        nothing = f"{client.title} is already connected"
    elif setup.capture:
        done, nothing = good("No longer captures."), f"{client.title} captures nothing"
    else:
        done = f"{good('Disconnected.')} The memory stays where it is."
        nothing = f"{client.title} is not connected"
    if not changes:
        path = shown(str(client.path(project=setup.project)))
        call.answer(_answer(client, [], written=False), [f"{nothing}: {dim(path)}"])
        return
    if not call.json:
        click.echo("\n".join([*_differences(changes), *(warn(shown(remark)) for remark in remarks)]))
    if not yes and not call.is_attended():
        line = f"Nothing was written. Add {bold('--yes')} to write it."
        call.answer(_answer(client, changes, written=False), [line])
        return
    if not yes and not click.confirm("\nWrite this?"):
        raise Refused("nothing was changed", "unconfirmed")
    page = []
    for change in changes:
        change.carry_out()
        kept = dim(f"; the old version: {shown(str(change.seen.copy))}") if change.has_copy else ""
        page.append(f"{dim('Removed' if change.after is None else 'Wrote')} {shown(str(change.path))}{kept}")
    call.answer(_answer(client, changes, written=True), [*page, done])


def _remarks(setup: Setup) -> list[str]:
    found = []
    if setup.project is None and not setup.client.is_found():
        found.append(f"{setup.client.title} was not found here: there is no {setup.client.home()}")
    if setup.project is not None:
        found.append("whoever gets this folder gets the file: it names a program on this machine")
    if clients.is_in_cache(setup.program):
        found.append(
            "this tallystick lies in a cache that may be emptied; install it: uv tool install '.[serve]' in a checkout"
        )
    if setup.project is None and not setup.folder and Path.home() / settings.NAME != settings.locate():
        found.append(f"elsewhere it uses another memory than {settings.locate()}; --folder names one for everywhere")
    return found


def _answer(client: Client, changes: Sequence[Change], *, written: bool) -> dict[str, Any]:
    files = [
        {"file": str(change.path), "copy": str(change.seen.copy) if change.has_copy else None} for change in changes
    ]
    return {"client": client.name, "written": written, "changes": files}


def _print_manual(call: Call, setup: Setup, name: str) -> None:
    client, project = setup.client, setup.project
    is_known = client is not GENERIC
    parts = [(str(client.path(project=project)) if is_known else "", plan.with_entry("", client, setup.entry))]
    if setup.groups:
        parts.append((str(client.hooks_path(project=project)), plan.with_hooks("", setup.groups)))
    value = {"client": name, "known": is_known, "add": [{"file": file, "text": text} for file, text in parts]}
    call.answer(value, _manual(parts, "" if is_known else name))


def _manual(parts: Sequence[tuple[str, str]], unknown: str) -> Iterator[str]:
    if unknown:
        near = get_close_matches(unknown.lower().replace(" ", "-"), BY_NAME, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        yield dim(f"{shown(unknown)} is not a known client{hint}")
        yield dim("Most understand this; their documentation says where, such as mcp.json or settings.json:")
    for place, text in parts:
        if place:
            yield dim(f"add to {shown(place)}:")
        yield from (shown(line) for line in text.rstrip("\n").split("\n"))


# -- the lines that change ---------------------------------------------------------------------------------------------


def _differences(changes: Sequence[Change]) -> Iterator[str]:
    for change in changes:
        fate = "  (new)" if change.seen.data is None else ""
        if change.after is None:
            fate = "  (removed: nothing else is in it)"
        yield bold(shown(str(change.path))) + dim(fate)
        for mark, line in differing(change.seen.text, change.after or ""):
            bare = line.lstrip(" \t")
            indent = line[: len(line) - len(bare)].replace("\t", "  ")
            text = f"{mark} {indent}{short(bare, max(width() - 8, 40))}"
            yield "  " + (good if mark == "+" else warn)(text)


def differing(before: str, after: str) -> Iterator[tuple[str, str]]:
    """The removed (`-`) and added (`+`) lines. A comma at the end of a line is not a difference."""
    old, new = before.split("\n"), after.split("\n")
    start, end = common_ends(old, new)
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    if len(gone) == len(come) == 1:  # perhaps the whole file: only the part in which they differ
        start, end = common_ends(gone[0], come[0])
        for mark, line in (("-", gone[0]), ("+", come[0])):
            if part := line[start : len(line) - end].strip():
                yield mark, part
    elif max(len(gone), len(come)) > _COMPARED:
        yield from _marked(_only_in(gone, come), _only_in(come, gone))
    else:
        matcher = SequenceMatcher(None, list(map(_no_comma, gone)), list(map(_no_comma, come)), autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            if tag != "equal":
                yield from _marked(gone[a:b], come[c:d])


def _only_in(lines: list[str], others: list[str]) -> list[str]:
    """The lines that the others lack, or have less often: for texts too long to be compared in order."""
    left = Counter(map(_no_comma, others))
    left.subtract(map(_no_comma, reversed(lines)))
    found = []
    for line in reversed(lines):
        if left[_no_comma(line)] < 0:
            left[_no_comma(line)] += 1
            found.append(line)
    return found[::-1]


def _marked(gone: Sequence[str], come: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from (("-", line) for line in gone if line.strip())
    yield from (("+", line) for line in come if line.strip())


def _no_comma(line: str) -> str:
    return line.rstrip("\r").removesuffix(",")
