"""Importing a file that `export` wrote: all of it or nothing, and a second time changes nothing.

A file is untrusted. Only a person's program imports one, and only for the user that the file names. Each event is
checked whole before it is written; one that is not what its kind should be, that names another user, that this program
does not know, or that does not fit the state, refuses the file.

It is the word of another memory, whatever it says of itself: a ledger's name stands in every export, so it proves
nothing. That memory is a source of its own here, and what it says is quarantined, unless the person says that the file
is theirs (`mine`). What this memory recorded itself is recognised by its ids, and skipped.

Where a file is the person's own and nothing of that user's is here yet, everything in it is recorded again: what was
approved there is approved here, since it can approve nothing but itself. Else only beliefs and episodes are merged into
what is here, each belief under ids that are free; no approval, no trust, no rule and no review comes in, and nothing
here is changed.

The ledger proves that the file was imported, when and by whom. What happened in the other memory is that file's word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from tallystick.consolidate.cadence import Cadence
from tallystick.decide import episodes as decide_episode
from tallystick.exchange import ndjson as ndjson
from tallystick.exchange.ndjson import Reader, looks_like as looks_like
from tallystick.ledger.format import HOUSEKEEPING
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.core.masking import Cleared
from tallystick.memory.exchange.import_pages import PageRestorer
from tallystick.memory.exchange.importer import DryRun, ImportRun
from tallystick.memory.exchange.sources import Source
from tallystick.memory.services import Services
from tallystick.memory.settings import place_of
from tallystick.records import operations as ops
from tallystick.records.belief import Belief
from tallystick.records.clock import parse_moment
from tallystick.records.episode import Episode, checked
from tallystick.records.errors import NeedsApproval, NotFound, Refused
from tallystick.records.event import ELSEWHERE, UNDOES, Draft, Event
from tallystick.records.json import texts_in
from tallystick.records.policy import ALLOW, lower
from tallystick.records.schema import WRITER_TRUST
from tallystick.records.transfer import FOREIGN, TakenIn
from tallystick.state.episodes import gist_of
from tallystick.state.imports import source_of
from tallystick.stores.open_ledger import OpenLedger

_MISFITS = (LookupError, TypeError, ValueError, AttributeError)


def bring(import_run: ImportRun, source: Source) -> None:
    """Import one file of lines, as one of the files of an import."""
    export = ExportReader(import_run.folder, import_run.gate, import_run.user, mine=import_run.mine)
    with import_run.gate.masks.counted() as masked:
        done = import_lines(export, source.every_line(ndjson.LONGEST), dry_run=import_run.dry_run)
    report(import_run, done, source.name, masked)


def report(import_run: ImportRun, done: TakenIn, name: str, masked: Iterable[str] = ()) -> None:
    """Count what came in, and name what did not, or came in under another name."""
    for what in ("beliefs", "episodes", "known", "quarantined"):
        import_run.count(what, "human", getattr(done, what))
    import_run.count("beliefs", "human", 0, masked)
    import_run.note_source(done.source if done.quarantined else "")
    for place, why in (*done.kept, *done.left):
        import_run.skip(f"{name}, {place}", why)


def import_export(
    services: Services, user: str, file: str | Path | IO[bytes], *, mine: bool, keep_secrets: bool
) -> TakenIn:  # fmt: skip
    """Import a file by itself; one that was open already stays open. Of a folder, the pages."""
    checked(user=user)
    context = services.context
    file = place_of(file) if isinstance(file, str | Path) else file
    if isinstance(file, Path) and file.is_dir():
        context.gate.must("memory", "import", user=user)
        if not mine:
            raise Refused("a folder of pages is imported as your own: set mine=True, or use `import_from`", "conflict")
        return PageRestorer(services, user).run(file)
    opened: AbstractContextManager[IO[bytes]]
    try:
        opened = file.open("rb") if isinstance(file, Path) else nullcontext(file)
    except FileNotFoundError:
        raise NotFound(f"no file {file}") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a valid file name"
        raise Refused(f"{str(file)!r} cannot be read: {why}", "file") from None
    with opened as found:
        export = ExportReader(context.folder, context.gate, user, mine=mine, keep_secrets=keep_secrets)
        return import_lines(export, iter(partial(found.readline, ndjson.LONGEST + 1), b""))


class ExportReader:
    """One file that is being imported, for one user: its events, checked; and the counts of the import."""

    def __init__(
        self, folder: OpenLedger, gate: WriteGate, user: str, *, mine: bool = False, keep_secrets: bool = False
    ) -> None:  # fmt: skip
        self.folder, self.state, self.gate, self.user, self.mine = folder, folder.state, gate, user, mine
        self.speaker = gate  # the other memory as a source, once it is known whose file it is
        self.keep_secrets = keep_secrets and mine
        self.counts = Counter[str]()  # by the fields of `TakenIn`
        self.kept: list[tuple[str, str]] = []
        self.left: list[tuple[str, str]] = []
        self._ids = set[str]()  # of the events of the file
        self._pieces = ndjson.Pieces()
        self.joined_at = ""  # when the other memory imported the event that is being read from a third one

    @property
    def source(self) -> str:
        """The other memory, as a source."""
        return self.speaker.by

    def result(self, *, is_whole: bool = False) -> TakenIn:
        return TakenIn(
            user=self.user, is_whole=is_whole, source="" if is_whole else self.source, kept=tuple(self.kept),
            left=tuple(self.left), **self.counts,
        )  # fmt: skip

    def count(self, what: str, trusts: Iterable[str]) -> None:
        """Something of that trust came in."""
        self.counts[what] += 1
        self.counts["quarantined"] += any(trust in self.speaker.policy.quarantined for trust in trusts)

    def leave(self, name: str, why: str) -> None:
        self.left.append((name, why))

    def has_ended(self, path: str, name: str) -> bool:
        """Whether nothing more can be put on a path; then `name` is left out."""
        if self.state.is_open(self.user, path):
            return False
        self.leave(name, f"its path {path!r:.60} has ended here")
        return True

    def begin(self, reader: Reader, *, is_first: bool = False) -> int:
        """Record that a file is imported; return by which event."""
        header = reader.header
        body = {
            "user": self.user, "ledger": header.ledger[:64], "begun": header.begun, "made": header.made,
            "whole": is_first,
        }  # fmt: skip
        return self.folder.ledger.write(lambda: [Draft(ops.IMPORT_TAKE, body)])[0].seq

    def end(self, count: int) -> None:
        self.counts["events"] = count
        self.folder.ledger.write(lambda: [Draft(ops.IMPORT_DONE, {"user": self.user, "events": count})])

    def seen(self, reader: Reader) -> str:
        """Up to when all of that memory has been read here: always, of what was recorded here itself."""
        header = reader.header
        is_known = 0 <= header.through <= self.folder.ledger.head.seq
        if is_known and self.folder.ledger.hash_at(header.through) == header.head:
            return header.made
        return self.state.taken_in.through(self.user, header.ledger)

    def events(self, reader: Reader) -> Iterator[tuple[int, Event]]:
        """The events of the file, each with its line, as far as they are what they should be."""
        for number, kind, line in reader:
            if kind == ndjson.EVENT:
                event = Event(line["n"], line["ts"], line["op"], line["id"], line["by"], "", line["body"])
                with self.at(number):
                    ndjson.checked(event, self.user)
                    if event.op == ops.RULE_PUT:
                        Cadence.of(line["body"]["rule"].get("cadence", {}))
                    self._pieces.take(event)
                    if event.id in self._ids or self.state.episodes.owner(event.id) not in (None, self.user):
                        raise Refused(f"the id {event.id} is given twice, or belongs to another user here", "duplicate")
                    self._ids.add(event.id)
                    if event.op in (ops.IMPORT_TAKE, ops.IMPORT_DONE):  # the next events were imported there; or not
                        if bool(self.joined_at) is (event.op == ops.IMPORT_TAKE):
                            raise Refused("an import begins before the last one ended, or ends twice", "file")
                        self.joined_at = event.ts if event.op == ops.IMPORT_TAKE else ""
                yield number, event
        if self.joined_at:
            raise Refused(f"an event {ops.IMPORT_DONE} is missing; nothing was imported", "file")

    def record(self, event: Event, body: dict[str, Any], *more: Draft, source: str = "") -> Event:
        """Write one event as it was recorded elsewhere; `more` is said by this memory itself. `source` is the memory it
        comes from, unless this one continues that one."""
        origin = {"id": event.id, "ts": event.ts, "by": event.by} | ({"source": source} if source else {})
        if source:
            body = {**body, WRITER_TRUST: self.gate.trust if self.mine else FOREIGN}
        drafts = [Draft(event.op, {**body, ELSEWHERE: origin}), *more]
        return self.folder.ledger.write(lambda: Cleared(drafts) if self.keep_secrets else drafts)[0]

    @staticmethod
    @contextmanager
    def at(number: int) -> Iterator[None]:
        """Name the line in a refusal."""
        try:
            yield
        except Refused as error:
            raise Refused(f"line {number}: {error}; nothing was imported", error.code) from None
        except _MISFITS as error:
            raise Refused(
                f"line {number}: it does not fit here ({error!s:.80}); nothing was imported", "file"
            ) from None


def import_lines(export: ExportReader, lines: Iterator[bytes], *, dry_run: bool = False) -> TakenIn:
    """Import the lines of a file, in the way that what is here allows; in a dry run, only count."""
    export.gate.must("memory", "import", user=export.user)
    reader = Reader(lines)
    header = reader.header
    if header.user != export.user:
        raise Refused(f"this is the memory of {header.user!r:.60}, not of {export.user!r:.60}; use --user", "mismatch")
    if export.mine and not export.gate.is_free(export.gate.trust):
        raise Refused(
            "the policy requires approval for human statements; an import has none: leave out --mine", "permission"
        )
    export.speaker = export.gate.as_source(source_of(header.ledger), export.gate.trust if export.mine else FOREIGN)
    with suppress(DryRun), export.speaker.batch():
        is_nobodys, is_new = _look(export)
        by_record = not header.history or _is_judged(export)  # then through the gate, statement by statement
        is_whole = export.mine and is_new and not by_record
        if by_record:
            SnapshotImporter(export).run(reader)
        elif is_whole:
            _whole(export, reader, is_first=is_nobodys)
        else:
            ExportMerger(export).run(reader)
        if dry_run:
            raise DryRun
    return export.result(is_whole=is_whole)


def _is_judged(export: ExportReader) -> bool:
    """Whether the policy may decide anything of that source's statements but to quarantine or to allow them."""
    policy, trust = export.speaker.policy, export.speaker.trust
    if trust not in policy.quarantined:
        return not export.mine
    return any(rule.then != ALLOW and rule.may_meet(trust, export.source) for rule in policy.rules)


