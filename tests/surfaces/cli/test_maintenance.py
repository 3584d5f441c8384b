"""backup, restore, check, repair, init, migrate and the ledger's own commands."""

import json
import stat
import time
from pathlib import Path

import pytest

from tallystick.surfaces.cli import command
from tests.chronomemory_folder import OldStore


def test_a_backup_is_made_its_place_is_told_and_it_is_put_into_an_empty_place(tallystick, folder, home):
    tallystick("remember", "Ana prefers tea", "--key", "k")
    inside, outside = tallystick("backup", "--json").json, tallystick("backup", "--to", str(home / "copies"))

    assert Path(inside["backup"]).parent == folder / "backup"
    assert outside.out.startswith(f"Copied to {home}/copies/")
    assert b"Ana prefers tea" in (Path(inside["backup"]) / "events.wal").read_bytes()
    done = tallystick("-C", str(home / "new"), "restore", inside["backup"], "--json")
    assert done.json["folder"] == str(home / "new")
    assert tallystick("-C", str(home / "new"), "show", "k", "--json").json["text"] == "Ana prefers tea"


def test_going_back_keeps_what_is_left_behind(tallystick, folder):
    tallystick("remember", "before", "--key", "k")
    copy = Path(tallystick("backup", "--json").json["backup"])
    tallystick("revise", "k", "after")

    listed = tallystick("restore")
    done = tallystick("restore", copy.name)

    assert listed.out == f"{copy.name}\n"
    assert done.status == 0
    assert f"Restored {copy.name}: 1 belief" in done.out
    assert "-before-restore" in done.out
    assert tallystick("show", "k", "--json").json["text"] == "before"
    [left] = (folder / "backup").glob("*-before-restore")
    assert b"after" in (left / "events.wal").read_bytes()


def test_init_here_makes_a_projects_own_memory_and_says_how_it_is_found(tallystick, home):
    done = tallystick("init", "--here")
    made = home / "work/.tallystick"

    assert done.out == f"Created {made}\nfound from {home}/work and every folder below it\n"
    assert (made / "tallystick.toml").read_text().startswith("# Settings of this memory")
    assert stat.S_IMODE((made / "tallystick.toml").stat().st_mode) == 0o600
    assert sorted(page.name for page in (made / "memory").iterdir()) == ["user-preferences.md", "user-profile.md"]
    assert "tags: [identity, background]\nstatus: active" in (made / "memory/user-profile.md").read_text()
    tallystick("remember", "in the project")
    assert b"in the project" in (made / "events.wal").read_bytes()
    assert not (home / ".tallystick").exists()


def test_init_leaves_what_is_there_as_it_is_pages_too(tallystick, home):
    tallystick("init", "--here")
    (home / "work/.tallystick/tallystick.toml").write_text("# mine\n")
    tallystick("remember", "kept", "--key", "k")
    page = home / "work/.tallystick/memory/user-profile.md"
    page.write_text(page.read_text() + "\n## #name\nThe user is Ana.\n")
    (home / "work/.tallystick/memory/user-preferences.md").unlink()

    assert tallystick("init", "--here").out.startswith("Already there:")

    assert (home / "work/.tallystick/tallystick.toml").read_text() == "# mine\n"
    assert "user-preferences.md" not in [path.name for path in page.parent.iterdir()]
    assert "The user is Ana." not in tallystick("show").out


def test_init_says_when_another_memory_goes_first(tallystick, home, monkeypatch):
    monkeypatch.setenv("TALLYSTICK_HOME", str(home / "first"))
    done = tallystick("init", "--here")

    assert f"commands here use {home}/first" in done.out
    assert tallystick("init", "--here", "--json").json["found"] is False


def test_init_tells_a_git_project_what_git_will_see(tallystick, home):
    (home / "work/.git").mkdir()

    assert ".gitignore" in tallystick("init", "--here").out


@pytest.fixture
def specsmith(home) -> Path:
    """A project with JSON files of specsmith, three of whose items cannot be taken."""
    source = home / "work/.specsmith"
    source.mkdir()
    requirements = [{"id": "R-1", "title": "It works"}, {"title": "no id"}, {"id": "R-2", "confidence": 7.5}]
    (source / "requirements.json").write_text(json.dumps(requirements))
    (source / "testcases.json").write_text(
        json.dumps([{"id": "T-1", "title": "It is tried"}, {"id": "T\x1b[31m", "confidence": 9}])
    )
    return source


