"""Files of other systems, small enough to read, and what a reader gives for them."""

import json
from collections.abc import Iterable
from typing import Any

from tallystick.exchange.conversation import ConversationStart, Item, Lines, Message, Note, lines_of
from tallystick.records.transfer import Skipped


def told(*lines: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(line) for line in lines).encode()


def lines(data: bytes) -> Lines:
    return lambda: lines_of(data)


class Read:
    """What a reader gave, by what it is."""

    def __init__(self, items: Iterable[Item]) -> None:
        found = list(items)
        self.began = [each for each in found if isinstance(each, ConversationStart)]
        self.said = [each for each in found if isinstance(each, Message)]
        self.notes = [each for each in found if isinstance(each, Note)]
        self.skipped = [each.place for each in found if isinstance(each, Skipped)]

    @property
    def words(self) -> list[tuple[str, str]]:
        return [(each.turn.role, each.turn.text) for each in self.said]

    @property
    def branches(self) -> list[list[str]]:
        """The words of the line, then of each branch in the order in which they were met."""
        found: dict[str, list[str]] = {"": []}
        for each in self.said:
            found.setdefault(each.branch, []).append(each.turn.text)
        return list(found.values())


def line(uuid: str, parent: str | None, content: object, kind: str = "user", **more: object) -> dict[str, Any]:
    return {
        "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "timestamp": "2026-05-03T10:00:00.000Z",
        "message": {"role": kind, "content": content}, **more,
    }  # fmt: skip


def node(
    name: str, parent: str | None, role: str, *parts: object, kind: str = "text", **more: object
) -> tuple[str, dict[str, Any]]:
    message = {
        "author": {"role": role},
        "create_time": 1700000000 + ord(name[0]),
        "content": {"content_type": kind, "parts": list(parts)},
        **more,
    }
    return name, {"id": name, "parent": parent, "children": [], "message": message}


def exported(*nodes: tuple[str, dict[str, Any]], current: str) -> bytes:
    root = ("0", {"id": "0", "parent": None, "children": [], "message": None})
    return json.dumps([{"id": "c1", "title": "Tea\n time", "create_time": 1700000000.0, "current_node": current,
                        "mapping": dict([root, *nodes])}]).encode()  # fmt: skip
