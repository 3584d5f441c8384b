"""Searching pages: who sees what, and what narrows it."""

import sqlite3
from datetime import UTC, date, datetime, timedelta, timezone

import orjson
import pytest

from tallystick.projections.pages.open_database import TABLES
from tallystick.projections.pages.search import ENOUGH, index_entry, letters_of, search, span_of, unindex_entry
from tests.refusals import refuses

REBUILD = "INSERT INTO entries_fts (entries_fts) VALUES ('rebuild')"


class Notes:
    """Pages with entries on them, as the fold would write them."""

    def __init__(self):
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        for statement in TABLES:
            self.db.execute(statement)
        self.count = 0

    def close(self):
        self.db.close()

    def put(self, table, **values):
        """A row of which only this much matters."""
        for _, name, kind, is_needed, *_ in self.db.execute(f"PRAGMA table_info({table})").fetchall():
            if is_needed and name not in values:
                values[name] = 0 if kind == "INTEGER" else ""
        marks = ", ".join(f":{name}" for name in values)
        self.db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", values)

    def page(self, path, user="me"):
        self.put("files", path=path, user=user, about=path)

    def add(self, content, path="topic-notes.md", *, user="me", tags=("note",), at="", name="", index=True, **more):
        """An entry; its page is made if need be. Gives its id."""
        if not self.db.execute("SELECT 1 FROM files WHERE path = ?", (path,)).fetchone():
            self.page(path, user)
        self.count += 1
        name = name or f"20260421-{self.count // 60:02}{self.count % 60:02}-{self.count * 7919 % (1 << 24):06x}"
        more["superseded"] = int(bool(more.get("superseded_by")))
        self.put(
            "entries", n=self.count, id=name, path=path, content=content, tags=orjson.dumps(tags).decode(),
            timestamp=at or f"2026-04-21T09:{self.count // 60:02}:{self.count % 60:02}.000000Z",
            letters=letters_of(content, name), supersedes="[]", **more,
        )  # fmt: skip
        if index:
            index_entry(self.db, self.count)
        return name

    def search(self, query, user="me", **more):
        return search(self.db, query, user=user, **more)

    def found(self, query, **more):
        return [match.content for match in self.search(query, **more)]

    def faults(self):
        """What SQLite itself holds against the full text; it raises if there is something."""
        self.db.execute("INSERT INTO entries_fts (entries_fts, rank) VALUES ('integrity-check', 1)")


@pytest.fixture
def notes():
    made = Notes()
    yield made
    made.close()


def test_an_entry_is_found_with_all_that_is_known_of_it(notes):
    name = notes.add(
        "User joined Acme.", "user-profile.md", tags=("work", "employer"), at="2026-04-21T09:15:00.000001Z"
    )
    [match] = notes.search("acme")
    assert match == (
        name, "user-profile.md", "2026-04-21T09:15:00.000001Z", ("work", "employer"), "User joined Acme.", "", False,
        "", True, (name,),
    )  # fmt: skip


def test_entries_with_all_the_words_come_first_and_enough_of_them_are_all(notes):
    for text in ("tea", "green tea", "green tea and more green tea", "greens", "tea time"):
        notes.add(text)
    matches = notes.search("green tea")
    assert {match.content for match in matches if match.has_all} == {"green tea", "green tea and more green tea"}
    assert [match.has_all for match in matches] == [True, True, False, False, False]
    notes.add("no green tea today")
    assert len(notes.search("green tea")) == ENOUGH
    assert all(match.has_all for match in notes.search("green tea"))


def test_no_more_than_asked_for_and_each_once(notes):
    for number in range(30):
        notes.add(f"tea {number}")
    assert len(notes.search("tea")) == 10
    assert len(notes.search("tea", top_k=3)) == 3
    assert len({match.id for match in notes.search("tea cup 2026-04-21", top_k=1 << 80)}) == 30
    assert len(notes.search("tea", top_k=3, tags=["note"])) == 3
    notes.add("tea in a cup")
    for most in (1, 2, 3, 9):
        matches = notes.search("tea cup", top_k=most)
        assert (len(matches), matches[0].content) == (most, "tea in a cup")
    assert notes.search("tea", top_k=0) == notes.search("tea", top_k=-5) == []


