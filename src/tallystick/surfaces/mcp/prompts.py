"""Prompts that a person picks in a client, and completion of what they type.

`start_session` begins with what memory has about a task; `review_what_you_learned` goes through what was learned. Both
speak in the person's voice. Stored words are in them only as quoted data (`quoted`), one JSON object a line where it is
more than a frame; what needs a person's approval is named, and its words are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from tallystick.memory.memory import Memory
from tallystick.records.belief import Change
from tallystick.records.clock import parse_moment, stamp, system_clock
from tallystick.records.errors import Refused
from tallystick.surfaces.mcp.format import quoted, shortened
from tallystick.surfaces.mcp.resources import FRAME_TEMPLATE, PAGE_TEMPLATE, Context, frame_names, page_names
from tallystick.surfaces.server.worker import MemoryWorker

Given = Mapping[str, str]

START, REVIEW = "start_session", "review_what_you_learned"

_BUDGET, _MOST_TOKENS, _LONGEST_TASK = 1200, 50_000, 8_000
_SPAN = re.compile(r"([1-9]\d{0,4})([hd])", re.ASCII)
_LISTED = 50  # changes, and reviews, in one prompt
_WORDS = 400  # characters of one
_COMPLETIONS = 100  # the protocol's own limit

_BEGIN = """\
We are beginning to work. Below is what you have kept in memory that may bear on it: weigh it, and check what matters.
Call `recall` when you need to know more, and `remember` when you learn something that will still matter next time.\
"""
_LOOK_BACK = """\
Let us look back at what you learned. Below is what was added to memory, changed or removed since then. Say what is
wrong, doubtful or duplicate, and correct it with `revise` or `forget`; add what is missing with `remember`. Then tell
me in a few lines what you learned.\
"""
_WAITS = """\
These need my approval. Only I can give it: `tallystick review` in a terminal shows each with its words. Remind me of
them, and do nothing about them yourself.\
"""


def _optional(name: str, description: str) -> types.PromptArgument:
    return types.PromptArgument(name=name, description=description, required=False)


PROMPTS = {
    START: types.Prompt(
        name=START, title="Start a session",
        description="Begin with what memory has about the task, within a budget of tokens.",
        arguments=[
            _optional("task", "What we are going to do, in a sentence."),
            _optional("budget", f"How many tokens of memory at most; {_BUDGET} if left out."),
        ],
    ),
    REVIEW: types.Prompt(
        name=REVIEW, title="Review what you learned",
        description="Go through what was learned lately, and list what needs a person's approval.",
        arguments=[
            _optional("since", "Since when: 24h (if left out), 7d, a date or a time."),
            _optional("session", "Only what was said in this session."),
        ],
    ),
}  # fmt: skip


_VALUES = {"budget": ("400", "800", "1200", "2000", "4000"), "since": ("12h", "24h", "7d", "30d")}
_NAMES: dict[str, Callable[[Memory], list[str]]] = {PAGE_TEMPLATE: page_names, FRAME_TEMPLATE: frame_names}


class Prompts:
    """The prompts and completions of one server."""

    def __init__(self, hold: MemoryWorker) -> None:
        self._hold = hold

    async def list(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=list(PROMPTS.values()))

    async def get(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """The filled prompt. An unknown argument is refused."""
        prompt, given = PROMPTS.get(params.name), params.arguments or {}
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no such prompt; there are {START} and {REVIEW}")
        if unknown := given.keys() - _arguments(prompt):
            takes = " and ".join(sorted(_arguments(prompt)))
            raise MCPError(types.INVALID_PARAMS, f"it takes {takes}, and not {min(unknown)[:40]!r}")
        make = _MAKE[params.name]
        try:
            texts = await self._hold.run(lambda context: list(make(context.memory, given)))
        except Refused as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        found = [types.PromptMessage(role="user", content=types.TextContent(type="text", text=text)) for text in texts]
        return types.GetPromptResult(description=prompt.title, messages=found)

    async def complete(self, _: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """The values that match what was typed: first those that begin with it, then those that contain it."""
        ref, argument = params.ref, params.argument
        if isinstance(ref, types.PromptReference):
            prompt = PROMPTS.get(ref.name)
            if prompt is None or argument.name not in _arguments(prompt):
                raise MCPError(types.INVALID_PARAMS, "there is no such prompt, or it takes no such argument")
            return _matching(_VALUES.get(argument.name, ()), argument.value)
        names = _NAMES.get(ref.uri)
        if names is None or argument.name != "name":
            raise MCPError(types.INVALID_PARAMS, f"only `name` in {' and '.join(_NAMES)} can be completed")
        return _matching(await self._hold.run(lambda context: names(context.memory)), argument.value)


def _arguments(prompt: types.Prompt) -> set[str]:
    return {argument.name for argument in prompt.arguments or ()}


def _start(memory: Memory, given: Given) -> Iterator[str]:
    """The beginning of a session: who one is, what bears on the task, and the task itself, in the person's words."""
    task, budget = given.get("task", "").strip(), _budget(given.get("budget", ""))
    if len(task) > _LONGEST_TASK:
        raise Refused(f"the task is longer than {_LONGEST_TASK:,} characters; describe it in a sentence", "size")
    own = memory.frame("self", task, budget=max(1, budget // 4))
    rest = memory.frame("attention", task, budget=max(1, budget - own.used))
    yield _with(_BEGIN, f"{own.text}\n{rest.text}".strip())
    if task:
        yield task


def _review(memory: Memory, given: Given) -> Iterator[str]:
    """What was learned since then, and what is pending."""
    since, session = _since(given.get("since", "")), given.get("session", "")
    found = ((change, change.after or change.before) for change in memory.diff(since))
    changes = [change for change, belief in found if not session or (belief and belief.session == session)]
    yield _with(_LOOK_BACK, "\n".join(map(_line, changes[-_LISTED:])), len(changes) - _LISTED)
    if waiting := memory.reviews.waiting():
        lines = [
            json.dumps({"review": each.id, "to": each.action.verb, "at": each.asked_at}) for each in waiting[:_LISTED]
        ]
        yield _with(_WAITS, "\n".join(lines), len(waiting) - _LISTED)


_MAKE: dict[str, Callable[[Memory, Given], Iterator[str]]] = {START: _start, REVIEW: _review}


def _with(words: str, stored: str, more: int = 0) -> str:
    """Our words, then what is stored, then how much more there is."""
    parts = (words, quoted(stored), f"There are {more:,} more." if more > 0 else "")
    return "\n\n".join(part for part in parts if part)


def _budget(given: str) -> int:
    if not given.strip():
        return _BUDGET
    if not (given.isascii() and given.isdigit() and len(given) < 9 and 1 <= int(given) <= _MOST_TOKENS):
        raise Refused(f"budget is a number of tokens from 1 to {_MOST_TOKENS:,}, such as {_BUDGET}")
    return int(given)


def _since(given: str) -> str:
    """The time that is meant, as the ledger writes it."""
    given = given.strip() or "24h"
    if span := _SPAN.fullmatch(given):
        return stamp(system_clock() - timedelta(**{"hours" if span[2] == "h" else "days": int(span[1])}))
    try:
        return parse_moment(given)
    except Refused:
        raise Refused("since is like 24h, 7d, 2026-05-03 or 2026-05-03T14:00:00Z", "time") from None


def _line(change: Change) -> str:
    """A change in one line of ASCII JSON. Words that are not approved, or were rejected, are not repeated."""
    found: dict[str, Any] = {"what": change.what}
    for name, belief in (("was", change.before), ("is", change.after)):
        if belief is not None:
            text = shortened(belief.text or " ".join(belief.triple), _WORDS)
            found |= {"id": belief.id, "trust": belief.trust, "at": belief.at}
            found[name] = "(not to be used; `tallystick show` shows it)" if belief.withheld else text
    return json.dumps(found)


def _matching(names: Iterable[str], typed: str) -> types.CompleteResult:
    typed = typed.casefold()
    found = [name for name in names if typed in name.casefold()]
    found.sort(key=lambda name: not name.casefold().startswith(typed))
    return types.CompleteResult(completion=types.Completion(
        values=found[:_COMPLETIONS], total=len(found), has_more=len(found) > _COMPLETIONS
    ))  # fmt: skip
