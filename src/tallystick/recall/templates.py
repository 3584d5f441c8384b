"""Jinja templates, restricted to a list of what they may use: all else is refused before anything runs.

A template reads `blocks`, `hits`, `question` and `frame`; it may choose, loop over `hits` and over a hit's tags, and
use a few filters. It calls nothing, sets nothing and loads nothing, so that its work grows with its length times the
number of hits and with nothing else. Jinja's sandbox is the second guard, and the output has a limit.

This module imports jinja2, which takes a while: import it where a template needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from traceback import walk_tb
from typing import Any, NoReturn

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tallystick.records.errors import Refused

NAMES = ("blocks", "hits", "question", "frame")
FIELDS = ("id", "text", "score", "why", "at", "agent", "about", "trust", "tags", "line")

_LOOP = ("index", "index0", "revindex", "revindex0", "first", "last", "length")
_FILTERS = (
    "capitalize", "count", "d", "default", "e", "escape", "first", "join", "last", "length", "lower", "round", "title",
    "trim", "truncate", "upper",
)  # fmt: skip
_TESTS = ("defined", "undefined", "none", "string", "number", "even", "odd", "eq", "ne", "lt", "le", "gt", "ge", "in")
_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem,
    nodes.Slice, nodes.If, nodes.CondExpr, nodes.For, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not,
    nodes.Test, nodes.Filter, nodes.Keyword, nodes.Concat, nodes.Add, nodes.Sub, nodes.Neg, nodes.Tuple, nodes.List,
)  # fmt: skip
_DEEPEST = 40
_LARGEST = 10_000
_OUTPUT, _TIMES = 100_000, 10  # characters, and so many times what went in
_AT_COMPILE = (TemplateError, SyntaxError, RecursionError, MemoryError, ValueError)
_AT_RENDER = (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AssertionError)


def filled(name: str, template: str, values: Mapping[str, Any]) -> str:
    """Fill the template of the frame `name` with `values`: plain text, numbers, lists and dictionaries of them."""
    limit = _OUTPUT + _TIMES * (len(template) + len(values["blocks"]))
    pieces, size = [], 0
    try:
        for piece in _compiled(name, template).generate(values):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                _refuse(name, 0, f"makes more than {limit} characters")
    except _AT_RENDER as error:
        within = [line for at, line in walk_tb(error.__traceback__) if at.f_code.co_filename == "<template>"]
        _refuse(name, within[-1] if within else 0, str(error))
    return "".join(pieces)


@lru_cache(maxsize=64)
def _compiled(name: str, template: str) -> Template:
    """Compile a template. Refused, with the line, unless all that it uses is on the list."""
    try:
        tree = _environment().parse(template)
        _check(name, tree)
        return _environment().from_string(tree)
    except TemplateSyntaxError as error:
        _refuse(name, error.lineno, error.message or "not valid Jinja")
    except _AT_COMPILE as error:
        _refuse(name, 0, f"cannot be read: {error}")


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True, cache_size=0
    )
    environment.globals.clear()
    environment.filters = {name: environment.filters[name] for name in _FILTERS} | {"join": _joined}
    return environment


def _joined(values: object, between: str = "") -> str:
    """Join a list of texts. (Of a text's own characters it would make any amount of text.)"""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("join takes a list of texts, such as a hit's tags")
    return between.join(values)


def _check(name: str, tree: nodes.Template) -> None:
    known = {*NAMES, "loop"}
    for loop in tree.find_all(nodes.For):
        if not isinstance(loop.target, nodes.Name) or loop.target.name in NAMES:
            own = f"by a name of its own (not {', '.join(NAMES)})"
            _refuse(name, loop.lineno, f"a loop is over hits, one at a time, {own}")
        known.add(loop.target.name)
    for node, depth, loops in _walk(tree):
        if not isinstance(node, _NODES):
            _refuse(name, node.lineno, f"a template may not use {type(node).__name__.lower()}")
        if depth > _DEEPEST:
            _refuse(name, node.lineno, f"is nested more than {_DEEPEST} deep")
        if isinstance(node, nodes.Name) and node.name not in known:
            _refuse(name, node.lineno, f"{node.name!r} is not defined; there are {', '.join(NAMES)}")
        if isinstance(node, nodes.For) and (node.recursive or not _is_short(node.iter, loops)):
            _refuse(name, node.lineno, "a loop is over hits, and within it over a hit's tags")
        if why := _wrong(node):
            _refuse(name, node.lineno, why)
    if not any(node.name in ("blocks", "hits") for node in tree.find_all(nodes.Name)):
        _refuse(name, 0, "shows no memory: put {{ blocks }} where they go")


def _wrong(node: nodes.Node) -> str:
    """The reason why a template may not use a node; empty if it may."""
    match node:
        case nodes.Filter() if node.name not in _FILTERS:
            return f"there is no filter {node.name!r}; there are {', '.join(_FILTERS)}"
        case nodes.Test() if node.name not in _TESTS:
            return f"there is no test {node.name!r}; there are {', '.join(_TESTS)}"
        case nodes.Getattr(node=nodes.Name(name="loop")):
            return "" if node.attr in _LOOP else f"'loop.{node.attr}' is not defined; there are {', '.join(_LOOP)}"
        case nodes.Getattr(attr=field) | nodes.Getitem(arg=nodes.Const(value=str() as field)):
            return "" if field in FIELDS else f"{field!r} is not defined; a hit has {', '.join(FIELDS)}"
        case nodes.Getitem() if not isinstance(node.arg, nodes.Const | nodes.Neg | nodes.Slice):
            return "only a number, a slice or a name in quotes goes in brackets"
        case nodes.Const(value=int() as number) if abs(number) > _LARGEST:
            return f"no number in a template is above {_LARGEST}"
    return ""


def _walk(tree: nodes.Template) -> Iterator[tuple[nodes.Node, int, int]]:
    """Every node, its depth, and in how many loops it is."""
    waiting: list[tuple[nodes.Node, int, int]] = [(tree, 0, 0)]
    while waiting:
        node, depth, loops = waiting.pop()
        yield node, depth, loops
        within = loops + isinstance(node, nodes.For)
        waiting.extend((child, depth + 1, within) for child in node.iter_child_nodes())


def _is_short(over: nodes.Node, loops: int) -> bool:
    """True if a loop within so many others is over the hits, or over the tags of one, or over a slice of them."""
    if isinstance(over, nodes.Getitem) and isinstance(over.arg, nodes.Slice):
        over = over.node
    if isinstance(over, nodes.Getattr):
        return over.attr == "tags" and loops < 2
    return isinstance(over, nodes.Name) and over.name == "hits" and loops == 0


def _refuse(name: str, line: int, why: str) -> NoReturn:
    where = f", line {line}" if line else ""
    said = " ".join(why.split())[:200]
    raise Refused(f"the template of frame {name!r}{where}: {said}") from None
