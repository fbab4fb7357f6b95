"""Parse requests. Every transport passes its fields through these functions, which check them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from baton.domain.agents.agent_settings import WhileBusy
from baton.domain.agents.tool import BUILTIN_TOOLS, TOOL_NAME
from baton.domain.errors import InvalidRequest, MessageTooLarge
from baton.domain.json_values import is_within
from baton.domain.runs.interrupt import (
    APPROVED,
    REMARKS,
    DecisionStatus,
    InterruptDecision,
    derive_decision_message_id,
    is_client_call,
)
from baton.domain.schemas.json_schema import check_client_schema
from baton.domain.tenants.identity import (
    LANGUAGE_TAG,
    MAX_MESSAGE_ID,
    Scope,
    ThreadRef,
    derive_record_id,
    derive_run_id,
    derive_thread_ref,
    is_printable,
    resolve_thread_ref,
)
from baton.domain.threads.branches import BranchRequest
from baton.domain.threads.content import parse_content
from baton.domain.threads.turn_requests import (
    ActionRequest,
    ClientOffer,
    ClientTool,
    ContextItem,
    ConversationAction,
    DecisionRequest,
    MessageRequest,
)
from baton.domain.times import is_time_zone

MAX_PAYLOAD = 4_096
"""Characters of a decision's payload as JSON. The thread's item stores it until the run continues."""
MAX_RESULT_BYTES = 32 * 1024
"""Bytes of the result of a client's tool as JSON. The thread's item, of at most 400 KB, stores it too."""
MAX_RESULT_DEPTH = 32
MAX_RESULT_VALUES = 2_000
MAX_TIME = 40
"""Characters of a time."""


def parse_message_request(
    scope: Scope,
    *,
    thread_id: object,
    message_id: object,
    content: object,
    agent_id: object = None,
    run_id: object = None,
    branch: object = None,
    content_field: str = "content",
    client: ClientOffer | None = None,
    time_zone: object = None,
    while_busy: object = None,
    over_spending: object = None,
) -> MessageRequest:
    """Parse a message. Raises ``InvalidRequest``, ``UnsupportedPart`` and ``MessageTooLarge``.

    ``content_field`` is the name of the content in errors. The content of a request to answer an earlier message again
    is not read, because that message has the content. Without a thread id, one is derived from tenant, user and message
    id, so that a retry reaches the same thread.
    """
    message_id = parse_message_id(message_id)
    if agent_id is not None and (not isinstance(agent_id, str) or not is_printable(agent_id, 64)):
        raise InvalidRequest("agentId must be the id of an agent.")
    run_id = parse_run_id(run_id)
    branch_request = parse_branch_request(branch)
    if branch_request is not None and thread_id is None:
        raise InvalidRequest("branch: name the conversation that it belongs to.")
    thread = derive_thread_ref(scope, message_id) if thread_id is None else parse_thread_id(scope, thread_id)
    if branch_request is not None:
        thread = ThreadRef(thread.id, may_create=False)
    return MessageRequest(
        thread=thread,
        message_id=message_id,
        run_id=run_id or derive_run_id(thread.id, message_id),
        content=""
        if branch_request is not None and branch_request.is_regenerate
        else parse_content(content, content_field),
        agent_id=agent_id,
        branch=branch_request,
        client=client,
        time_zone=parse_time_zone(time_zone),
        while_busy=parse_while_busy(while_busy),
        over_spending=parse_over_spending(over_spending),
    )


def parse_over_spending(value: object) -> bool:
    """Parse whether the user goes on beyond a spending limit; False if it is missing. Raises ``InvalidRequest``."""
    if value is not None and not isinstance(value, bool):
        raise InvalidRequest("overSpending must be true or false.")
    return value is True


def parse_while_busy(value: object) -> WhileBusy | None:
    """Parse the mode for a message during a run in progress; None if it is missing. Raises ``InvalidRequest``."""
    if value is None:
        return None
    if not isinstance(value, str) or value not in set(WhileBusy):
        raise InvalidRequest(f"whileBusy must be one of {', '.join(WhileBusy)}.")
    return WhileBusy(value)


def parse_branch_request(raw: object) -> BranchRequest | None:
    """Parse the request for a branch; None if it is missing. Raises ``InvalidRequest``."""
    match raw:
        case None:
            return None
        case {"from": str(from_id), **others} if is_printable(from_id, MAX_MESSAGE_ID):
            regenerate = others.get("regenerate")
            if regenerate is None or isinstance(regenerate, bool):
                return BranchRequest(from_id, is_regenerate=bool(regenerate))
    raise InvalidRequest('branch must be {"from": the id of a user\'s message, "regenerate"?: true or false}.')


def make_decision_request(
    thread_id: str, decisions: Sequence[InterruptDecision], *, run_id: object = None, client: ClientOffer | None = None
) -> DecisionRequest:
    """Build the request of several decisions. Raises ``InvalidRequest`` unless they belong to one run."""
    ids = {decision.interrupt_id for decision in decisions}
    if len(ids) != len(decisions) or len({derive_decision_message_id(interrupt_id) for interrupt_id in ids}) != 1:
        raise InvalidRequest("resume: answer the interrupts of one run, each once and by its id.")
    return DecisionRequest.of(thread_id, decisions, run_id=parse_run_id(run_id), client=client)


def parse_interrupt_decision(
    interrupt_id: object, status: object, payload: object, answered_by: str, *, is_error: bool = False
) -> InterruptDecision:
    """Parse a decision on an interrupt, or the result of a call that the user's application carries out.

    ``is_error`` says that the result is the reason of a failure. Raises ``InvalidRequest`` and ``MessageTooLarge``.
    """
    if not isinstance(interrupt_id, str) or not is_printable(interrupt_id, MAX_MESSAGE_ID):
        raise InvalidRequest("interruptId must be the id of an interrupt.")
    if not isinstance(status, str) or status not in set(DecisionStatus):
        raise InvalidRequest("status must be 'resolved' or 'cancelled'.")
    if is_client_call(interrupt_id):
        _check_result(payload)
        return InterruptDecision(interrupt_id, DecisionStatus(status), payload, answered_by, is_error)
    _check_decision(DecisionStatus(status), payload)
    return InterruptDecision(interrupt_id, DecisionStatus(status), payload, answered_by)


def _check_decision(status: DecisionStatus, payload: object) -> None:
    """Raise ``InvalidRequest`` for an approval without a decision: silence is not consent.

    A status of ``cancelled`` refuses by itself. Members of other names are refused, because a client that sends them
    expects more than a yes or no, such as a call with other arguments.
    """
    is_refusal = status is DecisionStatus.CANCELLED
    decision = {} if is_refusal and payload is None else payload
    if (
        not isinstance(decision, dict)
        or not decision.keys() <= {APPROVED, *REMARKS}
        or not isinstance(decision.get(APPROVED, False if is_refusal else None), bool)
        or not all(isinstance(decision.get(name), str | None) for name in REMARKS)
    ):
        without = ", or absent to cancel" if is_refusal else ""
        raise InvalidRequest(f'payload must be {{"approved": true or false, "comment"?: "..."}}{without}.')
    _check_encodable(payload, "payload")
    if len(json.dumps(payload)) > MAX_PAYLOAD:
        raise InvalidRequest(f"payload must be at most {MAX_PAYLOAD} characters of JSON.")


def _check_encodable(value: object, name: str) -> None:
    """Raise ``InvalidRequest`` for a JSON value with text that UTF-8 cannot encode: the queue refuses it."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidRequest(f"{name} holds half of a surrogate pair, which is not text.") from None


