"""The memory tool that Claude knows: its commands and its words, over files that live in the memory."""

import pytest

from tallystick import Memory, NeedsApproval, Refused
from tests.surfaces.mcp.profiles import Profile

LISTING = "Here're the files and directories up to 2 levels deep in {}, excluding hidden items and node_modules:\n"
CONTENT = "Here's the content of {} with line numbers:\n"
PREFS = "/memories/prefs.md"


@pytest.fixture
def call(memory):
    profile = Profile(memory, "claude")

    def run(command, path="", **given):
        told = profile("memory", command=command, **({"path": path} if path else {}), **given)
        assert told.data == {"result": told.text}
        return told.text

    run.profile = profile
    return run


def refusal(call, *given, **named):
    with pytest.raises(Refused) as refused:
        call(*given, **named)
    return str(refused.value)


def test_a_session_of_notes_is_told_in_that_tools_words(call):
    assert call("view", "/memories") == LISTING.format("/memories") + "0B\t/memories"
    assert call("create", PREFS, file_text="Prices: without tax.\nTone: brief.\n") == (
        "File created successfully at: /memories/prefs.md"
    )
    assert call("str_replace", PREFS, old_str="without", new_str="with") == (
        "The memory file has been edited. This is /memories/prefs.md around it, with line numbers:\n"
        "     1\tPrices: with tax.\n     2\tTone: brief."
    )
    assert call("insert", PREFS, insert_line=0, insert_text="# Sam\n") == "The file /memories/prefs.md has been edited."
    assert call("insert", PREFS, insert_line=3, new_str="The end") == "The file /memories/prefs.md has been edited."
    assert call("view", PREFS) == CONTENT.format(PREFS) + (
        "     1\t# Sam\n     2\tPrices: with tax.\n     3\tTone: brief.\n     4\tThe end"
    )
    assert call("view", PREFS, view_range=[2, 3]) == CONTENT.format(PREFS) + (
        "     2\tPrices: with tax.\n     3\tTone: brief."
    )
    assert call("view", PREFS, view_range=[4, -1]) == CONTENT.format(PREFS) + "     4\tThe end"
    assert call("rename", old_path=PREFS, new_path="/memories/people/sam.md") == (
        "Successfully renamed /memories/prefs.md to /memories/people/sam.md"
    )
    assert call("delete", "/memories/people") == "Successfully deleted /memories/people"


def test_a_listing_shows_two_levels_with_sizes_and_nothing_hidden(call):
    for name, size in (("a/b/c/d.md", 1536), ("a/z.md", 512), (".hidden/x", 10), ("node_modules/y", 10), ("e.md", 12)):
        call("create", f"/memories/{name}", file_text="x" * size)

    assert call("view", "/memories/") == LISTING.format("/memories") + (
        "2K\t/memories\n2K\t/memories/a/\n1.5K\t/memories/a/b/\n512B\t/memories/a/z.md\n12B\t/memories/e.md"
    )
    assert call("view", "/memories/a/b") == LISTING.format("/memories/a/b") + (
        "1.5K\t/memories/a/b\n1.5K\t/memories/a/b/c/\n1.5K\t/memories/a/b/c/d.md"
    )


def test_what_cannot_be_done_is_told_in_that_tools_words_and_changes_nothing(call, memory):
    call("create", PREFS, file_text="one two\ntwo\nthree")
    size = memory.ledger.size
    none = "/memories/none"

    assert refusal(call, "create", PREFS, file_text="x") == "Error: File /memories/prefs.md already exists"
    assert refusal(call, "view", none) == f"The path {none} does not exist. Please provide a valid path."
    assert refusal(call, "str_replace", none, old_str="a", new_str="b") == (
        f"Error: The path {none} does not exist. Please provide a valid path."
    )
    assert refusal(call, "str_replace", PREFS, old_str="four", new_str="b") == (
        "No replacement was performed, old_str `four` did not appear verbatim in /memories/prefs.md."
    )
    assert refusal(call, "str_replace", PREFS, old_str="two", new_str="b") == (
        "No replacement was performed. Multiple occurrences of old_str `two` in lines: 1, 2. Please ensure it is unique"
    )
    assert refusal(call, "insert", none, insert_line=0, insert_text="x") == f"Error: The path {none} does not exist"
    assert refusal(call, "insert", PREFS, insert_line=4, insert_text="x") == (
        "Error: Invalid `insert_line` parameter: 4. It should be within the range of lines of the file: [0, 3]"
    )
    assert refusal(call, "delete", none) == f"Error: The path {none} does not exist"
    assert refusal(call, "rename", old_path=none, new_path=PREFS) == f"Error: The path {none} does not exist"
    assert refusal(call, "rename", old_path=PREFS, new_path=PREFS) == f"Error: The destination {PREFS} already exists"
    assert refusal(call, "view", PREFS, view_range=[3, 2]).startswith("Error: Invalid `view_range` parameter: [3, 2].")
    for command in ("create", "str_replace", "insert"):
        assert "needs" in refusal(call, command, PREFS if command != "create" else "/memories/new")
    assert refusal(call, "str_replace", PREFS, old_str="", new_str="x").startswith("No replacement was performed")
    assert "10,000,000" in refusal(call, "create", "/memories/big", file_text="x" * 10_000_000)
    assert memory.ledger.size == size


