"""What was erased is in no file of the server after a sweep, and the ledger says when.

Words are looked for as they are. So they are random: what can be compressed would be, in large values and in WAL, and
would not be found. Each begins with two letters by which it is found in a file, too few to be compressed either. A long
value is cut into pieces of 2 KB, and a word in a few hundred with it: there are many in each text.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random

import psycopg
import pytest

from tallystick import Memory
from tallystick.decide import beliefs as decide
from tallystick.ledger.postgres import sweep as sweeping
from tallystick.records.errors import Busy, NotFound, Refused
from tallystick.records.status import UNREACHED
from tallystick.stores.open_database import OpenDatabase
from tallystick.stores.open_folder import OpenFolder
from tallystick.stores.sweep import sweep
from tests.conftest import SOAK
from tests.postgres.test_verify import copied, verified

ROLE = "tallystick_sweeper"
WORD = re.compile(rb"Zq[0-9A-Za-z]{14}")
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
random = Random()


class Marked:
    """A ledger of beliefs whose words can be found in files."""

    def __init__(self, cluster) -> None:
        self.cluster, self.name = cluster, cluster.new_ledger()
        self.opened = OpenDatabase(cluster.ledger_address(self.name), str(cluster.key))
        self.words = dict[str, set[bytes]]()  # of all versions, by key
        self.texts = dict[str, str]()

    @property
    def ledger(self):
        return self.opened.ledger

    def say(self, key: str, count: int = 20) -> None:
        """State it, or revise it."""
        words = ["Zq" + "".join(random.choices(LETTERS, k=14)) for _ in range(count)]
        self.texts[key] = " ".join(words)
        fields = {"key": key, "text": self.texts[key], "confidence": 0.5}
        self.ledger.write(lambda: decide.put(self.opened.state, fields, self.opened.draw()))
        self.words.setdefault(key, set()).update(word.encode() for word in words)

    def erase(self, *keys: str) -> set[bytes]:
        """Erase them, and return the words that are to go."""
        self.ledger.erase(lambda: decide.erase(self.opened.state, keys))
        for key in keys:
            del self.texts[key]
        return set().union(*(self.words.pop(key) for key in keys))

    def serves_the_rest(self) -> bool:
        with self.opened.known() as known:
            return sorted(held.belief().text for held in known.query(user="me")) == sorted(self.texts.values())

    def ends(self) -> list[dict]:
        return [event.body for event in self.opened.events() if event.op == "erase.done/1"]


@pytest.fixture
def marked(cluster) -> Iterator[Marked]:
    made = Marked(cluster)
    made.say("gone")
    made.say("kept")
    yield made
    made.opened.close()


@pytest.fixture(scope="module")
def address(cluster) -> Iterator[str]:
    """That of a role with the rights that the program asks for when it has none."""
    with cluster.owner() as db:
        db.execute(f"CREATE ROLE {ROLE} LOGIN")
        address = cluster.address("straight", user=ROLE)
        with pytest.raises(Refused, match="tallystick_owner, pg_monitor, pg_checkpoint.*pg_switch_wal") as refused:
            sweep(address)
        db.execute(str(refused.value).partition("run there: ")[2].encode())
        yield address
        db.execute(f"DROP OWNED BY {ROLE}; DROP ROLE {ROLE}")


def in_files(cluster, words: set[bytes], under: str = "") -> set[bytes]:
    """Those of the words that are in a file of the server."""
    with cluster.owner() as db:
        db.execute("CHECKPOINT")
    found = set[bytes]()
    for path in sorted((cluster.data / "cluster" / under).rglob("*")):
        if path.is_file():
            found |= words & set(WORD.findall(path.read_bytes()))
    return found


def test_after_a_sweep_no_file_has_what_was_erased_and_the_rest_is_served(cluster, address, tmp_path):
    sweep(address, str(cluster.key))  # what tests before have erased
    ledgers = [Marked(cluster) for _ in range(4)]
    for each in ledgers:
        for key in ("one", "two", "three"):
            each.say(key)
            each.say(key)  # the first version is in `state_past` now
        each.say("long", 400)
    gone = set().union(*(each.erase("one", "long") for each in ledgers[:3]))
    tables, wal = in_files(cluster, gone, "base"), in_files(cluster, gone, "pg_wal")
    assert len(tables) > 0.9 * len(gone)
    assert len(wal) > 0.9 * len(gone)

    done = sweep(address, str(cluster.key))
    assert (done.pending, done.trouble, len(done.destroyed)) == (0, "", 3)
    assert in_files(cluster, gone) == set()
    for each in ledgers:
        kept = set().union(*each.words.values())
        assert len(in_files(cluster, kept, "base")) > 0.9 * len(kept)
        assert each.serves_the_rest()
        assert verified(cluster, each.opened).ok
    assert sweep(address, str(cluster.key)).destroyed == (), "it is done once"

    [end], receipt = ledgers[0].ends(), done.destroyed[0]
    erased = next(event for event in ledgers[0].opened.events() if event.op == "erase/1")
    assert end == {"of": erased.seq, "hidden": erased.ts, "destroyed": receipt.destroyed, "unreached": list(UNREACHED)}
    assert receipt.hidden == erased.ts < receipt.destroyed
    assert ledgers[3].ends() == []
    (tmp_path / "events.wal").write_bytes(copied(cluster, ledgers[0].opened))
    folder = OpenFolder(tmp_path)
    assert folder.ledger.standing.dump() == ledgers[0].ledger.standing.dump()
    assert folder.ledger.trouble is None
    folder.close()
    for each in ledgers:
        each.opened.close()


class Killed(psycopg.OperationalError):
    """The connection is gone, and with it the process that had it."""


@contextmanager
def killed_at(monkeypatch, number: int):
    """A sweep that ends before its statement of that number."""
    rows, left = sweeping._Sweeping._rows, [number]

    def called(self, *values):
        left[0] -= 1
        if left[0] == 0:
            self._db.close()
            raise Killed("killed")
        return rows(self, *values)

    with monkeypatch.context() as patch:
        patch.setattr(sweeping._Sweeping, "_rows", called)
        yield lambda: left[0] <= 0


@pytest.mark.longer
def test_a_sweep_that_is_killed_anywhere_is_finished_by_the_next(cluster, address, marked, monkeypatch):
    number, times, was_killed = 1, 0, True
    while was_killed:
        number, times = number + (1 if SOAK else 4), times + 1
        marked.say("gone")
        gone = marked.erase("gone")
        with killed_at(monkeypatch, number) as was_reached:
            with suppress(Busy):
                sweep(address)
            was_killed = was_reached()
        with cluster.owner() as db:
            is_marked = db.execute("SELECT bool_and(destroyed IS NOT NULL) FROM tallystick.erasures").fetchone()
        if is_marked == (True,):
            assert in_files(cluster, gone) == set(), f"before statement {number}"
        else:
            assert marked.ledger.finish_erasing() == []
        assert sweep(address, str(cluster.key)).pending == 0
        assert in_files(cluster, gone) == set(), f"killed before statement {number}"
        assert len(marked.ends()) == times
    assert number > 20
    assert marked.serves_the_rest()
    assert verified(cluster, marked.opened).ok


def test_who_has_no_key_destroys_and_who_has_one_records_it(cluster, address, marked):
    gone = marked.erase("gone")
    done = sweep(address)
    assert (done.destroyed, done.pending, done.trouble) == ((), 1, "")
    assert in_files(cluster, gone) == set()
    assert marked.ends() == []
    [receipt] = marked.ledger.finish_erasing()
    assert (receipt.event, receipt.place) == (3, marked.ledger.place)
    assert marked.ledger.standing.erasing == {}
    assert marked.ledger.finish_erasing() == []
    assert sweep(address, str(cluster.key)).pending == 0
    assert len(marked.ends()) == 1


def test_two_who_record_it_at_once_record_it_once(cluster, address, marked, monkeypatch):
    marked.erase("gone")
    sweep(address)
    other = OpenDatabase(cluster.ledger_address(marked.name), str(cluster.key))
    locked = marked.ledger._writing_locked
    monkeypatch.setattr(marked.ledger, "_writing_locked", lambda: other.ledger.finish_erasing() and locked())
    assert marked.ledger.finish_erasing() == []
    assert len(marked.ends()) == 1
    other.close()


def test_a_ledger_that_cannot_be_written_keeps_no_other_from_its_record(cluster, address, marked):
    other = Marked(cluster)
    other.say("gone")
    marked.erase("gone")
    other.erase("gone")
    moved = "UPDATE tallystick.heads SET state = %s WHERE ledger = %s"
    with cluster.owner() as db:
        db.execute(moved, ("moved", marked.ledger.standing.ledger))
        done = sweep(address, str(cluster.key))
        assert [each.place for each in done.destroyed] == [other.ledger.place]
        assert (done.pending, marked.name in done.trouble) == (1, True)
        db.execute(moved, ("open", marked.ledger.standing.ledger))
    assert sweep(address, str(cluster.key)).pending == 0
    other.opened.close()


def test_one_ledger_is_swept_by_its_address(cluster, address, marked):
    other = Marked(cluster)
    other.say("gone")
    marked.erase("gone")
    other.erase("gone")
    assert len(sweep(f"{address}?ledger={marked.name}", str(cluster.key)).destroyed) == 1
    assert (len(marked.ends()), len(other.ends())) == (1, 0)
    assert len(sweep(address, str(cluster.key)).destroyed) == 1
    other.opened.close()


def filenodes(cluster) -> list:
    with cluster.owner() as db:
        return db.execute("SELECT relname, pg_relation_filenode(oid) FROM pg_class WHERE relnamespace ="
                          " 'tallystick'::regnamespace AND relkind = 'r' ORDER BY 1").fetchall()  # fmt: skip


def test_a_replication_slot_that_keeps_wal_is_named_and_nothing_is_recorded(cluster, address, marked):
    with cluster.owner() as db:
        db.execute("SELECT pg_create_physical_replication_slot('behind', true)")
        try:
            gone = marked.erase("gone")
            done = sweep(address, str(cluster.key), timeout=0.5)
            assert (done.destroyed, done.pending) == ((), 1)
            assert done.trouble == "WAL from before the rewrite is kept by the replication slot behind"
            assert in_files(cluster, gone, "pg_wal") != set()
            assert in_files(cluster, gone, "base") == set()
            assert marked.ends() == []
            rewritten = filenodes(cluster)
        finally:
            db.execute("SELECT pg_drop_replication_slot('behind')")
    assert len(sweep(address, str(cluster.key)).destroyed) == 1
    assert in_files(cluster, gone) == set()
    assert filenodes(cluster) == rewritten, "what was rewritten is not rewritten again"


def test_wal_that_a_setting_keeps_is_named(cluster, address, marked):
    with cluster.owner() as db:
        db.execute("ALTER SYSTEM SET wal_keep_size = '1GB'")
        db.execute("SELECT pg_reload_conf()")
        try:
            marked.erase("gone")
            done = sweep(address, str(cluster.key), timeout=0.5)
            assert done.trouble == "WAL from before the rewrite is kept by wal_keep_size"
        finally:
            db.execute("ALTER SYSTEM RESET wal_keep_size")
            db.execute("SELECT pg_reload_conf()")
    assert len(sweep(address, str(cluster.key)).destroyed) == 1


def test_a_transaction_that_still_sees_the_words_is_named_and_waited_for(cluster, address, marked):
    with cluster.owner() as db:
        db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        [(pid,)] = db.execute("SELECT pg_backend_pid() FROM tallystick.heads LIMIT 1").fetchall()
        gone = marked.erase("gone")
        done = sweep(address, str(cluster.key), timeout=0.5)
        assert done.trouble == f"removed rows are kept by the transaction of process {pid}"
        assert (done.pending, marked.ends()) == (1, [])
        db.execute("ROLLBACK")
        db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM tallystick.heads")  # it began after the erasure
        assert len(sweep(address, str(cluster.key), timeout=5).destroyed) == 1
        db.execute("ROLLBACK")
    assert in_files(cluster, gone) == set()


@pytest.mark.parametrize("locked", ["the partition", "a table of all ledgers"])
def test_a_table_that_is_in_use_is_named_and_the_next_sweep_rewrites_it(cluster, address, marked, monkeypatch, locked):
    monkeypatch.setattr(sweeping, "_LOCK_TIMEOUT", "100ms")
    other = Marked(cluster)
    while partition(cluster, other) == partition(cluster, marked):
        other.opened.close()
        other = Marked(cluster)
    other.say("gone")
    gone = marked.erase("gone") | other.erase("gone")
    table = partition(cluster, marked) if locked == "the partition" else "tallystick.settings"
    with cluster.owner() as db, db.transaction():
        db.execute("SET idle_in_transaction_session_timeout = '60s'")  # who waits without end is not waited for
        db.execute(f"LOCK TABLE {table} IN ACCESS SHARE MODE")
        done = sweep(address, str(cluster.key), timeout=0.5)
        assert done.trouble == f"removed rows are kept by those who use {table}"
    assert (len(marked.ends()), len(other.ends())) == (0, int(locked == "the partition"))
    assert sweep(address, str(cluster.key)).pending == 0
    assert in_files(cluster, gone) == set()
    other.opened.close()


def partition(cluster, marked) -> str:
    with cluster.owner() as db:
        return db.execute("SELECT tableoid::regclass::text FROM tallystick.events WHERE ledger = %s LIMIT 1",
                          (marked.ledger.standing.ledger,)).fetchone()[0]  # fmt: skip


def test_two_sweeps_at_once_record_each_erasure_once_while_others_write(cluster, address):
    ledgers, failures, are_done = [Marked(cluster) for _ in range(3)], [], threading.Event()
    for each in ledgers:
        each.say("gone")
    gone = set().union(*(each.erase("gone") for each in ledgers))

    def attempt(call) -> None:
        try:
            call()
        except BaseException as error:
            failures.append(error)

    def write(each: Marked) -> None:
        while not are_done.is_set():
            each.say(f"key-{len(each.texts)}")
            assert each.serves_the_rest()

    writers = [threading.Thread(target=attempt, args=(lambda each=each: write(each),)) for each in ledgers]
    sweeps = [threading.Thread(target=attempt, args=(lambda: sweep(address, str(cluster.key)),)) for _ in range(2)]
    for each in [*writers, *sweeps]:
        each.start()
    for each in sweeps:
        each.join()
    are_done.set()
    for each in writers:
        each.join()
    assert failures == []
    assert in_files(cluster, gone) == set()
    for each in ledgers:
        assert len(each.ends()) == 1
        assert len(each.texts) > 1
        assert each.serves_the_rest()
        assert verified(cluster, each.opened).ok
        each.opened.close()


@pytest.mark.parametrize(
    "right", ["tallystick_owner", "pg_monitor", "pg_checkpoint", "EXECUTE ON FUNCTION pg_switch_wal()"]
)
def test_a_right_that_is_missing_is_named(cluster, address, marked, right):
    marked.erase("gone")
    with cluster.owner() as db:
        db.execute(f"REVOKE {right} FROM {ROLE}")
        try:
            with pytest.raises(Refused, match=re.escape(right)) as refused:
                sweep(address)
            assert "\n" not in str(refused.value)
        finally:
            db.execute(f"GRANT {right} TO {ROLE}")
    assert len(sweep(address, str(cluster.key)).destroyed) == 1


def test_a_database_without_the_schema_a_pooler_and_an_address_that_is_none_are_refused(cluster, address):
    with pytest.raises(NotFound, match="tallystick init"):
        sweep(address.replace("straight", "postgres"))
    with pytest.raises(Busy, match="pooler"):  # a session's setting would stay in its connection
        sweep(cluster.address("pooled", user="postgres"))
    with pytest.raises(Refused, match="address"):
        sweep("nonsense")


def test_the_planners_statistics_keep_no_words(cluster, marked):
    tables = """FROM pg_class c JOIN pg_attribute l ON l.attrelid = c.oid AND l.attname = 'ledger'
        WHERE c.relnamespace = 'tallystick'::regnamespace AND c.relkind IN ('r', 'p')"""
    with cluster.owner() as db:
        db.execute("ANALYZE")
        seen = {name for (name,) in db.execute("SELECT DISTINCT attname FROM pg_stats WHERE schemaname = 'tallystick'")}
        asked = {name for (name,) in db.execute(
            f"SELECT a.attname FROM pg_attribute a WHERE a.attrelid IN (SELECT c.oid {tables}) AND a.attnum > 0"
            " AND coalesce(a.attstattarget, -1) <> 0 AND a.atttypid = ANY ('{bytea,text,json,jsonb,text[]}'::regtype[])"
        )}  # fmt: skip
    assert {"ledger", "tab", "seq"} <= seen
    assert not {"key", "value", "data", "head"} & seen
    assert asked <= {"name", "hash", "ts", "saved", "tables", "state", "tab", "note"}, "a column that may hold words"


def test_the_command_sweeps_and_says_what_it_has_come_to(cluster, address, marked, monkeypatch, tmp_path):
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("TALLYSTICK_PASS_KEY", raising=False)
    place = f"{address}?ledger={marked.name}"

    def run(*words: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, "-m", "tallystick", *words], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    assert run("sweep", place) == (0, "nothing to destroy\n")
    with cluster.owner() as db, db.transaction():
        db.execute("SELECT pg_current_xact_id()")
        gone = marked.erase("gone")
        status, said = run("sweep", place, "--wait", "0")
        assert status == 3
        assert "1 erasure not completed: removed rows are kept by" in said
        assert f"the transaction of process {db.info.backend_pid}" in said
    status, said = run("sweep", place)
    assert (status, "not recorded: this user has no pass key" in said) == (3, True)
    assert in_files(cluster, gone) == set()
    monkeypatch.setenv("TALLYSTICK_PASS_KEY", str(cluster.key))
    status, said = run("sweep", place)
    assert status == 0
    assert "not reached archive, backups, dumps, logs, orphans, standbys" in said
    assert len(marked.ends()) == 1
    assert run("sweep", str(tmp_path))[0] == 1


def test_an_erasure_says_that_it_needs_a_sweep(cluster, monkeypatch, tmp_path):
    monkeypatch.setenv("TALLYSTICK_PASS_KEY", str(cluster.key))
    for place, needs in ((cluster.ledger_address(cluster.new_ledger()), True), (tmp_path / "folder", False)):
        with Memory(place) as memory:
            memory.remember("Ana lives in Lisbon", key="home")
            assert memory.preview_erase("home").needs_sweep is needs
            assert memory.erase("home").needs_sweep is needs
