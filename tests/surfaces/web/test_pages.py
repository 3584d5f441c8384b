"""Pages in a browser: read, searched, edited in place; a change is a version, and nobody's typing is lost."""

import re
from urllib.parse import unquote

import pytest

from tallystick import Memory
from tallystick.surfaces.web.pages import AT_ONCE
from tests.surfaces.web.conftest import Page


def entries(page):
    """The ids of the entries that a page shows."""
    return [str(each["id"]).removeprefix("entry-") for each in page.all("article")]


# -- all of them -------------------------------------------------------------------------------------------------------


def test_a_memory_without_pages_says_how_they_come(web):
    page = web.page("/pages")

    assert "No entries yet" in page.text
    assert "tallystick remember" in page.text
    assert len(page.all("h1")) == 1
    assert page.all("label", for_="q")


def test_pages_are_listed_by_kind_with_how_much_is_on_them(web, m):
    m.remember("Ana prefers tea", about="person-ana")
    m.remember("Ana works at Acme", about="person-ana")
    m.remember("Harbor ships in May", about="project-harbor")
    m.remember("Old news", about="topic-news")
    m.pages.archive("topic-news")
    page = web.page("/pages")

    assert "People 1 Ana 2 entries" in page.text
    assert "Projects 1 Harbor 1 entry" in page.text
    assert "1 page archived or dormant News" in page.text
    assert "Topics" not in page.text.partition("New page")[0], "an archived page is listed separately"
    assert page.all("a", class_="page-name", href="/pages/person-ana")


def test_a_search_finds_pages_by_name_and_entries_by_words(web, m):
    m.remember("Ana prefers tea", about="person-ana")
    old = m.remember("The colour is red", about="topic-colour")
    m.revise(old.id, "The colour is blue", reason="painted")
    page = web.page("/pages?q=red")

    assert "The colour is red" in page.text
    assert "replaced" in page.text, "what was replaced is found too, and says so"
    assert page.all("a", href=f"/pages/topic-colour?earlier=1#entry-{old.id}")
    assert web.page("/pages?q=ana").all("a", class_="page-name", href="/pages/person-ana")
    assert "No matching entries" in web.page("/pages?q=zebra").text
    assert web.page("/pages?q=%22%28%2A%20OR%20NEAR").all("h1"), "no words are wrong"


# -- one ---------------------------------------------------------------------------------------------------------------


def test_a_page_is_shown_as_a_person_reads_it(web, m):
    m.remember("# Tea\n\nAna **prefers** tea", about="person-ana", tags=["taste"], agent="planner", confidence=0.9)
    page = web.page("/pages/person-ana")

    assert page.all("h1")[0] is not None
    assert page.text.count("Ana") >= 2
    assert "<strong>prefers</strong>" in page.html
    assert "<h3>Tea</h3>" in page.html
    for word in ("taste", "planner", "90 % sure", "you"):
        assert word in page.text


def test_the_newest_entry_stands_first_and_the_rest_is_a_link_away(web, m):
    with m.batch():
        for number in range(AT_ONCE + 5):
            m.remember(f"Entry number {number}", about="topic-many", key=f"k{number}")
    first = web.page("/pages/topic-many")
    more = next(each["href"] for each in first.all("a", class_="button") if "before=" in (each["href"] or ""))
    second = web.page(str(more))

    assert len(entries(first)) == AT_ONCE
    assert f"Entry number {AT_ONCE + 4}" in first.text
    assert len(entries(second)) == 5
    assert "Entry number 0 " in second.text
    assert not set(entries(first)) & set(entries(second))
    assert not [each for each in second.all("a", class_="button") if "before=" in (each["href"] or "")]


def test_what_was_replaced_is_hidden_until_asked_for_and_told_by_its_successor(web, m):
    old = m.remember("The wifi password is on the board", about="topic-office")
    new = m.revise(old.id, "The wifi password is at the desk", reason="the board is gone")
    gone = m.remember("The office is closed on Friday", about="topic-office")
    m.forget(gone.id, reason="it is not")
    page = web.page("/pages/topic-office")

    assert entries(page) == [new.id]
    assert "Show 2 earlier" in page.text
    assert "1 earlier version" in page.text
    assert "<del>on</del>" in page.html
    assert "<ins>at</ins>" in page.html
    every = web.page("/pages/topic-office?earlier=1")
    assert sorted(entries(every)) == sorted([old.id, new.id, gone.id])
    assert "retracted" in every.text
    assert len([each for each in every.all("a") if "data-edit" in each]) == 1, "only what holds can be edited"


def test_a_page_as_its_file_reads(web, m):
    m.remember("Ana <b>prefers</b> tea", about="person-ana")
    page = web.page("/pages/person-ana?file=1")

    assert str(m.pages.folder / "person-ana.md") in page.text
    assert "## [" in page.text
    assert "Ana <b>prefers</b> tea" in page.text
    assert not page.all("b")


