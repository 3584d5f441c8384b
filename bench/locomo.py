"""How well recall finds the turns that answer, on conversations with questions.

    python bench/locomo.py DATA [--model FOLDER] [--parts] | --tiny

DATA is a JSON list of conversations: `name`, `people`, `turns` (`id`, `session`, `at`, `speaker`, `text`, `caption`)
and `questions` (`question`, `evidence`, `category`: 1 several hops, 2 time, 3 inference, 4 one hop, 5 adversarial).
Such a file is not part of this project; `--tiny` makes up two short conversations. Each turn is an episode, each
conversation a user, each speaker an agent; each question is asked as it stands. No label is used in recall.

One table: full text alone, vectors alone, plain rank fusion, recall as it is, and with --parts recall less each of its
signals. With --model also by the model in that folder.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import TINY, options_of

from tallystick import Memory
from tallystick.models.registry import choose
from tallystick.projections.index.file import IndexFile
from tallystick.projections.index.search import Scope, search, sources_of, words_of
from tallystick.recall.pipeline import Ask, Ranking, answer, rank
from tallystick.recall.signals import SIGNALS
from tallystick.recall.vectors import VectorSearch
from tallystick.records.clock import stamp

K = 20
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_AT = re.compile(r"(\d+):(\d+) ([ap]m) on (\d+) (\w+), (\d+)")
_PARTS = {
    "soft words": {"words", "session"}, "the very words": {"text"},
    "vectors": {"meaning", "pair"}, "the session's best": {"session"},
    "who speaks": {"speaker"}, "dates": {"date", "when"}, "form": {"naming", "answers", "asks"},
}  # fmt: skip


@dataclass(frozen=True)
class Question:
    text: str
    evidence: tuple[str, ...]
    category: int


@dataclass(frozen=True)
class Conversation:
    name: str
    people: tuple[str, ...]
    turns: tuple[dict[str, Any], ...]
    questions: tuple[Question, ...]


@dataclass
class Scores:
    """What was found, by category."""

    rows: list[tuple[int, np.ndarray]] = field(default_factory=list)

    def add(self, category: int, ranked: Sequence[Iterable[str]], evidence: Iterable[str]) -> None:
        wanted = set(evidence)
        hit = np.array([bool(set(each) & wanted) for each in ranked[:K]] + [False] * (K - len(ranked[:K])), float)
        discount = 1 / np.log2(np.arange(2, 12))
        ideal = discount[: len(wanted)].sum()
        found = [hit[:k].sum() / len(wanted) for k in (5, 10, 20)]
        first = np.flatnonzero(hit)
        more = [(hit[:10] * discount).sum() / ideal, hit[:10].any(), 1 / (first[0] + 1) if len(first) else 0.0]
        self.rows.append((category, np.array([*found, *more])))

    def join(self, other: Scores) -> None:
        self.rows += other.rows

    def mean(self, *categories: int) -> np.ndarray:
        rows = [row for category, row in self.rows if category in categories]
        return np.mean(rows, axis=0) if rows else np.zeros(6)


def conversations(path: Path | None) -> list[Conversation]:
    if TINY and path is None:
        return [_made_up(name, other) for name, other in (("Ana", "Bob"), ("Cleo", "Dan"))]
    if path is None or not path.is_file():
        sys.exit(f"no such file: {path or 'DATA'}; this bench needs a file of conversations, which is not shipped")
    return [
        Conversation(
            each["name"], tuple(each["people"]), tuple(each["turns"]),
            tuple(Question(q["question"], tuple(q["evidence"]), q["category"]) for q in each["questions"]),
        )
        for each in orjson.loads(path.read_bytes())
    ]


def _made_up(name: str, other: str) -> Conversation:
    """A conversation of a few turns, each of which answers one question."""
    things = ("a violin", "the blue bicycle", "an old map", "a camera", "two lamps", "the garden chairs")
    turns = tuple(
        {"id": f"{name}-{number}", "session": number // 3, "at": f"1:{number:02} pm on {number + 1} May, 2023",
         "speaker": (name, other)[number % 2], "text": f"I bought {thing} in {place} last week."}
        for number, (thing, place) in enumerate(zip(things, _MONTHS, strict=False))
    )  # fmt: skip
    questions = tuple(
        Question(f"Where did {(name, other)[number % 2]} buy {thing}?", (f"{name}-{number}",), number % 5 + 1)
        for number, thing in enumerate(things)
    )  # fmt: skip
    return Conversation(name, (name, other), turns, questions)


def moment(text: str) -> datetime:
    said = _AT.match(text)
    assert said is not None
    hour = int(said[1]) % 12 + 12 * (said[3] == "pm")
    return datetime(int(said[6]), _MONTHS.index(said[5]) + 1, int(said[4]), hour, int(said[2]), tzinfo=UTC)


def observe(memory: Memory, told: Sequence[Conversation]) -> None:
    """Each turn an episode; then whatever vectors are missing."""
    for conversation in told:
        with memory.batch():
            for turn in conversation.turns:
                text = " ".join(filter(None, (turn["text"], turn.get("caption"))))
                memory.observe(
                    text, id=turn["id"], user=conversation.name, session=str(turn["session"]), agent=turn["speaker"],
                    at=moment(turn["at"]),
                )  # fmt: skip
        memory.embed(user=conversation.name)


@dataclass(frozen=True)
class Opened:
    """A memory, and beside it what its recall goes by: the index, and the vectors."""

    memory: Memory
    index: IndexFile
    meaning: VectorSearch

    def ask(self, question: str, user: str, *, by_words: bool = False, drop: Iterable[str] = ()) -> Ask:
        now = datetime.now(UTC)
        scope = Scope(user, now=stamp(now))
        return Ask(question, scope, now, K, floor=0.0, by_words=by_words, drop=frozenset(drop))

    def rank(self, question: str, user: str, *, by_words: bool = False) -> Ranking | None:
        """Every candidate, however little it answers."""
        return rank(self.index, self.meaning, self.ask(question, user, by_words=by_words))


@contextmanager
def opened(memory: Memory, embedder: str | None = None, *, words: bool = True) -> Iterator[Opened]:
    """What is beside an open memory. Without `words`, as where there are no static vectors of words."""
    memory.recall("", receipt=False)  # the index is there, and level
    index = IndexFile(memory.folder / "state.db")
    chosen = choose(embedder) if embedder else choose()
    try:
        yield Opened(memory, index, VectorSearch(chosen, choose() if words else None, memory.folder / "vectors"))
    finally:
        index.close()


Find = Callable[[Opened, str, str], list[tuple[str, ...]]]


def by_recall(at: Opened, question: str, user: str) -> list[tuple[str, ...]]:
    return [hit.sources for hit in at.memory.recall(question, k=K, user=user)]


def by_words(at: Opened, question: str, user: str) -> list[tuple[str, ...]]:
    return [hit.sources for hit in at.memory.recall(question, k=K, user=user, words=True)]


def by_text(at: Opened, question: str, user: str) -> list[tuple[str, ...]]:
    """FTS5 and the question as it is."""
    return _turns(at, user, _texts(at, question, user)[:K])


def by_vectors(at: Opened, question: str, user: str) -> list[tuple[str, ...]]:
    return _turns(at, user, _near(at, question, user)[:K])


def by_ranks(at: Opened, question: str, user: str) -> list[tuple[str, ...]]:
    """Plain rank fusion: the sum of 1 / (60 + rank) of text and of vectors."""
    score: dict[str, float] = {}
    for ranked in (_texts(at, question, user), _near(at, question, user)):
        for place, block in enumerate(ranked):
            score[block] = score.get(block, 0.0) + 1 / (61 + place)
    return _turns(at, user, sorted(score, key=lambda block: -score[block])[:K])


def _texts(at: Opened, question: str, user: str) -> list[str]:
    return [each.block for each in search(at.index, words_of(question), Scope(user), 100)]


def _near(at: Opened, question: str, user: str) -> list[str]:
    vectors = at.meaning.level(at.index, user, 0)
    assert vectors is not None
    assert at.meaning.embedder is not None
    return [block for block, _ in vectors.nearest(at.meaning.embedder.embed([question])[0], 100, None)]


def _turns(at: Opened, user: str, blocks: list[str]) -> list[tuple[str, ...]]:
    said = sources_of(at.index, blocks, Scope(user))
    return [tuple(source.name or source.id for source in said[block]) for block in blocks if block in said]


def less(*signals: str) -> Find:
    """Recall without some of its signals, and without its floor."""

    def find(at: Opened, question: str, user: str) -> list[tuple[str, ...]]:
        return [hit.sources for hit in answer(at.index, at.meaning, at.ask(question, user, drop=signals))]

    return find


def run(at: Opened, told: Sequence[Conversation], find: Find) -> tuple[Scores, list[float]]:
    scores, times = Scores(), []
    for conversation in told:
        for question in conversation.questions:
            start = time.perf_counter()
            ranked = find(at, question.text, conversation.name)
            times.append(time.perf_counter() - start)
            scores.add(question.category, ranked, question.evidence)
    return scores, times


def summary(scores: Scores) -> list[float]:
    every = scores.mean(1, 2, 3, 4)
    each = [scores.mean(category)[1] for category in (1, 3, 5, 2, 4)]
    return [every[0], every[1], every[3], *each, every[2], every[4], every[5]]


def header() -> str:
    names = ("r@5", "r@10", "NDCG", "hops", "infer", "advers", "time", "one hop", "r@20", "hit@10", "MRR")
    return f"{'':<40} " + " ".join(f"{name:>7}" for name in names)


def line(name: str, row: Sequence[float]) -> str:
    return f"{name:<40} " + " ".join(f"{value:7.3f}" for value in row)


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("data", type=Path, nargs="?")
    options.add_argument("--model", type=Path, help="a folder with model.onnx and tokenizer.json")
    options.add_argument("--parts", action="store_true", help="also recall less each of its parts")
    given = options.parse_args()
    told = conversations(given.data)
    print(header())
    runs = [("", None)] + ([(", model", f"onnx:{given.model}")] if given.model else [])
    for name, embedder in runs:
        with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "memory", embedder=embedder) as memory:
            observe(memory, told)
            finds: dict[str, Find] = {"recall": by_recall, "vectors alone": by_vectors, "rank fusion": by_ranks}
            if not name:
                finds = {"full text alone": by_text, "recall by words": by_words, **finds}
            if given.parts or given.tiny:
                finds |= {"recall without its floor": less()}
                finds |= {f"recall less {part}": less(*signals) for part, signals in _PARTS.items()}
                finds |= {f"recall less the signal {signal}": less(signal) for signal in SIGNALS}
            with opened(memory, embedder) as at:
                for what, find in finds.items():
                    scores, times = run(at, told, find)
                    middle = f"  {np.median(times) * 1e3:.1f} ms" if find is by_recall else ""
                    print(line(f"{what}{name}", summary(scores)) + middle, flush=True)


if __name__ == "__main__":
    main()
