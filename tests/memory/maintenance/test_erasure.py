"""Erasure reaches every word that a person or a program can enter: every field of every event that holds words."""

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from tallystick import Memory, MemoryNode, NeedsApproval, Refused
from tallystick.projections.index import fold
from tallystick.records.errors import NotFound, NotWritten
from tallystick.records.event import Draft
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.events import MemoryEvent
from tallystick.records.graph.nodes import MemoryEdge, MemoryProfile, Provenance
from tallystick.records.rule import ConsolidationRule
from tallystick.records.schema import SCHEMA, WORDS, words_in
from tallystick.repair.check import check
from tests.memory.told import forget_state
from tests.refusals import not_approved, refuses

MARK = "zuxu"  # no id has a u

NOT_ENTERED = {  # fields that hold words, and no call of a person's or a program's that fills them
    ("graph.put/1", "events"): "events of a graph come with an envelope, as nodes do",
    ("graph.put/1", "piece"): "a record that is too long for one line, in pieces",
    ("graph.put/1", "names"): "beside a piece",
    ("receipt.put/1", "receipts.embedder"): "a setting names the embedder",
    ("frame.put/1", "frame.source"): "says that a frame is the user's",
    ("ledger.copy/1", "place"): "where a copy was made: the ledger needs it, and erasure says so",
    ("ledger.prune/1", "place"): "where segments were moved",
    ("ledger.restore/1", "from"): "which backup was restored",
    ("ledger.repair/1", "settled"): "names that led nowhere",
}


def word(field: str) -> str:
    return f"{MARK}{field.replace('_', '')}"


