"""remember, revise, forget, erase: what is said at the command line is on disk when the answer is printed."""

import stat

import pytest


def test_what_is_remembered_can_be_shown(tallystick, folder):
    done = tallystick("remember", "Ana prefers tea", "--about", "ana", "--tag", "drinks", "--tag", "taste")
    [belief] = tallystick("show", "--json").json

    assert (done.status, done.err) == (0, "")
    assert done.out == f"Remembered {belief['id'][-6:]} in ~/.tallystick (new). On page person-ana.md\n"
    assert (belief["text"], belief["about"], belief["tags"]) == ("Ana prefers tea", "person-ana", ["drinks", "taste"])
    assert b"Ana prefers tea" in (folder / "events.wal").read_bytes()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_every_option_of_a_belief_reaches_it(tallystick):
    tallystick("remember", "Tea is made of leaves", "--key", "leaves")
    done = tallystick(
        "remember", "Ana prefers tea", "--key", "ana-tea", "--kind", "preference", "--confidence", "0.9",
        "--evidence", "she said so", "--evidence", "mail of May 3", "--rests-on", "leaves", "--hypothesis",
        "--valid-from", "2026-05-03", "--valid-to", "2027-05-03", "--expires", "2028-01-01", "--source-type", "told",
        "--session", "s1", "--agent", "a1", "--json",
    )  # fmt: skip
    belief, leaves = done.json, tallystick("show", "leaves", "--json").json

    assert {name: belief[name] for name in ("key", "kind", "confidence", "is_hypothesis", "source_type")} == {
        "key": "ana-tea", "kind": "preference", "confidence": 0.9, "is_hypothesis": True, "source_type": "told",
    }  # fmt: skip
    assert belief["evidence"] == ["she said so", "mail of May 3"]
    assert belief["rests_on"] == [leaves["id"]]
    assert (belief["valid_from"], belief["valid_to"], belief["expires"]) == ("2026-05-03", "2027-05-03", "2028-01-01")
    assert (belief["session"], belief["agent"], belief["user"]) == ("s1", "a1", "me")


@pytest.mark.parametrize("args", [[], ["-"]])
def test_text_may_come_from_standard_input(tallystick, args):
    done = tallystick("remember", *args, "--json", stdin="first line\nsecond line\n\n")

    assert done.json["text"] == "first line\nsecond line"


def test_a_known_key_gets_a_new_version_and_the_same_again_changes_nothing(tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "ana-tea")
    revised = tallystick("remember", "Ana prefers green tea", "--key", "ana-tea")
    again = tallystick("remember", "Ana prefers green tea", "--key", "ana-tea")

    short = tallystick("show", "ana-tea", "--json").json["id"][-6:]
    assert revised.out == (
        "Revised ana-tea in ~/.tallystick. On page topic-notes.md. It was: Ana prefers tea. "
        f"Undo with `tallystick undo {short}`\n"
    )
    assert again.out == "Already known as ana-tea in ~/.tallystick. On page topic-notes.md\n"
    assert len(tallystick("show", "ana-tea", "--history", "--json").json) == 2


def test_a_revision_changes_what_it_names_and_leaves_the_rest(tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "ana-tea", "--tag", "drinks", "--about", "ana")
    tallystick("revise", "ana-tea", "--confidence", "0.9", "--reason", "asked again")
    tallystick("revise", "ana-tea", "Ana prefers green tea", "--tag", "", "--about", "")
    assert tallystick("revise", "ana-tea").status == 2
    belief = tallystick("show", "ana-tea", "--json").json

    assert (belief["text"], belief["confidence"], belief["tags"], belief["about"]) == (
        "Ana prefers green tea",
        0.9,
        [],
        "",
    )


def test_forgetting_hides_and_keeps_the_history(tallystick):
    tallystick("remember", "one", "--key", "1")
    tallystick("remember", "two", "--key", "2")

    done = tallystick("forget", "1", "2", "--reason", "not needed")

    short = tallystick("show", "1", "--json").json["id"][-6:]
    assert done.out == f"Forgot 1: one\nForgot 2: two\nUndo with `tallystick undo {short}`\n"
    assert tallystick("show", "--json").json == []
    assert [version["belief"]["status"] for version in tallystick("show", "1", "--history", "--json").json] == [
        "active",
        "tombstone",
    ]
    first = tallystick("show", "1", "--json").json
    assert first["reason"] == "not needed"
    tallystick("remember", "three", "--key", "3")

    done = tallystick("forget", "1", "3", "--reason", "again")

    assert done.status == 0
    assert done.out.startswith("1 was already forgotten, just now: one\nForgot 3: three\nUndo with ")
    assert tallystick("show", "1", "--json").json == first
    of_show = ("related", "marks", "links")
    assert tallystick("forget", "1", "--json").json == [{name: first[name] for name in first if name not in of_show}]


OTHER_THINGS = {
    "a note": "notes.txt", "a hidden one": ".git/config", "settings and a note": "tallystick.toml notes.txt",
}  # fmt: skip


