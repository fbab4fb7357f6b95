"""Settings of the account that decide whether a stage works: concurrency, alarms, and API Gateway's logging role."""

from __future__ import annotations

from collections.abc import Iterator

from baton_deployment.account import Account
from baton_deployment.checks import Check, fails, fine, note
from baton_deployment.template import DeployedTemplate

CONCURRENCY = "concurrency"
QUOTA = "ConcurrencyQuota"
"""The parameter with the account's quota. A deployment sets it, unless the stage's parameters do."""
LOGGING_ROLE = "logging role"
ALARMS = "alarms"
PRODUCTION = "prod"
"""The name of the stage whose alarms must notify somebody."""
YOUNG = 100
"""The quota below which connections, requests and turns soon use up all executions."""
KEPT_FREE = 100
"""The executions that Lambda keeps for functions without a reservation. It refuses to reserve more."""
LEAST_TURNS = 2
"""The least concurrency that Lambda accepts for a queue."""
BACKGROUND = 10
"""Executions for requests, connections and scheduled functions, in addition to the turns."""


def check_concurrency(account: Account, template: DeployedTemplate) -> Iterator[Check]:
    """Yield whether the account's quota of concurrent executions suffices for the stage, and fits its alarm."""
    quota = read_quota(account)
    turns = _parse_number(template, "MaximumConcurrentTurns")
    raise_it = (
        "Ask for more, it is free: aws service-quotas request-service-quota-increase --service-code lambda "
        f"--quota-code L-B99A9384 --desired-value 1000 --region {account.region}"
    )
    numbers = {name: _parse_number(template, name) for name in template.values if "ReservedConcurrency" in name}
    reserved = {name: number for name, number in numbers.items() if number}
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
            f"Set MaximumConcurrentTurns to {max(LEAST_TURNS, quota // 2)} until then. {raise_it}",
        )
    elif turns is not None and quota < turns + BACKGROUND:
        yield note(
            CONCURRENCY,
            f"{quota} executions at once, and MaximumConcurrentTurns ({turns}) can take them all",
            f"Set MaximumConcurrentTurns to {quota // 2} or less. {raise_it}",
        )
    else:
        yield fine(CONCURRENCY, f"{quota} executions at once")
    stated_quota = _parse_number(template, QUOTA) if QUOTA in template.parameters else None
    if stated_quota is not None and stated_quota != quota:
        yield note(
            CONCURRENCY,
            f"ConcurrencyAlarm will compare with {stated_quota} executions at once, not {quota}",
            f"Remove the parameter {QUOTA}: the deployment then passes on the account's quota.",
        )


def read_quota(account: Account) -> int:
    """Return the number of concurrent executions that Lambda allows the account. Raises errors of AWS."""
    return int(account.client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"])


def _parse_number(template: DeployedTemplate, name: str) -> int | None:
    """Return the value of a parameter; None if it is not a number, which ``check_parameters`` reports."""
    value = template.values[name]
    return int(value) if value.isascii() and value.isdigit() else None


def check_alarms(stage: str, template: DeployedTemplate) -> Iterator[Check]:
    """Yield a note if the alarms of a stage for production notify nobody."""
    if stage == PRODUCTION and not template.values["AlarmTopicArn"]:
        yield note(
            ALARMS,
            "they notify nobody: without a topic they only show in CloudWatch",
            "Set the parameter AlarmTopicArn to an SNS topic that somebody reads.",
        )


def read_logging_role(account: Account) -> str | None:
    """Return the role as which API Gateway writes access logs; None if it has none. Raises errors of AWS."""
    return account.client("apigateway").get_account().get("cloudwatchRoleArn") or None


def check_logging_role(account: Account) -> Iterator[Check]:
    """Yield whether API Gateway may write access logs in this account and region."""
    if role := read_logging_role(account):
        yield fine(LOGGING_ROLE, f"API Gateway writes access logs as {role}")
    else:
        yield fails(
            LOGGING_ROLE,
            "API Gateway has none in this account and region, and refuses every stage that writes access logs",
            "baton deploy --account",
        )
