"""Clauses of a sentence, and the verb of each: its tense, whether it is denied, and what follows it.

A clause may begin at the beginning of the sentence, after a comma, or after "and", "but" and the like; never at "that",
"when" or "if". A predication is a clause without its subject, with its times; the drafts of claims are made of it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from tallystick.consolidate.english.objects import Kind
from tallystick.text import word_lists as lists
from tallystick.text.dates.find import Span, spans_in
from tallystick.text.dates.time_phrases import COUNT, StatedDate, phrases_in
from tallystick.text.grammar import FORMS, GOING, PAST, THIRD
from tallystick.text.word_lists import ADVERBS, HEDGES, LEADS, MAYBE, NOT_NAMES, STOPS, set_of
from tallystick.text.words import BLOT, DATE, MONTH, Token, shown, words_of

BE = frozenset(("am", "is", "are", "'m", "'re", "'s"))
_JOINS = frozenset(("and", "but", "so", "because", "plus", "then", "though", "yet"))
_PRONOUNS = frozenset(("i", "we", "he", "she", "they", "it", "you", "that", "this", "there", "these", "those"))
_OURS = frozenset(("my", "our", "his", "her", "their"))
_MORE_FORMS = {
    "married": ("marry", PAST), "marries": ("marry", THIRD), "divorced": ("divorce", PAST),
    "graduated": ("graduate", PAST), "adopted": ("adopt", PAST), "quit": ("quit", PAST), "resigned": ("resign", PAST),
    "migrated": ("migrate", PAST), "relocated": ("relocate", PAST), "adore": ("adore", "bare"),
    "adores": ("adore", THIRD), "detest": ("detest", "bare"), "detests": ("detest", THIRD),
    "loathe": ("loathe", "bare"), "loathes": ("loathe", THIRD), "despise": ("despise", "bare"),
    "despises": ("despise", THIRD), "code": ("code", "bare"), "codes": ("code", THIRD), "program": ("program", "bare"),
    "programs": ("program", THIRD), "coding": ("code", GOING), "programming": ("program", GOING),
    "major": ("major", "bare"), "majoring": ("major", GOING), "majored": ("major", PAST), "has": ("have", THIRD),
    "have": ("have", "bare"), "had": ("have", PAST), "studying": ("study", GOING),
    "led": ("lead", PAST), "chose": ("choose", PAST), "gotten": ("get", PAST), "known": ("know", PAST),
    "playing": ("play", GOING), "do": ("do", "bare"), "does": ("do", THIRD), "gave": ("give", PAST),
    "lost": ("lose", PAST),
}  # fmt: skip


def form_of(low: str) -> tuple[str, str]:
    """The bare form of a verb and which form this is; two empty texts if it is no verb."""
    return _MORE_FORMS.get(low) or FORMS.get(low) or ("", "")


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with all that belongs to it. `next` is the place in the clause of the word after it."""

    bare: str  # "be" for is and are
    tense: str  # present, going, done (have …), past
    next: int
    is_denied: bool = False
    is_over: bool = False  # "no longer", "used to"
    is_hedged: bool = False
    is_past: bool = False  # "used to"
    form: str = ""  # bare, third, past, going: as it was written


def clauses_of(tokens: list[Token]) -> list[tuple[int, int, bool]]:
    """From which word to which each clause goes, and whether it takes its subject from the one before."""
    starts: list[tuple[int, int, bool]] = [(0, 0, False)]  # where it begins, where the one before ends
    for at in range(1, len(tokens)):
        if at <= starts[-1][0]:
            continue
        is_join = tokens[at].low in _JOINS
        first = at + 1 if is_join else at
        if first < len(tokens) and (is_join or tokens[at - 1].mark):
            if _may_begin(tokens, first):
                starts.append((first, at, False))
            elif is_join and tokens[at].low in ("and", "but") and _shares(tokens, first):
                starts.append((first, at, True))
    ends = [before for _, before, _ in starts[1:]] + [len(tokens)]
    return [(first, end, shared) for (first, _, shared), end in zip(starts, ends, strict=True)]


def _may_begin(tokens: list[Token], at: int) -> bool:
    low = tokens[at].low
    following = tokens[at + 1].low if at + 1 < len(tokens) else ""
    if low in ("now", "today", "currently"):
        return following in ("i", "we", "he", "she")
    if low in _PRONOUNS:
        return following != "" and not tokens[at].mark
    if low in _OURS or low == "the":
        return any(token.low in BE or token.low == "was" or form_of(token.low)[1] == THIRD
                   for token in tokens[at + 1 : at + 5])  # fmt: skip
    if tokens[at].is_name and low not in NOT_NAMES:
        for token in tokens[at + 1 : at + 4]:
            if token.low in ("is", "was", "'s", "has", "does", "no", "never") or form_of(token.low)[1] in (THIRD, PAST):
                return True
            if not token.is_name:
                return False
    return low == "call" and following == "me"