def _check_result(payload: object) -> None:
    """Raise ``InvalidRequest`` or ``MessageTooLarge`` for a result that cannot be stored."""
    if not is_within(payload, MAX_RESULT_DEPTH, MAX_RESULT_VALUES):
        raise InvalidRequest(
            f"payload is nested over {MAX_RESULT_DEPTH} levels deep, or holds more than {MAX_RESULT_VALUES} values."
        )
    try:
        size = len(json.dumps(payload, ensure_ascii=False, allow_nan=False).encode())
    except UnicodeEncodeError:
        raise InvalidRequest("payload holds half of a surrogate pair, which is not text.") from None
    except ValueError:
        raise InvalidRequest("payload holds a number that JSON cannot represent.") from None
    if size > MAX_RESULT_BYTES:
        raise MessageTooLarge(f"The result of a client's tool must be at most {MAX_RESULT_BYTES // 1024} KB of JSON.")


def make_exit_request(thread_id: str, *, key: str) -> ActionRequest:
    """Build the request to end a handoff. Requests with the same ``key`` are the same request."""
    return _make_action_request(thread_id, ConversationAction.EXIT, key, None)


def make_continue_request(thread_id: str, workflow_id: object, *, key: str, may_create: bool = False) -> ActionRequest:
    """Build the request to continue a workflow. Requests with the same ``key`` are the same request.

    With ``may_create`` the request may start a new conversation. Raises ``InvalidRequest``.
    """
    parsed_id = parse_workflow_id(workflow_id)
    return _make_action_request(thread_id, ConversationAction.CONTINUE, key, parsed_id, may_create=may_create)


