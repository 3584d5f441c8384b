"""A rewrite of a page is accepted only if no fact is lost, changed, moved or made up."""

from dataclasses import replace

import pytest

from tallystick.projections.markdown.compact.check import preserved
from tallystick.projections.markdown.compact.words import Statement, parted

NAME = Statement("20260420-1402-a1b23c", "2026-04-20T14:02:11", "User goes by Kming. Based in Shanghai.", ("identity",))
OLD = Statement(
    "20260420-1630-3f0e99", "2026-04-20T16:30:05", "User works at Old Corp as a principal engineer.",
    ("work", "employer"), superseded_by="20260421-0915-c4f1a5",
)  # fmt: skip
NEW = Statement(
    "20260421-0915-c4f1a5", "2026-04-21T09:15:00", "User joined Acme Corp as a senior engineer.", ("work", "employer")
)
PAGE = [NAME, OLD, NEW]
HELD = "(Until 2026-04-21: User works at Old Corp as a principal engineer.)"
FOLDED = replace(NEW, text=f"{NEW.text} {HELD}", supersedes=(OLD.id,))


def one(text: str, **fields: object) -> Statement:
    return replace(Statement("20260501-0900-000001", "2026-05-01T09:00:00", text, ("a",)), **fields)


def other(text: str, **fields: object) -> Statement:
    return replace(Statement("20260502-0900-000002", "2026-05-02T09:00:00", text, ("a",)), **fields)


def codes(before: list[Statement], after: list[Statement]) -> set[str]:
    return {loss.code for loss in preserved(before, after)}


def rewritten(text: str, new_text: str) -> set[str]:
    return codes([one(text)], [one(new_text)])


REFUSED = [
    ("The rent is 5,000 EUR.", "The rent is 6,000 EUR.", "amount"),
    ("The rent is 5,000 EUR.", "The rent is 5,000 USD.", "amount"),
    ("The box weighs 5 kg.", "The box weighs 5 g.", "amount"),
    ("The box weighs 3,500kg.", "The box weighs 3.500kg.", "amount"),
    ("Tea costs €5,00.", "Tea costs €500.", "invented"),
    ("The fee is $5.", "The fee is $50.", "amount"),
    ("The port is 5432.", "The port is 5433.", "number"),
    ("It was -5 outside.", "It was 5 outside.", "number"),
    ("Call +49 30 1234.", "Call 49 30 1234.", "code"),
    ("Ana has two cats.", "Ana has three cats.", "number"),
    ("Ana leaves on 3 May 2026.", "Ana leaves on 3 June 2026.", "date"),
    ("Ana leaves at 5 pm.", "Ana leaves at 5 am.", "date"),
    ("Ana leaves on Monday.", "Ana leaves on Tuesday.", "date"),
    ("Ana does not like Bob.", "Ana does like Bob.", "negation"),
    ("Ana doesn't like Bob.", "Ana does like Bob.", "negation"),
    ("Ana no longer smokes.", "Ana smokes.", "negation"),
    ("Ana never smokes.", "Ana smokes.", "negation"),
    ("Ana came without Bob.", "Ana came with Bob.", "negation"),
    ("Ana likes tea.", "Ana does not like tea.", "invented"),
    ("Ana likes tea, not coffee.", "Ana likes not tea, coffee.", "negation"),
    ("Ana smokes not. Bob drinks.", "Ana smokes. Not Bob drinks.", "negation"),
    ("It is not just tea.", "It is not tea.", "word"),
    ("Ana trinkt nicht.", "Ana trinkt.", "negation"),
    ("Ana hat kein Auto.", "Ana hat Auto.", "negation"),
    ("Ana ne fume pas.", "Ana fume.", "negation"),
    ("Ana não fuma.", "Ana fuma.", "negation"),
    ("Ana nunca fuma.", "Ana fuma.", "negation"),
    ("Анна не курит.", "Анна курит.", "negation"),
    ("安娜不喝茶。", "安娜喝茶。", "negation"),
    ("她没来。", "她来。", "negation"),
    ("不，是他。", "不是他。", "negation"),
    ("アナはお茶を飲まない。", "アナはお茶を飲む。", "word"),
    ("แอนไม่ดื่มชา", "แอนดื่มชา", "word"),
    ("آنا لا تدخن", "آنا تدخن", "negation"),
    ("अना चाय नहीं पीती", "अना चाय पीती", "negation"),
    ("Ana likes Bob.", "Bob likes Ana.", "order"),
    ("Ana met Bob and Eve.", "Ana met Eve and Bob.", "order"),
    ("Ana met Bob.", "Ana met Eve.", "name"),
    ("Ana met Bob.", "Ana met him.", "name"),
    ("Ana met Bill.", "Ana met bill.", "name"),
    ("The key is qXzRt.", "The key is QXZRT.", "spelling"),
    ("用户住在上海，喜欢喝茶。", "用户住在上海。", "word"),
    ("用户住在上海。", "用户住在北京。", "word"),
    ("小明喜欢小红。", "小红喜欢小明。", "order"),
    ("価格は5000円です。", "価格は500円です。", "amount"),
    ("דנה גרה בחיפה", "דנה גרה", "word"),
    ("See https://a.org/x_(y) for it.", "See https://a.org/x_(y for it.", "spelling"),
    ("See https://a.org/x for it.", "See https://a.org/y for it.", "link"),
    ("Write to ana@a.org.", "Write to bob@a.org.", "link"),
    ("Run `rm *` first.", "Run `rm` first.", "spelling"),
    ("The build is a1b2c3.", "The build is a1b2c4.", "code"),
    ("Ana prefers tabs over spaces.", "Ana prefers spaces over tabs.", "order"),
    ("Ana left Acme.", "Ana joined Acme.", "word"),
    ("Ana is allergic to peanuts.", "Ana is allergic.", "word"),
    ("Ana likes tea.", "Ana likes tea with milk.", "invented"),
    ("Bob called. Ana paid.", "Bob called Ana. Paid.", "order"),
    ("It is 10 – 20 EUR.", "It is 10 20 EUR.", "word"),
    ("It is - 5 outside.", "It is 5 outside.", "word"),
    ("I met Ana.", "I met: ana.", "name"),
    ("Mr Gray met Ana.", "Mr Grey met Ana.", "name"),
    ("Gray met Ana.", "Grey met Ana.", "name"),
    ("Ana works at Very.", "Ana works at.", "name"),
    ("the", "", "word"),
    ("!!!", "", "word"),
    ("Does Ana like tea?", "Does Ana like tea.", "word"),
    ("Ana is happy 🙂", "Ana is happy", "word"),
    ("🍵", "", "word"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "new_text", "code"), REFUSED)