def plant(memory: Memory) -> list[str]:
    """Put a marked word into every field; the names by which all of them are erased."""
    belief = memory.remember(
        word("text"), key=word("key"), about=f"person-{word('about')}", kind=word("kind"), tags=[word("tag")],
        evidence=[word("evidence")], source_type=word("sourcetype"), triple=(word("s"), word("p"), word("o")),
        session=word("session"), agent=word("agent"), data={word("name"): word("data")}, idempotency_key=word("idem"),
    )  # fmt: skip
    memory.revise(word("key"), word("revised"), reason=word("reason"), views={"x": word("view")})
    memory.outcome([word("key")], 1.0, reason=word("outcome"))
    memory.forget(word("key"), reason=word("forget"))
    memory.remember(word("wrong"), key=word("invalid"))
    memory.invalidate(word("invalid"), word("invalidated"))
    told = memory.observe(
        f"Ana lives in {word('town').capitalize()}.", id=word("episode"), session=word("session"), agent=word("agent"),
        metadata={word("meta"): word("data")}, source_node=word("node"),
    )  # fmt: skip
    memory.archive(told.id, reason=word("fade"))
    memory.observe(f"We call the oven {word('second').capitalize()}.", id=word("episode2"))
    memory.remember(f"We call the mill {word('wrong').capitalize()}.", key=word("invalid2"))
    memory.forget(word("episode2"), reason=word("retract"))
    memory.undo(word("episode2"), reason=word("undone"))
    memory.remember(word("rekeyed"), key=word("rekeyed"))
    memory.revise(word("rekeyed"), key=word("dropped"))
    memory.undo(word("rekeyed"))
    front = {"description": word("description"), "title": word("title"), "tags": [word("tag")]}
    memory.pages.create(f"person-{word('page')}", **front)
    memory.pages.append(f"person-{word('old')}", word("entry"), key=word("entry"))
    memory.pages.describe(f"person-{word('old')}", description=word("description"))
    old = memory.pages.folder / f"person-{word('old')}.md"
    old.rename(old.with_name(f"person-{word('new')}.md"))
    memory.pages.sync()
    memory.paths.branch(word("path"))
    memory.paths.branch(word("below"), word("path"))
    memory.remember(word("onpath"), path=word("below"))
    memory.outcome([memory.on(word("below")).beliefs.query()[-1].id], 1.0, reason=word("o"), path=word("below"))
    memory.relate(memory.on(word("below")).beliefs.query()[-1].id, word("invalid2"), word("rel"), path=word("below"))
    memory.paths.merge(word("below"))
    memory.paths.compact(word("path"), summary=word("summary"))
    memory.paths.branch(word("given"))
    memory.distrust(f"agent:{word('source')}", reason=word("distrust"))
    memory.restore_trust(f"agent:{word('source')}", reason=word("again"))
    memory.distrust("trust:web", reason=word("why"))
    memory.frames.put(
        word("frame"), {"recency": 1.0}, template=f"{word('template')} {{blocks}}",
        filters={"tag_patterns": [word("filter")]}, guarantees=[word("guaranteed")],
    )  # fmt: skip
    memory.frames.put(word("frame2"), {"recency": 1.0})
    memory.frames.drop(word("frame2"))
    memory.frame(word("frame"), word("framed"), receipt=True, keep_question=True)
    memory.config.set(word("setting"), word("value"))
    memory.rules.put(ConsolidationRule(
        id=word("rule"), cadence={"every": 1}, when_filter=f"content LIKE '{word('when')}%'", then_emits=["x"],
    ))  # fmt: skip
    session = memory.work.start(word("task"))
    memory.work.end(session)
    memory.graph.import_envelope(GraphEnvelope(metadata={word("meta"): word("envelope")}))
    memory.graph.save_profile(MemoryProfile(id=word("profile"), properties={"name": word("profilename")}))
    memory.graph.save_nodes([MemoryNode(id=word(f"node{n}"), kind="thing", label=word(f"label{n}")) for n in (1, 2)])
    memory.graph.save_edge(MemoryEdge(id=word("edge"), source=word("node1"), target=word("node2"), kind=word("rel")))
    memory.graph.merge(word("node1"), word("node2"), sure=True)
    found = memory.recall(word("question"), session=word("session"), receipt=True, keep_question=True)
    memory.remember(word("mine"), key=word("mine"), path=word("given"))
    with Memory(memory.folder, by="mcp:1", trust="agent") as agent, pytest.raises(NeedsApproval):
        agent.remember(word("theirs"), key=word("mine"), path=word("given"), idempotency_key=word("askedkey"))
    with Memory(memory.folder, by="mcp:1", trust="agent") as agent, pytest.raises(NeedsApproval):
        agent.forget(word("invalid2"), reason=word("askedreason"))
    write = memory._folder.ledger.write  # what a rule, a fold or another program records, in the words of somebody
    write(lambda: [
        Draft("rule.ran/1", {"user": "me", "id": word("rule"), "through": 1, "considered": 1, "made": {}}),
        Draft("rule.found/1", {"user": "me", "id": word("rule"), "ids": [told.source], "reason": word("found")}),
        Draft("rule.drop/1", {"user": "me", "id": word("rule")}),
        Draft("rule.put/1", {"user": "me", "rule": {
            "id": word("rule"), "cadence": {"cron": word("cron")}, "when_filter": "", "then_emits": [word("to")]}}),
        Draft("delta.noop/1", {"user": "me", "agent": word("agent"), "path": word("given"), "why": word("noop"),
                               "step": {"rule": word("rule"), "sources": [told.source]}, "corroborates": []}),
        Draft("page.fold/1", {"user": "me", "about": f"person-{word('page')}", "into": {"a": "b"}}),
        Draft("page.put/1", {"user": "me", "about": f"person-{word('page')}", "front": {"reason": word("flagged")}}),
        Draft("graph.propose/1", {"user": "me", "node": word("node1"), "into": word("node2"), "score": 1,
                                  "names": [word("other")], "reasons": [word("alike")]}),
        Draft("graph.dismiss/1", {"user": "me", "node": word("node1"), "into": word("node2")}),
        Draft("graph.unmerge/1", {"user": "me", "node": word("node1")}),
        Draft("graph.put/1", {"user": "me", "paths": [{"path_id": word("graphpath")}]}),
        Draft("review.ask/1", {"review": "r-20260520-1200-abcdef", "user": "me", "digest": "0" * 64, "why": word("why"),
                               "action": {"kind": "remember", "changes": {"text": word("text")}}}),
    ])  # fmt: skip
    with Memory(memory.folder, by="mcp:1", trust="web") as web:
        web.remember(word("web"), key=word("webkey"))
    [asked] = [each for each in memory.reviews.waiting() if each.action.kind == "trust"]
    memory.reviews.reject(asked.id, reason=word("rejected"))
    memory.observe(word("third"), path=word("given"))
    memory.paths.abandon(word("given"), word("abandoned"))
    memory.receipts.flush()
    assert belief.key == word("key")
    return [
        word("key"), word("invalid"), word("invalid2"), word("webkey"), "r-20260520-1200-abcdef",
        word("episode"), word("episode2"), f"page:person-{word('page')}",
        word("entry"), word("rekeyed"), f"page:person-{word('new')}",
        f"path:{word('given')}", f"path:{word('below')}", f"path:{word('path')}", f"source:agent:{word('source')}",
        "source:trust:web", f"frame:{word('frame')}", f"frame:{word('frame2')}", f"setting:{word('setting')}",
        f"rule:{word('rule')}", f"session:{session}", "graph:metadata", f"node:{word('profile')}",
        f"node:{word('graphpath')}", f"node:{word('node1')}", f"node:{word('node2')}", f"node:{word('edge')}",
        f"receipt:{found.receipt}",
    ]  # fmt: skip


