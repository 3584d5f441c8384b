"""The weights that ship: whole, sane, and the floor between few memories and many."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from tallystick.recall import fusion
from tallystick.recall.residual import Rest
from tallystick.recall.signals import SIGNALS, Measured

KINDS = ("static", "model", "model-alone", "none")


def measured(**signals: list[float]) -> Measured:
    count = len(next(iter(signals.values())))
    every = {name: np.array(signals.get(name, [0.0] * count), np.float32) for name in SIGNALS}
    near = np.array(signals.get("near", [0.0] * count), np.float32)
    no = np.zeros(count, dtype=np.bool_)
    rest = Rest(every["words"], near, no, no, no)
    return Measured([f"{n:016x}" for n in range(count)], every, near, every["words"], [0] * count, rest)


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
