"""A model of the fastembed package, by name.

fastembed downloads a model the first time it is used, into `cache` or, without one, by its own settings. That is the
only download of this package, and only naming such a model causes it. Counting never does: before the model is loaded,
tokens are estimated.

Texts go through the model one by one: many of fastembed's models are quantised, and in a batch the neighbours of a
text would change its vector.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.models import embedding
from tallystick.models.embedding import LocalEmbedder, digest_of, readable, unavailable
from tallystick.records.embedder import Identity

if TYPE_CHECKING:
    from numpy.typing import NDArray

INSTALL = "pip install '.[fastembed]' in a checkout"

_RECIPE = "1"  # change it when the same model begins to give other vectors


class FastEmbed(LocalEmbedder["_Model"]):
    """The model that fastembed calls `model`."""

    def __init__(self, model: str, *, cache: Path | None = None, threads: int = 2) -> None:
        embedding.require("fastembed", INSTALL)
        super().__init__(model, (model, cache, threads), lambda: _Model(model, cache, threads))

    def count(self, text: str) -> int:
        """How many tokens fastembed counts (control tokens too, none that it cuts); an estimate before it is loaded."""
        given = readable(text)
        if not given:
            return 0
        return self._model.count(given) if self.is_loaded else embedding.estimated_tokens(given)


class _Model:
    def __init__(self, name: str, cache: Path | None, threads: int) -> None:
        package = embedding.load("fastembed", INSTALL)
        try:
            self._model: Any = package.TextEmbedding(
                model_name=name, cache_dir=None if cache is None else str(cache), threads=threads
            )
        except Exception as error:  # an unknown name, no network, a full disk: each of another package
            raise unavailable(f"fastembed cannot load {name!r}", error) from None
        dimensions = self.vectors(["tallystick"]).shape[1]
        self.identity = Identity("fastembed", name, dimensions, digest_of(name, *_files(self._model), _RECIPE))

    def vectors(self, texts: list[str]) -> NDArray[Any]:
        import numpy as np

        try:
            return np.asarray(list(self._model.embed(texts, batch_size=1)))
        except Exception as error:  # of the runtime below fastembed, which has no error class of its own to name
            raise unavailable("fastembed cannot run its model", error) from None

    def count(self, text: str) -> int:
        return int(self._model.token_count([text]))


def _files(model: Any) -> list[Path]:
    """The files that decide the vectors, if fastembed says where it keeps a model: weights and tokenizer."""
    folder = getattr(getattr(model, "model", None), "_model_dir", None)
    if folder is None:
        return []
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return sorted(
        each for each in files if ".onnx" in each.name or each.suffix == ".safetensors" or each.name == "tokenizer.json"
    )
