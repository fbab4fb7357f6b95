"""Agents from Python modules. Errors name the file, line and argument, as errors of files in YAML do."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

import baton
from baton.authoring.agent import Agent
from baton.authoring.call_site import find_call_in, find_unknown_argument
from baton.authoring.errors import UnusableDefinition, WrongArgument
from baton.authoring.modules import import_agents, list_module_files, renew_package
from baton.domain.agents.agent_checks import describe_validation_problems

_BATON_FOLDER = Path(baton.__file__).parent


class AgentModuleError(Exception):
    """A module cannot be used. The message has a line for each problem: ``file:line: field: what is wrong``."""


def read_modules(folder: Path) -> list[Agent]:
    """Import the modules of a folder, and return the agents that their variables hold.

    Raises ``AgentModuleError`` with the problems of all modules.
    """
    by_id: dict[int, Agent] = {}
    problems: list[str] = []
    with renew_package(folder):
        for path in list_module_files(folder):
            try:
                agents = import_agents(path)
            except (Exception, SystemExit) as problem:  # noqa: BLE001  the code of a project may raise any error
                problems += _describe_problem(path, problem)
                continue
            if not agents:
                what = "no agent is a variable of this module; a file name that begins with _ marks one without agents"
                problems.append(f"{path}:1: {what}")
            by_id |= {id(agent): agent for agent in agents}
        if problems:
            raise AgentModuleError("\n".join(dict.fromkeys(problems)))
    return list(by_id.values())


def _describe_problem(path: Path, problem: BaseException) -> Iterator[str]:
    """Yield the problems of a module that raised ``problem``, as ``file:line: field: what is wrong``."""
    if isinstance(problem, UnusableDefinition):
        yield str(problem)
        return
    if isinstance(problem, SyntaxError) and problem.filename:
        yield f"{problem.filename}:{problem.lineno}: {type(problem).__name__}: {problem.msg}"
        return
    site = find_call_in(path.parent, problem.__traceback__)
    if isinstance(problem, ValidationError) and site is not None:
        yield from (
            site.problem(validation_problem.place, validation_problem.what)
            for validation_problem in describe_validation_problems({}, problem)
        )
        return
    misspelt = find_unknown_argument(problem)
    if misspelt is not None and site is not None:
        yield site.problem((misspelt[0],), misspelt[1])
        return
    position = _find_position(problem) or (f"{site.file}:{site.line}" if site is not None else f"{path}:1")
    if isinstance(problem, WrongArgument):
        yield f"{position}: {problem}"
        return
    if isinstance(problem, ModuleNotFoundError) and problem.name is not None:
        package = problem.name.partition(".")[0]
        if package == "agents" or (path.parent / f"{package}.py").is_file():
            neighbour = problem.name.removeprefix("agents").lstrip(".") or "module"
            advice = f"Modules in agents/ import each other with a dot: from .{neighbour} import ..."
            yield f"{position}: {problem}. {advice}"
            return
    yield f"{position}: {type(problem).__name__}: {problem}"


def _find_position(problem: BaseException) -> str | None:
    """Return the innermost line that is not a library's, as ``file:line``; None if there is none."""
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        file = Path(frame.filename)
        if (
            file.is_file()
            and not file.is_relative_to(_BATON_FOLDER)
            and not {"site-packages", "importlib"} & set(file.parts)
        ):
            return f"{file}:{frame.lineno}"
    return None


INSTALLED_PATHS = ("stdlib", "platstdlib", "purelib", "platlib")
"""Names in ``sysconfig`` of the folders with code that is not the developer's."""


def describe_code_problem(problem: BaseException, folder: Path | None = None) -> str:
    """Return a description of an error that code raised: ``file:line: type: message``.

    The line is the innermost one in ``folder`` or, without ``folder``, in code that is neither Baton's nor installed.
    Without such a line the description has no position.
    """
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{problem.filename}:{problem.lineno}: {type(problem).__name__}: {problem.msg}"
    misspelt = find_unknown_argument(problem)
    what = f"{type(problem).__name__}: {problem if misspelt is None else ': '.join(misspelt)}"
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        if _is_within(Path(frame.filename), folder):
            return f"{frame.filename}:{frame.lineno}: {what}"
    return what


def _is_within(file: Path, folder: Path | None) -> bool:
    """Return whether a file is in ``folder`` or, without ``folder``, is neither Baton's nor installed."""
    if folder is not None:
        return file.is_relative_to(folder)
    other_folders = (_BATON_FOLDER, *(Path(sysconfig.get_path(name)) for name in INSTALLED_PATHS))
    # The name of a generated file begins with "<".
    return not str(file).startswith("<") and not any(file.is_relative_to(other) for other in other_folders)
