"""The vectors that recall goes by, kept level with the index: made when they are first needed, never when writing.

A fast embedder (one with static word vectors) embeds whatever is missing before a question is answered, so that the
answer depends on the ledger alone. A slow one's vectors are made batch by batch, by whoever has the time, while others
read and write; what has no vector yet is found by its words. Vectors of another embedder lie in another folder and are
never looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from keepsake.projections.index import prepared as sql
from keepsake.projections.index.file import IndexFile
from keepsake.projections.vectors.file import VectorFile, is_plain
from keepsake.projections.vectors.nearest import Nearest, best_of
from keepsake.recall.lexicon import Lexicon, weighted
from keepsake.recall.seen import Seen
from keepsake.recall.text import parts_of
from keepsake.records.embedder import Embedder, Identity, TokenVectors
from keepsake.records.errors import KeepsakeError

BATCH = 512  # blocks read from the index at a time
_QUESTIONS = 64


class Vectors(NamedTuple):
    """One user's vectors, level with the index as far as they go."""

    file: VectorFile
    near: Nearest

    @property
    def matrix(self) -> NDArray[np.float32]:
        return self.file.matrix

    def where(self, blocks: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        return self.file.where(blocks)

    def nearest(self, question: NDArray[np.float32], most: int, among: list[str] | None) -> list[tuple[str, float]]:
        """Blocks and how near their nearest part is, the nearest first; only those of `among`, if it is given."""
        if among is None:
            rows, near = self.near.search(question, most)
        else:
            every = list(self.file.where(among).values())
            mine = np.sort(np.concatenate(every)) if every else np.zeros(0, dtype=np.int64)
            places, near = best_of(np.asarray(self.file.matrix[mine]), question, most)
            rows = mine[places]
        found: dict[str, float] = {}
        for block, how_near in zip(self.file.blocks_at(rows), near.tolist(), strict=True):
            found.setdefault(block, how_near)
        return list(found.items())


class NoVectors(Exception):
    """The embedder cannot be had just now; the message says why."""


class Batch(NamedTuple):
    """Texts that have no vector yet, in the order of the index."""

    blocks: list[str]
    parts: list[int]
    texts: list[str]
    looked_at: int  # blocks, also those that need nothing
    reads_to: int  # the row of the index that this reaches
    last_block: str


class Meaning:
    """An embedder and what it has embedded. `static` gives vectors of words, where the embedder itself does not."""

    def __init__(self, embedder: Embedder | None, static: Embedder | None, folder: Path | None) -> None:
        self.embedder, self._folder = embedder, folder
        self.is_fast = isinstance(embedder, TokenVectors)
        self.lexicon = Lexicon(embedder if self.is_fast else static)
        self._files: dict[str, Vectors] = {}
        self._seen: Seen | None = None
        self._asked: dict[str, NDArray[np.float32]] = {}  # questions whose vectors were made a moment ago

    def seen(self, index: IndexFile) -> Seen:
        """What was read from the index in the state in which it is."""
        if self._seen is None or not self._seen.still_holds(index):
            self._seen = Seen(index)
        return self._seen

    @property
    def kind(self) -> str:
        """Which weights fit: with static vectors, with a model's, with a model's and no static ones, with none."""
        if self.embedder is None:
            return "none"
        if self.is_fast:
            return "static"
        return "model" if self.lexicon.has_vectors else "model-alone"

    @property
    def key(self) -> str:
        return self.embedder.identity.key if self.embedder else ""

    # -- questions ---------------------------------------------------------------------------------------------------

    def of_question(self, bare: str, words: Sequence[str], rarity: Sequence[float]) -> NDArray[np.float32] | None:
        """The question's vector; None if it has none to be compared by."""
        if self.embedder is None or not bare.strip():
            return None
        vector = weighted(self.embedder, words, rarity) if self.is_fast else None
        if vector is None:
            vector = self.hear(bare)
        return vector if np.any(vector) else None

    def hear(self, bare: str) -> NDArray[np.float32]:
        """The vector of a question as it stands, kept for a moment: it may be made before anybody has to wait."""
        assert self.embedder is not None
        if bare not in self._asked:
            if len(self._asked) >= _QUESTIONS:
                self._asked.clear()
            self._asked[bare] = self._embed([bare])[0]
        return self._asked[bare]

    # -- what is remembered ------------------------------------------------------------------------------------------

    def level(self, index: IndexFile, user: str, erasures: int) -> Vectors | None:
        """The vectors of a user: a fast embedder makes what is missing, a slow one's are taken as they are."""
        if self.embedder is None:
            return None
        while self.is_fast and (batch := self.missing(index, user, erasures)):
            self.take_in(index, user, erasures, batch, self.vectors_of(batch))
        return self._open(index, user, erasures)

    def missing(self, index: IndexFile, user: str, erasures: int, most: int = BATCH) -> Batch | None:
        """The next texts that have no vector; None if there are none."""
        if self.embedder is None:
            return None
        file = self._open(index, user, erasures).file
        last = index.db.execute(sql.LAST_ROW).fetchone()[0] or 0
        if last <= file.reads_to and self._fits(index, file):
            return None
        reads_to = file.reads_to if self._fits(index, file) else 0
        rows = index.db.execute(sql.TO_EMBED, (reads_to, user, most)).fetchall()
        if not rows:  # nothing of this user further on: the next time, begin behind what others have
            (block,) = index.db.execute(sql.BLOCK_AT, (last,)).fetchone()
            with file.writing():
                file.note(reads_to=last, last_block=block, erasures=erasures)
            return None
        return _batch(file, rows)

    def vectors_of(self, batch: Batch) -> NDArray[np.float32]:
        """What the embedder makes of a batch. This may take long: whoever can lets others work meanwhile."""
        return self._embed(batch.texts) if batch.texts else np.zeros((0, 1), dtype=np.float32)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        assert self.embedder is not None
        try:
            return self.embedder.embed(texts)
        except KeepsakeError as error:
            raise NoVectors(str(error)) from error

    def take_in(
        self, index: IndexFile, user: str, erasures: int, batch: Batch, vectors: NDArray[np.float32]
    ) -> None:  # fmt: skip
        """Keep the vectors of a batch, unless somebody else did, or what they belong to was erased meanwhile."""
        file = self._open(index, user, erasures).file
        with file.writing():
            known = file.where(batch.blocks)
            here = {row[0] for row in index.db.execute(sql.FREE, (orjson.dumps(batch.blocks).decode(),))}
            new = [place for place, block in enumerate(batch.blocks) if block not in known and block in here]
            if new:
                file.add([batch.blocks[place] for place in new], [batch.parts[place] for place in new], vectors[new])
            file.note(reads_to=batch.reads_to, last_block=batch.last_block, erasures=erasures)

    def connect(self, index: IndexFile, user: str, erasures: int) -> bool:
        """Make the graph over the vectors, if they are many."""
        return self.embedder is not None and self._open(index, user, erasures).near.build()

    def _open(self, index: IndexFile, user: str, erasures: int) -> Vectors:
        assert self.embedder is not None
        if user not in self._files:
            identity = self._identity()
            file = VectorFile(self._folder, identity.key, identity.dimensions, user)
            self._files[user] = Vectors(file, Nearest(file))
        vectors = self._files[user]
        if vectors.file.erasures != erasures:
            self._sweep(index, vectors.file, user, erasures)
        return vectors

    def _identity(self) -> Identity:
        assert self.embedder is not None
        try:
            return self.embedder.identity
        except KeepsakeError as error:
            raise NoVectors(str(error)) from error

    def _sweep(self, index: IndexFile, file: VectorFile, user: str, erasures: int) -> None:
        """After an erasure, the vectors of what is gone go too, before anything else is done with them."""
        with file.writing():
            if file.erasures != erasures:
                if len(file):
                    file.keep_only({row[0] for row in index.db.execute(sql.BLOCKS_OF, (user,))})
                file.note(reads_to=0, last_block="", erasures=erasures)

    def _fits(self, index: IndexFile, file: VectorFile) -> bool:
        """Whether the vectors were made from this index, or one that is numbered alike."""
        if file.reads_to == 0:
            return True
        row = index.db.execute(sql.BLOCK_AT, (file.reads_to,)).fetchone()
        return row is not None and row[0] == file.last_block


def _batch(file: VectorFile, rows: list[tuple[int, str, str]]) -> Batch:
    known = file.where([block for _, block, _ in rows])
    batch = Batch([], [], [], len(rows), rows[-1][0], rows[-1][1])
    for _, block, content in rows:
        if is_plain(block) and block not in known:
            parts = parts_of(content)
            batch.blocks.extend([block] * len(parts))
            batch.parts.extend(range(len(parts)))
            batch.texts.extend(parts)
    return batch
