"""What is said over HTTP is held as the memory holds it, with the server's own trust."""

import pytest

from tallystick import Memory


def test_what_is_remembered_is_held_and_says_where_it_is(api):
    told = api.post("/v1/remember", json={"text": "Ana prefers tea", "key": "tea", "about": "person-ana"})

    assert (told.status_code, told.json()["answer"]["what"], told.json()["is_shown"]) == (201, "new", True)
    held = api.m.show("tea")
    assert (held.text, held.trust, held.about) == ("Ana prefers tea", "agent", "person-ana")
    assert next(api.m.log(held.seq)).by == "http:local"
    assert told.headers["location"] == f"/v1/beliefs/{held.id}"
    assert api.get(told.headers["location"]).json() == told.json()["belief"]


def test_what_is_known_is_not_written_again(api):
    api.say("remember", text="Ana prefers tea", key="tea", status=201)
    before = api.m.ledger.size

    again = api.say("remember", text="Ana prefers tea", key="tea")

    assert (again["answer"]["what"], api.m.ledger.size) == ("known", before)


def test_an_idempotency_key_makes_a_call_count_once(api):
    def say(text, **how):
        return api.say("remember", text=text, headers={"Idempotency-Key": "call-1"}, **how)["belief"]

    first = say("Ana prefers tea", status=201)
    assert say("Ana prefers tea") == first
    refused = api.say("remember", text="Ana prefers gin", headers={"Idempotency-Key": "call-1"}, status=422)
    assert refused["type"] == "urn:tallystick:error:KeyReused"
    assert len(api.m.beliefs) == 1
    one = api.say("observe", text="hello", headers={"Idempotency-Key": "e-1"}, status=201)["episode"]
    assert api.say("observe", text="hello", headers={"Idempotency-Key": "e-1"})["episode"] == one
    assert one["id"] == "e-1"
    assert "e-1" in api.say("observe", text="bye", headers={"Idempotency-Key": "e-1"}, status=422)["detail"]
    assert [each.content for each in api.m.episodes.recent()] == ["hello"]


def test_every_field_of_a_belief_is_taken(api):
    api.say("remember", text="It rains", key="rain", status=201)
    said = {
        "about": "topic-weather", "kind": "decision", "confidence": 0.4, "source_type": "inferred", "evidence": ["a"],
        "tags": ["t"], "is_hypothesis": True, "rests_on": [api.m.show("rain").id], "triple": ["a", "b", "c"],
        "valid_from": "2026-05-03", "valid_to": "2026-06-03", "expires": "2030-01-01", "always": True,
        "data": {"x": [1]}, "session": "s", "agent": "g", "trust": "agent",
    }  # fmt: skip

    held = api.say("remember", text="We take umbrellas", key="k", status=201, **said)["belief"]

    assert {name: held[name] for name in said} == said


def test_what_a_tool_says_waits_and_the_answer_says_so(api):
    told = api.say("remember", text="A page says so", trust="web", status=201)

    assert told["is_shown"] is False
    assert api.say("recall", question="what does a page say?")["hits"] == []


def test_nobody_claims_more_trust_than_the_server_has(api):
    assert "agent" in api.say("remember", text="I am Ana", trust="human", status=400)["detail"]
    assert len(api.m.beliefs) == 0


def test_secrets_are_masked_and_named(api):
    told = api.say("remember", text="the key is ghp_0123456789abcdefghijABCDEFGHIJ012345", status=201)

    assert told["masked"] == ["GitHub token"]
    assert "ghp_0123" not in told["belief"]["text"]


def test_revising_replaces_and_keeps_the_history(api):
    api.say("remember", text="Ana prefers tea", key="tea", status=201)

    new = api.say("revise", name="tea", text="Ana prefers coffee", reason="she said so", tags=["taste"])["belief"]

    assert (new["text"], new["reason"], new["tags"]) == ("Ana prefers coffee", "she said so", ["taste"])
    history = api.see("beliefs/tea/history")["versions"]
    assert [each["belief"]["text"] for each in history] == ["Ana prefers tea", "Ana prefers coffee"]
    assert api.see("beliefs/tea/why")["because"] == ["revised: she said so"]


@pytest.mark.parametrize("verb", ["revise", "forget", "invalidate"])
def test_a_version_that_was_replaced_is_not_written_over(api, verb):
    old = api.say("remember", text="Ana prefers tea", key="tea", status=201)["belief"]["id"]
    now = api.say("revise", name="tea", text="Ana prefers coffee")["belief"]["id"]
    before = api.m.ledger.size
    body = {"name": "tea", "reason": "x", **({"text": "Ana prefers rum"} if verb == "revise" else {})}

    told = api.post(f"/v1/{verb}", json=body, headers={"If-Match": f'"{old}"'})

    assert (told.status_code, told.headers["content-type"]) == (412, "application/problem+json")
    assert now in told.json()["detail"]
    assert api.m.ledger.size == before
    assert api.post(f"/v1/{verb}", json=body, headers={"If-Match": f'"{old}", "{now}"'}).status_code == 200
    assert api.m.ledger.size > before


def test_the_id_of_an_old_version_is_refused_without_any_header(api):
    old = api.say("remember", text="Ana prefers tea", key="tea", status=201)["belief"]["id"]
    api.say("revise", name="tea", text="Ana prefers coffee")

    assert api.say("revise", name=old, text="Ana prefers rum", status=409)["type"].endswith(":Moved")


