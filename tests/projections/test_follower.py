"""A derived file is for its owner alone, whatever others do to it meanwhile."""

import os
import stat

from tallystick.projections import follower
from tallystick.projections.pages.open_database import PagesFile


def test_a_file_that_is_removed_while_it_is_opened_is_still_for_its_owner_alone(tmp_path, monkeypatch):
    path = tmp_path / "pages.db"
    removed = []

    class Meanwhile:
        """The os module, in which another process removes the file once, right after it was made."""

        def __getattr__(self, name):
            return getattr(os, name)

        def close(self, fd):
            os.close(fd)
            if not removed:
                removed.append(path)
                path.unlink()

    monkeypatch.setattr(follower, "os", Meanwhile())
    PagesFile(path).close()

    assert removed
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