def _shares(tokens: list[Token], at: int) -> bool:
    """Whether this is a verb with the subject of the clause before: "… and work at Acme"."""
    while at < len(tokens) and tokens[at].low in ADVERBS:
        at += 1
    if at + 1 >= len(tokens) or tokens[at].mark:
        return False
    bare, form = form_of(tokens[at].low)
    following = tokens[at + 1].low
    if tokens[at].low in BE or (tokens[at].low == "do" and following == "n't"):
        return True
    if bare in ("work", "live", "study", "play", "program", "code", "move"):
        return following in ("at", "for", "as", "in", "to", "the") or form == PAST
    return bare in _SHARED and form != GOING


_SHARED = set_of("love like hate dislike enjoy prefer speak own use have join leave start know manage lead adopt")


def opened(tokens: list[Token]) -> tuple[int, bool]:
    """How many words come before the statement itself, and whether they hedge it."""
    at, is_hedged = 0, False
    while at < len(tokens):
        rest = tokens[at:]
        if taken := HEDGES.begin(rest):
            at, is_hedged = at + taken, True
        elif taken := LEADS.begin(rest):
            at += taken
        elif rest[0].low in lists.OPENERS and not (len(rest) > 1 and rest[0].low == "no" and not rest[0].mark):
            at += 1
        elif rest[0].is_name and rest[0].mark == "," and len(rest) > 1 and at:
            at += 1  # "Hey Sam, …"
        else:
            break
    return at, is_hedged


def name_at(tokens: list[Token], at: int) -> int:
    """How many words of a name begin here: "Ana", "Dr Ana Lima"."""
    count = 0
    while at + count < len(tokens) and count < 3:
        token = tokens[at + count]
        if not token.text[:1].isupper() or token.low in NOT_NAMES or BLOT in token.text or not token.text[-1].isalpha():
            break
        if count == 0 and len(token.low) > 5 and token.low.endswith(("ing", "ly")):
            break
        count += 1
        if token.mark or (at + count < len(tokens) and tokens[at + count].low.startswith("'")):
            break
    return count


def verb_at(tokens: list[Token], at: int) -> Verb | None:
    """The verb at this place with what belongs to it, or None: a plan, a guess, a question, no verb at all."""
    tense, is_denied, is_over, is_hedged = "", False, False, False
    while at < len(tokens):
        low = tokens[at].low
        following = tokens[at + 1].low if at + 1 < len(tokens) else ""
        if low in ("not", "n't", "never"):
            is_denied = True
        elif low == "no" and following in ("longer", "more"):
            is_denied, is_over, at = True, True, at + 1
        elif low in MAYBE or (low in ("kind", "sort") and following == "of"):
            is_hedged, at = True, at + (low in ("kind", "sort"))
        elif low == "can" and not tense and following in ("n't", "not"):
            tense = "can"
        elif low in ("can", "could") and following == "speak" and not tense:
            tense = "present"
        elif low in lists.MODALS or low == "did":
            return None
        elif tokens[at].mark:
            return _main(tokens, at, tense, is_denied, is_over, is_hedged)
        elif low == "used" and following == "to" and not tense:
            verb = _main(tokens, at + 2, "used", True, True, is_hedged) if at + 2 < len(tokens) else None
            return replace(verb, tense="present", is_past=True) if verb else None
        elif low in ("do", "does") and not tense and (following in ("n't", "not") or form_of(following)[1] == "bare"):
            tense = "present"
        elif low in ("have", "has", "'ve", "'s") and not tense and _form_after(tokens, at + 1) in ("been", PAST):
            tense = "done"
        elif low in BE and not tense and _form_after(tokens, at + 1) == GOING:
            tense = "going"
        elif low == "been" and tense == "done" and _form_after(tokens, at + 1) == GOING:
            tense = "done"
        elif low not in ADVERBS or form_of(low)[0]:
            return _main(tokens, at, tense, is_denied, is_over, is_hedged)
        at += 1
    return None


def _form_after(tokens: list[Token], at: int) -> str:
    """The form of the verb here, behind adverbs and denials; "been" for itself, and none for "going" to."""
    while at < len(tokens) and (tokens[at].low in ADVERBS or tokens[at].low in ("n't", "not", "never")):
        at += 1
    low = tokens[at].low if at < len(tokens) else ""
    return low if low == "been" else "" if low == "going" else form_of(low)[1]


