"""One small workspace, always the same: what the tests of acceptance and the golden files are about.

As a program, `python -m tests.acceptance.story FOLDER NUMBER`, it makes that workspace in FOLDER. The number says how
far that is from here: how many years on, with what mask, and in which order the records are given.
"""

import json
import os
import random
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from click.testing import CliRunner

from tallystick.records import clock
from tallystick.records.errors import NeedsApproval
from tallystick.stores.phase import FileBackedMemoryGraphStore
from tallystick.stores.phase.runtime import PhaseMemoryRuntime

GOLDEN = Path(__file__).parents[1] / "golden" / "workspace-1"
GIVEN = GOLDEN / "given"
NINE = datetime(2026, 5, 18, 9, tzinfo=UTC)

LOCKS = (".lock", ".turn", "lock")


def command(*words: str) -> str:
    """`tallystick store …`, and what it prints."""
    from tallystick.surfaces.cli.root import tallystick as program

    done = CliRunner().invoke(program, ["store", *words])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def made(folder: Path, shuffled: int = 0) -> PhaseMemoryRuntime:
    """The workspace, made by commands and then by the runtime."""
    command("create", str(folder))
    command("import", str(folder), *_given(folder, shuffled), "--at", "2026-05-18T09:00:00Z")
    command("append", str(folder), str(GIVEN / "talk.jsonl"))
    runtime = runtime_of(folder)
    runtime.apply(runtime.propose("reinforce", ["likes-coffee"], by="bot", path_id="main"))
    supersede = runtime.propose("supersede", ["likes-tea"], by="bot", changes={"with": "likes-coffee"})
    with suppress(NeedsApproval):
        runtime.apply(supersede)
    runtime.apply(supersede, runtime.approve(supersede, by="ana"))
    merge = runtime.propose("merge", ["oslo"], by="bot", changes={"into": "Oslo"})
    runtime.apply(merge, runtime.approve(merge, by="ana"))
    runtime.plan_activation("where does Ana live?")
    compact = runtime.propose("compact", ["main"], by="bot", changes={"summary_ids": ["likes-coffee"]})
    runtime.apply(compact, runtime.approve(compact, by="ana"))
    return runtime


def runtime_of(folder: Path) -> PhaseMemoryRuntime:
    return PhaseMemoryRuntime(FileBackedMemoryGraphStore(folder), clock=lambda: NINE + timedelta(hours=1))


def _given(folder: Path, shuffled: int) -> list[str]:
    """The files to import, with the records and keys in another order."""
    files = [GIVEN / "ana.json", GIVEN / "graph.json"]
    if not shuffled:
        return list(map(str, files))
    drawn, others = random.Random(shuffled), list[str]()
    for file in files:
        told = json.loads(file.read_text(encoding="utf-8"))
        for value in told.values():
            if isinstance(value, list) and all(isinstance(each, dict) for each in value):
                drawn.shuffle(value)
        other = folder.with_name(f"{folder.name}-{file.name}")
        turned = {name: told[name] for name in drawn.sample(list(told), len(told))}
        other.write_text(json.dumps(turned, indent=shuffled, ensure_ascii=bool(shuffled % 2)), encoding="utf-8")
        others.append(str(other))
    return others


def content(folder: Path) -> dict[str, bytes]:
    """Every byte that counts, by name."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith(LOCKS))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


class _Later(datetime):
    """A day far from here; what it makes are plain times."""

    fromisoformat = datetime.fromisoformat

    @classmethod
    def now(cls, tz=None):  # type: ignore[no-untyped-def]
        return datetime.now(tz) + timedelta(days=400 * int(sys.argv[2]))


if __name__ == "__main__":
    number = int(sys.argv[2])
    os.umask((0o000, 0o077, 0o027)[number % 3])
    clock.datetime = _Later  # type: ignore[misc]
    made(Path(sys.argv[1]), number)
