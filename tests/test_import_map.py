"""Who may import whom. The rooms are the folders of src/tallystick; this file is the map.

Every import counts, also one inside a function or under TYPE_CHECKING. The files at the top of the package are
the front door: they may import any room, and no room imports them.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"
PACKAGE = "tallystick"
SETTINGS = "tallystick.memory.settings"
MATTERS = (ast.Import, ast.ImportFrom, ast.Call, ast.Attribute, ast.keyword, ast.BinOp)

BELOW_STORES = {
    "records", "text", "state", "consolidate", "decide", "exchange", "models", "ledger", "projections", "recall",
    "repair",
}  # fmt: skip
MAY_IMPORT = {
    "records": set(),
    "text": {"records"},
    "state": {"text", "records"},
    "consolidate": {"text", "records"},
    "decide": {"state", "text", "records"},
    "exchange": {"records"},
    "models": {"records"},
    "ledger": {"records"},
    "projections": {"state", "text", "records"},
    "recall": {"projections", "ledger", "text", "records"},
    "repair": {"ledger", "projections", "state", "text", "records"},
    "stores": BELOW_STORES,
    "memory": BELOW_STORES | {"stores"},
    "surfaces": {"memory", "stores", "records"},
}


@dataclass(frozen=True, slots=True)
class Import:
    """One module names another; `target` is as long as the source spells it."""

    source: str
    target: str
    where: str


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    path: Path
    nodes: Sequence[ast.AST]  # those of its tree that may matter here

    def at(self, node: ast.expr | ast.stmt) -> str:
        return f"{self.path}:{node.lineno}"

    def imports(self) -> Iterator[Import]:
        for node in self.nodes:
            for target in self._targets(node):
                yield Import(self.name, target, self.at(node))

    def _targets(self, node: ast.AST) -> list[str]:
        match node:
            case ast.Import(names=names):
                return [alias.name for alias in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                base = ".".join(part for part in (self._above(level), module) if part)
                return [f"{base}.{alias.name}" for alias in names]
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                return [name]
        return []

    def _above(self, level: int) -> str:
        """The package that `level` dots mean in this file."""
        if level == 0:
            return ""
        parts = self.name.split(".")
        return ".".join(parts[: len(parts) - level + (self.path.name == "__init__.py")])

    def reads_of_the_environment(self) -> Iterator[str]:
        os_names = {
            alias.asname or "os"
            for node in self.nodes
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name == "os" or (alias.name.startswith("os.") and not alias.asname)
        }
        doors = {"environ", "environb", "getenv", "getenvb"}
        for node in self.nodes:
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in os_names and attr in doors:
                    yield self.at(node)
                case ast.ImportFrom(module="os", level=0, names=names) if doors & {alias.name for alias in names}:
                    yield self.at(node)
                case ast.keyword(arg="envvar" | "auto_envvar_prefix", value=value):  # click reads it for us
                    yield self.at(value)


def modules(src: Path) -> dict[str, Module]:
    found = {}
    for path in sorted((src / PACKAGE).rglob("*.py")):
        parts = path.relative_to(src).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        found[name] = Module(name, path, [node for node in ast.walk(tree) if isinstance(node, MATTERS)])
    return found


def room(name: str, known: dict[str, Module]) -> str | None:
    """The folder under the package in which `name` lives; None for the front door."""
    is_top_file = name in known and known[name].path.parent.name == PACKAGE
    return None if is_top_file else name.split(".")[1]


def room_violations(known: dict[str, Module]) -> Iterator[str]:
    for module in known.values():
        here = room(module.name, known)
        if here is None:
            continue
        if here not in MAY_IMPORT:
            yield f"{module.path}:1: room {here!r} is not on the map"
            continue
        for each in module.imports():
            if each.target.split(".")[0] != PACKAGE:
                continue
            there = room(resolve(each.target, known), known)
            if there != here and there not in MAY_IMPORT[here]:
                may = ", ".join(sorted(MAY_IMPORT[here])) or "nothing of ours"
                yield f"{each.where}: {here} imports {there or 'the front door'} ({each.target}); {here} → {may}"


FILES_OF_THE_LEDGER = f"{PACKAGE}.ledger.folder"
MAY_TOUCH_FILES = ("stores", "repair")


def engine_violations(known: dict[str, Module]) -> Iterator[str]:
    """What is about the ledger's files stays where it is about files: everybody else has a `Ledger`."""
    for module in known.values():
        if module.name.startswith(FILES_OF_THE_LEDGER) or room(module.name, known) in MAY_TOUCH_FILES:
            continue
        for each in module.imports():
            if f"{each.target}.".startswith(f"{FILES_OF_THE_LEDGER}."):
                yield f"{each.where}: {module.name} imports {each.target}; use tallystick.ledger.protocol"
        for node in module.nodes:
            match node:
                case ast.BinOp(op=ast.Div(), right=ast.Constant(value="events.wal" | "sealed")):
                    yield f"{module.at(node)}: {module.name} touches a path of the ledger"


