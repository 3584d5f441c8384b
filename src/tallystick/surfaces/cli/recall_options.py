"""The options of `tallystick recall`, and what they ask of a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from tallystick.surfaces.cli.belief_options import given
from tallystick.surfaces.cli.tab import complete_entity, complete_frame, complete_path
from tallystick.surfaces.present.time import read_date, read_moment, read_time

F = TypeVar("F", bound=Callable[..., Any])

_FILTERS = ("about", "tags", "kinds", "what", "since", "until")
_NOT_FOR_FRAMES = {"k": "-k", "words": "--words"}

_OPTIONS = (
    click.option("k", "-k", type=click.IntRange(min=1), metavar="N", help="How many at most.  [5]"),
    click.option("--at", metavar="MOMENT", help="What was found then: an event's number, a date or a time."),
    click.option("--as-of", metavar="DATE", help="Only what was true in the world at that time."),
    click.option("--session", metavar="NAME", help="Only what was learned in that session."),
    click.option("--agent", metavar="NAME", help="Only what that agent learned."),
    click.option(
        "--path", metavar="PATH", shell_complete=complete_path,
        help="As it is seen from that path of the conversation.  [main]",
    ),
    click.option(
        "--about", multiple=True, metavar="NAME", shell_complete=complete_entity,
        help="Only what is about that. Repeat for more.",
    ),
    click.option(
        "tags", "--tag", multiple=True, metavar="PATTERN", help="Only what bears such a tag: self/%. Repeat for more."
    ),
    click.option("kinds", "--kind", multiple=True, metavar="KIND", help="Only beliefs of that kind. Repeat for more."),
    click.option(
        "--what", type=click.Choice(("belief", "episode")), metavar="WHAT", help="Only this: belief or episode."
    ),
    click.option("--since", metavar="DATE", help="Only what happened or was recorded then or later."),
    click.option("--until", metavar="DATE", help="Only what happened or was recorded before that."),
    click.option(
        "--without", multiple=True, metavar="X", help="Not this belief or episode, or agent:NAME. Repeat for more."
    ),
    click.option("--words", is_flag=True, help="By words alone, not by meaning."),
    click.option("--floor", type=click.FloatRange(0, 1), metavar="0..1", help="Below this, nothing fits."),
    click.option(
        "--frame", metavar="NAME", shell_complete=complete_frame,
        help="Print what an agent needs for a purpose, as text for its prompt.",
    ),
    click.option(
        "--budget", type=click.IntRange(min=1), metavar="N", help="With --frame: how many tokens it may take."
    ),
    click.option("--explain", is_flag=True, help="What speaks for each, who else says it, what nearly made it."),
    click.option("--receipt", is_flag=True, help="Leave a receipt of what was served, and print its id."),
    click.option("--keep-question", is_flag=True, help="The same, and the receipt holds the question."),
    click.option("--replay", metavar="RECEIPT", help="Put a recorded question again, and say what differs."),
    click.option(
        "--hook", is_flag=True, help="With --frame, for a client's hook: marked as data, and nothing is not an error."
    ),
    click.option("--quarantined", is_flag=True, help="Also what waits for a person's yes (`tallystick review`)."),
)  # fmt: skip


def recall_options(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def asked(options: Mapping[str, Any]) -> dict[str, Any]:
    """What `Memory.recall` or `Memory.frame` is asked with: only what was said."""
    said = {name: value for name, value in given(dict(options)).items() if value is not False}
    found = {name: value for name, value in said.items() if name not in (*_FILTERS, "at", "keep_question")}
    if "at" in said:
        found["believed_at"] = read_moment(said["at"])
    if "as_of" in said:
        found["as_of"] = read_date(said["as_of"])
    if "keep_question" in said:
        found |= {"keep_question": True, "receipt": True}
    filters = {name: said[name] for name in _FILTERS if name in said}
    for name in ("since", "until"):
        if name in filters:
            filters[name] = read_time(filters[name])
    return found | ({"filters": filters} if filters else {})


def check_frame(said: Mapping[str, Any]) -> None:
    """Whether these options go together: a frame has a budget, a list has a length."""
    for name, what in (("budget", "a budget"), ("hook", "a hook")):
        if "frame" not in said and name in said:
            raise click.UsageError(f"{what} belongs to --frame")
    for name, option in _NOT_FOR_FRAMES.items():
        if "frame" in said and name in said:
            raise click.UsageError(f"{option} does not go with --frame: it shows what its budget holds")
