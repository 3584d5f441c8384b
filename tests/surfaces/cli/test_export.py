"""`tallystick export`: everything leaves, to a pipe, a file or a folder."""

import json
import os

import pytest


@pytest.fixture
def told(tallystick):
    assert tallystick("remember", "Ana prefers tea", "--about", "person-ana", "--key", "tea").status == 0
    assert tallystick("observe", "Let's ship on Friday.", "--session", "s1").status == 0
    assert tallystick("remember", "Bob has a plan", "--user", "bob").status == 0


def test_lines_go_to_standard_output_and_can_be_piped(tallystick, told):
    done = tallystick("export")
    lines = [json.loads(line) for line in done.out.splitlines()]

    assert (done.status, done.err) == (0, "")
    assert (lines[0]["type"], lines[0]["user"], lines[-1]) == (
        "tallystick", "me", {"type": "end", "records": 3, "events": 2},
    )  # fmt: skip
    assert "Bob" not in done.out
    assert [json.loads(line) for line in tallystick("export", "--to", "-").out.splitlines()][1:] == lines[1:]
    assert '"type":"event"' not in tallystick("export", "--no-history").out
    assert "Bob has a plan" in tallystick("export", "--user", "bob").out


def test_a_file_or_a_folder_is_written_whole_and_counted(tallystick, told):
    assert tallystick("export", "--to", "all.ndjson").out == (
        f"Wrote 1 belief, 1 episode, 1 graph record and 2 events to {os.getcwd()}/all.ndjson\n"
    )
    assert tallystick("export", "--format", "markdown", "--to", "all").out == (
        f"Wrote 3 pages and 1 episode to {os.getcwd()}/all\n"
    )
    graph = tallystick("export", "--format", "graph")
    assert graph.out == tallystick("graph", "export").out
    assert json.loads(graph.out)["nodes"][0]["id"] == "person-ana"
    again = tallystick("export", "--to", "all.ndjson")
    assert (again.status, again.out) == (1, "")
    assert "all.ndjson exists already; choose another name, or use --force to replace it" in str(again.err)
    done = tallystick("export", "--to", "all.ndjson", "--force", "--json").json
    assert (done["format"], done["counts"]["belief"]) == ("ndjson", 1)


def test_a_terminal_obeys_nothing_of_it(tallystick, terminal):
    tallystick("remember", "red \x1b[31m \u202e")
    drawn = terminal("export").out

    assert "\\u001b[31m" in drawn
    assert "\x1b[31m" not in drawn
    assert "\u202e" not in drawn


def test_what_was_exported_is_imported_by_one_command(tallystick, told, folder):
    tallystick("export", "--to", "all.ndjson")
    tallystick("export", "--format", "markdown", "--to", "all")
    lines = tallystick("export").out.splitlines()[1:]

    mine = ("import", "all.ndjson", "--mine")
    assert tallystick("-C", "two", *mine, "--dry-run").out.startswith("Would import 1 episode and 1 b")
    assert tallystick("-C", "two", *mine).out.startswith("Imported 1 episode and 1 belief, from 1 f")
    assert tallystick("-C", "two", "export").out.splitlines()[1:] == lines
    assert tallystick("-C", "two", "import", "all.ndjson").out == "Nothing new: 2 already known\n"
    piped = tallystick("-C", "three", "import", "--mine", "-", stdin="\n".join(tallystick("export").out.splitlines()))
    assert (piped.status, tallystick("-C", "three", "show", "tea").status) == (0, 0)
    cut = tallystick("-C", "four", "import", "-", stdin=tallystick("export").out[:-30])
    assert (cut.status, cut.out) == (1, "")
    assert "cut off" in cut.err or "is not JSON" in cut.err
    tallystick("-C", "five", "import", "all", "--mine")
    before, after = ((home / "memory/person-ana.md").read_bytes() for home in (folder, folder.parent / "work/five"))
    assert before == after
    assert "'me', not of 'bob'; use --user" in tallystick("-C", "two", "import", "all.ndjson", "--user", "bob").err
    log = tallystick("-C", "two", "log").out
    assert "importing another memory" in log
    assert "imported, in 2 events" in log


def test_another_memorys_export_waits_under_its_own_name_and_one_command_approves_it(tallystick, told, folder):
    tallystick("export", "--to", "all.ndjson")
    tallystick("-C", "two", "remember", "The office is in Lisbon")

    done = tallystick("-C", "two", "import", "all.ndjson")

    [source] = [line.split()[-1] for line in done.out.splitlines() if "--source" in line]
    assert source.startswith("import:")
    assert "comes from another memory" in done.out
    assert len(tallystick("-C", "two", "review", "--source", source, "--json").json) == 1
    assert tallystick("-C", "two", "review", "--source", "import:0", "--json").json == []
    approve = ("-C", "two", "review", "approve", "--all", "--source", source)
    tallystick(*approve).refused("confirm with --yes")
    assert tallystick(*approve, "--yes").out == f"Approved 1 review and 1 episode of {source}\n"
    assert tallystick(*approve, "--yes").out == f"nothing of {source} is pending\n"
    assert " · import · " in tallystick("-C", "two", "recall", "tea").out
    assert f"everything from {source}" in tallystick("-C", "two", "log").out
    assert tallystick("-C", "two", "trust", "--none", source).status == 0
    assert " · import · " not in tallystick("-C", "two", "recall", "tea").out
