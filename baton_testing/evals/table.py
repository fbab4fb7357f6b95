"""The result of an evaluation, for people in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from baton_testing.evals.results import CaseRecord, EvaluationRecord, cut
from baton_testing.evals.summary import Metric, Summary
from baton_testing.terminal import make_printable

MAX_FAILED = 20
"""Cases that did not pass and are shown with reasons."""


class EvaluationTerminal:
    """Prints results. Nothing that a model says is taken for markup."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(markup=False, highlight=False, emoji=False, soft_wrap=True)

    def show(self, record: EvaluationRecord, summary: Summary) -> None:
        """Print the cases that need a look, and the metrics."""
        weak = [case for case in record.cases if case.share != 1.0 and case.runs]
        for case in weak[:MAX_FAILED]:
            self._case(case)
        if len(weak) > MAX_FAILED:
            self._console.print(Text(f"... and {len(weak) - MAX_FAILED} more cases", style="dim"))
        self._console.print(metrics_table(summary))
        for line in footer(record, summary):
            self._console.print(Text(make_printable(line), style="dim"))
        for note in record.notes:
            self._console.print(Text(f"note: {make_printable(note)}", style="yellow"))

    def _case(self, case: CaseRecord) -> None:
        mark, style = state(case)
        line = Text(f"{mark:10}", style=style)
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


def state(case: CaseRecord) -> tuple[str, str]:
    """Return the state of a case in a word or two, and its style."""
    if case.is_flaky:
        return "flaky", "yellow"
    if not case.judged:
        return "not judged", "yellow"
    return ("passed", "green") if case.passes else ("FAILED", "bold red")


def metrics_table(summary: Summary) -> Table:
    """Return the table of metrics."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("metric", no_wrap=True)
    for head in ("mean", "95% interval", "runs"):
        table.add_column(head, justify="right", no_wrap=True)
    for metric in summary.metrics:
        runs = str(metric.runs) + (f" (+{metric.not_judged} not judged)" if metric.not_judged else "")
        style = "bold" if metric is summary.passed else ""
        table.add_row(Text(make_printable(metric.name), style=style), show_mean(metric), show_interval(metric), runs)
    return table


def show_mean(metric: Metric) -> str:
    """Return the mean as a person reads it: a share in percent, another mean as a number."""
    return "-" if metric.mean is None else f"{metric.mean:.1%}" if metric.is_rate else f"{metric.mean:.3f}"


def show_interval(metric: Metric) -> str:
    """Return the interval, in the form of the mean."""
    if metric.low is None or metric.high is None:
        return "-"
    low, high = (f"{end:.1%}" if metric.is_rate else f"{end:.3f}" for end in (metric.low, metric.high))
    return f"{low} to {high}"


def footer(record: EvaluationRecord, summary: Summary) -> list[str]:
    """Return the lines below the table."""
    runs = f"{summary.cases} cases, {summary.runs} runs in {record.seconds:.1f} s with {record.model}"
    cost = f"{summary.tokens} tokens, " + ("cost not known" if summary.usd is None else f"{summary.usd:.4f} USD")
    lines = [f"{record.label}: {runs}; {cost}"]
    if summary.mean_seconds is not None and summary.slowest_seconds is not None:
        lines.append(f"time of a run: {summary.mean_seconds:.2f} s on average, {summary.slowest_seconds:.2f} s at most")
    if record.judge is not None:
        lines.append(f"judge: {record.judge}")
    if summary.flaky:
        lines.append(f"flaky: {', '.join(summary.flaky)}")
    if summary.not_run:
        lines.append(f"{summary.not_run} runs did not take place. {record.stopped or ''}".strip())
    return lines
