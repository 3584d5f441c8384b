"""Every page tells the truth: its commands are run, its Python is run, and what it says they print is compared."""

import os
from pathlib import Path

import pytest

from tests.docs.runner import Wrong, run_page

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


AS_INSTALLED = {"README.md", "docs/how-to/back-up-and-restore.md"}  # everyday; at length it is every page


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def is_true(page: Path, home: Path, *programs: Path) -> None:
    untruth = ""
    try:
        run_page(page, home, *programs)
    except Wrong as wrong:
        untruth = str(wrong)
    if untruth:
        pytest.fail(untruth, pytrace=False)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_page_does_what_it_says(page, tmp_path, warm_program):
    is_true(page, tmp_path / "home", *([] if name_of(page) in AS_INSTALLED else [warm_program.parent]))


@pytest.mark.soak
@pytest.mark.parametrize("page", [page for page in PAGES if name_of(page) not in AS_INSTALLED], ids=name_of)
def test_the_page_does_what_it_says_with_the_program_as_it_is_installed(page, tmp_path):
    is_true(page, tmp_path / "home")


@pytest.fixture
def written(tmp_path):
    def run(text: str) -> None:
        page = tmp_path / "page.md"
        page.write_text(text, encoding="utf-8")
        run_page(page, tmp_path / "home")

    return run


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```console\n$ echo tea\ntea\n```", id="output"),
        pytest.param("```console\n$ echo; echo tea >&2\n\ntea\n```", id="stderr-and-empty-lines"),
        pytest.param("```console\n$ seq 5\n1\n...\n5\n```", id="any-lines"),
        pytest.param("```console\n$ echo tea\n...\ntea\n...\n```", id="any-lines-may-be-none"),
        pytest.param("```console\n$ echo id 20260421-0915-c4f1a5 put\nid … put\n```", id="any-text"),
        pytest.param("```console\n$ (exit 2)   # exits 2\n```", id="status"),
        pytest.param("```console\n$ echo a \\\n> b\na b\n```", id="continued"),
        pytest.param("```console\n$ cat <<END\n> a\n>\n> b\n> END\na\n\nb\n```", id="here-document"),
        pytest.param("```console\n$ echo '> quoted'\n> quoted\n```", id="output-that-looks-continued"),
        pytest.param("```console\n$ mkdir d && cd d\n$ x='a  b'\n```\n\n"
                     "```console\n$ basename $PWD; echo \"$x\"\nd\na  b\n```", id="shell-goes-on"),
        pytest.param("```console\n$ x=tea\n$ unset x\n$ echo ${x-gone}\ngone\n```", id="unset-goes-on"),
        pytest.param("```console\n$ export TALLYSTICK_HOME=~/tea\n```\n\n```python\nimport os\n"
                     "print(os.path.basename(os.environ['TALLYSTICK_HOME']))  # prints: tea\n```",
                     id="python-in-the-shell"),
        pytest.param("```console\n$ sleep 300 & echo served\nserved\n```", id="left-running"),
        pytest.param("```python\nx = 1\n```\n\n```python\nprint(x)  # prints: 1\n```", id="python-goes-on"),
        pytest.param("```python\nfor x in 'abc':\n    print(x)\n# prints: a\n# prints: ...\n# prints: c\n```",
                     id="python-any-lines"),
        pytest.param("```python\nprint('not compared')\n```", id="python-print-unsaid"),
        pytest.param("```python\nopen('note', 'w').close()\n```\n```console\n$ ls\nnote\n```", id="one-folder"),
        pytest.param("1. First:\n\n   ```console\n   $ echo tea\n   tea\n   ```", id="in-a-list"),
        pytest.param("```text\n$ echo tea\ncoffee\n```\n\n```json\n{\n```\n\n```\n$ false\n```", id="other-languages"),
        pytest.param("<!-- not run: needs the network -->\n```console\n$ false\n```", id="not-run"),
        pytest.param("<!-- not run: for zsh -->\n\n```sh\nfalse\n```", id="not-run-and-refused-otherwise"),
    ],
)  # fmt: skip
def test_a_true_page_passes(written, text):
    written(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("# Tea\n\n```console\n$ echo tea\ncoffee\n```",
                     r"page.md:4: `echo tea`\nexpected:\n    coffee\ngot:\n    tea", id="wrong-output"),
        pytest.param("```console\n$ echo tea\n```", r"page.md:2: .*\nexpected:\n    \(nothing\)\ngot:\n    tea",
                     id="output-unsaid"),
        pytest.param("```console\n$ echo tea; echo milk\ntea\n```", "got:\n    tea\n    milk", id="more-output"),
        pytest.param("```console\n$ printf 'a\\nb\\n'\na…b\n```", "got:", id="any-text-stays-in-its-line"),
        pytest.param("```console\n$ true\n\n$ echo no; exit 3\nno\n```", r"page.md:4: .* status 3, not 0.*\n    no",
                     id="failed"),
        pytest.param("```console\n$ true  # exits 2\n```", "status 0, not 2", id="unexpected-success"),
        pytest.param("```console\n$ ls $NOWHERE/notes  # exits 1\n```", "NOWHERE: unbound", id="variable-never-set"),
        pytest.param("```console\ntallystick show\n```", "begins with", id="no-prompt"),
        pytest.param("```python\n\nprint(2)  # prints: 1\n```", r"page.md:2: .*\nexpected:\n    1\ngot:\n    2",
                     id="python-wrong-output"),
        pytest.param("```python\ndef f():\n    raise ValueError('tea')\n\nf()\n```",
                     "page.md:5: ValueError: tea(?s:.*)line 3", id="python-raises"),
        pytest.param("```python\nraise SystemExit(0)\n```", "page.md:2: SystemExit", id="python-leaves"),
        pytest.param("```python\ny = 1\nx = = 2\n```", "page.md:3: SyntaxError", id="python-nonsense"),
        pytest.param("<!-- not run -->\n```console\n$ false\n```", "page.md:2: say why", id="not-run-without-reason"),
        pytest.param("```bash\nfalse\n```", "page.md:1: a bash block is never run", id="shell-by-another-name"),
        pytest.param("<!-- not run: first only -->\n```console\n$ false\n```\n\n```console\n$ false\n```",
                     "page.md:7: .*status 1", id="skips-one-block"),
    ],
)  # fmt: skip
def test_an_untrue_page_fails_and_says_where(written, text, says):
    with pytest.raises(Wrong, match=says):
        written(text)


def test_a_page_lives_in_its_own_home_and_leaves_the_test_run_as_it_was(written, tmp_path):
    before = (dict(os.environ), Path.cwd())
    home = tmp_path / "home"

    written(
        "```console\n$ echo $HOME; echo ${TALLYSTICK_HOME-none}; echo $XDG_CONFIG_HOME; echo $XDG_STATE_HOME; pwd\n"
        f"{home}\nnone\n{home}/.config\n{home}/.local/state\n{home}\n```\n"
        "```python\nimport os, pathlib\nos.environ['LEFT'] = 'behind'\nprint(pathlib.Path.home())\n"
        f"# prints: {home}\n```"
    )

    assert (dict(os.environ), Path.cwd()) == before
