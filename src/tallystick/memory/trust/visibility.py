"""What recall may serve of the active beliefs, and what replaces those of a distrusted source meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import orjson

from tallystick.decide.trust import is_in_doubt
from tallystick.projections.index import statements as sql
from tallystick.projections.index.rows import BACK, Source
from tallystick.records.belief import Belief
from tallystick.records.clock import held_time
from tallystick.records.trust import Distrust
from tallystick.state.state import State
from tallystick.state.version import CurrentVersion

if TYPE_CHECKING:
    from tallystick.memory.core.index import IndexService
    from tallystick.stores.open_folder import OpenFolder


def is_shown(known: State, held: CurrentVersion, body: dict[str, Any], now: str) -> bool:
    """Whether a belief is not quarantined, of a trusted source, and not expired. `body` is its content."""
    if is_in_doubt(known, body.get("trust", "human"), body["id"]):
        return False
    if "expires" in body and held_time(body["expires"]) <= now:
        return False
    against = known.distrusts.against(
        held.user, by=held.by, seq=held.seq, agent=body.get("agent", ""), session=body.get("session", ""),
        trust=body.get("trust", "human"),
    )  # fmt: skip
    return against is None


def withheld_among(folder: OpenFolder, index: IndexService, versions: Iterable[str], user: str) -> dict[str, Distrust]:
    """Which of these versions have a distrusted source, and which. The caller has the ledger's turn."""
    against = folder.state.distrusts.of(user)
    if not against:
        return {}
    asked = (orjson.dumps(list(versions)).decode(),)
    rows = index.read(lambda file: [Source(*row) for row in file.db.execute(sql.SOURCES, asked)])
    found = {}
    for row in rows:
        said = {"by": row.by, "agent": row.agent, "session": row.session, "trust": row.trust}
        if why := next((each for each in against if each.covers(seq=row.since_seq, **said)), None):
            found[row.id] = why
    return found


def brought_back(folder: OpenFolder, index: IndexService, refs: Iterable[str]) -> list[Belief]:
    """The versions that are recalled again, because those that replaced them are withheld."""
    asked = (orjson.dumps(list(refs)).decode(),)
    rows = index.read(lambda file: [Source(*row) for row in file.db.execute(sql.VERSIONS_OF_REFS, asked)])
    places = sorted(row.since_seq for row in rows if row.sight == BACK)
    events = (event for place in places for event in folder.ledger.events(place, place + 1))
    bodies = ((event, event.body["belief"]) for event in events if event.body and "belief" in event.body)
    return [Belief.from_body(body, event.seq, event.ts) for event, body in bodies]
