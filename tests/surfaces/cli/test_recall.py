"""Asking at the prompt: what is found and why, what is not found, and an index that nobody has to look after."""

import json
import re
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

KEYS = ("ana-drinks", "port")
MADE_ANEW = "tallystick: the index was rebuilt from the ledger, because it was {}; nothing is lost\n"


@pytest.fixture
def story(tallystick):
    """Three beliefs: two of one user and one of another, and one of them revised."""
    tallystick("remember", "Ana prefers tea over coffee", "--key", "ana-drinks", "--about", "ana")  # event 1
    tallystick("remember", "The staging port is 5432", "--key", "port", "--session", "monday")  # event 2
    tallystick("remember", "Bea drinks tea as well", "--key", "hers", "--user", "bea")  # event 3
    tallystick("revise", "port", "The staging port is 6543", "--reason", "it moved")  # event 4
    return tallystick


def texts(done) -> list[str]:
    return [hit["text"] for hit in done.json]


def without_index(folder) -> None:
    for path in folder.glob("state.db*"):
        path.unlink()


def damage(folder) -> None:
    wal = folder / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b"prefers tea", b"prefers rum"))


def roll_back(folder) -> None:
    wal = folder / "events.wal"
    wal.write_bytes(b"".join(wal.read_bytes().splitlines(keepends=True)[:-1]))
    (folder / "lock").unlink()  # so that the index is the only witness


# -- what is found -----------------------------------------------------------------------------------------------------


def test_the_best_comes_first_with_the_words_it_was_found_by_and_the_id_that_other_commands_take(story):
    story("remember", "Tea is made of leaves", "--key", "leaves")
    done = story("recall", "what tea does Ana prefer?")
    belief = story("show", "ana-drinks", "--json").json

    assert (done.status, done.err) == (0, "")
    name = belief["id"][-6:]
    assert re.fullmatch(rf"\d\.\d\d  Ana prefers tea over coffee   {name} · you · just now", done.out.splitlines()[0])
    assert story("show", name, "--json").json == belief
    why = story("recall", "what tea does Ana prefer?", "--explain").out.splitlines()[1]
    assert why.startswith("      says tea, prefer; ")
    assert "about whom the question names" in why


def test_as_json_a_hit_is_all_that_is_known_of_it(story):
    belief = story("show", "ana-drinks", "--json").json

    [hit] = story("recall", "tea coffee milk sugar", "--json").json
    score, signals, why, block = (hit.pop(name) for name in ("score", "signals", "why", "block"))
    assert hit == {
        "id": belief["id"], "text": "Ana prefers tea over coffee", "what": "belief", "kind": "fact", "trust": "human",
        "about": "person-ana", "confidence": 0.7, "at": belief["at"], "seq": 1, "sources": [belief["id"]], "agent": "",
        "session": "", "tags": [], "is_standing": False, "triple": [], "by": "cli:local",
        "via": "", "relation": "", "marks": [],
    }  # fmt: skip
    assert 0 < score <= 1
    assert 0 < signals["words"] < 1
    assert all(0 <= value <= 1 for value in signals.values())
    assert why.startswith("says tea, coffee")
    assert block


def test_a_question_needs_no_quotes_and_may_come_from_a_pipe(story):
    asked = story("recall", "what does Ana drink, tea?").out

    assert story("recall", "what", "does", "Ana", "drink,", "tea?").out == asked
    assert story("recall", "-", stdin="what does Ana drink, tea?\n").out == asked
    assert "QUESTION" in story("recall").err


def test_at_most_as_many_as_are_wanted(tallystick):
    for number in range(7):
        tallystick("remember", f"Tea number {number}")

    assert len(tallystick("recall", "tea", "--json").json) == 5
    assert len(tallystick("recall", "tea", "--json", "-k", "2").json) == 2
    assert len(tallystick("recall", "tea", "--json", "-k", "100").json) == 7


