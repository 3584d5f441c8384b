"""A model of the fastembed package, by name.

fastembed downloads a model the first time it is used, into `cache` or, without one, where its own settings say; that
is the one download this room can cause, and only whoever names such a model causes it. Counting never does: before
the model is loaded, tokens are estimated.

Texts go through the model one by one: many of fastembed's models are quantised, and in a batch the neighbours of a
text would change its vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.models import arrays as packages
from tallystick.models.arrays import digest_of, estimated_tokens, readable, rows_for, shared
from tallystick.records.embedder import Identity
from tallystick.records.errors import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INSTALL = "pip install '.[fastembed]' in a checkout"

_RECIPE = "1"  # count on when the same model begins to give other vectors


class FastEmbed:
    """The model that fastembed calls `model`."""

    def __init__(self, model: str, *, cache: Path | None = None, threads: int = 2) -> None:
        packages.require("fastembed", INSTALL)
        self._name, self._cache, self._threads = model, cache, threads
        self._loaded = False

    @property
    def identity(self) -> Identity:
        return self._model.identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        model = self._model
        return rows_for(texts, model.identity.dimensions, model.vectors)

    def count(self, text: str) -> int:
        """How many tokens fastembed counts (control tokens too, none that it cuts); an estimate before it is loaded."""
        said = readable(text)
        if not said:
            return 0
        return self._model.count(said) if self._loaded else estimated_tokens(said)

    @property
    def _model(self) -> _Model:
        key = ("fastembed", self._name, self._cache, self._threads)
        model = shared(key, lambda: _Model(self._name, self._cache, self._threads))
        self._loaded = True
        return model

    def __repr__(self) -> str:
        return f"<FastEmbed {self._name}>"


class _Model:
    """A model of fastembed, loaded."""

    def __init__(self, name: str, cache: Path | None, threads: int) -> None:
        package = packages.load("fastembed", INSTALL)
        try:
            self._model: Any = package.TextEmbedding(
                model_name=name, cache_dir=None if cache is None else str(cache), threads=threads
            )
        except Exception as error:  # an unknown name, no network, a full disk: each of another package
            raise Refused(f"fastembed cannot load {name!r}: {packages.one_line(error)}", "unavailable") from None
        dimensions = self.vectors(["tallystick"]).shape[1]
        self.identity = Identity("fastembed", name, dimensions, digest_of(name, *_files(self._model), _RECIPE))

    def vectors(self, texts: list[str]) -> NDArray[Any]:
        """A row for each text."""
        import numpy as np

        try:
            return np.asarray(list(self._model.embed(texts, batch_size=1)))
        except Exception as error:  # of the runtime below fastembed, which has no error class of its own to name
            raise Refused(f"fastembed cannot run its model: {packages.one_line(error)}", "unavailable") from None

    def count(self, text: str) -> int:
        return int(self._model.token_count([text]))


def _files(model: Any) -> list[Path]:
    """What decides the vectors, as far as fastembed tells where it keeps a model: weights and tokenizer."""
    folder = getattr(getattr(model, "model", None), "_model_dir", None)
    if folder is None:
        return []
    return sorted(path for path in Path(folder).rglob("*") if path.is_file() and _decides(path.name))


def _decides(name: str) -> bool:
    return ".onnx" in name or name.endswith(".safetensors") or name == "tokenizer.json"
