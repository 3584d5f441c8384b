"""What is derived from the ledger, and what else lies in the folder: found where it differs, mended, and found no more.

Nothing is ever lost by a mend here: all of it follows from the ledger.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import orjson
import pytest

from tallystick.ledger import format as fmt
from tallystick.memory.maintenance import check as care
from tallystick.memory.memory import Memory
from tallystick.records.event import Draft
from tallystick.repair import derived
from tallystick.repair.check import check
from tallystick.repair.findings import Finding
from tests.conftest import set_home
from tests.refusals import refuses
from tests.repair.folders import erase, everything, fill, lines, opened, set_lines, wal
from tests.repair.hand_made import put, record

pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory in use. Nobody changes it: each test has a copy."""
    place = tmp_path_factory.mktemp("derived")
    with pytest.MonkeyPatch.context() as patch:
        set_home(patch, place / "home")
        use(place / "memory")
    return place / "memory"


def use(root: Path) -> None:
    with Memory(root) as memory:
        memory.remember("Ana likes tea", key="ana", about="person-ana")
        memory.remember("Bob likes rum", key="bob", about="person-bob", tags=["drinks"])
        memory.observe("Ana said that she likes tea")
        memory.revise("bob", "Bob likes gin")
        assert memory.recall("tea")


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "memory")


def checked(root: Path) -> list[Finding]:
    before = everything(root)
    findings = care.check(root)
    assert everything(root) == before
    return findings


def codes(root: Path) -> list[str]:
    return [finding.code for finding in checked(root)]


def change(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA foreign_keys=OFF")
    for statement in statements:
        assert db.execute(statement).rowcount, statement
    db.commit()
    db.close()


def is_mended(root: Path, code: str, *left: str) -> None:
    """The one thing that is wrong is mended on the record, and what is remembered is as it was."""
    before = wal(root).read_bytes()
    care.repair(root, [code], by="cli:test")

    assert codes(root) == list(left)
    assert wal(root).read_bytes().startswith(before)
    assert code in fmt.body_of(fmt.parse(lines(wal(root))[-1]).data)["mended"]
    with Memory(root) as memory:
        assert memory.recall("tea")[0].text.startswith("Ana")
        assert memory.pages.read("person-bob.md")
    assert codes(root) == list(left)


# -- the index ---------------------------------------------------------------------------------------------------------


def test_a_memory_in_use_has_no_findings(root):
    assert codes(root) == []


@pytest.mark.parametrize(
    ("statement", "code", "tables"),
    [
        ("INSERT INTO blocks SELECT 'feedfeedfeedfeed', {rest} FROM blocks LIMIT 1", "block-loose", "blocks"),
        ("UPDATE index_sources SET block_id = 'feedfeedfeedfeed' WHERE what = 'episode'", "block-loose",
         "blocks index_sources"),
        ("UPDATE blocks SET reinforcement_count = 7 WHERE content = 'Ana likes tea'", "index-differs", "blocks"),
    ],
    ids=["a block without a source", "a source without its block", "a count that is off"],
)
def test_rows_of_the_index_that_hang_in_the_air_or_differ_are_found(root, statement, code, tables):
    with closing(sqlite3.connect(root / "state.db")) as db:
        _, *rest = (row[1] for row in db.execute("PRAGMA table_info(blocks)"))
    change(root / "state.db", statement.format(rest=", ".join(rest)))

    found = checked(root)

    assert {(each.code, each.place) for each in found} == {(code, f"state.db, {table}") for table in tables.split()}
    assert "feedfeedfeedfeed" in found[0].text or not statement.startswith("INSERT")
    is_mended(root, code)


def test_a_folder_that_a_crash_left_with_journals_is_looked_at_and_stays_as_it_is(root, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    with Memory(root) as memory:
        memory.remember("Cy likes milk", key="cy", about="person-cy")
        shutil.copytree(root, tmp_path / "left")
    for path in (tmp_path / "left").glob("*-shm"):
        path.unlink()
    assert (tmp_path / "left" / "state.db-wal").stat().st_size

    assert codes(tmp_path / "left") == []
    change(tmp_path / "left" / "state.db", "UPDATE entries SET content = 'no' WHERE content = 'Cy likes milk'")
    assert codes(tmp_path / "left") == ["pages-differ"]
    assert not list((tmp_path / "tmp").iterdir())


def test_what_hangs_in_the_air_is_found_also_after_a_prune(root, tmp_path):
    with opened(root) as folder:
        folder.ledger.compact()
        folder.ledger.prune(tmp_path / "away")
    with Memory(root) as memory:
        assert memory.recall("tea")
    assert codes(root) == ["segment-pruned"]
    change(root / "state.db", "DELETE FROM index_lives")

    assert codes(root) == ["block-loose", "segment-pruned"]


# -- the pages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ("UPDATE entries SET content = 'Ana likes rum' WHERE content = 'Ana likes tea'", "entries"),
        ("DELETE FROM entries WHERE superseded", "entries"),
        ("UPDATE files SET description = 'what nobody said' WHERE about = 'person-ana'", "files"),
        ("UPDATE entries SET path = 'person-bob.md' WHERE content = 'Ana likes tea'", "entries"),
    ],
)
def test_tables_of_the_pages_that_differ_from_the_ledger_are_found(root, statement, table):
    change(root / "state.db", statement)

    assert [(each.code, each.place) for each in checked(root)] == [("pages-differ", f"state.db, {table}")]
    is_mended(root, "pages-differ")


