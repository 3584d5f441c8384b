"""`m.pages`: what callers get, what a person's edit becomes, and what is never lost or forged."""

from __future__ import annotations

import os
import re
import shutil
import stat
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory
from tallystick.memory.pages import sync as page_sync
from tallystick.memory.pages.files import PagesAt
from tallystick.projections.markdown import parse
from tallystick.projections.pages.open_database import PagesFile
from tallystick.records.errors import Closed, NotFound, Refused, TallystickError
from tests import strategies
from tests.memory.paged import (
    cut_first,
    end_of,
    entry_texts,
    files_of,
    folder_in,
    is_exactly_ours,
    is_settled,
    page_at,
    tables_of,
)
from tests.projections.markdown.samples import SAMPLE
from tests.refusals import refuses


@pytest.fixture
def m(home: Path):
    """A memory whose clock goes a second forward whenever it is looked at.

    After the test, page, tables and ledger must agree.
    """
    times = (datetime(2026, 5, 20, 12, tzinfo=UTC) + timedelta(seconds=n) for n in count())
    with Memory(folder_in(home / "kept"), clock=lambda: next(times)) as opened:
        yield opened
        with suppress(Closed):  # whoever closes it has another one to look at
            is_settled(opened)


@pytest.fixture
def ana(m: Memory):
    """A page with one entry, and its file."""
    return m.pages.append("person-ana", "one", ["x"]), page_at(m, "person-ana.md")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def lag(memory: Memory) -> None:
    """From now on pages are written only when somebody asks."""
    memory._services.page_writer._is_on = False


# -- the sample, and folders without a ledger --------------------------------------------------------------------------


def test_the_sample_is_adopted_and_stays_as_it_is_until_something_is_written_to_it(m):
    page_at(m, "").mkdir(exist_ok=True)
    path = page_at(m, "user-profile.md")
    path.write_text(SAMPLE)

    m.pages.sync()
    is_settled(m)

    assert path.read_text() == SAMPLE
    held = {belief.id: belief for belief in m.beliefs.all()}
    assert held["20260421-0915-c4f1a5"].text == "User joined Acme Corp as a senior engineer."
    assert m.get("20260420-1630-3f0e99").id == "20260421-0915-c4f1a5"
    m.pages.append("user-profile", "User has a dog.", ["pets"])
    text = path.read_text()
    assert "entry_count: 4\n" in text
    assert text.replace("updated: ", "").startswith(SAMPLE.split("updated: ")[0])
    m.pages.append("user-profile", "And a cat.", ["pets"])
    assert "entry_count: 5\n" in path.read_text()


def folder_of_pages(place: Path) -> None:
    pages = place / "memory"
    pages.mkdir(parents=True)
    entry = "## [2026-01-01T00:00:00] {{id: 20260101-0000-{}}} #x{}\n{}\n\n"
    chain = [("aaaa", " #superseded-by:20260101-0000-bbbb", "~~one~~"), ("bbbb", "", "two")]
    (pages / "person-ana.md").write_text("# Ana\n\n" + "".join(entry.format(*each) for each in chain))
    cycle = [("aaaaaa", " #superseded-by:20260101-0000-bbbbbb", "~~this~~")]
    cycle += [("bbbbbb", " #superseded-by:20260101-0000-aaaaaa", "~~that~~"), ("cccccc", "", "lone")]
    cycle += [("dddddd", " #superseded-by:20260101-0000-dddddd", "~~itself~~")]
    (pages / "person-bob.md").write_text("".join(entry.format(*each) for each in cycle))
    dangling = [("eeeeee", " #superseded-by:20990101-0000-ffffff", "~~gone~~"), ("aaaaaa", "", "a clash")]
    dangling += [("ffffff", " #superseded-by:20260101-0000-cccccc", "~~to another page~~")]
    dangling += [("000000", " #retracted", "~~no~~")]
    (pages / "project-x.md").write_text("".join(entry.format(*each) for each in dangling))
    (pages / "@carl").mkdir()
    (pages / "@carl" / "person-ana.md").write_text(entry.format("aaaa", "", "another user's own"))
    (pages / "notes.md").write_text("no page of ours\n")


def test_pages_without_a_ledger_are_adopted_with_their_chains_and_no_word_is_lost(home):
    place = folder_in(home / "kept")
    folder_of_pages(place)
    before = {path.name: path.read_bytes() for path in (place / "memory").glob("*.md")}

    with Memory(place) as m:
        told = m.pages.sync()
        is_settled(m)
        held = {belief.text: belief.status for belief in m.beliefs.all()}
        assert held == {
            "two": "active", "this": "tombstone", "lone": "active", "itself": "tombstone", "gone": "superseded",
            "a clash": "active", "to another page": "superseded", "no": "tombstone",
        }  # fmt: skip
        after = {path.name: path.read_bytes() for path in (place / "memory").glob("*.md")}
        assert {name for name in before if before[name] == after[name]} == {"notes.md"}
        assert [str(each) for each in told.problems if "notes.md" in each.path] != []
        assert "20260101-0000-aaaaaa" in page_at(m, "person-bob.md").read_text()
        assert "a clash" in page_at(m, "project-x.md").read_text()
    with Memory(place, user="carl") as carl:
        assert [belief.text for belief in carl.beliefs.all()] == ["another user's own"]


