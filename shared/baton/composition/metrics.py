"""Metrics of an invocation: what was counted in it, written at its end."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import ParamSpec, TypeVar

from baton.adapters import emf
from baton.domain.metrics import Metric, counting
from baton.settings import MetricSettings

P = ParamSpec("P")
T = TypeVar("T")


def write_metrics(counts: Mapping[Metric, int], at: datetime | None = None) -> None:
    """Write the counts as of now or of ``at``, under the deployment's stack."""
    emf.write(counts, stack=MetricSettings().stack, at=at)


def counted(handler: Callable[P, T]) -> Callable[P, T]:
    """Return a Lambda handler that writes what was counted in each of its invocations."""

    @functools.wraps(handler)
    def with_counts(*args: P.args, **kwargs: P.kwargs) -> T:
        # As of its beginning, like Lambda's own metrics of it: an alarm subtracts one from the other.
        with counting(functools.partial(write_metrics, at=datetime.now(UTC))):
            return handler(*args, **kwargs)

    return with_counts
