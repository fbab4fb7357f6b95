"""A cold start and a first request of one function, for ``benchmarks.cold_start``: ``python -P cold_start_process.py``.

The process has the environment of a function in Lambda, and a path with only its folder and layers. The arguments are
the module to load and the request as JSON, which may be null. The process prints the CPU seconds (user and system) of
the start and of the first request, and the number of modules that each has loaded.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from types import ModuleType, SimpleNamespace
from typing import Any

CONTEXT = SimpleNamespace(
    function_name="function",
    memory_limit_in_mb=1024,
    invoked_function_arn="arn:aws:lambda:us-east-1:000000000000:function:function",
    aws_request_id="00000000-0000-4000-8000-000000000000",
    get_remaining_time_in_millis=lambda: 60_000,
)


def main(module: str, request: str) -> None:
    """Load the module, handle the request, and print the report. Raises ``SystemExit`` if the answer is an error."""
    loaded = importlib.import_module(module)
    started, modules = time.process_time(), len(sys.modules)
    parsed = json.loads(request)
    if parsed is not None:
        _answer(loaded, parsed)
    report = {
        "start": started,
        "modules": modules,
        "first": time.process_time() - started if parsed is not None else None,
        "later": len(sys.modules) - modules,
    }
    sys.stdout.write("\n" + json.dumps(report) + "\n")


def _answer(module: ModuleType, request: Any) -> None:
    """Handle the request. Raises ``SystemExit`` if the answer is an error."""
    if hasattr(module, "handler"):
        answer = module.handler(request, CONTEXT)
        status = 500 if answer.get("batchItemFailures") else answer.get("statusCode", 200)
    else:
        status = asyncio.run(_call(module.app, request))
    if status != 200:
        raise SystemExit(f"The first request was answered with {status}.")


async def _call(app: Any, request: dict[str, Any]) -> int:
    """Post the request's body to an ASGI application, and return the status of its answer, read to the end."""
    body = json.dumps(request["body"]).encode()
    headers = {"host": "api.test", "content-type": "application/json", "content-length": str(len(body))}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "https",
        "path": request["path"],
        "raw_path": request["path"].encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in {**headers, **request["headers"]}.items()],
        "server": ("api.test", 443),
        "client": ("127.0.0.1", 1),
        "state": {},
    }
    sent: list[dict[str, Any]] = []
    bodies = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if bodies:
            return bodies.pop()
        await asyncio.Event().wait()  # the client stays connected until it has the answer
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    status: int = sent[0]["status"]
    return status


if __name__ == "__main__":
    main(*sys.argv[1:])
