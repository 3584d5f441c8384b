"""What each event does to the index.

Only the event and the rows in the batch decide: no clock, no other file. So an index that followed along and one that
was rebuilt from nothing are equal, row for row. An event whose words were erased does nothing; neither does one that
speaks of a belief that is not there.

A block belongs to one user. Whoever says it again reinforces it; a version that changes no words carries on where the
one before stood. What comes from tools and web pages is kept out of recall until a person approves it or someone who
is trusted says the same: such a block waits in the inbox, and such a source reinforces nothing. Neither does an echo,
which repeats what recall served, nor a source that a person does not rely on: see `withhold`.

What is said or used on a path beside the main line changes no row of the main line, until the path is merged. What
may be seen from which path is not decided here: the reader says which paths it sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson

from tallystick.projections.index import statements as sql
from tallystick.projections.index.batch import WriteBatch
from tallystick.projections.index.builtin import FRAMES
from tallystick.projections.index.claims import claim_key
from tallystick.projections.index.fold_trust import corroborate, is_withheld, see_again, set_trust, settle
from tallystick.projections.index.fold_usage import bring_over, merge, outcome, relate, rests, served
from tallystick.projections.index.rows import (
    CONSTITUTIONAL,
    DURABLE,
    EPHEMERAL,
    PERMANENT,
    QUARANTINED,
    STANDARD,
    TIERS,
    Block,
    Source,
)
from tallystick.records.belief import OWNER
from tallystick.records.clock import held_time
from tallystick.records.event import Event
from tallystick.records.operations import (
    BELIEF_INVALIDATE,
    BELIEF_PUT,
    BELIEF_SUPERSEDE,
    BELIEF_TOMBSTONE,
    CONFIG_SET,
    EPISODE_FADE,
    EPISODE_PUT,
    EPISODE_RETRACT,
    ERASE,
    FRAME_DROP,
    FRAME_PUT,
    OUTCOME_PUT,
    PATH_MERGE,
    RECEIPT_PUT,
    RELATION_PUT,
    REVIEW_ANSWER,
    REVIEW_ASK,
    SESSION_END,
    SESSION_START,
    TRUST_CORROBORATE,
    TRUST_SET as TRUST,
)

_DOORS = {"cli": "cli", "python": "sdk"}
_STATED = (BELIEF_PUT, BELIEF_SUPERSEDE)
_OBSERVED = 0.5  # the confidence of what was merely said
_DECAY = "decay/"  # a tag that says how fast a belief fades

STANDING = frozenset({"instruction", "preference", "constitutional"})  # kinds that no question need resemble


class Stale(Exception):
    """The index holds words that were erased; only a new file is free of them."""


def names_in(events: Iterable[Event]) -> Iterator[str]:
    """The ids of versions that the events speak of, beside those they bring."""
    for event in events:
        if event.body is None:
            continue
        if event.op in _STATED:
            yield from event.body.get("replaces", ())
            yield from event.body.get("over", ())
            yield from event.body.get("merged", ())
            yield from event.body["belief"].get("rests_on", ())
        elif event.op in (BELIEF_TOMBSTONE, BELIEF_INVALIDATE):
            yield event.body["id"]
        elif event.op in (OUTCOME_PUT, EPISODE_FADE, EPISODE_RETRACT, TRUST_CORROBORATE, RELATION_PUT):
            yield from event.body["ids"]
        elif event.op == RECEIPT_PUT:
            yield from (name for receipt in event.body["receipts"] for name, *_ in receipt["hits"])


def addresses_in(batch: WriteBatch, events: Iterable[Event]) -> Iterator[str]:
    """Where the texts of the events belong."""
    for event in events:
        if event.body is not None and event.op in _STATED:
            belief = event.body["belief"]
            if text := belief.get("text"):
                yield _address(batch, text, belief)
        elif event.body is not None and event.op == EPISODE_PUT:
            yield _address(batch, event.body["episode"]["content"], event.body["episode"])


def _address(batch: WriteBatch, text: str, said: dict[str, Any]) -> str:
    return batch.address(text, said.get("user", OWNER), said.get("path", ""))


def apply(batch: WriteBatch, event: Event) -> None:
    """Take in one event."""
    before = batch.clock
    if before.session or event.op == SESSION_START:
        batch.clock = before.after(event)
        if event.op == SESSION_START and before.session:
            batch.later(sql.END_SESSION, before.last, before.session)  # nobody ended it: it ends where last heard
    if event.body is not None and (act := _ACTS.get(event.op)):
        act(batch, event, event.body)


def _state(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """A belief is stated, be it new or in place of others."""
    belief, replaced, went, ended = body["belief"], list[str](), list[Source](), list[Source]()
    if names := body.get("replaces"):
        replaced = list(dict.fromkeys(ref for name in names if (ref := batch.ref_of(name))))
        went = [source for each in replaced if (source := batch.current(each))]
        ended = [last for each in replaced if not batch.current(each) and (last := batch.last(each))]  # and is taken up
    ref = replaced[0] if replaced else belief["id"]
    source = _source(event, belief, ref)
    source.echo = int("echo" in body)
    if "approved" in body or _takes_over(went):
        source.quarantined = 0
    if source.until_seq is None and (text := belief.get("text")):
        _join(batch, event, source, text, carries_on={gone.block_id for gone in went})
        bring_over(batch, source, body.get("merged", ()))
    if source.path and not source.quarantined:
        _hide(batch, event, source, body.get("over", ()))
    for gone in went:
        batch.close(gone, event.seq, event.by, source.id)
    for last in ended:
        last.after = source.id
        batch.touch(last)
    for other in replaced[1:]:
        batch.lead(other, ref)
    batch.add_source(source)
    _name(batch, source)
    settle(batch, event.seq, [source, *went], "superseded")
    see_again(batch, event.seq, source)
    for below in belief.get("rests_on", ()):
        rests(batch, event, source, below)


def _takes_over(went: list[Source]) -> bool:
    """Whether a person said yes to all that a version replaces, so that the gate let it take their place."""
    return bool(went) and all(gone.trust in QUARANTINED and not gone.quarantined for gone in went)


def _hide(batch: WriteBatch, event: Event, source: Source, over: Iterable[str] = ()) -> None:
    """From here on, who sees this path does not see what those above hold under the same key, or what it was put over.

    What waits for a person's yes hides nothing until then.
    """
    names = [("key", source.known_as), *(("ref", batch.ref_of(name) or name) for name in over)]
    for what, name in dict.fromkeys(names):
        batch.later(sql.ADD_HIDE, source.user, name, what, source.path, event.seq)


def _source(event: Event, belief: dict[str, Any], ref: str) -> Source:
    get = belief.get
    trust, tags, triple = get("trust", "human"), get("tags"), get("triple")
    held = get("status", "active") == "active"
    return Source(
        belief["id"], "belief", None, ref, None, get("user", OWNER), get("session", ""), get("agent", ""),
        get("path", ""), trust, int(trust in QUARANTINED), None, event.by, get("kind", "fact"), get("about", ""),
        belief["confidence"], None, orjson.dumps(tags).decode() if tags else None, None, event.ts, event.seq,
        None if held else event.seq, _standing(belief), _decay(belief), _moment(get("expires")),
        _moment(get("valid_from")), _moment(get("valid_to")), orjson.dumps(triple).decode() if triple else None,
        claim_key(get("text", ""), tuple(triple or ())) if held else None,
        key=None if get("key", ref) == ref else belief["key"], closed_by=None if held else event.by,
    )  # fmt: skip


def _standing(belief: dict[str, Any]) -> int:
    """Whether it is served without being asked for: 2 always, 1 where there is room."""
    if belief.get("always"):
        return 2
    return int(belief.get("kind") in STANDING or CONSTITUTIONAL in belief.get("tags", ()))


def _decay(belief: dict[str, Any]) -> float:
    """How fast a belief fades: as its tag says, else as its kind suggests."""
    tags = belief.get("tags", ())
    for tag in tags:
        if tag.startswith(_DECAY) and tag[len(_DECAY) :] in TIERS:
            return TIERS[tag[len(_DECAY) :]]
    if belief.get("always") or CONSTITUTIONAL in tags:
        return PERMANENT
    if belief.get("kind") in STANDING:
        return DURABLE
    return EPHEMERAL if belief.get("is_hypothesis") else STANDARD


def _moment(said: str | None) -> str | None:
    """A date or time as it can be compared."""
    return held_time(said) if said else None


def _name(batch: WriteBatch, source: Source) -> None:
    """Keep the names by which questions speak of who said something, and of what is known of whom."""
    if source.agent:
        batch.add_name(source.user, "agent", source.agent, source.path, source.since_seq)
    if source.about:
        batch.add_name(source.user, "about", source.about, source.path, source.since_seq)


def _observe(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Something happened: a source that is never replaced, only erased."""
    episode = body["episode"]
    get, trust = episode.get, episode.get("trust", "human")
    source = Source(
        event.id, "episode", get("id"), event.id, None, get("user", OWNER), get("session", ""), get("agent", ""),
        get("path", ""), trust, int(trust in QUARANTINED), None, event.by, "observation", "", _OBSERVED, None, None,
        episode["timestamp"], event.ts, event.seq, None, decay=EPHEMERAL, echo=int("echo" in body),
    )  # fmt: skip
    _name(batch, source)
    _join(batch, event, source, episode["content"], carries_on=set())
    batch.add_source(source)
    settle(batch, event.seq, [source], "")
    see_again(batch, event.seq, source)


