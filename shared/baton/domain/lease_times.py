"""How long a worker keeps its run without a sign of life, and how often it gives one."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

DEFAULT_LEASE_SECONDS = 30
ZOMBIE_SECONDS = 16 * 60
"""After this time nothing of a worker can arrive. No worker, presigned upload or HTTP request lives over 15 minutes."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """All in seconds of real time. They belong together: shorter ones have the proportions of these."""

    lease: float = DEFAULT_LEASE_SECONDS
    """From a renewal to the lease's end."""
    renew: float = 10.0
    """From one renewal to the next."""
    refresh: float = 2.0
    """How often a worker looks who watches its run, who wants it stopped and who asks for a sign of life."""
    quiet: float = 1.5
    """How long a run may give no sign of life before its worker is asked for one."""
    answered: float = 10.0
    """The same once it has answered: it renews its lease that often without being asked."""
    answer: float = 6.0
    """A worker that has not answered by then is presumed dead."""
    hidden: float = 9.0
    """How long a queue record stays hidden after its worker has died, at most."""
    hidden_again: float = 45.0
    """The same from a run's second attempt on: a worker that is held up for seconds must not lose its record again."""
    extend: float = 3.0
    """From one extension of the time for which a record is hidden to the next; also the longest that one may take."""
    extend_again: float = 1.0
    """From an extension that failed to the next one."""
    margin: float = 2.0
    """Nothing is posted so near the lease's end that a successor's post could overtake it."""
    losing: float = 2.5
    """A record that is hidden for less than this has missed two extensions or more, and will soon be lost."""

    @classmethod
    def of(cls, lease_seconds: float) -> Self:
        """The times that go with a lease of so many seconds.

        A longer lease makes nobody wait longer for a cancellation or a new watcher: both are looked for as often.
        """
        share, usual = lease_seconds / DEFAULT_LEASE_SECONDS, cls()
        scaled = {field.name: getattr(usual, field.name) * share for field in fields(cls)}
        return cls(**scaled | {"refresh": min(usual.refresh, scaled["refresh"])})

    def hidden_for(self, attempt: int) -> float:
        """How long a record is hidden that is worked on for the ``attempt``-th time, counted from 1."""
        return self.hidden if attempt == 1 else self.hidden_again


USUAL_TIMES = LeaseTimes()
"""Those of a deployment."""
