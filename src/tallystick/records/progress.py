"""How a long piece of work tells how far it is: it calls this with what it did since the last call."""

from collections.abc import Callable

Progress = Callable[[int], None]
