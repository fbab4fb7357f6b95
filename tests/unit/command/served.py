"""A server of scripted answers, and the command run against it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner, Result

from baton_client.command import app
from baton_client.command.session import Environment

Json = dict[str, Any]
URL = "http://baton.test"
Answer = httpx.Response | Callable[[httpx.Request], httpx.Response]


def stream(*events: Json) -> httpx.Response:
    """The events of a run, numbered, as the server sends them."""
    lines = []
    for number, event in enumerate(events, 1):
        lines.append("data: " + json.dumps({"metadata": {"seq": number}, **event}) + "\n\n")
    return httpx.Response(200, text="".join(lines), headers={"content-type": "text/event-stream"})


def problem(status: int, code: str, detail: str = "Something is wrong.") -> httpx.Response:
    """An answer that is an error."""
    return httpx.Response(status, json={"code": code, "detail": detail, "status": status})


def listing(*items: Json, cursor: str | None = None) -> httpx.Response:
    """Return a page of a list."""
    return httpx.Response(200, json={"items": list(items), "nextCursor": cursor})


@dataclass
class ScriptedServer:
    """A server that answers requests by method and path, and keeps them."""

    folder: Path
    """Of the command's configuration."""
    variables: dict[str, str] = field(default_factory=lambda: {"BATON_URL": URL, "BATON_TOKEN": "secret"})
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)

    def answer(self, request: str, *answers: Answer) -> None:
        """Answer requests such as ``GET /v1/threads`` by these in turn; the last one stays."""
        self.answers[request] = list(answers)

    def run(self, *arguments: str, typed: str | None = None) -> Result:
        """Run the command."""
        environment = Environment(
            variables=self.variables, folder=self.folder, transport=httpx.MockTransport(self._answered)
        )
        return CliRunner().invoke(app, list(arguments), obj=environment, input=typed)

    def sent(self, request: str) -> list[httpx.Request]:
        """The requests of that method and path."""
        return [
            request_sent
            for request_sent in self.requests
            if f"{request_sent.method} {request_sent.url.path}" == request
        ]

    def _answered(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        scripted = self.answers.get(f"{request.method} {request.url.path}")
        if not scripted:
            return problem(404, "not_found", f"No {request.method} {request.url.path}.")
        answer = scripted.pop(0) if len(scripted) > 1 else scripted[0]
        return answer(request) if callable(answer) else answer
