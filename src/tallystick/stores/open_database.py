"""An open ledger in a PostgreSQL database, by its address: `postgresql://user@host/database?ledger=NAME`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from tallystick.ledger.checkpoint import IN_DATABASE, Claim, brought_claim, claim_of, pinned
from tallystick.ledger.lock import Witness
from tallystick.ledger.postgres.address import parts_of
from tallystick.ledger.settings_file import parse_toml
from tallystick.projections.tables.postgres import TablesInPostgres
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.state.state import State
from tallystick.stores.open_ledger import OpenLedger, scratch

if TYPE_CHECKING:  # psycopg is loaded where a database is opened
    from tallystick.ledger.checkpoint import Keyring
    from tallystick.ledger.postgres.connection import Database
    from tallystick.ledger.postgres.ledger import PostgresLedger
    from tallystick.records.progress import Progress
    from tallystick.records.report import Report


@contextmanager
def psycopg_needed() -> Iterator[None]:
    """The context of what imports psycopg, which is an extra. Refused, if it is not installed."""
    try:
        yield
    except ImportError as error:
        how = "pip install '.[postgres]' in a checkout"
        raise Refused(f"a memory in PostgreSQL needs the package psycopg: {how}", "unavailable") from error


class OpenDatabase(OpenLedger):
    """One open ledger of a database. Options are those of the ledger."""

    settings: SettingsRow

    def __init__(
        self, address: str, key: str, *, zone: Callable[[], tzinfo] | None = None, database: Database | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        """`key` is the text of the key by which passes are signed. A `database` that is open already is used, and
        stays open: those who serve many ledgers share one."""
        with psycopg_needed():
            from tallystick.ledger.postgres.connection import Database
            from tallystick.ledger.postgres.ledger import PostgresLedger
            from tallystick.ledger.postgres.passes import PassKey
        self._address, (place, self._name) = address, parts_of(address)
        self._database, self._is_own = database or Database(place, PassKey.parse(key)), database is None
        tables = TablesInPostgres()
        state = State(tables)
        try:
            ledger = PostgresLedger(self._database, self._name, state, tables, scratch, **options)
        except BaseException:
            self._close_database()
            raise
        self.place, self.settings = ledger.place, SettingsRow(ledger)
        super().__init__(ledger, state, tables, zone)

    def outcome(self, request: str) -> list[Event] | None:
        return self.settings.ledger.outcome(request)

    def may_be_written(self) -> bool:
        return self.settings.ledger.is_open

    def again(self) -> OpenDatabase:
        return OpenDatabase(self._address, "", database=self._database, by=self.ledger.by)

    def verify(
        self, keyring: Keyring | None, brought: tuple[str, str], *,
        processes: int,  # noqa: ARG002
        on_progress: Progress | None,
    ) -> Report:  # fmt: skip
        from tallystick.ledger.postgres.verify import verify

        claims = self.claims(keyring) if keyring else []
        if brought[0]:
            claims.append(brought_claim(self.ledger.standing.ledger, keyring, *brought))
        return verify(self._database, self._name, checkpoints=claims, on_progress=on_progress)

    def claims(self, keyring: Keyring) -> list[Claim]:
        from tallystick.ledger.signed_note import NoteError

        ledger = self.ledger.standing.ledger
        found, verifier = list(pinned((ledger, keyring.ledger_at(self.place)), keyring)), keyring.verifier(ledger)
        for note in self.settings.ledger.checkpoints()[:1] if verifier else ():
            assert verifier is not None
            try:
                found.append(claim_of(verifier.open(note), IN_DATABASE, note=note))
            except NoteError as error:
                found.append(Claim(Witness(-1, "", name=IN_DATABASE), doubt=f"it cannot be trusted: {error}"))
        if self.ledger.moved_to():  # what is later was written there
            found = [each for each in found if each.witness.seq <= self.ledger.head.seq]
        return found

    def close(self) -> None:
        super().close()
        self._close_database()

    def _close_database(self) -> None:
        if self._is_own:
            self._database.close()


class SettingsRow:
    """The text of the settings in the database."""

    def __init__(self, ledger: PostgresLedger) -> None:
        self.ledger = ledger

    @property
    def place(self) -> str:
        return f"the settings of {self.ledger.place}"

    def version(self) -> object:
        return self.ledger.settings_version() or None

    def text(self) -> str:
        return self.ledger.read_settings() or ""

    def read(self) -> dict[str, Any] | None:
        text = self.ledger.read_settings()
        return None if text is None else parse_toml(text.encode())

    def replace(self, text: str) -> None:
        parse_toml(text.encode())
        self.ledger.write_settings(text)
