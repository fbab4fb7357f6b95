"""Results in the form in which they are sent to a server."""

from __future__ import annotations

import json
import secrets
from statistics import fmean
from typing import Any

from baton.domain.tenants.evaluation import MAX_CASES, MAX_EVALUATION_BYTES, MAX_METRICS
from baton_testing.evals.results import CaseRecord, EvaluationRecord, cut
from baton_testing.evals.summary import Summary

MAX_LABEL = 200
"""The most characters of a label or a model's name."""
MAX_REASONS = 5
"""The most reasons of a case."""
MAX_REASON = 300
"""The most characters of a reason."""


def make_request(record: EvaluationRecord, summary: Summary) -> dict[str, Any]:
    """Return the body of ``POST /v1/evaluations``: numbers and reasons, without answers and transcripts.

    Cases that did not pass are first. Cases without runs, and cases over the limits of count and size, are
    left out and counted.
    """
    cases = sorted(record.cases, key=lambda case: 1.0 if case.share is None else case.share)
    sent_cases = [_make_case(case) for case in cases if case.runs][:MAX_CASES]
    while len(sent_cases) > 1 and len(json.dumps(sent_cases)) > MAX_EVALUATION_BYTES // 2:
        sent_cases = sent_cases[: len(sent_cases) // 2]
    return {
        "name": secrets.token_hex(6),
        "label": cut(record.label, MAX_LABEL),
        "model": cut(record.model, MAX_LABEL),
        "judge": cut(record.judge, MAX_LABEL) if record.judge is not None else None,
        "beganAt": record.began_at.isoformat(),
        "seconds": record.seconds,
        "tokens": summary.tokens,
        "usd": summary.usd,
        "notRun": summary.not_run,
        "metrics": [metric.model_dump(by_alias=True) for metric in summary.metrics[:MAX_METRICS]],
        "cases": sent_cases,
        "casesLeftOut": len(cases) - len(sent_cases),
        "agentId": record.agent_id,
        "agentVersion": record.agent_version,
    }


def _make_case(case: CaseRecord) -> dict[str, Any]:
    values: dict[str, list[float]] = {}
    for run in case.runs:
        for score in run.scores:
            values.setdefault(score.metric, []).extend([] if score.value is None else [score.value])
    reasons = list(dict.fromkeys(cut(reason, MAX_REASON) for run in case.runs for reason in run.reasons))
    return {
        "name": case.name,
        "runs": len(case.runs),
        "judged": len(case.judged),
        "passes": case.passes,
        "metrics": {name: fmean(scores) if scores else None for name, scores in values.items()},
        "reasons": reasons[:MAX_REASONS],
        "tags": list(case.tags),
    }
