"""Cases of evaluations, and clients of served harnesses that they are held with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from baton_client import AsyncBaton
from baton_testing.evals.dataset import EvalCase
from baton_testing.evals.reading import ReadCase
from tests.unit.api.served import Served


def client_of(served: Served, user: str, *permissions: str) -> AsyncBaton:
    """Return a client over the API of a harness."""
    token = ",".join([served.harness.ada.tenant_id, user, *permissions])
    http = httpx.AsyncClient(transport=httpx.ASGITransport(served.app))
    return AsyncBaton("http://baton.test", token=token, http_client=http, time_zone="", max_retries=0)


def case(**fields: Any) -> ReadCase:
    values = {"name": "A case", "input": ["Hello", "Where is A-1001?"], **fields}
    return ReadCase(Path("cases.jsonl"), 1, EvalCase.model_validate(values))
