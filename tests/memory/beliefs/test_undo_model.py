"""Any changes, followed by their undos in reverse order: everything is as it was, and the ledger keeps all of it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings, strategies as st

from tallystick import Memory, MemoryNode, Refused
from tallystick.records.operations import OUTCOME_PUT
from tallystick.repair.check import check
from tests.conftest import at_most
from tests.memory.moved import PATHS, Life, abouts, entities, keys, paths, places, said, trusts

IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # nobody pulls the plug here
QUESTIONS = ("tea", "Ana likes what?", "what is the port?", "x")

steps = st.one_of(
    st.tuples(st.just("remember"), said, abouts, keys, trusts, paths),
    st.tuples(st.just("remember"), said, abouts, keys, trusts, paths),
    st.tuples(st.just("remember"), st.sampled_from(["The port is 5432", "The port is 6543", "Pip is Ana's nickname"]),
              abouts, st.just(""), trusts, st.just("")),
    st.tuples(st.just("change"), places, st.sampled_from(["revise", "rest", "forget", "invalidate"]), said),
    st.tuples(st.just("field"), places, st.sampled_from(["tags", "about", "key", "status", "valid_to"]), keys),
    st.tuples(st.just("join"), places, places),
    st.tuples(st.just("observe"), said, paths, keys),
    st.tuples(st.just("happened"), places, st.sampled_from(["retract", "fade"])),
    st.tuples(st.just("answer"), places, st.booleans()),
    st.tuples(st.just("walk"), st.sampled_from(["abandon", "close", "reopen"]), paths),
    st.tuples(st.just("use"), st.sampled_from(["distrust", "since", "frame", "config", "rule"]), said),
    st.tuples(st.just("page"), st.sampled_from(["describe", "archive", "append", "flag", "clean"]), said),
    st.tuples(st.just("relate"), places, places, st.sampled_from(["goes with", ""])), entities,
)  # fmt: skip
stories = st.lists(steps, min_size=1, max_size=9)


def snapshot(memory: Memory) -> dict[str, Any]:
    """Everything that an answer may depend on, without what names or dates a version."""
    known, user = memory._folder.state, memory.user
    with memory._folder.ledger.reading():
        held = [each for each in known.of_user(user) if each.status not in ("tombstone", "invalidated")]
        names = {name: each.key for each in known.of_user(user) for name in (*known.ids_of(each), each.key)}
        state = {
            "fronts": dict(known.pages.fronts()), "rules": [(name, kept.body) for name, kept in known.rules.kept(user)],
            "distrusts": [(each.source, each.first, each.since, each.reason) for each in known.distrusts.of(user)],
            "relations": sorted((each.ids, each.path, each.relation) for each in known.relations.all()),
            "paths": [(path, known.paths.state(user, path)) for path in known.paths.names(user)],
            "names": {key: dict(value) for key, value in known._names.under()},
            "counts": known.count(user, "active"),
            "merged": sorted((key, each.into) for key, each in known.graph._merged.under()),
            "aliases": sorted((key[:3], path) for key, path in known.aliases._names.under()),
        }
    return {
        **state, "called": names,
        "beliefs": {
            path: sorted((_said(memory, each) for each in memory.beliefs.query(path=path)), key=str)
            for path in PATHS
        },
        "others": sorted(str(_said(memory, each.belief())) for each in held),
        "episodes": sorted((each.id, each.content, each.timestamp) for each in memory.episodes.recent(limit=99)),
        "frames": [frame.to_dict() for frame in memory.frames.all()], "config": memory.config.all(),
        "waiting": [each.action.kind for each in memory.reviews.waiting() if each.action.kind == "trust"],
        "recalled": [[(hit.text, hit.trust, hit.about) for hit in memory.recall(each, k=9)] for each in QUESTIONS],
        "pages": {
            page.about: sorted((each.text, each.tags) for each in memory.pages.read(page.path).entries)
            for page in memory.pages.list(include_dormant=True, include_archived=True) if page.entry_count
        },
        "nodes": [_node(node) for node in memory.graph.list_nodes(merged=True) if not node.valid_to],
        "edges": sorted((e.source, e.kind, e.target) for e in memory.graph.list_edges() if not e.valid_to),
        "facts": sorted(str((fact.id, fact.payload, fact.status)) for fact in memory.facts.query()),
        "sources": sorted((each.source, each.beliefs, each.episodes) for each in memory.sources()),
    }  # fmt: skip


def _said(memory: Memory, belief: Any) -> dict[str, Any]:
    rest = {name: value for name, value in belief.to_dict().items() if name not in ("id", "reason", "seq", "views")}
    return {**rest, "is_shown": memory.is_shown(belief.id)}


def _node(node: MemoryNode) -> tuple[object, ...]:
    return node.id, node.kind, node.label, sorted(node.aliases), sorted(node.properties.items()), node.merged_into


def differences(
    before: dict[str, Any], after: dict[str, Any], *, is_ordered: bool = True, is_twice: bool = False
) -> dict[str, Any]:  # fmt: skip
    """What differs. New names stay known: they lead to what was forgotten.

    What was counted as used stays so, and may change the order of hits. Of statements with the same words, the one that
    was recorded last is served, and their words count as said again: then what is recalled is not compared.
    """
    for each in (before, after) if is_twice else ():
        each["recalled"] = []
    if not is_ordered:
        before, after = ({**each, "recalled": list(map(sorted, each["recalled"]))} for each in (before, after))
    after = {**after, "called": {name: after["called"].get(name) for name in before["called"]}}
    pages = {name: found for name, found in after["pages"].items() if found}
    before = {**before, "pages": {name: found for name, found in before["pages"].items() if found}}
    after = {**after, "pages": pages}
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


def groups(memory: Memory, start: int) -> list[int]:
    """The first event of each group since then that changed something."""
    lines = list(memory._folder.ledger.lines(start))
    return [line.seq for before, line in zip([None, *lines], lines, strict=False) if not before or before.left == 0]


@settings(max_examples=at_most(300))
@given(stories, stories)
def test_changes_and_their_undos_in_reverse_leave_everything_as_it_was(story, later):
    place = Path(tempfile.mkdtemp(dir=IN_MEMORY))
    os.environ["HOME"] = str(place)
    life = Life(place / "m")
    with life.memory as memory:
        memory.paths.branch("b")
        memory.paths.branch("c")
        for step in story:
            life.do(step)
        memory.pages.sync()
        before, start = snapshot(memory), memory.ledger.size
        for step in later:
            life.do(step)
        told = list(memory._folder.ledger.lines())
        done = [memory.undo(seq).seq for seq in reversed(groups(memory, start)) if is_change(memory, seq)]

        is_used = any(memory.log(start, op=OUTCOME_PUT))
        how = {"is_ordered": not is_used, "is_twice": says_something_twice(memory)}
        assert differences(before, snapshot(memory), **how) == {}
        assert list(memory._folder.ledger.lines())[: len(told)] == told
        assert memory.ledger.verify().ok
        assert [found for found in check(memory.folder) if found.severity == "error"] == []
        after = snapshot(memory)
        memory.rebuild_index()
        assert differences(after, snapshot(memory)) == {}
        for seq in reversed(done):  # and undoing the undos puts the changes back
            memory.undo(seq)
    shutil.rmtree(place)


def says_something_twice(memory: Memory) -> bool:
    """Whether two statements had the same words at some time."""
    bodies = [event.body for event in memory._folder.ledger.events(0) if event.body and "origin" not in event.body]
    said = [body.get("belief", {}).get("text") or body.get("episode", {}).get("content") for body in bodies]
    words = [each.strip().lower() for each in said if each]
    return len(set(words)) < len(words)


def is_change(memory: Memory, seq: int) -> bool:
    """Whether an event changed something that can be put back."""
    try:
        memory.undo(seq, dry_run=True)
    except Refused as error:
        if "nothing to undo" not in str(error):
            raise
        return False
    return True
