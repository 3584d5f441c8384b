"""Vectors through the one object people hold: whatever happened to them, recall answers as from new ones."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory, Refused
from tallystick.memory.recall.recall import RecallService, VectorMaker
from tallystick.projections.index.file import IndexFile
from tallystick.projections.vectors.file import is_swept
from tallystick.recall import vectors as meaning
from tallystick.recall.vectors import NoVectors, VectorSearch
from tallystick.stores.esdb.store import ChronoStore
from tests.conftest import at_most
from tests.memory.conftest import in_threads
from tests.projections.vectors.doubles import Fast, Slow, traces

QUESTIONS = ("green tea", "what about the loud cat", "red bicycle")  # each is answered with all that there is
USERS = ("me", "bob", "ana")
MANY = 1_000


def answers(m: Memory) -> list[object]:
    return [
        [(hit.text, round(hit.score, 5)) for hit in m.recall(question, user=user, k=MANY, floor=0.0)]
        for question in QUESTIONS
        for user in USERS
    ] + [round(m.recall(QUESTIONS[0], user=user).floor, 5) for user in USERS]


def from_nothing(root: Path, embedder: Slow | None = None) -> list[object]:
    """What is answered from the ledger alone."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "memory"
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns("state.db*", "vectors"))
        with Memory(copy, embedder=embedder or Fast(), notify=lambda _: None) as m:
            return answers(m)


