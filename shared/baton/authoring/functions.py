"""Calls of the functions of agents and tools, with the context and the resources of their parameters."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any, get_type_hints

from aws_lambda_powertools import Logger

from baton.authoring.containment import Blocked, Owner, contain_tasks, contained
from baton.authoring.errors import CannotLoad
from baton.authoring.resources import OpenResources, Resource
from baton.ports.agents.tools import TurnContext

logger = Logger(child=True)

CONTEXT = "context"
"""The parameter that gets the context even if it has no annotation; the model does not see it."""


def is_context(name: str, hint: Any) -> bool:
    """Return whether a parameter gets the context of the turn or the call."""
    return name == CONTEXT or (isinstance(hint, type) and issubclass(hint, TurnContext))


def read_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function. Raises ``CannotLoad`` if one names something undefined."""
    try:
        return get_type_hints(function, include_extras=True)
    except (AttributeError, NameError, TypeError, SyntaxError) as problem:
        raise CannotLoad(f"{function.__qualname__}: its annotations cannot be read: {problem}.") from problem


AGENTS_PACKAGE = "project_agents"
"""The name of the package of agents while it is loaded. Another distribution has the name ``agents``."""


def is_of(module: str, packages: Collection[str]) -> bool:
    """Return whether a module is one of the packages, or in one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@dataclass(frozen=True, slots=True)
class Filled:
    """The parameters of a function that are not arguments of its caller."""

    contexts: tuple[str, ...] = ()
    resources: Mapping[str, Resource[..., Any]] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """Their names."""
        return frozenset(self.contexts) | self.resources.keys()


class Functions:
    """The functions of a process's agents, and the resources that are open for them."""

    def __init__(
        self, packages: Callable[[], Sequence[str]] = tuple, *, logs_messages: Callable[[], bool] = bool
    ) -> None:
        """``packages`` returns the packages from which tools may be imported.

        ``logs_messages`` returns whether the log has the messages and tracebacks of errors that functions raise. These
        may quote users, so it is for a developer's machine.
        """
        self.packages = packages
        self.logs_messages = logs_messages
        self._resources = OpenResources(self._modules)

    def find_filled(self, function: Callable[..., Any], arguments: Collection[str] = ()) -> Filled:
        """Return the parameters for the context or, unless they are ``arguments``, resources. Raises ``CannotLoad``."""
        hints = read_hints(function)
        names = [name for name in inspect.signature(function).parameters if name != "return"]
        contexts = tuple(name for name in names if is_context(name, hints.get(name)))
        others = [name for name in names if name not in contexts and name not in arguments and name in hints]
        # Only if needed, because the search for resources in all modules takes a millisecond.
        resources = self._resources.known() if others else {}
        return Filled(
            contexts, {name: resource for name in others if (resource := resources.get(_key(hints[name]))) is not None}
        )

    def check(self, function: Callable[..., Any], arguments: Sequence[str] = ()) -> None:
        """Raise ``CannotLoad`` for a function with a parameter that neither its caller nor Baton fills."""
        filled = self.find_filled(function).names
        for name, parameter in inspect.signature(function).parameters.items():
            if name not in filled and name not in arguments and parameter.default is parameter.empty:
                raise CannotLoad(
                    f"{function.__qualname__}: nothing fills the parameter {name}. A TurnContext gets the turn, and a "
                    "parameter with the type of a @resource gets that, if the module with it is imported."
                )

    async def call(
        self,
        function: Callable[..., Any],
        context: TurnContext,
        arguments: Mapping[str, Any],
        filled: Filled | None = None,
    ) -> Any:
        """Call a function, in a thread unless it is a coroutine. Raises as ``contained``. See ``find_filled``."""
        if filled is None:
            filled = self.find_filled(function)
        values = {**arguments, **dict.fromkeys(filled.contexts, context)}
        async with AsyncExitStack() as used:
            for name, resource in filled.resources.items():
                values[name] = await used.enter_async_context(self._resources.use(resource))
            contain_tasks()
            owner = Owner.of(function, partial(self.note_blocked, function, context))
            return await contained(_call(function, values), owner)

    async def call_with(
        self, function: Callable[..., Any], context: TurnContext, values: Mapping[str, Any], names: Sequence[str]
    ) -> Any:
        """Call a function with those ``values`` that it has parameters for. Raises its exceptions.

        ``names`` are the parameters that ``values`` may fill.
        """
        parameters = [name for name in inspect.signature(function).parameters if name in names]
        filled = self.find_filled(function, parameters)
        return await self.call(function, context, {name: values[name] for name in parameters}, filled)

    def note_blocked(self, function: Callable[..., Any], context: TurnContext, blocked: Blocked) -> None:
        """Report that a function has blocked all conversations of its process."""
        logger.warning(
            "code of an agent has blocked all conversations of its process",
            agent=context.agent_id,
            function=function.__qualname__,
            seconds=round(blocked.seconds, 1),
            after=blocked.after,
            until=blocked.until or "its end",
        )

    def note(self, problem: Exception) -> None:
        """Report an error that has ended a turn, or an agent's answer, with an internal error.

        It does nothing, because the log has the error; conversation tests show it to the developer.
        """

    async def close_replaced(self) -> None:
        """Close the resources of modules that were imported again since, as soon as no call uses them."""
        await self._resources.close_replaced()

    async def aclose(self) -> None:
        """Close the resources."""
        await self._resources.aclose()

    def _modules(self) -> Iterable[ModuleType]:
        """Return the modules of agents and tools that are imported."""
        packages = (*self.packages(), AGENTS_PACKAGE)
        return [module for name, module in sys.modules.copy().items() if is_of(name, packages)]


async def _call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    # A thread cannot be stopped, so a function that may take long should be a coroutine.
    answer = await asyncio.to_thread(function, **arguments)
    return await answer if inspect.isawaitable(answer) else answer


def _key(hint: Any) -> Any:
    """Return the type as a key. Unhashable annotations never belong to a resource."""
    try:
        hash(hint)
    except TypeError:
        return None
    return hint
