"""Masking of secrets before anything is written; the program that wrote them is notified.

Every write passes here: beliefs and episodes before they are decided on, so that a repeat is still a repeat; everything
else as it is about to be recorded. Only a program with a person's trust may keep secrets, by an argument or because
`tallystick.toml` says so. A name is never masked, because two names could become one: a name with a secret is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter
from typing import Any

from tallystick.records.display import counted
from tallystick.records.episode import Episode
from tallystick.records.errors import Refused
from tallystick.records.event import Draft
from tallystick.state.state import State
from tallystick.text.secrets.detect import find, masked, masked_fields, may_hold_secret, texts_in

Keep = bool | tuple[str, ...]  # all kinds, none, or those that are named

_WORDS = ("content", "session", "agent", "path", "id", "source_node")  # of an episode
_WORDS_OF = attrgetter(*_WORDS)
_NAMES = ("key", "about", "session", "agent", "path", "id", "source_node")
_SAID = ("text", "reason", *_NAMES)
_LISTS = ("evidence", "tags", "triple")
_TREES = ("data", "views", "metadata")
_OWN = ("ledger.", "snapshot", "erase")  # the ledger's own events have nobody's words


class _EveryKind(frozenset[str]):
    """Contains every kind of secret."""

    def __contains__(self, kind: object) -> bool:
        return True


class Cleared(list[Draft]):
    """Drafts whose words were masked before they were decided on."""


class Masker:
    """Masks the writes of one program. `keeps` gives the kinds that `tallystick.toml` keeps."""

    def __init__(self, state: State, trust: str, keeps: Callable[[], Keep], notify: Callable[[str], None]) -> None:
        self._state, self._trust, self._keeps, self._notify = state, trust, keeps, notify
        self._heard = threading.local()

    @property
    def last(self) -> tuple[str, ...]:
        """The kinds that were masked in the last write of this thread."""
        return getattr(self._heard, "kinds", ())

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """No notice for each masked secret: a caller that writes many things reports them at the end."""
        notify, self._notify = self._notify, lambda _: None
        try:
            yield
        finally:
            self._notify = notify

    @contextmanager
    def counted(self) -> Iterator[list[str]]:
        """The same, and collect the kinds that are masked meanwhile."""
        self._heard.all = found = list[str]()
        try:
            with self.unheard():
                yield found
        finally:
            del self._heard.all

    def fields(self, fields: dict[str, Any], reason: str = "") -> str:
        """Mask the fields of a belief in place, and remove `keep_secrets`. Returns the reason, masked too."""
        wish, self._heard.kinds = fields.pop("keep_secrets", False), ()
        if not self._may_hold(fields, reason):
            return reason
        _refuse_names(fields)
        keep = self._kept(wish, fields.get("trust"))
        because, kinds = _text(reason, keep)
        for name in ("text", "reason"):
            if name in fields:
                fields[name], found = _text(fields[name], keep)
                kinds += found
        trees, found = masked_fields({name: fields[name] for name in (*_LISTS, *_TREES) if fields.get(name)}, keep)
        fields.update(trees)
        self._report(kinds + found)
        return because

    def episode(self, episode: Episode, *, keep_secrets: bool = False) -> Episode:
        """The episode without the secrets in it."""
        self._heard.kinds = ()
        words = _WORDS_OF(episode)
        if not find("\n".join(words)) and not (episode.metadata and may_hold_secret(episode.metadata)):
            return episode
        _refuse_names(dict(zip(_WORDS, words, strict=True)))
        keep = self._kept(keep_secrets, episode.trust)
        content, kinds = masked(episode.content, keep)
        metadata, more = masked_fields(episode.metadata, keep)
        self._report(kinds + more)
        return replace(episode, content=content, metadata=metadata) if kinds or more else episode

    def words(self, text: str, but: str = "") -> str:
        """A reason, a question, an edit, without its secrets. Those that are in `but` already stay."""
        self._heard.kinds = ()
        found, kinds = _text(text, self._kept(False, None), but)
        self._report(kinds)
        return found

    def edited(self, text: str, but: str = "") -> tuple[str, list[str]]:
        """What a person wrote on a page, without its secrets, and their kinds, for the caller to report."""
        return masked(text, self._policy(), (lambda: but) if but else None)

    def edited_fields(self, fields: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        return masked_fields(fields, self._policy())

    def drafts(self, drafts: Sequence[Draft]) -> Sequence[Draft]:
        """Drafts that came another way. What a version inherits from those it replaces stays as it was."""
        if isinstance(drafts, Cleared):
            return drafts
        return [draft if draft.op.startswith(_OWN) else self._masked(draft) for draft in drafts]

    def _masked(self, draft: Draft) -> Draft:
        body, kinds = masked_fields(draft.body, self._kept(False, None), lambda: self._before(draft.body))
        self._report(kinds)
        return Draft(draft.op, body) if kinds else draft

    def _before(self, body: Mapping[str, Any]) -> str:
        """All texts of the versions that a draft replaces."""
        names = body.get("replaces") or ()
        held = [self._state.find(name, user=self._state.owner(name) or "", short=False) for name in names]
        return "\n".join(text for each in held if each for text in texts_in(each.body()))

    def _kept(self, wish: bool, trust: str | None) -> Collection[str]:
        """The kinds that may stay: none, except in a person's words."""
        if self._trust != "human" or trust not in (None, "human"):
            return ()
        return _EveryKind() if wish else self._policy()

    def _policy(self) -> Collection[str]:
        kinds = self._keeps()
        return _EveryKind() if kinds is True else kinds or ()

    def _may_hold(self, fields: Mapping[str, Any], reason: str) -> bool:
        if any(fields.get(name) for name in _TREES):
            return True
        words = [reason, *map(fields.get, _SAID)]
        for name in _LISTS:
            words += fields.get(name) or ()
        return bool(find("\n".join([each for each in words if each and isinstance(each, str)])))  # one look is quicker

    def _report(self, kinds: list[str]) -> None:
        if kinds:
            self._heard.kinds = (*self.last, *kinds)
            getattr(self._heard, "all", []).extend(kinds)
            hint = "; `--keep-secrets` keeps it" if self._trust == "human" else ""
            self._notify(f"masked {counted(kinds)}{hint}")


def _text(text: Any, keep: Collection[str], but: str = "") -> tuple[str, list[str]]:
    """The text, masked. Anything else is refused further on, with what it should be."""
    if not isinstance(text, str):
        return text, []
    return masked(text, keep, (lambda: but) if but else None)


def _refuse_names(fields: Mapping[str, Any]) -> None:
    for name in _NAMES:
        refuse_name(name, fields.get(name))


def refuse_name(what: str, value: Any) -> None:
    """Refused, if a name holds a secret."""
    if value and isinstance(value, str) and (found := find(value)):
        raise Refused(f"{what} contains a secret ({found[0].kind}), and names are not masked; choose another", "secret")
