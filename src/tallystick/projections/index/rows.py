"""In-memory rows of one write batch: a block, and the sources that state it.

The state of a block follows from its open sources and nothing else: so sources can come and go one by one, and no
order of events leaves a trace that another would not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from operator import attrgetter
from typing import Any

import orjson

from tallystick.records.belief import OWNER
from tallystick.records.block import DecayTier
from tallystick.records.errors import Refused
from tallystick.records.policy import DEFAULT

QUARANTINED = DEFAULT.quarantined  # until approved, or a trusted source says the same
PLAIN, AS_USUAL, WITHHELD, BACK = range(4)  # who sees a source: see `fold`
FAITH = 4.0  # how many uses a stated confidence is worth
OFTEN = 3  # times two blocks are served together before that makes an edge
_ENOUGH = 10  # times after which it is no stronger
CONSTITUTIONAL = "self/constitutional"  # a tag: what bears it is not lowered by what came of using it

# How fast a block fades, for each hour of work.
PERMANENT, DURABLE, STANDARD, EPHEMERAL = 1e-5, 1e-3, 1e-2, 5e-2
TIERS: dict[str, float] = {
    DecayTier.PERMANENT: PERMANENT, DecayTier.DURABLE: DURABLE, DecayTier.STANDARD: STANDARD,
    DecayTier.EPHEMERAL: EPHEMERAL,
}  # fmt: skip
_DECAY = "decay/"  # a tag that says how fast a belief fades
STANDING = frozenset({"instruction", "preference", "constitutional"})  # kinds that need not resemble the question

SOURCE_STATE = (  # the columns that change
    "quarantined", "approved_seq", "confidence", "tags", "until_seq", "standing", "good", "bad", "borne_out", "after",
    "closed_by", "sight",
)  # fmt: skip
BLOCK_STATE = (
    "status", "archive_reason", "confidence", "reinforcement_count", "decay_lambda", "last_reinforced_at",
    "last_session_id",
)  # fmt: skip


def is_constitutional(kind: str, tags: str | None) -> bool:
    """True for a source that outcomes do not lower; `tags` as its row has them."""
    return kind == "constitutional" or (tags is not None and f'"{CONSTITUTIONAL}"' in tags)


def standing_of(belief: dict[str, Any]) -> int:
    """2 if it is always served, 1 if it is served where there is room, else 0."""
    if belief.get("always"):
        return 2
    return int(belief.get("kind") in STANDING or CONSTITUTIONAL in belief.get("tags", ()))


def decay_of(belief: dict[str, Any]) -> float:
    """The decay of a belief: as its tag says, else as its kind suggests."""
    tags = belief.get("tags", ())
    for tag in tags:
        if tag.startswith(_DECAY) and tag[len(_DECAY) :] in TIERS:
            return TIERS[tag[len(_DECAY) :]]
    if belief.get("always") or CONSTITUTIONAL in tags:
        return PERMANENT
    if belief.get("kind") in STANDING:
        return DURABLE
    return EPHEMERAL if belief.get("is_hypothesis") else STANDARD


@dataclass(slots=True, eq=False, repr=False)
class Source:
    """One version of one belief, or one episode. The fields are the columns of `sources`, in their order."""

    id: str
    what: str
    name: str | None
    ref: str
    block_id: str | None
    user: str
    session: str
    agent: str
    path: str
    trust: str
    quarantined: int
    approved_seq: int | None
    by: str
    kind: str
    about: str
    confidence: float
    said: str | None
    tags: str | None
    happened: str | None
    at: str
    since_seq: int
    until_seq: int | None
    standing: int = 0
    decay: float = STANDARD
    expires: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    triple: str | None = None
    claim: str | None = None
    good: float = 0.0
    bad: float = 0.0
    key: str | None = None
    own_ref: str | None = None
    borne_out: int = 0
    echo: int = 0
    after: str | None = None
    closed_by: str | None = None
    sight: int = PLAIN
    is_new: bool = False  # not written yet

    @property
    def known_as(self) -> str:
        """The key by which it is known on every path."""
        return self.ref if self.key is None else self.key

    @property
    def is_open(self) -> bool:
        """It is current, or visible again because what replaced it is hidden."""
        return self.until_seq is None or self.sight == BACK

    @property
    def is_kept_out(self) -> bool:
        """Recall leaves it out: it needs approval, or its source is not trusted."""
        return bool(self.quarantined) or self.sight == WITHHELD

    def lead(self, ref: str) -> None:
        """Make it part of another belief; its former identity stays known."""
        self.key, self.own_ref, self.ref = self.known_as, self.own_ref or self.ref, ref

    def proved(self) -> float:
        """Its confidence after use: the share of supporting evidence in all evidence."""
        if not self.good and not self.bad:
            return self.confidence
        bad = 0.0 if is_constitutional(self.kind, self.tags) else self.bad
        return (self.confidence * FAITH + self.good) / (FAITH + self.good + bad)


@dataclass(slots=True, eq=False, repr=False)
class Tie:
    """The reasons for an edge between two blocks. The fields are the columns of `ties`, in their order."""

    from_id: str
    to_id: str
    times: int = 0
    rests: int = 0
    related: int = 0
    since_seq: int | None = None
    at: str | None = None

    @property
    def is_stated(self) -> bool:
        return bool(self.rests or self.related)

    def settle(self, seq: int, at: str) -> None:
        """Decide whether it makes an edge after event `seq`."""
        if not (self.is_stated or self.times >= OFTEN):
            self.since_seq = self.at = None
        elif self.since_seq is None:
            self.since_seq, self.at = seq, at

    def edge(self) -> tuple[object, ...]:
        """The row of `edges`: a stated relation weighs 1, being served together up to half as much."""
        return self.from_id, self.to_id, weight_of(self.times, self.is_stated), self.times, self.at


def weight_of(times: int, is_stated: bool) -> float:
    """Weight of an edge between blocks that were served together so often."""
    return float(is_stated) + min(times, _ENOUGH) / (2 * _ENOUGH)


@dataclass(slots=True, eq=False, repr=False)
class Block:
    """One content of one user, on one path. The fields are those of `blocks` that the fold writes, and of `lives`."""

    id: str
    content: str
    category: str
    source: str
    created_at: str
    status: str
    archive_reason: str | None
    confidence: float
    reinforcement_count: int
    decay_lambda: float
    last_reinforced_at: float
    last_session_id: str | None
    user: str
    since_seq: int
    until_seq: int | None
    path: str = ""
    open: dict[str, Source] = field(default_factory=dict)
    is_new: bool = False

    def _speaking(self) -> list[Source]:
        """The open sources that count: the trusted ones, if there are any; of these, those that are no echo."""
        every = list(self.open.values())
        if len(every) == 1:
            return every
        heard = [source for source in every if not source.is_kept_out]
        return [source for source in heard if not source.echo] or heard or every

    def tags(self) -> list[str]:
        """The tags of its sources; an archived block has none."""
        found: dict[str, None] = {}
        for source in self._speaking():
            if source.tags:
                found.update(dict.fromkeys(orjson.loads(source.tags)))
        return sorted(found) if found else []

    def settle(self, seq: int, reason: str | None) -> bool:
        """Derive the block's state after event `seq` from its sources; True if that archived it."""
        if not self.open:
            gone = self.status != "archived"
            self.status, self.archive_reason = "archived", reason
            self.until_seq = seq
            return gone
        speaking = self._speaking()
        self.status = "inbox" if speaking[0].is_kept_out else "active"
        self.archive_reason = self.until_seq = None
        self.confidence = max(map(Source.proved, speaking))
        self.decay_lambda = min([source.decay for source in speaking])
        return False


