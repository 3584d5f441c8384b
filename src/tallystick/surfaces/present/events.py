"""An event on one line: where, when, by whom, what kind, and what it says in a few words.

The words are the same wherever events are listed: `told` has them without colours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tallystick.records.belief import Belief
from tallystick.records.event import Event
from tallystick.records.page import NOTES
from tallystick.records.path import MAIN
from tallystick.records.times import Span, named
from tallystick.surfaces.present.names import handle, short_id
from tallystick.surfaces.present.terminal import dim, width
from tallystick.surfaces.present.text import cells, short
from tallystick.surfaces.present.time import count, their, when

Find = Callable[[str], Belief | None]

_OP_ROOM, _BY_ROOM, _NAME_ROOM = 17, 12, 24


def event_line(event: Event, find: Find, seq_room: int = 4, *, is_doubted: bool = False) -> str:
    """`find` gives the belief that an event speaks of without repeating its words. A doubted time has a ? behind it."""
    op = event.op.partition("/")[0]
    mark = "?" if is_doubted else " "
    left = f"{event.seq:>{seq_room}}  {when(event.ts)}{mark} {short(event.by, 40):<{_BY_ROOM}}  "
    kind = f"{short(op, 40):<{_OP_ROOM}}  "
    room = width() - cells(left) - cells(kind)
    return dim(left) + kind + summary(event, find, max(room, 20))


class EventSummary(NamedTuple):
    """What an event says: the name of what it is about, where it has one, and the words."""

    name: str
    words: str
    is_said: bool = False  # whether somebody holds these words true
    who: str = ""  # said them, where and as whom


def summary(event: Event, find: Find, room: int) -> str:
    """What an event says, in at most `room` cells."""
    name, words, is_said, who = told(event, find, room)
    told_by = f"{who}: " if who else ""
    return (f"{dim(name)}  " if name else "") + (words if is_said else dim(told_by + words))


def told(event: Event, find: Find, room: int) -> EventSummary:
    """The same, without colours."""
    if event.body is None:
        return EventSummary("", "(erased)")
    if event.op.startswith("belief."):
        return _of_belief(event.body, find, room)
    if event.op == "episode.put/1" and isinstance(event.body.get("episode"), dict):
        return _of_episode(event.id, event.body["episode"], room)
    tell = _TELL.get(event.op, _plainly)
    try:
        return EventSummary("", short(tell(event.body), room))
    except (LookupError, TypeError, ValueError):  # not as this program writes it
        return EventSummary("", short(_plainly(event.body), room))


def _of_belief(body: Mapping[str, Any], find: Find, room: int) -> EventSummary:
    said = body.get("belief")
    if isinstance(said, dict):
        name, text, reason = said.get("key", ""), said.get("text", ""), said.get("reason", "")
    else:
        belief = find(str(body.get("id", "")))
        name, text = (belief.key, belief.text) if belief else (str(body.get("id", "")), "")
        reason = body.get("reason", "")
    name = short(handle(str(name)), _NAME_ROOM)
    because = f"({reason})" if reason else ""
    words = " ".join(filter(None, (str(text), because)))
    return EventSummary(name, short(words, room - cells(name) - 2), is_said=True)


def _of_episode(recorded: str, said: Mapping[str, Any], room: int) -> EventSummary:
    """The name that `show` and `forget` take, who said it, and the words."""
    name = short(short_id(str(said.get("id") or recorded)), _NAME_ROOM)
    room -= cells(name) + 2
    who = short("/".join(str(said[part]) for part in ("session", "agent") if said.get(part)), room // 2)
    return EventSummary(name, short(str(said.get("content", "")), room - (cells(who) + 2 if who else 0)), who=who)


def _begin(body: Mapping[str, Any]) -> str:
    old = body.get("taken_over")
    return "the ledger begins" + (f", with {count(old['events'], 'event')} of {old['format']}" if old else "")


def _seal(body: Mapping[str, Any]) -> str:
    return f"compacted: events {body['stretch']['first']} to {body['stretch']['last']} are sealed"


def _torn(body: Mapping[str, Any]) -> str:
    return f"{count(body['bytes'], 'byte')} that a crash left unfinished, kept in sealed/{body['kept']}"


def _time(body: Mapping[str, Any]) -> str:
    spans = [Span(**each) for each in body["doubted"]]
    return f"a clock was wrong: the times of {named(spans)} are doubted" if spans else "a clock was wrong"


def _prune(body: Mapping[str, Any]) -> str:
    return f"events {body['first']} to {body['last']} moved to {body['place']}"


def _restore(body: Mapping[str, Any]) -> str:
    return f"went back to {body['from']}; event {body['abandoned']['seq']} was the last one left behind"


def _repair(body: Mapping[str, Any]) -> str:
    if fixed := body.get("mended"):
        return "mended " + ", ".join(f"{code} ({count})" for code, count in fixed.items())
    if settled := body.get("settled"):
        return "known to lead to nothing: " + ", ".join(f"{len(names)} of {code}" for code, names in settled.items())
    return _plainly(body)


def _ask(body: Mapping[str, Any]) -> str:
    action = body["action"]
    names = " ".join(handle(str(version)) for version in action.get("target", ()))
    asker = action.get("trust", "human")
    if action["kind"] == "trust":
        return f"{body['review'][-6:]}: is {names} to be trusted, which {asker} stated?"
    if action.get("noun") == "path":
        return f"{body['review'][-6:]}: may {asker} {action['kind']} the path {action['path']}?"
    return f"{body['review'][-6:]}: may {asker} {action['kind']} {names}?"


def _answer(body: Mapping[str, Any]) -> str:
    return f"{body['review'][-6:]}: {_ANSWERS[body['answer']]}{_because(body)}"


def _grant(body: Mapping[str, Any]) -> str:
    return f"{body['review'][-6:]}: may be done once, until {body['expires'][:16].replace('T', ' ')} UTC"


def _refuse(body: Mapping[str, Any]) -> str:
    names = _few(body["target"]) if body["target"] else ""
    what = " ".join(filter(None, (body["kind"], body.get("noun"), names)))
    return f"{body['review'][-6:]}: " * bool(body["review"]) + f"{what} was not let through: {body['why']}"


def _plainly(body: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in body.items())


def _start(body: Mapping[str, Any]) -> str:
    return f"work begins: {body['task_type']}"


def _end(_: Mapping[str, Any]) -> str:
    return "work ends"


def _frame(body: Mapping[str, Any]) -> str:
    return f"the frame {body['frame']['name']}, of at most {count(body['frame']['token_budget'], 'token')}"


def _no_frame(body: Mapping[str, Any]) -> str:
    return f"the frame {body['name']} is given up"


def _config(body: Mapping[str, Any]) -> str:
    return f"{body['key']} is {body['value']} from now on"


def _receipts(body: Mapping[str, Any]) -> str:
    served = sum(len(receipt["hits"]) for receipt in body["receipts"])
    asked = f": {body['receipts'][0]['question']}" if body["receipts"][0].get("question") else ""
    return f"{count(len(body['receipts']), 'recall')} served {count(served, 'hit')}{asked}"


def _outcome(body: Mapping[str, Any]) -> str:
    if body.get("again"):
        return f"{_few(body['ids'])} was said again"
    how = "helped" if body["signal"] == 1 else "misled" if body["signal"] == 0 else f"helped by {body['signal']:.0%}"
    return f"{_few(body['ids'])} {how}{_because(body)}"


def _relate(body: Mapping[str, Any]) -> str:
    one, other = map(short_id, map(str, body["ids"]))
    if "withheld" in body:
        return f"{one} and {other} are related"
    return f"{one} {body['relation']} {other}" if body.get("relation") else f"{one} and {other} are related no more"


def _fade(body: Mapping[str, Any]) -> str:
    return f"{_few(body['ids'])} left recall{_because(body)}"


def _retract(body: Mapping[str, Any]) -> str:
    return f"{_few(body['ids'])} taken back{_because(body)}"


def _rule(body: Mapping[str, Any]) -> str:
    cadence = ", ".join(f"{name} {value}" for name, value in body["rule"]["cadence"].items())
    return f"the rule {body['rule']['id']}, {cadence or 'run when asked'}"


def _no_rule(body: Mapping[str, Any]) -> str:
    return f"the rule {body['id']} is given up"


def _ran(body: Mapping[str, Any]) -> str:
    made = ", ".join(f"{number} {kind}" for kind, number in body["made"].items()) or "nothing"
    return f"the rule {body['id']} made {made} of {count(body['considered'], 'episode')}, up to event {body['through']}"


def _found(body: Mapping[str, Any]) -> str:
    return f"the rule {body['id']} set aside {_few(body['ids'])}: {body['reason']}"


def _noop(body: Mapping[str, Any]) -> str:
    return f"the rule {body['step']['rule_id']} saw {_few(body['step']['source_episode_ids'])}: {body['why']}"


def _trust(body: Mapping[str, Any]) -> str:
    since = f" since {body['since']}" if body.get("since") else ""
    how = f"is not trusted{since}" if body["trust"] == "none" else "is trusted again"
    return f"{body['source']} {how}{_because(body)}"


def _few(ids: list[str]) -> str:
    more = f" and {len(ids) - 2} more" if len(ids) > 2 else ""
    return " ".join(short_id(str(name)) for name in ids[:2]) + more


def _because(body: Mapping[str, Any]) -> str:
    return f" ({body['reason']})" if body.get("reason") else ""


def _graph_put(body: Mapping[str, Any]) -> str:
    if "piece" in body:
        return f"a piece of one of the graph's {body['part']}, {body['n'] + 1} of {body['of']}"
    parts = [count(len(body[part]), part[:-1]) for part in _GRAPH_PARTS if part in body]
    first: Mapping[str, Any] = next((body[part][0] for part in _GRAPH_PARTS if part in body), {})
    name = first.get("label") or first.get("id") or first.get("path_id")
    return f"{', '.join(parts) or 'what is said of the graph as a whole'}{f': {name}' if name else ''}"


def _graph_merge(body: Mapping[str, Any]) -> str:
    return f"{body['node']} is {body['into']} from now on"


_GRAPH_PARTS = ("profiles", "nodes", "edges", "paths", "events")
def _branch(body: Mapping[str, Any]) -> str:
    return f"the path {body['path']}, from {body['parent'] or MAIN}"


def _merged(body: Mapping[str, Any]) -> str:
    return f"the path {body['path']} is merged into {body['into'] or MAIN}: {count(len(body['brought']), 'belief')}"


def _abandoned(body: Mapping[str, Any]) -> str:
    return f"the path {body['path']} is abandoned{_because(body)}"


def _reopened(body: Mapping[str, Any]) -> str:
    return f"the path {body['path']} is open again{_because(body)}"


def _page(body: Mapping[str, Any]) -> str:
    return f"the page about {body['about'] or NOTES}: {', '.join(body['front'])}"


def _folded(body: Mapping[str, Any]) -> str:
    return f"the page about {body['about'] or NOTES} is folded, {count(len(body['into']), 'belief')} of it"


def _confirmed(body: Mapping[str, Any]) -> str:
    if "source" in body:
        return f"approved, with all that {short(str(body['source']), 50)} had told"
    return "borne out: others, who are trusted, said the same"


_ANSWERS = {"approve": "approved", "reject": "rejected", "stale": "stale"}
_TELL: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "config.set/1": _config,
    "frame.drop/1": _no_frame,
    "frame.put/1": _frame,
    "graph.dismiss/1": lambda body: f"{body['node']} is not {body['into']}",
    "graph.merge/1": _graph_merge,
    "graph.propose/1": lambda body: f"is {body['node']} the same as {body['into']}?",
    "graph.put/1": _graph_put,
    "graph.unmerge/1": lambda body: f"{body['node']} stands for itself again",
    "ledger.begin/1": _begin,
    "ledger.seal/1": _seal,
    "ledger.torn/1": _torn,
    "ledger.time/1": _time,
    "ledger.prune/1": _prune,
    "ledger.restore/1": _restore,
    "ledger.repair/1": _repair,
    "review.ask/1": _ask,
    "review.answer/1": _answer,
    "review.grant/1": _grant,
    "review.refuse/1": _refuse,
    "ledger.copy/1": lambda body: f"copied to {body['place']}",
    "session.end/1": _end,
    "session.start/1": _start,
    "snapshot/1": lambda body: f"what is held as of event {body['seq']}, so that opening is quick",
    "episode.fade/1": _fade,
    "delta.noop/1": _noop,
    "episode.retract/1": _retract,
    "outcome.put/1": _outcome,
    "relation.put/1": _relate,
    "page.clean/1": lambda _: "every page goes out of sight",
    "page.fold/1": _folded,
    "page.put/1": _page,
    "page.rename/1": lambda body: f"{body['about']} is {body['to']} from now on",
    "path.abandon/1": _abandoned,
    "path.branch/1": _branch,
    "path.compact/1": lambda body: f"the path {body['path']} is closed",
    "path.merge/1": _merged,
    "path.reopen/1": _reopened,
    "receipt.put/1": _receipts,
    "rule.drop/1": _no_rule,
    "rule.found/1": _found,
    "rule.put/1": _rule,
    "rule.ran/1": _ran,
    "trust.corroborate/1": lambda body: f"{_few(body['ids'])} {_confirmed(body)}",
    "trust.set/1": _trust,
    "import.take/1": lambda body: f"another memory is taken in, as it was written on {body['made'][:10]}",
    "import.done/1": lambda body: f"it is here, in {count(body['events'], 'event')}",
    "erase/1": lambda body: f"{count(len(body['lines']), 'event')} lost {their(len(body['lines']))} words",
    "erase.done/1": lambda body: f"the erasure of event {body['of']} is complete",
}
