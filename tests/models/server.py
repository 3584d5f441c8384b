"""A real server on this machine that speaks OpenAI's embeddings, and misbehaves on request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 12

Say = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


@dataclass
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Server:
    url: str
    seen: list[Seen] = field(default_factory=list)
    script: list[Say] = field(default_factory=list)  # what to say to the next requests; then it behaves


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Numbers that depend on the text alone."""
    digest = sha256(text.encode()).digest() * (dimensions // 32 + 1)
    return [byte / 64 - 2.01 for byte in digest[:dimensions]]


def answer_for(body: dict[str, Any]) -> dict[str, Any]:
    dimensions = body.get("dimensions", DIMENSIONS)
    rows = [
        {"object": "embedding", "index": place, "embedding": vector(text, dimensions)}
        for place, text in enumerate(body["input"])
    ]
    return {"object": "list", "data": rows, "model": body["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def well(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    send(handler, json.dumps(answer_for(body)).encode())


def status(code: int, said: str = "{}", **headers: str) -> Say:
    return lambda handler, _: send(handler, said.encode(), code, **headers)


def says(text: str) -> Say:
    return lambda handler, _: send(handler, text.encode())


def changed(change: Callable[[dict[str, Any]], object]) -> Say:
    """The right answer with one thing wrong."""

    def say(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        answer = answer_for(body)
        change(answer)
        send(handler, json.dumps(answer).encode())

    return say


@contextmanager
def serving() -> Iterator[Server]:
    known = Server("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known.seen.append(Seen(self.path, dict(self.headers), body))
            say = known.script.pop(0) if known.script else well
            with suppress(BrokenPipeError, ConnectionResetError):  # whoever asked has gone
                say(self, body)

        def do_GET(self) -> None:
            known.seen.append(Seen(self.path, dict(self.headers), {}))
            send(self, b"{}")

        def log_message(self, *_: object) -> None:
            pass

    class Many(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64  # or a ninth thread waits a second to be let in

    httpd = Many(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    known.url = f"http://127.0.0.1:{httpd.server_address[1]}/v1"
    try:
        yield known
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
