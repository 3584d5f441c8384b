"""The extractor of plain English: who speaks, what it quotes, what it leaves alone, and what no text can do to it."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from tallystick.consolidate.english import MULTI_VALUED, EnglishExtractor
from tallystick.records.episode import Episode
from tallystick.records.rule import Extracted, Extractor
from tests.growth import assert_text_linear
from tests.strategies import HOSTILE

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)


def episode(content, **given):
    return Episode(content=content, timestamp=given.pop("at", NOW), **{"user": "Ana", **given})


def read(content, **given) -> list[Extracted]:
    return EnglishExtractor().extract(episode(content, **given))


def triples(content, **given):
    return [(claim.subject, claim.predicate, claim.object) for claim in read(content, **given)]


def test_it_is_an_extractor_and_says_its_name():
    assert isinstance(EnglishExtractor(), Extractor)
    assert EnglishExtractor().name == "english"


# --- who speaks


def test_i_is_the_speaker_of_the_metadata_then_the_label_then_the_agent_then_the_user():
    said = "I live in Rome."

    assert triples(said) == [("Ana", "lives_in", "Rome")]
    assert triples(said, agent="Bob") == [("Bob", "lives_in", "Rome")]
    assert triples(f"Eva: {said}", agent="Bob") == [("Eva", "lives_in", "Rome")]
    assert triples(said, agent="Bob", metadata={"speaker": "Tom"}) == [("Tom", "lives_in", "Rome")]
    assert triples(f"Tom: {said}", metadata={"speaker": "Tom"}) == [("Tom", "lives_in", "Rome")]


def test_a_line_of_another_than_the_speaker_is_a_quotation():
    assert triples("Eva: I live in Rome.", metadata={"speaker": "Tom"}) == []


@pytest.mark.parametrize("speaker", [None, 7, "", "  ", ["Tom"]])
def test_a_speaker_that_is_no_text_names_nobody(speaker):
    assert triples("I live in Rome.", metadata={"speaker": speaker}) == [("Ana", "lives_in", "Rome")]


def test_a_machine_without_a_name_says_nothing_of_itself_and_may_speak_of_others():
    said = "I live in Oslo. Bob lives in Rome. My flight is on Friday."

    assert triples(said, metadata={"role": "assistant"}) == [("Bob", "lives_in", "Rome")]
    assert ("Ana", "lives_in", "Oslo") in triples(said, metadata={"role": "user"})


# --- evidence


@pytest.mark.parametrize(
    ("content", "quoted"),
    [
        ("Hello there. I live in Rome now, you know.", "I live in Rome"),
        ("😀 Well, I think Bob works at Acme!", "Bob works at Acme"),
        ("I moved to Berlin in March, finally.", "I moved to Berlin in March"),
        ("Last week, I moved to Berlin.", "Last week, I moved to Berlin"),
        ("  - I work at Initech, not Acme.", "I work at Initech, not Acme"),
        ("One. Two. The port is 5432. Three.", "The port is 5432"),
    ],
)
def test_a_claim_quotes_exactly_the_words_that_say_it(content, quoted):
    assert [content[claim.start : claim.end] for claim in read(content)] == [quoted]


def test_a_claim_that_is_said_twice_is_found_once_where_it_was_said_first():
    found = read("I live in Rome. Yes, I live in Rome.")

    assert [(claim.object, claim.start) for claim in found] == [("Rome", 0)]


def test_claims_stand_in_the_order_of_the_words():
    found = read("I love tea. My sister Eva works at Acme. I live in Rome.")

    assert [claim.start for claim in found] == sorted(claim.start for claim in found)
    assert len(found) == 4


# --- how sure


def test_a_hedge_is_told_and_left_to_whoever_weighs_it():
    firm, hedged = read("I live in Rome.")[0], read("I think I live in Rome.")[0]

    assert hedged.confidence == firm.confidence
    assert (firm.is_hedged, hedged.is_hedged) == (False, True)
    assert 0.45 <= firm.confidence <= 0.7


def test_what_a_pronoun_says_is_less_sure_than_what_a_name_says():
    named, meant = read("Bob is a doctor. He lives in Rome.")

    assert meant.confidence < named.confidence


# --- time


def test_times_are_read_from_the_moment_of_the_episode_in_its_zone():
    late = datetime(2026, 5, 20, 23, 30, tzinfo=timezone(timedelta(hours=-5)))

    assert read("I moved to Berlin today.", at=late)[0].valid_from == "2026-05-20"
    assert read("I moved to Berlin.", at=late)[0].valid_from == "2026-05-20"
    assert read("I started at Acme last May.", at=NOW.replace(year=2020))[0].valid_from == "2019-05-01"


def test_a_day_to_come_is_looked_for_ahead_also_over_the_end_of_the_year():
    assert triples("The report is due on 3 January.", at=NOW.replace(month=12)) == [("report", "due", "2027-01-03")]


# --- what no episode leaves behind


def test_nothing_is_remembered_between_two_episodes():
    reader = EnglishExtractor()
    reader.extract(episode("I met Eva. I work at Acme."))

    assert reader.extract(episode("She works at Initech.")) == []
    assert reader.extract(episode("No, at Initech.")) == []


def test_taste_and_skill_may_have_several_objects_and_a_home_only_one():
    assert {"likes", "dislikes", "speaks", "knows", "uses", "allergic_to", "member_of", "child", "sibling", "has_pet",
            "studied"} <= MULTI_VALUED  # fmt: skip
    assert MULTI_VALUED.isdisjoint({"lives_in", "works_at", "works_as", "name", "birthday", "married_to", "is"})


# --- hostile texts

PIECES = [
    "I live in Rome", "I work at", "my sister", "Eva", "not", "but", "and", ",", ".", "?", "(", ")", '"', "“", "”",
    "'s", "`", "```", "last May", "since", "until", "for three years", "I think", "is", "was", "'m", "to", "from",
    "I moved", "a dog called", "the port is", "5432", "\n", "- ", "Ana: ", "likes", "tea", "decided", "3 May 2026",
    "or", "born in", "prefer", "over", "quit", "started", "working", "at", "My birthday is", "30 February",
    "no longer", "used to", "…", *[text for text in HOSTILE if text], "\ud800", "\u200b", "İ", "ß", "I'", "’s",
    "x" * 700,
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map(" ".join).filter(str.strip))
def test_any_words_in_any_order_are_read_without_error_and_each_claim_has_its_evidence(content):
    for claim in read(content):
        assert content[claim.start : claim.end].strip()
        assert claim.end <= len(content)
        assert 0.3 <= claim.confidence <= 0.7


@given(st.text(min_size=1, max_size=200).filter(str.strip))
def test_any_text_is_read_without_error_and_always_alike(content):
    assert read(content) == read(content)


@given(st.sampled_from(["I live in Rome.", "I work at Acme, not Initech.", "My sister Eva likes tea."]), st.data())
def test_what_stands_before_a_statement_moves_its_evidence_and_changes_nothing(said, data):
    before = data.draw(st.sampled_from(["", "😀 ", "Hm. ", "What now? ", "\n\n", "\u200b. ", "漢字。\n", "```x```\n"]))
    moved = [(c.subject, c.object, (before + said)[c.start : c.end]) for c in read(before + said)]

    assert moved == [(c.subject, c.object, said[c.start : c.end]) for c in read(said)]


@pytest.mark.parametrize(
    "piece",
    ["I live in Berlin. ", "a", '"', " 'a", "`", "(", "```", "“", "„", "<", "I ", "my sister ", "I, ", "and I ", "Ana ",
     "- ", "Ana: ", ". ", "3 May ", "http://", "'s ", "not ", "I like tea and ", "I moved to ", "\u202e", "\0", "1. ",
     "\n", "Ab.", ".\"'", "A" * 31, "𝐈 "],
)  # fmt: skip
@pytest.mark.sample(6)
def test_a_very_long_text_is_read_in_part_and_in_time_that_grows_with_it(piece):
    def read(text):
        return triples(f"I work at Acme. {text} I live in Rome.")

    assert ("Ana", "lives_in", "Rome") not in read(piece * (1_000_000 // len(piece)))
    assert_text_linear(read, piece)


def test_a_sentence_that_is_too_long_is_not_read_and_the_next_one_is():
    assert triples("I live in Rome and " + "so " * 300 + "on. I work at Acme.") == [("Ana", "works_at", "Acme")]
