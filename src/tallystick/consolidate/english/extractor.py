"""The English extractor: sentence by sentence, clause by clause, from the words to the claims.

Sentences of an episode's content, each with its position and its speaker; and which of them are not read at all.

Code, links and quotations are blotted out, character for character, so that every position stays what it was: nothing
in them is ever read. The time grows with the length of the text and not faster.

Subjects of clauses: the speaker, somebody named, somebody's sister, or the only one a pronoun can mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from tallystick.consolidate.english import clauses, objects as values, verbs
from tallystick.consolidate.english.clauses import (
    BE,
    Draft,
    Predication,
    Times,
    Verb,
    form_of,
    name_at,
    times_in,
    verb_at,
)
from tallystick.consolidate.english.verbs import pet_at, relation_at
from tallystick.records.episode import Episode
from tallystick.records.rule import Extracted
from tallystick.text import word_lists as lists
from tallystick.text.grammar import BARE, PAST, THIRD
from tallystick.text.word_lists import HEDGES, LEADS, RELATIONS, TAILS, set_of
from tallystick.text.words import BLOT, Phrases, Token, tokens_of


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
    relation, after = relation_at(tokens, at) if owner else ("", at)
    if relation and after < len(tokens):
        count = 0 if tokens[after - 1].mark else name_at(tokens, after)
        name = values.text_of(tokens[after : after + count]) if count else f"{owner}'s {relation}"
        return Subject(name, after + count, -0.05, False, owner, relation, True)
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
            people.setdefault(name, Person(name, "f" if before in lists.WOMEN else "m" if before in lists.MEN else ""))
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


READ = 20_000  # characters of a content
LONGEST = 600  # characters of a sentence

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_HIDDEN = re.compile(
    r"(?P<short>`[^`\s]{1,40}`)|`[^`\n]{1,600}`"
    r"|(?:https?://|www\.)[^\s<>]+"
    r"|<[^<>\n]{1,200}>"
    r"|“[^“”\n]{0,600}(?:”|$)|«[^«»\n]{0,600}(?:»|$)|„[^„“”\n]{0,600}(?:[“”]|$)"
    r"|(?<![0-9A-Za-z])\"[^\"\n]{0,600}(?:\"|$)"
    r"|(?<!\S)[‘'](?=\S)[^‘'’\n]{0,300}(?:['’](?=[a-z])[^‘'’\n]{0,300}){0,20}['’](?!\w)"
    r"|\([^()\n]{0,300}\)",
    re.MULTILINE,
)
_QUOTED_LINE = re.compile(r"^[ \t]{0,3}(?:>|\||#|\$ |    \S|\t\S).*$", re.MULTILINE)
_LINE = re.compile(r"[^\n\r\u2028\u2029\u0085\v\f]+")
_MARKER = re.compile(r"\s{0,12}(?:[-*•·–+]|[0-9]{1,3}[.)]|\[[ xX]?\])\s+")
_LABEL = re.compile(
    r"\s{0,12}(?:\*\*)?(?P<name>[A-Z][\w.'’-]{0,30}(?: [A-Z][\w.'’-]{0,30}){0,2})(?:\*\*)?:(?:\*\*)?\s+"
)
_END = re.compile(r"[.!?…]+[\"'”’)\]*]*(?=\s|\Z)|;(?=\s)")
_SHORT = set_of("dr mr mrs ms prof st no nr approx ca vs jr sr inc ltd co e.g i.e eg ie dept univ ave mt ft fig")
_NO_SPEAKERS = set_of(
    "note update correction reminder fact edit info remember fyi btw example examples translate question answer q"
    " a summary todo task tip warning subject re title topic quote input output context prompt story ps plan goal"
    " result"
)
_ONESELF = frozenset(("me", "user", "human", "myself"))
_MACHINES = frozenset(("assistant", "system", "ai", "bot", "tool", "agent", "model"))
_ABOUT_SELF = re.compile(r"\b(?:about me|myself|facts?|my (?:profile|details|preferences)|update)\b", re.IGNORECASE)


class Sentence(NamedTuple):
    """`text` is the sentence with what must not be read blotted out; its first character is at `start`."""

    text: str
    start: int
    speaker: str | None  # named by a label before it: "" for oneself, None without a label
    is_asked: bool


def sentences_of(content: str) -> Iterator[Sentence]:
    """The sentences that may be read, in their order. A machine's lines and lists of examples are left out."""
    text = content[:READ]
    for hidden in (_CODE, _QUOTED_LINE, _HIDDEN):
        text = hidden.sub(_blot, text)
    speaker: str | None = None
    is_listed = is_muted = False
    for start, end in _lines(text):
        label = _LABEL.match(text, start, end)
        if label:
            name = label["name"].casefold()
            if name in _NO_SPEAKERS:
                is_muted = name in ("example", "examples", "translate", "quote", "story", "prompt", "input", "output")
            else:
                is_muted = name in _MACHINES
                speaker = "" if name in _ONESELF else label["name"]
            start = label.end()
        marker = _MARKER.match(text, start, end)
        if marker:
            start = marker.end()
            if is_listed:
                continue
        else:
            is_listed = text[start:end].rstrip().endswith(":") and not _ABOUT_SELF.search(text, start, end)
        if not is_muted:
            for stop in _END.finditer(text, start, end):
                if not (stop[0] == "." and _is_short(text, start, stop.start())):
                    yield from _sentence(text, start, stop.end(), speaker)
                    start = stop.end()
            yield from _sentence(text, start, end, speaker)


