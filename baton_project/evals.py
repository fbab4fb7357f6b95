"""``baton eval``: evaluations of a project's agents.

Exit codes: 0, as good as demanded; 1, worse; 2, nothing could be evaluated; 130, Ctrl-C, after a report of the runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from baton_project.errors import ProjectProblem, exit_on_unusable_tests, shorten_path
from baton_project.extras import TEST, require_extra

if TYPE_CHECKING:
    from baton_project.project import Project
    from baton_testing.evals.collecting import Wanted
    from baton_testing.evals.comparison import Comparison
    from baton_testing.evals.evaluation import Evaluation
    from baton_testing.evals.reading import Problem, ReadCase
    from baton_testing.evals.results import EvaluationRecord
    from baton_testing.evals.summary import Summary
    from baton_testing.evals.targets.project_run import Plan

RUN = "run"
_OF_PROJECTS = frozenset({"BATON_DEMO_SCRIPT", "BATON_TOOL_PACKAGES", "BATON_DEFAULT_AGENT"})
"""Variables of one project that must not apply to another."""


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
    url: str | None
    agent: str | None
    version: int | None
    tags: Sequence[str]
    reach: Sequence[str]
    fail_under: float | None
    max_usd: float | None
    junit: Path | None
    html: Path | None
    publish: str | None
    results: Path | None


@app.command(RUN)
def run_evaluation(
    paths: Annotated[list[Path] | None, typer.Argument(help="Data sets, or folders of them. Default: evals/.")] = None,
    repeat: Annotated[int, typer.Option(min=1, max=100, help="Hold each case this many times.")] = 1,
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
    against: Annotated[
        str | None, typer.Option(help="Compare with this folder, revision of Git or model, evaluated in the same way.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="Evaluate this server's agents. It and the token are as for other commands.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="With --version: the agent of a tenant.")] = None,
    version: Annotated[
        int | None,
        typer.Option(min=1, help="Let this version answer the stored turns again that the cases were collected from."),
    ] = None,
    max_usd: Annotated[float | None, typer.Option(min=0, help="Begin no further run once this much is spent.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a report as JUnit XML.")] = None,
    publish: Annotated[
        str | None, typer.Option(help="Publish the results to the console of this server. Needs agent:write.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page, one file that loads nothing.")] = None,
    results: Annotated[Path | None, typer.Option("--json", help="Write all results as JSON.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of a line, for editors.")] = False,
    folder: Annotated[Path, typer.Option(help="The project's folder, or one in it.")] = Path(),
) -> None:
    """Hold the cases of data sets with a project's agents, score them, and print metrics with intervals."""
    if schema:
        from baton_project.schemas import make_case_schema

        typer.echo(json.dumps(make_case_schema(), indent=1, ensure_ascii=False))
        return
    options = Options(
        paths=paths or (),
        folder=folder,
        repeat=repeat,
        concurrency=concurrency,
        model=model,
        judge=judge,
        against=against,
        url=url,
        agent=agent,
        version=version,
        tags=tags or (),
        reach=reach or (),
        fail_under=fail_under,
        max_usd=max_usd,
        junit=junit,
        html=html,
        publish=publish,
        results=results,
    )
    with exit_on_unusable_tests():
        require_extra(TEST, "eval")
        raise typer.Exit(_run(options))


class CollectedRating(StrEnum):
    """The feedback by which turns are collected."""

    NEGATIVE = "negative"
    POSITIVE = "positive"


@app.command("collect")
def collect_cases(
    out: Annotated[Path, typer.Option(help="The data set to write. It must not be there.")],
    url: Annotated[
        str | None, typer.Option(help="The server that stores them. It and the token are as for other commands.")
    ] = None,
    feedback: Annotated[CollectedRating | None, typer.Option(help="Turns with an answer that was rated so.")] = None,
    errors: Annotated[bool, typer.Option("--errors", help="Turns that ended with an error.")] = False,
    agent: Annotated[str | None, typer.Option(help="Only conversations with this agent.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Only turns that began at this time (UTC) or later.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most cases.")] = 100,
) -> None:
    """Make a data set of stored conversations of all users, without personal data. Needs thread:read_all."""
    rating = {CollectedRating.NEGATIVE: "down", CollectedRating.POSITIVE: "up", None: None}[feedback]
    moment = since.replace(tzinfo=UTC) if since is not None and since.tzinfo is None else since
    with exit_on_unusable_tests():
        require_extra(TEST, "eval")
        from baton_testing.evals.collecting import Wanted

        raise typer.Exit(_collect(url, Wanted(rating, errors, agent, moment, limit), out))


