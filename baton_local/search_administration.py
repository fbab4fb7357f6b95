"""Administers the search of a deployed stage: ``python -m baton_local.search_administration STAGE COMMAND``.

It invokes ``SearchFunction``, and repeats a rebuild until everything is begun.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from baton_local.errors import LocalCloudError
from baton_local.root import ROOT

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

COMMANDS = ("migrate", "reindex", "rebuild", "verify", "repair")
FUNCTION_SECONDS = 900
"""The longest run of the function, whose answer the client waits for."""
MAX_INVOCATIONS = 100


def administer(
    client: LambdaClient, outputs: Mapping[str, str], command: str, *, tenants: Sequence[str] = (), grant: bool = False
) -> dict[str, Any]:
    """Carry out a command in the stack with these outputs, and return the result. Raises ``LocalCloudError``.

    ``grant`` is for ``migrate`` in a domain whose administrator is the stack's ``SearchRole``: the functions are let
    in too.
    """
    function = outputs.get("SearchFunctionName")
    if function is None:
        raise LocalCloudError("The stack has no search: set OpenSearchEndpoint or CreateSearchDomain, and deploy.")
    event: dict[str, Any] = {"command": command}
    if tenants:
        event["tenants"] = list(tenants)
    if grant:
        event["roles"] = outputs["FunctionRoleArns"].split(",")
    for _ in range(MAX_INVOCATIONS):
        result = _invoke(client, function, event)
        if result.get("is_complete", True):
            break
        event["tenants"] = result["tenants"]
    return result


def _invoke(client: LambdaClient, function: str, event: Mapping[str, Any]) -> dict[str, Any]:
    answer = client.invoke(FunctionName=function, Payload=json.dumps(event).encode())
    result: dict[str, Any] = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise LocalCloudError(f"{function} failed: {result.get('errorType')}: {result.get('errorMessage')}")
    return result


def main(arguments: Sequence[str], parameters: Path = ROOT / "samconfig.toml") -> int:
    """Run one command, print its result as JSON and return the exit code: 1 if ``verify`` has found differences."""
    parser = argparse.ArgumentParser(description="Administer the search of a deployed stage")
    parser.add_argument("stage")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--tenant", action="append", default=[], help="one of the tenants to check (repeatable)")
    parser.add_argument("--grant", action="store_true", help="with migrate: let the functions in")
    given = parser.parse_args(arguments)
    config = tomllib.loads(parameters.read_text()).get(given.stage)
    if config is None:
        raise LocalCloudError(f"samconfig.toml has no stage {given.stage!r}.")
    shared = config["global"]["parameters"]
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or shared.get("region")
    try:
        session = boto3.Session(region_name=region)
        stacks = session.client("cloudformation").describe_stacks(StackName=shared["stack_name"])["Stacks"]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in stacks[0].get("Outputs", [])}
        # A repetition would begin the command twice.
        patient = Config(read_timeout=FUNCTION_SECONDS, retries={"total_max_attempts": 1})
        client = session.client("lambda", config=patient)
        result = administer(client, outputs, given.command, tenants=given.tenant, grant=given.grant)
    except (ClientError, BotoCoreError) as problem:
        raise LocalCloudError(f"The search cannot be administered: {problem}") from problem
    print(json.dumps(result, indent=2))
    return 1 if any(not each.get("is_sound", True) for each in result.get("tenants", ())) else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except LocalCloudError as problem:
        sys.exit(str(problem))
