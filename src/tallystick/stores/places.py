"""What is at a path: a memory, one of chronomemory, and on which kind of file system, where the system reports it."""

from __future__ import annotations

from pathlib import Path

REMOTE = ("nfs", "cifs", "smb", "sshfs", "fuse.rclone", "fuse.s3fs", "9p", "afs", "ceph", "glusterfs")
MOUNTS = Path("/proc/mounts")


def kind_of(place: Path) -> str:
    """The kind, like `ext4` or `nfs4`; empty if unknown. `place` need not exist yet."""
    place = place.expanduser().absolute()
    try:
        mounts = [line.split()[1:3] for line in MOUNTS.read_text(errors="surrogateescape").splitlines()]
    except OSError:
        return ""
    over = [(where, kind) for where, kind in mounts if place.is_relative_to(where.replace("\\040", " "))]
    return max(over, key=lambda mount: len(mount[0]), default=("", ""))[1]


def is_remote(kind: str) -> bool:
    return kind.startswith(REMOTE)


def is_memory(folder: Path) -> bool:
    """True if there is a ledger at `folder`."""
    return (folder / "events.wal").exists()


def has_ledger(folder: Path) -> bool:
    """True if a ledger lives at `folder`, even a damaged one."""
    return any((folder / name).exists() for name in ("events.wal", "sealed", "lock"))


def revision(folder: Path) -> object:
    """Another value once somebody may have written to the ledger. It costs little, in any thread."""
    try:
        found = (folder / "events.wal").stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def size_of_ledger(folder: Path) -> int:
    """The bytes of the files of the chain."""
    return sum(path.stat().st_size for path in (*folder.glob("events.wal"), *folder.glob("sealed/*.wal")))


def is_old(folder: Path) -> bool:
    """True if chronomemory wrote it. What knows that for certain is loaded only if the first line is not ours."""
    from tallystick.ledger.folder.chain import first_line, is_ours

    try:
        line = first_line(folder / "events.wal")
    except FileNotFoundError:
        line = b""
    if is_ours(line) or not (line or (folder / "snapshot.json").exists()):
        return False
    from tallystick.stores.esdb import migrate

    return migrate.is_old(folder)


def has_foreign_log(folder: Path) -> bool:
    """True if there is a log that is not ours, sound or not."""
    from tallystick.ledger.folder.chain import first_line, is_ours

    try:
        return not is_ours(first_line(folder / "events.wal"))
    except (FileNotFoundError, NotADirectoryError):
        return (folder / "snapshot.json").is_file()