def _run(options: Options) -> int:
    """Evaluate, report, and return the exit code. Raises ``ProjectProblem`` and ``CannotRun``."""
    from baton_client.command.process_start import count_seconds_since_start
    from baton_project.project import Project
    from baton_testing.evals.comparison import compare
    from baton_testing.evals.reports.table import EvaluationTerminal
    from baton_testing.evals.results import INTERRUPTED
    from baton_testing.evals.summary import summarise
    from baton_testing.evals.targets.project_run import evaluate_project

    if any(option is not None for option in (options.url, options.agent, options.version)):
        record, before = _evaluate_server(options), None
    else:
        project = Project.find(options.folder)
        plan = _make_plan(project, options)
        before = _evaluate_other(plan, project, options)
        record = evaluate_project(plan, _show_progress)
    summary = summarise(record)
    comparison = compare(before, record) if before is not None else None
    EvaluationTerminal().show(record, summary, comparison, command_seconds=count_seconds_since_start())
    _write(options, record, summary, comparison)
    if options.publish is not None:
        _publish(options.publish, record, summary)
    if INTERRUPTED in (record.stopped, before.stopped if before is not None else None):
        return 130
    return _choose_exit_code(options, summary, comparison)


def _choose_exit_code(options: Options, summary: Summary, comparison: Comparison | None) -> int:
    """Return 0 if the agents are as good as demanded, 1 if not, and 2 if nothing was judged, which is printed."""
    from baton_testing.evals.comparison import Verdict

    share = summary.passed.mean
    if share is None:
        typer.echo("Nothing was judged.", err=True)
        return 2
    if comparison is not None and comparison.verdict is Verdict.WORSE:
        return 1
    # A comparison has no minimum share unless one is given.
    usual = 0.0 if comparison is not None else 1.0
    least_share = usual if options.fail_under is None else options.fail_under
    return 0 if share >= least_share and not summary.not_run else 1


def _evaluate_other(plan: Plan, project: Project, options: Options) -> EvaluationRecord | None:
    """Evaluate the version that ``--against`` names in another process, with this project's settings of models.

    Return None without ``--against``. Raises ``ProjectProblem`` and ``CannotRun``.
    """
    from dataclasses import replace

    from baton_project.project import Project
    from baton_testing.evals.targets.against import check_out, evaluate_apart, find_other

    if options.against is None:
        return None
    typer.echo(f"Evaluating {options.against} first.", err=True)
    other = find_other(options.against, project.folder)
    if other.model is not None:
        return evaluate_apart(replace(plan, model=other.model, label=f"{plan.label} with {other.model}"))
    with ExitStack() as stack:
        folder = other.folder or stack.enter_context(check_out(str(other.revision), project.folder))
        apart = _make_plan_fields(Project.find(folder), dict(plan.place.environment))
        return evaluate_apart(replace(plan, label=other.label, **apart))


def _evaluate_server(options: Options) -> EvaluationRecord:
    """Evaluate a server's agents, or a version of a tenant's agent. Raises ``ProjectProblem`` and ``CannotRun``."""
    from baton_testing.evals.reading import read_datasets
    from baton_testing.evals.results import count
    from baton_testing.evals.targets.replay_target import find_replay_problems, select_of_agent
    from baton_testing.evals.targets.server_run import ServerPlan, evaluate_server
    from baton_testing.evals.targets.server_target import find_server_problems

    if (options.agent is None) is not (options.version is None):
        raise ProjectProblem("--agent and --version belong together.")
    if options.against is not None or options.model is not None or options.reach:
        raise ProjectProblem("--against, --model and --reach are about a project: a server has its agents and models.")
    check = find_replay_problems if options.agent is not None else find_server_problems
    cases = read_datasets(options.paths or [Path("evals")], tags=options.tags, check=check)
    if options.agent is not None:
        of_agent = select_of_agent(cases, options.agent)
        if not of_agent:
            raise ProjectProblem(f"{options.agent} has spoken last in no case: see agentId in the cases' metadata.")
        if len(of_agent) < len(cases):
            left_out = count(len(cases) - len(of_agent), "case")
            typer.echo(f"{left_out} left out: another agent than {options.agent} spoke last.", err=True)
        cases = of_agent
    plan = ServerPlan(
        url=options.url,
        cases=tuple(cases),
        judge=options.judge,
        repeat=options.repeat,
        concurrency=options.concurrency,
        max_usd=options.max_usd,
        agent=options.agent,
        version=options.version,
    )
    return evaluate_server(plan, _show_progress)


