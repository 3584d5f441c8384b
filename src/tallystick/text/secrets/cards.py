"""Card numbers, and the codes that go with them.

A number is a card's if it begins as an issuer's do, is as long as theirs, is grouped as on a card or not at all, and
its last digit is right (the Luhn check, which nine of ten other numbers fail). An IBAN is no secret: people print it on
their letters. Numbers of states for their people are not looked for: there are too many that look like any number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tallystick.text.secrets.patterns import Span

_NUMBER = re.compile(
    r"(?<![\w.])(?<!\w-)(?:"
    r"(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6011|64[4-9]\d|65\d\d|35[2-8]\d|62\d\d)([ -]?)\d{4}\1\d{4}\1\d{4}"
    r"|3[47]\d\d([ -]?)\d{6}\2\d{5}"
    r"|3(?:0[0-5]|[689]\d)\d([ -]?)\d{6}\3\d{4}"
    r")(?![\w]|[.-]\d)",
    re.ASCII,
)
_CODE = re.compile(
    r"(?<![A-Za-z])(?:cvv2?|cvc2?|cid|card security code|card verification (?:code|number|value))"
    r"(?: (?:code|number))?(?: is| was)?[ \t]{0,4}[:=#]?[ \t]{0,4}(\d{3,4})(?![\d.])",
    re.ASCII | re.IGNORECASE,
)
_PIN = re.compile(
    r"(?<![A-Za-z])(?:PIN|[Pp]in (?:code|number))(?: (?:for|of)(?: [\w'-]{1,20}){1,4}?)?"
    r"(?: is| was|[ \t]{0,4}[:=])[ \t]{0,4}(\d{4,8})(?![\w.])",
    re.ASCII,
)


def cards(text: str) -> Iterator[Span]:
    """The card numbers in a text, and the codes that are named as one."""
    for found in _NUMBER.finditer(text):
        digits = found[0].replace(" ", "").replace("-", "")
        if len(set(digits)) > 1 and _is_right(digits):
            yield "card number", *found.span()
    for found in _CODE.finditer(text):
        yield "card code", *found.span(1)
    for found in _PIN.finditer(text):
        yield "PIN", *found.span(1)


def _is_right(digits: str) -> bool:
    """The Luhn check."""
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(map(int, digits[-1::-2]))) % 10 == 0
