"""Whatever is written on pages and whatever is typed: what a text says finds it, and walls stand."""

from hypothesis import example, given, strategies as st

from tallystick.projections.pages.search import MOST_TERMS, index_entry, parse, unindex_entry
from tests.projections.pages.test_search import REBUILD, Notes
from tests.strategies import texts

PIECES = (
    "tea", "green", "Deployed", "e-mail", "blue-green", "Ana's", "foo_bar", "#work", "##", '"', "“", "”", "*", "dep*",
    "東京",
    "東", "タワー", "กิน", "서울", "iPhone", "を", "😀", "👩‍💻", "🤔", "\u0301", "\u0327", "\u200b", "\u00ad", "é",
    "ﬁ", "Straße", "İ", "ς",
    "مُ", "हि", "2026-04-21", "2026-04", "20260421-0915-c4f1a5", "c4f1a5", "\ue000", "\ue001", "\ue0021", "AND", "NOT",
    "NEAR(",
    "content:", "^", "-", "'", ".", "/", "\x00", "\u0378", "ᦰ", "½", "ﷺ", "ǆ", "𝐀", "Ａ", "ᄀ", "ㅋ", "\n", "~~", "s",
    "1", "runs",
)  # fmt: skip
mixed = st.lists(st.one_of(st.sampled_from(PIECES), st.sampled_from([" ", " ", "-"]), texts), max_size=12).map("".join)
typed = st.one_of(mixed, st.text(st.characters(), max_size=30))  # also half a surrogate pair


states = st.sampled_from([{}, {}, {"superseded_by": "x"}, {"retracted": 1}, {"folded_into": "x"}])
entries = st.lists(st.tuples(mixed, st.sampled_from(["me", "ana"]), states), max_size=6)


def written(said):
    """Pages on which all that was said stands; and who said what under which id."""
    notes, names = Notes(), {}
    for text, user, state in said:
        path = "topic-notes.md" if user == "me" else f"@{user}/topic-notes.md"
        names[notes.add(text, path, user=user, tags=("work", "東京"), **state)] = (text, user, state)
    return notes, names


@given(entries)
@example([("ᦰ", "me", {}), ("aᦰb ᳲ", "me", {})])
@example([('a"\u0378b "c', "me", {})])
@example([("great🤔-idea \ue000x", "me", {})])
def test_what_an_entry_says_finds_it_as_a_whole_and_word_by_word(said):
    notes, names = written(said)
    for name, (text, user, state) in names.items():
        for words in (text, *text.split()):
            if parse(words).terms:
                matches = notes.search(words, user, include_superseded=bool(state), top_k=100)
                assert name in {match.id for match in matches if match.has_all}
    notes.close()


@given(entries, typed, st.booleans())
def test_no_question_raises_crosses_to_another_user_or_brings_back_what_no_longer_holds(said, question, with_old):
    notes, names = written(said)
    ends, texts = [name[-6:] for name in names], [each[0] for each in said]
    asked = [question, "2026-04-21", "#work", "東京", *names, *ends, *texts]
    for user in ("me", "ana", "bob"):
        for words in asked:
            for match in notes.search(words, user, include_superseded=with_old, top_k=100):
                text, whose, state = names[match.id]
                assert (match.content, user) == (text, whose)
                assert with_old or not state
                assert match.chain[0] == match.id
    notes.close()


@given(entries, typed, st.integers(1, 4))
def test_fewer_are_the_first_of_more_and_a_narrower_search_finds_nothing_else(said, question, most):
    notes, _ = written(said)
    for words in (question, "tea green", "2026-04-21"):
        found = notes.search(words, top_k=100)
        assert notes.search(words, top_k=most) == found[:most]
        assert notes.search(words, top_k=100, paths=["topic-"], since="2026-04", until="2026-04") == found
        assert notes.search(words, top_k=100, tags=["#Work", "東京"]) == found
        assert notes.search(words, paths=["person-"]) == notes.search(words, until="2025-12") == []
    notes.close()


@given(typed, st.lists(typed, max_size=3), st.lists(typed, max_size=3), typed)
def test_any_text_may_stand_anywhere(question, paths, tags, user):
    notes, _ = written([("green tea", "me", {})])
    notes.search(question, user, paths=paths, tags=tags)
    assert notes.search(question, user) == [] or user == "me"
    assert len(parse(question).terms) <= MOST_TERMS
    notes.close()


@given(st.lists(mixed, min_size=1, max_size=6), st.data())
def test_full_text_that_followed_along_is_sound_and_finds_what_a_new_one_finds(said, data):
    notes, _ = written([(text, "me", {}) for text in said])
    gone = data.draw(st.sets(st.integers(1, len(said))))
    for n in gone:
        unindex_entry(notes.db, n)
        notes.db.execute("UPDATE entries SET tags = '[\"other\"]' WHERE n = ?", (n,))
        index_entry(notes.db, n)
    notes.faults()
    before = [notes.search(words) for words in (*said, "#other", "#work")]
    notes.db.execute(REBUILD)
    assert [notes.search(words) for words in (*said, "#other", "#work")] == before
    notes.close()
