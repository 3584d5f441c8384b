"""Pages, the graph, whom to trust, the ledger and its proofs, following it, and leaving: over HTTP as in Python."""

import asyncio
import io

import orjson

from tallystick import ConsolidationRule, Memory
from tallystick.memory.maintenance.ledger import check_proof
from tests.surfaces.api.conftest import Api

MARKDOWN = {"Accept": "text/markdown"}


def test_a_page_is_written_read_and_said_otherwise(api):
    made = api.post("/v1/pages", json={"name": "project-harbor", "description": "The harbor"})
    assert (made.status_code, made.headers["location"]) == (201, "/v1/pages/project-harbor")
    assert api.say("pages", name="project-harbor", status=400)
    old = api.say("pages/person-ana/entries", text="Ana lives in Berlin.", tags=["home"], status=201)
    new = api.say(f"pages/person-ana/entries/{old['id']}/supersede", text="Ana lives in Munich.", reason="she moved")
    assert api.say(f"pages/person-ana/entries/{old['id']}/supersede", text="no", status=409)["type"].endswith(":Moved")

    page = api.see("pages/person-ana")
    assert [each["text"] for each in page["entries"]] == ["Ana lives in Munich."]
    assert len(api.see("pages/person-ana.md?superseded=true")["entries"]) == 2
    told = api.get("/v1/pages/person-ana", headers=MARKDOWN)
    assert told.headers["content-type"].startswith("text/markdown")
    assert told.text == page["text"] == (api.m.pages.folder / "person-ana.md").read_text("utf-8")
    assert told.headers["vary"] == "Accept"
    assert told.headers["etag"] != api.get("/v1/pages/person-ana").headers["etag"]
    assert [each["id"] for each in api.see("pages/search?query=munich")["entries"]] == [new["id"]]
    assert [each["id"] for each in api.see("pages/recent?limit=1")["entries"]] == [new["id"]]
    assert api.see("pages/person-nobody", status=404)
    assert api.get("/v1/pages/schema").text == api.m.pages.get_schema()
    assert api.see("beliefs/" + new["id"])["about"] == "person-ana"


def test_a_page_of_any_name_says_where_it_is(api):
    for name in ("person-josé", "topic-👩‍🚀", "topic-a b%"):
        made = api.post("/v1/pages", json={"name": name})
        assert made.status_code == 201, made.text
        assert api.get(made.headers["location"]).json()["about"] == made.json()["about"]


def test_a_page_is_described_put_away_and_flagged(api):
    api.say("pages/person-ana/entries", text="Ana lives in Berlin.", status=201)
    said = {"description": "All of Ana", "tags": ["people"], "status": "archived"}
    told = api.patch("/v1/pages/person-ana", json=said).json()

    assert {name: told[name] for name in said} == said
    assert "person-ana.md" not in [each["path"] for each in api.see("pages")["items"]]
    assert "person-ana.md" in [each["path"] for each in api.see("pages?archived=true")["items"]]
    told = api.patch("/v1/pages/person-ana", json={"status": "active", "needs_compact": True, "reason": "long"})
    assert (told.json()["status"], told.json()["needs_compact"]) == ("active", True)


def test_entities_are_known_observed_and_related(api):
    api.say("entities", entities=[{"name": "Ana", "kind": "person", "observations": ["sings"]}, {"name": "Acme"}])
    assert api.say("entities/observations", name="Ana", contents=["sings", "dances"])["contents"] == ["dances"]
    works = {"source": "Ana", "kind": "works_at", "target": "Acme"}
    assert api.say("entities/relations", relations=[works])["relations"] == [works]
    assert api.say("entities/relations", relations=[{**works, "target": "Nobody"}], status=404)

    known = api.see("entities")
    assert (known["relations"], known["entities"][0]["observations"]) == ([works], ["sings", "dances"])


def test_the_graph_is_shown_around_an_entity(api):
    for one, other in (("Ana", "Acme"), ("Acme", "Harbor"), ("Harbor", "Lisbon")):
        api.m.remember(f"{one} knows {other}", triple=(one, "knows", other))

    around = api.see("graph", params={"at": "Ana", "hops": 1})
    assert {each["label"] for each in around["nodes"]} == {"Ana", "Acme"}
    assert len(api.see("graph", params={"at": "Ana", "hops": 2})["nodes"]) == 3
    assert api.see("graph", params={"at": "Ana", "hops": 2, "limit": 1})["is_cut"] is True
    assert len(api.see("graph/path", params={"start": "Ana", "end": "Harbor"})["edges"]) == 2
    assert api.see("graph/envelope")["schema_version"] == 1


def test_whom_to_trust_is_a_persons_word(api, person):
    api.say("remember", text="Ana prefers tea", key="tea", status=201)
    assert [each["source"] for each in api.see("sources")["sources"]] == ["http:local"]
    api.say("distrust", source="http:*", status=403)
    assert person.say("distrust", source="http:*", reason="it made things up")["reason"] == "it made things up"
    assert person.say("recall", question="what does Ana prefer?")["hits"] == []
    api.say("restore-trust", source="http:*", status=403)
    assert person.say("restore-trust", source="http:*")["sources"][0]["withheld"] is None
    assert person.say("restore-trust", source="http:*", status=404)


