"""The states of the workflow."""

from __future__ import annotations

REQUEST = "I want to create a skill that sends Slack alerts"


STATES = ["GATHERING_REQUIREMENTS", "DEFINING_TRIGGERS", "GENERATING_SKILL", "TESTING", "COMPLETE"]
