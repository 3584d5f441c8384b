"""How a call of a tool is answered, from its arguments to the result.

Whatever goes wrong is an answer too: one line that says what, and the way out, so that a model can do better. Nothing
of what is stored, and no trace of the program, is in it. A fault of our own costs that one call and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from tallystick.records.errors import NeedsApproval, Refused, TallystickError
from tallystick.surfaces.mcp import consent
from tallystick.surfaces.mcp.consent import Question
from tallystick.surfaces.mcp.server import names_of
from tallystick.surfaces.mcp.tool import Answer, Args, Tool
from tallystick.surfaces.mcp.wording import one_line, texts_in, wrong_arguments
from tallystick.surfaces.server.worker import MemoryWorker, Person

Context = ServerRequestContext[Any, Any]
Result = types.CallToolResult | types.InputRequiredResult

logger = logging.getLogger("tallystick.mcp")

LONGEST = 1 << 20  # characters in one call; a line of the ledger holds no more
_OFTEN = 0.1  # seconds between two words about how far a call is
_NO = "Not done: a person said no to it. Nothing was changed."
_NOBODY = "Not done: no person said yes to it. Nothing was changed."


class Calls:
    """The tools of one server, to be called."""

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
            return refused(wrong_arguments(error, tool.name, names_of(tool.takes)))
        except Refused as error:
            return refused(str(error))
        try:
            return await self._answer(ctx, params, tool, args)
        except TallystickError as error:
            return refused(one_line(str(error), given))
        except MCPError:
            raise
        except OSError as error:
            return refused(f"the system refused ({one_line(error.strerror or 'no reason given', '')}); try again")
        except Exception as error:  # the outer edge: one call fails, the server goes on
            logger.error("%s failed: %s", tool.name, type(error).__name__)
            return refused(f"{tool.name} failed inside tallystick, and nothing of it can be relied on; try again")

    async def _answer(self, ctx: Context, params: types.CallToolRequestParams, tool: Tool, args: Args) -> Result:
        """Run it; where a person's yes is needed, ask for it, and go on from there."""
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
            except NeedsApproval as held:
                asked = await self._question(ctx, person, held.review) if held.review != asked_before else None
                if asked is None or person is None:
                    return refused(_pending(held.review, person))
                if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    return _ask_back(asked)
                reply = await _ask_now(ctx, asked)
                done = await self._settle(tool, args, person, asked.review, asked.digest, reply)
                if done is not None:
                    return done
                asked_before = asked.review
            else:
                await progress.end()
                return said(found)

    async def _question(self, ctx: Context, person: Person | None, review: str) -> Question | None:
        """What a person is asked; None, if the client cannot ask one, or the policy would not count the reply."""
        if person is None or not _can_ask(ctx):
            return None
        return await self._hold.run(lambda _: _question_of(person, review))

    async def _settle(
        self, tool: Tool, args: Args, person: Person, review: str, digest: str, reply: bool | None
    ) -> types.CallToolResult | None:
        """What a reply comes to: the answer to the call, or None if it has its yes and is to be run again."""
        if reply is None:
            return refused(f"{_NOBODY} {_pending(review, person)}")
        if not reply:
            await self._hold.run(lambda _: consent.said_no(person, review))
            return refused(_NO)
        applied = await self._hold.run(lambda context: consent.said_yes(context.memory, person, review, digest))
        after = tool.after
        return None if after is None else said(await self._hold.run(lambda context: after(context, args, applied)))


def said(answer: Answer) -> types.CallToolResult:
    """An answer, as structure and as text."""
    text = types.TextContent(type="text", text=answer.text())
    return types.CallToolResult(content=[text], structured_content=answer.model_dump(mode="json", exclude_none=True))


def refused(line: str) -> types.CallToolResult:
    """That nothing came of it, and why."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=line)], is_error=True)


def _read(tool: Tool, given: Mapping[str, Any]) -> Args:
    """The arguments, under the names that the tool takes."""
    size = sum(map(len, texts_in(given)))
    if size > LONGEST:
        raise Refused(f"these are {size:,} characters, and one call takes up to {LONGEST:,}; send it in parts", "size")
    return tool.takes.model_validate(tool.meant(given))


def _pending(review: str, person: Person | None) -> str:
    options = person.options if person else ""
    return (
        f"A person must say yes first, and is asked by review {review}: tell the user to run"
        f" `tallystick review approve {review}{options}`. Until then nothing is changed."
    )


# -- asking a person ---------------------------------------------------------------------------------------------------


def _can_ask(ctx: Context) -> bool:
    """Whether the client said that it can put a form to a person. Older ones say so without naming the form."""
    declared = ctx.session.client_capabilities
    can = declared.elicitation if declared else None
    return can is not None and (can.form is not None or can.url is None)


def _question_of(person: Person, review: str) -> Question | None:
    """As the person may read it, who sees it in a dialog of the client."""
    with person.opens() as theirs:
        return consent.question(theirs, review, person.door)


def _ask_back(asked: Question) -> types.InputRequiredResult:
    params = types.ElicitRequestFormParams(message=asked.message, requested_schema=consent.SCHEMA)
    request = types.ElicitRequest(params=params)
    return types.InputRequiredResult(input_requests={consent.KEY: request}, request_state=asked.state())


async def _ask_now(ctx: Context, asked: Question) -> bool | None:
    try:
        reply = await ctx.session.elicit_form(asked.message, consent.SCHEMA, ctx.request_id)
    except (MCPError, ValidationError):
        return None
    return consent.is_approval(reply.action, reply.content)


def _reply_in(params: types.CallToolRequestParams) -> bool | None:
    reply = (params.input_responses or {}).get(consent.KEY)
    return consent.is_approval(reply.action, reply.content) if isinstance(reply, types.ElicitResult) else None


# -- telling how far it is ---------------------------------------------------------------------------------------------


class _Progress:
    """Tells the client how far a call is; one that did not ask is not told. `tick` is called in the memory's thread."""

    def __init__(self, ctx: Context) -> None:
        self._session, self._loop = ctx.session, asyncio.get_running_loop()
        self._done, self._next = 0, 0.0
        self._told: list[asyncio.Task[None]] = []

    def on_progress(self, steps: int) -> None:
        self._done += steps
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _OFTEN
            with suppress(RuntimeError):  # the loop has ended, and nobody waits for it
                self._loop.call_soon_threadsafe(self._tell, self._done)

    def _tell(self, done: int) -> None:
        self._told.append(self._loop.create_task(self._session.report_progress(done)))

    async def end(self) -> None:
        """All that was told is on its way before the answer is."""
        if self._told:
            await asyncio.gather(*self._told, return_exceptions=True)


