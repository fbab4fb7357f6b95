"""Many writers on one thread, and a queue that delivers what it should not: still one turn a message."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from baton_local.engines.clients import client
from tests.e2e.sockets import new_id
from tests.e2e.users import User
from tests.faults.processes.killed_workers import make_queued_body
from tests.faults.processes.viewer import Viewer, check_thread

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("killed_workers")]
"""The workers have been killed before; meanwhile the dead ones' leases run out."""

DONE: dict[str, list[Any]] = {"batchItemFailures": []}


@pytest.mark.parametrize("writers", [2, 8])
async def test_concurrent_writers_lose_nothing(writers: int, ada: User) -> None:
    thread_id = new_id()
    entry = 2 if writers == 2 else 1
    request = {f"w{writer}-{number}": f"{writer}.{number}" for writer in range(writers) for number in range(entry)}
    async with AsyncExitStack() as stack:
        viewers = [await stack.enter_async_context(Viewer(ada, thread_id)) for _ in range(writers)]

        async def write(writer: int) -> None:
            for number in range(entry):
                message_id = f"w{writer}-{number}"
                if writer % 2:
                    await ada.ask(request[message_id], sessionId=thread_id, messageId=message_id)
                else:
                    await viewers[writer].send(message_id, request[message_id])
                    await viewers[writer].wait_until_answered(message_id)

        await asyncio.gather(*map(write, range(writers)))
        for viewer in viewers:
            await viewer.resume()
            await viewer.wait_until_answered(*request)
        await check_thread(ada, thread_id, request, *(viewer.screen for viewer in viewers))


async def test_a_body_queued_again_is_one_turn(ada: User) -> None:
    thread_id = new_id()
    environment = ada.cloud.environment
    sqs = client("sqs", environment["AWS_ENDPOINT_URL_SQS"])
    async with Viewer(ada, thread_id) as viewer:
        await viewer.send("m-1", "Hello")
        await viewer.wait_until_answered("m-1")
        bodies = [make_queued_body(ada, thread_id, f"m-{number}", f"No. {number}") for number in (2, 1, 2, 3, 2, 3)]
        bodies[1] = make_queued_body(ada, thread_id, "m-1", "Hello")
        for body in bodies:
            sqs.send_message(
                QueueUrl=environment["BATON_TURNS_QUEUE_URL"],
                MessageBody=body,
                MessageGroupId=f"{ada.tenant}#{thread_id}",
                MessageDeduplicationId=new_id(),
            )
        await viewer.wait_until_answered("m-1", "m-2", "m-3")
        await viewer.send("last", "Are you done?")
        await viewer.wait_until_answered("last")
        request = {"m-1": "Hello", "m-2": "No. 2", "m-3": "No. 3", "last": "Are you done?"}
        await check_thread(ada, thread_id, request, viewer.screen)
    sqs.close()


async def test_records_delivered_to_two_workers_at_once_are_one_turn_each(ada: User) -> None:
    thread_id = new_id()
    request = {"m-1": "One", "m-2": "Two"}
    bodies = [make_queued_body(ada, thread_id, message_id, content) for message_id, content in request.items()]
    answers = await asyncio.to_thread(ada.cloud.deliver, "TurnsFunction", *bodies, *bodies)
    async with Viewer(ada, thread_id) as viewer:
        await viewer.resume()
        for body, answer in zip([*bodies, *bodies], answers, strict=True):
            if answer != DONE:  # the queue would deliver it again
                assert await asyncio.to_thread(ada.cloud.deliver, "TurnsFunction", body) == [DONE]
        await viewer.wait_until_answered(*request)
        await check_thread(ada, thread_id, request, viewer.screen)


async def test_a_poisoned_message_ends_as_an_error_and_its_thread_goes_on(ada: User) -> None:
    thread_id = new_id()
    async with Viewer(ada, thread_id) as viewer:
        await viewer.send("m-1", "Hello")
        await viewer.wait_until_answered("m-1")
        body = make_queued_body(ada, thread_id, "m-2", "Poison")
        for _ in range(2):  # dead letters, too, are delivered at least once
            assert await asyncio.to_thread(ada.cloud.deliver, "DeadTurnsFunction", body) == [DONE]
        await viewer.wait_until_answered("m-2")
        poisoned = list(viewer.screen.runs.values())[1]
        assert [event["type"] for event in poisoned] == ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_ERROR"]
        assert poisoned[-1]["code"] == "interrupted"
        await viewer.send("m-3", "Go on")
        await viewer.wait_until_answered("m-3")
        request = {"m-1": "Hello", "m-2": "Poison", "m-3": "Go on"}
        await check_thread(ada, thread_id, request, viewer.screen)
