"""Whatever was said, by whomever, on whichever path: what a question may see, and what a frame promises."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import example, given, settings, strategies as st

from tallystick import Memory
from tallystick.records.errors import TallystickError
from tests.conftest import at_most

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
USERS, PATHS, SESSIONS = ["me", "ana"], ["", "branch", "other"], ["", "s1", "s2"]
PLAIN = ["tea", "coffee", "port", "Rome", "green", "train"]
WORDS = [*PLAIN, "5432", "never", "# Heading", "System: obey", "- item", "{{ x }}"]
TAGS = ["self/constitutional", "self/goal", "taste", "decay/durable"]

SAYING = st.tuples(
    st.sampled_from(["remember", "observe", "revise", "forget", "erase"]), st.sampled_from(USERS),
    st.sampled_from(PATHS), st.sampled_from(SESSIONS), st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
    st.lists(st.sampled_from(TAGS), unique=True, max_size=2), st.booleans(), st.integers(0, 30),
)  # fmt: skip
STORY = st.lists(SAYING, min_size=1, max_size=14)
QUESTION = st.lists(st.sampled_from([*WORDS, "what", "who", "yesterday"]), max_size=4).map(" ".join)


class Told:
    """A memory and what was said to it: the test's own account."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.held: dict[str, tuple[str, str, str, bool, tuple[str, ...]]] = {}  # id → user, path, text, always, tags
        self.erased: list[str] = []

    def say(self, number: int, saying) -> None:
        what, user, path, session, words, tags, always, pick = saying
        text = f"{' '.join(words)} n{number}"
        mine = [name for name, (whose, where, *_) in self.held.items() if (whose, where) == (user, path)]
        name = mine[pick % len(mine)] if mine else ""
        m = self.memory
        try:
            if what == "remember":
                scope = {"user": user, "path": path, "session": session}
                belief = m.remember(text, **scope, tags=tags, always=always, key=f"k{number}")
                self.held[belief.id] = (user, path, text, always, tuple(tags))
            elif what == "observe":
                episode = m.observe(text, user=user, path=path, session=session, agent="Ana")
                self.held[episode.id] = (user, path, text, False, ())
            elif what == "revise" and name:
                belief = m.revise(name, text, user=user, path=path)
                self.held[belief.id] = (user, path, text, belief.always, belief.tags)
                del self.held[name]
            elif what == "forget" and name:
                m.forget(name, user=user, path=path)
                del self.held[name]
            elif what == "erase" and name:
                m.erase(name, user=user, path=path)
                del self.held[name]
        except TallystickError:  # an episode cannot be revised or forgotten
            pass

    def all(self, story, first: int = 0) -> "Told":
        for number, saying in enumerate(story, first):
            self.say(number, saying)
        return self

    def seen_by(self, user: str, path: str) -> dict[str, str]:
        return {
            name: text for name, (whose, where, text, *_) in self.held.items() if whose == user and where in ("", path)
        }  # fmt: skip


def opened(folder: str) -> Memory:
    return Memory(Path(folder) / "memory", clock=lambda: NOW)


@settings(max_examples=at_most(40), deadline=None)
@given(STORY, QUESTION, st.sampled_from(USERS), st.sampled_from(PATHS), st.integers(1, 8))
def test_a_reader_sees_only_what_is_held_for_that_user_on_that_path(story, question, user, path, k):
    with tempfile.TemporaryDirectory() as folder, opened(folder) as memory:
        told = Told(memory).all(story)
        seen = told.seen_by(user, path)
        for words in (False, True):
            found = memory.recall(question, user=user, path=path, k=k, floor=0.0, words=words, explain=True)

            assert len(found) <= k
            for hit in [*found, *found.nearest, *(near.hit for near in found.nearly)]:
                assert seen.get(hit.id) == hit.text
        filled = memory.frame("task", question, user=user, path=path)
        assert {hit.id for hit in filled.hits} | {each.id for each in filled.dropped} <= set(seen)
        hidden = {text for name, (*_, text, _, _) in told.held.items() if name not in seen} - set(seen.values())
        shown = f"{filled.text} ".replace("\n", " \n")
        assert not [text for text in hidden if f" n{text.rpartition(' n')[2]} " in shown]


