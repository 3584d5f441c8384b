"""`m.entities`: entities by the names that other programs gave them.

For programs that keep a graph of entities, observations and relations. All of it is beliefs; see `entity_names`. A call
is one write: all of it is recorded, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from tallystick.memory.core.gate import WriteGate
from tallystick.memory.graph.entity_names import EntityStatement, Everyone, Names, Naming
from tallystick.memory.trust.filtered_calls import answering
from tallystick.records.belief import texts
from tallystick.records.display import display_lists
from tallystick.records.errors import NotFound
from tallystick.records.named_entity import Known, NamedEntity, Relation
from tallystick.stores.open_folder import OpenFolder

_SHOWN = 200  # characters of a name in a message


@answering
@display_lists
class EntityStore:
    """The entities of one user."""

    def __init__(self, folder: OpenFolder, gate: WriteGate, user: str) -> None:
        self._folder, self._gate, self._user = folder, gate, user

    def all(self) -> Known:
        """All visible entities, with their observations and relations."""
        with self._folder.known():
            names = Everyone(self._folder, self._user)
        return Known(list(names.entities()), list(dict.fromkeys(relation for relation, _ in names.relations())))

    def names_of(self, ids: Iterable[str]) -> list[str]:
        """The names of the entities that beliefs are about, in the order of the beliefs' ids."""
        with self._folder.known():
            about = {told.body["id"]: told.name for told in Everyone(self._folder, self._user).told}
        return list(dict.fromkeys(about[name] for name in ids if name in about))

    def create(self, entities: Iterable[NamedEntity], *, session: str = "", agent: str = "") -> list[NamedEntity]:
        """Create entities, with their observations. Returns the new ones, as they are stored."""
        made = []
        with self._gate.together():
            naming = self._naming(session, agent)
            for entity in entities:
                if naming.entity(entity.name, entity.kind):
                    kept = tuple(dict.fromkeys(map(naming.kept, entity.observations)))
                    made.append(NamedEntity(entity.name, entity.kind, kept))
                    for each in kept:
                        naming.observation(entity.name, each)
        return made

    def observe(self, name: str, contents: Iterable[str], *, session: str = "", agent: str = "") -> list[str]:
        """Add observations to an entity. Returns the new ones, as they are stored."""
        return self.observe_all([(name, contents)], session=session, agent=agent)[0]

    def observe_all(
        self, noted: Iterable[tuple[str, Iterable[str]]], *, session: str = "", agent: str = ""
    ) -> list[list[str]]:  # fmt: skip
        """The same for several: for all or, if one of them is unknown, for none."""
        found = []
        with self._gate.together():
            naming = self._naming(session, agent)
            for name, contents in noted:
                _must_know(naming.names, name)
                kept = map(naming.kept, texts(contents, "contents"))
                found.append([each for each in kept if naming.observation(name, each)])
        return found

    def relate(self, relations: Iterable[Relation], *, session: str = "", agent: str = "") -> list[Relation]:
        """Relate entities. Returns the new relations; if an end is unknown, nothing is written."""
        with self._gate.together():
            naming = self._naming(session, agent)
            given = list(relations)
            for each in given:
                _must_know(naming.names, each.source)
                _must_know(naming.names, each.target)
            return [each for each in given if naming.relation(each)]

    def forget(self, *names: str, reason: str = "") -> list[str]:
        """Forget entities, with their observations and relations. Returns those that existed."""
        with self._gate.together():
            known = Everyone(self._folder, self._user)
            gone = {known.name_of(page): name for name in names if (page := known.find(name)) is not None}
            leading = [told for relation, told in known.relations() if {relation.source, relation.target} & gone.keys()]
            self._forget([*(told for told in known.told if told.name in gone), *leading], reason)
        return list(gone.values())

    def take_back(self, name: str, observations: Iterable[str], *, reason: str = "") -> int | None:
        """Forget observations of an entity. Returns how many; None, if there is no such entity."""
        with self._gate.together():
            known = Everyone(self._folder, self._user)
            if (page := known.find(name)) is None:
                return None
            wanted = set(texts(observations, "observations"))
            name = known.name_of(page)
            going = [told for told in known.observations() if told.name == name and told.text in wanted]
            self._forget(going, reason)
        return len({told.text for told in going})

    def unrelate(self, relations: Iterable[Relation], *, reason: str = "") -> int:
        """Forget relations. Returns how many existed."""
        wanted = set(relations)
        with self._gate.together():
            known = Everyone(self._folder, self._user)
            going = [(relation, told) for relation, told in known.relations() if relation in wanted]
            self._forget([told for _, told in going], reason)
        return len({relation for relation, _ in going})

    def _forget(self, going: Iterable[EntityStatement], reason: str) -> None:
        for name in dict.fromkeys(told.body["id"] for told in going):
            self._gate.forget(name, reason=reason, user=self._user, path="")

    def _naming(self, session: str, agent: str) -> Naming:
        return Naming(self._folder, self._gate, self._user, session=session, agent=agent)


def _must_know(names: Names, name: str) -> None:
    if names.find(name) is None:
        raise NotFound(f"Entity with name {_line(name)} not found; create it first")


def _line(name: str) -> str:
    """A name in a message: on one line, and not too long."""
    shown = name if name.isprintable() else ascii(name)[1:-1]
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
