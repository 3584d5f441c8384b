"""Filling a frame with ranked hits: what is shown, what is dropped, and why.

The finished text is counted as a whole and never over the budget, whatever counts it. What is guaranteed comes first
and is shown, or named among the dropped with what it would have needed. What is said several times is shown once, in
the words of the best supported; what contradicts something better supported is named next to it.

Better supported: guaranteed, then by how many, then by trust, confidence and newness. How often a tool or a web page
says a thing does not count: repeating oneself is no support. A hit is compared with those that can say the same (they
share a gist) and those that can contradict it (they share a topic), so that thousands may be guaranteed. If more than
`RIVALS` of these are about one thing, each is compared with the best supported of them; what is not guaranteed is
compared with all.

A tokenizer's counts do not add up: the sum over the lines is an estimate. So lines are chosen by estimate, the whole is
counted, the last are dropped until it fits, and the room that is left goes to smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from tallystick.recall.render import Line, Page, line_of, safe, shortened
from tallystick.records.policy import RANK
from tallystick.records.recall import Dropped, FilledFrame, Frame, Hit
from tallystick.text.claims import Claim, claim_of, conflict, gist

STANDING_SHARE = 0.3  # of the budget goes to standing memory first; more of it comes in by its score

_ROUNDS = 4  # attempts to use what room the last one left
_LONGEST = 80

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """A saying and its possible lines, the fullest first, with the tokens of each."""

    saying: Saying
    ways: tuple[tuple[Line, int], ...]

    @property
    def needs(self) -> int:
        """The fewest tokens it takes."""
        return self.ways[-1][1]


class _Chosen(NamedTuple):
    """An entry and the line that was chosen for it."""

    entry: _Entry
    line: Line


@dataclass(frozen=True, slots=True)
class _Room:
    """A page, what counts its tokens, and how many it may have."""

    page: Page
    count: Count
    budget: int
    alone: int  # what the template takes with nothing in it

    def used(self, chosen: Iterable[_Chosen]) -> int:
        return self.count(self.page.text(_lines(chosen)))

    def limit(self, chosen: list[_Chosen], more: list[_Chosen]) -> int:
        """The number of `more` that can be added; found by halving, and each try is counted."""
        if self.used(chosen + more) <= self.budget:
            return len(more)
        fits, fails = 0, len(more)
        while fails - fits > 1:
            middle = (fits + fails) // 2
            if self.used(chosen + more[:middle]) <= self.budget:
                fits = middle
            else:
                fails = middle
        return fits


def framed(
    frame: Frame, question: str, hits: Sequence[Hit], *, guaranteed: Sequence[Hit] = (), count: Count,
    budget: int | None = None, compare: Compared, cut: Sequence[tuple[Hit, str]] = (), more: int = 0,
) -> FilledFrame:  # fmt: skip
    """Fill a frame with what fits: the guaranteed, then standing memory, then `hits`, which come best first.

    `compare` finds which of them say the same, and which contradict each other. `cut` is what was left out before, with
    the reason, and `more` how many others there were. Refused if the template fails.
    """
    page = Page(frame.name, frame.template, question)
    room = _Room(page, count, frame.token_budget if budget is None else budget, alone=count(page.text(())))
    sayings = _said_once(_voices(guaranteed, hits), compare)
    _settle(sayings, compare)
    entries = [_entry(saying, count) for saying in sorted(sayings, key=lambda saying: saying.place)]
    waiting = _in_turn([entry for entry in entries if entry.saying.beaten_by is None], room.budget)
    chosen = list[_Chosen]()
    if room.alone <= room.budget:
        chosen = _guaranteed(room, [entry for entry in waiting if entry.saying.is_guaranteed])
        chosen = _filled(room, chosen, [entry for entry in waiting if not entry.saying.is_guaranteed])
    lines = _lines(chosen)
    text = page.text(lines) if lines else ""
    used = count(text) if text else 0
    unseen = {id(line) for line in page.unseen(lines, text)}
    shown = {id(one.entry.saying): id(one.line) not in unseen for one in chosen}
    dropped = [each for entry in entries for each in _dropped(entry, shown.get(id(entry.saying)), room, used)]
    dropped += [
        Dropped(hit.id, shortened(hit.text, _LONGEST), why, tokens=count(line_of(hit).text + "\n")) for hit, why in cut
    ]
    seen = tuple(line.hit for line in lines if id(line) not in unseen)
    return FilledFrame(frame.name, question, text, seen, tuple(dropped), used, room.budget, more=more)


def _entry(saying: Saying, count: Count) -> _Entry:
    against = [each.hit for each in saying.against]
    lines = [line_of(saying.hit, said=saying.said, against=against)]
    if against:
        lines.append(line_of(saying.hit, said=saying.said))
    return _Entry(saying, tuple((line, count(line.text + "\n")) for line in lines))


def _in_turn(entries: list[_Entry], budget: int) -> list[_Entry]:
    """The entries in the order of choosing: standing memory over its share waits for its turn by score."""
    left = budget * STANDING_SHARE
    for entry in entries:
        kind, rank = entry.saying.place
        if kind == STANDING and entry.needs > left:
            entry.saying.place = (OTHER, rank)
        elif kind == STANDING:
            left -= entry.needs
    return sorted(entries, key=lambda entry: entry.saying.place)


def _guaranteed(room: _Room, entries: list[_Entry]) -> list[_Chosen]:
    """All of them if they fit; what is against one is dropped before another is."""
    for way in (0, -1):
        every = [_Chosen(entry, entry.ways[way][0]) for entry in entries]
        if room.used(every) <= room.budget:
            return every
    return _filled(room, [], [_Entry(entry.saying, entry.ways[-1:]) for entry in entries])


def _filled(room: _Room, chosen: list[_Chosen], entries: list[_Entry]) -> list[_Chosen]:
    """`chosen`, and those of `entries` for which there is room, the earlier before the later."""
    waiting, failed = list(entries), set[int]()
    for _ in range(_ROUNDS):
        more = _estimated(waiting, room.budget - room.used(chosen), failed)
        if not more:
            break
        number = room.limit(chosen, more)
        chosen = chosen + more[:number]
        failed.update(id(one.line) for one in more[number : number + 1])  # with the rest, it is too much
        taken = {id(one.entry.saying) for one in chosen}
        waiting = [entry for entry in waiting if id(entry.saying) not in taken]
    return chosen


def _estimated(entries: Iterable[_Entry], free: int, failed: set[int]) -> list[_Chosen]:
    """The entries that should fit into `free`, line by line, each as full as possible."""
    chosen = []
    for entry in entries:
        for line, tokens in entry.ways:
            if tokens <= free and id(line) not in failed:
                chosen.append(_Chosen(entry, line))
                free -= tokens
                break
    return chosen


def _lines(chosen: Iterable[_Chosen]) -> list[Line]:
    return [one.line for one in sorted(chosen, key=lambda one: one.entry.saying.place)]


def _dropped(entry: _Entry, shown: bool | None, room: _Room, used: int) -> Iterator[Dropped]:
    """The hits of an entry that are not shown by themselves. `shown` is None if it was not even chosen."""
    first, *others = entry.saying.voices
    name = safe(first.hit.id)
    if not shown:
        why = _why(entry, room, used) if shown is None else "the template does not show it as it is"
        why = f"guaranteed, and {why}" if first.is_guaranteed else why
        yield Dropped(first.hit.id, shortened(first.hit.text, _LONGEST), why, first.is_guaranteed, entry.needs)
    for voice in others:
        tokens = room.count(line_of(voice.hit).text + "\n")
        yield Dropped(
            voice.hit.id, shortened(voice.hit.text, _LONGEST), f"says the same as {name}", voice.is_guaranteed, tokens,
            said_by=name if shown else "",
        )  # fmt: skip


def _why(entry: _Entry, room: _Room, used: int) -> str:
    """The reason why an entry was not chosen, with the tokens it would have needed."""
    if entry.saying.beaten_by is not None:
        better, how = safe(entry.saying.beaten_by.hit.id), safe(entry.saying.beaten_how)
        return f"contradicts {better}, which is better supported: {how}"
    alone, budget, needs = room.alone, room.budget, entry.needs
    if alone > budget:
        return f"the budget of {budget} tokens cannot hold the template, which takes {alone}, and its {needs}"
    if alone + needs > budget:
        return f"the budget of {budget} tokens cannot hold its {needs} with the template's {alone}"
    if needs > budget - used:
        return f"the budget is used up: it needs {needs} tokens, and {budget - used} of {budget} are left"
    return f"the budget is used up: with its {needs} tokens the text would be over {budget}"


# -- sayings: what hits say, each thing once ---------------------------------------------------------------------------

GUARANTEED, STANDING, OTHER = range(3)

RIVALS = 100  # guaranteed ones on one topic that another of them is compared with

_COUNTS = RANK["agent"]  # the trust from which on saying it again is support

_MOST = 4_000_000  # letters of texts, each of which counts for a few more
_LEAST = 200

_Said = tuple[str, tuple[str, ...]]  # a text, and its triple


class Compared:
    """The comparison of hits, and what was read for it, which depends on their texts alone.

    Texts that repeat each other share a gist, hits that contradict each other a topic.
    """

    def __init__(self) -> None:
        self._gists: dict[str, str] = {}
        self._claims: dict[_Said, Claim | None] = {}
        self._letters = 0

    def is_large(self) -> bool:
        """True if it holds so much that it is better thrown away."""
        return self._letters > _MOST

    def is_repeat(self, one: str, other: str) -> bool:
        """True if two texts say the same in nearly the same words."""
        return one == other or self.gist(one) == self.gist(other)

    def conflict(self, one: Hit, other: Hit) -> str:
        """How two hits contradict each other, in a few words; nothing if they do not. What happened claims nothing."""
        mine, theirs = self._claim(one), self._claim(other)
        if mine is None or theirs is None or mine.subject != theirs.subject:
            return ""
        found = conflict(mine, theirs)
        return found.why if found else ""

    def topic(self, hit: Hit) -> str | None:
        """What two hits must share to contradict each other."""
        claim = self._claim(hit)
        return claim.key if claim else None

    def gist(self, text: str) -> str:
        """What two texts must share to say the same."""
        if text not in self._gists:
            self._gists[text] = gist(text)
            self._letters += _LEAST + len(text)
        return self._gists[text]

    def _claim(self, hit: Hit) -> Claim | None:
        if hit.what != "belief":
            return None
        said = hit.text, hit.triple
        if said not in self._claims:
            self._claims[said] = claim_of(*said)
            self._letters += _LEAST + len(hit.text)
        return self._claims[said]


@dataclass(frozen=True, slots=True)
class Voice:
    """A hit that was passed in, and its rank."""

    hit: Hit
    is_guaranteed: bool
    rank: int

    @property
    def place(self) -> tuple[int, int]:
        kind = GUARANTEED if self.is_guaranteed else STANDING if self.hit.is_standing else OTHER
        return kind, self.rank

    def support(self, sources: int) -> tuple[object, ...]:
        """Its support if so many say it; the better supported compares as the greater."""
        trust = RANK.get(self.hit.trust, -1)
        said = max(sources, 1) if trust >= _COUNTS else 1
        return self.is_guaranteed, said, trust, self.hit.confidence, self.hit.at, self.hit.seq


@dataclass(slots=True, eq=False)
class Saying:
    """One thing that is said, by one voice or by several. The first of them is shown."""

    voices: list[Voice]
    place: tuple[int, int]
    against: list[Saying] = field(default_factory=list)
    beaten_by: Saying | None = None
    beaten_how: str = ""

    @property
    def hit(self) -> Hit:
        return self.voices[0].hit

    @property
    def is_guaranteed(self) -> bool:
        return self.voices[0].is_guaranteed

    @property
    def said(self) -> int:
        """The number of beliefs and episodes that say it."""
        return len(_sources(self.voices))

    @property
    def support(self) -> tuple[object, ...]:
        trusted = [voice for voice in self.voices if RANK.get(voice.hit.trust, -1) >= _COUNTS]
        return self.voices[0].support(len(_sources(trusted)))


def _voices(guaranteed: Sequence[Hit], hits: Sequence[Hit]) -> list[Voice]:
    """Each memory once, the guaranteed first."""
    known: dict[tuple[object, ...], Voice] = {}
    for is_guaranteed, some in ((True, guaranteed), (False, hits)):
        for hit in some:
            same = (hit.block, hit.text) if hit.block else (hit.id, hit.seq, hit.text)
            known.setdefault(same, Voice(hit, is_guaranteed, len(known)))
    return list(known.values())


def _said_once(voices: Iterable[Voice], compare: Compared) -> list[Saying]:
    """Group voices that say the same, the best supported first. Two that contradict never say the same."""
    every: list[Saying] = []
    alike: dict[object, list[Saying]] = {}
    for voice in voices:
        with_its_gist = alike.setdefault(compare.gist(voice.hit.text), [])
        for saying in with_its_gist:
            if compare.is_repeat(saying.hit.text, voice.hit.text) and not compare.conflict(saying.hit, voice.hit):
                saying.voices.append(voice)
                break
        else:
            every.append(Saying([voice], voice.place))
            with_its_gist.append(every[-1])
    for saying in every:
        saying.place = min(voice.place for voice in saying.voices)
        saying.voices.sort(key=lambda voice: voice.support(len(voice.hit.sources)), reverse=True)
    return every


def _settle(sayings: Iterable[Saying], compare: Compared) -> None:
    """Of two that contradict, keep the better supported, in the other's place if that comes sooner.

    Two that are guaranteed are both kept; the less supported then names what is against it.
    """
    standing: dict[object, list[Saying]] = {}
    for saying in sorted(sayings, key=lambda saying: saying.support, reverse=True):
        if (topic := compare.topic(saying.hit)) is None:
            continue
        rivals = standing.setdefault(topic, [])
        limit = RIVALS if saying.is_guaranteed else len(rivals)
        against = ((rival, why) for rival in islice(rivals, limit) if (why := compare.conflict(rival.hit, saying.hit)))
        rival, why = next(against, (None, ""))
        if rival is not None and not saying.is_guaranteed:
            saying.beaten_by, saying.beaten_how = rival, why
            rival.against.append(saying)
            rival.place = min(rival.place, saying.place)
            continue
        if rival is not None:
            saying.against.append(rival)
        rivals.append(saying)


def _sources(voices: Iterable[Voice]) -> set[str]:
    return {source for voice in voices for source in voice.hit.sources or (voice.hit.id,)}
