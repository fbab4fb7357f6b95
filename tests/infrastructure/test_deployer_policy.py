"""The documented policy of deployers covers what the template contains, and fits into one managed policy."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase

from baton_deployment.deployer_policy import questions, read_policy
from tests.infrastructure.stack import Stack, as_list

SERVICES = {"ApiGatewayV2": "apigateway", "OpenSearchService": "es", "StepFunctions": "states"}
"""Prefixes of actions, where they are not the lower-case name in the types of resources."""
LONGEST = 6144
"""Characters of a managed policy without white space, as IAM counts."""
STATEMENTS = read_policy()["Statement"]


def actions() -> set[str]:
    return {action for statement in STATEMENTS for action in as_list(statement["Action"])}


def test_every_service_of_the_template_is_granted_and_no_other(stack: Stack) -> None:
    types = [item["Type"].split("::") for item in stack.resources.values()]
    services = {parts[1] for parts in types if parts[0] == "AWS"}
    needed = {SERVICES.get(service, service.lower()) for service in services} | {"cloudformation", "sts"}
    assert {action.partition(":")[0] for action in actions()} == needed


def test_it_fits_into_one_managed_policy() -> None:
    assert len(json.dumps(read_policy(), separators=(",", ":"))) <= LONGEST


def test_it_reads_no_conversation() -> None:
    data = ("dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan", "es:ESHttpGet", "es:ESHttpPost", "s3:GetObject")
    readable = [each for each in data for action in actions() if fnmatchcase(each, action)]
    assert readable == ["s3:GetObject"]
    [files] = [statement for statement in STATEMENTS if "s3:GetObject" in statement["Action"]]
    allowed = ("aws-sam-cli-managed", "widgetbucket", "bucket-*/~settings/")
    assert [each for each in files["Resource"] if not any(part in each for part in allowed)] == []


def test_roles_are_passed_to_the_services_that_the_template_trusts(stack: Stack) -> None:
    trusted = {
        service
        for role in stack.of_type("AWS::IAM::Role").values()
        for statement in role["AssumeRolePolicyDocument"]["Statement"]
        for service in as_list(statement["Principal"]["Service"])
    }
    [passing] = [statement for statement in STATEMENTS if "iam:PassRole" in statement["Action"]]
    assert trusted <= set(passing["Condition"]["StringEquals"]["iam:PassedToService"])


def test_the_simulator_is_asked_about_each_statement_with_actions_it_knows_and_the_stacks_names() -> None:
    asked = questions("123456789012", "eu-central-1", "shop-dev")
    assert len(asked) == len(STATEMENTS)
    assert not [action for each in asked for action in each.actions if "*" in action]
    table = next(each for each in asked if "dynamodb:CreateTable" in each.actions)
    assert table.resource == "arn:aws:dynamodb:eu-central-1:123456789012:table/shop-dev-example"
    passing = next(each for each in asked if each.actions == ("iam:PassRole",))
    assert passing.context == {"iam:PassedToService": "lambda.amazonaws.com"}
