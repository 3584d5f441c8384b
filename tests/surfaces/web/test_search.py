"""Search: what is answered and why, what an agent would be given, and both of any moment."""

from html import unescape

import pytest

from tallystick import Memory
from tests.surfaces.web.conftest import CSRF, Page, Web

HOSTILE = '<script>alert(1)</script><img src="https://evil.example/x.png">"></textarea>{{7*7}}\u202e'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A memory that the tests here only read."""
    folder = tmp_path_factory.mktemp("search") / "memory"
    with Memory(folder) as m:
        with m.batch():
            m.remember("Ana prefers tea over coffee", about="person-ana", tags=["taste"])
            m.remember("Ana works at Acme as a release engineer", about="person-ana", tags=["work"])
            m.remember("Bob is allergic to peanuts", about="person-bob", session="kitchen", agent="cook")
            m.remember("Write short commit messages", kind="instruction")
        m.remember(HOSTILE + " zebra", about="topic-zebra", tags=["<u>"], agent="<i>")
        m.observe("The zebra crossing is closed, said Ana", session="standup", agent="ana")
        m.revise(m.recall("tea", k=1)[0].id, "Ana prefers mint tea over coffee", reason="she said so")
    return folder


@pytest.fixture
def asks(folder):
    with Memory(folder) as m, Web(m) as web:
        yield web


def found(page):
    return [str(each["data-id"]) for each in page.all("li") if "hit" in str(each.get("class"))]


def test_without_a_question_the_page_says_how_to_ask(asks):
    page = asks.page("/search")

    assert "Ask in your own words" in page.text
    assert not found(page)
    assert page.all("input", name="q")
    assert len(page.all("h1")) == 1


def test_a_hit_shows_its_score_in_parts_why_who_when_and_where_it_comes_from(asks):
    page = asks.page("/search?q=where+does+Ana+work")

    hit = asks.m.recall("where does Ana work", k=10)[0]
    assert found(page)[0] == hit.id
    assert hit.text in page.text
    assert hit.why in page.text
    assert f"{hit.score:.2f}" in page.text
    bars = {str(each["aria-label"]): str(each["value"]) for each in reversed(page.all("meter"))}  # the first hit's
    assert bars["words"] == f"{hit.signals['words']:.4f}"
    assert bars["recency"] == f"{hit.signals['recency']:.4f}"
    assert "None from date" in page.text
    assert "from Python" in page.text
    assert "you" in page.text
    assert {f"/beliefs/{hit.id}", "/pages/person-ana", f"/timeline/{hit.seq}"} <= set(page.links)
    nearly = asks.m.recall("where does Ana work", k=10, explain=True).nearly
    assert f"Near misses ({len(nearly)})" in page.text
    assert nearly[0].why in page.text


def test_an_episode_is_found_and_leads_to_itself(asks):
    page = asks.page("/search?q=is+the+zebra+crossing+closed")

    episode = asks.m.episodes.recent(limit=1)[0]
    assert f"/episodes/{episode.id}" in page.links
    assert "episode" in page.text
    assert "in standup" in page.text


def test_nothing_to_stand_behind_names_what_came_nearest(asks):
    page = asks.page("/search?q=quantum+chromodynamics+lattice")

    answer = asks.m.recall("quantum chromodynamics lattice")
    assert not answer
    assert not found(page)
    assert "I don't know" in page.text
    assert answer.nearest[0].text in page.text


def test_looking_leaves_no_receipt_and_writes_nothing(folder, tmp_path):
    with Memory(tmp_path / "memory") as m:
        (m.folder / "tallystick.toml").write_text("[recall]\nreceipts = true\n")
        m.remember("Ana prefers tea")
    with Memory(tmp_path / "memory") as m, Web(m) as web:
        size = m.ledger.size
        web.page("/search?q=tea")
        web.page("/search?q=tea&frame=attention")
        assert m.recall("tea").receipt  # elsewhere, this memory leaves them
        web.portal.call(web.app._app.state.worker.close)
        assert m.ledger.size == size


@pytest.mark.parametrize(
    ("narrowed", "is_there"),
    [
        ("session=kitchen", True), ("session=standup", False), ("agent=cook", True), ("agent=ana", False),
        ("kind=fact", True), ("kind=instruction", False), ("kind=instruction,fact", True), ("tag=taste", False),
    ],
)  # fmt: skip
def test_scope_kind_and_tag_narrow_it_down(asks, narrowed, is_there):
    page = asks.page(f"/search?q=is+Bob+allergic+to+peanuts&{narrowed}")

    assert ("Bob is allergic to peanuts" in page.text) is is_there
    name, _, value = narrowed.partition("=")
    assert page.all("input", name=name, value=value)


def test_at_another_moment_what_was_held_then_is_answered(asks):
    now, then = asks.page("/search?q=what+does+Ana+prefer"), asks.page("/search?q=what+does+Ana+prefer&at=1")

    assert "mint tea" in now.text
    assert "mint" not in then.text
    assert "Ana prefers tea over coffee" in then.text
    assert "event 1 of" in then.text
    assert "Back to now" in then.text
    assert "/search?q=what+does+Ana+prefer" in then.links
    last = str(asks.m.ledger.size - 1)
    assert now.all("input", type="range", name="at", min="0", max=last, value=last)
    assert then.all("input", type="range", name="at", value="1")


def test_a_time_means_the_last_event_by_then_and_goes_before_the_slider(asks):
    page = asks.page("/search?q=what+does+Ana+prefer&at=3&when=2020-01-01T00:00:00")

    assert "at that time" in page.text
    assert "before the first event" in page.text
    assert "2020-01-01" in page.text
    assert page.all("input", type="range", value="0")
    assert page.all("input", name="when", value="2020-01-01T00:00:00")
    end = asks.m.ledger.size - 1
    assert asks.page("/search?q=what+does+Ana+prefer&when=2999-01-01").all("input", type="range", value=str(end))


@pytest.mark.parametrize("at", ["{end}&end={end}", "2&end=2", "{end}", "99999999999999999999", ""])
def test_the_right_end_of_the_slider_is_now(asks, at):
    page = asks.page("/search?q=what+does+Ana+prefer&at=" + at.format(end=asks.m.ledger.size - 1))

    assert "mint tea" in page.text
    assert "Back to now" not in page.text


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ("at=soon", 400), ("at=-1", 400), ("when=tomorrow", 400), ("at=" + "9" * 6000, 400), ("frame=nobody", 404),
        ("frame=attention&budget=many", 400), ("frame=attention&budget=" + "9" * 30, 400),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_told_in_a_line_and_what_was_typed_stays(asks, wrong, status):
    answer = asks.get(f"/search?q=mint+tea&{wrong}")

    page = Page(answer.text)
    assert answer.status_code == status
    assert page.all("p", role="alert")
    assert page.all("input", name="q", value="mint tea")
    assert not found(page)


def test_what_the_agent_would_see_is_the_frames_text_exactly_with_its_tokens(asks):
    page = asks.page("/search?q=zebra&frame=attention&budget=300")

    framed = asks.m.frame("attention", "zebra", budget=300)
    shown = unescape(page.html.partition("<pre")[2].partition(">\n")[2].partition("</pre>")[0])
    assert shown == framed.text
    assert '>">' in framed.text
    assert f"{framed.used} of 300" in page.text
    assert page.all("meter", max="300", value=str(framed.used))
    assert found(page) == [hit.id for hit in framed.hits]
    assert [each["value"] for each in page.all("option") if "selected" in each] == ["attention"]


def test_what_a_frame_left_out_is_told_with_the_reason(asks):
    page = asks.page("/search?q=what+does+Ana+prefer&frame=attention&budget=12")

    framed = asks.m.frame("attention", "what does Ana prefer", budget=12)
    assert framed.dropped
    assert "Left out" in page.text
    assert all(each.why in page.text for each in framed.dropped)
    assert "gets no text" in page.text


def test_a_frame_needs_no_question(asks):
    assert "Write short commit messages" in asks.m.frame("attention").text
    assert "Write short commit messages" in asks.page("/search?frame=attention").text


def test_the_piece_is_the_answer_alone(asks):
    piece = asks.page("/search?q=where+does+Ana+work&at=3", headers={"X-Piece": "1"})

    assert found(piece)
    assert not piece.all("html")
    assert not piece.all("input", name="q")
    assert piece.all("p", id="moment-text", data_seq="3")
    assert piece.all("p", id="found", role="status")


def test_a_wrong_question_as_you_type_is_a_piece_too(asks):
    for address in ("/search?q=tea&at=soon", "/search?q=tea&frame=nobody", "/nowhere"):
        piece = Page(asks.get(address, headers={"X-Piece": "1"}).text)
        assert not piece.all("html")
        assert piece.all("p", role="alert")


@pytest.mark.parametrize("question", ["", " ", "\x00", "🦓" * 500, "\u200b", "a" * 60_000, "%", "\ufffd", "' OR 1=1"])
def test_no_question_is_wrong(asks, question):
    assert asks.page("/search", params={"q": question}).all("input", name="q")


def test_saying_that_it_helped_or_misled_counts_and_shows_the_same_answer_again(web):
    said = web.m.remember("Ana prefers tea")

    answer = web.say("/search/outcome", name=said.id, how="helped", back="q=tea&agent=&evil=1")

    assert answer.url.path == "/search"
    assert answer.url.query == b"q=tea&noted=helped"
    assert "Saved: it helped" in Page(answer.text).text
    assert [event.body["signal"] for event in web.m.log(op="outcome") if event.body] == [1.0]
    web.say("/search/outcome", name=said.id, how="misled", back="//evil.example")
    assert [event.body["signal"] for event in web.m.log(op="outcome") if event.body] == [1.0, 0.0]


def test_an_outcome_that_says_nothing_is_refused(web):
    said = web.m.remember("Ana prefers tea")
    size = web.m.ledger.size

    assert web.say("/search/outcome", name=said.id, how="maybe").status_code == 400
    assert web.say("/search/outcome", name="", how="helped").status_code == 400
    assert web.say("/search/outcome", name="nobody", how="helped").status_code == 404
    assert web.get("/search/outcome").status_code == 405
    assert web.m.ledger.size == size


def test_the_buttons_of_a_hit_carry_the_word_of_the_session_and_the_way_back(asks):
    page = asks.page("/search?q=where+does+Ana+work&kind=fact")

    assert len(page.all("input", name="csrf", value=CSRF)) == len(found(page)) + 1  # one logs out
    assert page.all("input", name="back", value="q=where+does+Ana+work&kind=fact")
    assert page.all("input", name="name", value=found(page)[0])


def test_an_answer_that_lacks_vectors_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("tallystick.recall.vectors.FEW", 0)
    with Memory(tmp_path / "memory") as m, Web(m) as web:
        m.remember("Ana prefers tea")

        page = web.page("/search?q=tea")
        assert len(found(page)) == 1
        assert "vectors are being made: 0 of 1; answered by words" in page.text
