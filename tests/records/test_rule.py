"""A rule that cannot be meant is refused where it is made."""

import pytest

from tallystick.records.errors import ConsolidationRuleError
from tallystick.records.rule import ConsolidationRule


@pytest.mark.parametrize(
    "wrong",
    [{}, {"id": ""}, {"id": 1}, {"id": "r", "when_filter": None}, {"id": "r", "cadence": "daily"},
     {"id": "r", "then_emits": "facts"}, {"id": "r", "then_emits": [""]}, {"id": "r", "then_emits": [1]},
     {"id": "r", "evry": 3}, {"id": "r", 5: 3}],
)  # fmt: skip
def test_a_rule_that_says_it_wrongly_is_refused_in_a_line(wrong):
    with pytest.raises(ConsolidationRuleError) as refusal:
        ConsolidationRule.from_dict(wrong)
    assert "\n" not in str(refusal.value)


def test_a_rule_comes_back_from_what_it_is_written_as():
    rule = ConsolidationRule(id="r", cadence={"every": 2}, when_filter="content != ''", then_emits=["a"])
    assert ConsolidationRule.from_dict(rule.to_dict()) == rule
    assert ConsolidationRule.from_dict({"id": "r"}) == ConsolidationRule(id="r")