def test_explained_it_shows_what_speaks_for_it_and_who_else_says_it(story):
    first = story("show", "ana-drinks", "--json").json["id"]
    story("remember", "Ana prefers tea over coffee", "--confidence", "0.9", "--agent", "scribe")
    lines = story("recall", "tea or milk", "--explain").out.splitlines()

    last = story("show", "--json").json[-1]
    assert lines[0].endswith(f"  Ana prefers tea over coffee   {last['id'][-6:]} · scribe · just now")
    assert lines[1].endswith("said 2 times")
    end = lines.index(f"      recorded just now as {last['id']}")
    signals = dict(line.split() for line in lines[2:end])
    assert {"score", "similarity", "words", "meaning", "confidence", "recency", "reinforcement"} <= set(signals)
    assert (signals["confidence"], signals["recency"]) == ("0.90", "1.00")
    assert lines[end + 1] == f"      also said in {first}"


def test_bars_are_for_a_terminal_and_a_pipe_has_the_numbers_alone(process, terminal):
    process("remember", "Ana prefers tea", "--confidence", "0.8")

    assert "confidence     ████████░░ 0.80" in terminal("recall", "tea", "--explain", NO_COLOR="1").out
    assert "confidence     0.80" in process("recall", "tea", "--explain").out


# -- what is not -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["quantum", "", "   ", "?!", "-- ", "\u00ad", "🫖"])
def test_that_nothing_fits_is_an_answer_and_no_error(story, question):
    done = story("recall", "--", question)

    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("I don't know.")
    assert done.out.count("\n") == 1
    assert story("recall", "--json", "--", question).json == []
    assert story("recall", "tea", "--user", "nobody").out == "I don't know.\n"


def test_what_came_nearest_is_named_with_its_score_and_marked_as_no_answer(story):
    done = story("recall", "quantum chromodynamics", "--floor", "0.9")
    near = re.fullmatch(r"I don't know\. Closest: (.+)\n", done.out)
    assert near
    named = [re.fullmatch(r"(\w{6}) \(0\.\d\d\)", each) for each in near[1].split(", ")]
    assert {each and each[1] for each in named} <= {story("show", key, "--json").json["id"][-6:] for key in KEYS}

    explained = story("recall", "quantum chromodynamics", "--floor", "0.9", "--explain").out.splitlines()
    assert explained[0] + "\n" == done.out
    assert re.fullmatch(r"0\.\d\d  \S.+   \w{6} · you · just now", explained[1])


def test_what_a_web_page_said_is_kept_back_until_it_is_asked_for_and_then_it_is_labelled(story):
    story("remember", "Tea cures everything", "--key", "cure", "--trust", "web")

    assert "Tea cures everything" not in story("recall", "tea cures").out
    lines = story("recall", "tea cures", "--quarantined", "--explain").out.splitlines()
    assert re.search(r"  Tea cures everything   \w{6} · web · just now$", lines[0])
    assert "says tea, cures; " in lines[1]
    assert lines[1].endswith("needs approval")

    story("remember", "tea cures everything", "--key", "mine")
    assert texts(story("recall", "cures", "--json")) == ["tea cures everything"], "a person says the same"


# -- then and now ------------------------------------------------------------------------------------------------------


def test_at_a_moment_it_finds_what_would_have_been_found_then(story):
    assert texts(story("recall", "port", "--json", "--at", "3")) == ["The staging port is 5432"]
    assert texts(story("recall", "port", "--json", "--at", "1")) == []
    assert texts(story("recall", "port", "--json", "--at", "2000-01-01")) == []
    assert texts(story("recall", "port", "--json", "--at", "2999-01-01T12:00")) == ["The staging port is 6543"]
    for beyond in ("99", "9" * 30):
        assert texts(story("recall", "port", "--json", "--at", beyond)) == ["The staging port is 6543"]


# -- words that mean harm ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [[], ["tea", "--session"], ["tea", "--agent"], ["tea", "--user"]], ids=" ".join)
def test_bytes_that_are_no_text_are_refused_or_found_nowhere(process, where):
    process("remember", "Ana prefers tea")
    done = process("recall", *where, b"\xff\xfe")

    assert done.status in (0, 1)
    assert done.out == "" or done.out.startswith("I don't know.")
    assert "a bug in tallystick" not in done.err


# -- pipes -------------------------------------------------------------------------------------------------------------


