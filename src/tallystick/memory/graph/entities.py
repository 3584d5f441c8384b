"""`m.entities`: entities by the names that other programs gave them, with observations and relations.

    "John Smith", a person      person-john-smith       its page, and its node in the graph
    "john-smith", a person      person-john-smith-2     two names are two entities

A name is kept as it was given. It is a belief of the kind `entity`; an observation is a belief about the entity's page;
a relation of two, a belief with both names in its triple. So all of it is recalled, on pages, and revised, forgotten,
reviewed and erased like everything else. A call is one write: all of it is recorded, or nothing.

A page without such a name goes by its own (`person-ana`). A name that is given later ("Ana", a person) means that page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from tallystick.decide.entities import entities_called
from tallystick.decide.trust import is_outranked
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.trust.filtered_calls import answering
from tallystick.memory.trust.sources import is_shown
from tallystick.projections.markdown.names import file_of
from tallystick.records.belief import texts
from tallystick.records.entity import (
    LONGEST,
    Known,
    NamedEntity,
    Relation,
    is_name,
    kind_of,
    must_say_something,
    name_key,
    page_of,
    spoken,
    thing_key,
)
from tallystick.records.errors import NotFound
from tallystick.records.page import NOTES
from tallystick.state.beliefs import CurrentVersion
from tallystick.stores.open_ledger import OpenLedger

Pair = tuple[CurrentVersion, dict[str, Any]]  # a belief and its content

ENTITY, RELATION = "entity", "relation"  # kinds of beliefs

_OF_ALL = ("trust", "session", "agent")  # what is true of all that is said at once
_FEW = 20  # pages that are looked at one by one
_SHOWN = 200  # characters of a name in a message
_WORDS = {
    "person": "people human individual man woman child contact friend colleague coworker teammate family relative",
    "org": "organization organisation company corporation business team group institution employer vendor customer",
    "project": "product initiative",
    "tool": "software program application app service library framework package technology language database",
    "event": "meeting incident appointment",
    "user": "me self",
    "topic": "",
}
_PREFIX = {word: prefix for prefix, words in _WORDS.items() for word in (prefix, *words.split())}


class EntityStatement(NamedTuple):
    """A belief about an entity."""

    held: CurrentVersion
    body: dict[str, Any]
    name: str  # the entity's

    @property
    def text(self) -> str:
        return str(self.body.get("text", ""))

    @property
    def is_entity(self) -> bool:
        return entity_in(self.body) is not None

    @property
    def is_relation(self) -> bool:
        """Whether it was stated as a relation, and nothing else."""
        return self.body.get("kind") == RELATION and bool(self.body.get("triple"))


def entity_in(body: dict[str, Any]) -> dict[str, str] | None:
    """The name and kind that a belief gives to an entity, if it does."""
    found = body.get("data", {}).get(ENTITY) if body.get("kind") == ENTITY else None
    if not isinstance(found, dict) or not is_name(found.get("name")) or not body.get("about"):
        return None
    kind = found.get("kind")
    return {"name": found["name"], "kind": kind if isinstance(kind, str) and len(kind) <= LONGEST else ""}


class Names:
    """The entities by name, and the texts on their pages. The caller has the ledger's turn.

    Names are read at once, pages when they are asked for: a few one by one, many all together. A name that needs
    approval is taken nonetheless, but not from a program of more `trust` than its source has.
    """

    def __init__(self, folder: OpenLedger, user: str, trust: str = "web") -> None:
        self._state, self._user, self._now, self._trust = folder.state, user, folder.ledger.now(), trust
        self._pages: dict[str, str] = {}  # by name
        self._names: dict[str, str] = {}  # by page, of those that somebody named
        self._numbers: dict[str, int] = {}  # the last that was given to a page of those letters
        self._unread: dict[str, str] = {}  # of these, names that nobody is shown
        self.kinds: dict[str, str] = {}  # by name
        self._said: dict[str, set[str] | None] = {}  # by page: the texts that may be shown; None: there is nothing
        self._is_whole = False  # whether that is all there is
        named = self._state.query(user=user, kind=ENTITY)
        for held in sorted(named, key=lambda each: each.seq):  # what was moved here comes after what was stated here
            body = held.body()
            found, page = entity_in(body), _page(body)
            if is_outranked(self._state, held, trust):
                continue
            if not found or found["name"] in self._pages:
                continue
            if page in self._names:  # the name of another that is part of it now
                self._pages[found["name"]] = page
                continue
            self.take(found["name"], found["kind"], page)  # who named it first, named it
            if not is_shown(self._state, held, body, self._now):
                self._unread[page] = found["name"]

    def take(self, name: str, kind: str, page: str) -> None:
        self._pages[name], self._names[page], self.kinds[name] = page, name, kind

    def name_of(self, page: str) -> str:
        """The name of a page's entity: its visible name, else the page's own, else that of its file."""
        named = "" if page in self._unread else self._names.get(page)
        return named or (page if is_name(page) else file_of(page).removesuffix(".md"))

    def kind_of(self, name: str) -> str:
        return self.kinds[name] if name in self.kinds else kind_of(self._pages.get(name, name))

    def find(self, name: str) -> str | None:
        """The page of the entity of a name, or the page of that name; None if there is none."""
        return self._pages.get(name) or (name if self._is_used(name) else None)

    def page_for(self, name: str, kind: str) -> str:
        """The page for a new name: one that no other name has."""
        page = called = _called(name, kind)
        while page == NOTES or page in self._names or (page != called and self._is_used(page)):
            self._numbers[called] = self._numbers.get(called, 1) + 1
            page = f"{called}-{self._numbers[called]}"
        return page

    def texts_on(self, page: str) -> set[str]:
        """The visible texts about a page. A caller that states another adds it."""
        found = self._look(page)
        if found is None:
            found = self._said[page] = set()
        return found

    def _is_used(self, page: str) -> bool:
        return page in self._names or self._look(page) is not None

    def _look(self, page: str) -> set[str] | None:
        if page not in self._said and not self._is_whole:
            if page == NOTES or len(self._said) >= _FEW:
                pages: dict[str, list[Pair]] = {}
                for pair in self._all():
                    pages.setdefault(_page(pair[1]), []).append(pair)
                for about in pages.keys() - self._said.keys():
                    self._said[about] = self._shown_texts(pages[about])
                self._is_whole = True
            else:
                mark = b'"about":' + orjson.dumps(page)  # a text that holds this has its quotes escaped
                held = self._state.query(user=self._user, where=lambda each: mark in each.line)
                found = [pair for pair in self._with_words(held) if _page(pair[1]) == page]
                self._said[page] = self._shown_texts(found) if found else None
        return self._said.get(page)

    def _all(self) -> list[Pair]:
        """All beliefs with something about an entity, oldest first."""
        return self._with_words(self._state.query(user=self._user))

    def _with_words(self, held: Iterable[CurrentVersion]) -> list[Pair]:
        pairs = ((each, each.body()) for each in held if not is_outranked(self._state, each, self._trust))
        return [(each, body) for each, body in pairs if body.get("text") or body.get("triple") or entity_in(body)]

    def _shown_texts(self, pairs: Iterable[Pair]) -> set[str]:
        return {body.get("text", "") for each, body in pairs if is_shown(self._state, each, body, self._now)}


class Everyone(Names):
    """The same, with all visible statements: `statements`, oldest first."""

    def __init__(self, folder: OpenLedger, user: str) -> None:
        super().__init__(folder, user)
        pairs = self._all()
        shown = [(each, body) for each, body in pairs if is_shown(self._state, each, body, self._now)]
        self.statements = [EntityStatement(each, body, self.name_of(_page(body))) for each, body in shown]
        self._said = {_page(body): set() for _, body in pairs}
        self._is_whole = True

    def entities(self) -> Iterator[NamedEntity]:
        """All entities, in the order in which they became known."""
        observed: dict[str, dict[str, None]] = {each.name: {} for each in self.statements}
        for each in self.observations():
            observed[each.name][each.text] = None
        for name, noted in observed.items():
            yield NamedEntity(name, self.kind_of(name), tuple(noted))

    def observations(self) -> Iterator[EntityStatement]:
        """The statements in words that are not shown as relations."""
        related = {each.held.ref for _, each in self.relations() if each.is_relation}
        for each in self.statements:
            if each.text.strip() and not each.is_entity and each.held.ref not in related:
                yield each

    def relations(self) -> Iterator[tuple[Relation, EntityStatement]]:
        """The relations of two known entities, and the belief of each."""
        known = dict.fromkeys(each.name for each in self.statements)
        spelled = {key: name for name in reversed(list(known)) for key in self._spellings(name)}
        for each in self.statements:
            if triple := each.body.get("triple"):
                source = triple[0] if triple[0] in known else each.name
                target = triple[2] if triple[2] in known else spelled.get(thing_key(triple[2]), "")
                if target and is_name(triple[1]):
                    yield Relation(source, triple[1], target), each

    def _spellings(self, name: str) -> set[str]:
        page = self._pages.get(name, name)
        return {key for each in (name, page, spoken(page)) if (key := thing_key(each))}


class Naming:
    """States entities, observations and relations, each once.

    To be made and used inside one batch. `said` are fields of every belief, such as its session.
    """

    def __init__(self, folder: OpenLedger, gate: WriteGate, user: str, **said: Any) -> None:
        self._state, self._now, self._user = folder.state, folder.ledger.now(), user
        self._gate, self._said = gate, {"user": user, "path": "", "trust": None, **said}
        self.names = Names(folder, user, gate.trust)

    def entity(self, name: str, kind: str = "", **fields: Any) -> bool:
        """State an entity; False, if its name is known."""
        NamedEntity(name, kind)
        if self.names.find(name) is not None:
            return False
        page = self.names.page_for(name, kind)
        self._put(
            text=_is_a(name, kind), about=page, kind=ENTITY, key=f"{ENTITY}:{name}",
            data={ENTITY: {"name": name, "kind": kind}}, **fields,
        )  # fmt: skip
        self.names.take(name, kind, page)
        return True

    def kept(self, text: str) -> str:
        """An observation as it is stored: without secrets. Refused, if it is empty."""
        must_say_something(text)
        return self._gate.masks.words(text)

    def observation(self, name: str, text: str, **fields: Any) -> bool:
        """State an observation of an entity, which is made known if need be; False, if it is known."""
        text = self.kept(text)
        self._comes_up(name, fields)
        page = self.names.find(name) or NOTES
        noted = self.names.texts_on(page)
        if text in noted:
            return False
        self._put(text=text, about="" if page == NOTES else page, **fields)
        noted.add(text)
        return True

    def relation(self, relation: Relation, **fields: Any) -> bool:
        """State a relation of two entities, which are made known if need be; False, if it is known."""
        if self._is_related(relation):
            return False
        for name in (relation.source, relation.target):
            self._comes_up(name, fields)
        page = self.names.find(relation.source) or NOTES
        about = "" if page == NOTES else page
        text = f"{relation.source} {relation.kind.replace('_', ' ').replace('-', ' ')} {relation.target}"
        self._put(text=text, about=about, kind=RELATION, triple=relation.triple, **fields)
        return True

    def _is_related(self, relation: Relation) -> bool:
        pairs = ((held, held.body()) for held in self._state.facts(self._user, relation.source))
        return any(
            tuple(body["triple"]) == relation.triple and held.status == "active" and not held.path
            and is_shown(self._state, held, body, self._now)
            for held, body in pairs if body.get("triple")
        )  # fmt: skip

    def _comes_up(self, name: str, fields: dict[str, Any]) -> None:
        """Make a name known, with the source of these fields."""
        self.entity(name, **{each: fields[each] for each in _OF_ALL if each in fields})

    def _put(self, **fields: Any) -> None:
        self._gate.put({**self._said, **fields}, "")


def _page(body: dict[str, Any]) -> str:
    return body.get("about") or NOTES


def _called(name: str, kind: str) -> str:
    """The page of a name, if no other name has the same letters."""
    words = name_key(kind).split()
    prefix = next((_PREFIX[word] for word in reversed(words) if word in _PREFIX), "topic")
    return page_of(prefix, name)


def _is_a(name: str, kind: str) -> str:
    """The text of a naming; empty, if it has no kind."""
    what = kind.replace("_", " ").strip()
    article = "an" if what[:1].casefold() in set("aeio") else "a"
    return f"{name} is {article} {what}" if what else ""


@answering
class EntityStore:
    """The entities of one user."""

    def __init__(self, folder: OpenLedger, gate: WriteGate, user: str) -> None:
        self._folder, self._gate, self._user = folder, gate, user

    def all(self) -> Known:
        """All visible entities, with their observations and relations."""
        with self._folder.known():
            names = Everyone(self._folder, self._user)
        return Known(list(names.entities()), list(dict.fromkeys(relation for relation, _ in names.relations())))

    def called(self, name: str) -> list[str]:
        """The pages of the entities that a name may mean: other names and the first names of people count."""
        with self._folder.ledger.reading():
            return entities_called(self._folder.state, name, self._user, "")

    def names_of(self, ids: Iterable[str]) -> list[str]:
        """The names of the entities that beliefs are about, in the order of the beliefs' ids."""
        with self._folder.known():
            about = {each.body["id"]: each.name for each in Everyone(self._folder, self._user).statements}
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
            leading = [each for relation, each in known.relations() if {relation.source, relation.target} & gone.keys()]
            self._forget([*(each for each in known.statements if each.name in gone), *leading], reason)
        return list(gone.values())

    def take_back(self, name: str, observations: Iterable[str], *, reason: str = "") -> int | None:
        """Forget observations of an entity. Returns how many; None, if there is no such entity."""
        with self._gate.together():
            known = Everyone(self._folder, self._user)
            if (page := known.find(name)) is None:
                return None
            wanted = set(texts(observations, "observations"))
            name = known.name_of(page)
            going = [each for each in known.observations() if each.name == name and each.text in wanted]
            self._forget(going, reason)
        return len({each.text for each in going})

    def unrelate(self, relations: Iterable[Relation], *, reason: str = "") -> int:
        """Forget relations. Returns how many existed."""
        wanted = set(relations)
        with self._gate.together():
            known = Everyone(self._folder, self._user)
            going = [(relation, each) for relation, each in known.relations() if relation in wanted]
            self._forget([each for _, each in going], reason)
        return len({relation for relation, _ in going})

    def _forget(self, going: Iterable[EntityStatement], reason: str) -> None:
        for name in dict.fromkeys(each.body["id"] for each in going):
            self._gate.forget(name, reason=reason, user=self._user, path="")

    def _naming(self, session: str, agent: str) -> Naming:
        return Naming(self._folder, self._gate, self._user, session=session, agent=agent)


def _must_know(names: Names, name: str) -> None:
    if names.find(name) is None:
        shown = name if name.isprintable() else ascii(name)[1:-1]
        shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
        raise NotFound(f"Entity with name {shown} not found; create it first")
