"""A transformer in a folder: `model.onnx` and `tokenizer.json`, run on the CPU.

Nothing is downloaded. The folder is read as sentence-transformers writes it: `1_Pooling/config.json` says how token
vectors become one (mean, or the first token), and the files named in `_LONGEST_IN` how many tokens the model takes.
Without them: mean over the attention mask, and 256 tokens. Longer texts are cut.

Texts of like length go through the model together. A model that was quantised dynamically takes them one by one: its
scale is measured over the whole batch, so that a neighbour would change a vector (to a cosine of .97, measured).
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from tallystick.models import embedding
from tallystick.models.embedding import LocalEmbedder, digest_of, unavailable
from tallystick.records.embedder import Identity

if TYPE_CHECKING:
    from numpy.typing import NDArray

INSTALL = "pip install '.[onnx]' in a checkout"

_LONGEST_IN = (
    ("sentence_bert_config.json", "max_seq_length"),
    ("tokenizer_config.json", "model_max_length"),
    ("config.json", "max_position_embeddings"),
)
_LONGEST = 256
_MOST = 512  # also where a model takes more: its cost grows with the square
_BATCH = 16
_MEASURED_OVER_THE_BATCH = (b"DynamicQuantizeLinear", b"DynamicQuantizeMatMul")
_POOLED = ("sentence_embedding", "text_embeds", "pooled")
_RECIPE = "1"  # change it when the same files begin to give other vectors


class Onnx(LocalEmbedder["_Model"]):
    """A model in `folder`. `longest` is how many tokens it reads of a text, where the folder should not decide."""

    def __init__(self, folder: Path, *, threads: int = 2, longest: int = 0) -> None:
        folder = folder.expanduser().absolute()
        for package in ("onnxruntime", "tokenizers"):
            embedding.require(package, INSTALL)
        for path in (folder / "tokenizer.json", _weights(folder)):
            if not path.is_file():
                raise unavailable(f"{folder} is not a model: {path.name} is missing")
        super().__init__(folder, (folder, threads, longest), lambda: _Model(folder, threads, longest))

    def count(self, text: str) -> int:
        """How many tokens `text` has, also those beyond what the model reads."""
        return self._model.count(embedding.readable(text))


class _Model:
    def __init__(self, folder: Path, threads: int, asked: int) -> None:
        weights, words = _weights(folder), folder / "tokenizer.json"
        longest = asked or _longest(folder)
        self._pooling = _pooling(folder)
        self._tokenizer = embedding.tokenizer_in(words, words.read_bytes(), INSTALL, longest=longest)
        self._session = _session(weights, threads)
        inputs = self._session.get_inputs()
        self._inputs = {each.name: "int32" if each.type == "tensor(int32)" else "int64" for each in inputs}
        self._output = _output(self._session, weights)
        self._batch = 1 if _measures_over_the_batch(weights) else _BATCH
        parts = sorted(weights.parent.glob(weights.name + "*"))  # large models keep their weights in further files
        digest = digest_of(*parts, words, f"{longest} {self._pooling} {_RECIPE}")
        dimensions = self._run([self._tokenizer.encode("tallystick")]).shape[1]
        self.identity = Identity("onnx", folder.name, dimensions, digest)

    def count(self, text: str) -> int:
        if not text:
            return 0
        whole = self._tokenizer.encode(text)
        return sum(part.special_tokens_mask.count(0) for part in (whole, *whole.overflowing))

    def vectors(self, texts: list[str]) -> NDArray[Any]:
        import numpy as np

        encoded = [self._tokenizer.encode(text) for text in texts]
        rows = np.zeros((len(texts), self.identity.dimensions), dtype=np.float32)
        order = sorted(range(len(encoded)), key=lambda place: len(encoded[place].ids))  # of like length together
        for start in range(0, len(order), self._batch):
            places = order[start : start + self._batch]
            rows[places] = self._run([encoded[place] for place in places])
        return rows

    def _run(self, batch: list[Any]) -> NDArray[Any]:
        """The vectors of some encoded texts, padded to the longest of them."""
        import numpy as np

        shape = (len(batch), max(len(each.ids) for each in batch))
        fed = {name: np.zeros(shape, dtype=np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
        for row, each in enumerate(batch):
            fed["input_ids"][row, : len(each.ids)] = each.ids
            fed["attention_mask"][row, : len(each.ids)] = 1
        try:
            given = {name: fed[name].astype(kind) for name, kind in self._inputs.items()}
            [out] = self._session.run([self._output], given)
        except Exception as error:  # the runtime has no error class of its own to name
            raise unavailable("the model cannot be run", error) from None
        return _pooled(out, fed["attention_mask"], self._pooling)


def _pooled(out: NDArray[Any], mask: NDArray[Any], how: str) -> NDArray[Any]:
    if out.ndim == 2:  # the model did it itself
        return out
    if how == "cls":
        return out[:, 0]
    there = mask[:, :, None].astype("float32")
    means: NDArray[Any] = (out * there).sum(axis=1) / there.sum(axis=1)
    return means


def _weights(folder: Path) -> Path:
    """The path of the model; Hugging Face keeps it in a folder of its own."""
    deeper = folder / "onnx" / "model.onnx"
    return deeper if deeper.is_file() else folder / "model.onnx"


def _session(weights: Path, threads: int) -> Any:
    runtime = embedding.load("onnxruntime", INSTALL)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors; they are raised anyhow
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting costs no processor time
    try:
        session = runtime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has no error class of its own to name
        raise unavailable(f"{weights} cannot be loaded", error) from None
    strange = {each.name for each in session.get_inputs()} - {"input_ids", "attention_mask", "token_type_ids"}
    if strange:
        raise unavailable(f"{weights} is not a text embedder: it needs {', '.join(sorted(strange))}")
    return session


def _output(session: Any, weights: Path) -> str:
    """The output to take: one that is pooled, else the first, which holds a vector for each token."""
    outputs = {each.name: each for each in session.get_outputs()}
    name: str = next((name for name in _POOLED if name in outputs), next(iter(outputs)))
    if len(outputs[name].shape) not in (2, 3):
        raise unavailable(f"{weights} is not a text embedder: {name} has the shape {outputs[name].shape}")
    return name


def _measures_over_the_batch(weights: Path) -> bool:
    """True if the model has an operator that depends on all texts of a batch."""
    with weights.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return any(data.find(name) >= 0 for name in _MEASURED_OVER_THE_BATCH)


def _longest(folder: Path) -> int:
    """How many tokens of a text are read, by the files of the folder."""
    for name, field in _LONGEST_IN:
        value = _setting(folder / name, field)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return min(value, _MOST)
    return _LONGEST


def _pooling(folder: Path) -> str:
    path = folder / "1_Pooling" / "config.json"
    modes = {name: _setting(path, f"pooling_mode_{name}") is True for name in ("cls_token", "mean_tokens")}
    if path.is_file() and sum(modes.values()) != 1:
        raise unavailable(f"{path} asks for a pooling that is neither the mean nor the first token")
    return "cls" if modes["cls_token"] else "mean"


def _setting(path: Path, field: str) -> object:
    """One field of a JSON file; None where there is no such file, or no such field."""
    try:
        value = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise unavailable(f"{path} cannot be read", error) from None
    return value.get(field) if isinstance(value, dict) else None
