"""The kind of file system of a path, where the system reports it. On a network, locks and syncs mean little."""

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
