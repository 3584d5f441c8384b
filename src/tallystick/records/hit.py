"""A hit: one memory that answers a question, and why it does."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.display import Displayable
from tallystick.records.transfer import FOREIGN, IMPORT


@dataclass(frozen=True, slots=True)
class Hit(Displayable):
    """What was recalled. `id` is a belief's or an episode's: `show` and `forget` take both; `revise`, a belief's."""

    id: str
    text: str  # as it was said
    score: float  # how well it answers, from 0 to 1
    why: str
    what: str  # belief or episode
    kind: str
    trust: str
    about: str
    confidence: float
    at: str  # when it was recorded; of an episode, when it happened
    seq: int
    sources: tuple[str, ...]  # every belief or episode that says it, this one first
    signals: dict[str, float]  # what speaks for it, each from 0 to 1
    agent: str = ""  # who said it
    session: str = ""
    tags: tuple[str, ...] = ()
    block: str = ""  # the row of the index that holds its words
    is_standing: bool = False  # an instruction, a preference, or what is always served
    triple: tuple[str, ...] = ()  # subject, predicate, object, where its belief names them
    by: str = ""  # through which door it came, and its source there: mcp:3f9a
    via: str = ""  # the hit that it is related to: it does not answer itself, and comes behind what does
    relation: str = ""  # how, in the words of whoever said so

    @property
    def source_kind(self) -> str:
        """What kind of source it comes from: its trust; `import`, where another memory's words were approved."""
        return "import" if self.by.startswith(IMPORT) and self.trust == FOREIGN else self.trust

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else self.text[:57] + "…"
        return f"<Hit {self.id} {text!r} {self.score:.2f}: {self.why}>"
