"""The tree is RFC 6962's, its proofs convince, and nothing that was meddled with does.

The measure is the RFC's own recursive definition, written down here as plainly as it stands there.
"""

from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import assume, given, strategies as st

from tallystick.ledger.merkle import (
    EMPTY_ROOT,
    Range,
    inclusion_proof,
    leaf_hash,
    node_hash,
    verify_inclusion,
)

# The reference tree of the Certificate Transparency project: its eight entries, and its root at each size.
ENTRIES = [
    bytes.fromhex(entry)
    for entry in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
H1 = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
H4 = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
H6 = "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f"
H23 = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
H45 = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"
H67 = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
H4567 = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
INCLUSION = [
    (0, 1, []),
    (0, 8, [H1, H23, H4567]),
    (5, 8, [H4, H67, ROOTS[4]]),
    (2, 3, [ROOTS[2]]),
    (1, 5, [ROOTS[1], H23, H4]),
]

entries = st.lists(st.binary(max_size=4), max_size=70)
some_entries = st.lists(st.binary(max_size=4), min_size=1, max_size=70)
hostile_number = st.integers() | st.integers(0, 40) | st.just(2**100_000) | st.none() | st.floats()
hostile_hash = st.binary(min_size=32, max_size=32) | st.binary() | st.none() | st.text()


def split_point(size):
    """The largest power of two smaller than `size`."""
    return 1 << (size - 1).bit_length() - 1


def plain_root(data):
    if len(data) < 2:
        return sha256(b"\x00" + data[0]).digest() if data else sha256(b"").digest()
    k = split_point(len(data))
    return sha256(b"\x01" + plain_root(data[:k]) + plain_root(data[k:])).digest()


def plain_inclusion(index, data):
    if len(data) == 1:
        return []
    k = split_point(len(data))
    if index < k:
        return plain_inclusion(index, data[:k]) + [plain_root(data[k:])]
    return plain_inclusion(index - k, data[k:]) + [plain_root(data[:k])]


def way_up(index, size):
    """On which side the siblings stand, from leaf `index` to the root."""
    if size == 1:
        return ""
    k = split_point(size)
    return way_up(index, k) + "R" if index < k else way_up(index - k, size - k) + "L"


def leaves_of(data):
    return [leaf_hash(entry) for entry in data]


def range_of(data, begin=0):
    made = Range(begin)
    made.extend(leaves_of(data))
    return made


def flip(hashed, bit):
    return (int.from_bytes(hashed) ^ 1 << bit).to_bytes(32)


# The tree


def test_the_roots_are_those_of_the_certificate_transparency_reference_tree():
    assert [range_of(ENTRIES[:size]).root().hex() for size in range(9)] == ROOTS
    assert EMPTY_ROOT.hex() == ROOTS[0]


def test_a_leaf_cannot_pass_for_a_node_nor_a_node_for_a_leaf():
    left, right = leaves_of(ENTRIES[:2])

    assert node_hash(left, right) != leaf_hash(left + right)
    assert node_hash(left, right) != node_hash(right, left)


@given(entries)
def test_the_root_is_what_the_recursive_definition_says(data):
    assert range_of(data).root() == plain_root(data)


@given(entries, st.integers(0, 3000))
def test_appending_one_by_one_is_the_same_as_extending(data, begin):
    one_by_one = Range(begin)
    for leaf in leaves_of(data):
        one_by_one.append(leaf)

    assert one_by_one == range_of(data, begin)


@pytest.mark.parametrize("begin", [0, 1, 1023, 1024, 1500])
@pytest.mark.parametrize("size", [1023, 1024, 1025, 2600])
def test_extending_by_whole_batches_changes_nothing_but_the_time_it_takes(begin, size):
    leaves = [leaf_hash(seq.to_bytes(4)) for seq in range(size)]
    one_by_one, at_once = Range(begin), Range(begin)
    for leaf in leaves:
        one_by_one.append(leaf)
    at_once.extend(iter(leaves))

    assert at_once == one_by_one


@given(entries, st.data())
def test_two_ranges_that_meet_are_the_same_as_one_wherever_they_are_cut(data, draw):
    begin = draw.draw(st.integers(0, 200))
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), min_size=1, max_size=4)))
    bounds = [0, *cuts, len(data)]
    parts = [range_of(data[a:b], begin + a) for a, b in pairwise(bounds)]
    before = [part.copy() for part in parts]

    whole = parts[0].copy()
    for part in parts[1:]:
        whole.merge(part)

    assert whole == range_of(data, begin)
    assert parts == before


