"""`m.paths`: the branches of a conversation, made, merged, abandoned, compacted and reopened.

A branch sees the beliefs of its ancestors, also later ones; what is stated on it is seen nowhere else until it is
merged. The path without a name is the root, "main" in print. A merge is one group of events: after a crash there is
either all of it or nothing.

To end, or reopen, a path that somebody more trusted made, or wrote on, needs a person's approval: NeedsApproval, and
the review is pending. Approving it does exactly that, unless the path has changed since.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, cast

from tallystick.decide import paths as decide
from tallystick.decide.beliefs import Draw
from tallystick.decide.paths import MergePlan, action_on
from tallystick.memory.beliefs.store import BeliefStore
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.facts.store import FactService
from tallystick.memory.trust.filtered_calls import answering
from tallystick.records.belief import Belief
from tallystick.records.event import Draft, Event
from tallystick.records.operations import REVIEW_ASK
from tallystick.records.path import MAIN, REVIEW, ROOT, Conflict, MemoryPath, Merged, Tree, shown
from tallystick.records.review import Action
from tallystick.stores.open_ledger import OpenLedger


@answering
class PathService:
    """The paths of one user."""

    def __init__(self, folder: OpenLedger, gate: WriteGate, user: str, several: Callable[[], frozenset[str]]) -> None:
        self._folder, self._gate, self._user, self._several = folder, gate, user, several

    def branch(self, name: str, parent: str = ROOT) -> MemoryPath:
        """A new path that sees what its parent sees."""
        state = self._folder.state

        def decision(_: Draw) -> list[Draft]:
            drafts = decide.branch(state, self._user, name, decide.named(state, self._user, parent))
            self._gate.may("path", "branch", user=self._user, path=name)
            return drafts

        self._gate.record(decision)
        return self.get(name)

    def merge(self, name: str, into: str | None = None, *, conflicts: str = REVIEW) -> Merged:
        """Merge a path into its parent, or into another ancestor. The path ends.

        Where both sides changed the same thing, `conflicts` decides: "parent" keeps what is there, "branch" takes the
        branch's, "newest" what was recorded later; "review" keeps what is there and asks a person. What this program
        may not change becomes a review too; the rest is merged.
        """
        changes = {"conflicts": conflicts} | ({} if into is None else {"into": into})
        found: list[tuple[MergePlan, tuple[Conflict, ...]]] = []

        def look() -> None:
            planned = self._plan(name, into)
            found[:] = [(planned, tuple(planned.conflicts(self._folder.state)))]

        events = self._act("merge", name, changes, look=look)
        with self._folder.ledger.reading():
            return self._merged(*found[0], events)

    def conflicts(self, name: str, into: str | None = None) -> list[Conflict]:
        """The conflicts that a merge would have. Changes nothing."""
        with self._folder.ledger.reading():
            return self._plan(name, into).conflicts(self._folder.state)

    def preview(self, name: str, into: str | None = None) -> Merged:
        """What a merge would do: the beliefs that it would copy, and the conflicts. Changes nothing."""
        with self._folder.ledger.reading():
            planned = self._plan(name, into)
            brought = tuple(step.mine.belief() for step in planned.steps if not step.conflict)
            return Merged(planned.path, planned.into, brought, tuple(planned.conflicts(self._folder.state)))

    def abandon(self, name: str, reason: str) -> MemoryPath:
        """Abandon a path, with all below it: its beliefs and episodes are in no view any more, only in the history."""
        self._act("abandon", name, {}, reason)
        return self.get(name)

    def compact(self, name: str, *, summary: str = "") -> MemoryPath:
        """Close a path: it takes no more writes, and its episodes are no longer recalled. Its beliefs stay.

        A `summary` is remembered there first.
        """
        said = self._gate.masks.words(summary)
        self._act("compact", name, {"summary": said} if said else {})
        return self.get(name)

    def reopen(self, name: str, reason: str) -> MemoryPath:
        """Reopen an abandoned or compacted path: its beliefs and episodes are seen as before, and it can be written.

        Of both, the last is undone. A merge is not undone, and a summary stays.
        """
        self._act("reopen", name, {}, reason)
        return self.get(name)

    def get(self, name: str) -> MemoryPath:
        """A path by its name. The root has no record of its own."""
        with self._folder.ledger.reading():
            found = self._folder.state.paths.get(self._user, name) if isinstance(cast("object", name), str) else None
        if found is None:
            raise decide.not_found(name)
        return found

    def named(self, name: str) -> str:
        """The path that a name names, empty for the root, which "main" names. NotFound, with the way out."""
        with self._folder.ledger.reading():
            return decide.named(self._folder.state, self._user, name)

    def said(self, name: str) -> list[Belief]:
        """The beliefs that were stated or changed on this very path, as they are there now, oldest first."""
        path = self.named(name)
        with self._folder.ledger.reading():
            return [held.belief() for held in self._folder.state.on_path(self._user, path)]

    def all(self) -> list[MemoryPath]:
        """Every path but the root, oldest first."""
        with self._folder.ledger.reading():
            return self._folder.state.paths.all(self._user)

    def tree(self) -> Tree:
        """The root, and all that branched from it."""
        with self._folder.ledger.reading():
            counts = self._counts()
            records = {path.path_id: path for path in self._folder.state.paths.all(self._user)}
        below: dict[str, list[str]] = {}
        for path in records.values():
            below.setdefault(path.parent_id, []).append(path.path_id)

        def tree_of(name: str) -> Tree:  # at most as deep as paths may be
            branches = tuple(map(tree_of, below.get(name, ())))
            return Tree(name or MAIN, records.get(name), *counts.get(name, (0, 0)), branches)

        return tree_of(ROOT)

    def __iter__(self) -> Iterator[MemoryPath]:
        return iter(self.all())

    def __len__(self) -> int:
        with self._folder.ledger.reading():
            return len(self._folder.state.paths.names(self._user))

    def __contains__(self, name: object) -> bool:
        with self._folder.ledger.reading():
            return isinstance(name, str) and self._folder.state.paths.is_known(self._user, name)

    def __repr__(self) -> str:
        return f"<{len(self)} paths of {self._user}>"

    def _act(
        self, kind: str, name: str, changes: dict[str, Any], reason: str = "", look: Callable[[], None] | None = None
    ) -> list[Event]:
        """Do something to a path as it is now, if this program may; else ask for approval."""
        gate, state = self._gate, self._folder.state
        asked: dict[str, Any] = {"user": self._user, "by": gate.by, "trust": gate.trust}
        asked["reason"] = gate.masks.words(reason)

        def build() -> Action:
            path = decide.named(state, self._user, name) or MAIN
            if look is not None:
                look()
            return action_on(state, kind, path, changes, several=self._several(), **asked)

        return gate.act(build)

    def _plan(self, name: str, into: str | None) -> MergePlan:
        return decide.plan(self._folder.state, self._user, name, into, several=self._several())

    def _merged(self, planned: MergePlan, conflicts: tuple[Conflict, ...], events: list[Event]) -> Merged:
        """What a merge did, from the events that it recorded."""
        state = self._folder.state
        bodies = [(event.op, event.body) for event in events if event.body]
        versions = [body["belief"]["id"] for _, body in bodies if "merged" in body]
        brought = tuple(held.belief() for name in versions if (held := state.version(name)))
        asked = tuple(body["review"] for op, body in bodies if op == REVIEW_ASK)
        return Merged(planned.path, planned.into, brought, conflicts, asked)

    def _counts(self) -> dict[str, tuple[int, int]]:
        """How many active beliefs, and how many episodes, each path has."""
        state = self._folder.state
        refs = map(state.episodes.of, state.episodes.standing(self._user))
        episodes = Counter(ref.path for ref in refs if ref is not None)
        beliefs = Counter(each.path for each in state.of_user(self._user) if each.status == "active")
        return {path: (beliefs[path], episodes[path]) for path in beliefs.keys() | episodes.keys()}


class PathView:
    """`m.on(path)`: a memory on one path of a conversation. `m.on("main")` is the root.

    It has those calls of `Memory` that take a path, with the same arguments except that one. It has no state of its
    own: two views of the same path are equal.
    """

    def __init__(self, memory: Any, path: str) -> None:
        self._memory, self.path = memory, path

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @cached_property
    def beliefs(self) -> BeliefStore:
        """Beliefs, as they are seen from this path."""
        found: BeliefStore = self._memory.beliefs
        return found.on(self.path)

    @cached_property
    def facts(self) -> FactService:
        """Beliefs with subject, predicate and object, as they are seen from this path."""
        found: FactService = self._memory.facts
        return found.on(self.path)

    def branch(self, name: str) -> PathView:
        """A new branch from here, as a view."""
        self._memory.paths.branch(name, self.path)
        return type(self)(self._memory, name)

    @property
    def record(self) -> MemoryPath | None:
        """The path itself; None for the root, which has no record."""
        found: MemoryPath | None = self._memory.paths.get(self.path) if self.path else None
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PathView) and (other._memory, other.path) == (self._memory, self.path)

    def __hash__(self) -> int:
        return hash((id(self._memory), self.path))

    def __repr__(self) -> str:
        return f"<Memory {self._memory.folder} of {self._memory.user} on {shown(self.path)}>"


_MADE: dict[type, type[PathView]] = {}


def standing(kind: type) -> type[PathView]:
    """The view of a memory class: its calls that take a path, each made there."""
    if kind not in _MADE:
        body = {name: _made_there(name, call) for name, call in calls(kind).items()}
        _MADE[kind] = type("PathView", (PathView,), {**body, "__doc__": PathView.__doc__})
    return _MADE[kind]


def calls(kind: type) -> dict[str, Callable[..., Any]]:
    """The public calls of a class that take a path, by name; but not the one that leads here."""
    found = inspect.getmembers(kind, inspect.isfunction)
    taking = ((name, call) for name, call in found if "path" in inspect.signature(call).parameters)
    return {name: call for name, call in taking if name[0] != "_" and name != "on"}


def _made_there(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    known = inspect.signature(call)

    @wraps(call)
    def made(self: PathView, *given: Any, **named: Any) -> Any:
        if "path" in named:
            raise TypeError(f"{name}() is on path {shown(self.path)!r} already; leave `path` out")
        return call(self._memory, *given, path=self.path, **named)

    rest = [each for each in known.parameters.values() if each.name != "path"]
    made.__signature__ = known.replace(parameters=rest)  # type: ignore[attr-defined]  # inspect looks here
    return made
