"""The Tab key: it offers names that fit, says nothing, and makes nothing."""

import pytest


@pytest.fixture
def tab(process):
    def press(*words: str, shell: str = "bash"):
        line = ["keepsake", *words]
        return process(_KEEPSAKE_COMPLETE=f"{shell}_complete", COMP_WORDS=" ".join(line), COMP_CWORD=str(len(line) - 1))

    return press


def offered(done) -> list[str]:
    return [line.partition(",")[2] for line in done.out.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_taught_with_one_line(process, shell):
    done = process(_KEEPSAKE_COMPLETE=f"{shell}_source")

    assert "_KEEPSAKE_COMPLETE" in done.out


def test_commands_and_options_are_offered(tab):
    assert offered(tab("re")) == ["remember", "recall", "revise", "review", "repair", "restore", "rebuild-index"]
    assert "--history" in offered(tab("show", "--h"))
    assert offered(tab("ledger", "ver")) == ["verify"]


@pytest.mark.parametrize("command", ["show", "forget", "erase", "revise"])
def test_beliefs_are_offered_by_key_and_by_id(keepsake, tab, command):
    keepsake("remember", "Ana prefers tea", "--key", "ana-tea")
    drawn = keepsake("remember", "Bea prefers coffee", "--json").json["id"]

    assert offered(tab(command, "ana")) == ["ana-tea"]
    assert offered(tab(command, drawn[-6:-2])) == [drawn[-6:]]
    assert drawn in offered(tab(command, drawn[:6]))


def test_a_folder_that_is_named_is_the_one_that_is_looked_into(keepsake, tab, home):
    keepsake("-C", str(home / "a"), "remember", "x", "--key", "only-in-a")

    assert offered(tab("show", "only")) == []
    assert offered(tab("-C", str(home / "a"), "show", "only")) == ["only-in-a"]
    assert offered(tab("show", "-C", str(home / "a"), "only")) == ["only-in-a"]


def test_another_users_beliefs_are_not_offered(keepsake, tab):
    keepsake("remember", "hers", "--key", "bea-only", "--user", "bea")

    assert offered(tab("show", "bea")) == []
    assert offered(tab("show", "--user", "bea", "bea")) == ["bea-only"]


def test_without_a_memory_nothing_is_offered_said_or_made(tab, home):
    before = sorted(home.rglob("*"))
    done = tab("show", "a")

    assert (offered(done), done.err) == ([], "")
    assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize("spoil", [b"", b"garbage\n", b"\xff" * 4096])
def test_a_damaged_memory_offers_nothing_and_says_nothing(keepsake, tab, folder, spoil):
    keepsake("remember", "x", "--key", "abc")
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


def test_names_that_a_terminal_would_obey_are_not_offered(keepsake, tab):
    for key in ("a\x1b[31m", "a\nb", "a\u202eb", "a b"):
        keepsake("remember", "x", "--key", key)
    keepsake("remember", "x", "--key", "ab")

    assert offered(tab("show", "a")) == ["ab"]


def test_copies_are_offered_to_go_back_to(keepsake, tab):
    keepsake("remember", "x")
    made = keepsake("backup", "--json").json["backup"].rpartition("/")[2]

    assert offered(tab("restore", "2")) == [made]
