"""Where a memory lives and how it is set: the only place that reads the environment.

The folder: a path that was given; else `$TALLYSTICK_HOME`; else the nearest `.tallystick/` up the tree; else
`~/.tallystick`. Keys and pins live outside every memory folder, so that whoever changes a folder does not change its
witness too.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tallystick.ledger.settings_file import brief, read_toml
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
# floor = 0.1             # from 0 to 1: below this, recall says that nothing fits; without it, as was learned
# receipts = false        # true: every recall leaves a receipt, and what is used is reinforced

[consolidate]
# extractor = "none"      # or "english", "https://HOST/v1#MODEL": who reads claims out of what was said
# several = []            # predicates of yours of which more than one object may hold, such as "knows"

[pages]
# follow = true           # false: pages are written by `tallystick sync` and `memory.pages` alone
# zone = "Europe/Berlin"  # the clock on which pages are written; without it, this machine's
# auto_dormant_days = 90  # a page untouched for longer is proposed to lie dormant

[writer]
# soft_limit_tokens = 20000  # a page above this is proposed to be folded
# hard_limit_tokens = 50000  # a page above this is flagged for it at once

[policy]
# keep_secrets = false    # true, or a list of kinds such as ["card number"]: what a person says is written unmasked
# approvers = ["cli:*"]   # whose yes counts, by door and source; without it, that of whoever is a person
# expires = "7d"          # how long a yes that is not carried out yet lasts
# corroborate = 1         # how many trusted, independent sources let out what is quarantined; 0: only a person's yes
# Rules come below, each under [[policy.rules]]: see `tallystick review policy`

[audit]
# follow = true           # false: audit.jsonl is written by `tallystick rebuild-index` alone
"""

_SECTIONS = ("ledger", "recall", "consolidate", "pages", "writer", "policy", "audit")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")  # of a database, or of a page
_MOST_DAYS, _MOST_TOKENS = 36_500, 1_000_000_000
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
    """The folder of the memory that is meant. Refused, if it is an address of something else."""
    if path is not None:
        return _folder(path, "a memory")
    if home := os.environ.get("TALLYSTICK_HOME"):
        return _folder(home, "TALLYSTICK_HOME")
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / NAME).is_dir():
            return folder / NAME
    return _own_home() / NAME


def place_of(given: str | Path) -> Path:
    """Where something lies that a person named. NotFound, if it begins with a home that nobody has."""
    try:
        return Path(given).expanduser()
    except RuntimeError:
        raise NotFound(f"no user has the home in {str(given)[:200]!r}; write ./ before it") from None


def _own_home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise Refused(
            "this user has no home folder; set HOME", "unavailable"
        ) from None


def holds_other_things(folder: Path) -> bool:
    """Whether there is something in a folder beside settings and pages that wait for a memory."""
    return folder.is_dir() and not {"tallystick.toml", "memory"}.issuperset(os.listdir(folder))


def _folder(path: str | Path, what: str) -> Path:
    """A folder as it was named. Of an address only the beginning is repeated: the rest may hold a password."""
    if isinstance(path, str) and (address := _ADDRESS.match(path)):
        raise Refused(
            f"{what} must be a folder on this machine, not the address {address[0]}…", "unsupported"
        )
    return place_of(path)


def read_settings(folder: Path) -> Settings:
    """The settings of a folder; defaults where it has none."""
    path = folder / "tallystick.toml"
    try:
        raw = read_toml(path)
    except ValueError as error:
        raise Refused(f"{path} cannot be read: {error}; fix it, or move it away", "file") from None
    return Settings() if raw is None else _settings(raw, path)


def _settings(raw: dict[str, Any], path: Path) -> Settings:
    if not isinstance(raw.get("policy", {}), dict):
        raw = {**raw, "policy": {}}  # it is told when something is to be written; reading goes on
    sections = [raw.get(name, {}) for name in _SECTIONS]
    for name, section in zip(_SECTIONS, sections, strict=True):
        if not isinstance(section, dict):
            raise Refused(f"{path}: [{name}] must be a section on its own line, not {brief(section)}", "file")
    ledger, recall, consolidate, pages, writer, policy, audit = sections
    several = consolidate.get("several", [])
    if not isinstance(several, list) or not all(isinstance(name, str) for name in several):
        raise Refused(
            f'{path}: consolidate.several must be a list of predicates such as ["knows"], not {brief(several)}', "file"
        )
    found = Settings(
        ledger.get("durability", "full"), recall.get("embedder", ""), recall.get("floor"),
        recall.get("receipts", False), consolidate.get("extractor", "none"), tuple(several),
        **{name: pages[name] for name in ("follow", "zone", "auto_dormant_days") if name in pages},
        **{name: writer[name] for name in ("soft_limit_tokens", "hard_limit_tokens") if name in writer},
        corroborate=_corroborate(policy, path),
        keep_secrets=_kept(policy.get("keep_secrets", False), path), audit=audit.get("follow", True),
    )  # fmt: skip
    _check_pages(found, path)
    if type(found.audit) is not bool:
        raise Refused(f"{path}: audit.follow must be true or false, not {brief(found.audit)}", "file")
    if not isinstance(found.extractor, str):
        raise Refused(
            f'{path}: consolidate.extractor must be a string such as "english", not {brief(found.extractor)}', "file"
        )
    if found.durability not in ("full", "group"):
        raise Refused(f'{path}: ledger.durability must be "full" or "group", not {brief(found.durability)}', "file")
    if not isinstance(found.embedder, str):
        raise Refused(
            f'{path}: recall.embedder must be like "wordllama" or "none", not {brief(found.embedder)}', "file"
        )
    if found.floor is not None and (type(found.floor) not in (int, float) or not 0 <= found.floor <= 1):
        raise Refused(f"{path}: recall.floor must be a number from 0 to 1, not {brief(found.floor)}", "file")
    if type(found.receipts) is not bool:
        raise Refused(f"{path}: recall.receipts must be true or false, not {brief(found.receipts)}", "file")
    return found


