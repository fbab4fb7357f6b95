"""Fresh execution environments of one function, and their first requests: ``python -m tests.e2e.first_request NAME``.

Runs in the environment of a running local cloud. Each line of standard input is an event, or for the function that
serves a web app a token and the body of ``POST /v1/runs`` or of another ``path``. It goes to a copy of the process as
it was when the function was loaded. For each, standard output gets one object: the answer, and the modules that were
loaded only for it; or that there is none.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from types import ModuleType
from typing import Any, NoReturn

import httpx

from baton_local.functions import LambdaContext, load_module
from baton_local.root import ROOT


def main(name: str) -> None:
    """Load the function as Lambda does, then send its copies their first requests."""
    module = load_module(ROOT / "functions" / name / "app.py")
    for line in sys.stdin:
        copy = os.fork()
        if copy == 0:
            _answer(name, module, json.loads(line))
        if os.waitpid(copy, 0)[1] != 0:
            sys.stdout.write(json.dumps({"answer": None, "loaded": None}) + "\n")
            sys.stdout.flush()


def _answer(name: str, module: ModuleType, request: dict[str, Any]) -> NoReturn:
    before = set(sys.modules)
    if name == "streams":
        answer = asyncio.run(_post(module.app, request))
    else:
        answer = module.handler(request, LambdaContext(name, 60, 1024))
    loaded = sorted(set(sys.modules) - before)
    sys.stdout.write(json.dumps({"answer": answer, "loaded": loaded}) + "\n")
    sys.stdout.flush()
    os._exit(0)  # threads of the SDKs may still wait


async def _post(app: Any, request: dict[str, Any]) -> str:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://baton.test") as client:
        headers = {"Authorization": f"Bearer {request['token']}", **request.get("headers", {})}
        return (await client.post(request.get("path", "/v1/runs"), json=request["body"], headers=headers)).text


if __name__ == "__main__":
    main(sys.argv[1])