# -- who sees what ---------------------------------------------------------------------------------------------------


def test_nobody_sees_the_pages_of_another(notes):
    notes.add("green tea", name="20260421-0915-aaaaaa")
    notes.add("green tea of hers", "@ana/topic-notes.md", user="ana", name="20260421-0915-bbbbbb")
    assert notes.found("tea") == ["green tea"]
    assert notes.found("tea", user="ana") == ["green tea of hers"]
    assert notes.found("tea", user="bob") == notes.found("tea", user="") == notes.found("tea", user="\ud800") == []
    for typed in ("bbbbbb", "20260421-0915-bbbbbb", "2026-04-21", "#note", "hers", "her*", "tea hers"):
        assert "green tea of hers" not in notes.found(typed, include_superseded=True)
        everywhere = ["@ana/topic-notes.md", "@ana/topic-notes", "*", "@ana/*"]
        assert "green tea of hers" not in notes.found(typed, paths=everywhere)


def test_a_match_behind_thousands_of_anothers_is_still_found(notes):
    for _ in range(2000):
        notes.add("tea", "@ana/topic-notes.md", user="ana")
    notes.add("tea, which comes last since it is in a rather long sentence of many words")
    assert len(notes.found("tea")) == 1


@pytest.mark.parametrize("state", [{"superseded_by": "x"}, {"retracted": 1}, {"folded_into": "x"}])
def test_what_no_longer_holds_is_found_only_on_request(notes, state):
    name = notes.add("works at Old Corp", **state)
    for typed in ("corp", "corps", "cor", "#note", name, name[-6:], "2026-04-21", '"old corp"', "corp missing", "cor*"):
        assert notes.found(typed) == []
        assert notes.found(typed, include_superseded=True) == ["works at Old Corp"]


def test_what_was_superseded_tells_its_chain_oldest_first(notes):
    notes.add("works at One", name="a", superseded_by="b")
    notes.add("works at Two", name="b", superseded_by="c2")
    notes.add("works at Three", name="c", folded_into="d")
    notes.add("works at Four", name="d")
    notes.put("page_versions", id="c2", entry="c")  # it changed no words
    chains = {match.id: match.chain for match in notes.search("works", include_superseded=True)}
    assert chains == {"a": ("a", "b", "c", "d"), "b": ("b", "c", "d"), "c": ("c", "d"), "d": ("d",)}
    assert [match.id for match in notes.search("works")] == ["d"]


def test_a_chain_ends_where_it_would_begin_again_at_what_is_not_there_and_at_another_users(notes):
    notes.add("tea one", name="a", superseded_by="b")
    notes.add("tea two", name="b", superseded_by="a")
    notes.add("tea self", name="s", superseded_by="s")
    notes.add("tea lost", name="l", superseded_by="nowhere")
    notes.add("tea gone over", name="o", superseded_by="hers")
    notes.add("tea of hers", "@ana/x.md", user="ana", name="hers")
    chains = {match.id: match.chain for match in notes.search("tea", include_superseded=True)}
    assert chains == {"a": ("a", "b"), "b": ("b", "a"), "s": ("s",), "l": ("l",), "o": ("o",)}


def test_a_chain_of_thousands_is_told_whole(notes):
    for number in range(3000):
        notes.add("tea" if number % 300 == 0 else "cup", name=str(number), superseded_by=str(number + 1))
    notes.add("cup", name="3000")
    chain = next(match.chain for match in notes.search("tea", include_superseded=True) if match.id == "0")
    assert chain == tuple(map(str, range(3001)))


