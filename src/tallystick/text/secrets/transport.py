"""Secrets as programs pass them on: in addresses, in headers, on command lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tallystick.text.secrets.assignments import is_none
from tallystick.text.secrets.patterns import Span

_ADDRESS = re.compile(r"://[^\s:/@?#\"'<>]*+:([^\s/?#\"'<>]++)")
_BEARER = re.compile(r"(?<![A-Za-z])bearer[ \t]{1,4}([A-Za-z0-9._~+/=-]{16,}+)", re.IGNORECASE | re.ASCII)
_HEADER = re.compile(
    r"authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:(?:bearer|basic|token|apikey|digest|negotiate)[ \t]{1,4})?"
    r"([^\s\"',;]{8,}+)",
    re.IGNORECASE,
)
_COOKIE = re.compile(
    r"(?<![\w-])(set-)?cookie[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?"
    r"([\w.!#$%&*+^`|~-]{1,64}=[^\s;\"',]{6,}+)((?>(?:;[ \t]{0,4}[\w.!#$%&*+^`|~-]{1,64}=[^\s;\"',]*+)*))",
    re.IGNORECASE,
)
_CURL = re.compile(r"(?:curl|wget|http)\b[^\n]{0,120}?[ \t](?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:([^\s\"']{1,256})")
_SSHPASS = re.compile(r"sshpass[ \t]{1,4}-p[ \t]{0,4}[\"']?([^\s\"']{1,256})")
_NETRC = re.compile(r"(?<!\w)login[ \t]{1,4}\S{1,64}[ \t]{1,4}password[ \t]{1,4}(\S{1,256})")


def passed_on(text: str, low: str) -> Iterator[Span]:
    """What stands in addresses, headers and commands. `low` is the text in small letters."""
    if "://" in text:
        yield from _in_addresses(text)
    if "bearer" in low:
        yield from (("bearer token", *found.span(1)) for found in _BEARER.finditer(text) if _has_digit(found[1]))
    if "authorization" in low:
        yield from (("authorization", *found.span(1)) for found in _HEADER.finditer(text) if not is_none(found[1]))
    if "cookie" in low:
        yield from _in_cookies(text)
    for sign, pattern in (("-u", _CURL), ("--user", _CURL), ("sshpass", _SSHPASS), ("login", _NETRC)):
        if sign in low:
            yield from (("password", *found.span(1)) for found in pattern.finditer(text) if not is_none(found[1]))


def _in_addresses(text: str) -> Iterator[Span]:
    """The password of `scheme://user:password@host`: up to the last @ before the host."""
    for found in _ADDRESS.finditer(text):
        end = found[1].rfind("@")
        if end > 0 and not is_none(found[1][:end]):
            yield "password", found.start(1), found.start(1) + end


def _in_cookies(text: str) -> Iterator[Span]:
    for found in _COOKIE.finditer(text):
        name = found[2].partition("=")[0]
        start = found.start(2) + len(name) + 1 if found[1] else found.start(2)
        end = found.end(2) if found[1] else found.end(3)
        if not is_none(text[start:end]):
            yield "cookie", start, end


def _has_digit(text: str) -> bool:
    return any(letter.isdigit() for letter in text)
