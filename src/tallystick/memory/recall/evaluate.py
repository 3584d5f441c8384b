"""Putting questions whose answers are known, to notice when recall of one's own memory gets worse.

Nothing is written, not even a receipt. A name that is not in the memory, or a frame that is not there, fails its own
question and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tallystick.memory.core.yaml import Node, Wrong, parse, plain, read_text
from tallystick.memory.episodes.store import EpisodeStore
from tallystick.memory.settings import place_of
from tallystick.records.belief import Belief
from tallystick.records.errors import Closed, Refused
from tallystick.records.evaluation import KEYS, OPTIONS, KnownQuestion, Verdict, Verdicts, checked
from tallystick.records.progress import Progress
from tallystick.records.recall import FilledFrame, Hit

DEEP = 50  # how far to look for what should have been among the first
_FILTERS = {"tag": "tags", "kind": "kinds", "about": "about", "what": "what", "since": "since", "until": "until"}
_NAMES = {"at": "believed_at"}
_SHORT = 60


class Questioned(Protocol):
    """What of a memory is needed to put questions to it. `Memory` is one."""

    @property
    def episodes(self) -> EpisodeStore: ...

    @property
    def trust(self) -> str: ...

    def get(self, name: str, **which: Any) -> Belief | None: ...

    def recall(self, question: str, **asked: Any) -> list[Hit]: ...

    def frame(self, name: str, question: str, **asked: Any) -> FilledFrame: ...


def put_all(
    memory: Questioned, questions: str | Path | Iterable[Mapping[str, Any]], *, user: str,
    on_progress: Progress | None = None,
) -> Verdicts:  # fmt: skip
    """The verdict on each question, in their order. A question that names no user is put as `user`."""
    verdicts = Verdicts()
    for asked in _asked(questions):
        verdicts.append(_put(memory, asked, user))
        if on_progress is not None:
            on_progress(1)
    return verdicts


def _asked(questions: str | Path | Iterable[Mapping[str, Any]]) -> list[KnownQuestion]:
    if isinstance(questions, str | Path):
        return read_questions(place_of(questions))
    found = []
    for number, each in enumerate(questions, 1):
        if not isinstance(each, Mapping):
            raise Refused(f"question {number} must be a mapping with `ask` and `find`, not {type(each).__name__}")
        try:
            found.append(KnownQuestion.of(each))
        except Refused as error:
            raise Refused(f"question {number}: {error}", error.code) from None
    return found


def _put(memory: Questioned, asked: KnownQuestion, user: str) -> Verdict:
    """One question; whatever is refused about it is what is wrong with it."""
    try:
        return _Putting(memory, asked, user).verdict()
    except Closed:
        raise
    except Refused as error:
        return Verdict(asked, {}, (str(error),))


class _Putting:
    """One question as it is put to a memory."""

    def __init__(self, memory: Questioned, asked: KnownQuestion, user: str) -> None:
        self._memory, self._asked = memory, asked
        said = {_NAMES.get(name, name): value for name, value in asked.options.items() if name not in _FILTERS}
        self._frame, self._budget = said.pop("frame", None), said.pop("budget", None)
        self._k = said.pop("k", None)
        filters = {_FILTERS[name]: value for name, value in asked.options.items() if name in _FILTERS}
        self._said: dict[str, Any] = {"user": user} | said | {"filters": filters or None, "receipt": False}
        self._left_out: dict[str, str] = {}  # of a frame: what was found and not shown, and why

    def verdict(self) -> Verdict:
        hits, asked = self._hits(), self._asked
        places: dict[str, int] = {}
        wrong: list[str] = []
        for name in asked.find:
            ids = self._ids(name)
            if place := _place(hits, ids):
                places[name] = place
            else:
                wrong.append(self._missing(name, ids, hits))
        wrong += self._unwanted(hits)
        texts = [hit.text.casefold() for hit in hits]
        missing = [each for each in asked.says if not any(each.casefold() in text for text in texts)]
        wrong += [f"no hit says {text[:_SHORT]!r}" for text in missing]
        return Verdict(asked, places, tuple(wrong))

    def _hits(self) -> list[Hit]:
        if self._said.get("quarantined") and self._memory.trust != "human":
            raise Refused("only a person can ask about pending memories; leave `quarantined` out", "permission")
        if self._frame is None:
            return self._memory.recall(self._asked.ask, k=self._k, **self._said)
        said = {name: value for name, value in self._said.items() if name != "words"}
        filled = self._memory.frame(self._frame, self._asked.ask, budget=self._budget, **said)
        self._left_out = {each.id: each.why for each in filled.dropped}
        return list(filled.hits)[: self._k]

    def _ids(self, name: str) -> list[str]:
        """What hits call the memory of that name, as it stands now or stood then; none if it is not there."""
        user, then = self._said["user"], self._said.get("believed_at")
        belief = self._memory.get(name, user=user, believed_at=then)
        if belief is not None:
            return [belief.id] if belief.is_held else []
        episode = self._memory.episodes.find(name, user=user)
        return [episode.id] if episode else []

    def _missing(self, name: str, ids: list[str], hits: Sequence[Hit]) -> str:
        """Why something is not among the hits, and how far off it is."""
        if not ids:
            return self._gone(name)
        if why := next((self._left_out[id] for id in ids if id in self._left_out), ""):
            return f"{name} was left out of the frame: {why}"
        deep = self._memory.recall(self._asked.ask, k=DEEP, frame=self._frame, **(self._said | {"floor": 0.0}))
        place = _place(deep, ids)
        if not place:
            return f"{name} is not found in the first {DEEP}"
        if not hits:
            return f"{name} is not found: nothing fits; it would be at place {place}"
        return f"{name} is at place {place}, not among the {len(hits)} that are served"

    def _gone(self, name: str) -> str:
        """Why a name stands for nothing that could be found."""
        if self._memory.get(name, user=self._said["user"]) is None:
            return f"{name} is not in this memory"
        return f"{name} was not held then" if "believed_at" in self._said else f"{name} is no longer held"

    def _unwanted(self, hits: Sequence[Hit]) -> Iterator[str]:
        for name in self._asked.never:
            ids = self._ids(name)
            if place := _place(hits, ids):
                yield f"{name} must not be found, and is at place {place}"
            elif not ids and self._memory.get(name, user=self._said["user"]) is None:
                yield self._gone(name)
        if self._asked.nothing and hits:
            first = hits[0]
            yield f"nothing may fit, and {first.id} does ({first.score:.2f}): {first.text[:_SHORT]}"


def _place(hits: Iterable[Hit], ids: Iterable[str]) -> int:
    """Where the first hit stands that one of these said; 0 if there is none."""
    wanted = set(ids)
    return next((place for place, hit in enumerate(hits, 1) if wanted.intersection(hit.sources)), 0)


# -- a file of questions whose answers are known: YAML, of which JSON is a part ----------------------------------------


def read_questions(path: Path) -> list[KnownQuestion]:
    text = read_text(path, of="questions", told_by="test")
    try:
        return list(_questions(parse(text)))
    except Wrong as wrong:
        raise Refused(f"{path}, line {wrong.line}: {wrong}", "file") from None


def _questions(top: Node) -> Iterator[KnownQuestion]:
    usual: dict[str, Any] = {}
    if isinstance(top.value, dict):
        listed = top.value.pop("questions", None)
        if listed is None:
            raise Wrong(top.line, "a file of questions must be a list, or a mapping with `questions:`")
        usual = _checked(top, OPTIONS)
        top = listed
    if not isinstance(top.value, list) or not top.value:
        raise Wrong(top.line, "no questions; write each as `- ask: …`")
    for node in top.value:
        if not isinstance(node.value, dict):
            raise Wrong(node.line, "a question must be a mapping: `ask: …`, and below it `find: …`")
        _checked(node, KEYS)
        try:
            yield KnownQuestion.of(usual | {name: plain(each) for name, each in node.value.items()}, node.line)
        except Refused as error:
            raise Wrong(node.line, error) from None


def _checked(mapping: Node, known: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a mapping; an error names the line of its value."""
    found: dict[str, Any] = {}
    assert isinstance(mapping.value, dict)
    for name, node in mapping.value.items():
        try:
            found |= checked({name: plain(node)}, known)
        except Refused as error:
            raise Wrong(node.line, error) from None
    return found
