"""Whom to trust: a source goes out of recall at one word, and comes back at one word; nothing of it is deleted."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tallystick import ConsolidationRule, Memory, NotFound, Refused
from tallystick.records.delta import AddDelta, DeltaScope
from tests.memory.conftest import review_of
from tests.refusals import not_approved, refuses

NOON = datetime(2026, 5, 20, 12, tzinfo=UTC)
SHOP = "The shop opens at nine."


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


def test_one_event_takes_a_source_out_brings_back_what_it_replaced_and_leaves_what_is_held(doors):
    a_story(doors)
    before = len(ops(doors["me"]))

    doors["me"].distrust("mcp:b", reason="it makes things up")

    assert ops(doors["me"])[before:] == ["trust.set/1"]
    assert [texts(door) for door in doors.values()] == [["The deploy day is Friday."]] * 5
    assert [hit.text for hit in doors["me"].frame("attention", "deploy day").hits] == ["The deploy day is Friday."]
    why = {hit.text: hit.why for hit in doors["me"].recall("deploy day", quarantined=True)}
    assert "withheld, because mcp:b is not trusted" in why["The deploy day is Monday."]
    assert "what took its place is withheld" in why["The deploy day is Friday."]
    found = doors["me"].recall("deploy day", explain=True)
    [left] = [each for each in found.nearly if "not trusted" in each.why]
    assert left.why == "mcp:b is not trusted: it makes things up"
    assert "Monday" not in repr(found.to_dict())

    assert doors["me"].get("deploy").text == "The deploy day is Monday."
    assert [version.belief.text[-7:-1] for version in doors["me"].history("deploy")] == ["Friday", "Monday"]
    assert doors["me"].withheld("deploy").why == "mcp:b is not trusted: it makes things up"


def test_and_one_event_undoes_that_exactly_and_each_moment_is_answered_as_it_was_then(doors):
    a_story(doors)
    doors["b"].remember("Tea is served on the deploy day.")
    seq, before = len(ops(doors["me"])) - 1, doors["me"].recall("deploy day", k=9)
    doors["me"].distrust("mcp:b")
    assert doors["me"].withheld("deploy").why == "mcp:b is not trusted"

    doors["me"].restore_trust("mcp:b")

    assert list(doors["me"].recall("deploy day", k=9)) == list(before)
    assert ops(doors["me"])[-2:] == ["trust.set/1", "trust.set/1"]
    found = doors["me"].recall("deploy day", believed_at=seq)
    assert ([hit.text for hit in found], "withheld" in found[0].why) == ([hit.text for hit in before], False)
    assert texts(doors["me"], believed_at=seq + 1) == ["The deploy day is Friday."]
    assert texts(doors["me"], believed_at=seq + 2) == [hit.text for hit in before]


def test_a_chain_of_its_revisions_leads_back_to_what_another_said_and_what_it_ended_is_seen_again(doors):
    me, a, b = doors["me"], doors["a"], doors["b"]
    a_story(doors)
    b.revise("deploy", "The deploy day is Tuesday.")
    a.remember("The release date is Friday.", key="release")
    b.revise("release", "The release date is Monday.")
    b.forget("release")
    a.remember("The release date is Wednesday.", key="release")
    for name in ("Tea", "Rum", "Milk"):
        a.remember(f"{name} is wet.", key=name)
    told = a.observe("The kettle is new.")
    b.revise("Tea", "Tea is dry.", status="deprecated")
    b.forget("Rum")
    b.episodes.retract(told.id)
    me.forget("Milk")

    me.distrust("mcp:b")

    found = [texts(me, asked) for asked in ("deploy", "release", "tea", "rum", "kettle", "milk")]
    assert found == [
        ["The deploy day is Friday."], ["The release date is Wednesday."], ["Tea is wet."], ["Rum is wet."],
        ["The kettle is new."], [],
    ]  # fmt: skip
    me.forget("Tea")
    me.revise("deploy", "The deploy day is Thursday.")
    assert (texts(me, "tea"), texts(me)) == ([], ["The deploy day is Thursday."]), "a later word of another stands"


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


def test_a_snapshot_another_process_an_index_made_anew_and_one_after_pruning_leave_it_out_too(doors, tmp_path):
    a_story(doors)
    doors["b"].remember("The moon is cheese.")
    doors["me"].remember("The moon is rock.")
    doors["me"].distrust("mcp:b")
    doors["me"].ledger.compact()
    with Memory(doors["me"].folder, embedder="none") as other:
        assert texts(other) == ["The deploy day is Friday."]
        assert other.withheld("deploy").source == "mcp:b"
    doors["me"].rebuild_index()
    assert texts(doors["me"]) == ["The deploy day is Friday."]

    doors["me"].ledger.prune(tmp_path / "away")
    doors["me"].rebuild_index()
    assert texts(doors["me"], "moon") == ["The moon is rock."]
    assert texts(doors["me"]) == []  # the version before was moved away with its event
    doors["me"].restore_trust("mcp:b")
    assert texts(doors["me"]) == ["The deploy day is Monday."]


# -- what is derived ---------------------------------------------------------------------------------------------------


def test_what_rests_on_a_page_waits_like_the_page_and_takes_no_place_of_what_is_recalled_whoever_says_it(doors):
    page = doors["web"].remember("The bank has closed.")
    for name in ("me", "a", "tool"):
        derived = doors[name].remember(f"So {name} needs another firm.", rests_on=[page.id])
        assert derived.trust == "web"
    assert texts(doors["me"], "another firm needs") == []
    assert "it rests on" in doors["me"].reviews.waiting()[-1].why
    doors["a"].remember("The bank is open.", key="bank")
    review_of(doors["a"].remember, "The bank is closed for good.", key="bank", rests_on=[page.id])
    review_of(doors["a"].revise, "bank", "The bank is closed for good.", rests_on=[page.id])
    assert texts(doors["me"], "bank") == ["The bank is open."]


def test_what_rests_on_an_approved_or_borne_out_page_does_not_wait_and_a_later_yes_is_for_each(doors):
    page = doors["web"].remember("The bank has closed.")
    early = doors["me"].remember("So I need another bank.", rests_on=[page.id])
    [first, second] = doors["me"].reviews.waiting()

    doors["me"].reviews.approve(first.id)
    assert doors["me"].remember("So Bob needs a new bank.", rests_on=[page.id]).trust == "human"
    assert doors["me"].reviews.is_approved(early) is False
    doors["me"].reviews.approve(second.id)
    assert texts(doors["me"], "another bank") != []

    page = doors["web"].remember(SHOP)
    doors["b"].remember(SHOP)
    assert doors["a"].remember("So we meet at nine.", rests_on=[page.id]).trust == "agent"
    assert doors["me"].remember("So I get up early.", rests_on=[page.id]).trust == "human"


def test_what_rests_on_an_agents_word_stays_the_persons_own_and_waits_once_that_is_set_aside(doors):
    ground = doors["b"].remember("The bank has closed.")
    mine = doors["me"].remember("So I need another bank.", rests_on=[ground.id])
    assert mine.trust == "human"
    review_of(doors["a"].revise, mine.id, "So I need no bank.")
    doors["me"].distrust("mcp:b")
    assert doors["a"].remember("So we need another bank.", rests_on=[ground.id]).trust == "tool"


def test_only_what_is_trusted_alike_becomes_one(doors):
    from tallystick.records.proposal import MERGE, REPEAT, Proposal

    names = [doors[name].remember(SHOP).id for name in ("me", "a", "b")]
    [merge] = [each for each in doors["me"].tidy.proposals() if each.action == MERGE]
    assert set(merge.ids) == set(names[1:])
    mixed = Proposal(kind=REPEAT, ids=tuple(names[:2]), texts=("x", "y"), why="", action=MERGE, user="me")
    with refuses("mismatch", "trust differs"):
        doors["me"].tidy.apply(mixed)
    doors["me"].tidy.apply(merge)
    assert sorted(belief.trust for belief in doors["me"].beliefs.query()) == ["agent", "human"]


# -- corroboration -----------------------------------------------------------------------------------------------------


def says(memory: Memory, question: str) -> list[tuple[str, ...]]:
    return [hit.sources for hit in memory.recall(question)]


@pytest.mark.parametrize("who", ["me", "a"])
def test_what_a_page_said_is_borne_out_when_another_trusted_source_says_exactly_that(doors, who):
    page = doors["web"].remember(SHOP, tags=["self/constitutional"], always=True, confidence=1.0)
    mine = doors[who].remember(SHOP)

    [(first, second)] = says(doors["me"], "when does the shop open?")
    assert {first, second} == {page.id, mine.id}
    assert doors["me"].reviews.waiting() == []
    [hit] = doors["me"].recall("when does the shop open?")
    assert (hit.signals["confidence"], hit.tags, hit.is_standing) == (0.7, (), False)
    assert page.id not in [hit.id for hit in doors["me"].frame("self", "").hits]
    for query in ("SELECT max(standing) FROM index_sources", "SELECT count(*) FROM block_tags"):
        assert doors["me"]._context.index.read(lambda file, query=query: file.db.execute(query).fetchone()) == (0,)
    assert [event.op for event in doors["me"].log()][-2:] == ["trust.corroborate/1", "review.answer/1"]
    assert doors["me"].recall("when does the shop open?", believed_at=page.seq) == []


BEARS_NOTHING_OUT = {  # voices that are needed, what is done, reviews that wait then, who is heard
    "the same program": (1, [("a", {"trust": "web"}), ("a", {})], 1, ["a"]),
    "another tool": (1, [("web", {}), ("tool", {"agent": "other"})], 2, []),
    "another page": (1, [("web", {}), ("web", {"agent": "other"})], 2, []),
    "a source that was set aside": (1, [("web", {}), ("distrust", {}), ("b", {})], 1, []),
    "an erased statement": (2, [("web", {}), ("a", {}), ("erase", {}), ("b", {})], 1, ["b"]),
    "anybody, for an erased page": (1, [("web", {}), ("erase", {}), ("me", {})], 0, ["me"]),
}


@pytest.mark.parametrize("who", BEARS_NOTHING_OUT)
def test_a_page_is_borne_out_neither_by(doors, who):
    needed, steps, waiting, heard = BEARS_NOTHING_OUT[who]
    (doors["me"].folder / "tallystick.toml").write_text(f"[policy]\ncorroborate = {needed}\n")
    said = []
    for name, how in steps:
        if name == "distrust":
            doors["me"].distrust("mcp:b")
        elif name == "erase":
            doors["me"].erase(said.pop()[1].id)
        else:
            said.append((name, doors[name].remember(SHOP, **how)))
    names = [(each.id,) for name, each in said if name in heard and each.trust != "web"]

    assert says(doors["me"], "when does the shop open?") == names
    assert "trust.corroborate/1" not in ops(doors["me"])
    assert len(doors["me"].reviews.waiting()) == waiting


def test_other_letters_are_other_words_and_what_came_first_confirms_nothing(doors):
    mine = doors["me"].remember("The code is ABC.")
    doors["web"].remember("The code is ABC.", confidence=1.0, always=True)
    doors["web"].remember("the code is abc.")
    other = doors["me"].remember("THE CODE IS ABC.")
    assert {name for names in says(doors["me"], "what is the code?") for name in names} == {mine.id, other.id}


@pytest.mark.parametrize(("needed", "voices"), [(0, 3), (2, 2), (3, 3)])
def test_how_many_are_needed_is_set_and_none_means_only_a_persons_yes(doors, needed, voices):
    (doors["me"].folder / "tallystick.toml").write_text(f"[policy]\ncorroborate = {needed}\n")
    page = doors["web"].remember(SHOP)
    for number, name in enumerate(("a", "b", "me")[:voices], 1):
        assert page.id not in [each for hit in says(doors["me"], "when does the shop open?") for each in hit]
        doors[name].observe(SHOP, id=f"e{number}")
    found = [each for hit in says(doors["me"], "when does the shop open?") for each in hit]
    assert (page.id in found) is (needed > 0)


def test_what_was_said_before_a_page_said_it_again_bears_out_the_first_time_alone(doors):
    (doors["me"].folder / "tallystick.toml").write_text("[policy]\ncorroborate = 2\n")
    first = doors["web"].remember(SHOP, key="one")
    doors["a"].remember(SHOP)
    doors["tool"].remember(SHOP, key="two")
    doors["b"].remember(SHOP)
    [event] = doors["me"].log(op="trust.corroborate")
    assert event.body["ids"] == [first.id]


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


def test_in_the_graph_what_a_distrusted_source_withdrew_stands_and_who_replaces_its_word_replaces_the_one_before(doors):
    a_related_story(doors)
    doors["a"].remember("Bob knows Ana.", key="bob", about="person-bob", triple=("Bob", "knows", "Ana"))
    doors["b"].forget("bob")
    assert graphed(doors["a"])[0] == ["person-ana knows person-bob"]

    doors["me"].distrust("mcp:b")
    assert graphed(doors["a"])[0] == ["person-bob knows person-ana"]
    doors["me"].revise("home", "Ana lives in Rome.", triple=("Ana", "lives in", "Rome"))
    assert graphed(doors["tool"]) == (["person-bob knows person-ana"], {"lives in": ["Rome"]})


def test_a_graph_that_followed_along_and_one_made_anew_leave_out_the_same(doors):
    a_related_story(doors)
    doors["me"].distrust("mcp:b", since="2026-05-20T12:00:04Z")
    doors["me"].revise("home", "Ana lives in Rome.", triple=("Ana", "lives in", "Rome"))
    followed = doors["me"].graph.export_envelope().to_bytes()

    doors["me"].rebuild_index()
    assert doors["me"].graph.export_envelope().to_bytes() == followed
    assert b"Rome" in followed
