"""From the text of a filter to its test: each token is read once, and what is wrong is pointed at by its character.

    any      = all { OR all }
    all      = one { AND one }
    one      = { NOT } ( "(" any ")" | test )
    test     = operand sign operand
             | operand [NOT] IN "(" operand { "," operand } ")"
             | operand [NOT] BETWEEN operand AND operand
             | operand [NOT] LIKE text [ESCAPE text]
             | operand IS [NOT] NULL
             | TRUE | FALSE | NULL | number

Every part is parsed knowing whether it is under an odd number of NOTs, and gives the test of what then must hold. What
a filter never holds (comments, semicolons, placeholders, arithmetic) is refused with the first token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from math import isinf
from typing import NamedTuple, TypeAlias

from tallystick.consolidate.filter import evaluate
from tallystick.consolidate.filter.evaluate import Column, Step, Test, Value, every, everything, nothing, some
from tallystick.records.errors import ConsolidationRuleError

_LONGEST = 20_000  # characters of a filter
_LONGEST_PATTERN = 1_000
_TERMS = 1_000  # comparisons, and values in lists
_PARENTHESES = 50  # inside one another
_STEPS = 50  # of a place in metadata
_AROUND = 24  # characters shown on either side of the place an error points at

_SIGNS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_TESTS = "= != < <= > >= IN BETWEEN LIKE IS NULL"
_CONSTANTS: dict[str, int | None] = {"TRUE": 1, "FALSE": 0, "NULL": None}
_KEYWORDS = frozenset(["AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ESCAPE", "IS", *_CONSTANTS])

_SPACE = " \t\r\n\f\v"
_TOKEN = re.compile(
    r"""(?P<text>'(?>(?:[^']++|'')*)')
      | (?P<quoted>"(?>(?:[^"]++|"")*)")
      | (?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?>(?:[eE][+-]?[0-9]++)?))
      | (?P<word>[^\W\d]\w*+)
      | (?P<sign><=|>=|<>|!=|==|->>|->|[=<>().,\[\]+-])""",
    re.VERBOSE,
)
_DOT = re.compile(r"(?P<sign>\.)")
_KEY = re.compile(r"(?P<word>\w++)")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_STEP = re.compile(r'\.(?:"(?P<quoted>[^"]*+)"|(?P<key>[^".\[][^.\[]*+))|\[(?P<place>[0-9]++)\]')
_UNNAMEABLE = re.compile(r'["\\\x00-\x1f]')  # SQLite has no way to write such a key that all its versions read alike
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ](?:[01][0-9]|2[0-3]):[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?: ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?))?)?",
    re.ASCII | re.IGNORECASE,
)
_COMMENT = "comments are not supported; leave it out"
_PLACEHOLDER = "placeholders are not supported; write the value itself, text in single quotes"
_CURLY = "text needs straight single quotes: 'like this'"
_REFUSED = {
    "--": _COMMENT, "/*": _COMMENT, ";": "a filter is one condition without a semicolon; leave it out",
    "?": _PLACEHOLDER, ":": _PLACEHOLDER, "@": _PLACEHOLDER, "$": _PLACEHOLDER,
    "&&": "&& is not supported; write AND", "||": "|| is not supported; write OR",
    "!": "! is not supported; write NOT or !=",
    "'": "this text has no end; close it with a single quote, and write one inside it twice: ''",
    '"': "this name has no end; close it with a double quote",
    "`": "backticks are not supported; put the name in double quotes, or in none",
    "‘": _CURLY, "’": _CURLY, "“": _CURLY, "”": _CURLY,
}  # fmt: skip


def parse(text: str, *, columns: Iterable[str] = ()) -> Test:
    """Parse a filter over the documented columns and `columns`. An empty one fits everything.

    Anything else is a ConsolidationRuleError whose `at` is the character that is not understood.
    """
    reader = _Reader(text, columns)
    if reader.next.kind == "end":
        return everything
    test = _any(reader, False, 0)
    if reader.next.kind != "end":
        raise reader.wrong(reader.next.at, f"{reader.named_next()} is not expected here; go on with AND or OR, or end")
    return test


# -- tokens ------------------------------------------------------------------------------------------------------------


class Token(NamedTuple):
    """`kind` is text, quoted, number, word, sign or end. `value` is without its quotes; `at` is its first character."""

    kind: str
    value: str
    at: int
    end: int

    @property
    def keyword(self) -> str:
        """The word or sign as the grammar spells it; empty for what can be no keyword."""
        return self.value.upper() if self.kind in ("word", "sign") and self.value.isascii() else ""


class _Reader:
    """The tokens that were not taken yet, and the columns they may name."""

    def __init__(self, text: str, columns: Iterable[str]) -> None:
        self.columns = {_folded(name): name for name in (*columns, *evaluate.DOCUMENTED)}
        self._text = text
        self._terms = self._place = 0
        if len(text) > _LONGEST:
            raise self.wrong(_LONGEST, f"a filter holds up to {_LONGEST:,} characters; shorten it or split the rule")
        if found := _UNSTORABLE.search(text):
            raise self.wrong(found.start(), "this character cannot be stored as text; leave it out")
        self._tokens: list[Token] = []
        at = len(text) - len(text.lstrip(_SPACE))
        while at < len(text):
            self._tokens.append(self._token(at))
            end = self._tokens[-1].end
            at = len(text) - len(text[end:].lstrip(_SPACE))
        self._tokens.append(Token("end", "", len(text), len(text)))

    def _token(self, at: int) -> Token:
        """Right after a name a dot is no decimal point, and right after that dot any word is a key."""
        last, found = self._tokens[-1] if self._tokens else None, None
        if last and last.end == at:
            if last.kind in ("word", "quoted"):
                found = _DOT.match(self._text, at)
            elif (last.kind, last.value) == ("sign", "."):
                found = _KEY.match(self._text, at)
        found = found or _TOKEN.match(self._text, at)
        if found is None or self._text.startswith("--", at):
            unknown = f"{_shown(self._text[at])} is not understood; compare columns with values, joined by AND, OR, NOT"
            why = (why for start, why in _REFUSED.items() if self._text.startswith(start, at))
            raise self.wrong(at, next(why, unknown))
        kind, value = str(found.lastgroup), found[0]
        if kind == "number" and re.match(r"\w", self._text[found.end() : found.end() + 1]):
            raise self.wrong(at, "not a number; put text in single quotes, an odd key in double quotes")
        if kind in ("text", "quoted"):
            value = value[1:-1].replace(value[0] * 2, value[0])
        return Token(kind, value, at, found.end())

    @property
    def next(self) -> Token:
        return self._tokens[self._place]

    def named_next(self) -> str:
        """The next token, for a message."""
        token = self.next
        if token.kind == "end":
            return "the end"
        return token.keyword if token.keyword in _KEYWORDS else _brief(token.value) or "an empty text"

    def take(self) -> Token:
        """The next token. The end stays, however often it is taken."""
        token = self.next
        self._place += token.kind != "end"
        return token

    def takes(self, *keywords: str) -> Token | None:
        """The next token, if it is one of these; else it stays where it is."""
        return self.take() if self.next.keyword in keywords else None

    def needs(self, keyword: str, why: str) -> None:
        """Take the next token, which must be this one."""
        if self.takes(keyword) is None:
            raise self.wrong(self.next.at, why)

    def count(self, at: int) -> None:
        """One more comparison, or value of a list."""
        self._terms += 1
        if self._terms > _TERMS:
            raise self.wrong(at, f"a filter holds up to {_TERMS:,} comparisons and listed values; split the rule")

    def wrong(self, at: int, why: str) -> ConsolidationRuleError:
        """The error that points at character `at` of the filter, counted from 0. `why` says the way out too."""
        text = self._text
        before = ("…" if at > _AROUND else "") + _shown(text[max(0, at - _AROUND) : at])
        after = _shown(text[at : at + _AROUND]) + ("…" if len(text) > at + _AROUND else "")
        return ConsolidationRuleError(f"when_filter at character {at} ({before}→{after}): {why}", at)


def _folded(name: str) -> str:
    """A name as names are compared: without regard to case in ASCII, exactly in all else."""
    return name.lower() if name.isascii() else name


def _brief(name: str) -> str:
    """A name for a message: short, and on one line."""
    return _shown(name if len(name) <= 40 else name[:39] + "…")


def _shown(text: str) -> str:
    """Nothing that breaks the line, hides or turns the direction of writing."""
    return "".join(character if character.isprintable() else "·" for character in text)


# -- tests -------------------------------------------------------------------------------------------------------------


def _any(reader: _Reader, negated: bool, depth: int) -> Test:
    alternatives: list[Test] = []
    while not alternatives or reader.takes("OR"):
        parts = [_one(reader, negated, depth)]
        while reader.takes("AND"):
            parts.append(_one(reader, negated, depth))
        alternatives.append(some(parts) if negated else every(parts))
    return every(alternatives) if negated else some(alternatives)


def _one(reader: _Reader, negated: bool, depth: int) -> Test:
    while reader.takes("NOT"):
        negated = not negated
    opened = reader.takes("(")
    if opened is None:
        return _test(reader, negated)
    if depth == _PARENTHESES:
        raise reader.wrong(opened.at, f"parentheses nest up to {_PARENTHESES} deep; write it flatter")
    test = _any(reader, negated, depth + 1)
    reader.needs(")", f"the parenthesis of character {opened.at} is still open; close it, or go on with AND or OR")
    return test


def _test(reader: _Reader, negated: bool) -> Test:
    at = reader.next.at
    reader.count(at)
    left = _operand(reader)
    if sign := reader.takes(*_SIGNS):
        return _compared(reader, left, _SIGNS[sign.keyword], _operand(reader), negated, at)
    if reader.takes("IS"):
        negated = negated != (reader.takes("NOT") is not None)
        reader.needs("NULL", "IS is followed by NULL or NOT NULL; other values are compared with =")
        return evaluate.absent(left, negated) if isinstance(left, Column) else _constant(left.value is None, negated)
    turned = reader.takes("NOT")
    negated = negated != (turned is not None)
    if reader.takes("IN"):
        return _listed(reader, left, negated, at)
    if reader.takes("BETWEEN"):
        low = _operand(reader)
        reader.needs("AND", "BETWEEN needs two values joined with AND: BETWEEN 1 AND 5")
        reader.count(reader.next.at)
        bounds = ((">=", low), ("<=", _operand(reader)))
        tests = [_compared(reader, left, sign, bound, negated, at) for sign, bound in bounds]
        return some(tests) if negated else every(tests)
    if reader.takes("LIKE"):
        return _like(reader, left, negated, at)
    if isinstance(left, _Literal) and not isinstance(left.value, str) and not turned:
        return nothing if left.value is None else _constant(bool(left.value), negated)
    raise reader.wrong(reader.next.at, f"a comparison is expected here, not {reader.named_next()}: one of {_TESTS}")


def _constant(is_true: bool, negated: bool) -> Test:
    return everything if is_true != negated else nothing


def _compared(reader: _Reader, left: _Operand, sign: str, right: _Operand, negated: bool, at: int) -> Test:
    """Two operands. Whatever is compared with NULL is unknown, and so never fits."""
    sign = _OPPOSITE[sign] if negated else sign
    if isinstance(left, _Literal):
        if isinstance(right, Column):
            return _compared(reader, right, _MIRRORED[sign], left, False, at)
        return _constant(evaluate.holds(left.value, sign, right.value), False)
    if isinstance(right, _Literal):
        value = _value(reader, left, right)
        return nothing if value is None else evaluate.compare(left, sign, value)
    if left.is_moment != right.is_moment:
        raise reader.wrong(at, "timestamp is compared with a moment that is written out, like '2026-01-01'")
    return evaluate.pair(left, sign, right)


def _listed(reader: _Reader, left: _Operand, negated: bool, at: int) -> Test:
    reader.needs("(", "IN is followed by a list in parentheses: IN ('a', 'b')")
    if reader.next.keyword == ")":
        raise reader.wrong(reader.next.at, "the list is empty; name at least one value")
    items = [_operand(reader)]
    while comma := reader.takes(","):
        reader.count(comma.at)
        items.append(_operand(reader))
    reader.needs(")", "the list goes on with a comma or ends with a parenthesis here")
    literals = [item for item in items if isinstance(item, _Literal)]
    if isinstance(left, _Literal) or len(literals) < len(items):
        tests = [_compared(reader, left, "=", item, negated, at) for item in items]
        return every(tests) if negated else some(tests)
    values = tuple(value for each in literals if (value := _value(reader, left, each)) is not None)
    has_null = len(values) < len(literals)
    return nothing if not values or (negated and has_null) else evaluate.one_of(left, values, negated)


def _like(reader: _Reader, left: _Operand, negated: bool, at: int) -> Test:
    token, escape = reader.take(), ""
    if token.kind != "text":
        raise reader.wrong(token.at, "LIKE is followed by a pattern in single quotes: LIKE '%word%'")
    if not isinstance(left, Column):
        raise reader.wrong(at, "LIKE has a column on its left side: content LIKE '%word%'")
    if len(token.value) > _LONGEST_PATTERN:
        raise reader.wrong(token.at, f"a pattern holds up to {_LONGEST_PATTERN:,} characters; shorten it")
    if reader.takes("ESCAPE"):
        quoted = reader.take()
        if quoted.kind != "text" or len(quoted.value) != 1:
            raise reader.wrong(quoted.at, "ESCAPE is followed by one character in single quotes: ESCAPE '!'")
        escape = quoted.value
    test = evaluate.like(left, token.value, escape, negated)
    if test is None:
        raise reader.wrong(token.end - 1, "the pattern ends in its escape character; write that twice to mean itself")
    return test


# -- operands ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Literal:
    """A value as the filter has it. TRUE is 1 and FALSE is 0."""

    value: str | int | float | None
    at: int


_Operand: TypeAlias = Column | _Literal


def _operand(reader: _Reader) -> _Operand:
    """The column or value that comes next."""
    token = reader.take()
    if token.kind == "text":
        return _Literal(token.value, token.at)
    if token.kind == "number":
        return _Literal(_number(reader, token), token.at)
    if token.keyword in ("-", "+"):
        digits = reader.take()
        if digits.kind != "number":
            raise reader.wrong(digits.at, f"a number is missing after {token.value}; a filter has no arithmetic")
        number = _number(reader, digits)
        return _Literal(-number if token.value == "-" else number, token.at)
    if token.keyword in _CONSTANTS:
        return _Literal(_CONSTANTS[token.keyword], token.at)
    if token.kind == "quoted" or (token.kind == "word" and token.keyword not in _KEYWORDS):
        return _column(reader, token)
    if token.keyword == "(":
        raise reader.wrong(token.at, "write the value without parentheses; a sub-select is not supported")
    raise reader.wrong(token.at, "a column or a value is missing here")


def _number(reader: _Reader, token: Token) -> int | float:
    """Whole numbers beyond 64 bits become floats, as in SQLite."""
    if token.value.isdigit() and len(token.value) <= 19 and int(token.value) < 2**63:
        return int(token.value)
    value = float(token.value)
    if isinf(value):
        raise reader.wrong(token.at, "this number is too large to be compared; leave it out")
    return value


def _value(reader: _Reader, column: Column, literal: _Literal) -> Value | None:
    """The value to compare `column` with, if one can. A moment is understood as such; NULL is None."""
    value = literal.value
    if value is None:
        return None
    if column.is_moment:
        understood = _moment(value) if isinstance(value, str) else None
        if understood is None:
            way_out = "write it like '2026-01-01' or '2026-01-01T10:00:00+02:00'"
            raise reader.wrong(literal.at, f"timestamp is compared with a moment, which this is not; {way_out}")
        return understood
    if column.is_text and not isinstance(value, str):
        raise reader.wrong(literal.at, f"{column.name} is text; put the value in single quotes")
    return value


def _moment(text: str) -> datetime | None:
    """A date, or a date and a time, in UTC; None if `text` is neither, or not from the year 1 to the year 9999."""
    if not _MOMENT.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.upper().replace(" ", "T", 1).replace(" ", ""))
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _column(reader: _Reader, token: Token) -> Column:
    if reader.next.keyword == "(" and token.kind == "word":
        return _function(reader, token)
    name = reader.columns.get(_folded(token.value))
    if name is None:
        raise _unknown(reader, token)
    if name == "metadata":
        return Column(name, _steps(reader, token))
    if reader.next.keyword in (".", "[", "->", "->>"):
        raise reader.wrong(reader.next.at, f"{_brief(name)} has no keys; only metadata has")
    return Column(name)


def _unknown(reader: _Reader, token: Token) -> ConsolidationRuleError:
    """No such column: a typing error, text in the wrong quotes, or another table."""
    shown = _brief(token.value)
    if token.keyword == "SELECT":
        return reader.wrong(token.at, "a sub-select is not supported; a filter sees one episode at a time")
    if reader.next.keyword == ".":
        return reader.wrong(token.at, f"there is no table {shown}; name the column alone")
    close = get_close_matches(_folded(token.value), reader.columns, n=1)
    columns = ", ".join(_brief(name) if name != "metadata" else "metadata.key" for name in reader.columns.values())
    hint = f"did you mean {_brief(reader.columns[close[0]])}?" if close else f"there are {columns}"
    quotes = f"; put text in single quotes: '{shown}'" if token.kind == "quoted" else ""
    return reader.wrong(token.at, f"there is no column {shown}; {hint}{quotes}")


def _function(reader: _Reader, token: Token) -> Column:
    """`json_extract(metadata, '$.key')`, the one function there is."""
    if token.keyword != "JSON_EXTRACT":
        known = "the only function is json_extract(metadata, '$.key')"
        raise reader.wrong(token.at, f"{_brief(token.value)}(…) is not supported; {known}")
    reader.take()
    first = reader.take()
    if first.kind not in ("word", "quoted") or _folded(first.value) != "metadata":
        raise reader.wrong(first.at, "json_extract reads metadata only: json_extract(metadata, '$.key')")
    reader.needs(",", "json_extract needs a path: json_extract(metadata, '$.key')")
    path = reader.take()
    if path.kind != "text":
        raise reader.wrong(path.at, "the path is text in single quotes, as in '$.key'")
    steps = _path(reader, path)
    reader.needs(")", "json_extract takes metadata and one path, and then a closing parenthesis")
    return Column("metadata", _bounded(reader, first, steps))


def _steps(reader: _Reader, metadata: Token) -> tuple[Step, ...]:
    """What follows the name of metadata: `.key`, `."odd key"`, `['key']`, `[0]`, `->> 'key'`, `->> '$.path'`."""
    steps: list[Step] = []
    arrow = None
    while lead := reader.takes(".", "[", "->", "->>"):
        if arrow and arrow.value == "->>":
            raise reader.wrong(lead.at, "->> ends the way to a value; write -> before it")
        arrow = lead if lead.value.startswith("->") else None
        steps += _step(reader, lead.value)
    if not steps:
        raise reader.wrong(metadata.at, "metadata is compared by its keys; write metadata.key")
    if arrow and arrow.value == "->":
        raise reader.wrong(arrow.at, "-> gives no plain value; write ->>")
    return _bounded(reader, metadata, steps)


def _step(reader: _Reader, lead: str) -> list[Step]:
    token = reader.take()
    if lead == ".":
        if token.kind not in ("word", "quoted"):
            raise reader.wrong(token.at, 'a key is missing after the dot; write an odd one as metadata."odd key"')
        return [_key(reader, token.value, token.at)]
    steps: list[Step]
    if token.kind == "number":
        steps = [_index(reader, token.value, token.at)]
    elif token.kind == "text" and token.value.startswith("$") and lead != "[":
        steps = _path(reader, token)
    elif token.kind == "text" or (token.kind == "quoted" and lead == "["):
        steps = [_key(reader, token.value, token.at)]
    else:
        raise reader.wrong(token.at, "a key in single quotes or a place in a list is missing here")
    if lead == "[":
        reader.needs("]", "a closing bracket is missing here")
    return steps


def _path(reader: _Reader, token: Token) -> list[Step]:
    """The path in `token`, as json_extract writes it. In the filter, a quote in it is written twice."""

    def place(at: int) -> int:
        return token.at + 1 + at + token.value[:at].count("'")

    path = token.value
    if not path.startswith("$"):
        raise reader.wrong(place(0), "a path starts with $, as in '$.key'")
    steps: list[Step] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise reader.wrong(place(at), """a path goes on with .key, ."odd key" or [0]""")
        key = found["quoted"] if found["key"] is None else found["key"]
        steps.append(_index(reader, found["place"], place(at)) if key is None else _key(reader, key, place(at)))
        at = found.end()
    if not steps:
        raise reader.wrong(place(0), "this is all of metadata; name a key in it, as in '$.key'")
    return steps


def _key(reader: _Reader, key: str, at: int) -> str:
    if _UNNAMEABLE.search(key):
        raise reader.wrong(at, "a key with a double quote, a backslash or a control character cannot be named")
    return key


def _index(reader: _Reader, digits: str, at: int) -> int:
    """A place in a list. SQLite counts them in 32 bits."""
    if not digits.isdecimal() or not digits.isascii() or len(digits) > 9:
        raise reader.wrong(at, "a place in a list is a whole number from 0, below 1,000,000,000")
    return int(digits)


def _bounded(reader: _Reader, token: Token, steps: list[Step]) -> tuple[Step, ...]:
    if len(steps) > _STEPS:
        raise reader.wrong(token.at, f"a place in metadata is up to {_STEPS} steps away; name one less deep")
    return tuple(steps)
