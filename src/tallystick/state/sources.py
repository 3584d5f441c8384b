"""Which sources nobody relies on any more, what is in doubt, and what was borne out, folded from events.

    trust.set/1          {"user", "source", "trust": "none" or "usual", "since", "first", "reason"}
    trust.corroborate/1  {"user", "ids"}: others, who are trusted, said what these said; with "source", a person
                         approved all that this source had told by then

A source is named by its door and id as the ledger has them ("mcp:3f9a"), by its door alone ("mcp:*"), or by what was
said of it: `agent:NAME`, `session:NAME`, `trust:CLASS`. It is a person's word on a source, not on a memory, so an
erasure of memories does not reach its reason.

Doubt is what tools and web pages state and nobody said yes to. If enough others say exactly the same later, letter for
letter, it was borne out. Whoever spoke before cannot have confirmed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from tallystick.records.belief import OWNER
from tallystick.records.event import Event
from tallystick.records.operations import (
    BELIEF_INVALIDATE,
    BELIEF_PUT,
    BELIEF_SUPERSEDE,
    BELIEF_TOMBSTONE,
    EPISODE_PUT,
    EPISODE_RETRACT,
    ERASE,
    TRUST_CORROBORATE,
    TRUST_SET,
)
from tallystick.records.policy import DEFAULT
from tallystick.records.trust import NONE, Distrust
from tallystick.state.transaction import Transactional
from tallystick.text.fingerprint import exactly

AS_A_PERSON = "human "
LATEST = 1 << 62  # later than any event
class _Doubt(NamedTuple):
    """A statement that is in doubt: whose, by what it is known again, who made it."""

    user: str
    mark: str
    by: str


class Distrusts(Transactional):
    """Who is not trusted, and what is in doubt."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._none: dict[tuple[str, str], Distrust] = {}  # by user and source
        self._doubts: dict[str, _Doubt] = {}  # by the version's or episode's id
        self._marked: dict[tuple[str, str], dict[str, None]] = {}  # (user, mark) → ids
        self._voices: dict[str, dict[str, str]] = {}  # id of what is in doubt → who said the same since, by its id
        self._repeated: dict[str, tuple[str, str]] = {}  # id of what said the same → (user, mark)
        self._borne_out: dict[str, None] = {}  # ids
        self._echoes: dict[str, tuple[str, ...]] = {}  # a version's or episode's id → what it repeats

    # -- following the ledger ----------------------------------------------------------------------------------------

    def knows(self, op: str) -> bool:
        return op in (TRUST_SET, TRUST_CORROBORATE)

    def apply(self, event: Event) -> None:
        act = _ACTS.get(event.op)
        if act is not None and event.body is not None:
            act(self, event, event.body)

    def _trust(self, event: Event, body: dict[str, Any]) -> None:
        key = (body["user"], body["source"])
        if body["trust"] == NONE:
            self._set(self._none, key, distrust_of(event))
        else:
            self._drop(self._none, key)

    def _state(self, event: Event, body: dict[str, Any]) -> None:
        belief = body["belief"]
        for name in body.get("replaces", ()):
            self._settle(name)
        if text := belief.get("text"):
            self._hear(event, body, belief["id"], belief, text)

    def _observe(self, event: Event, body: dict[str, Any]) -> None:
        episode = body["episode"]
        self._hear(event, body, event.id, episode, episode["content"])

    def _hear(self, event: Event, body: dict[str, Any], name: str, said: dict[str, Any], text: str) -> None:
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

    def _bear_out(self, _: Event, body: dict[str, Any]) -> None:
        for name in body["ids"]:
            self._settle(name)
            self._set(self._borne_out, name, None)

    def _retract(self, _: Event, body: dict[str, Any]) -> None:
        for name in (body["id"],) if "id" in body else body["ids"]:
            self._settle(name)

    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        for name in body.get("ids", ()):
            self._settle(name)
            for doubted in self._marked.get(self._repeated.get(name, ("", "")), ()):
                self._drop(self._voices.get(doubted, {}), name)
            for table in (self._repeated, self._borne_out, self._echoes):
                self._drop(table, name)

    def _settle(self, name: str) -> None:
        """It is in doubt no more, or there no more."""
        doubt = self._doubts.get(name)
        if doubt is None:
            return
        key = (doubt.user, doubt.mark)
        self._drop(self._doubts, name)
        self._drop(self._marked[key], name)
        self._drop(self._voices, name)

    # -- asking ------------------------------------------------------------------------------------------------------

    def of(self, user: str) -> list[Distrust]:
        """The sources that this user does not rely on, in the order in which that was said."""
        return sorted((each for (whose, _), each in self._none.items() if whose == user), key=lambda each: each.seq)

    def all(self) -> list[Distrust]:
        """The same of everyone."""
        return sorted(self._none.values(), key=lambda each: each.seq)

    def find(self, user: str, source: str) -> Distrust | None:
        return self._none.get((user, source))

    def against(
        self, user: str, *, by: str, seq: int, agent: str = "", session: str = "", trust: str = ""
    ) -> Distrust | None:
        """Why something that was said so is withheld; None if it is not."""
        if not self._none:
            return None
        said = {"by": by, "agent": agent, "session": session, "trust": trust}
        return next((each for each in self.of(user) if each.covers(seq=seq, **said)), None)

    def is_borne_out(self, name: str) -> bool:
        """Whether others, who are trusted, said what this version or episode said."""
        return name in self._borne_out

    @property
    def has_doubts(self) -> bool:
        """Whether anything of anyone's is in doubt."""
        return bool(self._doubts)

    def borne_out(self) -> list[str]:
        return list(self._borne_out)

    def is_echo(self, name: str) -> bool:
        """Whether a version or episode repeats what recall had served."""
        return name in self._echoes

    def doubted(self, user: str, source: str) -> list[str]:
        """What that source said and nobody has approved or confirmed, by id: versions and episodes, oldest first."""
        return [name for name, doubt in self._doubts.items() if (doubt.user, doubt.by) == (user, source)]

    def doubts(self, user: str, text: str) -> Iterator[tuple[str, str, set[str]]]:
        """What is in doubt and says the same: its id, who said it, and who said so since."""
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
    """What an event says of a source."""
    body = event.body or {}
    return Distrust(
        source=body["source"], user=body["user"], since=body.get("since", ""), first=body.get("first", 0),
        reason=body.get("reason", ""), by=event.by, at=event.ts, seq=event.seq,
    )  # fmt: skip


def voice(by: str, trust: str) -> str:
    """Who spoke. A person is another than the program that they speak through."""
    return AS_A_PERSON + by if trust == "human" else by


_ACTS = {
    TRUST_SET: Distrusts._trust, TRUST_CORROBORATE: Distrusts._bear_out, BELIEF_PUT: Distrusts._state,
    BELIEF_SUPERSEDE: Distrusts._state,
    EPISODE_PUT: Distrusts._observe, BELIEF_TOMBSTONE: Distrusts._retract, BELIEF_INVALIDATE: Distrusts._retract,
    EPISODE_RETRACT: Distrusts._retract, ERASE: Distrusts._erase,
}  # fmt: skip


def speaks_for_all(said: Mapping[str, Any]) -> bool:
    """Whether a statement can bear others out: what is said on a branch changes nothing of what is seen elsewhere."""
    return not said.get("path")
