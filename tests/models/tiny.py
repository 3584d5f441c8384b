"""Transformers small enough to write by hand: ONNX files of a few hundred bytes, and a tokenizer of a few words.

The model looks each token up in a table, and that is its hidden state. The row of the padding token is far from zero,
so that whoever pools over padding is found out.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "coffee", "ana", "likes", "loud", "a", "b", "c"]
SIZE = 8
FLOAT, INT64, INT32 = 1, 7, 6


def table() -> np.ndarray:
    rows = np.random.default_rng(7).normal(size=(len(WORDS), SIZE)).astype(np.float32)
    rows[WORDS.index("[PAD]")] = 50.0
    rows[WORDS.index("loud")] = 1000.0
    return rows


def folder(
    at: Path, *, inputs: tuple[str, ...] = ("input_ids", "attention_mask"), kind: int = INT64, steps: str = "lookup"
) -> Path:
    """A model folder at `at`. `steps`: `lookup`, or `quantised` (measured over the batch), or `pooled` (by itself)."""
    at.mkdir(parents=True, exist_ok=True)
    nodes, output, rank = STEPS[steps]
    graph = b"".join(
        [
            *(_field(1, node) for node in nodes),
            _field(2, b"tiny"),
            _field(5, _tensor("table", table())),
            *(_field(11, _value(name, kind, 2)) for name in inputs),
            _field(12, _value(output, FLOAT, rank)),
        ]
    )
    model = _field(8, _field(1, b"") + _number(2, 13)) + _number(1, 8) + _field(7, graph)
    (at / "model.onnx").write_bytes(model)
    (at / "tokenizer.json").write_text(tokenizer(), "utf-8")
    return at


def tokenizer() -> str:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ends = [(name, WORDS.index(name)) for name in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    made.enable_padding(length=32)  # as many folders come: to be undone by whoever loads it
    made.enable_truncation(6)
    return made.to_str()


# -- the few parts of ONNX's protobuf that such a file needs -----------------------------------------------------------


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _node(kind: str, inputs: list[str], outputs: list[str], **numbers: int) -> bytes:
    attributes = [_field(1, name.encode()) + _number(3, value) + _number(20, 2) for name, value in numbers.items()]
    names = [_field(1, each.encode()) for each in inputs] + [_field(2, each.encode()) for each in outputs]
    return b"".join([*names, _field(4, kind.encode()), *(_field(5, each) for each in attributes)])


def _mean(source: str, out: str) -> bytes:
    axes = _field(1, b"axes") + _number(8, 1) + _number(20, 7)
    return _node("ReduceMean", [source], [out], keepdims=0) + _field(5, axes)


def _tensor(name: str, rows: np.ndarray) -> bytes:
    dims = b"".join(_number(1, size) for size in rows.shape)
    return dims + _number(2, FLOAT) + _field(8, name.encode()) + _field(9, struct.pack(f"<{rows.size}f", *rows.flat))


def _value(name: str, kind: int, rank: int) -> bytes:
    sizes = [_field(2, letter.encode()) for letter in "bs"] + [_number(1, SIZE)]
    dims = sizes[:2] if name.endswith(("ids", "mask")) else [sizes[0], sizes[2]] if rank == 2 else sizes
    shape = b"".join(_field(1, each) for each in dims)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, kind) + _field(2, shape)))


_LOOKUP = "Gather"
STEPS = {
    "lookup": ([_node(_LOOKUP, ["table", "input_ids"], ["last_hidden_state"])], "last_hidden_state", 3),
    "pooled": (
        [_node(_LOOKUP, ["table", "input_ids"], ["each"]), _mean("each", "sentence_embedding")],
        "sentence_embedding",
        2,
    ),
    "quantised": (
        [
            _node(_LOOKUP, ["table", "input_ids"], ["each"]),
            _node("DynamicQuantizeLinear", ["each"], ["small", "scale", "zero"]),
            _node("DequantizeLinear", ["small", "scale", "zero"], ["last_hidden_state"]),
        ],
        "last_hidden_state",
        3,
    ),
}
