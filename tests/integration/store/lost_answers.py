"""AWS applies a write and the answer gets lost on the way back: what every retry is there for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import ConnectionClosedError
from botocore.retries.standard import ExponentialBackoff


@dataclass
class Losses:
    """The answers that were lost so far."""

    count: int = 0


@contextmanager
def lose_answers(client: Any, operation: str, *, every: bool = False) -> Iterator[Losses]:
    """Lose the answer to the client's next ``operation``, or to every one; the request itself gets through.

    The client sends it again without a pause.
    """
    losses = Losses()
    event = f"before-send.{client.meta.service_model.service_id.hyphenize()}.{operation}"

    def lose(request: AWSPreparedRequest, **_: object) -> None:
        if losses.count and not every:
            return
        losses.count += 1
        client._endpoint.http_session.send(request)
        raise ConnectionClosedError(endpoint_url=request.url)

    client.meta.events.register(event, lose)
    try:
        with mock.patch.object(ExponentialBackoff, "delay_amount", return_value=0.0):
            yield losses
    finally:
        client.meta.events.unregister(event, lose)
