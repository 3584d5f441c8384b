"""Taking in a file that `export` wrote: all of it or nothing, and a second time changes nothing.

A file is untrusted. Only a person's program takes one in, and only for the user that the file names. Each event is
looked at whole before it is written; one that is not what its kind should be, that speaks of another user, or that this
program does not know, refuses the file.

It is the word of another memory, whatever it says of itself: a ledger's name stands in every export, so it proves
nothing. That memory is a source of its own here, and what it says is quarantined, unless the person says that the file
is theirs (`mine`). What this memory recorded itself is known again by its ids, and passed over.

Where a file is the person's own and nothing of that user's is here yet, everything in it is recorded again: what was
approved there is approved here, since it can approve nothing but itself. Else only what was said and what happened is
joined to what is here, each belief under ids that are free; no approval, no trust, no rule and no question comes in,
and nothing here is changed.

The ledger proves that the file was taken in, when and by whom. What happened in the other memory is that file's word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from tallystick.decide import episodes as decide_episode
from tallystick.exchange import ndjson as ndjson, ndjson_events as events
from tallystick.exchange.ndjson import Line, Reader
from tallystick.ledger.format import HOUSEKEEPING
from tallystick.memory.core.masking import Cleared
from tallystick.memory.exchange.export_reader import ExportReader
from tallystick.memory.settings import place_of
from tallystick.records.belief import Belief
from tallystick.records.clock import parse_moment
from tallystick.records.episode import Episode
from tallystick.records.errors import NeedsApproval, NotFound, Refused
from tallystick.records.event import Draft, Event
from tallystick.records.operations import (
    BELIEF_INVALIDATE,
    BELIEF_PUT,
    BELIEF_SUPERSEDE,
    BELIEF_TOMBSTONE,
    EPISODE_FADE,
    EPISODE_PUT,
    EPISODE_RETRACT,
    IMPORT_DONE,
    IMPORT_TAKE,
    PAGE_COMPACT,
    PAGE_PUT,
    PAGE_RENAME,
    PATH_ABANDON,
    PATH_BRANCH,
    PATH_COMPACT,
    PATH_MERGE,
    PATH_REOPEN,
    RELATION_PUT,
)
from tallystick.records.policy import ALLOW, lower
from tallystick.records.transfer import FOREIGN, TakenIn
from tallystick.state.episodes import gist_of


class _NotReally(Exception):
    """Takes back a dry run."""


def import_lines(taking: ExportReader, lines: Iterator[bytes], *, dry_run: bool = False) -> TakenIn:
    """Take in the lines of a file, in the way that what is here allows; in a dry run, say only what would come in."""
    trust = taking.gate.trust
    taking.gate.must("memory", "import", user=taking.user)
    reader = Reader(lines)
    whose = reader.header.user
    if whose != taking.user:
        raise Refused(
            f"this is the memory of {whose!r:.60}, and not of {taking.user!r:.60}; use --user", "mismatch"
        )
    if taking.mine and not taking.gate.is_free(trust):
        raise Refused(
            "the policy requires approval for human statements; an import has none: leave out --mine", "permission"
        )
    taking.speak_for(reader.header.ledger)
    with suppress(_NotReally), taking.speaker.batch():
        is_nobodys, is_new = _look(taking)
        if not reader.header.history or _is_judged(taking):  # statement by statement, through the gate
            done = SnapshotImporter(taking).run(reader)
        elif taking.mine and is_new:
            done = _whole(taking, reader, is_first=is_nobodys)
        else:
            done = ExportMerger(taking).run(reader)
        if dry_run:
            raise _NotReally
    return done


def _is_judged(taking: ExportReader) -> bool:
    """Whether the policy may say of what that source states anything but that it is quarantined, or heard."""
    policy, trust = taking.speaker.policy, taking.speaker.trust
    if trust not in policy.quarantined:
        return not taking.mine
    return any(rule.then != ALLOW and rule.may_meet(trust, taking.source) for rule in policy.rules)


def _look(taking: ExportReader) -> tuple[bool, bool]:
    """Whether nobody has said anything here yet; and whether this user has not."""
    folder, is_nobodys = taking.folder, True
    if folder.ledger.chain().first or folder.ledger.standing.erasures:
        return False, False  # what is not here any more may be in the file
    for event in folder.events():
        is_nobodys = is_nobodys and event.op in HOUSEKEEPING
        if folder.owner(event) == taking.user:
            return False, False
    return is_nobodys, True


def _whole(taking: ExportReader, reader: Reader, *, is_first: bool) -> TakenIn:
    """All of it, as it was recorded. Where others are here too, what is the memory's own stays as they have it."""
    began = taking.begin(reader, is_first=is_first)
    numbers, beliefs, episodes = ndjson.Numbers(began), 0, 0
    for number, event in taking.events(reader):
        if event.op in events.OF_ALL and not is_first:
            continue
        with taking.at(number):
            _must_be_free(taking, event)
            body = ndjson.renumbered(event.op, event.body or {}, numbers.place, numbers.from_place)
            numbers.add(taking.record(event, body).seq)
        beliefs += event.op == BELIEF_PUT
        episodes += event.op == EPISODE_PUT
    taking.end(numbers.count)
    return TakenIn(user=taking.user, is_whole=True, events=numbers.count, beliefs=beliefs, episodes=episodes)


