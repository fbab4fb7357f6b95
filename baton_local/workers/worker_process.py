"""A process that runs the queue-fed functions and may be killed: ``python -m baton_local.workers.worker_process``.

``worker_processes`` starts it and polls the queue. It writes requests to this process's standard input and reads
answers from its standard output, a JSON object a line. This process ends when standard input closes, so it never
outlives the local cloud.
"""

import json
import os
import sys
import threading
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from baton_local.errors import LocalCloudError
from baton_local.execution import as_deployed
from baton_local.functions import Function
from baton_local.garbage import without_collection
from baton_local.settings import read_settings
from baton_local.stack.declarations import Stack, read_stack
from baton_local.stack.template import Endpoints

READY = "ready"
"""The key of the first line, whose value is the id of this process."""


class Answers:
    """A writer of answers in the order in which they are ready."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, answer: dict[str, Any]) -> None:
        """Write one line."""
        line = json.dumps(answer) + "\n"
        with self._lock:
            self._stream.write(line)
            self._stream.flush()

    def write_result(self, number: int, future: "Future[Any]") -> None:
        """Write the result of request ``number``."""
        problem = future.exception()
        if problem is None:
            self.write({"request": number, "answer": future.result()})
        else:
            self.write({"request": number, "error": f"{type(problem).__name__}: {problem}"})


def main() -> int:
    """Handle requests until standard input closes, and return 0; return 1 after an error, which is printed."""
    answers = Answers(os.fdopen(os.dup(1), "w"))
    os.dup2(2, 1)  # send output of functions to stderr, because stdout carries the answers
    try:
        settings = read_settings()
        stack = read_stack(
            Path(os.environ["BATON_LOCAL_TEMPLATE"]),
            {"Stage": "local"},
            Endpoints(gateway="", sockets="", connections="", queues=os.environ["AWS_ENDPOINT_URL_SQS"]),
            settings.cache_dir,
        )
        with as_deployed(stack, settings):
            serve(stack, answers)
    except LocalCloudError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def serve(stack: Stack, answers: Answers) -> None:
    """Load the functions, and handle requests until standard input closes."""
    with without_collection():
        functions = {consumer.function: Function(stack.functions[consumer.function]) for consumer in stack.consumers}
    answers.write({READY: os.getpid()})
    for line in sys.stdin:
        request = json.loads(line)
        future = functions[request["function"]].invoke(request["event"])
        future.add_done_callback(partial(answers.write_result, request["request"]))


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # handlers may still be inside a call
