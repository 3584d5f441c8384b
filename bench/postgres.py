"""What a memory in PostgreSQL costs, against bare inserts of the same lines into the same server, in one run.

    python bench/postgres.py [--ledgers 1000] [--many 10000] [--beliefs 100000]

The server is the bench's own, and syncs what it commits. Bare is a table with the same key and the same bytes: one
INSERT for each line, by a statement that is prepared, and its COMMIT. Clients are processes of their own, and each has
a ledger; the lines of an append go to so many ledgers in turn. Where there are many of them, each is opened for one
write and closed again, as one process does that serves all of them over a few connections.

Without PostgreSQL and pgbouncer it says so, and ends.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from uuid import uuid4

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import Row, at_least, at_most, in_turns, options_of, per, report, sized

from tallystick import Memory
from tallystick.decide import beliefs, episodes
from tallystick.ledger.postgres.connection import Database
from tallystick.ledger.postgres.migrate import create_ledger
from tallystick.records.episode import Episode
from tallystick.records.event import Draft
from tallystick.stores.open_database import OpenDatabase
from tests.postgres.cluster import Cluster, Unavailable

LEDGERS, MANY, FEW = sized(1_000, 4), sized(10_000, 8), sized(10, 2)
BELIEFS, SOME = sized(100_000, 40), sized(1_000, 10)
COUNT, GROUP = sized(100, 3), 10  # writes in a round, and lines in a transaction
BATCH = sized(20_000, 20)

Work = Callable[[], int | None]
_THEN = datetime(2026, 5, 20, tzinfo=UTC)
_fork = multiprocessing.get_context("fork")


def said(number: int) -> str:
    return f"Person {number % 97} keeps {number} things in room {number % 53}, and will not move them before spring"


def noop(number: int) -> Draft:
    """An event that changes nothing in the state: of its write, the chain is all."""
    return Draft("delta.noop/1", {"user": "me", "step": {"rule_id": "bench", "sources": []}, "why": said(number)})


def episode(number: int) -> Episode:
    return Episode(content=said(number), timestamp=_THEN)


class Server:
    """A server with ledgers in it, and a table for bare lines."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.key = cluster, str(cluster.key)
        os.environ["TALLYSTICK_PASS_KEY"] = self.key
        with cluster.owner() as db:
            db.execute(
                "CREATE TABLE bare (ledger uuid, seq bigint, head bytea NOT NULL, data bytea NOT NULL,"
                " PRIMARY KEY (ledger, seq))"
            )

    def new_ledgers(self, many: int) -> list[str]:
        """The addresses of so many new ledgers."""
        names = [f"bench-{uuid4()}" for _ in range(many)]
        with self.cluster.owner() as db:
            db.execute("SET synchronous_commit = off")
            for name in names:
                create_ledger(db, name, self.cluster.key)
        return [self.cluster.ledger_address(name) for name in names]

    @contextmanager
    def database(self, options: str = "") -> Iterator[Database]:
        """A pool of connections."""
        database = Database(self.cluster.address("straight") + options, self.cluster.key)
        try:
            yield database
        finally:
            database.close()

    def filling(self) -> Database:
        """Connections for what is not measured: they do not wait for the disk."""
        return self.database("?options=-c%20synchronous_commit%3Doff")

    def line(self, draft: Draft) -> tuple[bytes, bytes]:
        """The two parts of a line, as they are kept."""
        opened = OpenDatabase(self.new_ledgers(1)[0], self.key)
        [event] = opened.ledger.append([draft])
        line = opened.ledger.line(event.seq)
        opened.close()
        return line.slice, line.data


class Bare:
    """Lines inserted by hand, to so many chains in turn."""

    def __init__(self, server: Server, chains: int, line: tuple[bytes, bytes]) -> None:
        self.db = psycopg.connect(server.cluster.address("straight", user="postgres"), autocommit=True)
        self.chains, self.line, self.numbers = [uuid4() for _ in range(chains)], line, count()

    def insert(self) -> None:
        for _ in range(COUNT):
            number = next(self.numbers)
            self.db.execute(
                "INSERT INTO bare VALUES (%b, %b, %b, %b)", (self.chains[number % len(self.chains)], number, *self.line)
            )