def test_a_page_that_was_edited_in_its_file_shows_what_the_file_says(web, m):
    m.remember("Ana prefers tea", about="person-ana", key="drink")
    web.page("/pages/person-ana")
    file = m.pages.folder / "person-ana.md"
    file.write_text(file.read_text().replace("prefers tea", "prefers coffee"))
    page = web.page("/pages/person-ana")

    assert "Ana prefers coffee" in page.text
    assert m.show("drink").text == "Ana prefers coffee"


def test_what_is_not_understood_in_a_file_is_told_and_the_page_is_shown_all_the_same(web, m):
    m.remember("Ana prefers tea", about="person-ana")
    web.page("/pages/person-ana")
    file = m.pages.folder / "person-ana.md"
    file.write_bytes(file.read_bytes() + b"\n## #q\nnew <script> \xfe\n")
    page = web.page("/pages/person-ana")

    assert "could not be imported" in page.text
    assert "Ana prefers tea" in page.text
    assert [each.get("src") for each in page.all("script")] == ["/static/tallystick.js", "/static/pages.js"]


@pytest.mark.parametrize(
    ("name", "status"),
    [("person-nobody", 404), ("zebra", 400), ("..%2F..%2Fetc%2Fpasswd", 404), ("%00", 400),
     ("person-" + "x" * 3_000, 404)],
)  # fmt: skip
def test_a_page_that_is_not_there_is_said_to_be_so(web, name, status):
    answer = web.get(f"/pages/{name}")

    assert answer.status_code == status
    assert "<h1>" in answer.text


def test_another_users_page_is_not_found(web, m):
    with Memory(m.folder, user="bob") as bobs:
        mine = bobs.remember("Bob has a secret plan", about="topic-plan")

    assert web.get("/pages/topic-plan").status_code == 404
    assert web.get(f"/beliefs/{mine.id}").status_code == 404
    assert "secret plan" not in web.page("/pages?q=plan").text
    assert web.say("/pages/topic-plan", do="forget", version=mine.id).status_code == 404


# -- writing -----------------------------------------------------------------------------------------------------------


def test_a_change_becomes_a_version_that_takes_the_place_of_what_was_read(web, m):
    old = m.remember("Ana prefers tea", about="person-ana", tags=["taste"])
    form = web.page(f"/pages/person-ana?edit={old.id}")
    assert "Ana prefers tea</textarea>" in form.html
    assert form.all("input", name="version", value=old.id)
    said = {"do": "change", "version": old.id, "text": "Ana prefers coffee", "reason": "she said so"}
    answer = web.say("/pages/person-ana", follow=False, **said)
    now = m.show(old.id)

    assert answer.status_code == 303
    assert answer.headers["location"] == f"/pages/person-ana?done=changed&undo={now.id}#entry-{now.id}"
    assert (now.text, now.reason, now.tags, now.trust) == ("Ana prefers coffee", "she said so", ("taste",), "human")
    assert m.history(old.id)[-1].by == "page:local"
    assert "Ana prefers coffee" in (m.pages.folder / "person-ana.md").read_text()
    assert "Changed." in web.page("/pages/person-ana?done=changed").text


def test_a_change_to_what_somebody_else_changed_meanwhile_changes_nothing_and_keeps_what_was_typed(web, m):
    old = m.remember("The port is 5432", about="topic-port")
    now = m.revise(old.id, "The port is 6543", reason="it moved")
    answer = web.say("/pages/topic-port", do="change", version=old.id, text="The port is <7777>", reason="mine & yours")
    page = Page(answer.text)

    assert answer.status_code == 409
    assert m.show(old.id).id == now.id, "nothing was changed"
    assert "<del>5432</del><ins>6543</ins>" in page.html, "what came between is shown"
    assert "The port is &lt;7777&gt;</textarea>" in page.html, "what was typed is still there"
    assert page.all("input", name="reason", value="mine & yours")
    assert page.all("input", name="version", value=now.id), "sent again, it takes the place of what is there now"
    web.say("/pages/topic-port", do="change", version=now.id, text="The port is <7777>")
    assert m.show(old.id).text == "The port is <7777>"


def test_a_change_that_is_refused_keeps_what_was_typed(web, m):
    old = m.remember("Ana prefers tea", about="person-ana")
    answer = web.say("/pages/person-ana", do="change", version=old.id, text="  ", reason="kept")

    assert answer.status_code == 400
    assert Page(answer.text).all("input", name="reason", value="kept")
    assert m.show(old.id).id == old.id