@given(entries, st.integers(0, 1000))
def test_a_range_is_never_more_hashes_than_it_needs(data, begin):
    end = begin + len(data)

    assert len(range_of(data, begin).hashes) <= 2 * end.bit_length()
    assert len(range_of(data).hashes) == len(data).bit_count()


def test_a_range_that_does_not_follow_is_refused_and_changes_nothing():
    first, gap = range_of(ENTRIES[:3]), range_of(ENTRIES[4:], 4)
    before = first.copy()

    with pytest.raises(ValueError, match="begins at 4 does not follow one that ends at 3"):
        first.merge(gap)

    assert first == before


def test_a_range_from_the_middle_has_no_root():
    with pytest.raises(ValueError, match="begins at 4 has no root"):
        range_of(ENTRIES[4:], 4).root()


@pytest.mark.parametrize("not_a_leaf", [b"", b"a line of the ledger", b"x" * 33, "x" * 32, None])
def test_what_is_not_a_leaf_is_refused_and_changes_nothing(not_a_leaf):
    tree = range_of(ENTRIES[:3])
    before = tree.copy()

    with pytest.raises((ValueError, TypeError)):
        tree.append(not_a_leaf)
    with pytest.raises((ValueError, TypeError)):
        tree.extend([not_a_leaf])
    whole_batches = range_of([b""] * 1024)
    with pytest.raises((ValueError, TypeError)):
        whole_batches.extend([leaf_hash(b"")] * 1023 + [not_a_leaf])

    assert tree == before
    assert whole_batches == range_of([b""] * 1024)


@pytest.mark.parametrize("given_before", [0, 1, 1020, 1021, 1500, 3000])
def test_when_reading_fails_the_tree_holds_all_that_was_read_before(given_before):
    def failing():
        yield from [leaf_hash(b"")] * given_before
        raise OSError("the disk is gone")

    tree = range_of(ENTRIES[:3])
    with pytest.raises(OSError, match="the disk is gone"):
        tree.extend(failing())

    assert tree == range_of(ENTRIES[:3] + [b""] * given_before)


# The frontier in a snapshot


@given(entries, entries, st.integers(0, 3000))
def test_a_frontier_that_was_stored_goes_on_as_if_it_never_was(data, more, begin):
    stored = Range.from_json(range_of(data, begin).to_json())
    stored.extend(leaves_of(more))

    assert stored == range_of(data + more, begin)


@pytest.mark.parametrize(
    "change",
    [
        {"begin": -1},
        {"begin": True},
        {"begin": 1},
        {"begin": 7, "hashes": []},
        {"end": 7},
        {"end": 5.0},
        {"end": "5"},
        {"end": 2**63 + 4},
        {"hashes": []},
        {"hashes": None},
        {"hashes": "00"},
        {"hashes": [H1]},
        {"hashes": [H1, H4, H6]},
        {"hashes": [H1, H4.upper()]},
        {"hashes": [H1, H4[:-1]]},
        {"hashes": [H1, H4 + "\n"]},
        {"hashes": [H1, " " + H4[1:]]},
        {"hashes": [H1, bytes.fromhex(H4)]},
        {"more": 1},
    ],
)
def test_a_stored_frontier_that_makes_no_sense_is_refused(change):
    sound = {"begin": 0, "end": 5, "hashes": [ROOTS[4], H4]}
    assert Range.from_json(sound).root().hex() == ROOTS[5]

    with pytest.raises(ValueError, match="range"):
        Range.from_json(sound | change)


def test_what_is_no_frontier_at_all_is_refused():
    for nonsense in (None, [], "x", {}, {"begin": 0, "end": 0}):
        with pytest.raises(ValueError, match="begin, end and hashes"):
            Range.from_json(nonsense)
    for nowhere in (-1, 2**63, True, 1.0, None):
        with pytest.raises(ValueError, match="cannot begin at"):
            Range(nowhere)


