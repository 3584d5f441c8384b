"""Asking at the prompt: what is found and why, what is not found, and an index that nobody has to look after."""

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys

import pytest

HOSTILE = "tea \x1b[31m\x1b]0;owned\x07 \u202egnp.exe\u202c line\u2028two\nnext\x9b2J \U000e0041tag pay\u200cpal"
RAW = set("\x1b\x07\u202e\u202c\u2028\x9b\U000e0041\u200c")
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
    for path in folder.glob("index.db*"):
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
        "about": "ana", "confidence": 0.7, "at": belief["at"], "seq": 1, "sources": [belief["id"]], "agent": "",
        "session": "", "tags": [], "is_standing": False, "triple": [], "by": "cli:local",
        "via": "", "relation": "",
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


def test_other_forms_of_a_word_are_found_and_small_words_are_not_looked_for(story):
    assert texts(story("recall", "preferring", "--json")) == ["Ana prefers tea over coffee"]
    assert texts(story("recall", "ports", "--json")) == ["The staging port is 6543"]
    assert texts(story("recall", "what is the tea", "--json")) == ["Ana prefers tea over coffee"]
    assert texts(story("recall", "the", "--words", "--json")) == ["The staging port is 6543"], "it has no others"


def test_at_most_as_many_as_are_wanted(tallystick):
    for number in range(7):
        tallystick("remember", f"Tea number {number}")

    assert len(tallystick("recall", "tea", "--json").json) == 5
    assert len(tallystick("recall", "tea", "--json", "-k", "2").json) == 2
    assert len(tallystick("recall", "tea", "--json", "-k", "100").json) == 7


@pytest.mark.parametrize("k", ["0", "-1", "many"])
def test_fewer_than_one_is_wrong_usage(story, k):
    done = story("recall", "tea", "-k", k)

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("tallystick: invalid value for '-k'")
    assert done.err.count("\n") == 1


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


def test_the_same_words_in_other_capitals_are_each_shown_as_they_were_said(tallystick):
    tallystick("remember", "The password is ABC", "--key", "door")
    tallystick("remember", "the password is abc", "--key", "gate")

    assert sorted(texts(tallystick("recall", "password", "--json"))) == ["The password is ABC", "the password is abc"]


# -- what is not -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["quantum", "", "   ", "?!", "-- ", "\u00ad", "🫖"])
def test_that_nothing_fits_is_an_answer_and_no_error(story, question):
    done = story("recall", "--", question)

    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("I don't know.")
    assert done.out.count("\n") == 1
    assert story("recall", "--json", "--", question).json == []


def test_what_came_nearest_is_named_with_its_score_and_marked_as_no_answer(story):
    done = story("recall", "quantum chromodynamics", "--floor", "0.9")
    near = re.fullmatch(r"I don't know\. Closest: (.+)\n", done.out)
    assert near
    named = [re.fullmatch(r"(\w{6}) \(0\.\d\d\)", each) for each in near[1].split(", ")]
    assert {each and each[1] for each in named} <= {story("show", key, "--json").json["id"][-6:] for key in KEYS}

    explained = story("recall", "quantum chromodynamics", "--floor", "0.9", "--explain").out.splitlines()
    assert explained[0] + "\n" == done.out
    assert re.fullmatch(r"0\.\d\d  \S.+   \w{6} · you · just now", explained[1])


def test_in_an_empty_memory_nothing_fits_and_nothing_is_near(story):
    assert story("recall", "tea", "--user", "nobody").out == "I don't know.\n"


def test_without_a_question_there_is_no_answer(story):
    done = story("recall")

    assert (done.status, done.out) == (2, "")
    assert "QUESTION" in done.err


