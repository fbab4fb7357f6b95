"""Blocking boto3 calls in threads, and AWS outages as ``StoreUnavailable``."""

from __future__ import annotations

import asyncio
import contextvars
import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, ParamSpec, Protocol, TypeVar

import botocore
from botocore import exceptions, xform_name
from botocore.config import Config
from botocore.exceptions import ClientError

from baton.adapters.aws.session import make_client
from baton.domain.errors import StoreUnavailable

P = ParamSpec("P")
T = TypeVar("T")

MAX_CONNECTIONS = 64
"""The maximum number of threads, and of connections of a client."""
CONFIG = Config(
    connect_timeout=1,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=MAX_CONNECTIONS,
    # botocore assembles its default for every request, which takes a quarter of the request's CPU time.
    user_agent=f"Botocore/{botocore.__version__} Baton",
)
"""The usual configuration. A call takes at most 21 s: three attempts, with pauses of up to 1 and 2 s."""
QUICK = Config(read_timeout=2, parameter_validation=False)
"""The configuration for the table and the queue, which answer within milliseconds. A call takes at most 12 s.

Parameter validation would take a tenth of each request's CPU time; the tests check the requests instead."""

_OUTAGES = (
    exceptions.ConnectionError,  # the root of botocore's connection failures
    exceptions.CredentialRetrievalError,
    exceptions.HTTPClientError,
    exceptions.IncompleteReadError,
    exceptions.MetadataRetrievalError,
    exceptions.NoCredentialsError,  # raised even if the source of the credentials only fails to answer
)
_OUTAGE_CODES = frozenset(
    {
        "InternalError",
        "InternalServerError",
        "InternalServiceError",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
STEP_SECONDS = 1.0
"""Seconds of one wait for a thread's answer."""
_threads = ThreadPoolExecutor(MAX_CONNECTIONS, thread_name_prefix="aws")


def create_client(
    service: str, endpoint_url: str | None = None, config: Config | None = None, session: Any = None
) -> Any:
    """Return a client of ``service`` with Baton's time limits and retries, which ``config`` overrides.

    ``session`` is the boto3 session that makes the client; None for the process's own session.
    """
    merged = CONFIG if config is None else CONFIG.merge(config)
    make: Any = make_client if session is None else session.client
    return make(service, endpoint_url=endpoint_url, config=merged)


class _DeferredClient:
    def __init__(self, make: Callable[[], Any]) -> None:
        self._client = cache(make)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client(), name)


def defer_client(service: str | Callable[[], Any]) -> Any:
    """Return a client that is made at its first use, for a service or by a function.

    Making a client takes ten milliseconds, and some services are needed by few requests.
    """
    return _DeferredClient(partial(create_client, service) if isinstance(service, str) else service)


async def call(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the blocking ``fn`` in a thread.

    Throttling and outages after the client's retries raise ``StoreUnavailable``. Every other ``ClientError`` is raised
    unchanged. Cancelling the caller does not stop the thread, so the request may still take effect.
    """
    with convert_outages():
        return await start(fn, *args, **kwargs)


def start(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
    """Start the blocking ``fn`` in a thread. Return a future of its result."""
    work = partial(contextvars.copy_context().run, partial(fn, *args, **kwargs))
    return asyncio.get_running_loop().run_in_executor(_threads, work)


@contextmanager
def convert_outages() -> Iterator[None]:
    """Turn throttling and outages of AWS inside the block into ``StoreUnavailable``."""
    try:
        yield
    except ClientError as error:
        if is_outage(error):
            raise StoreUnavailable from error
        raise
    except _OUTAGES as error:
        raise StoreUnavailable from error


def is_outage(error: ClientError) -> bool:
    """Return whether AWS is throttling or failing, so that the same request may succeed later."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status == 429 or status >= 500 or error_code(error) in _OUTAGE_CODES


def error_code(error: ClientError) -> str:
    """Return AWS's code of the error, such as ``ConditionalCheckFailedException``; empty if it has none."""
    return error.response.get("Error", {}).get("Code", "")


class Operations(Protocol):
    """The operations of one AWS service."""

    async def call(self, operation: str, request: Mapping[str, Any], *, seconds: float = math.inf) -> Any:
        """Send a ``request`` for an ``operation``, such as ``PutItem``, and return the answer, in boto3's forms.

        Raises ``StoreUnavailable`` for an outage after the client's retries, and after ``seconds``; the request may
        still take effect then. Other refusals of the service raise botocore's ``ClientError``.
        """


class ThreadedOperations:
    """``Operations`` by a boto3 client, in a thread for each call. Time limits are rounded up to whole seconds."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def call(self, operation: str, request: Mapping[str, Any], *, seconds: float = math.inf) -> Any:
        future = start(getattr(self._client, xform_name(operation)), **request)
        try:
            waited = 0.0
            while waited < seconds:
                # In steps, because after the process was frozen the whole time seems to have passed at once.
                await asyncio.wait([future], timeout=STEP_SECONDS)
                if future.done():
                    with convert_outages():
                        return future.result()
                waited += STEP_SECONDS
            raise StoreUnavailable
        finally:
            future.cancel()
