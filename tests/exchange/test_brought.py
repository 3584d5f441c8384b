"""What people bring from elsewhere: read with patience, no branch lost, and what was passed over is told."""

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.exchange import chatgpt, claude_code, claude_export, codex, markdown_notes, mcp_memory
from keepsake.exchange.branches import branches_of, items_of
from keepsake.exchange.brought import (
    ASSISTANT,
    DOCUMENT,
    PERSON,
    TOOL,
    Began,
    Conversation,
    Item,
    Lines,
    Note,
    Said,
    Turn,
    elements,
    lines_of,
    loaded,
    moment,
)  # fmt: skip
from keepsake.exchange.detect import FORMATS, detected
from keepsake.records.imported import Skipped


def told(*lines: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(line) for line in lines).encode()


def lines(data: bytes) -> Lines:
    return lambda: lines_of(data)


class Read:
    """What a reader gave, by what it is."""

    def __init__(self, items: Iterable[Item]) -> None:
        found = list(items)
        self.began = [each for each in found if isinstance(each, Began)]
        self.said = [each for each in found if isinstance(each, Said)]
        self.notes = [each for each in found if isinstance(each, Note)]
        self.skipped = [each.place for each in found if isinstance(each, Skipped)]

    @property
    def words(self) -> list[tuple[str, str]]:
        return [(each.turn.role, each.turn.text) for each in self.said]

    @property
    def branches(self) -> list[list[str]]:
        """The words of the line, then of each branch in the order in which they were met."""
        found: dict[str, list[str]] = {"": []}
        for each in self.said:
            found.setdefault(each.branch, []).append(each.turn.text)
        return list(found.values())


# -- reading -----------------------------------------------------------------------------------------------------------


def test_half_an_emoji_becomes_a_mark_and_the_rest_is_kept() -> None:
    assert loaded(b'{"a":"tea \\ud83d"}') == {"a": "tea \ufffd"}


@given(st.lists(st.recursive(st.none() | st.integers() | st.text(max_size=4), st.lists, max_leaves=8), max_size=6))
def test_a_list_is_taken_apart_into_its_entries(values: list[object]) -> None:
    words = [each for each in values if not isinstance(each, int) and each is not None]
    for data in (json.dumps(words), json.dumps(words, indent=2)):
        assert [json.loads(each) for each in elements(b"\xef\xbb\xbf " + data.encode())] == words


def test_a_list_that_is_cut_off_gives_what_is_whole_and_says_so() -> None:
    whole = b'[{"a": "]\\""}, {"b": [1, "}"]}, 7, "c"]'
    assert list(elements(whole)) == [b'{"a": "]\\""}', b'{"b": [1, "}"]}', b"7", b'"c"']
    for end in range(1, len(whole)):
        got: list[bytes] = []
        with pytest.raises(ValueError, match="cut off"):
            got.extend(elements(whole[:end]))
        assert got == list(elements(whole))[: len(got)]
        assert len(got) >= whole[:end].count(b"},")
    assert list(elements(b'{"a": []}')) == [b'{"a": []}']


@pytest.mark.parametrize("piece", [b'\\"', b'"', b"[", b"{", b"\\", b'"\\', b",", b"[]"])
def test_a_hostile_list_is_taken_apart_in_time_that_grows_with_it(piece: bytes) -> None:
    def seconds(size: int) -> float:
        start = time.process_time()
        with pytest.raises(ValueError, match="cut off"):
            for _ in elements(b'["' + piece * size):
                pass
        return time.process_time() - start

    small = min(seconds(4_000) for _ in range(3))
    assert seconds(40_000) < 40 * small + 0.2


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (1700000000000, "2023-11-14T22:13:20.000000Z"),
        (1700000000, "2023-11-14T22:13:20.000000Z"),
        (1700000000.5, "2023-11-14T22:13:20.500000Z"),
        ("2026-05-03T10:00:00Z", "2026-05-03T10:00:00.000000Z"),
        ("2026-05-03T12:00:00+02:00", "2026-05-03T10:00:00.000000Z"),
        ("2026-05-03", "2026-05-03T00:00:00.000000Z"),
        (None, ""), ("soon", ""), (True, ""), (float("inf"), ""), (10**30, ""), ([], ""),
    ],
)  # fmt: skip
def test_a_time_is_read_however_it_is_written(said: object, meant: str) -> None:
    assert moment(said) == meant