def all_words(op: str, schema: dict[str, Any], inside: str = "") -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for name, kind in schema.items():
        if isinstance(kind, dict):
            found |= all_words(op, kind, f"{inside}{name}.")
        elif kind in WORDS:
            found.add((op, f"{inside}{name}"))
    return found


def holding(*folders: Path) -> list[str]:
    mark = MARK.encode()
    every = [path for folder in folders for path in folder.rglob("*")]
    return sorted(
        str(path) for path in every
        if mark in str(path).casefold().encode() or (path.is_file() and mark in path.read_bytes().lower())
    )  # fmt: skip


def where(folder: Path) -> list[str]:
    """The marked words that are left, each with the file that has it."""
    found = [(path.name, path.read_bytes().lower()) for path in folder.rglob("*") if path.is_file()]
    marked = re.compile(rb".{0,30}%b\w*" % MARK.encode())
    return sorted({f"{name}: {each!r}" for name, data in found for each in marked.findall(data)})


def parts_of(memory: Memory) -> list[Any]:
    """All that decisions are made on, but the beliefs themselves, and how far the graph has come: that has no words."""
    rows = map(orjson.loads, memory._folder.state.dump())
    return [row for row in rows if row[0] not in ("belief", "graph.first", "graph.last")]


def test_every_word_of_every_event_can_be_erased(memory, home):
    memory.backup()
    names = plant(memory)
    memory.backup()
    planted = {
        (event.op, field) for event in memory.log() if event.body
        for field, value in words_in(event.op, event.body) if MARK in str(value).casefold()
    }  # fmt: skip
    alike = {op: next(first for first in SCHEMA if SCHEMA[first] is SCHEMA[op]) for op in SCHEMA}
    wanted = {pair for op in set(alike.values()) for pair in all_words(op, SCHEMA[op])}
    missing = sorted(wanted - {(alike[op], field) for op, field in planted} - NOT_ENTERED.keys())
    assert missing == [], "\n".join(map(str, missing))

    half = len(names) // 2
    one_by_one, together = names[:half], names[half:]
    for name in one_by_one:
        memory.erase(name)
    memory.erase(*together)
    followed = parts_of(memory)
    memory.close()

    left = holding(home)
    assert left == [], "\n".join(left + where(home))
    forget_state(memory.folder)
    with Memory() as again:
        assert parts_of(again) == followed
        assert again.ledger.verify().ok
    assert [finding.code for finding in check(memory.folder) if finding.severity == "error"] == []


def test_what_was_approved_and_revised_since_is_erased_in_whatever_order_its_versions_go(memory):
    for number in range(5):  # each has four approved versions, of which each rests on the one before
        key = f"key {number}"
        memory.remember("Ana likes tea", key=key)
        with Memory(memory.folder, trust="import") as other, pytest.raises(NeedsApproval) as asked:
            other.remember("Ana likes coffee", key=key)
        memory.reviews.approve(asked.value.review)
        for tag in "abc":
            memory.revise(key, tags=[tag])
    memory.close()

    with Memory(memory.folder) as again:
        for number in range(5):
            again.erase(f"key {number}")
        assert again.beliefs.all() == []


