"""Secrets in the ledger: recorded before they were masked, through another surface, or kept on purpose.

A finding names the place and the kind of a secret, never the secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Literal, NamedTuple

from tallystick.ledger.chain import Chain
from tallystick.ledger.layout import Folder
from tallystick.ledger.load import lift
from tallystick.ledger.settings_file import read_toml
from tallystick.records.display import counted
from tallystick.records.event import Event
from tallystick.repair.findings import Finding, found
from tallystick.text.secrets.detect import kind_under, kinds_in

_OWN = ("ledger.", "snapshot", "erase")


class SecretFound(NamedTuple):
    """One secret: its event, the id by which it can be erased, the field and the kind."""

    seq: int
    id: str
    field: str
    kind: str


def secrets_in(events: Iterable[Event]) -> Iterator[SecretFound]:
    """Every secret in the bodies of events."""
    for event in events:
        if event.body is not None and not event.op.startswith(_OWN):
            for field, kind in _in(event.body, ""):
                yield SecretFound(event.seq, _name(event, event.body), field, kind)


def findings(folder: Folder) -> Iterator[Finding]:
    """The same, as findings: one for each event. Kinds that `tallystick.toml` keeps are none."""
    chain, kept = Chain(folder), _kept_kinds(folder)
    every = secrets_in(lift(line.event()) for line in chain.lines(chain.first) if line.sound)
    unwanted = (each for each in every if kept is not True and each.kind not in kept)
    for seq, group in groupby(unwanted, key=lambda each: each.seq):
        some = list(group)
        fields = ", ".join(dict.fromkeys(each.field for each in some))
        remedy = f"tallystick erase {some[0].id}" if some[0].id else ""
        yield found("secret-found", f"event {seq}", f"{counted(each.kind for each in some)} in {fields}", remedy)


def _kept_kinds(folder: Folder) -> Literal[True] | list[str]:
    """The kinds to keep; True for all. Settings that cannot be read keep none; they are a finding of their own."""
    try:
        kept = (read_toml(folder.settings) or {}).get("policy", {}).get("keep_secrets", [])
    except (ValueError, AttributeError):
        return []
    return True if kept is True else kept if isinstance(kept, list) else []


def _in(value: Any, place: str, kind: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _in(each, f"{place}.{key}".removeprefix("."), kind_under(str(key)))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _in(each, f"{place}[{number}]", kind)
    elif isinstance(value, str | int):
        yield from ((place, each) for each in kinds_in(value, kind))


def _name(event: Event, body: Mapping[str, Any]) -> str:
    """The id by which the record of an event is erased; empty if it has none."""
    for part in ("belief", "episode"):
        if isinstance(body.get(part), Mapping):
            return str(body[part].get("id") or event.id)
    target = body.get("action", {}).get("target") or body.get("ids") or [body.get("id", "")]
    return str(target[0]) if event.op.startswith(("belief.", "review.", "episode.", "outcome.", "relation.")) else ""
