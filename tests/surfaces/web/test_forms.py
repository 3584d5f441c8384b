"""Whatever a page takes in, it takes from its own forms alone; and what goes wrong inside is told as a page."""

import re

from starlette.testclient import TestClient

from tests.surfaces.web.conftest import CSRF, Page


def writing(web):
    """Every address of the site that takes a form, with names of nothing in it."""
    for route in web.app._app.routes:
        if "POST" in (getattr(route, "methods", None) or ()):
            yield re.sub(r"\{[^}]*\}", "7", route.path)


def test_a_form_without_the_word_of_this_session_is_refused_everywhere_and_writes_nothing(web):
    before = web.m.status().events
    paths = list(writing(web))
    assert paths
    for path in paths:
        for fields in ({}, {"csrf": ""}, {"csrf": CSRF[:-1]}, {"csrf": f"{CSRF}x"}, {"csrf": "ü"}):
            answer = web.post(path, data={"text": "x", **fields}, follow_redirects=False)
            assert answer.status_code == 403, (path, fields, answer.text[:300])
        assert web.post(path, json={"csrf": CSRF}, follow_redirects=False).status_code == 400, path
        assert web.post(path, files={"csrf": CSRF.encode()}, follow_redirects=False).status_code == 400, path
    assert web.m.status().events == before


def test_a_piece_is_the_changing_part_of_a_page_alone(web):
    said = web.m.remember("Ana prefers tea", about="person-ana")
    form = f"/pages/person-ana?edit={said.id}"
    for address in ("/", "/pages", "/timeline?kind=belief", "/reviews", "/integrity", form):
        piece = web.page(address, headers={"X-Piece": "1"})
        assert not piece.all("html") + piece.all("h1"), address
        assert bool(piece.all("textarea", name="text")) is (address == form)
        assert web.get(address).headers["vary"] == "X-Piece"
        if address in ("/", "/timeline?kind=belief", "/pages"):
            assert "tea" in piece.text or piece.all("a", href="/pages/person-ana")
            assert web.page(address).all("div", data_live=address, data_seq="1"), address


def test_what_fails_inside_is_a_page_and_tells_nothing_of_the_inside(web, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("with /a/secret/path")

    monkeypatch.setattr("tallystick.surfaces.web.home.with_memory", broken)
    with TestClient(web.app, raise_server_exceptions=False, base_url="http://127.0.0.1:8722") as client:
        answer = client.get("/")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "Something went wrong" in answer.text
    assert "secret" not in answer.text


def test_an_address_that_takes_no_form_says_what_it_takes(web):
    for answer, methods in ((web.put("/"), "GET, HEAD, POST"), (web.say("/search", q="tea"), "GET, HEAD")):
        assert (answer.status_code, answer.headers["allow"]) == (405, methods)
        assert "Use the form on its page" in Page(answer.text).text
    for name in ("verify", "check", "backup", "checkpoint"):
        assert web.get(f"/integrity/{name}").status_code == 405


def test_what_was_typed_into_a_form_that_is_not_taken_can_be_sent_again(web):
    typed = {"text": "  Ana </textarea><b>likes</b> tea\r\nand rain", "about": "person-ana"}
    refused = Page(web.post("/", data={"csrf": "of another session", **typed}).text)
    assert refused.all("form", action="/", method="post")
    assert refused.all("textarea", name="text")
    assert "Ana </textarea><b>likes</b> tea and rain" in refused.text
    assert not refused.all("b")
    assert refused.all("input", name="csrf")[0]["value"] == CSRF
    begun = Page(web.say("/pages", kind="person", name="!!", text="Bob sings").text)
    assert "Bob sings" in begun.text
    assert begun.all("form", action="/pages", method="post")
    assert begun.all("input", name="kind")[0]["value"] == "person"


def test_a_form_in_which_nothing_was_typed_is_not_given_back(web):
    assert "What you typed" not in web.post("/reviews/7/approve", data={"digest": "x"}).text
