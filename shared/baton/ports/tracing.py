"""Traces of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from baton.domain.tracing import UNTRACED, Span


@dataclass(frozen=True, slots=True)
class TracedRun:
    """One attempt at a run, or work that a run has left for later."""

    tenant_id: str
    thread_id: str
    name: str
    """The id of the thread's main agent, or the kind of the work."""
    run_id: str | None = None
    """None for work after a run."""
    attempt: int = 1


class Tracer(Protocol):
    """A tracer of runs. No method waits for the collector of traces, and none raises."""

    def begin(self, run: TracedRun) -> Span:
        """Begin the span of ``run``, in the trace that the block ``domain.tracing.joining`` joins, or in its own.

        A later attempt has a link to the one before it.
        """

    def flush(self, seconds: float) -> None:
        """Send the spans that have ended, for at most ``seconds``. Blocks: for the end of a Lambda invocation.

        Spans that were dropped since the last call are counted.
        """


class NoTracer:
    """``Tracer`` of a deployment without traces."""

    def begin(self, run: TracedRun) -> Span:
        return UNTRACED

    def flush(self, seconds: float) -> None:
        """Do nothing."""


NO_TRACER = NoTracer()
