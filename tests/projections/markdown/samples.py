"""A page as it is documented, and what Hypothesis draws hostile pages and bodies from."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from tallystick.projections.markdown import Draft, Entry

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 7, 20, 12, 0, 0, tzinfo=UTC)

SAMPLE = """\
---
description: Identity and background of the user
tags: [identity, background]
status: active           # active | dormant | archived
created: 2026-04-20T14:02:11+08:00
updated: 2026-04-21T09:15:00+08:00
entry_count: 4
needs_compact: false
---

# User Profile

## [2026-04-20T14:02:11] {id: 20260420-1402-a1b23c} #identity
User goes by Kming. Based in Shanghai.

## [2026-04-20T16:30:05] {id: 20260420-1630-3f0e99} #work #employer
~~User works at Old Corp as a principal engineer.~~ #superseded-by:20260421-0915-c4f1a5

## [2026-04-21T09:15:00] {id: 20260421-0915-c4f1a5} #work #employer
User joined Acme Corp as a senior engineer.
"""

HEADING = "## [2026-04-20T14:02:11] {id: 20260420-1402-a1b23c} #work"

PIECES = [
    "\\", "\\\\", "~", "~~", "~~~", "`", "```", "```py\n", "\n```\n", "#", "# ", "## ", "### ", "####### ", "\n",
    "\n\n", " ", "   ", "    ", "\t", "\r", "\r\n", "x", "Ana likes tea.", "-", "---", "\n---\n", "===", "\n=\n",
    "- ", "...", "<", "<!--", "-->", "<!-- supersedes: 20260420-1630-3f0e99 -->",
    "#superseded-by:20260420-1630-3f0e99", "#SUPERSEDED-BY:", "#retracted", "#Retracted", "#tag", "&#13;", "&#10;",
    "&#126;", "&#92;", "&#39;", "&#013;", "&#99999;", "&amp;", "&", "\0", "\x1b[31m", "\x7f", "\x85", "\u00a0",
    "\u2028", "\u2029", "\u200b", "\u202e", "\ufeff", "\ud800", "\udc80", "é", "e\u0301", "漢字", "שלום", "😀", HEADING,
    HEADING + "\n", "\n" + HEADING + "\n", "{id: 20260420-1402-a1b23c}", "[2026-04-20]", "<b>", "</details>",
    "<script>", "<?php", "<!DOCTYPE", "http://a.b/#c", "C:\\#1\\~x", "status: archived",
]  # fmt: skip

bodies = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=10).map("".join),
    st.text(st.characters(), max_size=40),
    st.text("\\~#-=`<!& \n\r\tx;13", max_size=24),
)

FRONT_PIECES = [
    "key: value\n", "status: archived  # by hand\n", "status: sleeping\n", "tags: [a, b]\n",
    "tags:\n  - a # one\n  - b\n", "tags:\n- a\n", "tags: a, b\n", "created: 2026-04-20\n",
    "created: 2026-04-20T14:02:11+08:00\n", "updated:\n", "updated: 2026-04-21T09:15:00\n", "zone: Europe/Berlin\n",
    "zone: \"-03:30\"\n", "zone: Nowhere/Land\n", "entry_count: 4\n", "description: >\n  Two\n  lines\n",
    "description: 'it''s: #1'\n", "description: # none\n", "entry_count: many\n", "needs_compact: yes\n",
    "needs_compact: maybe\n", "# a comment\n", "\n", "x: {a: [b, *c]}\n", "y: &c !!str z\n", "<<: *c\n", "- ", "? ",
    ": ", "[", "{", "'", '"', "\\", "!", "|\n", "%YAML 1.9\n", "@", "\t", "\r", "\r\n", "\0", "\u2028", "é", "--- ",
    "...x\n", "\ufeff",
]  # fmt: skip

fronts = st.lists(st.sampled_from(FRONT_PIECES), max_size=8).map(lambda lines: f"---\n{''.join(lines)}---\n")
any_texts = st.one_of(
    st.tuples(st.sampled_from(["", "\ufeff"]), st.one_of(st.just(""), st.just("---\n"), fronts), bodies).map("".join),
    st.text(st.characters(), max_size=60),
)

ids = st.builds("20260420-{:04d}-{:06x}".format, st.integers(0, 2359), st.integers(0, 2**24 - 1))
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=0)
)
drafts = st.builds(
    Draft,
    ids,
    moments,
    st.lists(st.sampled_from(["work", "a/b", "x_1", "日本", "हिन्दी", "été"]), min_size=1, max_size=3).map(tuple),
    bodies,
    st.lists(ids, max_size=2, unique=True).map(tuple),
    st.one_of(st.just(""), ids),
    st.booleans(),
)


def draft_of(entry: Entry) -> Draft:
    """The draft that an entry on a page was written from."""
    return Draft(entry.id, entry.at, entry.tags, entry.body, entry.supersedes, entry.superseded_by, entry.is_retracted)


def draft(body: str = "Ana likes tea.", number: int = 1, **more: object) -> Draft:
    return Draft(f"20260720-1200-{number:06x}", NOON, ("drinks",), body, **more)
