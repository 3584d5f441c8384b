"""What people type, and what it finds."""

import sqlite3
import unicodedata
from datetime import timedelta, timezone

import pytest

from tallystick.projections.pages.search import _EASY, LONGEST, MOST_TERMS, letters_of, parse, words_in
from tests.growth import assert_text_linear
from tests.projections.pages.test_search import Notes

TEXTS = (
    "Ana deployed the blue-green deployments on Tuesdays.",
    "The blue house has a green door",
    "Bluegreen algae",
    "Send her an e-mail, please",
    "My email is ana@example.com",
    "naïve Café in Łódź, Straße 5, Tiếng Việt",
    "東京タワーに行く",
    "我喜欢喝绿茶",
    "ฉันชอบกินข้าวผัด",
    "서울에서 만나요",
    "iPhoneを買う",
    "great🤔 idea 👩‍💻 → done",
    "हिन्दी में लिखा",
    "مُحَمَّد كتب",
    "С ёлкой и йогой",
    "ＦＵＬＬ width and ﬁne ligature",
    "co\u00adoperate with zero\u200bwidth",
    "main.py at 10:30, v1.2.3 and foo_bar; don't",
    "Ana's organization is relational; running, filing, hopping, capability",
    "Ich wohne in Köln",
    "ㅋㅋㅋ 👍🏽 light-blue🤔",
    "ジョン・スミス meets Chris at 0915",
)


@pytest.fixture(scope="module")
def notes():
    made = Notes()
    for number, text in enumerate(TEXTS):
        made.add(text, name=f"20260101-0000-{number:06x}", at=f"2026-01-{number + 1:02}T12:00:00.000000Z")
    tags, at = ("work/pay", "東京-office"), "2026-04-21T09:15:00.000000Z"
    made.add("Bob pays 20 euros", tags=tags, name="20260421-0915-c4f1a5", at=at)
    made.add("Signed on 2026-04-21 by Bob", name="20260505-1000-d00d1e", at="2026-05-05T22:30:00.000000Z")
    made.add("See 20260421-0915-c4f1a5 and #later", name="20260506-1000-decade", at="2026-05-06T10:00:00.000000Z")
    yield made
    made.close()


