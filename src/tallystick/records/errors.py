"""Every error tallystick raises, grouped by what its reader should do next.

TallystickError
├── Refused          change the request; nothing was changed
│   ├── NotFound       no such belief, event, backup or stretch
│   ├── KeyReused      an idempotency key, or an episode's id, that stood for other words
│   ├── NeedsApproval  a person must say yes first; only the question was recorded
│   ├── NotApproved    the policy says no, or the yes does not count; only the attempt was recorded
│   ├── MemoryScopeError        a user, session or agent that cannot be, or that contradicts what it is said of
│   ├── ConsolidationRuleError  a rule that cannot be read; where a filter goes wrong is pointed at
│   ├── MigrationNotSupported   a change of a store's shape other than one more column that may be empty
│   ├── UnportableCypherError   a query over a graph that writes, or is more Cypher than is understood
│   ├── NotWritable    this folder, disk or program version may only read
│   ├── UnknownVersion a record, file or envelope of a schema version that only a newer program knows
│   └── Closed         open the memory again (it was closed, or forked)
├── Moved            read again and decide again; nothing was changed
├── Busy             try again; nothing was changed
│   └── NotWritten     the disk refused (full, failing); what was there before is whole
├── Unfinished       make room; what is recorded stays, and the message says what is still to be done
└── Damaged          stop and run `tallystick check`; the disk contradicts itself
    ├── RolledBack     the ledger is shorter than, or other than, a witness says
    └── Missing        a stretch of the ledger that is needed is not in the folder

A message is one line: what is wrong, where, and the way out.
"""


class TallystickError(Exception):
    """Something tallystick has to tell its caller."""


class Refused(TallystickError):
    """The request cannot be granted as it stands. Nothing was changed."""


class NotFound(Refused):
    """What was asked for is not here."""


class KeyReused(Refused):
    """The key was used before, for other words. Nothing was changed; use a key of its own for each request."""


class NeedsApproval(Refused):
    """A person must say yes first. Nothing was changed; the question waits as `review`."""

    def __init__(self, message: str, review: str = "") -> None:
        super().__init__(message)
        self.review = review


class NotApproved(Refused):
    """The policy says no, or a yes does not count. Nothing was changed; the attempt is on record.

    `why` is a word for programs; `attempt` is what is recorded.
    """

    def __init__(self, message: str, why: str = "", attempt: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.why, self.attempt = why, attempt or {}


class MemoryScopeError(Refused):
    """A scope that names nobody, or another one than what it is said of. Nothing was changed."""


class ConsolidationRuleError(Refused):
    """A rule that cannot be run as it stands. `at` is the character of its filter that is not understood, if one is."""

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


class MigrationNotSupported(Refused):
    """A plan that is not just one more column that may be empty. `reason` is a word for programs."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class UnportableCypherError(Refused):
    """A query that does more than choose relations of a graph. Nothing was changed."""


class NotWritable(Refused):
    """Reading is possible, writing is not."""


class UnknownVersion(Refused):
    """Written by a program that knows more than this one."""


class Closed(Refused):
    """The object no longer stands for an open folder."""


class Moved(TallystickError):
    """What the caller had read has changed since. Nothing was changed."""


class Busy(TallystickError):
    """Another writer is at it. Nothing was changed."""


class NotWritten(Busy):
    """The disk refused the write; it was taken back."""


class Unfinished(TallystickError):
    """The disk refused when a part was recorded already. That part stays; nothing is to be said a second time."""


class Damaged(TallystickError):
    """The disk contradicts itself. Nothing repairs it silently."""


class RolledBack(Damaged):
    """The ledger lacks what a witness saw in it."""


class Missing(Damaged):
    """A stretch of the ledger is needed and not in the folder."""
