"""A memory and its pages, asked without a network: what a browser shows is in `tests/browser`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from tallystick import Memory, NeedsApproval
from tallystick.records.review import Review
from tallystick.surfaces.server.worker import MemoryWorker
from tallystick.surfaces.web.app import create_app

CSRF = "the-word-of-this-session"


class LetIn:
    """In place of the door: whoever asks is in, and has a word for forms."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["csrf"] = CSRF
        await self._app(scope, receive, send)


class Web(TestClient):
    """A browser without eyes. `m` says and asks beside it, as the person whose memory it is."""

    def __init__(self, m: Memory, **how: Any) -> None:
        self.m = m
        self._held = MemoryWorker(partial(Memory, m.folder, by="page:local", trust="human", **how))
        super().__init__(LetIn(create_app(self._held)), base_url="http://127.0.0.1:8722", raise_server_exceptions=True)

    def __exit__(self, *args: Any) -> None:
        super().__exit__(*args)
        asyncio.run(self._held.close())

    def page(self, address: str, **how: Any) -> Page:
        answer = self.get(address, **how)
        assert answer.status_code == 200, (address, answer.status_code, answer.text[:600])
        return Page(answer.text)

    def say(self, address: str, *, follow: bool = True, **fields: str) -> Any:
        return self.post(address, data={"csrf": CSRF, **fields}, follow_redirects=follow)


class Page(HTMLParser):
    """A page as a browser would take it apart: its tags with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html, self.tags, self._text = html, list[tuple[str, dict[str, str | None]]](), list[str]()
        self._silent = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._silent += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._text.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self._text)).strip()

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            found for name, found in self.tags
            if name == tag and all(found.get(key) == value for key, value in wanted.items())
        ]  # fmt: skip

    @property
    def links(self) -> list[str]:
        return [str(found["href"]) for found in self.all("a")]

    @property
    def forms(self) -> list[str]:
        """Where its forms that write lead."""
        return [str(form["action"]) for form in self.all("form", method="post") if form["action"] != "/logout"]


def asks(m: Memory, kind: str, name: str, *said: str, **more: str) -> Review:
    """What an agent asks for, which waits."""
    with Memory(m.folder, by="mcp:3f9a", trust="agent") as agent, pytest.raises(NeedsApproval):
        getattr(agent, kind)(name, *said, **more)
    return m.reviews.waiting()[-1]


def spoil(m: Memory, old: bytes, new: bytes) -> None:
    """Close it, and change what is on its disk."""
    m.close()
    wal = m.folder / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(old, new))


@pytest.fixture
def m(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory") as memory:
        yield memory


@pytest.fixture
def web(m: Memory) -> Iterator[Web]:
    with Web(m) as client:
        yield client
