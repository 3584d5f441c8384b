"""status, show, log: looking tells what is there, in text and as JSON, and changes nothing."""

import json
import os
import shlex
import signal
import subprocess
import time

import pytest

HOSTILE = "red \x1b[31m\x1b]0;owned\x07 \u202egnp.exe\u202c line\u2028two\nnext\x9b2J \U000e0041tag pay\u200cpal"
RAW = set("\x1b\x07\u202e\u202c\u2028\x9b\U000e0041\u200c")


def test_alone_in_a_pipe_it_helps_even_if_there_is_a_memory(tallystick):
    assert (tallystick().status, tallystick().out) == (0, tallystick("--help").out)
    tallystick("remember", "one")

    assert tallystick().out == tallystick("--help").out
    assert tallystick("--json").json["beliefs"] == 1


def test_a_folder_may_be_named_before_or_after_the_command(tallystick, home):
    tallystick("-C", str(home / "a"), "remember", "in a")
    tallystick("remember", "in b", "--folder", str(home / "b"))

    assert [belief["text"] for belief in tallystick("show", "-C", str(home / "a"), "--json").json] == ["in a"]
    assert [belief["text"] for belief in tallystick("--json", "-C", str(home / "b"), "show").json] == ["in b"]
    assert not (home / ".tallystick").exists()


def test_show_tells_all_there_is_to_a_belief(tallystick):
    tallystick("remember", "Tea is made of leaves", "--key", "leaves")
    tallystick("remember", "Ana prefers tea\nwith milk", "--key", "ana-tea", "--tag", "drinks", "--about", "ana",
             "--evidence", "she said so", "--evidence", "mail", "--rests-on", "leaves",
             "--valid-from", "2026-05-03")  # fmt: skip

    out = tallystick("show", "ana-tea").out

    assert out.startswith("Ana prefers tea\nwith milk\n\n  name        ana-tea\n")
    for row in ("  status      current", "  about       person-ana", "  tags        drinks",
                "  evidence    she said so\n              mail", "  rests on    leaves",
                "  valid       from 2026-05-03", "  recorded    just now, event 2"):  # fmt: skip
        assert f"\n{row}" in out
    assert "expires" not in out


def test_history_tells_every_version_and_the_reasons(tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "ana-tea")
    tallystick("revise", "ana-tea", "Ana prefers green tea", "--reason", "she said so")
    tallystick("forget", "ana-tea")

    lines = tallystick("show", "ana-tea", "--history").out.splitlines()

    assert [line.split()[3] for line in (lines[0], lines[1], lines[3])] == ["remembered", "revised", "forgotten"]
    assert lines[2].strip() == "because she said so"


def test_what_was_held_at_a_moment_is_told_by_number_by_date_and_by_time(process):
    process("remember", "Ana prefers tea", "--key", "ana-tea")
    time.sleep(0.01)
    event = process("log", "--json").json[-1]
    process("revise", "ana-tea", "Ana prefers green tea")

    for moment in (str(event["seq"]), event["ts"]):
        assert process("show", "ana-tea", "--at", moment, "--json").json["text"] == "Ana prefers tea"
        assert [b["text"] for b in process("show", "--at", moment, "--json").json] == ["Ana prefers tea"]
    assert process("show", "ana-tea", "--at", "2001-01-01").status == 1
    assert process("show", "ana-tea", "--at", "2999-01-01", "--json").json["text"] == "Ana prefers green tea"
    assert process("show", "ana-tea", "--at", "last week").status == 1


def test_a_time_that_the_log_prints_can_be_asked_for_in_any_zone(process):
    process("remember", "Ana prefers tea", "--key", "ana-tea")
    for zone in ("UTC", "Asia/Tokyo", "America/St_Johns"):
        _, day, hour, *_ = process("log", "--last", "1", TZ=zone).out.split()
        minute = f"{day}T{hour[:5]}"
        assert process("show", "--at", f"{minute}:59.999", "--json", TZ=zone).json[0]["key"] == "ana-tea"
        assert process("show", "--at", f"{int(day[:4]) - 1}{minute[4:]}", "--json", TZ=zone).json == []


def test_why_leads_down_to_what_a_belief_rests_on(tallystick):
    tallystick("remember", "Leaves are dried", "--key", "leaves", "--evidence", "seen")
    tallystick("remember", "Tea keeps", "--key", "tea", "--rests-on", "leaves")

    lines = tallystick("show", "tea", "--why").out.splitlines()

    assert lines[0].startswith("tea: Tea keeps")
    assert lines[1] == "  rests on"
    assert lines[2].startswith("    leaves: Leaves are dried")
    assert lines[3] == "      evidence: seen"
    assert tallystick("show", "tea", "--why", "--json").json["rests_on"][0]["belief"]["key"] == "leaves"


def test_the_log_has_a_line_for_every_event(tallystick):
    tallystick("remember", "Ana prefers\ntea", "--key", "ana-tea")
    tallystick("revise", "ana-tea", "Ana prefers green tea", "--reason", "she said so")
    tallystick("forget", "ana-tea", "--reason", "she left")

    lines = [line.split(maxsplit=5) for line in tallystick("log").out.splitlines()]

    assert [(line[0], line[3], line[4], line[5]) for line in lines] == [
        ("0", "cli:local", "ledger.begin", "the ledger begins"),
        ("1", "cli:local", "belief.put", "ana-tea  Ana prefers tea"),
        ("2", "cli:local", "belief.supersede", "ana-tea  Ana prefers green tea (she said so)"),
        ("3", "cli:local", "belief.tombstone", "ana-tea  Ana prefers green tea (she left)"),
    ]


