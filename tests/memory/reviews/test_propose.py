"""Actions that are proposed and applied, and the yes that goes with them: for one action, once, until it ends."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from tallystick import Memory, Moved, NeedsApproval, NotFound, Refused
from tallystick.records.errors import NotApproved
from tallystick.records.review import Action, Applied, Approval, Review
from tests.memory.conftest import cut_short, files_with
from tests.refusals import not_approved, refuses

pytestmark = pytest.mark.usefixtures("clock")


def refused(why: str, do: Callable[[], object], memory: Memory) -> None:
    """It is refused for that reason, and nothing changes but one event that says so."""
    before, number = memory.beliefs.all(), memory.status().events
    with pytest.raises(NotApproved) as error:
        do()
    assert error.value.why == why
    assert "\n" not in str(error.value)
    last = list(memory.log(number))
    assert [(event.op, event.body and event.body["why"]) for event in last] == [("review.refuse/1", why)]
    assert memory.beliefs.all() == before


def set_policy(memory: Memory, text: str) -> None:
    (memory.folder / "tallystick.toml").write_text(text, "utf-8")


# -- actions -----------------------------------------------------------------------------------------------------------


def test_what_the_policy_allows_is_applied_at_once_if_it_is_not_so_already_and_nothing_has_changed(memory):
    memory.remember("Ana prefers tea", key="tea")
    stale = memory.action("archive", "tea")
    done = memory.propose(memory.action("supersede", "tea", text="Ana prefers coffee", reason="she said so"))

    assert isinstance(done, Applied)
    assert done.ids == (memory.show("tea").id,)
    assert [event.op for event in done.events] == ["belief.supersede/1"]
    assert (memory.show("tea").text, memory.show("tea").reason) == ("Ana prefers coffee", "she said so")
    assert done.to_dict()["ids"] == list(done.ids)
    number = memory.status().events
    for kind in ("activate", "promote"):
        assert memory.propose(memory.action(kind, "tea")) == Applied(memory.action(kind, "tea"))
    with pytest.raises(Moved):
        memory.propose(stale)
    assert (memory.status().events, memory.show("tea").status) == (number, "active")


def test_what_it_does_not_allow_waits_and_is_asked_once(memory, agent):
    memory.remember("Ana prefers tea", key="tea")
    action = agent.action("archive", "tea", reason="old")
    review = agent.propose(action)

    assert isinstance(review, Review)
    assert review.action == action
    assert agent.propose(action) == review
    assert agent.propose(agent.action("forget", "tea", reason="old")) == review, "another word for the same"
    with pytest.raises(NeedsApproval, match="archive") as held:
        agent.apply(action)
    assert held.value.review == review.id
    assert memory.show("tea").status == "active"
    assert len(memory.reviews) == 1


@pytest.mark.parametrize(
    ("kind", "names", "said"),
    [("activate", ["gone"], {}), ("reinforce", ["tea", "guess"], {"weight": 2.0}), ("promote", ["guess"], {}),
     ("promote", ["guess"], {"confidence": 0.95}), ("merge", ["tea", "also"], {}), ("retract", ["tea"], {}),
     ("supersede", ["tea"], {"text": "x", "tags": ["a"]}), ("archive", ["tea"], {}), ("erase", ["tea", "also"], {}),
     ("trust", ["rum"], {}), ("compact", ["person-ana"], {}), ("remember", [], {"text": "new", "key": "new"}),
     ("remember", [], {"text": "not new", "key": "tea"})],
)  # fmt: skip
@pytest.mark.parametrize("way", ["at once", "approve", "grant"])
def test_every_action_is_carried_out_alike_at_once_or_after_a_yes(memory, agent, door, kind, names, said, way):
    memory.remember("Ana prefers tea", key="tea", about="person-ana", tags=["a"])
    memory.remember("Ana likes tea", key="also", about="person-ana", tags=["b"])
    memory.remember("Ana may like rum", key="guess", is_hypothesis=True, confidence=0.4)
    memory.remember("Ana was six", key="gone")
    memory.forget("gone")
    door("web").remember("Buy rum", key="rum")
    if way != "at once":
        set_policy(memory, "[[policy.rules]]\nthen = 'review'\n")
    by = memory if way != "grant" else agent
    action = by.action(kind, *names, reason="because", **said)

    done = by.propose(action)
    if way == "approve":
        assert isinstance(done, Review)
        memory.reviews.approve(done.id, digest=done.digest)
    elif way == "grant":
        assert isinstance(done, Review)
        carrier = memory if kind == "trust" else by  # that question was put when the web stated it
        done = carrier.apply(done.action, memory.reviews.grant(done.id, digest=done.digest))
    set_policy(memory, "")

    expected: dict[str, Callable[[], bool]] = {
        "activate": lambda: memory.show("gone").status == "active" and memory.show("gone").text == "Ana was six",
        "reinforce": lambda: list(memory.log(op="outcome"))[-1].body["weight"] == 2.0,  # type: ignore[index]
        "promote": lambda: (memory.show("guess").is_hypothesis, memory.show("guess").confidence)
        == (False, said.get("confidence", 0.4)),
        "merge": lambda: memory.show("also").id == memory.show("tea").id and memory.show("tea").tags == ("a", "b"),
        "retract": lambda: memory.show("tea").status == "invalidated",
        "supersede": lambda: (memory.show("tea").text, memory.show("tea").tags) == ("x", ("a",)),
        "archive": lambda: memory.show("tea").status == "tombstone",
        "erase": lambda: memory.get("tea") is None and memory.get("also") is None,
        "trust": lambda: memory.reviews.is_approved(memory.show("rum")),
        "compact": lambda: not memory.trouble,
        "remember": lambda: memory.show(said["key"]).text == said["text"] if said else False,
    }
    assert expected[kind]()
    waiting = [review.action.kind for review in memory.reviews]
    assert waiting == ([] if kind == "trust" else ["trust"]), "only what the web said"
    assert memory.ledger.verify().ok


@pytest.mark.parametrize(
    ("kind", "names", "said", "says"),
    [
        ("bless", ["k"], {}, "action must be .* not 'bless'"), ("archive", ["nobody"], {}, "no belief named"),
        ("archive", [], {}, "name what to act on"), ("archive", ["k", "j"], {}, "takes one belief"),
        ("archive", ["k"], {"text": "x"}, "cannot change 'text'"), ("promote", ["k"], {"text": "x"}, "cannot change"),
        ("merge", ["k"], {}, "two beliefs or more"), ("merge", ["k", "gone"], {}, "is not active"),
        ("merge", ["k", "k"], {}, "two beliefs or more"), ("promote", ["gone"], {}, "is not active"),
        ("retract", ["k"], {}, "give a reason"), ("compact", ["person-x"], {}, "no page about"),
        ("compact", [], {}, "takes one page"), ("reinforce", ["k"], {"weight": 99}, "weight"),
        ("supersede", ["k"], {"confidence": 7}, "confidence"), ("supersede", ["k"], {"id": "x"}, "cannot change"),
        ("supersede", ["k"], {"data": {"a": {1}}}, "JSON"), ("remember", ["k"], {}, "by its key"),
        ("remember", [], {"text": " "}, "nothing to remember"), ("remember", [], {}, "nothing to remember"),
        ("erase", ["said"], {}, "memory.erase"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_and_asks_nobody(memory, kind, names, said, says):
    memory.remember("tea", key="k")
    memory.remember("rum", key="gone")
    memory.forget("gone")
    memory.observe("hello", id="said")
    number = memory.status().events

    with pytest.raises((Refused, NotFound), match=says):
        memory.propose(memory.action(kind, *names, **said))
    assert memory.status().events == number


@pytest.mark.parametrize("field", ["id", "user", "path", "weakened"])
def test_no_action_moves_a_belief_to_another_name_or_owner(memory, field):
    belief = memory.remember("tea", key="k")
    for kind, target in (("revise", (belief.id,)), ("remember", ())):
        changes = {"text": "x", "key": "k" if target else "new", field: [] if field == "weakened" else "bob"}
        action = Action(kind=kind, target=target, changes=changes, by="python:local")
        with refuses("field", field):
            memory.propose(action)
    assert memory.show("k") == belief


def test_what_is_said_has_the_trust_of_the_asker_whatever_the_action_leaves_out(memory, agent):
    done = agent.propose(Action(kind="remember", changes={"text": "x", "key": "k"}, by="agent:test", trust="agent"))

    assert isinstance(done, Applied)
    assert memory.show("k").trust == "agent"
    with refuses("permission", "human", "agent"):
        agent.propose(
            Action(kind="remember", changes={"text": "y", "trust": "human"}, by="agent:test", trust="agent")
        )  # fmt: skip


@pytest.mark.parametrize("forged", [{"trust": "human"}, {"by": "cli:local"}, {"by": "cli:local", "trust": "human"}])
def test_nobody_asks_in_anothers_name(memory, agent, forged):
    memory.remember("tea", key="k")
    action = replace(agent.action("erase", "k"), **forged)  # type: ignore[arg-type]

    refused("name", lambda: agent.propose(action), memory)


# -- the yes -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(memory, agent) -> tuple[Action, Review]:
    memory.remember("Ana prefers tea", key="tea")
    action = agent.action("supersede", "tea", text="Ana prefers coffee")
    return action, agent.propose(action)


@pytest.fixture
def granted(memory, asked) -> tuple[Action, Review, Approval]:
    return *asked, memory.reviews.grant(asked[1].id)


def test_a_yes_is_given_now_and_carried_out_later_once_though_it_was_written_down(memory, agent, granted, clock):
    action, review, approval = granted

    assert memory.show("tea").text == "Ana prefers tea"
    assert list(memory.reviews) == [], "it does not wait"
    assert memory.reviews.get(review.id).is_open
    clock.now += timedelta(days=6)
    for wrong in ({}, {**approval.to_dict(), "more": "x"}, {**approval.to_dict(), "by": 3}, [], "x"):
        with refuses("value"):
            Approval.from_dict(wrong)
    again = Approval.from_dict(json.loads(json.dumps(approval.to_dict())))
    assert again == approval
    done = agent.apply(action, again)

    assert [event.op for event in done.events] == ["review.answer/1", "belief.supersede/1"]
    said = done.events[1].body or {}
    assert (said["approved"], said["marker"]) == (review.id, approval.marker)
    now = memory.reviews.get(review.id)
    assert (now.status, now.answered_by) == ("approved", "python:local"), "the person's, not the program's"
    assert memory.reviews.is_approved(memory.show("tea"))
    refused("used", lambda: agent.apply(action, approval), memory)


def test_a_yes_ends_and_then_the_review_waits_again_and_none_ends_before_it_begins(memory, agent, asked, clock):
    action, review = asked
    for end in (timedelta(0), timedelta(days=-1), "2026-05-01", timedelta(days=4_000_000)):
        with pytest.raises(Refused):
            memory.reviews.grant(review.id, expires=end)
        assert memory.reviews.get(review.id).marker == ""
    approval = memory.reviews.grant(review.id, expires=timedelta(hours=1))
    clock.now += timedelta(hours=1)

    refused("expired", lambda: agent.apply(action, approval), memory)
    assert [each.id for each in memory.reviews] == [review.id]
    agent.apply(action, memory.reviews.grant(review.id))
    assert memory.show("tea").text == "Ana prefers coffee"


@pytest.mark.parametrize("field", ["action_digest", "by", "at", "expires", "marker", "review"])
def test_a_yes_that_was_changed_does_not_count(memory, agent, granted, field):
    action, _, approval = granted
    value = {"expires": "2999-01-01T00:00:00.000000Z"}.get(field, "x")
    changed = replace(approval, **{field: value})

    refused("other" if field == "action_digest" else "forged", lambda: agent.apply(action, changed), memory)
    agent.apply(action, approval)


def test_a_yes_to_one_action_is_no_yes_to_another(memory, agent, granted):
    _, review, approval = granted
    erase = agent.action("erase", "tea")
    other = agent.action("supersede", "tea", text="Ana prefers coffee with milk")

    refused("other", lambda: agent.apply(erase, approval), memory)
    refused("other", lambda: agent.apply(other, approval), memory)
    with not_approved("other"):
        agent.apply(erase, replace(approval, action_digest=erase.digest))
    refused("other", lambda: memory.reviews.grant(review.id, digest="0" * 64), memory)


def test_a_yes_to_what_has_changed_is_stale_and_closes_the_review(memory, agent, granted):
    action, review, approval = granted
    memory.revise("tea", "Ana prefers milk")

    refused("stale", lambda: agent.apply(action, approval), memory)
    assert memory.reviews.get(review.id).status == "stale"
    refused("closed", lambda: agent.apply(action, approval), memory)


SINCE: dict[str, tuple[str, Callable[[Memory, Review], object]]] = {  # why a yes counts no more, and what happened
    "a no takes it back": ("closed", lambda memory, review: memory.reviews.reject(review.id)),
    "a newer one counts": ("forged", lambda memory, review: memory.reviews.grant(review.id)),
    "who gave it is no longer named": (
        "stranger", lambda memory, _: set_policy(memory, "[policy]\napprovers = ['cli:*']\n"),
    ),
    "the policy says no by now": (
        "refused",
        lambda memory, _: set_policy(memory, "[[policy.rules]]\naction = 'supersede'\nthen = 'refuse'\n"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("since", SINCE)
def test_a_yes_counts_no_more_after(memory, agent, granted, since):
    action, review, approval = granted
    why, happen = SINCE[since]
    newer = happen(memory, review)

    refused(why, lambda: agent.apply(action, approval), memory)
    if why == "refused":
        with pytest.raises(NotApproved):
            memory.reviews.approve(review.id)
    assert memory.show("tea").text == "Ana prefers tea"
    set_policy(memory, "")
    if why != "closed":
        agent.apply(action, newer if isinstance(newer, Approval) else approval)


HAPPENS = {
    "reopen": lambda memory: None, "compact": lambda memory: memory.ledger.compact(),
    "snapshot": lambda memory: [memory.remember(f"filler {number}") for number in range(60)],
    "restore the index": lambda memory: memory.rebuild_index(),
}  # fmt: skip


@pytest.mark.parametrize("between", HAPPENS)
def test_a_yes_counts_once_after_anything_that_happens_to_the_folder(memory, agent, door, granted, between):
    action, _, approval = granted
    HAPPENS[between](memory)
    agent.close()

    door("agent").apply(action, approval)
    if between == "compact":
        memory.ledger.compact()
    with not_approved("used"):
        door("agent").apply(action, approval)


def test_an_erasure_with_a_yes_that_was_cut_short_is_finished_with_the_same_yes(memory, agent):
    memory.remember("a secret", key="k")
    action = agent.action("erase", "k")
    approval = memory.reviews.grant(agent.propose(action).id)

    cut_short(agent.apply, action, approval)
    assert memory.show("k").text == "a secret"
    refused("forged", lambda: agent.apply(action, replace(approval, marker="0" * 32)), memory)
    agent.apply(action, approval)

    assert memory.get("k") is None
    assert files_with(memory.folder, "a secret") == []
    with pytest.raises((NotApproved, NotFound)):
        agent.apply(action, approval)


def test_no_event_about_a_yes_or_a_refusal_holds_words(memory, agent, granted):
    action, _, approval = granted
    hostile = Action(
        kind="erase", target=("a name with words",), by="agent:test", trust="agent", reason="words", user="me"
    )  # fmt: skip
    with not_approved("forged", "erase"):
        agent.apply(hostile, replace(approval, review="words of mine", marker="words of mine"))
    agent.apply(action, approval)
    memory.erase("tea")

    left = [json.dumps(event.body) for event in memory.log(op="review") if event.body]
    assert left
    assert not any(word in line for line in left for word in ("words", "Ana", action.digest))
    assert memory.ledger.verify().ok


def test_a_yes_that_nobody_gave_does_not_count_and_a_flood_of_them_does_not_fill_the_ledger(
    memory, agent, asked, clock
):
    action, review = asked
    before = memory.status().events

    for marker in ("", *(f"{number:032x}" for number in range(40))):
        made_up = Approval(review.id, action.digest, "python:local", "2026-05-20", "2999-01-01", marker)
        with not_approved("forged", "supersede"):
            agent.apply(action, made_up)
        assert memory.status().events == before + 1, "the same attempt within an hour"
    for number in range(40):
        with pytest.raises(NotApproved):
            agent.apply(action, replace(made_up, by="x", at="x", expires="x", review=f"r-{number}"))
    assert memory.status().events == before + 2
    assert memory.show("tea").text == "Ana prefers tea"
    memory.ledger.compact()
    number = memory.status().events
    with Memory(memory.folder, trust="agent", by="agent:test", clock=clock) as again, not_approved("forged"):
        again.apply(action, made_up)
    assert memory.status().events == number, "a snapshot knows what was refused lately"
    clock.now += timedelta(hours=1)
    with pytest.raises(NotApproved):
        agent.apply(action, made_up)
    assert memory.status().events == number + 1, "an hour later it is news again"


def test_a_source_that_tries_everything_is_recorded_so_often_and_no_more(memory, agent, asked, monkeypatch):
    monkeypatch.setattr("tallystick.decide.review_request.MOST", 3)
    yes = memory.reviews.grant(asked[1].id)
    names = [memory.remember(f"belief {number}").id for number in range(6)]
    before = memory.status().events

    for name in names:
        with not_approved("other", "erase"):
            agent.apply(agent.action("erase", name), yes)
    assert memory.status().events == before + 3


def test_a_refusal_in_a_batch_is_on_record_and_the_batch_is_taken_back(memory, agent, asked):
    action, review = asked
    made_up = Approval(review.id, action.digest, "x", "x", "x", "x")
    before = memory.beliefs.all()

    def all_of_it() -> None:
        with agent.batch():
            agent.remember("mine", key="mine")
            agent.apply(action, made_up)

    with not_approved("forged", "supersede"):
        all_of_it()
    assert memory.beliefs.all() == before
    assert len(list(memory.log(op="review.refuse"))) == 1

    with agent.batch():
        agent.remember("mine", key="mine")
        with not_approved("other", "erase"):
            agent.apply(agent.action("erase", "tea"), made_up)
    assert memory.show("mine").text == "mine"
    assert len(list(memory.log(op="review.refuse"))) == 2


def test_no_yes_crosses_a_user(memory, agent, clock):
    for user in ("ana", "bob"):
        memory.remember("tea", key="k", user=user)
    of_ana = Memory(memory.folder, user="ana", clock=clock)
    with of_ana:
        action = agent.action("archive", "k", user="ana")
        review = agent.propose(action)
        with pytest.raises(NotFound):
            memory.reviews.grant(review.id)
        approval = of_ana.reviews.grant(review.id)
        for wrong in (replace(action, user="bob"), agent.action("archive", "k", user="bob")):
            with not_approved("forged", "archive"):
                agent.apply(wrong, approval)
        assert memory.show("k", user="bob").status == "active"
        agent.apply(action, approval)
        assert memory.show("k", user="ana").status == "tombstone"


def test_two_processes_with_one_yes_do_it_once(memory, agent):
    memory.remember("tea", key="k", confidence=0.5)
    action = agent.action("reinforce", "k", reason="it helped")
    set_policy(memory, "[[policy.rules]]\naction = 'reinforce'\nthen = 'review'\n")
    approval = memory.reviews.grant(agent.propose(action).id, expires="2999-01-01")
    code = """
