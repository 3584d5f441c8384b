"""Undo: the last change, or that of a named event, is put back by new events; what depends on it is undone first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tallystick import ConsolidationRule, Memory, NotFound, Refused
from tallystick.records.belief import Undone
from tests.memory.conftest import files_with, review_of
from tests.memory.paged import page_at
from tests.refusals import needs_approval, not_approved, refuses


def held(memory: Memory, **which: Any) -> dict[str, str]:
    return {belief.key: belief.text for belief in memory.beliefs.query(**which)}


def undo_all(memory: Memory) -> int:
    """Undo change by change until nothing is left; how many there were."""
    for count in range(100):
        try:
            memory.undo()
        except NotFound:
            return count
    raise AssertionError("it never ends")


# -- what each change becomes ------------------------------------------------------------------------------------------


def test_what_was_remembered_is_forgotten_and_what_was_revised_is_as_before(memory, clock):
    first = memory.remember("Ana prefers tea", key="drink", about="person-ana", tags=["taste"], confidence=0.9,
                            valid_from="2026-01-01", triple=("Ana", "prefers", "tea"))  # fmt: skip
    clock.now += timedelta(days=1)
    memory.revise("drink", "Ana prefers coffee", tags=["new"], confidence=0.2, valid_to="2026-06-01", triple=())

    clock.now += timedelta(days=1)
    memory.undo()
    back = memory.show("drink")

    fields = ("text", "key", "about", "tags", "confidence", "valid_from", "valid_to", "triple", "trust", "status", "at")
    assert {name: getattr(back, name) for name in fields} == {name: getattr(first, name) for name in fields}
    assert back.reason == f"undoes event {first.seq + 1}"
    assert [version.belief.text for version in memory.history("drink")] == [
        "Ana prefers tea", "Ana prefers coffee", "Ana prefers tea",
    ]  # fmt: skip
    memory.undo()
    assert memory.show("drink").status == "tombstone"
    assert memory.recall("what does Ana prefer?") == []


def test_a_correction_is_put_back_and_answers_as_before(memory):
    memory.remember("The port is 5432", about="project-web")
    memory.remember("The port is 6543")
    found = memory.undo()

    assert [hit.text for hit in memory.recall("which port?")] == ["The port is 5432"]
    assert [(each.what, each.before.text, each.after.text) for each in found.changes] == [
        ("changed", "The port is 6543", "The port is 5432")
    ]  # fmt: skip


def test_a_belief_that_proved_wrong_is_believed_again_with_all_that_it_weakened(memory):
    memory.remember("Ana works at Acme", key="work")
    memory.remember("Ana commutes to Acme", key="commute", rests_on=["work"], confidence=0.8)
    memory.invalidate("work", "she never did")

    memory.undo()

    assert [(memory.show(key).confidence, memory.show(key).is_hypothesis) for key in ("work", "commute")] == [
        (0.7, False), (0.8, False),
    ]  # fmt: skip
    memory.invalidate("work", "she left")  # and it weakens again
    assert memory.show("commute").confidence == 0.4


def test_beliefs_that_were_merged_are_two_again_under_all_their_names(memory):
    one, other = memory.remember("tea is hot", key="one"), memory.remember("tea is hot, really", key="other")
    old = memory.revise("other", "tea is very hot", tags=["heat"]).id
    above = memory.remember("mind the tea", rests_on=["other"])
    memory.relate("other", above.id, "warns of")
    memory.apply(memory.action("merge", one.id, old))
    assert memory.show("other").key == "one"

    memory.undo()

    assert held(memory) == {"one": "tea is hot", "other": "tea is very hot", above.key: "mind the tea"}
    assert {name: memory.show(name).key for name in (one.id, other.id, old)} == {
        one.id: "one", other.id: "other", old: "other",
    }  # fmt: skip
    assert [belief.id for belief in memory.dependents("other")] == [above.id]
    assert [(near.memory.text, near.relation) for near in memory.related("other")] == [("mind the tea", "warns of")]
    assert memory.related("one") == []
    assert [version.belief.text for version in memory.history("other")][-1] == "tea is very hot"
    memory.remember("tea is warm", key="other")  # the key is its own again
    assert memory.show("one").text == "tea is hot"


def test_a_belief_forgotten_on_a_branch_is_seen_there_again_as_the_main_path_has_it(memory):
    memory.remember("Ana prefers tea", key="drink")
    memory.paths.branch("plan-b")
    memory.forget("drink", path="plan-b")
    memory.undo()
    memory.revise("drink", "Ana prefers coffee")

    assert held(memory, path="plan-b") == {"drink": "Ana prefers coffee"}
    assert [hit.text for hit in memory.recall("what does Ana prefer?", path="plan-b")] == ["Ana prefers coffee"]
    assert memory.paths.preview("plan-b").brought == ()


@pytest.mark.parametrize("approves", [True, False])
def test_an_answer_to_a_review_of_quarantined_words_is_undone_and_stays_answered(memory, door, approves):
    door("web").remember("Ana prefers beer")
    asked = memory.reviews.waiting()[0]
    (memory.reviews.approve if approves else memory.reviews.reject)(asked.id)
    assert bool(memory.recall("what does Ana prefer?")) is approves

    memory.undo()

    assert memory.recall("what does Ana prefer?") == []
    assert memory.reviews.get(asked.id).status == ("approved" if approves else "rejected")
    [again] = memory.reviews.waiting()
    assert memory.pages.list() == [] or all(not memory.pages.read(each.path).entries for each in memory.pages.list())
    memory.reviews.approve(again.id)
    assert [hit.text for hit in memory.recall("what does Ana prefer?")] == ["Ana prefers beer"]


def test_what_an_approval_carried_out_is_put_back(memory, agent):
    memory.remember("Ana prefers tea", key="drink")
    review = review_of(agent.forget, "drink")
    memory.reviews.approve(review)
    assert held(memory) == {}

    memory.undo("drink")

    assert held(memory) == {"drink": "Ana prefers tea"}
    assert memory.reviews.get(review).status == "approved"


def test_an_episode_is_retracted_and_one_that_was_retracted_or_archived_is_restored(memory):
    told = memory.observe("Pip is Priya's nickname. Lunch is at noon", id="e1")
    memory.archive("e1")
    memory.undo()
    memory.forget("e1")
    assert memory.recall("when is lunch?") == []
    memory.undo()

    assert [hit.id for hit in memory.recall("when is lunch?")] == ["e1"]
    assert [each.id for each in memory.episodes.recent()] == ["e1"]
    assert memory.recall("when is lunch?", believed_at=memory.ledger.size - 2) == []  # as it was while it was retracted
    memory.undo(told.seq)
    assert memory.recall("when is lunch?") == []


def test_pages_rules_frames_settings_sources_relations_and_paths_are_as_before(memory):
    memory.remember("a", key="a", about="person-ana")
    memory.remember("b", key="b")
    memory.pages.describe("person-ana", description="A friend", tags=["friend"])
    memory.rules.put(ConsolidationRule(id="r"))
    memory.frames.put("mine", {"similarity": 1.0})
    memory.relate("a", "b", "goes with")
    memory.paths.branch("b")

    def state() -> Any:
        page = memory.pages.read("person-ana").info
        return (
            page.description, page.tags, page.status, [each.rule for each in memory.rules.all()],
            memory.frames.get("mine"), memory.config.all()["top_k"], [each.withheld for each in memory.sources()],
            [(near.memory.key, near.relation) for near in memory.related("a")], memory.paths.get("b").state,
        )  # fmt: skip

    before, size = state(), memory.ledger.size
    changes: list[Callable[[], Any]] = [
        lambda: memory.pages.describe("person-ana", description="A foe"), lambda: memory.pages.archive("person-ana"),
        lambda: memory.rules.drop("r"), lambda: memory.frames.drop("mine"), lambda: memory.config.set("top_k", "9"),
        lambda: memory.distrust("python:local", reason="a test"), lambda: memory.relate("a", "b", ""),
        lambda: memory.paths.abandon("b", "no use"), lambda: memory.paths.reopen("b", "of use"),
        lambda: memory.paths.compact("b"),
    ]  # fmt: skip
    for change in changes:
        change()
    for _ in changes:
        assert memory.undo().event >= size

    assert state() == before
    memory.rebuild_index()
    assert state() == before


def test_an_edit_of_a_page_is_undone_and_the_page_shows_it(memory):
    memory.remember("Ana prefers tea", about="person-ana", key="tea")
    memory.remember("Ana is away", about="person-ana", key="away")
    memory.pages.sync()
    path = page_at(memory, "person-ana.md")
    text = path.read_text().replace("Ana prefers tea", "Ana prefers coffee")
    path.write_text(text.replace("Ana is away", "Ana is in"))
    memory.pages.sync()
    assert held(memory) == {"tea": "Ana prefers coffee", "away": "Ana is in"}

    found = memory.undo()

    assert held(memory) == {"tea": "Ana prefers tea", "away": "Ana is away"}
    assert len(found.changes) == 2, "an edit of one page is one group"
    memory.pages.sync()
    assert [entry.text for entry in memory.pages.read("person-ana").entries] == ["Ana prefers tea", "Ana is away"]
    assert held(memory) == {"tea": "Ana prefers tea", "away": "Ana is away"}, "and nothing of the page comes back"


def test_a_page_that_was_renamed_has_its_name_again(memory):
    memory.remember("Ana prefers tea", about="person-ana", key="tea")
    memory.pages.describe("person-ana", description="A friend")
    memory.pages.sync()
    page_at(memory, "person-ana.md").rename(page_at(memory, "person-anna.md"))
    memory.pages.sync()
    assert memory.show("tea").about == "person-anna"

    memory.undo()
    memory.pages.sync()

    assert (memory.show("tea").about, memory.pages.read("person-ana").info.description) == ("person-ana", "A friend")
    assert [page.path for page in memory.pages.list() if page.entry_count] == ["person-ana.md"]
    memory.pages.sync()
    assert memory.show("tea").about == "person-ana"
    assert not page_at(memory, "person-anna.md").exists()


def test_a_batch_is_undone_as_one(memory):
    with memory.batch():
        memory.remember("one", key="one")
        memory.remember("two", key="two")
    memory.remember("three", key="three")

    memory.undo("two")

    assert held(memory) == {"three": "three"}


# -- which change ------------------------------------------------------------------------------------------------------


def test_undoing_again_goes_further_back_and_an_undo_is_undone_by_its_own_event(memory):
    for text in ("one", "two", "three"):
        memory.remember(text, key=text)
    done = [memory.undo(), memory.undo()]
    assert held(memory) == {"one": "one"}

    memory.undo(done[0].seq)  # which puts the last one back
    assert held(memory) == {"one": "one", "three": "three"}
    assert memory.undo().event == done[0].event, "it is there again, and the last that is"
    assert undo_all(memory) == 1
    assert held(memory) == {}


def test_a_change_is_named_by_its_event_or_by_what_it_changed(memory):
    belief = memory.remember("one", key="mine")
    event = next(memory.log(belief.seq))
    for name in (belief.seq, str(belief.seq), event.id, belief.id, belief.id[-6:], "mine"):
        assert memory.undo(name, dry_run=True).event == belief.seq
    memory.forget("mine")
    assert memory.undo(belief.id).event == belief.seq + 1, "of a belief it is the last change"

    for name in (10_000, -1, "nobody", "01M7TRRF3JJSVB0FPVBZEFEJB3"):
        with pytest.raises(NotFound):
            memory.undo(name)


def test_what_is_undone_already_is_not_undone_twice(memory):
    first = memory.remember("one", key="mine")
    memory.undo()
    with refuses("state", str(first.seq)):
        memory.undo(first.seq)
    with pytest.raises(NotFound):
        memory.undo()


def test_receipts_reviews_and_outcomes_are_no_changes_to_undo(memory, agent):
    belief = memory.remember("Ana prefers tea")
    memory.recall("tea?", receipt=True)
    memory.receipts.flush()
    memory.outcome([belief.id], 1.0)
    review_of(agent.forget, belief.id)

    assert memory.undo(dry_run=True).event == belief.seq
    with refuses("state"):
        memory.undo(belief.seq + 1)


def test_a_look_changes_nothing(memory):
    memory.remember("one")
    size = memory.ledger.size
    found = memory.undo(dry_run=True)

    assert (found.seq, [each.what for each in found.changes], memory.ledger.size) == (-1, ["gone"], size)
    with Memory(memory.folder, read_only=True) as reader:
        assert reader.undo(dry_run=True).event == found.event


def test_the_log_shows_who_undid_what_and_nothing_is_lost(memory):
    with memory.batch():
        memory.remember("one", key="one")
        memory.remember("two", key="two")
    lines = list(memory._folder.ledger.lines())
    memory.undo(reason="a mistake")

    events = list(memory.log(len(lines)))
    assert list(memory._folder.ledger.lines())[: len(lines)] == lines
    assert {event.body["undoes"]["seq"] for event in events} == {1}
    assert {event.body["reason"] for event in events} == {"undoes event 1: a mistake"}
    assert memory.ledger.verify().ok


# -- what cannot be undone ---------------------------------------------------------------------------------------------


def test_what_later_changes_depend_on_is_undone_after_them(memory):
    first = memory.remember("one", key="mine")
    second = memory.revise("mine", "two")
    third = memory.revise("mine", "three")
    ground = memory.remember("ground", key="ground")
    above = memory.remember("above", rests_on=["ground"])

    with refuses("state", str(third.seq)):
        memory.undo(second.seq)
    with refuses("state", str(above.seq)):
        memory.undo(ground.seq)
    for seq in (above.seq, ground.seq, third.seq, second.seq):
        memory.undo(seq)

    assert held(memory) == {"mine": "one"}
    assert memory.show("mine").at == first.at


def test_an_episode_that_made_facts_is_undone_after_them(memory):
    told = memory.observe("x", metadata={"subject": "Ana", "predicate": "likes", "object": "tea"})
    memory.consolidate(ConsolidationRule(id="r"))
    [fact] = memory.facts.query()
    with refuses("state", str(memory.show(fact.id).seq)):
        memory.undo(told.seq)
    memory.undo(memory.show(fact.id).seq)
    memory.undo(told.seq)
    assert memory.episodes.recent() == []


def test_a_later_setting_is_undone_first(memory):
    memory.config.set("top_k", "7")
    memory.config.set("top_k", "9")
    [first, second] = [event.seq for event in memory.log(op="config")]
    with refuses("state", str(second)):
        memory.undo(first)


def test_a_later_change_of_something_else_about_a_belief_that_only_moved_is_kept(memory):
    memory.remember("Ana prefers tea", key="tea", about="person-ana")
    moved = memory.revise("tea", about="person-anna")
    memory.revise("tea", "Ana prefers coffee")

    memory.undo(moved.seq)

    assert (memory.show("tea").text, memory.show("tea").about) == ("Ana prefers coffee", "person-ana")


def compact_page(memory: Memory) -> None:
    old = memory.pages.append("user-profile", "User works at Old Corp as a principal engineer.", ["work"])
    memory.pages.supersede("user-profile", old.id, "User joined Acme Corp as a senior engineer.", "a new job")
    assert memory.pages.compact("user-profile").is_any


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.erase("mine"), lambda m: m.ledger.compact(), compact_page,
        lambda m: (m.paths.branch("b"), m.remember("x", path="b"), m.paths.merge("b")), lambda m: m.paths.branch("c"),
    ],
    ids=["erasure", "ledger compaction", "page compaction", "merge of a path", "branch"],
)  # fmt: skip
def test_an_erasure_and_what_is_compacted_or_merged_for_good_is_not_undone(memory, change):
    memory.remember("Ana prefers tea", key="mine", about="person-ana")
    memory.remember("Ana prefers tea over coffee", about="person-ana")
    memory.revise("mine", "Ana prefers coffee")
    change(memory)
    last = memory.ledger.size - 1
    before = held(memory)

    with refuses("state", "event"):
        memory.undo(last)
    assert held(memory) == before


def test_what_was_erased_since_stays_erased_and_the_rest_of_the_group_is_put_back(memory):
    with memory.batch():
        memory.remember("zuxu one", key="one")
        memory.remember("two", key="two")
    made = memory.ledger.size - 1
    memory.erase("one")
    memory.undo(made)
    assert held(memory) == {}
    with pytest.raises(Refused):
        memory.undo(made - 1)
    assert files_with(memory.folder, "zuxu") == []


def test_one_of_two_that_were_merged_and_parted_is_erased_alone(memory):
    memory.remember("zuxu one", key="one", evidence=["zuxu said so"])
    memory.remember("two", key="two")
    memory.apply(memory.action("merge", "two", "one"))
    memory.undo()
    memory.rebuild_index()

    memory.erase("one")

    assert files_with(memory.folder, "zuxu") == []
    assert held(memory) == {"two": "two"}
    assert [hit.text for hit in memory.recall("two")] == ["two"]
    with Memory(memory.folder) as again:
        again._folder.ledger.refresh()
        assert held(again) == {"two": "two"}
    memory.rebuild_index()
    assert [version.belief.text for version in memory.history("two")][-1] == "two"


# -- whose change ------------------------------------------------------------------------------------------------------


def test_nobody_undoes_anothers_change(memory):
    memory.remember("mine", key="k")
    with Memory(memory.folder, user="bob") as other:
        with pytest.raises(NotFound):
            other.undo()
        with pytest.raises(NotFound):
            other.undo(1)
        other.remember("his")
        assert other.undo().changes[0].before.text == "his"
    assert held(memory) == {"k": "mine"}


def test_a_person_undoes_what_they_changed_anywhere_and_a_program_only_its_own(memory, door, agent):
    memory.remember("by hand", key="hand")
    with Memory(memory.folder, by="http:local") as page:
        page.remember("on the page", key="page")
    agent.remember("by the agent", key="agent")
    door("agent", by="mcp:other").remember("by another", key="other")

    assert agent.undo().changes[0].key == "agent"
    with pytest.raises(NotFound):
        agent.undo()
    assert [memory.undo().changes[0].key for _ in range(2)] == ["page", "hand"]
    with needs_approval("none"):
        agent.undo("other")
    with refuses("permission"):
        door("web").undo("other")


def test_an_agents_undo_of_a_persons_change_waits_for_an_approval_that_does_it(memory, agent):
    memory.remember("Ana prefers tea", key="drink")
    memory.revise("drink", "Ana prefers coffee")
    review = review_of(agent.undo, "drink")
    assert held(memory) == {"drink": "Ana prefers coffee"}
    assert review_of(agent.undo, "drink") == review, "it is asked once"

    memory.reviews.approve(review)
    assert held(memory) == {"drink": "Ana prefers tea"}

    again = review_of(agent.undo, memory.ledger.size - 1)
    memory.revise("drink", "Ana prefers water")
    with pytest.raises(Exception, match="stale"):
        memory.reviews.approve(again)
    assert held(memory) == {"drink": "Ana prefers water"}


def test_the_policy_judges_what_an_undo_comes_to(memory, door):
    memory.replace_settings('[[policy.rules]]\naction = ["forget"]\ntrust = ["agent"]\nthen = "refuse"\n')
    with Memory(memory.folder, trust="agent", by="mcp:x") as agent:
        made = agent.remember("Ana prefers tea", key="drink")
        with not_approved("refused"):
            agent.undo(made.seq)  # it would forget it
        agent.revise("drink", "Ana prefers coffee")
        agent.undo()
        assert held(agent) == {"drink": "Ana prefers tea"}
    memory.rules.put(ConsolidationRule(id="r"))
    with pytest.raises(Refused):
        door("agent").undo(memory.ledger.size - 1)
    assert len(memory.rules.all()) == 1


def test_words_that_a_distrusted_source_said_are_still_its_own_when_they_are_put_back(memory, door):
    bad = door("agent", by="mcp:bad")
    bad.remember("Ana prefers beer", key="drink")
    memory.revise("drink", "Ana prefers tea")
    memory.undo()
    assert [hit.by for hit in memory.recall("what does Ana prefer?")] == ["mcp:bad"]

    memory.distrust("mcp:bad")

    assert memory.recall("what does Ana prefer?") == []
    assert memory.withheld("drink") is not None


def test_a_program_gets_no_words_by_undoing_that_it_may_not_read(memory, door):
    door("web").remember("the secret plan", key="plan")
    memory.revise("plan", "my own plan")
    found = memory.undo()
    assert found.changes[0].after.text == "the secret plan"
    agent = door("agent")
    with pytest.raises(Refused):
        agent.undo("plan")
    assert "secret" not in str([event.body for event in agent.log()])


# -- two processes, a rebuild, and a crash -----------------------------------------------------------------------------


def test_two_programs_that_undo_at_once_undo_one_change(memory):
    memory.remember("one", key="one")
    memory.remember("two", key="two")
    last = memory.ledger.size - 1
    with Memory(memory.folder) as other:
        memory.undo(last)
        with refuses("state"):
            other.undo(last)
        assert held(other) == {"one": "one"}
        other.revise("one", "uno")
    with refuses("state"):
        memory.undo(1)


def test_a_crash_leaves_all_of_an_undo_or_nothing(memory, tmp_path):
    memory.remember("Ana works at Acme", key="work")
    memory.remember("Ana commutes", key="commute", rests_on=["work"])
    memory.invalidate("work", "she never did")
    before = held(memory)
    found = memory.undo()
    after = held(memory)
    memory.close()
    wal = memory.folder / "events.wal"
    whole = wal.read_bytes()
    lines = whole.splitlines(keepends=True)
    start = len(b"".join(lines[: found.seq]))

    for cut in (*range(start + 1, len(whole), 97), len(whole) - 1):
        wal.write_bytes(whole[:cut])
        for name in ("state.db", "state.db-wal", "state.db-shm", "lock"):
            (memory.folder / name).unlink(missing_ok=True)
        with Memory(memory.folder, notify=lambda _: None) as again:
            assert held(again) in (before, after)
            assert (held(again) == after) is (again.ledger.size > found.seq + 1 and b"torn" not in wal.read_bytes())


def test_an_undo_reads_no_index_and_no_file(memory):
    memory.remember("The port is 5432")
    memory.remember("The port is 6543")
    memory.close()
    (memory.folder / "state.db").unlink()
    with Memory(memory.folder, notify=lambda _: None) as again:
        assert isinstance(again.undo(), Undone)
        assert list(held(again).values()) == ["The port is 5432"]


def test_what_was_moved_away_with_the_first_segments_is_not_undone(memory, tmp_path):
    memory.remember("one", key="one")
    memory.ledger.compact()
    memory.revise("one", "two")
    memory.undo()
    assert held(memory) == {"one": "one"}
    memory.revise("one", "three")
    memory.ledger.compact()
    memory.ledger.prune(tmp_path / "away")
    with pytest.raises(Exception, match="moved|event"):
        memory.undo(1)
    memory.revise("one", "four")
    memory.undo()
    assert held(memory) == {"one": "three"}
