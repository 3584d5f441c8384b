"""The current version of every belief, folded from events.

Versions are kept as the JSON they were recorded as, so that what is returned is always a fresh copy.

A path sees the beliefs of its ancestors, and never those of a path that is not one. Of one belief, which is one key,
the version on the nearest path hides the others, whether it is active or not.

A branch's version of an ancestor's belief is a belief of the branch's own, made from the ancestor's version (`over`).
What a merge adds is made from the branch's version (`merged`). The links between them say what each was made
from: so a branch's version hides its ancestor's, a name that was read on one path is understood on another, and an
erasure reaches every copy of the words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import dropwhile
from typing import Any, NamedTuple

from tallystick.records import ids
from tallystick.records.belief import OWNER
from tallystick.records.entity import keys_of
from tallystick.records.errors import NotFound, Refused
from tallystick.records.event import Event, origin_of
from tallystick.records.fact import grown
from tallystick.records.operations import BELIEF_INVALIDATE, BELIEF_PUT, BELIEF_SUPERSEDE, BELIEF_TOMBSTONE, ERASE
from tallystick.state.current_version import (
    CODEC,
    STEPS,
    WITHDRAWN,
    CurrentVersion as CurrentVersion,
    claim,
    gist_of as gist_of,
    is_stated,
    sets_of,
    step,
)
from tallystick.state.paths import Paths
from tallystick.state.tables import SHORT, TUPLE, Part, Table, Tables, TablesInMemory, codec_of, follows, ordinal

OUTSIDE = ("tool", "web")  # what they say makes nobody known


class _Name(NamedTuple):
    """One version's id: the belief it names, the word count of that version, and the event that gave the name."""

    ref: str
    words: int
    seq: int


