"""Reports of evaluations for continuous integration, as JUnit XML."""

from __future__ import annotations

from pathlib import Path

from junitparser import Failure, Skipped, TestCase

from baton_testing.evals.results import CaseRecord, EvaluationRecord, count
from baton_testing.reports.junit import MAX_MESSAGE, clean_for_xml, write_suites


def write_junit(record: EvaluationRecord, path: Path) -> None:
    """Write a suite for each data set, with a case for each of its cases.

    A case fails if one of its runs failed. It is skipped if none of its runs was judged or took place.
    """
    placed = ((case, case.place.rpartition(":")[0]) for case in record.cases)
    write_suites(f"baton eval {record.label}", ((file, _make_case(case, file)) for case, file in placed), path)


def _make_case(case: CaseRecord, file: str) -> TestCase:
    test_case = TestCase(clean_for_xml(case.name), clean_for_xml(file), round(sum(run.seconds for run in case.runs), 3))
    weak = next((run for run in case.runs if run.passed is False), None)
    if weak is not None:
        failure = Failure(clean_for_xml("; ".join(weak.reasons))[:MAX_MESSAGE], "check")
        share = f"{case.passes} of {count(len(case.judged), 'run')} passed"
        failure.text = clean_for_xml("\n".join([f"{case.place}: {share}", *weak.reasons, "", *weak.transcript]))
        test_case.result = [failure]
    elif not case.judged:
        reasons = [reason for run in case.runs for reason in run.reasons] or ["it did not take place"]
        test_case.result = [Skipped(clean_for_xml(f"not judged: {reasons[0]}")[:MAX_MESSAGE])]
    return test_case
