"""What was said elsewhere is brought in as it was: whose it is, when it was said, on which branch; and once."""

import contextlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory
from tallystick.memory.exchange import importer as bringing
from tallystick.memory.exchange.import_memory import formats
from tallystick.records.errors import MemoryScopeError, NotFound, Refused
from tests.growth import assert_linear, seconds
from tests.memory.conftest import run_all
from tests.memory.elsewhere import SESSION, TREE, chatgpt, line, node, tool, transcript, uuid
from tests.refusals import refuses

TALK = (
    line(1, "What do I drink?"),
    line(2, [{"type": "text", "text": "You drink green tea."}], side="assistant"),
    tool(3, "tea.txt: green"),
    line(4, "And Bob?"),
)


def told(memory: Memory, user: str = "me") -> list[tuple[str, str, str]]:
    """Everything that was told, oldest first: the words, the path, the trust."""
    with memory._folder.known() as known:
        found = [memory.episodes.read(known.episodes.of(each).seq) for each in known.episodes.standing(user)]
    return [(each.content, each.path, each.trust) for each in found]


def events(memory: Memory) -> list[dict[str, Any] | None]:
    """What the ledger says, without what it says of itself."""
    return [event.body for event in memory._folder.events() if event.op.startswith(("episode.", "belief.", "path."))]


# -- conversations -----------------------------------------------------------------------------------------------------


def test_a_transcript_becomes_episodes_with_their_own_times_their_speakers_and_their_trust(memory, tmp_path):
    done = memory.import_from(transcript(tmp_path / "s.jsonl", *TALK))

    assert (done.files, done.formats, done.conversations, done.episodes) == (1, ("claude-code",), 1, 4)
    assert told(memory) == [
        ("What do I drink?", "", "human"), ("You drink green tea.", "", "agent"), ("tea.txt: green", "", "tool"),
        ("And Bob?", "", "human"),
    ]  # fmt: skip
    first, second = memory.episodes.get(uuid(1)), memory.episodes.get(uuid(2))
    assert (first.session, first.agent, first.timestamp.isoformat()) == (SESSION, "", "2026-05-03T10:00:01+00:00")
    assert (second.agent, second.metadata["role"], second.metadata["folder"]) == (
        "claude-code", "assistant", "/home/ana/tea",
    )  # fmt: skip


def test_what_tools_gave_back_is_kept_out_of_recall_and_with_quarantine_everything(memory, tmp_path):
    path = transcript(tmp_path / "s.jsonl", *TALK)
    with Memory(tmp_path / "other") as other:
        done = other.import_from(path, quarantine=True)
        assert done.quarantined == done.episodes == 4
        assert not other.recall("green tea")
    done = memory.import_from(path)

    assert done.quarantined == 1
    assert "tea.txt: green" not in [hit.text for hit in memory.recall("green tea")]
    assert "tea.txt: green" in [hit.text for hit in memory.recall("green tea", quarantined=True)]


def test_nobody_is_trusted_more_than_the_program_that_brings_it(home, tmp_path):
    for trust, seen in (("agent", {"agent", "tool"}), ("web", {"web"})):
        with Memory(tmp_path / trust, trust=trust) as memory:
            memory.import_from(transcript(tmp_path / "s.jsonl", *TALK))
            assert {each[2] for each in told(memory)} == seen


def test_the_line_is_on_the_root_and_every_branch_on_a_path_of_its_own(memory, tmp_path):
    done = memory.import_from(chatgpt(*TREE, living="b").encode())

    first, second = done.paths
    assert first.startswith("chatgpt/tea-time/")
    assert memory.paths.get(second).parent_id == first
    assert [each[:2] for each in told(memory)] == [
        ("What do I drink?", ""), ("You drink tea.", ""), ("You drink coffee.", first), ("Really coffee?", first),
        ("No, cocoa.", first), ("No, milk.", second),
    ]  # fmt: skip
    assert [hit.text for hit in memory.recall("drink coffee milk")] == ["You drink tea."]
    assert "No, milk." in [hit.text for hit in memory.on(second).recall("milk")]


def test_a_side_chain_is_a_path_that_says_so(memory, tmp_path):
    aside = line(9, "go and look for tea", after=0, isSidechain=True)
    done = memory.import_from(transcript(tmp_path / "s.jsonl", *TALK, aside))

    (path,) = done.paths
    assert path.rpartition("/")[2].startswith("aside-")
    assert told(memory)[-1][:2] == ("go and look for tea", path)
    (other,) = memory.import_from(
        transcript(tmp_path / "s.jsonl", *TALK, aside, line(10, "Which?", after=9, isSidechain=True),
                   line(11, "Green?", after=9, isSidechain=True))
    ).paths  # fmt: skip
    assert memory.paths.get(other).parent_id == path


