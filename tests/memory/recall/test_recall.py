"""Recall by words through the one object people hold: what is found, for whom, and as of when."""

import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import assume, given, settings, strategies as st

from tallystick import Memory, Refused
from tallystick.projections.index import batch as desk
from tallystick.projections.index.rows import Block, address
from tallystick.records.recall import Hit
from tallystick.state.state import State
from tests.conftest import at_most
from tests.refusals import needs_approval, refuses

MANY = 10_000


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


# -- what is found -----------------------------------------------------------------------------------------------------


def test_what_was_said_is_found_with_the_reason(memory):
    said = memory.remember("Ana prefers green tea", about="person-ana", confidence=0.9)
    memory.remember("Ben drinks coffee")

    [hit, *_] = memory.recall("What tea does Ana prefer?")

    assert (hit.id, hit.text, hit.about, hit.confidence, hit.sources) == (
        said.id, "Ana prefers green tea", "person-ana", 0.9, (said.id,),
    )  # fmt: skip
    assert hit.score > 0.9
    assert hit.why == "says tea, prefer; close in meaning; about whom the question names"


def test_what_holds_more_of_the_words_comes_first_and_no_more_than_k(memory):
    for number in range(6):
        memory.remember(f"tea {number}")
    memory.remember("green tea from Uji")

    hits = memory.recall("green tea", k=3, words=True)

    assert len(hits) == 3
    assert hits[0].text == "green tea from Uji"
    assert hits[0].score > hits[1].score >= hits[2].score


def test_several_beliefs_that_say_the_same_are_one_hit(memory):
    one, two = memory.remember("green tea", key="a"), memory.remember("green tea ", key="b")
    other = memory.remember("Green Tea", key="c")

    hits = memory.recall("green tea")

    assert {hit.text: set(hit.sources) for hit in hits} == {"green tea": {one.id, two.id}, "Green Tea": {other.id}}


def test_what_is_forgotten_revised_or_pending_is_not_found_until_it_is_approved_and_never_when_rejected(memory, door):
    memory.remember("tea forgotten", key="f")
    memory.forget("f")
    memory.remember("tea before", key="r")
    memory.revise("r", "tea after")
    memory.remember("tea from the web", trust="web")
    memory.remember("tea of a spammer", trust="web", key="spam")
    with needs_approval("none", "revise", "tool", "human"):
        door("tool", "mcp:3f9a").revise("r", "tea is very hot")

    assert texts(memory.recall("tea")) == ["tea after"]
    asked = memory.recall("tea", quarantined=True)
    assert sorted(texts(asked)) == ["tea after", "tea from the web", "tea of a spammer"]
    for review in memory.reviews.waiting():
        if review.action.target == (memory.show("spam").id,):
            memory.reviews.reject(review.id, reason="it is not so")
        else:
            memory.reviews.approve(review.id)
    for _ in range(2):
        for how in ({}, {"quarantined": True}):
            assert sorted(texts(memory.recall("tea", **how))) == ["tea from the web", "tea is very hot"]
        memory.rebuild_index()


def test_session_agent_and_path_narrow(memory):
    memory.remember("tea everywhere", key="a")
    memory.remember("tea in one session", key="b", session="s1")
    memory.remember("tea of the planner", key="c", agent="planner")
    memory.remember("tea on a branch", key="d", path="draft")

    assert len(memory.recall("tea")) == 3
    assert texts(memory.recall("tea", session="s1")) == ["tea in one session"]
    assert texts(memory.recall("tea", agent="planner")) == ["tea of the planner"]
    assert len(memory.recall("tea", path="draft")) == 4
    assert memory.recall("tea", session="s%") == memory.recall("tea", session="") [:0]


# -- any question ------------------------------------------------------------------------------------------------------

ODD = [
    "", " ", "\x00", "tea\x00coffee", '"', '"tea', "'", "tea'; DROP TABLE blocks; --", "tea OR", "AND", "NOT tea",
    "NEAR(tea, 3)", "content:tea", "rowid:1", "tea*", "^tea", "{tea}", "(tea", "tea)", "-tea", "+", "\\", "%", "_",
    "the of and", "?" * 5000, "\ud800", "tea \udfff", "İ", "ﬃ", "ß", "茶", "e\u0301", "\u200b", "🍵", "²", "٣", "ǅ",
    "tea " * 300_000, "t" * 1_000_000,
    " ".join(map(str, range(5000))), "texts", "rank", "bm25(texts)", ":words", "?1", "$1", "@a",
]  # fmt: skip


