"""`tallystick review policy`: the policy in force as a table, and what it says to one action."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from tallystick.records.belief import TRUST
from tallystick.records.policy import BELIEF, SAME, Policy, Rule
from tallystick.surfaces.cli.call import Call
from tallystick.surfaces.present.terminal import bold, dim, row
from tallystick.surfaces.present.text import shown

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

_FIELDS = ("source", "user", "session", "agent", "path", "kind", "tag", "confidence", "stated")
_UNITS = (("week", timedelta(weeks=1)), ("day", timedelta(days=1)), ("hour", timedelta(hours=1)))


def in_force(call: Call, memory: Memory) -> None:
    """Print the policy."""
    policy = memory.policy
    call.answer(policy.to_dict(), lambda: _page(policy))


def test(call: Call, memory: Memory, kind: str, trust: str, about: str, given: Sequence[str]) -> None:
    """Print what would happen, and which rule says so."""
    said = _fields(given)
    if about:
        said["about"] = about
    source = said.get("source", "")
    verdict = memory.check_policy(kind, trust=trust, **said)
    found = {"action": kind, "trust": trust, "then": verdict.kind, "rule": verdict.rule, "why": verdict.why}
    by = f"rule {verdict.rule}" if verdict.rule else "no rule of yours fits; the defaults say so"
    who = f"{trust} ({shown(source)})" if source else trust
    lines = [f"{bold(verdict.kind)}{dim(':')} {shown(kind)} by {who}{dim(', ')}{by}"]
    call.answer(found, lambda: [*lines, *([f"  {shown(verdict.why)}"] if verdict.why else [])])


def whole(call: Call, memory: Memory, about: str, given: Sequence[str]) -> None:
    """Print what becomes of every verb on every noun."""
    said = _fields(given)
    rows = memory.matrix(**said, **({"about": about} if about else {}))
    call.answer(rows, lambda: _matrix_page(rows))


def _matrix_page(rows: dict[str, dict[str, str]]) -> Iterator[str]:
    yield dim(f"  {'':<22}" + "".join(f"{trust:<12}" for trust in TRUST).rstrip())
    noun = ""
    for cell, line in rows.items():
        of, _, verb = cell.rpartition(".")
        if (of or BELIEF) != noun:
            noun = of or BELIEF
            yield bold(noun)
        yield f"  {verb:<22}" + "".join(f"{line[trust]:<12}" for trust in TRUST).rstrip()


def _fields(given: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign or name not in _FIELDS:
            raise click.UsageError(f"--with is FIELD=VALUE, and FIELD one of {', '.join(_FIELDS)}, not {each!r}")
        if name == "tag":
            found["tags"] = (*found.get("tags", ()), value)
        elif name == "confidence":
            found[name] = _number(value)
        elif name == "stated" and value not in TRUST:
            raise click.UsageError(f"stated is one of {', '.join(TRUST)}, not {value!r}")
        else:
            found[name] = value
    return found


def _number(value: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise click.UsageError(f"confidence is a number from 0 to 1, not {value!r}")
    return found


def _page(policy: Policy) -> Iterator[str]:
    yield bold("Rules") + dim(": the first that fits decides")
    if not policy.rules:
        yield dim("  none; tallystick.toml may have some under [[policy.rules]]")
    for number, rule in enumerate(policy.rules, 1):
        yield f"  {number:>2}  {rule.then:<10}  {_conditions(rule)}"
    yield ""
    yield bold("Otherwise")
    yield dim(f"  {'':<22}" + "".join(f"{trust:<14}" for trust in TRUST))
    words = {kind: word for word, kind in SAME.items()}
    for kind, line in policy.table.items():
        name = f"{kind} ({words[kind]})" if kind in words else kind
        yield f"  {name:<22}" + "".join(f"{line[trust]:<14}" for trust in TRUST).rstrip()
    yield ""
    named = [shown(pattern) for pattern in policy.approvers] or ["whoever has the trust of a person"]
    yield from row("approvers", ", ".join(named))
    yield from row("a yes lasts", _span(policy.expires))
    yield ""
    yield dim("  review-above: what is trusted more than the asker needs a yes; the rest happens")
    yield dim("  refuse-above: what is trusted more than the asker is left alone; the rest happens")
    yield dim("  What is refused here, no rule allows")


def _conditions(rule: Rule) -> str:
    said = {name: value for name, value in rule.to_dict().items() if name != "then"}
    if "confidence" in said:
        low, high = said.pop("confidence")
        said["confidence"] = [f"{low:g} to {high:g}"]
    return "; ".join(f"{name} {shown(' or '.join(value) or '(none)')}" for name, value in said.items()) or "everything"


def _span(span: timedelta) -> str:
    for name, unit in _UNITS:
        if span >= unit and not span % unit:
            return f"{span // unit} {name}" + ("s" if span // unit > 1 else "")
    return f"{span // timedelta(minutes=1)} minutes"
