"""What the page of one belief shows. All of it is of one moment; what may be endless is cut, and says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from tallystick.records.errors import NotFound
from tallystick.records.fact_view import steps_in
from tallystick.surfaces.present.beliefs import STANDING, STEPS
from tallystick.surfaces.present.diff import Piece
from tallystick.surfaces.web.markdown import html
from tallystick.surfaces.web.page_view import page_of
from tallystick.surfaces.web.plain_text import differing

if TYPE_CHECKING:
    from markupsafe import Markup

    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief
    from tallystick.records.episode import Episode
    from tallystick.records.history import Version, Why
    from tallystick.records.review import Review

MOST = 50  # of anything that is listed: versions, episodes, what rests on it
_DEEPEST = 8  # steps down the reasons


@dataclass(frozen=True, slots=True)
class Step:
    """One version: what was done, by whom, and what differs from the one before."""

    version: Version
    what: str
    changes: tuple[Piece, ...]  # of the words; none if they stayed
    fields: tuple[tuple[str, str, str], ...]  # what else changed: its name, before, after


@dataclass(frozen=True, slots=True)
class VersionView:
    """An episode that it comes from, and the rule that made it a fact."""

    name: str
    episode: Episode | None
    rule: str


@dataclass(frozen=True, slots=True)
class Against:
    """A belief that cannot hold beside it."""

    belief: Belief
    why: str


@dataclass(frozen=True, slots=True)
class Reason:
    """One line of why it stands, so many steps down."""

    depth: int
    belief: Belief
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BeliefView:
    """One belief, and all that is known about it."""

    belief: Belief
    html: Markup
    standing: str
    withheld: str
    page: str
    reasons: tuple[Reason, ...]
    above: tuple[Belief, ...]
    steps: tuple[Step, ...]
    versions: int
    told: tuple[VersionView, ...]
    against: tuple[Against, ...]
    near: tuple[Belief, ...]
    reviews: tuple[Review, ...]


def shown_of(memory: Memory, name: str, *, path: str = "") -> BeliefView | str:
    """The belief of that name; or the id of the episode, if it is one's."""
    belief = memory.get(name, path=path)
    if belief is None:
        if episode := memory.episodes.find(name):
            return episode.id
        raise NotFound(f"nothing is known as {name[:80]!r}; the search may find it")
    versions = memory.history(belief.id, path=path)
    answer = memory.similar(belief.id, path=path)
    withheld = memory.withheld(belief.id, path=path) if belief.is_held else None
    return BeliefView(
        belief, html(belief.text), STANDING.get(belief.status, belief.status), withheld.why if withheld else "",
        "" if belief.path else page_of(memory, belief.about), tuple(_reasons(memory.why(belief.id, path=path))),
        tuple(memory.dependents(belief.id, path=path)[:MOST]), tuple(islice(_steps(versions), MOST)), len(versions),
        tuple(_told(memory, belief)),
        tuple(
            Against(memory.show(each, path=path), why)
            for each, why in zip(answer.contradicts, answer.why, strict=True)
        ),
        tuple(memory.show(each, path=path) for each in answer.near),
        tuple(review for review in memory.reviews.waiting() if belief.id in review.action.target),
    )  # fmt: skip


def _reasons(why: Why, depth: int = 0) -> Iterator[Reason]:
    yield Reason(depth, why.belief, why.because)
    if depth < _DEEPEST:
        for below in why.rests_on:
            yield from _reasons(below, depth + 1)


_COMPARED = (
    "confidence", "status", "kind", "tags", "about", "is_hypothesis", "valid_from", "valid_to", "expires", "always",
    "trust",
)  # fmt: skip


def _steps(versions: list[Version]) -> Iterator[Step]:
    """Every version, the newest first, held against the one before."""
    for at in range(len(versions) - 1, -1, -1):
        version, before = versions[at], versions[at - 1].belief if at else None
        now, what = version.belief, STEPS.get(version.op, version.op)
        if before is None:
            yield Step(version, what, (), ())
        else:
            changes = differing(before.text, now.text) if before.text != now.text else ()
            yield Step(version, what, changes, tuple(_fields(before, now)))


def _fields(before: Belief, now: Belief) -> Iterator[tuple[str, str, str]]:
    for name in _COMPARED:
        was, will = getattr(before, name), getattr(now, name)
        if was != will:
            yield name.replace("_", " "), _said(was), _said(will)


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return STANDING.get(str(value), str(value)) or "none"


def _told(memory: Memory, belief: Belief) -> Iterator[VersionView]:
    """The episodes that it comes from, the newest first."""
    rules = {name: str(step.get("rule_id", "")) for step in steps_in(belief.views) for name in _names(step)}
    for name in list(reversed(rules))[:MOST]:
        yield VersionView(name, memory.episodes.find(name), rules[name])


def _names(step: dict[str, object]) -> list[str]:
    named = step.get("source_episode_ids")
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
