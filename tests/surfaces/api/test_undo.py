"""Over HTTP: a change is undone, two moments are compared, and entities are merged, split and filed again."""

import pytest


def test_the_last_change_of_the_server_is_undone_and_that_too(api):
    api.say("remember", text="Ana prefers tea", key="tea", status=201)
    api.say("revise", name="tea", text="Ana prefers rum")

    shown = api.say("undo", dry_run=True)
    assert (shown["seq"], api.m.show("tea").text) == (-1, "Ana prefers rum")
    done = api.say("undo", reason="a slip")

    [change] = done["changes"]
    assert (change["before"]["text"], change["after"]["text"]) == ("Ana prefers rum", "Ana prefers tea")
    assert (done["op"], done["event"]) == (shown["op"], shown["event"])
    assert api.m.show("tea").text == "Ana prefers tea"
    api.say("undo", event=done["seq"])
    assert api.m.show("tea").text == "Ana prefers rum"


def test_a_persons_change_is_undone_once_a_person_approves_it(api):
    api.m.remember("Ana prefers tea", key="tea")
    asked = api.say("undo", event="tea", status=202)

    assert api.m.show("tea").is_held
    api.m.reviews.approve(asked["review"])
    assert not api.m.show("tea").is_held


def test_what_cannot_be_undone_is_refused_and_names_what_is_in_the_way(api):
    api.say("remember", text="Ana prefers tea", key="tea", status=201)
    first = api.m.show("tea").seq
    api.say("revise", name="tea", text="Ana prefers rum")
    later = api.m.show("tea").seq

    assert str(later) in api.say("undo", event=first, status=400)["detail"]
    assert api.say("undo", event="nobody", status=404)["type"].endswith("NotFound")
    assert api.say("undo", event=-1, status=422)["errors"]


def test_two_moments_are_compared_for_one_entity_with_who_and_why(api):
    api.m.remember("Bob prefers milk", about="person-bob")
    before = api.m.ledger.size - 1
    api.m.remember("Ana prefers tea", key="tea", about="person-ana")
    api.m.remember("Bob plays chess", about="person-bob")
    api.m.revise("tea", "Ana prefers rum", reason="she said so")

    [change] = api.get("/v1/diff", params={"before": before, "about": "Ana"}).json()["changes"]
    assert (change["what"], change["after"]["text"], change["by"]) == ("added", "Ana prefers rum", api.m._context.by)
    [change] = api.get("/v1/diff", params={"before": before + 1, "after": before + 3}).json()["changes"][:1]
    assert change["reason"] in ("she said so", "")
    assert api.get("/v1/diff", params={"before": "yesterday"}).status_code == 400


def test_entities_are_merged_split_and_parted_as_on_the_command_line(person):
    person.m.remember("Maja likes tea", about="person-maja", key="tea")
    person.m.remember("Maya leads the roof project", about="person-maya", key="roof")

    shown = person.say("entities/merge", name="Maja", into="Maya", sure=True, dry_run=True)
    assert (shown["done"], shown["node"], shown["into"]) == (False, "person-maja", "person-maya")
    assert [each["after"]["about"] for each in shown["filing"]["changes"]] == ["person-maya"]
    assert person.say("entities/merge", name="Maja", into="Maya", sure=True)["done"] is True
    assert person.m.show("tea").about == "person-maya"
    assert person.say("entities/unmerge", name="person-maja")["id"] == "person-maja"
    assert person.m.show("tea").about == "person-maja"
    moved = person.say("entities/split", name="Maya", beliefs=["roof"], to="Ona")
    assert (person.m.show("roof").about, len(moved["changes"])) == ("person-ona", 1)
    assert person.say("entities/refile", dry_run=True)["seq"] == -1


def test_likely_duplicates_are_asked_about_once(person):
    for name in ("person-ana", "person-anna"):
        person.m.remember(f"{name} likes tea", about=name, triple=("Ana", "likes", "tea"))
    asked = person.say("entities/merge", name="person-anna", into="person-ana", status=202)["review"]

    assert asked in [each["id"] for each in person.say("entities/same")["reviews"]]
    person.m.reviews.reject(asked)
    assert asked not in [each["id"] for each in person.say("entities/same")["reviews"]]


@pytest.mark.parametrize("call", ["entities/merge", "entities/split"])
def test_an_entity_that_nobody_knows_is_not_found(person, call):
    given = {"into": "Ana"} if call == "entities/merge" else {"beliefs": ["tea"], "to": "Ana"}
    assert person.say(call, name="Nobody At All", **given, status=404)["type"].endswith("NotFound")
