"""Edits that race a write, files put back, words erased: nothing of a person is lost, nothing erased comes back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.memory.pages import files as pages_at
from tallystick.memory.pages.sync import Sync
from tallystick.projections.markdown import parse
from tallystick.records.errors import Busy, Moved, TallystickError
from tallystick.stores.page_files import NoPage, PageFolder, Raced
from tests.memory.conftest import files_with, run_all
from tests.memory.paged import (
    cut_first,
    end_of,
    everything_in,
    files_of,
    folder_in,
    is_settled,
    lose_tables,
    page_at,
    tables_of,
)
from tests.memory.pages.test_pages import ana, edit, lag, m
from tests.refusals import refuses

__all__ = ["ana", "m"]


# -- an edit and a write at the same time ------------------------------------------------------------------------------


@pytest.mark.parametrize(("owner", "name"), [(PageFolder, "write"), (Sync, "_leave_what_moved")])
def test_an_edit_between_our_reading_and_our_writing_is_merged(m, monkeypatch, owner, name):
    first = m.pages.append("person-ana", "one", ["x"])
    lag(m)
    second = m.remember("two", about="person-ana")
    path, real, edits = page_at(m, "person-ana.md"), getattr(owner, name), []

    def late(*given):
        if not edits and (owner is Sync or given[1] == "person-ana.md"):
            edits.append(edit(path, "\none\n", "\none, and more\n"))
        return real(*given)

    monkeypatch.setattr(owner, name, late)
    m.pages.sync()

    assert edits
    assert m.show(first.id).text == "one, and more"
    assert [e.body for e in parse(path.read_text()).entries if e.is_current] == ["two", "one, and more"]
    assert m.show(second.id).text == "two"


@pytest.mark.parametrize("how", ["in place", "by renaming"])
@pytest.mark.parametrize("moment", ["sync", "rename"])
def test_an_edit_at_the_very_moment_of_our_writing_is_not_lost(m, monkeypatch, how, moment):
    first = m.pages.append("person-ana", "one", ["x"])
    path, disk, done = page_at(m, "person-ana.md"), m._folder.disk, []
    real = getattr(disk, moment)
    if how == "by renaming" and moment == "rename":
        pytest.skip("between looking and renaming there is nothing on which a system would let us wait")

    def meanwhile(*args):
        name = str(args[0]) if moment == "rename" else os.readlink(f"/proc/self/fd/{args[0]}")
        if not done and name.endswith(".person-ana.md.new"):
            text = path.read_text().replace("\none\n", "\none, at the very moment\n")
            if how == "in place":
                path.write_text(text)
            else:
                (path.parent / "beside").write_text(text)
                (path.parent / "beside").rename(path)
            done.append(True)
        return real(*args)

    monkeypatch.setattr(disk, moment, meanwhile)
    m.pages.append("person-ana", "two", ["x"])

    assert done
    assert m.show(first.id).text == "one, at the very moment"
    assert sorted(e.body for e in parse(path.read_text()).entries if e.is_current) == ["one, at the very moment", "two"]


def test_a_page_that_keeps_changing_is_told_and_taken_in_the_next_time(m, monkeypatch):
    m.pages.append("person-ana", "one", ["x"])
    path, real = page_at(m, "person-ana.md"), PageFolder.write

    def restless(folder, name, data, before):
        path.write_text(path.read_text() + "\n<!-- again -->\n")
        return real(folder, name, data, before)

    monkeypatch.setattr(PageFolder, "write", restless)
    lag(m)
    m.remember("two", about="person-ana")
    told = m.pages.sync()
    monkeypatch.undo()

    assert [each.what for each in told.problems] == ["it keeps changing; it is imported the next time"]
    m.pages.sync()
    assert "\ntwo\n" in path.read_text()


def test_other_words_in_what_was_superseded_and_is_not_struck_any_more_are_asked(m):
    old = m.pages.append("person-ana", "one", ["x"])
    new = m.pages.supersede("person-ana", old.id, "two")
    path = page_at(m, "person-ana.md")
    edit(path, f" #superseded-by:{new.id}\n~~one~~", "\none after all")

    m.pages.sync()

    [review] = m.reviews.waiting()
    assert (review.action.target, review.action.changes["text"]) == ((new.id,), "one after all")
    assert {each.id: each for each in parse(path.read_text()).entries}[old.id].superseded_by == new.id


@pytest.mark.parametrize("how", ["revise", "forget"])
@pytest.mark.parametrize("tables", ["kept", "lost"])
@pytest.mark.parametrize("answer", ["approve", "reject"])
def test_what_changed_on_both_sides_is_asked_once_with_both_texts(m, ana, how, tables, answer):
    entry, path = ana
    lag(m)
    m.revise(entry.id, "one, says the agent") if how == "revise" else m.forget(entry.id)
    edit(path, "\none\n", "\none, says the person\n")
    if tables == "lost":
        lose_tables(m)

    told = m.pages.sync()

    [review] = m.reviews.waiting()
    assert told.reviews == (review.id,)
    assert review.action.changes["text"] == "one, says the person"
    assert m.show(review.action.target[0]).text == ("one, says the agent" if how == "revise" else "one")
    is_settled(m)
    assert len(m.reviews) == 1
    getattr(m.reviews, answer)(review.id)
    m.pages.sync()
    held = [e.text for e in m.pages.read("person-ana").entries]
    no = ["one, says the agent"] if how == "revise" else []
    assert held == (["one, says the person"] if answer == "approve" else no)
    assert m.show(entry.id).trust == "human"
    is_settled(m)
    assert len(m.reviews) == 0


def test_both_saying_the_same_is_no_question(m):
    entry = m.pages.append("person-ana", "one", ["x"])
    lag(m)
    m.revise(entry.id, "two")
    edit(page_at(m, "person-ana.md"), "\none\n", "\ntwo\n")

    assert m.pages.sync().reviews == ()
    assert [e.text for e in m.pages.read("person-ana").entries] == ["two"]


def test_what_a_person_removed_while_it_was_changed_elsewhere_is_asked(m):
    entry = m.pages.append("person-ana", "one", ["x"])
    lag(m)
    m.revise(entry.id, "two")
    cut_first(page_at(m, "person-ana.md"))

    m.pages.sync()

    [review] = m.reviews.waiting()
    assert review.action.kind == "forget"
    assert m.show(entry.id).text == "two"
    is_settled(m)
    m.reviews.approve(review.id)
    assert m.show(entry.id).status == "tombstone"


def test_tags_changed_elsewhere_are_not_taken_back_by_an_edit_of_another_entry(m):
    entry, other = m.pages.append("person-ana", "one", ["x"]), m.pages.append("person-ana", "two", ["x"])
    lag(m)
    m.revise(entry.id, tags=["elsewhere"])
    edit(page_at(m, "person-ana.md"), "\ntwo\n", "\ntwo and a half\n")

    m.pages.sync()

    assert m.show(entry.id).tags == ("elsewhere",)
    assert m.show(other.id).text == "two and a half"


@pytest.mark.parametrize("tables", ["kept", "lost"])
def test_tags_changed_by_hand_are_taken_in_even_if_the_tables_were_lost(m, tables):
    entry = m.pages.append("person-ana", "one", ["x"])
    edit(page_at(m, "person-ana.md"), "} #x", "} #byhand")
    if tables == "lost":
        lose_tables(m)

    m.pages.sync()

    assert m.show(entry.id).tags == ("byhand",)


def test_a_file_is_read_as_whole_and_written_only_over_what_was_read(home, m):
    m.pages.append("person-ana", "one", ["x"])
    folder = m._services.page_files.folder
    read = folder.read("person-ana.md")
    edit(page_at(m, "person-ana.md"), "one", "two")
    with pytest.raises(Raced):
        folder.write("person-ana.md", b"ours", read)
    with pytest.raises(Raced):
        folder.write("person-ana.md", b"ours", None)
    assert "two" in page_at(m, "person-ana.md").read_text()
    page_at(m, "person-ana.md").unlink()
    page_at(m, "person-ana.md").symlink_to(home / "elsewhere")
    with pytest.raises(NoPage):
        folder.write("person-ana.md", b"ours", read)
    assert list(page_at(m, "").glob(".*")) == []
    m.close()


# -- put back ----------------------------------------------------------------------------------------------------------


def story(memory: Memory) -> list[bytes]:
    """A page through several states, which are returned."""
    states = []
    path = page_at(memory, "person-ana.md")
    first = memory.pages.append("person-ana", "one", ["x"])
    states.append(path.read_bytes())
    second = memory.pages.append("person-ana", "two", ["x"])
    states.append(path.read_bytes())
    memory.pages.supersede("person-ana", first.id, "one again")
    states.append(path.read_bytes())
    memory.forget(second.id)
    memory.pages.describe("person-ana", description="A friend", title="Ana B.")
    states.append(path.read_bytes())
    return states


@pytest.mark.parametrize("tables", ["kept", "lost", "older"])
def test_an_earlier_state_of_a_page_put_back_loses_nothing(m, tables):
    states = story(m)
    path = page_at(m, "person-ana.md")
    held = [(b.id, b.text, b.status) for b in m.beliefs.all()]
    end, last = end_of(m), parse(states[-1]).entries
    if tables == "older":
        shutil.copy(m.folder / "state.db", m.folder / "older.db")
        m.pages.append("person-bob", "later", ["x"])
        held, end = [(b.id, b.text, b.status) for b in m.beliefs.all()], end_of(m)
    for state in states[:-1]:
        path.write_bytes(state)
        if tables == "lost":
            lose_tables(m)
        elif tables == "older":
            lose_tables(m)
            shutil.copy(m.folder / "older.db", m.folder / "state.db")

        m.pages.sync()

        assert [(b.id, b.text, b.status) for b in m.beliefs.all()] == held
        assert {(e.id, e.body, e.is_current) for e in parse(path.read_bytes()).entries} == {
            (e.id, e.body, e.is_current) for e in last
        }
        if tables == "kept":
            assert end_of(m) == end
            assert parse(path.read_bytes()).title == "Ana B."
        is_settled(m)


@pytest.mark.parametrize("lost", [("state.db",), ("memory",), ("state.db", "memory")])
def test_tables_and_files_that_are_lost_grow_back(m, lost):
    story(m)
    m.remember("of Bob", about="person-x", user="bob")
    m.pages.sync()
    before, tables = files_of(m), tables_of(m)
    m.close()
    for name in lost:
        for path in m.folder.glob(f"{name}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with Memory(m.folder) as again:
        again.pages.sync()
        assert files_of(again) == before
        assert tables_of(again) == tables
        is_settled(again)


def test_a_ledger_whose_first_segments_were_moved_away_leaves_its_pages_as_they_are(m, home):
    m.pages.append("person-gone", "cleaned", ["x"])
    m.pages.clean()
    story(m)
    m.remember("of the web", about="person-web", trust="web")
    m.remember("of Bob", about="person-x", user="bob")
    before, held = files_of(m), [(b.id, b.status) for b in m.beliefs.all()]
    m.ledger.compact()
    m.ledger.prune(home / "away")

    m.pages.sync()
    assert files_of(m) == before
    m.pages.rebuild()
    m.pages.rebuild()

    assert files_of(m) == before
    assert [(b.id, b.status) for b in m.beliefs.all()] == held
    is_settled(m)
    m.reviews.approve(m.reviews.waiting()[0].id)
    m.pages.append("person-ana", "three", ["x"])
    assert [e.text for e in m.pages.read("person-web").entries] == ["of the web"]
    after = files_of(m)
    assert after.keys() == {*before, "person-web.md"}
    m.pages.rebuild()
    assert files_of(m) == after


def test_going_back_to_a_backup_sets_the_pages_aside_and_no_edit_is_lost(m):
    m.pages.append("person-ana", "one", ["x"])
    copy = m.backup()
    m.pages.append("person-ana", "two", ["x"])
    edit(page_at(m, "person-ana.md"), "\ntwo\n", "\nan edit nobody took in\n")
    m.close()

    with Memory.restore(copy, m.folder) as again:
        again.pages.sync()
        assert [e.text for e in again.pages.read("person-ana").entries] == ["one"]
        assert "two" not in page_at(again, "person-ana.md").read_text()
        assert b"an edit nobody took in" in everything_in(again)
        is_settled(again)


# -- erased ------------------------------------------------------------------------------------------------------------


def test_erased_words_are_nowhere_under_the_folder_and_do_not_come_back(m):
    states = story(m)
    entry = m.pages.append("person-bob", "zebrastripes are a secret", ["zebratag"])
    other = m.pages.append("person-bob", "something else", ["x"])
    m.pages.supersede("person-bob", entry.id, "zebrastripes were a secret")
    kept = page_at(m, "person-bob.md").read_bytes()
    hidden = m.remember("zebrastripes of the web", about="person-bob", trust="web")
    copy = m.backup()
    m.close()
    Memory.restore(copy, m.folder).close()
    with Memory(m.folder) as again:
        again.pages.sync()
        half_made = page_at(again, ".person-zed.md.new")
        half_made.write_text("zebrastripes")
        aside = again.folder / "backup"
        assert [path for path in aside.rglob("*.md") if b"zebrastripes" in path.read_bytes()] != []

        again.erase(entry.id, hidden.id)

        assert files_with(again.folder, "zebrastripes") == []
        assert files_with(again.folder, "zebratag") == []
        assert again.show(other.id).text == "something else"
        assert parse(page_at(again, "person-bob.md").read_text()).front.entry_count == 1
        assert page_at(again, "person-ana.md").read_bytes() == states[-1]
        page_at(again, "person-bob.md").write_bytes(kept + kept[kept.index(b"## [") :])
        again.pages.sync()
        assert files_with(again.folder, "zebrastripes") == []
        is_settled(again)


def test_an_erasure_takes_the_question_about_a_race_with_it(m):
    entry = m.pages.append("person-ana", "zebrastripes", ["x"])
    lag(m)
    m.forget(entry.id)
    edit(page_at(m, "person-ana.md"), "\nzebrastripes\n", "\nzebrastripes and lions\n")
    m.pages.sync()
    assert len(m.reviews) == 1

    m.erase(entry.id)

    assert files_with(m.folder, "zebrastripes") == []
    assert len(m.reviews) == 0


# -- threads, forks and closing ----------------------------------------------------------------------------------------


def test_threads_that_append_batch_read_and_sync_wait_for_nobody_for_ever(m):
    m.pages.append("person-ana", "zero", ["x"])

    def append():
        for number in range(12):
            m.pages.append("person-ana", f"appended {number}", ["x"])

    def batches():
        for number in range(12):
            with m.batch():
                m.remember(f"batched {number}", about="person-ana")
                m.pages.list()

    def reads():
        for _ in range(30):
            m.pages.read("person-ana")
            m.pages.search("appended")

    def syncs():
        for _ in range(12):
            m.pages.sync()

    assert run_all(append, batches, reads, syncs) == []
    m.pages.sync()
    assert m.pages.read("person-ana").info.entry_count == 25
    assert parse(page_at(m, "person-ana.md").read_text()).front.entry_count == 25


def test_whoever_writes_pages_keeps_others_out_and_they_do_not_wait_for_ever(m, monkeypatch):
    m.pages.append("person-ana", "one", ["x"])
    monkeypatch.setattr(pages_at, "_PATIENCE", 0.05)
    with Memory(m.folder) as other, other._services.page_files.working():
        with pytest.raises(Busy, match="pages"):
            m.pages.sync()
        m.remember("two", about="person-ana")
        assert m.pages.append("person-ana", "three", ["x"]).text == "three"
    m.pages.sync()
    assert [e.text for e in m.pages.read("person-ana").entries] == ["one", "two", "three"]


def test_closing_while_others_write_pages_harms_nothing(m):
    def append():
        for number in range(50):
            try:
                m.pages.append("person-ana", f"number {number}", ["x"])
            except TallystickError:
                return

    assert run_all(append, append, m.close) == []
    with Memory(m.folder) as again:
        again.pages.sync()
        is_settled(again)


def test_a_forked_child_is_told_to_open_the_memory_anew(m):
    from tests.crash.disks import in_a_child

    m.pages.append("person-ana", "one", ["x"])

    def child():
        with refuses("forked", str(m.folder)):
            m.pages.append("person-ana", "two", ["x"])
        with refuses("forked", str(m.folder)):
            m.pages.sync()
        with Memory(m.folder) as own:
            own.pages.append("person-ana", "three", ["x"])

    assert in_a_child(child) == 0
    m.pages.append("person-ana", "four", ["x"])
    assert [e.text for e in m.pages.read("person-ana").entries] == ["one", "three", "four"]


def test_a_review_that_is_stale_says_so_and_the_persons_words_stay_in_the_ledger(m):
    entry = m.pages.append("person-ana", "one", ["x"])
    lag(m)
    m.revise(entry.id, "two")
    edit(page_at(m, "person-ana.md"), "\none\n", "\nwords of a person\n")
    m.pages.sync()
    [review] = m.reviews.waiting()
    m.revise(entry.id.replace(entry.id, m.show(entry.id).id), "three")

    with pytest.raises(Moved):
        m.reviews.approve(review.id)
    assert b"words of a person" in everything_in(m)


def test_a_folder_where_others_may_write_only_sometimes_is_told_and_goes_on(home):
    place = folder_in(home / "kept")
    with Memory(place) as m:
        m.pages.append("person-ana", "one", ["x"])
        real = PageFolder.write

        def full(folder: PageFolder, name: str, data: bytes, before: object) -> None:
            raise OSError(28, "No space left on device")

        PageFolder.write = full  # type: ignore[method-assign]
        try:
            entry = m.pages.append("person-ana", "two", ["x"])
            m.remember("three", about="person-ana")
            told = m.pages.sync()
        finally:
            PageFolder.write = real  # type: ignore[method-assign]
        assert entry.text == "two"
        assert "could not be written: No space left on device" in told.problems[0].what
        m.pages.sync()
        assert parse(Path(page_at(m, "person-ana.md")).read_text()).front.entry_count == 3
        is_settled(m)


def test_a_struck_entry_and_a_copy_of_what_took_its_place_are_both_recorded(m):
    belief = m.remember("Ana likes tea.", about="person-ana")
    path = page_at(m, "person-ana.md")
    heading = f"## [2026-05-03T10:00:00] {{id: {belief.id}}}"
    struck = f"\n## [2026-05-03T10:00:00] {{id: 20260503-1000-0433c8}} #superseded-by:{belief.id}\n~~Ana likes tea.~~\n"
    path.write_text(path.read_text() + struck + f"\n{heading}\nAna likes tea.\n")

    m.pages.sync()

    assert [entry.id for entry in parse(path.read_text()).entries if m.get(entry.id) is None] == []
