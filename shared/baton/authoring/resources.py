"""``@resource``: what tools share, such as a pool or a client. It is opened once per process."""

from __future__ import annotations

import asyncio
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
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from functools import update_wrapper
from types import ModuleType
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints

from baton.authoring.errors import CannotLoad

P = ParamSpec("P")
R = TypeVar("R")

_HOLDERS = (AsyncIterator, AsyncGenerator, Iterator, Generator, AbstractAsyncContextManager, AbstractContextManager)
_PROMISES = (Awaitable, Coroutine)


class Resource(Generic[P, R]):
    """A function that opens something, and its type. Calling it calls the function."""

    def __init__(self, function: Callable[P, R]) -> None:
        update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @property
    def kind(self) -> Any:
        """The type by which tools ask for it. Raises ``CannotLoad``."""
        name = self.function.__qualname__
        try:
            kind = get_type_hints(self.function).get("return")
        except (NameError, TypeError) as problem:
            raise CannotLoad(f"{name}: its annotations cannot be read: {problem}.") from problem
        if get_origin(kind) in _PROMISES:
            kind = get_args(kind)[-1]
        if get_origin(kind) in _HOLDERS:
            kind = get_args(kind)[0]
        if kind is None:
            raise CannotLoad(f"{name}: a resource names its type as what it returns: `-> AsyncIterator[Pool]`.")
        return kind

    async def open(self, kept: AsyncExitStack) -> Any:
        """Open it. ``kept`` closes it."""
        function = cast("Callable[[], Any]", self.function)
        opened: Any
        if inspect.isasyncgenfunction(function):
            opened = asynccontextmanager(function)()
        elif inspect.isgeneratorfunction(function):
            opened = contextmanager(function)()
        else:
            opened = function()
            if inspect.isawaitable(opened):
                return await opened
        if isinstance(opened, AbstractAsyncContextManager) and self._is_held:
            return await kept.enter_async_context(opened)
        if isinstance(opened, AbstractContextManager) and self._is_held:
            return kept.enter_context(opened)
        return opened

    @property
    def _is_held(self) -> bool:
        """Whether its function returns a context manager around the resource, and not the resource itself."""
        return get_origin(get_type_hints(self.function).get("return")) in _HOLDERS


def resource(function: Callable[P, R]) -> Resource[P, R]:
    """Make a function a resource: what it yields or returns is opened once per process, for the first tool that asks.

    Tools ask by a parameter with its type, which is the one that the function's annotation names. A generator, or a
    context manager that the function returns, is closed when the process ends in order.
    """
    return Resource(function)


class OpenResources:
    """The resources of a process that are open, by the function that opens them."""

    def __init__(self, modules: Callable[[], Iterable[ModuleType]]) -> None:
        """``modules`` returns the modules in which resources are looked for."""
        self._modules = modules
        self._kept = AsyncExitStack()
        self._opening: dict[Resource[..., Any], asyncio.Future[Any]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop that they are bound to."""

    def known(self) -> Mapping[Any, Resource[..., Any]]:
        """Return the resources that exist now, by type. Raises ``CannotLoad`` if two have one type."""
        found: dict[Any, Resource[..., Any]] = {}
        declared = {
            id(value): value
            for module in self._modules()
            for value in list(vars(module).values())
            if isinstance(value, Resource)
        }
        for each in declared.values():
            other = found.setdefault(each.kind, each)
            if other is not each:
                names = f"{other.function.__qualname__} and {each.function.__qualname__}"
                raise CannotLoad(f"{names} are resources of one type, {each.kind}: a parameter could get either.")
        return found

    async def get(self, wanted: Resource[..., Any]) -> Any:
        """Return a resource, opened by the first who asks. A failure is tried again by the next."""
        self._loop = asyncio.get_running_loop()
        opening = self._opening.get(wanted)
        if opening is None:
            opening = self._opening[wanted] = asyncio.ensure_future(wanted.open(self._kept))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            if opening.cancelled():
                self._opening.pop(wanted, None)
            raise  # otherwise the tool's time is over; others may wait for the resource
        except BaseException:
            self._opening.pop(wanted, None)
            raise

    async def aclose(self) -> None:
        """Close everything, the last first, on the event loop on which it was opened."""
        loop, self._loop = self._loop, None
        self._opening.clear()
        if loop is None or loop.is_closed():
            return  # nothing is open, or nothing can be awaited any more
        if loop is asyncio.get_running_loop():
            await self._kept.aclose()
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._kept.aclose(), loop))
