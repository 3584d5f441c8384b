"""The English extractor: sentence by sentence, clause by clause, from the words to the claims."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from tallystick.consolidate.english import objects as values, verbs
from tallystick.consolidate.english.clauses import Verb, clauses_of, opened, verb_at
from tallystick.consolidate.english.predications import Draft, Predication, Times, times_in
from tallystick.consolidate.english.sentences import Sentence, asks_for_fiction, is_unread, sentences_of, takes_back
from tallystick.consolidate.english.subjects import Cast, Subject, owner_at, people_in, relations_in, subject_at
from tallystick.records.episode import Episode
from tallystick.records.rule import Extracted
from tallystick.text.grammar import BARE, THIRD
from tallystick.text.word_lists import RELATIONS, TAILS, set_of
from tallystick.text.words import BLOT, Phrases, Token, tokens_of

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
        if takes_back(tokens):
            del self.found[self.before :]
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

    # --- a sentence of its own

    def _clauses(self, tokens: list[Token]) -> None:
        subject: Subject | None = None
        self.lead = _Lead()
        is_hedged, is_said = False, True
        is_open = False  # whether the clause before said something, so that the next may share its subject
        for first, end, shares in clauses_of(tokens):
            clause = tokens[first:end]
            skipped, hedges = opened(clause)
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


    # --- "no, at Initech"

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
