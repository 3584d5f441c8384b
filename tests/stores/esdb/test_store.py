"""What a store of beliefs promises beyond the guide, and what went wrong in others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from tallystick import ChronoRecord, ChronoStore, EsdbBridge, EsdbRecord, Memory, Refused, TallystickError, open_store
from tallystick.records.errors import Damaged, NotFound
from tallystick.stores.esdb.bridge import FallbackWarning
from tallystick.stores.esdb.store import SkippedRecord
from tests.refusals import refuses


@pytest.fixture
def store(tmp_path: Path) -> ChronoStore:
    return ChronoStore(tmp_path).open()


# -- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (ChronoRecord(id=""), "key must not be empty"),
        (ChronoRecord(id="X", confidence=7.5), "from 0 to 1, not 7.5"),
        (ChronoRecord(id="X", confidence=-0.1), "from 0 to 1"),
        (ChronoRecord(id="X", confidence=float("nan")), "from 0 to 1, not nan"),
        (ChronoRecord(id="X", confidence=True), "from 0 to 1"),
        (ChronoRecord(id="X", confidence="0.5"), "from 0 to 1"),  # type: ignore[arg-type]
        (ChronoRecord(id="X", status=""), "a string such as active"),
        (ChronoRecord(id="X", status=None), "not None"),  # type: ignore[arg-type]
        (ChronoRecord(id="X", label=3), "a string, not int"),  # type: ignore[arg-type]
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


def test_a_store_opens_when_it_is_used_and_again_after_it_was_closed(tmp_path: Path) -> None:
    store = ChronoStore(tmp_path)
    assert store.query() == []
    store.close()
    store.upsert(ChronoRecord(id="X"))
    store.close()

    assert store.get("X") == ChronoRecord(id="X")


def test_a_status_of_the_callers_own_is_kept_and_asked_for_by_its_name(store: ChronoStore) -> None:
    for status in ("open", "closed", "hypothesis", "active"):
        store.upsert(ChronoRecord(id=status, label=status, status=status))

    assert [r.id for r in store.query()] == ["active"]
    assert [r.id for r in store.query(status="open")] == ["open"]
    assert [r.id for r in store.query(status="hypothesis")] == ["hypothesis"]
    assert [r.status for r in store.query(status="")] == ["open", "closed", "hypothesis", "active"]
    again = store.get("open")
    assert again is not None
    again.status = "active"
    store.upsert(again)
    assert store.get("open") == ChronoRecord(id="open", label="open")


# -- what ESDB's users expect --------------------------------------------------------------------------------------


def test_a_write_returns_its_event_and_replay_lists_all_of_them_chained(store: ChronoStore) -> None:
    put = store.upsert(ChronoRecord(id="X", label="tea"))
    assert (put.op, put.record_id, put.record) == ("upsert", "X", ChronoRecord(id="X", label="tea").to_dict())
    assert store.upsert(ChronoRecord(id="X", label="tea")) == put, "the same again is the same event"
    gone = store.delete("X")
    assert gone is not None
    assert (gone.op, gone.record["status"], gone.prev_hash) == ("delete", "tombstone", put.hash)
    assert store.delete("X") == gone
    assert store.delete("never was") is None
    store.compact()

    events = store.replay()
    assert [e.op for e in events] == ["ledger.begin/1", "upsert", "delete", "compact"]
    assert events[1:3] == [put, gone]
    assert [e.prev_hash for e in events[1:]] == [e.hash for e in events[:-1]]
    assert store.replay(from_seq=gone.seq) == events[2:]


def test_the_events_of_a_batch_are_told_without_hashes_that_are_not_there_yet(store: ChronoStore) -> None:
    with store.folder.ledger.batch():
        one, two = store.upsert(ChronoRecord(id="X")), store.upsert(ChronoRecord(id="Y"))
        assert store.upsert(ChronoRecord(id="X")) == replace(one, prev_hash="")
    assert (one.seq, one.hash, two.seq, two.hash) == (1, "", 2, "")


def test_another_users_words_are_not_in_replay(tmp_path: Path) -> None:
    with Memory(tmp_path / ".chronomemory", user="bo") as memory:
        memory.remember("a secret of Bo's", key="B")
    with ChronoStore(tmp_path) as store:
        assert "secret" not in str(store.replay())


def test_the_depth_of_a_store_is_stamped_on_what_it_puts(tmp_path: Path) -> None:
    with open_store(tmp_path, recursion_depth=2) as store:
        event = store.upsert(ChronoRecord(id="X"))
        assert event.recursion_depth == 2
        assert store.query()[0].recursion_depth == 2
    with open_store(project_root=tmp_path) as store:
        store.upsert(ChronoRecord(id="Y", recursion_depth=5))
        assert [r.recursion_depth for r in store.query()] == [2, 5]


@pytest.mark.parametrize(
    ("record", "passes"),
    [(ChronoRecord("X", confidence=0.6), True), (ChronoRecord("X", confidence=0.59), False),
     (ChronoRecord("X", status="tombstone"), False), (ChronoRecord("X", status="hypothesis"), False)],
)  # fmt: skip
def test_what_may_be_injected_into_a_prompt(record: ChronoRecord, passes: bool) -> None:
    assert record.passes_rag_filter() is passes


def test_a_dictionary_with_unknown_fields_is_a_record_without_them() -> None:
    assert ChronoRecord.from_dict({"id": "X", "label": "tea", "more": 1}) == ChronoRecord("X", label="tea")


def test_an_export_has_no_tombstones(store: ChronoStore) -> None:
    for status in ("active", "deprecated", "hypothesis", "tombstone"):
        store.upsert(ChronoRecord(id=status, status=status))

    assert [raw["id"] for raw in store.export_records()] == ["active", "deprecated", "hypothesis"]
    assert store.record_count() == 3


# -- copies ---------------------------------------------------------------------------------------------------------


def test_changing_a_record_that_was_handed_in_or_out_changes_nothing_until_upsert(store: ChronoStore) -> None:
    given = ChronoRecord(id="X", evidence=["a"], data={"deep": {"list": [1]}}, model_assumptions={"m": [1]})
    store.upsert(given)
    for record in (given, store.get("X"), store.query()[0]):
        assert record is not None
        record.label = "changed"
        record.evidence.append("b")
        record.data["deep"]["list"].append(2)
        record.model_assumptions["m"].append(2)

    assert store.get("X") == ChronoRecord(
        id="X", evidence=["a"], data={"deep": {"list": [1]}}, model_assumptions={"m": [1]}
    )


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

    assert [r.id for r in tower.dependents("ground")] == ["left", "right", "attic", "roof"]
    reasons = str(tower.why("roof"))
    assert "weakened: ground is no longer believed (the scale was off by 2 g), through left" in reasons
    assert "the scale was calibrated (invalidated, 1)" in reasons


def test_a_circle_of_beliefs_is_followed_once(store: ChronoStore) -> None:
    store.upsert(ChronoRecord(id="a", confidence=0.8))
    store.upsert(ChronoRecord(id="b", confidence=0.8, rests_on=["a"]))
    store.upsert(ChronoRecord(id="a", confidence=0.8, rests_on=["b"]))
    store.invalidate("a", "it rested on itself")

    assert _standing(store) == {"a": ("invalidated", False, 0.8), "b": ("active", True, 0.4)}
    assert "rests on" in str(store.why("b"))
    with refuses("self", "'a'"):
        store.upsert(ChronoRecord(id="a", rests_on=["a"]))


# -- time -----------------------------------------------------------------------------------------------------------


def test_what_was_believed_can_be_asked_by_event_and_by_time(store: ChronoStore) -> None:
    first = store.upsert(ChronoRecord(id="X", label="tea", confidence=0.6, evidence=["said so"])).seq
    at = store.history("X")[0].at
    second = store.upsert(ChronoRecord(id="X", label="coffee")).seq
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
    before = store.upsert(ChronoRecord(id="changed", label="tea")).seq
    store.upsert(ChronoRecord(id="new", label="fresh"))
    store.upsert(ChronoRecord(id="changed", label="coffee"))
    store.delete("gone")

    assert {(c.key, c.what) for c in store.diff(before)} == {("gone", "gone"), ("changed", "changed"), ("new", "added")}
    assert store.diff(before, before) == []


def test_a_time_without_a_zone_is_refused(store: ChronoStore) -> None:
    with refuses("time", "2026-05-03T12:00:00", "tzinfo"):
        store.get("X", believed_at="2026-05-03T12:00:00")
    with refuses("time", "'yesterday'"):
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
    assert not (store.root / "snapshot.json").exists()
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


def test_migrating_again_takes_back_nothing_that_was_changed_here(store: ChronoStore, tmp_path: Path) -> None:
    source = tmp_path / "requirements.json"
    source.write_bytes(orjson.dumps([{"id": "R-1", "title": "x", "confidence": 0.9}, {"id": "R-2", "title": "y"}]))
    store.migrate_from_json(tmp_path)
    one, two = store.query()
    assert one.evidence == ["migrated from requirements.json"]
    one.confidence, two.status = 0.3, "hypothesis"
    store.upsert(one)
    store.upsert(two)

    assert store.migrate_from_json(tmp_path) == {"requirements": 0, "testcases": 0, "skipped": 2}
    assert [(r.id, r.confidence) for r in store.query()] == [("R-1", 0.3)]
    source.write_bytes(orjson.dumps([{"id": "R-1", "title": "x", "confidence": 0.8}, {"id": "R-2", "title": "z"}]))
    assert store.migrate_from_json(tmp_path)["requirements"] == 2
    assert [(r.label, r.status, r.confidence) for r in store.query(status="")] == [
        ("x", "active", 0.8), ("z", "hypothesis", 0.7),
    ]  # fmt: skip


def test_a_file_that_is_no_list_is_refused_and_nothing_is_taken(store: ChronoStore, tmp_path: Path) -> None:
    (tmp_path / "requirements.json").write_text('{"id": "R-1"')
    with refuses("file", "requirements.json"):
        store.migrate_from_json(tmp_path)
    with pytest.raises(NotFound, match=rf"{tmp_path / 'nowhere'} .*requirements\.json"):
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
        assert [item.id for item in bridge.requirements()] == ["R-1"]
    assert (status["available"], status["backend"][:16], status["chain_valid"]) == (True, ".specsmith/ JSON", False)
    assert status["problem"]


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_bridge_tells_the_records_as_they_stand_and_writes_nothing_by_looking(tmp_path: Path) -> None:
    (tmp_path / ".specsmith").mkdir()
    item = {"id": "R-1", "title": "old", "confidence": 0.9, "status": "accepted"}
    (tmp_path / ".specsmith" / "requirements.json").write_bytes(orjson.dumps([item]))
    bridge = EsdbBridge(tmp_path)
    with ChronoStore(tmp_path) as store:
        store.migrate_from_json(tmp_path / ".specsmith")
        record = store.query()[0]
        record.confidence, record.label = 0.2, "new"
        store.upsert(record)
    before = _files(tmp_path)

    [found] = bridge.requirements()
    assert found == EsdbRecord(
        "R-1", "requirement", "active", 0.2, "new", data=item, source_ids=["migrated from requirements.json"]
    )
    assert found.to_dict() == {**item, "title": "new", "confidence": 0.2}
    assert bridge.status().record_count == 1
    assert _files(tmp_path) == before


def test_an_empty_store_is_no_store_and_the_bridge_serves_the_json(tmp_path: Path) -> None:
    (tmp_path / ".specsmith").mkdir()
    items = [{"id": f"R-{number}", "title": "x"} for number in range(12)]
    (tmp_path / ".specsmith" / "requirements.json").write_bytes(orjson.dumps(items))
    bridge = EsdbBridge(tmp_path)
    with ChronoStore(tmp_path):
        pass

    assert len(bridge.requirements()) == 12
    assert bridge.status().record_count == 12
    assert bridge.record_counts() == {"requirements": 12, "testcases": 0}
    assert bridge.upsert_record(EsdbRecord("R-0")) is bridge.delete_record("R-0") is False
    with ChronoStore(tmp_path) as store:
        store.migrate_from_json(tmp_path / ".specsmith")
        for record in store.query():
            store.delete(record.id)
    assert bridge.requirements() == []


def test_the_bridge_writes_where_there_is_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChronoStore(tmp_path) as store:
        store.upsert(ChronoRecord("R-1", kind="requirement", epistemic_boundary=["here"]))
    monkeypatch.chdir(tmp_path)
    bridge = EsdbBridge()

    assert bridge.upsert_record(EsdbRecord("R-1", "requirement", label="new", confidence=0.9, source_ids=["a"]))
    assert bridge.upsert_record(EsdbRecord("FACT-1"))
    assert bridge.record_counts() == {"requirement": 1, "fact": 1}
    with ChronoStore(tmp_path) as store:
        assert store.get("R-1") == ChronoRecord(
            "R-1", "requirement", label="new", confidence=0.9, evidence=["a"], epistemic_boundary=["here"]
        )
    assert bridge.delete_record("R-1")
    assert bridge.requirements() == []
    with refuses("value", "confidence"):
        bridge.upsert_record(EsdbRecord("R-2", confidence=7.5))


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
        with pytest.raises(TallystickError) as caught:
            store.why(name)
        assert "\n" not in str(caught.value)


def test_what_stands_in_a_segment_that_was_moved_away_is_still_told_of(tmp_path: Path) -> None:
    with ChronoStore(tmp_path / "project") as store:
        event = store.upsert(ChronoRecord(id="X"))
        store.compact()
        store.folder.ledger.prune(tmp_path / "elsewhere")

        again = store.upsert(ChronoRecord(id="X"))
        assert (again.seq, again.record, again.hash) == (event.seq, event.record, "")
