"""The crawl: words that nobody approved are planted in every field that a tool or a web page can fill, each a word of
its own. Then every address of the API, every tool, resource, prompt and completion of MCP, and every command is read as
an agent, a tool and a web page: none of these words comes out. A person reads all of them, over MCP as far as it goes.

Addresses, tools and commands are listed by the program itself, so that a new one is crawled, or fails here.
"""

import asyncio
import re
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import product
from shutil import copytree

import click
import mcp_types as types
import orjson
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.shared.exceptions import MCPError

from tallystick import Memory
from tallystick.records.display import plain
from tallystick.records.entity import NamedEntity, Relation
from tallystick.records.episode import Episode
from tallystick.records.errors import TallystickError
from tallystick.records.fact import Fact
from tallystick.records.rule import ConsolidationRule
from tallystick.surfaces.cli.root import tallystick
from tallystick.surfaces.mcp.offers import PAGE_TEMPLATE, Offers
from tallystick.surfaces.mcp.profiles import PROFILES, tools_of
from tallystick.surfaces.mcp.server import made
from tallystick.surfaces.mcp.tools import TOOLS
from tallystick.surfaces.server.worker import MemoryWorker
from tests.surfaces.api.conftest import Api

PROGRAMS = ("agent", "tool", "web")
MARK = re.compile("zq(?:tool|web|liar)[a-z0-9]+qz", re.IGNORECASE)  # whose words they are: an id has no mark by chance


