"""The limits that bind first, with the numbers of users at which they bind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.cost.bill import Calculator

CHATTING_SECONDS, CHATTING_INTERVAL = 10.0, 60.0
"""For users who chat at the same time: the seconds of a worker for an answer, and between the messages of a user."""
RATED_RUNS, SPENDING_CALLS = 100, 80
"""The most updates of a tenant's item in a second: by new runs with a rate of the tenant, and by calls of models with a
spending limit of the tenant while 200 calls are in progress."""
SWEPT_A_MINUTE = 33_000
"""Conversations that a sweep checks in a minute (``benchmarks.sweep``)."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The average use by one user in a second, for each limit."""

    executions: float
    """Concurrent executions of Lambda functions."""
    workers: float
    """The executions that are workers of queued turns."""
    closings: float
    """Concurrent closings."""
    closing_starts: float
    frames_in: float
    frames: float
    """Frames in both directions, plus HTTP requests."""
    connections: float
    """New WebSocket connections."""
    requests_of_method: float
    """HTTP requests of the busiest method."""
    write_units: float
    queued: float
    """Messages to the queue of turns."""
    turns: float
    model_calls: float
    checks: float
    prompt_tokens: float


@dataclass(frozen=True, slots=True)
class Quota:
    """A limit of the deployment or of the account."""

    name: str
    value: float
    unit: str
    """The unit of the value, in words."""
    demand: str
    """The attribute of ``Demand`` to which the limit applies."""
    remedy: str

    def count_users(self, demand: Demand) -> float | None:
        """Return the number of users at which the limit binds; None if the demand does not use it."""
        demand_of_user: float = getattr(demand, self.demand)
        return self.value / demand_of_user if demand_of_user else None


def find_profile_demand(calculator: Calculator) -> Demand:
    """Return the demand of a user of the profile in the busiest hour of a working day."""
    profile = calculator.profile
    share = profile.busiest_hour / profile.working_days / 3_600
    return _sum_demand(calculator, {name: count * share for name, count in calculator.count_monthly().items()})


def find_chatting_demand(calculator: Calculator) -> Demand:
    """Return the demand of a user who sends a message every minute, with a panel that stays open."""
    seconds = CHATTING_SECONDS - calculator.activities["turn"].sum_seconds("Turns")
    profile = calculator.profile.model_copy(
        update={"answer_seconds": calculator.profile.answer_seconds + seconds, "share_over_sse": 0.0}
    )
    slower = Calculator(calculator.deployment, calculator.measured, calculator.prices, profile)
    return _sum_demand(slower, {"turn": 1 / CHATTING_INTERVAL, "panel_hour": 1 / 3_600})


def _sum_demand(calculator: Calculator, rates: Mapping[str, float]) -> Demand:
    """Return the demand of activities, given the rates of their occurrences in a second."""
    occurring = [(calculator.activities[name], rate) for name, rate in rates.items()]

    def sum_unit(name: str) -> float:
        return sum(activity.units.get(name, 0.0) * rate for activity, rate in occurring)

    def sum_seconds(function: str | None = None) -> float:
        return sum(activity.sum_seconds(function) * rate for activity, rate in occurring)

    turns = rates.get("turn", 0.0) + rates.get("sse_turn", 0.0)
    return Demand(
        executions=sum_seconds(),
        workers=sum_seconds("Turns"),
        closings=sum_seconds("Closing"),
        closing_starts=rates.get("closing", 0.0),
        frames_in=sum(activity.frames_in * rate for activity, rate in occurring),
        frames=sum_unit("socket_message") + sum_unit("rest_request"),
        connections=rates.get("opening", 0.0) + rates.get("panel_hour", 0.0) * calculator.measured.panel.connections,
        requests_of_method=max(rates.get("opening", 0.0), rates.get("sse_turn", 0.0)),
        write_units=sum_unit("write_unit"),
        queued=rates.get("turn", 0.0) + rates.get("title", 0.0) + rates.get("summary", 0.0),
        turns=turns,
        model_calls=turns + sum(count * rates.get(name, 0.0) for name, count in _count_model_calls(calculator).items()),
        checks=rates.get("check", 0.0),
        prompt_tokens=turns * calculator.profile.prompt_bytes / 4,
    )


def _count_model_calls(calculator: Calculator) -> dict[str, int]:
    """Return the calls of the light model for one occurrence, by activity."""
    facts = calculator.measured.closing_model_calls if calculator.deployment.writes_facts else 0
    return {"title": 1, "summary": 1, "closing": facts}


def find_quotas(calculator: Calculator) -> Sequence[Quota]:
    """Return the limits, from the template's parameters and from AWS's defaults for new accounts.

    AWS's defaults are from the quotas pages of Lambda, API Gateway, DynamoDB, SQS and Step Functions.
    """
    limit = calculator.deployment.read_limit
    raised, parameter = "Service Quotas", "the parameter"
    shared = f"{raised}; all stacks of the region share them"
    executions = "Lambda's concurrent executions"
    frames = "requests and frames a second"
    return (
        Quota(f"{executions}, new accounts", 10, "", "executions", f"{raised}, before the first users"),
        Quota(f"{executions} (`ConcurrencyQuota`)", limit("ConcurrencyQuota"), "", "executions", shared),
        Quota("`MaximumConcurrentTurns`", limit("MaximumConcurrentTurns"), "", "workers", f"{parameter}, up to 1,000"),
        Quota(
            "`MaximumPipelineRunsOfTenant`, in one tenant",
            limit("MaximumPipelineRunsOfTenant"),
            "closings at once",
            "closings",
            f"{parameter}; others wait",
        ),
        Quota(
            "`MaximumPipelineRuns`",
            limit("MaximumPipelineRuns"),
            "closings at once",
            "closings",
            f"{parameter}; others wait",
        ),
        Quota(
            "DynamoDB, a new table on demand",
            4_000,
            "write units a second",
            "write_units",
            "warm throughput, or slow growth: a table serves twice its highest peak so far",
        ),
        Quota("DynamoDB, a table on demand", 40_000, "write units a second", "write_units", raised),
        Quota(
            "DynamoDB, the item of a tenant with [rates](../reference/limits.md#rates)",
            RATED_RUNS,
            "new runs a second",
            "turns",
            "rates of users only, which are the default",
        ),
        Quota(
            "DynamoDB, the item of a tenant with a [spending limit](../reference/limits.md#spending)",
            SPENDING_CALLS,
            "calls of models a second",
            "model_calls",
            "limits of users or agents only",
        ),
        Quota("API Gateway, newer regions", 2_500, frames, "frames", shared),
        Quota("API Gateway", 10_000, frames, "frames", shared),
        Quota("API Gateway, new WebSocket connections", 500, "a second", "connections", raised),
        Quota(
            "`SocketRequestsPerSecond`",
            limit("SocketRequestsPerSecond"),
            "frames from clients a second",
            "frames_in",
            parameter,
        ),
        Quota(
            "`HttpRequestsPerSecond`",
            limit("HttpRequestsPerSecond"),
            "requests a second of one method",
            "requests_of_method",
            parameter,
        ),
        Quota("SQS, a FIFO queue in the smallest regions", 2_400, "messages a second", "queued", "another region"),
        Quota("Step Functions, started executions", 300, "a second", "closing_starts", raised),
        Quota("the sweeper", SWEPT_A_MINUTE / 60, "checks a second", "checks", "none: sessions end later"),
    )
