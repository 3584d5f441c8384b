"""The effect of each event on the index.

Only the event and the rows in the batch decide: no clock, no other file. So an index that followed along and one that
was rebuilt from nothing are equal, row for row. An event whose words were erased does nothing; neither does one about
a belief that is not there.

A block belongs to one user. Stating it again reinforces it; a version that changes no words carries on where the one
before stood. What comes from tools and web pages is quarantined until a person approves it or a trusted source says
the same: such a block waits in the inbox, and such a source reinforces nothing. Neither does an echo, which repeats
what recall served, nor a distrusted source.

The `sight` of a source says who sees it while somebody is distrusted:

    PLAIN      as its own row says: no distrust ever touched it
    AS_USUAL   the same again, after somebody was distrusted and is trusted again
    WITHHELD   it is current, and recall hides it
    BACK       it was replaced or ended by somebody who is distrusted, and is visible again

The versions of a belief are followed as if those who are distrusted had said nothing: what they replaced stays until
somebody else replaces it. Each change is kept with the events between which it holds, so a question about an earlier
moment is answered as it was then. Where nobody is distrusted, all this costs one look at an empty table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import orjson

from tallystick.projections.database import Stale
from tallystick.projections.index import rows, statements as sql
from tallystick.projections.index.batch import WriteBatch
from tallystick.projections.index.rows import AS_USUAL, BACK, EPHEMERAL, PLAIN, QUARANTINED, WITHHELD, Block, Source
from tallystick.projections.index.schema import FRAMES
from tallystick.records import operations as ops
from tallystick.records.belief import OWNER
from tallystick.records.clock import held_time
from tallystick.records.event import UNDOES, Event, origin_of
from tallystick.records.schema import WRITER_TRUST
from tallystick.records.trust import NONE, Distrust
from tallystick.state.sources import distrust_of
from tallystick.text.claims import claim_key
from tallystick.text.fingerprint import KEPT, marks_of

_CLIENTS = {"cli": "cli", "python": "sdk"}
_STATED = (ops.BELIEF_PUT, ops.BELIEF_SUPERSEDE)
_WITH_IDS = (
    ops.OUTCOME_PUT, ops.EPISODE_FADE, ops.EPISODE_RETRACT, ops.EPISODE_RESTORE, ops.TRUST_CORROBORATE,
    ops.RELATION_PUT,
)  # fmt: skip
_TIMES = ("expires", "valid_from", "valid_to")
_OBSERVED = 0.5  # the confidence of what was merely said
_TOGETHER = 8  # of what was served at once, the best so many count as served together


def names_in(events: Iterable[Event]) -> Iterator[str]:
    """The ids of existing versions that the events refer to."""
    for event in events:
        if event.body is None:
            continue
        if event.op in _STATED:
            yield from event.body.get("replaces", ())
            yield from event.body.get("over", ())
            yield from event.body.get("merged", ())
            yield from event.body.get("again", {}).get("ids", ())
            yield from event.body.get("above", ())
            yield from event.body["belief"].get("rests_on", ())
        elif event.op in (ops.BELIEF_TOMBSTONE, ops.BELIEF_INVALIDATE):
            yield from (event.body["id"], *event.body.get("uncovers", ()))
        elif event.op in _WITH_IDS:
            yield from event.body["ids"]
        elif event.op == ops.RECEIPT_PUT:
            yield from (name for receipt in event.body["receipts"] for name, *_ in receipt["hits"])


def addresses_in(batch: WriteBatch, events: Iterable[Event]) -> Iterator[str]:
    for event in events:
        body = event.body or {}
        said = body.get("belief" if event.op in _STATED else "episode") or {}
        if event.op in (*_STATED, ops.EPISODE_PUT) and (text := said.get("text") or said.get("content")):
            yield batch.address(text, said.get("user", OWNER), said.get("path", ""))


def apply(batch: WriteBatch, event: Event) -> None:
    before = batch.clock
    if before.session or event.op == ops.SESSION_START:
        batch.clock = before.after(event)
        if event.op == ops.SESSION_START and before.session:
            batch.later(sql.END_SESSION, before.last, before.session)  # nobody ended it: it ends with its last event
    if event.body is not None and (act := _ACTS.get(event.op)):
        act(batch, event, event.body)


def _state(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """A belief is stated, new or in place of others."""
    belief, replaced, went, ended = body["belief"], list[str](), list[Source](), list[Source]()
    if names := body.get("replaces"):
        replaced = list(dict.fromkeys(ref for name in names if (ref := batch.ref_of(name))))
        went = [source for each in replaced if (source := batch.current(each))]
        ended = [last for each in replaced if not batch.current(each) and (last := batch.last(each))]  # and continues
    ref = replaced[0] if replaced else belief["id"]
    if (again := body.get("again")) and batch.source(again["ids"][0]):  # it had become part of another
        ref = again["ids"][0]
        batch.part(ref, again["ids"])
    source = _source(event, belief, ref)
    _carry(batch, source, origin_of(event).id)
    source.echo = int("echo" in body)
    if source.until_seq is None:
        source.claim = claim_key(belief.get("text", ""), tuple(belief.get("triple") or ()))
    was_approved = bool(went) and all(gone.trust in QUARANTINED and not gone.quarantined for gone in went)
    if "approved" in body or (was_approved and "quarantined" not in body):  # the gate let it replace what is approved
        source.quarantined = 0
    if source.until_seq is None and (text := belief.get("text")):
        _join(batch, event, source, text, carries_on={gone.block_id for gone in went})
        for brought in filter(None, map(batch.source, body.get("merged", ()))):  # its use and outcomes count here now
            source.good, source.bad = source.good + brought.good, source.bad + brought.bad
            if brought.block_id and source.block_id and source.block_id != brought.block_id:
                from_there = batch.block(brought.block_id)
                _use(batch, source.block_id, from_there.reinforcement_count, from_there.last_reinforced_at)
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
    _settle(batch, event.seq, [source, *went], "superseded")
    _see_again(batch, event.seq, source)
    for below in belief.get("rests_on", ()):
        _rests(batch, event, source, below)
    for above in filter(None, map(batch.ref_of, body.get("above", ()))):  # it is there again for what rests on it
        if resting := batch.current(above):
            _rests(batch, event, resting, source.id)


def _carry(batch: WriteBatch, source: Source, name: str) -> None:
    """What is stated again has the outcomes that it had."""
    if name and (before := batch.source(name)):
        source.good, source.bad = before.good, before.bad


def _hide(
    batch: WriteBatch, event: Event, source: Source, over: Iterable[str] = (), statement: str = sql.ADD_HIDE
) -> None:  # fmt: skip
    """Hide from this path what those above have under the same key, or what it was put over; or end that.

    What needs approval hides nothing until it is approved.
    """
    names = [("key", source.known_as), *(("ref", batch.ref_of(name) or name) for name in over)]
    for what, name in dict.fromkeys(names):
        batch.later(statement, source.user, name, what, source.path, event.seq)


def _source(event: Event, belief: dict[str, Any], ref: str) -> Source:
    get = belief.get
    trust, tags, triple = get("trust", "human"), get("tags"), get("triple")
    held, (at, by, _) = get("status", "active") == "active", origin_of(event)
    expires, valid_from, valid_to = (held_time(get(each) or "") or None for each in _TIMES)
    return Source(
        belief["id"], "belief", None, ref, None, get("user", OWNER), get("session", ""), get("agent", ""),
        get("path", ""), trust, int(trust in QUARANTINED), None, by, get("kind", "fact"), get("about", ""),
        belief["confidence"], None, orjson.dumps(tags).decode() if tags else None, None, at, event.seq,
        None if held else event.seq, rows.standing_of(belief), rows.decay_of(belief), expires,
        valid_from, valid_to, orjson.dumps(triple).decode() if triple else None,
        key=None if get("key", ref) == ref else belief["key"], closed_by=None if held else event.by,
    )  # fmt: skip


def _name(batch: WriteBatch, source: Source) -> None:
    """Keep the names by which a question may mention who said something, and whom it is about."""
    if source.agent:
        batch.add_name(source.user, "agent", source.agent, source.path, source.since_seq)
    if source.about:
        batch.add_name(source.user, "about", source.about, source.path, source.since_seq)


def source_of(event: Event) -> Source:
    """The source that an event states, before anything else happened to it."""
    body = event.body or {}
    if "belief" in body:
        return _source(event, body["belief"], body["belief"]["id"])
    episode = body["episode"]
    get, trust = episode.get, episode.get("trust", "human")
    return Source(
        event.id, "episode", get("id"), event.id, None, get("user", OWNER), get("session", ""), get("agent", ""),
        get("path", ""), trust, int(trust in QUARANTINED), None, event.by, "observation", "", _OBSERVED, None,
        None, episode["timestamp"], event.ts, event.seq, None, decay=EPHEMERAL, echo=int("echo" in body),
    )  # fmt: skip


def words_of(event: Event) -> str:
    """What an event states, in words."""
    body = event.body or {}
    words: str = body["belief"].get("text", "") if "belief" in body else body["episode"]["content"]
    return words


def _observe(batch: WriteBatch, event: Event, _: dict[str, Any]) -> None:
    """An episode: a source that is never replaced, only erased."""
    source = source_of(event)
    _name(batch, source)
    block = _join(batch, event, source, words_of(event), carries_on=set())
    batch.add_source(source)
    block.settle(event.seq, "")
    batch.touch(block)
    _see_again(batch, event.seq, source)


def _join(batch: WriteBatch, event: Event, source: Source, text: str, *, carries_on: set[str | None]) -> Block:
    """Add a source to the block of its words, which is made if need be, and return that."""
    name, block = batch.at(batch.address(text, source.user, source.path), source.user, source.path)
    clock = batch.clock
    if block is None:
        client = _CLIENTS.get(event.by.partition(":")[0], "api")
        block = Block(
            name, text, source.kind, client, event.ts, "inbox", None, source.confidence, 0, source.decay, clock.hours,
            clock.session or None, source.user, event.seq, None, source.path,
        )  # fmt: skip
        batch.add_block(block)
    elif not (
        name in carries_on or source.quarantined or source.echo or UNDOES in (event.body or {})
        or _is_from(batch.distrusts(source.user), source)
    ):  # fmt: skip
        block.reinforcement_count += block.status != "inbox"
        block.last_reinforced_at, block.last_session_id = clock.hours, clock.session or None
    source.block_id = name
    source.said = text if text != block.content else None
    block.open[source.id] = source
    return block


def _withdraw(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    ref = batch.ref_of(body["id"])
    source = batch.current(ref) if ref else None
    if ref and "uncovers" in body and (last := source or batch.last(ref)):
        _hide(batch, event, last, body["uncovers"], sql.END_HIDE)
    if source is not None:
        batch.close(source, event.seq, event.by)
        _settle(batch, event.seq, [source], "forgotten" if event.op == ops.BELIEF_TOMBSTONE else "superseded")
    elif ref and (source := batch.last(ref)):  # it had ended already; who else ended it is noted
        batch.ends.setdefault(source.id, {})[event.seq] = event.by
        batch.later(sql.ADD_END, source.id, event.seq, event.by)
    if source is not None:
        _see_again(batch, event.seq, source)


def _erased(batch: WriteBatch, _: Event, body: dict[str, Any]) -> None:
    """The words are gone from the ledger. An index that still has them must not be used."""
    if any(batch.source(name) for name in body.get("ids", ())):
        raise Stale("it held words that were erased")


def _ask(batch: WriteBatch, _: Event, body: dict[str, Any]) -> None:
    for name in body["action"]["target"] if body["action"]["kind"] == "trust" else ():
        batch.later(sql.ADD_ASKED, body["review"], name)


def _answer(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Approval of a trust review lets its sources be recalled; any answer closes the review."""
    for (name,) in batch.read(sql.ASKED, body["review"]):
        source = batch.source(name)
        if body["answer"] == "approve" and source is not None and source.quarantined:
            source.quarantined, source.approved_seq = 0, event.seq
            if source.path and source.what == "belief":
                _hide(batch, event, source)
            batch.touch(source)
            _settle(batch, event.seq, [source], "")
    batch.later(sql.DROP_ASKED, body["review"])


