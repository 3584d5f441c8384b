"""Folding pages: proposed in the open, carried out only if no fact is lost, ours and anybody else's rewrite alike.

A rewrite that passes becomes one group of events: versions with the new words in the place of those they were made of,
which entries left the page for which, and that the page needs it no longer. There is no moment at which one is there
without the others. What was said before stays in history, and as versions of one belief it is erased as one.

A rewrite that does not pass changes nothing but the flag of the page, with the reason, for a person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tallystick.decide import beliefs as decide, pages as decide_page
from tallystick.memory.beliefs.duplicates import merged
from tallystick.memory.pages.compact_plan import Take, folded_ids, planned, proposed, unfit
from tallystick.memory.pages.diff import unified
from tallystick.memory.pages.files import PagesAt
from tallystick.memory.pages.rewrite import around, read_rewrite, statements
from tallystick.memory.settings import Settings
from tallystick.projections.markdown import Edit, Page, parse
from tallystick.projections.markdown.compact.check import preserved
from tallystick.projections.markdown.compact.losses import Loss
from tallystick.projections.markdown.compact.notes import Statement
from tallystick.projections.markdown.heading import is_id
from tallystick.projections.markdown.tag import tag_of
from tallystick.projections.markdown.zone import on_the_clock
from tallystick.projections.pages import render
from tallystick.projections.pages.open_database import PagesFile
from tallystick.projections.pages.render import moment
from tallystick.projections.pages.rows import Entry, File, tokens_in
from tallystick.records.errors import Moved, NotFound, Refused
from tallystick.records.event import Draft
from tallystick.records.page import Compaction
from tallystick.records.policy import DEFAULT
from tallystick.state.state import State
from tallystick.state.version import CurrentVersion
from tallystick.stores.open_folder import OpenFolder
from tallystick.stores.page_files import NoPage

Sync = Callable[[Iterable[str]], object]

_ITS_OWN = {"id", "key", "text", "tags", "evidence", "rests_on", "reason", "views"}  # joined, or of one version alone
_PER_EVENT = 5_000  # entries that leave a page
_TOLD = 3  # losses in one line
_LONGEST = 200  # characters of a reason


@dataclass(frozen=True, slots=True)
class _Page:
    """A page before it is folded."""

    file: File
    rows: list[Entry]
    page: Page  # as it stands, or would
    before: list[Statement]
    kinds: dict[str, bytes]  # of what holds: what a belief is beside its words

    def says_the_same(self, other: _Page) -> bool:
        return (self.page.text, self.before, self.kinds) == (other.page.text, other.before, other.kinds)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What it is to become."""

    after: list[Statement]
    takes: list[Take]
    losses: list[Loss]


