"""The Tab key: it offers names that fit, says nothing, and makes nothing."""

import os
import pty
import select
import shutil
import subprocess
import time

import pytest


@pytest.fixture
def tab(tallystick, monkeypatch):
    """Press the Tab key behind the last word, as bash does it."""

    def press(*words: str):
        line = ["tallystick", *words]
        with monkeypatch.context() as pressed:
            pressed.setenv("_TALLYSTICK_COMPLETE", "bash_complete")
            pressed.setenv("COMP_WORDS", " ".join(line))
            pressed.setenv("COMP_CWORD", str(len(line) - 1))
            return tallystick()

    return press


def offered(done) -> list[str]:
    return [line.partition(",")[2] for line in done.out.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_taught_with_one_line(process, shell):
    done = process(_TALLYSTICK_COMPLETE=f"{shell}_source")

    assert "_TALLYSTICK_COMPLETE" in done.out


def test_commands_and_options_are_offered(tab):
    names = ["remember", "recall", "revise", "review", "repair", "restore", "rebuild-index", "relate"]
    assert offered(tab("re")) == names
    assert "--history" in offered(tab("show", "--h"))
    assert offered(tab("ledger", "ver")) == ["verify"]


@pytest.mark.parametrize("command", ["show", "forget", "erase", "revise"])
def test_beliefs_are_offered_by_key_and_by_id(tallystick, tab, command):
    tallystick("remember", "Ana prefers tea", "--key", "ana-tea")
    drawn = tallystick("remember", "Bea prefers coffee", "--json").json["id"]

    assert offered(tab(command, "ana")) == ["ana-tea"]
    assert offered(tab(command, drawn[-6:-2])) == [drawn[-6:]]
    assert drawn in offered(tab(command, drawn[:6]))


def test_a_folder_that_is_named_is_the_one_that_is_looked_into(tallystick, tab, home):
    tallystick("-C", str(home / "a"), "remember", "x", "--key", "only-in-a")

    assert offered(tab("show", "only")) == []
    assert offered(tab("-C", str(home / "a"), "show", "only")) == ["only-in-a"]
    assert offered(tab("show", "-C", str(home / "a"), "only")) == ["only-in-a"]


def test_another_users_beliefs_are_not_offered(tallystick, tab):
    tallystick("remember", "hers", "--key", "bea-only", "--user", "bea")

    assert offered(tab("show", "bea")) == []
    assert offered(tab("show", "--user", "bea", "bea")) == ["bea-only"]


def test_without_a_memory_nothing_is_offered_said_or_made(tab, home):
    before = sorted(home.rglob("*"))
    done = tab("show", "a")

    assert (offered(done), done.err) == ([], "")
    assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize("spoil", [b"", b"garbage\n", b"\xff" * 4096])
def test_a_damaged_memory_offers_nothing_and_says_nothing(tallystick, tab, folder, spoil):
    tallystick("remember", "x", "--key", "abc")
    (folder / "events.wal").write_bytes(spoil)

    assert tab("show", "a").err == ""
    assert (folder / "events.wal").read_bytes() == spoil


def test_a_memory_that_chronomemory_wrote_is_not_taken_over_by_a_key_press(tab, folder):
    old = (
        b'{"seq": 1, "ts": "2026-01-02T03:04:05Z", "op": "upsert", "record_id": "F", "record": {},'
        b' "prev_hash": "", "hash": ""}\n'
    )
    folder.mkdir()
    (folder / "events.wal").write_bytes(old)

    assert (offered(tab("show", "F")), [path.name for path in folder.iterdir()]) == ([], ["events.wal"])
    assert (folder / "events.wal").read_bytes() == old


def test_names_that_a_terminal_would_obey_are_not_offered(tallystick, tab):
    for key in ("a\x1b[31m", "a\nb", "a\u202eb", "a b", "a,b"):
        tallystick("remember", "x", "--key", key)
    tallystick("remember", "x", "--key", "ab")

    assert offered(tab("show", "a")) == ["ab"]


def test_copies_are_offered_to_go_back_to(tallystick, tab):
    tallystick("remember", "x")
    made = tallystick("backup", "--json").json["backup"].rpartition("/")[2]

    assert offered(tab("restore", "2")) == [made]


# -- names of other kinds ----------------------------------------------------------------------------------------------


@pytest.fixture
def filled(tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "ana-tea", "--about", "person-ana")
    tallystick("paths", "branch", "plan-b")
    tallystick("forget", "ana-tea", "--trust", "agent")
    return tallystick


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("pages", "person"), ["person-ana"]), (("pages", "--search", "tea", "--in", "per"), ["person-ana"]),
        (("remember", "x", "--about", "person"), ["person-ana"]), (("recall", "--about", "person"), ["person-ana"]),
        (("graph", "show", "person"), ["person-ana"]), (("remember", "x", "--path", "pl"), ["plan-b"]),
        (("recall", "--path", ""), ["plan-b"]), (("paths", "merge", "p"), ["plan-b"]),
        (("paths", "branch", "x", "--from", "p"), ["plan-b"]), (("recall", "--frame", "att"), ["attention"]),
        (("remember", "x", "--rests-on", "ana"), ["ana-tea"]), (("recall", "--path", "nobody"), []),
        (("show", "--user", ""), []),
    ],
    ids=" ".join,
)  # fmt: skip
def test_pages_paths_frames_and_entities_are_offered_and_users_are_not(filled, tab, words, expected):
    assert offered(tab(*words)) == expected


