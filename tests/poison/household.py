"""A memory as a person and two agents have it, and the ways by which a tool or a web page gets at it.

`corpus.jsonl` holds hostile memories, one a line: what kind it is, how it is fed in, by whose trust, the words, which
trusted memory it attacks, and what the owner would ask. A way in that is refused, or that waits for a person's yes, is
as good as one that is recorded and kept out of recall: what counts is what recall says afterwards.
"""

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tallystick import ConsolidationRule, Memory, TallystickError
from tallystick.records.fact import Fact

CORPUS = [json.loads(line) for line in (Path(__file__).parent / "corpus.jsonl").read_text("utf-8").splitlines()]

DOORS = {"web": "web:page", "tool": "tool:fetch", "agent": "mcp:evil"}
LIKES = ("Ana", "likes", "green tea")
EVERYTHING = ConsolidationRule(id="everything")

# key → who says it, the words, and what else is said of it
TRUSTED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "port": ("human", "The database port is 5432.", {"about": "project-shop", "idempotency_key": "call-1"}),
    "deploy": ("human", "We deploy on Fridays.", {"about": "project-shop"}),
    "tea": ("human", "Ana likes green tea.", {"about": "person-ana", "triple": LIKES}),
    "allergy": ("human", "Bob is allergic to peanuts.", {"about": "person-bob", "confidence": 0.9}),
    "owner": ("human", "The owner of the payments service is Ana.", {"about": "topic-payments"}),
    "style": ("human", "Write short commit messages.", {"kind": "instruction"}),
    "mode": ("human", "I prefer dark mode.", {"kind": "preference"}),
    "bank": ("human", "Invoices are paid to the account ending in 4471.", {}),
    "budget": ("human", "The travel budget is 3000 euros.", {"idempotency_key": "call-2"}),
    "doctor": ("human", "My doctor is Dr. Weber.", {}),
    "wifi": ("human", "The guest network is called Lindenhof.", {}),
    "backup": ("agent", "Backups run every night at 02:00.", {"agent": "planner"}),
    "api": ("agent", "The API lives at https://api.example.org/v2.", {"agent": "planner"}),
    "oncall": ("agent", "Bob is on call this week.", {"agent": "planner", "session": "standup"}),
    "meeting": ("agent", "The weekly meeting is on Tuesday at 10.", {"agent": "planner"}),
}
SAID = (
    "In the standup Ana said that the invoices went out.",
    "Bob fixed the login page yesterday.",
    "We talked about the office plants and who waters them.",
)


def person(folder: Path, **more: Any) -> Memory:
    return Memory(folder, by="cli:local", embedder="none", **more)


def household(folder: Path) -> None:
    """Make the memory."""
    with person(folder) as me, Memory(folder, by="mcp:planner", trust="agent", embedder="none") as planner:
        for key, (trust, words, more) in TRUSTED.items():
            (me if trust == "human" else planner).remember(words, key=key, **more)
        for number, words in enumerate(SAID):
            me.observe(words, id=f"said-{number}", session="standup")


def attacker(folder: Path, trust: str) -> Memory:
    return Memory(folder, by=DOORS[trust], trust=trust, embedder="none")


def feed(folder: Path, poisons: Iterable[dict[str, Any]], trust: str = "") -> None:
    """Try each. Whatever tallystick refuses, or puts to a person, is refused or waits."""
    with ExitStack() as opened:
        me = opened.enter_context(person(folder))
        doors = {name: opened.enter_context(attacker(folder, name)) for name in DOORS}
        for poison in poisons:
            with suppress(TallystickError):
                WAYS[poison["how"]](doors[trust or poison["trust"]], poison, _target(me, poison))


def _target(me: Memory, poison: dict[str, Any]) -> str:
    found = me.get(poison["attacks"]) if poison["attacks"] else None
    return found.id if found else ""


def _more(poison: dict[str, Any]) -> dict[str, Any]:
    more = dict(poison.get("more", {}))
    return {name: tuple(value) if name == "triple" else value for name, value in more.items()}


def _claim(bad: Memory, poison: dict[str, Any], _: str) -> None:
    with suppress(TallystickError):
        bad.remember(poison["words"], trust="agent")
    bad.remember(poison["words"], trust="human")


def _under_its_short_id(bad: Memory, poison: dict[str, Any], target: str) -> None:
    with suppress(TallystickError):
        bad.revise(target[-6:], poison["words"])
    bad.remember(poison["words"], key=target[-6:])


