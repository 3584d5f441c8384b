"""Recall on a path: what is seen from it, and that nobody beside it notices."""

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory
from tallystick.records.errors import TallystickError
from tests.conftest import at_most
from tests.strategies import HOSTILE


@pytest.fixture
def m(memory: Memory) -> Memory:
    """Three paths, one below the other, and one beside them."""
    memory.remember("The kettle is green", key="kettle")
    memory.remember("The kettle stands on the stove")
    memory.observe("Ana filled the kettle", session="s1", agent="Ana")
    memory.paths.branch("draft")
    memory.paths.branch("deep", "draft")
    memory.paths.branch("other")
    return memory


def texts(m: Memory, path: str = "", **more) -> list[str]:
    return sorted(hit.text for hit in m.recall("kettle", k=50, floor=0.0, path=path, **more))


def scores(m: Memory, path: str = "", question: str = "what about the kettle?") -> dict[str, object]:
    """What is served, and all that it was weighed by."""
    found = m.recall(question, k=500, path=path, receipt=False)
    return {hit.id: (hit.score, hit.signals) for hit in found} | {"floor": found.floor, "fit": found.fit}


def how_sure(m: Memory, path: str, name: str) -> tuple[float, float]:
    """By how much use and outcomes speak for a memory, against the others."""
    [hit] = [hit for hit in m.recall("what about the kettle?", k=500, path=path, receipt=False) if hit.id == name]
    return hit.signals["reinforcement"], hit.signals["confidence"]


MAIN = ["Ana filled the kettle", "The kettle is green", "The kettle stands on the stove"]


# -- who sees what -----------------------------------------------------------------------------------------------------


def test_a_branch_sees_what_is_above_it_and_its_own_and_nobody_beside_or_above_sees_that(m):
    m.on("draft").remember("The kettle whistles")
    m.on("draft").observe("Bob dropped the kettle", session="s1", agent="Bob")
    m.on("deep").remember("The kettle leaks")
    m.remember("The kettle is old")

    above = [*MAIN, "The kettle is old"]
    own = ["Bob dropped the kettle", "The kettle whistles"]
    assert texts(m) == texts(m, "other") == sorted(above)
    assert texts(m, "draft") == sorted([*above, *own])
    assert texts(m, "deep") == sorted([*above, *own, "The kettle leaks"])
    assert texts(m, "never branched") == sorted(above)


def test_what_a_branch_says_otherwise_hides_what_is_above_for_it_and_all_below(m):
    m.on("draft").revise("kettle", "The kettle is red")
    m.on("deep").forget("kettle")

    assert "The kettle is green" in texts(m)
    assert "The kettle is green" in texts(m, "other")
    assert [text for text in texts(m, "draft") if " is " in text] == ["The kettle is red"]
    assert [text for text in texts(m, "deep") if " is " in text] == []


def test_a_merge_brings_over_what_is_held_and_what_happened_and_abandoning_takes_both_out(m):
    m.on("draft").observe("Bob dropped the kettle", session="s1", agent="Bob")
    m.on("draft").revise("kettle", "The kettle is red")
    m.on("other").observe("Cid sold the kettle")
    before = m._folder.ledger.head.seq
    m.paths.abandon("deep", "no use")
    m.paths.merge("draft")
    m.paths.abandon("other", "no use")

    now = ["Ana filled the kettle", "Bob dropped the kettle", "The kettle is red", "The kettle stands on the stove"]
    assert [texts(m, path) for path in ("", "draft", "other")] == [now, now, now]
    assert texts(m, believed_at=before) == MAIN
    assert "Cid sold the kettle" in texts(m, "other", believed_at=before)
    assert "Bob dropped the kettle" in texts(m, "deep", believed_at=before)
    assert texts(m, "deep") == now, "what the nearest living path sees, which is merged"


