"""A page is folded only if no fact is lost by it, ours or anybody's way; and then it stays folded."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.memory.pages.compact import Compactor
from tallystick.records.errors import Moved, NeedsApproval, NotFound, Refused
from tallystick.records.page import Compaction
from tests.memory.conftest import files_with
from tests.refusals import refuses

OLD, NEW = "User works at Old Corp as a principal engineer.", "User joined Acme Corp as a senior engineer."
FOLDED = f"{NEW} (Until 2026-05-21: {OLD})"


@pytest.fixture
def memory(home, clock):
    with Memory(clock=clock) as opened:
        yield opened


def page_of(memory: Memory, name: str = "user-profile") -> Path:
    return memory.pages.folder / f"{name}.md"


def entries(memory: Memory, name: str = "user-profile") -> list[str]:
    return [each.text for each in memory.pages.read(name, include_superseded=True).entries]


def job(memory: Memory, clock, about: str = "user-profile") -> tuple[str, str]:
    """An entry that took the place of another a day later; their ids."""
    old = memory.pages.append(about, OLD, ["work"])
    clock.now += timedelta(days=1)
    new = memory.pages.supersede(about, old.id, NEW, "a new job")
    return old.id, new.id


def state(memory: Memory) -> tuple[bytes, int]:
    """What the page and the ledger have, to be compared."""
    return page_of(memory).read_bytes(), memory.status().events


# -- proposing ---------------------------------------------------------------------------------------------------------


def test_a_page_that_is_flagged_is_proposed_with_what_goes_into_what_and_nothing_is_written(memory, clock):
    old, new = job(memory, clock)
    memory.pages.append("topic-tea", "Tea is served at four.", ["time"])

    assert memory.pages.compactions() == []
    memory.pages.flag_compact("user-profile", "it rambles")
    before = state(memory)

    [found] = memory.pages.compactions()
    assert memory.pages.compactions() == [found]
    assert state(memory) == before
    assert (found.path, found.why, found.losses) == ("user-profile.md", "flagged: it rambles", ())
    assert (found.entries_before, found.entries_after) == (2, 1)
    assert 0 < found.tokens_after < found.tokens_before
    assert FOLDED in found.text
    assert found.is_any
    assert found.is_acceptable
    assert found.changes == ((old, new),)
    lines = found.diff.splitlines()
    assert lines[:2] == ["--- user-profile.md", "+++ user-profile.md"]
    assert f"-~~{OLD}~~" in lines
    assert f"+{FOLDED}" in lines
    assert "-needs_compact: true" in lines
    assert f"+<!-- supersedes: {old} -->" in lines
    assert found.to_dict()["changes"] == [[old, new]]
    assert "2 entries into 1" in repr(found)


def test_a_page_above_the_soft_limit_is_proposed_with_the_limit(home, clock):
    with Memory(clock=clock) as memory:
        (memory.folder / "tallystick.toml").write_text("[writer]\nsoft_limit_tokens = 100\n")
    with Memory(clock=clock) as memory:
        job(memory, clock)
        assert memory.pages.compactions() == []
        memory.pages.append("user-profile", "Ana wrote. " * 40, ["note"])

        assert [each.why for each in memory.pages.compactions()] == ["above 100 tokens"]


def test_a_flagged_page_on_which_nothing_can_be_folded_stays_flagged(memory):
    memory.pages.append("user-profile", "User goes by Ana.", ["identity"])
    memory.pages.flag_compact("user-profile")
    before = state(memory)

    done = memory.pages.compact("user-profile")

    assert (done.is_any, done.changes, done.diff) == (False, (), "")
    assert state(memory) == before


def test_each_user_has_foldings_of_their_own(home, clock):
    names = ("topic-play", "topic-work")
    with Memory(clock=clock, user="bob") as memory:
        for name in names:
            job(memory, clock, name)
            memory.pages.flag_compact(name)
    with Memory(clock=clock) as memory:
        assert memory.pages.compactions() == []
        found = memory.pages.compactions(user="bob")
        assert {(each.path, each.user) for each in found} == {(f"@bob/{name}.md", "bob") for name in names}

        for each in found:
            assert memory.pages.compact(each).entries_after == 1
            assert f": {OLD})" in (memory.pages.folder / each.path).read_text()
        assert FOLDED in (memory.pages.folder / "@bob" / "topic-play.md").read_text()
        assert memory.pages.compactions(user="bob") == []


# -- carrying out ------------------------------------------------------------------------------------------------------


def test_a_chain_becomes_one_statement_under_a_new_id_that_names_the_old_ones(memory, clock):
    old, new = job(memory, clock)
    memory.pages.flag_compact("user-profile")
    clock.now += timedelta(days=9)

    done = memory.pages.compact("user-profile")

    [entry] = memory.pages.read("user-profile", include_superseded=True).entries
    assert entry.text == FOLDED
    assert entry.is_current
    assert entry.id not in (old, new)
    assert set(entry.supersedes) == {old, new}
    assert entry.at == memory.history(new)[1].belief.at, "it keeps the time of what it says"
    assert dict(done.changes) == {old: entry.id, new: entry.id}
    assert done.text == page_of(memory).read_text()
    [info] = [each for each in memory.pages.list() if each.path == "user-profile.md"]
    assert (info.entry_count, info.needs_compact, info.tokens) == (1, False, done.tokens_after)
    assert "entry_count: 1\nneeds_compact: false\n" in done.text
    assert [hit.text for hit in memory.recall("Where does the user work?")] == [FOLDED]
    assert [version.belief.text for version in memory.history(old)] == [OLD, NEW, FOLDED]
    assert [each.text for each in memory.pages.search("Old Corp")] == [FOLDED]
    found = {each.id: each for each in memory.pages.search("principal", include_superseded=True)}
    assert found[old].chain[-1] == entry.id


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_difference_leads_from_the_old_page_to_the_new(memory, clock, newline):
    for number in range(4):
        job(memory, clock)
        for text in (f"Ana has {number % 2} cats.", f"Bob came {number} times.", f"Bob left {number} times."):
            memory.pages.append("user-profile", text, ["pets"])
    path = page_of(memory)
    path.write_bytes(path.read_bytes().replace(b"\n", newline.encode()))
    memory.pages.sync()
    before = path.read_bytes().decode().replace("\r\n", "\n")

    done = memory.pages.compact("user-profile")

    assert done.diff.count("@@ -") > 1
    assert applied(before, done.diff) == path.read_bytes().decode().replace("\r\n", "\n")


def applied(text: str, diff: str) -> str:
    """The text with a unified difference made in it."""
    old, new, at = text.removesuffix("\n").split("\n"), list[str](), 0
    for line in diff.removesuffix("\n").split("\n")[2:]:
        if line.startswith("@@"):
            start = int(line.split()[1][1:].partition(",")[0]) - 1
            new += old[at:start]
            at = start
            continue
        mark, words = line[:1], line[1:]
        assert mark == "+" or old[at] == words
        new += [words] if mark != "-" else []
        at += mark != "+"
    return "\n".join([*new, *old[at:], ""])


def test_what_is_said_between_looking_and_writing_is_in_the_plan(memory, clock, monkeypatch):
    job(memory, clock)
    decide = Compactor._decided
    late: list[str] = []

    def slowly(*asked: object) -> object:
        plan = decide(*asked)
        if not late:
            late.append(memory.remember("Ana likes tea.", about="user-profile").id)
            memory.revise(memory.pages.read("user-profile").entries[0].id, text="User retired.")
        return plan

    monkeypatch.setattr(Compactor, "_decided", slowly)
    memory.pages.compact("user-profile")

    told = [each.text for each in memory.pages.read("user-profile", include_superseded=True).entries]
    assert told == ["Ana likes tea.", f"User retired. (Until 2026-05-21: {NEW}) (Until 2026-05-21: {OLD})"]


def test_what_a_belief_has_beside_its_words_stays_with_it(memory, clock):
    views = {"mine": {"colour": "red"}}
    old = memory.remember(OLD, about="user-profile", data={"n": 1}, confidence=0.9, tags=["work", "a", "b", "c"])
    memory.revise(old.id, views=views)
    clock.now += timedelta(days=1)
    memory.revise(old.id, text=NEW)

    memory.pages.compact("user-profile", reason="spring")

    belief = memory.get(old.id)
    assert belief.text == FOLDED
    assert (belief.data, belief.confidence, belief.views["mine"]) == ({"n": 1}, 0.9, views["mine"])
    assert (belief.tags, belief.reason, belief.key) == (("work", "a", "b", "c"), "spring", old.id)


def test_it_is_one_group_in_the_ledger(memory, clock):
    job(memory, clock)
    memory.pages.append("user-profile", "Ana likes tea.", ["taste"])
    memory.pages.append("user-profile", "Ana likes tea.", ["taste"])
    memory.pages.flag_compact("user-profile")
    start = memory.status().events

    memory.pages.compact("user-profile")

    ops = [event.op for event in memory.log(start)]
    assert ops == ["belief.supersede/1", "belief.supersede/1", "page.fold/1", "page.put/1"]
    lines = (memory.folder / "events.wal").read_text().splitlines()[-4:]
    assert len({line.partition('"batch":')[2].partition(",")[0] for line in lines}) == 1


def test_what_was_folded_stands_where_it_stood(memory, clock):
    first = memory.pages.append("topic-ports", "The port is 1.", ["port"])
    memory.pages.append("topic-ports", "Ana set it up.", ["who"])
    memory.pages.supersede("topic-ports", first.id, "The port is 2.")
    memory.pages.append("topic-ports", "Bob looks after it.", ["who"])

    memory.pages.compact("topic-ports")

    told = ["Ana set it up.", "The port is 2. (Until 2026-05-20: The port is 1.)", "Bob looks after it."]
    assert entries(memory, "topic-ports") == told
    text = page_of(memory, "topic-ports").read_text()
    assert [text.index(each) for each in told] == sorted(text.index(each) for each in told)


def test_repeats_become_the_last_of_them_which_keeps_its_id_and_the_tags_and_evidence_of_all(memory):
    said = (("Ana likes tea.", "taste", "a note"), ("Ana likes the tea", "drinks", "a call"))
    names = [memory.pages.append("person-ana", text, [tag], evidence=(why,)).id for text, tag, why in said]
    memory.pages.append("person-ana", "Bob likes tea.", ["taste"])

    done = memory.pages.compact("person-ana")

    assert done.changes == ((names[0], names[1]),)
    assert entries(memory, "person-ana") == ["Ana likes the tea", "Bob likes tea."]
    assert memory.get(names[0]).id == memory.get(names[1]).id, "both names lead to one belief"
    assert f"<!-- supersedes: {names[0]} -->" in page_of(memory, "person-ana").read_text()
    assert len([each for each in memory.recall("Who likes tea?") if "Ana" in each.text]) == 1
    belief = memory.get(names[0])
    assert set(belief.tags) == {"taste", "drinks"}
    assert set(belief.evidence) == {"a note", "a call"}
    assert set(memory.pages.read("person-ana").entries[0].tags) == {"taste", "drinks"}


@pytest.mark.parametrize(
    "fields",
    [
        {"confidence": 0.9}, {"kind": "preference"}, {"expires": "2030-01-01"}, {"data": {"cup": 1}},
        {"trust": "agent"}, {"triple": ("Ana", "likes", "tea")}, {"valid_to": "2026-12-31"}, {"is_hypothesis": True},
        {"session": "s2"},
    ],
    ids=lambda fields: next(iter(fields)),
)  # fmt: skip
def test_beliefs_that_differ_in_more_than_their_words_are_not_joined(memory, fields):
    memory.pages.append("person-ana", "Ana likes tea.", ["taste"])
    other = memory.pages.append("person-ana", "Ana likes tea.", ["taste"], **fields)

    assert memory.pages.compact("person-ana").changes == ()
    text = page_of(memory, "person-ana").read_text()
    first = memory.pages.read("person-ana").entries[0]
    joined = text.replace(text[text.index("## [") : text.rindex("## [")], "") + f"<!-- supersedes: {first.id} -->\n"
    with refuses("value", first.id, other.id):
        memory.pages.compact("person-ana", joined)
    assert len(memory.pages.read("person-ana").entries) == 2
    assert memory.get(other.id).id == other.id


def test_what_differs_from_its_repeats_is_still_folded_with_its_own_past(memory, clock):
    memory.pages.append("topic-ports", "The port is 2.", ["port"], confidence=0.9)
    old = memory.pages.append("topic-ports", "The port is 1.", ["port"])
    memory.pages.supersede("topic-ports", old.id, "The port is 2.")

    memory.pages.compact("topic-ports")

    assert entries(memory, "topic-ports") == ["The port is 2.", "The port is 2. (Until 2026-05-20: The port is 1.)"]


def test_what_callers_gave_keys_to_at_once_or_later_is_left_as_it_is(memory, clock):
    memory.remember("The port is 1.", key="port", about="topic-ports")
    memory.remember("The port is 2.", key="port", about="topic-ports")
    memory.remember("The port is 2.", about="topic-ports")
    names = [memory.pages.append("person-ana", "Ana likes tea.", ["taste"]).id for _ in range(2)]
    memory.revise(names[0], key="drink")
    memory.pages.sync()
    before = page_of(memory, "topic-ports").read_bytes()

    assert memory.pages.compact("topic-ports").changes == memory.pages.compact("person-ana").changes == ()
    assert page_of(memory, "topic-ports").read_bytes() == before


def test_what_was_retracted_stays_struck(memory, clock):
    gone = memory.pages.append("person-ana", "Ana likes tea.", ["taste"])
    memory.forget(gone.id)
    job(memory, clock, "person-ana")
    memory.pages.append("person-ana", "Ana likes tea.", ["taste"])

    memory.pages.compact("person-ana")

    text = page_of(memory, "person-ana").read_text()
    assert f"{{id: {gone.id}}} #taste #retracted\n~~Ana likes tea.~~\n" in text
    assert entries(memory, "person-ana") == ["Ana likes tea.", FOLDED, "Ana likes tea."]


def test_what_was_folded_goes_on_and_is_folded_again(memory, clock):
    old, _ = job(memory, clock)
    memory.pages.compact("user-profile")
    [entry] = memory.pages.read("user-profile").entries
    clock.now += timedelta(days=1)
    memory.pages.supersede("user-profile", entry.id, "User founded Ana Ltd.")
    memory.pages.compact("user-profile")

    [entry] = memory.pages.read("user-profile", include_superseded=True).entries
    assert entry.text == f"User founded Ana Ltd. (Until 2026-05-22: {NEW}) (Until 2026-05-21: {OLD})"
    assert len(entry.supersedes) == 4
    assert old in entry.supersedes


def test_what_is_said_again_after_its_past_was_folded_takes_that_past_over(memory, clock):
    job(memory, clock)
    memory.pages.compact("user-profile")
    again = memory.pages.append("user-profile", NEW, ["work"])

    memory.pages.compact("user-profile")

    [entry] = memory.pages.read("user-profile", include_superseded=True).entries
    assert entry.text == FOLDED
    assert entry.supersedes[0] == again.id
    assert page_of(memory).read_text().count("## [") == 1
    assert [each.text for each in memory.beliefs.query()] == [FOLDED]


def test_a_page_with_hundreds_of_repeats_is_folded_as_far_as_entries_can_name_them(memory):
    with memory.batch():
        for _ in range(400):
            memory.remember("Ana likes tea.", about="person-ana")

    done = memory.pages.compact("person-ana")

    left = memory.pages.read("person-ana", include_superseded=True).entries
    assert (done.entries_before, done.entries_after, len(left)) == (400, 3, 3)
    assert sum(len(each.supersedes) for each in left) == 397
    assert memory.pages.sync().is_clean
    assert entries(memory, "person-ana") == ["Ana likes tea."] * 3


def test_a_very_long_past_is_folded_as_far_as_an_entry_can_name_it(memory, clock):
    name = memory.remember("The port is 0.", about="topic-ports").id
    for number in range(1, 200):
        clock.now += timedelta(days=1)
        name = memory.revise(name, text=f"The port is {number}.").id

    memory.pages.compact("topic-ports")

    left = memory.pages.read("topic-ports", include_superseded=True).entries
    assert len(left) == 51
    assert len(left[-1].supersedes) == 150
    assert left[-1].text.startswith("The port is 199. (Until")
    assert memory.pages.sync().is_clean
    assert not memory.pages.compact("topic-ports").is_any


# -- it stays folded ---------------------------------------------------------------------------------------------------


def test_the_page_is_the_same_when_it_is_folded_again_rebuilt_or_its_file_was_lost(memory, clock):
    job(memory, clock)
    for text in ("Ana likes tea.", "Bob came.", "Ana likes tea."):
        memory.pages.append("user-profile", text, ["taste"])
    memory.pages.compact("user-profile")
    before = state(memory)
    assert not memory.pages.compact("user-profile").is_any
    assert state(memory) == before
    text, shown = page_of(memory).read_text(), memory.pages.read("user-profile", include_superseded=True).entries

    assert memory.pages.rebuild().adopted == ()
    assert page_of(memory).read_text() == text
    assert memory.pages.read("user-profile", include_superseded=True).entries == shown

    page_of(memory).unlink()
    assert memory.pages.sync().is_clean
    assert page_of(memory).read_text() == text


def test_the_rows_that_followed_are_the_rows_rebuilt(memory, clock):
    job(memory, clock)
    for text in ("Ana likes tea.", "Bob came.", "Ana likes tea."):
        memory.pages.append("user-profile", text, ["taste"])
    memory.pages.compact("user-profile")
    job(memory, clock)
    memory.pages.compact("user-profile")

    def rows() -> list[tuple[object, ...]]:
        db = memory._services.page_files.level()
        found = [tuple(row[:-2]) for row in db.entries("user-profile.md")]
        words = db.db.execute("SELECT rowid, content FROM entries_fts WHERE entries_fts MATCH 'tea OR corp'").fetchall()
        return [*found, *sorted(words), db.file("user-profile.md").tokens, db.file("user-profile.md").entry_count]

    live = rows()
    memory.pages.rebuild()
    assert rows() == live


def test_a_file_from_before_the_folding_is_folded_again_and_an_edit_of_the_statement_is_one_like_any(memory, clock):
    job(memory, clock)
    before = page_of(memory).read_bytes()
    memory.pages.compact("user-profile")
    after = page_of(memory).read_bytes()

    page_of(memory).write_bytes(before)
    memory.pages.sync()

    assert page_of(memory).read_bytes() == after
    assert entries(memory) == [FOLDED]
    page_of(memory).write_text(page_of(memory).read_text().replace("senior engineer.", "chief engineer."))

    assert len(memory.pages.sync().adopted) == 1
    assert [each.text for each in memory.pages.read("user-profile").entries] == [FOLDED.replace("senior", "chief")]


@pytest.mark.parametrize("which", ["old", "new", "folded"])
def test_erasing_any_of_the_names_takes_the_folded_words_everywhere(memory, clock, which):
    old, new = job(memory, clock)
    memory.pages.append("user-profile", "Ana likes tea.", ["taste"])
    memory.pages.compact("user-profile")
    name = {"old": old, "new": new, "folded": memory.pages.read("user-profile").entries[0].id}[which]
    assert files_with(memory.folder, "Old Corp")

    memory.erase(name)

    assert files_with(memory.folder, "Old Corp") == files_with(memory.folder, "Acme Corp") == []
    assert entries(memory) == ["Ana likes tea."]


def test_erasing_one_of_joined_repeats_takes_the_words_of_all(memory, clock):
    names = [memory.pages.append("person-ana", f"Ana likes {the}rare tea.", ["taste"]).id for the in ("", "the ", "")]
    memory.pages.append("person-ana", "Bob came.", ["visit"])
    memory.pages.compact("person-ana")

    memory.erase(names[0])

    assert files_with(memory.folder, "rare tea") == []
    assert entries(memory, "person-ana") == ["Bob came."]


def test_the_reason_of_a_refusal_repeats_no_words_that_an_erasure_would_miss(memory, clock):
    old, _ = job(memory, clock)
    with pytest.raises(Refused, match="Acme"):
        memory.pages.compact("user-profile", page_of(memory).read_text().replace("Acme", "Other"))

    memory.erase(old)

    assert files_with(memory.folder, "Acme") == files_with(memory.folder, "Old Corp") == []


def test_a_dormant_page_that_is_folded_stays_dormant(memory, clock):
    job(memory, clock, "topic-work")
    memory.pages.append("topic-other", "Ana likes tea.", ["taste"])
    clock.now += timedelta(days=200)
    memory.tidy.apply(next(each for each in memory.tidy.proposals() if each.ids == ("topic-work.md",)))

    memory.pages.compact("topic-work")

    assert memory.pages.read("topic-work").info.status == "dormant"
    assert "status: dormant" in page_of(memory, "topic-work").read_text()


# -- who, and when -----------------------------------------------------------------------------------------------------


def test_what_is_carried_out_is_what_was_shown(memory, clock):
    job(memory, clock)
    memory.pages.flag_compact("user-profile")
    [shown] = memory.pages.compactions()
    memory.pages.append("user-profile", "Ana likes tea.", ["taste"])
    before = state(memory)

    with pytest.raises(Moved, match=r"user-profile\.md"):
        memory.pages.compact(shown)

    assert state(memory) == before
    [shown] = memory.pages.compactions()
    assert memory.pages.compact(shown).entries_after == 2
    with pytest.raises(Moved):
        memory.pages.compact(shown)


@pytest.mark.parametrize("trust", ["agent", "tool", "web"])
def test_pages_are_folded_by_people_or_with_their_approval_exactly_as_asked(home, clock, trust):
    with Memory(clock=clock) as memory:
        job(memory, clock)
        before = page_of(memory).read_bytes()
        rewrite = memory.pages.compactions()[0].text if memory.pages.compactions() else before.decode()
    with Memory(clock=clock, trust=trust) as memory, pytest.raises(NeedsApproval) as held:
        memory.pages.compact("user-profile", rewrite)
    assert page_of(memory).read_bytes() == before
    with Memory(clock=clock) as memory:
        review = memory.reviews.get(held.value.review)
        assert (review.action.cell, review.action.changes) == ("page.compact", {"rewrite": rewrite})
        memory.reviews.approve(review.id)
        assert memory.pages.read("user-profile").text == rewrite


def test_nothing_is_folded_inside_a_batch_or_where_nothing_may_be_written(memory, clock):
    job(memory, clock)
    with memory.batch(), refuses("batch", "pages"):
        memory.pages.compact("user-profile")
    with Memory(memory.folder, read_only=True) as other:
        with refuses("permission", "reading only"):
            other.pages.compact("user-profile")
        assert other.pages.compactions() == []
    assert entries(memory) == [OLD, NEW]


def test_a_page_that_is_not_there_is_not_folded(memory):
    with pytest.raises(NotFound):
        memory.pages.compact("person-nobody")
    with refuses("name", "'../escape'"):
        memory.pages.compact("../escape")
    counts = {"entries_before": 1, "entries_after": 1, "tokens_before": 1, "tokens_after": 1}
    with refuses("name", "person-ana.md", "''"):
        Compaction(path="", why="", text="", diff="", **counts)
    with refuses("value", "a.md"):
        Compaction(path="a.md", why="", text="", diff="", **(counts | {"tokens_after": -1}))


def test_a_page_saved_from_before_the_fold_takes_nothing_back(memory):
    first = memory.pages.append("user-profile", "User works at Old Corp.", ["work"])
    held = memory.pages.supersede("user-profile", first.id, "User joined Acme Corp as an engineer.", "new")
    memory.pages.append("user-profile", "User likes tea.", ["taste"])
    stale = page_of(memory).read_text()
    memory.pages.compact("user-profile")

    page_of(memory).write_text(stale.replace("likes tea", "likes coffee"))
    done = memory.pages.sync()
    texts = [entry.text for entry in memory.pages.read("user-profile").entries]
    assert "User likes coffee." in texts
    assert any(text.startswith("User joined Acme Corp as an engineer.") for text in texts)
    assert done.reviews == ()

    page_of(memory).write_text(stale.replace("as an engineer", "as a boss"))
    assert len(memory.pages.sync().reviews) == 1
    assert memory.show(held.id).is_held
