"""Errors in the OpenAPI document: a route names its own, and gets those of its token, path and body."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from baton.api.deployed import SHORT, STREAMED
from baton.composition.app import build
from tests.harness.harness import Harness
from tests.unit.api.served import openapi

OF_PATHS = {
    "{thread_id}": "thread_unavailable",
    "{agent_id}": "unknown_agent",
    "{document_id}": "unknown_document",
    "{source_id}": "unknown_source",
    "{procedure_id}": "unknown_procedure",
}


def codes(operation: dict[str, Any]) -> set[str]:
    """The codes of all errors of a route."""
    answers = operation["responses"].values()
    problems = [answer.get("content", {}).get("application/problem+json", {}) for answer in answers]
    return {code for problem in problems for code in problem.get("examples", {})}


def test_every_route_documents_the_errors_of_its_token_path_and_body() -> None:
    for path, operations in openapi()["paths"].items():
        for method, operation in operations.items() if path.startswith("/v1/") else ():
            expected = {code for name, code in OF_PATHS.items() if name in path}
            if operation["security"]:
                expected |= {"unauthorized", "token_expired"}
            if "requestBody" in operation:
                expected.add("malformed_json")
            if "requestBody" in operation or "parameters" in operation:
                expected.add("invalid_request")
            assert expected <= codes(operation), (method, path)


def test_errors_of_a_route_stand_beside_common_ones_of_the_same_status() -> None:
    paths = openapi()["paths"]
    assert {"invalid_request", "unsupported_part", "message_too_large"} <= codes(paths["/v1/messages"]["post"])
    answers = paths["/v1/threads/{thread_id}/tasks/{task_id}"]["get"]["responses"]
    examples = answers["404"]["content"]["application/problem+json"]["examples"]
    assert list(examples) == ["thread_unavailable", "not_found"]


def test_everything_that_a_deployment_builds_early_exists() -> None:
    app = build(Harness(), poll_seconds=0.01)
    for name in (*SHORT, *STREAMED):
        attrgetter(name)(app)
