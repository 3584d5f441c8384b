"""An edge has no direction: whichever block is named first, it is the same edge."""

import pytest
from hypothesis import given, strategies as st

from tallystick.records.block import Edge
from tests.refusals import refuses
from tests.strategies import names


@given(names, names)
def test_both_orders_give_the_same_edge_the_smaller_id_first(a, b):
    if a == b:
        with refuses("self", repr(a)):
            Edge.canonical(a, b)
    else:
        edge = Edge.canonical(a, b)
        assert edge == Edge.canonical(b, a)
        assert edge.from_id < edge.to_id
        assert edge == tuple(sorted([a, b]))


@given(st.lists(st.tuples(names, names).filter(lambda pair: pair[0] != pair[1]), max_size=20))
def test_the_order_is_the_one_in_which_sqlite_compares(pairs):
    assert [Edge.canonical(a, b) for a, b in pairs] == [tuple(sorted(pair, key=str.encode)) for pair in pairs]


def test_an_edge_in_the_wrong_order_cannot_be_made():
    with refuses("value", "'a'", "'b'", "Edge.canonical"):
        Edge("b", "a")


def test_an_edge_cannot_be_changed():
    with pytest.raises(AttributeError):
        Edge("a", "b").to_id = "c"
