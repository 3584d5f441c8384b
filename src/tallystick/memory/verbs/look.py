"""The part of `Memory` that looks: at a belief and its history, at what changed, at the log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tallystick.decide.usage import identity
from tallystick.memory.context import MemoryBase
from tallystick.records.belief import Belief
from tallystick.records.errors import NotFound
from tallystick.records.event import Event
from tallystick.records.history import Moment
from tallystick.records.relation import Neighbour

if TYPE_CHECKING:
    from tallystick.ledger.checkpoint import Keyring
    from tallystick.records.episode import Episode
    from tallystick.records.event import LogPage
    from tallystick.records.history import Change, Moment, Version, Why
    from tallystick.records.status import Status


class LookVerbs(MemoryBase):
    """What is known, and how it came to be. `Memory` is one."""

    _keyring: Keyring
    _marked: tuple[int, str] = (-1, "")

    def get(
        self, name: str, *, believed_at: Moment | None = None, user: str | None = None, path: str = ""
    ) -> Belief | None:
        """A belief by its key, by any version's id, or by the last six characters of one; None if there is none."""
        with self._folder.known(believed_at) as known:
            held = known.find(name, user=self._user(user), path=path)
            return held.belief() if held else None

    def show(self, name: str, *, believed_at: Moment | None = None, user: str | None = None, path: str = "") -> Belief:
        """The same, but a name that names nothing is an error."""
        belief = self.get(name, believed_at=believed_at, user=user, path=path)
        if belief is None:
            raise NotFound(f"no belief named {name!r}; run `tallystick log` to list them")
        return belief

    def history(self, name: str, *, user: str | None = None, path: str = "") -> list[Version]:
        """Every version of a belief, oldest first."""
        return self._folder.history(name, user=self._user(user), path=path)

    def diff(
        self, before: Moment, after: Moment | None = None, *, user: str | None = None, path: str = ""
    ) -> list[Change]:
        """What came, went or changed between two moments (event numbers, times)."""
        return self._folder.diff(before, after, user=self._user(user), path=path)

    def why(self, name: str, *, user: str | None = None, path: str = "") -> Why:
        """The chain of reasons for a belief's standing."""
        return self._folder.why(name, user=self._user(user), path=path)

    def dependents(self, name: str, *, user: str | None = None, path: str = "") -> list[Belief]:
        """Everything that stands on a belief, directly or through others."""
        return [held.belief() for held in self._folder.dependents(name, user=self._user(user), path=path)]

    def related(self, name: str, *, user: str | None = None, path: str = "") -> list[Neighbour]:
        """What somebody said that a memory is related to, but for what is out of sight, and who is not trusted."""
        whose, found = self._user(user), list[Neighbour]()
        with self._folder.ledger.reading():
            known = self._folder.state
            mine = identity(known, name, whose, path)
            for said in known.relations.of(mine, whose, known.sight(whose, path)):
                if not known.distrusts.against(whose, by=said.by, seq=said.seq, trust=said.trust):
                    turned = said.ids[0] != mine
                    memory = self._in_sight(said.ids[not turned], whose, path)
                    found += [Neighbour(memory, said.relation, turned)] if memory else []
        return found

    def _in_sight(self, ref: str, user: str, path: str) -> Belief | Episode | None:
        """A belief that is held, or an episode that was not put out of recall."""
        known = self._folder.state
        if held := known.find(ref, user=user, path=path):
            belief = held.belief()
            return belief if belief.is_held and known.sees(held, path) else None
        told = known.episodes.of(ref) if known.episodes.stands(ref) and not known.uses.is_faded(ref) else None
        return self._episodes.read(told.seq) if told else None

    def log(self, start: int = 0, *, op: str = "", follow: bool = False, pause: float = 0.2) -> Iterator[Event]:
        """This user's events from `start` on, oldest first; only those of one kind (`belief`, `belief.put`) with `op`.

        With `follow` it goes on as others write, until the caller stops asking.
        """
        for event in self._log(start, op=op, follow=follow):
            if event is None:
                time.sleep(pause)
            else:
                yield event

    def _log(self, start: int = 0, *, op: str = "", follow: bool = False) -> Iterator[Event | None]:
        """The same, for whoever waits in their own way: None, where there is nothing new."""
        while True:
            for event in self._folder.events_of(self.user, start):
                start = event.seq + 1
                if event.op.startswith(op):
                    yield event
            if not follow:
                return
            yield None

    def seq_at(self, moment: Moment) -> int:
        """The last event that had been recorded by a moment; -1 if there was none. Doubted times name no place."""
        with self._folder.ledger.reading():
            return self._folder.seq_at(moment)

    def status(self) -> Status:
        """A memory at a glance. Whether every line is whole, `ledger.verify()` tells."""
        from tallystick.memory.maintenance.status import status_of

        return status_of(self._folder, self._keyring, self.user)

    def log_page(
        self,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = 50,
        op: str = "",
        by: str = "",
        session: str = "",
        agent: str = "",
        reach: int = 100_000,
    ) -> LogPage:
        """The newest of this user's events, or those right `before` or right `after` a number, newest first.

        `op` as in `log`; `by` is a source (`mcp:3f9a`) or a door (`mcp`). A look passes over at most `reach` events.
        """
        from tallystick.memory.maintenance.log import Sought, log_page

        sought = Sought(op, by, session, agent)
        return log_page(self._folder, self.user, sought, before=before, after=after, limit=limit, reach=reach)

    def content_version(self) -> tuple[int, str]:
        """Number and hash of the last event that changed what is remembered: another one, whenever anything did.

        What only watches over it, such as a receipt, a rule's run or a snapshot, changes nothing.
        """
        with self._folder.known():
            ledger, (seq, found) = self._folder.ledger, self._folder.state.changed
            if seq < 0:  # a snapshot of an older program does not say
                return ledger.end.seq, ledger.end.hash
            if not found:
                found = self._marked[1] if self._marked[0] == seq else ledger.chain().hash_at(seq) or ""
            self._marked = (seq, found)
            return self._marked
