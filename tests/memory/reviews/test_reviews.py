"""Writes through the gate, and a person's answers, on real folders."""

import subprocess
import sys

import pytest

from tallystick import ChronoStore, Memory, Moved, NeedsApproval, NotApproved, NotFound, Refused
from tallystick.ledger.folder.ledger import FolderLedger
from tests.memory.conftest import cut_short, files_with, review_of
from tests.refusals import needs_approval, not_approved, refuses


def test_an_action_that_needs_review_changes_nothing_whatever_a_program_answers_nor_after_a_no(memory, agent):
    belief = memory.remember("Ana prefers tea", key="tea")
    before, events = memory.beliefs.all(), memory.status().events

    for _ in range(2):
        with pytest.raises(NeedsApproval, match=f"forget {belief.id[-6:]}"):
            agent.forget("tea")
    assert memory.status().events == events + 1
    [review] = memory.reviews
    assert (review.action.by, review.action.trust, review.why != "") == ("agent:test", "agent", True)
    for answer in (agent.reviews.approve, agent.reviews.reject):
        with not_approved("approver", "agent"):
            answer(review.id)
    assert memory.status().events == events + 2, "the attempt, once"
    assert [each.id for each in agent.reviews] == [review.id]

    for name in (review.id, review_of(agent.invalidate, "tea", "she denies it")):
        assert memory.reviews.reject(name[-6:], reason="ask her again").status == "rejected"
        with refuses("state", name, "rejected"):
            memory.reviews.approve(name)
    assert memory.beliefs.all() == before
    assert list(memory.reviews) == []


def test_a_yes_does_what_was_asked_and_says_who_said_it(memory, agent):
    memory.remember("Ana prefers tea", key="tea", tags=["drinks"])
    asked = review_of(agent.revise, "tea", "Ana prefers coffee", reason="she said so")

    review = memory.reviews.approve(asked, reason="I heard it too")
    belief = memory.show("tea")

    assert (belief.text, belief.tags, belief.reason) == ("Ana prefers coffee", ("drinks",), "she said so")
    assert memory.reviews.is_approved(belief)
    assert (review.status, review.reason, review.answered_by) == ("approved", "I heard it too", "python:local")
    assert review.approval is not None
    assert review.approval.covers(review.action)
    assert memory.reviews.get(review.id) == review
    answer, revision = list(memory.log())[-2:]
    assert (answer.op, revision.op) == ("review.answer/1", "belief.supersede/1")


def test_an_agent_may_correct_itself_and_what_is_trusted_less(memory, door):
    agent, importer = door("agent"), door("import")
    agent.remember("Ana prefers tea", key="tea")
    importer.revise("tea", "Ana prefers coffee")
    rum = door("web").remember("buy rum", key="rum")
    with pytest.raises(NotFound):
        agent.forget("rum")  # a name that a web page chose names nothing for an agent
    agent.forget(rum.id)

    assert memory.show("tea").text == "Ana prefers coffee"
    assert memory.show("rum").status == "tombstone"
    assert list(memory.reviews) == []


@pytest.mark.parametrize("trust", ["tool", "web"])
@pytest.mark.parametrize("claimed", [False, True], ids=["by itself", "as a person copied it"])
def test_what_a_tool_or_the_web_states_waits_for_an_answer_and_a_no_leaves_it_in_history(memory, door, trust, claimed):
    by, how = (memory, {"trust": trust}) if claimed else (door(trust), {})
    said = [by.remember(f"Buy {key}", key=key, **how) for key in ("rum", "gin")]
    approved, rejected = memory.reviews

    for belief, review in zip(said, (approved, rejected), strict=True):
        assert (belief.trust, belief.status, review.action.kind) == (trust, "active", "trust")
        assert not memory.reviews.is_approved(belief)
    memory.reviews.approve(approved.id)
    assert memory.reviews.is_approved(memory.show("rum"))
    with pytest.raises(NeedsApproval):
        door(trust).revise("rum", "Buy more rum")
    memory.reviews.reject(rejected.id, reason="spam")
    assert (memory.show("gin").status, memory.show("gin").reason) == ("tombstone", "spam")
    assert [version.belief.text for version in memory.history("gin")] == ["Buy gin", "Buy gin"]


def test_a_yes_to_old_words_is_no_yes_to_new_ones(memory, door):
    web = door("web")
    web.remember("Water is wet", key="k")
    [shown] = memory.reviews
    web.revise("k", "Send money")

    with refuses("state", shown.id, "stale"):
        memory.reviews.approve(shown.id)
    [now] = memory.reviews
    assert now.action.target == (memory.show("k").id,)
    assert not memory.reviews.is_approved(memory.show("k"))


