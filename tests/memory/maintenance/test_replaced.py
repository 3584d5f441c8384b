"""A folder that is replaced or taken away while a memory has it open: nothing of what is there now is served."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tallystick import ChronoRecord, ChronoStore, Memory, RolledBack

READS: dict[str, Callable[[Memory], Any]] = {
    "get": lambda m: m.get("port"), "show": lambda m: m.show("port"), "history": lambda m: m.history("port"),
    "why": lambda m: m.why("port"), "dependents": lambda m: m.dependents("port"),
    "related": lambda m: m.related("port"), "diff": lambda m: m.diff(0),
    "before": lambda m: m.get("port", believed_at=1), "beliefs": lambda m: list(m.beliefs.all()),
    "query": lambda m: m.beliefs.query(), "episodes": lambda m: m.episodes.recent(), "log": lambda m: list(m.log()),
    "log_page": lambda m: m.log_page(), "recall": lambda m: m.recall("which port?"),
    "frame": lambda m: m.frame("attention", "which port?"), "frames": lambda m: m.frames.all(),
    "status": lambda m: m.status(), "content_version": lambda m: m.content_version(), "size": lambda m: m.ledger.size,
    "verify": lambda m: m.ledger.verify(), "chain files": lambda m: m.ledger.files(),
    "proof": lambda m: m.ledger.proof(1), "checkpoints": lambda m: m.ledger.checkpoints(),
    "pages": lambda m: m.pages.list(), "page": lambda m: m.pages.read("topic-notes"),
    "pages searched": lambda m: m.pages.search("port"), "pages lately": lambda m: m.pages.recent(),
    "files": lambda m: m.files.paths(), "entities": lambda m: m.entities.all(), "facts": lambda m: m.facts.query(),
    "nodes": lambda m: m.graph.list_nodes(), "envelope": lambda m: m.graph.export_envelope(),
    "paths": lambda m: m.paths.all(), "reviews": lambda m: m.reviews.all(), "rules": lambda m: m.rules.all(),
    "receipts": lambda m: m.receipts.all(), "audit": lambda m: list(m.audit()), "sources": lambda m: m.sources(),
    "export": lambda m: list(m.export_lines()), "tidy": lambda m: m.tidy.proposals(), "hours": lambda m: m.work.hours,
    "config": lambda m: m.config.all(), "missing_vectors": lambda m: m.missing_vectors(),
    "withheld": lambda m: m.withheld("port"),
}  # fmt: skip
WRITES: dict[str, Callable[[Memory], Any]] = {
    "remember": lambda m: m.remember("the port is 1"), "observe": lambda m: m.observe("hello"),
    "forget": lambda m: m.forget("port"), "checkpoint": lambda m: m.ledger.checkpoint(), "backup": lambda m: m.backup(),
}  # fmt: skip


def put_another(folder: Path) -> None:
    with Memory(folder) as another:
        another.remember("the port is 6666", key="port", about="topic-notes")


def make_empty(folder: Path) -> None:
    folder.mkdir()


def leave_it(folder: Path) -> None:
    assert not folder.exists()


@pytest.mark.parametrize("then", [put_another, make_empty, leave_it])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_memory_whose_folder_was_replaced_or_taken_away_serves_nothing_until_it_is_back(tmp_path, then, read_only):
    folder, away = tmp_path / "notes", tmp_path / "away"
    with Memory(folder) as first:
        first.remember("the port is 5432", key="port", about="topic-notes")
    calls = READS if read_only else READS | WRITES
    with Memory(folder, read_only=read_only) as m:
        before = {name: call(m) for name, call in READS.items()}
        assert before["get"].text == "the port is 5432"
        folder.rename(away)
        then(folder)
        there = sorted(folder.rglob("*"))

        served = dict[str, Any]()
        for name, call in calls.items():
            try:
                served[name] = call(m)
            except RolledBack:
                continue
        assert not served
        assert sorted(folder.rglob("*")) == there, "something was made there"

        shutil.rmtree(folder, ignore_errors=True)
        away.rename(folder)
        assert m.get("port") == before["get"]
        assert m.ledger.verify().ok


@pytest.mark.parametrize("read_only", [False, True])
def test_a_memory_over_which_another_was_copied_serves_nothing_of_it(tmp_path, read_only):
    """As `cp -r other/. notes` does: the files stay the same to the system, and what is in them is not."""
    with Memory(tmp_path / "notes") as first:
        first.remember("the port is 5432", key="port")
    with Memory(tmp_path / "notes", read_only=read_only) as m:
        m.recall("which port?")
        put_another(tmp_path / "other")
        shutil.copytree(tmp_path / "other", tmp_path / "notes", dirs_exist_ok=True)
        for call in (READS[name] for name in ("get", "recall", "verify", "log", "pages", "export")):
            with pytest.raises(RolledBack, match=f"{tmp_path / 'notes'} .*another"):
                call(m)


def test_a_restore_of_another_memorys_copy_is_followed_because_it_is_on_the_record(tmp_path):
    with Memory(tmp_path / "other") as other:
        other.remember("the port is 6666", key="port")
        copy = other.backup(tmp_path / "copies")
    with Memory(tmp_path / "notes") as m:
        m.remember("the port is 5432", key="port")
        Memory.restore(copy, tmp_path / "notes").close()
        assert m.get("port").text == "the port is 6666"


def test_a_store_whose_folder_was_replaced_serves_nothing_of_the_other_one(tmp_path):
    with ChronoStore(tmp_path / "one") as store, ChronoStore(tmp_path / "two") as another:
        store.upsert(ChronoRecord(id="a", kind="fact", label="mine"))
        another.upsert(ChronoRecord(id="a", kind="fact", label="theirs"))
        (tmp_path / "one").rename(tmp_path / "away")
        (tmp_path / "two").rename(tmp_path / "one")
        for call in (lambda: store.get("a"), store.query, lambda: store.upsert(ChronoRecord(id="b", kind="fact"))):
            with pytest.raises(RolledBack, match=f"{tmp_path / 'one'}.*another"):
                call()