def test_migrate_tells_the_counts_and_every_item_it_could_not_take(tallystick, specsmith, home):
    first, again = tallystick("migrate"), tallystick("migrate")

    assert first.out.startswith("Imported 1 requirement and 1 test case\n3 items not imported:\n")
    assert "requirements.json, item 1: has no id" in first.out
    assert "confidence: 7.5" in first.out
    assert first.err == ""
    assert "Imported 0 requirements and 0 test cases\n2 items unchanged\n" in again.out
    assert tallystick("-C", str(home / "work/.chronomemory"), "show", "R-1", "--json").json["text"] == "It works"


    done = tallystick("migrate", str(specsmith), "--project", str(home / "elsewhere"), "--json")

    assert (done.json["requirements"], done.json["testcases"], done.json["skipped"]) == (1, 1, 3)
    assert len(done.json["reasons"]) == 3
    assert (home / "elsewhere/.chronomemory/events.wal").exists()
    assert tallystick("migrate", str(home / "nowhere")).status == 1


def test_migrate_into_a_folder_of_chronomemory_counts_its_notes_apart(tallystick, specsmith, home):
    old = OldStore(home / "work")
    old.upsert("R-1", kind="requirement", label="It works", data={"id": "R-1", "title": "It works"})
    for number in range(5):
        old.upsert(f"O-{number}", status=f"own {number}")

    done = tallystick("migrate")

    assert "Imported 0 requirements and 1 test case\n1 item unchanged\n3 items not imported:\n" in done.out
    assert "'O-3': its status 'own 3' is unknown: it is kept" in done.out
    assert len(tallystick("migrate", "--json").json["reasons"]) == 3


def test_a_damaged_folder_of_chronomemory_is_sent_to_the_import_that_takes_what_is_left(tallystick, home):
    old = OldStore(home / "old")
    for name in "ABC":
        old.upsert(name, label=f"the label of {name}")
    assert tallystick("-C", str(old.folder), "check").status == 0
    old.wal.write_bytes(old.wal.read_bytes().replace(b"of B", b"of D"))

    checked = tallystick("-C", str(old.folder), "check")
    assert checked.status == 4
    assert "line 2: its hash does not fit" in checked.out
    assert "import --format chronomemory" in checked.out
    assert tallystick("-C", str(old.folder), "backup").status == 4
    done = tallystick("-C", str(home / "new"), "import", "--format", "chronomemory", str(old.folder))

    assert "2 beliefs" in done.out
    assert "line 2: its hash does not fit" in done.out
    assert tallystick("-C", str(home / "new"), "show", "C", "--json").json["text"] == "the label of C"


def test_compacting_and_pruning_tell_what_they_did(tallystick, home):
    tallystick("remember", "one", "--key", "1")
    tallystick("remember", "two")

    assert "nothing is sealed yet" in tallystick("ledger", "prune", "--to", str(home / "old")).out
    assert tallystick("ledger", "compact").out == "Compacted 2 events\n"
    done = tallystick("ledger", "prune", "--to", str(home / "old"), "--json")
    assert done.json["moved"][0].startswith(f"{home}/old/")
    assert tallystick("show", "1").status == 0


def spoil(folder: Path) -> None:
    """Change one letter of the words in the second line."""
    wal = folder / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b"Ana prefers tea", b"Ana prefers tee"))


def test_verify_says_whole_and_that_nobody_outside_vouches_for_the_end(tallystick):
    tallystick("remember", "Ana prefers tea")
    done = tallystick("ledger", "verify")

    assert done.status == 0
    assert done.out.startswith("Intact: ")
    assert "no witness outside this folder" in done.out
    assert tallystick("ledger", "verify", "--processes", "2", "--json").json["ok"] is True


