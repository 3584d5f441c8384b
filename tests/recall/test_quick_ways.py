"""What recall keeps, counts or passes over to be quick changes no answer."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tallystick import Memory
from tallystick.projections.index import statements as sql
from tallystick.projections.index.search import (
    EVERY_ROW,
    NOW,
    Scope,
    SourceRow,
    count_of,
    rarity,
    source_rows,
    sources_of,
)
from tallystick.recall.candidates import Gathering
from tallystick.recall.decay import recency, share
from tallystick.recall.hits import _ALIKE
from tallystick.recall.index_cache import IndexCache
from tallystick.recall.pipeline import Ask, answer
from tallystick.recall.question import take_apart
from tallystick.recall.support import recencies, shares
from tallystick.text.recall_words import CHUNK_WORDS, SHORT_WORDS, is_short, parts_of, spelled, stem, words

SAID = ("We don't paint", "Painting, painted, paints", "they don", "the t in don't", "Ünïcödé", "co-op o'clock o'clock")
ASKED = ["don't", "paint", "painter", "don", "t", "unicode", "o'clock", "papa'papa", "zebra", "天气"]


def blocks_in(index):
    return [row[0] for row in index.db.execute("SELECT id FROM blocks ORDER BY rowid")]


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", embedder="none") as opened:
        yield opened


def rarity_by_counting(index, user):
    total = index.db.execute(sql.COUNT_OF, (user, NOW)).fetchone()[0]
    counts = [index.db.execute(sql.COUNT_WITH, (f'"{word}"', user, NOW)).fetchone()[0] for word in ASKED]
    return [math.log(1 + max(total - n + 0.5, 0.5) / (n + 0.5)) for n in (max(count, 1) for count in counts)]


def test_a_word_is_as_rare_as_counting_says_alone_and_whatever_another_user_says(memory):
    for text in SAID:
        memory.observe(text)
    for more in ("", "paint paint, and don't stop at zebra"):
        if more:
            memory.observe(more, user="bob")
        index = memory._context.index.level()
        assert rarity(index, ASKED, "me", count_of(index, "me")) == rarity_by_counting(index, "me")


def test_a_standing_memory_that_expires_is_served_until_then_and_not_after(memory):
    soon = datetime.now(UTC) + timedelta(hours=1)
    memory.remember("Never call before noon", kind="constraint", expires=soon.isoformat())
    memory.remember("Always write in English", kind="constraint")
    seen = IndexCache(memory._context.index.level())
    early, late = (Scope("me", now=(soon + timedelta(hours=by)).isoformat()) for by in (-1, 1))
    blocks = blocks_in(seen.index)

    assert list(seen.view(early).sources_of(blocks, early)) == blocks
    assert list(seen.view(late).sources_of(blocks, late)) == blocks[1:]
    assert seen.view(early) is seen.view(late)
    assert not seen.view(early).is_lasting(blocks)
    assert seen.view(early).is_lasting(blocks[1:])


@given(
    st.text(alphabet="aeiosyldngtr'é", min_size=1, max_size=9), st.sampled_from(["ing", "ed", "es", "ies", "ly", "s"])
)
def test_words_of_one_stem_begin_alike(word, ending):
    for one in words(word):
        for other in words(word + ending):
            assert stem(one) != stem(other) or one[:_ALIKE] == other[:_ALIKE]


# Turns beside one another, and the rows of a session


SAYS = st.tuples(
    st.sampled_from(["tea is hot", "the gate is red", "we sail at noon", "bring bread", "no more tea"]),
    st.sampled_from(["s1", "s2", ""]), st.sampled_from(["me", "me", "bob"]),
    st.sampled_from(["human", "human", "tool"]), st.sampled_from(["", "", "draft"]), st.sampled_from(["Ana", "Bob"]),
)  # fmt: skip
SCOPES = st.builds(
    Scope, st.sampled_from(["me", "bob", "eve"]), st.sampled_from([NOW, NOW, 4]), st.sampled_from(["", "draft"]),
    st.sampled_from([None, "s1"]), st.sampled_from([None, "Ana"]), st.booleans(),
)  # fmt: skip


def told_to(folder, said):
    memory = Memory(folder, embedder="none")
    with memory.batch():
        for text, session, user, trust, path, agent in said:
            memory.observe(text, session=session, user=user, trust=trust, path=path, agent=agent)
    return memory


def gathering(index, scope, visible=None):
    asked = take_apart(index, "is the tea hot at the gate at noon with bread?", scope, datetime.now(UTC))
    return Gathering(IndexCache(index), asked, scope, visible, None, None)


@given(st.lists(SAYS, max_size=14), SCOPES)
def test_who_says_a_block_is_told_in_short_as_at_length(tmp_path_factory, said, scope):
    with told_to(tmp_path_factory.mktemp("told") / "memory", said) as memory:
        index = memory._context.index.level()
        short, long = (read(index, blocks_in(index), scope) for read in (source_rows, sources_of))

    fields = attrgetter(*SourceRow._fields)
    assert {block: [fields(each) for each in every] for block, every in long.items()} == short


def test_who_said_it_last_comes_first(memory):
    for session in ("s1", "s2", "s3"):
        memory.observe("tea is hot", session=session)
    index = memory._context.index.level()
    [every] = source_rows(index, blocks_in(index), Scope("me")).values()

    assert [each.session for each in every] == ["s3", "s2", "s1"]


def test_a_hit_holds_the_words_of_those_alone_who_pass(memory):
    memory.observe("Password: ABC", agent="Ana", id="one")
    memory.observe("password: abc", agent="Bob", id="two")

    assert {(hit.text, hit.sources) for hit in memory.recall("password")} == {
        ("Password: ABC", ("one",)), ("password: abc", ("two",)),
    }  # fmt: skip
    for _ in range(2):  # also from what was kept
        assert {(hit.text, hit.sources) for hit in memory.recall("password", without="agent:Bob")} == {
            ("Password: ABC", ("one",))
        }


def test_a_hit_holds_no_words_that_have_expired(memory):
    soon = datetime.now(UTC) + timedelta(hours=1)
    memory.remember("Tea at NOON", expires=soon.isoformat())
    memory.remember("tea at noon")
    meaning, index = memory._services.recall.meaning, memory._context.index.level()

    def texts(now):
        ask = Ask("when is tea?", Scope("me", now=now.isoformat()), now, floor=0.0)
        return sorted(hit.text for hit in answer(index, meaning, ask))

    for _ in range(2):
        assert texts(soon - timedelta(minutes=1)) == ["Tea at NOON", "tea at noon"]
        assert texts(soon + timedelta(minutes=1)) == ["tea at noon"]


@given(st.lists(SAYS, max_size=14), SCOPES)
def test_the_turns_beside_one_are_those_that_looking_at_who_says_them_would_find(tmp_path_factory, said, scope):
    with told_to(tmp_path_factory.mktemp("told") / "memory", said) as memory:
        index = memory._context.index.level()
        quick, slow = (gathering(index, scope, visible).gather() for visible in (None, lambda _: True))

    assert list(quick.sources) == list(slow.sources)
    assert {block: link[1:] for block, link in quick.links.items()} == {
        block: link[1:] for block, link in slow.links.items()
    }
    assert {link.turn.id for link in quick.links.values()} == {link.turn.id for link in slow.links.values()}


@pytest.mark.parametrize(
    "other", [{"user": "bob"}, {"path": "draft"}, {"agent": "Bob"}, {"session": "s2"}, {"trust": "tool"}]
)
def test_a_turn_that_may_not_be_heard_stands_beside_none(memory, other):
    usual = {"session": "s1", "agent": "Ana"}
    memory.observe("bread first", **(usual | other))
    memory.observe("tea is hot", **usual)
    memory.observe("bread again", **(usual | other))
    index, scope = memory._context.index.level(), Scope("me", agent="Ana")
    links = gathering(index, scope).gather().links
    every = gathering(index, scope._replace(quarantined=True, path="draft", agent=None)).gather().links

    [tea] = index.db.execute("SELECT id FROM blocks WHERE content = 'tea is hot'").fetchone()
    assert links[tea][1:] == ("", "")
    assert len(every) == (1 if "user" in other else 3)


def test_a_turn_that_needs_approval_is_passed_over_for_the_next(memory):
    for text, trust in (("bread first", "human"), ("a page", "web"), ("tea is hot", "human"), ("a tool", "tool")):
        memory.observe(text, session="s1", trust=trust)
    memory.observe("bread again", session="s1")
    found = gathering(memory._context.index.level(), Scope("me"))
    links = found.gather().links
    texts = {block: state.content for block, state in found.seen.states_of(links).items()}

    assert {texts[block]: (texts.get(link.before), texts.get(link.after)) for block, link in links.items()} == {
        "bread first": (None, "tea is hot"), "tea is hot": ("bread first", "bread again"),
        "bread again": ("tea is hot", None),
    }  # fmt: skip


def test_a_turn_of_another_user_in_a_session_of_the_same_name_is_passed_over(memory):
    for text, user in (("bread first", "me"), ("tea is hot", "bob"), ("bread again", "me"), ("tea", "bob")):
        memory.observe(text, session="s1", user=user)
    links = list(gathering(memory._context.index.level(), Scope("me")).gather().links.items())

    [(first, link), (second, other)] = sorted(links, key=lambda each: each[1].turn.since_seq)
    assert (link[1:], other[1:]) == (("", second), (first, ""))


def test_the_turns_of_another_moment_are_not_heard_before_they_were_said(memory):
    for text in ("bread first", "tea is hot", "bread again"):
        memory.observe(text, session="s1")
    index = memory._context.index.level()
    [first, second, third] = [row[0] for row in index.db.execute("SELECT since_seq FROM index_sources ORDER"
        " BY since_seq")]
    links = gathering(index, Scope("me", at=second)).gather().links

    assert sorted(link.turn.since_seq for link in links.values()) == [first, second]
    assert [link.after for link in links.values() if link.turn.since_seq == second] == [""]
    assert third > second


@given(st.lists(SAYS, max_size=14), SCOPES)
def test_passing_over_the_rows_of_other_sessions_passes_over_nothing_of_this_one(tmp_path_factory, said, scope):
    with told_to(tmp_path_factory.mktemp("told") / "memory", said) as memory:
        index = memory._context.index.level()
        quick = gathering(index, scope).gather()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Gathering, "_rows", lambda _: EVERY_ROW)
            slow = gathering(index, scope).gather()

    assert (quick.text, list(quick.sources)) == (slow.text, list(slow.sources))


def test_what_was_first_said_long_before_a_session_is_found_in_it(memory):
    for text in ("the kettle whistles", *SAID, "the kettle whistles"):
        memory.observe(text, session="late" if text == SAID[-1] else "early")
    memory.observe("the kettle whistles", session="late")

    hits = memory.recall("kettle", session="late")
    assert (hits[0].text, {hit.session for hit in hits}) == ("the kettle whistles", {"late"})
    assert not memory.recall("kettle", session="never")


# Shorter ways through words and numbers


@given(st.text() | st.text(alphabet="aB9'’ _.-\n\té", max_size=30))
def test_words_are_those_that_the_rule_finds(text):
    rule = re.compile(r"[^\W_]+(?:'[^\W_]+)*")

    assert spelled(text) == rule.findall(text.lower().replace("’", "'"))


@given(st.integers(0, 400), st.sampled_from(["a", "word"]), st.sampled_from([" ", "  ", "\n"]))
def test_a_text_is_short_by_its_words_and_not_by_its_letters(count, word, space):
    text = space.join([word] * count)

    assert is_short(text) == (count <= SHORT_WORDS)
    assert (parts_of(text) == [text]) == (count <= CHUNK_WORDS * 1.5)


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-10, 1e6), st.integers(-1, 50)), max_size=20))
def test_many_blocks_fade_as_each_does(rows):
    decay, hours, counts = (np.array([row[place] for row in rows], dtype=float) for place in range(3))
    most = max([0, *(count for *_, count in rows)])

    assert recencies(decay, hours) == pytest.approx([recency(row[0], row[1]) for row in rows], abs=1e-12)
    assert shares(counts) == pytest.approx([share(count, most) for *_, count in rows], abs=1e-12)


# Recency and reinforcement


numbers = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12)


@given(numbers, numbers)
def test_nothing_is_fresher_than_fresh(decay, hours):
    assert 0.0 <= recency(decay, hours) <= 1.0


@given(st.floats(0, 1), st.floats(0, 1e6), st.floats(0, 1e6))
def test_more_hours_never_make_it_fresher(decay, some, more):
    assert recency(decay, some + more) <= recency(decay, some)


def test_a_block_fades_by_its_own_rate():
    assert recency(0.01, 0.0) == 1.0
    assert recency(0.01, 100.0) == math.exp(-1)


@given(st.integers(-5, 10**9), st.integers(-5, 10**9))
def test_a_share_is_from_0_to_1_and_nothing_of_nothing_is_nothing(count, most):
    assert 0.0 <= share(count, most) <= 1.0
    assert share(count, 0) == share(0, most) == 0.0


def test_what_was_stated_again_counts_as_used(memory):
    for text in ("tea is hot", "tea is hot", "tea is green"):
        memory.remember(text)
    signals = {hit.text: hit.signals["reinforcement"] for hit in memory.recall("tea")}

    assert signals == {"tea is hot": 1.0, "tea is green": 0.0}