@pytest.mark.parametrize(
    ("typed", "begins"),
    [
        # endings, case, accents
        ("deployment", "Ana deployed"), ("DEPLOY tuesday", "Ana deployed"), ("cafe", "naïve"), ("CAFÉ", "naïve"),
        ("cafe\u0301", "naïve"), ("lodz", "naïve"), ("strasse", "naïve"), ("STRASSE", "naïve"),
        ("tieng viet", "naïve"),
        ("koln", "Ich"), ("köln", "Ich"), ("елкой", "С ёлкой"), ("Ёлкой", "С ёлкой"),
        # beginnings
        ("blueg* alg*", "Bluegreen"), ("naï*", "naïve"), ("alga", "Bluegreen"), ("pleas", "Send"),
        ("deploym*", "Ana deployed"), ("deployi", ""), ("organiza*", "Ana's"), ("organizatio", "Ana's"),
        ("relationa*", "Ana's"), ("runnin*", "Ana's"), ("fili*", "Ana's"), ("hoppi*", "Ana's"), ("capabi*", "Ana's"),
        ("running*", "Ana's"), ("runs*", ""), ("*", ""), ("**", ""),
        # hyphens and other parts of words
        ("bluegreen algae", "Bluegreen"), ("email please", "Send"), ("e-mail please", "Send"),
        ("e-mail is", "My email"),
        ("email is", "My email"), ("blue‑green tuesday", "Ana deployed"), ("ana@example.com", "My email"),
        ("main.py", "main.py"), ("10:30", "main.py"), ("foo_bar", "main.py"), ("foobar", "main.py"),
        ("v1.2.3", "main.py"),
        ("don't", "main.py"), ("dont", "main.py"), ("don’t", "main.py"), ("cooperate", "co\u00ad"),
        ("zerowidth", "co\u00ad"),
        ("co\u00adoperate", "co\u00ad"), ("bob's signed", "Signed"), ("full", "ＦＵＬＬ"), ("ＦＩＮＥ", "ＦＵＬＬ"),
        # scripts without spaces, whole words and one letter, alone and among others
        ("東京", "東京"), ("タワー", "東京"), ("京", "東京"), ("行", "東京"), ("ﾀﾜｰ", "東京"), ("绿茶", "我"),
        ("茶", "我"),
        ("喜欢绿茶", "我"), ("กิน", "ฉัน"), ("ข้าว", "ฉัน"), ("ก", "ฉัน"), ("서울", "서울"), ("서", "서울"),
        ("울", "서울"),
        ("만나", "서울"), (unicodedata.normalize("NFD", "서울"), "서울"), ("iphone", "iPhone"), ("買", "iPhone"),
        ("iPhone 買う", "iPhone"), ("हिन्दी", "हिन्दी"), ("محمد", "مُحَمَّد"), ("مُحَمَّد", "مُحَمَّد"), ("йогой", "С ёлкой"),
        ("東京-office", "Bob"), ("京東", ""), ("茶绿", ""), ("東", "東京"),
        # emoji
        ("🤔", "great"), ("great", "great"), ("💻", "great"), ("👩‍💻", "great"), ("→", "great"), ("😀", ""),
        ("ジョンスミス", "ジョン"), ("Chris's 0915", "ジョン"), ("ㅋ", "ㅋㅋㅋ"), ("👍", "ㅋㅋㅋ"),
        ("👍🏿", "ㅋㅋㅋ"), ("lightblue", "ㅋㅋㅋ"), ("light-blue", "ㅋㅋㅋ"),
        # phrases
        ('"blue house"', "The blue"), ("“blue house”", "The blue"), ("«green door»", "The blue"),
        ("„blue house“", "The blue"),
        ('"green blue"', ""), ('"house blue"', ""), ('"e-mail please"', "Send"), ('"東京"', "東京"),
        ('"blue house', "The blue"),
        # tags
        ("#work/pay", "Bob"), ("#WORK/PAY", "Bob"), ("#東京-office", "Bob"), ("#later", "See"),
        ("#work/pay euros", "Bob"),
        ("#pay", "Bob"), ("(#work/pay)", "Bob"),
        # ids
        ("c4f1a5", "Bob pays"), ("20260421-0915-c4f1a5", "Bob pays"), ("decade", "See"), ("d00d1e", "Signed"),
    ],
)  # fmt: skip
def test_it_is_found_as_people_type_it(notes, typed, begins):
    if begins:
        assert any(text.startswith(begins) for text in notes.found(typed)[:2])
    else:
        assert _has_all(notes, typed) == []


def _has_all(notes, typed):
    return [match.content for match in notes.search(typed) if match.has_all]


def test_a_hyphenated_word_is_found_in_every_spelling_and_not_apart(notes):
    with_hyphen = _has_all(notes, "blue-green")
    assert sorted(text[:9] for text in with_hyphen) == ["Ana deplo", "Bluegreen"]
    assert sorted(text[:9] for text in _has_all(notes, "bluegreen")) == ["Ana deplo", "Bluegreen"]
    assert sorted(text[:9] for text in _has_all(notes, "blue green")) == ["Ana deplo", "The blue "]
    notes.add("a blue green mix")
    assert "a blue green mix" in _has_all(notes, "blue-green")


def test_the_beginning_of_a_word_is_not_a_word_that_begins_otherwise(notes):
    assert not any("Bluegreen" in text for text in notes.found("alge*"))
    assert _has_all(notes, "deployer*") == []


