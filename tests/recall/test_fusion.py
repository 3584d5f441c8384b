"""The weights that ship: whole, sane, and the floor between few memories and many."""

from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.recall import fusion
from tallystick.recall.question import called_in, names_someone
from tallystick.recall.signals import SIGNALS, Measured, Rest, covers_of_rest
from tallystick.text.recall_words import telling

KINDS = ("static", "model", "model-alone", "none")


def measured(**signals: list[float]) -> Measured:
    count = len(next(iter(signals.values())))
    every = {name: np.array(signals.get(name, [0.0] * count), np.float32) for name in SIGNALS}
    near = np.array(signals.get("near", [0.0] * count), np.float32)
    no = np.zeros(count, dtype=np.bool_)
    rest = Rest(every["words"], near, no, no, no)
    return Measured([f"{n:016x}" for n in range(count)], every, near, every["words"], rest)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_embedder_has_weights_for_known_signals_and_floors_in_order(kind):
    entry = fusion.learned(kind)
    assert set(entry["weights"]) <= set(SIGNALS)
    assert {"words", "speaker", "date"} <= set(entry["weights"])
    assert set(entry["fit"]) == {"bias", "words", "near", "date"}
    assert 0 < entry["floor"]["few"] <= entry["floor"]["many"] < 0.5
    assert 0 < entry["floor"]["hit"] < 0.5
    assert ("meaning" in entry["weights"]) == (kind != "none")


def test_more_of_anything_that_speaks_for_it_is_more_and_questions_are_less():
    for kind in KINDS:
        for name, weight in fusion.learned(kind)["weights"].items():
            low, high = fusion.similarity(measured(**{"words": [0.5, 0.5], name: [0.4, 0.9]}), kind)
            assert (high > low) == (weight > 0)


def test_what_is_left_out_does_not_count():
    some = measured(words=[0.2, 0.9], speaker=[1.0, 0.0])
    assert np.argmax(fusion.similarity(some, "static", frozenset({"speaker"}))) == 1
    assert np.all(fusion.similarity(some, "static", frozenset(SIGNALS)) == 0)


def test_the_more_of_the_question_is_covered_the_likelier_it_is_answered():
    sure = fusion.fits(measured(words=[0.0, 0.5, 1.0], near=[0.0, 0.3, 0.9]), "static")
    assert list(sure) == sorted(sure)
    assert sure[0] < fusion.least_of("static") < 0.9 < sure[2]


def test_the_floor_rises_with_the_number_of_memories():
    floors = [fusion.floor_of("static", size) for size in (0, 1, 20, 100, 500, 10**6)]
    entry = fusion.learned("static")["floor"]
    assert floors == sorted(floors)
    assert (floors[0], floors[-1]) == (entry["few"], pytest.approx(entry["many"]))


def test_the_file_is_plain_data():
    path = Path(fusion.__file__).with_name("weights.json")
    assert set(orjson.loads(path.read_bytes())) == set(KINDS)


# The rest of a question, without whom it names


def names(asked: str) -> list[str]:
    words = list(dict.fromkeys(telling(asked)))
    return [words[place] for place in called_in(asked, words)]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("What does Ana drink?", ["ana"]), ("Ana's blood type?", ["ana"]), ("ana's blood type", ["ana"]),
        ("What is Ana’s job?", ["ana"]), ("Is Olga married to Peter?", ["olga", "peter"]),
        ("what does ana drink", []), ("WHAT DOES ANA DRINK", []), ("What Does Ana Drink", []), ("Who is Ana?", []),
        ("What did we do in March?", []), ("Ana", []), ("When do I ship?", []), ("", []),
    ],
)  # fmt: skip
def test_a_name_is_what_is_written_like_one_beside_words_that_are_not(asked, found):
    assert names(asked) == found


def test_the_first_name_that_is_held_counts_for_nothing_and_the_rest_for_all():
    alike = np.array([[1.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]], np.float32)
    covered, holds = covers_of_rest(alike, np.array([0.5, 0.25, 0.25], np.float32), (0, 2))

    assert holds.tolist() == [True, True, False]
    assert covered.tolist() == pytest.approx([0.25, 0.5, 0.125])


def test_who_speaks_of_others():
    assert names_someone("Ana drinks tea")
    assert names_someone("the tea of Ana")
    assert names_someone("Ines is here")
    assert not names_someone("The tea is green")
    assert not names_someone("Backups are kept")
    assert not names_someone("The talk is on Monday, 3 March")
    assert not names_someone("we ship on the first")


@given(st.text(max_size=60))
def test_whatever_is_asked_not_all_words_are_names(asked):
    words = list(dict.fromkeys(telling(asked)))

    assert len(called_in(asked, words)) < max(len(words), 1)
    names_someone(asked)
