"""Refusals of frames: only a client that has gone is forgotten, and no refusal keeps a run waiting."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from baton.adapters.aws.api_gateway import ApiGatewayConnections
from baton.domain.metrics import Metric, collect_counts
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import Event
from baton.ports.threads.connections import ConnectionBusy
from baton.threads.outbox.connection_sender import TRIES, send_to
from baton.threads.outbox.delivery import DRAIN_SECONDS, Delivery
from baton.threads.outbox.frames import FrameQueue
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.threads.connections import FakeConnections
from baton_testing.fakes.threads.live import FakeLiveRegistry

ADA = Scope("acme", "ada")
FIRST, SECOND = (Event({"type": "X", "n": number}, number) for number in range(2))


def refusal(status: int, code: str) -> ClientError:
    details: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(details, "PostToConnection")


GONE = [refusal(410, "GoneException"), refusal(410, "410")]
BUSY = [
    refusal(429, "LimitExceededException"),
    refusal(429, "429"),
    refusal(400, "ThrottlingException"),
    refusal(500, "InternalServerError"),
    refusal(502, "502"),
    refusal(503, "ServiceUnavailable"),
    EndpointConnectionError(endpoint_url="https://gateway.test"),
    NoCredentialsError(),
]
REFUSED = [
    refusal(403, "ExpiredTokenException"),
    refusal(403, "ForbiddenException"),
    refusal(403, "AccessDeniedException"),
    refusal(403, "InvalidSignatureException"),
    refusal(400, "BadRequestException"),
    refusal(404, "NotFoundException"),
    refusal(418, ""),
]
TOO_LARGE = [refusal(413, "PayloadTooLargeException"), refusal(413, "413")]


class Client:
    """The SDK's client of the management API, whose first posts fail."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.frames: list[str] = []
        self.posts = 0

    def post_to_connection(self, *, ConnectionId: str, Data: bytes) -> None:  # noqa: N803 - the SDK's names
        self.posts += 1
        if self.failures:
            raise self.failures.pop(0)
        self.frames.append(Data.decode())


class Live(FakeLiveRegistry):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.detached: list[str] = []

    async def detach(self, scope: Scope, thread_id: str, connection_id: str) -> None:
        self.detached.append(connection_id)
        await super().detach(scope, thread_id, connection_id)


class Thread:
    """One thread with a connected tab."""

    def __init__(self, connections: Any) -> None:
        clock = FakeClock()
        self.live = Live(clock)
        self.later = clock.now() + timedelta(hours=1)
        self.delivery = Delivery(
            ADA, "thread", live=self.live, connections=connections, clock=clock, lease_until=lambda: self.later
        )

    async def send(self, *events: Event) -> None:
        """Post each event in a separate frame."""
        await self.delivery.join("tab", self.later)
        for event in events:
            self.delivery.post([event])
            await asyncio.sleep(DRAIN_SECONDS)


def make_client(*failures: Exception) -> tuple[Client, Thread]:
    client = Client(*failures)
    return client, Thread(ApiGatewayConnections(cast("Any", client)))


@pytest.mark.parametrize("failure", GONE, ids=repr)
async def test_a_client_that_has_gone_is_forgotten(failure: Exception) -> None:
    client, thread = make_client(failure)
    await thread.send(FIRST, SECOND)
    assert (client.posts, thread.live.detached) == (1, ["tab"])


@pytest.mark.parametrize("failure", BUSY, ids=repr)
async def test_what_fails_for_the_moment_is_sent_again(failure: Exception) -> None:
    client, thread = make_client(failure)
    await thread.send(FIRST, SECOND)
    assert (client.posts, len(client.frames), thread.live.detached) == (3, 2, [])


@pytest.mark.parametrize("failure", REFUSED, ids=repr)
async def test_a_refusal_is_tried_again_and_then_costs_this_frame_only(failure: Exception) -> None:
    client, thread = make_client(failure)
    await thread.send(FIRST, SECOND)
    assert (client.posts, len(client.frames), thread.live.detached) == (3, 2, [])
    client, thread = make_client(*[failure] * TRIES)
    await thread.send(FIRST, SECOND)
    assert (client.posts, len(client.frames), thread.live.detached) == (TRIES + 1, 1, [])
    assert '"n":1' in client.frames[0].replace(" ", "")


