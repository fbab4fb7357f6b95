"""The JSON Schema of a data set's lines, by which editors complete and check."""

from __future__ import annotations

from typing import Any

from baton_local.agent_schema import described_schema
from baton_testing.evals.dataset import EvalCase


def case_schema() -> dict[str, Any]:
    """Return the schema of a case. Fields have the descriptions of their docstrings."""
    return described_schema(EvalCase, "A case of an evaluation of Baton", by_alias=True)
