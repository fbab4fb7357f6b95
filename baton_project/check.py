"""Checks of a project, which need no local cloud and no deployment."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from baton_client.agent_folders import describe_unknown_agent, list_owned_files
from baton_deployment.checks import Check, Outcome
from baton_deployment.contents import Contents
from baton_local.environment import applied
from baton_local.project.library_documents import describe_wrong_library_name, find_libraries, is_library_name
from baton_local.project.project_tools import importable
from baton_local.root import ROOT
from baton_project.errors import CheckFailed
from baton_project.project import FILE, Project

PLACED = re.compile(r"(?P<file>[^\n:`]+):(?:(?P<line>\d+):)? (?:(?P<field>[\w.-]+): )?(?P<message>.+)", re.DOTALL)
NOWHERE = "http://127.0.0.1:9"
"""An address at which no program listens, so that a check reads no secrets of a deployment."""


@dataclass(frozen=True)
class Problem:
    """A part of a project that cannot be used."""

    message: str
    file: str | None = None
    line: int | None = None
    field: str | None = None

    @classmethod
    def of(cls, text: str) -> Problem:
        """Return the problem in a text ``file:line: field: message``, in which only the message is required."""
        match = PLACED.fullmatch(text)
        if match is None:
            return cls(text)
        line = match["line"]
        return cls(match["message"], match["file"], int(line) if line else None, match["field"])

    def is_about(self, other: Problem) -> bool:
        """Return whether another check has found the same problem."""
        return self.file == other.file and other.message in self.message

    def __str__(self) -> str:
        location = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return ": ".join(part for part in (location, self.field, self.message) if part)


def report(folder: Path, write: Callable[[str], None], *, as_json: bool) -> None:
    """Print the problems. Raises ``CheckFailed`` if there are any, and ``ProjectProblem`` if there is no project."""
    project = Project.find(folder)
    agents, problems = check_agents(project)
    notes = [
        obstacle
        for obstacle in (find_obstacles(project) if agents else ())
        if not any(problem.is_about(obstacle[0]) for problem in problems)
    ]
    if as_json:
        deployment = [{**asdict(problem), "remedy": remedy} for problem, remedy in notes]
        lists = {"agents": agents, "problems": [asdict(problem) for problem in problems], "deployment": deployment}
        write(json.dumps({"ok": not problems, **lists}))
    else:
        for problem in problems:
            write(str(problem))
        count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}" if problems else "no problems"
        files = sorted({problem.file for problem in problems if problem.file is not None})
        rest = f"{', '.join(files) or 'They'} must be mended before the agents are checked further."
        number = f"{len(agents)} agent{'s' if len(agents) != 1 else ''}"
        write(f"{number}, {count}." if agents else f"{count}. {rest}")
        if notes:
            write("\nDeployed, this would not work, as `baton deploy STAGE --check` reports too:\n")
        for problem, remedy in notes:
            write(f"{problem}\n  {remedy}")
    if problems:
        raise CheckFailed


def check_agents(project: Project) -> tuple[list[str], list[Problem]]:
    """Return the ids of the project's agents, and the problems with them. Every server is called once.

    If the agents' files cannot be read, there are no ids, and nothing else is checked.
    """
    from baton.composition.startup import event_loop
    from baton_local.project import checks
    from baton_local.project.shared_agents import read_agents

    if problems := find_unreadable(project):
        return [], problems
    with _use_settings(project):
        agents = [agent.id for agent in read_agents().all()]
        own_problems = _make_problems(project, [*event_loop.run(checks.find_problems()), *_check_script(project)])
        return agents, sorted(
            [*own_problems, *_find_unowned(project, agents), *_find_library_problems(project)], key=_by_place
        )


def find_obstacles(project: Project) -> list[tuple[Problem, str]]:
    """Return the parts that work on this machine but not in a deployment, with remedies.

    Secrets and search are not checked, because they depend on a stage. Raises ``AgentFileError``.
    """
    from baton.domain.tenants.egress_policy import EgressPolicy
    from baton_deployment.preflight import project as rules
    from baton_deployment.template import DeployedTemplate

    template = DeployedTemplate.read(ROOT / "template.yaml", {}, project.name, "eu-central-1")
    contents = read_contents(project, template.values["Stage"])
    checks: Iterable[Check] = (
        *rules.check_addresses(contents, EgressPolicy.of(project.settings.allowed_hosts)),
        *rules.check_secret_names(contents, template),
        *rules.check_variables_read(contents, template),
        *rules.check_documents(contents),
    )
    refused = [(Problem.of(check.detail), check.advice) for check in checks if check.outcome is not Outcome.FINE]
    return sorted(refused, key=lambda obstacle: _by_place(obstacle[0]))


def read_contents(project: Project, stage: str) -> Contents:
    """Return the project's contents for a deployment to ``stage``. Raises ``AgentFileError``."""
    from baton_local.project.shared_agents import read_agents

    with _use_settings(project, stage):
        return Contents(project.folder, read_agents(), project.requirements)


