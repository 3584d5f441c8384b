"""Lists go on where they were, what has not changed is not sent again, and every record comes as it is."""

from urllib.parse import quote

import pytest

from tallystick import Memory
from tests.surfaces.api.conftest import Api


def walk(api, address, limit, **between):
    """All items, a few at a time; between two parts, `each` happens."""
    found, following = [], f"/v1/{address}{'&' if '?' in address else '?'}limit={limit}"
    while following:
        told = api.get(following)
        assert told.status_code == 200, told.text
        part = told.json()
        assert len(part["items"]) <= limit
        found += part["items"]
        link = told.links.get("next", {}).get("url")
        assert (link is None) == (part["next"] is None)
        following = link
        for each in between.values():
            each()
    return found


def test_a_list_that_is_walked_while_others_write_loses_and_doubles_nothing(api):
    for number in range(23):
        api.m.remember(f"thing {number}", key=f"k{number}")
    numbers = iter(range(100))

    def disturb():
        number = next(numbers)
        api.m.revise(f"k{number}", f"thing {number}, again")
        api.m.forget(f"k{22 - number}")
        api.m.remember(f"new {number}", key=f"n{number}")

    keys = [each["key"] for each in walk(api, "beliefs?status=", 5, disturb=disturb)]

    assert keys[:23] == [f"k{number}" for number in range(23)]
    assert len(keys) == len(set(keys))


def test_episodes_come_newest_first_and_go_on_behind_one_that_is_gone(person):
    for number in range(9):
        person.m.observe(f"word {number}", at=f"2026-05-0{1 + number // 3}T09:00:00Z", session="s")
    first = person.see("episodes?limit=4")
    person.m.erase(first["items"][3]["id"])

    rest = person.get("/v1/episodes", params={"limit": 100, "cursor": first["next"]}).json()["items"]

    assert [each["content"] for each in first["items"] + rest] == [f"word {number}" for number in range(8, -1, -1)]
    assert [each["content"] for each in walk(person, "episodes?session=s", 2)] == [
        f"word {number}" for number in range(8, -1, -1) if number != 5
    ]


def test_every_list_can_be_walked_in_small_parts(api):
    for number in range(4):
        triple = ("Ana", "knows", str(number))
        api.m.remember(f"Ana knows {number}", key=f"k{number}", about=f"person-{number}", triple=triple)
        api.m.paths.branch(f"path {number}")
        api.m.propose(api.m.action("forget", f"k{number}", trust="agent"))
        api.say("recall", question=f"knows {number}", receipt=True)

    for address in ("facts", "events", "audit", "frames", "pages", "paths", "reviews?status=any", "receipts"):
        whole = api.see(address + ("&" if "?" in address else "?") + "limit=500")["items"]
        assert len(whole) > 2, address
        assert walk(api, address, 1) == whole, address
        assert walk(api, address, 3) == whole, address


def test_a_cursor_that_nobody_gave_is_refused(api):
    for cursor in ("x", "%00", "é", "AAAA", "A" * 2000, "WzFd", "bm9uc2Vuc2U"):
        for address in ("beliefs", "episodes", "facts", "events", "reviews", "receipts", "pages"):
            told = api.get(f"/v1/{address}?cursor={cursor}")
            assert (told.status_code, "start again" in told.json()["detail"]) == (400, True)


def test_a_cursor_counts_for_its_own_question_alone(api):
    for number in range(5):
        api.m.remember(f"thing {number}", kind="idea")
    cursor = api.see("beliefs?kind=idea&limit=2")["next"]

    assert len(api.see(f"beliefs?kind=idea&limit=1&cursor={cursor}")["items"]) == 1
    assert api.see(f"beliefs?kind=other&cursor={cursor}", status=400)
    assert api.see(f"events?cursor={cursor}", status=400)
    flipped = cursor[:-1] + ("A" if cursor[-1] != "A" else "B")
    assert api.see(f"beliefs?kind=idea&cursor={flipped}", status=400)


def test_a_limit_is_from_1_to_500(api):
    for limit in ("0", "501", "-1", "x", ""):
        assert api.see(f"beliefs?limit={limit}", status=422)["errors"][0]["where"] == "query.limit"


TAGGED = [
    "beliefs", "beliefs/tea", "beliefs/tea/history", "beliefs/tea/why", "beliefs/tea/dependents", "diff?before=0",
    "episodes", "episodes/e1", "facts?as_of=2026-05-03", "facts/tea", "facts/tea/history", "frames", "pages",
    "pages/person-ana", "pages/search?query=tea", "pages/recent", "graph?at=person-ana", "graph/envelope",
    "graph/path?start=person-ana&end=person-ana", "entities", "paths", "paths/plan-b", "sources",
]  # fmt: skip
UNTAGGED = ["recall?question=tea", "facts", "status", "events", "events/1", "audit", "reviews", "receipts", "rules"]


@pytest.fixture
def filled(api):
    api.m.remember("Ana prefers tea", key="tea", about="person-ana", triple=("Ana", "prefers", "tea"))
    api.m.observe("hello", id="e1")
    api.m.paths.branch("plan-b")
    return api