class Beliefs(Part):
    """The beliefs, and the paths and links that say what is seen from where.

    A ref, the id of a belief's first version, is its identity. Whoever applies events applies them to `paths` too.
    """

    def __init__(self, tables: Tables | None = None, paths: Paths | None = None, at: int | None = None) -> None:
        """With `at`, `tables` are those after that event, and `paths` know by themselves how they were."""
        tables = tables or TablesInMemory()
        self.paths, self._at = paths or Paths(tables), at
        super().__init__(tables)

    def declare(self, tables: Tables) -> None:
        self._current: Table[CurrentVersion] = tables.kept("belief", CODEC, is_stated)  # by ref
        # A version that is not the first, or was renamed: id → its belief, its word count, and the event of its name.
        self._versions: Table[_Name] = tables.kept("belief.version", codec_of(_Name))
        self._ids: Table[str] = tables.kept("belief.id")  # (ref, event of the name, version) → the version
        self._short: Table[str] = tables.kept("belief.short")  # (last six characters, version) → the version
        self._keys: Table[str] = tables.kept("belief.key")  # (user, path, key) → ref, if that is not the key itself
        self._aliases: Table[str] = tables.kept("belief.alias")  # (ref, user, path, key) → ref: other keys of it
        self._said: Table[tuple[str, str]] = tables.table("belief.said", TUPLE)  # (user, source, its key)
        self._said_in: Table[str] = tables.table("belief.said_in")  # (version, user, source, its key)
        self._above: Table[str] = tables.kept("belief.above")  # (name, a ref that depends on it) → that ref
        self._sets: Table[str] = tables.kept("belief.set")  # see `sets_of` → ref
        self._counts: Table[int] = tables.table("belief.count")  # (user, status) → how many on the root
        self._names: Table[dict[str, int]] = tables.table("belief.name")  # (user, name) → by entity, how many
        self._over: Table[tuple[str, ...]] = tables.kept("belief.over", TUPLE)  # ref → ancestors' versions it is of
        self._covers: Table[str] = tables.kept("belief.cover")  # (ref, path) → the ref that hides it on that path
        self._near: Table[str] = tables.kept("belief.near")  # (ref, what it was made from, or what was made from it)
        self._brought: Table[str] = tables.kept("belief.brought")  # ref → the ref as which a merge brought it over
        self._same: Table[int] = tables.kept("belief.same")  # (ref, other's version with its words) → its word count

    # -- following the ledger ----------------------------------------------------------------------------------------

    @follows(BELIEF_PUT)
    def _put(self, event: Event, body: dict[str, Any]) -> None:
        belief, again = body["belief"], body.get("again")
        self._must_be_free(belief["id"])
        if again and self.version(again["ids"][0]):
            self._part(belief, event, again)
        else:
            self._install(belief["id"], belief, event, None, words=0)
        self._link(belief["id"], belief, body)
        self._note_key(event, body, belief.get("user", OWNER))

    def _part(self, belief: dict[str, Any], event: Event, again: dict[str, Any]) -> None:
        """A belief that had become part of another is one of its own again, with its names: the ids of its versions,
        the last `same` of which have its words."""
        ref, names = again["ids"][0], again["ids"]
        whole = self.version(ref)
        assert whole is not None, ref
        for at, name in enumerate(names):
            if known := self._versions.get(name):
                self._ids.drop((whole.ref, ordinal(known.seq), name))
            self._versions.set(name, _Name(ref, int(at >= len(names) - again["same"]), event.seq))
            if name != ref:
                self._ids.set((ref, ordinal(event.seq), name), "")
        self._drop_key(whole, belief["key"])
        before = whole if whole.ref == ref else None
        self._install(ref, belief, event, before, words=1, first=again["first"])
        self._name(ref, belief["id"], 1, event)

    def _drop_key(self, held: CurrentVersion, key: str) -> None:
        """A key names a belief no longer."""
        self._aliases.drop((held.ref, held.user, held.path, key))
        if self._keys.get((held.user, held.path, key)) == held.ref:
            self._keys.drop((held.user, held.path, key))

    @follows(BELIEF_SUPERSEDE)
    def _supersede(self, event: Event, body: dict[str, Any]) -> None:
        belief, replaced = body["belief"], [held for name in body["replaces"] if (held := self.version(name))]
        if not replaced:
            self._put(event, body)
            return
        if belief["id"] not in body["replaces"]:  # a repair records a version again under its own id
            self._must_be_free(belief["id"])
        before, merged = replaced[0], {held.ref: held for held in replaced}
        bodies = [held.body() for held in merged.values()]
        changed = bodies[0].get("text", "") != belief.get("text", "")
        if any("views" in each for each in bodies):
            views = grown(belief.get("views", {}), [each.get("views") for each in bodies])
            belief = {**belief, "views": views} if views else belief
        self._install(before.ref, belief, event, before, words=before.words + changed)
        self._link(before.ref, belief, body)
        for other in merged.values():
            if other.ref != before.ref:
                self._rename(other, before.ref, event)
        for key in body.get("drops", ()):
            self._drop_key(before, key)
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
        self._install(held.ref, belief, event, held, words=held.words)
        if "uncovers" in body:
            self._uncover(held)

    def _uncover(self, held: CurrentVersion) -> None:
        """A branch's belief is as if it had not been stated there: it hides nothing, and its key is free."""
        self._drop_key(held, held.key)
        for other in filter(None, map(self.version, self.over(held.ref))):
            if self._covers.get((other.ref, held.path)) == held.ref:
                self._covers.drop((other.ref, held.path))

    def is_uncovered(self, held: CurrentVersion) -> bool:
        """True if a branch's belief is as if it had not been stated there."""
        return held.status == "tombstone" and self._ref_of_key(held.user, held.path, held.key) != held.ref

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        """As if what is erased had never been recorded: at no earlier moment either.

        Of a belief that another was part of for a while, the versions of that time go, and not the belief.
        """
        ids = set(body.get("ids", ()))
        every = {held.ref: held for name in ids if (held := self.version(name))}
        found = {ref: held for ref, held in every.items() if ref in ids}
        names = {*ids, *(name for held in found.values() for name in self.ids_of(held))}
        for ref in every.keys() - found.keys():
            self._erase_some(ref, ids)
        for held in found.values():
            self._tally(held, held.body(), -1)
        for name in names:
            self._erase_version(name, names)

    def _erase_some(self, ref: str, names: set[str]) -> None:
        """Erase versions of a belief that stays."""
        rest, gone = set[Any](), set[Any]()
        for held in self._current.history(ref):
            body = held.body()
            (gone if body["id"] in names else rest).update(sets_of(held, body))
        for key in gone - rest:
            self._sets.erase(key)
        for key in [key for key in self._ids.ever(ref) if key[2] in names]:
            self._ids.erase(key)
        self._current.erase(ref, lambda held: held.body()["id"] in names)

    def _erase_version(self, name: str, names: set[str]) -> None:
        """Erase a version, and the belief whose first version it was, even if another has its name by now."""
        keys = {alias[1:] for alias in self._aliases.ever(name)}
        for held in self._current.history(name):
            body = held.body()
            keys.add((held.user, held.path, held.key))
            for key in sets_of(held, body):
                self._sets.erase(key)
            for below in body.get("rests_on", ()):
                self._above.erase((below, name))
        for key in keys:
            self._keys.erase(key, names.__contains__)
        for _, other in self._near.ever(name):
            self._near.erase((other, name))
            self._brought.erase(other, names.__contains__)
            for key in self._covers.ever(other):
                self._covers.erase(key, names.__contains__)
            for key in self._same.ever(other):
                if key[1] in names:
                    self._same.erase(key)
        for under in (self._aliases, self._near, self._covers, self._same, self._ids):
            for key in under.ever(name):
                under.erase(key)
        for table in (self._current, self._versions, self._over, self._brought):
            table.erase(name)
        self._short.erase((name[-SHORT:], name))
        for (_, *used), _ in list(self._said_in.under(name)):
            self._said.drop(tuple(used))
            self._said_in.drop((name, *used))

    def _note_key(self, event: Event, body: dict[str, Any], user: str) -> None:
        """Keep a caller's idempotency key with its statement, under the source whose key it is."""
        if "idempotency_key" in body:
            key = (user, body.get("idempotency_source", event.by), body["idempotency_key"])
            version = body["belief"]["id"]
            self._said.set(key, (version, gist_of(body["belief"])))
            self._said_in.set((version, *key), "")

    def _must_be_free(self, version: str) -> None:
        """Refuse a second version with one id: the ledger never records one."""
        if self.taken(version):
            raise Refused(f"{version} is the id of another version already", "exists")

    def _link(self, ref: str, belief: dict[str, Any], body: dict[str, Any]) -> None:
        """Note the versions of other paths that this one was made from, and which of them have the same words."""
        over, merged = body.get("over", ()), body.get("merged", ())
        if over:
            self._over.set(ref, tuple(over))
        for name in (*over, *merged):
            other = self.version(name)
            if other is None or other.ref == ref:
                continue
            path = belief.get("path", "")
            self._near.set((ref, other.ref), "")
            self._near.set((other.ref, ref), "")
            if name in over:
                self._covers.set((other.ref, path), ref)
            else:
                self._brought.set(other.ref, ref)
                if self._ref_of_key(other.user, path, other.key) is None:  # it replaced one with another key
                    self._add_alias(ref, other.user, path, other.key)
            if other.body().get("text", "") == belief.get("text", ""):
                names = [each for each in self.ids_of(other) if self._words_of(each, other) == other.words]
                names += [each for (_, each), words in self._same.under(other.ref) if words == other.words]
                for each in names:
                    self._same.set((ref, each), self._held(ref).words)

    def _rename(self, held: CurrentVersion, to: str, event: Event) -> None:
        """From now on every name of a belief names `to`."""
        for name in self.ids_of(held):
            self._versions.set(name, _Name(to, -1, event.seq))
            self._ids.set((to, ordinal(event.seq), name), "")
        for key in self._drop_keys(held):
            self._add_alias(to, *key)
        self._drop_all(held)

    def _drop_keys(self, held: CurrentVersion) -> list[tuple[str, str, str]]:
        """Remove the keys of a belief, its own and those that led to it, and return them."""
        aliases = [key for key, _ in self._aliases.under(held.ref)]
        for alias in aliases:
            self._aliases.drop(alias)
        keys = [(held.user, held.path, held.key), *(alias[1:] for alias in aliases)]
        keys = [key for key in keys if self._ref_of_key(*key) == held.ref]  # others may have it now
        for key in keys:
            self._keys.drop(key)
        return keys

    def _add_alias(self, ref: str, user: str, path: str, key: str) -> None:
        """Another key of a belief, besides the one that its current version says."""
        self._keys.set((user, path, key), ref)
        self._aliases.set((ref, user, path, key), "")

    def _drop_all(self, held: CurrentVersion) -> None:
        ref = held.ref
        self._leave_sets(held, held.body())
        for (_, other), _ in list(self._near.under(ref)):
            self._near.drop((other, ref))
            self._near.drop((ref, other))
            for key, by in list(self._covers.under(other)):
                if by == ref:
                    self._covers.drop(key)
            if self._brought.get(other) == ref:
                self._brought.drop(other)
        for table in (self._covers, self._same, self._ids):
            for key, _ in list(table.under(ref)):
                table.drop(key)
        self._over.drop(ref)
        self._brought.drop(ref)
        self._current.drop(ref)

    def _install(
        self, ref: str, belief: dict[str, Any], event: Event, before: CurrentVersion | None, *, words: int,
        first: int | None = None,
    ) -> None:  # fmt: skip
        version, (at, by, _) = belief["id"], origin_of(event)
        began = before.first if before else event.seq if first is None else first
        held = CurrentVersion.of(ref, belief, began, event.seq, at, words, by)
        if before is None:
            self._short.set((version[-SHORT:], version), "")
        else:
            body = before.body()
            self._leave_sets(before, body)
            if (body["id"], before.words) != (version, words):
                self._name(ref, version, words, event)
            if (before.path, before.key) != (held.path, held.key):
                self._add_alias(ref, before.user, before.path, before.key)
        self._current.set(ref, held)
        if held.key != ref:
            self._keys.set((held.user, held.path, held.key), ref)
        if before is not None:
            self._aliases.drop((ref, held.user, held.path, held.key))
        for key in sets_of(held, belief):
            self._sets.set(key, ref)
        for below in belief.get("rests_on", ()):
            self._above.set((below, ref), "")
        self._tally(held, belief, 1)

    def _name(self, ref: str, version: str, words: int, event: Event) -> None:
        """A version of a belief that has others."""
        known = self._versions.get(version)
        if known is None and version != ref:
            self._ids.set((ref, ordinal(event.seq), version), "")
            self._short.set((version[-SHORT:], version), "")
        self._versions.set(version, _Name(ref, words, known.seq if known else event.seq))

    def _leave_sets(self, held: CurrentVersion, body: dict[str, Any]) -> None:
        for key in sets_of(held, body):
            self._sets.drop(key)
        for below in body.get("rests_on", ()):
            self._above.drop((below, held.ref))
        self._tally(held, body, -1)

    def _tally(self, held: CurrentVersion, body: dict[str, Any], more: int) -> None:
        if not held.path:
            key = (held.user, held.status)
            count = (self._counts.get(key) or 0) + more
            self._counts.set(key, count) if count else self._counts.drop(key)
        about, trust = body.get("about"), body.get("trust", "human")
        if isinstance(about, str) and about and trust not in OUTSIDE and held.status not in WITHDRAWN:
            for name in keys_of(about, parts=trust == "human"):
                known = self._names.get((held.user, name)) or {}
                counts = {**known, about: known.get(about, 0) + more}
                rest = {each: counts[each] for each in sorted(counts) if counts[each]}
                self._names.set((held.user, name), rest) if rest else self._names.drop((held.user, name))

    # -- names -------------------------------------------------------------------------------------------------------

    def taken(self, version: str) -> bool:
        self.tables.prefetch([(self._current, version), (self._versions, version)])
        return version in self._current or version in self._versions

    def version(self, name: str) -> CurrentVersion | None:
        """The belief that has exactly that version, on whichever path."""
        held = self._current.get(name)
        if held is None and (known := self._versions.get(name)):
            held = self._current.get(known.ref)
        return held

    def by_ref(self, ref: str) -> CurrentVersion | None:
        """The belief whose first version has that id."""
        return self._current.get(ref)

    def _held(self, ref: str) -> CurrentVersion:
        held = self._current.get(ref)
        assert held is not None, ref
        return held

    def all(self) -> Iterator[CurrentVersion]:
        """Every belief of every user, in the order of their refs. For whole-memory work: it reads every row."""
        return self._current.values()

    def users(self) -> list[str]:
        """Everyone who has a belief."""
        users, user = list[str](), ""
        while row := next(self._sets.under("kind", after=user), None):
            user = row[0][1]
            users.append(user)
        return users

    def of_user(self, user: str) -> list[CurrentVersion]:
        """Every belief of a user, on whichever path and in whatever status, oldest first."""
        refs = list(self._sets.values("status", user))
        return [held for held in self._in_order(refs) if held.user == user]

    def on_path(self, user: str, path: str) -> list[CurrentVersion]:
        """Every belief on that very path, oldest first."""
        return [held for held in self.of_user(user) if not held.path] if not path else self._in("path", user, path)

    def owner(self, version: str) -> str | None:
        """The user of the belief with that version; None if there is none."""
        held = self.version(version)
        return held.user if held else None

    def ids_of(self, held: CurrentVersion) -> list[str]:
        return [held.ref, *(name for (_, _, name), _ in self._ids.under(held.ref))]

    def find(self, name: str, *, user: str = OWNER, path: str = "", short: bool = True) -> CurrentVersion | None:
        """The belief of that name: its key, any version's id, or, if `short`, the last six characters of one.

        As it is seen from the path. A version of a path that is not seen from there is found where it is.
        """
        sight = self.paths.lineage(user, path, self._at)
        names: list[tuple[Table[Any], Any]] = [(self._keys, (user, each, name)) for each in sight]
        self.tables.prefetch([*names, (self._current, name), (self._versions, name)])
        for each in sight:
            ref = self._ref_of_key(user, each, name)
            if ref is not None and self._held(ref).user == user:
                return self._held(ref) if each == sight[0] else self._nearest(self._held(ref), sight)
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

    def _ref_of_key(self, user: str, path: str, key: str) -> str | None:
        ref = self._keys.get((user, path, key))
        if ref is None:
            held = self._current.get(key)
            ref = key if held and (held.user, held.path, held.key) == (user, path, key) else None
        return ref

    def _by_short_id(self, short: str, user: str) -> CurrentVersion | None:
        named = [self.version(name) for (_, name), _ in self._short.under(short)]
        found = {held.ref: held for held in named if held and held.user == user}
        if len(found) > 1:
            raise Refused(f"{short} names {len(found)} beliefs; write more of the id", "ambiguous")
        return next(iter(found.values()), None)

    def _words_of(self, name: str, held: CurrentVersion) -> int | None:
        """The word count of one of a belief's versions; None if it is not one of them."""
        known = self._versions.get(name)
        if known is None:
            return 0 if name == held.ref else None
        return known.words if known.ref == held.ref else None

    def read_before(self, name: str, held: CurrentVersion) -> bool:
        """True if `name` is an older version of `held`, or another path's, with other words than it has now."""
        if not self.taken(name):
            return False
        words = self._words_of(name, held)
        return (self._same.get((held.ref, name)) if words is None else words) != held.words

    def said(self, user: str, source: str, idempotency_key: str) -> tuple[CurrentVersion, str] | None:
        """The statement of a source under a key of its own, if any, and the gist of its words then."""
        name, gist = self._said.get((user, source, idempotency_key)) or ("", "")
        held = self.version(name)
        return (held, gist) if held and held.user == user else None

    def called(self, user: str, name: str) -> list[str]:
        """The entities that beliefs are about and that have this name, as `keys_of` says."""
        return list(self._names.get((user, name)) or ())

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
        sight = self.paths.lineage(held.user, path, self._at)
        return held.path in sight and self._nearest(held, sight).ref == held.ref

    def over(self, ref: str) -> tuple[str, ...]:
        """The ancestors' versions from which a branch's belief was made."""
        return self._over.get(ref) or ()

    def kin_of(self, ref: str) -> list[str]:
        """The belief, and all that it was made from or that were made from it, on every path."""
        found, waiting = {ref: None}, [ref]
        while waiting:
            fresh = [each for (_, each), _ in self._near.under(waiting.pop()) if each not in found]
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
            found = self._held(ref)
            seen.add(ref)
        return found if found.path in sight else held

    def _nearest(self, held: CurrentVersion, sight: tuple[str, ...]) -> CurrentVersion:
        """The belief in the place of `held` on the nearest path; itself, if nothing hides it, or it is not seen."""
        if held.path in sight:
            for path in sight:
                if path == held.path:
                    break
                ref = self._ref_of_key(held.user, path, held.key) or self._covers.get((held.ref, path))
                if ref is not None and self._held(ref).path == path:
                    return self._nearest(self._held(ref), sight)
        return held

    # -- queries -----------------------------------------------------------------------------------------------------

    def resting_on(self, held: CurrentVersion) -> list[CurrentVersion]:
        """The beliefs that depend directly on one, under any of its names, on whichever path, oldest first."""
        kin = filter(None, map(self.by_ref, self.kin_of(held.ref)))
        names = [name for each in kin for name in self.ids_of(each)]
        return self._in_order({ref for name in names for (_, ref), _ in self._above.under(name)})

    def resting(self) -> Iterator[CurrentVersion]:
        """The beliefs that rest on others, of every user and in whatever status, oldest first."""
        refs = {ref for (_, ref), _ in self._above.under()}
        return map(self._held, sorted(refs, key=lambda ref: self._held(ref).first))

    def claiming(self, user: str, path: str, agent: str, subject: str, predicate: str) -> list[CurrentVersion]:
        """The facts of that subject and predicate that are seen from a path, active or not, oldest first."""
        sight = self.paths.lineage(user, path, self._at)
        found = [held for each in sight for held in self._in("claim", user, claim(each, agent, subject, predicate))]
        if len(sight) == 1:
            return found
        seen = (held for held in found if self._nearest(held, sight).ref == held.ref)
        return sorted(seen, key=lambda held: held.first)

    def coming_from(self, user: str, episode: str) -> list[CurrentVersion]:
        """The facts whose lineage has that episode, named by its event, active or not, oldest first."""
        return self._in("episode", user, episode)

    def facts(self, user: str, subject: str | None = None) -> list[CurrentVersion]:
        """The beliefs, active or not, that have a triple or a lineage; with a `subject`, of that one alone."""
        return self._in("fact", user, "") if subject is None else self._in("subject", user, subject)

    def facts_ever(self, user: str, subject: str | None = None) -> list[list[CurrentVersion]]:
        """Of each belief that is or was such a fact, its versions from then on, as far as they are kept; oldest first.

        One that became part of another since is among them.
        """
        prefix = ("fact", user, "") if subject is None else ("subject", user, subject)
        refs = dict.fromkeys(ref for key in self._sets.ever(*prefix) for ref in self._sets.history(key))
        found = [list(dropwhile(lambda held: not held.is_fact(), self._current.history(ref))) for ref in refs]
        return sorted(filter(None, found), key=lambda versions: versions[0].seq)

    def _in(self, *prefix: str) -> list[CurrentVersion]:
        """The beliefs of a set, oldest first."""
        refs = list(self._sets.values(*prefix))
        self._current.prefetch(refs)
        return [held for ref in refs if (held := self._held(ref)).user == prefix[1]]

    def _in_order(self, refs: Collection[str]) -> list[CurrentVersion]:
        """The beliefs with these refs that are there, oldest first."""
        self._current.prefetch(refs)
        return sorted(filter(None, map(self._current.get, refs)), key=lambda held: held.first)

    def query(
        self, *, user: str = OWNER, path: str = "", kind: str | None = None, status: str = "active",
        min_confidence: float | None = None, where: Callable[[CurrentVersion], bool] | None = None,
    ) -> list[CurrentVersion]:  # fmt: skip
        """The matching beliefs, oldest first. Reads the smallest of the sets that may hold them. `status=""` is any."""
        sight = self.paths.lineage(user, path, self._at)
        found = self._in_order(self._smallest_set(user, kind, status, min_confidence))
        least = 0.0 if min_confidence is None else min_confidence
        return [
            held
            for held in found
            if held.user == user
            and held.path in sight
            and kind in (None, held.kind)
            and status in ("", held.status)
            and held.confidence >= least
            and (where is None or where(held))
            and (held.path == sight[0] or self._nearest(held, sight).ref == held.ref)
        ]

    def _smallest_set(self, user: str, kind: str | None, status: str, least: float | None) -> list[str]:
        """The refs of the smallest set of a user's beliefs in which all are that fit."""
        sets: list[list[tuple[str, ...]]] = [[("kind", user, kind)]] if kind is not None else []
        sets += [[("status", user, status)]] if status else []
        if least is not None:
            lowest = int(step(min(max(least, 0.0), 1.0)))
            sets.append([("confidence", user, f"{each:03d}") for each in range(lowest, STEPS + 1)])
        smallest: list[tuple[str, ...]] = [("status", user)]
        size = 1 << 60
        for each in sets:
            found = 0
            for prefix in each:
                found += self._sets.count(*prefix, most=size - found + 1) if found <= size else 0
            if found < size:
                smallest, size = each, found
        return [ref for prefix in smallest for ref in self._sets.values(*prefix)]

    def count(self, user: str, status: str) -> int:
        """The number of beliefs of the root with that status."""
        return self._counts.get((user, status)) or 0

    def learned_since(self, user: str, seq: int) -> int:
        """The number of active beliefs of the root that were first stated after an event."""
        fresh = list(self._sets.values("status", user, "active", after=ordinal(seq)))
        return sum(not held.path for held in self._in_order(fresh))