# -- the tree ----------------------------------------------------------------------------------------------------------


def tree(*pairs: str, living: str = "") -> Conversation:
    """`ab` is the turn b after the turn a; `.a` begins."""
    turns = tuple(Turn(each[1], each[0].replace(".", ""), PERSON, f"said {each[1]}") for each in pairs)
    return Conversation("c", "", turns, living)


def as_letters(conversation: Conversation) -> list[tuple[int, str]]:
    return [(branch.parent, "".join(turn.id for turn in branch.turns)) for branch in branches_of(conversation)]


def test_the_line_is_what_was_gone_on_with_and_the_rest_are_branches() -> None:
    assert as_letters(tree(".a", "ab", "bc", "bd", "de", living="c")) == [(0, "abc"), (0, "de")]
    assert as_letters(tree(".a", "ab", "bc", "bd", "de")) == [(0, "abde"), (0, "c")]


def test_a_branch_of_a_branch_names_it() -> None:
    assert as_letters(tree(".a", "ab", "ac", "cd", "ce", living="b")) == [(0, "ab"), (0, "cd"), (1, "e")]


def test_a_ring_or_a_missing_parent_begins_a_part_of_its_own() -> None:
    assert as_letters(tree(".a", "xb", "dc", "cd", living="a")) == [(0, "a"), (0, "b"), (0, "dc")]


def test_turns_without_words_hold_the_tree_together_and_are_not_said() -> None:
    turns = (
        Turn("a", "", PERSON, "one"),
        Turn("b", "a", TOOL, ""),
        Turn("c", "b", PERSON, "two"),
        Turn("d", "b", PERSON, " "),
    )
    assert as_letters(Conversation("c", "", turns, "c")) == [(0, "ac")]


@given(st.lists(st.integers(-1, 60), max_size=60), st.integers(0, 70))
def test_every_turn_stands_on_exactly_one_branch(parents: list[int], living: int) -> None:
    turns = tuple(Turn(str(n), str(p) if p >= 0 else "", PERSON, "said") for n, p in enumerate(parents))
    found = branches_of(Conversation("c", "", turns, str(living)))
    assert sorted(turn.id for branch in found for turn in branch.turns) == sorted(turn.id for turn in turns)
    assert all(branch.parent < max(branch.number, 1) for branch in found)


def test_a_very_long_conversation_is_no_trouble() -> None:
    turns = tuple(Turn(str(n), str(n - 1) if n else "", PERSON, "said") for n in range(20_000))
    (line,) = branches_of(Conversation("c", "", turns))
    assert len(line.turns) == 20_000


def test_what_tools_gave_back_side_by_side_is_no_branch() -> None:
    turns = (
        Turn("a", "", PERSON, "look"), Turn("b", "a", ASSISTANT, ""), Turn("c", "b", ASSISTANT, ""),
        Turn("d", "b", TOOL, "one"), Turn("e", "c", TOOL, "two"), Turn("f", "e", ASSISTANT, "seen"),
    )  # fmt: skip
    assert as_letters(Conversation("c", "", turns, "f")) == [(0, "adef")]


def test_a_conversation_tells_first_what_its_branches_are() -> None:
    began, *rest = items_of(tree(".a", "ab", "ac", "cd", "ce", living="b"))
    assert began == Began("c", "", ("a", "b", "c", "d", "e"), {"c": "", "e": "c"})
    assert [(each.number, each.turn.id, each.branch) for each in rest if isinstance(each, Said)] == [
        (0, "a", ""), (1, "b", ""), (2, "c", "c"), (3, "d", "c"), (4, "e", "e"),
    ]  # fmt: skip


# -- Claude Code -------------------------------------------------------------------------------------------------------


def line(uuid: str, parent: str | None, content: object, kind: str = "user", **more: object) -> dict[str, Any]:
    return {
        "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "timestamp": "2026-05-03T10:00:00.000Z",
        "message": {"role": kind, "content": content}, **more,
    }  # fmt: skip


