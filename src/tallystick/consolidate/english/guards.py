"""Which sentences are not read at all: questions, orders, what is supposed, wished, made up or told by another."""

from __future__ import annotations

from tallystick.text.tokens import Phrases, Token
from tallystick.text.word_lists import ASKS, EXAMPLES, HEDGES, LEADS, MAKES_UP, ORDERS, SAID, UNREAL, set_of

_SUBJECTS = set_of("i you we he she they it there this that my your the anyone anybody someone")
_KIDDING = Phrases(
    "just kidding", "only kidding", "i'm kidding", "i was kidding", "kidding", "just joking", "i'm joking", "jk",
    "only joking", "i'm just kidding",
)  # fmt: skip
_IN_FICTION = (
    "in the story", "in my story", "in the game", "in my novel", "in the novel", "in my dream", "my character ",
)  # fmt: skip
_PLEASE = set_of("please hey hi ok okay now could can you would so and then just")


def is_unread(tokens: list[Token], text: str) -> bool:
    """Whether a sentence must not be read."""
    low = text.lower()
    if any(phrase in low for phrase in EXAMPLES) or any(phrase in low for phrase in _IN_FICTION):
        return True
    rest = _without_lead(tokens)
    if not rest or _is_order(rest) or _is_question(rest) or _is_shouted(tokens):
        return True
    return any(token.low in UNREAL or token.low in SAID for token in rest)


def asks_for_fiction(tokens: list[Token]) -> bool:
    """ "Write a story …": what comes after may be part of it."""
    at = 0
    while at < len(tokens) - 1 and tokens[at].low in _PLEASE:
        at += 1
    lows = [token.low for token in tokens[at : at + 8]]
    if not lows:
        return False
    is_role = lows[0] in ("pretend", "imagine", "roleplay", "role-play") or lows[:2] == ["act", "as"]
    return (lows[0] in MAKES_UP and len(lows) > 1) or is_role or lows[:4] == ["tell", "me", "a", "story"]


def takes_back(tokens: list[Token]) -> bool:
    """ "Just kidding": what was said before it is not meant."""
    return len(tokens) <= 8 and (_KIDDING.begin(tokens) > 0 or _KIDDING.end(tokens) > 0)


def _without_lead(tokens: list[Token]) -> list[Token]:
    """Without a hedge or an opening that has a forbidden word in it: "if I remember correctly", "as I said"."""
    return tokens[max(HEDGES.begin(tokens), LEADS.begin(tokens)) :]


def _is_order(tokens: list[Token]) -> bool:
    at = 0
    while at < len(tokens) - 1 and tokens[at].low in _PLEASE:
        at += 1
    is_named = len(tokens) > at + 1 and tokens[at + 1].low in ("works", "lives", "is", "has", "likes", "'s", "'m")
    return tokens[at].low in ORDERS and not tokens[at].mark and not is_named


def _is_question(tokens: list[Token]) -> bool:
    return tokens[0].low in ASKS and len(tokens) > 1 and (
        tokens[1].low in _SUBJECTS or tokens[0].low in ("who", "what", "how", "why", "which", "whose", "whom")
    )


def _is_shouted(tokens: list[Token]) -> bool:
    """Capitals throughout: what is a name cannot be told."""
    words = [token.text for token in tokens if len(token.text) > 1 and token.text[0].isalpha()]
    return len(words) > 2 and sum(word.isupper() for word in words) > len(words) * 0.6
