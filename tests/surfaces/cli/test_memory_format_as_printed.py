"""The Memory Format page, as it is printed: its page, its commands, its calls and its settings, in one home.

The page is another program's: its name stands for ours here, and the folder that it names is the memory's.
"""

from __future__ import annotations

import ast
import os
import re
import sqlite3
import tomllib
from contextlib import closing
from hashlib import blake2s
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.surfaces.mcp.profiles import tools_of
from tests.projections.markdown.samples import SAMPLE as PAGE

HEADING = "## [{iso-timestamp}] {id: YYYYMMDD-HHMM-xxxx} #tag1 #tag2"
RANDOM = "blake2s(os.urandom(8), digest_size=3)"
KNOBS = """\
[writer]
soft_limit_tokens = 20000   # suggest compaction above this
hard_limit_tokens = 50000   # emergency: always flag
"""
FILES = [
    "user-profile.md", "user-preferences.md", "project-openchronicle.md", "tool-cursor.md", "tool-slack.md",
    "topic-rust-async.md", "person-alice.md", "org-anthropic.md", "event-2026-04-22.md",
]  # fmt: skip
CALLS = ["supersede(path, old_id, new_content, reason)", "read_memory(tags=...)"]
TOOLS = ["read_memory", "search", "supersede", "flag_compact", "list_memories", "get_schema"]
REBUILD, GREP = "openchronicle rebuild-index", "grep -r user- ~/.openchronicle/memory/"
AGAIN = "uv run openchronicle rebuild-index"
WIPING = [
    "uv run openchronicle clean memory   # asks to confirm; empties memory/ and the FTS tables",
    "uv run openchronicle clean all      # ...plus captures, timeline blocks, writer state",
]  # fmt: skip


@pytest.fixture
def chronicle(home: Path, warm_program: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`~/.openchronicle`, and the two programs that the page calls."""
    place, programs = home / ".openchronicle", home / "bin"
    (place / "memory").mkdir(parents=True)
    (place / "tallystick.toml").write_text(KNOBS)
    (place / "memory" / FILES[0]).write_text(PAGE)
    programs.mkdir()
    for name, what in {"openchronicle": f'exec {warm_program} "$@"', "uv": 'shift\nexec "$@"'}.items():
        (programs / name).write_text(f"#!/bin/sh\n{what}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("TALLYSTICK_HOME", str(place))
    return place


def tables_of(place: Path) -> dict[str, int]:
    with closing(sqlite3.connect(place / "state.db")) as db:
        names = ("files", "entries", "entries_fts")
        return {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}


def test_every_command_runs_in_one_session_as_it_is_printed(chronicle, terminal):
    page = chronicle / "memory" / FILES[0]

    looked = terminal("\n".join([REBUILD, GREP, AGAIN]), program=("bash", "-c"))

    assert re.findall(r"(?m)^read (\d)", looked.out) == ["1", "2"]
    assert "No such file" not in looked.out
    assert page.read_text() == PAGE
    assert tables_of(chronicle) == {"files": 2, "entries": 3, "entries_fts": 3}

    wiped = terminal("\n".join(WIPING), program=("bash", "-c"), typed="y\ny\n")

    assert wiped.status == 0
    assert wiped.out.count("Hide all of it?") == wiped.out.count("Cleaned") == 2
    assert list((chronicle / "memory").iterdir()) == []
    assert tables_of(chronicle) == {"files": 0, "entries": 0, "entries_fts": 0}
    assert (chronicle / "tallystick.toml").read_text() == KNOBS


def test_every_call_and_setting_is_as_it_is_printed(chronicle):
    given = {"path": FILES[0], "old_id": "20260421-0915-c4f1a5", "reason": "they said so"}
    given["new_content"] = "User joined Beta Corp as a principal engineer."
    with Memory() as memory:
        memory.pages.sync()
        shown = {entry.id: entry for entry in memory.pages.read("user-profile", include_superseded=True).entries}
        assert [shown[name].superseded_by for name in sorted(shown)] == ["", "20260421-0915-c4f1a5", ""]
        assert {entry.id for entry in memory.pages.search("engineer")} == {"20260421-0915-c4f1a5"}
        assert len(memory.pages.search("engineer", include_superseded=True)) == 2
        new = eval(CALLS[0], {**given, "supersede": memory.pages.supersede})
        text = (memory.pages.folder / FILES[0]).read_text()
        for name in FILES[1:]:
            memory.pages.append(name, "Words.", ["tag1", "tag2"])
            assert HEADING in templated((memory.pages.folder / name).read_text())
        settings = memory.pages._settings
        assert {"soft_limit_tokens": settings.soft_limit_tokens, "hard_limit_tokens": settings.hard_limit_tokens} == (
            tomllib.loads(KNOBS)["writer"]
        )

    assert f"#work #employer #superseded-by:{new.id}\n~~User joined Acme Corp as a senior engineer.~~" in text
    assert text.endswith(f"{{id: {new.id}}} #work #employer\n{given['new_content']}\n")
    assert len(eval(RANDOM, {"blake2s": blake2s, "os": os}).hexdigest()) == len(new.id.rpartition("-")[2])
    assert PAGE.splitlines()[:10][1:5] == text.splitlines()[:10][1:5]
    tools = {tool.name: set(tool.takes.model_fields) for tool in tools_of("pages")}
    assert set(TOOLS) <= set(tools)
    for call in CALLS:
        said = ast.parse(call, mode="eval").body
        assert isinstance(said, ast.Call)
        assert {*(arg.id for arg in said.args), *(word.arg for word in said.keywords)} <= tools[said.func.id]
    assert all("include_superseded" in tools[name] for name in ("read_memory", "search"))


def templated(text: str) -> str:
    """A page with the placeholders of the template in the place of times and ids."""
    text = re.sub(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\]", "[{iso-timestamp}]", text)
    return re.sub(r"\{id: \d{8}-\d{4}-[0-9a-f]{6}\}", "{id: YYYYMMDD-HHMM-xxxx}", text)