def test_a_fact_that_was_lost_changed_or_made_up_is_refused_by_its_name(text, new_text, code):
    assert code in rewritten(text, new_text)


@pytest.mark.parametrize(("text", "new_text", "code"), REFUSED)
@pytest.mark.sample(15)
def test_what_is_refused_on_a_page_of_its_own_is_refused_on_a_long_page_too(text, new_text, code):
    rest = [Statement(f"r{at}", "2026-05-02", f"Line {at} says thing{at} twice.", ("a",)) for at in range(400)]

    found = preserved([one(text), *rest], [one(new_text), *rest])

    assert code in {loss.code for loss in found}
    assert {loss.id for loss in found} == {one("").id}


@pytest.mark.parametrize(
    ("text", "new_text"),
    [
        ("Ana leaves on 3 May 2026.", "Ana leaves on 2026-05-03."),
        ("Ana leaves on 2026-05-03.", "Ana leaves on May 3rd, 2026."),
        ("The rent is 5,000 EUR.", "The rent is 5000 EUR."),
        ("The rent is €1,234,567.89.", "The rent is €1234567.89."),
        ("Ana leaves at 5 pm.", "Ana leaves at 17:00."),
        ("Ana  likes\ttea ,  and coffee !", "Ana likes tea, and coffee."),
        ("ana likes tea", "Ana likes tea."),
        ("Ana likes the tea now.", "Ana likes tea."),
        ("Ana doesn't smoke.", "Ana does not smoke."),
        ("Ana cannot swim.", "Ana can't swim."),
        ("Dr. Ana met J. Smith.", "Dr Ana met J Smith"),
        ("Ana likes tea. Coffee too.", "Ana likes tea, coffee too."),
        ("Ana likes tea, coffee.", "Ana likes tea coffee."),
        ("“Ana” likes **tea**.", "Ana likes tea."),
        ("Ana left. Bob stayed.", "Ana left; Bob stayed."),
        ("Ana left. Bob stayed.", "Ana left, Bob stayed."),
        ("用户住在上海， 喜欢喝茶", "用户住在上海、喜欢喝茶。"),
        ("价格是５０００元", "价格是 5000 元。"),
        ("السعر ٥٠٠٠ ريال", "السعر 5000 ريال"),
        ("cafe\u0301 Ana", "café Ana"),
        ("Ana\u200b likes tea", "Ana likes tea"),
    ],
)
def test_the_same_written_more_tidily_is_accepted(text, new_text):
    assert preserved([one(text)], [one(new_text)]) == []
    assert preserved([one(new_text)], [one(text)]) == []


