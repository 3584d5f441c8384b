"""Keys, tokens, passwords and card numbers in a text, and the text without them.

Each is masked in place with what kind it was: "the key is [secret: GitHub token]". Masking twice changes nothing.
Looking takes time in proportion to the text, whatever stands in it. It knows nothing but the text: a secret that has no
shape of its own, and that nobody calls one, is not found; hashes, ids and public keys are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

But = Callable[[], str]

_LONG = 20  # letters without a space: no token is shorter
_WORDS = ("pass", "pw", "secret", "token", "key", "bearer", "authoriz", "cookie", "cvv", "cvc", "pin", "contrase",
          "credential", "wachtwoord", "kennwort", "senha", "recovery", "backup code", "verification", "://", "curl",
          "wget", "sess", "connect.sid")  # fmt: skip
_SAID = ("pass", "pw", "secret", "token", "key", "contrase", "credential", "wachtwoord", "kennwort", "senha",
         "recovery", "backup code", "sess", "connect.sid")  # fmt: skip
_CARDS = ("cvv", "cvc", "cid", "pin", "security code", "verification")
_DIGITS = re.compile(r"\d{4}[ -]?\d{4}", re.ASCII)
_ROUNDS = 8
_MASK = re.compile(r"\[secret: [^\[\]\n]{1,40}\]")


class Secret(NamedTuple):
    """One secret in a text: what it is, and from where to where it stands."""

    kind: str
    start: int
    end: int


def find(text: str) -> list[Secret]:
    """The secrets in a text, in their order. They do not overlap."""
    low = text.lower()
    is_long = len(text) >= _LONG and max(map(len, text.split()), default=0) >= _LONG
    if not is_long and not _has(_WORDS, low) and not _DIGITS.search(text):
        return []  # so it is with nearly every text, and that is quickly seen
    return _looked_for(text, low, is_long)


def _looked_for(text: str, low: str, is_long: bool) -> list[Secret]:
    """What `find` gives where there may be something. The shapes are loaded here: most commands never need them."""
    from tallystick.text.secrets.assignments import stated
    from tallystick.text.secrets.cards import cards
    from tallystick.text.secrets.patterns import WALL, shaped
    from tallystick.text.secrets.transport import passed_on

    if "[secret: " in text:
        text = _MASK.sub(lambda mask: WALL * len(mask[0]), text)
    spans = list(shaped(text)) if is_long or "private key" in low else []
    spans += passed_on(text, low)
    if _DIGITS.search(text) or _has(_CARDS, low):
        spans += cards(text)
    if _has(_SAID, low):
        spans += stated(text)
    return [secret for secret in _apart(spans) if WALL not in text[secret.start : secret.end]]


def _has(words: tuple[str, ...], text: str) -> bool:
    for word in words:  # noqa: SIM110 - a plain loop: every text that is written passes here
        if word in text:
            return True
    return False


def masked(text: str, keep: Collection[str] = (), but: But | None = None) -> tuple[str, list[str]]:
    """The text with its secrets masked, and what kinds they were.

    Those of a kind in `keep` stay, and so do those that stand, letter for letter, in what `but` gives.
    """
    kinds = list[str]()
    for _ in range(_ROUNDS):  # what stood beside a secret may be seen as one only when that is gone
        found = [secret for secret in find(text) if secret.kind not in keep]
        if found and but is not None:
            known = but()
            found = [secret for secret in found if text[secret.start : secret.end] not in known]
        if not found:
            break
        text = _without(text, found)
        kinds += [secret.kind for secret in found]
    return text, kinds


def _apart(spans: list[tuple[str, int, int]]) -> list[Secret]:
    """Spans that touch the same letters become one, of the kind that was found first: shapes are surer than words."""
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


def _without(text: str, found: list[Secret]) -> str:
    parts, place = list[str](), 0
    for kind, start, end in found:
        parts += [text[place:start], f"[secret: {kind}]"]
        place = end
    return "".join([*parts, text[place:]])
