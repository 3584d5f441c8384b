"""Events and acts of the audit on one line: where, when, by whom, what kind, and a few words.

The words are the same wherever events are listed: `event_summary` has them without colours.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tallystick.records.audit import APPLIED, AuditLine
from tallystick.records.belief import Belief
from tallystick.records.event import UNDOES, Event
from tallystick.records.page import NOTES
from tallystick.records.path import MAIN
from tallystick.records.policy import CHANGE, GRAPH
from tallystick.records.review import Action
from tallystick.records.times import Span, named
from tallystick.surfaces.present.names import count, handle, short_id, their, when
from tallystick.surfaces.present.text import bold, cells, dim, short, width

Find = Callable[[str], Belief | None]
Body = Mapping[str, Any]

_OP_WIDTH, _BY_WIDTH, _NAME_WIDTH, _ACT_WIDTH, _OUTCOME_WIDTH = 17, 12, 24, 16, 7
_FEW = 3  # subjects of an act that are named


class EventSummary(NamedTuple):
    """An event in words: the name of what it is about, if it has one, and the words."""

    name: str
    words: str
    is_said: bool = False  # whether somebody holds these words true
    who: str = ""  # said them, where and as whom


def event_line(event: Event, find: Find, seq_width: int = 4, *, is_doubted: bool = False) -> str:
    """The line of an event. `find` gives the belief that it refers to; `?` marks a doubted time."""
    mark = "?" if is_doubted else " "
    left = f"{event.seq:>{seq_width}}  {when(event.ts)}{mark} {short(event.by, 40):<{_BY_WIDTH}}  "
    op = "undo" if event.body and UNDOES in event.body else event.op.partition("/")[0]
    kind = f"{short(op, 40):<{_OP_WIDTH}}  "
    name, words, is_said, who = event_summary(event, find, max(width() - cells(left) - cells(kind), 20))
    who = f"{who}: " if who else ""
    return dim(left) + kind + (f"{dim(name)}  " if name else "") + (words if is_said else dim(who + words))


def audit_line(act: AuditLine, seq_width: int = 4) -> str:
    """The line of an act. One that was not applied stands out."""
    left = f"{act.seq:>{seq_width}}  {when(act.at)}  {short(act.by, 40):<{_BY_WIDTH}}  "
    verb, outcome = f"{short(act.action, 40):<{_ACT_WIDTH}}  ", f"{act.outcome:<{_OUTCOME_WIDTH}}  "
    room = max(width() - cells(left) - cells(verb) - cells(outcome), 20)
    paint = dim if act.outcome == APPLIED else bold
    names = [handle(name) for name in act.subject[:_FEW]]
    if len(act.subject) > _FEW:
        names.append(f"and {len(act.subject) - _FEW} more")
    approval = ""
    if act.approval:
        by = f" by {act.approval['by']}" if act.approval.get("by") else ""
        approval = f"approved{by} in {act.approval['review'][-6:]}"
    asker = f"said by {act.trust}" if act.trust not in ("", "human") else ""
    subject = ", ".join(filter(None, (" ".join(names), approval, asker)))
    return dim(left) + verb + paint(outcome) + dim(short(subject, room))


def is_more(event: Event, before: Event | None) -> bool:
    """True if an event is part of the undo that the one before it is part of: a list shows an undo once."""
    mark, known = (each.body.get(UNDOES) if each and each.body else None for each in (event, before))
    return before is not None and bool(mark) and mark == known and before.seq == event.seq - 1


def event_summary(event: Event, find: Find, room: int) -> EventSummary:
    """An event in words, in at most `room` cells, without colours."""
    if event.body is None:
        return EventSummary("", "(erased)")
    if mark := event.body.get(UNDOES):
        body = {name: value for name, value in event.body.items() if name not in (UNDOES, "reason")}
        if isinstance(stated := body.get("belief"), dict):
            body["belief"] = {name: value for name, value in stated.items() if name != "reason"}
        why = str((stated or event.body).get("reason", "")).partition(": ")[2]  # after what it undoes
        begun = f"event {mark['seq']}: " + (f"({short(why, room // 3)}) " if why else "")
        found = event_summary(event._replace(body=body), find, room - cells(begun))
        return found._replace(words=begun + found.words)
    if event.op.startswith("belief."):
        return _of_belief(event.body, find, room)
    if event.op == "episode.put/1" and isinstance(episode := event.body.get("episode"), dict):
        name = short(short_id(str(episode.get("id") or event.id)), _NAME_WIDTH)  # that `show` and `forget` take
        room -= cells(name) + 2
        who = short("/".join(str(episode[part]) for part in ("session", "agent") if episode.get(part)), room // 2)
        room -= cells(who) + 2 if who else 0
        return EventSummary(name, short(str(episode.get("content", "")), room), who=who)
    try:
        words = _WORDS.get(event.op, _plain)(event.body)
    except (LookupError, TypeError, ValueError):  # not as this program writes it
        words = _plain(event.body)
    return EventSummary("", short(words, room))


def _of_belief(body: Body, find: Find, room: int) -> EventSummary:
    stated = body.get("belief")
    if isinstance(stated, dict):
        name, text, reason = stated.get("key", ""), stated.get("text", ""), stated.get("reason", "")
    else:
        belief = find(str(body.get("id", "")))
        name, text = (belief.key, belief.text) if belief else (str(body.get("id", "")), "")
        reason = body.get("reason", "")
    name = short(handle(str(name)), _NAME_WIDTH)
    words = " ".join(filter(None, (str(text), f"({reason})" if reason else "")))
    return EventSummary(name, short(words, room - cells(name) - 2), is_said=True)


def _plain(body: Body) -> str:
    return ", ".join(f"{name} {value}" for name, value in body.items())


def _few(ids: list[str]) -> str:
    more = f" and {len(ids) - 2} more" if len(ids) > 2 else ""
    return " ".join(short_id(str(name)) for name in ids[:2]) + more


def _why(body: Body) -> str:
    return f" ({body['reason']})" if body.get("reason") else ""


def _review(body: Body) -> str:
    return str(body["review"])[-6:]


def _begin(body: Body) -> str:
    old = body.get("taken_over")
    return "the ledger begins" + (f", with {count(old['events'], 'event')} of {old['format']}" if old else "")


def _time(body: Body) -> str:
    spans = [Span(**each) for each in body["doubted"]]
    return "a clock was wrong" + (f": the times of {named(spans)} are doubted" if spans else "")


def _repair(body: Body) -> str:
    if fixed := body.get("mended"):
        return "fixed " + ", ".join(f"{code} ({number})" for code, number in fixed.items())
    if settled := body.get("settled"):
        return "accepted as dangling: " + ", ".join(f"{len(names)} of {code}" for code, names in settled.items())
    return _plain(body)


def _ask(body: Body) -> str:
    action = body["action"]
    names = " ".join(handle(str(version)) for version in action.get("target", ()))
    asker = action.get("trust", "human")
    if action["kind"] == "trust":
        return f"{_review(body)}: is {names} to be trusted, which {asker} stated?"
    if action.get("noun") == "path":
        names = f"the path {action['path']}"
    elif action.get("noun") in (CHANGE, GRAPH):
        return f"{_review(body)}: may {asker} {Action.from_body(action).label}?"
    return f"{_review(body)}: may {asker} {action['kind']} {names}?"


def _refuse(body: Body) -> str:
    names = _few(body["target"]) if body["target"] else ""
    what = " ".join(filter(None, (body["kind"], body.get("noun"), names)))
    return f"{_review(body)}: " * bool(body["review"]) + f"{what} was refused: {body['why']}"


def _receipts(body: Body) -> str:
    served = sum(len(receipt["hits"]) for receipt in body["receipts"])
    asked = f": {body['receipts'][0]['question']}" if body["receipts"][0].get("question") else ""
    return f"{count(len(body['receipts']), 'recall')} served {count(served, 'hit')}{asked}"


def _outcome(body: Body) -> str:
    if body.get("again"):
        return f"{_few(body['ids'])} was said again"
    how = "helped" if body["signal"] == 1 else "misled" if body["signal"] == 0 else f"helped by {body['signal']:.0%}"
    return f"{_few(body['ids'])} {how}{_why(body)}"


def _relate(body: Body) -> str:
    one, other = map(short_id, map(str, body["ids"]))
    if "withheld" in body:
        return f"{one} and {other} are related"
    return f"{one} {body['relation']} {other}" if body.get("relation") else f"{one} and {other} are no longer related"


def _ran(body: Body) -> str:
    made = ", ".join(f"{number} {kind}" for kind, number in body["made"].items()) or "nothing"
    return f"the rule {body['id']} made {made} of {count(body['considered'], 'episode')}, up to event {body['through']}"


def _trust(body: Body) -> str:
    since = f" since {body['since']}" if body.get("since") else ""
    how = f"is not trusted{since}" if body["trust"] == "none" else "is trusted again"
    return f"{body['source']} {how}{_why(body)}"


def _corroborated(body: Body) -> str:
    if "source" in body:
        return f"{_few(body['ids'])} approved, with everything from {short(str(body['source']), 50)}"
    return f"{_few(body['ids'])} corroborated by trusted sources"


def _graph_put(body: Body) -> str:
    if "piece" in body:
        return f"a piece of one of the graph's {body['part']}, {body['n'] + 1} of {body['of']}"
    parts = [part for part in ("profiles", "nodes", "edges", "paths", "events") if part in body]
    if not parts:
        return "metadata of the whole graph"
    first = body[parts[0]][0]
    name = first.get("label") or first.get("id") or first.get("path_id")
    return ", ".join(count(len(body[part]), part[:-1]) for part in parts) + (f": {name}" if name else "")


def _erased(body: Body) -> str:
    times = f": hidden at {body['hidden']}, destroyed at {body['destroyed']}" if "destroyed" in body else ""
    return f"the erasure of event {body['of']} is complete{times}"


_ANSWERS = {"approve": "approved", "reject": "rejected", "stale": "stale"}
_WORDS: dict[str, Callable[[Body], str]] = {
    "config.set/1": lambda body: f"{body['key']} is {body['value']} from now on",
    "delta.noop/1": lambda body: f"the rule {body['step']['rule_id']} saw "
    f"{_few(body['step']['source_episode_ids'])}: {body['why']}",
    "episode.fade/1": lambda body: f"{_few(body['ids'])} left recall{_why(body)}",
    "episode.retract/1": lambda body: f"{_few(body['ids'])} retracted{_why(body)}",
    "episode.restore/1": lambda body: f"{_few(body['ids'])} restored{_why(body)}",
    "erase/1": lambda body: f"{count(len(body['lines']), 'event')} lost {their(len(body['lines']))} words",
    "erase.done/1": _erased,
    "frame.drop/1": lambda body: f"the frame {body['name']} is dropped",
    "frame.put/1": lambda body: f"the frame {body['frame']['name']}, of at most "
    f"{count(body['frame']['token_budget'], 'token')}",
    "graph.dismiss/1": lambda body: f"{body['node']} is not {body['into']}",
    "graph.merge/1": lambda body: f"{body['node']} is {body['into']} from now on",
    "graph.propose/1": lambda body: f"is {body['node']} the same as {body['into']}?",
    "graph.put/1": _graph_put,
    "graph.unmerge/1": lambda body: f"{body['node']} stands alone again",
    "import.done/1": lambda body: f"imported, in {count(body['events'], 'event')}",
    "import.take/1": lambda body: f"importing another memory, exported on {body['made'][:10]}",
    "ledger.begin/1": _begin,
    "ledger.copy/1": lambda body: f"copied to {body['place']}",
    "ledger.prune/1": lambda body: f"events {body['first']} to {body['last']} moved to {body['place']}",
    "ledger.repair/1": _repair,
    "ledger.restore/1": lambda body: f"went back to {body['from']}; event {body['abandoned']['seq']} was the last one "
    "left behind",
    "ledger.seal/1": lambda body: f"compacted: events {body['stretch']['first']} to {body['stretch']['last']} are "
    "sealed",
    "ledger.time/1": _time,
    "ledger.torn/1": lambda body: f"{count(body['bytes'], 'byte')} that a crash left unfinished, kept in "
    f"sealed/{body['kept']}",
    "outcome.put/1": _outcome,
    "page.clean/1": lambda _: "every page is archived",
    "page.fold/1": lambda body: f"the page about {body['about'] or NOTES} is compacted, "
    f"{count(len(body['into']), 'belief')} of it",
    "page.put/1": lambda body: f"the page about {body['about'] or NOTES}: {', '.join(body['front'])}",
    "page.rename/1": lambda body: f"{body['about']} is {body['to']} from now on",
    "path.abandon/1": lambda body: f"the path {body['path']} is abandoned{_why(body)}",
    "path.branch/1": lambda body: f"the path {body['path']}, from {body['parent'] or MAIN}",
    "path.compact/1": lambda body: f"the path {body['path']} is closed",
    "path.merge/1": lambda body: f"the path {body['path']} is merged into {body['into'] or MAIN}: "
    f"{count(len(body['brought']), 'belief')}",
    "path.reopen/1": lambda body: f"the path {body['path']} is open again{_why(body)}",
    "receipt.put/1": _receipts,
    "relation.put/1": _relate,
    "review.answer/1": lambda body: f"{_review(body)}: {_ANSWERS[body['answer']]}{_why(body)}",
    "review.ask/1": _ask,
    "review.grant/1": lambda body: f"{_review(body)}: approved for one use, until "
    f"{body['expires'][:16].replace('T', ' ')} UTC",
    "review.refuse/1": _refuse,
    "rule.drop/1": lambda body: f"the rule {body['id']} is dropped",
    "rule.found/1": lambda body: f"the rule {body['id']} skipped {_few(body['ids'])}: {body['reason']}",
    "rule.put/1": lambda body: f"the rule {body['rule']['id']}, "
    f"{_plain(body['rule']['cadence']) or 'run on demand'}",
    "rule.ran/1": _ran,
    "session.end/1": lambda _: "work ends",
    "session.start/1": lambda body: f"work begins: {body['task_type']}",
    "ledger.state/1": lambda body: f"the state at event {body['seq']}, in place of the events up to it",
    "snapshot/1": lambda body: f"the state at event {body['seq']}, for quick opening",
    "trust.corroborate/1": _corroborated,
    "trust.set/1": _trust,
}