def _main(tokens: list[Token], at: int, tense: str, is_denied: bool, is_over: bool, is_hedged: bool) -> Verb | None:
    low = tokens[at].low
    if low in BE or low == "been":
        rest = at + 1
        while rest < len(tokens):
            if tokens[rest].low in ("not", "n't", "never"):
                is_denied = True
            elif tokens[rest].low == "no" and rest + 1 < len(tokens) and tokens[rest + 1].low == "longer":
                is_denied, is_over, rest = True, True, rest + 1
            elif tokens[rest].low in MAYBE:
                is_hedged = True
            elif tokens[rest].low not in ADVERBS or tokens[rest].low in ("all", "only", "so", "very", "pretty"):
                break
            rest += 1
        return Verb("be", tense or "present", rest, is_denied, is_over, is_hedged)
    if low in ("was", "were"):
        return Verb("be", "past", at + 1, is_denied, is_over, is_hedged)
    bare, form = form_of(low)
    if not bare:
        return None
    if tense == "can":
        return Verb("can't " + bare, "present", at + 1, False, is_over, is_hedged) if is_denied else None
    plain = not tense
    if plain:
        tense = "past" if form == PAST else "present" if form != GOING else ""
    return Verb(bare, tense, at + 1, is_denied, is_over, is_hedged, form=form if plain else "") if tense else None


# --- predications

CONNECTS = frozenset(("and", "&"))


