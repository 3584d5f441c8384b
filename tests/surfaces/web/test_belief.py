"""One belief and one episode in a browser: what it says, why it stands, where it comes from; changed and forgotten."""

import pytest

from tallystick import ConsolidationRule
from tallystick.surfaces.web.belief import AROUND
from tests.surfaces.web.conftest import Page, asks

# -- a belief ----------------------------------------------------------------------------------------------------------


def test_a_belief_is_told_with_all_that_is_known_of_it(web, m):
    base = m.remember("The board is in the hall", key="board")
    one = m.remember(
        "The **password** is on the board", key="wifi/pass", about="topic-office", tags=["net"], rests_on=["board"],
        evidence=["Ana saw it"], confidence=0.8, valid_from="2026-05-03", session="s1",
    )  # fmt: skip
    m.remember("Guests can go online", key="guests", rests_on=["wifi/pass"])
    now = m.revise("wifi/pass", "The **password** is at the desk", reason="the board is gone", confidence=0.9)
    page = web.page("/beliefs/wifi%2Fpass")

    assert len(page.all("h1")) == 1
    assert "<strong>password</strong>" in page.html
    for word in ("90 %", "net", "Ana saw it", "from 2026-05-03", "the board is gone", "current", "wifi/pass", now.id):
        assert word in page.text
    assert "<del>on</del><ins>at</ins>" in page.html
    assert "confidence: 0.8 0.9" in page.text
    assert {f"/beliefs/{base.id}", f"/beliefs/{m.show('guests').id}", "/graph?at=topic-office"} <= set(page.links)
    assert {f"/timeline/{one.seq}", f"/timeline/{now.seq}", "/timeline?session=s1"} <= set(page.links)
    assert f"/pages/topic-office#entry-{now.id}" in page.links


def test_a_belief_goes_by_its_key_any_of_its_ids_and_the_end_of_one(web, m):
    one = m.remember("Ana prefers tea", key="drink")
    now = m.revise("drink", "Ana prefers coffee")
    for name in ("drink", one.id, now.id, now.id[-6:]):
        assert now.id in web.page(f"/beliefs/{name}").text


def test_what_contradicts_a_belief_stands_at_its_head(web, m):
    one = m.remember("Ana drinks coffee", about="person-ana")
    other = m.remember("Ana does not drink coffee", about="person-ana", key="no-coffee")
    page = web.page(f"/beliefs/{other.id}")

    assert "It contradicts Ana drinks coffee" in page.text
    assert f"/beliefs/{one.id}" in page.links
    assert "contradicts" not in web.page(f"/beliefs/{m.remember('Bob is tall').id}").text


def test_what_is_asked_of_a_belief_leads_to_its_review(web, m):
    one = m.remember("Ana prefers tea", about="person-ana")
    review = asks(m, "revise", one.id, "Ana prefers coffee")

    assert f"/reviews/{review.id}" in web.page(f"/beliefs/{one.id}").links


def test_a_forgotten_belief_says_so_and_offers_no_form(web, m):
    one = m.remember("Ana prefers tea")
    m.forget(one.id, reason="she left")
    page = web.page(f"/beliefs/{one.id}")

    assert "It is forgotten: she left." in page.text
    assert not page.all("form", action=f"/beliefs/{one.id}")


def test_a_belief_is_changed_with_its_page(web, m):
    one = m.remember("Ana prefers tea", about="person-ana")
    assert web.page(f"/beliefs/{one.id}?edit=1").all("input", name="version", value=one.id)
    said = {"do": "change", "version": one.id, "text": "Ana prefers coffee", "reason": "new"}
    answer = web.say(f"/beliefs/{one.id}", follow=False, **said)
    now = m.show(one.id)

    place = f"/beliefs/{now.id}?done=changed&undo={now.id}"
    assert (answer.status_code, answer.headers["location"]) == (303, place)
    assert (now.text, now.reason) == ("Ana prefers coffee", "new")
    assert "Ana prefers coffee" in (m.pages.folder / "person-ana.md").read_text()
    late = web.say(f"/beliefs/{one.id}", do="change", version=one.id, text="Ana prefers water")
    assert late.status_code == 409
    assert "Ana prefers water</textarea>" in late.text
    assert "Ana prefers <del>tea</del><ins>coffee</ins>" in late.text
    assert web.say(f"/beliefs/{one.id}", do="change", version=now.id, text="").status_code == 400
    assert m.show(one.id).id == now.id


