"""The reference page of the API, made from its description: what is written there is what clients are given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.surfaces.mcp.reference_page import cell, kind

_HEAD = """\
# The HTTP API

Generated from the program: all operations of `tallystick serve` under `/v1`.
[Use it over HTTP](../how-to/use-over-http.md) shows how to use them; `/openapi.json` has the same for programs.

Every request sends `Authorization: Bearer TOKEN`. Bodies are JSON; an unknown field or parameter is refused (422).
Errors are `application/problem+json`, with `type`, `title`, `status`, `detail`, and `errors` if the request is not
valid. `type` names the [error](errors.md): `urn:tallystick:error:NotFound`. An action that needs a person's approval is
answered with 202; `Location` has the address of its review. Any request may also be answered with 400 (cannot be
carried out), 401 (no token), 403 (not allowed), 413 (too long), 421 (wrong host), 429 (too many requests), 500, and 503
(busy, damaged, closed or read-only).

A list has `items` and `next`, with at most `limit` items (1 to 500); `next` is the `cursor` of the next part, which
`Link` names too. A cursor names a place in the list: what others write in between is neither missed nor repeated.
Answers that only an event can change have an `ETag`: send it in `If-None-Match`, and an unchanged answer is 304.
"""
_USUAL = {"400", "401", "403", "413", "421", "422", "429", "500", "503"}
_METHODS = ("get", "post", "put", "patch", "delete")


def page(told: Mapping[str, Any]) -> str:
    """The page, whole."""
    found = [_HEAD]
    for tag in told["tags"]:
        found += [f"## Operations: {tag['name']}\n", f"{tag['description']}\n"]
        for path, operations in told["paths"].items():
            for method in _METHODS:
                if method in operations and tag["name"] in operations[method]["tags"]:
                    found += _operation(method, path, operations[method], told["components"]["responses"])
    found += ["## Models\n", "The parts of bodies and answers. An optional field shows its default.\n"]
    for name, model in told["components"]["schemas"].items():
        found += _model(name, model)
    return "\n".join(found).rstrip() + "\n"


def _operation(
    method: str, path: str, operation: Mapping[str, Any], usual: Mapping[str, Any]
) -> Iterator[str]:  # fmt: skip
    yield f"### {method.upper()} {path}\n"
    yield f"`{operation['operationId']}`: {operation['summary']}.\n"
    yield f"{operation['description']}\n"
    if parameters := operation.get("parameters"):
        yield "| parameter | | |"
        yield "|---|---|---|"
        for each in parameters:
            needed = ", needed" if each["required"] else ""
            where = "" if each["in"] == "query" else f" ({each['in']})"
            yield f"| `{each['name']}`{where} | {_kind(each['schema'])}{needed} | {cell(each['description'])} |"
        yield ""
    if "requestBody" in operation:
        yield f"Takes {_kind(operation['requestBody']['content']['application/json']['schema'])}.\n"
    yield _answers(operation["responses"], usual)


def _answers(responses: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    told = []
    for status, given in responses.items():
        if status in _USUAL:
            continue
        each = usual[given["$ref"].rpartition("/")[2]] if "$ref" in given else given
        content = each.get("content", {})
        kinds = [
            _kind(some["schema"]) if media == "application/json" else f"`{media}`"
            for media, some in content.items() if media != "application/problem+json"
        ]  # fmt: skip
        what = f" ({' or '.join(kinds)})" if kinds else ""
        told.append(f"- {status}{what}: {each['description']}")
    return "\n".join(told) + "\n"


def _model(name: str, model: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"{model['description']}\n"
    if "properties" not in model:
        return
    yield "| field | | |"
    yield "|---|---|---|"
    needed = model.get("required", ())
    for field, each in model["properties"].items():
        usual = "" if field in needed else f", `{_value(each.get('default'))}`"
        yield f"| `{field}` | {_kind(each)}{usual} | {cell(each.get('description', ''))} |"
    yield ""


def _value(value: Any) -> str:
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def _kind(field: Mapping[str, Any]) -> str:
    return kind(field, "[{name}](#{anchor})")
