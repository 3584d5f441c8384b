"""New text for a page: a page from nothing, and an entry at the end of one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo

from tallystick.projections.markdown.draft import Draft
from tallystick.projections.markdown.escape import escaped
from tallystick.projections.markdown.fields import ORDER, STATUS_COMMENT, Value, checked, line_of
from tallystick.projections.markdown.zone import is_fixed


def new_page(
    description: str,
    tags: Iterable[str],
    title: str,
    created: datetime,
    zone: tzinfo,
    *,
    entity: str = "",
    updated: datetime | None = None,
    status: str = "active",
    needs_compact: bool = False,
    entries: Iterable[Draft] = (),
) -> str:
    """A page. It names its zone if an offset cannot, and its entity if it is told one (see `names.is_plain`)."""
    drafts = list(entries)
    said: dict[str, Value] = {
        "description": description, "tags": tags, "status": status, "created": created, "updated": updated or created,
        "entry_count": len(drafts), "needs_compact": needs_compact, "zone": zone, "entity": entity,
    }  # fmt: skip
    left_out = {name for name, is_out in (("zone", is_fixed(zone)), ("entity", not entity)) if is_out}
    lines = [line_of(name, checked(name, said[name], zone)) for name in ORDER if name not in left_out]
    lines[ORDER.index("status")] += STATUS_COMMENT
    words = " ".join(title.split())
    head = ["---", *lines, "---", "", *([f"# {escaped(words)}", ""] if words else [])]
    return "\n".join([*head, "\n".join(draft.text(zone, "\n") for draft in drafts)])


def tail_of(end: str, drafts: Iterable[Draft], zone: tzinfo | None, newline: str) -> str:
    """What to add to a page that ends in `end`: its last three characters are enough, its last four bytes too."""
    text = newline.join(draft.text(zone, newline) for draft in drafts)
    if not text or end in ("", "\ufeff"):
        return text
    gap = 0 if end.endswith(("\n\n", "\n\r\n")) else 1 if end.endswith("\n") else 2
    return gap * newline + text
