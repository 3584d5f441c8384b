"""What Hypothesis draws from: texts that break things, and beliefs made of them."""

from __future__ import annotations

from hypothesis import strategies as st

HOSTILE = [
    "", " ", "\n", "\r\n", "\u2028", "\u2029", "\u0085", "\x00", "\x1b[31m", "\u202e", '"}', '","hash":"', "null",
    "\\", "'", "%", "_", "/", "../..", "# [", "---", "<script>", "😀", "漢字", "ﬁ", "é", "NaN", "{" * 40,
]  # fmt: skip

texts = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(codec="utf-8"), max_size=30))
names = st.one_of(
    st.sampled_from([name for name in HOSTILE if name]), st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
)
confidences = st.floats(0, 1, allow_nan=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
