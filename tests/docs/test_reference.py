"""The pages and the program say the same: nothing is missing, nothing is made up, and every link leads somewhere."""

import dataclasses
import inspect
import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from markdown_it import MarkdownIt

import tallystick
from tallystick.memory import settings
from tallystick.records import errors
from tallystick.records.audit import AuditLine
from tallystick.records.episode import Episode
from tallystick.records.health import StoreHealth
from tallystick.records.page import Compaction, PageEntry, PageInfo, PageText, Synced
from tallystick.records.proposal import Proposal
from tallystick.records.recall import Dropped, FilledFrame, Frame, Hit, RecallResult, Receipt, Replayed
from tallystick.records.transfer import Exported, Imported, TakenIn
from tallystick.repair.findings import CODES
from tallystick.surfaces.cli.root import tallystick as program
from tests.surfaces.cli.test_map import COMMANDS

ROOT = Path(__file__).parent.parent.parent
REFERENCE = ROOT / "docs" / "reference"
WRONG = ROOT / "docs" / "how-to" / "when-something-is-wrong.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))

OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")
EXPLAINED = re.compile(r"^  (-\S.*?)(?:  .*)?$", re.MULTILINE)  # a line of a help page that begins with an option
CALL = re.compile(r"(?:\$ )?(tallystick(?: .*)?)$")
SHOWN_AS_A_SLIP = {"shew"}

# -- reading pages -----------------------------------------------------------------------------------------------------


def headings(page: Path) -> Iterator[tuple[str, int, str]]:
    """Level, line and text of each heading."""
    for token, content in pairwise(MarkdownIt().parse(page.read_text(encoding="utf-8"))):
        if token.type == "heading_open" and token.map:
            yield token.tag, token.map[0], content.content


def sections(page: Path) -> dict[str, str]:
    """The text below each second heading, by the heading."""
    lines = page.read_text(encoding="utf-8").splitlines()
    starts = [(line, text.strip("`")) for level, line, text in headings(page) if level == "h2"]
    ends = [line for line, _ in starts[1:]] + [len(lines)]
    return {text: "\n".join(lines[line:end]) for (line, text), end in zip(starts, ends, strict=True)}


def codes(text: str) -> Iterator[str]:
    """What stands in code spans and blocks."""
    for token in MarkdownIt().parse(text):
        if token.type == "fence":
            yield token.content
        yield from (child.content for child in token.children or () if child.type == "code_inline")


def links(page: Path) -> Iterator[str]:
    for token in MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8")):
        yield from (str(child.attrs["href"]) for child in token.children or () if child.type == "link_open")


@cache
def anchors(page: Path) -> set[str]:
    """What a browser of repositories makes of its headings."""
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for _, _, text in headings(page)}


@each_page
def test_every_link_to_a_page_leads_somewhere(page):
    lost = []
    for link in links(page):
        path, _, place = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if "://" in link:
            continue
        if not target.exists() or (place and place not in anchors(target)):
            lost.append(link)

    assert lost == []


# -- commands ----------------------------------------------------------------------------------------------------------


GROUPS = {name.partition(" ")[0] for name in COMMANDS if " " in name}


def options(command: click.Command) -> set[str]:
    found = [param for param in command.params if isinstance(param, click.Option)]
    return {name for option in found for name in (*option.opts, *option.secondary_opts)} | {"--help", "-h"}


def test_every_command_has_its_section_and_every_section_its_command():
    titles = set(sections(REFERENCE / "commands.md"))

    assert titles - {"Everywhere", "Exit statuses", "Names and moments"} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_shown_with_every_option_it_has_and_no_other(name):
    section = sections(REFERENCE / "commands.md").get(name, "")
    lines = [line for block in codes(section) for line in EXPLAINED.findall(block)]

    assert {option for line in lines for option in OPTION.findall(line)} == options(COMMANDS[name])


def test_a_group_that_has_options_of_its_own_is_shown_with_them():
    """What is shown is run with the page, so that a name is enough here."""
    context = click.Context(program)
    groups = {name: program.get_command(context, name) for name in sorted(GROUPS)}
    shown = {name for name in groups if f"$ tallystick {name} --help" in (REFERENCE / "commands.md").read_text("utf-8")}

    assert shown >= {name for name, group in groups.items() if group and group.params}
    assert "$ tallystick --help\n" in (REFERENCE / "commands.md").read_text("utf-8")


