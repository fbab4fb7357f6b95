"""Decisions about calls that waited for a person, from the messages of a stored conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from baton.agents.approvals import COMMENT, EXPIRED, REFUSED
from baton.domain.runs.tool_call import CallEnd
from baton_testing.recordings.stored_thread import Json


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A decision about one call."""

    call_id: str
    tool: str
    agrees: bool
    comment: str | None = None
    is_late: bool = False
    """Whether the call expired without a decision."""

    def make_step(self, about: bool | str) -> Json:
        """Return the decision as a step of a test, about the named tool, or with True about all waiting calls."""
        step: Json = {"approve" if self.agrees else "decline": about}
        return step | ({"comment": self.comment} if self.comment else {})


def find_decisions(messages: Sequence[Json]) -> list[StoredDecision]:
    """Return the decisions with which a run began, found by its results of calls of an earlier run.

    Whether an approved call succeeded does not matter.
    """
    own = {
        str(call["id"])
        for message in messages
        if message["role"] == "assistant"
        for call in message.get("toolCalls") or ()
    }
    results = [
        message for message in messages if message["role"] == "tool" and str(message.get("toolCallId")) not in own
    ]
    return [_read_decision(result) for result in results]


def find_waiting_message(messages: Sequence[Json]) -> Json | None:
    """Return the last message of an agent in a run if none of its calls has a result there, otherwise None.

    After such a message the run waited for a person.
    """
    results = {str(message.get("toolCallId")) for message in messages if message["role"] == "tool"}
    for message in reversed(messages):
        if message["role"] == "assistant":
            calls = message.get("toolCalls") or ()
            return message if calls and not any(str(call["id"]) in results for call in calls) else None
    return None


def _read_decision(result: Json) -> StoredDecision:
    call_id, tool = str(result.get("toolCallId")), str(result["metadata"].get("toolName"))
    text = str(result.get("error") or result.get("content") or "").removeprefix("Error: ")
    is_refused = result["metadata"].get("outcome") == CallEnd.REFUSED
    if is_refused and text == EXPIRED:
        return StoredDecision(call_id, tool, agrees=False, is_late=True)
    if is_refused and text.startswith(REFUSED):
        return StoredDecision(call_id, tool, agrees=False, comment=text.partition(COMMENT)[2] or None)
    # If a rule refused a call after an approval, the rule refuses it in the test as well.
    return StoredDecision(call_id, tool, agrees=True)
