"""Writing: `tallystick remember`, `observe`, `revise` and `relate`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from tallystick.memory.pages.page_of_belief import page_of
from tallystick.records.policy import DEFAULT
from tallystick.surfaces.cli import options as shared
from tallystick.surfaces.cli.command import Call, command, has_ledger
from tallystick.surfaces.cli.options import complete, given, lines_of, option, text_from, text_or_input
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.beliefs import DONE, related, remembered
from tallystick.surfaces.present.names import handle, short_id
from tallystick.surfaces.present.terminal import bold, dim, outcome
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief


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
    is_new = not has_ledger(call.locate())
    with call.memory(create=True) as memory:
        beliefs, found = [], []
        with waiting("Recording …"), memory.batch() if by_line else nullcontext():
            for line in lines_of(words) if by_line else [words]:
                belief = memory.remember(line, **fields)
                beliefs.append(belief)
                found.append({**belief.to_dict(), "masked": list(memory.masked)})
        page = page_of(beliefs[0])
        if any(_is_quarantined(memory, each) for each in beliefs):
            page = ""
            call.note("tallystick: quarantined until a person approves it: tallystick review")
        if by_line:
            number = count(len(beliefs), "belief")
            call.answer(found, lambda: [remembered("Remembered", number, memory.folder, is_new=is_new, page=page)])
            return

        def called(name: str) -> str:
            named = memory.get(name, path=fields.get("path", ""))
            return handle(named.key if named else name)

        answer = belief.answer
        assert answer is not None  # `remember` always gives one
        done, more = DONE[answer.what], related(answer, called)
        line = remembered(done, handle(belief.key), memory.folder, is_new=is_new, page=page, more=more)
        call.answer({**found[0], "answer": answer.to_dict()}, lambda: [line])


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
    is_new = not has_ledger(call.locate())
    with call.memory(create=True) as memory:
        found = []
        with waiting("Recording …"), memory.batch() if by_line else nullcontext():
            for line in lines_of(words) if by_line else [words]:
                episode = memory.observe(line, **fields)
                found.append({**episode.to_dict(), "masked": list(memory.masked)})
    if by_line:
        number = count(len(found), "episode")
        call.answer(found, lambda: [remembered("Observed", number, memory.folder, is_new=is_new)])
    else:
        call.answer(found[0], lambda: [outcome("Observed", short_id(episode.id), episode.content)])


@command(
    "revise",
    'tallystick revise ana-tea "Ana prefers green tea" --reason "she said so today"',
    "tallystick revise ana-tea --confidence 0.9",
)
@click.argument("name", shell_complete=complete)
@click.argument("text", nargs=-1, metavar="[TEXT]")
@option("--reason TEXT", "Why it is better than before.", default="")
@shared.belief_options
def revise(
    call: Call, /, name: str, text: tuple[str, ...], reason: str, keep_secrets: bool, **options: Any
) -> None:
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
    verb = "Nothing to change in" if before and before.seq == belief.seq else "Revised"
    line = outcome(verb, handle(belief.key), belief.text)
    call.answer({**belief.to_dict(), "masked": masked}, lambda: [line])


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
    call.answer(value, lambda: [line])
