"""Whatever a memory returns can be read, converts to plain data, and is a table in a notebook; text stays text."""

import inspect
import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

from tallystick import ConsolidationRule, Memory
from tallystick.decide.erasure import NOUNS
from tallystick.records.belief import Belief
from tallystick.records.delta import AddDelta, DeltaScope
from tallystick.records.display import LONGEST, MOST_ROWS, Displayable, DisplayList, plain, rows_html
from tallystick.records.entity import NamedEntity, Relation
from tallystick.records.episode import Episode
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile
from tests.memory.told import NEW_YEAR

EVIL = "<script>alert(1)</script> & \"quoted\" 'too'"
WITHOUT = {  # nothing comes back that could be shown
    "batch", "on", "restore", "facts.together", "work.on", "beliefs.on", "facts.on", "facts.follow", "facts.evidence",
    "facts.apply", "export_lines", "beliefs.page",
}  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filled") / "memory"
    with Memory(folder) as memory:
        memory.remember(f"Ana likes {EVIL}", key="ana", about="person-ana", tags=["x"])
        memory.remember(f"Bob knows {EVIL}", key="bob", rests_on=["ana"], triple=("Bob", "knows", EVIL))
        memory.remember(f"Web says {EVIL}", trust="web")
        memory.observe(f"It rained: {EVIL}", id="e1", session="s1", metadata={"subject": "A", "predicate": "is"})
        memory.observe("nothing in it", id="e2", session="s1")
        memory.paths.branch("draft")
        memory.remember(f"Carl on a branch {EVIL}", key="carl", path="draft")
        memory.graph.save_node(MemoryNode(id="n1", kind="thing", label="Green tea"))
        memory.graph.save_node(MemoryNode(id="n2", kind="thing", label="green tea"))
        memory.graph.save_edge(MemoryEdge(id="x1", source="n1", target="n2", kind="near"))
        memory.graph.save_profile(MemoryProfile(id="p1"))
        memory.rules.put(ConsolidationRule(id="r"))
    return folder


