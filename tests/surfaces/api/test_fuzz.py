"""Whatever is sent, the answer is one that the description promises, and nothing breaks."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode

from tests.surfaces.api.conftest import TOKEN, Api

TOLD = {"Authorization": f"Bearer {TOKEN}"}
REFUSALS = ["2xx", "304", "400", "403", "404", "409", "412"]  # of what the schema allows; never 422, never 5xx
LONG = {"POST /v1/ledger/checkpoint", "GET /v1/check", "GET /v1/ledger/verify", "POST /v1/events/{seq}/proof"}


def the_schema(api: Api):
    config = SchemathesisConfig(seed=1)
    config.projects.default.checks.positive_data_acceptance.expected_statuses = REFUSALS
    return schemathesis.openapi.from_asgi("/openapi.json", api.app, config=config, headers=TOLD)


def known(path: str, m) -> dict[str, object]:
    """Names of things that are there, for an address: what is made up is hardly ever found."""
    if path.startswith("/v1/pages"):
        return {"name": "person-ana", "id": m.show("tea").id}
    if path.startswith("/v1/paths"):
        return {"name": "plan-b"}
    if path.startswith("/v1/reviews"):
        return {"id": m.reviews.all()[0].id}
    if path.startswith("/v1/episodes"):
        return {"id": m.episodes.recent(limit=1)[0].id}
    return {"name": "tea", "id": "tea", "seq": 1}


def play(api: Api, examples: int, mode: GenerationMode, only: str = "") -> int:
    """Put so many requests to each operation, or to those of one method; how many it were."""
    every = [found.ok() for found in the_schema(api).get_all_operations()]
    every, keys = [operation for operation in every if only in ("", operation.method)], set()
    return sum(play_one(api, operation, examples, mode, keys) for operation in every)


def play_one(api: Api, operation, examples: int, mode: GenerationMode, keys: set[str]) -> int:
    of, seen = known(operation.path, api.m), []

    @settings(
        max_examples=min(examples, 2) if operation.label in LONG else examples, derandomize=True, database=None,
        deadline=None, suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def is_answered(case):
        seen.append(case)
        if len(seen) % 2 and mode is GenerationMode.POSITIVE:
            case.path_parameters = {name: of.get(name, value) for name, value in (case.path_parameters or {}).items()}
        if (key := (case.headers or {}).get("Idempotency-Key")) in keys - {None}:
            del case.headers["Idempotency-Key"]  # other words under a used key are refused, as they should be
        keys.add(key)
        case.call_and_validate(headers=TOLD)

    is_answered()
    return len(seen)


def fill(m) -> None:
    m.remember("Ana prefers tea", key="tea", about="person-ana", triple=("Ana", "prefers", "tea"))
    m.observe("hello", session="s", agent="a")
    m.paths.branch("plan-b")
    m.propose(m.action("forget", "tea", trust="agent"))


def test_what_fits_the_description_is_answered_as_it_says(m):
    fill(m)
    with Api(m) as api:
        assert play(api, 2, GenerationMode.POSITIVE) > 100


def test_what_does_not_fit_is_refused(m):
    fill(m)
    with Api(m, trust="human") as api:
        before = m.beliefs.all()
        assert play(api, 1, GenerationMode.NEGATIVE, only="post") >= 30
        assert m.beliefs.all() == before


@pytest.mark.soak
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("trust", ["agent", "human"])
def test_the_same_at_length(m, mode, trust):
    fill(m)
    only = "post" if mode is GenerationMode.NEGATIVE else ""  # in an address every value is text, and a list of one
    with Api(m, trust=trust) as api:
        assert play(api, 50, mode, only) > 1000
