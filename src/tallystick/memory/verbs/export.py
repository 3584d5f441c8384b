"""The part of `Memory` with which one leaves: everything of a user's, in a form that others can read, and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tallystick.memory.verbs.graph import GraphVerbs
from tallystick.records.errors import NotApproved, Refused
from tallystick.records.export import MARK, Exported, TakenIn
from tallystick.records.scope import checked

if TYPE_CHECKING:
    from tallystick.memory.exchange.export import Lines
    from tallystick.memory.graph.graph import GraphService

NDJSON, MARKDOWN, GRAPH = "ndjson", "markdown", "graph"
FORMATS = (NDJSON, MARKDOWN, GRAPH)


class ExportVerbs(GraphVerbs):
    """Taking a memory along, and taking one in. `Memory` is one."""

    def export(
        self,
        to: str | Path,
        *,
        format: str = NDJSON,
        user: str | None = None,
        history: bool = True,
        replace: bool = False,
    ) -> Exported:
        """Write down all that is this user's: a file of lines, a folder of Markdown, or the graph's envelope.

        It is there whole or not at all; what is in its place already is kept, unless `replace` is said. Without
        `history`, only what is there now is told, and not how it came to be so.
        """
        from tallystick.memory.exchange.export_files import settled, write_file, write_folder

        if format not in FORMATS:
            raise Refused(f"format is one of {', '.join(FORMATS)}, not {format!r}")
        whose, disk = self._whose(user), self._folder.ledger.disk
        self._must_read_all(whose)
        place = settled(to, self.folder, replace=replace)
        if format == GRAPH:
            envelope = self._graph_of(whose).export_envelope()
            write_file(disk, place, [envelope.to_bytes()])
            counts = {part: len(envelope.records(part)) for part in ("profiles", "nodes", "edges", "paths", "events")}
        elif format == MARKDOWN:
            from tallystick.memory.exchange.export_markdown import Folder

            if self._folder.ledger.writable:
                self._follower.look_at_all()
            folder = Folder(self._folder, self._pages_at, whose, self._zone, history=history)
            write_folder(disk, place, folder, ("index.md", MARK))
            counts = folder.counts
        else:
            lines = self._lines(whose, history)
            write_file(disk, place, lines)
            counts = lines.counts
        return Exported(place=str(place), format=format, user=whose, counts=counts)

    def export_lines(self, *, user: str | None = None, history: bool = True) -> Iterator[bytes]:
        """The lines of such a file, one after the other, to be sent somewhere."""
        whose = self._whose(user)
        self._must_read_all(whose)
        yield from self._lines(whose, history)

    def import_export(
        self,
        file: str | Path | BinaryIO,
        *,
        user: str | None = None,
        mine: bool = False,
        keep_secrets: bool = False,
    ) -> TakenIn:
        """Take in a file that `export` wrote, all of it or nothing. Doing it again changes nothing.

        That memory becomes a source of its own here (`source` of the answer), and what it says is kept out of recall
        until a person approves it, unless it is said to be `mine`. Then it keeps the trust that it had; and where
        nothing of this user's is here yet, this memory is that one afterwards: history, times, ids, questions that
        wait. What is here already is never changed. Of a folder of Markdown the pages are taken in, as if a person had
        put them here: only if they are `mine`.
        """
        from tallystick.memory.exchange.export_reader import ExportReader
        from tallystick.memory.exchange.restore_export import import_lines, opened
        from tallystick.memory.settings import place_of

        file = place_of(file) if isinstance(file, str | Path) else file
        if isinstance(file, Path) and file.is_dir():
            return self._restore_pages(file, self._whose(user), mine=mine)
        with opened(file) as lines:
            taking = ExportReader(self._folder, self._gate, self._whose(user), mine=mine, keep_secrets=keep_secrets)
            return import_lines(taking, lines)

    def _restore_pages(self, folder: Path, user: str, *, mine: bool) -> TakenIn:
        from tallystick.memory.exchange.restore_pages import TakingPages
        from tallystick.memory.pages.store import PageStore

        self._gate.must("memory", "import", user=user)
        if not mine:
            raise Refused(
                "a folder is taken in as a person's own pages: say mine=True, or use `import_from`", "conflict"
            )
        pages = PageStore(self._folder, self._gate, self._pages_at, user, self._settings)
        return TakingPages(self._pages_at, pages, user).run(folder)

    def _must_read_all(self, user: str) -> None:
        """NotApproved, if there are words that this program may not read: an export has all, or it is none."""
        outlet = self._folder.outlet
        reader = None if outlet is None or outlet.reader.is_person else outlet.reader
        if reader and any(reader.event(each).body != each.body for each in self._folder.events_of(user)):
            who = f"this program has the trust of {self._gate.trust}"
            raise NotApproved(f"a person leaves with what is pending (`tallystick export`), and {who}", "refused")

    def _whose(self, user: str | None) -> str:
        """Whose memory is meant. Refused, if that is nobody."""
        whose = self._user(user)
        checked(user=whose)
        return whose

    def _lines(self, user: str, history: bool) -> Lines:
        from tallystick.memory.exchange.export import Lines

        return Lines(self._folder, self._graph_of(user), user, history=history)

    def _graph_of(self, user: str) -> GraphService:
        from tallystick.memory.graph.graph import GraphService

        return self.graph if user == self.user else GraphService(self._graph_at, self._gate, user, self._after_erasing)
