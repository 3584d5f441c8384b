"""Alembic's environment for the index. Run by `migrate`, or from Alembic's command line with `-x db=PATH`."""

from __future__ import annotations

from alembic import context
from alembic.util import CommandError
from sqlalchemy import Connection

from tallystick.records.errors import TallystickError
from tallystick.stores.elfmem.migrate import opened
from tallystick.stores.elfmem.models import metadata as target_metadata


def is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Other tables in the same file are their owner's: never compared, never proposed for dropping."""
    return kind != "table" or name in target_metadata.tables


def run(connection: Connection) -> None:
    context.configure(
        connection=connection, target_metadata=target_metadata, render_as_batch=True, include_name=is_ours
    )
    context.run_migrations()


def print_sql() -> None:
    context.configure(dialect_name="sqlite", target_metadata=target_metadata, render_as_batch=True, literal_binds=True)
    with context.begin_transaction():
        context.run_migrations()


def run_from_the_command_line() -> None:
    path = context.get_x_argument(as_dictionary=True).get("db")
    if not isinstance(path, str):
        raise CommandError("no database given; name it before the command: alembic -x db=PATH ...")
    try:
        with opened(path) as connection:
            run(connection)
    except TallystickError as error:
        raise CommandError(str(error)) from error


given = context.config.attributes.get("connection")
if context.is_offline_mode():
    print_sql()
elif given is not None:
    run(given)
else:
    run_from_the_command_line()
