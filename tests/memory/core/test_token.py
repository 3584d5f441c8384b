"""The token that opens a memory over HTTP: one for each ledger, the owner's alone, never seen."""

import os
import stat
from hashlib import sha256

import pytest

from tallystick.memory.core.token import Token, new_token, token_of
from tallystick.memory.settings import tokens_folder
from tests.memory.conftest import in_threads
from tests.refusals import refuses

LEDGER, OTHER = "a" * 32, "b" * 32


def test_it_is_made_once_for_each_ledger_outside_the_memory_and_for_its_owner_alone(home):
    os.umask(os.umask(0))  # whatever mask is set, the mode is ours
    one, again, other = token_of(LEDGER), token_of(LEDGER), token_of(OTHER)
    assert one == again
    assert one.secret != other.secret
    assert one.path.parent == tokens_folder() == home / ".config/tallystick/tokens"
    assert (stat.S_IMODE(one.path.stat().st_mode), stat.S_IMODE(one.path.parent.stat().st_mode)) == (0o600, 0o700)
    assert one.path.read_text() == f"{one.secret}\n"


def test_each_user_has_one_and_nobody_elses_is_it(home):
    users = ("me", "bob", "BOB", "bob.token", "../x", "", "\ud800", "b" * 10_000, "<b>", "me\x00")
    tokens = [token_of(LEDGER, user) for user in users]
    assert len({token.secret for token in tokens}) == len({token.path for token in tokens}) == len(users)
    assert tokens == [token_of(LEDGER, user) for user in users]
    assert tokens[0] == token_of(LEDGER)
    assert tokens[0].path.name == f"{LEDGER}.token"
    assert {token.path.parent for token in tokens} == {tokens_folder()}
    assert not any("bob" in token.path.name for token in tokens)
    assert not any(one.is_said(other.secret.encode()) for one in tokens for other in tokens if one is not other)
    assert new_token(LEDGER, "bob") != tokens[1]
    assert token_of(LEDGER) == tokens[0]


def test_only_its_own_bytes_are_it_which_are_not_printed_until_another_one_takes_its_place(home):
    token = token_of(LEDGER)
    secret = token.secret.encode()
    assert token.is_said(secret)
    for wrong in (b"", secret[:-1], secret + b"\n", secret.swapcase(), b"\xff" * 43, b"x" * 100_000):
        assert not token.is_said(wrong)
    assert token.secret not in f"{token!r} {token}"
    new = new_token(LEDGER)
    assert new.path == token.path
    assert token_of(LEDGER) == new
    assert not new.is_said(secret)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_one_that_others_may_read_is_refused_until_it_is_made_anew(home, mode):
    old = token_of(LEDGER)
    old.path.chmod(mode)
    with refuses("place", str(old.path), "--new-token"):
        token_of(LEDGER)
    assert stat.S_IMODE(new_token(LEDGER).path.stat().st_mode) == 0o600
    assert token_of(LEDGER).secret != old.secret


@pytest.mark.parametrize("held", [b"", b"short\n", b"x" * 44, b"\xff" * 43, "ä".encode() * 43, b"a" * 42 + b"/"])
def test_a_file_that_holds_no_token_opens_nothing(home, held):
    path = token_of(LEDGER).path
    path.write_bytes(held)
    with refuses("file", str(path), "--new-token"):
        token_of(LEDGER)


@pytest.mark.parametrize("ledger", ["", "../../x", "a" * 31, "A" * 32, f"{LEDGER}/x"])
def test_a_ledger_without_a_proper_id_has_none(home, ledger):
    with refuses("name", repr(ledger), "events.wal"):
        token_of(ledger)
    assert not tokens_folder().exists()


def test_a_crash_while_it_was_made_leaves_nothing_that_is_used(home):
    path = token_of(LEDGER).path
    path.unlink()
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text("half")
    fresh.chmod(0o666)
    assert stat.S_IMODE(token_of(LEDGER).path.stat().st_mode) == 0o600
    assert not fresh.exists()


def test_of_several_that_start_at_once_all_have_the_same(home):
    found: list[Token] = []
    in_threads(*[lambda: found.append(token_of(LEDGER))] * 8)
    assert len({sha256(token.secret.encode()).digest() for token in found}) == 1
    assert len(found) == 8