def make_merge_request(thread_id: str, fork_thread_id: str, answer_id: str) -> ActionRequest:
    """Build the request to copy the answer ``answer_id`` of a fork into its parent. It is the same each time."""
    about = f"{fork_thread_id}/{answer_id}"
    return _make_action_request(thread_id, ConversationAction.MERGE, fork_thread_id + answer_id, about)


def _make_action_request(
    thread_id: str, action: ConversationAction, key: str, about: str | None, *, may_create: bool = False
) -> ActionRequest:
    message_id = f"{action.value}-{derive_record_id(thread_id, action.value, key)}"
    run_id = derive_run_id(thread_id, message_id)
    return ActionRequest(ThreadRef(thread_id, may_create), message_id, run_id, action, about)


def parse_message_id(message_id: object) -> str:
    """Parse a message id. Raises ``InvalidRequest``."""
    if not isinstance(message_id, str) or not is_printable(message_id, MAX_MESSAGE_ID):
        raise InvalidRequest(f"messageId must be 1 to {MAX_MESSAGE_ID} printable characters.")
    return message_id


def parse_run_id(run_id: object) -> str | None:
    """Parse the run id; None if it is missing. Raises ``InvalidRequest``."""
    if run_id is None or (isinstance(run_id, str) and is_printable(run_id, MAX_MESSAGE_ID)):
        return run_id
    raise InvalidRequest(f"runId must be 1 to {MAX_MESSAGE_ID} printable characters.")


def parse_time_zone(value: object, name: str = "timeZone") -> str | None:
    """Parse a time zone; None if it is missing. Raises ``InvalidRequest``, which calls the field ``name``."""
    if value is None or (isinstance(value, str) and is_time_zone(value)):
        return value
    raise InvalidRequest(f"{name} must be the name of a time zone as IANA has it, such as Europe/Vienna.")


def parse_locale(value: object, name: str = "locale") -> str | None:
    """Parse a language; None if it is missing. Raises ``InvalidRequest``, which calls the field ``name``."""
    if value is None or (isinstance(value, str) and LANGUAGE_TAG.fullmatch(value)):
        return value
    raise InvalidRequest(f"{name} must be a language tag, such as de or de-AT.")


def parse_thread_id(scope: Scope, thread_id: object) -> ThreadRef:
    """Parse a thread id. Raises ``InvalidRequest``."""
    if not isinstance(thread_id, str):
        raise InvalidRequest("threadId must be a string.")
    return resolve_thread_ref(scope, thread_id)


def parse_workflow_id(workflow_id: object) -> str:
    """Parse a workflow id. Raises ``InvalidRequest``."""
    if not isinstance(workflow_id, str) or not is_printable(workflow_id, MAX_MESSAGE_ID):
        raise InvalidRequest("workflowId must be the id of a workflow.")
    return workflow_id


def parse_time(value: object, name: str) -> datetime:
    """Parse an ISO 8601 time that has an offset, and return it in UTC. Raises ``InvalidRequest``."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) and len(value) <= MAX_TIME else None
        if moment is not None and moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise InvalidRequest(f"{name} must be an ISO 8601 time with a time zone, such as 2026-03-14T10:15:00Z.")


def parse_integer(value: Any, name: str, *, low: int, high: int) -> int:
    """Parse a whole number between ``low`` and ``high``, both included. Raises ``InvalidRequest``."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidRequest(f"{name} must be a whole number from {low} to {high}.")
    return value


