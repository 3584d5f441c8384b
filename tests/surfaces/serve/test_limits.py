"""Who asks too much is told when to come again; nobody else notices."""

from tallystick.surfaces.serve.access_control import Buckets, Limits


class Ticks:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_burst_is_let_through_and_then_as_much_as_flows_in():
    ticks = Ticks()
    buckets = Buckets(10, 5, ticks=ticks)
    assert [buckets.wait("a") for _ in range(7)] == [0, 0, 0, 0, 0, 1, 1]
    ticks.now += 0.125
    assert [buckets.wait("a"), buckets.wait("a")] == [0, 1]
    ticks.now += 1000
    assert [buckets.wait("a") for _ in range(6)] == [0, 0, 0, 0, 0, 1]


def test_each_client_has_its_own_and_is_told_in_how_many_seconds_there_will_be_room():
    buckets = Buckets(0.1, 1, ticks=Ticks())
    assert [buckets.wait("a"), buckets.wait("a"), buckets.wait("b")] == [0, 10, 0]
    assert sum(Buckets(0, ticks=Ticks()).wait("a") for _ in range(1000)) == 0  # without a rate there is no limit


def test_clients_that_are_known_are_bounded_and_the_silent_ones_go_first():
    buckets = Buckets(1, 1, ticks=Ticks())
    buckets.wait("first")
    for number in range(5000):
        buckets.wait("busy")
        buckets.wait(str(number))
    assert len(buckets._left) == 4096
    assert buckets.wait("first") == 0  # forgotten, so it starts with a full one
    assert buckets.wait("busy") == 1


def test_usually_four_hundred_at_once_and_two_hundred_a_second_and_few_wrong_keys():
    limits = Limits()
    assert sum(limits.usual.wait("a") == 0 for _ in range(1000)) in range(400, 420)
    assert sum(limits.wrong.wait("a") == 0 for _ in range(1000)) in range(20, 22)
