"""`m.entities`: who and what is known, by the names that other programs gave them.

For programs that keep a graph of entities, observations and relations. All of it is beliefs; see `entities_named` for
which. A call is one write: all of it is recorded, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

from tallystick.memory.core.gate import WriteGate
from tallystick.memory.graph.entity_names import EntityStatement, Everyone, Names, Naming
from tallystick.memory.trust.filtered_calls import answering
from tallystick.records.belief import texts
from tallystick.records.display import display_lists
from tallystick.records.entity import Known, NamedEntity, Relation
from tallystick.records.errors import NotFound
from tallystick.stores.open_folder import OpenFolder

_SHOWN = 200  # characters of a name in a message


@answering
@display_lists
class EntityStore:
    """The entities of one user."""

    def __init__(self, folder: OpenFolder, gate: WriteGate, user: str) -> None:
        self._folder, self._gate, self._user = folder, gate, user

    def all(self) -> Known:
        """Everyone that is known and may be shown, with what is observed of them, and how they are related."""
        with self._folder.known():
            names = Everyone(self._folder, self._user)
        return Known(list(names.entities()), list(dict.fromkeys(relation for relation, _ in names.relations())))

    def names_of(self, ids: Iterable[str]) -> list[str]:
        """The names of those that beliefs are about, in the order of the beliefs, which are named by their ids."""
        with self._folder.known():
            about = {told.body["id"]: told.name for told in Everyone(self._folder, self._user).told}
        return list(dict.fromkeys(about[name] for name in ids if name in about))

    def create(self, entities: Iterable[NamedEntity], *, session: str = "", agent: str = "") -> list[NamedEntity]:
        """Let entities be known, with what is observed of them. Returns those that were not, as they are kept."""
        made = []
        with self._batch():
            naming = self._naming(session, agent)
            for entity in entities:
                if naming.entity(entity.name, entity.kind):
                    kept = tuple(dict.fromkeys(map(naming.kept, entity.observations)))
                    made.append(NamedEntity(entity.name, entity.kind, kept))
                    for each in kept:
                        naming.observation(entity.name, each)
        return made

    def observe(self, name: str, contents: Iterable[str], *, session: str = "", agent: str = "") -> list[str]:
        """Note something of one that is known. Returns what is new, as it is kept."""
        return self.observe_all([(name, contents)], session=session, agent=agent)[0]

    def observe_all(
        self, noted: Iterable[tuple[str, Iterable[str]]], *, session: str = "", agent: str = ""
    ) -> list[list[str]]:  # fmt: skip
        """The same of several: of all, or, if one of them is not known, of none."""
        found = []
        with self._batch():
            naming = self._naming(session, agent)
            for name, contents in noted:
                _must_know(naming.names, name)
                kept = map(naming.kept, texts(contents, "contents"))
                found.append([each for each in kept if naming.observation(name, each)])
        return found

    def relate(self, relations: Iterable[Relation], *, session: str = "", agent: str = "") -> list[Relation]:
        """Relate those that are known. Returns what is new; if one of the ends is not known, nothing is."""
        with self._batch():
            naming = self._naming(session, agent)
            given = list(relations)
            for each in given:
                _must_know(naming.names, each.source)
                _must_know(naming.names, each.target)
            return [each for each in given if naming.relation(each)]

    def forget(self, *names: str, reason: str = "") -> list[str]:
        """Put entities out of sight, with all that is held about them and leads to them. Returns those that were."""
        with self._batch():
            known = Everyone(self._folder, self._user)
            gone = {known.name_of(page): name for name in names if (page := known.find(name)) is not None}
            leading = [told for relation, told in known.relations() if {relation.source, relation.target} & gone.keys()]
            self._forget([*(told for told in known.told if told.name in gone), *leading], reason)
        return list(gone.values())

    def take_back(self, name: str, observations: Iterable[str], *, reason: str = "") -> int | None:
        """Put observations of an entity out of sight. Returns how many; None, if there is no such entity."""
        with self._batch():
            known = Everyone(self._folder, self._user)
            if (page := known.find(name)) is None:
                return None
            wanted = set(texts(observations, "observations"))
            name = known.name_of(page)
            going = [told for told in known.observations() if told.name == name and told.text in wanted]
            self._forget(going, reason)
        return len({told.text for told in going})

    def unrelate(self, relations: Iterable[Relation], *, reason: str = "") -> int:
        """Put relations out of sight. Returns how many of them there were."""
        wanted = set(relations)
        with self._batch():
            known = Everyone(self._folder, self._user)
            going = [(relation, told) for relation, told in known.relations() if relation in wanted]
            self._forget([told for _, told in going], reason)
        return len({relation for relation, _ in going})

    def _forget(self, going: Iterable[EntityStatement], reason: str) -> None:
        for name in dict.fromkeys(told.body["id"] for told in going):
            self._gate.forget(name, reason=reason, user=self._user, path="")

    def _naming(self, session: str, agent: str) -> Naming:
        return Naming(self._folder, self._gate, self._user, session=session, agent=agent)

    def _batch(self) -> AbstractContextManager[None]:
        return nullcontext() if self._folder.ledger.in_batch() else self._gate.batch()


def _must_know(names: Names, name: str) -> None:
    if names.find(name) is None:
        raise NotFound(f"Entity with name {_line(name)} not found; create it first")


def _line(name: str) -> str:
    """A name in a message: on one line, and not for ever."""
    shown = name if name.isprintable() else ascii(name)[1:-1]
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