def _look(export: ExportReader) -> tuple[bool, bool]:
    """Whether nobody has said anything here yet; and whether this user has not."""
    folder, is_nobodys = export.folder, True
    if folder.ledger.first or folder.ledger.standing.erasures:
        return False, False  # what is not here any more may be in the file
    for event in folder.events():
        is_nobodys = is_nobodys and event.op in HOUSEKEEPING
        if folder.owner(event) == export.user:
            return False, False
    return is_nobodys, True


def _whole(export: ExportReader, reader: Reader, *, is_first: bool) -> None:
    """All of it, as it was recorded. Where others are here too, what is the memory's own stays as they have it."""
    numbers = ndjson.Numbers(export.begin(reader, is_first=is_first))
    for number, event in export.events(reader):
        if event.op in ndjson.OF_ALL and not is_first:
            continue
        with export.at(number):
            _must_be_free(export, event)
            body = ndjson.renumbered(event.op, event.body or {}, numbers.place, numbers.from_place)
            numbers.add(export.record(event, body).seq)
        export.counts["beliefs"] += event.op == ops.BELIEF_PUT
        export.counts["episodes"] += event.op == ops.EPISODE_PUT
    export.end(numbers.count)


def _must_be_free(export: ExportReader, event: Event) -> None:
    """Refused, if an event names anything of somebody else's who is here too."""
    state = export.state
    for text in texts_in(event.body):
        asked = state.reviews.find(text) if text in state.reviews else None
        owners = (state.owner(text), state.episodes.owner(text), asked.action.user if asked else None)
        if any(owner not in (None, export.user) for owner in owners):
            raise Refused(f"it names {text!r:.60}, which belongs to another user here", "mismatch")


