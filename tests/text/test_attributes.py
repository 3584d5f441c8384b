"""Whether a statement gives an attribute of another one another value."""

from __future__ import annotations

import pytest

from tallystick.text.attributes import LONGEST, Change, changed, read


def change(older: str, newer: str) -> tuple[str, str, bool, bool] | None:
    found: Change | None = changed(read(newer), read(older), len_of)
    return found and (older[slice(*found.was)], newer[slice(*found.now)], found.is_certain, found.is_all)


def len_of(stems: frozenset[str]) -> float:
    return float(len(stems))


@pytest.mark.parametrize(
    ("older", "newer", "was", "now"),
    [
        ("The ferry fee is 4.50, dogs are free", "The ferry fee is now 5.20", "4.50", "5.20"),
        ("Choir practice: Tuesday 3 March, in the chapel", "Choir practice moved to 10 March", "3 March", "10 March"),
        ("Wren sails on Mondays, home by five", "Wren sails on Thursdays from now on", "Mondays", "Thursdays"),
        ("The boiler is set to 62 percent", "The boiler is set down to 55 percent", "62 percent", "55 percent"),
        ("The kiln runs firmware 2.4.1", "The kiln runs firmware 2.5.0 now", "2.4.1", "2.5.0"),
        ("Rent of the barn 300 pounds, due on the third", "Rent of the barn goes up: 320 pounds", "300 pounds",
         "320 pounds"),
    ],
)  # fmt: skip
def test_another_value_of_the_same_attribute_with_a_word_of_change_is_certain(older, newer, was, now):
    found = change(older, newer)
    assert found is not None
    assert (found[0].strip(), found[1].strip(), found[2]) == (was, now, True)


def test_a_statement_that_says_nothing_else_is_changed_as_a_whole():
    assert change("The ferry fee is 4.50", "The ferry fee is now 5.20") == ("4.50", "5.20", True, True)
    assert change("The ferry fee is 4.50, dogs are free", "The ferry fee is now 5.20") == ("4.50", "5.20", True, False)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Ferry fee 4.50", "Ferry fee 5.20"),  # nothing says that it changed
        ("The ferry fee for groups is 4.50", "The fee is now 5.20"),
    ],
)
def test_what_may_be_another_value_is_not_certain(older, newer):
    found = change(older, newer)
    assert found is not None
    assert not found[2]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The ferry fee is 4.50", "The ferry fee is 4.50 now"),  # the same
        ("The ferry fee is 4.50", "The ticket machine takes 20 coins now"),
        ("Room 12 has 30 chairs", "Room 14 now has 20 lamps"),
        ("The ferry leaves at 9:30", "The ferry now costs 5 euros"),  # a time, and money
        ("1,140 passes sold as of 30 September", "1,905 passes sold as of 31 October"),  # a running figure
        ("Swimming is on Mondays", "Only this week swimming moved to Tuesdays"),  # an exception
        ("Swimming is on Mondays", "Swimming is fun now"),
        ("Invoice 17 is paid", "Invoice 18 is paid now"),  # which invoice is a number, too
        ("Room 12 is for Ana", "Room 14 is for Ana now"),
        ("Greenhouse 3 has 40 trays", "Greenhouse 4 has 52 trays"),  # another greenhouse
        ("Kiln 2 is for plates", "Kiln 3 is for plates now"),
        ("Employee 12 looks after warehouse 3", "Employee 14 looks after warehouse 5"),
        ("The release ships on Friday", "The release shipped on Monday"),
        ("Ana's fee is 30 euros", "Wren's fee is now 40 euros"),
        ("We pay 30 euros for Ana", "We now pay 40 euros for Wren"),
        ("", ""),
    ],
)
def test_what_is_no_other_value(older, newer):
    assert change(older, newer) is None


def test_a_long_text_is_not_read():
    assert read("The fee is now 5.20. " * LONGEST).values == []


@pytest.mark.parametrize(
    "text", ["1" * 590, "1, " * 199, "the 1st of " * 54, "half past " * 59, "( " * 299, "€ £" * 190, "A'sB" * 149]
)
def test_hostile_text_is_read_in_no_time(text):
    reading = read(text)
    assert changed(reading, reading, len_of) is None
