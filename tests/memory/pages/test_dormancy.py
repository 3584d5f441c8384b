"""A page that nobody touched for long is proposed to lie dormant, and lies so only if somebody agrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.records.errors import Moved
from tallystick.records.operations import PAGE_PUT
from tallystick.records.proposal import Proposal
from tests.memory.pages.test_pages import edit
from tests.memory.told import ALL
from tests.refusals import not_approved


@pytest.fixture
def memory(home, clock):
    """A memory with one page."""
    with Memory(clock=clock) as opened:
        opened.pages.append("person-ana", "Ana likes tea.", ["taste"])
        yield opened


def file_of(memory: Memory, name: str) -> Path:
    return memory.pages.folder / f"{name}.md"


def dormant(memory: Memory) -> list[Proposal]:
    return [each for each in memory.tidy.proposals() if each.kind == "dormant"]


def status(memory: Memory, name: str) -> str:
    return memory.pages.read(name).info.status


def rest(memory: Memory, clock, name: str = "person-ana") -> None:
    clock.now += timedelta(days=91)
    memory.tidy.apply(next(each for each in dormant(memory) if each.ids == (f"{name}.md",)))


def test_a_page_is_proposed_when_nobody_touched_it_for_longer_than_is_set_and_not_a_moment_sooner(memory, clock):
    clock.now += timedelta(days=90)
    assert dormant(memory) == []

    clock.now += timedelta(seconds=1)
    before, events = file_of(memory, "person-ana").read_bytes(), memory.status().events

    [found] = dormant(memory)
    assert (found.ids, found.action, found.goes) == (("person-ana.md",), "rest", ("person-ana.md",))
    assert found.texts == ("person-ana.md: Ana, 1 entry",)
    assert found.why == "nobody wrote on it since 2026-05-20, for 90 days"
    assert dormant(memory) == [found], "looking writes nothing"
    assert (file_of(memory, "person-ana").read_bytes(), memory.status().events) == (before, events)
    assert status(memory, "person-ana") == "active", "nothing goes by itself"


def test_how_long_is_a_setting(home, clock):
    with Memory(clock=clock) as memory:
        (memory.folder / "tallystick.toml").write_text("[pages]\nauto_dormant_days = 7\n")
    with Memory(clock=clock) as memory:
        memory.pages.append("person-ana", "Ana likes tea.", ["taste"])
        clock.now += timedelta(days=8)
        assert len(dormant(memory)) == 1


def test_a_page_that_rests_is_not_listed_unless_asked_for_and_is_recalled_as_before(memory, clock):
    updated = memory.pages.read("person-ana").info.updated
    clock.now += timedelta(days=100)
    [found] = dormant(memory)

    assert memory.tidy.apply(found, reason="long ago") == ["person-ana.md"]

    assert dormant(memory) == []
    assert "person-ana.md" not in [each.path for each in memory.pages.list()]
    assert "person-ana.md" in [each.path for each in memory.pages.list(include_dormant=True)]
    assert "status: dormant" in file_of(memory, "person-ana").read_text()
    assert [hit.text for hit in memory.recall("What does Ana like?")] == ["Ana likes tea."]
    assert [event.body["front"] for event in memory.log(op="page.put/1")] == [
        {"status": "dormant", "reason": "long ago"}
    ]
    assert memory.pages.read("person-ana").info.updated == updated, "that it rests is no news about its entity"
    before = file_of(memory, "person-ana").read_bytes()

    memory.pages.rebuild()
    file_of(memory, "person-ana").unlink()
    memory.pages.sync()

    assert status(memory, "person-ana") == "dormant"
    assert file_of(memory, "person-ana").read_bytes() == before


def test_what_was_put_away_and_the_pages_that_every_memory_begins_with_never_rest(memory, clock):
    memory.pages.append("user-profile", "User goes by Ana.", ["identity"])
    memory.pages.archive("person-ana")
    memory.pages.list()
    clock.now += timedelta(days=1000)
    assert dormant(memory) == []


@pytest.mark.parametrize("how", ["append", "remember", "edit"])
def test_an_entry_takes_a_page_up_again_and_it_may_rest_again(memory, clock, how):
    for visit in (1, 2):
        rest(memory, clock)
        assert status(memory, "person-ana") == "dormant"
        clock.now += timedelta(days=1)
        path = file_of(memory, "person-ana")
        if how == "append":
            memory.pages.append("person-ana", "Ana is back.", ["visit"])
        elif how == "remember":
            memory.remember(f"Ana is back, visit {visit}.", about="person-ana")
        else:
            path.write_text(path.read_text() + "\n## #visit\nAna is back.\n")
        memory.pages.sync()

        assert status(memory, "person-ana") == "active"
        assert "status: active" in path.read_text()
        assert memory.pages.rebuild().adopted == ()
        assert status(memory, "person-ana") == "active"


TOUCHES: dict[str, Callable[[Memory, Proposal], object]] = {
    "a write": lambda memory, _: memory.remember("Ana is back.", about="person-ana"),
    "a person's edit": lambda memory, _: edit(file_of(memory, "person-ana"), "tea", "coffee"),
    "archiving": lambda memory, _: memory.pages.archive("person-ana"),
    "resting": lambda memory, found: memory.tidy.apply(found),
    "cleaning": lambda memory, _: memory.pages.clean(),
}


@pytest.mark.parametrize("by", TOUCHES)
def test_what_was_touched_since_it_was_proposed_does_not_rest(memory, clock, by):
    clock.now += timedelta(days=91)
    [found] = dormant(memory)
    TOUCHES[by](memory, found)

    with pytest.raises(Moved, match=r"person-ana\.md"):
        memory.tidy.apply(found)


def test_another_users_page_is_that_users(home, clock):
    with Memory(clock=clock, user="bob") as memory:
        memory.pages.append("person-ana", "Ana likes tea.", ["taste"])
    clock.now += timedelta(days=91)
    with Memory(clock=clock) as memory:
        assert dormant(memory) == []
        [found] = [each for each in memory.tidy.proposals(user="bob") if each.kind == "dormant"]
        assert (found.ids, found.user) == (("@bob/person-ana.md",), "bob")
        with pytest.raises(Moved):
            memory.tidy.apply(replace(found, user="me"))
        assert memory.tidy.apply(found) == ["@bob/person-ana.md"]


def test_what_tools_say_puts_no_page_to_rest(home, clock):
    with Memory(clock=clock) as memory:
        memory.pages.append("person-ana", "Ana likes tea.", ["taste"])
    clock.now += timedelta(days=91)
    with Memory(clock=clock, trust="web") as memory:
        [found] = dormant(memory)
        with not_approved("refused", "web", "describe a page"):
            memory.tidy.apply(found)


def test_no_more_are_proposed_than_were_asked_for(memory, clock):
    for number in range(4):
        memory.pages.append(f"topic-{number}", f"Ana came {number} times.", ["visit"])
    memory.remember("The shop is shut", expires="2026-05-21")
    clock.now += timedelta(days=91)

    assert [each.kind for each in memory.tidy.proposals(limit=3)] == ["expired", "dormant", "dormant"]
    assert len(memory.tidy.proposals()) == 7


# -- pages that are far too long ---------------------------------------------------------------------------------------

LONG = "Bob came and went. " * 24


def write_by_hand(memory: Memory) -> None:
    with file_of(memory, "person-ana").open("a") as page:
        page.write(f"\n## #visit\n{LONG.strip()}\n")
    memory.pages.sync()


def remember_many(memory: Memory) -> None:
    with memory.batch():
        for number in range(4):
            memory.remember(f"Ana came {number} times. " * 3, about="person-ana")


def consolidate(memory: Memory) -> None:
    memory.observe(LONG)
    memory.consolidate(ALL)


WAYS: dict[str, Callable[[Memory], object]] = {
    "append": lambda memory: memory.pages.append("person-ana", LONG, ["visit"]),
    "supersede": lambda memory: memory.pages.supersede("person-ana", memory.get("k").id, LONG),
    "remember": lambda memory: memory.remember(LONG, about="person-ana"),
    "remember many": remember_many,
    "revise": lambda memory: memory.revise("k", LONG),
    "consolidate": consolidate,
    "sync": write_by_hand,
}


@pytest.fixture
def limited(home, clock):
    """A memory with low limits, and a page that is below both."""
    with Memory(clock=clock) as memory:
        (memory.folder / "tallystick.toml").write_text("[writer]\nsoft_limit_tokens = 50\nhard_limit_tokens = 100\n")
    with Memory(clock=clock) as memory:
        memory.pages.append("person-ana", "Ana came.", ["visit"], key="k")
        yield memory


def flagged(memory: Memory) -> list[str]:
    return [page.path for page in memory.pages.list() if page.needs_compact]


@pytest.mark.parametrize("way", WAYS)
def test_a_page_above_the_hard_limit_is_flagged_whatever_made_it_so(limited, way):
    assert flagged(limited) == []

    WAYS[way](limited)

    [path] = flagged(limited)
    assert [(each.path, each.why) for each in limited.pages.compactions()] == [(path, "flagged: above 100 tokens")]
    limited.pages.sync()
    assert "needs_compact: true" in (limited.pages.folder / path).read_text()
    assert limited.pages.sync().written == ()
    assert limited.pages.rebuild().written == ()
    assert flagged(limited) == [path]


def test_a_flag_that_a_person_takes_off_a_page_that_is_far_too_long_comes_back(limited):
    limited.pages.append("person-ana", LONG, ["visit"])
    edit(file_of(limited, "person-ana"), "needs_compact: true", "needs_compact: false")

    limited.pages.sync()

    assert "needs_compact: true" in file_of(limited, "person-ana").read_text()
    assert limited.pages.sync().written == ()


def test_a_page_that_was_folded_below_the_limit_is_flagged_no_longer(limited):
    last = limited.pages.append("person-ana", "Ana lives in Aa.", ["home"])
    for town in ("Bb", "Cc", "Dd", "Ee", "Ff"):
        last = limited.pages.supersede("person-ana", last.id, f"Ana lives in {town}.")
    assert flagged(limited) == ["person-ana.md"]

    limited.pages.compact("person-ana")

    assert flagged(limited) == []
    assert "needs_compact: false" in file_of(limited, "person-ana").read_text()
    assert not [event for event in limited.log() if event.op == PAGE_PUT], "what follows from its length is no event"
