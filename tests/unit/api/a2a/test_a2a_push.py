"""Push notifications of A2A tasks: their receivers, contents and requests."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import jwt
import pytest
from a2a.compat.v0_3 import types as v03
from a2a.types import Task

from baton.api.a2a.access import A2AAccess
from baton.api.notifications import Notifications
from baton.domain.threads.a2a_task import MarkStatus, TaskMark
from baton.domain.threads.push_config import LIFETIME, MAX_CONFIGS
from baton.domain.threads.queued import QueuedMessage
from baton.domain.threads.thread_change import MAX_RECEIVES, ThreadChange, compute_redelivery_pause
from baton.failures.reports import NotYet
from baton.ports.agents.a2a import WebhookRefused, WebhookUnreachable
from baton.ports.clock import read_machine_time
from tests.a2a_schema import check_message
from tests.fakes.chat_model import Answer
from tests.fakes.push import Posted
from tests.harness.local_clock import run_ahead
from tests.harness.sessions import close
from tests.harness.wiki import wiki
from tests.unit.api.a2a_client import A2AServed, Json, blocking, message, text_of
from tests.unit.api.a2a_messages import open_task, send
from tests.unit.api.pushed import hooks_of, queue_of, work_off

URL = "https://client.example/hook"
SET, GET, LIST, DELETE = (f"tasks/pushNotificationConfig/{method}" for method in ("set", "get", "list", "delete"))


@pytest.fixture
def served() -> A2AServed:
    return A2AServed(wiki())


async def with_config(served: A2AServed, task: Json, **config: Any) -> Json:
    params = {"taskId": task["id"], "pushNotificationConfig": {"url": URL} | config}
    result: Json = await served.call(SET, params)
    return result


def states(posted: list[Posted]) -> list[str]:
    """The states that receivers of 0.3 get; each body is checked by the schema."""
    return [v03.Task.model_validate_json(notice.body).status.state.value for notice in posted]


# Configurations


async def test_a_configuration_is_kept_as_it_was_given_and_shown_without_its_secrets(served: A2AServed) -> None:
    task = await send(served, message("One", "m-1"))
    options = {
        "id": "c-1",
        "url": URL,
        "token": "t",
        "authentication": {"schemes": ["Bearer"], "credentials": "secret"},
    }
    expected = {"taskId": task["id"], "pushNotificationConfig": options}
    assert (await with_config(served, task, **options))["result"] == expected
    expected["pushNotificationConfig"] = {"id": "c-1", "url": URL, "authentication": {"schemes": ["Bearer"]}}
    params = {"id": task["id"], "pushNotificationConfigId": "c-1"}
    assert (await served.call(GET, params))["result"] == expected
    assert (await served.call(LIST, {"id": task["id"]}))["result"] == [expected]
    assert (await served.call(DELETE, params))["result"] is None
    assert (await served.call(LIST, {"id": task["id"]}))["result"] == []
    assert (await served.call(GET, params))["error"]["code"] == -32001
    assert (await served.call(DELETE, params))["result"] is None


@pytest.mark.parametrize(
    "question", [{}, {"pushNotificationConfigId": "default"}, {"pushNotificationConfigId": "task"}]
)
async def test_a_configuration_without_an_id_is_the_default_one(served: A2AServed, question: Json) -> None:
    task = await send(served, message("One", "m-1"))
    await with_config(served, task)
    question = {key: task["id"] if item == "task" else item for key, item in question.items()}
    results = (await served.call(GET, {"id": task["id"]} | question))["result"]
    assert results["pushNotificationConfig"] == {"id": "default", "url": URL}


async def test_clients_of_both_lines_see_the_same_configurations(served: A2AServed) -> None:
    task = await send(served, message("One", "m-1"))
    params = {"taskId": task["id"], "id": "c-1", "url": URL, "authentication": {"scheme": "Basic", "credentials": "x"}}
    assert (await served.call("CreateTaskPushNotificationConfig", params))["result"] == params
    params = params | {"authentication": {"scheme": "Basic"}}
    assert (await served.call("GetTaskPushNotificationConfig", {"taskId": task["id"], "id": "c-1"}))["result"] == params
    listed = await served.call("ListTaskPushNotificationConfigs", {"taskId": task["id"]})
    assert listed["result"]["configs"] == [params]
    assert len((await served.call(LIST, {"id": task["id"]}))["result"]) == 1
    await served.call("DeleteTaskPushNotificationConfig", {"taskId": task["id"], "id": "c-1"})
    assert (await served.call(LIST, {"id": task["id"]}))["result"] == []


@pytest.mark.parametrize(
    "value", [{"token": "very-secret"}, {"authentication": {"scheme": "B", "credentials": "very-secret"}}]
)
async def test_no_reading_shows_what_a_receiver_is_entrusted_with(served: A2AServed, value: Json) -> None:
    task = await send(served, message("One", "m-1"))
    sent_ = {"taskId": task["id"], "id": "c-1", "url": URL} | value
    assert "result" in await served.call("CreateTaskPushNotificationConfig", sent_)
    request = {"taskId": task["id"], "id": "c-1"}
    answers = [
        await served.call("GetTaskPushNotificationConfig", request),
        await served.call("ListTaskPushNotificationConfigs", {"taskId": task["id"]}),
        await served.call(GET, {"id": task["id"], "pushNotificationConfigId": "c-1"}),
        await served.call(LIST, {"id": task["id"]}),
    ]
    for path in ("pushNotificationConfigs", "pushNotificationConfigs/c-1"):
        address = f"/a2a/v1/tasks/{task['id']}/{path}"
        answer = await served.request("GET", address, headers={"A2A-Version": "1.0"})
        assert answer.status_code == 200
        answers.append(answer.json())
    assert all(URL in str(answer) for answer in answers)
    assert "very-secret" not in str(answers)


async def test_the_same_id_again_replaces_and_there_are_not_too_many(served: A2AServed) -> None:
    task = await send(served, message("One", "m-1"))
    for number in range(MAX_CONFIGS):
        await with_config(served, task, id=f"c-{number}")
    assert "result" in await with_config(served, task, id="c-0", url=f"{URL}/other")
    assert (await with_config(served, task, id="one-more"))["error"]["code"] == -32602
    listed = (await served.call(LIST, {"id": task["id"]}))["result"]
    assert [item["pushNotificationConfig"]["url"] for item in listed][:2] == [f"{URL}/other", URL]
    assert len(listed) == MAX_CONFIGS


@pytest.mark.parametrize(
    "config",
    [
        {"url": "http://client.example/"},
        {"url": "https://refused.example/"},
        {"url": "ftp://client.example/"},
        {"url": "nothing"},
        {"url": ""},
        {"url": "https://user@client.example/"},
        {"url": "https://user:secret@client.example/"},
        {"url": "https://client.example/" + "a" * 10_000},
        {"url": "https://client.example/\r\nX-Injected: 1"},
        {"url": "https://cliént.example/"},
        {"id": "a\nb"},
        {"id": "i" * 200},
        {"token": "a\r\nX-Injected: 1"},
        {"token": "t" * 2_000},
        {"authentication": {"schemes": ["Bearer\r\nX: 1"], "credentials": "x"}},
        {"authentication": {"schemes": ["Bearer"], "credentials": "x\r\nX: 1"}},
        {"authentication": {"schemes": ["Bearer"], "credentials": "x" * 5_000}},
    ],
)
async def test_what_no_request_can_be_made_of_is_refused(served: A2AServed, config: Json) -> None:
    hooks_of(served).refused = {"refused.example"}
    task = await open_task(served, message("One", "m-1"))
    assert (await with_config(served, task, **config))["error"]["code"] == -32602
    refused = {"pushNotificationConfig": {"url": URL} | config}
    response = await served.call("message/send", blocking(message("Two", "m-2", taskId=task["id"]), **refused))
    assert response["error"]["code"] == -32602
    assert (await served.call("tasks/get", {"id": task["id"]}))["result"] == task
    assert queue_of(served).sent == []


@pytest.mark.parametrize("who", [{"user": "bob"}, {"tenant": "elsewhere"}])
async def test_the_configurations_of_others_are_not_found(served: A2AServed, who: Json) -> None:
    task = await send(served, message("One", "m-1"))
    await with_config(served, task)
    config_params = {"taskId": task["id"], "pushNotificationConfig": {"url": URL}}
    request = {"id": task["id"], "pushNotificationConfigId": "default"}
    for method, params in ((SET, config_params), (GET, request), (LIST, request), (DELETE, request)):
        for permission in ((), ("thread:read_all",)):
            answer = await served.call(method, params, *permission, **who)
            assert answer["error"]["code"] == -32001
    assert len((await served.call(LIST, {"id": task["id"]}))["result"]) == 1


async def test_a_conversation_that_is_deleted_meanwhile_is_not_found(
    served: A2AServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await send(served, message("One", "m-1"))
    configs = served.harness.app.ports.push_configs
    put = configs.put

    async def put_and_delete(*arguments: Any) -> None:
        await put(*arguments)
        served.harness.store.rows.clear()

    monkeypatch.setattr(configs, "put", put_and_delete)
    assert (await with_config(served, task))["error"]["code"] == -32001


async def test_a_deployment_may_send_none(served: A2AServed) -> None:
    off = A2AServed(served.harness, a2a=A2AAccess())
    task = await send(off, message("One", "m-1"))
    assert (await with_config(off, task))["error"]["code"] == -32003
    config = {"pushNotificationConfig": {"url": URL}}
    assert (await off.call("message/send", blocking(message("Two"), **config)))["error"]["code"] == -32003
    for item, pushes in ((served, True), (off, False)):
        card = (await item.request("GET", "/.well-known/agent-card.json")).json()
        assert card["capabilities"]["pushNotifications"] is pushes
    assert (await off.request("GET", "/.well-known/jwks.json")).status_code == 404


async def test_a_configuration_is_forgotten_in_time(served: A2AServed) -> None:
    task = await send(served, message("One", "m-1"))
    await with_config(served, task)
    served.harness.clock.advance(LIFETIME.total_seconds() + 1)
    assert (await served.call(LIST, {"id": task["id"]}))["result"] == []


# Receivers and contents


async def test_every_state_of_a_task_is_reported(served: A2AServed) -> None:
    config = {"pushNotificationConfig": {"url": URL}}
    task = await open_task(served, message("One", "m-1"), **config)
    posted = await work_off(served)
    assert states(posted) == ["working", "input-required"]
    started, end = (json.loads(notice.body) for notice in posted)
    assert [text_of(notice) for notice in started["history"]] == ["One"]
    assert end == (await served.call("tasks/get", {"id": task["id"]}))["result"]
    await send(served, message("Two", "m-2", taskId=task["id"]))
    posted = await work_off(served)
    assert states(posted) == ["working", "completed"]
    assert [text_of(notice) for notice in json.loads(posted[0].body)["history"]] == ["One", "Hello there.", "Two"]
    served.harness.thread_id = task["contextId"]
    await close(served.harness)
    assert await work_off(served) == []


async def test_a_task_that_goes_on_is_not_reported_as_completed(served: A2AServed) -> None:
    """Clients stop listening at a final state."""
    gate = asyncio.Event()
    served.harness.model.script(Answer(("One ", "two"), gate=gate, gate_at=1))
    first = {"message": message("One", "m-1"), "configuration": {"pushNotificationConfig": {"url": URL}}}
    task = (await served.call("message/send", first))["result"]
    waiting = asyncio.ensure_future(send(served, message("Two", "m-2", taskId=task["id"])))
    await asyncio.sleep(0.1)
    gate.set()
    await waiting
    assert states(await work_off(served)) == ["working", "working", "completed"]


@pytest.mark.parametrize("is_blocking", [True, False])
async def test_a_message_that_begins_a_conversation_brings_its_configuration(
    served: A2AServed, *, is_blocking: bool
) -> None:
    config = {"pushNotificationConfig": {"url": URL}, "blocking": is_blocking}
    await served.call("message/send", blocking(message("One", "m-1"), **config))
    assert states(await work_off(served)) == ["working", "completed"]


async def test_a_stream_brings_one_too(served: A2AServed) -> None:
    params = {"message": message("One", "m-1"), "configuration": {"pushNotificationConfig": {"url": URL}}}
    await served.calls("message/stream", params)
    assert states(await work_off(served)) == ["working", "completed"]


async def test_clients_of_1_0_get_the_task_as_an_event(served: A2AServed) -> None:
    sent_message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "One"}]}
    configuration = {"taskPushNotificationConfig": {"url": URL}}
    await served.call("SendMessage", {"message": sent_message, "configuration": configuration})
    posted = await work_off(served)
    for notice in posted:
        [(name, task)] = json.loads(notice.body).items()
        assert name == "task"
        check_message(Task(), task)
    assert json.loads(posted[-1].body)["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_configuration_that_is_set_during_a_run_hears_of_its_end(served: A2AServed) -> None:
    gate = asyncio.Event()
    served.harness.model.script(Answer(("One ", "two"), gate=gate, gate_at=1))
    task = (await served.call("message/send", {"message": message("One", "m-1")}))["result"]
    await with_config(served, task)
    gate.set()
    await served.queue.wait_until_idle()
    assert states(await work_off(served)) == ["completed"]


async def test_nothing_is_queued_for_tasks_without_a_configuration(served: A2AServed) -> None:
    task = await send(served, message("One", "m-1"))
    served.harness.thread_id = task["contextId"]
    await close(served.harness)
    assert queue_of(served).sent == []


async def test_other_tasks_of_the_conversation_are_not_reported(served: A2AServed) -> None:
    task = await send(served, message("One", "m-1"), pushNotificationConfig={"url": URL})
    await work_off(served)
    await send(served, message("Elsewhere", "m-2", contextId=task["contextId"]))
    await served.harness.say("m-3", "By the web page")
    assert await work_off(served) == []


async def test_the_end_of_a_session_completes_a_task_that_asks_once(served: A2AServed) -> None:
    config = {"pushNotificationConfig": {"url": URL}}
    first = await send(served, message("One", "m-1"), **config)
    await open_task(served, message("Two", "m-2", contextId=first["contextId"]), **config)
    await work_off(served)
    served.harness.thread_id = first["contextId"]
    await close(served.harness)
    assert states(await work_off(served)) == ["completed"]
    await send(served, message("Three", "m-3", contextId=first["contextId"]))
    await close(served.harness)
    assert await work_off(served) == []


async def test_a_cancellation_is_reported(served: A2AServed) -> None:
    task = await open_task(served, message("One", "m-1"), pushNotificationConfig={"url": URL})
    await work_off(served)
    await served.call("tasks/cancel", {"id": task["id"]})
    assert states(await work_off(served)) == ["canceled"]


async def test_two_marks_of_a_task_within_minutes_are_both_reported(served: A2AServed) -> None:
    """Here a configuration was set as the run ended, and the task is cancelled then. The queue drops repeated names."""
    task = await open_task(served, message("One", "m-1"), pushNotificationConfig={"url": URL})
    await work_off(served)
    await served.harness.app.change_notifications.note_mark(
        served.harness.ada, task["contextId"], "m-1", "configured.2"
    )
    assert states(await work_off(served)) == ["input-required"]
    await served.call("tasks/cancel", {"id": task["id"]})
    await served.call("tasks/cancel", {"id": task["id"]})
    assert states(await work_off(served)) == ["canceled"]


async def test_a_refused_message_is_reported(served: A2AServed) -> None:
    harness, scope = served.harness, served.harness.ada
    served.queue.is_held = True
    params = {"message": message("One", "m-1"), "configuration": {"pushNotificationConfig": {"url": URL}}}
    task = (await served.call("message/send", params))["result"]
    [(_, queued)] = served.queue.sent
    refused = TaskMark(root="m-1", user_id="ada", status=MarkStatus.REFUSED, at=harness.clock.now(), message_id="m-1")
    await harness.a2a_tasks.mark(scope, task["contextId"], refused)
    served.queue.sent.clear()
    await harness.app.change_notifications.note_mark(scope, task["contextId"], "m-1", "refused.m-1")
    assert isinstance(queued, QueuedMessage)
    assert queued.request.notifies
    assert states(await work_off(served)) == ["rejected"]


# How it is sent


async def configure_push(served: A2AServed, **config: Any) -> Json:
    """A task with notifications that wait in the queue."""
    return await send(served, message("One", "m-1"), pushNotificationConfig={"url": URL} | config)


async def test_receivers_can_check_who_sent_it(served: A2AServed, monkeypatch: pytest.MonkeyPatch) -> None:
    run_ahead(served.harness, monkeypatch)
    task = await configure_push(served, token="its token", authentication={"schemes": ["Basic"], "credentials": "YTpi"})
    posted = (await work_off(served))[-1]
    assert posted.headers["X-A2A-Notification-Token"] == "its token"
    assert posted.headers["Authorization"] == "Basic YTpi"
    published = (await served.request("GET", "/.well-known/jwks.json")).json()
    signature = posted.headers["X-A2A-Notification-Signature"]
    key = jwt.PyJWKSet.from_dict(published)[jwt.get_unverified_header(signature)["kid"]]
    claims = jwt.decode(
        signature,
        key,
        audience=URL,
        issuer="http://baton.test",
        options={"verify_exp": False, "verify_iat": False},  # the clock stands still
    )
    assert claims["request_body_sha256"] == hashlib.sha256(posted.body).hexdigest()
    assert claims["task_id"] == task["id"]
    assert claims["exp"] - claims["iat"] == 300
    assert claims["iat"] == int(read_machine_time(served.harness.clock).timestamp())
    assert "d" not in published["keys"][0]


async def test_the_signature_authenticates_where_the_client_names_nothing_else(served: A2AServed) -> None:
    await configure_push(served)
    for posted in await work_off(served):
        assert posted.headers["Authorization"] == f"Bearer {posted.headers['X-A2A-Notification-Signature']}"
        assert "X-A2A-Notification-Token" not in posted.headers


@pytest.mark.parametrize("answer", [500, 503, 429, 408, WebhookUnreachable])
async def test_what_may_succeed_later_is_sent_again_in_order(served: A2AServed, answer: Any) -> None:
    await configure_push(served)
    hooks_of(served).answers = [answer, answer]
    assert states(await work_off(served)) == ["working"]
    assert states(await work_off(served, receives=2)) == ["working"]
    assert states(await work_off(served, receives=3)) == ["working", "completed"]
    assert [seconds for _, seconds in queue_of(served).postponed] == [2, 4]
    assert queue_of(served).sent == []


@pytest.mark.parametrize("answer", [301, 307, 400, 401, 404, WebhookRefused])
async def test_what_cannot_succeed_is_given_up(served: A2AServed, answer: Any) -> None:
    await configure_push(served)
    hooks_of(served).answers = [answer, 200]
    assert states(await work_off(served)) == ["working", "completed"][: len(hooks_of(served).posted)]
    assert queue_of(served).sent == []


async def test_a_receiver_that_is_gone_gets_nothing_more(served: A2AServed) -> None:
    task = await configure_push(served)
    hooks_of(served).answers = [410]
    assert len(await work_off(served)) == 1
    assert (await served.call(LIST, {"id": task["id"]}))["result"] == []


async def test_a_receiver_that_fails_delays_no_other(served: A2AServed) -> None:
    task = await open_task(served, message("One", "m-1"))
    await with_config(served, task, id="a")
    await with_config(served, task, id="b")
    await send(served, message("Two", "m-2", taskId=task["id"]))
    hooks_of(served).answers = [500, 200, 200]
    assert states(await work_off(served)) == ["working", "working", "completed"]
    assert states(await work_off(served)) == ["working", "completed"]


async def test_a_configuration_that_was_removed_is_not_used_any_more(served: A2AServed) -> None:
    task = await configure_push(served)
    hooks_of(served).answers = [500]
    await work_off(served)
    await served.call(DELETE, {"id": task["id"], "pushNotificationConfigId": "default"})
    assert await work_off(served) == []
    assert queue_of(served).sent == []


async def test_addresses_that_are_not_allowed_any_more_are_not_called(served: A2AServed) -> None:
    await configure_push(served)
    hooks_of(served).refused = {"client.example"}
    assert await work_off(served) == []
    hooks_of(served).is_on = False
    assert await work_off(served) == []


async def test_an_end_is_not_announced_before_it_is_committed(served: A2AServed) -> None:
    """The worker queues it first, so that its death loses nothing."""
    gate = asyncio.Event()
    task = await open_task(served, message("One", "m-1"), pushNotificationConfig={"url": URL})
    served.harness.model.script(Answer(("One ", "two"), gate=gate, gate_at=1))
    await work_off(served)
    await served.call("message/send", {"message": message("Two", "m-2", taskId=task["id"])})
    thread = await served.harness.store.get_thread(served.harness.ada, task["contextId"])
    assert thread.run is not None
    early = ThreadChange(
        tenant_id=served.harness.ada.tenant_id,
        user_id="ada",
        thread_id=thread.id,
        kind="ended",
        run_id=thread.run.run_id,
        root="m-1",
        fence=77,
    )
    sender = Notifications.of(served.harness.app)
    with pytest.raises(NotYet):
        await sender.run(early.model_dump_json(by_alias=True), "handle", 1)
    gate.set()
    await served.queue.wait_until_idle()
    await sender.run(early.model_dump_json(by_alias=True), "handle", 2)
    assert sorted(states(await work_off(served))) == ["completed", "completed", "working"]


async def test_a_queue_that_is_down_fails_no_turn(served: A2AServed) -> None:
    queue_of(served).is_down = True
    task = await configure_push(served)
    assert task["status"]["state"] == "completed"


async def test_a_notification_of_something_deleted_is_dropped(served: A2AServed) -> None:
    task = await configure_push(served)
    served.harness.store.rows.clear()
    assert await work_off(served) == []
    assert task["id"]


def test_pauses_grow_up_to_a_quarter_of_an_hour() -> None:
    pauses = [compute_redelivery_pause(receives) for receives in range(1, MAX_RECEIVES + 1)]
    assert pauses[:4] == [2, 4, 8, 16]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 900


async def test_secrets_are_in_no_log_and_no_audit(
    served: A2AServed, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    task = await configure_push(
        served, token="very-secret-token", authentication={"schemes": ["B"], "credentials": "very-secret"}
    )
    hooks_of(served).answers = [500, 404]
    await work_off(served)
    await work_off(served)
    reported = capsys.readouterr().out + caplog.text + str(served.harness.audit.records) + str(queue_of(served))
    assert "very-secret" not in reported
    config = served.harness.push_configs.configs
    assert task["id"]
    assert "very-secret" not in repr(config)
