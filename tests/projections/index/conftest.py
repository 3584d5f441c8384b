"""An empty index, through either door."""

import pytest
from sqlalchemy import event

from tallystick.stores.elfmem.models import metadata
from tests.projections.index.doors import AsyncDoor, SyncDoor


@pytest.fixture(scope="session", params=[SyncDoor, AsyncDoor], ids=["sync", "async"])
def door(request):
    door = request.param()
    yield door
    door.close()


@pytest.fixture
def index(door):
    """Emptied, which is quicker than made anew."""
    yield door
    door.run(lambda conn: [conn.execute(table.delete()) for table in reversed(metadata.sorted_tables)])


@pytest.fixture
def said(index):
    """Every statement that is sent to the database, with the values that are bound to it."""
    sent = []

    def listen(_conn, _cursor, sql, values, _context, _many):
        sent.append((sql, values))

    engine = getattr(index.engine, "sync_engine", index.engine)
    event.listen(engine, "before_cursor_execute", listen)
    yield sent
    event.remove(engine, "before_cursor_execute", listen)