def vectors_in(root: Path) -> dict[str, list[int]]:
    """How many vectors each embedder's folder holds, by file."""
    homes = [path for path in sorted((root / "vectors").iterdir()) if path.is_dir()]
    return {home.name: [path.stat().st_size // 64 for path in sorted(home.glob("*.f32"))] for home in homes}


def fill(m: Memory) -> None:
    for user in USERS:
        for text in ("Ana likes green tea", "Bob likes coffee", "the cat is loud", f"{user} has a red bicycle"):
            m.remember(text, user=user, key=text[:8])
    m.observe("we talked about tea and cats", session="s1")


@pytest.fixture
def root(home: Path) -> Path:
    return home / "memory"


# -- erasing -----------------------------------------------------------------------------------------------------------

SECRET = "zwiebel fischerei quark"


def with_a_secret(root: Path, *embedders: Slow) -> None:
    """Everyone says it, and every embedder has seen it."""
    for embedder in embedders:
        with Memory(root, embedder=embedder) as m:
            if embedder is embedders[0]:
                fill(m)
                for user in USERS:
                    m.remember(SECRET, key="secret", user=user)
            for user in USERS:
                m.embed(user=user)
                assert m.recall(SECRET, user=user)


def erase_the_secret(m: Memory) -> None:
    for user in USERS:
        m.erase("secret", user=user)


def test_erased_words_leave_no_vector_of_any_embedder_and_other_users_keep_theirs(root):
    embedders = Fast("one"), Slow("two"), Fast("three")
    with_a_secret(root, *embedders)
    with Memory(root, embedder=embedders[0]) as m:
        for left, user in ((2, "bob"), (1, "me"), (0, "ana")):
            m.erase("secret", user=user)
            for embedder in embedders:
                files = traces(root / "vectors", embedder.embed([SECRET]))
                assert len(files) == left, (user, files)
            assert m.recall(SECRET, user=user, floor=1.0) == []
    assert {name: len(files) for name, files in vectors_in(root).items()} == {
        embedder.identity.key: 3 for embedder in embedders
    }
    with Memory(root, embedder=embedders[2]) as m:
        assert answers(m) == from_nothing(root, embedders[2])


def test_when_the_one_who_erased_died_before_the_vectors_were_gone_whoever_recalls_next_removes_them(root, monkeypatch):
    embedders = Fast("one"), Slow("two")
    with_a_secret(root, *embedders)
    with monkeypatch.context() as patch, Memory(root, embedder=embedders[0]) as m:
        patch.setattr(RecallService, "sweep", lambda self: None)
        erase_the_secret(m)
    assert traces(root / "vectors", embedders[1].embed([SECRET]))
    with Memory(root, embedder=Fast("new")) as m:
        m.recall("anything", user="bob")
    for embedder in embedders:
        assert traces(root / "vectors", embedder.embed([SECRET])) == []


def test_an_erasure_through_the_other_door_is_followed_by_the_next_recall(home):
    embedder = Fast()
    root = home / ".chronomemory"
    with Memory(root, embedder=embedder) as m:
        said = m.remember(SECRET)
        m.remember("green tea")
        m.recall(SECRET)
    assert traces(root / "vectors", embedder.embed([SECRET]))
    with ChronoStore(home) as store:
        store.erase(said.id)
    with Memory(root, embedder=embedder) as m:
        assert [hit.text for hit in m.recall("tea")] == ["green tea"]
    assert traces(root / "vectors", embedder.embed([SECRET])) == []


def test_what_half_an_addition_left_behind_or_has_lost_its_small_file_is_erased_too_and_it_is_noted(root):
    """Vectors that no row names, and files that no small file names: nobody reads them, and they hold the words."""
    embedder, other = Fast(), Fast("other")
    with_a_secret(root, embedder, other)
    homes = {each.identity.key: root / "vectors" / each.identity.key for each in (embedder, other)}
    home, secret = homes[embedder.identity.key], embedder.embed([SECRET])[0].tobytes()
    for path in list(home.glob("*.f32")):
        with open(path, "ab") as file:
            file.write(secret)
        path.with_name(f"{path.name[:24]}-{os.urandom(8).hex()}.f32").write_bytes(secret)
    (home / f"{'0' * 24}-0.f32").write_bytes(secret)
    (home / "notes of a person").write_text("mine")
    lost = list(homes[other.identity.key].rglob("*.json"))
    for small in lost:
        small.unlink()
    assert lost
    with Memory(root, embedder=embedder) as m:
        erase_the_secret(m)
        assert is_swept(root / "vectors", 3)
        assert not is_swept(root / "vectors", 2)
    for each in (embedder, other):
        assert traces(root / "vectors", each.embed([SECRET])) == []
    assert (home / "notes of a person").exists()


def test_an_erasure_needs_no_room_on_the_disk(root, monkeypatch):
    embedder = Fast()
    with_a_secret(root, embedder)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "no space left")

    with Memory(root, embedder=embedder) as m:
        with monkeypatch.context() as patch:
            patch.setattr("tallystick.projections.vectors.file.open", full, raising=False)
            erase_the_secret(m)
            assert m.recall("green tea")
        assert traces(root / "vectors", embedder.embed([SECRET])) == []
    with Memory(root, embedder=embedder) as m:
        assert answers(m) == from_nothing(root)


def test_one_who_embeds_while_it_is_erased_does_not_bring_it_back(root):
    """The text is with the model when the erasure is done; the vectors come after."""
    with Memory(root, embedder=Slow()) as m:
        fill(m)
        m.embed()
        m.remember(SECRET, key="secret")
    erased = threading.Event()

    def erase() -> None:
        if not erased.is_set():
            erased.set()
            with Memory(root, embedder=Fast()) as other:
                other.erase("secret")

    slow = Slow(before=erase)
    with Memory(root, embedder=slow) as m:
        m.embed()
        assert any(SECRET in texts for texts in slow.asked)
        assert traces(root / "vectors", slow.embed([SECRET])) == []
        assert m.missing_vectors() == 0


def test_one_who_still_has_the_old_index_open_does_not_write_what_was_erased(root, monkeypatch):
    """It was erased between the moment at which a reader looked at the ledger and that at which it embeds."""
    with Memory(root, embedder=Fast("other")) as m:
        fill(m)
        m.remember(SECRET, key="secret")
    fast = Fast()
    real, erased = fast.embed, list[bool]()

    def embed(texts: list[str]) -> object:
        if not erased:
            erased.append(True)
            with Memory(root, embedder=Fast("other")) as other:
                other.erase("secret")
                assert traces(root / "vectors", real([SECRET])) == []
        return real(texts)

    monkeypatch.setattr(fast, "embed", embed)
    with Memory(root, embedder=fast) as m:
        assert m.recall("green tea")
        assert erased
        assert traces(root / "vectors", real([SECRET])) == []
        assert answers(m) == from_nothing(root)


def test_one_whose_index_is_temporary_does_not_write_what_was_erased(root):
    slow = Slow()
    with Memory(root, embedder=None) as m:
        fill(m)
        m.remember(SECRET, key="secret")
        m.recall("tea")
    search = VectorSearch(slow, None, root / "vectors")
    with closing(IndexFile("")) as index:
        assert index.copy_of(root / "state.db")
        batch = search.missing(index, "me", 0)
        with Memory(root, embedder=Fast()) as m:
            m.recall("tea")
            m.erase("secret")
        search.add_vectors(index, "me", 0, batch, search.vectors_of(batch))
        assert search.missing(index, "me", 0) is None  # it goes on in memory
    assert traces(root / "vectors", slow.embed([SECRET])) == []


# -- another embedder --------------------------------------------------------------------------------------------------


def test_vectors_of_another_embedder_are_never_looked_at(root):
    one, two, wide = Fast("one"), Fast("two"), Fast("one", 24)
    expected = dict[str, list[object]]()
    with Memory(root, embedder=one) as m:
        fill(m)
    for embedder in (one, two, wide, one, two, wide):
        with Memory(root, embedder=embedder) as m:
            m.remember(f"one more thing for {len(embedder.asked)}", key="more")
            expected[embedder.identity.key] = answers(m)
            assert expected[embedder.identity.key] == from_nothing(root, embedder)
    assert len(expected) == 3
    assert len({repr(each) for each in expected.values()}) > 1
    assert len(vectors_in(root)) == 3


def test_a_rebuilt_index_leaves_the_vectors_of_an_embedder_that_rests(root):
    one, two = Fast("one"), Fast("two")
    with Memory(root, embedder=one) as m:
        fill(m)
        answers(m)
    with Memory(root, embedder=two) as m:
        m.rebuild_index()
        answers(m)
    before = sum(map(len, one.asked))
    with Memory(root, embedder=one) as m:
        answers(m)
    texts = [text for texts in one.asked for text in texts][before:]
    assert [text for text in texts if "likes" in text and len(text.split()) > 3] == []


# -- whatever happens to the files -------------------------------------------------------------------------------------

BREAK: dict[str, Callable[[Path], object]] = {
    "no index": lambda root: [path.unlink() for path in root.glob("state.db*")],
    "no vectors": lambda root: shutil.rmtree(root / "vectors"),
    "empty vectors": lambda root: [p.write_bytes(b"") for p in (root / "vectors").rglob("*.f32")],
    "no rows": lambda root: [p.unlink() for p in (root / "vectors").rglob("*.rows")],
    "cut": lambda root: [os.truncate(p, 70) for p in (root / "vectors").rglob("*.f32")],
    "garbage": lambda root: [p.write_bytes(os.urandom(200)) for p in (root / "vectors").rglob("*") if p.is_file()],
    "no small files": lambda root: [p.unlink() for p in (root / "vectors").rglob("*.json")],
    "a file for a folder": lambda root: (shutil.rmtree(root / "vectors"), (root / "vectors").write_text("x")),
}


@pytest.mark.parametrize("how", BREAK)
@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
@pytest.mark.sample(6)
def test_the_same_is_answered_after_anything_is_lost(root, how, is_open):
    told: list[str] = []
    m = Memory(root, embedder=Fast(), notify=told.append)
    fill(m)
    before = answers(m)
    if not is_open:
        m.close()
    BREAK[how](root)
    with m if is_open else Memory(root, embedder=Fast(), notify=told.append) as m:
        assert answers(m) == before
        m.remember("green tea again")
        assert answers(m) == from_nothing(root)
    assert is_open or [each for each in told if "index" not in each] == []


def test_a_restored_copy_does_not_show_what_was_left_behind_nor_misses_what_came_instead(root):
    embedder = Fast()
    with Memory(root, embedder=embedder) as m:
        m.remember("green tea", key="a")
        copy = m.backup()
        m.remember("loud cat of the past", key="b")
        m.remember("red bicycle", key="c")
        assert m.recall("cat")
    with Memory.restore(copy, root) as m:
        pass
    assert vectors_in(root) == {embedder.identity.key: [1]}
    with Memory(root, embedder=embedder) as m:
        m.remember("quiet dog", key="b")
        m.remember("red bicycle", key="c")  # as many blocks as before, and the last is the same
        assert [hit.text for hit in m.recall("cat past", k=MANY, floor=0.0) if "past" in hit.text] == []
        assert answers(m) == from_nothing(root)
    assert vectors_in(root) == {embedder.identity.key: [3]}


def test_after_a_prune_the_same_is_answered_as_from_nothing(root, tmp_path):
    with Memory(root, embedder=Fast()) as m:
        fill(m)
        answers(m)
        m.ledger.compact()
        m.remember("green tea later")
        m.ledger.compact()
        m.ledger.prune(tmp_path / "elsewhere")
        m.rebuild_index()
        assert answers(m) == from_nothing(root)
    with Memory(root, embedder=Fast()) as m:
        assert answers(m) == from_nothing(root)


def test_a_folder_that_may_only_be_read_is_answered_from_memory(root):
    with Memory(root, embedder=Fast()) as m:
        fill(m)
        before = answers(m)
    files = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with Memory(root, embedder=Fast(), read_only=True) as m:
        assert answers(m) == before
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == files


WORDS = ("tea", "green", "coffee", "cat", "loud", "red", "bicycle", "likes", "who")
SAID = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("remember"), st.sampled_from(USERS), st.sampled_from("kl"), SAID),
        st.tuples(st.just("observe"), st.sampled_from(USERS), st.sampled_from(["", "s"]), SAID),
        st.tuples(st.sampled_from(["forget", "erase"]), st.sampled_from(USERS), st.sampled_from("kl")),
        st.tuples(st.just("revise"), st.sampled_from(USERS), st.sampled_from("kl"), SAID),
        st.tuples(st.sampled_from(["recall", "reopen", "rebuild", "lose the index", "lose the vectors", "other"])),
    ),
    max_size=14,
)  # fmt: skip


