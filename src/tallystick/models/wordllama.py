"""The default embedder: WordLlama's static word vectors, which are inside its package.

It never uses the network. Only two files of the package are read, its weights and its tokenizer; its code is not
imported, because that looks for the tokenizer in a folder that its own wheel spells otherwise, asks Hugging Face for
it, and sets up logging for the whole program.

A text's vector is the mean of its tokens' rows. Order and distance of words do not count, length hardly costs: every
token of a long text is read. The weights stay in the file, mapped into memory and shared between processes.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from tallystick.models import embedding
from tallystick.models.embedding import LocalEmbedder, digest_of, readable, unavailable
from tallystick.records.embedder import Identity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 256
INSTALL = "pip install wordllama==0.2.2.post0"  # the release that every machine can install; later ones want a compiler

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"
_RECIPE = "mean of all tokens, 1"  # change it when the same weights begin to give other vectors
_MANY = 2000  # texts from which on it pays to widen the weights, which takes as long as so many
_AGAIN = f"; {INSTALL} --force-reinstall"
_PIECE = 4096  # tokens summed at a time, so that a very long text needs little memory


class WordLlama(LocalEmbedder["_Model"]):
    """Static vectors of 256 dimensions; `folder` holds an unpacked wheel, where nothing may be installed."""

    def __init__(self, folder: Path | None = None) -> None:
        embedding.require("tokenizers", "pip install tokenizers")
        if folder is None:
            spec = embedding.require("wordllama", INSTALL)
            folder = Path((spec.submodule_search_locations or [""])[0])
        for name in (_WEIGHTS, _TOKENIZER):
            if not (folder / name).is_file():
                raise unavailable(f"{folder / name} is missing{_AGAIN}")
        super().__init__(folder, folder, lambda: _Model(folder))

    def count(self, text: str) -> int:
        given = readable(text)
        return len(self._model.encode(given).ids) if given else 0

    def token_vectors(self, text: str) -> tuple[list[str], NDArray[np.float32]]:
        """The tokens of `text` (`▁` begins a word) and their rows, as the model holds them."""
        import numpy as np

        given = readable(text)
        if not given:
            return [], np.zeros((0, DIMENSIONS), dtype=np.float32)
        ids = self._model.encode(given).ids
        return [self._model.tokenizer.id_to_token(each) for each in ids], self._model.matrix[ids].astype(np.float32)


class _Model:
    def __init__(self, folder: Path) -> None:
        weights, tokenizer = folder / _WEIGHTS, folder / _TOKENIZER
        self.matrix = _matrix(weights)
        self._wide: NDArray[np.float32] | None = None
        self._asked = 0
        text = tokenizer.read_bytes().rstrip()  # releases differ in the last newline alone
        self.tokenizer = embedding.tokenizer_in(tokenizer, text, INSTALL, way_out=_AGAIN)
        if self.tokenizer.get_vocab_size() > len(self.matrix):
            raise unavailable(f"{tokenizer} has more tokens than {weights} has rows{_AGAIN}")
        self.identity = Identity("wordllama", weights.stem, DIMENSIONS, digest_of(weights, text, _RECIPE))

    def encode(self, text: str) -> Any:
        """The ids of `text`, without their spelling. A batch of one: faster than `encode`, and it starts no threads."""
        [encoded] = self.tokenizer.encode_batch_fast([text], add_special_tokens=False)
        return encoded

    def vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """The sum of each text's rows, in the direction of their mean; each by itself, whatever its neighbours."""
        import numpy as np

        self._asked += len(texts)
        if self._wide is None and self._asked >= _MANY:
            self._wide = self.matrix.astype(np.float32)
        matrix = self.matrix if self._wide is None else self._wide
        return np.stack([_sum(matrix, self.encode(text).ids) for text in texts])


def _sum(matrix: NDArray[Any], ids: list[int]) -> NDArray[np.float32]:
    """The sum of some rows, the same to the last bit whether the rows are stored with 16 bits or with 32."""
    import numpy as np

    total = np.zeros(matrix.shape[1], dtype=np.float32)
    for start in range(0, len(ids), _PIECE):
        rows = matrix.take(ids[start : start + _PIECE], axis=0).astype(np.float32, copy=False)
        total += np.add.reduce(rows, axis=0)
    return total


def _matrix(path: Path) -> NDArray[np.float16]:
    """The tensor in a safetensors file: eight bytes of length, a JSON head, the numbers."""
    import numpy as np

    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        start, shape = _head(data)
        matrix = np.frombuffer(data, dtype="<f2", offset=start, count=shape[0] * shape[1]).reshape(shape)
    except (KeyError, TypeError, ValueError) as error:
        raise unavailable(f"{path} does not hold the weights: {embedding.one_line(error)}{_AGAIN}") from None
    if shape[1] != DIMENSIONS:
        raise unavailable(f"{path} holds vectors of {shape[1]} dimensions, not {DIMENSIONS}{_AGAIN}")
    return matrix


def _head(data: Any) -> tuple[int, tuple[int, int]]:
    """Where the numbers begin, and their rows and columns."""
    length = int.from_bytes(data[:8], "little")
    tensor = orjson.loads(data[8 : 8 + length])[_TENSOR]
    if tensor["dtype"] != "F16":
        raise ValueError(f"its numbers are {tensor['dtype']!r}, not F16")
    rows, columns = tensor["shape"]
    return 8 + length + int(tensor["data_offsets"][0]), (int(rows), int(columns))
