"""Checks of the stack's name, of its state, and of resources that an earlier stack has left behind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from botocore.exceptions import ClientError

from baton_deployment.account import Account, read_code
from baton_deployment.checks import Check, fails, fine
from baton_deployment.deployed_stack import describe_stack
from baton_deployment.template import DeployedTemplate

STATE_MACHINE_NAME = 80
"""Step Functions' limit of the characters of a state machine's name."""
NAME = "stack name"
STATE = "stack state"
LEFT_OVER = "left over"


def check_name(template: DeployedTemplate) -> Iterator[Check]:
    """Yield whether the stack's name, with which other names begin, is allowed and short enough."""
    stack = template.stack
    longest = max(
        len(str(template.intrinsics.resolve(properties["Name"])))
        for _, properties in template.list_resources("AWS::Serverless::StateMachine")
        if "Name" in properties
    )
    room = STATE_MACHINE_NAME - (longest - len(stack))
    if len(stack) > room:
        yield fails(NAME, f"{stack} has {len(stack)} characters; names of state machines leave {room}")
    elif re.fullmatch(r"[a-zA-Z][a-zA-Z0-9-]*", stack) is None:
        yield fails(NAME, f"{stack} is no stack name: letters, digits and hyphens, beginning with a letter")
    elif stack != stack.lower() and template.intrinsics.holds("UsesOpenSearch"):
        yield fails(NAME, f"{stack} has capital letters, which names of search indices cannot have")
    else:
        yield fine(NAME, f"{stack}, {len(stack)} of {room} characters")


def check_state(account: Account, stack: str) -> Iterator[Check]:
    """Yield whether CloudFormation would accept a deployment now."""
    description = describe_stack(account, stack)
    if description is None:
        yield fine(STATE, f"{stack} does not exist yet")
        yield from _check_left_over(account, stack)
        return
    status = str(description["StackStatus"])
    delete = (
        f"aws cloudformation delete-stack --stack-name {stack} --region {account.region}\n"
        f"aws cloudformation wait stack-delete-complete --stack-name {stack} --region {account.region}"
    )
    if status in {"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED"}:
        # A failed rollback leaves a table or a bucket, which the deletion of the stack keeps.
        then = "" if status == "ROLLBACK_COMPLETE" else "\n`baton teardown STAGE` shows what it has left behind."
        yield fails(STATE, f"{status}: the stack must be deleted before the next attempt", delete + then)
    elif status == "UPDATE_ROLLBACK_FAILED":
        command = f"aws cloudformation continue-update-rollback --stack-name {stack} --region {account.region}"
        yield fails(STATE, f"{status}: the rollback has to be completed first", command)
    elif status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
        yield fails(STATE, f"{status}: another deployment is going on", "Wait for its end.")
    else:
        yield fine(STATE, status)


def _check_left_over(account: Account, stack: str) -> Iterator[Check]:
    """Yield existing resources with fixed names, which a new stack could not create."""
    log_groups = account.client("logs").get_paginator("describe_log_groups")
    for prefix in (f"/aws/lambda/{stack}/", f"/aws/vendedlogs/states/{stack}/", f"/aws/apigateway/{stack}/"):
        pages = log_groups.paginate(logGroupNamePrefix=prefix)
        groups = [log_group["logGroupName"] for page in pages for log_group in page["logGroups"]]
        if groups:
            commands = "\n".join(
                f"aws logs delete-log-group --log-group-name {group} --region {account.region}" for group in groups
            )
            yield fails(LEFT_OVER, f"log groups of an earlier stack: {', '.join(groups)}", commands)
    key = f"{stack}/push-key"
    try:
        account.client("secretsmanager").describe_secret(SecretId=key)
    except ClientError as problem:
        if read_code(problem) != "ResourceNotFoundException":
            raise
    else:
        command = (
            f"aws secretsmanager delete-secret --secret-id {key} --force-delete-without-recovery "
            f"--region {account.region}"
        )
        warning = (
            "It opens the tokens of push configurations in a kept table. If you need them, store its value first, and\n"
            "put it into the new stack's secret later (docs/how-to/restore.md). This deletes it for good:\n"
        )
        yield fails(
            LEFT_OVER, f"the secret {key} of an earlier stack, perhaps scheduled for deletion", warning + command
        )
