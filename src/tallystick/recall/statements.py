"""What hits say, each thing once: who speaks for it, who says the same, who speaks against it.

Better supported: guaranteed, then by how many, then by trust, confidence and newness. How often a tool or a web page
says a thing does not count: repeating oneself is no support.

A hit is compared with those that can say the same (they share a gist) and those that can contradict it (they share a
topic), so that thousands may be guaranteed. If more than `RIVALS` of these speak of one thing, each is held against the
best supported of them; what is not guaranteed is held against all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from tallystick.records.hit import Hit
from tallystick.records.policy import RANK

GUARANTEED, STANDING, OTHER = range(3)

RIVALS = 100  # guaranteed ones on one topic that another of them is held against

_COUNTS = RANK["agent"]  # the trust from which on saying it again is support


class Compare(Protocol):
    """How hits are compared. Texts that repeat each other share a gist, hits that contradict each other a topic."""

    def gist(self, text: str) -> object: ...

    def is_repeat(self, one: str, other: str) -> bool: ...

    def topic(self, hit: Hit) -> object:
        """What it speaks of; None if it contradicts nothing."""

    def conflict(self, one: Hit, other: Hit) -> str:
        """How two contradict each other, in a few words; nothing if they do not."""


@dataclass(frozen=True, slots=True)
class Voice:
    """A hit that was passed in, and where it stood."""

    hit: Hit
    is_guaranteed: bool
    rank: int

    @property
    def place(self) -> tuple[int, int]:
        kind = GUARANTEED if self.is_guaranteed else STANDING if self.hit.is_standing else OTHER
        return kind, self.rank

    def support(self, sources: int) -> tuple[object, ...]:
        """What speaks for it if so many say it; the better supported compares as the greater."""
        trust = RANK.get(self.hit.trust, -1)
        said = max(sources, 1) if trust >= _COUNTS else 1
        return self.is_guaranteed, said, trust, self.hit.confidence, self.hit.at, self.hit.seq


@dataclass(slots=True, eq=False)
class Saying:
    """One thing that is said, by one voice or by several. The first of them speaks."""

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
        """How many beliefs and episodes say it."""
        return len(_sources(self.voices))

    @property
    def support(self) -> tuple[object, ...]:
        trusted = [voice for voice in self.voices if RANK.get(voice.hit.trust, -1) >= _COUNTS]
        return self.voices[0].support(len(_sources(trusted)))


def sayings_of(guaranteed: Sequence[Hit], hits: Sequence[Hit], compare: Compare) -> list[Saying]:
    """All that is said, those that are beaten too, in the order in which it is to be chosen and shown."""
    sayings = _said_once(_voices(guaranteed, hits), compare)
    _settle(sayings, compare)
    return sorted(sayings, key=lambda saying: saying.place)


def _voices(guaranteed: Sequence[Hit], hits: Sequence[Hit]) -> list[Voice]:
    """Each memory once, the guaranteed first."""
    known: dict[tuple[object, ...], Voice] = {}
    for is_guaranteed, some in ((True, guaranteed), (False, hits)):
        for hit in some:
            same = (hit.block, hit.text) if hit.block else (hit.id, hit.seq, hit.text)
            known.setdefault(same, Voice(hit, is_guaranteed, len(known)))
    return list(known.values())


def _said_once(voices: Iterable[Voice], compare: Compare) -> list[Saying]:
    """Voices that say the same together, the best supported first. Two that contradict never say the same."""
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


def _settle(sayings: Iterable[Saying], compare: Compare) -> None:
    """Of two that contradict, the better supported stands, and takes the other's place if that comes sooner.

    Two that are guaranteed both stand; the less supported then bears what is against it.
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