def test_the_same_pages_adopted_twice_give_the_same(home):
    stories = []
    for name in ("one", "two"):
        folder_of_pages(folder_in(home / name))
        with Memory(home / name) as m:
            m.pages.sync()
            stories.append({(b.text, b.status, b.about, b.tags) for b in m.beliefs.all()})
            drawn = {e.id for e in m.pages.read("project-x", include_superseded=True).entries}
            assert len(drawn) == 4
    assert stories[0] == stories[1]


def test_history_that_a_person_edited_shows_again_what_took_its_place(m):
    old = m.pages.append("person-ana", "one", ["x"])
    new = m.pages.supersede("person-ana", old.id, "two", "it changed")
    edit(page_at(m, "person-ana.md"), f" #superseded-by:{new.id}\n~~one~~", " #retracted\n~~one~~\n\nmore")

    m.pages.sync()

    assert f" #retracted #superseded-by:{new.id}\n" in page_at(m, "person-ana.md").read_text()


def test_what_took_the_place_of_the_very_same_words_is_an_entry_of_its_own(m):
    page_at(m, "").mkdir(exist_ok=True)
    old = "## [2026-01-01T00:00:00] {id: 20260101-0000-aaaaaa} #x #superseded-by:20260101-0000-bbbbbb\n~~tea~~\n\n"
    page_at(m, "person-ana.md").write_text(old + "## [2026-01-01T00:00:00] {id: 20260101-0000-bbbbbb} #y\ntea\n")
    m.pages.sync()
    is_settled(m)

    page_at(m, "person-ana.md").write_text(page_at(m, "person-ana.md").read_text() + "\n## #x\nand cake\n")
    m.pages.sync()
    is_settled(m)

    held = [(belief.id, belief.text, belief.status) for belief in m.beliefs.all() if belief.text == "tea"]
    assert held == [("20260101-0000-aaaaaa", "tea", "tombstone"), ("20260101-0000-bbbbbb", "tea", "active")]


def test_an_adopted_page_without_front_matter_or_with_many_tags_is_not_written(m):
    page_at(m, "").mkdir(exist_ok=True)
    text = "## [2026-01-01T00:00:00] {id: 20260101-0000-aaaaaa} #x #y #z #four\nhello\n"
    page_at(m, "person-ana.md").write_text(text)

    m.pages.sync()
    is_settled(m)

    assert page_at(m, "person-ana.md").read_text() == text
    assert m.get("20260101-0000-aaaaaa").tags == ("x", "y", "z", "four")


# -- what a person did -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trust", ["human", "agent"])
def test_a_changed_body_is_a_new_version_by_a_person_and_the_old_words_are_struck(home, trust):
    with Memory(folder_in(home / "kept"), trust=trust) as m:
        entry = m.pages.append("person-ana", "Ana likes tea.", ["taste"])
        edit(page_at(m, "person-ana.md"), "likes tea", "likes coffee")

        other = m.pages.append("person-ana", "Ana lives in Rome.", ["home"])

        belief = m.show(entry.id)
        assert (belief.text, belief.trust, belief.reason) == ("Ana likes coffee.", "human", "edited on the page")
        assert [e.by for e in m.log(op="belief.supersede")] == ["page:edit"]
        assert m.show(other.id).trust == trust
        page = parse(page_at(m, "person-ana.md").read_text())
        written = [(e.body, e.superseded_by) for e in page.entries]
        assert written == [("Ana likes tea.", belief.id), ("Ana lives in Rome.", ""), ("Ana likes coffee.", "")]
        assert page.front.entry_count == 3
        is_settled(m)


def test_an_entry_with_and_without_id_time_and_tags_is_added_once(m, ana):
    _, path = ana
    more = "\n## #hand\nno id\n\n## [2026-02-03T04:05]\nno tag\n\n## {id: 20260203-0405-abcdef}\nno time\n"
    path.write_text(path.read_text() + more + "\n## #hand\nno id\n")

    m.pages.sync()

    entries = parse(path.read_text()).entries
    assert [e.body for e in entries] == ["one", "no id", "no tag", "no time", "no id"]
    assert all(e.id and e.at and e.tags for e in entries)
    assert entries[3].id == "20260203-0405-abcdef"
    assert len({e.id for e in entries}) == 5
    assert m.get(entries[2].id).views["entry"]["at"].startswith("2026-02-03T04:05")


