"""The same crawl over tables that somebody edited: whatever is asked over the API, MCP, the page and the command line,
no word comes out that was not recorded, and none that is quarantined.

All text columns of one set of tables are edited at once, or all columns that say what is trusted. Which single column
does what, and the reading calls of `Memory`, are in tests/crash/test_edited_tables.py.
"""

import sqlite3
from contextlib import closing, suppress
from shutil import copytree

import click
import pytest
from click.testing import CliRunner

from tallystick import Memory
from tallystick.records.errors import Busy
from tallystick.surfaces.cli.root import tallystick
from tests.conftest import SOAK
from tests.surfaces.api.conftest import Api
from tests.surfaces.test_crawl import asked_by, commands, opaque, planted, read_over_mcp, requests, seen
from tests.surfaces.web.conftest import Web

__all__ = ["planted"]

FORGED = "zqforgedqz"
SETS = {
    "state": "state_*", "index": "index_*", "blocks": "blocks", "tags": "block_tags", "pages": "entries",
    "page heads": "files", "graph": "graph_*", "pending": "page_*",
}  # fmt: skip
NO_WORDS = ("positions", "state_table")  # what they hold names tables
RELEASED = (
    "UPDATE index_sources SET quarantined = 0, trust = 'human', sight = 0, approved_seq = 3, borne_out = 1",
    "UPDATE blocks SET status = 'active'",
    "DELETE FROM index_distrusts",
    "DELETE FROM index_sights",
    *(
        f"UPDATE state_row SET value = CAST(replace(CAST(value AS TEXT), '{was}', '{now}') AS BLOB)"
        for was, now in (
            ('"trust":"web"', '"trust":"human"'), ('"trust":"tool"', '"trust":"human"'), ('"waiting"', '"approved"'),
        )
    ),
    "DELETE FROM state_row WHERE tab IN (SELECT id FROM state_table WHERE name IN ('source.doubt', 'source.none'))",
)
PAGES = ("/", "/search?q=what+is+said+about+files+and+Ana", "/pages", "/graph", "/timeline", "/reviews", "/integrity")


def edit(path, statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        for statement in statements:
            db.execute(statement)


def forgeries(path, tables):
    """Statements that put a forged word in the place of a part of every text."""
    with closing(sqlite3.connect(path)) as db:
        named = "SELECT name FROM pragma_table_list WHERE type = 'table' AND name GLOB ?"
        for (table,) in db.execute(named, (tables,)).fetchall():
            for _, column, *_ in db.execute(f"PRAGMA table_info({table})").fetchall() if table not in NO_WORDS else ():
                for kind in ("text", "blob"):
                    fake = f'CAST(CAST("{column}" AS TEXT) AS TEXT)'
                    for word in ("Ana", "tea", "zqweb", "zqtool", "Friday"):
                        fake = f"replace({fake}, '{word}', '{FORGED}')"
                    given = f'"{column}" = CAST({fake} AS {kind}) WHERE typeof("{column}") = \'{kind}\''
                    yield f"UPDATE OR IGNORE {table} SET {given}"


def over_the_api(place, trust, ids):
    with suppress(Busy):  # a row that was edited costs one call
        opaque(place)
    with Memory(place) as m, Api(m, trust=trust) as api:
        for method, address, query, _ in requests(api, m, ids):
            if method == "get":
                yield f"GET {address}", api.request(method, address, params=query).text


def over_mcp(place, trust, ids):
    for name, _, text in read_over_mcp(place, trust, None, ids)[0]:
        yield f"MCP {name}", text


def on_the_page(place, _, __):
    with Memory(place) as m, Web(m) as web:
        for address in PAGES:
            yield f"page {address}", web.get(address).text


def on_the_command_line(place, trust, _):
    named = dict(commands(tallystick))
    for name in ("status", "log", "show", "recall what is said about files?", "review", "trust", "pages", "graph show"):
        if (command := named.get(name.split()[0]) or named.get(name)) is None:
            continue
        takes = {param.name for param in command.params if isinstance(param, click.Option)}
        said = ["-C", str(place), *name.split(maxsplit=1), *(["--trust", trust] if "trust" in takes else [])]
        yield name, CliRunner().invoke(tallystick, said, input="").output


WAYS = {"the API": over_the_api, "MCP": over_mcp, "the page": on_the_page, "the command line": on_the_command_line}


def several(which):
    """All of it in the soak; by day so many that each way and each set are in it."""
    every = [(way, each) for each in which for way in WAYS]
    return every if SOAK else every[:: len(WAYS) + 1]


@pytest.mark.parametrize(("way", "tables"), several(SETS))
def test_what_is_edited_in_a_table_comes_out_nowhere(planted, tmp_path, way, tables):
    folder, _, ids = planted
    place = copytree(folder, tmp_path / "memory")
    with Memory(place) as m:
        m.graph.list_nodes()
        m.pages.sync()
    edit(place / "state.db", forgeries(place / "state.db", SETS[tables]))
    count = 0
    for where, text in WAYS[way](place, "human", asked_by("web", ids)):
        assert FORGED not in text.casefold(), (where, text[:500])
        count += bool(text)
    assert count >= 7


@pytest.mark.parametrize("way", ["the API", "MCP", "the command line"])
def test_what_a_table_releases_comes_out_nowhere(planted, tmp_path, way):
    folder, _, ids = planted
    place = copytree(folder, tmp_path / "memory")
    edit(place / "state.db", RELEASED)
    for where, text in WAYS[way](place, "agent", asked_by("web", ids)):
        assert not seen(text), (where, seen(text))
