"""Secrets that are known by their shape: keys and tokens whose makers gave them a beginning of their own.

Each row says what it is, which letters must stand in a text before anything is looked for, and the pattern. No pattern
goes back over what it has read, so a text is read in time that grows with its length, whatever stands in it.

What has no shape of its own (a UUID, a hash, forty letters) is no secret by itself: see `secrets_stated`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

Span = tuple[str, int, int]  # kind, from, to
WALL = "\ufdd0"  # no letter of any language: it stands where a secret was masked already

_ALONE, _END = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"


class Shape(NamedTuple):
    """One kind of secret. What fits the pattern is one if `is_one` says so too."""

    kind: str
    signs: tuple[str, ...]  # one of them stands in every text that holds one
    pattern: re.Pattern[str]
    is_one: Callable[[str], bool] | None = None


def _shape(
    kind: str, signs: str, pattern: str, is_one: Callable[[str], bool] | None = None, before: str = _ALONE
) -> Shape:
    return Shape(kind, tuple(signs.split()), re.compile(before + pattern, re.ASCII), is_one)


def _is_drawn(token: str) -> bool:
    """Whether it was drawn by chance: no name in small letters, and not the same few letters over and over."""
    body = token.rpartition("-")[2] if token.count("-") < 5 else token
    has_digit = any(letter.isdigit() for letter in token)
    is_mixed = any(letter.isupper() for letter in token) and any(letter.islower() for letter in token)
    return has_digit and len(set(body)) > 7 and (is_mixed or len(body) >= 32)


def _is_many(token: str) -> bool:
    """Not a row of the same letter, as examples have it."""
    return len(set(token[4:])) > 5


SHAPES: tuple[Shape, ...] = (
    _shape("AWS access key", "AKIA ASIA", r"(?:AKIA|ASIA)[0-9A-Z]{16}" + _END, _is_many),
    _shape("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,}+", _is_many),
    _shape("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}+", _is_many),
    _shape("GitLab token", "glpat- gldt- glrt- glptt-", r"gl(?:pat|dt|rt|ptt)-[\w-]{20,}+", _is_many),
    _shape("Slack token", "xox xapp-", r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{16,}+", _is_many),
    _shape("Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[\w/-]{20,}+"),
    _shape("Discord webhook", "/api/webhooks/", r"(?:discord|discordapp)\.com/api/webhooks/\d{16,}+/[\w-]{40,}+"),
    _shape("Stripe key", "_live_ _test_", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}+", _is_many),
    _shape("Stripe key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}+", _is_many),
    _shape("Google API key", "AIza", r"AIza[\w-]{35}(?![\w-])", _is_many),
    _shape("Google token", "ya29. GOCSPX-", r"(?:ya29\.|GOCSPX-)[\w-]{20,}+", _is_many),
    _shape("API key", "sk-", r"sk-[\w-]{20,}+", _is_drawn),
    _shape("API key", "gsk_ xai- pplx- r8_", r"(?:gsk_|xai-|pplx-|r8_)[A-Za-z0-9]{32,}+", _is_drawn),
    _shape("npm token", "npm_", r"npm_[A-Za-z0-9]{36}" + _END, _is_many),
    _shape("PyPI token", "pypi-", r"pypi-[\w-]{40,}+", _is_many),
    _shape("SendGrid key", "SG.", r"SG\.[\w-]{20,24}\.[\w-]{40,46}(?![\w-])"),
    _shape("Twilio key", "SK", r"SK[0-9a-f]{32}" + _END, _is_many),
    _shape("Telegram bot token", ":", r"\d{8,10}:[A-Za-z][\w-]{34}(?![\w-])", _is_drawn),
    _shape("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,}+", _is_many),
    _shape("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}" + _END),
    _shape("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}" + _END),
    _shape("Databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?" + _END),
    _shape("Mailgun key", "key-", r"key-[0-9a-f]{32}" + _END),
    _shape("Vault token", "hvs.", r"hvs\.[\w-]{24,}+", _is_drawn),
    _shape("Docker token", "dckr_pat_", r"dckr_pat_[\w-]{20,}+", _is_many),
    _shape("Atlassian token", "ATATT3", r"ATATT3[\w=-]{40,}+"),
    _shape("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,}+", _is_many),
    _shape("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,}+", _is_many),
    _shape("Figma token", "figd_", r"figd_[\w-]{32,}+", _is_many),
    _shape("Grafana token", "glsa_ glc_", r"gl(?:sa|c)_[\w=+/-]{32,}+", _is_many),
    _shape("Supabase token", "sbp_", r"sbp_[0-9a-f]{40}" + _END, _is_many),
    _shape("RubyGems key", "rubygems_", r"rubygems_[0-9a-f]{48}" + _END, _is_many),
    _shape("Azure storage key", "AccountKey=", r"[A-Za-z0-9+/]{80,}+={0,2}", before="(?<=AccountKey=)"),
    _shape("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+"),
    _shape("JWT", "eyJ", r"eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]{8,}+", before=r"(?<![\w-])"),
)

_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
_STOP = re.compile(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
_REST = re.compile(r"[A-Za-z0-9+/=\s:,\\.-]*+", re.ASCII)
_FORTY = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])", re.ASCII)
_BESIDE = 200  # letters between an AWS key's two halves


def shaped(text: str) -> Iterator[Span]:
    """Everything in a text that has the shape of a secret. Pieces may overlap."""
    for shape in SHAPES:
        if any(sign in text for sign in shape.signs):
            for found in shape.pattern.finditer(text):
                if shape.is_one is None or shape.is_one(found[0]):
                    yield shape.kind, *found.span()
                    if shape.kind == "AWS access key":
                        yield from _other_half(text, *found.span())
    if "PRIVATE KEY" in text:
        yield from _blocks(text)


def _other_half(text: str, start: int, end: int) -> Iterator[Span]:
    """The secret that goes with an AWS key: forty letters beside it, drawn by chance."""
    low = max(0, start - _BESIDE)
    for found in _FORTY.finditer(text[low : end + _BESIDE]):
        if _is_drawn(found[0]) and any(letter.isupper() for letter in found[0]):
            yield "AWS secret key", low + found.start(), low + found.end()


def _blocks(text: str) -> Iterator[Span]:
    """Private keys from their first line to their last; without a last line, as far as they look like one."""
    place = 0
    has_end = True
    while found := _BEGIN.search(text, place):
        stop = _STOP.search(text, found.end()) if has_end else None
        has_end = stop is not None
        rest = _REST.match(text, found.end())
        place = stop.end() if stop else rest.end() if rest else found.end()
        yield "private key", found.start(), place