# Proofs


@pytest.mark.parametrize(("index", "size", "proof"), INCLUSION)
def test_inclusion_proofs_are_those_of_the_reference_tree(index, size, proof):
    made = inclusion_proof(leaves_of(ENTRIES[:size]), index)

    assert [sibling.hex() for sibling in made] == proof
    assert verify_inclusion(leaf_hash(ENTRIES[index]), index, size, made, bytes.fromhex(ROOTS[size]))


def test_every_proof_of_every_small_tree_is_as_defined_and_convinces():
    data = [bytes([seq]) for seq in range(40)]
    leaves, roots = leaves_of(data), [plain_root(data[:size]) for size in range(41)]
    for size in range(1, 41):
        for index in range(size):
            proof = inclusion_proof(leaves[:size], index)
            assert proof == plain_inclusion(index, data[:size])
            assert verify_inclusion(leaves[index], index, size, proof, roots[size])


def test_there_is_no_proof_for_what_is_not_in_the_tree():
    leaves = leaves_of(ENTRIES)
    for index in (-1, 8):
        with pytest.raises(ValueError, match=f"no leaf {index} among 8"):
            inclusion_proof(leaves, index)


# Proofs that were meddled with


@given(some_entries, st.data())
def test_one_changed_bit_anywhere_in_an_inclusion_proof_is_noticed(data, draw):
    index = draw.draw(st.integers(0, len(data) - 1))
    hashes = [leaf_hash(data[index]), *inclusion_proof(leaves_of(data), index), plain_root(data)]
    which = draw.draw(st.integers(0, len(hashes) - 1))
    hashes[which] = flip(hashes[which], draw.draw(st.integers(0, 255)))

    leaf, *proof, root = hashes
    assert not verify_inclusion(leaf, index, len(data), proof, root)


@given(some_entries, st.data())
def test_a_proof_that_is_longer_or_shorter_or_in_another_order_is_refused(data, draw):
    at = draw.draw(st.integers(0, len(data) - 1))
    proof = inclusion_proof(leaves_of(data), at)

    for other in ([*proof, EMPTY_ROOT], [EMPTY_ROOT, *proof], proof[1:], proof[:-1], proof[::-1], proof * 2):
        if other != proof:
            assert not verify_inclusion(leaf_hash(data[at]), at, len(data), other, plain_root(data))


@given(st.integers(1, 70), st.integers(0, 80), st.data())
def test_a_leaf_is_proven_for_its_own_place_only(size, elsewhere, draw):
    index = draw.draw(st.integers(0, size - 1))
    assume(elsewhere != index)
    data = [bytes([seq]) for seq in range(size)]
    proof = inclusion_proof(leaves_of(data), index)

    assert not verify_inclusion(leaf_hash(data[index]), elsewhere, size, proof, plain_root(data))


@given(st.integers(1, 70), st.integers(0, 140), st.data())
def test_a_changed_size_is_noticed_unless_the_way_up_is_the_same(size, other, draw):
    index = draw.draw(st.integers(0, size - 1))
    data = [bytes([seq]) for seq in range(size)]
    proof = inclusion_proof(leaves_of(data), index)
    is_same_way = index < other and way_up(index, other) == way_up(index, size)

    assert verify_inclusion(leaf_hash(data[index]), index, other, proof, plain_root(data)) == is_same_way


def test_a_proof_alone_does_not_bind_the_size_so_the_signature_must():
    leaves = leaves_of(ENTRIES)
    proof, root = inclusion_proof(leaves, 0), range_of(ENTRIES).root()

    assert [size for size in range(20) if verify_inclusion(leaves[0], 0, size, proof, root)] == [5, 6, 7, 8]


@given(hostile_number, hostile_number, hostile_hash, hostile_hash, st.lists(hostile_hash, max_size=70))
def test_whatever_comes_from_outside_is_answered_with_no_and_never_with_an_exception(a, b, one, another, proof):
    assume(one != another)

    assert verify_inclusion(one, a, b, proof, another) is False