def test_reviews_that_wait_are_offered(filled, tab):
    [waits] = filled("review", "--json").json

    assert offered(tab("review", "")) == [waits["id"][-6:]]
    assert offered(tab("review", "r-")) == [waits["id"]]


def test_of_very_many_names_some_are_offered(tallystick, tab):
    tallystick("remember", "--lines", stdin="\n".join(map(str, range(300))))

    assert len(offered(tab("show", ""))) == 200


# -- in the shells themselves ------------------------------------------------------------------------------------------


@pytest.fixture
def shells(filled, warm_program, monkeypatch):
    """A search path on which `tallystick` is."""
    monkeypatch.setenv("PATH", f"{warm_program.parent}{os.pathsep}{os.environ['PATH']}")


def needs(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed here")
    return found


def test_bash_completes(shells):
    asked = """
eval "$(_TALLYSTICK_COMPLETE=bash_source tallystick)"
press() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _tallystick_completion "$1"; echo "${COMPREPLY[@]}"
}
press tallystick reme; press tallystick show ana; press tallystick pages pers; press tallystick recall --frame atte
complete -p tallystick
"""
    done = subprocess.run([needs("bash"), "--norc", "-c", asked], capture_output=True, text=True)

    assert done.stderr == ""
    *pressed, taught = done.stdout.splitlines()
    assert pressed == ["remember", "ana-tea", "person-ana", "attention"]
    assert "_tallystick_completion" in taught


def test_fish_completes_and_says_what_each_is(shells):
    asked = """
_TALLYSTICK_COMPLETE=fish_source tallystick | source
complete -C "tallystick show ana"; complete -C "tallystick pages user-pre"; complete -C "tallystick recall --path "
"""
    done = subprocess.run([needs("fish"), "--no-config", "-c", asked], capture_output=True, text=True)

    assert done.stdout.splitlines() == [
        "ana-tea\tAna prefers tea",
        "user-preferences\tWhat the user likes; and how they want things done",
        "plan-b\topen",
    ]


def test_zsh_completes(shells):
    """Typed at its prompt: what it draws is the word, whole."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([needs("zsh"), "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    try:
        os.write(ours, b"autoload -Uz compinit; compinit -u -D\n")
        os.write(ours, b'eval "$(_TALLYSTICK_COMPLETE=zsh_source tallystick)"; echo rea""dy\n')
        assert b"ready" in drawn_until(ours, b"ready")
        os.write(ours, b"tallystick show ana-t\t")
        assert b"ana-tea" in drawn_until(ours, b"ana-tea")
    finally:
        child.kill()
        child.wait()
        os.close(ours)


def drawn_until(terminal: int, sign: bytes) -> bytes:
    """What is drawn, up to a sign; within reason."""
    drawn, end = b"", time.monotonic() + 120
    while sign not in drawn and select.select([terminal], [], [], max(end - time.monotonic(), 0))[0]:
        drawn += os.read(terminal, 65536)
    return drawn
