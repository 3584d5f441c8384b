"""Lines dropped, doubled, swapped, dressed up or rewritten by hand: all noticed, nothing of it served or mended."""

import json
import re
from contextlib import suppress
from hashlib import sha256
from itertools import combinations

import pytest

from tallystick.records.errors import Damaged, Missing, RolledBack
from tests.crash.folder import fill, held, lines, lose_witness, one_line, opened, set_wal, wal
from tests.ledger.books import put


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "memory"
    with opened(root) as ledger:
        for number in range(3):
            ledger.append([put(f"n{number}", number)])
        ledger.append([put("g1", 1), put("g2", 2), put("g3", 3)])
        ledger.append([put("last", 9)])
    return root


def is_noticed(root, content):
    """Whether opening says damaged, with the witness and without. The file stays as it is."""
    kept = (root / "lock").read_bytes()
    seen = []
    for witness in (kept, b""):
        set_wal(root, content)
        (root / "lock").write_bytes(witness)
        seen.append(says_damaged(root))
        assert wal(root) == content
        assert not (root / "sealed").exists()
    (root / "lock").write_bytes(kept)
    return all(seen)


def says_damaged(root):
    try:
        with opened(root) as ledger:
            with pytest.raises(Damaged):
                ledger.append([put("next")])
            return isinstance(ledger.trouble, Damaged)
    except Missing:  # the first line is gone: nothing can be shown at all
        return True


def test_dropped_doubled_repeated_and_swapped_lines_are_noticed(folder):
    whole = lines(folder)
    pairs = list(combinations(range(len(whole)), 2))
    changed = {f"lines {first} to {last - 1} dropped": whole[:first] + whole[last:] for first, last in pairs}
    changed |= {f"line {at} doubled": whole[: at + 1] + whole[at:] for at in range(len(whole))}
    changed |= {f"line {at} repeated at the end": [*whole, line] for at, line in enumerate(whole)}
    for one, other in pairs:
        swapped = changed[f"lines {one} and {other} swapped"] = list(whole)
        swapped[one], swapped[other] = swapped[other], swapped[one]
    for what, content in changed.items():
        assert is_noticed(folder, b"".join(content)), what


def between(line, old, new):
    assert old in line
    return line.replace(old, new, 1)


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def emptied(line):
    head, mark, data = line.partition(b'"data":')
    return head + mark + b"null".ljust(len(data) - 2) + b"}\n"


DRESSED_UP = {
    "bytes between hash and data": lambda line: between(line, b'","data":', b'","more":1,"data":'),
    "a space between hash and data": lambda line: between(line, b'","data":', b'", "data":'),
    "a space before data": lambda line: between(line, b'"data":', b'"data": '),
    "a second data": lambda line: between(line, b'","data":', b'","data":{},"data":'),
    "a space after the first brace": lambda line: b"{ " + line[1:],
    "a space before the first brace": lambda line: b" " + line,
    "a byte order mark": lambda line: b"\xef\xbb\xbf" + line,
    "a zero before a number": lambda line: re.sub(rb'"seq":(\d+)', rb'"seq":0\1', line),
    "a number with a point": lambda line: re.sub(rb'"seq":(\d+)', rb'"seq":\1.0', line),
    "a number with an exponent": lambda line: re.sub(rb'"seq":(\d+)', rb'"seq":\1e0', line),
    "a number with a sign": lambda line: re.sub(rb'"batch":(\d+)', rb'"batch":+\1', line),
    "a number as text": lambda line: re.sub(rb'"left":(\d+)', rb'"left":"\1"', line),
    "other digits": lambda line: re.sub(rb'"seq":\d+', '"seq":\u0661'.encode(), line),
    "capital hex": lambda line: re.sub(rb'"prev":"[0-9a-f]{4}', b'"prev":"ABCD', line),
    "an escaped letter in a key": lambda line: between(line, b'"seq"', b'"\\u0073eq"'),
    "an escaped letter in a value": lambda line: between(line, b'"op":"t', b'"op":"\\u0074'),
    "keys in another order": lambda line: compact(dict(reversed(json.loads(line).items()))),
    "keys in the same order, spaced": lambda line: json.dumps(json.loads(line)).encode() + b"\n",
    "a key too many": lambda line: between(line, b'{"seq"', b'{"x":1,"seq"'),
    "a key twice": lambda line: between(line, b'"seq"', b'"seq":7,"seq"'),
    "a carriage return": lambda line: line[:-1] + b"\r\n",
    "a space at the end": lambda line: line[:-1] + b" \n",
    "a second brace at the end": lambda line: line[:-1] + b"}\n",
    "an empty line": lambda line: line + b"\n",
    "an empty line before": lambda line: b"\n" + line,
    "a NUL": lambda line: line[:-1] + b"\0\n",
    "a comment": lambda line: b"# hello\n" + line,
    "other words": lambda line: between(line, b'"words":', b'"wards":'),
    "a space in the data": lambda line: between(line, b'"words":', b'"words": '),
    "data as erasure leaves it": lambda line: emptied(line),
    "an invalid UTF-8 byte": lambda line: between(line, b'"words":', b'"wor\xffds":'),
}  # fmt: skip


