"""A person is asked through the client, in either era of the protocol, and only a yes to what was shown counts."""

import dataclasses

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tallystick.records.errors import NeedsApproval
from tallystick.surfaces.mcp.server import LONGEST_QUESTION
from tallystick.surfaces.mcp.tools.write import FORGET
from tests.surfaces.mcp.played import MODERN, YES, both_eras, calling, line, play


@both_eras
def test_a_yes_is_put_on_record_as_a_persons_and_done(hold, owner, tea, era):
    shown: list[str] = []
    given = {"id": tea, "text": "Ana switched to coffee", "reason": "she\n  | said so"}

    done = play(hold, calling("revise", **given), era=era, shown=shown)

    assert not done.is_error
    assert owner.show(tea).text == "Ana switched to coffee"
    assert done.structured_content == {"id": owner.show(tea).id, "status": "revised"}
    [message] = shown
    assert "  | Ana prefers tea over coffee" in message
    assert "  | Ana switched to coffee" in message
    assert "  |   | said so" in message
    [review] = owner.reviews.all()
    assert (review.status, review.answered_by, review.action.by) == ("approved", "elicit:local", "mcp:local")


@both_eras
def test_several_that_need_a_yes_are_asked_for_one_after_the_other(hold, owner, tea, era):
    chess = owner.remember("Bob plays chess").id
    shown: list[str] = []

    done = play(hold, calling("forget", ids=[tea, chess], confirm=True), era=era, shown=shown)

    assert done.structured_content["done"] is True
    assert len(shown) == 2
    assert owner.beliefs.query() == []


NOT_A_YES = {
    "a no": types.ElicitResult(action="decline"),
    "no, in words": types.ElicitResult(action="accept", content={"answer": "no"}),
    "cancelled": types.ElicitResult(action="cancel"),
    "nothing in it": types.ElicitResult(action="accept"),
    "another word": types.ElicitResult(action="accept", content={"answer": "Yes, do it"}),
    "another field": types.ElicitResult(action="accept", content={"approve": True}),
    "true": types.ElicitResult(action="accept", content={"answer": True}),
}


@both_eras
def test_anything_but_a_yes_changes_nothing_and_is_said(hold, owner, era):
    held = {how: owner.remember(f"Ana likes {how}").id for how in NOT_A_YES}
    replies = iter(NOT_A_YES.values())

    async def scene(client):
        return {how: await client.call_tool("forget", {"ids": [name], "confirm": True}) for how, name in held.items()}

    for how, done in play(hold, scene, era=era, reply=lambda: next(replies)).items():
        assert done.is_error, how
        assert line(done).startswith("Not done: "), how
        assert "Nothing was changed." in line(done), how
        assert ("rejected" in line(done)) == (how in ("a no", "no, in words"))
        assert owner.show(held[how]).is_held, how
    assert [review.status for review in owner.reviews.all()] == ["rejected"] * 2 + ["waiting"] * 5


@both_eras
def test_a_client_that_cannot_ask_gets_the_command_for_a_person(hold, owner, tea, era):
    hold.person = dataclasses.replace(hold.person, options=" --user bob")
    done = play(hold, calling("forget", ids=[tea], confirm=True), era=era, reply=None)

    [review] = owner.reviews.waiting()
    assert done.is_error
    assert f"`tallystick review approve {review.id} --user bob`" in line(done)
    assert owner.show(tea).is_held


@both_eras
def test_where_the_policy_names_who_answers_the_dialog_is_not_put(hold, owner, tea, folder, era):
    (folder / "tallystick.toml").write_text('[policy]\napprovers = ["cli:*"]\n')
    shown: list[str] = []

    done = play(hold, calling("forget", ids=[tea], confirm=True), era=era, shown=shown)

    assert shown == []
    assert "tallystick review approve" in line(done)
    assert owner.show(tea).is_held


def test_what_is_too_long_to_show_is_not_asked_in_a_dialog(hold, owner):
    long = owner.remember("a b " * LONGEST_QUESTION).id
    shown: list[str] = []

    done = play(hold, calling("forget", ids=[long], confirm=True), era="legacy", shown=shown)

    assert shown == []
    assert done.is_error
    assert owner.show(long).is_held


@both_eras
def test_a_rule_may_ask_for_a_yes_to_what_an_agent_remembers(hold, owner, folder, era):
    rule = '[[policy.rules]]\naction = "remember"\ntrust = "agent"\nthen = "review"\n'
    (folder / "tallystick.toml").write_text(rule)

    done = play(hold, calling("remember", text="Bob plays chess", tags=["game"]), era=era)

    [belief] = owner.beliefs.query()
    assert done.structured_content == {"id": belief.id, "status": "remembered"}
    assert belief.tags == ("game",)


def test_what_changed_while_the_person_thought_is_not_done(hold, owner, tea):
    def think():
        owner.revise(tea, "Ana drinks water")
        return YES

    done = play(hold, calling("forget", ids=[tea], confirm=True), era="legacy", reply=think)

    assert done.is_error
    assert "stale" in line(done)
    assert owner.show(tea).text == "Ana drinks water"


@both_eras
def test_a_tool_that_never_has_enough_asks_once(hold, owner, tea, era, monkeypatch):
    asked: list[str] = []

    def run(desk, args):
        asked.append(asked[0] if asked else desk.memory.propose(desk.memory.action("forget", tea)).id)
        raise NeedsApproval("once more", asked[0])

    shown: list[str] = []
    tool = dataclasses.replace(FORGET, run=run)
    done = play(hold, calling("forget", ids=[tea], confirm=True), era=era, shown=shown, tools=[tool])

    assert len(shown) == 1
    assert "tallystick review approve" in line(done)


# -- what a client brings back -----------------------------------------------------------------------------------------


async def asked_back(client, tea, **more):
    """The first leg by hand: what the server wants back."""
    return await client.session.call_tool("forget", {"ids": [tea], "confirm": True}, allow_input_required=True, **more)


@pytest.mark.parametrize("spoil", [lambda state: state[:-2] + "AA", lambda _: "v1.AAAA", lambda _: '["r-1", "d"]'])
def test_a_state_that_the_server_did_not_seal_is_refused(hold, owner, tea, spoil):
    async def scene(client):
        first = await asked_back(client, tea)
        assert tea not in first.request_state
        with pytest.raises(MCPError, match="requestState"):
            await asked_back(client, tea, input_responses={"yes": YES}, request_state=spoil(first.request_state))

    play(hold, scene, era=MODERN)

    assert owner.show(tea).is_held


def test_a_yes_to_one_call_is_none_to_another_and_is_used_once(hold, owner, tea):
    other = owner.remember("Bob plays chess").id

    async def scene(client):
        first = await asked_back(client, tea)
        brought = {"input_responses": {"yes": YES}, "request_state": first.request_state}
        with pytest.raises(MCPError, match="requestState"):
            await client.session.call_tool("forget", {"ids": [other], "confirm": True}, **brought)
        done = await asked_back(client, tea, **brought)
        assert not done.is_error
        return await asked_back(client, tea, **brought)

    again = play(hold, scene, era=MODERN)

    assert again.is_error
    assert "approved" in line(again)
    assert owner.show(other).is_held
    assert not owner.show(tea).is_held


def test_a_yes_that_nobody_asked_for_is_no_yes(hold, owner, tea):
    async def scene(client):
        return await asked_back(client, tea, input_responses={"yes": YES})

    found = play(hold, scene, era=MODERN)

    assert isinstance(found, types.InputRequiredResult)
    assert owner.show(tea).is_held
