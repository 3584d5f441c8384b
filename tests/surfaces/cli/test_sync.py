"""tallystick sync: what a person did to a page comes in, and what is not understood is told and kept."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest

from tallystick import Memory
from tallystick.surfaces.cli.pages import LOOK
from tests.projections.markdown.samples import SAMPLE


@pytest.fixture
def bob(tallystick, folder):
    """The page of somebody who plays chess."""
    tallystick("remember", "Bob plays chess", "--about", "person-bob", "--key", "bob")
    return folder / "memory/person-bob.md"


def edit(page, old, new):
    page.write_text(page.read_text().replace(old, new))


# -- taking in ---------------------------------------------------------------------------------------------------------


def test_nothing_new_is_one_line(tallystick, bob):
    before = bob.read_bytes()

    assert tallystick("sync").out == "3 pages, nothing new\n"
    assert tallystick("sync", "--json").json == {"seen": 3, "adopted": [], "written": [], "problems": [], "reviews": []}
    assert bob.read_bytes() == before


def test_an_edit_is_taken_in_and_told_with_file_and_line(tallystick, bob):
    edit(bob, "plays chess", "plays go")
    line = bob.read_text().splitlines().index("Bob plays go")
    done = tallystick("sync")

    assert (done.status, done.err) == (0, "")
    assert re.fullmatch(rf"person-bob\.md:{line}: edited \S+\nwrote person-bob\.md\n", done.out)
    assert tallystick("show", "bob", "--json").json["text"] == "Bob plays go"
    assert "remembered   0.7   Bob plays chess" in tallystick("show", "bob", "--history").out


def test_what_is_not_understood_is_told_on_stderr_and_stays_and_the_rest_goes_on(tallystick, bob, folder):
    (folder / "memory/notes.md").write_text("shopping")
    (folder / "memory/person-link.md").symlink_to(folder / "tallystick.toml")
    edit(bob, "plays chess", "plays go")
    done = tallystick("sync")

    assert done.status == 1
    assert "person-bob.md:" in done.out
    assert "notes.md: its name is no page's; a page is called user-, project-" in done.err
    assert "person-link.md: a symlink; use a regular file\n" in done.err
    assert (folder / "memory/notes.md").read_text() == "shopping"
    told = tallystick("sync", "--json")
    assert (told.status, told.err) == (1, "")
    assert {each["path"] for each in told.json["problems"]} == {"notes.md", "person-link.md"}


def test_a_name_of_a_file_is_not_obeyed_by_a_terminal(terminal, bob, folder):
    (folder / "memory/\x1b]0;owned\x07\u202e.md").write_text("x")
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", terminal("sync").out)

    assert "\\x1b]0;owned\\x07\\u202e.md: its name is no page's" in drawn
    assert not set(drawn) & set("\x1b\x07\u202e")


def test_what_changed_on_both_sides_is_asked_and_the_command_to_answer_is_told(tallystick, bob, folder):
    (folder / "tallystick.toml").write_text("[pages]\nfollow = false\n")
    edit(bob, "plays chess", "plays go")
    tallystick("revise", "bob", "Bob plays the drums")
    done = tallystick("sync")

    found = re.search(r"^changed on both sides, needs review: tallystick review (\w{6})$", done.out, re.MULTILINE)
    assert done.status == 0
    assert found
    asked = tallystick("review", found[1]).out
    assert "Bob plays go" in asked
    assert "Bob plays the drums" in asked
    assert tallystick("review", found[1], "--approve").status == 0
    assert tallystick("show", "bob", "--json").json["text"] == "Bob plays go"


def test_a_folder_of_pages_without_a_ledger_is_adopted_byte_for_byte(tallystick, folder):
    (folder / "memory").mkdir(parents=True)
    page = folder / "memory/user-profile.md"
    page.write_text(SAMPLE)
    done = tallystick("sync")

    assert done.status == 0
    assert done.out.count(": added 2026042") == 3
    assert page.read_text() == SAMPLE
    assert "Acme" in tallystick("pages", "--search", "senior engineer").out
    assert tallystick("sync").out.endswith("nothing new\n")


# -- making the tables anew --------------------------------------------------------------------------------------------


def test_rebuild_index_takes_edits_in_and_tells_of_a_broken_page_and_goes_on(tallystick, bob, folder):
    edit(bob, "plays chess", "plays go")
    (folder / "memory/notes.md").write_text("shopping")
    done = tallystick("rebuild-index")

    assert done.status == 1
    assert re.match(r"person-bob\.md:\d+: edited \S+\nwrote person-bob\.md\nread 4 pages\nrebuilt from ", done.out)
    assert done.err.startswith("notes.md: its name is no page's")
    assert "go" in tallystick("pages", "--search", "bob").out
    (folder / "memory/notes.md").unlink()
    again = tallystick("rebuild-index")
    assert (again.status, again.err) == (0, "")
    assert again.out.startswith("read 3 pages\n")


def test_vectors_alone_leave_the_pages_as_they_are(tallystick, bob):
    edit(bob, "plays chess", "plays go")
    found = tallystick("rebuild-index", "--vectors", "--json").json

    assert "pages" not in found
    assert tallystick("show", "bob", "--json").json["text"] == "Bob plays chess"


# -- watching ----------------------------------------------------------------------------------------------------------


class Watch:
    """A watch that runs as a process of its own."""

    def __init__(self, program, *args):
        command = [program, "sync", "--watch", *args]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.out = self.child.stdout.fileno()
        self.seen = ""

    def until(self, pattern):
        """Wait until it has printed that."""
        end = time.monotonic() + 120
        while not re.search(pattern, self.seen):
            assert time.monotonic() < end, f"{pattern!r} not in {self.seen!r}"
            assert self._read(0.2) or self.child.poll() is None, self.seen

    def end(self, sign=signal.SIGTERM):
        """Tell it to end; how it did."""
        self.child.send_signal(sign)
        while self._read(30):
            pass
        return self.child.wait(timeout=120)

    def _read(self, seconds):
        data = os.read(self.out, 65536) if select.select([self.out], [], [], seconds)[0] else b""
        self.seen += data.decode()
        return data


@contextmanager
def watch(program, *args):
    watching = Watch(program, *args)
    try:
        watching.until("watching" if not args else r"\{")
        yield watching
    finally:
        watching.child.kill()
        watching.child.wait()
        watching.child.stdout.close()


def test_a_watch_takes_in_each_edit_and_follows_what_others_write(bob, warm_program, folder):
    with watch(warm_program) as watching:
        edit(bob, "plays chess", "plays go")
        watching.until(r"person-bob\.md:\d+: edited \S+\nwrote person-bob\.md\n")

        time.sleep(LOOK * 2)  # all that the edit set off is over
        (folder / "tallystick.toml").write_text("[pages]\nfollow = false\n")
        with Memory(folder) as m:
            m.remember("Ana sings", about="person-ana")
        watching.until(r"wrote person-ana\.md\n")

        fresh = bob.with_name(".person-bob.md.swp")
        fresh.write_text(bob.read_text() + "\n## #new\nBob is tall.\n")
        fresh.replace(bob)  # as editors save
        watching.until(r"person-bob\.md:\d+: added ")

        assert watching.end() == 0

    assert watching.seen.count("edited") == 1
    assert watching.seen.count("added") == 1
    with Memory(folder) as m:
        assert m.show("bob").text == "Bob plays go"
        assert [entry.text for entry in m.pages.read("person-bob").entries] == ["Bob plays go", "Bob is tall."]


def test_a_watch_goes_on_in_a_folder_that_was_removed_and_grew_back(bob, warm_program, folder, tmp_path):
    with watch(warm_program) as watching:
        time.sleep(LOOK * 2)  # it watches by now
        (folder / "memory").rename(tmp_path / "away")
        shutil.rmtree(tmp_path / "away")
        watching.until(r"wrote person-bob\.md\n")
        time.sleep(LOOK * 2)  # all that the removal itself set off is over
        edit(bob, "plays chess", "plays go")
        watching.until(r"person-bob\.md:\d+: edited ")

        assert watching.end(signal.SIGINT) == 0


def test_a_watch_tells_of_what_it_does_not_understand_and_goes_on(bob, warm_program, folder):
    with watch(warm_program) as watching:
        (folder / "memory/notes.md").write_text("shopping")
        watching.until(r"notes\.md: its name is no page's")
        edit(bob, "plays chess", "plays go")
        watching.until(r"person-bob\.md:\d+: edited ")

        assert watching.end() == 0

    assert watching.seen.count("notes.md") == 1


def test_a_watch_prints_json_an_object_a_line(bob, warm_program):
    with watch(warm_program, "--json") as watching:
        edit(bob, "plays chess", "plays go")
        watching.until(r"(?s)\{.*\}\n\{.*\}\n")
        assert watching.end() == 0

    first, second = map(json.loads, watching.seen.splitlines()[:2])
    assert first["adopted"] == []
    assert second["adopted"][0]["path"] == "person-bob.md"
