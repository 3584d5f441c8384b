"""A frame: how to recall for a purpose. Construct it and it is valid."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from tallystick.records.display import Displayable
from tallystick.records.errors import Refused
from tallystick.records.fields import must_be_texts

SIGNALS = ("similarity", "confidence", "recency", "centrality", "reinforcement")

_MOST_TOKENS = 1 << 53
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class Frame(Displayable):
    """Weights of the five signals, filters, guarantees, token budget and template."""

    name: str
    weights: dict[str, float]
    filters: dict[str, Any] = field(default_factory=dict)  # tag_patterns, categories, search_window
    guarantees: tuple[str, ...] = ()  # tag patterns: memories with such a tag are served whatever their score
    template: str = "{blocks}\n"
    token_budget: int = 2000
    cache: dict[str, Any] | None = None
    source: str = "user"

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise Refused(
                f"a frame's name is lowercase letters, digits, - and _, a letter first; not {self.name!r}", "name"
            )
        _check_weights(self.weights)
        if type(self.token_budget) is not int or not 1 <= self.token_budget < _MOST_TOKENS:
            raise Refused(f"token_budget must be a whole number above 0, not {self.token_budget!r}")
        must_be_texts(self, "template", "source")
        _check_texts("guarantees", self.guarantees)
        _check_filters(self.filters)
        cache: object = self.cache
        is_cache = isinstance(cache, Mapping) and set(cache) == {"ttl_seconds"} and _is_above_0(cache["ttl_seconds"])
        if cache is not None and not is_cache:
            raise Refused(f'cache must be null or {{"ttl_seconds": a number above 0}}, not {cache!r}')

    def to_body(self) -> dict[str, Any]:
        """As the ledger records it and the table `frames` holds it."""
        return {
            "name": self.name, "weights_json": _json(self.weights), "filters_json": _json(self.filters),
            "guarantees_json": _json(list(self.guarantees)), "template": self.template,
            "token_budget": self.token_budget, "cache_json": None if self.cache is None else _json(self.cache),
            "source": self.source,
        }  # fmt: skip

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Frame:
        cache = body.get("cache_json")
        return cls(
            body["name"], orjson.loads(body["weights_json"]), orjson.loads(body["filters_json"]),
            tuple(orjson.loads(body["guarantees_json"])), body["template"], body["token_budget"],
            None if cache is None else orjson.loads(cache), body.get("source", "user"),
        )  # fmt: skip


def _check_weights(weights: Mapping[str, float]) -> None:
    if unknown := weights.keys() - set(SIGNALS):
        raise Refused(f"a frame can weigh {', '.join(SIGNALS)}, not {min(unknown)!r}")
    for name, weight in weights.items():
        if type(weight) not in (int, float) or not 0 <= weight < math.inf:
            raise Refused(f"the weight of {name} must be a number from 0 up, not {weight!r}")
    if not sum(weights.values()) > 0:
        raise Refused("a frame needs at least one weight above 0")


def _check_filters(filters: object) -> None:
    if not isinstance(filters, Mapping):
        raise Refused(f"filters must be an object with tag_patterns, categories, search_window; not {filters!r}")
    for name, value in filters.items():
        if name in ("tag_patterns", "categories"):
            _check_texts(name, value)
        elif name != "search_window":
            raise Refused(f"a frame can filter by tag_patterns, categories and search_window, not by {name!r}", "field")
        elif value is not None and not _is_above_0(value):
            raise Refused(f"search_window must be a number of active hours above 0, or null; not {value!r}")


def _check_texts(name: str, value: object) -> None:
    if not isinstance(value, list | tuple) or any(type(each) is not str for each in value):
        raise Refused(f"{name} must be a list of strings, not {value!r}")


def _is_above_0(value: object) -> bool:
    return isinstance(value, int | float) and type(value) is not bool and 0 < value < math.inf


def _json(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise Refused(f"a frame must be JSON: {error}") from None
