"""What models are told of the tools of the profiles is fixed too.

After a change that is meant: `python -m tests.surfaces.mcp.test_profile_definitions`.
"""

import json
from pathlib import Path

import jsonschema
import pytest

from tallystick.surfaces.mcp.profiles import PROFILES, tools_of
from tallystick.surfaces.mcp.server import defined
from tallystick.surfaces.mcp.tools import TOOLS
from tests.surfaces.mcp.reference_page import page_of_profiles

GOLDEN = Path(__file__).parents[2] / "golden" / "mcp-profiles.json"
REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "mcp-profiles.md"
EVERY = [(profile, tool) for profile in PROFILES for tool in tools_of(profile)]


def definitions() -> str:
    found = {
        profile: [defined(tool).model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools_of(profile)]
        for profile in PROFILES
    }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def test_the_definitions_are_those_that_were_looked_at():
    assert definitions() == GOLDEN.read_text()


def test_the_reference_is_made_from_the_program():
    assert reference() == REFERENCE.read_text()


def reference() -> str:
    return page_of_profiles({profile: tools_of(profile) for profile in PROFILES})


@pytest.mark.parametrize(("profile", "tool"), EVERY, ids=[f"{profile}-{tool.name}" for profile, tool in EVERY])
def test_a_tool_says_what_it_takes_and_gives_and_every_other_name_leads_to_one_that_it_takes(profile, tool):
    shown = defined(tool)

    assert tool.name not in {each.name for each in TOOLS}
    what, _, example = shown.description.partition("\n\nExample: ")
    assert what.endswith(".")
    assert len(shown.description) < 700
    if example:
        tool.takes.model_validate(json.loads(example))
        jsonschema.validate(json.loads(example), {**shown.input_schema, "additionalProperties": False})
    for schema in (shown.input_schema, shown.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert set(tool.also.values()) <= set(tool.takes.model_fields)
    assert not set(tool.also) & set(tool.takes.model_fields)
    if tool.reads_only:
        assert not tool.destroys


if __name__ == "__main__":
    GOLDEN.write_text(definitions())
    REFERENCE.write_text(reference())
