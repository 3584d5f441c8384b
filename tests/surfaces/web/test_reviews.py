"""Reviews: what waits is shown as a difference, and a yes counts once, for exactly what was shown."""

import re

import pytest

from tallystick import Memory
from tallystick.records.errors import NeedsApproval
from tests.surfaces.web.conftest import Page, asks


def test_nothing_waits_says_so(web):
    assert "No pending reviews" in web.page("/reviews").text


def test_what_waits_stands_oldest_first_with_the_words_that_differ_who_asks_and_why(web):
    web.m.remember("Ana prefers tea over coffee", key="drinks")
    web.m.remember("Bob is allergic to peanuts", key="peanuts")
    first = asks(web.m, "revise", "drinks", "Ana prefers coffee over coffee", reason="she ordered one")
    second = asks(web.m, "forget", "peanuts", reason="seems wrong")
    page = web.page("/reviews")

    assert "2 pending reviews" in page.text
    assert [found["data-id"] for found in page.all("article")] == [first.id, second.id]
    assert "<del>tea</del>" in page.html
    assert "<ins>coffee</ins>" in page.html
    assert "<del>Bob is allergic to peanuts</del>" in page.html
    for words in ("she ordered one", "an agent", "by an MCP client", first.why):
        assert words in page.text
    assert page.forms == [f"/reviews/{first.id}/approve", f"/reviews/{second.id}/approve"]
    assert [found["value"] for found in page.all("input", name="digest")] == [first.digest, second.digest]
    assert page.all("div", data_live="/reviews")
    assert "2 pending reviews" in web.page("/reviews", headers={"X-Piece": "1"}).text


def test_a_yes_does_what_was_asked_through_the_door_of_the_page_and_says_what_came_of_it(web):
    web.m.remember("Ana prefers tea", key="drinks")
    review = asks(web.m, "revise", "drinks", "Ana prefers coffee")
    done = web.say(f"/reviews/{review.id}/approve", digest=review.digest, reason="she told me too")
    page = Page(done.text)

    assert done.url.path == f"/reviews/{review.id}"
    assert web.m.show("drinks").text == "Ana prefers coffee"
    answered = web.m.reviews.get(review.id)
    assert (answered.status, answered.answered_by, answered.reason) == ("approved", "page:local", "she told me too")
    assert "Approved" in page.text
    assert "she told me too" in page.text
    assert "It was revised" in page.text
    assert "<del>tea</del>" in page.html  # as it was when it was asked
    assert not page.forms
    listed = web.page("/reviews")
    assert "No pending reviews" in listed.text
    assert f'/reviews/{review.id}"' in listed.html


def test_a_no_changes_nothing_but_puts_out_of_sight_what_was_kept_out_of_recall(web):
    web.m.remember("Ana prefers tea", key="drinks")
    change = asks(web.m, "forget", "drinks")
    with Memory(web.m.folder, by="web:1", trust="web") as other:
        other.remember("A blog says tea is coffee", key="blog")
    listed = web.page("/reviews")
    assert "1 of them is quarantined" in listed.text
    kept_out = web.m.reviews.find(kind="trust")[0]
    one, two = (web.say(f"/reviews/{each.id}/reject", digest=each.digest) for each in (change, kept_out))

    assert "Nothing was changed" in one.text
    assert "It was forgotten" in two.text
    assert web.m.show("drinks").is_held
    assert not web.m.show("blog").is_held
    assert web.m.reviews.waiting() == []


def test_a_yes_to_what_was_kept_out_lets_it_be_recalled(web):
    with Memory(web.m.folder, by="web:1", trust="web") as other:
        other.remember("Harbor is a port", key="blog")
    [review] = web.m.reviews.waiting()
    assert not web.m.recall("what is Harbor?")
    assert "It can be recalled now" in web.say(f"/reviews/{review.id}/approve", digest=review.digest).text
    assert web.m.recall("what is Harbor?")


def test_a_yes_without_the_digest_that_was_shown_is_refused_and_nothing_is_changed(web):
    web.m.remember("Ana prefers tea", key="drinks")
    web.m.remember("Bob drinks rum", key="rum")
    review, other = asks(web.m, "forget", "drinks"), asks(web.m, "forget", "rum")
    size = web.m.ledger.size
    for answer in ("approve", "reject"):
        for digest in ("", "0" * 64, other.digest, review.digest.upper()):
            assert web.say(f"/reviews/{review.id}/{answer}", digest=digest).status_code == 409
        assert web.say(f"/reviews/{review.id}/{answer}").status_code == 409
        assert web.get(f"/reviews/{review.id}/{answer}").status_code == 405

    assert web.m.ledger.size == size
    assert web.m.show("drinks").is_held


def test_what_changed_since_it_was_asked_is_closed_and_not_done(web):
    web.m.remember("Ana prefers tea", key="drinks")
    review = asks(web.m, "revise", "drinks", "Ana prefers coffee")
    web.m.revise("drinks", "Ana prefers water")
    done = web.say(f"/reviews/{review.id}/approve", digest=review.digest)

    assert done.status_code == 200
    assert "Stale" in done.text
    assert "Nothing was changed" in done.text
    assert web.m.show("drinks").text == "Ana prefers water"