def test_branches_deeper_than_paths_may_be_are_not_lost(memory):
    nodes = [node("n000", "", "user", "begin")]
    for depth in range(1, 130):  # each time the question is asked again from the branch before
        nodes += [node(f"n{depth:03d}", f"n{depth - 1:03d}", "user", f"asked {depth}")]
        nodes += [node(f"x{depth:03d}", f"n{depth - 1:03d}", "assistant", f"answered {depth}")]
    done = memory.import_from(chatgpt(*nodes, living="x001").encode())

    assert (done.episodes, len(done.paths), done.skipped) == (259, 129, ())


def test_a_tree_of_many_branches_is_brought_in_in_time_that_grows_with_it(memory):
    def took(size: int) -> float:
        """Every turn leaves the branch before it, so that all of them hang on one another."""
        nodes = [node("n0", "", "user", "begin")]
        for depth in range(1, size):
            nodes += [
                node(f"x{depth}", f"n{depth - 1}", "user", "on"),
                node(f"n{depth}", f"n{depth - 1}", "user", "no"),
            ]
        tree = chatgpt(*nodes, living="x1").encode()

        def work() -> None:
            assert len(memory.import_from(tree, dry_run=True).paths) == size - 1

        return seconds(work)

    assert_linear(took, 40, 400)


def test_a_branch_that_was_given_up_stays_so_and_the_rest_is_taken(memory):
    (path, _) = memory.import_from(chatgpt(*TREE, living="b").encode()).paths
    memory.paths.abandon(path, "cocoa it is not")

    done = memory.import_from(
        chatgpt(*TREE, node("g", "d", "user", "Or?"), node("h", "b", "user", "Ok"), living="h").encode()
    )

    assert [each[:2] for each in told(memory)][-1] == ("Ok", "")
    assert [(each.place, "abandoned" in each.reason) for each in done.skipped] == [
        ("standard input, Tea time, message 7", True)
    ]


def test_turns_of_the_same_name_in_two_conversations_are_two(memory):
    both = [json.loads(chatgpt(node("a", "", "user", f"tea {n}"), living="a", name=f"c{n}"))[0] for n in (1, 2)]

    assert memory.import_from(json.dumps(both).encode()).episodes == 2
    assert memory.import_from(json.dumps(both).encode()).known == 2


def test_a_turn_without_a_time_has_that_of_the_one_before_and_the_first_that_of_the_conversation(memory):
    nodes = dict([node("a", "", "user", "one"), node("b", "a", "user", "two"), node("c", "b", "user", "three")])
    del nodes["a"]["message"]["create_time"], nodes["c"]["message"]["create_time"]
    memory.import_from(chatgpt(*nodes.items(), living="c").encode())

    assert [memory.episodes.get(f"c1:{name}").timestamp.timestamp() - 1700000000 for name in "abc"] == [
        0, ord("b"), ord("b"),
    ]  # fmt: skip


# -- once --------------------------------------------------------------------------------------------------------------


def test_the_same_again_writes_nothing_and_more_of_it_adds_what_is_new(memory, tmp_path):
    path = transcript(tmp_path / "s.jsonl", *TALK)
    memory.import_from(path)
    before = (memory.folder / "events.wal").read_bytes()

    again = memory.import_from(path)
    assert (again.episodes, again.known, again.is_nothing) == (0, 4, True)
    assert (memory.folder / "events.wal").read_bytes() == before

    more = memory.import_from(transcript(path, *TALK, line(5, "Bob drinks coffee.", side="assistant")))
    assert (more.episodes, more.known, told(memory)[-1][0]) == (1, 4, "Bob drinks coffee.")


def test_a_session_that_was_gone_on_with_in_another_file_is_not_told_twice(memory, tmp_path):
    memory.import_from(transcript(tmp_path / "s.jsonl", *TALK))
    copied = [{**each, "sessionId": "another"} for each in TALK]

    done = memory.import_from(transcript(tmp_path / "t.jsonl", *copied, line(5, "More tea!", sessionId="another")))

    assert (done.episodes, done.known) == (1, 4)


def test_a_belief_that_was_forgotten_is_not_stated_again(memory):
    note = b'{"type":"entity","name":"Ana","entityType":"person","observations":["drinks tea"]}'
    memory.import_from(note)
    for belief in memory.beliefs.all():
        memory.forget(belief.id)

    assert memory.import_from(note).is_nothing
    assert not [belief for belief in memory.beliefs.all() if belief.is_held]