def test_a_transcript_has_the_persons_words_the_assistants_and_the_tools_apart() -> None:
    data = told(
        {"type": "summary", "summary": "Tea", "leafUuid": "d"},
        line("a", None, "What do I drink? <system-reminder>be brief</system-reminder>"),
        line("b", "a", [{"type": "text", "text": "Tea."}, {"type": "tool_use", "name": "x", "input": {}}], "assistant"),
        line("c", "b", [{"type": "tool_result", "content": [{"type": "text", "text": "a result"}]}]),
        line("d", "c", [{"type": "text", "text": "Done."}], "assistant"),
    )
    assert claude_code.looks_like(data)
    read = Read(claude_code.items(lines(data)))
    assert [(each.title, each.ids) for each in read.began] == [("Tea", ("a", "b", "c", "d"))]
    assert read.words == [(PERSON, "What do I drink?"), (ASSISTANT, "Tea."), (TOOL, "a result"), (ASSISTANT, "Done.")]


def test_an_edited_question_of_a_transcript_is_a_branch_and_a_side_chain_too() -> None:
    data = told(
        line("a", None, "one"), line("b", "a", "two"), line("x", None, "go and look", isSidechain=True),
        line("c", "a", "two, again"), line("y", "x", "seen", "assistant", isSidechain=True),
    )  # fmt: skip
    assert Read(claude_code.items(lines(data))).branches == [["one", "two, again"], ["two"], ["go and look", "seen"]]


def test_a_file_that_is_nothing_but_a_side_chain_is_not_on_the_line() -> None:
    asides = Read(claude_code.items(lines(told(line("x", None, "go", isSidechain=True)))))
    assert [(each.branch, each.turn.is_aside) for each in asides.said] == [("x", True)]


def test_a_session_goes_on_after_its_context_was_made_smaller_and_over_lines_of_other_types() -> None:
    data = told(
        line("a", None, "one"),
        {"type": "system", "uuid": "s", "parentUuid": "a", "sessionId": "s1"},
        line("b", "s", "two", "assistant"),
        {"type": "system", "uuid": "t", "parentUuid": None, "logicalParentUuid": "b", "sessionId": "s1"},
        line("c", "t", "a summary", isCompactSummary=True),
        line("d", "c", "three"),
        line("e", "lost", "four"),
        line("f", None, "five"),
    )
    assert Read(claude_code.items(lines(data))).branches == [["one", "two", "three", "four", "five"]]


def test_a_line_that_is_told_again_or_has_no_name_is_told_once() -> None:
    first, other = line("a", None, "one"), line("b", "a", "two")
    nameless = {name: value for name, value in line("c", None, "three").items() if name != "uuid"}
    read = Read(claude_code.items(lines(told(first, other, first, nameless, nameless))))
    assert [text for _, text in read.words] == ["one", "two", "three"]
    again = Read(claude_code.items(lines(told(first, other, nameless))))
    assert again.began[0].ids == read.began[0].ids


def test_several_sessions_in_one_file_stay_apart() -> None:
    data = told(line("a", None, "one"), line("b", None, "two", sessionId="s2"), line("c", "a", "three"))
    read = Read(claude_code.items(lines(data)))
    assert [each.conversation for each in read.began] == ["s1", "s2"]
    assert [(each.conversation, each.number) for each in read.said] == [("s1", 0), ("s2", 0), ("s1", 1)]


def test_a_cut_line_is_told_and_the_rest_is_taken() -> None:
    read = Read(claude_code.items(lines(told(line("a", None, "one")) + b'\n{"type":"user","uu')))
    assert read.words == [(PERSON, "one")]
    assert read.skipped == ["line 2"]


def test_names_and_titles_that_are_longer_than_any_are_not_told_again_with_every_turn() -> None:
    long = "tea " * 100_000
    turns = [{**line(f"{long}{n}", f"{long}{n - 1}", f"said {n}"), "sessionId": long, "cwd": long} for n in range(3)]
    summary = {"type": "summary", "summary": long, "leafUuid": turns[0]["uuid"]}
    nodes = dict([node("a" * 500, "", "user", "one")])
    talk = [{"id": long, "title": long, "current_node": "a" * 500, "mapping": nodes}]
    for items in (claude_code.items(lines(told(summary, *turns))), chatgpt.items(json.dumps(talk).encode())):
        read = Read(items)
        assert read.said
        assert len(str(read.began)) + len(str(read.said)) < 5_000
        assert {each.branch for each in read.said} == {""}