def test_a_removed_entry_is_taken_back_and_stays_on_the_page_struck(m):
    entry = m.pages.append("person-ana", "one", ["x"])
    m.pages.append("person-ana", "two", ["x"])
    cut_first(page_at(m, "person-ana.md"))

    m.pages.sync()

    assert m.show(entry.id).status == "tombstone"
    assert m.show(entry.id).reason == "removed from the page"
    assert "~~one~~" in page_at(m, "person-ana.md").read_text()


def test_an_entry_moved_to_another_page_is_about_that_and_keeps_its_history(m):
    entry = m.pages.append("person-ana", "one", ["x"])
    m.pages.append("person-ana", "two", ["x"])
    m.pages.append("person-bob", "three", ["x"])
    bob = page_at(m, "person-bob.md")
    bob.write_text(bob.read_text() + "\n" + cut_first(page_at(m, "person-ana.md")).replace("#x", "#y"))

    m.pages.sync()

    belief = m.show(entry.id)
    assert (belief.about, belief.text, belief.tags, belief.status) == ("person-bob", "one", ("y",), "active")
    assert len(m.history(entry.id)) == 2
    assert m.beliefs.all()[0].id == belief.id


def test_an_entry_moved_and_struck_is_taken_back_where_it_is_now(m, ana):
    entry, path = ana
    page_at(m, "person-bob.md").write_text(cut_first(path).replace("\none\n", "\n~~one~~\n"))

    m.pages.sync()

    assert (m.show(entry.id).about, m.show(entry.id).status) == ("person-bob", "tombstone")


def test_an_entry_moved_twice_is_moved_once_and_copied_once(m, ana):
    entry, path = ana
    page_at(m, "person-bob.md").write_text("\n".join([cut_first(path)] * 2))

    m.pages.sync()

    ids = [each.id for each in parse(page_at(m, "person-bob.md").read_text()).entries]
    assert len(set(ids)) == 2
    assert m.show(entry.id).id == ids[0]


def test_a_copied_entry_is_another_of_its_own(m, ana):
    entry, path = ana
    copy = next(entry_texts(path.read_text()))
    path.write_text(path.read_text() + "\n" + copy)
    page_at(m, "person-bob.md").write_text(copy)

    m.pages.sync()

    held = [belief for belief in m.beliefs.all() if belief.text == "one"]
    assert sorted(belief.about for belief in held) == ["person-ana", "person-ana", "person-bob"]
    assert m.show(entry.id).about == "person-ana"


@pytest.mark.parametrize("words", ["one", "one, they said"])
def test_an_entry_struck_by_hand_is_taken_back_with_the_words_it_has_and_taken_up_when_the_strike_goes(m, ana, words):
    entry, path = ana
    edit(path, "\none\n", f"\n~~{words}~~\n")
    m.pages.sync()
    assert m.show(entry.id).status == "tombstone"
    assert f" #retracted\n~~{words}~~" in path.read_text()

    edit(path, f" #retracted\n~~{words}~~", "\none")
    m.pages.sync()

    assert m.show(entry.id).status == "active"


def test_superseded_by_written_by_hand_names_what_took_its_place(m):
    old, new = m.pages.append("person-ana", "one", ["x"]), m.pages.append("person-bob", "two", ["x"])
    edit(page_at(m, "person-ana.md"), f"{{id: {old.id}}} #x", f"{{id: {old.id}}} #x #superseded-by:{new.id}")

    m.pages.sync()

    assert m.show(old.id).text == "two"
    assert m.pages.read("person-ana", include_superseded=True).entries[0].superseded_by == new.id


@pytest.mark.parametrize("target", ["20990101-0000-ffffff", "itself", "an entry with no words"])
def test_superseded_by_that_names_nothing_takes_the_entry_back(m, ana, target):
    old, path = ana
    name = {"itself": old.id, "an entry with no words": "20260101-0000-aaaaaa"}.get(target, target)
    edit(path, f"{{id: {old.id}}} #x\none", f"{{id: {old.id}}} #x #superseded-by:{name}\n~~one~~")
    if target == "an entry with no words":
        path.write_text(path.read_text() + f"\n## {{id: {name}}} #x\n")

    m.pages.sync()

    assert m.show(old.id).status == "tombstone"


def test_a_successor_that_cannot_be_recorded_leaves_nothing_held_that_is_struck(m, ana):
    old, path = ana
    edit(path, f"{{id: {old.id}}} #x\none", f"{{id: {old.id}}} #x #superseded-by:20260101-0000-aaaaaa\n~~one~~")
    path.write_bytes(path.read_bytes() + b"\n## {id: 20260101-0000-aaaaaa} #x\nnot \xff UTF-8\n")

    m.pages.sync()

    assert m.show(old.id).status == "tombstone"
    assert b"not \xff UTF-8" in path.read_bytes()


