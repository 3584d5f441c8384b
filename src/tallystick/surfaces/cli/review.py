"""`tallystick review` and `tallystick trust`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from tallystick.records.errors import Refused
from tallystick.records.fields import TRUST
from tallystick.records.policy import BELIEF, SAME, Policy
from tallystick.surfaces.cli.command import Call, check_usage, command
from tallystick.surfaces.cli.options import complete_entity, complete_review, option, whose
from tallystick.surfaces.present.changes import hint
from tallystick.surfaces.present.names import count, counts, read_moment, short_id, when
from tallystick.surfaces.present.reviews import page, table
from tallystick.surfaces.present.text import bold, column, dim, outcome, row, short, shown, warn

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief
    from tallystick.records.review import Review
    from tallystick.records.trust import SourceStatus

_WORDS = ("approve", "reject", "policy")
_LIMIT = 20  # of a source's statements that are printed before it is approved
_FIELDS = ("source", "user", "session", "agent", "path", "kind", "tag", "confidence", "stated")
_UNITS = tuple((name, timedelta(**{f"{name}s": 1})) for name in ("week", "day", "hour", "minute", "second"))


@command(
    "review",
    "tallystick review",
    "tallystick review c4f1a5",
    'tallystick review approve c4f1a5 --reason "she told me too"',
    "tallystick review reject --all --trust web --yes",
    "tallystick review policy --test erase --trust agent",
    "tallystick review policy --matrix",
    exits={1: "refused, not found, stale, or declined"},
)
@click.argument("names", nargs=-1, metavar="[ID]...", shell_complete=complete_review)
@option("--approve", "Approve: the change is made.")
@option("--reject", "Reject: the change is not made; quarantined words are hidden.")
@option("--grant", "With approve, print the marker for `memory.apply` instead of applying it.")
@option("--reason TEXT", "Why you decide so.", default="")
@option("everything --all", "Decide all pending ones; else list decided ones too.")
@option("--kind ACTION", "Only that action, such as revise or erase.", default="")
@option("--trust WHO", "Only what such a program asks.", type=click.Choice(TRUST), default=None)
@option("--about ENTITY", "Only what is about it: person-ana.", default="", shell_complete=complete_entity)
@option("--source SOURCE", "Only what comes from it: import:3f9a2c01b7de.", default="")
@option("--yes", "With several, do not ask; for scripts.")
@option("--matrix", "With policy: the verdict for every verb on every noun.")
@option("tested --test ACTION", "With policy: the verdict for that action.", default="")
@option("fields --with FIELD=VALUE...", "With --test or --matrix: more about it.")
@whose
def review(
    call: Call, names: tuple[str, ...], approve: bool, reject: bool, grant: bool, reason: str, everything: bool,
    kind: str, trust: str | None, about: str, source: str, yes: bool, matrix: bool, tested: str,
    fields: tuple[str, ...],
) -> None:  # fmt: skip
    """Without an ID, prints the pending reviews, a line each. ID is a review's id or the last six characters of it;
    prints the change as a difference, who asks for it, and why it needs approval. `review approve ID…`, or --approve,
    and `review reject ID…`, or --reject, print the result. Several, or --all, are shown first, and you are asked once;
    --kind, --trust, --about and --source select among them. `review approve --all --source SOURCE` also releases the
    episodes of SOURCE from quarantine: use it to approve an import from another memory.

    An approval is used once. If what a review is about has changed since, it is closed as stale.

    `review policy` prints the policy in force: your rules in tallystick.toml, then the defaults, who may approve, and
    how long an unused approval lasts. With --matrix it prints the verdict for every verb on every noun, by the trust of
    the asker, on something a person stated. With --test it prints the verdict for an ACTION, a verb or a noun and a
    verb (path.merge); FIELD is source, session, agent, path, kind, tag, confidence, or stated, the trust of what would
    be changed.
    """
    word = names[0] if names and names[0] in _WORDS else ""
    if word == "policy":
        _policy(call, names[1:], matrix, tested, trust, about, fields)
        return
    approve, reject, names = approve or word == "approve", reject or word == "reject", names[bool(word) :]
    options = {"kind": kind, "trust": trust or "", "about": about, "source": source}
    selection = {name: value for name, value in options.items() if value}
    _check_usage(names, approve, reject, grant, reason, everything, selection, matrix or tested or fields)
    if not (approve or reject):
        with call.memory(read_only=True) as memory:
            if names:
                found = memory.reviews.get(names[0])
                call.answer(found, page(found, _beliefs(memory, found, as_asked=not found.is_open)))
            else:
                reviews = memory.reviews.all() if everything else memory.reviews.find(**selection)
                call.answer(reviews, _table(memory, reviews))
        return
    with call.memory() as memory:
        if approve and not grant and selection.keys() == {"source"}:
            _approve_source(call, memory, source, reason, yes=yes)
            return
        chosen = [memory.reviews.get(name) for name in dict.fromkeys(names)] or memory.reviews.find(**selection)
        several = len(names) != 1
        if several and chosen and not yes:
            verb = "Grant" if grant else "Approve" if approve else "Reject"
            unattended = "list them with `tallystick review`, confirm with --yes"
            question = f"{verb} {count(len(chosen), 'review')}?"
            call.confirm(question, _table(memory, chosen), unattended=unattended)
        _decide(call, memory, chosen, approve, grant, reason, several=several)


def _check_usage(
    names: tuple[str, ...], approve: bool, reject: bool, grant: bool, reason: str, everything: bool,
    selection: dict[str, str], policy_options: object,
) -> None:  # fmt: skip
    looks = not (approve or reject)
    check_usage(
        (approve and reject, "choose one of --approve and --reject"),
        (names and (everything or selection), "name an ID, or --all with --kind, --trust, --about, --source; not both"),
        (not (looks or names or everything), "name a review: tallystick review approve ID, or --all"),
        (reason and looks, "--reason goes with --approve or --reject"),
        (grant and (not approve or reason), "--grant goes with `review approve`, and takes no reason"),
        (policy_options, "--matrix, --test and --with go with `tallystick review policy`"),
        (looks and len(names) > 1, "one review is shown at a time; `review approve` and `review reject` take several"),
        (looks and everything and selection,
         "--all lists everything; leave --kind, --trust, --about and --source out, or --all"),
    )  # fmt: skip


def _table(memory: Memory, reviews: Sequence[Review]) -> list[str]:
    return [*table([(each, _beliefs(memory, each)) for each in reviews])] or [dim("No pending reviews.")]


def _beliefs(memory: Memory, review: Review, *, as_asked: bool = False) -> list[Belief | None]:
    """The beliefs a review would change, as they are now; for a decided one, as they were when it was asked."""
    moment = review.seq if as_asked else None
    path = review.action.path
    return [memory.get(version, believed_at=moment, path=path) for version in review.action.target]


def _approve_source(call: Call, memory: Memory, source: str, reason: str, *, yes: bool) -> None:
    """Approve everything of a source that is quarantined, at once: nobody reads ten thousand lines for it."""
    pending, episodes = memory.reviews.find(source=source), memory.reviews.quarantined_episodes(source)
    what = counts({"reviews": len(pending), "episodes": len(episodes)})
    if not yes and (pending or episodes):
        unattended = f"list them with `tallystick review --source {shown(source)}`, confirm with --yes"
        question = f"Approve {what} of {shown(source)}?"
        call.confirm(question, _table(memory, pending[:_LIMIT]), unattended=unattended)
    done = memory.reviews.approve_all(reason=reason, source=source)
    failed = sum(bool(each.error) for each in done)
    value = {"source": source, "approved": len(done) - failed, "episodes": len(episodes), "failed": failed}
    line = f"{dim('Approved')} {bold(what)} {dim(f'of {shown(source)}')}"
    call.answer(value, [line if pending or episodes else dim(f"nothing of {shown(source)} is pending")])
    _check_failures(failed)


def _decide(
    call: Call, memory: Memory, chosen: Sequence[Review], approve: bool, grant: bool, reason: str, *, several: bool
) -> None:  # fmt: skip
    """Decide each by itself. Of several, one that fails is reported and does not stop the others."""

    def decide(each: Review) -> tuple[dict[str, Any], str]:
        if grant:
            approval = memory.reviews.grant(each.id, digest=each.digest)
            use = dim(f"{shown(memory.reviews.get(each.id).action.label)}, once, until {when(approval.expires)}")
            return approval.to_dict(), f"{outcome('Granted', each.id[-6:])}{dim(':')} {approval.marker}  {use}"
        if approve:
            each = memory.reviews.approve(each.id, reason=reason, digest=each.digest)
        else:
            each = memory.reviews.reject(each.id, reason=reason)
        done = f"{outcome(each.status.capitalize(), each.id[-6:])}{dim(':')} {shown(each.action.label)}"
        is_undoable = each.action.noun == BELIEF and each.action.kind != "erase" and bool(each.action.target)
        is_changed = is_undoable and (approve or each.action.kind == "trust")
        return each.to_dict(), done + (dim(". ") + hint(short_id(each.action.target[0])) if is_changed else "")

    done = call.one_by_one(chosen, decide)
    found = [value for value, _ in done]
    call.answer(found if several else found[0], [line for _, line in done] or [dim("No pending reviews.")])
    _check_failures(len(chosen) - len(done))


def _check_failures(number: int) -> None:
    if number:
        raise Refused(f"{count(number, 'review')} failed; run `tallystick review` to list them", "incomplete")


def _policy(
    call: Call, rest: Sequence[str], matrix: bool, tested: str, trust: str | None, about: str, fields: Sequence[str]
) -> None:
    has_no_action = (trust and not tested) or ((about or fields) and not (tested or matrix))
    check_usage(
        (rest, "`review policy` takes no ID"),
        (has_no_action, "name an action: tallystick review policy --test ACTION, or --matrix"),
        (tested and matrix, "choose one of --test and --matrix"),
    )
    with call.memory(read_only=True) as memory:
        if matrix:
            rows = memory.matrix(**_fields(fields, about))
            call.answer(rows, _matrix_page(rows))
        elif tested:
            trust, more = trust or "agent", _fields(fields, about)
            verdict = memory.check_policy(tested, trust=trust, **more)
            value = {"action": tested, "trust": trust, "then": verdict.kind, "rule": verdict.rule, "why": verdict.why}
            by = f"rule {verdict.rule}" if verdict.rule else "none of your rules matches; by default"
            who = f"{trust} ({shown(more['source'])})" if more.get("source") else trust
            lines = [f"{bold(verdict.kind)}{dim(':')} {shown(tested)} by {who}{dim(', ')}{by}"]
            call.answer(value, [*lines, *([f"  {shown(verdict.why)}"] if verdict.why else [])])
        else:
            policy = memory.policy
            call.answer(policy, _policy_page(policy))


def _fields(given: Sequence[str], about: str) -> dict[str, Any]:
    found: dict[str, Any] = {"about": about} if about else {}
    for each in given:
        name, separator, value = each.partition("=")
        if not separator or name not in _FIELDS:
            raise click.UsageError(f"--with is FIELD=VALUE, and FIELD one of {', '.join(_FIELDS)}, not {each!r}")
        if name == "tag":
            found["tags"] = (*found.get("tags", ()), value)
        elif name == "confidence":
            try:
                found[name] = float(value)
            except ValueError:
                found[name] = -1.0
            if not 0 <= found[name] <= 1:
                raise click.UsageError(f"confidence must be a number from 0 to 1, not {value!r}")
        elif name == "stated" and value not in TRUST:
            raise click.UsageError(f"stated must be one of {', '.join(TRUST)}, not {value!r}")
        else:
            found[name] = value
    return found


def _matrix_page(rows: dict[str, dict[str, str]]) -> Iterator[str]:
    yield dim(f"  {'':<22}" + "".join(f"{trust:<12}" for trust in TRUST).rstrip())
    noun = ""
    for cell, line in rows.items():
        of, _, verb = cell.rpartition(".")
        if (of or BELIEF) != noun:
            noun = of or BELIEF
            yield bold(noun)
        yield f"  {verb:<22}" + "".join(f"{line[trust]:<12}" for trust in TRUST).rstrip()


def _policy_page(policy: Policy) -> Iterator[str]:
    yield bold("Rules") + dim(": the first that matches decides")
    if not policy.rules:
        yield dim("  none; tallystick.toml can have some under [[policy.rules]]")
    for number, rule in enumerate(policy.rules, 1):
        conditions = {name: value for name, value in rule.to_dict().items() if name != "then"}
        if "confidence" in conditions:
            low, high = conditions.pop("confidence")
            conditions["confidence"] = [f"{low:g} to {high:g}"]
        parts = (f"{name} {shown(' or '.join(value) or '(none)')}" for name, value in conditions.items())
        yield f"  {number:>2}  {rule.then:<10}  {'; '.join(parts) or 'everything'}"
    yield ""
    yield bold("Otherwise")
    yield dim(f"  {'':<22}" + "".join(f"{trust:<14}" for trust in TRUST))
    words = {kind: word for word, kind in SAME.items()}
    for kind, line in policy.table.items():
        name = f"{kind} ({words[kind]})" if kind in words else kind
        yield f"  {name:<22}" + "".join(f"{line[trust]:<14}" for trust in TRUST).rstrip()
    yield ""
    named = [shown(pattern) for pattern in policy.approvers] or ["anyone with the trust of a person"]
    yield from row("approvers", ", ".join(named))
    names = (count(policy.expires // unit, name) for name, unit in _UNITS if not policy.expires % unit)
    yield from row("expires", f"an unused approval after {next(names, policy.expires)}")
    yield ""
    yield dim("  review-above: needs approval for what is trusted more than the asker; else allowed")
    yield dim("  refuse-above: refused for what is trusted more than the asker; else allowed")
    yield dim("  No rule can allow what is refused here")


@command(
    "trust",
    "tallystick trust",
    'tallystick trust --none mcp:3f9a --since 2026-05-03 --reason "it read a poisoned page"',
    "tallystick trust --usual mcp:3f9a",
)
@option("--none SOURCE", "Exclude what it said from recall.")
@option("--usual SOURCE", "Include it in recall again.")
@option("--since MOMENT", "With --none: only what it said from then on.")
@option("--reason TEXT", "Why.", default="")
@whose
def trust(call: Call, none: str | None, usual: str | None, since: str | None, reason: str) -> None:
    """Without an option, prints the sources of current beliefs and episodes: a line for each client and id, how much it
    said, and its status.

    SOURCE is such a name (mcp:3f9a), a whole kind of client (mcp:*), or agent:NAME, session:NAME, trust:web. One event
    excludes everything it said from recall and brings back what it replaced; one event undoes that. Nothing is deleted.
    """
    has_no_source = none is None and (since is not None or (reason and usual is None))
    check_usage(
        (none is not None and usual is not None, "choose one of --none and --usual"),
        (has_no_source, "name a source: tallystick trust --none SOURCE"),
    )
    if none is not None:
        with call.memory() as memory:
            found = memory.distrust(none, since=None if since is None else read_moment(since), reason=reason)
            excluded = (each for each in memory.sources() if each.withheld == found)
            affected = next((each for each in excluded if each.source == found.source), None)
        much = dim(f", which said {_amount(affected)}")
        call.answer(found, [outcome("Excluded", found.source) + much])
    elif usual is not None:
        with call.memory() as memory:
            memory.restore_trust(usual, reason=reason)
        call.answer({"source": usual, "trust": "usual"}, [outcome("Trusted again:", usual)])
    else:
        with call.memory(read_only=True) as memory:
            sources = memory.sources()
        call.answer(sources, _sources(sources))


def _amount(each: SourceStatus | None) -> str:
    found = counts({"beliefs": each.beliefs, "episodes": each.episodes}) if each else "nothing"
    return "nothing current" if found == "nothing" else found


def _sources(sources: Sequence[SourceStatus]) -> Iterator[str]:
    if not sources:
        yield dim("No sources.")
    names = column([short(each.source, 32) for each in sources])
    for name, each in zip(names, sources, strict=True):
        pending = f", {each.waiting} pending" if each.waiting else ""
        last = f", last {when(each.last)}" if each.last else ""
        line = f"{bold(name)}  {dim(each.trust.ljust(6))}  {_amount(each)}{pending}{dim(last)}"
        if each.withheld:
            since = f" since {each.withheld.since}" if each.withheld.since else ""
            why = f": {each.withheld.reason}" if each.withheld.reason else ""
            line += f"  {warn('excluded')}{dim(shown(since + why))}"
        yield line
