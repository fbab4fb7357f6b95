"""Spans of steps that begin before their run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from baton.domain.tracing import Attributes, Operation, Span, Untraced, making_current


class EarlySteps(Untraced):
    """A stand-in for the span of a run that has not begun. It records its steps, with their times, until ``join``."""

    def __init__(self) -> None:
        self._run: Span | None = None
        self._steps: list[_EarlyStep] = []

    def begin(
        self,
        operation: Operation,
        name: str,
        attributes: Attributes,
        *,
        is_remote: bool = False,
        began_ns: int | None = None,
    ) -> Span:
        if self._run is not None:
            return self._run.begin(operation, name, attributes, is_remote=is_remote, began_ns=began_ns)
        step = _EarlyStep(operation, name, attributes, is_remote, began_ns or time.time_ns())
        self._steps.append(step)
        return step

    def join(self, run: Span) -> None:
        """Make all steps children of ``run``, including those in progress. Only the first call has an effect."""
        if self._run is None:
            self._run = run
            for step in self._steps:
                step.join(run)
            self._steps.clear()


class _EarlyStep(EarlySteps):
    """A step of ``EarlySteps``, with the steps inside it."""

    def __init__(self, operation: Operation, name: str, attributes: Attributes, is_remote: bool, began_ns: int) -> None:
        super().__init__()
        self._operation = operation
        self._name = name
        self._attributes = dict(attributes)
        self._is_remote = is_remote
        self._began_ns = began_ns
        self._ended_ns: int | None = None
        self._failure: str | None = None
        self._span: Span | None = None

    def set(self, attributes: Attributes) -> None:
        if self._span is not None:
            self._span.set(attributes)
        self._attributes |= attributes

    def fail(self, code: str) -> None:
        if self._span is not None:
            self._span.fail(code)
        self._failure = code

    def end(self, *, at_ns: int | None = None) -> None:
        if self._span is not None:
            self._span.end(at_ns=at_ns)
        self._ended_ns = at_ns or time.time_ns()

    def join(self, run: Span) -> None:
        span = run.begin(
            self._operation, self._name, self._attributes, is_remote=self._is_remote, began_ns=self._began_ns
        )
        super().join(span)
        if self._failure is not None:
            span.fail(self._failure)
        if self._ended_ns is not None:
            span.end(at_ns=self._ended_ns)
        self._span = span


@contextmanager
def before_run() -> Iterator[EarlySteps]:
    """Record the spans that the block begins, until ``join`` is called with the span of their run."""
    steps = EarlySteps()
    with making_current(steps):
        yield steps
