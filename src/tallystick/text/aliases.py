"""Other names that a statement gives: "Priya Raman goes by Pip", "we call the oven Bertha", "my sister is called Jo".

Only what is said outright counts, and only English is read. A pair is two names of one person or thing, as they are
compared (`name_key`). A relation is a name too, "my sister": it is the speaker's for somebody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tallystick.records.entity import name_key

VERSION = 3  # of these rules; what they found is recorded with it
MINE = "my "  # how a name that is a relation begins

_LONGEST = 600  # characters: a longer text gives no names
_MOST = 8  # pairs of one statement
_MOST_WORDS = 4  # of a name
_TELLING = 3  # characters that a short name and the long one begin with

_ALIKE = (  # relations that are called by several names
    ("husband", "spouse", "partner"), ("wife", "spouse", "partner"), ("boyfriend", "partner"),
    ("girlfriend", "partner"), ("mother", "mum", "mom", "mam"), ("father", "dad"),
    ("grandmother", "grandma", "gran", "nan"), ("grandfather", "grandad", "granda"), ("boss", "manager"),
    ("neighbour", "neighbor"), ("flatmate", "roommate", "housemate"), ("lawyer", "solicitor"), ("doctor", "gp"),
    ("accountant", "bookkeeper"), ("landlord", "landlady"),
)  # fmt: skip
_OTHERS = """
    daughter son brother sister uncle aunt cousin niece nephew granddaughter grandson fiancé fiancée supervisor mentor
    assistant dentist physio plumber electrician vet teacher tutor coach nurse driver cleaner apprentice intern trainee
    colleague friend therapist trainer agent dog cat
    """
RELATIONS = tuple(sorted({*_OTHERS.split(), *(word for each in _ALIKE for word in each)}))
_RELATION = rf"(?:[a-z]+ )?(?P<relation>{'|'.join(RELATIONS)})"

# A word, a name of capitals, the name that is given, what it is given to, and that at the beginning of a sentence.
_WORD = r"[^\W_][\w'-]*"
CAPITAL = r"(?:[^\W\d_a-zß-öø-ÿ][\w'-]*)"
_NAME = rf"(?:(?:(?:Mr|Mrs|Ms|Miss|Dr|dr|Prof|Professor)\.? )?{CAPITAL}(?: {CAPITAL}){{0,2}})"
_QUOTED = r"'(?:the )?(?P<quoted>[^']{2,60})'"
_GIVEN = rf"(?:{_QUOTED}|(?:the )?(?P<given>{_NAME}|{_WORD}(?=[.,;!]|$)))"
_NAMED = rf"(?P<named>{_NAME}|[a-z][\w-]+)"
_WORDS = rf"(?P<thing>{_WORD}(?: {_WORD}){{0,2}}?)"
_THING = rf"(?:(?<!on )(?<!in )(?<!at )(?<!of )(?<!for )(?:[Tt]he|[Oo]ur|[Mm]y|this) {_WORDS}|{_NAMED})"
_SUBJECT = rf"(?:(?:[Tt]he|[Oo]ur|[Mm]y) (?P<thing>{_WORD}(?: {_WORD}){{0,2}}(?=[,;:])|{_WORD})|{_NAMED})"
_END = r"(?=[.,;!]|$| and )"

_CALL = r"(?:calls?|called|name[sd]?|nicknamed?|christen(?:s|ed)|dub(?:s|bed))"
_ALL = (
    r"(?:everyone|everybody|(?:we|they|I)(?:['’]ve)?|(?:most )?people|the team|all of us|the whole [a-z]+(?: [a-z]+)?)"
    r"(?: here| all| just| always)*"
)
_SAY = r"(?:says?|call(?:s|ed)? (?:it|him|her|them|this)|uses?)"
_BY_NAME = r"(?:known as|called|named|nicknamed|goes by(?: the name(?: of)?)?|a\.?k\.?a\.?)"
_NICK = (  # how a nickname of two words begins
    rf"(?:Big|Little|Old|Young|Aunt(?:ie)?|Uncle|Nan(?:ny|a)?|Gran(?:ny|dma|dpa)?|Doc|Captain|Mad|Lady|Saint) {CAPITAL}"
)
_PATTERNS = tuple(  # each with words of which a text must have one
    (cues, re.compile(pattern)) for cues, pattern in (
        ((" known as", " called", " named", " nicknamed", " goes by", " a.k.a", " aka"),
         rf"{_THING}(?: (?:on|in|at|for|of) (?:our|my|the) [a-z]+)?,? (?:(?:is|are|was) )?"
         rf"(?:also |usually |better )?{_BY_NAME},? {_GIVEN}"),
        (("call", "name", "christen", "dubs", "dubbed"),
         rf"\b{_CALL} (?!(?:{CAPITAL} ){{1,2}}{_NICK}){_THING} (?:{_QUOTED}|(?P<given>{CAPITAL}){_END})"),
        (("call",), rf"\b{_CALL} (?P<named>{CAPITAL}(?: {CAPITAL})??) (?P<given>{_NICK}){_END}"),
        ((" call",), rf"(?P<named>{_NAME}),? (?:whom|who|which) {_ALL} call(?:s|ed)? {_GIVEN}"),
        (("mean", "talk about"), rf"{_GIVEN},? when (?:they|we|you|people|I) (?:mean|talk about) {_THING}{_END}"),
        (("mean",), rf"\b[Bb]y {_GIVEN} (?:I|we|they) mean {_THING}{_END}"),
        (("stands for", "short for"), rf"{_GIVEN} (?:stands|is short) for {_THING}{_END}"),
        ((" say", " call", " use"), rf"(?:^|[.!?:] ){_SUBJECT}(?:[,;:]| [^.!?]*?[,;]) {_ALL} {_SAY} {_GIVEN}"),
        (("obody says",), rf"\b[Nn]obody says {_THING}(?: here| any ?more)?[,;:]? (?:it's |(?:we|they) say )?"
                          rf"(?:just |only )?{_GIVEN}"),
        (("call it ", "call him ", "call her ", "calls it ", "calls him ", "calls her ", "called it ", "called her "),
         rf"(?:^|\b[Tt]he |\b[Oo]ur |\b[Mm]y )(?:{_NAMED}|{_WORDS}) (?:is|was|by|does|which)\b[^!?]*?[ ,.]"
         rf"(?i:{_ALL}) call(?:s|ed)? (?:it|him|her|them) {_GIVEN}"),
        (("obody calls",), rf"\b[Nn]obody calls (?:him|her|it) {_NAMED},? (?:he|she|it)(?:'s| is) {_GIVEN}"),
        (("obody calls",), rf"(?P<named>{_NAME})\b[^!?A-Z]*?\b[Nn]obody calls (?:him|her|it) (?:that|so),? "
                           rf"(?:he|she|it)(?:'s| is) {_GIVEN}"),
        (("goes by",), rf"(?P<named>{_NAME})\b[^.!?A-Z]*[.!?] (?:She|He|They) (?:goes|go) by {_GIVEN}"),
        (("called",), rf"(?P<named>{_NAME})[^.!?]*? (?:wants|likes|prefers)(?: to be| being)? called {_GIVEN}"),
        (("name", "handle", "nick", "login"),
         rf"{_NAMED}(?:'s|s) (?:[a-z]+ ){{0,2}}(?:name|surname|handle|nickname|username|nick|login)(?: for [a-z ]+?)?"
         rf"(?: is|:| =) @?{_GIVEN}"),
        ((" =",), rf"(?:^|[.,;:!?] |\b(?:and|in my notes) )(?:(?:the|our) )?{_WORDS} ={{1,2}} (?:{_GIVEN}"
                  rf"|(?:the )?(?P<words>{_WORD}(?: {_WORD}){{1,2}}))(?=[.,;!(]|$| and )"),
        (("(",), rf"(?P<named>{_NAME}) \((?P<given>[A-Z][A-Z0-9]{{1,5}}(?= |\)))"),
    )
)  # fmt: skip
_EVERY = dict.fromkeys(cue for cues, _ in _PATTERNS for cue in cues)
_CUES = tuple(cue for cue in _EVERY if not any(each in cue for each in _EVERY if each != cue))
_MINE_OR_OURS = ("my ", "My ", "our ", "Our ")
_OWN = re.compile(rf"\b(?:[Mm]y|[Oo]ur) {_RELATION}\b")
_OWN_THEN = re.compile(rf"\b(?:[Mm]y|[Oo]ur) {_RELATION}(?: is| =|:|,)? (?:called )?(?P<name>{_NAME})")
_THEN_OWN = re.compile(rf"(?P<name>{_NAME})(?: is| =|,|:) (?:my|our) {_RELATION}\b")
_ROLE = r"(?P<role>[a-z][\w-]*(?: [a-z][\w-]*){0,2}?)"
_STOPS = r"(?=[.,;:!?()]|$| (?:who|from|in|at|by|and|since|for|of|with)\b)"
_ROLES = tuple(
    re.compile(pattern) for pattern in (
        rf"\b(?:[Mm]y|[Oo]ur) {_ROLE}(?: there)?(?: is| =) (?P<name>{_NAME}){_STOPS}",
        rf"(?P<name>{_NAME}),?(?: is| =|:)? (?:my|our) {_ROLE}{_STOPS}",
    )
)  # fmt: skip
_NO_ROLE = re.compile(r"(?:name|birthday|colou?r|food|film|song|number|password|address|time|day|rate|rent|own)\b")
_SHORT = re.compile(  # "hux (huxley tran)"; where words are between, the long name has a capital
    rf"(?P<short>{_WORD})(?: ?[=(] ?(?P<plain>{_WORD}(?: {_WORD})?)|,? (?:is|was|aka) (?P<long>{_NAME}))"
    r"(?=[.,;:!?()]|$)"
)
_INITIALS = re.compile(r"(?P<named>[^\W\d_][\w'-]*(?: [^\W\d_][\w'-]*){1,3}) \((?P<given>[^\W\d_]{2,4})\)")
_TITLES = ("prof", "professor", "dr", "mr", "mrs", "ms")
_OF_SHORT = ("(", "=", " is ", " was ", " aka ")
_LEAD = len("with ") + 1  # characters before such a name that count
_AFTER = r"(?=,|:| \(|\.|$| is\b| has\b| leads\b| runs\b| owns\b| started\b| takes\b| will\b)"
_HAS_TWO = re.compile(rf"{CAPITAL} {CAPITAL}{_AFTER}"), re.compile(rf"[A-Z][\w'-]* [A-Z][\w'-]*{_AFTER}")
PLACES = (  # and other things that are named after people
    "Street|St|Road|Rd|Lane|Avenue|Ave|Square|Park|Bridge|Station|Hospital|College|House|Hall|Centre|Center|Hotel|Club"
    "|School|Church|Court|Farm|Inn|Bar|Café|Cafe|Shop|Market|Museum|Library|Theatre|Group|Team|Council|Office|Party|Union"
    "|Society|Trust|Press|Labs?|Works|Studios?|Foundation"
)
_FULL = re.compile(  # a first name and a last one, where a person is introduced
    r"(?:^|[.,;:(] |\b(?:is|and|with|by|from|for|to|our|my) )"
    rf"(?P<first>{CAPITAL}) (?P<last>(?!(?:{PLACES})\b){CAPITAL}){_AFTER}"
)
NO_NAME = frozenset(  # they begin no name
    """
    i im i'm i've is are be was the a an and or but if so we you he she it they this that these those there my our your
    his her their mr mrs ms miss dr prof professor monday tuesday wednesday thursday friday saturday sunday mondays
    tuesdays wednesdays thursdays fridays saturdays sundays january february march april may june july august september
    october november december mon tue tues wed thu thurs fri sat sun yes no not new only for herr frau please also
    everyone everybody nobody somebody people when what who where which how why me us him them sorry dear hi hello
    thanks ok note
    """.split()  # noqa: SIM905
)
_QUOTES = str.maketrans("’‘“”\"", "'''''")


def aliases_in(text: str) -> list[tuple[str, str]]:
    """Pairs of names that a statement gives to one person or thing, each once."""
    if len(text) > _LONGEST:
        return []
    plain = text if text.isascii() and '"' not in text else text.translate(_QUOTES)
    found = [pair for pair in _pairs(plain) if _may_be(*pair)]
    return list(dict.fromkeys(found))[:_MOST]


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for cues, pattern in _PATTERNS if _has_any(text, _CUES) else ():
        for match in pattern.finditer(text) if _has_any(text, cues) else ():
            found = match.groupdict("")
            yield (
                _key(found.get("thing") or found.get("named", "")),
                _key(found.get("quoted") or found.get("given") or found.get("words", "")),
            )
    is_ours = _has_any(text, _MINE_OR_OURS)
    if is_ours and (own := _OWN.search(text)):
        then_own = _THEN_OWN.finditer(text) if _has_any(text, (" my ", " our ")) else ()
        for match in (*_OWN_THEN.finditer(text, own.start()), *then_own):
            names = [match["relation"], *(each for group in _ALIKE if match["relation"] in group for each in group)]
            for each in dict.fromkeys(names):
                yield MINE + each, _key(match["name"])
    for pattern in _ROLES if is_ours else ():
        for match in pattern.finditer(text):
            if not _NO_ROLE.search(match["role"]):
                yield MINE + match["role"], _key(match["name"])
    for match in _SHORT.finditer(text) if _has_any(text, _OF_SHORT) else ():
        short, long = _key(match["short"]), _key(match["plain"] or match["long"])
        if len(short) >= _TELLING and long.startswith(short[:_TELLING]) and len(long) > len(short):
            yield short, long
            yield short, long.partition(" ")[0]
    for match in _INITIALS.finditer(text) if "(" in text else ():
        named = match["named"].split()
        if len(named) > 1 and "".join(word[0] for word in named).casefold() == match["given"].casefold():
            yield _key(" ".join(named[named[0].casefold() in _TITLES :])), _key(match["given"])
    if two := _HAS_TWO[text.isascii()].search(text):
        for match in _FULL.finditer(text, max(0, two.start() - _LEAD)):
            yield _key(match["last"]), _key(match["first"])


def _has_any(text: str, cues: tuple[str, ...]) -> bool:
    for cue in cues:  # noqa: SIM110 - a plain loop: every statement is asked
        if cue in text:
            return True
    return False


def _key(name: str) -> str:
    key = name_key(name.removesuffix("'s"))
    for lead in ("the ", "our ", "my ", "this "):
        key = key.removeprefix(lead)
    return key


def _may_be(one: str, other: str) -> bool:
    words = one.removeprefix(MINE).split(), other.split()
    return one != other and all(
        0 < len(each) <= _MOST_WORDS and each[0] not in NO_NAME and len("".join(each)) > 1 for each in words
    )
