"""The results of an evaluation as one JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from baton_testing.evals.comparison import Comparison
from baton_testing.evals.results import EvaluationRecord
from baton_testing.evals.summary import Summary


def as_json(record: EvaluationRecord, summary: Summary, comparison: Comparison | None) -> dict[str, Any]:
    """Return the results as JSON values: the record's fields, ``summary``, and ``comparison`` if there is one."""
    results = record.model_dump(mode="json", by_alias=True)
    results["summary"] = summary.model_dump(mode="json", by_alias=True)
    if comparison is not None:
        results["comparison"] = comparison.model_dump(mode="json", by_alias=True) | {
            "verdict": comparison.verdict.value
        }
    return results


def write_json(record: EvaluationRecord, summary: Summary, comparison: Comparison | None, path: Path) -> None:
    """Write the results to a JSON file, and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(as_json(record, summary, comparison), indent=1, ensure_ascii=True)
    path.write_text(text + "\n", encoding="utf-8")
