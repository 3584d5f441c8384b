"""A plan adds columns that may be empty; anything else is refused, with a reason a program can read."""

import pytest

from tallystick.records.errors import MigrationNotSupported
from tallystick.records.health import ADD_COLUMN_ONLY, NON_NULLABLE, MigrationPlan, StoreHealth, columns_of

GOOD = {"op": "add_column", "name": "mood", "type": "text", "nullable": True}


def plan(**more):
    return MigrationPlan(target_version=2, operations=[{**GOOD, **more}])


def test_a_column_is_what_the_plan_says():
    [column] = columns_of(plan(table="episodes"), table="episodes")
    assert (column.table, column.name, column.type) == ("episodes", "mood", "TEXT")
    short = {"op": "add_column", "column": "n", "nullable": True}
    [column] = columns_of(MigrationPlan(target_version=2, operations=[short]), table="facts")
    assert (column.name, column.type) == ("n", "TEXT")
    assert columns_of(MigrationPlan(target_version=2), table="facts") == []


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [({"op": "drop_column"}, ADD_COLUMN_ONLY), ({"op": None}, ADD_COLUMN_ONLY), ({"nullable": False}, NON_NULLABLE),
     ({"nullable": 1}, NON_NULLABLE), ({"nullable": None}, NON_NULLABLE), ({"name": ""}, ADD_COLUMN_ONLY),
     ({"name": "a b"}, ADD_COLUMN_ONLY), ({"name": "x\n"}, ADD_COLUMN_ONLY), ({"name": "é"}, ADD_COLUMN_ONLY),
     ({"name": "x" * 64}, ADD_COLUMN_ONLY), ({"name": 5}, ADD_COLUMN_ONLY),
     ({"type": "INTEGER NOT NULL"}, ADD_COLUMN_ONLY), ({"type": "TEXT; DROP TABLE x"}, ADD_COLUMN_ONLY),
     ({"table": "other"}, ADD_COLUMN_ONLY)],
)  # fmt: skip
def test_anything_else_is_refused_with_its_reason(wrong, reason):
    with pytest.raises(MigrationNotSupported) as refusal:
        columns_of(plan(**wrong), table="episodes")
    assert refusal.value.reason == reason


def test_a_stores_health_can_be_sent():
    assert StoreHealth(ok=True, version=1, fs_type="ext4", lock_state="free").to_dict()["warnings"] == []