class Killed(BaseException):
    """Nobody catches it, as nobody catches the end of a process."""


def kill_after(groups: int) -> Callable[[int], None]:
    """To be told of every group that is written; nobody lives to write another one after so many."""
    left = iter(range(groups))

    def tick(_: int) -> None:
        if next(left, None) is None:
            raise Killed

    return tick


def test_killed_after_every_group_and_begun_again_gives_the_same_memory_as_in_one_go(home, monkeypatch):
    monkeypatch.setattr(bringing, "AT_ONCE", 2)
    notes = [{"type": "entity", "name": name, "entityType": "person", "observations": [f"is {name}"]}
             for name in ("Ana", "ana", "Bob")]  # fmt: skip
    with Memory(home / "a") as one, Memory(home / "b") as other:
        for given_ in (chatgpt(*TREE, living="b").encode(), "\n".join(map(json.dumps, notes)).encode()):
            one.import_from(given_)
            for groups in range(10):
                with contextlib.suppress(Killed):
                    other.import_from(given_, on_progress=kill_after(groups))
            assert other.import_from(given_).is_nothing
        assert [_said(body) for body in events(other)] == [_said(body) for body in events(one)]
        assert len(events(one)) == 6 + 2 + 6


def _said(body: dict[str, Any] | None) -> object:
    """What an event says, without the ids that are drawn."""
    told = dict(body or {})
    if "belief" in told:
        told["belief"] = {name: told["belief"].get(name) for name in ("text", "about", "kind", "triple", "trust")}
    return told


def test_two_who_bring_the_same_at_the_same_time_bring_it_once(memory, tmp_path, monkeypatch):
    monkeypatch.setattr(bringing, "AT_ONCE", 2)
    path = transcript(tmp_path / "s.jsonl", *TALK, *(line(n, f"tea number {n}") for n in range(5, 25)))
    counts: list[int] = []

    def bring() -> None:
        with Memory(memory.folder) as mine:
            counts.append(mine.import_from(path).episodes)

    assert run_all(bring, bring) == []
    assert sum(counts) == 24
    assert len({each[0] for each in told(memory)}) == len(told(memory)) == 24


def test_a_dry_run_says_the_same_and_writes_nothing(memory, tmp_path, monkeypatch):
    monkeypatch.setattr(bringing, "AT_ONCE", 2)
    memory.remember("Ana likes tea")
    before = (memory.folder / "events.wal").read_bytes()
    for given_ in (chatgpt(*TREE, living="b").encode(), transcript(tmp_path / "s.jsonl", *TALK)):
        dry = memory.import_from(given_, dry_run=True)
        assert (memory.folder / "events.wal").read_bytes() == before
        wet = memory.import_from(given_)
        assert {**wet.to_dict(), "dry_run": True} == dry.to_dict()
        before = (memory.folder / "events.wal").read_bytes()


# -- whose, and what is in it ------------------------------------------------------------------------------------------


def test_what_is_brought_for_one_user_is_not_seen_by_another(memory, tmp_path):
    memory.import_from(chatgpt(*TREE, living="b").encode(), user="bob")

    assert told(memory) == []
    assert len(memory.paths) == 0
    assert len(told(memory, "bob")) == 6
    assert memory.import_from(chatgpt(*TREE, living="b").encode()).episodes == 6


def test_secrets_are_masked_and_counted_and_nobody_is_told_one_by_one(home, tmp_path):
    heard: list[str] = []
    key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    with Memory(notify=heard.append) as memory:
        said = [line(n, f"my token is {key}, number {n}") for n in (1, 2)]
        done = memory.import_from(transcript(tmp_path / "s.jsonl", *said))
        assert (dict(done.masked), heard) == ({"GitHub token": 2}, [])
        assert key not in str(told(memory))
        memory.observe(f"it is {key}")
        assert len(heard) == 1


def test_a_title_that_holds_a_secret_names_no_path(memory):
    done = memory.import_from(chatgpt(*TREE, living="b", title="card 4111 1111 1111 1111").encode())

    assert [path.rpartition("/")[0] for path in done.paths] == ["chatgpt/2023-11-14"] * 2
    assert b"4111 1111" not in (memory.folder / "events.wal").read_bytes()  # four digits alone may stand in a hash
    assert not any("4111" in path for path in done.paths)