class Compactor:
    """The folding of one folder's pages. `sync` takes in what was edited and writes the files that are named."""

    def __init__(self, folder: OpenFolder, at: PagesAt, settings: Settings, sync: Sync) -> None:
        self._folder, self._at, self._settings, self._sync = folder, at, settings, sync

    # -- proposing ---------------------------------------------------------------------------------------------------

    def proposals(self, user: str) -> list[Compaction]:
        """What may become of the pages that are flagged, or too long. Nothing is written."""
        return self._at.read(lambda db: [each for file in db.files(user) if (each := self._proposal(db, file))])

    def _proposal(self, db: PagesFile, file: File) -> Compaction | None:
        why = "" if file.is_gone else self._why(file)
        if not why:
            return None
        current = self._current(db, file)
        return self._compaction(current, self._our_plan(current), why)

    def _why(self, file: File) -> str:
        said = self._folder.state.pages.front(file.user, file.about)
        if said.get("needs_compact"):
            return f"flagged: {said['reason']}" if said.get("reason") else "flagged"
        if file.needs_compact:
            return f"flagged: above {self._settings.hard_limit_tokens:,} tokens"
        limit = self._settings.soft_limit_tokens
        return f"above {limit:,} tokens" if file.tokens > limit else ""

    def _current(self, db: PagesFile, file: File) -> _Page:
        rows = db.entries(file.path)
        page = self._standing(db, file, rows)
        shown = [row for row in rows if not row.folded_into]
        before, kinds = list[Statement](), dict[str, bytes]()
        for row in shown:
            held = self._folder.state.find(row.id, user=file.user, short=False)
            body = held.body() if held and not row.is_struck else {}
            before.append(_statement(row, page, is_fixed=_is_fixed(row, held, body, self._folder.state)))
            if body:
                kinds[row.id] = _kind(body)
        return _Page(file, shown, page, before, kinds)

    def _standing(self, db: PagesFile, file: File, rows: Sequence[Entry]) -> Page:
        """The page in its file, with what is due; as it would be, if somebody else changed that or there is none."""
        try:
            read = self._at.folder.read(file.path)
        except NoPage:
            read = None
        if read is None or read.digest != file.digest or not read.data.strip():
            return parse(render.new(file, rows, self._at.zone).data, self._at.zone)
        page = self._at.parsed(file, read)
        due = db.entries(file.path, due=True)
        return parse(render.changed(page, file, due).data, page.zone) if due or file.is_due else page

    def _our_plan(self, current: _Page) -> _Plan:
        today = moment(self._folder.ledger.now()).astimezone(current.page.zone).date()
        return _plan(current, proposed(current.before, current.kinds, today))

    def _compaction(self, current: _Page, plan: _Plan, why: str) -> Compaction:
        page = _rewritten(current, plan) if plan.takes and not plan.losses else current.page
        return _compaction(current, plan, why, page, _names(current, plan.takes, {}))

    # -- carrying out ------------------------------------------------------------------------------------------------

    def carry_out(
        self, user: str, about: str, rewrite: str | None, reason: str, *, shown: Compaction | None = None
    ) -> Compaction:
        """Fold a page as we propose, or as the rewrite has it. Refused, if that loses anything: the page is flagged."""
        with self._at.working():
            path = self._file(self._at.level(), user, about).path
            self._sync({path})
            seen = self._look(user, about)
            plan = self._decided(seen, rewrite, shown)
            with self._folder.ledger.batch():  # from here on nobody else writes, so it takes no longer than it must
                current = self._look(user, about)
                if not current.says_the_same(seen):
                    plan = self._decided(current, rewrite, shown)
                why, names = self._why(current.file) or "asked for", dict[int, str]()
                if plan.losses:
                    self._record(self._flag(current.file, plan.losses))
                elif plan.takes or rewrite is not None:
                    self._record(self._drafts(current, plan.takes, reason, names))
            self._sync({path})
            if plan.losses:
                raise Refused(_refusal(path, plan.losses))
            return _compaction(current, plan, why, self._look(user, about).page, _names(current, plan.takes, names))

    def _look(self, user: str, about: str) -> _Page:
        db = self._at.level()
        return self._current(db, self._file(db, user, about))

    def _decided(self, current: _Page, rewrite: str | None, shown: Compaction | None) -> _Plan:
        if shown is not None and self._compaction(current, self._our_plan(current), "").text != shown.text:
            raise Moved(f"{shown.path} is not what it was when this was proposed; look at the compactions again")
        return self._our_plan(current) if rewrite is None else _rewrite_plan(current, rewrite)

    def _file(self, db: PagesFile, user: str, about: str) -> File:
        file = db.about(user, about)
        if file is None or file.is_gone:
            raise NotFound(f"there is no page about {about!r}; `tallystick pages` lists what there is")
        return file

    def _record(self, drafts: list[Draft]) -> None:
        self._folder.ledger.write(lambda: drafts)

    def _flag(self, file: File, losses: Sequence[Loss]) -> list[Draft]:
        """The reason names entries and repeats no words: an erasure would not reach them there."""
        told = dict.fromkeys(f"{each.code} in {each.id}" if is_id(each.id) else each.code for each in losses)
        reason = f"a rewrite was refused: {', '.join(told)}"
        reason = reason if len(reason) <= _LONGEST else reason[: _LONGEST - 1] + "…"
        front = {"needs_compact": True, "reason": reason}
        return decide_page.put(self._folder.state, file.user, file.about, front)

    def _drafts(self, current: _Page, takes: Sequence[Take], reason: str, names: dict[int, str]) -> list[Draft]:
        """All of it; `names` are given the new ids, by the place of the entry that got one."""
        state, draw, file = self._folder.state, self._folder.draw(), current.file
        drafts: list[Draft] = []
        for take in takes:
            made = _version(state, current, take, draw, reason or "folded")
            drafts += made
            if take.is_reworded and made:
                names[take.standing] = made[0].body["belief"]["id"]
        for into in _in_parts(_names(current, takes, names)):
            drafts += decide_page.fold(file.user, file.about, into)
        if state.pages.front(file.user, file.about).get("needs_compact"):
            drafts += decide_page.put(state, file.user, file.about, {"needs_compact": False, "reason": ""})
        return drafts


# -- what a page says --------------------------------------------------------------------------------------------------


def _statement(row: Entry, page: Page, *, is_fixed: bool) -> Statement:
    return Statement(
        row.id, on_the_clock(moment(row.timestamp), page.zone), row.content, row.tag_list, row.superseded_by,
        bool(row.retracted and not row.superseded_by), row.folded, is_fixed,
    )  # fmt: skip


def _is_fixed(row: Entry, held: CurrentVersion | None, body: Mapping[str, Any], state: State) -> bool:
    """Whether the belief behind an entry is to be left alone: it has a key, or is not what the entry shows."""
    if held is None or row.has_key or not is_id(held.key):
        return True
    if row.is_struck:
        return False
    is_doubtful = body.get("trust") in DEFAULT.quarantined and not state.reviews.is_approved(body["id"])
    return is_doubtful or held.status != "active" or body.get("text") != row.content