# -- an export that is imported by its records, and not by its events --------------------------------------------------

BRANCHED = "it was said on a branch of that memory; only its main line is imported"
_BELIEF = frozenset(Belief.__dataclass_fields__) - {"seq", "at", "answer", "withheld"}
_EPISODE = frozenset(Episode.__dataclass_fields__) - {"seq", "recorded", "source", "withheld"}
_THERE = ("reason", "weakened")  # what a version says of the one before it


class SnapshotImporter:
    """One file, record by record."""

    def __init__(self, export: ExportReader) -> None:
        self._export, self._state, self._user = export, export.state, export.user

    def run(self, reader: Reader) -> None:
        acts = {"belief": self._belief, "episode": self._episode}
        for number, kind, record in reader:
            if kind in acts:
                with self._export.at(number):
                    if record.get("user") != self._user:
                        raise Refused("it belongs to another user than the file", "mismatch")
                    acts[kind](record)

    def _belief(self, record: dict[str, Any]) -> None:
        export = self._export
        belief = Belief.from_body({name: value for name, value in record.items() if name in _BELIEF})
        if self._state.taken(belief.id):
            export.counts["known"] += 1
            return
        if not belief.is_held or not belief.text:
            export.leave(belief.key, "it is not held any more" if belief.text else "it has no words")
            return
        if self._stays(belief.path, belief.key if export.mine else belief.id):
            return
        fields = {name: getattr(belief, name) for name in _BELIEF if name not in _THERE}
        fields["trust"] = self._trust(belief.trust)
        fields["rests_on"] = tuple(name for name in belief.rests_on if self._state.owner(name) == self._user)
        if not export.mine:
            fields["key"] = belief.id
        elif self._state.find(belief.key, user=self._user, path=belief.path, short=False):
            export.kept.append((belief.key, f"names another belief here; imported as {belief.id}"))
            fields["key"] = belief.id
        try:
            self._count("belief", export.speaker.put({**fields, "keep_secrets": export.keep_secrets}, ""))
        except NeedsApproval:
            raise
        except Refused as error:  # it was let in there, and is not here: too long with its trust, say
            export.leave(belief.key, str(error))

    def _episode(self, record: dict[str, Any]) -> None:
        export = self._export
        fields = {name: value for name, value in record.items() if name in _EPISODE}
        happened = parse_moment(fields.pop("timestamp"))
        episode = Episode.of(Event(0, "", "", "", "", "", {"episode": {**fields, "timestamp": happened}}))
        episode = replace(episode, trust=self._trust(episode.trust))
        episode = export.gate.masks.episode(episode, keep_secrets=export.keep_secrets)
        if record.get("retracted") or record.get("faded"):
            export.leave(episode.id, "it was retracted, or had faded")
        elif not self._stays(episode.path, episode.id):
            known, write = self._state.episodes, export.folder.ledger.write
            self._count("episode", write(lambda: Cleared(decide_episode.put(known, episode)), by=export.source))

    def _stays(self, path: str, name: str) -> bool:
        """Whether a record is left out because of its path."""
        if path and not self._export.mine:
            self._export.leave(name, BRANCHED)
            return True
        return self._export.has_ended(path, name)

    def _count(self, kind: str, events: list[Event]) -> None:
        self._export.counts["events"] += len(events)
        trusts = ((event.body or {}).get(kind, {}).get("trust", "human") for event in events)
        self._export.count(f"{kind}s" if events else "known", trusts)

    def _trust(self, given: str) -> str:
        """As it was there; but no more than the other memory's, unless it is the person's own."""
        return lower((given, self._export.speaker.trust))