MAX_TOOLS = 64
MAX_TOOLS_BYTES = 64 * 1024
"""Bytes of all tools as JSON."""
MAX_DESCRIPTION = 4_000
"""Characters of a tool's description."""
MAX_SCHEMA_DEPTH = 32
MAX_SCHEMA_VALUES = 2_000
"""Values in the schemas of all tools together."""
MAX_CONTEXT = 64
MAX_CONTEXT_BYTES = 64 * 1024
"""Bytes of all context as JSON."""
MAX_ABOUT = 1_000
"""Characters of the description of an item of context."""

# Control characters, and characters that change the direction of the text after them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def parse_client_offer(tools: object, context: object) -> ClientOffer | None:
    """Parse ``tools`` and ``context`` of a request; None if there are none.

    Raises ``InvalidRequest``, and ``MessageTooLarge`` for more than 64 KB of either.
    """
    tool_fields, context_fields = _parse_list(tools, "tools", MAX_TOOLS), _parse_list(context, "context", MAX_CONTEXT)
    if not tool_fields and not context_fields:
        return None
    _check_size(tool_fields, "tools", MAX_TOOLS_BYTES)
    _check_size(context_fields, "context", MAX_CONTEXT_BYTES)
    return ClientOffer(
        _parse_tools(tool_fields), tuple(map(_parse_context_item, range(len(context_fields)), context_fields))
    )


def _parse_list(value: object, name: str, limit: int) -> Sequence[Mapping[str, Any]]:
    """Return a list of objects; empty if it is missing. Raises ``InvalidRequest``."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise InvalidRequest(f"{name} must be a list of objects.")
    if len(value) > limit:
        raise InvalidRequest(f"{name} must have at most {limit} entries.")
    if not is_within(value, MAX_SCHEMA_DEPTH + 2, MAX_SCHEMA_VALUES + 8 * limit):
        raise InvalidRequest(f"{name} is nested too deep, or holds too many values.")
    return value


def _check_size(value: object, name: str, limit: int) -> None:
    """Raise ``MessageTooLarge`` for more than ``limit`` bytes of JSON, ``InvalidRequest`` for NaN and infinity."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise InvalidRequest(f"{name} holds a number that JSON cannot represent.") from None
    if len(text.encode("utf-8", "surrogatepass")) > limit:
        raise MessageTooLarge(f"{name} must be at most {limit // 1024} KB of JSON.")


def _parse_tools(tool_fields: Sequence[Mapping[str, Any]]) -> tuple[ClientTool, ...]:
    tools: dict[str, ClientTool] = {}
    for number, fields in enumerate(tool_fields):
        tool = _parse_tool(fields, f"tools[{number}]")
        if tool.name in tools:
            raise InvalidRequest(f"tools[{number}].name: two tools are named {tool.name!r}.")
        tools[tool.name] = tool
    return tuple(tools.values())


def _parse_tool(fields: Mapping[str, Any], where: str) -> ClientTool:
    name, description = fields.get("name"), fields.get("description", "")
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise InvalidRequest(f"{where}.name must be 1 to 64 letters, digits, _ and -.")
    if BUILTIN_TOOLS.fullmatch(name):
        raise InvalidRequest(f"{where}.name: {name!r} is a name of Baton's own tools.")
    if not isinstance(description, str) or len(description) > MAX_DESCRIPTION:
        raise InvalidRequest(f"{where}.description must be a string of at most {MAX_DESCRIPTION} characters.")
    try:
        parameters = check_client_schema(fields.get("parameters"))
    except ValueError as error:
        raise InvalidRequest(f"{where}.parameters: {str(error)[:300]}.") from None
    _check_encodable(parameters, f"{where}.parameters")
    return ClientTool(name, _remove_unprintable(description), parameters)


def _parse_context_item(number: int, fields: Mapping[str, Any]) -> ContextItem:
    description, value = fields.get("description"), fields.get("value")
    if not isinstance(description, str) or len(description) > MAX_ABOUT:
        raise InvalidRequest(f"context[{number}].description must be a string of at most {MAX_ABOUT} characters.")
    if not isinstance(value, str):
        raise InvalidRequest(f"context[{number}].value must be a string.")
    return ContextItem(_remove_unprintable(description), _remove_unprintable(value))


def _remove_unprintable(text: str) -> str:
    return _UNPRINTABLE.sub(" ", text).strip()