def _must_be_free(taking: ExportReader, event: Event) -> None:
    """Refused, if an event names anything of somebody else's who is here too."""
    state = taking.state
    for text in events.texts_in(event.body):
        asked = state.reviews.find(text) if text in state.reviews else None
        owners = (state.owner(text), state.episodes.owner(text), asked.action.user if asked else None)
        if any(owner not in (None, taking.user) for owner in owners):
            raise Refused(f"it names {text!r:.60}, which belongs to another user here", "mismatch")


@contextmanager
def opened(file: str | Path | IO[bytes]) -> Iterator[Iterator[bytes]]:
    """The lines of a file, none longer than it may be."""
    if not isinstance(file, str | Path):
        yield _lines(file)
        return
    with _open(place_of(file)) as found:
        yield _lines(found)


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise NotFound(f"no file {path}") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "that is no name of a file"
        raise Refused(f"{str(path)!r} cannot be read: {why}", "file") from None


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(ndjson.LONGEST + 1):
        yield line


# -- an export that is taken in by what it says is there, and not by how that came to be -------------------------------


BRANCHED = "it was said on a branch of that memory; its main line alone comes in"
_BELIEF = frozenset(Belief.__dataclass_fields__) - {"seq", "at", "answer", "withheld"}
_EPISODE = frozenset(Episode.__dataclass_fields__) - {"seq", "recorded", "source", "withheld"}
_THERE = ("reason", "weakened")  # what a version says of the one before it


