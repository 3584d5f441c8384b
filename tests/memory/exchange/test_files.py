"""Files that live in the memory: they come back byte for byte, and what they say is beliefs like any other."""

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from tallystick import Action, Memory, NeedsApproval, NotFound, Refused
from tallystick.memory.exchange.files import LONGEST, MOST, cut
from tests.memory.conftest import files_with
from tests.refusals import refuses
from tests.strategies import HOSTILE

NOTES = "# Tea\n\n- Ana likes green tea\n- Bob likes\n  black tea\n\nBoth drink it\nin the morning.\n"
FILE = "/memories/tea.md"


def joined(parts, end):
    return "".join(each for part in parts for each in part) + end


def texts(memory):
    return [belief.text for belief in memory.beliefs if belief.text]


# -- cutting -----------------------------------------------------------------------------------------------------------


def test_a_file_is_cut_where_its_writer_begins_something_new():
    parts, end = cut(NOTES)

    assert [part.text for part in parts] == [
        "# Tea\n\n- Ana likes green tea", "- Bob likes\n  black tea", "Both drink it\nin the morning."
    ]  # fmt: skip
    assert ([part.gap for part in parts], end) == (["", "\n", "\n\n"], "\n")


@given(st.text(st.sampled_from("ab -#*1.\n\t\r\x0b\x1c\x00\u2028\u3000é"), max_size=80) | st.text())
@settings(max_examples=200)
def test_the_parts_are_the_file_and_each_begins_and_ends_with_something_seen(text):
    parts, end = cut(text)

    assert joined(parts, end) == text
    assert all(part.text and part.text == part.text.strip() and not part.gap.strip() for part in parts)
    assert not end.strip()


@pytest.mark.parametrize("text", ["x" * 300_000, "- a\n" * 60_000, "a\n\n" * 60_000, "\n" * 300_000, "é " * 100_000])
def test_a_large_file_has_neither_many_parts_nor_long_ones(text):
    parts, end = cut(text)

    assert joined(parts, end) == text
    assert len(parts) <= MOST * 1.1
    assert all(len(part.text) <= LONGEST for part in parts)


# -- keeping -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from([*HOSTILE, NOTES, "- one\n", "two\n"]) | st.text(max_size=9), max_size=5).map("".join))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("".join(HOSTILE) + "\n" + NOTES)
@example("")
def test_a_file_comes_back_byte_for_byte_whatever_it_said_before(memory, text):
    memory.files.write(FILE, text)

    assert memory.files.read(FILE) == text
    assert memory.files.sizes() == {FILE: len(text.encode())}
    with Memory(memory.folder) as anew:
        assert anew.files.read(FILE) == text


def test_what_a_file_says_is_recalled_and_stands_on_a_page(memory):
    memory.files.write("/memories/people/tea.md", NOTES)
    memory.files.write("/memories/person-ana.md", "Ana plays the theorbo.")

    [hit, *_] = memory.recall("what does Ana like?")
    assert hit.text == "# Tea\n\n- Ana likes green tea"
    assert len(memory.pages.read("topic-people-tea").entries) == 3
    assert [entry.text for entry in memory.pages.read("person-ana").entries] == ["Ana plays the theorbo."]


def test_an_edit_supersedes_what_it_touches_and_leaves_the_rest(memory):
    memory.files.write(FILE, NOTES)
    before = {belief.text: belief.id for belief in memory.beliefs if belief.text}

    memory.files.write(FILE, NOTES.replace("green", "white").replace("Both", "- Cem likes none\n\nBoth"))

    after = {belief.text: belief.id for belief in memory.beliefs if belief.text}
    assert {text: after[text] for text in after if text in before} == {
        text: name for text, name in before.items() if "green" not in text
    }  # fmt: skip
    assert set(after) - set(before) == {"# Tea\n\n- Ana likes white tea", "- Cem likes none"}
    [old, new] = memory.history(after["# Tea\n\n- Ana likes white tea"])
    assert (old.belief.text, new.belief.id) == ("# Tea\n\n- Ana likes green tea", after[new.belief.text])
    size = memory.ledger.size

    memory.files.write(FILE, memory.files.read(FILE))

    assert memory.ledger.size == size, "the same again writes nothing"


def test_what_is_done_to_a_statement_elsewhere_is_done_in_the_file(memory):
    memory.files.write(FILE, NOTES)
    ana, bob, both = (belief for belief in memory.beliefs if belief.text)

    memory.revise(ana.id, "# Tea\n\n- Ana likes water")
    memory.forget(both.id)
    memory.erase(bob.id)

    assert memory.files.read(FILE) == "# Tea\n\n- Ana likes water\n"
    assert files_with(memory.folder, "black tea") == []
    memory.files.write(FILE, NOTES)
    assert memory.files.read(FILE) == NOTES


def test_statements_that_were_made_one_stand_in_the_file_once(memory):
    memory.files.write(FILE, "- one\n- uno\n- two\n")
    one, uno = (memory.beliefs.query(containing=text)[0].id for text in ("- one", "- uno"))

    memory.apply(Action(kind="merge", target=(one, uno), changes={"text": "- one, or uno"}, by="python:local"))

    assert memory.files.read(FILE) == "- one, or uno\n- two\n"


def test_nothing_else_that_is_remembered_corrects_a_line_of_a_file(memory):
    memory.files.write(FILE, "The port is 5432.")

    memory.remember("The port is 6543.")

    assert memory.files.read(FILE) == "The port is 5432."


def test_a_belief_that_only_says_that_it_is_a_file_is_none(memory):
    memory.files.write(FILE, NOTES)
    odd = {"path": "/memories/x", "parts": [], "end": ""}
    wrong = [{"parts": 3}, {"parts": [["a"]]}, {"path": "/../x"}, {"path": 3}]
    for told in (3, "x", {}, *({**odd, **each} for each in wrong)):
        memory.remember("odd", kind="file", data={"file": told})

    assert memory.files.paths() == [FILE]
    assert memory.files.read(FILE) == NOTES


