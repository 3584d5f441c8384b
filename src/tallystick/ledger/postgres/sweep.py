"""The sweep: destroying in the files of a database what its ledgers have erased.

An erasure hides its words in the transaction that records it. The files still have them: in dead rows, in WAL, and in
WAL files that are kept to be written over. A sweep rewrites the partitions that have such words, notes where WAL ends
then, and waits until no file has WAL from before that. Only then is an erasure marked as destroyed.

It also removes the keys of requests that nobody asks about any more: those of more than a week ago.

A mark is made after what it says is done, so a sweep may be killed anywhere, and two may run at once: the next one
does what is not marked. What is kept from it by others (a long transaction, a replication slot) is said, and done by a
later one.

Whoever sweeps needs no pass, and cannot record anything in a ledger: programs do (`PostgresLedger.finish_erasing`). It
is a member of `tallystick_owner`, with the rights that `_RIGHTS` names, and connects past any pooler.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict

from tallystick.ledger.postgres.migrate import OWNER
from tallystick.records.errors import Busy, NotFound, NotWritable, Refused

_LOCK_TIMEOUT = "2s"  # others wait behind a lock that is waited for; autovacuum gives way after 1 s
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
# Tables without words, or whose words no erasure removes. What is not named here is rewritten.
_WITHOUT_WORDS = ["ledgers", "heads", "requests", "checkpoints", "erasures"]

_RIGHTS = {  # what to grant, and whether it is granted
    f"{OWNER}, pg_monitor, pg_checkpoint": " AND ".join(
        f"pg_has_role('{role}', 'USAGE')" for role in (OWNER, "pg_monitor", "pg_checkpoint")
    ),
    "EXECUTE ON FUNCTION pg_switch_wal()": "has_function_privilege('pg_switch_wal()', 'EXECUTE')",
}
# The tables to rewrite for each erasure: of a table with partitions, the one of that ledger. LSNs beyond the end of WAL
# are those of another server, from which the rows came in a dump.
_TO_REWRITE = """
WITH tables AS (
  SELECT c.oid, c.relkind FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'ledger'
  WHERE c.relnamespace = 'tallystick'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relname <> ALL (%s)
), parts AS (
  SELECT t.oid AS parent, i.inhrelid AS part, regexp_match(
    pg_get_expr(c.relpartbound, c.oid), 'modulus (\\d+), remainder (\\d+)', 'i')::int[] AS bound
  FROM tables t JOIN pg_inherits i ON i.inhparent = t.oid JOIN pg_class c ON c.oid = i.inhrelid
), pending AS (
  SELECT e.ledger, e.seq, e.last_xid FROM tallystick.erasures e JOIN tallystick.ledgers n USING (ledger)
  WHERE e.destroyed IS NULL AND (e.rewritten IS NULL OR e.rewritten > pg_current_wal_insert_lsn())
    AND %s IN ('', n.name)
)
SELECT array(
  SELECT oid::regclass::text FROM tables WHERE relkind = 'r'
  UNION ALL SELECT part::regclass::text FROM parts
    WHERE satisfies_hash_partition(parent, bound[1], bound[2], ledger) ORDER BY 1
), array_agg(ledger), array_agg(seq), least(max(last_xid), pg_snapshot_xmax(pg_current_snapshot()))::xid::text
FROM pending GROUP BY 1 ORDER BY 1"""
# Who may still see rows that this transaction has removed: a rewrite keeps them.
_SEEING = """
SELECT 'the transaction of process ' || pid FROM pg_stat_activity
  WHERE pid <> pg_backend_pid() AND (datname = current_database() OR datid IS NULL)
    AND backend_type <> 'autovacuum worker' AND greatest(age(backend_xid), age(backend_xmin)) >= age(%(xid)s::xid)
UNION ALL SELECT 'the prepared transaction ' || gid FROM pg_prepared_xacts
  WHERE database = current_database() AND age(transaction) >= age(%(xid)s::xid)
