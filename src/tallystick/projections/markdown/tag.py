"""Tags: letters and digits of any script, `-`, `_` and `/`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from tallystick.records.errors import Refused

RETRACTED = "retracted"  # the reserved tag of a retracted entry
LONGEST = 64
MOST = 3

_ASCII = re.compile(r"[A-Za-z0-9_/-]*[A-Za-z0-9][A-Za-z0-9_/-]*\Z")
_PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_/]|-(?!-)){0,62}(?<![-_/])\Z")  # what stays as it is
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def is_letter(char: str) -> bool:
    """True for a letter, a digit, or a mark on the letter before it, of any script; not for invisible ones."""
    return unicodedata.category(char)[0] in "LMN" and not _UNSEEN.match(char)


def is_tag(text: str) -> bool:
    """True if `#text` is a tag."""
    if len(text) > LONGEST:
        return False
    if text.isascii():
        return _ASCII.match(text) is not None
    return all(char in "-_/" or is_letter(char) for char in text) and any(map(str.isalnum, text))


def tag_of(said: str) -> str:
    """`said` as a tag: whatever is not valid in one becomes a dash. Refused, if nothing is left, or too much."""
    if _PLAIN.match(said) and said.lower() != RETRACTED:
        return said
    text = unicodedata.normalize("NFC", said[: 4 * LONGEST])
    tag = re.sub("-{2,}", "-", "".join(char if char in "_/" or is_letter(char) else "-" for char in text))
    tag = tag.strip("-_/")
    if len(said) > 4 * LONGEST or len(tag) > LONGEST:
        raise Refused(f"the tag {quoted(said)} is too long; the limit is {LONGEST} characters", "size")
    if not is_tag(tag):
        raise Refused(f"{quoted(said)} is not a valid tag; use letters and digits, for example 'work'", "name")
    if tag.lower() == RETRACTED:
        raise Refused(f"the tag {RETRACTED!r} is reserved for retracted entries; use another word", "state")
    return tag


def tags_of(said: Iterable[str]) -> tuple[str, ...]:
    """One to three tags, each once."""
    if isinstance(said, str):
        raise Refused(f"tags are a list of texts; write [{quoted(said)}]")
    tags = tuple(dict.fromkeys(map(tag_of, said)))
    if not 1 <= len(tags) <= MOST:
        raise Refused(f"an entry has one to three tags, not {len(tags)}; keep the ones that help to find it")
    return tags


def quoted(text: str, limit: int = 40) -> str:
    """The beginning of a text, for a message."""
    return ascii(text if len(text) <= limit else text[: limit - 3] + "...")