@pytest.fixture(scope="module")
def shared(filled, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared") / "memory"
    shutil.copytree(filled, folder)
    with Memory(folder) as memory:
        yield memory


@pytest.fixture
def m(home, filled):
    shutil.copytree(filled, home / ".tallystick")
    with Memory() as memory:
        yield memory


def a_delta():
    return AddDelta(
        fact_payload={"text": EVIL}, source_episode_ids=["e1"], promotion_ts=NEW_YEAR, rule_id="r", confidence=0.5,
        scope=DeltaScope(user="me"),
    )  # fmt: skip


def forgotten(m):
    return m.forget("ana"), m.forget("e2")


def asked(m):
    with Memory(trust="agent") as agent:
        return agent.propose(agent.action("forget", "ana", reason=EVIL))


def served(m):
    return m.recall("what does Ana like?", receipt=True, keep_question=True, explain=True)


def withheld(m):
    m.distrust("python:local")
    return m.withheld("ana")


def taken(m):
    m.export(f"{m.folder}-lines", replace=True)
    return m.import_export(f"{m.folder}-lines")


def related(m):
    m.entities.create([NamedEntity("Zoe"), NamedEntity("Eve")])
    return m.entities.relate([Relation("Zoe", "knows", "Eve")])


def withdrawn(m):
    with Memory(trust="agent") as agent:
        review = agent.propose(agent.action("forget", "ana", reason=EVIL))
        return agent.reviews.withdraw(review.id)


CALLS = {
    "action": lambda m: m.action("forget", "ana"),
    "apply": lambda m: m.apply(m.action("forget", "ana")),
    "audit": lambda m: m.audit(),
    "consolidate": lambda m: m.consolidate(ConsolidationRule(id="now")),
    "diff": lambda m: m.diff(1),
    "distrust": lambda m: m.distrust("agent:x", reason=EVIL),
    "erase": lambda m: m.erase("ana"),
    "forget": forgotten,
    "frame": lambda m: m.frame("attention", "what does Ana like?"),
    "get": lambda m: m.get("ana"),
    "history": lambda m: m.history("ana"),
    "invalidate": lambda m: m.invalidate("ana", EVIL),
    "links": lambda m: m.links("ana"),
    "log": lambda m: m.log(),
    "marks": lambda m: m.marks("ana"),
    "observe": lambda m: m.observe(EVIL),
    "propose": asked,
    "recall": lambda m: (served(m), m.recall("quantum chromodynamics")),
    "remember": lambda m: (m.remember(EVIL), m.remember(EVIL).answer),
    "recorded": lambda m: m.recorded(EVIL),
    "replay": lambda m: m.replay(served(m).receipt),
    "reviews.withdraw": withdrawn,
    "revise": lambda m: m.revise("ana", EVIL),
    "run_due": lambda m: m.run_due(),
    "show": lambda m: m.show("ana"),
    "sources": lambda m: m.sources(),
    "status": lambda m: m.status(),
    "test": lambda m: m.test([{"ask": "what does Ana like?", "find": "ana"}]),
    "related": lambda m: (m.relate("ana", "bob", EVIL), m.related("ana"))[1],
    "dependents": lambda m: m.dependents("ana"),
    "preview_erase": lambda m: m.preview_erase("ana"),
    "check_policy": lambda m: m.check_policy("forget"),
    "why": lambda m: m.why("bob"),
    "similar": lambda m: m.similar("ana"),
    "withheld": withheld,
    "import_from": lambda m: m.import_from(
        b'{"type":"entity","name":"Eve","entityType":"person","observations":["x"]}'
    ),
    "export": lambda m: m.export(f"{m.folder}-all", replace=True),
    "import_export": lambda m: taken(m),
    "entities.all": lambda m: (m.entities.create([NamedEntity(EVIL[:200])]), m.entities.all())[1],
    "entities.create": lambda m: m.entities.create([NamedEntity("Zoe", observations=(EVIL,))]),
    "entities.relate": related,
    "beliefs.all": lambda m: m.beliefs.all(),
    "beliefs.query": lambda m: m.beliefs.query(),
    "episodes.consolidate": lambda m: m.episodes.consolidate(ConsolidationRule(id="now")),
    "episodes.find": lambda m: m.episodes.find("e1"),
    "episodes.get": lambda m: m.episodes.get("e1"),
    "episodes.health": lambda m: m.episodes.health(),
    "episodes.observe": lambda m: m.observe("more"),
    "episodes.put": lambda m: m.episodes.put(
        Episode(id="e9", content=EVIL, timestamp=NEW_YEAR), user="me", session="s2", agent="a"
    ),
    "episodes.read": lambda m: m.episodes.read(m.episodes.get("e1").seq),
    "episodes.recent": lambda m: m.episodes.recent(),
    "episodes.retract": lambda m: m.episodes.retract("e1"),
    "episodes.since": lambda m: m.episodes.since(0, user="me"),
    "episodes.learned": lambda m: m.episodes.learned("e1"),
    "episodes.withheld": lambda m: (m.distrust("python:local"), m.episodes.withheld("e1")),
    "facts.apply_delta": lambda m: m.facts.apply_delta(a_delta()),
    "facts.get": lambda m: m.facts.get("bob"),
    "facts.health": lambda m: m.facts.health(),
    "facts.history": lambda m: m.facts.history("bob"),
    "facts.pin": lambda m: m.facts.pin(m.facts.get("bob")),
    "facts.query": lambda m: m.facts.query(),
    "frames.all": lambda m: m.frames.all(),
    "frames.get": lambda m: m.frames.get("attention"),
    "frames.put": lambda m: m.frames.put("mine", {"similarity": 1.0}),
    "graph.expand": lambda m: m.graph.expand(["n1"]),
    "graph.export_envelope": lambda m: m.graph.export_envelope(),
    "graph.export_to": lambda m: m.graph.export_to(m.folder / "out.json"),
    "graph.find_same": lambda m: m.graph.find_same(),
    "graph.list_edges": lambda m: m.graph.list_edges(),
    "graph.list_events": lambda m: m.graph.list_events(),
    "graph.list_nodes": lambda m: m.graph.list_nodes(),
    "graph.list_paths": lambda m: m.graph.list_paths(),
    "graph.list_profiles": lambda m: m.graph.list_profiles(),
    "graph.load_edge": lambda m: m.graph.load_edge("x1"),
    "graph.load_node": lambda m: m.graph.load_node("n1"),
    "graph.load_path": lambda m: m.graph.load_path("draft"),
    "graph.load_profile": lambda m: m.graph.load_profile("p1"),
    "graph.merge": lambda m: m.graph.merge("n2", "n1", sure=True),
    "graph.neighbours": lambda m: m.graph.neighbours("n1"),
    "graph.dismiss": lambda m: m.graph.dismiss("n2", "n1"),
    "graph.propose_same": lambda m: (m.graph.merge("n2", "n1"), m.graph.propose_same()),
    "graph.refile": lambda m: m.graph.refile(dry_run=True),
    "graph.split": lambda m: m.graph.split("person-ana", [m.get("ana").id], "person-eve"),
    "graph.resolve": lambda m: m.graph.resolve("n1"),
    "graph.shortest_path": lambda m: m.graph.shortest_path("n1", "n2"),
    "graph.show": lambda m: m.graph.show("n1"),
    "graph.unmerge": lambda m: (m.graph.merge("n2", "n1", sure=True), m.graph.unmerge("n2")),
    "ledger.checkpoints": lambda m: (m.ledger.checkpoint(), m.ledger.checkpoints()),
    "ledger.doubted": lambda m: m.ledger.doubted(),
    "ledger.files": lambda m: m.ledger.files(),
    "ledger.proof": lambda m: m.ledger.proof(1),
    "ledger.verify": lambda m: m.ledger.verify(),
    "log_page": lambda m: m.log_page(),
    "pages.activate": lambda m: m.pages.activate("person-ana"),
    "pages.append": lambda m: m.pages.append("person-ana", EVIL),
    "pages.archive": lambda m: m.pages.archive("person-ana"),
    "pages.create": lambda m: m.pages.create("person-eve"),
    "pages.describe": lambda m: m.pages.describe("person-ana", title="Ana"),
    "pages.flag_compact": lambda m: m.pages.flag_compact("person-ana", EVIL),
    "pages.compact": lambda m: m.pages.compact("person-ana"),
    "pages.compactions": lambda m: m.pages.compactions(),
    "pages.list": lambda m: m.pages.list(),
    "pages.read": lambda m: m.pages.read("person-ana"),
    "pages.rebuild": lambda m: m.pages.rebuild(),
    "pages.recent": lambda m: m.pages.recent(),
    "pages.search": lambda m: m.pages.search("likes"),
    "pages.supersede": lambda m: m.pages.supersede("person-ana", m.get("ana").id, EVIL),
    "pages.sync": lambda m: m.pages.sync(),
    "paths.abandon": lambda m: m.paths.abandon("draft", EVIL),
    "paths.all": lambda m: m.paths.all(),
    "paths.branch": lambda m: m.paths.branch("other"),
    "paths.compact": lambda m: m.paths.compact("draft"),
    "paths.conflicts": lambda m: m.paths.conflicts("draft"),
    "paths.get": lambda m: m.paths.get("draft"),
    "paths.merge": lambda m: m.paths.merge("draft"),
    "paths.preview": lambda m: m.paths.preview("draft"),
    "paths.reopen": lambda m: (m.paths.branch("r"), m.paths.abandon("r", "no"), m.paths.reopen("r", "yes"))[-1],
    "paths.said": lambda m: m.paths.said("draft"),
    "paths.tree": lambda m: m.paths.tree(),
    "receipts.all": lambda m: (served(m), m.receipts.all()),
    "receipts.get": lambda m: m.receipts.get(served(m).receipt),
    "reviews.all": lambda m: m.reviews.all(),
    "reviews.approve": lambda m: m.reviews.approve(m.reviews.waiting()[0].id),
    "reviews.approve_all": lambda m: m.reviews.approve_all(),
    "reviews.find": lambda m: m.reviews.find(),
    "reviews.get": lambda m: m.reviews.get(m.reviews.waiting()[0].id),
    "reviews.grant": lambda m: m.reviews.grant(asked(m).id),
    "reviews.reject": lambda m: m.reviews.reject(m.reviews.waiting()[0].id),
    "reviews.reject_all": lambda m: m.reviews.reject_all(),
    "reviews.waiting": lambda m: m.reviews.waiting(),
    "rules.all": lambda m: m.rules.all(),
    "rules.findings": lambda m: (m.consolidate(ConsolidationRule(id="now")), m.rules.findings()),
    "rules.get": lambda m: m.rules.get("r"),
    "rules.put": lambda m: m.rules.put(ConsolidationRule(id="s")),
    "rules.run_due": lambda m: m.rules.run_due(),
    "tidy.proposals": lambda m: m.tidy.proposals(),
    "undo": lambda m: m.undo("bob"),
}


CHANGING = {  # what the others read would not be there any more
    "apply", "consolidate", "erase", "forget", "invalidate", "propose", "revise", "run_due", "withheld",
    "episodes.put", "episodes.retract", "episodes.withheld", "facts.apply_delta", "facts.pin", "graph.merge",
    "graph.dismiss", "graph.propose_same", "graph.split", "graph.unmerge", "undo",
    "pages.archive", "pages.compact", "pages.supersede", "paths.abandon",
    "paths.compact", "paths.merge", "reviews.approve", "reviews.approve_all", "reviews.grant", "reviews.reject",
    "reviews.reject_all", "rules.findings", "rules.run_due", "import_export", "import_from", "entities.all",
    "entities.create", "entities.relate", "reviews.withdraw",
}  # fmt: skip


def returning() -> Iterator[str]:
    """Every public call that gives back something of ours, by name."""
    for noun, kind in {"": Memory, **NOUNS}.items():
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            said = re.findall(r"[A-Z]\w+", str(method.__annotations__.get("return", "")))
            if not name.startswith("_") and set(said) - {"None", "Path", "Any"}:
                yield f"{noun}.{name}".lstrip(".")


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag, attrs):
        assert not attrs, attrs
        self.tags.add(tag)


