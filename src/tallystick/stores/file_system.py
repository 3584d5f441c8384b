"""What kind of file system a path is on, where the system tells. On a network, locks and syncs mean little."""

from __future__ import annotations

from pathlib import Path

REMOTE = ("nfs", "cifs", "smb", "sshfs", "fuse.rclone", "fuse.s3fs", "9p", "afs", "ceph", "glusterfs")
MOUNTS = Path("/proc/mounts")


def kind_of(place: Path) -> str:
    """Like `ext4` or `nfs4`; empty where nobody knows. `place` need not exist yet."""
    place = place.expanduser().absolute()
    try:
        mounts = [line.split()[1:3] for line in MOUNTS.read_text(errors="surrogateescape").splitlines()]
    except OSError:
        return ""
    over = [(where, kind) for where, kind in mounts if place.is_relative_to(where.replace("\\040", " "))]
    return max(over, key=lambda mount: len(mount[0]), default=("", ""))[1]


def is_remote(kind: str) -> bool:
    return kind.startswith(REMOTE)
