"""The schema in the database: making it, bringing it up to date, and the owner's acts: keys of passes, new ledgers.

The parts of `schema.sql` are applied in order, each once, in one transaction and one process at a time. A database that
has more parts than this program knows was made by a newer one: it is read, and not written.

Whoever calls this is a member of `tallystick_owner`, or may create roles. Programs connect as `tallystick_app`, or as
a role that is a member of it.
"""

from __future__ import annotations

import re
import secrets
from importlib.resources import files
from uuid import UUID, uuid4

import psycopg

from tallystick.ledger import format as fmt
from tallystick.ledger.postgres.address import place_of
from tallystick.ledger.postgres.connection import reason
from tallystick.ledger.postgres.passes import PassKey
from tallystick.records.errors import Busy, NotFound, NotWritable, Refused

OWNER, APP = "tallystick_owner", "tallystick_app"
OLDEST = 150000  # PostgreSQL 15
_LOCK = 0x7A11_5712
_NAME = re.compile(r"[^\0/?#]{1,200}\Z")
_PART = re.compile(r"^-- part (\d+)\n", re.MULTILINE)


def prepare(address: str, name: str, key: PassKey, arriving: UUID | None = None) -> tuple[bool, str]:
    """As the owner, make a database ready for programs with this key, and a ledger in it unless it is there.

    One that is `arriving` has an id already, and is opened when it has its lines. Whether it is new, and the password
    of the programs' role, if that was made now.
    """
    place = place_of(address)
    try:
        with psycopg.connect(address, autocommit=True, connect_timeout=10) as db:
            is_known = db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (APP,)).fetchone()
            migrate(db)
            password = "" if is_known else secrets.token_urlsafe(18)
            if password:
                db.execute(f"ALTER ROLE {APP} PASSWORD '{password}'".encode())  # of letters, digits, - and _
            add_key(db, key)
            if is_new := not has_ledger(db, name):
                create_ledger(db, name, key, arriving, is_open=arriving is None)
            return is_new, password
    except psycopg.errors.InsufficientPrivilege as error:
        raise Refused(f"{place} refuses this: {reason(error)}; name its owner in the address", "permission") from error
    except psycopg.OperationalError as error:
        raise Busy(f"{place} cannot be reached: {reason(error)}; check the address, or try again") from error


def has_ledger(db: psycopg.Connection, name: str) -> bool:
    """Whether there is a ledger of that name."""
    with db.transaction():
        _be_owner(db)
        return db.execute("SELECT 1 FROM ledgers WHERE name = %s", (name,)).fetchone() is not None


def parts() -> dict[int, str]:
    """The parts of the schema by their number."""
    text = files(__package__).joinpath("schema.sql").read_text("utf-8")
    _, *found = _PART.split(text)
    return {int(number): sql for number, sql in zip(found[::2], found[1::2], strict=True)}


def migrate(db: psycopg.Connection) -> list[int]:
    """Apply the parts that are missing, and return their numbers. Doing it twice is the same as doing it once."""
    if db.info.server_version < OLDEST:
        raise Refused(f"PostgreSQL {db.info.server_version // 10000} is too old; 15 or newer is needed", "unsupported")
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        for role, how in ((OWNER, "NOLOGIN NOBYPASSRLS"), (APP, "LOGIN NOBYPASSRLS NOCREATEDB NOCREATEROLE")):
            if db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
                db.execute(f"CREATE ROLE {role} {how}".encode())
        if not _may_be_owner(db):
            db.execute(f"GRANT {OWNER} TO CURRENT_USER".encode())
        db.execute(f"CREATE SCHEMA IF NOT EXISTS tallystick AUTHORIZATION {OWNER}".encode())
        _be_owner(db)
        db.execute("CREATE TABLE IF NOT EXISTS schema_parts (part integer PRIMARY KEY, at timestamptz DEFAULT now())")
        db.execute(f"GRANT SELECT ON schema_parts TO {APP}".encode())
        known, done = parts(), {part for (part,) in db.execute("SELECT part FROM schema_parts").fetchall()}
        if done - known.keys():
            raise NotWritable("the schema of this database is a newer tallystick's; upgrade tallystick")
        missing = sorted(known.keys() - done)
        for part in missing:
            db.execute(known[part].encode())
            db.execute("INSERT INTO schema_parts (part) VALUES (%s)", (part,))
        return missing


def _may_be_owner(db: psycopg.Connection) -> bool:
    """Since PostgreSQL 16 whoever makes a role is its member, and may not act as it before granting that as well."""
    how = "SET" if db.info.server_version >= 160000 else "MEMBER"
    row = db.execute("SELECT pg_has_role(current_user, %s, %s)", (OWNER, how)).fetchone()
    return row is not None and bool(row[0])


def _be_owner(db: psycopg.Connection) -> None:
    """Until the transaction ends."""
    db.execute(f"SET LOCAL ROLE {OWNER}".encode())
    db.execute("SET LOCAL search_path = tallystick")


def add_key(db: psycopg.Connection, key: PassKey) -> None:
    """Accept passes that this key signs. Adding it twice is the same as adding it once."""
    with db.transaction():
        _be_owner(db)
        db.execute(
            "INSERT INTO pass_keys (id, inner_pad, outer_pad) VALUES (%s, %s, %s)"
            " ON CONFLICT (id) DO UPDATE SET inner_pad = excluded.inner_pad, outer_pad = excluded.outer_pad",
            (key.id, *key.pads()),
        )


def drop_key(db: psycopg.Connection, name: str) -> None:
    """Accept no pass of a key any more."""
    with db.transaction():
        _be_owner(db)
        db.execute("DELETE FROM pass_keys WHERE id = %s", (name,))


def create_ledger(
    db: psycopg.Connection, name: str, key: PassKey, ledger: UUID | None = None, *, is_open: bool = True
) -> UUID:  # fmt: skip
    """Make an empty ledger of that name, and return its id. Refused, if the name or the id is taken."""
    if not _NAME.match(name):
        raise Refused(f"not a name of a ledger: {name!r:.80}; it has 1 to 200 characters, none of /, ? and #", "name")
    made = ledger or uuid4()
    try:
        with db.transaction():
            row = db.execute("SELECT session_user, extract(epoch FROM clock_timestamp())::bigint").fetchone()
            assert row is not None
            _be_owner(db)
            db.execute("SELECT enter(%s, %s)", (made, key.sign(str(made), row[0], row[1] + 60)))
            db.execute("INSERT INTO ledgers (name, ledger) VALUES (%s, %s)", (name, made))
            db.execute(
                "INSERT INTO heads (ledger, seq, hash, ts, bytes, saved, shape, tables, state)"
                " VALUES (%s, -1, %s, '', 0, '', 0, '{}', %s)", (made, fmt.ZERO, "open" if is_open else "arriving"),
            )  # fmt: skip
    except psycopg.errors.UniqueViolation:
        raise Refused(f"there is a ledger {name!r:.80}, or one with its id, already", "exists") from None
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedFunction, psycopg.errors.UndefinedObject):
        raise NotFound("this database has no tallystick schema; run `tallystick init` with its address") from None
    return made
