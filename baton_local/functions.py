"""Run Lambda functions in this process the way Lambda does: an execution environment handles one event at a time."""

import importlib.util
import itertools
import queue
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from baton.composition.startup.environment import current
from baton_local import log_lines
from baton_local.account import ACCOUNT, REGION
from baton_local.errors import FunctionProblem
from baton_local.serving.asgi import AsgiApp
from baton_local.stack.declarations import FunctionDefinition

Handler = Callable[[Any, "LambdaContext"], Any]


class Invocable(Protocol):
    """A function, in this process or elsewhere."""

    def invoke(self, event: Any) -> "Future[Any]":
        """Start to handle ``event``. The future gets the answer or the exception."""


_module_numbers = itertools.count(1)


@dataclass
class LambdaContext:
    """The context of a handler, with Lambda's names and units."""

    function_name: str
    timeout: float
    """Seconds."""
    memory_limit_in_mb: int
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    function_version: str = "$LATEST"
    log_group_name: str = "/aws/lambda/local"
    log_stream_name: str = "local"
    identity: None = None
    client_context: None = None
    _started: float = field(default_factory=time.monotonic)

    @property
    def invoked_function_arn(self) -> str:
        """The function's ARN in the fictitious account of this machine."""
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until Lambda would end the invocation."""
        return max(0, int((self.timeout - (time.monotonic() - self._started)) * 1000))


@contextmanager
def running(function: str) -> Iterator[None]:
    """Mark the block, and tasks started in it, as the function's."""
    token = current.set(function)
    try:
        yield
    finally:
        current.reset(token)


def load_module(path: Path) -> ModuleType:
    """Load the file at ``path`` as a separate module, however many files share its name.

    Raises ``FunctionProblem`` when it is missing or does not import.
    """
    name = f"local_function_{path.parent.name}_{path.stem}_{next(_module_numbers)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FunctionProblem(f"There is no function code at {path}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as problem:
        del sys.modules[name]
        raise FunctionProblem(f"{path} does not import: {type(problem).__name__}: {problem}") from problem
    return module


def load_web_app(definition: FunctionDefinition) -> AsgiApp:
    """Return the ASGI app that a function's start script serves behind the Lambda Web Adapter: ``app:app``.

    Raises ``FunctionProblem`` if the module is missing, does not import, or has no ``app``.
    """
    with running(definition.name):
        module = load_module(definition.folder / "app.py")
    app: AsgiApp | None = getattr(module, "app", None)
    if app is None:
        raise FunctionProblem(f"{definition.folder / 'app.py'} has no app.")
    return app


class Environment:
    """One instance of a function's module on one thread, with separate module state and clients, as in Lambda."""

    def __init__(self, definition: FunctionDefinition) -> None:
        self._definition = definition
        self._handler: Handler | None = None
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name=definition.name, daemon=True).start()

    def load(self) -> "Future[Any]":
        """Load the function before its first event; the future fails with ``FunctionProblem``."""
        return self._submit(self._get_handler)

    def invoke(self, event: Any) -> "Future[Any]":
        """Hand ``event`` to the handler; the future has the handler's answer or exception."""
        definition = self._definition
        context = LambdaContext(definition.name, definition.timeout, definition.memory)

        def handle() -> Any:
            handler = self._get_handler()
            with log_lines.of(context):
                return handler(event, context)

        return self._submit(handle)

    def end(self) -> None:
        """End the thread when it has handled the events before."""
        self._work.put(None)

    def _get_handler(self) -> Handler:
        if self._handler is None:
            self._handler = self._load()
        return self._handler

    def _load(self) -> Handler:
        """Import the function's module and return its handler. Raises ``FunctionProblem``."""
        definition = self._definition
        module_name, _, attribute = definition.handler.rpartition(".")
        path = definition.folder / f"{module_name}.py"
        handler: Handler | None = getattr(load_module(path), attribute, None)
        if handler is None:
            raise FunctionProblem(f"{path} has no {attribute}.")
        return handler

    def _submit(self, call: Callable[[], Any]) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # a cancelled caller must not cancel it: this thread sets its result
        self._work.put((future, call))
        return future

    def _run(self) -> None:
        current.set(self._definition.name)  # for this thread and everything started from it
        while (item := self._work.get()) is not None:
            future, call = item
            try:
                result = call()
            except BaseException as problem:  # noqa: BLE001  passed on by the future
                future.set_exception(problem)
            else:
                future.set_result(result)


class Function:
    """A Lambda function: as many execution environments as there are events at the same time."""

    def __init__(self, definition: FunctionDefinition) -> None:
        """Load the first environment. Raises ``FunctionProblem`` if the function cannot start."""
        self.definition = definition
        self._lock = threading.Lock()
        self._environments = [Environment(definition)]
        self._environments[0].load().result()
        self._idle = list(self._environments)

    def invoke(self, event: Any) -> "Future[Any]":
        """Hand ``event`` to an idle environment, or to a new one; the future has the answer or the exception."""
        with self._lock:
            environment = self._idle.pop() if self._idle else None
        if environment is None:
            environment = Environment(self.definition)
            self._environments.append(environment)
        future = environment.invoke(event)
        future.add_done_callback(lambda _: self._idle.append(environment))
        return future

    def end(self) -> None:
        """End every environment, once it has handled its events."""
        for environment in self._environments:
            environment.end()
