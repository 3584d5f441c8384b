"""Lives of a memory, drawn at random, and how two memories are compared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tallystick import ConsolidationRule, Memory, MemoryEdge, MemoryNode, TallystickError
from tests import strategies

said = strategies.texts.filter(str.strip)
PATHS = ("", "b", "c")
places = st.integers(0, 99)
paths = st.sampled_from(["", "", "b", "c"])
abouts = st.sampled_from(["", "person-ana", "project-x", "user-profile", "../x"])
keys = st.sampled_from(["", "", "k1", "k2"])
trusts = st.sampled_from(["human", "human", "agent", "web", "tool"])


class Life:
    """One memory, and a clock that goes on by seven minutes with each look at it."""

    def __init__(self, folder: Path) -> None:
        self.now = datetime(2026, 5, 20, 12, tzinfo=UTC)
        self.memory = Memory(folder, clock=self.clock, embedder="none")

    def clock(self) -> datetime:
        self.now += timedelta(minutes=7)
        return self.now

    def do(self, step: tuple[Any, ...]) -> None:
        """Live through one step. What is refused did not happen."""
        try:
            live(self.memory, *step)
        except TallystickError:
            return


def live(memory: Memory, name: str, *given: Any) -> None:
    """One step of a life."""
    _STEPS[name](memory, *given)


def _one(found: list[Any], which: int) -> Any:
    return found[which % len(found)] if found else None


def _remember(m: Memory, text: str, about: str, key: str, trust: str, path: str) -> None:
    m.remember(text, about=about, key=key, trust=trust, path=path, tags=["a"], data={"n": 1})


def _change(m: Memory, which: int, how: str, text: str) -> None:
    belief = _one(m.beliefs.all(), which)
    if belief is None:
        return
    if how == "revise":
        m.revise(belief.id, text, reason="better")
    elif how == "rest":
        m.remember(text, rests_on=[belief.id], triple=("Ana", "likes", text))
    else:
        {"forget": m.forget, "invalidate": m.invalidate}[how](belief.id, reason="it was not so")


def _field(m: Memory, which: int, field: str, key: str) -> None:
    """Change something else than the words of a belief."""
    belief = _one(m.beliefs.all(), which)
    values: dict[str, Any] = {
        "tags": ["a", key or "b"], "about": "person-ana", "key": key or "k3", "status": "deprecated",
        "valid_to": "2027-01-01",
    }  # fmt: skip
    if belief is not None:
        m.revise(belief.id, **{field: values[field]}, path=belief.path)


def _join(m: Memory, one: int, other: int) -> None:
    """Let one belief become part of another."""
    found = [belief for belief in m.beliefs.all() if belief.is_held and not belief.path]
    if len(found) > 1:
        m.apply(m.action("merge", _one(found, one).id, _one(found, other).id))


def _relate(m: Memory, one: int, other: int, relation: str) -> None:
    found = [belief for belief in m.beliefs.all() if not belief.path]
    if found:
        m.relate(_one(found, one).id, _one(found, other).id, relation)


def _happened(m: Memory, which: int, how: str) -> None:
    episode = _one(m.episodes.recent(limit=50), which)
    if episode is not None:
        {"retract": m.episodes.retract, "fade": m.archive, "erase": m.erase}[how](episode.id)


def _answer(m: Memory, which: int, is_yes: bool) -> None:
    review = _one(m.reviews.waiting(), which)
    if review is not None:
        (m.reviews.approve if is_yes else m.reviews.reject)(review.id, reason="seen")


def _walk(m: Memory, how: str, path: str) -> None:
    acts: dict[str, Callable[[], object]] = {
        "branch": lambda: m.paths.branch(path or "d", ""), "merge": lambda: m.paths.merge(path or "d"),
        "abandon": lambda: m.paths.abandon(path or "d", "no use"), "close": lambda: m.paths.compact(path or "d"),
        "reopen": lambda: m.paths.reopen(path or "d", "of use"),
    }  # fmt: skip
    acts[how]()


def _use(m: Memory, how: str, text: str) -> None:
    acts: dict[str, Callable[[], object]] = {
        "recall": lambda: (m.recall(text, receipt=True), m.receipts.flush()),
        "outcome": lambda: m.outcome([m.beliefs.all()[0].id], 1.0) if m.beliefs.all() else None,
        "start": lambda: m.work.start("task"),
        "end": lambda: m.work.end(m.work.session),
        "distrust": lambda: m.distrust("trust:agent", reason=text),
        "since": lambda: m.distrust("trust:agent", since=m.beliefs.all()[0].at) if m.beliefs.all() else None,
        "frame": lambda: m.frames.put("mine", {"similarity": 1.0}),
        "config": lambda: m.config.set("decay", "0.5"),
        "rule": lambda: m.rules.put(ConsolidationRule(id="r1", cadence={"every": 1}, then_emits=["facts"])),
        "run": m.run_due,
        "undo": m.undo,
        "other": lambda: m.remember(f"SECRET of bob {text}", user="bob", about="person-bob"),
        "compact": m.ledger.compact,
    }  # fmt: skip
    acts[how]()


def _page(m: Memory, how: str, text: str) -> None:
    acts: dict[str, Callable[[], object]] = {
        "describe": lambda: m.pages.describe("person-ana", description=text),
        "archive": lambda: m.pages.archive("project-x"),
        "append": lambda: m.pages.append("person-ana", text, ["a"]), "flag": lambda: m.pages.flag_compact("person-ana"),
        "clean": lambda: m.pages.clean(),
    }  # fmt: skip
    acts[how]()


def _graph(m: Memory, how: str, text: str) -> None:
    acts: dict[str, Callable[[], object]] = {
        "node": lambda: m.graph.save_node(MemoryNode(id="n1", kind="place", label=text)),
        "edge": lambda: m.graph.save_edge(MemoryEdge.between("person-ana", "knows", "n1")),
        "merge": lambda: m.graph.merge("n1", "person-ana", sure=True), "ask": lambda: m.graph.merge("n1", "project-x"),
        "unmerge": lambda: m.graph.unmerge("n1"), "refile": m.graph.refile,
        "join": lambda: m.graph.merge("project-x", "person-ana", sure=True),
        "self": lambda: m.graph.merge("person-ana", "user-profile", sure=True),
        "part": lambda: m.graph.unmerge("project-x"),
        "yes": lambda: [m.reviews.approve(each.id) for each in m.reviews.waiting() if each.action.noun == "graph"],
    }  # fmt: skip
    acts[how]()


def _split(m: Memory, which: int, to: str) -> None:
    """Let a belief be about something else."""
    belief = _one([each for each in m.beliefs.all() if each.is_held], which)
    if belief is not None:
        m.graph.split(belief.about or "notes", [belief.id], to)


def _erase(m: Memory, which: int) -> None:
    belief = _one(m.beliefs.all(), which)
    if belief is not None:
        m.erase(belief.id)


_STEPS: dict[str, Callable[..., None]] = {
    "remember": _remember, "change": _change, "happened": _happened, "answer": _answer, "walk": _walk, "use": _use,
    "page": _page, "graph": _graph, "split": _split, "erase": _erase, "field": _field, "join": _join, "relate": _relate,
    "observe": lambda m, text, path, name: m.observe(text, session="s1", path=path, id=name) and None,
}  # fmt: skip

entities = st.one_of(
    st.tuples(st.just("graph"), st.sampled_from(["join", "self", "part", "refile", "ask", "yes"]), said),
    st.tuples(st.just("split"), places, st.sampled_from(["person-ana", "project-x", "Ana", "Zoe Park"])),
)
sayings = st.tuples(st.just("remember"), said, abouts, keys, trusts, paths)
steps = st.one_of(
    sayings, sayings, sayings,
    st.tuples(st.just("change"), places, st.sampled_from(["revise", "rest", "forget", "invalidate"]), said),
    st.tuples(st.just("observe"), said, paths, keys),
    st.tuples(st.just("happened"), places, st.sampled_from(["retract", "fade", "erase"])),
    st.tuples(st.just("answer"), places, st.booleans()),
    st.tuples(st.just("walk"), st.sampled_from(["branch", "merge", "abandon", "close"]), paths),
    st.tuples(
        st.just("use"),
        st.sampled_from(
            ["recall", "outcome", "start", "end", "distrust", "since", "frame", "config", "rule", "run", "undo",
             "undo", "other", "compact"]
        ),
        said,
    ),
    st.tuples(st.just("page"), st.sampled_from(["describe", "archive", "append", "flag", "clean"]), said),
    st.tuples(st.just("graph"), st.sampled_from(["node", "edge", "merge", "ask", "unmerge"]), said),
    st.tuples(st.just("erase"), places), entities,
)  # fmt: skip
lives = st.lists(steps, min_size=2, max_size=14)


def lines_of(memory: Memory) -> list[bytes]:
    """An export but for its first line, which says what is its own."""
    return list(memory.export_lines())[1:]


def pages_of(memory: Memory) -> dict[str, bytes]:
    """The owner's pages as they would be written from nothing, and what stands on them."""
    for path in (memory.folder / "memory").glob("*.md"):
        path.unlink()
    memory.pages.sync()
    return {path.name: path.read_bytes() for path in (memory.folder / "memory").glob("*.md")}