PLACE_OF_PSYCOPG = f"{PACKAGE}.ledger.postgres"


def driver_violations(known: dict[str, Module]) -> Iterator[str]:
    """psycopg is an extra: only what is about a ledger in PostgreSQL names it."""
    for module in known.values():
        for each in module.imports():
            if each.target.split(".")[0] == "psycopg" and not module.name.startswith(PLACE_OF_PSYCOPG):
                yield f"{each.where}: {module.name} imports psycopg; only {PLACE_OF_PSYCOPG} does"


def outside_violations(known: dict[str, Module]) -> Iterator[str]:
    for module in known.values():
        for each in module.imports():
            if each.target.split(".")[0] in {"bench", "tests"}:
                yield f"{each.where}: the program imports {each.target}; bench and tests import it, never the reverse"


def environment_violations(known: dict[str, Module]) -> Iterator[str]:
    for module in known.values():
        if module.name == SETTINGS or module.name.startswith(SETTINGS + "."):
            continue
        for where in module.reads_of_the_environment():
            yield f"{where}: only {SETTINGS} reads the environment"


def cycle_violations(known: dict[str, Module]) -> Iterator[str]:
    """Modules from which one can get back to where one began; one line for each such ring."""
    edges: dict[str, dict[str, str]] = {name: {} for name in known}
    for module in known.values():
        for each in module.imports():
            target = resolve(each.target, known)
            if target in known:
                edges[module.name].setdefault(target, each.where)
    told: set[str] = set()
    for start in known:
        ring = way_back(start, edges)
        if ring and told.isdisjoint(ring):
            told.update(ring)
            yield f"{edges[ring[0]][ring[1]]}: modules import each other: {' → '.join(ring)}"


def way_back(start: str, edges: dict[str, dict[str, str]]) -> list[str]:
    """The shortest way from `start` to itself, or nothing."""
    trails, seen = [[start]], set[str]()
    for trail in trails:
        for target in edges[trail[-1]]:
            if target == start:
                return [*trail, start]
            if target not in seen:
                seen.add(target)
                trails.append([*trail, target])
    return []


def resolve(target: str, known: dict[str, Module]) -> str:
    """The module meant by `from a.b import c`: a.b.c if that is a module, else a.b."""
    parent = target.rpartition(".")[0]
    return parent if target not in known and parent in known else target


@pytest.fixture(scope="module")
def program() -> dict[str, Module]:
    return modules(SRC)


