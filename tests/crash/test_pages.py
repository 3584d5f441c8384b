"""Pages when the process dies, the disk fails or others write too: no entry is lost, none is there twice.

The death is real: a child process ends itself at the n-th disk call, or before or after the n-th change of the tables.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.ledger.folder import backup as ledger_backup
from tallystick.projections.markdown import parse
from tallystick.projections.pages.open_database import PagesFile
from tallystick.stores import open_folder
from tests.conftest import set_home
from tests.crash.disks import Child, DyingDisk, FailingDisk, Listing, Watched, in_a_child
from tests.crash.folder import SOAK
from tests.memory.paged import end_of, everything_in, files_of, folder_in, is_settled, page_at, tables_of

WHERE = "/dev/shm" if os.path.isdir("/dev/shm") else None
FROM_HAND = "\n## #hand\nwritten by hand\n\n## #hand #retracted\n~~struck by hand~~\n"


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    found = Path(tempfile.mkdtemp(dir=WHERE))
    set_home(monkeypatch, found)
    yield found
    shutil.rmtree(found)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = folder_in(tmp_path_factory.mktemp("begun") / "base")
    with pytest.MonkeyPatch.context() as patch:
        set_home(patch, folder.parent)
        begin(folder)
    return folder


def begin(folder: Path) -> None:
    with Memory(folder) as m:
        m.remember("one", about="person-ana", tags=["x"], key="first")
        m.remember("two", about="person-ana", tags=["x"], key="second")
        m.remember("another page", about="project-x", tags=["x"])
        m.remember("of Bob", about="person-ana", user="bob")
        m.backup()
        m.remember("zebrastripes", about="person-ana", tags=["x"], key="secret")


def edited(m: Memory) -> None:
    """A person changes, adds, strikes and removes."""
    path = page_at(m, "person-ana.md")
    text = path.read_text().replace("\none\n", "\none, by hand\n")
    path.write_text(text[: text.rindex("## [")] + FROM_HAND.lstrip())
    page_at(m, "person-new.md").write_text("# New\n\n## #a\nnobody knew this page\n")


def restored(m: Memory) -> None:
    [copy] = [path for path in (m.folder / "backup").iterdir() if "before" not in path.name]
    m.close()
    Memory.restore(copy, m.folder).close()


OPERATIONS: dict[str, Callable[[Memory], object]] = {
    "append": lambda m: m.pages.append("person-ana", "three", ["x"], key="third"),
    "supersede": lambda m: m.pages.supersede("person-ana", m.show("first").id, "one again", "why not"),
    "sync": lambda m: m.pages.sync(),
    "clean": lambda m: m.pages.clean(),
    "erase": lambda m: m.erase("secret"),
    "restore": restored,
    "rebuild": lambda m: m.pages.rebuild(),
}  # fmt: skip


@contextmanager
def disk_is(disk: Watched) -> Iterator[None]:
    """Every memory that is opened has this disk, and the tables count as one more file on it."""
    real, made = PagesFile.writing, (open_folder.Disk, ledger_backup.Disk)

    @contextmanager
    def writing(file: PagesFile) -> Iterator[None]:
        disk.reach("before the tables")
        with real(file):
            yield
        disk.reach("after the tables")

    PagesFile.writing = writing  # type: ignore[method-assign,assignment]
    open_folder.Disk = ledger_backup.Disk = lambda: disk  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        PagesFile.writing = real  # type: ignore[method-assign]
        open_folder.Disk, ledger_backup.Disk = made  # type: ignore[misc]


def held(m: Memory) -> Counter[tuple[str, str, str]]:
    return Counter((b.text, b.status, b.about) for b in m.beliefs.all())


def shown(m: Memory) -> dict[str, Counter[tuple[str, bool]]]:
    """What stands on each page, without ids, which are drawn."""
    return {
        name: Counter((entry.body, entry.is_current) for entry in parse(data).entries)
        for name, data in files_of(m).items()
        if name.endswith(".md")
    }


def outcome(folder: Path) -> tuple[object, object]:
    with Memory(folder) as m:
        m.pages.sync()
        is_settled(m)
        return held(m), shown(m)


@pytest.mark.parametrize("name", OPERATIONS)
def test_whoever_dies_at_any_call_leaves_pages_that_a_sync_sets_right(place, begun, name):
    base, work = shutil.copytree(begun, place / "base"), OPERATIONS[name]
    if name in ("sync", "append", "clean"):
        with Memory(base) as m:
            edited(m)

    def run(folder: Path, disk: Watched) -> None:
        with disk_is(disk):
            m = Memory(folder)
            work(m)
            m.close()

    def again(folder: Path) -> Path:
        shutil.rmtree(folder, ignore_errors=True)
        return shutil.copytree(base, folder)

    listing = Listing()
    run(again(place / "done"), listing)
    before, after = outcome(again(place / "before")), outcome(place / "done")
    calls, places = range(1, len(listing.listed) + 1), sorted({*listing.changed, *listing.writes})
    for at in calls if SOAK else sorted(random.Random(name).sample(places, min(6, len(places)))):
        folder = again(place / "now")
        in_a_child(lambda at=at, folder=folder: run(folder, DyingDisk(at, halfway=at % 2 == 0)))

        assert outcome(folder) in (before, after), f"died at call {at} of {len(calls)}"

        assert list(folder.rglob("*.new")) == []
        if name == "erase" and "zebrastripes" not in str(outcome(folder)):
            assert [path for path in folder.rglob("*") if path.is_file() and b"zebrastripes" in path.read_bytes()] == []


def test_two_deaths_in_a_row_while_an_edit_is_taken_in_add_nothing_twice(place, begun):
    base = shutil.copytree(begun, place / "base")
    with Memory(base) as m:
        edited(m)
    done = shutil.copytree(base, place / "done")
    wanted, drawn = outcome(done), random.Random(5)

    def sync(folder: Path, disk: Watched) -> None:
        with disk_is(disk), Memory(folder) as m:
            m.pages.sync()

    for _ in range(60 if SOAK else 4):
        folder = shutil.copytree(base, place / "now")
        for _ in range(2):
            at = drawn.randint(1, 40)
            in_a_child(lambda at=at, folder=folder: sync(folder, DyingDisk(at)))
        assert outcome(folder) == wanted
        shutil.rmtree(folder)


def test_a_page_that_is_held_back_is_held_back_after_a_rebuild_whoever_dies_in_it(place, begun):
    base = shutil.copytree(begun, place / "base")
    with Memory(base) as m:
        path = page_at(m, "person-ana.md")
        text = path.read_text().replace("\none\n", "\none, by hand\n").replace("tags: []", "tags: [by-hand]")
        path.write_text(text[: text.index("## [", text.index("two") - 60)] + FROM_HAND.lstrip())
        [problem] = m.pages.sync().problems
        before = files_of(m), end_of(m), tables_of(m)
        assert "it lacks 2 entries" in problem.what

    def rebuild(folder: Path, disk: Watched) -> None:
        with disk_is(disk), Memory(folder) as m:
            m.pages.rebuild()
            m.pages.rebuild()

    listing = Listing()
    rebuild(shutil.copytree(base, place / "done"), listing)
    calls = range(1, len(listing.listed) + 2)  # at the last of them nobody dies
    for at in calls if SOAK else [*random.Random(3).sample(calls, 6), calls[-1]]:
        folder = shutil.copytree(base, place / "now")
        in_a_child(lambda at=at, folder=folder: rebuild(folder, DyingDisk(at)))
        with Memory(folder) as m:
            told = m.pages.sync()
            assert (told.adopted, told.written, told.reviews, told.problems) == ((), (), (), (problem,)), at
            assert (files_of(m), end_of(m), tables_of(m)) == before, at
            m.reviews.approve(m.reviews.waiting()[0].id)
            m.pages.sync()
            assert {b.text for b in m.beliefs.all() if b.status == "active"} >= {"one, by hand", "written by hand"}
            is_settled(m)
        shutil.rmtree(folder)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("call", ["open", "write", "sync", "rename", "sync_folder"])
def test_a_disk_that_fails_under_a_page_holds_up_nobody_who_remembers(place, begun, call, code):
    folder = shutil.copytree(begun, place / "base")
    disk = FailingDisk((call,), at=1, code=code, for_good=True)
    real = disk.reach

    def of_pages(name: str, what: object = None, size: int = 0) -> None:
        path = disk.places.get(what) if isinstance(what, int) else what
        if "memory" in str(path):
            real(name, what, size)

    disk.reach, disk.armed = of_pages, False  # type: ignore[method-assign]
    with disk_is(disk), Memory(folder) as m:
        before = page_at(m, "person-ana.md").read_bytes()
        disk.armed = True
        belief = m.remember("three", about="person-ana")
        entry = m.pages.append("person-ana", "four", ["x"])
        told = m.pages.sync()

        assert disk.failed
        assert (m.show(belief.id).text, m.show(entry.id).text) == ("three", "four")
        if call != "sync_folder":  # by then the page has its name
            assert [each.path for each in told.problems] == ["person-ana.md"]
            assert page_at(m, "person-ana.md").read_bytes() == before
        disk.armed = False
        m.pages.sync()
        assert [e.body for e in parse(page_at(m, "person-ana.md").read_bytes()).entries][-2:] == ["three", "four"]
        is_settled(m)


def by_hand(page: Path, words: str) -> None:
    """As one who looks at the page after writing: what came while it was replaced is lost with the old one."""
    while f"\n{words}\n" not in page.read_text():
        with open(page, "a") as file:
            file.write(f"\n## #hand\n{words}\n")


def write(folder: Path, name: str, count: int, *, mixed: bool) -> None:
    drawn = random.Random(name)
    with Memory(folder) as m:
        page = folder / "memory" / "person-ana.md"
        for number in range(count):
            words = f"{name} says {number}"
            how = drawn.choice(["append", "remember", "sync", "hand"]) if mixed else "append"
            if how == "remember":
                m.remember(words, about="person-ana", tags=["x"])
            elif how == "hand" and page.exists():
                by_hand(page, words)
            else:
                m.pages.append("person-ana", words, ["x"])
            if how == "sync":
                m.pages.sync()


def write_together(folder: Path, count: int, *, mixed: bool = False) -> None:
    for process in [Child(lambda name=name: write(folder, name, count, mixed=mixed)) for name in ("one", "two")]:
        assert process.wait() == 0


def test_two_processes_that_append_two_hundred_entries_to_one_page_keep_two_hundred(place):
    folder = folder_in(place / "kept")

    write_together(folder, 100)

    with Memory(folder) as m:
        page = parse(page_at(m, "person-ana.md").read_bytes())
        wanted = {f"{name} says {number}" for name in ("one", "two") for number in range(100)}
        assert {entry.body for entry in page.entries} == wanted
        assert len(page.entries) == page.front.entry_count == 200
        info = m.pages.read("person-ana").info
        assert info.entry_count == 200
        found = "SELECT count(*) FROM entries_fts WHERE entries_fts MATCH 'says'"
        assert m._services.page_files.level().db.execute(found).fetchone() == (200,)
        is_settled(m)


@pytest.mark.parametrize("count", [15, pytest.param(150, marks=pytest.mark.soak)])
def test_two_processes_and_a_person_who_write_one_page_lose_nothing(place, count):
    folder = folder_in(place / "kept")

    write_together(folder, count, mixed=True)

    with Memory(folder) as m:
        m.pages.sync()
        kept = everything_in(m).decode(errors="replace")
        missing = [f"{n} says {k}" for n in ("one", "two") for k in range(count) if f"{n} says {k}" not in kept]
        assert missing == []
        texts = Counter(belief.text for belief in m.beliefs.all() if belief.status == "active")
        assert [text for text, times in texts.items() if times > 1] == []
        is_settled(m)
