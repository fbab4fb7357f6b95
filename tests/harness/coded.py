"""A conversation with agents that are written in Python, whose tools are their functions."""

from __future__ import annotations

from typing import Any

from baton import Agent
from baton.adapters.tools.header_values import HeaderValues
from baton.adapters.tools.python_tools import PythonTools
from baton.adapters.tools.toolbox import Toolbox
from baton.authoring.functions import Functions
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import PythonTool
from baton.domain.errors import NotFound
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.harness.harness import Harness


class NoSecrets:
    """Secrets and parameters without any."""

    def get(self, name: str) -> str:
        raise NotFound(name)

    renew = get


def make_coded_harness(
    *agents: Agent, answers: tuple[Answer | str, ...] = (), model: ScriptedChatModel | None = None, **value: Any
) -> Harness:
    """Return a conversation that begins with the first of the agents."""
    return with_functions(*(agent.definition for agent in agents), answers=answers, model=model, **value)


def with_functions(
    *agents: AgentDefinition,
    answers: tuple[Answer | str, ...] = (),
    model: ScriptedChatModel | None = None,
    **value: Any,
) -> Harness:
    """Return a conversation that begins with the first of the definitions, whose functions are called."""
    functions = Functions()
    toolbox = Toolbox(
        {PythonTool: lambda: PythonTools(functions)}, HeaderValues(NoSecrets(), NoSecrets(), "dev"), **value
    )
    first, *others = agents
    models = {"model": model} if model is not None else {}
    harness = Harness(assistant=first, others=tuple(others), tools=toolbox, functions=functions, **models)
    harness.model.script(*answers)
    return harness
