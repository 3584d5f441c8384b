"""Home: what was learned, what waits, how the chain stands; and saying something there."""

from datetime import UTC, datetime

import pytest

from tallystick import Memory
from tests.surfaces.web.conftest import Page, Web, asks


def test_a_fresh_memory_says_what_to_do_first(web):
    page = web.page("/")

    assert "No memories yet" in page.text
    for command in ('remember "Ana prefers tea"', "connect", "import FILE"):
        assert f"tallystick -C {web.m.folder} {command}" in page.text
    assert page.all("textarea", name="text")
    assert len(page.all("h1")) == 1


def test_the_first_commands_name_no_folder_if_it_is_meant_anyway(m, monkeypatch):
    monkeypatch.setenv("TALLYSTICK_HOME", str(m.folder))

    with Web(m) as web:
        assert 'tallystick remember "Ana prefers tea"' in web.page("/").text


def test_what_was_learned_stands_there_newest_first_with_its_page_and_who_said_it(web):
    web.m.remember("Ana prefers tea", about="person-ana", tags=["taste"])
    newest = web.m.remember("Bob is allergic to peanuts", about="person-bob")

    page = web.page("/")

    assert page.text.index("Bob is allergic") < page.text.index("Ana prefers tea")
    assert f"/beliefs/{newest.id}" in page.links
    assert "/pages/person-bob" in page.links
    assert "Today" in page.text
    assert "just now" in page.text
    assert page.all("time")
    assert "taste" in page.text
    assert page.all("li", data_id=newest.id)


def test_what_was_forgotten_replaced_or_taken_back_is_not_there(web):
    web.m.forget(web.m.remember("Ana lives in Porto").id)
    old = web.m.remember("The port is 5432")
    web.m.revise(old.id, "The port is 6543", reason="it moved")
    web.m.forget(web.m.observe("Ana said hello", session="standup").source)

    text = web.page("/").text

    assert "Porto" not in text
    assert "5432" not in text
    assert "hello" not in text
    assert "The port is 6543" in text
    assert "it moved" in text


def test_turns_of_one_conversation_are_one_line_that_leads_to_all_of_them(web):
    for turn in range(5):
        web.m.observe(f"turn {turn}", session="stand up", agent="planner")

    page = web.page("/")

    assert "turn 4" in page.text
    assert "turn 3" not in page.text
    assert "5 turns" in page.text
    assert "/timeline?session=stand%20up" in page.links
    assert len(page.all("li", data_id=web.m.episodes.recent(limit=1)[0].source)) == 1


def test_only_the_newest_are_shown_however_many_there_are(web):
    with web.m.batch():
        for number in range(40):
            web.m.remember(f"The number {number} has a friend called f{number}x")

    page = web.page("/")

    assert "f39x" in page.text
    assert "f27x" not in page.text
    assert "f0x" not in page.text
    assert "40" in page.text


def test_what_waits_for_a_yes_is_named_with_its_words_and_linked(web):
    said = web.m.remember("Ana prefers tea")
    review = asks(web.m, "revise", said.id, "Ana prefers coffee", reason="she ordered one")

    page = web.page("/")

    assert f"/reviews/{review.id}" in page.links
    assert "1 pending review" in page.text
    assert "Revise: Ana prefers coffee" in page.text


def test_what_a_web_page_said_is_marked_until_a_person_says_yes(web):
    with Memory(web.m.folder, by="web:1", trust="web") as agent:
        agent.remember("Harbor is insecure", about="project-harbor")

    assert "needs approval" in web.page("/").text
    (review,) = web.m.reviews.waiting()
    web.m.reviews.approve(review.id)
    assert "needs approval" not in web.page("/").text


def test_the_chain_says_how_it_stands_and_through_which_door_the_last_write_came(web):
    web.m.remember("Ana prefers tea")
    assert "none yet" in web.page("/").text

    web.m.ledger.checkpoint()
    page = web.page("/")

    assert "Ledger OK" in page.text
    assert "from Python" in page.text
    assert "all events" in page.text


