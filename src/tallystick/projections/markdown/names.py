"""The file of each entity.

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
from functools import lru_cache
from hashlib import blake2s

from tallystick.projections.markdown.tag import is_letter
from tallystick.records.entity import PREFIXES
from tallystick.records.errors import Refused
from tallystick.records.page import NOTES

_LONGEST = 80  # bytes of the readable part
_PAGE = re.compile(rf"((?:{'|'.join(PREFIXES)})-[^/\\\x00]+)\.md\Z", re.DOTALL)


def file_name(prefix: str, name: str) -> str:
    """The file of the entity `name` of that kind."""
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
