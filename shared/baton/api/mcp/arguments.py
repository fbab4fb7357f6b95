"""The arguments of a tool call over MCP, and the turn that the call requests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import mcp_types as types
from pydantic import BaseModel, Field, ValidationError

from baton.api.mcp.access import McpCaller
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import IDEMPOTENCY_KEY, TIME_ZONE_KEY
from baton.domain.definition import get_message
from baton.domain.errors import AgentMismatch, InterruptUnavailable, InvalidRequest
from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision
from baton.domain.tenants.identity import Scope
from baton.domain.threads.content import write_field_path
from baton.domain.threads.thread import Thread
from baton.domain.threads.turn_requests import TurnRequest
from baton.threads.requests import parsing
from baton.threads.requests.thread_access import get_own_thread, refusals_audited

MAX_KEY = 1_024
"""Characters of an idempotency key."""
INTERRUPT_ID = "interrupt_id"


class _CallArguments(BaseModel, extra="forbid", strict=True):
    """The arguments, as ``tools.INPUT_SCHEMA`` describes them."""

    message: str | None = None
    thread_id: Annotated[str, Field(min_length=1)] | None = None
    answer: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RequestedTurn:
    """A turn to run."""

    request: TurnRequest
    owner: Scope
    """The scope in which the turn runs: the caller's; for an answer, the scope of the interrupted run's user."""
    is_kept: bool
    """True if the client has sent an idempotency key, so that it may repeat the call for the result."""


async def parse_call(caller: McpCaller, agent: AgentDefinition, params: types.CallToolRequestParams) -> RequestedTurn:
    """Return the turn that a call requests. Raises the ``BatonError`` that refuses the call."""
    key = _read_idempotency_key(params.meta)
    if params.input_responses is not None and params.request_state is not None:
        forms = _read_forms(params.input_responses)
        return await _make_answer_turn(caller, agent, params.request_state, forms, is_kept=key is not None)
    arguments = _parse_arguments(params.arguments)
    if arguments.answer is not None:
        if arguments.message is not None:
            raise InvalidRequest("Give either message or answer, not both.")
        if arguments.thread_id is None:
            raise InvalidRequest("thread_id is required with answer.")
        answers = dict(arguments.answer)
        named = answers.pop(INTERRUPT_ID, None)
        if named is not None and not isinstance(named, str):
            raise InvalidRequest("answer.interrupt_id must be the id of a question.")
        forms = {named: (DecisionStatus.RESOLVED, answers or None)}
        return await _make_answer_turn(caller, agent, arguments.thread_id, forms, is_kept=key is not None)
    named_zone = params.meta.get(TIME_ZONE_KEY) if params.meta is not None else None
    time_zone = parsing.parse_time_zone(named_zone, f"_meta: {TIME_ZONE_KEY}")
    return _make_message_turn(caller, agent, arguments, key, time_zone)


async def find_dismissed_thread(caller: McpCaller, params: types.CallToolRequestParams) -> Thread | None:
    """Return the conversation if the user has closed all forms of the call without a decision; otherwise None.

    Raises ``ThreadUnavailable``, which is audited, and ``InvalidRequest``.
    """
    if params.input_responses is None or params.request_state is None or _read_forms(params.input_responses):
        return None
    return await _find_own(caller, parsing.parse_thread_id(caller.scope, params.request_state).id)


def _make_message_turn(
    caller: McpCaller, agent: AgentDefinition, arguments: _CallArguments, key: str | None, time_zone: str | None
) -> RequestedTurn:
    if arguments.message is None:
        raise InvalidRequest("message is required.")
    # With the prefix, the id differs from all message ids of other transports.
    derived_id = f"mcp.{hashlib.sha256(key.encode()).hexdigest()}" if key is not None else None
    request = parsing.parse_message_request(
        caller.scope,
        thread_id=arguments.thread_id,
        message_id=derived_id or caller.app.ports.clock.new_id(),
        content=arguments.message,
        agent_id=agent.id,
        content_field="message",
        time_zone=time_zone,
    )
    if arguments.thread_id is not None:
        request = replace(request, thread=replace(request.thread, may_create=False))
    return RequestedTurn(request, caller.scope, key is not None)


async def _make_answer_turn(
    caller: McpCaller,
    agent: AgentDefinition,
    thread_id: str,
    decisions: Mapping[str | None, tuple[DecisionStatus, Any]],
    *,
    is_kept: bool,
) -> RequestedTurn:
    """Return the turn that continues an interrupted run.

    ``decisions`` are by interrupt id. The decision for None answers all open approvals.
    """
    thread = await _find_own(caller, parsing.parse_thread_id(caller.scope, thread_id).id)
    if thread.agent_id != agent.id:
        raise AgentMismatch
    user_id = caller.scope.user_id
    answers: list[InterruptDecision] = []
    for named, (status, payload) in decisions.items():
        # Calls of the user's application are left out, because their results must name the call.
        approvals = [interrupt.id for interrupt in thread.open_interrupts if not interrupt.is_client_call]
        ids = approvals if named is None else [named]
        _check_decision(thread, ids, payload)
        answers += [
            parsing.parse_interrupt_decision(interrupt_id, status.value, payload, user_id) for interrupt_id in ids
        ]
    if not answers:
        raise InterruptUnavailable("The agent asks nothing in this conversation at the moment.")
    owner = await caller.app.approvals.find_owner(caller.scope, thread.id, answers)
    return RequestedTurn(parsing.make_decision_request(thread.id, answers), owner, is_kept)


def _check_decision(thread: Thread, ids: Sequence[str], payload: Any) -> None:
    """Raise ``InvalidRequest`` for an answer to an approval that contains no decision."""
    decides = isinstance(payload, dict) and isinstance(payload.get("approved"), bool)
    interrupts = [thread.pending.get(interrupt_id) for interrupt_id in ids] if thread.pending is not None else []
    if not decides and any(interrupt is not None and not interrupt.is_client_call for interrupt in interrupts):
        raise InvalidRequest("answer.approved must be true or false.")


async def _find_own(caller: McpCaller, thread_id: str) -> Thread:
    """Return the caller's own thread. Raises ``ThreadUnavailable``, which is audited."""
    ports = caller.app.ports
    async with refusals_audited(ports.audit, caller.scope, thread_id, "tool.approve"):
        return await get_own_thread(ports.store, caller.scope, thread_id)


