"""The policies of roles and functions fit, whatever is deployed: AWS refuses larger ones during a deployment."""

from __future__ import annotations

from baton_deployment.checks import Check, Outcome
from baton_deployment.preflight.policies import (
    FUNCTION_BYTES,
    ROLE_CHARACTERS,
    WILDCARD,
    check_policies,
    measure_aliases,
    measure_roles,
)
from baton_deployment.template import DeployedTemplate
from tests.infrastructure.stack import Stack, as_list, text

LONGEST_STACK = "s" * 62
LONGEST_REGION = "ap-southeast-1"
PROFILE = "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/ab12cd34ef{:02}"
EVERYTHING = {
    "CreateSearchDomain": "true",
    "ChatModel": "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
    "LightModel": "bedrock/eu.amazon.nova-micro-v1:0",
    "EmbeddingModel": "bedrock/amazon.titan-embed-text-v2:0",
    "BedrockGuardrail": "ab12cd34ef56",
    "SourceBucket": "b" * 63,
    "SecretsKeyArn": "arn:aws:kms:eu-central-1:123456789012:key/12345678-1234-1234-1234-123456789012",
    **{f"{name}Secret": "s" * 64 for name in ("ModelKey", "EmbedKeys", "CardKeys", "DelegationKeys", "TracesHeaders")},
}
"""Every option that adds to roles."""


def of_stage(source: Stack, stack: str = "baton-dev", region: str = "eu-central-1", **value: str) -> DeployedTemplate:
    return DeployedTemplate(source.template, value, stack, region)


def roles_of(template: DeployedTemplate) -> Check:
    roles, _ = check_policies(template)
    return roles


def test_policies_fit_with_every_option_and_the_longest_names(source: Stack) -> None:
    template = of_stage(source, LONGEST_STACK, LONGEST_REGION, **EVERYTHING)
    assert max(measure_roles(template).values()) <= ROLE_CHARACTERS
    largest = max(measure_aliases(template).items(), key=lambda item: item[1])
    # Another route is another statement: leave out a path that a greedy one catches, or allow shorter names of stacks.
    assert largest[1] <= FUNCTION_BYTES, largest
    assert [check.outcome for check in check_policies(of_stage(source))] == [Outcome.FINE, Outcome.FINE]


def test_the_estimate_has_the_statements_that_sam_writes(source: Stack, stack: Stack) -> None:
    """A statement for each path and method, and all inline policies of roles."""
    permissions = [text(item["FunctionName"]) for item in stack.of_type("AWS::Lambda::Permission").values()]
    routes = {
        name: sum(event["Type"] == "Api" for event in function.get("Events", {}).values())
        for name, function in source.of_type("AWS::Serverless::Function").items()
    }
    written = {name: sum(f'"{name}Aliaslive"' in permission for permission in permissions) for name in routes}
    assert routes == written
    attached = {
        role["Ref"]
        for kind in ("AWS::IAM::Policy", "AWS::IAM::RolePolicy")
        for policy in source.of_type(kind).values()
        for role in as_list(policy.get("Roles", policy.get("RoleName")))
    }
    assert attached <= measure_roles(of_stage(source)).keys()


def test_many_models_are_refused_before_the_deployment_with_the_remedy(source: Stack) -> None:
    arns = ",".join(PROFILE.format(number) for number in range(40))
    check = roles_of(of_stage(source, **EVERYTHING, BedrockModelArns=arns))
    assert check.outcome is Outcome.FAILS
    assert WILDCARD in check.advice
    one = WILDCARD.replace("<region>", "eu-central-1").replace("<account>", "123456789012")
    assert roles_of(of_stage(source, **EVERYTHING, BedrockModelArns=one)).outcome is Outcome.FINE