def test_a_strike_taken_off_what_was_superseded_comes_back_and_is_told(m):
    old = m.pages.append("person-ana", "one", ["x"])
    new = m.pages.supersede("person-ana", old.id, "two")
    path = page_at(m, "person-ana.md")
    before = path.read_text()
    edit(path, f" #superseded-by:{new.id}\n~~one~~", "\none")

    told = m.pages.sync()

    assert [each.line for each in told.problems] == [13]
    assert {each.id: each for each in parse(path.read_text()).entries}[old.id].superseded_by == new.id
    assert re.sub("updated: .*", "", path.read_text()) == re.sub("updated: .*", "", before)


def test_words_of_what_holds_no_longer_stay_as_a_person_left_them(m):
    old = m.pages.append("person-ana", "one", ["x"])
    m.pages.supersede("person-ana", old.id, "two")
    path = page_at(m, "person-ana.md")
    edit(path, "~~one~~", "~~one, or so we thought~~")

    told = m.pages.sync()
    assert "is no longer current" in told.problems[0].what
    is_settled(m)
    m.pages.append("person-ana", "three", ["x"])

    assert "~~one, or so we thought~~" in path.read_text()
    assert m.show(old.id).text == "two"


def test_tags_changed_by_hand_are_the_beliefs_and_those_without_room_stay(m):
    entry = m.pages.append("person-ana", "one", ["a", "b", "c", "d"])
    edit(page_at(m, "person-ana.md"), "#a #b #c", "#a #new")

    m.pages.sync()

    assert m.show(entry.id).tags == ("a", "new", "d")


def test_front_matter_is_an_update_and_remarks_and_unknown_keys_stay(m, ana):
    _, path = ana
    said = "# a remark\nmine: 1\ndescription: A friend"
    text = path.read_text().replace("description: What is known about Ana", said)
    path.write_text(text.replace("status: active", "status: archived").replace("# Ana\n", "# Ana Banana\n"))

    m.pages.sync()

    page = m.pages.list(include_archived=True)[0]
    assert (page.description, page.status, page.title) == ("A friend", "archived", "Ana Banana")
    m.pages.append("person-ana", "two", ["x"])
    assert "# a remark\nmine: 1\ndescription: A friend\n" in path.read_text()


@pytest.mark.parametrize("year", ["2020", "0002"])
def test_when_a_page_was_made_is_what_a_person_says(m, ana, year):
    _, path = ana
    path.write_text(re.sub("created: .*", f"created: {year}-01-01T00:00:00+14:00", path.read_text()))

    m.pages.sync()

    assert m.pages.list()[0].created.startswith("2019-12-31" if year == "2020" else "2026-05-20")
    is_settled(m)
    assert f"created: {year}-01-01T00:00:00+14:00\n" in path.read_text()


def test_a_front_matter_that_we_could_not_write_ourselves_is_kept_and_no_page_is_lost_by_it(m, ana):
    _, path = ana
    odd = "description: |\n  one\n  two\n  " + "x" * 1500 + '\ntags: ["!!", "a b", retracted]\n'
    path.write_text(re.sub(r"description:.*\ntags:.*\n", lambda _: odd, path.read_text()))

    m.pages.sync()
    m.pages.append("person-ana", "two", ["x"])
    assert odd in path.read_text()
    is_settled(m)
    path.unlink()
    m.pages.sync()

    assert parse(path.read_text()).front.tags == ("a-b",)
    assert [e.body for e in parse(path.read_text()).entries] == ["one", "two"]


def test_a_title_that_was_said_stands_on_the_page_and_is_not_taken_for_an_edit(m):
    m.pages.append("person-ana", "one", ["x"])
    edit(page_at(m, "person-ana.md"), "---\ndescription", "---\n# no title, a remark\ndescription")

    m.pages.describe("person-ana", title="Ana the # Great")

    assert parse(page_at(m, "person-ana.md").read_text()).title == "Ana the # Great"
    assert "# no title, a remark\n" in page_at(m, "person-ana.md").read_text()
    is_settled(m)
    assert m.pages.list()[0].title == "Ana the # Great"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace(b"\n", b"\r\n"), lambda text: b"\xef\xbb\xbf" + text,
        lambda text: text.replace(b"# Ana\n", b""), lambda text: text.partition(b"\n---\n")[2],
        lambda text: text.replace(b"---\n", b"---\n[broken: {\n", 1), lambda text: text + b"\n## [2026-0",
        lambda text: text + b"\n## [when] {id: 2026} #x\nsomething\n", lambda text: text + b"\n<!-- a remark -->\n",
    ],
)  # fmt: skip
def test_what_editors_and_people_do_to_a_file_is_kept_and_no_entry_is_lost(m, ana, spoil):
    entry, path = ana
    spoiled = spoil(path.read_bytes())
    path.write_bytes(spoiled)

    m.pages.sync()
    is_settled(m)
    m.pages.append("person-ana", "two", ["x"])

    assert m.show(entry.id).status == "active"
    kept = [line.strip(b" #<>!-") for line in spoiled.splitlines() if not line.startswith((b"updated", b"entry_count"))]
    assert [line for line in kept if line not in path.read_bytes() and not line.startswith(b"[when]")] == []
    assert path.read_bytes().count(b"something") == spoiled.count(b"something")


