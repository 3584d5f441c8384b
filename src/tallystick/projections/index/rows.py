"""Rows of the index as they lie in a batch: a block, and the sources that say it.

How a block stands is read off its open sources, and nothing else: so a source can come and be taken back one by one,
and no order of events leaves a trace that another would not.
"""

from __future__ import annotations

import orjson

from tallystick.records.block import DecayTier
from tallystick.records.policy import DEFAULT

QUARANTINED = DEFAULT.quarantined  # until a person approves, or someone who is trusted says the same
PLAIN, AS_USUAL, WITHHELD, BACK = range(4)  # who sees a source: as ever, as ever again, only who asks, all again
FAITH = 4.0  # how many uses a stated confidence is worth
OFTEN = 3  # times that two blocks are served together before that makes an edge
_ENOUGH = 10  # times after which it is no stronger
CONSTITUTIONAL = "self/constitutional"  # a tag: what bears it is not lowered by what came of using it

# How fast a block fades, for each hour of work.
PERMANENT, DURABLE, STANDARD, EPHEMERAL = 1e-5, 1e-3, 1e-2, 5e-2
TIERS: dict[str, float] = {
    DecayTier.PERMANENT: PERMANENT, DecayTier.DURABLE: DURABLE, DecayTier.STANDARD: STANDARD,
    DecayTier.EPHEMERAL: EPHEMERAL,
}  # fmt: skip


def is_constitutional(kind: str, tags: str | None) -> bool:
    """Whether a source is of those that outcomes do not lower; `tags` as its row has them."""
    return kind == "constitutional" or (tags is not None and f'"{CONSTITUTIONAL}"' in tags)


class Source:
    """One version of one belief, or one episode. The fields are the columns of `sources`, in their order."""

    __slots__ = (  # noqa: RUF023
        "id", "what", "name", "ref", "block_id", "user", "session", "agent", "path", "trust", "quarantined",
        "approved_seq", "by", "kind", "about", "confidence", "said", "tags", "happened", "at", "since_seq",
        "until_seq", "standing", "decay", "expires", "valid_from", "valid_to", "triple", "claim", "good", "bad",
        "key", "own_ref", "borne_out", "echo", "after", "closed_by", "sight", "is_new",
    )  # fmt: skip

    def __init__(
        self, id: str, what: str, name: str | None, ref: str, block_id: str | None, user: str, session: str,
        agent: str, path: str, trust: str, quarantined: int, approved_seq: int | None, by: str, kind: str,
        about: str, confidence: float, said: str | None, tags: str | None, happened: str | None, at: str,
        since_seq: int, until_seq: int | None, standing: int = 0, decay: float = STANDARD, expires: str | None = None,
        valid_from: str | None = None, valid_to: str | None = None, triple: str | None = None, claim: str | None = None,
        good: float = 0.0, bad: float = 0.0, key: str | None = None, own_ref: str | None = None, borne_out: int = 0,
        echo: int = 0, after: str | None = None, closed_by: str | None = None, sight: int = PLAIN,
    ) -> None:  # fmt: skip
        self.id, self.what, self.name, self.ref, self.block_id, self.user = id, what, name, ref, block_id, user
        self.session, self.agent, self.path, self.trust = session, agent, path, trust
        self.quarantined, self.approved_seq = quarantined, approved_seq
        self.by, self.kind, self.about, self.confidence, self.said, self.tags = by, kind, about, confidence, said, tags
        self.happened, self.at, self.since_seq, self.until_seq, self.is_new = happened, at, since_seq, until_seq, False
        self.standing, self.decay, self.expires = standing, decay, expires
        self.valid_from, self.valid_to, self.triple, self.claim = valid_from, valid_to, triple, claim
        self.good, self.bad, self.key, self.own_ref = good, bad, key, own_ref
        self.borne_out, self.echo = borne_out, echo
        self.after, self.closed_by, self.sight = after, closed_by, sight

    @property
    def known_as(self) -> str:
        """What it is called on every path."""
        return self.ref if self.key is None else self.key

    @property
    def is_open(self) -> bool:
        """Whether it is held, or shown again because what took its place is withheld."""
        return self.until_seq is None or self.sight == BACK

    @property
    def is_kept_out(self) -> bool:
        """Whether recall leaves it out: it waits for a yes, or its source is not trusted."""
        return bool(self.quarantined) or self.sight == WITHHELD

    def lead(self, ref: str) -> None:
        """It belongs to another belief from now on; what it was until then stays known."""
        self.key, self.own_ref, self.ref = self.known_as, self.own_ref or self.ref, ref

    def proved(self) -> float:
        """How sure it is after what came of using it: a share of what spoke for it, in all that spoke."""
        bad = 0.0 if is_constitutional(self.kind, self.tags) else self.bad
        if not self.good and not bad:
            return self.confidence
        return (self.confidence * FAITH + self.good) / (FAITH + self.good + bad)

    def row(self) -> tuple[object, ...]:
        return (
            self.id, self.what, self.name, self.ref, self.block_id, self.user, self.session, self.agent, self.path,
            self.trust,
            self.quarantined, self.approved_seq, self.by, self.kind, self.about, self.confidence, self.said, self.tags,
            self.happened, self.at, self.since_seq, self.until_seq, self.standing, self.decay, self.expires,
            self.valid_from, self.valid_to, self.triple, self.claim, self.good, self.bad, self.key,
            self.own_ref, self.borne_out, self.echo, self.after, self.closed_by, self.sight,
        )  # fmt: skip

    def state(self) -> tuple[object, ...]:
        """What changes in a source's life, in the order in which it is written."""
        return (
            self.quarantined, self.approved_seq, self.confidence, self.tags, self.until_seq, self.standing, self.good,
            self.bad, self.borne_out, self.after, self.closed_by, self.sight,
        )  # fmt: skip


