"""How well recall's view of a statement finds whom or what it names: by name, nickname, role, "I" or "she".

    python bench/links.py [--list] [FILE]

Two hundred statements of eight people, told in order as each would, with labels that say whom they mean; or those of
another FILE of the same form. The rules were made with these in sight, so expect less of other people. `--list` prints
what was missed and what was wrong. Every link counts, however sure it is; links are asked for when the whole story is
told.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from runpy import run_path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import link_data as data
from measure import at_least, options_of, report, sized

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


def stories_of(path: str) -> dict[str, tuple[data.Said, ...]]:
    """Those of a file; ours, if none is named."""
    stories: dict[str, tuple[data.Said, ...]] = run_path(path)["STORIES"] if path else data.STORIES
    return dict(list(stories.items())[: sized(len(stories), 1)])


if __name__ == "__main__":
    options = options_of(__doc__)
    options.add_argument("file", nargs="?", default="", help="a Python file that has STORIES")
    options.add_argument("--list", action="store_true", help="print what was missed and what was wrong")
    given = options.parse_args()
    found = sum((counted(story, given.list) for story in stories_of(given.file).values()), Counter[str]())
    right, said, labelled = found["right"], found["right"] + found["wrong"], found["right"] + found["missed"]
    report([
        at_least("precision of links", f"{right}", f"{said} found", right / said, PRECISION),
        at_least("recall of links", f"{right}", f"{labelled} labelled", right / labelled, RECALL),
    ])  # fmt: skip
