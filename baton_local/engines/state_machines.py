"""Run executions in moto's Step Functions, with tasks that call functions of this process."""

import json
import logging
import re
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any

logger = logging.getLogger("baton_local.state_machines")

AT_ONCE = 4
"""The most tasks of all executions that run at the same time. Others wait, so that users' requests are answered."""
KEPT_DEFINITIONS = 16
"""The number of parsed definitions that are cached."""

Invoke = Callable[[str, Any], Any]
"""(function name, event) -> the function's result; raises the function's exceptions."""


@contextmanager
def executed(invoke: Invoke) -> Iterator[Callable[[], None]]:
    """Run executions during the block, with ``invoke`` for Lambda tasks. Only one block at a time in a process.

    The block gets a function that loads moto's interpreter of state machines, and must call it before the first
    execution: loading takes a third of a second, and many runs of a local cloud have no execution.
    """
    from moto.core.config import default_user_config

    logging.getLogger("moto.stepfunctions").setLevel(logging.ERROR)  # it reports every state as a warning
    default_user_config["stepfunctions"] = {"execute_state_machine": True}
    with ExitStack() as stack:

        def load() -> None:
            from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils

            def call_with(tasks: Invoke) -> None:
                lambda_eval_utils._invoke_lambda_function = _make_invocation(tasks)

            call_with(invoke)
            # moto's own function is not restored, because an execution that waits for a retry must not call it.
            stack.callback(call_with, _refuse)

        yield load


def keep_parsed_definitions() -> None:
    """Make moto parse each definition once, not for every execution, whose slowest part it is.

    Executions can share the parsed definition, because each keeps its state in a separate environment.
    """
    from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

    read = AmazonStateLanguageParser.parse
    if not hasattr(read, "cache_info"):
        AmazonStateLanguageParser.parse = staticmethod(lru_cache(KEPT_DEFINITIONS)(read))  # type: ignore[method-assign]


def _make_invocation(invoke: Invoke) -> Callable[..., dict[str, Any]]:
    """Return a function in place of moto's, which calls ``invoke`` for at most ``AT_ONCE`` tasks at the same time."""
    slots = threading.BoundedSemaphore(AT_ONCE)

    def answer_invoke(parameters: dict[str, Any], region: str, state_credentials: object) -> dict[str, Any]:
        """Answer like Lambda's Invoke. An exception becomes the error object of Lambda's runtime."""
        name = _read_function_name(parameters["FunctionName"])
        try:
            with slots:
                answer = json.loads(json.dumps(invoke(name, json.loads(parameters["Payload"]))))
        except Exception as problem:  # noqa: BLE001  a function may raise anything; the state machine deals with it
            logger.warning("%s failed in a state machine: %s: %s", name, type(problem).__name__, problem)
            error = {
                "errorMessage": str(problem),
                "errorType": getattr(problem, "error_type", type(problem).__name__),
                "stackTrace": traceback.format_tb(problem.__traceback__),
            }
            return {"StatusCode": 200, "FunctionError": "Unhandled", "Payload": error}
        return {"StatusCode": 200, "Payload": answer}

    return answer_invoke


def _read_function_name(function: str) -> str:
    """Return the name of a function, given by its ARN, with or without a version or alias, or by its name."""
    match = re.search(r"function:([^:]+)", function)
    return match[1] if match else function


def _refuse(name: str, event: Any) -> Any:
    raise RuntimeError(f"The local cloud has stopped, and {name} with it.")
