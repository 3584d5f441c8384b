"""Models by name, from a package that stands in for fastembed: no model can be downloaded in a test."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from tallystick.models import embedding as shared
from tallystick.models.fastembed import FastEmbed
from tests.refusals import refuses


def test_a_model_is_loaded_on_first_use_with_what_was_asked(fastembed: None, tmp_path: Path) -> None:
    model = FastEmbed("some/model", cache=tmp_path, threads=1)
    assert import_module("fastembed").MADE == []

    assert model.embed(["tea"]).shape == (1, 10)
    FastEmbed("some/model", cache=tmp_path, threads=1).embed(["tea"])

    [made] = import_module("fastembed").MADE
    assert made == ("some/model", str(tmp_path), 1)


def test_counting_never_loads_a_model_which_might_be_downloaded(fastembed: None) -> None:
    model = FastEmbed("some/model")

    assert model.count("Ana likes tea") == 4  # thirteen letters, four to a token
    assert import_module("fastembed").MADE == []
    model.embed(["tea"])
    assert model.count("Ana likes tea") == 5  # as the model counts: with its two control tokens


def test_the_key_follows_the_weights_where_fastembed_tells_where_they_are(fastembed: None, tmp_path: Path) -> None:
    (tmp_path / "model_optimized.onnx").write_bytes(b"weights")
    one = FastEmbed("some/model", cache=tmp_path).identity
    shared._models.clear()
    assert FastEmbed("some/model", cache=tmp_path).identity == one
    shared._models.clear()
    (tmp_path / "model_optimized.onnx").write_bytes(b"other weights")

    other = FastEmbed("some/model", cache=tmp_path).identity

    assert (one.name, one.revision, one.dimensions) == ("fastembed", "some/model", 10)
    assert other.key != one.key


def test_a_name_it_does_not_know_is_refused_in_one_line(fastembed: None) -> None:
    with refuses("unavailable", "'no/model'") as refusal:
        FastEmbed("no/model").embed(["tea"])

    assert "\n" not in str(refusal.value)


def test_without_the_package_its_install_line_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)

    with refuses("unavailable", "'.[fastembed]'"):
        FastEmbed("some/model")


def test_a_package_that_does_not_load_says_why(fastembed: None, tmp_path: Path) -> None:
    (tmp_path / "site" / "fastembed" / "__init__.py").write_text("import nothing_of_this_name\n")

    with refuses("unavailable", "nothing_of_this_name"):
        FastEmbed("some/model").embed(["tea"])
