"""What a run input brings for an interrupted run: ``resume``, and tool messages with results of the client's tools."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from ag_ui.core import RunAgentInput, TextPart, ToolMessage, UserMessage

from baton.composition.app import App
from baton.domain.client_offer import ClientOffer
from baton.domain.errors import BatonError, InterruptUnavailable, UnsupportedPart
from baton.domain.events import Event, run_finished, run_started, unsequenced
from baton.domain.identity import Scope
from baton.domain.interrupt import AnswerStatus, InterruptAnswer, answer_message_id, is_client_call
from baton.domain.message import Role, StoredMessage
from baton.domain.thread import Thread
from baton.requests.parsing import answer_request, interrupt_answer, named_thread
from baton.requests.turn_requests import AnswerRequest, MessageRequest

MAX_RESULTS_BESIDE = 8
"""Results beside a message that are kept with its turn: no more calls of the client's tools wait at once."""
MAX_BYTES_BESIDE = 128 * 1024
"""Bytes of them together. The turn's record, which also has the client's tools, must fit into an item."""

Said = Callable[[Scope, RunAgentInput, ClientOffer | None], MessageRequest]


async def answered(
    app: App,
    scope: Scope,
    run_input: RunAgentInput,
    results: Sequence[ToolMessage],
    offer: ClientOffer | None,
    said: Said,
) -> tuple[MessageRequest | AnswerRequest, Scope]:
    """Return the answers to interrupts, or the message sent instead, and the scope in which the run continues.

    ``results`` are the tool messages that bring something, and ``said`` makes the request of the last user message.
    """
    thread_id = named_thread(scope, run_input.thread_id).id
    answers = [
        interrupt_answer(entry.interrupt_id, entry.status, entry.payload, scope.user_id)
        for entry in run_input.resume or ()
    ]
    if answers:  # earlier runs of the exchange may have called the client's tools too
        named, of_run = {answer.interrupt_id for answer in answers}, answer_message_id(answers[0].interrupt_id)
        results = [each for each in results if answer_message_id(each.tool_call_id) == of_run]
        results = [each for each in results if each.tool_call_id not in named]
    answers += [_result(scope, each) for each in results]
    asked = answer_request(thread_id, answers, run_id=run_input.run_id, client=offer)
    last = run_input.messages[-1] if run_input.messages else None
    if isinstance(last, UserMessage) and await app.approvals.is_passed_over(scope, thread_id, answers, last.id):
        return said(scope, run_input, offer), scope
    owner = await app.approvals.owner(scope, thread_id, answers, is_whole=bool(run_input.resume))
    if owner.user_id != scope.user_id:
        asked = replace(asked, client=None)  # the permission to approve does not include showing the agent something
    return asked, owner


def with_results(offer: ClientOffer | None, scope: Scope, results: Sequence[ToolMessage]) -> ClientOffer | None:
    """Return the offer with results that come beside a new message.

    Those that cannot be read are left out, and older ones that are too many or too large to be kept with the turn.
    """
    answers: deque[InterruptAnswer] = deque()
    size = 0
    for result in reversed(results):
        with suppress(BatonError):
            answer = _result(scope, result)
            size += len(str(answer.payload).encode())
            if len(answers) == MAX_RESULTS_BESIDE or size > MAX_BYTES_BESIDE:
                break
            answers.appendleft(answer)
    return replace(offer or ClientOffer(), results=tuple(answers)) if answers else offer


def _result(scope: Scope, message: ToolMessage) -> InterruptAnswer:
    """Return the answer that a tool message is. Raises ``InterruptUnavailable`` for calls that are not the client's."""
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
    return interrupt_answer(
        message.tool_call_id, AnswerStatus.RESOLVED.value, payload, scope.user_id, is_error=is_error
    )


def still_waiting(run_input: RunAgentInput, thread: Thread) -> list[Event]:
    """Return the events of a request whose answers are kept while others are missing. They belong to no run."""
    nothing = StoredMessage(run_input.run_id, Role.TOOL, "", 0, run_input.run_id, thread.last_activity_at, 0)
    events = (
        run_started(thread.id, run_input.run_id, nothing),
        run_finished(thread.id, run_input.run_id, usage=None, model=None, interrupts=thread.open_interrupts),
    )
    return [unsequenced(event, threadId=thread.id) for event in events]
