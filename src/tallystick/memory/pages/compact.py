"""Folding pages: proposed in the open, carried out only if no fact is lost, ours and anybody else's rewrite alike.

A rewrite that passes becomes one group of events: versions with the new words in the place of those they were made of,
which entries left the page for which, and that the page needs it no longer. There is no moment at which one is there
without the others. What was said before stays in history, and as versions of one belief it is erased as one.

A rewrite is about the entries alone. What stands around them must be there as it was, and whatever in it is not
understood is a reason to refuse it. A rewrite that does not pass changes nothing but the flag of the page, with the
reason, for a person.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any

import orjson

from tallystick.decide import beliefs as decide, pages as decide_page
from tallystick.memory.beliefs.duplicates import merged
from tallystick.memory.pages.files import PagesAt
from tallystick.memory.settings import Settings
from tallystick.projections.markdown import Edit, Page, parse
from tallystick.projections.markdown.compact.check import Loss, loss, preserved
from tallystick.projections.markdown.compact.propose import fold
from tallystick.projections.markdown.compact.words import Pairs, Statement, ends, parted
from tallystick.projections.markdown.heading import is_id
from tallystick.projections.markdown.names import tag_of
from tallystick.projections.markdown.zone import on_the_clock
from tallystick.projections.pages import render
from tallystick.projections.pages.open_database import PagesFile
from tallystick.projections.pages.render import moment
from tallystick.projections.pages.rows import Entry, File, tags_shown, tokens_in
from tallystick.records.display import common_ends
from tallystick.records.errors import Moved, NotFound, Refused
from tallystick.records.event import Draft
from tallystick.records.page import Compaction
from tallystick.records.policy import DEFAULT
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.state import State
from tallystick.stores.open_ledger import OpenLedger
from tallystick.stores.page_files import NoPage
from tallystick.text.claims import gist

Sync = Callable[[Iterable[str]], object]

_ITS_OWN = {"id", "key", "text", "tags", "evidence", "rests_on", "reason", "views"}  # joined, or of one version alone
_PER_EVENT = 5_000  # entries that leave a page
_TOLD = 3  # losses in one line
_LONGEST = 200  # characters of a reason
_COUNTERS = ("updated", "entry_count", "needs_compact")  # they follow the page, whatever a rewrite says


@dataclass(frozen=True, slots=True)
class _Page:
    """A page before it is compacted."""

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
    """The compaction of one folder's pages. `sync` imports edits and writes the files that are named."""

    def __init__(self, folder: OpenLedger, at: PagesAt, settings: Settings, sync: Sync) -> None:
        self._folder, self._at, self._settings, self._sync = folder, at, settings, sync

    def proposals(self, user: str) -> list[Compaction]:
        """What may become of the pages that are flagged, or too long. Nothing is written."""

        def found(db: PagesFile) -> Iterator[Compaction]:
            for file in db.files(user):
                if not file.is_gone and (why := self._why(file)):
                    current = self._current(db, file)
                    yield self._compaction(current, self._our_plan(current), why)

        return self._at.read(lambda db: list(found(db)))

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
            before.append(Statement(
                row.id, on_the_clock(moment(row.timestamp), page.zone), row.content, row.tag_list, row.superseded_by,
                bool(row.retracted and not row.superseded_by), row.folded,
                _is_fixed(row, held, body, self._folder.state),
            ))  # fmt: skip
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

    def carry_out(
        self, user: str, about: str, rewrite: str | None, reason: str, *, shown: Compaction | None = None
    ) -> Compaction:
        """Compact a page as proposed, or as the rewrite has it. Refused, if that loses anything; it stays flagged."""
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
                drafts = list[Draft]()
                if plan.losses:
                    drafts = self._flag(current.file, plan.losses)
                elif plan.takes or rewrite is not None:
                    drafts = self._drafts(current, plan.takes, reason, names)
                self._folder.ledger.append(drafts)
            self._sync({path})
            if plan.losses:
                more = f"; and {len(plan.losses) - _TOLD} more" if len(plan.losses) > _TOLD else ""
                told = "; ".join(str(each) for each in plan.losses[:_TOLD])
                raise Refused(f"{path} was not folded, and stays flagged: {told}{more}")
            return _compaction(current, plan, why, self._look(user, about).page, _names(current, plan.takes, names))

    def _look(self, user: str, about: str) -> _Page:
        db = self._at.level()
        return self._current(db, self._file(db, user, about))

    def _decided(self, current: _Page, rewrite: str | None, shown: Compaction | None) -> _Plan:
        if shown is not None and self._compaction(current, self._our_plan(current), "").text != shown.text:
            raise Moved(f"{shown.path} has changed since the proposal; list the compactions again")
        if rewrite is None:
            return self._our_plan(current)
        page = read_rewrite(rewrite, current.page)
        plan = _plan(current, statements(page, current.page, current.before))
        return replace(plan, losses=[*around(current.page, page), *plan.losses])

    def _file(self, db: PagesFile, user: str, about: str) -> File:
        file = db.about(user, about)
        if file is None or file.is_gone:
            raise NotFound(f"no page about {about!r}; run `tallystick pages` to list them")
        return file

    def _flag(self, file: File, losses: Sequence[Loss]) -> list[Draft]:
        """The reason names entries and repeats no words: an erasure would not reach them there."""
        codes = dict.fromkeys(f"{each.code} in {each.id}" if is_id(each.id) else each.code for each in losses)
        reason = f"a rewrite was refused: {', '.join(codes)}"
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

    def as_shown(tag: str) -> str:
        with suppress(Refused):
            return tag_of(tag)
        return tag

    return (*take.tags, *(tag for tag in tags if as_shown(tag) not in take.tags))


