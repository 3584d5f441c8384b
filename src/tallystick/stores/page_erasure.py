"""Erasure on pages: the entries of erased beliefs are cut out of every page, here and in copies.

It is done under the ledger's lock, before the erasure counts as done, and doing it twice is doing it once.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from tallystick.ledger.disk import Disk
from tallystick.ledger.layout import Folder
from tallystick.projections.markdown import parse
from tallystick.projections.markdown.heading import ID
from tallystick.projections.pages.render import without
from tallystick.records.errors import NotWritten
from tallystick.stores.page_files import NoPage, PageFolder, Raced

_ID = re.compile(ID.encode())
_TRIES = 5


def cut_out(disk: Disk, folder: Folder, ids: Collection[str]) -> None:
    """Remove the entries of these ids from the pages of a folder and of its copies."""
    gone = frozenset(name.encode() for name in ids)
    for each in (folder, *folder.copies()):
        pages = PageFolder(each.pages, disk)
        for path in [path for path, _ in pages.walk()]:
            for _ in range(_TRIES):
                try:
                    _cut(pages, path, gone)
                    break
                except Raced:
                    continue
            else:
                raise NotWritten(f"{each.pages / path} keeps changing; close the program that writes to it")


def _cut(pages: PageFolder, path: str, gone: frozenset[bytes]) -> None:
    try:
        read = pages.read(path)
    except NoPage:  # a symlink, or not a regular file: no page of ours
        return
    if read is None or gone.isdisjoint(_ID.findall(read.data)):
        return
    page = without(parse(read.data), {name.decode() for name in gone})
    if page.data == read.data:
        return
    if page.entries or page.preamble:
        pages.write(path, page.data, read)
    else:  # its name may reveal what was erased; if the ledger still has the page, it is rewritten
        pages.remove(path)
