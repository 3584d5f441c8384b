"""What goes wrong is said in one plain line, with the right status, and repeats nothing of what was sent."""

import json

import orjson
import pytest

from tallystick.records import errors
from tallystick.surfaces.server.guard import status_of
from tests.growth import assert_no_slower
from tests.surfaces.api.conftest import Api

JSON = {"Content-Type": "application/json"}


def problem(told, status):
    assert (told.status_code, told.headers["content-type"]) == (status, "application/problem+json"), told.text[:300]
    found = told.json()
    assert {"type", "title", "status", "detail"} == set(found) - {"errors", "review"}
    assert (found["status"], "\n" in found["detail"]) == (status, False)
    assert 0 < len(found["detail"]) <= 400
    return found


def test_an_address_that_is_not_there_and_a_method_that_is_not_taken(api):
    assert "/openapi.json" in problem(api.get("/v1/nothing"), 404)["detail"]
    assert "/openapi.json" in problem(api.get("/v2/status"), 404)["detail"]
    told = api.delete("/v1/recall")
    problem(told, 405)
    assert told.headers["allow"] == "GET, POST"
    assert api.post("/v1/status").headers["allow"] == "GET"
    assert api.put("/v1/pages/person-ana").headers["allow"] == "GET, PATCH"


BODIES = [
    b"", b"{", b"nonsense", b"[]", b"null", b'"text"', b"\xff\xfe", b'{"question": NaN}',
    b'{"question": "\\ud800"}',
    b'{"question": "x", "floor": Infinity}', b'{"question": 1}', b'{"question": "x", "k": true}',
    b'{"question": "x", "k": "5"}', b'{"question": "x", "secret-name-in-a-field": 1}', b"[" * 5000, b'{"a":' * 5000,
    b'{"question": "x", "filters": {"user": "bob"}}', b'{"question": "x", "k": 1e400}', b"\x00",
    b'{"question": "x", "user": "bob"}',
]  # fmt: skip


def test_a_body_that_is_not_as_it_should_be_is_refused(api):
    for body in BODIES:
        found = problem(api.post("/v1/recall", content=body, headers=JSON), 422)
        assert found["errors"], body
        assert all(set(each) == {"where", "what"} for each in found["errors"])
        assert all(each["where"].startswith("body") for each in found["errors"])


def test_what_was_sent_is_not_repeated(api):
    body = {"question": {"deep": "a secret"}, "x" * 1000: 1, "k": "another secret"}

    found = problem(api.post("/v1/recall", json=body), 422)

    assert b"secret" not in orjson.dumps(found)
    assert max(len(each["where"]) for each in found["errors"]) < 80
    problem(api.post("/v1/recall", content=b'{"question":"x"}', headers={"Content-Type": "text/plain"}), 422)
    assert problem(api.get("/v1/status?user=bob"), 422)["errors"][0]["where"] == "query.user"


def test_a_long_name_is_not_repeated_at_length(api):
    long = "n" * 900

    assert len(problem(api.get(f"/v1/beliefs/{long}"), 404)["detail"]) <= 400
    assert problem(api.get(f"/v1/beliefs/{long * 2}"), 422)
    found = problem(api.post("/v1/forget", json={"name": "n" * 100_000}), 404)
    assert len(found["detail"]) <= 400


KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.TallystickError)]


def test_every_error_of_the_memory_has_its_status(api, monkeypatch):
    def raises(kind):
        def recall(*_, **__):
            raise kind("what is wrong; the way out")

        return recall

    for kind in KINDS:
        monkeypatch.setattr("tallystick.memory.memory.Memory.recall", raises(kind))
        status = status_of(kind("x"))
        found = problem(api.post("/v1/recall", json={"question": "x"}), status)
        assert found["type"] == f"urn:tallystick:error:{kind.__name__}"
        assert found["detail"] == "what is wrong; the way out"


def test_what_nobody_expected_is_told_without_its_story(api, monkeypatch):
    def recall(*_, **__):
        raise ZeroDivisionError("a secret of the program")

    monkeypatch.setattr("tallystick.memory.memory.Memory.recall", recall)
    told = api.post("/v1/recall", json={"question": "x"})

    problem(told, 500)
    assert b"secret" not in told.content
    assert b"Traceback" not in told.content