def test_tables_that_cannot_be_read_are_a_note(root):
    for path in root.glob("state.db*"):
        path.write_bytes(b"no database at all" * 300)

    assert codes(root) == ["index-damaged"]
    is_mended(root, "index-damaged")


def test_an_sql_index_that_does_not_belong_to_its_table_is_a_note(root):
    made = "UPDATE sqlite_master SET sql = {} WHERE name = 'idx_sources_ref'"
    change(root / "state.db", "PRAGMA writable_schema=ON", made.format("sql || ' WHERE 0'"))
    change(root / "state.db", "REINDEX idx_sources_ref")
    change(root / "state.db", "PRAGMA writable_schema=ON", made.format("replace(sql, ' WHERE 0', '')"))

    [finding] = checked(root)

    assert (finding.code, finding.text) == ("index-damaged", "its pages do not belong together")
    is_mended(root, "index-damaged")


def test_tables_that_lag_behind_or_are_not_there_are_no_finding(root):
    fill(root, 3)
    assert codes(root) == []
    for path in root.glob("state.db*"):
        path.unlink()
    assert codes(root) == []


@pytest.mark.parametrize("left", ["nothing", "its journal"])
@pytest.mark.parametrize("moment", ["_file_state", "copied"])
@pytest.mark.parametrize("name", ["state.db"])
def test_a_file_that_somebody_removes_to_make_it_anew_is_no_finding(root, monkeypatch, name, moment, left):
    """Whoever removed it may take as long as they like to go on."""
    if left == "its journal":
        (root / f"{name}-wal").write_bytes(b"the journal of a file that is gone")
        (root / f"{name}-wal").chmod(0o600)

    def removing(real: Callable[..., object]) -> Callable[..., object]:
        def call(path: Path, *home: str) -> object:
            if path.name == name:
                path.unlink(missing_ok=True)
            return real(path, *home)

        return call

    monkeypatch.setattr(derived, moment, removing(getattr(derived, moment)))

    assert [finding.code for finding in care.check(root)] == []
    assert not (root / name).exists()


def edit(path: Path) -> None:
    path.write_text(path.read_text() + "\nAna was seen with a teapot.\n")


def put_back(path: Path) -> None:
    old = path.read_bytes()
    with Memory(path.parent.parent) as memory:
        memory.remember("Ana likes cake", about="person-ana")
    path.write_bytes(old)


PAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "edited": (edit, "it was edited"),
    "removed": (Path.unlink, "it is missing"),
    "put back": (put_back, "it is an earlier version"),
}


@pytest.mark.parametrize("how", PAGES)
def test_a_page_that_is_not_as_it_was_seen_waits_for_a_sync(root, how):
    act, why = PAGES[how]
    act(root / "memory" / "person-ana.md")

    [finding] = checked(root)

    assert (finding.code, finding.place) == ("page-unsynced", "memory/person-ana.md")
    assert finding.text.startswith(why)
    assert finding.remedy == "tallystick sync"
    with refuses("state", "page-unsynced", "tallystick sync"):
        care.repair(root, ["page-unsynced"])
    with Memory(root) as memory:
        memory.pages.sync()
    assert codes(root) == []


