"""Secrets in the ledger: recorded before they were masked, through another surface, or kept on purpose.

A finding names the place and the kind of a secret, never the secret.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.settings_file import SettingsFile
from tallystick.records.display import counted
from tallystick.records.event import Event
from tallystick.repair.findings import Finding, found, limited
from tallystick.text.secrets.detect import find, kind_under, kinds_in, may_hold

_OURS = re.compile(r"\d{8}-\d{4}-[0-9a-f]{6}|[0-9A-HJKMNP-TV-Z]{26}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_OUR_LENGTHS = (20, 26, 27)
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
        if event.body is not None and not event.op.startswith(_OWN) and _may_be_in(event.body):
            for field, kind in _in(event.body, ""):
                yield SecretFound(event.seq, _name(event, event.body), field, kind)


def findings(events: Iterable[Event], kept: Literal[True] | Collection[str]) -> Iterator[Finding]:
    """The same, as findings: one for each event. Kinds that are `kept` on purpose are none."""
    unwanted = (each for each in secrets_in(events) if kept is not True and each.kind not in kept)
    for seq, group in groupby(unwanted, key=lambda each: each.seq):
        some = list(group)
        fields = ", ".join(dict.fromkeys(each.field for each in some))
        remedy = f"tallystick erase {some[0].id}" if some[0].id else ""
        yield found("secret-found", f"event {seq}", f"{counted(each.kind for each in some)} in {fields}", remedy)


class SecretReader:
    """Looks for secrets in the events."""

    def __init__(self, folder: Folder) -> None:
        self._kept, self._found = _kept_kinds(folder), list[Finding]()

    def take(self, events: Sequence[Event]) -> None:
        self._found += findings(events, self._kept)

    def findings(self) -> list[Finding]:
        return limited(self._found)


def _kept_kinds(folder: Folder) -> Literal[True] | list[str]:
    """The kinds to keep; True for all. Settings that cannot be read keep none; they are a finding of their own."""
    try:
        kept = (SettingsFile(folder.settings).read() or {}).get("policy", {}).get("keep_secrets", [])
    except (ValueError, AttributeError):
        return []
    return True if kept is True else kept if isinstance(kept, list) else []


def _may_be_in(body: dict[str, Any]) -> bool:
    """False for nearly every event. Our own ids and times are no secrets."""
    left, keys, texts = list[Any]([body]), set[str](), list[str]()
    for value in left:  # which grows meanwhile
        if type(value) is str:
            if len(value) not in _OUR_LENGTHS or not _OURS.fullmatch(value):
                texts.append(value)
        elif type(value) is dict:
            keys.update(value)
            left += value.values()
        elif type(value) is list:
            left += value
    return any(map(kind_under, keys)) or (may_hold("\n".join(texts)) and any(map(find, texts)))


def _in(value: Any, place: str, kind: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _in(each, f"{place}.{key}".removeprefix("."), kind_under(str(key)))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _in(each, f"{place}[{number}]", kind)
    elif isinstance(value, str | int) and (kind or (isinstance(value, str) and not _OURS.fullmatch(value))):
        yield from ((place, each) for each in kinds_in(value, kind))


def _name(event: Event, body: Mapping[str, Any]) -> str:
    """The id by which the record of an event is erased; empty if it has none."""
    for part in ("belief", "episode"):
        if isinstance(body.get(part), Mapping):
            return str(body[part].get("id") or event.id)
    target = body.get("action", {}).get("target") or body.get("ids") or [body.get("id", "")]
    return str(target[0]) if event.op.startswith(("belief.", "review.", "episode.", "outcome.", "relation.")) else ""
