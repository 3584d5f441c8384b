"""An export joined to a memory that has something of that user's already.

What is here stays as it is. A belief comes in with its whole history if none of its versions is here; one that is here
is left alone, be it newer there or not. If its key names another belief here, it comes in under its own first id. What
happened comes in unless it is here; how two memories are related, unless that was said here; a path, if no path of that
name is; what a page says of itself, if nothing was said of it here. Approvals, questions, trust, rules, receipts and
settings speak for the other memory, and stay there.

Unless the file is the person's own, its words have a stranger's trust and wait for approval; and nothing comes in that
could be read without one: no branches with their names, no word about pages, no reasons, and no key, since what others
call things is no name here.

The times that things had there stay; that they were held here is true from now on.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tallystick.exchange.ndjson import Reader
from tallystick.memory.exchange.export_reader import ExportReader
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
from tallystick.records.transfer import FOREIGN, TakenIn
from tallystick.state.episodes import gist_of

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
