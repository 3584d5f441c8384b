"""Ordinary opposites: two words of which only one can be said of the same thing at the same time.

A short list of our own, and no more than that: "a vegetarian eats meat" is not in it. A word is looked up in small
letters, a verb in its bare form.
"""

from __future__ import annotations

_PAIRS = """
enabled/disabled on/off open/closed opened/closed open/shut allowed/forbidden permitted/forbidden allowed/banned
allowed/prohibited true/false yes/no always/never hot/cold warm/cold married/single married/divorced
married/unmarried alive/dead before/after with/without full/empty locked/unlocked public/private active/inactive
online/offline up/down valid/invalid legal/illegal possible/impossible safe/unsafe dangerous/safe visible/hidden
visible/invisible available/unavailable present/absent connected/disconnected installed/uninstalled
encrypted/unencrypted required/optional mandatory/optional stable/unstable complete/incomplete finished/unfinished
known/unknown happy/unhappy happy/sad big/small large/small tall/short long/short fast/slow quick/slow early/late
old/new old/young easy/hard easy/difficult simple/complicated cheap/expensive good/bad right/wrong
correct/incorrect correct/wrong clean/dirty dry/wet dark/light dark/bright light/heavy strong/weak rich/poor thick/thin
wide/narrow deep/shallow high/low loud/quiet soft/hard sharp/blunt awake/asleep healthy/sick healthy/ill
empty/occupied free/occupied free/busy free/taken male/female inside/outside internal/external
local/remote automatic/manual synchronous/asynchronous sync/async mutable/immutable read-only/writable
accepted/rejected approved/rejected passing/failing passed/failed
working/broken success/failure successful/failed guilty/innocent paid/unpaid
increasing/decreasing rising/falling supported/unsupported used/unused tab/space uppercase/lowercase
sweet/sour raw/cooked permanent/temporary odd/even positive/negative

like/dislike like/hate love/hate love/dislike enjoy/hate enjoy/dislike allow/forbid allow/prohibit permit/forbid
allow/ban enable/disable accept/reject accept/refuse approve/reject increase/decrease
grow/shrink pass/fail include/exclude trust/distrust agree/disagree
support/oppose succeed/fail
"""

_OPPOSITES: dict[str, frozenset[str]] = {}
for _pair in _PAIRS.split():
    _one, _other = _pair.split("/")
    _OPPOSITES[_one] = _OPPOSITES.get(_one, frozenset()) | {_other}
    _OPPOSITES[_other] = _OPPOSITES.get(_other, frozenset()) | {_one}
_NONE: frozenset[str] = frozenset()


def are_opposite(one: str, other: str) -> bool:
    """Whether the two exclude each other. The order does not matter; no word is opposed to itself."""
    return other in _OPPOSITES.get(one, _NONE)


def pole(verb: str) -> str:
    """The verb under which a verb and its opposites are found: "like" for like, love, hate and dislike."""
    return _POLES.get(verb, verb)


def implies(verb: str, weaker: str) -> bool:
    """Whether who does the first does the second: to love is to like."""
    return _WEAKER.get(verb) == weaker


_POLES = {
    "dislike": "like", "hate": "like", "love": "like", "enjoy": "like", "forbid": "allow", "prohibit": "allow",
    "ban": "allow", "permit": "allow", "disable": "enable", "reject": "accept", "refuse": "accept",
    "approve": "accept", "decrease": "increase", "shrink": "grow", "fail": "pass", "succeed": "pass",
    "exclude": "include", "distrust": "trust", "disagree": "agree", "oppose": "support",
}  # fmt: skip
_WEAKER = {"love": "like", "enjoy": "like", "hate": "dislike"}
