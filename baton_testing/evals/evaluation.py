"""Run the cases of data sets, several at the same time, and score them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from baton.domain.text import replace_surrogates
from baton_testing.errors import CannotRun
from baton_testing.evals.answer import Answer
from baton_testing.evals.checks import AnyCheck, Judge, PythonScorer
from baton_testing.evals.judging import JudgeModel
from baton_testing.evals.reading import ReadCase
from baton_testing.evals.results import MAX_ANSWER, CaseRecord, RunRecord, Score, cut, has_passed
from baton_testing.evals.scorers import Scorers
from baton_testing.evals.scoring import score
from baton_testing.evals.spending import Budget

MAX_RUNS = 20_000
"""The most runs of all cases together."""
MAX_LINES = 200
"""The number of last lines of a transcript that are kept."""
MAX_LINE = 1_000
"""The most characters of a line that are kept."""
MAX_KEPT = 64 * 1024 * 1024
"""The most characters of all answers and transcripts that are kept. Further runs have scores and reasons only."""


class Target(Protocol):
    """Agents that are evaluated: those of a project, or of a server."""

    async def hold(self, case: ReadCase, attempt: int) -> Answer:
        """Hold the conversation of a case in a new thread. Raises ``CannotRun`` if no case can be held."""


@dataclass
class Evaluation:
    """One evaluation in progress."""

    target: Target
    cases: Sequence[ReadCase]
    repeat: int
    concurrency: int
    budget: Budget
    judge: JudgeModel | None = None
    scorers: Scorers = field(default_factory=Scorers)
    progress: Callable[[Evaluation], None] = lambda evaluation: None
    """Called after each run."""
    done: dict[tuple[int, int], RunRecord] = field(default_factory=dict)
    """The completed runs, by the numbers of their case and repetition, from 0."""
    stopped: str | None = None
    """The reason why no further run begins; None if runs may begin."""
    _judged: float = 0.0
    """The part of the judge's cost that the budget has counted, in USD."""
    _char_count: int = 0
    """The characters of answers and transcripts that are kept so far."""

    def __post_init__(self) -> None:
        if self.total > MAX_RUNS:
            raise CannotRun(f"{self.total} runs are too many; at most {MAX_RUNS}. Choose fewer cases or repetitions.")

    @property
    def total(self) -> int:
        """The number of runs of all cases."""
        return len(self.cases) * self.repeat

    async def run(self) -> None:
        """Run all cases. After a cancellation or an error, ``done`` has the completed runs. Raises ``CannotRun``."""
        # Each repetition runs all cases, so that an early end leaves runs of every case.
        waiting = iter([(number, attempt) for attempt in range(self.repeat) for number in range(len(self.cases))])
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(min(self.concurrency, self.total)):
                    workers.create_task(self._work(waiting))
        except BaseExceptionGroup as problems:
            exception = next((error for error in problems.exceptions if isinstance(error, CannotRun)), None)
            if exception is None:
                raise
            raise exception from None

    def make_records(self) -> tuple[CaseRecord, ...]:
        """Return the cases with their completed runs."""
        return tuple(
            CaseRecord(
                name=case.case.name,
                place=case.place,
                tags=case.case.tags,
                input=tuple(turn.say or turn.title for turn in case.case.input),
                reference=case.case.reference,
                metadata=case.case.metadata,
                runs=tuple(
                    self.done[number, attempt] for attempt in range(self.repeat) if (number, attempt) in self.done
                ),
            )
            for number, case in enumerate(self.cases)
        )

    async def _work(self, waiting: Iterator[tuple[int, int]]) -> None:
        for number, attempt in waiting:
            self.stopped = self.stopped or self.budget.end_reason
            if self.stopped is not None:
                return
            self.done[number, attempt] = await self._hold(self.cases[number], attempt)
            self.progress(self)

    async def _hold(self, case: ReadCase, attempt: int) -> RunRecord:
        try:
            answer = await self.target.hold(case, attempt)
        except CannotRun:
            raise
        except Exception as problem:  # noqa: BLE001 - an unexpected error must not lose the results of other cases
            answer = Answer(error=f"the conversation could not be held: {problem!r}")
        self.budget.add(answer.usd)
        scores: list[Score] = []
        for check in case.case.checks if answer.error is None else ():
            scores += await self._score(check, case, answer)
        passed = has_passed(answer.error, tuple(scores))
        # One transcript is enough for a case that passes repeatedly.
        transcript = answer.transcript[-MAX_LINES:] if attempt == 0 or not passed else ()
        answer_text = replace_surrogates(answer.text[:MAX_ANSWER])
        text, lines = self._keep(answer_text, tuple(replace_surrogates(line[:MAX_LINE]) for line in transcript))
        return RunRecord(
            passed=passed,
            scores=tuple(scores),
            error=cut(answer.error) if answer.error is not None else None,
            answer=text,
            tokens=answer.tokens,
            usd=answer.usd,
            seconds=answer.seconds,
            transcript=lines,
            notes=tuple(map(replace_surrogates, answer.notes)),
            thread_id=answer.thread_id,
        )

    def _keep(self, text: str, transcript: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """Return an answer and its transcript; empty ones if they would exceed ``MAX_KEPT``."""
        size = len(text) + sum(map(len, transcript))
        if self._char_count + size > MAX_KEPT:
            return "", ()
        self._char_count += size
        return text, transcript

    async def _score(self, check: AnyCheck, case: ReadCase, answer: Answer) -> list[Score]:
        if isinstance(check, PythonScorer):
            return [await self.scorers.score(check, case, answer)]
        if not isinstance(check, Judge):
            try:
                return score(check, case.case, answer)
            except Exception as problem:  # noqa: BLE001 - an unusual answer must not lose the results of other cases
                return [Score.not_judged(check.name or check.type, f"it cannot be carried out: {problem!r}")]
        if self.judge is None:
            raise CannotRun(f"{case.place}: a judge is asked, and there is no model to ask. Name one: --judge MODEL")
        result = await self.judge.score(check, case.case, answer)
        cost = self.judge.usd
        self.budget.add(None if cost is None else cost - self._judged)
        self._judged = cost if cost is not None else self._judged
        return [result]
