"""What goes into what when a page is folded, and what may not.

Pure: from the statements of a page, and what is known of the beliefs behind them, to a plan. The words are checked by
`preserve`; here stands what the words do not show: that the beliefs behind two entries differ in nothing else, that
what callers gave keys to and what was struck keeps its words, and that an entry stays one that a page can hold.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from tallystick.projections.markdown.compact.losses import Loss, loss
from tallystick.projections.markdown.compact.notes import Statement, parted
from tallystick.projections.markdown.compact.pairs import Pairs, ends
from tallystick.projections.markdown.compact.propose import fold
from tallystick.text.claims import gist

MOST = 150  # entries that we make one of: their ids stand in one comment
LONGEST = 50_000  # characters of what was folded

_MOST_NAMED = 170  # ids that such a comment has room for
_LEFT = -1


@dataclass(frozen=True, slots=True)
class Take:
    """One entry of a page, and those that go into it. Places are those of the page as it is."""

    standing: int
    taken: tuple[int, ...]
    text: str
    tags: tuple[str, ...]
    is_reworded: bool  # then it gets a new id: an entry's words belong to its id

    @property
    def places(self) -> tuple[int, ...]:
        return self.standing, *self.taken


def folded_ids(before: Sequence[Statement], take: Take) -> list[str]:
    """The ids that the entry names as told by it. First the one whose place it takes, if its words are new."""
    standing = before[take.standing]
    names = dict.fromkeys([standing.id, *standing.supersedes] if take.is_reworded else standing.supersedes)
    for at in take.taken:
        names |= dict.fromkeys((before[at].id, *before[at].supersedes))
    return list(names)


# -- our own proposal --------------------------------------------------------------------------------------------------


def proposed(before: Sequence[Statement], kinds: Mapping[str, bytes], today: date) -> list[Statement]:
    """The page in fewer words. `kinds` says by id what a belief is beside its words: only what is alike is joined."""
    found: dict[str, Statement] = {}
    portions: dict[int, list[Statement]] = {}
    for statement, portion in zip(before, _portions(before, kinds), strict=True):
        portions.setdefault(portion, []).append(statement)
    for portion, statements in portions.items():
        folded = statements if portion == _LEFT else fold(statements, today=today)
        found |= {each.id: each for each in folded}
    return [found[each.id] for each in before if each.id in found]


def _portions(before: Sequence[Statement], kinds: Mapping[str, bytes]) -> list[int]:
    """Which statements are folded together: repeats are in one portion as far as they are alike and not too many."""
    found = [0] * len(before)
    chains: dict[int, list[int]] = {}
    for at, end in enumerate(ends(before)):
        if end is not None and end != at:
            chains.setdefault(end, []).append(at)
    repeats: dict[str, dict[bytes, list[int]]] = {}
    for at, statement in enumerate(before):
        if statement.is_current:
            alike = repeats.setdefault(gist(parted(statement.text)[0]), {})
            alike.setdefault(kinds.get(statement.id, b""), []).append(at)
    for groups in repeats.values():
        number = 0
        for places in groups.values():
            number = _fill(found, before, places, chains, number) + 1
    return found


def _fill(
    found: list[int], before: Sequence[Statement], places: Sequence[int], chains: Mapping[int, list[int]], number: int
) -> int:
    """Put repeats, the last first, and what they superseded into portions from `number` on; returns the last."""
    room = Room()
    for place in reversed(places):
        if not room.has(before[place]):
            number, room = number + 1, Room()
        room.take(before[place])
        found[place] = number
        for at in sorted(chains.get(place, ()), reverse=True):
            found[at] = number if room.has(before[at]) else _LEFT
            if found[at] == number:
                room.take(before[at])
    return number


class Room:
    """What one entry has room for."""

    def __init__(self) -> None:
        self.names = self.letters = 0

    def has(self, statement: Statement) -> bool:
        is_first = self.names == 0
        return is_first or (
            self.names + 1 + len(statement.supersedes) <= MOST and self.letters + len(statement.text) <= LONGEST
        )

    def take(self, statement: Statement) -> None:
        self.names += 1 + len(statement.supersedes)
        self.letters += len(statement.text)


# -- any rewrite -------------------------------------------------------------------------------------------------------


def planned(before: Sequence[Statement], after: Sequence[Statement]) -> list[Take]:
    """What changes from one state of the page to the other. What comes from nowhere is in no plan."""
    pairs, found = Pairs(before, after), list[Take]()
    for place, new in enumerate(after):
        sources = pairs.sources[place]
        standing = _standing(before, sources, pairs)
        if standing is None:
            continue
        old = before[standing]
        taken = tuple(at for at in sources if at != standing)
        take = Take(standing, taken, new.text, new.tags, is_reworded=new.text != old.text)
        if take.taken or take.is_reworded or set(new.tags) != set(old.tags):
            found.append(take)
    return found


def _standing(before: Sequence[Statement], sources: Sequence[int], pairs: Pairs) -> int | None:
    """Whose place it is: that of its own id, else of the last that holds."""
    own = [at for at in sources if pairs.is_own[at]]
    return own[0] if own else max((at for at in sources if before[at].is_current), default=None)


def unfit(before: Sequence[Statement], takes: Sequence[Take], kinds: Mapping[str, bytes]) -> Iterator[Loss]:
    """Why a plan cannot be carried out, whatever the words say."""
    for take in takes:
        standing = before[take.standing]
        if take.is_reworded and not standing.is_current:
            yield loss("struck", standing.id, standing.text, "what is struck keeps its words")
        elif standing.has_key and take.is_reworded:
            yield loss("key", standing.id, standing.text, "a caller gave this a key and may ask for it; its words stay")
        elif standing.has_key and take.taken:
            yield loss("key", standing.id, standing.text, "a caller gave this a key; nothing is joined to it")
        for at in take.taken:
            if before[at].is_current and kinds.get(before[at].id) != kinds.get(standing.id):
                why = f"it differs from {standing.id} in more than its words, and stays by itself"
                yield loss("kind", before[at].id, before[at].text, why)
        if len(folded_ids(before, take)) > _MOST_NAMED:
            yield loss("entry", standing.id, "", f"it would tell more than {_MOST_NAMED} others, too many for one")
        if take.is_reworded and len(take.text) > max(LONGEST, len(standing.text)):
            yield loss("entry", standing.id, "", f"an entry has {LONGEST:,} characters at most")
        if unseen := _unseen(take.text) - _unseen("".join(before[at].text for at in take.places)):
            shown = " ".join(sorted(f"U+{ord(sign):04X}" for sign in unseen))
            yield loss("invented", standing.id, shown, "a sign that nobody sees is new")


def _unseen(text: str) -> set[str]:
    """Signs that show nothing, and may turn around what is shown."""
    if text.isascii() and text.isprintable():
        return set()
    return {sign for sign in set(text) if unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")}
