"""What is a secret in a text, what is none, and that looking is quick whatever stands there."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, strategies as st

from tallystick.records.display import counted
from tallystick.text.secrets import detect as secrets_fields
from tallystick.text.secrets.detect import Secret, find, kind_under, kinds_in, masked, masked_fields
from tests.growth import assert_linear
from tests.strategies import json_objects, texts
from tests.text.secrets.leaks import UNSEEN_OTHERS, drawn, others, secrets, unseen_secrets

SECRETS, OTHERS = secrets(), others()
GITHUB = "ghp" + "_" + drawn(36)

pieces = st.one_of(st.sampled_from([text for _, text, _ in SECRETS] + OTHERS), texts)


# -- what is one -------------------------------------------------------------------------------------------------------


def test_every_secret_is_masked_with_what_it_was_and_nothing_of_it_is_left():
    missed = [
        (kind, text) for kind, text, secret in SECRETS
        if secret in masked(text)[0] or kind not in masked(text)[1] or f"[secret: {kind}]" not in masked(text)[0]
    ]  # fmt: skip
    assert missed == []
    assert len(SECRETS) >= 120


def test_what_is_no_secret_is_left_alone():
    assert [text for text in OTHERS if masked(text) != (text, [])] == []
    assert len(OTHERS) >= 200


def test_texts_that_no_rule_was_made_for_are_judged_nearly_as_well():
    caught = [text for text, secret in unseen_secrets() if secret not in masked(text)[0]]
    false = [text for text in UNSEEN_OTHERS if find(text)]
    assert len(caught) / len(unseen_secrets()) >= 0.85
    assert len(false) / len(UNSEEN_OTHERS) <= 0.03


@pytest.mark.parametrize(
    ("text", "masked_text"),
    [
        (f"the key is {GITHUB}", "the key is [secret: GitHub token]"),
        ("postgres://ana:hunter2@db/app", "postgres://ana:[secret: password]@db/app"),
        ("https://ana:p@ss@host/x?a=b@c", "https://ana:[secret: password]@host/x?a=b@c"),
        ("password='a b c1', port=1", "password='[secret: password]', port=1"),
        ("Server=db;Password=hunter2;Port=1", "Server=db;Password=[secret: password];Port=1"),
        ("?token=abc123def456&x=1", "?token=[secret: token]&x=1"),
        ("Is the password hunter2? Or hunter3?", "Is the password hunter2? Or hunter3?"),
        ("the password is hunter2.", "the password is [secret: password]."),
        ("the password is hunter2, the user is ana", "the password is [secret: password], the user is ana"),
        ("password set to hunter2 on card x: y", "password set to [secret: password] on card x: y"),
        (f"token={GITHUB}", "token=[secret: GitHub token]"),
        ("cvv 123 and cvc: 456", "cvv [secret: card code] and cvc: [secret: card code]"),
    ],
)
def test_only_the_secret_itself_is_masked(text, masked_text):
    assert masked(text)[0] == masked_text


def test_a_kind_may_be_kept_and_what_is_known_already_stays():
    text = f"password is hunter2 and {GITHUB}"
    assert masked(text, keep=("password",))[0] == "password is hunter2 and [secret: GitHub token]"
    assert masked(text, but=lambda: f"before: {GITHUB}")[0] == f"password is [secret: password] and {GITHUB}"


def test_kinds_are_counted_in_words():
    assert counted(["password", "GitHub token", "password"]) == "2 passwords, 1 GitHub token"
    assert counted([]) == ""


# -- whatever stands in a text -----------------------------------------------------------------------------------------


@given(st.lists(pieces, max_size=5).map(" ".join))
def test_masking_twice_changes_nothing(text):
    once, _ = masked(text)
    assert masked(once) == (once, [])


def test_what_is_seen_only_when_its_neighbour_is_gone_is_masked_in_the_same_go():
    text, kinds = masked("hunter2 is my password:review r-20260421-0915-644c4d:hunter2 is my password:x")
    assert (masked(text), "hunter2" in text, len(kinds) > 1) == ((text, []), False, True)


@given(st.lists(pieces, max_size=4).map("\n".join))
def test_secrets_stand_in_order_apart_and_inside_the_text(text):
    found = find(text)
    places = [place for secret in found for place in secret[1:]]
    assert places == sorted(places)
    assert all(isinstance(secret, Secret) and 0 <= secret.start < secret.end <= len(text) for secret in found)


@given(texts, texts)
def test_what_stands_around_a_secret_stays_to_the_letter(before, after):
    assert masked(f"{before}\n{GITHUB}\n{after}")[0] == f"{before}\n[secret: GitHub token]\n{after}"


@pytest.mark.parametrize(
    "odd", ["\x00", "\ud800", "\u202e", "\u200b", "😀", "İ", "ﬁ", "\ufdd0", "[secret: ", "[secret: x]", "\r\n"]
)
def test_odd_letters_around_it_hide_no_secret_and_break_nothing(odd):
    text, kinds = masked(f"{odd} {GITHUB} {odd} the password is hunter2")
    assert kinds == ["GitHub token", "password"]
    assert (GITHUB in text, "hunter2" in text, text.count(odd) >= 2) == (False, False, True)


HOSTILE = {
    "one letter": "a", "password=": "password=", "password is": "password is ", "token:": "token:", "sk-": "sk-",
    "JWT": "eyJ-", "JWT with dots": "eyJaaaaaaaa.", "PEM": "-----BEGIN PRIVATE" + " KEY-----", "digits": "4111 ",
    "PEM apart": "-----BEGIN PRIVATE" + " KEY-----!",
    "addresses": "://a:", "cookies": "cookie: a=aaaaaa;", "headers": "authorization:", "quotes": 'password="',
    "phrases": "passphrase: ", "for": "password for ", "commas": "password=,", "masks": "[secret: x]", "spaces": " ",
    "curl": "curl -u ", "PIN": "PIN for ", "cards": "4111111111111111 ", "emoji": "password 😀 ", "brackets": "{[(<",
    "ordinary words": " ".join(OTHERS) + " ",
}  # fmt: skip


@pytest.mark.longer
@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_text_and_no_faster(name):
    def taken(size: int) -> float:
        text = (HOSTILE[name] * size)[:size]
        began = time.process_time()
        find(text)
        return time.process_time() - began

    assert_linear(taken, 2_000, 20_000, deeper=8)


# -- nested data -------------------------------------------------------------------------------------------------------


def test_what_stands_under_a_telling_key_is_masked_even_if_it_looks_plain():
    found, kinds = masked_fields({
        "password": "sunflower", "userPassword": 1234, "api-key": "plain-words", "auth": {"refreshToken": "abcdefgh"},
        "passwords": ["xy"], "DB_SECRET": "sunflower", "list": [{"pwd": "ab"}], "text": f"key {GITHUB}", "cvv": "123",
    })  # fmt: skip
    assert found == {
        "password": "[secret: password]", "userPassword": "[secret: password]", "api-key": "[secret: key]",
        "auth": {"refreshToken": "[secret: token]"}, "passwords": ["[secret: password]"],
        "DB_SECRET": "[secret: secret]",
        "list": [{"pwd": "[secret: password]"}], "text": "key [secret: GitHub token]", "cvv": "[secret: card code]",
    }  # fmt: skip
    assert len(kinds) == 9


@pytest.mark.parametrize(
    "plain",
    [
        {"password": ""}, {"password": None}, {"password": "none"}, {"password": "<password>"}, {"token": 1500},
        {"token": "1,500"}, {"token": "the"}, {"max_tokens": 4096}, {"tokens": "12345678"}, {"secret": True},
        {"password_hash": "abc123"}, {"next_page_token": "abc12345"}, {"api_key": "${API_KEY}"}, {"key": "ana-tea"},
        {"password": "[secret: password]"}, {"token_count": "12"}, {"secret": "see the wiki"},
    ],
)  # fmt: skip
def test_what_is_plainly_none_stays_under_any_key(plain):
    assert masked_fields(plain) == (plain, [])


def test_a_key_that_is_a_secret_is_masked_too():
    assert masked_fields({GITHUB: 1}) == ({"[secret: GitHub token]": 1}, ["GitHub token"])


@given(json_objects)
def test_masking_data_twice_changes_nothing_and_keeps_its_shape(data):
    once, _ = masked_fields(data)
    assert masked_fields(once) == (once, [])
    assert len(once) <= len(data)


@given(st.recursive(pieces, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)))
def test_looking_at_all_texts_together_finds_what_looking_at_each_finds(data):
    look = secrets_fields._Look((), None)
    each = {"x": look.value(data, "", 1)}
    assert masked_fields({"x": data}) == (each, look.kinds)


def test_data_that_is_deeper_than_anything_that_is_written_is_no_trouble():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert masked_fields({"a": deep})[1] == []


def test_keys_are_known_however_they_are_written():
    keys = ("DB_PASSWORD", "x-api-key", "clientSecret", "accessToken", "Cookie", "note")
    assert [kind_under(key) for key in keys] == ["password", "key", "secret", "token", "cookie", ""]
    assert kinds_in(1234, "password") == ["password"]
    assert kinds_in(1234, "token") == []
