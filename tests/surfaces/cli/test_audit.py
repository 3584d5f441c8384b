"""`tallystick log --audit`: who did what, a line each."""

from __future__ import annotations

import click

from tallystick.records.audit import AuditLine
from tallystick.surfaces.present.events import audit_line


def test_it_lists_each_act_with_who_and_how_it_went(tallystick):
    tallystick("remember", "Ana drinks tea", "--key", "tea")
    tallystick("forget", "tea", "--reason", "she stopped")
    listed = tallystick("log", "--audit").out.splitlines()
    assert [line.split()[3:6] for line in listed] == [
        ["cli:local", "begin", "applied"], ["cli:local", "remember", "applied"], ["cli:local", "forget", "applied"],
    ]  # fmt: skip
    assert "tea" not in "".join(listed)


def test_it_is_there_as_json_with_the_proof_and_the_last_ones_can_be_had(tallystick):
    tallystick("remember", "one")
    tallystick("observe", "two")
    (act,) = tallystick("log", "--audit", "--last", "1", "--json").json
    (event,) = tallystick("log", "--last", "1", "--json").json
    assert (act["action"], act["seq"], act["hash"]) == ("observe", event["seq"], event["hash"])
    assert tallystick("ledger", "prove", str(act["seq"])).status == 0
    assert [act["op"] for act in tallystick("log", "--audit", "--op", "belief", "--json").json] == ["belief.put/1"]
    assert tallystick("log", "--audit", "9", "--json").json == []


def test_what_was_held_and_on_whose_yes_it_was_done_is_said(tallystick):
    tallystick("remember", "Ana drinks tea", "--key", "tea")
    tallystick("revise", "tea", "Ana drinks mud", "--trust", "agent")
    (review,) = tallystick("review", "--json").json
    tallystick("review", review["id"], "--approve", "--yes")
    held, done = (line for line in tallystick("log", "--audit").out.splitlines() if " revise " in line)
    assert " held " in held
    assert held.endswith(", said by agent")
    assert f"approved by cli:local in {review['id'][-6:]}" in done


def test_a_hostile_name_in_a_line_obeys_nobody():
    act = AuditLine(
        seq=1, at="2026-05-03T14:00:00.000000Z", by="x", action="trust", op="trust.set/1", hash="h",
        subject=("web:\x1b[31m\nevil\u202e",) * 5,
    )  # fmt: skip
    line = click.unstyle(audit_line(act))
    assert not set(line) & {"\n", "\x1b", "\u202e"}
