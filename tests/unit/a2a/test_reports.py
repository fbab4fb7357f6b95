"""An agent's report that hands a conversation back, with anything in its metadata."""

from __future__ import annotations

from typing import Any

import pytest
from a2a.types import Message

from baton.adapters.a2a.extension import MAX_OUTCOME, read_report
from baton.domain.handoffs.handoff import MAX_SUMMARY
from baton.domain.threads.a2a_task import EXTENSION_URI
from baton.ports.agents.agent_client import AgentReport

BOOKED = {"return": {"summary": "Booked.", "outcome": "completed"}}


def report_of(metadata: dict[str, Any]) -> AgentReport | None:
    return read_report(Message(metadata=metadata).metadata)


@pytest.mark.parametrize("metadata", [BOOKED, {EXTENSION_URI: BOOKED}, {EXTENSION_URI: BOOKED, "return": {}}])
def test_a_report_stands_under_the_extensions_uri_or_by_itself(metadata: dict[str, Any]) -> None:
    assert report_of(metadata) == AgentReport("Booked.", "completed")


@pytest.mark.parametrize(
    "metadata", [{}, {"return": True}, {"return": "Booked."}, {EXTENSION_URI: "return"}, {"returns": {}}]
)
def test_what_is_not_of_the_shape_is_no_report(metadata: dict[str, Any]) -> None:
    assert report_of(metadata) is None


def test_what_a_report_leaves_out_is_empty() -> None:
    assert report_of({"return": {}}) == AgentReport("", "")
    assert report_of({"return": {"summary": 7, "outcome": ["done"]}}) == AgentReport("", "")


def test_a_long_report_is_cut() -> None:
    report = report_of({"return": {"summary": "x" * 10_000, "outcome": "y" * 10_000}})
    assert report == AgentReport("x" * MAX_SUMMARY, "y" * MAX_OUTCOME)
