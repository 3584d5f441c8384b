"""What beliefs are about: two entities become one, one becomes two, and old statements are filed by today's rules."""

import multiprocessing

import pytest
from hypothesis import given, strategies as st

from tallystick import Memory
from tallystick.memory.graph import filing
from tallystick.projections.database import Stale
from tallystick.projections.pages.open_database import PagesFile
from tallystick.records.entity import NamedEntity
from tallystick.records.errors import NeedsApproval, NotFound, Refused
from tallystick.repair.check import check
from tallystick.stores.page_files import PageFolder
from tests import strategies
from tests.refusals import not_approved, refuses

MAJA, MAYA = "person-maja", "person-maya-lindqvist"
NAMES = ("Maja", "maja", "MAJA", MAJA, "Maya", "Maya Lindqvist", MAYA)


@pytest.fixture
def two(memory):
    """Maya, of whom there are two pages."""
    memory.remember("Maya Lindqvist leads the roof project", about="Maya Lindqvist", key="roof")
    memory.remember("Maja likes tea", about=MAJA, key="tea", triple=("Maja", "likes", "tea"), tags=["food"])
    memory.remember("Maja has a dog", about=MAJA, key="dog", trust="agent")
    memory.pages.describe(MAJA, description="the designer", title="Maja L.")
    memory.pages.describe(MAYA, description="the leader")
    return memory


def words_on(memory, page):
    return [entry.text for entry in memory.pages.read(page).entries]


def said(memory):
    """The beliefs, without what names a version."""
    return {
        each.key: {name: value for name, value in each.to_dict().items() if name not in ("id", "reason", "seq")}
        for each in memory.beliefs.all() if each.is_held
    }  # fmt: skip


def everything(memory):
    """All that depends on what beliefs are about, thing by thing."""
    beliefs = {f"belief {key}": fields for key, fields in said(memory).items()}
    nodes = {
        f"node {node.id}": (node.kind, node.label, node.aliases, sorted(node.properties))
        for node in memory.graph.list_nodes()
    }
    pages = {
        f"page {page.about}": (page.title, page.description, tuple(page.tags), words_on(memory, page.about))
        for page in memory.pages.list()
    }
    return {**beliefs, **nodes, **pages, **{name: memory.entities.called(name) for name in NAMES}}


def changed(before, after):
    return {name: (before.get(name), after.get(name)) for name in before | after if before.get(name) != after.get(name)}


# -- merging ---------------------------------------------------------------------------------------------------------


def test_what_would_be_merged_is_shown_first_and_nothing_is_written(two):
    before = two.ledger.size
    would = two.graph.merge("Maja", "Maya Lindqvist", dry_run=True)

    assert (would.is_done, would.likeness.gone, would.likeness.keep) == (False, MAJA, MAYA)
    assert [(each.key, each.before.about, each.after.about) for each in would.filing.changes] == [
        ("tea", MAJA, MAYA), ("dog", MAJA, MAYA),
    ]  # fmt: skip
    assert would.filing.page == "person-maja.md"
    assert would.filing.conflicts == ("description: 'the designer' goes, 'the leader' stays",)
    assert (would.filing.seq, two.ledger.size, two.reviews.all()) == (-1, before, [])


def test_after_a_merge_every_name_of_either_leads_to_the_one(two):
    done = two.graph.merge("Maja", MAYA, sure=True)
    later = [two.remember(f"Maja is {name}", about=name) for name in NAMES]

    assert done.is_done
    assert {each.about for each in later} == {MAYA}
    assert {two.show(key).about for key in ("roof", "tea", "dog")} == {MAYA}
    assert (two.show("dog").trust, two.show("tea").tags) == ("agent", ("food",))
    for name in NAMES:
        assert two.entities.called(name) == [MAYA]
        assert two.graph.resolve(name).id == MAYA
        assert "Maja likes tea" in words_on(two, name)
        assert "Maja likes tea" in [each.text for each in two.beliefs.query(about=name)]
        assert {hit.about for hit in two.recall("tea", filters={"about": [name]})} == {MAYA}
        assert "tea" in [each.key for each in two.diff(0, about=name)]
    assert not (two.folder / "memory" / "person-maja.md").exists()
    assert "Maja likes tea" in (two.folder / "memory" / f"{MAYA}.md").read_text()
    assert two.graph.load_node(MAYA).properties["likes"] == ["tea"]
    assert two.pages.list() == [each for each in two.pages.list() if each.about != MAJA]


