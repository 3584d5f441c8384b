"""Decisions about trust: distrust, quarantine, corroboration, and the trust of what is derived.

Three things lower the trust of a statement: that it depends on something less trusted, that it repeats quarantined
statements that recall served, and that its source is distrusted. One thing raises it: that trusted other sources state
the same. Text never does either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tallystick.decide.subjects import standing
from tallystick.records.belief import OWNER
from tallystick.records.errors import NotFound
from tallystick.records.event import UNDOES, Draft
from tallystick.records.operations import REVIEW_ANSWER, REVIEW_ASK, TRUST_CORROBORATE, TRUST_SET
from tallystick.records.policy import DEFAULT, RANK, is_above
from tallystick.records.trust import NONE, USUAL, Distrust
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.sources import AS_A_PERSON, LATEST, speaks_for_all, voice
from tallystick.state.state import PastState, State

SET_ASIDE = "tool"  # the trust of what is derived from a distrusted source, at most
BORNE_OUT = "agent"  # the trust of what is derived from corroborated statements
_AT_ONCE = 1_000  # ids in one event


def distrust(known: State, source: str, *, user: str, since: str, first: int, reason: str) -> list[Draft]:
    """Leave a source out of recall. The same again is no event."""
    before = known.distrusts.find(user, source)
    if before and (before.first, before.since, before.reason) == (first, since, reason):
        return []
    body = {"user": user, "source": source, "trust": NONE, "since": since, "first": first}
    return [Draft(TRUST_SET, {**body, "reason": reason} if reason else body)]


def restore_trust(known: State, source: str, *, user: str, reason: str = "") -> list[Draft]:
    """Let a source be recalled as before."""
    if known.distrusts.find(user, source) is None:
        raise NotFound(f"{source!r} is not distrusted; run `tallystick trust` to list sources")
    body = {"user": user, "source": source, "trust": USUAL}
    return [Draft(TRUST_SET, {**body, "reason": reason} if reason else body)]


def is_in_doubt(known: State | PastState, trust: str, version: str) -> bool:
    """True if a tool or the web stated it, and it is neither approved nor corroborated."""
    is_clear = known.reviews.is_approved(version) or known.distrusts.is_borne_out(version)
    return trust in DEFAULT.quarantined and not is_clear


def is_outranked(known: State, held: CurrentVersion | None, trust: str) -> bool:
    """True if it is in doubt and that trust is above its source's: then it does not reserve its key."""
    if held is None:
        return False
    body = held.body()
    stated = body.get("trust", "human")
    return is_above(trust, stated) and is_in_doubt(known, stated, body["id"])


def approved_episodes(known: State, source: str, *, user: str) -> list[Draft]:
    """The approval of all quarantined episodes of a source. Its beliefs each have a review."""
    ids = quarantined_episodes(known, source, user=user)
    some = (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))
    return [Draft(TRUST_CORROBORATE, {"user": user, "ids": each, "source": source}) for each in some]


def quarantined_episodes(known: State, source: str, *, user: str) -> list[str]:
    """The events of a source's episodes that need approval."""
    return [name for name in known.distrusts.doubted(user, source) if known.episodes.stands(name)]


def withheld(known: State, held: CurrentVersion) -> Distrust | None:
    """The distrust that leaves a belief out of recall, if any."""
    body = held.body() if known.distrusts.of(held.user) else {}
    return known.distrusts.against(
        held.user, by=held.by, seq=held.seq, agent=body.get("agent", ""), session=body.get("session", ""),
        trust=body.get("trust", "human"),
    )  # fmt: skip


def worth(known: State, name: str, user: str, path: str = "") -> str:
    """The trust of what is derived from a belief: its own; human, if it is approved; agent, if it is corroborated."""
    held = known.find(name, user=user, path=path)
    if held is None:
        return "human"
    body = held.body()
    if withheld(known, held):
        return min(str(body.get("trust", "human")), SET_ASIDE, key=RANK.__getitem__)
    return BORNE_OUT if known.distrusts.is_borne_out(body["id"]) else standing(known, body["id"], user)


def weakest(known: State, names: Iterable[str], user: str, path: str = "") -> tuple[str, str]:
    """The least trust among some beliefs, and which one has it; human, if there are none."""
    found = [(worth(known, name, user, path), name) for name in names]
    return min(found, key=lambda each: RANK[each[0]], default=("human", ""))


def lowered(known: State, drafts: list[Draft]) -> list[Draft]:
    """The drafts; one that depends on something quarantined is trusted no more than that.

    One that depends on an agent's belief keeps its trust: else agents could change a person's own words.
    """
    for draft in drafts:
        belief = draft.body.get("belief", {})
        if grounds := belief.get("rests_on"):
            least, _ = weakest(known, grounds, belief.get("user", OWNER))
            if least in DEFAULT.quarantined and is_above(belief.get("trust", "human"), least):
                belief["trust"] = least
    return drafts


def explained(known: State, drafts: list[Draft]) -> list[Draft]:
    """The drafts; reviews of what is in doubt only because of what it depends on, or repeats, say so."""
    stated = {draft.body["belief"]["id"]: draft.body for draft in drafts if "belief" in draft.body}
    for draft in drafts:
        if draft.op == REVIEW_ASK and draft.body["action"]["kind"] == "trust":
            if (body := stated.get(draft.body["action"]["target"][0])) is None:
                continue
            belief, because = body["belief"], "it repeats a quarantined statement" if body.get("echo") else ""
            least, below = weakest(known, belief.get("rests_on", ()), belief.get("user", OWNER))
            if below and least == belief.get("trust"):
                because = f"it rests on {below}, which {least} stated"
            if because:
                draft.body["why"] = f"{because}, and is not recalled until a person approves it"
    return drafts


def borne_out(known: State, drafts: Sequence[Draft], by: str, needed: Callable[[], int]) -> list[Draft]:
    """The corroboration of statements in doubt by these drafts of a trusted source, and the end of their reviews. None
    if `needed` is 0: then only approval counts."""
    found: dict[str, str] = {}
    for draft in drafts:
        said = draft.body.get("belief") or draft.body.get("episode")
        if not said or "echo" in draft.body or UNDOES in draft.body or not speaks_for_all(said):
            continue
        if said.get("trust", "human") in DEFAULT.quarantined:
            continue
        user, mine = said.get("user", OWNER), voice(by, said.get("trust", "human"))
        for name, teller, voices in known.distrusts.doubts(user, said.get("text") or said.get("content") or ""):
            others = {
                each for each in (*voices, mine)
                if each != teller
                and known.distrusts.against(user, by=each.removeprefix(AS_A_PERSON), seq=LATEST) is None
            }  # fmt: skip
            is_gone = known.episodes.is_retracted(name)
            if 0 < needed() <= len(others) and not known.reviews.is_approved(name) and not is_gone:
                found[name] = user
    confirmed = list[Draft]()
    for user in dict.fromkeys(found.values()):
        ids = [name for name, whose in found.items() if whose == user]
        confirmed.append(Draft(TRUST_CORROBORATE, {"user": user, "ids": ids}))
        for review in filter(None, map(known.reviews.in_question, ids)):
            answer = {"review": review, "user": user, "answer": "stale", "reason": "trusted others stated the same"}
            confirmed.append(Draft(REVIEW_ANSWER, answer))
    return confirmed
