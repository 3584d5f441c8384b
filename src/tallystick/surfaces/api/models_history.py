"""What the API gives of a memory's own story: how it stands, how a belief came about, the ledger, what was recalled."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from tallystick.surfaces.api.base_model import Shape, shaped
from tallystick.surfaces.api.belief_models import BELIEF, HIT, Belief, Hit

AT = "2026-05-03T14:00:00.000000Z"
HASH = "67069282a2d256d25d7c7f64bf98fc0921ec8fde9b741fecf62b535778932515"
EVENT = {
    "seq": 12, "ts": AT, "op": "belief.put/1", "id": "01M7GSWGSZAW423E380M2Y2B9Y", "by": "http:local", "hash": HASH,
    "body": {"belief": {"id": "20260503-1400-c4f1a5", "text": "Ana prefers tea"}},
}  # fmt: skip
RECEIPT = {
    "id": "01M7GSWHGE138E3370ZEFCHPVA", "at": AT, "head": [12, HASH], "hits": [["20260503-1400-c4f1a5", 0.93]], "k": 5,
    "frame": "", "embedder": "", "question": "", "asked": {},
}  # fmt: skip


class PendingReview(Shape):
    """A question that waits for a person's yes, in short."""

    model_config = shaped(id="r-20260503-1401-c6ba9a", asks="forget c4f1a5", trust="agent")
    id: str = Field(description="The review's.")
    asks: str = Field(description="What is asked for.")
    trust: str = Field(description="Of whoever asks.")


class Status(Shape):
    """A memory at a glance."""

    model_config = shaped(
        folder="/home/ana/.tallystick", beliefs=12, forgotten=1, events=20, ledger="86682cf7f40d14d2a228e932a2c37540",
        last=AT, writable=True, trouble="", warning="", checkpoint=None, checkpoint_at="", by="http:local", learned=3,
        episodes=5, pages=4, entities=3, paths=0, vectors=17, waiting=0, reviews=[], size=743307,
        times="",
    )  # fmt: skip
    folder: str = Field(description="Where it is.")
    beliefs: int = Field(description="How many are held.")
    forgotten: int = Field(description="How many were put out of sight.")
    events: int = Field(description="How many the ledger has.")
    ledger: str = Field(description="Its id.")
    last: str = Field(description="Time of the last event.")
    writable: bool = Field(description="Whether it can be written to.")
    trouble: str = Field(description="What is wrong, or empty.")
    warning: str = Field(description="A risky place, or empty.")
    checkpoint: int | None = Field(description="How many events the pin covers.")
    checkpoint_at: str = Field(description="When it was taken.")
    by: str = Field(description="Through which door the last write came.")
    learned: int = Field(description="Beliefs of the last seven days.")
    episodes: int = Field(description="How many there are.")
    pages: int = Field(description="How many there are.")
    entities: int | None = Field(description="Who or what was spoken about; null while there is no index.")
    paths: int = Field(description="Branches.")
    vectors: int = Field(description="Texts that have one.")
    waiting: int = Field(description="Questions for a person.")
    reviews: list[PendingReview] = Field(description="The first few of these.")
    size: int = Field(description="Bytes of the folder.")
    times: str = Field(description="What is wrong with the times of events, or empty.")


class Version(Shape):
    """One step in a belief's life."""

    model_config = shaped(seq=12, at=AT, op="belief.put/1", by="http:local", belief=BELIEF)
    seq: int = Field(description="The event.")
    at: str = Field(description="When.")
    op: str = Field(description="What was done.")
    by: str = Field(description="Through which door.")
    belief: Belief = Field(description="As it was then.")


class Change(Shape):
    """What one belief was at two moments."""

    model_config = shaped(key="ana-drinks", what="added", before=None, after=BELIEF)
    key: str = Field(description="The belief's.")
    what: str = Field(description="added, gone or changed.")
    before: Belief | None = Field(description="null, where it was not held.")
    after: Belief | None = Field(description="null, where it is not held.")


class Why(Shape):
    """The reasons for a belief's standing, down to what it rests on."""

    model_config = shaped(belief=BELIEF, because=["revised: she said so"], rests_on=[])
    belief: Belief = Field(description="The belief.")
    because: list[str] = Field(description="Why it stands as it does.")
    rests_on: list[Why] = Field(description="The same of what it rests on.")


class Event(Shape):
    """What was recorded, and where."""

    model_config = shaped(**EVENT)
    seq: int = Field(description="Its number.")
    ts: str = Field(description="When.")
    op: str = Field(description="What sort it is.")
    id: str = Field(description="Its id.")
    by: str = Field(description="Through which door.")
    hash: str = Field(description="Its hash, which covers all before it.")
    body: dict[str, Any] | None = Field(description="What it says; null, if it was erased.")


