"""`m.beliefs`: what is held true, to be looked through."""

from __future__ import annotations

from collections.abc import Iterator

from keepsake.records.belief import Belief
from keepsake.records.notebook import listing
from keepsake.records.timeline import Moment
from keepsake.stores.shelf import Shelf


@listing
class BeliefsOf:
    """The beliefs of one user, as they are seen from a path."""

    def __init__(self, shelf: Shelf, user: str, path: str = "") -> None:
        self._shelf, self._user, self._path = shelf, user, path

    def on(self, path: str) -> BeliefsOf:
        """The same, as they are seen from another path."""
        return BeliefsOf(self._shelf, self._user, path)

    def query(
        self,
        *,
        kind: str | None = None,
        status: str = "active",
        min_confidence: float | None = None,
        about: str | None = None,
        tag: str | None = None,
        containing: str = "",
        believed_at: Moment | None = None,
        user: str | None = None,
        path: str | None = None,
    ) -> list[Belief]:
        """The beliefs that fit, oldest first. `status=""` is any; `containing` is a part of the text, in any case."""
        with self._shelf.known(believed_at) as known:
            found = known.query(
                user=self._user if user is None else user,
                path=self._path if path is None else path,
                kind=kind,
                status=status,
                min_confidence=min_confidence,
            )
            beliefs = [held.belief() for held in found]
        needle = containing.casefold()
        return [
            belief
            for belief in beliefs
            if about in (None, belief.about)
            and (tag is None or tag in belief.tags)
            and needle in belief.text.casefold()
        ]

    def all(self, *, user: str | None = None) -> list[Belief]:
        """Every belief, held or not."""
        return self.query(status="", user=user)

    def __iter__(self) -> Iterator[Belief]:
        return iter(self.query())

    def __len__(self) -> int:
        return len(self.query())

    def __repr__(self) -> str:
        return f"<{len(self)} beliefs of {self._user}{f' on {self._path}' if self._path else ''}>"
