"""Pages: one Markdown file per entity, for people to read, grep, diff and edit. Text in, text out; no file is touched.

    ---
    description: Who Ana is
    tags: [identity]
    status: active  # active | dormant | archived
    created: 2026-04-20T14:02:11+02:00
    updated: 2026-04-21T09:15:00+02:00
    entry_count: 2
    needs_compact: false
    zone: Europe/Berlin
    ---

    # Ana

    ## [2026-04-20T16:30:05] {id: 20260420-1630-3f0e99} #work #superseded-by:20260421-0915-c4f1a5
    ~~Ana works at Old Corp.~~

    ## [2026-04-21T09:15:00] {id: 20260421-0915-c4f1a5} #work
    Ana joined Acme.

`parse` reads any text, and keeps all of it. `new_page` writes a page; `Edit` changes one, byte by byte where it must
be; `grown` adds to a page that is too long to be parsed for that. A body is written so that it is read as it was said,
and so that nothing in it is taken for an entry, a tag, a status or a strike (`escape`). Times are on the user's clock
(`zone`); `names` has the file of each entity.

Beyond the documented fields a page has `zone`, if an offset does not say it, and `entity`, if the file name does not.
"""

from tallystick.projections.markdown.edit import Draft, Edit, grown, new_page
from tallystick.projections.markdown.names import entity_of, file_name, file_of, is_plain
from tallystick.projections.markdown.page import Entry, Front, Page, Problem, Span
from tallystick.projections.markdown.parse import parse

__all__ = [
    "Draft", "Edit", "Entry", "Front", "Page", "Problem", "Span", "entity_of", "file_name", "file_of", "grown",
    "is_plain", "new_page", "parse",
]  # fmt: skip