class AuditLine(Shape):
    """One act, without words of the memory."""

    model_config = shaped(
        seq=12, at=AT, by="http:local", action="remember", op="belief.put/1", hash=HASH, outcome="applied",
        subject=["20260503-1400-c4f1a5"], approval=None, trust="agent", schema_version=1,
    )  # fmt: skip
    seq: int = Field(description="The event.")
    at: str = Field(description="When.")
    by: str = Field(description="Through which door, and by which source.")
    action: str = Field(description="What was done, in plain words.")
    op: str = Field(description="The event's sort.")
    hash: str = Field(description="The event's hash.")
    outcome: str = Field(description="applied, held or refused.")
    subject: list[str] = Field(description="The ids that it was done to.")
    approval: dict[str, Any] | None = Field(description="The yes that it rests on.")
    trust: str = Field(description="With which trust it was said.")
    schema_version: int = Field(description="Of this shape.")


class Proof(Shape):
    """That an event is in the ledger, for someone who has only the key to check it with."""

    model_config = shaped(event=EVENT, proof="c2sp.org/tlog-proof@v1\n…", key="tallystick/…+…")
    event: Event = Field(description="The event.")
    proof: str = Field(description="The proof, as text.")
    key: str = Field(description="The verifier key. Not a secret.")


class Note(Shape):
    """A signed statement of the ledger's size, head and root."""

    model_config = shaped(note="tallystick/86682cf7…\n21\n…", key="tallystick/…+…")
    note: str = Field(description="The checkpoint, as text.")
    key: str = Field(description="The verifier key. Not a secret.")


class Report(Shape):
    """What reading every line of the ledger found."""

    model_config = shaped(
        ok=True, events=21, first=0, last=20, head=HASH, root=None, witnesses=["the lock file, at event 20"],
        outside=False, bad=None, notes=[],
    )  # fmt: skip
    ok: bool = Field(description="Whether all is as it should be.")
    events: int = Field(description="How many were read.")
    first: int = Field(description="The first.")
    last: int = Field(description="The last.")
    head: str = Field(description="The last one's hash.")
    root: str | None = Field(description="Of the Merkle tree, where it was computed.")
    witnesses: list[str] = Field(description="Who was asked.")
    outside: bool = Field(description="Whether one of them is outside the folder.")
    bad: dict[str, Any] | None = Field(description="The first thing that is wrong.")
    notes: list[str] = Field(description="What else to know.")


class Finding(Shape):
    """One thing that is wrong with the folder, and the way out."""

    model_config = shaped(
        code="index-behind", place="index.db", severity="note", text="it lags behind", remedy="nothing to do"
    )
    code: str = Field(description="What it is called.")
    place: str = Field(description="Where it is.")
    severity: str = Field(description="error, warning or note.")
    text: str = Field(description="What is wrong.")
    remedy: str = Field(description="The way out.")


class Findings(Shape):
    """All that is wrong with the folder, the worst first."""

    model_config = shaped(findings=[])
    findings: list[Finding] = Field(description="Empty, if it is well.")


class Receipt(Shape):
    """What one recall served."""

    model_config = shaped(**RECEIPT)
    id: str = Field(description="Its id.")
    at: str = Field(description="When it was asked.")
    head: list[Any] = Field(description="Number and hash of the last event that the answer was made from.")
    hits: list[list[Any]] = Field(description="Pairs: the id of a source, its score.")
    k: int = Field(description="How many were wanted.")
    frame: str = Field(description="The frame's name.")
    embedder: str = Field(description="Who made the vectors.")
    question: str = Field(description="Only if it was to be kept.")
    asked: dict[str, Any] = Field(description="Everything else that was asked.")


class Replayed(Shape):
    """A recorded answer beside the same question put again."""

    model_config = shaped(
        receipt="01M7GSWHGE138E3370ZEFCHPVA", question="what does Ana prefer?", is_the_same=True, served=[HIT],
        again=[HIT], differs=[], notes=[],
    )  # fmt: skip
    receipt: str = Field(description="Its id.")
    question: str = Field(description="Empty, if it was not kept: then nothing was put again.")
    is_the_same: bool = Field(description="Whether it was answered alike.")
    served: list[Hit | str] = Field(description="As recorded; the id alone where the words are gone.")
    again: list[Hit] = Field(description="The hits now.")
    differs: list[str] = Field(description="What differs.")
    notes: list[str] = Field(description="What cannot be as it was then.")