def test_no_question_raises(memory):
    memory.remember("tea and coffee")
    for question in ODD:
        memory.recall(question)
    assert texts(memory.recall("NOT tea")) == ["tea and coffee"]
    assert texts(memory.recall("tea'; DROP TABLE blocks; --")) == ["tea and coffee"]
    assert texts(memory.recall("the and of")) == ["tea and coffee"]  # it has no other words


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        m = Memory(tmp_path_factory.mktemp("spoken") / "memory")
    with m:
        for text in ("tea", "茶", "ÄPFEL", "ﬃ", "a_b", "x" * 2000):
            m.remember(text)
        yield m  # type: ignore[misc]


@given(st.text(st.characters(), max_size=60), st.integers(1, 2**80), st.one_of(st.none(), st.integers()))
def test_no_question_of_any_letters_raises_at_any_moment(spoken, question, k, moment):
    spoken.recall(question, k=k, believed_at=moment)


@given(st.text(st.characters(), max_size=20), st.text(st.characters(), max_size=20))
def test_no_name_in_a_scope_raises(spoken, name, other):
    for hit in spoken.recall("tea", user=name, session=other, agent=other, path=other):
        assert name == "me", hit


def test_what_is_no_question_or_no_moment_is_refused_in_one_line(memory):
    memory.remember("tea")
    for wrong in (None, 3, b"tea", ["tea"]):
        with refuses("value", "question"):
            memory.recall(wrong)
    for k in (0, -1, 1.5, True):
        with refuses("value", "k"):
            memory.recall("tea", k=k)
    for wrong in (True, "yesterday", datetime(2026, 1, 1)):
        with pytest.raises(Refused):
            memory.recall("tea", believed_at=wrong)


# -- the wall between users --------------------------------------------------------------------------------------------

NAMES = ["me", "ana", "Ana", "ana ", "me' OR '1'='1", "%", "_", "U3:ana:tea", "*", "", "\x00", "a\nb", "茶", "m\u0065"]
USERS = st.one_of(st.sampled_from(NAMES), st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8))
WORDS = ["tea", "TEA ", "coffee tea", "U3:ana:tea", "u2:me:tea", "tea coffee uji", "3:ana:tea"]
TAGS = st.lists(st.sampled_from(["x", "y"]), unique=True)
SAID = st.tuples(st.sampled_from(WORDS), st.sampled_from(["human", "agent", "web"]), TAGS)


@settings(max_examples=at_most(25))
@given(USERS, USERS, st.lists(SAID, min_size=1, max_size=5), st.lists(SAID, min_size=1, max_size=5), st.randoms())
def test_nothing_that_another_user_says_is_seen_or_changes_what_is(mine, others, my_words, their_words, drawn):
    """Once alone, once with the other among them: the same hits, words, scores, sources, tags and reinforcement."""
    assume(mine != others)
    with tempfile.TemporaryDirectory() as base:
        seen = []
        for together in (False, True):
            with Memory(Path(base) / str(together)) as m:
                turns = [(mine, f"mine {number}", said) for number, said in enumerate(my_words)]
                for said in their_words if together else ():
                    turns.insert(drawn.randint(0, len(turns)), (others, "theirs", said))
                names: dict[str, str] = {}
                for user, name, (text, trust, tags) in turns:
                    try:
                        names[m.remember(text, user=user, trust=trust, tags=tags).id] = name
                    except Refused:
                        return  # a name that cannot be a user's
                seen.append(_as_seen(m, mine, names))
        assert seen[0] == seen[1]


def _as_seen(m: Memory, user: str, names: dict[str, str]) -> object:
    hits = [
        (hit.text, hit.score, hit.why, hit.trust, hit.confidence, tuple(names[source] for source in hit.sources))
        for quarantined in (False, True)
        for hit in m.recall("tea coffee uji 3 ana", k=MANY, user=user, quarantined=quarantined)
    ]
    assert all(name.startswith("mine") for hit in hits for name in hit[-1])
    rows = m._context.index.level().db.execute(
        "SELECT b.content, b.status, b.reinforcement_count, b.confidence,"
        " (SELECT group_concat(tag) FROM (SELECT tag FROM block_tags WHERE block_id = b.id ORDER BY tag))"
        " FROM blocks b JOIN index_lives l ON l.block_id = b.id WHERE l.user = ? ORDER BY 1, 2",
        (user,),
    )
    return sorted(hits), rows.fetchall()


@given(st.text(max_size=12), st.text(max_size=12), st.text(max_size=12), st.text(max_size=12))
def test_no_words_of_one_user_spell_the_address_of_anothers(content, user, other_content, other):
    same = (user, content.strip().lower()) == (other, other_content.strip().lower())
    try:
        assert (address(content, user) == address(other_content, other)) == same
    except UnicodeEncodeError:
        return


