"""Words that broke other ledgers. What can be kept is kept exactly; what cannot is refused before a byte is written."""

import pytest

from tallystick.ledger import format as fmt
from tallystick.records.errors import Damaged, Refused
from tallystick.records.event import Draft
from tests.crash.folder import chain_of, fill, fresh_copy, held, lines, lose_witness, opened, set_wal, wal
from tests.ledger.books import PUT, put
from tests.refusals import refuses


def nested(depth):
    value = "deep"
    for _ in range(depth):
        value = [value]
    return value


KEPT = {
    "line separator": "one\u2028two",
    "paragraph separator": "one\u2029two",
    "next line": "one\u0085two",
    "vertical tab, form feed, file separators": "a\x0bb\x0cc\x1cd\x1de\x1ef",
    "carriage return and newline": "one\r\ntwo\rthree\nfour",
    "NUL": "one\0two",
    "all control characters": "".join(map(chr, range(32))) + "\x7f\x80\x9f",
    "byte order mark": "\ufeffone",
    "not a character": "\uffff\ufffe",
    "beyond the first plane": "\U0001f600\U0010ffff",
    "right to left override": "\u202eone",
    "what looks like a line": '"}}\\n{"seq":1,"ts":"',
    "quotes and backslashes": '\\"\\\\""\\u0000',
    "nothing": "",
    "the largest integers": [2**64 - 1, -(2**63)],
    "small and large numbers": [5e-324, 1.7976931348623157e308, -0.0, 0.1],
    "depth 31": nested(30),
}
REFUSED = {
    "a lone surrogate": "one\ud800two",
    "a lone surrogate as a key": {"\udfff": 1},
    "not a number": float("nan"),
    "infinity": float("inf"),
    "minus infinity, deep inside": {"a": [{"b": float("-inf")}]},
    "more than 64 bits": 2**64,
    "less than 64 bits": -(2**63) - 1,
    "depth 33": nested(33),
    "a set": {1, 2},
    "bytes": b"bytes",
    "a key that is no text": {1: "one"},
    "a mebibyte": "x" * (1 << 20),
    "more than a mebibyte once it is escaped": "\0" * 200_000,
}  # fmt: skip


@pytest.mark.parametrize("what", KEPT)
def test_odd_words_are_kept_exactly_and_the_next_write_too(root, what):
    with opened(root) as ledger:
        ledger.append([put("odd", KEPT[what])])
        ledger.append([put("next", "is kept")])
        assert ledger.state.held == {"odd": KEPT[what], "next": "is kept"}
    assert held(root) == {"odd": KEPT[what], "next": "is kept"}
    assert len(wal(root).split(b"\n")) == 4
    assert [body["words"] for _, op, body in chain_of(root) if op == PUT] == [KEPT[what], "is kept"]
    with opened(root) as ledger:
        ledger.compact()
    assert held(root) == {"odd": KEPT[what], "next": "is kept"}


@pytest.mark.parametrize("group", [False, True], ids=["full", "group"])
@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_kept_is_refused_with_all_of_its_group_and_nothing_is_written(root, what, group):
    with opened(root, durability="group" if group else "full") as ledger:
        ledger.append([put("before", 1)])
        size = wal(root)
        for drafts in ([put("odd", REFUSED[what])], [put("good"), put("odd", REFUSED[what]), put("good too")]):
            with pytest.raises(Refused):
                ledger.append(drafts)
            assert wal(root) == size
            assert ledger.state.held == {"before": 1}
        with ledger.batch():
            ledger.append([put("in batch", 2)])
            with pytest.raises(Refused):
                ledger.append([put("more"), put("odd", REFUSED[what])])
    assert held(root) == {"before": 1, "in batch": 2}


@pytest.mark.parametrize(
    "draft",
    [
        Draft("Bad/1", {}), Draft("tally.put", {}), Draft("tally put/1", {}), Draft("", {}), Draft("tally.put/1\n", {}),
        Draft("a" * 64 + "/1", {}), Draft("tally.put/01", {}), Draft('tally"/1', {}), Draft("tälly.put/1", {}),
        Draft(PUT, []), Draft(PUT, None), Draft(PUT, "words"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_the_format_cannot_say_is_refused_and_nothing_is_written(root, draft):
    with opened(root) as ledger:
        ledger.append([put("before")])
        size = wal(root)
        with pytest.raises(Refused):
            ledger.append([draft])
        with refuses("name", "someone's own words", "cli:local"):
            ledger.append([put("x")], by="someone's own words")
        assert wal(root) == size
    assert held(root).keys() == {"before"}


def test_the_longest_line_that_is_taken_can_be_read_and_torn(root, tmp_path):
    low, high = 1 << 19, 1 << 20
    with opened(root) as ledger:
        ledger.append([put("before")])
        start = len(wal(root))
        while low + 1 < high:
            middle = (low + high) // 2
            try:
                ledger.append([put("long", "x" * middle)])
                low = middle
            except Refused:
                high = middle
    assert held(root)["long"] == "x" * low
    longest = max(lines(root), key=len)
    assert (1 << 20) - 1000 < len(longest) <= fmt.MAX_LINE
    for cut in (start + 1, start + 100_000, start + len(lines(root)[2]) - 1):
        torn = fresh_copy(root, tmp_path / "torn")
        set_wal(torn, wal(root)[:cut])
        lose_witness(torn)
        assert held(torn).keys() == {"before"}


def test_a_line_longer_than_any_is_damage_and_takes_no_long_time(root):
    fill(root, 2)
    whole = wal(root)
    for tail in (b"x" * (3 << 20), b"x" * (3 << 20) + b"\n", whole[-300:-1] * 9000, b"{" * (2 << 20)):
        set_wal(root, whole + tail)
        with opened(root) as ledger:
            assert isinstance(ledger.trouble, Damaged)
            assert ledger.state.held.keys() == {"n0", "n1"}