# -- what narrows a search -------------------------------------------------------------------------------------------


@pytest.fixture
def folder(notes):
    for path in ("person-ana.md", "person-bob.md", "project-tea.md", "project-x[1].md", "event-2026-04-22.md"):
        notes.add(path, path)
        notes.add(f"tea of {path}", path)
    notes.add("tea of another", "@eve/person-ana.md", user="eve")
    return notes


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["person-ana"], ["person-ana.md"]), (["person-ana.md"], ["person-ana.md"]),
        (["Person-Ana"], ["person-ana.md"]),
        ("person-ana", ["person-ana.md"]), (["person-"], ["person-ana.md", "person-bob.md"]),
        (["project-*"], ["project-tea.md", "project-x[1].md"]), (["*-[ab]??"], ["person-ana.md", "person-bob.md"]),
        (["person-ana", "project-tea.md"], ["person-ana.md", "project-tea.md"]), (["person"], []), (["tool-"], []),
        (["project-x[1]"], ["project-x[1].md"]), ([], []), ([""], []), (["\ud800", "\x00", "a" * 100_000], []),
        (["*a" * 2_000], []), (["'; DROP TABLE files"], []), (["%"], []), (["person-an_"], []),
        (["../person-ana"], []),
    ],
)  # fmt: skip
def test_pages_are_named_by_file_name_beginning_or_pattern(folder, paths, expected):
    found = folder.search("tea", paths=paths, top_k=50)
    assert sorted({match.path for match in found if match.content.startswith("tea of")}) == expected


def test_another_users_pages_are_named_without_their_folder(folder):
    for paths in (["person-ana"], ["person-"], ["@eve/person-ana"], ["*-ana.md"]):
        assert folder.found("tea", user="eve", paths=paths) == ["tea of another"]


def test_an_iterator_of_paths_and_of_tags_will_do(folder):
    assert len(folder.search("tea", paths=iter(["person-ana"]), tags=iter(["note"]))) == 1


@pytest.mark.parametrize(
    ("narrow", "expected"),
    [
        ({"since": "2026-04-21"}, "bc"), ({"until": "2026-04-21"}, "ab"), ({"since": "2026-04-22"}, "c"),
        ({"since": "2026-04-20", "until": "2026-04-20"}, "a"), ({"until": "2026-03"}, ""),
        ({"since": "2026-04"}, "abc"),
        ({"since": date(2026, 4, 21)}, "bc"), ({"until": date(2026, 4, 21)}, "ab"),
        ({"since": datetime(2026, 4, 21, 23, 59, 59, tzinfo=UTC)}, "bc"),
        ({"since": "2026-04-22T00:00:00Z"}, "c"), ({"since": "2026-04-22T01:59:59+02:00"}, "bc"),
        ({"until": "2026-04-21T23:59:59Z"}, "ab"), ({"until": "2026-04-21T23:59"}, "ab"),
        ({"until": "2026-04-21T23:59:58Z"}, "a"), ({"until": "2026-04-21T23:59:59.123455Z"}, "a"),
        ({"until": "2026-04-21", "zone": timezone(timedelta(hours=8))}, "a"),
        ({"since": "2026-04-22", "zone": timezone(timedelta(hours=8))}, "bc"),
        ({"since": datetime(2026, 4, 22, 8), "zone": timezone(timedelta(hours=8))}, "c"),
        ({"since": "2026-04-22", "until": "2026-04-20"}, ""),
    ],
)  # fmt: skip
def test_a_time_is_asked_for_from_its_first_to_its_last_moment(notes, narrow, expected):
    notes.add("tea a", at="2026-04-20T10:00:00.000000Z")
    notes.add("tea b", at="2026-04-21T23:59:59.123456Z")
    notes.add("tea c", at="2026-04-22T00:00:00.000000Z")
    assert sorted(text[-1] for text in notes.found("tea", **narrow)) == sorted(expected)