@dataclass(frozen=True, slots=True)
class Draft:
    """A claim about the subject of its clause, or about `subject` where one is given."""

    predicate: str
    object: str
    end: int  # where in the content the words that say it end
    confidence: float = 0.6
    is_denied: bool = False
    instead_of: str = ""
    valid_from: str = ""
    valid_to: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Words that belong together, and the preposition before them: ("at", "Acme")."""

    preposition: str
    words: list[Token]


@dataclass(frozen=True, slots=True)
class Predication:
    """A clause without its subject."""

    verb: Verb
    words: list[Token]  # after the verb, times cut out; a word before a cut has the mark "t"
    times: Times
    now: datetime
    not_this: list[Token]  # "… but at Initech", "…, not Acme": what it is said to stand in the place of
    is_first: bool = True  # the subject is who speaks
    last: int = 0  # where the times named end
    named: str = ""  # the words of the first time named

    def parts(self) -> list[Part]:
        """The words up to the first comma, conjunction or beginning of another thought, split at prepositions."""
        parts = [Part("", [])]
        for token in self.words:
            low = token.low
            if low in CONNECTS:
                before, after = parts[-1].words[-1:], self.words[self.words.index(token) + 1 :][:1]
                if not (token.text == "&" and all(each and each[0].is_name for each in (before, after))):
                    break  # no "Marks & Spencer"
            if low in lists.PREPOSITIONS:
                parts.append(Part(low, []))
            elif low == "or":
                return []  # one of the two, and nobody knows which
            elif low in STOPS:
                break
            else:
                parts[-1].words.append(token)
            if token.mark == "t":
                parts.append(Part("", []))
            elif token.mark:
                break
        return [part for part in parts if part.words]

    def part(self, *prepositions: str) -> list[Token]:
        """The words after the first of these prepositions; "" is right after the verb."""
        return next((part.words for part in self.parts() if part.preposition in prepositions), [])

    def direct(self) -> list[Token]:
        """The words right after the verb, if no preposition stands before them."""
        parts = self.parts()
        return parts[0].words if parts and parts[0].preposition == "" and self.words[:1] == parts[0].words[:1] else []

    def listed(self, kind: Kind) -> list[tuple[str, int]]:
        """ "tea, coffee and long walks": each object and where it ends, up to the first that is of another kind."""
        found: list[tuple[str, int]] = []
        items, is_bounded = self._items()
        for at, item in enumerate(items):
            clause = kind(item)
            if not clause or (is_bounded and at + 1 == len(items)):
                break
            found.append((clause, item[-1].end))
        return found

    def _items(self) -> tuple[list[list[Token]], bool]:
        """The words between commas and "and"; and whether a "that" narrows the last of them: "stories that …"."""
        items: list[list[Token]] = [[]]
        is_bounded = False
        for at, token in enumerate(self.words):
            if token.low in CONNECTS:
                items.append([])
            elif token.low in STOPS or token.low in ("not", "for"):
                if token.low == "or":
                    return [], False
                is_bounded = token.low in _BOUNDS and bool(items[-1]) and not items[-1][-1].mark
                break
            else:
                items[-1].append(token)
                if token.mark == "," and _goes_on(self.words, at):
                    items.append([])
                elif token.mark:
                    break
        return [item for item in items if item], is_bounded


_BOUNDS = frozenset(("that", "which", "who", "where", "when", "whose", "how", "what", "than", "if", "as"))


def _goes_on(words: list[Token], at: int) -> bool:
    """Whether a list goes on after a comma: an "and" comes before anything else ends it."""
    for token in words[at + 1 :]:
        if token.low in CONNECTS:
            return True
        if token.low in STOPS or token.mark not in ("", ","):
            return False
    return False


# --- times: since when and until when, read from the moment of the episode


_LEAD = re.compile(
    r"\b(?:since|until|till|from|in|on|by|before|after|around|about|back|up to|as of|during|the|early|late|mid|of|end|"
    r"start|beginning|middle|way|at|over|sometime|of)\s+\Z",
    re.IGNORECASE,
)
_LASTING = re.compile(
    rf"\bfor\s+(?:about\s+|over\s+|almost\s+|nearly\s+|around\s+|more than\s+|at least\s+|the\s+(?:last|past)\s+)?"
    rf"(?P<count>{COUNT})\s+(?P<unit>year|month|week|day)s?(?:\s+now)?\b",
    re.IGNORECASE | re.ASCII,
)
_LATE = timedelta(60)  # a deadline may be spoken of so long after it
_DATED = re.compile(r"[\w ,./-]+")
_YEAR = re.compile(r"(?:in\s+)?((?:19|20)[0-9]{2})\Z")


class Times(NamedTuple):
    """The times of a clause, and where in it they are named."""

    valid_from: str = ""
    valid_to: str = ""
    span: Span | None = None  # a time that was named without "since" or "until"
    cuts: tuple[tuple[int, int], ...] = ()
    is_lasting: bool = False  # "for three years", "since May": it still holds

    def since(self) -> str:
        """From when something holds that began at the time named."""
        return self.valid_from or (day_of(self.span.start) if self.span else "")

    def until(self, now: datetime) -> str:
        """Until when something held that ended at the time named: the day after it, and never later than tomorrow."""
        return self.valid_to or (day_of(min(self.span.end, now + timedelta(1))) if self.span else "")


def times_in(text: str, now: datetime) -> Times:
    """The times that a clause names. Positions are counted from the beginning of `text`."""
    lasting = _LASTING.search(text)
    if lasting and (spans := spans_in(f"{lasting['count']} {lasting['unit']}s ago", now)):
        return Times(day_of(spans[0].start), "", None, (lasting.span(),), True)
    spans = spans_in(text, now)
    if not spans:
        return Times()
    cuts = _cuts(text, now)
    for span in spans:
        if span.grain == "since":
            return Times(day_of(span.start), "", None, cuts, True)
        if span.grain == "before":
            is_end = re.search(r"\b(?:until|till|up to)\b", text, re.IGNORECASE) is not None
            return Times("", day_of(span.end) if is_end else "", None, cuts)
        if span.grain in ("between", "years", "months") and re.search(r"\bfrom\b", text, re.IGNORECASE):
            return Times(day_of(span.start), day_of(span.end), None, cuts)
    return Times("", "", spans[0], cuts)


def date_said(text: str, now: datetime) -> str:
    """The day that a text names, one to come where no year is named: "2026-05-03", or "" where it names none."""
    spans = spans_in(f"it will be {text}", now)
    if len(spans) != 1 or spans[0].grain != "day":
        return ""
    start = spans[0].start
    if spans[0].any_year and start < now - _LATE:
        with suppress(ValueError):  # 29 February
            start = start.replace(year=start.year + 1)
    return day_of(start)


def birth_said(text: str) -> str:
    """A date of birth as it is kept: "1990-05-03", "3 May", "1990-05" or "1990"; "" for anything else."""
    if len(text) > 60 or not _DATED.fullmatch(text):
        return ""
    words = [word for word in words_of(text) if word[0] not in ("on", "in", "the", "of")]
    if len(words) == 1 and words[0][1] in (DATE, MONTH) and not words[0][0][:1].isalpha():
        return shown(words[0][0])
    year = _YEAR.match(text.strip())
    return year[1] if year else ""


def _cuts(text: str, now: datetime) -> tuple[tuple[int, int], ...]:
    """Where in the text times are named, with the words that lead to them."""
    low = "".join(each.lower() if each.isascii() else each for each in text)
    cuts: list[tuple[int, int]] = []
    for phrase in phrases_in(StatedDate(text, low, now.replace(tzinfo=None, fold=0))):
        first = phrase.first
        for _ in range(4):
            lead = _LEAD.search(text, max(0, first - 14), first)
            if not lead:
                break
            first = lead.start()
        cuts.append((first, phrase.last))
    return tuple(cuts)


def day_of(moment: datetime) -> str:
    return moment.date().isoformat()
