"""A glance and a look: what is judged by the block is judged as it would be line by line."""

import os
import re
from contextlib import closing
from hashlib import sha256

import pytest
from hypothesis import given, settings, strategies as st

from tallystick.ledger import format as fmt
from tallystick.ledger.folder import scan as scanning
from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.ledger.folder.scan import scan
from tallystick.ledger.merkle import Range, leaf_hash
from tallystick.ledger.scan import Place, Walk
from tests.ledger.books import Tally, put, speaks_of

START = Place(0, -1, fmt.ZERO)


def chain(groups, *, single_batch=False):
    """Lines in groups of these sizes."""
    lines, seq, prev = [], 0, fmt.ZERO
    for size in groups:
        batch = 0 if single_batch else seq
        for left in range(size - 1, -1, -1):
            data = fmt.data_of({"name": f"n{seq}", "words": "x" * (seq % 7)}, "5a" * 16)
            ts = f"2026-01-02T03:04:05.{seq:06d}Z"
            line, _, prev = fmt.encode(seq, ts, "tally.put/1", f"{seq:026d}", "python:local", batch, left, prev, data)
            lines.append(line)
            seq += 1
    return lines


def scanned(tmp_path, content, start=START, leaves=None):
    path = tmp_path / "events.wal"
    path.write_bytes(content)
    fd = os.open(path, os.O_RDONLY)
    try:
        return Walk(start, leaves).through(scanning.blocks(fd, start.offset, len(content)))
    finally:
        os.close(fd)


@pytest.fixture
def only_look(monkeypatch):
    """Scan by looking alone."""

    def both(tmp_path, content, start=START):
        fast = scanned(tmp_path, content, start)
        with monkeypatch.context() as patch:
            patch.setattr(Walk, "_take_block", lambda self, lines: False)
            return fast, scanned(tmp_path, content, start)

    return both


@pytest.mark.parametrize("groups", [[1], [1] * 300, [300], [1, 5, 1, 17, 2, 400, 1], [2] * 100])
@pytest.mark.parametrize("single_batch", [False, True])
def test_good_lines_need_no_look(tmp_path, monkeypatch, groups, single_batch):
    lines = chain(groups, single_batch=single_batch)
    monkeypatch.setattr(Walk, "_take_lines", lambda self, lines: pytest.fail("a good block was looked at"))

    found = scanned(tmp_path, b"".join(lines))

    assert (found.lines, found.bad, found.open_group, found.end.seq) == (len(lines), None, False, len(lines) - 1)
    assert found.end.offset == sum(map(len, lines))


def test_a_group_that_is_cut_ends_before_it(tmp_path, only_look):
    lines = chain([1] * 200 + [300])
    for count in range(201, 500, 7):
        fast, slow = only_look(tmp_path, b"".join(lines[:count]))
        assert fast == slow
        assert (fast.end.seq, fast.open_group, fast.lines) == (199, True, count)
        assert fast.end.offset == sum(map(len, lines[:200]))


LINES = chain([1, 1, 3, 1, 2, 1, 40, 1, 1])
MUTATIONS = st.one_of(
    st.tuples(st.just("byte"), st.integers(0, sum(map(len, LINES)) - 1), st.integers(0, 255)),
    st.tuples(st.just("insert"), st.integers(0, sum(map(len, LINES))), st.binary(min_size=1, max_size=3)),
    st.tuples(st.just("cut"), st.integers(0, sum(map(len, LINES))), st.just(0)),
    st.tuples(st.just("remove"), st.integers(0, sum(map(len, LINES)) - 1), st.integers(1, 3)),
    st.tuples(st.just("drop"), st.integers(0, len(LINES) - 1), st.just(0)),
    st.tuples(st.just("double"), st.integers(0, len(LINES) - 1), st.just(0)),
    st.tuples(st.just("swap"), st.integers(0, len(LINES) - 1), st.integers(0, len(LINES) - 1)),
)


def mutated(mutation):
    what, at, more = mutation
    content, lines = b"".join(LINES), list(LINES)
    if what == "byte":
        return content[:at] + bytes([more]) + content[at + 1 :]
    if what == "insert":
        return content[:at] + more + content[at:]
    if what == "cut":
        return content[:at]
    if what == "remove":
        return content[:at] + content[at + more :]
    if what == "drop":
        del lines[at]
    elif what == "double":
        lines.insert(at, lines[at])
    else:
        lines[at], lines[more] = lines[more], lines[at]
    return b"".join(lines)


@given(MUTATIONS)
@settings(max_examples=300)
def test_a_glance_and_a_look_never_disagree(tmp_path_factory, mutation):
    tmp_path, content = tmp_path_factory.mktemp("scan"), mutated(mutation)
    fast = scanned(tmp_path, content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Walk, "_take_block", lambda self, lines: False)
        slow = scanned(tmp_path, content)

    assert fast == slow
    if content != b"".join(LINES) and not b"".join(LINES).startswith(content):
        assert fast.bad or fast.hollow