# -- reading a rewrite -------------------------------------------------------------------------------------------------


def read_rewrite(text: object, page: Page) -> Page:
    """The rewrite, in the time zone of its page. Refused, if it is not text."""
    if not isinstance(text, str) or not text.strip():
        raise Refused("a rewrite must be the Markdown of the whole page; it is empty", "required")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused(f"character {error.start} of the rewrite is a lone surrogate; decode it again", "text") from None
    return parse(text, page.zone)


def around(page: Page, rewrite: Page) -> Iterator[Loss]:
    """What a rewrite changes other than entries, and what in it is not understood."""
    known = {problem.reason for problem in page.problems}
    for problem in rewrite.problems:
        if problem.reason not in known:
            yield loss("problem", "", "", f"line {problem.line} of the rewrite: {problem.reason}")
    if rewrite.front.fault and not page.front.fault:
        yield loss("front", "", "", f"the front matter of the rewrite cannot be read: {rewrite.front.fault}")
    else:
        fields = dict.fromkeys([*page.front.fields, *rewrite.front.fields])
        changed = [each for each in fields if each not in _COUNTERS and _value(page, each) != _value(rewrite, each)]
        if changed:
            yield loss("front", "", ", ".join(changed), "the front matter says something else")
    if page.title.split() != rewrite.title.split():
        yield loss("heading", "", page.title or rewrite.title, "the title is another")
    if page.preamble.split() != rewrite.preamble.split():
        yield loss("heading", "", page.preamble, "what stands before the entries is another")


def _value(page: Page, name: str) -> object:
    if name == "created" and page.front.created is not None:
        return page.front.created
    field = page.front.fields.get(name)
    if field is None:
        return None
    start, end = field.value_span
    return page.text[start:end] if field.value is None else field.value


def statements(rewrite: Page, page: Page, before: Sequence[Statement]) -> list[Statement]:
    """The entries of the rewrite. Headings that were empty on the page are passed over here too."""
    known = {each.id: each for each in before}
    untagged = {entry.id for entry in page.entries if not entry.tags}
    found = list[Statement]()
    for entry in rewrite.entries:
        tags = tags_shown(entry.tags, "") if entry.tags else ()
        if not tags and entry.id in untagged and entry.id in known:
            tags = known[entry.id].tags
        if entry.id or entry.body.strip():
            time = on_the_clock(entry.at, page.zone) if entry.at else entry.time
            is_struck = not entry.superseded_by and (entry.is_retracted or entry.is_struck)
            found.append(Statement(entry.id, time, entry.body, tags, entry.superseded_by, is_struck, entry.supersedes))
    return found


# -- what goes into what when a page is folded, and what may not -------------------------------------------------------

MOST = 150  # entries that we make one of: their ids stand in one comment
LONGEST = 50_000  # characters of what was folded

_MOST_NAMED = 170  # ids that such a comment has room for
_LEFT = -1


