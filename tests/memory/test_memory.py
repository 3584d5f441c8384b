"""The one object people hold."""

import os
import threading
from datetime import UTC, date, datetime
from itertools import islice

import pytest

from tallystick import ChronoRecord, ChronoStore, Memory, Moved, NotFound, RolledBack
from tallystick.memory.maintenance.ledger import verify_folder
from tallystick.records.errors import Closed, Damaged, Missing
from tests.memory.conftest import files_with
from tests.refusals import refuses


def _texts(memory: Memory, **query: str) -> list[str]:
    return [belief.text for belief in memory.beliefs.query(**query)]  # type: ignore[arg-type]


# -- where ----------------------------------------------------------------------------------------------------------


def test_a_memory_is_made_on_first_use_for_its_owner_alone(memory, home):
    memory.remember("tea")

    assert memory.folder == home / ".tallystick"
    assert (home / ".tallystick").stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in memory.folder.iterdir() if path.is_file()}
    assert set(modes.values()) == {0o600}


def test_the_folder_is_the_given_one_then_the_environments_then_the_nearest_then_the_owners(
    home, tmp_path, monkeypatch
):
    deep = tmp_path / "project" / "src" / "deep"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    with Memory() as m:
        assert m.folder == home / ".tallystick"
    (tmp_path / "project" / ".tallystick").mkdir()
    with Memory() as m:
        assert m.folder == tmp_path / "project" / ".tallystick"
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "elsewhere"))
    with Memory() as m:
        assert m.folder == tmp_path / "elsewhere"
    with Memory(tmp_path / "given") as m:
        assert m.folder == tmp_path / "given"


# -- saying ---------------------------------------------------------------------------------------------------------


def test_what_is_remembered_is_found_after_opening_again_by_its_key_before_the_end_of_its_id(memory):
    said = memory.remember(
        "Ana prefers tea", about="person-ana", tags=["taste"], evidence=["she said so"], confidence=0.9,
        valid_from=date(2026, 5, 3), expires=datetime(2027, 1, 1, tzinfo=UTC), data={"cups": 2}, agent="planner",
    )  # fmt: skip
    memory.close()

    with Memory() as again:
        assert again.show(said.key) == said
        assert again.get(said.id[-6:]) == said
        assert (said.valid_from, said.expires) == ("2026-05-03", "2027-01-01T00:00:00.000000Z")
        assert _texts(again, about="person-ana") == ["Ana prefers tea"]
        assert _texts(again, tag="taste", containing="TEA") == ["Ana prefers tea"]
        assert _texts(again, tag="other") == []
        again.remember("second", key=said.id[-6:])
        assert (again.show(said.id), again.show(said.id[-6:]).text) == (said, "second")


def test_nothing_is_remembered_of_no_words_and_a_mistake_in_one_is_answered_with_the_right_form(memory):
    for nothing in ("", "  \n", None, 3):
        with refuses("required", "text must not be empty"):
            memory.remember(nothing)
    for wrong, code, *named in (
        ({"tags": "taste"}, "value", "'taste'"), ({"confidence": 50}, "value", "confidence"),
        ({"expires": "next week"}, "time", "2026-05-03"),
        ({"expires": datetime(2027, 1, 1)}, "time", "2027-01-01", "tzinfo"),
    ):  # fmt: skip
        with refuses(code, *named):
            memory.remember("tea", **wrong)
    assert len(memory.beliefs) == 0


def test_revising_keeps_history_and_forgetting_hides_until_it_is_said_again(memory):
    said = memory.remember("the port is 5432", key="port")
    memory.revise(said.id, "the port is 6543", reason="moved behind the pooler")
    memory.forget("port", reason="no longer used")

    assert len(memory.beliefs) == 0
    versions = [(v.belief.text, v.belief.status, v.belief.reason) for v in memory.history("port")]
    assert versions == [
        ("the port is 5432", "active", ""),
        ("the port is 6543", "active", "moved behind the pooler"),
        ("the port is 6543", "tombstone", "no longer used"),
    ]
    with pytest.raises(Moved):
        memory.revise(said.id, "the port is 7654")
    with refuses("state", "port is forgotten"):
        memory.revise("port", "the port is 7654")
    assert memory.remember("the port is 7654", key="port").status == "active"


def test_a_batch_is_written_whole_or_not_at_all(memory):
    def change_of_mind() -> None:
        with memory.batch():
            memory.remember("tea", key="a")
            assert memory.show("a").text == "tea"
            memory.remember("coffee", key="a")
            raise ZeroDivisionError

    before = memory.content_version()
    with pytest.raises(ZeroDivisionError):
        change_of_mind()
    assert (memory.beliefs.all(), memory.content_version()) == ([], before)

    with memory.batch():
        memory.remember("tea", key="a")
        memory.remember("coffee", key="b", rests_on=["a"])
    assert [event.op for event in memory.log(op="belief")] == ["belief.put/1", "belief.put/1"]
    with refuses("batch", "erase"), memory.batch():
        memory.erase("a")


