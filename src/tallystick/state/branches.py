"""How the beliefs of different paths stem from one another.

What a branch says of something that an ancestor holds is a belief of the branch's own, made from the ancestor's version
(`over`). What a merge brings over is made from the branch's version (`merged`). Each knows what it was made from: so a
branch's version hides its ancestor's, a name that was read on one path is understood on another, and an erasure reaches
every place that has the words.
"""

from __future__ import annotations

from typing import Any

from tallystick.state.transaction import Transactional
from tallystick.state.version import CurrentVersion


class BranchLinks(Transactional):
    """By identity: the first version's id of a belief on one path. `Beliefs` holds the beliefs themselves."""

    held: dict[str, CurrentVersion]
    _versions: dict[str, tuple[str, int]]
    _ids: dict[str, dict[str, None]]
    _keys: dict[tuple[str, str, str], str]

    def clear_kin(self) -> None:
        self._over: dict[str, tuple[str, ...]] = {}  # ref → the ancestors' versions that it was made from
        self._covers: dict[tuple[str, str, str], str] = {}  # (user, path, ref) → what is in its place on that path
        self._near: dict[str, dict[str, None]] = {}  # ref → what it was made from, and what was made from it
        self._brought: dict[str, str] = {}  # ref → as what a merge brought it over
        self._same: dict[str, dict[str, int]] = {}  # ref → others' versions with its words, at which count of its words

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

    def version(self, name: str) -> CurrentVersion | None:
        """The belief that has exactly that version, on whichever path."""
        return self.held[self._versions[name][0]] if name in self._versions else None

    # -- what stands in whose place ----------------------------------------------------------------------------------

    def _brought_over(self, held: CurrentVersion, sight: tuple[str, ...]) -> CurrentVersion:
        """As what a merge brought it to where it is seen; itself, if none did."""
        found, seen = held, {held.ref}
        while found.path not in sight and (ref := self._brought.get(found.ref)) and ref not in seen:
            found = self.held[ref]
            seen.add(ref)
        return found if found.path in sight else held

    def _nearest(self, held: CurrentVersion, sight: tuple[str, ...]) -> CurrentVersion:
        """What is in the place of `held` on the nearest path; itself, if nothing hides it, or it is not seen at all."""
        if held.path in sight:
            for path in sight:
                if path == held.path:
                    break
                ref = self._keys.get((held.user, path, held.key)) or self._covers.get((held.user, path, held.ref))
                if ref is not None and self.held[ref].path == path:
                    return self._nearest(self.held[ref], sight)
        return held

    # -- following the ledger ----------------------------------------------------------------------------------------

    def _stem(self, ref: str, belief: dict[str, Any], body: dict[str, Any]) -> None:
        """Note from which versions of other paths this one was made, and which of them have its very words."""
        over, merged = body.get("over", ()), body.get("merged", ())
        if over:
            self._set(self._over, ref, tuple(over))
        for name in (*over, *merged):
            other = self.held.get(self._versions[name][0]) if name in self._versions else None
            if other is None or other.ref == ref:
                continue
            self._join_kin(ref, other.ref)
            if name in over:
                self._set(self._covers, (other.user, belief.get("path", ""), other.ref), ref)
            else:
                self._set(self._brought, other.ref, ref)
                called = (other.user, belief.get("path", ""), other.key)
                if called not in self._keys:  # it took the place of one with another name
                    self._set(self._keys, called, ref)
            if other.body().get("text", "") == belief.get("text", ""):
                self._note_the_same(ref, other)

    def _note_the_same(self, ref: str, other: CurrentVersion) -> None:
        """Whoever read `other` as it is now has read what `ref` says now."""
        now, known = self.held[ref].words, self._same.get(other.ref, {})
        names = [name for name in self._ids[other.ref] if self._versions[name][1] == other.words]
        names += [name for name, words in known.items() if words == other.words]
        self._set(self._same, ref, {**self._same.get(ref, {}), **dict.fromkeys(names, now)})

    def _join_kin(self, ref: str, other: str) -> None:
        for one, two in ((ref, other), (other, ref)):
            self._set(self._near.setdefault(one, {}), two, None)

    def _drop_kin(self, ref: str) -> None:
        for other in self._near.get(ref, ()):
            self._drop(self._near[other], ref)
        for key in [key for key, by in self._covers.items() if ref in (by, key[2])]:
            self._drop(self._covers, key)
        for one in [one for one, other in self._brought.items() if other == ref]:
            self._drop(self._brought, one)
        tables: tuple[dict[str, Any], ...] = (self._over, self._near, self._same, self._brought)
        for table in tables:
            self._drop(table, ref)

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def _dump_kin(self) -> dict[str, Any]:
        """Nothing, where nobody branched."""
        near = [[ref, list(others)] for ref, others in self._near.items() if others]
        if not near and not self._over:
            return {}
        covers = [[*key, ref] for key, ref in self._covers.items()]
        tables: dict[str, dict[str, Any]] = {"over": self._over, "same": self._same, "brought": self._brought}
        return {"kin": {"covers": covers, "near": near} | {name: list(table.items()) for name, table in tables.items()}}

    def _load_kin(self, dumped: dict[str, Any]) -> None:
        kin = dumped.get("kin", {})
        self._over.update({ref: tuple(names) for ref, names in kin.get("over", ())})
        self._covers.update({(user, path, ref): by for user, path, ref, by in kin.get("covers", ())})
        self._near.update({ref: dict.fromkeys(others) for ref, others in kin.get("near", ())})
        self._same.update(dict(kin.get("same", ())))
        self._brought.update(dict(kin.get("brought", ())))
