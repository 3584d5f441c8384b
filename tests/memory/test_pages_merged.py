"""Any mix of programs, editors that were open for long, merges, damaged files and syncs retracts no statement that
nobody removed."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from keepsake import Memory
from keepsake.records.page import PageEntry
from tests.conftest import SOAK
from tests.memory.paged import entry_texts, folder_in, page_at

RUNS, STATEMENTS = (200, 60) if SOAK else (5, 16)
MARKS = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})[^\n]*\n", re.MULTILINE)
STATED = re.compile(r"Statement number \d+ of Ana\.")
PAGE = "person-ana"


class Hands:
    """A memory that programs write to, and people with editors and copies of its page."""

    def __init__(self, memory: Memory, seed: int) -> None:
        self.memory, self.draw, self.count = memory, random.Random(seed), 0
        self.path = page_at(memory, f"{PAGE}.md")
        self.touched = set[str]()  # what somebody removed, replaced or reworded
        self.held = set[str]()  # what was held at some moment
        self.buffers = list[tuple[str, str]]()  # as it was opened, and as it is now
        memory.pages.append(PAGE, self.fresh(), ["x"])

    def fresh(self) -> str:
        self.count += 1
        return f"Statement number {self.count} of Ana."

    def now(self) -> list[str]:
        return [entry.text for entry in self.memory.pages.read(PAGE).entries]

    # -- programs ----------------------------------------------------------------------------------------------------

    def append(self) -> None:
        self.memory.pages.append(PAGE, self.fresh(), ["x"])

    def lag(self) -> None:
        self.memory._follower._is_on = False
        self.memory.remember(self.fresh(), about=PAGE)
        self.memory._follower._is_on = True

    def supersede(self) -> None:
        for entry in self.one():
            self.touched |= set(STATED.findall(" ".join(entry.text.split())))
            self.memory.revise(entry.id, self.fresh())

    def tag(self) -> None:
        for entry in self.one():
            self.memory.revise(entry.id, tags=[self.draw.choice("abc")])

    def one(self) -> list[PageEntry]:
        return self.draw.sample(entries, 1) if (entries := self.memory.pages.read(PAGE).entries) else []

    # -- people ------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        text = self.path.read_text(errors="surrogateescape")
        if not MARKS.search(text) and "\0" not in text and text.endswith("\n"):
            self.buffers.append((text, text))

    def edit(self) -> None:
        if self.buffers:
            number = self.draw.randrange(len(self.buffers))
            opened, text = self.buffers[number]
            self.buffers[number] = opened, self.edited(text)

    def edited(self, text: str) -> str:
        entries = [each for each in entry_texts(text) if "Statement" in each]
        how = self.draw.choice(["reword", "remove", "strike", "add", "prose", "wrap", "front", "nothing"])
        if not entries or how == "add":
            return f"{text}\n## #y\n{self.fresh()}\n"
        entry = self.draw.choice(entries)
        if how in ("reword", "remove", "strike"):
            self.touched |= set(STATED.findall(" ".join(entry.split())))
        body = entry.partition("\n")[2].strip()
        return {
            "reword": text.replace(body, self.fresh()), "remove": text.replace(entry, ""),
            "strike": text.replace(body, f"~~{body.strip('~')}~~"), "prose": f"{text}\n- {self.fresh()}\n",
            "wrap": text.replace(" of Ana.", "\nof Ana.", 1),
            "front": re.sub("\ndescription:.*", "\ndescription: hers", text),
            "nothing": text,
        }[how]  # fmt: skip

    def save(self) -> None:
        if self.buffers:
            self.path.write_text(self.draw.choice(self.buffers)[1])

    def merge(self) -> None:
        """A copy that was opened and edited is merged with the page as it is."""
        text = self.path.read_text(errors="surrogateescape")
        if not self.buffers or MARKS.search(text) or "\0" in text or shutil.which("git") is None:
            return
        opened, mine = self.draw.choice(self.buffers)
        names = [self.path.with_name(f".{name}") for name in ("theirs", "opened", "mine")]
        for name, said in zip(names, (text, opened, mine), strict=True):
            name.write_text(said, errors="surrogateescape")
        done = subprocess.run(["git", "merge-file", "-p", *map(str, names)], capture_output=True, check=False)
        for name in names:
            name.unlink()
        self.path.write_bytes(done.stdout)

    def resolve(self) -> None:
        """Both sides of a conflict are kept."""
        text = self.path.read_text(errors="surrogateescape")
        if MARKS.search(text):
            end = self.memory.ledger.size
            assert any("a merge left" in told.what for told in self.memory.pages.sync().problems)
            assert self.memory.ledger.size == end
            self.path.write_text(MARKS.sub("", text), errors="surrogateescape")

    def spoil(self) -> None:
        data = self.path.read_bytes()
        cut = data[: self.draw.randrange(1, len(data))].rstrip()
        self.path.write_bytes(self.draw.choice([cut, data.decode(errors="replace").encode("utf-16")]))
        self.sync()
        self.path.unlink() if self.draw.random() < 0.5 else self.path.write_bytes(data)
        self.sync()

    # -- what holds --------------------------------------------------------------------------------------------------

    def sync(self) -> None:
        self.memory.pages.sync()
        held = {each for text in self.now() for each in STATED.findall(" ".join(text.split()))}
        lost = self.held - held - self.touched
        assert not lost, lost
        self.held |= held

    def run(self) -> None:
        acts: list[Callable[[], None]] = [
            self.append, self.append, self.append, self.lag, self.supersede, self.tag, self.open, self.open, self.edit,
            self.edit, self.save, self.save, self.merge, self.resolve, self.sync, self.sync, self.spoil,
        ]  # fmt: skip
        while self.count < STATEMENTS:
            self.draw.choice(acts)()
        self.resolve()
        self.sync()
        self.path.unlink()
        self.sync()
        assert set(STATED.findall(" ".join(self.path.read_text().split()))) >= self.held


@pytest.mark.longer
@pytest.mark.parametrize("seed", range(RUNS))
def test_no_statement_is_retracted_that_nobody_removed(tmp_path: Path, seed: int) -> None:
    with Memory(folder_in(tmp_path / "kept")) as memory:
        Hands(memory, seed).run()
