"""A database is made ready and used as the how-to says; what needs a folder says so."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tallystick import Memory
from tallystick.memory import settings
from tallystick.records.errors import NotFound, NotWritable, RolledBack
from tests.docs.runner import blocks, run_page
from tests.refusals import not_approved, refuses

ROOT = Path(__file__).parent.parent.parent
NEEDS_A_SERVER = "<!-- not run: needs a PostgreSQL server -->\n"
NAMES = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in NAMES:
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("TALLYSTICK_HOME", "TALLYSTICK_PASS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def empty(cluster, request) -> str:
    """The address of an empty database, as a role that is no superuser."""
    name = f"empty_{abs(hash(request.node.name)) % 10_000_000}"
    with cluster.owner("postgres") as db:
        if not db.execute("SELECT 1 FROM pg_roles WHERE rolname = 'maker'").fetchone():
            db.execute("CREATE ROLE maker LOGIN CREATEROLE")
            db.execute("GRANT tallystick_owner, tallystick_app TO maker WITH ADMIN OPTION")
        db.execute(f"CREATE DATABASE {name} OWNER maker")
    return f"postgresql://maker@127.0.0.1:{cluster.port}/{name}"


@pytest.fixture
def address(cluster, home, monkeypatch) -> str:
    monkeypatch.setenv("TALLYSTICK_PASS_KEY", str(cluster.key))
    return cluster.ledger_address(cluster.new_ledger())


def said(*words: str, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tallystick", *words], capture_output=True, text=True, env={**os.environ}
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def test_init_makes_a_database_ready_and_a_ledger_in_it_once(home, empty):
    first = json.loads(said("init", f"{empty}?ledger=notes", "--json"))
    assert (first["new"], first["place"]) == (True, f"{empty.partition('@')[2]}?ledger=notes")
    assert re.fullmatch(r"postgresql://tallystick_app(:\S+)?@\S+\?ledger=notes", first["address"])
    assert json.loads(said("init", f"{empty}?ledger=notes", "--json"))["new"] is False
    assert json.loads(said("init", f"{empty}?ledger=other", "--json"))["new"] is True
    [key] = (home / "XDG_CONFIG_HOME" / "tallystick" / "keys").iterdir()
    assert key.stat().st_mode & 0o077 == 0

    said("-C", first["address"], "remember", "Ana lives in Lisbon", "--key", "home")
    assert "Ana lives in Lisbon" in said("-C", first["address"], "show", "home")
    assert "Intact: 2 events" in said("-C", first["address"], "ledger", "verify")
    assert said("-C", first["address"].replace("notes", "other"), "log").count("\n") == 1
    key.unlink()
    assert "no pass key" in said("-C", first["address"], "show", "home", status=1)


def test_whoever_may_not_make_it_ready_is_told(home, cluster, empty):
    address = empty.replace("maker@", "tallystick_app@")
    assert "refuses this" in said("init", f"{address}?ledger=notes", status=1)
    assert "cannot be reached" in said("init", "postgresql://maker@127.0.0.1:1/x?ledger=notes", status=3)
    assert "names no ledger" in said("init", empty, status=1)


def test_settings_and_policy_are_in_the_database_and_hold_for_everybody(home, address):
    file = home / "policy.toml"
    file.write_text('[policy]\n[[policy.rules]]\naction = ["remember"]\ntrust = ["web"]\nthen = "refuse"\n')
    with Memory(address, trust="web", by="web:page") as web, Memory(address) as person:
        assert said("-C", address, "settings") == settings.TEMPLATE
        web.remember("before", key="a")
        said("-C", address, "settings", "--from", str(file))
        assert said("-C", address, "settings") == file.read_text()
        with not_approved("refused"):
            web.remember("after", key="b")
        assert person.settings_text() == file.read_text()
        with refuses("file"):
            person.replace_settings("[policy")
        with refuses("file"):
            person.replace_settings("[recall]\nfloor = 7\n")
        with not_approved("refused"):
            web.replace_settings("")
        person.replace_settings("")
        web.remember("after", key="b")
        assert [belief.key for belief in person.beliefs.all()] == ["a", "b"]


def test_an_export_of_a_folder_is_imported_whole(home, address):
    with Memory(home / "m") as folder:
        for number in range(60):
            folder.remember(f"thing {number}", key=f"k{number % 20}")
            folder.observe(f"said {number}", id=f"e{number}")
        folder.export(home / "all.ndjson")
        lines, last = list(folder.export_lines()), folder.ledger.size
    with Memory(address) as m:
        assert m.import_export(home / "all.ndjson", mine=True).beliefs == 20
        assert [line for line in m.export_lines() if b'"type":"belief"' in line] == [
            line for line in lines if b'"type":"belief"' in line
        ]
        assert m.history("k0")[0].belief.text == "thing 0"
        assert m.ledger.size == last + 2
        assert m.import_export(home / "all.ndjson", mine=True).beliefs == 0


def test_one_who_only_reads_asks_everything_and_writes_nothing(home, address):
    with Memory(address) as m:
        m.remember("Ana likes tea")
        m.observe("the tea was cold")
    with Memory(address, read_only=True) as reader:
        assert [hit.text for hit in reader.recall("tea", words=True)]
        assert len(reader.episodes.recent()) == len(reader.sources()) == 1
        assert reader.status().writable
        with pytest.raises(NotWritable):
            reader.remember("more")


def test_what_needs_a_folder_says_so_and_a_password_is_not_repeated(home, address):
    with Memory(address) as m:
        for call in (lambda: m.folder, lambda: m.pages, lambda: m.ledger.folder, m.backup):
            with refuses("unsupported", m.place):
                call()
        with refuses("unsupported"):
            m.export(home / "pages", format="markdown")
        assert not (home / "pages").exists()
    assert "secret" not in said("-C", "postgresql://ana:secret@127.0.0.1:1/x?ledger=y", "check", status=1)
    with pytest.raises(NotFound):
        Memory(address.replace("ledger-", "no-such-ledger-"))


def test_a_checkpoint_and_a_proof_hold_and_a_pin_notices_an_older_state(home, address, cluster):
    with Memory(address) as m:
        m.remember("one", key="a")
        proof = m.ledger.prove(1)
        m.remember("two", key="a")
        note = m.ledger.checkpoint()
        assert m.ledger.check_proof(proof)["event"]["id"] == next(m.log(1)).id
        assert [kept.outside for kept in m.ledger.checkpoints()] == [True, False]
        assert m.ledger.verify(checkpoint=note).ok
    with cluster.owner() as db:
        name = address.rpartition("=")[2]
        row = db.execute("SELECT ledger FROM tallystick.ledgers WHERE name = %s", (name,)).fetchone()
        before = db.execute(
            "SELECT encode(sha256(head), 'hex') FROM tallystick.events WHERE ledger = %s AND seq = 1", row
        ).fetchone()
        db.execute("DELETE FROM tallystick.events WHERE ledger = %s AND seq = 2", row)
        db.execute("UPDATE tallystick.heads SET seq = 1, hash = %s WHERE ledger = %s", (before[0], row[0]))
    with Memory(address) as m:
        assert "event 2" in m.trouble
        assert not m.ledger.verify().ok
        with pytest.raises(RolledBack):
            m.remember("three")


def test_a_program_speaks_mcp_to_a_memory_in_a_database(home, address):
    async def spoken() -> list[str]:
        started = StdioServerParameters(
            command=sys.executable, args=["-m", "tallystick", "mcp", "-C", address], env=dict(os.environ)
        )
        async with stdio_client(started) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            calls = [("remember", {"text": "Ana lives in Lisbon"}), ("recall", {"question": "where does Ana live?"})]
            return [(await session.call_tool(name, said)).content[0].text for name, said in calls]

    remembered, recalled = asyncio.run(spoken())
    assert remembered.startswith("Remembered")
    assert "| Ana lives in Lisbon" in recalled
    with Memory(address) as m:
        assert [belief.trust for belief in m.beliefs.all()] == ["agent"]


def test_the_how_to_does_what_it_says(cluster, tmp_path):
    """As it stands, but for where the server is and how one logs in there."""
    text = (ROOT / "docs" / "how-to" / "run-on-postgresql.md").read_text("utf-8")
    [roles] = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    text = text.replace(NEEDS_A_SERVER, "").replace("localhost/memory", f"127.0.0.1:{cluster.port}/as_told")
    text = text.replace("tallystick_app:…@", "tallystick_app@").replace("(its password is shown this once)", "(…)")
    (page := tmp_path / "page.md").write_text(text, "utf-8")
    with cluster.owner("postgres") as db:
        db.execute("CREATE DATABASE as_told")
    try:
        with cluster.owner("as_told") as db:
            db.execute(roles)
        assert [block.language for block in blocks(page)].count("console") >= 3
        run_page(page, tmp_path / "home")
    finally:
        with cluster.owner("postgres") as db:
            db.execute("DROP DATABASE as_told WITH (FORCE)")
            db.execute("DROP ROLE tallystick_sweeper")
