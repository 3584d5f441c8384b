"""What a person would notice on a page, found by looking at it in a real browser.

A `Visit` remembers all that goes wrong while it is open: errors in the console, requests that fail or leave this
machine, boxes that pop up. `seen` looks at what is shown now, in each of four ways: phone and desk, light and dark.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request, Response

PICTURES = "TALLYSTICK_PICTURES"  # where pictures of all pages are put, if it names a folder
WIDTHS = {"phone": (360, 740), "desk": (1280, 800)}
SCHEMES = ("light", "dark")
PATIENCE = 20_000  # milliseconds; machines are shared
GRAVE = ("serious", "critical")
STOPS = """a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]"""

_BESIDE = 6  # what else may have the focus on a page, such as a box that scrolls

_WIDE = """() => {
  const root = document.documentElement, found = [];
  if (root.scrollWidth > root.clientWidth) found.push(`scrolls sideways: ${root.scrollWidth} > ${root.clientWidth}`);
  for (const one of document.body.querySelectorAll('*')) {
    const at = one.getBoundingClientRect(), spills = getComputedStyle(one).overflowX === 'visible';
    const end = at.x + Math.max(at.width, spills ? one.scrollWidth : 0);
    if (!one.checkVisibility() || end <= root.clientWidth + 1) continue;
    let box = one.parentElement;
    while (box !== document.body && getComputedStyle(box).overflowX === 'visible') box = box.parentElement;
    if (box === document.body) found.push(`reaches out of the page: ${one.outerHTML.slice(0, 120)}`);
  }
  return found.slice(0, 3);
}"""
_AXE = """async (rules) => (await axe.run(document, {resultTypes: ['violations'], ...rules})).violations
  .map(one => ({id: one.id, impact: one.impact, help: one.help,
                where: one.nodes.slice(0, 3).map(node => `${node.target.join(' ')}: ${node.failureSummary}`)}))"""
_FOCUS = """() => {
  window.reached = new Map();
  window.looks = one => [one, ...one.children].slice(0, 4).map(part => {  // of a picture, a part may tell
    const style = getComputedStyle(part), ring = parseFloat(style.outlineWidth) > 0 ? style.outlineStyle : 'none';
    return [ring, style.boxShadow, style.border, style.background, style.stroke, style.strokeWidth].join();
  }).join();
  document.addEventListener('focusin', ({target}) => {
    const box = target.getBoundingClientRect();
    const under = document.elementFromPoint(box.x + Math.min(box.width / 2, 20), box.y + Math.min(box.height / 2, 10));
    const free = under === null || target.contains(under) || under.contains(target)
      || [...target.labels || []].some(label => label.contains(under));
    window.reached.set(target, [window.looks(target), free]);
  });
  window.ended = false;  // the focus left the page behind its last control
  document.addEventListener('focusout', ({relatedTarget}) => { window.ended ||= relatedTarget === null; });
  document.body.tabIndex = -1;  // Tab begins at the top, wherever the focus was
  document.body.focus();
  document.body.removeAttribute('tabindex');
  window.ended = false;
}"""
_REACHED = """(stops) => {
  const name = one => one.outerHTML.slice(0, 120), wrong = [];
  for (const one of document.querySelectorAll(stops)) {
    if (!one.checkVisibility({visibilityProperty: true}) || one.disabled || one.tabIndex < 0) continue;
    const told = window.reached.get(one);
    const alike = one.type === 'radio' && [...window.reached.keys()].some(other => other.name === one.name);
    if (!told) { if (!alike) wrong.push(`Tab does not reach ${name(one)}`); }
    else if (told[0] === window.looks(one)) wrong.push(`focus is not seen on ${name(one)}`);
    else if (!told[1]) wrong.push(`something lies over ${name(one)} when it has the focus`);
  }
  return wrong.slice(0, 8);
}"""


class Visit:
    """One page in a browser of its own, and what went wrong on it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address, self.wrong = page, address.rstrip("/"), list[str]()
        self._host = urlsplit(address).netloc
        page.set_default_timeout(PATIENCE)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        page.on("request", self._asked)
        page.on("response", self._answered)
        page.on("requestfailed", self._failed)
        page.on("dialog", self._popped_up)

    def go(self, path: str) -> Page:
        """Open one of the site's pages, as soon as it can be used."""
        self.page.goto(self.address + path, wait_until="load")
        return self.page

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        if urlsplit(request.url).netloc != self._host:
            self.wrong.append(f"request to {request.url[:100]}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.wrong.append(f"{response.status} for {response.url[:100]}")

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # a stream ends with the page, an old question with a new one
            self.wrong.append(f"failed: {request.url[:100]}: {request.failure}")

    def _popped_up(self, dialog: Dialog) -> None:
        self.wrong.append(f"a box popped up: {dialog.message}")
        dialog.dismiss()


@contextmanager
def visiting(browser: Browser, address: str, **how: Any) -> Iterator[Visit]:
    """A visit in a context of its own, with its own cookies; nothing may go wrong on it."""
    context: BrowserContext = browser.new_context(**{"viewport": _size("desk"), **how})
    try:
        visit = Visit(context.new_page(), address)
        yield visit
        assert visit.wrong == [], visit.wrong
    finally:
        context.close()


def seen(visit: Visit, name: str, axe: str = "") -> list[str]:
    """What is wrong with the page that is open, looked at in all four ways. `axe` is that program, if it is here."""
    page, wrong = visit.page, list[str]()
    heads = page.locator("h1").count()
    wrong += [f"{heads} h1"] if heads != 1 else []
    if axe:
        page.evaluate(axe)
    for width in WIDTHS:
        page.set_viewport_size(_size(width))
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found = sideways(page) if scheme == "light" else []
            found += _graves(page, colours_alone=scheme == "dark") if axe else []
            wrong += [f"{width}, {scheme}: {one}" for one in found]
            _pictured(page, f"{name}-{width}-{scheme}")
    return wrong


def walked(visit: Visit) -> list[str]:
    """What is wrong for somebody who has a keyboard and no mouse: Tab goes to each control in turn, and it is seen."""
    page = visit.page
    page.evaluate(_FOCUS)
    for _ in range(page.evaluate("stops => document.querySelectorAll(stops).length", STOPS) + _BESIDE):
        page.keyboard.down("Tab")  # held down, as one does: half the messages
    page.keyboard.up("Tab")
    if not page.evaluate("window.ended"):
        return ["Tab does not come to the end of the page"]
    page.evaluate("document.activeElement.blur()")
    return page.evaluate(_REACHED, STOPS)


def sideways(page: Page) -> list[str]:
    """What does not fit into the width that there is."""
    return page.evaluate(_WIDE)


def _size(width: str) -> dict[str, int]:
    return dict(zip(("width", "height"), WIDTHS[width], strict=True))


def _graves(page: Page, *, colours_alone: bool) -> list[str]:
    """What axe finds and calls serious or worse. Only colours differ between light and dark."""
    rules = {"runOnly": ["color-contrast"]} if colours_alone else {}
    return [
        f"axe {one['id']} ({one['impact']}): {one['help']}\n    " + "\n    ".join(one["where"])
        for one in page.evaluate(_AXE, rules) if one["impact"] in GRAVE
    ]  # fmt: skip


def _pictured(page: Page, name: str) -> None:
    if folder := os.environ.get(PICTURES):
        page.screenshot(path=Path(folder) / f"{re.sub(r'[^a-z0-9-]+', '-', name)}.png", full_page=True)
