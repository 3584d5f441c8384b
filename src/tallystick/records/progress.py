"""Progress of a long task: a function that is called with the amount done since the last call."""

from collections.abc import Callable

Progress = Callable[[int], None]
