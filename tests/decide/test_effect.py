"""What a change of a record comes to, whatever it is called."""

import pytest

from tallystick.decide.effect import Effect, effects
from tallystick.decide.gate import gate
from tallystick.records.graph.lifecycle import GATED
from tallystick.records.policy import DEFAULT, Subject
from tallystick.records.review import Action

NODE = {"id": "a", "kind": "fact", "label": "tea"}
EDGE = {"id": "e", "kind": "about", "source": "a", "target": "b"}


def with_(**properties):
    return {**NODE, "properties": properties}


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        (NODE, with_(status="archived"), ["archive"]),
        (NODE, with_(status="retracted"), ["retract"]),
        (NODE, with_(status="superseded", superseded_by="b"), ["supersede", "supersede"]),
        (NODE, with_(status="done"), ["archive"]),
        (NODE, with_(status=["retracted"]), ["archive"]),
        (with_(status="retracted"), NODE, ["retract"]),
        (NODE, with_(superseded_by="b"), ["supersede"]),
        (NODE, with_(phase="stable"), ["promote"]),
        (with_(phase="lasting"), with_(phase="stable"), ["promote"]),
        (NODE, {**NODE, "merged": {"into": "b"}}, ["merge"]),
        (NODE, {**NODE, "absorbed": {"b": []}}, ["merge"]),
        (NODE, {**NODE, "valid_to": "2020-01-01"}, ["end"]),
        (NODE, {**NODE, "valid_to": "2999-01-01"}, ["end"]),
        ({**NODE, "valid_to": "2020-01-01"}, NODE, ["end"]),
        (NODE, {**NODE, "valid_from": "2999-01-01"}, ["end"]),
        (NODE, {**NODE, "weight": 0.1}, ["weaken"]),
        (EDGE, {**EDGE, "target": "c"}, ["retract"]),
        (EDGE, {**EDGE, "kind": "not_about"}, ["retract"]),
        (EDGE, {**EDGE, "source": "c", "led": [{"source": "a"}]}, ["merge"]),
        (None, with_(status="retracted"), ["retract"]),
        (None, with_(phase="lasting"), ["promote"]),
        (None, {**NODE, "merged": {"into": "b"}}, ["merge"]),
    ],
)
def test_a_change_is_the_action_it_comes_to(before, after, kinds):
    assert [each.kind for each in effects(before, after)] == kinds


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (NODE, NODE),
        (NODE, {**NODE, "label": "coffee", "aliases": ["c"], "kind": "place"}),
        (NODE, with_(status="active", phase="fluid", uses=3)),
        (NODE, {**NODE, "weight": 2.0}),
        ({**NODE, "weight": 2.0}, NODE),
        ({**NODE, "valid_from": "2026-05-03"}, {**NODE, "valid_from": "2026-05-01"}),
        (None, {**NODE, "valid_from": "2019-01-01", "valid_to": "2020-01-01", "weight": 0.1}),
        (None, with_(status="done", phase="draft")),
    ],
)
def test_what_is_said_otherwise_is_no_action(before, after):
    assert effects(before, after) == ()


@pytest.mark.parametrize("kind", sorted(GATED))
def test_the_gate_wants_an_approval_for_every_action_that_a_workspace_gates(kind):
    asked = Action(kind=Effect(kind, "x", "y").gate_word, target=("a",), trust="agent")

    assert gate(DEFAULT, asked, [Subject(trust="human")]).kind == "review"
