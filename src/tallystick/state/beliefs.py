"""What is held now: every belief's current version, folded from events.

Applying the same events in the same order always gives the same state. Versions are kept as the JSON they were recorded
as, so that what is handed out is always a fresh copy, and writing a snapshot costs little more than joining them.

A path sees what its ancestors hold, and never what is on a path beside or below it. Of one belief, which is one key,
the nearest that is held or was hides the others. On its own this knows of no branches: every path is the root's child.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from hashlib import sha256
from itertools import takewhile
from typing import Any

import orjson

from tallystick.records import ids
from tallystick.records.belief import OWNER
from tallystick.records.errors import NotFound, Refused
from tallystick.records.event import Event
from tallystick.records.fact_view import grown
from tallystick.records.operations import BELIEF_INVALIDATE, BELIEF_PUT, BELIEF_SUPERSEDE, BELIEF_TOMBSTONE, ERASE
from tallystick.state.branches import BranchLinks
from tallystick.state.transaction import GONE
from tallystick.state.version import STEPS, CurrentVersion, places, step


class Beliefs(BranchLinks):
    """The state that decisions about beliefs are made on."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self.held: dict[str, CurrentVersion] = {}  # by ref
        self._versions: dict[str, tuple[str, int]] = {}  # version id → (ref, its words)
        self._ids: dict[str, dict[str, None]] = {}  # ref → its version ids
        self._keys: dict[tuple[str, str, str], str] = {}  # (user, path, key) → ref
        self._said: dict[tuple[str, str, str], tuple[str, str]] = {}  # (user, source, its key) → (version, gist)
        self._above: dict[str, dict[str, None]] = {}  # ref → what rests on it
        self._among: dict[tuple[str, str, Any], dict[str, None]] = {}  # (user, field, value) → refs
        self.clear_kin()

    # -- following the ledger ----------------------------------------------------------------------------------------

    def knows(self, op: str) -> bool:
        return op in _ACTS

    def apply(self, event: Event) -> None:
        """Take in one event. One that speaks of something erased changes nothing."""
        act = _ACTS.get(event.op)
        if act is not None and event.body is not None:
            act(self, event, event.body)

    def records(self) -> int:
        """How much a snapshot has to hold."""
        return len(self._versions)

    def _under(self, table: dict[Any, dict[str, None]], key: Any) -> dict[str, None]:
        """The set at `key`. An empty one that a rollback leaves behind says nothing."""
        found = table.get(key)
        if found is None:
            found = table[key] = {}
        return found

    def _put(self, event: Event, body: dict[str, Any]) -> None:
        belief = body["belief"]
        self._must_be_free(belief["id"])
        self._install(belief["id"], belief, event, first=event.seq, words=0)
        if "over" in body or "merged" in body:
            self._stem(belief["id"], belief, body)
        self._note_key(event, body, belief.get("user", OWNER))

    def _supersede(self, event: Event, body: dict[str, Any]) -> None:
        belief, replaced = body["belief"], [self._versions[i][0] for i in body["replaces"] if i in self._versions]
        if not replaced:
            self._put(event, body)
            return
        if belief["id"] not in body["replaces"]:  # a repair says again, under its own id, what it found elsewhere
            self._must_be_free(belief["id"])
        before = self.held[replaced[0]]
        said = [self.held[ref].body() for ref in dict.fromkeys(replaced)]
        changed = said[0].get("text", "") != belief.get("text", "")
        if any("views" in each for each in said):
            views = grown(belief.get("views", {}), [each.get("views") for each in said])
            belief = {**belief, "views": views} if views else belief
        self._install(before.ref, belief, event, first=before.first, words=before.words + changed)
        if "over" in body or "merged" in body:
            self._stem(before.ref, belief, body)
        for other in dict.fromkeys(replaced[1:]):
            if other != before.ref:
                self._lead(other, before.ref)
        self._note_key(event, body, before.user)

    def _note_key(self, event: Event, body: dict[str, Any], user: str) -> None:
        """Keep a caller's idempotency key with what it stated, under the source whose key it is."""
        if "idempotency_key" in body:
            key = (user, body.get("idempotency_source", event.by), body["idempotency_key"])
            self._set(self._said, key, (body["belief"]["id"], gist_of(body["belief"])))

    def _must_be_free(self, version: str) -> None:
        """Two versions with one id are nothing that we recorded; whoever follows the ledger counts on that."""
        if version in self._versions:
            raise Refused(f"{version} names another version already", "exists")

    def _lead(self, ref: str, to: str) -> None:
        """From now on every name of `ref` names `to`."""
        held = self.held[ref]
        self._forget_places(held)
        for name in list(self._ids[ref]):
            self._set(self._versions, name, (to, -1))
            self._set(self._ids[to], name, None)
        self._drop_kin(ref)
        self._drop(self._ids, ref)
        self._drop(self.held, ref)
        for key in [key for key, named in self._keys.items() if named == ref]:  # its own, and those that led to it
            self._set(self._keys, key, to)

    def _change(self, event: Event, body: dict[str, Any]) -> None:
        """A belief is no longer held, and why; its words stay."""
        if body["id"] not in self._versions:
            return
        held = self.held[self._versions[body["id"]][0]]
        belief = held.body()
        belief["status"] = "tombstone" if event.op == BELIEF_TOMBSTONE else "invalidated"
        belief.pop("reason", None)
        if body.get("reason"):
            belief["reason"] = body["reason"]
        self._install(held.ref, belief, event, first=held.first, words=held.words)

    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        for name in body.get("ids", ()):
            if name in self._versions:
                self._remove(self._versions[name][0])

    def _remove(self, ref: str) -> None:
        held = self.held[ref]
        self._forget_places(held)
        for name in list(self._ids[ref]):
            self._drop(self._versions, name)
        for key in [key for key, named in self._keys.items() if named == ref]:
            self._drop(self._keys, key)
        for used in [used for used, (version, _) in self._said.items() if version in self._ids[ref]]:
            self._drop(self._said, used)
        self._drop_kin(ref)
        self._drop(self._ids, ref)
        self._drop(self.held, ref)

    def _install(self, ref: str, belief: dict[str, Any], event: Event, *, first: int, words: int) -> None:
        if ref in self.held:
            self._forget_places(self.held[ref])
        self._hold(CurrentVersion.of(ref, belief, first, event.seq, event.ts, words, event.by), belief)

    def _hold(self, held: CurrentVersion, body: dict[str, Any]) -> None:
        ref, version = held.ref, body["id"]
        changes: list[tuple[dict[Any, Any], Any, Any]] = [
            (self.held, ref, held),
            (self._versions, version, (ref, held.words)),
            (self._under(self._ids, ref), version, None),
            (self._keys, (held.user, held.path, held.key), ref),
        ]
        changes += [(self._under(self._among, place), ref, None) for place in places(held, body)]
        changes += [(self._under(self._above, below), ref, None) for below in body.get("rests_on", ())]
        if self._undo is not None:
            self._undo += [(table, key, table.get(key, GONE)) for table, key, _ in changes]
        for table, key, value in changes:
            table[key] = value

    def _hold_first(self, held: CurrentVersion, body: dict[str, Any]) -> None:
        """The same where nothing can be taken back and no other version is known: opening a memory waits for this."""
        ref, version, among = held.ref, body["id"], self._among
        self.held[ref], self._versions[version], self._ids[ref] = held, (ref, held.words), {version: None}
        self._keys[held.user, held.path, held.key] = ref
        for place in places(held, body):
            if place in among:
                among[place][ref] = None
            else:
                among[place] = {ref: None}
        for below in body.get("rests_on", ()):
            self._under(self._above, below)[ref] = None

    def _forget_places(self, held: CurrentVersion) -> None:
        body = held.body()
        for place in places(held, body):
            self._drop(self._among[place], held.ref)
        for below in body.get("rests_on", ()):
            self._drop(self._above[below], held.ref)

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def dump(self) -> bytes:
        """All of it as JSON, a belief a line. The lines stand ready, so this costs little more than joining them."""
        rest = {
            "versions": [
                [ref, [[name, self._versions[name][1]] for name in names]]
                for ref, names in self._ids.items()
                if len(names) > 1
            ],
            "keys": [[*key, ref] for key, ref in self._keys.items() if self.held[ref].key != key[2]],
            "said": [[*key, *said] for key, said in self._said.items()],
            **self._dump_kin(),
        }
        lines = b",\n".join([held.line for held in self.held.values()])
        return b'{"beliefs":[\n' + lines + b"\n]," + orjson.dumps(rest)[1:]

    def load(self, dumped: bytes) -> None:
        """Instead of what is held: what `dump` wrote. A line at a time, so that the whole is never there twice."""
        self.clear()
        lines, _, tail = dumped.partition(b"[\n")[2].rpartition(b"\n],")
        for line in lines.split(b",\n") if lines else ():
            self._hold_first(*CurrentVersion.read(line))
        rest = orjson.loads(b"{" + tail)
        for ref, names in rest["versions"]:
            self._ids[ref] = {name: None for name, _ in names}
            self._versions.update({name: (ref, words) for name, words in names})
        self._keys.update({(user, path, key): ref for user, path, key, ref in rest["keys"]})
        self._said.update({(row[0], row[1], row[2]): (row[3], row[4]) for row in rest["said"] if len(row) == 5})
        self._load_kin(rest)

    # -- asking ------------------------------------------------------------------------------------------------------

    def taken(self, version: str) -> bool:
        return version in self._versions

    def sight(self, user: str, path: str) -> tuple[str, ...]:
        """The paths that are seen from one, the nearest first."""
        del user  # on its own this knows of nobody's branches
        return (path, "") if path else _ROOT

    def writable(self, user: str, path: str) -> None:
        """Refused, if nothing may be said on a path any more."""

    def is_open(self, user: str, path: str) -> bool:
        """Whether something may still be said on a path."""
        try:
            self.writable(user, path)
        except Refused:
            return False
        return True

    def find(self, name: str, *, user: str = OWNER, path: str = "", short: bool = True) -> CurrentVersion | None:
        """The belief that `name` names: its key, any version's id, or, if `short`, the last six characters of one.

        As it is seen from the path. A version of a path that is not seen from there is found where it is.
        """
        sight = self.sight(user, path) if path else _ROOT
        for each in sight:
            ref = self._keys.get((user, each, name))
            if ref is not None:
                return self.held[ref] if each == sight[0] else self._nearest(self.held[ref], sight)
        ref = self._versions[name][0] if name in self._versions else None
        if ref is None and short and ids.SHORT_ID.match(name):
            ref = self._by_short_id(name, user)
        held = self.held.get(ref) if ref else None
        if held is None or held.user != user:
            return None
        return self._nearest(self._brought_over(held, sight), sight)

    def sees(self, held: CurrentVersion, path: str) -> bool:
        """Whether it is seen from that path, and nothing nearer hides it."""
        if not path:
            return not held.path
        sight = self.sight(held.user, path)
        return held.path in sight and (held.path == sight[0] or self._nearest(held, sight) is held)

    def _by_short_id(self, short: str, user: str) -> str | None:
        found = {
            ref for name, (ref, _) in self._versions.items() if name.endswith(short) and self.held[ref].user == user
        }
        if len(found) > 1:
            raise Refused(f"{short} names {len(found)} beliefs; write more of the id", "ambiguous")
        return found.pop() if found else None

    def get(self, name: str, *, user: str = OWNER, path: str = "") -> CurrentVersion:
        """The same, or NotFound."""
        held = self.find(name, user=user, path=path)
        if held is None:
            raise NotFound(f"no belief named {name!r}; run `tallystick log` to list them")
        return held

    def read_before(self, name: str, held: CurrentVersion) -> bool:
        """Whether `name` is an older version of `held`, or another path's, with other words than it has now."""
        known = self._versions.get(name)
        if known is None:
            return False
        words = known[1] if known[0] == held.ref else self._same.get(held.ref, {}).get(name)
        return words != held.words

    def said(self, user: str, source: str, idempotency_key: str) -> tuple[CurrentVersion, str] | None:
        """What a source stated under a key of its own, if anything, and the gist of the words it used then."""
        name, gist = self._said.get((user, source, idempotency_key), ("", ""))
        return (self.held[self._versions[name][0]], gist) if name in self._versions else None

    def owner(self, version: str) -> str | None:
        """Whose belief a version id names; None if nobody's is known by it."""
        known = self._versions.get(version)
        return self.held[known[0]].user if known else None

    def ids_of(self, held: CurrentVersion) -> list[str]:
        return list(self._ids[held.ref])

    def resting_on(self, held: CurrentVersion) -> list[CurrentVersion]:
        """What rests directly on a belief, under any of its names, on whichever path, oldest first."""
        names = (name for kin in self.kin_of(held.ref) for name in self._ids.get(kin, ()))
        above = {ref for name in names for ref in self._above.get(name, ())}
        return sorted((self.held[ref] for ref in above if ref in self.held), key=lambda held: held.first)

    def claiming(self, user: str, path: str, agent: str, subject: str, predicate: str) -> list[CurrentVersion]:
        """The facts of that subject and predicate that are seen from a path, held or not, oldest first."""
        sight = self.sight(user, path) if path else _ROOT
        found = [held for each in sight for held in self._in((user, "claim", (each, agent, subject, predicate)))]
        if len(sight) == 1:
            return found
        return sorted((held for held in found if self._nearest(held, sight) is held), key=lambda held: held.first)

    def coming_from(self, user: str, episode: str) -> list[CurrentVersion]:
        """The facts whose lineage holds that episode, named by its event, held or not, oldest first."""
        return self._in((user, "episode", episode))

    def facts(self, user: str, subject: str | None = None) -> list[CurrentVersion]:
        """All that is, or was, held as a fact: with a triple or a lineage; with a `subject`, of that one alone."""
        return self._in((user, "fact", True) if subject is None else (user, "subject", subject))

    def _in(self, place: tuple[str, str, Any]) -> list[CurrentVersion]:
        return sorted((self.held[ref] for ref in self._among.get(place, ())), key=lambda held: held.first)

    def query(
        self,
        *,
        user: str = OWNER,
        path: str = "",
        kind: str | None = None,
        status: str = "active",
        min_confidence: float | None = None,
        where: Callable[[CurrentVersion], bool] | None = None,
    ) -> list[CurrentVersion]:
        """The beliefs that fit, oldest first. Reads the smallest of the sets that may hold them. `status=""` is any."""
        sight = self.sight(user, path) if path else _ROOT
        chosen = min(self._sets(user, kind, status, min_confidence), key=len)
        found = [self.held[ref] for ref in chosen]
        least = 0.0 if min_confidence is None else min_confidence
        return sorted(
            (
                held
                for held in found
                if held.user == user
                and held.path in sight
                and kind in (None, held.kind)
                and status in ("", held.status)
                and held.confidence >= least
                and (where is None or where(held))
                and (held.path == sight[0] or self._nearest(held, sight) is held)
            ),
            key=lambda held: held.first,
        )

    def count(self, user: str, status: str) -> int:
        """How many beliefs of the main line stand so."""
        return sum(not self.held[ref].path for ref in self._among.get((user, "status", status), ()))

    def learned_since(self, user: str, seq: int) -> int:
        """How many beliefs that are held were first stated after an event. Looks no farther back than that."""
        fresh = takewhile(lambda held: held.first > seq, reversed(self.held.values()))
        return sum(held.user == user and held.status == "active" and not held.path for held in fresh)

    def _sets(self, user: str, kind: str | None, status: str, least: float | None) -> Iterator[Collection[str]]:
        yield self.held
        if kind is not None:
            yield self._among.get((user, "kind", kind), {})
        if status:
            yield self._among.get((user, "status", status), {})
        if least is not None:
            steps = range(step(min(max(least, 0.0), 1.0)), STEPS + 1)
            sure = [self._among.get((user, "confidence", step), {}) for step in steps]
            if sum(map(len, sure)) < len(self.held):
                yield [ref for among in sure for ref in among]


def gist_of(belief: Mapping[str, Any]) -> str:
    """Enough to tell whether the same is stated again. It is kept only where an erasure of the words removes it."""
    said = [belief.get(name) or None for name in ("text", "triple", "session", "agent", "path")]
    return sha256(orjson.dumps(said, default=str)).hexdigest()[:16]


_ROOT = ("",)

_ACTS = {
    BELIEF_PUT: Beliefs._put, BELIEF_SUPERSEDE: Beliefs._supersede, BELIEF_TOMBSTONE: Beliefs._change,
    BELIEF_INVALIDATE: Beliefs._change,
    ERASE: Beliefs._erase,
}  # fmt: skip
