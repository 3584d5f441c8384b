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

A message is one line: what is wrong, where, and the way out. It may be worded better in any version; programs
go by the class, and of what is `Refused` by its `code`.
"""

from copy import copy
from typing import Literal, Self

Code = Literal[
    "ambiguous",  # the name stands for several things
    "batch",  # not inside a batch, or while this thread writes
    "conflict",  # two arguments contradict each other
    "duplicate",  # something is named twice
    "exists",  # the name, key or file is taken
    "field",  # an unknown field or change
    "file",  # the content of a file or stream cannot be understood
    "forked",  # the process forked since it was opened
    "incomplete",  # some of what was asked for could not be done; the rest was
    "json",  # not JSON, or a value that JSON cannot hold
    "mismatch",  # it belongs to another user, ledger, store or version
    "name",  # not a valid name
    "permission",  # only a person, or a more trusted caller, may do this
    "place",  # the path is a symlink, a device, of the wrong kind or inside the memory
    "proof",  # the proof is not valid
    "reference",  # it refers to something that does not exist
    "required",  # something has to be given
    "secret",  # a name or key holds a secret
    "self",  # a thing cannot be related to itself, or put into itself
    "size",  # too long, too large or too many
    "state",  # what it is about is not in a state that allows it
    "text",  # characters that cannot be stored, or not UTF-8
    "time",  # not a valid time
    "unavailable",  # a package, model, server or device that is needed cannot be used
    "unconfirmed",  # nobody confirmed it
    "unsupported",  # not offered for this
    "value",  # any other value that is not of the type, range or list that is taken
]

Why = Literal[
    "approver",  # who answers is none whom the policy names
    "closed",  # the review of it is closed
    "early",  # the yes is of a moment that is still to come
    "expired",  # the yes has ended
    "forged",  # there is no such yes on record
    "name",  # it is asked for in somebody else's name, or with more trust than the program has
    "none",  # nobody has said yes
    "other",  # the yes is to another action
    "refused",  # the policy says no
    "stale",  # what was approved has changed since
    "stranger",  # the yes is of one who may not give it
    "used",  # the yes was used already
]


class TallystickError(Exception):
    """Something tallystick has to tell its caller."""


class Refused(TallystickError):
    """The request cannot be granted as it stands. Nothing was changed. `code` says in a word what is wrong with it."""

    code: Code = "value"

    def __init__(self, message: str, code: Code | None = None) -> None:
        super().__init__(message)
        self.code = code or type(self).code

    def reworded(self, message: str) -> Self:
        """The same refusal in other words."""
        again = copy(self)
        again.args = (message,)
        return again


class NotFound(Refused):
    """What was asked for is not here."""

    code = "reference"


class KeyReused(Refused):
    """The key was used before, for other words. Nothing was changed; use a key of its own for each request."""

    code = "exists"


class NeedsApproval(Refused):
    """A person must say yes first. Nothing was changed; the question waits as `review`.

    `why` is a word for programs: that there is no yes, or what is wrong with the one that was given.
    """

    code = "permission"

    def __init__(self, message: str, review: str = "", why: Why = "none") -> None:
        super().__init__(message)
        self.review, self.why = review, why


class NotApproved(Refused):
    """The policy says no, or a yes does not count. Nothing was changed; the attempt is on record.

    `why` is a word for programs; `attempt` is what is recorded.
    """

    code = "permission"

    def __init__(self, message: str, why: Why = "refused", attempt: dict[str, object] | None = None) -> None:
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

    code = "unsupported"

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class UnportableCypherError(Refused):
    """A query that does more than choose relations of a graph. Nothing was changed."""

    code = "unsupported"


class NotWritable(Refused):
    """Reading is possible, writing is not."""

    code = "permission"


class UnknownVersion(Refused):
    """Written by a program that knows more than this one."""

    code = "unsupported"


class Closed(Refused):
    """The object no longer stands for an open folder."""

    code = "state"


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
