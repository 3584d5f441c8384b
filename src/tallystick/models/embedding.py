"""Functions that all embedders share: from texts to vectors, loaded models, tokenizers, optional packages.

A model never gets a blank text, and its answer is checked: the right shape, finite numbers. A model is loaded once in a
process, for all memories and threads, and kept until the process ends; a load that failed is tried again. Packages that
may be missing are imported where they are used, so that a memory without a model pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from hashlib import file_digest, sha256
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from tallystick.records.embedder import Identity
from tallystick.records.errors import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BYTES_PER_TOKEN = 4  # of English, in the usual vocabularies


def unavailable(message: str, error: object = None) -> Refused:
    """The refusal of a model that cannot be used, with the error of another program, if there is one."""
    return Refused(message if error is None else f"{message}: {one_line(error)}", "unavailable")


def rows_for(texts: Sequence[str], dimensions: int, model: Callable[[list[str]], NDArray[Any]]) -> NDArray[np.float32]:
    """A row for each text: zeros for the blank, and for the others the vectors of `model`, of length one."""
    import numpy as np

    if isinstance(texts, str):
        raise Refused("embed takes a list of texts; put the one text into a list")
    given = [readable(text) for text in texts]
    places = [place for place, text in enumerate(given) if text]
    rows = np.zeros((len(given), dimensions), dtype=np.float32)
    if places:
        answer = model([given[place] for place in places])
        if answer.shape != (len(places), dimensions):
            raise unavailable(f"the model gave vectors of shape {answer.shape}, not {(len(places), dimensions)}")
        rows[places] = unit(answer)
    return rows


def readable(text: str) -> str:
    """`text` as any model can take it: surrogate pairs joined, lone ones replaced; nothing, if it is blank."""
    if text.isspace():
        return ""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    """The rows, each of length one; a row of zeros stays as it is."""
    import numpy as np

    wide = rows.astype(np.float64)
    if not np.isfinite(wide).all():
        raise unavailable("the model gave a vector with NaN or infinity")
    limit = np.abs(wide).max(axis=1, keepdims=True)
    wide /= np.where(limit > 0, limit, 1)  # first, or the squares of great numbers overflow
    length = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    return (wide / np.where(length > 0, length, 1)).astype(np.float32)


def estimated_tokens(text: str) -> int:
    """About how many tokens `text` has, where no tokenizer is at hand."""
    return -(-len(readable(text).encode()) // _BYTES_PER_TOKEN)


class LoadedModel(Protocol):
    """A model in this process."""

    identity: Identity

    def vectors(self, texts: list[str]) -> NDArray[Any]:
        """A row for each text; none of them is blank."""


Model = TypeVar("Model", bound=LoadedModel)

_models: dict[Hashable, Any] = {}
_lock = RLock()


class LocalEmbedder(Generic[Model]):
    """An embedder whose model is loaded on first use. `name` is for people; `key` has all that decides the model."""

    def __init__(self, name: object, key: Hashable, load: Callable[[], Model]) -> None:
        self._name, self._key, self._load = name, (type(self), key), load

    @property
    def identity(self) -> Identity:
        return self._model.identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        model = self._model
        return rows_for(texts, model.identity.dimensions, model.vectors)

    @property
    def _model(self) -> Model:
        if self._key not in _models:
            with _lock:
                if self._key not in _models:
                    _models[self._key] = self._load()
        model: Model = _models[self._key]
        return model

    @property
    def is_loaded(self) -> bool:
        return self._key in _models

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>"


def digest_of(*parts: str | bytes | Path) -> str:
    """One SHA-256 over texts, bytes and the content of files, in this order: all that decides a vector."""
    whole = sha256()
    for part in parts:
        if isinstance(part, Path):
            with part.open("rb") as file:
                whole.update(file_digest(file, "sha256").digest())
        else:
            whole.update(sha256(part.encode() if isinstance(part, str) else part).digest())
    return whole.hexdigest()


def tokenizer_in(path: Path, data: bytes, install: str, *, longest: int = 0, way_out: str = "") -> Any:
    """The tokenizer of a file; it cuts texts after `longest` tokens, if that is given."""
    tokenizers = load("tokenizers", install)
    try:
        tokenizer = tokenizers.Tokenizer.from_buffer(data)
    except Exception as error:  # the package raises nothing narrower
        raise unavailable(f"{path} is not a tokenizer: {one_line(error)}{way_out}") from None
    tokenizer.no_padding()
    if longest:
        tokenizer.enable_truncation(longest)
    else:
        tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # "<s>" or "[CLS]" in a text is a word, not a control token
    return tokenizer


def require(package: str, install: str) -> ModuleSpec:
    """Find `package` without importing it, or refuse with the line `install`."""
    spec = find_spec(package)
    if spec is None:
        raise unavailable(f"{package} is not installed: {install}")
    return spec


def load(package: str, install: str) -> ModuleType:
    """Import `package`, or refuse with the line `install`."""
    require(package, install)
    try:
        return import_module(package)
    except ImportError as error:
        raise unavailable(f"{package} is installed but cannot be loaded ({one_line(error)}): {install}") from None


def one_line(error: object, limit: int = 200) -> str:
    """The message of another program's error, on one line and not too long."""
    words = " ".join("".join(c if c.isprintable() else " " for c in str(error)).split())
    return words if len(words) <= limit else words[: limit - 1] + "…"
