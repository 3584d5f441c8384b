"""Whatever somebody edits in the tables of a memory: no word is served that was not recorded, none of another user, and
none that is quarantined, whichever way it is read."""

import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tallystick import ConsolidationRule, Memory, TallystickError
from tallystick.records.errors import Busy
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
from tallystick.repair.check import check

FORGED, THEIRS, WEB, HIDDEN = "FORGERY", "bobsecret", "webclaim", "spycraft"
FILES = ("state.db",)
QUESTIONS = "what is known about the harbour?", "a trap", "the safe is green", "who knows?", "harbour"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edited") / "memory"
    with Memory(folder, by="cli:local", embedder="none") as me, Memory(folder, user="bob", embedder="none") as bob:
        hours = me.remember("The harbour opens at nine", key="hours", about="place-harbour", tags=["harbour"])
        me.revise("hours", "The harbour opens at ten", reason="harbour season")
        likes = ("Ana", "likes", "the harbour")
        tea = me.remember("Ana likes the harbour", about="person-ana", triple=likes, idempotency_key="harbour-1")
        me.relate(hours.id, tea.id, "harbour relation")
        me.remember("harbour rule: always answer briefly", kind="instruction")
        me.observe("We walked along the harbour wall", id="harbour-walk", session="harbour", agent="ana")
        me.observe("Then the harbour bells rang", session="harbour", agent="ana")
        me.pages.describe("person-ana", description="The harbour master")
        me.rules.put(ConsolidationRule(id="harbour-rule"))
        me.graph.save_node(MemoryNode(id="harbour-node", kind="place", label="The harbour"))
        me.graph.save_node(MemoryNode(id="quay-node", kind="place", label="The harbour quay"))
        ends = {"source": "quay-node", "target": "harbour-node"}
        me.graph.save_edge(MemoryEdge(id="harbour-edge", kind="harbour-part", **ends))
        me.paths.branch("harbour-idea")
        me.remember("On a branch the harbour is closed", path="harbour-idea")
        bob.remember(f"The safe of {THEIRS} is green", key="b1", about=f"topic-{THEIRS}")
        bob.observe(f"Bob told about {THEIRS}", session=THEIRS, id="b2")
        bob.pages.describe(f"topic-{THEIRS}", description=f"All of {THEIRS}")
        with Memory(folder, by="web:page", trust="web", embedder="none") as web:
            web.remember(f"The harbour is a {WEB} trap", key="w1", about="place-harbour")
            web.observe(f"A {WEB} trap at the harbour", id="w2")
        with Memory(folder, by="mcp:spy", trust="agent", embedder="none") as spy:
            spy.remember(f"The harbour knows {HIDDEN}", key="s1")
        me.distrust("mcp:spy", reason="the harbour spy")
        me.recall("when does the harbour open?", receipt=True)
        me.pages.sync()
        bob.pages.sync()
        told = everything(me)
        bob.graph.list_nodes()
    assert "The harbour opens at ten" in told
    assert THEIRS not in told
    return folder


def everything(memory: Memory) -> str:
    """All that a program can read, as text."""
    said = list[str]()

    def read(question: Callable[[], Any]) -> None:
        for _ in range(3):
            try:
                said.append(repr(question()))
                return
            except Busy:  # a row that was edited costs one call
                continue
            except TallystickError as error:
                said.append(str(error))
                return
        raise AssertionError("it stays busy")

    for asked in QUESTIONS:
        read(lambda asked=asked: list(memory.recall(asked, k=20, explain=True)))
        read(lambda asked=asked: memory.frame("task", asked))
        read(lambda asked=asked: memory.pages.search(asked, include_superseded=True))
    for name in ("hours", "w1", "b1", "s1"):
        for way in (memory.get, memory.history, memory.why, memory.related):
            read(lambda way=way, name=name: way(name))
    for name in ("harbour-walk", "w2", "b2"):
        read(lambda name=name: memory.episodes.find(name))
    read(lambda: list(memory.beliefs.query()))
    read(lambda: memory.facts.query())
    read(lambda: memory.episodes.recent(limit=50))
    read(lambda: [page.path for page in memory.pages.list(True, True)])
    read(lambda: memory.pages.list(True, True))
    read(lambda: [memory.pages.read(page.path) for page in memory.pages.list(True, True)])
    for way in (
        memory.reviews.all, memory.pages.recent, memory.graph.export_envelope, memory.graph.list_nodes,
        memory.graph.list_edges, memory.frames.all, memory.paths.all, memory.rules.all, memory.receipts.all,
        memory.sources, memory.status, memory.config.all, memory.entities.all,
    ):  # fmt: skip
        read(lambda way=way: way())
    read(lambda: memory.graph.expand(["harbour-node", "person-ana"]))
    read(lambda: b"".join(memory.export_lines()))
    return "\n".join(said)