def test_no_path_leads_out_of_the_folder_and_the_folder_itself_stays(call, home):
    call("create", PREFS, file_text="x")
    for path in (
        "/etc/passwd", "memories/x", "/memories/../etc/passwd", "/memories/%2e%2e%2fetc", "/memories\\x",
        "/memoriesx/y", "/memories/a/../../b", "~/x", "/memories/\x00", "file:///memories/x",
    ):  # fmt: skip
        for given in (("view", path), ("delete", path)):
            refusal(call, *given)
        refusal(call, "create", path, file_text="x")
        refusal(call, "rename", old_path=PREFS, new_path=path)
    for command in ("delete", "create"):
        assert "/memories itself cannot be changed" in refusal(call, command, "/memories", file_text="x")
    assert call("view") == LISTING.format("/memories") + "1B\t/memories\n1B\t/memories/prefs.md"
    assert not (home / "memories").exists()


def test_edits_keep_every_other_byte(call, memory):
    text = "\ufeffa\r\nb\u2028c\x00d\n\n\n  🧑‍🚀 e\t\n\n"
    call("create", PREFS, file_text=text)

    call("str_replace", PREFS, old_str="b\u2028c", new_str="")
    call("insert", PREFS, insert_line=1, insert_text="new\n")

    assert memory.files.read(PREFS) == "\ufeffa\r\nnew\n\x00d\n\n\n  🧑‍🚀 e\t\n\n"


def test_nobody_else_writes_between_the_reading_and_the_writing_of_an_edit(call, memory, monkeypatch):
    call("create", PREFS, file_text="one\n")
    read, is_alone = memory.files.read, []

    def reading(path):
        is_alone.append(memory._folder.ledger.in_batch())
        return read(path)

    monkeypatch.setattr(memory.files, "read", reading)
    call("insert", PREFS, insert_line=1, insert_text="two\n")
    call("str_replace", PREFS, old_str="two", new_str="three")

    assert is_alone == [True, True]
    assert read(PREFS) == "one\nthree\n"


def test_what_is_noted_is_recalled_and_every_version_stays_in_history(call, memory):
    call("create", PREFS, text="Sam prefers tea over coffee.")
    call("str_replace", PREFS, old_str="tea over coffee", new_str="coffee over tea")
    call("delete", PREFS)

    assert not memory.recall("what does Sam prefer?")
    said = [version.belief.text for version in memory.history(memory.beliefs.all()[0].id)]
    assert said[:2] == ["Sam prefers tea over coffee.", "Sam prefers coffee over tea."]


def test_a_persons_line_is_changed_after_a_yes_and_what_is_done_is_not_done_twice(call, memory):
    tool = call.profile.tools["memory"]

    def after(**given):
        with pytest.raises(NeedsApproval) as asked:
            call(**given)
        with Memory(memory.folder) as person:
            person.reviews.approve(asked.value.review)
        return tool.after(call.profile.desk, tool.takes.model_validate(given), None).text()

    with Memory(memory.folder) as person:
        person.files.write(PREFS, "- Sam likes tea\n- Sam likes cats\n")
        person.files.write("/memories/d/one.md", "one")
        person.files.write("/memories/d/two.md", "two")

    edited = after(command="str_replace", path=PREFS, old_str="tea", new_str="water")
    assert edited.endswith("     1\t- Sam likes water\n     2\t- Sam likes cats")
    assert after(command="insert", path=PREFS, insert_line=2, insert_text="  and dogs\n").endswith("has been edited.")
    assert memory.files.read(PREFS) == "- Sam likes water\n- Sam likes cats\n  and dogs\n"
    with pytest.raises(NeedsApproval):  # the second file has a question of its own
        after(command="rename", old_path="/memories/d", new_path="/memories/e")
    assert len(memory.files.paths()) == 3


def test_what_is_inserted_may_be_called_text_or_content(call):
    call("create", PREFS, file_text="one\n")

    for name in ("text", "content"):
        assert call("insert", PREFS, insert_line=1, **{name: name}) == "The file /memories/prefs.md has been edited."
    assert call("view", PREFS).split("\t")[1:] == ["one\n     2", "content\n     3", "text"]