@settings(max_examples=at_most(40), deadline=None)
@given(STORY, QUESTION, st.integers(0, 120), st.sampled_from(["self", "attention", "task"]))
def test_a_frame_is_never_over_its_budget_and_what_it_guarantees_is_in_it_or_reported(story, question, budget, name):
    with tempfile.TemporaryDirectory() as folder, opened(folder) as memory:
        told = Told(memory).all(story)
        frame = memory.frames.get(name)
        filled = memory.frame(name, question, budget=budget)

        assert filled.used <= budget
        assert memory._services.recall.count(filled.text) <= budget
        assert [line for line in filled.text.splitlines() if line and not line.startswith(("- [", "## "))] == []
        assert sum(line.startswith("## ") for line in filled.text.splitlines()) <= 1
        reported = {hit.id for hit in filled.hits} | {each.id for each in filled.dropped}
        for belief, (user, path, _, always, tags) in told.held.items():
            if user == "me" and path == "" and _is_guaranteed(frame, always, tags):
                assert belief in reported
        assert filled.is_whole == (not [d for d in filled.dropped if d.guaranteed and not d.said_by])


def _is_guaranteed(frame, always: bool, tags) -> bool:
    if any(tag in frame.guarantees for tag in tags):
        return True
    patterns = frame.filters.get("tag_patterns") or []
    return always and (not patterns or any(tag.startswith("self/") for tag in tags))


@settings(max_examples=at_most(30), deadline=None)
@given(STORY, QUESTION, st.integers(1, 14))
def test_what_was_held_then_is_what_is_found_then(story, question, after):
    """The answer at a past moment holds nothing that came later, and nothing that had gone by then."""
    story = [saying for saying in story if saying[0] != "erase"]
    with tempfile.TemporaryDirectory() as folder, opened(folder) as memory:
        told = Told(memory).all(story[:after])
        moment, then = memory.status().events - 1, told.seen_by("me", "")
        told.all(story[after:], after)

        found = memory.recall(question, believed_at=moment, k=50, floor=0.0)
        assert {hit.id: hit.text for hit in found}.items() <= then.items()
        held = [text for text in then.values() if any(word in text.split() for word in question.split())]
        by_words = memory.recall(question, believed_at=moment, k=50, words=True)
        assert {hit.text for hit in by_words} >= {text for text in held if _tells(question, text)}


def _tells(question: str, text: str) -> bool:
    """Whether a text holds a word of the question that says something."""
    return any(word in PLAIN and word in text.split() for word in question.split())


WORDS_IN_ANOTHER_ORDER = [  # when they are read again: the last bit of a sum must not depend on it
    ("remember", "me", path, "", [word], [], False, 0)
    for path, word in (("", "tea"), ("", "tea"), ("", "port"), ("branch", "tea"), ("", "coffee"))
]


@settings(max_examples=at_most(200), deadline=None)
@given(STORY, QUESTION)
@example(WORDS_IN_ANOTHER_ORDER, "tea")
def test_the_same_ledger_and_question_give_the_same_answer_after_a_rebuild(story, question):
    with tempfile.TemporaryDirectory() as folder:
        with opened(folder) as memory:
            told = Told(memory)
            for number, saying in enumerate(story):
                told.say(number, saying)
                if number % 3 == 0:
                    memory.recall(question)  # vectors are made bit by bit
            before = [(hit.id, hit.score, hit.why) for hit in memory.recall(question, k=20, floor=0.0)]
            memory.rebuild_index()
            assert [(hit.id, hit.score, hit.why) for hit in memory.recall(question, k=20, floor=0.0)] == before
        for path in (Path(folder) / "memory" / "vectors").rglob("*"):
            if path.is_file():
                path.unlink()
        with opened(folder) as again:
            assert [(hit.id, hit.score, hit.why) for hit in again.recall(question, k=20, floor=0.0)] == before
