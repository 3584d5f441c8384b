"""Which words are quarantined, and by which names a program may know what they belong to.

Words are quarantined if a program stated them whose trust the policy quarantines, and they are neither approved nor
corroborated; so are those of a distrusted source. Of other words (a reason, the name of a path), the writer decides
that the event names. If it names none, in ledgers of older programs, the trust of its belief or episode decides; else a
person wrote what came through the command line, Python or the page, and the rest is quarantined.
"""

from __future__ import annotations

from typing import Any

from tallystick.decide.trust import withheld as distrusted
from tallystick.memory.core.gate import WriteGate
from tallystick.records.errors import TallystickError
from tallystick.records.event import Event, origin_of
from tallystick.records.operations import BELIEF_PUT, BELIEF_SUPERSEDE, PAGE_PUT
from tallystick.records.policy import DEFAULT
from tallystick.records.schema import PERSONS, WRITER_TRUST
from tallystick.state import history as timeline
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.sources import LATEST
from tallystick.stores.open_ledger import OpenLedger

NOT_TRUSTED = "its source is not trusted; recall leaves it out"
PENDING = "pending approval; recall leaves it out"

_UNKNOWN = "unknown"  # the trust of who wrote an event, where nobody knows
_LEDGERS_OWN = ("ledger.", "snapshot", "erase", "receipt.")
_NAMING = frozenset(("source_episode_ids", "corroborates"))  # where names of episodes and beliefs stand in a tree


