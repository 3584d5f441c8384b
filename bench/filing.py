"""What it costs that every statement knows what it is about: `remember` as it is, against one that files nothing.

    python bench/filing.py [--people 200] [--written 200]

Statements of one to three names, some of people who are known, some of others. The other side neither looks who is
meant nor for other names. Both write in turns, each to its own memory, one statement on disk before the next.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import at_most, in_turns, options_of, per, report, sized

from tallystick import Memory

_NAMES = ("Ada", "Bram", "Cian", "Dora", "Emre", "Femke", "Gita", "Hugo", "Ines", "Jonas")
_SAYINGS = (
    "{0} wants the radio off while shaping loaves number {2}",
    "Rent number {2} goes to the landlord on the third, {0} pays it and {1} signs",
    "The workshop number {2} with {0} is on a Thursday in room twelve",
    "I like the early shift number {2} best, since the shop is quiet then",
    "no deliveries for order {2} until the back door is seen to",
)


def person(number: int) -> str:
    return f"{_NAMES[number % len(_NAMES)]} Van{'abcdefghij'[number // 10 % 10]}{'klmnopqrst'[number // 100 % 10]}"


def saying(number: int, people: int) -> str:
    names = person(number * 7 % people), person(number * 13 % (2 * people))
    return _SAYINGS[number % len(_SAYINGS)].format(*names, number)


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--people", type=int, default=sized(200, 5))
    options.add_argument("--written", type=int, default=sized(200, 5))
    chosen = options.parse_args()
    with ExitStack() as stack:
        home, *folders = (stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(3))
        os.environ |= {"HOME": home, "XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}
        memories = [stack.enter_context(Memory(folder)) for folder in folders]
        for memory in memories:
            with memory.batch():
                for number in range(chosen.people):
                    memory.remember(f"{person(number)} is our baker", about=person(number))
        numbers = [count(), count()]

        def write(place: int) -> None:
            for _ in range(chosen.written):
                memories[place].remember(saying(next(numbers[place]), chosen.people))

        def bare() -> None:
            with (
                patch("tallystick.memory.beliefs.remember.filed_under", lambda *_: ""),
                patch("tallystick.decide.beliefs.names_in", lambda _: {}),
            ):
                write(1)

        ours, without, ratio = in_turns(lambda: write(0), bare)
        filed = len(memories[0].beliefs.query()) - len(memories[0].beliefs.query(about=""))
        print(f"{filed:,} statements are filed, {len(memories[0].beliefs.query(about='')):,} are not")
        each = chosen.written
        report([at_most("remember, filed, to one that is not", per(ours, each), per(without, each), 1 / ratio, 1.25)])


if __name__ == "__main__":
    main()
