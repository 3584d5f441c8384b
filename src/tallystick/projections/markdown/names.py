"""The file of each entity, and the tags of entries.

    person-ana           person-ana.md
    event-2026-04-22     event-2026-04-22.md
    person-Ana Maria     person-ana-maria--5b1c9d20e7.md

A name that is plain (lowercase letters of any script, digits, `_`, single dashes) is its own file name. Of any other
the letters are kept, and ten hex digits of the blake2s of the whole name follow two dashes, which no plain name has. So
two names do not share a file, also not where the disk takes A for a or é for e and an accent; and no name leaves the
folder. Such a file name does not give the name back: the page has it in its field `entity`, which also tells two names
with the same ten digits apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2s

from tallystick.records.entity import PREFIXES
from tallystick.records.errors import Refused
from tallystick.records.page import NOTES

_LONGEST = 80  # bytes of the readable part
_PAGE = re.compile(rf"((?:{'|'.join(PREFIXES)})-[^/\\\x00]+)\.md\Z", re.DOTALL)


def file_name(prefix: str, name: str) -> str:
    if prefix not in PREFIXES:
        raise Refused(f"no page begins with {prefix[:40]!r}; use one of {', '.join(PREFIXES)}")
    if not name:
        raise Refused(f"a page needs a name after {prefix}-, for example {prefix}-ana", "name")
    return _file(prefix, name, f"{prefix}-{name}")


@lru_cache(1024)  # every statement asks for one, and they are about few things
def file_of(about: str) -> str:
    """The file of what a belief is about. Without a kind it is a topic, and not the same one as `topic-…`."""
    about = about or NOTES
    prefix, _, name = about.partition("-")
    return file_name(prefix, name) if prefix in PREFIXES and name else _file("topic", about, about, is_plain=False)


def entity_of(file: str, said: str = "") -> str | None:
    """The entity of the page in this file: its field `entity`, if that belongs there, or its plain name.

    None: not the name of a page, or one that only the field could explain.
    """
    if said and file_of(said) == file:
        return said
    page = _PAGE.match(file)
    return page[1] if page and file_of(page[1]) == file else None


def is_plain(about: str) -> bool:
    """True if the file name has all of the name, so that the page need not."""
    return file_of(about) == f"{about or NOTES}.md"


def _file(prefix: str, name: str, whole: str, *, is_plain: bool = True) -> str:
    # the letters of a name, such that two different slugs also differ where case and accents are ignored
    folded = _folded(name[: 4 * _LONGEST])
    kept = "".join(char if char == "_" or is_letter(char) else "-" for char in folded)
    slug = re.sub("-{2,}", "-", _folded(kept)).encode()[:_LONGEST].decode(errors="ignore").strip("-")
    if is_plain and slug == name:
        return f"{prefix}-{slug}.md"
    digest = blake2s(whole.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
    return f"{prefix}-{slug or 'unnamed'}--{digest}.md"


def _folded(text: str) -> str:
    """Without differences of case and of form."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).upper().casefold())


# -- tags: letters and digits of any script, `-`, `_` and `/` ----------------------------------------------------------

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


@lru_cache(maxsize=512)  # most entries have the same few
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