def told_of(memory: Memory, moment: datetime) -> dict[str, Any]:
    """All that a memory answers that may not differ in one that was made from its export."""
    beliefs = memory.beliefs.all()
    everywhere = [belief for path in ("", "b", "c", "d") for belief in memory.beliefs.query(status="", path=path)]
    return {
        "beliefs": [_told(belief) for belief in everywhere],
        "history": [
            [(each.at, each.op, each.by, _told(each.belief)) for each in memory.history(belief.id)]
            for belief in beliefs
        ],
        "then": [_told(belief) for belief in memory.beliefs.query(believed_at=moment, status="")],
        "episodes": [_told(each) for each in memory.episodes.recent(limit=99)],
        "facts": [fact.to_dict() for fact in memory.facts.query()],
        "paths": [path.to_dict() for path in memory.paths.all()],
        "reviews": [{**review.to_dict(), "seq": 0} for review in memory.reviews.all()],
        "sources": [_no_place(each.to_dict()) for each in memory.sources()],
        "rules": [(rule.to_dict()["rule"], memory.rules.waiting(rule.rule.id)) for rule in memory.rules.all()],
        "frames": [frame.to_dict() for frame in memory.frames.all()],
        "hours": (memory.work.hours, memory.work.session, memory.config.all()),
        "receipts": [(each.id, each.hits, each.question) for each in memory.receipts.all()],
        "graph": memory.graph.export_envelope().to_bytes(),
    }  # fmt: skip


def _told(noun: Any) -> dict[str, Any]:
    return {**noun.to_dict(), "seq": 0}


def _no_place(standing: dict[str, Any]) -> dict[str, Any]:
    withheld = standing.get("withheld")
    return {**standing, "withheld": withheld and {**withheld, "seq": 0, "first": 0}}