@pytest.mark.parametrize("failure", TOO_LARGE, ids=repr)
async def test_a_frame_that_is_too_large_is_not_tried_again(failure: Exception) -> None:
    client, thread = make_client(failure)
    await thread.send(FIRST, SECOND)
    assert (client.posts, len(client.frames), thread.live.detached) == (2, 1, [])


@pytest.mark.parametrize("failure", [*REFUSED, *TOO_LARGE], ids=repr)
async def test_every_frame_given_up_is_counted_and_the_first_one_logged(
    failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []
    monkeypatch.setattr(
        "baton.threads.outbox.connection_sender.logger.error", lambda message, **_: logged.append(message)
    )
    counter: Counter[Metric] = Counter()
    with collect_counts(counter.update):
        client, thread = make_client(*[failure] * 3 * TRIES)
        await thread.send(*(Event({"type": "X", "n": number}, number) for number in range(3)))
    assert (len(logged), counter, client.frames) == (1, {Metric.FRAMES_REFUSED: 3}, [])


@pytest.mark.parametrize("failure", [*REFUSED, *TOO_LARGE], ids=repr)
async def test_a_refused_replay_ends_and_is_counted(failure: Exception) -> None:
    counter: Counter[Metric] = Counter()
    with collect_counts(counter.update):
        assert not await send_to(ApiGatewayConnections(cast("Any", Client(*[failure] * TRIES))), "tab", [FIRST])
    assert counter == {Metric.FRAMES_REFUSED: 1}


@pytest.mark.parametrize("failure", [RuntimeError("a fault of ours"), KeyError("x"), ValueError("encoding")], ids=repr)
async def test_an_unexpected_failure_costs_one_frame_and_keeps_nobody_waiting(failure: Exception) -> None:
    connections, items = FakeConnections(), Counter[Metric]()
    connections.script("tab", failure)
    with collect_counts(items.update):
        thread = Thread(connections)
        await thread.delivery.join("tab", thread.later)
        thread.delivery.post([FIRST])
        async with asyncio.timeout(DRAIN_SECONDS / 2):
            await thread.delivery.drain()
        await thread.send(SECOND)
    assert [event["n"] for event in connections.events("tab")] == [1]
    assert items == {Metric.FRAMES_REFUSED: 1}
    assert thread.live.detached == []


async def test_a_sender_that_ends_keeps_nobody_waiting_and_the_next_refresh_begins_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connections, items = FakeConnections(), Counter[Metric]()
    thread = Thread(connections)

    def fail(queue: FrameQueue) -> tuple[str, int]:
        raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")

    with collect_counts(items.update):
        await thread.delivery.join("tab", thread.later)
        with monkeypatch.context() as broken:
            broken.setattr(FrameQueue, "build_next_frame", fail)
            thread.delivery.post([FIRST])
            await asyncio.sleep(0.1)
        thread.delivery.post([SECOND])
        await thread.delivery.refresh(logged_seq=-1)
        thread.delivery.post([Event({"type": "X", "n": 2}, 2)])
        await thread.delivery.drain()
    assert items == {Metric.INTERNAL_FAULTS: 1}
    assert [event["n"] for event in connections.events("tab")] == [0, 1, 2]


async def test_draining_ends_though_a_connection_takes_nothing() -> None:
    connections = FakeConnections()
    connections.script("tab", *[ConnectionBusy()] * 1000)
    thread = Thread(connections)
    await thread.delivery.join("tab", thread.later)
    thread.delivery.post([FIRST])
    others = len(asyncio.all_tasks())
    began = asyncio.get_running_loop().time()
    await thread.delivery.drain()
    assert asyncio.get_running_loop().time() - began == pytest.approx(DRAIN_SECONDS)  # virtual time: a limit
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) < others, "nothing goes on after it"
