"""What a rule finds in a clause, before it is known who speaks; and the words of a clause that a rule looks at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tallystick.consolidate.english.clauses import Verb
from tallystick.consolidate.english.objects import Kind
from tallystick.consolidate.english.times import Times
from tallystick.text.tokens import Token
from tallystick.text.word_lists import PREPOSITIONS, STOPS

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
        """The words up to the first comma, conjunction or beginning of another thought, parted at prepositions."""
        parts = [Part("", [])]
        for token in self.words:
            low = token.low
            if low in CONNECTS and not _joins_names(parts[-1].words, self.words, token):
                break
            if low in PREPOSITIONS:
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
        """The words after the first of these prepositions; "" means those right after the verb."""
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
            said = kind(item)
            if not said or (is_bounded and at + 1 == len(items)):
                break
            found.append((said, item[-1].end))
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


def _joins_names(before: list[Token], words: list[Token], token: Token) -> bool:
    """ "Marks & Spencer"."""
    at = words.index(token)
    return token.text == "&" and bool(before) and before[-1].is_name and at + 1 < len(words) and words[at + 1].is_name

