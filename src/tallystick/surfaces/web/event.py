"""One event of the ledger: what it says, where it stands in the chain, and the proof that it does.

Looking signs nothing. The proof leads to the last checkpoint that has the event; before there is one, to the tree as it
stands here, and a form offers to sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Route

from tallystick.records.errors import NotFound, TallystickError
from tallystick.surfaces.present.text import shown_in_json
from tallystick.surfaces.web.event_view import address_of, scope_of, told_of, trust_of, verb
from tallystick.surfaces.web.render import ask, command_of, form_of, shown, then

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.maintenance.proof import Proof
    from tallystick.memory.memory import Memory
    from tallystick.records.event import Event

_LONGEST = 60_000  # characters of JSON that a page shows
_ROOM = 600
_DIGITS = 16  # as many as the number of an event may have


@dataclass(frozen=True, slots=True)
class EventView:
    """All that the page tells of an event."""

    event: Event
    verb: str
    words: str
    address: str
    trust: str
    session: str
    agent: str
    body: str  # as JSON; empty, if it is erased
    is_cut: bool
    header: dict[str, Any]
    earlier: int | None
    later: int | None
    proof: Proof | None
    signed_at: str
    unproved: str  # why there is no proof
    may_sign: bool
    commands: dict[str, str]


async def event(request: Request) -> Response:
    seq = _seq(request)
    found = await ask(request, lambda memory: _shown(memory, seq))
    return shown(request, "event.html", shown=found)


async def sign(request: Request) -> Response:
    """Take a checkpoint, so that the proof convinces others too."""
    seq = _seq(request)
    await form_of(request)
    await ask(request, lambda memory: memory.ledger.prove(_found(memory, seq).seq))
    return then(f"/timeline/{seq}#proof")


async def proof(request: Request) -> Response:
    """The proof as the file that `tallystick ledger prove --check` takes."""
    seq = _seq(request)
    text = await ask(request, lambda memory: memory.ledger.proof(_found(memory, seq).seq).text)
    if not text:
        raise NotFound(f"no checkpoint has event {seq} yet; sign one on its page")
    return PlainTextResponse(text, headers={"content-disposition": f'attachment; filename="event-{seq}.proof.txt"'})


def is_number(text: str) -> bool:
    """Whether it may be the number of an event."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


def _seq(request: Request) -> int:
    said = request.path_params["seq"]
    if not is_number(said):
        raise NotFound(f"{said[:40]!r} is not the number of an event; the timeline has them all")
    return int(said)


def _found(memory: Memory, seq: int) -> Event:
    """The event, if it is this user's or the ledger's own."""
    found = next(iter(memory.log_page(before=seq + 1, limit=1, reach=1).events), None)
    if found is None or found.seq != seq:
        raise NotFound(f"there is no event {seq} to show; the timeline has what there is")
    return found


def _shown(memory: Memory, seq: int) -> EventView:
    found = _found(memory, seq)
    proof, unproved = _proof(memory, seq)
    body = _written(found.body)
    earlier = memory.log_page(before=seq, limit=1).events
    later = memory.log_page(after=seq, limit=1).events
    session, agent = scope_of(found)
    kept = {each.size: each.at for each in memory.ledger.checkpoints() if not each.trouble}
    return EventView(
        found, verb(found.op), told_of(memory, found, _ROOM).words, address_of(memory, found), trust_of(found),
        session, agent, body[:_LONGEST], len(body) > _LONGEST, proof.event if proof else {},
        earlier[0].seq if earlier else None,
        later[0].seq if later and later[0].seq > seq else None, proof, kept.get(proof.size, "") if proof else "",
        unproved, memory.writable, _commands(memory, seq, proof),
    )  # fmt: skip


def _written(body: dict[str, Any] | None) -> str:
    """What an event says, as readable JSON; nothing, if it is erased."""
    return "" if body is None else shown_in_json(orjson.dumps(body, option=orjson.OPT_INDENT_2).decode())


def _proof(memory: Memory, seq: int) -> tuple[Proof | None, str]:
    """The proof; or why there is none: what is damaged, rolled back or moved away proves nothing."""
    try:
        return memory.ledger.proof(seq), ""
    except TallystickError as error:
        return None, str(error)


def _commands(memory: Memory, seq: int, proof: Proof | None) -> dict[str, str]:
    key = proof.key if proof else ""
    return {
        "log": command_of(memory, f"log {seq} --json", takes_user=False),
        "check": f"tallystick ledger prove --check event-{seq}.proof.txt --key '{key}'" if key else "",
    }


routes: list[BaseRoute] = [
    Route("/timeline/{seq}", event, methods=["GET"]),
    Route("/timeline/{seq}/sign", sign, methods=["POST"]),
    Route("/timeline/{seq}/proof.txt", proof, methods=["GET"]),
]
