"""Wait for a domain that cannot be used yet, because the domain, its security plugin or its permissions are new."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from baton.adapters.opensearch.engine import EngineError
from baton.domain.errors import SearchUnavailable

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 480.0
"""Seconds after which a new domain and new permissions must be usable. IAM propagates within minutes."""
ATTEMPT_SECONDS = 60.0
"""The time limit of an attempt, so that the last one ends in the caller's time."""
PAUSE_SECONDS = 10.0
"""Seconds between two attempts."""
REFUSED = frozenset({401, 403})
BUSY = frozenset({408, 429})

T = TypeVar("T")


async def complete(
    action: Callable[[], Awaitable[T]],
    seconds: float,
    *,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Repeat ``action`` until the domain accepts it, for ``seconds`` and at most ``ATTEMPT_SECONDS`` more.

    Raises the last ``SearchUnavailable``. An error that waiting cannot change, such as a bad request, is raised at
    once.
    """
    deadline = monotonic() + seconds
    while True:
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                return await action()
        except TimeoutError:
            problem = SearchUnavailable(f"OpenSearch did not answer in {ATTEMPT_SECONDS:g} seconds.")
        except SearchUnavailable as unavailable:
            problem = unavailable
        if not may_pass(problem) or monotonic() + PAUSE_SECONDS > deadline:
            raise problem
        logger.info("The search domain is not ready yet: %s", describe(problem))
        await sleep(PAUSE_SECONDS)


def may_pass(problem: SearchUnavailable) -> bool:
    """Return whether waiting may help: for no answer, a refusal, an overload or an error of the engine."""
    if not isinstance(problem, EngineError):
        return problem.retryable
    status = problem.engine_status
    return status in REFUSED or status in BUSY or status >= 500


def describe(problem: SearchUnavailable) -> str:
    """Return the error's text; without an answer of OpenSearch, the text of the network's error."""
    if isinstance(problem, EngineError) or problem.__cause__ is None:
        return str(problem)
    return f"OpenSearch does not answer: {problem.__cause__}"


def advise(problem: SearchUnavailable) -> str:
    """Return advice for an operator whose deployment has failed with ``problem``."""
    if not isinstance(problem, EngineError):
        return (
            "Check OpenSearchEndpoint, and that the domain is active and has public access: functions reach no domain "
            "in a VPC. Then deploy again."
        )
    if problem.engine_status in REFUSED:
        return (
            "The domain refuses the role of SearchFunction. If it is an existing domain, deploy with "
            "SearchIndicesOnDeploy=false, let its owner map the roles of the outputs SearchRoleArn and "
            "FunctionRoleArns, and run `baton search STAGE migrate` (docs/how-to/run-search.md)."
        )
    if may_pass(problem):
        return "Check the health of the domain, and deploy again when it is active."
    return (
        "The domain does not accept the request: it must be OpenSearch 3.0 or newer with fine-grained access control."
    )
