"""One file per entity, on every disk, and never outside of the folder. Tags and zones are names too."""

import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from tallystick.projections.markdown import entity_of, file_name, file_of, is_plain
from tallystick.projections.markdown.names import is_tag, tag_of
from tallystick.projections.markdown.zone import in_full, moment, on_the_clock, zone_name, zone_named
from tallystick.records.entity import PREFIXES
from tallystick.records.errors import Refused
from tests.projections.markdown.samples import moments
from tests.refusals import refuses

names = st.one_of(
    st.text(st.characters(), min_size=1, max_size=12),
    st.text("aAäÄıIİiſsSßσςΣ\u0301\u200d\ufe0f-_. /\\", min_size=1, max_size=6),
    st.sampled_from(["..", ".", "/etc/passwd", "../../x", "CON", "nul", "a\0b", "\ud800", "-", "--"]),
    st.sampled_from(["x" * 5000, "漢" * 200]),
)


@pytest.mark.parametrize(
    ("about", "file"),
    [
        ("user-profile", "user-profile.md"),
        ("person-ana-maria", "person-ana-maria.md"),
        ("event-2026-04-22", "event-2026-04-22.md"),
        ("topic-日本語", "topic-日本語.md"),
        ("topic-rust_async", "topic-rust_async.md"),
        ("", "topic-notes.md"),
    ],
)
def test_a_plain_name_is_its_file(about, file):
    assert file_of(about) == file
    assert entity_of(file) == (about or "topic-notes")
    assert is_plain(about)


@pytest.mark.parametrize(
    ("about", "begins"),
    [
        ("person-Ana María", "person-ana-maría--"),
        ("tool-node.js", "tool-node-js--"),
        ("org-Straße", "org-strasse--"),
        ("topic-../../etc/passwd", "topic-etc-passwd--"),
        ("topic-!!!", "topic-unnamed--"),
        ("topic-" + "x" * 500, "topic-" + "x" * 80 + "--"),
        ("Ana", "topic-ana--"),
        ("person-", "topic-person--"),
        ("topic-josé--5b1c9d20e7", "topic-josé-5b1c9d20e7--"),
    ],
)
def test_a_name_that_is_not_plain_gets_a_hash_and_is_told_by_the_page(about, begins):
    file = file_of(about)

    assert file.startswith(begins)
    assert len(file) == len(begins) + 10 + len(".md")
    assert entity_of(file) is None
    assert entity_of(file, about) == about
    assert not is_plain(about)


WAYS = (str.upper, str.lower, str.casefold, lambda name: name.upper().casefold())


def on_a_careless_disk(name):
    return {unicodedata.normalize(form, way(name)) for form in ("NFC", "NFD", "NFKC", "NFKD") for way in WAYS}


@given(st.sampled_from(PREFIXES), names, st.sampled_from(PREFIXES), names)
def test_two_names_never_share_a_file(prefix, name, other_prefix, other):
    file, other_file = file_name(prefix, name), file_name(other_prefix, other)

    if (prefix, name) == (other_prefix, other):
        assert file == other_file
    else:
        assert not on_a_careless_disk(file) & on_a_careless_disk(other_file)
    assert file_of(f"{prefix}-{name}") == file


@pytest.mark.parametrize(
    ("name", "other"),
    [("ı", "i"), ("ſ", "s"), ("ß", "ss"), ("\u212a", "k"), ("e\u0301", "é"), ("ς", "σ"), ("ﬁ", "fi"), ("İ", "i")],
)
def test_names_that_a_careless_disk_takes_for_one_have_two_files(name, other):
    assert not on_a_careless_disk(file_name("topic", name)) & on_a_careless_disk(file_name("topic", other))


def test_whatever_letter_a_name_holds_its_file_is_named_the_same_in_every_case():
    letters = [chr(code) for code in range(0x80, 0x20000) if chr(code).isalpha() and not 0x3400 < code < 0xD7A4]
    for start in range(0, len(letters), 8):
        [slug] = re.findall("topic-(.*)--", file_name("topic", " ".join(letters[start : start + 8])))
        assert file_name("topic", slug) == f"topic-{slug}.md"


