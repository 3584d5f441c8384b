"""Who or what is meant by a name: one name, one entity.

    "Maya", "maya", "person-maya"     person-maya, if beliefs are about that
    "Maya Lindqvist"                  person-maya too, unless that is somebody of another surname
    "Pip"                             person-priya, if somebody said that she goes by it

The name of a page means exactly that page, if there is one. A name that nobody has yet begins a page of its kind, as
far as the statement says it: "Maya is our designer". What is decided is recorded as what the belief is about, so
what was filed stays where it is when more names are known.
"""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.records.belief import Statement
from tallystick.records.entity import PREFIXES, entity_key, has_kind, kind_of, page_of
from tallystick.records.errors import Refused
from tallystick.records.page import NOTES
from tallystick.state.pages import PREFERENCES, PROFILE, USUAL
from tallystick.state.state import State
from tallystick.text.entities import kind_in, named_in, of_oneself, people_in, start_of

_MYSELF = ("me", "myself", "i")
_LONGEST = 600  # characters of a text that is filed
_SHOWN = 60  # characters of a name in a message
_MOST = 5  # entities in it


def entity_for(known: State, said: str, user: str, path: str, text: str) -> str:
    """The entity that a name means in a statement of this text, or the page of a new one. Refused, if two fit."""
    if found := the_one(known, said, user, path):
        return found
    return said if has_kind(said) or not entity_key(said) else page_of(kind_in(said, text), said)


def filed_under(known: State, said: Statement, trust: str) -> str:
    """The entity under which a statement is filed of which nobody said what it is about; empty, if that is not plain.

    It is whom it begins with, the speaker, or the only one that it names. What tools and web pages say is filed under
    nobody.
    """
    if trust in ("tool", "web") or len(said.text) > _LONGEST:
        return ""
    start = start_of(said.text)
    found = list(_named(known, said.text, said.user, said.path))
    if first := next((about for about, at in found if about and at <= start), ""):
        return first
    if not said.agent and (own := of_oneself(said.text) or ("preferences" if said.kind == "preference" else "")):
        return PREFERENCES if own == "preferences" else PROFILE
    others = {about for about, at in found if about or at}  # the first word has its capital anyway
    return others.pop() if len(others) == 1 else ""


def _named(known: State, text: str, user: str, path: str) -> Iterator[tuple[str, int]]:
    """The entities that a text names, known ones and people whom it makes known, each with where it does; "" stands for
    whatever else may be a name."""
    new = people_in(text)
    for phrases, at in named_in(text):
        for phrase in phrases:
            found = entities_called(known, phrase, user, path)
            if len(found) == 1:
                yield found[0], at
            elif not found and phrase in new:
                yield page_of("person", phrase), at
            else:
                continue
            break
        else:
            if phrases:
                yield "", at


def the_one(known: State, said: str, user: str, path: str) -> str:
    """The entity of that name; empty, if there is none. Refused, if two have it."""
    found = entities_called(known, said, user, path)
    if len(found) > 1:
        names = " or ".join(found[:_MOST])
        raise Refused(f"{said[:_SHOWN]!r} may be {names}; write which", "ambiguous")
    return found[0] if found else ""


def entities_called(known: State, said: str, user: str, path: str) -> list[str]:
    """The entities that a name may mean."""
    if said == NOTES or said in USUAL or known.pages.front(user, said):
        return [said]
    key = entity_key(said)
    if key in _MYSELF:
        return [PROFILE]
    found = _of_that_name(known, key, user, path)
    if said in found:
        return [said]
    if has_kind(said):
        found = [each for each in found if kind_of(each) in ("topic", kind_of(said))]  # a topic: of no known kind
    if found or not key:
        return found
    sight = known.paths.lineage(user, path)
    others = list(known.aliases.of(user, key, sight))
    found = [about for other in others for about in _of_that_name(known, other, user, path)]
    if not found and not has_kind(said):
        found = [about for each in (key, *others) for about in _of_part(known, each, user, path, sight)]
    return list(dict.fromkeys(found))


def _of_that_name(known: State, key: str, user: str, path: str) -> list[str]:
    """The entities with that very name: what beliefs are about, and pages that were begun."""
    found = [about for about in known.called(user, key, path) if entity_key(about) == key]
    pages = (page_of(kind, key) for kind in PREFIXES if key)
    return list(dict.fromkeys((*found, *(page for page in pages if known.pages.front(user, page)))))


def _of_part(known: State, key: str, user: str, path: str, sight: tuple[str, ...]) -> list[str]:
    """The people of that first name; of a first name and a surname, whoever is known by the first alone."""
    first, _, surname = key.partition(" ")
    if not surname:
        return [about for about in known.called(user, key, path) if kind_of(about) == "person"]
    surnames = {other for other in known.aliases.of(user, first, sight) if " " not in other}
    if surnames and surname not in surnames:
        return []
    return [each for each in _of_that_name(known, first, user, path) if kind_of(each) == "person" or not has_kind(each)]
