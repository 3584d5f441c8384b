"""The seven tables of the first index: as `models` has them, until a second revision changes those."""

from __future__ import annotations

from alembic import op
from alembic.util import CommandError
from sqlalchemy.schema import CreateIndex, CreateTable

from tallystick.stores.elfmem.models import metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in metadata.sorted_tables:
        op.execute(CreateTable(table))
        for index in sorted(table.indexes, key=lambda each: str(each.name)):
            op.execute(CreateIndex(index))


def downgrade() -> None:
    raise CommandError("0001 is the first revision; remove the file instead")
