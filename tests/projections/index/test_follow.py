"""An index that followed along, in whatever steps, is the one that is rebuilt from nothing."""

import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory
from tallystick.projections.database import IN_MEMORY, Stale
from tallystick.projections.index import file as file_module
from tallystick.projections.index.file import NOTHING, IndexFile, differences
from tallystick.records.errors import TallystickError
from tallystick.repair.check import check
from tallystick.state.state import State
from tests.memory.told import known
from tests.projections.index import ledgers
from tests.projections.index.ledgers import MadeUp, assert_as_rebuilt, followed, lessons, rebuilt, steps, walks


@given(steps() | walks(), st.lists(st.integers(1, 7), min_size=1))
def test_following_in_any_steps_gives_the_rows_of_a_rebuild(story, strides):
    events = MadeUp.of(story).events
    assert_as_rebuilt(followed(events, strides), events)


@pytest.mark.parametrize("stories", [steps() | walks(), lessons()], ids=["anything", "lessons"])
@given(st.data(), st.integers(1, 4))
def test_following_while_things_are_said_learned_and_erased_gives_the_rows_of_a_rebuild(stories, data, often):
    """Whoever holds words that were erased must not go on; one made anew has none of them."""
    made, index, story = MadeUp(), IndexFile(IN_MEMORY), data.draw(stories)
    for number, step in enumerate([*story, ("snapshot", 0)]):
        made.say(step)
        if number % often == 0 or number == len(story):
            try:
                index.catch_up(made.events[index.bookmark().seq + 1 :])
            except Stale:
                index.close()
                index = rebuilt(made.events)
    assert_as_rebuilt(index, made.events)


@given(steps() | lessons() | walks())
def test_whoever_reads_the_events_again_or_the_rows_knows_what_was_known(story):
    made, anew, loaded = MadeUp.of(story), State(), State()
    for event in made.events:
        anew.apply(event)
    loaded.load(made.state.dump())

    assert known(anew) == known(loaded) == known(made.state)


@given(steps())
def test_what_tools_and_web_pages_say_is_visible_once_it_is_approved_and_not_before(story):
    made = MadeUp.of(story)
    index = rebuilt(made.events)

    open_ones = "SELECT id, trust, quarantined FROM index_sources WHERE until_seq IS NULL AND what = 'belief'"
    for name, trust, quarantined in index.db.execute(open_ones):
        if trust in ("tool", "web"):
            assert bool(quarantined) is not made.state.reviews.is_approved(name)
        else:
            assert not quarantined
    index.close()


@given(steps() | walks(), st.integers(1, 5))
def test_how_many_events_lie_on_a_desk_makes_no_difference(story, size):
    made = MadeUp.of(story)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_module, "CHUNK", size)
        index = rebuilt(made.events)
    assert_as_rebuilt(index, made.events)


@given(steps() | lessons(), st.data())
def test_writers_in_turns_of_whom_some_fail_give_the_rows_of_a_rebuild(story, data):
    """What one knows of the file from its last write does not hold after a write that failed, or one of the other."""
    events = MadeUp.of(story).events
    with tempfile.TemporaryDirectory() as folder:
        writers = [IndexFile(Path(folder) / "index.db", making=not number) for number in range(2)]
        while (after := writers[0].bookmark().seq + 1) < len(events):
            writer, count = data.draw(st.sampled_from(writers)), data.draw(st.integers(1, 5))
            if data.draw(st.booleans()):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(writer, "_save", _full_disk)
                    with pytest.raises(OSError, match="No space"):
                        writer.catch_up(events[after : after + count])
            else:
                writer.catch_up(events[after : after + count])
        writers[1].close()
        assert_as_rebuilt(writers[0], events)


def _full_disk(_):
    raise OSError(28, "No space left on device")


@given(steps() | walks())
def test_what_is_open_in_the_index_is_what_is_held(story):
    made = MadeUp.of(story)
    index = rebuilt(made.events)

    shown = {
        row[0]: row[1]
        for row in index.db.execute(
            "SELECT s.id, coalesce(s.said, b.content) FROM index_sources s JOIN blocks b ON b.id = s.block_id"
            " WHERE s.until_seq IS NULL AND s.what = 'belief'"
        )
    }
    held = [held.belief() for held in made.state.all() if held.status == "active"]
    assert shown == {belief.id: belief.text for belief in held if belief.text}
    index.close()


@given(steps() | walks())
def test_what_was_held_at_a_moment_is_a_question_of_where(story):
    made = MadeUp.of(story)
    index = rebuilt(made.events)

    for seq in range(0, len(made.events), 5):
        then = MadeUp().state
        then.clear()
        for event in made.events[: seq + 1]:
            then.apply(event)
        shown = {
            row[0]
            for row in index.db.execute(
                "SELECT id FROM index_sources WHERE block_id IS NOT NULL AND what = 'belief'"
                " AND since_seq <= ? AND (until_seq IS NULL OR until_seq > ?)",
                (seq, seq),
            )
        }
        held = [held.belief() for held in then.all() if held.status == "active"]
        assert shown == {belief.id for belief in held if belief.text}
    index.close()


