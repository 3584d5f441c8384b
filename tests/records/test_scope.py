"""A scope is compared as it is written; its key is for people, and no id can end one part and begin another."""

import pytest
from hypothesis import given

from tallystick.records.episode import Scope, checked
from tallystick.records.errors import MemoryScopeError
from tests.strategies import names


@given(names, names, names, names, names, names)
def test_two_scopes_have_one_key_only_if_they_are_one(a, b, c, d, e, f):
    one, other = Scope(a, b, c), Scope(d, e, f)
    assert (one.key == other.key) == (one == other)


@given(names, names, names)
def test_a_key_begins_with_that_of_no_other_user(user, session, agent):
    other = Scope(f"{user}X", session, agent).key
    assert not other.startswith(Scope(user).key.removesuffix("session//agent//"))
    assert Scope(user, session, agent).key.endswith("/")
    assert Scope(user, session, agent).key.count("/") == 7


def test_an_everyday_key_reads_as_documented():
    assert Scope("alice", "S1", "rag").key == "/user/alice/session/S1/agent/rag/"
    assert Scope("a/b", "50%", "r").key == "/user/a%2Fb/session/50%25/agent/r/"


@pytest.mark.parametrize("wrong", ["", 1, b"x", True, ["a"]])
def test_what_names_nobody_is_refused(wrong):
    with pytest.raises(MemoryScopeError, match="user"):
        checked(user=wrong)
    checked(user=None, session="s")
