"""What every embedder promises, whoever made its weights.

The same text gives the same row, whatever stands beside it and in whatever order. A row has length one, so that the
product of two is their cosine; a blank text (empty, or only white space) says nothing and gives a row of zeros. A lone
surrogate, which no encoding can carry, is read as U+FFFD: a question is never refused for a broken character.

Vectors are kept with the `key` of who made them. Vectors of different keys are never compared: embed the texts anew.

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
    """Who made a vector."""

    name: str  # which kind of embedder
    revision: str  # which model, as people call it
    dimensions: int
    digest: str  # SHA-256 over all that decides a vector: weights, tokenizer, pooling

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise Refused(f"an embedder's name is one lower-case word, not {self.name!r}", "name")
        if self.dimensions < 1:
            raise Refused(f"vectors of {self.name} have at least one dimension, not {self.dimensions}")
        if not _SHA256.fullmatch(self.digest):
            raise Refused(f"the digest of {self.name} is 64 hexadecimal digits, not {self.digest!r}", "name")

    @property
    def key(self) -> str:
        """What is stored beside each vector. A model that was moved or renamed keeps it; other weights change it."""
        return f"{self.name}-{self.dimensions}-{self.digest[:_SHORT]}"


class Embedder(Protocol):
    """Turns texts into vectors. Safe to use from several threads."""

    @property
    def identity(self) -> Identity:
        """Who makes these vectors. Asking may load the model."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row for each text, in the order given."""

    def count(self, text: str) -> int:
        """How many tokens `text` has, control tokens not counted. An estimate where no tokenizer is at hand."""


@runtime_checkable
class TokenVectors(Protocol):
    """What some embedders can do besides: give the parts of which a text's vector is made."""

    def token_vectors(self, text: str) -> tuple[list[str], NDArray[np.float32]]:
        """The tokens of `text` as the tokenizer spells them, and a row for each.

        The rows are as the model holds them, not of length one: a longer row weighs more. Their mean, made length one,
        is the row `embed` gives. The vector of a whole word is `embed([word])`.
        """
