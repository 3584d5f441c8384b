"""What is around a statement that is about to be recorded, as far as the index knows: beliefs in the same words, about
the same thing, or with other values of the same; and who else has used a name.

Nothing is looked up in a batch, which is not indexed yet, nor in a database, nor if the index is not available: no
write waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import orjson

from tallystick.records.belief import Belief, Statement
from tallystick.state.beliefs import CurrentVersion
from tallystick.text.entities import is_name_in, is_word_in, kind_in

if TYPE_CHECKING:
    from tallystick.memory.core.context import Context
    from tallystick.projections.index.file import IndexFile
    from tallystick.projections.index.search import Scope

Answer = TypeVar("Answer")

MOST = 40  # beliefs about the same thing that are compared, the newest
_FEW = 12  # statements that are looked at for a name, or for other values
_MANY = 16  # words of a statement by which these are found


@dataclass(frozen=True, slots=True)
class Around:
    """The beliefs around a statement."""

    since: int | None = None  # the last event that had changed what is remembered
    same: Belief | None = None  # in the same words and the same scope
    of_the_same: tuple[CurrentVersion, ...] = ()  # about the same thing, the newest first
    near: tuple[CurrentVersion, ...] = ()  # with a value of what may be the same attribute, the nearest first
    rare: Mapping[str, float] = field(default_factory=dict)  # how rare their words are, by the stem

    def weight(self, stems: Iterable[str]) -> float:
        return sum(self.rare.get(each, 0.0) for each in stems)


_NOTHING = Around()


@dataclass(frozen=True, slots=True)
class _Rows:
    """The versions that the index found, each kind the best first."""

    since: int
    same: list[str] = field(default_factory=list)
    of_the_same: list[str] = field(default_factory=list)
    near: list[str] = field(default_factory=list)
    rare: Mapping[str, float] = field(default_factory=dict)


class Surroundings:
    """Looks around statements of one program."""

    def __init__(self, context: Context) -> None:
        self._context, self._folder, self._gate = context, context.folder, context.gate

    def of(self, statement: Statement) -> Around:
        from tallystick.projections.index.rows import address

        scope: tuple[object, ...] = (statement.user, statement.path, statement.session, statement.agent)
        if not all(isinstance(name, str) for name in scope):
            return _NOTHING  # it will be refused
        try:
            whole = address(statement.text, statement.user, statement.path)
        except UnicodeEncodeError:  # a lone surrogate, which will be refused
            return _NOTHING
        found = self._glance(lambda file: self._rows(file, statement, whole))
        if found is None:
            return _NOTHING
        if not (found.same or found.of_the_same or found.near):
            return Around(found.since)
        state, user, path = self._folder.state, statement.user, statement.path

        def seen(names: Iterable[str]) -> tuple[CurrentVersion, ...]:
            every = (state.find(name, user=user, path=path, short=False) for name in names)
            return tuple(each for each in every if each is not None and state.sees(each, path))

        with self._folder.ledger.reading():
            alike = (state.find(name, user=user, path=path, short=False) for name in found.same)
            first = next((each.belief() for each in alike if each is not None and _says(each, statement.text)), None)
            return Around(found.since, first, seen(found.of_the_same), seen(found.near), found.rare)

    def _glance(self, look: Callable[[IndexFile], Answer]) -> Answer | None:
        is_indexed = self._folder.root is not None and not self._folder.ledger.in_batch()
        return self._context.index.glance(look) if is_indexed else None

    def _rows(self, file: IndexFile, statement: Statement, whole: str) -> _Rows:
        from tallystick.projections.index import statements as sql
        from tallystick.projections.index.rows import ids_for
        from tallystick.projections.index.search import Scope
        from tallystick.text.claims import claim_key

        state = self._folder.state
        scope = Scope(statement.user, path=statement.path, now=self._folder.ledger.now()).on(state.paths)
        if scope.is_nobodys():
            return _Rows(state.changed)
        own = {"block": next(ids_for(whole)), "in": statement.session, "as": statement.agent}
        values = {**scope.values(), **own, "claim": claim_key(statement.text, statement.triple)}
        said = file.db.execute(sql.SAID_SO, values).fetchmany(MOST)
        is_person = self._gate.asker(statement.trust) == "human"  # another program's words are not a repeat
        same = [name for name, by in said if is_person or by == self._gate.by]
        claimed = [] if values["claim"] is None else file.db.execute(sql.CLAIMED, values).fetchmany(MOST)
        return _Rows(state.changed, same, [row[0] for row in claimed], *_with_values(file, statement.text, scope))

    def kind_in_use(self, statement: Statement, name: str) -> str:
        """The kind of a name that others have used as one; empty, if nobody has, or if it is a word as well."""
        speaks, texts = self._glance(lambda file: _with_word(file, statement, name)) or (False, [])
        if not speaks and not any(is_name_in(name, text) for text in texts):
            return ""
        if any(is_word_in(name.lower(), text) for text in texts):
            return ""
        kinds = [kind for text in (statement.text, *texts) if (kind := kind_in(name, text)) != "topic"]
        return "person" if speaks or "person" in kinds else next(iter(kinds), "topic")


def _with_values(file: IndexFile, text: str, scope: Scope) -> tuple[list[str], Mapping[str, float]]:
    """Beliefs that may give the attributes of a text other values, the nearest first; and how rare their words are."""
    from tallystick.projections.index import statements as sql
    from tallystick.projections.index.search import rarity, search, source_rows
    from tallystick.text.attributes import read
    from tallystick.text.recall_words import stem, telling

    mine = read(text)
    if not mine.values:
        return [], {}
    said = telling(text)[:_MANY]
    blocks = [each.block for each in search(file, list(dict.fromkeys(said)), scope, _FEW)]
    texts = {row[0]: row[1] for row in file.db.execute(sql.FREE, (orjson.dumps(blocks).decode(),))}
    around = frozenset[str]().union(*(value.around for value in mine.values))
    alike = [block for block in blocks if any(value.around & around for value in read(texts[block]).values)]
    if not alike:
        return [], {}
    spelled = {stem(word): word for each in (text, *(texts[block] for block in alike)) for word in telling(each)}
    rare = dict(zip(spelled, rarity(file, list(spelled.values()), scope.user, on=scope), strict=True))
    rows = source_rows(file, alike, scope)
    return [row.id for block in alike for row in rows.get(block, ()) if row.what == "belief"], rare


def _with_word(file: IndexFile, statement: Statement, name: str) -> tuple[bool, list[str]]:
    """Whether somebody of that name speaks, and what else has that word, as far as it is current and visible."""
    from tallystick.projections.index import statements as sql
    from tallystick.projections.index.search import Scope, said_with

    scope = Scope(statement.user, path=statement.path)
    if scope.is_nobodys():
        return False, []
    asked = scope.user, orjson.dumps([name.casefold()]).decode(), scope.paths, scope.values()["at"]
    speaks = any(what == "agent" for _, what, _ in file.db.execute(sql.NAMES, asked))
    return speaks, said_with(file, name, scope, _FEW) if name[:1].isupper() else []


def _says(held: CurrentVersion, text: str) -> bool:
    """Whether it is active and has these very words: "Password: ABC" is not "password: abc"."""
    return held.status == "active" and held.belief().text.strip() == text.strip()
