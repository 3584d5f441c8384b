"""Making a database ready for memories, as its owner: the schema, the key of passes, a ledger. And sweeping it.

The key is among this user's signing keys. Whoever else is to open ledgers there needs it too; the database has only
what checks a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

from tallystick.ledger.disk import Disk, ensure_folder, write_new
from tallystick.ledger.postgres.address import parts_of, place_of
from tallystick.ledger.postgres.passes import PassKey
from tallystick.memory import settings
from tallystick.records.errors import NotFound
from tallystick.records.status import Sweep
from tallystick.stores import sweep as sweeping
from tallystick.stores.open_database import OpenDatabase, psycopg_needed

if TYPE_CHECKING:
    from tallystick.ledger.postgres.arrive import ArrivingLedger


@dataclass(frozen=True, slots=True)
class Prepared:
    """What `prepare` did."""

    place: str
    address: str  # by which programs open the ledger; with the password of their role, if that was made now
    has_password: bool  # that is known only here
    is_new: bool  # the ledger was made now


def prepare(address: str, *, by: str) -> Prepared:
    """Make a database ready, or bring it up to date, and make the ledger that its owner's address names."""
    with psycopg_needed():
        from tallystick.ledger.postgres.migrate import APP, prepare
    database, name = parts_of(address)
    key = _key_for(place_of(database))
    is_new, password = prepare(database, name, key)
    OpenDatabase(address, str(key), by=by).close()  # which records the first line, if it is new
    return Prepared(place_of(address), _for_programs(address, APP, password), bool(password), is_new)


@contextmanager
def arriving(address: str, ledger: str) -> Iterator[tuple[ArrivingLedger, Callable[[], str]]]:
    """The place in a database to which the ledger of that id is moved, and a function for the address by which programs
    open it then. If nothing is there, the address must be its owner's."""
    with psycopg_needed():
        from tallystick.ledger.postgres.arrive import ArrivingLedger
        from tallystick.ledger.postgres.connection import Database
        from tallystick.ledger.postgres.migrate import APP, prepare
    place, name = parts_of(address)
    key, password = _key_for(place_of(place)), ""

    def make() -> None:
        nonlocal password
        _, password = prepare(place, name, key, UUID(ledger))

    database = Database(place, key)
    try:
        yield ArrivingLedger(database, name, make), lambda: _for_programs(address, APP, password)
    finally:
        database.close()


def _for_programs(address: str, role: str, password: str) -> str:
    """The address by which programs open a ledger, with the password of their role, if it was made now."""
    url = urlsplit(address)
    who, host = f"{role}:{password}" if password else role, url.netloc.rpartition("@")[2]
    return urlunsplit(url._replace(netloc=f"{who}@{host}"))


def sweep(address: str, *, by: str, timeout: float = 60.0) -> Sweep:
    """Destroy in the files of a database what its ledgers have erased, or the one that the address names.

    Each ledger records it, if this user has the key of passes; else when somebody sweeps who has it.
    """
    place = place_of(address).partition("?")[0]
    try:
        key = settings.pass_key(place)
    except NotFound:
        key = ""
    return sweeping.sweep(address, key, by=by, timeout=timeout)


def _key_for(place: str) -> PassKey:
    """This user's key for that database, made on first use."""
    try:
        return PassKey.parse(settings.pass_key(place))
    except NotFound:
        path, key = settings.pass_key_path(place), PassKey.generate()
        ensure_folder(Disk(), path.parent)
        write_new(Disk(), path, f"{key}\n".encode())
        return key