def test_a_page_that_is_new_waits_for_a_sync(root):
    page = root / "memory" / "person-cy.md"
    page.write_text("# Cy\n\nCy likes milk.\n")
    page.chmod(0o600)

    assert [(each.code, each.place) for each in checked(root)] == [("page-unsynced", "memory/person-cy.md")]


def test_a_page_that_was_merely_touched_is_as_it_was(root):
    os.utime(root / "memory" / "person-ana.md", (1, 1))

    assert codes(root) == []


def test_a_path_in_the_tables_leads_nowhere_outside_the_pages(root, tmp_path):
    (tmp_path / "outside.md").write_text("private")
    change(root / "state.db", "UPDATE files SET path = '../../outside.md' WHERE about = 'person-ana'")

    assert "outside" not in str([each for each in checked(root) if each.code == "page-unsynced"])


# -- bookmarks ---------------------------------------------------------------------------------------------------------


def test_a_derived_file_that_has_seen_more_than_the_ledger_has_is_found(root):
    set_lines(wal(root), lines(wal(root))[:-1])
    (root / "lock").unlink()

    found = checked(root)

    assert [(each.code, each.place) for each in found] == [
        ("state-ahead", "state.db"), ("audit-ahead", "audit.jsonl"), ("lock-missing", "lock"),
    ]  # fmt: skip
    assert "state.db has seen event" in found[0].text
    care.repair(root, ["state-ahead", "audit-ahead", "lock-missing"])
    assert set(codes(root)) <= {"page-unsynced"}  # its file was read with what is gone


@pytest.mark.parametrize("name", ["state.db", "audit.jsonl"])
def test_files_of_other_parts_are_witnesses_too(root, name):
    path, other = root / name, "0" * 64
    code = name.partition(".")[0] + "-ahead"
    if name == "state.db":
        db = sqlite3.connect(path)
        db.execute("DELETE FROM positions")
        db.execute("INSERT INTO positions VALUES ('index', 1, 2, ?, '')", (other,))
        db.commit()
        db.close()
    else:
        path.write_bytes(orjson.dumps({"seq": 2, "hash": other}) + b'\n{"seq": 3, "ha')
    path.chmod(0o600)

    found = [each for each in checked(root) if each.code == code]

    assert [each.place for each in found] == [name]
    assert "event 2 is not the one" in found[0].text
    care.repair(root, [code])
    assert code not in codes(root)


@pytest.mark.parametrize("junk", [b"", b"\n", b"[]\n", b"5\n", b'{"seq": true, "hash": 5}\n', b"\xff\n", b"{" * 5000])
def test_a_bookmark_that_cannot_be_read_tells_nothing(root, junk):
    for name in ("audit.jsonl", "state.db"):
        (root / name).write_bytes(junk)
        (root / name).chmod(0o600)

    assert not {"state-ahead", "audit-ahead"} & set(codes(root))


# -- vectors -----------------------------------------------------------------------------------------------------------


def test_vectors_of_what_is_not_remembered_are_found(root):
    [rows] = (root / "vectors").glob("*/*.rows")
    content = np.fromfile(rows, dtype="<u8").reshape(-1, 2)
    content[0, 0] = 0xFEEDFEEDFEEDFEED
    content.tofile(rows)

    [finding] = checked(root)

    assert finding.code == "vectors-loose"
    assert finding.place.startswith("vectors/")
    assert finding.text == "vectors of 1 blocks that the index does not have"
    is_mended(root, "vectors-loose")


def test_vectors_of_what_was_erased_by_somebody_who_had_no_index_are_found(root):
    erase(root, "ana")
    with Memory(root) as memory:
        memory.rebuild_index()

    assert "vectors-loose" in codes(root)
    with Memory(root) as memory:
        memory.recall("gin")
    assert codes(root) == []


def test_vectors_that_name_no_generation_are_a_note(root):
    [small] = (root / "vectors").glob("*/*.json")
    small.write_bytes(b"{}")

    assert codes(root) == ["vectors-damaged"]
    is_mended(root, "vectors-damaged")


def test_what_is_noted_of_many_vectors_is_a_file_of_ours(root):
    [rows] = (root / "vectors").glob("*/*.rows")
    rows.with_suffix(".mark").write_bytes(b"[9000,1,9000]")
    rows.with_suffix(".mark").chmod(0o600)

    assert codes(root) == []


# -- the lock, and what does not belong ------------------------------------------------------------------



