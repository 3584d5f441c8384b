"""Writing, hiding and destroying: `remember`, `observe`, `revise`, `relate`, `forget`, `erase` and `clean`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from tallystick.memory.pages.schema import page_of
from tallystick.records.belief import Belief
from tallystick.records.policy import DEFAULT
from tallystick.surfaces.cli import options as shared
from tallystick.surfaces.cli.command import Call, command, waiting
from tallystick.surfaces.cli.options import complete, given, lines_of, option, text_from, text_or_input
from tallystick.surfaces.present.beliefs import DONE, related, remembered, table
from tallystick.surfaces.present.changes import hint
from tallystick.surfaces.present.names import ago, count, counts, episode_named, handle, short_id, their
from tallystick.surfaces.present.text import bold, cells, dim, outcome, short, shown, warn, width

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.episode import Retraction
    from tallystick.records.status import Erasure


@command(
    "remember",
    'tallystick remember "Ana prefers tea" --about person-ana --tag drinks',
    'tallystick remember "Ana drinks green tea" --key ana-tea --evidence "she said so"',
    "git log -1 --format=%B | tallystick remember --kind decision",
    "cat notes.txt | tallystick remember --lines --tag notes",
)
@click.argument("text", nargs=-1, metavar="TEXT")
@option("--key NAME", "Your own name for it. A known name gets a new version.")
@shared.belief_options
@shared.by_line
def remember(call: Call, /, text: tuple[str, ...], keep_secrets: bool, by_line: bool, **options: Any) -> None:
    """TEXT is the statement; `-`, or nothing, reads it from standard input: all of its lines as one belief or, with
    --lines, each as one. The memory is created on first use. Prints the name of the belief, where it is stored, and its
    page; it is on disk by then. A correction ("the port is 6543" after "the port is 5432") replaces the old belief;
    give it a --key to keep both. The same words again reinforce a belief. Reports contradictions. Masks secrets and
    says so.
    """
    words = text_or_input(
        text, "remember", 'say what to remember: tallystick remember "Ana prefers tea"', by_line=by_line
    )
    fields = {**given(options), "keep_secrets": keep_secrets}
    if by_line and "key" in fields:
        raise click.UsageError("--key names one belief; leave it out with --lines")
    is_new = not call.exists()
    with call.memory(create=True) as memory:
        beliefs, found = [], []
        _which(call, memory, fields)
        with waiting("Recording …"), memory.batch() if by_line else nullcontext():
            for line in lines_of(words) if by_line else [words]:
                belief = memory.remember(line, **fields)
                beliefs.append(belief)
                found.append({**belief.to_dict(), "masked": list(memory.masked)})
        page = "" if call.address() else page_of(beliefs[0])  # in a database are no pages
        if any(_is_quarantined(memory, each) for each in beliefs):
            page = ""
            call.note("tallystick: quarantined until a person approves it: tallystick review")
        if by_line:
            number = count(len(beliefs), "belief")
            call.answer(found, [remembered("Remembered", number, memory.place, is_new=is_new, page=page)])
            return

        def called(name: str) -> str:
            named = memory.get(name, path=fields.get("path", ""))
            return handle(named.key if named else name)

        answer = belief.answer
        assert answer is not None  # `remember` always gives one
        done, more = DONE[answer.what], related(answer, called)
        if answer.what in ("corrected", "revised"):
            more.append(hint(short_id(belief.id)))
        line = remembered(done, handle(belief.key), memory.place, is_new=is_new, page=page, more=more)
        call.answer({**found[0], "answer": answer.to_dict()}, [line])


def _which(call: Call, memory: Memory, fields: dict[str, Any]) -> None:
    """Ask who or what is meant, if several have that name and somebody is there to say."""
    if call.is_attended() and len(found := memory.entities.called(fields.get("about", ""))) > 1:
        fields["about"] = click.prompt(f"{shown(fields['about'])} may be", type=click.Choice(found))


def _is_quarantined(memory: Memory, belief: Belief) -> bool:
    return belief.trust in DEFAULT.quarantined and not memory.reviews.is_approved(belief)


@command(
    "observe",
    """tallystick observe "Let's ship on Friday." --session standup --agent ana""",
    'tallystick observe "The build broke" --at 2026-05-03T14:00:00Z --meta branch=main',
)
@click.argument("text", nargs=-1, metavar="TEXT")
@option("--session NAME", "The conversation it belongs to.", default="")
@option("--agent NAME", "Who said or did it.", default="")
@option("--at TIME", "When it happened.  [now]")
@option("name --id NAME", "Your own name for it, unique in its session and agent.", default="")
@option("--meta KEY=VALUE...", "Something about it. Repeat for more.")
@shared.on_path
@shared.keep_secrets
@shared.by_line
@shared.speaker
def observe(
    call: Call, /, text: tuple[str, ...], name: str, meta: tuple[str, ...], path: str | None, by_line: bool,
    **fields: Any,
) -> None:  # fmt: skip
    """TEXT is kept word for word, with secrets masked; `-`, or nothing, reads it from standard input: all of its lines
    as one episode or, with --lines, each as one. It is not a belief, and `recall` finds it. Prints its id.
    """
    words = text_or_input(text, "observe", 'say what happened: tallystick observe "The build broke"', by_line=by_line)
    if by_line and name:
        raise click.UsageError("--id names one episode; leave it out with --lines")
    if wrong := [each for each in meta if each.find("=") < 1]:
        raise click.UsageError(f"--meta must be KEY=VALUE, not {wrong[0]!r}")
    fields |= {"id": name, "path": path or "", "metadata": dict(each.split("=", 1) for each in meta)}
    is_new = not call.exists()
    with call.memory(create=True) as memory:
        found = []
        with waiting("Recording …"), memory.batch() if by_line else nullcontext():
            for line in lines_of(words) if by_line else [words]:
                episode = memory.observe(line, **fields)
                found.append({**episode.to_dict(), "masked": list(memory.masked)})
    if by_line:
        number = count(len(found), "episode")
        call.answer(found, [remembered("Observed", number, memory.place, is_new=is_new)])
    else:
        call.answer(found[0], [outcome("Observed", short_id(episode.id), episode.content)])


@command(
    "revise",
    'tallystick revise ana-tea "Ana prefers green tea" --reason "she said so today"',
    "tallystick revise ana-tea --confidence 0.9",
)
@click.argument("name", shell_complete=complete)
@click.argument("text", nargs=-1, metavar="[TEXT]")
@option("--reason TEXT", "Why it is better than before.", default="")
@shared.belief_options
def revise(call: Call, /, name: str, text: tuple[str, ...], reason: str, keep_secrets: bool, **options: Any) -> None:
    """NAME is a belief's key, any of its ids, or the last six characters of one. TEXT is the new wording; `-` reads it
    from standard input, and so does a pipe if no option changes anything. Fields that are not given stay. A list that
    is given (tags, evidence) replaces the old one; '' empties it. Prints the name of the belief.

    A version's full id whose words have changed since is refused: read it again with `tallystick show`.
    """
    words, changes = text_from(text, "revise NAME"), given(options)
    has_changes = bool(changes.keys() - {"path"})
    if words is None and not has_changes and not sys.stdin.isatty():
        words = shared.from_standard_input() or None
    if words is None and not has_changes:
        typed = "NAME" if " " in name.strip() else shown(name)  # the new words, perhaps
        raise click.UsageError(f'say what to change: tallystick revise {typed} "the new words", or an option')
    with call.memory() as memory:
        before = memory.get(name, path=changes.get("path", ""))
        belief = memory.revise(name, words, reason=reason, keep_secrets=keep_secrets, **changes)
        masked = list(memory.masked)
        if _is_quarantined(memory, belief):
            why = f"quarantined, as {belief.trust} stated it, until a person approves it"
            call.note(f"tallystick: {why}: tallystick review")
    is_same = before is not None and before.seq == belief.seq
    line = outcome("Nothing to change in" if is_same else "Revised", handle(belief.key), belief.text)
    call.answer({**belief.to_dict(), "masked": masked}, [line] if is_same else [line, hint(short_id(belief.id))])


@command("relate", 'tallystick relate ana-tea ana-sleep "is because of"', "tallystick relate ana-tea ana-sleep ''")
@click.argument("one", shell_complete=complete)
@click.argument("other", shell_complete=complete)
@click.argument("relation")
@shared.on_path
@shared.speaker
def relate(call: Call, one: str, other: str, relation: str, path: str | None) -> None:
    """ONE and OTHER are beliefs or episodes, by key or id. RELATION is in words, read from ONE to OTHER. Given again,
    it replaces the words, in whichever order the two are named; an empty one removes the relation. Prints the relation,
    and whether it is new.

    Recall serves one of them after the other, where only that one answers. `tallystick show ONE` lists its relations.
    """
    with call.memory() as memory:
        is_new = memory.relate(one, other, relation, path=path or "")
    words = " ".join(relation.split())
    value = {"one": one, "other": other, "relation": words, "is_new": is_new}
    first, second = bold(shown(one)), bold(shown(other))
    if words:
        line = f"{first} {shown(words)} {second}" + ("" if is_new else dim(" (already known)"))
    else:
        line = f"{first} and {second} {'are no longer related' if is_new else 'were not related'}"
    call.answer(value, [line])


# -- hiding and destroying ---------------------------------------------------------------------------------------------


@command("forget", 'tallystick forget ana-tea --reason "she moved away"')
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete)
@option("--reason TEXT", "Why it is no longer wanted.", default="")
@option("--withdraw", "With an episode, forget the facts that come from it alone as well.")
@shared.on_path
@shared.speaker
def forget(call: Call, names: tuple[str, ...], reason: str, withdraw: bool, path: str | None) -> None:
    """Prints each, and when it was forgotten if it was before. All are forgotten, or none. `tallystick show NAME
    --history` still shows them; `tallystick erase` is the command that destroys words.

    NAME may be an episode's id: it is no longer recalled or consolidated, and the facts that come from it are listed.
    """
    with call.memory() as memory:
        episodes = {name: episode for name in names if (episode := episode_named(memory, name))}
        if withdraw and not episodes:
            raise click.UsageError("--withdraw goes with an episode: tallystick forget EPISODE --withdraw")
        with memory.batch():
            beliefs = [_forget(memory, name, reason, path or "") for name in names if name not in episodes]
            retraction = None
            if episodes:
                retraction = memory.episodes.retract(*episodes.values(), reason=reason, withdraw=withdraw)
    found = [belief.to_dict() for belief, *_ in beliefs]
    value = found if retraction is None else {"beliefs": found, **retraction.to_dict()}
    lines = [*(line for _, line, _ in beliefs), *(_retracted(retraction) if retraction else ())]
    fresh = [belief.id for belief, _, is_new in beliefs if is_new] + list(episodes.values())
    call.answer(value, [*lines, *(hint(short_id(name)) for name in fresh[:1])])


def _forget(memory: Memory, name: str, reason: str, path: str) -> tuple[Belief, str, bool]:
    """The belief, the line about it, and whether it was not forgotten before."""
    before = memory.get(name, path=path)
    belief = memory.forget(name, reason=reason, path=path)
    assert isinstance(belief, Belief)  # episodes go another way
    if before is None or before.seq != belief.seq:
        return belief, outcome("Forgot", handle(belief.key), belief.text), True
    name, already = shown(handle(belief.key)), f"was already forgotten, {ago(belief.at)}"
    words = short(belief.text, width() - cells(f"{name} {already}: "))
    return belief, f"{bold(name)} {dim(already + ':')} {words}", False


def _retracted(retraction: Retraction) -> Iterator[str]:
    for episode in retraction.episodes:
        yield outcome("Retracted", short_id(episode.id), episode.content)
    alone = "withdrawn with it" if retraction.withdrawn else "has no other source, and stays; --withdraw removes it too"
    for facts, how in ((retraction.resting, alone), (retraction.shared, "has other sources, and stays")):
        for fact in facts:
            words = " → ".join(fact.triple) or str(fact.payload.get("text") or fact.payload.get("content") or "")
            yield f"  {dim(short(handle(fact.id), 24))}  {short(words, 60)}  {dim(how)}"


@command("erase", "tallystick erase ana-tea --yes", exits={1: "refused, not found or declined"})
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete)
@shared.yes
@option("--dry-run", "Show what would be erased, and stop.")
@shared.speaker
def erase(call: Call, names: tuple[str, ...], yes: bool, dry_run: bool) -> None:
    """NAME is a belief's or an episode's, or that of something else that has words, with its kind in front: `page:`
    (description, title, tags), `path:` (and everything said on it), `source:` (why it is not trusted), `frame:`,
    `rule:`, `setting:`, `receipt:` (and its question), `session:`, `node:` (of the graph) or `graph:metadata`.

    Prints what would be erased and asks first. The words of every version of each NAME are destroyed, here and in the
    backups inside the folder, and cannot be recovered. It stays provable that something was recorded. Copies elsewhere
    are listed, not reached.
    """
    with call.memory() as memory:
        names = tuple(episode_named(memory, name) or name for name in names)
        preview = memory.preview_erase(*names)
        if dry_run:
            call.answer({**preview.to_dict(), "erased": False}, _plan(preview, memory.place))
            return
        if not yes and memory.trust == "human":  # anyone else needs a person's approval
            call.confirm(
                "Destroy these words for good?", _plan(preview, memory.place), no="nothing was erased",
                unattended="erasing cannot be undone; preview it with --dry-run, confirm with --yes",
            )  # fmt: skip
        with waiting("Erasing …"):
            erased = memory.erase(*names)
    events = dim(f", {count(erased.events, 'event')} of the ledger")
    line = f"{dim('Erased')} {bold(_counted(erased))}{events}"
    call.answer({**erased.to_dict(), "erased": True}, [line, *_elsewhere(erased, "were not reached")])


def _plan(preview: Erasure, place: str) -> Iterator[str]:
    number = len(preview.beliefs) + len(preview.episodes) + len(preview.things)
    yield bold(f"{_counted(preview)} would lose {their(number or 1)} words:")
    yield from table(list(preview.beliefs), "  ")
    for episode in preview.episodes:
        yield f"  {dim(short(short_id(episode.id), 24))}  {short(episode.content, 60)}"
    yield from (f"  {shown(each)}" for each in preview.things)
    yield ""
    yield f"  {count(preview.events, 'event')} of the ledger"
    if preview.backups:
        yield f"  {count(len(preview.backups), 'backup')} inside {shown(place)}"
    yield from _elsewhere(preview, "would not be reached")


def _counted(erasure: Erasure) -> str:
    numbers = (len(erasure.beliefs), "belief"), (len(erasure.episodes), "episode"), (len(erasure.things), "other thing")
    return " and ".join(count(number, what) for number, what in numbers if number) or "what needed approval"


def _elsewhere(erasure: Erasure, how: str) -> Iterator[str]:
    if erasure.elsewhere:
        yield warn(f"  copies elsewhere {how}; remove them yourself, or erase there too:")
        yield from (f"    {shown(place)}" for place in erasure.elsewhere)
    if erasure.needs_sweep:
        yield dim("  hidden at once; in the files of the database until `tallystick sweep`")


@command("clean", "tallystick clean memory --yes", exits={1: "refused or declined"})
@click.argument("what", type=click.Choice(("memory", "all")), metavar="WHAT")
@shared.yes
@option("--reason TEXT", "Why.", default="cleaned")
@shared.speaker
def clean(call: Call, what: str, yes: bool, reason: str) -> None:
    """WHAT is `memory`, every belief and page; or `all`, observations and rules as well. Prints how much it would hide
    and asks first. All of it stays in history, where `show`, `log` and `recall --at` find it; `tallystick erase` is the
    command that destroys. Settings are not touched.
    """
    with call.memory() as memory:
        pages = len(memory.pages.list(include_dormant=True, include_archived=True))
        hidden = {"beliefs": memory.status().beliefs, "pages": pages}
        if what == "all":
            hidden |= {"episodes": memory.episodes.health().fragment_count or 0, "rules": len(list(memory.rules))}
        if not yes and memory.trust == "human":  # anyone else is refused
            unattended = f"this would hide {counts(hidden)}; confirm with --yes"
            plan = [bold("This would be hidden:")]
            plan += [f"  {count(number, noun.removesuffix('s'))}" for noun, number in hidden.items()]
            if what == "memory":
                plan.append(dim("  observations stay; `tallystick clean all` includes them"))
            plan.append(dim("  everything stays in history; `tallystick erase` destroys"))
            call.confirm("Hide all of it?", plan, unattended=unattended)
        with waiting("Cleaning …"):
            gone = memory.pages.clean(everything=what == "all", reason=reason)
    memories = bold(f"{gone:,} {'memory' if gone == 1 else 'memories'}")
    line = f"{dim('Cleaned')} {memories}{dim(',')} {count(pages, 'page')}"
    call.answer({"what": what, "gone": gone, "pages": pages}, [line])
