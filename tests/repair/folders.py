"""Real memory folders, and ways to break them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tallystick.decide import beliefs as decide
from tallystick.ledger import checkpoint
from tallystick.ledger.checkpoint import Keyring
from tallystick.ledger.disk import Disk
from tallystick.repair.check import check
from tallystick.repair.findings import Finding
from tallystick.stores.open_folder import OpenFolder
from tests.ledger.forge import everything, keyring, lines

LINE = "line-damaged"


@contextmanager
def opened(root: Path, disk: Disk | None = None) -> Iterator[OpenFolder]:
    folder = OpenFolder(root, disk=disk, timeout=5.0)
    try:
        assert folder.ledger.trouble is None, folder.ledger.trouble
        yield folder
    finally:
        folder.close()


def say(folder: OpenFolder, key: str, text: str = "") -> None:
    fields = {"key": key, "text": text or f"the words of {key}"}
    folder.ledger.write(lambda: decide.put(folder.state, fields, folder.draw()))


def say_together(folder: OpenFolder, *keys: str) -> None:
    with folder.ledger.batch():
        for key in keys:
            say(folder, key)


def fill(root: Path, count: int, name: str = "k", start: int = 0) -> None:
    with opened(root) as folder:
        for number in range(start, start + count):
            say(folder, f"{name}{number}")


def forget(root: Path, key: str) -> None:
    with opened(root) as folder:
        folder.ledger.write(lambda: decide.tombstone(folder.state, key))


def erase(root: Path, key: str, disk: Disk | None = None) -> None:
    with opened(root, disk) as folder:
        folder.ledger.erase(lambda: decide.erase(folder.state, [key]))


def compact(root: Path, disk: Disk | None = None) -> None:
    with opened(root, disk) as folder:
        folder.ledger.compact()


def backup(root: Path) -> Path:
    with opened(root) as folder:
        return folder.ledger.back_up()


def texts(root: Path) -> dict[str, str]:
    """Everything that is believed now."""
    with opened(root) as folder:
        return {held.key: held.belief().text for held in folder.state.query()}


def rebuilt(root: Path) -> dict[str, str]:
    """Everything that the events themselves explain."""
    with opened(root) as folder, folder.known(believed_at=folder.ledger.head.seq) as known:
        return {held.key: held.belief().text for held in known.query()}


def said(*keys: str) -> dict[str, str]:
    return {key: f"the words of {key}" for key in keys}


def wal(root: Path) -> Path:
    return root / "events.wal"


def set_lines(path: Path, content: list[bytes]) -> None:
    path.write_bytes(b"".join(content))


def line_of(path: Path, words: str) -> int:
    """The number, from 0, of the line in which `words` stand."""
    [number] = [number for number, line in enumerate(lines(path)) if words.encode() in line]
    return number


def damage_words(path: Path, number: int) -> None:
    """One bit in the data of a line."""
    _flip(path, number, lambda line: line.index(b'","data":') + 60)


def damage_header(path: Path, number: int) -> None:
    """One bit in the header of a line."""
    _flip(path, number, lambda line: line.index(b'"batch"') + 2)


def _flip(path: Path, number: int, where: Callable[[bytes], int]) -> None:
    content = lines(path)
    line = bytearray(content[number])
    line[where(bytes(line))] ^= 2
    content[number] = bytes(line)
    set_lines(path, content)


def checked(root: Path, **how: Any) -> list[Finding]:
    """What is wrong, made sure that asking changed nothing: no byte, no time, no mode, no name."""
    before = everything(root)
    findings = check(root, **how)
    assert everything(root) == before
    return findings


def codes(root: Path, **how: Any) -> list[str]:
    return [finding.code for finding in checked(root, **how)]


def ring(root: Path) -> Keyring:
    """Keys and pins beside the memory, as a person keeps them elsewhere."""
    return keyring(root.parent)


def pin(root: Path) -> None:
    with opened(root) as folder:
        checkpoint.take(folder.ledger, root, ring(root))


def kept(root: Path) -> list[Path]:
    return sorted((root / "sealed").glob("damaged-*"))
