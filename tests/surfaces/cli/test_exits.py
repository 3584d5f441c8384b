"""Every error of every command is one line with the way out, and a status that a script can rely on."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tallystick.records import errors
from tallystick.surfaces.cli.command import Call
from tallystick.surfaces.cli.map import OTHER_WORDS
from tallystick.surfaces.cli.root import run_to_end, tallystick as root


def fail(error: BaseException):
    def run() -> None:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.Refused("no"), 1), (errors.NotFound("no"), 1), (errors.NotWritable("no"), 1), (errors.Closed("no"), 1),
        (errors.Moved("no"), 1), (errors.Busy("no"), 3), (errors.NotWritten("no"), 3), (errors.Damaged("no"), 4),
        (errors.RolledBack("no"), 4), (errors.Missing("no"), 4), (click.UsageError("no"), 2),
        (click.BadParameter("no"), 2), (click.ClickException("no"), 1), (OSError(28, "No space left on device"), 3),
        (OSError(5, "Input/output error"), 3),
        (PermissionError(13, "Permission denied", "/x"), 1), (FileNotFoundError(2, "No such file", "/x"), 1),
        (OSError(30, "Read-only file system", "/x"), 1), (NotADirectoryError(20, "Not a directory", "/x"), 1),
        (ZeroDivisionError("no"), 70), (RuntimeError("two\nlines \x1b[31m"), 70),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_a_status(capsys, error, status):
    assert run_to_end(fail(error), Call()) == status

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tallystick: ")
    assert printed.err.count("\n") == 1
    assert "\x1b" not in printed.err


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt(), 130), (click.Abort(), 130), (BrokenPipeError(32, "pipe"), 141)]
)
def test_an_interruption_is_quiet(capsys, error, status):
    assert run_to_end(fail(error), Call()) == status
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "leaf", [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.TallystickError)]
)
def test_every_error_of_ours_has_a_status_from_one_to_four(leaf):
    assert run_to_end(fail(leaf("no")), Call()) in (1, 3, 4)


def test_debug_prints_where_it_arose_before_the_line(tallystick):
    tallystick("remember", "x")
    plain, told = tallystick("show", "nobody"), tallystick("show", "nobody", "--debug")

    assert told.err.startswith("Traceback")
    assert told.err.splitlines()[-1] == plain.err.strip()
    assert tallystick("--debug", "show", "nobody").err.startswith("Traceback")
    assert (plain.status, told.status) == (1, 1)


def test_a_trace_holds_nothing_that_a_terminal_obeys(capsys):
    run_to_end(fail(errors.Refused("\x1b[31mred\u202e")), Call(debug=True))

    assert not set(capsys.readouterr().err) & {"\x1b", "\u202e"}


def test_a_warning_is_one_plain_line(capsys):
    def run() -> None:
        warnings.warn("left out\nbecause \x1b[31m", UserWarning, stacklevel=1)
        warnings.warn("left out\nbecause \x1b[31m", UserWarning, stacklevel=1)

    assert run_to_end(run, Call()) == 0
    assert capsys.readouterr().err == "tallystick: left out\\nbecause \\x1b[31m\n" * 2


WRONG_USAGE = {  # what is said, and to which lines
    "did you mean 'remember'?": ["rember"], "did you mean 'verify'?": ["ledger verfy"], "--folder": ["--fold"],
    "did you mean `tallystick show`?": ["list"], "did you mean `tallystick recall`?": ["search tea"],
    "did you mean `tallystick --help`?": ["help"], "did you mean `tallystick recall --frame`?": ["frame task"],
    "no command 'add' (see": ["ledger add"], "nope": ["remember x --nope"],
    "there is no option '--tgs'; did you mean --tag or --trust? (see": ["remember --tgs x"],
    "unexpected argument: all.ndjson; for example: tallystick export > everything.ndjson (see": ["export all.ndjson"],
    "unexpected argument: b": ["show a b"],
    "unexpected argument: all; for example: tallystick clean": ["clean memory all"],
    "missing argument 'NAME...'; for example: tallystick erase ana-tea": ["erase"],
    "missing argument 'NAME...'": ["forget"], "missing argument 'RELATION'": ["relate museum parser"],
    "missing argument 'WHAT'; choose one of memory, all; for example:": ["clean", "clean --yes"],
    "missing argument 'CODE...'": ["repair"], "missing argument 'FILE'": ["test"],
    "missing option '--to'": ["ledger prune"], "missing option '--reason'": ["paths abandon x"],
    "'abc'": ["log abc"], "'high'": ["remember x --confidence high"], "'everything' is not": ["clean everything --yes"],
    "'few' is not a whole number": ["recall x -k few"], "0 is not in the range": ["recall x -k 0", "tidy --limit 0"],
    "0 is not in the range x>=1": ["recall tea --frame attention --budget 0"], "2.0 is not in": ["recall x --floor 2"],
    "'dream' is not one of": ["recall tea --what dream"], "-1 is not in the range": ["log --last -1"],
    "'yaml' is not one of": ["export --format yaml"], "'mine' is not one of": ["paths merge b --conflicts mine"],
    "70000 is not in the range": ["serve --port 70000"], "-1.0 is not in the range": ["serve --rate -1"],
    "'god' is not one of": ["serve --trust god"], "'x' is not one of": ["serve --profile x"],
    "--link needs the port on which the server listens: --port N": ["serve --link --port 0"],
    "'-C' / '--folder': it is empty": ["show -C ''"], "choose --here or a PATH": ["init --here x"],
    "put the text in quotes: tallystick remember \"Ana prefers …\"": ["remember Ana prefers tea"],
    "put the text in quotes": ["observe a b"], "--meta must be KEY=VALUE, not 'branch'": ["observe x --meta branch"],
    "--key names one belief; leave it out with --lines": ["remember --key k --lines"],
    "--id names one episode; leave it out with --lines": ["observe --id k --lines"],
    'tallystick revise NAME "the new words"': ["revise 'Ana likes coffee'"],
    'tallystick revise ana-tea "the new words"': ["revise ana-tea", "revise ana-tea --path try-b"],
    "--budget needs --frame": ["recall tea --budget 100"], "--hook needs --frame": ["recall tea --hook"],
    "-k does not go with --frame: its budget decides": ["recall tea --frame attention -k 3"],
    "--words does not go with --frame": ["recall tea --frame attention --words"],
    "--replay asks the question as it was": ["recall x --replay x -k 3", "recall x --replay x --frame attention"],
    "choose one of --history, --why and --at": ["show x --why --history", "show x --at 1 --why"],
    "name a belief: tallystick show NAME --history": ["show --history"],
    "name a belief: tallystick show NAME --why": ["show --why"],
    "name a page: tallystick pages NAME --": ["pages --tail 3", "pages --path", "pages --archive", "pages --flag"],
    "--in needs --search": ["pages --in person-ana"], "--limit needs --search": ["pages --limit 3"],
    "needs a page or --search: tallystick pages NAME --": ["pages --history", "pages --tag home"],
    "name the page with --in": ["pages person-ana --search x"],
    "name the page without --schema": ["pages person-ana --schema"],
    "choose one of --archive and --flag": ["pages person-ana --archive --flag"],
    "choose one of --path and --activate": ["pages person-ana --path --activate"],
    "`review policy` takes no ID": ["review policy x"],
    "name an action: tallystick review policy --test ACTION, or --matrix": [
        "review policy --trust web", "review policy --with tag=x",
    ],
    "--matrix, --test and --with go with `tallystick review policy`": ["review --test erase"],
    "name a review: tallystick review approve ID, or --all": ["review approve"],
    "name an ID, or --all with --kind": ["review approve x --all", "review approve x --kind erase"],
    "one review is shown at a time": ["review x y"], "choose one of --approve and": ["review approve x --reject"],
    "--grant goes with `review approve`, and takes no reason": [
        "review x --grant", "review reject x --grant", "review approve x --grant --reason y",
    ],
    "name a FILE of rules, or one of --list, --due, --findings and --drop ID": [
        "consolidate", "consolidate --add", "consolidate people.yaml --due", "consolidate --drop '' people.yaml",
    ],
    "choose one of --list and --due": ["consolidate --due --list"],
    "need a FILE to run, and do not go with --list": ["consolidate --list --dry-run"],
    "need a FILE to run, and do not go with --add": ["consolidate --add people.yaml --all"],
    "name an event: tallystick ledger prove SEQ; or a proof: --check FILE [--key VKEY]": [
        "ledger prove", "ledger prove 1 --check x", "ledger prove 1 --key k", "ledger prove --check x --out y",
    ],
    "--rewrite needs --compact": ["tidy --rewrite x"],
    "--reason goes with --apply": ["tidy --reason x", "tidy --compact --reason x"],
    "choose one of --none and --usual": ["trust --none mcp:x --usual mcp:x"],
    "name a source: tallystick trust --none SOURCE": ["trust --since 3", "trust --reason x"],
    "markdown is a folder of files: name it with --to": ["export --format markdown"],
    "name what to import": ["import"], "choose one of --mine and --quarantine": ["import x --mine --quarantine"],
    "--hook reads the session to import from standard input alone": ["import --hook s.jsonl"],
    "choose one of --sure and --two": ["graph merge a b --two --sure"],
    "choose one of --path and --write": ["store replay notes --path main --write"],
    "choose --project or --user-wide": ["connect cursor --project --user-wide"],
    "--remove removes whatever is there; leave --print": ["connect cursor --remove --print"],
    "has its own memory and tools; leave": ["connect cursor --http http://a --profile pages"],
}  # fmt: skip


@pytest.mark.parametrize(("line", "says"), [(line, says) for says, lines in WRONG_USAGE.items() for line in lines])
def test_wrong_usage_says_what_is_wrong_and_where_to_look(tallystick, home, line, says):
    before = sorted(home.rglob("*"))

    tallystick(*shlex.split(line)).refused(says, "--help`)", status=2)
    assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize("group", ["ledger", "graph", "store"])
def test_a_group_of_commands_alone_shows_which_it_has(tallystick, folder, group):
    done, asked = tallystick(group), tallystick(group, "--help")

    assert (done.status, done.out, done.err) == (2, "", asked.out)
    assert not folder.exists()


def test_what_other_programs_call_a_command_leads_to_one_that_is_here(tallystick):
    assert not OTHER_WORDS.keys() & set(root.list_commands(click.Context(root)))
    for line in set(OTHER_WORDS.values()):
        words = [word for word in line.split()[1:] if word != "NAME"]
        option = words.pop() if words[-1].startswith("-") else "--help"
        assert option in tallystick(*words, "--help").out, line


def test_a_folder_that_is_a_file_is_refused_whatever_is_asked(tallystick, home):
    (home / "file").write_text("mine")

    for args in (["remember", "x"], ["status"], ["show"], ["init"], ["check"], ["ledger", "verify"], []):
        tallystick("-C", str(home / "file"), *args).refused("is a file, not a memory folder")
    assert (home / "file").read_text() == "mine"


UNPRIVILEGED = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder of this test's own that other users may enter. pytest's are closed to them, and stay so."""
    place = Path(tempfile.mkdtemp(prefix="tallystick-test-"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_who_may_not_write_reads_and_is_told_so(tallystick, open_place):
    shared = open_place / "shared"
    tallystick("-C", str(shared), "remember", "Ana prefers tea", "--key", "k")
    shared.chmod(0o755)
    for path in shared.iterdir():
        path.chmod(0o644)

    theirs = {name: str(open_place / "theirs") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}

    def as_nobody(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*UNPRIVILEGED, sys.executable, "-m", "tallystick", "-C", str(shared), *args],
            capture_output=True, text=True, cwd=open_place, env={**os.environ, **theirs},
        )  # fmt: skip

    if as_nobody("--version").returncode != 0:
        pytest.skip("another user cannot run this Python")
    assert "Ana prefers tea" in as_nobody("show", "k").stdout
    assert "read-only here" in as_nobody("status").stdout
    for args in (["remember", "x"], ["forget", "k"], ["erase", "k", "--yes"], ["ledger", "compact"], ["backup"]):
        done = as_nobody(*args)
        assert done.returncode in (1, 3), (args, done.stderr)
        assert done.stderr.count("\n") == 1
    shared.chmod(0o700)
    done = as_nobody("show")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_as_a_module_and_as_a_program_it_is_called_tallystick(process):
    assert process("--help").out.startswith("Usage: tallystick ")
    assert "tallystick" in process("--version").out


AT_THE_END = """
import atexit, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from tallystick.surfaces.cli import main
idle = ThreadPoolExecutor(1)
idle.submit(time.sleep, 0).result()  # its thread waits for more
def slow():
    time.sleep(0.3)
    print("a thread")
threading.Thread(target=slow).start()
atexit.register(lambda: print("at exit"))
sys.argv = ["tallystick", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(("args", "status"), [(["--version"], 0), (["no-such"], 2)])
def test_the_program_ends_with_its_status_once_threads_and_whatever_was_asked_for_are_done(args, status):
    done = subprocess.run([sys.executable, "-c", AT_THE_END, *args], capture_output=True, text=True, timeout=120)

    assert done.returncode == status
    assert "a thread\n" in done.stdout
    assert done.stdout.endswith("at exit\n")