@pytest.mark.parametrize("how", DRESSED_UP)
def test_a_line_dressed_up_is_noticed(folder, how):
    whole = lines(folder)
    for number in range(1, len(whole)):
        changed = DRESSED_UP[how](whole[number])
        assert changed != whole[number]
        assert is_noticed(folder, b"".join(whole[:number] + [changed] + whole[number + 1 :])), f"line {number}"


def rewritten(line, old, new):
    """A line changed by someone who knows the format: digest and hash are right again."""
    event = json.loads(line)
    data = line.partition(b'","data":')[2][:-2].replace(old, new)
    head = line.partition(b',"hash":"')[0].replace(old, new)
    head = head.replace(event["digest"].encode(), sha256(data).hexdigest().encode())
    return head + b',"hash":"' + sha256(head).hexdigest().encode() + b'","data":' + data + b"}\n"


REWRITTEN = {
    "other words": (b'"words":', b'"words":1'),
    "another time": (b'"ts":"2', b'"ts":"1'),
    "another op": (b"tally.put", b"tally.drop"),
    "another source": (b"python:local", b"python:other"),
    "another group": (b'"left":0', b'"left":1'),
}


@pytest.mark.parametrize("what", REWRITTEN)
def test_a_line_rewritten_with_a_right_hash_is_noticed_by_the_line_below_or_the_witness(folder, what):
    whole = lines(folder)
    for number in range(len(whole) - 1):
        changed = rewritten(whole[number], *REWRITTEN[what])
        if changed != whole[number]:
            assert is_noticed(folder, b"".join(whole[:number] + [changed] + whole[number + 1 :])), f"line {number}"
    set_wal(folder, b"".join(whole[:-1] + [rewritten(whole[-1], *REWRITTEN[what])]))

    with opened(folder) as ledger:
        assert isinstance(ledger.trouble, RolledBack)
        with pytest.raises(RolledBack):
            ledger.append([put("next")])


def test_a_forged_line_that_means_nothing_is_damage_in_one_line_and_no_crash_of_ours(folder):
    whole = lines(folder)
    lose_witness(folder)
    changes = ((b'"words":', b'"wards":'), (b'"name":', b'"nome":'), (b'"body":', b'"bady":'), (b'{"salt"', b'["salt"'))
    for old, new in changes:
        set_wal(folder, b"".join(whole[:-1] + [rewritten(whole[-1], old, new)]))

        with pytest.raises(Damaged, match="event 7") as error:
            held(folder)

        assert one_line(error.value)


@pytest.mark.parametrize(
    "op", ["erase/1", "erase.done/1", "snapshot/1", "ledger.seal/1", "ledger.begin/1", "ledger.restore/1"]
)
def test_a_forged_line_about_the_ledger_itself_is_damage_and_no_crash_of_ours(folder, op):
    whole = lines(folder)
    lose_witness(folder)
    for body in (b"{}", b"[]", b"null", b'{"lines":7,"of":[],"snapshot":{},"abandoned":1,"ids":null}', b"{", b"\xff"):
        event = rewritten(whole[-1], b"tally.put/1", op.encode())
        data = event.partition(b'","data":')[2][:-2]
        set_wal(folder, b"".join(whole[:-1] + [rewritten(event, data, b'{"salt":"","body":' + body + b"}")]))
        with suppress(Damaged), opened(folder) as ledger:
            list(ledger.events())


def test_a_line_of_another_ledger_and_another_ledger_in_its_place_are_noticed(folder, tmp_path):
    fill(tmp_path / "other", 20)
    whole, foreign = lines(folder), lines(tmp_path / "other")
    for number in range(len(whole)):
        assert is_noticed(folder, b"".join(whole[:number] + [foreign[number]] + whole[number + 1 :])), f"line {number}"
    assert is_noticed(folder, b"".join(whole + [foreign[len(whole)]]))
    set_wal(folder, wal(tmp_path / "other"))
    with opened(folder) as ledger:
        assert isinstance(ledger.trouble, RolledBack)


@pytest.mark.parametrize(
    "garbage", [b"garbage", b"garbage\n", b"\n", b'{"seq":x', b"\xff\xfe", b"null", b'{"seq":8,"ts":1', b"{}", b" "]
)
def test_garbage_after_the_last_line_is_noticed_and_not_taken_for_a_cut_one(folder, garbage):
    assert is_noticed(folder, wal(folder) + garbage)


def test_a_long_lived_ledger_notices_a_change_behind_its_back(folder):
    """The file is put back as it was some events ago, while someone has it open."""
    with opened(folder) as ledger:
        old = wal(folder)
        ledger.append([put("acknowledged", "and gone")])
        set_wal(folder, old)
        lose_witness(folder)

        with pytest.raises(RolledBack, match="event 8"):
            ledger.append([put("next")])
        assert wal(folder) == old


def test_what_was_tampered_with_and_put_back_is_whole_again(folder):
    before, whole = held(folder), wal(folder)
    set_wal(folder, whole.replace(b'"words"', b'"wards"', 1))
    with opened(folder) as ledger:
        assert isinstance(ledger.trouble, Damaged)
        set_wal(folder, whole)
        ledger.refresh()
        assert ledger.trouble is None
        assert ledger.state.held == before
        ledger.append([put("next", "is kept")])
    assert held(folder) == before | {"next": "is kept"}