class SnapshotImporter:
    """One file, record by record."""

    def __init__(self, taking: ExportReader) -> None:
        self._taking, self._state, self._user = taking, taking.state, taking.user
        self._counts = {"belief": 0, "episode": 0, "known": 0, "events": 0, "quarantined": 0}
        self._kept: list[tuple[str, str]] = []
        self._left: list[tuple[str, str]] = []

    def run(self, reader: Reader) -> TakenIn:
        acts = {"belief": self._belief, "episode": self._episode}
        for line in reader:
            if line.kind in acts:
                with self._taking.at(line.number):
                    self._must_be_theirs(line)
                    acts[line.kind](line.told)
        counts = self._counts
        return TakenIn(
            user=self._user, is_whole=False, events=counts["events"], beliefs=counts["belief"],
            episodes=counts["episode"], known=counts["known"], source=self._taking.source,
            quarantined=counts["quarantined"], kept=tuple(self._kept), left=tuple(self._left),
        )  # fmt: skip

    def _must_be_theirs(self, line: Line) -> None:
        if line.told.get("user") != self._user:
            raise Refused("it belongs to another user than the file", "mismatch")

    def _belief(self, told: dict[str, Any]) -> None:
        belief = Belief.from_body({name: value for name, value in told.items() if name in _BELIEF})
        if self._state.taken(belief.id):
            self._counts["known"] += 1
            return
        if not belief.is_held or not belief.text:
            self._left.append((belief.key, "it is not held any more" if belief.text else "it has no words"))
            return
        if belief.path and not self._taking.mine:
            self._left.append((belief.id, BRANCHED))
            return
        if not self._state.is_open(self._user, belief.path):
            self._left.append((belief.key, f"its path {belief.path!r:.60} has ended here"))
            return
        fields = {name: getattr(belief, name) for name in _BELIEF if name not in _THERE}
        fields["trust"] = self._trust(belief.trust)
        fields["rests_on"] = tuple(name for name in belief.rests_on if self._state.owner(name) == self._user)
        if not self._taking.mine:
            fields["key"] = belief.id
        elif self._state.find(belief.key, user=self._user, path=belief.path, short=False):
            self._kept.append((belief.key, f"names another belief here; it came in as {belief.id}"))
            fields["key"] = belief.id
        try:
            self._took("belief", self._taking.speaker.put(self._taking.with_secrets(fields), ""))
        except NeedsApproval:
            raise
        except Refused as error:  # it was let in there, and is not here: too long with its trust, say
            self._left.append((belief.key, str(error)))

    def _episode(self, told: dict[str, Any]) -> None:
        fields = {name: value for name, value in told.items() if name in _EPISODE}
        happened = parse_moment(fields.pop("timestamp"))
        episode = Episode.of(Event(0, "", "", "", "", "", {"episode": {**fields, "timestamp": happened}}))
        episode = self._taking.masked(episode, trust=self._trust(episode.trust))
        if told.get("retracted") or told.get("faded"):
            self._left.append((episode.id, "it was taken back, or had faded"))
        elif episode.path and not self._taking.mine:
            self._left.append((episode.id, BRANCHED))
        elif not self._state.is_open(self._user, episode.path):
            self._left.append((episode.id, f"its path {episode.path!r:.60} has ended here"))
        else:
            known = self._state.episodes
            write = self._taking.folder.ledger.write
            events = write(lambda: Cleared(decide_episode.put(known, episode)), by=self._taking.source)
            self._took("episode", events)

    def _took(self, kind: str, events: list[Event]) -> None:
        self._counts[kind if events else "known"] += 1
        self._counts["events"] += len(events)
        said = ((event.body or {}).get(kind, {}).get("trust", "human") for event in events)
        self._counts["quarantined"] += any(trust in self._taking.speaker.policy.quarantined for trust in said)

    def _trust(self, said: str) -> str:
        """As it was there; but no more than the other memory's, unless it is the person's own."""
        return lower((said, self._taking.speaker.trust))


# -- an export joined to a memory that has something of that user's already --------------------------------------------


_WHY = {
    "graph": "what was saved in the graph: `tallystick export --format graph` there, `tallystick graph import` here",
    "path": "paths of that name are here",
    "page": "pages of that name are here, and described",
}
_FOREIGN_WHY = {
    "path": "the branches of another's memory stay there",
    "page": "what another's memory says of its pages stays there",
}
_STAYS = "they speak for the memory that they were said in"