def test_a_session_that_grows_while_it_is_read_gives_what_was_there_when_it_began() -> None:
    first = [line("a", None, "one"), line("b", "a", "two")]
    begun = [{"type": "session_meta", "payload": {"id": "s"}},
             {"type": "event_msg", "payload": {"type": "user_message", "message": "one"}}]  # fmt: skip
    for reader, there, more in (
        (claude_code.items, first, line("c", "b", "three")), (codex.items, begun, begun[1]),
    ):  # fmt: skip
        reads = iter([told(*there), told(*there, more)])
        assert len(Read(reader(lambda reads=reads: lines_of(next(reads)))).said) == len(there) - (reader is codex.items)


def test_what_the_program_says_to_itself_is_taken_out_of_a_persons_words() -> None:
    assert claude_code.cleaned("a <command-name>/x</command-name> b <b>c</b>") == "a  b <b>c</b>"
    assert claude_code.cleaned("kept <system-reminder>and this is never closed") == "kept"
    assert claude_code.cleaned("[Request interrupted by user]") == ""
    read = Read(claude_code.items(lines(told(line("a", None, "Caveat: …", isMeta=True)))))
    assert (read.began, read.said) == ([], [])


def test_a_session_of_codex_is_read_from_its_events_and_not_from_what_repeats_them() -> None:
    data = told(
        {"type": "session_meta", "timestamp": "2026-05-03T10:00:00Z", "payload": {"id": "s9", "cwd": "/x"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "one"}]}},
        {"type": "event_msg", "timestamp": "2026-05-03T10:00:01Z",
         "payload": {"type": "user_message", "message": "one"}},
        {"type": "event_msg", "payload": {"type": "token_count"}},
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "two"}},
    )  # fmt: skip
    assert detected(data) == "codex"
    read = Read(codex.items(lines(data)))
    assert [(each.conversation, each.ids) for each in read.began] == [("s9", ("s9:1", "s9:2"))]
    assert read.words == [(PERSON, "one"), (ASSISTANT, "two")]
    assert read.said[0].turn.at == "2026-05-03T10:00:01.000000Z"


# -- ChatGPT -----------------------------------------------------------------------------------------------------------


def node(
    name: str, parent: str | None, role: str, *parts: object, kind: str = "text", **more: object
) -> tuple[str, dict[str, Any]]:
    message = {
        "author": {"role": role},
        "create_time": 1700000000 + ord(name[0]),
        "content": {"content_type": kind, "parts": list(parts)},
        **more,
    }
    return name, {"id": name, "parent": parent, "children": [], "message": message}


def exported(*nodes: tuple[str, dict[str, Any]], current: str) -> bytes:
    root = ("0", {"id": "0", "parent": None, "children": [], "message": None})
    return json.dumps([{"id": "c1", "title": "Tea\n time", "create_time": 1700000000.0, "current_node": current,
                        "mapping": dict([root, *nodes])}]).encode()  # fmt: skip


def test_an_export_keeps_every_branch_of_its_tree() -> None:
    data = exported(
        node("a", "0", "user", "What do I drink?"), node("b", "a", "assistant", "Tea."),
        node("c", "a", "assistant", "Coffee."), node("d", "c", "user", "Really?"), current="b",
    )  # fmt: skip
    assert chatgpt.looks_like(data)
    read = Read(chatgpt.items(data))
    assert read.began[0].title == "Tea time"
    assert read.branches == [["What do I drink?", "Tea."], ["Coffee.", "Really?"]]


def test_a_conversation_without_a_name_is_called_the_same_wherever_it_stands_in_the_file() -> None:
    (one,) = json.loads(exported(node("a", "0", "user", "one"), current="a"))
    del one["id"]
    (other,) = json.loads(exported(node("b", "0", "user", "two"), current="b"))
    names = [Read(chatgpt.items(json.dumps(each).encode())).began for each in ([one], [other, one])]
    assert names[0][0].conversation == names[1][1].conversation