# -- folders -----------------------------------------------------------------------------------------------------------


def test_files_and_folders_are_moved_and_removed_and_what_they_said_stays_in_history(memory):
    for name in ("a/one.md", "a/b/two.md", "ab.md"):
        memory.files.write(f"/memories/{name}", f"I am {name}")

    memory.files.move("/memories/a", "/memories/c")
    assert memory.files.paths() == ["/memories/ab.md", "/memories/c/b/two.md", "/memories/c/one.md"]
    assert memory.files.read("/memories/c/b/two.md") == "I am a/b/two.md"
    memory.files.write("/memories/a/one.md", "another")  # the old place is free
    assert memory.files.read("/memories/c/one.md") == "I am a/one.md"

    assert memory.files.remove("/memories/c") == 2
    assert memory.files.paths() == ["/memories/a/one.md", "/memories/ab.md"]
    assert texts(memory) == ["I am ab.md", "another"]
    assert "I am a/b/two.md" in {belief.text for belief in memory.beliefs.all()}


def test_nothing_is_put_where_something_is(memory):
    memory.files.write("/memories/a", "one")
    memory.files.write("/memories/d/b", "two")
    before = memory.ledger.size

    for refused in (
        lambda: memory.files.move("/memories/a", "/memories/d/b"),
        lambda: memory.files.move("/memories/a", "/memories/d"),
        lambda: memory.files.move("/memories/d", "/memories/a/x"), lambda: memory.files.write("/memories/d", "x"),
        lambda: memory.files.write("/memories/a/x", "x"), lambda: memory.files.write("/memories/e", "\ud800"),
    ):  # fmt: skip
        with pytest.raises(Refused):
            refused()

    assert memory.ledger.size == before
    assert {path: memory.files.read(path) for path in memory.files.paths()} == {
        "/memories/a": "one", "/memories/d/b": "two"
    }  # fmt: skip


def test_a_path_that_names_no_place_or_leads_out_is_refused(memory):
    for path in (
        "", "notes.md", "/", "/memories/", "/memories//x", "/memories/../x", "/memories/./x", "/memories/a\x00b",
        "/memories/a\nb", "/memories/..\\x", "/memories/%2e%2e/x", "/memories/%2E%2e%2fx", "/memories/" + "x" * 600,
        "/memories/ghp_Xk3pQ9mVt7LrB2nWz8JcY4hSd6FgA1uE0oTi", "/memories/ /x",
    ):  # fmt: skip
        for act in (memory.files.read, memory.files.remove, lambda path: memory.files.write(path, "x")):
            with pytest.raises(Refused):
                act(path)
    assert memory.files.paths() == []


def test_what_is_not_there_is_not_found_and_what_is_too_long_is_refused(memory):
    for act in (memory.files.read, memory.files.remove, lambda path: memory.files.move(path, FILE)):
        with pytest.raises(NotFound):
            act("/memories/none")
    with refuses("size", "10,000,000", "1,000,000"):
        memory.files.write(FILE, "x" * 10_000_000)
    assert memory.files.paths() == []


# -- trust -------------------------------------------------------------------------------------------------------------


def test_secrets_are_masked_also_where_the_file_is_cut_inside_one_and_everything_else_is_as_it_was(memory):
    token = "ghp_Xk3pQ9mVt7LrB2nWz8JcY4hSd6FgA1uE0oTi"
    lines = ["Xk3pQ9mVt7LrB2nWz8JcY4hSd6FgA1uE0oTiXk3pQ9mVt7LrB2nWz8JcY4hSd6Fg"] * 8
    ends = [f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END")]
    key = "\n".join([ends[0], "Proc-Type: 4,ENCRYPTED", "", *lines, ends[1]])

    memory.files.write(FILE, f"{NOTES}\nkey: {token}\n\n{key}\n")

    read = memory.files.read(FILE)
    assert read.startswith(NOTES)
    assert token not in read
    assert lines[0] not in read
    assert files_with(memory.folder, lines[0]) == []


def test_a_file_of_a_tool_is_pending_until_it_is_approved(memory):
    with Memory(memory.folder, trust="tool", by="tool:x") as tool:
        tool.files.write(FILE, NOTES)
        with refuses("state", FILE, "tallystick review"):
            tool.files.read(FILE)
    assert (memory.files.sizes(), memory.files.paths()) == ({}, [FILE])

    for review in memory.reviews.waiting():
        memory.reviews.approve(review.id)
    assert memory.files.read(FILE) == NOTES


def test_an_agent_asks_before_it_changes_a_persons_line_and_changes_no_half_of_a_file(memory):
    memory.files.write(FILE, NOTES)
    with Memory(memory.folder, trust="agent", by="mcp:x") as agent:
        before = agent.ledger.size
        with refuses("permission", "paragraph") as refused:
            agent.files.write(FILE, NOTES.replace("likes", "loves"))
        assert not isinstance(refused.value, NeedsApproval)
        assert agent.ledger.size == before
        with pytest.raises(NeedsApproval) as asked:
            agent.files.write(FILE, NOTES.replace("green", "white"))
        assert agent.files.read(FILE) == NOTES
        memory.reviews.approve(asked.value.review)
        assert agent.files.read(FILE) == NOTES.replace("green", "white")


def test_another_user_has_other_files(memory):
    memory.files.write(FILE, NOTES)
    with Memory(memory.folder, user="bob") as other:
        assert other.files.paths() == []
        other.files.write(FILE, "mine")
    assert memory.files.read(FILE) == NOTES
