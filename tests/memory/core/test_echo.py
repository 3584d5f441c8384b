"""Text that recall served is known when it is fed in again: it confirms, reinforces and launders nothing."""

from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from tallystick import ConsolidationRule, Memory, NeedsApproval
from tallystick.memory.core.echo import EchoDetector
from tallystick.records.belief import Belief
from tallystick.text.fingerprint import marks_of, whole_marks
from tests.growth import assert_linear, seconds

TEA, BANK = "Ana likes green tea in the morning.", "The bank wants your number today."


@pytest.fixture
def doors(tmp_path: Path):
    names = {"me": "human", "agent": "agent", "tool": "tool", "web": "web"}
    opened = {
        name: Memory(tmp_path / "memory", by=f"test:{name}", trust=trust, embedder="none")
        for name, trust in names.items()
    }
    yield opened
    for each in opened.values():
        each.close()


@pytest.fixture
def served(doors) -> Belief:
    """What a person said, and an agent was told of."""
    tea = doors["me"].remember(TEA)
    doors["agent"].recall("what does Ana like?")
    return tea


def last(memory: Memory) -> dict:
    return list(memory.log())[-1].body


def length(memory: Memory) -> int:
    return memory.status().events


def test_feeding_back_a_belief_that_is_held_or_an_episode_under_its_name_writes_nothing(doors):
    tea = doors["me"].remember(TEA, key="tea", tags=["a"])
    doors["agent"].observe("Bob likes black coffee at night.", id="e1", at="2026-05-20T12:00:00Z")
    doors["agent"].recall("what does Ana like? what does Bob like?")
    before = length(doors["me"])

    same = doors["agent"].remember(TEA.upper(), confidence=1.0, tags=["b"], kind="instruction")
    doors["agent"].observe("Bob likes black coffee at night.", id="e1", at="2026-05-20T12:00:00Z")
    assert (same, length(doors["me"])) == (tea, before)


@pytest.mark.parametrize(
    "fed",
    [
        TEA, TEA.lower(), f"  {TEA}\n", f"- {TEA}", f"* “{TEA}”", f"1. {TEA}", f"> {TEA}", f"Note: {TEA}", TEA[:-1],
        f"- [since 2026-05-20 · agent] {TEA}", "Ana   likes\tgreen tea — in the morning!!!", f"{TEA} (said 3 times)",
        "Ana\u200b likes green te\u200ba in the morning.", f"I know this: {TEA} And it rains a lot these days.",
        f"# Memory\n\nSomething new is here.\n- [since 2026] {TEA}\n- [x] Another line of text.",
        "ＡＮＡ likes green tea in the morning.",
    ],
)  # fmt: skip
def test_near_echoes_count_whatever_stands_around_them(served, doors, fed):
    doors["agent"].observe(fed)
    assert last(doors["me"])["echo"] == [served.id]


@pytest.mark.parametrize("fed", ["In the mornings Ana is fond of green tea.", "Ana likes tea.", "green tea", "Yes."])
def test_another_way_of_putting_it_or_less_than_a_sentence_is_no_echo(served, doors, fed):
    doors["agent"].observe(fed)
    assert "echo" not in last(doors["me"])


def test_what_was_never_served_is_no_echo_and_a_persons_own_words_never_are(doors):
    doors["me"].remember(TEA)
    doors["agent"].observe(TEA)
    assert "echo" not in last(doors["me"])
    doors["me"].recall("what does Ana like?")
    doors["me"].observe(TEA)
    assert "echo" not in last(doors["me"])
    doors["me"].observe(TEA, trust="agent")
    assert "echo" in last(doors["me"])


def test_a_frame_serves_too_and_in_a_batch_an_echo_is_known_but_not_for_another_user(doors):
    doors["me"].remember(TEA)
    frame = doors["agent"].frame("attention", "what does Ana like?")
    doors["agent"].observe(frame.text)
    assert "echo" in last(doors["me"])
    with doors["agent"].batch():
        doors["agent"].observe("Something else.")
        doors["agent"].observe(TEA)
    assert "echo" in last(doors["me"])
    doors["agent"].recall("what does Ana like?")
    doors["agent"].observe(TEA, user="bob")
    assert "echo" not in last(Memory(doors["me"].folder, user="bob"))


def test_an_echo_is_no_voice_and_does_not_speak_for_what_it_repeats(doors):
    tea = doors["me"].remember(TEA)
    [before] = doors["me"].recall("what does Ana like?")
    doors["agent"].recall("what does Ana like?")
    for _ in range(3):
        doors["agent"].observe(TEA, agent="echo")

    [after] = doors["me"].recall("what does Ana like?")
    assert (after.id, after.sources, after.trust, after.why) == (tea.id, (tea.id,), "human", before.why)
    assert after.signals == before.signals