def rewritten(lines, at, change):
    """One header changed by someone who sees to it that every hash and link from there on fits."""
    head, _, rest = lines[at].partition(b',"hash":"')
    head, above, done = change(head), None, lines[:at]
    for raw in lines[at:]:
        if above is not None:
            head, _, rest = raw.partition(b',"hash":"')
            head = head[:-65] + above + b'"'
        above = sha256(head).hexdigest().encode()
        done.append(head + b',"hash":"' + above + rest[64:])
    return done


STRANGE_HEADS = {
    "an op in capitals": lambda head: head.replace(b"tally.put/1", b"Tally.put/1"),
    "an op without a version": lambda head: head.replace(b"tally.put/1", b"tally.put"),
    "an op with a quote": lambda head: head.replace(b"tally.put/1", b'tally\\".put/1'),
    "an op of two lines": lambda head: head.replace(b"tally.put/1", b"tally\n.put/1"),
    "a source without a door": lambda head: head.replace(b"python:local", b"local"),
    "a source that is too long": lambda head: head.replace(b"python:local", b"python:" + b"a" * 33),
    "a time with a space": lambda head: head.replace(b"T03:", b" 03:"),
    "a time with a letter": lambda head: head.replace(b"2026-", b"202x-"),
    "a digit for the T": lambda head: head.replace(b"T03:", b"103:"),
    "an id with a small letter": lambda head: re.sub(rb'"id":"0', b'"id":"a', head),
    "an id with an I": lambda head: re.sub(rb'"id":"0', b'"id":"I', head),
    "another number": lambda head: re.sub(rb'"seq":\d+', b'"seq":77', head),
    "the number of the line above": lambda head: re.sub(rb'"seq":(\d+)', lambda m: b'"seq":%d' % (int(m[1]) - 1), head),
    "a number with a zero before it": lambda head: re.sub(rb'"seq":(\d+)', rb'"seq":0\1', head),
    "a number with a plus": lambda head: re.sub(rb'"seq":(\d+)', rb'"seq":+\1', head),
    "a batch to come": lambda head: re.sub(rb'"batch":\d+', b'"batch":99', head),
    "a batch long gone": lambda head: re.sub(rb'"batch":\d+', b'"batch":0', head),
    "a batch with a zero before it": lambda head: re.sub(rb'"batch":(\d+)', rb'"batch":0\1', head),
    "a left with a zero before it": lambda head: re.sub(rb'"left":(\d+)', rb'"left":0\1', head),
    "one more to come": lambda head: re.sub(rb'"left":(\d+)', lambda m: b'"left":%d' % (int(m[1]) + 1), head),
    "two more to come": lambda head: re.sub(rb'"left":(\d+)', lambda m: b'"left":%d' % (int(m[1]) + 2), head),
    "a left that is no number": lambda head: re.sub(rb'"left":(\d+)', rb'"left":x', head),
    "a left that is far too long": lambda head: re.sub(rb'"left":(\d+)', b'"left":' + b"9" * 5000, head),
    "a digest in capitals": lambda head: re.sub(rb'(?<="digest":")\w+', lambda found: found[0].upper(), head),
    "another link": lambda head: re.sub(rb'"prev":"\w+"', b'"prev":"' + b"0" * 64 + b'"', head),
    "one key more": lambda head: head + b',"more":1',
}


@pytest.mark.parametrize("what", STRANGE_HEADS)
@pytest.mark.parametrize("at", [3, 6, 8, 20])
def test_a_strange_header_in_a_chain_that_fits_is_bad(tmp_path, only_look, what, at):
    changed = rewritten(LINES, at, STRANGE_HEADS[what])
    assert changed[at] != LINES[at]

    fast, slow = only_look(tmp_path, b"".join(changed))

    assert fast == slow
    assert fast.bad or fast.hollow
    assert fast.bad is None or fast.bad.seq in (at, at + 1)


def test_a_chain_that_was_only_hashed_anew_is_the_same(tmp_path):
    assert rewritten(LINES, 3, lambda head: head) == LINES
    fits = rewritten(LINES, 3, lambda head: head.replace(b"python:local", b"python:other"))
    assert scanned(tmp_path, b"".join(fits)).bad is None


def test_a_group_or_batch_may_be_longer_than_a_block(tmp_path, only_look):
    lines = chain([1, 1000, 1, 1])
    assert sum(map(len, lines)) > 3 * scanning.BLOCK
    fast, slow = only_look(tmp_path, b"".join(lines))
    assert fast == slow
    assert fast.end.seq == 1002

    for gone in (2, 400, 999):
        fast, slow = only_look(tmp_path, b"".join(lines[:gone] + lines[gone + 1 :]))
        assert fast == slow
        assert fast.bad.seq == gone


