"""How well recall answers somebody who has used a memory for some weeks.

    python bench/first_week.py FILE... [--model FOLDER] [--list] [--parts] | --tiny

A FILE is the YAML of one person: `memories` in the order in which they were told (`say`, `at`, `text`; perhaps `about`,
`kind`, `speaker`, `session`), `now`, and `questions` (`q`, `kind`; `answers`, of which each is in one memory; `all`, if
every one of them is wanted; `stale`, what was true before; or `nothing`, if nothing that was told answers it). Such
files are not part of this project; without any, a few days are made up. Each person has a memory of their own, whose
clock stands at the time of each memory, and at `now` for the questions. No label is used in recall.

By kind: the right answer first, or among the first three; what was true before in the first place; every answer among
the first ten; and nothing served where nothing answers. `nowhere` is refused though something answers. Files are of
one trade up to the "-" in their names; `--parts` shows what each rule of recall adds in each trade: what is tuned to
some of them must help the one that was left out.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

sys.path.insert(0, str(Path(__file__).resolve().parent))

from locomo import opened
from measure import options_of

from tallystick import Memory
from tallystick.projections.index.search import Scope
from tallystick.recall.pipeline import Ask, answer
from tallystick.records.clock import stamp
from tallystick.stores.open_folder import OpenFolder

K = 10
RULES = ("fill", "list", "alias", "mine", "time", "newer", "hop")
COLUMNS = ("first", "top 3", "outdated", "every", "nowhere", "refused")
GOALS = {  # (kind, column): the least with one trade left out, and what is hoped for
    ("correction", "first"): (0.60, 0.80), ("correction", "outdated"): (0.25, 0.10), ("alias", "first"): (0.50, 0.70),
    ("entity", "every"): (0.85, 0.95), ("multi-hop", "every"): (0.70, 0.85), ("temporal", "first"): (0.75, 0.85),
    ("preference", "first"): (0.82, 0.92), ("first-person", "first"): (0.62, 0.80), ("direct", "first"): (0.95, 0.95),
    ("every kind", "first"): (0.60, 0.70), ("every kind", "top 3"): (0.76, 0.82),
}  # fmt: skip


@dataclass(frozen=True)
class Person:
    """What somebody told a memory, and what they ask."""

    name: str
    memories: Sequence[dict[str, Any]]
    questions: Sequence[dict[str, Any]]
    now: datetime

    @property
    def trade(self) -> str:
        return self.name.partition("-")[0]


@dataclass(frozen=True)
class Verdict:
    """What came of one question; None where a column has nothing to say of it."""

    trade: str
    kind: str
    row: tuple[bool | None, ...]
    texts: tuple[str, ...]
    asked: dict[str, Any]
    fit: float


Texts = tuple[list[str], float]  # what was served, the best first; and the likelihood that it answers
Recall = Callable[[str], Texts]


def people(paths: Sequence[Path]) -> list[Person]:
    if not paths:
        return [_made_up()]
    if missing := [path for path in paths if not path.is_file()]:
        sys.exit(f"no such file: {missing[0]}; this bench reads a file for each person, and none is shipped")
    read = [(path.stem, YAML(typ="safe").load(path.read_text(encoding="utf-8"))) for path in paths]
    return [Person(name, each["memories"], each["questions"], _moment(each["now"])) for name, each in read]


def _made_up() -> Person:
    said = (
        ("2026-05-04T08:00:00", "Ida moves the furniture to the new workshop"),
        ("2026-05-05T08:00:00", "The workshop rent is 800 a month"),
        ("2026-05-06T08:00:00", "The workshop rent is now 900 a month"),
    )
    asked = (
        {"q": "Who moves the furniture?", "kind": "direct", "answers": ["Ida moves"]},
        {"q": "How much is the workshop rent?", "kind": "correction", "answers": ["now 900"], "stale": "is 800"},
        {"q": "What about the workshop?", "kind": "entity", "all": True, "answers": ["Ida moves", "now 900"]},
        {"q": "Who won the chess championship?", "kind": "unknown-offtopic", "nothing": True},
    )
    memories = [{"at": at, "say": "remember", "text": text} for at, text in said]
    return Person("made up", memories, asked, _moment("2026-05-10T08:00:00"))


def _moment(said: datetime | str) -> datetime:
    moment = datetime.fromisoformat(said) if isinstance(said, str) else said
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@contextmanager
def memory_of(person: Person, embedder: str | None) -> Iterator[Memory]:
    """A memory with all of it, each remembered at its time. Its clock now stands at the time of the questions."""
    at = _moment(person.memories[0]["at"])
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "memory", embedder=embedder, clock=lambda: at) as memory,
    ):
        for each in person.memories:
            at = _moment(each["at"])
            if each["say"] == "observe":
                memory.observe(each["text"], session=each.get("session", ""), agent=each.get("speaker", ""), at=at)
            else:
                given = {name: each[name] for name in ("about", "kind", "session") if name in each}
                memory.remember(each["text"], agent=each.get("speaker", ""), **given)
        memory.embed()
        at = person.now
        yield memory


def judged(person: Person, recall: Recall) -> list[Verdict]:
    return [_verdict(person.trade, asked, *recall(asked["q"])) for asked in person.questions]


def _verdict(trade: str, asked: dict[str, Any], texts: list[str], fit: float) -> Verdict:
    def says(wanted: str, some: Sequence[str]) -> bool:
        return any(wanted in text for text in some)

    if asked.get("nothing"):
        return Verdict(trade, asked["kind"], (None, None, None, None, None, not texts), tuple(texts), asked, fit)
    right, stale = asked["answers"], asked.get("stale") or []
    stale = [stale] if isinstance(stale, str) else stale
    first, near = (any(says(each, texts[:count]) for each in right) for count in (1, 3))
    outdated = any(says(each, texts[:1]) for each in stale) if stale else None
    every = all(says(each, texts) for each in right) if asked.get("all") else None
    # Where every answer is wanted, none of them has to be the first.
    of_one = (first, near) if every is None else (None, None)
    return Verdict(trade, asked["kind"], (*of_one, outdated, every, not texts, None), tuple(texts), asked, fit)


def less(rule: str, memory: Memory, embedder: str | None, person: Person) -> list[Verdict]:
    """The same without one of the rules of recall."""
    folder = OpenFolder(memory.folder, read_only=True)
    with closing(folder), opened(memory, embedder) as at:
        at.index.ledger = folder.view()  # which knows the names that were given

        def put(question: str) -> Texts:
            scope = Scope(memory.user, now=stamp(person.now))
            found = answer(at.index, at.meaning, Ask(question, scope, person.now, K, drop=frozenset({rule})))
            return [hit.text for hit in found], found.fit

        return judged(person, put)


def by_recall(memory: Memory) -> Recall:
    def put(question: str) -> Texts:
        found = memory.recall(question, k=K, receipt=False)
        return [hit.text for hit in found], found.fit

    return put


def kinds_of(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    kinds = {kind: [each for each in verdicts if each.kind == kind] for kind in dict.fromkeys(v.kind for v in verdicts)}
    return {**kinds, "every kind": list(verdicts)}


def share(verdicts: Sequence[Verdict], column: str) -> float | None:
    known = [value for each in verdicts if (value := each.row[COLUMNS.index(column)]) is not None]
    return sum(known) / len(known) if known else None


def table(verdicts: Sequence[Verdict]) -> str:
    lines = [f"{'':<22}{'n':>5}" + "".join(f"{column:>10}" for column in COLUMNS) + "   floor / goal"]
    for kind, mine in kinds_of(verdicts).items():
        cells = ["" if (found := share(mine, column)) is None else f"{found:.2f}" for column in COLUMNS]
        goals = []
        for column in COLUMNS:
            if (goal := GOALS.get((kind, column))) and (found := share(mine, column)) is not None:
                less_is_more = goal[1] < goal[0]
                met = [found <= each if less_is_more else found >= each for each in goal]
                word = "met" if met[1] else "above the floor" if met[0] else "MISSED"
                goals.append(f"{column} {'≤' if less_is_more else '≥'} {goal[0]:.2f} / {goal[1]:.2f} {word}")
        lines.append(f"{kind:<22}{len(mine):>5}" + "".join(f"{cell:>10}" for cell in cells) + "   " + ", ".join(goals))
    return "\n".join(lines)


def worth(every: Sequence[Verdict], lesser: dict[str, list[Verdict]]) -> str:
    """What each rule adds, by kind and trade."""
    trades = list(dict.fromkeys(each.trade for each in every))
    lines = [f"{'with the rule, less without it':<46}" + "".join(f"{trade:>10}" for trade in trades)]
    for rule, without in lesser.items():
        for kind in kinds_of(every):
            for column in COLUMNS:
                cells = []
                for trade in trades:
                    one, other = (
                        share([each for each in kinds_of(some)[kind] if each.trade == trade], column)
                        for some in (every, without)
                    )
                    cells.append(0.0 if one is None or other is None else one - other)
                if any(abs(cell) > 0.005 for cell in cells):
                    name = f"{rule}: {kind}, {column}"
                    lines.append(f"{name:<46}" + "".join(f"{cell:>+10.2f}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("files", type=Path, nargs="*", metavar="FILE")
    options.add_argument("--model", type=Path, help="a folder with model.onnx and tokenizer.json")
    options.add_argument("--list", action="store_true", help="print each question that went wrong")
    options.add_argument("--parts", action="store_true", help="also what each rule of recall adds, by trade")
    given = options.parse_args()
    embedder = f"onnx:{given.model}" if given.model else None
    every: list[Verdict] = []
    lesser: dict[str, list[Verdict]] = {rule: [] for rule in (RULES if given.parts or given.tiny else ())}
    for person in people(given.files):
        with memory_of(person, embedder) as memory:
            every += judged(person, by_recall(memory))
            for rule, verdicts in lesser.items():
                verdicts += less(rule, memory, embedder, person)
    print(table(every))
    if lesser:
        print("\n" + worth(every, lesser))
    for each in every if given.list else ():
        _first, _near, outdated, _every, *_ = each.row
        if outdated or False in (each.row[0], each.row[3], each.row[5]):
            print(f"\n{each.kind}: {each.asked['q']}   [{each.asked.get('answers', 'nothing')}]   {each.fit:.2f}")
            print("\n".join(f"    {text[:150]}" for text in each.texts[:4]))


if __name__ == "__main__":
    main()
