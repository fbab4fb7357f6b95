"""Reports for people."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from baton_testing.reports.report import Report
from baton_testing.reports.result import ConversationResult, RunResult

MAX_TRANSCRIPT_LINES = 14
"""The number of last lines of a failed conversation's transcript that are shown."""


class Terminal:
    """A terminal for results as they arrive, and for the summary."""

    def __init__(self, console: Console | None = None) -> None:
        # Texts of models must not be interpreted as markup, or highlighted.
        self._console = console or Console(markup=False, highlight=False, emoji=False, soft_wrap=True)

    def print_result(self, result: ConversationResult) -> None:
        """Print one test: a line, then the failures of its first failed run, or the warnings if the test passed."""
        mark, style = ("passed", "green") if result.passed else ("FAILED", "bold red")
        line = Text(f"{mark:7}", style=style)
        line.append(make_printable(f"{result.file}:{result.line} "), style="dim")
        line.append(make_printable(result.name), style="default")
        line.append(_describe_measures(result), style="dim")
        self._console.print(line)
        failing = result.failing
        if not result.passed and failing is not None:
            self._print_failing_run(failing)
        else:
            self._print_notes(dict.fromkeys(warning for run in result.runs for warning in run.warnings))

    def print_summary(self, report: Report) -> None:
        """Print the numbers of tests that passed, failed and were not run, and the estimates of pass^k."""
        passed = len(report.results) - len(report.failed)
        parts = [f"{passed} passed"]
        if report.failed:
            parts.append(f"{len(report.failed)} failed")
        if report.not_run:
            parts.append(f"{report.not_run} not run")
        summary = f"{', '.join(parts)} in {report.seconds:.1f} s"
        for k, value in report.pass_hat.items():
            summary += f"\npass^{k} {value:.3f}"
        self._console.print(Text(summary, style="bold green" if report.passed else "bold red"))

    def _print_failing_run(self, run: RunResult) -> None:
        self._print_notes(run.notes)
        transcript = run.transcript[-MAX_TRANSCRIPT_LINES:]
        if len(transcript) < len(run.transcript):
            self._console.print(Text("    ...", style="dim"))
        for transcript_line in transcript:
            self._console.print(Text(f"    {make_printable(transcript_line)}", style="dim"))
        for failure in run.failures:
            self._console.print(
                Text(f"  {make_printable(failure.place)}  {make_printable(failure.step)}", style="bold")
            )
            self._console.print(Text(f"    expected: {make_printable(failure.expected)}", style="green"))
            lines = failure.happened.splitlines() or [""]
            self._console.print(Text(f"    happened: {make_printable(lines[0])}", style="red"))
            for line in lines[1:]:
                self._console.print(Text(f"      {make_printable(line)}", style=_choose_style(line)))

    def _print_notes(self, notes: Iterable[str]) -> None:
        for note in notes:
            self._console.print(Text(f"    note: {make_printable(note)}", style="yellow"))


def _describe_measures(result: ConversationResult) -> str:
    first = result.runs[0]
    measures = f"  {first.milliseconds:.0f} ms, {first.tokens} tokens"
    return f"{measures}, {result.passes} of {len(result.runs)} runs" if len(result.runs) > 1 else measures


def _choose_style(line: str) -> str:
    return "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"


def make_printable(text: str) -> str:
    """Return a text with spaces for control characters, which a terminal would execute."""
    return "".join(character if character.isprintable() else " " for character in text)
