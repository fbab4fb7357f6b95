"""Evaluate the agents of a project."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from baton.adapters.agent_files import AgentFiles
from baton.domain.usage import Prices
from baton_testing.conversation_ports import ModelNames, make_token_counter
from baton_testing.errors import CannotRun
from baton_testing.evals.checks import Judge
from baton_testing.evals.embedding import make_embedder
from baton_testing.evals.evaluation import Evaluation
from baton_testing.evals.judging import PROMPT_VERSION, JudgeModel, no_files
from baton_testing.evals.knowledge import ProjectKnowledge, read_knowledge
from baton_testing.evals.project_target import SCRIPTED_DATE, ProjectTarget
from baton_testing.evals.reading import ReadCase, check_names
from baton_testing.evals.results import INTERRUPTED, EvaluationRecord
from baton_testing.evals.spending import PRICES, Budget, MeteredModel, read_prices
from baton_testing.known_names import KnownNames
from baton_testing.models.choice import OF_THIS_MACHINE, AnswersTests
from baton_testing.models.own_time import OwnTime
from baton_testing.project_agents import AgentPlace, check_functions
from baton_testing.virtual_time import VirtualTimeLoop

SCRIPTED = "scripted"
"""In place of a model's name: the script of the demo model."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The evaluation of one version of a project. It can be sent to another process."""

    place: AgentPlace
    documents: Path
    """The folder of the agents' documents; it need not exist."""
    script: Path
    """The demo model's script, for answers without a model."""
    cases: tuple[ReadCase, ...]
    label: str
    model: str | None = None
    """The model of agents that name none, or ``SCRIPTED``; None: as the environment says."""
    judge: str | None = None
    """The model that judges; None: the model of the agents."""
    repeat: int = 1
    concurrency: int = 4
    max_usd: float | None = None
    reach: tuple[str, ...] = ()

    @property
    def is_scripted(self) -> bool:
        """Whether the demo model's script answers."""
        named = os.environ.get("BATON_CHAT_MODEL") or dict(self.place.environment).get("BATON_CHAT_MODEL")
        return self.model == SCRIPTED or (self.model is None and not named)

    @property
    def asks_judge(self) -> bool:
        """Whether a case has a check by a judge."""
        return any(isinstance(check, Judge) for each in self.cases for check in each.case.checks)

    def of_model(self, model: str | None) -> Plan:
        """Return the plan for agents with another model."""
        return replace(self, model=model)


def evaluate_project(plan: Plan, progress: Callable[[Evaluation], None]) -> EvaluationRecord:
    """Hold the cases with the project's agents. Raises ``CannotRun``; Ctrl-C ends it with the runs so far."""
    environment = dict(plan.place.environment)
    if not plan.is_scripted and plan.model is not None:
        environment["BATON_CHAT_MODEL"] = plan.model
    place = replace(plan.place, environment=tuple(sorted(environment.items())))
    with place.enter():
        agents = place.load()
        check_names(plan.cases, KnownNames.of(agents))
        check_functions(agents)
        prices = read_prices(os.environ.get(PRICES))
        tenants = {each.case.user.tenant for each in plan.cases}
        now = SCRIPTED_DATE if plan.is_scripted else datetime.now(UTC)
        ids = frozenset(agent.id for agent in agents.all())
        make = (lambda: None) if plan.is_scripted else make_embedder
        knowledge = asyncio.run(read_knowledge(plan.documents, ids, tenants, now, make))
        with _models(plan) as models:
            _check_prices(plan, models.names, prices)
            return _Run(plan, agents, models, prices, knowledge).hold(progress)


@dataclass(frozen=True)
class _Models:
    """The models of an evaluation."""

    names: ModelNames
    make: Callable[[OwnTime], AnswersTests]
    close: Callable[[], Awaitable[None]] | None = None


@contextmanager
def _models(plan: Plan) -> Iterator[_Models]:
    if plan.is_scripted:
        # Imported here, since it takes a second of every start.
        from baton_testing.models.demo_script import DemoScriptModel, read_engine

        engine, counter = read_engine(plan.script), make_token_counter()
        yield _Models(OF_THIS_MACHINE, lambda own_time: DemoScriptModel(engine, counter, own_time))
    else:
        from baton_testing.models.real import RealModel

        real = RealModel()
        yield _Models(real.names, lambda own_time: real, real.aclose)


@dataclass(frozen=True)
class _Run:
    plan: Plan
    agents: AgentFiles
    models: _Models
    prices: Prices
    knowledge: ProjectKnowledge

    def hold(self, progress: Callable[[Evaluation], None]) -> EvaluationRecord:
        """Hold the cases, and return the record."""
        plan, names = self.plan, self.models.names
        target = ProjectTarget(
            agents=self.agents,
            counter=make_token_counter(),
            model=self.models.make,
            names=names,
            is_scripted=plan.is_scripted,
            reach=plan.reach,
            prices=self.prices,
            knowledge=self.knowledge,
        )
        judging = MeteredModel(self.models.make(OwnTime()), self.prices)
        evaluation = Evaluation(
            target,
            plan.cases,
            plan.repeat,
            plan.concurrency,
            Budget(plan.max_usd),
            judge=JudgeModel(judging, plan.judge or names.default, no_files()),
            spent_by_judge=lambda: judging.usd,
            progress=progress,
        )
        began_at, began = datetime.now(UTC), time.monotonic()
        try:
            with asyncio.Runner(loop_factory=VirtualTimeLoop) as loop:
                loop.run(self._run(evaluation))
        except KeyboardInterrupt:
            evaluation.stopped = INTERRUPTED
        return EvaluationRecord(
            label=plan.label,
            model=names.default,
            judge=f"{plan.judge or names.default}, prompt {PROMPT_VERSION}" if plan.asks_judge else None,
            embedder=self.knowledge.found_by,
            repeat=plan.repeat,
            began_at=began_at,
            seconds=time.monotonic() - began,
            cases=evaluation.records(),
            not_run=evaluation.total - len(evaluation.done),
            stopped=evaluation.stopped,
            notes=tuple(_own_models(self.agents, plan)),
        )

    async def _run(self, evaluation: Evaluation) -> None:
        try:
            await evaluation.run()
        finally:
            if self.models.close is not None:
                await self.models.close()
            if self.knowledge.embedder is not None:
                await self.knowledge.embedder.aclose()


def _check_prices(plan: Plan, names: ModelNames, prices: Prices) -> None:
    """Raise ``CannotRun`` if money is limited, and the price of a model is not known."""
    asked = {names.default, *([plan.judge or names.default] if plan.asks_judge else [])}
    missing = sorted(name for name in asked if prices.of(name) is None)
    if plan.max_usd is not None and missing:
        raise CannotRun(f"--max-usd needs the prices of models, and {', '.join(missing)} has none. Set {PRICES}.")


def _own_models(agents: AgentFiles, plan: Plan) -> Iterator[str]:
    own = sorted(agent.id for agent in agents.all() if getattr(agent, "model", None))
    if plan.model not in (None, SCRIPTED) and own:
        yield f"These agents keep the models of their definitions, whatever --model says: {', '.join(own)}."
