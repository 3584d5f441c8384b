"""Secrets in nested data: what stands under a key such as "password" is one, even if it looks like any word."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tallystick.text.secrets.detect import But, find, masked

_PASSWORDS = ("password", "passwords", "passwd", "passwort", "passphrase", "passcode", "pwd")
_KEYS = ("apikey", "apikeys", "secretkey", "accesskey", "privatekey", "signingkey", "encryptionkey")
_SECRETS = ("secret", "credential", "credentials")
_OTHERS = {"cardnumber": "card number", "cvv": "card code", "cvc": "card code", "cookie": "cookie",
           "setcookie": "cookie", "authorization": "authorization"}  # fmt: skip
_NO_SECRET = ("pagetoken", "continuationtoken", "nexttoken", "synctoken", "stoptoken", "eostoken", "padtoken")
_APART = re.compile(r"[^a-z0-9]+")
_NUMBERS = ("password", "card number", "card code")  # kinds that may be given as a number
_LEAST = 8  # letters that make a token of what has no digit
_DEEPEST = 64


def masked_fields(
    fields: Mapping[str, Any], keep: Collection[str] = (), but: But | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The same data with every secret masked, in keys too, and what kinds they were. `keep`, `but`: as in `masked`."""
    if not _may_hold(fields):
        return dict(fields), []
    look = _Look(keep, but)
    return {look.key(key): look.value(each, _kind(key), 1) for key, each in fields.items()}, look.kinds


def kind_under(key: str) -> str:
    """What a text under that key is; nothing, if the key does not say that it is a secret."""
    name = _APART.sub("", key.lower())
    if name.endswith(_PASSWORDS):
        return "password"
    if name.endswith("token") and not name.endswith(_NO_SECRET):
        return "token"
    if name.endswith(_KEYS):
        return "key"
    return "secret" if name.endswith(_SECRETS) else _OTHERS.get(name, "")


def kinds_in(value: str | int, kind: str) -> list[str]:
    """What secrets one value holds that stands under a key which says that it is of that kind, or of none."""
    if isinstance(value, str):
        return [secret.kind for secret in find(value)] or ([kind] if kind and _is_one(value, kind) else [])
    return [kind] if type(value) is int and kind in _NUMBERS else []


def _may_hold(fields: Mapping[str, Any]) -> bool:
    """Whether there may be a secret: all texts are looked at together, which is much quicker than one by one."""
    texts, keys = list[str](), set[str]()
    left: list[tuple[Any, int]] = [(fields, 0)]
    while left:
        value, depth = left.pop()
        if isinstance(value, str):
            texts.append(value)
        elif depth <= _DEEPEST and isinstance(value, Mapping):
            keys.update(key for key in value if isinstance(key, str))
            left += [(each, depth + 1) for each in value.values()]
        elif depth <= _DEEPEST and isinstance(value, list | tuple):
            left += [(each, depth + 1) for each in value]
    said = "\n".join([*texts, *keys])
    return "[secret: " in said or any(map(kind_under, keys)) or bool(find(said))


def texts_in(value: Any) -> Iterator[str]:
    """Every text in nested data, without the keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(each)


class _Look:
    """One walk through nested data, and what it has found so far."""

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
    from tallystick.text.secrets.assignments import is_none

    if is_none(value) or value.startswith("[secret: "):
        return False
    if kind in _NUMBERS:
        return True
    has_digit = any(letter.isdigit() for letter in value)
    return not value.strip().replace(",", "").isdigit() and (has_digit or len(value) >= _LEAST) and " " not in value
