"""What `tallystick check` and `tallystick repair` tell a person, and what their exit status tells a script."""

from __future__ import annotations

import pytest

from tallystick.repair.findings import CODES
from tests.repair.hand_made import put, record, version


@pytest.fixture
def memory(tallystick, folder):
    tallystick("remember", "Ana prefers tea", "--key", "ana")
    return folder


def test_warnings_are_told_apart_from_errors_by_the_status(tallystick, memory):
    assert tallystick("check", "--strict").status == 0
    (memory / "notes.txt").write_text("a note is no warning")
    (memory / "notes.txt").chmod(0o600)
    assert tallystick("check", "--strict").status == 0
    memory.joinpath("notes.txt").chmod(0o644)

    assert tallystick("check").status == 0
    assert tallystick("check", "--strict").status == 5

    with (memory / "events.wal").open("r+b") as file:
        file.seek(40)
        file.write(b"!")
    assert tallystick("check", "--strict").status == tallystick("check").status == 4


def test_some_findings_alone_are_looked_for(tallystick, memory):
    (memory / "notes.txt").write_text("whatever")
    (memory / "events.wal").chmod(0o644)

    both, one = tallystick("check", "--json").json, tallystick("check", "foreign-file", "--json").json

    assert {finding["code"] for finding in both} == {"modes-wide", "foreign-file"}
    assert [finding["code"] for finding in one] == ["foreign-file"]
    assert set(one[0]) == {"code", "place", "severity", "text", "remedy"}
    assert tallystick("check", "torn-end").out == "No problems found.\n"


def test_a_code_that_is_none_is_refused_with_those_that_there_are(tallystick, memory):
    for command in ("check", "repair"):
        tallystick(command, "no-such-code").refused("torn-end")


def test_a_repair_of_links_says_what_it_would_do_and_then_does_it(tallystick, memory):
    record(memory, put(3, rests_on=[version(9)]))
    before = (memory / "events.wal").read_bytes()

    shown = tallystick("repair", "rests-on-nothing", "--dry-run")
    assert (memory / "events.wal").read_bytes() == before
    done = tallystick("repair", "rests-on-nothing", "--yes")

    assert shown.out.startswith("Would do:\n  rests-on-nothing, events.wal, line")
    assert done.out == shown.out.replace("Would do", "Done")
    assert tallystick("check").out == "No problems found.\n"
    assert "rests-on-nothing" in tallystick("log", "--op", "ledger.repair").out


def test_of_many_steps_a_person_reads_a_few(tallystick, memory):
    record(memory, *(("belief.tombstone/1", {"id": version(number)}) for number in range(100, 150)))

    shown = tallystick("repair", "event-orphaned", "--dry-run")

    assert len(shown.out.splitlines()) == 22
    assert "30 more places: likewise" in shown.out
    assert len(tallystick("repair", "event-orphaned", "--dry-run", "--json").json["steps"]) == 50


def test_what_only_a_person_can_decide_is_refused_with_the_way_out(tallystick, memory):
    (memory / "notes.txt").write_text("whatever")

    tallystick("repair", "foreign-file", "--yes").refused(CODES["foreign-file"].remedy)