def columns(folder: Path) -> list[tuple[str, str, str]]:
    """Every column with text: the file, the table, the column."""
    found = []
    for name in FILES:
        with closing(sqlite3.connect(folder / name)) as db:
            for (table,) in db.execute("SELECT name FROM pragma_table_list WHERE type = 'table'").fetchall():
                if not table.startswith("sqlite_"):
                    for row in db.execute(f"PRAGMA table_info({table})").fetchall():
                        column = f'"{row[1]}"'
                        text = f"SELECT 1 FROM {table} WHERE typeof({column}) IN ('text', 'blob') LIMIT 1"
                        if db.execute(text).fetchone():
                            found.append((name, table, column))
    return found


def edit(path: Path, statement: str, *values: object) -> int:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        return db.execute(statement, values).rowcount


def served(folder: Path) -> tuple[str, str]:
    """What a person reads, and what an agent reads."""
    with Memory(folder, by="cli:local", embedder="none") as me:
        mine = everything(me)
    with Memory(folder, by="mcp:reader", trust="agent", embedder="none") as agent:
        return mine, everything(agent)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.soak) for part in range(1, 8))])
def test_words_that_are_edited_in_a_table_are_served_by_nobody(made: Path, tmp_path: Path, part: int):
    for number, (name, table, column) in enumerate(columns(made)):
        if number % 8 != part:
            continue
        folder = tmp_path / str(number)
        shutil.copytree(made, folder)
        changed = (
            f"UPDATE OR IGNORE {table} SET {column} ="
            f" CAST(replace(replace(CAST({column} AS TEXT), 'harbour', ?), ?, ?) AS {{}}) WHERE typeof({column}) = ?"
        )
        for kind in ("text", "blob"):
            edit(folder / name, changed.format(kind), FORGED, THEIRS, FORGED, kind)
        mine, agents = served(folder)
        assert FORGED not in mine + agents, (name, table, column)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.soak) for part in range(1, 8))])
def test_rows_that_are_given_to_another_user_cross_no_wall(made: Path, tmp_path: Path, part: int):
    for number, (name, table, column) in enumerate(columns(made)):
        if number % 8 != part:
            continue
        folder = tmp_path / str(number)
        shutil.copytree(made, folder)
        for was in ("'bob'", "'\"bob\"'"):
            now = was.replace("bob", "me")
            for kind in ("text", "blob"):
                swapped = f"CAST(replace(CAST({column} AS TEXT), {was}, {now}) AS {kind})"
                if was == "'bob'" and column.strip('"') not in ("key", "value", "belief", "line", "told"):
                    swapped = f"CASE {column} WHEN 'bob' THEN 'me' ELSE {column} END"
                given = f"UPDATE OR REPLACE {table} SET {column} = {swapped} WHERE typeof({column}) = ?"
                edit(folder / name, given, kind)
        mine, agents = served(folder)
        assert THEIRS not in mine + agents, (name, table, column)