def test_every_word_that_a_state_file_has_can_be_erased(memory, home, tmp_path):
    names = plant(memory)
    memory.ledger.compact()
    memory.remember("Tea is kept in the left cupboard")
    memory.ledger.prune(tmp_path / "away")
    memory.backup()
    [state] = (memory.folder / "sealed").glob("state-*")
    assert MARK in state.read_text("utf-8").casefold()

    for name in names:
        if not name.startswith(("node:", "graph:")):  # the graph asks for the segments that were moved away
            with suppress(NotFound):  # its words were only there
                memory.erase(name)
    followed = parts_of(memory)
    memory.close()

    assert holding(home) == [], "\n".join(where(home))
    forget_state(memory.folder)
    with Memory() as again:
        assert parts_of(again) == followed
        assert [hit.text for hit in again.recall("tea cupboard", words=True)] == ["Tea is kept in the left cupboard"]
        assert again.ledger.verify().ok
    assert [finding.code for finding in check(memory.folder) if finding.severity == "error"] == []


def test_with_the_words_of_a_page_a_source_and_a_session_goes_nothing_that_is_held_withheld_or_counted(memory, home):
    memory.pages.create("person-bob", description=f"Bob has a {MARK} problem", title=f"{MARK} Bob", tags=[MARK])
    memory.pages.archive("person-bob")
    memory.remember("Bob likes tea", about="person-bob", key="tea")
    page = memory.folder / "memory" / "person-bob.md"
    page.write_text(page.read_text().replace("status:", f"mood: {MARK}\nstatus:"))
    memory.distrust("mcp:1", reason=f"it told of {MARK}")
    before, session = memory.work.hours, memory.work.start(MARK)
    memory.remember("work")
    for name in ("page:person-bob", "source:mcp:1", f"session:{session}"):
        memory.erase(name)

    assert holding(home) == []
    assert "Bob likes tea" in page.read_text()
    assert [info.status for info in memory.pages.list(True, True) if info.path == "person-bob.md"] == ["archived"]
    assert memory.show("tea").status == "active"
    [standing] = [each for each in memory.sources() if each.source == "mcp:1"]
    assert standing.withheld is not None
    assert standing.withheld.reason == ""
    memory.close()
    forget_state(memory.folder)
    with Memory() as again:
        assert again.work.session == ""
        assert again.work.hours >= before


def test_what_has_no_words_is_not_erased_nor_a_path_before_its_branches_nor_by_a_program_what_is_no_belief(
    memory, agent
):
    size = memory.ledger.size
    for name in ("page:nobody", "path:nowhere", "source:mcp:9", "frame:none", "rule:none", "graph:x"):
        with pytest.raises(Refused, match=re.escape(name.partition(":")[2])):
            memory.erase(name)
    assert memory.ledger.size == size
    memory.paths.branch("a")
    memory.paths.branch("b", "a")
    with refuses("state", "'b'"):
        memory.erase("path:a")
    memory.pages.create("person-bob", description="words")
    with not_approved("refused", "agent", "erase a page"):
        agent.erase("page:person-bob")
    assert "words" in (memory.folder / "memory" / "person-bob.md").read_text()
    memory.remember("words", key="page:person-bob")
    assert [belief.key for belief in memory.erase("page:person-bob").beliefs] == ["page:person-bob"], "what it names"


def erased(memory: Memory, *names: str) -> list[str]:
    """The files that hold the mark after an erasure, here and in copies; the memory is as its ledger says."""
    folder = memory.folder
    memory.receipts.flush()
    memory.erase(*names)
    memory.close()
    assert [each for each in check(folder) if each.severity == "error"] == []
    found = [path for path in folder.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()]
    return [str(path.relative_to(folder)) for path in found] + [str(path) for path in folder.rglob(f"*{MARK}*")]


def test_with_a_path_goes_what_was_asked_and_told_of_what_was_said_on_it(memory):
    memory.remember("The office is in Bonn", key="office")
    memory.paths.branch("plan")
    said = memory.remember(word("office"), key="office", path="plan")
    memory.observe(word("told"), id="told", path="plan")
    memory.archive("told", reason=word("fade"))
    memory.recall(word("question"), path="plan", receipt=True, keep_question=True)
    told = Provenance(sources=(said.id,))
    memory.graph.save_node(MemoryNode(id="n", kind="thing", label=word("label"), provenance=told))
    memory.revise("office", "The office is in Cologne")
    memory.paths.merge("plan", conflicts="review")
    memory.backup()

    assert erased(memory, "path:plan") == []


