"""JSON files as people write them: with gaps, remarks and trailing commas wherever there may be some."""

import json

from hypothesis import strategies as st

GAPS = st.sampled_from(["", " ", "\n", "\n  ", "\r\n\t", " /* a , } ] */ ", ' // "x", {\n', "\n/* b\n*/\n"])
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.sampled_from(["mcpServers", "tallystick", "other", "hooks"]) | st.text(max_size=5)
VALUES = st.recursive(
    PLAIN | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """An object as some person might have written it."""
    value = draw(st.dictionaries(NAMES, VALUES, max_size=4))
    if draw(st.booleans()):
        value["mcpServers"] = draw(st.dictionaries(st.sampled_from(["a", "b"]), VALUES, max_size=2))
    if draw(st.booleans()):
        bom = draw(st.sampled_from(["", "\ufeff"]))
        return bom + json.dumps(value, indent=draw(st.sampled_from([None, 1, 4, "\t"])))
    return draw(GAPS) + written(draw, value) + draw(GAPS)


def written(draw: st.DrawFn, value: object) -> str:
    """A value with gaps and remarks wherever there may be some."""
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}{draw(GAPS)}:{draw(GAPS)}{written(draw, each)}" for key, each in value.items()]
    elif isinstance(value, list):
        parts = [written(draw, each) for each in value]
    else:
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    inside = ",".join(draw(GAPS) + part + draw(GAPS) for part in parts)
    last = draw(st.sampled_from(["", ","])) + draw(GAPS) if parts else draw(GAPS)
    return ("{%s}" if isinstance(value, dict) else "[%s]") % (inside + last)