RELEASES = {
    "trust in the index": ("state.db", "UPDATE index_sources SET trust = 'human'"),
    "quarantine in the index": ("state.db", "UPDATE index_sources SET quarantined = 0, approved_seq = 3"),
    "corroborated in the index": ("state.db", "UPDATE index_sources SET quarantined = 0, borne_out = 1,"
    " approved_seq = 3"),
    "sight in the index": ("state.db", "UPDATE index_sources SET sight = 0"),
    "nobody is distrusted": ("state.db", "DELETE FROM index_sights"),
    "all at once": ("state.db", "UPDATE index_sources SET trust = 'human', quarantined = 0, sight = 0,"
    " approved_seq = NULL"),
    "blocks": ("state.db", "UPDATE blocks SET status = 'active'"),
    "trust in the state": ("state.db", """UPDATE state_row SET value =
        CAST(replace(CAST(value AS TEXT), '"trust":"web"', '"trust":"human"') AS BLOB)"""),
    "trust of episodes": ("state.db", """UPDATE state_row SET value =
        CAST(replace(CAST(value AS TEXT), '"web"', '"human"') AS BLOB)"""),
    "no doubts": ("state.db", """DELETE FROM state_row
        WHERE tab = (SELECT id FROM state_table WHERE name = 'source.doubt')"""),
    "answered": ("state.db", """UPDATE state_row SET value =
        CAST(replace(CAST(value AS TEXT), '"status":"waiting"', '"status":"approved"') AS BLOB)"""),
    "approved": ("state.db", """INSERT OR REPLACE INTO state_row SELECT t.id, s.key, '"r-1"', s.seqs, s.since
        FROM state_row AS s, state_table AS t, state_table AS b
        WHERE t.name = 'review.approved' AND b.name = 'belief' AND s.tab = b.id"""),
    "corroborated": ("state.db", """INSERT OR REPLACE INTO state_row
        SELECT t.id, s.key, CAST(s.seqs AS BLOB), s.seqs, s.since
        FROM state_row AS s, state_table AS t, state_table AS b
        WHERE t.name = 'source.borne_out' AND b.name IN ('belief', 'episode') AND s.tab = b.id"""),
    "a page": ("state.db", """INSERT INTO entries SELECT 900 + w.rowid, w.id, 'place-harbour.md', w.at, '["fact"]',
        json_extract(w.belief, '$.text'), NULL, 0, '', '[]', 0, '', 0, w.seq, w.seq, 0, 1 FROM (
            SELECT row_number() OVER () AS rowid, * FROM page_waiting) AS w"""),
}  # fmt: skip


@pytest.mark.parametrize("how", RELEASES)
def test_what_is_quarantined_or_distrusted_is_not_released_by_a_table(made: Path, tmp_path: Path, how: str):
    folder = tmp_path / "memory"
    shutil.copytree(made, folder)
    name, statement = RELEASES[how]
    edit(folder / name, statement)
    with Memory(folder, by="mcp:reader", trust="agent", embedder="none") as agent:
        told = everything(agent)
    assert WEB not in told
    assert HIDDEN not in told
    with Memory(folder, by="cli:local", embedder="none") as me:
        hits = [hit.text for asked in QUESTIONS for hit in me.recall(asked, k=20)]
        pages = repr([me.pages.read(page.path) for page in me.pages.list(True, True)])
    assert not any(WEB in text or HIDDEN in text for text in hits)
    assert WEB not in pages


def test_a_row_that_was_edited_is_reported_and_made_again(made: Path, tmp_path: Path):
    folder = tmp_path / "memory"
    shutil.copytree(made, folder)
    forged = "UPDATE state_row SET value = CAST(replace(CAST(value AS TEXT), 'opens at ten', ?) AS BLOB)"
    assert edit(folder / "state.db", forged, FORGED)
    with Memory(folder, embedder="none") as memory:
        with pytest.raises(Busy):
            memory.get("hours")
        assert memory.get("hours").text == "The harbour opens at ten"
    with Memory(folder, embedder="none") as memory:
        assert memory.get("hours").text == "The harbour opens at ten"
        assert not [each for each in memory.files.check() if each.is_wrong] if hasattr(memory.files, "check") else True


