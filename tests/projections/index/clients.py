"""The two clients of the index: one suite runs over both.

A client offers every query by name, each call in a transaction of its own: `client.insert_block(block_id=…)`.
"""

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

from sqlalchemy import Connection, Select, StaticPool, create_engine

from tallystick.stores.elfmem import queries, rows
from tallystick.stores.elfmem.engine import create_test_engine, prepare
from tallystick.stores.elfmem.models import metadata

ROWS: dict[str, FunctionType] = {
    name: function
    for name, function in vars(rows).items()
    if inspect.isfunction(function) and function.__module__ == rows.__name__ and not name.startswith("_")
    and "conn" in inspect.signature(function).parameters  # the others check what is given
}  # fmt: skip


class Taken(Exception):
    """Raised to have a transaction taken back."""


class Client:
    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self.call, name)

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """One query, in a transaction of its own."""
        return self.calls([(name, args, kwargs)])[0]

    def undone(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        """One query, in a transaction that is rolled back."""
        try:
            self.calls([(name, args, kwargs)], then_raise=True)
        except Taken:
            return

    def calls(self, many: list[Any], *, then_raise: bool = False) -> list[Any]:
        raise NotImplementedError

    def run(self, function: Callable[[Connection], Any]) -> Any:
        """`function` of a synchronous connection, in a transaction."""
        raise NotImplementedError

    def rows(self, query: Select[Any]) -> list[dict[str, Any]]:
        return self.run(lambda conn: [dict(row) for row in conn.execute(query).mappings()])

    def close(self) -> None:
        raise NotImplementedError

    def block(self, block_id: str, content: str = "x", **more: Any) -> str:
        """Put a block without ado."""
        self.call("insert_block", block_id=block_id, content=content, category="knowledge", source="api", **more)
        return block_id


class SyncClient(Client):
    def __init__(self) -> None:
        self.engine = create_engine("sqlite://", poolclass=StaticPool)
        prepare(self.engine)
        metadata.create_all(self.engine)

    def calls(self, many: list[Any], *, then_raise: bool = False) -> list[Any]:
        with self.engine.begin() as conn:
            found = [ROWS[name](conn, *args, **kwargs) for name, args, kwargs in many]
            if then_raise:
                raise Taken
            return found

    def run(self, function: Callable[[Connection], Any]) -> Any:
        with self.engine.begin() as conn:
            return function(conn)

    def close(self) -> None:
        self.engine.dispose()


class AsyncClient(Client):
    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.engine = self.runner.run(create_test_engine())

    def calls(self, many: list[Any], *, then_raise: bool = False) -> list[Any]:
        async def go() -> list[Any]:
            async with self.engine.begin() as conn:
                found = [await getattr(queries, name)(conn, *args, **kwargs) for name, args, kwargs in many]
                if then_raise:
                    raise Taken
                return found

        return self.runner.run(go())

    def run(self, function: Callable[[Connection], Any]) -> Any:
        async def go() -> Any:
            async with self.engine.begin() as conn:
                return await conn.run_sync(function)

        return self.runner.run(go())

    def close(self) -> None:
        self.runner.run(self.engine.dispose())
        self.runner.close()