def _kind(body: Mapping[str, Any]) -> bytes:
    """What a belief is beside its words."""
    rest = {name: value for name, value in body.items() if name not in _ITS_OWN}
    views = {name: view for name, view in body.get("views", {}).items() if name != "entry"}
    return orjson.dumps([rest, views], option=orjson.OPT_SORT_KEYS)


def _plan(current: _Page, after: list[Statement]) -> _Plan:
    takes = planned(current.before, after)
    return _Plan(after, takes, [*preserved(current.before, after), *unfit(current.before, takes, current.kinds)])


def _rewrite_plan(current: _Page, rewrite: str) -> _Plan:
    page = read_rewrite(rewrite, current.page)
    plan = _plan(current, statements(page, current.page, current.before))
    return _Plan(plan.after, plan.takes, [*around(current.page, page), *plan.losses])


def _rewritten(current: _Page, plan: _Plan) -> Page:
    """The page as it would be. An entry with other words will get another id, which nobody knows yet."""
    made, gone = dict[str, Entry](), set[str]()
    for take in plan.takes:
        row = current.rows[take.standing]
        names = folded_ids(current.before, replace(take, is_reworded=False))
        made[row.id] = row._replace(
            content=take.text, tags=orjson.dumps(take.tags).decode(), supersedes=orjson.dumps(names).decode()
        )
        gone |= {current.rows[at].id for at in take.taken}
    page = parse(render.rewritten(current.page, made, gone), current.page.zone)
    edit = Edit(page).stamp(moment(current.file.updated))
    if current.file.needs_compact and not page.front.fault:
        edit.front(needs_compact=False)
    return parse(edit.text, page.zone)


def _compaction(current: _Page, plan: _Plan, why: str, page: Page, names: Mapping[str, str]) -> Compaction:
    after = current.before if plan.losses else plan.after
    return Compaction(
        path=current.file.path, user=current.file.user, why=why, entries_before=len(current.before),
        entries_after=len(after), tokens_before=_tokens(current.before), tokens_after=_tokens(after), text=page.text,
        diff=unified(current.file.path, current.page, page), losses=tuple(map(str, plan.losses)),
        changes=tuple(names.items()),
    )  # fmt: skip


def _tokens(page: Iterable[Statement]) -> int:
    return sum(tokens_in(each.text) for each in page)


def _refusal(path: str, losses: Sequence[Loss]) -> str:
    more = f"; and {len(losses) - _TOLD} more" if len(losses) > _TOLD else ""
    told = "; ".join(str(each) for each in losses[:_TOLD])
    return f"{path} was not folded, and stays flagged: {told}{more}"


# -- what is recorded --------------------------------------------------------------------------------------------------


def _names(current: _Page, takes: Sequence[Take], names: Mapping[int, str]) -> dict[str, str]:
    """Which entries leave the page for which; `names` are the new ids of those that got one."""
    into: dict[str, str] = {}
    for take in takes:
        own = current.rows[take.standing].id
        target = names.get(take.standing, own)
        into |= {current.rows[at].id: target for at in take.taken}
        if target != own:
            into[own] = target
    return into


def _in_parts(into: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """As much as fits in one event. What goes into one entry stands together."""
    part: dict[str, str] = {}
    last = ""
    for name, target in into.items():
        if len(part) >= _PER_EVENT and target != last:
            yield part
            part = {}
        part[name] = last = target
    if part:
        yield part


def _version(state: State, current: _Page, take: Take, draw: decide.Draw, reason: str) -> list[Draft]:
    """The belief of an entry with what it says now; those that go into it become a part of it."""
    row, user = current.rows[take.standing], current.file.user
    found = {held.ref: held for at in take.places for held in [state.get(current.rows[at].id, user=user)]}
    first = state.get(row.id, user=user)
    together = [first, *(held for ref, held in found.items() if ref != first.ref)]
    belief, joined = first.belief(), merged(together)
    views = {name: view for name, view in belief.views.items() if name != "entry"}
    seen = {"at": row.timestamp, "folds": folded_ids(current.before, take)}
    changes: dict[str, Any] = {"text": take.text, "views": {**views, "entry": seen}}
    tags = _tags(take, row, joined["tags"])
    if len(together) == 1:
        return decide.revise(state, belief.id, {**changes, "tags": tags}, draw, reason=reason, user=user)
    ids = [held.body()["id"] for held in together]
    return decide.merge(state, ids, {**joined, **changes, "tags": tags}, draw, reason=reason, user=user)


def _tags(take: Take, row: Entry, tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags of all, those that the page shows before the others."""
    if set(take.tags) == set(row.tag_list):
        return tags
    return (*take.tags, *(tag for tag in tags if _as_shown(tag) not in take.tags))


def _as_shown(tag: str) -> str:
    try:
        return tag_of(tag)
    except Refused:
        return tag
