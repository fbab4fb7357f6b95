"""Conversations over A2A, on both protocol lines."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from typing import Any

import pytest

from baton import Agent, Refuse
from baton.domain.errors import ModelError
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.a2a_task import EXTENSION_URI
from tests.fakes.chat_model import Answer
from tests.harness.coded import make_coded_harness
from tests.harness.handoffs import HandoffHarness, advance, calling, transfer
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.sessions import close
from tests.harness.wiki import delete, wiki
from tests.unit.api.a2a_client import A2AServed, Json, blocking, message, text_of
from tests.unit.api.a2a_messages import ask_for_approval, open_task, send


@pytest.fixture
def served() -> A2AServed:
    return A2AServed(wiki())


def hold_answer(served: A2AServed) -> asyncio.Event:
    """The model says one word and waits for the gate."""
    gate = asyncio.Event()
    served.harness.model.script(Answer(("One ", "two"), gate=gate, gate_at=1))
    return gate


def make_current_params(text: str, message_id: str = "m-1", **fields: Any) -> Json:
    """The parameters of a message of A2A 1.0."""
    return {"message": {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]} | fields}


# A conversation


async def test_an_answered_task_is_completed_and_the_conversation_continues(served: A2AServed) -> None:
    served.harness.model.script("First.", "Second.")
    first = await send(served, message("One", "m-1"))
    assert first["status"]["state"] == "completed"
    assert text_of(first["status"]["message"]) == "First."
    assert [text_of(artifact) for artifact in first["artifacts"]] == ["First."]
    refused = (await served.call("message/send", blocking(message("Two", "m-2", taskId=first["id"]))))["error"]
    assert refused["code"] == -32004
    assert "without taskId" in refused["message"]
    second = await send(served, message("Two", "m-2", contextId=first["contextId"]))
    assert (second["id"] != first["id"], second["contextId"]) == (True, first["contextId"])
    assert {("user", "One"), ("assistant", "First."), ("user", "Two")} <= set(
        served.harness.model.requests[-1].contents
    )


async def test_a_task_that_asks_is_the_turns_of_its_messages(served: A2AServed) -> None:
    first = await open_task(served, message("One", "m-1"))
    assert first["status"]["state"] == "input-required"
    served.harness.model.script("Second.")
    second = await send(served, message("Two", "m-2", taskId=first["id"]))
    assert (second["id"], second["contextId"]) == (first["id"], first["contextId"])
    assert [text_of(item) for item in second["history"]] == ["One", "Hello there.", "Two", "Second."]
    assert [text_of(artifact) for artifact in second["artifacts"]] == ["Hello there.", "Second."]
    assert second["status"]["state"] == "completed"
    assert (await served.call("tasks/get", {"id": first["id"]}))["result"] == second


async def test_a_task_whose_question_was_passed_over_asks_no_more(served: A2AServed) -> None:
    first = await open_task(served, message("One", "m-1"))
    await send(served, message("Two", "m-2", contextId=first["contextId"]))
    assert (await served.call("tasks/get", {"id": first["id"]}))["result"]["status"]["state"] == "canceled"


async def test_a_task_waits_for_input_while_a_step_of_a_workflow_does() -> None:
    served = A2AServed(HandoffHarness())
    plain = await send(served, message("Hello", "m-0"))
    served.harness.model.script(transfer(), "What shall it be called?")
    first = await send(served, message("I want a thing", "m-1", contextId=plain["contextId"]))
    assert first["status"]["state"] == "input-required"
    assert text_of(first["status"]["message"]).endswith("What shall it be called?")
    served.harness.model.script(advance("BUILD", name="lamp"), "Shall I finish it?")
    second = await send(served, message("A lamp", "m-2", taskId=first["id"]))
    assert (second["id"], second["status"]["state"]) == (first["id"], "input-required")
    returns = calling("return_to_main", summary="Made a lamp.", outcome="completed")
    served.harness.model.script(advance("DONE"), returns)
    third = await send(served, message("Yes", "m-3", taskId=first["id"]))
    assert (third["id"], third["status"]["state"]) == (first["id"], "completed")
    assert (await served.call("tasks/get", {"id": plain["id"]}))["result"] == plain | {"metadata": third["metadata"]}


async def test_a_step_that_was_answered_elsewhere_waits_no_more() -> None:
    served = A2AServed(HandoffHarness(transfer(), Answer(("What shall it be called?",))))
    first = await send(served, message("I want a thing", "m-1"))
    second = await send(served, message("A lamp", "m-2", contextId=first["contextId"]))
    assert second["status"]["state"] == "input-required"
    assert (await served.call("tasks/get", {"id": first["id"]}))["result"]["status"]["state"] == "completed"


async def test_both_lines_see_the_same_task(served: A2AServed) -> None:
    served.harness.model.script(Answer.calling(delete("home"), text="May I?"))
    task = (await served.call("SendMessage", make_current_params("One")))["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    older = (await served.call("tasks/get", {"id": task["id"]}))["result"]
    assert (older["id"], older["status"]["state"]) == (task["id"], "input-required")
    assert [text_of(item) for item in older["history"]] == [text_of(item) for item in task["history"]]
    follow_up = await served.call("SendMessage", make_current_params("Two", "m-2", taskId=task["id"]), version="1.0")
    assert follow_up["result"]["task"]["id"] == task["id"]
    assert follow_up["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_the_conversation_is_the_thread(served: A2AServed) -> None:
    thread_id = served.harness.thread_id
    await served.harness.say("m-0", "Before.")
    task = await send(served, message("One", "m-1", contextId=thread_id))
    assert task["contextId"] == thread_id
    assert [text_of(item) for item in task["history"]] == ["One", "Hello there."]
    messages, _ = await served.items(f"/threads/{thread_id}/messages")
    assert [item["content"] for item in messages] == ["Before.", "Hello there.", "One", "Hello there."]


async def test_a_message_in_the_context_without_a_task_begins_another(served: A2AServed) -> None:
    first = await send(served, message("One", "m-1"))
    second = await send(served, message("Two", "m-2", contextId=first["contextId"]))
    assert second["id"] != first["id"]
    assert [text_of(item) for item in second["history"]] == ["Two", "Hello there."]
    assert (await served.call("tasks/get", {"id": first["id"]}))["result"] == first


@pytest.mark.parametrize("is_blocking", [True, False])
async def test_a_conversation_of_another_deployment_is_one_here_too(served: A2AServed, *, is_blocking: bool) -> None:
    client_context_id = str(uuid.uuid5(uuid.NAMESPACE_DNS, "their conversation"))
    reported = message(
        "One", "m-1", contextId=client_context_id, metadata={"thread_id": client_context_id, "tenant_id": "theirs"}
    )
    task = (await served.call("message/send", blocking(reported, blocking=is_blocking)))["result"]
    await served.queue.wait_until_idle()
    assert task["contextId"] != client_context_id
    after = await send(served, message("Two", "m-2", contextId=client_context_id))
    assert after["contextId"] == task["contextId"]
    asking = await open_task(served, message("Three", "m-3", contextId=client_context_id))
    second_task = await send(served, message("Four", "m-4", contextId=client_context_id, taskId=asking["id"]))
    assert [text_of(item) for item in second_task["history"]] == ["Three", "Hello there.", "Four", "Hello there."]


async def test_a_task_is_found_however_much_was_said_since(served: A2AServed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton.api.a2a.task_reader.MAX_HISTORY", 3)
    task = await send(served, message("One", "m-1"))
    for number in range(2):
        await send(served, message("Elsewhere", f"e-{number}", contextId=task["contextId"]))
    assert (await served.call("tasks/get", {"id": task["id"]}))["result"] == task


async def test_a_host_may_name_the_context_by_its_own_id(served: A2AServed) -> None:
    first = await open_task(served, message("One", "m-1", contextId="ticket/42"))
    second = await send(served, message("Two", "m-2", taskId=first["id"], contextId="ticket/42"))
    assert len(second["history"]) == 4


@pytest.mark.parametrize(("length", "expected"), [(0, 0), (1, 1), (3, 3), (6, 4), (10, 4)])
async def test_the_newest_messages_of_the_history(served: A2AServed, length: int, expected: int) -> None:
    task = await open_task(served, message("One", "m-1"))
    whole = await send(served, message("Two", "m-2", taskId=task["id"]))
    visible = (await served.call("tasks/get", {"id": task["id"], "historyLength": length}))["result"]
    assert visible.get("history", []) == whole["history"][4 - expected :]


async def test_a_sender_that_does_not_wait_gets_the_task_with_its_message(served: A2AServed) -> None:
    gate = hold_answer(served)
    task = (await served.call("message/send", {"message": message("One", "m-1")}))["result"]
    assert task["status"]["state"] == "working"
    assert [text_of(item) for item in task["history"]] == ["One"]
    gate.set()
    await served.queue.wait_until_idle()
    assert (await served.call("tasks/get", {"id": task["id"]}))["result"]["status"]["state"] == "completed"


async def test_a_message_that_waits_in_the_queue_is_submitted(
    served: A2AServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton.api.a2a.sending.START_SECONDS", 0.1)
    served.queue.is_held = True
    task = (await served.call("message/send", {"message": message("One", "m-1")}))["result"]
    assert task["status"]["state"] == "submitted"
    assert [text_of(item) for item in task["history"]] == ["One"]
    stored = (await served.call("tasks/get", {"id": task["id"]}))["result"]
    assert stored["status"]["state"] == "submitted"
    served.queue.work_off()
    await served.queue.wait_until_idle()
    assert (await served.call("tasks/get", {"id": task["id"]}))["result"]["status"]["state"] == "completed"


async def test_a_message_that_waits_for_another_is_in_the_answer(
    served: A2AServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton.api.a2a.sending.START_SECONDS", 0.1)
    gate = hold_answer(served)
    task = (await served.call("message/send", {"message": message("One", "m-1")}))["result"]
    await served.harness.wait_for_requests()
    follow_up = (await served.call("message/send", {"message": message("Two", "m-2", taskId=task["id"])}))["result"]
    assert follow_up["status"]["state"] == "working"
    assert [text_of(item) for item in follow_up["history"]] == ["One", "Two"]
    gate.set()
    await served.queue.wait_until_idle()
    after = (await served.call("tasks/get", {"id": task["id"], "historyLength": 2}))["result"]
    assert [text_of(item) for item in after["history"]] == ["Two", "Hello there."]


async def test_an_ended_session_completes_the_task(served: A2AServed) -> None:
    served.harness.model.script(Answer.calling(ToolCall("c1", "end_conversation", '{"reason": "Done."}'), text="Bye."))
    task = await send(served, message("That is all", "m-1"))
    assert task["status"]["state"] == "completed"
    refused = await served.call("message/send", blocking(message("More", "m-2", taskId=task["id"])))
    assert refused["error"]["code"] == -32004
    second_task = await send(served, message("More", "m-3", contextId=task["contextId"]))
    assert second_task["status"]["state"] == "completed"


async def test_an_ended_session_completes_a_task_that_asks(served: A2AServed) -> None:
    task = await open_task(served, message("One", "m-1"))
    served.harness.thread_id = task["contextId"]
    await close(served.harness)
    assert (await served.call("tasks/get", {"id": task["id"]}))["result"]["status"]["state"] == "completed"


async def test_a_model_that_fails_fails_the_task(served: A2AServed) -> None:
    served.harness.model.script(ModelError())
    task = await send(served, message("One", "m-1"))
    assert task["status"]["state"] == "failed"
    assert text_of(task["status"]["message"]) == ModelError.detail
    assert {"kind": "data", "data": {"code": "model_error", "retryable": True}} in task["status"]["message"]["parts"]


# Streams


async def test_a_stream_begins_with_the_task_and_ends_with_its_state(served: A2AServed) -> None:
    served.harness.model.script(Answer(("One ", "two ", "three.")))
    first, *updates, last = [
        call["result"] for call in await served.calls("message/stream", {"message": message("Count", "m-1")})
    ]
    assert (first["kind"], first["status"]["state"]) == ("task", "working")
    assert [text_of(item) for item in first["history"]] == ["Count"]
    assert {update["kind"] for update in updates} == {"artifact-update"}
    assert "".join(text_of(update["artifact"]) for update in updates) == "One two three."
    assert [update["append"] for update in updates] == [False, *[True] * (len(updates) - 1)]
    assert (last["kind"], last["status"]["state"], last["final"]) == ("status-update", "completed", True)
    task = (await served.call("tasks/get", {"id": first["id"]}))["result"]
    assert task["status"] == last["status"]
    assert [artifact["artifactId"] for artifact in task["artifacts"]] == [updates[0]["artifact"]["artifactId"]]


async def test_a_stream_empties_the_artifact_of_an_answer_that_is_refused() -> None:
    agent = Agent("assistant", "Guide.", main=True)

    @agent.output_guardrail
    def keep_secrets(text: str) -> Refuse | None:
        return Refuse("I keep secrets.") if "secret" in text else None

    served = A2AServed(make_coded_harness(agent, answers=("The house is quiet. " * 30 + "The secret is Rufus.",)))
    _, *updates, _ = await served.calls("message/stream", {"message": message("Tell me", "m-1")})
    texts: dict[str, str] = {}
    for update in (update["result"] for update in updates):
        artifact = update["artifact"]
        before = texts.get(artifact["artifactId"], "") if update["append"] else ""
        texts[artifact["artifactId"]] = before + text_of(artifact)
    assert list(texts.values()) == ["", "I keep secrets."]


async def test_a_stream_of_the_current_line(served: A2AServed) -> None:
    events = [
        call["result"]
        for call in await served.calls("SendStreamingMessage", make_current_params("Hello"), version="1.0")
    ]
    assert [next(iter(event)) for event in events] == ["task", "artifactUpdate", "statusUpdate"]
    assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_follow_up_in_a_stream_has_the_history(served: A2AServed) -> None:
    task = await open_task(served, message("One", "m-1"))
    first, *_ = await served.calls("message/stream", {"message": message("Two", "m-2", taskId=task["id"])})
    assert first["result"]["id"] == task["id"]
    assert [text_of(item) for item in first["result"]["history"]] == ["One", "Hello there.", "Two"]


async def test_a_client_that_subscribes_again_gets_the_task_and_the_whole_answer(served: A2AServed) -> None:
    streaming, second_stream = await _open_two_streams(served, "tasks/resubscribe", hold_answer(served))
    reported, repeated = await asyncio.gather(streaming, second_stream)
    results = [task["result"] for task in repeated]
    assert [result["kind"] for result in results] == [
        "task",
        *["artifact-update"] * (len(results) - 2),
        "status-update",
    ]
    assert "".join(text_of(result["artifact"]) for result in results[1:-1]) == "One two"
    assert results[-1] == reported[-1]["result"]


async def test_a_subscription_of_the_current_line_stays_until_the_task_is_final(served: A2AServed) -> None:
    gate = asyncio.Event()
    served.harness.model.script(replace(Answer.calling(delete("home"), text="May I?"), gate=gate))
    streaming, second_stream = await _open_two_streams(served, "SubscribeToTask", gate)
    task_id = (await streaming)[0]["result"]["id"]
    await send(served, message("Go on", "m-2", taskId=task_id))
    task, *updates = [item["result"] for item in await second_stream]
    assert task["task"]["id"] == task_id
    states = [update["statusUpdate"]["status"]["state"] for update in updates if "statusUpdate" in update]
    assert states[-1] == "TASK_STATE_COMPLETED"
    messages = [
        update["artifactUpdate"]["artifact"]["parts"][0]["text"] for update in updates if "artifactUpdate" in update
    ]
    assert "".join(messages) == "May I?Hello there."


async def _open_two_streams(
    served: A2AServed, method: str, gate: asyncio.Event
) -> tuple[asyncio.Task[list[Json]], asyncio.Task[list[Json]]]:
    """Two streams of one answer: the one that asked for it, and one that subscribed by ``method`` meanwhile."""
    streaming = asyncio.create_task(served.calls("message/stream", {"message": message("Count", "m-1")}))
    await served.harness.wait_for_requests()
    await served.wait_for_answers(1)
    task_id = next(iter(await _tasks(served)))
    second_stream = asyncio.create_task(served.calls(method, {"id": task_id}))
    await served.wait_for_answers(2)
    gate.set()
    return streaming, second_stream


async def _tasks(served: A2AServed) -> list[str]:
    """The ids of the tasks whose runs are in progress."""
    threads, _ = await served.items("/threads")
    return [f"{thread['id']}.{thread['run']['messageId']}" for thread in threads if thread["run"] is not None]


async def test_subscribing_to_a_task_that_waits_gives_the_task(served: A2AServed) -> None:
    task = await open_task(served, message("One", "m-1"))
    reported = await served.calls("tasks/resubscribe", {"id": task["id"]})
    assert [event["result"] for event in reported] == [task]


async def test_nothing_more_happens_to_a_terminal_task(served: A2AServed) -> None:
    task = await send(served, message("One", "m-1"))
    for method in ("tasks/resubscribe", "SubscribeToTask"):
        assert (await served.call(method, {"id": task["id"]}))["error"]["code"] == -32004


# Repeated messages


@pytest.mark.parametrize("is_blocking", [True, False])
async def test_a_repeated_message_is_answered_once(served: A2AServed, is_blocking: bool) -> None:
    sent_message = message("One", "m-1")
    first = await send(served, sent_message)
    second = (await served.call("message/send", blocking(sent_message, blocking=is_blocking)))["result"]
    assert second == first
    assert len(served.harness.model.requests) == 1
    (*_, artifact, _last) = await served.calls("message/stream", {"message": sent_message})
    assert text_of(artifact["result"]["artifact"]) == "Hello there."


async def test_a_repeated_follow_up_belongs_where_it_was_sent(served: A2AServed) -> None:
    task = await open_task(served, message("One", "m-1"))
    follow_up = message("Two", "m-2", taskId=task["id"])
    second = await send(served, follow_up)
    without_task = {**follow_up, "contextId": task["contextId"]}
    del without_task["taskId"]
    assert await send(served, without_task) == second


@pytest.mark.parametrize("is_blocking", [True, False])
async def test_a_first_message_under_a_known_id_begins_its_own_conversation(
    served: A2AServed, is_blocking: bool
) -> None:
    one, other = message("One", "m-1"), message("Other", "m-1")
    first = await send(served, one)
    second = (await served.call("message/send", blocking(other, blocking=is_blocking)))["result"]
    assert second["contextId"] != first["contextId"]
    assert text_of(second["history"][0]) == "Other"
    await served.queue.wait_until_idle()
    repeated_tasks = [await send(served, text) for text in (one, other)]
    assert [task["id"] for task in repeated_tasks] == [first["id"], second["id"]]
    assert len(served.harness.model.requests) == 2


@pytest.mark.parametrize("is_blocking", [True, False])
async def test_the_id_of_another_message_is_taken(served: A2AServed, is_blocking: bool) -> None:
    task = await send(served, message("One", "m-1"))
    other = message("Other", "m-1", taskId=task["id"])
    refused = await served.call("message/send", blocking(other, blocking=is_blocking))
    assert refused["error"]["code"] == -32602
    assert refused["error"]["data"]["code"] == "message_id_conflict"


# Cancelling


async def test_a_run_is_stopped(served: A2AServed) -> None:
    hold_answer(served)
    task = (await served.call("message/send", {"message": message("Count", "m-1")}))["result"]
    await served.harness.wait_for_requests()
    cancelled = (await served.call("tasks/cancel", {"id": task["id"]}))["result"]
    assert cancelled["status"]["state"] == "canceled"
    assert (await served.call("tasks/cancel", {"id": task["id"]}))["error"]["code"] == -32002
    await served.queue.wait_until_idle()
    assert (await served.call("tasks/get", {"id": task["id"]}))["result"]["status"]["state"] == "canceled"


async def test_a_task_that_waits_for_its_user_is_cancelled(served: A2AServed) -> None:
    task = await open_task(served, message("One", "m-1"))
    assert (await served.call("CancelTask", {"id": task["id"]}))["result"]["status"]["state"] == "TASK_STATE_CANCELED"
    refused = await served.call("message/send", {"message": message("Two", "m-2", taskId=task["id"])})
    assert refused["error"]["code"] == -32004


async def test_a_queued_message_of_a_cancelled_task_starts_no_turn(
    served: A2AServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton.api.a2a.sending.START_SECONDS", 0.1)
    served.queue.is_held = True
    task = (await served.call("message/send", {"message": message("One", "m-1")}))["result"]
    assert (await served.call("tasks/cancel", {"id": task["id"]}))["result"]["status"]["state"] == "canceled"
    served.queue.work_off()
    await served.queue.wait_until_idle()
    assert served.harness.model.requests == []


async def test_a_queued_task_is_there_for_its_user_alone(served: A2AServed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton.api.a2a.sending.START_SECONDS", 0.1)
    served.queue.is_held = True
    task = (await served.call("message/send", {"message": message("One", "m-1")}))["result"]
    assert (await served.call("tasks/get", {"id": task["id"]}))["result"]["id"] == task["id"]
    assert (await served.call("tasks/get", {"id": task["id"]}, user="eve"))["error"]["code"] == -32001


# Approvals


@pytest.fixture
def wiki_served() -> A2AServed:
    return A2AServed(wiki())


async def test_an_approval_is_input_required_with_what_is_asked(wiki_served: A2AServed) -> None:
    task = await ask_for_approval(wiki_served)
    assert task["status"]["state"] == "input-required"
    text, data = task["status"]["message"]["parts"]
    assert text["text"] == "May I use delete?\nPage: home"
    (interrupt,) = data["data"]["interrupts"]
    assert (interrupt["metadata"]["toolName"], "page" in interrupt["metadata"]["arguments"]) == ("delete", True)
    assert [(field["label"], field["text"]) for field in interrupt["metadata"]["fields"]] == [("Page", "home")]
    assert interrupt["responseSchema"]["properties"]["approved"] == {"type": "boolean"}


YES: list[Json] = [{"kind": "data", "data": {"approved": True, "comment": "Go."}}]


@pytest.mark.parametrize("is_blocking", [True, False])
@pytest.mark.parametrize("parts", [YES, [{"kind": "text", "text": "Yes!"}]], ids=["data", "text"])
async def test_an_answer_continues_the_task(wiki_served: A2AServed, parts: list[Json], is_blocking: bool) -> None:
    task = await ask_for_approval(wiki_served)
    wiki_served.harness.model.script("Done.")
    answer = message("", "m-2", taskId=task["id"]) | {"parts": parts}
    await wiki_served.call("message/send", blocking(answer, blocking=is_blocking))
    await wiki_served.queue.wait_until_idle()
    after = (await wiki_served.call("tasks/get", {"id": task["id"]}))["result"]
    assert [called.arguments for called in wiki_served.harness.tools.calls] == [{"page": "home"}]
    assert text_of(after["status"]["message"]) == "Done."
    repeated = (await wiki_served.call("message/send", blocking(answer)))["result"]
    assert repeated == after
    assert len(wiki_served.harness.tools.calls) == 1


async def test_a_refusal_is_an_answer_too(wiki_served: A2AServed) -> None:
    task = await ask_for_approval(wiki_served)
    wiki_served.harness.model.script("All right.")
    after = await send(wiki_served, message("no", "m-2", taskId=task["id"]))
    assert text_of(after["status"]["message"]) == "All right."
    assert wiki_served.harness.tools.calls == []


async def test_answers_may_come_one_by_one(wiki_served: A2AServed) -> None:
    task = await ask_for_approval(wiki_served, "home", "about")
    first, second = task["status"]["message"]["parts"][-1]["data"]["interrupts"]
    wiki_served.harness.model.script("Done.")
    for number, interrupt in enumerate((first, second)):
        data = {"approved": True, "interruptId": interrupt["id"]}
        answer = message("", f"a-{number}", taskId=task["id"]) | {"parts": [{"kind": "data", "data": data}]}
        after = await send(wiki_served, answer)
    assert text_of(after["status"]["message"]) == "Done."
    assert len(wiki_served.harness.tools.calls) == 2


async def test_other_words_go_on_without_the_call(wiki_served: A2AServed) -> None:
    task = await ask_for_approval(wiki_served)
    wiki_served.harness.model.script("I left it.")
    after = await send(wiki_served, message("What does it say?", "m-2", taskId=task["id"]))
    assert text_of(after["status"]["message"]) == "I left it."
    assert [text_of(item) for item in after["history"]][-2:] == ["What does it say?", "I left it."]
    assert wiki_served.harness.tools.calls == []


async def test_an_answer_names_its_interrupt_by_a_text(wiki_served: A2AServed) -> None:
    task = await ask_for_approval(wiki_served)
    data = {"approved": True, "interruptId": ["no", "text"]}
    answer = message("", "m-2", taskId=task["id"]) | {"parts": [{"kind": "data", "data": data}]}
    assert (await wiki_served.call("message/send", blocking(answer)))["error"]["code"] == -32602


async def test_an_answer_in_a_stream(wiki_served: A2AServed) -> None:
    task = await ask_for_approval(wiki_served)
    wiki_served.harness.model.script("Done.")
    reported = [
        call["result"]
        for call in await wiki_served.calls("message/stream", {"message": message("yes", "m-2", taskId=task["id"])})
    ]
    assert reported[0]["status"]["state"] == "working"
    assert text_of(reported[-1]["status"]["message"]) == "Done."


# Parts


async def test_parts_of_all_kinds_come_back_as_they_were_sent(served: A2AServed) -> None:
    parts: list[Json] = [
        {"kind": "text", "text": "Look at these."},
        {"kind": "data", "data": {"count": 3, "ratio": 0.5, "nested": {"list": [1, None, "two"]}}},
        {"kind": "file", "file": {"name": "a.txt", "mimeType": "text/plain", "bytes": "aGVsbG8="}},
        {"kind": "file", "file": {"name": "b.png", "mimeType": "image/png", "uri": "https://example.com/b.png"}},
    ]
    task = await send(served, message("", "m-1") | {"parts": parts})
    assert task["history"][0]["parts"] == parts


@pytest.mark.parametrize("media_type", ["application/x-tar", "model/obj", "text", "APPLICATION/ZIP; v=1"])
async def test_files_of_a_type_that_no_card_names_are_refused(served: A2AServed, media_type: str) -> None:
    for where in ({"bytes": "dGNr"}, {"uri": "https://example.com/f"}):
        parts = [{"kind": "file", "file": {"mimeType": media_type, **where}}]
        refused = await served.call("message/send", blocking(message() | {"parts": parts}))
        assert refused["error"]["code"] == -32005
    assert served.harness.model.requests == []


@pytest.mark.parametrize(
    ("media_type", "name"),
    [
        ("application/csv", "a"),
        ("application/vnd.ms-excel", "a.csv"),
        ("Application/ZIP", "a.docx"),
        ("text/x-a; b=c", "a"),
    ],
)
async def test_files_are_taken_by_types_that_stand_for_those_of_the_cards(
    served: A2AServed, media_type: str, name: str
) -> None:
    parts = [{"kind": "file", "file": {"name": name, "mimeType": media_type, "bytes": "dGNr"}}]
    task = await send(served, message("", "m-1") | {"parts": parts})
    assert task["history"][0]["parts"] == parts


# Metadata


async def test_the_thread_may_be_named_in_the_metadata(served: A2AServed) -> None:
    thread_id = served.harness.thread_id
    reported = {
        EXTENSION_URI: {"thread_id": thread_id, "tenant_id": "other", "user_id": "eve", "parent_task_id": "t-1"}
    }
    task = await send(served, message("One", "m-1", metadata=reported))
    assert task["contextId"] == thread_id
    owner = await served.harness.store.get_thread(served.harness.ada, thread_id)
    assert owner.user_id == "ada"


@pytest.mark.parametrize(
    "expected",
    [{"thread_id": 1}, {"thread_id": "other"}, {"parent_task_id": ["t"]}, {"handoff": "yes"}, {"time_zone": 1}],
)
async def test_metadata_of_the_wrong_shape_is_refused(served: A2AServed, expected: Json) -> None:
    sent_message = message("One", "m-1", contextId=served.harness.thread_id, metadata={EXTENSION_URI: expected})
    assert (await served.call("message/send", blocking(sent_message)))["error"]["code"] == -32602
    assert served.harness.model.requests == []


# Tenancy


async def test_the_task_of_somebody_else_does_not_exist(served: A2AServed) -> None:
    task = await send(served, message("One", "m-1"))
    for who in ({"user": "eve"}, {"tenant": "other"}):
        for method in ("tasks/get", "tasks/cancel", "tasks/resubscribe", "GetTask"):
            refused = await served.call(method, {"id": task["id"]}, **who)
            unknown = await served.call(method, {"id": task["id"][:-1] + "x"}, **who)
            assert refused["error"] == unknown["error"]
            assert refused["error"]["code"] == -32001
        reported = message("Two", "m-2", taskId=task["id"])
        assert (await served.call("message/send", blocking(reported), **who))["error"]["code"] == -32001
    assert (await served.call("tasks/get", {"id": task["id"]}))["result"] == task


@pytest.mark.parametrize("is_blocking", [True, False])
async def test_a_foreign_context_is_refused_in_the_one_way(served: A2AServed, is_blocking: bool) -> None:
    task = await send(served, message("One", "m-1"))
    for who in ({"user": "eve"}, {"tenant": "other"}):
        reported = blocking(message("Two", "m-2", contextId=task["contextId"]), blocking=is_blocking)
        error = (await served.call("message/send", reported, **who))["error"]
        assert error["message"] == "This conversation is not available to you. Please start a new one."
        assert error["data"]["code"] == "thread_unavailable"


async def test_a_reader_of_the_tenant_reads_and_does_not_write(served: A2AServed) -> None:
    task = await send(served, message("One", "m-1"))
    assert (await served.call("tasks/get", {"id": task["id"]}, "thread:read_all", user="boss"))["result"] == task
    for method, params in (
        ("tasks/cancel", {"id": task["id"]}),
        ("message/send", blocking(message("Two", "m-2", taskId=task["id"]))),
    ):
        assert (await served.call(method, params, "thread:read_all", user="boss"))["error"]["code"] == -32001


async def test_data_that_redaction_makes_invalid_json_is_read_as_text(served: A2AServed) -> None:
    parts = [{"kind": "data", "data": {"card": 4111111111111111}}]
    task = await send(served, message("", "m-1") | {"parts": parts})
    read = (await served.call("tasks/get", {"id": task["id"]}, "thread:read_all", user="boss"))["result"]
    assert read["history"][0]["parts"] == [{"kind": "text", "text": '{"card": [card]}'}]


async def test_messages_from_elsewhere_are_no_tasks(served: A2AServed) -> None:
    await served.harness.say("m-0", "Hello")
    refused = await served.call("tasks/get", {"id": f"{served.harness.thread_id}.m-0"})
    assert refused["error"]["code"] == -32001


# Addresses


async def test_an_agent_has_an_address_of_its_own() -> None:
    served = A2AServed()
    gate = hold_answer(served)
    reported = await served.call(
        "message/send", {"message": message("Hi", "m-1")}, "archive:read", path="/a2a/librarian"
    )
    task = reported["result"]
    assert task["metadata"][EXTENSION_URI]["agent_id"] == "librarian"
    elsewhere = blocking(message("Hi", "m-2", taskId=task["id"]))
    refused = await served.call("message/send", elsewhere, "archive:read", path="/a2a/assistant")
    assert refused["error"]["data"]["code"] == "agent_mismatch"
    gate.set()
    await served.queue.wait_until_idle()


@pytest.mark.parametrize("path", ["/a2a/librarian", "/a2a/nobody", f"/a2a/{'x' * 60}"])
async def test_the_address_of_an_agent_that_one_may_not_see_does_not_exist(served: A2AServed, path: str) -> None:
    answer = await served.post_a2a(b"{}", path=path)
    assert answer.status_code == 404


async def test_no_conversation_begins_with_a_specialist() -> None:
    helper = ASSISTANT.model_copy(update={"id": "helper", "name": "Helper", "main": False})
    served = A2AServed(Harness(others=(helper,)))
    for is_blocking in (True, False):
        reported = blocking(message("Hi", "m-1"), blocking=is_blocking)
        refused = await served.call("message/send", reported, path="/a2a/helper")
        assert refused["error"]["code"] == -32602


# Streams of one task, and times


async def test_two_streams_may_follow_one_task(served: A2AServed) -> None:
    gate = hold_answer(served)
    task = (await served.call("message/send", {"message": message("Count", "m-1")}))["result"]
    await served.harness.wait_for_requests()
    streams = [asyncio.ensure_future(served.calls("tasks/resubscribe", {"id": task["id"]})) for _ in range(2)]
    await served.wait_for_answers(3)
    gate.set()
    one, other = await asyncio.gather(*streams)
    assert [item["result"]["kind"] for item in one] == [item["result"]["kind"] for item in other]
    assert one[-1] == other[-1]
    assert one[-1]["result"]["final"] is True


async def test_two_messages_at_once_are_answered_in_their_order(served: A2AServed) -> None:
    gate = hold_answer(served)
    task = (await served.call("message/send", {"message": message("One", "m-1")}))["result"]
    messages = [message(text, f"m-{text}", taskId=task["id"]) for text in ("Two", "Three")]
    waiting = [asyncio.ensure_future(served.calls("message/stream", {"message": item})) for item in messages]
    await asyncio.sleep(0.1)
    gate.set()
    streams = await asyncio.gather(*waiting)
    assert {stream[0]["result"]["id"] for stream in streams} == {task["id"]}
    assert all(stream[-1]["result"]["status"]["state"] == "completed" for stream in streams)
    after = (await served.call("tasks/get", {"id": task["id"]}))["result"]
    assert sorted(text_of(item) for item in after["history"][2:]) == ["Hello there.", "Hello there.", "Three", "Two"]


async def test_times_are_utc(served: A2AServed) -> None:
    task = await send(served, message("One", "m-1"))
    assert task["status"]["timestamp"] == "2040-03-01T12:00:00Z"


async def test_a_stream_ends_with_its_token_and_the_run_goes_on() -> None:
    served = A2AServed(token_seconds=0.3)
    gate = hold_answer(served)
    reported = asyncio.ensure_future(served.calls("message/stream", {"message": message("Count", "m-1")}))
    *_, last = await reported
    gate.set()
    assert last["error"]["data"]["code"] == "token_expired"
    served.token_seconds = 3600.0
    task_id = (await _first(reported))["id"]
    async with asyncio.timeout(10):
        while (await served.call("tasks/get", {"id": task_id}))["result"]["status"]["state"] != "completed":  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def _first(reported: asyncio.Future[list[Json]]) -> Json:
    first: Json = (await reported)[0]["result"]
    return first