# -- ids that collide --------------------------------------------------------------------------------------------------


def test_contents_and_users_never_share_a_block_even_if_their_ids_collide(memory, monkeypatch):
    """Here an address begins with one of two digits, over and over; there it takes 2^64 texts."""

    def narrow(content: str, user: str = "me", path: str = "") -> str:
        whole = address(content, user, path)
        return str(int(whole[0], 16) % 2) * 32 + whole[:32]

    monkeypatch.setattr(desk, "address", narrow)
    said = {}
    for number in range(6):
        for user in ("me", "ana"):
            said[user, number] = memory.remember(f"tea {number}", user=user, key=f"k{number}")
    for user in ("me", "ana"):
        assert sorted(texts(memory.recall("tea", k=50, user=user))) == [f"tea {number}" for number in range(6)]
        assert {hit.sources for hit in memory.recall("tea", k=50, user=user)} == {
            (said[user, number].id,) for number in range(6)
        }
    before = memory._context.index.level().db.execute("SELECT * FROM index_lives ORDER BY 1").fetchall()
    assert len({row[0] for row in before}) == 12
    memory.rebuild_index()
    assert memory._context.index.level().db.execute("SELECT * FROM index_lives ORDER BY 1").fetchall() == before


def test_one_address_of_two_users_is_still_two_blocks(memory, monkeypatch):
    """If the hash itself collided, the user would still stand beside it."""
    monkeypatch.setattr(desk, "address", lambda content, user="me", path="": address(content.split()[0]))
    memory.remember("tea of mine")
    memory.remember("tea of hers", user="ana")
    assert texts(memory.recall("tea")) == ["tea of mine"]
    assert texts(memory.recall("tea", user="ana")) == ["tea of hers"]


def test_a_desk_that_knows_no_free_id_says_so(memory):
    memory.remember("tea")
    taken = desk.WriteBatch(memory._context.index.level().db, memory._folder.state.work.clock)
    whole = "a" * 64
    for name in ("a" * 16, whole):
        more = ("active", None, 0.5, 0, 0.01, 0.0, None, "ana", 1, None)
        taken.add_block(Block(name, "x", "fact", "cli", "", *more))
    with pytest.raises(LookupError, match="every id"):
        taken.at(whole, "me")


# -- as of when --------------------------------------------------------------------------------------------------------


BETWEEN = {
    "nothing": lambda m: None, "a compaction": lambda m: m.ledger.compact(), "a rebuild": lambda m: m.rebuild_index(),
    "an erasure": lambda m: m.erase("e"),
}  # fmt: skip


@pytest.mark.parametrize("between", BETWEEN)
def test_believed_at_gives_exactly_what_was_held_then(memory, clock, between):
    m, began = memory, clock.now
    for work in (
        lambda: m.remember("tea one", key="a"),
        lambda: m.remember("tea two", key="b", rests_on=["a"]),
        lambda: m.remember("tea gone", key="e"),
        lambda: m.revise("a", "tea one, revised"),
        lambda: m.forget("b"),
        lambda: m.remember("tea two", key="b"),
        lambda: m.invalidate("a", "it was wrong"),
        lambda: m.remember("tea for ana", user="ana"),
        lambda: BETWEEN[between](m),
        lambda: m.remember("tea last", key="z"),
    ):
        clock.now += timedelta(minutes=10)
        work()

    events = list(m._folder.events())
    moments = [*range(-1, len(events) + 2), *(event.ts for event in events)]
    moments += [began + timedelta(minutes=minutes) for minutes in range(-5, 130, 7)]
    for moment in moments:
        then, last = State(), m._folder.seq_at(moment)
        for event in events[: max(last + 1, 0)]:
            then.apply(event)
        current = then.query(user="me", status="active")
        expected = sorted((held.body()["id"], held.body()["text"]) for held in current)
        assert [each.id for each in m.beliefs.query(believed_at=moment)] == [held.body()["id"] for held in current]
        found = [(name, hit.text) for hit in m.recall("tea", k=50, believed_at=moment) for name in hit.sources]
        assert sorted(found) == expected, moment


# -- working hours -----------------------------------------------------------------------------------------------------


def test_a_block_remembers_the_working_hour_in_which_it_was_last_said(memory, clock):
    with memory.work.on("writing") as session:
        clock.now += timedelta(minutes=30)
        memory.remember("tea")
        clock.now += timedelta(days=3)
        memory.remember("tea", key="again")
        said = "SELECT last_reinforced_at, last_session_id, reinforcement_count FROM blocks"
        assert memory._context.index.level().db.execute(said).fetchall() == [(1.5, session, 1)]
        assert memory.work.hours == 1.5