def test_nobody_claims_more_trust_than_was_given(memory, door):
    tool = door("tool")
    before = memory.status().events
    for claim in ("human", "agent", "import", "god"):
        with pytest.raises(Refused, match="trust"):
            tool.remember("x", trust=claim)
    with refuses("value", "trust"):
        door("root")

    assert memory.status().events == before
    assert (memory.trust, tool.trust) == ("human", "tool")


def test_what_cannot_be_done_at_all_is_not_put_to_a_person(memory, agent):
    memory.remember("tea", key="k")
    for wrong in (
        lambda: agent.revise("k", confidence=7.5), lambda: agent.revise("nobody", "x"), lambda: agent.erase("nobody"),
        lambda: agent.remember("x", key="k", rests_on=["nobody"]), lambda: agent.revise("k", data={"a": {1}}),
    ):  # fmt: skip
        with pytest.raises(Refused) as refused:
            wrong()
        assert not isinstance(refused.value, NeedsApproval)
    agent.remember("tea", key="other")
    agent.remember("tea", key="other")

    assert list(memory.reviews) == []


def test_a_known_key_is_a_revision_and_its_idempotency_key_is_used_when_it_is_done(memory, agent):
    memory.remember("tea", key="k", tags=["old"])
    for _ in range(2):
        with needs_approval("none", "revise", "human"):
            agent.remember("coffee", key="k", idempotency_key="once", tags=["new"])
    memory.reviews.approve(memory.reviews.waiting()[0].id)
    again = agent.remember("coffee", key="k", idempotency_key="once", tags=["new"])

    assert (again.text, again.tags, again.trust) == ("coffee", ("new",), "agent")
    assert list(memory.reviews) == []


def test_a_yes_that_was_given_to_something_else_is_refused(memory, agent):
    memory.remember("tea", key="k")
    names = [review_of(agent.forget, "k"), review_of(agent.erase, "k")]
    forget, erase = map(memory.reviews.get, names)

    with not_approved("other", "erase"):
        memory.reviews.approve(erase.id, digest=forget.digest)
    assert memory.show("k").status == "active"
    memory.reviews.approve(forget.id, digest=forget.digest)
    assert memory.show("k").status == "tombstone"


# -- erasing -----------------------------------------------------------------------------------------------------------


def test_an_erasure_is_done_when_a_person_says_yes(memory, agent):
    memory.remember("a secret", key="k")
    memory.remember("another secret", key="k2")
    with needs_approval("none", "erase", "and 1 more") as held:
        agent.erase("k", "k2")
    assert memory.show("k").text == "a secret"

    review = memory.reviews.approve(held.value.review)

    assert (review.status, memory.get("k"), memory.get("k2")) == ("approved", None, None)
    assert files_with(memory.folder, "secret") == []
    with pytest.raises(NotFound):
        memory.reviews.approve(held.value.review)
    assert memory.ledger.verify().ok


@pytest.mark.parametrize("changed", [False, True])
def test_an_erasure_that_dies_after_its_yes_is_finished_by_another_yes_or_stale_where_its_words_changed(
    memory, agent, changed
):
    memory.remember("a secret", key="k")
    asked = review_of(agent.erase, "k")
    cut_short(memory.reviews.approve, asked)
    [left] = memory.reviews
    assert (left.id, left.status, left.is_unfinished) == (asked, "approved", True)
    assert memory.show("k").text == "a secret"
    with refuses("state", left.id, "approved"):
        memory.reviews.reject(left.id)

    if changed:
        memory.revise("k", "other words, which nobody agreed to erase")
        with pytest.raises(Moved, match=f"{asked}.*stale"):
            memory.reviews.approve(asked)
        assert memory.show("k").text == "other words, which nobody agreed to erase"
        assert list(memory.reviews) == []
        return
    with Memory(memory.folder) as later:
        assert later.reviews.approve(left.id).status == "approved"
        assert (later.get("k"), list(later.reviews)) == (None, [])


def test_erasing_takes_the_words_out_of_questions_and_answers_too(memory, agent):
    memory.remember("first words", key="k")
    asked = [review_of(agent.revise, "k", f"secret {n}", reason="secret reason") for n in ("one", "two")]
    memory.reviews.reject(asked[0], reason="secret answer")
    memory.backup()
    memory.ledger.compact()
    assert files_with(memory.folder, "secret")
    going = memory.preview_erase("k")
    memory.erase("k")

    assert going.events == 4
    assert files_with(memory.folder, "secret") == files_with(memory.folder, "first words") == []
    assert memory.reviews.all() == []
    with pytest.raises(NotFound):
        memory.reviews.approve(asked[1])
    with Memory(memory.folder) as again:
        assert again.reviews.all() == []
        assert again.ledger.verify().ok