# -- lines alone -------------------------------------------------------------------------------------------------------


def appending(server: Server, ledgers: int) -> Iterator[Row]:
    numbers, line = count(), server.line(noop(0))
    with server.database() as database:
        opened = [OpenDatabase(address, "", database=database) for address in server.new_ledgers(ledgers)]

        def append(lines: int) -> None:
            for _ in range(COUNT):
                number = next(numbers)
                opened[number % ledgers].ledger.append([noop(number)] * lines)

        bare = Bare(server, ledgers, line)
        ours, raw, ratio = in_turns(lambda: append(1), bare.insert)
        yield at_least(f"a line, at {ledgers:,} ledgers", per(ours, COUNT), per(raw, COUNT), ratio, 0.6)
        ours, raw, ratio = in_turns(lambda: append(GROUP), bare.insert)
        what = f"lines by {GROUP} in a transaction, to one by one"
        grouped = COUNT * GROUP
        yield at_least(f"{what} barely", per(ours, grouped), per(raw, COUNT), ratio * GROUP, 3.5)
        ours, raw, ratio = in_turns(lambda: append(GROUP), lambda: append(1))
        yield at_least(what, per(ours, grouped), per(raw, COUNT), ratio * GROUP, 3.5)


# -- clients -----------------------------------------------------------------------------------------------------------


class Clients:
    """Processes that do the same work at the same time, each on its own connections."""

    def __init__(self, many: int, make: Callable[[int], Mapping[str, Work]]) -> None:
        self._ends = []
        for number in range(many):
            ours, theirs = _fork.Pipe()
            _fork.Process(target=self._serve, args=(theirs, make, number), daemon=True).start()
            self._ends.append(ours)

    @staticmethod
    def _serve(orders: object, make: Callable[[int], Mapping[str, Work]], number: int) -> None:
        work = make(number)
        while name := orders.recv():
            orders.send(work[name]())

    def do(self, name: str) -> list[int | None]:
        """What each of them returns."""
        for end in self._ends:
            end.send(name)
        return [end.recv() for end in self._ends]

    def leave(self) -> None:
        for end in self._ends:
            end.send("")


def observing(server: Server, clients: int, goal: float) -> Row:
    addresses = server.new_ledgers(clients)
    line = server.line(Draft("episode.put/1", {"episode": episode(0).to_body()}))

    def make(number: int) -> Mapping[str, Work]:
        memory, bare, numbers = Memory(addresses[number], embedder="none"), Bare(server, 1, line), count()

        def observe() -> None:
            for _ in range(COUNT):
                memory.observe(said(next(numbers)))

        return {"ours": observe, "bare": bare.insert}

    group = Clients(clients, make)
    for each in ("ours", "bare"):
        group.do(each)  # connections are made, and statements prepared
    ours, raw, ratio = in_turns(lambda: group.do("ours"), lambda: group.do("bare"))
    group.leave()
    what, each = f"observe, {clients} client{'s' * (clients > 1)}", clients * COUNT
    return at_least(what, per(ours, each), per(raw, each), ratio, goal)


# -- sizes -------------------------------------------------------------------------------------------------------------


class Desk:
    """A process that serves whichever ledger is asked for: it is opened for one write."""

    def __init__(self, server: Server, database: Database, addresses: Sequence[str]) -> None:
        self.addresses, self.numbers = addresses, count()
        self._key, self._database = server.key, database

    def observe(self, many: int = COUNT) -> None:
        for number in islice(self.numbers, many):
            address = self.addresses[number * 7919 % len(self.addresses)]
            self._observe(OpenDatabase(address, self._key, database=self._database), episode(number))

    def _observe(self, opened: OpenDatabase, each: Episode) -> None:
        opened.ledger.write(lambda: episodes.put(opened.state.episodes, each))
        opened.close()