def test_what_has_not_changed_is_not_sent_again(filled):
    tags = {}
    for address in TAGGED:
        first = filled.get(f"/v1/{address}")
        assert (first.status_code, first.headers["cache-control"]) == (200, "private, no-cache"), address
        tags[address] = first.headers["etag"]
    filled.m.recall("tea", receipt=True)
    filled.m.receipts.flush()
    for address, tag in tags.items():
        again = filled.get(f"/v1/{address}", headers={"If-None-Match": f'"x", W/{tag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag), address
    filled.m.remember("Bob prefers rum", key="rum")
    for address, tag in tags.items():
        other = filled.get(f"/v1/{address}", headers={"If-None-Match": tag})
        assert (other.status_code, other.headers["etag"] != tag) == (200, True), address
    assert len(set(tags.values())) == len(tags)


def test_what_the_clock_or_a_receipt_changes_has_no_tag(filled):
    for address in UNTAGGED:
        assert "etag" not in filled.get(f"/v1/{address}", headers={"If-None-Match": "*"}).headers, address


def test_one_questions_tag_is_not_anothers(filled):
    tag = filled.get("/v1/beliefs/tea").headers["etag"]

    assert filled.get("/v1/beliefs", headers={"If-None-Match": tag}).status_code == 200
    assert filled.get("/v1/beliefs/nobody", headers={"If-None-Match": tag}).status_code == 404


def test_a_304_asks_the_memory_for_its_mark_alone(filled, monkeypatch):
    tag = filled.get("/v1/beliefs").headers["etag"]

    def read(*_, **__):
        raise AssertionError("it was asked for more")

    monkeypatch.setattr("tallystick.memory.beliefs.store.BeliefStore.page", read)
    assert filled.get("/v1/beliefs", headers={"If-None-Match": tag}).status_code == 304
    assert filled.get("/v1/beliefs").status_code == 500


def test_a_tag_outlives_the_server_and_a_snapshot(m):
    m.remember("Ana prefers tea", key="tea")
    m.ledger.compact()
    tags = []
    for _ in range(2):
        with Api(m) as api:
            tags.append(api.get("/v1/beliefs").headers["etag"])
            api.portal.call(api.hold.close)
    with Memory(m.folder) as other:
        assert other.content_version() == m.content_version()
    assert tags[0] == tags[1]


def test_a_page_that_was_edited_by_hand_is_sent_again(filled):
    tag = filled.get("/v1/pages/person-ana").headers["etag"]
    file = filled.m.pages.folder / "person-ana.md"
    file.write_text(file.read_text() + "\n", "utf-8")

    assert filled.get("/v1/pages/person-ana", headers={"If-None-Match": tag}).status_code == 200


def test_what_was_held_then_is_shown_as_it_was(filled):
    then = filled.m.ledger.size - 1
    filled.m.revise("tea", "Ana prefers coffee")
    filled.m.remember("Bob prefers rum", key="rum")

    assert filled.see(f"beliefs/tea?believed_at={then}")["text"] == "Ana prefers tea"
    assert [each["key"] for each in filled.see(f"beliefs?believed_at={then}")["items"]] == ["tea"]
    assert {each["key"]: each["what"] for each in filled.see(f"diff?before={then}")["changes"]} == {
        "tea": "changed", "rum": "added",
    }  # fmt: skip
    assert filled.see("beliefs?believed_at=yesterday-ish", status=400)


def test_names_with_a_slash_and_with_anything_else_are_found(api):
    for key in ("a/b", "über tea", "100%", "a?b#c", "<b>", "👩‍🚀"):
        api.m.remember(f"the key is {key}", key=key)
        assert api.see(f"beliefs/{quote(key, safe='')}")["key"] == key
        assert len(api.see(f"beliefs/{quote(key, safe='')}/history")["versions"]) == 1


def test_filters_narrow_the_list(api):
    api.m.remember("Ana prefers tea", kind="preference", tags=["taste"], about="person-ana", confidence=0.9)
    api.m.remember("Bob may prefer rum", kind="fact", confidence=0.2, key="rum")
    api.m.forget("rum")

    def texts(query):
        return [each["text"] for each in api.see(f"beliefs?{query}")["items"]]

    tea, rum = ["Ana prefers tea"], ["Bob may prefer rum"]
    for query in ("kind=preference", "tag=taste", "about=person-ana", "containing=TEA", "min_confidence=0.5"):
        assert texts(query) == tea
    assert (texts("status=tombstone"), texts("status=")) == (rum, tea + rum)


def test_a_path_sees_what_was_said_on_it(api):
    api.say("paths", name="plan-b", status=201)
    api.say("remember", text="Bob prefers rum", key="rum", path="plan-b", status=201)

    assert api.see("beliefs")["items"] == []
    assert [each["key"] for each in api.see("beliefs?path=plan-b")["items"]] == ["rum"]
    assert api.say("recall", question="rum?", path="plan-b")["hits"][0]["text"] == "Bob prefers rum"
    assert api.say("paths/plan-b/merge", dry_run=True)["done"] is False
    assert api.see("beliefs")["items"] == []
    done = api.say("paths/plan-b/merge")
    assert (done["done"], [each["key"] for each in done["brought"]]) == (True, ["rum"])
    assert api.say("paths/plan-b/abandon", reason="x", status=400)
    api.say("paths", name="plan/c", status=201)
    assert api.say("paths/plan%2Fc/abandon", reason="no")["abandoned_reason"] == "no"
    api.say("paths", name="d", status=201)
    assert api.say("paths/d/compact", summary="We chose rum")["compaction_status"] == "compacted"


def test_an_answer_that_lacks_vectors_says_so(api, monkeypatch):
    monkeypatch.setattr("tallystick.recall.vectors.FEW", 0)
    api.m.remember("Ana prefers tea")

    found = api.post("/v1/recall", json={"question": "tea"}).json()
    assert [hit["text"] for hit in found["hits"]] == ["Ana prefers tea"]
    assert found["incomplete"] == "vectors are being made: 0 of 1; answered by words"