def test_what_is_no_longer_held_is_not_found(story, folder):
    story("forget", "ana-drinks")
    assert texts(story("recall", "5432 tea", "--words", "--json")) == []

    story("remember", "Ana prefers tea over coffee", "--key", "ana-drinks")
    assert texts(story("recall", "tea", "--json")) == ["Ana prefers tea over coffee"]

    story("erase", "ana-drinks", "--yes")
    assert texts(story("recall", "tea coffee", "--words", "--json")) == []
    assert texts(story("recall", "tea coffee", "--words", "--json", "--at", "1")) == []
    assert not any(b"coffee" in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_another_users_memories_are_not_found(story):
    assert texts(story("recall", "tea", "--json")) == ["Ana prefers tea over coffee"]
    assert texts(story("recall", "tea", "--json", "--user", "bea")) == ["Bea drinks tea as well"]
    assert texts(story("recall", "tea", "--json", "--user", "nobody")) == []


def test_a_session_and_an_agent_narrow_what_is_found(story):
    story("remember", "The port is closed on Sundays", "--agent", "scribe")

    assert texts(story("recall", "port", "--json", "--agent", "scribe")) == ["The port is closed on Sundays"]
    assert texts(story("recall", "port", "--json", "--session", "monday")) == ["The staging port is 6543"]
    assert texts(story("recall", "port", "--json", "--session", "tuesday")) == []


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
    assert texts(story("recall", "port", "--json", "--at", "99")) == ["The staging port is 6543"]


def test_a_number_beyond_all_events_is_now_however_large(story):
    assert texts(story("recall", "port", "--json", "--at", "9" * 30)) == ["The staging port is 6543"]


def test_what_is_no_moment_is_refused(story):
    done = story("recall", "port", "--at", "yesterday")

    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("tallystick: not a moment: 'yesterday'")


# -- words that mean harm ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [[], ["--explain"], ["--json"]])
def test_hostile_text_never_reaches_a_terminal_raw(tallystick, form):
    fields = ("--about", "--tag", "--evidence", "--kind", "--source-type", "--session", "--agent")
    tallystick("remember", HOSTILE, "--key", "k", *(word for field in fields for word in (field, HOSTILE)))
    found = tallystick("recall", "tea", *form)
    asked = tallystick("recall", HOSTILE, "--session", HOSTILE, "--agent", HOSTILE, *form)

    for done in (found, asked):
        assert (done.status, done.err) == (0, "")
        assert not set(done.out) & RAW
        assert "tea" in done.out


def test_hostile_text_comes_back_whole_as_json(tallystick):
    tallystick("remember", HOSTILE)

    assert texts(tallystick("recall", "tea", "--json")) == [HOSTILE]


@pytest.mark.parametrize(
    "question",
    ['tea"', "tea'; DROP TABLE blocks; --", "content : tea", "tea AND (", "NEAR(tea coffee)", "te*", "^tea", "-tea",
     "{tea}", "tea\x00", "tea OR NOT", "texts MATCH tea"],
)  # fmt: skip
def test_no_question_is_taken_for_an_order(tallystick, question):
    """The words of it are looked for, and nothing else happens."""
    tallystick("remember", "Ana prefers tea")
    done = tallystick("recall", "--json", "--", question)

    assert (done.status, done.err) == (0, "")
    assert texts(done) in ([], ["Ana prefers tea"])
    assert tallystick("check").out == "No problems found.\n"


@pytest.mark.parametrize("where", [[], ["tea", "--session"], ["tea", "--agent"], ["tea", "--user"]], ids=" ".join)
def test_bytes_that_are_no_text_are_refused_or_found_nowhere(process, where):
    process("remember", "Ana prefers tea")
    done = process("recall", *where, b"\xff\xfe")

    assert done.status in (0, 1)
    assert done.out == "" or done.out.startswith("I don't know.")
    assert "a bug in tallystick" not in done.err


def test_standard_input_that_is_no_text_is_refused(process):
    process("remember", "Ana prefers tea")
    done = process("recall", "-", stdin=b"\xff")

    assert (done.status, done.out) == (1, "")
    assert "standard input is not UTF-8" in done.err


# -- pipes -------------------------------------------------------------------------------------------------------------


def test_a_hit_can_be_piped_to_the_next_command(warm_program, tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "ana")
    program = shlex.quote(str(warm_program))
    pick = f"{shlex.quote(sys.executable)} -IS -c 'import json, sys; print(json.load(sys.stdin)[0][\"id\"])'"
    done = subprocess.run(
        ["bash", "-c", f"{program} forget $({program} recall tea --json | {pick})"], capture_output=True, text=True
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "Forgot ana: Ana prefers tea\n", "")


def test_a_reader_that_goes_away_is_no_error(process, warm_program):
    for number in range(5):
        process("remember", stdin=f"tea {number} ".encode() * 50_000)
    piped = f"set -o pipefail; {shlex.quote(str(warm_program))} recall tea --json | head -c 3"
    done = subprocess.run(["bash", "-c", piped], capture_output=True)

    assert (done.stdout, done.stderr) == (b"[\n ", b"")
    assert done.returncode in (0, 141), "the answer is one write, and some systems take all of it"


def test_without_a_terminal_there_is_no_colour_and_with_one_it_can_be_refused(process, terminal):
    process("remember", "Ana prefers tea")

    assert "\x1b" not in process("recall", "tea").out
    assert "\x1b[1mAna prefers tea" in terminal("recall", "tea").out
    assert not re.search(r"\x1b\[\d*m", terminal("recall", "tea", NO_COLOR="1").out)


# -- the index ---------------------------------------------------------------------------------------------------------


def test_an_index_that_was_removed_grows_back_and_that_is_said_once_beside_the_answer(story, process, folder):
    expected = process("recall", "tea").out
    without_index(folder)
    first, second = process("recall", "tea"), process("recall", "tea")

    assert (first.status, first.out, first.err) == (0, expected, MADE_ANEW.format("not there"))
    assert (second.status, second.out, second.err) == (0, expected, "")


def test_with_json_nothing_is_said_beside_the_answer(story, process, folder):
    expected = process("recall", "tea", "--json").out
    without_index(folder)
    done = process("recall", "tea", "--json")

    assert (done.status, done.out, done.err) == (0, expected, "")
    assert json.loads(done.out)


@pytest.mark.parametrize(
    ("spoil", "wrong"),
    [(b"", "empty"), (b"garbage" * 1000, "damaged"), (b"SQLite format 3\x00" + b"\xff" * 5000, "damaged")],
    ids=["empty", "garbage", "pages"],
)
def test_an_index_that_is_damaged_grows_back_too(story, process, folder, spoil, wrong):
    expected = process("recall", "tea").out
    (folder / "index.db").write_bytes(spoil)
    first, second = process("recall", "tea"), process("recall", "tea")

    assert (first.status, first.out) == (0, expected)
    assert first.err == MADE_ANEW.format(wrong)
    assert (second.out, second.err) == (expected, "")
    assert process("check").out == "No problems found.\n"


def test_a_new_memory_says_nothing_of_its_index(tallystick, process, folder):
    assert process("remember", "Ana prefers tea").err == ""
    assert process("recall", "tea").err == ""
    assert (folder / "index.db").stat().st_mode & 0o777 == 0o600


def test_an_older_index_that_was_put_back_catches_up(story, folder):
    older = (folder / "index.db").read_bytes()
    story("remember", "Tea is made of leaves", "--key", "leaves")
    (folder / "index.db").write_bytes(older)
    done = story("recall", "leaves")

    assert "  Tea is made of leaves   " in done.out.splitlines()[0]
    assert done.err == ""


def test_an_older_index_that_holds_erased_words_is_not_served(story, process, folder):
    older = (folder / "index.db").read_bytes()
    story("erase", "ana-drinks", "--yes")
    (folder / "index.db").write_bytes(older)
    done = process("recall", "tea coffee")

    assert done.out.startswith("I don't know.")
    assert "coffee" not in done.out
    assert done.err == MADE_ANEW.replace("it was {}", "it held words that were erased")
    assert not any(b"coffee" in path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("spoil", "says"), [(damage, "is damaged: event 1"), (roll_back, "the index has seen event 4")]
)
@pytest.mark.parametrize("command", [["recall", "port"], ["rebuild-index"]], ids=" ".join)
def test_of_a_ledger_that_is_not_whole_nothing_is_recalled_and_the_index_is_left_as_it_is(
    story, process, folder, command, spoil, says
):
    before = (folder / "index.db").read_bytes()
    spoil(folder)
    done = process(*command)

    assert (done.status, done.out) == (4, "")
    assert says in done.err
    assert done.err.count("\n") == 1
    assert (folder / "index.db").read_bytes() == before


@pytest.mark.parametrize("command", [["recall", "tea"], ["rebuild-index"]], ids=" ".join)
def test_without_a_memory_both_say_how_to_make_one_and_make_none(tallystick, folder, command):
    done = tallystick(*command)

    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("tallystick: no memory at ~/.tallystick yet; `tallystick remember` creates one")
    assert not folder.exists()


def test_the_index_is_made_anew_on_request_and_says_the_same_as_before(story, folder):
    before = story("recall", "tea port", "--json").out
    inode = (folder / "index.db").stat().st_ino
    done = story("rebuild-index")

    assert (done.status, done.err) == (0, "")
    assert done.out == "read 5 pages\nrebuilt from 5 events\nevery text has its vector\n"
    assert (folder / "index.db").stat().st_ino != inode
    assert story("recall", "tea port", "--json").out == before
    again = story("rebuild-index", "--json").json
    assert again.pop("pages") == {"seen": 5, "adopted": [], "written": [], "problems": [], "reviews": []}
    assert again | {"embedder": ""} == {"events": 5, "vectors": 0, "embedder": ""}


def test_making_it_anew_puts_right_an_index_that_lies(story, folder):
    with sqlite3.connect(folder / "index.db") as db:
        db.execute("UPDATE blocks SET content = 'Ana prefers rum over coffee' WHERE content LIKE 'Ana%'")
    db.close()
    lying = story("check")
    story("rebuild-index")

    assert lying.status == 4
    assert "index-differs" in lying.out
    assert story("check").out == "No problems found.\n"
    assert texts(story("recall", "coffee", "--json")) == ["Ana prefers tea over coffee"]


def test_nothing_is_left_beside_the_index(story, folder):
    story("recall", "tea")
    story("rebuild-index")

    left = {path.name for path in folder.iterdir()} - {"audit.jsonl", "memory", "pages.db", "pages.lock"}
    assert left == {"events.wal", "index.db", "lock", "vectors"}


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may write everywhere")
def test_in_a_folder_that_may_only_be_read_it_still_answers(story, process, folder):
    without_index(folder)
    folder.chmod(0o500)
    try:
        done = process("recall", "tea")
    finally:
        folder.chmod(0o700)

    assert "  Ana prefers tea over coffee   " in done.out.splitlines()[0]
    assert not (folder / "index.db").exists()
