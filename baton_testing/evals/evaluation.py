"""Hold the cases of data sets, several at once, and score them."""

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
from baton_testing.evals.results import MAX_ANSWER, CaseRecord, RunRecord, Score, cut, passed_as_a_whole
from baton_testing.evals.scorers import Scorers
from baton_testing.evals.scoring import score
from baton_testing.evals.spending import Budget

MAX_RUNS = 20_000
"""Runs of all cases together."""
MAX_LINES = 200
"""Lines of a transcript that are kept, the last ones."""
MAX_LINE = 1_000
"""Characters of a line."""
MAX_KEPT = 64 * 1024 * 1024
"""Characters of answers and transcripts of all runs that are kept. Further runs have only scores and reasons."""


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
    """Runs by the number of their case and of their repetition."""
    stopped: str | None = None
    _judged: float = 0.0
    _kept: int = 0

    def __post_init__(self) -> None:
        if self.total > MAX_RUNS:
            raise CannotRun(f"{self.total} runs are too many; at most {MAX_RUNS}. Choose fewer cases or repetitions.")

    @property
    def total(self) -> int:
        """The number of runs that are to take place."""
        return len(self.cases) * self.repeat

    async def run(self) -> None:
        """Hold all cases. Runs that were done before a cancellation or an error are in ``done``."""
        # All cases once, then all of them again: an end before time leaves something of every case.
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

    def records(self) -> tuple[CaseRecord, ...]:
        """Return the cases with the runs that were done."""
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
            self.stopped = self.stopped or self.budget.ended
            if self.stopped is not None:
                return
            self.done[number, attempt] = await self._hold(self.cases[number], attempt)
            self.progress(self)

    async def _hold(self, case: ReadCase, attempt: int) -> RunRecord:
        try:
            answer = await self.target.hold(case, attempt)
        except CannotRun:
            raise
        except Exception as problem:  # noqa: BLE001 - what no case expects must not hide what came of other cases
            answer = Answer(error=f"the conversation could not be held: {problem!r}")
        self.budget.add(answer.usd)
        scores: list[Score] = []
        for check in case.case.checks if answer.error is None else ():
            scores += await self._score(check, case, answer)
        passed = passed_as_a_whole(answer.error, tuple(scores))
        # Of a case that passes again and again, one transcript is enough.
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
        """Return an answer and its transcript as far as there is room for them."""
        size = len(text) + sum(map(len, transcript))
        if self._kept + size > MAX_KEPT:
            return "", ()
        self._kept += size
        return text, transcript

    async def _score(self, check: AnyCheck, case: ReadCase, answer: Answer) -> list[Score]:
        if isinstance(check, PythonScorer):
            return [await self.scorers.score(check, case, answer)]
        if not isinstance(check, Judge):
            try:
                return score(check, case.case, answer)
            except Exception as problem:  # noqa: BLE001 - an odd answer must not hide what came of other cases
                return [Score.not_judged(check.name or check.type, f"it cannot be carried out: {problem!r}")]
        if self.judge is None:
            raise CannotRun(f"{case.place}: a judge is asked, and there is no model to ask. Name one: --judge MODEL")
        found = await self.judge.score(check, case.case, answer)
        cost = self.judge.usd
        self.budget.add(None if cost is None else cost - self._judged)
        self._judged = cost if cost is not None else self._judged
        return [found]