def test_an_echo_of_what_waits_or_was_rejected_waits_too_bears_nothing_out_and_takes_no_place(doors):
    doors["web"].remember(BANK)
    doors["agent"].remember("The bank never calls.", key="calls")
    doors["agent"].recall("bank number", quarantined=True)

    told = [doors["agent"].observe(text) for text in (BANK, f"By the way: {BANK}")]
    held = doors["agent"].remember(f"Remember: {BANK.upper()}", key="bank")
    assert {each.trust for each in (*told, held)} == {"web"}
    assert "it repeats a quarantined statement" in doors["me"].reviews.waiting()[-1].why
    with pytest.raises(NeedsApproval):
        doors["agent"].revise("calls", BANK)
    assert [hit.text for hit in doors["me"].recall("bank number")] == ["The bank never calls."]
    assert "trust.corroborate/1" not in [event.op for event in doors["me"].log()]
    for review in doors["me"].reviews.waiting():
        doors["me"].reviews.reject(review.id)
    assert doors["agent"].remember(BANK).trust == "web"


def test_an_echo_of_a_source_that_was_set_aside_is_kept_out(doors):
    doors["agent"].remember(BANK)
    with Memory(doors["me"].folder, by="test:other", trust="agent", embedder="none") as other:
        other.recall("bank number")
        doors["me"].distrust("test:agent")
        assert other.observe(f"They say that.\n{BANK}").trust == "tool"
    assert doors["me"].recall("bank number") == []


def test_a_fact_is_not_made_surer_by_an_echo_of_it(doors):
    said = {"subject": "Ana", "predicate": "likes", "object": "green tea"}
    doors["agent"].observe("Ana likes green tea", id="e1", session="one", metadata=said)
    [fact] = doors["me"].consolidate(ConsolidationRule(id="all")).facts
    doors["agent"].recall("Ana likes")
    for number in range(3):
        doors["agent"].observe("Ana likes green tea", id=f"f{number}", session=f"s{number}", metadata=said)

    doors["me"].consolidate(ConsolidationRule(id="all"))

    assert doors["me"].facts.get(fact.id).confidence == fact.confidence
    assert doors["me"].facts.get(fact.id).version == fact.version  # it was noted, and changed nothing
    notes = [event.body["why"] for event in doors["me"].log(op="delta.noop")]
    assert notes == ["it repeats what recall had served"] * 3
    doors["agent"].observe("For Ana it is green tea, always", id="g", session="z", metadata=said)
    doors["me"].consolidate(ConsolidationRule(id="all"))
    assert doors["me"].facts.get(fact.id).confidence > fact.confidence


def test_after_an_erasure_nothing_is_known_by_the_words(doors):
    tea = doors["me"].remember(TEA)
    doors["me"].recall("what does Ana like?")
    doors["me"].observe("Something else was said here.", trust="agent")
    assert doors["me"]._context.echoes._marks
    doors["me"].erase(tea.id)
    assert not doors["me"]._context.echoes._marks
    doors["me"].observe(TEA, trust="agent")
    assert "echo" not in last(doors["me"])


HOSTILE = [
    "", " ", "\x00", "a" * 1_000_000, "😀" * 50_000, "\u202e\u200f" * 1000, "\n" * 100_000, "-" * 200_000, "\ud800",
    "[" * 100_000, "a: " * 100_000, "(" * 100_000, "line\n" * 100_000, "x. " * 100_000, " (" * 100_000, "> " * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.sample(5)
def test_no_text_is_slow_or_too_much(doors, text):
    doors["me"].remember(TEA)
    doors["agent"].recall("Ana")
    echoes = doors["agent"]._context.echoes
    echoes.of(text, "me")
    if size := len(text) // 10:
        assert_linear(lambda size: seconds(lambda: echoes.of(text[:size], "me")), size, 10 * size)


@given(st.text(max_size=200), st.text(max_size=40))
@example("0; ¼", "0")  # of several sentences, each of which is too short to be known by itself
def test_whatever_is_served_is_known_again_by_itself_and_inside_a_page(text, around):
    own = marks_of(text)
    assert set(whole_marks(text)) <= set(own)
    if own:
        page = f"{around}\n{text}\n{around}" if "\n" not in text else text
        assert set(own[:1]) & set(marks_of(page)) or len(text.splitlines()) > 1


def test_what_is_kept_of_what_was_served_is_bounded(doors, monkeypatch):
    monkeypatch.setattr("tallystick.memory.core.echo.MOST", 50)
    echoes: EchoDetector = doors["agent"]._context.echoes
    for number in range(120):
        doors["me"].remember(f"Memory number {number} of the long list.")
    doors["agent"].recall("memory number of the long list", k=120)
    doors["agent"].observe("Memory number 7 of the long list.")
    assert len(echoes._marks) <= 50
    assert len(echoes._looked) <= 50
    assert not echoes._fresh
