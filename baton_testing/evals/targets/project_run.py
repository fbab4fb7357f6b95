"""Evaluate the agents of a project."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from baton.adapters.agents.agent_files import AgentFiles
from baton.domain.runs.usage import Prices
from baton_testing.conversation_ports import make_token_counter
from baton_testing.errors import CannotRun
from baton_testing.evals.checks import Judge
from baton_testing.evals.evaluation import Evaluation
from baton_testing.evals.judging import PROMPT_VERSION, JudgeModel
from baton_testing.evals.reading import ReadCase, check_names
from baton_testing.evals.results import INTERRUPTED, EvaluationRecord
from baton_testing.evals.scorers import Scorers
from baton_testing.evals.spending import PRICES, Budget, read_prices
from baton_testing.evals.targets.embedding import make_embedder
from baton_testing.evals.targets.knowledge import ProjectKnowledge, read_knowledge
from baton_testing.evals.targets.project_models import NO_JUDGE, ProjectModels, make_real_models, make_scripted_models
from baton_testing.evals.targets.project_target import SCRIPTED_DATE, ProjectTarget
from baton_testing.known_names import KnownNames
from baton_testing.models.metered import MeteredModel
from baton_testing.project_agents import AgentPlace, check_functions
from baton_testing.virtual_time import VirtualTimeLoop

SCRIPTED = "scripted"
"""The value of ``Plan.model`` for the demo model's script."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The evaluation of one version of a project. It can be sent to another process."""

    place: AgentPlace
    documents: Path
    """The folder of the agents' documents; it need not exist."""
    script: Path
    """The demo model's script, used if no model is named."""
    cases: tuple[ReadCase, ...]
    label: str
    libraries: Path | None = None
    """The folder of the project's libraries; it need not exist."""
    library_permissions: Mapping[str, str] = field(default_factory=dict)
    """The permissions that users need for the documents of libraries, by the libraries' names."""
    model: str | None = None
    """The model of agents that name none, or ``SCRIPTED``; None for the environment's model."""
    judge: str | None = None
    """The model that judges; None for the agents' model."""
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
        return any(isinstance(check, Judge) for case in self.cases for check in case.case.checks)


def evaluate_project(plan: Plan, progress: Callable[[Evaluation], None]) -> EvaluationRecord:
    """Run the cases with the project's agents. Ctrl-C ends it with the runs so far. Raises ``CannotRun``."""
    environment = dict(plan.place.environment)
    if not plan.is_scripted and plan.model is not None:
        environment["BATON_CHAT_MODEL"] = plan.model
    agent_place = replace(plan.place, environment=tuple(sorted(environment.items())))
    with agent_place.enter():
        agents = agent_place.load()
        check_names(plan.cases, KnownNames.of(agents))
        check_functions(agents)
        scorers = Scorers()
        scorers.check(plan.cases)
        prices = read_prices(os.environ.get(PRICES))
        tenants = {case.case.user.tenant for case in plan.cases}
        now = SCRIPTED_DATE if plan.is_scripted else datetime.now(UTC)
        ids = frozenset(agent.id for agent in agents.all())
        make = (lambda: None) if plan.is_scripted else make_embedder
        knowledge = asyncio.run(
            read_knowledge(
                plan.documents, ids, tenants, now, make, libraries=plan.libraries, permissions=plan.library_permissions
            )
        )
        models = make_scripted_models(plan.script, plan.judge) if plan.is_scripted else make_real_models(plan.judge)
        _check_prices(plan, models, prices)
        return _Run(plan, agents, models, prices, knowledge, scorers).hold(progress)


@dataclass(frozen=True)
class _Run:
    plan: Plan
    agents: AgentFiles
    models: ProjectModels
    prices: Prices
    knowledge: ProjectKnowledge
    scorers: Scorers

    def hold(self, progress: Callable[[Evaluation], None]) -> EvaluationRecord:
        """Run the cases, and return the record."""
        plan, models, names = self.plan, self.models, self.models.names
        target = ProjectTarget(
            agents=self.agents,
            counter=make_token_counter(),
            model=models.make,
            names=names,
            is_scripted=plan.is_scripted,
            reach=plan.reach,
            prices=self.prices,
            knowledge=self.knowledge,
        )
        evaluation = Evaluation(
            target,
            plan.cases,
            plan.repeat,
            plan.concurrency,
            Budget(plan.max_usd),
            judge=JudgeModel(MeteredModel(models.judge), models.judge_name, self.prices),
            scorers=self.scorers,
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
            judge=f"{models.judge_name}, prompt {PROMPT_VERSION}" if plan.asks_judge else None,
            embedder=self.knowledge.found_by,
            repeat=plan.repeat,
            began_at=began_at,
            seconds=time.monotonic() - began,
            cases=evaluation.make_records(),
            not_run=evaluation.total - len(evaluation.done),
            stopped=evaluation.stopped,
            notes=tuple(_list_notes(self.agents, plan, models)),
        )

    async def _run(self, evaluation: Evaluation) -> None:
        try:
            await evaluation.run()
        finally:
            await self.models.aclose()
            if self.knowledge.embedder is not None:
                await self.knowledge.embedder.aclose()


def _check_prices(plan: Plan, models: ProjectModels, prices: Prices) -> None:
    """Raise ``CannotRun`` if the money is limited, but the price of a model is unknown."""
    request = {models.names.default, *([models.judge_name] if plan.asks_judge else [])}
    missing = sorted(name for name in request if prices.of(name) is None)
    if plan.max_usd is not None and missing:
        raise CannotRun(f"--max-usd needs the prices of models, and {', '.join(missing)} has none. Set {PRICES}.")


def _list_notes(agents: AgentFiles, plan: Plan, models: ProjectModels) -> Iterator[str]:
    if plan.asks_judge and not models.can_judge:
        yield NO_JUDGE
    own = sorted(agent.id for agent in agents.all() if agent.model.name is not None)
    if plan.model not in (None, SCRIPTED) and own:
        yield f"These agents keep the models of their definitions, whatever --model says: {', '.join(own)}."
