"""Reviews as a person reads them: what would be done, to what, who asks, and why approval is needed.

Proposed words are shown like all stored text: the terminal obeys nothing in them, and every line of them has a `+` or a
`-` in front, so that none can pass for a line of tallystick's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any, NamedTuple

import click

from tallystick.records.belief import OWNER, Belief
from tallystick.records.page import NOTES
from tallystick.records.policy import CHANGE, GRAPH
from tallystick.records.review import Review
from tallystick.surfaces.present.diff import word_diff
from tallystick.surfaces.present.names import ago, handle, when
from tallystick.surfaces.present.text import bold, cells, column, dim, lines, row, short, shown, warn, width

ASKS = {
    "revise": "Revise", "forget": "Forget", "invalidate": "Invalidate",
    "erase": "Destroy the words of", "trust": "Trust", "activate": "Activate again", "reinforce": "Count as helpful",
    "promote": "Promote to a fact", "merge": "Merge", "page.compact": "Compact the page about",
    "path.merge": "Merge the path", "path.abandon": "Abandon the path", "path.compact": "Compact the path",
    "path.reopen": "Reopen the path", "change.undo": "Undo", "graph.merge": "Merge", "graph.split": "Move from",
}  # fmt: skip
GONE = "!"  # the mark of what no longer exists

_COLOURS = {"-": "red", "+": "green", "~": "yellow"}
_FIRST = ("text",)
_HIDDEN = ("user", "path", "key")  # they name the belief, which stands above

Found = Sequence[Belief | None]


def table(reviews: Sequence[tuple[Review, Found]]) -> Iterator[str]:
    """A line for each review: its short id, the action and its belief, who asks, the words."""
    asked: list[str] = []
    for review, found in reviews:
        several = review.action.kind in ("erase", "merge", "reinforce", "split", "undo") and len(found) > 1
        more = f" and {len(found) - 1} more" if several else ""
        what = f"{review.action.label.split()[0]} {_name(review, found)}{more}"
        asked.append(short(review.action.label, 40) if review.action.noun == "path" else what)
    has_status = any(not review.is_open for review, _ in reviews)
    for what, (review, found) in zip(column(asked), reviews, strict=True):
        who = review.action.trust.ljust(6) + (f"  {review.status:<8}" if has_status else "")
        new = review.action.changes.get("text")
        words = new if isinstance(new, str) else found[0].text if found and found[0] else ""
        words = words or "; ".join(review.action.changes.get("reasons", ()))
        used = 6 + 2 + cells(what) + 2 + len(who) + 2
        yield f"{dim(shown(review.id[-6:]))}  {what}  {dim(who)}  {short(words, width() - used)}"


def _name(review: Review, found: Found) -> str:
    belief, action = found[0] if found else None, review.action
    if action.noun == "path":
        return short(action.path, 40)
    if action.noun == CHANGE:
        return f"event {action.changes['seq']}"
    if action.noun == GRAPH:
        one, to, other = ("node", "into", "into") if action.kind == "merge" else ("entity", "to", "to")
        return f"{short(action.changes[one], 40)} {to} {short(action.changes[other], 40)}"
    if belief and action.cell == "page.compact":
        return short(belief.about or NOTES, 24)
    if belief:
        return short(handle(belief.key), 24)
    return shown(action.target[0][-6:]) if action.target else short(str(action.changes.get("key") or "something"), 24)


def title(review: Review, found: Found) -> str:
    """The question in a line."""
    return f"{asks(review)} {_name(review, found)}?"


def asks(review: Review) -> str:
    """The action as an order."""
    return "Remember" if review.action.verb == "remember" else ASKS[review.action.cell]


def page(review: Review, found: Found) -> Iterator[str]:
    """Everything about a review. `found` are the beliefs it would change, as they are now."""
    yield bold(title(review, found))
    for piece in pieces(review, found):
        label = f"{piece.name}: " if piece.name else ""
        if piece.mark == GONE:
            yield warn(f"  {piece.text}")
            continue
        if piece.was is not None:
            yield from _marked("-", label + piece.was)
        yield from _marked(piece.mark, label + piece.text)
        if piece.was is not None and not piece.name and (where := word_diff(piece.was, piece.text)):
            yield from _marked("~", where)
    yield ""
    for name, value in _rows(review):
        yield from row(name, value)
    if review.is_open:
        short_id = shown(review.id[-6:])
        yield ""
        yield dim(f"  tallystick review approve {short_id}    or    tallystick review reject {short_id}")


def _rows(review: Review) -> Iterator[tuple[str, str | list[str]]]:
    action = review.action
    status = "approved, and not finished" if review.is_unfinished else review.status
    yield "review", [shown(review.id), warn(status) if review.is_open else status]
    if review.marker and review.status == "waiting":
        yield "approved", shown(f"by {review.granted_by}, once, until {when(review.expires)}")
    if action.cell == "graph.merge" and review.is_open:
        names = " ".join(quote(action.changes[each]) for each in ("node", "into"))
        yield "preview", dim(shown(f"tallystick graph merge {names} --dry-run"))
    yield "asked by", shown(f"{action.trust} ({action.by})")
    yield "because", short(action.reason, 400)
    yield "approval", shown(review.why)
    yield "user", "" if action.user == OWNER else shown(action.user)
    yield "asked", f"{ago(review.asked_at)}, event {review.seq} {dim(f'({when(review.asked_at)})')}"
    if review.answered_at:
        yield "answered", f"{ago(review.answered_at)} by {shown(review.answered_by)}"
        yield "saying", short(review.reason, 400)


class Piece(NamedTuple):
    """One thing that approval would change: removed (-), added (+), kept or turned into something else (~).

    `was` is the value that is replaced, if there is one. `name` is the field; empty for the words.
    """

    mark: str
    text: str
    name: str = ""
    was: str | None = None


def pieces(review: Review, found: Found) -> Iterator[Piece]:
    """The change for any surface, piece by piece."""
    kind, first = review.action.kind, found[0] if found else None
    if review.action.noun == "path":
        yield from _of_path(review, found)
    elif review.action.noun in (CHANGE, GRAPH):
        yield from (Piece("~", _text(belief)) for belief in found)
    elif not review.action.target:
        yield from _statement(review.action.changes)
    elif first is None:
        yield Piece(GONE, "it no longer exists")
    elif kind in ("remember", "revise"):
        yield from _revision(first, review.action.changes)
    elif kind in ("trust", "activate", "reinforce"):
        yield from (Piece("+", _text(belief)) for belief in found)
    elif kind == "promote":
        yield Piece("~", first.text)
        yield from _revision(first, {**review.action.changes, "is_hypothesis": False})
    elif kind == "merge":  # the first one gets what is new; the others lead to it
        changes = dict(review.action.changes)
        yield Piece("+", str(changes.pop("text", first.text)))
        yield from _revision(first, changes)
        yield from (Piece("-", _text(belief)) for belief in found[1:])
    elif kind == "compact":
        yield from (Piece("~", _text(belief)) for belief in found)
        if "rewrite" in review.action.changes:
            yield Piece("+", str(review.action.changes["rewrite"]), "page")
    else:
        yield from (Piece("-", _text(belief)) for belief in (found if kind == "erase" else found[:1]))
    if kind == "invalidate":
        for belief in found[1:]:
            yield Piece("~", f"becomes a hypothesis: {belief.text}" if belief else "(gone)")


def _text(belief: Belief | None) -> str:
    return belief.text if belief else "(gone)"


def _of_path(review: Review, found: Found) -> Iterator[Piece]:
    """The beliefs of a path, and what would become of them."""
    mark = {"merge": "+", "abandon": "-", "reopen": "+"}.get(review.action.kind, "~")
    for name in ("into", "conflicts", "summary"):
        if review.action.changes.get(name):
            yield Piece("+", str(review.action.changes[name]), name)
    yield from (Piece(mark, _text(belief)) for belief in found)


def _statement(changes: Mapping[str, Any]) -> Iterator[Piece]:
    """The fields of a new belief."""
    for name in dict.fromkeys((*_FIRST, *changes)):
        value = _plain(changes.get(name))
        if name not in _HIDDEN and value not in (None, "", [], {}, False):
            yield Piece("+", _written(value), "" if name == "text" else name)


def _revision(before: Belief, changes: Mapping[str, Any]) -> Iterator[Piece]:
    old = before.to_dict()
    names = [name for name in (*_FIRST, *changes) if name in changes and name not in _HIDDEN]
    for name in dict.fromkeys(names):
        was, will = old.get(name), _plain(changes[name])
        if was != will:
            yield Piece("+", _written(will), "" if name == "text" else name, _written(was))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "(none)"
    return str(value) if value != "" else "(none)"


def _marked(mark: str, text: str) -> Iterator[str]:
    for line in lines(text):
        yield click.style(f"  {mark} {line}", fg=_COLOURS[mark])
