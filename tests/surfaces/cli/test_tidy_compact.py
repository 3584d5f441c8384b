"""tallystick tidy --compact: what pages would become, and that nothing is folded that loses a fact."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from tallystick import Memory


@pytest.fixture
def long(tallystick, folder):
    """A flagged page on which something was superseded, and one on which nothing was."""
    with Memory(folder) as m:
        home = m.pages.append("person-ana", "Ana lives in Berlin.", ["home"])
        m.pages.supersede("person-ana", home.id, "Ana lives in Munich.", "she moved")
        m.pages.append("person-bob", "Bob sings.", ["music"])
        for name in ("person-ana", "person-bob"):
            m.pages.flag_compact(name, "too long")
    return folder / "memory/person-ana.md"


def events(tallystick):
    return tallystick("status", "--json").json["events"]


def test_pages_that_are_to_be_folded_are_shown_with_what_becomes_of_them_and_nothing_is_changed(tallystick, long):
    before, at = long.read_bytes(), events(tallystick)
    done = tallystick("tidy", "--compact")

    assert done.status == 0
    assert re.match(r"  1  person-ana: flagged: too long\n     2 entries into 1, about \d+ tokens into \d+\n", done.out)
    assert "     - ~~Ana lives in Berlin.~~\n" in done.out
    assert re.search(r"^     \+ Ana lives in Munich\. .*Ana lives in Berlin", done.out, re.MULTILINE)
    assert "  2  person-bob: flagged: too long\n     nothing on it can be compacted" in done.out
    assert done.out.endswith("tallystick tidy --compact --apply 1    or    tallystick tidy --compact --apply all\n")
    assert (long.read_bytes(), events(tallystick)) == (before, at)


def test_nothing_to_fold_is_one_line(tallystick):
    tallystick("remember", "Ana lives in Berlin")

    assert tallystick("tidy", "--compact").out == "No page to compact.\n"
    assert tallystick("tidy", "--compact", "--json").json == []
    assert tallystick("tidy", "--compact", "--apply", "all", "--yes").out == "No page to compact.\n"


@pytest.mark.parametrize("name", ["1", "person-ana", "person-ana.md", "all"])
def test_a_page_is_folded_by_number_or_name(tallystick, long, name):
    done = tallystick("tidy", "--compact", "--apply", name, "--yes", "--reason", "spring")

    assert (done.status, done.out) == (0, "Compacted person-ana: 2 entries into 1\n")
    text = long.read_text()
    assert "~~" not in text
    assert "needs_compact: false" in text
    assert "Berlin" in text
    assert [each["path"] for each in tallystick("tidy", "--compact", "--json").json] == ["person-bob.md"]


def test_a_rewrite_that_loses_a_fact_is_refused_and_the_page_stays_flagged_with_the_reason(tallystick, long, home):
    before = long.read_text().partition("---\n\n")[2]
    (home / "mine.md").write_text(long.read_text().replace("Munich", "Rome"))
    done = tallystick("tidy", "--compact", "--rewrite", str(home / "mine.md"), "--apply", "person-ana")
    done.refused("person-ana.md was not folded, and stays flagged: ")
    assert long.read_text().partition("---\n\n")[2] == before
    assert "flagged: a rewrite was refused: " in tallystick("tidy", "--compact").out


def test_a_rewrite_that_keeps_every_fact_is_taken(tallystick, long, home):
    [ours, _] = tallystick("tidy", "--compact", "--json").json
    (home / "mine.md").write_text(ours["text"])
    done = tallystick("tidy", "--compact", "--rewrite", str(home / "mine.md"), "--apply", "person-ana")

    assert (done.status, done.out) == (0, "Compacted person-ana: 2 entries into 1\n")
    piped = tallystick("tidy", "--compact", "--rewrite", "-", "--apply", "person-ana", stdin=long.read_text())
    assert (piped.status, piped.out) == (0, "Unchanged person-ana: nothing to compact\n")


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (["--rewrite", "x"], 2), (["--apply", "9"], 1), (["--apply", "person-zoe"], 1),
        (["--rewrite", "none", "--apply", "person-ana"], 1), (["--rewrite", "x", "--apply", "1", "--apply", "2"], 2),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_told(tallystick, long, args, status):
    tallystick("tidy", "--compact", *args).refused(status=status)


def test_a_file_that_is_no_text_is_no_rewrite(tallystick, long, home):
    (home / "mine.md").write_bytes(b"\xff\xfe\x00")
    done = tallystick("tidy", "--compact", "--rewrite", str(home / "mine.md"), "--apply", "person-ana")
    done.refused("is not UTF-8 (byte 0)")


def test_a_page_that_nobody_touched_for_long_is_proposed_to_rest_and_rests_if_told(tallystick, folder):
    then = datetime.now(UTC) - timedelta(days=200)
    with Memory(folder, clock=lambda: then) as m:
        m.remember("Bob sings", about="person-bob", key="bob")
    listed = tallystick("tidy").out
    number = re.search(r"^ +(\d+)  \w+  dormant: nobody wrote on it since", listed, re.MULTILINE)
    assert number
    done = tallystick("tidy", "--apply", number[1], "--yes")

    assert done.out == "Made dormant person-bob.md: Bob, 1 entry\n"
    assert "person-bob" not in tallystick("pages").out.split()
    assert "dormant; What is known about Bob" in tallystick("pages", "--all").out
    assert tallystick("recall", "who sings?", "--json").json[0]["text"] == "Bob sings"


def test_plain_tidy_names_the_pages_that_are_flagged(tallystick, long):
    done = tallystick("tidy")

    assert done.status == 0
    told = "is flagged; see what it becomes: tallystick tidy --compact"
    assert done.out.splitlines()[-2:] == [f"person-bob.md {told}", f"person-ana.md {told}"]
    assert "Nothing to tidy." not in done.out