UNION ALL SELECT 'the replication slot ' || slot_name FROM pg_replication_slots WHERE age(xmin) >= age(%(xid)s::xid)
UNION ALL SELECT 'vacuum_defer_cleanup_age' WHERE current_setting('vacuum_defer_cleanup_age', true) > '0'"""
# The names of WAL files, without their timeline: they are in the order of what is in them.
_FILES = "SELECT substr(name, 9, 16) AS file FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}(\\.partial)?$'"
_KEEPING = """
SELECT 'the replication slot ' || slot_name FROM pg_replication_slots
  WHERE substr(pg_walfile_name(restart_lsn), 9) <= %(file)s
UNION ALL SELECT 'wal_keep_size' FROM pg_settings WHERE name = 'wal_keep_size' AND setting <> '0'
UNION ALL SELECT 'an archiver that is behind' WHERE current_setting('archive_mode') <> 'off'
  AND EXISTS (SELECT FROM pg_ls_archive_statusdir() WHERE name LIKE '%%.ready')"""

_OLD_REQUESTS = "DELETE FROM tallystick.requests WHERE at < now() - interval '7 days'"
_FILE = "substr(pg_walfile_name(rewritten), 9)"
_REWRITTEN = """
UPDATE tallystick.erasures e SET rewritten = pg_current_wal_insert_lsn()
FROM unnest(%s::uuid[], %s::bigint[]) AS u (ledger, seq) WHERE e.ledger = u.ledger AND e.seq = u.seq"""
_COUNTED = """
SELECT n.name, count(e.destroyed), count(*) FILTER (WHERE e.destroyed IS NULL)
FROM tallystick.erasures e JOIN tallystick.ledgers n USING (ledger) WHERE %s IN ('', n.name) GROUP BY 1 ORDER BY 1"""


class Swept(NamedTuple):
    """What a sweep has come to."""

    destroyed: dict[str, int]  # erasures that are destroyed and not recorded, by the ledger's name
    hidden: int  # erasures that are not destroyed yet
    trouble: str  # why they are not


def sweep(address: str, *, ledger: str = "", timeout: float = 60.0) -> Swept:
    """Destroy what was erased in a database, or in the ledger of that name, waiting for others so long in all.

    Refused without the rights. Busy, if the server does not answer.
    """
    try:
        place = "{host}/{dbname}".format(**{"host": "localhost", "dbname": "", **conninfo_to_dict(address)})
    except psycopg.ProgrammingError:
        raise Refused("not the address of a database; write it like postgresql://user@host/name", "name") from None
    settings = f"-c lock_timeout={_LOCK_TIMEOUT} -c statement_timeout=0"  # a pooler refuses them
    try:
        with psycopg.connect(address, autocommit=True, options=settings) as db:
            return _Sweeping(db, place, ledger, timeout).run()
    except psycopg.Error as error:
        why = str(error).strip().partition("\n")[0]
        raise Busy(f"the sweep of {place} has not finished: {why}; sweep again, past any pooler") from error


class _Sweeping:
    """One sweep, on a connection of its own."""

    def __init__(self, db: psycopg.Connection, place: str, ledger: str, timeout: float) -> None:
        self._db, self._place, self._ledger = db, place, ledger
        self._until = time.monotonic() + timeout

    def run(self) -> Swept:
        self._must_be_allowed()
        self._rows(_OLD_REQUESTS)
        trouble = [*self._rewrite_tables(), *self._discard_wal()]
        found = self._rows(_COUNTED, (self._ledger,))
        hidden = sum(row[2] for row in found)
        return Swept({name: done for name, done, _ in found if done}, hidden, "; ".join(trouble) if hidden else "")

    def _rows(self, statement: str, values: Sequence[object] | dict[str, object] = ()) -> list[tuple[Any, ...]]:
        cursor = self._db.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def _names(self, statement: str, **values: object) -> list[str]:
        return [name for (name,) in self._rows(statement, values)]

    def _is(self, statement: str, values: Sequence[object] = ()) -> bool:
        return self._rows(statement, values) == [(True,)]

    def _wait(self, obstacles: Callable[[], list[str]]) -> list[str]:
        """Wait until there are none, or time is up, and return those that there are. It is tried at least once."""
        pause = _FIRST_PAUSE
        while (found := obstacles()) and time.monotonic() + pause < self._until:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return found

    def _must_be_allowed(self) -> None:
        [(is_standby, has_schema, role)] = self._rows(
            "SELECT pg_is_in_recovery(), EXISTS (SELECT FROM pg_class WHERE relname = 'erasures'"
            " AND relnamespace = to_regnamespace('tallystick')), quote_ident(current_user)"
        )
        if is_standby:
            raise NotWritable(f"{self._place} is a standby; sweep its primary")
        if not has_schema:
            raise NotFound(f"{self._place} lacks this version's schema; run `tallystick init` with its address")
        missing = [right for right, is_granted in _RIGHTS.items() if not self._is(f"SELECT {is_granted}")]
        if missing:
            grants = "; ".join(f"GRANT {right} TO {role}" for right in missing)
            raise Refused(f"{role} may not sweep {self._place}; as a superuser, run there: {grants}", "permission")

    # -- tables ------------------------------------------------------------------------------------------------------

    def _rewrite_tables(self) -> list[str]:
        """Rewrite those that have words, and return what was in the way of others."""
        trouble, fresh = list[str](), set[str]()
        pending = self._rows(_TO_REWRITE, (_WITHOUT_WORDS, self._ledger))
        self._rows("SELECT pg_current_xact_id()")  # an idle server's snapshots are later ones from now on
        for tables, ledgers, seqs, xid in pending:
            why = self._wait(partial(self._names, _SEEING, xid=xid))
            for table in tables:
                if not why and table not in fresh and not (why := self._wait(partial(self._rewrite, table))):
                    fresh.add(table)
            if why:
                trouble.append(f"removed rows are kept by {', '.join(why)}")
            else:
                self._rows(_REWRITTEN, (ledgers, seqs))
        return list(dict.fromkeys(trouble))

    def _rewrite(self, table: str) -> list[str]:
        [(was,)] = self._rows("SELECT pg_relation_filenode(%s::regclass)", (table,))
        try:
            self._rows(f"VACUUM (FULL) {table}")
        except (pg.LockNotAvailable, pg.DeadlockDetected):
            return [f"those who use {table}"]
        if self._rows("SELECT pg_relation_filenode(%s::regclass)", (table,)) == [(was,)]:  # it has only warned
            return [f"{table}, which was not rewritten"]
        return []

    # -- WAL ---------------------------------------------------------------------------------------------------------

    def _discard_wal(self) -> list[str]:
        """Mark the erasures of whose words no WAL is left, and return what is in the way of others."""
        [(last,)] = self._rows(f"SELECT max({_FILE}) FROM tallystick.erasures WHERE destroyed IS NULL")
        if last is None:
            return []
        oldest = ""

        def obstacles() -> list[str]:
            nonlocal oldest
            self._rows("CHECKPOINT")
            [(oldest,)] = self._rows(f"SELECT min(file) FROM ({_FILES}) files")
            if oldest > last:
                return []
            return self._names(_KEEPING, file=last) or ["the server"]

        self._next_file()
        why = self._wait(obstacles)
        is_older = f"destroyed IS NULL AND {_FILE} < %s"
        if self._is(f"SELECT EXISTS (SELECT FROM tallystick.erasures WHERE {is_older})", (oldest,)):
            self._overwrite_recycled()
            self._rows(f"UPDATE tallystick.erasures SET destroyed = clock_timestamp() WHERE {is_older}", (oldest,))
        return [f"WAL from before the rewrite is kept by {', '.join(why)}"] if why else []

    def _overwrite_recycled(self) -> None:
        """Write over the files that are there to be used next: they have what they had under an earlier name."""
        [(newest,)] = self._rows(f"SELECT max(file) FROM ({_FILES}) files")
        while self._is("SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 9) <= %s", (newest,)):
            self._next_file()
            self._rows("CHECKPOINT")  # the server keeps as many files as there were between two of them

    def _next_file(self) -> None:
        """Fill the current file of WAL with zeros."""
        self._rows("SELECT pg_current_xact_id()")  # it writes something: an empty file is not left
        self._rows("SELECT pg_switch_wal()")
