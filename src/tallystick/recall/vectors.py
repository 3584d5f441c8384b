"""The vectors of recall, kept up to date with the index: made when they are first needed, never when writing.

A fast embedder (one with static word vectors) embeds the few texts that are missing before a question is answered, so
that the answer depends on the ledger alone. After a large import nobody waits for it: the question is answered by its
words (`VectorsPending`), and the vectors are made meanwhile. A slow embedder's are made batch by batch, while others
read and write; what has no vector yet is found by its words. Vectors of another embedder are in another folder and are
never read.

The blocks without vectors are found by comparing the vectors with the index, once for each index that is opened, unless
a watermark says up to which of its rows nothing is missing. So files that were rolled back, or an index that was
rebuilt, cost a comparison, and no block goes without its vector for ever. Vectors of blocks that the index does not
have (a copy was restored) are removed then.

A vector is written only while the index that its text came from is in its place: erasing puts another there, and then
sweeps. So no vector of an erased text is written after the sweep; a reader who is answering from the old index at that
moment, or from a temporary one, goes on in memory, and opens the files again with the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from tallystick.projections.index import statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.vectors.file import Nearest, Ranked, VectorFile, Watermark, best_of, is_swept, sweep
from tallystick.projections.vectors.rows import is_plain, numbers_of
from tallystick.recall.index_cache import IndexCache
from tallystick.recall.lexicon import Lexicon, weighted
from tallystick.records.embedder import Embedder, Identity, TokenVectors
from tallystick.records.errors import Busy, NotWritten, TallystickError
from tallystick.text.recall_words import parts_of

Result = TypeVar("Result")

BATCH = 512  # blocks read from the index at a time
FEW = 1_000  # texts that a fast embedder embeds before a question is answered
_QUESTIONS = 64

# How an embedder that somebody else wrote can fail.
_FAILS = (
    TallystickError, OSError, RuntimeError, ArithmeticError, AttributeError, ImportError, LookupError, MemoryError,
    TypeError, ValueError,
)  # fmt: skip


@dataclass(slots=True)
class Vectors:
    """One user's vectors, up to date with the index as far as they go."""

    file: VectorFile
    near: Nearest
    index: IndexFile | None = None  # that they were compared with
    number: int = 0  # of it, then
    begun: int = -1  # and which beginning of the file
    comparison: int = 0  # the number of that comparison
    todo: list[str] = field(default_factory=list)  # blocks that had no vector then, or came since
    done: int = 0  # of those
    reads_to: int = 0  # the row of the index up to which nothing else is missing
    mark: Watermark | None = None  # of them, in a file
    total: int = 0  # blocks of this user, up to there
    rows: int = 0  # of the file, as this process left it

    def nearest(self, question: NDArray[np.float32], limit: int, among: list[str] | None) -> list[tuple[str, float]]:
        """Blocks and how near their nearest part is, nearest first; only those of `among`, if it is given."""
        rows, near = self._search(question, limit, among)
        if not self.file.are_good(rows):
            rows, near = self._search(question, limit, among)
        found: dict[str, float] = {}
        for block, how_near in zip(self.file.blocks_at(rows), near.tolist(), strict=True):
            found.setdefault(block, how_near)
        return list(found.items())

    def _search(self, question: NDArray[np.float32], limit: int, among: list[str] | None) -> Ranked:
        if among is None:
            return self.near.search(question, limit)
        every = list(self.file.rows.where(among).values())
        mine = np.sort(np.concatenate(every)) if every else np.zeros(0, dtype=np.int64)
        names = self.file.rows.every["block"][mine]
        places, near = best_of(np.asarray(self.file.matrix[mine]), question, limit, names)
        return mine[places], near


class NoVectors(Busy):
    """The embedder, or its vectors, are not available just now; the message says why."""


class VectorsPending(NoVectors):
    """More texts than a question waits for have no vectors yet."""


class Batch(NamedTuple):
    """Texts that have no vector yet, in the order of the index."""

    blocks: list[str]
    parts: list[int]
    texts: list[str]
    looked_at: int  # blocks, also those that need nothing
    of: int  # the comparison that found them
    done: int  # how far they reach