def _read_forms(responses: types.InputResponses) -> dict[str | None, tuple[DecisionStatus, Any]]:
    """Return the decisions in a user's responses to forms, by interrupt id. A dismissed form has no decision.

    Raises ``InvalidRequest`` for other responses.
    """
    decisions: dict[str | None, tuple[DecisionStatus, Any]] = {}
    for interrupt_id, response in responses.items():
        if not isinstance(response, types.ElicitResult):
            raise InvalidRequest("inputResponses must be the responses to the forms that were asked for.")
        if response.action == "accept":
            decisions[interrupt_id] = (DecisionStatus.RESOLVED, response.content or None)
        elif response.action == "decline":
            decisions[interrupt_id] = (DecisionStatus.RESOLVED, {"approved": False})
    return decisions


def _parse_arguments(values: dict[str, Any] | None) -> _CallArguments:
    try:
        return _CallArguments.model_validate(values or {})
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidRequest(f"{write_field_path(first['loc'])[:100]}: {get_message(first)[:200]}.") from None


def _read_idempotency_key(meta: Mapping[str, Any] | None) -> str | None:
    """Return the call's idempotency key; None without one. Raises ``InvalidRequest`` for an invalid key."""
    key = meta.get(IDEMPOTENCY_KEY) if meta is not None else None
    if key is None or (isinstance(key, str) and 1 <= len(key) <= MAX_KEY and key.isprintable()):
        return key
    raise InvalidRequest(f"_meta: {IDEMPOTENCY_KEY} must be 1 to {MAX_KEY} printable characters.")
