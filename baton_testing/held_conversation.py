"""A conversation in progress, whose steps are checked."""

from __future__ import annotations

from collections.abc import Sequence

from baton.domain.yaml_text import Place
from baton_testing.checking import find_unmet
from baton_testing.conversation_files import ReadFile
from baton_testing.conversation_test import Expectation, Step
from baton_testing.models.cassette import Recording
from baton_testing.observation import Observation, combine
from baton_testing.played_user import Verdict
from baton_testing.reports.result import Failure, RunResult

WHOLE = "the conversation"


class HeldConversation:
    """A conversation in progress: its observations and failures."""

    def __init__(self, file: ReadFile, number: int) -> None:
        self._file = file
        self._location: Place = ("conversations", number)
        self._test = file.content.conversations[number]
        self._notes: list[str] = []
        self.seen: list[Observation] = []
        self.failures: list[Failure] = []

    def take_step(self, step: Step, index: int, seen: Observation, problems: Sequence[str]) -> None:
        """Add a step of the test and check its expectations. ``problems`` are the model's."""
        self.seen.append(seen)
        location = (*self._location, "steps", index)
        stopped = (*seen.problems, *problems)
        for problem in stopped:
            self._fail(location, step.title, "the step can be taken", problem)
        if stopped:
            return
        if seen.error is not None and all(expectation.error is None for expectation in step.expect):
            self._fail(location, step.title, "no error", f"the error {seen.error}")
        for number, expectation in enumerate(step.expect):
            self._check(expectation, seen, (*location, "expect", number), step.title)

    def take(self, seen: Observation) -> None:
        """Add a step of a user whom a model plays, and a failure if it ended with an unexpected error."""
        self.seen.append(seen)
        if seen.error is not None and all(expectation.error is None for expectation in self._test.expect):
            self._fail(self._location, seen.title, "no error", f"the error {seen.error}")

    def judge(self, verdict: Verdict) -> None:
        """Add a failure if the judge's verdict is negative."""
        if not verdict.passed:
            self._fail((*self._location, "judge"), WHOLE, str(self._test.judge), verdict.reason)

    def check_whole(self) -> None:
        """Check the expectations of the conversation as a whole."""
        whole = combine(self.seen)
        for number, expectation in enumerate(self._test.expect):
            self._check(expectation, whole, (*self._location, "expect", number), WHOLE)

    def fail_as_whole(self, expected: str, happened: str) -> None:
        """Add a failure of the whole conversation."""
        self._fail(self._location, WHOLE, expected, happened)

    def note(self, text: str) -> None:
        """Add a note that may explain a failure."""
        self._notes.append(text)

    def make_result(
        self,
        *,
        notes: Sequence[str],
        warnings: Sequence[str],
        tokens: int,
        seconds: float,
        recordings: Sequence[Recording],
    ) -> RunResult:
        """Return the result of the run. ``seconds`` are real time."""
        return RunResult(
            failures=tuple(self.failures),
            transcript=tuple(line for seen in self.seen for line in seen.transcript()),
            notes=(*self._notes, *notes),
            warnings=tuple(warnings),
            tokens=tokens,
            milliseconds=sum(seen.milliseconds for seen in self.seen),
            seconds=seconds,
            recordings=tuple(recordings),
        )

    def _check(self, expectation: Expectation, seen: Observation, location: Place, step: str) -> None:
        for unmet in find_unmet(expectation, seen):
            self._fail(location, step, unmet.expected, unmet.happened)

    def _fail(self, location: Place, step: str, expected: str, happened: str) -> None:
        self.failures.append(Failure(self._file.locate(location), step, expected, happened))