def test_a_belief_is_forgotten_only_as_it_was_read(web, m):
    one = m.remember("Ana prefers tea")
    now = m.revise(one.id, "Ana prefers coffee")
    assert web.say(f"/beliefs/{one.id}", do="forget", version=one.id).status_code == 409
    assert m.show(one.id).is_held
    assert "Forgotten." in web.say(f"/beliefs/{one.id}", do="forget", version=now.id, reason="gone").text
    assert m.show(one.id).reason == "gone"


@pytest.mark.parametrize(("said", "signal"), [("helped", 1.0), ("misled", 0.0)])
def test_what_came_of_a_belief_is_noted(web, m, said, signal):
    one = m.remember("Ana prefers tea")
    assert "Saved." in web.say(f"/beliefs/{one.id}", do=said, version=one.id, reason="it was so").text
    body = list(m.log())[-1].body

    assert body is not None
    assert body.get("signal", 1.0) == signal
    assert web.say(f"/beliefs/{one.id}", do="praise", version=one.id).status_code == 400


def test_a_belief_that_is_not_there_is_said_to_be_so(web):
    answer = web.get("/beliefs/%3Cscript%3E")

    assert answer.status_code == 404
    assert "<script>" not in answer.text
    assert web.get("/episodes/nothing").status_code == 404


def test_a_belief_on_a_branch_is_seen_from_there(web, m):
    m.remember("Ana prefers tea", key="drink")
    m.paths.branch("trial")
    m.revise("drink", "Ana prefers rum", path="trial")
    there = web.page("/beliefs/drink?path=trial")

    assert "prefers rum" in there.text
    assert "on the branch trial" in there.text
    forms = [each for each in there.all("form") if str(each["action"]).startswith("/beliefs")]
    assert not forms, "what is said on a branch is changed there"
    assert "prefers rum" not in web.page("/beliefs/drink").text


def test_long_histories_are_cut_and_say_so(web, m):
    with m.batch():
        m.remember("Version 0", key="k")
        for number in range(1, 60):
            m.remember(f"Version {number}", key="k")
    page = web.page("/beliefs/k")

    assert "and 10 older versions" in page.text
    assert page.text.count("revised") == 50


# -- an episode --------------------------------------------------------------------------------------------------------


def test_an_episode_is_told_word_for_word_in_its_session(web, m):
    told = [m.observe(f"Turn {number}\n  says <b>{number}</b>", session="standup", agent="ana") for number in range(6)]
    m.observe("Elsewhere", session="other")
    told += [m.observe(f"Turn {number}\n  says <b>{number}</b>", session="standup") for number in range(6, 12)]
    page = web.page(f"/episodes/{told[6].id}")

    assert "Turn 6\n  says &lt;b&gt;6&lt;/b&gt;</pre>" in page.html
    near = {f"/episodes/{each.source}" for each in told[6 - AROUND : 6 + AROUND + 1]} - {f"/episodes/{told[6].source}"}
    assert {each for each in page.links if each.startswith("/episodes/")} == near
    assert "Elsewhere" not in page.text
    assert {f"/timeline/{told[6].seq}", "/timeline?session=standup"} <= set(page.links)
    assert "Nothing yet." in page.text


def test_an_episode_leads_to_what_was_learned_from_it_and_back(web, m):
    fact = {"subject": "Ana", "predicate": "lives_in", "object": "Oslo"}
    episode = m.observe("Ana told me", session="s", metadata=fact)
    m.consolidate(ConsolidationRule(id="facts"))
    [fact] = m.facts.query(subject="Ana")

    assert f"/beliefs/{fact.version}" in web.page(f"/episodes/{episode.id}").links
    assert f"/episodes/{episode.source}" in web.page(f"/beliefs/{fact.version}").links
    assert "rule facts" in web.page(f"/beliefs/{fact.version}").text
    assert [each.id for each in m.episodes.learned(episode.id)] == [fact.id]
    assert m.episodes.learned(m.observe("Nothing to learn").id) == []


def test_an_episode_that_was_taken_back_says_that_recall_leaves_it_out(web, m):
    episode = m.observe("Nonsense", session="s")
    assert "Not recalled" not in web.page(f"/episodes/{episode.id}").text
    m.episodes.retract(episode.id)
    assert "Not recalled" in web.page(f"/episodes/{episode.id}").text


def test_the_address_of_a_belief_leads_to_the_episode_of_that_name(web, m):
    episode = m.observe("Let's ship", session="s")

    assert "Let's ship" in Page(web.get(f"/beliefs/{episode.id}", follow_redirects=True).text).text


def test_what_is_beside_a_belief_is_what_remember_answered(m):
    m.remember("The colour is red")
    said = m.remember("The colour is blue", key="c")

    assert said.answer
    assert m.similar("c").contradicts == said.answer.contradicts != ()
    assert m.similar("c").why == said.answer.why
