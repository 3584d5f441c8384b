"""What "is" says: a job, a place, a relation, an age; and what is said of something one has: "my birthday is 3 May"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from tallystick.consolidate.english import objects as values
from tallystick.consolidate.english.objects import Kind, trimmed
from tallystick.consolidate.english.predications import Draft, Part, Predication
from tallystick.consolidate.english.times import birth_said, date_said
from tallystick.consolidate.english.verbs import intent, up_to_comma
from tallystick.text.claims import claim_of
from tallystick.text.tokens import Token
from tallystick.text.word_lists import (
    DIETS,
    JOBS,
    KIN_ADJECTIVES,
    NOT_A_JOB,
    PETS,
    RELATIONS,
    SECRETS,
    SETTINGS,
    UNITS,
)
from tallystick.text.words import EXACT, NAME

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_PHONE = re.compile(r"\+?[0-9](?:[0-9 ()./-]{4,20})[0-9]")

# After "is": the word that decides, the preposition after it, the predicate, the kind of object.
_STATES: dict[str, tuple[str, str, Kind]] = {
    "allergic": ("to", "allergic_to", values.thing),
    "married": ("to", "married_to", values.person),
    "engaged": ("to", "partner", values.person),
    "based": ("in", "lives_in", values.place),
    "fluent": ("in", "speaks", values.language),
    "fond": ("of", "likes", values.liked),
    "vegan": ("", "diet", values.thing),
}


def read_being(said: Predication) -> list[Draft]:
    """The claims of "is", "am" and "are" with what follows; of "was" only a birth."""
    words = said.words
    if not words:
        return []
    if words[0].low == "born":
        return _born(said)
    if said.verb.tense not in ("present", "done") or (said.verb.tense == "done" and not said.times.is_lasting):
        return []
    first = words[0].low
    if first in _STATES and len(words) > 2 and words[1].low == _STATES[first][0]:
        _, predicate, kind = _STATES[first]
        rest = replace(said, words=words[2:])
        return [_draft(said, predicate, each, end) for each, end in rest.listed(kind)]
    if first == "from":
        return _one(said, "comes_from", values.place(said.part("from")), said.part("from"))
    if first in DIETS or (first == "a" and len(words) > 1 and words[1].low in DIETS):
        kept = words[:1] if first in DIETS else words[1:2]
        is_whole = kept[0].mark or len(trimmed(words)) <= 2 or words[words.index(kept[0]) + 1].low in ("and", "but")
        return _one(said, "diet", kept[0].low, kept) if is_whole else []
    return _aged(said) or _job(said) or _fan(said)


def _draft(said: Predication, predicate: str, value: str, end: int, confidence: float = 0.6) -> Draft:
    return Draft(
        predicate, value, max(end, said.last), confidence, said.verb.is_denied,
        valid_from="" if said.verb.is_denied else said.times.valid_from, valid_to=said.times.valid_to,
    )  # fmt: skip


def _one(said: Predication, predicate: str, value: str, words: list[Token], confidence: float = 0.6) -> list[Draft]:
    return [_draft(said, predicate, value, trimmed(words)[-1].end, confidence)] if value else []


def _born(said: Predication) -> list[Draft]:
    """ "was born in Porto", "was born on 3 May 1990", "was born in 1990"."""
    if said.verb.is_denied:
        return []
    found = []
    parts = said.parts()
    for part in parts:
        if part.preposition == "in" and (place := values.place(part.words)):
            found.append(Draft("born_in", place, trimmed(part.words)[-1].end, 0.65))
    if said.times.span and said.times.cuts:
        when = birth_said(said.named)
        if when:
            found.append(Draft("born_on", when, said.last, 0.65))
    return found


def _aged(said: Predication) -> list[Draft]:
    """ "is 34", "is 34 years old"."""
    words = trimmed(said.words)
    number = words[0].text if words else ""
    if not (number.isascii() and number.isdigit() and 0 < int(number[:4]) < 120) or said.verb.is_denied:
        return []
    is_old = len(words) > 2 and words[1].low == "years" and words[2].low == "old"
    if not (is_old or len(words) == 1 or words[0].mark):
        return []
    return _one(said, "age", number, words[:3] if is_old else words[:1])


def _job(said: Predication) -> list[Draft]:
    """ "is a nurse", "is a senior engineer at Acme", "is the CEO of Acme", "is a student at Porto University"."""
    parts = said.parts()
    if not parts or parts[0].words[0].low not in ("a", "an", "the") or parts[0].preposition:
        return []
    words, at = _split_of(parts[0].words)
    parts = [Part("", words), *([Part("of", at)] if at else []), *parts[1:]]
    head = words[-1].low if words else ""
    place = next((part for part in parts[1:] if part.preposition in ("at", "of", "for")), None)
    if head == "member" and place and place.preposition == "of":
        return _one(said, "member_of", values.organisation(place.words), place.words)
    if head == "student":
        return _one(said, "studies_at", values.school(place.words), place.words) if place else []
    if any(part.preposition == "by" for part in parts):
        return []  # "a nurse by training"
    if head not in JOBS or any(token.low in NOT_A_JOB for token in words) or not (role := values.role(words)):
        return []
    found = [_draft(said, "works_as", role, words[-1].end)]
    if place and (where := values.name(place.words)) and not said.verb.is_denied:
        found.append(_draft(said, "works_at", where, trimmed(place.words)[-1].end))
    return found


def _split_of(words: list[Token]) -> tuple[list[Token], list[Token]]:
    at = next((at for at, token in enumerate(words) if token.low == "of"), None)
    return (words, []) if at is None else (words[:at], words[at + 1 :])


def _fan(said: Predication) -> list[Draft]:
    """ "is a big fan of jazz"."""
    lows = [token.low for token in said.words[:5]]
    if lows[:1] != ["a"] or "fan" not in lows or said.verb.is_denied:
        return []
    at = lows.index("fan")
    if at > 2 or lows[at + 1 : at + 2] != ["of"]:
        return []
    rest = replace(said, words=said.words[at + 2 :])
    return [_draft(said, "likes", each, end) for each, end in rest.listed(values.liked)]


def relation_at(tokens: list[Token], at: int) -> tuple[str, int]:
    """The relation that is named here, and the word after it: ("sister", 2) in "older sister Eva"."""
    for ahead in range(3):
        if at + ahead >= len(tokens):
            break
        low = tokens[at + ahead].low
        if low in RELATIONS:
            return low, at + ahead + 1
        if low not in KIN_ADJECTIVES:
            break
    return "", at


# --- "my … is …"

_OWN: dict[tuple[str, ...], str] = {
    ("name",): "name", ("full", "name"): "name", ("real", "name"): "name", ("first", "name"): "name",
    ("email",): "email", ("e-mail",): "email", ("email", "address"): "email", ("e-mail", "address"): "email",
    ("phone",): "phone", ("phone", "number"): "phone", ("mobile",): "phone", ("mobile", "number"): "phone",
    ("number",): "phone", ("cell",): "phone", ("cell", "number"): "phone", ("telephone", "number"): "phone",
    ("birthday",): "birthday", ("date", "of", "birth"): "born_on", ("birth", "date"): "born_on",
    ("birthdate",): "born_on", ("birthplace",): "born_in", ("hometown",): "comes_from",
    ("home", "town"): "comes_from", ("job",): "works_as", ("occupation",): "works_as", ("profession",): "works_as",
    ("job", "title"): "works_as", ("title",): "works_as", ("employer",): "works_at",
    ("goal",): "goal", ("main", "goal"): "goal", ("aim",): "goal", ("dream",): "goal", ("biggest", "goal"): "goal",
    ("deadline",): "deadline", ("native", "language"): "speaks", ("mother", "tongue"): "speaks",
    ("first", "language"): "speaks", ("age",): "age",
}  # fmt: skip
_SPELT = {"color": "colour", "colors": "colours", "flavor": "flavour"}


def own_at(tokens: list[Token], at: int) -> tuple[str, int]:
    """Which predicate is named here, and the word after it: ("email", 2) in "email address is"."""
    low = tokens[at].low if at < len(tokens) else ""
    if low in ("favourite", "favorite"):
        for count in (1, 2):
            after = at + 1 + count
            if after < len(tokens) and tokens[after].low in ("is", "'s"):
                words = [_SPELT.get(token.low, token.low) for token in tokens[at + 1 : after]]
                is_word = all(word.isalpha() and word not in ("thing", "part", "things", "one") for word in words)
                return ("favourite_" + "_".join(words), after) if is_word else ("", at)
        return "", at
    for count in (3, 2, 1):
        if predicate := _OWN.get(tuple(token.low for token in tokens[at : at + count])):
            return predicate, at + count
    return "", at


def read_own(predicate: str, said: Predication, whole: str) -> list[Draft]:
    """What is said of something that somebody has. `whole` is all that follows "is", times and all."""
    if said.verb.bare != "be" or said.verb.tense != "present":
        return []
    if predicate in ("birthday", "born_on", "deadline"):
        return _own_day(predicate, said, whole)
    words = said.words
    if predicate == "goal":
        to = bool(words) and words[0].low == "to"
        return _goal(said, words[1:]) if to else []
    if predicate in ("email", "phone"):
        match = (_EMAIL if predicate == "email" else _PHONE).match(whole)
        if not match or not words:
            return []
        return [_draft(said, predicate, match[0].strip(" ."), words[0].start + match.end(), 0.7)]
    kind = _OWN_KINDS.get(predicate, values.thing)
    direct = said.direct()
    return _one(said, predicate, kind(direct), direct, 0.7 if predicate == "name" else 0.6)


_OWN_KINDS: dict[str, Kind] = {
    "name": values.person, "born_in": values.place, "comes_from": values.place,
    "works_as": lambda words: values.role(words) if {token.low for token in words} & JOBS else "",
    "works_at": values.name, "speaks": values.language,
    "age": lambda words: words[0].text if len(words) == 1 and words[0].text.isdigit() else "",
}  # fmt: skip


def _own_day(predicate: str, said: Predication, whole: str) -> list[Draft]:
    whole = re.split(r"[,;!]|\.(?=\s|\Z)| and | but ", whole)[0].strip(" .")
    if predicate == "deadline":
        day = date_said(whole, said.now)
    else:
        day = birth_said(whole) or (_day_of_year(whole, said.now) if predicate == "birthday" else "")
    return [Draft(predicate, day, said.last, 0.65, said.verb.is_denied)] if day and said.last else []


def _day_of_year(text: str, now: datetime) -> str:
    """ "tomorrow" as a day of every year."""
    day = date_said(text, now)
    return birth_said(f"--{day[5:]}") or birth_said(_spoken(day)) if day else ""


def _spoken(day: str) -> str:
    moment = datetime.fromisoformat(day)
    return f"{moment.day} {moment:%B}"


def _goal(said: Predication, words: list[Token]) -> list[Draft]:
    return intent("goal", said, up_to_comma(words), False, 0.6)


# --- "the … is …"


def read_setting(text: str, start: int, now: datetime) -> Draft | None:
    """ "the port is 5432", "the report is due on Friday": one exact value, a day, or a name where one is expected."""
    claim = None if _LONE.search(text) else claim_of(text[0].lower() + text[1:])  # "My" is no name
    if claim is None or not claim.is_definite or claim.is_denied:
        return None
    subject = re.sub(r"^(?:our|my) ", "", claim.subject)
    words = subject.split()
    if len(words) > 4 or not SECRETS.isdisjoint(words) or not all(word.replace("-", "").isalpha() for word in words):
        return None
    if claim.predicate in ("is", "is due", "is set to") and (day := date_said(text, now)):
        about = re.sub(r"^deadline for | deadline$", "", subject)
        predicate = "due" if claim.predicate == "is due" else "is" if about == subject else "deadline"
        return Draft(predicate, day, start + len(text), 0.55, subject=about)
    if claim.predicate not in ("is", "is set to"):
        return None
    value = _value_of(claim.value, claim.shape, words[-1], text)
    old = _NOT.search(text)
    instead = old["value"].strip(" .!") if old and value else ""
    return Draft("is", value, start + len(text), 0.6, subject=subject, instead_of=instead) if value else None


_LONE = re.compile(r"(?<!\w)['’]\w")  # a short form that lost its word
_NOT = re.compile(r",\s+(?:and\s+)?not\s+(?P<value>\S{1,60})\s*\Z")


_TAIL = re.compile(
    r"(?:\bis|\bare|'s|’s|=|:|\bset to|\bnow)\s+(?:(?:now|currently|actually|set to|called)\s+)?(?P<value>[^,;]+)"
)


def _value_of(value: str, shape: str, noun: str, text: str) -> str:
    """The value as it was written, if it is one exact thing."""
    words = value.split()
    is_exact = shape[:1] in EXACT and (len(words) == 1 or (len(words) == 2 and words[1] in UNITS))
    is_named = noun in SETTINGS and set(shape) <= {NAME, "n", "c"} and len(words) <= 3
    found = _TAIL.search(text)
    if not (is_exact or is_named) or not found or len(found["value"].split()) > len(words) + 1:
        return ""
    said = re.sub(r"^(?:the|a|an)\s+", "", found["value"].strip(" .!\"'`*"), flags=re.IGNORECASE)
    return re.sub(r"\s+(?:now|today|instead|again)$", "", said)


def pet_at(tokens: list[Token], at: int) -> tuple[str, int]:
    return (tokens[at].low, at + 1) if at < len(tokens) and tokens[at].low in PETS else ("", at)

