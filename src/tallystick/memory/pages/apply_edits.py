"""Recording the edits of one page: all of them, or none if the disk fails.

Each change is decided for itself, on the current state. One that cannot be recorded is reported, with its line, and
does not stop the others. Doing it again after a crash changes nothing: what was recorded is recognised by its id,
by its words, or, where a heading has no id yet, by the page it was found on and what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2s
from typing import Any

from tallystick.decide import beliefs as decide, pages as decide_page, review_request as asking
from tallystick.memory.pages.files import PagesAt
from tallystick.projections.markdown import Entry as Written
from tallystick.projections.markdown.heading import is_id
from tallystick.projections.markdown.parse import same_words
from tallystick.projections.pages import edits
from tallystick.projections.pages.edits import Change, Compared
from tallystick.projections.pages.render import Completion
from tallystick.projections.pages.rows import Base, Entry, tags_shown
from tallystick.records import ids
from tallystick.records.belief import Version
from tallystick.records.clock import stamp
from tallystick.records.display import counted
from tallystick.records.errors import Moved, NeedsApproval, NotFound, Refused
from tallystick.records.event import Draft
from tallystick.records.operations import REVIEW_ASK
from tallystick.records.page import NOTES, SyncNote
from tallystick.records.review import Action
from tallystick.state import history as timeline
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.pages import PAGE_EDIT

_LONGEST = 1 << 20  # letters of an entry; a longer one cannot be recorded in any case
_EDITED, _STRUCK = "edited on the page", "struck on the page"


@dataclass(slots=True)
class Adopted:
    """What became of the changes of one page."""

    notes: list[SyncNote] = field(default_factory=list)
    problems: list[SyncNote] = field(default_factory=list)
    reviews: list[str] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    moved: set[str] = field(default_factory=set)  # ids that came from another page
    recorded: set[str] = field(default_factory=set)  # ids of which the page holds no word that is not safe elsewhere


class EditApplier:
    """Records the changes of one page."""

    def __init__(
        self, at: PagesAt, path: str, user: str, about: str, base: Base, rows: Sequence[Entry], into: Adopted
    ) -> None:  # fmt: skip
        self._ledger, self._state, self._draw, self._masks = at.ledger, at.state, at.draw, at.masks
        self._path, self._user, self._base, self._rows, self._into = path, user, base, rows, into
        self._page_about = about
        self._about = "" if about == NOTES else about
        self._times: dict[bytes, int] = {}
        self._coming, self._there = set[str](), set[str]()
        self._named: list[tuple[Written, str]] = []  # what was added, and as what
        self._hidden: set[int] = set()  # lines with something that was masked

    def run(self, found: Compared, *, is_new: bool) -> None:
        found.changes = [self._masked(each) for each in found.changes]
        if found.front:
            found.front, kinds = self._masks.edited_fields(found.front)
            if kinds:
                self._tell(0, f"masked {counted(kinds)}")
        self._there = set(found.there)
        self._coming = {each.entry.id for each in found.changes if each.kind == edits.NEW and each.entry}
        with self._ledger.batch():
            said = found.front.items()
            front = {name: stamp(value) if isinstance(value, datetime) else value for name, value in said}
            if front or is_new:
                events = self._write(lambda: decide_page.put(self._state, self._user, self._page_about, front))
                if events and not is_new:
                    self._tell(0, f"its {', '.join(front)} changed")
            for change in _in_order(found.changes):
                try:
                    self._adopt(change, found.changes)
                except (Refused, NotFound, Moved) as error:
                    self._into.problems.append(SyncNote(self._path, change.line, str(error)))
            for entry, name in self._named:
                if not entry.is_current and self._current(name):  # it came struck, and nothing took its place
                    self._take_back(name, _STRUCK)

    def _adopt(self, change: Change, changes: Sequence[Change]) -> None:
        entry, row = change.entry, change.row
        if change.kind == edits.NEW and entry is not None:
            self._new(entry)
        elif row is not None:
            try:
                _ACTS[change.kind](self, entry, row, changes)
            except NeedsApproval as error:  # it is asked already
                self._into.reviews.append(error.review)
            if change.kind not in (edits.STRUCK, edits.SUPERSEDED) or not (entry and entry.body.strip()):
                self._into.recorded.add(row.id)

    # -- secrets -----------------------------------------------------------------------------------------------------

    def _masked(self, change: Change) -> Change:
        """The change without the secrets in it. What the entry held already stays; what is masked leaves the file."""
        entry, row = change.entry, change.row
        if entry is None or len(entry.body) > _LONGEST:
            return change
        body, kinds = self._masks.edited(entry.body, row.content if row else "")
        tags, more = self._masks.edited("\n".join(entry.tags))
        if not kinds and not more:
            return change
        self._tell(change.line, f"masked {counted(kinds + more)}")
        self._hidden.add(change.line)
        return change._replace(entry=entry._replace(body=body, tags=tuple(filter(None, tags.split("\n")))))

    # -- what is new -------------------------------------------------------------------------------------------------

    def _new(self, entry: Written) -> None:
        if entry.id in self._into.moved:
            self._into.moved.remove(entry.id)  # a second one of that id is a copy
            self._moved(entry)
            return
        name = entry.id if entry.id and is_id(entry.id) and not self._state.taken(entry.id) else ""
        key = "" if name else self._key(entry)
        while key and (said := self._state.said(self._user, PAGE_EDIT, key)):
            if self._there.isdisjoint(self._state.ids_of(said[0])):
                self._known(entry, said[0])
                return
            key = self._key(entry)  # that one is on the page: this one says it once more
        if not name:  # a fresh id, with the minute that stands in the heading
            name = ids.belief_id(entry.at.isoformat(), self._state.taken) if entry.at else self._draw()()
        fields = self._fields(entry)
        before = self._before(entry)
        if before:
            because: dict[str, Any] = {"reason": _EDITED, "user": self._user}
            if len(before) == 1:
                self._write(lambda: decide.revise(self._state, before[0], fields, lambda: name, **because))
            else:
                self._write(lambda: decide.merge(self._state, before, fields, lambda: name, **because))
        else:
            given = {**fields, "id": name, "key": name, "user": self._user, "trust": "human"}
            self._write(lambda: decide.put(self._state, given, lambda: name, idempotency_key=key, source=PAGE_EDIT))
        self._named.append((entry, name))
        self._rewrite(entry, name)
        self._tell(entry.line, f"added {name}")
        if name != entry.id or not entry.time:
            self._complete(entry, name)

    def _known(self, entry: Written, held: CurrentVersion) -> None:
        """It was recorded before, and the page did not get its heading: it gets that of the version with its words."""
        ids = set(self._state.ids_of(held))
        row = next((row for row in self._rows if row.id in ids and row.content == entry.body), None)
        name = row.id if row else held.belief().id
        self._complete(entry, name, row.timestamp if row else held.at)
        self._rewrite(entry, name)

    def _rewrite(self, entry: Written, name: str) -> None:
        """What was masked is masked in the file too."""
        if entry.line in self._hidden:
            self._into.recorded.add(name)

    def _before(self, entry: Written) -> list[str]:
        """What was recorded of the entries that name this one as what took their place. Not what says the very same:
        in its place it would be no entry of its own."""
        return [
            name for each, name in self._named
            if entry.id and each.superseded_by == entry.id and each is not entry
            and (held := self._current(name)) and held.belief().text != entry.body
        ]  # fmt: skip

    def _moved(self, entry: Written) -> None:
        held = self._state.get(entry.id, user=self._user).belief()
        changes: dict[str, Any] = {"about": self._about}
        if entry.at is not None:
            changes["views"] = {**held.views, "entry": {"at": stamp(entry.at)}}
        if entry.body.strip() and not same_words(entry.body, held.text):
            changes |= {"text": entry.body, "trust": "human"}
        if entry.tags and tags_shown(entry.tags, "") != tags_shown(held.tags, held.kind):
            changes["tags"] = entry.tags
        self._revise(entry, entry.id, changes, "moved to another page")
        name = self._state.get(entry.id, user=self._user).belief().id
        self._named.append((entry, name))
        self._complete(entry, name)

    def _fields(self, entry: Written) -> dict[str, Any]:
        fields: dict[str, Any] = {"text": entry.body, "about": self._about, "tags": entry.tags}
        seen = {"at": stamp(entry.at)} if entry.at is not None else {}
        if entry.superseded_by and entry.superseded_by not in self._coming:
            seen["superseded_by"] = entry.superseded_by
            fields["status"] = "superseded"
        return {**fields, "views": {"entry": seen}} if seen else fields

    def _key(self, entry: Written) -> str:
        """By what an entry without an id is recognised, should it be found again before it has one."""
        said = blake2s(b"\0".join([
            self._path.encode("utf-8", "surrogateescape"), self._base.digest,
            entry.time.encode("utf-8", "surrogateescape"), entry.body.encode("utf-8", "surrogateescape"),
        ]), digest_size=12).digest()  # fmt: skip
        self._times[said] = number = self._times.get(said, 0) + 1
        return f"page:{said.hex()}:{number}"

    def _complete(self, entry: Written, name: str, at_first: str = "") -> None:
        at = entry.at or datetime.fromisoformat(at_first or self._state.get(name, user=self._user).at)
        self._into.completions.append(Completion(entry, name, at, tags_shown(entry.tags, "fact")))

    # -- what was changed --------------------------------------------------------------------------------------------

    def _changed(self, entry: Written, row: Entry, _: Sequence[Change]) -> None:
        changes: dict[str, Any] = {"text": entry.body, "trust": "human"}
        if entry.tags and tags_shown(entry.tags, "") != row.tag_list:
            changes["tags"] = self._tags(entry, row)
        try:
            self._revise(entry, row.id, changes, _EDITED)
        except (Moved, Refused):
            if self._current(row.id):  # it is not what it was asked of that is wrong
                raise
            self._raced(entry, row, _)

    def _tagged(self, entry: Written, row: Entry, _: Sequence[Change]) -> None:
        self._revise(entry, row.id, {"tags": self._tags(entry, row)}, "tagged on the page")

    def _tagged_late(self, entry: Written, row: Entry, _: Sequence[Change]) -> None:
        """Tags that the belief never had were written by hand; others are those that the page lags behind with."""
        before = self._versions(self._state.get(row.id, user=self._user))
        if all(tags_shown(each.belief.tags, each.belief.kind) != tags_shown(entry.tags, "") for each in before):
            self._tagged(entry, row, _)

    def _dated(self, entry: Written, row: Entry, _: Sequence[Change]) -> None:
        assert entry.at is not None
        views = {**self._state.get(row.id, user=self._user).belief().views, "entry": {"at": stamp(entry.at)}}
        self._revise(entry, row.id, {"views": views}, "dated on the page")

    def _versions(self, held: CurrentVersion) -> list[Version]:
        """A belief as it was, version by version."""
        first = max(held.first, self._ledger.first)
        return list(timeline.history(self._ledger.events(first), self._state.ids_of(held)))

    def _tags(self, entry: Written, row: Entry) -> tuple[str, ...]:
        """The tags on the page, and those of the belief that the page has no room for."""
        held = self._state.get(row.id, user=self._user).belief().tags
        return (*entry.tags, *(tag for tag in held if tag not in entry.tags and not {tag} & {*row.tag_list}))

    def _struck(self, entry: Written, row: Entry, _: Sequence[Change]) -> None:
        self._take_back(row.id, _STRUCK)
        self._tell(entry.line, f"took {row.id} back")

    def _superseded(self, entry: Written, row: Entry, changes: Sequence[Change]) -> None:
        """Struck by hand, and named what took its place: one that is about to be recorded, or another that holds."""
        if any(each.entry and each.entry.id == entry.superseded_by for each in changes if each.kind == edits.NEW):
            self._named.append((entry, row.id))
            return
        other = self._current(entry.superseded_by)
        if other is None or other == self._state.find(row.id, user=self._user, short=False):
            self._struck(entry, row, changes)
            return
        names = [entry.superseded_by, row.id]
        why = "superseded on the page"
        self._write(lambda: decide.merge(self._state, names, {}, self._draw(), reason=why, user=self._user))
        self._tell(entry.line, f"{entry.superseded_by} takes the place of {row.id}")

    def _revived(self, entry: Written, row: Entry, _: Sequence[Change]) -> None:
        self._revise(entry, row.id, {"status": "active"}, "taken up again on the page")

    def _removed(self, _: Written | None, row: Entry, __: Sequence[Change]) -> None:
        held = self._state.get(row.id, user=self._user)
        if self._state.read_before(row.id, held):
            self._raced_removal(None, row, ())
            return
        self._take_back(row.id, "removed from the page")
        self._tell(0, f"took {row.id} back, which was removed")

    def _revise(self, entry: Written, name: str, changes: dict[str, Any], reason: str) -> None:
        draw = self._draw()
        drafts = self._write(lambda: decide.revise(self._state, name, changes, draw, reason=reason, user=self._user))
        if drafts:
            self._tell(entry.line, f"{reason.partition(' ')[0]} {name}")

    # -- what changed on both sides ----------------------------------------------------------------------------------

    def _raced(self, entry: Written, row: Entry, _: Sequence[Change]) -> None:
        """The person's words become a review; the page shows the current words."""
        held = self._state.find(row.id, user=self._user, short=False)
        if held is None or same_words(held.belief().text, entry.body):
            return
        belief, versions, changes = held.belief(), self._versions(held), {"text": entry.body, "trust": "human"}
        if any(same_words(each.belief.text, entry.body) for each in versions):
            what = f"{row.id} said this before it was changed: it stays as it is now"
            self._into.problems.append(SyncNote(self._path, entry.line, what))
            return
        later = [each for each in versions if each.seq > self._base.seq]
        if belief.status == "active" and later and all(each.by == PAGE_EDIT for each in later):
            self._revise(entry, belief.id, changes, _EDITED)  # an editor that was open for long saves once more
            return
        why = f"{row.id} was edited on the page while it was changed elsewhere"
        if belief.status != "active":
            changes["status"] = "active"
            why = f"{row.id} was edited on the page while it was taken back elsewhere"
        self._ask(self._action("revise", (belief.id,), changes), why)

    def _raced_removal(self, _: Written | None, row: Entry, __: Sequence[Change]) -> None:
        held = self._state.find(row.id, user=self._user, short=False)
        if held is not None and held.status == "active":
            action = self._action("forget", (held.belief().id,), {})
            self._ask(action, f"{row.id} was removed from the page while it was changed elsewhere")

    def _action(self, kind: str, target: tuple[str, ...], changes: dict[str, Any]) -> Action:
        return Action(
            kind=kind, user=self._user, target=target, changes=changes, reason=_EDITED, by=PAGE_EDIT, trust="human"
        )  # fmt: skip

    def _ask(self, action: Action, why: str) -> None:
        events = self._write(lambda: asking.ask(self._state, action, why, self._draw()))
        self._into.reviews += [event.body["review"] for event in events if event.op == REVIEW_ASK and event.body]

    def _write(self, decision: Callable[[], list[Draft]]) -> list[Any]:
        return self._ledger.write(decision, by=PAGE_EDIT)

    def _take_back(self, name: str, reason: str) -> None:
        self._write(lambda: decide.tombstone(self._state, name, reason=reason, user=self._user))

    def _current(self, name: str) -> CurrentVersion | None:
        held = self._state.find(name, user=self._user, short=False)
        return held if held and held.status == "active" and not self._state.read_before(name, held) else None

    def _tell(self, line: int, what: str) -> None:
        self._into.notes.append(SyncNote(self._path, line, what))


