"""Fields that callers give, the same over HTTP and over MCP: their descriptions, and the number of an event."""

from typing import Any

from pydantic import BaseModel

FIELDS = {
    "about": "The entity that it is about, and so its page: person-ana.",
    "kind": "fact, preference, instruction, decision, …",
    "confidence": "From 0 to 1.",
    "source_type": "How it was learned: observed, inferred, …",
    "evidence": "What supports it: a quotation, a file, a link.",
    "tags": "Words to find it by.",
    "is_hypothesis": "true for a guess.",
    "rests_on": "Ids or keys of the beliefs that it depends on.",
    "triple": "Empty, or subject, predicate, object.",
    "valid_from": "Since when it is true in the world: 2026-05-03.",
    "valid_to": "Until when it is true in the world.",
    "expires": "When recall stops serving it.",
    "always": "Serve it in every frame whose filters it passes.",
    "data": "Any JSON of yours.",
    "session": "The label of the conversation.",
    "agent": "The name of the agent that states it.",
    "path": "The branch of the conversation; empty: the main one.",
    "keep_secrets": "Do not mask secrets in it; only with a person's trust.",
    "reason": "The reason.",
}


class Described(BaseModel):
    """A model whose fields are described here, unless it describes them itself."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        for name, field in cls.model_fields.items():
            field.description = field.description or FIELDS.get(name)
        cls.model_rebuild(force=True)


def event_number(value: Any) -> Any:
    """The number of an event, which may come as text; anything else as it is."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16 else value
