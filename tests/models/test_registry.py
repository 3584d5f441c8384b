"""From one line of a setting to an embedder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tallystick.models.fastembed import FastEmbed
from tallystick.models.onnx import Onnx
from tallystick.models.openai_embedder import Endpoint
from tallystick.models.registry import choose
from tallystick.models.wordllama import WordLlama
from tallystick.records.errors import Refused
from tests.models import tiny
from tests.models.conftest import need
from tests.models.server import Server
from tests.refusals import refuses


def test_no_embedder_is_legal() -> None:
    assert choose("none") is None


@pytest.mark.parametrize("spec", ["wordllama", " wordllama\n"])
def test_the_default_is_wordllama(spec: str) -> None:
    need("wordllama", "tokenizers")

    assert isinstance(choose(spec), WordLlama)
    assert isinstance(choose(), WordLlama)


def test_a_folder_names_a_transformer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("onnxruntime", "tokenizers")
    monkeypatch.setenv("HOME", str(tiny.folder(tmp_path / "m").parent))

    assert isinstance(choose(f"onnx:{tmp_path / 'm'}"), Onnx)
    assert isinstance(choose("onnx:~/m"), Onnx)
    with refuses("unavailable", str(tmp_path), "tokenizer.json"):
        choose(f"onnx:{tmp_path}")


def test_a_name_names_a_model_of_fastembed(fastembed: None) -> None:
    model = choose("fastembed:some/model")

    assert isinstance(model, FastEmbed)
    assert repr(model) == "<FastEmbed some/model>"


def test_an_address_and_a_model_name_an_endpoint(server: Server) -> None:
    model = choose(f"{server.url}#nomic-embed-text:latest", key="sk-1")

    assert isinstance(model, Endpoint)
    assert server.seen == []  # choosing asks nobody
    model.embed(["tea"])
    assert {each.body["model"] for each in server.seen} == {"nomic-embed-text:latest"}
    assert {each.headers["Authorization"] for each in server.seen} == {"Bearer sk-1"}


@pytest.mark.parametrize(
    ("model", "name", "asked"),
    [
        ("m@5", "m", 5),
        ("512", "512", None),
        ("@cf/baai/bge", "@cf/baai/bge", None),
        ("@512", "@512", None),
        ("a@b", "a@b", None),
        ("a@0", "a@0", None),
        ("a@" + "9" * 5000, "a@" + "9" * 5000, None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_dimensions_may_be_asked_for(server: Server, model: str, name: str, asked: int | None) -> None:
    rows = choose(f"{server.url}#{model}").embed(["tea"])

    assert server.seen[-1].body["model"] == name
    assert server.seen[-1].body.get("dimensions") == asked
    assert rows.shape == (1, asked or 12)


@pytest.mark.parametrize(
    "spec", ["", "WordLlama", "bert", "onnx", "onnx:", "fastembed:", "ftp://host/v1#m", "none:x", "x\n" * 500]
)
def test_what_is_not_known_is_refused_in_one_line_that_lists_what_there_is(spec: str) -> None:
    with pytest.raises(Refused) as refusal:
        choose(spec)

    said = str(refusal.value)
    assert all(choice in said for choice in ("wordllama", "none", "onnx:FOLDER", "fastembed:MODEL", "https://"))
    assert "\n" not in said
    assert len(said) < 200


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("https://host/v1", "needs the name of its model"),
        ("https://host/v1#", "needs the name of its model"),
        ("http://host/v1#m", "must be reached by https"),
        ("http://127.0.0.1.example.com/v1#m", "must be reached by https"),
        ("http://10.0.0.1/v1#m", "must be reached by https"),
        ("https:///v1#m", "is not an endpoint's address"),
        ("https://ho st/v1#m", "is not an endpoint's address"),
        ("https://host:99999/v1#m", "not a URL"),
        ("https://[::1/v1#m", "not a URL"),
        ("https://me:secret@host/v1#m", "pass the key on its own"),
    ],
)
def test_an_address_that_cannot_work_is_refused_and_tells_no_secret(spec: str, says: str) -> None:
    with pytest.raises(Refused, match=says) as refusal:
        choose(spec)

    assert "secret" not in str(refusal.value)


def test_plain_http_is_for_this_machine() -> None:
    for host in ("localhost:11434", "127.0.0.1", "127.8.9.1:80", "[::1]:8080"):
        assert isinstance(choose(f"http://{host}/v1#m"), Endpoint), host


def test_no_embedder_reads_the_environment_for_a_key(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-someone")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # and no proxy stands before this machine
    assert os.environ["OPENAI_API_KEY"]

    choose(f"{server.url}#m").embed(["tea"])

    assert all("Authorization" not in each.headers for each in server.seen)
