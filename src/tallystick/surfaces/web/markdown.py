"""Stored Markdown as harmless HTML: nothing runs, nothing is fetched, nothing can pass for part of our page.

The parser accepts no HTML, and its output is sanitised again with an allow-list. Images are replaced by their
descriptions, because loading one would tell its server. Links lead to web pages and e-mail addresses, never to this
site. Headings are below those of the surrounding page.

Parsers can be made slow with little text, so a long text is shown as it is written, and the amount of Markdown on a
page is limited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from tallystick.surfaces.present.text import visible_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

LONGEST = 10_000  # characters of a text that is parsed as Markdown
TOGETHER = 40_000  # of all texts on a page
TAGS = frozenset(
    ("p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "pre", "code", "em", "strong", "s", "a")
    + ("table", "thead", "tbody", "tr", "th", "td")
)
ATTRIBUTES: dict[str, set[str]] = {"*": set(), "a": {"href"}, "ol": {"start"}}
SCHEMES = frozenset(("http", "https", "mailto"))
REL = "noopener noreferrer nofollow"

_NESTING = 12  # lists in quotes in lists
_DEEPER = 2  # levels that a heading of an entry is below the page's own


def html(text: str) -> Markup:
    """A stored text as HTML."""
    return as_written(text) if len(text) > LONGEST else _rendered(visible_lines(text))


def all_html(texts: Iterable[str]) -> Iterator[Markup]:
    """The texts of one page: as Markdown up to a total length, then as written."""
    left = TOGETHER
    for text in texts:
        left -= len(text)
        yield html(text) if left >= 0 else as_written(text)


def as_written(text: str) -> Markup:
    """The text itself, every character of it."""
    return Markup("<pre>{}</pre>").format(visible_lines(text))


@lru_cache(maxsize=500)
def _rendered(text: str) -> Markup:
    import nh3

    clean = nh3.clean(
        _parser().render(text), tags=set(TAGS), attributes=ATTRIBUTES, url_schemes=set(SCHEMES), link_rel=REL,
        url_relative="deny", generic_attribute_prefixes=set(), clean_content_tags=set(),
    )  # fmt: skip
    return Markup(visible_lines(clean))  # again: a numeric reference like &#x202e; is a character only now


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING, "xhtmlOut": False, "langPrefix": ""})
    parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline", "reference"])
    parser.add_render_rule("image", _image)
    parser.core.ruler.push("deeper", _deeper)
    return parser


def _image(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    return str(Markup("[image: {}]").format(tokens[at].content.strip() or "without a description"))


def _deeper(state: StateCore) -> None:
    """Move an entry's headings below those of the page."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + _DEEPER, 6)}"