@each_page
def test_no_page_calls_a_command_or_option_that_is_not_there(page):
    spans = [span.replace("\\\n", " ") for span in codes(page.read_text(encoding="utf-8"))]
    calls = [found[1] for span in spans for line in span.splitlines() if (found := CALL.match(line.strip()))]

    assert [wrong for call in calls if (wrong := unknown_in(call))] == []


def unknown_in(call: str) -> str:
    """What a call names that does not exist; nothing if all of it does."""
    try:
        words = shlex.split(re.split(r" [|>#] ", call)[0])[1:]
    except ValueError:  # a call that is cut off in the middle of a quoted text
        return ""
    paths = {at for at, word in enumerate(words, 1) if word in ("-C", "--folder")}
    spoken = [word for at, word in enumerate(words) if not word.startswith("-") and at not in paths]
    if not spoken or spoken[0] in {"COMMAND", "…", *SHOWN_AS_A_SLIP} or spoken[-1].endswith(":"):
        return ""
    name = " ".join(spoken[:2]) if spoken[0] in GROUPS else spoken[0]
    if name not in COMMANDS:
        return "" if name in GROUPS else f"{call}: there is no command {name!r}"
    known = options(COMMANDS[name]) | options(program)
    strange = [word for word in words if OPTION.match(word) and word.partition("=")[0] not in known]
    return f"{call}: {name} has no option {strange[0]}" if strange else ""


def test_a_page_that_calls_what_is_not_there_is_caught():
    assert "no command 'shwo'" in unknown_in("tallystick shwo")
    assert "no command 'ledger bless'" in unknown_in("tallystick ledger bless")
    assert "no option --histroy" in unknown_in("tallystick show --histroy tea")
    assert unknown_in("tallystick -C there show tea --history") == ""


# -- Python ------------------------------------------------------------------------------------------------------------


def written(name: str, member: Any) -> str:
    """The signature of a method as the reference writes it."""
    signature = inspect.signature(member)
    parts, starred = [], False
    for param in list(signature.parameters.values())[1:]:
        if param.kind is param.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or param.kind in (param.KEYWORD_ONLY, param.VAR_POSITIONAL)
        mark = {param.VAR_POSITIONAL: "*", param.VAR_KEYWORD: "**"}.get(param.kind, "")
        default = "" if param.default is param.empty else f" = {value_of(param.default)}"
        parts.append(f"{mark}{param.name}: {param.annotation}{default}")
    return f"{name}({', '.join(parts)}) -> {signature.return_annotation}"


def value_of(value: object) -> str:
    if isinstance(value, str):
        return '"{}"'.format(value.replace("\n", "\\n"))
    return getattr(value, "__name__", repr(value))


def public(kind: type) -> dict[str, str]:
    """The public methods and properties of a class and of those it is made of, as the reference writes them."""
    found = {}
    for name, member in [item for each in reversed(kind.__mro__[:-1]) for item in vars(each).items()]:
        method = member.__func__ if isinstance(member, classmethod) else member
        if name == "__init__":
            found[kind.__name__] = written(kind.__name__, method).removesuffix(" -> None")
        elif not name.startswith("_") and inspect.isfunction(method):
            found[name] = written(name, inspect.unwrap(method))
        elif not name.startswith("_"):
            found[name] = name
    return found


def signatures_in(section: str) -> dict[str, str]:
    """What a section shows in its ```text blocks, a name to each."""
    found = {}
    for token in MarkdownIt().parse(section):
        if token.type == "fence" and token.info == "text":
            text = re.sub(r"\s+", " ", token.content).replace("( ", "(").replace(", )", ")").strip()
            found[text.partition("(")[0]] = text
    return found


SERVICES = [
    "beliefs", "episodes", "facts", "rules", "reviews", "work", "frames", "config", "receipts", "tidy", "ledger",
    "pages", "paths", "graph", "entities", "files",
]  # fmt: skip