def _in_order(changes: Sequence[Change]) -> Iterator[Change]:
    """What a page says in its order, but what was superseded comes before what took its place."""
    by_id = {each.entry.id: each for each in changes if each.entry and each.entry.id}
    waiting: dict[str, list[Change]] = {}
    for each in changes:
        if each.entry and each.entry.superseded_by in by_id and each.entry.superseded_by != each.entry.id:
            waiting.setdefault(each.entry.superseded_by, []).append(each)
    done: set[int] = set()
    for each in changes:
        stack = [each]
        while stack:
            last = stack[-1]
            before = [one for one in waiting.get(last.entry.id if last.entry else "", ()) if id(one) not in done]
            fresh = [one for one in before if not any(one is above for above in stack)]
            if fresh:
                stack.append(fresh[0])
                continue
            stack.pop()
            if id(last) not in done:
                done.add(id(last))
                yield last


_ACTS: dict[str, Callable[..., None]] = {
    edits.CHANGED: EditApplier._changed, edits.TAGGED: EditApplier._tagged, edits.TAGGED_LATE: EditApplier._tagged_late,
    edits.DATED: EditApplier._dated, edits.STRUCK: EditApplier._struck, edits.SUPERSEDED: EditApplier._superseded,
    edits.REVIVED: EditApplier._revived, edits.REMOVED: EditApplier._removed, edits.RACED: EditApplier._raced,
    edits.RACED_REMOVAL: EditApplier._raced_removal,
}  # fmt: skip
