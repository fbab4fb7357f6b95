"""The port to traces of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from baton.domain.tracing import UNTRACED, Span


@dataclass(frozen=True, slots=True)
class TracedRun:
    """One attempt at a run, or work after a run, such as a summary."""

    tenant_id: str
    thread_id: str
    name: str
    """The id of the thread's main agent, or the kind of the work."""
    run_id: str | None = None
    """The id of the run; None for work after a run."""
    attempt: int = 1


class Tracer(Protocol):
    """A tracer of runs. No method raises, and only ``flush`` waits for the collector of traces."""

    def begin(self, run: TracedRun) -> Span:
        """Begin the span of ``run``, in the trace of the surrounding ``domain.tracing.joining``, or in a new trace.

        A later attempt has a link to the previous attempt.
        """

    def flush(self, seconds: float) -> None:
        """Send the spans that have ended, for at most ``seconds``. It blocks, so call it at the end of an invocation.

        Spans that were dropped since the last call are counted.
        """


class NoTracer:
    """``Tracer`` of a deployment without traces."""

    def begin(self, run: TracedRun) -> Span:
        return UNTRACED

    def flush(self, seconds: float) -> None:
        """Do nothing."""


NO_TRACER = NoTracer()
