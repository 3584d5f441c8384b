"""Two prompts that a person picks in a client: to start a session, and to review what was learned in it.

All of it is said in the person's voice. What is stored stands in it only as quoted data (`quoted`), one JSON object a
line where it is more than a frame; what waits for a person's yes is named there, and its words are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from tallystick.records.clock import parse_moment, stamp, system_clock
from tallystick.records.errors import Refused
from tallystick.surfaces.mcp.wording import quoted

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief
    from tallystick.records.history import Change
    from tallystick.surfaces.server.worker import MemoryWorker

Context = ServerRequestContext[Any, Any]
Given = Mapping[str, str]

START, REVIEW = "start_session", "review_what_you_learned"
BUDGETS = ("400", "800", "1200", "2000", "4000")
SINCE = ("12h", "24h", "7d", "30d")

_BUDGET, _MOST_TOKENS, _LONGEST_TASK = 1200, 50_000, 8_000
_SPAN = re.compile(r"([1-9]\d{0,4})([hd])", re.ASCII)
_MOST = 50  # so many changes, and so many reviews, are told
_WORDS = 400  # characters of one

_BEGIN = """\
We are beginning to work. Below is what you have kept in memory that may bear on it: weigh it, and check what matters.
Call `recall` when you need to know more, and `remember` when you learn something that will still matter next time.\
"""
_LOOK_BACK = """\
Let us look back at what you learned. Below is what came into memory, changed or left it since then. Say what in it is
wrong, doubtful or said twice, and put it right with `revise` or `forget`; add what is missing with `remember`. Then
tell me in a few lines what you learned.\
"""
_WAITS = """\
These wait for my yes. Only I can give it: `tallystick review` in a terminal shows each with its words. Remind me of
them, and do nothing about them yourself.\
"""

PROMPTS = [
    types.Prompt(
        name=START, title="Start a session",
        description="Begin with what memory holds that bears on the task, within a budget of tokens.",
        arguments=[
            types.PromptArgument(name="task", description="What we are going to do, in a sentence.", required=False),
            types.PromptArgument(
                name="budget", description=f"How many tokens of memory at most; {_BUDGET} if not said.", required=False
            ),
        ],
    ),
    types.Prompt(
        name=REVIEW, title="Review what you learned",
        description="Go through what came into memory lately, and name what waits for a person's yes.",
        arguments=[
            types.PromptArgument(
                name="since", description="From when on: 24h (if not said), 7d, a date or a time.", required=False
            ),
            types.PromptArgument(name="session", description="Only what was said in this session.", required=False),
        ],
    ),
]  # fmt: skip


class Prompts:
    """The prompts of one server."""

    def __init__(self, hold: MemoryWorker) -> None:
        self._hold = hold

    async def list(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=PROMPTS)

    async def get(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """The prompt, filled. What it does not take is refused."""
        makes, given = _MAKES.get(params.name), params.arguments or {}
        if makes is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no such prompt; there are {START} and {REVIEW}")
        if unknown := given.keys() - _takes(params.name):
            takes = " and ".join(sorted(_takes(params.name)))
            raise MCPError(types.INVALID_PARAMS, f"it takes {takes}, and not {min(unknown)[:40]!r}")
        try:
            texts = await self._hold.run(lambda context: list(makes(context.memory, given)))
        except Refused as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        said = [types.PromptMessage(role="user", content=types.TextContent(type="text", text=text)) for text in texts]
        return types.GetPromptResult(description=_title(params.name), messages=said)


def start(memory: Memory, given: Given) -> Iterator[str]:
    """What a session begins with: who one is, what bears on the task, and the task itself, in the person's words."""
    task, budget = given.get("task", "").strip(), _budget(given.get("budget", ""))
    if len(task) > _LONGEST_TASK:
        raise Refused(
            f"the task is longer than {_LONGEST_TASK:,} characters; say in a sentence what is to be done", "size"
        )
    own = memory.frame("self", task, budget=max(1, budget // 4))
    rest = memory.frame("attention", task, budget=max(1, budget - own.used))
    yield _with(_BEGIN, f"{own.text}\n{rest.text}".strip())
    if task:
        yield task


def review(memory: Memory, given: Given) -> Iterator[str]:
    """What was learned since then, and what waits."""
    since, session = _since(given.get("since", "")), given.get("session", "")
    changes = [change for change in memory.diff(since) if not session or _session(change) == session]
    lines = [_line(change) for change in changes[-_MOST:]]
    yield _with(_LOOK_BACK, "\n".join(lines), len(changes) - _MOST)
    if waiting := memory.reviews.waiting():
        told = (_json({"review": each.id, "to": each.action.verb, "at": each.asked_at}) for each in waiting[:_MOST])
        yield _with(_WAITS, "\n".join(told), len(waiting) - _MOST)


_MAKES: dict[str, Callable[[Memory, Given], Iterator[str]]] = {START: start, REVIEW: review}


def _with(words: str, stored: str, more: int = 0) -> str:
    """Our words, then what is stored, then how much more there is."""
    parts = (words, quoted(stored), f"There are {more:,} more." if more > 0 else "")
    return "\n\n".join(part for part in parts if part)


def _takes(name: str) -> set[str]:
    return {argument.name for prompt in PROMPTS if prompt.name == name for argument in prompt.arguments or ()}


def _title(name: str) -> str:
    return next(prompt.title or "" for prompt in PROMPTS if prompt.name == name)


def _budget(said: str) -> int:
    if not said.strip():
        return _BUDGET
    if not (said.isascii() and said.isdigit() and len(said) < 9 and 1 <= int(said) <= _MOST_TOKENS):
        raise Refused(f"budget is a number of tokens from 1 to {_MOST_TOKENS:,}, such as {_BUDGET}")
    return int(said)


def _since(said: str) -> str:
    """The moment that is meant, as the ledger writes it."""
    said = said.strip() or "24h"
    if span := _SPAN.fullmatch(said):
        return stamp(system_clock() - timedelta(**{"hours" if span[2] == "h" else "days": int(span[1])}))
    try:
        return parse_moment(said)
    except Refused:
        raise Refused("since is like 24h, 7d, 2026-05-03 or 2026-05-03T14:00:00Z", "time") from None


def _session(change: Change) -> str:
    belief = change.after or change.before
    return belief.session if belief else ""


def _line(change: Change) -> str:
    """A change in one line. Words that a person has not let in yet, or has put out again, are not repeated."""
    told: dict[str, Any] = {"what": change.what}
    for name, belief in (("was", change.before), ("is", change.after)):
        if belief is not None:
            told |= {"id": belief.id, "trust": belief.trust, "at": belief.at}
            told[name] = "(not to be used; `tallystick show` shows it)" if belief.withheld else _words(belief)
    return _json(told)


def _words(belief: Belief) -> str:
    text = belief.text or " ".join(belief.triple)
    return text if len(text) <= _WORDS else f"{text[: _WORDS - 1]}…"


def _json(told: Mapping[str, Any]) -> str:
    """In plain letters: whatever else is in a text is spelled out by JSON itself."""
    return json.dumps(told)
