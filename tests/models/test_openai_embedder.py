"""A server that speaks OpenAI's embeddings: a real one, on this machine, that behaves well or badly."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np
import pytest

from tallystick.models.embedding import unit
from tallystick.models.http_client import Declined
from tallystick.models.openai_embedder import Endpoint
from tallystick.records.errors import Busy, Refused, TallystickError
from tests.models.server import DIMENSIONS, Say, Server, changed, says, send, serving, status, vector
from tests.refusals import refuses

KEY = "sk-live-0123456789abcdef"


@pytest.fixture
def waits() -> list[float]:
    """How long it would have waited between two attempts."""
    return []


@pytest.fixture
def endpoint(server: Server, waits: list[float]) -> Endpoint:
    return Endpoint(server.url, "some-model", key=KEY, dimensions=DIMENSIONS, sleep=waits.append, timeout=5)


def _expected(*texts: str) -> np.ndarray:
    return unit(np.array([vector(text) for text in texts]))


def test_texts_go_out_in_batches_and_come_back_in_order(server: Server) -> None:
    texts = [f"text {number}" for number in range(7)]
    rows = Endpoint(server.url + "/", "some-model", key=KEY + "\n", batch=3).embed(texts)  # as read from a file

    assert np.allclose(rows, _expected(*texts), atol=1e-6)
    assert [each.body["input"] for each in server.seen[1:]] == [texts[:3], texts[3:6], texts[6:]]
    assert {each.path for each in server.seen} == {"/v1/embeddings"}
    assert {each.headers["Authorization"] for each in server.seen} == {f"Bearer {KEY}"}


def test_an_answer_in_another_order_is_put_right_by_its_index(server: Server, endpoint: Endpoint) -> None:
    server.script = [changed(lambda answer: answer["data"].reverse())]

    assert np.allclose(endpoint.embed(["a", "b", "c"]), _expected("a", "b", "c"), atol=1e-6)


def test_blank_texts_are_not_sent_and_long_ones_are_cut(server: Server) -> None:
    rows = Endpoint(server.url, "m", dimensions=DIMENSIONS, longest=5).embed(["", "tea", " ", "a long text"])

    assert [each.body["input"] for each in server.seen] == [["tea", "a lon"]]
    assert not rows[[0, 2]].any()


def test_dimensions_are_learned_once_and_then_kept_to(server: Server) -> None:
    endpoint = Endpoint(server.url, "m")
    assert endpoint.identity.dimensions == DIMENSIONS
    assert endpoint.identity == endpoint.identity
    assert len(server.seen) == 1

    server.script = [changed(lambda answer: [each["embedding"].pop() for each in answer["data"]])]
    with refuses("unavailable", str(DIMENSIONS - 1), str(DIMENSIONS)):
        endpoint.embed(["tea"])


def test_the_key_of_an_identity_follows_address_model_and_dimensions_and_not_the_secret(server: Server) -> None:
    def key(**other: Any) -> str:
        given = {"url": server.url, "model": "m", "dimensions": 4} | other
        return Endpoint(given.pop("url"), given.pop("model"), **given).identity.key

    assert key() == key(key=KEY) == key(timeout=1, batch=2)
    others = [key(), key(model="n"), key(dimensions=5), key(url="https://elsewhere/v1"), key(longest=10)]
    assert len(set(others)) == len(others)


# -- a server that fails -----------------------------------------------------------------------------------------------


def test_a_server_that_is_busy_is_asked_again_as_late_as_it_wishes(
    server: Server, endpoint: Endpoint, waits: list[float]
) -> None:
    server.script = [
        status(429, Retry_After="7"),
        status(503),
        status(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
    ]

    assert np.allclose(endpoint.embed(["tea"]), _expected("tea"), atol=1e-6)
    assert waits == [7, 1, 2]


def test_a_server_that_asks_for_an_hour_is_not_waited_for_that_long(
    server: Server, endpoint: Endpoint, waits: list[float]
) -> None:
    server.script = [status(429, Retry_After="3600")]
    endpoint.embed(["tea"])

    assert waits == [30]


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504, 529])
def test_a_server_that_fails_forever_is_given_up_on(
    server: Server, endpoint: Endpoint, waits: list[float], code: int
) -> None:
    server.script = [status(code)] * 9

    with pytest.raises(Busy, match=f"/v1/embeddings.*{code}.*4"):
        endpoint.embed(["tea"])

    assert len(server.seen) == 4
    assert waits == [0.5, 1, 2]


def _slow(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    time.sleep(5)


def _dripping(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(999):  # until it is given up on: for more than a minute
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.07)


@pytest.mark.parametrize("say", [_slow, _dripping])
def test_a_server_that_is_too_slow_is_given_up_on_before_it_ends(
    server: Server, waits: list[float], say: Say
) -> None:
    endpoint = Endpoint(server.url, "m", dimensions=4, timeout=0.15, attempts=2, sleep=waits.append)
    ended: list[bool] = []
    server.script = [lambda *asked: (say(*asked), ended.append(True))[0]] * 2

    with pytest.raises(Busy, match=r"0\.15"):
        endpoint.embed(["tea"])

    assert ended == []


def _breaks_off(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data":')


def _hangs_up(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def _babbles(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    handler.wfile.write(f"no protocol at all {KEY}\r\n\r\n".encode())


@pytest.mark.parametrize("say", [_breaks_off, _hangs_up, _babbles])
def test_a_broken_connection_is_tried_again(server: Server, endpoint: Endpoint, say: Say) -> None:
    server.script = [say]

    assert np.allclose(endpoint.embed(["tea"]), _expected("tea"), atol=1e-6)
    assert len(server.seen) == 2


def test_nobody_at_the_address_is_said_plainly(waits: list[float]) -> None:
    with serving() as gone:
        url = gone.url
    with pytest.raises(Busy, match=rf"{url}.*\(2 attempts\)"):
        Endpoint(url, "m", dimensions=4, attempts=2, sleep=waits.append).embed(["tea"])


def test_a_redirect_is_not_followed_and_the_key_stays_here(server: Server, endpoint: Endpoint) -> None:
    with serving() as other:
        for code in (301, 302, 303, 307, 308):
            server.script = [status(code, Location=other.url + "/embeddings")]
            with refuses("unavailable", str(code)):
                endpoint.embed(["tea"])

        assert other.seen == []


# -- a server that says something else ---------------------------------------------------------------------------------


def _set(place: int, **fields: object) -> Say:
    return changed(lambda answer: answer["data"][place].update(fields))


@pytest.mark.parametrize(
    ("say", "reason"),
    [
        (changed(lambda answer: answer["data"].pop()), "2 vectors for 3 texts"),
        (changed(lambda answer: answer["data"].append(answer["data"][0])), "4 vectors for 3 texts"),
        (changed(lambda answer: answer.pop("data")), "no list called data"),
        (changed(lambda answer: answer.update(data=[1, 2, 3])), "no list called data"),
        (_set(1, index=0), "indexes"),
        (_set(1, index=3), "indexes"),
        (_set(1, index=True), "indexes"),
        (_set(1, index="1"), "indexes"),
        (changed(lambda answer: answer["data"][2].pop("index")), "indexes"),
        (changed(lambda answer: answer["data"][2].pop("embedding")), "vector 2 is not a list of numbers"),
        (_set(1, embedding=[]), "vector 1 is not a list of numbers"),
        (_set(1, embedding="AACAPwAAgD8="), "vector 1 is not a list of numbers"),
        (_set(1, embedding=["1.0"] * DIMENSIONS), "vector 1 is not a list of numbers"),
        (_set(1, embedding=[True] * DIMENSIONS), "vector 1 is not a list of numbers"),
        (_set(1, embedding=[None] * DIMENSIONS), "vector 1 is not a list of numbers"),
        (_set(1, embedding=[0.0] * DIMENSIONS), "vector 1 is all zeros"),
        (_set(1, embedding=[1.0] * 5), "differ in length"),
        (_set(1, embedding=[float("nan")] * DIMENSIONS), "something else than vectors"),
        (_set(1, embedding=[float("inf")] * DIMENSIONS), "something else than vectors"),
        (says('{"data": [{"index": 0, "embedding": [1e999]}]}'), "something else than vectors"),
        (says(""), "something else than vectors"),
        (says("<html>hello</html>"), "something else than vectors"),
        (says("[]"), "no list called data"),
        (says("[" * 100_000), "something else than vectors"),
    ],
)
def test_an_answer_that_is_not_what_was_asked_for_is_refused(
    server: Server, endpoint: Endpoint, say: Say, reason: str
) -> None:
    server.script = [say]

    with pytest.raises(Refused, match=reason) as refusal:
        endpoint.embed(["a", "b", "c"])

    assert "\n" not in str(refusal.value)
    assert len(server.seen) == 1  # asking again would not help


def _endless(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b" " * 65536)


def test_a_body_without_end_is_left_unread(server: Server, endpoint: Endpoint) -> None:
    server.script = [_endless]

    with refuses("unavailable", "1310720"):
        endpoint.embed(["tea"])


# -- the key -----------------------------------------------------------------------------------------------------------


def _echo(code: int) -> Say:
    def say(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        said = {"error": {"message": f"bad:\n {handler.headers['Authorization']}"}}
        send(handler, json.dumps(said).encode(), code)

    return say


@pytest.mark.parametrize(
    "say", [_echo(400), _echo(401), _echo(403), _echo(404), _echo(413), _echo(500), _babbles, says(KEY)]
)
def test_the_key_stands_in_no_error_and_no_log_even_if_the_server_echoes_it(
    server: Server, endpoint: Endpoint, say: Say, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script = [say] * 4

    with pytest.raises(TallystickError) as error:
        endpoint.embed(["tea"])

    out = capfd.readouterr()
    told = "".join(traceback.format_exception(error.value)) + caplog.text + out.out + out.err + repr(endpoint)
    assert KEY not in told
    assert "\n" not in str(error.value)


def test_a_refused_request_quotes_what_the_server_says(server: Server, endpoint: Endpoint) -> None:
    server.script = [status(404, '{"error":\n "model some-model not found, \x1b[31mpull it"}')]

    with pytest.raises(Declined, match=r"404.*model some-model not found, \[31mpull it"):
        endpoint.embed(["tea"])


def test_a_wrong_key_is_said_without_quoting_anybody(server: Server, endpoint: Endpoint) -> None:
    server.script = [status(401, '{"error": "Incorrect API key provided: sk-liv…cdef"}')]

    with refuses("unavailable", "401"):
        endpoint.embed(["tea"])


@pytest.mark.parametrize("key", ["sk\nX-Evil: 1", "sk-ü", "sk\x00"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key: str) -> None:
    with refuses("value", "key") as refusal:
        Endpoint("https://host/v1", "m", key=key)

    assert "sk" not in str(refusal.value)


def test_a_query_is_kept_and_not_shown(server: Server) -> None:
    endpoint = Endpoint(server.url + "?api-version=1&token=hush", "m", dimensions=4)
    server.script = [status(400)]

    with pytest.raises(Refused) as refusal:
        endpoint.embed(["tea"])

    assert server.seen[0].path == "/v1/embeddings?api-version=1&token=hush"
    assert "hush" not in str(refusal.value) + repr(endpoint)


def test_threads_that_come_first_learn_the_dimensions_together(server: Server) -> None:
    endpoint = Endpoint(server.url, "m")
    threads = [threading.Thread(target=lambda: endpoint.identity) for _ in range(6)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(server.seen) == 1
