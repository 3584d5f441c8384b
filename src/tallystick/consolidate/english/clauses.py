"""Clauses of a sentence, and the verb of each: its tense, whether it is denied, and what follows it.

A clause may begin at the beginning of the sentence, after a comma, or after "and", "but" and the like; never at "that",
"when" or "if".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tallystick.text.grammar import FORMS, GOING, PAST, THIRD
from tallystick.text.word_lists import ADVERBS, HEDGES, LEADS, MAYBE, MODALS, NOT_NAMES, OPENERS, set_of
from tallystick.text.words import BLOT, Token

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
        elif rest[0].low in OPENERS and not (len(rest) > 1 and rest[0].low == "no" and not rest[0].mark):
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
        elif low in MODALS or low == "did":
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
