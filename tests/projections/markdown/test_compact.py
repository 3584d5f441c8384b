"""A page folds into fewer words, and the check finds nothing lost."""

import time
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, strategies as st

from tallystick.projections.markdown.compact import propose as folding
from tallystick.projections.markdown.compact.check import Loss, preserved
from tallystick.projections.markdown.compact.propose import fold
from tallystick.projections.markdown.compact.words import Statement, words_in
from tests.growth import assert_linear
from tests.strategies import HOSTILE, texts

TODAY = date(2026, 6, 1)


def said(number: int, text: str, **fields: object) -> Statement:
    """The entry of the so-many-eth of May."""
    statement = Statement(f"202605{number:02}-0900-{number:06x}", f"2026-05-{number:02}T09:00:00", text, ("a",))
    return replace(statement, **fields)


def name(number: int) -> str:
    return said(number, "").id


def folded(*page: Statement) -> list[Statement]:
    found = fold(page, today=TODAY)
    assert preserved(page, found) == []
    assert words_in(found) <= words_in(page)
    assert fold(found, today=TODAY) == found
    return found


@pytest.mark.parametrize(
    ("page", "text", "supersedes"),
    [
        (
            [said(1, "User works at Old Corp.", superseded_by=name(2)), said(2, "User joined Acme Corp.")],
            "User joined Acme Corp. (Until 2026-05-02: User works at Old Corp.)", (1,),
        ),
        (  # the latest first
            [*(said(n, f"The port is {n}.", superseded_by=name(n + 1)) for n in (1, 2, 3)), said(4, "The port is 4.")],
            "The port is 4. (Until 2026-05-04: The port is 3.) (Until 2026-05-03: The port is 2.) "
            "(Until 2026-05-02: The port is 1.)", (3, 2, 1),
        ),
        (  # what was compacted before
            [said(2, "The port is 2. (Until 2026-05-02: The port is 1.)", supersedes=(name(1),), superseded_by=name(3)),
             said(3, "The port is 3.")],
            "The port is 3. (Until 2026-05-03: The port is 2.) (Until 2026-05-02: The port is 1.)", (2, 1),
        ),
        (  # the past of repeats
            [said(1, "The port is 1.", superseded_by=name(2)), said(2, "The port is 3."),
             said(3, "The port is 2.", superseded_by=name(4)), said(4, "The port is 3.")],
            "The port is 3. (Until 2026-05-04: The port is 2.) (Until 2026-05-02: The port is 1.)", (3, 2, 1),
        ),
        (
            [said(1, "Ana smiles :)) (a lot", superseded_by=name(2)), said(2, "Ana frowns (:")],
            "Ana frowns (: (Until 2026-05-02: Ana smiles :)) (a lot)", (1,),
        ),
    ],
)  # fmt: skip
def test_a_chain_becomes_what_holds_now_and_dated_notes(page, text, supersedes):
    [only] = folded(*page)

    assert (only.id, only.text, only.supersedes) == (page[-1].id, text, tuple(map(name, supersedes)))


