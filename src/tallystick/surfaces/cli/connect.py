"""`tallystick connect`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from tallystick.memory import settings
from tallystick.records.errors import Refused
from tallystick.surfaces.cli import connect_output as pages
from tallystick.surfaces.cli.call import Call, on_a_terminal, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import CONNECT
from tallystick.surfaces.cli.mcp import need_the_package
from tallystick.surfaces.connect import hooks, plan
from tallystick.surfaces.connect.clients import BY_NAME, CLIENTS, GENERIC, Client, Entry
from tallystick.surfaces.connect.plan import Change, Puzzled
from tallystick.surfaces.connect.program import is_passing, this_program, writable
from tallystick.surfaces.mcp.profiles import PROFILES


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for, with the client that is meant."""

    client: Client
    project: Path | None
    program: list[str]
    folder: str  # empty: where tallystick looks by itself
    entry: Entry
    capture: bool

    @property
    def groups(self) -> hooks.Groups:
        return hooks.wanted(self.program, self.folder) if self.capture else {}


def _names(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    return [CompletionItem(each.name, help=each.title) for each in CLIENTS if each.name.startswith(begun)]


@command(
    CONNECT,
    example="""
tallystick connect
tallystick connect claude-code --print
tallystick connect cursor --project --yes
tallystick connect cursor --project --remove --yes""",
    exits={0: "done, or shown", 1: "refused, or the client's file is not understood: what to add is printed"},
)
@click.argument("client", required=False, shell_complete=_names)
@click.option("--project", is_flag=True, help="For the project in this folder, not for all that you do.")
@click.option("--user-wide", is_flag=True, help="For all that you do.  [this]")
@click.option("--capture", is_flag=True, help="Also put a frame before each session, and record what was said in it.")
@click.option("--http", metavar="URL", help="Reach a server that runs (`mcp --http`) instead of starting one.")
@click.option(
    "profiles", "--profile", multiple=True, type=click.Choice(tuple(PROFILES)), metavar="NAME",
    help="Offer these tools too: reference, chatgpt, claude, pages. Repeat for more.",
)  # fmt: skip
@click.option("print_only", "--print", is_flag=True, help="Only print what to add, and where.")
@click.option("--yes", is_flag=True, help="Do not ask; for scripts.")
@click.option("--remove", is_flag=True, help="Remove tallystick from the client's files; with --capture its hooks.")
@pass_call
def connect(
    call: Call, client: str | None, project: bool, user_wide: bool, capture: bool, http: str | None,
    profiles: tuple[str, ...], print_only: bool, yes: bool, remove: bool,
) -> int:  # fmt: skip
    """Let a client of the Model Context Protocol start tallystick

    Shows what changes in the configuration of CLIENT, asks, keeps a copy of the old file beside it, and writes. All
    else in the file stays as it is. Without CLIENT, lists the clients that it knows, which of them are here, and which
    are connected. For a client that it does not know, prints what most clients understand.

    The client uses the memory that --folder or $TALLYSTICK_HOME names; with --project the one of this folder, if it has
    one; else what tallystick finds where the client starts it, mostly ~/.tallystick.
    """
    if project and user_wide:
        raise click.UsageError("choose --project or --user-wide")
    if remove and (print_only or http or profiles):
        raise click.UsageError("--remove takes out whatever is there; leave --print, --http and --profile out")
    if http and (profiles or call.folder):
        raise click.UsageError("a server that runs has its own memory and tools; leave --folder and --profile out")
    if client is None:
        return _list(call)
    known = BY_NAME.get(client, GENERIC)
    if remove and known is GENERIC:
        raise Refused(
            f"tallystick does not know {client!r} and wrote nothing there; "
            "`tallystick connect` lists the names"
        )
    wish = _wish(call, known, Path.cwd() if project else None, client, capture, http, profiles)
    if known is GENERIC or print_only:
        pages.to_add(call, wish.client, wish.entry, wish.groups, wish.project, name=client)
        return 0
    return _take_out(call, wish, yes=yes) if remove else _put_in(call, wish, yes=yes, words=http is None)


def _wish(
    call: Call, client: Client, project: Path | None, name: str, capture: bool, http: str | None,
    profiles: Sequence[str],
) -> Wish:  # fmt: skip
    """All that is wanted, or a refusal of what this client cannot have."""
    if client is not GENERIC and project is not None and not client.project:
        raise Refused(f"{client.title} has no file for a project; leave --project out", "unsupported")
    if capture and client.hooks is None:
        raise Refused(
            f"{client.title} has no hooks that tallystick knows; leave --capture out, and connect without it",
            "unsupported",
        )
    program, folder = this_program(), _folder(call, project)
    words = [*program, "mcp", "--agent", name, *(word for each in profiles for word in ("--profile", each))]
    words = writable([*words, *(["--folder", folder] if folder else [])])
    entry = client.starts(words) if http is None else _remote(client, http)
    return Wish(client, project, program, folder, entry, capture)


def _folder(call: Call, project: Path | None) -> str:
    """The memory to name in the client's file; empty if tallystick finds it by itself."""
    if call.folder or settings.names_home() or (project and call.locate() != Path.home() / settings.NAME):
        return str(call.locate().absolute())
    return ""


def _remote(client: Client, url: str) -> Entry:
    if not url.startswith(("http://", "https://")) or not url.isprintable() or " " in url:
        raise Refused(f"not an address of a server: {url!r}; write it like http://127.0.0.1:8722/mcp", "name")
    if client.remote is None:
        raise Refused(
            f"{client.title} cannot be told in a file where to find the token of a server; leave --http out",
            "unsupported",
        )
    return client.remote(url)


def _list(call: Call) -> int:
    rows = [_row(client) for client in CLIENTS]
    call.answer(rows, lambda: pages.table(rows))
    return 0


def _row(client: Client) -> dict[str, object]:
    """One client: where its files are, whether it is here, where it is connected, and what is wrong with a file."""
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


# -- writing -----------------------------------------------------------------------------------------------------------


def _put_in(call: Call, wish: Wish, *, yes: bool, words: bool) -> int:
    client = wish.client
    if words:
        need_the_package()
    try:
        changes = plan.to_connect(client, wish.entry, wish.groups, project=wish.project)
    except Puzzled as error:
        pages.to_add(call, client, wish.entry, wish.groups, wish.project, name=client.name)
        raise Refused(
            f"{error.path} is not understood: {error.why}; nothing was changed, add it by hand", "file"
        ) from None
    if not changes:
        return _nothing(call, wish, f"{client.title} is already connected")
    remarks = _remarks(wish)
    if not _agreed(call, wish, changes, remarks, yes=yes):
        return 0
    _carry_out(changes)
    pages.connected(call, client, changes)
    return 0


def _take_out(call: Call, wish: Wish, *, yes: bool) -> int:
    client = wish.client
    try:
        changes = plan.to_disconnect(client, project=wish.project, hooks_alone=wish.capture)
    except Puzzled as error:
        raise Refused(
            f"{error.path} is not understood: {error.why}; nothing was changed, edit it by hand", "file"
        ) from None
    if not changes:
        return _nothing(call, wish, f"{client.title} {'captures nothing' if wish.capture else 'is not connected'}")
    if not _agreed(call, wish, changes, [], yes=yes):
        return 0
    _carry_out(changes)
    pages.disconnected(call, client, changes, still=wish.capture)
    return 0


def _nothing(call: Call, wish: Wish, text: str) -> int:
    path = str(wish.client.path(project=wish.project))
    call.answer(pages.answer(wish.client, [], written=False), lambda: [pages.told(text, path)])
    return 0


def _remarks(wish: Wish) -> list[str]:
    """What a person should know before they say yes."""
    found = []
    if wish.project is None and not wish.client.is_found():
        found.append(f"{wish.client.title} was not found here: there is no {wish.client.home()}")
    if wish.project is not None:
        found.append("whoever gets this folder gets the file: it names a program on this machine")
    if is_passing(wish.program):
        found.append(
            "this tallystick lies in a cache that may be emptied; "
            "to stay: uv tool install '.[serve]' in a checkout"
        )
    if wish.project is None and not wish.folder and Path.home() / settings.NAME != settings.locate():
        found.append(f"elsewhere it uses another memory than {settings.locate()}; --folder names one for everywhere")
    return found


def _agreed(call: Call, wish: Wish, changes: list[Change], remarks: list[str], *, yes: bool) -> bool:
    """Whether to go on. Where nobody can be asked, what would be written is shown, and how to have it written."""
    if not call.json:
        pages.show(changes, remarks)
    if yes:
        return True
    if call.json or not on_a_terminal():
        pages.only_shown(call, wish.client, changes)
        return False
    if not click.confirm("\nWrite this?"):
        raise Refused("nothing was changed", "unconfirmed")
    return True


def _carry_out(changes: list[Change]) -> None:
    for change in changes:
        change.carry_out()
