"""The tools that look after the memory: review, status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from tallystick.records.errors import Refused
from tallystick.records.review import Applied, Review
from tallystick.surfaces.mcp.format import exactly
from tallystick.surfaces.mcp.tool import Answer, Args, Names, Tool, aliases, maybe
from tallystick.surfaces.server.worker import CallContext

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

# -- review ------------------------------------------------------------------------------------------------------------


class ReviewArgs(Args):
    action: Literal["list", "propose", "withdraw"] = Field(default="list", description="What to do.")
    id: str | None = maybe("withdraw: which review. list: only this one.")
    kind: Literal["revise", "forget", "invalidate", "promote", "reinforce", "merge", "trust", "erase"] | None = maybe(
        "propose: the action that a person should decide on."
    )
    ids: Names | None = maybe("propose: the beliefs to act on.")
    text: str | None = maybe("propose revise: the new words.")
    reason: str = Field(default="", description="propose, withdraw: why.")
    path: str = ""


class Waiting(BaseModel):
    """One review, without the words of the beliefs: get reads them."""

    id: str
    kind: str = Field(description="The requested action.")
    ids: list[str] = Field(description="The beliefs to act on.")
    why: str = Field(description="Why it needs approval.")
    by: str = Field(description="The surface and source that requested it.")
    trust: str = Field(description="The trust of the requester.")
    status: str
    at: str


class Reviews(Answer):
    done: str = Field(description="listed, proposed, withdrawn, or applied: the policy needed no approval.")
    reviews: list[Waiting]
    ids: list[str] | None = maybe("applied: the new versions.")

    def text(self) -> str:
        if self.done == "applied":
            return f"Done at once: no approval was needed. {' '.join(map(exactly, self.ids or ()))}".strip()
        if not self.reviews:
            return "No pending reviews."
        lines = [
            f"{each.id} {each.kind} {' '.join(map(exactly, each.ids))} ({each.status}; {each.why}; "
            f"requested by {exactly(each.by)})"
            for each in self.reviews
        ]
        answer = "A person answers with `tallystick review approve ID` or `tallystick review reject ID`."
        return "\n".join([f"{self.done.capitalize()}:", *lines, answer])


def _review(context: CallContext, args: ReviewArgs) -> Reviews:
    reviews = context.memory.reviews
    if args.action == "withdraw":
        if not args.id:
            raise Refused("withdraw needs the id of a review: id", "required")
        return Reviews(done="withdrawn", reviews=[_waiting(reviews.withdraw(args.id, reason=args.reason))])
    if args.action == "propose":
        return _propose(context.memory, args)
    found = [reviews.get(args.id)] if args.id else reviews.waiting()
    return Reviews(done="listed", reviews=list(map(_waiting, found)))


def _propose(memory: Memory, args: ReviewArgs) -> Reviews:
    if args.kind is None or not args.ids:
        raise Refused("propose needs an action and the beliefs to act on: kind, ids", "required")
    changes: dict[str, Any] = {"text": args.text} if args.text is not None else {}
    found = memory.propose(memory.action(args.kind, *args.ids, reason=args.reason, path=args.path, **changes))
    if isinstance(found, Applied):
        return Reviews(done="applied", reviews=[], ids=list(found.ids) or None)
    return Reviews(done="proposed", reviews=[_waiting(found)])


def _waiting(review: Review) -> Waiting:
    action = review.action
    return Waiting(
        id=review.id, kind=action.cell, ids=list(action.target), why=review.why, by=action.by, trust=action.trust,
        status=review.status, at=review.asked_at,
    )  # fmt: skip


REVIEW = Tool(
    "review", "Pending reviews",
    """\
List what needs a person's approval, propose something for a person to decide, or withdraw what you proposed. Call it \
when the user asks what is pending, or when you want a person to decide something that is not yours to do. You cannot \
answer a review: a person does, in their client or with `tallystick review`. What needs no approval is done at once \
when you propose it.

Gives the reviews: the action, the ids, why it needs approval, and the status of each.

Example: {"action": "propose", "kind": "merge", "ids": ["c4f1a5", "9be012"], "reason": "they say the same"}""",
    ReviewArgs, Reviews, _review, destroys=True, is_idempotent=True,
    also=aliases(
        id="review review_id", ids="names beliefs belief memory_ids", reason="because why", text="content",
        action="command op operation", kind="type", path="branch",
    ),
)  # fmt: skip

# -- status ------------------------------------------------------------------------------------------------------------


class StatusArgs(Args):
    pass


class Status(Answer):
    beliefs: int = Field(description="The number of current beliefs.")
    forgotten: int
    events: int = Field(description="Lines of the ledger; each has a number for believed_at.")
    last: str = Field(description="When something was last recorded.")
    waiting: int = Field(description="The number of pending reviews.")
    trust: str = Field(description="Your trust: human, agent, tool, web or import.")
    writable: bool
    trouble: str = Field(description="What is wrong with the memory, if anything.")
    frames: list[str] = Field(description="Names of frames that recall can fill.")

    def text(self) -> str:
        trouble = f"Trouble: {self.trouble}" if self.trouble else "No trouble."
        read_only = "" if self.writable else " It is read-only here."
        return (
            f"{self.beliefs} beliefs, {self.forgotten} forgotten, {self.events} events, the last at {self.last}. "
            f"{self.waiting} pending reviews. You write as {self.trust}.{read_only} {trouble}"
        )


def _status(context: CallContext, _: StatusArgs) -> Status:
    memory = context.memory
    found = memory.status()
    return Status(
        beliefs=found.beliefs, forgotten=found.forgotten, events=found.events, last=found.last,
        waiting=len(memory.reviews), trust=memory.trust, writable=found.writable and not found.trouble,
        trouble=found.trouble, frames=[frame.name for frame in memory.frames.all()],
    )  # fmt: skip


STATUS = Tool(
    "status", "Status of the memory",
    """\
See how much is remembered, which reviews are pending, your own trust, and whether anything is wrong. Call it when the \
user asks about the memory itself, or when another call was refused and you want to know why. Not needed before recall \
or remember.

Gives counts, the names of frames, and trouble, if there is any.

Example: {}""",
    StatusArgs, Status, _status, reads_only=True,
)  # fmt: skip
