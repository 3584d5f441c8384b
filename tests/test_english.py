"""Messages, help, docstrings, the page and the documentation are in plain technical English: none of these old phrases.

Names of events, codes of findings and JSON fields are not prose: they are written in backquotes, or joined by hyphens,
dots or underscores.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "tallystick"

EXEMPT = {
    SOURCE / "text" / "grammar.py",  # lists of English verbs
    SOURCE / "records" / "graph" / "lifecycle.py",  # a reason that is recorded word for word in existing workspaces
}
PHRASES = re.compile(
    r"""(?<![\w`.-])(?:
    a\ person's\ yes | (?:a|the|your|his|her|their|whose)\ yes(?!\ or) | sa(?:y|ys|id|ying)\ yes
    | yes\ to\ (?:it|that|this|which)
    | anew | would\ stand\ behind | (?:leaves?|out\ of|from)\ sight | is\ no\ file | is\ no\ memory
    | what\ is\ held | what\ was\ held | is\ held\ (?:true|now|beside) | (?:is|are|was|were|be)\ told(?:\ of)?(?!\ to)
    | stretch(?:es)? | speaks?\ (?:for|against) | rests?\ on\ (?:it|them|that|this|something|nothing)
    | (?:takes?|taken|taking|took)\ (?:in|over|it\ in) | brings?\ (?:in|over) | brought\ (?:in|over)
    | (?:by|through)\ (?:which|what|whose)\ door | (?:a|the|this|another|each|whole)\ door
    | folds?\ (?:a|the)\ pages? | (?:is|are|was|were|be)\ mended | mends?\ (?:it|what|the)
    | set\ right | small\ letters | half\ a\ character | unheard | not\ to\ be\ had
    | goes?\ by\ words | come\ of\ it | came\ of\ it | waits?\ for\ (?:a|your)\ (?:yes|answer)
    )(?![\w`-])""",
    re.VERBOSE | re.IGNORECASE,
)


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """The lines of a Markdown page that are neither code nor the changelog's past."""
    in_code = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, re.sub(r"`[^`]*`", "`…`", line)


def strings(module: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module that are more than a name, docstrings among them."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, re.sub(r"`[^`]*`", "`…`", node.value)


def texts() -> Iterator[tuple[Path, int, str]]:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))):
        yield from ((page, *found) for found in prose(page))
    for module in sorted(set(SOURCE.rglob("*.py")) - EXEMPT):
        yield from ((module, *found) for found in strings(module))
    for page in sorted(path for path in SOURCE.rglob("*") if path.suffix in {".html", ".js", ".jinja", ".txt"}):
        yield from ((page, *found) for found in enumerate(page.read_text(encoding="utf-8").splitlines(), 1))


def test_no_phrase_of_the_old_dialect_is_left() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]!r}"
        for path, line, text in texts()
        for match in PHRASES.finditer(text)
    ]
    assert not found, f"{len(found)} phrases to put in plain English:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text", ["it needs a person's yes", "the index was made anew", "Nothing I would stand behind", "a sealed stretch"]
)
def test_an_old_phrase_is_found(text: str) -> None:
    assert PHRASES.search(text)


@pytest.mark.parametrize("text", ["answer yes or no", "finding stretch-missing", "rests_on", "the field `held`"])
def test_names_and_ordinary_words_are_not(text: str) -> None:
    assert not PHRASES.search(re.sub(r"`[^`]*`", "`…`", text))