# -- an export merged into a memory that has something of that user's already ------------------------------------------

_WHY = {
    "graph": "what was saved in the graph: `tallystick export --format graph` there, `tallystick graph import` here",
    "path": "paths of that name are here",
    "page": "pages of that name are here, and described",
}
_FOREIGN_WHY = {
    "path": "the branches of another's memory stay there",
    "page": "what another's memory says of its pages stays there",
}
_STAYS = "they count for the memory that they were recorded in"

Body = dict[str, Any]


class ExportMerger:
    """One file that is being merged. Its actions return the body to record, or None."""

    def __init__(self, export: ExportReader) -> None:
        self._export, self._state, self._user = export, export.state, export.user
        self._mine = set[str]()  # ids of versions and episodes that came in with this file
        self._paths = set[str]()  # paths that did
        self._related = set[tuple[str, frozenset[str]]]()  # pairs whose relation did, by path
        self._keys: dict[str, str] = {}  # a key there → the key here, where it is another
        self._stayed = Counter[str]()

    def run(self, reader: Reader) -> None:
        export = self._export
        count, seen = 0, export.seen(reader)
        for number, event in export.events(reader):
            with export.at(number):
                recorded = export.joined_at or event.ts
                is_known = event.op in _SEEN_ONCE and (not export.mine or recorded <= seen)
                act = None if is_known else _ACTS.get(event.op)
                body = act(self, event, dict(event.body or {})) if act else None
                if act is None and event.op not in (ops.IMPORT_TAKE, ops.IMPORT_DONE):
                    self._stays(event)
                if body is not None:
                    if not count:
                        export.begin(reader)
                    count += 1
                    draft, asked = Draft(event.op, body), list[Draft]()
                    if "belief" in body and body["belief"].get("trust", "human") in export.speaker.policy.quarantined:
                        asked = export.speaker.kept_out([draft], export.folder.draw())  # whether it is to be trusted
                    export.record(event, {**body, **draft.body}, *asked, source=export.source)
        if count:
            export.end(count)
        why = _WHY if export.mine else {**_WHY, **_FOREIGN_WHY}
        for family, number in self._stayed.items():
            export.leave(family, f"{number} left out: {why.get(family, _STAYS)}")

    def _stays(self, event: Event) -> Body | None:
        self._stayed[event.op.partition(".")[0]] += 1
        return None

    def _comes_in(self, record: Body) -> bool:
        """Give a belief or an episode the trust that it has here; False, if it stays there."""
        if not self._export.mine:
            record["trust"] = FOREIGN
            if record.get("path"):
                self._stayed["path"] += 1
                return False
        return True

    # -- beliefs -----------------------------------------------------------------------------------------------------

    def _put_belief(self, _: Event, body: Body) -> Body | None:
        export, belief = self._export, dict(body["belief"])
        name, path = belief["id"], belief.get("path", "")
        if not export.mine:
            body.pop("merged", None)  # the branch that it was merged from stays there
        again = body.get("again", {}).get("ids", ())
        before = [*body.get("replaces", ()), *body.get("over", ()), *body.get("merged", ()), *again]
        if self._state.pages.is_erased(name):
            export.leave(name, "its words were erased here")
        elif self._state.taken(name):
            export.counts["known"] += not before
            self._compare(name, belief)
        elif not self._comes_in(belief):
            pass
        elif any(each not in self._mine for each in before):
            export.leave(name, "a version of what is here already, which stays as it is")
        elif not export.has_ended(path, name):
            self._see(path)
            self._mine.add(name)
            if not before:
                export.count("beliefs", [belief.get("trust", "human")])
            belief["key"] = self._key(belief, path)
            if here := [each for each in belief.pop("rests_on", ()) if self._is_here(each)]:
                belief["rests_on"] = here  # what was erased there, or stays there, is no ground here
            names = ("approved", "idempotency_key", "echo", "origin", "above", UNDOES)
            if again := body.get("again"):  # its first version is somewhere here
                body["again"] = {**again, "first": 0}
            return {**{each: value for each, value in body.items() if each not in names}, "belief": belief}
        return None

    def _is_here(self, name: str) -> bool:
        return name in self._mine or self._user in (self._state.owner(name), self._state.episodes.owner(name))

    def _key(self, belief: Body, path: str) -> str:
        """The key under which it comes in. One that was changed is changed on every path: it is one belief's."""
        key, name = belief["key"], belief["id"]
        if not self._export.mine:
            return self._keys.setdefault(key, name)
        if key not in self._keys:
            other = self._state.find(key, user=self._user, path=path, short=False)
            if other is None or other.ref in self._mine:
                return str(key)
            self._keys[key] = name
            self._export.kept.append((key, f"names another belief here; imported as {name}"))
        return self._keys[key]

    def _compare(self, name: str, belief: Body) -> None:
        """Report, if what is here under that id has other words."""
        held = self._state.version(name)
        if held is not None and held.user != self._user:
            self._export.leave(name, "another user has something of that id here")
        elif held is not None and held.body()["id"] == name and held.body().get("text") != belief.get("text"):
            self._export.leave(name, "it is here with other words, which stay")

    def _withdraw(self, _: Event, body: Body) -> Body | None:
        return self._without_reason(body) if body["id"] in self._mine else None

    def _without_reason(self, body: Body) -> Body:
        return body if self._export.mine else {name: value for name, value in body.items() if name != "reason"}

    # -- episodes ----------------------------------------------------------------------------------------------------

    def _observe(self, event: Event, body: Body) -> Body | None:
        export, episode = self._export, dict(body["episode"])
        name, path = episode.get("id", event.id), episode.get("path", "")
        scope = (episode.get("session", ""), episode.get("agent", ""))
        if self._state.episodes.owner(event.id) == self._user:
            export.counts["known"] += 1
        elif self._state.pages.is_erased(event.id):
            export.leave(name, "its words were erased here")
        elif not self._comes_in(episode):
            pass
        elif same := [
            each for each in self._state.episodes.find(self._user, name) if (each.session, each.agent) == scope
        ]:
            if same[0].gist == gist_of(episode):
                export.counts["known"] += 1
            else:
                export.leave(name, "it is here with other words, which stay")
        elif not export.has_ended(path, name):
            self._see(path)
            self._mine.add(event.id)
            export.count("episodes", [episode.get("trust", "human")])
            return {"episode": episode}
        return None

    def _of_ids(self, _: Event, body: Body) -> Body | None:
        ids = [name for name in body["ids"] if name in self._mine]
        return {**self._without_reason(body), "ids": ids} if ids else None

    def _relate(self, event: Event, body: Body) -> Body | None:
        """A relation of two memories that are both here now, unless there is one here."""
        path, ids = body.get("path", ""), frozenset(body["ids"])
        is_ours = (path, ids) in self._related
        is_there = self._export.mine and (not path or path in self._paths) and all(map(self._is_here, ids))
        if not is_there or not (is_ours or self._state.relations.find(self._user, path, *ids) is None):
            return self._stays(event)
        self._related.add((path, ids))
        return body if is_ours or body.get("relation") else None

    # -- paths and pages ---------------------------------------------------------------------------------------------

    def _see(self, path: str) -> None:
        if path and not self._state.paths.is_known(self._user, path):
            self._paths.add(path)

    def _branch(self, event: Event, body: Body) -> Body | None:
        if self._state.paths.is_known(self._user, body["path"]) and body["path"] not in self._paths:
            return self._stays(event)
        self._paths.add(body["path"])
        return body

    def _end_path(self, event: Event, body: Body) -> Body | None:
        into, summary = body.get("into", ""), body.get("summary", "")
        if body["path"] not in self._paths or (into and into not in self._paths) or summary not in ("", *self._mine):
            return self._stays(event)
        if "brought" in body:
            body["brought"] = [pair for pair in body["brought"] if self._mine.issuperset(pair)]
        return body

    def _page(self, event: Event, body: Body) -> Body | None:
        return self._stays(event) if self._state.pages.front(self._user, body["about"]) else body

    def _compact(self, event: Event, body: Body) -> Body | None:
        is_here = self._mine.issuperset([*body["into"], *body["into"].values()])
        return body if is_here else self._stays(event)


