"""Metrics of an invocation, written at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
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

    return _counts_written()(handler)


@contextmanager
def _counts_written() -> Iterator[None]:
    # With the time of its start, like Lambda's own metrics, because an alarm subtracts one from the other.
    with counting(partial(write_metrics, at=datetime.now(UTC))):
        yield