@pytest.mark.parametrize(
    "words",
    ["🫖\u200d🍵", "\u202eevil\u202c", "a\u0000b", "<script>", "---\n# not front matter", "'; DROP TABLE x",
     "\ud83d tea", "x" * 1_000_000],
    ids=["emoji", "rtl", "nul", "html", "front", "sql", "half", "long"],
)  # fmt: skip
def test_hostile_words_are_kept_as_they_are(memory, tmp_path, words):
    done = memory.import_from(transcript(tmp_path / "s.jsonl", line(1, words)))

    assert (done.episodes, done.skipped) == (1, ())
    assert told(memory)[0][0] == words.replace("\ud83d", "\ufffd")


def test_what_is_too_long_for_a_ledger_is_told_and_the_rest_is_taken(memory, tmp_path):
    lines_ = [line(1, "tea"), line(2, "x" * 1_100_000), line(3, "é" * 600_000), line(4, "coffee")]
    done = memory.import_from(transcript(tmp_path / "s.jsonl", *lines_))

    assert [each[0] for each in told(memory)] == ["tea", "coffee"]
    assert [each.place for each in done.skipped] == [f"s.jsonl, {SESSION}, message {n}" for n in (2, 3)]
    assert "1,100,000" in done.skipped[0].reason


def test_a_million_bad_lines_do_not_fill_the_report(memory):
    data = json.dumps(line(1, "tea")).encode() + b"\n{}" + b"\n{" * 3_000
    done = memory.import_from(data)

    assert (done.episodes, len(done.skipped), done.more_skipped) == (1, 1_000, 2_000)
    assert "3000 skipped" in repr(done)


_ODD = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "uuid", "parentUuid", "sessionId", "message", "content", "text", "mapping", "parts",
                         "author", "role", "chat_messages", "attachments", "docs", "name", "observations", "from",
                         "to", "relationType", "content_type", "parent", "title", "id", "sender", "payload"]),
        inner | st.sampled_from(["user", "assistant", "entity", "relation", "text", "human", "session_meta"]),
        max_size=6),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=6, deadline=None)
@given(odd=st.lists(_ODD, min_size=1, max_size=3))
def test_whatever_is_given_is_taken_or_told_and_the_memory_stays_whole(tmp_path_factory, odd):
    with Memory(tmp_path_factory.getbasetemp() / "odd") as memory:
        for data in ("\n".join(map(json.dumps, odd)).encode(), json.dumps(odd).encode()):
            for format_ in ("claude-code", "chatgpt", "claude", "mcp-memory", "codex", "markdown", "pages"):
                memory.import_from(data, format=format_)
        assert memory.trouble == ""
        assert memory.import_from(data, format="claude").is_nothing


# -- what cannot be brought --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"words", b"[]", b"{}", b"\xff\xfe\x00", b"[" * 50_000])
def test_what_is_in_no_known_format_is_refused_and_the_ways_out_are_named(memory, data):
    with pytest.raises(Refused, match=f"--format: {', '.join(formats())}"):
        memory.import_from(data)


def test_a_format_that_is_not_known_and_a_file_that_is_not_there_are_refused(memory, tmp_path):
    with refuses("value", "'word'"):
        memory.import_from(b"x", format="word")
    with pytest.raises(MemoryScopeError, match="user"):
        memory.import_from(b"x", format="markdown", user="")
    for name in ("nowhere", "\x00", "x" * 5_000):
        with pytest.raises(NotFound, match=re.escape(repr(name)[:20])):
            memory.import_from(name)
    with refuses("place", "'/dev/null'", "neither"):
        memory.import_from("/dev/null")


def test_to_bring_in_at_once_takes_few_syncs_and_not_one_for_each(memory, tmp_path, monkeypatch):
    syncs, sync = list[int](), os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda fd: (syncs.append(fd), sync(fd)))
    said = [f"tea number {n} is green" for n in range(60)]

    memory.import_from(transcript(tmp_path / "a.jsonl", *(line(n, words) for n, words in enumerate(said, 1))))
    at_once = len(syncs)
    for words in said:
        memory.observe(words, session="other")

    assert 0 < at_once <= 6
    assert len(syncs) - at_once >= len(said)


def test_the_answer_reads_well_and_adds_up(memory):
    done = memory.import_from(chatgpt(*TREE, living="b").encode())

    assert repr(done) == "<Imported 6 episodes, 0 beliefs, 2 paths, 0 known, 0 skipped>"
    both = done + memory.import_from(Path(__file__).parents[1] / "elsewhere.py", format="markdown", dry_run=True)
    assert (both.files, both.episodes, both.formats, both.dry_run) == (2, 6, ("chatgpt", "markdown"), True)
