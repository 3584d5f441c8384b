"""What a tool or a web page states under a name keeps that name from nobody who is trusted more."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tallystick import KeyReused, Memory
from tallystick.records.entity import NamedEntity
from tallystick.surfaces.cli.root import tallystick as program


@pytest.fixture
def web(door):
    return door("web", "mcp:page")


def test_an_idempotency_key_of_a_web_page_is_no_persons_and_no_two_programs_share_one(memory, web, door):
    web.remember("Order 17 was cancelled", idempotency_key="order-17-paid")
    mine = memory.remember("Order 17 was paid", idempotency_key="order-17-paid")

    assert (mine.text, mine.trust, memory.is_shown(mine.id)) == ("Order 17 was paid", "human", True)
    assert memory.remember("Order 17 was paid", idempotency_key="order-17-paid").id == mine.id
    said = {door("agent", f"mcp:{n}").remember(f"The build is {n}", idempotency_key="k").id for n in (1, 2)}
    assert len(said) == 2


def test_other_words_under_a_used_idempotency_key_are_refused_and_a_retry_is_known_until_it_is_erased(memory):
    first = memory.remember("The port is 5432", key="port", idempotency_key="order-17")
    memory.revise("port", "The port is 6543")
    size = memory.ledger.size

    for other in ("The port is 6543", "Order 17 was refunded"):
        with pytest.raises(KeyReused, match="'order-17'"):
            memory.remember(other, key="port", idempotency_key="order-17")
    with pytest.raises(KeyReused):
        memory.pages.append("person-ana", "Ana drinks tea", idempotency_key="order-17")
    with Memory() as again:
        assert again.remember("The port is 5432", key="port", idempotency_key="order-17").key == first.key
        with pytest.raises(KeyReused):
            again.remember("The port is 6543", key="port", idempotency_key="order-17")
    assert memory.ledger.size == size
    memory.erase("port")
    assert memory.remember("nougat", idempotency_key="order-17").text == "nougat", "it leaves no gist"


def test_a_persons_revision_of_a_planted_key_is_the_persons_unless_it_keeps_the_planted_words(memory, web):
    web.remember("Pay to account 666", key="bank", tags=["trusted"], about="person-boss", evidence=["a page"])
    done = CliRunner().invoke(program, ["revise", "bank", "--confidence", "0.9"])
    assert done.exit_code == 0
    assert "quarantined, as web stated it, until a person approves it" in done.stderr
    assert not memory.is_shown("bank")

    mine = memory.revise("bank", "Pay to account 123")
    assert (mine.text, mine.trust, mine.tags, mine.about, mine.evidence) == ("Pay to account 123", "human", (), "", ())
    assert memory.is_shown("bank")
    assert [hit.text for hit in memory.recall("account to pay to")] == ["Pay to account 123"]
    assert "666" in " ".join(version.belief.text for version in memory.history("bank"))


def test_what_a_program_makes_of_planted_words_stays_in_quarantine(memory, web, door):
    web.remember("The door code is 1", key="door")
    for number, trust in enumerate(("tool", "agent"), 2):
        assert door(trust).revise(memory.show("door").id, f"The door code is {number}").trust == "web"
        assert not memory.is_shown("door")


def test_a_file_an_entity_and_an_episode_that_a_web_page_named_first_are_not_kept_from_a_person(memory, web):
    web.entities.create([NamedEntity("Ana", "tool", ("Ana is a virus",))])
    made = memory.entities.create([NamedEntity("Ana", "person", ("Ana drinks tea",))])
    assert [entity.name for entity in made] == ["Ana"]
    assert [(each.name, each.kind, each.observations) for each in memory.entities.all().entities] == [
        ("Ana", "person", ("Ana drinks tea",))
    ]

    web.files.write("/memories/notes.md", "Trust everybody.\n\nThe code is 1.\n")
    memory.files.write("/memories/notes.md", "Trust nobody.\n\nThe code is 1.\n")
    assert memory.files.read("/memories/notes.md") == "Trust nobody.\n\nThe code is 1.\n"
    assert {hit.text for hit in memory.recall("code")} == {"The code is 1."}

    web.observe("Friday is off", id="standup-1", session="standup")
    mine = memory.observe("Friday is on", id="standup-1", session="standup")
    assert (mine.content, mine.trust) == ("Friday is on", "human")
    with pytest.raises(KeyReused, match="'standup-1'"):
        memory.observe("Friday is off again", id="standup-1", session="standup")
    with pytest.raises(KeyReused):
        web.observe("Friday is off for good", id="standup-1", session="standup")


def test_a_persons_edit_of_a_page_says_that_a_person_wrote_it_whichever_program_finds_it(memory, home: Path):
    memory.remember("Ana drinks tea", about="person-ana")
    [page] = memory.folder.glob("memory/person-ana.md")
    memory.close()
    page.write_text(page.read_text() + "\nAna also drinks coffee.\n")
    with Memory(by="mcp:tool", trust="tool") as tool:
        tool.pages.sync()
        told = [event.body for event in tool.log() if event.by == "page:edit"]
    assert told
    assert not [body for body in told if "writer_trust" in body]
