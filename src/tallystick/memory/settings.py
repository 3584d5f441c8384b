"""Where a memory lives and how it is set: the only place that reads the environment.

The place is a folder or the address of a ledger in a database: the one that was given; else `$TALLYSTICK_HOME`; else
the nearest `.tallystick/` up the tree; else `~/.tallystick`. Keys and pins live outside every memory, so that whoever
changes it does not change its witness too.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tallystick.ledger.postgres.address import is_address, place_of as place_in_database
from tallystick.ledger.settings_file import SettingsFile, SettingsText, brief
from tallystick.records.errors import NotFound, Refused

if TYPE_CHECKING:
    from datetime import tzinfo

    from tallystick.ledger.checkpoint import Keyring

NAME = ".tallystick"

TEMPLATE = """\
# Settings of this memory. Edit freely; a line that is missing has the value shown here.

[ledger]
# durability = "full"     # "full": each write is synced by itself; "group": writers in several threads share a sync

[recall]
# embedder = "wordllama"  # or "none", "onnx:FOLDER", "fastembed:MODEL", "https://HOST/v1#MODEL"
# floor = 0.1             # from 0 to 1: below this, recall finds nothing; without it, the learned value
# receipts = false        # true: every recall leaves a receipt, and what is used is reinforced

[consolidate]
# extractor = "none"      # or "english", "https://HOST/v1#MODEL": what reads claims out of episodes
# several = []            # your predicates that may have more than one object, such as "knows"

[pages]
# follow = true           # false: pages are written by `tallystick sync` and `memory.pages` alone
# zone = "Europe/Berlin"  # the time zone of pages; without it, this machine's
# auto_dormant_days = 90  # tidy proposes to archive a page that is untouched for longer

[writer]
# soft_limit_tokens = 20000  # tidy proposes to compact a page above this
# hard_limit_tokens = 50000  # a page above this is flagged for compaction at once

[policy]
# keep_secrets = false    # true, or a list of kinds such as ["card number"]: what a person says is written unmasked
# approvers = ["cli:*"]   # who may approve, by client and source; without it, every person
# expires = "7d"          # how long an approval lasts that is not carried out yet
# corroborate = 1         # trusted, independent sources that release what is quarantined; 0: only a person's approval
# Rules come below, each under [[policy.rules]]: see `tallystick review policy`