def test_a_page_as_it_was_is_accepted_and_so_are_its_tags_in_another_order():
    assert preserved(PAGE, PAGE) == []
    assert preserved(PAGE, [replace(each, tags=each.tags[::-1]) for each in PAGE]) == []
    assert preserved([], []) == []


def test_a_chain_folded_into_the_present_and_a_dated_note_is_accepted():
    assert preserved(PAGE, [NAME, FOLDED]) == []
    assert preserved(PAGE, [NAME, replace(FOLDED, text=FOLDED.text.replace("2026-04-21", "21 April 2026"))]) == []


def test_repeats_may_be_joined_under_either_of_them_or_under_a_new_id():
    page = [one("Ana likes tea."), other("Ana likes the tea")]

    assert preserved(page, [other("Ana likes tea", supersedes=(page[0].id,))]) == []
    assert preserved(page, [other("Ana likes tea", id="new", supersedes=(page[0].id, page[1].id))]) == []
    assert codes(page, [other("Ana likes tea")]) == {"entry"}


def test_different_statements_may_be_set_after_each_other_but_not_mixed():
    page = [one("Ana pays 5 EUR."), other("Bob pays 6 EUR.")]
    names = (page[0].id,)

    assert preserved(page, [other("Ana pays 5 EUR. Bob pays 6 EUR.", supersedes=names)]) == []
    assert "order" in codes(page, [other("Ana pays 5 EUR Bob pays 6 EUR", supersedes=names)])
    assert "order" in codes(page, [other("Ana pays 6 EUR. Bob pays 5 EUR.", supersedes=names)])
    assert "name" in codes(page, [other("Ana pays 5 EUR and 6 EUR.", supersedes=names)])


def test_a_negation_at_the_seam_of_two_statements_is_no_trouble():
    page = [one("Ana likes tea."), other("No coffee is left.")]

    assert preserved(page, [other("Ana likes tea. No coffee is left.", supersedes=(page[0].id,))]) == []


def test_names_swapped_between_two_statements_are_refused_for_both():
    page = [one("Ana pays 5 EUR."), other("Bob pays 6 EUR.")]

    found = preserved(page, [one("Bob pays 5 EUR."), other("Ana pays 6 EUR.")])

    assert {(loss.code, loss.id, loss.lost) for loss in found} == {
        ("name", page[0].id, "Ana"), ("moved", page[0].id, "Bob"),
        ("name", page[1].id, "Bob"), ("moved", page[1].id, "Ana"),
    }  # fmt: skip


def test_a_loss_tells_a_person_in_one_line_what_is_gone_and_where():
    [amount, invented, _] = preserved([one("The rent is 5,000 EUR.")], [one("The rent is 6,000 EUR.")])

    assert str(amount) == "20260501-0900-000001: an amount is missing: “5000 eur”"
    assert str(invented) == "20260501-0900-000001: this is new: “6000 eur”"


@pytest.mark.parametrize("text", ["a\nb " * 500, "漢字" * 5000, "\x1b[31m\n", "12 kg\r\n" * 500])
def test_the_line_of_a_loss_is_one_short_line_whatever_was_lost(text):
    for loss in preserved([one(text)], []):
        assert len(loss.why) < 300
        assert loss.why.isprintable()


def test_an_entry_that_is_dropped_is_refused():
    for gone in range(3):
        assert "entry" in codes(PAGE, PAGE[:gone] + PAGE[gone + 1 :])


