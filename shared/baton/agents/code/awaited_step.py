"""A step of a coroutine as its code holds it: it is to be awaited, and noticed if it is not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from baton.authoring.containment import BATON, BatonCode

T = TypeVar("T")


class StepNotAwaited(RuntimeError):
    """A step was called without ``await``, and so was not taken. The message names the step and the line."""


class AwaitedStep(BatonCode[T]):
    """A step that its caller has to await. Its coroutine is made when it is."""

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
