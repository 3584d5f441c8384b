"""The current version of every belief, folded from events.

Versions are kept as the JSON they were recorded as, so that what is returned is always a fresh copy, and writing a
snapshot costs little more than joining them.

A path sees the beliefs of its ancestors, and never those of a path that is not one. Of one belief, which is one key,
the version on the nearest path hides the others, whether it is active or not.

A branch's version of an ancestor's belief is a belief of the branch's own, made from the ancestor's version (`over`).
What a merge adds is made from the branch's version (`merged`). The links between them say what each was made
from: so a branch's version hides its ancestor's, a name that was read on one path is understood on another, and an
erasure reaches every copy of the words.
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
from tallystick.records.fact import grown
from tallystick.records.operations import BELIEF_INVALIDATE, BELIEF_PUT, BELIEF_SUPERSEDE, BELIEF_TOMBSTONE, ERASE
from tallystick.state.part import GONE, Part, follows
from tallystick.state.paths import Paths
from tallystick.state.version import STEPS, CurrentVersion, places, step


class Beliefs(Part):
    """The beliefs, and the paths and links that say what is seen from where.

    A ref, the id of a belief's first version, is its identity. Whoever applies events applies them to `paths` too.
    """

    def __init__(self, paths: Paths | None = None) -> None:
        self.paths = paths or Paths()
        super().__init__(self.paths.journal)

    def clear(self) -> None:
        self.held: dict[str, CurrentVersion] = {}  # by ref
        self._versions: dict[str, tuple[str, int]] = {}  # version id → (ref, its word count)
        self._ids: dict[str, dict[str, None]] = {}  # ref → its version ids
        self._keys: dict[tuple[str, str, str], str] = {}  # (user, path, key) → ref
        self._said: dict[tuple[str, str, str], tuple[str, str]] = {}  # (user, source, its key) → (version, gist)
        self._above: dict[str, dict[str, None]] = {}  # ref → the refs that depend on it
        self._among: dict[tuple[str, str, Any], dict[str, None]] = {}  # (user, field, value) → refs
        self._over: dict[str, tuple[str, ...]] = {}  # ref → the ancestors' versions that it was made from
        self._covers: dict[tuple[str, str, str], str] = {}  # (user, path, ref) → the ref that hides it on that path
        self._near: dict[str, dict[str, None]] = {}  # ref → what it was made from, and what was made from it
        self._brought: dict[str, str] = {}  # ref → the ref as which a merge brought it over
        self._same: dict[str, dict[str, int]] = {}  # ref → other beliefs' versions with its words, and its word count

    # -- following the ledger ----------------------------------------------------------------------------------------

    def records(self) -> int:
        """The number of versions that a snapshot holds."""
        return len(self._versions)

    @follows(BELIEF_PUT)
    def _put(self, event: Event, body: dict[str, Any]) -> None:
        belief = body["belief"]
        self._must_be_free(belief["id"])
        self._install(belief["id"], belief, event, first=event.seq, words=0)
        self._link(belief["id"], belief, body)
        self._note_key(event, body, belief.get("user", OWNER))

    @follows(BELIEF_SUPERSEDE)
    def _supersede(self, event: Event, body: dict[str, Any]) -> None:
        belief, replaced = body["belief"], [self._versions[i][0] for i in body["replaces"] if i in self._versions]
        if not replaced:
            self._put(event, body)
            return
        if belief["id"] not in body["replaces"]:  # a repair records a version again under its own id
            self._must_be_free(belief["id"])
        before = self.held[replaced[0]]
        bodies = [self.held[ref].body() for ref in dict.fromkeys(replaced)]
        changed = bodies[0].get("text", "") != belief.get("text", "")
        if any("views" in each for each in bodies):
            views = grown(belief.get("views", {}), [each.get("views") for each in bodies])
            belief = {**belief, "views": views} if views else belief
        self._install(before.ref, belief, event, first=before.first, words=before.words + changed)
        self._link(before.ref, belief, body)
        for other in dict.fromkeys(replaced[1:]):
            if other != before.ref:
                self._rename(other, before.ref)
        self._note_key(event, body, before.user)

    @follows(BELIEF_TOMBSTONE, BELIEF_INVALIDATE)
    def _withdraw(self, event: Event, body: dict[str, Any]) -> None:
        """A belief is no longer active; its words stay."""
        held = self.version(body["id"])
        if held is None:
            return
        belief = held.body()
        belief["status"] = "tombstone" if event.op == BELIEF_TOMBSTONE else "invalidated"
        belief.pop("reason", None)
        if body.get("reason"):
            belief["reason"] = body["reason"]
        self._install(held.ref, belief, event, first=held.first, words=held.words)

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        for name in body.get("ids", ()):
            if name in self._versions:
                self._remove(self._versions[name][0])

    def _note_key(self, event: Event, body: dict[str, Any], user: str) -> None:
        """Keep a caller's idempotency key with its statement, under the source whose key it is."""
        if "idempotency_key" in body:
            key = (user, body.get("idempotency_source", event.by), body["idempotency_key"])
            self._set(self._said, key, (body["belief"]["id"], gist_of(body["belief"])))

    def _must_be_free(self, version: str) -> None:
        """Refuse a second version with one id: the ledger never records one."""
        if version in self._versions:
            raise Refused(f"{version} is the id of another version already", "exists")

    def _link(self, ref: str, belief: dict[str, Any], body: dict[str, Any]) -> None:
        """Note the versions of other paths that this one was made from, and which of them have the same words."""
        over, merged = body.get("over", ()), body.get("merged", ())
        if over:
            self._set(self._over, ref, tuple(over))
        for name in (*over, *merged):
            other = self.version(name)
            if other is None or other.ref == ref:
                continue
            path = belief.get("path", "")
            for one, two in ((ref, other.ref), (other.ref, ref)):
                self._set(self._near.setdefault(one, {}), two, None)
            if name in over:
                self._set(self._covers, (other.user, path, other.ref), ref)
            else:
                self._set(self._brought, other.ref, ref)
                if (other.user, path, other.key) not in self._keys:  # it replaced one with another key
                    self._set(self._keys, (other.user, path, other.key), ref)
            if other.body().get("text", "") == belief.get("text", ""):
                names = [each for each in self._ids[other.ref] if self._versions[each][1] == other.words]
                names += [each for each, words in self._same.get(other.ref, {}).items() if words == other.words]
                self._set(self._same, ref, {**self._same.get(ref, {}), **dict.fromkeys(names, self.held[ref].words)})

    def _rename(self, ref: str, to: str) -> None:
        """From now on every name of `ref` names `to`."""
        for name in self._ids[ref]:
            self._set(self._versions, name, (to, -1))
            self._set(self._ids[to], name, None)
        for key in [key for key, named in self._keys.items() if named == ref]:  # its own, and those that led to it
            self._set(self._keys, key, to)
        self._drop_all(ref)

    def _remove(self, ref: str) -> None:
        for name in self._ids[ref]:
            self._drop(self._versions, name)
        for key in [key for key, named in self._keys.items() if named == ref]:
            self._drop(self._keys, key)
        for used in [used for used, (version, _) in self._said.items() if version in self._ids[ref]]:
            self._drop(self._said, used)
        self._drop_all(ref)

    def _drop_all(self, ref: str) -> None:
        self._forget_places(self.held[ref])
        for other in self._near.get(ref, ()):
            self._drop(self._near[other], ref)
        for key in [key for key, by in self._covers.items() if ref in (by, key[2])]:
            self._drop(self._covers, key)
        for one in [one for one, other in self._brought.items() if other == ref]:
            self._drop(self._brought, one)
        tables: tuple[dict[str, Any], ...] = (
            self._over, self._near, self._same, self._brought, self._ids, self.held,
        )  # fmt: skip
        for table in tables:
            self._drop(table, ref)

    def _install(self, ref: str, belief: dict[str, Any], event: Event, *, first: int, words: int) -> None:
        if ref in self.held:
            self._forget_places(self.held[ref])
        held, version = CurrentVersion.of(ref, belief, first, event.seq, event.ts, words, event.by), belief["id"]
        changes: list[tuple[dict[Any, Any], Any, Any]] = [
            (self.held, ref, held),
            (self._versions, version, (ref, words)),
            (self._ids.setdefault(ref, {}), version, None),
            (self._keys, (held.user, held.path, held.key), ref),
        ]
        changes += [(self._among.setdefault(place, {}), ref, None) for place in places(held, belief)]
        changes += [(self._above.setdefault(below, {}), ref, None) for below in belief.get("rests_on", ())]
        if self.journal.undo is not None:
            self.journal.undo += [(table, key, table.get(key, GONE)) for table, key, _ in changes]
        for table, key, value in changes:
            table[key] = value

    def _load_line(self, line: bytes) -> None:
        """The same for a line of a snapshot, with nothing to undo: opening a memory waits for this."""
        (held, body), among = CurrentVersion.read(line), self._among
        ref, version = held.ref, body["id"]
        self.held[ref], self._versions[version], self._ids[ref] = held, (ref, held.words), {version: None}
        self._keys[held.user, held.path, held.key] = ref
        for place in places(held, body):
            if place in among:
                among[place][ref] = None
            else:
                among[place] = {ref: None}
        for below in body.get("rests_on", ()):
            self._above.setdefault(below, {})[ref] = None

    def _forget_places(self, held: CurrentVersion) -> None:
        body = held.body()
        for place in places(held, body):
            self._drop(self._among[place], held.ref)
        for below in body.get("rests_on", ()):
            self._drop(self._above[below], held.ref)

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def dump(self) -> bytes:
        """All of it as JSON, a belief a line. The lines exist already, so this costs little more than joining them."""
        rest: dict[str, Any] = {
            "versions": [
                [ref, [[name, self._versions[name][1]] for name in names]]
                for ref, names in self._ids.items()
                if len(names) > 1
            ],
            "keys": [[*key, ref] for key, ref in self._keys.items() if self.held[ref].key != key[2]],
            "said": [[*key, *said] for key, said in self._said.items()],
        }
        near = [[ref, list(others)] for ref, others in self._near.items() if others]
        if near or self._over:
            rest["kin"] = {
                "covers": [[*key, ref] for key, ref in self._covers.items()], "near": near,
                "over": list(self._over.items()), "same": list(self._same.items()),
                "brought": list(self._brought.items()),
            }  # fmt: skip
        lines = b",\n".join([held.line for held in self.held.values()])
        return b'{"beliefs":[\n' + lines + b"\n]," + orjson.dumps(rest)[1:]

    def load(self, dumped: bytes) -> None:
        """Replace all with what `dump` wrote. A line at a time, so that the whole is never in memory twice."""
        self.clear()
        lines, _, tail = dumped.partition(b"[\n")[2].rpartition(b"\n],")
        for line in lines.split(b",\n") if lines else ():
            self._load_line(line)
        rest = orjson.loads(b"{" + tail)
        for ref, names in rest["versions"]:
            self._ids[ref] = {name: None for name, _ in names}
            self._versions.update({name: (ref, words) for name, words in names})
        self._keys.update({(user, path, key): ref for user, path, key, ref in rest["keys"]})
        self._said.update({(row[0], row[1], row[2]): (row[3], row[4]) for row in rest["said"] if len(row) == 5})
        kin = rest.get("kin", {})  # empty, where nobody branched
        self._over.update({ref: tuple(names) for ref, names in kin.get("over", ())})
        self._covers.update({(user, path, ref): by for user, path, ref, by in kin.get("covers", ())})
        self._near.update({ref: dict.fromkeys(others) for ref, others in kin.get("near", ())})
        self._same.update(dict(kin.get("same", ())))
        self._brought.update(dict(kin.get("brought", ())))

    # -- names -------------------------------------------------------------------------------------------------------

    def taken(self, version: str) -> bool:
        return version in self._versions

    def version(self, name: str) -> CurrentVersion | None:
        """The belief that has exactly that version, on whichever path."""
        return self.held[self._versions[name][0]] if name in self._versions else None

    def owner(self, version: str) -> str | None:
        """The user of the belief with that version; None if there is none."""
        held = self.version(version)
        return held.user if held else None

    def ids_of(self, held: CurrentVersion) -> list[str]:
        return list(self._ids[held.ref])

    def find(self, name: str, *, user: str = OWNER, path: str = "", short: bool = True) -> CurrentVersion | None:
        """The belief of that name: its key, any version's id, or, if `short`, the last six characters of one.

        As it is seen from the path. A version of a path that is not seen from there is found where it is.
        """
        sight = self.paths.lineage(user, path)
        for each in sight:
            ref = self._keys.get((user, each, name))
            if ref is not None:
                return self.held[ref] if each == sight[0] else self._nearest(self.held[ref], sight)
        held = self.version(name)
        if held is None and short and ids.SHORT_ID.match(name):
            held = self._by_short_id(name, user)
        if held is None or held.user != user:
            return None
        return self._nearest(self._brought_over(held, sight), sight)

    def get(self, name: str, *, user: str = OWNER, path: str = "") -> CurrentVersion:
        """The belief of that name, or NotFound."""
        held = self.find(name, user=user, path=path)
        if held is None:
            raise NotFound(f"no belief named {name!r}; run `tallystick log` to list them")
        return held

    def _by_short_id(self, short: str, user: str) -> CurrentVersion | None:
        found = {
            ref for name, (ref, _) in self._versions.items() if name.endswith(short) and self.held[ref].user == user
        }
        if len(found) > 1:
            raise Refused(f"{short} names {len(found)} beliefs; write more of the id", "ambiguous")
        return self.held[found.pop()] if found else None

    def read_before(self, name: str, held: CurrentVersion) -> bool:
        """True if `name` is an older version of `held`, or another path's, with other words than it has now."""
        known = self._versions.get(name)
        if known is None:
            return False
        words = known[1] if known[0] == held.ref else self._same.get(held.ref, {}).get(name)
        return words != held.words

    def said(self, user: str, source: str, idempotency_key: str) -> tuple[CurrentVersion, str] | None:
        """The statement of a source under a key of its own, if any, and the gist of its words then."""
        name, gist = self._said.get((user, source, idempotency_key), ("", ""))
        held = self.version(name)
        return (held, gist) if held else None

    # -- paths -------------------------------------------------------------------------------------------------------

    def is_open(self, user: str, path: str) -> bool:
        """True if a path can be written to."""
        try:
            self.paths.writable(user, path)
        except Refused:
            return False
        return True

    def sees(self, held: CurrentVersion, path: str) -> bool:
        """True if it is seen from that path, and nothing nearer hides it."""
        if not path:
            return not held.path
        sight = self.paths.lineage(held.user, path)
        return held.path in sight and self._nearest(held, sight) is held

    def over(self, ref: str) -> tuple[str, ...]:
        """The ancestors' versions from which a branch's belief was made."""
        return self._over.get(ref, ())

    def kin_of(self, ref: str) -> list[str]:
        """The belief, and all that it was made from or that were made from it, on every path."""
        found, waiting = {ref: None}, [ref]
        while waiting:
            fresh = [each for each in self._near.get(waiting.pop(), ()) if each not in found]
            found.update(dict.fromkeys(fresh))
            waiting += fresh
        return list(found)

    def origin(self, held: CurrentVersion) -> CurrentVersion:
        """The farthest ancestor's belief that it was made from; itself, if it was made from none."""
        seen = {held.ref}
        while (base := next(filter(None, map(self.version, self.over(held.ref))), None)) and base.ref not in seen:
            held = base
            seen.add(held.ref)
        return held

    def _brought_over(self, held: CurrentVersion, sight: tuple[str, ...]) -> CurrentVersion:
        """The belief as which a merge brought it to a path that is seen; itself, if none did."""
        found, seen = held, {held.ref}
        while found.path not in sight and (ref := self._brought.get(found.ref)) and ref not in seen:
            found = self.held[ref]
            seen.add(ref)
        return found if found.path in sight else held

    def _nearest(self, held: CurrentVersion, sight: tuple[str, ...]) -> CurrentVersion:
        """The belief in the place of `held` on the nearest path; itself, if nothing hides it, or it is not seen."""
        if held.path in sight:
            for path in sight:
                if path == held.path:
                    break
                ref = self._keys.get((held.user, path, held.key)) or self._covers.get((held.user, path, held.ref))
                if ref is not None and self.held[ref].path == path:
                    return self._nearest(self.held[ref], sight)
        return held

    # -- queries -----------------------------------------------------------------------------------------------------

    def resting_on(self, held: CurrentVersion) -> list[CurrentVersion]:
        """The beliefs that depend directly on one, under any of its names, on whichever path, oldest first."""
        names = (name for kin in self.kin_of(held.ref) for name in self._ids.get(kin, ()))
        above = {ref for name in names for ref in self._above.get(name, ())}
        return sorted((self.held[ref] for ref in above if ref in self.held), key=lambda held: held.first)

    def claiming(self, user: str, path: str, agent: str, subject: str, predicate: str) -> list[CurrentVersion]:
        """The facts of that subject and predicate that are seen from a path, active or not, oldest first."""
        sight = self.paths.lineage(user, path)
        found = [held for each in sight for held in self._in((user, "claim", (each, agent, subject, predicate)))]
        if len(sight) == 1:
            return found
        return sorted((held for held in found if self._nearest(held, sight) is held), key=lambda held: held.first)

    def coming_from(self, user: str, episode: str) -> list[CurrentVersion]:
        """The facts whose lineage has that episode, named by its event, active or not, oldest first."""
        return self._in((user, "episode", episode))

    def facts(self, user: str, subject: str | None = None) -> list[CurrentVersion]:
        """The beliefs, active or not, that have a triple or a lineage; with a `subject`, of that one alone."""
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
        """The matching beliefs, oldest first. Reads the smallest of the sets that may hold them. `status=""` is any."""
        sight = self.paths.lineage(user, path)
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

    def count(self, user: str, status: str) -> int:
        """The number of beliefs of the root with that status."""
        return sum(not self.held[ref].path for ref in self._among.get((user, "status", status), ()))

    def learned_since(self, user: str, seq: int) -> int:
        """The number of active beliefs that were first stated after an event. Looks no farther back than that."""
        fresh = takewhile(lambda held: held.first > seq, reversed(self.held.values()))
        return sum(held.user == user and held.status == "active" and not held.path for held in fresh)


def gist_of(belief: Mapping[str, Any]) -> str:
    """A digest to recognise the same statement. It is kept only where an erasure of the words removes it."""
    words = [belief.get(name) or None for name in ("text", "triple", "session", "agent", "path")]
    return sha256(orjson.dumps(words, default=str)).hexdigest()[:16]