def _check_script(project: Project) -> Iterator[str]:
    """Yield the problems of the project's script for the demo model; none if there is no script."""
    from baton.domain.definition import find_similar_name
    from baton_local.project.shared_agents import read_agents

    path = project.make_environment().get("BATON_DEMO_SCRIPT")
    if path is None:
        return
    try:
        from baton_local.demo_model.script import Script, ScriptError
        from baton_testing.known_names import KnownNames
    except ModuleNotFoundError:  # of the extra ``test``, without which no demo model reads the script
        return
    try:
        script = Script.read(Path(path))
    except ScriptError as problem:
        yield from str(problem).splitlines()
        return
    rules = [rule for rules in script.scenes.values() for rule in rules]
    names = KnownNames.of(read_agents())
    # The script may use tools of applications, which agents do not declare.
    called = {name for rule in rules for name in rule.rule.call}
    awaited = {name for rule in rules for name in rule.rule.after}
    is_computed = any("{{" in name for name in called)
    for compiled in rules:
        rule = compiled.rule
        problems = [names.find_agent_problem(name) for name in rule.agent]
        problems += [names.find_state_problem(name) for name in rule.state]
        for name in rule.after:
            if not is_computed and not any(fnmatchcase(tool, name) for tool in names.tools | called):
                problems.append(names.find_tool_problem(name))
        for name in rule.call.keys() - awaited:
            if find_similar_name(name, names.tools) is not None:
                problems.append(names.find_tool_problem(name))
        yield from (f"{compiled.location}: {problem}" for problem in problems if problem is not None)


def _find_unowned(project: Project, agents: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each folder and file of documents and procedures that belongs to no agent."""
    for folder in (project.documents, project.folder / "procedures"):
        for owner in sorted({owned_file.agent_id for owned_file in list_owned_files(folder)} - set(agents)):
            yield Problem(describe_unknown_agent(owner, agents), f"{folder.name}/{owner}")
        for file in sorted(folder.glob("[!.]*[!~]")):
            if file.is_file():
                what = "it belongs to no agent; move it into a folder with the id of one"
                yield Problem(what, f"{folder.name}/{file.name}")


def _find_library_problems(project: Project) -> Iterator[Problem]:
    """Yield the problems of the folder of libraries, and of the libraries' permissions."""
    folder = project.libraries
    for name in find_libraries(folder):
        if not is_library_name(name):
            yield Problem(describe_wrong_library_name(name), f"{folder.name}/{name}")
    for file in sorted(folder.glob("[!.]*[!~]")):
        if file.is_file():
            what = "it belongs to no library; move it into a folder with the name of one"
            yield Problem(what, f"{folder.name}/{file.name}")
    for name in sorted(set(project.settings.library_permissions) - set(find_libraries(folder))):
        yield Problem(f"there is no library {name!r}", FILE, field=f"tool.baton.library_permissions.{name}")


def _by_place(problem: Problem) -> tuple[str, int, str, str]:
    """Return the key that sorts problems by file and line."""
    return problem.file or "", problem.line or 0, problem.field or "", problem.message


def find_unreadable(project: Project) -> list[Problem]:
    """Return the problems because of which the agents' files cannot be read; none if they can."""
    from baton.adapters.agents.agent_files import AgentFileError
    from baton_local.project.shared_agents import read_agents

    with _use_settings(project):
        try:
            read_agents()
        except AgentFileError as problem:
            return sorted(_make_problems(project, str(problem).splitlines()), key=_by_place)
    return []


@contextmanager
def _use_settings(project: Project, stage: str = "local") -> Iterator[None]:
    """Set the project's variables and make its tools importable during the block. AWS cannot be reached there."""
    nowhere = {
        "AWS_ACCESS_KEY_ID": "check",
        "AWS_SECRET_ACCESS_KEY": "check",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": NOWHERE,
        "AWS_MAX_ATTEMPTS": "1",
        "BATON_STAGE": stage,
    }
    with applied({**project.make_environment(), **nowhere}), importable(project.tools):
        yield


def _make_problems(project: Project, lines: Iterable[str]) -> list[Problem]:
    """Return the problems in lines of text, with paths relative to the project's folder."""
    return [Problem.of(line.replace(f"{project.folder}{os.sep}", "")) for line in lines]