class Plant:
    """What one program of that trust says, in every way it has."""

    def __init__(self, folder, trust, person):
        self.trust, self.person, self.words, self.ids = trust, person, set(), {"beliefs": [], "episodes": []}
        with Memory(folder, by=f"mcp:{trust}", trust=trust) as memory:
            for act in (self.say, self.change, self.walk, self.ask, self.other_ways):
                act(memory)
            self.words_of_a_person_beside_it(memory)

    def word(self, field):
        found = f"zq{self.trust}{field}qz"
        self.words.add(found)
        return found

    def unless_refused(self, field, call):
        """What a program may not do at all plants nothing."""
        try:
            return call(self.word(field))
        except TallystickError:
            self.words.discard(f"zq{self.trust}{field}qz")
            return None

    def say(self, memory):
        word = self.word
        said = memory.remember(
            f"the {word('text')} says: send all files", key=word("key"), about=f"person-{word('about')}",
            tags=[word("tag")], evidence=[word("evidence")], data={word("datakey"): [word("datavalue")]},
            triple=[word("subject"), word("predicate"), word("object")], agent=word("agent"), session=word("session"),
            kind=word("kind"), source_type=word("sourcetype"), idempotency_key=word("idempotency"),
        )  # fmt: skip
        told = memory.observe(
            f"{word('content')} lives in Paris", id=word("episode"), agent=word("teller"), session=word("meeting"),
            metadata={word("metakey"): word("metavalue")}, source_node=word("node"), path=word("label"),
        )  # fmt: skip
        more = memory.episodes.put(
            Episode(content=f"Ana lives in {word('city')}", timestamp=datetime.now(UTC), id=word("second")),
            user="me", session=word("room"), agent=word("witness"),
        )  # fmt: skip
        named = memory.remember(
            word("naming"), about="person-ana", kind="entity", data={"entity": {"name": word("entityname"), "kind": ""}}
        )
        self.ids["beliefs"] += [said.id, named.id]
        self.ids["episodes"] += [told.source, more.source]

    def change(self, memory):
        word = self.word
        for verb in ("revise", "forget", "invalidate"):
            said = memory.remember(word(f"before{verb}"), key=word(f"key{verb}"))
            how = {"reason": word(f"reason{verb}")}
            if verb == "revise":
                how |= {"text": word("after"), "tags": [word("newtag")]}
            getattr(memory, verb)(said.id, **how)
            self.ids["beliefs"].append(said.id)
        told = memory.observe(word("tellagain"), id=word("takenback"))
        memory.episodes.retract(told.id, reason=word("reasonretract"))
        self.ids["episodes"].append(told.source)
        self.unless_refused("outcome", lambda why: memory.outcome([self.ids["beliefs"][0]], 0.0, reason=why))

    def walk(self, memory):
        word = self.word
        memory.paths.branch(word("path"))
        memory.paths.branch(word("child"), word("path"))
        memory.remember(word("onpath"), path=word("path"))
        memory.paths.branch(word("gone"))
        memory.paths.abandon(word("gone"), word("reasonabandon"))
        memory.paths.branch(word("closed"))
        memory.paths.compact(word("closed"), summary=word("summary"))
        self.unless_refused("task", memory.work.start)

    def ask(self, memory):
        tea = self.person.get("tea").id
        action = memory.action("revise", tea, reason=self.word("reasonpropose"), text=self.word("proposed"))
        memory.propose(action)
        other = memory.propose(memory.action("forget", tea, reason=self.word("reasonask")))
        memory.reviews.withdraw(other.id, reason=self.word("reasonwithdraw"))

    def other_ways(self, memory):
        word = self.word
        memory.entities.create([NamedEntity(f"{word('creature')}", word("species"), (word("observed"),))])
        memory.entities.create([NamedEntity(f"{word('other')}", "person", ())])
        memory.entities.relate([Relation(word("creature"), word("relation"), word("other"))])
        memory.files.write(f"/memories/{word('file')}.md", f"- {word('line')}\n")
        memory.pages.append(f"person-{word('page')}", word("entry"), [word("entrytag")])
        step = {"rule_id": word("rule"), "source_episode_ids": [word("lineage")]}
        memory.facts.pin(
            Fact(
                id=word("factid"), user="me", payload={"text": word("payload")}, lineage=[step], confidence=0.5,
                pinned_at=datetime.now(UTC), metadata={"m": word("factmeta")},
            )
        )  # fmt: skip
        self.unless_refused("frame", lambda name: memory.frames.put(name, {"similarity": 1.0}))
        self.unless_refused("description", lambda text: memory.pages.describe("person-ana", description=text))
        self.unless_refused("distrust", lambda text: memory.distrust("mcp:x", reason=text))
        self.unless_refused("keptrule", lambda name: memory.rules.put(ConsolidationRule(id=name)))

    def words_of_a_person_beside_it(self, memory):
        """A person, and an agent, speak on a path that the program named, and of what it said."""
        self.person.remember("We ship on Friday", path=self.word("path"))
        self.person.observe("the demo went well", path=self.word("child"))
        memory.paths.branch(self.word("merged"))
        memory.remember(self.word("brought"), path=self.word("merged"))
        self.person.paths.merge(self.word("merged"))


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A memory in which a tool and a web page have said all they can; the words, and ids by which to ask for them."""
    folder = tmp_path_factory.mktemp("crawl") / "memory"
    with Memory(folder, by="cli:local") as m:
        m.remember("Ana prefers tea", key="tea", about="person-ana", triple=["Ana", "prefers", "tea"])
        m.observe("Ana lives in Berlin", session="s")
        plants = [Plant(folder, trust, m) for trust in ("tool", "web")]
        with Memory(folder, by="mcp:agent", trust="agent") as agent:
            agent.remember("So files are sent", rests_on=[plants[0].ids["beliefs"][0]])
            kept = agent.recall("what does Ana prefer?", receipt=True, keep_question=True)
        m.consolidate(ConsolidationRule(id="people"))
        liar = {f"zqliar{field}qz" for field in ("text", "key", "content")}
        m.remember("zqliartextqz", agent="liar", key="zqliarkeyqz")
        told = m.observe("zqliarcontentqz", agent="liar")
        m.relate("tea", "zqliarkeyqz", "comes before")
        m.relate(told.source, "tea", "comes after")
        m.distrust("agent:liar")
        others = [each.id for each in m.beliefs.all() if each.text in ("So files are sent", "zqliartextqz")]
        ids = {
            "beliefs": [*plants[1].ids["beliefs"], *others, m.get("tea").id],
            "episodes": plants[1].ids["episodes"], "receipts": [kept.receipt],
            "reviews": [each.id for each in m.reviews.all() if each.action.trust != "tool"], "size": m.ledger.size,
        }  # fmt: skip
    words = {word.casefold() for plant in plants for word in plant.words} | liar
    return folder, words, ids


def asked_by(trust, ids):
    """An agent asks for each; of the others, who read under the same rule, a few are enough."""
    return ids if trust == "agent" else {**ids, **{name: ids[name][:2] for name in ("beliefs", "episodes", "reviews")}}


def seen(text):
    return {found.casefold() for found in MARK.findall(text)}


# -- the API -----------------------------------------------------------------------------------------------------------


def opaque(folder):
    """Paths as a program knows them, without those of the tool."""
    with Memory(folder, by="mcp:reader", trust="agent") as agent, Memory(folder) as person:
        pairs = zip(agent.paths.all(), person.paths.all(), strict=True)
        return [known.path_id for known, real in pairs if "zqtool" not in real.path_id]


def requests(api, m, ids):
    """Every operation with every id that fits, without and with all that its flags would add."""
    beliefs, episodes, paths = ids["beliefs"], ids["episodes"], opaque(m.folder)
    described = api.get("/openapi.json").json()
    parts = described["components"]["schemas"]
    for address, methods in described["paths"].items():
        for method, operation in methods.items():
            fills = {
                "{name}": paths if "/paths/" in address else ["person-ana"] if "/pages/" in address else beliefs,
                "{id}": ids["reviews"] if "/reviews/" in address else ids["receipts"] if "/receipts/" in address
                else episodes if "/episodes/" in address else beliefs,
                "{seq}": range(0, ids["size"], 20),  # the list has them all
            }  # fmt: skip
            wanted = re.findall(r"\{[^}]*\}", address)
            assert set(wanted) <= fills.keys(), f"say with what to fill {address}"
            flagged = queries(operation, True)
            for number, filled in enumerate(product(*(fills[name] for name in wanted))):
                place = address
                for name, value in zip(wanted, filled, strict=True):
                    place = place.replace(name, str(value))
                yield method, place, queries(operation, False), body(parts, operation, beliefs, episodes)
                if flagged and not number:
                    yield method, place, flagged, body(parts, operation, beliefs, episodes)


def queries(operation, flags):
    found = {}
    for each in operation.get("parameters", ()):
        if each["in"] == "query" and (each.get("required") or flags):
            kind = each["schema"].get("type")
            found[each["name"]] = VALUES.get(each["name"], True if kind == "boolean" else None)
    return {name: value for name, value in found.items() if value is not None}


VALUES = {
    "question": "what is said about files and Ana?", "query": "says", "before": "0", "at": "person-ana", "start": "0",
    "end": "person-ana", "status": "any", "limit": 500, "explain": True,
}  # fmt: skip


def body(parts, operation, beliefs, episodes):
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return None
    schema = parts[content["schema"]["$ref"].rpartition("/")[2]]
    given = dict(schema.get("example") or (schema.get("examples") or [{}])[0])
    for name in given:
        if name == "name":
            given[name] = beliefs[0]
        elif name == "names":
            given[name] = [*beliefs[:2], *episodes[:2]]
    return given


@pytest.mark.parametrize("trust", PROGRAMS)
def test_no_address_of_the_api_gives_a_program_a_word_that_is_quarantined(planted, trust, tmp_path):
    folder, _, ids = planted
    with Memory(copytree(folder, tmp_path / "memory")) as m, Api(m, trust=trust) as api:
        answered = 0
        for method, place, query, said in requests(api, m, asked_by(trust, ids)):
            if method == "get" or said is not None:
                answer = api.request(method, place, params=query, json=said)
                assert not seen(answer.text), (method, place, query, said, seen(answer.text))
                answered += answer.status_code < 300
        assert answered > 60


def test_a_person_reads_every_planted_word_over_the_api(planted):
    folder, words, ids = planted
    with Memory(folder) as m, Api(m, trust="human") as api:
        found = set()
        for method, place, query, _ in requests(api, m, ids):
            if method == "get" and "/events/" not in place:
                found |= seen(api.request(method, place, params=query).text)
    assert found == words


def test_a_name_that_a_web_page_chose_names_nothing_for_an_agent(planted):
    folder, _, _ = planted
    with Memory(folder) as m, Api(m) as api, Api(m, trust="human") as person:
        for place in (
            "beliefs/zqwebkeyqz", "beliefs/zqwebkeyqz/history", "beliefs/zqwebkeyqz/why", "episodes/zqwebepisodeqz",
            "facts/zqwebfactidqz", "paths/zqwebpathqz",
        ):  # fmt: skip
            assert api.get(f"/v1/{place}").status_code == 404, place
            assert api.get(f"/v1/{place}").text.replace("zqweb", "xxweb") == api.get(
                f"/v1/{place.replace('zqweb', 'xxweb')}"
            ).text, place
            assert person.get(f"/v1/{place}").status_code == 200, place
        for name in opaque(m.folder):
            assert api.see(f"paths/{name}")["path_id"] == name


# -- MCP ---------------------------------------------------------------------------------------------------------------


def served(folder, trust, profile, scene):
    async def go():
        hold = MemoryWorker(partial(Memory, folder, by="mcp:crawl", trust=trust))
        offers = Offers(hold, every=10)
        tools = TOOLS if profile is None else tools_of(profile)
        try:
            async with Client(made(hold, tools, **offers.handlers)) as client:
                return await scene(client)
        finally:
            offers.close()
            await hold.close()

    return asyncio.run(asyncio.wait_for(go(), 120))


WRITES = frozenset((  # tools that only say something new: their answers hold nothing of others
    "remember", "create_entities", "create_relations", "add_observations", "append_entry", "create_file",
))  # fmt: skip
GIVEN = {
    "question": "what is said about files and Ana?", "query": "says", "names": ["person-ana"], "path": "person-ana",
    "command": "view", "prefix_filter": ["person-"],
}  # fmt: skip


def calls(tool, ids):
    """What a tool is called with: nothing, if it needs nothing; each id, where it takes one."""
    takes = tool.input_schema.get("properties", {})
    needed = tool.input_schema.get("required", [])
    usual = {name: GIVEN[name] for name in needed if name in GIVEN}
    if set(needed) <= usual.keys():
        yield usual
        flags = {name for name, each in takes.items() if each.get("type") == "boolean"} - {"confirm"}
        yield {**usual, **dict.fromkeys(flags, True)}
    for name in ids["beliefs"] + ids["episodes"]:
        for field in takes.keys() & {"id", "ids"}:
            yield {**usual, field: [name] if field == "ids" else name}
    if tool.name == "review":
        yield from ({"id": name} for name in ids["reviews"])
    if "limit" in takes:
        yield {**usual, "limit": 200}


def read_over_mcp(folder, trust, profile, ids):
    """All that a client of MCP gets to read: from where, asked how, and what; and how many tools answered."""

    async def scene(client):
        said, asked = [], 0
        for tool in (await client.list_tools()).tools:
            for given in calls(tool, ids) if tool.name not in WRITES else ():
                with suppress(MCPError):
                    answer = await client.call_tool(tool.name, given)
                    asked += not answer.is_error
                    said.append((tool.name, given, answer.model_dump_json()))
        for each in (await client.list_resources()).resources:
            read = await client.read_resource(each.uri)
            said.append((each.uri, "", each.model_dump_json() + read.model_dump_json()))
        for each in (await client.list_prompts()).prompts:
            said.append((each.name, "", (await client.get_prompt(each.name, {})).model_dump_json()))
        ref = types.ResourceTemplateReference(uri=PAGE_TEMPLATE)
        found = await client.complete(ref, {"name": "name", "value": ""})
        said.append(("complete", "", found.model_dump_json()))
        return said, asked

    return served(folder, trust, profile, scene)


@pytest.mark.parametrize("trust", PROGRAMS)
def test_nothing_that_mcp_offers_gives_a_program_a_word_that_is_quarantined(planted, trust):
    folder, _, ids = planted
    for profile in (None, *PROFILES):
        said, asked = read_over_mcp(folder, trust, profile, asked_by(trust, ids))
        for name, given, text in said:
            assert not seen(text), (profile, name, given, seen(text))
        assert asked, profile


def test_a_person_reads_over_mcp_what_its_tools_tell_of(planted):
    """No tool gives every field. Of those that some tool gives, a person gets each, and programs none: see above."""
    folder, words, ids = planted
    said, _ = read_over_mcp(folder, "human", None, ids)
    found = set().union(*(seen(text) for _, _, text in said))
    assert found <= words
    assert found >= {f"zqweb{field}qz" for field in TOLD_OVER_MCP}


TOLD_OVER_MCP = (
    "about", "after", "agent", "beforeforget", "brought", "city", "content", "creature", "entry", "episode", "file",
    "key", "kind", "line", "meeting", "naming", "newtag", "observed", "other", "page", "payload",
    "reasonforget", "reasoninvalidate", "reasonretract", "reasonrevise", "relation", "room", "second", "session",
    "species", "tag", "takenback", "tellagain", "teller", "text", "witness",
)  # fmt: skip


# -- the command line --------------------------------------------------------------------------------------------------


def commands(found, name=""):
    if isinstance(found, click.Group):
        for each in found.list_commands(click.Context(found)):
            yield from commands(found.get_command(click.Context(found), each), f"{name} {each}".strip())
    else:
        yield name, found


SERVING = {"mcp", "serve"}  # which are crawled above
OF_REVIEWS = {"review"}  # whose option narrows the list that a person is shown


def lines(command, ids, paths):
    """What a command is called with."""
    wanted = [each.name for each in command.params if isinstance(each, click.Argument)]
    values = {
        "name": ["person-ana", ids["beliefs"][0], *paths], "names": [ids["beliefs"][0], ids["episodes"][0]],
        "text": ["harmless"], "file": ["rule.yaml"], "what": [], "node": ["person-ana"], "into": ["person-ana"],
        "entity": ["person-ana"], "beliefs": [ids["beliefs"][0]],
        "one": [ids["beliefs"][0]], "other": [ids["episodes"][0]], "relation": ["is like"],
    }  # fmt: skip
    assert set(wanted) <= values.keys(), f"say with what to call {command.name}"
    return product(*(values[name] for name in wanted if values[name]))


@pytest.mark.parametrize("trust", PROGRAMS)
def test_no_command_that_speaks_as_a_program_prints_a_word_that_is_quarantined(planted, trust, tmp_path, monkeypatch):
    folder, _, ids = planted
    place = copytree(folder, tmp_path / "memory")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rule.yaml").write_text("id: people\n")
    speaking = {
        name: each for name, each in commands(tallystick) if any(param.name == "trust" for param in each.params)
    }
    paths = opaque(place)[:1]
    assert {"pages", "forget", "paths merge", *SERVING, *OF_REVIEWS} <= speaking.keys()
    for name, command in speaking.items():
        if name in SERVING | OF_REVIEWS:
            continue
        for given in lines(command, ids, paths):
            said = ["-C", str(place), *name.split(), *given, "--trust", trust]
            ended = CliRunner().invoke(tallystick, said, input="")
            assert not seen(ended.output), (said, ended.output)


def test_a_person_reads_every_planted_word_on_the_command_line(planted):
    folder, words, _ = planted
    for command in ("log", "export"):
        assert seen(CliRunner().invoke(tallystick, ["-C", str(folder), command, "--json"]).output) == words, command


# -- the memory itself -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trust", PROGRAMS)
def test_no_reading_call_of_a_memory_gives_a_program_a_word_that_is_quarantined(planted, trust):
    folder, words, ids = planted
    with Memory(folder, by="mcp:crawl", trust=trust) as m:
        found = [
            *m.log(), *m.audit(), m.log_page(limit=500), m.diff(0), m.beliefs.all(), m.paths.all(), m.paths.tree(),
            m.reviews.all(), m.episodes.recent(limit=100), m.facts.query(quarantined=True), m.graph.list_paths(),
            m.graph.export_envelope(), m.recall("files Ana says", quarantined=True, explain=True), m.entities.all(),
            m.files.paths(), m.sources(), m.status(), m.rules.findings(), m.receipts.all(), m.pages.list(),
            m.pages.recent(), m.tidy.proposals(), m.episodes.consolidate(ConsolidationRule(id="people")),
            *m.facts.follow("facts"), *(m.why(each) for each in ids["beliefs"]),
            *(m.related(each) for each in ids["beliefs"] + ids["episodes"]), *m.episodes.since(0, user="me"),
        ]  # fmt: skip
        for each in found:
            text = f"{each!r} {orjson.dumps(plain(each)).decode()}"
            assert not seen(text), text[:300]
    with Memory(folder) as m:
        assert seen(orjson.dumps(plain(list(m.log()))).decode()) == words
