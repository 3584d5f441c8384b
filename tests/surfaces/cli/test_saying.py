"""remember, revise, forget, erase: what is said at the command line is on disk when the answer is printed."""

import stat

import pytest

from keepsake import Memory


def test_what_is_remembered_can_be_shown(keepsake, folder):
    done = keepsake("remember", "Ana prefers tea", "--about", "ana", "--tag", "drinks", "--tag", "taste")
    [belief] = keepsake("show", "--json").json

    assert (done.status, done.err) == (0, "")
    assert done.out == f"Remembered {belief['id'][-6:]} in ~/.keepsake (new). On page topic-ana--9a4eaf5e3c.md\n"
    assert (belief["text"], belief["about"], belief["tags"]) == ("Ana prefers tea", "ana", ["drinks", "taste"])
    assert b"Ana prefers tea" in (folder / "events.wal").read_bytes()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_every_option_of_a_belief_reaches_it(keepsake):
    keepsake("remember", "Tea is made of leaves", "--key", "leaves")
    done = keepsake(
        "remember", "Ana prefers tea", "--key", "ana-tea", "--kind", "preference", "--confidence", "0.9",
        "--evidence", "she said so", "--evidence", "mail of May 3", "--rests-on", "leaves", "--hypothesis",
        "--valid-from", "2026-05-03", "--valid-to", "2027-05-03", "--expires", "2028-01-01", "--source-type", "told",
        "--session", "s1", "--agent", "a1", "--json",
    )  # fmt: skip
    belief, leaves = done.json, keepsake("show", "leaves", "--json").json

    assert {name: belief[name] for name in ("key", "kind", "confidence", "is_hypothesis", "source_type")} == {
        "key": "ana-tea", "kind": "preference", "confidence": 0.9, "is_hypothesis": True, "source_type": "told",
    }  # fmt: skip
    assert belief["evidence"] == ["she said so", "mail of May 3"]
    assert belief["rests_on"] == [leaves["id"]]
    assert (belief["valid_from"], belief["valid_to"], belief["expires"]) == ("2026-05-03", "2027-05-03", "2028-01-01")
    assert (belief["session"], belief["agent"], belief["user"]) == ("s1", "a1", "me")


@pytest.mark.parametrize("args", [[], ["-"]])
def test_text_may_come_from_standard_input(keepsake, args):
    done = keepsake("remember", *args, "--json", stdin="first line\nsecond line\n\n")

    assert done.json["text"] == "first line\nsecond line"


def test_two_users_see_only_their_own(keepsake):
    keepsake("remember", "mine", "--key", "k")
    keepsake("remember", "hers", "--key", "k", "--user", "bea")

    assert [belief["text"] for belief in keepsake("show", "--json").json] == ["mine"]
    assert keepsake("show", "k", "--user", "bea", "--json").json["text"] == "hers"
    assert keepsake("forget", "k", "--user", "carl").status == 1


def test_a_known_key_gets_a_new_version_and_the_same_again_changes_nothing(keepsake):
    keepsake("remember", "Ana prefers tea", "--key", "ana-tea")
    revised = keepsake("remember", "Ana prefers green tea", "--key", "ana-tea")
    again = keepsake("remember", "Ana prefers green tea", "--key", "ana-tea")

    assert revised.out == "Revised ana-tea in ~/.keepsake. On page topic-notes.md\n"
    assert again.out == "Already known as ana-tea in ~/.keepsake. On page topic-notes.md\n"
    assert len(keepsake("show", "ana-tea", "--history", "--json").json) == 2


def test_a_revision_changes_what_it_names_and_leaves_the_rest(keepsake):
    keepsake("remember", "Ana prefers tea", "--key", "ana-tea", "--tag", "drinks", "--about", "ana")
    keepsake("revise", "ana-tea", "--confidence", "0.9", "--reason", "asked again")
    keepsake("revise", "ana-tea", "Ana prefers green tea", "--tag", "", "--about", "")
    belief = keepsake("show", "ana-tea", "--json").json

    assert (belief["text"], belief["confidence"], belief["tags"], belief["about"]) == (
        "Ana prefers green tea",
        0.9,
        [],
        "",
    )


def test_a_revision_of_words_that_changed_since_is_refused(keepsake):
    old = keepsake("remember", "Ana prefers tea", "--key", "ana-tea", "--json").json["id"]
    keepsake("revise", "ana-tea", "Ana prefers green tea")

    done = keepsake("revise", old, "Ana prefers black tea")

    assert done.status == 1
    assert "has been revised since" in done.err
    assert keepsake("show", "ana-tea", "--json").json["text"] == "Ana prefers green tea"


