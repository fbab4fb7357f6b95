"""The page on cost computes with the template as it is, and its sums are right."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton_local.stack.intrinsics import Intrinsics
from benchmarks import month_cost
from tests.infrastructure.alarms import alarms_of, metrics_of
from tests.infrastructure.stack import Stack, read_template
from tests.unit.docs.pages import ROOT, table

COST = ROOT / "docs" / "explanation" / "cost.md"
BILLED = table(COST, "billed")
MONTH = table(COST, "what")
TRAFFIC = table(COST, "with traffic")
PANEL = table(COST, "billed for a panel")
SUM = "**USD for 1,000**"
PANEL_SUM = "**USD for 1,000 hours**"
MODEL_SECONDS = 2.0
"""Seconds of a call of the light model."""


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return read_template()


def memory(template: dict[str, Any], function: str) -> float:
    """GB of a function."""
    return float(template["Resources"][function]["Properties"]["MemorySize"]) / 1024


def dollars(column: int) -> float:
    """USD for a thousand, of a turn (0) or a closing (1)."""
    rows = [row for name, row in BILLED.items() if name != SUM]
    return sum(float(row[column]) * float(row[2]) for row in rows) / 1000


def test_the_sums_of_a_turn_and_of_a_closing_are_right() -> None:
    assert BILLED[SUM][:2] == [f"**{dollars(0):.3f}**", f"**{dollars(1):.3f}**"]


def test_closing_a_session_costs_no_more_than_a_turn() -> None:
    assert dollars(1) <= dollars(0)


def test_lambda_is_billed_for_the_memory_of_the_template(template: dict[str, Any]) -> None:
    turn, closing = (float(cell) for cell in BILLED["Lambda GB-seconds"][:2])
    assert turn == 4 * memory(template, "TurnsFunction")
    assert closing == (2 * MODEL_SECONDS + 0.5) * memory(template, "ClosingFunction")


def test_a_closing_takes_the_transitions_of_its_definition() -> None:
    definition = json.loads((ROOT / "statemachines/close_session.asl.json").read_text())
    taken, state = 1, definition["States"][definition["StartAt"]]
    while "Next" in state:
        taken, state = taken + 1, definition["States"][state["Next"]]
    assert float(BILLED["Step Functions transitions"][1]) == taken


def test_an_idle_month_counts_the_alarms_of_the_template(template: dict[str, Any]) -> None:
    parameters = {name: item.get("Default", "given") for name, item in template["Parameters"].items()}
    resolver = Intrinsics(template, parameters, lambda logical_id, attribute: logical_id)
    metrics = 0
    for name, alarm in alarms_of(Stack(template)).items():
        condition = template["Resources"][name].get("Condition")
        if condition is None or resolver.holds(condition):
            metrics += len(metrics_of(alarm))
    assert MONTH["alarms"] == [f"{metrics} metrics at 0.10", f"{metrics / 10:.2f}"]


def test_an_idle_month_counts_the_schedules_and_the_queues(template: dict[str, Any]) -> None:
    gigabytes = memory(template, "SweeperFunction") + memory(template, "IngestionFunction")
    minutes = 60 * 24 * 30
    assert MONTH["both schedules"][1] == f"{minutes * (0.1 * gigabytes * 13.3334 + 2 * 0.2) / 1e6:.2f}"
    polled = [
        event
        for resource in template["Resources"].values()
        for event in resource.get("Properties", {}).get("Events", {}).values()
        if event["Type"] == "SQS"
    ]
    assert len(polled) == 4
    assert MONTH["pollers of four queues"][1] == f"{len(polled) * 15 * minutes * 0.5 / 1e6:.2f}"


def test_the_sum_of_an_idle_month_is_right() -> None:
    rows = [float(row[-1]) for name, row in MONTH.items() if name != "**together**"]
    assert MONTH["**together**"][-1] == f"**{sum(rows):.2f}**"


def test_a_month_with_traffic_is_what_the_command_computes_and_its_sum_is_right() -> None:
    items = month_cost.bill(month_cost.Month())
    rows = {item.name: [item.count, f"{item.usd:.2f}"] for item in items}
    assert {**rows, "**together**": ["", f"**{month_cost.total(items):.2f}**"]} == TRAFFIC
    assert month_cost.total(items) == pytest.approx(sum(float(usd) for _, usd in rows.values()))


def test_the_sum_of_an_open_panel_is_right_and_a_fraction_of_a_turn() -> None:
    rows = [row for name, row in PANEL.items() if name != PANEL_SUM]
    usd = sum(float(count) * float(price) for count, price in rows) / 1000
    assert PANEL[PANEL_SUM][0] == f"**{usd:.3f}**" == f"**{1000 * month_cost.PANEL_HOUR:.3f}**"
    assert usd < dollars(0) / 2


def test_a_month_with_traffic_builds_on_the_tables_above_it() -> None:
    assert [f"**{1000 * price:.3f}**" for price in (month_cost.TURN, month_cost.CLOSING)] == BILLED[SUM][:2]
    assert f"**{month_cost.IDLE:.2f}**" == MONTH["**together**"][-1]


def test_memory_and_documents_for_a_thousand_users_cost_at_most_25_dollars() -> None:
    month = month_cost.Month()
    assert month.users == 1_000
    assert month_cost.total(month_cost.bill(month)) <= 25