@pytest.mark.parametrize("what", OTHER_THINGS)
@pytest.mark.parametrize("command", ["remember tea", "observe tea", "import {home}/notes.md"])
def test_no_memory_is_made_among_other_things_unless_that_is_asked_for(tallystick, home, what, command):
    (home / "notes.md").write_text("# Ana\n\nAna prefers tea.\n")
    for name in OTHER_THINGS[what].split():
        (home / "desk" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "desk" / name).write_text("")
    before = sorted(home.rglob("*"))
    order = [*(word.format(home=home) for word in command.split()), "-C", str(home / "desk")]

    tallystick(*order).refused("~/desk holds other files and no memory; `tallystick init ~/desk` creates one there")
    assert sorted(home.rglob("*")) == before

    assert tallystick("init", str(home / "desk")).status == 0
    assert tallystick(*order).status == 0


@pytest.mark.parametrize("holds", ["", "tallystick.toml", "memory/person-ana.md"])
@pytest.mark.parametrize("name", ["new", "desk/.tallystick"])
def test_an_empty_folder_or_one_with_settings_or_pages_becomes_a_memory_on_first_use(tallystick, home, name, holds):
    (home / name).mkdir(parents=True)
    if holds:
        (home / name / holds).parent.mkdir(exist_ok=True)
        (home / name / holds).write_text("[recall]\nfloor = 0.2\n" if holds == "tallystick.toml" else "")

    assert tallystick("-C", str(home / name), "remember", "tea").status == 0
    assert tallystick("-C", str(home / name), "show", "--json").json[0]["text"] == "tea"


def test_a_project_s_own_folder_is_a_memory_s_place_whatever_lies_in_it(tallystick, home):
    (home / ".tallystick").mkdir()
    (home / ".tallystick" / ".DS_Store").write_text("")

    assert tallystick("remember", "tea").status == 0


def test_a_dry_run_shows_what_would_go_and_where_nobody_can_be_asked_nothing_is_destroyed(tallystick, home):
    tallystick("remember", "a secret", "--key", "s")
    tallystick("revise", "s", "a better kept secret")
    tallystick("backup")
    tallystick("backup", "--to", str(home / "elsewhere"))

    done = tallystick("erase", "s", "--dry-run")

    assert "1 belief would lose its words:\n  s  0.7   a better kept secret\n" in done.out
    assert "2 events of the ledger" in done.out
    assert "1 backup inside" in done.out
    assert "copies elsewhere would not be reached" in done.out
    assert str(home / "elsewhere") in done.out
    for args in (["erase", "s"], ["erase", "s", "--json"]):
        done = tallystick(*args)
        done.refused("--yes")
    assert tallystick("show", "s", "--json").json["text"] == "a better kept secret"


def test_after_an_erasure_the_words_are_nowhere_in_the_folder(tallystick, folder):
    tallystick("remember", "a secret", "--key", "s")
    tallystick("backup")

    done = tallystick("erase", "s", "--yes")

    assert done.status == 0
    assert done.out.startswith("Erased 1 belief")
    assert tallystick("show", "s").status == 1
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert [path for path in files if b"a secret" in path.read_bytes()] == []
    assert "(erased)" in tallystick("log").out


def test_a_mebibyte_is_remembered_whole_or_refused_whole(tallystick, folder):
    fits, too_much, far_too_much = "x" * 1_000_000, "\n".join("x" * 500_000), "y" * (2**20 + 1)

    assert tallystick("remember", "--key", "k", stdin=fits).status == 0
    assert tallystick("show", "k", "--json").json["text"] == fits
    for text in (too_much, far_too_much):
        tallystick("remember", "--key", "more", stdin=text).refused("write it in parts")
    assert tallystick("show", "more").status == 1


@pytest.mark.parametrize("args", [[b"remember", b"bad \xff byte"], [b"remember", b"x", b"--about", b"\xff"],
                                  [b"remember", b"x", b"--tag", b"\xff"]])  # fmt: skip
def test_bytes_that_are_no_text_are_refused_with_the_way_out(process, folder, args):
    process(*args).refused("is not UTF-8")
    assert not folder.exists()


def test_a_name_of_bytes_that_are_no_text_is_just_not_found(process):
    process("remember", "x")
    process(b"show", b"\xff\xfe").refused("\\udcff\\udcfe")


def test_standard_input_that_is_no_text_is_refused(process):
    process("remember", stdin=b"abc\xff").refused("byte 3")


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_is_not_remembered(tallystick, text):
    assert tallystick("remember", text).status == 1
    assert tallystick("remember", stdin=text).status == 1


@pytest.mark.parametrize(("option", "value"), [("--confidence", "nan"), ("--confidence", "7.5"), ("--expires", "soon"),
                                               ("--rests-on", "nobody"), ("--valid-from", "yesterday")])  # fmt: skip
def test_what_a_belief_cannot_be_is_refused_with_the_reason(tallystick, option, value):
    tallystick("remember", "x", option, value).refused(value)
