"""The claims that a verb makes. A table: the verb, the words that follow it, and the claim they make.

A rule `holds` for the present (or "have lived … since"), `began` for what a past event began ("I joined Acme"), `ended`
for what it ended ("I left Acme"). The past alone ("I lived in Rome") is not read, unless its end is named: then it is a
claim that held until then. "Is" has functions of its own: a job, a place, a relation, an age, and what somebody has
("my birthday is 3 May").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from tallystick.consolidate.english import objects as values
from tallystick.consolidate.english.clauses import Draft, Part, Predication, Verb, birth_said, date_said, form_of
from tallystick.consolidate.english.objects import Kind, text_of, trimmed
from tallystick.text import word_lists as lists
from tallystick.text.claims import claim_of
from tallystick.text.grammar import GOING
from tallystick.text.word_lists import set_of
from tallystick.text.words import EXACT, NAME, Token

HOLDS, BEGAN, ENDED = "holds", "began", "ended"


class Rule(NamedTuple):
    """One claim that a verb makes."""

    prepositions: tuple[str, ...]  # "" for what follows the verb directly
    predicate: str
    kind: Kind
    stance: str = HOLDS
    confidence: float = 0.6
    takes_list: bool = False
    place_of_old: str = ""  # the preposition before what was there until then: "moved from A to B"


_DIRECT = ("",)
_WORK = (Rule(("at", "for"), "works_at", values.organisation), Rule(("as",), "works_as", values.role))
_AS_NEW = Rule(("as",), "works_as", values.role, BEGAN, 0.55)
_LIVE = (Rule(("in",), "lives_in", values.place),)
_MOVE = (Rule(("to",), "lives_in", values.place, BEGAN, place_of_old="from"),)
_SWITCH = (Rule(("to",), "uses", values.known_tool, BEGAN, place_of_old="from"),)
_LIKE = (Rule(_DIRECT, "likes", values.liked, takes_list=True),)
_DISLIKE = (Rule(_DIRECT, "dislikes", values.liked, takes_list=True),)
_TEAM = (Rule(_DIRECT, "manages", values.team),)
_IN_CODE = (Rule(("in",), "uses", values.known_tool),)

RULES: dict[str, tuple[Rule, ...]] = {
    "work": _WORK, "live": _LIVE, "reside": _LIVE, "move": _MOVE, "relocate": _MOVE, "switch": _SWITCH,
    "migrate": _SWITCH, "code": _IN_CODE, "program": _IN_CODE, "manage": _TEAM, "lead": _TEAM,
    "start": (Rule(("at",), "works_at", values.employer, BEGAN, 0.55), _AS_NEW),
    "join": (
        Rule(_DIRECT, "member_of", values.group, BEGAN),
        Rule(_DIRECT, "works_at", values.employer, BEGAN, 0.5), _AS_NEW,
    ),
    "leave": (Rule(_DIRECT, "works_at", values.employer, ENDED, 0.45),),
    "quit": (Rule(_DIRECT, "works_at", values.employer, ENDED, 0.5),),
    "resign": (Rule(("from",), "works_at", values.employer, ENDED, 0.6),),
    "like": _LIKE, "love": _LIKE, "enjoy": _LIKE, "adore": _LIKE,
    "hate": _DISLIKE, "dislike": _DISLIKE, "detest": _DISLIKE, "loathe": _DISLIKE, "despise": _DISLIKE,
    "can't stand": _DISLIKE, "can't bear": _DISLIKE,
    "use": (Rule(_DIRECT, "uses", values.tool, takes_list=True),),
    "speak": (Rule(_DIRECT, "speaks", values.language, confidence=0.65, takes_list=True),),
    "know": (Rule(_DIRECT, "knows", values.known, confidence=0.55, takes_list=True),),
    "own": (Rule(_DIRECT, "owns", values.thing),),
    "have": (Rule(_DIRECT, "owns", values.possession, confidence=0.55),),
    "buy": (Rule(_DIRECT, "owns", values.possession, BEGAN, 0.55),),
    "study": (Rule(_DIRECT, "studies", values.thing), Rule(("at",), "studies_at", values.school)),
    "attend": (Rule(_DIRECT, "studies_at", values.school, confidence=0.5),),
    "major": (Rule(("in",), "studies", values.thing),),
    "graduate": (Rule(("from",), "studied_at", values.name, BEGAN),),
    "belong": (Rule(("to",), "member_of", values.group),),
    "play": (
        Rule(_DIRECT, "plays", values.played, takes_list=True),
        Rule(("for",), "member_of", values.name, confidence=0.5),
    ),
    "report": (Rule(("to",), "reports_to", values.person),),
    "marry": (Rule(_DIRECT, "married_to", values.person, BEGAN),),
    "divorce": (Rule(_DIRECT, "married_to", values.person, ENDED),),
    "come": (Rule(("from",), "comes_from", values.place),),
    "go": (Rule(("by",), "name", values.person),),
}  # fmt: skip

_STARTS, _STOPS = ("start", "begin"), ("stop", "quit")
_HABITS = set_of("smoking drinking eating vaping gambling running cycling biking climbing dancing")


def read_verb(clause: Predication) -> list[Draft]:
    """The claims that a verb and what follows it make."""
    special = _SPECIAL.get(clause.verb.bare)
    if special and (drafts := special(clause)):
        return drafts
    if clause.verb.bare == "start":  # "started a new job as", "started working at"; not "started painting as a hobby"
        is_aspect = bool(clause.words) and bool(RULES.get(form_of(clause.words[0].low)[0]))
        if not is_aspect and clause.direct() and not any(token.low in _POSTS for token in clause.direct()):
            return []
    if aspect := _aspect(clause):
        clause, stance = aspect
        return [draft for rule in RULES.get(clause.verb.bare, ()) for draft in _apply(rule, clause, stance)]
    found: list[Draft] = []
    for rule in RULES.get(clause.verb.bare, ()):
        if not (found and rule.prepositions == _DIRECT):
            found += _apply(rule, clause, rule.stance)
    return found


_POSTS = frozenset(("job", "position", "role", "internship", "work"))


def _aspect(clause: Predication) -> tuple[Predication, str] | None:
    """ "started working at", "stopped using": the verb that matters is the second."""
    verb, words = clause.verb, clause.words
    if verb.bare not in (*_STARTS, *_STOPS) or verb.tense not in ("past", "done") or verb.is_denied or not words:
        return None
    bare, form = form_of(words[0].low)
    if form != GOING or not any(rule.stance == HOLDS for rule in RULES.get(bare, ())):
        return None
    stance = BEGAN if verb.bare in _STARTS else ENDED
    return replace(clause, verb=replace(verb, bare=bare), words=words[1:]), stance


def _apply(rule: Rule, clause: Predication, stance: str) -> list[Draft]:
    """The claims of one rule, or none where tense or words do not fit."""
    verb, times = clause.verb, clause.times
    if not _fits(verb, stance, clause) or (stance != HOLDS and len(times.cuts) > 1):
        return []
    if rule.place_of_old and clause.direct():
        return []  # "I moved Bob to Berlin"
    if rule.takes_list:
        found = clause.listed(rule.kind)
    else:
        words = clause.direct() if rule.prepositions == _DIRECT else clause.part(*rule.prepositions)
        found = [(each, trimmed(words)[-1].end)] if (each := rule.kind(words)) else []
    if not found:
        return []
    if verb.is_over and verb.is_past and rule.predicate in ("likes", "dislikes"):
        return []  # "used to love": often for want of time only
    predicate, is_denied = rule.predicate, verb.is_denied or stance == ENDED
    if predicate == "likes" and verb.is_denied and not verb.is_over:
        predicate, is_denied = "dislikes", False  # that one does not dislike something says little
    old = rule.kind(clause.part(rule.place_of_old)) if rule.place_of_old else ""
    valid_from = times.since() if stance == BEGAN else times.valid_from
    if rule.place_of_old and not valid_from and not any(token.low in _OTHER_TIME for token in clause.words):
        valid_from = clause.now.date().isoformat()
    valid_to = times.until(clause.now) if stance == ENDED or is_denied else times.valid_to
    last = max(clause.last, clause.not_this[-1].end if clause.not_this else 0)
    return [
        Draft(
            predicate, each, max(end, last), rule.confidence, is_denied, old or _instead(rule.kind, clause),
            "" if is_denied else valid_from, valid_to,
        )
        for each, end in found
    ]  # fmt: skip


_OTHER_TIME = set_of("when as after before while once at")  # "when I was six": words that are not understood


def _fits(verb: Verb, stance: str, clause: Predication) -> bool:
    if stance in (BEGAN, ENDED):
        return verb.tense in ("past", "done") and not verb.is_denied
    if verb.tense == "past":
        return bool(clause.times.valid_to) and not verb.is_denied
    return verb.tense != "done" or (clause.times.is_lasting and not verb.is_denied)


def _instead(kind: Kind, clause: Predication) -> str:
    return kind(clause.not_this) if clause.not_this else ""


# --- verbs with words of their own


def _prefer(clause: Predication) -> list[Draft]:
    """ "tea over coffee", "tea to coffee", "tea rather than coffee"."""
    if clause.verb.tense != "present" or clause.verb.is_denied:
        return []
    lows = [token.low for token in clause.words]
    at = next((at for at, low in enumerate(lows) if at and low in ("over", "to", "rather", "instead", "than")), None)
    words, rest = (clause.words, []) if at is None else (clause.words[:at], clause.words[at + 1 :])
    if rest and rest[0].low in ("than", "of"):
        rest = rest[1:]
    chosen = replace(clause, words=words).listed(values.liked)
    other = replace(clause, words=rest).listed(values.liked)
    if len(chosen) != 1 or (rest and len(other) != 1) or (words[-1].mark and rest):
        return []
    instead, end = other[0] if other else ("", chosen[0][1])
    instead = instead or _instead(values.liked, clause)
    return [Draft("prefers", chosen[0][0], max(end, clause.last), 0.6, instead_of=instead)]


def _pet(clause: Predication) -> list[Draft]:
    """ "have a dog called Rex", "have two cats", "adopted a puppy"."""
    words, stance = clause.direct(), HOLDS if clause.verb.bare == "have" else BEGAN
    at = next((at for at, token in enumerate(words) if token.low in values.PET_WORDS), None)
    if at is None or at > 4 or not _fits(clause.verb, stance, clause) or not words or words[0].low not in _COUNTS:
        return []
    rest = words[at + 1 :]
    called = values.person(trimmed(rest[1:])) if rest and rest[0].low in ("called", "named") else ""
    if trimmed(rest) and not called and rest[0].low not in lists.TRAILERS:
        return []
    many = words[at].low in lists.PETS_MANY
    start = words[0] if many and words[0].low not in ("a", "an", "some") else words[at]
    what = f"{start.text} {words[at].text}" if start is not words[at] else words[at].text
    end = words[-1].end if called else words[at].end
    return [Draft(
        "has_pet", f"{what} {called}".strip(), max(end, clause.last), 0.6, clause.verb.is_denied,
        valid_from=clause.times.since() if stance == BEGAN else "",
    )]  # fmt: skip


_COUNTS = set_of("a an one two three four five another")


def _decide(clause: Predication) -> list[Draft]:
    """ "decided to use PostgreSQL", "decided on Redis", "decided against Redis"."""
    if clause.verb.tense not in ("past", "done") or clause.verb.is_denied or not clause.words:
        return []
    words, is_denied = clause.words, False
    if words[0].low == "not":
        words, is_denied = words[1:], True
    lead = words[0].low if words else ""
    words = up_to_comma(words[1:])
    if lead not in ("to", "on", "against") or not 0 < len(words) <= 9:
        return []
    if lead == "to" and not form_of(words[0].low)[0]:
        return []
    return intent("decided", clause, words, is_denied or lead == "against", 0.55)


def _plan(clause: Predication) -> list[Draft]:
    """ "plan to run a marathon"."""
    words = clause.words
    if clause.verb.tense not in ("present", "going") or clause.verb.is_denied:
        return []
    if not words or words[0].low not in ("to", "on"):
        return []
    return intent("goal", clause, up_to_comma(words[1:]), False, 0.5)


def intent(predicate: str, clause: Predication, words: list[Token], is_denied: bool, confidence: float) -> list[Draft]:
    words = trimmed(words)
    if not 0 < len(words) <= 9 or any(token.low in _POINTS for token in words):
        return []
    end = max(words[-1].end, clause.last)
    return [Draft(predicate, text_of(words), end, confidence, is_denied, valid_from=clause.times.since())]


_POINTS = set_of(
    "it this that these those them him her you your what how where when who which there here so because if"
    " whether something anything everything things stuff is are was were am 's not n't one ones he she they i me"
)


def up_to_comma(words: list[Token]) -> list[Token]:
    taken: list[Token] = []
    for token in words:
        if token.low in ("because", "so", "since", "but", "which", "instead", "rather", "after", "when", "as"):
            break
        taken.append(token)
        if token.mark:
            break
    return taken


def _give_up(clause: Predication) -> list[Draft]:
    """ "quit smoking", "gave up drinking", "stopped eating meat"."""
    words = clause.words
    if clause.verb.tense not in ("past", "done") or clause.verb.is_denied or not words:
        return []
    if clause.verb.bare == "give":
        if words[0].low != "up":
            return []
        words = words[1:]
    if not words or words[0].low not in _HABITS:
        return []
    what = values.thing(words[:1] + replace(clause, words=words[1:]).direct())
    return [Draft("does", what, max(words[0].end, clause.last), 0.6, True)] if what else []


def _get(clause: Predication) -> list[Draft]:
    """ "got married to Bob", "got a job at Acme", "got a puppy", "lost my job at Acme"."""
    lows = [token.low for token in clause.words[:5]]
    if clause.verb.bare == "lose":
        lost = Rule(("at",), "works_at", values.employer, ENDED, 0.55)
        return _apply(lost, clause, ENDED) if lows[:3] == ["my", "job", "at"] else []
    if clause.verb.tense not in ("past", "done") or clause.verb.is_denied or not clause.words:
        return []
    if lows[:2] == ["married", "to"]:
        return _apply(Rule(("to",), "married_to", values.person, BEGAN), clause, BEGAN)
    if lows[0] in ("a", "the") and ("job" in lows or "position" in lows) and "at" in lows:
        return _apply(Rule(("at",), "works_at", values.employer, BEGAN, 0.55), clause, BEGAN)
    if lows[:2] == ["hired", "by"]:
        return _apply(Rule(("by",), "works_at", values.employer, BEGAN, 0.55), clause, BEGAN)
    return _pet(clause)


def _study(clause: Predication) -> list[Draft]:
    """ "studied physics at Porto": what was learned stays, so the past is read too."""
    if clause.verb.tense != "past" or clause.verb.is_denied or clause.times.valid_to:
        return []
    found = []
    if what := values.thing(clause.direct()):
        if clause.direct()[0].low in ("for", "a", "the", "hard", "all"):
            return []
        found.append(Draft("studied", what, trimmed(clause.direct())[-1].end, 0.55))
    if school := values.school(clause.part("at")):
        found.append(Draft("studied_at", school, trimmed(clause.part("at"))[-1].end, 0.55))
    return found


_SPECIAL: dict[str, Callable[[Predication], list[Draft]]] = {
    "prefer": _prefer, "have": _pet, "adopt": _pet, "decide": _decide, "plan": _plan, "quit": _give_up,
    "stop": _give_up, "give": _give_up, "get": _get, "study": _study, "lose": _get, "choose": _decide, "opt": _decide,
}  # fmt: skip


# --- "is"


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


def read_being(clause: Predication) -> list[Draft]:
    """The claims of "is", "am" and "are" with what follows; of "was" only a birth."""
    words = clause.words
    if not words:
        return []
    if words[0].low == "born":
        return _born(clause)
    if clause.verb.tense not in ("present", "done") or (clause.verb.tense == "done" and not clause.times.is_lasting):
        return []
    first = words[0].low
    if first in _STATES and len(words) > 2 and words[1].low == _STATES[first][0]:
        _, predicate, kind = _STATES[first]
        rest = replace(clause, words=words[2:])
        return [_draft(clause, predicate, each, end) for each, end in rest.listed(kind)]
    if first == "from":
        return _one(clause, "comes_from", values.place(clause.part("from")), clause.part("from"))
    if first in lists.DIETS or (first == "a" and len(words) > 1 and words[1].low in lists.DIETS):
        kept = words[:1] if first in lists.DIETS else words[1:2]
        is_whole = kept[0].mark or len(trimmed(words)) <= 2 or words[words.index(kept[0]) + 1].low in ("and", "but")
        return _one(clause, "diet", kept[0].low, kept) if is_whole else []
    return _aged(clause) or _job(clause) or _fan(clause)


def _draft(clause: Predication, predicate: str, value: str, end: int, confidence: float = 0.6) -> Draft:
    return Draft(
        predicate, value, max(end, clause.last), confidence, clause.verb.is_denied,
        valid_from="" if clause.verb.is_denied else clause.times.valid_from, valid_to=clause.times.valid_to,
    )  # fmt: skip


def _one(clause: Predication, predicate: str, value: str, words: list[Token], confidence: float = 0.6) -> list[Draft]:
    return [_draft(clause, predicate, value, trimmed(words)[-1].end, confidence)] if value else []


def _born(clause: Predication) -> list[Draft]:
    """ "was born in Porto", "was born on 3 May 1990", "was born in 1990"."""
    if clause.verb.is_denied:
        return []
    found = []
    for part in clause.parts():
        if part.preposition == "in" and (place := values.place(part.words)):
            found.append(Draft("born_in", place, trimmed(part.words)[-1].end, 0.65))
    if clause.times.span and clause.times.cuts and (when := birth_said(clause.named)):
        found.append(Draft("born_on", when, clause.last, 0.65))
    return found


def _aged(clause: Predication) -> list[Draft]:
    """ "is 34", "is 34 years old"."""
    words = trimmed(clause.words)
    number = words[0].text if words else ""
    if not (number.isascii() and number.isdigit() and 0 < int(number[:4]) < 120) or clause.verb.is_denied:
        return []
    is_old = len(words) > 2 and words[1].low == "years" and words[2].low == "old"
    if not (is_old or len(words) == 1 or words[0].mark):
        return []
    return _one(clause, "age", number, words[:3] if is_old else words[:1])


def _job(clause: Predication) -> list[Draft]:
    """ "is a nurse", "is a senior engineer at Acme", "is the CEO of Acme", "is a student at Porto University"."""
    parts = clause.parts()
    if not parts or parts[0].words[0].low not in ("a", "an", "the") or parts[0].preposition:
        return []
    words, after = parts[0].words, list[Token]()
    if of := next((at for at, token in enumerate(words) if token.low == "of"), None):
        words, after = words[:of], words[of + 1 :]
    parts = [Part("", words), *([Part("of", after)] if after else []), *parts[1:]]
    head = words[-1].low if words else ""
    place = next((part for part in parts[1:] if part.preposition in ("at", "of", "for")), None)
    if head == "member" and place and place.preposition == "of":
        return _one(clause, "member_of", values.organisation(place.words), place.words)
    if head == "student":
        return _one(clause, "studies_at", values.school(place.words), place.words) if place else []
    if any(part.preposition == "by" for part in parts):
        return []  # "a nurse by training"
    role = values.role(words)
    if not role or head not in lists.JOBS or any(token.low in lists.NOT_A_JOB for token in words):
        return []
    found = [_draft(clause, "works_as", role, words[-1].end)]
    if place and (where := values.name(place.words)) and not clause.verb.is_denied:
        found.append(_draft(clause, "works_at", where, trimmed(place.words)[-1].end))
    return found


def _fan(clause: Predication) -> list[Draft]:
    """ "is a big fan of jazz"."""
    lows = [token.low for token in clause.words[:5]]
    if lows[:1] != ["a"] or "fan" not in lows or clause.verb.is_denied:
        return []
    at = lows.index("fan")
    if at > 2 or lows[at + 1 : at + 2] != ["of"]:
        return []
    rest = replace(clause, words=clause.words[at + 2 :])
    return [_draft(clause, "likes", each, end) for each, end in rest.listed(values.liked)]


def relation_at(tokens: list[Token], at: int) -> tuple[str, int]:
    """The relation that is named here, and the word after it: ("sister", 2) in "older sister Eva"."""
    for place, token in enumerate(tokens[at : at + 3], at):
        if token.low in lists.RELATIONS:
            return token.low, place + 1
        if token.low not in lists.KIN_ADJECTIVES:
            break
    return "", at


# --- "my … is …"

_OWN = {tuple(words.split()): predicate for predicate, said in {
    "name": "name, full name, real name, first name", "email": "email, e-mail, email address, e-mail address",
    "phone": "phone, phone number, mobile, mobile number, number, cell, cell number, telephone number",
    "birthday": "birthday", "born_on": "date of birth, birth date, birthdate", "born_in": "birthplace",
    "comes_from": "hometown, home town", "works_as": "job, occupation, profession, job title, title",
    "works_at": "employer", "goal": "goal, main goal, aim, dream, biggest goal", "deadline": "deadline",
    "speaks": "native language, mother tongue, first language", "age": "age",
}.items() for words in said.split(", ")}  # fmt: skip
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


def read_own(predicate: str, clause: Predication, whole: str) -> list[Draft]:
    """The claims about something that somebody has. `whole` is all that follows "is", times and all."""
    if clause.verb.bare != "be" or clause.verb.tense != "present":
        return []
    if predicate in ("birthday", "born_on", "deadline"):
        return _own_day(predicate, clause, whole)
    words = clause.words
    if predicate == "goal":
        is_plan = bool(words) and words[0].low == "to"
        return intent("goal", clause, up_to_comma(words[1:]), False, 0.6) if is_plan else []
    if predicate in ("email", "phone"):
        match = (_EMAIL if predicate == "email" else _PHONE).match(whole)
        if not match or not words:
            return []
        return [_draft(clause, predicate, match[0].strip(" ."), words[0].start + match.end(), 0.7)]
    kind = _OWN_KINDS.get(predicate, values.thing)
    direct = clause.direct()
    return _one(clause, predicate, kind(direct), direct, 0.7 if predicate == "name" else 0.6)


_OWN_KINDS: dict[str, Kind] = {
    "name": values.person, "born_in": values.place, "comes_from": values.place,
    "works_as": lambda words: values.role(words) if {token.low for token in words} & lists.JOBS else "",
    "works_at": values.name, "speaks": values.language,
    "age": lambda words: words[0].text if len(words) == 1 and words[0].text.isdigit() else "",
}  # fmt: skip


def _own_day(predicate: str, clause: Predication, whole: str) -> list[Draft]:
    whole = re.split(r"[,;!]|\.(?=\s|\Z)| and | but ", whole)[0].strip(" .")
    day = date_said(whole, clause.now) if predicate == "deadline" else birth_said(whole)
    if predicate == "birthday" and not day and (near := date_said(whole, clause.now)):  # "tomorrow"
        moment = datetime.fromisoformat(near)
        day = birth_said(f"--{near[5:]}") or birth_said(f"{moment.day} {moment:%B}")
    return [Draft(predicate, day, clause.last, 0.65, clause.verb.is_denied)] if day and clause.last else []


# --- "the … is …"


def read_setting(text: str, start: int, now: datetime) -> Draft | None:
    """ "the port is 5432", "the report is due on Friday": one exact value, a day, or a name where one is expected."""
    claim = None if _LONE.search(text) else claim_of(text[0].lower() + text[1:])  # "My" is no name
    if claim is None or not claim.is_definite or claim.is_denied:
        return None
    subject = re.sub(r"^(?:our|my) ", "", claim.subject)
    words = subject.split()
    is_plain = all(word.replace("-", "").isalpha() for word in words)
    if len(words) > 4 or not lists.SECRETS.isdisjoint(words) or not is_plain:
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
    is_exact = shape[:1] in EXACT and (len(words) == 1 or (len(words) == 2 and words[1] in lists.UNITS))
    is_named = noun in lists.SETTINGS and set(shape) <= {NAME, "n", "c"} and len(words) <= 3
    found = _TAIL.search(text)
    if not (is_exact or is_named) or not found or len(found["value"].split()) > len(words) + 1:
        return ""
    clause = re.sub(r"^(?:the|a|an)\s+", "", found["value"].strip(" .!\"'`*"), flags=re.IGNORECASE)
    return re.sub(r"\s+(?:now|today|instead|again)$", "", clause)


def pet_at(tokens: list[Token], at: int) -> tuple[str, int]:
    return (tokens[at].low, at + 1) if at < len(tokens) and tokens[at].low in lists.PETS else ("", at)