[audit]
# follow = true           # false: audit.jsonl is written by `tallystick rebuild-index` alone
"""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")  # of a database, or of a page
_UTC = ("Etc/UTC", "Etc/UCT", "Etc/Zulu", "UCT", "Universal", "Zulu")
_SYNCED = ("dropbox", "onedrive", "google drive", "googledrive", "icloud", "mobile documents", "nextcloud", "syncthing")


class Settings(NamedTuple):
    """What `tallystick.toml` says."""

    durability: str = "full"
    embedder: str = ""  # empty: the one that comes with tallystick
    floor: float | None = None
    receipts: bool = False
    extractor: str = "none"
    several: tuple[str, ...] = ()
    follow: bool = True
    zone: str = ""  # empty: this machine's
    auto_dormant_days: int = 90
    soft_limit_tokens: int = 20_000
    hard_limit_tokens: int = 50_000
    corroborate: int = 1  # trusted, independent sources
    keep_secrets: bool | tuple[str, ...] = False
    audit: bool = True


def locate(path: str | Path | None = None) -> Path:
    """The folder of the memory. Refused, if it is the address of something else."""
    if path is not None:
        return _folder(path, "a memory")
    if home := os.environ.get("TALLYSTICK_HOME"):
        return _folder(home, "TALLYSTICK_HOME")
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / NAME).is_dir():
            return folder / NAME
    return _own_home() / NAME


def find(path: str | Path | None = None) -> Path | str:
    """The folder of the memory, or the address of its ledger in a database."""
    if path is None and is_address(home := os.environ.get("TALLYSTICK_HOME")):
        return str(home)
    return str(path) if is_address(path) else locate(path)


def without_password(address: str) -> str:
    """The place in a database that an address names."""
    return place_in_database(address)


def place_of(given: str | Path) -> Path:
    """The place that a person named. NotFound, if it begins with a home that nobody has."""
    try:
        return Path(given).expanduser()
    except RuntimeError:
        raise NotFound(f"no user has the home in {str(given)[:200]!r}; write ./ before it") from None


def _own_home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise Refused("this user has no home folder; set HOME", "unavailable") from None


def holds_other_things(folder: Path) -> bool:
    """Whether there is something in a folder besides settings and pages that wait for a memory."""
    return folder.is_dir() and not {"tallystick.toml", "memory"}.issuperset(os.listdir(folder))


def _folder(path: str | Path, what: str) -> Path:
    """A folder as it was named. Of an address only the beginning is repeated: the rest may hold a password."""
    if isinstance(path, str) and (address := _ADDRESS.match(path)):
        raise Refused(f"{what} must be a folder on this machine, not the address {address[0]}…", "unsupported")
    return place_of(path)


def read_settings(text: SettingsText | Path) -> Settings:
    """The settings of a folder, or of a text; defaults where there is none."""
    text = SettingsFile(text / "tallystick.toml") if isinstance(text, Path) else text
    try:
        raw = text.read()
    except ValueError as error:
        raise Refused(f"{text.place} cannot be read: {error}; fix it, or move it away", "file") from None
    return Settings() if raw is None else _settings(raw, text.place)


def _settings(raw: dict[str, Any], place: str) -> Settings:
    if not isinstance(raw.get("policy", {}), dict):
        raw = {**raw, "policy": {}}  # reported when something is to be written; reading goes on
    found: dict[str, Any] = {}
    for key, (field, is_right, needed) in _FIELDS.items():
        section, _, name = key.partition(".")
        table = raw.get(section, {})
        if not isinstance(table, dict):
            raise Refused(f"{place}: [{section}] must be a section on its own line, not {brief(table)}", "file")
        if name in table:
            value = table[name]
            if not is_right(value):
                raise Refused(f"{place}: {key} must be {needed}, not {brief(value)}", "file")
            found[field] = tuple(value) if isinstance(value, list) else value
    return Settings(**found)


def _is_bool(value: object) -> bool:
    return type(value) is bool


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _whole(least: int, most: float = math.inf) -> Callable[[object], bool]:
    return lambda value: type(value) is int and least <= value <= most


_FLAG, _DAYS, _TOKENS = (_is_bool, "true or false"), 36_500, 1_000_000_000
_FIELDS: dict[str, tuple[str, Callable[[Any], bool], str]] = {  # in the file: the field, its check, what it must be
    "ledger.durability": ("durability", lambda value: value in ("full", "group"), '"full" or "group"'),
    "recall.embedder": ("embedder", _is_text, 'like "wordllama" or "none"'),
    "recall.floor": ("floor", lambda value: type(value) in (int, float) and 0 <= value <= 1, "a number from 0 to 1"),
    "recall.receipts": ("receipts", *_FLAG),
    "consolidate.extractor": ("extractor", _is_text, 'a string such as "english"'),
    "consolidate.several": ("several", _are_texts, 'a list of predicates such as ["knows"]'),
    "pages.follow": ("follow", *_FLAG),
    "pages.zone": (
        "zone", lambda value: _is_text(value) and (not value or _zone(value) is not None),
        'a time zone such as "Europe/Berlin" or "UTC"',
    ),
    "pages.auto_dormant_days": ("auto_dormant_days", _whole(1, _DAYS), f"a whole number from 1 to {_DAYS:,}"),
    "writer.soft_limit_tokens": ("soft_limit_tokens", _whole(1, _TOKENS), f"a whole number from 1 to {_TOKENS:,}"),
    "writer.hard_limit_tokens": ("hard_limit_tokens", _whole(1, _TOKENS), f"a whole number from 1 to {_TOKENS:,}"),
    "policy.corroborate": ("corroborate", _whole(0), "a whole number from 0 up"),
    "policy.keep_secrets": (
        "keep_secrets", lambda value: _is_bool(value) or _are_texts(value),
        'true, false or a list such as ["card number"]',
    ),
    "audit.follow": ("audit", *_FLAG),
}  # fmt: skip


def zone_of(settings: Settings) -> tzinfo:
    """The time zone of pages: the one that is set, else this machine's, else UTC."""
    from datetime import UTC

    machines = "UTC" if _machines_zone() in _UTC else _machines_zone()
    places = (settings.zone, os.environ.get("TZ", "").lstrip(":"), machines)
    return next((zone for place in places if place and (zone := _zone(place))), UTC)


