"""Steps as the code of a coroutine takes them: each has the same number every time, and is noticed if not awaited."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any, TypeVar

from baton.authoring.containment import BATON, BatonCode, Owner, contained

FOREIGN = (
    "A step was taken in a task that run has begun itself. Give coroutines with several steps to context.gather, which "
    "numbers their steps; asyncio.gather is for steps alone."
)

_current: ContextVar[StepBranch | None] = ContextVar("branch", default=None)


@dataclass(slots=True, eq=False)
class StepBranch:
    """A part of a coroutine whose steps come one after the other."""

    owner: object
    path: str
    """The beginning of the places of its steps: empty, or such as ``4.0.``."""
    seed: str
    now: datetime
    """The time of its last step."""
    task: asyncio.Task[Any] | None = None
    steps: int = 0
    ids: int = 0
    random: Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed + self.path)  # noqa: S311 - for repeatable choices, not for secrets

    def note_end(self, at: datetime) -> None:
        """Set ``now`` to the latest end of a step. Parallel steps may end in another order when they are repeated."""
        self.now = max(self.now, at)


@dataclass(frozen=True, slots=True)
class StepPosition:
    """The place of a step."""

    path: str
    branch: StepBranch


class StepPlaces:
    """The branches of one coroutine."""

    def __init__(self, thread_id: str, seed: str) -> None:
        """``seed`` is unique to the coroutine, and the same whenever it begins again."""
        self._thread_id = thread_id
        self._seed = seed

    async def as_first(self, work: Awaitable[Any], began_at: datetime) -> Any:
        """Await ``work`` as the branch whose steps have plain numbers. This must be all that the task does."""
        _current.set(StepBranch(self, "", self._seed, began_at, asyncio.current_task()))
        return await work

    async def within(self, work: Awaitable[Any], position: StepPosition, number: int, owner: Owner | None) -> Any:
        """Await ``work``, code of ``owner``, as a branch of the step at ``position``. It must be all of the task."""
        path = f"{position.path}.{number}."
        branch = StepBranch(self, path, self._seed, position.branch.now, asyncio.current_task())
        _current.set(branch)
        try:
            return await (contained(work, owner) if owner is not None else work)
        finally:
            position.branch.note_end(branch.now)

    @property
    def branch(self) -> StepBranch:
        """The branch that the caller is in. Raises ``RuntimeError`` in any other task."""
        branch = self._find_branch()
        if branch is None:
            raise RuntimeError(FOREIGN)
        return branch

    def next(self) -> StepPosition | None:
        """Return the place of the caller's next step; None in any other task."""
        branch = self._find_branch()
        if branch is None:
            return None
        branch.steps += 1
        return StepPosition(f"{branch.path}{branch.steps}", branch)

    def _find_branch(self) -> StepBranch | None:
        branch = _current.get()
        if branch is None or branch.owner is not self:
            return None
        try:
            return branch if branch.task is asyncio.current_task() else None
        except RuntimeError:  # the coroutine is being collected, after its event loop has ended
            return None

    def new_id(self) -> uuid.UUID:
        """Return the branch's next id."""
        branch = self.branch
        branch.ids += 1
        return uuid.uuid5(uuid.UUID(self._thread_id), f"{self._seed}\0{branch.path}\0id\0{branch.ids}")


T = TypeVar("T")


class StepNotAwaited(RuntimeError):
    """A step was called without ``await``, and so was not taken. The message names the step and the line."""


class AwaitedStep(BatonCode[T]):
    """A step that its caller has to await, which creates its coroutine."""

    __slots__ = ("_is_begun", "_make", "_name", "_not_awaited", "_place")

    def __init__(
        self, make: Callable[[], Coroutine[Any, Any, T]], name: str, not_awaited: list[StepNotAwaited]
    ) -> None:
        """``name`` is the method's name. ``not_awaited`` gets the error if the step is dropped."""
        self._make = make
        self._name = name
        self._not_awaited = not_awaited
        self._is_begun = False
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(BATON):
            frame = frame.f_back
        self._place = frame.f_code.co_filename, frame.f_lineno

    @property
    def error(self) -> StepNotAwaited:
        """The error of a step that nobody awaits."""
        file, line = self._place
        return StepNotAwaited(
            f"{file}:{line}: context.{self._name} was not awaited, so this step was not taken. Write: "
            f"await context.{self._name}(...)"
        )

    def send(self, value: Any, /) -> Any:
        self._begin()
        return super().send(value)

    def throw(self, *error: Any) -> Any:
        self._begin()
        return super().throw(*error)

    def close(self) -> None:
        if self._is_begun:
            super().close()
        self._is_begun = True

    def _begin(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            super().__init__(self._make())

    def __del__(self) -> None:
        if not self._is_begun:
            self._not_awaited.append(self.error)
