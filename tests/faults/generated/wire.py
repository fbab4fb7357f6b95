"""AWS at the level of HTTP: requests that fail, get lost, or are answered by this test instead of a service."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ConnectionClosedError, ConnectTimeoutError, ReadTimeoutError

from tests.faults.generated.actors import Killed, current

SDK_ATTEMPTS = 4
"""The product's own retries, here without the pauses between them."""

WRITES = frozenset(
    {
        *("PutItem", "UpdateItem", "DeleteItem", "PutObject", "SendMessage"),
        *("acquire", "renew", "release", "abandon", "begin_run", "take_over"),
        *("open_turn", "reopen_turn", "put_message", "append", "commit", "close"),
    }
)
"""Operations that change something: of services, and of doubles."""

Json = dict[str, Any]
Service = Callable[[str, AWSPreparedRequest], AWSResponse | None]
"""Answers an operation; None lets the request go to the real engine."""


class Fault(StrEnum):
    """The possible fates of a request."""

    THROTTLED = "throttled"
    FAILED = "failed"
    """HTTP 500."""
    UNREACHABLE = "unreachable"
    LOST_ANSWER = "lost answer"
    """It took effect, and the answer never came."""
    SLOW_ANSWER = "timed out"
    """The same, noticed by a time limit."""


@dataclass
class Wire:
    """Everything that goes through the boto3 clients it is attached to."""

    choose: Callable[[str, str], Fault | None] = lambda service, operation: None
    """The fault of an actor's next request to a service."""
    counts: Counter[str] = field(default_factory=Counter)
    """The faults that happened, by service."""

    def attach(self, client: Any, answered_by: Service | None = None) -> None:
        """Watch a client from now on."""
        service = client.meta.service_model.service_name
        name = client.meta.service_model.service_id.hyphenize()

        def before_send(request: AWSPreparedRequest, event_name: str, **_: object) -> AWSResponse | None:
            return self._send(client, service, event_name.rpartition(".")[2], request, answered_by)

        client._user_agent_creator.to_string = lambda: "cases"  # its making takes as long as a turn's own work
        client.meta.events.register("before-send", before_send)
        client.meta.events.register_first(f"needs-retry.{name}", _retry_at_once)

    def next_fault(self, service: str, operation: str, really: Callable[[], object]) -> Fault | None:
        """Return the fate of the current actor's request, which ``really`` carries out; raises ``Killed``."""
        actor = current()
        if actor is None:
            return None
        actor.check()
        if actor.counts_down(writes=operation in WRITES):
            self.counts[f"kill -9 {actor.kill_when} {service}.{operation}"] += 1
            if actor.kill_when == "after":
                really()
            actor.dead = True
            raise Killed(actor.name)
        fault = self.choose(service, operation)
        if fault is not None:
            self.counts[f"{fault} {service}.{operation}"] += 1
        return fault

    def _send(
        self, client: Any, service: str, operation: str, request: AWSPreparedRequest, answered_by: Service | None
    ) -> AWSResponse | None:
        def really() -> AWSResponse:
            answer = answered_by(operation, request) if answered_by is not None else None
            sent: AWSResponse = answer or client._endpoint.http_session.send(request)
            return sent

        match self.next_fault(service, operation, really):
            case None:
                return really()
            case Fault.THROTTLED if service == "s3":
                return s3_error(503, "SlowDown")
            case Fault.FAILED if service == "s3":
                return s3_error(500, "InternalError")
            case Fault.THROTTLED:
                code = "ThrottlingException"
                return answer(429 if service == "apigatewaymanagementapi" else 400, {"__type": code}, code)
            case Fault.FAILED:
                return answer(500, {"__type": "InternalServerError"}, "InternalError")
            case Fault.UNREACHABLE:
                raise ConnectTimeoutError(endpoint_url=request.url)
            case Fault.LOST_ANSWER:
                really()
                raise ConnectionClosedError(endpoint_url=request.url)
            case Fault.SLOW_ANSWER:
                really()
                raise ReadTimeoutError(endpoint_url=request.url)


class _Body(io.BytesIO):
    """A body as urllib3 gives it."""

    def stream(self, **_: object) -> Iterator[bytes]:
        yield self.read()


def answer(status: int, body: Json, error: str | None = None) -> AWSResponse:
    """A service's answer in JSON."""
    headers = HTTPHeaders()
    headers["content-type"] = "application/x-amz-json-1.0"
    if error is not None:
        headers["x-amzn-errortype"] = error
    return AWSResponse("http://aws.test", status, headers, _Body(json.dumps(body).encode()))


def s3_error(status: int, code: str) -> AWSResponse:
    """S3's answer that something went wrong; it speaks XML."""
    headers = HTTPHeaders()
    headers["content-type"] = "application/xml"
    body = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>no</Message></Error>"
    return AWSResponse("http://aws.test", status, headers, _Body(body.encode()))


def _retry_at_once(
    response: tuple[AWSResponse, Json] | None, attempts: int, caught_exception: Exception | None, **_: object
) -> float | None:
    """botocore's own repetitions happen without a pause."""
    if attempts >= SDK_ATTEMPTS:
        return None
    if caught_exception is not None:
        return 0.0
    if response is None:
        return None
    status, code = response[0].status_code, response[1].get("Error", {}).get("Code")
    return 0.0 if status >= 500 or status == 429 or code in ("ThrottlingException", "SlowDown") else None
