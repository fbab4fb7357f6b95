"""The steps of agents as spans: an agent's answer, a tool call, a handoff."""

from __future__ import annotations

from contextlib import AbstractContextManager

from baton.agents.call_outcome import CallOutcome
from baton.agents.guardrails.hooks import replaces_words
from baton.agents.tools.tool_set import ToolOffer
from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.tracing import Attribute, Operation, Span, describe_exchange, get_current_span, to_content, traced

UNKNOWN_TOOL = "unknown"
"""The span's name for a tool that the agent does not have. The model's name for it may contain words of the user."""


def trace_agent(agent: AgentDefinition, task_id: str | None = None) -> AbstractContextManager[Span]:
    """Trace the block as the work of ``agent``. ``task_id`` is the sub-task of a consulted agent."""
    attributes = {Attribute.AGENT_ID: agent.id, Attribute.AGENT_NAME: agent.name, Attribute.TASK: task_id}
    return traced(Operation.AGENT, agent.id, attributes, is_remote=agent.remote is not None)


def note_answer(span: Span, agent: AgentDefinition, question: str, answer: str) -> None:
    """Set the question and the answer of an agent on its span, unless its guardrails may replace them."""
    if span.shows_content and not replaces_words(agent):
        span.set(describe_exchange(question, answer))


def trace_call(call: ToolCall, offer: ToolOffer | None) -> AbstractContextManager[Span]:
    """Trace the block as a tool call. ``offer`` is the called tool; None if the agent has no such tool."""
    name = call.name if offer is not None else UNKNOWN_TOOL
    shows_content = get_current_span().shows_content
    attributes = {
        Attribute.TOOL_NAME: name,
        Attribute.TOOL_CALL_ID: call.id,
        Attribute.TOOL_TYPE: "function" if offer is None or offer.tool is None else "extension",
        Attribute.TOOL_ARGUMENTS: to_content(call.arguments) if shows_content else None,
    }
    return traced(Operation.TOOL, name, attributes)


def note_outcome(span: Span, outcome: CallOutcome) -> None:
    """Set the attributes of a call's outcome on its span."""
    if outcome.waits:
        span.set({Attribute.OUTCOME: "waits"})
    elif outcome.error is not None:
        span.fail("tool_failed")
    if span.shows_content and outcome.output:
        span.set({Attribute.TOOL_RESULT: to_content(outcome.output)})


def trace_handoff(source: AgentDefinition, target: AgentDefinition) -> AbstractContextManager[Span]:
    """Trace the block as the handoff of the conversation from ``source`` to ``target``."""
    attributes = {Attribute.HANDOFF_FROM: source.id, Attribute.HANDOFF_TO: target.id}
    return traced(Operation.HANDOFF, target.id, attributes)