@pytest.mark.parametrize("way", ["undo", "event", "key", "unmerge", "name"])
def test_a_merge_is_taken_back_exactly(two, way):
    before = everything(two)
    done = two.graph.merge(MAJA, MAYA, sure=True)
    {
        "undo": two.undo, "event": lambda: two.undo(done.filing.seq), "key": lambda: two.undo("tea"),
        "unmerge": lambda: two.graph.unmerge(MAJA), "name": lambda: two.graph.unmerge("Maja"),
    }[way]()  # fmt: skip

    assert changed(before, everything(two)) == {}
    two.rebuild_index()
    assert changed(before, everything(two)) == {}
    with Memory(two.folder) as again:
        assert changed(before, everything(again)) == {}
    two.undo(two.ledger.size - 1)
    assert two.show("tea").about == MAYA
    assert [each for each in check(two.folder) if each.severity == "error"] == []


def test_what_was_stated_since_stays_where_it_was_stated(two):
    two.graph.merge(MAJA, MAYA, sure=True)
    new = two.remember("Maja moved to Oslo", about="Maja", key="home")
    two.revise("tea", "Maja likes green tea")
    two.graph.unmerge(MAJA)

    assert (two.show(new.key).about, two.show("tea").about, two.show("dog").about) == (MAYA, MAJA, MAJA)
    assert two.show("tea").text == "Maja likes green tea"
    assert words_on(two, MAYA) == ["Maya Lindqvist leads the roof project", "Maja moved to Oslo"]
    assert sorted(words_on(two, MAJA)) == ["Maja has a dog", "Maja likes green tea"]


def test_a_page_on_which_all_is_retracted_stays_and_can_be_read(memory):
    memory.pages.clean()
    memory.forget(memory.remember("Ana likes tea", about="person-ana").id)
    memory.graph.merge("person-ana", "user-profile", sure=True)

    assert [len(memory.pages.read(page.path).entries) for page in memory.pages.list()] == [0]


def test_a_merge_of_what_was_merged_is_undone_first(two):
    two.remember("Mia runs", about="person-mia", key="run")
    first = two.graph.merge(MAJA, MAYA, sure=True).filing.seq
    second = two.graph.merge(MAYA, "person-mia", sure=True).filing.seq

    assert {two.entities.called(name)[0] for name in (MAJA, "Maja", MAYA, "Mia")} == {"person-mia"}
    assert {two.show(key).about for key in ("roof", "tea", "dog", "run")} == {"person-mia"}
    with refuses("state", str(second)):
        two.undo(first)
    two.undo(second)
    two.undo(first)
    assert (two.show("tea").about, two.show("roof").about, two.show("run").about) == (MAJA, MAYA, "person-mia")


def test_beliefs_on_other_paths_are_merged_with_those_of_the_root(two):
    two.paths.branch("idea")
    two.remember("Maja likes cocoa", about=MAJA, key="tea", path="idea")
    two.paths.branch("ended")
    two.remember("Maja likes milk", about=MAJA, key="tea", path="ended")
    two.paths.abandon("ended", "no use")
    two.graph.merge(MAJA, MAYA, sure=True)

    assert (two.show("tea", path="idea").about, two.show("tea", path="idea").text) == (MAYA, "Maja likes cocoa")
    two.graph.unmerge(MAJA)
    assert two.show("tea", path="idea").about == MAJA
    two.paths.reopen("ended", "of use")
    assert two.show("tea", path="ended").about == MAJA


