"""The health of `m.episodes` and `m.facts`, and their added columns.

A ledger is never rewritten: an added column is a key of the metadata that filters may name. It is recorded as
configuration, so that it is the same for everyone who opens the memory.
"""

from __future__ import annotations

import orjson

from tallystick.decide import sessions as decide
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.settings import unsafe_place
from tallystick.records.errors import MigrationNotSupported
from tallystick.records.event import Draft
from tallystick.records.health import ADD_COLUMN_ONLY, GOING_BACK, MigrationPlan, StoreHealth, columns_of
from tallystick.stores.open_folder import OpenFolder
from tallystick.stores.places import kind_of

_OWN = {  # the columns that each has from the start
    "episodes": {"id", "scope_key", "content", "timestamp", "metadata", "user", "session", "agent"},
    "facts": {"fact_id", "user", "agent", "payload", "lineage", "confidence", "metadata", "pinned_at"},
}


class EpisodeShape:
    """The shape of `episodes` or of `facts`."""

    def __init__(self, open_folder: OpenFolder, gate: WriteGate, table: str) -> None:
        self._folder, self._gate, self._table = open_folder, gate, table
        self._key = f"{table}.columns"

    def columns(self) -> list[str]:
        """The columns that were added, in order."""
        return self._recorded()[1]

    def health(self, count: int) -> StoreHealth:
        folder = self._folder
        warnings = [each for each in (unsafe_place(folder.root), str(self._folder.ledger.trouble or "")) if each]
        return StoreHealth(
            ok=self._folder.ledger.trouble is None, version=self._recorded()[0], fragment_count=count,
            fs_type=kind_of(folder.root) or "unknown", lock_state="held" if folder.is_held() else "free",
            warnings=warnings,
        )  # fmt: skip

    def migrate(self, plan: MigrationPlan) -> None:
        """Record the columns that a plan adds. The same plan again changes nothing; going back is not supported."""
        added = [column.name for column in columns_of(plan, table=self._table)]
        self._gate.must("config", "set")

        def decision() -> list[Draft]:
            version, columns = self._recorded()
            if plan.target_version == version and set(added) <= set(columns):
                return []
            if plan.target_version <= version:
                raise MigrationNotSupported(
                    f"{self._table} is at version {version} already; a plan leads to a later one", GOING_BACK
                )
            there = _OWN[self._table] | {name.lower() for name in columns}
            for name in added:
                if name.lower() in there:
                    raise MigrationNotSupported(f"there is a column {name!r} already", ADD_COLUMN_ONLY)
                there.add(name.lower())
            shape = orjson.dumps({"version": plan.target_version, "columns": [*columns, *added]}).decode()
            return decide.set_config(self._folder.state.work, self._key, shape)

        self._folder.ledger.write(decision)

    def _recorded(self) -> tuple[int, list[str]]:
        """The version and the added columns. A value that somebody set by hand and that makes no sense is ignored."""
        with self._folder.ledger.reading():
            said = self._folder.state.work.config.get(self._key, "")
        try:
            known = orjson.loads(said)
            return int(known["version"]), [str(name) for name in known["columns"]]
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return 1, []
