"""``baton eval``: evaluations of a project's agents.

Exit codes: 0, as good as demanded; 1, worse; 2, nothing could be evaluated; 130, Ctrl-C, after a report of the runs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from baton_project.errors import ProjectProblem
from baton_project.extras import TEST, require_extra

if TYPE_CHECKING:
    from baton_project.project import Project
    from baton_testing.evals.evaluation import Evaluation
    from baton_testing.evals.project_run import Plan
    from baton_testing.evals.results import EvaluationRecord

RUN = "run"


class _RunByDefault(TyperGroup):
    """A group in which ``baton eval FILE`` is ``baton eval run FILE``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = [RUN, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_RunByDefault, help="Evaluate agents by data sets of cases.")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of an evaluation."""

    paths: Sequence[Path]
    folder: Path
    repeat: int
    concurrency: int
    model: str | None
    judge: str | None
    against: str | None
    tags: Sequence[str]
    reach: Sequence[str]
    fail_under: float | None
    max_usd: float | None
    junit: Path | None
    html: Path | None
    results: Path | None


@app.command(RUN)
def run_evaluation(
    paths: Annotated[list[Path] | None, typer.Argument(help="Data sets, or folders of them. Default: evals/.")] = None,
    repeat: Annotated[int, typer.Option(min=1, max=100, help="Hold each case so often.")] = 1,
    model: Annotated[
        str | None, typer.Option(help="The model of agents that name none, or `scripted`. Default: BATON_CHAT_MODEL.")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="The model that judges. Default: that of the agents.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=32, help="Conversations at the same time.")] = 4,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Only cases with this tag; may be repeated.")] = None,
    reach: Annotated[
        list[str] | None, typer.Option(help="A tool or server outside that is really called; may be repeated.")
    ] = None,
    fail_under: Annotated[
        float | None, typer.Option(min=0, max=1, help="The least share of runs that must pass. Default: 1.")
    ] = None,
    max_usd: Annotated[float | None, typer.Option(min=0, help="Begin no further run when so much is spent.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a report as JUnit XML.")] = None,
    results: Annotated[Path | None, typer.Option("--json", help="Write all results as JSON.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of a line, for editors.")] = False,
    folder: Annotated[Path, typer.Option(help="The project's folder, or one in it.")] = Path(),
) -> None:
    """Hold the cases of data sets with a project's agents, score them, and print metrics with intervals."""
    if schema:
        from baton_testing.evals.schema import case_schema

        typer.echo(json.dumps(case_schema(), indent=1, ensure_ascii=False))
        return
    options = Options(
        paths=paths or (),
        folder=folder,
        repeat=repeat,
        concurrency=concurrency,
        model=model,
        judge=judge,
        against=None,
        tags=tags or (),
        reach=reach or (),
        fail_under=fail_under,
        max_usd=max_usd,
        junit=junit,
        html=None,
        results=results,
    )
    with _problems_printed():
        require_extra(TEST, "eval")
        raise typer.Exit(_run(options))


@contextmanager
def _problems_printed() -> Iterator[None]:
    from baton_testing.errors import CannotRun

    try:
        yield
    except (CannotRun, ProjectProblem) as problem:
        typer.echo(str(problem).replace(f"{Path.cwd()}{os.sep}", ""), err=True)
        raise typer.Exit(2) from None


def _run(options: Options) -> int:
    from baton_project.project import Project
    from baton_testing.evals.project_run import INTERRUPTED, evaluate_project
    from baton_testing.evals.summary import summarise
    from baton_testing.evals.table import EvaluationTerminal

    project = Project.found(options.folder)
    record = evaluate_project(_plan(project, options), _show_progress)
    summary = summarise(record)
    EvaluationTerminal().show(record, summary)
    _write(options, record)
    if record.stopped == INTERRUPTED:
        return 130
    wanted = 1.0 if options.fail_under is None else options.fail_under
    if summary.passed.mean is None:
        typer.echo("Nothing was judged.", err=True)
        return 2
    return 0 if summary.passed.mean >= wanted and not record.not_run else 1


def _plan(project: Project, options: Options) -> Plan:
    from baton_local.demo_model import SCRIPT
    from baton_testing.evals.project_run import Plan
    from baton_testing.evals.reading import read_datasets
    from baton_testing.project_agents import AgentPlace

    environment = project.environment()
    paths = options.paths or [_as_given(project.folder / "evals")]
    return Plan(
        place=AgentPlace.of(project.folder, project.agents, project.tools, environment),
        documents=project.documents,
        script=Path(environment.get("BATON_DEMO_SCRIPT") or SCRIPT),
        cases=tuple(read_datasets(paths, tags=options.tags)),
        label=project.name,
        model=options.model,
        judge=options.judge,
        repeat=options.repeat,
        concurrency=options.concurrency,
        max_usd=options.max_usd,
        reach=tuple(options.reach),
    )


def _as_given(path: Path) -> Path:
    """Return a path as a person in this folder names it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _show_progress(evaluation: Evaluation) -> None:
    if not sys.stderr.isatty():
        return
    runs = list(evaluation.done.values())
    passed = sum(run.passed is True for run in runs)
    end = "\n" if len(runs) == evaluation.total else ""
    spent = f", {evaluation.budget.spent:.4f} USD" if evaluation.budget.spent else ""
    typer.echo(f"\r{len(runs)} of {evaluation.total} runs, {passed} passed{spent} {end}", err=True, nl=False)


def _write(options: Options, record: EvaluationRecord) -> None:
    if options.results is not None:
        options.results.parent.mkdir(parents=True, exist_ok=True)
        options.results.write_text(record.model_dump_json(by_alias=True, indent=1) + "\n", encoding="utf-8")
