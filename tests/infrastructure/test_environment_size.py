"""The environment of every function fits, whatever is deployed: Lambda refuses more than 4 KB.

Its message shows what it measures: the variables as a JSON object.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from baton_local.stack.intrinsics import Intrinsics
from tests.infrastructure.stack import Stack, text

LIMIT = 4_096
RESERVE = 100
"""Bytes for the adapter and tools that the deployment may add."""
STACK = "s" * 64
"""The longest name: the longest of its state machines has the 80 characters that Step Functions allows."""
ACCOUNT = "123456789012"
PARTITIONS = [
    ("aws", "ap-southeast-99", "amazonaws.com"),
    ("aws-us-gov", "us-gov-east-1", "amazonaws.com"),
    ("aws-cn", "cn-northwest-1", "amazonaws.com.cn"),
]
"""The partitions of AWS, with the longest name of a region and the end of host names."""


def longest_names(partition: str, region: str, suffix: str) -> dict[str, int]:
    """Return the lengths of what references to resources give."""
    return {
        "AWS::ApiGateway::RestApi": 10,
        "AWS::ApiGatewayV2::Api": 10,
        "AWS::DynamoDB::Table": 64 + len("-Table-") + 13,
        "AWS::OpenSearchService::Domain": 100,
        "AWS::S3::Bucket": 63,
        "AWS::SQS::Queue": len(f"https://sqs.{region}.{suffix}/{ACCOUNT}/") + 80,
        "AWS::StepFunctions::StateMachine": len(f"arn:{partition}:states:{region}:{ACCOUNT}:stateMachine:") + 80,
    }


PATTERN_LENGTHS = {r"{1,64}": 64, r"{1,256}": 256, r"{0,40}": 41, r"{1,61}": 63, r"{0,15}": 16, r"{0,7}": 8}
"""The end of a pattern's repetition -> the longest text that such a pattern takes."""
OF_BEDROCK = {"BedrockRegion": 24, "BedrockGuardrail": 125}
"""The longest of AWS's own names, whose patterns set no bound."""


def longest(name: str, parameter: dict[str, Any]) -> str:
    """A value of the parameter that is as long as its declaration permits. Raises if it sets no bound."""
    if "AllowedValues" in parameter:
        return max(map(str, parameter["AllowedValues"]), key=len)
    if parameter["Type"] == "Number":
        return str(parameter["MaxValue"]).ljust(12, "0")  # with decimal places
    pattern = str(parameter.get("AllowedPattern", ""))
    if "MaxLength" in parameter:
        return "x" * int(parameter["MaxLength"])
    if name in OF_BEDROCK:
        return "x" * OF_BEDROCK[name]
    [length] = [length for repetition, length in PATTERN_LENGTHS.items() if repetition in pattern]
    return "x" * length


def references(value: Any) -> set[str]:
    """The names that a value of the template refers to."""
    written = json.dumps(value)
    return {*re.findall(r'"Ref": "(\w+)"', written), *re.findall(r"\$\{(\w+)\}", written)}


def variables(stack: Stack, source: Stack, function: str, location: tuple[str, str, str]) -> dict[str, str]:
    """The environment of a function with the longest values of all parameters and names in a partition."""
    lengths = longest_names(*location)
    pseudo = {"AWS::StackName": STACK, "AWS::AccountId": ACCOUNT}
    pseudo |= dict(zip(("AWS::Partition", "AWS::Region", "AWS::URLSuffix"), location, strict=True))
    declared = stack[function]["Environment"]["Variables"]
    parameters = source.template["Parameters"]
    used = references(declared) & set(parameters)
    values = {name: str(parameter.get("Default", "")) for name, parameter in parameters.items()}
    values |= {name: longest(name, parameters[name]) for name in used}
    # Every condition of the environment is on the side that gives the longer value.
    values |= {"OpenSearchEndpoint": "x" * 110, "SourceBucket": "x" * 63, "EmbeddingModel": "x" * 120}
    values |= {"BedrockGuardrail": "x" * 125, "BedrockGuardrailVersion": "x" * 8, "PublicUrl": "x" * 110}

    def attribute(logical_id: str, _: str | None) -> str:
        return "x" * lengths[str(stack.resources[logical_id]["Type"])]

    resolved = Intrinsics(source.template, values | pseudo, attribute).resolve(declared)
    return {name: str(value) for name, value in resolved.items()}


FUNCTIONS = [
    *("Authorizer", "Sockets", "Turns", "DeadTurns", "Notifications", "Streams", "Http", "Sweeper", "Closing"),
    *("Learning", "Ingestion", "Forgetting", "Search"),
]


def test_every_function_is_known_here(stack: Stack) -> None:
    assert {f"{name}Function" for name in FUNCTIONS} == set(stack.functions)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_longest_values_of_all_parameters_fit(stack: Stack, source: Stack, function: str) -> None:
    environments = [variables(stack, source, f"{function}Function", location) for location in PARTITIONS]
    measured = max(len(json.dumps(environment, separators=(",", ":"))) for environment in environments)
    assert measured <= LIMIT - RESERVE, measured


def test_no_parameter_of_a_function_takes_characters_that_json_writes_longer(stack: Stack, source: Stack) -> None:
    parameters = source.template["Parameters"]
    used = set().union(*(references(function["Environment"]) for function in stack.functions.values()))
    for name in used & set(parameters):
        if parameters[name]["Type"] == "String" and "AllowedValues" not in parameters[name]:
            pattern = text(parameters[name]["AllowedPattern"])
            for longer in ('"', "\\", "ä"):
                assert not re.fullmatch(pattern, longer * 3), name
                assert not re.fullmatch(pattern, f"https://a.example/{longer}"), name


def test_what_has_no_bound_is_no_variable(stack: Stack) -> None:
    """Values without a bound are in the settings document, which can hold more than 200 issuers."""
    unbounded = ("ISSUERS", "PRICES", "LIMITS", "ORIGINS", "HOSTS", "PROVIDERS", "PROFILES")
    for function in stack.functions.values():
        assert not [name for name in function["Environment"]["Variables"] if name.endswith(unbounded)]