def test_a_revision_of_nothing_is_wrong_usage(keepsake):
    keepsake("remember", "Ana prefers tea", "--key", "ana-tea")

    assert keepsake("revise", "ana-tea").status == 2


def test_forgetting_hides_and_keeps_the_history(keepsake):
    keepsake("remember", "one", "--key", "1")
    keepsake("remember", "two", "--key", "2")

    done = keepsake("forget", "1", "2", "--reason", "not needed")

    assert done.out == "Forgot 1: one\nForgot 2: two\n"
    assert keepsake("show", "--json").json == []
    assert [version["belief"]["status"] for version in keepsake("show", "1", "--history", "--json").json] == [
        "active",
        "tombstone",
    ]
    assert keepsake("show", "1", "--json").json["reason"] == "not needed"


def test_what_was_forgotten_already_is_said_to_be_and_since_when(keepsake):
    keepsake("remember", "one", "--key", "1")
    keepsake("remember", "two", "--key", "2")
    keepsake("forget", "1", "--reason", "not needed")
    first = keepsake("show", "1", "--json").json

    done = keepsake("forget", "1", "2", "--reason", "again")

    assert (done.status, done.out) == (0, "1 was forgotten already, just now: one\nForgot 2: two\n")
    assert keepsake("show", "1", "--json").json == first
    assert keepsake("forget", "1", "--json").json == [{name: first[name] for name in first if name != "related"}]


def test_what_proved_wrong_can_still_be_forgotten(keepsake, folder):
    with Memory(folder) as memory:
        memory.remember("one", key="1")
        memory.invalidate("1", "it is two")

    assert keepsake("forget", "1").out == "Forgot 1: one\n"


OTHER_THINGS = {"a note": "notes.txt", "a hidden one": ".git/config", "settings and a note": "keepsake.toml notes.txt"}


@pytest.mark.parametrize("what", OTHER_THINGS)
@pytest.mark.parametrize("command", ["remember tea", "observe tea", "import {home}/notes.md"])
def test_no_memory_is_made_among_other_things_unless_that_is_asked_for(keepsake, home, what, command):
    (home / "notes.md").write_text("# Ana\n\nAna prefers tea.\n")
    for name in OTHER_THINGS[what].split():
        (home / "desk" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "desk" / name).write_text("")
    before = sorted(home.rglob("*"))
    order = [*(word.format(home=home) for word in command.split()), "-C", str(home / "desk")]

    done = keepsake(*order)

    assert (done.status, done.out) == (1, "")
    assert "~/desk holds other things and no memory; `keepsake init ~/desk` makes one among them" in done.err
    assert sorted(home.rglob("*")) == before

    assert keepsake("init", str(home / "desk")).status == 0
    assert keepsake(*order).status == 0


@pytest.mark.parametrize("holds", ["", "keepsake.toml", "memory/person-ana.md"])
@pytest.mark.parametrize("name", ["new", "desk/.keepsake"])
def test_an_empty_folder_or_one_with_settings_or_pages_becomes_a_memory_on_first_use(keepsake, home, name, holds):
    (home / name).mkdir(parents=True)
    if holds:
        (home / name / holds).parent.mkdir(exist_ok=True)
        (home / name / holds).write_text("[recall]\nfloor = 0.2\n" if holds == "keepsake.toml" else "")

    assert keepsake("-C", str(home / name), "remember", "tea").status == 0
    assert keepsake("-C", str(home / name), "show", "--json").json[0]["text"] == "tea"


def test_a_project_s_own_folder_is_a_memory_s_place_whatever_lies_in_it(keepsake, home):
    (home / ".keepsake").mkdir()
    (home / ".keepsake" / ".DS_Store").write_text("")

    assert keepsake("remember", "tea").status == 0


def test_of_several_names_all_are_forgotten_or_none(keepsake):
    keepsake("remember", "one", "--key", "1")

    done = keepsake("forget", "1", "nobody")

    assert done.status == 1
    assert keepsake("show", "1", "--json").json["status"] == "active"


def test_erasing_is_refused_where_nobody_can_be_asked(keepsake):
    keepsake("remember", "a secret", "--key", "s")

    for args in (["erase", "s"], ["erase", "s", "--json"]):
        done = keepsake(*args)
        assert (done.status, done.out) == (1, "")
        assert "--yes" in done.err
    assert keepsake("show", "s", "--json").json["text"] == "a secret"