def many_ledgers(server: Server, many: int) -> Iterator[Row]:
    addresses = server.new_ledgers(many)
    with server.filling() as database:
        Desk(server, database, addresses).observe(many)
    with server.database() as database:
        large, small = Desk(server, database, addresses), Desk(server, database, addresses[:FEW])
        small.observe()
        ours, bare, ratio = in_turns(large.observe, small.observe)
        what = f"an episode in one of {many:,} ledgers, to one of {FEW}"
        yield at_most(what, per(ours, COUNT), per(bare, COUNT), 1 / ratio, 1.4)
    held = Clients(1, lambda _: _holding(server, addresses))
    sizes = [held.do(name) for name in ("few", "many")]
    held.leave()
    what = f"resident memory after {many:,} ledgers, to {FEW}"
    yield at_most(what, *(f"{size / 1e6:,.1f} MB" for [size] in sizes[::-1]), sizes[1][0] / sizes[0][0], 1.3)


def _holding(server: Server, addresses: Sequence[str]) -> Mapping[str, Work]:
    """What the process holds after it has served a few ledgers, and after all of them."""
    database = Database(server.cluster.address("straight"), server.cluster.key)

    def serve(some: Sequence[str]) -> int:
        Desk(server, database, some).observe(max(COUNT, len(some)))
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    return {"few": lambda: serve(addresses[:FEW]), "many": lambda: serve(addresses)}


class Beliefs:
    """A ledger of so many beliefs, open."""

    def __init__(self, server: Server, size: int) -> None:
        [address], self.size, self.numbers = server.new_ledgers(1), size, count()
        with server.filling() as database:
            self.opened = OpenDatabase(address, "", database=database)
            while (start := next(self.numbers)) < size:
                with self.opened.ledger.batch():
                    self._put(start, key=start)
                    for number in islice(self.numbers, min(BATCH, size - start) - 1):
                        self._put(number, key=number)
        self.opened = OpenDatabase(address, server.key)

    def _put(self, number: int, key: int) -> None:
        fields = {"text": said(number), "key": f"key-{key}"}
        self.opened.ledger.write(lambda: beliefs.put(self.opened.state, fields, self.opened.draw()))

    def remember(self) -> None:
        for number in islice(self.numbers, COUNT):
            self._put(number, key=number)

    def revise(self) -> None:
        for number in islice(self.numbers, COUNT):
            self._put(number, key=number * 7919 % self.size)


def many_beliefs(server: Server, many: int) -> Iterator[Row]:
    large, small = Beliefs(server, many), Beliefs(server, SOME)
    for what, work in (("a new belief", Beliefs.remember), ("a belief replaced", Beliefs.revise)):
        ours, bare, ratio = in_turns(lambda work=work: work(large), lambda work=work: work(small))
        what = f"{what} in a ledger of {many:,}, to {SOME:,}"
        yield at_most(what, per(ours, COUNT), per(bare, COUNT), 1 / ratio, 1.3)
    large.opened.close()
    small.opened.close()


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--ledgers", type=int, default=LEDGERS)
    options.add_argument("--many", type=int, default=MANY)
    options.add_argument("--beliefs", type=int, default=BELIEFS)
    chosen = options.parse_args()
    try:
        cluster = Cluster(is_durable=True)
    except Unavailable as why:
        print(f"nothing was measured: {why}")
        return
    with ExitStack() as stack, tempfile.TemporaryDirectory() as home:
        stack.callback(cluster.stop)
        os.environ |= {"HOME": home, "XDG_CONFIG_HOME": home}
        server = Server(cluster)
        rows = [*appending(server, chosen.ledgers), observing(server, 1, 0.35), observing(server, 4, 0.2)]
        rows += [*many_ledgers(server, chosen.many), *many_beliefs(server, chosen.beliefs)]
    report(rows)


if __name__ == "__main__":
    main()
