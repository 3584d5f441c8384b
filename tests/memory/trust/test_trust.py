"""Whom to trust: a source goes out of recall at one word, and comes back at one word; nothing of it is deleted."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tallystick import ConsolidationRule, Memory, NeedsApproval, NotFound, Refused
from tallystick.records.delta import AddDelta, DeltaScope
from tests.refusals import not_approved, refuses

NOON = datetime(2026, 5, 20, 12, tzinfo=UTC)


@pytest.fixture
def doors(tmp_path: Path):
    """A person, two agents, a tool and a web page, at one memory, with one clock."""
    moment = [NOON]

    def clock() -> datetime:
        moment[0] += timedelta(seconds=1)
        return moment[0]

    names = {"me": "human", "a": "agent", "b": "agent", "tool": "tool", "web": "web"}
    opened = {
        name: Memory(tmp_path / "memory", by=f"{'cli' if name == 'me' else 'mcp'}:{name}", trust=trust, clock=clock,
                     embedder="none")
        for name, trust in names.items()
    }  # fmt: skip
    yield opened
    for each in opened.values():
        each.close()


def texts(memory: Memory, question: str = "deploy day", **asked) -> list[str]:
    return [hit.text for hit in memory.recall(question, **asked)]


def ops(memory: Memory) -> list[str]:
    return [event.op for event in memory.log()]


def a_story(doors) -> None:
    doors["a"].remember("The deploy day is Friday.", key="deploy")
    doors["b"].revise("deploy", "The deploy day is Monday.")


def test_one_event_takes_a_source_out_and_brings_back_what_it_replaced(doors):
    a_story(doors)
    before = len(ops(doors["me"]))

    doors["me"].distrust("mcp:b", reason="it makes things up")

    assert ops(doors["me"])[before:] == ["trust.set/1"]
    assert [texts(door) for door in doors.values()] == [["The deploy day is Friday."]] * 5
    assert [hit.text for hit in doors["me"].frame("attention", "deploy day").hits] == ["The deploy day is Friday."]


def test_and_one_event_undoes_that_exactly(doors):
    a_story(doors)
    doors["b"].remember("Tea is served on the deploy day.")
    before = doors["me"].recall("deploy day", k=9)
    doors["me"].distrust("mcp:b")

    doors["me"].restore_trust("mcp:b")

    assert list(doors["me"].recall("deploy day", k=9)) == list(before)
    assert ops(doors["me"])[-2:] == ["trust.set/1", "trust.set/1"]


def test_who_asks_for_what_is_kept_out_sees_both_and_which_is_which(doors):
    a_story(doors)
    doors["me"].distrust("mcp:b")
    why = {hit.text: hit.why for hit in doors["me"].recall("deploy day", quarantined=True)}
    assert "withheld, because mcp:b is not trusted" in why["The deploy day is Monday."]
    assert "what took its place is withheld" in why["The deploy day is Friday."]


def test_a_question_about_an_earlier_moment_is_answered_as_it_was_then(doors):
    a_story(doors)
    seq = len(ops(doors["me"])) - 1
    doors["me"].distrust("mcp:b")
    doors["me"].restore_trust("mcp:b")

    found = doors["me"].recall("deploy day", believed_at=seq)
    assert ([hit.text for hit in found], "withheld" in found[0].why) == (["The deploy day is Monday."], False)
    assert texts(doors["me"], believed_at=seq + 1) == ["The deploy day is Friday."]
    assert texts(doors["me"], believed_at=seq + 2) == ["The deploy day is Monday."]


def test_a_chain_of_its_revisions_leads_back_to_what_another_said_and_a_later_word_of_another_stands(doors):
    a_story(doors)
    doors["b"].revise("deploy", "The deploy day is Tuesday.")
    doors["me"].distrust("mcp:b")
    assert texts(doors["me"]) == ["The deploy day is Friday."]

    doors["me"].revise("deploy", "The deploy day is Thursday.")

    assert texts(doors["me"]) == ["The deploy day is Thursday."]


def test_what_it_forgot_and_another_stated_anew_is_as_the_other_says_and_ended_once_more_it_is_gone(doors):
    a_story(doors)
    doors["b"].forget("deploy")
    doors["a"].remember("The deploy day is Wednesday.", key="deploy")
    doors["a"].remember("The tea is green.", key="tea")
    doors["b"].revise("tea", "The tea is grey.", status="deprecated")

    doors["me"].distrust("mcp:b")

    assert texts(doors["me"]) == ["The deploy day is Wednesday."]
    assert texts(doors["me"], "tea") == ["The tea is green."]
    doors["me"].forget("tea")
    assert texts(doors["me"], "tea") == []


def test_what_it_put_out_of_sight_is_seen_again_and_what_a_person_put_out_of_sight_is_not(doors):
    doors["a"].remember("Tea is green.", key="tea")
    doors["a"].remember("Milk is white.", key="milk")
    told = doors["a"].observe("The kettle is new.")
    doors["b"].forget("tea")
    doors["b"].episodes.retract(told.id)
    doors["me"].forget("milk")

    doors["me"].distrust("mcp:b")

    assert texts(doors["me"], "tea") == ["Tea is green."]
    assert texts(doors["me"], "kettle") == ["The kettle is new."]
    assert texts(doors["me"], "milk") == []


@pytest.mark.parametrize("source", ["mcp:b", "mcp:*", "agent:bob", "session:night", "trust:agent"])
def test_a_source_is_named_by_door_and_id_by_door_by_agent_by_session_or_by_trust(doors, source):
    doors["b"].remember("The moon is cheese.", agent="bob", session="night")
    doors["b"].observe("The moon was seen.", agent="bob", session="night")
    doors["me"].remember("The moon is rock.")

    doors["me"].distrust(source)

    assert texts(doors["me"], "moon") == ["The moon is rock."]
    assert doors["me"].withheld(doors["me"].beliefs.query()[0].id).source == source


def test_since_a_moment_only_what_it_said_from_then_on(doors):
    doors["b"].remember("The first word about tea.")
    then = doors["b"].remember("The second word about tea.").at
    doors["b"].remember("The third word about tea.")
    for moment in (then, datetime.fromisoformat(then), 2):
        doors["me"].distrust("mcp:b", since=moment)
        assert texts(doors["me"], "word tea") == ["The first word about tea."]
        assert doors["me"].withheld(doors["me"].beliefs.query()[0].id) is None
        doors["me"].restore_trust("mcp:b")
    doors["me"].distrust("mcp:b", since="2026-05-20")
    assert texts(doors["me"], "word tea") == []


def test_what_it_says_from_now_on_is_kept_out_too_and_reinforces_nothing(doors):
    doors["me"].remember("The kettle is red.")
    doors["me"].distrust("mcp:b")

    doors["b"].remember("The kettle is blue and hot.")
    doors["b"].observe("The kettle is red.")

    assert texts(doors["me"], "kettle") == ["The kettle is red."]
    counted = doors["me"]._context.index.read(
        lambda file: file.db.execute("SELECT reinforcement_count FROM blocks WHERE content LIKE '%red%'").fetchall()
    )
    assert counted == [(0,)]


def test_get_show_history_and_pages_go_on_showing_what_is_held(doors):
    a_story(doors)
    doors["me"].distrust("mcp:b")
    assert doors["me"].get("deploy").text == "The deploy day is Monday."
    assert [version.belief.text[-7:-1] for version in doors["me"].history("deploy")] == ["Friday", "Monday"]
    assert doors["me"].withheld("deploy").why == "mcp:b is not trusted"


def test_facts_are_left_out_and_come_back_as_in_recall(doors):
    doors["a"].remember("Ana works at Acme", triple=("Ana", "works_at", "Acme"), key="work")
    doors["b"].revise("work", "Ana works at Evil", triple=("Ana", "works_at", "Evil"))
    doors["b"].remember("Bob works at Evil", triple=("Bob", "works_at", "Evil"))
    seq = len(ops(doors["me"])) - 1

    doors["me"].distrust("mcp:b")

    assert [fact.triple for fact in doors["me"].facts.query()] == [("Ana", "works_at", "Acme")]
    assert len(doors["me"].facts.query(quarantined=True)) == 2
    assert {fact.triple[2] for fact in doors["me"].facts.query(believed_at=seq)} == {"Evil"}


def test_its_episodes_are_consolidated_no_more_and_a_delta_that_names_one_is_worth_little(doors):
    told = doors["b"].observe("x", id="e1", metadata={"subject": "Ana", "predicate": "likes", "object": "tea"})
    doors["me"].distrust("mcp:b")

    assert doors["me"].consolidate(ConsolidationRule(id="all")).facts == []
    delta = AddDelta(
        source_episode_ids=[told.id], promotion_ts=NOON, rule_id="r", confidence=0.9, scope=DeltaScope(user="me"),
        fact_payload={"subject": "Ana", "predicate": "likes", "object": "tea"},
    )  # fmt: skip
    [fact] = doors["me"].facts.apply_delta(delta)
    assert fact.trust == "tool"
    assert doors["me"].facts.query() == []


def test_it_is_a_persons_word_and_each_users_own(doors):
    doors["b"].remember("Ana has tea.", user="ana")
    doors["b"].remember("I have tea.")
    for name in ("a", "b", "tool", "web"):
        with not_approved("refused", "distrust a source"):
            doors[name].distrust("cli:me")
        with not_approved("refused", "trust a source"):
            doors[name].restore_trust("cli:me")
    doors["me"].distrust("mcp:b")
    assert texts(doors["me"], "tea") == []
    assert texts(doors["me"], "tea", user="ana") == ["Ana has tea."]
    assert [each.source for each in doors["me"].sources(user="ana")] == ["mcp:b"]
    assert [event for event in Memory(doors["me"].folder, user="ana").log() if event.op == "trust.set/1"] == []


@pytest.mark.parametrize(
    "source", ["", "mcp", ":", "mcp:", ":x", "mcp:a*", "m*:a", "trust:nobody", "agent:*", "x" * 300, 7]
)
def test_a_name_that_can_be_no_source_is_refused_and_nothing_is_written(doors, source):
    with pytest.raises(Refused, check=lambda error: error.code in ("name", "value")):
        doors["me"].distrust(source)
    assert "trust.set/1" not in ops(doors["me"])


def test_odd_moments_reasons_and_repetitions(doors):
    doors["me"].remember("x")
    for since in ("2099-01-01", "yesterday-ish", True, -1, 1.5):
        with pytest.raises(Refused):
            doors["me"].distrust("mcp:b", since=since)
    with refuses("value", "reason"):
        doors["me"].distrust("mcp:b", reason=7)
    with pytest.raises(NotFound, match="'mcp:b'"):
        doors["me"].restore_trust("mcp:b")
    doors["me"].distrust("mcp:b", reason="one")
    doors["me"].distrust("mcp:b", reason="one")
    doors["me"].distrust("mcp:b", reason="two")
    assert ops(doors["me"]).count("trust.set/1") == 2


def test_sources_are_listed_with_what_they_hold_and_how_they_stand(doors):
    doors["me"].remember("one")
    doors["web"].remember("two")
    doors["web"].observe("three")
    doors["b"].remember("four", agent="bob")
    doors["me"].distrust("agent:bob", reason="r")

    found = {(each.source, each.trust): each for each in doors["me"].sources()}
    assert list(found) == [("cli:me", "human"), ("mcp:b", "agent"), ("mcp:web", "web"), ("agent:bob", "")]
    web = found["mcp:web", "web"]
    assert (web.beliefs, web.episodes, web.waiting, web.withheld) == (1, 1, 2, None)
    assert found["agent:bob", ""].beliefs == 1
    assert found["agent:bob", ""].withheld.reason == "r"


def test_the_reasons_say_what_was_left_out_and_do_not_say_its_words(doors):
    a_story(doors)
    doors["me"].distrust("mcp:b", reason="it makes things up")
    found = doors["me"].recall("deploy day", explain=True)
    [left] = [each for each in found.nearly if "not trusted" in each.why]
    assert left.why == "mcp:b is not trusted: it makes things up"
    assert "Monday" not in repr(found.to_dict())


def test_an_index_made_anew_and_one_after_pruning_leave_it_out_too(doors, tmp_path):
    a_story(doors)
    doors["b"].remember("The moon is cheese.")
    doors["me"].remember("The moon is rock.")
    doors["me"].distrust("mcp:b")
    doors["me"].rebuild_index()
    assert texts(doors["me"]) == ["The deploy day is Friday."]

    doors["me"].ledger.compact()
    doors["me"].ledger.prune(tmp_path / "away")
    doors["me"].rebuild_index()

    assert texts(doors["me"], "moon") == ["The moon is rock."]
    assert texts(doors["me"]) == []  # the version before was moved away with its event
    doors["me"].restore_trust("mcp:b")
    assert texts(doors["me"]) == ["The deploy day is Monday."]


def test_a_snapshot_and_another_process_know_it(doors):
    a_story(doors)
    doors["me"].distrust("mcp:b")
    doors["me"].ledger.compact()
    with Memory(doors["me"].folder, embedder="none") as other:
        assert texts(other) == ["The deploy day is Friday."]
        assert other.withheld("deploy").source == "mcp:b"


# -- what is derived ---------------------------------------------------------------------------------------------------


def test_what_rests_on_a_page_waits_like_the_page_whoever_says_it(doors):
    page = doors["web"].remember("The bank has closed.")
    for name in ("me", "a", "tool"):
        derived = doors[name].remember(f"So {name} needs another bank.", rests_on=[page.id])
        assert derived.trust == "web"
    assert texts(doors["me"], "another bank needs") == []
    assert "it rests on" in doors["me"].reviews.waiting()[-1].why


def test_what_rests_on_an_approved_page_does_not_wait_and_a_later_yes_is_for_each(doors):
    page = doors["web"].remember("The bank has closed.")
    early = doors["me"].remember("So I need another bank.", rests_on=[page.id])
    [first, second] = doors["me"].reviews.waiting()

    doors["me"].reviews.approve(first.id)

    assert doors["me"].remember("So Bob needs a new bank.", rests_on=[page.id]).trust == "human"
    assert doors["me"].reviews.is_approved(early) is False
    doors["me"].reviews.approve(second.id)
    assert texts(doors["me"], "another bank") != []


def test_what_rests_on_an_agents_word_stays_the_persons_own(doors):
    ground = doors["a"].remember("The bank has closed.")
    mine = doors["me"].remember("So I need another bank.", rests_on=[ground.id])
    assert mine.trust == "human"
    with pytest.raises(NeedsApproval):
        doors["a"].revise(mine.id, "So I need no bank.")


def test_an_agent_cannot_put_what_rests_on_a_page_in_the_place_of_what_is_recalled(doors):
    page = doors["web"].remember("The bank has closed.")
    doors["a"].remember("The bank is open.", key="bank")
    with pytest.raises(NeedsApproval):
        doors["a"].remember("The bank is closed for good.", key="bank", rests_on=[page.id])
    with pytest.raises(NeedsApproval):
        doors["a"].revise("bank", "The bank is closed for good.", rests_on=[page.id])
    assert texts(doors["me"], "bank") == ["The bank is open."]


def test_what_rests_on_a_source_that_was_set_aside_waits(doors):
    ground = doors["b"].remember("The bank has closed.")
    doors["me"].distrust("mcp:b")
    assert doors["a"].remember("So we need another bank.", rests_on=[ground.id]).trust == "tool"


def test_only_what_is_trusted_alike_becomes_one(doors):
    from tallystick.records.proposal import MERGE, REPEAT, Proposal

    names = [doors[name].remember("The shop opens at nine.").id for name in ("me", "a", "b")]
    [merge] = [each for each in doors["me"].tidy.proposals() if each.action == MERGE]
    assert set(merge.ids) == set(names[1:])
    mixed = Proposal(kind=REPEAT, ids=tuple(names[:2]), texts=("x", "y"), why="", action=MERGE, user="me")
    with refuses("mismatch", "trust differs"):
        doors["me"].tidy.apply(mixed)
    doors["me"].tidy.apply(merge)
    assert sorted(belief.trust for belief in doors["me"].beliefs.query()) == ["agent", "human"]


def test_what_rests_on_what_was_borne_out_does_not_wait(doors):
    page = doors["web"].remember("The shop opens at nine.")
    doors["b"].remember("The shop opens at nine.")
    assert doors["a"].remember("So we meet at nine.", rests_on=[page.id]).trust == "agent"
    assert doors["me"].remember("So I get up early.", rests_on=[page.id]).trust == "human"


# -- corroboration -----------------------------------------------------------------------------------------------------


def says(memory: Memory, question: str) -> list[tuple[str, ...]]:
    return [hit.sources for hit in memory.recall(question)]


@pytest.mark.parametrize("who", ["me", "a"])
def test_what_a_page_said_is_borne_out_when_another_trusted_source_says_exactly_that(doors, who):
    page = doors["web"].remember("The shop opens at nine.", tags=["self/constitutional"], always=True, confidence=1.0)
    mine = doors[who].remember("The shop opens at nine.")

    [(first, second)] = says(doors["me"], "when does the shop open?")
    assert {first, second} == {page.id, mine.id}
    assert doors["me"].reviews.waiting() == []
    [hit] = doors["me"].recall("when does the shop open?")
    assert (hit.signals["confidence"], hit.tags, hit.is_standing) == (0.7, (), False)
    assert page.id not in [hit.id for hit in doors["me"].frame("self", "").hits]
    for query in ("SELECT max(standing) FROM sources", "SELECT count(*) FROM block_tags"):
        assert doors["me"]._context.index.read(lambda file, query=query: file.db.execute(query).fetchone()) == (0,)
    assert [event.op for event in doors["me"].log()][-2:] == ["trust.corroborate/1", "review.answer/1"]
    assert doors["me"].recall("when does the shop open?", believed_at=page.seq) == []


def test_nobody_bears_out_what_they_say_themselves_through_the_same_door(doors):
    doors["a"].remember("The shop opens at nine.", trust="web")
    mine = doors["a"].remember("The shop opens at nine.")
    assert says(doors["me"], "when does the shop open?") == [(mine.id,)]
    assert len(doors["me"].reviews.waiting()) == 1


@pytest.mark.parametrize("who", ["tool", "web"])
def test_two_sources_that_are_kept_out_do_not_bear_each_other_out(doors, who):
    doors["web"].remember("The shop opens at nine.")
    doors[who].remember("The shop opens at nine.", agent="other")
    assert says(doors["me"], "when does the shop open?") == []


def test_other_letters_are_other_words_and_what_came_first_confirms_nothing(doors):
    mine = doors["me"].remember("The code is ABC.")
    doors["web"].remember("The code is ABC.", confidence=1.0, always=True)
    doors["web"].remember("the code is abc.")
    other = doors["me"].remember("THE CODE IS ABC.")
    assert {name for names in says(doors["me"], "what is the code?") for name in names} == {mine.id, other.id}


@pytest.mark.parametrize(("needed", "voices"), [(0, 3), (2, 2), (3, 3)])
def test_how_many_are_needed_is_set_and_none_means_only_a_persons_yes(doors, needed, voices):
    (doors["me"].folder / "tallystick.toml").write_text(f"[policy]\ncorroborate = {needed}\n")
    page = doors["web"].remember("The shop opens at nine.")
    for number, name in enumerate(("a", "b", "me")[:voices], 1):
        assert page.id not in [each for hit in says(doors["me"], "when does the shop open?") for each in hit]
        doors[name].observe("The shop opens at nine.", id=f"e{number}")
    found = [each for hit in says(doors["me"], "when does the shop open?") for each in hit]
    assert (page.id in found) is (needed > 0)


def test_what_was_set_aside_bears_nothing_out(doors):
    doors["web"].remember("The shop opens at nine.")
    doors["me"].distrust("mcp:b")
    doors["b"].remember("The shop opens at nine.")
    assert says(doors["me"], "when does the shop open?") == []


def test_what_was_erased_bears_nothing_out(doors):
    (doors["me"].folder / "tallystick.toml").write_text("[policy]\ncorroborate = 2\n")
    doors["web"].remember("The shop opens at nine.")
    said = doors["a"].remember("The shop opens at nine.")
    doors["me"].erase(said.id)
    doors["b"].remember("The shop opens at nine.")
    assert "trust.corroborate/1" not in ops(doors["me"])


def test_what_was_said_before_a_page_said_it_again_bears_out_the_first_time_alone(doors):
    (doors["me"].folder / "tallystick.toml").write_text("[policy]\ncorroborate = 2\n")
    first = doors["web"].remember("The shop opens at nine.", key="one")
    doors["a"].remember("The shop opens at nine.")
    doors["tool"].remember("The shop opens at nine.", key="two")
    doors["b"].remember("The shop opens at nine.")
    [event] = doors["me"].log(op="trust.corroborate")
    assert event.body["ids"] == [first.id]


def test_erasing_what_is_in_doubt_leaves_nothing_to_bear_out(doors):
    page = doors["web"].remember("The shop opens at nine.")
    doors["me"].erase(page.id)
    doors["me"].remember("The shop opens at nine.")
    assert "trust.corroborate/1" not in ops(doors["me"])


# -- in the graph ------------------------------------------------------------------------------------------------------


def graphed(memory: Memory) -> tuple[list[str], dict[str, object]]:
    """The relations that hold now, and what is told of Ana."""
    graph = memory.graph
    held = [edge for edge in graph.list_edges() if not edge.valid_to]
    return [f"{edge.source} {edge.kind} {edge.target}" for edge in held], dict(graph.load_node("person-ana").properties)


def a_related_story(doors) -> None:
    doors["a"].remember("Ana lives in Oslo.", key="home", about="person-ana", triple=("Ana", "lives in", "Oslo"))
    doors["a"].remember("Bob drinks tea.", about="person-bob", triple=("Bob", "drinks", "tea"))
    doors["b"].revise("home", "Ana lives in Bergen.", triple=("Ana", "lives in", "Bergen"))
    doors["b"].remember("Ana knows Bob.", key="knows", about="person-ana", triple=("Ana", "knows", "Bob"))


def test_the_graph_leaves_a_source_out_and_has_it_back_with_one_word(doors):
    a_related_story(doors)
    before = [graphed(door) for door in doors.values()]
    assert before == [(["person-ana knows person-bob"], {"lives in": ["Bergen"]})] * 5

    doors["me"].distrust("mcp:b")
    assert [graphed(door) for door in doors.values()] == [([], {"lives in": ["Oslo"]})] * 5
    doors["b"].remember("Bob knows Ana.", key="bob", about="person-bob", triple=("Bob", "knows", "Ana"))
    assert graphed(doors["a"]) == ([], {"lives in": ["Oslo"]})

    doors["me"].restore_trust("mcp:b")
    doors["me"].forget("bob")
    assert [graphed(door) for door in doors.values()] == before


def test_in_the_graph_who_replaces_what_a_distrusted_source_said_replaces_what_stood_before_it(doors):
    a_related_story(doors)
    doors["me"].distrust("mcp:b")
    doors["me"].revise("home", "Ana lives in Rome.", triple=("Ana", "lives in", "Rome"))

    assert graphed(doors["tool"]) == ([], {"lives in": ["Rome"]})


def test_in_the_graph_what_a_distrusted_source_withdrew_stands(doors):
    a_related_story(doors)
    doors["a"].remember("Bob knows Ana.", key="bob", about="person-bob", triple=("Bob", "knows", "Ana"))
    doors["b"].forget("bob")
    assert graphed(doors["a"])[0] == ["person-ana knows person-bob"]

    doors["me"].distrust("mcp:b")
    assert graphed(doors["a"])[0] == ["person-bob knows person-ana"]


def test_a_graph_that_followed_along_and_one_made_anew_leave_out_the_same(doors):
    a_related_story(doors)
    doors["me"].distrust("mcp:b", since="2026-05-20T12:00:04Z")
    doors["me"].revise("home", "Ana lives in Rome.", triple=("Ana", "lives in", "Rome"))
    followed = doors["me"].graph.export_envelope().to_bytes()

    doors["me"].rebuild_index()
    assert doors["me"].graph.export_envelope().to_bytes() == followed
    assert b"Rome" in followed
