"""Whatever is remembered, no page holds more than our own tags: every page that links lead to, taken apart.

What a browser makes of the same pages is in `tests/browser/test_hostile.py`.
"""

import html
import re
from urllib.parse import quote, urljoin, urlsplit

import pytest

from tallystick import Memory
from tests.hostile import ASKED, OWN, SCRIPT, made, wrong_in
from tests.surfaces.web.conftest import Page, Web

FIRST = ["/", "/pages", "/timeline", "/graph", "/reviews", "/integrity", "/beliefs/turned", "/pages/topic-hostile"]
QUESTIONS = [
    "/search?q={}", "/search?q=alert&frame=task&budget=400", "/search?q=evil&frame={}", "/search?q={}&at={}",
    "/search?q=tea&budget={}", "/pages?q={}", "/pages/{}", "/beliefs/{}", "/episodes/{}", "/timeline/{}",
    "/graph?at={}", "/graph?at=Ana&expand={}", "/reviews/{}", "/reviews?status={}", "/timeline?before={}", "/{}",
    "/timeline?kind={}&session={}&agent={}&source={}",
]  # fmt: skip
MOST = 150  # pages
FIELDS = re.compile(r'<textarea.*?</textarea>|(<input[^>]*) value="[^"]*"', re.S)  # they hold what is sent again


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "memory"
    made(folder)
    with Memory(folder) as m, Web(m) as web:
        yield web


def every_page(web):
    """What can be reached by links, the nearest first, and a few of each kind."""
    waiting, known, shapes = [*FIRST], {*FIRST}, dict[str, int]()
    for address in waiting:
        answer = web.get(address)
        assert answer.status_code < 500, (address, answer.status_code)
        page = Page(answer.text)
        yield address, page
        for link in page.all("a"):
            to = urljoin(address, link.get("href") or "").partition("#")[0]
            shape = _shape(to)
            if OWN.match(to) and to not in known and len(waiting) < MOST and shapes.get(shape, 0) < 12:
                known.add(to)
                shapes[shape] = shapes.get(shape, 0) + 1
                waiting.append(to)


def _shape(address):
    """Which kind of page that is, whatever it is about."""
    parts = urlsplit(address)
    return parts.path.split("/")[1] + "?" + ",".join(sorted(re.findall(r"(\w+)=", parts.query)))


def test_no_page_holds_tags_of_what_is_remembered_and_all_of_it_is_text(hostile):
    wrong, shown, titles = list[str](), set[str](), list[str]()
    for address, page in every_page(hostile):
        wrong += [f"{address[:80]}: {one}" for one in wrong_in(page.tags)]
        if SCRIPT in page.text:
            shown.add("/" + address.split("/")[1].partition("?")[0])
        if any(hidden in FIELDS.sub("", page.html) for hidden in "\u202e\u200b\0"):
            wrong.append(f"{address[:80]}: an invisible character")
        if "autofocus 49" in page.text:
            wrong.append(f"{address[:80]}: a template in a text was filled")
        titles += re.findall(r"<title>(.*?)</title>", page.html, re.S)[:1]  # those after it are of pictures

    assert wrong == []
    assert "[image: remote]" in Page(hostile.get("/pages/topic-hostile").text).text
    assert {"/", "/pages", "/timeline", "/reviews", "/beliefs", "/episodes"} <= shown
    assert [title for title in titles if "<" in title or not title.endswith("· tallystick")] == []


@pytest.mark.parametrize("address", QUESTIONS)
def test_what_an_address_asks_is_text_too(hostile, address):
    answer = hostile.get(address.replace("{}", quote(ASKED, safe="")), follow_redirects=True)

    page = Page(answer.text)
    assert answer.status_code < 500
    assert list(wrong_in(page.tags)) == []
    assert "alert(15)> 49" not in page.text
    assert html.unescape(page.html).count(SCRIPT) == 0 or "&lt;script&gt;" in page.html
