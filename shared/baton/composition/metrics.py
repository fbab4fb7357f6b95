"""Metrics of an invocation, written at its end."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import ParamSpec, TypeVar

from baton.adapters import emf
from baton.domain.metrics import Metric, counting
from baton.settings.base import MetricSettings

P = ParamSpec("P")
T = TypeVar("T")


def write_metrics(counts: Mapping[Metric, int], at: datetime | None = None) -> None:
    """Write the counts under the deployment's stack, with the time ``at`` (by default now)."""
    emf.write(counts, stack=MetricSettings().stack, at=at)


def counted(handler: Callable[P, T]) -> Callable[P, T]:
    """Return a Lambda handler that writes the counts of each invocation at its end."""

    @functools.wraps(handler)
    def with_counts(*args: P.args, **kwargs: P.kwargs) -> T:
        # With the time of its start, like Lambda's own metrics, because an alarm subtracts one from the other.
        with counting(functools.partial(write_metrics, at=datetime.now(UTC))):
            return handler(*args, **kwargs)

    return with_counts