@given(names, names)
def test_what_names_no_kind_shares_no_file_either(about, other):
    if about != other:
        assert not on_a_careless_disk(file_of(about)) & on_a_careless_disk(file_of(f"topic-{other}"))
    if not about.startswith(tuple(f"{prefix}-" for prefix in PREFIXES)):
        assert file_of(about) != file_of(f"topic-{about}")


@given(st.sampled_from(PREFIXES), names)
def test_a_file_name_is_safe_on_every_disk(prefix, name):
    file = file_name(prefix, name)

    assert file.startswith(f"{prefix}-")
    assert file.endswith(".md")
    assert len(unicodedata.normalize("NFD", file).encode()) <= 255
    assert not set(file[:-3]) & set("/\\.:*?\"<>|\0 \n")
    assert file.isprintable()
    assert unicodedata.normalize("NFC", file).casefold() == file
    assert entity_of(file) in (None, f"{prefix}-{name}")
    assert entity_of(file, f"{prefix}-{name}") == f"{prefix}-{name}"


NOTHING = {
    entity_of: ["notes.md", "Person-Ana.md", "person-Ana.md", "person-ana.txt", "person-.md", "x/person-a.md", ""],
    zone_named: ["", "Nowhere", "../etc/passwd", "/etc/localtime", "+25:00", "a\0b", "x" * 9999, "Europe", "+1:00"],
    lambda text: moment(text, UTC): [
        "", "now", "2026-04-20T25:00", "0001-01-01T00:00:00", "9999-12-31", "2026-04-20" * 9,
    ],
}  # fmt: skip


@pytest.mark.parametrize(("read", "text"), [(read, text) for read, texts in NOTHING.items() for text in texts])
def test_what_is_no_name_of_a_page_no_zone_or_no_time_is_none(read, text):
    assert read(text) is None


def test_a_kind_that_there_is_not_is_refused():
    with refuses("value", "'animal'"):
        file_name("animal", "cat")
    with refuses("name", "person-ana"):
        file_name("person", "")


@pytest.mark.parametrize(
    ("said", "tag"),
    [
        ("work", "work"),
        ("#work", "work"),
        ("Blue Green!", "Blue-Green"),
        ("a/b_c-d", "a/b_c-d"),
        ("e\u0301te\u0301", "été"),
        ("हिन्दी", "हिन्दी"),
        ("ไทย", "ไทย"),
        (" superseded-by:x ", "superseded-by-x"),
        ("🙂 glad", "glad"),
        ("2026", "2026"),
    ],
)
def test_what_is_said_becomes_a_tag(said, tag):
    assert tag_of(said) == tag


@pytest.mark.parametrize("said", ["", "#", "-_-", "🙂", "\u3164", "x" * 65, "é" * 1000, "Retracted", "#retracted "])
def test_what_can_be_no_tag_is_refused_in_one_line(said):
    with pytest.raises(Refused) as refused:
        tag_of(said)
    assert str(refused.value).isprintable()


@given(st.text(st.characters(), max_size=40))
def test_every_tag_is_legal_and_stays_as_it_is(said):
    try:
        tag = tag_of(said)
    except Refused:
        return
    assert is_tag(tag)
    assert tag_of(tag) == tag


ZONES = ["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "+08:00", "-03:30", "UTC"]


@given(moments, st.sampled_from(ZONES))
def test_a_time_on_the_clock_is_the_moment_it_was(at, name):
    zone = zone_named(name)

    assert zone_name(zone) == name
    for text in (on_the_clock(at, zone), in_full(at, zone), on_the_clock(at, None)):
        assert moment(text, zone).astimezone(UTC) == at


def test_a_zone_that_has_no_name_is_refused():
    with refuses("time", "'+00:00:30'"):
        zone_name(timezone(timedelta(seconds=30)))
    with open("/usr/share/zoneinfo/Europe/Berlin", "rb") as file, refuses("time", "zone None"):
        zone_name(ZoneInfo.from_file(file))


def test_an_hour_that_the_clock_leaves_out_is_still_a_moment():
    berlin = ZoneInfo("Europe/Berlin")

    assert moment("2026-03-29T02:30:00", berlin).astimezone(UTC) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