def test_names_that_programs_gave_lead_to_the_one_too(memory):
    memory.entities.create([NamedEntity("Maja", "person", ("likes tea",)), NamedEntity("Maya", "person", ("runs",))])
    [maja], [maya] = memory.entities.called("Maja"), memory.entities.called("Maya")
    memory.graph.merge(maja, maya, sure=True)
    memory.entities.observe("Maja", ["swims"])
    known = memory.entities.all()

    observed = [(each.name, sorted(each.observations)) for each in known.entities]

    assert observed == [("Maya", ["likes tea", "runs", "swims"])]
    memory.graph.unmerge(maja)
    assert {each.name: sorted(each.observations) for each in memory.entities.all().entities} == {
        "Maja": ["likes tea"], "Maya": ["runs", "swims"],
    }  # fmt: skip


@pytest.mark.parametrize(("node", "into", "code", "named"), [
    (MAJA, MAJA, "self", MAJA), ("user-profile", MAJA, "state", "user-profile"), ("Maja", "Maja", "self", MAJA),
])  # fmt: skip
def test_a_merge_that_makes_no_sense_is_refused(two, node, into, code, named):
    two.remember("I am tall", about="user-profile")
    before = two.ledger.size
    with refuses(code, named):
        two.graph.merge(node, into, sure=True)
    with pytest.raises(NotFound, match="nobody"):
        two.graph.merge("nobody", MAJA)
    assert two.ledger.size == before


def test_the_user_may_be_somebody_of_a_page(two):
    two.graph.merge("Maya", "user-profile", sure=True)

    assert (two.show("roof").about, two.entities.called("Maya Lindqvist")) == ("user-profile", ["user-profile"])
    two.undo()
    assert (two.show("roof").about, two.entities.called("Maya Lindqvist")) == (MAYA, [MAYA])


def test_what_a_person_wrote_on_a_page_comes_in_before_it_goes(two):
    page = two.folder / "memory" / "person-maja.md"
    page.write_text(page.read_text().replace("Maja has a dog", "Maja has two dogs"))
    two.graph.merge(MAJA, MAYA, sure=True)

    assert "Maja has two dogs" in words_on(two, MAYA)
    two.undo()
    assert "Maja has two dogs" in words_on(two, MAJA)


def test_a_review_of_a_merge_carries_it_out_or_remembers_that_they_are_two(two, door):
    agent = door("agent")
    asked = agent.graph.merge(MAJA, MAYA, sure=True)
    assert (asked.is_done, two.show("tea").about) == (False, MAJA)
    assert agent.graph.merge(MAYA, MAJA, sure=True).review == asked.review
    two.reviews.approve(asked.review)

    assert two.show("tea").about == MAYA
    with not_approved("refused", "agent"):
        agent.undo("tea")
    two.undo()
    assert (two.show("tea").about, two.reviews.get(asked.review).status) == (MAJA, "approved")


# -- splitting -------------------------------------------------------------------------------------------------------


def test_what_is_chosen_is_moved_to_another_or_to_a_new_one_and_moved_back(memory):
    for number in range(3):
        memory.remember(f"Ana fact {number}", about="person-ana", key=f"a{number}")
    before = said(memory)
    would = memory.graph.split("Ana", ["a1", "a2"], "Ana Berg", dry_run=True)
    assert (said(memory), would.seq) == (before, -1)
    done = memory.graph.split("Ana", ["a1", "a2"], "Ana Berg")

    assert [(each.key, each.before.about, each.after.about) for each in would.changes] == [
        (each.key, each.before.about, each.after.about) for each in done.changes
    ]  # fmt: skip
    assert [memory.show(each).about for each in ("a0", "a1", "a2")] == ["person-ana", *["person-ana-berg"] * 2]
    assert (words_on(memory, "person-ana"), len(words_on(memory, "Ana Berg"))) == (["Ana fact 0"], 2)
    memory.graph.split("Ana Berg", ["a2"], "project-x")
    with refuses("state", str(memory.ledger.size - 1)):
        memory.undo(done.seq)
    memory.undo()
    memory.undo(done.seq)
    assert said(memory) == before
    assert [page.about for page in memory.pages.list() if page.about.startswith("person-")] == ["person-ana"]