def test_a_day_and_a_month_find_what_is_of_that_time_and_what_speaks_of_it(notes):
    assert notes.found("2026-04-21")[:2] == ["Signed on 2026-04-21 by Bob", "Bob pays 20 euros"]
    assert notes.found("2026-04-21,")[1:] == notes.found("2026-04-21")[1:] != []
    assert notes.found("bob 2026-04-21") == ["Signed on 2026-04-21 by Bob", "Bob pays 20 euros"]
    assert notes.found("2026-05") == ["See 20260421-0915-c4f1a5 and #later", "Signed on 2026-04-21 by Bob"]
    assert notes.found("2026-01", top_k=2) == [TEXTS[-1], TEXTS[-2]]
    assert notes.found("2026-04-21T09:15") == notes.found("2026-04-21T09:15:00") == ["Bob pays 20 euros"]
    assert notes.found("bob 2026-04-21", until="2026-04-30") == ["Bob pays 20 euros"]
    assert notes.found("2026-05-06", zone=timezone(timedelta(hours=2))) == [
        "See 20260421-0915-c4f1a5 and #later", "Signed on 2026-04-21 by Bob",
    ]  # fmt: skip
    for typed in ("2026-02-31", "2026-13", "0000-00", "9999-12-31", "9999-12"):
        assert notes.found(typed) == []


def test_an_id_finds_its_entry_and_those_that_name_it_and_so_does_a_version_without_words(notes):
    both = ["Bob pays 20 euros", "See 20260421-0915-c4f1a5 and #later"]
    assert notes.found("20260421-0915-c4f1a5") == both
    assert notes.found("c4f1a5")[:2] == both or notes.found("c4f1a5")[:2] == both[::-1]
    notes.put("page_versions", id="20260422-0000-0abcde", entry="20260421-0915-c4f1a5")
    assert notes.found("20260422-0000-0abcde")[0] == "Bob pays 20 euros"


def test_what_is_quoted_or_tagged_must_be_there_before_less_will_do(notes):
    assert notes.found('"green door" algae') == ["The blue house has a green door"]
    assert notes.found("#work/pay algae") == ["Bob pays 20 euros"]
    assert _has_all(notes, "#later") == ["See 20260421-0915-c4f1a5 and #later"]  # said, if not tagged
    assert _has_all(notes, "(#work/pay),") == ["Bob pays 20 euros"]
    assert _has_all(notes, "#work/pay chris's") == []
    assert _has_all(notes, "ジョンスミス") == _has_all(notes, "chris's") == ["ジョン・スミス meets Chris at 0915"]
    assert notes.found("#algae") == ["Bluegreen algae"]  # nothing has that tag: a word will do
    assert notes.found('"algae bluegreen"')[0] == "Bluegreen algae"


@pytest.mark.parametrize(
    "typed",
    [
        "content:tea", "letters:x", "tags : x", "{content}: x", "-content : x", "NEAR(a b, 2)", "a AND", "OR",
        "NOT x", "AND OR NOT",
        '"', '""', '"""', '" "', "'", "a'b", '"a" + "b"', "^a", "a ^ b", "(", ")", "((((", "a*", "* a", "+", "\\",
        "\x00",
        "a\x00b", "\x00\"", "\ud800", "a\udfff*", "#\ud800", "\ue000", "\ue00112", "\ue002c4f1a5", "#", "##", "#a#b",
        "*#", "%", "_",
        "\u200b", "\u202e", "\u0301", "\u0301*", "٣", "²", "½", "Ⅷ", "ß*", "İ", "ﬃ", "\U0001f1e9\U0001f1ea",
        "\U000e0001", "\uffff",
        "ᦰ", "ᳲ", "฿", "・", "ー", "。", "\r\n", "'; DROP TABLE entries; --", "2026-99-99", "20260421-0915-", "﷽",
        "ᄀ", "ㅋㅋ",
    ],
)  # fmt: skip
def test_nothing_is_syntax_and_nothing_reaches_another_column(notes, typed):
    for more in ({}, {"include_superseded": True, "tags": [typed]}, {"paths": [typed]}):
        notes.search(typed, **more)
        notes.search(f"x {typed} y", **more)
        notes.search(f'"{typed}" {typed}*', **more)
    assert not any("topic" in text for text in notes.found("topic"))  # the name of the page, which is a column too