def _publish(url: str, record: EvaluationRecord, summary: Summary) -> None:
    """Send the results to a server, and print their id. Raises ``ProjectProblem``; without a token, ``CannotRun``."""
    import asyncio

    from baton_client.command.exits import describe_problem
    from baton_client.errors import BatonError
    from baton_testing.evals.reports.publishing import make_request
    from baton_testing.evals.targets.server_run import open_client

    async def publish() -> str:
        async with open_client(url) as client:
            return (await client.evaluations.publish(make_request(record, summary))).id

    try:
        typer.echo(f"published: {asyncio.run(publish())}", err=True)
    except BatonError as problem:
        raise ProjectProblem(f"--publish: {describe_problem(problem)}") from None


def _collect(url: str | None, criteria: Wanted, out: Path) -> int:
    """Write a data set, and return the exit code: 1 if no turn fits. Raises ``ProjectProblem`` and ``CannotRun``."""
    import asyncio

    from baton_client.command.exits import describe_problem
    from baton_client.errors import BatonError
    from baton_testing.evals.collecting import collect, write_cases
    from baton_testing.evals.results import count
    from baton_testing.evals.targets.server_run import open_client

    if out.exists():
        raise ProjectProblem(f"{out} is there already. Name another file: --out")
    unfinished = out.with_name(f".{out.name}.unfinished")

    async def write(file: TextIO) -> int:
        async with open_client(url) as client:
            return await write_cases(collect(client, criteria), file)

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("w", encoding="utf-8") as file:
            case_count = asyncio.run(write(file))
        if case_count:
            unfinished.rename(out)
    except BatonError as problem:
        raise ProjectProblem(describe_problem(problem)) from None
    except OSError as problem:
        raise ProjectProblem(f"{problem.filename} cannot be written: {problem.strerror}.") from None
    finally:
        unfinished.unlink(missing_ok=True)
    typer.echo(
        f"{count(case_count, 'case')} in {out}. Read before you commit." if case_count else "No turn fits.", err=True
    )
    return 0 if case_count else 1


def _make_plan(project: Project, options: Options) -> Plan:
    """Return the evaluation of a project's agents. Raises ``CannotRun`` for data sets that cannot be used."""
    from baton_testing.evals.reading import find_unknown_names, read_datasets
    from baton_testing.evals.scorers import Scorers
    from baton_testing.evals.targets.project_run import Plan
    from baton_testing.known_names import KnownNames

    paths = options.paths or [shorten_path(project.folder / "evals")]
    placed = _make_plan_fields(project, {})
    agent_place = placed["place"]

    def check(cases: Sequence[ReadCase]) -> Iterator[Problem]:
        with agent_place.enter():
            yield from Scorers().find_problems(cases)
            yield from find_unknown_names(cases, KnownNames.of(agent_place.load()))

    return Plan(
        **placed,
        cases=tuple(read_datasets(paths, tags=options.tags, check=check)),
        label=project.name,
        model=options.model,
        judge=options.judge,
        repeat=options.repeat,
        concurrency=options.concurrency,
        max_usd=options.max_usd,
        reach=tuple(options.reach),
    )


def _make_plan_fields(project: Project, below: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a plan that depend on the project. Its own variables override those in ``below``."""
    from baton_local.demo_model import SCRIPT
    from baton_testing.project_agents import AgentPlace

    own = project.make_environment()
    environment = {**{name: value for name, value in below.items() if name not in _OF_PROJECTS}, **own}
    return {
        "place": AgentPlace.of(project.folder, project.agents, project.tools, environment),
        "documents": project.documents,
        "libraries": project.libraries,
        "library_permissions": project.settings.library_permissions,
        "script": Path(own.get("BATON_DEMO_SCRIPT") or SCRIPT),
    }


def _show_progress(evaluation: Evaluation) -> None:
    """Write the number of ended runs over the last such line on stderr, if it is a terminal."""
    if not sys.stderr.isatty():
        return
    from baton_testing.evals.results import count

    runs = list(evaluation.done.values())
    passed = sum(run.passed is True for run in runs)
    end = "\n" if len(runs) == evaluation.total else ""
    spent = f", {evaluation.budget.spent:.4f} USD" if evaluation.budget.spent else ""
    typer.echo(f"\r{len(runs)} of {count(evaluation.total, 'run')}, {passed} passed{spent} {end}", err=True, nl=False)


def _write(options: Options, record: EvaluationRecord, summary: Summary, comparison: Comparison | None) -> None:
    """Write the reports that the options name. Raises ``ProjectProblem`` if a file cannot be written."""
    from baton_testing.evals.reports.json_report import write_json
    from baton_testing.evals.reports.junit_report import write_junit
    from baton_testing.evals.reports.page import write_page

    try:
        if options.results is not None:
            write_json(record, summary, comparison, options.results)
        if options.junit is not None:
            write_junit(record, options.junit)
        if options.html is not None:
            write_page(record, summary, comparison, options.html)
    except OSError as problem:
        raise ProjectProblem(f"{problem.filename} cannot be written: {problem.strerror}.") from None
