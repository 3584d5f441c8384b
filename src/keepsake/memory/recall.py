"""Asking an open memory: what the caller means by a moment and a scope, put to the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keepsake.records.errors import Missing, Refused
from keepsake.records.hit import Hit
from keepsake.records.timeline import Moment
from keepsake.stores.shelf import Shelf

if TYPE_CHECKING:
    from keepsake.memory.index import IndexOf, Tick
    from keepsake.projections.index.file import IndexFile


def recall(
    shelf: Shelf,
    index: IndexOf,
    question: str,
    *,
    k: int,
    user: str,
    session: str | None,
    agent: str | None,
    path: str,
    believed_at: Moment | None,
    quarantined: bool,
    tick: Tick | None = None,
) -> list[Hit]:
    from keepsake.projections.index.fulltext import NOW, Scope
    from keepsake.recall.words import by_words

    said: object = question
    if not isinstance(said, str):
        raise Refused(f"a question is text, not {type(said).__name__}")
    if type(k) is not int or k < 1:
        raise Refused(f"k is how many are wanted, 1 or more, not {k!r}")
    with shelf.ledger.reading():
        at = NOW if believed_at is None else shelf.seq_at(believed_at)
        scope = Scope(user, at, path, session, agent, quarantined)
        return index.read(lambda file: by_words(_reaching(file, at), question, scope, k), tick)


def _reaching(file: IndexFile, at: int) -> IndexFile:
    """The index, if it knows what was held then."""
    since = file.bookmark().since
    if since and at < since:
        raise Missing(
            f"what was held before event {since} is not known here: the events were moved away;"
            " put their files back into sealed/ and run `keepsake rebuild-index`"
        )
    return file
