"""The plan of a generated case: its actions and faults; everything follows from its seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.faults.generated.actors import Actor
from tests.faults.generated.wire import Fault

KINDS = (
    "kill -9",
    "frozen workers",
    "starved workers",
    "clock jumps",
    "throttling",
    "outages",
    "lost answers",
    "model failures",
    "search failures",
    "disconnects",
    "duplicate deliveries",
    "contradictions",
    "two writers",
    "eight writers",
    "everything",
)

FAULTY_SECONDS = 150.0
"""The virtual time for which faults go on. Afterwards all must come right by itself."""


@dataclass
class Plan:
    """The rates of faults, and who talks."""

    seed: int
    kind: str
    random: random.Random = field(repr=False)
    sockets: int = 1
    """Writers over WebSocket."""
    callers: int = 0
    """Writers over HTTP."""
    watchers: int = 1
    """Clients over WebSocket that send nothing."""
    messages: int = 2
    """Of each writer."""
    workers: int = 2
    kill_share: float = 0.0
    freeze_share: float = 0.0
    starved_seconds: float = 0.0
    """For how long every worker stands still, again and again."""
    skew_seconds: float = 0.0
    jumps: int = 0
    faults: tuple[Fault, ...] = ()
    fault_share: float = 0.0
    outages: tuple[tuple[float, float, str], ...] = ()
    """From, to, and the service that does not answer."""
    model_failing: float = 0.0
    model_pause: float = 0.3
    drop_share: float = 0.0
    """The share of events after which a client loses its connection."""
    duplicates: int = 0
    reorderings: int = 0
    conflicts: int = 0
    """Messages that somebody sends under an id that is taken."""
    cancels: int = 0
    closes: int = 0
    slow_search: bool = False
    """Whether search and the embedder often take longer than a turn waits."""
    large: bool = False
    """Whether a message is too large for an item of the table, and so in S3."""
    kills_left: int = 3

    @classmethod
    def of(cls, seed: int, kind: str | None = None) -> Plan:
        """The plan of a seed; kinds take turns."""
        chance = random.Random(seed)  # noqa: S311 - cases, not secrets
        kind = kind or KINDS[seed % len(KINDS)]
        plan = cls(seed, kind, chance, sockets=chance.randint(1, 2), callers=chance.randint(0, 1))
        plan.messages = chance.randint(1, 2)
        plan.model_pause = chance.choice([0.0, 0.3, 3.0])
        plan.cancels = int(chance.random() < 0.15)
        plan.closes = int(chance.random() < 0.15)
        plan._add(kind)
        return plan

    @property
    def interrupts_runs(self) -> bool:
        """Whether faults may end two attempts at a run, so that the third gives it up."""
        return self.kind != "starved workers"

    @property
    def has_odd_clocks(self) -> bool:
        """Whether the clock of a process is wrong: processes may then disagree whether a lease has expired."""
        return bool(self.jumps or self.skew_seconds)

    def actor(self, name: str, *, now: float) -> Actor:
        """Return a new process, with faults if ``now`` is before their end."""
        chance, actor = self.random, Actor(name)
        actor.skew = chance.uniform(-self.skew_seconds, self.skew_seconds)
        if now >= FAULTY_SECONDS:
            return actor
        if chance.random() < self.kill_share and self.kills_left:
            self.kills_left -= 1
            if chance.random() < 0.5:
                actor.kill_at = chance.randint(1, 25)
            else:
                actor.kill_at_write = chance.randint(1, 8)
            actor.kill_when = "after" if chance.random() < 0.5 else "before"
        elif self.starved_seconds and name in ("worker", "http"):
            actor.freeze_at = chance.randint(1, 25)
            actor.freeze_seconds = self.starved_seconds
            actor.freezes_again = chance.randint(25, 60)
        elif chance.random() < self.freeze_share:
            if chance.random() < 0.5:
                actor.freeze_at = chance.randint(1, 25)
            else:
                actor.freeze_at_write = chance.randint(1, 8)
            actor.freeze_seconds = chance.choice([8.0, 31.0, 50.0])
        return actor

    def fault(self, service: str, now: float) -> Fault | None:
        """The fate of a request."""
        if now >= FAULTY_SECONDS:
            return None
        if any(begin <= now < end and service == down for begin, end, down in self.outages):
            return self.random.choice([Fault.FAILED, Fault.UNREACHABLE, Fault.THROTTLED])
        if self.faults and self.random.random() < self.fault_share:
            return self.random.choice(self.faults)
        return None

    def _add(self, kind: str) -> None:
        chance, is_large = self.random, self.seed % 7 == 2
        match kind:
            case "kill -9":
                self.kill_share = 0.6
            case "frozen workers":
                self.freeze_share = 0.6
                self.kill_share = chance.choice([0.0, 0.3])
            case "starved workers":
                self.starved_seconds = chance.choice([4.0, 8.0, 12.0, 16.0])
                self.model_pause = chance.choice([0.3, 3.0])
            case "clock jumps":
                self.skew_seconds = chance.choice([0.0, 20.0, 60.0])
                self.jumps = chance.randint(1, 4)
                self.kill_share, self.kills_left = 0.3, 1
            case "throttling":
                self.faults, self.fault_share = (Fault.THROTTLED, Fault.FAILED), chance.uniform(0.1, 0.75)
                self.large = is_large
            case "outages":
                services = ["dynamodb", "sqs", "apigatewaymanagementapi", "s3"]
                begins = [chance.uniform(0, 40) for _ in range(chance.randint(1, 4))]
                self.outages = tuple((at, at + chance.uniform(0.05, 40), chance.choice(services)) for at in begins)
                if is_large:
                    self.outages += ((0.0, chance.uniform(0.05, 20), "s3"),)
                self.large = is_large
            case "lost answers":
                self.faults = (Fault.LOST_ANSWER, Fault.SLOW_ANSWER)
                self.fault_share = chance.uniform(0.05, 0.7)
                self.large = is_large
            case "model failures":
                self.model_failing = 0.6
                self.messages = 3
            case "search failures":
                begins = [chance.uniform(0, 20) for _ in range(4)]
                services = ["search", "embedder", "search", "embedder"]
                self.outages += tuple(
                    (at, at + chance.uniform(1, 60), service) for at, service in zip(begins, services, strict=True)
                )
                self.slow_search = chance.random() < 0.5
                self.closes = chance.randint(2, 4)
                self.kill_share = chance.choice([0.0, 0.4])
            case "disconnects":
                self.drop_share = chance.uniform(0.1, 0.5)
            case "duplicate deliveries":
                self.duplicates, self.reorderings = chance.randint(1, 5), chance.randint(1, 3)
                self.sockets, self.workers = chance.randint(1, 3), 4
            case "contradictions":
                self.conflicts = chance.randint(1, 3)
                self.kill_share = 0.4
            case "two writers":
                self.sockets, self.callers, self.messages = 1, 1, 3
                self.kill_share, self.kills_left = 0.3, 1
            case "eight writers":
                self.sockets = chance.randint(3, 5)
                self.callers, self.messages, self.workers = 8 - self.sockets, 1, 4
            case "everything":
                for other in chance.sample(KINDS[:-3], 4):
                    self._add(other)