@pytest.mark.parametrize("title", ["Memory", *(f"m.{name}" for name in SERVICES)])
def test_the_python_reference_shows_every_public_method_as_it_is(title, tmp_path):
    with tallystick.Memory(tmp_path / "memory") as memory:
        kind = type(memory if title == "Memory" else getattr(memory, title.removeprefix("m.")))
    known = public(kind)
    if title != "Memory":
        known.pop(kind.__name__)

    assert signatures_in(sections(REFERENCE / "python.md")[title]) == known


@pytest.mark.parametrize("kind", [tallystick.ChronoStore, tallystick.EsdbBridge], ids=lambda kind: kind.__name__)
def test_the_esdb_reference_names_every_public_method_and_parameter(kind):
    section = sections(REFERENCE / "esdb.md")[kind.__name__]
    shown = {found[1]: found[2] for found in re.finditer(r"^\| `(\w+)\((.*?)\)` \|", section, re.MULTILINE)}
    methods = {name: member for name, member in vars(kind).items() if inspect.isfunction(member)}
    known = {
        name.replace("__init__", kind.__name__): ", ".join(parameters(member))
        for name, member in methods.items()
        if name == "__init__" or not name.startswith("_")
    }

    assert {name: text.replace("*, ", "") for name, text in shown.items()} == known


def parameters(member: Any) -> list[str]:
    """A method's parameters, without their types."""
    return [briefly(param) for param in [*inspect.signature(member).parameters.values()][1:]]


def briefly(param: inspect.Parameter) -> str:
    if param.kind is param.VAR_KEYWORD:
        return f"**{param.name}"
    return param.name if param.default is param.empty else f"{param.name}={value_of(param.default)}"


SHOWN_FIELD_BY_FIELD = [
    ("esdb.md", "Fields", tallystick.ChronoRecord), ("esdb.md", "EsdbRecord", tallystick.EsdbRecord),
    ("esdb.md", "WalEvent", tallystick.WalEvent), ("python.md", "Belief", tallystick.Belief),
    ("python.md", "Hit", Hit), ("python.md", "FilledFrame", FilledFrame), ("python.md", "Dropped", Dropped),
    ("python.md", "Replayed", Replayed), ("python.md", "Receipt", Receipt), ("python.md", "Proposal", Proposal),
    ("python.md", "Episode", Episode), ("python.md", "Frame", Frame), ("python.md", "Fact", tallystick.Fact),
    ("python.md", "ConsolidationRule", tallystick.ConsolidationRule), ("python.md", "PageEntry", PageEntry),
    ("python.md", "PageInfo", PageInfo), ("python.md", "PageText", PageText), ("python.md", "Compaction", Compaction),
    ("python.md", "Synced", Synced), ("python.md", "AuditLine", AuditLine), ("python.md", "Imported", Imported),
    ("python.md", "Exported", Exported), ("python.md", "TakenIn", TakenIn),
]  # fmt: skip


@pytest.mark.parametrize(
    ("page", "title", "kind"), SHOWN_FIELD_BY_FIELD, ids=[kind.__name__ for *_, kind in SHOWN_FIELD_BY_FIELD]
)
def test_the_fields_and_their_defaults_are_those_of_the_class(page, title, kind):
    section = sections(REFERENCE / page)[title]
    shown = [(found[1], found[2]) for found in re.finditer(r"^\| `(\w+)` \| (\S+) \|", section, re.MULTILINE)]

    assert shown == [(field.name, default_of(field)) for field in dataclasses.fields(kind)]


def test_the_python_reference_names_all_that_a_recall_knows():
    section = sections(REFERENCE / "python.md")["RecallResult"]
    known = {*vars(RecallResult()), *(name for name in vars(RecallResult) if not name.startswith("_"))}

    assert [name for name in sorted(known) if f"`{name}`" not in section and f"`{name}()`" not in section] == []


def default_of(field: "dataclasses.Field[Any]") -> str:
    if field.default is not dataclasses.MISSING:
        return f"`{value_of(field.default)}`"
    return "required" if field.default_factory is dataclasses.MISSING else f"`{field.default_factory()!r}`"