def test_another_thread_waits_for_a_batch_and_is_not_part_of_it(memory):
    done = threading.Thread(target=lambda: memory.remember("from the other thread"))

    def batch() -> None:
        with memory.batch():
            memory.remember("in the batch")
            done.start()
            raise KeyError

    with pytest.raises(KeyError):
        batch()
    done.join()

    assert _texts(memory) == ["from the other thread"]


# -- users ----------------------------------------------------------------------------------------------------------


def test_no_read_crosses_a_user(memory):
    mine = memory.remember("mine", key="k")
    hers = memory.remember("hers", key="k", user="ana")

    with Memory(user="ana") as ana:
        assert _texts(ana) == ["hers"]
        assert _texts(memory) == ["mine"]
        assert ana.get(mine.id) is None
        assert ana.show("k").text == "hers"
        with pytest.raises(NotFound):
            ana.erase(mine.id)
        with pytest.raises(NotFound):
            ana.history(mine.id)
        assert {change.after.text for change in ana.diff(0) if change.after} == {"hers"}
        memory.forget("k")
        ana.forget("k")
        assert [e.body.get("id") for e in ana.log(op="belief.tombstone") if e.body] == [hers.id]
        assert "mine" not in str(list(ana.log()))
    assert memory.get(hers.id) is None
    assert "hers" not in str(list(memory.log()))


# -- time and reasons -----------------------------------------------------------------------------------------------


def test_what_was_held_then_is_still_answered_and_a_history_whose_beginning_was_moved_away_asks_for_it(
    memory, tmp_path
):
    first = memory.remember("tea", key="k")
    memory.revise("k", "coffee")
    memory.ledger.compact()

    assert memory.show("k", believed_at=first.seq).text == "tea"
    assert memory.show("k", believed_at=first.at).text == "tea"
    assert [b.text for b in memory.beliefs.query(believed_at=first.seq)] == ["tea"]
    assert [(c.what, c.before and c.before.text) for c in memory.diff(first.seq)] == [("changed", "tea")]
    memory.ledger.prune(tmp_path / "archive")
    memory.revise("k", "cocoa")
    assert memory.show("k").text == "cocoa"
    with pytest.raises(Missing, match=r" 1 to 2 .*sealed.*ledger\.prune"):
        memory.history("k")


def test_what_rests_on_a_fallen_belief_is_weakened_and_says_why(memory):
    memory.remember("the scale was calibrated", key="scale", confidence=1.0)
    memory.remember("it weighs 3 g", key="weight", confidence=0.8, rests_on=["scale"])
    (weakened,) = memory.invalidate("scale", "it was off by 2 g")

    assert (weakened.key, weakened.is_hypothesis, weakened.confidence) == ("weight", True, 0.4)
    assert [b.key for b in memory.dependents("scale")] == ["weight"]
    assert "it was off by 2 g" in str(memory.why("weight"))


def test_the_log_can_be_followed_while_others_write(memory):
    memory.remember("one")

    def write() -> None:
        with Memory() as other:
            other.remember("two")
            other.ledger.compact()
            other.remember("three")

    follower = memory.log(op="belief", follow=True, pause=0.01)
    first = next(follower)
    writer = threading.Thread(target=write)
    writer.start()
    seen = [first, *islice(follower, 2)]
    writer.join()

    assert [event.body["belief"]["text"] for event in seen if event.body] == ["one", "two", "three"]


# -- the same beliefs through both doors ----------------------------------------------------------------------------


def test_what_is_stated_through_one_door_is_seen_through_the_other(tmp_path):
    with ChronoStore(tmp_path) as store, Memory(tmp_path / ".chronomemory") as m:
        store.upsert(ChronoRecord(id="FACT-001", label="water freezes at 0 °C", evidence=["NIST"]))
        assert m.show("FACT-001").text == "water freezes at 0 °C"
        m.remember("tea is hot", key="FACT-002", confidence=0.95)
        record = store.get("FACT-002")
        assert record == ChronoRecord(id="FACT-002", label="tea is hot", confidence=0.95)


# -- erasing --------------------------------------------------------------------------------------------------------


