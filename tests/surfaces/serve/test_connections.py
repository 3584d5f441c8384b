"""Connections to a real `tallystick serve`: the silent lock nobody out, and no request is ambiguous."""

import json
import resource
import socket
from contextlib import ExitStack

import pytest

from tests.serving import serving

SILENT = 1100


@pytest.fixture(scope="module")
def served(tmp_path_factory, warm_program):
    folder = tmp_path_factory.mktemp("served") / "notes"
    folder.mkdir()
    (folder / "tallystick.toml").write_text('[recall]\nembedder = "none"\n')
    with serving(folder, program=warm_program) as server:
        yield server


def connected(served):
    return socket.create_connection(("127.0.0.1", served.port), timeout=120)


def exchange(served, *parts):
    """All that comes back for these bytes until the server closes the connection; None if it leaves it open."""
    with connected(served) as line:
        line.settimeout(1.5)
        for part in parts:
            line.sendall(part)
        found = b""
        try:
            while piece := line.recv(1 << 16):
                found += piece
        except TimeoutError:
            return None
        return found


def request(served, *headers, first="POST /v1/remember HTTP/1.1", end="\r\n", body=b"", key=True):
    own = [f"Host: 127.0.0.1:{served.port}"] + [f"Authorization: Bearer {served.token}"] * key
    return end.join((first, *own, *headers, "", "")).encode("latin-1") + body


