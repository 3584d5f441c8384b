"""Integrity: verified beside the site, said plainly; and of what is damaged nothing is written."""

import threading
import time
from pathlib import Path
from shutil import copytree, rmtree

import pytest
from starlette.testclient import TestClient

from tallystick import Memory
from tallystick.records.errors import Busy, Missing
from tallystick.surfaces.server.worker import MemoryWorker
from tallystick.surfaces.web import integrity
from tallystick.surfaces.web.app import create_app
from tests.hostile import wrong_in
from tests.surfaces.web.conftest import LetIn, Page, Web, spoil

WRITE = {"/integrity/checkpoint", "/integrity/backup"}
LOOK = {"/integrity/verify", "/integrity/check"}


def every_byte(*folders):
    paths = (path for folder in folders for path in folder.rglob("*"))
    return {path: path.read_bytes() for path in paths if path.is_file() and not path.name.endswith(("-shm", "-wal"))}


def test_looking_and_verifying_write_nothing(web, home):
    web.m.remember("Ana prefers tea")
    web.page("/integrity")
    before = every_byte(web.m.folder, home)
    page = web.page("/integrity")
    done = web.say("/integrity/verify")

    assert set(page.forms) == WRITE | LOOK
    assert "2 events" in page.text
    assert "No checkpoint yet" in page.text
    assert done.status_code == 200
    assert "Intact." in done.text
    assert every_byte(web.m.folder, home) == before


def test_verify_says_which_witnesses_it_had(web):
    web.m.remember("Ana prefers tea")
    alone = Page(web.say("/integrity/verify").text)
    assert "Intact. 2 events, each as it was written" in alone.text
    assert "the lock file" in alone.text
    assert "none outside the folder" in alone.text
    assert "no witness outside this folder" in alone.text

    web.say("/integrity/checkpoint")
    seen = Page(web.say("/integrity/verify").text)
    assert "the pin outside the folder" in seen.text
    assert "none outside the folder" not in seen.text


def test_a_checkpoint_is_taken_by_a_form_and_shown_with_its_note_and_place(web):
    web.m.remember("Ana prefers tea")
    page = Page(web.say("/integrity/checkpoint").text)

    [pin, _] = web.m.ledger.checkpoints()
    assert "Covers all 2 events" in page.text
    assert str(web.m.ledger.pin_path) in page.text
    assert pin.note.splitlines()[2] in page.text
    assert web.m.ledger.verifier_key in page.text
    web.m.remember("Bob prefers rum")
    assert "Covers the first 2 of 3 events" in web.page("/integrity").text


def test_check_finds_nothing_in_a_healthy_memory_and_says_what_each_finding_means(web):
    web.m.remember("Ana prefers tea")
    assert "No problems found" in web.say("/integrity/check").text
    (web.m.folder / "notes<b>.txt").write_text("mine")
    (web.m.folder / "tallystick.toml").write_text("nonsense")
    page = Page(web.say("/integrity/check").text)

    assert "settings-unreadable" in page.text
    assert "tallystick.toml cannot be read" in page.text
    assert "foreign-file" in page.text
    assert "notes<b>.txt" in page.text
    assert list(wrong_in(page.tags)) == []
    assert "move it elsewhere" in page.text
    assert page.text.index("settings-unreadable") < page.text.index("foreign-file")  # the worst first


def test_a_backup_is_made_and_listed_with_the_way_back(web):
    web.m.remember("Ana prefers tea")
    page = Page(web.say("/integrity/backup").text)

    [copy] = (web.m.folder / "backup").iterdir()
    assert f"Copied to {copy}" in page.text
    assert f"tallystick -C {web.m.folder} restore {copy.name}" in page.text
    with Memory(copy, read_only=True) as copied:
        assert [belief.text for belief in copied.beliefs] == ["Ana prefers tea"]


def test_sealed_stretches_and_what_the_ledger_did_are_listed(web):
    web.m.remember("Ana prefers tea")
    web.m.ledger.compact()
    page = web.page("/integrity")

    assert "sealed/000000000000-000000000001.wal" in page.text
    assert "0 to 1" in page.text
    assert "compacted: events 0 to 1 are sealed" in page.text


def test_what_recovery_did_is_told(m):
    m.remember("Ana prefers tea")
    m.close()
    with open(m.folder / "events.wal", "ab") as wal:
        wal.write(b'{"seq":2,"ts":"2026-')
    with Web(m) as web:
        web.app._app.state.notices = ["the index was rebuilt <script>"]
        page = web.page("/integrity")

    assert "the index was rebuilt <script>" in page.text
    assert list(wrong_in(page.tags)) == []
    assert "20 bytes that a crash left unfinished" in page.text
    assert "recovered" in page.text


# -- what is wrong -----------------------------------------------------------------------------------------------------


@pytest.fixture
def damaged(m):
    for text in ("one", "two", "three"):
        m.remember(text)
    m.backup()
    spoil(m, b'"two"', b'"owt"')
    with Web(m) as client:
        yield client


