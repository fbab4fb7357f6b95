"""Execution environments: the processes of a built function, started, frozen between invocations, and ended."""

import contextlib
import logging
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from baton_local.lambda_runtime.invocations import FunctionFailed, Invocation
from baton_local.lambda_runtime.log_levels import is_kept
from baton_local.lambda_runtime.runtime_api import RuntimeApi

logger = logging.getLogger("baton_local.functions")

FREEZER = Path(__file__).with_name("freezer.py")
BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
START = """
[ -z "$1" ] || mount -t overlay overlay -o "lowerdir=$1:/opt" /opt || exit 97
cd "$LAMBDA_TASK_ROOT" || exit 97
for extension in /opt/extensions/*; do
    if [ -x "$extension" ]; then "$extension" & fi
done
case "$AWS_LAMBDA_EXEC_WRAPPER" in
    /var/task/*) AWS_LAMBDA_EXEC_WRAPPER="$LAMBDA_TASK_ROOT/${AWS_LAMBDA_EXEC_WRAPPER#/var/task/}" ;;
esac
exec $AWS_LAMBDA_EXEC_WRAPPER python "$2" "$_HANDLER"
"""
"""A script for a separate mount namespace. /opt has the layers, read-only; extensions start before the runtime.

A wrapper of the function's own is named by its path in Lambda, where /var/task is LAMBDA_TASK_ROOT."""
STOP_SECONDS = 5.0
TAIL = 20
"""The number of last lines that are logged in this process when an environment ends by itself."""


@dataclass(frozen=True)
class Code:
    """A function's files and variables."""

    name: str
    layers: tuple[Path, ...]
    """Folders of /opt; files of later ones hide files of earlier ones."""
    variables: Mapping[str, str]
    timeout: float
    """Seconds."""
    log_level: str
    namespace: tuple[str, ...]
    """The command that runs another in a separate mount namespace."""


class ExecutionEnvironment:
    """One environment of a function. It handles one event at a time and is frozen while it waits for the next."""

    def __init__(
        self,
        code: Code,
        log: Callable[[str], None],
        on_idle: Callable[["ExecutionEnvironment"], None],
        on_end: Callable[["ExecutionEnvironment"], None],
    ) -> None:
        """Start the processes. ``log`` gets the lines that Lambda keeps; ``on_idle`` and ``on_end`` are callbacks."""
        self._code, self._log, self._on_idle, self._on_end = code, log, on_idle, on_end
        self._timer: threading.Timer | None = None
        self._end_reason = FunctionFailed("Runtime.ExitError", "The runtime ended before it answered.")
        self._is_used = False
        self._is_ending = False
        self._tail: deque[str] = deque(maxlen=TAIL)
        self._api = RuntimeApi(self._start_timer, self._become_idle, self._fail_init)
        variables = {**code.variables, "AWS_LAMBDA_RUNTIME_API": self._api.address}
        layers = ":".join(map(str, reversed(code.layers)))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", FREEZER, *code.namespace, "sh", "-c", START, "sh", layers, BOOTSTRAP],
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches only this process
        )
        self._reader = threading.Thread(target=self._follow, name=f"{code.name} environment", daemon=True)
        self._reader.start()

    def invoke(self, invocation: Invocation) -> None:
        """Thaw the processes and give them an event. The environment must be new or idle."""
        self._is_used = True
        self._order(b"t")
        self._api.put(invocation)

    def end(self) -> None:
        """Kill the processes, and wait for their end. A repetition is not an error."""
        self._is_ending = True
        self._kill()
        if threading.current_thread() is not self._reader:
            self._reader.join(STOP_SECONDS)

    def _become_idle(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self._is_used:  # a new environment is about to get its first event
            self._is_used = False
            self._order(b"f")
            self._on_idle(self)

    def _start_timer(self, invocation: Invocation) -> None:
        self._timer = threading.Timer(invocation.timeout, self._time_out, (invocation,))
        self._timer.daemon = True
        self._timer.start()

    def _time_out(self, invocation: Invocation) -> None:
        problem = FunctionFailed(
            "Sandbox.Timedout",
            f"RequestId: {invocation.id} Error: Task timed out after {invocation.timeout:.2f} seconds",
        )
        self._end_reason = problem
        self._kill()

    def _fail_init(self, problem: FunctionFailed) -> None:
        self._end_reason = problem
        self._kill()

    def _kill(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            if self._process.stdin:
                self._process.stdin.close()

    def _order(self, order: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):  # the process has ended, which ``_follow`` handles
            if self._process.stdin:
                self._process.stdin.write(order)
                self._process.stdin.flush()

    def _follow(self) -> None:
        """Read the log until all processes have ended, then fail the invocations without an answer."""
        for line in self._process.stdout or ():
            text = line.decode("utf-8", "replace").rstrip("\n")
            self._tail.append(text)
            if is_kept(text, self._code.log_level):
                self._log(text)
        self._process.wait()
        if not self._is_ending:
            logger.warning("An environment of %s ended:\n%s", self._code.name, "\n".join(self._tail))
        if self._timer:
            self._timer.cancel()
        self._api.close()
        self._on_end(self)
        self._api.fail_all(self._end_reason)
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()
