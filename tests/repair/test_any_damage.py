"""Whatever happens to the live segment: it is noticed, and it can be mended, or the way out is named.

No belief is lost whose line can still be read, and nothing is ever believed that nobody said.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tallystick.ledger import format as fmt
from tallystick.ledger.folder.verify import verify
from tallystick.repair.check import check
from tallystick.repair.findings import CODES
from tallystick.repair.repair import apply
from tests.conftest import at_most
from tests.refusals import refuses
from tests.repair.folders import backup, compact, erase, fill, lines, opened, rebuilt, say_together, texts, wal

Damage = tuple[str, float, int]

damages = st.lists(
    st.tuples(
        st.sampled_from(["flip", "zero", "cut out", "slip in", "drop", "double", "swap", "newline"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(1, 255),
    ),
    min_size=1,
    max_size=5,
)


@pytest.fixture(scope="module", params=["plain", "lived"])
def folder(request, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("damage") / "memory"
    fill(root, 6)
    if request.param == "lived":
        compact(root)
        fill(root, 5, "m")
        backup(root)
        erase(root, "m2")
    with opened(root) as open_folder:
        say_together(open_folder, "a", "b", "c")
    fill(root, 8, "n")
    return root


@given(damages)
@settings(max_examples=at_most(400), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_damage_is_noticed_and_costs_no_line_that_can_be_read(folder, damage):
    root = folder.parent / "broken"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(folder, root)
    whole, before = wal(root).read_bytes(), texts(folder)
    for each in damage:
        wal(root).write_bytes(damaged(wal(root).read_bytes(), *each))
    if without_filling(wal(root).read_bytes()) == without_filling(whole):
        assert is_as_it_was(root, before)
        return
    there = set(lines(wal(root)))
    readable = {key for key, line in putting(whole).items() if line in there}
    sealed = set(before) - set(putting(whole))

    codes = list(dict.fromkeys(finding.code for finding in check(root)))
    assert codes
    if "rolled-back" in codes:
        with refuses("state", "tallystick restore"):
            apply(root, codes)
        return
    apply(root, [code for code in codes if CODES[code].fix])

    assert check(root) == []
    assert verify(root).ok
    after = texts(root)
    assert after == rebuilt(root)
    assert after.items() <= before.items()
    assert after.keys() >= readable | sealed


@pytest.mark.parametrize("spaces", [b"", b" " * 5, b" " * 900])
def test_how_many_spaces_stand_in_the_place_of_what_was_erased_says_nothing(folder, spaces):
    root = folder.parent / "filled"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(folder, root)
    wal(root).write_bytes(FILLING.sub(b'"data":null' + spaces + b"}", wal(root).read_bytes()))

    assert is_as_it_was(root, texts(folder))
    fill(root, 2, "more")
    assert check(root) == []
    assert texts(root).keys() > texts(folder).keys()


def is_as_it_was(root: Path, before: dict[str, str]) -> bool:
    return check(root) == [] and verify(root).ok and texts(root) == before == rebuilt(root)


FILLING = re.compile(rb'"data":null *\}')


def without_filling(content: bytes) -> bytes:
    return FILLING.sub(b'"data":null}', content)


def putting(content: bytes) -> dict[str, bytes]:
    """The line that put each belief."""
    found = {}
    for raw in content.splitlines(keepends=True):
        line = fmt.parse(raw)
        if line.op == "belief.put/1" and line.sound:
            found[fmt.body_of(line.data)["belief"]["key"]] = raw
    return found


def damaged(content: bytes, what: str, where: float, how: int) -> bytes:
    at = int(where * len(content))
    if what == "flip":
        return content[:at] + bytes([content[at] ^ how]) + content[at + 1 :]
    if what == "zero":
        return content[:at] + bytes(len(content[at : at + 2 * how])) + content[at + 2 * how :]
    if what == "cut out":
        return content[:at] + content[at + how :]
    if what == "slip in":
        return content[:at] + bytes([how]) * how + content[at:]
    if what == "newline":
        return content[:at] + b"\n" + content[at:]
    parts = content.splitlines(keepends=True)
    number = int(where * len(parts))
    pair = parts[number : number + 2]
    new = {"drop": pair[1:], "double": pair[:1] + pair, "swap": pair[::-1]}[what]
    return b"".join(parts[:number] + new + parts[number + 2 :])