def test_bytes_that_are_no_utf_8_stay_in_the_file(m, ana):
    entry, path = ana
    path.write_bytes(path.read_bytes().replace(b"\none\n", b"\no\xffne\n") + b"\n## #q\nnew \xfe\n")

    told = m.pages.sync()
    is_settled(m)

    assert m.show(entry.id).text == "one"
    assert {each.line for each in told.problems} == {13, 14, 16}
    assert b"\no\xffne\n" in path.read_bytes()
    assert b"new \xfe" in path.read_bytes()


def test_a_body_too_long_for_the_ledger_stays_in_the_file_and_is_told(m, ana):
    ana[1].write_text(ana[1].read_text() + "\n## #long\n" + "word " * 300_000)

    assert "too long" in m.pages.sync().problems[0].what
    assert ana[1].stat().st_size > 1_500_000


@pytest.mark.parametrize("what", ["gone", "empty", "blank"])
def test_a_file_that_is_gone_or_empty_regrows(m, ana, what, monkeypatch):
    _, path = ana
    before = path.read_bytes()
    path.unlink() if what == "gone" else path.write_text("" if what == "empty" else " \n\n")
    monkeypatch.setattr(page_sync, "_PAUSE", 0.01)  # it is waited for, and not for long

    m.pages.sync()

    assert path.read_bytes() == before


def test_a_page_that_is_emptied_and_then_written_as_some_editors_save_is_waited_for(m, ana):
    _, path = ana
    text = path.read_text().replace("\none\n", "\ntwo\n")
    with path.open("w") as saving:  # empty from here on
        m.remember("Bob sings", about="person-bob")  # does not wait for it
        m.remember("Ana sings", about="person-ana")
        assert path.stat().st_size == 0
        writer = threading.Timer(0.3, lambda: (saving.write(text), saving.flush()))
        writer.start()
        told = m.pages.sync()
        writer.join()

    assert [each.what.split()[0] for each in told.adopted] == ["edited"]
    assert sorted(entry.text for entry in m.pages.read("person-ana").entries) == ["Ana sings", "two"]


def test_what_cannot_be_a_page_is_told_and_the_others_go_on(m, home):
    for name in ("ana", "bob", "carl", "dora"):
        m.pages.append(f"person-{name}", "one", ["x"])
    outside = home / "outside.md"
    outside.write_text("a secret")
    for name in ("ana", "bob", "carl"):
        page_at(m, f"person-{name}.md").unlink()
    page_at(m, "person-ana.md").mkdir()
    os.mkfifo(page_at(m, "person-bob.md"))
    page_at(m, "person-carl.md").symlink_to(outside)
    page_at(m, "person-eve.md").mkdir()
    edit(page_at(m, "person-dora.md"), "\none\n", "\ntwo\n")

    told = m.pages.sync()

    assert {each.path for each in told.problems} == {f"person-{name}.md" for name in ("ana", "bob", "carl", "eve")}
    assert "two" in [belief.text for belief in m.beliefs.all()]
    for name in ("ana", "bob", "carl"):
        m.pages.append(f"person-{name}", "more", ["x"])
        assert [e.text for e in m.pages.read(f"person-{name}").entries] == ["one", "more"]
    assert outside.read_text() == "a secret"
    m.close()  # what stands in the way is still there


# -- content is content ------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(texts=st.lists(st.one_of(strategies.texts, st.text(st.characters(codec="utf-8"))), min_size=1, max_size=6))
def test_no_text_forges_an_entry_a_tag_a_status_or_a_front_matter(tmp_path_factory, texts):
    said = [text for text in texts if text.strip()]
    place = folder_in(tmp_path_factory.mktemp("said"))
    with Memory(place) as m:
        m._services.page_writer._is_on = False
        with m.batch():
            made = [m.remember(text, about="person-ana", tags=[text, "ok"], key=f"k{n}") for n, text in enumerate(said)]
        m.pages.sync()
        for belief in made[::2]:
            m.forget(belief.id)
        m.pages.sync()

        if made:
            is_exactly_ours(m, "person-ana.md")
            entries = m.pages.read("person-ana", include_superseded=True).entries
            wanted = [(text, number % 2 == 0) for number, text in enumerate(said)]
            assert [(entry.text, entry.is_retracted) for entry in entries] == wanted
        before = files_of(m)
        m.pages.rebuild()
        assert files_of(m) == before


