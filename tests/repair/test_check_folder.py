"""Checking and mending as a person does it: with their settings, keys and pins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallystick.memory.maintenance import check as care
from tallystick.memory.memory import Memory
from tests.refusals import refuses
from tests.repair.folders import LINE, damage_header, damage_words, everything, line_of, lines, set_lines, wal

pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with Memory(tmp_path / "memory") as memory:
        for number in range(8):
            memory.remember(f"the words of k{number}", key=f"k{number}")
    return tmp_path / "memory"


def checked(root: Path) -> list[str]:
    before = everything(root)
    findings = care.check(root)
    assert everything(root) == before
    return [finding.code for finding in findings]


def test_a_memory_that_is_well_has_no_findings_and_gets_no_keys(root, own_home):
    assert checked(root) == []
    assert not (own_home / ".config").exists()


def test_the_pin_of_whoever_asks_is_a_witness(root):
    with Memory(root) as memory:
        memory.ledger.checkpoint()
    set_lines(wal(root), lines(wal(root))[:-2])
    (root / "lock").unlink()
    (root / "checkpoint").unlink()

    assert checked(root) == ["rolled-back", "audit-ahead", "lock-missing"]


def test_damage_is_mended_and_the_memory_goes_on(root):
    with Memory(root) as memory:
        memory.ledger.checkpoint()
    damage_words(wal(root), line_of(wal(root), "the words of k3"))

    steps = care.plan(root, [LINE])

    assert steps == care.repair(root, [LINE], by="cli:test")
    assert checked(root) == []
    with Memory(root) as memory:
        assert memory.get("k3") is None
        assert memory.show("k4").text == "the words of k4"
        assert [event.by for event in memory.log(op="ledger.repair")] == ["cli:test"]
        assert memory.ledger.verify().ok


def test_what_a_pin_vouches_for_is_not_recorded_again(root):
    with Memory(root) as memory:
        memory.ledger.checkpoint()
    damage_header(wal(root), 3)

    with refuses("state", LINE, "the pin", "event 8", "tallystick restore"):
        care.repair(root, [LINE])


def test_after_the_restore_that_was_advised_all_is_well(root):
    with Memory(root) as memory:
        memory.ledger.checkpoint()
        copied = memory.backup()
        memory.remember("too late for the backup", key="late")
        memory.ledger.checkpoint()
    damage_header(wal(root), line_of(wal(root), "too late"))

    with refuses("state", copied.name):
        care.repair(root, [LINE])
    Memory.restore(copied.name, root).close()

    assert checked(root) == ["left-behind-damaged"]


def test_a_place_that_is_not_safe_is_warned_of(tmp_path):
    place = tmp_path / "Dropbox" / "memory"
    Memory(place).close()

    [finding] = care.check(place)

    assert (finding.code, finding.severity) == ("unsafe-place", "warning")
    with refuses("state", "unsafe-place", str(place)):
        care.repair(place, ["unsafe-place"])


@pytest.mark.parametrize("text", ['[ledger]\ndurability = "none"\n', "[ledger"])
def test_settings_that_mean_nothing_are_an_error(root, text):
    (root / "tallystick.toml").write_text(text)
    (root / "tallystick.toml").chmod(0o600)

    assert checked(root) == ["settings-unreadable"]
    with refuses("state", "tallystick.toml"):
        care.repair(root, ["settings-unreadable"])
