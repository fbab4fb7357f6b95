"""Run in a separate interpreter, which knows only the given packages: start a function, give it one event.

Standard input says what: folders of packages, module, handler and event. The answer, or the exception's name and text,
goes to the last line of standard output. Without a handler the module has a web app, which is asked for its health.
"""

import asyncio
import importlib
import json
import sys
from typing import Any


class Context:
    """The attributes of Lambda's context that handlers and Powertools use."""

    function_name = memory_limit_in_mb = invoked_function_arn = aws_request_id = "one"

    def get_remaining_time_in_millis(self) -> int:
        return 120_000


async def health(app: Any) -> int:
    """The status of ``GET /health``."""
    answered: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        answered.append(message)

    scope = {"type": "http", "method": "GET", "path": "/health", "raw_path": b"/health", "query_string": b""}
    await app({**scope, "headers": [], "asgi": {"version": "3.0"}, "scheme": "http", "root_path": ""}, receive, send)
    status: int = answered[0]["status"]
    return status


def main() -> Any:
    """Start the function and return its answer."""
    wanted = json.loads(sys.stdin.read())
    sys.path[:0] = wanted["packages"]
    module = importlib.import_module(wanted["module"])
    if wanted["handler"] is None:
        return asyncio.run(health(module.app))
    try:
        return getattr(module, wanted["handler"])(wanted["event"], Context())
    except Exception as problem:  # noqa: BLE001  for the test to judge
        return f"{type(problem).__name__}: {problem}"


if __name__ == "__main__":
    answer = json.dumps(main())
    sys.stdout.write(f"\n{answer}\n")
    sys.stdout.flush()