@pytest.mark.parametrize("views", [
    {"entry": {"at": "garbage"}}, {"entry": [1]}, {"entry": {"superseded_by": "x"}}, {"entry": {"folds": ["no"]}},
    {"entry": {"folds": 5}}, {"entry": {"at": 5}}, {"entry": {"at": "0001-01-01T00:00:00+00:00"}},
    {"entry": {"at": "2020-01-01"}}, {"entry": {"superseded_by": ["a"], "folds": [[]]}},
])  # fmt: skip
def test_whatever_another_program_puts_into_views_no_page_suffers(m, views):
    m.remember("one", about="person-ana", key="k")
    m.revise("k", text="two", views=views)

    m.pages.sync()

    assert [e.text for e in m.pages.read("person-ana").entries] == ["two"]
    is_exactly_ours(m, "person-ana.md")


def test_times_at_the_ends_of_the_calendar_do_not_stop_a_page(m, ana):
    _, path = ana
    for year in ("0002-01-01T00:00:00+14:00", "9998-12-31T23:59:59-12:00"):
        path.write_text(path.read_text() + f"\n## [{year}] #hand\nin {year}\n")
    edit(path, "created: 20", "created: 0002-01-01T00:00:00+14:00 # 20")
    m.pages.sync()
    path.unlink()

    m.pages.sync()

    assert [e.body.partition(" ")[0] for e in parse(path.read_text()).entries] == ["one", "in", "in"]


# -- names, users and links --------------------------------------------------------------------------------------------


HOSTILE_NAMES = [
    "../../x", "/etc/passwd", "a/b", "person-ana\x00", "person-" + "x" * 300, "person-Ana", "person-ana", "person-ANA",
    "person-é", "person-e\u0301", ".", "..", "person-..", "\\x", "person-" + "漢" * 200, "con", " ", "@bob", "user-",
]  # fmt: skip


def test_hostile_names_never_leave_the_folder_and_never_share_a_file(m, home):
    everything_before = set(home.rglob("*"))
    for user in ("me", "bob", "../me", "@bob", "BOB", "me/../bob", "x" * 300):
        for name in HOSTILE_NAMES:
            m.remember(f"of {user}: {name}", about=name, user=user)

    m.pages.sync()

    made = set(home.rglob("*.md")) - everything_before
    root = m.folder / "memory"
    assert all(path.is_relative_to(root) and len(path.relative_to(root).parts) <= 2 for path in made)
    names = [str(path.relative_to(root)).casefold() for path in made]
    assert len(names) == len(set(names))
    entries = [entry.body for path in made for entry in parse(path.read_text()).entries]
    assert len(entries) == len(set(entries)) == 7 * len(HOSTILE_NAMES)
    for path in made:
        owners = {body.partition(":")[0] for body in (e.body for e in parse(path.read_text()).entries)}
        assert len(owners) <= 1


def test_new_files_are_the_owners_alone_and_a_changed_mode_is_kept(m):
    m.pages.append("person-ana", "one", ["x"])
    m.remember("two", about="person-ana", user="bob")
    path = page_at(m, "person-ana.md")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(page_at(m, "@bob").stat().st_mode) == 0o700
    assert stat.S_IMODE((m.folder / "state.db").stat().st_mode) == 0o600

    path.chmod(0o644)
    m.pages.append("person-ana", "three", ["x"])

    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize("linked", ["@bob", ""])
def test_a_folder_that_is_a_link_is_not_read_written_or_emptied(m, home, linked):
    m.remember("one", about="person-ana", user="bob")
    away = home / "away"
    shutil.move(page_at(m, linked), away)
    page_at(m, linked).symlink_to(away)
    path = away / ("person-ana.md" if linked else "@bob/person-ana.md")
    path.write_text(path.read_text() + "\n## #x\nsmuggled in\n")
    before = {each: each.read_bytes() for each in away.rglob("*.md")}

    m.remember("two", about="person-ana", user="bob")
    m.pages.sync()
    with Memory(m.folder, user="bob") as bob:
        assert [belief.text for belief in bob.beliefs.all()] == ["one", "two"]
        bob.pages.append("person-ana", "three", ["x"])
        bob.pages.clean()

    assert {each: each.read_bytes() for each in away.rglob("*.md")} == before


def test_a_folder_that_names_no_other_user_is_told_and_nothing_of_it_is_adopted(m):
    m.pages.append("person-ana", "one", ["x"])
    (m.folder / "memory" / "@me").mkdir()
    page_at(m, "@me/person-ana.md").write_text("## [2026-01-01T00:00:00] {id: 20260101-0000-aaaaaa} #x\nmine\n")
    before = end_of(m)

    told = m.pages.sync()

    assert [each.path for each in told.problems] == ["@me/person-ana.md"]
    assert end_of(m) == before


def test_what_was_said_of_a_page_already_is_no_event(m, ana):
    ends = []
    for _ in range(2):
        m.pages.describe("person-ana", description="A friend", tags=["a"])
        m.pages.archive("person-ana")
        ends.append(end_of(m))

    assert ends[0] == ends[1]


