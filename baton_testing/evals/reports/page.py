"""The page of an evaluation: one HTML file without scripts and external resources."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from baton_testing.evals.comparison import Comparison
from baton_testing.evals.reports.table import describe_state, make_footer, show_interval, show_mean
from baton_testing.evals.results import EvaluationRecord, count
from baton_testing.evals.summary import Summary

MAX_CASES = 500
"""The most cases that are shown in detail. Those that did not pass are first."""


def write_page(record: EvaluationRecord, summary: Summary, comparison: Comparison | None, path: Path) -> None:
    """Write the page to a file, and create its folder. All texts are escaped."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"mean": show_mean, "interval": show_interval, "counted": count}
    template = environment.from_string((files(__package__ or "") / "page.html").read_text(encoding="utf-8"))
    cases = sorted(record.cases, key=lambda case: 1.0 if case.share is None else case.share)
    page = template.render(
        record=record,
        summary=summary,
        comparison=comparison,
        cases=[(case, *describe_state(case)) for case in cases[:MAX_CASES]],
        left_out=max(0, len(cases) - MAX_CASES),
        lines=make_footer(record, summary),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8", errors="replace")
