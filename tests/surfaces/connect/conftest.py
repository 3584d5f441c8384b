"""A machine on which no client was moved."""

import pytest

from tallystick.surfaces.cli import serve as skin


@pytest.fixture(autouse=True)
def nothing_moved(monkeypatch, home):
    """No client's own variable is set, and tallystick lies where it usually does."""
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(skin, "this_program", lambda: ["/opt/bin/tallystick"])
