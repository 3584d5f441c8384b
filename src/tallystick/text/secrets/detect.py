"""Finding and masking secrets: keys, tokens, passwords and card numbers, in a text and in nested data.

Each is masked in place with its kind: "the key is [secret: GitHub token]". Masking twice changes nothing. The time is
in proportion to the text, whatever is in it. Nothing but the text is known: a secret that has no shape of its own, and
that nobody calls one, is not found; hashes, ids and public keys are none. In nested data, the value under a key such as
"password" is a secret, even if it looks like any word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

But = Callable[[], str]

_LONG = 20  # characters without a space: no token is shorter
_NAMED = ("pass", "pw", "secret", "token", "key", "contrase", "credential", "wachtwoord", "kennwort", "senha",
          "recovery", "backup code", "sessid=", "sessionid=", "connect.sid=")  # fmt: skip
_WORDS = (*_NAMED, "bearer", "authoriz", "cookie", "://", "curl", "wget")
_CARDS = ("cvv", "cvc", "cid", "pin", "security code", "verification")
_SHAPES = b"x" * 9 + b" " * 5 + b"x" * 14 + b" " * 5 + b"x" * 15 + b"0" * 10 + b"x" * 198  # of each byte
_CARD = re.compile(r"(?:cvv|cvc|cid|pin)(?<![a-z]...)|security code|verification")
_DIGITS = re.compile(r"\d{4}[ -]?\d{4}", re.ASCII)
_NUMBER, _CODE = 8, 3  # digits: no number of a card is shorter, and no code of one
_ROUNDS = 8
_MASK = re.compile(r"\[secret: [^\[\]\n]{1,40}\]")
_PASSWORDS = ("password", "passwords", "passwd", "passwort", "passphrase", "passcode", "pwd")
_KEYS = ("apikey", "apikeys", "secretkey", "accesskey", "privatekey", "signingkey", "encryptionkey")
_SECRETS = ("secret", "credential", "credentials")
_OTHERS = {"cardnumber": "card number", "cvv": "card code", "cvc": "card code", "cookie": "cookie",
           "setcookie": "cookie", "authorization": "authorization"}  # fmt: skip
_NO_SECRET = ("pagetoken", "continuationtoken", "nexttoken", "synctoken", "stoptoken", "eostoken", "padtoken")
_APART = re.compile(r"[^a-z0-9]+")
_NUMBERS = ("password", "card number", "card code")  # kinds that may be given as a number
_SHORTEST = 8  # characters that make a token of what has no digit
_DEEPEST = 64


class Secret(NamedTuple):
    """One secret in a text: its kind, and from where to where it goes."""

    kind: str
    start: int
    end: int


def find(text: str) -> list[Secret]:
    """The secrets in a text, in their order. They do not overlap."""
    if not may_hold(text):
        return []  # so it is with nearly every text, and that takes little time
    low, shape = text.lower(), _shape_of(text)
    is_long = _is_long(text, shape)
    from tallystick.text.secrets import patterns  # most commands never need them

    if "[secret: " in text:
        text = _MASK.sub(lambda mask: patterns.WALL * len(mask[0]), text)
    spans = list(patterns.shaped(text)) if is_long or "private key" in low else []
    spans += patterns.passed_on(text, low)
    if _DIGITS.search(text):
        spans += patterns.cards(text)
    if shape.count(b"0") >= _CODE and _names_card(text, low):
        spans += patterns.codes(text)
    if _has(_NAMED, low):
        spans += patterns.stated(text)
    return [secret for secret in _apart(spans) if patterns.WALL not in text[secret.start : secret.end]]


def may_hold(text: str) -> bool:
    """Whether there may be a secret in a text, or in one of several that are joined by newlines. Takes little time."""
    low, shape = text.lower(), _shape_of(text)
    digits = shape.count(b"0")
    has_number = digits >= _NUMBER and _DIGITS.search(text) is not None
    return has_number or (digits >= _CODE and _names_card(text, low)) or _has(_WORDS, low) or _is_long(text, shape)


def _names_card(text: str, low: str) -> bool:
    return _has(_CARDS, low) and (not text.isascii() or _CARD.search(low) is not None)


def _shape_of(text: str) -> bytes:
    """A text with 0 for each digit, a space for each one, and x for every other byte."""
    return text.encode("utf-8", "replace").translate(_SHAPES)


def _is_long(text: str, shape: bytes) -> bool:
    if text.isascii():
        return b"x" * _LONG in shape.replace(b"0", b"x")
    return max(map(len, text.split()), default=0) >= _LONG


def _has(words: tuple[str, ...], text: str) -> bool:
    for word in words:  # noqa: SIM110 - a plain loop: every text that is written passes here
        if word in text:
            return True
    return False


def masked(text: str, keep: Collection[str] = (), but: But | None = None) -> tuple[str, list[str]]:
    """The text with its secrets masked, and their kinds; kinds in `keep` stay, and what is verbatim in `but()`."""
    kinds = list[str]()
    for _ in range(_ROUNDS):  # what is next to a secret may be seen as one only when that is gone
        found = [secret for secret in find(text) if secret.kind not in keep]
        if found and but is not None:
            known = but()
            found = [secret for secret in found if text[secret.start : secret.end] not in known]
        if not found:
            break
        for kind, start, end in reversed(found):
            text = f"{text[:start]}[secret: {kind}]{text[end:]}"
        kinds += [secret.kind for secret in found]
    return text, kinds


def _apart(spans: list[tuple[str, int, int]]) -> list[Secret]:
    """Spans that overlap become one, of the kind that was found first: shapes are surer than words."""
    ranked = sorted(enumerate(spans), key=lambda each: (each[1][1], each[0]))
    found = list[tuple[int, Secret]]()
    for rank, (kind, start, end) in ranked:
        if end <= start:
            continue
        if found and start < found[-1][1].end:
            before, last = found[-1]
            surest, name = min((before, last.kind), (rank, kind))
            found[-1] = surest, Secret(name, last.start, max(last.end, end))
        else:
            found.append((rank, Secret(kind, start, end)))
    return [secret for _, secret in found]


def masked_fields(
    fields: Mapping[str, Any], keep: Collection[str] = (), but: But | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The same data with every secret masked, in keys too, and their kinds. `keep`, `but`: as in `masked`."""
    if not may_hold_secret(fields):
        return dict(fields), []
    look = _Look(keep, but)
    return {look.key(key): look.value(each, _kind(key), 1) for key, each in fields.items()}, look.kinds


