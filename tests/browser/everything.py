"""A memory with something of everything in it, as a person's would be after a while, and its addresses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tallystick import Memory, NeedsApproval

HELD = [
    ("Ana prefers tea over coffee", "person-ana", "taste"),
    ("Ana works at Acme as a release engineer", "person-ana", "work"),
    ("Ana moved from Porto to Berlin in May 2026", "person-ana", "place"),
    ("Bob is allergic to peanuts", "person-bob", "health"),
    ("Bob and Ana share an office on the third floor", "person-bob", "work"),
    ("The release of Harbor 2.0 is planned for 12 December", "project-harbor", "release"),
    ("Harbor stores its events in PostgreSQL", "project-harbor", "tech"),
    ("Harbor's staging server is rebuilt every night at 02:00", "project-harbor", "ops"),
    ("We write short commit messages", "topic-style", "style"),
    ("Meetings are at ten on Tuesdays", "topic-meetings", "time"),
    ("Lunch is at noon", "topic-lunch", "time"),
    ("# Checklist\n\nBefore a release:\n\n1. run the `tests`\n2. tell **Bob**, see [the list](https://example.org)\n\n"
     "| step | who |\n|---|---|\n| build | Ana |", "project-harbor", "release"),
    ("A key of four hundred letters: " + "k" * 400, "topic-long", "long"),
]  # fmt: skip
RELATED = [
    ("Ana", "works_at", "Acme"), ("Bob", "works_at", "Acme"), ("Acme", "makes", "Harbor"), ("Ana", "knows", "Bob"),
    ("Harbor", "uses", "PostgreSQL"), ("Harbor", "runs_on", "Debian"), ("Acme", "is_in", "Berlin"),
]  # fmt: skip

ADDRESSES = {  # of every page there is, by a short name
    "home": "/", "search": "/search", "search-hits": "/search?q=what+does+Ana+drink",
    "search-nothing": "/search?q=the+weight+of+the+moon",
    "search-frame": "/search?q=when+is+the+release&frame=task&budget=200",
    "search-then": "/search?q=wifi+password&at={then}", "pages": "/pages", "page": "/pages/person-ana",
    "page-markdown": "/pages/project-harbor", "belief": "/beliefs/{belief}", "episode": "/episodes/{episode}",
    "timeline": "/timeline", "timeline-filtered": "/timeline?kind=belief", "event": "/timeline/3", "graph": "/graph",
    "graph-of-one": "/graph?at=Acme", "reviews": "/reviews", "review": "/reviews/{review}", "integrity": "/integrity",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Everything:
    """Where it is, and what in it has an address of its own."""

    folder: Path
    belief: str
    episode: str
    then: int  # an event after which something else was held
    reviews: tuple[str, ...]

    def address(self, name: str) -> str:
        """Where that page is."""
        named = {"belief": self.belief, "episode": self.episode, "then": self.then, "review": self.reviews[0]}
        return ADDRESSES[name].format(**named)


def made(folder: Path) -> Everything:
    """Write it there."""
    with Memory(folder) as m, m.batch():
        for text, about, tag in HELD:
            m.remember(text, about=about, tags=[tag])
        for subject, said, object_ in RELATED:
            m.remember(f"{subject} {said.replace('_', ' ')} {object_}", triple=(subject, said, object_))
        begun = datetime.now(UTC) - timedelta(days=2)
        episodes = [
            m.observe(
                f"Turn {turn}: let's ship Harbor on Friday, said Ana, and Bob agreed to test it.", session="standup",
                agent="planner" if turn % 2 else "ana", at=begun + timedelta(minutes=turn),
            )
            for turn in range(8)
        ]  # fmt: skip
    with Memory(folder) as m:
        board = m.remember("The wifi password is on the board", about="topic-office", key="wifi")
        wifi = m.revise(board.id, "The wifi password is at the front desk", reason="the board is gone")
        m.forget(m.remember("The printer is on the second floor").id, reason="it was sold")
        m.ledger.checkpoint()
    reviews = _asked_for(folder)
    with Memory(folder, by="web:1", trust="web") as m:
        m.remember("A blog says that Harbor is slow", about="project-harbor")
    return Everything(folder, wifi.id, episodes[3].id, board.seq, reviews)


def _asked_for(folder: Path) -> tuple[str, ...]:
    """What an agent wants to change, and may not by itself."""
    with Memory(folder, by="mcp:3f9a", trust="agent") as m:
        m.remember("Friday is too early for the release", about="project-harbor", agent="planner")
        for question, text in (("tea or coffee", "Ana prefers coffee over tea"), ("peanuts", "Bob likes peanuts")):
            with pytest.raises(NeedsApproval):
                m.revise(m.recall(question, k=1)[0].id, text, reason="said at lunch")
        with pytest.raises(NeedsApproval):
            m.forget(m.recall("commit messages", k=1)[0].id, reason="seems out of date")
        return tuple(proposal.id for proposal in m.reviews.waiting())