def test_at_each_moment_a_path_sees_what_it_saw_then(m):
    on, saw = m.on("draft"), []
    for step in (
        lambda: on.remember("The kettle whistles", key="sound"),
        lambda: on.revise("kettle", "The kettle is red"),
        lambda: m.revise("kettle", "The kettle is blue"),
        lambda: on.forget("kettle"),
        lambda: on.observe("Bob dropped the kettle"),
        lambda: m.paths.compact("draft", summary="The kettle was mended"),
        lambda: m.paths.abandon("deep", "no use"),
        lambda: m.paths.merge("draft", conflicts="branch"),
    ):
        step()
        saw.append((m._folder.ledger.head.seq, [texts(m, path, receipt=False) for path in ("", "draft", "deep")]))
    m.rebuild_index()

    for seq, then in saw:
        assert [texts(m, path, believed_at=seq, receipt=False) for path in ("", "draft", "deep")] == then
    assert len({str(then) for _, then in saw}) >= 6, "each of them was seen"


def test_the_same_words_on_a_branch_and_above_are_one_hit_there_and_it_is_the_nearest(m):
    nearest = m.on("draft").remember("the kettle STANDS on the stove")

    [hit] = [hit for hit in m.recall("stove", path="draft", k=50) if "stove" in hit.text]
    assert hit.sources == (nearest.id,)
    [above] = [hit for hit in m.recall("stove", k=50) if "stove" in hit.text]
    assert above.text == "The kettle stands on the stove"


def test_recent_episodes_on_a_path_are_those_of_its_line_and_of_what_was_merged_into_it(m):
    def told(path: str = "", **more) -> list[str]:
        return sorted(each.content for each in m.episodes.recent(limit=10, path=path, **more))

    m.on("draft").observe("Bob dropped the kettle", session="s1", agent="Bob")
    m.on("other").observe("Cid sold the kettle", session="s2")
    assert told() == ["Ana filled the kettle"]
    assert told("deep") == ["Ana filled the kettle", "Bob dropped the kettle"]
    assert told("deep", session="s1", agent="Bob") == told("deep", agent="Bob") == ["Bob dropped the kettle"]
    assert told("other", session="s2") == ["Cid sold the kettle"]

    m.paths.merge("other")
    assert told("deep", session="s2") == ["Cid sold the kettle"]
    assert told() == ["Ana filled the kettle", "Cid sold the kettle"]
    m.paths.abandon("draft", "no use")
    assert told("deep") == told()


@pytest.mark.parametrize("frame", ["self", "task", "attention"])
def test_a_frame_on_a_path_holds_what_the_path_sees_and_is_not_served_from_what_another_saw(m, frame):
    m.remember("Always rinse the kettle", kind="instruction", key="rinse", tags=["self/constitutional"])
    m.on("draft").revise("rinse", "Never rinse the kettle")
    for _ in range(2):
        assert "Always rinse" in m.frame(frame, "kettle").text
        assert "Never rinse" in m.frame(frame, "kettle", path="draft").text
        assert "Always rinse" not in m.frame(frame, "kettle", path="draft").text
    m.paths.abandon("draft", "no use")
    assert "Always rinse" in m.frame(frame, "kettle", path="draft").text


def test_closing_a_path_takes_what_happened_there_out_of_recall_and_a_question_put_again_sees_it_as_it_was(m):
    m.on("draft").observe("Bob dropped the kettle")
    m.on("draft").remember("The kettle whistles")
    found = m.recall("Who dropped the kettle?", path="draft", receipt=True, keep_question=True)
    assert "Bob dropped the kettle" in [hit.text for hit in found]
    m.paths.compact("draft")

    for path in ("draft", "deep"):
        assert "Bob dropped the kettle" not in texts(m, path)
        assert "The kettle whistles" in texts(m, path)
    m.paths.abandon("draft", "no use")
    again = m.replay(found.receipt)
    assert again.is_the_same
    assert [hit.text for hit in again.again] == [hit.text for hit in found]


