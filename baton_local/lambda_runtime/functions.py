"""Built functions: as many execution environments as there are events at the same time."""

import json
import logging
import threading
from collections import deque
from concurrent.futures import Future
from typing import Any

from baton_local.account import ACCOUNT, REGION
from baton_local.lambda_runtime.environments import Code, ExecutionEnvironment
from baton_local.lambda_runtime.invocations import Answer, FunctionFailed, Invocation, StreamedAnswer, WholeAnswer

logger = logging.getLogger("baton_local.functions")

LOG_LINES = 2000
"""The number of newest log lines of a function that are kept."""
MAX_ENVIRONMENTS = 100
"""Environments of a function at the same time. Each is a process tree with some hundred megabytes."""


class BuiltFunction:
    """A function whose environments are processes with its built files. They start when events need them."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.log: deque[str] = deque(maxlen=LOG_LINES)
        """The newest lines that Lambda would have kept."""
        self._lock = threading.Lock()
        self._idle: list[ExecutionEnvironment] = []
        self._environments: set[ExecutionEnvironment] = set()
        self._is_over = False

    def invoke(self, event: Any) -> "Future[Any]":
        """Start to handle ``event``. The future gets the answer, or fails with ``FunctionFailed``."""
        answer = WholeAnswer()
        self._send(event, answer)
        return answer.future

    def stream(self, event: Any) -> StreamedAnswer:
        """Start to handle ``event``. The answer, or ``FunctionFailed``, arrives in pieces on the running event loop."""
        answer = StreamedAnswer()
        self._send(event, answer)
        return answer

    def end(self) -> None:
        """Kill every environment. A repetition is not an error."""
        with self._lock:
            self._is_over = True
            environments = list(self._environments)
        for environment in environments:
            environment.end()

    def _send(self, event: Any, answer: Answer) -> None:
        """Give ``event`` to an idle environment, or to a new one. ``answer`` fails if there are too many."""
        arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self.code.name}"
        invocation = Invocation(json.dumps(event).encode(), answer, arn, self.code.timeout)
        with self._lock:
            if self._is_over:
                invocation.fail(FunctionFailed("Runtime.ExitError", "The local cloud stops."))
                return
            environment = self._idle.pop() if self._idle else None
            if environment is None and len(self._environments) >= MAX_ENVIRONMENTS:
                invocation.fail(FunctionFailed("TooManyRequestsException", "Rate Exceeded."))
                return
            if environment is None:
                environment = ExecutionEnvironment(self.code, self._keep, self._become_idle, self._forget)
                self._environments.add(environment)
        environment.invoke(invocation)

    def _become_idle(self, environment: ExecutionEnvironment) -> None:
        with self._lock:
            if environment in self._environments:
                self._idle.append(environment)

    def _forget(self, environment: ExecutionEnvironment) -> None:
        with self._lock:
            self._environments.discard(environment)
            if environment in self._idle:
                self._idle.remove(environment)

    def _keep(self, line: str) -> None:
        self.log.append(line)
        logger.info("%s: %s", self.code.name, line)
