"""Stories in which sources are set aside and trusted again, and what a reader should see at every moment of them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tallystick.decide import beliefs as decide, trust as decide_trust
from tallystick.decide.episodes import put as tell, retract as take_back
from tallystick.records.belief import OWNER
from tallystick.records.episode import Episode
from tallystick.records.event import Draft, Event
from tallystick.records.operations import BELIEF_INVALIDATE, BELIEF_TOMBSTONE, EPISODE_PUT, EPISODE_RETRACT, TRUST_SET
from tallystick.state.beliefs import Beliefs
from tallystick.state.state import State
from tests.projections.index.ledgers import MadeUp

TEXTS = ["tea", "coffee", "the port is 5432", "the port is 6543", "milk"]
CLIENTS = ["cli:local", "mcp:a", "mcp:b"]
SOURCES = ["mcp:a", "mcp:b", "mcp:*", "cli:local", "agent:x", "session:s", "trust:agent"]


class Doubted(MadeUp):
    """Several programs speak, and a person sets some of them aside."""

    def _say(self, text, number, by, agent):
        trust = "human" if by == "cli:local" else "agent"
        session = "s" if number % 4 == 0 else ""
        fields = {"text": text, "user": OWNER, "trust": trust, "agent": agent, "session": session}
        if number % 2:
            fields["key"] = f"key-{number % 3}"
        echo = {"echo": ["x"]} if number % 5 == 0 else {}
        drafts = decide.put(self.state, fields, self.draw)
        self.record([Draft(draft.op, {**draft.body, **echo}) for draft in drafts], by)

    def _tell(self, text, number, by, agent):
        told = Episode(content=text, timestamp=self.now, id=f"D{number}", agent=agent, metadata={"n": number})
        self.record(tell(self.state.episodes, told), by)

    def _change(self, text, number, by, status):
        if held := self._known(number, OWNER):
            changes = {"text": text, "status": status}
            self.record(decide.revise(self.state, held.body()["id"], changes, self.draw), by)

    def _drop(self, number, by, how):
        held = self._known(number, OWNER)
        if held and how == "forget":
            self.record(decide.tombstone(self.state, held.body()["id"]), by)
        elif held and how == "invalidate":
            self.record(decide.invalidate(self.state, held.body()["id"], self.draw, reason="no"), by)
        elif how == "retract":
            self.record(take_back(self.state.episodes, [f"D{number}"]), by)

    def _join(self, text, one, other, by):
        first, second = self._known(one, OWNER), self._known(other, OWNER)
        if first and second and first.ref != second.ref:
            names = [first.body()["id"], second.body()["id"]]
            self.record(decide.merge(self.state, names, {"text": text}, self.draw), by)

    def _distrust(self, source, first):
        first = first % (len(self.events) + 1) if first % 3 == 0 else 0
        self.record(decide_trust.distrust(self.state, source, user=OWNER, since="", first=first, reason=""))

    def _again(self, source):
        self.record(decide_trust.restore_trust(self.state, source, user=OWNER))


def doubts() -> st.SearchStrategy[list[tuple]]:
    """Stories of up to thirty steps."""
    text, number, by = st.sampled_from(TEXTS), st.integers(0, 6), st.sampled_from(CLIENTS)
    agent, source, now = st.sampled_from(["", "x"]), st.sampled_from(SOURCES), st.just(1)
    put = st.tuples(st.just("say"), now, text, number, by, agent)
    change = st.tuples(st.just("change"), now, text, number, by, st.sampled_from(["active", "active", "deprecated"]))
    one = st.one_of(
        put, put, change, change,
        st.tuples(st.just("tell"), now, text, number, by, agent),
        st.tuples(st.just("drop"), now, number, by, st.sampled_from(["forget", "invalidate", "retract"])),
        st.tuples(st.just("join"), now, text, number, number, by),
        st.tuples(st.just("serve"), now, st.just(OWNER), number, st.just(""), by),
        st.tuples(st.just("distrust"), now, source, st.integers(0, 30)),
        st.tuples(st.just("distrust"), now, source, st.just(0)),
        st.tuples(st.just("again"), now, source),
    )  # fmt: skip
    return st.lists(one, max_size=30)


def seen_at(events: Sequence[Event]) -> set[str]:
    """The ids that a reader should see after these events: as if those who are not trusted had said nothing."""
    state = State()
    for event in events:
        state.apply(event)
    against = state.distrusts.of(OWNER)
    beliefs, led, told = Beliefs(), dict[str, list[str]](), dict[str, None]()
    for event in events:
        if event.body is None or event.op == TRUST_SET:
            continue
        said = event.body.get("belief") or event.body.get("episode") or {}
        spoken = {name: said.get(name, "") for name in ("agent", "session")}
        spoken["trust"] = said.get("trust", "human") if said else ""
        is_out = any(each.covers(by=event.by, seq=event.seq, **spoken) for each in against)
        if event.op == EPISODE_PUT and not is_out:
            told[event.id] = None
        elif event.op == EPISODE_RETRACT and not is_out:
            told = {name: None for name in told if name not in event.body["ids"]}
        elif event.op.startswith("belief.") and is_out:
            if "belief" in event.body:
                led[event.body["belief"]["id"]] = event.body.get("replaces", [])
        elif event.op.startswith("belief."):
            for each in _without(event, led, beliefs):
                beliefs.apply(each)
    held = [each.body() for each in beliefs.all() if each.status == "active"]
    return {body["id"] for body in held if body.get("text")} | set(told)


def _without(event: Event, led: dict[str, list[str]], known: Beliefs) -> list[Event]:
    """The event, about what stood before those who are not trusted spoke; about each that they joined."""
    body = dict(event.body or {})
    if "replaces" in body:
        body["replaces"] = [name for each in body["replaces"] for name in _before(each, led)]
    if event.op in (BELIEF_TOMBSTONE, BELIEF_INVALIDATE):
        names = [name for name in _before(body["id"], led) if known.taken(name)] or [body["id"]]
        return [event._replace(body={**body, "id": name}) for name in names]
    return [event._replace(body=body)]


def _before(name: str, led: dict[str, list[str]]) -> list[str]:
    return [found for each in led[name] for found in _before(each, led)] if name in led else [name]
