"""How the beliefs of different paths stem from one another.

What a branch says of something that an ancestor holds is a belief of the branch's own, made from the ancestor's version
(`over`). What a merge brings over is made from the branch's version (`merged`). Each knows what it was made from: so a
branch's version hides its ancestor's, a name that was read on one path is understood on another, and an erasure reaches
every place that has the words.
"""

from __future__ import annotations

from typing import Any

from keepsake.records.undo import Undoable


class Kin(Undoable):
    """By identity: the first version's id of a belief on one path."""

    def clear_kin(self) -> None:
        self._over: dict[str, tuple[str, ...]] = {}  # ref → the ancestors' versions that it was made from
        self._covers: dict[tuple[str, str, str], str] = {}  # (user, path, ref) → what is in its place on that path
        self._near: dict[str, dict[str, None]] = {}  # ref → what it was made from, and what was made from it
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

    def _join_kin(self, ref: str, other: str) -> None:
        for one, two in ((ref, other), (other, ref)):
            self._set(self._near.setdefault(one, {}), two, None)

    def _drop_kin(self, ref: str) -> None:
        for other in self._near.get(ref, ()):
            self._drop(self._near[other], ref)
        for key in [key for key, by in self._covers.items() if ref in (by, key[2])]:
            self._drop(self._covers, key)
        tables: tuple[dict[str, Any], ...] = (self._over, self._near, self._same)
        for table in tables:
            self._drop(table, ref)

    def _dump_kin(self) -> dict[str, Any]:
        """Nothing, where nobody branched."""
        near = [[ref, list(others)] for ref, others in self._near.items() if others]
        if not near and not self._over:
            return {}
        covers = [[*key, ref] for key, ref in self._covers.items()]
        kin = {"over": list(self._over.items()), "covers": covers, "near": near, "same": list(self._same.items())}
        return {"kin": kin}

    def _load_kin(self, dumped: dict[str, Any]) -> None:
        kin = dumped.get("kin", {})
        self._over.update({ref: tuple(names) for ref, names in kin.get("over", ())})
        self._covers.update({(user, path, ref): by for user, path, ref, by in kin.get("covers", ())})
        self._near.update({ref: dict.fromkeys(others) for ref, others in kin.get("near", ())})
        self._same.update(dict(kin.get("same", ())))