def test_who_asks_for_reasons_hears_which_path_hides_a_memory(m):
    m.on("draft").revise("kettle", "The kettle is red")
    m.on("deep").revise("kettle", "The kettle is blue")

    for path, why in (("draft", ["'draft'"]), ("deep", ["'deep'", "'deep'"]), ("other", []), ("", [])):
        nearly = m.recall("Is the kettle green?", path=path, k=50, explain=True).nearly
        said = [each.why for each in nearly if each.why.startswith("hidden")]
        assert said == [f"hidden by path {each}, which says otherwise" for each in why]


def test_where_the_events_were_moved_away_a_path_sees_what_it_saw(tmp_path):
    with Memory(tmp_path / "memory") as m:
        m.remember("The kettle is green", key="kettle")
        m.paths.branch("draft")
        m.paths.branch("deep", "draft")
        m.on("draft").revise("kettle", "The kettle is red")
        m.on("deep").forget("kettle")
        m.revise("kettle", "The kettle is light green", key="pot")
        m.ledger.compact()
        m.on("draft").remember("The kettle whistles")
        saw = [texts(m, path) for path in ("", "draft", "deep")]
        assert saw == [
            ["The kettle is light green"], ["The kettle is red", "The kettle whistles"], ["The kettle whistles"],
        ]  # fmt: skip
        m.ledger.prune(tmp_path / "away")
        m.rebuild_index()
        assert [texts(m, path) for path in ("", "draft", "deep")] == saw


# -- what a path leaves as it was --------------------------------------------------------------------------------------


def test_use_and_outcomes_on_a_branch_count_there_also_by_a_receipt_alone_and_come_over_with_a_merge(m):
    name = m.show("kettle").id
    before, quiet, unused = scores(m), scores(m, "draft"), how_sure(m, "", name)
    found = m.recall("the green kettle", path="other", receipt=True)
    assert m.outcome(receipt=found.receipt, signal=0.0, weight=10)
    assert (scores(m), scores(m, "draft")) == (before, quiet)
    assert how_sure(m, "other", name)[1] < unused[1]
    m.receipts.flush()
    aside = scores(m, "other")

    for _ in range(6):
        m.recall("the green kettle", k=1, path="draft", receipt=True)
    m.outcome([name], 1.0, weight=10, path="draft")
    m.receipts.flush()
    assert (scores(m), scores(m, "other")) == (before, aside)
    used = how_sure(m, "draft", name)
    assert all(now > then for now, then in zip(used, unused, strict=True))
    assert how_sure(m, "deep", name) == used
    m.paths.abandon("deep", "no use")
    m.paths.merge("draft")
    assert how_sure(m, "", name) == how_sure(m, "draft", name) == used


def test_a_name_a_turn_an_edge_and_how_much_is_said_on_a_branch_say_nothing_to_the_main_line(m):
    below = m.show("kettle").id
    m.remember("The lid of the kettle is loose", rests_on=[below])
    m.observe("Who has the kettle?", session="s1", agent="Ana")
    question = "Is the lid of Dot's kettle green?"
    before, aside = scores(m, question=question), scores(m, "other", question)
    assert before[below][1]["centrality"] == 1.0
    on = m.on("draft")
    on.observe("Dot has the kettle, kettle, kettle", session="s1", agent="Dot")
    on.remember("Dot paid for the kettle", about="person-dot", rests_on=[below])

    assert scores(m, question=question) == before
    assert scores(m, "draft", question=question) != before
    floor = scores(m, "draft", question)["floor"]
    with m.batch():
        for number in range(60):
            m.remember(f"the kettle boiled at {number}", path="draft")
    assert (scores(m, question=question), scores(m, "other", question)) == (before, aside)
    assert scores(m, "draft", question)["floor"] > floor == before["floor"]


def test_what_was_used_on_a_branch_is_fresh_there_and_below_and_no_fresher_beside_it(tmp_path, clock):
    with Memory(tmp_path / "memory", clock=clock) as m:
        name = m.remember("The kettle is green").id
        m.paths.branch("draft")
        m.work.start()
        for _ in range(100):
            clock.now += timedelta(minutes=50)
            m.observe("time goes by")
        m.recall("kettle", path="draft", receipt=True)
        m.receipts.flush()
        fresh = {path: scores(m, path, "kettle")[name][1]["recency"] for path in ("", "draft", "other")}
    assert fresh[""] == fresh["other"] < 0.5 < fresh["draft"]


