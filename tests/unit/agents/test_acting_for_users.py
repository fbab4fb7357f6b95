"""Calls that act for a user: whose token reaches them, and what becomes of a run without one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import ModelError, TokenExpired, Unauthorized
from baton.domain.runs.task import TaskStatus
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.queued import RecordDelivery
from baton.ports.agents.agent_client import AgentChunk, AgentTask
from baton.threads.requests.queue_mapping import make_queued_message
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, Harness
from tests.unit.api.a2a_client import A2AServed, blocking, message

WEB = AgentDefinition.model_validate(
    {"id": "web", "name": "Web", "description": "Reads.", "remote": {"card_url": "https://agents.example.com"}}
)
TOOL = {"type": "python", "name": "look", "description": "Looks.", "entry_point": "wiki:look"}
LOOK = ToolCall("call-1", "look", "{}")
ASK = ToolCall("call-1", "ask_web", '{"message": "What?"}')


def harness() -> Harness:
    assistant = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"sub_agents": ["web"], "tools": [TOOL]})
    return Harness(assistant=assistant, others=(WEB,))


class RefusingClient:
    """A client of agents that act for users, none of whom has a token."""

    def __init__(self, error: Unauthorized) -> None:
        self._error = error

    async def stream(
        self, agent: AgentDefinition, task: AgentTask, *, is_passed_on: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[AgentChunk, None]:
        raise self._error
        yield


async def look() -> str:
    return "Seen."


@pytest.mark.parametrize("error", [Unauthorized("Sign in."), TokenExpired("Sign in.")])
@pytest.mark.parametrize("call", [LOOK, ASK], ids=["a tool", "an agent"])
async def test_a_task_that_needs_a_token_of_the_users_is_auth_required(call: ToolCall, error: Unauthorized) -> None:
    async def look() -> str:
        raise error

    served = A2AServed(harness())
    served.harness.tools.add("look", look)
    served.harness.agent_client.stream = RefusingClient(error).stream  # type: ignore[method-assign]
    served.harness.model.script(Answer.calling(call))
    task = (await served.call("message/send", blocking(message("Look"))))["result"]
    assert task["status"]["state"] == "auth-required"
    messages, data = task["status"]["message"]["parts"]
    assert (messages["text"], data["data"]["code"]) == ("Sign in.", error.code)
    assert len(served.harness.model.requests) == 1


async def test_a_consultation_that_needs_a_token_of_the_users_has_failed() -> None:
    signed_out = harness()
    signed_out.agent_client.stream = RefusingClient(Unauthorized("Sign in.")).stream  # type: ignore[method-assign]
    signed_out.model.script(Answer.calling(ASK))
    turn = await signed_out.say()
    assert turn.last["code"] == "unauthorized"
    [task], _ = await signed_out.records.list_tasks(signed_out.ada, signed_out.thread_id, limit=9, cursor=None)
    assert (task.status, task.error, task.ended_at is None) == (TaskStatus.FAILED, "Sign in.", False)
    assert [event.body["subagentRunId"] for event in turn.events if event.type == "SUBAGENT_ERROR"] == [task.id]


@pytest.mark.parametrize(
    ("second", "state", "text"),
    [(Answer.calling(LOOK), "auth-required", "Sign in again."), (ModelError(), "failed", ModelError.detail)],
)
async def test_the_status_of_a_task_has_its_last_error(second: Answer | ModelError, state: str, text: str) -> None:
    refusals = iter([Unauthorized("Sign in."), TokenExpired("Sign in again.")])

    async def look() -> str:
        raise next(refusals)

    served = A2AServed(harness())
    served.harness.tools.add("look", look)
    served.harness.model.script(Answer.calling(LOOK), second)
    first = (await served.call("message/send", blocking(message("Look"))))["result"]
    task = (await served.call("message/send", blocking(message("Again", "m-2", taskId=first["id"]))))["result"]
    assert (first["status"]["state"], task["status"]["state"]) == ("auth-required", state)
    assert task["status"]["message"]["parts"][0]["text"] == text
    assert task["status"]["message"]["messageId"] != first["status"]["message"]["messageId"]


async def test_a_turn_of_the_queue_has_the_token_of_its_message() -> None:
    waiting = harness()
    waiting.tools.add("look", look)
    waiting.model.script(Answer.calling(LOOK), "Done.")
    scope = replace(waiting.ada, subject_token="sealed")
    record = make_queued_message(scope, waiting.request(), request_id="request-1")
    assert "sealed" not in repr(record)
    delivery = RecordDelivery("record-1", 1)
    await waiting.app.dead_turns.run(record.model_dump_json(by_alias=True), "handle", delivery, seconds=60)
    [called] = waiting.tools.calls
    assert called.context.scope.subject_token == "sealed"


async def test_a_run_that_another_request_finishes_does_not_get_that_requests_token() -> None:
    """The other request's token may permit more."""
    died = harness()
    died.tools.add("look", look)
    died.model.script(Answer(("Let me",), gate=asyncio.Event(), gate_at=1))
    running = asyncio.ensure_future(died.say("m1", scope=replace(died.ada, subject_token="first")))
    await died.wait_for_requests(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    died.model.script(Answer.calling(LOOK), "First.", Answer.calling(LOOK), "Second.")
    await died.say("m2", scope=replace(died.ada, subject_token="second"))
    assert [called.context.scope.subject_token for called in died.tools.calls] == [None, "second"]


def test_a_scope_is_the_same_with_another_token_and_does_not_show_it() -> None:
    ada = harness().ada
    with_token = replace(ada, subject_token="sealed")
    assert (with_token, hash(with_token)) == (ada, hash(ada))
    assert "sealed" not in repr(with_token)