@pytest.fixture
def many_files():
    """This process may have more files open than there are silent connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = SILENT + 200
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip("this user may not open that many files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("said", ["", "POST /login HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 9\r\n\r\n"])
def test_the_owner_is_answered_while_a_thousand_connections_say_nothing(served, many_files, said):
    with ExitStack() as stack:
        for _ in range(SILENT):
            line = stack.enter_context(connected(served))
            line.sendall(said.format(served.port).encode())
        for path in ("/healthz", "/v1/status"):
            status, _, body = served.ask(f"GET {path}", f"Authorization: Bearer {served.token}")
            assert status == 200, (path, body)


def test_a_client_that_is_at_work_is_not_closed_for_those_who_say_nothing(served, many_files):
    with connected(served) as stream, stream.makefile("rb") as coming:
        stream.sendall(request(served, first="GET /v1/events/stream HTTP/1.1"))
        assert b" 200 " in coming.readline()
        with ExitStack() as stack:
            for _ in range(SILENT):
                stack.enter_context(connected(served))
            say = json.dumps({"text": "Ana moved to Bergen"}).encode()
            headers = (f"Authorization: Bearer {served.token}", "Content-Type: application/json")
            assert served.ask("POST /v1/remember", *headers, body=say)[0] in (200, 201)
            assert any(b"belief.put" in coming.readline() for _ in range(60))


CHUNKED, SIZED = "Transfer-Encoding: chunked", "Content-Length: 2"

AMBIGUOUS = {
    "a length and chunks": ((SIZED, CHUNKED), b"2\r\n{}\r\n0\r\n\r\n"),
    "chunks and a length": ((CHUNKED, SIZED), b"2\r\n{}\r\n0\r\n\r\n"),
    "two lengths": ((SIZED, "Content-Length: 3"), b"{} "),
    "a length twice": ((SIZED, SIZED), b"{}"),
    "a list of lengths": (("Content-Length: 2, 3",), b"{} "),
    "a length with a sign": (("Content-Length: +2",), b"{}"),
    "two encodings": ((CHUNKED, CHUNKED), b"2\r\n{}\r\n0\r\n\r\n"),
    "another encoding": (("Transfer-Encoding: identity, chunked",), b"0\r\n\r\n"),
    "a folded header": ((SIZED, "X-A: a", " b"), b"{}"),
    "a header folded with a tab": ((SIZED, "X-A: a", "\tContent-Length: 9"), b"{}"),
    "a space before the colon": (("Content-Length : 2",), b"{}"),
    "no name": ((SIZED, ": a"), b"{}"),
    "a NUL": ((SIZED, "X-A: a\0b"), b"{}"),
    "a bare CR": ((SIZED, "X-A: a\rContent-Length: 9"), b"{}"),
    "a bare LF": ((SIZED, "X-A: a\nX-B: b"), b"{}"),
    "a size that is no number": ((CHUNKED,), b"x\r\n{}\r\n0\r\n\r\n"),
    "a size with a prefix": ((CHUNKED,), b"0x2\r\n{}\r\n0\r\n\r\n"),
    "a size with a sign": ((CHUNKED,), b"+2\r\n{}\r\n0\r\n\r\n"),
    "a size with a space": ((CHUNKED,), b"2 \r\n{}\r\n0\r\n\r\n"),
    "no size": ((CHUNKED,), b"\r\n{}\r\n0\r\n\r\n"),
    "an enormous size": ((CHUNKED,), b"f" * 17 + b"\r\n{}\r\n0\r\n\r\n"),
    "a chunk longer than its size": ((CHUNKED,), b"2\r\n{}x\r\n0\r\n\r\n"),
    "a chunk that ends in a bare LF": ((CHUNKED,), b"2\r\n{}\n0\r\n\r\n"),
    "a trailer that ends in a bare LF": ((CHUNKED,), b"2\r\n{}\r\n0\r\n\n"),
    "a folded trailer": ((CHUNKED,), b"2\r\n{}\r\n0\r\nX-A: a\r\n b\r\n\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("key", [True, False])
@pytest.mark.parametrize("what", AMBIGUOUS)
def test_a_request_that_can_be_read_in_two_ways_is_refused_and_the_connection_closed(served, what, key):
    headers, body = AMBIGUOUS[what]
    second = request(served, first="GET /v1/status HTTP/1.1")
    for path in ("/v1/remember", "/mcp", "/login"):
        first = f"POST {path} HTTP/1.1"
        answer = exchange(served, request(served, *headers, first=first, body=body + second, key=key))
        assert answer is not None, "the connection stays open"
        assert answer.startswith(b"HTTP/1.1 400 "), answer[:200]
        assert answer.count(b"HTTP/1.1 ") == 1, "what came behind it was answered too"


@pytest.mark.parametrize("first", ["GET /healthz HTTP/1.1", "GET /v1/status HTTP/1.1", "GET / HTTP/1.1"])
def test_lines_that_end_with_a_bare_lf_are_refused(served, first):
    answer = exchange(served, request(served, first=first, end="\n"))
    assert answer is not None
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"end lines with CRLF" in answer


def test_chunks_in_http_1_0_are_refused(served):
    head = request(served, CHUNKED, first="POST /v1/remember HTTP/1.0", body=b"2\r\n{}\r\n0\r\n\r\n")
    assert exchange(served, head).startswith(b"HTTP/1.1 400 ")


def test_a_bad_chunk_that_comes_after_the_answer_closes_the_connection(served):
    """Without the token the answer does not wait for the body."""
    with connected(served) as line, line.makefile("rb") as coming:
        line.sendall(request(served, CHUNKED, key=False))
        assert coming.readline()[9:12] in (b"401", b"429")
        line.sendall(b"2 \r\n{}\r\n0\r\n\r\n" + request(served, first="GET /v1/status HTTP/1.1"))
        assert b"HTTP/1.1" not in coming.read()


def test_a_plain_request_is_read_as_it_was_sent_however_it_is_cut_up(served):
    said = json.dumps({"text": "Ana\nkeeps\r\n bees"}).encode()
    for headers, body in (
        ((f"Content-Length: {len(said)}",), said),
        ((CHUNKED,), b"%x;note=a b\r\n%b\r\n0\r\nX-Sum: 1\r\n\r\n" % (len(said), said)),
    ):
        whole = request(served, *headers, "Content-Type: application/json", "Connection: close", body=body)
        for cut in (1, len(whole) - len(body) - 1, len(whole) - 1):
            answer = exchange(served, whole[:cut], whole[cut:])
            assert answer[9:12] in (b"200", b"201"), answer[:300]


@pytest.mark.parametrize("length", ["declared", "declared and sent", "in chunks"])
def test_a_body_that_is_too_long_is_refused_and_the_connection_closed(served, length):
    size, chunk = 5 << 20, b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    for path in ("/v1/remember", "/mcp"):
        first = f"POST {path} HTTP/1.1"
        if length == "in chunks":
            parts = (request(served, CHUNKED, first=first), *[chunk] * 5, b"0\r\n\r\n")
        else:
            parts = (request(served, f"Content-Length: {size}", first=first), b"x" * (size * ("sent" in length)))
        answer = exchange(served, *parts)
        assert answer is not None, "the connection stays open"
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"\r\nconnection: close\r\n" in answer.lower()