def test_what_was_merged_by_mistake_can_be_split_again(two):
    two.graph.merge(MAJA, MAYA, sure=True)
    two.graph.split(MAYA, ["tea"], MAJA)

    assert (two.show("tea").about, two.show("dog").about) == (MAJA, MAYA)
    assert (two.entities.called("Maja"), two.entities.called(MAJA)) == ([MAJA], [MAJA])
    two.undo()
    assert (two.show("tea").about, two.entities.called("Maja")) == (MAYA, [MAYA])


def test_a_split_begins_an_entity_of_the_same_kind_and_takes_beliefs_about_nothing(memory):
    memory.remember("The port is 5432", about="project-x", key="port")
    memory.remember("zzz is good", key="loose", about="")
    memory.graph.split("project-x", ["port"], "Apollo")
    memory.graph.split("topic-notes", ["loose"], "tool-zzz")

    assert (memory.show("port").about, memory.show("loose").about) == ("project-apollo", "tool-zzz")
    memory.undo()
    memory.undo()
    assert (memory.show("port").about, memory.show("loose").about) == ("project-x", "")


@pytest.mark.parametrize(("entity", "names", "to", "code", "named"), [
    ("Maja", ["roof"], "Zoe", "mismatch", "roof"), ("Maja", [], "Zoe", "required", MAJA),
    ("Maja", ["tea"], "Maja", "self", MAJA), ("nobody", ["tea"], "Zoe", "mismatch", "nobody"),
])  # fmt: skip
def test_a_split_that_makes_no_sense_is_refused(two, entity, names, to, code, named):
    before = two.ledger.size
    with refuses(code, named):
        two.graph.split(entity, names, to)
    with pytest.raises(NotFound):
        two.graph.split("Maja", ["unknown"], "Zoe")
    with two.batch(), refuses("batch", "batch"):
        two.graph.split("Maja", ["tea"], "Zoe")
    assert two.ledger.size == before


def test_an_agent_asks_before_it_splits_and_never_files_again(two, door):
    agent = door("agent")
    with pytest.raises(NeedsApproval):
        agent.graph.split("Maja", ["dog"], "Zoe Park")
    with not_approved("refused", "agent"):
        agent.graph.refile()
    [review] = two.reviews.waiting()

    assert (review.action.cell, review.action.label) == ("graph.split", "split 'person-maja' to 'person-zoe-park'")
    assert two.reviews.find(about="Maja") == [review]
    two.reviews.approve(review.id)
    assert (two.show("dog").about, two.show("dog").trust) == ("person-zoe-park", "agent")


# -- filing by today's rules -----------------------------------------------------------------------------------------


def test_what_nobody_filed_is_filed_when_asked_and_what_was_given_stays(memory):
    memory.remember("Maya likes tea", key="early")
    memory.remember("Maya likes rain", key="given", about="topic-weather")
    memory.remember("Maya Lindqvist is our designer", about="Maya Lindqvist")
    taken = memory.remember("Maya likes snow", key="freed", about="topic-snow")
    memory.revise(taken.id, about="")
    assert (memory.show("early").about, memory.show("freed").about) == ("", "")
    before, size = said(memory), memory.ledger.size
    would = memory.graph.refile(dry_run=True)
    assert (said(memory), memory.ledger.size, would.seq) == (before, size, -1)
    done = memory.graph.refile()

    assert [(each.key, each.after.about) for each in done.changes] == [("early", MAYA)]
    assert [(each.key, each.after.about) for each in would.changes] == [("early", MAYA)]
    [event] = [event for event in memory.log(size) if event.op == "belief.supersede/1"]
    assert (event.seq, event.body["filed"]) == (done.seq, filing.VERSION)
    assert (memory.show("given").about, memory.show("freed").about) == ("topic-weather", "")
    assert memory.graph.refile().seq == -1
    memory.undo()
    assert said(memory) == before


