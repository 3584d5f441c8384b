"""Beliefs as a person reads them: one on a line, all of one, its history, and the answer to `remember`."""

from collections.abc import Callable, Iterable, Iterator

from tallystick.records.belief import OWNER, Belief, RememberResult, Version
from tallystick.records.fact import steps_in
from tallystick.records.recall import Neighbour
from tallystick.surfaces.present.names import ago, count, handle, short_id, short_path, when
from tallystick.surfaces.present.text import bold, cells, column, dim, lines, row, short, shown, warn, width

STANDING = {"active": "current", "tombstone": "forgotten", "invalidated": "invalidated"}
DONE = {"new": "Remembered", "known": "Already known as", "corrected": "Corrected", "revised": "Revised"}
EPISODES = 5  # the last ones of a fact
STEPS = {
    "belief.put/1": "remembered", "belief.supersede/1": "revised", "belief.tombstone/1": "forgotten",
    "belief.invalidate/1": "invalidated", "review.answer/1": "approved", "page.rename/1": "renamed",
    "graph.merge/1": "merged",
}  # fmt: skip


def table(beliefs: list[Belief], indent: str = "") -> Iterator[str]:
    """A line for each belief: its name, its confidence, its first words."""
    names = column([short(handle(belief.key), 24) for belief in beliefs])
    for name, belief in zip(names, beliefs, strict=True):
        confidence = f"{belief.confidence:<4.2g}"
        room = width() - len(indent) - cells(name) - 2 - len(confidence) - 2
        words = short(belief.text, room) or dim("(no text)")
        yield f"{indent}{dim(name)}  {dim(confidence)}  {words if belief.is_held else dim(words)}"


def page(belief: Belief, names: dict[str, str], episodes: dict[str, str]) -> Iterator[str]:
    """Everything about a belief. `names` are those of what it depends on, `episodes` the words of its episodes."""
    yield from (bold(text) for text in lines(belief.text or "(no text)"))
    yield ""
    for name, value in _rows(belief, names):
        yield from row(name, value)
    steps = {name: step for step in steps_in(belief.views) for name in step.get("source_episode_ids", ())}
    found = [f"and {count(len(steps) - EPISODES, 'episode')} before"] if len(steps) > EPISODES else []
    for name, step in list(steps.items())[-EPISODES:]:
        rule = dim(f"(rule {short(str(step.get('rule_id', '')), 24)})")
        found.append(" ".join(filter(None, (short(name, 26), short(episodes.get(name, ""), 60), rule))))
    yield from row("episodes", found)


def neighbours(near: list[Neighbour]) -> list[str]:
    """The memories that one is related to, a line each: how, to which, and its words."""
    found = []
    for each in near:
        memory, how = each.memory, short(each.relation, 60)
        if isinstance(memory, Belief):
            name, words = short(handle(memory.key), 26), memory.text
        else:
            name, words = short(short_id(memory.id), 26), memory.content
        found.append(f"{f'{name} {how} this' if each.turned else f'{how} {name}'}{dim(':')} {short(words, 60)}")
    return found


def _rows(belief: Belief, names: dict[str, str]) -> Iterator[tuple[str, str | list[str]]]:
    status = STANDING.get(belief.status, belief.status)
    yield "name", [shown(handle(belief.key)), dim(f"this version: {shown(belief.id)}")]
    yield "status", (status if belief.is_held else warn(status)) + (", a hypothesis" if belief.is_hypothesis else "")
    yield "kind", shown(belief.kind)
    yield "confidence", f"{belief.confidence:g} ({shown(belief.source_type)})"
    yield "about", shown(belief.about)
    yield "triple", shown(" → ".join(belief.triple))
    yield "tags", shown(", ".join(belief.tags))
    yield "evidence", [short(piece, 400) for piece in belief.evidence]
    yield "rests on", [shown(names.get(ref, handle(ref))) for ref in belief.rests_on]
    span = (("from", belief.valid_from), ("to", belief.valid_to))
    yield "valid", shown(" ".join(f"{word} {day}" for word, day in span if day))
    yield "expires", shown(belief.expires)
    yield "served", "always, in every frame whose filters it passes" if belief.always else ""
    yield "because", short(belief.reason, 400)
    origin = {
        "user": "" if belief.user == OWNER else belief.user, "session": belief.session, "agent": belief.agent,
        "trust": "" if belief.trust == "human" else belief.trust,
    }  # fmt: skip
    yield "from", shown(", ".join(f"{name} {value}" for name, value in origin.items() if value))
    if belief.data:
        yield "data", f"{len(belief.data)} fields, shown by --json"
    yield "recorded", f"{ago(belief.at)}, event {belief.seq} {dim(f'({when(belief.at)})')}"


def history(versions: list[Version]) -> Iterator[str]:
    """Every version, oldest first, a line or two each."""
    room = max((len(str(version.seq)) for version in versions), default=1)
    for version in versions:
        belief = version.belief
        left = f"{version.seq:>{room}}  {when(version.at)}  "
        step = f"{STEPS.get(version.op, version.op):<11}  {belief.confidence:<4.2g}  "
        indent = len(left) + len(step)
        yield dim(left) + step + short(belief.text, width() - indent)
        if belief.reason:
            yield " " * indent + dim(short(f"because {belief.reason}", width() - indent))


def remembered(verb: str, what: str, place: str, *, is_new: bool, page: str = "", more: Iterable[str] = ()) -> str:
    """The answer to `remember` and `observe`: what was done, where it is kept, its page, and related beliefs."""
    where = dim(f"in {short_path(place)}") + (" (new)" if is_new else "")
    rest = [*([dim(f"On page {shown(page)}")] if page else []), *more]
    return f"{dim(verb)} {bold(shown(what))} {where}{dim('.')} {dim('. ').join(rest)}".rstrip()


def related(answer: RememberResult, called: Callable[[str], str]) -> list[str]:
    """What it replaced, and the beliefs that it contradicts or nearly repeats, by the names that `called` gives."""
    was = [f"It was: {short(answer.was, 80)}"] if answer.was else []
    against = zip(answer.contradicts, answer.why, strict=True)
    found = [warn(f"It contradicts {shown(called(name))}") + dim(f" ({short(why, 60)})") for name, why in against]
    near = ", ".join(shown(called(name)) for name in answer.near)
    marks = [warn(line[0].upper() + line[1:]) for line in map(str, answer.marks)]
    return [*was, *found, *marks, *([dim(f"Near to {near}")] if near else [])]
