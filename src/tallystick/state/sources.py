"""Distrusted sources, quarantined statements, and their corroboration, folded from events.

    trust.set/1          {"user", "source", "trust": "none" or "usual", "since", "first", "reason"}
    trust.corroborate/1  {"user", "ids"}: trusted others stated the same as these; with "source", a person approved all
                         that this source had stated by then

A source is named by its surface and id as in the ledger ("mcp:3f9a"), by its surface alone ("mcp:*"), or by a field of
its statements: `agent:NAME`, `session:NAME`, `trust:CLASS`. The reason is about a source, not about a memory, so an
erasure of memories does not reach it.

A statement of a tool or a web page is in doubt until a person approves it. If enough others state exactly the same
later, character for character, it is corroborated. Statements from before do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tallystick.records import operations as ops
from tallystick.records.belief import OWNER
from tallystick.records.event import Event, origin_of
from tallystick.records.policy import DEFAULT
from tallystick.records.trust import NONE, Distrust
from tallystick.state.tables import PLAIN, TUPLE, Part, Table, Tables, by_name, codec_of, follows
from tallystick.text.fingerprint import exactly

AS_A_PERSON = "human "
LATEST = 1 << 62  # later than any event


class _Doubt(NamedTuple):
    """A statement in doubt: its user, the mark of its text, and its source."""

    user: str
    mark: str
    by: str
    seq: int


class Distrusts(Part):
    """The distrusted sources, and the statements in doubt."""

    def declare(self, tables: Tables) -> None:
        self._none: Table[Distrust] = tables.table("source.none", by_name(Distrust), _is_set)  # by user and source
        self._doubts: Table[_Doubt] = tables.table("source.doubt", codec_of(_Doubt))  # by the version's or episode's id
        self._marked: Table[str] = tables.table("source.marked")  # (user, mark, id)
        self._voices: Table[str] = tables.table("source.voice")  # (id in doubt, who stated the same since) → its author
        self._repeated: Table[tuple[str, str]] = tables.table("source.repeated", TUPLE)  # its id → (user, mark)
        self._borne_out: Table[int] = tables.kept("source.borne_out", PLAIN, _is_corroborated)  # by id
        self._echoes: Table[tuple[str, ...]] = tables.table("source.echo", TUPLE)  # an id → the ids that it repeats

    # -- following the ledger ----------------------------------------------------------------------------------------

    @follows(ops.TRUST_SET)
    def _trust(self, event: Event, body: dict[str, Any]) -> None:
        key = (body["user"], body["source"])
        if body["trust"] == NONE:
            self._none.set(key, distrust_of(event))
        else:
            self._none.drop(key)

    @follows(ops.BELIEF_PUT, ops.BELIEF_SUPERSEDE)
    def _state(self, event: Event, body: dict[str, Any]) -> None:
        belief = body["belief"]
        for name in body.get("replaces", ()):
            self._settle(name)
        if text := belief.get("text"):
            self._note(event, body, belief["id"], belief, text)

    @follows(ops.EPISODE_PUT)
    def _observe(self, event: Event, body: dict[str, Any]) -> None:
        self._note(event, body, event.id, body["episode"], body["episode"]["content"])

    def _note(self, event: Event, body: dict[str, Any], name: str, said: dict[str, Any], text: str) -> None:
        user, trust, by = said.get("user", OWNER), said.get("trust", "human"), origin_of(event).by
        if echoed := body.get("echo"):
            self._echoes.set(name, tuple(echoed))
        is_doubtful = trust in DEFAULT.quarantined and "approved" not in body
        if not is_doubtful and (not self._doubts or "echo" in body):
            return
        key = (user, exactly(text))
        if is_doubtful:
            self._doubts.set(name, _Doubt(*key, by, event.seq))
            self._marked.set((*key, name), "")
        elif speaks_for_all(said) and (marked := [row[0][-1] for row in self._marked.under(*key)]):
            self._repeated.set(name, key)
            for doubted in marked:
                self._voices.set((doubted, name), voice(by, trust))

    @follows(ops.TRUST_CORROBORATE)
    def _corroborate(self, event: Event, body: dict[str, Any]) -> None:
        for name in body["ids"]:
            self._settle(name)
            self._borne_out.set(name, event.seq)

    @follows(ops.BELIEF_TOMBSTONE, ops.BELIEF_INVALIDATE)
    def _retract(self, _: Event, body: dict[str, Any]) -> None:
        """A retracted episode stays in doubt: it may be restored."""
        self._settle(body["id"])

    @follows(ops.ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        for name in body.get("ids", ()):
            self._settle(name)
            if key := self._repeated.get(name):
                for doubted in [row[0][-1] for row in self._marked.under(*key)]:
                    self._voices.drop((doubted, name))
            for table in (self._repeated, self._borne_out, self._echoes):
                table.erase(name)

    def _settle(self, name: str) -> None:
        """It is no longer in doubt, or no longer there."""
        doubt = self._doubts.get(name)
        if doubt is None:
            return
        self._doubts.drop(name)
        self._marked.drop((doubt.user, doubt.mark, name))
        for key, _ in list(self._voices.under(name)):
            self._voices.drop(key)

    # -- reading -----------------------------------------------------------------------------------------------------

    def of(self, user: str) -> list[Distrust]:
        """The sources that this user distrusts, oldest first."""
        return sorted(self._none.values(user), key=lambda each: each.seq)

    def all(self) -> list[Distrust]:
        """The distrusted sources of everyone, oldest first."""
        return sorted(self._none.values(), key=lambda each: each.seq)

    def find(self, user: str, source: str) -> Distrust | None:
        return self._none.get((user, source))

    def against(
        self, user: str, *, by: str, seq: int, agent: str = "", session: str = "", trust: str = ""
    ) -> Distrust | None:
        """The distrust that withholds such a statement; None if none does."""
        if not self._none:
            return None
        said = {"by": by, "agent": agent, "session": session, "trust": trust}
        return next((each for each in self.of(user) if each.covers(seq=seq, **said)), None)

    def is_borne_out(self, name: str) -> bool:
        """True if trusted others stated the same as this version or episode."""
        return name in self._borne_out

    @property
    def has_doubts(self) -> bool:
        """True if anything of any user is in doubt."""
        return bool(self._doubts)

    def borne_out(self) -> list[str]:
        return [name for name, _ in sorted(self._borne_out.under(), key=lambda row: row[1])]

    def is_echo(self, name: str) -> bool:
        """True if a version or episode repeats what recall had served."""
        return name in self._echoes

    def doubted(self, user: str, source: str) -> list[str]:
        """The ids of a source's versions and episodes that are in doubt, oldest first."""
        found = [(doubt.seq, name) for name, doubt in self._doubts.under() if (doubt.user, doubt.by) == (user, source)]
        return [name for _, name in sorted(found)]

    def doubts(self, user: str, text: str) -> Iterator[tuple[str, str, set[str]]]:
        """The statements in doubt with that text: id, source, and the sources that stated it since."""
        if not self._doubts:
            return
        key = (user, exactly(text))
        names = [name for (_, _, name), _ in self._marked.under(*key)]
        found = [(doubt.seq, name, doubt.by) for name in names if (doubt := self._doubts.get(name))]
        for _, name, by in sorted(found):
            yield name, by, set(self._voices.values(name))


def _is_set(key: tuple[str, str], distrust: Distrust, events: Sequence[Event]) -> bool:
    event, whose = events[-1], (distrust.user, distrust.source)
    return event.op == ops.TRUST_SET and distrust == distrust_of(event) and key == whose


def _is_corroborated(name: str, seq: int, events: Sequence[Event]) -> bool:
    event = events[-1]
    return event.op == ops.TRUST_CORROBORATE and event.seq == seq and name in (event.body or {})["ids"]


def distrust_of(event: Event) -> Distrust:
    body = event.body or {}
    return Distrust(
        source=body["source"], user=body["user"], since=body.get("since", ""), first=body.get("first", 0),
        reason=body.get("reason", ""), by=event.by, at=event.ts, seq=event.seq,
    )  # fmt: skip


def voice(by: str, trust: str) -> str:
    """The author of a statement. A person is another than the program that they use."""
    return AS_A_PERSON + by if trust == "human" else by


def speaks_for_all(said: Mapping[str, Any]) -> bool:
    """True if a statement can corroborate others: one on a branch has no effect elsewhere."""
    return not said.get("path")
