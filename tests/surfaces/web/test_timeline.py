"""Timeline: every event in words, newest first; and one event with its proof."""

import re

import pytest

from tallystick import Memory
from tallystick.memory.maintenance.ledger import check_proof
from tests.surfaces.web.conftest import Page, asks


def seqs(page):
    return [int(str(found["data-id"])[1:]) for found in page.all("li") if str(found.get("data-id", "")).startswith("e")]


def at(page, word):
    """The address behind a link that says so."""
    [found] = {link for link, text in re.findall(r'<a [^>]*href="([^"]+)"[^>]*>([^<]*)</a>', page.html) if text == word}
    return found.replace("&amp;", "&")


def test_events_stand_newest_first_by_day_each_with_words_who_and_a_link(web):
    belief = web.m.remember("Ana prefers tea", key="drinks")
    turn = web.m.observe("Let's ship", session="standup", agent="ana")
    review = asks(web.m, "forget", "drinks", reason="seems wrong")
    page = web.page("/timeline")

    assert seqs(page) == [3, 2, 1, 0]
    assert list(page.all("h2"))
    assert "Today" in page.text
    for words in ("Ana prefers tea", "Let's ship", "Forget drinks?", "the ledger begins", "by an MCP client"):
        assert words in page.text
    addresses = {f"/beliefs/{belief.id}", f"/episodes/{turn.source}", f"/reviews/{review.id}", "/timeline/3"}
    assert addresses <= set(page.links)
    assert page.all("div", data_live="/timeline", data_seq="3")


def test_what_was_done_to_a_page_is_told_and_leads_to_the_page(web):
    web.m.remember("Ana prefers tea", about="person-ana")
    web.m.pages.describe("person-ana", description="Who Ana is", tags=["<b>"])
    page = web.page("/timeline?kind=page")

    assert "the page about person-ana: " in page.text
    assert "description" in page.text
    assert page.all("a", href="/pages/person-ana")


def test_questions_and_judgements_are_told_in_words_and_not_by_ids(web):
    tea, turn = web.m.remember("Ana prefers tea"), web.m.observe("Let's ship")
    web.m.outcome([tea.id, turn.id], 1.0)
    review = asks(web.m, "revise", tea.id, "Ana prefers coffee", reason="she said so")
    web.m.reviews.reject(review.id, reason="she did not")
    page = web.page("/timeline")

    assert "“Ana prefers tea” “Let's ship” helped" in page.text
    assert page.text.count("Revise “Ana prefers tea”?") == 2
    assert "Revise “Ana prefers tea”? rejected (she did not)" in page.text
    assert review.id[-6:] not in page.text
    assert "Revise “Ana prefers tea”?" in web.page(f"/timeline/{review.seq}").text
    web.m.erase(tea.id)
    assert "tea" not in web.page("/timeline").text


def test_no_link_leads_to_what_is_not_there_any_more_or_is_anothers(web):
    gone = web.m.remember("Bob likes cake", about="person-bob")
    kept = web.m.remember("cake is nice")
    web.m.outcome([gone.id], 1.0)
    web.m.pages.archive("person-bob")
    web.m.erase(gone.id)
    web.m.paths.branch("idea")
    web.m.remember("Eve plays the cello", about="person-eve", path="idea")
    with Memory(web.m.folder, user="zoe") as other:
        other.remember("Zoe has a cat")
    web.m.remember("Ana prefers tea", about="person-ana")
    seq = web.m.ledger.size - 1
    with Memory(web.m.folder, by="web:1", trust="web") as doubtful:
        pending = doubtful.remember("A blog says Harbor leaks", about="topic-blog")  # on no page yet
    places = [
        f"/beliefs/{pending.id}", "/", "/timeline", f"/timeline/{seq}", "/search?q=who+prefers+tea",
        f"/?said={kept.id}&how=remembered",
    ]  # fmt: skip
    assert "/pages/topic-notes" in web.page("/").html

    assert [link for place in places for link in dead(web, place)] == []
    web.m.pages.clean()
    places += [f"/search?q=who+prefers+tea&at={seq}", f"/search?q=cake&at={seq}"]
    assert [link for place in places for link in dead(web, place)] == []


def dead(web, address):
    """The links of a page that lead to nothing, or to no such place on a page."""
    links = {link for link in web.page(address).links if not link.startswith("#")}
    found = {link: web.get(link.partition("#")[0]) for link in links}
    parts = {link: link.partition("#")[2] for link in found}
    return sorted(
        link for link, answer in found.items()
        if answer.status_code != 200 or (parts[link] and f'id="{parts[link]}"' not in answer.text)
    )  # fmt: skip


def test_older_and_newer_lead_through_the_whole_ledger_and_back(web):
    with web.m.batch():
        for number in range(160):
            web.m.observe(f"turn {number}")
    size, page, walked = web.m.ledger.size, web.page("/timeline"), list[int]()
    first = seqs(page)
    while True:
        walked += seqs(page)
        if "Older" not in page.text:
            break
        assert len(seqs(page)) == 50
        page = web.page(at(page, "Older"))
    assert walked == [*range(size - 1, -1, -1)]
    while "Newer" in page.text:
        page = web.page(at(page, "Newer"))

    assert seqs(page) == first
    assert seqs(web.page(at(web.page("/timeline?before=60"), "Newest"))) == first
    assert not web.page("/timeline?before=60").all("div", data_live="/timeline?before=60")


