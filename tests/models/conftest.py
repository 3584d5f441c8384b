"""Embedders to test with: the real default, models written by hand, and a server on this machine."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tallystick.models import embedding as shared
from tallystick.records.embedder import Embedder
from tests.models import tiny
from tests.models.server import Server, serving

REAL = "TALLYSTICK_ONNX_MODEL"  # a folder with a real transformer, where there is one

STAND_IN = """
import hashlib
from pathlib import Path

import numpy as np

MADE = []


class _Inner:
    def __init__(self, folder):
        self._model_dir = folder


class TextEmbedding:
    def __init__(self, model_name, cache_dir=None, threads=None):
        if model_name != "some/model":
            raise ValueError(f"Model {model_name} is not supported in TextEmbedding.\\nPlease look it up")
        MADE.append((model_name, cache_dir, threads))
        if cache_dir:
            self.model = _Inner(Path(cache_dir))

    def embed(self, documents, batch_size=256, parallel=None):
        assert batch_size == 1, "neighbours would change the vectors"
        for text in documents:
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
            yield np.random.default_rng(seed).normal(size=10).astype(np.float32)

    def token_count(self, texts, batch_size=1024):
        return sum(len(text.split()) + 2 for text in texts)
"""


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model is loaded yet."""
    monkeypatch.setattr(shared, "_models", {})


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Whatever would leave this process fails, and is told."""
    tried: list[object] = []

    def refuse(*where: object, **_: object) -> None:
        tried.append(where[-1])
        raise OSError("a test went to the network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return tried


@pytest.fixture
def fastembed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> Iterator[None]:
    """A package called fastembed that knows one model and downloads nothing."""
    package = tmp_path / "site" / "fastembed"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.delitem(sys.modules, "fastembed", raising=False)
    yield
    sys.modules.pop("fastembed", None)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


def need(*packages: str) -> None:
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed here")


@pytest.fixture(params=["wordllama", "onnx", "onnx, quantised", "onnx, real", "fastembed", "endpoint"])
def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> Embedder:
    """Every embedder that can be had here."""
    kind = request.param.partition(",")[0]
    if kind == "wordllama":
        need("wordllama", "tokenizers")
        from tallystick.models.wordllama import WordLlama

        return WordLlama()
    if kind == "onnx":
        need("onnxruntime", "tokenizers")
        from tallystick.models.onnx import Onnx

        if request.param.endswith("real"):
            if not os.environ.get(REAL):
                pytest.skip(f"no real transformer: set {REAL} to a folder with model.onnx and tokenizer.json")
            return Onnx(Path(os.environ[REAL]))
        return Onnx(tiny.folder(tmp_path / "m", steps="quantised" if "quantised" in request.param else "lookup"))
    if kind == "fastembed":
        request.getfixturevalue("fastembed")
        from tallystick.models.fastembed import FastEmbed

        return FastEmbed("some/model")
    from tallystick.models.openai_embedder import Endpoint

    return Endpoint(request.getfixturevalue("server").url, "some-model", batch=3)