_SEEN_ONCE = (  # what has no id
    ops.PATH_BRANCH, ops.PATH_MERGE, ops.PATH_ABANDON, ops.PATH_COMPACT, ops.PATH_REOPEN, ops.PAGE_PUT,
    ops.PAGE_COMPACT, ops.PAGE_RENAME, ops.RELATION_PUT,
)  # fmt: skip
_ACTS = {  # what is not here stays there, such as PAGE_RENAME: a page that is here keeps its name
    ops.BELIEF_PUT: ExportMerger._put_belief, ops.BELIEF_SUPERSEDE: ExportMerger._put_belief,
    ops.BELIEF_TOMBSTONE: ExportMerger._withdraw, ops.BELIEF_INVALIDATE: ExportMerger._withdraw,
    ops.EPISODE_PUT: ExportMerger._observe, ops.EPISODE_RETRACT: ExportMerger._of_ids,
    ops.EPISODE_FADE: ExportMerger._of_ids, ops.EPISODE_RESTORE: ExportMerger._of_ids,
    ops.PATH_BRANCH: ExportMerger._branch,
    ops.PATH_MERGE: ExportMerger._end_path, ops.PATH_ABANDON: ExportMerger._end_path,
    ops.PATH_COMPACT: ExportMerger._end_path, ops.PATH_REOPEN: ExportMerger._end_path,
    ops.PAGE_PUT: ExportMerger._page, ops.PAGE_COMPACT: ExportMerger._compact, ops.RELATION_PUT: ExportMerger._relate,
}  # fmt: skip
