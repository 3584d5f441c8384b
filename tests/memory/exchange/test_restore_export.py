"""Taking in an export: whole where nothing is, joined where something is, and nothing that a file could smuggle in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tallystick import Memory
from tallystick.records.errors import NotFound, NotWritten, Refused, TallystickError
from tallystick.records.recall import Frame
from tallystick.repair.check import check
from tests.refusals import refuses

Told = dict[str, Any]

FRAME = Frame("mine", {"similarity": 1.0}).to_body()
TAKE = {"user": "me", "ledger": "x", "begun": "", "made": "2026-05-20T12:00:00.000000Z", "whole": False}
RULE = {"id": "r", "cadence": {"every": "x"}, "when_filter": "", "then_emits": ["facts"]}


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory(home / "here", embedder="none") as here:
        yield here


@pytest.fixture
def other(home: Path) -> Iterator[Memory]:
    """A memory elsewhere, with a little of everything in it."""
    with Memory(home / "other", embedder="none", by="cli:there") as there:
        there.remember("Ana prefers tea", key="tea", about="person-ana")
        there.revise("tea", "Ana prefers mate", reason="she said so")
        there.remember("Bob lives in Oslo", about="person-bob", triple=("Bob", "lives_in", "Oslo"))
        there.observe("Let's ship on Friday.", session="s1", id="turn-1")
        there.remember("The moon is a lamp", trust="web", key="moon")
        there.reviews.approve(there.reviews.waiting()[0].id)
        there.remember("The sun is a coin", trust="web", key="sun")
        there.paths.branch("b")
        there.remember("On the branch", path="b")
        there.distrust("mcp:3f9a", reason="it lies")
        there.pages.describe("person-ana", description="A friend")
        yield there


@pytest.fixture
def file(other: Memory, tmp_path: Path) -> Path:
    other.export(tmp_path / "file.ndjson")
    return tmp_path / "file.ndjson"


def changed(file: Path, change: Callable[[Told], Told | None]) -> Path:
    """The same file with other events: numbered again, and whole."""
    lines, count = [], 0
    for line in map(json.loads, file.read_text().splitlines()):
        if line["type"] == "event":
            told = change(line)
            if told is None:
                continue
            count += 1
            line = {**told, "n": count}
        elif line["type"] == "end":
            line["events"] = count
        lines.append(json.dumps(line))
    place = file.with_name("changed.ndjson")
    place.write_text("\n".join(lines) + "\n")
    return place


def ops(memory: Memory) -> list[str]:
    return [event.op.partition("/")[0] for event in memory.log()]


# -- whole -----------------------------------------------------------------------------------------------------------


def test_what_was_approved_asked_and_distrusted_there_is_so_in_an_empty_memory_with_its_times(memory, other, file):
    done = memory.import_export(file, mine=True)

    assert (done.is_whole, done.beliefs, done.episodes, done.left) == (True, 5, 1, ())
    assert [review.id for review in memory.reviews.waiting()] == [review.id for review in other.reviews.waiting()]
    assert memory.reviews.is_approved(memory.show("moon"))
    assert not memory.reviews.is_approved(memory.show("sun"))
    assert [each.withheld.reason for each in memory.sources() if each.withheld] == ["it lies"]
    assert memory.pages.read("person-ana").info.description == "A friend"
    assert [path.path_id for path in memory.paths.all()] == ["b"]
    assert memory.graph.export_envelope().to_bytes() == other.graph.export_envelope().to_bytes()
    question = "what does Ana drink, and where does Bob live?"
    served = [[(hit.id, hit.score, hit.text) for hit in each.recall(question, floor=0)] for each in (memory, other)]
    assert served[0] == served[1] != []
    assert ops(memory)[1] == "import.take"
    assert ops(memory)[-1] == "import.done"
    [event, *_] = [event for event in memory.log() if event.op == "belief.put/1"]
    line = memory._folder.ledger.chain().line(event.seq)

    assert (event.ts, event.by) == (other.history("tea")[0].at, "cli:there")
    assert (line.by, line.ts) == ("python:local", memory._folder.ledger.head.ts)
    assert memory.history("tea")[0].at == other.history("tea")[0].at
    assert memory.get("tea", believed_at=other.history("tea")[0].at).text == "Ana prefers tea"
    assert memory.get("tea", believed_at="2020-01-01") is None
    assert memory.ledger.verify().ok


def test_a_memory_that_was_taken_in_goes_on_and_is_sound(memory, file, tmp_path):
    memory.import_export(file, mine=True)
    memory.revise("tea", "Ana prefers water")
    memory.remember("Here since today")
    memory.erase("tea")
    memory.ledger.compact()

    assert [found for found in check(memory.folder) if found.severity != "note"] == []
    for path in memory.folder.rglob("*"):
        assert not path.is_file() or b"Ana prefers" not in path.read_bytes(), path
    then = memory.beliefs.query(believed_at=memory.show("sun").at)
    assert [belief.key for belief in then][-1:] == ["sun"], "a time is a place still, also where words are gone"
    with Memory(memory.folder, embedder="none") as again:
        assert again.beliefs.all() == memory.beliefs.all()


def test_a_time_is_a_place_also_between_events_whose_words_are_gone(memory, file):
    memory.import_export(file, mine=True)
    zone = memory._folder.state.taken_in.zone
    memory.erase("tea", "moon", "sun")
    told = [event for event in memory.log() if zone.holds(event.seq)]
    there = [event for event in told if event.body is not None and event.seq < zone.ended]

    assert len(there) < len(told) - 5
    for event, after in pairwise(there):
        assert event.seq <= memory._folder.seq_at(event.ts) < after.seq, event
    assert memory._folder.seq_at("2020-01-01") < there[0].seq
    assert memory._folder.seq_at(there[-1].ts) <= zone.ended


def test_a_second_user_moves_in_whole_beside_the_first(memory, file, home):
    with Memory(home / "bobs", user="bob", embedder="none") as bobs:
        bobs.remember("Bob likes jazz", key="tea")
        bobs.export(home / "bob.ndjson")
    memory.import_export(file, mine=True)

    done = memory.import_export(home / "bob.ndjson", user="bob", mine=True)

    assert done.is_whole
    assert memory.show("tea", user="bob").text == "Bob likes jazz"
    assert memory.show("tea").text == "Ana prefers mate"
    assert memory.get("tea", user="bob", believed_at="2026-01-01") is None
    with refuses("mismatch", "'bob'"):
        memory.import_export(home / "bob.ndjson", mine=True)


# -- joined ----------------------------------------------------------------------------------------------------------


def test_where_something_is_what_was_said_and_happened_is_joined_and_nothing_here_is_changed(memory, other, file):
    memory.remember("The kettle is green", key="tea")
    memory.pages.create("person-ana", "Somebody")
    before = memory.beliefs.all()

    done = memory.import_export(file, mine=True)

    assert (done.is_whole, done.beliefs, done.episodes, done.known) == (False, 5, 1, 0)
    assert memory.beliefs.all()[: len(before)] == before
    there = other.show("tea")
    assert [(name, there.id != name) for name, _ in done.kept] == [("tea", True)]
    joined = memory.show(there.id)
    assert (joined.text, joined.id, joined.key) == ("Ana prefers mate", there.id, other.history("tea")[0].belief.id)
    assert [each.belief.text for each in memory.history(there.id)] == ["Ana prefers tea", "Ana prefers mate"]
    assert memory.episodes.get("turn-1").content == "Let's ship on Friday."
    assert memory.pages.read("person-ana").info.description == "Somebody"
    assert {name for name, _ in done.left} == {"review", "trust", "page"}


def test_a_key_that_is_taken_here_is_another_on_every_path(memory, home, tmp_path):
    with Memory(home / "there", embedder="none") as there:
        there.remember("Theirs", key="tea")
        there.paths.branch("b")
        there.revise("tea", "Theirs on the branch", path="b")
        there.export(tmp_path / "branched")
        name = there.show("tea").id
    memory.remember("Ours", key="tea")

    done = memory.import_export(tmp_path / "branched", mine=True)

    assert [key for key, _ in done.kept] == ["tea"]
    assert [memory.show("tea", path=path).text for path in ("", "b")] == ["Ours", "Ours"]
    assert [memory.show(name, path=path).text for path in ("", "b")] == ["Theirs", "Theirs on the branch"]


def test_no_approval_trust_or_rule_comes_in_beside_what_is_here_and_joining_again_writes_nothing(memory, file):
    memory.remember("Something is here")
    memory.import_export(file, mine=True)

    assert sorted(review.action.target for review in memory.reviews.waiting()) == sorted(
        (memory.show(key).id,) for key in ("moon", "sun")
    )
    assert not memory.reviews.is_approved(memory.show("moon"))
    assert not [each for each in memory.sources() if each.withheld]
    assert [hit.text for hit in memory.recall("moon lamp", floor=0)][:1] != ["The moon is a lamp"]
    memory.revise("tea", "Ana prefers cocoa")
    memory.forget("sun")
    before = memory.ledger.verify().last

    again = memory.import_export(file, mine=True)

    assert (again.events, again.beliefs, again.episodes, again.known) == (0, 0, 0, 6)
    assert memory.ledger.verify().last == before
    assert memory.show("tea").text == "Ana prefers cocoa"
    assert not memory.show("sun").is_held
    memory.pages.clean()
    assert memory.import_export(file, mine=True).events == 0, "not even what was said of a page that is cleaned away"


def test_what_is_newer_there_of_what_is_here_is_named_and_left(memory, other, file, tmp_path):
    memory.remember("Something is here")
    memory.import_export(file, mine=True)
    other.revise("tea", "Ana prefers soup")
    other.remember("Brand new", key="new")
    other.export(tmp_path / "later")

    done = memory.import_export(tmp_path / "later", mine=True)

    assert (done.beliefs, memory.show("tea").text) == (1, "Ana prefers mate")
    assert (other.show("tea").id, "a version of what is here already, which stays as it is") in done.left


def test_what_was_erased_here_does_not_come_back(memory, file):
    memory.import_export(file, mine=True)
    gone = memory.show("tea").id
    memory.erase("tea")

    done = memory.import_export(file, mine=True)

    assert memory.get("tea") is None
    assert (gone, "its words were erased here") in done.left


def test_a_path_that_ended_here_takes_nothing_more(memory, file):
    memory.remember("Here", path="b")
    memory.paths.abandon("b", "no use")

    done = memory.import_export(file, mine=True)

    assert [why for _, why in done.left if "has ended here" in why]
    assert "On the branch" not in [belief.text for belief in memory.beliefs.query(path="b", status="")]


# -- without history ------------------------------------------------------------------------------


def test_a_file_without_history_gives_what_is_held_under_the_same_ids(memory, other, tmp_path):
    other.forget("sun")
    other.export(tmp_path / "now", history=False)

    done = memory.import_export(tmp_path / "now", mine=True)

    assert (done.is_whole, done.beliefs, done.episodes) == (False, 4, 1)
    assert memory.show("tea").id == other.show("tea").id
    assert ("sun", "it is not held any more") in done.left
    again = memory.import_export(tmp_path / "now", mine=True)
    assert (again.events, again.known) == (0, 5)


def test_a_secret_in_a_file_is_masked_unless_the_person_says_otherwise(home, tmp_path):
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    with Memory(home / "there", embedder="none") as there:
        there.remember(f"The key is {key}", key="secret", keep_secrets=True)
        there.export(tmp_path / "kept")
    for name, keep in (("one", False), ("two", True)):
        with Memory(home / name, embedder="none", notify=lambda _: None) as here:
            here.import_export(tmp_path / "kept", keep_secrets=keep, mine=True)
            assert (key in here.show("secret").text) is keep


# -- what a file could smuggle in --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"op": "policy.set/1", "body": {}}, "unknown event policy.set/1"),
        ({"op": "import.take/1", "body": {}}, "not a valid import.take/1"),
        ({"op": "import.take/1", "body": {**TAKE, "whole": True}}, "not a valid import.take/1"),
        ({"op": "import.take/1", "body": TAKE}, "begins before"),
        ({"op": "import.done/1", "body": {"user": "me", "events": 1}}, "ends twice"),
        ({"op": "erase/1", "body": {"lines": [], "ids": []}}, "unknown event erase/1"),
        ({"op": "belief.put/1", "body": {"belief": {"id": "x", "key": "k", "confidence": 9}}}, "from 0 to 1, not 9"),
        ({"op": "frame.put/1", "body": {"frame": {**FRAME, "source": []}}}, "source must be .*, not list"),
        ({"op": "frame.put/1", "body": {"frame": {**FRAME, "token_budget": 1 << 63}}}, "number above 0"),
        ({"op": "rule.put/1", "body": {"user": "me", "rule": RULE}}, "number of episodes"),
        ({"id": "01KS2MX6T0QGHTN3YE3GYXF728"}, "01KS2MX6T0QGHTN3YE3GYXF728"),
        ({"body": {"user": "bob"}}, "another user|makes no sense"),
    ],
)
def test_a_forged_event_refuses_the_whole_file_and_nothing_is_written(memory, file, change, why):
    before = memory.ledger.verify().last

    def forge(line: Told) -> Told:
        body = change["body"] if "op" in change else {**line["body"], **change.get("body", {})}
        return {**line, **change, "body": body} if line["n"] in (4, 6) else line

    forged = changed(file, forge)
    with pytest.raises(Refused, match=f"line [0-9]+: .*({why})"):
        memory.import_export(forged, mine=True)

    assert memory.ledger.verify().last == before
    assert memory.beliefs.all() == []
    memory.remember("and it can be written to")


def test_a_file_cannot_name_what_is_another_users_here(memory, home, file):
    bobs = memory.remember("Bob's own", user="bob", key="own")

    def steal(line: Told) -> Told:
        if line["op"] == "belief.supersede/1":
            line["body"]["replaces"] = [bobs.id]
        return line

    with refuses("mismatch", "line ", bobs.id):
        memory.import_export(changed(file, steal), mine=True)
    memory.remember("Something of mine")
    memory.import_export(changed(file, steal), mine=True)

    assert memory.show("own", user="bob") == bobs


def test_an_approval_in_a_file_approves_nothing_that_waits_here(memory, file):
    memory.remember("The web says so", trust="web", key="web")
    waiting = memory.reviews.waiting()[0].id

    def forge(line: Told) -> Told:
        if line["op"] == "review.answer/1":
            line["body"]["review"] = waiting
        if "belief" in line["body"]:
            line["body"]["approved"] = waiting
        return line

    memory.import_export(changed(file, forge), mine=True)

    assert waiting in [review.id for review in memory.reviews.waiting()]
    assert not memory.reviews.is_approved(memory.show("web"))
    assert not memory.reviews.is_approved(memory.show("sun"))


def test_where_a_person_is_asked_a_history_does_not_pass_the_gate(home, file):
    (home / "strict").mkdir()
    (home / "strict/tallystick.toml").write_text(
        '[[policy.rules]]\naction = ["remember"]\ntrust = ["human"]\nabout = ["person-ana"]\nthen = "review"\n'
    )
    with Memory(home / "strict", embedder="none") as strict:
        with refuses("permission", "--mine"):
            strict.import_export(file, mine=True)
        strict.import_export(file)

        assert not strict.recall("Ana prefers mate")


def test_what_cannot_be_read_is_told_in_one_line(memory, tmp_path, file):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "cut").write_bytes(file.read_bytes()[:-20])
    for name, kind in (("none", NotFound), ("empty", Refused), ("cut", Refused)):
        with pytest.raises(kind) as raised:
            memory.import_export(tmp_path / name, mine=True)
        assert "\n" not in str(raised.value)
    with pytest.raises(TallystickError):
        memory.import_export(tmp_path / "nul\0", mine=True)

    with file.open("rb") as opened:
        assert memory.import_export(opened, mine=True).is_whole, "it need not be a file with a name"


def test_a_disk_that_fails_half_way_leaves_nothing(memory, file, monkeypatch):
    ledger = memory._folder.ledger
    monkeypatch.setattr(ledger._disk, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(NotWritten, match=r"events\.wal"):
        memory.import_export(file, mine=True)
    monkeypatch.undo()

    assert memory.beliefs.all() == []
    assert memory.import_export(file, mine=True).is_whole


def test_what_was_erased_there_is_no_ground_of_what_is_joined(memory, other, tmp_path):
    gone = other.remember("It rained")
    other.remember("The street is wet", key="wet", rests_on=[gone.id])
    other.erase(gone.id)
    other.export(tmp_path / "lines")
    memory.remember("Something is here")

    memory.import_export(tmp_path / "lines", mine=True)

    assert memory.show("wet").rests_on == ()
    assert [found.code for found in check(memory.folder)] == []