def test_erasing_shows_what_would_go_and_then_leaves_no_word_of_it(memory, home, tmp_path):
    memory.remember("the marzipan is hidden", key="secret", tags=["marzipan-tag"], idempotency_key="marzipan-request")
    memory.revise("secret", "the marzipan was moved", reason="marzipan reasons")
    memory.remember("harmless", key="other")
    elsewhere = memory.backup(tmp_path / "usb")
    memory.backup()
    memory.ledger.checkpoint()
    memory.ledger.compact()

    going = memory.preview_erase("secret")
    assert ([b.text for b in going.beliefs], going.events) == (["the marzipan was moved"], 2)
    assert going.elsewhere == (str(elsewhere),)
    assert len(going.backups) == 1
    assert files_with(memory.folder, "marzipan") != []

    assert memory.erase("secret") == going
    assert files_with(home, "marzipan") == []
    assert memory.get("secret") is None
    report = memory.ledger.verify()
    assert report.ok, report
    assert report.outside
    for copy in (memory.folder / "backup").iterdir():
        with Memory(copy, read_only=True) as old:
            assert (old.get("secret"), old.show("other").text) == (None, "harmless")


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_restored_copy_does_not_bring_erased_words_back(memory, home, tmp_path, is_lost):
    """Even if the memory was lost: the pin remembers what was erased."""
    memory.remember("the marzipan is hidden", key="secret")
    memory.remember("harmless", key="other")
    memory.ledger.checkpoint()
    elsewhere = memory.backup(tmp_path / "usb")
    memory.erase("secret")
    memory.close()
    if is_lost:
        os.rename(memory.folder, tmp_path / "lost")

    with Memory.restore(elsewhere) as restored:
        assert restored.get("secret") is None
        assert restored.show("other").text == "harmless"
        assert restored.ledger.verify().ok
        restored.remember("life goes on")
    assert files_with(home, "marzipan") == []


# -- backup and restore ---------------------------------------------------------------------------------------------


def test_restoring_keeps_what_was_left_behind_and_says_so_and_two_in_one_second_lose_nothing(memory):
    memory.remember("before", key="a")
    copy = memory.backup()
    memory.remember("after", key="b")

    with Memory.restore(copy.name) as restored:
        assert _texts(restored) == ["before"]
        (event,) = restored.log(op="ledger.restore")
        assert event.body is not None
        assert event.body["abandoned"]["seq"] == 3 - 1
        [left] = [path for path in (restored.folder / "backup").iterdir() if "before-restore" in path.name]
        with Memory(left, read_only=True) as old:
            assert _texts(old) == ["before", "after"]
    assert _texts(memory) == ["before"]
    memory.remember("goes on", key="c")
    memory.close()

    with Memory.restore(copy) as m:
        found = set()
        for path in (m.folder / "backup").iterdir():
            with Memory(path, read_only=True) as old:
                found |= set(_texts(old))
    assert found == {"before", "after", "goes on"}


def test_who_has_the_folder_open_goes_on_after_two_restores_in_a_row(memory):
    memory.remember("before", key="a")
    copy = memory.backup()
    for number in range(3):
        memory.remember(f"after {number}")
    with Memory(memory.folder) as other:
        other.get("a")  # it has seen the head that is left behind now
        Memory.restore(copy, memory.folder).close()
        Memory.restore(copy, memory.folder).close()

        other.remember("goes on")
        assert [belief.text for belief in other.beliefs] == ["before", "goes on"]
        assert other.ledger.verify().ok


def test_a_damaged_backup_is_not_restored_and_nothing_is_touched(memory):
    memory.remember("precious words")
    copy = memory.backup()
    wal = copy / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b"precious", b"worthles"))
    before = (memory.folder / "events.wal").read_bytes()

    with pytest.raises(Exception, match="the copy is damaged"):
        Memory.restore(copy)
    with pytest.raises(NotFound, match=r"nowhere.*events\.wal"):
        Memory.restore("nowhere")
    assert (memory.folder / "events.wal").read_bytes() == before
    assert _texts(memory) == ["precious words"]


# -- the pin --------------------------------------------------------------------------------------------------------


def test_a_rolled_back_folder_is_noticed_through_the_pin_and_not_written_to(memory):
    memory.remember("one")
    old = {path.name: path.read_bytes() for path in memory.folder.iterdir() if path.is_file()}
    memory.remember("two")
    memory.ledger.checkpoint()
    memory.close()
    for path in memory.folder.iterdir():
        if path.is_file() and path.name != "checkpoint":
            path.unlink()
    for name, content in old.items():
        (memory.folder / name).write_bytes(content)

    with Memory() as again:
        assert _texts(again) == ["one"]
        assert not again.ledger.verify().ok
        with pytest.raises(RolledBack, match=r"\b1\b.*pin.*\b2\b.*tallystick restore.*--repin"):
            again.remember("three")


