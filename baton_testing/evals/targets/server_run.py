"""Evaluate the agents of a running server."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from baton_client import AsyncBaton, BatonError
from baton_client.command.exits import CommandError, describe_problem
from baton_client.command.session import Environment, SignIn
from baton_testing.errors import CannotRun
from baton_testing.evals.checks import Judge
from baton_testing.evals.evaluation import Evaluation, Target
from baton_testing.evals.judging import PROMPT_VERSION, JudgeModel
from baton_testing.evals.reading import Check, ReadCase
from baton_testing.evals.results import INTERRUPTED, EvaluationRecord
from baton_testing.evals.scorers import Scorers
from baton_testing.evals.spending import PRICES, Budget, read_prices
from baton_testing.evals.targets.replay_target import ReplayTarget, find_replay_problems
from baton_testing.evals.targets.server_target import ServerTarget, check_for_server, find_server_problems
from baton_testing.models.metered import MeteredModel


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """The evaluation of a server."""

    url: str | None
    cases: tuple[ReadCase, ...]
    judge: str | None = None
    repeat: int = 1
    concurrency: int = 4
    max_usd: float | None = None
    agent: str | None = None
    """The agent whose ``version`` answers turns of stored conversations again; None for new conversations."""
    version: int | None = None

    def make_target(self, client: AsyncBaton) -> Target:
        """Return the evaluated agents as a target."""
        if self.agent is None or self.version is None:
            return ServerTarget(client)
        return ReplayTarget(client, self.agent, self.version)

    @property
    def find_problems(self) -> Check:
        """The function that yields the problems of cases that the target cannot answer."""
        return find_replay_problems if self.version is not None else find_server_problems

    @property
    def suffix(self) -> str:
        """The version, for the label of the results."""
        return f", {self.agent} version {self.version}" if self.version is not None else ""


@asynccontextmanager
async def open_client(url: str | None) -> AsyncIterator[AsyncBaton]:
    """Yield a client of a server with the token of ``baton login``. Raises ``CannotRun`` without a token."""
    environment = Environment.of_process(url=url)
    try:
        profile = environment.read_profile()
        async with environment.make_http_client() as http:
            sign_in = SignIn(environment, profile, http)
            await sign_in.get_token()
            async with AsyncBaton(profile.url, token=sign_in.get_token, time_zone="") as client:
                yield client
    except CommandError as problem:
        raise CannotRun(str(problem)) from None


def evaluate_server(plan: ServerPlan, progress: Callable[[Evaluation], None]) -> EvaluationRecord:
    """Run the cases with a server's agents. Ctrl-C ends it with the runs so far. Raises ``CannotRun``."""
    check_for_server(plan.cases, plan.find_problems)
    scorers = Scorers()
    scorers.check(plan.cases)
    run = _Run(plan, progress, scorers)
    began_at, began = datetime.now(UTC), time.monotonic()
    try:
        asyncio.run(run.hold())
    except KeyboardInterrupt:
        if run.evaluation is None:
            raise
        run.evaluation.stopped = INTERRUPTED
    evaluation = run.evaluation
    assert evaluation is not None  # noqa: S101 - it began, or an error was raised
    return EvaluationRecord(
        label=f"{run.address}{plan.suffix}",
        model="the server's models",
        judge=f"{run.judge_name}, prompt {PROMPT_VERSION}" if run.judge_name is not None else None,
        repeat=plan.repeat,
        began_at=began_at,
        seconds=time.monotonic() - began,
        cases=evaluation.make_records(),
        not_run=evaluation.total - len(evaluation.done),
        stopped=evaluation.stopped,
        agent_id=plan.agent if plan.version is not None else None,
        agent_version=plan.version,
    )


class _Run:
    def __init__(self, plan: ServerPlan, progress: Callable[[Evaluation], None], scorers: Scorers) -> None:
        self.plan = plan
        self.scorers = scorers
        self.progress = progress
        self.evaluation: Evaluation | None = None
        self.address = ""
        self.judge_name: str | None = None

    async def hold(self) -> None:
        """Run the cases and fill ``evaluation``. Raises ``CannotRun``."""
        plan = self.plan
        asks_judge = any(isinstance(check, Judge) for case in plan.cases for check in case.case.checks)
        async with AsyncExitStack() as stack:
            judging = await stack.enter_async_context(_open_judge(plan.judge)) if asks_judge else None
            if judging is not None:
                self.judge_name = judging.name
            client = await stack.enter_async_context(open_client(plan.url))
            self.address = client.base_url
            try:
                await client.users.me()
            except BatonError as problem:
                raise CannotRun(describe_problem(problem)) from None
            self.evaluation = Evaluation(
                plan.make_target(client),
                plan.cases,
                plan.repeat,
                plan.concurrency,
                Budget(plan.max_usd),
                judge=judging,
                scorers=self.scorers,
                progress=self.progress,
            )
            await self.evaluation.run()


@asynccontextmanager
async def _open_judge(name: str | None) -> AsyncIterator[JudgeModel]:
    """Yield the judge at the endpoint that the environment names. Raises ``CannotRun``."""
    from baton_testing.models.real import RealModel

    if name is None and not os.environ.get("BATON_CHAT_MODEL"):
        raise CannotRun(
            "No model is named that could judge, as checks of the type judge ask for. Give --judge or set "
            "BATON_CHAT_MODEL, and OPENAI_BASE_URL and OPENAI_API_KEY if the endpoint needs them."
        )
    prices = read_prices(os.environ.get(PRICES))
    real = RealModel(name)
    try:
        yield JudgeModel(MeteredModel(real), name or real.names.default, prices)
    finally:
        await real.aclose()