# -- groups, processes, users ------------------------------------------------------------------------------------------


def test_a_batch_that_is_held_is_taken_back_and_its_question_stands_and_one_that_catches_it_goes_on(memory, agent):
    memory.remember("tea", key="k")
    before = memory.beliefs.all()

    def all_of_it(key):
        with agent.batch():
            agent.remember("mine", key=key)
            agent.forget("k")

    asked = review_of(all_of_it, "mine")
    assert memory.beliefs.all() == before
    with agent.batch():
        agent.remember("mine", key="mine")
        assert review_of(agent.forget, "k") == asked
    assert memory.show("mine").text == "mine"
    [review] = memory.reviews
    assert review.id == asked
    memory.reviews.approve(review.id)
    assert memory.show("k").status == "tombstone"


def test_a_question_about_words_that_went_with_their_batch_is_not_asked(memory):
    def all_of_it() -> None:
        with memory.batch():
            memory.remember("tea", key="k")
            memory.remember("coffee", key="k", trust="agent")

    with refuses("state", "revise", "rolled back"):
        all_of_it()
    assert (memory.get("k"), list(memory.reviews)) == (None, [])


def test_a_write_that_fails_takes_its_question_back(memory, agent, monkeypatch):
    memory.remember("tea", key="k")
    with monkeypatch.context() as patch:
        patch.setattr(FolderLedger, "_put_on_disk", lambda *_: (_ for _ in ()).throw(OSError(28, "no space")))
        with pytest.raises(OSError, match="no space"):
            agent.forget("k")

    assert (list(agent.reviews), list(memory.reviews)) == ([], [])
    asked = review_of(agent.forget, "k")
    assert [each.id for each in agent.reviews] == [asked]


def test_a_review_is_seen_by_another_process_reads_well_and_outlives_snapshots_and_compaction(memory):
    memory.remember("tea", key="k")
    code = f"""
from tallystick import Memory, NeedsApproval
with Memory({str(memory.folder)!r}, trust="agent", by="mcp:2") as m:
    try:
        m.forget("k")
    except NeedsApproval as error:
        print(error.review)
"""
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    [review] = memory.reviews
    assert (review.id, review.to_dict()["status"]) == (asked, "waiting")
    assert repr(memory.reviews) == "<1 pending reviews of me>"
    assert repr(review).startswith("<Review r-")
    for number in range(120):
        memory.remember(f"filler {number}")
    memory.ledger.compact()
    with Memory(memory.folder) as later:
        assert [review.id for review in later.reviews] == [asked]
        later.reviews.approve(asked)
        assert later.show("k").status == "tombstone"
    assert memory.show("k").status == "tombstone"


@pytest.mark.parametrize("durability", ["full", "group"])
def test_the_gate_holds_for_every_durability(memory, durability):
    memory.remember("tea", key="k")
    with Memory(memory.folder, trust="agent", durability=durability) as agent:
        for _ in range(2):
            with pytest.raises(NeedsApproval):
                agent.forget("k")
        assert agent.remember("mine").trust == "agent"
    assert len(memory.reviews) == 1


def test_no_user_sees_or_answers_anothers_reviews(memory, door):
    with Memory(memory.folder, user="ana") as ana:
        ana.remember("tea", key="k")
        asked = review_of(door("agent", user="ana").revise, "k", "hers alone")
        memory.remember("mine")

        assert (len(ana.reviews), len(memory.reviews)) == (1, 0)
        with pytest.raises(NotFound):
            memory.reviews.approve(asked)
        assert not any("hers alone" in str(event.body) for event in memory.log())
        assert [event.op for event in ana.log(op="review")] == ["review.ask/1"]


def test_the_old_store_stays_a_persons_door(tmp_path):
    with ChronoStore(tmp_path) as store:
        store.folder.ledger.append([])
    with Memory(tmp_path / ".chronomemory") as memory, Memory(tmp_path / ".chronomemory", trust="agent") as agent:
        agent.remember("tea", key="k")
        memory.remember("milk", key="m")
        with ChronoStore(tmp_path) as store:
            assert store.delete("k")
            assert store.delete("m")
        assert len(memory.beliefs) == 0


@pytest.mark.parametrize("trust", ["agent", "tool", "web", "import"])
def test_frames_and_thresholds_are_set_by_a_person(tmp_path, trust):
    with Memory(tmp_path / "memory", trust=trust) as m:
        for attempt in (
            lambda: m.frames.put("mine", {"similarity": 1.0}), lambda: m.frames.drop("mine"),
            lambda: m.config.set("top_k", "9"),
        ):  # fmt: skip
            with pytest.raises(NotApproved, match=trust):
                attempt()
        assert [event.op for event in m.log()][1:] == ["review.refuse/1"] * 3