def test_the_name_of_a_path_is_in_no_snapshot_once_it_is_erased_and_what_was_merged_stays_without_it(memory, agent):
    memory.paths.branch(word("path"))
    memory.paths.abandon(word("path"), "x")
    memory.paths.reopen(word("path"), "y")
    memory.recall("tea", path=word("path"), receipt=True)
    agent.paths.branch(word("agents"))
    memory.remember("The office is in Bonn", key="office")
    memory.paths.branch(word("merged"))
    on = memory.on(word("merged"))
    on.revise("office", "The office is in Cologne")
    on.remember("It has a garden", key="garden", rests_on=["office"])
    memory.paths.merge(word("merged"))

    assert erased(memory, *(f"path:{word(name)}" for name in ("path", "agents", "merged"))) == []
    with Memory(memory.folder) as again:
        assert [again.show(key).text for key in ("office", "garden")] == ["The office is in Cologne", "It has a garden"]


def test_with_what_was_served_goes_how_it_was_asked_for_and_with_a_node_what_happened_to_it(memory):
    memory.remember("The harbour is deep", key="harbour", about=f"person-{word('about')}", tags=[word("tag")])
    memory.remember("The harbour is old", key="other")
    for filters in ({"about": f"person-{word('about')}"}, {"tags": [word("tag")]}):
        assert memory.recall("the harbour", filters=filters, receipt=True)
    memory.graph.save_node(MemoryNode(id=word("node"), kind="thing", label="x"))
    put = MemoryEvent.new(
        "custom", "2026-05-20T12:00:00.000000Z", subject_ids=[word("node")], payload={"label": word("label")}
    )
    memory.graph.import_envelope(GraphEnvelope(events=(put,)))

    assert erased(memory, "harbour", f"node:{word('node')}") == []


def test_a_page_goes_from_what_a_restore_set_aside(memory):
    memory.pages.create(f"person-{word('page')}", description=word("description"))
    copy, folder = memory.backup(), memory.folder
    memory.close()
    with Memory.restore(copy, folder) as restored:
        assert list(folder.glob(f"backup/*-before-restore/memory/person-{word('page')}.md"))
        assert erased(restored, f"page:person-{word('page')}") == []


@pytest.mark.parametrize("part", ["memory", "backup", "memory/person-bob.md"])
def test_nothing_is_erased_while_a_part_cannot_be_read(memory, part, monkeypatch):
    memory.remember(word("text"), key="bob", about="person-bob")
    memory.backup()
    size, place = memory.ledger.size, memory.folder / part

    def but_there(call):
        def opened(path, *how, **said):
            if str(path) == str(place):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return call(path, *how, **said)

        return opened

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", but_there(os.scandir))
        patch.setattr(os, "open", but_there(os.open))
        with pytest.raises(NotWritten, match=part):
            memory.erase("bob")
    assert memory.ledger.size == size
    assert erased(memory, "bob") == []


def test_a_page_that_is_replaced_meanwhile_keeps_nobody_from_erasing(memory, monkeypatch):
    memory.remember(word("text"), key="bob", about="person-bob")
    fresh, is_link = memory.folder / "memory" / ".person-bob.md.new", os.path.islink

    def looked_at(path):
        if str(path) == str(fresh):
            fresh.unlink(missing_ok=True)  # its writer has put it in place
        return is_link(path)

    fresh.write_text("another's, half written")
    with monkeypatch.context() as patch:
        patch.setattr(os.path, "islink", looked_at)
        assert [belief.key for belief in memory.erase("bob").beliefs] == ["bob"]
    assert not fresh.exists()


def test_with_a_page_go_the_words_of_its_former_names_and_none_of_another_page_that_has_such_a_name(memory, home):
    for was, to in (("ana", "anna"), ("bea", "ana")):  # one name is that of two pages, after each other
        memory.pages.append(f"person-{was}", f"said of {was}", key=was)
        memory.pages.describe(f"person-{was}", description=f"{MARK} {was}" if was == "ana" else "stays")
        page = memory.pages.folder / f"person-{was}.md"
        page.rename(page.with_name(f"person-{to}.md"))
        memory.pages.sync()
    memory.erase("ana")

    memory.erase("page:person-anna")

    assert holding(home) == []
    assert b"person-anna" not in b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    with pytest.raises(NotFound, match="'person-bea'"):
        memory.erase("page:person-bea")
    info = memory.pages.read("person-ana").info
    followed = parts_of(memory)
    memory.close()
    forget_state(memory.folder)
    with Memory() as again:
        assert parts_of(again) == followed
        assert again.pages.read("person-ana").info == info
        assert (info.description, again.show("bea").about) == ("stays", "person-ana")


