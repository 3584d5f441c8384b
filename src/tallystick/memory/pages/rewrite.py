"""Reading a rewrite of a page: the Markdown of the whole page, from a person or a model.

A rewrite is about the entries alone. What stands around them must be there as it was, and whatever in it is not
understood is a reason to refuse it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tallystick.projections.markdown import Entry, Page, parse
from tallystick.projections.markdown.compact.check import Loss, loss
from tallystick.projections.markdown.compact.notes import Statement
from tallystick.projections.markdown.zone import on_the_clock
from tallystick.projections.pages.fold import tags_shown
from tallystick.records.errors import Refused

_COUNTERS = ("updated", "entry_count", "needs_compact")  # they follow the page, whatever a rewrite says


def read_rewrite(text: object, page: Page) -> Page:
    """The rewrite, on the clock of the page whose rewrite it is. Refused, if it is no text."""
    if not isinstance(text, str) or not text.strip():
        raise Refused(
            "a rewrite must be the Markdown of the whole page; it is empty", "required"
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused(
            f"character {error.start} of the rewrite is a lone surrogate; decode it again", "text"
        ) from None
    return parse(text, page.zone)


def around(page: Page, rewrite: Page) -> Iterator[Loss]:
    """What a rewrite changes beside the entries, and what in it is not understood."""
    known = {problem.reason for problem in page.problems}
    for problem in rewrite.problems:
        if problem.reason not in known:
            yield loss("problem", "", "", f"line {problem.line} of the rewrite: {problem.reason}")
    if rewrite.front.fault and not page.front.fault:
        yield loss("front", "", "", f"the front matter of the rewrite cannot be read: {rewrite.front.fault}")
    elif changed := [name for name in _names(page, rewrite) if _said(page, name) != _said(rewrite, name)]:
        yield loss("front", "", ", ".join(changed), "the front matter says something else")
    if page.title.split() != rewrite.title.split():
        yield loss("heading", "", page.title or rewrite.title, "the title is another")
    if page.preamble.split() != rewrite.preamble.split():
        yield loss("heading", "", page.preamble, "what stands before the entries is another")


def _names(page: Page, rewrite: Page) -> list[str]:
    fields = dict.fromkeys([*page.front.fields, *rewrite.front.fields])
    return [name for name in fields if name not in _COUNTERS]


def _said(page: Page, name: str) -> object:
    if name == "created" and page.front.created is not None:
        return page.front.created
    field = page.front.fields.get(name)
    if field is None:
        return None
    start, end = field.value_span
    return page.text[start:end] if field.value is None else field.value


def statements(rewrite: Page, page: Page, before: Sequence[Statement]) -> list[Statement]:
    """The entries of the rewrite. Headings that were empty on the page are passed over here too."""
    known = {each.id: each for each in before}
    untagged = {entry.id for entry in page.entries if not entry.tags}
    return [_statement(entry, page, known, untagged) for entry in rewrite.entries if entry.id or entry.body.strip()]


def _statement(entry: Entry, page: Page, known: Mapping[str, Statement], untagged: set[str]) -> Statement:
    tags = tags_shown(entry.tags, "") if entry.tags else ()
    if not tags and entry.id in untagged and entry.id in known:
        tags = known[entry.id].tags
    return Statement(
        entry.id, on_the_clock(entry.at, page.zone) if entry.at else entry.time, entry.body, tags,
        entry.superseded_by, not entry.superseded_by and (entry.is_retracted or entry.is_struck), entry.supersedes,
    )  # fmt: skip
