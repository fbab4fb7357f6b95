"""The results of tool calls over MCP: the agent's messages, its questions, and errors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import mcp_types as types

from baton.domain.documents.numbered_passages import shift_places
from baton.domain.errors import AgentMismatch, BatonError
from baton.domain.runs.interrupt import Interrupt, shorten_arguments
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.message import find_result as result_of_run
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.thread import Thread
from baton.turns.finished_runs import FinishedRun

STATES = {
    OutcomeType.SUCCESS: "completed",
    OutcomeType.CANCELLED: "cancelled",
    OutcomeType.INTERRUPT: "input_required",
    OutcomeType.DELIVERED: "delivered",
}
"""The ``state`` of a result by the outcome of its run. A run that ended with an error has no result."""
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Permit it"},
        "comment": {"type": "string", "title": "Comment", "description": "For the agent."},
    },
    "required": ["approved"],
}
"""The form of an approval."""
_SEPARATOR = "\n\n"


def to_result(finished: FinishedRun) -> types.CallToolResult:
    """Return the result of a run. Raises ``BatonError`` if the run ended with an error."""
    end = finished.messages[-1].end
    outcome = end.outcome if end is not None else OutcomeType.SUCCESS
    if end is not None and outcome is OutcomeType.ERROR:
        raise end.error
    messages = [message for message in finished.messages if message.role is Role.ASSISTANT and message.is_said]
    content: dict[str, Any] = {
        "thread_id": finished.thread.id,
        "message": _SEPARATOR.join(message.text for message in messages),
        "state": STATES[outcome],
    }
    if outcome is OutcomeType.INTERRUPT:
        content["questions"] = _list_questions(list_interrupts(finished), finished.messages)
    begins = accumulate((len(message.text) + len(_SEPARATOR) for message in messages), initial=0)
    # The last of ``begins`` is the end of the text.
    sources = [
        dict(shift_places(source, begin))
        for message, begin in zip(messages, begins, strict=False)
        for source in message.sources
    ]
    if sources:
        content["sources"] = sources
    if consulted := [dict(source) for message in messages for source in message.consulted]:
        content["consulted"] = consulted
    result = result_of_run(finished.messages)
    if result is not None:
        content["result"] = result
    return _make_result(content)


def to_questions(thread: Thread) -> types.CallToolResult:
    """Return the result of an answer after which other questions are still open."""
    questions = _list_questions(thread.open_interrupts, ())
    return _make_result({"thread_id": thread.id, "message": "", "state": "input_required", "questions": questions})


def list_interrupts(finished: FinishedRun) -> tuple[Interrupt, ...]:
    """Return the interrupts with which the run ended; empty if it ended differently."""
    end = finished.messages[-1].end
    return end.interrupts if end is not None and end.outcome is OutcomeType.INTERRUPT else ()


def make_forms(finished: FinishedRun) -> types.InputRequiredResult | None:
    """Return the run's questions as forms for the user.

    Return None if the run has no questions, or waits for a call of the user's application, which needs no form.
    """
    interrupts = list_interrupts(finished)
    if not interrupts or any(interrupt.is_client_call for interrupt in interrupts):
        return None
    requests: dict[str, Any] = {}
    for question in _list_questions(interrupts, finished.messages):
        form = types.ElicitRequestFormParams(message=question["message"], requested_schema=FORM)
        requests[question["interrupt_id"]] = types.ElicitRequest(params=form)
    # The state is not a secret. A caller that sends it back is checked like any other caller.
    return types.InputRequiredResult(input_requests=requests, request_state=finished.thread.id)


def to_failure(error: BatonError, thread_id: str | None = None) -> types.CallToolResult:
    """Return the result for an error, with the error's detail and its code for programs."""
    detail = error.detail
    if isinstance(error, AgentMismatch):
        detail = "This conversation belongs to another agent. Call that agent's tool, or leave thread_id out."
    content: dict[str, Any] = {"message": detail, "state": "failed", "code": error.code, "retryable": error.retryable}
    if error.retry_after is not None:
        content["retry_after"] = error.retry_after
    if thread_id is not None:
        content["thread_id"] = thread_id
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=detail)], structured_content=content, is_error=True
    )


def _make_result(content: dict[str, Any]) -> types.CallToolResult:
    # The structured content is the text too, for clients that only support text, as the protocol recommends.
    text = json.dumps(content, ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=content)


def _list_questions(interrupts: Iterable[Interrupt], messages: Sequence[StoredMessage]) -> list[dict[str, Any]]:
    calls = {call.id: call.arguments for message in messages for call in message.tool_calls}
    questions = []
    for interrupt in interrupts:
        as_shown = interrupt.as_ag_ui()
        question = {
            "interrupt_id": interrupt.id,
            "message": interrupt.plain_text,
            "tool": interrupt.tool_name,
            "schema": as_shown.response_schema or {},
            "expires_at": as_shown.expires_at or "",
        }
        if arguments := interrupt.arguments or shorten_arguments(calls.get(interrupt.tool_call_id, "")):
            question["arguments"] = arguments
        questions.append(question)
    return questions
