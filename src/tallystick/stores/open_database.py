"""An open ledger in a PostgreSQL database, by its address: `postgresql://user@host/database?ledger=NAME`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from tallystick.projections.tables.postgres import TablesInPostgres
from tallystick.records.errors import Refused
from tallystick.state.state import State
from tallystick.stores.open_ledger import OpenLedger

if TYPE_CHECKING:  # psycopg is loaded where a database is opened
    from tallystick.ledger.postgres.connection import Database

SCHEMES = ("postgresql", "postgres")
INSTALL = "pip install '.[postgres]' in a checkout"


def is_address(place: object) -> bool:
    """True if it is the address of a database, and not a path."""
    return isinstance(place, str) and place.partition("://")[0] in SCHEMES


def parts_of(address: str) -> tuple[str, str]:
    """The address of the database, and the name of the ledger in it. Refused, if it names none."""
    url = urlsplit(address)
    given = parse_qsl(url.query, keep_blank_values=True)
    names = [value for name, value in given if name == "ledger"]
    if len(names) != 1 or not names[0]:
        raise Refused("the address names no ledger; write it like postgresql://user@host/database?ledger=NAME", "name")
    rest = urlencode([(name, value) for name, value in given if name != "ledger"])
    return urlunsplit(url._replace(query=rest)), names[0]


class OpenDatabase(OpenLedger):
    """One open ledger of a database. Options are those of the ledger."""

    def __init__(
        self, address: str, key: str, *, zone: Callable[[], tzinfo] | None = None, database: Database | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        """`key` is the text of the key by which passes are signed. A `database` that is open already is used, and
        stays open: those who serve many ledgers share one."""
        try:
            from tallystick.ledger.postgres.connection import Database
            from tallystick.ledger.postgres.ledger import PostgresLedger
            from tallystick.ledger.postgres.passes import PassKey
        except ImportError as error:
            raise Refused(f"a memory in PostgreSQL needs the package psycopg: {INSTALL}", "unavailable") from error
        place, name = parts_of(address)
        self._database, self._is_own = database or Database(place, PassKey.parse(key)), database is None
        tables = TablesInPostgres()
        state = State(tables)
        try:
            ledger = PostgresLedger(self._database, name, state, tables, **options)
        except BaseException:
            self._close_database()
            raise
        super().__init__(ledger, state, tables, zone)

    def close(self) -> None:
        super().close()
        self._close_database()

    def _close_database(self) -> None:
        if self._is_own:
            self._database.close()
