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

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from tallystick.records import operations as ops
from tallystick.records.belief import OWNER
from tallystick.records.event import Event
from tallystick.records.policy import DEFAULT
from tallystick.records.trust import NONE, Distrust
from tallystick.state.part import Part, follows
from tallystick.text.fingerprint import exactly

AS_A_PERSON = "human "
LATEST = 1 << 62  # later than any event


class _Doubt(NamedTuple):
    """A statement in doubt: its user, the mark of its text, and its source."""

    user: str
    mark: str
    by: str


class Distrusts(Part):
    """The distrusted sources, and the statements in doubt."""

    def clear(self) -> None:
        self._none: dict[tuple[str, str], Distrust] = {}  # by user and source
        self._doubts: dict[str, _Doubt] = {}  # by the version's or episode's id
        self._marked: dict[tuple[str, str], dict[str, None]] = {}  # (user, mark) → ids
        self._voices: dict[str, dict[str, str]] = {}  # id in doubt → who stated the same since, by id
        self._repeated: dict[str, tuple[str, str]] = {}  # id of the same statement → (user, mark)
        self._borne_out: dict[str, None] = {}  # ids
        self._echoes: dict[str, tuple[str, ...]] = {}  # a version's or episode's id → the ids that it repeats

    # -- following the ledger ----------------------------------------------------------------------------------------

    @follows(ops.TRUST_SET)
    def _trust(self, event: Event, body: dict[str, Any]) -> None:
        key = (body["user"], body["source"])
        if body["trust"] == NONE:
            self._set(self._none, key, distrust_of(event))
        else:
            self._drop(self._none, key)

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
        user, trust = said.get("user", OWNER), said.get("trust", "human")
        if echoed := body.get("echo"):
            self._set(self._echoes, name, tuple(echoed))
        is_doubtful = trust in DEFAULT.quarantined and "approved" not in body
        if not is_doubtful and (not self._doubts or "echo" in body):
            return
        key = (user, exactly(text))
        if is_doubtful:
            self._set(self._doubts, name, _Doubt(*key, event.by))
            self._set(self._marked.setdefault(key, {}), name, None)
        elif (marked := self._marked.get(key)) and speaks_for_all(said):
            self._set(self._repeated, name, key)
            for doubted in marked:
                self._set(self._voices.setdefault(doubted, {}), name, voice(event.by, trust))

    @follows(ops.TRUST_CORROBORATE)
    def _corroborate(self, _: Event, body: dict[str, Any]) -> None:
        for name in body["ids"]:
            self._settle(name)
            self._set(self._borne_out, name, None)

    @follows(ops.BELIEF_TOMBSTONE, ops.BELIEF_INVALIDATE, ops.EPISODE_RETRACT)
    def _retract(self, _: Event, body: dict[str, Any]) -> None:
        for name in (body["id"],) if "id" in body else body["ids"]:
            self._settle(name)

    @follows(ops.ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        for name in body.get("ids", ()):
            self._settle(name)
            for doubted in self._marked.get(self._repeated.get(name, ("", "")), ()):
                self._drop(self._voices.get(doubted, {}), name)
            for table in (self._repeated, self._borne_out, self._echoes):
                self._drop(table, name)

    def _settle(self, name: str) -> None:
        """It is no longer in doubt, or no longer there."""
        doubt = self._doubts.get(name)
        if doubt is None:
            return
        key = (doubt.user, doubt.mark)
        self._drop(self._doubts, name)
        self._drop(self._marked[key], name)
        self._drop(self._voices, name)

    # -- reading -----------------------------------------------------------------------------------------------------

    def of(self, user: str) -> list[Distrust]:
        """The sources that this user distrusts, oldest first."""
        return sorted((each for (whose, _), each in self._none.items() if whose == user), key=lambda each: each.seq)

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
        return list(self._borne_out)

    def is_echo(self, name: str) -> bool:
        """True if a version or episode repeats what recall had served."""
        return name in self._echoes

    def doubted(self, user: str, source: str) -> list[str]:
        """The ids of a source's versions and episodes that are in doubt, oldest first."""
        return [name for name, doubt in self._doubts.items() if (doubt.user, doubt.by) == (user, source)]

    def doubts(self, user: str, text: str) -> Iterator[tuple[str, str, set[str]]]:
        """The statements in doubt with that text: id, source, and the sources that stated it since."""
        if not self._doubts:
            return
        key = (user, exactly(text))
        for name in self._marked.get(key, ()):
            yield name, self._doubts[name].by, set(self._voices.get(name, {}).values())

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        return {
            "none": [asdict(each) for each in self._none.values()],
            "doubts": [[name, *doubt] for name, doubt in self._doubts.items()],
            "repeated": [[name, list(said.items())] for name, said in self._voices.items() if said],
            "borne_out": list(self._borne_out),
            "echoes": list(self._echoes.items()),
        }

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        for each in dumped.get("none", ()):
            self._none[each["user"], each["source"]] = Distrust(**each)
        for name, user, mark, by in dumped.get("doubts", ()):
            self._doubts[name] = _Doubt(user, mark, by)
            self._marked.setdefault((user, mark), {})[name] = None
        for name, said in dumped.get("repeated", ()):
            self._voices[name] = dict(said)
            self._repeated.update(dict.fromkeys(self._voices[name], self._doubts[name][:2]))
        self._borne_out.update(dict.fromkeys(dumped.get("borne_out", ())))
        self._echoes.update({name: tuple(echoed) for name, echoed in dumped.get("echoes", ())})


def distrust_of(event: Event) -> Distrust:
    """The distrust that an event records."""
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
