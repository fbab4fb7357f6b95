"""Facts that no client can see: cancelled runs, and workers that spoke after their successors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from baton.domain.tenants.identity import Scope
from baton.ports.threads.leases import Lease
from baton_testing.fakes.threads.connections import events_in
from tests.faults.generated.actors import Actor, current

Note = Callable[..., None]


@dataclass
class Monitor:
    """A monitor of leases, requests to cancel and posts, without an effect."""

    to_be_stopped: set[str] = field(default_factory=set)
    """Ids of the runs with a request to cancel."""
    violations: list[str] = field(default_factory=list)
    _holders: dict[tuple[str, int], Actor | None] = field(default_factory=dict)
    """The worker of an attempt at a run."""
    _spoken: dict[str, int] = field(default_factory=dict)
    """The latest attempt at each run that said something."""
    _late: defaultdict[tuple[int, str], set[int]] = field(default_factory=lambda: defaultdict(set))

    def note_lease(self, lease: Lease) -> None:
        """Note the holder of the lease of a run."""
        run = lease.thread.run
        if run is not None:
            self._holders[run.run_id, run.attempt] = current()

    def note_stop_request(self, scope: Scope, thread_id: str, run_id: str) -> None:
        """Note a request to cancel a run."""
        self.to_be_stopped.add(run_id)

    def check_frame(self, connection_id: str, frame: bytes) -> None:
        """Check the order of the frames of a connection.

        A frame sent before its worker was held up may arrive after those of its successor; no further frame may.
        """
        late_seqs = [seq for event in events_in(frame) if (seq := self._late_seq(event)) is not None]
        if late_seqs:
            late = self._late[id(current()), connection_id]
            late.add(late_seqs[0])
            if len(late) > 1:
                self.violations.append(f"a worker goes on after its successor has spoken: {late_seqs}")

    def _late_seq(self, event: dict[str, Any]) -> int | None:
        """The event's number, if it is of an attempt whose successor has spoken already."""
        metadata = event.get("metadata", {})
        run_id, attempt, actor = metadata.get("runId"), metadata.get("attempt"), current()
        if metadata.get("seq") is None or attempt is None or self._holders.get((run_id, attempt)) is not actor:
            return None  # repeated from the log, by somebody else
        if attempt >= self._spoken.get(run_id, 0):
            self._spoken[run_id] = attempt
            return None
        seq: int = metadata["seq"]
        return seq


class Watched:
    """A port whose calls are observed: their arguments before the call, their results after it."""

    def __init__(
        self, port: object, *, before: Mapping[str, Note] | None = None, after: Mapping[str, Note] | None = None
    ) -> None:
        self._port, self._before, self._after = port, before or {}, after or {}

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        method: Callable[..., Coroutine[Any, Any, Any]] = getattr(self._port, name)
        before, after = self._before.get(name), self._after.get(name)
        if before is None and after is None:
            return method

        async def call(*args: Any, **kwargs: Any) -> Any:
            if before is not None:
                before(*args, **kwargs)
            result = await method(*args, **kwargs)
            if after is not None:
                after(result)
            return result

        return call
