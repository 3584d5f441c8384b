"""What people bring from elsewhere: read with patience, no branch lost, and what was passed over is told."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.exchange import chatgpt, claude_code, claude_export, markdown_notes, mcp_memory
from keepsake.exchange.branches import branches_of
from keepsake.exchange.brought import ASSISTANT, PERSON, TOOL, Brought, Conversation, Note, Turn, loaded, moment
from keepsake.exchange.detect import READERS, detected


def told(*lines: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(line) for line in lines).encode()


# -- reading -----------------------------------------------------------------------------------------------------------


def test_half_an_emoji_becomes_a_mark_and_the_rest_is_kept() -> None:
    assert loaded(b'{"a":"tea \\ud83d"}') == {"a": "tea \ufffd"}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
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
    (conversation,) = claude_code.read(data).conversations
    assert conversation.title == "Tea"
    assert [(turn.role, turn.text) for turn in conversation.turns] == [
        (PERSON, "What do I drink?"), (ASSISTANT, "Tea."), (TOOL, "a result"), (ASSISTANT, "Done."),
    ]  # fmt: skip


def test_an_edited_question_of_a_transcript_is_a_branch_and_a_side_chain_too() -> None:
    data = told(
        line("a", None, "one"), line("b", "a", "two"), line("x", None, "go and look", isSidechain=True),
        line("c", "a", "two, again"), line("y", "x", "seen", "assistant", isSidechain=True),
    )  # fmt: skip
    (conversation,) = claude_code.read(data).conversations
    said = [[turn.text for turn in branch.turns] for branch in branches_of(conversation)]
    assert said == [["one", "two, again"], ["two"], ["go and look", "seen"]]


def test_a_cut_line_is_told_and_the_rest_is_taken() -> None:
    brought = claude_code.read(told(line("a", None, "one")) + b'\n{"type":"user","uu')
    assert [turn.text for turn in brought.conversations[0].turns] == ["one"]
    assert [skipped.place for skipped in brought.skipped] == ["line 2"]


def test_what_the_program_says_to_itself_is_taken_out_of_a_persons_words() -> None:
    assert claude_code.cleaned("a <command-name>/x</command-name> b <b>c</b>") == "a  b <b>c</b>"
    assert claude_code.cleaned("kept <system-reminder>and this is never closed") == "kept"
    (conversation,) = claude_code.read(told(line("a", None, "Caveat: …", isMeta=True))).conversations
    assert conversation.turns[0].text == ""


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
    (conversation,) = chatgpt.read(data).conversations
    assert conversation.title == "Tea time"
    said = [[turn.text for turn in branch.turns] for branch in branches_of(conversation)]
    assert said == [["What do I drink?", "Tea."], ["Coffee.", "Really?"]]


def test_hidden_messages_pictures_and_code_say_nothing_and_pictures_are_told() -> None:
    data = exported(
        node("a", "0", "system", "You are …"),
        node("b", "a", "user", {"asset_pointer": "file"}, "What is this?", kind="multimodal_text"),
        node("c", "b", "assistant", "x = 1", kind="code"),
        node("d", "c", "user", "secret", metadata={"is_visually_hidden_from_conversation": True}),
        node("e", "d", "assistant", "A cup.", metadata={"model_slug": "m"}), current="e",
    )  # fmt: skip
    brought = chatgpt.read(data)
    (line_,) = branches_of(brought.conversations[0])
    assert [(turn.role, turn.text) for turn in line_.turns] == [(PERSON, "What is this?"), (ASSISTANT, "A cup.")]
    assert [skipped.place for skipped in brought.skipped] == ["Tea time, message b"]


# -- Claude ------------------------------------------------------------------------------------------------------------


def test_an_export_of_claude_is_a_line_and_what_was_attached_is_a_note() -> None:
    data = json.dumps([{
        "uuid": "c1", "name": "", "created_at": "2026-05-03T10:00:00Z", "chat_messages": [
            {"uuid": "a", "sender": "human", "text": "Look", "content": [{"type": "text", "text": "Look at it"}, None],
             "attachments": [{"file_name": "x.txt", "extracted_content": "words in it"}, None]},
            {"uuid": "b", "sender": "assistant", "text": "Seen", "content": None}, "odd",
        ]}]).encode()  # fmt: skip
    assert claude_export.looks_like(data)
    brought = claude_export.read(data)
    (line_,) = branches_of(brought.conversations[0])
    assert [(turn.role, turn.text, turn.parent) for turn in line_.turns] == [
        (PERSON, "Look at it", ""),
        (ASSISTANT, "Seen", "a"),
    ]
    assert [(note.about, note.text, note.metadata) for note in brought.notes] == [
        ("c1", "words in it", {"file": "x.txt"})
    ]
    assert len(brought.skipped) == 1


def test_projects_of_claude_give_their_prompt_and_their_documents() -> None:
    data = json.dumps([{"uuid": "p", "name": "Tea", "prompt_template": "Be brief.", "docs": [
        {"filename": "a.md", "content": "Leaves.", "created_at": "2026-05-03"}, {}]}]).encode()  # fmt: skip
    assert claude_export.looks_like(data)
    brought = claude_export.read(data)
    assert [(note.about, note.text, note.tags) for note in brought.notes] == [
        ("Tea", "Be brief.", ("instruction",)), ("Tea", "Leaves.", ("document",)),
    ]  # fmt: skip
    assert [skipped.place for skipped in brought.skipped] == ["project 1, document 2"]


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
    brought = mcp_memory.read(data)
    assert [(note.about, note.text, note.triple) for note in brought.notes] == [
        ("Ana", "drinks tea", None), ("Acme", "", None), ("Ana", "Ana works at Acme", ("Ana", "works_at", "Acme")),
        ("Acme", "Acme employs Ana", ("Acme", "employs", "Ana")),
    ]  # fmt: skip
    assert [skipped.place for skipped in brought.skipped] == ["line 5"]


_WORD = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(str.strip).map(str.strip)


@given(
    st.dictionaries(_WORD, st.lists(_WORD, max_size=3), max_size=4),
    st.lists(st.tuples(_WORD, _WORD, _WORD), max_size=3, unique=True),
)
def test_what_is_written_is_read_again(observed: dict[str, list[str]], triples: list[tuple[str, str, str]]) -> None:
    notes = [Note(name, said, "person") for name, each in observed.items() for said in each or [""]]
    relations = [
        mcp_memory.read(told({"type": "relation", "from": a, "to": c, "relationType": b})).notes[0]
        for a, b, c in triples
    ]
    again = mcp_memory.read(mcp_memory.written([*notes, *relations]))
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
    brought = markdown_notes.read("people/ana.md", PAGE)
    assert not brought.skipped
    assert [(note.text, note.triple) for note in brought.notes] == [
        ("She leads the **team**, with [[Bob|her brother]].", None),
        ("drinks tea #taste", None),
        ("[x] buy tea", None),
        ("Ana works at Acme", ("Ana", "works_at", "Acme")),
        ("first\n   goes on", None),
        ("```\n# not a heading\n\n- [x] nor an item\n```", None),
        ("Ana links to Bob", ("Ana", "links to", "Bob")),
    ]
    assert {(note.about, note.kind, note.at) for note in brought.notes} == {
        ("Ana", "person", "2026-05-03T00:00:00.000000Z")
    }
    observed = brought.notes[1]
    assert observed.tags == ("team", "tea", "taste")
    assert observed.metadata == {
        "file": "people/ana.md", "headings": ["About", "Likes"], "category": "preference", "context": "at work",
    }  # fmt: skip
    assert brought.notes[3].metadata["context"] == "since May"


def test_front_matter_that_is_no_yaml_is_told_and_the_words_are_taken() -> None:
    brought = markdown_notes.read("x.md", b"---\na: [1\n---\nWords.\n")
    assert [(note.about, note.text) for note in brought.notes] == [("x", "Words.")]
    assert [skipped.place for skipped in brought.skipped] == ["x.md, front matter"]


def test_a_file_that_is_not_text_or_is_empty_is_told() -> None:
    for data in (b"", b"\n\n", b"a\x00b", b"---\ntitle: x\n---\n"):
        brought = markdown_notes.read("x.md", data)
        assert not brought
        assert len(brought.skipped) == 1


# -- all of them -------------------------------------------------------------------------------------------------------


def test_each_file_is_known_for_what_it_is() -> None:
    assert detected(told(line("a", None, "one"))) == "claude-code"
    assert detected(exported(node("a", "0", "user", "one"), current="a")) == "chatgpt"
    assert detected(b'[{"uuid":"c","chat_messages":[]}]') == "claude"
    assert detected(b'{"type":"entity","name":"Ana","observations":[]}') == "mcp-memory"
    for other in (b"", b"words", b"[]", b"{}", b"\xff\xfe\x00", b'{"type":"entity"}', b"[" * 10_000):
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


@given(st.lists(_JSON, max_size=4), st.sampled_from(sorted(READERS)))
def test_any_json_is_read_or_refused_and_never_breaks_the_reader(values: list[object], system: str) -> None:
    for data in ("\n".join(map(json.dumps, values)).encode(), json.dumps(values).encode()):
        try:
            brought = READERS[system][1](data)
        except ValueError:
            continue
        for conversation in brought.conversations:
            branches_of(conversation)


@given(
    st.text(max_size=300)
    | st.lists(
        st.sampled_from(["---", "\n", "- ", "[x] ", "[[A]]", "[a] ", "#t ", "```", "(b)", "# ", "w"]), max_size=40
    ).map("".join)
)
def test_any_text_is_a_page(text: str) -> None:
    markdown_notes.read("x.md", text.encode("utf-8", "replace"))


@pytest.mark.parametrize(
    "piece",
    ["# ", "- [", "[[", "(", "`", "~~~\n", "<system-reminder", "<", " ", "#", "- [a] ((", "---\n", "[x](", "\t"],
)
def test_a_long_text_of_one_piece_is_read_in_time_that_grows_with_it(piece: str) -> None:
    def seconds(size: int) -> float:
        said = piece * size
        start = time.process_time()
        markdown_notes.read("x.md", b"- a\n" + said.encode() + b"x")
        markdown_notes.read("x.md", said.encode() + b"x")
        claude_code.cleaned(said)
        return time.process_time() - start

    small = min(seconds(4_000) for _ in range(3))
    assert seconds(40_000) < 40 * small + 0.2


def test_nothing_brought_is_falsy() -> None:
    assert not Brought()
    assert Brought(notes=[Note("Ana", "x")])
