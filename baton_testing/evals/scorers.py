"""Scorers: functions in Python, in the folder of a data set, that score a run.

``{"type": "python", "function": "polite"}`` is the function ``polite`` of the module ``scorers.py`` beside the data
set.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

from baton.adapters.agents.agent_modules import describe_code_problem
from baton.domain.definition import find_similar_name, suggest_name
from baton_testing.errors import CannotRun
from baton_testing.evals.answer import Answer
from baton_testing.evals.checks import PythonScorer
from baton_testing.evals.reading import MAX_PROBLEMS, Problem, ReadCase
from baton_testing.evals.results import Score, cut
from baton_testing.virtual_time import real_time

MODULE = "scorers"
"""The module of functions that are named without a module."""
SECONDS = 60.0
"""The time limit of one call."""
GIVEN = ("answer", "case")
"""Parameters that are not arguments of the check: the ``Answer``, and the ``EvalCase``."""
RESULTS = "True or False, a number from 0 to 1, a pair of one of them and a reason, or None for not judged"


@dataclass
class Scorers:
    """The functions that cases name. Each module is imported once."""

    _modules: dict[Path, ModuleType | str] = field(default_factory=dict)
    """Modules, or the reasons why they cannot be imported, by their files."""

    def find_problems(self, cases: Sequence[ReadCase]) -> Iterator[Problem]:
        """Yield the problems of the functions that cases name."""
        for case in cases:
            for number, check in enumerate(case.case.checks):
                if isinstance(check, PythonScorer):
                    result = self._find(case.path.parent, check)
                    problem = result if isinstance(result, str) else _find_argument_problem(result, check)
                    if problem is not None:
                        yield Problem(case.path, case.line, f"checks.{number}.{problem}")

    def check(self, cases: Sequence[ReadCase]) -> None:
        """Raise ``CannotRun`` if functions that cases name cannot be called."""
        problems = [str(problem) for problem in self.find_problems(cases)]
        if problems:
            raise CannotRun("\n".join(problems[:MAX_PROBLEMS]))

    async def score(self, check: PythonScorer, case: ReadCase, answer: Answer) -> Score:
        """Return the function's score; a score without a value if it fails or returns an invalid value."""
        metric = check.name or check.function.rpartition(":")[2]
        folder = case.path.parent
        function = self._find(folder, check)
        if isinstance(function, str):
            return Score.not_judged(metric, function)
        options = {"answer": answer, "case": case.case}
        requested = {name: value for name, value in options.items() if name in inspect.signature(function).parameters}
        try:
            async with real_time(), asyncio.timeout(SECONDS) as limit:
                returned = await _call(function, {**check.arguments, **requested})
        except (Exception, SystemExit) as problem:  # noqa: BLE001 - a scorer's fault must not hide other scores
            if isinstance(problem, TimeoutError) and limit.expired():
                return Score.not_judged(metric, f"{check.function} has taken more than {SECONDS:g} seconds")
            return Score.not_judged(metric, describe_code_problem(problem, folder.absolute()))
        return _as_score(check, metric, returned)

    def _find(self, folder: Path, check: PythonScorer) -> Callable[..., Any] | str:
        """Return the function of a check, or the problem, which begins with its field."""
        module_name, _, name = check.function.rpartition(":")
        file = (folder / f"{module_name or MODULE}.py").absolute()
        if file not in self._modules:
            self._modules[file] = _import(file)
        module = self._modules[file]
        if isinstance(module, str):
            return f"function: {module}"
        function = getattr(module, name, None)
        if callable(function):
            return function  # type: ignore[no-any-return]
        existing = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        return f"function: {file.name} has no function {name!r} ({suggest_name(name, sorted(existing))})"


def _import(file: Path) -> ModuleType | str:
    """Return a file as an imported module, or the reason why it cannot be imported."""
    if not file.is_file():
        return f"there is no file {file.name} beside the data set"
    name = f"baton_scorers_{file.stem}_{abs(hash(file))}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - it is a file of Python
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - it is reported with its place
        return describe_code_problem(problem, file.parent)
    return module


def _find_argument_problem(function: Callable[..., Any], check: PythonScorer) -> str | None:
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.POSITIONAL_ONLY for parameter in parameters):
        return f"function: {check.function} has parameters that cannot be given by name"
    names = [parameter.name for parameter in parameters]
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    for name in check.arguments:
        if name in GIVEN or (name not in names and not takes_all):
            similar = find_similar_name(name, [name for name in names if name not in GIVEN])
            return f"arguments.{name}: {check.function} takes no such argument" + (
                f" (did you mean {similar}?)" if similar else ""
            )
    for parameter in parameters:
        is_needed = parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        )
        if is_needed and parameter.name not in (*GIVEN, *check.arguments):
            return f"arguments: {check.function} needs {parameter.name}"
    return None


async def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    returned = await _call_in_thread(function, arguments)
    return await returned if inspect.isawaitable(returned) else returned


async def _call_in_thread(function: Callable[..., Any], value: dict[str, Any]) -> Any:
    """Call a function in a daemon thread, because one that never returns must not block the end of the event loop."""
    future: Future[tuple[Any, BaseException | None]] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            future.set_result((function(**value), None))
        except SystemExit as problem:
            future.set_result((None, RuntimeError(f"sys.exit({problem.code!r}) was called")))
        except BaseException as problem:  # noqa: BLE001 - the caller gets it, with its place
            future.set_result((None, problem))

    Thread(target=copy_context().run, args=(work,), name="scorer", daemon=True).start()
    returned, problem = await asyncio.wrap_future(future)
    if problem is not None:
        raise problem
    return returned


def _as_score(check: PythonScorer, metric: str, returned: Any) -> Score:
    value, reason = returned, ""
    if isinstance(returned, tuple) and len(returned) == 2:
        value, reason = returned[0], "" if returned[1] is None else str(returned[1])
    if value is None:
        return Score.not_judged(metric, reason or f"{check.function} has not judged")
    if isinstance(value, bool):
        return Score.of(metric, value, reason or f"{check.function} returned False")
    if isinstance(value, int | float) and 0 <= value <= 1:
        return Score.graded(metric, float(value), check.threshold, reason)
    return Score.not_judged(metric, f"{check.function} returned {cut(repr(returned), 100)}. It must return {RESULTS}")
