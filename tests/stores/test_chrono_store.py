"""What a store of beliefs promises beyond the guide, and what went wrong in others."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest

from keepsake import ChronoRecord, ChronoStore, EsdbBridge, KeepsakeError, Refused
from keepsake.records.errors import Closed, Damaged
from keepsake.stores.bridge import FallbackWarning
from keepsake.stores.takeover import SkippedRecord


@pytest.fixture
def store(tmp_path: Path) -> ChronoStore:
    return ChronoStore(tmp_path).open()


# -- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (ChronoRecord(id=""), "needs a key"),
        (ChronoRecord(id="X", confidence=7.5), "from 0 to 1, not 7.5"),
        (ChronoRecord(id="X", confidence=-0.1), "from 0 to 1"),
        (ChronoRecord(id="X", confidence=float("nan")), "from 0 to 1, not nan"),
        (ChronoRecord(id="X", confidence=True), "from 0 to 1"),
        (ChronoRecord(id="X", confidence="0.5"), "from 0 to 1"),  # type: ignore[arg-type]
        (ChronoRecord(id="X", status="actve"), "'actve' is not known"),
        (ChronoRecord(id="X", label=3), "text, not int"),  # type: ignore[arg-type]
        (ChronoRecord(id="X", evidence="NIST"), "write \\['NIST'\\]"),  # type: ignore[arg-type]
        (ChronoRecord(id="X", data={"x": float("inf")}), "finite"),
        (ChronoRecord(id="X", data={"x": 2**70}), "cannot be written"),
        (ChronoRecord(id="X", label="\ud800"), "cannot be written"),
        (ChronoRecord(id="X", rests_on=["nowhere"]), "'nowhere', which is not known"),
        (ChronoRecord(id="X", label="x" * (1 << 20)), "too long"),
    ],
)
def test_a_record_that_makes_no_sense_is_refused_with_the_reason_and_nothing_is_written(
    store: ChronoStore, record: ChronoRecord, reason: str
) -> None:
    before = (store.root / "events.wal").read_bytes()

    with pytest.raises(Refused, match=reason):
        store.upsert(record)

    assert (store.root / "events.wal").read_bytes() == before
    assert store.query(status="") == []


def test_a_store_that_is_not_open_says_how_to_open_it(tmp_path: Path) -> None:
    with pytest.raises(Closed, match="call open"):
        ChronoStore(tmp_path).query()


# -- copies ---------------------------------------------------------------------------------------------------------


def test_changing_a_record_that_was_handed_out_changes_nothing_until_upsert(store: ChronoStore) -> None:
    store.upsert(ChronoRecord(id="X", evidence=["a"], data={"deep": {"list": [1]}}, model_assumptions={"m": [1]}))
    for record in (store.get("X"), store.query()[0]):
        assert record is not None
        record.label = "changed"
        record.evidence.append("b")
        record.data["deep"]["list"].append(2)
        record.model_assumptions["m"].append(2)

    assert store.get("X") == ChronoRecord(
        id="X", evidence=["a"], data={"deep": {"list": [1]}}, model_assumptions={"m": [1]}
    )


def test_changing_what_was_put_in_changes_nothing_either(store: ChronoStore) -> None:
    record = ChronoRecord(id="X", data={"list": [1]})
    store.upsert(record)
    record.data["list"].append(2)

    found = store.get("X")
    assert found is not None
    assert found.data == {"list": [1]}


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\u0085", "\n", "\r\n", "\x00", "\x1b[31m", "\u202e", "😀", '"}'])
def test_a_character_that_looks_like_a_line_end_loses_no_record(store: ChronoStore, odd: str) -> None:
    store.upsert(ChronoRecord(id=f"X{odd}", label=f"before{odd}after"))
    store.upsert(ChronoRecord(id="Y", label="next"))
    store.close()
    store.open()

    assert [r.label for r in store.query()] == [f"before{odd}after", "next"]
    assert store.chain_valid()


# -- truth maintenance ----------------------------------------------------------------------------------------------


@pytest.fixture
def tower(store: ChronoStore) -> ChronoStore:
    """roof → left, right → ground; shed stands apart; attic is forgotten."""
    store.upsert(ChronoRecord(id="ground", label="the scale was calibrated", confidence=1.0))
    store.upsert(ChronoRecord(id="left", label="sample A weighs 3 g", confidence=0.8, rests_on=["ground"]))
    store.upsert(ChronoRecord(id="right", label="sample B weighs 4 g", confidence=0.6, rests_on=["ground"]))
    store.upsert(ChronoRecord(id="roof", label="B is heavier than A", confidence=0.9, rests_on=["left", "right"]))
    store.upsert(ChronoRecord(id="shed", label="it rained", confidence=0.9))
    store.upsert(ChronoRecord(id="attic", label="A was wet", confidence=0.9, rests_on=["ground"]))
    store.delete("attic")
    return store


def _standing(store: ChronoStore) -> dict[str, tuple[str, bool, float]]:
    return {r.id: (r.status, r.is_hypothesis, r.confidence) for r in store.query(status="")}


def test_what_rests_on_an_invalidated_belief_becomes_a_weaker_hypothesis_once(tower: ChronoStore) -> None:
    weakened = tower.invalidate("ground", "the scale was off by 2 g")

    assert {record.id for record in weakened} == {"left", "right", "roof"}
    assert _standing(tower) == {
        "ground": ("invalidated", False, 1.0),
        "left": ("active", True, 0.4),
        "right": ("active", True, 0.3),
        "roof": ("active", True, 0.45),  # reached by two ways, weakened once
        "shed": ("active", False, 0.9),
        "attic": ("tombstone", False, 0.9),
    }


def test_invalidating_again_weakens_nothing_and_writes_nothing(tower: ChronoStore) -> None:
    tower.invalidate("ground", "the scale was off by 2 g")
    before, seq = _standing(tower), tower.wal_seq()

    assert tower.invalidate("ground", "still off") == []
    assert (_standing(tower), tower.wal_seq()) == (before, seq)


def test_a_second_cause_weakens_again(tower: ChronoStore) -> None:
    tower.invalidate("ground", "the scale was off by 2 g")
    tower.invalidate("left", "that was sample C")

    assert _standing(tower)["roof"] == ("active", True, 0.225)


def test_the_chain_of_reasons_can_be_read(tower: ChronoStore) -> None:
    tower.invalidate("ground", "the scale was off by 2 g")

    assert [r.id for r in tower.what_rests_on("ground")] == ["left", "right", "attic", "roof"]
    reasons = str(tower.why("roof"))
    assert "weakened: ground is no longer held (the scale was off by 2 g), through left" in reasons
    assert "the scale was calibrated (invalidated, 1)" in reasons


def test_a_circle_of_beliefs_is_followed_once(store: ChronoStore) -> None:
    store.upsert(ChronoRecord(id="a", confidence=0.8))
    store.upsert(ChronoRecord(id="b", confidence=0.8, rests_on=["a"]))
    store.upsert(ChronoRecord(id="a", confidence=0.8, rests_on=["b"]))
    store.invalidate("a", "it rested on itself")

    assert _standing(store) == {"a": ("invalidated", False, 0.8), "b": ("active", True, 0.4)}
    assert "rests on" in str(store.why("b"))
    with pytest.raises(Refused, match="itself"):
        store.upsert(ChronoRecord(id="a", rests_on=["a"]))


# -- time -----------------------------------------------------------------------------------------------------------


def test_what_was_believed_can_be_asked_by_event_and_by_time(store: ChronoStore) -> None:
    first = store.upsert(ChronoRecord(id="X", label="tea", confidence=0.6, evidence=["said so"]))
    at = store.history("X")[0].at
    second = store.upsert(ChronoRecord(id="X", label="coffee"))
    store.delete("X")
    store.compact()

    then = store.get("X", believed_at=first)
    assert then is not None
    assert (then.label, then.evidence) == ("tea", ["said so"])
    assert store.get("X", believed_at=at) == then
    assert [r.label for r in store.query(believed_at=second)] == ["coffee"]
    assert store.query() == []
    assert store.get("X", believed_at=0) is None
    assert [(v.belief.text, v.belief.status) for v in store.history("X")] == [
        ("tea", "active"), ("coffee", "active"), ("coffee", "tombstone"),
    ]  # fmt: skip


def test_two_moments_are_told_apart(store: ChronoStore) -> None:
    store.upsert(ChronoRecord(id="kept", label="same"))
    store.upsert(ChronoRecord(id="gone", label="old"))
    before = store.upsert(ChronoRecord(id="changed", label="tea"))
    store.upsert(ChronoRecord(id="new", label="fresh"))
    store.upsert(ChronoRecord(id="changed", label="coffee"))
    store.delete("gone")

    assert {(c.key, c.what) for c in store.diff(before)} == {("gone", "gone"), ("changed", "changed"), ("new", "added")}
    assert store.diff(before, before) == []


def test_a_time_without_a_zone_is_refused(store: ChronoStore) -> None:
    with pytest.raises(Refused, match="no time zone"):
        store.get("X", believed_at="2026-05-03T12:00:00")
    with pytest.raises(Refused, match="not a time"):
        store.get("X", believed_at="yesterday")


# -- several at once ------------------------------------------------------------------------------------------------


def test_two_stores_on_one_folder_see_each_other(tmp_path: Path) -> None:
    with ChronoStore(tmp_path) as one, ChronoStore(tmp_path) as two:
        one.upsert(ChronoRecord(id="X", label="from one"))
        assert two.get("X") == one.get("X")
        two.upsert(ChronoRecord(id="X", label="from two"))
        two.compact()
        assert one.get("X") == ChronoRecord(id="X", label="from two")
        one.upsert(ChronoRecord(id="Y"))
        assert two.record_count() == 2


# -- erasing --------------------------------------------------------------------------------------------------------


def test_after_erasing_the_words_are_nowhere_in_the_folder_and_the_chain_holds(store: ChronoStore) -> None:
    store.upsert(ChronoRecord(id="SECRET-KEY", label="the marzipan password", data={"note": "marzipan again"}))
    store.upsert(ChronoRecord(id="SECRET-KEY", label="the marzipan password, twice"))
    store.upsert(ChronoRecord(id="OTHER", label="harmless"))
    store.backup()
    store.compact()
    store.backup()
    store.delete("SECRET-KEY")

    assert store.erase("SECRET-KEY") == 3
    holding = [path for path in store.root.rglob("*") if path.is_file() and _holds(path, b"marzipan", b"SECRET-KEY")]
    assert holding == []
    assert store.get("SECRET-KEY") is None
    assert [r.id for r in store.query(status="")] == ["OTHER"]
    assert store.chain_valid()
    store.close()
    os.unlink(store.root / "snapshot.json")
    store.open()
    assert [r.id for r in store.query(status="")] == ["OTHER"]


def _holds(path: Path, *words: bytes) -> bool:
    return any(word in path.read_bytes() for word in words)


# -- migration and bridge -------------------------------------------------------------------------------------------


def test_an_item_that_cannot_be_taken_is_reported_and_skipped(store: ChronoStore, tmp_path: Path) -> None:
    items = [
        {"title": "no id"},
        {"id": "R-1", "title": "too sure", "confidence": 7.5},
        {"id": "R-2", "status": "Deprecated"},
    ]
    (tmp_path / "requirements.json").write_bytes(orjson.dumps(items))

    with pytest.warns(SkippedRecord) as warned:
        counts = store.migrate_from_json(tmp_path)

    assert counts == {"requirements": 1, "testcases": 0, "skipped": 2}
    assert len(warned) == 2
    found = store.get("R-2")
    assert found is not None
    assert found.status == "deprecated"


def test_a_deleted_item_is_not_brought_back_by_migrating_again(store: ChronoStore, tmp_path: Path) -> None:
    (tmp_path / "requirements.json").write_bytes(orjson.dumps([{"id": "R-1", "title": "x"}]))
    store.migrate_from_json(tmp_path)
    store.delete("R-1")

    with pytest.warns(SkippedRecord, match="stays deleted"):
        assert store.migrate_from_json(tmp_path)["skipped"] == 1
    assert store.query() == []


def test_a_file_that_is_no_list_is_refused_and_nothing_is_taken(store: ChronoStore, tmp_path: Path) -> None:
    (tmp_path / "requirements.json").write_text('{"id": "R-1"')
    with pytest.raises(Refused, match="requirements.json"):
        store.migrate_from_json(tmp_path)
    with pytest.raises(Refused, match="is not a folder"):
        store.migrate_from_json(tmp_path / "nowhere")
    assert store.query() == []


def test_the_bridge_never_falls_back_silently(tmp_path: Path) -> None:
    (tmp_path / ".specsmith").mkdir()
    (tmp_path / ".specsmith" / "requirements.json").write_bytes(orjson.dumps([{"id": "R-1", "title": "old"}]))
    (tmp_path / ".chronomemory").mkdir()
    (tmp_path / ".chronomemory" / "events.wal").mkdir()  # a store that cannot be read
    bridge = EsdbBridge(project_dir=tmp_path)

    with pytest.warns(FallbackWarning, match="cannot be read"):
        status = bridge.status().to_dict()
    with pytest.warns(FallbackWarning):
        assert [item["id"] for item in bridge.requirements()] == ["R-1"]
    assert (status["available"], status["backend"]) == (False, "json")
    assert status["problem"]


def test_the_bridge_says_that_a_store_is_damaged(tmp_path: Path) -> None:
    with ChronoStore(tmp_path) as store:
        store.upsert(ChronoRecord(id="R-1", kind="requirement", label="first"))
        store.upsert(ChronoRecord(id="R-2", kind="requirement", label="second"))
    wal = tmp_path / ".chronomemory" / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b"second", b"sec0nd"))

    status = EsdbBridge(project_dir=tmp_path).status()
    assert status.chain_valid is False
    assert "damaged" in status.problem


def test_a_damaged_store_still_reads_and_refuses_to_write(tmp_path: Path) -> None:
    with ChronoStore(tmp_path) as store:
        for number in range(3):
            store.upsert(ChronoRecord(id=f"F-{number}", label=f"number {number}"))
    wal = tmp_path / ".chronomemory" / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b"number 1", b"numb3r 1"))
    before = wal.read_bytes()

    with ChronoStore(tmp_path) as store:
        assert [r.id for r in store.query()] == ["F-0"]
        with pytest.raises(Damaged, match="event 2"):
            store.upsert(ChronoRecord(id="NEW"))
    assert wal.read_bytes() == before


def test_every_error_is_one_line(store: ChronoStore) -> None:
    for name in ("\n", "\x1b[31m", "x" * 300):
        with pytest.raises(KeepsakeError) as caught:
            store.why(name)
        assert "\n" not in str(caught.value)
