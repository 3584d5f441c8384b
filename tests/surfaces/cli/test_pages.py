"""tallystick pages: the list, one page, a search; and what a beginner gets who types it wrong."""

import re

import pytest

from tallystick.surfaces.present.text import cells

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "person-\x1b]0;owned\x07Bob \u202e😀"


@pytest.fixture
def people(tallystick):
    """Two people; one of them moved."""
    tallystick("remember", "Ana prefers tea", "--about", "person-ana", "--tag", "taste")
    tallystick("remember", "Ana lives in Berlin", "--about", "person-ana", "--tag", "home", "--key", "home")
    tallystick("revise", "home", "Ana lives in Munich")
    tallystick("remember", "Bob plays chess", "--about", "person-bob")


def names(done):
    return [line.split()[0] for line in done.out.splitlines()]


# -- the list ----------------------------------------------------------------------------------------------------------


def test_pages_are_listed_with_what_is_on_them_the_last_touched_first(tallystick, people):
    done = tallystick("pages")

    assert done.status == 0
    assert names(done) == ["person-bob", "person-ana", "user-profile", "user-preferences"]
    assert re.search(r"^person-bob +1 entry +\S.* What is known about Bob$", done.out, re.MULTILINE)
    assert re.search(r"^person-ana +3 entries +\S.* What is known about Ana$", done.out, re.MULTILINE)


def test_a_page_that_was_put_away_is_counted_and_listed_on_request(tallystick, people):
    assert tallystick("pages", "person-bob", "--archive").out == "Archived person-bob: Bob\n"
    tallystick("pages", "person-ana", "--flag")
    listed, every = tallystick("pages"), tallystick("pages", "--all")

    assert "person-bob" not in listed.out
    assert listed.out.endswith("\nand 1 dormant or archived page: --all\n")
    assert "archived; What is known about Bob" in every.out
    assert "to be compacted; What is known about Ana" in every.out

    assert tallystick("pages", "person-bob", "--activate").status == 0
    assert "person-bob" in tallystick("pages").out


def test_a_memory_without_pages_says_how_one_begins(tallystick, people):
    tallystick("clean", "memory", "--yes")

    assert tallystick("pages").out == (
        "No pages yet; `tallystick remember TEXT --about person-ana` starts one.\n"
    )  # fmt: skip
    assert tallystick("pages", "--json").json == []


def test_json_has_all_of_a_page(tallystick, people):
    [bob] = [info for info in tallystick("pages", "--json").json if info["about"] == "person-bob"]
    page = tallystick("pages", "person-bob", "--json").json

    assert (bob["path"], bob["entry_count"], bob["status"]) == ("person-bob.md", 1, "active")
    assert bob["needs_compact"] is False
    assert page["entries"][0]["text"] == "Bob plays chess"
    assert page["text"].startswith("---\ndescription: What is known about Bob\n")


def test_another_users_pages_are_theirs(tallystick, people):
    tallystick("remember", "Ana is my sister", "--about", "person-ana", "--user", "bob")

    assert names(tallystick("pages", "--user", "bob"))[0] == "person-ana"
    assert "sister" in tallystick("pages", "person-ana", "--user", "bob").out
    assert "sister" not in tallystick("pages", "person-ana").out
    assert tallystick("pages", "--search", "sister").out == "Nothing found.\n"


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_list_fits_the_terminal_whatever_pages_are_called(terminal, process, columns):
    for about in (HOSTILE, "person-" + "安娜" * 10, "topic-" + "very-long-" * 12, "person-👩‍👩‍👧"):
        process("remember", f"about {about}", "--about", about)
    drawn = COLOUR.sub("", terminal("pages", columns=columns).out)

    assert len(drawn.splitlines()) >= 4
    assert max(map(cells, drawn.splitlines())) <= columns
    assert not set(drawn) & set("\x1b\x07\u202e")


# -- one page ----------------------------------------------------------------------------------------------------------


def test_a_page_is_printed_as_it_stands_in_its_file(process, people, folder):
    assert process("pages", "person-ana").out == (folder / "memory/person-ana.md").read_text()


def test_a_page_is_named_as_it_is_listed_as_its_file_or_as_what_it_is_about(tallystick, people):
    for name in ("person-ana", "person-ana.md", "memory/person-ana.md"):
        assert "Ana lives in Munich" in tallystick("pages", name).out
    tallystick("remember", "It rains", "--about", "Weather today")
    assert "It rains" in tallystick("pages", "Weather today").out


def test_on_a_terminal_what_no_longer_holds_steps_back(terminal, people):
    drawn = terminal("pages", "person-ana").out

    assert "\x1b[1m# Ana\x1b[0m" in drawn
    assert "\x1b[2m~~Ana lives in Berlin~~\x1b[0m" in drawn
    assert "\nAna lives in Munich\n" in drawn


