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
from tallystick.records.entity import PREFIXES, entity_key, has_kind, kind_of, name_key, page_of
from tallystick.records.errors import Refused
from tallystick.records.page import NOTES
from tallystick.state.pages import PREFERENCES, PROFILE, USUAL
from tallystick.state.state import State
from tallystick.text.entities import LONGEST, kind_in, named_in, of_oneself, people_in, start_of

_MYSELF = ("me", "myself", "i")
_SHOWN = 60  # characters of a name in a message
_MOST = 5  # entities in it


def entity_for(known: State, said: str, user: str, path: str, text: str) -> str:
    """The entity that a name means in a statement of this text, or the page of a new one. Refused, if two fit."""
    if found := the_one(known, said, user, path):
        return found
    return said if has_kind(said) or not entity_key(said) else page_of(kind_in(said, text), said)


def filed_under(known: State, said: Statement, trust: str) -> str:
    """The entity under which a statement is filed of which nobody said what it is about; empty, if that is not plain.

    It is the subject of its triple, whom it begins with, the speaker, or the only one that it names. What tools and web
    pages say is filed under nobody.
    """
    if trust in ("tool", "web") or len(said.text) > LONGEST:
        return ""
    if said.triple:
        subject = _meant(known, entity_key(said.triple[0]), said.user, said.path)
        return subject[0] if len(subject) == 1 else ""
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
    new, found = people_in(text), list(named_in(text))
    known.expect(user, {key for names, _ in found for name in names for key in (entity_key(name), name_key(name))})
    for names, at in found:
        for name in names:
            meant = _meant(known, entity_key(name), user, path)
            if len(meant) == 1:
                yield meant[0], at
            elif not meant and name in new:
                yield page_of("person", name), at
            else:
                continue
            break
        else:
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
    found = _of_that_name(known, key, user)
    if said in found:
        return [said]
    if not has_kind(said):
        begun = [page for page in (page_of(kind, key) for kind in PREFIXES if key) if known.pages.front(user, page)]
        return list(dict.fromkeys((*found, *begun))) or _meant(known, key, user, path)
    found = [each for each in found if kind_of(each) in ("topic", kind_of(said))]  # a topic: of no known kind
    return found or [about for other in _others(known, key, user, path) for about in _of_that_name(known, other, user)]


def _meant(known: State, key: str, user: str, path: str) -> list[str]:
    """The entities of that name; else, of another name that goes with it; else, the people of a part of it."""
    if found := _of_that_name(known, key, user):
        return found
    others = _others(known, key, user, path)
    found = [about for other in others for about in _of_that_name(known, other, user)]
    found = found or [about for each in (key, *others) for about in _of_part(known, each, user, path)]
    return list(dict.fromkeys(found))


def _others(known: State, key: str, user: str, path: str) -> list[str]:
    return list(known.aliases.of(user, key, known.paths.lineage(user, path)))


def _of_that_name(known: State, key: str, user: str) -> list[str]:
    return [about for about in known.called(user, key) if entity_key(about) == key]


def _of_part(known: State, key: str, user: str, path: str) -> list[str]:
    """The people of that first name; of a first name and a surname, whoever is known by the first alone."""
    first, _, surname = key.partition(" ")
    if not surname:
        return [about for about in known.called(user, key) if kind_of(about) == "person"]
    found = [each for each in _of_that_name(known, first, user) if kind_of(each) == "person" or not has_kind(each)]
    surnames = {other for other in _others(known, first, user, path) if " " not in other} if found else set()
    return found if not surnames or surname in surnames else []