def test_users_do_not_see_each_others_pages(m):
    m.remember("a secret of Bob", about="person-ana", user="bob")
    m.pages.append("person-ana", "mine", ["x"])

    for name in ("@bob/person-ana", "@bob/person-ana.md", "../memory/person-ana", "person-a/../ana"):
        with pytest.raises(TallystickError):
            m.pages.read(name)
    with Memory(m.folder, user="bob") as bob:
        assert [e.text for e in bob.pages.read("person-ana").entries] == ["a secret of Bob"]
        assert [page.path for page in bob.pages.list()] == ["@bob/person-ana.md"]
        bob.pages.clean()
        assert bob.pages.list() == []
    assert [e.text for e in m.pages.read("person-ana").entries] == ["mine"]
    assert m.pages.search("secret") == []


# -- calling -----------------------------------------------------------------------------------------------------------


def test_the_same_thing_appended_under_its_key_is_one_entry(m):
    first = m.pages.append("person-ana", "one", ["x"], idempotency_key="once")
    assert m.pages.append("person-ana", "one", ["x"], idempotency_key="once") == first
    keyed = m.pages.append("person-ana", "two", ["x"], key="k")
    assert m.pages.append("person-ana", "two", ["x"], key="k") == keyed
    assert m.pages.read("person-ana").info.entry_count == 2


@pytest.mark.parametrize("field", ["id", "about", "user", "text"])
def test_an_entry_says_nothing_that_its_page_says(m, field):
    before = end_of(m)
    with pytest.raises(Refused, match=field):
        m.pages.append("person-ana", "one", ["x"], **{field: "person-bob"})
    assert end_of(m) == before


def test_what_the_web_appends_is_recorded_and_on_no_page_before_approval(home):
    place = folder_in(home / "kept")
    with Memory(place, trust="web") as m:
        entry = m.pages.append("person-ana", "Ana is rich.", ["x"])
        assert entry.text == "Ana is rich."
        with pytest.raises(NotFound):
            m.pages.read("person-ana")
        m.pages.append("person-ana", "Ana is poor.", ["x"])
    with Memory(place) as m:
        yes, no = m.reviews.waiting()
        m.reviews.approve(yes.id)
        m.reviews.reject(no.id)
        assert [e.text for e in m.pages.read("person-ana", include_superseded=True).entries] == ["Ana is rich."]
        assert "Ana is poor." not in page_at(m, "person-ana.md").read_text()
        is_settled(m)


def test_pages_are_not_written_inside_a_batch_and_follow_when_it_ends(m):
    m.pages.append("person-ana", "zero", ["x"])
    with m.batch():
        m.remember("one", about="person-ana")
        for write in (lambda: m.pages.append("person-ana", "two"), m.pages.sync, m.pages.rebuild, m.pages.clean):
            with refuses("batch", "pages"):
                write()
        assert [e.text for e in m.pages.read("person-ana").entries] == ["zero"]
    assert "\none\n" in page_at(m, "person-ana.md").read_text()


def test_a_memory_that_may_only_be_read_shows_its_pages_and_writes_nothing(m):
    m.pages.append("person-ana", "one", ["x"])
    m.close()
    before = files_of(m)
    edit(page_at(m, "person-ana.md"), "\none\n", "\ntwo\n")
    with Memory(m.folder, read_only=True) as reader:
        assert [e.text for e in reader.pages.read("person-ana").entries] == ["one"]
        assert reader.pages.search("one") != []
        for write in (reader.pages.sync, reader.pages.rebuild, reader.pages.clean):
            with refuses("permission", "reading only"):
                write()
        with pytest.raises(TallystickError):
            reader.pages.append("person-ana", "three", ["x"])
    assert files_of(m).keys() == before.keys()
    assert b"\ntwo\n" in files_of(m)["person-ana.md"]


def test_pages_that_are_not_to_follow_are_written_when_somebody_asks(home):
    place = folder_in(home / "kept", "follow = false\n")
    with Memory(place) as m:
        m.remember("one", about="person-ana")
    assert not (place / "memory").exists()
    with Memory(place) as m:
        m.pages.sync()
        assert "\none\n" in page_at(m, "person-ana.md").read_text()
        is_settled(m)


def test_what_was_cleaned_stays_out_of_sight_and_what_comes_after_does_not(m):
    old = m.pages.append("person-ana", "one", ["x"])
    m.remember("of the web", about="person-web", trust="web")
    assert m.pages.clean() == 2
    assert files_of(m) == {}
    m.pages.append("person-ana", "two", ["x"])
    assert "one" not in page_at(m, "person-ana.md").read_text().split("# Ana")[1]
    assert m.show(old.id).status == "tombstone"
    is_settled(m)
    assert m.pages.read("person-ana", include_superseded=True).info.entry_count == 1


