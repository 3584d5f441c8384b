"""Secrets, through the program: masked and said so, or kept when a person says so."""

from __future__ import annotations

from tests.text.secrets.leaks import drawn

TOKEN = "ghp" + "_" + drawn(36)


def test_a_secret_is_masked_and_one_line_says_so(tallystick):
    done = tallystick("remember", f"the key is {TOKEN}", "--key", "k")
    assert (done.status, done.out) == (0, "Remembered k in ~/.tallystick (new). On page topic-notes.md\n")
    assert tallystick("show", "k", "--json").json["text"] == "the key is [secret: GitHub token]"
    assert done.err == "tallystick: masked 1 GitHub token; `--keep-secrets` keeps it\n"
    assert TOKEN not in tallystick("log", "--json").out


def test_json_says_what_was_masked(tallystick):
    for command in (["remember"], ["observe"], ["remember", "--key", "k"], ["revise", "k"]):
        done = tallystick(*command, f"again the key is {TOKEN}", "--json")
        assert (done.json["masked"], done.err) == (["GitHub token"], "")
    assert tallystick("remember", "Ana drinks tea", "--json").json["masked"] == []


def test_a_person_keeps_it_by_saying_so_and_nobody_else_does(tallystick):
    keep = "--keep-secrets"
    assert TOKEN in tallystick("remember", f"the key is {TOKEN}", "--key", "k", keep, "--json").out
    assert TOKEN in tallystick("revise", "k", f"my key is {TOKEN}", keep).out
    assert TOKEN in tallystick("observe", TOKEN, keep, "--json").json["content"]
    assert TOKEN not in tallystick("observe", TOKEN, keep, "--trust", "agent", "--json").json["content"]
    assert TOKEN not in tallystick("remember", TOKEN, keep, "--trust", "tool", "--json").out


def test_check_names_what_is_kept_and_erase_takes_it_out(tallystick):
    tallystick("remember", f"the key is {TOKEN}", "--key", "k", "--keep-secrets")
    (finding,) = tallystick("check", "--json").json
    assert (finding["code"], finding["text"]) == ("secret-found", "1 GitHub token in belief.text")
    assert tallystick(*finding["remedy"].split()[1:], "--yes").status == 0
    assert tallystick("check").out == "No problems found.\n"


def test_a_name_that_is_a_secret_is_refused_in_one_line(tallystick):
    done = tallystick("remember", "x y", "--key", TOKEN)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert TOKEN not in done.err
