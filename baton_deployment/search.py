"""Administer the search of a deployed stage: invoke ``SearchFunction``, again until a rebuild has begun everything."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from baton_deployment.errors import DeploymentError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

COMMANDS = ("migrate", "reindex", "rebuild", "verify", "repair")
FUNCTION_SECONDS = 900
"""The longest run of the function, whose answer the client waits for."""
MAX_INVOCATIONS = 100


def administer(
    client: LambdaClient, outputs: Mapping[str, str], command: str, *, tenants: Sequence[str] = (), grant: bool = False
) -> dict[str, Any]:
    """Carry out a command in the stack with these outputs, and return the result of its last invocation.

    Raises ``DeploymentError``, and also for a command that is not complete.

    ``grant`` is for ``migrate`` in a domain whose administrator is the stack's ``SearchRole``: the functions are let
    in too.
    """
    function = outputs.get("SearchFunctionName")
    if function is None:
        raise DeploymentError("The stack has no search: set OpenSearchEndpoint or CreateSearchDomain, and deploy.")
    event: dict[str, Any] = {"command": command}
    if tenants:
        event["tenants"] = list(tenants)
    if grant:
        event["roles"] = outputs["FunctionRoleArns"].split(",")
    for _ in range(MAX_INVOCATIONS):
        result = _invoke(client, function, event)
        if result.get("is_complete", True):
            return result
        rest: dict[str, Any] = {name: result[name] for name in ("tenants", "positions") if name in result}
        has_done = result.get("documents_started") or result.get("episodes_indexed")
        if not has_done and event == {**event, **rest}:
            raise DeploymentError(f"{function} gets no further in its time. Name one tenant, or one index, at a time.")
        event |= rest
    raise DeploymentError(f"{function} is not done after {MAX_INVOCATIONS} invocations. Repeat the command.")


def _invoke(client: LambdaClient, function: str, event: Mapping[str, Any]) -> dict[str, Any]:
    answer = client.invoke(FunctionName=function, Payload=json.dumps(event).encode())
    result: dict[str, Any] = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise DeploymentError(f"{function} failed: {result.get('errorType')}: {result.get('errorMessage')}")
    return result


def is_sound(result: Mapping[str, Any]) -> bool:
    """Return whether a result has no tenant whose indices differ from what is stored."""
    return all(tenant.get("is_sound", True) for tenant in result.get("tenants", ()) if isinstance(tenant, Mapping))
