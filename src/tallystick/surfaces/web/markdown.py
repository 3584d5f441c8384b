"""Stored Markdown as HTML that can do no harm: nothing runs, nothing is fetched, nothing looks like a part of our page.

Twice over: the parser knows no HTML and makes none but its own, and whatever comes out is cleaned again by a list of
what is allowed. No image is ever shown, whose mere loading would tell somebody: its words stand there instead. Links
lead to web pages and to mail, and to nothing on this site. Headings stand below those of the page around them.

A text costs no more than its length allows: parsers can be made to take long over little, so one that is long is shown
as it is written, and how much of a page is read as Markdown has an end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from tallystick.surfaces.web.plain_text import visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

LONGEST = 10_000  # characters that are read as Markdown
TOGETHER = 40_000  # of all texts of a page
TAGS = frozenset(
    ("p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "pre", "code", "em", "strong", "s", "a")
    + ("table", "thead", "tbody", "tr", "th", "td")
)
ATTRIBUTES: dict[str, set[str]] = {"*": set(), "a": {"href"}, "ol": {"start"}}
SCHEMES = frozenset(("http", "https", "mailto"))
REL = "noopener noreferrer nofollow"

_NESTING = 12  # lists in quotes in lists; nobody writes more
_DEEPER = 2  # a heading of an entry, below the page's own


def html(text: str) -> Markup:
    """What was stored, for a page. Whatever it says, it is only read."""
    return as_written(text) if len(text) > LONGEST else _rendered(visible(text))


def all_html(texts: Iterable[str]) -> Iterator[Markup]:
    """Several texts of one page: the first of them as Markdown, and when they have become much, the rest as written."""
    left = TOGETHER
    for text in texts:
        left -= len(text)
        yield html(text) if left >= 0 else as_written(text)


def as_written(text: str) -> Markup:
    """The text itself, every sign of it."""
    return Markup("<pre>{}</pre>").format(visible(text))


@lru_cache(maxsize=500)
def _rendered(text: str) -> Markup:
    made = _cleaned(_parser().render(text))
    return Markup(visible(made))  # again: what was written as a number, like &#x202e;, is a sign only now


def _cleaned(made: str) -> str:
    import nh3

    return nh3.clean(
        made, tags=set(TAGS), attributes=ATTRIBUTES, url_schemes=set(SCHEMES), link_rel=REL, url_relative="deny",
        generic_attribute_prefixes=set(), clean_content_tags=set(),
    )  # fmt: skip


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING, "xhtmlOut": False, "langPrefix": ""})
    made.enable(["table", "strikethrough"]).disable(["html_block", "html_inline", "reference"])
    made.add_render_rule("image", _image)
    made.core.ruler.push("deeper", _deeper)
    return made


def _image(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    """In place of an image: what it is said to show."""
    return str(Markup("[image: {}]").format(tokens[at].content.strip() or "without a description"))


def _deeper(state: StateCore) -> None:
    """Headings of an entry stand below those of the page."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + _DEEPER, 6)}"
