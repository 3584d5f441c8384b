"""`tallystick consolidate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.records.errors import ConsolidationRuleError
from tallystick.surfaces.cli.belief_options import speaker, whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.consolidate_output import (
    came_to,
    findings_page,
    pointed_at,
    proposed,
    rules_page,
    what_was_due,
)
from tallystick.surfaces.cli.map import SPECIALIST
from tallystick.surfaces.cli.progress import progress, waiting
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.rule import Consolidated, ConsolidationRule

_ELSE = {"keep": "--add", "drop": "--drop", "listed": "--list", "due": "--due", "findings": "--findings"}


@command(
    SPECIALIST[5],
    example="""
tallystick consolidate people.yaml --dry-run
tallystick consolidate people.yaml --extractor english
tallystick consolidate --add people.yaml
tallystick consolidate --due""",
    exits={0: "done, also when there was nothing to do"},
)
@click.argument("file", required=False, type=click.Path())
@click.option("again", "--all", is_flag=True, help="Over everything again, not only over what was told since.")
@click.option("--dry-run", is_flag=True, help="Show what would be made, and stop.")
@click.option("--extractor", metavar="WHO", help="Who reads claims from words: english, none, or URL#MODEL.")
@click.option("keep", "--add", is_flag=True, help="Keep the rules of FILE, so that they run when they are due.")
@click.option("--drop", metavar="ID", help="Give up a rule that was kept. What it made stands.")
@click.option("listed", "--list", is_flag=True, help="The rules that are kept: cadence, what waits, last, next.")
@click.option("--due", is_flag=True, help="Run what is due, for everyone or for --user; for a crontab.")
@click.option("--findings", is_flag=True, help="Episodes that nothing could be made of, and why.")
@speaker
@whose
@pass_call
def consolidate(call: Call, /, file: str | None, trust: str | None, user: str | None, **options: Any) -> None:
    """Make facts of what was observed, by rules

    FILE holds a rule, or a list of them, as YAML, of which JSON is a part:

    \b
      id: people                     # stamped on all that it makes
      when_filter: content LIKE '%Ana%' AND timestamp >= '2026-01-01'
      cadence: {every: 20}           # episodes; or {cron: "0 9 * * 1", zone: Europe/Berlin}
      then_emits: [people]           # channels

    Runs each over what was told since it last ran. Prints what was made: the kind of change, the fact, how sure it is,
    and the episode that it comes from; then what waits for a person's yes, and what made no sense. What an episode
    states in its metadata (subject, predicate, object, intent, replaces) goes first; an extractor reads the rest from
    its words. Doing it again changes nothing.
    """
    chosen = _chosen(options)
    if (file is None) == (chosen in (None, "keep")):
        raise click.UsageError("name a FILE of rules, or one of --list, --due, --findings and --drop ID")
    if chosen and (options["again"] or options["dry_run"]):
        raise click.UsageError(f"--all and --dry-run belong to running a FILE, not to {_ELSE[chosen]}")
    look = chosen in ("listed", "findings") or options["dry_run"]
    with call.memory(user=user, trust=trust, read_only=look) as memory:
        if chosen in (None, "keep"):
            rules = _rules(call, memory, Path(file or ""))
            _keep(call, memory, rules) if chosen else _run(call, memory, rules, **_how(options))
        elif chosen == "due":
            _run_due(call, memory, everyone=user is None, extractor=options["extractor"])
        elif chosen == "drop":
            memory.rules.drop(options["drop"])
            call.answer({"dropped": options["drop"]}, lambda: [f"{dim('Dropped')} {bold(shown(options['drop']))}"])
        else:
            (_list if chosen == "listed" else _find)(call, memory)


def _chosen(options: dict[str, Any]) -> str | None:
    """Which of the things to do beside running a file."""
    chosen = [name for name in _ELSE if options[name] not in (None, False)]
    if len(chosen) > 1:
        raise click.UsageError(f"choose one of {_ELSE[chosen[0]]} and {_ELSE[chosen[1]]}")
    return chosen[0] if chosen else None


def _how(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("again", "dry_run", "extractor")}


def _rules(call: Call, memory: Memory, path: Path) -> list[ConsolidationRule]:
    """The rules of a file. A filter that is not understood is shown, with the place."""
    from tallystick.memory.facts.rule_file import FilterError, read_rules

    try:
        return read_rules(path, columns=memory.episodes.columns())
    except FilterError as error:
        for line in pointed_at(error.filter, error.at):
            call.note(line)
        raise ConsolidationRuleError(str(error), error.at) from None


def _run(
    call: Call, memory: Memory, rules: list[ConsolidationRule], *, again: bool, dry_run: bool, extractor: str | None
) -> None:
    found: list[dict[str, Any]] = []
    for rule in rules:
        if dry_run:
            with waiting("Reading …"):
                deltas = memory.episodes.consolidate(rule, since_last=not again, extractor=extractor)
            value, page = _plan(rule, deltas), proposed(memory, rule, deltas)
        else:
            total = memory.episodes.health().fragment_count if again else memory.rules.waiting(rule.id)
            with progress("Reading …", total or 0) as on_progress:
                made = memory.consolidate(rule, since_last=not again, extractor=extractor, on_progress=on_progress)
            value, page = made.to_dict(), came_to(made)
        found.append(value)
        _print(call, page)
    if call.json:
        call.print(found)


def _plan(rule: ConsolidationRule, deltas: Any) -> dict[str, Any]:
    return {
        "rule": rule.id, "deltas": [delta.model_dump(mode="json") for delta in deltas],
        "findings": [{"episode": each.episode_id, "reason": each.reason} for each in deltas.findings],
    }  # fmt: skip


def _keep(call: Call, memory: Memory, rules: list[ConsolidationRule]) -> None:
    with memory.batch():
        for rule in rules:
            memory.rules.put(rule)
    call.answer([rule.to_dict() for rule in rules], lambda: _kept(rules))


def _kept(rules: list[ConsolidationRule]) -> Iterator[str]:
    for rule in rules:
        when = "" if rule.cadence else dim("  (it has no cadence, so it runs only when asked)")
        yield f"{dim('Keeping')} {bold(shown(rule.id))}{when}"


def _run_due(call: Call, memory: Memory, *, everyone: bool, extractor: str | None) -> None:
    """Run what is due. What ran is told, also if another rule went wrong."""
    made: list[Consolidated] = []
    try:
        with waiting("Reading …"):
            memory.run_due(everyone=everyone, extractor=extractor, told=made.append)
    finally:
        _tell_of(call, made)


def _tell_of(call: Call, made: list[Consolidated]) -> None:
    """Nobody reads along, and it may be several people's: counts, and no words."""
    value = [
        {
            "rule": each.rule, "user": each.user, "read": each.read, "considered": each.considered, "made": each.made,
            "waiting": len(each.waiting), "findings": len(each.findings),
        }
        for each in made
    ]  # fmt: skip
    if call.json:
        call.print(value)
    _print(call, what_was_due(made))


def _list(call: Call, memory: Memory) -> None:
    rules = memory.rules.all()
    call.answer([each.to_dict() for each in rules], lambda: rules_page(rules) if rules else [dim("no rule is kept")])


def _find(call: Call, memory: Memory) -> None:
    found = [(each, memory.episodes.find(each.source)) for each in memory.rules.findings()]
    value = [
        {"rule": each.rule, "episode": episode.id if episode else each.source, "reason": each.reason, "seq": each.seq}
        for each, episode in found
    ]
    call.answer(value, lambda: findings_page(found) if found else [dim("nothing was set aside")])


def _print(call: Call, page: Iterator[str]) -> None:
    if not call.json and (lines := list(page)):
        click.echo("\n".join(lines))
