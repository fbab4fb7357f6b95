"""Modules of routes are imported by the first request that may be for one of their routes."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Match

from baton.api.http.addresses import DeferredRoutes, list_deferred_routes
from baton_local.root import ROOT

SCRIPT = """
import asyncio, json, sys
import httpx
from baton.api.application import create_app

async def ask(path):
    transport = httpx.ASGITransport(create_app(None))
    async with httpx.AsyncClient(transport=transport, base_url="http://baton.test") as client:
        return (await client.get(path)).status_code

statuses = [asyncio.run(ask(path)) for path in sys.argv[1:]]
modules = [name.removeprefix("baton.api.") for name, module in sys.modules.copy().items()
           if name.startswith("baton.api.") and hasattr(module, "router")]
print(json.dumps([statuses, sorted(modules)]))
"""


def ask(*paths: str) -> tuple[list[int], list[str]]:
    """Ask a new process for ``paths`` without a token. Return the statuses, and the modules of routes it has loaded."""
    command = [sys.executable, "-c", SCRIPT, *paths]
    statuses, modules = json.loads(subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT).stdout)
    return statuses, modules


def test_a_request_imports_the_routes_of_its_noun_only() -> None:
    assert ask("/health", "/v1/nothing", "/v2/threads") == ([200, 404, 404], [])
    assert ask("/v1/skills/s/t", "/v1/tenant/limits/x") == ([404, 404], [])


@pytest.mark.parametrize("deferred", list_deferred_routes(), ids=lambda entry: entry.module)
def test_the_paths_of_a_module_are_listed(deferred: DeferredRoutes) -> None:
    """A path that is missing would answer 404. One that is left over would import the module in vain."""
    routes = [route for route in deferred.routes if isinstance(route, APIRoute)]
    assert len(routes) == len(deferred.routes) > 0
    examples = [re.sub(r"\{\w+(:\w+)?\}", "8b1d6a51-9d0e-5f0c-a3b1-6a1f5c557b11", route.path) for route in routes]
    for path, route in zip(examples, routes, strict=True):
        scope = {"type": "http", "path": path, "method": min(route.methods), "headers": [], "app": None}
        assert deferred.includes(path), route.path
        assert deferred.matches(scope)[0] is Match.FULL, route.path
    for listed in deferred.paths:
        if "*" not in listed:
            assert any(path == listed for path in (re.sub(r"\{[^}]*\}", "{}", route.path) for route in routes)), listed
