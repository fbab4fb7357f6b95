"""Parsing of AG-UI run inputs: the new messages at the end, and answers for an interrupted run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ag_ui.core import RunAgentInput, TextPart, ToolMessage, UserMessage

from baton.composition.app import App
from baton.domain.errors import BatonError, InterruptUnavailable, UnsupportedPart
from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision, derive_decision_message_id, is_client_call
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import Event, make_run_finished, make_run_started, make_unsequenced
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.thread import Thread
from baton.domain.threads.turn_requests import ClientOffer, DecisionRequest, MessageRequest
from baton.threads.requests.parsing import make_decision_request, parse_interrupt_decision, parse_thread_id

MAX_ENTRIES = 1_000
"""Entries of ``tools``, of ``context``, of ``resume``, and of a list in a message, because each entry is validated."""
MAX_RESULTS = 64
"""Results of the client's tools that are read: more than the calls that can wait at once."""


def select_newest(body: Any) -> Any:
    """Return the input with only its last user message, the client's results next to it, and its last message.

    The other messages are left out because validating a thousand messages takes a tenth of a second. Raises
    ``ValueError`` for lists that are too long.
    """
    if not isinstance(body, dict):
        return body
    for name in ("tools", "context", "resume"):
        if isinstance(body.get(name), list) and len(body[name]) > MAX_ENTRIES:
            raise ValueError(f"{name} must have at most {MAX_ENTRIES} entries")
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    user_indexes = [
        index for index, message in enumerate(messages) if isinstance(message, dict) and message.get("role") == "user"
    ]
    last = user_indexes[-1] if user_indexes else -1
    since = last
    while since > 0 and isinstance(messages[since - 1], dict) and messages[since - 1].get("role") == "tool":
        since -= 1
    before = [index for index in range(since, last) if _is_client_result(messages[index])]
    results = [index for index in range(last + 1, len(messages)) if _is_client_result(messages[index])]
    indexes = sorted({*before[-MAX_RESULTS:], *user_indexes[-1:], *results[-MAX_RESULTS:], len(messages) - 1} - {-1})
    for index in indexes:
        for name, value in messages[index].items() if isinstance(messages[index], dict) else ():
            if isinstance(value, list) and len(value) > MAX_ENTRIES:
                raise ValueError(f"{str(name)[:80]} of a message must have at most {MAX_ENTRIES} entries")
    return {**body, "messages": [messages[index] for index in indexes]}


def _is_client_result(message: object) -> bool:
    if not isinstance(message, Mapping) or message.get("role") != "tool":
        return False
    call_id = message.get("toolCallId")
    return isinstance(call_id, str) and is_client_call(call_id)


def read_results(messages: Sequence[Any]) -> list[Any]:
    """Return the tool messages at the end with results of the client's tools, all of the same run.

    ``messages`` are the messages that ``select_newest`` returns. Results of Baton's own tools among them, which the
    client has got from Baton, are skipped. A last message with the result of an unknown call is returned, so that the
    caller refuses it.
    """
    _, results = _split_client_results(messages)
    last = messages[-1] if messages else None
    if not results and last is not None and last.role == "tool" and not last.tool_call_id.startswith("call_"):
        return [last]  # the id is not one of Baton's own calls
    return _select_last_run(results)


def read_results_before(messages: Sequence[Any]) -> list[Any]:
    """Return the tool messages directly before the last user message with results of the client's tools.

    The client had these results, but had not sent them, when the user wrote another message.
    """
    results, _ = _split_client_results(messages)
    return _select_last_run(results)


