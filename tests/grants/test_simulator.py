"""The simulator decides as IAM does, so that a grant which is missing, or of no use, is found."""

from __future__ import annotations

import pytest

from tests.grants.declared import bucket_policy, list_implied, roles, template
from tests.grants.simulator import Asked, Decision, Grant, Json, decide, grants

TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/baton-Table"


def decide_one(question: Asked, *statements: Json, bucket: Json | None = None) -> Decision:
    """The decision on one request by a role of these statements."""
    [decision] = decide([question], {"Role": [{"Version": "2012-10-17", "Statement": list(statements)}]}, bucket)
    return decision


def allow(action: str | list[str], resource: str | list[str], **more: object) -> Json:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def get(resource: str = TABLE, **context: object) -> Asked:
    return Asked("Function", "Role", "dynamodb:GetItem", resource, dict(context))


def test_what_no_statement_allows_is_denied() -> None:
    assert decide_one(get(), allow("dynamodb:PutItem", TABLE)).result == "ImplicitlyDenied"
    assert decide_one(get(), allow("dynamodb:GetItem", f"{TABLE}/index/idle")).result == "ImplicitlyDenied"


def test_the_grant_that_allows_is_reported_and_no_other() -> None:
    decision = decide_one(get(), allow(["dynamodb:Query", "dynamodb:GetItem"], [f"{TABLE}/index/idle", TABLE]))
    assert decision.result == "Allowed"
    assert decision.uses == {Grant("Role", "dynamodb:GetItem", TABLE)}


def test_wildcards_stand_for_characters() -> None:
    secret = "arn:aws:secretsmanager:us-east-1:000000000000:secret:baton/key-"
    question = Asked("Function", "Role", "secretsmanager:GetSecretValue", f"{secret}AbCdEf")
    assert decide_one(question, allow("secretsmanager:Get*", f"{secret}??????")).result == "Allowed"
    assert decide_one(question, allow("secretsmanager:Get*", f"{secret}?????")).result == "ImplicitlyDenied"


@pytest.mark.parametrize(("tenant", "result"), [("acme#1", "Allowed"), ("other#1", "ImplicitlyDenied")])
def test_conditions_count(tenant: str, result: str) -> None:
    condition = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["acme#*"]}}
    statement = allow("dynamodb:GetItem", TABLE, Condition=condition)
    assert decide_one(get(**{"dynamodb:LeadingKeys": [tenant]}), statement).result == result


def test_what_is_denied_is_denied_even_if_another_statement_allows_it() -> None:
    deny = {"Effect": "Deny", "Action": "dynamodb:*", "Resource": "*"}
    assert decide_one(get(), allow("dynamodb:GetItem", TABLE), deny).result == "ExplicitlyDenied"


@pytest.mark.parametrize(("tls", "result"), [("true", "Allowed"), ("false", "ExplicitlyDenied")])
def test_the_buckets_own_policy_counts(tls: str, result: str) -> None:
    question = Asked("Function", "Role", "s3:GetObject", "arn:aws:s3:::baton-bucket/a", {"aws:SecureTransport": tls})
    decision = decide_one(
        question, allow("s3:GetObject", "arn:aws:s3:::baton-bucket/*"), bucket=bucket_policy(template())
    )
    assert decision.result == result


def test_a_request_that_iam_does_not_know_is_an_error() -> None:
    decision = decide_one(Asked("Function", "Role", "dynamodb:Invent", TABLE), allow("dynamodb:*", TABLE))
    assert (decision.result, bool(decision.why)) == ("Error", True)


def test_the_roles_allow_what_aws_does_in_their_name() -> None:
    declared = template()
    questions = list(list_implied(declared))
    decisions = decide(questions, roles(declared))
    assert [
        f"{question}: {decision.result}"
        for question, decision in zip(questions, decisions, strict=True)
        if decision.result != "Allowed"
    ] == []
    assert set().union(*(decision.uses for decision in decisions)) <= grants(roles(declared))
