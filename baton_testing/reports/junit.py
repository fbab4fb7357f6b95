"""Reports for continuous integration, as JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from junitparser import Failure as JUnitFailure
from junitparser import JUnitXml, TestCase, TestSuite

from baton_testing.reports.report import Report
from baton_testing.reports.result import ConversationResult

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that are not allowed in XML 1.0."""
MAX_MESSAGE = 300
"""The most characters of a failure's message."""


def write_junit(report: Report, path: Path) -> None:
    """Write a suite for each file, with a case for each conversation."""
    cases = ((str(result.file), _make_case(result)) for result in report.results)
    write_suites("baton test", cases, path)


def write_suites(name: str, cases: Iterable[tuple[str, TestCase]], path: Path) -> None:
    """Write a suite for each file, from pairs of a file's name and a case."""
    suites: dict[str, TestSuite] = {}
    for file, case in cases:
        suites.setdefault(file, TestSuite(clean_for_xml(file))).add_testcase(case)
    xml = JUnitXml(clean_for_xml(name))
    for suite in suites.values():
        xml.add_testsuite(suite)
    xml.update_statistics()  # type: ignore[no-untyped-call]
    path.parent.mkdir(parents=True, exist_ok=True)
    xml.write(str(path), pretty=True)


def _make_case(result: ConversationResult) -> TestCase:
    seconds = sum(run.seconds for run in result.runs)
    case = TestCase(clean_for_xml(result.name), clean_for_xml(str(result.file.with_suffix(""))), round(seconds, 3))
    failing = result.failing
    if not result.passed and failing is not None:
        failures = [
            f"{failure.place} {failure.step}\nexpected: {failure.expected}\nhappened: {failure.happened}"
            for failure in failing.failures
        ]
        message = f"{failing.failures[0].expected}: {failing.failures[0].happened}"
        failure = JUnitFailure(clean_for_xml(message)[:MAX_MESSAGE], "expectation")
        failure.text = clean_for_xml("\n\n".join([*failures, *failing.notes, "\n".join(failing.transcript)]))
        case.result = [failure]
    return case


def clean_for_xml(text: str) -> str:
    """Return a text with U+FFFD for each character that is not allowed in XML."""
    return _NO_XML.sub("\ufffd", text)
