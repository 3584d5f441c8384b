"""Conversations and notes of other systems in one shape, and what the readers of their files share.

A conversation is a tree of turns, because that is what other systems keep: a question asked again is a branch. Nothing
of it is judged here; the author of a turn is given by its role, never read from its text.

A reader gives what it finds one by one, so that a file need not fit into memory: `ConversationStart`, then each
`Message` of it; a `Note`; or `Skipped`.

A tree has a main line, which leads to the turn where the conversation went on, and branches that left it. No branch is
lost, and no two hold the same turn. The result of a tool is no branch by itself: tools that were called at once answer
in parallel.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import orjson

from tallystick.records.transfer import Skipped

PERSON, ASSISTANT, TOOL, SYSTEM = "person", "assistant", "tool", "system"
DOCUMENT = "document"  # somebody's words that a person attached

_LONE = re.compile("[\ud800-\udfff]")
_BLANK = b" \t\r\n"
_LONGEST = 200  # characters of a name or a title
_MARK = b"\xef\xbb\xbf"
_SIGN = re.compile(rb'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"?|[\[\]{}]', re.DOTALL)  # a string without end takes the rest
_DEEPER = {0x5B: 1, 0x7B: 1, 0x5D: -1, 0x7D: -1}  # brackets
_MILLISECONDS = 1e11  # a number of seconds above this is thousands of years away


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `parent` is the turn before it; one without words only holds the tree together."""

    id: str
    parent: str  # empty: it begins the conversation, or a part of its own
    role: str
    text: str
    at: str = ""  # as ISO 8601 in UTC; empty if unknown
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_aside: bool = False  # between an assistant and its sub-agent, never on the main line


def after_results(turn: Turn, results: str) -> list[Turn]:
    """A turn, and before it what tools returned for it, if anything."""
    if not results:
        return [turn]
    first = replace(turn, id=f"{turn.id}:results", role=TOOL, text=results)
    return [first, replace(turn, parent=first.id)]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A tree of turns in the order of the file. `living` is the last turn of the main line."""

    id: str
    title: str
    turns: tuple[Turn, ...]
    living: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class ConversationStart:
    """A conversation, before its messages. `ids` are those of its turns that have words, in their order."""

    conversation: str
    title: str
    ids: tuple[str, ...]
    above: Mapping[str, str] = field(default_factory=dict)  # its branches, and which one each left; "": the main line
    at: str = ""
    asides: frozenset[str] = frozenset()  # those of its branches that are between an assistant and its sub-agent


@dataclass(frozen=True, slots=True)
class Message:
    """A turn with words, on the main line or on the branch that begins with the turn `branch`."""

    conversation: str
    number: int  # of the turn in its conversation, from 0 on
    turn: Turn
    branch: str = ""  # empty: the main line


@dataclass(frozen=True, slots=True)
class Note:
    """A statement about something, which becomes a belief."""

    about: str  # the entity, by its name there
    text: str
    kind: str = ""  # of the entity, by its name there
    tags: tuple[str, ...] = ()
    at: str = ""
    triple: tuple[str, str, str] | None = None  # of a relation
    metadata: dict[str, Any] = field(default_factory=dict)
    role: str = PERSON  # of its author
    id: str = ""  # its id there, if it has one


Item = ConversationStart | Message | Note | Skipped
Lines = Callable[[], Iterator[tuple[int, bytes]]]  # the lines of a file, from the first one on each time


def loaded(data: bytes) -> Any:
    """JSON, or ValueError. Lone surrogates, which other systems cut out of emoji, become U+FFFD."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data.decode("utf-8-sig", "replace")
    try:
        return _whole(json.loads(text))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def lines_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers as an editor counts them."""
    for number, line in enumerate(data.removeprefix(_MARK).split(b"\n"), start=1):
        if line.strip():
            yield number, line


def objects_in(lines: Lines) -> Iterator[tuple[str, dict[str, Any] | Skipped]]:
    """The object of each line, with its place; `Skipped` for a line that holds none."""
    for number, line in lines():
        place = f"line {number}"
        found = _loaded(line, place)
        yield place, found if isinstance(found, dict | Skipped) else Skipped(place, "not an object")


def _loaded(data: bytes, place: str) -> Any:
    try:
        return loaded(data)
    except ValueError:
        return Skipped(place, "not valid JSON, or cut off")


def elements(data: bytes) -> Iterator[bytes]:
    """The entries of a list, one by one, then ValueError if it was cut off. What is no list is one entry."""
    first = _first(data)
    if data[first : first + 1] != b"[":
        yield data
        return
    depth, start, end = 0, 0, first + 1
    for found in _SIGN.finditer(data, first):
        if depth == 1:
            start = found.start()
            if odd := data[end:start].strip(_BLANK + b","):  # numbers and the like
                yield odd
        depth += _DEEPER.get(data[found.start()], 0)
        if depth == 0:
            return
        if found.end() == len(data):
            break
        if depth == 1 and found.start() != first:
            end = found.end()
            yield data[start:end]
    raise ValueError("the file was cut off")


def entries(data: bytes) -> Iterator[tuple[str, Any]]:
    """The value of each entry of a list, with its place; `Skipped` for one that is not JSON. ValueError as above."""
    for number, entry in enumerate(elements(data), start=1):
        place = f"entry {number}"
        yield place, _loaded(entry, place)


def _first(data: bytes) -> int:
    at = len(_MARK) if data[: len(_MARK)] == _MARK else 0
    while data[at : at + 1] and data[at] in _BLANK:
        at += 1
    return at


def moment(value: object) -> str:
    """A time as other systems write it, seconds, milliseconds or text, in ISO 8601 and UTC; empty if it is none."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            then = datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
        else:
            then = datetime.fromisoformat(text_of(value).strip())
            then = then.replace(tzinfo=UTC) if then.tzinfo is None else then.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return then.isoformat(timespec="microseconds").replace("+00:00", "Z")


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def object_of(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def parts_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def joined(texts: Iterable[object]) -> str:
    """The texts among some values, a blank line between two; without those that are blank."""
    return "\n\n".join(text for each in texts if (text := text_of(each).strip()))


def line_of(value: object) -> str:
    """A text on one line, and not too long: a title, a folder, whatever is repeated with every turn."""
    return " ".join(value[: 4 * _LONGEST].split())[:_LONGEST] if isinstance(value, str) else ""


def name_of(value: object) -> str:
    """A name as it was given; one that is too long is replaced by a digest."""
    name = text_of(value)
    return name if len(name) <= _LONGEST else named_after(name)


def is_json(head: bytes) -> bool:
    """Whether a file with this beginning may be an object or a list."""
    return head[_first(head) :][:1] in (b"[", b"{")


def named_after(*words: str) -> str:
    """A name for what has none: the same words give the same one."""
    return sha256("\x00".join(words).encode("utf-8", "replace")).hexdigest()[:24]


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(each) for name, each in value.items()}
    return value