def test_a_hit_can_be_piped_to_the_next_command(warm_program, tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "ana")
    program = shlex.quote(str(warm_program))
    pick = f"{shlex.quote(sys.executable)} -IS -c 'import json, sys; print(json.load(sys.stdin)[0][\"id\"])'"
    done = subprocess.run(
        ["bash", "-c", f"{program} forget $({program} recall tea --json | {pick})"], capture_output=True, text=True
    )

    assert (done.returncode, done.stdout.splitlines()[0], done.stderr) == (0, "Forgot ana: Ana prefers tea", "")


# -- the index ---------------------------------------------------------------------------------------------------------


def test_an_index_that_was_removed_grows_back_and_that_is_said_once_beside_the_answer(story, process, folder):
    expected = process("recall", "tea").out
    without_index(folder)
    first, second = process("recall", "tea"), process("recall", "tea")

    assert (first.status, first.out, first.err) == (0, expected, MADE_ANEW.format("not there"))
    assert (second.status, second.out, second.err) == (0, expected, "")
    assert (folder / "state.db").stat().st_mode & 0o777 == 0o600
    without_index(folder)
    assert process("recall", "tea", "--json").err == ""


@pytest.mark.parametrize(
    "spoil",
    [b"", b"garbage" * 1000, b"SQLite format 3\x00" + b"\xff" * 5000],
    ids=["empty", "garbage", "pages"],
)
def test_an_index_that_is_damaged_grows_back_too(story, process, folder, spoil):
    expected = process("recall", "tea").out
    (folder / "state.db").write_bytes(spoil)
    first, second = process("recall", "tea"), process("recall", "tea")

    assert (first.status, first.out) == (0, expected)
    assert first.err == MADE_ANEW.format("not usable")
    assert (second.out, second.err) == (expected, "")
    assert process("check").out == "No problems found.\n"


@pytest.mark.parametrize(
    ("spoil", "says"), [(damage, "is damaged: event 1"), (roll_back, "state.db has seen event 4")]
)
@pytest.mark.parametrize("command", [["recall", "port"], ["rebuild-index"]], ids=" ".join)
def test_of_a_ledger_that_is_not_whole_nothing_is_recalled_and_the_index_is_left_as_it_is(
    story, process, folder, command, spoil, says
):
    before = (folder / "state.db").read_bytes()
    spoil(folder)
    process(*command).refused(says, status=4)
    assert (folder / "state.db").read_bytes() == before


def numbered(folder):
    """The number of the index, which is drawn when it is filled from the beginning."""
    with closing(sqlite3.connect(folder / "state.db")) as db:
        [saved] = db.execute("SELECT saved FROM positions WHERE name = 'index'").fetchone()
    return json.loads(saved)[0]


def test_the_index_is_made_anew_on_request_and_says_the_same_as_before(story, folder):
    before = story("recall", "tea port", "--json").out
    number = numbered(folder)
    done = story("rebuild-index")

    assert (done.status, done.err) == (0, "")
    assert done.out == "read 5 pages\nrebuilt from 5 events\nevery text has its vector\n"
    assert numbered(folder) != number
    assert story("recall", "tea port", "--json").out == before
    again = story("rebuild-index", "--json").json
    assert again.pop("pages") == {"seen": 5, "adopted": [], "written": [], "problems": [], "reviews": []}
    assert again | {"embedder": ""} == {"events": 5, "vectors": 0, "embedder": ""}


def test_what_is_outdated_or_may_conflict_is_said_where_it_was_written_and_where_it_is_read(tallystick):
    tallystick("remember", "The ferry fee is 4.50, dogs travel free on weekdays", "--key", "old")

    said = tallystick("remember", "The ferry fee is now 5.20, says the office", "--key", "new").out
    assert "Corrects " in said
    assert ": 5.20 instead of 4.50" in said
    shown = tallystick("show", "old").out
    assert "outdated: 4.50 is now 5.20 (" in shown
    found = tallystick("recall", "what is the ferry fee?", "-k", "2").out.splitlines()
    assert [line.split("  ")[1].strip() if line[0] != " " else line.split()[0] for line in found] == [
        "The ferry fee is now 5.20, says the office", "corrects",
        "The ferry fee is 4.50, dogs travel free on weekdays", "outdated:",
    ]  # fmt: skip