def test_signs_of_our_own_cannot_be_typed(notes):
    assert notes.found("\ue002c4f1a5") == notes.found("c4f1a5")
    assert letters_of("\ue000128512 \ue002c4f1a5") == "128512 c4f1a5"


def test_nothing_typed_finds_nothing(notes):
    for typed in ("", " ", "!?", "...", "\x00", "\u0301"):
        assert notes.search(typed) == []
        assert parse(typed).terms == ()


@pytest.mark.parametrize(
    "unit",
    [
        "word ", "a-", "a-b ", '"', '"a" ', "“", "„", "«", "#", "#a ", "*", "a* ", "東", "東a", "\u0301",
        "\u0327\u0301", "\u200b",
        "👩‍💻", "ก", "서", ".", "'", "\x00", "\ud800", " ", "2026-04-21 ", "20260421-0915-c4f1a5 ", "a.b-", "-", "ﷺ",
        "ﬃ",
    ],
)  # fmt: skip
@pytest.mark.sample(6)
def test_many_letters_are_answered_in_time_that_grows_with_their_number(notes, unit):
    assert len(parse(unit * 1_000_000).terms) <= MOST_TERMS
    assert_text_linear(notes.search, unit)
    if "\ud800" not in unit:
        assert_text_linear(letters_of, unit, 100_000)


def test_a_long_question_is_cut_between_words_and_has_so_many_of_them():
    assert [term.match for term in parse("tuesdays " * LONGEST + "end").terms] == ['"tuesdays"']
    assert [term.match for term in parse(" tuesdays" * LONGEST + " end").terms] == ['"tuesdays"']
    assert parse("x" * 2 * LONGEST).terms[0].match == f'"{"x" * LONGEST}"'
    assert len(parse(" ".join(map(str, range(1000)))).terms) == MOST_TERMS


def test_a_whole_word_that_is_found_is_not_the_beginning_of_others_and_a_tag_is_also_a_word():
    notes = Notes()
    notes.add("teapot")
    assert notes.found("tea") == ["teapot"]
    notes.add("tea")
    assert notes.found("tea") == ["tea"]
    notes.add("here", tags=("Tiếng-Việt", "東京"))
    for typed in ("tieng", "viet", "東京", "#東京", "TIẾNG-VIỆT"):
        assert _has_all(notes, typed) == ["here"]
    notes.close()


def test_plain_words_need_no_letters_beside_them_and_others_do():
    assert letters_of("Ana likes green tea, at 10:30. 2026-04-21") is None
    assert letters_of("Café in Köln – “schön”, 5 € ¿no?") is None
    assert letters_of("Привет, мир. שלום") is None
    assert letters_of("an e-mail") == "email"
    assert letters_of("tea", "20260421-0915-c4f1a5") == "\ue002c4f1a5"
    assert letters_of("tea", "FACT-001") is None
    assert letters_of("東京 tower") == "東 京"


def test_what_is_taken_for_easy_is_spelled_by_sqlite_as_by_us():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE said USING fts5 (text, tokenize='unicode61 remove_diacritics 2')")
    db.execute("CREATE VIRTUAL TABLE heard USING fts5vocab (said, instance)")
    easy = [chr(code) for code in range(0x3000) if _EASY.match(chr(code))]
    db.executemany("INSERT INTO said (rowid, text) VALUES (?, ?)", [(ord(char) + 1, f"a{char}b") for char in easy])
    heard = {}
    for row, term in db.execute("SELECT doc, term FROM heard ORDER BY doc, offset"):
        heard.setdefault(chr(row - 1), []).append(term)
    db.close()
    assert len(easy) > 500
    assert {char: list(words_in(f"a{char}b")) for char in easy} == heard