def _zone(name: str) -> tzinfo | None:
    from tallystick.projections.markdown.zone import zone_named

    return zone_named(name)


def _machines_zone() -> str:
    """The name of this machine's zone, as far as its files tell."""
    try:
        return os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    except OSError:
        return ""


def pass_key(place: str) -> str:
    """The key by which this user's programs show a database that they may open its ledgers."""
    if given := os.environ.get("TALLYSTICK_PASS_KEY"):
        return given
    try:
        return pass_key_path(place).read_text("utf-8")
    except FileNotFoundError:
        raise NotFound(
            f"no pass key for {place} here; `tallystick init` with its owner's address makes one,"
            " or set TALLYSTICK_PASS_KEY"
        ) from None


def pass_key_path(place: str) -> Path:
    """The file of that key."""
    return keys_folder() / f"{sha256(place.encode()).hexdigest()[:32]}.pass"


def embedder_key() -> str:
    """The key to a server of embeddings, if there is one."""
    return os.environ.get("TALLYSTICK_EMBEDDER_KEY", "")


def extractor_key() -> str:
    """The key to a server that reads claims, if there is one."""
    return os.environ.get("TALLYSTICK_EXTRACTOR_KEY", "")


def models_folder() -> Path:
    """Where models that are downloaded are kept."""
    return home_of("XDG_CACHE_HOME", ".cache") / "tallystick" / "models"


def keyring() -> Keyring:
    """Signing keys and pins, where programs of this user keep such things."""
    from tallystick.ledger.checkpoint import Keyring

    return Keyring(keys=keys_folder(), pins=home_of("XDG_STATE_HOME", ".local/state") / "tallystick" / "pins")


def keys_folder() -> Path:
    """Where signing keys are. Without one nothing was ever signed, and there is nothing to check signatures with."""
    return home_of("XDG_CONFIG_HOME", ".config") / "tallystick" / "keys"


def home_of(variable: str, otherwise: str) -> Path:
    """A folder of this user: as that variable says, else there in the home folder."""
    return Path(os.environ.get(variable) or _own_home() / otherwise)


def is_set(variable: str) -> bool:
    """Whether a variable of the environment is set."""
    return bool(os.environ.get(variable))


def calculate_in_one_thread() -> None:
    """Let NumPy's library start no threads of its own, unless this user has set how many. Before NumPy is loaded.

    They busy-wait for a while after each product, and a recall's products are small: that costs more than it saves.
    """
    if not (is_set("OPENBLAS_NUM_THREADS") or is_set("OMP_NUM_THREADS")):
        os.environ["OPENBLAS_NUM_THREADS"] = "1"


def tokens_folder() -> Path:
    """Where the tokens lie that open a memory over HTTP."""
    return home_of("XDG_CONFIG_HOME", ".config") / "tallystick" / "tokens"


def wants_colour() -> bool:
    """Whether this user wants colours (https://no-color.org)."""
    return not os.environ.get("NO_COLOR")


def unsafe_place(folder: Path) -> str:
    """Why this folder is a risky place for a memory, if it is: locks and syncs mean little on a network."""
    from tallystick.stores.places import is_remote, kind_of

    place = place_of(folder).absolute()
    if any(name in part.lower() for part in place.parts for name in _SYNCED):
        return f"{folder} looks like a cloud-synced folder: another machine's copy may overwrite it; keep it elsewhere"
    kind = kind_of(place)
    if is_remote(kind):
        return f"{folder} is on a network file system ({kind}): locks may not hold there; keep it on a local disk"
    return ""