def test_the_log_can_be_narrowed(tallystick):
    for number in range(5):
        tallystick("remember", f"number {number}", "--key", str(number))
    tallystick("forget", "0", "1")

    def seqs(*args: str) -> list[int]:
        return [event["seq"] for event in tallystick("log", "--json", *args).json]

    assert seqs() == list(range(8))
    assert seqs("6") == [6, 7]
    assert seqs("--last", "3") == [5, 6, 7]
    assert seqs("-n", "0") == []
    assert seqs("-n", "2", "--op", "belief.put") == [4, 5]
    assert seqs("--op", "belief.tombstone") == [6, 7]
    assert seqs("7", "-n", "5") == [7]
    assert seqs("99") == []


def test_a_long_text_is_one_short_line_in_lists_and_whole_in_json(tallystick):
    tallystick("remember", "word " * 1000, "--key", "k")

    assert all(len(line) <= 120 for line in (tallystick("log").out + tallystick("show").out).splitlines())
    assert tallystick("show").out.rstrip().endswith("…")
    assert tallystick("show", "--json").json[0]["text"] == "word " * 1000


VIEWS = [
    ["show"], ["show", "k"], ["show", "k", "--history"], ["show", "k", "--why"], ["log"], ["status"],
    ["erase", "--dry-run", "k"], ["forget", "k"], ["revise", "k", HOSTILE + "2"], ["show", HOSTILE],
    ["show", "k", "--at", HOSTILE], ["-C", HOSTILE, "status"], ["restore", HOSTILE], [HOSTILE],
    ["show", f"--{HOSTILE}"], ["log", HOSTILE], ["tidy"], ["paths"], ["review"], ["recall", "red"],
    ["recall", HOSTILE, "--explain", "--session", HOSTILE],
]  # fmt: skip


@pytest.mark.parametrize("args", VIEWS)
@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.sample(12)
def test_hostile_text_never_reaches_a_terminal_raw(tallystick, args, form):
    fields = ("--about", "--tag", "--evidence", "--kind", "--source-type", "--session", "--agent")
    tallystick("remember", HOSTILE, "--key", "k", *(word for field in fields for word in (field, HOSTILE)))
    tallystick("remember", "another", "--key", HOSTILE, "--rests-on", "k")
    tallystick("remember", HOSTILE, "--expires", "2020-05-01", "--path", "a\x1b[31mb")
    tallystick("forget", "k", "--trust", "agent", "--reason", HOSTILE)
    tallystick("revise", "k", HOSTILE + "!", "--reason", HOSTILE)

    done = tallystick(*args, *form)

    assert not set(done.out + done.err) & RAW
    assert len(done.err.splitlines()) == (done.status != 0)
    assert done.status in (0, 1, 2)


def test_hostile_text_comes_back_whole_as_json(tallystick):
    tallystick("remember", HOSTILE, "--key", HOSTILE)

    [belief] = tallystick("show", "--json").json

    assert (belief["text"], belief["key"]) == (HOSTILE, HOSTILE)


def test_a_name_may_be_typed_in_either_spelling_only_if_it_was_given_in_that_one(tallystick):
    """Two spellings of é are two keys: a name is never guessed."""
    tallystick("remember", "composed", "--key", "caf\u00e9")
    tallystick("remember", "decomposed", "--key", "cafe\u0301")

    assert tallystick("show", "caf\u00e9", "--json").json["text"] == "composed"
    assert tallystick("show", "cafe\u0301", "--json").json["text"] == "decomposed"


def test_following_prints_what_others_write_as_it_comes(process, home, warm_program):
    process("remember", "before")
    child = subprocess.Popen(
        [warm_program, "log", "--follow", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whoever tests in the background ignores it
    )
    assert child.stdout is not None
    seen = [json.loads(child.stdout.readline()) for _ in range(2)]
    process("remember", "after")
    seen.append(json.loads(child.stdout.readline()))
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=120)

    assert [event["seq"] for event in seen] == [0, 1, 2]
    assert seen[2]["body"]["belief"]["text"] == "after"
    assert (child.returncode, err.strip()) == (130, b"")


def test_a_reader_that_goes_away_is_no_error(process, warm_program):
    for number in range(3):
        process("remember", stdin=f"number {number} ".encode() * 50_000)
    piped = f"set -o pipefail; {shlex.quote(str(warm_program))} log --json | head -c 10"
    done = subprocess.run(["bash", "-c", piped], capture_output=True)

    assert (done.stdout, done.stderr, done.returncode) == (b'[{"seq": 0', b"", 141)


def test_text_that_the_encoding_lacks_is_printed_as_escapes(process):
    process("remember", "tea is 茶", "--key", "k")

    assert "tea is \\u8336" in process("show", PYTHONIOENCODING="latin-1").out
    assert "tea is \\u8336" in process("show", "k", PYTHONIOENCODING="latin-1").out
    assert process("show", "--json", PYTHONIOENCODING="latin-1").json[0]["text"] == "tea is 茶"


def test_looking_changes_no_byte_of_the_folder(tallystick, folder):
    tallystick("remember", "one", "--key", "1")
    tallystick("backup")

    def bytes_of() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    before = bytes_of()
    for command in (["status"], ["show"], ["show", "1"], ["show", "1", "--history"], ["log"], ["restore"], ["check"],
                    ["ledger", "verify"], ["erase", "1", "--dry-run"]):  # fmt: skip
        assert tallystick(*command).status == 0, command
    assert bytes_of() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_only_be_read_is_shown(tallystick, folder):
    tallystick("remember", "one", "--key", "1")
    for path in (folder / "events.wal", folder / "lock", folder):
        path.chmod(0o500)

    assert tallystick("show", "1").status == 0
    assert "read-only here" in tallystick("status").out
    assert tallystick("remember", "two").status == 1
