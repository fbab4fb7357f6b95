"""The models of a project's evaluation: the agents' model and the judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from baton.ports.agents.chat_model import ChatModel
from baton_testing.conversation_ports import ModelNames, make_token_counter
from baton_testing.evals.judging import TASK
from baton_testing.models.choice import OF_THIS_MACHINE, TestModel
from baton_testing.models.own_time import OwnTime
from baton_testing.models.real import RealModel

NO_JUDGE = (
    f"The demo model judges only by rules of its script with `task: {TASK}`. Name a model that judges: --judge MODEL."
)


@dataclass(frozen=True)
class ProjectModels:
    """The models of an evaluation."""

    names: ModelNames
    make: Callable[[OwnTime], TestModel]
    """Returns the model of one conversation."""
    judge: ChatModel
    judge_name: str
    real: tuple[RealModel, ...] = ()
    """The models that are called over connections."""
    can_judge: bool = True
    """False if the demo model is the judge and its script has no rule for that."""

    async def aclose(self) -> None:
        """Close the connections."""
        for model in self.real:
            await model.aclose()


def make_scripted_models(script: Path, judge: str | None) -> ProjectModels:
    """Return the demo model with a script. ``judge`` is a model of the endpoint, or None. Raises ``CannotRun``."""
    # Imported here, since it takes a second of every start.
    from baton_testing.models.demo_script import DemoScriptModel, read_engine

    engine, counter = read_engine(script), make_token_counter()

    def make(own_time: OwnTime) -> DemoScriptModel:
        return DemoScriptModel(engine, counter, own_time)

    if judge is None:
        names = OF_THIS_MACHINE
        return ProjectModels(names, make, make(OwnTime()), names.default, can_judge=engine.has_rule_for(TASK))
    real = RealModel(judge)
    return ProjectModels(OF_THIS_MACHINE, make, real, judge, (real,))


def make_real_models(judge: str | None) -> ProjectModels:
    """Return the models that the environment names. ``judge`` replaces the judge's. Raises ``CannotRun``."""
    real = RealModel()
    return ProjectModels(real.names, lambda own_time: real, real, judge or real.names.default, (real,))
