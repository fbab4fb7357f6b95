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

from baton.authoring.containment import Blocked, Owner, contain, contain_tasks
from baton.authoring.errors import CannotLoad
from baton.authoring.resources import OpenResources, Resource
from baton.ports.agents.tools import TurnContext

logger = Logger(child=True)

CONTEXT = "context"
"""The name of a parameter that gets the context even without an annotation. The model does not see it."""


def is_context(name: str, hint: Any) -> bool:
    """Return whether a parameter gets the context of the turn or the call."""
    return name == CONTEXT or (isinstance(hint, type) and issubclass(hint, TurnContext))


def read_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function. Raises ``CannotLoad`` if an annotation cannot be evaluated."""
    try:
        return get_type_hints(function, include_extras=True)
    except (AttributeError, NameError, TypeError, SyntaxError) as problem:
        raise CannotLoad(f"{function.__qualname__}: its annotations cannot be read: {problem}.") from problem


AGENTS_PACKAGE = "project_agents"
"""The name under which the package ``agents`` is loaded, because another distribution has the name ``agents``."""


def is_of(module: str, packages: Collection[str]) -> bool:
    """Return whether a module is one of the packages, or is in one of them."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@dataclass(frozen=True, slots=True)
class Filled:
    """The parameters of a function that Baton fills: contexts, by name, and resources."""

    contexts: tuple[str, ...] = ()
    resources: Mapping[str, Resource[..., Any]] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The names of all these parameters."""
        return frozenset(self.contexts) | self.resources.keys()


class Functions:
    """The functions of a process's agents, and the resources that are open for them."""

    def __init__(
        self, packages: Callable[[], Sequence[str]] = tuple, *, logs_messages: Callable[[], bool] = bool
    ) -> None:
        """``packages`` returns the packages from which tools may be imported.

        ``logs_messages`` returns whether messages and tracebacks of functions' errors are logged. They may quote users,
        so it is true only on a developer's machine.
        """
        self.packages = packages
        self.logs_messages = logs_messages
        self._resources = OpenResources(self._list_modules)

    def find_filled(self, function: Callable[..., Any], arguments: Collection[str] = ()) -> Filled:
        """Return the parameters that Baton fills with the context or with resources.

        The caller fills ``arguments``, so they are never resources. Raises ``CannotLoad`` for annotations that cannot
        be evaluated, and for unusable resources.
        """
        hints = read_hints(function)
        names = list(inspect.signature(function).parameters)
        contexts = tuple(name for name in names if is_context(name, hints.get(name)))
        others = [name for name in names if name not in contexts and name not in arguments and name in hints]
        # The search for resources in all modules takes a millisecond, so it is skipped if no parameter is left.
        resources = self._resources.map_by_type() if others else {}
        return Filled(
            contexts,
            {name: resource for name in others if (resource := resources.get(_make_key(hints[name]))) is not None},
        )

    def check(self, function: Callable[..., Any], arguments: Sequence[str] = ()) -> None:
        """Raise ``CannotLoad`` if a parameter has no default, and neither the function's caller nor Baton fills it.

        ``arguments`` are the parameters that the caller fills.
        """
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
        """Call a function, in a thread unless it is a coroutine, with the context and resources that it needs.

        ``filled`` is the result of ``find_filled`` if the caller knows it. Raises the function's exceptions, see
        ``ProjectCode``.
        """
        if filled is None:
            filled = self.find_filled(function)
        values = {**arguments, **dict.fromkeys(filled.contexts, context)}
        async with AsyncExitStack() as used:
            for name, resource in filled.resources.items():
                values[name] = await used.enter_async_context(self._resources.use(resource))
            contain_tasks()
            owner = Owner.of(function, partial(self.note_blocked, function, context))
            return await contain(_call(function, values), owner)

    async def call_with(
        self, function: Callable[..., Any], context: TurnContext, values: Mapping[str, Any], names: Sequence[str]
    ) -> Any:
        """Call a function with the ``values`` for which it has parameters. Raises the function's exceptions.

        ``names`` are the parameters that ``values`` may fill.
        """
        parameters = [name for name in inspect.signature(function).parameters if name in names]
        filled = self.find_filled(function, parameters)
        return await self.call(function, context, {name: values[name] for name in parameters}, filled)

    def note_blocked(self, function: Callable[..., Any], context: TurnContext, blocked: Blocked) -> None:
        """Log that a function has blocked all conversations of its process."""
        logger.warning(
            "code of an agent has blocked all conversations of its process",
            agent=context.agent_id,
            function=function.__qualname__,
            seconds=round(blocked.seconds, 1),
            after=blocked.after,
            until=blocked.until or "its end",
        )

    def note_failure(self, failure: Exception) -> None:
        """Receive an unexpected error that has ended a turn or the answer of a consulted agent.

        This method does nothing, because the error is logged. Conversation tests override it to show the error, and
        also call it for failed calls of functions.
        """

    async def close_replaced(self) -> None:
        """Close the resources of modules that have been imported again, as soon as no call uses them."""
        await self._resources.close_replaced()

    async def aclose(self) -> None:
        """Close the resources."""
        await self._resources.aclose()

    def _list_modules(self) -> Iterable[ModuleType]:
        """Return the imported modules of agents and tools."""
        packages = (*self.packages(), AGENTS_PACKAGE)
        return [module for name, module in sys.modules.copy().items() if is_of(name, packages)]


async def _call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a function, in a thread unless it is a coroutine, and return its result."""
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    # A thread cannot be stopped, so a function that may take long should be a coroutine.
    answer = await asyncio.to_thread(function, **arguments)
    return await answer if inspect.isawaitable(answer) else answer


def _make_key(hint: Any) -> Any:
    """Return the annotation as a key; None if it is unhashable, because then it belongs to no resource."""
    try:
        hash(hint)
    except TypeError:
        return None
    return hint
