"""The operations of a boto3 client as coroutines, each called in a thread."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import Any, Protocol

from botocore import xform_name

from baton.adapters.aws import blocking_calls as aws
from baton.domain.errors import StoreUnavailable

STEP_SECONDS = 1.0


class Operations(Protocol):
    """The operations of one AWS service."""

    async def call(self, operation: str, request: Mapping[str, Any], *, seconds: float = math.inf) -> Any:
        """Send a request, such as ``"PutItem"``, and return the answer, both as boto3's client has them.

        Raises ``StoreUnavailable`` for an outage after the client's retries, and when ``seconds`` have passed; the
        request may still take effect then. Other refusals of the service raise botocore's ``ClientError``.
        """
        ...


class ThreadedOperations:
    """``Operations`` by a boto3 client, in a thread for each call."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def call(self, operation: str, request: Mapping[str, Any], *, seconds: float = math.inf) -> Any:
        """See ``Operations``."""
        future = aws.start(getattr(self._client, xform_name(operation)), **request)
        try:
            waited = 0.0
            while waited < seconds:
                # Wait in steps: a process that was paused then finds its answer after one step.
                await asyncio.wait([future], timeout=STEP_SECONDS)
                if future.done():
                    with aws.outages():
                        return future.result()
                waited += STEP_SECONDS
            raise StoreUnavailable
        finally:
            future.cancel()
