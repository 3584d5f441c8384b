"""A rewrite of a page, a person's or a model's, is taken only if every fact is still there."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory
from tallystick.records.errors import Refused, TallystickError
from tests.conftest import at_most
from tests.memory.conftest import Clock
from tests.refusals import refuses
from tests.strategies import HOSTILE, texts

SAID = {
    "job": "Ana works at Old Corp.",
    "money": "Ana owes Bob 40 EUR since 2026-01-03.",
    "not": "Ana does not eat fish.",
    "pair": "Ana manages Bob.",
    "link": "The plan is at https://example.org/plan.",
    "cjk": "安娜住在上海。",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """A memory with a page on which there is one of each, and the ids."""
    clock = Clock()
    with Memory(tmp_path_factory.mktemp("made") / "memory", clock=clock) as memory:
        return memory.folder, fill(memory, clock)


@pytest.fixture
def memory(home, clock, made):
    clock.now += timedelta(days=1)
    shutil.copytree(made[0], home / "memory")
    with Memory(home / "memory", clock=clock) as opened:
        yield opened


@pytest.fixture
def names(made) -> dict[str, str]:
    return made[1]


def fill(memory: Memory, clock: Clock) -> dict[str, str]:
    """ "now" took the place of "job"."""
    found = {name: memory.pages.append("person-ana", text, ["note", name]).id for name, text in SAID.items()}
    clock.now += timedelta(days=1)
    found["now"] = memory.pages.supersede("person-ana", found["job"], "Ana works at Acme.").id
    found["key"] = memory.remember("Ana drinks tea.", key="drink", about="person-ana").id
    found["tea"] = memory.pages.append("person-ana", "Ana drinks tea.", ["note"]).id
    found["gone"] = memory.pages.append("person-ana", "Ana has a cat.", ["note"]).id
    memory.forget(found["gone"])
    found["last"] = memory.pages.append("person-ana", "Ana has two dogs.", ["note"]).id
    return found


def text_of(memory: Memory) -> str:
    return (memory.pages.folder / "person-ana.md").read_text()


def without(text: str, name: str) -> str:
    """The page without the entry of that id."""
    start = text.rindex("## [", 0, text.index(f"{{id: {name}}}"))
    end = text.find("## [", start + 1)
    return text[:start] + (text[end:] if end > 0 else "")


def swapped(text: str, one: str, other: str) -> str:
    return text.replace(one, "\0").replace(other, one).replace("\0", other)


def joined_tea(text, into, gone):
    """The page with one entry about tea in the place of two."""
    words = "Ana drinks tea.\n"
    place = text.index(words, text.index(into)) + len(words)
    return without(text[:place] + f"<!-- supersedes: {gone} -->\n" + text[place:], gone)


def revived(text, names):
    return text.replace(f" #superseded-by:{names['now']}", "").replace("~~Ana works at Old Corp.~~", SAID["job"])


REFUSED = {
    "amount changed": (lambda text, _: text.replace("40 EUR", "400 EUR"), "an amount is missing"),
    "currency changed": (lambda text, _: text.replace("40 EUR", "40 USD"), "an amount is missing"),
    "date changed": (lambda text, _: text.replace("2026-01-03", "2026-01-30"), "a date or time is missing"),
    "not removed": (lambda text, _: text.replace("does not eat", "eats"), "a negation is missing"),
    "not added": (lambda text, _: text.replace("Ana manages", "Ana never manages"), "this is new"),
    "names swapped": (lambda text, _: swapped(text, "Ana manages Bob", "Bob manages Ana"), "another order"),
    "facts swapped": (lambda text, _: swapped(text, SAID["not"], SAID["pair"]), "missing"),
    "superseded fact revived": (revived, "a struck entry is current again"),
    "retracted fact revived": (
        lambda text, _: text.replace(" #retracted", "").replace("~~Ana has a cat.~~", "Ana has a cat."), "is current",
    ),
    "what holds struck": (lambda text, _: text.replace(SAID["pair"], f"~~{SAID['pair']}~~"), "current entry is struck"),
    "heading dropped": (lambda text, names: without(text, names["pair"]), "the entry is missing"),
    "history dropped": (lambda text, names: without(text, names["job"]), "the entry is missing"),
    "struck words changed": (lambda text, _: text.replace("at Old Corp", "at the Old Corp"), "keeps its words"),
    "CJK deleted": (lambda text, _: text.replace("上海", ""), "上海"),
    "CJK changed": (lambda text, _: text.replace("上海", "北京"), "上海"),
    "link dropped": (lambda text, _: text.replace(" at https://example.org/plan", ""), "a link is missing"),
    "link changed": (lambda text, _: text.replace("org/plan", "org/Plan"), "a link is missing"),
    "tag dropped": (lambda text, _: text.replace(" #money", ""), "a tag is missing"),
    "tag added": (lambda text, _: text.replace("#money", "#money #new"), "a tag is new"),
    "time changed": (lambda text, _: text.replace("## [2026-05-20T12:00:00]", "## [2026-05-20T12:00:01]", 1), "time"),
    "order changed": (
        lambda text, names: without(text, names["pair"]) + text[text.index("## [", text.index(SAID["not"])) :].split(
            "\n\n")[0] + "\n", "is after",
    ),
    "keyed belief joined": (lambda text, ids: joined_tea(text, ids["tea"], ids["key"]), "a caller gave this a key"),
    "joined to a keyed belief": (
        lambda text, names: joined_tea(text, names["key"], names["tea"]), "a caller gave this a key"),
    "keyed belief reworded": (
        lambda text, names: text.replace("Ana drinks tea.", "Ana drinks the tea.", 1), "its words stay"),
    "an entry from nowhere": (
        lambda text, _: text + "\n## [2026-05-21T12:00:00] {id: 20260521-1200-abcdef} #note\nAna is rich.\n", "is new",
    ),
    "a superseded fact as a new entry": (
        lambda text, _: text + f"\n## [2026-05-21T12:00:00] {{id: 20260521-1200-abcdef}} #note\n{SAID['job']}\n",
        "this was said until",
    ),
    "all gone": (lambda text, _: text[: text.index("## [")], "the entry is missing"),
    "description changed": (lambda text, _: text.replace("What is known", "All that is known"), "front matter"),
    "status changed": (lambda text, _: text.replace("status: active", "status: archived"), "front matter"),
    "created changed": (lambda text, _: text.replace("created: 2026-05-20", "created: 2026-05-19"), "front matter"),
    "front matter dropped": (lambda text, _: text.split("---\n", 2)[2], "front matter"),
    "front matter broken": (lambda text, _: text.replace("status: active", "status: [active"), "front matter"),
    "title changed": (lambda text, _: text.replace("# Ana\n", "# Bob\n"), "the title is another"),
    "a line before the entries": (lambda text, _: text.replace("# Ana\n", "# Ana\n\nNote this.\n"), "before the ent"),
    "a heading that is none": (
        lambda text, _: text.replace("## [2026-05-20T12:00:00]", "## [2026-05-99T12:00:00]", 1), "line"),
    "an id twice": (lambda text, names: text.replace(names["pair"], names["not"]), "line"),
    "a hidden sign": (lambda text, _: text.replace("Ana manages", "Ana\u202e manages"), "nobody sees|invented|gone"),
    "a name joined by nothing": (lambda text, _: text.replace("Ana manages", "A\u200bna manages"), "nobody|gone"),
    "a NUL": (lambda text, _: text.replace("Ana manages", "Ana \x00manages"), "nobody|gone"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_rewrite_that_loses_a_fact_is_refused_and_changes_nothing_but_the_flag(memory, names, what):
    change, why = REFUSED[what]
    before = text_of(memory)
    rewrite = change(before, names)
    assert rewrite != before
    held = [memory.get(name) for name in names.values()]
    shown = memory.pages.read("person-ana", include_superseded=True).entries

    with pytest.raises(Refused, match=why) as refused:
        memory.pages.compact("person-ana", rewrite)

    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("person-ana.md was not folded")
    assert text_of(memory) == before.replace("needs_compact: false", "needs_compact: true")
    assert [memory.get(name) for name in names.values()] == held
    assert memory.pages.read("person-ana", include_superseded=True).entries == shown
    [flagged] = memory.pages.compactions()
    assert flagged.why.startswith("flagged: a rewrite was refused: ")
    assert len(flagged.why) < 220


def test_what_is_refused_twice_is_recorded_once(memory, names):
    wrong = text_of(memory).replace("40 EUR", "41 EUR")
    for _ in range(2):
        with pytest.raises(Refused):
            memory.pages.compact("person-ana", wrong)
    assert [event.op for event in memory.log()].count("page.put/1") == 1


def test_a_refusal_tells_the_first_losses_and_how_many_more(memory, names):
    with pytest.raises(Refused, match=r"; and \d+ more$") as refused:
        memory.pages.compact("person-ana", text_of(memory).replace("Ana", "Eva"))
    assert str(refused.value).count("; ") < 10
    assert len(str(refused.value)) < 1500


@pytest.mark.parametrize("nothing", ["", "  \n", 7, b"# Ana"])
def test_what_is_no_page_at_all_is_refused_and_the_page_is_not_even_flagged(memory, names, nothing):
    before, events = text_of(memory), memory.status().events
    with refuses("required", "Markdown"):
        memory.pages.compact("person-ana", nothing)
    with refuses("text", "surrogate"):
        memory.pages.compact("person-ana", before.replace("Ana manages", "Ana \udcffmanages"))
    assert (text_of(memory), memory.status().events) == (before, events)


# -- accepted ----------------------------------------------------------------------------------------------------------


def test_the_page_as_it_is_is_accepted_and_the_flag_is_gone(memory, names):
    memory.pages.flag_compact("person-ana", "is it all right?")
    before = text_of(memory)

    done = memory.pages.compact("person-ana", before)

    assert done.changes == ()
    assert memory.pages.compactions() == []
    assert text_of(memory) == before.replace("needs_compact: true", "needs_compact: false")


def test_our_own_proposal_is_accepted_as_a_rewrite(memory, names):
    memory.pages.flag_compact("person-ana")
    [ours] = memory.pages.compactions()

    done = memory.pages.compact("person-ana", ours.text)

    assert done.entries_after == ours.entries_after < ours.entries_before
    shown = [each.text for each in memory.pages.read("person-ana").entries]
    assert "Ana works at Acme. (Until 2026-05-21: Ana works at Old Corp.)" in shown
    assert memory.get(names["job"]).text == "Ana works at Acme. (Until 2026-05-21: Ana works at Old Corp.)"


def test_a_rewrite_may_give_an_entry_another_id_if_it_names_the_old_ones(memory, names):
    text = without(text_of(memory), names["job"])
    start = text.rindex("## [", 0, text.index(names["now"] + "}"))
    end = text.index("## [", start + 1)
    made = (
        "## [2026-05-21T12:00:00] {id: 20260521-1200-000001} #note #job\n"
        "Ana works at Acme. (Until 21 May 2026: Ana works at Old Corp.)\n"
        f"<!-- supersedes: {names['now']}, {names['job']} -->\n\n"
    )

    memory.pages.compact("person-ana", text[:start] + made + text[end:])

    [entry] = [each for each in memory.pages.read("person-ana").entries if "Acme" in each.text]
    assert set(entry.supersedes) == {names["now"], names["job"]}
    assert entry.text == "Ana works at Acme. (Until 21 May 2026: Ana works at Old Corp.)"
    assert memory.get(names["job"]).id == memory.get(names["now"]).id == entry.id != "20260521-1200-000001"


def test_statements_may_be_set_after_each_other_and_are_erased_together(memory, names):
    text = without(text_of(memory), names["pair"])
    words = SAID["link"] + "\n"
    joined = f"Ana manages Bob. {SAID['link']}\n<!-- supersedes: {names['pair']} -->\n"
    text = text.replace("#note #link", "#note #link #pair").replace(words, joined)

    memory.pages.compact("person-ana", text)

    assert memory.get(names["pair"]).text == f"Ana manages Bob. {SAID['link']}"
    memory.erase(names["pair"])
    assert "example.org" not in text_of(memory)
    assert "manages" not in text_of(memory)


def test_numbers_and_fillers_may_be_written_otherwise(memory, names):
    memory.pages.compact("person-ana", text_of(memory).replace("2026-01-03", "3 January 2026").replace(
        "Ana has two dogs", "Ana has 2 dogs"))  # fmt: skip

    shown = [each.text for each in memory.pages.read("person-ana").entries]
    assert "Ana owes Bob 40 EUR since 3 January 2026." in shown
    assert "Ana has 2 dogs." in shown
    assert memory.get(names["money"]).text == "Ana owes Bob 40 EUR since 3 January 2026."


def test_what_a_person_edited_meanwhile_is_in_the_page_that_the_rewrite_is_held_against(memory, names):
    before = text_of(memory)
    (memory.pages.folder / "person-ana.md").write_text(before.replace("40 EUR", "50 EUR"))

    with refuses("value", "50"):
        memory.pages.compact("person-ana", before)

    assert "50 EUR" in text_of(memory)
    assert "40 EUR" in text_of(memory)


def test_a_page_with_its_own_comments_keys_and_line_ends_keeps_them(memory, names):
    path = memory.pages.folder / "person-ana.md"
    text = text_of(memory).replace("status: active", "mood: calm # mine\nstatus: active").replace(
        "# Ana\n", "# Ana\n\n<!-- a note -->\nOf Ana.\n")  # fmt: skip
    path.write_bytes(text.replace("\n", "\r\n").encode())
    memory.pages.sync()

    memory.pages.compact("person-ana")

    kept = path.read_bytes()
    assert b"mood: calm # mine\r\n" in kept
    assert b"# Ana\r\n\r\n<!-- a note -->\r\n" in kept
    assert kept.endswith(b"#fact\r\nOf Ana.\r\n")  # a line of the person's is a statement, and has its heading now
    assert kept.count(b"\n") == kept.count(b"\r\n")
    assert b"Acme. (Until 2026-05-21" in kept
    assert memory.pages.sync().is_clean


def test_a_page_that_somebody_wrote_by_hand_is_folded_as_it_is_written(memory):
    path = memory.pages.folder / "person-bob.md"
    path.write_text(
        "---\ncreated: 2026-04-20\nmood: calm\n---\n# Bob\n\n"
        "## [2026-04-20T14:02] {id: 20260420-1402-a1b23c}\nBob plays chess.\n\n"
        "## [2026-04-20T16:30:05+02:00] {id: 20260420-1630-3f0e99} #work\n"
        "~~Bob works at Old Corp.~~ #superseded-by:20260421-0915-c4f1a5\n\n"
        "## [2026-04-21T09:15:00] {id: 20260421-0915-c4f1a5} #work\nBob joined Acme.\n\n"
        "## #work\n\n"
    )
    memory.pages.sync()
    before = path.read_text()

    assert memory.pages.compact("person-bob", before).changes == ()
    memory.pages.compact("person-bob")

    text = path.read_text()
    assert "## [2026-04-20T14:02] {id: 20260420-1402-a1b23c}\nBob plays chess.\n\n## [2026-04-21T09:15:00]" in text
    assert "Bob joined Acme. (Until 2026-04-21: Bob works at Old Corp.)\n" in text
    assert "supersedes: 20260421-0915-c4f1a5, 20260420-1630-3f0e99 -->\n\n## #work\n" in text
    assert "mood: calm\n" in text


# -- anything at all ---------------------------------------------------------------------------------------------------


@settings(max_examples=at_most(30), deadline=None)
@given(data=st.data())
def test_no_rewrite_whatever_breaks_the_page(tmp_path_factory, data):
    said = [text for text in data.draw(st.lists(texts, min_size=1, max_size=4)) if text.strip()] or ["Ana."]
    with Memory(tmp_path_factory.mktemp("memory")) as memory:
        for text in said:
            memory.pages.append("topic-x", text, ["a"])
        path = memory.pages.folder / "topic-x.md"
        before = path.read_bytes().decode()
        held = [each.text for each in memory.pages.read("topic-x").entries]
        cut = data.draw(st.integers(0, len(before)))
        end = data.draw(st.integers(cut, min(len(before), cut + 40)))
        come = data.draw(st.one_of(texts, st.sampled_from([*HOSTILE, "## [", "~~", "-->"])))
        rewrite = before[:cut] + come + before[end:]
        try:
            memory.pages.compact("topic-x", rewrite)
        except TallystickError:
            assert [each.text for each in memory.pages.read("topic-x").entries] == held
            assert path.read_bytes().decode().replace("needs_compact: true", "needs_compact: false") == before
        assert memory.pages.sync().adopted == ()
        assert memory.pages.rebuild().adopted == ()
        assert len(memory.pages.read("topic-x").entries) <= len(held)
