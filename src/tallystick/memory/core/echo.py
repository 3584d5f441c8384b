"""Echoes: texts that repeat what recall served, so that a memory cannot confirm, reinforce or launder itself.

What was served is known from receipts in the index, and from what this very process served since it was opened,
receipts or not. What another process served without a receipt is not known: `receipts = true` is for that.

The whole text and each of its lines and sentences are looked up, whatever their case, spaces, punctuation, bullets and
labels. A paraphrase is not recognised. A person's own words are never an echo. If the index is not available, nothing
is looked up: no write waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import orjson

from tallystick.decide.trust import SET_ASIDE
from tallystick.projections.index import statements as sql
from tallystick.projections.index.rows import WITHHELD, Source
from tallystick.records.policy import lower
from tallystick.records.recall import Hit
from tallystick.text.fingerprint import KEPT, marks_of, whole_marks

if TYPE_CHECKING:
    from tallystick.memory.core.index import IndexService
    from tallystick.projections.index.file import IndexFile

MOST = 50_000  # marks that are kept; the oldest go first
_NAMED = 20  # sources that an echo names

Key = tuple[str, str]  # whose, and a block or a mark


class Echo(NamedTuple):
    """What a text repeats."""

    ids: tuple[str, ...] = ()  # the versions and episodes with that text
    trust: str = ""  # the trust that it inherits; empty: what it repeats is in recall
    held: tuple[Source, ...] = ()  # the active beliefs with the whole text

    def belief_in(self, session: str, agent: str, path: str) -> str:
        """The belief with the whole text in this scope; empty if there is none."""
        same = (each.id for each in self.held if (each.session, each.agent, each.path) == (session, agent, path))
        return next(same, "")


NO_ECHO = Echo()


class EchoDetector:
    """What one memory has served, and the texts that repeat it."""

    def __init__(self, index: Callable[[], IndexService]) -> None:
        self._index = index
        self._fresh: dict[Key, None] = {}  # blocks that were served and not looked at yet
        self._looked: dict[Key, None] = {}
        self._marks: dict[Key, tuple[str, ...]] = {}  # → the blocks that say it
        self._unserved = ""  # the hash of the last event when nothing was served yet

    def serve(self, user: str, hits: Iterable[Hit]) -> None:
        """Note what was served. It is looked at when somebody writes."""
        for hit in hits:
            if hit.block and (user, hit.block) not in self._looked:
                self._fresh[user, hit.block] = None

    def forget(self) -> None:
        """Forget everything: words were destroyed."""
        self._fresh.clear()
        self._looked.clear()
        self._marks.clear()

    def of(self, text: str, user: str) -> Echo:
        """What a text repeats of what was served to this user's readers."""
        ledger = self._index().ledger
        if ledger.in_batch() and ledger.head.hash == self._unserved and not self._fresh and not self._marks:
            return NO_ECHO  # nobody else has written since that was asked
        marks = marks_of(text)
        if not marks:
            return NO_ECHO
        return self._index().glance(lambda file: self._heard(file, text, marks, user)) or NO_ECHO

    def _heard(self, file: IndexFile, text: str, marks: list[str], user: str) -> Echo:
        self._learn(file)
        is_any = file.db.execute(sql.ANY_SERVED).fetchone()
        self._unserved = "" if is_any else self._index().ledger.head.hash
        asked = (user, orjson.dumps(marks).decode())
        found: dict[str, set[str]] = {}  # block → the marks by which it is known
        for mark, block in file.db.execute(sql.SERVED, asked):
            found.setdefault(block, set()).add(mark)
        for mark in marks:
            for block in self._marks.get((user, mark), ()):
                found.setdefault(block, set()).add(mark)
        return _echo(file, found, set(whole_marks(text))) if found else NO_ECHO

    def _learn(self, file: IndexFile) -> None:
        """Look at what was served since the last time."""
        while self._fresh:
            portion = list(self._fresh)[:500]
            contents = dict(_contents(file, [block for _, block in portion]))
            for key in portion:
                self._fresh.pop(key, None)
                self._looked[key] = None
                for mark in marks_of(contents.get(key[1], ""), KEPT)[:KEPT]:
                    self._marks[key[0], mark] = (*self._marks.get((key[0], mark), ()), key[1])[:_NAMED]
        for table in (self._marks, self._looked):
            while len(table) > MOST:
                del table[next(iter(table))]


def _contents(file: IndexFile, blocks: list[str]) -> Iterable[tuple[str, str]]:
    return ((row[0], row[1]) for row in file.db.execute(sql.FREE, (orjson.dumps(blocks).decode(),)))


def _echo(file: IndexFile, found: dict[str, set[str]], whole: set[str]) -> Echo:
    said: dict[str, list[Source]] = {}
    for row in file.db.execute(sql.SAID_IN, (orjson.dumps(list(found)).decode(),)):
        source = Source(*row)
        said.setdefault(source.block_id or "", []).append(source)
    ids, trusts, held = list[str](), list[str](), list[Source]()
    for block, sources in said.items():
        speaking = [source for source in sources if source.is_open] or sources
        ids += [source.id for source in speaking]
        if all(source.is_kept_out for source in speaking):
            trusts += [lower((each.trust, SET_ASIDE)) if each.sight == WITHHELD else each.trust for each in speaking]
        is_whole = not whole.isdisjoint(found[block]) and any(  # the text is all of the block, not one sentence of it
            not whole.isdisjoint(whole_marks(content)) for _, content in _contents(file, [block])
        )
        if is_whole:
            held += [each for each in speaking if each.what == "belief" and each.until_seq is None]
    return Echo(tuple(ids[:_NAMED]), lower(trusts) if trusts else "", tuple(held))
