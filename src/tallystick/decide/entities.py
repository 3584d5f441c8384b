"""Who or what is meant by a name: one name, one entity.

    "Maya", "maya", "person-maya"     person-maya, if beliefs are about that
    "Maya Lindqvist"                  person-maya too, unless that is somebody of another surname
    "Pip"                             person-priya, if somebody said that she goes by it

The name of a page means exactly that page, if there is one. A name that nobody has yet begins a page of its kind, as
far as the statement says it: "Maya is our designer". What is decided is recorded as what the belief is about, so
what was filed stays where it is when more names are known.
"""

from __future__ import annotations

from collections.abc import Callable

from tallystick.records.belief import Statement
from tallystick.records.entity import PREFIXES, entity_key, has_kind, kind_of, page_of
from tallystick.records.errors import Refused
from tallystick.records.page import NOTES
from tallystick.state.beliefs import OUTSIDE
from tallystick.state.pages import PREFERENCES, PROFILE, USUAL
from tallystick.state.state import State
from tallystick.text.entities import kind_in, of_oneself, subject_of

_MYSELF = ("me", "myself", "i")
_SHOWN = 60  # characters of a name in a message
_MOST = 5  # entities in it


def entity_for(known: State, said: str, user: str, path: str, text: str, trust: str) -> str:
    """The entity that a name means in a statement of this text, or the page of a new one. Refused, if two fit."""
    if found := the_one(known, said, user, path):
        return found
    if has_kind(said) or not entity_key(said):
        return said
    return page_of("topic" if trust in OUTSIDE else kind_in(said, text), said)


def filed_under(known: State, said: Statement, trust: str, used: Callable[[str], str] = lambda _: "") -> str:
    """The entity under which a statement is filed of which nobody said what it is about; empty, if that is not plain.

    It is the subject of its triple, whom it begins with, or the speaker. A name that nobody has yet begins a page, if
    the statement says that it is one, or others have `used` it so, which gives its kind. What tools and web pages say
    is filed under nobody.
    """
    scope: tuple[object, ...] = (said.user, said.path)
    if trust in OUTSIDE or not all(isinstance(each, str) for each in scope):  # it will be refused
        return ""
    if said.triple:
        found = _meant(known, str(said.triple[0]), said.user, said.path, is_loose=False)
        return found[0] if len(found) == 1 else ""
    subject = subject_of(said.text)
    for name in subject.names:
        found = _meant(known, name, said.user, said.path, is_loose=False)
        if found:
            return found[0] if len(found) == 1 else ""
    name = subject.names[0] if subject.names else ""
    if kind_in(name, said.text) == "person" and (whole := of_short_name(known, entity_key(name), said.user)):
        return whole
    if (key := entity_key(name)) and (kind := subject.kind or used(name)):
        found = _meant(known, name, said.user, said.path) if " " in key else []  # known by the first name alone
        short = "" if found or subject.kind else of_short_name(known, key, said.user)
        return found[0] if len(found) == 1 else short or page_of(kind, name)
    if said.agent or trust != "human":
        return ""
    own = of_oneself(said.text) or ("preferences" if said.kind == "preference" else "")
    return {"preferences": PREFERENCES, "profile": PROFILE}.get(own, "")


def the_one(known: State, said: str, user: str, path: str) -> str:
    """The entity of that name; empty, if there is none. Refused, if two have it."""
    found = entities_called(known, said, user, path)
    if len(found) > 1:
        names = " or ".join(each[:_SHOWN] for each in found[:_MOST])
        raise Refused(f"{said[:_SHOWN]!r} may be {names}; write which", "ambiguous")
    return found[0] if found else ""


def entities_called(known: State, said: str, user: str, path: str) -> list[str]:
    """The entities that a name may mean."""
    given: object = said
    if not isinstance(given, str):
        return []
    said = after_merges(known, said, user)
    if said == NOTES or said in USUAL or known.pages.front(user, said):
        return [said]
    key = entity_key(said)
    if not key:
        return []
    if key in _MYSELF:
        return [PROFILE]
    found = _of_that_name(known, key, user)
    if said in found:
        return [said]
    if not has_kind(said):
        begun = [page for page in (page_of(kind, key) for kind in PREFIXES) if known.pages.front(user, page)]
        return list(dict.fromkeys((*found, *begun))) or _meant(known, said, user, path)
    found = [each for each in found if kind_of(each) in ("topic", kind_of(said))]  # a topic: of no known kind
    return found or [about for other in _others(known, key, user, path) for about in _of_that_name(known, other, user)]


def _meant(known: State, said: str, user: str, path: str, *, is_loose: bool = True) -> list[str]:
    """The entities of that name; else, of another name that goes with it; else, the people of that first name, and if
    `is_loose`, whoever is known by the first name alone."""
    key = entity_key(said)
    if not key or (found := _of_that_name(known, key, user)):
        return found if key else []
    others = _others(known, key, user, path)
    found = [about for other in others for about in _of_that_name(known, other, user)]
    for each in (key, *others) if not found else ():
        merged = (about for _, about in known.graph.called(user, each))
        people = [about for about in (*known.called(user, each), *merged) if kind_of(about) == "person"]
        found += people
        if " " in each and not people and is_loose and _may_be_person(said):
            found += _of_the_first_name(known, each, user, path)
    return list(dict.fromkeys(found))


def of_short_name(known: State, word: str, user: str, *, is_last: bool = False) -> str:
    """The only entity whose name begins so, or ends so: "Northgate" or "the foundation", of Northgate Foundation."""
    at = -1 if is_last else 0
    found = [about for about in known.called(user, word) if entity_key(about).split()[at] == word]
    return found[0] if len(found) == 1 else ""


def _may_be_person(said: str) -> bool:
    return (said.istitle() or said.islower()) and kind_in(said, "") in ("topic", "person")


def _others(known: State, key: str, user: str, path: str) -> list[str]:
    return list(known.aliases.of(user, key, known.paths.lineage(user, path)))


def _of_that_name(known: State, key: str, user: str) -> list[str]:
    """The entities of that name; also those that others of that name are part of now."""
    own = [after_merges(known, about, user) for about in known.called(user, key) if entity_key(about) == key]
    merged = [found for node, found in known.graph.called(user, key) if entity_key(node) == key and has_kind(found)]
    return list(dict.fromkeys((*own, *merged)))


def after_merges(known: State, said: str, user: str) -> str:
    """The entity that one is part of, after all merges; a node that was only saved is none."""
    final = known.graph.final(user, said)
    return final if has_kind(final) else said


def _of_the_first_name(known: State, key: str, user: str, path: str) -> list[str]:
    """Whoever is known by the first name of a first name and a surname, unless that is somebody of another surname."""
    first, _, surname = key.partition(" ")
    found = [each for each in _of_that_name(known, first, user) if kind_of(each) == "person" or not has_kind(each)]
    surnames = {other for other in _others(known, first, user, path) if " " not in other} if found else set()
    return found if not surnames or surname in surnames else []