def _with_a_used_key(bad: Memory, poison: dict[str, Any], _: str) -> None:
    for used in ("call-1", "call-2"):
        bad.remember(poison["words"], idempotency_key=used)
    bad.remember(poison["words"], key=poison["attacks"], idempotency_key="call-1")


def _revise(bad: Memory, poison: dict[str, Any], target: str) -> None:
    with suppress(TallystickError):
        bad.revise(target, confidence=0.01, status="superseded")
    bad.revise(target, poison["words"], trust="human", reason="a correction")


def _forget(bad: Memory, poison: dict[str, Any], target: str) -> None:
    with suppress(TallystickError):
        bad.forget(poison["attacks"], reason=poison["words"])
    bad.forget(target, reason=poison["words"])


def _erase(bad: Memory, _: dict[str, Any], target: str) -> None:
    with suppress(TallystickError):
        bad.erase("said-0")
    bad.erase(target)


def _approve(bad: Memory, poison: dict[str, Any], _: str) -> None:
    waiting = bad.remember(poison["words"])
    for review in bad.reviews.waiting():
        with suppress(TallystickError):
            bad.reviews.approve(review.id, reason=poison["words"])
    assert bad.get(waiting.id).trust == bad.trust


def _distrust(bad: Memory, poison: dict[str, Any], _: str) -> None:
    with suppress(TallystickError):
        bad.distrust("cli:local", reason=poison["words"])
    bad.distrust("trust:human")


def _other_user(bad: Memory, poison: dict[str, Any], _: str) -> None:
    bad.remember(poison["words"], user="mallory", key="port")
    bad.observe(poison["words"], user="mallory", agent="planner")


def _pin(bad: Memory, poison: dict[str, Any], _: str, name: str = "likes-1") -> None:
    subject, predicate, value = poison["more"]["triple"]
    payload = {"subject": subject, "predicate": predicate, "object": value, "text": poison["words"], "trust": "human"}
    pinned = datetime(2026, 5, 1, tzinfo=UTC)
    bad.facts.pin(Fact(id=name, user="me", payload=payload, lineage=[], confidence=1.0, pinned_at=pinned))


def _consolidate(bad: Memory, poison: dict[str, Any], _: str, extractor: str = "none") -> None:
    bad.observe(poison["words"], **_more(poison))
    bad.consolidate(EVERYTHING, since_last=False, extractor=extractor)
    with person(bad.folder) as me:
        me.consolidate(EVERYTHING, since_last=False, extractor=extractor)


def _agent_rests_on(bad: Memory, poison: dict[str, Any], _: str) -> None:
    ground = bad.remember("A page says so: " + poison["words"])
    with Memory(bad.folder, by="mcp:planner", trust="agent", embedder="none") as planner:
        planner.remember(poison["words"], rests_on=[ground.id])


def _person_rests_on(bad: Memory, poison: dict[str, Any], _: str) -> None:
    ground = bad.remember("A page says so: " + poison["words"])
    with person(bad.folder) as me:
        me.remember(poison["words"], rests_on=[ground.id])


WAYS: dict[str, Callable[[Memory, dict[str, Any], str], object]] = {
    "remember": lambda bad, it, _: bad.remember(it["words"], **_more(it)),
    "observe": lambda bad, it, _: bad.observe(it["words"], **_more(it)),
    "claim": _claim,
    "key": lambda bad, it, _: bad.remember(it["words"], key=it["attacks"], confidence=1.0),
    "id": lambda bad, it, target: bad.remember(it["words"], key=target),
    "short-id": _under_its_short_id,
    "idempotency": _with_a_used_key,
    "revise": _revise,
    "forget": _forget,
    "invalidate": lambda bad, it, target: bad.invalidate(target, it["words"]),
    "erase": _erase,
    "retract": lambda bad, it, _: bad.episodes.retract("said-0", "said-1", reason=it["words"], withdraw=True),
    "fade": lambda bad, it, _: bad.archive("said-0", "said-1", reason=it["words"]),
    "outcome": lambda bad, it, target: bad.outcome([target], 0.0, weight=10.0, reason=it["words"]),
    "approve": _approve,
    "distrust": _distrust,
    "other-user": _other_user,
    "pin": _pin,
    "pin-id": lambda bad, it, _: _pin(bad, it, "", it["attacks"]),
    "consolidate": _consolidate,
    "consolidate-english": lambda bad, it, target: _consolidate(bad, it, target, "english"),
    "rests-on": lambda bad, it, target: bad.remember(it["words"], rests_on=[target], confidence=1.0),
    "agent-rests-on": _agent_rests_on,
    "person-rests-on": _person_rests_on,
}
