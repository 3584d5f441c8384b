"""A link logs in once; a session lasts, outlives a restart, and dies with the token it was made of."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tallystick.memory.core.token import Token
from tallystick.surfaces.serve.access_control import CODE_LASTS, LASTS, Sessions, _mac, made_code

TOKEN, OTHER = Token(Path("t"), "k" * 43), Token(Path("t"), "l" * 43)
START = 1_800_000_000.0


class Time:
    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def sessions(time):
    return Sessions(TOKEN, 8722, clock=time)


def cookie(value, name="tallystick-8722"):
    return [f"{name}={value}".encode()]


def test_a_code_logs_in_once(sessions):
    code = sessions.code()
    assert sessions.takes(code)
    assert not sessions.takes(code)
    assert sessions.takes(sessions.code())


def test_a_code_is_good_for_ten_minutes_and_is_not_from_the_future(sessions, time):
    early, late = sessions.code(), sessions.code()
    time.now += CODE_LASTS - 1
    assert sessions.takes(early)
    time.now += 2
    assert not sessions.takes(late)
    assert not sessions.takes(made_code(TOKEN, 8722, time.now + 60))


def test_whoever_has_the_token_can_make_a_code_and_nobody_else(sessions):
    assert sessions.takes(made_code(TOKEN, 8722, START))
    assert not sessions.takes(made_code(OTHER, 8722, START))


def test_a_code_is_for_one_port_and_for_a_server_that_was_running(sessions, time):
    code = sessions.code()
    assert not Sessions(TOKEN, 8723, clock=time).takes(code)
    assert sessions.takes(code)
    time.now += 1
    assert not Sessions(TOKEN, 8722, clock=time).takes(code)  # one that starts anew has forgotten what was used


def test_a_code_that_was_touched_is_none(sessions):
    code = sessions.code()
    when, word, seal = code.split(".")
    for wrong in (
        "", ".", "..", "...", code + ".", f"{int(when) + 1}.{word}.{seal}", f"{when}.{word}x.{seal}", f"{when}.{word}.",
        f"{when}.{word}.{seal[:-1]}", f"0{when}.{word}.{seal}", f"{when}.{seal}.{word}", f"x{code}", "9" * 300,
        f"{when}.{word}.\xe9", f"²{when}.{word}.{seal}", f"{code}\x00", f"-{code}",
    ):  # fmt: skip
        assert not sessions.takes(wrong), wrong
    assert sessions.takes(code)


@given(st.text(max_size=80))
def test_no_text_is_a_code_or_a_cookie(text):
    sessions = Sessions(TOKEN, 8722)
    assert not sessions.takes(text)
    assert not sessions.is_token(text)
    assert sessions.of(cookie(text)[:1] if text.isascii() else [text.encode()]) is None


def test_a_session_is_known_by_its_cookie_after_a_restart_too_until_it_is_over(sessions, time):
    begun, value = sessions.begin()
    assert sessions.of(cookie(value)) == begun
    assert sessions.of([b"a=b; tallystick-9999=x; " + cookie(value)[0] + b"; c=d"]) == begun
    assert sessions.of([b"a=b", *cookie("nonsense"), *cookie(value)]) == begun
    time.now += LASTS - 1
    assert Sessions(TOKEN, 8722, clock=time).of(cookie(value)) == begun
    time.now += 1
    assert sessions.of(cookie(value)) is None


def test_a_session_is_of_one_token_and_under_one_name(sessions, time):
    _, value = sessions.begin()
    assert Sessions(OTHER, 8722, clock=time).of(cookie(value)) is None
    assert sessions.of(cookie(value, "tallystick-8723")) is None
    assert sessions.of(cookie(value, "tallystick")) is None


def test_a_cookie_that_was_touched_is_nobodys(sessions):
    _, value = sessions.begin()
    until, id, seal = value.split(".")
    for wrong in (
        f"{int(until) + 1}.{id}.{seal}", f"{until}.{id}x.{seal}", f"{until}.{id}.{seal}x", f"{until}.{id}", value[1:],
        sessions.code(), f"{until}.{id}.{sessions.of(cookie(value)).csrf}",
    ):  # fmt: skip
        assert sessions.of(cookie(wrong)) is None, wrong


def test_each_session_has_a_word_of_its_own_for_its_forms(sessions):
    (one, value), (other, _) = sessions.begin(), sessions.begin()
    assert one.id != other.id
    assert one.csrf != other.csrf
    assert one.csrf not in value
    assert sessions.of(cookie(value)).csrf == one.csrf


def test_what_is_maced_for_one_use_is_not_for_another():
    macs = {_mac(TOKEN, purpose, "1.a") for purpose in ("code", "session", "csrf")}
    assert len(macs) == 3


def test_who_logs_out_is_out_and_nobody_else(sessions):
    (one, value), (other, theirs) = sessions.begin(), sessions.begin()
    sessions.end(one)
    assert sessions.of(cookie(value)) is None
    assert sessions.of(cookie(theirs)) == other


def test_the_token_itself_is_known_as_somebody_pastes_it(sessions):
    assert sessions.is_token(f" {TOKEN.secret}\n")
    assert sessions.is_token(f"Bearer {TOKEN.secret}")
    for wrong in ("", "k" * 42, "K" * 43, "\ud800", "k" * 43 + "\x00", OTHER.secret):
        assert not sessions.is_token(wrong)


def test_what_is_remembered_is_bounded(sessions, time):
    for _ in range(50):
        assert sessions.takes(sessions.code())
        sessions.end(sessions.begin()[0])
    time.now += LASTS + 1
    assert sessions.takes(sessions.code())
    sessions.end(sessions.begin()[0])
    assert (len(sessions._used), len(sessions._ended)) == (1, 1)
