"""English grammar for claims: lists of words, forms of verbs, and the parser of one short sentence.

Only a plain statement is parsed. A question, a condition, a guess, the words of another, a second sentence, a subject
that cannot be identified ("it", "a room") or a second verb: nothing is found. To find nothing is always allowed.
"""

from __future__ import annotations

from typing import NamedTuple

from tallystick.text import words as kinds
from tallystick.text.words import Word, set_of

ARTICLES = set_of("a an the this these")
OWNERS = set_of("my our your whose")  # with these it is plain which one is meant
FILLERS = set_of(
    "now actually currently really just indeed basically presently also anymore very quite simply nowadays"
)
LASTING = set_of("still already")  # adds nothing to a claim, but something for a reader
OPENERS = set_of("yes ok okay well so oh hey please btw fyi")  # these say nothing at the beginning only
PHRASES = {  # a first word, and what may follow for both to say nothing
    "as": (("of", "today"), ("of", "now"), ("of", "right", "now")), "at": (("the", "moment"), ("present",)),
    "right": (("now",),), "from": (("now", "on"),), "for": (("now",),), "in": (("fact",),), "of": (("course",),),
    "by": (("the", "way"),), "these": (("days",),), "any": (("longer",), ("more",)), "to": (("be", "clear"),),
}  # fmt: skip
LEADS = set_of("note update correction reminder fact edit info remember fyi btw know")  # before a colon or "that"

# A question, a guess, a wish, the word of another, or something under a condition: no claim.
HEDGES = set_of(
    "if unless whether maybe perhaps probably possibly presumably apparently supposedly allegedly likely unlikely might"
    " could would may seem seems seemed think thinks thought believe believes believed guess guesses suppose supposes"
    " assume assumes assumed suspect suspects hope hopes wish wishes said says say told tells tell claims claimed"
    " asked asks ask wonder wonders or either imagine suggests suggested except but although though however according"
    " supposing hypothetically quoted mentioned mentions thinking when whenever while nor neither nobody"
    " nothing none noone"
)
RELATIVE = set_of("that which who whom whose where why because until since than as what how")
UNCLEAR = set_of(
    "it he she they them him this that these those there here someone somebody something everything everyone one his"
    " her its their some any another many most few several both all none"
)
VAGUE = set_of("a an some any another many most few several both one")  # "a room is free": which one?
ABBREVIATIONS = set_of("dr mr mrs ms prof st no nr approx ca vs etc jr sr inc ltd co e.g i.e")

DENIALS = set_of("not never")
BE = {"is": "is", "are": "is", "am": "is", "be": "is", "was": "was", "were": "was"}
AUXILIARY = set_of("do does did have has had will shall can must should")
PREPOSITIONS = set_of("in on at to from by for with under near of about as into until till over")
WHEN = set_of("on at in")  # before a date or a time they add nothing

# After "is": words that belong to the predicate.
STATES = set_of(
    "called named titled located based hosted stored kept set due scheduled planned born priced worth owned led managed"
    " run maintained limited equal valid situated headquartered"
)

_VERBS = """
accept agree allow answer approve arrive ask attend ban become begin belong block bring build buy call cancel carry
catch cause celebrate change charge check choose clean close collect come commit commute complete connect contain
control cook copy cost cover create cross cut cycle dance debug decide decrease default delete depart depend deploy
describe design develop disable disagree discuss dislike display distrust download draw drink drive earn eat edit
enable encrypt end enjoy ensure equal escape exclude exercise exist expect expire export fail fall feel fetch find
finish fix fly follow forbid format generate get give go grow handle happen hate help hit hold host hurt ignore import
improve include increase inherit inspect install invite jog join keep kill know last launch lead learn leave lend let
like limit lint listen live load lock look lose love maintain make manage mean measure meet merge miss monitor move
name need offer open oppose order own paint parse pass pay permit pick pin plan play point post prefer print process
produce prohibit publish pull push put raise reach read receive reduce refer refuse reject release reload remove
render repeat replace reply report require reside resolve respect restart retry return reuse review ride rise rotate
run save schedule search see seek select sell send separate serve share ship shrink shut sing sit skip sleep smoke
solve speak spell spend split sponsor stand start stay stop store stream stretch strip study subscribe succeed suit
supply support swear swim switch sync take talk teach test throw total track travel trigger trust turn type understand
update upgrade upload use validate verify visit wait wake walk want watch wear weigh win work write
"""
_IRREGULAR = {
    "ate": "eat", "began": "begin", "bought": "buy", "built": "build", "drank": "drink", "drove": "drive",
    "forbade": "forbid", "gave": "give", "got": "get", "grew": "grow", "held": "hold", "kept": "keep", "knew": "know",
    "left": "leave", "made": "make", "met": "meet", "paid": "pay", "ran": "run", "sang": "sing", "sat": "sit",
    "saw": "see", "sent": "send", "slept": "sleep", "sold": "sell", "spent": "spend", "spoke": "speak",
    "stood": "stand", "swam": "swim", "taught": "teach", "took": "take", "went": "go", "won": "win", "wore": "wear",
    "wrote": "write", "moved": "move",
}  # fmt: skip
BARE, THIRD, PAST, GOING = "bare", "third", "past", "going"