def test_what_older_rules_filed_is_filed_again_and_no_version_twice(memory, monkeypatch):
    memory.remember("Maya Lindqvist is our designer", about="Maya Lindqvist")
    assert memory.remember("Maya likes tea", key="tea").about == MAYA
    assert memory.remember("Maya likes milk", key="milk").about == MAYA
    memory.revise("milk", about=MAYA, tags=["food"])  # a person said so
    monkeypatch.setattr(filing, "VERSION", filing.VERSION + 1)
    monkeypatch.setattr(filing, "filed_under", lambda *_: "person-newer")
    done = memory.graph.refile()

    assert ("tea", "person-newer") in [(each.key, each.after.about) for each in done.changes]
    assert memory.show("milk").about == MAYA
    assert memory.graph.refile().changes == ()
    memory.undo()
    assert memory.show("tea").about == MAYA
    assert "tea" in [each.key for each in memory.graph.refile(dry_run=True).changes]


# -- names by anybody ------------------------------------------------------------------------------------------------


@given(st.text(min_size=1, max_size=40) | strategies.texts, st.text(min_size=1, max_size=40))
def test_no_name_breaks_a_merge_or_a_split(tmp_path_factory, one, other):
    with Memory(tmp_path_factory.mktemp("memory") / "m", embedder="none") as memory:
        memory.remember("x", about="person-ana", key="x")
        memory.remember("y", about="person-bob", key="y")
        before = said(memory)
        for act in (
            lambda: memory.graph.split("person-ana", ["x"], one), lambda: memory.graph.split(one, ["x"], other),
            lambda: memory.graph.merge(one, other, sure=True), lambda: memory.graph.merge("person-bob", one, sure=True),
        ):
            start = memory.ledger.size
            try:
                act()
            except (Refused, NotFound):
                assert memory.ledger.size == start
        for _ in range(4 if said(memory) != before else 0):
            memory.undo()
            if said(memory) == before:
                break
        assert said(memory) == before
        assert memory.ledger.verify().ok


def _merge(folder, pairs):
    with Memory(folder, embedder="none") as memory:
        for pair in pairs:
            try:
                memory.graph.merge(*pair, sure=True)
            except Refused:
                continue


def test_two_processes_that_merge_at_once_leave_one_entity_and_all_is_undone(memory):
    for number in range(6):
        memory.remember(f"fact {number}", about=f"person-n{number}", key=f"k{number}")
    before, start = said(memory), memory.ledger.size
    pairs = [(f"person-n{number + 1}", f"person-n{number}") for number in range(5)]
    ways = multiprocessing.get_context("fork")
    memory.close()
    at_work = [ways.Process(target=_merge, args=(memory.folder, each)) for each in (pairs, pairs[::-1])]
    for each in at_work:
        each.start()
    for each in at_work:
        each.join(60)
        assert each.exitcode == 0
    with Memory(memory.folder) as again:
        merges = [event for event in again.log(start) if event.op == "graph.merge/1"]
        assert len({event.body["node"] for event in merges}) == len(merges) > 0
        for number in range(6):
            assert again.entities.called(f"person-n{number}") == [again.show(f"k{number}").about]
        for _ in merges:
            again.undo()
        assert said(again) == before


def test_the_file_of_a_page_that_went_is_no_edit_though_the_rows_were_made_again(memory, monkeypatch):
    for number in range(2):
        memory.remember(f"fact {number}", about=f"person-n{number}", key=f"k{number}")
    memory.pages.sync()

    def broken(*_):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(PageFolder, "remove", broken)
        memory.graph.merge("person-n1", "person-n0", sure=True)
    left = memory.folder / "memory" / "person-n1.md"
    assert "fact 1" in left.read_text()
    size = memory.ledger.size
    memory.pages._at.level().empty()
    memory.pages.sync()

    assert memory.ledger.size == size
    assert not left.exists()
    assert [each.about for each in memory.beliefs.query()] == ["person-n0"] * 2


def test_rows_that_another_has_led_on_meanwhile_are_not_made_again(memory, monkeypatch):
    emptied = []
    memory.remember("fact 0", about="person-n0")
    with Memory(memory.folder) as other:
        other.pages.list()
        memory.remember("fact 1", about="person-n0")
        monkeypatch.setattr(PagesFile, "empty", lambda rows: emptied.append(rows))
        for trial in range(2):
            other.pages._at.fix(Stale("a row is of no event"), trial)
            assert len(emptied) == trial, "what still is not what the ledger says, is made again"