@settings(max_examples=at_most(25))
@given(steps=STEPS, batch=st.integers(1, 4))
def test_a_story_of_several_users_ends_in_the_answers_that_its_ledger_gives(steps, batch):
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(meaning, "BATCH", batch)
        root = Path(place) / "memory"
        m = Memory(root, embedder=Fast())
        try:
            for what, *how in steps:
                m = step(m, root, what, *how)
            last = answers(m)
        finally:
            m.close()
        patch.undo()
        assert last == from_nothing(root)


def step(m: Memory, root: Path, what: str, *how: str) -> Memory:
    if what == "remember":
        m.remember(how[2], user=how[0], key=how[1])
    elif what == "observe":
        m.observe(how[2], user=how[0], session=how[1])
    elif what in ("forget", "erase", "revise"):
        if m.get(how[1], user=how[0]) is not None:
            arguments = (how[1], how[2]) if what == "revise" else (how[1],)
            with suppress(Refused):  # what is forgotten is not revised
                getattr(m, what)(*arguments, user=how[0])
    elif what == "recall":
        m.recall("green tea", user="bob")
        m.recall("cat")
    elif what == "rebuild":
        m.rebuild_index()
    elif what == "lose the vectors":
        shutil.rmtree(root / "vectors", ignore_errors=True)
    else:
        m.close()
        if what == "lose the index":
            (root / "state.db").unlink(missing_ok=True)
        if what == "other":
            with Memory(root, embedder=Fast("other")) as other:
                other.recall("tea")
        m = Memory(root, embedder=Fast(), notify=lambda _: None)
    return m