def look(value) -> None:
    """The three promises, of one thing and of what is in it."""
    if value is None or isinstance(value, str | int | float | bool):
        return
    if isinstance(value, tuple | Iterator) and not hasattr(value, "_fields"):
        for each in value:
            look(each)
        return
    assert " object at 0x" not in repr(value), type(value)
    assert len(repr(value)) < 20_000, type(value)
    json.dumps(plain(value))
    assert isinstance(value.to_dict(), dict | list), type(value)
    page = Page()
    page.feed(value._repr_html_())
    assert page.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}, type(value)
    for each in value if isinstance(value, list) else ():
        look(each) if not hasattr(each, "model_dump") else None


def test_no_call_is_forgotten_here():
    assert sorted({*CALLS, *WITHOUT} & set(returning())) == sorted(returning())


@pytest.mark.parametrize("call", CALLS)
def test_what_comes_back_is_readable_plain_and_a_table_whose_text_is_text(request, call):
    found = CALLS[call](request.getfixturevalue("m" if call in CHANGING else "shared"))

    assert found is not None
    look(found)


def test_lists_stay_lists(m):
    found = m.beliefs.query()

    assert isinstance(found, DisplayList)
    assert found == list(found)
    assert found.to_dict() == [belief.to_dict() for belief in found]
    assert "<th>text</th>" in found._repr_html_()


