"""Learn the weights of recall's fusion from conversations with known answers, and write them as data.

    python bench/fusion.py DATA [--model FOLDER] [--write]

DATA is a file of conversations as `bench/locomo.py` takes it. For each kind of embedder: listwise softmax over the
program's own candidates with a small penalty, judged by leaving one conversation out at a time. Then how well a
question is answered at all: a logistic of two bare numbers of the best candidate, learned from questions put to their
own conversation and to another one; and the floor, below which one question in two hundred that has an answer falls.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent))

from locomo import Conversation, Opened, Scores, conversations, header, line, observe, opened, summary
from measure import options_of, sized

from tallystick import Memory
from tallystick.recall import fusion
from tallystick.recall.pipeline import Ranking
from tallystick.recall.signals import SIGNALS

PENALTY = 1e-3
ADVERSARIAL = 0.25  # how much a question that names the wrong speaker counts
MOST = 150  # candidates of a question that are learned from
FIT = ("words", "near", "date")
SMALL, ASKED = sized(12, 3), sized(40, 3)  # turns in a small memory, and how many such memories of a conversation
FEW_REFUSED = 0.02  # the same in a small memory, where a poor best is often noise
REFUSED = 0.005  # of the questions that have an answer, the share that the floor may cost
WEIGHTS = Path(fusion.__file__).parent / "weights.json"


@dataclass
class Case:
    """One question and its candidates."""

    conversation: int
    category: int
    evidence: frozenset[str]
    said: list[frozenset[str]]  # turns that each candidate stands for
    signals: np.ndarray
    near: np.ndarray  # bare cosines
    fit: np.ndarray  # the bare numbers of the best candidate


def case(ranking: Ranking | None, number: int, category: int, evidence: Sequence[str]) -> Case | None:
    if ranking is None:
        return None
    found, measured = ranking.found, ranking.measured
    whole = ranking.view.whole(found.sources, ranking.scope)
    said = [frozenset(source.name or source.id for source in whole[block]) for block in measured.blocks]
    signals = np.stack([measured.signals[name] for name in SIGNALS], axis=1)
    best = ranking.order[0]
    fit = np.array([measured.signals["words"][best], measured.near[best], measured.signals["date"][best]])
    return Case(number, category, frozenset(evidence), said, signals, measured.near, fit)


def collect(at: Opened, told: Sequence[Conversation], *, by_words: bool) -> Iterator[Case]:
    for number, conversation in enumerate(told):
        for question in conversation.questions:
            ranking = at.rank(question.text, conversation.name, by_words=by_words)
            if made := case(ranking, number, question.category, question.evidence):
                yield made


def strangers(at: Opened, told: Sequence[Conversation], *, by_words: bool) -> Iterator[Case]:
    """The same questions, put to a conversation that has nothing to do with them."""
    for number, conversation in enumerate(told):
        other = told[(number + 1) % len(told)]
        for question in conversation.questions:
            text = question.text
            for mine, theirs in zip(conversation.people, other.people, strict=False):
                text = text.replace(mine, theirs)
            ranking = at.rank(text, other.name, by_words=by_words)
            if made := case(ranking, number, 0, ()):
                yield made


def _batch(cases: Sequence[Case], columns: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    x = np.zeros((len(cases), MOST, len(columns)))
    y, mask = np.zeros((len(cases), MOST)), np.full((len(cases), MOST), -1e4)
    rough = [SIGNALS.index(name) for name in ("words", "session", "pair", "date")]
    for row, each in enumerate(cases):
        right = np.array([bool(said & each.evidence) for said in each.said], float)
        order = np.argsort(-(each.signals[:, rough].sum(axis=1) + 100 * right), kind="stable")[:MOST]
        x[row, : len(order)], y[row, : len(order)] = each.signals[order][:, columns], right[order]
        mask[row, : len(order)] = 0
    keep = y.sum(axis=1) > 0
    weight = np.array([ADVERSARIAL if each.category == 5 else 1.0 for each in cases])
    return x[keep], y[keep] / y[keep].sum(axis=1, keepdims=True), mask[keep], weight[keep] / weight[keep].sum()


def learn(cases: Sequence[Case], columns: list[int]) -> np.ndarray:
    """Newton's method on a convex loss, each step halved until it helps: a dozen steps are plenty."""
    x, y, mask, weight = _batch(cases, columns)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ w + mask
        z -= z.max(axis=1, keepdims=True)
        total = np.exp(z).sum(axis=1, keepdims=True)
        told = (y * (z - np.log(total))).sum(axis=1)
        return float(-(weight * told).sum() + PENALTY * w @ w), np.exp(z) / total

    w = np.zeros(len(columns))
    now, p = loss(w)
    for _ in range(40):
        mean = np.einsum("nc,ncd->nd", p, x)
        gradient = np.einsum("n,nd->d", weight, mean - np.einsum("nc,ncd->nd", y, x)) + 2 * PENALTY * w
        second = np.einsum("n,nc,ncd,nce->de", weight, p, x, x, optimize=True) - np.einsum(
            "n,nd,ne->de", weight, mean, mean
        )
        step = np.linalg.solve(second + 2 * PENALTY * np.eye(len(w)), gradient)
        after, q = loss(w - step)
        while after > now and np.abs(step).max() > 1e-6:
            step /= 2
            after, q = loss(w - step)
        if after >= now - 1e-9:
            break
        w, now, p = w - step, after, q
    return w


