"""Settings of the account that decide whether a stage works: concurrency, alarms, and API Gateway's logging role."""

from __future__ import annotations

from collections.abc import Iterator

from baton_deployment.account import Account
from baton_deployment.checks import Check, fails, fine, note
from baton_deployment.template import DeployedTemplate

CONCURRENCY = "concurrency"
LOGGING_ROLE = "logging role"
ALARMS = "alarms"
PRODUCTION = "prod"
"""The name of the stage whose alarms somebody must get."""
YOUNG = 100
"""Below this quota, connections, requests and turns soon keep each other from running."""
KEPT_FREE = 100
"""Lambda refuses reservations that leave fewer for all other functions."""
BACKGROUND = 10
"""Executions for requests, connections and the functions of each minute, beside the turns."""


def check_concurrency(account: Account, template: DeployedTemplate) -> Iterator[Check]:
    """Yield the meaning of the account's quota of executions at the same time."""
    quota = int(account.client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"])
    turns = int(template.values["MaximumConcurrentTurns"])
    raise_it = (
        "Ask for more, it is free: aws service-quotas request-service-quota-increase --service-code lambda "
        f"--quota-code L-B99A9384 --desired-value 1000 --region {account.region}"
    )
    reserved = {
        name: int(value)
        for name, value in template.values.items()
        if "ReservedConcurrency" in name and value.lstrip("-").isdigit() and int(value) > 0
    }
    if reserved and quota - sum(reserved.values()) < KEPT_FREE:
        yield fails(
            CONCURRENCY,
            f"{', '.join(reserved)} reserve {sum(reserved.values())} of {quota}; Lambda keeps {KEPT_FREE} free and "
            "refuses that",
            raise_it,
        )
    elif quota < YOUNG:
        yield note(
            CONCURRENCY,
            f"{quota} executions at once in this account, as young accounts have. Every connection, request and "
            f"answer in progress is one: enough to try it, for about {max(1, quota // 2)} people at the same time",
            raise_it,
        )
    elif quota < turns + BACKGROUND:
        yield note(
            CONCURRENCY,
            f"{quota} executions at once, and MaximumConcurrentTurns ({turns}) can take them all",
            f"Set MaximumConcurrentTurns to {quota // 2} or less. {raise_it}",
        )
    else:
        yield fine(CONCURRENCY, f"{quota} executions at once")
    if quota != int(template.values["ConcurrencyQuota"]):
        yield note(
            CONCURRENCY,
            f"ConcurrencyAlarm compares with {template.values['ConcurrencyQuota']} executions at once, not {quota}",
            f"Set the parameter ConcurrencyQuota to {quota}.",
        )


def check_alarms(stage: str, template: DeployedTemplate) -> Iterator[Check]:
    """Yield a note if the alarms of a stage for production notify nobody."""
    if stage == PRODUCTION and not template.values["AlarmTopicArn"]:
        yield note(
            ALARMS,
            "they notify nobody: without a topic they only show in CloudWatch",
            "Set the parameter AlarmTopicArn to an SNS topic that somebody reads.",
        )


def check_logging_role(account: Account) -> Iterator[Check]:
    """Yield whether API Gateway may write access logs in this account and region."""
    role = account.client("apigateway").get_account().get("cloudwatchRoleArn")
    if role:
        yield fine(LOGGING_ROLE, f"API Gateway writes access logs as {role}")
    else:
        yield fails(
            LOGGING_ROLE,
            "API Gateway has none in this account and region, and refuses every stage that writes access logs",
            "make account, or in a project: baton deploy --account",
        )