def test_a_server_that_has_ended_says_so(m):
    with Api(m) as api:
        api.portal.call(api.hold.close)
        assert problem(api.get("/v1/status"), 503)["type"].endswith(":Closed")


def test_a_damaged_memory_can_be_looked_at_and_says_what_is_wrong(m):
    m.remember("Ana prefers tea", key="tea")
    m.remember("Bob prefers rum", key="rum")
    wal = m.folder / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b"Bob prefers rum", b"Bob prefers gin"))

    with Api(m) as api:
        assert api.see("status")["trouble"]
        assert api.see("beliefs/tea")["text"] == "Ana prefers tea"
        assert api.get("/v1/beliefs").headers["etag"]
        assert problem(api.post("/v1/recall", json={"question": "tea"}), 503)["type"].endswith(":Damaged")
        problem(api.post("/v1/remember", json={"text": "x"}), 503)
        assert api.see("ledger/verify")["ok"] is False
        assert api.see("check")["findings"][0]["severity"] == "error"
        told = api.get("/v1/export")
        assert told.status_code in (200, 503)


HOSTILE = [
    "", " ", "\x00", "é" * 10, "\u202eabc", "a\u200bb", "<script>alert(1)</script>", "'; DROP TABLE x", "🧑‍🚀", "\r\n",
    "../../etc",
]  # fmt: skip


def test_hostile_words_are_kept_or_refused_and_never_break_anything(api):
    for words in HOSTILE:
        for verb, body in (
            ("remember", {"text": words, "key": words}), ("observe", {"text": words, "id": words, "session": words}),
            ("recall", {"question": words, "path": words, "session": words}), ("forget", {"name": words}),
            ("frame", {"name": words}), ("paths", {"name": words}), ("pages", {"name": words}),
            ("pages/person-ana/entries", {"text": words, "tags": [words]}),
            ("entities", {"entities": [{"name": words}]}),
        ):  # fmt: skip
            told = api.post(f"/v1/{verb}", json=body)
            assert told.status_code in (200, 201, 202, 400, 404, 422), (verb, words, told.text)
        told = api.get("/v1/beliefs", params={"containing": words, "about": words})
        assert told.status_code == 200
        assert api.get("/v1/graph", params={"at": words}).status_code in (200, 400, 404)
    texts = {each["text"] for each in api.see("beliefs?limit=500")["items"]}
    assert "<script>alert(1)</script>" in texts
    assert api.see("ledger/verify")["ok"] is True


def test_a_million_letters_are_held_or_refused_whole(api):
    told = api.post("/v1/remember", json={"text": "tea " * 250_000})
    assert told.status_code in (201, 400)
    assert api.m.ledger.verify().ok
    assert api.post("/v1/recall", json={"question": "tea " * 25_000}).status_code == 200


@pytest.mark.parametrize("body", [
    b'{"text": "a", "text": "b"}', b'{"text": "a", "data": {"n": 18446744073709551616}}',
    b'{"text": "a", "data": {"n": 1e400}}', b'{"text": "\\ud800"}',
])  # fmt: skip
def test_json_that_two_readers_would_read_differently_is_refused_and_nothing_is_written(api, body):
    before = api.m.status().events
    told = api.post("/v1/remember", content=body, headers={"Content-Type": "application/json"})
    assert told.status_code == 422
    assert told.headers["content-type"] == "application/problem+json"
    assert api.m.status().events == before


def test_a_list_of_a_million_wrong_values_is_refused_before_each_is_looked_at(api):
    body = b'{"text": "a", "evidence": [' + b"1," * 1_000_000 + b"1]}"

    def refused():
        told = api.post("/v1/remember", content=body, headers={"Content-Type": "application/json"})
        assert told.status_code == 422
        assert "send several requests" in told.json()["detail"]

    assert_no_slower(refused, lambda: json.loads(body), 40)


def test_a_star_matches_only_what_is_there(api):
    api.say("remember", status=201, text="Ana prefers tea", key="tea")
    assert api.get("/v1/beliefs/tea", headers={"If-None-Match": "*"}).status_code == 304
    assert api.get("/v1/beliefs/nothing", headers={"If-None-Match": "*"}).status_code == 404