# -- the index ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def applied(monkeypatch):
    """The events that indexes have taken since this was last cleared."""
    seqs, apply = list[int](), fold.apply

    def noted(batch, event):
        seqs.append(event.seq)
        apply(batch, event)

    monkeypatch.setattr(fold, "apply", noted)
    return seqs


def told(memory: Memory) -> list[str]:
    """Beliefs and episodes, of several people, in several scripts, some of them ended."""
    for number in range(30):
        memory.remember(f"parcel {number} is in the shed", key=f"p{number}", about=f"thing-{number % 4}")
        memory.observe(f"Ana asked for parcel {number}", id=f"e{number}", session="s", agent=f"agent-{number % 3}")
    memory.remember("東京の塔は高い", key="tower")
    memory.remember("大阪の城は古い", key="castle")
    for number in range(0, 30, 5):
        memory.revise(f"p{number}", f"parcel {number} is in the house")
    memory.forget("p7")
    return ["p1", "e2", "p5", "tower", "p7"]


def test_what_nobody_else_has_said_is_taken_out_of_the_index_which_stays(memory, applied):
    memory.remember("Bea has a parcel too", user="bea", agent="agent-1", about="thing-1")
    names = told(memory)
    assert memory.recall("parcel 1 shed", words=True)
    for name in names:
        applied.clear()
        first = memory.ledger.size
        memory.erase(name)
        assert memory.recall("parcel 2 shed", words=True)
        assert [seq for seq in applied if seq < first] == []

    assert [hit.text for hit in memory.recall("東京の塔", words=True)] == []
    assert [hit.text for hit in memory.recall("大阪の城", words=True)] == ["大阪の城は古い"]
    memory.close()
    assert [finding.code for finding in check(memory.folder)] == []


@pytest.mark.parametrize("how", ["said twice", "served together", "tied", "on a path", "related", "", "proved right"])
def test_what_is_bound_up_with_others_is_taken_out_by_filling_the_index_again(memory, applied, how):
    told(memory)
    memory.remember("Parcel 1 weighs a ton", key="more", rests_on=["p1"] if how == "tied" else [])
    match how:
        case "said twice":
            memory.observe("parcel 1 is in the shed", id="again")
        case "served together":
            memory.recall("parcel 1", receipt=True)
            memory.receipts.flush()
        case "on a path":
            memory.paths.branch("b")
            memory.revise("p1", "parcel 1 is at sea", path="b")
        case "related":
            memory.relate("p1", "p2", "stands beside")
        case "proved right":
            memory.outcome(["p1", "p2"], 1.0)
    applied.clear()
    memory.erase("p1")
    memory.recall("parcel 2 shed", words=True)

    assert (0 in applied) == (how not in ("", "proved right"))
    memory.close()
    assert [finding.code for finding in check(memory.folder) if finding.severity == "error"] == []


def test_after_a_prune_an_erasure_leaves_in_the_index_what_it_had_of_the_events_that_were_moved_away(memory, tmp_path):
    told(memory)
    memory.recall("parcel", receipt=True)
    memory.receipts.flush()
    memory.ledger.compact()
    memory.remember("the sea is calm")
    memory.ledger.prune(tmp_path / "away")

    memory.erase("p3", "e4")

    assert [hit.text for hit in memory.recall("Ana asked for parcel 9", words=True, k=1)] == ["Ana asked for parcel 9"]
    assert not [hit for hit in memory.recall("parcel 3 shed", words=True) if "parcel 3 " in hit.text]
    assert not [hit for hit in memory.recall("asked for parcel 4", words=True) if "for parcel 4" in hit.text]
    memory.close()
    assert [path.name for path in memory.folder.glob("state.db*") if b"parcel 3 " in path.read_bytes()] == []