def test_an_old_answer_is_shown_also_where_what_it_was_about_was_moved_away(web, tmp_path):
    web.m.remember("Ana prefers tea", key="drinks")
    review = asks(web.m, "revise", "drinks", "Ana prefers coffee")
    web.m.reviews.approve(review.id)
    web.m.ledger.compact()
    web.m.ledger.prune(tmp_path / "elsewhere")

    assert "It was revised" in web.page(f"/reviews/{review.id}").text


def test_an_answer_is_used_once_and_a_second_one_leads_to_the_first(web):
    web.m.remember("Ana prefers tea", key="drinks")
    review = asks(web.m, "forget", "drinks")
    web.m.reviews.reject(review.id, reason="no")
    size = web.m.ledger.size
    done = web.say(f"/reviews/{review.id}/approve", digest=review.digest)

    assert done.url.path == f"/reviews/{review.id}"
    assert "Rejected" in done.text
    assert (web.m.ledger.size, web.m.show("drinks").is_held) == (size, True)


def test_an_approved_erasure_takes_its_question_along_and_the_page_says_so(web):
    web.m.remember("a secret to be gone", key="gone")
    review = asks(web.m, "erase", "gone")
    assert "<del>a secret to be gone</del>" in web.page(f"/reviews/{review.id}").html
    done = web.say(f"/reviews/{review.id}/approve", digest=review.digest)

    assert done.status_code == 200
    assert "It was erased" in done.text
    assert web.m.get("gone") is None
    assert web.get(f"/reviews/{review.id}").status_code == 404


def test_where_the_policy_leaves_the_page_out_it_says_so_and_offers_the_command(web):
    web.m.remember("Ana prefers tea", key="drinks")
    review = asks(web.m, "forget", "drinks")
    (web.m.folder / "tallystick.toml").write_text('[policy]\napprovers = ["cli:*"]\n')
    for address in ("/reviews", f"/reviews/{review.id}"):
        page = web.page(address)
        assert "does not allow answers on this page" in page.text
        assert not page.forms
        assert f"tallystick -C {web.m.folder} review approve {review.id[-6:]}" in page.text

    assert web.say(f"/reviews/{review.id}/approve", digest=review.digest).status_code == 403
    assert web.m.show("drinks").is_held
    assert web.m.reviews.get(review.id).status == "waiting"


def test_answers_are_listed_newest_first_and_can_be_chosen(web):
    for name in ("one", "two", "three"):
        web.m.remember(f"About {name}", key=name)
    one, two, three = (asks(web.m, "forget", name) for name in ("one", "two", "three"))
    web.m.reviews.reject(one.id)
    web.m.reviews.approve(two.id)
    web.m.reviews.grant(three.id)

    def listed(address):
        return [str(found["data-id"])[1:] for found in web.page(address).all("li") if "data-id" in found]

    assert listed("/reviews") == [three.id, two.id, one.id]
    assert listed("/reviews?show=approved") == [two.id]
    assert listed("/reviews?show=rejected") == [one.id]
    assert listed("/reviews?show=stale") == []
    assert listed("/reviews?page=2") == []
    assert "granted, not yet used" in web.page("/reviews").text
    assert "for one use" in web.page(f"/reviews/{three.id}").text


def test_many_that_wait_are_shown_a_page_at_a_time(web):
    with Memory(web.m.folder, by="web:1", trust="web") as other, other.batch():
        for number in range(45):
            other.remember(f"Saying number {number}")
    seen, address = list[str](), "/reviews"
    while address:
        page = web.page(address)
        seen += [str(found["data-id"]) for found in page.all("article")]
        found = re.search(r'href="(/reviews\?page=\d)"[^>]*>More pending reviews', page.html)
        address = found[1] if found else ""

    assert seen == [review.id for review in web.m.reviews.waiting()]


@pytest.mark.parametrize("address", ["?show=x", "?page=0", "?page=-1", "?page=x", "?page=" + "9" * 5000])
def test_a_list_that_is_none_is_refused(web, address):
    assert web.get(f"/reviews{address}").status_code == 400


def test_no_review_of_another_user_is_shown_or_answered(web):
    web.m.remember("Cleo's own", key="own", user="cleo")
    with Memory(web.m.folder, by="mcp:3f9a", trust="agent", user="cleo") as agent, pytest.raises(NeedsApproval):
        agent.forget("own")
    with Memory(web.m.folder, user="cleo") as cleo:
        [review] = cleo.reviews.waiting()
        assert "No pending reviews" in web.page("/reviews").text
        assert web.get(f"/reviews/{review.id}").status_code == 404
        assert web.say(f"/reviews/{review.id}/approve", digest=review.digest).status_code == 404
        assert cleo.show("own").is_held
