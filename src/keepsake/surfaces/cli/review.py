"""`keepsake review`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from keepsake.records.errors import Moved, Refused
from keepsake.surfaces.cli.belief_options import whose
from keepsake.surfaces.cli.call import Call, on_a_terminal, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import DECIDE
from keepsake.surfaces.cli.moments import count
from keepsake.surfaces.cli.names import complete_review
from keepsake.surfaces.cli.paint import dim
from keepsake.surfaces.cli.review_page import answered, page, table
from keepsake.surfaces.cli.shown import shown

if TYPE_CHECKING:
    from keepsake.memory.memory import Memory
    from keepsake.records.belief import Belief
    from keepsake.records.review import Review


@command(
    DECIDE[0],
    example="""
keepsake review
keepsake review c4f1a5
keepsake review c4f1a5 --approve --reason "she told me too\"""",
    exits={1: "refused, not found, stale, or answered with no"},
)
@click.argument("name", required=False, metavar="[ID]", shell_complete=complete_review)
@click.option("--approve", is_flag=True, help="Say yes: what was asked is done.")
@click.option("--reject", is_flag=True, help="Say no: it is not done; what was quarantined goes out of sight.")
@click.option("--reason", metavar="TEXT", default="", help="Why you answer so.")
@click.option("everything", "--all", is_flag=True, help="Answer all that waits; without an answer, list old ones too.")
@click.option("--yes", is_flag=True, help="With --all, do not ask; for scripts.")
@whose
@pass_call
def review(
    call: Call, name: str | None, approve: bool, reject: bool, reason: str, everything: bool, yes: bool,
    user: str | None,
) -> None:  # fmt: skip
    """Answer what waits for a person's yes

    Without an ID, prints what waits, a line each. ID is a review's id or the last six characters of it; prints what
    would be done, as a difference, who asks for it, and why you are asked. With --approve or --reject, prints what
    became of it.

    An answer is used once. If what a review is about has changed since it was asked, it is closed as stale.
    """
    _check_usage(name, approve, reject, reason, everything)
    if not (approve or reject):
        with call.memory(user=user, read_only=True) as memory:
            _look(call, memory, name, everything)
        return
    with call.memory(user=user) as memory:
        chosen = memory.reviews.waiting() if name is None else [memory.reviews.get(name)]
        if name is None and not yes:
            _ask(call, memory, chosen, approve)
        _answer(call, memory, chosen, approve, reason, several=name is None)


def _check_usage(name: str | None, approve: bool, reject: bool, reason: str, everything: bool) -> None:
    if approve and reject:
        raise click.UsageError("choose one of --approve and --reject")
    if name and everything:
        raise click.UsageError("say one ID, or --all")
    if (approve or reject) and not name and not everything:
        raise click.UsageError("say which: keepsake review ID, or --all")
    if reason and not (approve or reject):
        raise click.UsageError("a reason belongs to an answer: --approve or --reject")


def _look(call: Call, memory: Memory, name: str | None, everything: bool) -> None:
    if name is not None:
        found = memory.reviews.get(name)
        call.answer(found.to_dict(), lambda: page(found, _beliefs(memory, found, as_asked=not found.is_open)))
        return
    reviews = memory.reviews.all() if everything else memory.reviews.waiting()
    call.answer([each.to_dict() for each in reviews], lambda: _table(memory, reviews))


def _table(memory: Memory, reviews: Sequence[Review]) -> Any:
    return table([(each, _beliefs(memory, each)) for each in reviews]) if reviews else [dim("nothing waits")]


def _beliefs(memory: Memory, review: Review, *, as_asked: bool = False) -> list[Belief | None]:
    """What a review would change, as it is now; or as it was when it was asked, for one that is answered."""
    moment = review.seq if as_asked else None
    return [memory.get(version, believed_at=moment) for version in review.action.target]


def _ask(call: Call, memory: Memory, chosen: Sequence[Review], approve: bool) -> None:
    if not chosen:
        return
    if call.json or not on_a_terminal():
        raise Refused("nobody is here to ask; see what waits with `keepsake review`, answer it with --yes")
    click.echo("\n".join(_table(memory, chosen)))
    if not click.confirm(f"\n{'Approve' if approve else 'Reject'} {count(len(chosen), 'review')}?"):
        raise Refused("nothing was answered")


def _answer(call: Call, memory: Memory, chosen: Sequence[Review], approve: bool, reason: str, *, several: bool) -> None:
    """Each is answered by itself. Of several, one that cannot be is told of and does not stop the others."""
    done: list[Review] = []
    failed = 0
    for each in chosen:
        try:
            done.append(_answer_one(memory, each, approve, reason))
        except (Moved, Refused) as error:
            if not several:
                raise
            call.note(f"keepsake: {shown(str(error))}")
            failed += 1
    found = [review.to_dict() for review in done]
    call.answer(found if several else found[0], lambda: map(answered, done) if done else [dim("nothing was answered")])
    if failed:
        raise Refused(f"{count(failed, 'review')} could not be answered; `keepsake review` shows what waits")


def _answer_one(memory: Memory, review: Review, approve: bool, reason: str) -> Review:
    if approve:
        return memory.reviews.approve(review.id, reason=reason, digest=review.digest)
    return memory.reviews.reject(review.id, reason=reason)