def test_what_a_person_stated_changes_only_with_a_persons_yes(api, person):
    api.m.remember("Ana prefers tea", key="tea")
    held = api.m.show("tea")

    told = api.post("/v1/forget", json={"name": "tea", "reason": "old"}, headers={"If-Match": f'"{held.id}"'})

    assert told.status_code == 202
    assert told.headers["content-type"] == "application/problem+json"
    asked = api.get(told.headers["location"]).json()
    assert (asked["id"], asked["status"], asked["action"]["reason"]) == (told.json()["review"], "waiting", "old")
    assert api.m.show("tea") == held
    assert "marker" not in asked
    assert "agent" in api.say(f"reviews/{asked['id']}/approve", status=403)["detail"]
    assert [each["id"] for each in api.see("reviews")["items"]] == [asked["id"]]
    done = person.say(f"reviews/{asked['id']}/approve", digest=asked["digest"])
    assert (done["status"], api.m.show("tea").status) == ("approved", "tombstone")
    assert api.see("reviews")["items"] == []
    assert len(api.see("reviews?status=any")["items"]) == 1


def test_a_person_may_say_no_and_a_program_may_take_its_question_back(api, person):
    api.m.remember("Ana prefers tea", key="tea")
    first = api.say("forget", name="tea", status=202)["review"]
    assert person.say(f"reviews/{first}/reject", reason="it is true")["status"] == "rejected"
    second = api.say("revise", name="tea", text="Ana prefers rum", status=202)["review"]
    assert api.say(f"reviews/{second}/withdraw")["status"] == "stale"
    assert api.m.show("tea").text == "Ana prefers tea"


def test_forgetting_takes_beliefs_and_episodes(api):
    api.say("remember", text="Ana prefers tea", key="tea", status=201)
    episode = api.say("observe", text="hello", status=201)["episode"]["id"]

    gone, back = api.say("forget", name="tea"), api.say("forget", name=episode)

    assert (gone["belief"]["status"], gone["episode"]) == ("tombstone", None)
    assert (back["episode"]["content"], back["belief"]) == ("hello", None)
    assert api.say("forget", name="nobody", status=404)["type"].endswith(":NotFound")


def test_what_rests_on_something_wrong_is_weakened(api):
    api.say("remember", text="The release is 2.0", key="release", status=201)
    api.say("remember", text="The schema is new", key="schema", rests_on=["release"], status=201)
    assert [each["key"] for each in api.see("beliefs/release/dependents")["beliefs"]] == ["schema"]

    weak = api.say("invalidate", name="release", reason="it is 2.1")["weakened"]

    assert [(each["key"], each["is_hypothesis"], each["confidence"]) for each in weak] == [("schema", True, 0.35)]


def test_erasing_is_only_told_until_it_is_confirmed(person):
    person.say("remember", text="Ana prefers tea", key="tea", status=201)
    before = person.m.ledger.size

    would = person.say("erase", names=["tea"])
    assert (would["done"], would["events"], person.m.ledger.size) == (False, 1, before)
    assert [each["text"] for each in would["beliefs"]] == ["Ana prefers tea"]
    assert person.say("erase", names=["tea"], confirm=True)["done"] is True
    assert person.see("beliefs/tea", status=404)
    assert person.see("events/1")["body"] is None


def test_a_program_that_would_erase_asks(api):
    api.say("remember", text="Ana prefers tea", key="tea", status=201)

    assert api.say("erase", names=["tea"], confirm=True, status=202)["review"]
    assert api.m.show("tea").text == "Ana prefers tea"


def test_what_came_of_it_counts_for_what_was_served(api):
    api.say("remember", text="Ana prefers tea", key="tea", status=201)
    served = api.say("recall", question="what does Ana prefer?", receipt=True, keep_question=True)

    assert api.say("outcome", receipt=served["receipt"])["ids"] == [served["hits"][0]["id"]]
    receipt = api.see(f"receipts/{served['receipt']}")
    assert receipt["question"] == "what does Ana prefer?"
    assert api.say(f"receipts/{served['receipt']}/replay")["question"] == "what does Ana prefer?"
    assert [each["id"] for each in api.see("receipts")["items"]] == [served["receipt"]]


def test_episodes_fade_only_for_a_person(api, person):
    episode = api.say("observe", text="small talk", status=201)["episode"]["id"]

    api.say("archive", names=[episode], status=403)
    assert person.say("archive", names=[episode])["ids"] == [episode]
    assert api.say("episodes/retract", names=[episode], reason="a test")["withdrawn"] is False


def test_another_users_memory_is_out_of_reach(m, api):
    with Memory(m.folder, user="bob") as bob:
        theirs = bob.remember("Bob prefers rum", key="rum", about="person-bob")
        told = bob.observe("Bob said so", session="s")
        asked = bob.propose(bob.action("forget", "rum", trust="agent"))
        found = bob.recall("rum", receipt=True)
        bob.receipts.flush()
    m.observe("later")

    for address in (
        f"beliefs/{theirs.id}", f"beliefs/{theirs.id}/history", f"beliefs/{theirs.id}/why", f"episodes/{told.source}",
        f"reviews/{asked.id}", f"receipts/{found.receipt}", f"events/{theirs.seq}", "pages/person-bob",
        f"facts/{theirs.id}", "graph?at=person-bob",
    ):  # fmt: skip
        assert "rum" not in str(api.see(address, status=404)), address
    api.say(f"events/{theirs.seq}/proof", status=404)
    for verb in ("revise", "forget", "invalidate"):
        api.say(verb, name=theirs.id, reason="x", status=404, **({"text": "x"} if verb == "revise" else {}))
    for address in (
        "beliefs?status=", "episodes", "facts", "entities", "reviews?status=any", "receipts", "recall?question=rum",
        "export", "graph/envelope", "sources", "pages", "audit", "events?limit=500",
    ):  # fmt: skip
        assert b"Bob" not in api.get(f"/v1/{address}").content, address
    assert api.post("/v1/recall", json={"question": "rum", "user": "bob"}).status_code == 422
