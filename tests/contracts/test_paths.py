"""What is seen from where, read to everything that has paths: two event logs, two workspaces and a memory.

Current is the main path and what was merged into it. A branch is seen by whoever names it; once abandoned it is in no
current view, whatever it said and whenever.
"""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import (
    FileBackedMemoryGraphStore,
    InMemoryMemoryEventLog,
    InMemoryMemoryGraphStore,
    JsonlMemoryEventLog,
    Memory,
    MemoryEvent,
    PhaseMemoryRuntime,
    Refused,
)
from tests.conftest import at_most

NINE = datetime(2026, 5, 18, 9, tzinfo=UTC)


class OfALog:
    """Events in a log, and what a replay of it gives."""

    def __init__(self, log):
        self.log, self.told = log, 0
        self._say("path.branch", "main", {})

    def _say(self, kind, path, payload, about=()):
        self.told += 1
        at = NINE + timedelta(minutes=self.told)
        self._record(MemoryEvent.new(kind, at, path_id=path, subject_ids=about, payload=payload))

    def _record(self, event):
        self.log.append(event)

    def branch(self, name, parent="main"):
        self._say("path.branch", name, {"parent_id": parent})

    def put(self, name, text, path="main"):
        self._say("node.put", path, {"node": {"id": name, "kind": "fact", "label": text}}, [name])

    def merge(self, name, into="main"):
        self._say("path.merge", name, {"into": into})

    def abandon(self, name):
        self._say("path.abandon", name, {"reason": "it led nowhere"})

    def sees(self, path=None):
        return {name: node["label"] for name, node in self.log.replay(path).nodes.items()}

    def close(self):
        pass


class OfAWorkspace(OfALog):
    """A graph that follows its log. All its current views must say the same."""

    def __init__(self, store):
        self.runtime = PhaseMemoryRuntime(store, clock=lambda: NINE)
        super().__init__(self.runtime.log)

    def _record(self, event):
        self.runtime.record([event])

    def sees(self, path=None):
        seen = {node.id: node.label for node in self.runtime.seen_from(path or "main").list_nodes()}
        assert seen == super().sees(path)
        if path is None:
            store = self.runtime.store
            assert seen == {node.id: store.load_node(node.id).label for node in store.list_nodes()}
            assert seen == {node.id: node.label for node in self.runtime.export().nodes}
            assert self.runtime.compare().differences == ()
            assert self.runtime.diagnostics() == []
        return seen


class OfAMemory:
    """Beliefs under keys, in a ledger."""

    def __init__(self, folder):
        self.memory, self.keys = Memory(folder), set()

    def branch(self, name, parent="main"):
        self.memory.paths.branch(name, parent)

    def put(self, name, text, path="main"):
        self.keys.add(name)
        self.memory.on(path).remember(text, key=name)

    def merge(self, name, into="main"):
        self.memory.paths.merge(name, into, conflicts="newest")

    def abandon(self, name):
        self.memory.paths.abandon(name, "it led nowhere")

    def sees(self, path=None):
        found = {key: self.memory.get(key, path=path or "") for key in sorted(self.keys)}
        return {key: belief.text for key, belief in found.items() if belief is not None}

    def close(self):
        self.memory.close()


MAKERS = {  # whoever has paths in another way joins here
    "log-in-memory": lambda folder: OfALog(InMemoryMemoryEventLog()),
    "log-in-a-file": lambda folder: OfALog(JsonlMemoryEventLog(folder / "events.jsonl")),
    "workspace-in-memory": lambda folder: OfAWorkspace(InMemoryMemoryGraphStore()),
    "workspace-in-files": lambda folder: OfAWorkspace(FileBackedMemoryGraphStore(folder / "w")),
    "memory": lambda folder: OfAMemory(folder / "memory"),
}


@pytest.fixture(params=MAKERS)
def talk(request, tmp_path):
    made = MAKERS[request.param](tmp_path)
    yield made
    made.close()


def test_an_abandoned_branch_does_not_win(talk):
    talk.put("port", "The port is 5432")
    talk.branch("try")
    talk.put("port", "The port is 6543", "try")
    assert talk.sees("try") == {"port": "The port is 6543"}

    talk.abandon("try")

    assert talk.sees() == talk.sees("main") == {"port": "The port is 5432"}


def test_an_open_branch_is_seen_from_there_and_not_from_main_or_a_sibling(talk):
    talk.put("port", "The port is 5432")
    for path in ("try", "other"):
        talk.branch(path)
        talk.put("name", f"The name is {path}", path)
    talk.put("host", "The host is db1", "try")
    talk.put("port", "The port is 5433")
    talk.put("name", "The name is main")

    above = {"port": "The port is 5433"}
    assert talk.sees() == talk.sees("main") == {"name": "The name is main", **above}
    assert talk.sees("other") == {"name": "The name is other", **above}, "what is nearer counts, and no sibling"
    assert talk.sees("try") == {"host": "The host is db1", "name": "The name is try", **above}, "above, also later"


def test_what_was_merged_is_current(talk):
    talk.put("port", "The port is 5432")
    talk.branch("try")
    talk.put("port", "The port is 6543", "try")
    talk.put("host", "The host is db1", "try")

    talk.merge("try")

    assert talk.sees() == {"host": "The host is db1", "port": "The port is 6543"}


def test_what_was_merged_into_a_branch_that_was_abandoned_is_not_current(talk):
    talk.put("port", "The port is 5432")
    talk.branch("try")
    talk.branch("deeper", "try")
    talk.put("host", "The host is db1", "deeper")
    talk.merge("deeper", "try")
    assert talk.sees("try") == {"host": "The host is db1", "port": "The port is 5432"}

    talk.abandon("try")

    assert talk.sees() == {"port": "The port is 5432"}


def test_an_id_of_the_callers_is_one_thing_on_every_path(talk):
    for path in ("one", "two"):
        talk.branch(path)
        talk.put("port", f"The port is that of {path}", path)
    talk.abandon("one")
    talk.merge("two")
    talk.put("port", "The port is 5432")

    assert talk.sees() == {"port": "The port is 5432"}


def test_a_path_that_ended_is_not_ended_again(talk):
    talk.branch("try")
    talk.put("port", "The port is 6543", "try")
    talk.abandon("try")
    if type(talk) is not OfALog:  # a log takes whatever happened, and passes over what cannot be
        with pytest.raises(Refused):
            talk.merge("try")
    else:
        talk.merge("try")

    assert talk.sees() == {}


SIDES = ("a", "b")
steps = st.lists(
    st.tuples(st.just("put"), st.sampled_from(("main", *SIDES)), st.sampled_from("xy"))
    | st.tuples(st.sampled_from(["merge", "abandon"]), st.sampled_from(SIDES), st.just("")),
    max_size=10,
)


@settings(max_examples=at_most(10), deadline=None)
@given(steps)
def test_any_talk_is_seen_alike_by_every_workspace_and_log(tmp_path_factory, story):
    talks = [make(tmp_path_factory.mktemp("talk")) for name, make in MAKERS.items() if name != "memory"]
    for talk in talks:
        open_ = {"main", *SIDES}
        for side in SIDES:
            talk.branch(side)
        for number, (what, path, name) in enumerate(story):
            if path not in open_:
                continue
            if what == "put":
                talk.put(name, f"{name} is {number}", path)
            else:
                getattr(talk, what)(path)
                open_.remove(path)

    seen = [[talk.sees(path) for path in (None, "main", *SIDES)] for talk in talks]
    assert all(each == seen[0] for each in seen)
    assert seen[0][0] == seen[0][1]
