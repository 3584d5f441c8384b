"""Whatever is stored, a terminal shows it and obeys none of it."""

import json
import re
import unicodedata

import pytest
from hypothesis import example, given, strategies as st

from tallystick.surfaces.present.text import cells, lines, short, shown, shown_in_json

HOSTILE = [chr(n) for n in [
    *range(0x20), *range(0x7F, 0xA0), 0x00AD, 0x061C, 0x200B, *range(0x200E, 0x2010), 0x2028, 0x2029,
    *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC), 0xE0001, 0xE0041, 0xE007F, 0xE0100,
]]  # fmt: skip
INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
WRITTEN = {0x0600, 0x0601, 0x0602, 0x0603, 0x0604, 0x0605, 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD}

texts = st.text(st.one_of(st.characters(), st.sampled_from([*HOSTILE, "\u200d", "\u200c", "\ufe0f", "a", "👩", "م"])))


@pytest.mark.parametrize("sign", HOSTILE, ids=lambda sign: f"U+{ord(sign):04X}")
def test_a_character_that_a_terminal_would_obey_is_written_out(sign):
    assert sign not in shown(f"a{sign}b")
    assert re.fullmatch(r"a\\(n|r|t|x..|u....|U........)b", shown(f"a{sign}b"))


@pytest.mark.parametrize(
    "text",
    ["", "Ana prefers tea", "naïve → café", "茶が好き", "العربية", "שלום", "می\u200cخواهم", "क्\u200dष", "👩\u200d💻",
     "👩🏽\u200d🚀", "❤\ufe0f", "❤\ufe0f\u200d🔥", "1\ufe0f\u20e3", "e\u0301", "C:\\path\\x1b", "🇩🇪"],
)  # fmt: skip
def test_honest_text_in_any_language_is_left_as_it_is(text):
    assert shown(text) == text


@pytest.mark.parametrize(
    "text", ["pay\u200cpal", "a\u200db", "\u200d", "👩\u200d", "\u200c👩", "a\ufe0f", "x\ufe00", "\ufe0f"]
)
def test_a_joiner_that_joins_nothing_is_written_out(text):
    assert not set(shown(text)) & {"\u200c", "\u200d", "\ufe00", "\ufe0f"}


@given(texts)
@example("\x1b]0;owned\x07")
@example("\udcff")
def test_nothing_invisible_is_left_but_what_makes_a_letter_or_an_emoji(text):
    left = {sign for sign in shown(text) if unicodedata.category(sign) in INVISIBLE and ord(sign) not in WRITTEN}

    assert left <= {"\u200c", "\u200d"}
    shown(text).encode()


@given(texts, st.integers(1, 200))
def test_a_short_text_is_one_line_that_fits(text, room):
    line = short(text, room)

    assert len(line.splitlines()) <= 1
    assert cells(line) <= room


@given(st.text(st.sampled_from("ab \n茶"), max_size=30), st.integers(1, 40))
def test_a_short_text_says_when_there_is_more(text, room):
    whole = " ".join(text.split())

    assert short(text, room) == whole or short(text, room).endswith("…")


def test_a_long_text_is_shortened_without_reading_all_of_it():
    assert short("x" * 2**20, 10) == "xxxxxxxxx…"
    assert short(" " * 2**20 + "x", 10) == "…"


def test_text_of_several_lines_keeps_them_and_nothing_else():
    assert lines("one\r\ntwo\x1b[2J\n\u2028three", "  ") == ["  one", "  two\\x1b[2J", "  \\u2028three"]


@given(st.recursive(texts | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(texts, inner)))
def test_json_means_the_same_and_holds_nothing_that_a_terminal_obeys(value):
    written = shown_in_json(json.dumps(value, ensure_ascii=False, indent=2))

    assert json.loads(written) == value
    assert not {sign for sign in written if unicodedata.category(sign) in INVISIBLE and ord(sign) not in WRITTEN} - {
        "\n", "\u200c", "\u200d"
    }  # fmt: skip