def test_the_only_one_of_two_entries_with_one_id_is_missed():
    twice = [one("Ana likes tea."), one("Bob likes tea.")]

    assert preserved(twice, twice) == []
    assert codes(twice, twice[:1]) >= {"entry"}
    assert codes([twice[0]] * 2, [twice[0]]) == {"entry"}
    assert codes([twice[0], twice[0], other(twice[0].text)], [other(twice[0].text, supersedes=(one("").id,))]) == {
        "entry"
    }


def test_a_superseded_fact_is_never_said_of_the_present_again():
    holds = replace(OLD, superseded_by="")
    both = replace(NEW, text=f"{NEW.text} {OLD.text}", supersedes=(OLD.id,))
    turned = replace(NEW, text=f"{OLD.text} (Until 2026-04-21: {NEW.text})", supersedes=(OLD.id,))
    again = Statement("new", "2026-05-01T00:00:00", OLD.text, OLD.tags)

    for page in ([NAME, holds, NEW], [NAME, both], [NAME, turned], [*PAGE, again], [NAME, FOLDED, again]):
        assert "revived" in codes(PAGE, page)


def test_what_was_retracted_stays_retracted_and_keeps_its_entry():
    page = [one("Ana likes tea.", retracted=True), other("Ana likes tea.")]

    assert preserved(page, page) == []
    assert codes(page, [one("Ana likes tea."), page[1]]) == {"revived"}
    assert codes(page, [replace(page[1], supersedes=(page[0].id,))]) >= {"entry"}


def test_what_led_to_something_retracted_keeps_its_entry():
    page = [one("Ana likes tea.", superseded_by=other("").id), other("Ana likes coffee.", retracted=True)]
    told = "Ana likes coffee. (Until 2026-05-02: Ana likes tea.)"

    assert codes(page, [replace(page[1], text=told, supersedes=(page[0].id,))]) == {"moved"}


def test_what_holds_is_not_struck_by_a_rewrite():
    page = [one("Ana likes tea."), other("Ana likes coffee.")]
    [loss] = preserved(page, [replace(page[0], retracted=True), page[1]])

    assert str(loss) == "20260501-0900-000001: a current entry is struck: “Ana likes tea.”"

    assert codes(page, [replace(page[0], retracted=True), page[1]]) == {"struck"}
    assert codes(page, [replace(page[0], superseded_by=page[1].id), page[1]]) == {"struck"}
    assert "struck" in codes([OLD, NEW, other(OLD.text)], [replace(OLD, supersedes=(other("").id,)), NEW])


def test_a_chain_leads_where_it_led():
    page = [*PAGE, other("Bob likes tea.", tags=OLD.tags)]

    assert codes(page, [NAME, replace(OLD, superseded_by=page[3].id), NEW, page[3]]) == {"struck"}
    last = other("User joined Acme Corp as a senior engineer.", tags=NEW.tags, supersedes=(NEW.id,))
    for successor in (NEW.id, last.id):
        assert preserved([OLD, NEW, replace(last, supersedes=())], [replace(OLD, superseded_by=successor), last]) == []
    stray = replace(page[3], text=f"{page[3].text} {HELD}", supersedes=(OLD.id,))
    assert "moved" in codes(page, [NAME, NEW, stray])


@pytest.mark.parametrize(
    ("note", "code"),
    [
        (HELD.replace("2026-04-21", "2026-04-22"), "date"),
        (HELD.replace("Old Corp", "New Corp"), "name"),
        (HELD.replace("works", "never works"), "invented"),
        (f"{HELD} (Until 2026-04-19: User works at Bad Corp.)", "invented"),
        ("", "history"),
        ("(Until then: User works at Old Corp as a principal engineer.)", "history"),
        (HELD[1:-1], "history"),
    ],
)
def test_a_note_tells_what_held_and_until_when_and_nothing_else(note, code):
    assert code in codes(PAGE, [NAME, replace(FOLDED, text=f"{NEW.text} {note}")])