class Tie:
    """What ties two blocks together. The fields are the columns of `ties`, in their order."""

    __slots__ = ("from_id", "to_id", "times", "rests", "related", "since_seq", "at")  # noqa: RUF023

    def __init__(
        self, from_id: str, to_id: str, times: int = 0, rests: int = 0, related: int = 0, since_seq: int | None = None,
        at: str | None = None,
    ) -> None:  # fmt: skip
        self.from_id, self.to_id, self.times, self.rests, self.related = from_id, to_id, times, rests, related
        self.since_seq, self.at = since_seq, at

    @property
    def is_stated(self) -> bool:
        return bool(self.rests or self.related)

    def settle(self, seq: int, at: str) -> None:
        """See whether it makes an edge after event `seq`."""
        if not (self.is_stated or self.times >= OFTEN):
            self.since_seq = self.at = None
        elif self.since_seq is None:
            self.since_seq, self.at = seq, at

    def row(self) -> tuple[object, ...]:
        return self.from_id, self.to_id, self.times, self.rests, self.related, self.since_seq, self.at

    def edge(self) -> tuple[object, ...]:
        """The row of `edges`: what was stated weighs 1, and being served together up to half as much."""
        return self.from_id, self.to_id, weight_of(self.times, self.is_stated), self.times, self.at


def weight_of(times: int, is_stated: bool) -> float:
    """How strong an edge is, of what was served together so often."""
    return float(is_stated) + min(times, _ENOUGH) / (2 * _ENOUGH)


class Block:
    """One content of one user, on one path. The fields are those of `blocks` that the fold writes, and of `lives`."""

    __slots__ = (  # noqa: RUF023
        "id", "content", "category", "source", "created_at", "status", "archive_reason", "confidence",
        "reinforcement_count", "decay_lambda", "last_reinforced_at", "last_session_id", "user", "since_seq",
        "until_seq", "path", "open", "is_new",
    )  # fmt: skip

    def __init__(
        self, id: str, content: str, category: str, source: str, created_at: str, status: str,
        archive_reason: str | None, confidence: float, reinforcement_count: int, decay_lambda: float,
        last_reinforced_at: float, last_session_id: str | None, user: str, since_seq: int, until_seq: int | None,
        path: str = "",
    ) -> None:  # fmt: skip
        self.id, self.content, self.category, self.source, self.created_at = id, content, category, source, created_at
        self.status, self.archive_reason, self.confidence = status, archive_reason, confidence
        self.reinforcement_count, self.decay_lambda = reinforcement_count, decay_lambda
        self.last_reinforced_at = last_reinforced_at
        self.last_session_id, self.user = last_session_id, user
        self.since_seq, self.until_seq, self.path = since_seq, until_seq, path
        self.open: dict[str, Source] = {}
        self.is_new = False

    def row(self) -> tuple[object, ...]:
        return self.id, self.content, self.category, self.source, self.created_at, *self.state()

    def state(self) -> tuple[object, ...]:
        """What changes in a block's life, in the order in which it is written."""
        return (
            self.status, self.archive_reason, self.confidence, self.reinforcement_count, self.decay_lambda,
            self.last_reinforced_at, self.last_session_id,
        )  # fmt: skip

    def _speaking(self) -> list[Source]:
        """The open sources that count: the trusted ones, if there are any; of these, those that repeat nobody."""
        every = list(self.open.values())
        if len(every) == 1:
            return every
        heard = [source for source in every if not source.is_kept_out]
        return [source for source in heard if not source.echo] or heard or every

    def tags(self) -> list[str]:
        """What its sources are tagged with; an archived block has none."""
        found: dict[str, None] = {}
        for source in self._speaking():
            if source.tags:
                found.update(dict.fromkeys(orjson.loads(source.tags)))
        return sorted(found)

    def settle(self, seq: int, reason: str | None) -> bool:
        """Read off the sources how the block stands after event `seq`; True if that sent it into the archive."""
        if not self.open:
            gone = self.status != "archived"
            self.status, self.archive_reason = "archived", reason
            self.until_seq = seq
            return gone
        speaking = self._speaking()
        self.status = "inbox" if speaking[0].is_kept_out else "active"
        self.archive_reason = self.until_seq = None
        self.confidence = max([source.proved() for source in speaking])
        self.decay_lambda = min([source.decay for source in speaking])
        return False