def _split_client_results(messages: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the tool messages with results of the client's tools before, and after, the last user message."""
    before: list[Any] = []
    after: list[Any] = []
    for message in messages:
        if message.role == "user":
            before, after = after, []
        elif message.role == "tool" and is_client_call(message.tool_call_id):
            after.append(message)
    return before, after


def _select_last_run(results: list[Any]) -> list[Any]:
    """Return the last result of each call, for the calls of the run to which the last result belongs."""
    runs = [derive_decision_message_id(result.tool_call_id) for result in results]
    return list(
        {result.tool_call_id: result for result, run in zip(results, runs, strict=True) if run == runs[-1]}.values()
    )


MAX_RESULTS_BESIDE = 8
"""The most results with a message: the number of calls of the client's tools that can wait at once."""
MAX_BYTES_BESIDE = 128 * 1024
"""Bytes of these results together. The turn's record, which also has the client's tools, must fit into one item."""

MakeMessage = Callable[[Scope, RunAgentInput, ClientOffer | None], MessageRequest]


async def to_request(
    app: App,
    scope: Scope,
    run_input: RunAgentInput,
    results: Sequence[ToolMessage],
    offer: ClientOffer | None,
    make_message: MakeMessage,
) -> tuple[MessageRequest | DecisionRequest, Scope]:
    """Return the request with the answers to interrupts, or with a new message, and the scope in which it runs.

    The message is used if all answers only cancel interrupts because of it. ``results`` are the tool messages with
    results of the client's tools, and ``make_message`` makes the request of the last user message. Raises
    ``BatonError``.
    """
    thread_id = parse_thread_id(scope, run_input.thread_id).id
    answers = [
        parse_interrupt_decision(entry.interrupt_id, entry.status, entry.payload, scope.user_id)
        for entry in run_input.resume or ()
    ]
    if answers:  # results of the exchange's earlier runs are left out
        resumed_ids = {answer.interrupt_id for answer in answers}
        run_message_id = derive_decision_message_id(answers[0].interrupt_id)
        results = [message for message in results if derive_decision_message_id(message.tool_call_id) == run_message_id]
        results = [message for message in results if message.tool_call_id not in resumed_ids]
    answers += [_to_decision(scope, message) for message in results]
    request = make_decision_request(thread_id, answers, run_id=run_input.run_id, client=offer)
    last = run_input.messages[-1] if run_input.messages else None
    if isinstance(last, UserMessage) and await app.approvals.are_superseded(scope, thread_id, answers, last.id):
        return make_message(scope, run_input, offer), scope
    owner = await app.approvals.find_owner(scope, thread_id, answers, is_whole=bool(run_input.resume))
    if owner.user_id != scope.user_id:
        # A permission to approve is no permission to offer tools and context to the agent.
        request = replace(request, client=None)
    return request, owner


def add_results(offer: ClientOffer | None, scope: Scope, results: Sequence[ToolMessage]) -> ClientOffer | None:
    """Return the offer with the results that the client has sent with a new message.

    Results that cannot be read are left out. If the results are too many or too large for the turn's record, the older
    results are left out.
    """
    answers: deque[InterruptDecision] = deque()
    size = 0
    for result in reversed(results):
        with suppress(BatonError):
            answer = _to_decision(scope, result)
            size += len(str(answer.payload).encode())
            if len(answers) == MAX_RESULTS_BESIDE or size > MAX_BYTES_BESIDE:
                break
            answers.appendleft(answer)
    return replace(offer or ClientOffer(), results=tuple(answers)) if answers else offer


def _to_decision(scope: Scope, message: ToolMessage) -> InterruptDecision:
    """Return a tool message as an answer to an interrupt.

    Raises ``InterruptUnavailable`` for a call that is not one of the client's tools, and ``UnsupportedPart``.
    """
    if not is_client_call(message.tool_call_id):
        raise InterruptUnavailable
    content = message.content
    if not isinstance(content, str):
        texts = [part.text for part in content if isinstance(part, TextPart)]
        if len(texts) < len(content):
            raise UnsupportedPart("messages: the result of a tool must be text.")
        content = "\n".join(texts)
    is_error = bool(message.error)
    payload = content or message.error or ""
    return parse_interrupt_decision(
        message.tool_call_id, DecisionStatus.RESOLVED.value, payload, scope.user_id, is_error=is_error
    )


def make_waiting_events(run_input: RunAgentInput, thread: Thread) -> list[Event]:
    """Return the events, which belong to no run, of a request whose answers are stored until all answers are given."""
    placeholder = StoredMessage(run_input.run_id, Role.TOOL, "", 0, run_input.run_id, thread.last_activity_at, 0)
    events = (
        make_run_started(thread.id, run_input.run_id, placeholder),
        make_run_finished(thread.id, run_input.run_id, usage=None, model=None, interrupts=thread.open_interrupts),
    )
    return [make_unsequenced(event, threadId=thread.id) for event in events]
