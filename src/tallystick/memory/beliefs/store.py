"""`m.beliefs`: queries of beliefs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tallystick.memory.trust.filtered_calls import answering
from tallystick.records.belief import Belief, Moment
from tallystick.records.errors import Refused
from tallystick.stores.open_ledger import OpenLedger

_ANY = (None, None, None)


@answering
class BeliefStore:
    """The beliefs of one user, as they are seen from a path."""

    def __init__(self, folder: OpenLedger, user: str, path: str = "") -> None:
        self._folder, self._user, self._path = folder, user, path

    def on(self, path: str) -> BeliefStore:
        """The same, as they are seen from another path."""
        return BeliefStore(self._folder, self._user, path)

    def query(
        self, *, kind: str | None = None, status: str = "active", min_confidence: float | None = None,
        about: str | None = None, tag: str | None = None, containing: str = "", believed_at: Moment | None = None,
        user: str | None = None, path: str | None = None,
    ) -> list[Belief]:  # fmt: skip
        """The beliefs that fit, oldest first. `status=""` is any; `containing` is a part of the text, in any case."""
        found = self._fitting(
            -1, None, kind=kind, status=status, min_confidence=min_confidence, about=about, tag=tag,
            containing=containing, believed_at=believed_at, user=user, path=path,
        )  # fmt: skip
        return [belief for _, belief in found]

    def page(self, /, *, after: int = -1, limit: int = 100, **which: Any) -> tuple[list[Belief], int | None]:
        """The next `limit` of those that `query` gives, and where to go on: None, if there are no more.

        A place is the number of the event that first stated a belief. What others write meanwhile moves no place.
        """
        if type(limit) is not int or limit < 1:
            raise Refused(f"limit must be 1 or more, not {limit!r}")
        found = self._fitting(after, limit + 1, **which)
        return [belief for _, belief in found[:limit]], found[limit - 1][0] if len(found) > limit else None

    def all(self, *, user: str | None = None) -> list[Belief]:
        """Every belief, active or not."""
        return self.query(status="", user=user)

    def _fitting(
        self, after: int, at_most: int | None, *, kind: str | None = None, status: str = "active",
        min_confidence: float | None = None, about: str | None = None, tag: str | None = None, containing: str = "",
        believed_at: Moment | None = None, user: str | None = None, path: str | None = None,
    ) -> list[tuple[int, Belief]]:  # fmt: skip
        """Those that fit and were first stated after an event, each with the number of that first event.

        Only words that the caller may read can fit: no query reveals withheld words.
        """
        outlet = self._folder.outlet
        needle, found = containing.casefold(), list[tuple[int, Belief]]()
        whose, where = self._user if user is None else user, self._path if path is None else path
        wanted = [] if about is None else self._folder.entities_called(about, whose, where)
        with self._folder.known(believed_at) as known:
            held = known.query(
                user=whose, path=where, kind=kind, status=status, min_confidence=min_confidence,
                where=lambda each: each.first > after,
            )  # fmt: skip
            for each in held:
                if len(found) == at_most:
                    break
                belief = each.belief()
                read = outlet.reader.belief(belief) if outlet and (needle or (about, tag, kind) != _ANY) else belief
                is_about = (about is None or read.about in wanted) and (tag is None or tag in read.tags)
                if is_about and kind in (None, read.kind) and needle in read.text.casefold():
                    found.append((each.first, belief))
        return found

    def __iter__(self) -> Iterator[Belief]:
        return iter(self.query())

    def __len__(self) -> int:
        return len(self.query())

    def __repr__(self) -> str:
        return f"<{len(self)} beliefs of {self._user}{f' on {self._path}' if self._path else ''}>"