def test_a_dry_run_shows_what_would_go_and_destroys_nothing(keepsake, home):
    keepsake("remember", "a secret", "--key", "s")
    keepsake("revise", "s", "a better kept secret")
    keepsake("backup")
    keepsake("backup", "--to", str(home / "elsewhere"))

    done = keepsake("erase", "s", "--dry-run")

    assert "1 belief would lose its words:\n  s  0.7   a better kept secret\n" in done.out
    assert "2 events of the ledger" in done.out
    assert "1 backup inside" in done.out
    assert "copies elsewhere would not be reached" in done.out
    assert str(home / "elsewhere") in done.out
    assert keepsake("show", "s", "--json").json["text"] == "a better kept secret"


def test_after_an_erasure_the_words_are_nowhere_in_the_folder(keepsake, folder):
    keepsake("remember", "a secret", "--key", "s")
    keepsake("backup")

    done = keepsake("erase", "s", "--yes")

    assert done.status == 0
    assert done.out.startswith("Erased 1 belief")
    assert keepsake("show", "s").status == 1
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert [path for path in files if b"a secret" in path.read_bytes()] == []
    assert "(erased)" in keepsake("log").out


@pytest.mark.parametrize("command", [["erase", "--yes"], ["forget"], ["show"], ["revise"]])
def test_an_unknown_name_is_not_found_and_nothing_changes(keepsake, folder, command):
    keepsake("remember", "Ana prefers tea")
    before = (folder / "events.wal").read_bytes()

    done = keepsake(*command, "nobody", *(["text"] if command == ["revise"] else []))

    assert (done.status, done.out) == (1, "")
    assert done.err == "keepsake: nothing is known as 'nobody'; `keepsake log` shows what is\n"
    assert (folder / "events.wal").read_bytes() == before


def test_a_belief_answers_to_its_key_its_id_and_the_end_of_it(keepsake):
    belief = keepsake("remember", "Ana prefers tea", "--key", "ana-tea", "--json").json

    for name in ("ana-tea", belief["id"], belief["id"][-6:]):
        assert keepsake("show", name, "--json").json["id"] == belief["id"]


def test_a_mebibyte_is_remembered_whole_or_refused_whole(keepsake, folder):
    fits, too_much, far_too_much = "x" * 1_000_000, "\n".join("x" * 500_000), "y" * (2**20 + 1)

    assert keepsake("remember", "--key", "k", stdin=fits).status == 0
    assert keepsake("show", "k", "--json").json["text"] == fits
    for text in (too_much, far_too_much):
        done = keepsake("remember", "--key", "more", stdin=text)
        assert (done.status, done.out) == (1, "")
        assert "say it in parts" in done.err
    assert keepsake("show", "more").status == 1


@pytest.mark.parametrize("args", [[b"remember", b"bad \xff byte"], [b"remember", b"x", b"--about", b"\xff"],
                                  [b"remember", b"x", b"--tag", b"\xff"]])  # fmt: skip
def test_bytes_that_are_no_text_are_refused_with_the_way_out(process, folder, args):
    done = process(*args)

    assert (done.status, done.out) == (1, "")
    assert "is not UTF-8" in done.err
    assert not folder.exists()


def test_a_name_of_bytes_that_are_no_text_is_just_not_found(process):
    process("remember", "x")
    done = process(b"show", b"\xff\xfe")

    assert done.status == 1
    assert "\\udcff\\udcfe" in done.err


def test_standard_input_that_is_no_text_is_refused(process):
    done = process("remember", stdin=b"abc\xff")

    assert (done.status, done.err.count("\n")) == (1, 1)
    assert "byte 3" in done.err


def test_words_without_quotes_are_wrong_usage_and_say_so(keepsake, folder):
    done = keepsake("remember", "Ana", "prefers", "tea")

    assert done.status == 2
    assert "put the text in quotes" in done.err
    assert not folder.exists()


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_is_not_remembered(keepsake, text):
    assert keepsake("remember", text).status == 1
    assert keepsake("remember", stdin=text).status == 1


@pytest.mark.parametrize(("option", "value"), [("--confidence", "nan"), ("--confidence", "7.5"), ("--expires", "soon"),
                                               ("--rests-on", "nobody"), ("--valid-from", "yesterday")])  # fmt: skip
def test_what_a_belief_cannot_be_is_refused_with_the_reason(keepsake, option, value):
    done = keepsake("remember", "x", option, value)

    assert (done.status, done.out) == (1, "")
    assert value in done.err