def test_a_filter_shows_what_fits_keeps_through_the_pages_and_says_when_nothing_does(web):
    with web.m.batch():
        for number in range(60):
            web.m.observe(f"turn {number}", session="stand & up", agent="ana")
            web.m.remember(f"fact {number}", agent="bob")
    page = web.page("/timeline?kind=episode&session=stand+%26+up&agent=ana&source=python")

    assert len(seqs(page)) == 50
    assert "fact" not in page.text
    assert [found for found in page.all("option", value="episode") if "selected" in found]
    assert page.all("input", name="session", value="stand & up")
    rest = web.page(at(page, "Older"))
    assert len(seqs(rest)) == 10
    assert "turn 0" in rest.text
    assert "fact" not in rest.text
    assert "No matching events" in web.page("/timeline?source=mcp").text
    assert "No matching events" in web.page("/timeline?agent=an").text
    assert seqs(web.page("/timeline?kind=ledger")) == [0]


@pytest.mark.parametrize(
    "address", ["?before=x", "?after=-1", "?before=" + "9" * 5000, "?kind=nonsense", "?before=%00", "?kind=%E2%80%AE"]
)
def test_an_address_that_means_nothing_is_refused_plainly(web, address):
    answer = web.get(f"/timeline{address}")

    assert answer.status_code == 400
    assert "start again" in answer.text or "choose one" in answer.text


# -- one event ---------------------------------------------------------------------------------------------------------


def test_an_event_shows_its_header_its_words_and_its_neighbours(web):
    web.m.remember("Ana prefers tea", key="drinks", session="standup")
    web.m.remember("Cleo's own", user="cleo")
    web.m.observe("later")
    event, page = next(web.m.log(1)), web.page("/timeline/1")

    assert event.hash in page.text
    assert event.id in page.text
    assert "belief.put/1" in page.text
    assert next(web.m.log(0)).hash in page.text  # the line before
    assert '"text": "Ana prefers tea"' in page.text
    assert {"/timeline/0", "/timeline/3", "/timeline?session=standup"} <= set(page.links)
    assert "/timeline/2" not in page.links


def test_before_a_checkpoint_the_proof_holds_here_and_a_form_signs_it_for_others(web):
    web.m.remember("Ana prefers tea")
    page = web.page("/timeline/1")

    assert "convinces nobody else" in page.text
    assert web.m.ledger.checkpoints() == []
    assert web.get("/timeline/1/proof.txt").status_code == 404

    signed = web.say("/timeline/1/sign")
    assert signed.status_code == 200
    assert "Proved." in Page(signed.text).text
    proof = web.get("/timeline/1/proof.txt")
    assert "attachment" in proof.headers["content-disposition"]
    assert check_proof(proof.text, web.m.ledger.verifier_key)["event"]["seq"] == 1
    check_it = f"tallystick ledger prove --check event-1.proof.txt --key '{web.m.ledger.verifier_key}'"
    assert check_it in Page(signed.text).text


def test_a_long_event_is_cut_and_says_so(web):
    web.m.observe("x" * 300_000, session="s" * 90, agent="a" * 90, metadata={"note": "x" * 900})
    web.m.remember("x" * 300_000)
    for address in ("/timeline", "/timeline/1", "/timeline/2"):
        page = web.page(address)
        assert len(page.html) < 120_000, address
        assert ("This is the beginning" in page.text) is (address != "/timeline")


def test_an_erased_event_says_so_and_is_still_proved(web):
    name = web.m.remember("a secret to be gone").id
    web.m.erase(name)
    web.m.ledger.checkpoint()
    listed, page = web.page("/timeline"), web.page("/timeline/1")

    assert "Its content was erased" in listed.text
    assert "Its content was erased" in page.text
    assert "Proved." in page.text
    assert "secret to be gone" not in listed.html + page.html


@pytest.mark.parametrize("name", ["2", "999999999", "9" * 5000, "-1", "x", "1.0", "%00", "%D9%A1", "1%2F..%2F2"])
def test_what_is_no_event_of_this_person_is_not_found(web, name):
    web.m.remember("mine")
    web.m.remember("Cleo's own", user="cleo")
    for address in (f"/timeline/{name}", f"/timeline/{name}/proof.txt"):
        assert web.get(address).status_code == 404, address
    answer = web.say(f"/timeline/{name}/sign")
    assert answer.status_code == 404
    assert "Cleo" not in answer.text
    assert web.m.ledger.checkpoints() == []


def test_a_stretch_that_was_moved_away_leaves_the_rest_and_says_what_a_proof_needs(web, tmp_path):
    web.m.remember("old")
    web.m.ledger.compact()
    web.m.ledger.prune(tmp_path / "elsewhere")
    last = web.m.ledger.size - 1
    listed = web.page("/timeline")

    assert min(seqs(listed)) == 2
    assert "Older" not in listed.text
    assert "they were moved away" in web.page(f"/timeline/{last}").text
    assert web.get("/timeline/1").status_code == 404
