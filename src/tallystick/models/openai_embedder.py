"""Embedder for servers with OpenAI's `/v1/embeddings`: a service with a key, or a local Ollama, llama.cpp, vLLM.

The texts leave this process, and with a service this machine. The answer is not trusted: one vector for each text, put
in order by its `index`, all of the same length, all finite numbers.

What it cannot know: the weights. Its identity is the address, the model's name and the dimensions; a server that
changes its model under the same name is not noticed. Tokens are estimated, because the tokenizer is on the server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import orjson

from tallystick.models.embedding import digest_of, estimated_tokens, rows_for, unavailable
from tallystick.models.http_client import HttpClient
from tallystick.records.embedder import Identity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LIMIT, _LIMIT_PER_TEXT = 1 << 20, 1 << 18  # bytes of an answer: 8,192 numbers a text, with plenty of space
_RECIPE = "1"  # change it when the same server begins to give other vectors


class Endpoint:
    """The model `model` of the server at `url`.

    Of each text the first `longest` characters are sent, so that one long memory does not fail its batch. Where
    `dimensions` is given the server is asked for that many; else they are learned from its first answer.
    """

    def __init__(
        self, url: str, model: str, *, key: str = "", dimensions: int = 0, timeout: float = 30.0, attempts: int = 4,
        batch: int = 64, longest: int = 8000, sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self._client = HttpClient(url, model, key, below="embeddings", timeout=timeout, attempts=attempts, sleep=sleep)
        self._name, self._asked, self._batch, self._longest = model, dimensions, batch, longest
        self._known, self._lock = dimensions, Lock()

    @property
    def identity(self) -> Identity:
        """The identity of these vectors. The first time this may ask the server, to learn the dimensions."""
        dimensions = self._dimensions()
        digest = digest_of(self._client.url.geturl(), self._name, str(dimensions), str(self._longest), _RECIPE)
        return Identity("endpoint", self._name, dimensions, digest)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return rows_for(texts, self._dimensions(), self._vectors)

    def count(self, text: str) -> int:
        return estimated_tokens(text)

    def _dimensions(self) -> int:
        with self._lock:
            if not self._known:
                self._known = self._ask(["tallystick"]).shape[1]
        return self._known

    def _vectors(self, texts: list[str]) -> NDArray[np.float64]:
        import numpy as np

        starts = range(0, len(texts), self._batch)
        return np.concatenate([self._ask(texts[start : start + self._batch]) for start in starts])

    def _ask(self, texts: list[str]) -> NDArray[np.float64]:
        """The rows of one batch, as long as the server makes them."""
        asked: dict[str, object] = {"model": self._name, "input": [text[: self._longest] for text in texts]}
        if self._asked:
            asked["dimensions"] = self._asked
        answer = self._client.post(orjson.dumps(asked), limit=_LIMIT + _LIMIT_PER_TEXT * len(texts))
        try:
            rows = _rows(orjson.loads(answer), len(texts))
            if self._known and rows.shape[1] != self._known:
                raise ValueError(f"vectors of {rows.shape[1]} dimensions, not {self._known}")
        except ValueError as error:
            raise unavailable(f"{self._client.place} answers with something else than vectors", error) from None
        return rows

    def __repr__(self) -> str:
        return f"<Endpoint {self._name} at {self._client.place}>"


def _rows(answer: Any, asked: int) -> NDArray[np.float64]:
    """The vectors in an answer, in the order of the texts, or ValueError."""
    import numpy as np

    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
        raise ValueError("there is no list called data")
    if len(data) != asked:
        raise ValueError(f"{len(data)} vectors for {asked} texts")
    by_index = {each["index"]: each.get("embedding") for each in data if type(each.get("index")) is int}
    if by_index.keys() != set(range(asked)):
        raise ValueError(f"the indexes are not those from 0 to {asked - 1}, each once")
    vectors = [_numbers(by_index[place], place) for place in range(asked)]
    if len({len(vector) for vector in vectors}) != 1:
        raise ValueError("the vectors differ in length")
    return np.array(vectors, dtype=np.float64)


def _numbers(vector: object, place: int) -> list[float]:
    if not isinstance(vector, list) or not vector or not all(type(each) in (float, int) for each in vector):
        raise ValueError(f"vector {place} is not a list of numbers")
    if not any(vector):
        raise ValueError(f"vector {place} is all zeros")
    return vector