@lru_cache(maxsize=512)  # most data has the same few keys
def kind_under(key: str) -> str:
    """The kind of secret that a key names; empty if it names none."""
    name = _APART.sub("", key.lower())
    if name.endswith(_PASSWORDS):
        return "password"
    if name.endswith("token") and not name.endswith(_NO_SECRET):
        return "token"
    if name.endswith(_KEYS):
        return "key"
    return "secret" if name.endswith(_SECRETS) else _OTHERS.get(name, "")


def kinds_in(value: str | int, kind: str) -> list[str]:
    """The kinds of secrets in one value, under a key that names `kind`, or none."""
    if isinstance(value, str):
        return [secret.kind for secret in find(value)] or ([kind] if kind and _is_one(value, kind) else [])
    return [kind] if type(value) is int and kind in _NUMBERS else []


def may_hold_secret(fields: Mapping[str, Any]) -> bool:
    """True if there may be a secret: all texts are searched together, which is much quicker than one by one."""
    found = list(walk(fields))
    keys = {text for text, is_key in found if is_key}
    joined = "\n".join([*(text for text, is_key in found if not is_key), *keys])
    return "[secret: " in joined or any(map(kind_under, keys)) or bool(find(joined))


def texts_in(value: Any) -> Iterator[str]:
    """Every text in nested data, without the keys."""
    return (text for text, is_key in walk(value) if not is_key)


def walk(value: Any) -> Iterator[tuple[str, bool]]:
    """Every text in nested data, to a depth that nothing that is written has; and whether it is a key."""
    left: list[tuple[Any, int]] = [(value, 0)]
    while left:
        value, depth = left.pop()
        if isinstance(value, str):
            yield value, False
        elif depth <= _DEEPEST and isinstance(value, Mapping):
            yield from ((key, True) for key in value if isinstance(key, str))
            left += [(each, depth + 1) for each in value.values()]
        elif depth <= _DEEPEST and isinstance(value, list | tuple):
            left += [(each, depth + 1) for each in value]


class _Look:
    """One walk through nested data, and the kinds found so far."""

    def __init__(self, keep: Collection[str], but: But | None) -> None:
        self._keep, self._but, self.kinds = keep, but, list[str]()

    def value(self, value: Any, kind: str, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value, kind)
        if type(value) is int and kind in _NUMBERS and kind not in self._keep:
            return self._mask(kind)
        if depth > _DEEPEST:  # deeper than anything that can be written: it is refused further on
            return value
        if isinstance(value, Mapping):
            return {self.key(key): self.value(each, _kind(key), depth + 1) for key, each in value.items()}
        if isinstance(value, list | tuple):
            found = [self.value(each, kind, depth + 1) for each in value]
            return tuple(found) if isinstance(value, tuple) else found
        return value

    def key(self, key: Any) -> Any:
        return self._text(key, "") if isinstance(key, str) else key

    def _text(self, text: str, kind: str) -> str:
        without, found = masked(text, self._keep, self._but)
        self.kinds += found
        if not kind or found or kind in self._keep or not _is_one(text, kind):
            return without
        return text if self._but is not None and text in self._but() else self._mask(kind)

    def _mask(self, kind: str) -> str:
        self.kinds.append(kind)
        return f"[secret: {kind}]"


def _kind(key: Any) -> str:
    return kind_under(key) if isinstance(key, str) else ""


def _is_one(value: str, kind: str) -> bool:
    """Whether a text under such a key is a secret, and not a placeholder or a number of tokens."""
    from tallystick.text.secrets.patterns import is_none

    if is_none(value) or value.startswith("[secret: "):
        return False
    if kind in _NUMBERS:
        return True
    has_digit = any(map(str.isdigit, value))
    return not value.strip().replace(",", "").isdigit() and (has_digit or len(value) >= _SHORTEST) and " " not in value
