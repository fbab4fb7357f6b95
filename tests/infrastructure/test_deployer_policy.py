"""The documented policy of deployers covers what the template contains, and fits into one managed policy."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from baton_deployment.deployer_policy import make_questions
from baton_deployment.errors import DeploymentError
from baton_deployment.policies import LIMIT, POLICIES, read_policy, render_policy
from baton_deployment.stages import Stage
from tests.infrastructure.stack import Stack, as_list

SERVICES = {"ApiGatewayV2": "apigateway", "OpenSearchService": "es", "StepFunctions": "states"}
"""Prefixes of actions, where they are not the lower-case name in the types of resources."""
STATEMENTS = read_policy("deployer")["Statement"]


def actions() -> set[str]:
    return {action for statement in STATEMENTS for action in as_list(statement["Action"])}


def test_every_service_of_the_template_is_granted_and_no_other(stack: Stack) -> None:
    types = [item["Type"].split("::") for item in stack.resources.values()]
    services = {parts[1] for parts in types if parts[0] == "AWS"}
    needed = {SERVICES.get(service, service.lower()) for service in services} | {"cloudformation", "sts"}
    # Records of a hosted zone are made by those stages only that name one; the guide has the statement for it.
    assert {action.partition(":")[0] for action in actions()} == needed - {"route53"}


def test_it_fits_into_one_managed_policy() -> None:
    assert len(json.dumps(read_policy("deployer"), separators=(",", ":"))) <= LIMIT


def test_it_reads_no_conversation() -> None:
    data = ("dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan", "es:ESHttpGet", "es:ESHttpPost", "s3:GetObject")
    readable = [item for item in data for action in actions() if fnmatchcase(item, action)]
    assert readable == ["s3:GetObject"]
    [files] = [statement for statement in STATEMENTS if "s3:GetObject" in statement["Action"]]
    allowed = ("aws-sam-cli-managed", "widgetbucket", "bucket-*/~settings/")
    assert [item for item in files["Resource"] if not any(part in item for part in allowed)] == []


def test_it_reads_no_secret() -> None:
    """A reader of the embed keys can sign tokens of any user of any tenant."""
    assert not [action for action in actions() if fnmatchcase("secretsmanager:GetSecretValue", action)]


def is_granted(action: str, resource: str) -> bool:
    """Whether the policies of deployers and of teardown grant an action on a resource, as IAM compares names."""
    teardown = read_policy("teardown")["Statement"]
    return any(
        any(fnmatchcase(action, pattern) for pattern in as_list(statement["Action"]))
        and any(fnmatchcase(resource, pattern) for pattern in as_list(statement["Resource"]))
        for statement in [*STATEMENTS, *teardown]
    )


STACK = "arn:aws:cloudformation:eu-central-1:1:stack/baton-dev/1"
TABLE = "arn:aws:dynamodb:eu-central-1:1:table/baton-dev-Table-1"
FILES = "arn:aws:s3:::baton-dev-bucket-1"
DOMAIN = "arn:aws:es:eu-central-1:1:domain/baton-dev"


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        *((f"cloudformation:{name}", STACK) for name in ("DescribeStacks", "DeleteStack", "ListStackResources")),
        *((f"dynamodb:{name}", TABLE) for name in ("DescribeTable", "UpdateTable", "DeleteTable")),
        *((f"s3:{name}", FILES) for name in ("ListBucketVersions", "DeleteBucket")),
        *((f"s3:{name}", f"{FILES}/acme/a.txt") for name in ("DeleteObject", "DeleteObjectVersion")),
        ("es:DeleteDomain", DOMAIN),
        ("secretsmanager:DeleteSecret", "arn:aws:secretsmanager:eu-central-1:1:secret:baton/dev/embed-keys-1"),
        *((name, "*") for name in ("cloudformation:ListStacks", "dynamodb:ListTables", "s3:ListAllMyBuckets")),
    ],
)
def test_with_the_policy_of_teardown_a_stage_can_be_removed(action: str, resource: str) -> None:
    assert is_granted(action, resource)


def test_the_rollback_of_a_creation_deletes_what_it_has_made(source: Stack) -> None:
    """Otherwise it ends in ROLLBACK_FAILED, and the stack accepts no further deployment."""
    stored = {item["Type"] for item in source.resources.values() if "Retain" in item.get("DeletionPolicy", "")}
    deletions = {
        "AWS::DynamoDB::Table": "dynamodb:DeleteTable",
        "AWS::S3::Bucket": "s3:DeleteBucket",
        "AWS::OpenSearchService::Domain": "es:DeleteDomain",
    }
    assert stored == deletions.keys()
    assert set(deletions.values()) <= actions()
    policies = {item.get("DeletionPolicy") for item in source.resources.values() if item["Type"] in stored}
    assert policies == {"RetainExceptOnCreate"}


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
    request = make_questions("123456789012", "eu-central-1", "shop-dev")
    assert len(request) == len(STATEMENTS)
    assert not [action for question in request for action in question.actions if "*" in action]
    table = next(question for question in request if "dynamodb:CreateTable" in question.actions)
    assert table.resource == "arn:aws:dynamodb:eu-central-1:123456789012:table/shop-dev-example"
    passing = next(question for question in request if question.actions == ("iam:PassRole",))
    assert passing.context == {"iam:PassedToService": "lambda.amazonaws.com"}


def test_a_deployer_who_must_set_a_boundary_needs_no_permission_to_remove_it() -> None:
    boundary = "arn:aws:iam::123456789012:policy/bounds"
    request = make_questions("123456789012", "eu-central-1", "shop-dev", boundary)
    roles = next(question for question in request if "iam:CreateRole" in question.actions)
    assert roles.context == {"iam:PermissionsBoundary": boundary}
    assert "iam:DeleteRolePermissionsBoundary" not in roles.actions
    assert [question for question in request if "iam:PermissionsBoundary" in question.context] == [roles]


@pytest.mark.parametrize("name", POLICIES)
def test_a_project_gets_the_policies_with_its_own_names(name: str, tmp_path: Path) -> None:
    parameters = {"Stage": "dev", "EmbedKeysSecret": "shop/dev/embed-keys", "ModelKeySecret": "shop/dev/model-key"}
    stage = Stage("dev", tmp_path / "samconfig.toml", "shop-dev", parameters)
    policy = render_policy(name, stage)
    assert "baton-*" not in policy
    assert "baton/*" not in policy
    assert ("secret:shop/dev/embed-keys-??????" in policy) is (name != "restore")
    longer = json.loads(render_policy("deployer", Stage("dev", stage.file, "my-own-assistant-dev", parameters)))
    assert len(longer["Statement"]) == len(STATEMENTS)
    assert not [statement for statement in longer["Statement"] if "Sid" in statement]
    with pytest.raises(DeploymentError, match="; a managed policy may have"):
        render_policy("deployer", Stage("dev", stage.file, "a-very-long-name-of-a-project-and-stage", parameters))