def test_an_entry_that_is_no_conversation_is_told_and_the_rest_is_taken() -> None:
    whole = exported(node("a", "0", "user", "one"), current="a")
    read = Read(chatgpt.items(b"[7, {}, " + whole[1:]))
    assert read.words == [(PERSON, "one")]
    assert read.skipped == ["entry 1", "entry 2"]
    assert Read(chatgpt.items(b'{"conversations": ' + whole + b"}")).words == [(PERSON, "one")]


def test_hidden_messages_pictures_and_code_say_nothing_and_pictures_are_told() -> None:
    data = exported(
        node("a", "0", "system", "You are …"),
        node("b", "a", "user", {"asset_pointer": "file"}, "What is this?", kind="multimodal_text"),
        node("c", "b", "assistant", "x = 1", kind="code"),
        node("d", "c", "user", "secret", metadata={"is_visually_hidden_from_conversation": True}),
        node("e", "d", "assistant", "A cup.", metadata={"model_slug": "m"}), current="e",
    )  # fmt: skip
    read = Read(chatgpt.items(data))
    assert read.words == [(PERSON, "What is this?"), (ASSISTANT, "A cup.")]
    assert read.skipped == ["Tea time, message b"]


def test_what_was_spoken_is_brought_as_it_was_heard() -> None:
    heard = {"content_type": "audio_transcription", "text": " Tea, please. "}
    sound = {"content_type": "real_time_user_audio_video_asset_pointer"}
    read = Read(chatgpt.items(exported(node("a", "0", "user", heard, sound, kind="multimodal_text"), current="a")))
    assert (read.words, read.skipped) == ([(PERSON, "Tea, please.")], [])


# -- Claude ------------------------------------------------------------------------------------------------------------


def test_an_export_of_claude_is_a_line_and_what_was_attached_is_a_note() -> None:
    data = json.dumps([{
        "uuid": "c1", "name": "", "created_at": "2026-05-03T10:00:00Z", "chat_messages": [
            {"uuid": "a", "sender": "human", "text": "Look", "content": [{"type": "text", "text": "Look at it"}, None],
             "attachments": [{"file_name": "x.txt", "extracted_content": "words in it"}, None]},
            {"uuid": "b", "sender": "assistant", "text": "Seen", "content": None}, "odd",
        ]}]).encode()  # fmt: skip
    assert claude_export.looks_like(data)
    read = Read(claude_export.items(data))
    assert [(each.turn.role, each.turn.text, each.turn.parent) for each in read.said] == [
        (PERSON, "Look at it", ""),
        (ASSISTANT, "Seen", "a"),
    ]
    assert [(note.about, note.text, note.metadata, note.role) for note in read.notes] == [
        ("c1", "words in it", {"file": "x.txt"}, DOCUMENT)
    ]
    assert read.skipped == ["entry 1, message 3"]


def test_a_message_of_nothing_but_tools_says_nothing() -> None:
    message = {"sender": "assistant", "text": "This block is not supported", "content": [{"type": "tool_use"}]}
    assert Read(claude_export.items(json.dumps([{"chat_messages": [message]}]).encode())).said == []


def test_projects_of_claude_give_their_prompt_and_their_documents() -> None:
    data = json.dumps([{"uuid": "p", "name": "Tea", "prompt_template": "Be brief.", "docs": [
        {"filename": "a.md", "content": "Leaves.", "created_at": "2026-05-03"}, {}]}]).encode()  # fmt: skip
    assert claude_export.looks_like(data)
    read = Read(claude_export.items(data))
    assert [(note.about, note.text, note.tags, note.role) for note in read.notes] == [
        ("Tea", "Be brief.", ("instruction",), PERSON), ("Tea", "Leaves.", ("document",), DOCUMENT),
    ]  # fmt: skip
    assert read.skipped == ["entry 1, document 2"]


# -- the MCP reference server ------------------------------------------------------------------------------------------


