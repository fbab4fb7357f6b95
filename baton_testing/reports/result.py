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
    """The result of one run of a conversation."""

    failures: tuple[Failure, ...] = ()
    transcript: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Texts that may explain a failure, such as tools that agents went without."""
    warnings: tuple[str, ...] = ()
    """Notes that are shown for a passed test too, because the test itself may be wrong."""
    tokens: int = 0
    milliseconds: float = 0.0
    """The CPU time of Baton itself."""
    seconds: float = 0.0
    """The real time of the run."""
    recordings: tuple[Recording, ...] = ()
    """The model's answers for the cassette."""

    @property
    def passed(self) -> bool:
        """Whether all expectations were met."""
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
    """The names of the models."""

    @property
    def passes(self) -> int:
        """The number of runs that have passed."""
        return sum(run.passed for run in self.runs)

    @property
    def passed(self) -> bool:
        """Whether enough runs have passed."""
        return self.passes >= self.needed

    @property
    def failing(self) -> RunResult | None:
        """The first failed run, or None."""
        return next((run for run in self.runs if not run.passed), None)
