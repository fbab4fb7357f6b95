"""A built function has a limited number of environments; further events are throttled, as in Lambda."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from baton_local.lambda_runtime import functions
from baton_local.lambda_runtime.environments import Code
from baton_local.lambda_runtime.functions import BuiltFunction
from baton_local.lambda_runtime.invocations import FunctionFailed, Invocation


class Environment:
    """An environment without processes, which answers when the test says so."""

    def __init__(self, code: Code, log: object, idle: Any, end: object) -> None:
        self._idle = idle
        self._invocation: Invocation | None = None
        started.append(self)

    def invoke(self, invocation: Invocation) -> None:
        self._invocation = invocation

    def answer(self) -> None:
        assert self._invocation is not None
        self._invocation.answer.add(b"1")
        self._idle(self)
        self._invocation.end()


started: list[Environment] = []


def test_events_beyond_the_environments_are_throttled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "ExecutionEnvironment", Environment)
    monkeypatch.setattr(functions, "MAX_ENVIRONMENTS", 2)
    started.clear()
    function = BuiltFunction(Code("f", (Path("/layer"),), {}, 3.0, "INFO", ()))
    first, second, third = (function.invoke({}) for _ in range(3))
    with pytest.raises(FunctionFailed, match="Rate Exceeded"):
        third.result(0)
    started[0].answer()
    assert first.result(0) == 1
    fourth = function.invoke({})
    started[0].answer()
    assert (fourth.result(0), len(started)) == (1, 2)
    assert not second.done()