def judge(cases: Sequence[Case], w: np.ndarray, columns: list[int]) -> Scores:
    scores = Scores()
    for each in cases:
        order = np.argsort(-(each.signals[:, columns] @ w), kind="stable")
        scores.add(each.category, [each.said[place] for place in order[:20]], each.evidence)
    return scores


def left_out(cases: Sequence[Case], columns: list[int]) -> tuple[Scores, np.ndarray]:
    """Each conversation judged by weights that never saw it; and the weights of all."""
    scores = Scores()
    for number in sorted({each.conversation for each in cases}):
        w = learn([each for each in cases if each.conversation != number], columns)
        scores.join(judge([each for each in cases if each.conversation == number], w, columns))
    return scores, learn(cases, columns)


def learn_fit(own: Sequence[Case], others: Sequence[Case]) -> dict[str, float]:
    x = np.array([[1.0, *each.fit] for each in (*own, *others)])
    y = np.array([1.0] * len(own) + [0.0] * len(others))
    w = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-(x @ w)))
        w -= np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + 1e-3 * np.eye(len(w)), x.T @ (p - y) + 1e-3 * w)
    return {name: round(float(value), 4) for name, value in zip(("bias", *FIT), w, strict=True)}


def small_floor(
    embedder: str | None, told: Sequence[Conversation], constants: dict[str, float], by_words: bool, words: bool
) -> float:
    """The floor for a memory of a few turns that holds the answer."""
    cases: list[Case] = []
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "memory", embedder=embedder) as small:
        put = list(few_turns(told))
        observe(small, [few for _, few in put])
        with opened(small, embedder, words=words) as at:
            for number, few in put:
                [question] = few.questions
                ranking = at.rank(question.text, few.name, by_words=by_words)
                if made := case(ranking, number, question.category, question.evidence):
                    cases.append(made)
    sure = _sure(constants, cases)
    floor = float(np.quantile(sure, FEW_REFUSED))
    print(f"  in memories of {SMALL} turns: floor {floor:.3f}")
    return floor


def few_turns(told: Sequence[Conversation]) -> Iterator[tuple[int, Conversation]]:
    """A question with its answer and a few other turns, each the memory of a user of its own."""
    choose = np.random.default_rng(0)
    for number, conversation in enumerate(told):
        by_id = {turn["id"]: turn for turn in conversation.turns}
        for place in choose.choice(len(conversation.questions), ASKED, replace=False).tolist():
            question = conversation.questions[place]
            others = choose.choice(list(by_id), SMALL - 1, replace=False).tolist()
            turns = tuple(by_id[name] for name in dict.fromkeys([*question.evidence[:1], *others]) if name in by_id)
            yield number, Conversation(f"{conversation.name} {place}", conversation.people, turns, (question,))


