"""The whole policy: for every verb on every noun and every trust, what really happens is what the matrix says.

`tallystick review policy --matrix` prints what becomes of a verb on something of a person's. Here each of these is
done, through every surface that offers it: Python, the command line, HTTP and MCP. A call that changes a memory and is
in no row fails the last test.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from tallystick import Memory, MemoryNode, NeedsApproval, NotApproved
from tallystick.records.delta import DeltaScope, NoopDelta
from tallystick.records.fields import TRUST
from tallystick.records.policy import CELLS, DEFAULT
from tallystick.records.rule import ConsolidationRule
from tallystick.surfaces.api.router import made
from tallystick.surfaces.cli.root import tallystick as program
from tallystick.surfaces.mcp.server import _read
from tallystick.surfaces.mcp.tools import TOOLS
from tallystick.surfaces.server.worker import CallContext, MemoryWorker
from tests.nouns import NOUNS

QUIET = "[pages]\nfollow = false\n[audit]\nfollow = false\n"
BY_NAME = {tool.name: tool for tool in TOOLS}


class World:
    """A memory with a person, and a program of one trust that gets at it through every surface."""

    def __init__(self, folder: Path, trust: str, opened: ExitStack) -> None:
        self.folder, self.trust, self._names = folder, trust, count()
        folder.mkdir(parents=True)
        (folder / "tallystick.toml").write_text(QUIET)
        self.m = opened.enter_context(Memory(folder, by="cli:ana"))
        self.p = opened.enter_context(Memory(folder, by="mcp:1", trust=trust))
        self.hold = MemoryWorker(partial(Memory, folder, by="http:1", trust=trust))
        self.client = opened.enter_context(TestClient(made(self.hold, None), raise_server_exceptions=False))

    # -- things of a person's ----------------------------------------------------------------------------------------

    def name(self) -> str:
        return f"x{next(self._names)}"

    def words(self) -> str:
        return f"{self.name()} went to the harbour"

    def belief(self, **more: Any) -> str:
        key = self.name()
        self.m.remember(self.words(), key=key, **more)
        return key

    def away(self) -> str:
        key = self.belief()
        self.m.forget(key)
        return key

    def related(self) -> tuple[str, str]:
        pair = self.belief(), self.belief()
        self.m.relate(*pair, "belongs with")
        return pair

    def kept_out(self) -> str:
        key = self.name()
        self.m.remember(self.words(), key=key, trust="web")
        return key

    def waiting(self) -> str:
        return self.m.reviews.find(kind="trust")[-1].id if self.kept_out() else ""

    def asked(self, by: str) -> str:
        """A question that this program asked, when it had less trust."""
        with Memory(self.folder, by=by, trust="web") as less:
            review = less.propose(less.action("forget", self.belief()))
        return str(review.id)  # type: ignore[union-attr]

    def episode(self) -> str:
        return self.m.observe(self.words(), id=self.name()).id

    def retracted(self) -> str:
        name = self.episode()
        self.m.forget(name)
        return name

    def path(self, *, is_over: bool = False) -> str:
        name = self.name()
        self.m.paths.branch(name)
        self.m.on(name).remember(self.words())
        if is_over:
            self.m.paths.abandon(name, "no use")
        return name

    def page(self, *, is_made: bool = True) -> str:
        name = f"topic-{self.name()}"
        if is_made:
            self.m.pages.append(name, self.words())
        return name

    def node(self) -> MemoryNode:
        node = MemoryNode(id=self.name(), kind="thing", label=self.name())
        self.m.graph.save_node(node)
        return node

    def pair(self, *, is_merged: bool = False, is_proposed: bool = False) -> tuple[str, str]:
        one, two = self.node().id, self.node().id
        if is_merged or is_proposed:
            self.m.graph.merge(one, two, sure=is_merged)
        return one, two

    def source(self, *, is_out: bool = False) -> str:
        name = f"agent:{self.name()}"
        if is_out:
            self.m.distrust(name, reason="it lies")
        return name

    def rule(self, *, is_kept: bool = False) -> ConsolidationRule:
        rule = ConsolidationRule(id=self.name(), when_filter="content != ''")
        if is_kept:
            self.m.rules.put(rule)
        return rule

    def frame(self) -> str:
        name = self.name()
        self.m.frames.put(name, {"similarity": 1.0})
        return name

    def described(self) -> str:
        name = self.page(is_made=False)
        self.m.pages.create(name, "what it is about")
        return name

    def setting(self) -> str:
        name = self.name()
        self.m.config.set(name, "1")
        return name

    def receipt(self) -> str:
        found = self.m.recall(self.words(), receipt=True)
        self.m.receipts.flush()
        return found.receipt

    def session(self) -> str:
        session = self.m.work.start("test")
        self.m.work.end(session)
        return session

    def exported(self) -> Path:
        user = self.name()
        self.m.remember("mine", user=user)
        place = self.folder.parent / f"{user}.ndjson"
        self.m.export(place, user=user)
        return place

    def other(self, trust: str) -> Memory:
        """The same program, for a user of its own: what is done there meets nothing else."""
        user = self.name()
        self.m.remember("theirs", user=user)
        return Memory(self.folder, by="mcp:1", trust=trust, user=user)

    def copy(self) -> tuple[Path, Path]:
        place = self.folder.parent / self.name()
        with Memory(place) as small:
            small.remember("a small memory")
            return small.backup(), place

    # -- the surfaces ------------------------------------------------------------------------------------------------

    def http(self, address: str, method: str = "POST", **body: Any) -> str:
        told = self.client.request(method, f"/v1/{address}", json=body)
        if told.status_code in (200, 201):
            return str(told.json().get("id", ""))
        raise {202: NeedsApproval, 403: NotApproved}.get(told.status_code, AssertionError)(told.text)

    def cli(self, *args: str) -> str:
        done = CliRunner().invoke(program, ["--folder", str(self.folder), *args, "--trust", self.trust, "--json"])
        if done.exit_code == 0:
            return ""
        assert done.exit_code == 1, (args, done.stderr)
        if "needs approval" in done.stderr:
            raise NeedsApproval(done.stderr)
        if "may not" in done.stderr or "it would change" in done.stderr:
            raise NotApproved(done.stderr)
        raise AssertionError(done.stderr)

    def mcp(self, tool: str, **given: Any) -> Any:
        return BY_NAME[tool].run(CallContext(self.p), _read(BY_NAME[tool], given))


class Outcome(NamedTuple):
    """What a call came to that raised nothing: whether it is out of recall, or only asked."""

    is_kept_out: bool = False
    is_asked: bool = False


def stated(w: World, do: Callable[[], Any]) -> Outcome:
    """Say something, and look whether it can be recalled."""
    before = {each.id for each in w.m.reviews.waiting()}
    do()
    return Outcome(is_kept_out=any(each.id not in before for each in w.m.reviews.waiting()))


def told(w: World, do: Callable[[], Any]) -> Outcome:
    do()
    return Outcome(is_kept_out=w.m.episodes.recent(limit=1)[0].trust in DEFAULT.quarantined)


def proposed(w: World, do: Callable[[str, str], Any]) -> Outcome:
    one, two = w.pair()
    do(one, two)
    return Outcome(is_asked=not w.m.graph.load_node(one).merged)


def act(w: World, kind: str, *names: str, **said: Any) -> None:
    w.p.apply(w.p.action(kind, *names, **said))


def apart(w: World, do: Callable[[Memory], Any]) -> None:
    with w.other(w.trust) as mine:
        do(mine)


def noted(w: World) -> None:
    scope = DeltaScope(user="me")
    told: dict[str, Any] = {"promotion_ts": "2026-01-01T00:00:00Z", "rule_id": "r", "confidence": 0.8, "scope": scope}
    w.p.facts.apply_delta(NoopDelta(source_episode_ids=[w.episode()], **told))


def brought(w: World) -> Outcome:
    done = w.p.import_from(f"- {w.words()}\n".encode(), format="markdown")
    return Outcome(is_kept_out=done.quarantined > 0)


Act = Callable[[World], Any]


def erased(name_of: Callable[[World], str]) -> dict[str, Act]:
    """Something that is no belief and no episode loses its words, by the name that it has among all that have some."""
    return {
        "python": lambda w: w.p.erase(name_of(w)),
        "http": lambda w: w.http("erase", names=[name_of(w)], confirm=True),
        "cli": lambda w: w.cli("erase", name_of(w), "--yes"),
    }


DO: dict[str, dict[str, Act]] = {
    "remember": {
        "python": lambda w: stated(w, lambda: w.p.remember(w.words())),
        "as a file": lambda w: stated(w, lambda: w.p.files.write(f"/{w.name()}.md", w.words())),
        "http": lambda w: stated(w, lambda: w.http("remember", text=w.words())),
        "cli": lambda w: stated(w, lambda: w.cli("remember", w.words())),
        "mcp": lambda w: stated(w, lambda: w.mcp("remember", text=w.words())),
    },
    "revise": {
        "python": lambda w: w.p.revise(w.belief(), w.words()),
        "under a known key": lambda w: w.p.remember(w.words(), key=w.belief()),
        "http": lambda w: w.http("revise", name=w.belief(), text=w.words()),
        "cli": lambda w: w.cli("revise", w.belief(), w.words()),
        "mcp": lambda w: w.mcp("revise", id=w.belief(), text=w.words()),
    },
    "forget": {
        "python": lambda w: w.p.forget(w.belief()),
        "as a revision": lambda w: w.p.revise(w.belief(), status="tombstone"),
        "as a fact": lambda w: w.p.facts.unpin(w.belief()),
        "http": lambda w: w.http("forget", name=w.belief()),
        "cli": lambda w: w.cli("forget", w.belief()),
        "mcp": lambda w: w.mcp("forget", ids=[w.belief()], confirm=True),
    },
    "invalidate": {
        "python": lambda w: w.p.invalidate(w.belief(), "wrong"),
        "by its time": lambda w: w.p.revise(w.belief(), valid_to="2020-01-01"),
        "http": lambda w: w.http("invalidate", name=w.belief(), reason="wrong"),
    },
    "activate": {"python": lambda w: act(w, "activate", w.away())},
    "promote": {"python": lambda w: act(w, "promote", w.belief(is_hypothesis=True))},
    "reinforce": {
        "python": lambda w: w.p.outcome([w.belief()]),
        "it misled": lambda w: w.p.outcome([w.belief()], 0.0),
        "http": lambda w: w.http("outcome", names=[w.belief()]),
    },
    "merge": {"python": lambda w: act(w, "merge", w.belief(), w.belief())},
    "erase": {
        "python": lambda w: w.p.erase(w.belief()),
        "http": lambda w: w.http("erase", names=[w.belief()], confirm=True),
        "cli": lambda w: w.cli("erase", w.belief(), "--yes"),
    },
    "trust": {"python": lambda w: act(w, "trust", w.kept_out())},
    "episode.observe": {
        "python": lambda w: told(w, lambda: w.p.observe(w.words())),
        "http": lambda w: told(w, lambda: w.http("observe", text=w.words())),
        "cli": lambda w: told(w, lambda: w.cli("observe", w.words())),
    },
    "episode.forget": {
        "python": lambda w: w.p.forget(w.episode()),
        "http": lambda w: w.http("episodes/retract", names=[w.episode()]),
        "cli": lambda w: w.cli("forget", w.episode()),
        "mcp": lambda w: w.mcp("forget", ids=[w.episode()], confirm=True),
    },
    "episode.fade": {
        "python": lambda w: w.p.archive(w.episode()),
        "http": lambda w: w.http("archive", names=[w.episode()]),
    },
    "episode.restore": {"undo": lambda w: w.p.undo(w.retracted())},
    "episode.erase": {
        "python": lambda w: w.p.erase(w.episode()),
        "http": lambda w: w.http("erase", names=[w.episode()], confirm=True),
        "cli": lambda w: w.cli("erase", w.episode(), "--yes"),
    },
    "relation.put": {
        "python": lambda w: w.p.relate(*w.related(), "explains"),
        "http": lambda w: w.http("relate", **dict(zip(("one", "other"), w.related(), strict=True)), relation="is like"),
        "cli": lambda w: w.cli("relate", *w.related(), "follows from"),
    },
    "fact.note": {"python": noted},
    "change.undo": {
        "python": lambda w: w.p.undo(w.belief()),
        "http": lambda w: w.http("undo", event=w.belief()),
        "cli": lambda w: w.cli("undo", w.belief()),
        "mcp": lambda w: w.mcp("review", action="undo", id=w.belief()),
    },
    "path.branch": {
        "python": lambda w: w.p.paths.branch(w.name()),
        "http": lambda w: w.http("paths", name=w.name()),
        "cli": lambda w: w.cli("paths", "branch", w.name()),
    },
    "path.merge": {
        "python": lambda w: w.p.paths.merge(w.path()),
        "http": lambda w: w.http(f"paths/{w.path()}/merge"),
        "cli": lambda w: w.cli("paths", "merge", w.path()),
    },
    "path.abandon": {
        "python": lambda w: w.p.paths.abandon(w.path(), "no use"),
        "http": lambda w: w.http(f"paths/{w.path()}/abandon", reason="no use"),
        "cli": lambda w: w.cli("paths", "abandon", w.path(), "--reason", "no use"),
    },
    "path.compact": {
        "python": lambda w: w.p.paths.compact(w.path()),
        "http": lambda w: w.http(f"paths/{w.path()}/compact"),
        "cli": lambda w: w.cli("paths", "compact", w.path()),
    },
    "path.reopen": {
        "python": lambda w: w.p.paths.reopen(w.path(is_over=True), "again"),
        "http": lambda w: w.http(f"paths/{w.path(is_over=True)}/reopen", reason="again"),
        "cli": lambda w: w.cli("paths", "reopen", w.path(is_over=True), "--reason", "again"),
    },
    "path.erase": erased(lambda w: f"path:{w.path()}"),
    "page.create": {
        "python": lambda w: w.p.pages.create(w.page(is_made=False)),
        "http": lambda w: w.http("pages", name=w.page(is_made=False)),
    },
    "page.describe": {
        "python": lambda w: w.p.pages.describe(w.page(), description="x"),
        "put away": lambda w: w.p.pages.archive(w.page()),
        "http": lambda w: w.http(f"pages/{w.page()}", "PATCH", description="x"),
    },
    "page.compact": {"python": lambda w: w.p.pages.compact(w.page())},
    "page.clean": {"python": lambda w: apart(w, lambda mine: mine.pages.clean())},
    "page.erase": erased(lambda w: f"page:{w.described()}"),
    "graph.put": {"python": lambda w: w.p.graph.save_node(MemoryNode.from_dict({**w.node().to_dict(), "label": "y"}))},
    "graph.merge": {
        "python": lambda w: proposed(w, lambda one, two: w.p.graph.merge(one, two, sure=True)),
        "http": lambda w: proposed(w, lambda one, two: w.http("entities/merge", name=one, into=two, sure=True)),
        "cli": lambda w: proposed(w, lambda one, two: w.cli("graph", "merge", one, two, "--sure")),
    },
    "graph.unmerge": {
        "python": lambda w: w.p.graph.unmerge(w.pair(is_merged=True)[0]),
        "http": lambda w: w.http("entities/unmerge", name=w.pair(is_merged=True)[0]),
    },
    "graph.split": {
        "python": lambda w: w.p.graph.split("topic-tea", [w.belief(about="topic-tea")], w.name()),
        "http": lambda w: w.http(
            "entities/split", name="topic-tea", beliefs=[w.belief(about="topic-tea")], to=w.name()
        ),
        "cli": lambda w: w.cli("graph", "split", "tea", w.belief(about="topic-tea"), "--to", w.name(), "--yes"),
    },
    "graph.refile": {
        "python": lambda w: w.p.graph.refile(),
        "http": lambda w: w.http("entities/refile"),
        "cli": lambda w: w.cli("graph", "refile", "--yes"),
    },
    "graph.dismiss": {"python": lambda w: w.p.graph.dismiss(*w.pair(is_proposed=True))},
    "graph.erase": erased(lambda w: f"node:{w.node().id}"),
    "source.distrust": {
        "python": lambda w: w.p.distrust(w.source()),
        "http": lambda w: w.http("distrust", source=w.source()),
    },
    "source.trust": {
        "python": lambda w: w.p.restore_trust(w.source(is_out=True)),
        "http": lambda w: w.http("restore-trust", source=w.source(is_out=True)),
    },
    "source.erase": erased(lambda w: f"source:{w.source(is_out=True)}"),
    "review.answer": {
        "python": lambda w: w.p.reviews.approve(w.waiting()),
        "no": lambda w: w.p.reviews.reject(w.waiting()),
        "grant": lambda w: w.p.reviews.grant(w.asked("cli:x")),
        "http": lambda w: w.http(f"reviews/{w.waiting()}/approve"),
    },
    "review.withdraw": {
        "python": lambda w: w.p.reviews.withdraw(w.asked("mcp:1")),
        "http": lambda w: w.http(f"reviews/{w.asked('http:1')}/withdraw"),
    },
    "rule.set": {"python": lambda w: w.p.rules.put(w.rule())},
    "rule.drop": {"python": lambda w: w.p.rules.drop(w.rule(is_kept=True).id)},
    "rule.run": {"python": lambda w: w.p.consolidate(w.rule(is_kept=True))},
    "rule.erase": erased(lambda w: f"rule:{w.rule(is_kept=True).id}"),
    "frame.set": {"python": lambda w: w.p.frames.put(w.name(), {"similarity": 1.0})},
    "frame.drop": {"python": lambda w: w.p.frames.drop(w.frame())},
    "frame.erase": erased(lambda w: f"frame:{w.frame()}"),
    "config.set": {"python": lambda w: w.p.config.set("top_k", w.name())},
    "config.erase": erased(lambda w: f"setting:{w.setting()}"),
    "receipt.erase": erased(lambda w: f"receipt:{w.receipt()}"),
    "import.run": {"python": brought},
    "memory.import": {"python": lambda w: (place := w.exported()) and w.p.import_export(place, user=place.stem)},
    "work.start": {"python": lambda w: w.p.work.start()},
    "work.end": {"python": lambda w: w.p.work.end(w.m.work.start())},
    "work.erase": erased(lambda w: f"session:{w.session()}"),
    "ledger.checkpoint": {
        "python": lambda w: w.p.ledger.checkpoint(),
        "http": lambda w: w.http("ledger/checkpoint"),
    },
    "ledger.repin": {"python": lambda w: w.p.ledger.checkpoint(repin=True)},
    "ledger.backup": {"python": lambda w: w.p.backup()},
    "ledger.compact": {"python": lambda w: w.p.ledger.compact()},
    "ledger.prune": {"python": lambda w: w.p.ledger.prune(w.folder.parent / w.name())},
    "ledger.restore": {"python": lambda w: Memory.restore(*w.copy(), trust=w.trust).close()},
}  # fmt: skip


def came_to(do: Act, w: World) -> str:
    try:
        found = do(w)
    except NeedsApproval:
        return "review"
    except NotApproved:
        return "refuse"
    except Exception as error:  # told with all others
        return repr(error)
    if isinstance(found, Outcome) and found.is_asked:
        return "review"
    return "quarantine" if isinstance(found, Outcome) and found.is_kept_out else "allow"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Callable[[str], World]]:
    with ExitStack() as opened:
        yield lambda trust: World(tmp_path / trust / "m", trust, opened)


@pytest.mark.parametrize("trust", TRUST)
def test_what_happens_is_what_the_matrix_says(world, trust):
    w = world(trust)
    said = w.m.matrix()
    rows = sorted(DO.items(), key=lambda row: not row[0].endswith("erase"))  # costly: while it is small
    differing = {
        (cell, way): (said[cell][trust], found)
        for cell, ways in rows for way, do in ways.items()
        if (found := came_to(do, w)) != said[cell][trust]
    }  # fmt: skip

    assert not differing, f"the matrix says the first, and the second happened: {differing}"


def test_every_row_is_done_here_and_the_command_prints_it(world, tallystick):
    w = world("human")
    printed = tallystick("--folder", str(w.folder), "review", "policy", "--matrix", "--json").json

    assert list(DO) == list(CELLS) == list(printed)
    assert printed == w.m.matrix()
    page = tallystick("--folder", str(w.folder), "review", "policy", "--matrix").out
    assert "path\n  branch                allow       allow       allow       allow       allow\n" in page
    assert "  abandon               allow       review      review      review      review\n" in page


def test_every_call_that_changes_a_memory_is_in_a_row_or_is_left_out_for_a_reason():
    own = {name for name, _ in inspect.getmembers(Memory) if not name.startswith("_")} - set(NOUNS)
    nouns = {f"{noun}.{name}" for noun, kind in NOUNS.items() for name in dir(kind) if not name.startswith("_")}
    named = [*ROWS, *READS.split(), *LEFT_OUT]

    assert set(ROWS.values()) <= set(CELLS)
    assert sorted(named) == sorted(own | nouns)
    assert len(named) == len(set(named))
    assert all(LEFT_OUT.values())


ROWS = {  # a call, and the row of the matrix that it falls under
    "remember": "remember", "revise": "revise", "forget": "forget", "invalidate": "invalidate", "erase": "erase",
    "observe": "episode.observe", "archive": "episode.fade", "outcome": "reinforce", "relate": "relation.put",
    "distrust": "source.distrust",
    "restore_trust": "source.trust", "backup": "ledger.backup", "restore": "ledger.restore",
    "import_from": "import.run",
    "import_export": "memory.import", "consolidate": "rule.run", "run_due": "rule.run",
    "config.set": "config.set", "entities.create": "remember", "entities.observe": "remember",
    "entities.observe_all": "remember", "entities.relate": "remember", "entities.forget": "forget",
    "entities.take_back": "forget", "entities.unrelate": "forget", "episodes.put": "episode.observe",
    "episodes.observe": "episode.observe", "episodes.retract": "episode.forget", "episodes.migrate": "config.set",
    "facts.pin": "remember", "facts.unpin": "forget", "facts.apply": "revise", "facts.apply_delta": "revise",
    "facts.migrate": "config.set", "files.write": "remember", "files.move": "revise", "files.remove": "forget",
    "frames.put": "frame.set", "frames.drop": "frame.drop", "graph.save_node": "graph.put",
    "graph.save_nodes": "graph.put", "graph.save_edge": "graph.put", "graph.save_edges": "graph.put",
    "graph.save_path": "graph.put", "graph.save_profile": "graph.put", "graph.import_envelope": "graph.put",
    "graph.merge": "graph.merge", "graph.unmerge": "graph.unmerge", "graph.dismiss": "graph.dismiss",
    "graph.erase": "graph.erase", "graph.propose_same": "graph.merge", "graph.split": "graph.split",
    "graph.refile": "graph.refile", "undo": "change.undo",
    "ledger.checkpoint": "ledger.checkpoint", "ledger.prove": "ledger.checkpoint",
    "ledger.compact": "ledger.compact", "ledger.prune": "ledger.prune", "pages.create": "page.create",
    "pages.append": "remember", "pages.supersede": "revise", "pages.flag_compact": "page.describe",
    "pages.archive": "page.describe", "pages.activate": "page.describe", "pages.describe": "page.describe",
    "pages.compact": "page.compact", "pages.clean": "page.clean", "paths.branch": "path.branch",
    "paths.merge": "path.merge", "paths.abandon": "path.abandon", "paths.compact": "path.compact",
    "paths.reopen": "path.reopen", "reviews.approve": "review.answer", "reviews.approve_all": "review.answer",
    "reviews.reject": "review.answer", "reviews.reject_all": "review.answer", "reviews.grant": "review.answer",
    "reviews.withdraw": "review.withdraw", "rules.put": "rule.set", "rules.drop": "rule.drop",
    "rules.run_due": "rule.run", "tidy.apply": "forget", "work.start": "work.start", "work.end": "work.end",
    "work.on": "work.start",
}  # fmt: skip
_AS_ITS_ACTION = "it does an action, which is judged as what it is"
_DERIVED = "it makes what is derived again, from the ledger"
_EDITED = "an edit of a file is a person's: whoever can write in the folder can write in the ledger"
LEFT_OUT = {
    "apply": _AS_ITS_ACTION, "propose": _AS_ITS_ACTION, "batch": "what is done in it is judged", "close": _DERIVED,
    "rebuild_index": _DERIVED, "embed": _DERIVED, "ledger.note_erasures": "it tells the pin what the ledger says",
    "replace_settings": "only a person sets the policy",
    "pages.sync": _EDITED, "pages.rebuild": _EDITED, "receipts.flush": "it writes what recall has kept",
    "receipts.keep": "what tools and the web ask for leaves no receipt", "on": "the same memory, on a path",
    "facts.together": "what is done in it is judged", "test": "it records what questions were answered with",
}  # fmt: skip
READS = """
    action audit beliefs.all beliefs.on beliefs.page beliefs.query similar config.all config.get diff embedder
    entities.all entities.called entities.names_of episodes.bootstrap episodes.columns episodes.consolidate
    episodes.find episodes.get episodes.health episodes.learned episodes.read episodes.recent episodes.since
    episodes.withheld
    export export_lines facts.bootstrap facts.evidence facts.follow facts.get facts.health facts.history facts.on
    facts.query files.paths files.read files.sizes frame frames.all frames.get get graph.expand
    graph.export_envelope graph.export_to graph.find_same graph.list_edges graph.list_events graph.list_nodes
    graph.list_paths graph.list_profiles graph.load_edge graph.load_node graph.load_path graph.load_profile
    graph.neighbours graph.resolve graph.shortest_path graph.show graph.would_import history
    folder is_shown settings_text
    ledger.check_proof ledger.checkpoints ledger.doubted ledger.files ledger.folder ledger.id
    ledger.is_doubted ledger.pin_path ledger.proof ledger.size
    ledger.verifier_key ledger.verify links log log_page content_version mark_withheld marks masked matrix
    pages.folder
    pages.compactions pages.get_schema
    pages.list pages.name_of pages.read pages.recent pages.search paths.all paths.conflicts paths.get paths.named
    paths.preview paths.said paths.tree policy recall receipts.all receipts.get recorded related replay
    reviews.all reviews.find reviews.get reviews.is_approved reviews.may_answer reviews.quarantined_episodes
    reviews.waiting rules.all rules.findings rules.get
    rules.waiting seq_at show sources status tidy.proposals trouble trust missing_vectors dependents preview_erase
    check_policy why withheld work.hours work.session writable
"""  # what only looks
