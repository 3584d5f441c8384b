"""One function for two kinds of connection.

A query is written once, as a function of a `Connection`. Lifted, it takes an `AsyncConnection` and is awaited. Its
name, arguments, defaults and docstring stay, for a type checker and for `inspect.signature` alike.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

Query = Callable[Concatenate[Connection, P], R]


class Lifted(Protocol[P, R]):
    """A query to be awaited."""

    def __call__(self, conn: AsyncConnection, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]: ...


def lift(query: Query[P, R]) -> Lifted[P, R]:
    """`query`, for an `AsyncConnection`."""

    async def lifted(conn: AsyncConnection, *args: P.args, **kwargs: P.kwargs) -> R:
        return await conn.run_sync(query, *args, **kwargs)

    update_wrapper(lifted, query)
    signature = inspect.signature(query)
    conn, *rest = signature.parameters.values()
    parameters = [conn.replace(annotation="AsyncConnection"), *rest]
    lifted.__annotations__ = {**query.__annotations__, conn.name: "AsyncConnection"}
    lifted.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return lifted