def _with(verb: str, ending: str) -> set[str]:
    """The forms a verb may take with an ending: a wrong one among them does no harm."""
    if verb.endswith("y") and ending != "ing" and verb[-2] not in "aeou":
        return {f"{verb[:-1]}ie{ending[-1]}"}
    if ending == "s":
        return {verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")}
    return {verb[:-1] + ending} if verb.endswith("e") else {verb + ending, verb + verb[-1] + ending}


_ENDINGS = (("ing", GOING), ("ed", PAST), ("s", THIRD))
FORMS = {  # every form of every verb: its bare form, and which it is
    **{form: (verb, kind) for verb in _VERBS.split() for ending, kind in _ENDINGS for form in _with(verb, ending)},
    **{form: (verb, PAST) for form, verb in _IRREGULAR.items()},
    **{verb: (verb, BARE) for verb in _VERBS.split()},
}


def singular(word: str) -> str:
    """A noun without its plural s; what merely ends in s stays."""
    if len(word) < 4 or word[-1] != "s" or word[-2] in "sui":
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes", "zes")) else word[:-1]


# -- one short sentence ------------------------------------------------------------------------------------------------

LONGEST = 60  # words

_MOMENTS = frozenset((kinds.DATE, kinds.TIME, kinds.WEEKDAY, kinds.MONTH))
_CLOCKED = set_of("start begin end finish open close expire arrive depart leave launch ship")


class Reading(NamedTuple):
    subject: list[Word]
    predicate: str
    value: list[Word]
    is_denied: bool


def read(words: list[Word]) -> Reading | None:
    """Parse a sentence; None if it is not one plain statement."""
    plain = _plain(words) if len(words) <= 2 * LONGEST else None
    if plain is None or not 1 < len(plain) <= LONGEST:
        return None
    at = _verb_at(plain)
    if at is None:
        return None
    subject, is_denied = _undenied(plain[:at])
    return None if subject is None else _reading(subject, plain, at, is_denied)


def read_triple(subject: list[Word], predicate: list[Word], value: list[Word]) -> Reading | None:
    """The same for a triple. A predicate that is no verb is something the subject has: (Ana, phone, 123)."""
    while predicate and predicate[0][0] == "has" and len(predicate) > 1 and predicate[1][0] not in FORMS:
        predicate = predicate[1:]
    if not (subject and predicate and value):
        return None
    first = predicate[0][0]
    if first in _CARRIES or first in DENIALS or first in FORMS or first.endswith("ed"):
        return _reading(subject, subject + predicate + value, len(subject), False)
    if first.endswith("s") and first[-2:-1] not in ("s", "u", "i"):
        return Reading(subject, " ".join(word for word, _ in predicate), value, False)
    whole = [*subject, ("'s", kinds.OWNER), *predicate]
    return _reading(whole, [*whole, ("is", kinds.EQUALS), *value], len(whole), False)


def _plain(words: list[Word]) -> list[Word] | None:
    """The words without those that say nothing; None where they are no plain statement."""
    plain: list[Word] = []
    ended, skip = False, 0
    for at, word in enumerate(words):
        text, kind = word
        if skip:
            skip -= 1
        elif text not in _NOTABLE:
            if ended:
                return None
            plain.append(word)
        elif kind == kinds.END:
            ended = ended or not plain or not (plain[-1][0] in ABBREVIATIONS or len(plain[-1][0]) == 1)
        elif ended:
            return None
        elif text in PHRASES and (at + 1 == len(words) or (text, words[at + 1][0]) not in _PHRASE_STARTS):
            plain.append(word)
        elif text in HEDGES or kind == kinds.ASKS:
            return None
        elif text in FILLERS or text in LASTING or (text in OPENERS and not plain):
            continue
        else:
            length = _turn(words, at, plain)
            if length is None:
                return None
            skip = length
    return plain


_NOTABLE = HEDGES | FILLERS | LASTING | OPENERS | DENIALS | PHRASES.keys() | {"no", "that", ":", ",", "?", "."}
_PHRASE_STARTS = frozenset((first, rest[0]) for first, phrases in PHRASES.items() for rest in phrases)
_IN_PART = set_of("always only all every everyone necessarily entirely fully exactly quite very really")


def _turn(words: list[Word], at: int, plain: list[Word]) -> int | None:
    """Add a word that may begin a phrase or end a lead-in. How many more were taken; None: no plain statement."""
    text, kind = words[at]
    following = words[at + 1][0] if at + 1 < len(words) else ""
    for phrase in PHRASES.get(text, ()):
        if tuple(word for word, _ in words[at + 1 : at + 1 + len(phrase)]) == phrase:
            return len(phrase)
    if text == "no" and following == "longer":
        plain.append(("not", kinds.PLAIN))
        return 1
    if text in DENIALS and following in _IN_PART:
        return None
    if (kind == kinds.COLON or text == "that") and len(plain) == 1 and plain[0][0] in LEADS:
        plain.clear()
    elif kind == kinds.COMMA and (not plain or (len(plain) == 1 and plain[0][0] == "no")):
        plain.clear()  # "No, the port is 6543"
    else:
        plain.append(words[at])
    return 0


def _verb_at(words: list[Word]) -> int | None:
    """Where the verb is: after the subject, or first where that was left out ("ships on 3 May", "use tabs")."""
    bare: int | None = None
    is_note = FORMS.get(words[0][0], ("", ""))[1] == THIRD and (
        words[1][0] in PREPOSITIONS or words[1][1] in kinds.EXACT
    )
    for at, (text, kind) in enumerate(words):
        if kind in (kinds.EQUALS, kinds.COLON) or text in _CARRIES:
            return at
        if text not in _TURNS:
            continue
        if text in RELATIVE:
            if at:
                return bare if bare == 0 or (bare == 1 and words[0][0] in DENIALS) else None
        elif not (at and words[at - 1][0] in _BEFORE_NOUNS):
            form = FORMS[text][1]
            if form == BARE:
                bare = at if bare is None else bare
            elif form != GOING and (at or is_note) and all(text not in _CARRIES for text, _ in words[at + 1 : at + 3]):
                return at  # a stronger verb after it makes it a noun: "the test runs are slow"
    (_, first), (text, kind) = words[:2]
    if bare is None and first == kinds.NAME and kind == kinds.PLAIN and len(text) > 3 and text[-1] == "s" != text[-2]:
        return 1  # "Ana juggles"
    return bare


_CARRIES = BE.keys() | AUXILIARY
_TURNS = FORMS.keys() | RELATIVE
_BEFORE_NOUNS = ARTICLES | OWNERS | {"'s"}


def _undenied(words: list[Word]) -> tuple[list[Word] | None, bool]:
    """The subject, and whether it was denied before the verb: "Ana never", "no test"."""
    is_denied = False
    if words and words[-1][0] in DENIALS:
        words, is_denied = words[:-1], True
    elif words and words[0][0] == "no":
        words, is_denied = words[1:], True
        if not words:
            return None, False
    if words and words[-1][0] == "always":
        words = words[:-1]
    texts = {text for text, _ in words}
    text, kind = words[0] if words else ("", "")  # "it", "a room", "2 rooms", "what": which one is meant?
    if text in RELATIVE or (text in UNCLEAR if len(words) == 1 else text in VAGUE or kind == kinds.NUMBER):
        return None, False
    if "no" in texts or not texts.isdisjoint(DENIALS) or not texts.isdisjoint(_WHOSE):
        return None, False
    return words, is_denied


_WHOSE = frozenset(("his", "her", "its", "their", "those", "only"))


class _Tail:
    """The words after the verb, taken from the front."""

    __slots__ = ("at", "is_denied", "words")

    def __init__(self, words: list[Word], at: int, is_denied: bool) -> None:
        self.words, self.at, self.is_denied = words, at, is_denied
        self.pass_denials()

    def pass_denials(self) -> None:
        while self.at < len(self.words) and (self.words[self.at][0] in DENIALS or self.words[self.at][0] == "always"):
            self.is_denied ^= self.words[self.at][0] != "always"
            self.at += 1

    def peek(self, ahead: int = 0) -> Word:
        at = self.at + ahead
        return self.words[at] if at < len(self.words) else ("", "")

    def take(self) -> str:
        text = self.peek()[0]
        self.at += 1
        self.pass_denials()
        return text


def _reading(subject: list[Word], words: list[Word], at: int, is_denied: bool) -> Reading | None:
    text, kind = words[at]
    tail = _Tail(words, at + 1, is_denied)
    if kind in (kinds.EQUALS, kinds.COLON):
        predicate = "is" if subject else ""
    elif not subject and not (text in FORMS or (text == "do" and tail.is_denied)):
        return None  # "is the port 5432"
    else:
        predicate = _predicate(text, tail)
    if not predicate:
        return None
    predicate = _with_preposition(predicate, tail)
    value = _value(tail)
    if value is None or (not value and predicate.startswith(("is", "was", "have"))):
        return None
    if predicate.startswith("will ") and value and value[0][1] in _MOMENTS:
        predicate = "is" if predicate == "will be" else predicate[5:]  # what will be on Monday is on Monday
    if not subject:
        subject = [("it" if text in FORMS and FORMS[text][1] == THIRD else "you", kinds.PLAIN)]
    return Reading(subject, predicate, value, tail.is_denied)


def _predicate(text: str, tail: _Tail) -> str:
    """The verb in its bare form, with "did" for what is past and "will" for what is to come; "is", "was", "will be"."""
    if text in BE:
        return _being(BE[text], tail)
    if text in ("have", "has", "had"):
        following = tail.peek()[0]
        if following == "been":
            tail.take()
            return _being("was" if text == "had" else "is", tail)
        if following in FORMS and FORMS[following][1] == PAST:
            return "did " + FORMS[tail.take()][0]
        return "did have" if text == "had" else "have"
    if text in AUXILIARY:
        verb = tail.take()
        if not verb or tail.words[tail.at - 1][1] in kinds.EXACT:
            return ""
        bare = "be" if verb == "be" else FORMS[verb][0] if verb in FORMS else verb
        return _AUXILIARY.get(text, text + " ") + bare
    bare, form = FORMS[text] if text in FORMS else (text.removesuffix("s"), "")
    if bare == "use" and form == PAST and tail.peek()[0] == "to":
        tail.take()
        verb = tail.take()
        return "was" if verb == "be" else "did " + verb
    return "did " + bare if form == PAST else bare


_AUXILIARY = {"do": "", "does": "", "did": "did ", "shall": "will "}


def _being(tense: str, tail: _Tail) -> str:
    """ "is", "is called", or the verb of "is living"."""
    following = tail.peek()[0]
    if following in ("been", "being"):
        tail.take()
        following = tail.peek()[0]
    if following in STATES and tail.peek(1)[0]:
        return f"{tense} {tail.take()}"
    if following in FORMS and FORMS[following][1] == GOING and tail.peek(1)[0]:
        bare = FORMS[tail.take()][0]
        return bare if tense == "is" else "did " + bare
    return tense


def _with_preposition(predicate: str, tail: _Tail) -> str:
    text = tail.peek()[0]
    ahead = 2 if tail.peek(1)[0] in ARTICLES else 1
    following, kind = tail.peek(ahead)
    if text not in PREPOSITIONS or not following:
        return predicate
    if text in WHEN and (kind in _MOMENTS or (kind == kinds.NUMBER and text != "in" and predicate in _CLOCKED)):
        tail.at += 1
        return predicate
    if following in PREPOSITIONS or (text in ("on", "over") and kind == kinds.COMMA):
        return predicate  # "is on at night"
    tail.at += 1
    return f"{predicate} {text}"


def _value(tail: _Tail) -> list[Word] | None:
    """The value, up to a reason or a date since when it holds; None where a second statement follows."""
    words = tail.words
    value: list[Word] = []
    if tail.peek()[0] == "no":
        tail.at += 1
        tail.is_denied = not tail.is_denied
    for at in range(tail.at, len(words)):
        text, kind = words[at]
        if text not in _STOPS:
            if kind != kinds.OWNER or value:
                value.append(words[at])
            continue
        following = words[at + 1][1] if at + 1 < len(words) else ""
        if text == "because" or (value and text in ("instead", "rather")):
            break
        if value and text in ("since", "as") and _since(words, at):
            break
        if value and text in DENIALS and following == value[0][1] in kinds.EXACT:
            break  # "6543, not 5432"
        if text in _SECOND:
            return None
        if kind == kinds.COMMA and value and value[-1][1] in kinds.EXACT and following == value[-1][1]:
            value.append(("and", kinds.PLAIN))
        elif text in ("since", "as", "instead", "rather"):
            value.append(words[at])
    return value


_SECOND = DENIALS | _CARRIES | {"no", "that", "which", "who", "whom", "where", "why"}
_STOPS = _SECOND | ARTICLES | {"because", "since", "as", "instead", "rather", ",", ":"}


def _since(words: list[Word], at: int) -> bool:
    """Whether "since Monday" or "as of 3 May" ends the statement here."""
    rest = words[at + 1 :]
    if words[at][0] == "as":
        if not rest or rest[0][0] != "of":
            return False
        rest = rest[1:]
    return len(rest) == 1 and (rest[0][1] in _MOMENTS or rest[0][1] == kinds.NUMBER)
