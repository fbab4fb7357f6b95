"""Numbers of a coroutine's steps, which are the same in every attempt, and errors for steps that are not awaited."""

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

from baton.authoring.containment import BATON, BatonCode, Owner, contain

FOREIGN = (
    "A step was taken in a task that run has begun itself. Give coroutines with several steps to context.gather, which "
    "numbers their steps; asyncio.gather is for steps alone."
)

_current: ContextVar[StepBranch | None] = ContextVar("branch", default=None)


@dataclass(slots=True, eq=False)
class StepBranch:
    """A part of a coroutine whose steps are taken one after the other."""

    owner: object
    path: str
    """The beginning of the numbers of its steps: empty for the first branch, for others such as ``4.0.``."""
    seed: str
    now: datetime
    """The time at which its last step ended."""
    task: asyncio.Task[Any] | None = None
    steps: int = 0
    ids: int = 0
    random: Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed + self.path)  # noqa: S311 - for repeatable choices, not for secrets

    def note_end(self, at: datetime) -> None:
        """Set ``now`` to ``at`` if it is later. Repeated steps may end in another order than the first time."""
        self.now = max(self.now, at)


@dataclass(frozen=True, slots=True)
class StepPosition:
    """The place of a step in a coroutine."""

    path: str
    """The number of the step, with those of the branches around it, such as ``4.0.2``."""
    branch: StepBranch


class StepPlaces:
    """The branches of one coroutine."""

    def __init__(self, thread_id: str, seed: str) -> None:
        """``seed`` is unique to the coroutine, and the same in every attempt."""
        self._thread_id = thread_id
        self._seed = seed

    async def run_first(self, work: Awaitable[Any], began_at: datetime) -> Any:
        """Await ``work`` as the first branch. The current task must do nothing else."""
        _current.set(StepBranch(self, "", self._seed, began_at, asyncio.current_task()))
        return await work

    async def run_branch(self, work: Awaitable[Any], position: StepPosition, number: int, owner: Owner | None) -> Any:
        """Await ``work``, which is code of ``owner``, as branch ``number`` of the step at ``position``.

        The current task must do nothing else.
        """
        path = f"{position.path}.{number}."
        branch = StepBranch(self, path, self._seed, position.branch.now, asyncio.current_task())
        _current.set(branch)
        try:
            return await (contain(work, owner) if owner is not None else work)
        finally:
            position.branch.note_end(branch.now)

    @property
    def branch(self) -> StepBranch:
        """The branch of the current task. Raises ``RuntimeError`` in a task without a branch."""
        branch = self._find_branch()
        if branch is None:
            raise RuntimeError(FOREIGN)
        return branch

    def take_next(self) -> StepPosition | None:
        """Count a step in the branch of the current task, and return its place; None in a task without a branch."""
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
        except RuntimeError:  # no event loop: the coroutine is garbage-collected after its loop has ended
            return None

    def new_id(self) -> uuid.UUID:
        """Return the next id of the branch; the same in every attempt. Raises ``RuntimeError`` without a branch."""
        branch = self.branch
        branch.ids += 1
        return uuid.uuid5(uuid.UUID(self._thread_id), f"{self._seed}\0{branch.path}\0id\0{branch.ids}")


T = TypeVar("T")


class StepNotAwaited(RuntimeError):
    """A step was called without ``await``, so it was not carried out. The message names the step and the line."""


class AwaitedStep(BatonCode[T]):
    """A step that its caller has to await. Its coroutine is created only when it is awaited."""

    __slots__ = ("_is_begun", "_make", "_name", "_not_awaited", "_place")

    def __init__(
        self, make: Callable[[], Coroutine[Any, Any, T]], name: str, not_awaited: list[StepNotAwaited]
    ) -> None:
        """``name`` is the name of the called method. If the step is dropped, its error is added to ``not_awaited``."""
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
