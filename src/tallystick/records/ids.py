"""Ids that tallystick makes. They are random: no id reveals anything about the text it stands for.

An event's id is a ULID (time and 80 random bits). A belief's id has the form of a page's entry,
`20260421-0915-c4f1a5`: the minute it was stated and six random hex digits, drawn until they are free.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import datetime

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(a + b for a in _DIGITS for b in _DIGITS)
_LETTERS = _DIGITS.encode() * 8  # of each byte

BELIEF_ID = re.compile(r"\d{8}-\d{4}-[0-9a-f]{6}\Z")
SHORT_ID = re.compile(r"[0-9a-f]{6}\Z")
EVENT_ID = re.compile(rf"[{_DIGITS}]{{26}}\Z")
SHORT_EVENT_ID = re.compile(rf"[{_DIGITS}]{{6}}\Z")


def ulid_time_of(ts: str) -> str:
    """The first ten characters of a ULID: the same for all events of one millisecond, and for all before 1970."""
    ms = max(int(datetime.fromisoformat(ts).timestamp() * 1000), 0)
    high, low = ms >> 20, ms & 0xFFFFF
    return _PAIRS[high >> 20] + _PAIRS[high >> 10 & 1023] + _PAIRS[high & 1023] + _PAIRS[low >> 10] + _PAIRS[low & 1023]


def ulid_random(sixteen_bytes: bytes) -> str:
    """The other sixteen characters, each from five bits of a random byte."""
    return sixteen_bytes.translate(_LETTERS).decode()


def event_id(ts: str) -> str:
    return ulid_time_of(ts) + ulid_random(os.urandom(16))


def belief_id(ts: str, taken: Callable[[str], bool]) -> str:
    """A new id for a belief stated at `ts` (as the ledger writes it)."""
    minute = f"{ts[0:4]}{ts[5:7]}{ts[8:10]}-{ts[11:13]}{ts[14:16]}-"
    while taken(name := minute + os.urandom(3).hex()):
        continue
    return name