@pytest.fixture
def rolled_back(m):
    m.remember("one")
    old = copytree(m.folder, m.folder.with_name("old"))
    m.remember("two")
    m.ledger.checkpoint()
    m.close()
    rmtree(m.folder)
    old.rename(m.folder)
    with Web(m) as client:
        yield client


def test_a_damaged_memory_says_what_is_wrong_and_what_to_do_and_nothing_writes(damaged):
    folder = damaged.m.folder
    page, before = damaged.page("/integrity"), every_byte(folder)
    [copy] = (folder / "backup").iterdir()

    assert "This memory is read-only" in page.text
    assert page.all("section", role="alert")
    assert "events.wal is damaged" in page.text
    for words in (" check", " repair CODE", f" restore {copy.name}"):
        assert f"tallystick -C {folder}{words}" in page.text
    assert set(page.forms) == LOOK
    for address in WRITE:
        assert damaged.say(address).status_code == 503
    bad = Page(damaged.say("/integrity/verify").text)
    assert "Verification failed" in bad.text
    assert "First bad line: events.wal, line 3 (event 2, byte" in bad.text
    found = Page(damaged.say("/integrity/check").text)
    assert "line-damaged" in found.text
    assert "tallystick repair line-damaged" in found.text
    assert every_byte(folder) == before


def test_a_rolled_back_memory_says_so_and_nothing_writes(rolled_back):
    folder = rolled_back.m.folder
    page, before = rolled_back.page("/integrity"), every_byte(folder)

    assert "rolled back or replaced" in page.text
    assert "tallystick restore" in page.text
    assert "It covers 3 events, more than can be read here" in page.text
    assert set(page.forms) == LOOK
    for address in WRITE:
        assert rolled_back.say(address).status_code == 503
    assert "Verification failed" in rolled_back.say("/integrity/verify").text
    assert "rolled-back" in rolled_back.say("/integrity/check").text
    assert every_byte(folder) == before


def test_a_folder_that_was_replaced_by_another_says_so(m, tmp_path):
    m.remember("the real one")
    m.ledger.checkpoint()
    m.close()
    m.folder.rename(tmp_path / "moved")
    with Memory(tmp_path / "forged") as forged:
        forged.remember("the forged one")
    (tmp_path / "forged").rename(m.folder)
    with Web(m) as web:
        page = web.page("/integrity")

    assert "It is of another ledger" in page.text
    assert set(page.forms) == LOOK


def test_a_memory_that_cannot_be_opened_still_has_a_page_that_says_why():
    def opens():
        raise Missing("events 0 to 5 are not in sealed: put their files <back> there")

    with TestClient(LetIn(create_app(MemoryWorker(opens))), base_url="http://127.0.0.1:8722") as client:
        answer = client.get("/integrity")
        page = Page(answer.text)

    assert answer.status_code == 200
    assert "This memory cannot be opened" in page.text
    assert "put their files <back> there" in page.text
    assert "tallystick check" in page.text
    assert not page.forms


# -- what takes its time -----------------------------------------------------------------------------------------------


def test_a_long_verify_runs_beside_the_site_and_is_begun_once(web, monkeypatch):
    go, begun = threading.Event(), list[Path]()
    really = integrity.verify_folder

    def slow(folder, on_progress):
        begun.append(folder)
        on_progress(1)
        go.wait(120)
        return really(folder, on_progress=on_progress)

    monkeypatch.setattr(integrity, "verify_folder", slow)
    monkeypatch.setattr(integrity.Jobs.wait, "__defaults__", (0.05,))
    web.m.remember("Ana prefers tea")
    for _ in range(2):
        page = Page(web.say("/integrity/verify").text)
        assert "Verifying …" in page.text
        assert "Refresh" in page.text
        assert "/integrity/verify" not in page.forms
    assert web.page("/timeline")
    assert web.page("/reviews")
    piece = web.page("/integrity", headers={"X-Piece": "1"})
    assert "Verifying …" in piece.text
    assert not piece.all("html")
    go.set()
    until = time.monotonic() + 120
    while "Verifying …" in (page := web.page("/integrity")).text and time.monotonic() < until:
        time.sleep(0.02)

    assert len(begun) == 1
    assert "Intact." in page.text
    assert "/integrity/verify" in page.forms


@pytest.mark.parametrize(
    ("error", "words"),
    [(Busy("they are being moved; <try> again"), "<try> again"), (OSError(13, "Not allowed", "wal"), "Not allowed")],
    ids=["refused", "system"],
)
def test_what_goes_wrong_on_the_way_is_said(web, monkeypatch, error, words):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(integrity.checks, "check", fails)
    web.m.remember("Ana prefers tea")
    page = Page(web.say("/integrity/check").text)

    assert words in page.text
    assert list(wrong_in(page.tags)) == []
    assert "/integrity/check" in page.forms
