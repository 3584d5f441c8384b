"""What people bring from elsewhere: read with patience, no branch lost, and what was passed over is told."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from tallystick.exchange import claude_code, markdown_notes
from tallystick.exchange.conversation import (
    ASSISTANT,
    PERSON,
    TOOL,
    Conversation,
    ConversationStart,
    Item,
    Message,
    Turn,
    branches_of,
    elements,
    items_of,
    loaded,
    moment,
)
from tallystick.exchange.detect import FORMATS, detected
from tests.exchange.reading import Read, exported, line, lines, node, told
from tests.growth import assert_linear, assert_text_linear, seconds

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
    def read(size: int) -> None:
        with pytest.raises(ValueError, match="cut off"):
            for _ in elements(b'["' + piece * size):
                pass

    assert_linear(lambda size: seconds(lambda: read(size)), 4_000, 40_000)


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
    assert began == ConversationStart("c", "", ("a", "b", "c", "d", "e"), {"c": "", "e": "c"})
    assert [(each.number, each.turn.id, each.branch) for each in rest if isinstance(each, Message)] == [
        (0, "a", ""), (1, "b", ""), (2, "c", "c"), (3, "d", "c"), (4, "e", "e"),
    ]  # fmt: skip


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
    def read(said: str) -> None:
        list(markdown_notes.items("x.md", b"- a\n" + said.encode() + b"x"))
        list(markdown_notes.items("x.md", said.encode() + b"x"))
        claude_code.cleaned(said)

    assert_text_linear(read, piece, 100_000)
