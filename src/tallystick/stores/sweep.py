"""Sweeping a database: what was erased in its ledgers is destroyed in its files, and each ledger records that."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from tallystick.ledger.postgres.address import parts_of
from tallystick.records.errors import TallystickError
from tallystick.records.status import Destruction, Sweep
from tallystick.stores.open_database import OpenDatabase, psycopg_needed

if TYPE_CHECKING:
    from tallystick.ledger.postgres.connection import Database


def sweep(address: str, key: str = "", *, by: str = "cli:local", timeout: float = 60.0) -> Sweep:
    """Sweep the database of an address, or the one ledger that it names, waiting for others so long in all.

    Without the `key` of passes nothing is recorded: `PostgresLedger.finish_erasing` does that wherever it is known.
    """
    with psycopg_needed():
        from tallystick.ledger.postgres import sweep as files
        from tallystick.ledger.postgres.connection import Database
        from tallystick.ledger.postgres.passes import PassKey
    place, name = parts_of(address) if "ledger=" in address.partition("?")[2] else (address, "")
    pass_key = PassKey.parse(key) if key else None
    swept = files.sweep(place, ledger=name, timeout=timeout)
    done, trouble = list[Destruction](), [swept.trouble] if swept.trouble else []
    if pass_key and swept.destroyed:
        database = Database(place, pass_key)
        try:
            for each in list(swept.destroyed):
                try:
                    done += _record(f"{place}{'&' if '?' in place else '?'}ledger={quote(each)}", key, by, database)
                    del swept.destroyed[each]
                except TallystickError as error:  # that of one ledger does not keep others from theirs
                    trouble.append(str(error))
        finally:
            database.close()
    return Sweep(tuple(done), swept.hidden + sum(swept.destroyed.values()), "; ".join(trouble))


def _record(address: str, key: str, by: str, database: Database) -> list[Destruction]:
    from tallystick.ledger.postgres.ledger import PostgresLedger

    opened = OpenDatabase(address, key, database=database, by=by)
    try:
        assert isinstance(opened.ledger, PostgresLedger)
        return opened.ledger.finish_erasing()
    finally:
        opened.close()
