"""Checks of the sizes of roles' inline policies, and of the policies that let API Gateway call functions.

AWS refuses too large policies in the middle of a deployment. The sizes are estimates, because the names of resources
are examples of the usual length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from baton_deployment.checks import Check, fails, fine, note
from baton_deployment.template import ACCOUNT, API, SUFFIX, DeployedTemplate

NAME = "policies"
ROLE_CHARACTERS = 10_240
"""IAM's limit of the characters of all inline policies of a role, without white space."""
FUNCTION_BYTES = 20_480
"""Lambda's limit of the bytes of the policy of a function or an alias."""
CLOSE = 0.96
"""The share of a limit from which an estimate may be wrong."""
WILDCARD = "arn:aws:bedrock:<region>:<account>:application-inference-profile/*"


def check_policies(template: DeployedTemplate) -> Iterator[Check]:
    """Yield whether the policies of roles and functions, with the stage's parameters and names, are within limits."""
    yield _judge(
        measure_roles(template),
        ROLE_CHARACTERS,
        "characters of inline policies",
        f"Name fewer models in BedrockModelArns: each counts twice. One entry may stand for many: {WILDCARD}",
    )
    yield _judge(
        measure_aliases(template),
        FUNCTION_BYTES,
        "bytes of permissions for API Gateway",
        "Shorten the name of the stack.",
    )


def measure_roles(template: DeployedTemplate) -> dict[str, int]:
    """Return the characters of all inline policies of each role, by the role's logical id."""
    sizes = {
        name: sum(_measure(template, policy["PolicyDocument"]) for policy in role.get("Policies", ()))
        for name, role in template.list_resources("AWS::IAM::Role")
    }
    for kind in ("AWS::IAM::Policy", "AWS::IAM::RolePolicy"):
        for name, policy in template.list_resources(kind):
            condition = template.source["Resources"][name].get("Condition")
            if condition is None or template.intrinsics.holds(condition):
                for role in policy.get("Roles", [policy.get("RoleName")]):
                    sizes[role["Ref"]] += _measure(template, policy["PolicyDocument"])
    return sizes


def measure_aliases(template: DeployedTemplate) -> dict[str, int]:
    """Return the bytes of the policy that lets API Gateway call each function, by the function's logical id.

    SAM writes a statement for each path and method.
    """
    return {
        name: sum(
            len(_to_compact_json(_make_permission(template, name, event, about["Properties"]))) + 1
            for event, about in function.get("Events", {}).items()
            if about["Type"] == "Api"
        )
        for name, function in template.list_resources("AWS::Serverless::Function")
    }


def _make_permission(template: DeployedTemplate, function: str, event: str, route: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statement for a route, in Lambda's form."""
    partition = template.intrinsics.resolve({"Ref": "AWS::Partition"})
    location = f"{template.region}:{ACCOUNT}"
    method = "*" if route["Method"] == "ANY" else route["Method"]
    path = re.sub(r"\{[^}]+\}", "*", route["Path"])
    return {
        "Sid": f"{template.stack}-{function}{event}PermissionStage-{SUFFIX}"[:100],  # Lambda's limit
        "Effect": "Allow",
        "Principal": {"Service": "apigateway.amazonaws.com"},
        "Action": "lambda:InvokeFunction",
        "Resource": f"arn:{partition}:lambda:{location}:function:{f'{template.stack}-{function}-{SUFFIX}'[:64]}:live",
        "Condition": {"ArnLike": {"AWS:SourceArn": f"arn:{partition}:execute-api:{location}:{API}/*/{method}{path}"}},
    }


def _measure(template: DeployedTemplate, document: Any) -> int:
    return len(_to_compact_json(template.intrinsics.resolve(document)))


def _to_compact_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _judge(sizes: Mapping[str, int], most: int, what: str, advice: str) -> Check:
    """Return whether the largest of the sizes is within ``most``, a limit of AWS. ``what`` names the unit."""
    largest = max(sizes, key=lambda name: sizes[name])
    detail = f"{largest} has the most: about {sizes[largest]} of {most} {what}"
    if sizes[largest] > most:
        return fails(NAME, f"{detail}. AWS refuses more", advice)
    if sizes[largest] > most * CLOSE:
        return note(NAME, detail, advice)
    return fine(NAME, detail)
