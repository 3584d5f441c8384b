"""The address of a ledger in a database: `postgresql://user@host/database?ledger=NAME`."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from tallystick.records.errors import Refused

SCHEMES = ("postgresql", "postgres")


def is_address(place: object) -> bool:
    """True if it is the address of a database, and not a path."""
    return isinstance(place, str) and place.partition("://")[0] in SCHEMES


def parts_of(address: str) -> tuple[str, str]:
    """The address of the database, and the name of the ledger in it. Refused, if it names none."""
    url = urlsplit(address)
    given = parse_qsl(url.query, keep_blank_values=True)
    names = [value for name, value in given if name == "ledger"]
    if len(names) != 1 or not names[0]:
        raise Refused("the address names no ledger; write it like postgresql://user@host/database?ledger=NAME", "name")
    rest = urlencode([(name, value) for name, value in given if name != "ledger"])
    return urlunsplit(url._replace(query=rest)), names[0]


def place_of(address: str) -> str:
    """The address without a scheme, a user, a password and options: for messages, keys and pins."""
    url = urlsplit(address)
    names = [value for name, value in parse_qsl(url.query) if name == "ledger"]
    return f"{url.netloc.rpartition('@')[2]}{url.path}{'?ledger=' * bool(names)}{''.join(names)}"