@dataclass(frozen=True, slots=True)
class Take:
    """One entry of a page, and those that go into it. Places are those of the page as it is."""

    standing: int
    taken: tuple[int, ...]
    text: str
    tags: tuple[str, ...]
    is_reworded: bool  # then it gets a new id: an entry's words belong to its id

    @property
    def places(self) -> tuple[int, ...]:
        return self.standing, *self.taken


def folded_ids(before: Sequence[Statement], take: Take) -> list[str]:
    """The ids that the entry names as told by it. First the one whose place it takes, if its words are new."""
    standing = before[take.standing]
    names = dict.fromkeys([standing.id, *standing.supersedes] if take.is_reworded else standing.supersedes)
    for at in take.taken:
        names |= dict.fromkeys((before[at].id, *before[at].supersedes))
    return list(names)


def proposed(before: Sequence[Statement], kinds: Mapping[str, bytes], today: date) -> list[Statement]:
    """The page in fewer words. `kinds` says by id what a belief is beside its words: only what is alike is joined."""
    found: dict[str, Statement] = {}
    portions: dict[int, list[Statement]] = {}
    for statement, portion in zip(before, _portions(before, kinds), strict=True):
        portions.setdefault(portion, []).append(statement)
    for portion, some in portions.items():
        folded = some if portion == _LEFT else fold(some, today=today)
        found |= {each.id: each for each in folded}
    return [found[each.id] for each in before if each.id in found]


def _portions(before: Sequence[Statement], kinds: Mapping[str, bytes]) -> list[int]:
    """Which statements are folded together: repeats are in one portion as far as they are alike and not too many."""
    found = [0] * len(before)
    chains: dict[int, list[int]] = {}
    for at, end in enumerate(ends(before)):
        if end is not None and end != at:
            chains.setdefault(end, []).append(at)
    repeats: dict[str, dict[bytes, list[int]]] = {}
    for at, statement in enumerate(before):
        if statement.is_current:
            alike = repeats.setdefault(gist(parted(statement.text)[0]), {})
            alike.setdefault(kinds.get(statement.id, b""), []).append(at)
    for groups in repeats.values():
        number = 0
        for places in groups.values():
            number = _fill(found, before, places, chains, number) + 1
    return found


def _fill(
    found: list[int], before: Sequence[Statement], places: Sequence[int], chains: Mapping[int, list[int]], number: int
) -> int:
    """Put repeats, the last first, and what they superseded into portions from `number` on; returns the last."""
    room = Room()
    for place in reversed(places):
        if not room.has(before[place]):
            number, room = number + 1, Room()
        room.take(before[place])
        found[place] = number
        for at in sorted(chains.get(place, ()), reverse=True):
            found[at] = number if room.has(before[at]) else _LEFT
            if found[at] == number:
                room.take(before[at])
    return number


class Room:
    """What one entry has room for."""

    def __init__(self) -> None:
        self.names = self.letters = 0

    def has(self, statement: Statement) -> bool:
        is_first = self.names == 0
        return is_first or (
            self.names + 1 + len(statement.supersedes) <= MOST and self.letters + len(statement.text) <= LONGEST
        )

    def take(self, statement: Statement) -> None:
        self.names += 1 + len(statement.supersedes)
        self.letters += len(statement.text)


def planned(before: Sequence[Statement], after: Sequence[Statement]) -> list[Take]:
    """What changes from one state of the page to the other. What comes from nowhere is in no plan."""
    pairs, found = Pairs(before, after), list[Take]()
    for place, new in enumerate(after):
        sources = pairs.sources[place]
        own = (at for at in sources if pairs.is_own[at])  # whose place it is: that of its id, else of the last current
        standing = next(own, max((at for at in sources if before[at].is_current), default=None))
        if standing is None:
            continue
        old = before[standing]
        taken = tuple(at for at in sources if at != standing)
        take = Take(standing, taken, new.text, new.tags, is_reworded=new.text != old.text)
        if take.taken or take.is_reworded or set(new.tags) != set(old.tags):
            found.append(take)
    return found