def test_saying_something_is_held_as_a_persons_word_through_the_page(web):
    answer = web.say("/", text="Ana prefers tea\r\nand cake", about="person-ana", tags="taste, food, taste,")

    (belief,) = web.m.beliefs
    assert (belief.text, belief.about, belief.tags) == ("Ana prefers tea\nand cake", "person-ana", ("taste", "food"))
    assert belief.trust == "human"
    assert web.m.status().by == "page:local"
    page = Page(answer.text)
    assert "Remembered: Ana prefers tea and cake, on page Ana." in page.text
    assert answer.history[0].status_code == 303


@pytest.mark.parametrize(
    ("known", "again", "told"),
    [
        ("The colour is red", "The colour is red", ["Already known as: The colour is red"]),
        ("The colour is red", "The colour is blue", ["It contradicts The colour is red"]),
        ("The port is 5432", "The port is 6543", ["Corrected: The port is 6543", "It replaces: The port is 5432"]),
    ],
)
def test_the_answer_says_what_is_known_contradicted_or_replaced(web, known, again, told):
    web.m.remember(known)

    page = Page(web.say("/", text=again).text)

    assert all(words in page.text for words in told)
    assert f"/beliefs/{next(iter(web.m.beliefs)).id}" in page.links


def test_a_secret_is_masked_and_that_is_said(web):
    answer = web.say("/", text="The token is ghp_" + "a1B2" * 9)

    assert "It contained a secret, which was masked." in Page(answer.text).text
    assert "a1B2a1B2" not in answer.text


@pytest.mark.parametrize("text", ["  ", "x" * (1 << 21)], ids=["empty", "too long"])
def test_a_text_that_is_refused_stays_with_what_else_was_typed(web, text):
    answer = web.say("/", text=text, about='person-"ana"', tags="<b>")

    page = Page(answer.text)
    assert answer.status_code == 400
    assert text.strip() in answer.text
    assert page.all("p", role="alert")
    assert page.all("input", name="about", value='person-"ana"')
    assert page.all("input", name="tags", value="<b>")
    assert web.m.ledger.size == 1


def test_an_address_that_names_nothing_known_tells_of_no_answer(web):
    said = web.m.remember("Ana prefers tea")

    for address in ("/?said=nobody&how=new", f"/?said={said.id}&how=<b>", "/?how=new", "/?said=&how=new&against="):
        assert "Remembered" not in web.page(address).text
    assert "Remembered" in web.page(f"/?said={said.id}&how=new&against=nobody&near=").text


def test_what_the_server_tells_stands_at_the_top_as_text(web):
    web.app._app.state.notices = ["a crash left 12 bytes <b>unfinished</b>; they are kept in sealed/"]

    page = web.page("/")

    assert "12 bytes <b>unfinished</b>" in page.text
    assert not page.all("b")


def test_where_an_old_stretch_is_damaged_the_new_one_is_shown(tmp_path):
    with Memory(tmp_path / "memory") as m:
        for number in range(3):
            m.remember(f"Fact {number} is about tea")
        m.ledger.compact()
        m.remember("Ana prefers coffee")
    (sealed,) = (tmp_path / "memory" / "sealed").glob("*.wal*")
    sealed.write_bytes(sealed.read_bytes().replace(b"Fact 1", b"Fact 9"))
    with Memory(tmp_path / "memory") as m, Web(m) as web:
        page = web.page("/")

        assert "Ana prefers coffee" in page.text
        assert "Fact 2" in page.text
        assert "Fact 0" not in page.text


def test_days_are_named_as_people_name_them():
    from tallystick.surfaces.present.names import day_name

    assert day_name(datetime.now(UTC).astimezone().date()) == "Today"
    assert day_name(datetime(2024, 5, 3).date()) == "Friday, 3 May 2024"
