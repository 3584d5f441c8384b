"""`m.tidy`: proposals to hide what is no longer needed; nothing is done by itself.

A proposal comes from the index and the current beliefs. `apply` carries one out with the usual calls: beliefs are
forgotten, episodes archived, repeats merged, pages made dormant. All of it stays in history.

What is applied is what was proposed. If a belief has changed since, or is no longer active, nothing is done (Moved).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from tallystick.decide import beliefs as decide, pages as decide_page
from tallystick.memory.beliefs.duplicates import contradictions, merged, repeats
from tallystick.memory.core.arguments import can_be_written, check_names
from tallystick.memory.core.context import Context
from tallystick.memory.pages.files import PagesAt
from tallystick.memory.pages.sync import Sync
from tallystick.memory.recall.receipts import FeedbackService
from tallystick.memory.recall.sessions import ConfigStore, FrameStore
from tallystick.memory.trust.filtered_calls import answering
from tallystick.projections.index import tidy as tidying
from tallystick.projections.index.file import IndexFile
from tallystick.projections.index.tidy import Kept
from tallystick.projections.pages.rows import File
from tallystick.recall.decay import recency
from tallystick.records import proposal as kinds
from tallystick.records.errors import Busy, Moved, Refused
from tallystick.records.event import Draft
from tallystick.records.proposal import Proposal, in_short
from tallystick.state.pages import USUAL

THRESHOLD = "prune_threshold"
MOST = 10_000  # proposals at a time

_MARGIN = 1.0 + 1e-9  # the index compares logarithms, which may differ in the last digit


@answering
class TidyService:
    """Proposals for one user's memories and pages."""

    def __init__(self, context: Context, use: FeedbackService, files: PagesAt, user: str) -> None:
        self._folder, self._gate, self._index = context.folder, context.gate, context.index
        self._use, self._files, self._settings, self._user = use, files, context.settings, user
        self._config, self._frames = ConfigStore(context.folder, context.gate), FrameStore(context.folder, context.gate)

    def proposals(self, *, user: str | None = None, limit: int = 100) -> list[Proposal]:
        """The proposals: first what has expired, then contradictions, repeats, what has faded, and pages that
        nobody touched for long.

        Nothing is proposed twice, and nothing goes that another proposal keeps.
        """
        if type(limit) is not int or not 1 <= limit <= MOST:
            raise Refused(f"limit must be from 1 to {MOST:,}, not {limit!r}")
        whose = self._user if user is None else user
        check_names(user=whose)
        if not can_be_written(whose):
            return []
        threshold = self._threshold()
        with self._folder.ledger.reading():
            found = self._index.read(lambda file: self._proposals(file, whose, threshold, limit))
            return found + self._dormant(whose)[: limit - len(found)]

    def _threshold(self) -> float:
        said = self._config.get(THRESHOLD) or "0"
        try:
            found = float(said)
        except ValueError:
            found = -1.0
        if not 0 <= found <= 1:
            raise Refused(f"{THRESHOLD} must be from 0 to 1, not {said!r}; set it with `memory.config.set`")
        return found

    def _proposals(self, file: IndexFile, user: str, threshold: float, limit: int) -> list[Proposal]:
        now, found = self._folder.ledger.now(), list[Proposal]()
        gone, kept = set[str](), set[str]()
        known, room = self._folder.state, limit * 2
        for each in chain(
            (_of_one(kinds.EXPIRED, each, kinds.FORGET, f"it was to be relied on until {each.source.expires}")
             for each in tidying.expired(file, user, now, room)),
            contradictions(tidying.sharing_a_claim(file, user, now), user),
            repeats(known, tidying.texts(file, user, now), user),
            self._faded(file, user, now, threshold, room),
        ):
            if len(found) == limit:
                break
            if gone.isdisjoint(each.ids) and kept.isdisjoint(each.goes):
                found.append(each)
                gone.update(each.goes)
                kept.update(set(each.ids) - set(each.goes))
        return found

    def _faded(self, file: IndexFile, user: str, now: str, threshold: float, at_most: int) -> Iterator[Proposal]:
        guaranteed = [pattern for frame in self._frames.all() for pattern in frame.guarantees]
        hours = file.bookmark().clock.hours
        for each in tidying.faded(file, user, now, threshold * _MARGIN, guaranteed, at_most):
            fresh = recency(each.decay, hours - each.last)
            if fresh < threshold:
                action = kinds.PUT_OUT if each.source.what == "episode" else kinds.FORGET
                why = f"nobody said or used it in {hours - each.last:,.0f} hours of work; {fresh:.1%} of it is fresh"
                yield _of_one(kinds.FADED, each, action, why)

    def apply(self, proposal: Proposal, *, reason: str = "") -> list[str]:
        """Carry a proposal out, and return the ids of what went. Doing it again does nothing, or is refused (Moved)."""
        if not isinstance(proposal, Proposal):
            raise Refused(f"apply one of `proposals()`, not {proposal!r}")
        if proposal.action == kinds.REST:
            return self._put_to_rest(proposal, reason)
        because = self._gate.masks.words(reason) or _reason(proposal)
        if proposal.action == kinds.PUT_OUT:
            return self._use.archive(*proposal.ids, reason=because, user=proposal.user)
        if proposal.action == kinds.MERGE:
            said: dict[str, Any] = {"user": proposal.user, "reason": because, "changes": self._joined(proposal)}
            self._gate.write("merge", lambda _: self._merge(proposal, because), **said)
            return list(proposal.goes)
        with self._gate.together():  # nobody writes in between
            self._refuse_moved(proposal)
            for name in proposal.goes:
                self._gate.forget(name, reason=because, user=proposal.user, path="")
        return list(proposal.goes)

    def _merge(self, proposal: Proposal, reason: str) -> list[Draft]:
        self._refuse_moved(proposal)
        known, names, user = self._folder.state, list(proposal.ids), proposal.user
        together = [known.get(name, user=user) for name in names]
        if len({(held.body().get("trust"), known.reviews.is_approved(held.body()["id"])) for held in together}) > 1:
            raise Refused("their trust differs: the merged belief would have the lowest", "mismatch")
        return decide.merge(known, names, self._joined(proposal), self._folder.draw(), reason=reason, user=user)

    def _joined(self, proposal: Proposal) -> dict[str, Any]:
        """What the first gets from the others."""
        known = self._folder.state
        return merged([known.get(name, user=proposal.user) for name in proposal.ids])

    def _refuse_moved(self, proposal: Proposal) -> None:
        known = self._folder.state
        for name in proposal.ids:
            held = known.get(name, user=proposal.user)
            if held.status != "active" or known.read_before(name, held):
                raise Moved(f"{name} has changed since the proposal; list the proposals again")

    def _dormant(self, user: str) -> list[Proposal]:
        """The pages of a user that nobody touched for longer than `auto_dormant_days`, the longest first.

        A dormant page keeps its file, and its entries are recalled as before; it is only not listed.
        """
        now = datetime.fromisoformat(self._folder.ledger.now())
        files = sorted(self._files.read(lambda db: list(db.files(user))), key=lambda file: (file.updated, file.path))
        return [_of_page(file, now) for file in files if self._may_rest(file, now)]

    def _may_rest(self, file: File, now: datetime) -> bool:
        if file.is_gone or file.status != "active" or file.about in USUAL:
            return False
        return now - datetime.fromisoformat(file.updated) > timedelta(days=self._settings.auto_dormant_days)

    def _put_to_rest(self, proposal: Proposal, reason: str) -> list[str]:
        """Put pages to rest. Moved, if one of them was touched since, or is not active any more."""
        self._gate.must("page", "describe", user=proposal.user)
        with self._files.working():
            Sync(self._files).run(proposal.ids)
            with self._folder.ledger.batch():
                db, now = self._files.level(), datetime.fromisoformat(self._folder.ledger.now())
                for path in proposal.ids:
                    file = db.file(path)
                    if file is None or file.user != proposal.user or not self._may_rest(file, now):
                        raise Moved(f"{path} has changed since the proposal; list the proposals again")
                    self._rest(file, reason)
            with suppress(OSError, Busy, sqlite3.Error):  # it is recorded; the files follow later
                Sync(self._files).run(proposal.ids)
        return list(proposal.ids)

    def _rest(self, file: File, reason: str) -> None:
        """An entry takes a dormant page up without a word; where one did, that is said before it rests again."""
        state, ledger, whose = self._folder.state, self._folder.ledger, (file.user, file.about)
        if state.pages.front(*whose).get("status") == kinds.DORMANT:
            ledger.write(lambda: decide_page.put(state, *whose, {"status": "active"}))
        because = {"reason": reason} if reason and not file.needs_compact else {}  # a flag has its own reason
        ledger.write(lambda: decide_page.put(state, *whose, {"status": kinds.DORMANT, **because}))


def _of_one(kind: str, kept: Kept, action: str, why: str) -> Proposal:
    source = kept.source
    return Proposal(kind=kind, ids=(source.id,), texts=(in_short(kept.text),), why=why, action=action, user=source.user)


def _reason(proposal: Proposal) -> str:
    """What is recorded where the caller gave no reason. It repeats no words: an erasure would not reach them there."""
    if proposal.action in (kinds.CHOOSE, kinds.MERGE):
        return f"{'contradicts' if proposal.action == kinds.CHOOSE else 'repeats'} {proposal.ids[0]}"
    return proposal.kind


def _of_page(file: File, now: datetime) -> Proposal:
    days = (now - datetime.fromisoformat(file.updated)).days
    entries = f"{file.entry_count:,} {'entry' if file.entry_count == 1 else 'entries'}"
    return Proposal(
        kind=kinds.DORMANT, ids=(file.path,), texts=(in_short(f"{file.path}: {file.title}, {entries}"),),
        why=f"nobody wrote on it since {file.updated[:10]}, for {days:,} days", action=kinds.REST, user=file.user,
    )  # fmt: skip
