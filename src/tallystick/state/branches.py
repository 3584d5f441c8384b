"""The links between beliefs of different paths.

A branch's version of an ancestor's belief is a belief of the branch's own, made from the ancestor's version (`over`).
What a merge brings over is made from the branch's version (`merged`). The links say what each was made from: so a
branch's version hides its ancestor's, a name that was read on one path is understood on another, and an erasure reaches
every copy of the words.

A ref is the id of the first version of a belief on one path.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tallystick.state.part import Part


class BranchLinks(Part):
    """The links, by ref."""

    def clear(self) -> None:
        self._over: dict[str, tuple[str, ...]] = {}  # ref → the ancestors' versions that it was made from
        self._covers: dict[tuple[str, str, str], str] = {}  # (user, path, ref) → the ref that hides it on that path
        self._near: dict[str, dict[str, None]] = {}  # ref → what it was made from, and what was made from it
        self._brought: dict[str, str] = {}  # ref → the ref as which a merge brought it over
        self._same: dict[str, dict[str, int]] = {}  # ref → other beliefs' versions with its words, and its word count

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

    def cover(self, user: str, path: str, ref: str) -> str | None:
        """The ref that hides a belief on a path."""
        return self._covers.get((user, path, ref))

    def brought(self, ref: str) -> str | None:
        """The ref as which a merge brought a belief over."""
        return self._brought.get(ref)

    def same(self, ref: str) -> dict[str, int]:
        """Other beliefs' versions with the words that a belief had, and which words of its these are."""
        return self._same.get(ref, {})

    # -- following the ledger ----------------------------------------------------------------------------------------

    def set_over(self, ref: str, versions: Iterable[str]) -> None:
        self._set(self._over, ref, tuple(versions))

    def join(self, ref: str, other: str) -> None:
        for one, two in ((ref, other), (other, ref)):
            self._set(self._near.setdefault(one, {}), two, None)

    def hide(self, user: str, path: str, ref: str, by: str) -> None:
        self._set(self._covers, (user, path, ref), by)

    def bring(self, ref: str, to: str) -> None:
        self._set(self._brought, ref, to)

    def add_same(self, ref: str, versions: Iterable[str], words: int) -> None:
        self._set(self._same, ref, {**self.same(ref), **dict.fromkeys(versions, words)})

    def remove(self, ref: str) -> None:
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

    def dump(self) -> dict[str, Any]:
        """Empty, where nobody branched."""
        near = [[ref, list(others)] for ref, others in self._near.items() if others]
        if not near and not self._over:
            return {}
        covers = [[*key, ref] for key, ref in self._covers.items()]
        tables: dict[str, dict[str, Any]] = {"over": self._over, "same": self._same, "brought": self._brought}
        return {"covers": covers, "near": near} | {name: list(table.items()) for name, table in tables.items()}

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        self._over.update({ref: tuple(names) for ref, names in dumped.get("over", ())})
        self._covers.update({(user, path, ref): by for user, path, ref, by in dumped.get("covers", ())})
        self._near.update({ref: dict.fromkeys(others) for ref, others in dumped.get("near", ())})
        self._same.update(dict(dumped.get("same", ())))
        self._brought.update(dict(dumped.get("brought", ())))