def test_entities_and_relations_are_read_in_every_spelling() -> None:
    data = told(
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["drinks tea", "", 7]},
        {"type": "entity", "entityName": "Acme", "entity_type": "org", "observations": []},
        {"type": "relation", "from": "Ana", "to": "Acme", "relationType": "works_at"},
        {"type": "relation", "from_id": "Acme", "to_id": "Ana", "relation_type": "employs"},
        {"type": "relation", "from": "Acme"},
    )
    assert mcp_memory.looks_like(data)
    read = Read(mcp_memory.items(lines(data)))
    assert [(note.about, note.text, note.triple) for note in read.notes] == [
        ("Ana", "drinks tea", None), ("Acme", "", None), ("Ana", "Ana works at Acme", ("Ana", "works_at", "Acme")),
        ("Acme", "Acme employs Ana", ("Acme", "employs", "Ana")),
    ]  # fmt: skip
    assert read.skipped == ["line 5"]


_WORD = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(str.strip).map(str.strip)


@given(
    st.dictionaries(_WORD, st.lists(_WORD, max_size=3), max_size=4),
    st.lists(st.tuples(_WORD, _WORD, _WORD), max_size=3, unique=True),
)
def test_what_is_written_is_read_again(observed: dict[str, list[str]], triples: list[tuple[str, str, str]]) -> None:
    notes = [Note(name, said, "person", role=ASSISTANT) for name, each in observed.items() for said in each or [""]]
    relations = [
        Read(mcp_memory.items(lines(told({"type": "relation", "from": a, "to": c, "relationType": b})))).notes[0]
        for a, b, c in triples
    ]
    again = Read(mcp_memory.items(lines(mcp_memory.written([*notes, *relations]))))
    assert again.notes == [*notes, *relations]
    assert not again.skipped


# -- Markdown ----------------------------------------------------------------------------------------------------------

PAGE = b"""---
title: Ana
type: person
tags: [team, tea]
modified: 2026-05-03
---
# About

She leads the **team**, with [[Bob|her brother]].

## Likes
- [preference] drinks tea #taste (at work)
- [ ] [x] buy tea
- works_at [[Acme#Berlin]] (since May)
1. first
   goes on

```
# not a heading

- [x] nor an item
```
"""


def test_a_page_gives_observations_relations_and_paragraphs() -> None:
    read = Read(markdown_notes.items("people/ana.md", PAGE))
    assert not read.skipped
    assert [(note.text, note.triple) for note in read.notes] == [
        ("She leads the **team**, with [[Bob|her brother]].", None),
        ("drinks tea #taste (at work)", None),
        ("[x] buy tea", None),
        ("Ana works at Acme (since May)", ("Ana", "works_at", "Acme")),
        ("first\n   goes on", None),
        ("```\n# not a heading\n\n- [x] nor an item\n```", None),
        ("Ana links to Bob", ("Ana", "links to", "Bob")),
    ]
    assert {(note.about, note.kind, note.at) for note in read.notes} == {
        ("Ana", "person", "2026-05-03T00:00:00.000000Z")
    }
    observed = read.notes[1]
    assert observed.tags == ("team", "tea", "taste")
    assert observed.metadata == {
        "file": "people/ana.md", "headings": ["About", "Likes"], "category": "preference",
    }  # fmt: skip


def test_what_looks_like_a_relation_or_a_tag_and_is_none_is_left_as_it_is() -> None:
    page = b"""- met Bob yesterday on the way to the office of [[Acme]]
- [[Tea]]
- see #42 and #tea/green, `x`
- ![[cup.png]] a picture

```
[[Nowhere]] #not-a-tag
```
"""
    read = Read(markdown_notes.items("x.md", page))
    assert [(note.text, note.tags, note.triple) for note in read.notes] == [
        ("met Bob yesterday on the way to the office of [[Acme]]", (), None),
        ("see #42 and #tea/green, `x`", ("tea/green",), None),
        ("![[cup.png]] a picture", (), None),
        ("```\n[[Nowhere]] #not-a-tag\n```", (), None),
        ("x links to Acme", (), ("x", "links to", "Acme")),
        ("x links to Tea", (), ("x", "links to", "Tea")),
    ]