def test_when_nothing_fits_the_notebook_says_so_and_shows_the_nearest(m):
    found = m.recall("Who won the quantum chromodynamics cup?")

    assert found._repr_html_().startswith("<p>Nothing fits. Nearest:</p><table>")


def test_long_texts_and_long_lists_are_cut_and_say_so():
    many = DisplayList(Belief(id=str(n), key=str(n), text="x" * 1_000_000) for n in range(MOST_ROWS + 5))
    html = many._repr_html_()

    assert len(html) < 4 * LONGEST * MOST_ROWS
    assert f"{MOST_ROWS + 5} × Belief, the first {MOST_ROWS}" in html
    assert "…" in html


@pytest.mark.parametrize(
    "text", ["\x00", "\x1b[31m", "\u202e", "\ud800", "</td></table>", "<img src=x onerror=y>", "&lt;"]
)
def test_hostile_text_is_shown_and_never_markup(text):
    html = rows_html([{"text": f"a{text}b"}])
    page = Page()
    page.feed(html)

    assert page.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert html.encode().decode() == html
    assert not set(html) & set("\x00\x1b\u202e\ud800")


def test_what_has_fields_and_nothing_else_is_shown_by_them():
    class Bare(Displayable):
        __slots__ = ("x",)
        __dataclass_fields__ = {"x": None}  # noqa: RUF012

    bare = Bare()
    bare.x = ["<b>"]
    assert (bare.to_dict(), "&lt;b&gt;" in bare._repr_html_()) == ({"x": ["<b>"]}, True)
