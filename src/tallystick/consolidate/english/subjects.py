"""Subjects of clauses: the speaker, somebody named, somebody's sister, or the only one a pronoun can mean."""

from __future__ import annotations

from typing import NamedTuple

from tallystick.consolidate.english import objects as values
from tallystick.consolidate.english.clauses import BE, form_of, name_at
from tallystick.consolidate.english.predications import Draft
from tallystick.consolidate.english.verbs import pet_at, relation_at
from tallystick.text.grammar import PAST, THIRD
from tallystick.text.word_lists import MEN, RELATIONS, WOMEN, set_of
from tallystick.text.words import Token


class Person(NamedTuple):
    """A person whom a pronoun may mean."""

    name: str
    sex: str = ""  # f or m, where a word says so


class Subject(NamedTuple):
    """The person that a clause is about."""

    name: str
    next: int  # the word after it
    confidence: float = 0.0  # to be added to that of the claim
    is_first: bool = False
    owner: str = ""  # of "Ana's sister": Ana
    relation: str = ""  # and sister
    is_third: bool = False  # takes "works", and not "work"


class Cast(NamedTuple):
    """The speaker, and the people named in the sentence before."""

    speaker: str
    people: list[Person]


def subject_at(tokens: list[Token], cast: Cast) -> Subject | None:
    """The subject of the clause that begins with these words, or None where that is not plain."""
    if not tokens:
        return None
    low = tokens[0].low
    if low in ("i", "we"):
        return Subject(cast.speaker, 1, 0.0 if low == "i" else -0.05, True) if cast.speaker else None
    if low in ("he", "she", "they"):
        one = _meant(low, cast.people)
        return Subject(one, 1, -0.1, is_third=low != "they") if one else None
    owner, at = owner_at(tokens, cast)
    if owner and (of_owner := _of_owner(tokens, owner, at)):
        return of_owner
    if owner and tokens[at - 1].low != "'s":
        return None
    count = name_at(tokens, 0)
    if not count or tokens[count - 1].mark:
        return None
    return Subject(values.text_of(tokens[:count]), count, -0.05, is_third=True)


def owner_at(tokens: list[Token], cast: Cast) -> tuple[str, int]:
    """The owner that is named here, and the word after that: "my", "Ana's", "her"."""
    low = tokens[0].low if tokens else ""
    if low in ("my", "our"):
        return cast.speaker, 1
    if low in ("his", "her", "their"):
        return _meant({"his": "he", "her": "she", "their": "they"}[low], cast.people), 1
    count = name_at(tokens, 0)
    if count and count < len(tokens) and tokens[count].low == "'s":
        return values.text_of(tokens[:count]), count + 1
    return "", 0


def _of_owner(tokens: list[Token], owner: str, at: int) -> Subject | None:
    relation, after = relation_at(tokens, at)
    if not relation or after >= len(tokens):
        return None
    count = 0 if tokens[after - 1].mark else name_at(tokens, after)
    name = values.text_of(tokens[after : after + count]) if count else f"{owner}'s {relation}"
    return Subject(name, after + count, -0.05, False, owner, relation, True)


def _meant(pronoun: str, people: list[Person]) -> str:
    if len(people) != 1 or not people[0].name or (pronoun == "they" and people[0].name.endswith("s")):
        return ""
    if people[0].sex and pronoun != "they" and people[0].sex != _SEX[pronoun]:
        return ""
    return people[0].name


_SEX = {"he": "m", "she": "f"}


def relations_in(tokens: list[Token], cast: Cast) -> list[tuple[Draft, int]]:
    """ "my sister Eva", "Ana's husband Bob", "my dog Rex", anywhere in a sentence; and where each begins."""
    found: list[tuple[Draft, int]] = []
    for at in range(len(tokens) - 2):
        if tokens[at].low not in ("my", "our", "'s"):
            continue
        first = at
        owner = cast.speaker
        if tokens[at].low == "'s":
            while first and tokens[first - 1].text[:1].isupper() and at - first < 3 and not tokens[first - 1].mark:
                first -= 1
            owner = values.text_of(tokens[first:at]) if first < at and name_at(tokens, first) == at - first else ""
        if owner and (draft := _apposed(tokens, at + 1, owner)):
            found.append((draft, tokens[first].start))
    return found


def _apposed(tokens: list[Token], at: int, owner: str) -> Draft | None:
    relation, after = relation_at(tokens, at)
    pet = ""
    if not relation:
        pet, after = pet_at(tokens, at)
    mark = tokens[after - 1].mark
    if not (relation or pet) or mark not in ("", ","):
        return None
    last = after + name_at(tokens, after)
    following = tokens[last].low if last < len(tokens) else ""
    is_verb = following in BE or form_of(following)[1] in (THIRD, PAST)
    if mark and not (tokens[last - 1].mark == "," and is_verb):  # "my sister, Eva, is": a comma on both sides
        return None
    name = values.person(tokens[after:last])
    if not name or (pet and following == "'s"):
        return None
    predicate, object = ("has_pet", f"{pet} {name}") if pet else (RELATIONS[relation], name)
    return Draft(predicate, object, tokens[last - 1].end, 0.6, subject=owner)


def people_in(tokens: list[Token], cast: Cast) -> list[Person]:
    """The people in a sentence, so that a pronoun in the next may mean them. Somebody unnamed counts too."""
    people: dict[str, Person] = {}
    at = 0
    while at < len(tokens):
        count = name_at(tokens, at)
        if count and _is_of_a_person(tokens, at, count):
            name, before = values.text_of(tokens[at : at + count]), tokens[at - 1].low if at else ""
            people.setdefault(name, Person(name, "f" if before in WOMEN else "m" if before in MEN else ""))
        elif tokens[at].low in RELATIONS and not (at + 1 < len(tokens) and name_at(tokens, at + 1)):
            people.setdefault("", Person(""))
        at += count or 1
    if not people and tokens[0].low in ("he", "she", "they"):
        return cast.people
    return list(people.values()) if "" not in people else [Person(""), Person("")]


def _is_of_a_person(tokens: list[Token], at: int, count: int) -> bool:
    before = tokens[at - 1].low if at else ""
    after = tokens[at + count].low if at + count < len(tokens) else ""
    if tokens[at + count - 1].mark and at == 0:
        return False  # "Sam, …": spoken to
    if before in RELATIONS or before in _BEFORE_PEOPLE:
        return True
    is_subject = after in BE or after in ("was", "has") or form_of(after)[1] in (THIRD, PAST)
    return is_subject and before not in _BEFORE_PLACES


_BEFORE_PEOPLE = set_of("met meet with called named know knows saw visited and")
_BEFORE_PLACES = set_of("at in from to on near of for the a")
