"""Containment of a project's code: exits become failures of a call, and code that blocks the event loop is reported.

The code of a project shares the event loop with other conversations. ``ProjectCode`` runs a coroutine of the project
in stretches, each from one await to the next. Tasks that such code begins are run in the same way.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

T = TypeVar("T")

BLOCKED_SECONDS = 0.5
"""The shortest stretch that is reported, in seconds. After stretches of ten seconds, leases are lost."""
BATON = f"{Path(__file__).parents[1]}{os.sep}"
"""The path of Baton's own code, with which the paths of its files begin."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A stretch of a project's code that has blocked the event loop."""

    seconds: float
    after: str
    """``file:line`` of the await before the stretch, or of the function's beginning."""
    until: str | None
    """``file:line`` of the await that ended the stretch; None if the function has ended."""


@dataclass(slots=True, eq=False)
class Owner:
    """One call of a project's code, with the tasks that it begins."""

    begins: str
    """``file:line`` of the function."""
    note: Callable[[Blocked], None]
    """Reports a stretch that was too long."""
    others_seconds: float = 0.0
    """The seconds of stretches in which Baton's code ran, and not the project's."""

    @classmethod
    def of(cls, function: Callable[..., Any], note: Callable[[Blocked], None]) -> Owner:
        """Return the owner of a call of ``function``."""
        code = getattr(inspect.unwrap(function), "__code__", None)
        return cls(f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(function), note)


_owner: ContextVar[Owner | None] = ContextVar("owner", default=None)


def get_current_owner() -> Owner | None:
    """Return the owner of the running code; None if it is Baton's code."""
    return _owner.get()


class _Stretches(Coroutine[Any, Any, T]):
    """A coroutine that runs another coroutine, stretch by stretch."""

    __slots__ = ("_work",)

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the wrapped coroutine, because libraries read attributes such as ``cr_running``."""
        if name == "_work":  # the coroutine of an ``AwaitedStep`` is created later
            raise AttributeError(name)
        return getattr(self._work, name)

    def send(self, value: Any, /) -> Any:
        """Run the coroutine to its next await. Raises ``StopIteration`` with the result when the coroutine ends."""
        return self._run_stretch(self._work.send, value)

    def throw(self, *error: Any) -> Any:
        """Raise an error where the coroutine waits, and run it to its next await."""
        return self._run_stretch(self._work.throw, *error)

    def close(self) -> None:
        """End the coroutine where it waits."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        value: Any = None
        step: Callable[[Any], Any] = self.send
        while True:
            try:
                waits_for = step(value)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            try:
                value, step = (yield waits_for), self.send
            except GeneratorExit:
                self.close()
                raise
            except BaseException as error:  # noqa: BLE001 - the coroutine gets it
                value, step = error, self.throw

    def _run_stretch(self, stretch: Callable[..., Any], *arguments: Any) -> Any:
        """Run the coroutine to its next await. Subclasses add what they do before and after."""
        raise NotImplementedError


class ProjectCode(_Stretches[T]):
    """A coroutine of a project's code.

    Raises ``RuntimeError`` in place of ``SystemExit``, and of other errors that ``except Exception`` does not catch, so
    that they fail the call and do not end the worker. Cancellations, Ctrl-C and ``GeneratorExit`` pass unchanged.
    """

    __slots__ = ("_after", "_owner")

    def __init__(self, work: Coroutine[Any, Any, T], owner: Owner) -> None:
        super().__init__(work)
        self._owner = owner
        self._after = _find_position(work)

    def _run_stretch(self, stretch: Callable[..., Any], *arguments: Any) -> Any:
        owner, token = self._owner, _owner.set(self._owner)
        others, began = owner.others_seconds, time.perf_counter()
        try:
            return stretch(*arguments)
        except (Exception, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
            raise
        except SystemExit as problem:
            raise RuntimeError(f"sys.exit({problem.code!r}) was called") from problem
        except BaseException as problem:
            raise RuntimeError(f"{type(problem).__name__} was raised, which is no Exception") from problem
        finally:
            seconds = time.perf_counter() - began - (owner.others_seconds - others)
            _owner.reset(token)
            after, self._after = self._after, _find_position(self._work)
            if seconds >= BLOCKED_SECONDS:
                owner.note(Blocked(seconds, _format_position(after) or owner.begins, _format_position(self._after)))


class BatonCode(_Stretches[T]):
    """A coroutine of Baton that a project's code awaits. Its time and its tasks do not count as the project's."""

    __slots__ = ()

    def _run_stretch(self, stretch: Callable[..., Any], *arguments: Any) -> Any:
        owner = _owner.get()
        if owner is None:
            return stretch(*arguments)
        token, others, began = _owner.set(None), owner.others_seconds, time.perf_counter()
        try:
            return stretch(*arguments)
        finally:
            owner.others_seconds = others + time.perf_counter() - began
            _owner.reset(token)


def contain(work: Awaitable[T], owner: Owner) -> ProjectCode[T]:
    """Return a coroutine that awaits ``work`` of a project. See ``ProjectCode`` for exits and long stretches."""
    return ProjectCode(work if isinstance(work, Coroutine) else _await(work), owner)


async def _await(work: Awaitable[T]) -> T:
    return await work


class _TaskFactory:
    """A task factory of an event loop, which contains the coroutines of tasks that a project's code begins."""

    def __init__(self, before: Callable[..., Any] | None) -> None:
        self._before = before

    def __call__(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Any:
        owner = _owner.get()
        if owner is not None and isinstance(work, Coroutine):
            work = ProjectCode(work, owner)
        if self._before is not None:
            return self._before(loop, work, **options)
        return asyncio.Task(work, loop=loop, **options)


def contain_tasks() -> None:
    """Contain the tasks that code of a project will begin on the running event loop. Repeated calls do nothing."""
    loop = asyncio.get_running_loop()
    before: Any = loop.get_task_factory()
    if not isinstance(before, _TaskFactory):
        loop.set_task_factory(_TaskFactory(before))


def _find_position(work: Any) -> tuple[CodeType, int] | None:
    """Return the code and the line at which a coroutine waits, in the outermost frame that is not Baton's.

    Return None if all frames are Baton's.
    """
    while work is not None:
        frame = getattr(work, "cr_frame", None)
        if frame is not None and not frame.f_code.co_filename.startswith(BATON):
            return frame.f_code, frame.f_lineno
        work = getattr(work, "cr_await", None)
    return None


def _format_position(position: tuple[CodeType, int] | None) -> str | None:
    return f"{position[0].co_filename}:{position[1]}" if position is not None else None
