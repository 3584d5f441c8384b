"""Whether recall in a small memory answers what it can and says nothing where it cannot.

    python bench/small.py [--model FOLDER] [--list] [--learn]

Memories of 1 to 100 beliefs. Half of the questions have an answer there, in its words or in others; the other half ask
something of a known person that nobody ever said, ask of the wrong person, or have to do with nothing. Two sets of
questions: one that the rules of recall were made with, and one that they never saw. `--list` prints what went wrong.
`--learn` prints the constants by which a belief is judged, learned from the first set alone: a logistic, in which what
does not answer counts double. That who names others says nothing is held to be so, and is not printed.

Printed for each size: how many questions with an answer got it first, how many got it at all, and of how many without
one recall said that nothing fits.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import small_data as data
from locomo import opened
from measure import TINY, options_of

from tallystick import Memory

SIZES = (3,) if TINY else (1, 3, 10, 30, 100)
ASKED = slice(None, None, 20 if TINY else 1)  # every so many of the questions
NAMES = ("bias", "rest", "near", "others", "nobody")
SETS = {
    "made with": (data.LEARNED, data.BESIDE, data.NOT_KNOWN, data.OFF),
    "never seen": (data.HELD_OUT, data.BESIDE_HELD_OUT, data.NOT_KNOWN_HELD_OUT, data.OFF_HELD_OUT),
}


@dataclass(frozen=True)
class Asked:
    """A question, what is remembered beforehand, and which of it answers; none if empty."""

    kind: str
    question: str
    told: tuple[str, ...]
    answer: str


def asked(name: str, size: int) -> Iterator[Asked]:
    """Every question of a set, put to a memory of this size; drawn the same way each time."""
    rows, beside, unknown, off = SETS[name]
    draw = random.Random(f"{name} {size}")

    def told(*first: str) -> tuple[str, ...]:
        others = [row[0] for row in (*data.LEARNED, *data.HELD_OUT) if row[0] not in first] + list(data.FILLING)
        chosen = [*first, *draw.sample(others, size - len(first))]
        draw.shuffle(chosen)
        return tuple(chosen)

    for statement, question in beside:
        yield Asked("beside a name", question, told(statement), statement)
    for place, (statement, same, other) in enumerate(rows):
        yield Asked("its words", same, told(statement), statement)
        yield Asked("other words", other, told(statement), statement)
        person = statement.split()[0].removesuffix("'s")
        if person in ("The", "Deployments", "Backups", "Logs"):
            yield Asked("off topic", off[place % len(off)], told(statement), "")
            continue
        yield Asked("not known", unknown[place % len(unknown)].format(person), told(statement), "")
        for question in (each for each in (same, other) if person in each):
            known, name = _someone_else(rows, person, draw)
            both = (statement, known) if size > 1 else (statement,)
            yield Asked("wrong person", question.replace(person, name), told(*both), "")


def _someone_else(rows: Sequence[data.Row], person: str, draw: random.Random) -> tuple[str, str]:
    """Of whom the same is asked, and what is known of them."""
    people = [row[0] for row in rows if row[0].split()[0] not in ("The", "Deployments", "Backups", "Logs")]
    wrong = draw.choice([each for each in people if not each.startswith(person)])
    return wrong, wrong.split()[0].removesuffix("'s")


def put(each: Asked, embedder: str | None) -> tuple[bool, bool, str]:
    """Whether the answer came first, whether it came, and what was said."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "memory", embedder=embedder) as memory:
        _tell(memory, each)
        found = memory.recall(each.question)
    texts = [hit.text for hit in found]
    said = f"{found.fit:.2f} {texts[0] if texts else 'nothing; nearest ' + ''.join(h.text for h in found.nearest[:1])}"
    if not each.answer:
        return not texts, not texts, said
    return texts[:1] == [each.answer], each.answer in texts, said


def examples(embedder: str | None) -> Iterator[tuple[list[float], bool]]:
    """What is measured of the right belief, and of the two best wrong ones; whether it is the right one."""
    for size in SIZES:
        for each in list(asked("made with", size))[ASKED]:
            with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "memory", embedder=embedder) as memory:
                _tell(memory, each)
                with opened(memory, embedder) as at:
                    found = at.rank(each.question, memory.user)
            for rank, place in enumerate(found.order if found else ()):
                rest, is_right = found.measured.rest, found.states[found.measured.blocks[place]].content == each.answer
                if is_right or rank < 2:
                    names = float(rest.others[place]), float(rest.nobody[place])
                    yield [1.0, rest.covers[place] ** 0.5, rest.near[place], *names], is_right


def learn(embedder: str | None) -> dict[str, float]:
    rows = list(examples(embedder))
    x, y = np.array([row for row, _ in rows]), np.array([float(right) for _, right in rows])
    weight = np.where(y > 0, 1 / y.sum(), 2 / (1 - y).sum()) * len(y) / 3
    w = np.zeros(x.shape[1])
    for _ in range(60):
        p = 1 / (1 + np.exp(-(x @ w)))
        second = (x * (weight * p * (1 - p))[:, None]).T @ x + 1e-2 * np.eye(len(w))
        w -= np.linalg.solve(second, x.T @ (weight * (p - y)) + 1e-2 * w)
    return {name: round(float(value), 3) for name, value in zip(NAMES, w, strict=True) if name != "others"}


def _tell(memory: Memory, each: Asked) -> None:
    with memory.batch():
        for text in each.told:
            memory.remember(text)
    memory.embed()


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--model", type=Path, help="a folder with model.onnx and tokenizer.json")
    parser.add_argument("--list", action="store_true", help="print each question that went wrong")
    parser.add_argument("--learn", action="store_true", help="print what is learned from the first set")
    given = parser.parse_args()
    embedder = f"onnx:{given.model}" if given.model else None
    if given.learn or given.tiny:
        print(learn(embedder))
    if given.learn:
        return
    kinds = ("its words", "other words", "beside a name", "not known", "wrong person", "off topic")
    print(f"{'':<24}" + "".join(f"{kind:>16}" for kind in kinds) + f"{'answered':>12}{'refused':>10}")
    for name in SETS:
        for size in SIZES:
            results = [(each, *put(each, embedder)) for each in list(asked(name, size))[ASKED]]
            cells = []
            for kind in kinds:
                mine = [(first, came) for each, first, came, _ in results if each.kind == kind]
                cells.append(f"{sum(f for f, _ in mine):>6}/{sum(c for _, c in mine)}/{len(mine)}".rjust(16))
            with_answer = [came for each, _, came, _ in results if each.answer]
            without = [came for each, _, came, _ in results if not each.answer]
            shares = sum(with_answer) / len(with_answer), sum(without) / len(without)
            print(f"{f'{name}, {size}':<24}{''.join(cells)}{shares[0]:>12.2f}{shares[1]:>10.2f}", flush=True)
            if given.list:
                for each, first, _, said in results:
                    if not first:
                        print(f"    {each.kind}: {each.question}  →  {said}   [{each.answer}]")


if __name__ == "__main__":
    main()