def test_a_lock_file_that_says_nothing_is_a_note(root):
    (root / "lock").write_bytes(b"junk")

    assert [(each.code, each.text) for each in checked(root)] == [("lock-missing", "it is empty")]
    is_mended(root, "lock-missing")


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt", "sealed/notes.txt", "backup/notes.txt", "memory/notes.txt", "memory/@bob/notes.txt",
        "memory/deeper/person-cy.md", "vectors/notes.txt", "vectors/some/notes.txt",
    ],
)  # fmt: skip
def test_a_file_that_does_not_belong_is_told_of(root, name):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("whatever")
    for each in (path, path.parent):
        each.chmod(0o700 if each.is_dir() else 0o600)

    [finding] = checked(root)

    assert (finding.code, finding.severity) == ("foreign-file", "note")
    assert name.startswith(finding.place)


def test_what_an_editor_keeps_beside_the_pages_is_its_own(root):
    path = root / "memory" / ".person-ana.md.swp"
    path.write_text("swap")
    path.chmod(0o600)

    assert codes(root) == []


@pytest.mark.parametrize("name", ["tallystick.toml", "memory/person-cy.md", "sealed", "notes"])
def test_a_link_is_told_of_and_not_followed(root, tmp_path, name):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (root / name).symlink_to(tmp_path / "elsewhere")

    assert ("foreign-file", name) in [(each.code, each.place) for each in checked(root) if "a symlink" in each.text]


def test_bytes_that_were_set_aside_and_no_event_speaks_of_are_a_note(root):
    with wal(root).open("ab") as file:
        file.write(b'{"seq":')
    fill(root, 1)
    assert codes(root) == []
    (root / "sealed" / "damaged-20260101T000000.lines").write_bytes(b"?")
    (root / "sealed" / "damaged-20260101T000000.lines").chmod(0o600)

    [finding] = checked(root)

    assert (finding.code, finding.place) == ("kept-loose", "sealed/damaged-20260101T000000.lines")


def test_several_things_are_mended_at_once_and_the_rest_is_left(root):
    (root / "events.wal").chmod(0o644)
    (root / "lock").write_bytes(b"")
    (root / "events.wal.new").write_bytes(b"half")
    change(root / "state.db", "DELETE FROM entries WHERE superseded")

    care.repair(root, ["modes-wide", "lock-missing", "pages-differ"])

    assert codes(root) == ["modes-wide"] or codes(root) == []


def test_events_of_an_unknown_version_are_told_of_at_their_place(root, monkeypatch):
    with monkeypatch.context() as patch, opened(root) as folder:
        patch.setattr(type(folder.state), "knows", lambda self, op: True)
        folder.ledger.append([Draft("belief.put/9", {"anything": 1}), Draft("dream.put/1", {"anything": 1})])

    found = [each for each in check(root) if each.code == "newer-events"]

    for each, op in zip(found, (b"belief.put/9", b"dream.put/1"), strict=True):
        assert op.decode() in each.text
        number = int(each.place.partition("line ")[2].partition(",")[0])
        offset = int(each.place.partition("byte ")[2])
        assert op in lines(wal(root))[number - 1]
        assert wal(root).read_bytes()[offset:].startswith(lines(wal(root))[number - 1])
    with refuses("state", "newer-events", found[0].place, "belief.put/9"):
        care.repair(root, ["newer-events"])


def test_the_lines_of_a_check_name_no_words(root):
    record(root, put(7, rests_on=["20260101-0000-000009"], text="a very private matter"))
    change(root / "state.db", "UPDATE blocks SET content = 'a private thing' WHERE content = 'Ana likes tea'")
    change(root / "state.db", "UPDATE entries SET content = 'a private thing' WHERE content = 'Ana likes tea'")

    assert "private" not in str(checked(root))


@pytest.mark.parametrize(
    "name", ["events.wal", "lock", "tallystick.toml", "sealed/000000000000-000000000009.wal", "odd"]
)
def test_nobody_waits_for_a_pipe(root, name):
    (root / name).parent.mkdir(mode=0o700, exist_ok=True)
    (root / name).unlink(missing_ok=True)
    os.mkfifo(root / name, 0o600)

    also = [("settings-unreadable", name)] if name == "tallystick.toml" else []
    assert [(each.code, each.place) for each in checked(root)] == [("file-unreadable", name), *also]
    with refuses("state", "file-unreadable", name):
        care.repair(root, ["torn-end"])
