"""What a person saves is merged with what others recorded meanwhile: nothing is retracted that nobody removed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tallystick import Memory
from tallystick.projections.markdown import parse
from tests.memory.paged import end_of, entry_texts, folder_in, is_settled, page_at
from tests.memory.pages.test_pages import ana, edit, m

__all__ = ["ana", "m"]


def texts_of(memory: Memory, page: str = "person-ana") -> list[str]:
    return sorted(entry.text for entry in memory.pages.read(page).entries)


def told(memory: Memory) -> list[str]:
    return [str(each) for each in memory.pages.sync().problems]


# -- an editor that was open for long ----------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["append", "supersede"])
def test_what_others_recorded_since_a_page_was_opened_is_not_taken_for_removed(m, program):
    first, second = m.pages.append("person-ana", "one", ["x"]), m.pages.append("person-ana", "two", ["x"])
    path = page_at(m, "person-ana.md")
    buffer = path.read_text()
    if program == "append":
        m.pages.append("person-ana", "three", ["x"])
    else:
        m.pages.supersede("person-ana", second.id, "three")
    others = ["three", "two"] if program == "append" else ["three"]

    for more in ("", " and a half", " and three quarters"):  # it is saved again and again, and never read anew
        path.write_text(buffer.replace("\none\n", f"\none, or so{more}\n"))
        m.pages.sync()
        assert texts_of(m) == sorted([*others, f"one, or so{more}"])

    path.write_text(buffer.replace(next(entry_texts(buffer)), "").replace("entry_count: 2", "entry_count: 2 # so"))
    m.pages.sync()
    assert m.show(first.id).text == "one, or so and three quarters"  # it was changed since: that is asked
    assert [review.action.kind for review in m.reviews.waiting()] == ["forget"]


def test_an_old_copy_that_says_what_was_replaced_since_brings_nothing_back(m, ana):
    _, path = ana
    buffer = path.read_text()
    for words in ("two", "three", "one", "two"):  # from copies of the page, one of them saved again
        path.write_text(buffer.replace("\none\n", f"\n{words}\n"))
        last = m.pages.sync()

    assert texts_of(m) == ["three"]
    assert any("said this before it was changed: it stays as it is now" in each.what for each in last.problems)


def test_a_page_on_which_the_version_before_stands_again_retracts_nothing(m):
    first = m.pages.append("person-ana", "one", ["x"])
    second = m.pages.supersede("person-ana", first.id, "two")
    path = page_at(m, "person-ana.md")
    old, new = entry_texts(path.read_text())
    edit(path, new, "")
    edit(path, old, old.replace("~~", "").replace(f" #superseded-by:{second.id}", ""))

    assert any("restored" in line for line in told(m))
    assert texts_of(m) == ["two"]


def test_an_entry_removed_in_an_old_buffer_is_taken_back_and_nothing_else(m):
    first = m.pages.append("person-ana", "one", ["x"])
    m.pages.append("person-ana", "two", ["x"])
    path = page_at(m, "person-ana.md")
    buffer = path.read_text()
    m.pages.append("person-ana", "three", ["x"])
    for _ in range(2):
        path.write_text(buffer.replace(next(entry_texts(buffer)), ""))
        m.pages.sync()
        assert m.show(first.id).status == "tombstone"
        assert texts_of(m) == ["three", "two"]


def test_an_entry_typed_into_an_old_buffer_is_added_once_however_often_it_is_saved(m, ana):
    _, path = ana
    buffer = path.read_text() + "\n## #y\nby hand\n\nand this\n"
    for number in range(3):
        path.write_text(buffer)
        m.pages.sync()
        m.pages.append("person-ana", f"number {number}", ["x"])
    assert texts_of(m) == sorted(["by hand\n\nand this", "number 0", "number 1", "number 2", "one"])


def test_an_entry_typed_into_an_old_buffer_takes_back_nothing_that_became_of_it(m, ana, clock):
    _, path = ana
    buffer = path.read_text() + "\n## #y\nby hand\n\n## #y\nand this\n"
    path.write_text(buffer)
    m.pages.sync()
    first, second = [each for each in m.pages.read("person-ana").entries if each.text != "one"]
    clock.now += timedelta(hours=1)
    m.revise(first.id, "by another hand")
    m.revise(second.id, tags=["z"])
    path.write_text(buffer)
    end = end_of(m)

    m.pages.sync()

    assert texts_of(m) == ["and this", "by another hand", "one"]
    assert {each.id: each for each in parse(path.read_text()).entries}[first.id].superseded_by == m.show(first.id).id
    assert [each.at for each in m.pages.read("person-ana").entries if each.text == "and this"] == [second.at]
    assert (end_of(m), m.show(second.id).tags) == (end, ("z",))


def test_an_old_buffer_takes_back_no_tag_no_description_and_no_retraction(m):
    first, second = m.pages.append("person-ana", "one", ["x"]), m.pages.append("person-ana", "two", ["x"])
    m.pages.append("person-ana", "three", ["x"])
    path = page_at(m, "person-ana.md")
    buffer = path.read_text()
    m.revise(first.id, tags=["other"])
    m.forget(second.id)
    m.pages.describe("person-ana", description="A friend", title="Ana B.")

    path.write_text(buffer.replace("\nthree\n", "\nthree!\n"))
    m.pages.sync()

    assert (m.show(first.id).tags, m.show(second.id).status) == (("other",), "tombstone")
    info = m.pages.read("person-ana").info
    assert (info.description, info.title) == ("A friend", "Ana B.")
    assert texts_of(m) == ["one", "three!"]
    assert {each.id: each for each in parse(path.read_text()).entries}[second.id].is_retracted


def test_a_page_that_does_not_say_what_it_was_saved_from_retracts_nothing(m):
    m.pages.append("person-ana", "one", ["x"])
    m.pages.append("person-ana", "two", ["x"])
    path = page_at(m, "person-ana.md")
    path.write_text(path.read_text().partition("\n---\n")[2].replace(next(entry_texts(path.read_text())), ""))

    assert "restored" in told(m)[0]

    assert texts_of(m) == ["one", "two"]
    fields = {"description", "tags", "status", "created", "updated", "entry_count", "needs_compact"}
    assert parse(path.read_text()).front.fields.keys() >= fields
    assert told(m) == []


# -- merges and damage -------------------------------------------------------------------------------------------------

MERGING = "<<<<<<< HEAD\none, says one\n=======\none, says the other\n>>>>>>> theirs\n"


@pytest.mark.parametrize("left", [MERGING, MERGING.partition("=======\n")[2], MERGING.partition("=======\n")[0]])
def test_marks_of_a_merge_are_told_with_their_line_and_nothing_is_taken_in_or_written(m, ana, left):
    _, path = ana
    whole = path.read_text()
    path.write_text(whole.replace("one\n", left) + "\n## #y\nby hand\n")
    merging, end = path.read_bytes(), end_of(m)
    line = 1 + next(n for n, line in enumerate(path.read_text().splitlines()) if line[:7] in ("<<<<<<<", ">>>>>>>"))

    for _ in range(2):
        [problem] = told(m)
        assert problem.startswith(f"person-ana.md:{line}: a merge left conflict markers here")
        assert (path.read_bytes(), end_of(m)) == (merging, end)
    m.pages.append("person-ana", "two", ["x"])
    assert path.read_bytes() == merging

    path.write_text(whole + "\n## #y\nby hand\n")
    assert told(m) == []
    assert texts_of(m) == ["by hand", "one", "two"]


def test_marks_of_a_merge_in_a_new_file_and_in_a_front_matter_are_told(m):
    page_at(m, "person-ana.md").parent.mkdir(exist_ok=True)
    page_at(m, "person-ana.md").write_text(MERGING)
    m.pages.append("person-bob", "one", ["x"])
    bob = page_at(m, "person-bob.md")
    edit(bob, "entry_count: 1", "<<<<<<< a\nentry_count: 1\n=======\nentry_count: 2\n>>>>>>> b")

    assert [problem.partition(": ")[0] for problem in told(m)] == ["person-ana.md:1", "person-bob.md:7"]
    assert "person-ana" not in m.pages


def test_marks_of_a_merge_that_somebody_talks_about_are_words(m):
    entry = m.pages.append("person-ana", f"see:\n{MERGING}", ["x"])
    m.pages.append("person-ana", f"```\n{MERGING}```", ["x"])
    path = page_at(m, "person-ana.md")
    edit(path, "see:", "look:")

    assert told(m) == []
    assert m.show(entry.id).text.startswith("look:\n<<<<<<< HEAD\n")


def five(memory: Memory) -> str:
    for word in ("one", "two", "three", "four", "five"):
        memory.pages.append("person-ana", f"number {word}", ["x"])
    return page_at(memory, "person-ana.md").read_text()


def without(text: str, count: int) -> str:
    for entry in list(entry_texts(text))[:count]:
        text = text.replace(entry, "")
    return text


SPOILED = {
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 without its mark": lambda text: text.encode("utf-16-le"),
    "zeros": lambda text: text.encode()[:300] + b"\0" * 300,
    "no text": lambda _: bytes(range(128, 256)) * 4,
    "cut in an entry": lambda text: text[: text.index("er three")].encode(),
    "cut in a heading": lambda text: text[: text.index("number four") - 20].encode(),
    "cut behind an entry": lambda text: text[: text.index("number four") + 11].encode(),
    "cut in the front matter": lambda text: text[:60].encode(),
    "cut in the title": lambda text: text[: text.index("# Ana") + 3].encode(),
    "most removed": lambda text: without(text, 3).encode(),
}


@pytest.mark.parametrize("how", SPOILED)
@pytest.mark.parametrize("answer", ["approve", "reject", "mended", "removed"])
def test_a_page_that_is_spoiled_is_one_question_and_retracts_nothing(m, how, answer):
    from tallystick.repair.check import check

    text = five(m)
    path = page_at(m, "person-ana.md")
    spoiled = SPOILED[how](text)
    path.write_bytes(spoiled)
    m.pages.sync()
    end = end_of(m)

    [problem] = told(m)
    assert (problem.startswith("person-ana.md: it "), end_of(m)) == (True, end)
    assert told(m) == [problem]
    assert [finding.code for finding in check(m.folder) if finding.severity == "error"] == ["page-differs"]
    m.pages.append("person-ana", "number six", ["x"])
    assert path.read_bytes() == spoiled
    assert len(texts_of(m)) == 6
    [review] = m.reviews.waiting()
    assert f"tallystick review {review.id[-6:]}" in problem

    if answer in ("approve", "reject"):
        getattr(m.reviews, answer)(review.id)
    elif answer == "mended":
        path.write_text(text)
    else:
        path.unlink()
    m.pages.sync()
    assert m.reviews.waiting() == []
    gone = len(review.action.target) if answer == "approve" else 0
    assert len(texts_of(m)) == 6 - gone
    assert "number six" in texts_of(m)
    is_readable = "cut" in how or "most" in how or answer in ("mended", "removed")
    if (how, answer) == ("cut in a heading", "approve"):  # half a heading is left, as it was saved
        edit(path, next(line for line in path.read_text().splitlines() if line.endswith("{id: 20260")) + "\n", "")
    assert (told(m) == []) == is_readable
    if is_readable:
        assert len(parse(path.read_text()).entries) >= 6
    else:
        m.close()  # the page is not one that can be settled


@pytest.mark.parametrize("how", [how for how in SPOILED if "cut" in how or "most" in how])
@pytest.mark.parametrize("answer", ["approve", "reject"])
def test_a_page_in_doubt_stays_so_when_the_tables_are_lost(home, how, answer):
    with Memory(folder_in(home / "kept")) as memory:
        text = five(memory)
        path = page_at(memory, "person-ana.md")
        path.write_bytes(SPOILED[how](text))
        [problem] = told(memory)
        [review] = memory.reviews.waiting()
    spoiled = path.read_bytes()
    for table in memory.folder.glob("state.db*"):
        table.unlink()

    with Memory(memory.folder) as again:
        assert told(again) == told(again) == [problem]
        assert path.read_bytes() == spoiled
        assert len(texts_of(again)) == 5
        getattr(again.reviews, answer)(review.id)
        again.pages.sync()
        assert again.reviews.waiting() == []
        assert len(texts_of(again)) == 5 - (len(review.action.target) if answer == "approve" else 0)
        assert len(parse(path.read_text()).entries) >= 5


def test_a_last_entry_that_is_cut_short_is_asked_and_not_reworded(m):
    entry = m.pages.append("person-ana", "Ana likes tea, and coffee in the morning.", ["x"])
    path = page_at(m, "person-ana.md")
    path.write_text(path.read_text()[:-20])

    assert "truncated" in told(m)[0]

    assert m.show(entry.id).text.endswith("in the morning.")
    [review] = m.reviews.waiting()
    m.reviews.approve(review.id)
    m.pages.sync()
    assert m.show(entry.id).text == "Ana likes tea, and cof"


def test_a_page_whose_entries_a_person_put_in_another_order_is_cut_where_its_file_ends(m):
    text = five(m)
    path = page_at(m, "person-ana.md")
    first, *others = entry_texts(text)
    path.write_text(text.replace(first + "".join(others), "".join([*others, "\n", first])))
    m.pages.sync()
    path.write_text(path.read_text()[: path.read_text().index("er five") + len("er five")])

    assert "truncated" in told(m)[0]

    assert len(texts_of(m)) == 5
    [review] = m.reviews.waiting()
    m.reviews.reject(review.id)
    m.pages.sync()
    assert len(parse(path.read_text()).entries) == 5


def test_a_page_emptied_again_after_a_no_is_asked_again(m):
    text = five(m)
    path = page_at(m, "person-ana.md")
    for _ in range(2):
        path.write_text(without(path.read_text(), 4))
        m.pages.sync()
        [review] = m.reviews.waiting()
        m.reviews.reject(review.id)
        m.pages.sync()
        assert len(parse(path.read_text()).entries) == len(parse(text).entries)
    assert len(texts_of(m)) == 5


# -- text without a heading --------------------------------------------------------------------------------------------


def test_prose_and_bullets_of_a_new_page_are_entries_and_get_their_headings(m):
    path = page_at(m, "person-ana.md")
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "# Ana\n\nAna is a friend\nof Bob.\n\n<!-- a remark -->\n\n- likes tea\n- lives in Rome\n  since 2020\n\n"
        "## Work\n\nProjects:\n- one\n- two\n\n1. first\n\n```\n## #code\n```\n"
    )

    m.pages.sync()

    wanted = ["Ana is a friend\nof Bob.", "likes tea", "lives in Rome\nsince 2020", "Projects:\n- one\n- two", "first"]
    wanted.append("```\n## #code\n```")
    page = parse(path.read_text())
    assert [entry.body for entry in page.entries] == wanted
    assert all(entry.id and entry.at and entry.tags for entry in page.entries)
    assert "<!-- a remark -->" in page.preamble
    assert "## Work" in page.preamble
    assert {belief.text: belief.about for belief in m.beliefs.all()} == dict.fromkeys(wanted, "person-ana")


def test_text_below_an_entry_and_apart_from_its_words_is_a_statement_of_its_own(m):
    first, second = m.pages.append("person-ana", "one", ["x"]), m.pages.append("person-ana", "two\n\n2", ["x"])
    last = m.pages.append("person-ana", "three", ["x"])
    m.forget(last.id)
    path = page_at(m, "person-ana.md")
    edit(path, "\none\n", "\none\nand a half\n\n- four\n- five\n")
    edit(path, "\n2\n", "\n2\n\nsix\n")
    edit(path, "~~three~~\n", "~~three~~\n\nseven\n")

    m.pages.sync()

    assert (m.show(first.id).text, m.show(second.id).text) == ("one\nand a half", "two\n\n2")
    assert texts_of(m) == sorted(["one\nand a half", "two\n\n2", "four", "five", "six", "seven"])
    assert m.show(last.id).status == "tombstone"


def test_loose_text_before_the_first_entry_is_an_entry_and_an_open_front_matter_is_none(m):
    m.pages.append("person-ana", "one", ["x"])
    m.pages.append("person-bob", "one", ["x"])
    ana, bob = page_at(m, "person-ana.md"), page_at(m, "person-bob.md")
    edit(ana, "# Ana\n", "# Ana\n\n* two\n")
    edit(bob, "needs_compact: false\n---\n", "needs_compact: false\n")

    assert [problem.partition(": ")[0] for problem in told(m)] == ["person-bob.md:1"]

    assert (texts_of(m), texts_of(m, "person-bob")) == (["one", "two"], ["one"])


# -- what is told every time, and what is no change --------------------------------------------------------------------

UNCLEAR = {
    "a front matter that is not YAML": ("description: ", "description: {[: "),
    "words of what holds no longer": ("~~one~~", "~~one, or so we thought~~"),
    "the time of what holds no longer": ("## [2026-05-20T12", "## [2026-05-20T11"),
    "a heading of another level": ("## [2026-05-20T12:00:0", "### [2026-05-20T12:00:0"),
    "a time that is none": ("\ntwo\n", "\ntwo\n\n## [2026-02-31] #y\nthree\n"),
    "a status that is none": ("status: active", "status: asleep"),
    "a byte that is not UTF-8": ("\ntwo\n", "\ntw\udcf6\n"),
}


@pytest.mark.parametrize("what", UNCLEAR)
def test_what_is_not_understood_is_told_every_time_until_it_is_set_right(m, what):
    from tallystick.repair.check import check

    old = m.pages.append("person-ana", "one", ["x"])
    m.pages.supersede("person-ana", old.id, "two")
    path = page_at(m, "person-ana.md")
    was, is_now = UNCLEAR[what]
    whole = path.read_text()
    path.write_bytes(whole.replace(was, is_now, 1).encode(errors="surrogateescape"))

    first = told(m)
    assert first
    left = path.read_bytes()
    assert told(m) == told(m) != []
    assert path.read_bytes() == left
    assert [finding.code for finding in check(m.folder) if finding.severity == "error"] == ["page-differs"]

    right = left.replace(is_now.encode(errors="surrogateescape"), was.encode())
    path.write_bytes(right.replace(b"2026-02-31", b"2026-02-28"))
    assert told(m) == []
    assert [finding.code for finding in check(m.folder) if finding.severity == "error"] == []
    assert m.show(old.id).text == "two"


def test_a_heading_that_says_another_time_is_when_it_happened(m, ana):
    entry, path = ana
    edit(path, "## [2026-05-20T12", "## [2025-05-20T12")

    assert [each.what.split()[0] for each in m.pages.sync().adopted] == ["dated"]

    assert m.pages.read("person-ana").entries[0].at.startswith("2025-05-20T12")
    assert m.show(entry.id).text == "one"
    assert parse(path.read_text()).entries[0].id == entry.id


@pytest.mark.parametrize("zone", ["Asia/Shanghai", '"+02:00"'])
def test_a_page_that_is_put_on_another_clock_says_the_same_moments_on_it(m, zone):
    old = m.pages.append("person-ana", "one", ["x"])
    m.pages.supersede("person-ana", old.id, "two")
    path = page_at(m, "person-ana.md")
    before = {each.id: each.at for each in parse(path.read_text()).entries}
    end = end_of(m)
    edit(path, "needs_compact: false\n", f"needs_compact: false\nzone: {zone}\n")

    m.pages.sync()

    hour = 20 if "Asia" in zone else 14
    assert path.read_text().count(f"## [2026-05-20T{hour}:00:") == 2
    assert {each.id: each.at for each in parse(path.read_text()).entries} == before
    assert end_of(m) == end
    edit(path, "\ntwo\n", "\nthree\n")
    assert [each.what.split()[0] for each in m.pages.sync().adopted] == ["edited"]
    m.pages.append("person-ana", "four", ["x"])
    assert path.read_text().count(f"## [2026-05-20T{hour}:00:") == 4


def test_lines_broken_otherwise_are_no_new_version_and_stay_so(m):
    entry = m.pages.append("person-ana", "Ana likes tea, and coffee in the morning.", ["x"])
    code = m.pages.append("person-ana", "```\nif a:\n    b\n```", ["x"])
    path = page_at(m, "person-ana.md")
    edit(path, "tea, and coffee", "tea,\nand  coffee")
    end = end_of(m)

    m.pages.sync()

    assert end_of(m) == end
    assert m.show(entry.id).id == entry.id
    m.pages.append("person-ana", "two", ["x"])
    assert "tea,\nand  coffee" in path.read_text()
    edit(path, "    b\n", "  b\n")
    m.pages.sync()
    assert m.show(code.id).text == "```\nif a:\n  b\n```"


def test_a_heading_in_a_code_block_begins_no_entry_and_a_forgotten_fence_swallows_none(m):
    m.pages.append("person-ana", "one", ["x"])
    second = m.pages.append("person-ana", "two", ["x"])
    m.pages.append("person-ana", "```\nthree\n```", ["x"])
    path = page_at(m, "person-ana.md")
    fenced = "A page:\n~~~\n## [2026-04-20T14:02:11] {id: 20260420-1402-a1b23c} #identity\nUser goes by Kming.\n~~~"
    path.write_text(path.read_text() + f"\n## #format\n{fenced}\n")
    m.pages.sync()
    assert texts_of(m) == sorted(["one", "two", "```\nthree\n```", fenced])
    is_settled(m)

    for opened in ("```\none\n", "```\none\n```\n```\n"):
        edit(path, "\none\n", f"\n{opened}")
        m.pages.sync()
        assert {"two", "```\nthree\n```"} <= set(texts_of(m))
        assert m.show(second.id).status == "active"
        edit(path, f"\n{opened}", "\none\n") if f"\n{opened}" in path.read_text() else None


def test_a_file_of_nothing_but_entries_gets_a_whole_front_matter_and_ids_of_the_minutes_it_names(m):
    path = page_at(m, "person-ana.md")
    path.parent.mkdir(exist_ok=True)
    path.write_text("## [2026-02-03T04:05] #x\none\n\n## #x\ntwo\n")

    m.pages.sync()

    fields = ["description", "tags", "status", "created", "updated", "entry_count", "needs_compact"]
    assert list(parse(path.read_text()).front.fields)[: len(fields)] == fields
    for entry in parse(path.read_text()).entries:
        assert entry.id[:13] == entry.time.replace("-", "").replace("T", "-").replace(":", "")[:13]


# -- another name ------------------------------------------------------------------------------------------------------


def test_what_is_typed_below_a_page_twice_within_a_second_is_there_twice(home):
    with Memory(folder_in(home / "kept"), clock=lambda: datetime(2026, 5, 20, 12, tzinfo=UTC)) as m:
        m.pages.append("person-ana", "one")
        m.pages.append("person-ana", "one")
        for _ in range(2):
            path = page_at(m, "person-ana.md")
            path.write_text(path.read_text() + "\n## #hand\nBob came by.\n")
            m.pages.sync()
            typed = [entry.id for entry in m.pages.read("person-ana").entries if entry.text == "Bob came by."]
            if len(typed) == 1:
                m.pages.compact("person-ana")  # the page looks as it did before
        assert len(set(typed)) == 2
        is_settled(m)


def test_a_page_that_every_memory_begins_with_is_served_under_the_name_that_a_person_gave_its_file(m):
    m.pages.append("user-preferences", "Tea, and no sugar.")
    page_at(m, "user-preferences.md").rename(m.pages.folder / "topic-tea.md")
    m.pages.sync()

    page = m.pages.read("topic-tea")
    assert "What the user likes, and how they want things done" in page.text
    assert [entry.text for entry in page.entries] == ["Tea, and no sugar."]


@pytest.mark.parametrize("meanwhile", ["nothing", "an edit", "an entry"])
def test_a_file_with_another_name_is_the_same_page_of_an_entity_with_another_name(m, meanwhile):
    old = m.pages.append("person-ana", "one", ["x"])
    new = m.pages.supersede("person-ana", old.id, "two")
    m.pages.append("person-ana", "three", ["x"])
    m.pages.describe("person-ana", description="A friend")
    path = page_at(m, "person-anna.md")
    page_at(m, "person-ana.md").rename(path)
    if meanwhile == "an edit":
        edit(path, "\nthree\n", "\nthree and more\n")
    elif meanwhile == "an entry":
        m.pages.append("person-ana", "four", ["x"])

    m.pages.sync()

    texts = {"nothing": ["three", "two"], "an edit": ["three and more", "two"], "an entry": ["four", "three", "two"]}
    held = [belief for belief in m.beliefs.all() if belief.status == "active"]
    assert sorted(belief.text for belief in held) == texts_of(m, "person-anna") == texts[meanwhile]
    assert {belief.about for belief in held} == {"person-anna"}
    assert not page_at(m, "person-ana.md").exists()
    page = parse(path.read_text())
    assert [entry.id for entry in page.entries][:2] == [old.id, new.id]
    assert (page.title, page.front.description) == ("Anna", "A friend")
    assert [info.path for info in m.pages.list()].count("person-anna.md") == 1
    is_settled(m)

    m.pages.append("person-ana", "somebody else", ["x"])
    assert texts_of(m) == ["somebody else"]


def test_a_comment_and_a_heading_below_an_entry_stay_when_its_words_are_changed(m):
    m.pages.append("person-ana", "Ana likes tea.", ["fact"])
    page, below = page_at(m, "person-ana.md"), "<!-- ask her again -->\n\n\n# My part"
    text = page.read_text(encoding="utf-8").rstrip("\n") + f"\n\n\n{below}"
    page.write_text(text.replace("Ana likes tea.", "~~Ana likes tea.") + "~~\n", encoding="utf-8")
    m.pages.sync()

    assert page.read_text(encoding="utf-8").count(below) == 1
    assert texts_of(m) == ["~~Ana likes tea."]


@pytest.mark.parametrize("how", ["tag", "words", "retract", "crlf"])
def test_a_comment_below_an_entry_stays_whatever_becomes_of_the_entry(m, how):
    entry = m.pages.append("person-ana", "Ana likes tea.", ["fact"])
    page = page_at(m, "person-ana.md")
    comments = "<!-- ask her again -->\n<!-- supersedes my old note -->\n"
    text = page.read_text(encoding="utf-8").rstrip("\n") + f"\n\n{comments}"
    if how in ("tag", "crlf"):
        text = text.replace("#fact\n", "#fact #byhand\n")
    elif how == "words":
        text = text.replace("likes", "loves")
    page.write_bytes(text.replace("\n", "\r\n" if how == "crlf" else "\n").encode())
    m.pages.sync()
    if how == "retract":
        m.forget(entry.id)
        m.pages.sync()

    assert page.read_text(encoding="utf-8").count(comments) == 1