def hit_floor(cases: Sequence[Case], w: np.ndarray, columns: list[int], constants: dict[str, float]) -> float:
    """Below this falls one right hit in two hundred, of those among the best ten."""
    right = []
    for each in cases:
        bare = np.stack([each.signals[:, SIGNALS.index("words")], each.near, each.signals[:, SIGNALS.index("date")]], 1)
        sure = 1 / (1 + np.exp(-(constants["bias"] + bare @ [constants[name] for name in FIT])))
        order = np.argsort(-(each.signals[:, columns] @ w), kind="stable")[:10]
        right += [sure[place] for place in order if each.said[place] & each.evidence]
    floor = float(np.quantile(right, REFUSED))
    print(f"  a hit: floor {floor:.3f}")
    return floor


def _sure(constants: dict[str, float], cases: Sequence[Case]) -> np.ndarray:
    x = np.array([each.fit for each in cases])
    return 1 / (1 + np.exp(-(constants["bias"] + x @ [constants[name] for name in FIT])))


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("data", type=Path, nargs="?")
    options.add_argument("--model", type=Path, help="a folder with model.onnx and tokenizer.json")
    options.add_argument("--write", action="store_true", help="write the weights into the package")
    options.add_argument("--drop", default="", help="signals to leave out, with commas between them")
    given = options.parse_args()
    told, learned = conversations(given.data), orjson.loads(WEIGHTS.read_bytes())
    runs: list[tuple[str | None, bool, bool]] = [(None, False, True), (None, True, True)]
    if given.model:  # and once more, as where there are no static vectors of words
        runs += [(f"onnx:{given.model}", False, True), (f"onnx:{given.model}", False, False)]
    print(header())
    for embedder, by_words, words in runs:
        with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "memory", embedder=embedder) as memory:
            observe(memory, told)
            with opened(memory, embedder, words=words) as at:
                kind = "none" if by_words else at.meaning.kind
                entry = learn_kind(at, told, given.drop.split(","), by_words, embedder, words)
        learned[kind] = {**learned[kind], **entry}  # what `bench/small.py` learned stays
    if given.write and not given.tiny:
        WEIGHTS.write_bytes(orjson.dumps(learned, option=orjson.OPT_INDENT_2) + b"\n")


def learn_kind(
    at: Opened, told: Sequence[Conversation], drop: list[str], by_words: bool, embedder: str | None, words: bool
) -> dict[str, Any]:
    kind = "none" if by_words else at.meaning.kind
    cases = list(collect(at, told, by_words=by_words))
    meaningless = ("meaning", "pair") if by_words else ()
    names = [name for name in SIGNALS if name not in (*drop, *meaningless)]
    columns = [SIGNALS.index(name) for name in names]
    scores, w = left_out(cases, columns)
    print(line(f"{kind}, one left out", summary(scores)))
    print(line(f"{kind}, all", summary(judge(cases, w, columns))))
    if not drop[0]:
        for name in names:
            less, _ = left_out(cases, [SIGNALS.index(each) for each in names if each != name])
            print(line(f"  less {name} ({w[names.index(name)]:.2f})", summary(less)))
    others = list(strangers(at, told, by_words=by_words))
    constants = learn_fit(cases, others)
    own, foreign = _sure(constants, cases), _sure(constants, others)
    floor = float(np.quantile(own, REFUSED))
    print(f"  fit {constants}; floor {floor:.3f} refuses {np.mean(own < floor):.3f} and {np.mean(foreign < floor):.3f}")
    few = small_floor(embedder, told, constants, by_words, words)
    least = hit_floor(cases, w, columns, constants)
    weights = {name: round(float(value), 4) for name, value in zip(names, w, strict=True)}
    floors = {"few": round(min(max(few, least), floor), 4), "many": round(floor, 4), "hit": round(least, 4)}
    return {"weights": weights, "fit": constants, "floor": floors}


if __name__ == "__main__":
    main()
