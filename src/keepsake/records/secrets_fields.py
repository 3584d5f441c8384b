"""Secrets in nested data: what stands under a key such as "password" is one, even if it looks like any word."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from keepsake.records.secrets import masked
from keepsake.records.secrets_stated import is_none

_PASSWORDS = ("password", "passwd", "passwort", "passphrase", "passcode", "pwd")
_KEYS = ("apikey", "secretkey", "accesskey", "privatekey", "signingkey", "encryptionkey")
_SECRETS = ("secret", "credential", "credentials")
_OTHERS = {"cardnumber": "card number", "cvv": "card code", "cvc": "card code", "cookie": "cookie",
           "setcookie": "cookie", "authorization": "authorization"}  # fmt: skip
_NO_SECRET = ("pagetoken", "continuationtoken", "nexttoken", "synctoken", "stoptoken", "eostoken", "padtoken")
_APART = re.compile(r"[^a-z0-9]+")
_LEAST = 8  # letters that make a token of what has no digit
_DEEPEST = 64


def masked_fields(fields: Mapping[str, Any], keep: Collection[str] = ()) -> tuple[dict[str, Any], list[str]]:
    """The same data with every secret masked, in keys too, and what kinds they were."""
    kinds = list[str]()
    found = _masked(fields, "", keep, kinds, 0)
    assert isinstance(found, dict)
    return found, kinds


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


def _masked(value: Any, kind: str, keep: Collection[str], kinds: list[str], depth: int) -> Any:
    if isinstance(value, str):
        text, found = masked(value, keep)
        kinds += found
        if kind and kind not in keep and not found and _is_one(value, kind):
            kinds.append(kind)
            return f"[secret: {kind}]"
        return text
    if depth > _DEEPEST:  # deeper than anything that is written; it is refused further on
        return value
    if isinstance(value, Mapping):
        return {
            _key(key, keep, kinds): _masked(each, _kind(key), keep, kinds, depth + 1) for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return type(value)([_masked(each, kind, keep, kinds, depth + 1) for each in value])
    if type(value) is int and kind in ("password", "card number", "card code") and kind not in keep:
        kinds.append(kind)
        return f"[secret: {kind}]"
    return value


def _key(key: Any, keep: Collection[str], kinds: list[str]) -> Any:
    if not isinstance(key, str):
        return key
    text, found = masked(key, keep)
    kinds += found
    return text


def _kind(key: Any) -> str:
    return kind_under(key) if isinstance(key, str) else ""


def _is_one(value: str, kind: str) -> bool:
    """Whether a text under such a key is a secret, and not a placeholder or a number of tokens."""
    if is_none(value) or value.startswith("[secret: "):
        return False
    if kind == "password":
        return True
    has_digit = any(letter.isdigit() for letter in value)
    return not value.strip().replace(",", "").isdigit() and (has_digit or len(value) >= _LEAST) and " " not in value
