"""Erasing words for good: in the ledger, its backups, the pages, the graph and everything derived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tallystick.decide import beliefs as decide
from tallystick.decide.erasure import noun_in, words_of
from tallystick.projections.pages.rows import path_of
from tallystick.records.episode import Episode
from tallystick.records.errors import Missing, NotFound
from tallystick.records.status import Erasure
from tallystick.stores.open_ledger import OpenLedger

if TYPE_CHECKING:
    from tallystick.memory.core.context import Context
    from tallystick.memory.episodes.store import EpisodeStore
    from tallystick.memory.graph.graph import GraphService
    from tallystick.memory.pages.sync import PageWriter


def preview(folder: OpenLedger, episodes: EpisodeStore, names: Sequence[str], user: str, path: str) -> Erasure:
    """What `erase` would destroy. NotFound, if one of the names has no words to erase."""
    plain, things = _split(folder, names, user)
    with folder.ledger.reading():
        state = folder.state
        _, is_of_plain = decide.erase(state, plain, user=user, path=path)
        beliefs, of_episodes = decide.what_goes(state, plain, user=user, path=path)
        words = [words_of(state, noun, name, user) for noun, name in things]
        paths = {name for noun, name in things if noun == "path"}
        on_paths = [each for path in paths for each in state.on_path(user, path)]
        found = tuple(each.belief() for each in dict.fromkeys([*beliefs, *on_paths]))
    events, has_words = 0, set[int]()
    for event in folder.events():
        those = {number for number, each in enumerate(words) if each.speak(event)}
        events += bool(is_of_plain(event) or those)
        has_words |= those
    for number, (noun, name) in enumerate(things):
        if number not in has_words and not words[number].first and not any(words[number].ids):
            raise NotFound(f"no {noun} named {name!r:.80} with text to erase; run `tallystick log`")
    copies = folder.copies()
    gone = list[Episode]()
    for name in of_episodes:
        with suppress(Missing):  # its text was moved away; its name is here
            gone.append(episodes.get(name, user=user))
    labels = tuple(f"{noun}:{name}" for noun, name in things)
    elsewhere = tuple(folder.ledger.standing.copies)
    return Erasure(found, events, copies, elsewhere, tuple(gone), labels, needs_sweep=folder.root is None)


def erase(
    context: Context, episodes: EpisodeStore, pages: PageWriter | None, graph_of: Callable[[str], GraphService],
    names: Sequence[str], user: str, path: str,
) -> Erasure:  # fmt: skip
    """Destroy the words of everything that is named, and return what went."""
    context.folder.must_reach()
    if pages:
        pages.look_at_all()  # a page may hold words of it that are not imported yet
    going = preview(context.folder, episodes, names, user, path)
    plain, things = _split(context.folder, names, user)
    context.gate.restate(things, user=user)
    for about in [name.removesuffix(".md") for noun, name in things if noun == "page" and pages]:
        assert pages is not None
        pages.files.render_again(user, about)
        context.folder.remove_page_from_copies(path_of(user, about))
    if nodes := [name for noun, name in things if noun == "node"]:
        graph_of(user).erase(*nodes)
    rest = [each for each in things if each[0] != "node"]
    if plain or rest:
        context.gate.erase(plain, rest, user=user, path=path)
    return going


def _split(folder: OpenLedger, names: Sequence[str], user: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The names of beliefs and episodes, and of other things, each of those with what it is."""
    with folder.ledger.reading():
        nouns = [(name, noun_in(folder.state, name, user)) for name in names]
    return [name for name, noun in nouns if noun is None], [noun for _, noun in nouns if noun is not None]
