"""A hit: one memory that answers a question, and why."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.display import Displayable, short
from tallystick.records.transfer import FOREIGN, IMPORT


@dataclass(frozen=True, slots=True)
class Hit(Displayable):
    """A recalled memory. `id` is a belief's or an episode's: `show` and `forget` take both; `revise`, a belief's."""

    id: str
    text: str  # verbatim
    score: float  # how well it answers, from 0 to 1
    why: str
    what: str  # belief or episode
    kind: str
    trust: str
    about: str
    confidence: float
    at: str  # when it was recorded; of an episode, when it happened
    seq: int
    sources: tuple[str, ...]  # every belief or episode that states it, this one first
    signals: dict[str, float]  # what supports it, each from 0 to 1
    agent: str = ""  # who said it
    session: str = ""
    tags: tuple[str, ...] = ()
    block: str = ""  # the row of the index that holds its words
    is_standing: bool = False  # an instruction, a preference, or what is always served
    triple: tuple[str, ...] = ()  # subject, predicate, object, where its belief names them
    by: str = ""  # the client that wrote it: mcp:3f9a
    via: str = ""  # the hit that it is related to; it does not answer by itself, and ranks after those that do
    relation: str = ""  # to that hit, as it was stated

    @property
    def source_kind(self) -> str:
        """The kind of its source: its trust; `import`, where another memory's statements were approved."""
        return "import" if self.by.startswith(IMPORT) and self.trust == FOREIGN else self.trust

    def __repr__(self) -> str:
        return f"<Hit {self.id} {short(self.text)!r} {self.score:.2f}: {self.why}>"
