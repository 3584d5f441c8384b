"""A damaged memory, and one that may only be read: every page shows what can be read, and none writes."""

import pytest

from tests.surfaces.web.conftest import Page, Web, asks, spoil
from tests.surfaces.web.test_timeline import seqs


@pytest.fixture
def review(m):
    """A pending review of the memory's first belief."""
    m.remember("Ana prefers tea", key="drinks")
    return asks(m, "forget", "drinks")


@pytest.fixture
def damaged(m, review):
    for text in ("one", "two"):
        m.remember(text)
    spoil(m, b'"one"', b'"eno"')
    with Web(m) as client:
        yield client


def test_every_page_of_a_damaged_memory_shows_what_is_good_and_writes_nothing(damaged, review):
    wal = damaged.m.folder / "events.wal"
    before = wal.read_bytes()
    home, listed, reviews = (damaged.page(address) for address in ("/", "/timeline", "/reviews"))

    assert "is read-only" in home.text
    assert "needs repair" in home.text
    assert not home.all("textarea")
    assert seqs(listed) == [2, 1, 0]
    assert "Only undamaged events are shown" in listed.text
    assert "/integrity" in home.links
    assert "/integrity" in listed.links
    assert damaged.get("/timeline/4").status_code == 404
    assert "Reviews cannot be answered now" in reviews.text
    assert "Ana prefers tea" in reviews.text
    assert reviews.forms + damaged.page("/timeline/1").forms == []
    for address in ("/", "/timeline/1/sign", f"/reviews/{review.id}/approve"):
        assert damaged.say(address, text="Bob sings", digest=review.digest).status_code == 503, address
    assert wal.read_bytes() == before


def test_a_damaged_memory_answers_no_question_and_says_why_with_the_question_kept(damaged):
    answer = damaged.get("/search?q=tea")

    page = Page(answer.text)
    assert answer.status_code == 503
    assert "is damaged" in page.text
    assert page.all("input", name="q", value="tea")
    assert damaged.page("/search").all("input", name="q")


def test_what_may_only_be_read_is_shown_and_offers_no_write(m, review):
    with Web(m, read_only=True) as web:
        event, reviews, integrity = (web.page(address) for address in ("/timeline/1", "/reviews", "/integrity"))
        for address in (f"/reviews/{review.id}/reject", "/integrity/checkpoint", "/integrity/backup"):
            assert web.say(address, digest=review.digest).status_code == 503, address

    assert "convinces nobody else" in event.text
    assert event.forms + reviews.forms == []
    assert sorted(integrity.forms) == ["/integrity/check", "/integrity/verify"]
    assert "is read-only here" in integrity.text
    assert m.reviews.get(review.id).status == "waiting"
