"""The tools that look after the memory: review, status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from tallystick.records.errors import Refused
from tallystick.records.review import Applied, Review
from tallystick.surfaces.mcp.tool import Answer, Args, Names, Path, Tool, maybe
from tallystick.surfaces.mcp.wording import exactly
from tallystick.surfaces.server.worker import CallContext

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

# -- review ------------------------------------------------------------------------------------------------------------


class ReviewArgs(Args):
    action: Literal["list", "propose", "withdraw"] = Field(default="list", description="What to do.")
    id: str | None = maybe("withdraw: which review. list: only this one.")
    kind: Literal["revise", "forget", "invalidate", "promote", "reinforce", "merge", "trust", "erase"] | None = maybe(
        "propose: what a person should decide on."
    )
    ids: Names | None = maybe("propose: the beliefs it is about.")
    text: str | None = maybe("propose revise: what should be said instead.")
    reason: str = Field(default="", description="propose, withdraw: why.")
    path: Path = ""


class Waiting(BaseModel):
    """One question to a person. The words it is about are not in it: get reads them."""

    id: str
    kind: str = Field(description="What would be done.")
    ids: list[str] = Field(description="The beliefs it would be done to.")
    why: str = Field(description="Why a person is asked.")
    by: str = Field(description="The door and source that asks.")
    trust: str = Field(description="How far the asker is trusted.")
    status: str
    at: str


class Reviews(Answer):
    done: str = Field(description="listed, proposed, withdrawn, or applied: the policy needed nobody's yes.")
    reviews: list[Waiting]
    ids: list[str] | None = maybe("applied: the versions that were stated by it.")

    def text(self) -> str:
        if self.done == "applied":
            return f"Done at once: nobody's yes was needed. {' '.join(map(exactly, self.ids or ()))}".strip()
        if not self.reviews:
            return "Nothing waits for a person's yes."
        lines = [
            f"{each.id} {each.kind} {' '.join(map(exactly, each.ids))} ({each.status}; {each.why}; "
            f"asked by {exactly(each.by)})"
            for each in self.reviews
        ]
        answer = "A person answers with `tallystick review approve ID` or `tallystick review reject ID`."
        return "\n".join([f"{self.done.capitalize()}:", *lines, answer])


def _review(context: CallContext, args: ReviewArgs) -> Reviews:
    reviews = context.memory.reviews
    if args.action == "withdraw":
        if not args.id:
            raise Refused("say which review is withdrawn: id", "required")
        return Reviews(done="withdrawn", reviews=[_shown(reviews.withdraw(args.id, reason=args.reason))])
    if args.action == "propose":
        return _propose(context.memory, args)
    found = [reviews.get(args.id)] if args.id else reviews.waiting()
    return Reviews(done="listed", reviews=[_shown(each) for each in found])


def _propose(memory: Memory, args: ReviewArgs) -> Reviews:
    if args.kind is None or not args.ids:
        raise Refused("say what is proposed, and of which beliefs: kind, ids", "required")
    said: dict[str, Any] = {"text": args.text} if args.text is not None else {}
    found = memory.propose(memory.action(args.kind, *args.ids, reason=args.reason, path=args.path, **said))
    if isinstance(found, Applied):
        return Reviews(done="applied", reviews=[], ids=list(found.ids) or None)
    return Reviews(done="proposed", reviews=[_shown(found)])


def _shown(review: Review) -> Waiting:
    action = review.action
    return Waiting(
        id=review.id, kind=action.cell, ids=list(action.target), why=review.why, by=action.by, trust=action.trust,
        status=review.status, at=review.asked_at,
    )  # fmt: skip


REVIEW = Tool(
    name="review",
    title="What waits for a person",
    description="""\
Look at what waits for a person's yes, propose something for a person to decide, or withdraw what you proposed. Call \
it when the user asks what is pending, or when you want a person to settle something that is not yours to do. You \
cannot answer a review: a person does, in their client or with `tallystick review`. What needs nobody's yes is done at \
once when you propose it.

Gives the reviews: what would be done to which ids, why a person is asked, and how each stands.

Example: {"action": "propose", "kind": "merge", "ids": ["c4f1a5", "9be012"], "reason": "they say the same"}""",
    takes=ReviewArgs,
    gives=Reviews,
    run=_review,
    destroys=True,
    is_idempotent=True,
    also={
        "review": "id", "review_id": "id", "names": "ids", "beliefs": "ids", "belief": "ids", "memory_ids": "ids",
        "because": "reason", "why": "reason", "content": "text", "command": "action", "op": "action",
        "operation": "action", "type": "kind", "branch": "path",
    },
)  # fmt: skip

# -- status ------------------------------------------------------------------------------------------------------------


class StatusArgs(Args):
    pass


class Status(Answer):
    beliefs: int = Field(description="Held now.")
    forgotten: int
    events: int = Field(description="Lines of the ledger; each has a number for believed_at.")
    last: str = Field(description="When something was last recorded.")
    waiting: int = Field(description="Questions that wait for a person's yes.")
    trust: str = Field(description="As whom you write: human, agent, tool, web or import.")
    writable: bool
    trouble: str = Field(description="What is wrong with the memory, if anything.")
    frames: list[str] = Field(description="Names of frames that recall can fill.")

    def text(self) -> str:
        trouble = f"Trouble: {self.trouble}" if self.trouble else "No trouble was seen."
        written = "" if self.writable else " It can only be read here."
        return (
            f"{self.beliefs} beliefs held, {self.forgotten} forgotten, {self.events} events, the last at {self.last}. "
            f"{self.waiting} wait for a person's yes. You write as {self.trust}.{written} {trouble}"
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
    name="status",
    title="How the memory stands",
    description="""\
See how much is remembered, what waits for a person, as whom you write, and whether anything is wrong. Call it when \
the user asks about the memory itself, or when another call was refused and you want to know why. Not needed before \
recall or remember.

Gives counts, the names of frames, and trouble, if there is any.

Example: {}""",
    takes=StatusArgs,
    gives=Status,
    run=_status,
    reads_only=True,
)
