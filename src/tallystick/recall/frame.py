"""From ranked hits to a frame: what is shown, what is left out, and why.

The finished text is counted as a whole and never over the budget, whatever counts it. What is guaranteed comes first
and is shown, or named among the dropped with what it would have needed. What is said several times is shown once, in
the words of whoever is better supported; what contradicts something better supported is named beside it.

A tokenizer's counts do not add up: the sum over the lines is an estimate. So lines are chosen by estimate, the whole is
counted, the last are taken away until it holds, and what room is left goes to smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tallystick.recall.render import Line, Page, line_of, safe, shortened
from tallystick.recall.statements import OTHER, STANDING, Compare, Saying, sayings_of
from tallystick.records.filled_frame import Dropped, FilledFrame
from tallystick.records.frame import Frame
from tallystick.records.hit import Hit

STANDING_SHARE = 0.3  # of the budget goes to standing memory first; more of it comes in by its score

_ROUNDS = 4  # attempts to use what room the last one left
_LONGEST = 80

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """A saying as it may be shown, the fullest line first, with what each takes by itself."""

    saying: Saying
    ways: tuple[tuple[Line, int], ...]

    @property
    def needs(self) -> int:
        """The least it takes."""
        return self.ways[-1][1]


@dataclass(frozen=True, slots=True, eq=False)
class _Chosen:
    """An entry and the line that was chosen for it."""

    entry: _Entry
    line: Line


@dataclass(frozen=True, slots=True)
class _Room:
    """A page, what counts it, and how much may be on it."""

    page: Page
    count: Count
    budget: int
    alone: int  # what the template takes with nothing in it

    def used(self, chosen: Iterable[_Chosen]) -> int:
        return self.count(self.page.text(_lines(chosen)))

    def limit(self, chosen: list[_Chosen], more: list[_Chosen]) -> int:
        """How many of `more` can be added; found by halving, and each answer was counted."""
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
    budget: int | None = None, compare: Compare, cut: Sequence[tuple[Hit, str]] = (), more: int = 0,
) -> FilledFrame:  # fmt: skip
    """The frame filled with what fits: the guaranteed, then standing memory, then `hits`, which come best first.

    `compare` tells which of them say the same, and which contradict each other. `cut` is what was left out before, with
    the reason, and `more` how many there were beside. Refused if the template fails.
    """
    page = Page(frame.name, frame.template, question)
    room = _Room(page, count, frame.token_budget if budget is None else budget, alone=count(page.text(())))
    entries = [_entry(saying, count) for saying in sayings_of(guaranteed, hits, compare)]
    chosen = _choose(room, _in_turn([entry for entry in entries if entry.saying.beaten_by is None], room.budget))
    lines = _lines(chosen)
    text = page.text(lines) if lines else ""
    used = count(text) if text else 0
    unseen = {id(line) for line in page.unseen(lines, text)}
    shown = {id(one.entry.saying): id(one.line) not in unseen for one in chosen}
    dropped = [each for entry in entries for each in _dropped(entry, shown.get(id(entry.saying)), room, used)]
    dropped += [_named(hit, why, count) for hit, why in cut]
    seen = tuple(line.hit for line in lines if id(line) not in unseen)
    return FilledFrame(frame.name, question, text, seen, tuple(dropped), used, room.budget, more=more)


def _named(hit: Hit, why: str, count: Count) -> Dropped:
    return Dropped(hit.id, shortened(hit.text, _LONGEST), why, tokens=count(line_of(hit).text + "\n"))


def _entry(saying: Saying, count: Count) -> _Entry:
    against = [each.hit for each in saying.against]
    lines = [line_of(saying.hit, said=saying.said, against=against)]
    if against:
        lines.append(line_of(saying.hit, said=saying.said))
    return _Entry(saying, tuple((line, count(line.text + "\n")) for line in lines))


def _in_turn(entries: list[_Entry], budget: int) -> list[_Entry]:
    """In the order of choosing: standing memory that is over its share waits for its turn by score."""
    left = budget * STANDING_SHARE
    for entry in entries:
        kind, rank = entry.saying.place
        if kind == STANDING and entry.needs > left:
            entry.saying.place = (OTHER, rank)
        elif kind == STANDING:
            left -= entry.needs
    return sorted(entries, key=lambda entry: entry.saying.place)


def _choose(room: _Room, entries: list[_Entry]) -> list[_Chosen]:
    """What is guaranteed and fits; then of the rest what fits beside it."""
    if room.alone > room.budget:
        return []
    rest = [entry for entry in entries if not entry.saying.is_guaranteed]
    return _filled(room, _guaranteed(room, [entry for entry in entries if entry.saying.is_guaranteed]), rest)


def _guaranteed(room: _Room, entries: list[_Entry]) -> list[_Chosen]:
    """All of them if the whole can hold them; what is against one goes before another does."""
    for way in (0, -1):
        every = [_Chosen(entry, entry.ways[way][0]) for entry in entries]
        if room.used(every) <= room.budget:
            return every
    return _filled(room, [], [_Entry(entry.saying, entry.ways[-1:]) for entry in entries])


def _filled(room: _Room, chosen: list[_Chosen], entries: list[_Entry]) -> list[_Chosen]:
    """`chosen`, and of `entries` those for which there is room, the earlier before the later."""
    waiting, failed = list(entries), set[int]()
    for _ in range(_ROUNDS):
        more = _estimated(waiting, room.budget - room.used(chosen), failed)
        if not more:
            break
        number = room.limit(chosen, more)
        chosen = chosen + more[:number]
        failed.update(id(one.line) for one in more[number : number + 1])  # counted with the rest, it is too much
        taken = {id(one.entry.saying) for one in chosen}
        waiting = [entry for entry in waiting if id(entry.saying) not in taken]
    return chosen


def _estimated(entries: Iterable[_Entry], free: int, failed: set[int]) -> list[_Chosen]:
    """Those that should fit into `free`, line by line, each as full as may be."""
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
    """Those of an entry that are not shown by themselves. `shown` is None if it was not even chosen."""
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
    """Why an entry was not chosen, with what it would have needed."""
    if entry.saying.beaten_by is not None:
        better, how = safe(entry.saying.beaten_by.hit.id), safe(entry.saying.beaten_how)
        return f"contradicts {better}, which is better supported: {how}"
    alone, budget, needs = room.alone, room.budget, entry.needs
    if alone > budget:
        return f"the budget of {budget} tokens cannot hold the template, which takes {alone}, and its {needs}"
    if alone + needs > budget:
        return f"the budget of {budget} tokens cannot hold its {needs} beside the template's {alone}"
    if needs > budget - used:
        return f"the budget is used up: it needs {needs} tokens, and {budget - used} of {budget} are left"
    return f"the budget is used up: with its {needs} tokens the text would be over {budget}"
