"""Any mix of programs, editors that were open for long, merges, damaged files and syncs retracts no statement that
nobody removed; so it is under `sync --watch`, whenever that wakes."""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.memory.pages import sync as page_follow
from tallystick.records.errors import Moved
from tallystick.records.page import PageEntry
from tallystick.stores.page_files import PageFolder
from tallystick.surfaces.cli import pages as watch
from tests.conftest import SOAK
from tests.memory.conftest import Clock
from tests.memory.paged import entry_texts, folder_in, page_at

RUNS, STATEMENTS = (200, 60) if SOAK else (6, 24)
CONFLICT = re.compile(r"(?ms)^<{7}[^\n]*\n(.*?)^={7}\n(.*?)^>{7}[^\n]*\n")
STATED = re.compile(r"Statement number \d+ of Ana\.")
PAGE = "person-ana"
PLAIN = {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Ana", "GIT_COMMITTER_NAME": "Ana",
    "GIT_AUTHOR_EMAIL": "ana@example.org", "GIT_COMMITTER_EMAIL": "ana@example.org",
}  # fmt: skip


def stated_in(text: str) -> set[str]:
    return set(STATED.findall(" ".join(text.split())))


class Hands:
    """A memory that programs write to, and people with editors and copies of its page."""

    def __init__(self, memory: Memory, watched: Memory, clock: Clock, place: Path, seed: int) -> None:
        self.memory, self.watched, self.draw, self.count = memory, watched, random.Random(seed), 0
        self.clock = clock
        self.path, self.copy = page_at(memory, f"{PAGE}.md"), place / "copy" / f"{PAGE}.md"
        self.touched = set[str]()  # what somebody removed, replaced or reworded
        self.held = set[str]()  # what was held at some moment
        self.origins = dict[str, set[str]]()  # what somebody wrote into an entry: what stood there before
        self.buffers = list[str]()
        self.is_busy = False
        self.append()
        self.git(self.path, "init", "-q")
        self.commit()
        self.git(self.path, "clone", "-q", ".", str(self.copy.parent))

    def fresh(self) -> str:
        self.count += 1
        return f"Statement number {self.count} of Ana."

    # -- programs ----------------------------------------------------------------------------------------------------

    def append(self) -> None:
        self.held |= stated_in(self.memory.pages.append(PAGE, self.fresh(), ["x"]).text)

    def lag(self) -> None:
        self.memory._services.page_writer._is_on = False
        self.held |= stated_in(self.memory.remember(self.fresh(), about=PAGE).text)
        self.memory._services.page_writer._is_on = True

    def supersede(self) -> None:
        for entry in self.one():
            self.touched |= stated_in(entry.text)
            self.memory.revise(entry.id, self.fresh())

    def tag(self) -> None:
        for entry in self.one():
            self.memory.revise(entry.id, tags=[self.draw.choice("abc")])

    def one(self) -> list[PageEntry]:
        return self.draw.sample(entries, 1) if (entries := self.memory.pages.read(PAGE).entries) else []

    def answer(self) -> None:
        """A person answers what was asked. A yes is theirs."""
        for review in self.memory.reviews.waiting()[:1]:
            targets = [self.memory.show(name).text for name in review.action.target]
            try:
                if self.draw.random() < 0.5:
                    self.memory.reviews.reject(review.id)
                else:
                    self.touched |= stated_in("\n".join(targets))
                    self.memory.reviews.approve(review.id)
            except Moved:
                continue

    # -- people ------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        return self.path.read_text(errors="surrogateescape") if self.path.exists() else ""

    def open(self) -> None:
        text = self.text()
        if not CONFLICT.search(text) and "\0" not in text and text.endswith("\n"):
            self.buffers.append(text)

    def edit(self) -> None:
        if self.buffers:
            number = self.draw.randrange(len(self.buffers))
            self.buffers[number] = self.edited(self.buffers[number])

    def edited(self, text: str) -> str:
        entries = [each for each in entry_texts(text) if "Statement" in each]
        how = self.draw.choice(["reword", "remove", "strike", "add", "prose", "wrap", "front", "nothing"])
        if not entries or how == "add":
            return f"{text}\n## #y\n{self.fresh()}\n"
        entry = self.draw.choice(entries)
        if how in ("reword", "remove", "strike"):
            self.touched |= stated_in(entry)
        body = entry.partition("\n")[2].strip()
        if how in ("reword", "prose"):
            words, inside = self.fresh(), entry if how == "reword" else entries[-1]
            self.origins[words] = {root for each in stated_in(inside) for root in self.origins.get(each, {each})}
            if how == "prose":
                return f"{text}\n- {words}\n"
            return text.replace(body, words)
        return {
            "remove": text.replace(entry, ""), "strike": text.replace(body, f"~~{body.strip('~')}~~"),
            "wrap": text.replace(" of Ana.", "\nof Ana.", 1),
            "front": re.sub("\ndescription:.*", "\ndescription: hers", text),
            "nothing": text,
        }[how]  # fmt: skip

    def save(self) -> None:
        """An editor writes the file, or another one in its place."""
        if self.buffers:
            fresh = self.path.with_name("saved")
            fresh.write_text(self.draw.choice(self.buffers))
            fresh.replace(self.path) if self.draw.random() < 0.5 else self.path.write_bytes(fresh.read_bytes())
            fresh.unlink(missing_ok=True)

    def spoil(self) -> None:
        """A file is cut, or saved in another encoding; somebody has a sync run, and sets it right or removes it."""
        data = self.path.read_bytes() if self.path.exists() else b""
        if data:
            cut = data[: self.draw.randrange(1, len(data))].rstrip()
            self.path.write_bytes(self.draw.choice([cut, data.decode(errors="replace").encode("utf-16")]))
            self.sync()
            self.path.unlink() if self.draw.random() < 0.5 else self.path.write_bytes(data)

    # -- git ---------------------------------------------------------------------------------------------------------

    def git(self, page: Path, *said: str) -> int:
        return subprocess.run(
            ["git", "-C", str(page.parent), *said], env={**os.environ, **PLAIN}, capture_output=True, check=False
        ).returncode  # fmt: skip

    def commit(self) -> None:
        if (text := self.text()) and not CONFLICT.search(text):
            self.git(self.path, "add", "-A")
            self.git(self.path, "commit", "-qm", "as it is")

    def elsewhere(self) -> None:
        """Somebody edits their clone."""
        self.copy.write_text(self.edited(self.copy.read_text()))
        self.git(self.copy, "commit", "-qam", "edited")

    def push(self) -> None:
        """The clone takes what is here; its owner keeps one side of each conflict."""
        if self.git(self.copy, "pull", "-q", "--no-rebase", "--no-edit"):
            self.copy.write_text(self.resolved(self.copy.read_text()))
            self.git(self.copy, "commit", "-qam", "resolved")

    def pull(self) -> None:
        """What the clone has is merged into the page, or left with the marks of a conflict."""
        self.commit()
        if self.git(self.path, "pull", "-q", "--no-rebase", "--no-edit", str(self.copy.parent), "HEAD"):
            self.resolve() if self.draw.random() < 0.5 else None

    def checkout(self) -> None:
        """An earlier state of the page is put back."""
        if not CONFLICT.search(self.text()):
            self.commit()
            self.git(self.path, "checkout", "-q", f"HEAD~{self.draw.randrange(3)}", "--", self.path.name)

    def resolve(self) -> None:
        text = self.text()
        if CONFLICT.search(text):
            end = self.memory.ledger.size
            assert any("a merge left" in told.what for told in self.memory.pages.sync().problems)
            assert (self.memory.ledger.size, self.text()) == (end, text)
            self.path.write_text(self.resolved(text), errors="surrogateescape")
            self.commit()

    def resolved(self, text: str) -> str:
        """Both sides of a conflict are kept, or one: what the other has is removed by hand then."""

        def chosen(found: re.Match[str]) -> str:
            kept = self.draw.choice([found[1], found[2], found[1] + found[2]])
            self.touched |= stated_in(found[0]) - stated_in(kept)
            return kept

        return CONFLICT.sub(chosen, text)

    # -- what holds --------------------------------------------------------------------------------------------------

    def sync(self) -> None:
        self.memory.pages.sync()
        self.check()

    def check(self) -> None:
        held = {each for entry in self.memory.pages.read(PAGE).entries for each in stated_in(entry.text)}
        lost = self.held - held - self.touched
        over = {each for each in lost if self.saved_over(each, held)}
        assert lost == over, lost - over
        self.touched |= over
        self.held |= held

    def saved_over(self, lost: str, held: set[str]) -> bool:
        """Whether two copies of one entry were both reworded: the last save holds, and the words before stay struck.

        One editor that saves twice and two editors that save once leave the same file, so nobody is asked.
        """
        return any(self.origins.get(lost, set()) & self.origins.get(each, set()) for each in held)

    def meanwhile(self) -> None:
        """Somebody saves at the very moment at which a page is written."""
        if not self.is_busy and self.draw.random() < 0.1:
            self.is_busy = True
            self.save()
            self.is_busy = False

    def changes(self, *_: object) -> Iterator[bool]:
        """What happens between two moments at which a watch wakes: because a file changed, or after a while."""
        people: list[Callable[[], None]] = [
            self.open, self.open, self.edit, self.edit, self.save, self.save, self.spoil, self.answer, self.commit,
            self.elsewhere, self.elsewhere, self.push, self.pull, self.pull, self.checkout, self.resolve,
        ]  # fmt: skip
        acts = [*people, self.append, self.append, self.append, self.append, self.lag, self.supersede, self.tag]
        while self.count < STATEMENTS:
            for _ in range(self.draw.randrange(4)):
                self.draw.choice(acts)()
                self.check()
                self.clock.now += timedelta(seconds=self.draw.choice([0, 0, 1, 100]))
            self.sync() if self.draw.random() < 0.2 else None
            yield self.draw.random() < 0.8
            self.check()

    def run(self) -> None:
        for _ in watch.watching(self.watched, lambda _: None):
            self.check()
        self.resolve()
        self.sync()
        self.is_busy = True  # nobody saves from here on: what they reworded would stand where it was said
        self.path.unlink()
        self.sync()
        assert stated_in(self.text()) >= self.held


@pytest.mark.longer
@pytest.mark.parametrize("seed", range(RUNS))
def test_no_statement_is_retracted_that_nobody_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:  # fmt: skip
    place, clock = folder_in(tmp_path / "kept"), Clock()
    monkeypatch.setattr(page_follow, "_AT_ONCE", float("inf"))  # what pages follow does not depend on the machine
    with Memory(place, clock=clock) as memory, Memory(place, clock=clock) as watched:
        hands, write = Hands(memory, watched, clock, tmp_path, seed), PageFolder.write

        def written(folder: PageFolder, *said: object) -> object:
            hands.meanwhile()
            return write(folder, *said)  # type: ignore[arg-type]

        monkeypatch.setattr(PageFolder, "write", written)
        monkeypatch.setattr(watch, "_changes", hands.changes)
        hands.run()