def test_status_tells_how_it_is_and_a_closed_memory_says_so(memory):
    memory.remember("one", key="a")
    memory.remember("two")
    memory.forget("a")
    status = memory.status()

    assert (status.beliefs, status.forgotten, status.events, status.trouble, status.checkpoint) == (1, 1, 4, "", None)
    memory.ledger.checkpoint()
    assert memory.status().checkpoint == 4
    memory.close()
    memory.close()
    with pytest.raises(Closed, match=f"{memory.folder} .*closed"):
        memory.remember("too late")


def test_a_person_who_knows_why_may_accept_another_ledger_in_a_pinned_place(memory, tmp_path):
    memory.remember("the first one")
    memory.ledger.checkpoint()
    memory.close()
    os.rename(memory.folder, tmp_path / "moved")
    with Memory(tmp_path / "forged") as forged:
        forged.remember("another one")
    os.rename(tmp_path / "forged", memory.folder)

    with Memory() as again:
        with pytest.raises(RolledBack, match="repin"):
            again.remember("a new beginning")
        again.ledger.checkpoint(repin=True)
        again.remember("a new beginning")
        assert again.ledger.verify().outside
    with Memory(tmp_path / "moved") as moved:
        moved.remember("the first one goes on elsewhere")


def test_a_pinned_ledger_is_not_made_twice(memory, tmp_path):
    memory.remember("one")
    memory.ledger.checkpoint()
    copy = memory.backup(tmp_path / "usb")
    with refuses("state", str(memory.folder)):
        Memory.restore(copy, tmp_path / "second")
    memory.remember("the original is untouched")


def test_settings_come_back_only_where_there_are_none(memory, tmp_path):
    (memory.folder / "tallystick.toml").write_text('[ledger]\ndurability = "group"\n')
    memory.remember("one")
    copy = memory.backup(tmp_path / "usb")
    (memory.folder / "tallystick.toml").write_text('[ledger]\ndurability = "full"\n')
    memory.close()

    Memory.restore(copy).close()
    assert "full" in (memory.folder / "tallystick.toml").read_text()
    Memory.restore(copy, tmp_path / "new").close()
    assert "group" in (tmp_path / "new" / "tallystick.toml").read_text()
    assert not (tmp_path / "new" / "backup").exists()


def test_a_tampered_line_is_never_shown_as_an_erased_one(memory):
    for number in range(200):  # more than is checked at every opening
        memory.remember(f"number {number}")
    memory.close()
    wal = memory.folder / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b"number 3\"", b"numb3r 3\""))

    with Memory() as again, pytest.raises(Damaged, match="event 4"):
        list(again.log())


@pytest.mark.parametrize("byte", range(12))
def test_a_damaged_first_byte_never_makes_a_ledger_look_like_another_programs(memory, byte):
    """An erasure removes copies of a taken-over ledger whole. A copy of ours with a flipped bit is not one."""
    memory.remember("to be erased", key="secret")
    memory.remember("harmless", key="other")
    wal = memory.backup() / "events.wal"
    whole = wal.read_bytes()
    for bit in range(8):
        wal.write_bytes(whole[:byte] + bytes([whole[byte] ^ 1 << bit]) + whole[byte + 1 :])
        assert not verify_folder(wal.parent).ok
    memory.erase("secret")

    assert wal.exists()
    assert b"harmless" in wal.read_bytes()
    assert b"to be erased" not in wal.read_bytes()


# -- the mark ----------------------------------------------------------------------------------------------------------


def test_the_mark_is_another_one_whenever_something_changed_and_no_other_time(tmp_path):
    with Memory(tmp_path / "m") as m, Memory(tmp_path / "m") as other:
        m.remember("Ana prefers tea", key="tea")
        first = m.content_version()
        assert first[0] == m.show("tea").seq
        assert other.content_version() == first
        m.recall("tea", receipt=True)
        m.receipts.flush()
        m.ledger.compact()
        assert (m.content_version(), other.content_version()) == (first, first)
        with Memory(tmp_path / "m") as later:
            assert later.content_version() == first
        other.observe("hello")
        assert m.content_version() == other.content_version() != first


def test_a_list_is_read_in_parts_that_others_cannot_move(tmp_path):
    with Memory(tmp_path / "m") as m:
        for number in range(5):
            m.remember(f"thing {number}", key=f"k{number}", kind="idea")
        first, place = m.beliefs.page(limit=2, kind="idea")
        m.revise("k0", "thing 0, again")
        m.erase(first[1].key)
        second, last = m.beliefs.page(after=place, limit=3, kind="idea")
        assert [each.key for each in first + second] == [f"k{number}" for number in range(5)]
        assert last is None
        with refuses("value", "limit"):
            m.beliefs.page(limit=0)
