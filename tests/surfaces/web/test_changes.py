"""On the page: a change is undone after a look, two moments are compared, entities are merged and split."""

import pytest

EVIL = '"><script>alert(1)</script>'


def hidden_fields(page):
    return {found["name"]: found["value"] for found in page.all("input", type="hidden") if found["name"] != "csrf"}


def test_what_an_undo_puts_back_is_shown_first_and_then_it_is_done(web):
    web.m.remember("Ana prefers tea", key="tea", about="person-ana")
    web.m.revise("tea", "Ana prefers rum")
    page = web.page("/undo?event=tea")

    assert "Ana prefers" in page.text
    assert web.m.show("tea").text == "Ana prefers rum"
    done = web.say("/undo", **hidden_fields(page), reason="a slip")
    assert "Undone." in done.text
    assert web.m.show("tea").text == "Ana prefers tea"
    assert "a slip" in web.m.show("tea").reason
    assert f'href="/undo?event={web.m.show("tea").seq}"' in done.text  # which can be undone too


def test_an_undo_that_later_changes_forbid_says_which_and_changes_nothing(web):
    first = web.m.remember("Ana prefers tea", key="tea")
    later = web.m.revise("tea", "Ana prefers rum")
    answer = web.get(f"/undo?event={first.seq}")

    assert answer.status_code == 200
    assert "<button class=\"primary\"" not in answer.text
    assert f"undo those first: {later.seq}" in answer.text
    assert web.say("/undo", event=str(first.seq)).status_code == 400
    assert web.say("/undo").status_code == 400
    assert web.get("/undo?event=nobody").status_code == 404
    assert web.post("/undo", data={"event": str(later.seq)}).status_code == 403
    assert web.m.show("tea").text == "Ana prefers rum"


@pytest.mark.parametrize("do", ["change", "forget"])
def test_where_a_change_is_confirmed_it_can_be_undone(web, do):
    belief = web.m.remember("Ana prefers tea", key="tea", about="person-ana")
    done = web.say(f"/beliefs/{belief.id}", do=do, version=belief.id, text="Ana prefers rum")

    assert f'/undo?event={web.m.show("tea").id}' in done.text
    web.m.undo(web.m.show("tea").id)
    assert web.m.show("tea").text == "Ana prefers tea"
    entry = web.m.show("tea").id
    done = web.say("/pages/person-ana", do=do, version=entry, text="Ana prefers rum")
    assert f'/undo?event={web.m.show("tea").id}' in done.text


def test_the_timeline_offers_to_undo_what_can_be(web):
    belief = web.m.remember("Ana prefers tea")
    page = web.page("/timeline")

    assert page.all("a", href=f"/undo?event={belief.seq}")
    assert not page.all("a", href="/undo?event=0")  # the beginning of the ledger
    assert page.all("a", href="/changes")
    assert "remembered" in web.page("/undo").text


def test_two_moments_are_compared_also_in_words_and_for_one_entity(web):
    web.m.remember("Ana prefers tea", key="tea", about="person-ana")
    before = web.m.ledger.size - 1
    web.m.revise("tea", "Ana prefers rum", reason="she said so")
    web.m.remember("Bob plays chess", about="person-bob")
    page = web.page(f"/changes?since={before}&about=Ana")

    assert ("she said so" in page.text, "Bob plays chess" in page.text) == (True, False)
    assert (list(page.all("del")) != [], list(page.all("ins")) != []) == (True, True)
    assert "Bob plays chess" in web.page("/changes?since=yesterday").text
    assert "Nothing changed" in web.page(f"/changes?since={web.m.ledger.size - 1}").text
    assert web.get("/changes?since=nonsense").status_code == 400


def test_entities_are_suggested_by_name_and_none_of_them_is_markup(web):
    web.m.remember("Maya Lindqvist leads the roof project", about="Maya Lindqvist")
    web.m.remember("a strange one", about=EVIL)
    page = web.page("/")

    options = {found["value"] for found in page.all("option")}
    assert {"Maya Lindqvist", EVIL} <= options
    assert page.all("input", id="about", list="entities")
    for address in ("/", "/changes", "/merge", "/split", f"/merge?name={EVIL}&into={EVIL}", f"/split?name={EVIL}"):
        assert "<script>alert" not in web.get(address).text, address


def test_titles_are_names_wherever_a_page_is_named(web):
    belief = web.m.remember("Maya Lindqvist leads the roof project", about="Maya Lindqvist")

    for address in ("/", "/pages", "/pages/person-maya-lindqvist", f"/beliefs/{belief.id}", "/search?q=roof"):
        page = web.page(address)
        assert "Maya Lindqvist" in page.text, address
        assert "person-maya-lindqvist" not in page.text, address


def test_two_entities_are_merged_after_a_look_and_that_can_be_undone(web):
    web.m.remember("Maja likes tea", about="person-maja", key="tea")
    web.m.remember("Maya leads the roof project", about="person-maya")
    page = web.page("/merge?name=Maja&into=Maya")

    assert "Maja likes tea" in page.text
    assert web.m.show("tea").about == "person-maja"
    done = web.say("/merge", **hidden_fields(page))
    assert "Merged." in done.text
    assert web.m.show("tea").about == "person-maya"
    web.m.undo()
    assert web.m.show("tea").about == "person-maja"
    assert web.get("/merge?name=Maja&into=Maja").status_code == 400
    assert web.get("/merge?name=Nobody&into=Maja").status_code == 404


def test_chosen_beliefs_are_moved_to_another_entity_after_a_look(web):
    tea = web.m.remember("Ana likes tea", about="person-ana", key="tea")
    web.m.remember("Ana likes rum", about="person-ana", key="rum")
    page = web.page("/split?name=Ana")

    assert {found["value"] for found in page.all("input", type="checkbox")} >= {tea.id}
    page = web.page(f"/split?name=Ana&to=Ona&belief={tea.id}")
    assert web.m.show("tea").about == "person-ana"
    done = web.say("/split", **hidden_fields(page))
    assert "Moved." in done.text
    assert [web.m.show(key).about for key in ("tea", "rum")] == ["person-ona", "person-ana"]