def test_a_line_longer_than_a_block_is_read_and_one_too_long_is_not(tmp_path, only_look):
    data = fmt.data_of({"words": "x" * 200_000}, "5a" * 16)
    long, _, prev = fmt.encode(0, "2026-01-02T03:04:05.000000Z", "tally.put/1", "0" * 26, "a:b", 0, 0, fmt.ZERO, data)
    more = fmt.encode(1, "2026-01-02T03:04:05.000000Z", "tally.put/1", "0" * 26, "a:b", 1, 0, prev, data)[0]
    fast, slow = only_look(tmp_path, long + more)
    assert fast == slow
    assert fast.end.seq == 1

    for length in (fmt.MAX_LINE, fmt.MAX_LINE + 1, fmt.MAX_LINE + scanning.BLOCK, 3 * fmt.MAX_LINE):
        stretched = more[:-2] + b" " * (length - len(more)) + more[-2:]
        fast, slow = only_look(tmp_path, long + stretched + more)
        assert fast == slow
        if length > fmt.MAX_LINE:
            assert (fast.bad.seq, fast.bad.why) == (1, "it is longer than 1,048,576 bytes")


class Gathered:
    """Every leaf, as it comes."""

    def __init__(self, end, until):
        self.leaves, self._begin, self.until = [], end, until

    @property
    def end(self):
        return self._begin + len(self.leaves)

    def extend(self, leaves):
        self.leaves += leaves


@pytest.mark.parametrize(("begin", "until"), [(0, 10**9), (0, 70), (50, 10**9), (50, 70), (9, 9), (0, 0), (7, 2000)])
def test_leaves_are_those_of_the_lines_that_were_asked_for(tmp_path, begin, until):
    lines = chain([1, 100, 1, 1, 1500, 3])
    wanted = Gathered(begin, until)

    scanned(tmp_path, b"".join(lines), leaves=wanted)

    slices = [line.partition(b',"hash":')[0] for line in lines]
    assert wanted.leaves == [leaf_hash(piece) for piece in slices[begin:until]]


def test_an_unfinished_group_has_no_leaves(tmp_path):
    lines = chain([1, 100, 1, 1, 1500])
    for count in (50, 101, 102, 103, 104, 900, 1602):
        wanted = Gathered(0, 10**9)
        found = scanned(tmp_path, b"".join(lines[:count]), leaves=wanted)
        assert wanted.end == found.end.seq + 1


def test_the_tree_of_a_scan_is_the_tree_of_the_ledger(tmp_path):
    with closing(FolderLedger(tmp_path / "memory", Tally())) as ledger:
        for number in range(30):
            ledger.append([put(f"n{number}", number)])
        ledger.erase(lambda: (["n3"], speaks_of("n3")))
        root = ledger.tree().root()
    wanted = Gathered(0, 10**9)
    found = scanned(tmp_path, (tmp_path / "memory" / "events.wal").read_bytes(), leaves=wanted)
    tree = Range()
    tree.extend(wanted.leaves)

    assert tree.root() == root
    assert found.first_bad() is None
    assert len(found.hollow) == 1


def test_an_event_about_the_ledger_that_makes_no_sense_is_bad_and_not_a_crash(tmp_path, only_look):
    lines = chain([1, 1])
    prev = fmt.parse(lines[-1]).hash
    ts = "2026-01-02T03:04:06.000000Z"
    for data in (b"null", b"[]", b"7", b'{"salt":"","body":[]}', b"{", b'{"body":7}', b"\xff"):
        line = fmt.encode(2, ts, fmt.ERASE, "0" * 26, "a:b", 2, 0, prev, data)[0]
        fast, slow = only_look(tmp_path, b"".join([*lines, line]))
        assert fast == slow
        assert (fast.bad.seq, fast.bad.why) == (2, "its data is not in the ledger's format")
    for body in ({"lines": 7}, {"lines": {}}, {}, {"lines": [1, None, []]}, {"of": []}):
        line = fmt.encode(2, ts, fmt.ERASE, "0" * 26, "a:b", 2, 0, prev, fmt.data_of(body, ""))[0]
        assert scanned(tmp_path, b"".join([*lines, line])).first_bad() is None


def test_progress_tells_every_byte(tmp_path):
    content, told = b"".join(chain([1] * 400)), []
    path = tmp_path / "events.wal"
    path.write_bytes(content)
    with open(path, "rb") as file:
        scan(file.fileno(), START, len(content), on_progress=told.append)

    assert sum(told) == len(content)
    assert len(told) > 2