@pytest.mark.parametrize(
    "said", ["", "yesterday", "2026-13", "2026-02-30", "0000-01", "9999-12", "2026-04-21x", "\ud800", "9" * 99]
)
def test_what_is_no_time_is_refused_in_one_line_with_the_way_out(notes, said):
    for narrow in ({"since": said}, {"until": said}):
        with refuses("time", "2026-05") as refused:
            notes.search("tea", **narrow)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 200


def test_a_span_reaches_to_the_next_of_its_kind():
    assert span_of("2026-12") == ("2026-12-01T00:00:00.000000Z", "2027-01-01T00:00:00.000000Z")
    assert span_of("2024-02-29") == ("2024-02-29T00:00:00.000000Z", "2024-03-01T00:00:00.000000Z")
    assert span_of("2026-04-21T09:15") == ("2026-04-21T09:15:00.000000Z", "2026-04-21T09:16:00.000000Z")
    assert span_of("2026-04-21T09:15:00+02:00") == ("2026-04-21T07:15:00.000000Z", "2026-04-21T07:15:01.000000Z")
    assert span_of("2026-04-21T09:15:00.5Z")[1] == "2026-04-21T09:15:00.500001Z"


def test_one_of_the_tags_that_are_asked_for_must_be_there(notes):
    notes.add("tea a", tags=("work", "Employer"))
    notes.add("tea b", tags=("work",))
    notes.add("tea c of work and employer", tags=("workshop",))
    assert sorted(notes.found("tea", tags=["work"])) == ["tea a", "tea b"]
    assert notes.found("tea", tags=["#employer", "none"]) == ["tea a"]
    for nothing in ("wor", "", "\ud800"):
        assert notes.found("tea", tags=[nothing]) == []


# -- keeping full text -----------------------------------------------------------------------------------------------


def test_full_text_follows_a_change_of_words_and_tags(notes):
    notes.add("green tea", tags=("drink",))
    unindex_entry(notes.db, 1)
    assert notes.found("tea") == []
    change = ("black e-coffee", '["cup"]', letters_of("black e-coffee"))
    notes.db.execute("UPDATE entries SET content = ?, tags = ?, letters = ? WHERE n = 1", change)
    index_entry(notes.db, 1)
    assert notes.found("tea") == notes.found("#drink") == []
    assert notes.found("coffee") == notes.found("ecoffee") == notes.found("#cup") == ["black e-coffee"]
    notes.faults()
    unindex_entry(notes.db, 1)
    notes.db.execute("DELETE FROM entries")
    notes.faults()


def test_all_at_once_gives_the_same_as_one_by_one(notes):
    other = Notes()
    for text in ("green tea", "東京タワー", "e-mail 😀", "", "\x00 nul"):
        notes.add(text, index=False)
        other.add(text)
    assert notes.found("tea") == []
    for _ in range(2):
        notes.db.execute(REBUILD)
        notes.faults()
        for typed in ("tea", "東京", "email", "😀", "nul", "note"):
            assert notes.search(typed) == other.search(typed) != []
    other.close()


def test_only_what_is_shown_is_looked_up_in_the_order_of_full_text(notes):
    plan = []
    notes.db.set_trace_callback(plan.append)
    notes.search("tea", paths=["topic-notes"])
    notes.db.set_trace_callback(None)
    [asked] = [statement for statement in plan if "entries_fts AS f" in statement][:1]
    steps = [row[3] for row in notes.db.execute(f"EXPLAIN QUERY PLAN {asked}")]
    assert steps[0].startswith("SCAN f VIRTUAL TABLE")
    assert not any("TEMP B-TREE" in step or "SCAN e" in step for step in steps)


def test_a_search_leaves_no_lock_behind(notes):
    for number in range(500):
        notes.add(f"tea {number}")
    notes.search("tea", top_k=1, tags=["note"])
    notes.db.execute("DROP TABLE entries_fts")  # refused while a statement is still reading
