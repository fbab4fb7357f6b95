"""Answers of API Gateway itself: each kind of trouble with its own status, and in the app's own words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton.api.http import middleware
from baton.domain.errors import BatonError, InternalError, InvalidRequest, list_error_classes
from tests.infrastructure.stack import Stack

STATUSES = {
    "ACCESS_DENIED": 403,
    "API_CONFIGURATION_ERROR": 500,
    "AUTHORIZER_CONFIGURATION_ERROR": 500,
    "AUTHORIZER_FAILURE": 500,
    "BAD_REQUEST_BODY": 400,
    "BAD_REQUEST_PARAMETERS": 400,
    "EXPIRED_TOKEN": 403,
    "INTEGRATION_FAILURE": 504,
    "INTEGRATION_TIMEOUT": 504,
    "INVALID_API_KEY": 403,
    "INVALID_SIGNATURE": 403,
    "MISSING_AUTHENTICATION_TOKEN": 403,
    "QUOTA_EXCEEDED": 429,
    "REQUEST_TOO_LARGE": 413,
    "RESOURCE_NOT_FOUND": 404,
    "THROTTLED": 429,
    "UNAUTHORIZED": 401,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "WAF_FILTERED": 403,
}
"""API Gateway's own (developer guide, "Gateway response types")."""
OURS = {"MISSING_AUTHENTICATION_TOKEN": 404}
"""Statuses that Baton chooses: there is no IAM authorization, so this means an unknown address."""
OF_THE_GATEWAY_ALONE = {"timeout"}
WITH_THE_GATEWAYS_STATUS = {
    "BAD_REQUEST_BODY",
    "BAD_REQUEST_PARAMETERS",
    "INTEGRATION_FAILURE",
    "UNSUPPORTED_MEDIA_TYPE",
}
"""Kinds whose status says more than that of the app's error with their code."""
DEFAULTS = {"DEFAULT_4XX", "DEFAULT_5XX"}
FIELDS = {"type", "title", "status", "detail", "code", "retryable", "requestId"}
WHY = "What API Gateway says."


def answer(stack: Stack, kind: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Status, headers and body, by API Gateway's rules: a kind's own response, else the default's."""
    responses = stack["RestApi"]["Body"]["x-amazon-apigateway-gateway-responses"]
    default = responses[f"DEFAULT_{STATUSES[kind] // 100}XX"]
    response = responses.get(kind, default)
    own_status, headers, problem = read(response)
    # "Changing the status code of this fallback changes the status codes of all other responses."
    return int(own_status or default.get("statusCode") or STATUSES[kind]), headers, problem


def read(response: dict[str, Any]) -> tuple[str | None, dict[str, str], dict[str, Any]]:
    """Status, headers and body that a response of the template names."""
    headers = {
        name.removeprefix("gatewayresponse.header."): value.strip("'")
        for name, value in response["responseParameters"].items()
    }
    body = response["responseTemplates"]["application/json"].replace("$context.error.messageString", json.dumps(WHY))
    return response.get("statusCode"), headers, json.loads(body)


@pytest.mark.parametrize("kind", STATUSES)
def test_no_status_is_forced_upon_another_kind_of_trouble(stack: Stack, kind: str) -> None:
    status, _, problem = answer(stack, kind)
    assert status == OURS.get(kind, STATUSES[kind])
    assert problem["status"] == status


@pytest.mark.parametrize("kind", STATUSES)
def test_the_answer_is_a_problem_document_that_any_page_may_read(stack: Stack, kind: str) -> None:
    _, headers, problem = answer(stack, kind)
    assert headers["Content-Type"] == "application/problem+json"
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert headers.items() >= middleware.DEFAULTS.items()
    assert problem.keys() == FIELDS
    assert problem["requestId"] == "$context.requestId"


@pytest.mark.parametrize("kind", STATUSES)
def test_codes_and_words_are_those_of_the_app(stack: Stack, kind: str) -> None:
    status, _, problem = answer(stack, kind)
    errors: dict[str, type[BatonError]] = {error.code: error for error in list_error_classes()}
    if problem["code"] in OF_THE_GATEWAY_ALONE:
        return
    error = errors[problem["code"]]
    assert (problem["title"], problem["retryable"]) == (error.title, error.retryable)
    assert problem["detail"] in (error.detail, WHY)
    assert status // 100 == error.status // 100
    assert problem["status"] == error.status or kind in WITH_THE_GATEWAYS_STATUS


@pytest.mark.parametrize("kind", ["THROTTLED", "QUOTA_EXCEEDED"])
def test_a_client_that_is_too_fast_learns_when_to_come_again(stack: Stack, kind: str) -> None:
    _, headers, problem = answer(stack, kind)
    assert problem["code"] == "rate_limited"
    assert int(headers["Retry-After"]) >= 1
    assert headers["Access-Control-Expose-Headers"] == "Retry-After"


@pytest.mark.parametrize(("default", "error"), [("DEFAULT_4XX", InvalidRequest), ("DEFAULT_5XX", InternalError)])
def test_a_kind_that_is_not_known_yet_keeps_its_status(stack: Stack, default: str, error: type[BatonError]) -> None:
    response = stack["RestApi"]["Body"]["x-amazon-apigateway-gateway-responses"][default]
    _, headers, problem = read(response)
    assert "statusCode" not in response
    assert headers["Content-Type"] == "application/problem+json"
    assert problem.keys() == FIELDS - {"status"}
    assert (problem["code"], problem["title"], problem["retryable"]) == (error.code, error.title, error.retryable)


def test_every_kind_of_trouble_has_a_response_of_its_own(stack: Stack) -> None:
    written = set(stack["RestApi"]["Body"]["x-amazon-apigateway-gateway-responses"])
    assert written == {*STATUSES, *DEFAULTS}
