"""Doubles in place of the engines: a case takes a tenth of the time. Faults happen at the level of the ports.

The doubles pass the same contracts as the real adapters (``tests/contracts``), retries after lost answers included.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError

from baton.domain.errors import BatonError, StoreUnavailable
from baton.ports.clock import Clock
from baton_testing.fakes.memory.episodes import FakeEpisodes
from baton_testing.fakes.memory.private_skills import FakePrivateSkills
from baton_testing.fakes.memory.procedures import FakeProcedures
from baton_testing.fakes.tenants.audit import FakeAuditLog
from baton_testing.fakes.threads.handoffs import FakeHandoffs
from baton_testing.fakes.threads.live import FakeLiveRegistry
from baton_testing.fakes.threads.run_records import FakeRunRecords
from baton_testing.fakes.threads.stream_log import FakeStreamLog
from baton_testing.fakes.threads.thread_store import FakeThreadStore
from baton_testing.fakes.threads.workflows import FakeWorkflows
from tests.faults.generated.engines import Stores
from tests.faults.generated.wire import SDK_ATTEMPTS, Fault, Wire

if TYPE_CHECKING:
    from tests.faults.generated.case import Case

APPLIED = (Fault.LOST_ANSWER, Fault.SLOW_ANSWER)


class InMemory:
    """Everything in this process."""

    def __init__(self) -> None:
        self.wire = Wire()
        self.case: Case | None = None
        self.sqs = _Sqs(self)
        self.gateway = _Gateway(self)

    def stores(self, clock: Clock) -> Stores:
        audit, procedures = FakeAuditLog(), FakeProcedures()
        store = FakeThreadStore(clock)
        ports = (
            store,
            FakeStreamLog(clock),
            FakeLiveRegistry(clock, store),
            FakeEpisodes(),
            FakeRunRecords(),
            FakeHandoffs(audit),
            FakeWorkflows(clock),
            procedures,
            FakePrivateSkills(procedures, clock),
        )
        threads, log, live, episodes, *others = (cast("Any", Port(port, self.wire)) for port in ports)
        return Stores(threads, log, live, audit, episodes, *others)

    def close(self) -> None:
        """Do nothing: no connection was opened."""


class Port:
    """A double whose every call takes a moment, and may fail, be lost or kill its caller."""

    def __init__(
        self,
        port: Any,
        wire: Wire,
        *,
        service: str = "dynamodb",
        refusal: type[BatonError] = StoreUnavailable,
        pause: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """``refusal`` is the caller's error in the end; ``pause`` returns the additional seconds of a call."""
        self._port, self._wire, self._service, self._refusal, self._pause = port, wire, service, refusal, pause

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if not callable(method):
            return method
        if inspect.isasyncgenfunction(method):
            return lambda *args, **kwargs: self._listed(name, partial(method, *args, **kwargs))
        return self._called(name, method)

    async def _listed(self, name: str, pages: Callable[[], AsyncIterator[Any]]) -> AsyncIterator[Any]:
        """The whole list is one call."""

        async def all_of_it() -> list[Any]:
            return [page async for page in pages()]

        for document in await self._called(name, all_of_it)():
            yield document

    def _called(self, name: str, method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(self._pause())
            really = partial(_finished, method, *args, **kwargs)
            step = partial(_attempts, self._wire, self._service, name, really, once=True)
            try:
                return await asyncio.get_running_loop().run_in_executor(None, copy_context().run, step)
            except StoreUnavailable:
                raise self._refusal from None

        return call


class _Sqs:
    """The operations of a boto3 client that the queue's adapters use."""

    def __init__(self, engines: InMemory) -> None:
        self._engines = engines

    def send_message(self, **request: Any) -> None:
        put = partial(
            self._case.queue.put, request["MessageBody"], request["MessageGroupId"], request["MessageDeduplicationId"]
        )
        _attempts(self._engines.wire, "sqs", "SendMessage", put)

    def change_message_visibility(self, **request: Any) -> None:
        hide = partial(self._case.queue.hide, request["ReceiptHandle"], request["VisibilityTimeout"])
        if not _attempts(self._engines.wire, "sqs", "ChangeMessageVisibility", hide):
            raise ClientError({"Error": {"Code": "ReceiptHandleIsInvalid"}}, "ChangeMessageVisibility")

    @property
    def _case(self) -> Case:
        assert self._engines.case is not None
        return self._engines.case


class _Gateway:
    """The operation of a boto3 client by which connections are posted to."""

    def __init__(self, engines: InMemory) -> None:
        self._engines = engines

    def post_to_connection(self, **request: Any) -> None:
        case = self._engines.case
        assert case is not None
        post = partial(case.post, request["ConnectionId"], request["Data"])
        if not _attempts(self._engines.wire, "apigatewaymanagementapi", "PostToConnection", post):
            raise ClientError({"Error": {"Code": "GoneException"}}, "PostToConnection")


def _attempts(wire: Wire, service: str, operation: str, really: Callable[[], Any], *, once: bool = False) -> Any:
    """The SDK's repetitions after faults. ``once``: a call that took effect finds itself at the next try."""
    done: list[Any] = []
    for _ in range(SDK_ATTEMPTS):
        fault = wire.next_fault(service, operation, really)
        if fault is None:
            return done[0] if done and once else really()
        if fault in APPLIED and not (done and once):
            done.append(really())
    raise StoreUnavailable


def _finished(method: Callable[..., Coroutine[Any, Any, Any]], *args: Any, **kwargs: Any) -> Any:
    """The result of a double's method, none of which waits for anything."""
    coroutine = method(*args, **kwargs)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError(f"{method} waits")
