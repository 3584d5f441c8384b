"""What `Memory` can do is offered, or left out for a reason; what is offered is described, as it is.

After a change that is meant: `python -m tests.surfaces.api.test_offers`.
"""

import inspect
import json
from pathlib import Path

from tallystick import Memory
from tests.nouns import NOUNS
from tests.surfaces.api.conftest import openapi
from tests.surfaces.api.offers import LEFT_OUT, SERVED
from tests.surfaces.api.reference_page import page

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "openapi.json"
PAGE = ROOT / "docs" / "reference" / "http-api.md"
TOLD = openapi()
OPERATIONS = {
    each["operationId"]: (method, path, each) for path, those in TOLD["paths"].items() for method, each in those.items()
}  # fmt: skip


def calls() -> set[str]:
    """Every public call of a memory and of its nouns."""
    own = {name for name, _ in inspect.getmembers(Memory) if not name.startswith("_")} - set(NOUNS)
    of_nouns = {f"{noun}.{name}" for noun, kind in NOUNS.items() for name in dir(kind) if not name.startswith("_")}
    return own | of_nouns


def test_every_call_of_a_memory_is_served_or_left_out_for_a_reason():
    whole = {name.removesuffix(".*") for name in LEFT_OUT if name.endswith(".*")}
    for call in calls():
        is_left_out = call in LEFT_OUT or call.partition(".")[0] in whole
        assert (call in SERVED) != is_left_out, call
    named = {name for name in {*SERVED, *LEFT_OUT} if not name.endswith(".*")}
    assert named - calls() == set()
    assert whole <= set(NOUNS)
    assert all(LEFT_OUT.values())


def test_every_operation_makes_a_call_and_every_call_has_its_operation():
    used = {name for names in SERVED.values() for name in names}

    assert used | {"check", "restore_trust"} == set(OPERATIONS)


def test_the_description_is_the_one_that_was_agreed_on():
    assert json.loads(GOLDEN.read_text("utf-8")) == TOLD


def test_the_reference_is_made_from_the_description():
    assert PAGE.read_text("utf-8") == page(TOLD)


def test_every_operation_says_what_it_is_for_and_shows_an_example():
    tags = {tag["name"] for tag in TOLD["tags"]}
    for name, (method, path, each) in OPERATIONS.items():
        assert each["summary"], name
        assert not each["summary"].endswith("."), name
        assert each["description"], name
        assert set(each["tags"]) <= tags, name
        assert len(each["tags"]) == 1, name
        assert path.startswith("/v1/"), name
        assert {"401", "403", "413", "421", "429", "500", "503", "422"} <= set(each["responses"]), name
        for parameter in each.get("parameters", ()):
            assert parameter.get("description"), (name, parameter["name"])
            is_shown = parameter["in"] == "path" or "examples" in parameter["schema"]
            assert is_shown or not parameter["required"], (name, parameter["name"])
        assert method == "get" or each["responses"], name
    assert {"user"} & {p["name"] for *_, each in OPERATIONS.values() for p in each.get("parameters", ())} == set()


def test_every_model_says_what_it_is_and_shows_an_example():
    for name, model in TOLD["components"]["schemas"].items():
        assert model["description"], name
        assert model["examples"], name
        if name == "Value":  # any JSON, within what a field may hold
            continue
        assert "user" not in model["properties"], name
        assert model.get("additionalProperties") is (name in ("Node", "Edge")), name
        for field, told in model["properties"].items():
            assert told.get("description") or "$ref" in told, (name, field)


def test_whoever_describes_itself_says_how_to_come_in():
    assert TOLD["security"] == [{"token": []}]
    assert TOLD["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(TOLD, indent=1, ensure_ascii=False) + "\n", "utf-8")
    PAGE.write_text(page(TOLD), "utf-8")
