"""Claims of short statements, and whether two of them contradict or repeat each other. No model is asked.

Two claims are about the same thing when they share their `key`: subject and predicate. Then they contradict each other
when one denies what the other says, when they say opposites, or when they give two values where only one can hold:
"the port is 5432" and "the port is 6543". Where several may hold ("Ana likes tea", "Ana likes coffee") they do not.

The past is not contradicted by the present: "was" and "is" are two predicates. A guess, a question, a quotation or a
condition claims nothing, nor does a text of several sentences or lines, or of more than 60 words. Only English is
read. What cannot be known here: that Berlin lies in Germany.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2s
from typing import NamedTuple

from tallystick.text import grammar, words as kinds
from tallystick.text.words import NUMBER, Word, set_of, shown, words_of

SURE = 0.9  # from this score on, the later of two claims replaces the earlier without asking

_LONGEST = 600  # characters: a longer text makes no claim
_TOO_LONG = 20_000  # characters: a longer text is repeated only by itself
_PAST = 0.7  # two things past may both have been, each at its time
_OPPOSED = 0.85
_SEVERAL = 0.8  # more than one value differs
_WORDS = 0.6  # other words where one value is expected
_NAMES = 0.5


class Claim(NamedTuple):
    """A subject, a predicate and a value, in lowercase, without articles and fillers."""

    subject: str
    predicate: str  # a verb in its bare form, with its preposition: "is", "was", "live in", "did live in", "will be"
    value: str
    is_denied: bool
    shape: str = ""  # the kind of each word of the value, a letter for each
    is_definite: bool = False  # the subject is "the …", "my …", "Ana's …", and not a bare name

    @property
    def key(self) -> str:
        """The key that two claims about the same thing share; a claim and its opposite have the same."""
        return f"{self.subject}|{' '.join(map(pole, self.predicate.split()))}"


class Conflict(NamedTuple):
    """The reason why two claims cannot both hold."""

    kind: str  # number, date (and time), negation, antonym, value
    score: float  # 0 to 1
    why: str  # for a person: "5432 against 6543"


def claim_of(text: str, triple: tuple[str, ...] = ()) -> Claim | None:
    """The claim of a text, if it makes one. A triple of subject, predicate and object, where given, decides."""
    if len(triple) == 3:
        if sum(map(len, triple)) > _LONGEST:
            return None
        subject, predicate, value = triple
        predicate = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", predicate).lower()  # "livesIn" as "lives in"
        reading = grammar.read_triple(words_of(subject), words_of(predicate), words_of(value))
    elif len(text) > _LONGEST or "\n" in text.strip():
        return None
    else:
        reading = grammar.read(words_of(text))
    return None if reading is None else _claim(reading)


@lru_cache(maxsize=64)  # the writer asks for it, and so does the index a moment later
def claim_key(text: str, triple: tuple[str, ...] = ()) -> str | None:
    """A short name for the topic of a belief; None if it claims nothing that another could deny."""
    claim = claim_of(text, triple)
    return blake2s(claim.key.encode("utf-8", "replace"), digest_size=8).hexdigest() if claim else None


def conflict(one: Claim, other: Claim) -> Conflict | None:
    """The conflict of two claims, or None. Their order changes nothing but the order in `why`."""
    if one.subject != other.subject:
        return None
    if one.predicate != other.predicate:
        return _opposed_verbs(one, other)
    if one.value == other.value:
        if one.is_denied == other.is_denied:
            return None
        score = _PAST if _is_past(one.predicate) else 0.95
        return Conflict("negation", score, f"said and denied: {one.predicate} {one.value}".rstrip())
    if one.is_denied or other.is_denied:
        return None
    return _two_values(one, other)


def corrects(new_text: str, old_text: str, new_triple: tuple[str, ...] = (), old_triple: tuple[str, ...] = ()) -> bool:
    """Whether the new text states the old one with another number, date, time, link or code, or denies just that.

    Only then may the old one be replaced without asking. Other words in the place of words are never enough.
    """
    new, old = claim_of(new_text, new_triple), claim_of(old_text, old_triple)
    found = conflict(new, old) if new and old else None
    return found is not None and found.score >= SURE


def is_repeat(one: str, other: str) -> bool:
    """Whether two texts have the same gist: no number, date, name, denial or other word that counts differs."""
    return one == other or gist(one) == gist(other)


def gist(text: str) -> str:
    """A text without capitals, articles, fillers and punctuation, its dates, times and numbers written in one way.

    Repeats share it and others do not, so it may serve as the key of an index. A text about a password or a key keeps
    its capitals; a very long one is kept as it is.
    """
    kept = _content_words(words_of(text)) if len(text) <= _TOO_LONG else []
    while kept and kept[0] in grammar.OPENERS:
        del kept[0]
    if not kept:
        return " ".join(text.split())
    found = " ".join(kept)
    if _SECRETS.isdisjoint(kept):
        return found
    capitals = (each.strip(".,;:!?\"'") for each in text.split()[1:] if not each.islower())
    return f"{found}\n{' '.join(capitals)}"


_SILENT = frozenset((kinds.COMMA, kinds.COLON))
_ARTICLES = frozenset(("a", "an", "the"))
_NOT = frozenset(("not", "no", "never"))
_TITLES = frozenset(("dr", "mr", "mrs", "ms", "prof", "st"))  # after which a point ends no sentence
_SECRETS = set_of("password passwd passphrase passcode secret token key code login username pin")


def _content_words(words: list[Word]) -> list[str]:
    """The words that count. "Not just tea" is not "not tea"; where a sentence ends, another begins."""
    kept: list[str] = []
    for word, kind in words:
        is_filler = word in grammar.FILLERS and not (kept and kept[-1] in _NOT)
        if kind == kinds.END:
            if kept and kept[-1] not in _TITLES:
                kept.append(".")
        elif kind not in _SILENT and word not in _ARTICLES and not is_filler:
            kept.append(word)
    while kept and kept[-1] == ".":
        kept.pop()
    return kept


def _claim(reading: grammar.Reading) -> Claim | None:
    subject = " ".join(_in_order(reading.subject))
    if not subject:
        return None
    words = [(grammar.singular(word), kind) if kind == kinds.PLAIN else (word, kind) for word, kind in reading.value]
    if len(words) > 1 and words[0][0] == "one":
        words[0] = ("1", NUMBER)
    first, kind = reading.subject[0]
    is_pointed = first in grammar.ARTICLES | grammar.OWNERS or _OWNED in reading.subject or _OF in reading.subject
    is_definite = kind != kinds.NAME or is_pointed
    return Claim(
        subject, reading.predicate, " ".join(word for word, _ in words), reading.is_denied,
        "".join(kind * (1 + word.count(" ")) for word, kind in words), is_definite and first not in _PERSONS,
    )  # fmt: skip


_OWNED, _OF = ("'s", kinds.OWNER), ("of", kinds.PLAIN)
_PERSONS = frozenset(("i", "you", "we"))


def _in_order(words: list[Word]) -> list[str]:
    """The words of a subject that count: "the port of Ana" in the order of "Ana's port"."""
    kept: list[str] = []
    parts: list[list[str]] = [kept]
    for word, kind in words:
        if word == "of":
            kept = []
            parts.append(kept)
        elif word not in grammar.ARTICLES and kind not in (kinds.OWNER, kinds.COMMA):
            kept.append(word.replace("_", " "))
    return [word for part in reversed(parts) for word in part]


def _is_past(predicate: str) -> bool:
    return predicate.startswith(("was", "did "))


def _opposed_verbs(one: Claim, other: Claim) -> Conflict | None:
    """ "likes" against "hates", "loves" against "does not like"."""
    words, other_words = one.predicate.split(), other.predicate.split()
    if one.value != other.value or len(words) != len(other_words):
        return None
    differ = [pair for pair in zip(words, other_words, strict=True) if pair[0] != pair[1]]
    if len(differ) != 1:
        return None
    verb, other_verb = differ[0]
    score = _PAST if _is_past(one.predicate) else _OPPOSED
    if one.is_denied == other.is_denied:
        is_opposed = not one.is_denied and pole(verb) == pole(other_verb) and are_opposite(verb, other_verb)
        return Conflict("antonym", score, f"{verb} against {other_verb}") if is_opposed else None
    stated, denied = (other_verb, verb) if one.is_denied else (verb, other_verb)
    return Conflict("negation", score, f"{stated} against not {denied}") if _WEAKER.get(stated) == denied else None


# Which predicates hold one value at a time, and of which sort: letters as in a shape, "v" for any words, "#" for a
# count before a noun ("has 2 cats"), "." for a version after a name ("uses Python 3.11").
_MOMENT = kinds.DATE + kinds.TIME + kinds.MONTH
_PORT = NUMBER + kinds.LINK + kinds.CODE
_ANY = _MOMENT + kinds.WEEKDAY + _PORT
_HOLDS_ONE = {
    "is": _ANY + ".", "is at": _ANY + "v", "is in": _ANY + "v", "is near": "v", "is from": "v",
    "is on": _PORT, "run on": _PORT + ".", "listen on": _PORT, "live in": kinds.LINK + "v", "live at": _ANY + "v",
    "reside in": "v", "work at": "v", "work for": "v", "work as": "v",
    "belong to": "v", "report to": "v", "point to": _ANY + "v", "resolve to": _ANY + "v", "default to": _ANY + "v",
    "cost": NUMBER, "weigh": NUMBER, "measure": NUMBER, "total": NUMBER, "equal": NUMBER, "last": NUMBER,
    "take": NUMBER + "#", "earn": NUMBER, "charge": NUMBER,
    "start": NUMBER + _MOMENT, "begin": NUMBER + _MOMENT, "open": NUMBER + _MOMENT, "close": NUMBER + _MOMENT,
    **dict.fromkeys(("expire", "end", "finish", "arrive", "depart", "leave", "launch", "ship"),
                    NUMBER + _MOMENT + kinds.WEEKDAY),
    "run": ".", "use": "#.", "require": "#.",
    **dict.fromkeys(("have", "contain", "need", "hold", "support", "store", "allow", "offer", "own"), "#"),
}  # fmt: skip
_RANKING, _BEFORE = frozenset(("prefer", "like", "choose", "favour", "favor", "pick")), ("over", "to", "than")
_MORE = ("rather", "more", "better")
_OPPOSABLE = frozenset(("prefer", "can", "must", "should", "go", "work", "look", "stay", "keep", "want"))
_NUMBERED = set_of("port room number page line chapter no nr # gate table channel bus train team ip host")
_FORERUNNERS = _NUMBERED | {"version", "about", "around", "approximately", "until"}
_ONE_OF_ITS_KIND = set_of(
    """
    address answer author birthplace boss breed capital ceo chief city colour country currency cto default destination
    employer father format gender hometown husband job language leader level location maiden maintainer manager mode
    mother name nationality nickname occupation owner password phase priority profession religion size spouse stage
    state status theme timezone title type username venue wife winner
    """
)
_FAVOURED = frozenset(("favourite", "preferred", "default", "primary", "main", "official"))


def _two_values(one: Claim, other: Claim) -> Conflict | None:
    """Whether two values of the same predicate exclude each other."""
    tense, base = "", one.predicate
    for start, bare, when in _TENSES:
        if one.predicate.startswith(start):
            tense, base = when, bare + one.predicate[len(start) :]
            break
    sorts = _HOLDS_ONE.get(base, "")
    if not sorts and base.startswith("is ") and base.split()[1] in grammar.STATES:
        sorts = _ANY + "v"  # "is called", "is located in", "is due": all of them hold one value
    words, other_words = one.value.split(), other.value.split()
    if base in _RANKING and (pair := _ranked(words)) and _ranked(other_words) == pair[::-1]:
        return Conflict("antonym", _PAST if tense == "was" else _OPPOSED, f"{one.value} against {other.value}")
    differ = []
    if len(words) == len(other_words):
        differ = [at for at, word in enumerate(words) if word != other_words[at]]
    if len(differ) == 1:
        at = differ[0]
        if (sorts or base in _OPPOSABLE) and are_opposite(words[at], other_words[at]):
            score = _PAST if tense == "was" else _OPPOSED
            return Conflict("antonym", score, f"{words[at]} against {other_words[at]}")
    if not sorts:
        return None
    if differ and all(one.shape[at] == other.shape[at] and one.shape[at] in _ANY for at in differ):
        if not _is_place_for_one(words, one.shape, differ[0], sorts):
            return None
        if base == "is in" and differ[0] == 0 and len(words) > 1:
            return None  # "in 5 minutes": from when?
        if all(_may_be_same(words[each], other_words[each], one.shape[each]) for each in differ):
            return None
        score = _PAST if tense == "was" else SURE if len(differ) == 1 else _SEVERAL
        ours, theirs = (" ".join(shown(each[at]) for at in differ) for each in (words, other_words))
        return Conflict(_KINDS.get(one.shape[differ[0]], "value"), score, f"{ours} against {theirs}")
    return None if tense else _two_wordings(one, other, set(words), set(other_words), sorts)


def _ranked(words: list[str]) -> tuple[str, ...]:
    """What is put before what: "tea over coffee", "tea to coffee", "tea more than coffee"."""
    for at, word in enumerate(words):
        if 0 < at < len(words) - 1 and word in _BEFORE:
            return " ".join(words[: at - (words[at - 1] in _MORE)]), " ".join(words[at + 1 :])
    return ()


# How a predicate begins, what stands for that without its time, and the time.
_TENSES = (("did ", "", "was"), ("was", "is", "was"), ("will be", "is", "will"), ("will ", "", "will"))

_KINDS = {NUMBER: "number", kinds.DATE: "date", kinds.TIME: "date", kinds.WEEKDAY: "date", kinds.MONTH: "date"}


def _is_place_for_one(words: list[str], shape: str, at: int, sorts: str) -> bool:
    """Whether the word at this place is the one value, and not one of several: "open on Monday", "bug 17"."""
    kind, before = shape[at], words[:at]
    if "and" in words:
        return False
    if "." in sorts and kind == NUMBER and at == 1 and words[0] not in _NUMBERED:
        return shape[0] == kinds.NAME or "." in words[1]
    if "#" in sorts and kind == NUMBER and at == 0 and len(words) > 1:
        return True
    if kind not in sorts:
        return False
    if kind in _MOMENT and shape[0] in _DAY:  # "on Monday at 5 pm"
        pairs = zip(before, shape, strict=False)
        before = [word for word, sort in pairs if sort not in _DAY and word not in grammar.WHEN]
    return not before or _FORERUNNERS.issuperset(before)


_DAY = kinds.DATE + kinds.WEEKDAY


def _may_be_same(word: str, other: str, kind: str) -> bool:
    """ "3 May" and "3 May 2026", "5" and "5.0", "3.11" and "3.11.2": written otherwise, perhaps meant the same."""
    if kind == NUMBER:
        if word.isdecimal() and other.isdecimal():
            return word.lstrip("0") == other.lstrip("0")
        short, long = sorted((word.lstrip("0"), other.lstrip("0")), key=len)
        return short == long or long.startswith(short + ".") or ("." in short and long.rstrip("0") == short.rstrip("0"))
    if kind == kinds.MONTH and "--" in (word[:2], other[:2]):
        return word[-2:] == other[-2:]
    if kind != kinds.DATE:
        return False
    if "-" not in word or "-" not in other:  # which of 3/5/2026 is the month?
        numbers, others = ({int(part) for part in _DIGITS.findall(each)} for each in (word, other))
        return numbers <= others or others <= numbers
    if "--" in (word[:2], other[:2]):
        day, other_day = (each[2:7] if each[:2] == "--" else each[5:10] for each in (word, other))
        return day == other_day
    return word.startswith(other) or other.startswith(word)


_DIGITS = re.compile(r"\d+")


def _two_wordings(one: Claim, other: Claim, words: set[str], other_words: set[str], sorts: str) -> Conflict | None:
    """Words against other words, where one value is expected. A part of the other is no conflict."""
    if words <= other_words or other_words <= words or one.shape[:1] in _ANY or other.shape[:1] in _ANY:
        return None
    why = f"{one.value} against {other.value}"
    if "v" in sorts:
        return Conflict("value", _WORDS, why)
    if one.predicate != "is":
        return None
    subject = one.subject.split()
    if subject[-1] in _ONE_OF_ITS_KIND or not _FAVOURED.isdisjoint(subject):
        return Conflict("value", _WORDS, why)
    named = one.shape.strip(kinds.NAME) == "" == other.shape.strip(kinds.NAME)
    return Conflict("value", _NAMES, why) if named and one.is_definite and other.is_definite else None


# --- opposites: two words of which only one can be true of a thing; in lowercase, verbs in their bare form

_PAIRS = """
enabled/disabled on/off open/closed opened/closed open/shut allowed/forbidden permitted/forbidden allowed/banned
allowed/prohibited true/false yes/no always/never hot/cold warm/cold married/single married/divorced
married/unmarried alive/dead before/after with/without full/empty locked/unlocked public/private active/inactive
online/offline up/down valid/invalid legal/illegal possible/impossible safe/unsafe dangerous/safe visible/hidden
visible/invisible available/unavailable present/absent connected/disconnected installed/uninstalled
encrypted/unencrypted required/optional mandatory/optional stable/unstable complete/incomplete finished/unfinished
known/unknown happy/unhappy happy/sad big/small large/small tall/short long/short fast/slow quick/slow early/late
old/new old/young easy/hard easy/difficult simple/complicated cheap/expensive good/bad right/wrong
correct/incorrect correct/wrong clean/dirty dry/wet dark/light dark/bright light/heavy strong/weak rich/poor thick/thin
wide/narrow deep/shallow high/low loud/quiet soft/hard sharp/blunt awake/asleep healthy/sick healthy/ill
empty/occupied free/occupied free/busy free/taken male/female inside/outside internal/external
local/remote automatic/manual synchronous/asynchronous sync/async mutable/immutable read-only/writable
accepted/rejected approved/rejected passing/failing passed/failed
working/broken success/failure successful/failed guilty/innocent paid/unpaid
increasing/decreasing rising/falling supported/unsupported used/unused tab/space uppercase/lowercase
sweet/sour raw/cooked permanent/temporary odd/even positive/negative

