"""A simulator of IAM, `@cloud-copilot/iam-simulate`, which knows conditions, wildcards and bucket policies."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.npm import install, program

HERE = Path(__file__).parent

Json = dict[str, Any]


@dataclass(frozen=True)
class Grant:
    """An action on a resource pattern that a statement of a role allows."""

    role: str
    action: str
    resource: str

    def __str__(self) -> str:
        return f"{self.role}: {self.action} on {self.resource}"


@dataclass(frozen=True)
class Asked:
    """A request to AWS by a function, or by a service in the name of a role."""

    function: str
    role: str
    action: str
    resource: str
    context: Json = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.function} as {self.role or 'nobody'}: {self.action} on {self.resource}"


@dataclass(frozen=True)
class Decision:
    """The result of one request."""

    result: str
    """``Allowed``, ``ImplicitlyDenied``, ``ExplicitlyDenied``, or ``Error`` for what IAM could not be asked."""
    why: str
    uses: frozenset[Grant]
    """The grants it was allowed by."""


def decide(
    questions: Iterable[Asked], roles: dict[str, list[Json]], bucket_policy: Json | None = None
) -> list[Decision]:
    """Decide each request by the policies of its role, and by the bucket's where it is about S3."""
    requests = [
        {
            **asdict(question),
            "policies": roles.get(question.role, []),
            "resourcePolicy": bucket_policy if question.action.startswith("s3:") else None,
        }
        for question in questions
    ]
    command = [program("node"), HERE / "simulate.mjs", install(HERE)]
    done = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [
        Decision(
            decision["result"],
            decision["why"],
            frozenset(Grant(request["role"], use["action"], use["resource"]) for use in decision["uses"]),
        )
        for request, decision in zip(requests, json.loads(done.stdout), strict=True)
    ]


def grants(roles: dict[str, list[Json]]) -> set[Grant]:
    """Everything that the roles allow."""
    return {
        Grant(role, action, resource)
        for role, documents in roles.items()
        for document in documents
        for statement in document["Statement"]
        if statement["Effect"] == "Allow"
        for action in _list(statement["Action"])
        for resource in _list(statement["Resource"])
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
