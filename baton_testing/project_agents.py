"""The agents and tools of a project, as tests use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baton.adapters.agents.agent_files import AgentFileError, AgentFiles
from baton.adapters.agents.agent_modules import describe_code_problem
from baton.authoring.containment import Blocked
from baton.authoring.errors import CannotLoad
from baton.authoring.functions import Filled, Functions
from baton.domain.errors import NotFound
from baton.ports.agents.tools import ToolFailed, Tools, TurnContext
from baton_local.environment import applied
from baton_local.log_lines import warnings_for_people
from baton_local.project.project_tools import importable
from baton_testing.errors import CannotRun
from baton_testing.virtual_time import real_time

NOWHERE = "http://127.0.0.1:9"
"""An address at which no program listens, so that tests read nothing of a deployment."""
_NEEDED = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ENDPOINT_URL": NOWHERE,
    "AWS_MAX_ATTEMPTS": "1",
    "BATON_STAGE": "local",
    "POWERTOOLS_LOG_LEVEL": "CRITICAL",
    "POWERTOOLS_METRICS_DISABLED": "true",
}


@dataclass(frozen=True)
class AgentPlace:
    """The place of a project's agents and tools. It can be sent to other processes."""

    folder: Path
    """The project's folder, to which paths of files are relative."""
    agents: Path
    tools: Path
    environment: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, folder: Path, agents: Path, tools: Path, environment: Mapping[str, str]) -> AgentPlace:
        """Return a place. ``environment`` has the settings for its agents."""
        return cls(folder, agents, tools, tuple(sorted(environment.items())))

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Apply the settings, and make the tools importable, during the block."""
        with warnings_for_people(), applied({**dict(self.environment), **_NEEDED}), importable(self.tools):
            yield

    def load(self) -> AgentFiles:
        """Read the agents. Raises ``CannotRun`` with all problems of all files."""
        try:
            return AgentFiles.load(self.agents, dict(self.environment).get("BATON_DEFAULT_AGENT") or None)
        except AgentFileError as problem:
            raise CannotRun(str(problem)) from None


def check_functions(files: AgentFiles) -> None:
    """Import the agents' functions. Raises ``CannotRun`` with those that cannot be used."""
    from baton_local.project.shared_agents import find_unusable_functions

    problems = [
        unusable_function.describe(_describe_problem(unusable_function.problem))
        for unusable_function in find_unusable_functions(files)
    ]
    if problems:
        raise CannotRun("\n".join(dict.fromkeys(problems)))


def make_real_tools(files: AgentFiles, functions: Functions) -> Tools:
    """Return the agents' tools, called as in a deployment but without its secrets."""
    from baton.composition.current_settings import make_environment_settings
    from baton.composition.outside_clients import Outside

    current = make_environment_settings()
    return Outside(files, _NoSecrets(), lambda: current.egress, functions=lambda: functions).toolbox


class _NoSecrets:
    """``ports.tenants.identity.Secrets`` that has none."""

    def get(self, name: str) -> str:
        raise NotFound(f"Tests read no secrets of a deployment, such as {name}: stub the tool.")

    def renew(self, name: str) -> str:
        return self.get(name)


def _describe_problem(problem: Exception) -> str:
    return str(problem) if isinstance(problem, CannotLoad) else describe_code_problem(problem)


MAX_NOTES = 10
"""The most different faults of one conversation that are noted."""


class RealTimeFunctions(Functions):
    """``Functions`` whose time limits are in real time, so that network calls have as much time as outside of tests."""

    def __init__(
        self, packages: Callable[[], Sequence[str]] = tuple, *, logs_messages: Callable[[], bool] = bool
    ) -> None:
        super().__init__(packages, logs_messages=logs_messages)
        self.notes: list[str] = []
        """The faults of functions and of agents' ``run``, with their file and line."""

    async def call(
        self,
        function: Callable[..., Any],
        context: TurnContext,
        arguments: Mapping[str, Any],
        filled: Filled | None = None,
    ) -> Any:
        """See ``Functions``."""
        async with real_time():
            try:
                return await super().call(function, context, arguments, filled)
            except ToolFailed:
                raise
            except Exception as failure:
                self.note_failure(failure)
                raise

    def note_blocked(self, function: Callable[..., Any], context: TurnContext, blocked: Blocked) -> None:
        """Note that a function has blocked the event loop, with its position in the project."""
        what = f"{function.__qualname__} has blocked the event loop for {blocked.seconds:.1f} s"
        self._add(f"{blocked.after}: {what}, up to {blocked.until or 'its end'}")

    def note_failure(self, failure: Exception) -> None:
        """Note a fault with its position in the project."""
        self._add(describe_code_problem(failure))

    def _add(self, text: str) -> None:
        if len(self.notes) < MAX_NOTES and text not in self.notes:
            self.notes.append(text)