def test_a_page_saved_by_an_editor_after_a_clean_keeps_only_what_was_changed_in_it(m):
    m.pages.append("person-ana", "one", ["x"])
    m.pages.append("person-ana", "two", ["x"])
    open_in_an_editor = page_at(m, "person-ana.md").read_text()
    m.pages.clean()
    page_at(m, "person-ana.md").write_text(open_in_an_editor.replace("\none\n", "\none and a half\n"))

    m.pages.sync()

    assert [e.text for e in m.pages.read("person-ana").entries] == ["one and a half"]


@pytest.mark.parametrize("how", ["folder", "unwritable rows"])
def test_what_stands_in_the_place_of_the_tables_holds_nobody_up(home, how):
    place = folder_in(home / "kept")
    (place / "state.db").mkdir() if how == "folder" else (place / "state.db").symlink_to("/proc/nothing/there")
    with Memory(place) as m:
        m.remember("one", about="person-ana")
        assert "person-ana" in [file.about for file in m.pages.list()]
    with Memory(place) as m:
        assert [e.text for e in m.pages.read("person-ana").entries] == ["one"]
        is_settled(m)


@pytest.mark.parametrize("at", [0, 100, 4096, 3 * 4096])
def test_damaged_tables_are_rebuilt_whoever_comes_upon_it(m, at):
    for number in range(60):
        m.remember(f"number {number} " * 20, about="person-ana")
    m.pages.sync()
    before, tables = files_of(m), tables_of(m)
    m.close()
    for what in ("read", "list", "search", "sync", "append", "rebuild"):
        data = bytearray((m.folder / "state.db").read_bytes())
        data[at:] = os.urandom(len(data) - at)
        (m.folder / "state.db").write_bytes(data)
        with Memory(m.folder) as again:
            calls = {
                "read": lambda: again.pages.read("person-ana"), "list": again.pages.list, "sync": again.pages.sync,
                "search": lambda: again.pages.search("number 7"), "rebuild": again.pages.rebuild,
                "append": lambda: again.pages.append("person-bob", "x", key="k"),
            }  # fmt: skip
            assert calls[what]() is not None
            again.pages.sync()
            assert {name: files_of(again)[name] for name in before} == before
            assert [row for row in tables_of(again)["entries"] if row in tables["entries"]] == tables["entries"]


def test_tables_of_another_shape_are_rebuilt(m):
    m.pages.append("person-ana", "one", ["x"])
    m._services.page_files.level().db.execute("UPDATE positions SET shape = 0 WHERE name = 'pages'")
    before = files_of(m)
    is_settled(m)
    assert files_of(m) == before


def test_a_sync_tells_a_user_of_their_own_pages_alone(tmp_path):
    with Memory(tmp_path) as mine, Memory(tmp_path, user="ben") as bens:
        bens.pages.append("person-eva", "Eva likes chess.", ["games"])
        page = bens.pages.folder / "@ben/person-eva.md"
        page.write_text(page.read_text() + "\n## [2026-04-31T12:00:00] #odd\nEva plays.\n")
        done = mine.pages.sync()
        assert (done.adopted, done.written, done.problems) == ((), (), ())
        assert [entry.text for entry in bens.pages.read("person-eva").entries] == ["Eva likes chess.", "Eva plays."]

        page.write_text(page.read_text().replace("Eva plays.", "Eva plays go."))
        assert [told.path for told in bens.pages.sync().adopted] == ["@ben/person-eva.md"]


# -- what a write costs ------------------------------------------------------------------------------------------------

WORDS = ("tea", "cats", "rain", "jazz", "maps", "soup", "snow", "figs", "moss")


def test_a_write_to_a_page_reads_neither_the_whole_page_nor_all_of_its_rows(m, monkeypatch):
    said = [m.pages.append("person-ana", f"Ana likes {word}.", ["visit"]) for word in WORDS]
    due_alone = PagesFile.entries

    def entries(self, path, *, due=False):
        assert due, "all rows of a page were asked for"
        return due_alone(self, path, due=due)

    def parsed(*_):
        raise AssertionError("the whole page was read")

    with monkeypatch.context() as patch:
        patch.setattr(PagesFile, "entries", entries)
        patch.setattr(PagesAt, "parsed", parsed)
        m.pages.append("person-ana", "Ana left.", ["visit"])
        new = m.pages.supersede("person-ana", said[4].id, "Ana likes old maps.")
        m.forget(said[7].id)
        m.pages.sync()

    text = (m.pages.folder / "person-ana.md").read_text()
    assert f"{{id: {said[4].id}}} #visit #superseded-by:{new.id}\n~~Ana likes maps.~~\n\n" in text
    assert f"{{id: {said[7].id}}} #visit #retracted\n~~Ana likes figs.~~\n\n" in text
    assert text.endswith("#visit\nAna likes old maps.\n")
    assert "entry_count: 11\n" in text
    assert m.pages.sync().adopted == m.pages.rebuild().adopted == ()