def test_a_kept_rule_is_run_and_no_other(api):
    api.m.rules.put(ConsolidationRule(id="people"))
    api.m.observe("Acme", metadata={"subject": "Ana", "predicate": "works_at", "object": "Acme"})

    assert [each["rule"]["id"] for each in api.see("rules")["rules"]] == ["people"]
    done = api.say("consolidate", rule="people")
    assert (done["read"], [each["payload"]["object"] for each in done["facts"]]) == (1, ["Acme"])
    assert api.see("facts?predicate=works_at&as_of=2030-01-01")["items"][0]["payload"]["object"] == "Acme"
    assert api.say("consolidate", rule="nobody", status=404)
    assert api.post("/v1/consolidate", json={"rule": {"id": "x"}}).status_code == 422


def test_an_event_is_proved_to_whoever_has_the_key(api):
    api.say("remember", text="Ana prefers tea", key="tea", status=201)
    told = api.say("events/1/proof")

    assert told["event"]["op"] == "belief.put/1"
    assert check_proof(told["proof"], told["key"])["event"]["seq"] == 1
    assert api.say("ledger/checkpoint")["note"].startswith("tallystick/")
    assert api.see("ledger/verify")["outside"] is True
    assert api.see("check") == {"findings": []}
    assert api.see("events/99", status=404)
    assert [each["op"] for each in api.see("events?op=belief")["items"]] == ["belief.put/1"]
    assert api.see("events?start=1&limit=1")["items"][0]["seq"] == 1
    assert api.see("audit?start=1")["items"][0]["action"] == "remember"


def test_an_export_is_taken_in_elsewhere_whole(api, tmp_path):
    with api.m.batch():
        for number in range(60):
            api.m.remember(f"thing {number} " + "x" * 1500, key=f"k{number}")
    told = api.get("/v1/export")

    assert told.headers["content-type"] == "application/x-ndjson"
    assert len(told.content) > 2 << 16
    with Memory(tmp_path / "other") as other:
        assert other.import_export(io.BytesIO(told.content), mine=True).beliefs == 60
        assert [each.text for each in other.beliefs] == [each.text for each in api.m.beliefs]
    assert len(api.get("/v1/export?history=false").content) < len(told.content)


# -- following ---------------------------------------------------------------------------------------------------------


class Told:
    """A feed that is told by hand, and ends when the server does."""

    def __init__(self):
        self.news = asyncio.Queue()

    async def changes(self):
        yield 0
        while (newest := await self.news.get()) is not None:
            yield newest


def parsed(text):
    """The events of a stream: id, kind and data of each. Comments are passed over."""
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            found.append((int(fields["id"]), fields["event"], orjson.loads(fields["data"])))
    return found


def test_a_stream_goes_on_behind_the_last_event_that_was_heard(api):
    with api.m.batch():
        for number in range(450):
            api.m.observe(f"word {number}")
    size = api.m.ledger.size

    whole = parsed(api.get("/v1/events/stream?start=0").text)
    assert [seq for seq, _, _ in whole] == list(range(size))
    assert all(data["seq"] == seq and data["op"] == kind for seq, kind, data in whole)
    rest = parsed(api.get("/v1/events/stream?start=0", headers={"Last-Event-ID": str(size - 3)}).text)
    assert [seq for seq, _, _ in rest] == [size - 2, size - 1]
    assert parsed(api.get("/v1/events/stream").text) == []
    assert parsed(api.get("/v1/events/stream?start=0&op=belief").text) == []
    assert api.get("/v1/events/stream", headers={"Last-Event-ID": "soon"}).status_code == 400
    for ahead in (size, 10**18):
        told = api.get("/v1/events/stream", headers={"Last-Event-ID": str(ahead)})
        assert (told.status_code, "no event" in told.json()["detail"]) == (400, True), "it would wait and say nothing"


def test_what_is_written_while_a_stream_is_open_comes_once_and_in_order(m):
    feed = Told()
    m.observe("before")

    async def scene(api):
        pieces, asked = [], asyncio.Event()

        async def receive():
            if not asked.is_set():
                asked.set()
                return {"type": "http.request", "body": b"", "more_body": False}
            return await asyncio.Event().wait()

        async def send(message):
            pieces.append(message.get("body", b""))

        scope = {
            "type": "http", "method": "GET", "path": "/v1/events/stream", "raw_path": b"/v1/events/stream",
            "query_string": b"op=episode", "headers": [], "http_version": "1.1", "scheme": "http", "root_path": "",
            "server": ("127.0.0.1", 1), "client": ("127.0.0.1", 2), "state": {}, "asgi": {"version": "3.0"},
        }  # fmt: skip
        stream = asyncio.create_task(api.bare(scope, receive, send))
        await asyncio.wait_for(asked.wait(), 10)
        first = await api.hold.run(lambda desk: desk.memory.ledger.size)
        await asyncio.sleep(0.1)
        for number in range(3):
            await api.hold.run(lambda desk, number=number: desk.memory.observe(f"word {number}"))
            await feed.news.put(number)
            await feed.news.put(number)  # said twice
        await feed.news.put(None)
        await asyncio.wait_for(stream, 120)
        await api.hold.close()
        return first, parsed(b"".join(pieces).decode())

    first, heard = asyncio.run(scene(Api(m, feed=feed)))
    assert [(seq, data["body"]["episode"]["content"]) for seq, _, data in heard] == [
        (first + number, f"word {number}") for number in range(3)
    ]
