"""How a test expects a refusal: by its code and what it names, never by its sentence."""

from __future__ import annotations

import pytest

from tallystick.records.errors import Code, NeedsApproval, NotApproved, Refused, Why


class _Is:
    """Whether a refusal has this word and names these. Says what it looked for when it did not."""

    def __init__(self, kind: str, word: str, named: tuple[str, ...]) -> None:
        self._kind, self._word, self._named = kind, word, named

    def __call__(self, error: Refused) -> bool:
        return getattr(error, self._kind) == self._word and all(each in str(error) for each in self._named)

    def __repr__(self) -> str:
        return f"{self._kind} {self._word!r}" + "".join(f", naming {each!r}" for each in self._named)


def refuses(code: Code, *named: str) -> pytest.RaisesExc[Refused]:
    """A context whose work is refused with this code, in a message that names these."""
    return pytest.raises(Refused, check=_Is("code", code, named))


def not_approved(why: Why, *named: str) -> pytest.RaisesExc[NotApproved]:
    """A context whose work is not approved for this reason, in a message that names these."""
    return pytest.raises(NotApproved, check=_Is("why", why, named))


def needs_approval(why: Why, *named: str) -> pytest.RaisesExc[NeedsApproval]:
    """A context whose work needs an approval, for this reason, in a message that names these."""
    return pytest.raises(NeedsApproval, check=_Is("why", why, named))
