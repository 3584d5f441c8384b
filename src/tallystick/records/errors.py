"""Every error tallystick raises, grouped by what its reader should do next.

TallystickError
├── Refused          change the request; nothing was changed
│   ├── NotFound       no such belief, event, backup or segment
│   ├── KeyReused      an idempotency key, or an episode's id, that stood for other words
│   ├── NeedsApproval  a person must approve it first; only the request was recorded
│   ├── NotApproved    the policy refuses it, or the approval is not valid; only the attempt was recorded
│   ├── MemoryScopeError        an invalid user, session or agent, or one that contradicts the record's own
│   ├── ConsolidationRuleError  a rule that cannot be read, with the place of the mistake in a filter
│   ├── MigrationNotSupported   a change of a store's schema other than a new nullable column
│   ├── UnportableCypherError   a query over a graph that writes, or uses unsupported Cypher
│   ├── NotWritable    this folder, disk or program version may only read
│   ├── UnknownVersion a record, file or envelope of a schema version that only a newer program knows
│   └── Closed         open the memory again (it was closed, or forked)
├── Moved            read again and decide again; nothing was changed
├── Busy             try again; nothing was changed
│   └── NotWritten     the disk refused (full, failing); what was there before is whole
├── OutcomeUnknown   ask again with the same request key: it may be recorded or not
├── Unfinished       make room; what is recorded stays, and the message says what is left to do
└── Damaged          stop and run `tallystick check`; the disk contradicts itself
    ├── RolledBack     the ledger is shorter than, or different from, a witness of it
    └── Missing        a needed segment of the ledger is not in the folder

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
    "forked",  # the process forked after opening it
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
    "approver",  # the policy does not let this person approve
    "closed",  # its review is closed
    "early",  # the approval is dated in the future
    "expired",  # the approval has expired
    "forged",  # no such approval is recorded
    "name",  # requested for somebody else, or with more trust than the program has
    "none",  # nobody has approved it
    "other",  # the approval is of another action
    "refused",  # the policy refuses it
    "stale",  # the approved content has changed since
    "stranger",  # the approval is by somebody who may not approve
    "used",  # the approval was used already
]


class TallystickError(Exception):
    """Any error of tallystick."""


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
    """There is no such thing."""

    code = "reference"


class KeyReused(Refused):
    """The key was used before, for other words. Nothing was changed; use another key for each request."""

    code = "exists"


class NeedsApproval(Refused):
    """A person must approve it first. Nothing was changed; `review` is the pending review, `why` a code."""

    code = "permission"

    def __init__(self, message: str, review: str = "", why: Why = "none") -> None:
        super().__init__(message)
        self.review, self.why = review, why


class NotApproved(Refused):
    """The policy refuses it, or an approval is not valid. Nothing was changed; the attempt is on record.

    `why` is a code for programs; `attempt` is the recorded body.
    """

    code = "permission"

    def __init__(self, message: str, why: Why = "refused", attempt: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.why, self.attempt = why, attempt or {}


class MemoryScopeError(Refused):
    """An invalid scope, or one that contradicts the record's own. Nothing was changed."""


class ConsolidationRuleError(Refused):
    """A rule that cannot be run as it stands. `at` is the character of its filter that is not understood, if one is."""

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


class MigrationNotSupported(Refused):
    """A plan other than a new nullable column. `reason` is a code for programs."""

    code = "unsupported"

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class UnportableCypherError(Refused):
    """A query that does more than select relations of a graph. Nothing was changed."""

    code = "unsupported"


class NotWritable(Refused):
    """Reading is possible, writing is not."""

    code = "permission"


class UnknownVersion(Refused):
    """Written by a newer program."""

    code = "unsupported"


class Closed(Refused):
    """The folder of the object is no longer open."""

    code = "state"


class Moved(TallystickError):
    """What the caller had read has changed since. Nothing was changed."""


class Busy(TallystickError):
    """Another writer is active. Nothing was changed."""


class NotWritten(Busy):
    """The disk refused the write; it was rolled back."""


class OutcomeUnknown(TallystickError):
    """The connection was lost while something was written. `request` is the key with which to ask again."""

    def __init__(self, message: str, request: str = "") -> None:
        super().__init__(message)
        self.request = request


class Unfinished(TallystickError):
    """The disk refused when a part was recorded already. That part stays; do not repeat it."""


class Damaged(TallystickError):
    """The disk contradicts itself. Nothing repairs it silently."""


class RolledBack(Damaged):
    """The ledger lacks events that a witness has seen."""


class Missing(Damaged):
    """A needed segment of the ledger is not in the folder."""