def _corroborate(policy: dict[str, Any], path: Path) -> int:
    """How many sources bear something out."""
    needed = policy.get("corroborate", 1)
    if type(needed) is not int or needed < 0:
        raise Refused(f"{path}: policy.corroborate must be a whole number from 0 up, not {brief(needed)}", "file")
    return needed


def _kept(said: Any, path: Path) -> bool | tuple[str, ...]:
    """What kinds of secrets are written as they are."""
    if isinstance(said, list) and all(isinstance(kind, str) for kind in said):
        return tuple(said)
    if type(said) is not bool:
        wrong = brief(said)
        raise Refused(
            f'{path}: policy.keep_secrets must be true, false or a list such as ["card number"], not {wrong}', "file"
        )
    return said


def _check_pages(found: Settings, path: Path) -> None:
    if type(found.follow) is not bool:
        raise Refused(f"{path}: pages.follow must be true or false, not {brief(found.follow)}", "file")
    place: object = found.zone
    if not isinstance(place, str) or (place and _zone(place) is None):
        raise Refused(
            f'{path}: pages.zone must be a time zone such as "Europe/Berlin" or "UTC", not {brief(found.zone)}', "file"
        )
    for name in ("auto_dormant_days", "soft_limit_tokens", "hard_limit_tokens"):
        value = getattr(found, name)
        limit = _MOST_DAYS if name == "auto_dormant_days" else _MOST_TOKENS
        if type(value) is not int or not 1 <= value <= limit:
            raise Refused(f"{path}: {name} must be a whole number from 1 to {limit:,}, not {brief(value)}", "file")


def zone_of(settings: Settings) -> tzinfo:
    """The clock on which pages are written: the one that is set, else this machine's, else UTC."""
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


def embedder_key() -> str:
    """The key to a server of embeddings, if there is one."""
    return os.environ.get("TALLYSTICK_EMBEDDER_KEY", "")


def extractor_key() -> str:
    """The key to a server that reads claims, if there is one."""
    return os.environ.get("TALLYSTICK_EXTRACTOR_KEY", "")


def models_folder() -> Path:
    """Where models that are downloaded are kept."""
    return _home("XDG_CACHE_HOME", ".cache") / "tallystick" / "models"


def keyring() -> Keyring:
    """Signing keys and pins, where programs of this user keep such things."""
    from tallystick.ledger.checkpoint import Keyring

    return Keyring(keys=keys_folder(), pins=_home("XDG_STATE_HOME", ".local/state") / "tallystick" / "pins")


def keys_folder() -> Path:
    """Where signing keys are. Without one nothing was ever signed, and there is nothing to check signatures with."""
    return _home("XDG_CONFIG_HOME", ".config") / "tallystick" / "keys"


def home_of(variable: str, otherwise: str) -> Path:
    """Where another program keeps its files: as a variable of its own says, else there in this user's home."""
    return _home(variable, otherwise)


def is_set(variable: str) -> bool:
    """Whether a variable of another program says something."""
    return bool(os.environ.get(variable))


def calculate_in_one_thread() -> None:
    """Let NumPy's library start no threads of its own, unless this user has set how many. Before NumPy is loaded.

    They look for work for a while after each product, and a recall's products are small: more time goes by in looking
    than is saved.
    """
    if not (is_set("OPENBLAS_NUM_THREADS") or is_set("OMP_NUM_THREADS")):
        os.environ["OPENBLAS_NUM_THREADS"] = "1"


def names_home() -> bool:
    """Whether `$TALLYSTICK_HOME` says which memory is meant."""
    return is_set("TALLYSTICK_HOME")


def tokens_folder() -> Path:
    """Where the tokens lie that open a memory over HTTP."""
    return _home("XDG_CONFIG_HOME", ".config") / "tallystick" / "tokens"


def _home(variable: str, otherwise: str) -> Path:
    return Path(os.environ.get(variable) or _own_home() / otherwise)


def wants_colour() -> bool:
    """Whether this user has not said no to colour (https://no-color.org)."""
    return not os.environ.get("NO_COLOR")


def unsafe_place(folder: Path) -> str:
    """Why this folder is a risky place for a memory, or nothing: locks and syncs mean little on a network."""
    from tallystick.stores.file_system import is_remote, kind_of

    place = place_of(folder).absolute()
    if any(name in part.lower() for part in place.parts for name in _SYNCED):
        return f"{folder} looks like a cloud-synced folder: another machine's copy may overwrite it; keep it elsewhere"
    kind = kind_of(place)
    if is_remote(kind):
        return f"{folder} is on a network file system ({kind}): locks may not hold there; keep it on a local disk"
    return ""