RULES = [
    room_violations, engine_violations, driver_violations, outside_violations, environment_violations, cycle_violations,
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_program_keeps_the_map(rule, program):
    broken = list(rule(program))
    assert not broken, "\n" + "\n".join(broken)


def made_up(tmp_path: Path, files: dict[str, str]) -> dict[str, Module]:
    for name, text in {"__init__.py": "", **files}.items():
        path = tmp_path / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return modules(tmp_path)


@pytest.mark.parametrize(
    ("rule", "files", "where", "says"),
    [
        (room_violations, {"records/a.py": "import tallystick.ledger.b\n", "ledger/b.py": ""},
         "records/a.py:1", "records imports ledger"),
        (room_violations,
         {"ledger/a.py": "def f():\n    from tallystick.projections import b\n", "projections/b.py": ""},
         "ledger/a.py:2", "ledger imports projections"),
        (room_violations, {"recall/a.py": "if TYPE_CHECKING:\n    from ..memory.b import B\n", "memory/b.py": ""},
         "recall/a.py:2", "recall imports memory"),
        (room_violations, {"recall/__init__.py": "from .. import memory\n", "memory/__init__.py": ""},
         "recall/__init__.py:1", "recall imports memory"),
        (room_violations, {"projections/index/a.py": "from ...ledger import b\n", "ledger/b.py": ""},
         "projections/index/a.py:1", "projections imports ledger"),
        (room_violations, {"stores/a.py": "import_module('tallystick.memory')\n", "memory/__init__.py": ""},
         "stores/a.py:1", "stores imports memory"),
        (room_violations, {"surfaces/a.py": "from tallystick import Memory\n"},
         "surfaces/a.py:1", "surfaces imports the front door"),
        (room_violations, {"surfaces/a.py": "from tallystick.door import x\n", "door.py": ""},
         "surfaces/a.py:1", "surfaces imports the front door"),
        (room_violations, {"util/a.py": ""}, "util/a.py:1", "room 'util' is not on the map"),
        (engine_violations, {"memory/a.py": "from tallystick.ledger.folder import b\n", "ledger/folder/b.py": ""},
         "memory/a.py:1", "use tallystick.ledger.protocol"),
        (engine_violations, {"ledger/a.py": "from tallystick.ledger.folder.b import c\n", "ledger/folder/b.py": ""},
         "ledger/a.py:1", "use tallystick.ledger.protocol"),
        (engine_violations, {"surfaces/a.py": "wal = folder / 'events.wal'\n"},
         "surfaces/a.py:1", "touches a path of the ledger"),
        (outside_violations, {"ledger/a.py": "\nfrom tests.strategies import events\n"},
         "ledger/a.py:2", "tests.strategies"),
        (driver_violations, {"projections/a.py": "def f():\n    import psycopg\n"},
         "projections/a.py:2", "imports psycopg"),
        (outside_violations, {"__init__.py": "import bench.ledger\n"}, "__init__.py:1", "bench.ledger"),
        (environment_violations, {"ledger/a.py": "import os as o\no.environ['X']\n"}, "ledger/a.py:2", "only"),
        (environment_violations, {"ledger/a.py": "import os.path\nos.getenv('X')\n"}, "ledger/a.py:2", "only"),
        (environment_violations, {"surfaces/a.py": "from os import environ\n"}, "surfaces/a.py:1", "only"),
        (environment_violations, {"surfaces/a.py": "click.option('--x', envvar='X')\n"}, "surfaces/a.py:1", "only"),
        (cycle_violations, {"ledger/a.py": "from . import b\n", "ledger/b.py": "def f():\n    from .a import x\n"},
         "ledger/a.py:1", "tallystick.ledger.a → tallystick.ledger.b → tallystick.ledger.a"),
        (cycle_violations, {"ledger/__init__.py": "from .a import x\n", "ledger/a.py": "from . import x\n"},
         "ledger/__init__.py:1", "tallystick.ledger → tallystick.ledger.a → tallystick.ledger"),
        (cycle_violations, {"ledger/a.py": "from . import b\n", "ledger/b.py": "from . import c\n",
                            "ledger/c.py": "from . import a\n"},
         "ledger/a.py:1", "tallystick.ledger.a → tallystick.ledger.b → tallystick.ledger.c → tallystick.ledger.a"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named_with_its_file_and_line(tmp_path, rule, files, where, says):
    [line] = rule(made_up(tmp_path, files))

    assert f"{PACKAGE}/{where}: " in line
    assert says in line


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_tree_that_keeps_the_map_is_left_alone(tmp_path, rule):
    tree = made_up(tmp_path, {
        "__init__.py": "from tallystick.memory import Memory\nfrom .records import Event\n",
        "__main__.py": "from tallystick.surfaces.cli import main\n",
        "surfaces/cli/__init__.py": "from ...memory import Memory\nfrom . import show\n",
        "surfaces/cli/show.py": "from tallystick.records import Event\n",
        "memory/__init__.py": "from tallystick.memory.settings import home\nfrom tallystick.ledger import append\n",
        "memory/settings.py": "import os\nhome = os.environ.get('TALLYSTICK_HOME')\n",
        "ledger/__init__.py": "",
        "ledger/append.py": "import os\nfrom tallystick.records.event import Event\nfrom . import disk\nos.fsync(1)\n",
        "ledger/disk.py": "",
        "ledger/postgres/connect.py": "import psycopg\n",
        "ledger/folder/read.py": "from tallystick.ledger.disk import x\nopen(root / 'events.wal')\n",
        "stores/open.py": "from tallystick.ledger.folder.read import Folder\nfolder / 'sealed'\n",
        "records/__init__.py": "from .event import Event\n",
        "records/event.py": "",
    })  # fmt: skip

    assert list(rule(tree)) == []
