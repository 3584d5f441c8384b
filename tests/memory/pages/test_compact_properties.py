"""After any mix of writes, edits and compactions: pages that followed are pages made anew, and no word is lost."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings, strategies as st

from tallystick import Memory
from tests.conftest import at_most
from tests.memory.conftest import Clock
from tests.strategies import texts

WORDS = [
    "Ana likes tea.",
    "Ana likes the tea",
    "The port is 1.",
    "安娜住在上海。",
    "Ana owes Bob 40 EUR.",
    "(Until 2026-05-20: x)",
]
OTHERS = ["forget", "fold", "fold", "wait", "edit", "lose"]
said = st.one_of(st.sampled_from(WORDS), texts.filter(lambda text: bool(text.strip())))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), said, st.integers(0, 9)),
        st.tuples(st.just("supersede"), said, st.integers(0, 9)),
        st.tuples(st.sampled_from(OTHERS), st.just(""), st.integers(0, 9)),
    ),
    min_size=3, max_size=14,
)  # fmt: skip


def act(memory: Memory, clock: Clock, what: str, text: str, which: int) -> None:
    path = memory.pages.folder / "topic-x.md"
    current = memory.pages.read("topic-x").entries
    one = current[which % len(current)] if current else None
    if what == "append":
        memory.pages.append("topic-x", text, ["a", "b", "c"][: 1 + which % 3])
    elif what == "supersede" and one:
        memory.pages.supersede("topic-x", one.id, text)
    elif what == "forget" and one:
        memory.forget(one.id)
    elif what == "fold":
        memory.pages.compact("topic-x")
    elif what == "wait":
        clock.now += timedelta(hours=17)
    elif what == "edit":
        path.write_bytes(path.read_bytes() + b"\n## #hand\nBob came by hand.\n")
        memory.pages.sync()
    elif what == "lose":
        path.unlink(missing_ok=True)
        memory.pages.sync()


def rows(memory: Memory) -> list[object]:
    """What the tables say, without how far the file has followed."""
    db = memory._services.page_files.level()
    db.db.execute("INSERT INTO entries_fts (entries_fts, rank) VALUES ('integrity-check', 1)")
    file = db.file("topic-x.md")
    assert file is not None
    return [tuple(each[1:14]) for each in db.entries("topic-x.md")] + [(file.tokens, file.entry_count, file.status)]


@settings(max_examples=at_most(25), deadline=None)
@given(steps=steps)
def test_pages_that_followed_along_are_pages_rebuilt(tmp_path_factory, steps):
    clock, place = Clock(), tmp_path_factory.mktemp("memory")
    with Memory(place, clock=clock) as memory:
        memory.pages.append("topic-x", "Ana likes tea.", ["a"])
        for what, text, which in steps:
            act(memory, clock, what, text, which)
        memory.pages.sync()
        live, text = rows(memory), (memory.pages.folder / "topic-x.md").read_bytes()
        held = {each.text for each in memory.beliefs.query()}
        shown = {each.text for each in memory.pages.read("topic-x").entries}
        assert shown == held

        assert memory.pages.rebuild().adopted == ()
        assert rows(memory) == live
        assert (memory.pages.folder / "topic-x.md").read_bytes() == text
        assert memory.pages.sync().adopted == ()


@settings(max_examples=at_most(25), deadline=None)
@given(steps=steps)
def test_a_fold_keeps_every_word_and_a_second_one_changes_nothing(tmp_path_factory, steps):
    clock = Clock()
    with Memory(tmp_path_factory.mktemp("memory"), clock=clock) as memory:
        memory.pages.append("topic-x", "Ana likes tea.", ["a"])
        for what, text, which in steps:
            act(memory, clock, what, text, which)
        before = memory.pages.read("topic-x", include_superseded=True).entries
        done = memory.pages.compact("topic-x")
        after = memory.pages.read("topic-x", include_superseded=True).entries

        assert done.losses == ()
        assert done.tokens_after <= done.tokens_before
        known = {each.id for each in after} | {name for each in after for name in each.supersedes}
        assert {each.id for each in before} <= known
        assert [each for each in after if each.is_retracted] == [each for each in before if each.is_retracted]
        again = memory.pages.compact("topic-x")
        assert (again.changes, again.diff) == ((), "")