import json, sys
from tallystick import Memory
from tallystick.records.errors import NotApproved
from tallystick.records.review import Action, Approval
folder, action, approval = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
with Memory(folder, trust="agent", by="agent:test") as m:
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        m.apply(Action.from_body(action), Approval.from_dict(approval))
        print("done")
    except NotApproved as error:
        print(error.why)
"""
    told = [str(memory.folder), json.dumps(action.to_body()), json.dumps(approval.to_dict())]
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", code, *told], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for racer in racers:
        assert racer.stdout
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("\n")
        racer.stdin.flush()
    ends = sorted(racer.communicate(timeout=120)[0].strip() for racer in racers)

    assert ends == ["done", "used", "used"]
    assert len(list(memory.log(op="outcome"))) == 1


def test_a_page_with_more_on_it_than_was_shown_is_not_folded(memory, agent):
    memory.remember("Ana prefers tea", key="tea", about="person-ana")
    review = agent.propose(agent.action("compact", "person-ana"))
    memory.remember("Ana is seven", key="age", about="person-ana")

    with pytest.raises(Moved, match="stale"):
        memory.reviews.approve(review.id)
    assert memory.reviews.get(review.id).status == "stale"


# -- several at once ---------------------------------------------------------------------------------------------------


def test_several_are_answered_each_by_itself(memory, agent, door):
    for key in ("a", "b", "c"):
        memory.remember(f"words of {key}", key=key, about=f"person-{key}")
        agent.propose(agent.action("archive", key))
    door("web").remember("buy rum", key="rum")
    memory.revise("b", "other words")

    done = memory.reviews.approve_all(kind="archive", reason="tidy")

    assert [answer.is_done for answer in done] == [True, False, True]
    assert isinstance(done[1].error, Moved)
    assert done[1].review is not None
    assert done[1].review.status == "stale"
    assert [memory.show(key).status for key in "abc"] == ["tombstone", "active", "tombstone"]
    assert [review.action.kind for review in memory.reviews] == ["trust"]
    [no] = memory.reviews.reject_all(trust="web")
    assert (no.is_done, memory.show("rum").status) == (True, "tombstone")
    assert json.dumps([answer.to_dict() for answer in done])


def test_what_waits_is_found_by_what_it_has_in_common(memory, agent, door):
    memory.remember("tea", key="a", about="person-ana")
    memory.remember("rum", key="b", about="person-bob")
    agent.propose(agent.action("archive", "a"))
    door("tool").propose(door("tool").action("erase", "b"))

    assert [review.action.kind for review in memory.reviews.find(kind="forget")] == ["forget"]
    assert [review.action.kind for review in memory.reviews.find(trust="tool")] == ["erase"]
    assert [review.action.kind for review in memory.reviews.find(about="person-bob")] == ["erase"]
    assert memory.reviews.find(kind="archive", about="person-bob") == []
    with refuses("conflict"):
        memory.reviews.approve_all(["x"], kind="erase")
    with refuses("value", "names"):
        memory.reviews.approve_all("r-1")
    [missing] = memory.reviews.approve_all(["nobody"])
    assert (missing.is_done, missing.review) == (False, None)


# -- hostile words -----------------------------------------------------------------------------------------------------


@given(st.sampled_from(["", "\x00", "\u202e", "🙂" * 50, "\u200b", "x" * 10_000, "\ud800"]), st.booleans())
def test_no_text_in_an_approval_or_action_does_more_than_be_refused(words, as_marker):
    try:
        approval = Approval(words, words, words, words, words, words if as_marker else "m")
        action = Action(kind="erase", target=(words or "x",), reason=words, changes={words: words})
    except Refused:
        return

    assert not approval.covers(action)


@pytest.mark.parametrize(("by", "trust"), [("mcp:other", "agent"), ("import:1", "import"), ("web:1", "web")])
def test_an_approval_is_carried_out_by_the_program_that_asked_or_by_a_person_and_by_no_other(
    memory, door, granted, by, trust
):
    action, _, approval = granted
    with not_approved("name"):
        door(trust, by).apply(action, approval)
    assert memory.show("tea").text == "Ana prefers tea"
    memory.apply(action, approval)
    assert memory.show("tea").text == "Ana prefers coffee"


@pytest.mark.parametrize("approvers", ["", "approvers = ['*']"])
def test_no_rule_lets_a_program_answer_for_a_person(memory, agent, door, approvers):
    """With `then = "allow"` for everything, an agent's `trust` was recorded as an approval by the agent itself."""
    set_policy(memory, "")
    door("web").remember("Buy rum", key="rum")
    set_policy(memory, f"[policy]\n{approvers}\n[[policy.rules]]\nthen = 'allow'\n")

    review = agent.propose(agent.action("trust", "rum"))
    assert isinstance(review, Review)
    assert review.status == "waiting"
    assert not list(memory.log(op="review.answer"))
    assert not memory.is_shown("rum")