def test_saying_the_same_again_changes_nothing(web, m):
    old = m.remember("Ana prefers tea", about="person-ana")
    answer = web.say("/pages/person-ana", do="change", version=old.id, text="Ana prefers tea", follow=False)

    assert "done=same" in answer.headers["location"]
    assert len(m.history(old.id)) == 1


def test_a_text_survives_the_form_as_it_is(web, m):
    text = "\n  first\n\n\ttabbed 😀 <b>&amp;</b>"
    old = m.remember(text, about="topic-odd")
    form = web.page(f"/pages/topic-odd?edit={old.id}").html
    inside = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", form, re.DOTALL)

    assert inside
    assert inside[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace("&#34;", '"') == text


def test_an_entry_is_added_once_however_often_the_form_is_sent(web, m):
    m.remember("Ana prefers tea", about="person-ana")
    once = str(web.page("/pages/person-ana").all("input", name="once")[0]["value"])
    for _ in range(2):
        web.say("/pages/person-ana", do="add", text="Ana lives in Berlin", tags="#home, place", once=once)
    told = [entry for entry in m.pages.read("person-ana").entries if "Berlin" in entry.text]

    assert len(told) == 1
    assert set(told[0].tags) >= {"home", "place"}


def test_an_entry_that_is_refused_is_still_in_the_form(web, m):
    m.remember("Ana prefers tea", about="person-ana")
    answer = web.say("/pages/person-ana", do="add", text="<too long> " * 120_000, tags="a b")
    page = Page(answer.text)

    assert answer.status_code == 400
    assert "&lt;too long&gt; &lt;too long&gt;" in page.html
    assert page.all("input", name="tags", value="a b")
    assert "Ana prefers tea" in page.text
    assert len(m.pages.read("person-ana").entries) == 1


def test_a_page_is_begun_with_its_first_entry(web, m):
    answer = web.say("/pages", kind="person", name=" Ana-María & Bob ", text="They are friends", once="1")

    assert answer.status_code == 200
    assert "They are friends" in answer.text
    assert unquote(str(answer.url).rpartition("/")[2]).startswith("person-ana-maría-bob")
    assert web.say("/pages", kind="person", name=" -- ", text="x").status_code == 400
    assert web.say("/pages", kind="../etc", name="x", text="x").status_code == 400
    assert web.say("/pages", kind="person", name="Zoe", text=" ").status_code == 400
    assert "person-zoe" not in {info.about for info in m.pages.list()}


def test_an_entry_is_forgotten_with_a_reason_and_only_the_one_that_was_read(web, m):
    old = m.remember("Ana prefers tea", about="person-ana")
    now = m.revise(old.id, "Ana prefers coffee")
    other = m.remember("Bob prefers rum", about="person-bob")
    assert web.say("/pages/person-ana", do="forget", version=old.id).status_code == 409
    assert web.say("/pages/person-ana", do="forget", version=other.id).status_code == 404, "it is on another page"
    assert web.say("/pages/person-ana", do="forget", version="x" * 100_000).status_code == 404
    assert web.say("/pages/person-ana", do="burn").status_code == 400
    assert m.show(other.id).is_held
    assert m.show(old.id).is_held
    page = Page(web.say("/pages/person-ana", do="forget", version=now.id, reason="she left").text)

    assert "Forgotten." in page.text
    assert (m.show(old.id).status, m.show(old.id).reason) == ("tombstone", "she left")


def test_pages_that_somebody_made_by_hand_are_found_when_looked_for(web, m):
    m.remember("Ana prefers tea", about="person-ana")
    (m.pages.folder / "person-zoe.md").write_text("# Zoe\n\n## #taste\nZoe likes figs\n")
    (m.pages.folder / "person-yan.md").write_text("# Yan\n\n## #taste\nYan likes plums\n")

    assert "Zoe likes figs" in web.page("/pages/person-zoe").text, "by its name"
    assert not web.page("/pages").all("a", href="/pages/person-yan")
    assert "Synced." in web.say("/pages", do="sync").text
    assert web.page("/pages").all("a", href="/pages/person-yan")


def test_a_page_is_put_away_and_taken_up_again(web, m):
    m.remember("Ana prefers tea", about="person-ana")
    assert "Archived." in web.say("/pages/person-ana", do="archive").text
    assert m.pages.read("person-ana").info.status == "archived"
    assert "Restored." in web.say("/pages/person-ana", do="activate").text
    assert m.pages.read("person-ana").info.status == "active"


def test_a_secret_that_is_typed_is_masked_and_the_page_says_so(web, m):
    old = m.remember("The key is somewhere", about="topic-key")
    secret = "ghp_" + "16C7e42F292c6912E771" + "0c838347Ae178B4a"
    page = Page(web.say("/pages/topic-key", do="change", version=old.id, text=f"The key is {secret}").text)

    assert "masked" in page.text
    assert secret not in page.text