like/dislike like/hate love/hate love/dislike enjoy/hate enjoy/dislike allow/forbid allow/prohibit permit/forbid
allow/ban enable/disable accept/reject accept/refuse approve/reject increase/decrease
grow/shrink pass/fail include/exclude trust/distrust agree/disagree
support/oppose succeed/fail
"""

_OPPOSITES = {frozenset(pair.split("/")) for pair in _PAIRS.split()}


def are_opposite(one: str, other: str) -> bool:
    """Whether two words exclude each other. The order does not matter; no word is opposed to itself."""
    return {one, other} in _OPPOSITES


def pole(verb: str) -> str:
    """The verb that stands for a verb and its opposites: "like" for like, love, hate and dislike."""
    return _POLES.get(verb, verb)


_POLES = {
    "dislike": "like", "hate": "like", "love": "like", "enjoy": "like", "forbid": "allow", "prohibit": "allow",
    "ban": "allow", "permit": "allow", "disable": "enable", "reject": "accept", "refuse": "accept",
    "approve": "accept", "decrease": "increase", "shrink": "grow", "fail": "pass", "succeed": "pass",
    "exclude": "include", "distrust": "trust", "disagree": "agree", "oppose": "support",
}  # fmt: skip
_WEAKER = {"love": "like", "enjoy": "like", "hate": "dislike"}
