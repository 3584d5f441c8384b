"""An empty index, through either client, and one that follows a ledger."""

import pytest
from sqlalchemy import event

from tallystick.stores.elfmem.models import metadata
from tests.projections.index.clients import AsyncClient, SyncClient
from tests.projections.index.ledgers import Told


@pytest.fixture(scope="session", params=[SyncClient, AsyncClient], ids=["sync", "async"])
def client(request):
    client = request.param()
    yield client
    client.close()


@pytest.fixture
def index(client):
    """Emptied, which is quicker than making another."""
    yield client
    client.run(lambda conn: [conn.execute(table.delete()) for table in reversed(metadata.sorted_tables)])


@pytest.fixture
def told():
    made = Told()
    yield made
    made.index.close()


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