def test_front_matter_that_is_no_yaml_is_told_and_the_words_are_taken() -> None:
    for front in (b"a: [1", b"a: &a [*a, " + b"b, " * 40_000 + b"]", b"[" * 5_000):
        read = Read(markdown_notes.items("x.md", b"---\n" + front + b"\n---\nWords.\n"))
        assert [(note.about, note.text) for note in read.notes] == [("x", "Words.")]
        assert read.skipped == ["x.md, front matter"]


def test_a_title_of_digits_is_a_title() -> None:
    for front in (b"title: 2026", b"title: 2026-05-03\ntags: [1, null, [a]]\ncreated: never"):
        (note,) = Read(markdown_notes.items("x.md", b"---\n" + front + b"\n---\nWords.\n")).notes
        assert note.about.startswith("2026")
        assert (note.tags, note.at) in [((), ""), (("1",), "")]


def test_a_file_that_is_not_text_or_is_empty_is_told() -> None:
    for data in (b"", b"\n\n", b"a\x00b", b"---\ntitle: x\n---\n"):
        read = Read(markdown_notes.items("x.md", data))
        assert not read.notes
        assert read.skipped == ["x.md"]


# -- all of them -------------------------------------------------------------------------------------------------------


def test_each_file_is_known_for_what_it_is() -> None:
    assert detected(told(line("a", None, "one"))) == "claude-code"
    assert detected(exported(node("a", "0", "user", "one"), current="a")) == "chatgpt"
    assert detected(b'[{"uuid":"c","chat_messages":[]}]') == "claude"
    assert detected(b'{"type":"entity","name":"Ana","observations":[]}') == "mcp-memory"
    for other in (
        b"",
        b"words",
        b'Our exports have "chat_messages", "mapping", "prompt_template" and "docs".',
        b"[]",
        b"{}",
        b"\xff\xfe\x00",
        b'{"type":"entity"}',
        b"[" * 10_000,
    ):
        assert detected(other) == "", other[:20]


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "uuid", "parentUuid", "sessionId", "message", "content", "text", "mapping", "parts",
                         "author", "role", "metadata", "chat_messages", "attachments", "docs", "name", "observations",
                         "from", "to", "relationType", "create_time", "content_type", "parent", "summary", "leafUuid"]),
        inner | st.sampled_from(["user", "assistant", "entity", "relation", "summary", "text", "tool_result"]),
        max_size=6),
    max_leaves=20,
)  # fmt: skip


def items_in(system: str, data: bytes) -> Iterator[Item]:
    return FORMATS[system].items("x.md", lines(data), lambda: data)


@given(st.lists(_JSON, max_size=4), st.sampled_from(sorted(FORMATS)))
def test_any_json_is_read_or_refused_and_never_breaks_the_reader(values: list[object], system: str) -> None:
    for data in ("\n".join(map(json.dumps, values)).encode(), json.dumps(values).encode()):
        read = Read(items_in(system, data))
        begun = {each.conversation: each for each in read.began}
        for each in read.said:
            assert begun[each.conversation].ids[each.number] == each.turn.id
            assert not each.branch or each.branch in begun[each.conversation].above
            assert each.turn.text.strip()


@given(
    st.text(max_size=300)
    | st.lists(
        st.sampled_from(["---", "\n", "- ", "[x] ", "[[A]]", "[a] ", "#t ", "```", "(b)", "# ", "w"]), max_size=40
    ).map("".join)
)
def test_any_text_is_a_page(text: str) -> None:
    list(markdown_notes.items("x.md", text.encode("utf-8", "replace")))


@pytest.mark.parametrize(
    "piece",
    ["# ", "- [", "[[", "(", "`", "~~~\n", "<system-reminder", "<", " ", "#", "- [a] ((", "---\n", "[x](", "\t"],
)
def test_a_long_text_of_one_piece_is_read_in_time_that_grows_with_it(piece: str) -> None:
    def seconds(size: int) -> float:
        said = piece * size
        start = time.process_time()
        list(markdown_notes.items("x.md", b"- a\n" + said.encode() + b"x"))
        list(markdown_notes.items("x.md", said.encode() + b"x"))
        claude_code.cleaned(said)
        return time.process_time() - start

    small = min(seconds(4_000) for _ in range(3))
    assert seconds(40_000) < 40 * small + 0.2