def _fade(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Episodes leave recall, faded or retracted; they stay in history."""
    for name in body["ids"]:
        source = batch.source(name)
        if source is not None and source.until_seq is None and source.what == "episode":
            batch.close(source, event.seq, event.by)
            _settle(batch, event.seq, [source], "decayed" if event.op == ops.EPISODE_FADE else "forgotten")
            _see_again(batch, event.seq, source)


def _restore(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Episodes are recalled again, unless they stay `out`; at the moments in between they are not."""
    for name in () if body.get("out") else body["ids"]:
        source = batch.source(name)
        if source is not None and source.until_seq is not None and source.what == "episode":
            batch.later(sql.ADD_SIGHT, source.id, source.until_seq, event.seq, 0)
            source.sight = max(source.sight, AS_USUAL)
            batch.reopen(source)
            _settle(batch, event.seq, [source], "")
            _see_again(batch, event.seq, source)


def frame_row(frame: dict[str, Any], at: str) -> tuple[object, ...]:
    return (
        frame["name"], frame["weights_json"], frame["filters_json"], frame["guarantees_json"], frame["template"],
        frame["token_budget"], frame.get("cache_json"), frame.get("source", "user"), at,
    )  # fmt: skip


def _drop_frame(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Drop a user's frame; if it had a built-in's name, the built-in is back."""
    batch.later(sql.DROP_FRAME, body["name"])
    for frame in FRAMES:
        if frame["name"] == body["name"]:
            batch.later(sql.SET_FRAME, *frame_row(frame, event.ts))


def _config(batch: WriteBatch, _: Event, body: dict[str, Any]) -> None:
    value = body["value"]  # None, where the setting is about to be erased: then the whole index is rebuilt
    batch.later(sql.SET_CONFIG, body["key"], "" if value is None else value)


def _settle(batch: WriteBatch, seq: int, touched: Iterable[Source], reason: str) -> None:
    """Update the blocks of these sources."""
    by_block: dict[str, list[Source]] = {}
    for source in touched:
        if source.block_id:
            by_block.setdefault(source.block_id, []).append(source)
    for name, sources in by_block.items():
        block = batch.block(name)
        for source in sources:
            if source.is_open:
                block.open[source.id] = source
            else:
                block.open.pop(source.id, None)
        if block.settle(seq, reason):
            batch.cut_ties(name)
        batch.touch(block)


# -- use and outcomes -------------------------------------------------------------------------------------------------


def _served(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Reinforce what was used, once for each time it was served; what needs approval is not.

    A path that used what it inherits reinforces it for itself alone. What is served together often enough is tied
    together, if it is on the path that asked. Whatever was served is recognised when it is fed in again.
    """
    for receipt in body["receipts"]:
        path = receipt.get("asked", {}).get("path", "")
        found = [source for name, *_ in receipt["hits"] if (source := batch.source(name))]
        for source in found:
            if source.block_id and source.block_id not in batch.marked:
                batch.marked.add(source.block_id)
                for mark in marks_of(batch.block(source.block_id).content, KEPT)[:KEPT]:
                    batch.later(sql.ADD_SERVED, source.user, mark, source.block_id)
        blocks = list(dict.fromkeys(source.block_id for source in found if source.block_id and _counts(source)))
        here = [name for name in blocks[:_TOGETHER] if batch.block(name).path == path]
        for tie in batch.ties(combinations(here, 2)):
            tie.times += 1
            tie.settle(event.seq, event.ts)
        for name in sorted(blocks):
            block = batch.block(name)
            if path and block.path != path:
                batch.later(sql.ADD_PATH_USE, block.user, path, name, 1, batch.clock.hours)
                continue
            block.reinforcement_count += 1
            block.last_reinforced_at, block.last_session_id = batch.clock.hours, batch.clock.session or None
            batch.touch(block)


def _counts(source: Source) -> bool:
    return source.is_open and not source.is_kept_out


def _outcome(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Evidence from use, for and against some memories. Of what a path inherits, it counts there alone."""
    if body.get("again"):  # it was said again: it is used more and fresh, without new evidence
        for source in filter(None, map(batch.source, body["ids"])):
            if source.block_id and _counts(source):
                _use(batch, source.block_id, 1, batch.clock.hours)
        return
    for name in body["ids"]:
        good, bad = body["signal"] * body["weight"], (1 - body["signal"]) * body["weight"]
        _proved(batch, event, body.get("path", ""), name, good, bad)


def _proved(batch: WriteBatch, event: Event, path: str, name: str, good: float, bad: float) -> None:
    source = batch.source(name)
    if source is None:
        return
    if path and source.path != path:
        batch.later(sql.ADD_PATH_PROOF, source.user, path, name, good, bad)
        return
    source.good, source.bad = source.good + good, source.bad + bad
    batch.touch(source)
    if source.until_seq is None:
        _settle(batch, event.seq, [source], "")


def _relate(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Relate two memories, in words; without words, unrelate them.

    Nothing happens if its writer is quarantined, or if one of the two is not there.
    """
    trust, path = body.get(WRITER_TRUST, "human"), body.get("path", "")
    found = [source for name in body["ids"] if (source := batch.source(name)) and source.user == body["user"]]
    refs = [ref for source in found if (ref := batch.ref_of(source.id))]
    if trust in QUARANTINED or len(set(refs)) != 2:
        return
    one, other = sorted(refs)
    if words := body.get("relation", ""):
        said = body["user"], words, int(refs[0] != one), trust, event.by, event.seq
        batch.later(sql.SET_RELATION, one, other, path, *said)
    else:
        batch.later(sql.DROP_RELATION, one, other, path)
    ends = [source.block_id for ref in refs if (source := batch.current(ref)) and source.block_id]
    if len(ends) == 2 and all(batch.block(name).path == path for name in ends):
        for tie in batch.ties([(ends[0], ends[1])]):
            tie.related = int(bool(words))
            tie.settle(event.seq, event.ts)


def _rests(batch: WriteBatch, event: Event, source: Source, below: str) -> None:
    """Tie a belief to one it depends on, as long as neither is archived."""
    ref = batch.ref_of(below)
    other = batch.current(ref) if ref else None
    if other is None or not (source.block_id and other.block_id) or source.until_seq is not None:
        return
    for tie in batch.ties([(source.block_id, other.block_id)]):
        tie.rests |= 1 if source.block_id == tie.from_id else 2
        tie.settle(event.seq, event.ts)


def _use(batch: WriteBatch, name: str, times: int, last: float) -> None:
    block = batch.block(name)
    block.reinforcement_count += times
    block.last_reinforced_at = max(block.last_reinforced_at, last)
    batch.touch(block)


def _merge(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Count how a path used what it inherited where it was merged into."""
    user, path, into = body["user"], body["path"], body["into"]
    for name, times, last in batch.read(sql.PATH_USE, user, path):
        if not into or batch.block(name).path == into:
            _use(batch, name, times, last)
        else:
            batch.later(sql.ADD_PATH_USE, user, into, name, times, last)
    batch.later(sql.DROP_PATH_USE, user, path)
    for name, good, bad in batch.read(sql.PATH_PROOF, user, path):
        _proved(batch, event, into, name, good, bad)
    batch.later(sql.DROP_PATH_PROOF, user, path)


# -- trust: who sees a source -----------------------------------------------------------------------------------------


def _look_again(batch: WriteBatch, refs: Iterable[str], user: str, seq: int, *, always: bool = False) -> list[Source]:
    """Decide who sees the versions of some beliefs after event `seq`; return the sources of which that changed.

    `always` is for when a source has just been trusted again: then nobody may be left who is not.
    """
    against = batch.distrusts(user)
    if not against and not always:
        return []
    changed = []
    for ref in refs:
        versions = batch.versions(ref)
        for source in versions.values():
            wanted = PLAIN
            if _is_from(against, source):
                wanted = WITHHELD if source.until_seq is None else PLAIN
            elif source.until_seq not in (None, source.since_seq):  # neither current, nor one that never was
                wanted = BACK if _was_ended_by_them(batch, against, source, versions) else PLAIN
            if _see(batch, source, wanted, seq):
                changed.append(source)
    return changed


def _was_ended_by_them(
    batch: WriteBatch, against: list[Distrust], source: Source, versions: Mapping[str, Source]
) -> bool:  # fmt: skip
    """True if nobody but those who are not trusted has replaced or ended a version since."""
    last, seen = source, {source.id}
    while last.until_seq is not None:
        after, seq = versions.get(last.after or ""), last.until_seq
        if after is None or after.since_seq > seq:  # it ended, and nothing replaced it, or only later
            ends = dict(batch.ends.get(last.id, {}))
            if last.since_seq != seq:  # else it was never current
                ends[seq] = last.closed_by or ""
            if not all(any(each.covers(by=by, seq=at) for each in against) for at, by in ends.items()):
                return False
        if after is None:
            return True
        is_theirs = _is_from(against, after)
        if after.since_seq == seq and after.by != last.closed_by:  # their words, and somebody else put them back
            is_theirs = any(each.covers(by=last.closed_by or "", seq=seq) for each in against)
        if after.id in seen or not is_theirs:
            return False
        seen.add(after.id)
        last = after
    return True


def _is_from(against: list[Distrust], source: Source) -> bool:
    said = {"by": source.by, "agent": source.agent, "session": source.session, "trust": source.trust}
    return any(each.covers(seq=source.since_seq, **said) for each in against) if against else False


def _see(batch: WriteBatch, source: Source, wanted: int, seq: int) -> bool:
    """Set the sight of a source from event `seq` on; True if that changed it."""
    before = source.sight
    if wanted == PLAIN and before != PLAIN:
        wanted = AS_USUAL
    if wanted == before:
        return False
    if before in (WITHHELD, BACK):
        batch.later(sql.END_SIGHT, seq, source.id)
    if wanted in (WITHHELD, BACK):
        batch.later(sql.ADD_SIGHT, source.id, seq, None, int(wanted == BACK))
    source.sight = wanted
    batch.touch(source)
    return True


def _see_again(batch: WriteBatch, seq: int, source: Source) -> None:
    """Decide again who sees the versions of this belief, if somebody is not trusted."""
    if batch.distrusts(source.user):
        _settle(batch, seq, _look_again(batch, [source.ref], source.user, seq), "superseded")


def _set_trust(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Distrust a source, or trust it again: all that it said, and what it ended."""
    distrust = distrust_of(event)
    batch.set_distrust(distrust, is_on=body["trust"] == NONE)
    changed = _look_again(batch, batch.refs_from(distrust), distrust.user, event.seq, always=True)
    batch.fetch((), [source.block_id for source in changed if source.block_id])
    _settle(batch, event.seq, changed, "superseded")


def _corroborate(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Trusted sources say the same: its words count from now on, with the confidence of theirs.

    Its tags, and that it be always served, nobody has confirmed: they do not count.
    """
    for name in body["ids"]:
        source = batch.source(name)
        if source is None or not source.quarantined:
            continue
        source.quarantined, source.approved_seq, source.borne_out = 0, event.seq, 1
        source.standing, source.tags = 0, None
        if source.block_id:
            others = [each for each in batch.block(source.block_id).open.values() if each is not source]
            sure = [each.confidence for each in others if not each.is_kept_out]
            source.confidence = min([source.confidence, *sure])
        batch.touch(source)
        _settle(batch, event.seq, [source] if source.until_seq is None else [], "")


_ACTS: dict[str, Callable[[WriteBatch, Event, dict[str, Any]], None]] = {
    ops.BELIEF_PUT: _state, ops.BELIEF_SUPERSEDE: _state, ops.EPISODE_PUT: _observe, ops.BELIEF_TOMBSTONE: _withdraw,
    ops.BELIEF_INVALIDATE: _withdraw, ops.ERASE: _erased, ops.REVIEW_ASK: _ask, ops.REVIEW_ANSWER: _answer,
    ops.SESSION_START: lambda batch, event, body: batch.later(
        sql.START_SESSION, body["session"], body["task_type"], event.ts, None, batch.clock.hours
    ),
    ops.SESSION_END: lambda batch, event, body: batch.later(sql.END_SESSION, event.ts, body["session"]),
    ops.FRAME_PUT: lambda batch, event, body: batch.later(sql.SET_FRAME, *frame_row(body["frame"], event.ts)),
    ops.FRAME_DROP: _drop_frame,
    ops.CONFIG_SET: _config, ops.RECEIPT_PUT: _served, ops.OUTCOME_PUT: _outcome, ops.EPISODE_FADE: _fade,
    ops.EPISODE_RETRACT: _fade, ops.EPISODE_RESTORE: _restore, ops.PATH_MERGE: _merge, ops.TRUST_SET: _set_trust,
    ops.TRUST_CORROBORATE: _corroborate, ops.RELATION_PUT: _relate,
}  # fmt: skip