@dataclass(frozen=True, slots=True)
class Branch:
    """Turns in their order. `parent` is the branch that it left; number 0 is the main line."""

    number: int
    parent: int
    turns: tuple[Turn, ...]

    @property
    def name(self) -> str:
        """The turn it begins with; empty for the main line, unless that is nothing but an aside."""
        first = self.turns[0] if self.turns else None
        return first.id if first and (self.number or first.is_aside) else ""


Place = tuple[int, str]  # which turn it is, and on which branch


def items_of(conversation: Conversation) -> Iterator[Item]:
    """A conversation, and its messages in the order of the file."""
    start, places = laid_out(conversation)
    yield start
    for turn in conversation.turns:
        if (place := places.pop(turn.id, None)) is not None:
            yield Message(conversation.id, place[0], turn, place[1])


def laid_out(shape: Conversation) -> tuple[ConversationStart, dict[str, Place]]:
    """The start of a conversation, and the place of each turn with words."""
    found = branches_of(shape)
    home = {turn.id: branch.name for branch in found for turn in branch.turns}
    names = tuple(name for name in dict.fromkeys(turn.id for turn in shape.turns) if name in home)
    above = {branch.name: found[branch.parent].name for branch in found if branch.name}
    places = {name: (number, home[name]) for number, name in enumerate(names)}
    asides = frozenset(branch.name for branch in found if branch.name and branch.turns[0].is_aside)
    return ConversationStart(shape.id, shape.title, names, above, shape.at, asides), places


def branches_of(conversation: Conversation) -> list[Branch]:
    """The main line, then every branch, those that end earlier in the file first. Branches without words are none.

    A missing parent, or a ring of parents, begins a part of its own.
    """
    turns: dict[str, Turn] = {}
    for turn in conversation.turns:
        turns.setdefault(turn.id, turn)
    parents = {turn.parent for turn in turns.values()}
    ends = [name for name in turns if name not in parents]
    living = conversation.living if conversation.living in turns else next(reversed(turns), "")
    placed: dict[str, int] = {}
    found: list[Branch] = []
    for end in dict.fromkeys([living, *ends, *turns]):  # the turns of a ring have no end: they come last
        name, line = end, list[Turn]()
        while name in turns and name not in placed:  # back to one that is on another branch
            placed[name] = len(found)
            line.append(turns[name])
            name = turns[name].parent
        if line:
            above = placed.get(name, 0)
            found.append(Branch(len(found), 0 if above == len(found) else above, tuple(reversed(line))))
    return _with_words(found, {name: number for number, name in enumerate(turns)})


def _with_words(found: list[Branch], order: dict[str, int]) -> list[Branch]:
    """The branches with words, renumbered, without the turns that have none; the main line stays."""
    kept: list[Branch] = []
    numbers: dict[int, int] = {}
    results: dict[int, list[Turn]] = {}
    for branch in found:
        spoken = tuple(turn for turn in branch.turns if turn.text.strip())
        if branch.number == 0 or any(turn.role != TOOL for turn in spoken):
            numbers[branch.number] = len(kept)
            kept.append(Branch(len(kept), numbers[branch.parent], spoken))
        else:
            numbers[branch.number] = numbers[branch.parent]
            results.setdefault(numbers[branch.parent], []).extend(spoken)
    for number, more in results.items():
        turns = sorted((*kept[number].turns, *more), key=lambda turn: order[turn.id])
        kept[number] = Branch(number, kept[number].parent, tuple(turns))
    return kept