def test_repeats_become_the_last_of_them():
    tea, coffee = said(1, "Ana likes tea."), said(2, "Ana likes coffee.")

    assert folded(tea, coffee, said(3, "Ana  likes the tea")) == [
        coffee, said(3, "Ana  likes the tea", supersedes=(name(1),)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "page",
    [
        [said(1, "Ana likes tea."), said(2, "Ana likes coffee.")],
        [said(1, "Ana likes tea.", has_key=True), said(2, "Ana likes tea.")],
        [said(1, "Ana likes tea."), said(2, "Ana likes tea.", has_key=True)],
        [said(1, "Ana likes tea.", has_key=True, superseded_by=name(2)), said(2, "Ana likes coffee.")],
        [said(1, "Ana likes tea.", superseded_by=name(2)), said(2, "Ana likes coffee.", has_key=True)],
        [said(1, "Ana likes tea.", retracted=True), said(2, "Ana likes tea.")],
        [said(1, "Ana likes tea.", superseded_by=name(2)), said(2, "Ana likes coffee.", retracted=True)],
        [said(1, "Ana likes tea.\nA lot.", superseded_by=name(2)), said(2, "Ana likes coffee.")],
        [said(1, "Ana likes tea."), said(1, "Ana likes tea.")],
        [said(1, "Ana likes tea.", superseded_by="gone"), said(2, "Ana likes coffee.")],
        [said(1, "Ana likes tea.", superseded_by=name(2)), said(2, "Ana likes it.", superseded_by=name(1))],
        [said(1, "x", superseded_by=name(2)), said(2, "y", at="2026-07-01T00:00:00")],
        [said(1, "x", superseded_by=name(2)), said(2, "y", at="yesterday")],
        [said(1, "x", at="2026-05-09T00:00:00", superseded_by=name(2)), said(2, "y")],
        [said(1, "Ana likes tea.", tags=("b", "c")), said(2, "Ana likes tea.", tags=("d", "e"))],
        [said(1, "x", tags=(), superseded_by=name(2)), said(2, "y", tags=())],
        [said(1, "It is not just tea."), said(2, "It is not tea.")],
        [said(1, "Tea costs €5,00."), said(2, "Tea costs €500.")],
        [said(1, "Bob called. Ana paid."), said(2, "Bob called Ana. Paid.")],
        [said(1, "Ana uses GitHub."), said(2, "Ana uses Github.")],
        [said(1, "I met Bill."), said(2, "I met bill.")],
        [said(1, "(Until 2026-01-01: x)", superseded_by=name(2)), said(2, "y")],
        [said(1, "x (Until 2026-01-01: y", superseded_by=name(2)), said(2, "y")],
    ],
)
def test_what_cannot_be_folded_safely_stands_as_it_stood(page):
    assert folded(*page) == page


def test_an_entry_with_a_key_in_the_middle_of_a_chain_stays_while_the_rest_folds():
    middle = said(2, "The port is 2.", has_key=True, superseded_by=name(3))

    kept, last = folded(said(1, "The port is 1.", superseded_by=name(2)), middle, said(3, "The port is 3."))

    assert kept == middle
    assert last.text == "The port is 3. (Until 2026-05-02: The port is 1.)"


@pytest.mark.parametrize(
    "odd",
    [
        [said(1, "It is not just tea.")],
        [said(1, "It is not tea."), said(1, "It is not tea.")],
        [said(1, "It is not tea.", at="2026-05-09T09:00:00")],
        [said(1, "It is not tea.", tags=("b", "c", "d"))],
        [said(1, "It is x (Until 2026-01-01: y", superseded_by=name(3))],
        [said(1, "It is.\nTea.", superseded_by=name(3))],
    ],
)
def test_one_that_cannot_be_folded_keeps_no_other_from_it(odd):
    assert folded(*odd, said(2, "It is not tea."), said(3, "It is not tea")) == [
        *odd, said(3, "It is not tea", supersedes=(name(2),)),
    ]  # fmt: skip


def test_repeats_without_a_past_leave_the_last_as_it_was_written():
    text = "The port  is 2.   (Until 2026-05-01: The port is 1.)\t(Until 2026-05-02: The port is 0.) "

    [only] = folded(said(2, "The port is 2."), said(3, text))

    assert only == said(3, text, supersedes=(name(2),))


def test_a_fold_that_the_check_refuses_is_not_made_and_the_others_are(monkeypatch):
    page = [said(1, "Ana likes tea."), said(2, "Bob likes tea."), said(3, "Ana likes tea."), said(4, "Bob likes tea.")]

    def refuse(before: list[Statement], after: list[Statement]) -> list[Loss]:
        return [] if said(1, "Ana likes tea.") in after else [Loss("word", name(1), "tea", "gone")]

    monkeypatch.setattr(folding, "preserved", refuse)

    assert fold(page, today=TODAY) == [page[0], page[2], replace(page[3], supersedes=(name(2),))]


def test_a_page_of_which_the_check_refuses_every_fold_stands_as_it_stood(monkeypatch):
    page = [said(1, "Ana likes tea."), said(2, "Ana likes tea.")]
    monkeypatch.setattr(folding, "preserved", lambda before, after: [Loss("floor", "", "tea", "gone")])

    assert fold(page, today=TODAY) == page


_SAID = [
    "Ana likes tea.", "ana likes the tea", "Ana does not like tea.", "Ana doesn't like tea!", "The port is 5432.",
    "The port is 5,432.", "Bob pays 5,000 EUR on 3 May 2026.", "Bob pays 5000 EUR on 2026-05-03.", "安娜喜欢喝茶。",
    "安娜不喜欢喝茶", "アナはお茶が好き。", "แอนชอบดื่มชา", "Анна не курит.", "See https://a.org/x_(y).",
    "Run `rm -r *`.", "Bob called. Ana paid.", "Bob called Ana. Paid.", "No coffee.",
    "I (Ana) live here :)", "x (Until 2026-05-02: y)", "(Until 2026-05-02: y)", "x (Until 2026-05-02: y", "two\nlines",
]  # fmt: skip


@st.composite
def pages(draw: st.DrawFn) -> list[Statement]:
    """Pages as they come, and worse: chains in circles, ids twice, entries out of order."""
    count = draw(st.integers(0, 9))
    words = st.one_of(st.sampled_from(_SAID), st.sampled_from(HOSTILE), texts)
    numbers = st.integers(1, count + 1)
    found = []
    for number in range(1, count + 1):
        statement = said(
            draw(numbers) if draw(st.integers(0, 9)) == 0 else number,
            draw(words),
            tags=tuple(draw(st.lists(st.sampled_from("abcd"), max_size=3, unique=True))),
            superseded_by=name(draw(numbers)) if draw(st.booleans()) else "",
            retracted=draw(st.integers(0, 5)) == 0,
            has_key=draw(st.integers(0, 5)) == 0,
        )
        if draw(st.integers(0, 7)) == 0:
            statement = replace(statement, at=draw(texts), supersedes=(name(draw(numbers)), "older"))
        found.append(statement)
    return found


@given(pages())
def test_any_page_folds_without_a_loss_into_no_more_words_and_only_once(page):
    found = folded(*page)

    assert [each for each in found if each.has_key or each.retracted] == [
        each for each in page if each.has_key or each.retracted
    ]
    assert fold(page, today=date(2020, 1, 1)) == page


@pytest.mark.longer
def test_ten_times_as_many_entries_fold_in_about_ten_times_the_time():
    def took(count: int) -> float:
        page = [
            Statement(
                f"id{at}", f"2026-05-01T{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}",
                f"The port of host{at % 97} is {at}.", ("a",), f"id{at + 1}" if at % 5 and at + 1 < count else "",
            )
            for at in range(count)
        ]  # fmt: skip
        start = time.process_time()
        found = fold(page, today=TODAY)
        spent = time.process_time() - start
        assert len(found) < count / 2
        return spent

    assert_linear(took, 75, 750, deeper=4)


@pytest.mark.longer
def test_so_does_one_long_chain():
    def took(count: int) -> float:
        page = [
            Statement(
                f"id{at}", "2026-05-01T00:00:00", f"The port is {at}.", ("a",), f"id{at + 1}" if at + 1 < count else ""
            )
            for at in range(count)
        ]  # fmt: skip
        start = time.process_time()
        [only] = folded(*page)
        spent = time.process_time() - start
        assert only.text.count("(Until ") == count - 1
        return spent

    assert_linear(took, 50, 500, deeper=4)
