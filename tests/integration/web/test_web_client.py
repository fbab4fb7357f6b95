"""The tests of what browsers load run with all others, and what its client asks for exists."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from baton.api.application import create_app
from baton_local import web

API = web.SOURCES / "client" / "src" / "api.ts"
METHOD = re.compile(r"^  (?:async )?(\w+)\((.*?)^  }$", re.MULTILINE | re.DOTALL)
"""A method of the class, with its body."""
ADDRESS = re.compile(r"""[`"](/v1/[^`"]*)[`"]""")
PARAMETERS = re.compile(r"parameters\(\{ (.*?) \}\)")


def list_requests() -> Iterator[tuple[str, str, list[str]]]:
    """The HTTP method, the path and the query parameters of each request of the client."""
    for _, body in METHOD.findall(API.read_text()):
        for address in ADDRESS.findall(body):
            named = PARAMETERS.search(body)
            options = re.sub(r'"[^"]*"', "", named[1]).split(",") if named else []
            query = [item.partition(":")[0].strip() for item in options]
            path = re.sub(r"\$\{parameters\(.*", "", address)
            method = re.search(r'method: "(\w+)"', body)
            yield method[1] if method else "GET", re.sub(r"\$\{.*?\)\}", "{}", path), query


@pytest.mark.follows_processes
def test_the_tests_of_the_javascript_client_pass() -> None:
    assert "fail 0" in web.run_script("test")


def test_the_lock_file_names_no_registry() -> None:
    assert '"resolved"' not in (web.SOURCES / "package-lock.json").read_text()


def test_the_javascript_client_asks_for_nothing_that_the_api_does_not_have() -> None:
    def unused() -> None:
        raise AssertionError

    described = {
        (method.upper(), re.sub(r"\{\w+\}", "{}", path)): {
            parameter["name"] for parameter in operation.get("parameters", ())
        }
        for path, item in create_app(unused).openapi()["paths"].items()  # type: ignore[arg-type, return-value]
        for method, operation in item.items()
    }
    requests = list(list_requests())
    assert len(requests) >= 8
    for method, path, query in requests:
        assert (method, path) in described
        assert set(query) <= described[method, path], path
