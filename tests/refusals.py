"""How a test expects a refusal: by its code and what it names, never by its sentence."""

from __future__ import annotations

import pytest

from tallystick.records.errors import Code, Refused


class _Is:
    """Whether a refusal has this code and names these. Says what it looked for when it did not."""

    def __init__(self, code: Code, named: tuple[str, ...]) -> None:
        self._code, self._named = code, named

    def __call__(self, error: Refused) -> bool:
        return error.code == self._code and all(each in str(error) for each in self._named)

    def __repr__(self) -> str:
        return f"code {self._code!r}" + "".join(f", naming {each!r}" for each in self._named)


def refuses(code: Code, *named: str) -> pytest.RaisesExc[Refused]:
    """A context whose work is refused with this code, in a message that names these."""
    return pytest.raises(Refused, check=_Is(code, named))