# -- a slow embedder ---------------------------------------------------------------------------------------------------


@pytest.fixture
def waits() -> Iterator[threading.Event]:
    """An embedder that waits until it is told to go on. Whatever happens, it is told."""
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("work", ["embed", "recall"])
def test_no_write_waits_for_a_slow_embedder(root, waits, work):
    reached, told = threading.Event(), list[bool]()
    slow = Slow(before=lambda: (reached.set(), told.append(waits.wait(120))))

    def write() -> None:
        try:
            assert reached.wait(120)
            m.remember("written meanwhile", key="w")
            with Memory(root, embedder=Fast()) as other:
                other.remember("by another", key="o")
            assert told == []  # it waits still
        finally:
            waits.set()

    with Memory(root, embedder=slow) as m:
        fill(m)
        in_threads(m.embed if work == "embed" else partial(m.recall, "green tea"), write)
        m.embed()
        assert m.missing_vectors() == 0


def fails(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    "error", [Refused("the server is away"), RuntimeError("no device"), ValueError("odd"), ConnectionError("gone")]
)
def test_a_failing_embedder_leaves_recall_by_words_and_says_so_and_the_index_alone(root, error):
    told: list[str] = []
    slow = Slow(before=fails(error))
    with Memory(root, embedder=slow, notify=told.append) as m:
        fill(m)
        inode = (root / "state.db").stat().st_ino
        assert [hit.text for hit in m.recall("green tea", receipt=True)][:1] == ["Ana likes green tea"]
        assert told == [f"{error}; recalled by words only"]
        assert len(slow.asked) == 1, "it was asked again while others had to wait"
        with pytest.raises(NoVectors, match=str(error)):
            m.embed()
        slow._before = None
        m.recall("green tea")
        assert len(told) == 1
        assert (root / "state.db").stat().st_ino == inode


