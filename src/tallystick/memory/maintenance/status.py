"""What a memory tells of itself: how it stands, and what an erasure destroys."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from tallystick.decide.beliefs import erase, what_goes
from tallystick.decide.erasure import noun_in, words_of
from tallystick.ledger.checkpoint import Keyring
from tallystick.ledger.layout import Folder
from tallystick.ledger.ledger import Ledger
from tallystick.memory import settings
from tallystick.memory.episodes.store import EpisodeStore
from tallystick.memory.maintenance.proof import written
from tallystick.records.errors import Damaged, NotFound
from tallystick.records.page import NOTES
from tallystick.records.status import Erasure, PendingReview, Status
from tallystick.state.state import State
from tallystick.state.version import CurrentVersion
from tallystick.stores.open_folder import OpenFolder

WEEK = timedelta(days=7)
_NAMED = 3  # reviews that are named
_LOOKED_AT = 64  # events, for the last one that somebody wrote


def status_of(open_folder: OpenFolder, ring: Keyring, user: str) -> Status:
    """How the memory of one user stands. What it costs does not grow with the ledger, once that is open."""
    with open_folder.known():
        state, ledger, folder = open_folder.state, open_folder.ledger, open_folder.ledger.folder
        pin = ring.pin(ledger.standing.ledger)
        asked = state.reviews.waiting(user, ledger.now())
        return Status(
            str(folder.root), state.count(user, "active"), state.count(user, "tombstone"), ledger.end.seq + 1,
            ledger.standing.ledger, ledger.end.ts, os.access(folder.wal, os.W_OK), str(ledger.trouble or ""),
            settings.unsafe_place(folder.root), pin.size if pin else None,
            checkpoint_at=written(ring.pin_path(ledger.standing.ledger)) if pin else "",
            by=_last_client(open_folder, user), learned=_learned(open_folder, user), episodes=state.episodes.held(user),
            pages=_pages(folder.root / "memory", user), entities=_entities(folder, user),
            paths=len(state.paths.names(user)), vectors=_vectors(folder.root / "vectors", user), waiting=len(asked),
            reviews=tuple(PendingReview(each.id, each.action.label, each.action.trust) for each in asked[:_NAMED]),
            size=_size(folder.root), times=_times(ledger),
        )  # fmt: skip


def _times(ledger: Ledger) -> str:
    """What the clock of this machine, or one before it, did to the times of events."""
    times = ledger.standing.times
    ahead = times.ahead(ledger.now())
    ahead = ahead and f"{ahead}: set the clock, if it is wrong; if not, the next write records that they are doubted"
    return "; ".join(filter(None, (ahead, times.report())))


def _learned(open_folder: OpenFolder, user: str) -> int:
    """What was first stated this week. Of what was moved away, or is damaged, nobody knows when."""
    try:
        before = open_folder.seq_at(datetime.fromisoformat(open_folder.ledger.now()) - WEEK)
    except Damaged:
        return 0
    return open_folder.state.learned_since(user, before)


def _last_client(open_folder: OpenFolder, user: str) -> str:
    """Through which door the last of the user's events came, if it is among the last."""
    end = open_folder.ledger.end.seq
    start = max(end - _LOOKED_AT + 1, open_folder.ledger.chain().first)
    try:
        events = reversed(list(open_folder.events_of(user, start)))
        return next((each.by for each in events if open_folder.owner(each)), "")
    except Damaged:
        return ""


def _entities(folder: Folder, user: str) -> int | None:
    from tallystick.projections.index.read_bookmark import entities

    return entities(folder.index, user)


def _pages(folder: Path, user: str) -> int:
    """How many Markdown files the user has."""
    from tallystick.projections.pages.rows import path_of

    return sum(1 for _ in (folder / path_of(user, NOTES)).parent.glob("*.md"))


def _vectors(folder: Path, user: str) -> int:
    from tallystick.projections.vectors.names import how_many

    return how_many(folder, user)


def _size(folder: Path) -> int:
    """All that the folder takes up. What comes or goes meanwhile is not waited for."""
    found = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found += _size(Path(entry.path))
            else:
                with suppress(OSError):
                    found += entry.stat(follow_symlinks=False).st_size
    return found


def preview_erase(
    open_folder: OpenFolder, episodes: EpisodeStore, names: Sequence[str], user: str, path: str
) -> Erasure:  # fmt: skip
    """What an erasure of these names would destroy. NotFound, if one of them names nothing that has words."""
    plain, things = split_names(open_folder, names, user)
    with open_folder.ledger.reading():
        state = open_folder.state
        _, speaks = erase(state, plain, user=user, path=path)
        held, of_episodes = what_goes(state, plain, user=user, path=path)
        words = [words_of(state, noun, name, user) for noun, name in things]
        on_paths = [each for noun, name in things if noun == "path" for each in _on_path(state, user, name)]
        found = tuple(each.belief() for each in dict.fromkeys([*held, *on_paths]))
    told = [episodes.get(name, user=user) for name in of_episodes]
    events, has_words, ledger = 0, set[int](), open_folder.ledger
    for event in open_folder.events():
        those = {number for number, each in enumerate(words) if each.speak(event)}
        events += bool(speaks(event) or those)
        has_words |= those
    for number, (noun, name) in enumerate(things):
        if number not in has_words and not words[number].first:
            raise NotFound(f"no {noun} named {name!r:.80} with text to erase; run `tallystick log`")
    copies = tuple(copied.root.name for copied in ledger.folder.copies())
    labels = tuple(f"{noun}:{name}" for noun, name in things)
    return Erasure(found, events, copies, tuple(ledger.standing.copies), tuple(told), labels)


def _on_path(state: State, user: str, path: str) -> list[CurrentVersion]:
    return [each for each in state.held.values() if (each.user, each.path) == (user, path)]


def split_names(open_folder: OpenFolder, names: Sequence[str], user: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The names of beliefs and episodes, and of other things, each of those with what it is."""
    with open_folder.ledger.reading():
        nouns = [(name, noun_in(open_folder.state, name, user)) for name in names]
    return [name for name, noun in nouns if noun is None], [noun for _, noun in nouns if noun is not None]
