"""Registry of embedders, by one line of a setting. Nothing is loaded or downloaded here, and no server is asked."""

import re
from pathlib import Path

from tallystick.models.embedding import one_line
from tallystick.records.embedder import Embedder
from tallystick.records.errors import Refused

DEFAULT = "wordllama"

_CHOICES = "wordllama, none, onnx:FOLDER, fastembed:MODEL, https://HOST/v1#MODEL"
_SIZED = re.compile(r"(.+)@([1-9][0-9]{0,4})")


def choose(spec: str = DEFAULT, *, key: str = "", cache: Path | None = None) -> Embedder | None:
    """The embedder that `spec` names; None for `none`, which is legal everywhere.

        wordllama                            the default: static vectors, inside its package, offline
        wordllama:/folder                    the same from an unpacked wheel, where nothing may be installed
        none                                 no vectors: recall by words alone
        onnx:/folder                         model.onnx and tokenizer.json in a folder of yours
        fastembed:BAAI/bge-small-en-v1.5     a model of the fastembed package, downloaded on first use
        https://host/v1#model                a server with OpenAI's embeddings API; http:// only on this machine
        https://host/v1#model@512            the same, asked for 512 dimensions

    `key` is for a server, `cache` is where fastembed keeps its models. A package, a folder or an address that cannot
    work is refused here, in one line; the model itself is loaded on first use.
    """
    kind, _, rest = spec.strip().partition(":")
    match kind, rest:
        case "none", "":
            return None
        case "wordllama", _:
            from tallystick.models.wordllama import WordLlama

            return WordLlama(Path(rest).expanduser() if rest else None)
        case "onnx", folder if folder:
            from tallystick.models.onnx import Onnx

            return Onnx(Path(folder))
        case "fastembed", model if model:
            from tallystick.models.fastembed import FastEmbed

            return FastEmbed(model, cache=cache)
        case "https" | "http", _:
            from tallystick.models.openai_embedder import Endpoint

            url, _, model = spec.strip().partition("#")
            if sized := _SIZED.fullmatch(model):
                return Endpoint(url, sized[1], key=key, dimensions=int(sized[2]))
            return Endpoint(url, model, key=key)
    raise Refused(f"no embedder is called {one_line(spec, 40)!r}; use one of {_CHOICES}")
