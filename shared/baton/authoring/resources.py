"""``@resource``: objects that tools share, such as a connection pool. Each Lambda function opens separate objects."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from dataclasses import dataclass
from functools import partial, update_wrapper
from types import ModuleType
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints
from weakref import WeakSet

from aws_lambda_powertools import Logger

from baton.authoring.containment import Blocked, Owner, contain
from baton.authoring.errors import CannotLoad
from baton.concurrency.tasks import stop_all
from baton.domain.metrics import Metric, count

logger = Logger(child=True)

P = ParamSpec("P")
R = TypeVar("R")

_CONTEXT_TYPES = (
    AsyncIterator,
    AsyncGenerator,
    Iterator,
    Generator,
    contextlib.AbstractAsyncContextManager,
    contextlib.AbstractContextManager,
)
_AWAITABLE_TYPES = (Awaitable, Coroutine)
CLOSING_SECONDS = 10.0
"""The time limit of closing a resource that was replaced."""


class Resource(Generic[P, R]):
    """A function that opens a shared object, with the type of the object. A call of the resource calls the function."""

    def __init__(self, function: Callable[P, R]) -> None:
        update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @property
    def kind(self) -> Any:
        """The type of the parameters that get the object.

        Raises ``CannotLoad`` if the function's return annotation is missing or cannot be evaluated.
        """
        name = self.function.__qualname__
        try:
            kind = get_type_hints(self.function).get("return")
        except (AttributeError, NameError, TypeError, SyntaxError) as problem:
            raise CannotLoad(f"{name}: its annotations cannot be read: {problem}.") from problem
        if get_origin(kind) in _AWAITABLE_TYPES:
            kind = get_args(kind)[-1]
        if get_origin(kind) in _CONTEXT_TYPES:
            kind = get_args(kind)[0]
        if kind is None:
            raise CannotLoad(f"{name}: a resource names its type as what it returns: `-> AsyncIterator[Pool]`.")
        return kind

    async def open(self, stack: contextlib.AsyncExitStack) -> Any:
        """Open the object and return it. ``stack`` closes it if it has a context manager."""
        function = cast("Callable[[], Any]", self.function)
        opened: Any
        if inspect.isasyncgenfunction(function):
            opened = contextlib.asynccontextmanager(function)()
        elif inspect.isgeneratorfunction(function):
            opened = contextlib.contextmanager(function)()
        else:
            opened = function()
            if inspect.isawaitable(opened):
                return await opened
        if isinstance(opened, contextlib.AbstractAsyncContextManager) and self._has_context_manager:
            return await stack.enter_async_context(opened)
        if isinstance(opened, contextlib.AbstractContextManager) and self._has_context_manager:
            return stack.enter_context(opened)
        return opened

    @property
    def _has_context_manager(self) -> bool:
        """Whether the function returns a context manager around the object, and not the object itself."""
        return get_origin(get_type_hints(self.function).get("return")) in _CONTEXT_TYPES


def resource(function: Callable[P, R]) -> Resource[P, R]:
    """Make a function a resource: the object that it yields or returns is opened once and shared by tools.

    The first tool that needs the object opens it. It is shared within one environment of one Lambda function, and
    locally within one function: the page's socket and the HTTP API have separate objects. State that all users share
    belongs in a database, a file or a service.

    A tool gets the object by a parameter with the return type in the function's annotation. A generator, or a context
    manager that the function returns, is closed when the process ends normally.
    """
    return Resource(function)


@dataclass(eq=False)
class _Opened:
    """A resource that is open, or being opened."""

    stack: contextlib.AsyncExitStack
    """The stack that closes it."""
    opening: asyncio.Future[Any]
    users: int = 0
    """The number of calls in progress that use the resource."""


class OpenResources:
    """The resources of a process that are open, by the function that opens them."""

    def __init__(self, modules: Callable[[], Iterable[ModuleType]]) -> None:
        """``modules`` returns the modules that may declare resources."""
        self._modules = modules
        self._opened: dict[Resource[..., Any], _Opened] = {}
        """The open resources, in the order in which they were opened."""
        self._replaced: WeakSet[Resource[..., Any]] = WeakSet()
        """The resources whose modules were imported again. They are closed as soon as no call uses them."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop to which the open resources are bound."""

    def map_by_type(self) -> Mapping[Any, Resource[..., Any]]:
        """Return the declared resources by type.

        Raises ``CannotLoad`` for a resource without a type, and for two resources of one type.
        """
        resources: dict[Any, Resource[..., Any]] = {}
        for item in self._list_declared():
            other = resources.setdefault(item.kind, item)
            if other is not item:
                names = f"{other.function.__qualname__} and {item.function.__qualname__}"
                raise CannotLoad(f"{names} are resources of one type, {item.kind}: a parameter could get either.")
        return resources

    def _list_declared(self) -> Iterable[Resource[..., Any]]:
        values = (value for module in self._modules() for value in list(vars(module).values()))
        return dict.fromkeys(value for value in values if isinstance(value, Resource))

    @contextlib.asynccontextmanager
    async def use(self, item: Resource[..., Any]) -> AsyncIterator[Any]:
        """Yield the object of a resource, which the first call opens. Raises the errors of the opening.

        After a failure, the next call tries again.
        """
        self._loop = asyncio.get_running_loop()
        opened = self._opened.get(item)
        if opened is None:
            stack = contextlib.AsyncExitStack()
            owner = Owner.of(item.function, partial(_log_blocked, item))
            opened = self._opened[item] = _Opened(stack, asyncio.ensure_future(contain(item.open(stack), owner)))
        opened.users += 1
        try:
            yield await self._wait_until_open(item, opened)
        finally:
            opened.users -= 1
            if item in self._replaced:
                await self._close_unused(item)

    async def _wait_until_open(self, item: Resource[..., Any], opened: _Opened) -> Any:
        """Return the object. If its opening fails, forget the resource, and raise the error."""
        try:
            return await asyncio.shield(opened.opening)
        except BaseException:
            # If only this call was cancelled, the opening continues for other calls.
            has_failed = opened.opening.cancelled() or (
                opened.opening.done() and opened.opening.exception() is not None
            )
            # After a failure, another call may have begun a new opening already.
            if has_failed and self._opened.get(item) is opened:
                del self._opened[item]
            raise

    async def close_replaced(self) -> None:
        """Close the resources that no module declares any more, as soon as no call uses them."""
        current = set(self._list_declared())
        self._replaced.update(resource for resource in self._opened if resource not in current)
        for old in [resource for resource in self._opened if resource in self._replaced]:
            await self._run_on_loop(self._close_unused(old))

    async def aclose(self) -> None:
        """Close all resources on the event loop on which they were opened, in the reverse order of their opening."""
        await self._run_on_loop(self._close_all())
        self._loop = None

    async def _close_all(self) -> None:
        opened = list(self._opened.values())
        self._opened.clear()
        async with contextlib.AsyncExitStack() as closing:  # it closes the others even if one cannot be closed
            for item in opened:
                closing.push_async_callback(_close, item)

    async def _close_unused(self, resource: Resource[..., Any]) -> None:
        """Close a resource that is open, unless a call uses it. Failures and time-outs are logged."""
        opened = self._opened.get(resource)
        if opened is None or opened.users:
            return
        del self._opened[resource]
        try:
            async with asyncio.timeout(CLOSING_SECONDS):
                await _close(opened)
        except Exception:
            count(Metric.TOOL_FAILURES)
            logger.warning("resource not closed", exc_info=True, resource=resource.function.__qualname__)

    async def _run_on_loop(self, work: Coroutine[Any, Any, None]) -> None:
        """Await ``work`` on the event loop of the resources. If there is no such loop, do nothing."""
        loop = self._loop
        if loop is None or loop.is_closed():
            self._opened.clear()
            work.close()  # no resource is open, or none can be closed any more
        elif loop is asyncio.get_running_loop():
            await work
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


async def _close(opened: _Opened) -> None:
    await stop_all(opened.opening)
    await opened.stack.aclose()


def _log_blocked(resource: Resource[..., Any], blocked: Blocked) -> None:
    logger.warning(
        "the opening of a resource has blocked all conversations of its process",
        resource=resource.function.__qualname__,
        seconds=round(blocked.seconds, 1),
        after=blocked.after,
        until=blocked.until or "its end",
    )
