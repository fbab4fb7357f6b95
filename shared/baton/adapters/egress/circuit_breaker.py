"""Circuit breakers: stop calling an endpoint that fails repeatedly (Nygard, "Release It!", 2nd ed., ch. 5).

Circuits are in this process's memory. An endpoint has one circuit for each tenant and one for each conversation, so
that a tenant or conversation that causes failures does not stop the calls of others. Circuits need no lock, because one
event loop makes all calls, and nothing here awaits between reading and writing a circuit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from cachetools import LRUCache


class CircuitOpen(Exception):
    """The endpoint has failed too often and was not called. The caller may retry after ``retry_after_seconds``."""

    def __init__(self, name: str, retry_after_seconds: float) -> None:
        self.name = name
        self.retry_after_seconds = retry_after_seconds
        super().__init__(f"{name} failed repeatedly and is not called for {retry_after_seconds:.0f} s more")


MAX_CIRCUITS = 5_000
"""The number of circuits in memory. The least recently used one is dropped first, and so closed."""


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    """The number of consecutive failures while the circuit is closed. In a tenant's circuit, those of one conversation
    count once."""
    conversations: set[str] = field(default_factory=set)
    """The conversations whose failures a tenant's circuit has counted."""
    next_trial_at: float | None = None
    """The time of the next trial call; None if the circuit is closed."""
    era: int = 0
    """A number that grows with every opening and closing. Results of calls from an earlier era are ignored."""


@dataclass(frozen=True)
class CircuitBreakers:
    """Circuits by name. ``failures`` failed calls in a row open a circuit for ``open_seconds``.

    Then one call is allowed as a trial. If it succeeds, the circuit closes; if it fails, the circuit opens again. After
    ``open_seconds`` an unfinished trial no longer blocks others. ``monotonic`` is the clock, in seconds.
    """

    failures: int = 5
    open_seconds: float = 30.0
    monotonic: Callable[[], float] = time.monotonic
    _circuits: LRUCache[str, _Circuit] = field(init=False, default_factory=lambda: LRUCache(MAX_CIRCUITS))

    def guard(
        self,
        name: str,
        *,
        tenant_id: str | None = None,
        conversation: str | None = None,
        is_failure: Callable[[Exception], bool | None] = lambda error: True,
    ) -> Guard:
        """Return a context for one call of the endpoint ``name``: ``async with breakers.guard(name): ...``.

        ``tenant_id`` is the tenant for which the call is made; None for the deployment's own calls. The failures of one
        ``conversation`` all count in the conversation's circuit. In the tenant's circuit they count once, because the
        conversation's content may be their cause.

        Entering raises ``CircuitOpen`` while the circuit is open. ``is_failure`` judges an exception of the call. False
        (for a well-formed refusal such as a 4xx) counts as a success, and None as neither success nor failure. Other
        exceptions than ``Exception`` (cancellation, a closed generator) also count as neither.
        """
        tenant_key = f"{name}\0{tenant_id or ''}"
        keys = (tenant_key,) if conversation is None else (f"{tenant_key}\0{conversation}", tenant_key)
        return Guard(self, name, keys, conversation, is_failure)

    def _enter_circuit(self, name: str, key: str) -> tuple[_Circuit, int]:
        """Return a circuit that is closed or due for a trial, and its era. Raises ``CircuitOpen`` for others."""
        circuit = self._circuits.setdefault(key, _Circuit())
        if circuit.next_trial_at is not None:
            now = self.monotonic()
            if now < circuit.next_trial_at:
                raise CircuitOpen(name, circuit.next_trial_at - now)
            circuit.next_trial_at = now + self.open_seconds
        return circuit, circuit.era

    def _record_failure(self, circuit: _Circuit, conversation: str | None) -> None:
        """Count a failure, and open the circuit after ``failures`` or a failed trial.

        The failures of one ``conversation`` count once; with None each failure counts.
        """
        if conversation is None or conversation not in circuit.conversations:
            circuit.failures += 1
        if conversation is not None:
            circuit.conversations.add(conversation)
        if circuit.next_trial_at is not None or circuit.failures >= self.failures:
            circuit.next_trial_at = self.monotonic() + self.open_seconds
            circuit.era += 1

    def _record_success(self, circuit: _Circuit) -> None:
        """Forget the failures, and close the circuit."""
        circuit.failures = 0
        circuit.conversations.clear()
        if circuit.next_trial_at is not None:
            circuit.next_trial_at = None
            circuit.era += 1

    def _allow_trial(self, circuit: _Circuit) -> None:
        """Let the next call be the trial of an open circuit, because this one had no result."""
        if circuit.next_trial_at is not None:
            circuit.next_trial_at = self.monotonic()


@dataclass(frozen=True, slots=True)
class Guard:
    """One guarded call, from ``CircuitBreakers.guard``. It is entered once."""

    # A class and not a generator, because it is entered inside async generators that may be closed early.

    breakers: CircuitBreakers
    name: str
    keys: Sequence[str]
    """The keys of the call's circuits; that of the tenant is the last."""
    conversation: str | None
    is_failure: Callable[[Exception], bool | None]
    _entered: list[tuple[_Circuit, int]] = field(init=False, default_factory=list)

    async def __aenter__(self) -> None:
        try:
            for key in self.keys:
                self._entered.append(self.breakers._enter_circuit(self.name, key))
        except CircuitOpen:
            for circuit, _ in self._entered:
                self.breakers._allow_trial(circuit)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        is_failure: bool | None = False
        if error is not None:
            is_failure = self.is_failure(error) if isinstance(error, Exception) else None
        for number, (circuit, era) in enumerate(self._entered, start=1):
            if era != circuit.era:
                continue
            if is_failure is None:
                self.breakers._allow_trial(circuit)
            elif is_failure:
                self.breakers._record_failure(circuit, self.conversation if number == len(self.keys) else None)
            else:
                self.breakers._record_success(circuit)