def _join(batch: WriteBatch, event: Event, source: Source, text: str, *, carries_on: set[str | None]) -> None:
    """Put a source to the block of its words, which is made if need be."""
    name, block = batch.at(batch.address(text, source.user, source.path), source.user, source.path)
    clock = batch.clock
    if block is None:
        door = _DOORS.get(event.by.partition(":")[0], "api")
        block = Block(
            name, text, source.kind, door, event.ts, "inbox", None, source.confidence, 0, source.decay, clock.hours,
            clock.session or None, source.user, event.seq, None, source.path,
        )  # fmt: skip
        batch.add_block(block)
    elif name not in carries_on and not (source.quarantined or source.echo or is_withheld(batch, source)):
        block.reinforcement_count += block.status != "inbox"
        block.last_reinforced_at, block.last_session_id = clock.hours, clock.session or None
    source.block_id = name
    source.said = text if text != block.content else None
    block.open[source.id] = source


def _withdraw(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """A belief is no longer held."""
    ref = batch.ref_of(body["id"])
    source = batch.current(ref) if ref else None
    if source is not None:
        batch.close(source, event.seq, event.by)
        settle(batch, event.seq, [source], "forgotten" if event.op == BELIEF_TOMBSTONE else "superseded")
    elif ref and (source := batch.last(ref)):  # it was not held any more; who else ended it is noted
        batch.end_again(source, event.seq, event.by)
    if source is not None:
        see_again(batch, event.seq, source)


def _erased(batch: WriteBatch, _: Event, body: dict[str, Any]) -> None:
    """The words are gone from the ledger. An index that still has them must not go on."""
    if any(batch.source(name) for name in body.get("ids", ())):
        raise Stale("it held words that were erased")


def _ask(batch: WriteBatch, _: Event, body: dict[str, Any]) -> None:
    action = body["action"]
    if action["kind"] == "trust":
        for name in action["target"]:
            batch.later(sql.ADD_ASKED, body["review"], name)


def _answer(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """A yes to a question of trust lets its sources be recalled; any answer ends the waiting."""
    for name in batch.asked(body["review"]):
        source = batch.source(name)
        if body["answer"] == "approve" and source is not None and source.quarantined:
            source.quarantined, source.approved_seq = 0, event.seq
            if source.path and source.what == "belief":
                _hide(batch, event, source)
            batch.touch(source)
            settle(batch, event.seq, [source], "")
    batch.later(sql.DROP_ASKED, body["review"])


def _fade(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Episodes leave recall, faded or taken back; what happened stays in history."""
    for name in body["ids"]:
        source = batch.source(name)
        if source is not None and source.until_seq is None and source.what == "episode":
            batch.close(source, event.seq, event.by)
            settle(batch, event.seq, [source], "decayed" if event.op == EPISODE_FADE else "forgotten")
            see_again(batch, event.seq, source)


def _start(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    batch.later(sql.START_SESSION, body["session"], body["task_type"], event.ts, None, batch.clock.hours)


def _end(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    batch.later(sql.END_SESSION, event.ts, body["session"])


def _frame(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    batch.later(sql.SET_FRAME, *frame_row(body["frame"], event.ts))


def frame_row(frame: dict[str, Any], at: str) -> tuple[object, ...]:
    return (
        frame["name"], frame["weights_json"], frame["filters_json"], frame["guarantees_json"], frame["template"],
        frame["token_budget"], frame.get("cache_json"), frame.get("source", "user"), at,
    )  # fmt: skip


def _no_frame(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """A frame of the user's own goes; behind one that had taken a built-in's name, the built-in is there again."""
    batch.later(sql.DROP_FRAME, body["name"])
    for frame in FRAMES:
        if frame["name"] == body["name"]:
            batch.later(sql.SET_FRAME, *frame_row(frame, event.ts))


def _config(batch: WriteBatch, _: Event, body: dict[str, Any]) -> None:
    value = body["value"]  # none, where the setting is about to be erased: then the whole index is made again
    batch.later(sql.SET_CONFIG, body["key"], "" if value is None else value)


_ACTS: dict[str, Callable[[WriteBatch, Event, dict[str, Any]], None]] = {
    BELIEF_PUT: _state, BELIEF_SUPERSEDE: _state, EPISODE_PUT: _observe, BELIEF_TOMBSTONE: _withdraw,
    BELIEF_INVALIDATE: _withdraw, ERASE: _erased,
    REVIEW_ASK: _ask, REVIEW_ANSWER: _answer, SESSION_START: _start, SESSION_END: _end, FRAME_PUT: _frame,
    FRAME_DROP: _no_frame, CONFIG_SET: _config, RECEIPT_PUT: served, OUTCOME_PUT: outcome, EPISODE_FADE: _fade,
    EPISODE_RETRACT: _fade, PATH_MERGE: merge, TRUST: set_trust, TRUST_CORROBORATE: corroborate, RELATION_PUT: relate,
}  # fmt: skip
