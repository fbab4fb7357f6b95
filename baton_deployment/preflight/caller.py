"""Checks of the caller: account, region, identity, and the permissions of the deployer's policy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from baton_deployment.account import Account, is_denied
from baton_deployment.checks import Check, fails, fine, note, unknown
from baton_deployment.deployer_policy import PATH, Question, make_questions

PERMISSIONS = "permissions"
SHOWN = 12
"""The most missing permissions that a row names."""


def check_account(account: Account) -> tuple[dict[str, Any], Check]:
    """Return the caller's identity, and the row with account, region and caller. Raises errors of AWS."""
    who: dict[str, Any] = account.client("sts").get_caller_identity()
    return who, fine("account", f"{who['Account']} in {account.region}, as {who['Arn']}")


def check_permissions(account: Account, who: dict[str, Any], stack: str, boundary: str = "") -> Iterator[Check]:
    """Yield whether the caller has the permissions for a deployment, by IAM's policy simulator.

    ``boundary`` is the ARN of the permissions boundary of the stack's roles, or empty. Raises errors of AWS, except a
    refusal of the questions.
    """
    arn = str(who["Arn"])
    if arn.endswith(":root"):
        yield note(PERMISSIONS, "the account's root user may do everything", "Deploy with a role instead.")
        return
    iam = account.client("iam")
    try:
        principal = _find_principal(iam, arn)
        if principal is None:
            yield unknown(PERMISSIONS, f"the simulator judges users and roles only, not {arn}")
            return
        missing = list(
            _find_missing(iam, principal, make_questions(str(who["Account"]), account.region, stack, boundary))
        )
    except ClientError as problem:
        if not is_denied(problem):
            raise
        action = f"iam:{problem.operation_name}"
        yield unknown(PERMISSIONS, f"the caller may not ask ({action})", f"What a deployer needs: {PATH}")
        return
    if missing:
        some = ", ".join(missing[:SHOWN]) + (f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else "")
        advice = f"Attach the deployer's policy to {principal}, or ask for it: baton deploy STAGE --policy deployer"
        yield fails(PERMISSIONS, f"not allowed: {some}", advice)
    else:
        yield fine(PERMISSIONS, "the deployer's policy is granted, as far as IAM's simulator knows")


def _find_principal(iam: Any, arn: str) -> str | None:
    """Return the ARN of the user, or of a session's role; None for other callers."""
    if re.fullmatch(r"arn:[^:]+:iam::\d+:user/.+", arn):
        return arn
    session = re.fullmatch(r"arn:[^:]+:sts::\d+:assumed-role/([^/]+)/.+", arn)
    if session is None:
        return None
    # A session's ARN lacks the path of its role.
    return str(iam.get_role(RoleName=session[1])["Role"]["Arn"])


def _find_missing(iam: Any, principal: str, questions: list[Question]) -> Iterator[str]:
    """Yield the actions of the questions that IAM would refuse. Raises errors of AWS."""
    for question in questions:
        pages = iam.get_paginator("simulate_principal_policy").paginate(
            PolicySourceArn=principal,
            ActionNames=list(question.actions),
            ResourceArns=[question.resource],
            ContextEntries=[
                {"ContextKeyName": name, "ContextKeyValues": [value], "ContextKeyType": "string"}
                for name, value in question.context.items()
            ],
        )
        for page in pages:
            for result in page["EvaluationResults"]:
                if result["EvalDecision"] != "allowed":
                    yield str(result["EvalActionName"])
