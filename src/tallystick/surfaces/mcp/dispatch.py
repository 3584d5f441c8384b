"""Calls of tools: from the arguments to the result.

Every error is an answer too: one line that says what is wrong and the way out, so that a model can do better. It has
nothing of what is stored and no trace of the program. A fault of the program fails that one call and nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from tallystick.records.errors import NeedsApproval, Refused
from tallystick.records.json import texts_in
from tallystick.surfaces.mcp import consent
from tallystick.surfaces.mcp.consent import Question
from tallystick.surfaces.mcp.format import error_line, one_line, wrong_arguments
from tallystick.surfaces.mcp.resources import Context
from tallystick.surfaces.mcp.tool import Answer, Args, Tool
from tallystick.surfaces.server.worker import MemoryWorker, Person

Result = types.CallToolResult | types.InputRequiredResult

LONGEST = 1 << 20  # characters in one call; a line of the ledger holds no more
_INTERVAL = 0.1  # seconds between two reports of progress
_REJECTED = "Not done: a person rejected it. Nothing was changed."
_NO_ANSWER = "Not done: no person approved it. Nothing was changed."


class Calls:
    """Calls of the tools of one server."""

    def __init__(self, hold: MemoryWorker, tools: Sequence[Tool]) -> None:
        self._hold, self._tools = hold, {tool.name: tool for tool in tools}

    async def answer(self, ctx: Context, params: types.CallToolRequestParams) -> Result:
        """The answer to one call."""
        tool = self._tools.get(params.name)
        if tool is None:
            line = f"there is no tool {params.name!r}; there are {', '.join(self._tools)}"
            raise MCPError(types.INVALID_PARAMS, one_line(line, params.name))
        given = params.arguments or {}
        try:
            args = _read(tool, given)
        except ValidationError as error:
            return _refusal(wrong_arguments(error, tool.name, tool.argument_names()))
        except Refused as error:
            return _refusal(str(error))
        try:
            return await self._answer(ctx, params, tool, args)
        except MCPError:
            raise
        except Exception as error:  # the outer edge: one call fails, the server goes on
            return _refusal(error_line(error, tool.name, given))

    async def _answer(self, ctx: Context, params: types.CallToolRequestParams, tool: Tool, args: Args) -> Result:
        """Run it; where it needs approval, ask the person, and continue from there."""
        person, asked_before = self._hold.person, ""
        if params.request_state is not None and person is not None:
            review, digest = consent.read_state(params.request_state)
            if (done := await self._settle(tool, args, person, review, digest, _reply_in(params))) is not None:
                return done
            asked_before = review
        while True:
            progress = _Progress(ctx)
            try:
                found = await self._hold.run(lambda context: tool.run(context, args), progress.on_progress)
            except NeedsApproval as error:
                question = None
                if person is not None and error.review != asked_before and _can_ask(ctx):
                    question = await self._question(person, error.review)
                if question is None or person is None:
                    return _refusal(_pending(error.review, person))
                if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    return _ask_back(question)
                reply = await _ask_now(ctx, question)
                done = await self._settle(tool, args, person, question.review, question.digest, reply)
                if done is not None:
                    return done
                asked_before = question.review
            else:
                await progress.end()
                return _result(found)

    async def _question(self, person: Person, review: str) -> Question | None:
        return await self._hold.run(lambda _: consent.question(person, review))

    async def _settle(
        self, tool: Tool, args: Args, person: Person, review: str, digest: str, reply: bool | None
    ) -> types.CallToolResult | None:
        """The answer to the call after a reply; None if it is approved and is to be run again."""
        if reply is None:
            return _refusal(f"{_NO_ANSWER} {_pending(review, person)}")
        if not reply:
            await self._hold.run(lambda _: consent.reject(person, review))
            return _refusal(_REJECTED)
        applied = await self._hold.run(lambda context: consent.approve(context.memory, person, review, digest))
        after = tool.after
        return None if after is None else _result(await self._hold.run(lambda context: after(context, args, applied)))


def _result(answer: Answer) -> types.CallToolResult:
    """An answer, as structure and as text."""
    text = types.TextContent(type="text", text=answer.text())
    return types.CallToolResult(content=[text], structured_content=answer.model_dump(mode="json", exclude_none=True))


def _refusal(line: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=line)], is_error=True)


def _read(tool: Tool, given: Mapping[str, Any]) -> Args:
    """The arguments of a call, checked."""
    size = sum(map(len, texts_in(given)))
    if size > LONGEST:
        raise Refused(f"{size:,} characters are too many; one call takes up to {LONGEST:,}: send it in parts", "size")
    return tool.takes.model_validate(tool.arguments(given))


def _pending(review: str, person: Person | None) -> str:
    options = person.options if person else ""
    return (
        f"Needs a person's approval (review {review}): tell the user to run"
        f" `tallystick review approve {review}{options}`. Until then nothing is changed."
    )


# -- asking a person ---------------------------------------------------------------------------------------------------


def _can_ask(ctx: Context) -> bool:
    """Whether the client can show a form to a person. Older clients say so without naming the form."""
    declared = ctx.session.client_capabilities
    can = declared.elicitation if declared else None
    return can is not None and (can.form is not None or can.url is None)


def _ask_back(question: Question) -> types.InputRequiredResult:
    params = types.ElicitRequestFormParams(message=question.message, requested_schema=consent.SCHEMA)
    request = types.ElicitRequest(params=params)
    return types.InputRequiredResult(input_requests={consent.KEY: request}, request_state=question.state())


async def _ask_now(ctx: Context, question: Question) -> bool | None:
    try:
        reply = await ctx.session.elicit_form(question.message, consent.SCHEMA, ctx.request_id)
    except (MCPError, ValidationError):
        return None
    return consent.is_approval(reply.action, reply.content)


def _reply_in(params: types.CallToolRequestParams) -> bool | None:
    reply = (params.input_responses or {}).get(consent.KEY)
    return consent.is_approval(reply.action, reply.content) if isinstance(reply, types.ElicitResult) else None


# -- progress ----------------------------------------------------------------------------------------------------------


class _Progress:
    """Reports of progress to a client that asked for them. `on_progress` is called in the memory's thread."""

    def __init__(self, ctx: Context) -> None:
        self._session, self._loop = ctx.session, asyncio.get_running_loop()
        self._done, self._next = 0, 0.0
        self._reports: list[asyncio.Task[None]] = []

    def on_progress(self, steps: int) -> None:
        self._done += steps
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _INTERVAL
            with suppress(RuntimeError):  # the loop has ended, and nobody waits for it
                self._loop.call_soon_threadsafe(self._report, self._done)

    def _report(self, done: int) -> None:
        self._reports.append(self._loop.create_task(self._session.report_progress(done)))

    async def end(self) -> None:
        """Send all reports before the answer."""
        if self._reports:
            await asyncio.gather(*self._reports, return_exceptions=True)
