"""Runs a page of the documentation as its reader would: from top to bottom, in an empty home.

How blocks are written:

    ```console             each `$ command` is run with bash; the lines below it are what it prints, all of it.
    $ tallystick show 1      `> ` continues a command that ends in `\\` or opens a here-document.
    …                      `...` alone on a line stands for any lines, `…` within a line for any text.
    $ false  # exits 1     A command succeeds, or its comment says with which status it ends.
    ```
    ```python              run; the blocks of a page share their names. `# prints: text` is the next printed line,
    print(1)  # prints: 1  and a block that has any must name all it prints (`...` and `…` work here too).
    ```

Variables and `cd` last from one command to the next, and a variable that a page did not set is an error; Python is
started in the same shell, so it has the `TALLYSTICK_HOME` that was exported there. Whatever a command leaves running
ends with it. A block below `<!-- not run: reason -->` is left out. Blocks in other languages are only read, but a shell
or Python block under another name (`bash`, `py`) is refused, so that no command goes unproven by accident.
"""

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import tokenize
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

SECONDS = 120
RUN = {"console", "python"}
REFUSED = {"bash", "doctest", "py", "pycon", "python3", "sh", "shell", "shell-session", "zsh"}
NOT_RUN = re.compile(r"<!--\s*not run\b:?\s*(?P<reason>.*?)\s*-->", re.DOTALL)
EXITS = re.compile(r"\s+# exits (\d+)\s*$")
PRINTS = re.compile(r"#\s*prints:(?: (.*))?$")

# Begin as the last command ended, and write down how this one ends; `set -a` makes every variable one of those kept.
SHELL = """set -ua; [ ! -e "$0" ] || { unset $(compgen -e); . "$0"; cd "$PWD"; }; trap 'export -p >"$0"' EXIT\n"""


class Wrong(AssertionError):
    """A page says what is not so."""


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str
    line: int  # of the first line of its text, counted from 1


@dataclass(frozen=True, slots=True)
class Command:
    text: str
    line: int
    status: int
    expected: list[str]


def run_page(page: Path, home: Path, *programs: Path) -> None:
    """Run all of `page` with `home` as the home and working folder. Raises Wrong at the first untruth.

    Commands are the installed ones, or, before them, those in the folders `programs`.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    with living_in(home, *programs):
        for block in blocks(page):
            if block.language == "python":
                take_home(shell_state(home))
                run_python(page, block, names)
            else:
                for command in commands(page, block):
                    run_command(page, command, home)


@contextlib.contextmanager
def living_in(home: Path, *programs: Path) -> Iterator[None]:
    home.mkdir(parents=True, exist_ok=True)
    before = dict(os.environ)
    for name in before:
        if name.startswith("TALLYSTICK_"):
            del os.environ[name]
    try:
        os.environ.update(surroundings(home, *programs))
        with contextlib.chdir(home):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def surroundings(home: Path, *programs: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "PATH": os.pathsep.join(map(str, (*programs, Path(sys.executable).parent, os.environ["PATH"]))),
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "TZ": "UTC",
    }


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of `page` that are to be run."""
    above = None
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and token.map:
            language = (token.info.split() or [""])[0].lower()
            line = token.map[0] + 1
            skip = NOT_RUN.search(above.content) if above and above.type == "html_block" else None
            if skip and not skip["reason"]:
                raise Wrong(f"{page}:{line}: say why it is not run: <!-- not run: reason -->")
            if language in REFUSED and not skip:
                raise Wrong(f"{page}:{line}: a {language} block is never run: write console or python, or say why not")
            if language in RUN and not skip:
                yield Block(language, token.content, line + 1)
        above = token


