"""Whatever is taken out of a page is missed, in every script; and the check never gives up, whatever the page holds."""

import random
import re
import time
from dataclasses import replace

import pytest
from hypothesis import assume, given, strategies as st

from tallystick.projections.markdown.compact.check import preserved
from tallystick.projections.markdown.compact.words import Note, Statement, joined, parted
from tests.growth import assert_linear
from tests.strategies import texts

# A word in brackets is a fact: nothing of it may go. | stands between the texts.
FACTS = re.compile(r"⟦([^⟧]+)⟧")
MARKED = (
    """
User joined ⟦Acme Corp⟧ on ⟦2026-05-03⟧ and earns ⟦51,250⟧ ⟦EUR⟧.|She does ⟦not⟧ drink ⟦3.75⟧ cups at ⟦17:45⟧.
The bill of ⟦Bob⟧ is ⟦€1234.56⟧, due on ⟦23 April 2026⟧.|We met ⟦José Núñez⟧ ⟦without⟧ ⟦Zoë⟧ in ⟦New York⟧.
Meine Schwester ⟦Änne⟧ raucht ⟦nicht⟧ und hat ⟦kein⟧ Auto.|Il ⟦ne⟧ fume ⟦pas⟧ avec ⟦Élodie⟧ à ⟦Orléans⟧.
Она ⟦не⟧ живёт в ⟦Москве⟧ с ⟦Иваном⟧.|Η αδελφή μου ⟦δεν⟧ ζει με την ⟦Ελένη⟧ στο ⟦35⟧.
用户⟦不⟧住在⟦上海⟧，工资是⟦41260⟧元。|ユーザーは⟦田中⟧と⟦東京⟧に住ま⟦ない⟧。
ผู้ใช้⟦ไม่⟧ได้อยู่ที่⟦เชียงใหม่⟧กับ⟦สมชาย⟧|המשתמש ⟦לא⟧ גר עם ⟦דנה⟧ ב⟦חיפה⟧ ⟦37⟧
المستخدم ⟦لا⟧ يعيش مع ⟦ليلى⟧ في ⟦٣٨⟧|उपयोगकर्ता ⟦नहीं⟧ रहता ⟦दिल्ली⟧ में ⟦अना⟧ के साथ ⟦३९⟧
사용자는 ⟦서울⟧에서 ⟦민준⟧과 살지 ⟦않는다⟧|It was ⟦never⟧ said that ⟦no⟧ one knows ⟦Ana⟧ or ⟦a1b2c3⟧ at ⟦https://a.org/x?y=1⟧.
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


def page_of(marked: list[str]) -> list[Statement]:
    return [
        Statement(f"id{at}", f"2026-05-{at + 1:02}T09:00:00", FACTS.sub(r"\1", text), ("a", "b"))
        for at, text in enumerate(marked)
    ]


@st.composite
def damages(draw: st.DrawFn) -> tuple[list[Statement], list[Statement]]:
    """A page, and the same with one fact taken out of one statement, or one letter of it."""
    marked = draw(st.lists(st.sampled_from(MARKED), min_size=1, max_size=8))
    at = draw(st.integers(0, len(marked) - 1))
    found = draw(st.sampled_from(list(FACTS.finditer(marked[at]))))
    fact, damaged = found[1], ""
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(fact) - 1))
        assume(fact[cut] != ",")  # "51,250" is 51250
        damaged = fact[:cut] + fact[cut + 1 :]
    text = FACTS.sub(r"\1", marked[at][: found.start()] + damaged + marked[at][found.end() :])
    page = page_of(marked)
    return page, [*page[:at], replace(page[at], text=text), *page[at + 1 :]]


@given(damages())
def test_a_number_name_or_negation_taken_out_in_whole_or_in_part_is_missed(pages):
    before, after = pages

    found = preserved(before, after)

    [changed] = [new.id for old, new in zip(before, after, strict=True) if old != new]
    assert changed in {loss.id for loss in found}


@given(st.lists(st.sampled_from(MARKED), min_size=2, max_size=8, unique=True), st.randoms())
def test_facts_that_change_places_between_two_statements_are_missed_in_both(marked, dice):
    one, other = dice.sample(range(len(marked)), 2)
    first, second = (dice.choice(list(FACTS.finditer(marked[at]))) for at in (one, other))
    assume(first[1] != second[1])
    page, swapped = page_of(marked), list(marked)
    for at, mine, its in ((one, first, second), (other, second, first)):
        swapped[at] = marked[at][: mine.start()] + its[1] + marked[at][mine.end() :]

    found = preserved(page, page_of(swapped))

    assert {page[one].id, page[other].id} <= {loss.id for loss in found}


@st.composite
def anything(draw: st.DrawFn) -> list[Statement]:
    names = st.sampled_from(["a", "b", "c", "", "\x00"])
    return draw(
        st.lists(
            st.builds(
                Statement, names, texts, texts, st.lists(texts, max_size=3).map(tuple), names, st.booleans(),
                st.lists(names, max_size=3).map(tuple), st.booleans(),
            ),
            max_size=6,
        )
    )  # fmt: skip


@given(anything())
def test_any_page_is_a_good_rewrite_of_itself_with_its_tags_in_any_order(page):
    assert preserved(page, page) == []
    assert preserved(page, [replace(each, tags=each.tags[::-1]) for each in page]) == []


@given(anything(), anything())
def test_any_two_pages_can_be_compared(before, after):
    for loss in preserved(before, after):
        assert loss.why
        assert loss.why.isprintable()


@given(anything(), st.data())
def test_an_entry_taken_out_is_always_missed(page, data):
    assume(page)
    at = data.draw(st.integers(0, len(page) - 1))
    rest = [replace(each, supersedes=()) for each in page[:at] + page[at + 1 :]]

    assert "entry" in {loss.code for loss in preserved(page, rest)}


@given(st.text(), st.lists(st.tuples(st.dates(), texts), max_size=4))
def test_notes_are_read_as_they_were_written(current, notes):
    written = [Note(day.isoformat(), " ".join(text.split())) for day, text in notes]
    assume(current.strip() and "(Until " not in current)

    found, read = parted(joined(current, written))

    assert read == written
    assert found == current.rstrip()


@pytest.mark.longer
@pytest.mark.parametrize(
    "piece",
    [
        "1,", "1,111", "`", "(Until ", "(Until 2026-05-03: ", " (Until 2026-05-03: x)", "漢", "A", "not, ", "http://(",
        " ", "'", "+1", "5 kg ",
    ],
)  # fmt: skip
def test_the_time_for_a_hostile_text_grows_with_it_and_no_faster(piece):
    def took(size: int) -> float:
        text = (piece * size)[: size - 1] + "x"
        before = Statement("a", "2026-05-01", text, ("a",))
        start = time.process_time()
        preserved([before], [replace(before, text=text[:-1] + "y")])
        preserved([before], [replace(before, text="")])
        return time.process_time() - start

    assert_linear(took, 1_000, 10_000, deeper=8)


def test_half_a_surrogate_pair_is_a_sign_like_any_other():
    page = [Statement("a", "2026-05-01", "Ana \ud800 tea", ("a",))]

    assert preserved(page, page) == []
    assert preserved(page, [replace(page[0], text="Ana tea")])


@pytest.mark.longer
@pytest.mark.parametrize("damage", ["none", "words", "all", "dates", "entries"])
def test_ten_times_as_many_statements_take_about_ten_times_as_long(damage):
    def took(count: int) -> float:
        dice = random.Random(7)
        page = [
            Statement(f"id{at}", "2026-05-01T09:00:00", f"Host{at} of Ana is at {dice.random()} in room {at}.", ("a",))
            for at in range(count)
        ]
        new = {
            "none": page, "words": [replace(each, text=f"Now {each.text}") for each in page],
            "all": [replace(each, text="nothing") for each in page],
            "dates": [replace(each, text=f"{each.text} (Until 2026-05-03: x)") for each in page],
            "entries": [replace(each, id="x" + each.id) for each in page],
        }[damage]  # fmt: skip
        start = time.process_time()
        found = preserved(page, new)
        assert bool(found) == (damage not in ("none", "words"))
        return time.process_time() - start

    assert_linear(took, 75, 750, deeper=4)
