"""Invocations of the functions of a deployed stage."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from baton_deployment.errors import DeploymentError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient


def invoke(client: LambdaClient, function: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the function's answer. Raises ``DeploymentError`` with the function's error, and errors of AWS."""
    answer = client.invoke(FunctionName=function, Payload=json.dumps(event).encode())
    result: dict[str, Any] = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise DeploymentError(f"{function} failed: {result.get('errorType')}: {result.get('errorMessage')}")
    return result