def test_the_python_reference_names_everything_that_can_be_imported():
    text = (REFERENCE / "python.md").read_text(encoding="utf-8")

    assert [name for name in tallystick.__all__ if f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    "kind", [tallystick.SQLiteMemoryStore, tallystick.SQLiteFactStore], ids=lambda kind: kind.__name__
)
def test_the_reference_of_stores_names_every_public_method(kind):
    section = sections(REFERENCE / "stores.md")[kind.__name__]
    methods = [name for name, member in vars(kind).items() if inspect.isfunction(member) and not name.startswith("_")]

    assert methods
    assert [name for name in methods if f"`{name}(" not in section] == []


def test_the_fields_of_health_and_the_kinds_of_deltas_are_on_the_page_of_stores():
    text = (REFERENCE / "stores.md").read_text(encoding="utf-8")
    deltas = [tallystick.AddDelta, tallystick.UpdateDelta, tallystick.DeleteDelta, tallystick.NoopDelta]
    fields = {field.name for field in dataclasses.fields(StoreHealth)}
    fields |= {name for kind in deltas for name in kind.model_fields}

    assert [name for name in sorted(fields) if f"`{name}`" not in text] == []


def test_every_kind_of_event_is_in_the_format():
    text = (ROOT / "docs" / "design" / "ledger-format.md").read_text(encoding="utf-8")
    source = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src/tallystick").rglob("*.py")))
    ops = set(re.findall(r"\"([a-z]+(?:\.[a-z]+)*/1)\"", source))

    assert {"belief.put/1", "rule.ran/1", "delta.noop/1"} <= ops
    assert [op for op in sorted(ops) if f"`{op}`" not in text] == []


# -- errors, settings, findings ----------------------------------------------------------------------------------------


def test_the_tree_of_errors_is_the_one_in_the_program():
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    tree = (errors.__doc__ or "").partition("\n\n")[2].partition("\n\nA message")[0]
    kinds = [name for name, kind in vars(errors).items() if inspect.isclass(kind) and name != "TallystickError"]

    assert tree in text
    assert [name for name in kinds if name not in tree or f"| `{name}` |" not in text] == []
    words = get_args(errors.Code) + get_args(errors.Why)
    assert [word for word in words if f"| `{word}` |" not in text] == []


def test_every_setting_and_every_environment_variable_is_in_the_reference():
    text = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    read = set(re.findall(r"\"([A-Z]+_[A-Z_]+)\"", Path(settings.__file__).read_text(encoding="utf-8")))
    sections = {"durability": "ledger", "extractor": "consolidate", "several": "consolidate"}
    sections |= {"corroborate": "policy"}
    sections |= dict.fromkeys(("follow", "zone", "auto_dormant_days"), "pages")
    sections |= dict.fromkeys(("soft_limit_tokens", "hard_limit_tokens"), "writer")
    sections |= {"keep_secrets": "policy"}
    keys = {f"{sections.get(name, 'recall')}.{name}" for name in settings.Settings._fields if name != "audit"}
    keys.add("audit.follow")

    assert "TALLYSTICK_HOME" in read
    assert [name for name in sorted(read | keys) if f"| `{name}` |" not in text] == []


def test_every_finding_is_explained_as_the_program_knows_it():
    rows = [
        f"| `{name}` | {code.severity} | {code.meaning} | {code.fix or f'nothing; {code.remedy}'} |"
        for name, code in CODES.items()
    ]

    assert re.findall(r"^\| `[a-z-]+` \|.*$", sections(WRONG)["All findings"], re.MULTILINE) == rows


def test_every_message_that_is_explained_is_one_that_the_program_has():
    source = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py")))
    messages = re.findall(r"^\| `(.+?)` \|", sections(WRONG)["Messages"], re.MULTILINE)

    assert messages
    assert [message for message in messages if not all(part in source for part in message.split("…"))] == []


def test_the_design_names_every_room_and_every_file_of_the_ledger():
    text = (ROOT / "docs" / "design" / "architecture.md").read_text(encoding="utf-8")
    rooms = [path.parent.name for path in (ROOT / "src" / "tallystick").glob("*/__init__.py")]
    files = [path.stem for path in (ROOT / "src" / "tallystick" / "ledger").rglob("*.py") if path.stem != "__init__"]

    assert [room for room in rooms if f"\n**{room}** " not in text] == []
    assert [file for file in files if f"`{file}`" not in text] == []
