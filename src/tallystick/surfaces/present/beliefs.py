"""A belief as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tallystick.records.belief import OWNER, Belief
from tallystick.records.fact_view import steps_in
from tallystick.records.history import Version
from tallystick.surfaces.present.names import handle, short_id
from tallystick.surfaces.present.terminal import bold, dim, row, warn, width
from tallystick.surfaces.present.text import cells, lines, short, shown
from tallystick.surfaces.present.time import ago, count, when

if TYPE_CHECKING:
    from tallystick.records.relation import Neighbour

STANDING = {"active": "held", "tombstone": "forgotten", "invalidated": "no longer held"}
EPISODES = 5  # of a fact that are shown
STEPS = {
    "belief.put/1": "remembered", "belief.supersede/1": "revised", "belief.tombstone/1": "forgotten",
    "belief.invalidate/1": "invalidated",
}  # fmt: skip


def line(belief: Belief, name_room: int = 0, indent: str = "") -> str:
    """A belief on one line: its name, how sure it is, its first words."""
    name = short(handle(belief.key), 24)
    pad = " " * max(name_room - cells(name), 0)
    sure = f"{belief.confidence:<4.2g}"
    used = len(indent) + max(name_room, cells(name)) + 2 + len(sure) + 2
    words = short(belief.text, width() - used) or dim("(no text)")
    return f"{indent}{dim(name)}{pad}  {dim(sure)}  {words if belief.is_held else dim(words)}"


def table(beliefs: list[Belief], indent: str = "") -> Iterator[str]:
    room = max((cells(short(handle(belief.key), 24)) for belief in beliefs), default=0)
    yield from (line(belief, room, indent) for belief in beliefs)


def page(belief: Belief, names: dict[str, str], told: dict[str, str] | None = None) -> Iterator[str]:
    """All that a belief says. `names` gives the names of what it rests on, `told` the words of its episodes."""
    yield from (bold(text) for text in lines(belief.text or "(no text)"))
    yield ""
    for name, value in _rows(belief, names):
        yield from row(name, value)
    yield from row("told in", _lineage(belief, told or {}))


def neighbours(near: list[Neighbour]) -> list[str]:
    """What a memory is related to, a line each: how, to which, and what that says."""
    found = []
    for each in near:
        memory, how = each.memory, short(each.relation, 60)
        if isinstance(memory, Belief):
            name, words = short(handle(memory.key), 26), memory.text
        else:
            name, words = short(short_id(memory.id), 26), memory.content
        found.append(f"{f'{name} {how} this' if each.turned else f'{how} {name}'}{dim(':')} {short(words, 60)}")
    return found


def _lineage(belief: Belief, told: dict[str, str]) -> list[str]:
    """The episodes that a fact comes from, the newest last, each with its words and the rule that made it a fact."""
    episodes = {name: step for step in steps_in(belief.views) for name in step.get("source_episode_ids", ())}
    shown_here = list(episodes.items())[-EPISODES:]
    lines = [f"and {count(len(episodes) - EPISODES, 'episode')} before"] if len(episodes) > EPISODES else []
    for name, step in shown_here:
        rule = dim(f"(rule {short(str(step.get('rule_id', '')), 24)})")
        lines.append(" ".join(filter(None, (short(name, 26), short(told.get(name, ""), 60), rule))))
    return lines


def _rows(belief: Belief, names: dict[str, str]) -> Iterator[tuple[str, str | list[str]]]:
    held = STANDING.get(belief.status, belief.status)
    yield "name", [shown(handle(belief.key)), dim(f"this version: {shown(belief.id)}")]
    yield "status", (held if belief.is_held else warn(held)) + (", a hypothesis" if belief.is_hypothesis else "")
    yield "kind", shown(belief.kind)
    yield "confidence", f"{belief.confidence:g} ({shown(belief.source_type)})"
    yield "about", shown(belief.about)
    yield "triple", shown(" → ".join(belief.triple))
    yield "tags", shown(", ".join(belief.tags))
    yield "evidence", [short(piece, 400) for piece in belief.evidence]
    yield "rests on", [shown(names.get(ref, handle(ref))) for ref in belief.rests_on]
    yield "valid", _span(belief.valid_from, belief.valid_to)
    yield "expires", shown(belief.expires)
    yield "served", "always, in every frame that it may be in" if belief.always else ""
    yield "because", short(belief.reason, 400)
    yield "from", shown(", ".join(_origin(belief)))
    if belief.data:
        yield "data", f"{len(belief.data)} fields, shown by --json"
    yield "recorded", f"{ago(belief.at)}, event {belief.seq} {dim(f'({when(belief.at)})')}"


def _span(start: str, end: str) -> str:
    if not (start or end):
        return ""
    return " ".join(filter(None, (start and f"from {shown(start)}", end and f"to {shown(end)}")))


def _origin(belief: Belief) -> list[str]:
    parts = (
        ("user", "" if belief.user == OWNER else belief.user), ("session", belief.session), ("agent", belief.agent),
        ("trust", "" if belief.trust == "human" else belief.trust),
    )  # fmt: skip
    return [f"{name} {value}" for name, value in parts if value]


def history(versions: list[Version]) -> Iterator[str]:
    """Every version, oldest first, a line or two each."""
    room = max((len(str(version.seq)) for version in versions), default=1)
    for version in versions:
        belief = version.belief
        step = STEPS.get(version.op, version.op)
        left = f"{version.seq:>{room}}  {when(version.at)}  "
        said = f"{step:<11}  {belief.confidence:<4.2g}  "
        indent = len(left) + len(said)
        yield dim(left) + click.style(said) + short(belief.text, width() - indent)
        if belief.reason:
            yield " " * indent + dim(short(f"because {belief.reason}", width() - indent))
