"""Scripts without spaces, letter by letter."""

from hypothesis import given, strategies as st

from tallystick.projections.index.segmentation import has_no_spaces, runs, spread


def test_only_such_letters_are_spread_and_everything_else_parts_them():
    assert spread("我喝tea和咖啡") == "我 喝 · 和 咖 啡"
    assert spread("only English") == ""
    assert has_no_spaces("ドア")
    assert has_no_spaces("ประตู")
    assert not has_no_spaces("naïve café Привет")


def test_a_question_looks_for_pairs_or_for_the_letter_that_stands_alone():
    assert runs("咖啡店", 10) == ["咖 啡", "啡 店"]
    assert runs("茶 or 咖啡", 10) == ["茶", "咖 啡"]
    assert runs("tea", 10) == []
    assert len(runs("一二三四五六七八九十" * 9, 5)) == 5


@given(st.text(st.characters(), max_size=50))
def test_any_text_is_taken(text):
    assert (spread(text) != "") == has_no_spaces(text)
    assert all('"' not in run for run in runs(text, 64))
