"""What models are told of the tools is fixed: a change of it is a change of the product, and is looked at.

After a change that is meant: `python -m tests.surfaces.mcp.test_definitions`.
"""

import json
from pathlib import Path

import jsonschema
import pytest

from tallystick import Memory
from tallystick.surfaces.mcp.profiles import PROFILES, tools_of
from tallystick.surfaces.mcp.server import defined
from tallystick.surfaces.mcp.tools import TOOLS
from tallystick.surfaces.server.worker import CallContext
from tests.surfaces.mcp.reference_page import page, page_of_profiles

ROOT = Path(__file__).parents[3]
BY_PROFILE = {name: tools_of(name) for name in PROFILES}
EVERY = [*TOOLS, *(tool for tools in BY_PROFILE.values() for tool in tools)]
each_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
any_tool = pytest.mark.parametrize("tool", EVERY, ids=lambda tool: tool.name)


def described(tools) -> list[dict]:
    return [defined(tool).model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools]


def written() -> dict[Path, str]:
    """The files that say what clients are told, as they should be."""
    profiles = {name: described(tools) for name, tools in BY_PROFILE.items()}
    golden = {"mcp-tools": described(TOOLS), "mcp-profiles": profiles}
    return {
        **{ROOT / f"tests/golden/{name}.json": json.dumps(found, indent=1, ensure_ascii=False) + "\n"
           for name, found in golden.items()},
        ROOT / "docs/reference/mcp-tools.md": page(TOOLS),
        ROOT / "docs/reference/mcp-profiles.md": page_of_profiles(BY_PROFILE),
    }  # fmt: skip


def test_what_clients_are_told_is_what_was_looked_at_and_the_reference_is_made_from_it():
    for path, text in written().items():
        assert text == path.read_text(), path


def test_there_are_eight_in_their_order():
    order = ["remember", "recall", "get", "timeline", "revise", "review", "forget", "status"]

    assert [tool.name for tool in TOOLS] == order


def test_the_hints_say_what_a_tool_does():
    hints = {tool.name: defined(tool).annotations for tool in TOOLS}

    assert {name for name, each in hints.items() if each.read_only_hint} == {"recall", "get", "timeline", "status"}
    assert {name for name, each in hints.items() if each.destructive_hint} == {"revise", "review", "forget"}
    assert not any(each.open_world_hint for each in hints.values())


@each_tool
def test_a_tool_says_when_to_call_it_what_comes_back_and_shows_an_example_that_it_takes(tool):
    when, *_, gives, example = tool.description.split("\n\n")
    shown = json.loads(example.removeprefix("Example: ").partition(" or ")[0])

    assert "Call it" in when
    assert gives.startswith("Gives ")
    assert tool.takes.model_validate(shown)
    jsonschema.validate(shown, defined(tool).input_schema)
    assert all(field.get("description") for field in defined(tool).input_schema["properties"].values())


@any_tool
def test_another_name_means_one_that_the_tool_has_and_a_schema_needs_nothing_beyond_itself(tool):
    fields = set(tool.takes.model_fields)

    assert set(tool.also.values()) <= fields
    assert fields & set(tool.also) == set()
    assert not (tool.reads_only and tool.destroys)
    for schema in (defined(tool).input_schema, defined(tool).output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"


@pytest.mark.parametrize("tool", EVERY[len(TOOLS) :], ids=lambda tool: tool.name)
def test_a_tool_of_a_profile_is_described_briefly_with_an_example_that_it_takes(tool):
    what, _, example = tool.description.partition("\n\nExample: ")

    assert tool.name not in {each.name for each in TOOLS}
    assert what.endswith(".")
    assert len(tool.description) < 700
    if example:
        tool.takes.model_validate(json.loads(example))
        jsonschema.validate(json.loads(example), {**defined(tool).input_schema, "additionalProperties": False})


@each_tool
def test_a_schema_has_no_titles_and_no_nulls(tool):
    for schema in (defined(tool).input_schema, defined(tool).output_schema):
        assert '"title"' not in json.dumps(schema)
        assert "null" not in json.dumps(schema)


ANSWERED = {
    "remember": {"text": "Bob likes go"}, "recall": {"question": "chess", "explain": True}, "get": {"id": "bob"},
    "timeline": {}, "revise": {"id": "bob", "text": "Bob likes go"}, "review": {}, "forget": {"ids": ["bob"]},
    "status": {},
}  # fmt: skip


def test_an_answer_is_as_the_output_schema_says(folder):
    with Memory(folder, by="mcp:local", trust="agent") as memory:
        memory.remember("Bob likes chess", key="bob", tags=["game"])
        memory.remember("chess is for two", trust="web")
        for tool in TOOLS:
            answer = tool.run(CallContext(memory), tool.takes.model_validate(ANSWERED[tool.name]))
            schema = {**defined(tool).output_schema, "additionalProperties": False}
            jsonschema.validate(answer.model_dump(mode="json", exclude_none=True), schema)


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text)