def commands(page: Path, block: Block) -> Iterator[Command]:
    lines = block.text.splitlines()
    at = 0
    while at < len(lines):
        start, text = at, lines[at]
        at += 1
        if not text.startswith("$ "):
            if text.strip():
                raise Wrong(f"{page}:{block.line + start}: a console block begins with `$ `, not {text!r}")
            continue
        text = text[2:]
        while at < len(lines) and lines[at].startswith(">") and (text.endswith("\\") or "<<" in text):
            text += "\n" + lines[at][1:].removeprefix(" ")
            at += 1
        output = at
        while at < len(lines) and not lines[at].startswith("$ "):
            at += 1
        first, newline, rest = text.partition("\n")
        exits = EXITS.search(first)
        yield Command(
            text=EXITS.sub("", first) + newline + rest,
            line=block.line + start,
            status=int(exits[1]) if exits else 0,
            expected=lines[output:at],
        )


def run_command(page: Path, command: Command, home: Path) -> None:
    where = f"{page}:{command.line}: `{command.text}`"
    status, got = bash(command.text, shell_state(home))
    if status is None:
        raise Wrong(f"{where} took longer than {SECONDS} s; it printed:\n{shown(got)}")
    if status != command.status:
        raise Wrong(f"{where} ended with status {status}, not {command.status}; it printed:\n{shown(got)}")
    compare(where, command.expected, got)


def shell_state(home: Path) -> Path:
    """Where the shell of a page keeps its variables from one command to the next."""
    return home.with_name(home.name + ".shell")


def take_home(state: Path) -> None:
    """Give Python the memory folder that the page's shell exported, if it did."""
    _, folder = bash('printf %s "${TALLYSTICK_HOME-}"', state)
    os.environ.pop("TALLYSTICK_HOME", None)
    if folder:
        os.environ["TALLYSTICK_HOME"] = folder


def bash(text: str, state: Path) -> tuple[int | None, str]:
    """How it ended (None: not in time) and all it printed. The output goes to a file, which no one can hold open."""
    with tempfile.TemporaryFile() as out:
        shell = subprocess.Popen(
            ["bash", "-c", SHELL + text, str(state)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = shell.wait(SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
        out.seek(0)
        return status, out.read().decode("utf-8", "backslashreplace")


def run_python(page: Path, block: Block, names: dict[str, Any]) -> None:
    out = io.StringIO()
    code = "\n" * (block.line - 1) + block.text  # so that a traceback names the line of the page
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(page), "exec"), names)
    except (Exception, SystemExit) as error:  # whatever a page does wrong is the page's
        raise Wrong(raised(page, block, error)) from error
    expected = promised_prints(block.text)
    if expected:
        compare(f"{page}:{block.line}: the python block", expected, out.getvalue())


def raised(page: Path, block: Block, error: BaseException) -> str:
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename != str(page):
        trace = trace.tb_next
    line = trace.tb_lineno if trace else getattr(error, "lineno", block.line)
    story = "".join(traceback.format_exception(type(error), error, trace))
    return f"{page}:{line}: {type(error).__name__}: {error}\n{shown(story)}"


def promised_prints(code: str) -> list[str]:
    comments = (t.string for t in tokenize.generate_tokens(io.StringIO(code).readline) if t.type == tokenize.COMMENT)
    return [found[1] or "" for found in map(PRINTS.match, comments) if found]


def compare(where: str, expected: list[str], got: str) -> None:
    want = tidy(expected)
    lines = tidy(got.splitlines())
    if not re.fullmatch("".join(map(pattern, want)), "".join(f"{line}\n" for line in lines)):
        raise Wrong(f"{where}\nexpected:\n{shown(chr(10).join(want))}\ngot:\n{shown(chr(10).join(lines))}")


def tidy(lines: list[str]) -> list[str]:
    """Without spaces at the ends of lines and empty lines at the end of all."""
    return "\n".join(line.rstrip() for line in lines).rstrip().splitlines()


def pattern(line: str) -> str:
    if line.strip() == "...":
        return r"(?:.*\n)*?"
    return ".*?".join(map(re.escape, line.split("…"))) + r"\n"


def shown(text: str) -> str:
    return textwrap.indent(text.rstrip() or "(nothing)", "    ")