def test_what_was_said_is_never_obeyed_by_a_terminal(terminal, process):
    process("remember", "\x1b]0;owned\x07\x1b[2J\u202etxt\tend", "--about", HOSTILE)
    [name] = [info["about"] for info in process("pages", "--json").json if "Bob" in info["about"]]

    for args in ([name], [name, "--tail", "1"], ["--search", "txt"], [name, "--flag"]):
        drawn = COLOUR.sub("", terminal("pages", *args).out)
        assert not set(drawn) & set("\x1b\x07\u202e")
    assert "\\u202etxt\tend" in process("pages", name).out


def test_entries_are_chosen_by_tag_time_and_place(tallystick, people):
    assert "Munich" in tallystick("pages", "person-ana", "--tag", "home").out
    assert "Berlin" not in tallystick("pages", "person-ana", "--tag", "home").out
    assert "Ana lives in Berlin" in tallystick("pages", "person-ana", "--tag", "home", "--history").out
    assert "tea" not in tallystick("pages", "person-ana", "--tail", "1").out
    assert tallystick("pages", "person-ana", "--until", "2020-01").out.endswith("No entries.\n")
    assert "tea" in tallystick("pages", "person-ana", "--since", "2020-01-01").out


def test_what_was_replaced_says_by_what_and_what_was_taken_back_says_so(tallystick, people):
    tallystick("forget", "home")
    *_, now = tallystick("pages", "person-ana", "--history", "--json").json["entries"]
    berlin, munich = re.findall(r"^Ana lives.*\n.*$", tallystick("pages", "person-ana", "--history").out, re.MULTILINE)

    assert berlin.endswith(f"#home  replaced by {now['id']}")
    assert munich.endswith("#home  retracted")


def test_the_path_is_one_line_for_an_editor_and_the_file_is_there_and_current(tallystick, people, folder):
    (folder / "memory/person-bob.md").unlink()
    done = tallystick("pages", "person-bob", "--path")

    assert done.out == f"{folder}/memory/person-bob.md\n"
    assert "Bob plays chess" in (folder / "memory/person-bob.md").read_text()
    assert tallystick("pages", "person-bob", "--path", "--json").json == {"path": done.out.strip()}


def test_the_schema_needs_no_memory(tallystick, folder):
    done = tallystick("pages", "--schema")

    assert done.out.startswith("# Where memory goes\n")
    assert "person-" in tallystick("pages", "--schema", "--json").json["schema"]
    assert not folder.exists()


# -- searching ---------------------------------------------------------------------------------------------------------


def test_a_search_shows_the_words_the_page_and_the_time(tallystick, people):
    done = tallystick("pages", "--search", "munich")

    assert re.fullmatch(
        r"Ana lives in Munich\n  person-ana  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  \d{8}-\d{4}-[0-9a-f]{6}  #home\n", done.out
    )
    assert tallystick("pages", "--search", "berlin").out == "Nothing found.\n"
    assert "replaced by" in tallystick("pages", "--search", "berlin", "--history").out
    assert tallystick("pages", "--search", "tea chess", "--in", "person-bob").out.startswith("Bob plays chess\n")
    assert len(tallystick("pages", "--search", "ana", "--in", "person-", "--limit", "1", "--json").json) == 1


@pytest.mark.parametrize("words", ["", " ", '"', "AND", "a OR", "NEAR(", "*", "content:x", "'; DROP", "😀", "\x00"])
def test_no_search_is_wrong(tallystick, people, words):
    assert tallystick("pages", "--search", words).status == 0


# -- what goes wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("person-anna", "no page person-anna.md; did you mean person-ana?"),
        ("ann", "'ann' is not a page name; did you mean person-ana?"),
        ("person-", "'person-' is not a page name; did you mean person-bob?"),
        ("zzz", "'zzz' is not a page name; it must begin with one of user-, project-, tool-, topic-, person-, org-"),
        ("org-acme", "no page org-acme.md; run `tallystick pages` to list them"),
        ("../events.wal", "'../events.wal' is not a page name; it must begin with one of user-"),
        ("", "give the name of a page, like person-ana.md"),
    ],
)  # fmt: skip
def test_a_page_that_is_not_there_is_answered_with_the_one_that_was_meant(tallystick, people, typed, says):
    done = tallystick("pages", typed)
    done.refused()
    assert done.err.startswith(f"tallystick: {says}")
    assert done.err.count("\n") == 1


def test_a_file_that_was_not_taken_in_yet_is_not_called_missing(tallystick, people, folder):
    (folder / "memory/org-acme.md").write_text("## #work\nAcme makes anvils.\n")

    told = tallystick("pages", "org-acme").err
    assert told == "tallystick: org-acme.md was not imported yet; run `tallystick sync`\n"


def test_pages_without_a_ledger_lead_to_sync(tallystick, folder):
    (folder / "memory").mkdir(parents=True)
    assert tallystick("pages").err.startswith("tallystick: no memory at ~/.tallystick yet")
    assert tallystick("sync").err.startswith("tallystick: no memory at ~/.tallystick yet")
    (folder / "memory/person-bob.md").write_text("## #game\nBob plays chess.\n")
    done = tallystick("pages")
    done.refused()
    assert done.err.startswith(f"tallystick: {folder}/memory has pages, but no ledger yet; run `tallystick sync` ")