@given(steps() | walks())
def test_a_block_belongs_to_one_user_and_stands_as_its_sources_say(story):
    made = MadeUp.of(story)
    index = rebuilt(made.events)

    crossing = (
        "SELECT count(*) FROM index_sources s JOIN index_lives l ON l.block_id = s.block_id"
        " WHERE (l.user, l.path) != (s.user, s.path)"
    )
    assert index.db.execute(crossing).fetchone() == (0,)
    wrong = (
        "SELECT count(*) FROM blocks b WHERE b.status != CASE"
        " WHEN NOT EXISTS (SELECT 1 FROM index_sources s WHERE s.block_id = b.id AND s.until_seq IS NULL)"
        " THEN 'archived'"
        " WHEN EXISTS (SELECT 1 FROM index_sources s WHERE s.block_id = b.id AND s.until_seq IS NULL AND"
        " NOT s.quarantined)"
        " THEN 'active' ELSE 'inbox' END"
    )
    assert index.db.execute(wrong).fetchone() == (0,)
    hanging = (
        "SELECT count(*) FROM blocks b WHERE b.status = 'archived' AND (b.archive_reason IS NULL"
        " OR EXISTS (SELECT 1 FROM block_tags t WHERE t.block_id = b.id)"
        " OR EXISTS (SELECT 1 FROM edges e WHERE b.id IN (e.from_id, e.to_id)))"
    )
    assert index.db.execute(hanging).fetchone() == (0,)
    assert index.db.execute("PRAGMA foreign_key_check").fetchall() == []
    index.close()


def test_an_empty_index_has_read_nothing_and_begins_with_the_frames():
    index = IndexFile(IN_MEMORY)
    assert index.bookmark() == NOTHING

    index.catch_up(MadeUp().events)

    names = [row[0] for row in index.db.execute("SELECT name FROM frames ORDER BY name")]
    assert names == ["attention", "self", "task"]
    index.close()


# -- through a real folder ---------------------------------------------------------------------------------------------

ACTS = (
    "put", "put", "put", "revise", "forget", "invalidate", "erase", "approve", "reject", "session", "frame", "compact",
    "reopen", "batch", "recall", "rebuild", "lose the index", "backup", "restore",
)  # fmt: skip


class InAFolder:
    """Two handles on one folder, which do what they are told in turns."""

    def __init__(self, root: Path) -> None:
        self.root, self.told = root, list[str]()
        self.handles = [self._open(0), self._open(1)]

    def _open(self, which: int) -> Memory:
        """One waits for each sync, one shares them."""
        return Memory(self.root, durability=("full", "group")[which], notify=self.told.append, by=f"cli:s{which}")

    def close(self) -> None:
        for handle in self.handles:
            handle.close()

    def do(self, act: str, which: int, number: int, text: str, user: str, trust: str) -> None:
        m = self.handles[which]
        with m._folder.known() as known:
            held = known.query(user=user)
            name = held[number % len(held)].belief().id if held else ""
        with suppress(TallystickError):
            if act == "put":
                keyed = {"key": f"k{number % 9}"} if number % 3 else {}
                m.remember(text or "words", user=user, trust=trust, tags=ledgers.TAGS[: number % 3], **keyed)
            elif act == "revise" and name:
                m.revise(name, text or "words", user=user)
            elif act in ("forget", "invalidate", "erase") and name:
                more = {"reason": "no"} if act == "invalidate" else {}
                getattr(m, act)(name, user=user, **more)
            elif act in ("approve", "reject"):
                for review in m._folder.state.reviews.waiting(user)[:1]:
                    getattr(m._context.gate, act)(
                        review.id, *([review.action.digest] if act == "approve" else []), user=user, reason="so"
                    )
            else:
                self._care(act, which, number)

    def _care(self, act: str, which: int, number: int) -> None:
        m = self.handles[which]
        if act == "session":
            m.work.end(m.work.session) if number % 2 else m.work.start()
        elif act == "frame":
            m.frames.put("mine", {"recency": 1 + number})
        elif act == "compact":
            m.ledger.compact()
        elif act == "reopen":
            m.close()
            self.handles[which] = self._open(which)
        elif act == "batch":
            with m.batch():
                for each in range(number):
                    m.remember(f"tea {each}")
                    m.recall("tea")
        elif act == "recall":
            m.recall("tea port äpfel", user="me")
        elif act == "rebuild":
            m.rebuild_index()
        elif act == "lose the index":
            (self.root / "state.db").unlink(missing_ok=True)
        elif act == "backup":
            m.backup()
        elif act == "restore" and (copies := sorted((self.root / "backup").glob("2*"))):
            Memory.restore(copies[number % len(copies)], self.root).close()

    def is_as_rebuilt(self) -> None:
        for m in self.handles:
            with m._folder.ledger.reading():
                index, again = m._context.index.level(), rebuilt(m._folder.events())
                assert list(differences(index, again)) == []
                assert index.text_trouble() == ""
                again.close()


def lived(acts: list[tuple[str, int, int, str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as base, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", base)
        folder = InAFolder(Path(base) / "memory")
        for number, act in enumerate(acts):
            folder.do(*act)
            if number % 6 == 5:
                folder.is_as_rebuilt()
        folder.is_as_rebuilt()
        folder.close()
        assert [finding.code for finding in check(folder.root) if finding.severity != "note"] == []


def acts() -> st.SearchStrategy[list[tuple[str, int, int, str, str, str]]]:
    one = st.tuples(
        st.sampled_from(ACTS), st.integers(0, 1), st.integers(0, 12), st.sampled_from(ledgers.TEXTS),
        st.sampled_from(ledgers.USERS), st.sampled_from(ledgers.TRUSTS),
    )  # fmt: skip
    return st.lists(one, min_size=5, max_size=30)


@settings(max_examples=6)
@given(acts())
def test_whatever_two_handles_do_to_a_folder_their_index_is_the_one_rebuilt(story):
    lived(story)


@pytest.mark.soak
@settings(max_examples=200)
@given(acts())
def test_whatever_two_handles_do_to_a_folder_for_long_their_index_is_the_one_rebuilt(story):
    lived(story)
