"""Results of tests, as plain data that can be sent between processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from baton_testing.conversation_ports import ModelNames
from baton_testing.models.cassette import Recording


@dataclass(frozen=True, slots=True)
class Failure:
    """An expectation that did not hold."""

    place: str
    """``file:line``."""
    step: str
    expected: str
    happened: str


@dataclass(frozen=True, slots=True)
class RunResult:
    """One conversation that was held."""

    failures: tuple[Failure, ...] = ()
    transcript: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Texts that may explain a failure, such as tools that agents went without."""
    warnings: tuple[str, ...] = ()
    """Those of the notes that people read of a passed test too: the test itself may be wrong."""
    tokens: int = 0
    milliseconds: float = 0.0
    """The time that Baton itself has computed."""
    seconds: float = 0.0
    """The time that it took on the wall."""
    recordings: tuple[Recording, ...] = ()
    """The model's answers for the cassette."""

    @property
    def passed(self) -> bool:
        """True if all expectations held."""
        return not self.failures


@dataclass(frozen=True, slots=True)
class ConversationResult:
    """All runs of one test."""

    file: Path
    line: int
    name: str
    runs: tuple[RunResult, ...]
    needed: int = 1
    """The number of runs that must pass."""
    names: ModelNames = field(default_factory=ModelNames)
    """The models that were asked."""

    @property
    def passes(self) -> int:
        """The number of runs that have passed."""
        return sum(run.passed for run in self.runs)

    @property
    def passed(self) -> bool:
        """True if enough of them have passed."""
        return self.passes >= self.needed

    @property
    def failing(self) -> RunResult | None:
        """The first run that failed."""
        return next((run for run in self.runs if not run.passed), None)