source_change: Callable[[Source], tuple[object, ...]] = attrgetter(*SOURCE_STATE, "id")
block_change: Callable[[Block], tuple[object, ...]] = attrgetter(*BLOCK_STATE, "id")
tie_row: Callable[[Tie], tuple[object, ...]] = attrgetter(*Tie.__slots__)


# -- the address of a block: one content of one user, on one path ------------------------------------------------------
# Within the owner's memory the address is the SHA-256 of the content, stripped and in lowercase; its first sixteen
# digits are the block's id, as in any index of this layout. Everyone else's name goes into the hash, so that equal
# words of two users are two blocks; so does the name of a path, so that the words of a branch are never in the main
# line. The prefix has a capital letter, which no normalised content has, so no text of the owner's can spell another
# user's address, or a path's.
#
# Sixteen digits may collide. The whole address of a block is computed again from its content, and a block whose id is
# taken by another address takes the next sixteen digits of its own.

DIGITS = 16


def address(content: str, user: str = OWNER, path: str = "") -> str:
    """The 64 hexadecimal digits of one content of one user, on one path."""
    normalised = content.strip().lower()
    if path:
        normalised = f"P{len(user)}:{len(path)}:{user}{path}:{normalised}"
    elif user != OWNER:
        normalised = f"U{len(user)}:{user}:{normalised}"
    return sha256(normalised.encode("utf-8")).hexdigest()


def ids_for(whole: str) -> Iterator[str]:
    """The ids that a block at this address may have, in the order in which they are tried."""
    for start in range(0, len(whole), DIGITS):
        yield whole[start : start + DIGITS]
    yield whole


def content_hash(content: str) -> str:
    """The id of elfmem's block with this content: 64 bits, enough to tell 50,000 blocks apart."""
    try:
        return address(content)[:DIGITS]
    except UnicodeEncodeError:
        raise Refused("content holds a lone surrogate, which UTF-8 cannot encode; decode it again", "text") from None
