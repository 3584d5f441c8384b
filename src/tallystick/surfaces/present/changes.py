"""Changes as a person reads them: what was undone, and what differs between two moments."""

from collections.abc import Iterator, Sequence

from tallystick.records.belief import Change, Undone
from tallystick.records.page import NOTES
from tallystick.surfaces.present.beliefs import STEPS
from tallystick.surfaces.present.names import ago, count, handle
from tallystick.surfaces.present.text import bold, cells, dim, outcome, short, shown, width

WHAT = {"added": "stated", "changed": "changed", "gone": "forgotten"}
_MARKS = {"added": "+", "changed": "~", "gone": "-"}


def undone(found: Undone) -> Iterator[str]:
    """What was undone, or would be, and how to undo that."""
    done = found.seq >= 0
    what = f"{STEPS.get(found.op) or found.op.partition('/')[0]} by {found.by}, {ago(found.at)}"
    yield outcome("Undid" if done else "Would undo", f"event {found.event}", what)
    yield from lines(found.changes)
    yield from (f"  {dim('~')} {short(each, width() - 4)}" for each in found.others)
    if done:
        yield hint(str(found.seq))


def lines(changes: Sequence[Change]) -> Iterator[str]:
    """A line for each belief: what became of it, its name, and its words; below it, what they were, and why."""
    for each in changes:
        belief = each.after or each.before
        name, words = short(handle(each.key), 24), belief.text if belief else ""
        yield f"  {dim(_MARKS[each.what])} {bold(name)}  {short(words, width() - cells(name) - 6)}"
        if each.before and each.after and each.before.text != each.after.text:
            yield f"      {dim('was')}  {dim(short(each.before.text, width() - 11))}"
        if each.before and each.after and each.before.about != each.after.about:
            filed = f"about {each.before.about or NOTES}, now about {each.after.about or NOTES}"
            yield f"      {dim('was')}  {dim(short(filed, width() - 11))}"


def diff(changes: Sequence[Change]) -> Iterator[str]:
    """The changes between two moments, each with the last event that made it, and a count."""
    if not changes:
        yield dim("Nothing changed.")
        return
    for each in changes:
        yield from lines([each])
        why = f", {each.reason}" if each.reason else ""
        made = f"{WHAT[each.what]} {ago(each.at)} by {each.by}, event {each.seq}{why}"
        yield from [f"      {dim(short(made, width() - 6))}"] if each.by else []
    yield dim(count(len(changes), "change"))


def hint(name: str) -> str:
    """How to undo a change, by the name of a belief or the number of an event."""
    return dim(f"Undo with `tallystick undo {shown(name)}`")