def test_verify_names_the_file_line_and_byte_of_damage_and_repair_asks_first(tallystick, folder):
    tallystick("remember", "Ana prefers tea")
    tallystick("remember", "another")
    spoil(folder)
    done = tallystick("ledger", "verify")

    assert done.status == 4
    assert done.out.startswith("Not intact\n")
    assert "events.wal, line 2, byte " in done.out
    assert tallystick("ledger", "verify", "--json").json["ok"] is False
    checked = tallystick("check")
    assert (checked.status, "line-damaged" in checked.out, "way out" in checked.out) == (4, True, True)
    before = (folder / "events.wal").read_bytes()

    assert tallystick("repair", "line-damaged").status == 1
    assert "Would do:" in tallystick("repair", "line-damaged", "--dry-run").out
    assert (folder / "events.wal").read_bytes() == before
    assert tallystick("repair", "line-damaged", "--yes").status == 0
    assert tallystick("check").status == 0


def test_a_repair_of_nothing_says_so(tallystick):
    tallystick("remember", "Ana prefers tea")

    assert "nothing to fix" in tallystick("repair", "torn-end", "--yes").out


def test_a_checkpoint_is_printed_pinned_and_vouches_for_the_end(tallystick, home):
    tallystick("remember", "Ana prefers tea")
    done = tallystick("ledger", "checkpoint")

    assert "\n— " in done.out
    assert f"pinned at {home}" in done.err
    assert "none outside the folder" not in tallystick("status").out
    assert "no witness outside this folder" not in tallystick("ledger", "verify").out


def test_a_proof_is_made_and_checked_and_a_changed_one_proves_nothing(tallystick):
    tallystick("remember", "Ana prefers tea")
    made = tallystick("ledger", "prove", "1", "--out", "proof.txt")
    proof = Path("proof.txt").read_text()

    assert made.out == "Written to proof.txt\n"
    assert tallystick("ledger", "prove", "--check", "proof.txt").out.startswith("The proof is valid\n")
    Path("proof.txt").write_text(proof.replace("index 1", "index 0"))
    assert tallystick("ledger", "prove", "--check", "proof.txt").status in (1, 4)
    Path("proof.txt").write_bytes(b"\xff\x00")
    assert tallystick("ledger", "prove", "--check", "proof.txt").status == 1
    assert tallystick("ledger", "prove", "--check", "missing.txt").status == 1


ALL = [
    ["status"], ["show"], ["show", "k"], ["show", "k", "--history"], ["show", "k", "--why"], ["log"],
    ["log", "-n", "0"], ["check"], ["backup"], ["restore"], ["forget", "k"], ["revise", "k", "x"], ["remember", "y"],
    ["recall", "x"], ["pages"], ["pages", "topic-notes"], ["pages", "--search", "tea"], ["pages", "--schema"], ["sync"],
    ["clean", "memory", "--yes"], ["rebuild-index"], ["erase", "k", "--yes"],
    ["erase", "k", "--dry-run"], ["repair", "torn-end"], ["init"], ["ledger", "verify"], ["ledger", "compact"],
    ["ledger", "checkpoint"], ["ledger", "prove", "1"], ["ledger", "prune", "--to", "old"], [],
]  # fmt: skip


@pytest.mark.parametrize("args", ALL, ids=" ".join)
def test_every_command_prints_json_and_nothing_else(tallystick, args):
    tallystick("remember", "Ana prefers tea", "--key", "k")
    done = tallystick(*args, "--json")

    assert (done.status, done.err) == (0, "")
    assert isinstance(done.json, dict | list)


class Screen:
    """What a terminal at standard error would get."""

    def __init__(self) -> None:
        self.drawn = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.drawn += text
        return len(text)

    def flush(self) -> None:
        """There is nothing to wait for."""


@pytest.mark.parametrize(("wait", "is_drawn"), [(3600.0, False), (0.0, True)])
def test_a_bar_or_a_spinner_appears_only_if_it_takes_a_while(monkeypatch, wait, is_drawn):
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(command, "DELAY", wait)
    with command.progress("Verifying", 100) as on_progress:
        on_progress(10)
        time.sleep(0.12)
        on_progress(40)
    with command.waiting("Copying …"):
        time.sleep(0.3 if is_drawn else 0)
    assert [text in screen.drawn for text in ("Verifying", "50%", "Copying …")] == [is_drawn] * 3
