"""The default embedder: offline from the first run on, and shared."""

from __future__ import annotations

import logging
import shutil
import socket
import struct
import sys
import threading
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tallystick.models import embedding as shared, wordllama
from tallystick.models.wordllama import WordLlama
from tests.models.conftest import need
from tests.refusals import refuses

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


def test_the_default_is_installed_with_tallystick_as_the_printed_line_installs_it() -> None:
    assert find_spec("wordllama")
    assert find_spec("tokenizers")
    wanted = [each for each in requires("tallystick") or [] if each.startswith("wordllama")]
    assert [f"pip install {each}" for each in wanted] == [wordllama.INSTALL]


@pytest.fixture
def package() -> Path:
    need("wordllama", "tokenizers")
    return Path(find_spec("wordllama").submodule_search_locations[0])


@pytest.fixture
def copy(package: Path, tmp_path: Path) -> Path:
    """The two files in a folder of their own, to be spoiled."""
    for name in ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"):
        (tmp_path / name).parent.mkdir()
        shutil.copyfile(package / name, tmp_path / name)
    return tmp_path


def test_the_first_run_on_a_machine_without_a_network_works(
    package: Path, fresh: None, no_network: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    root = logging.getLogger()
    before = (root.level, list(root.handlers))

    rows = WordLlama().embed(["the cat sat on the mat"])

    assert rows.any()
    assert no_network == []
    assert list(tmp_path.iterdir()) == []  # and no cache is begun
    assert "wordllama" not in sys.modules  # whose import would set up logging for the whole program
    assert (root.level, root.handlers) == before


def test_the_guard_of_the_test_above_notices_a_connection(no_network: list[object]) -> None:
    with pytest.raises(OSError, match="a test went to the network"), socket.socket() as s:
        s.connect(("127.0.0.1", 9))
    assert no_network == [("127.0.0.1", 9)]


def test_like_meanings_lie_closer_than_others(package: Path) -> None:
    rows = WordLlama().embed(["Ana's cat had kittens", "a feline with its young", "quarterly tax on corporate income"])

    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.1


def test_a_batch_great_or_small_gives_the_same_to_the_last_bit(package: Path, fresh: None) -> None:
    texts = [f"note {number} about tea, {'really ' * (number % 7)}tea" for number in range(200)]
    one = np.stack([WordLlama().embed([text])[0] for text in texts])

    many = WordLlama().embed(texts)  # enough for the weights to be widened
    again = np.stack([WordLlama().embed([text])[0] for text in texts])

    assert np.array_equal(one, many)
    assert np.array_equal(one, again)


@given(st.lists(ANY_TEXT, max_size=6))
def test_any_text_has_a_row_of_length_one_or_is_blank(texts: list[str]) -> None:
    need("wordllama", "tokenizers")
    llama = WordLlama()

    rows = llama.embed(texts)

    lengths = np.linalg.norm(rows, axis=1)
    assert np.allclose(lengths, [0 if not text or text.isspace() else 1 for text in texts], atol=1e-5)
    assert [llama.count(text) > 0 for text in texts] == [bool(length) for length in lengths]


def test_a_control_token_in_a_text_is_only_letters(package: Path) -> None:
    tokens, _ = WordLlama().token_vectors("tea <s> tea")

    assert tokens == ["▁tea", "▁<", "s", ">", "▁tea"]


def test_a_model_is_loaded_once_however_many_threads_ask(
    package: Path, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []
    load = wordllama._Model.__init__
    monkeypatch.setattr(
        wordllama._Model, "__init__", lambda self, folder: (loads.append(folder), load(self, folder))[1]
    )
    threads = [threading.Thread(target=lambda: WordLlama().embed(["tea"])) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(loads) == len(shared._models) == 1


def test_a_copy_elsewhere_is_the_same_model_and_other_weights_are_not(package: Path, copy: Path, fresh: None) -> None:
    mine, theirs = WordLlama(copy).identity, WordLlama().identity
    assert mine == theirs
    assert (mine.name, mine.revision, mine.dimensions) == ("wordllama", "l2_supercat_256", 256)
    words = copy / "tokenizers/l2_supercat_tokenizer_config.json"
    words.write_bytes(words.read_bytes().rstrip() + b"\n\n")
    shared._models.clear()
    assert WordLlama(copy).identity.key == theirs.key  # releases differ in such a newline

    weights = copy / "weights/l2_supercat_256.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    shared._models.clear()

    assert WordLlama(copy).identity.key != theirs.key


def _head(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    "spoiled",
    [
        b"", b"\x00", b"not weights at all", _head(b"{}"), _head(b"[]"), b"\xff" * 64,
        _head(b'{"embedding.weight":{"dtype":"F32","shape":[1,256],"data_offsets":[0,1024]}}') + b"\0" * 1024,
        _head(b'{"embedding.weight":{"dtype":"F16","shape":[32000,256],"data_offsets":[0,9]}}') + b"\0" * 9,
        _head(b'{"embedding.weight":{"dtype":"F16","shape":[-1,256],"data_offsets":[0,9]}}') + b"\0" * 512,
        _head(b'{"embedding.weight":{"dtype":"F16","shape":[2,8],"data_offsets":[0,32]}}') + b"\0" * 32,
        _head(b'{"embedding.weight":{"dtype":"F16","shape":[2,256],"data_offsets":[0,1024]}}') + b"\0" * 1024,
    ],
)  # fmt: skip
def test_damaged_weights_are_refused_in_one_line_that_says_how_to_install_them(
    package: Path, tmp_path: Path, fresh: None, spoiled: bytes
) -> None:
    (tmp_path / "tokenizers").symlink_to(package / "tokenizers")
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/l2_supercat_256.safetensors").write_bytes(spoiled)

    with refuses("unavailable", "0.2.2.post0") as refusal:
        WordLlama(tmp_path).embed(["tea"])

    assert "\n" not in str(refusal.value)


def test_a_missing_file_or_package_is_refused_with_the_line_that_installs_it(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refuses("unavailable", "l2_supercat_256.safetensors"):
        WordLlama(tmp_path)
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with refuses("unavailable", "0.2.2.post0"):
        WordLlama()
