"""Making a database ready for memories, as its owner: the schema, the key of passes, a ledger. And sweeping it.

The key is among this user's signing keys. Whoever else is to open ledgers there needs it too; the database has only
what checks a pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from tallystick.ledger.disk import Disk, ensure_folder, write_new
from tallystick.ledger.postgres.address import parts_of, place_of
from tallystick.ledger.postgres.passes import PassKey
from tallystick.memory import settings
from tallystick.records.errors import NotFound, Refused
from tallystick.records.status import Sweep
from tallystick.stores import sweep as sweeping
from tallystick.stores.open_database import INSTALL, OpenDatabase


@dataclass(frozen=True, slots=True)
class Prepared:
    """What `prepare` did."""

    place: str
    address: str  # by which programs open the ledger; with the password of their role, if that was made now
    has_password: bool  # that is known only here
    is_new: bool  # the ledger was made now


def prepare(address: str, *, by: str) -> Prepared:
    """Make a database ready, or bring it up to date, and make the ledger that its owner's address names."""
    try:
        from tallystick.ledger.postgres.migrate import APP, prepare
    except ImportError as error:
        raise Refused(f"a memory in PostgreSQL needs the package psycopg: {INSTALL}", "unavailable") from error
    database, name = parts_of(address)
    key = _key_for(place_of(database))
    is_new, password = prepare(database, name, key)
    OpenDatabase(address, str(key), by=by).close()  # which records the first line, if it is new
    url = urlsplit(address)
    who, host = f"{APP}:{password}" if password else APP, url.netloc.rpartition("@")[2]
    programs = urlunsplit(url._replace(netloc=f"{who}@{host}"))
    return Prepared(place_of(address), programs, bool(password), is_new)


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
