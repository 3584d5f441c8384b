"""What is held and left out of recall because its source is not trusted, and what stands in its place meanwhile.

Asked only where somebody is distrusted: the index knows who said each version, and which was brought back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import orjson

from tallystick.projections.index import statements as sql
from tallystick.projections.index.rows import BACK, Source
from tallystick.records.belief import Belief
from tallystick.records.trust import Distrust

if TYPE_CHECKING:
    from tallystick.memory.core.index import IndexService
    from tallystick.stores.open_folder import OpenFolder


def withheld_among(folder: OpenFolder, index: IndexService, versions: Iterable[str], user: str) -> dict[str, Distrust]:
    """Which of these versions are withheld, and why. The caller has the ledger's turn."""
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
    """The versions that are shown again, because those that took their place are withheld."""
    asked = (orjson.dumps(list(refs)).decode(),)
    rows = index.read(lambda file: [Source(*row) for row in file.db.execute(sql.VERSIONS_OF_REFS, asked)])
    places = sorted(row.since_seq for row in rows if row.sight == BACK)
    events = (event for place in places for event in folder.ledger.events(place, place + 1))
    bodies = ((event, event.body["belief"]) for event in events if event.body and "belief" in event.body)
    return [Belief.from_body(body, event.seq, event.ts) for event, body in bodies]