# not from the events alone: how far files were read, and numbers that a reader compares with the events by itself
NOT_COMPARED = {
    "entries": {"n", "shown", "is_due"}, "state_row": {"seqs"}, "state_past": {"seqs"},
    "files": {"path", "zone", "front", "size", "mtime", "ctime", "inode", "digest", "is_due"},
}  # fmt: skip
# local; how far the tables have followed, which another reader may lack; full text that copies nothing, and its insides
OTHERS = re.compile(
    r"local_|positions$|state_table$|graph_distrusted$|index_terms$|index_(aside_)?letters"
    r"|(index_texts|index_asides|entries_fts)_"
)


def compared(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The tables whose rows a check compares, and what SQLite says of their columns."""
    with closing(sqlite3.connect(folder / "state.db")) as db:
        every = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        names = [name for name in every if not OTHERS.match(name) and not name.startswith("sqlite_")]
        return {name: db.execute(f"PRAGMA table_info({name})").fetchall() for name in names}


def rows(folder: Path) -> list[tuple[str, str]]:
    """One row of every table that has any, and of each table of the state: the table, and where it is."""
    found = list[tuple[str, str]]()
    with closing(sqlite3.connect(folder / "state.db")) as db:
        for table, columns in compared(folder).items():
            keys = ", ".join(f'"{row[1]}"' for row in columns if row[5]) or "rowid"
            part = "tab" if table.startswith("state_") else "1"
            for (which,) in db.execute(f"SELECT DISTINCT {part} FROM {table}"):
                found.append((table, f"({keys}) = (SELECT {keys} FROM {table} WHERE {part} = {which} LIMIT 1)"))
    return found


def unique(folder: Path, table: str) -> set[str]:
    """The columns that name a row."""
    with closing(sqlite3.connect(folder / "state.db")) as db:
        indexes = [row[1] for row in db.execute(f"PRAGMA index_list({table})") if row[2]]
        named = {row[2] for index in indexes for row in db.execute(f"PRAGMA index_info({index})")}
        return named | {row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]}


def copied(folder: Path, table: str, where: str) -> str:
    """The row once more, under another name."""
    new = unique(folder, table) - {"tab"}
    names = [f'"{row[1]}"' for row in compared(folder)[table]]
    values = [
        f"CASE typeof({name}) WHEN 'integer' THEN {name} + 1000 ELSE {name} || '7' END" if name.strip('"') in new
        else name for name in names
    ]  # fmt: skip
    return f"INSERT INTO {table} SELECT {', '.join(values)} FROM {table} WHERE {where}"


def twice(_: Path, table: str, where: str) -> str:
    """The row twice and another missing, in a table that has lost its keys."""
    others = f"SELECT * FROM {table} WHERE NOT ({where})"
    return f"""PRAGMA legacy_alter_table = ON; PRAGMA foreign_keys = OFF;
        CREATE TABLE made AS SELECT * FROM {table} WHERE {where};
        INSERT INTO made SELECT * FROM made;
        INSERT INTO made SELECT * FROM ({others}) EXCEPT SELECT * FROM ({others} LIMIT 1);
        DROP TABLE {table}; ALTER TABLE made RENAME TO {table}"""


DAMAGE: dict[str, Callable[[Path, str, str], str]] = {
    "missing": lambda _, table, where: f"DELETE FROM {table} WHERE {where}",
    "one more": copied,
    "one twice": twice,
}


def test_an_edited_row_of_any_table_is_found_by_a_check(made: Path, tmp_path: Path):
    with closing(sqlite3.connect(made / "state.db")) as db:
        tables = compared(made)
        filled = {name for name in tables if db.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone()}
    assert not [each for each in check(made) if each.severity != "note"]
    for number, (table, columns) in enumerate(tables.items()):
        shutil.copytree(made, folder := tmp_path / str(number))
        names = [row[1] for row in columns if row[1] not in NOT_COMPARED.get(table, ())]
        plain = [row[1] for row in columns if row[1] in names and not row[5]] or names
        key, column = (f'"{name}"' for name in (names[0], plain[0]))
        one = f"WHERE {key} = (SELECT {key} FROM {table})"
        flip = f"UPDATE {table} SET {column} = coalesce({column}, '') || '7' {one}"
        add = f"INSERT INTO {table} VALUES ({', '.join('7' for _ in columns)})"
        assert edit(folder / "state.db", flip if table in filled else add), table
        assert [each for each in check(folder) if each.severity == "error"], table


@pytest.mark.parametrize("how", DAMAGE)
def test_a_row_too_few_or_too_many_in_any_table_is_found_by_a_check(made: Path, tmp_path: Path, how: str):
    every = rows(made)
    assert len(every) > 40
    for number, (table, where) in enumerate(every):
        shutil.copytree(made, folder := tmp_path / str(number))
        with closing(sqlite3.connect(folder / "state.db", isolation_level=None)) as db:
            db.executescript(DAMAGE[how](folder, table, where))
            assert db.total_changes or how == "one twice", (table, where)
        assert [each for each in check(folder) if each.severity == "error"], (table, where)


PAST = {
    "get": lambda memory, then: memory.get("hours", believed_at=then),
    "show": lambda memory, then: memory.show("hours", believed_at=then),
    "recall": lambda memory, then: list(memory.recall("when does the harbour open?", believed_at=then)),
    "beliefs": lambda memory, then: memory.beliefs.query(believed_at=then),
    "facts": lambda memory, then: memory.facts.query(subject="Ana", believed_at=then),
}
EDITS = {
    "other words": "UPDATE state_past SET value = CAST(replace(CAST(value AS TEXT), 'harbour', ?) AS BLOB)",
    "later words": "UPDATE state_row SET since = 0 WHERE instr(CAST(value AS TEXT), ?)",
}


@pytest.mark.parametrize("edited", EDITS)
def test_words_that_are_edited_in_the_past_are_not_served(made: Path, tmp_path: Path, edited: str):
    folder = tmp_path / "memory"
    shutil.copytree(made, folder)
    with Memory(folder, by="cli:local", embedder="none") as me:
        me.remember("Ana rows in the harbour", key="rows", triple=("Ana", "rows in", "the harbour"))
        then = me.status().events - 1
        me.revise("hours", f"The harbour opens never: {FORGED}")
        me.forget("rows")
        right = {name: repr(ask(me, then)) for name, ask in PAST.items()}
    for name, ask in PAST.items():
        copy = tmp_path / name
        shutil.copytree(folder, copy)
        assert edit(copy / "state.db", EDITS[edited], FORGED)
        with Memory(copy, by="cli:local", embedder="none") as me:
            with suppress(Busy):
                assert FORGED not in repr(ask(me, then)), name
            assert repr(ask(me, then)) == right[name]
            assert "harbour" in right[name]


def test_words_that_are_edited_while_the_memory_is_open_are_not_served(made: Path, tmp_path: Path):
    folder = tmp_path / "memory"
    shutil.copytree(made, folder)
    with Memory(folder, by="cli:local", embedder="none") as memory:
        assert memory.recall("when does the harbour open?")
        for name, table, column in columns(folder):
            if column.strip('"') in ("content", "said", "belief", "value", "line", "title", "description", "template"):
                edit(folder / name, f"UPDATE {table} SET {column} = replace({column}, 'harbour', ?)", FORGED)
        assert FORGED not in everything(memory)


# -- what was moved away -----------------------------------------------------------------------------------------------


@pytest.fixture
def moved(tmp_path: Path) -> Path:
    """Beliefs and an episode whose events were pruned; what is left of them is the state file, and rows."""
    folder = tmp_path / "memory"
    with Memory(folder, by="cli:local", embedder="none") as me:
        me.remember("The harbour opens at ten", key="hours", about="place-harbour")
        me.observe("We walked along the harbour wall", id="harbour-walk", session="s")
        with Memory(folder, by="web:page", trust="web", embedder="none") as web:
            web.remember(f"The harbour is a {WEB} trap", key="w1")
            web.observe(f"A {WEB} trap at the harbour", id="w2")
        me.pages.sync()
        assert me.recall("harbour")
        me.ledger.compact()
        me.ledger.prune(tmp_path / "away")
        me.remember("The harbour is old", key="old")
    return folder


@pytest.mark.parametrize(("table", "column"), [("state_row", "value"), ("blocks", "content"), ("entries", "content")])
def test_an_edited_belief_is_not_served_though_its_event_was_moved_away(moved: Path, table: str, column: str):
    assert "opens at ten" in served(moved)[0]
    edited = f"replace(CAST({column} AS TEXT), 'opens at ten', 'never opens')"
    kind = "BLOB" if column == "value" else "TEXT"
    assert edit(moved / "state.db", f"UPDATE {table} SET {column} = CAST({edited} AS {kind})")
    for told in served(moved):
        assert "never opens" not in told
        assert "opens at ten" in told
    assert [each.code for each in check(moved) if each.severity == "error"] == []


def test_a_version_that_was_replaced_and_moved_away_is_not_made_current_by_a_table(tmp_path: Path):
    folder = tmp_path / "memory"
    with Memory(folder, embedder="none") as m:
        m.remember("The harbour opens at nine", key="hours")
        m.revise("hours", text="The harbour opens at ten")
        m.ledger.compact()
        m.ledger.prune(tmp_path / "away")
    edit(folder / "state.db", "UPDATE blocks SET content = replace(content, 'at nine', 'never'), status = 'active'")
    edit(folder / "state.db", "UPDATE index_sources SET until_seq = NULL, closed_by = NULL, after = NULL")
    edit(folder / "state.db", "UPDATE index_lives SET until_seq = NULL")
    with Memory(folder, embedder="none") as m:
        assert [hit.text for hit in m.recall("harbour", words=True)] == ["The harbour opens at ten"]


def test_the_words_of_an_episode_that_was_moved_away_are_those_of_the_state_file(moved: Path):
    assert "along the harbour wall" in served(moved)[0]
    assert edit(moved / "state.db", "UPDATE blocks SET content = replace(content, 'harbour wall', 'prison wall')")
    for told in served(moved):
        assert "prison wall" not in told
    assert [each.code for each in check(moved) if each.severity == "error"] == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE index_sources SET quarantined = 0, sight = 0",
        "UPDATE index_sources SET quarantined = 0, trust = 'human'",
        "UPDATE state_row SET value = CAST(replace(CAST(value AS TEXT), '\"web\"', '\"human\"') AS BLOB)",
    ],
)  # fmt: skip
def test_what_was_quarantined_before_it_was_moved_away_is_not_released_by_a_table(moved: Path, statement: str):
    assert edit(moved / "state.db", statement)
    _, told = served(moved)
    assert f"is a {WEB} trap" not in told
    assert f"A {WEB} trap" not in told


def test_what_was_moved_away_is_given_to_no_other_user_by_a_table(moved: Path):
    for table in ("index_sources", "index_lives", "index_names", "files"):
        edit(moved / "state.db", f"UPDATE {table} SET user = 'bob'")
    theirs = "replace(CAST(value AS TEXT), '\"me\"', '\"bob\"')"
    edit(moved / "state.db", f"UPDATE state_row SET value = CAST({theirs} AS BLOB)")
    with Memory(moved, user="bob", embedder="none") as bob:
        assert "harbour" not in everything(bob).replace("harbour-", "")


def test_a_belief_of_what_was_moved_away_is_forgotten_where_its_rows_came_from_the_state_file(moved: Path):
    for path in moved.glob("state.db*"):
        path.unlink()
    with Memory(moved, embedder="none") as m:
        m.forget("hours")
    for _ in range(2):
        with Memory(moved, embedder="none") as m:
            assert m.get("hours").status == "tombstone"
            assert [hit.text for hit in m.recall("harbour", words=True)] == ["The harbour is old"]
