"""Secrets are masked before anything is written, and whoever said them is told so.

Every way into the ledger passes here: what is said of beliefs and what happened, before it is decided on, so that the
same thing said again is still the same thing; everything else as it is about to be recorded. Only a program of a person
may keep secrets, by saying so or because `tallystick.toml` does. A name is never masked, because two of them would
become one: a name that holds a secret is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tallystick.records.display import counted
from tallystick.records.episode import Episode
from tallystick.records.errors import Refused
from tallystick.records.event import Draft
from tallystick.state.state import State
from tallystick.text.secrets.detect import find, masked, masked_fields, texts_in

Keep = bool | tuple[str, ...]  # all kinds, none, or those that are named

_NAMES = ("key", "about", "session", "agent", "path", "id", "source_node")
_LISTS = ("evidence", "tags", "triple")
_TREES = ("data", "views", "metadata")
_OWN = ("ledger.", "snapshot", "erase")  # what the ledger says of itself has no words of anybody


class Everything:
    """Holds every kind there is."""

    def __contains__(self, kind: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 1


class Cleared(list[Draft]):
    """Drafts whose words were looked at before they were decided on."""


class Masker:
    """Looks at what one program says. `keeps` gives what `tallystick.toml` says."""

    def __init__(
        self, state: State, trust: str, keeps: Callable[[], Keep], tell: Callable[[str], None] | None = None
    ) -> None:
        self._state, self._trust, self._keeps, self._tell = state, trust, keeps, tell or _log
        self._heard = threading.local()

    @property
    def last(self) -> tuple[str, ...]:
        """What kinds were masked in what this thread last said."""
        return getattr(self._heard, "kinds", ())

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Nobody is told one by one what was masked: whoever says much at once counts, and tells at the end."""
        told, self._tell = self._tell, lambda _: None
        try:
            yield
        finally:
            self._tell = told

    @contextmanager
    def counted(self) -> Iterator[list[str]]:
        """The same, and the kinds that are masked meanwhile are gathered."""
        self._heard.all = found = list[str]()
        try:
            with self.unheard():
                yield found
        finally:
            del self._heard.all

    # -- before it is decided on -------------------------------------------------------------------------------------

    def fields(self, fields: dict[str, Any], reason: str = "") -> str:
        """Mask what is about to be said of a belief, in place, and return the reason for it, masked too.

        `keep_secrets` among the fields is taken out of them.
        """
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
        said = {name: getattr(episode, name, "") for name in ("content", *_NAMES)}
        if not episode.metadata and not _holds(said.values()):
            return episode
        _refuse_names(said)
        keep = self._kept(keep_secrets, episode.trust)
        content, kinds = masked(episode.content, keep)
        metadata, more = masked_fields(episode.metadata, keep)
        self._report(kinds + more)
        return replace(episode, content=content, metadata=metadata) if kinds or more else episode

    def words(self, text: str, but: str = "") -> str:
        """A reason, a question, an edit, without the secrets in it. What stands in `but` already stays."""
        self._heard.kinds = ()
        found, kinds = _text(text, self._kept(False, None), but)
        self._report(kinds)
        return found

    def edited(self, text: str, but: str = "") -> tuple[str, list[str]]:
        """What a person wrote on a page, without the secrets in it, and their kinds: whoever asks tells the person."""
        return masked(text, self._policy(), (lambda: but) if but else None)

    def edited_fields(self, fields: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        return masked_fields(fields, self._policy())

    # -- as it is recorded -------------------------------------------------------------------------------------------

    def drafts(self, drafts: Sequence[Draft]) -> Sequence[Draft]:
        """Whatever came by another way. What a version takes over from those it replaces stays as it was."""
        if isinstance(drafts, Cleared):
            return drafts
        return [draft if draft.op.startswith(_OWN) else self._masked(draft) for draft in drafts]

    def _masked(self, draft: Draft) -> Draft:
        body, kinds = masked_fields(draft.body, self._kept(False, None), lambda: self._before(draft.body))
        self._report(kinds)
        return Draft(draft.op, body) if kinds else draft

    def _before(self, body: Mapping[str, Any]) -> str:
        """Everything that the versions hold which a draft replaces."""
        names = body.get("replaces") or ()
        held = [self._state.find(name, user=self._state.owner(name) or "", short=False) for name in names]
        return "\n".join(text for each in held if each for text in texts_in(each.body()))

    # -- inside ------------------------------------------------------------------------------------------------------

    def _kept(self, wish: bool, trust: str | None) -> Collection[str]:
        """The kinds that may stay: none of what anybody but a person says."""
        if self._trust != "human" or trust not in (None, "human"):
            return ()
        return Everything() if wish else self._policy()

    def _policy(self) -> Collection[str]:
        said = self._keeps()
        return Everything() if said is True else said or ()

    def _may_hold(self, fields: Mapping[str, Any], reason: str) -> bool:
        if any(fields.get(name) for name in _TREES):
            return True
        said = [reason, *(fields.get(name) for name in ("text", "reason", *_NAMES))]
        for name in _LISTS:
            said += fields.get(name) or ()
        return _holds(said)

    def _report(self, kinds: list[str]) -> None:
        if kinds:
            self._heard.kinds = (*self.last, *kinds)
            getattr(self._heard, "all", []).extend(kinds)
            hint = "; `--keep-secrets` keeps it" if self._trust == "human" else ""
            self._tell(f"masked {counted(kinds)}{hint}")


def _holds(said: Iterable[Any]) -> bool:
    """Whether there may be a secret in any of these. They are looked at together, which is quicker."""
    return bool(find("\n".join([each for each in said if isinstance(each, str)])))


def _text(text: Any, keep: Collection[str], but: str = "") -> tuple[str, list[str]]:
    """What is no text is refused further on, by whoever knows what it should be."""
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


def _log(what: str) -> None:
    import logging

    logging.getLogger("tallystick").warning(what)
