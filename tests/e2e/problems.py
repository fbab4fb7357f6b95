"""RFC 9457 problem details, as Baton writes them."""

from __future__ import annotations

from typing import Any

import httpx

FIELDS = {"type", "title", "status", "detail", "code", "retryable", "requestId"}


def check_problem(
    response: httpx.Response, status: int, code: str, *, retryable: bool | None = False
) -> dict[str, Any]:
    """The response is exactly this problem; ``retryable`` None: either."""
    problem: dict[str, Any] = check_any_problem(response)
    assert (problem["status"], problem["code"]) == (status, code), problem
    if retryable is not None:
        assert problem["retryable"] is retryable
    return problem


def check_any_problem(response: httpx.Response) -> dict[str, Any]:
    """The response is a problem, whichever."""
    assert response.headers["content-type"].partition(";")[0] == "application/problem+json", response.text
    problem: dict[str, Any] = response.json()
    more = {"errors"} if problem["code"] == "invalid_agent" else set()
    assert problem.keys() == FIELDS | more
    assert problem["status"] == response.status_code
    assert all(isinstance(problem[name], str) and problem[name] for name in FIELDS - {"status", "retryable"})
    return problem
