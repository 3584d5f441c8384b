"""`tallystick review`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from tallystick.records.belief import TRUST
from tallystick.records.errors import Refused
from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.confirm import ask, one_by_one
from tallystick.surfaces.cli.given_files import summed
from tallystick.surfaces.cli.map import DECIDE
from tallystick.surfaces.cli.tab import complete_entity, complete_review
from tallystick.surfaces.present.reviews import answered, granted, page, table
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief
    from tallystick.records.review import Review

_WORDS = ("approve", "reject", "policy")
_SHOWN = 20  # of a source's statements, before it is approved


@command(
    DECIDE[0],
    example="""
tallystick review
tallystick review c4f1a5
tallystick review approve c4f1a5 --reason "she told me too"
tallystick review reject --all --trust web --yes
tallystick review policy --test erase --trust agent
tallystick review policy --matrix""",
    exits={1: "refused, not found, stale, or answered with no"},
)
@click.argument("names", nargs=-1, metavar="[ID]...", shell_complete=complete_review)
@click.option("--approve", is_flag=True, help="Say yes: what was asked is done.")
@click.option("--reject", is_flag=True, help="Say no: it is not done; what was quarantined goes out of sight.")
@click.option("--grant", is_flag=True, help="With a yes, print its marker instead of doing it: for `memory.apply`.")
@click.option("--reason", metavar="TEXT", default="", help="Why you answer so.")
@click.option("everything", "--all", is_flag=True, help="Answer all that waits; without an answer, list old ones too.")
@click.option("--kind", metavar="ACTION", default="", help="Only what asks for that, such as revise or erase.")
@click.option("--trust", type=click.Choice(TRUST), metavar="WHO", default=None, help="Only what such a program asks.")
@click.option(
    "--about", metavar="ENTITY", default="", shell_complete=complete_entity, help="Only what is about it: person-ana."
)
@click.option("--source", metavar="SOURCE", default="", help="Only what comes from it: import:3f9a2c01b7de.")
@click.option("--yes", is_flag=True, help="With several, do not ask; for scripts.")
@click.option("matrix", "--matrix", is_flag=True, help="With policy: what becomes of every verb on every noun.")
@click.option("tested", "--test", metavar="ACTION", default="", help="With policy: what would happen to that.")
@click.option("fields", "--with", multiple=True, metavar="FIELD=VALUE", help="With these two: more of what is asked.")
@whose
@pass_call
def review(
    call: Call, names: tuple[str, ...], approve: bool, reject: bool, grant: bool, reason: str, everything: bool,
    kind: str, trust: str | None, about: str, source: str, yes: bool, matrix: bool, tested: str,
    fields: tuple[str, ...],
    user: str | None,
) -> None:  # fmt: skip
    """Answer what waits for a person's yes

    Without an ID, prints what waits, a line each. ID is a review's id or the last six characters of it; prints what
    would be done, as a difference, who asks for it, and why you are asked. `review approve ID…`, or --approve, and
    `review reject ID…`, or --reject, print what became of it. Several, or --all, are shown first, and you are asked
    once; --kind, --trust, --about and --source choose among them. `review approve --all --source SOURCE` also lets in
    the episodes that SOURCE told: so is another memory's import approved.

    An answer is used once. If what a review is about has changed since it was asked, it is closed as stale.

    `review policy` prints the policy in force: your rules in tallystick.toml, then what holds without them, who may
    answer, and how long an unused yes lasts. With --matrix it prints what becomes of every verb on every noun, by the
    trust of the asker, if it meets something of a person's. With --test it says what would happen to an ACTION, a verb
    or a noun and a verb (path.merge); FIELD is source, session, agent, path, kind, tag, confidence, or stated, the
    trust of what would be changed.
    """
    word = names[0] if names and names[0] in _WORDS else ""
    if word == "policy":
        _policy(call, names[1:], matrix, tested, trust, about, fields, user)
        return
    approve, reject, names = approve or word == "approve", reject or word == "reject", names[bool(word) :]
    given = {"kind": kind, "trust": trust or "", "about": about, "source": source}
    which = {name: said for name, said in given.items() if said}
    _check_usage(names, approve, reject, grant, reason, everything, which, matrix or tested or fields)
    if not (approve or reject):
        with call.memory(user=user, read_only=True) as memory:
            _look(call, memory, names, everything, which)
        return
    with call.memory(user=user) as memory:
        if approve and not grant and which.keys() == {"source"}:
            _approve_source(call, memory, source, reason, yes=yes)
            return
        chosen = [memory.reviews.get(name) for name in dict.fromkeys(names)] or memory.reviews.find(**which)
        several = len(names) != 1
        if several and chosen and not yes:
            _ask(call, memory, chosen, "Grant" if grant else "Approve" if approve else "Reject")
        _answer(call, memory, chosen, approve, grant, reason, several=several)


def _check_usage(
    names: tuple[str, ...], approve: bool, reject: bool, grant: bool, reason: str, everything: bool,
    which: dict[str, str], tested: object,
) -> None:  # fmt: skip
    if approve and reject:
        raise click.UsageError("choose one of --approve and --reject")
    if names and (everything or which):
        raise click.UsageError("say which by ID, or --all with --kind, --trust, --about, --source; not both")
    if (approve or reject) and not (names or everything):
        raise click.UsageError("say which: tallystick review approve ID, or --all")
    if reason and not (approve or reject):
        raise click.UsageError("a reason belongs to an answer: --approve or --reject")
    if grant and (not approve or reason):
        raise click.UsageError("--grant belongs to `review approve`, and takes no reason")
    if tested:
        raise click.UsageError("--matrix, --test and --with belong to `tallystick review policy`")
    if len(names) > 1 and not (approve or reject):
        raise click.UsageError("one review is shown at a time; `review approve` and `review reject` take several")


def _policy(
    call: Call, rest: Sequence[str], matrix: bool, tested: str, trust: str | None, about: str,
    fields: Sequence[str], user: str | None,
) -> None:  # fmt: skip
    from tallystick.surfaces.cli.review_policy import in_force, test, whole

    if rest:
        raise click.UsageError("`review policy` takes no ID")
    if (trust and not tested) or ((about or fields) and not (tested or matrix)):
        raise click.UsageError("say what is tested: tallystick review policy --test ACTION, or --matrix")
    if tested and matrix:
        raise click.UsageError("choose one of --test and --matrix")
    with call.memory(user=user, read_only=True) as memory:
        if matrix:
            whole(call, memory, about, fields)
        elif tested:
            test(call, memory, tested, trust or "agent", about, fields)
        else:
            in_force(call, memory)


def _look(call: Call, memory: Memory, names: Sequence[str], everything: bool, which: dict[str, str]) -> None:
    if names:
        found = memory.reviews.get(names[0])
        call.answer(found.to_dict(), lambda: page(found, _beliefs(memory, found, as_asked=not found.is_open)))
        return
    if everything and which:
        raise click.UsageError("--all lists everything; leave --kind, --trust, --about and --source out, or --all")
    reviews = memory.reviews.all() if everything else memory.reviews.find(**which)
    call.answer([each.to_dict() for each in reviews], lambda: _table(memory, reviews))


def _table(memory: Memory, reviews: Sequence[Review]) -> Any:
    return table([(each, _beliefs(memory, each)) for each in reviews]) if reviews else [dim("Nothing waits for a yes")]


def _beliefs(memory: Memory, review: Review, *, as_asked: bool = False) -> list[Belief | None]:
    """What a review would change, as it is now; or as it was when it was asked, for one that is answered."""
    moment = review.seq if as_asked else None
    path = review.action.path
    return [memory.get(version, believed_at=moment, path=path) for version in review.action.target]


def _ask(call: Call, memory: Memory, chosen: Sequence[Review], verb: str) -> None:
    alone = "nobody is here to ask; see what waits with `tallystick review`, answer it with --yes"
    ask(call, lambda: _table(memory, chosen), f"{verb} {count(len(chosen), 'review')}?", alone=alone)


def _approve_source(call: Call, memory: Memory, source: str, reason: str, *, yes: bool) -> None:
    """All that a source said and is quarantined, in one answer: nobody reads ten thousand lines to give it."""
    waiting, episodes = memory.reviews.find(source=source), memory.reviews.quarantined_episodes(source)
    what = summed({"reviews": len(waiting), "episodes": len(episodes)})
    if not yes and (waiting or episodes):
        listing = f"`tallystick review --source {shown(source)}` shows what waits"
        alone = f"nobody is here to ask; {listing}; answer with --yes"
        ask(call, lambda: _table(memory, waiting[:_SHOWN]), f"Approve {what} of {shown(source)}?", alone=alone)
    done = memory.reviews.approve_all(reason=reason, source=source)
    failed = [each for each in done if each.error]
    said = {"source": source, "approved": len(done) - len(failed), "episodes": len(episodes), "failed": len(failed)}
    nothing = [dim(f"nothing of {shown(source)} waits")]
    line = f"{dim('Approved')} {bold(what)} {dim(f'of {shown(source)}')}"
    call.answer(said, lambda: [line] if waiting or episodes else nothing)
    _tell_of_failures(len(failed))


def _answer(
    call: Call, memory: Memory, chosen: Sequence[Review], approve: bool, grant: bool, reason: str, *, several: bool
) -> None:  # fmt: skip
    """Each is answered by itself. Of several, one that cannot be is told of and does not stop the others."""
    if grant:
        given = one_by_one(call, chosen, lambda each: memory.reviews.grant(each.id, digest=each.digest))
        _tell(call, given, lambda each: granted(each, memory.reviews.get(each.review)), several=several)
        return _tell_of_failures(len(chosen) - len(given))
    done = one_by_one(call, chosen, lambda each: _answer_one(memory, each, approve, reason))
    _tell(call, done, answered, several=several)
    return _tell_of_failures(len(chosen) - len(done))


def _tell(call: Call, done: Sequence[Any], line: Callable[[Any], str], *, several: bool) -> None:
    found: list[dict[str, Any]] = [each.to_dict() for each in done]
    call.answer(
        found if several else found[0], lambda: map(line, done) if done else [dim("nothing was answered")]
    )  # fmt: skip


def _tell_of_failures(number: int) -> None:
    if number:
        raise Refused(
            f"{count(number, 'review')} could not be answered; `tallystick review` shows what waits", "incomplete"
        )


def _answer_one(memory: Memory, review: Review, approve: bool, reason: str) -> Review:
    if approve:
        return memory.reviews.approve(review.id, reason=reason, digest=review.digest)
    return memory.reviews.reject(review.id, reason=reason)