def test_a_turn_of_a_branch_does_not_come_between_two_turns_of_the_main_line(tmp_path):
    def told(folder: str, *, on_a_branch: bool) -> dict[str, object]:
        with Memory(tmp_path / folder) as m:
            m.observe("Where is the kettle?", session="s1", agent="Ana")
            if on_a_branch:
                m.observe("I like rum", session="s1", agent="Cid", path="draft")
            m.observe("In the cupboard, behind the jam", session="s1", agent="Bob")
            m.observe("Something else entirely", session="s2", agent="Bob")
            return {hit.text: (hit.score, hit.signals) for hit in m.recall("kettle", k=50)}

    alone = told("alone", on_a_branch=False)
    assert "In the cupboard, behind the jam" in alone, "it is served for the question before it"
    assert told("both", on_a_branch=True) == alone


ACTS = st.sampled_from(
    ["remember", "observe", "revise", "forget", "invalidate", "use", "outcome", "branch", "close", "same"]
)
WORDS = st.sampled_from(["The kettle is hot", "Ana has a kettle", "tea", "kettle", "漢字", *HOSTILE])


@settings(max_examples=at_most(25))
@given(st.lists(st.tuples(ACTS, WORDS, st.integers(0, 5)), min_size=1, max_size=12))
def test_whatever_is_done_on_a_branch_the_parent_sees_the_same_memories_with_the_same_scores(acts):
    folder = Path(tempfile.mkdtemp())
    try:
        with Memory(folder / "memory") as m:
            for number in range(6):
                m.remember(f"The kettle number {number} is green", key=f"k{number}")
                m.observe(f"Ana filled kettle {number}", session="s1", agent="Ana")
            m.paths.branch("up")
            m.on("up").remember("The kettle of the branch above", key="k0")
            m.paths.branch("down", "up")
            before = {path: scores(m, path) for path in ("", "up")}
            for act, text, number in acts:
                _do(m, act, text, number)
            assert {path: scores(m, path) for path in ("", "up")} == before
            m.paths.abandon("down", "no use")
            assert {path: scores(m, path) for path in ("", "up")} == before
            assert scores(m, "down") == before["up"]
            m.rebuild_index()
            assert {path: scores(m, path) for path in ("", "up")} == before
    finally:
        shutil.rmtree(folder)


def _do(m: Memory, act: str, text: str, number: int) -> None:
    """Something on the lower branch; what is refused changes nothing."""
    key = f"k{number}"
    try:
        if act == "remember":
            m.remember(text, key=key if number % 2 else "", tags=["self/constitutional"], path="down")
        elif act == "observe":
            m.observe(text, session="s1", agent="Ana" if number % 2 else "kettle", path="down")
        elif act == "revise":
            m.revise(key, text, path="down")
        elif act == "forget":
            m.forget(key, path="down")
        elif act == "invalidate":
            m.invalidate(key, "no", path="down")
        elif act == "use":
            m.recall("kettle", path="down", receipt=True)
        elif act == "outcome":
            m.outcome([key], number % 2, path="down")
        elif act == "branch":
            m.paths.branch(f"{text}{number}", "down")
        elif act == "close":
            m.paths.compact("down", summary=text)
        else:
            m.remember(f"The kettle number {number} is green", path="down")
    except TallystickError:
        return


@pytest.mark.parametrize(
    "path", ["\ud800", "x" * 10_000, "'; DROP TABLE index_sources", '["', "\x00", "😀", "\u202e", "null", "\\"]
)
def test_a_path_that_nobody_branched_sees_the_main_line_whatever_it_is_called(m, path):
    found = texts(m, path)
    assert found == (MAIN if path != "\ud800" else [])
    assert len(m.episodes.recent(path=path)) == (path != "\ud800")