class VectorSearch:
    """An embedder and what it has embedded. `static` gives vectors of words, where the embedder itself does not."""

    def __init__(self, embedder: Embedder | None, static: Embedder | None, folder: Path | None) -> None:
        self.embedder, self._folder = embedder, folder
        self.is_fast = isinstance(embedder, TokenVectors)
        self.lexicon = Lexicon(embedder if self.is_fast else static)
        self.plain = Lexicon(None)  # for questions by words alone
        self._files: dict[str, Vectors] = {}
        self._seen: IndexCache | None = None
        self._asked: dict[str, NDArray[np.float32]] = {}  # questions whose vectors were made a moment ago
        self._swept = 0  # erasures after which nothing is left, for certain
        self._comparisons = 0
        self._down = ""  # the error of a slow embedder when it was last asked, if it failed

    def seen(self, index: IndexFile) -> IndexCache:
        """The cache of the index in its present state."""
        if self._seen is None or not self._seen.still_holds(index):
            self._seen = IndexCache(index)
        return self._seen

    @property
    def kind(self) -> str:
        """The kind of weights: for static vectors, for a model's, for a model's and no static ones, for none."""
        if self.embedder is None:
            return "none"
        if self.is_fast:
            return "static"
        return "model" if self.lexicon.has_vectors else "model-alone"

    @property
    def key(self) -> str:
        """The key of the embedder; empty, if it is not available just now."""
        try:
            return self.identity().key if self.embedder else ""
        except NoVectors:
            return ""

    def identity(self) -> Identity:
        """The identity of the embedder. The first time this may load a model, or ask a server."""
        return self._ask(lambda embedder: embedder.identity)

    def _ask(self, work: Callable[[Embedder], Result]) -> Result:
        """Ask the embedder; its failure is remembered until it gives vectors again."""
        assert self.embedder is not None
        try:
            return work(self.embedder)
        except _FAILS as error:
            self._down = str(error) or type(error).__name__
            raise NoVectors(self._down) from error

    # -- questions ---------------------------------------------------------------------------------------------------

    def of_question(self, bare: str, words: Sequence[str], rarity: Sequence[float]) -> NDArray[np.float32] | None:
        """The question's vector; None if it has none."""
        if self.embedder is None or not bare.strip():
            return None
        vector = self._ask(lambda each: weighted(each, words, rarity)) if self.is_fast else self._asked.get(bare)
        if vector is None:
            self._must_be_up()
            vector = self.hear(bare)
        return vector if np.any(vector) else None

    def of_rest(
        self, words: Sequence[str], rarity: Sequence[float], called: Sequence[int]
    ) -> NDArray[np.float32] | None:  # fmt: skip
        """The vector of a question without some of its words; None where there are none, or where it takes long."""
        if self.embedder is None or not called or not self.is_fast:
            return None
        kept = [at for at in range(len(words)) if at not in called]
        return self._ask(lambda each: weighted(each, [words[at] for at in kept], [rarity[at] for at in kept]))

    def hear(self, bare: str) -> NDArray[np.float32]:
        """The vector of a question, kept for a moment: it may be made before anybody has to wait."""
        vector = self._asked.get(bare)
        if vector is None:
            vector = self._embed([bare])[0]
            if len(self._asked) >= _QUESTIONS:
                self._asked = {}
            self._asked[bare] = vector
        return vector

    def _must_be_up(self) -> None:
        """Raise if a slow embedder has just failed: whoever has the ledger does not ask it again while others wait."""
        if self._down and not self.is_fast:
            raise NoVectors(self._down)

    def get_ready(self) -> None:
        """Load the embedder before anybody has to wait; one that has just failed is not asked again."""
        if self.embedder is not None:
            self._must_be_up()
            self.identity()

    # -- memories ----------------------------------------------------------------------------------------------------

    def level(self, index: IndexFile, user: str, erasures: int) -> Vectors | None:
        """The vectors of a user: a fast embedder makes the few that are missing, a slow one's are used as they are.

        VectorsPending, if a fast embedder has more to do than that.
        """
        if self.embedder is None:
            return None
        self._must_be_up()
        if self.is_fast:
            if self.missing_vectors(index, user, erasures) > FEW:
                made, total = self.progress(user)
                raise VectorsPending(self._down or f"vectors are being made: {made:,} of {total:,}")
            while batch := self.missing(index, user, erasures):
                self.add_vectors(index, user, erasures, batch, self.vectors_of(batch))
        return self._open(index, user, erasures)

    def missing(self, index: IndexFile, user: str, erasures: int, limit: int = BATCH) -> Batch | None:
        """The next texts that have no vector; None if there are none."""
        if not self.missing_vectors(index, user, erasures):
            return None
        vectors = self._files[user]
        names = vectors.todo[vectors.done : vectors.done + limit]
        texts = {row[0]: row[1] for row in index.db.execute(sql.FREE, (orjson.dumps(names).decode(),))}
        batch = Batch([], [], [], len(names), vectors.comparison, vectors.done + len(names))
        known = vectors.file.rows.where(names)
        for block in names:
            if block in texts and block not in known:
                parts = parts_of(texts[block])
                batch.blocks.extend([block] * len(parts))
                batch.parts.extend(range(len(parts)))
                batch.texts.extend(parts)
        return batch

    def vectors_of(self, batch: Batch) -> NDArray[np.float32]:
        """Embed a batch. This may take long: let others work meanwhile."""
        return self._embed(batch.texts) if batch.texts else np.zeros((0, 1), dtype=np.float32)

    def count(self, text: str) -> int:
        """The number of tokens of a text."""
        return self._ask(lambda embedder: int(embedder.count(text)))

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        made = self._ask(lambda each: _checked(each.embed(texts), len(texts), each.identity.dimensions))
        self._down = ""
        return made

    def add_vectors(
        self, index: IndexFile, user: str, erasures: int, batch: Batch, vectors: NDArray[np.float32]
    ) -> None:  # fmt: skip
        """Keep the vectors of a batch, unless somebody else did, or their texts were erased meanwhile."""
        held = self._open(index, user, erasures)
        with held.file.writing():
            if index.is_temporary or not index.is_in_place():
                held.file.stay_in_memory()
            known = held.file.rows.where(batch.blocks)
            here = {row[0] for row in index.db.execute(sql.FREE, (orjson.dumps(batch.blocks).decode(),))}
            new = [place for place, block in enumerate(batch.blocks) if block not in known and block in here]
            if new:
                names, parts = [batch.blocks[place] for place in new], [batch.parts[place] for place in new]
                held.file.add(names, parts, vectors[new])
                held.rows += len(new)
        if batch.of == held.comparison:
            held.done = max(held.done, batch.done)

    def missing_vectors(self, index: IndexFile, user: str, erasures: int) -> int:
        """The number of texts of a user that have no vector yet."""
        if self.embedder is None:
            return 0
        vectors = self._open(index, user, erasures)
        last = index.db.execute(sql.LAST_ROW).fetchone()[0] or 0
        if last > vectors.reads_to:  # those that came since
            new = [row[0] for row in index.db.execute(sql.TO_EMBED, (vectors.reads_to, user)) if is_plain(row[0])]
            before = len(vectors.todo) - vectors.done
            vectors.todo = list(dict.fromkeys(vectors.todo[vectors.done :] + new))  # some came while it was compared
            vectors.done, vectors.reads_to = 0, last
            vectors.total += len(vectors.todo) - before
            self._number(vectors)
        if len(vectors.file) != vectors.rows and vectors.done < len(vectors.todo):  # others made some
            has = _are_in(numbers_of(vectors.todo), vectors.file.rows.blocks())
            vectors.todo, vectors.done = [vectors.todo[place] for place in np.flatnonzero(~has).tolist()], 0
            self._number(vectors)
        vectors.rows = len(vectors.file)
        if vectors.done == len(vectors.todo):
            self._note(index, vectors)
        return len(vectors.todo) - vectors.done

    def progress(self, user: str) -> tuple[int, int]:
        """How many texts of a user have vectors, and how many there are, as far as they were looked at."""
        vectors = self._files.get(user)
        return (vectors.total - len(vectors.todo) + vectors.done, vectors.total) if vectors else (0, 0)

    def connect(self, index: IndexFile, user: str, erasures: int) -> int:
        """Go on building the graph over the vectors, if they are many; the number of rows added. 0: it is complete."""
        return 0 if self.embedder is None else self._open(index, user, erasures).near.build()

    # -- files -------------------------------------------------------------------------------------------------------

    def _open(self, index: IndexFile, user: str, erasures: int) -> Vectors:
        self._sweep(index, erasures)
        vectors = self._files.get(user)
        is_other = vectors is None or vectors.index is not index or vectors.number != index.number()
        if vectors is None or (is_other and vectors.file.is_in_memory and self._folder):
            identity = self.identity()
            file = VectorFile(self._folder, identity.key, identity.dimensions, user)
            vectors = self._files[user] = Vectors(file, Nearest(file))
        else:
            vectors.file.read()
        if is_other or vectors.begun != vectors.file.begun:
            self._compare(index, vectors, user, erasures)
        return vectors

    def _sweep(self, index: IndexFile, erasures: int, *, at_once: bool = False) -> None:
        """After an erasure, remove the vectors of what is gone, before anything else is done with any."""
        if self._folder is None or (erasures == self._swept and not at_once):
            return
        if at_once or not is_swept(self._folder, erasures):
            try:
                sweep(self._folder, index, erasures)
            except NotWritten as error:
                raise NoVectors(str(error)) from error
        self._swept = erasures

    def _compare(self, index: IndexFile, vectors: Vectors, user: str, erasures: int) -> None:
        """Find what has no vector yet, and remove what is not in the index."""
        last = index.db.execute(sql.LAST_ROW).fetchone()[0] or 0
        mark = vectors.mark = vectors.file.watermark()
        if mark and mark.number == index.number() > 0 and mark.rows <= len(vectors.file) and mark.reads_to <= last:
            self._compared(index, vectors, [], mark.reads_to, len(vectors.file))
            return
        names = [row[0] for row in index.db.execute(sql.BLOCKS_OF, (user,)) if is_plain(row[0])]
        numbers = numbers_of(names)
        has = _are_in(numbers, held := vectors.file.rows.blocks())
        if np.count_nonzero(has) < len(held):
            if index.is_in_place():  # remove them from this file, and then from every other
                self._sweep(index, erasures, at_once=True)
            else:
                vectors.file.stay_in_memory()
            with vectors.file.writing():
                vectors.file.keep_only(numbers)
            has = _are_in(numbers, vectors.file.rows.blocks())
        self._compared(index, vectors, [names[place] for place in np.flatnonzero(~has).tolist()], last, len(names))

    def _compared(self, index: IndexFile, vectors: Vectors, todo: list[str], reads_to: int, total: int) -> None:
        vectors.todo, vectors.done, vectors.reads_to, vectors.total = todo, 0, reads_to, total
        vectors.index, vectors.number, vectors.begun = index, index.number(), vectors.file.begun
        vectors.rows = len(vectors.file)
        self._number(vectors)

    def _number(self, vectors: Vectors) -> None:
        """Give the list of what is missing a number of its own: a batch of an earlier list says nothing about it."""
        self._comparisons += 1
        vectors.comparison = self._comparisons

    def _note(self, index: IndexFile, vectors: Vectors) -> None:
        """Nothing is missing: note it for the next process, unless it is noted of nearly as much."""
        mark = vectors.mark
        is_new = mark is None or mark.number != index.number() or vectors.reads_to - mark.reads_to >= BATCH
        if is_new and index.number() and index.is_in_place():
            vectors.file.save_watermark(index.number(), vectors.reads_to)
            vectors.mark = vectors.file.watermark()


def _are_in(numbers: NDArray[np.uint64], held: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """True for each of some numbers that is among `held`, which are in order."""
    if not len(held):
        return np.zeros(len(numbers), dtype=np.bool_)
    places = np.minimum(np.searchsorted(held, numbers), len(held) - 1)
    found: NDArray[np.bool_] = held[places] == numbers
    return found


def _checked(rows: NDArray[np.float32], count: int, dimensions: int) -> NDArray[np.float32]:
    """The vectors of an embedder, if they are as promised: anything else would shift the rows after them."""
    made: NDArray[np.float32] = np.ascontiguousarray(rows, dtype=np.float32)
    if made.shape != (count, dimensions) or not np.isfinite(made).all():
        expected = f"{count} vectors of {dimensions} finite numbers"
        raise ValueError(f"the embedder returned an array of shape {made.shape}, expected {expected}")
    return made
