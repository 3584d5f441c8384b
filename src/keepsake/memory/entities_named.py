"""The names that other programs give to whoever and whatever is remembered, and where what is said of them stands.

    "John Smith", a person      person-john-smith       its page, and its node in the graph
    "john-smith", a person      person-john-smith-2     two names are two entities

A name is kept as it was given. That somebody is known by it is a belief of the kind `entity`; what is observed of them,
a belief about their page; how two of them are related, a belief with both names in its triple. So all of it is
recalled, stands on pages, and is revised, forgotten, reviewed and erased like everything else.

What is remembered about a page that nobody named goes by the page's own name (`person-ana`). Whoever names it later
("Ana", a person) means that page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from keepsake.memory.gated import Gated
from keepsake.memory.shown import is_shown
from keepsake.records.beliefs import Held
from keepsake.records.entity import kind_of, name_key, spoken, thing_key
from keepsake.records.named import NamedEntity, Relation, must_say_something
from keepsake.records.pages import NOTES
from keepsake.stores.shelf import Shelf

ENTITY, RELATION = "entity", "relation"  # kinds of beliefs

_LONGEST = 60  # characters of a page's name that come from an entity's
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


class Told(NamedTuple):
    """A belief that says something of an entity."""

    held: Held
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
        """Whether it was stated as a relation, and says nothing else."""
        return self.body.get("kind") == RELATION and bool(self.body.get("triple"))


def entity_in(body: dict[str, Any]) -> dict[str, str] | None:
    """What a belief says of a name, if it is one of those that do."""
    found = body.get("data", {}).get(ENTITY) if body.get("kind") == ENTITY else None
    return found if isinstance(found, dict) and isinstance(found.get("name"), str) else None


class Names:
    """Who is known by which name: one look at all that a user holds. The caller has the ledger's turn.

    `told` is what may be shown of it; what waits for a yes takes its name nonetheless.
    """

    def __init__(self, shelf: Shelf, user: str) -> None:
        book, now = shelf.book, shelf.ledger.now()
        held = [(each, each.body()) for each in book.query(user=user)]
        said = [(each, body) for each, body in held if body.get("text") or body.get("triple")]
        self._pages: dict[str, str] = {}  # by name
        self._names: dict[str, str] = {}  # by page, of those that somebody named
        self._used = {_page(body) for _, body in said}
        self._numbers: dict[str, int] = {}  # the last that was given to a page of those letters
        self.kinds: dict[str, str] = {}  # by name
        for _, body in said:
            if found := entity_in(body):
                self.take(found["name"], str(found.get("kind", "")), _page(body))
        shown = [pair for pair in said if is_shown(book, *pair, now)]
        self.told = [Told(each, body, self.name_of(_page(body))) for each, body in shown]
        self._pages |= {self.name_of(page): page for page in self._used if self.name_of(page) not in self._pages}

    def take(self, name: str, kind: str, page: str) -> None:
        self._pages[name], self._names[page], self.kinds[name] = page, name, kind
        self._used.add(page)

    def name_of(self, page: str) -> str:
        return self._names.get(page, page)

    def kind_of(self, name: str) -> str:
        return self.kinds[name] if name in self.kinds else kind_of(self._pages.get(name, name))

    def find(self, name: str) -> str | None:
        """The page of what goes by a name, or the page of that name; None if there is none."""
        found = self._pages.get(name)
        return found or (name if name in self._used else None)

    def page_for(self, name: str, kind: str) -> str:
        """The page of a name that is not known yet: one that nobody else's name stands on."""
        page = called = _called(name, kind)
        while page == NOTES or page in (self._names if page == called else self._used):
            self._numbers[called] = self._numbers.get(called, 1) + 1
            page = f"{called}-{self._numbers[called]}"
        return page

    def entities(self) -> Iterator[NamedEntity]:
        """Everyone of whom something may be shown, in the order in which they became known."""
        observed: dict[str, dict[str, None]] = {}
        for told in self.told:
            noted = observed.setdefault(told.name, {})
            if told.text and not told.is_entity and not told.is_relation:
                noted[told.text] = None
        for name, noted in observed.items():
            yield NamedEntity(name, self.kind_of(name), tuple(noted))

    def relations(self) -> Iterator[tuple[Relation, Told]]:
        """What relates two of those that are known, and which belief says so."""
        known = {told.name for told in self.told}
        spelled = {key: name for name in reversed(list(known)) for key in self._spellings(name)}
        for told in self.told:
            if triple := told.body.get("triple"):
                source = triple[0] if triple[0] in known else told.name
                target = triple[2] if triple[2] in known else spelled.get(thing_key(triple[2]), "")
                if target and triple[1].strip():
                    yield Relation(source, triple[1], target), told

    def _spellings(self, name: str) -> set[str]:
        page = self._pages.get(name, name)
        return {key for each in (name, page, spoken(page)) if (key := thing_key(each))}


class Naming:
    """States who is known, what is observed of them and how they are related, each once.

    To be made and used inside one batch. `said` are fields that every belief gets, such as its session.
    """

    def __init__(self, shelf: Shelf, gated: Gated, user: str, **said: Any) -> None:
        self._gated, self._said = gated, {"user": user, "path": "", "trust": None, **said}
        self.names = Names(shelf, user)
        self._noted = {(_page(told.body), told.text) for told in self.names.told}
        self._related = {relation for relation, _ in self.names.relations()}

    def entity(self, name: str, kind: str = "", **fields: Any) -> bool:
        """Let somebody or something be known by a name; False, if it is."""
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
        """An observation as it is kept: without secrets. Refused, if it says nothing."""
        must_say_something(text)
        return self._gated.masks.words(text)

    def observation(self, name: str, text: str, **fields: Any) -> bool:
        """Note something of whoever goes by a name, which becomes known if need be; False, if it is noted already."""
        text = self.kept(text)
        self.entity(name)
        page = self.names.find(name) or NOTES
        if (page, text) in self._noted:
            return False
        self._put(text=text, about="" if page == NOTES else page, **fields)
        self._noted.add((page, text))
        return True

    def relation(self, relation: Relation, **fields: Any) -> bool:
        """Relate two of those that are known, or become so; False, if they are related like that already."""
        if relation in self._related:
            return False
        for name in (relation.source, relation.target):
            self.entity(name)
        page = self.names.find(relation.source) or NOTES
        about = "" if page == NOTES else page
        self._put(text=_sentence(relation), about=about, kind=RELATION, triple=relation.triple, **fields)
        self._related.add(relation)
        return True

    def _put(self, **fields: Any) -> None:
        self._gated.put({**self._said, **fields}, "")


def _page(body: dict[str, Any]) -> str:
    return body.get("about") or NOTES


def _called(name: str, kind: str) -> str:
    """The page on which a name would stand, were it the only one of its letters."""
    words = name_key(kind).split()
    prefix = next((_PREFIX[word] for word in reversed(words) if word in _PREFIX), "topic")
    slug = "-".join(name_key(name[: 4 * _LONGEST]).split()).removeprefix(f"{prefix}-")[:_LONGEST].strip("-")
    return f"{prefix}-{slug or name[:_LONGEST]}"


def _is_a(name: str, kind: str) -> str:
    what = kind.replace("_", " ").strip()
    article = "an" if what[:1].casefold() in set("aeio") else "a"
    return f"{name} is {article} {what}" if what else name


def _sentence(relation: Relation) -> str:
    return f"{relation.source} {relation.kind.replace('_', ' ').replace('-', ' ')} {relation.target}"