class Quarantine:
    """The rule, on the current state. `gate` is that of the program that reads."""

    def __init__(self, folder: OpenLedger, gate: WriteGate, user: str) -> None:
        self.folder, self.state, self.gate, self.user = folder, folder.state, gate, user
        self._trusts = DEFAULT.quarantined
        self._writers: dict[int, tuple[str, str, str]] = {}  # by event: its writer's trust, its source, its id
        self._described: tuple[object, frozenset[str]] = (None, frozenset())  # pages, and of when that is known

    def refresh(self) -> None:
        """Look at the policy as it is now; at the default, if it cannot be read."""
        try:
            self._trusts = self.gate.policy.quarantined
        except TallystickError:
            self._trusts = DEFAULT.quarantined

    def is_quarantined(self, trust: str) -> bool:
        return trust == _UNKNOWN or trust in self._trusts

    def withholds(self, name: str) -> bool:
        """Whether the words of a belief's version, or of an episode by its event's id, are withheld from programs."""
        if (held := self.state.version(name)) is not None:
            return bool(self.why_held(name, held))
        ref = self.state.episodes.of(name)
        event = self._event(ref.seq) if ref else None
        if ref is None or event is None or event.body is None:
            return False
        owner = self.state.episodes.owner(name) or self.user
        trust = event.body["episode"].get("trust", "human")
        return bool(self.why_episode(name, trust, owner, ref.seq, ref.agent, ref.session))

    def why_held(self, version: str, held: CurrentVersion) -> str:
        """Why the current version of a belief is withheld; empty, if it is not."""
        if self._is_doubted(version, held.body().get("trust", "human")):
            return PENDING
        return NOT_TRUSTED if distrusted(self.state, held) else ""

    def why_belief(self, version: str, trust: str, user: str, seq: int, *, agent: str, session: str = "") -> str:
        """The same of any version, by what it says."""
        if self._is_doubted(version, trust):
            return PENDING
        if not self.state.distrusts.of(user):
            return ""
        return self._why_source(trust, user, self._place(version) if seq < 0 else seq, agent, session)

    def why_episode(self, source: str, trust: str, user: str, seq: int, agent: str, session: str) -> str:
        """The same of an episode, by its event."""
        return PENDING if self._is_doubted(source, trust) else self._why_source(trust, user, seq, agent, session)

    def _place(self, version: str) -> int:
        """The event that stated a version; -1 if it is not here."""
        held = self.state.version(version)
        events = self.folder.ledger.events(held.first, naming=timeline.naming([version])) if held else ()
        return next((each.seq for each in events if (each.body or {}).get("belief", {}).get("id") == version), -1)

    def is_text_alone(self, name: str, trust: str) -> bool:
        """Whether a statement is corroborated and not approved: others stated its text, and nothing else of it."""
        return self._needs_approval(name, trust) and self.state.distrusts.is_borne_out(name)

    def _is_doubted(self, name: str, trust: str) -> bool:
        return self._needs_approval(name, trust) and not self.state.distrusts.is_borne_out(name)

    def _needs_approval(self, name: str, trust: str) -> bool:
        return self.is_quarantined(trust) and not self.state.reviews.is_approved(name)

    def _why_source(self, trust: str, user: str, seq: int, agent: str, session: str) -> str:
        against = self.state.distrusts
        if seq < 0 or not against.of(user):
            return ""
        by = self._written(seq)[1]
        return NOT_TRUSTED if against.against(user, by=by, seq=seq, agent=agent, session=session, trust=trust) else ""

    def is_written_by(self, seq: int) -> bool:
        """Whether the words of an event that are no belief's and no episode's are quarantined."""
        trust, by, _ = self._written(seq)
        return self.is_quarantined(trust) or self.is_distrusted(by, trust, seq)

    def is_distrusted(self, by: str, trust: str, seq: int = LATEST) -> bool:
        return self.state.distrusts.against(self.user, by=by, seq=seq, trust=trust) is not None

    def has_distrusted_description(self, user: str, about: str) -> bool:
        """Whether a distrusted source described a page."""
        ledger = self.folder.ledger
        known = (ledger.head.seq, user, tuple(each.seq for each in self.state.distrusts.of(user)))
        if known[2] and known != self._described[0]:
            events = (event for event in self.folder.events_of(user) if event.op == PAGE_PUT)
            pages = frozenset(each.body["about"] for each in events if each.body and self.is_written_by(each.seq))
            self._described = (known, pages)
        return bool(known[2]) and about in self._described[1]

    def writer_in(self, event: Event) -> str:
        body = event.body or {}
        if WRITER_TRUST in body:
            return str(body[WRITER_TRUST])
        if event.op in (BELIEF_PUT, BELIEF_SUPERSEDE) or "episode" in body:
            said = body.get("belief") or body.get("episode")
            return str(said.get("trust", "human")) if isinstance(said, dict) else _UNKNOWN
        if event.op.startswith(_LEDGERS_OWN) or event.by.partition(":")[0] in PERSONS:
            return "human"
        return _UNKNOWN

    def is_own(self, seq: int) -> bool:
        """Whether this program wrote an event, or another with its trust in its name."""
        trust, by, _ = self._written(seq)
        return (trust, by) == (self.gate.trust, self.gate.by)

    def event_id(self, seq: int) -> str:
        return self._written(seq)[2]

    def owner(self, seq: int) -> str:
        event = self._event(seq)
        return (self.folder.owner(event) if event else None) or self.user

    def _written(self, seq: int) -> tuple[str, str, str]:
        """The trust of an event's writer, its source and its id. Nobody knows who wrote what is not here any more."""
        if seq not in self._writers:
            event = self._event(seq)
            if event is None or event.body is None:
                return _UNKNOWN, event.by if event else "", event.id if event else str(seq)
            self._writers[seq] = (self.writer_in(event), origin_of(event).by, event.id)
        return self._writers[seq]

    def _event(self, seq: int) -> Event | None:
        ledger = self.folder.ledger
        with ledger.reading():
            is_here = ledger.first <= seq <= ledger.head.seq
            return next(iter(ledger.events(seq, seq + 1)), None) if is_here else None

    def path_name(self, user: str, path: str) -> str:
        """A path's name; an opaque one, if it was chosen by a program whose words are quarantined."""
        if not path or not self.state.paths.is_known(user, path):
            return path
        seq = self.state.paths.branched(user, path)
        return f"path-{self.event_id(seq)[-6:].lower()}" if self.is_written_by(seq) else path

    def quoting(self, user: str, text: str) -> str:
        """A text of ours that quotes paths, without the names that are replaced."""
        for opaque, name in self.opaque_paths(user).items():
            text = text.replace(repr(name), repr(opaque))
        return text

    def opaque_paths(self, user: str) -> dict[str, str]:
        """The names of paths that are replaced, by the opaque ones."""
        named = {name: self.path_name(user, name) for name in self.state.paths.names(user)}
        return {opaque: name for name, opaque in named.items() if opaque != name}

    def record_name(self, user: str, name: Any) -> Any:
        """The name of a belief or an episode; its id, if a program with quarantined words chose the name."""
        if not isinstance(name, str) or self.state.taken(name):
            return name
        if (held := self.state.find(name, user=user, short=False)) is not None:
            return held.body()["id"] if self._is_name_withheld(held) else name
        episodes = self.state.episodes.find(user, name)
        return next((each.source for each in episodes if self._is_episode_withheld(each.source)), name)

    def _is_name_withheld(self, held: CurrentVersion) -> bool:
        version, trust = held.body()["id"], held.body().get("trust", "human")
        return bool(self.why_held(version, held)) or self.is_text_alone(version, trust)

    def _is_episode_withheld(self, source: str) -> bool:
        return self.withholds(source) or self.state.distrusts.is_borne_out(source)

    def is_hidden(self, user: str, name: str, path: str) -> bool:
        """Whether another program chose a name for words that are withheld."""
        if self.state.taken(name):
            return False
        held = self.state.find(name, user=user, path=path, short=False)
        if held is not None:
            return self._is_name_withheld(held) and not self.is_own(held.seq)
        return any(
            name != each.source and self._is_episode_withheld(each.source) and not self.is_own(each.seq)
            for each in self.state.episodes.find(user, name)
        )

    def is_path_hidden(self, name: str) -> bool:
        """The same of a path's name."""
        is_opaque = self.path_name(self.user, name) != name
        return is_opaque and not self.is_own(self.state.paths.branched(self.user, name))

    def without_names(self, found: Any, user: str) -> Any:
        """Any data, without the names of episodes and beliefs that are withheld."""
        if isinstance(found, list):
            return [self.without_names(each, user) for each in found]
        if not isinstance(found, dict):
            return found
        return {
            name: [self.record_name(user, each) for each in value]
            if name in _NAMING and isinstance(value, list) else self.without_names(value, user)
            for name, value in found.items()
        }  # fmt: skip
