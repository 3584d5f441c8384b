"""The contract of every embedder.

The same text gives the same row, whatever the other texts and their order. A row has length one, so that the product of
two is their cosine; a blank text (empty, or only white space) gives a row of zeros. A lone surrogate, which no encoding
can carry, is read as U+FFFD: a question is never refused for a broken character.

Vectors are stored with the `key` of their embedder. Those of different keys are never compared: embed the texts again.

Nothing here imports NumPy or a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tallystick.records.errors import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHORT = 16  # hexadecimal digits of the digest in a key: 64 bits


@dataclass(frozen=True, slots=True)
class Identity:
    """The embedder of a vector."""

    name: str  # the kind of embedder
    revision: str  # the model's name
    dimensions: int
    digest: str  # SHA-256 of all that determines a vector: weights, tokenizer, pooling

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise Refused(f"an embedder's name must be one lowercase word, not {self.name!r}", "name")
        if self.dimensions < 1:
            raise Refused(f"vectors of {self.name} must have at least one dimension, not {self.dimensions}")
        if not _SHA256.fullmatch(self.digest):
            raise Refused(f"the digest of {self.name} must be 64 hexadecimal digits, not {self.digest!r}", "name")

    @property
    def key(self) -> str:
        """The key that is stored with each vector. A moved or renamed model keeps it; other weights change it."""
        return f"{self.name}-{self.dimensions}-{self.digest[:_SHORT]}"


class Embedder(Protocol):
    """Turns texts into vectors. Safe to use from several threads."""

    @property
    def identity(self) -> Identity:
        """The identity of this embedder. Reading it may load the model."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row for each text, in the order given."""

    def count(self, text: str) -> int:
        """The number of tokens of `text`, without control tokens. An estimate where there is no tokenizer."""


@runtime_checkable
class TokenVectors(Protocol):
    """An embedder that can also give the parts of a text's vector."""

    def token_vectors(self, text: str) -> tuple[list[str], NDArray[np.float32]]:
        """The tokens of `text` as the tokenizer spells them, and a row for each.

        The rows are as the model holds them, not of length one: a longer row weighs more. Their mean, made length one,
        is the row `embed` gives. The vector of a whole word is `embed([word])`.
        """
