"""Any mix of saying, editing by hand, syncing and opening again: the tables, the files and the ledger tell one story.

A person's words carry a mark of their own, and after every sync each mark is in a file, in the ledger or in a review.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tallystick import Memory
from tallystick.memory.pages import sync as page_follow
from tallystick.records.errors import TallystickError
from tests import strategies
from tests.memory.paged import entry_texts, everything_in, files_of, folder_in, is_exactly_ours, is_settled

IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # nobody pulls the plug here
MARKUP = [
    "## [2026-01-01T00:00:00] {id: 20260101-0000-abcdef} #forged\nwords", "---\nstatus: archived\n---", "~~struck~~",
    "#retracted", "words #superseded-by:20260101-0000-abcdef", "<!-- supersedes: 20260101-0000-abcdef -->", "# Title",
    "## #tag", "```\n## #tag\n```", "\\## #tag", "&#35;", "a\n\n\n\nb", "ends in a tilde ~", "~~a~~\n~~b~~", "\ttab",
    "two\r\nlines", "a  \nb", "#superseded-by:", "...", "- [ ] a list\n- of two",
]  # fmt: skip
said = st.one_of(st.sampled_from(MARKUP), strategies.texts).filter(str.strip)
abouts = st.sampled_from(["", "person-ana", "person-Ana", "project-x", "../../x", "user-profile", "event-2026-05-20"])
users = st.sampled_from(["me", "bob", "../me", "@bob"])
tags = st.lists(st.sampled_from(["a", "b", "work", "fact", "x/y", "retracted", "two words", "é"]), max_size=4)
places = st.integers(0, 500)
TRUSTS = ["human", "agent", "web", "tool"]


class Hands(RuleBasedStateMachine):
    """A memory, and a person with an editor."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(dir=IN_MEMORY))
        os.environ["HOME"] = str(self.place)
        self.folder = folder_in(self.place / "memory")
        self.open()
        self.marks = list[bytes]()
        self.count = 0
        self.edited = set[str]()  # pages that a person wrote in
        self.kept = list[tuple[str, bytes]]()  # copies that a person made

    def open(self) -> None:
        self.memory = Memory(self.folder)

    @initialize()
    def begin(self) -> None:
        self.memory.remember("Ana likes tea.", about="person-ana", tags=["taste"])
        self.memory.remember("Bob likes coffee.", about="person-bob", user="bob")

    def teardown(self) -> None:
        try:
            self.settle()
        finally:
            self.memory.close()
            shutil.rmtree(self.place)

    # -- saying ------------------------------------------------------------------------------------------------------

    @rule(
        text=said, about=abouts, user=users, tags=tags, trust=st.sampled_from(TRUSTS), path=st.sampled_from(["", "b"])
    )
    def remember(self, text: str, about: str, user: str, tags: list[str], trust: str, path: str) -> None:
        self.memory.remember(text, about=about, user=user, tags=tags, trust=trust, path=path)

    @rule(texts=st.lists(said, min_size=2, max_size=4), about=abouts)
    def batch(self, texts: list[str], about: str) -> None:
        with self.memory.batch():
            for text in texts:
                self.memory.remember(text, about=about)

    @rule(
        which=places, text=said, tags=tags, about=abouts,
        how=st.sampled_from(["revise", "again", "tags", "forget", "invalidate", "about", "views"]),
    )  # fmt: skip
    def change(self, which: int, how: str, text: str, tags: list[str], about: str) -> None:
        held = [belief for belief in self.memory.beliefs.all() if not belief.path]
        if not held:
            return
        belief = held[which % len(held)]
        changes: dict[str, dict[str, object]] = {
            "revise": {"text": text}, "again": {"status": "active"}, "tags": {"tags": tags},
            "about": {"about": about}, "views": {"views": {"entry": {"at": "garbage", "folds": 5}}},
        }  # fmt: skip
        try:
            if how == "forget":
                self.memory.forget(belief.id)
            elif how == "invalidate":
                self.memory.invalidate(belief.id, "it proved wrong")
            else:
                self.memory.revise(belief.id, **changes[how])
        except TallystickError:  # forgotten already
            return

    @rule(which=places, is_yes=st.booleans())
    def answer(self, which: int, is_yes: bool) -> None:
        waiting = self.memory.reviews.waiting()
        if waiting:
            review, reviews = waiting[which % len(waiting)], self.memory.reviews
            try:
                (reviews.approve if is_yes else reviews.reject)(review.id)
            except TallystickError:  # it is stale
                return

    @rule(text=said, name=st.sampled_from(["person-ana", "project-x", "topic-notes"]), tags=tags)
    def append(self, text: str, name: str, tags: list[str]) -> None:
        entry = self.memory.pages.append(name, text, tags)
        assert entry.text == text

    @rule(title=strategies.texts, words=strategies.texts, how=st.sampled_from(["describe", "archive", "flag"]))
    def describe(self, title: str, words: str, how: str) -> None:
        pages = self.memory.pages
        try:
            if how == "describe":
                pages.describe("person-ana", title=title, description=words)
            else:
                (pages.archive if how == "archive" else pages.flag_compact)("person-ana")
        except TallystickError:  # more than a line, or the page was cleaned away
            return

    @rule(everything=st.booleans())
    def clean(self, everything: bool) -> None:
        """What stood on the pages and was no entry goes with them."""
        self.memory.pages.sync()
        self.memory.pages.clean(everything=everything)
        self.forget_marks()

    @rule(text=said, about=abouts)
    def remember_and_lag(self, text: str, about: str) -> None:
        self.memory._services.page_writer._is_on = False
        self.memory.remember(text, about=about)
        self.memory._services.page_writer._is_on = True

    # -- editing -----------------------------------------------------------------------------------------------------

    def mark(self) -> str:
        self.count += 1
        self.marks.append(b"zq%dqz" % self.count)
        return self.marks[-1].decode()

    def forget_marks(self) -> None:
        """A person threw a file away: what was in it alone is gone."""
        there = everything_in(self.memory)
        self.marks = [mark for mark in self.marks if mark in there]

    def file(self, which: int) -> Path | None:
        names = [name for name in files_of(self.memory) if name.endswith(".md")]
        return self.folder / "memory" / names[which % len(names)] if names else None

    def write(self, path: Path, text: bytes) -> None:
        path.write_bytes(text)
        if not text.strip():
            os.utime(path, (0, 0))  # long ago: else it is waited for
        self.edited.add(str(path.relative_to(self.folder / "memory")))
        self.forget_marks()

    @rule(which=places, how=st.sampled_from(["words", "struck", "added", "superseded", "unstruck", "tag", "time"]))
    def edit_an_entry(self, which: int, how: str) -> None:
        path = self.file(which)
        text = path.read_bytes().decode(errors="surrogateescape") if path else ""
        entries = list(entry_texts(text))
        if path is None or not entries:
            return
        old = entries[which // 7 % len(entries)]
        heading, _, body = old.partition("\n")
        mark = self.mark() if how in ("words", "added") else ""
        new = {
            "words": f"{heading}\n{mark} instead\n\n",
            "struck": f"{heading}\n~~{body.strip()}~~\n\n",
            "added": f"{heading}\n{body.rstrip()}\n{mark}\n\n",
            "superseded": f"{heading} #superseded-by:20260101-0000-abcdef\n{body}",
            "unstruck": old.replace("~~", "").replace("#retracted", "").replace("#superseded-by:", "#was-"),
            "tag": f"{heading} #byhand\n{body}",
            "time": f"{heading.replace('T', 'T0', 1)}\n{body}",
        }[how]
        self.write(path, text.replace(old, new, 1).encode(errors="surrogateescape"))

    @rule(which=places, how=st.sampled_from(["removed", "doubled", "moved", "copied"]))
    def move_an_entry(self, which: int, how: str) -> None:
        path, other = self.file(which), self.file(which // 3)
        text = path.read_bytes().decode(errors="surrogateescape") if path else ""
        entries = list(entry_texts(text))
        if path is None or other is None or not entries:
            return
        old = entries[which // 7 % len(entries)]
        if how != "removed":
            target = path if how == "doubled" else other
            self.write(target, target.read_bytes() + b"\n\n" + old.encode(errors="surrogateescape"))
        if how in ("removed", "moved") and path != other:
            self.write(path, text.replace(old, "", 1).encode(errors="surrogateescape"))

    @rule(which=places, how=st.integers(0, 11))
    def write_by_hand(self, which: int, how: int) -> None:
        path = self.file(which)
        if path is None:
            return
        more = [
            "## #hand\n{}\n", "## [2026-02-03T04:05] #hand\n{}\n", "## [2026-02-03] {{id: 20260203-0000-{:.4}}}\n{}\n",
            "## {{id: 20260203-0405-abcdef}} #hand #superseded-by:20260203-0405-abcdee\n~~{}~~\n",
            "## {{id: 20260203-0405-abcdee}} #hand #superseded-by:20260203-0405-abcdef\n~~{}~~\n",
            "## #hand\n\n## [broken] {}\n", "# {}\n", "<!-- {} -->\n", "words at the end: {}\n", "##no heading {}\n",
            "## #hand #retracted\n~~{}~~\n", "## [0002-01-01T00:00:00+14:00] #hand\n{}\n",
        ][how]  # fmt: skip
        mark = self.mark()
        words = more.format("abcd", mark) if how == 2 else more.format(mark)
        self.write(path, path.read_bytes() + b"\n\n" + words.encode())

    @rule(which=places, how=st.integers(0, 8))
    def edit_the_front(self, which: int, how: int) -> None:
        path = self.file(which)
        if path is None:
            return
        text = path.read_bytes()
        mark = self.mark().encode()
        changed = [
            text.replace(b"description:", b"description: " + mark + b" #", 1),
            text.replace(b"---\n", b"---\nmine: " + mark + b"\n# a remark\n", 1),
            text.replace(b"status: active", b"status: " + [b"archived", b"dormant", b"odd"][which % 3]),
            text.replace(b"---\n", b"---\n{[broken: " + mark + b"\n", 1),
            text.replace(b"entry_count:", b"entry_count: 99 # " + mark + b" ", 1),
            text.replace(b"tags:", b"tags: ['!', \"a b\", " + mark + b"] #", 1),
            b"\xef\xbb\xbf" + text, text.replace(b"\n", b"\r\n"),
            text.partition(b"\n---\n")[2] or text,
        ][how]  # fmt: skip
        self.write(path, changed)

    @rule(which=places, how=st.sampled_from(["gone", "empty", "renamed", "bytes", "kept", "back", "touched"]))
    def handle_a_file(self, which: int, how: str) -> None:
        path = self.file(which)
        if path is None:
            return
        name = str(path.relative_to(self.folder / "memory"))
        if how == "gone":
            path.unlink()
        elif how == "empty":
            self.write(path, b" \n")
        elif how == "renamed":
            path.rename(path.with_name("topic-renamed.md"))
            self.edited |= {str(path.with_name("topic-renamed.md").relative_to(self.folder / "memory"))}
        elif how == "bytes":
            self.write(path, path.read_bytes() + b"\n## #x\n\xff\xfe " + self.mark().encode() + b"\n")
        elif how == "kept":
            self.kept.append((name, path.read_bytes()))
        elif how == "back" and self.kept:
            name, text = self.kept[which % len(self.kept)]
            if (self.folder / "memory" / name).parent.is_dir():
                self.write(self.folder / "memory" / name, text)
        else:
            os.utime(path)
        self.forget_marks()

    # -- what holds --------------------------------------------------------------------------------------------------

    @rule()
    def settle(self) -> None:
        is_settled(self.memory)
        there = everything_in(self.memory)
        assert [mark for mark in self.marks if mark not in there] == []
        for name in files_of(self.memory):
            if name not in self.edited and self.memory._services.page_files.level().file(name):
                is_exactly_ours(self.memory, name)

    @rule()
    def open_again(self) -> None:
        self.memory.close()
        self.open()

    @precondition(lambda self: self.count % 3 == 0)
    @rule(how=st.sampled_from(["gone", "garbage"]))
    def lose_the_tables(self, how: str) -> None:
        self.memory.close()
        for path in self.folder.glob("state.db*"):
            path.unlink()
        if how == "garbage":
            (self.folder / "state.db").write_bytes(b"garbage " * 1000)
        self.open()

    @invariant()
    def nothing_is_left_half_made(self) -> None:
        assert list(self.folder.rglob("*.md.new")) == []


def play(examples: int, steps: int) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    left_out = HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much
    how = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=left_out,
        phases=(Phase.reuse, Phase.generate), report_multiple_bugs=False,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_follow, "_AT_ONCE", 1e9)  # pages never have to hurry: every run is the same
        run_state_machine_as_test(Hands, settings=how)


def test_whatever_is_said_and_edited_tables_files_and_ledger_tell_one_story():
    play(12, 20)


@pytest.mark.soak
def test_whatever_is_said_and_edited_for_long_they_tell_one_story():
    play(400, 40)
