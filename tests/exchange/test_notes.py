"""Notes of other systems: what was noted of whom, and what only looks like a note."""

from hypothesis import strategies as st

from tallystick.exchange import markdown_notes, mcp_memory
from tests.exchange.reading import Read, lines, told

# -- the MCP reference server ------------------------------------------------------------------------------------------


def test_entities_and_relations_are_read_in_every_spelling() -> None:
    data = told(
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["drinks tea", "", 7]},
        {"type": "entity", "entityName": "Acme", "entity_type": "org", "observations": []},
        {"type": "relation", "from": "Ana", "to": "Acme", "relationType": "works_at"},
        {"type": "relation", "from_id": "Acme", "to_id": "Ana", "relation_type": "employs"},
        {"type": "relation", "from": "Acme"},
    )
    assert mcp_memory.looks_like(data)
    read = Read(mcp_memory.items(lines(data)))
    assert [(note.about, note.text, note.triple) for note in read.notes] == [
        ("Ana", "drinks tea", None), ("Acme", "", None), ("Ana", "Ana works at Acme", ("Ana", "works_at", "Acme")),
        ("Acme", "Acme employs Ana", ("Acme", "employs", "Ana")),
    ]  # fmt: skip
    assert read.skipped == ["line 1", "line 5"]


_WORD = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(str.strip).map(str.strip)


# -- Markdown ----------------------------------------------------------------------------------------------------------

PAGE = b"""---
title: Ana
type: person
tags: [team, tea]
modified: 2026-05-03
---
# About

She leads the **team**, with [[Bob|her brother]].

## Likes
- [preference] drinks tea #taste (at work)
- [ ] [x] buy tea
- works_at [[Acme#Berlin]] (since May)
1. first
   goes on

```
# not a heading

- [x] nor an item
```
"""


def test_a_page_gives_observations_relations_and_paragraphs() -> None:
    read = Read(markdown_notes.items("people/ana.md", PAGE))
    assert not read.skipped
    assert [(note.text, note.triple) for note in read.notes] == [
        ("She leads the **team**, with [[Bob|her brother]].", None),
        ("drinks tea #taste (at work)", None),
        ("[x] buy tea", None),
        ("Ana works at Acme (since May)", ("Ana", "works_at", "Acme")),
        ("first\n   goes on", None),
        ("```\n# not a heading\n\n- [x] nor an item\n```", None),
        ("Ana links to Bob", ("Ana", "links to", "Bob")),
    ]
    assert {(note.about, note.kind, note.at) for note in read.notes} == {
        ("Ana", "person", "2026-05-03T00:00:00.000000Z")
    }
    observed = read.notes[1]
    assert observed.tags == ("team", "tea", "taste")
    assert observed.metadata == {
        "file": "people/ana.md", "headings": ["About", "Likes"], "category": "preference",
    }  # fmt: skip


def test_what_looks_like_a_relation_or_a_tag_and_is_none_is_left_as_it_is() -> None:
    page = b"""- met Bob yesterday on the way to the office of [[Acme]]
- [[Tea]]
- see #42 and #tea/green, `x`
- ![[cup.png]] a picture

* * *

<!-- a remark [[Hidden]] -->

%% another %%

```
[[Nowhere]] #not-a-tag
```
"""
    read = Read(markdown_notes.items("x.md", page))
    assert [(note.text, note.tags, note.triple) for note in read.notes] == [
        ("met Bob yesterday on the way to the office of [[Acme]]", (), None),
        ("see #42 and #tea/green, `x`", ("tea/green",), None),
        ("![[cup.png]] a picture", (), None),
        ("```\n[[Nowhere]] #not-a-tag\n```", (), None),
        ("x links to Acme", (), ("x", "links to", "Acme")),
        ("x links to Tea", (), ("x", "links to", "Tea")),
    ]


def test_front_matter_that_is_no_yaml_is_told_and_the_words_are_taken() -> None:
    for front in (b"a: [1", b"a: &a [*a, " + b"b, " * 40_000 + b"]", b"[" * 5_000):
        read = Read(markdown_notes.items("x.md", b"---\n" + front + b"\n---\nWords.\n"))
        assert [(note.about, note.text) for note in read.notes] == [("x", "Words.")]
        assert read.skipped == ["x.md, front matter"]


def test_a_title_of_digits_is_a_title() -> None:
    for front in (b"title: 2026", b"title: 2026-05-03\ntags: [1, null, [a]]\ncreated: never"):
        (note,) = Read(markdown_notes.items("x.md", b"---\n" + front + b"\n---\nWords.\n")).notes
        assert note.about.startswith("2026")
        assert (note.tags, note.at) in [((), ""), (("1",), "")]


def test_a_file_that_is_not_text_or_is_empty_is_told() -> None:
    for data in (b"", b"\n\n", b"a\x00b", b"---\ntitle: x\n---\n"):
        read = Read(markdown_notes.items("x.md", data))
        assert not read.notes
        assert read.skipped == ["x.md"]


def test_observations_that_are_no_text_and_letters_that_are_no_utf8_are_told() -> None:
    data = told(
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["tea", 3, {"text": "x"}]},
        {"type": "entity", "name": "Bob", "entityType": "person", "observations": "tall"},
    )
    read = Read(mcp_memory.items(lines(data)))
    assert [(note.about, note.text) for note in read.notes] == [("Ana", "tea"), ("Bob", "tall")]
    assert read.skipped == ["line 1"]
    read = Read(markdown_notes.items("a.md", "Tea \ufffd caf\xe9".encode() + b" caf\xe9"))
    assert [note.text for note in read.notes] == ["Tea \ufffd caf\xe9 caf\ufffd"]
    assert read.skipped == ["a.md, some characters"]
