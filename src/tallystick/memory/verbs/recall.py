"""The part of `Memory` that asks: recall, and frames for a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tallystick.memory.recall.sessions import FrameStore
from tallystick.memory.verbs.maintain import MaintainVerbs
from tallystick.memory.verbs.trust import TrustVerbs
from tallystick.records.errors import Refused
from tallystick.records.frame import Frame
from tallystick.records.progress import Progress

if TYPE_CHECKING:
    from tallystick.memory.recall.evaluate import Questioned
    from tallystick.memory.recall.recall import RecallService
    from tallystick.records.embedder import Embedder
    from tallystick.records.evaluation import Verdicts
    from tallystick.records.filled_frame import FilledFrame
    from tallystick.records.history import Moment
    from tallystick.records.recall import RecallResult, Replayed



class RecallVerbs(MaintainVerbs, TrustVerbs):
    """What a memory answers. `Memory` is one."""

    _embedder: Embedder | str | None

    @cached_property
    def frames(self) -> FrameStore:
        """How to recall for a purpose: the built-in frames and your own."""
        return FrameStore(self._folder, self._gate)

    @cached_property
    def _recall(self) -> RecallService:
        from tallystick.memory.recall.recall import RecallService

        return RecallService(
            self._folder, self._index, self.receipts, self.user, embedder=self._embedder, tell=self._index.tell
        )  # fmt: skip

    def recall(
        self,
        question: str,
        *,
        k: int | None = None,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        path: str = "",
        believed_at: Moment | None = None,
        as_of: date | str | None = None,
        filters: Mapping[str, Any] | None = None,
        frame: str | Frame | None = None,
        without: str | Iterable[str] = (),
        floor: float | None = None,
        explain: bool = False,
        words: bool = False,
        quarantined: bool = False,
        receipt: bool | None = None,
        keep_question: bool = False,
        on_progress: Progress | None = None,
    ) -> RecallResult:
        """The memories that answer a question, the best first, each with the reason.

        If nothing reaches the `floor`, there are no hits, and `nearest` names what came closest. `believed_at` asks
        what would have been recalled then, `as_of` what was true then. `filters` narrows by tags, kinds, what, about,
        trust, since and until; `without` leaves beliefs, episodes, or everything of an `agent:NAME` out. `frame` weighs
        as that frame does. `words` searches without vectors. What came from tools and web pages and waits for a
        person's yes is shown only if `quarantined`. A `receipt` says what was served; without being told, as
        `tallystick.toml` says.
        """
        asked: dict[str, Any] = {
            "question": question, "k": k, "user": user, "session": session, "agent": agent, "path": path,
            "believed_at": believed_at, "as_of": as_of, "filters": filters, "frame": self._frame(frame),
            "without": without, "floor": floor, "explain": explain, "by_words": words, "quarantined": quarantined,
            "receipt": receipt, "keep_question": keep_question, "on_progress": on_progress,
        }  # fmt: skip
        return self._served(self._recall.recall(**asked), self._recall, self._user(user), asked)

    def frame(
        self,
        name: str | Frame,
        question: str = "",
        *,
        budget: int | None = None,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        path: str = "",
        believed_at: Moment | None = None,
        as_of: date | str | None = None,
        filters: Mapping[str, Any] | None = None,
        without: str | Iterable[str] = (),
        floor: float | None = None,
        quarantined: bool = False,
        receipt: bool | None = None,
        keep_question: bool = False,
    ) -> FilledFrame:
        """What an agent needs to know for a purpose, as text within a budget of tokens.

        Whatever the frame guarantees is in it, or named in `dropped` with what it would have needed.
        """
        if quarantined and self._gate.trust != "human":
            raise Refused(
                "what is pending is put into a frame for a person alone; leave `quarantined` out", "permission"
            )
        frame = self.frames.get(name) if isinstance(name, str) else name
        filled = self._recall.frame(
            question, frame=frame, budget=budget, user=user, session=session, agent=agent, path=path,
            believed_at=believed_at, as_of=as_of, filters=filters, without=without, floor=floor,
            quarantined=quarantined, receipt=receipt, keep_question=keep_question,
        )  # fmt: skip
        self._echoes.serve(self._user(user), filled.hits)
        return filled

    def replay(self, receipt: str, *, question: str = "") -> Replayed:
        """What a receipt says was served, the same question put again at that place, and what differs and why.

        If the receipt did not keep the question, it is put again as you give it.
        """
        from tallystick.memory.recall.replay import replay

        return replay(self._recall, self.receipts.get(receipt), self.frames, question)

    def embed(self, *, user: str | None = None, on_progress: Progress | None = None) -> int:
        """Make the vectors that are missing; return how many texts were looked at. Needed only for slow embedders."""
        return self._recall.embed(user=user, on_progress=on_progress)

    def missing_vectors(self, *, user: str | None = None) -> int:
        """How many texts have no vector yet and are found by their words alone; `embed` makes what is missing."""
        return self._recall.missing_vectors(user)

    @property
    def embedder(self) -> str:
        """Who makes the vectors that recall goes by, as is kept with each of them; empty if nobody does."""
        return self._recall.meaning.key

    def test(
        self, questions: str | Path | Iterable[Mapping[str, Any]], *, user: str | None = None,
        on_progress: Progress | None = None,
    ) -> Verdicts:  # fmt: skip
        """Put questions whose answers are known, and say which memories were found and which were not.

        They are a file (`tallystick test --help` tells its form), or mappings with the same keys. Nothing is written.
        """
        from tallystick.memory.recall.evaluate import put_all

        return put_all(cast("Questioned", self), questions, user=self._user(user), on_progress=on_progress)

    def _frame(self, frame: str | Frame | None) -> Frame | None:
        from tallystick.memory.core.arguments import check_frame

        found = self.frames.get(frame) if isinstance(frame, str) else frame
        if found is not None:
            check_frame(found)
        return found