@pytest.mark.parametrize("what", ["double", "nan", "short", "wide"])
def test_an_embedder_that_does_not_keep_its_promise_spoils_nothing(root, what):
    slow, told = Slow(), list[str]()
    real = slow.embed
    made: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "double": lambda rows: rows.astype(np.float64),
        "nan": lambda rows: rows * np.nan,
        "short": lambda rows: rows[1:],
        "wide": lambda rows: np.concatenate([rows, rows], axis=1),
    }
    slow.embed = lambda texts: made[what](real(texts))  # type: ignore[method-assign]
    with Memory(root, embedder=slow, notify=told.append) as m:
        fill(m)
        assert m.recall("green tea")
        assert bool(told) == (what != "double")
        slow.embed = real  # type: ignore[method-assign]
        m.embed()
        after = answers(m)
    with Memory(root, embedder=Slow()) as m:
        assert answers(m) == after


def test_a_recall_embeds_a_few_and_embed_does_the_rest_and_shows_how_far_it_is(root, monkeypatch):
    monkeypatch.setattr(VectorMaker, "start", lambda *_: None)  # as if it had not begun yet
    slow, ticks = Slow(), list[int]()
    with Memory(root, embedder=slow) as m:
        with m.batch():
            for number in range(600):
                m.remember(f"tea number{number}")
        m.recall("which tea is number7")
        assert sum(map(len, slow.asked)) == 1 + 16
        assert m.missing_vectors() == 600 - 16
        assert m.embed(on_progress=ticks.append) == 600 - 16 == sum(ticks)
        assert len(ticks) > 2
        assert m.embed() == m.missing_vectors() == 0
        texts = [text for texts in slow.asked for text in texts]
        assert len(texts) == len(set(texts)) == 601


def test_embedding_that_was_stopped_goes_on_where_it_was(root):
    slow = Slow()
    with Memory(root, embedder=slow) as m:
        with m.batch():
            for number in range(700):
                m.remember(f"tea number{number}")
        slow._before = lambda: fails(RuntimeError("stop"))() if len(slow.asked) == 3 else None
        with pytest.raises(NoVectors):
            m.embed()
    again = Slow()
    with Memory(root, embedder=again) as m:
        assert m.embed() == 700 - 2 * 256
    assert sum(map(len, again.asked)) == 700 - 2 * 256


def test_threads_with_a_memory_each_recall_write_and_erase_at_once(root):
    def work(name: str) -> None:
        with Memory(root, embedder=Fast()) as m:
            for number in range(12):
                said = m.remember(f"green tea {name} number{number}")
                m.recall("green tea", k=3)
                if number % 4 == 3:
                    m.erase(said.id)

    in_threads(*(partial(work, name) for name in ("one", "two", "three")))
    with Memory(root, embedder=Fast()) as m:
        assert answers(m) == from_nothing(root)
        assert len(m.recall("green tea", k=MANY, floor=0.0)) == 27
    assert sum(vectors_in(root)[Fast().identity.key]) == 27


def test_a_text_that_comes_while_the_index_is_compared_gets_one_vector(root):
    """It is among those that were compared, and among those that came since."""
    with Memory(root, embedder=None) as m, closing(IndexFile(m.folder / "state.db")) as index:
        m.remember("green tea")
        m.recall("tea")
        search, others = VectorSearch(Slow(), None, root / "vectors"), ["loud cat"]

        def write(statement: str) -> None:
            if statement.startswith("SELECT block_id FROM index_lives") and others:
                m.remember(others.pop())

        index.db.set_trace_callback(write)
        search.missing_vectors(index, "me", 0)
        index.db.set_trace_callback(None)
        assert others == []
        assert search.missing_vectors(index, "me", 0) == 2
        while batch := search.missing(index, "me", 0):
            search.add_vectors(index, "me", 0, batch, search.vectors_of(batch))
        assert search.progress("me") == (2, 2)
    assert vectors_in(root)[Slow().identity.key] == [2]