def test_a_note_that_was_there_is_kept():
    assert "history" in codes([FOLDED], [replace(FOLDED, text=NEW.text)])
    assert "entry" in codes([FOLDED], [replace(FOLDED, supersedes=())])
    assert "word" in codes([NEW], [replace(NEW, text=f"User. (Until 2026-04-21: {NEW.text})")])


def test_what_was_said_twice_in_a_row_needs_no_note():
    page = [one("Ana likes tea.", superseded_by=other("").id), other("Ana likes the tea.")]

    assert preserved(page, [replace(page[1], supersedes=(page[0].id,))]) == []


def test_what_came_back_keeps_the_note_of_its_first_time():
    third = Statement("20260503-0900-000003", "2026-05-03T09:00:00", "The port is 1.", ("a",))
    page = [one("The port is 1.", superseded_by=other("").id), other("The port is 2.", superseded_by=third.id), third]
    names = (page[0].id, page[1].id)
    told = "The port is 1. (Until 2026-05-03: The port is 2.) (Until 2026-05-02: The port is 1.)"

    assert preserved(page, [replace(third, text=told, supersedes=names)]) == []
    assert "history" in codes(page, [replace(third, text=told[:-37], supersedes=names)])


def test_what_a_caller_gave_a_key_to_keeps_its_entry():
    page = [one("Ana likes tea.", has_key=True), other("Ana likes tea.")]

    assert codes(page, [replace(page[1], supersedes=(page[0].id,))]) == {"key"}


def test_headings_keep_their_time_their_order_and_their_tags():
    assert codes(PAGE, [replace(NAME, at="2026-04-19T14:02:11"), OLD, NEW]) == {"time"}
    assert codes(PAGE, [OLD, NAME, NEW]) == {"order"}
    assert codes(PAGE, [NAME, OLD, replace(NEW, tags=("work",))]) == {"tag"}
    assert codes(PAGE, [NAME, OLD, replace(NEW, tags=("work", "employer", "acme"))]) == {"invented"}
    assert codes([one("x"), other("x")], [one("x", supersedes=(other("").id,))]) == {"time"}
    assert preserved([one("x", at="2026-05-01T09:00")], [one("x")]) == []


def test_an_entry_names_only_entries_that_were():
    assert codes(PAGE, [NAME, OLD, replace(NEW, supersedes=("20200101-0000-ffffff",))]) == {"invented"}
    assert codes(PAGE, [*PAGE, Statement("new", "2026-05-01", "Ana is a doctor.")]) == {"invented"}
    assert codes(PAGE, [NAME, replace(FOLDED, supersedes=(OLD.id, NAME.id))]) == {"invented"}


def test_more_than_five_percent_of_the_noun_phrases_missing_is_reported_and_less_is_not():
    page = [Statement(f"r{at}", "2026-05-02", f"The thing{at} is here.", ("a",)) for at in range(40)]

    def without(count: int) -> set[str]:
        return codes(page, [replace(each, text="It is here.") for each in page[:count]] + page[count:])

    assert "floor" not in without(2)
    assert "floor" in without(3)


def test_deleting_chinese_shows_in_the_floor():
    page = [one("用户住在上海，喜欢喝茶，每天早上跑步。"), other("Ana likes tea.")]

    assert "floor" in codes(page, [one("用户住在上海。"), page[1]])
    assert "floor" in codes([one("上海北京")], [one("海上京北")])


def test_chains_in_a_circle_or_into_nowhere_are_read_to_the_end():
    circle = [one("a", superseded_by=other("").id), other("b", superseded_by=one("").id)]

    assert preserved(circle, circle) == []
    assert "moved" in codes(circle, [replace(circle[1], supersedes=(circle[0].id,))])
    assert preserved([one("a", superseded_by="gone")], [one("a", superseded_by="gone")]) == []
    assert preserved([one("a", superseded_by=one("").id)] * 2, [one("a", superseded_by=one("").id)] * 2) == []


def test_a_day_is_one_of_the_calendar_written_from_year_to_day():
    assert one("").day == "2026-05-01"
    assert [one("", at=at).day for at in ("", "12.05.2026", "2026-02-30", "20260501")] == [""] * 4


def test_a_text_that_is_nothing_but_a_note_is_said_of_the_present():
    for text in ("(Until 2026-01-01: y)", " (Until 2026-01-01: y)"):
        assert parted(text) == (text, [])
