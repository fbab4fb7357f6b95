"""Invoke functions for stored objects, as S3 does through EventBridge."""

import logging
import threading
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from baton_local.account import ACCOUNT, REGION
from baton_local.stack.declarations import ObjectRule

logger = logging.getLogger("baton_local.workers.object_events")

TRIES = 4
"""The most calls for one event."""
FIRST_PAUSE_SECONDS = 0.5
"""The pause after the first failed call. Each later pause is twice as long."""


def make_object_created_event(bucket: str, key: str, size: int, at: datetime) -> dict[str, Any]:
    """Return EventBridge's event for a stored object of ``size`` bytes. Unlike in S3's events, the key is plain."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Object Created",
        "source": "aws.s3",
        "account": ACCOUNT,
        "time": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [f"arn:aws:s3:::{bucket}"],
        "detail": {
            "version": "0",
            "bucket": {"name": bucket},
            "object": {"key": key, "size": size},
            "reason": "PutObject",
        },
    }


class ObjectEvents:
    """Events of created objects, passed in the background to the functions of the rules that match them."""

    def __init__(self, rules: Iterable[ObjectRule], invoke: Callable[[str, Any], Any]) -> None:
        self._rules = tuple(rules)
        self._invoke = invoke
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="object events")
        self._stopping = threading.Event()

    def report_created(self, bucket: str, key: str, size: int) -> None:
        """Invoke the functions of matching rules in the background. A failed call is repeated.

        ``size`` is the size of the object in bytes.
        """
        for rule in self._rules:
            if rule.matches(bucket, key) and not self._stopping.is_set():
                event = make_object_created_event(bucket, key, size, datetime.now(UTC))
                self._threads.submit(self._deliver, rule.function, event)

    def stop(self) -> None:
        """Stop delivering. Undelivered events are lost."""
        self._stopping.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _deliver(self, function: str, event: Any) -> None:
        """Invoke a function, at most ``TRIES`` times. The last failure is logged, and the event is lost."""
        for attempt in range(TRIES):
            try:
                self._invoke(function, event)
            except Exception as problem:
                if attempt == TRIES - 1:
                    logger.exception("%s failed for a stored object", function)
                    return
                # One line without a traceback: on a slow machine calls time out, and the next attempt succeeds.
                logger.warning("%s failed for a stored object, trying again: %r", function, _find_first_cause(problem))
                if self._stopping.wait(FIRST_PAUSE_SECONDS * 2**attempt):
                    return
            else:
                return


def _find_first_cause(problem: BaseException) -> BaseException:
    """Return the first exception of a chain, such as the timeout because of which a store was unavailable."""
    while (cause := problem.__cause__ or problem.__context__) is not None:
        problem = cause
    return problem
