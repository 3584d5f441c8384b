"""A suite that stays green when the program is sabotaged is no suite.

Each sabotage is done to a copy of the package; then a few of our own tests run over the copy and must fail.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tallystick
from tests.conftest import ROOT

pytestmark = pytest.mark.soak

# What is taken out of the ledger's code (what stands there, what is put in its place), and the test that must notice.
SABOTAGE = {
    "lines need not follow one another": (
        [(r"if prev != self\.hash:", "if False:"), (r"and block\.prevs == .*", "")],
        "test_tampered.py::test_a_line_rewritten_with_a_right_hash_is_noticed_by_the_line_below_or_the_witness",
    ),
    "data need not fit its digest": (
        [(r"if sha256\(data\).* != digest:", "if False:"), (r"and _digests\(block\.datas\) == .*", "")],
        "test_flipped.py::test_a_flipped_bit_is_noticed_by_a_reader_too",
    ),
    "a write returns before its sync": (
        [(r"try:\n            self\._sync\(\)\n", "try:\n            pass\n")],
        "test_power_cut.py::test_what_was_acknowledged_is_there_after_a_power_cut",
    ),
    "a new folder is not synced": (
        [(r"disk\.make_folder\(path\)\n        disk\.sync_folder\(path\.parent\)", "disk.make_folder(path)")],
        "test_power_cut.py::test_what_was_acknowledged_is_there_after_a_power_cut",
    ),
    "a torn end is cut off without a look at the witness": (
        [(r"if witness and end\.seq < witness\.seq:", "if False and witness:")],
        "test_cut.py::test_an_acknowledged_write_cut_at_any_byte_is_a_rollback_and_not_written_over",
    ),
    "anything at the end is torn": (
        [(r"if is_acknowledged or not _crash_can_leave\(.*\):", "if False:")],
        "test_flipped.py::test_a_flipped_bit_is_noticed_without_any_witness",
    ),
    "an erasure forgets the copies": (
        [(r"    for copied in folder\.copies\(\):", "    for copied in list[Folder]():")],
        "test_interrupted.py::test_words_are_gone_from_every_file_once_their_erasure_is_recorded",
    ),
    "the lock is not taken": (
        [(r"fcntl\.flock\(self\._fd, how \| fcntl\.LOCK_NB\)", "pass")],
        "test_killed.py::test_writers_killed_in_a_loop_lose_nothing_that_was_acknowledged",
    ),
    "a state file is taken at its word": (
        [(r"if file\.digest == digest and ", "if ")],
        "test_sealed_state.py::test_an_edited_state_file_is_refused_and_never_served",
    ),
    "what is held is not taken back with the write": (
        [(r"(self|owner)\.state\.rollback\(\)", "pass")],
        "test_failing_disk.py::test_a_failed_sync_in_a_batch_takes_the_whole_batch_back",
    ),
    "a failed sync is tried again": (
        [(r"self\.dead = f\"\{why\}; check the disk", "why = f\"{why}; check the disk")],
        "test_failing_disk.py::test_a_failed_sync_is_never_retried_and_closes_the_writer_for_good",
    ),
}  # fmt: skip


def sabotaged(tmp_path: Path, changes: list[tuple[str, str]]) -> Path:
    """A copy of the package with something taken out of its ledger."""
    shutil.copytree(Path(tallystick.__file__).parent, tmp_path / "tallystick")  # what is compiled is told by its time
    for old, new in changes:
        hits = sum([replace(path, old, new) for path in sorted((tmp_path / "tallystick" / "ledger").rglob("*.py"))])
        assert hits, f"the code has changed: say here what to take out instead of {old}"
    return tmp_path


def replace(path: Path, old: str, new: str) -> int:
    text, hits = re.subn(old, new, path.read_text(encoding="utf-8"))
    if hits:
        path.write_text(text, encoding="utf-8")
    return hits


def run(test: str, package: Path) -> subprocess.CompletedProcess:
    options = ["-x", "-q", "-p", "no:cacheprovider"]
    order = [sys.executable, "-m", "pytest", *options, f"tests/crash/{test}"]
    environment = {**os.environ, "PYTHONPATH": str(package), "TALLYSTICK_SOAK": "0", "HYPOTHESIS_PROFILE": "everyday"}
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):  # what is asked of the test run is not asked of this one
        environment.pop(name, None)
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # to load them takes longer than the test
    return subprocess.run(order, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("what", SABOTAGE)
def test_the_tests_notice_when(tmp_path, what):
    changes, test = SABOTAGE[what]

    done = run(test, sabotaged(tmp_path, changes))

    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed" in done.stdout


def test_the_tests_are_content_when_nothing_was_taken_out(tmp_path):
    """Or the failures above would mean nothing."""
    done = run("test_tampered.py::test_dropped_doubled_repeated_and_swapped_lines_are_noticed", sabotaged(tmp_path, []))

    assert done.returncode == 0, done.stdout + done.stderr