def _blot(match: re.Match[str]) -> str:
    found = match[0]
    if match.re is _HIDDEN:
        if match["short"]:
            return f" {found[1:-1]} "  # `ruff` is a word like any other
        if found[0] == "(":
            return "," + " " * (len(found) - 2) + ","  # an aside
    return re.sub(r"[^\n]", BLOT, found)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends; a long line and one that goes on in lowercase are one."""
    last: tuple[int, int] | None = None
    for match in _LINE.finditer(text):
        if last:
            before = text[max(last[0], last[1] - 3) : last[1]].rstrip()
            is_next = match.start() - last[1] <= 2 and text.count("\n", last[1], match.start()) <= 1
            is_open = last[1] - last[0] > 40 and before[-1:] not in tuple(".!?:;…") and bool(before)
            if is_next and is_open and not _MARKER.match(match[0]) and match[0].lstrip()[:1].islower():
                last = (last[0], match.end())
                continue
            yield last
        last = match.span()
    if last:
        yield last


def _is_short(text: str, start: int, dot: int) -> bool:
    """Whether the dot ends an abbreviation or an initial: "Dr.", "J."."""
    word = re.split(r"[\s(]", text[max(start, dot - 12) : dot])[-1]
    return (
        word.lower() in _SHORT
        or (len(word) == 1 and word.isupper() and word != "I")
        or (len(word) > 2 and word[-2] == "." and word[-1].isalpha())
    )


def _sentence(text: str, start: int, end: int, speaker: str | None) -> Iterator[Sentence]:
    bare = text[start:end].strip()
    if bare and len(bare) <= LONGEST:
        yield Sentence(bare, text.index(bare, start), speaker, "?" in bare[-6:])


# --- sentences that are not read

_SUBJECTS = set_of("i you we he she they it there this that my your the anyone anybody someone")
_ASK_ALONE = set_of("who what how why which whose whom")
_KIDDING = Phrases(
    "just kidding", "only kidding", "i'm kidding", "i was kidding", "kidding", "just joking", "i'm joking", "jk",
    "only joking", "i'm just kidding",
)  # fmt: skip
_IN_FICTION = (
    "in the story", "in my story", "in the game", "in my novel", "in the novel", "in my dream", "my character ",
)  # fmt: skip
_PLEASE = set_of("please hey hi ok okay now could can you would so and then just")


def is_unread(tokens: list[Token], text: str) -> bool:
    """Whether a sentence must not be read."""
    low = text.lower()
    if any(phrase in low for phrase in lists.EXAMPLES) or any(phrase in low for phrase in _IN_FICTION):
        return True
    rest = tokens[max(HEDGES.begin(tokens), LEADS.begin(tokens)) :]  # they may hold a forbidden word: "as I said"
    capitals = [token.text.isupper() for token in tokens if len(token.text) > 1 and token.text[0].isalpha()]
    is_shouted = len(capitals) > 2 and sum(capitals) > len(capitals) * 0.6  # names cannot be told from other words
    if not rest or _is_order(rest) or is_shouted:
        return True
    if len(rest) > 1 and rest[0].low in lists.ASKS and (rest[1].low in _SUBJECTS or rest[0].low in _ASK_ALONE):
        return True
    return any(token.low in lists.UNREAL or token.low in lists.SAID for token in rest)


def _without_please(tokens: list[Token]) -> list[Token]:
    """The words from the first on that is no "please", "could you" and the like; the last word stays in any case."""
    return tokens[next((at for at, token in enumerate(tokens[:-1]) if token.low not in _PLEASE), -1) :]


def asks_for_fiction(tokens: list[Token]) -> bool:
    """ "Write a story …": what comes after may be part of it."""
    lows = [token.low for token in _without_please(tokens)]
    is_role = lows[0] in ("pretend", "imagine", "roleplay", "role-play") or lows[:2] == ["act", "as"]
    return (lows[0] in lists.MAKES_UP and len(lows) > 1) or is_role or lows[:4] == ["tell", "me", "a", "story"]


def _is_order(tokens: list[Token]) -> bool:
    first, *rest = _without_please(tokens)
    is_named = bool(rest) and rest[0].low in ("works", "lives", "is", "has", "likes", "'s", "'m")
    return first.low in lists.ORDERS and not first.mark and not is_named


_LEAST = 0.3
_CORRECTS = Phrases(
    "no", "actually it's", "actually", "i meant", "i mean", "sorry i meant", "sorry", "correction", "no it's",
    "actually no", "i meant to say", "no wait", "make that", "it's actually", "rather",
)  # fmt: skip


class EnglishExtractor:
    """Reads claims from an episode. The same one always gives the same, each once, in the order of its words."""

    name = "english"

    def extract(self, episode: Episode) -> list[Extracted]:
        """The plain claims of an episode. Nothing is kept from one episode to the next."""
        given = episode.metadata.get("speaker")
        named = given.strip() if isinstance(given, str) else ""
        reader = _Reader(episode)
        for sentence in sentences_of(episode.content):
            label = sentence.speaker
            if named and label and label.casefold() != named.casefold():
                continue  # a line of somebody else, quoted
            if not reader.read(sentence, named or label or episode.speaker):
                break
        found: dict[tuple[object, ...], Extracted] = {}
        for claim in sorted(reader.found, key=lambda claim: (claim.start, claim.end)):
            found.setdefault((claim.subject, claim.predicate, claim.object, claim.is_denied), claim)
        return list(found.values())


class _Lead(NamedTuple):
    """A time before a clause, and its position."""

    start: int = -1
    text: str = ""


_TIME_STARTS = set_of(
    "last this next on in since yesterday today two three four five six a an during back early late around at"
    " after monday tuesday wednesday thursday friday saturday sunday few several"
)


class _Reader:
    """One episode, sentence after sentence."""

    def __init__(self, episode: Episode) -> None:
        self.content, self.now = episode.content, episode.timestamp
        self.found: list[Extracted] = []
        self.cast = Cast("", [])
        self.lead = _Lead()
        self.before = 0  # how many claims there were before the last sentence

    def read(self, sentence: Sentence, speaker: str) -> bool:
        """Read a sentence. False when nothing after it may be read."""
        tokens = tokens_of(sentence.text, sentence.start)
        if not tokens:
            return True
        if len(tokens) <= 8 and (_KIDDING.begin(tokens) or _KIDDING.end(tokens)):
            del self.found[self.before :]  # "Just kidding": the sentence before it is not meant
            return True
        if asks_for_fiction(tokens):
            return False
        self.cast = Cast(speaker, self.cast.people)
        before = len(self.found)
        if sentence.is_asked or is_unread(tokens, sentence.text):
            self.cast = Cast(speaker, [])
        else:
            if not self._correct(tokens):
                self._clauses(tokens)
                for draft, start in relations_in(tokens, self.cast):
                    self._add(draft, draft.subject, start, 0.0, False)
            self.cast = Cast(speaker, people_in(tokens, self.cast))
        self.before = before
        return True

    def _clauses(self, tokens: list[Token]) -> None:
        subject: Subject | None = None
        self.lead = _Lead()
        is_hedged, is_said = False, True
        is_open = False  # whether the clause before said something, so that the next may share its subject
        for first, end, shares in clauses.clauses_of(tokens):
            clause = tokens[first:end]
            skipped, hedges = clauses.opened(clause)
            clause = clause[skipped:]
            is_hedged = hedges or (is_hedged and not is_said)
            rest = tokens[end:]  # "…, I think."
            is_hedged = is_hedged or TAILS.end(clause) > 0 or (0 < len(rest) <= 5 and TAILS.begin(rest) == len(rest))
            clause = self._without_lead(clause)
            is_said = bool(clause)
            if not clause:
                continue
            rest_of_subject = subject._replace(next=0) if subject else None
            if shares and not (is_open and rest_of_subject):
                continue
            count = len(self.found)
            subject = rest_of_subject if shares else subject_at(clause, self.cast)
            more = subject.confidence if subject else 0.0
            start = self.lead.start if self.lead.text and self.lead.start >= 0 else clause[0].start
            for draft, name, hedged in self._drafts(clause, subject):
                self._add(draft, draft.subject or name, start, more, is_hedged or hedged)
            self.lead = _Lead()
            is_open = len(self.found) > count and not any(token.low == "to" for token in clause[:-1])

    def _without_lead(self, clause: list[Token]) -> list[Token]:
        """The clause without a time before it, which is kept: "Last May I …", "In 2019, I …"."""
        if not clause or not (clause[0].low in _TIME_STARTS or clause[0].text[0].isdigit()):
            return clause
        start = clause[0].start
        times = times_in(self.content[start : clause[-1].end], self.now)
        end = start + times.cuts[0][1] if times.cuts and times.cuts[0][0] == 0 else start
        rest = [token for token in clause if token.start >= end]
        if len(rest) < len(clause) and (not rest or rest[0].low in ("i", "we", "he", "she", "they", "my")):
            self.lead = _Lead(start, self.content[start:end])
            return rest
        return clause

    def _drafts(self, clause: list[Token], subject: Subject | None) -> list[tuple[Draft, str, bool]]:
        if found := self._owned(clause) or self._called(clause):
            return found
        is_thing = clause[0].low in ("the", "our", "my") and not verbs.relation_at(clause, 1)[0]
        if is_thing or (len(clause) > 1 and clause[1].text == "="):
            last = clause[-1].end
            draft = verbs.read_setting(self.content[clause[0].start : last], clause[0].start, self.now)
            if draft and not any(BLOT in token.text for token in clause):
                if clause[0].low != "my":
                    return [(draft, "", False)]
                speaker = self.cast.speaker  # "my flight is on Friday" is about Ana's flight, if Ana speaks
                return [(replace(draft, subject=f"{speaker}'s {draft.subject}"), "", False)] if speaker else []
        if subject is None:
            return []
        verb = verb_at(clause, subject.next)
        if verb is None or verb.form == (BARE if subject.is_third else THIRD):
            return []
        said = self._predication(clause, verb, subject.is_first)
        if verb.bare != "be":
            return [(draft, subject.name, verb.is_hedged) for draft in verbs.read_verb(said)]
        drafts = _as_relative(said, subject, self.cast) or _as_called(said, subject) or verbs.read_being(said)
        return [(draft, subject.name, verb.is_hedged) for draft in drafts]

    def _predication(self, clause: list[Token], verb: Verb, is_first: bool) -> Predication:
        rest = clause[verb.next :]
        if not rest:
            return Predication(verb, [], Times(), self.now, [])
        start = rest[0].start
        times = times_in(self.content[start : rest[-1].end], self.now)
        if self.lead.text and not times.cuts:
            times = times_in(self.lead.text, self.now)._replace(cuts=())
        words, last = _cut(rest, start, times)
        named = self.content[start + times.cuts[0][0] : start + times.cuts[0][1]] if times.cuts else ""
        words, not_this, verb = _turned(words, verb)
        return Predication(verb, words, times, self.now, not_this, is_first, last, named)

    def _owned(self, clause: list[Token]) -> list[tuple[Draft, str, bool]]:
        """ "my email is …", "Ana's birthday is …", "my sister's name is Eva", "my dog is called Rex"."""
        owner, at = owner_at(clause, self.cast)
        if not owner or at >= len(clause):
            return []
        pet, after = verbs.pet_at(clause, at)
        if pet:
            lows = [token.low for token in clause[after : after + 3]]
            skip = 3 if lows == ["'s", "name", "is"] else 2 if lows[:2] in (["is", "called"], ["is", "named"]) else 0
            called = values.person(clause[after + skip :]) if skip else ""
            return [(Draft("has_pet", f"{pet} {called}", clause[-1].end), owner, False)] if called else []
        predicate, after = verbs.own_at(clause, at)
        verb = verb_at(clause, after) if predicate else None
        if verb is None:
            return []
        said = self._predication(clause, verb, True)
        rest = clause[verb.next :]
        whole = self.content[rest[0].start : rest[-1].end] if rest else ""
        return [(draft, owner, verb.is_hedged) for draft in verbs.read_own(predicate, said, whole)]

    def _called(self, clause: list[Token]) -> list[tuple[Draft, str, bool]]:
        """ "call me Ana", "everyone calls me Ana", "email me at …"."""
        lows = [token.low for token in clause[:3]]
        at = 2 if lows[:2] == ["call", "me"] else 3 if lows[1:] in (["call", "me"], ["calls", "me"]) else 0
        if not at or not self.cast.speaker or clause[at - 1].mark:
            return []
        called = values.person(clause[at:])
        return [(Draft("name", called, clause[-1].end, 0.6), self.cast.speaker, False)] if called else []

    def _correct(self, tokens: list[Token]) -> bool:
        """Whether the sentence only corrects the one before: "Actually, it's Initech.", "No, at Initech."."""
        if len(self.found) != self.before + 1:
            return False
        taken = _CORRECTS.begin(tokens)
        rest = tokens[taken:]
        while taken and rest and rest[0].low in ("it", "'s", "is", "at", "in", "for", "i", "meant", "mean", "that"):
            rest = rest[1:]
        old = self.found[-1]
        said = rest and (values.name(rest) or (rest[0].text if len(rest) == 1 and rest[0].text.isdigit() else ""))
        if not taken or not said or old.is_denied or said == old.object:
            return False
        if not (old.object[:1].isupper() or old.object[:1].isdigit()):
            return False
        self.found[-1] = replace(
            old, object=said, instead_of=old.object, start=tokens[0].start, end=rest[-1].end, valid_from="", valid_to=""
        )
        return True

    def _add(self, draft: Draft, subject: str, start: int, more: float, is_hedged: bool) -> None:
        if not subject or start >= draft.end or draft.object.casefold() == subject.casefold():
            return
        sure = draft.confidence + more
        self.found.append(
            Extracted(
                subject=subject, predicate=draft.predicate, object=draft.object,
                confidence=round(max(_LEAST, min(0.7, sure)), 2), start=start, end=draft.end,
                is_denied=draft.is_denied, instead_of=draft.instead_of, is_hedged=is_hedged,
                valid_from=draft.valid_from, valid_to=draft.valid_to,
            )
        )  # fmt: skip


def _cut(words: list[Token], start: int, times: Times) -> tuple[list[Token], int]:
    """The words without those that name a time, and where the last of these ends."""
    kept: list[Token] = []
    last = 0
    for token in words:
        at = token.start - start
        if any(first <= at < end for first, end in times.cuts):
            last = token.end
            if kept and not kept[-1].mark:
                kept[-1] = kept[-1]._replace(mark="t")
            if kept and token.mark:
                kept[-1] = kept[-1]._replace(mark=token.mark)
        else:
            kept.append(token)
    return kept, last


def _turned(words: list[Token], verb: Verb) -> tuple[list[Token], list[Token], Verb]:
    """ "not at Acme but at Initech", "at Initech, not (at) Acme": the words that hold, and those that do not."""
    lows = [token.low for token in words]
    is_denied = verb.is_denied or lows[:1] == ["not"]
    if is_denied and "but" in lows and not verb.is_over:
        at = lows.index("but")
        old = words[1:at] if lows[0] == "not" else words[:at]
        new = words[at + 1 :]
        if new and old and new[0].low not in ("i", "we", "my", "the", "not"):
            if old[0].low in _PLACES and new[0].low not in _PLACES:
                new = [old[0], *new]
            return new, old[1:] if old[0].low in _PLACES else old, replace(verb, is_denied=False)
    for word in ("not", "instead"):
        if word in lows[1:]:
            at = lows.index(word, 1)
            old = words[at + (2 if lows[at + 1 : at + 2] == ["of"] else 1) :]
            if (word == "instead") == (lows[at + 1 : at + 2] == ["of"]) and old and not verb.is_denied:
                return words[:at], old[1:] if old[0].low in _PLACES else old, verb
    return words, [], verb


_PLACES = frozenset(("at", "in", "for", "to", "as", "from"))


def _as_relative(said: Predication, subject: Subject, cast: Cast) -> list[Draft]:
    """ "Eva is my sister", "my sister is Eva"."""
    words = said.words
    if subject.relation and not subject.is_first and subject.name == f"{subject.owner}'s {subject.relation}":
        name, is_denied = values.person(said.direct()), said.verb.is_denied
        relation = RELATIONS[subject.relation]
        return [Draft(relation, name, words[-1].end, 0.6, is_denied, subject=subject.owner)] if name else []
    owner, at = owner_at(words, cast)
    if not owner or subject.is_first or at >= len(words) or said.verb.tense != "present":
        return []
    relation, after = verbs.relation_at(words, at)
    if not relation or (after < len(words) and not words[after - 1].mark):
        return []
    return [Draft(RELATIONS[relation], subject.name, words[after - 1].end, 0.6, said.verb.is_denied, subject=owner)]


def _as_called(said: Predication, subject: Subject) -> list[Draft]:
    """ "my sister is called Eva"."""
    words = said.words
    if not subject.relation or len(words) < 2 or words[0].low not in ("called", "named"):
        return []
    name = values.person(said.direct()[1:])
    return [Draft(RELATIONS[subject.relation], name, words[-1].end, 0.6, subject=subject.owner)] if name else []
