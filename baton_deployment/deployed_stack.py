"""A stack as CloudFormation describes it, and its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from baton_deployment.account import Account, problems_explained, read_code
from baton_deployment.errors import DeploymentError

ADDRESSES = (
    "RestUrl",
    "RestDomainUrl",
    "RestDomainTarget",
    "WebSocketUrl",
    "SocketDomainUrl",
    "SocketDomainTarget",
    "FrontEndDomainTarget",
    "WidgetUrl",
    "ConsoleUrl",
)


def describe_stack(account: Account, stack: str) -> dict[str, Any] | None:
    """Return CloudFormation's description of a stack; None if there is no such stack. Raises errors of AWS."""
    try:
        [description] = account.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    except ClientError as problem:
        if read_code(problem) == "ValidationError" and "does not exist" in str(problem):
            return None
        raise
    return dict(description)


def is_first(account: Account, stack: str) -> bool:
    """Return whether a deployment would create the stack. Raises ``DeploymentError``."""
    with problems_explained(f"{stack} cannot be read"):
        description = describe_stack(account, stack)
    return description is None or is_new(description)


def is_new(description: Mapping[str, Any]) -> bool:
    """Return whether a stack is still empty, as a change set that was never executed leaves it."""
    return bool(description["StackStatus"] == "REVIEW_IN_PROGRESS")


def find_parameter_changes(description: Mapping[str, Any], parameters: Mapping[str, str]) -> list[str]:
    """Return a line for each deployed parameter that would have another value.

    SAM keeps the deployed values of other parameters. Parameters contain only the names of secrets.
    """
    deployed = {entry["ParameterKey"]: entry["ParameterValue"] for entry in description.get("Parameters", ())}
    return [
        f"  {name}: {deployed[name] or '(empty)'} -> {value or '(empty)'}"
        for name, value in sorted(parameters.items())
        if name in deployed and _split_entries(deployed[name]) != _split_entries(value)
    ]


def _split_entries(value: str) -> list[str]:
    """Return the entries of a value that may be a list, without the spaces that CloudFormation ignores."""
    return [part.strip() for part in value.split(",")]


def read_outputs(account: Account, stack: str) -> dict[str, str]:
    """Return the outputs of a stack. Raises ``DeploymentError`` if it does not exist or cannot be read."""
    with problems_explained(f"The outputs of {stack} cannot be read"):
        description = describe_stack(account, stack)
    if description is None:
        raise DeploymentError(f"There is no stack {stack} in {account.region}: deploy it first, or set AWS_REGION.")
    return {output["OutputKey"]: output["OutputValue"] for output in description.get("Outputs", [])}


def list_addresses(outputs: Mapping[str, str]) -> list[str]:
    """Return a line for each address in the outputs that people and programs use."""
    return [f"{name:<20} {outputs[name]}" for name in ADDRESSES if name in outputs]