class ExportMerger:
    """One file that is being joined."""

    def __init__(self, taking: ExportReader) -> None:
        self._taking, self._state, self._user = taking, taking.state, taking.user
        self._mine = set[str]()  # ids of versions and episodes that came in with this file
        self._paths = set[str]()  # paths that did
        self._related = set[tuple[str, frozenset[str]]]()  # pairs whose relation did, by path
        self._keys: dict[str, str] = {}  # a key there → the key here, where it is another
        self._kept: list[tuple[str, str]] = []
        self._left: list[tuple[str, str]] = []
        self._stayed = Counter[str]()
        self._told = Counter[str]()

    def run(self, reader: Reader) -> TakenIn:
        count, seen = 0, self._taking.seen(reader)
        for number, event in self._taking.events(reader):
            with self._taking.at(number):
                recorded = self._taking.joined_at or event.ts
                is_known = event.op in _SEEN_ONCE and (not self._taking.mine or recorded <= seen)
                act = None if is_known else _ACTS.get(event.op)
                body = act(self, event, dict(event.body or {})) if act else None
                if act is None and event.op not in (IMPORT_TAKE, IMPORT_DONE):
                    self._stays(event)
                if body is not None:
                    if not count:
                        self._taking.begin(reader)
                    count += 1
                    asked = self._asked(event, body)
                    self._taking.record(event, body, *asked, source=self._taking.source)
        if count:
            self._taking.end(count)
        why = _WHY if self._taking.mine else {**_WHY, **_FOREIGN_WHY}
        left = [(family, f"{number} left out: {why.get(family, _STAYS)}") for family, number in self._stayed.items()]
        return TakenIn(
            user=self._user, is_whole=False, events=count, beliefs=self._told["belief"],
            episodes=self._told["episode"], known=self._told["known"], source=self._taking.source,
            quarantined=self._told["quarantined"], kept=tuple(self._kept), left=(*self._left, *left),
        )  # fmt: skip

    def _stays(self, event: Event) -> None:
        self._stayed[event.op.partition(".")[0]] += 1

    def _asked(self, event: Event, body: dict[str, Any]) -> list[Draft]:
        """The question whether to trust what a tool or a web page had said there."""
        speaker, draft = self._taking.speaker, Draft(event.op, body)
        if "belief" not in body or body["belief"].get("trust", "human") not in speaker.policy.quarantined:
            return []
        asked = speaker.kept_out([draft], self._taking.folder.draw())
        body.update(draft.body)
        return asked

    def _comes_in(self, said: dict[str, Any]) -> bool:
        """Give a belief or an episode the trust that it has here; False, if it stays there."""
        if not self._taking.mine:
            said["trust"] = FOREIGN
            if said.get("path"):
                self._stayed["path"] += 1
                return False
        return True

    def _count(self, what: str, said: dict[str, Any]) -> None:
        self._told[what] += 1
        self._told["quarantined"] += said.get("trust", "human") in self._taking.speaker.policy.quarantined

    # -- beliefs -----------------------------------------------------------------------------------------------------

    def _put_belief(self, _: Event, body: dict[str, Any]) -> dict[str, Any] | None:
        belief = dict(body["belief"])
        name, path = belief["id"], belief.get("path", "")
        if not self._taking.mine:
            body.pop("merged", None)  # the branch that it was merged from stays there
        before = [*body.get("replaces", ()), *body.get("over", ()), *body.get("merged", ())]
        if self._state.pages.is_erased(name):
            self._left.append((name, "its words were erased here"))
            return None
        if self._state.taken(name):
            self._told["known"] += not before
            self._compare(name, belief)
            return None
        if not self._comes_in(belief):
            return None
        if any(each not in self._mine for each in before):
            self._left.append((name, "a version of what is here already, which stays as it is"))
            return None
        if not self._state.is_open(self._user, path):
            self._left.append((name, f"its path {path!r:.60} has ended here"))
            return None
        self._see(path)
        self._mine.add(name)
        if not before:
            self._count("belief", belief)
        belief["key"] = self._key(belief, path)
        if here := [each for each in belief.pop("rests_on", ()) if self._is_here(each)]:
            belief["rests_on"] = here  # what was erased there, or stays there, is no ground here
        names = ("approved", "idempotency_key", "echo")
        return {**{each: said for each, said in body.items() if each not in names}, "belief": belief}

    def _is_here(self, name: str) -> bool:
        return name in self._mine or self._user in (self._state.owner(name), self._state.episodes.owner(name))

    def _key(self, belief: dict[str, Any], path: str) -> str:
        """The key under which it comes in. One that was changed is changed on every path: it is one belief's."""
        key, name = belief["key"], belief["id"]
        if not self._taking.mine:
            return self._keys.setdefault(key, name)
        if key not in self._keys:
            other = self._state.find(key, user=self._user, path=path, short=False)
            if other is None or other.ref in self._mine:
                return str(key)
            self._keys[key] = name
            self._kept.append((key, f"names another belief here; it came in as {name}"))
        return self._keys[key]

    def _compare(self, name: str, belief: dict[str, Any]) -> None:
        """Say so, if what is here under that id has other words."""
        held = self._state.version(name)
        if held is not None and held.user != self._user:
            self._left.append((name, "another user has something of that id here"))
        elif held is not None and held.body()["id"] == name and held.body().get("text") != belief.get("text"):
            self._left.append((name, "it is here with other words, which stay"))

    def _withdraw(self, _: Event, body: dict[str, Any]) -> dict[str, Any] | None:
        return self._without_reason(body) if body["id"] in self._mine else None

    def _without_reason(self, body: dict[str, Any]) -> dict[str, Any]:
        return body if self._taking.mine else {name: said for name, said in body.items() if name != "reason"}

    # -- what happened -----------------------------------------------------------------------------------------------

    def _observe(self, event: Event, body: dict[str, Any]) -> dict[str, Any] | None:
        episode = dict(body["episode"])
        name, path = episode.get("id", event.id), episode.get("path", "")
        if self._state.episodes.owner(event.id) == self._user:
            self._told["known"] += 1
            return None
        if self._state.pages.is_erased(event.id):
            self._left.append((name, "its words were erased here"))
            return None
        if not self._comes_in(episode):
            return None
        scope = (episode.get("session", ""), episode.get("agent", ""))
        same = [told for told in self._state.episodes.find(self._user, name) if (told.session, told.agent) == scope]
        if same:
            self._told["known"] += same[0].gist == gist_of(episode)
            if same[0].gist != gist_of(episode):
                self._left.append((name, "it was told here otherwise, and what happened stays"))
            return None
        if not self._state.is_open(self._user, path):
            self._left.append((name, f"its path {path!r:.60} has ended here"))
            return None
        self._see(path)
        self._mine.add(event.id)
        self._count("episode", episode)
        return {"episode": episode}

    def _of_ids(self, _: Event, body: dict[str, Any]) -> dict[str, Any] | None:
        ids = [name for name in body["ids"] if name in self._mine]
        return {**self._without_reason(body), "ids": ids} if ids else None

    def _relate(self, event: Event, body: dict[str, Any]) -> dict[str, Any] | None:
        """How two memories are related that are both here now, unless that was said here."""
        path, ids = body.get("path", ""), frozenset(body["ids"])
        is_told = (path, ids) in self._related
        is_there = self._taking.mine and (not path or path in self._paths) and all(map(self._is_here, ids))
        if not is_there or not (is_told or self._state.relations.find(self._user, path, *ids) is None):
            self._stays(event)
            return None
        self._related.add((path, ids))
        return body if is_told or body.get("relation") else None

    # -- paths and pages ---------------------------------------------------------------------------------------------

    def _see(self, path: str) -> None:
        if path and not self._state.paths.is_known(self._user, path):
            self._paths.add(path)

    def _branch(self, event: Event, body: dict[str, Any]) -> dict[str, Any] | None:
        if self._state.paths.is_known(self._user, body["path"]) and body["path"] not in self._paths:
            self._stays(event)
            return None
        self._paths.add(body["path"])
        return body

    def _end_path(self, event: Event, body: dict[str, Any]) -> dict[str, Any] | None:
        into, summary = body.get("into", ""), body.get("summary", "")
        if body["path"] not in self._paths or (into and into not in self._paths) or summary not in ("", *self._mine):
            self._stays(event)
            return None
        if "brought" in body:
            body["brought"] = [pair for pair in body["brought"] if self._mine.issuperset(pair)]
        return body

    def _page(self, event: Event, body: dict[str, Any]) -> dict[str, Any] | None:
        if self._state.pages.front(self._user, body["about"]):
            self._stays(event)
            return None
        return body

    def _rename(self, event: Event, _: dict[str, Any]) -> dict[str, Any] | None:
        """What is held there is about the other entity already; a page that is here keeps its name."""
        self._stays(event)
        return None

    def _fold(self, event: Event, body: dict[str, Any]) -> dict[str, Any] | None:
        if not self._mine.issuperset([*body["into"], *body["into"].values()]):
            self._stays(event)
            return None
        return body


_SEEN_ONCE = (  # what has no id
    PATH_BRANCH, PATH_MERGE, PATH_ABANDON, PATH_COMPACT, PATH_REOPEN, PAGE_PUT, PAGE_COMPACT, PAGE_RENAME,
    RELATION_PUT,
)  # fmt: skip
_ACTS = {
    BELIEF_PUT: ExportMerger._put_belief, BELIEF_SUPERSEDE: ExportMerger._put_belief,
    BELIEF_TOMBSTONE: ExportMerger._withdraw, BELIEF_INVALIDATE: ExportMerger._withdraw,
    EPISODE_PUT: ExportMerger._observe, EPISODE_RETRACT: ExportMerger._of_ids, EPISODE_FADE: ExportMerger._of_ids,
    PATH_BRANCH: ExportMerger._branch,
    PATH_MERGE: ExportMerger._end_path,
    PATH_ABANDON: ExportMerger._end_path, PATH_COMPACT: ExportMerger._end_path, PATH_REOPEN: ExportMerger._end_path,
    PAGE_PUT: ExportMerger._page,
    PAGE_COMPACT: ExportMerger._fold,
    PAGE_RENAME: ExportMerger._rename, RELATION_PUT: ExportMerger._relate,
}  # fmt: skip