def unfit(before: Sequence[Statement], takes: Sequence[Take], kinds: Mapping[str, bytes]) -> Iterator[Loss]:
    """Why a plan cannot be carried out, whatever the words say."""
    for take in takes:
        standing = before[take.standing]
        if take.is_reworded and not standing.is_current:
            yield loss("struck", standing.id, standing.text, "what is struck keeps its words")
        elif standing.has_key and take.is_reworded:
            yield loss("key", standing.id, standing.text, "a caller gave this a key and may ask for it; its words stay")
        elif standing.has_key and take.taken:
            yield loss("key", standing.id, standing.text, "a caller gave this a key; nothing is joined to it")
        for at in take.taken:
            if before[at].is_current and kinds.get(before[at].id) != kinds.get(standing.id):
                why = f"it differs from {standing.id} in more than its words, and stays by itself"
                yield loss("kind", before[at].id, before[at].text, why)
        if len(folded_ids(before, take)) > _MOST_NAMED:
            yield loss("entry", standing.id, "", f"it would tell more than {_MOST_NAMED} others, too many for one")
        if take.is_reworded and len(take.text) > max(LONGEST, len(standing.text)):
            yield loss("entry", standing.id, "", f"an entry has {LONGEST:,} characters at most")
        if unseen := _unseen(take.text) - _unseen("".join(before[at].text for at in take.places)):
            shown = " ".join(sorted(f"U+{ord(sign):04X}" for sign in unseen))
            yield loss("invented", standing.id, shown, "a sign that nobody sees is new")


def _unseen(text: str) -> set[str]:
    """Signs that show nothing, and may turn around what is shown."""
    if text.isascii() and text.isprintable():
        return set()
    return {sign for sign in set(text) if unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")}


# -- the difference between two states of a page, in the unified format ------------------------------------------------

_AROUND = 3  # lines that are shown before and after a change

_Line = tuple[str, str]  # its mark and its words


def unified(path: str, old: Page, new: Page) -> str:
    """What changes from `old` to `new`; nothing, if they are the same."""
    lines = list(_lines(_chunks(old), _chunks(new)))
    changed = [at for at, (mark, _) in enumerate(lines) if mark != " "]
    if not changed:
        return ""
    return "\n".join([f"--- {path}", f"+++ {path}", *_hunks(lines, changed)]) + "\n"


def _chunks(page: Page) -> list[tuple[str, str]]:
    """What stands before the entries, and each entry, by its id."""
    starts = [0, *(entry.span.start for entry in page.entries), len(page.text)]
    names = ["", *(entry.id for entry in page.entries)]
    return [(name, page.text[start:end]) for name, (start, end) in zip(names, pairwise(starts), strict=True)]


def _lines(old: Sequence[tuple[str, str]], new: Sequence[tuple[str, str]]) -> Iterator[_Line]:
    """All lines of both; those that are the same stand there once."""
    places = {name: at for at, (name, _) in enumerate(old)}
    at, fresh = 0, list[str]()
    for name, text in new:
        place = places.get(name, -1)
        if place < at:
            fresh.append(text)
            continue
        yield from _change("".join(text for _, text in old[at:place]), "".join(fresh))
        yield from _change(old[place][1], text)
        at, fresh = place + 1, []
    yield from _change("".join(text for _, text in old[at:]), "".join(fresh))


def _change(old: str, new: str) -> Iterator[_Line]:
    """One text in the place of another; what they begin and end with alike is left alone."""
    gone, come = _split(old), _split(new)
    first, last = common_ends(gone, come)
    yield from ((" ", line) for line in gone[:first])
    yield from (("-", line) for line in gone[first : len(gone) - last])
    yield from (("+", line) for line in come[first : len(come) - last])
    yield from ((" ", line) for line in gone[len(gone) - last :])


def _split(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _hunks(lines: Sequence[_Line], changed: Sequence[int]) -> Iterator[str]:
    old_line, new_line, at = 1, 1, 0
    for first, last in _spans(changed, len(lines)):
        for mark, _ in lines[at:first]:
            old_line, new_line = old_line + (mark != "+"), new_line + (mark != "-")
        shown = lines[first:last]
        old_count, new_count = (sum(mark != other for mark, _ in shown) for other in "+-")
        yield f"@@ -{old_line},{old_count} +{new_line},{new_count} @@"
        yield from (mark + words for mark, words in shown)
        old_line, new_line, at = old_line + old_count, new_line + new_count, last


def _spans(changed: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    """What is shown: the changes with a few lines around them, those that touch as one."""
    start, end = max(0, changed[0] - _AROUND), changed[0] + 1 + _AROUND
    for at in changed[1:]:
        if at - _AROUND > end:
            yield start, end
            start = at - _AROUND
        end = at + 1 + _AROUND
    yield start, min(end, count)
