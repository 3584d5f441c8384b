"""The nine attacks of the agent-memory-integrity suite on what is at rest, and what a reader says to each."""

import json
import re
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from agmi.adapters.base import MemoryAdapter, Record
from agmi.attacks.at_rest import AT_REST_ATTACKS_WITH_SNAPSHOT as ATTACKS

from tallystick import Memory, TallystickError

_LINE = re.compile(rb'(\{.*?"prev":"[0-9a-f]{64}"),"hash":"[0-9a-f]{64}","data":(.*)\}', re.DOTALL)
_HEX = re.compile(rb"\b[0-9a-f]{64}\b")


class Tallystick(MemoryAdapter):
    """A memory of two users. The attacker edits `events.wal`; one who `is_thorough` makes all hashes anew, and removes
    whatever else the folder holds."""

    name, supports_replay, supports_metadata, supports_snapshot = "tallystick", True, True, True
    is_thorough = False

    def setup(self) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.folder = self.root / "memory"

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def _say(self, user: str, *texts: str) -> None:
        with Memory(self.folder, user=user, embedder="none") as memory:
            for text in texts:
                memory.remember(text)

    def seed(self, n: int) -> None:
        self._say("me", *(f"Fact {i}: the code of room {i} is {1000 + i}" for i in range(n)))

    def seed_other(self, n: int) -> None:
        self._say("you", *(f"Other {i}: the safe of flat {i} is {9000 + i}" for i in range(n)))

    def append_genuine(self) -> None:
        self._say("me", "Fact late: the code changed")

    # -- the file ----------------------------------------------------------------------------------------------------

    def _lines(self) -> list[bytes]:
        return (self.folder / "events.wal").read_bytes().splitlines()

    def _write(self, lines: list[bytes]) -> None:
        if self.is_thorough:
            lines = list(self._chained(lines))
            for path in self.folder.iterdir():
                if path.name != "events.wal":
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        (self.folder / "events.wal").write_bytes(b"".join(line + b"\n" for line in lines))

    def _chained(self, lines: list[bytes]):
        prev = b"0" * 64
        for number, line in enumerate(lines):
            line = re.sub(rb'^\{"seq":\d+', b'{"seq":%d' % number, line)
            line = re.sub(rb'"batch":\d+', b'"batch":%d' % number, line, count=1)
            found = _LINE.fullmatch(line)
            assert found is not None
            digest = sha256(found[2]).hexdigest().encode()
            head = re.sub(
                rb'"digest":"\w+","prev":"\w+"$', b'"digest":"%b","prev":"%b"' % (digest, prev), found[1]
            )  # fmt: skip
            prev = sha256(head).hexdigest().encode()
            yield head + b',"hash":"' + prev + b'","data":' + found[2] + b"}"

    def _belief(self, line: bytes) -> dict[str, Any] | None:
        told = json.loads(line)
        return told["data"]["body"]["belief"] if told["op"] == "belief.put/1" else None

    def _of(self, user: str) -> list[Record]:
        lines = self._lines()
        if self.is_thorough:  # what he makes anew is nothing that he changes
            lines = [_HEX.sub(b"0" * 64, line) for line in lines]
            lines = [re.sub(rb'("seq"|"batch"):\d+', rb"\1:0", line, count=2) for line in lines]
        found = [(seq, line, self._belief(line)) for seq, line in enumerate(lines)]
        return [Record(seq, {"line": line}) for seq, line, told in found if told and told.get("user", "me") == user]

    def read_all_raw(self) -> list[Record]:
        return self._of("me")

    def read_other_raw(self) -> list[Record]:
        return self._of("you")

    def write_raw(self, record: Record) -> None:
        lines = self._lines()
        lines[record.seq : record.seq + 1] = [record.fields["line"]]
        self._write(lines)

    def delete_raw(self, seq: int) -> None:
        lines = self._lines()
        del lines[seq]
        self._write(lines)

    def mutate_payload(self, record: Record) -> Record:
        record.fields["line"] = record.fields["line"].replace(b"the code of", b"the C0DE of")
        return record

    def forge_record(self, template: Record) -> Record:
        return Record(len(self._lines()), {"line": template.fields["line"].replace(b"Fact", b"Forged fact")})

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        lines = self._lines()
        lines[victim_seq] = lines[victim_seq].replace(_text(lines[victim_seq]), _text(donor.fields["line"]))
        self._write(lines)

    def read_meta(self, seq: int) -> dict[str, Any]:
        return {"by": json.loads(self._lines()[seq])["by"]}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        lines = self._lines()
        lines[seq] = re.sub(rb'"by":"[^"]*"', b'"by":"cli:forged"', lines[seq])
        self._write(lines)

    def snapshot_store(self) -> object:
        return self._copy_store(self.folder)

    def restore_store(self, token: object) -> None:
        self._restore_store(str(token), self.folder)

    def identity_of(self, record: Record) -> str:
        return str(record.seq)

    def payload_of(self, record: Record) -> str:
        return _text(record.fields["line"]).decode()

    def owner_of(self, record: Record) -> str | None:
        told = self._belief(record.fields["line"])
        return told.get("user", "me") if told else None

    # -- what a reader is told -----------------------------------------------------------------------------------------

    def reload(self) -> None:
        """Every read opens the folder."""

    def verify(self) -> bool:
        self.verify_detail = None
        try:
            with Memory(self.folder, embedder="none") as memory:
                memory.recall("what is the code of room 1?")
                self.verify_detail = memory.trouble or None
        except TallystickError as error:
            self.verify_detail = f"{type(error).__name__}: {error}"
        return self.verify_detail is None


def _text(line: bytes) -> bytes:
    return re.search(rb'"text":"([^"]*)"', line)[1]  # type: ignore[index]


class Thorough(Tallystick):
    name, is_thorough = "tallystick, and all hashes made anew", True


@pytest.mark.parametrize("adapter", [Tallystick, Thorough])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_whatever_is_done_to_the_ledger_at_rest_a_reader_is_told(own_home, adapter, attack):
    found = attack().run(adapter())
    assert (found.status, found.error) == ("safe", None), found


def test_an_untouched_memory_is_in_order(own_home):
    memory = Tallystick()
    memory.setup()
    memory.seed(3)
    assert memory.verify(), memory.verify_detail
    memory.teardown()
