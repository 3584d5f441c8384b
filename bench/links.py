"""How well recall's view of a statement finds whom or what it names: by name, nickname, role, "I" or "she".

    python bench/links.py [--list]

Two hundred statements of eight people, told in order as each would, with labels that say whom they mean. The first four
stories are those that the rules were made with, the other four were not looked at. `--list` prints what was missed and
what was wrong. Every link counts, however sure it is; links are asked for when the whole story is told.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import link_data as data
from measure import TINY, Row, at_least, options_of, report

from tallystick import Memory

SELF = {"user-profile", "user-preferences"}
PRECISION, RECALL = 0.95, 0.85


def counted(story: tuple[data.Said, ...], listed: bool) -> Counter[str]:
    """The number of links that are right, wrong and missed."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, Memory(folder) as memory:
        told = [
            (said, memory.remember(said.text, about=said.about, agent=said.agent, session=said.session))
            for said in story
        ]  # fmt: skip
        for said, belief in told:
            meant = [pages(memory, name) for name in said.means]
            found = {"user-profile" if link.entity in SELF else link.entity for link in memory.links(belief.id)}
            wrong = found - {page for each in meant for page in each}
            missed = [name for name, each in zip(said.means, meant, strict=True) if not found & each]
            counts += Counter(right=len(said.means) - len(missed), wrong=len(wrong), missed=len(missed))
            if listed and (wrong or missed):
                print(f"{said.text}\n    missed {', '.join(missed) or '-'}; wrong {', '.join(sorted(wrong)) or '-'}")
    return counts


def pages(memory: Memory, name: str) -> set[str]:
    """The entities that go by the name of a label."""
    if name in SELF:
        return {"user-profile"}
    return set(memory.entities.called(name.partition("-")[2].replace("-", " "))) | {name}


def rows_of(called: str, names: list[str], listed: bool) -> list[Row]:
    found = sum((counted(data.STORIES[name], listed) for name in names), Counter[str]())
    right, wrong, missed = found["right"], found["wrong"], found["missed"]
    precision, recall = right / max(right + wrong, 1), right / max(right + missed, 1)
    return [
        at_least(f"precision, {called}", f"{right}", f"{right + wrong} found", precision, PRECISION),
        at_least(f"recall, {called}", f"{right}", f"{right + missed} labelled", recall, RECALL),
    ]


if __name__ == "__main__":
    options = options_of(__doc__)
    options.add_argument("--list", action="store_true", help="print what was missed and what was wrong")
    given = options.parse_args()
    stories = list(data.STORIES)
    half = len(stories) // 2
    seen, unseen = (stories[:1], stories[-1:]) if TINY else (stories[:half], stories[half:])
    report([*rows_of("made with", seen, given.list), *rows_of("not looked at", unseen, given.list)])
