"""Replay: a recorded query again, at the place of the ledger where it was asked.

The beliefs of then are known to the event. What is not: how often a memory had been used and how fresh it was, how rare
words were in a large folder, and frames that were redefined since. Those are today's, and the answer says so.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tallystick.memory.core.arguments import NOW
from tallystick.memory.recall.sessions import FrameStore
from tallystick.records.errors import NotFound
from tallystick.records.recall import BLANK, Hit, Query, Receipt, Replayed

if TYPE_CHECKING:
    from tallystick.memory.recall.recall import RecallService

_TODAYS = "how used and fresh a memory is, and in a large folder how rare words are, are today's"
_CLOSE = 0.005  # scores that differ by less are the same


def replay(recall: RecallService, receipt: Receipt, frames: FrameStore, question: str = "") -> Replayed:
    """The recorded answer, the answer now, and what differs."""
    asked, given = receipt.question or question, dict[str, Any](receipt.asked)
    recorded = recall.served(receipt)
    if not given.pop(BLANK, False) and not asked:
        note = "the question was not kept: give it, to put it again"
        return Replayed(receipt.id, "", recorded, (), (), (note,), was_put=False)
    notes = [_TODAYS]
    if receipt.frame:
        try:
            given["frame"] = frames.get(receipt.frame)
        except NotFound:
            note = f"the frame {receipt.frame} is gone; put again without it"
            notes.append(note)
    if receipt.embedder:
        recall.embed(user=receipt.user)  # what was answered with vectors is not compared with words
    if receipt.embedder and receipt.embedder != recall.meaning.key:
        notes.append(f"the vectors were made by {receipt.embedder}, and are by {recall.meaning.key or 'nobody'} now")
    again, sources = _again(recall, receipt, asked, given)
    notes += _moved(receipt, again, sources)
    differs = tuple(_differences(receipt, recorded, again, sources))
    return Replayed(receipt.id, asked, recorded, tuple(again), differs, tuple(notes))


def _again(
    recall: RecallService, receipt: Receipt, question: str, given: dict[str, Any]
) -> tuple[list[Hit], list[str]]:  # fmt: skip
    budget, frame = given.pop("budget", None), given.pop("frame", None)
    then = datetime.fromisoformat(given.pop(NOW, receipt.at))
    given.setdefault("believed_at", receipt.head[0])
    query = Query(question, receipt.user, k=receipt.k or None, frame=frame, **given)
    if frame is not None and receipt.k == 0:
        filled, sources, *_ = recall.filled(recall.asking(replace(query, k=None), then), frame, budget)
        return list(filled.hits), sources
    found = recall.answered(recall.asking(query, then))
    return list(found), list(found.served)


def _moved(receipt: Receipt, again: list[Hit], sources: list[str]) -> list[str]:
    """By how much scores moved at most, which statistics alone can do."""
    now = {source: hit.score for source, hit in zip(sources, again, strict=True)}
    limit = max((abs(now[source] - score) for source, score in receipt.hits if source in now), default=0.0)
    return [f"scores moved, by {limit:.3f} at most"] if limit > _CLOSE else []


def _differences(
    receipt: Receipt, recorded: tuple[Hit | str, ...], again: list[Hit], sources: list[str]
) -> list[str]:  # fmt: skip
    """What differs, a line each."""
    before, after = [source for source, _ in receipt.hits], sources
    scores = dict(zip(sources, again, strict=True))
    found = []
    for place, source in enumerate(before):
        hit = recorded[place]
        if isinstance(hit, str):
            found.append(f"{source} was served, and its words are gone")
        elif source not in scores:
            found.append(f"{hit.id} was served, and would not be: other memories score above it now")
    found += [f"{hit.id} was not served, and would be" for source, hit in scores.items() if source not in before]
    if not found and before != after:
        found.append("the same memories, in another order")
    return found
