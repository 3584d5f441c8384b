"""From texts to rows, the part that is the same for every embedder.

A model is never asked about a blank text, and what it answers is looked at: the right shape, finite numbers.
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
from typing import TYPE_CHECKING, Any, TypeVar

from tallystick.records.errors import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BYTES_PER_TOKEN = 4  # of English, in the usual vocabularies


def rows_for(texts: Sequence[str], dimensions: int, model: Callable[[list[str]], NDArray[Any]]) -> NDArray[np.float32]:
    """A row for each text: zeros for the blank, and for the others what `model` says, made length one."""
    import numpy as np

    if isinstance(texts, str):
        raise Refused("embed takes a list of texts; put the one text into a list")
    given = [readable(text) for text in texts]
    said = [place for place, text in enumerate(given) if text]
    rows = np.zeros((len(given), dimensions), dtype=np.float32)
    if said:
        answer = model([given[place] for place in said])
        if answer.shape != (len(said), dimensions):
            raise Refused(
                f"the model gave vectors of shape {answer.shape}, not {(len(said), dimensions)}", "unavailable"
            )
        rows[said] = unit(answer)
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
        raise Refused("the model gave a vector that holds NaN or infinity; it cannot be used", "unavailable")
    limit = np.abs(wide).max(axis=1, keepdims=True)
    wide /= np.where(limit > 0, limit, 1)  # first, or the squares of great numbers overflow
    length = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    return (wide / np.where(length > 0, length, 1)).astype(np.float32)


def estimated_tokens(text: str) -> int:
    """About how many tokens `text` has, where nobody can tell."""
    size = len(readable(text).encode())
    return -(-size // _BYTES_PER_TOKEN)


# -- loaded models, one of each in a process ---------------------------------------------------------------------------


T = TypeVar("T")

_held: dict[Hashable, Any] = {}
_lock = RLock()


def shared(key: Hashable, load: Callable[[], T]) -> T:
    """What `load` gave when `key` was first asked for."""
    if key not in _held:
        with _lock:
            if key not in _held:
                _held[key] = load()
    model: T = _held[key]
    return model


# -- one SHA-256 over all that decides a vector ------------------------------------------------------------------------


def digest_of(*parts: str | bytes | Path) -> str:
    """The digest of texts, bytes and the content of files, in this order. Where a file lies does not matter."""
    whole = sha256()
    for part in parts:
        whole.update(_digest(part))
    return whole.hexdigest()


def _digest(part: str | bytes | Path) -> bytes:
    if isinstance(part, Path):
        with part.open("rb") as file:
            return file_digest(file, "sha256").digest()
    return sha256(part.encode() if isinstance(part, str) else part).digest()


# -- packages that may be missing, and the line that installs them -----------------------------------------------------


def require(package: str, install: str) -> ModuleSpec:
    """Where `package` lies, or a refusal with the line `install`. Imports nothing of it."""
    spec = find_spec(package)
    if spec is None:
        raise Refused(f"{package} is not installed: {install}", "unavailable")
    return spec


def load(package: str, install: str) -> ModuleType:
    """The package, or a refusal that says what to type."""
    require(package, install)
    try:
        return import_module(package)
    except ImportError as error:
        raise Refused(
            f"{package} is installed but cannot be loaded ({one_line(error)}): {install}", "unavailable"
        ) from None


def one_line(error: object, limit: int = 200) -> str:
    """What another program's error says, fit for a line of ours."""
    words = " ".join("".join(c if c.isprintable() else " " for c in str(error)).split())
    return words if len(words) <= limit else words[: limit - 1] + "…"
