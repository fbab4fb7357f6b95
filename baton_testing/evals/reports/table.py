"""The result of an evaluation, for people in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from baton_testing.evals.comparison import Comparison, Verdict
from baton_testing.evals.results import CaseRecord, EvaluationRecord, count, cut
from baton_testing.evals.summary import Metric, Summary
from baton_testing.reports.terminal import make_printable

_STYLES = {Verdict.BETTER: "green", Verdict.WORSE: "red", Verdict.NO_DIFFERENCE: "default"}
MAX_FAILED = 20
"""The most cases that are shown with the reasons why they did not pass."""


class EvaluationTerminal:
    """A terminal for results. Texts of models are never interpreted as markup."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(markup=False, highlight=False, emoji=False, soft_wrap=True)

    def show(
        self,
        record: EvaluationRecord,
        summary: Summary,
        comparison: Comparison | None = None,
        *,
        command_seconds: float | None = None,
    ) -> None:
        """Print the cases that did not always pass, and the metrics. ``command_seconds`` is the command's time."""
        weak = [case for case in record.cases if case.share != 1.0 and case.runs]
        for case in weak[:MAX_FAILED]:
            self._print_case(case)
        if len(weak) > MAX_FAILED:
            self._console.print(Text(f"... and {count(len(weak) - MAX_FAILED, 'more case')}", style="dim"))
        self._console.print(*make_metrics_table(summary), sep="\n")
        total = [] if command_seconds is None else [f"{command_seconds:.1f} s since the start of the command"]
        for line in [*make_footer(record, summary), *total]:
            self._console.print(Text(make_printable(line), style="dim"))
        if comparison is not None:
            self._print_comparison(comparison)
        for note in record.notes:
            self._console.print(Text(f"note: {make_printable(note)}", style="yellow"))

    def _print_comparison(self, comparison: Comparison) -> None:
        heading = f"compared with {comparison.before}: {comparison.verdict.value}"
        self._console.print(Text(make_printable(heading), style=f"bold {_STYLES[comparison.verdict]}"))
        self._console.print(*make_differences_table(comparison), sep="\n")
        for what, names in (("passed more often", comparison.improved), ("passed less often", comparison.worsened)):
            if names:
                self._console.print(Text(make_printable(f"{what}: {cut(', '.join(names))}"), style="dim"))
        if comparison.unpaired:
            self._console.print(Text(f"{count(comparison.unpaired, 'case')} could not be compared", style="dim"))

    def _print_case(self, case: CaseRecord) -> None:
        mark, style = describe_state(case)
        line = Text(f"{mark:11}", style=style)
        line.append(f"{make_printable(case.place)} ", style="dim")
        line.append(make_printable(case.name), style="default")
        if len(case.runs) > 1:
            line.append(f"  {case.passes} of {len(case.judged)} runs", style="dim")
        self._console.print(line)
        run = next(run for run in case.runs if not run.passed)
        for reason in run.reasons:
            self._console.print(Text(f"    {make_printable(reason)}", style="red"))
        for note in run.notes:
            self._console.print(Text(f"    note: {make_printable(note)}", style="yellow"))
        if run.answer:
            self._console.print(Text(f"    answer: {make_printable(cut(run.answer, 300))}", style="dim"))


def describe_state(case: CaseRecord) -> tuple[str, str]:
    """Return the state of a case in a word or two, and its colour as a style of rich."""
    if case.is_flaky:
        return "flaky", "yellow"
    if not case.judged:
        return "not judged", "yellow"
    return ("passed", "green") if case.passes else ("FAILED", "bold red")


def make_metrics_table(summary: Summary) -> list[Text]:
    """Return the lines of the table of metrics."""
    rows = [
        (
            metric.name,
            show_mean(metric),
            show_interval(metric),
            str(metric.runs) + (f" (+{metric.not_judged} not judged)" if metric.not_judged else ""),
        )
        for metric in summary.metrics
    ]
    return _align(("metric", "mean", "95% interval", "runs"), rows, ["bold", *[""] * len(rows)])


def make_differences_table(comparison: Comparison) -> list[Text]:
    """Return the lines of the table of a comparison."""
    rows = [
        (
            difference.name,
            f"{difference.before:.3f}",
            f"{difference.after:.3f}",
            f"{difference.mean:+.3f}",
            "-"
            if difference.low is None or difference.high is None
            else f"{difference.low:+.3f} to {difference.high:+.3f}",
            f"{difference.p_value:.3f}",
            difference.verdict.value,
        )
        for difference in comparison.differences
    ]
    heads = ("metric", "before", "after", "difference", "95% interval", "p", "")
    return _align(heads, rows, [_STYLES[difference.verdict] for difference in comparison.differences])


def _align(heads: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str]) -> list[Text]:
    """Return a table whose first column is aligned left and the others right, whatever the terminal's width."""
    clean = [[make_printable(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(cell_len(row[column]) for row in clean) for column in range(len(heads))]
    lines = []
    for row, style in zip(clean, ("dim", *styles), strict=False):
        cells = [set_cell_size(row[0], widths[0])]
        cells += [" " * (width - cell_len(cell)) + cell for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(Text("  ".join(cells).rstrip(), style=style))
    return lines


def show_mean(metric: Metric) -> str:
    """Return the mean for display: a rate in percent, another mean as a number."""
    return "-" if metric.mean is None else f"{metric.mean:.1%}" if metric.is_rate else f"{metric.mean:.3f}"


def show_interval(metric: Metric) -> str:
    """Return the interval for display, in the form of the mean."""
    if metric.low is None or metric.high is None:
        return "-"
    low, high = (f"{end:.1%}" if metric.is_rate else f"{end:.3f}" for end in (metric.low, metric.high))
    return f"{low} to {high}"


def make_footer(record: EvaluationRecord, summary: Summary) -> list[str]:
    """Return the lines below the table, about the whole evaluation."""
    runs = f"{count(summary.cases, 'case')}, {count(summary.runs, 'run')} in {record.seconds:.1f} s with {record.model}"
    cost = f"{count(summary.tokens, 'token')}, " + (
        "cost not known" if summary.usd is None else f"{summary.usd:.4f} USD"
    )
    lines = [f"{record.label}: {runs}; {cost}"]
    if summary.mean_seconds is not None and summary.slowest_seconds is not None:
        lines.append(f"time of a run: {summary.mean_seconds:.2f} s on average, {summary.slowest_seconds:.2f} s at most")
    if record.judge is not None:
        lines.append(f"judge: {record.judge}")
    if summary.flaky:
        lines.append(f"flaky: {cut(', '.join(summary.flaky))}")
    if summary.not_run:
        lines.append(f"{count(summary.not_run, 'run')} did not take place. {record.stopped or ''}".strip())
    return lines
