"""``baton test``: a project's conversation tests.

Exit codes: 0, all passed; 1, some failed; 2, nothing could be tested; 130, Ctrl-C, after a report of what was run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from baton_project.errors import ProjectProblem, exit_on_unusable_tests, shorten_path
from baton_project.extras import TEST, require_extra

if TYPE_CHECKING:
    from baton_project.project import Project
    from baton_testing.batch import Batch
    from baton_testing.conversation_files import ReadFile
    from baton_testing.project_agents import AgentPlace
    from baton_testing.reports.result import ConversationResult


class AnsweredBy(StrEnum):
    """The source of the agents' answers: a model, or a stand-in."""

    SCRIPTED = "scripted"
    RECORDED = "recorded"
    REAL = "real"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line."""

    paths: Sequence[Path]
    folder: Path
    model: AnsweredBy | None
    record: bool
    runs: int | None
    name: str | None
    processes: int | None
    thread_id: str | None
    url: str | None
    junit: Path | None
    as_json: bool


def run_tests(
    paths: Annotated[list[Path] | None, typer.Argument(help="Files, or folders of them. Default: tests/.")] = None,
    model: Annotated[AnsweredBy | None, typer.Option(help="The source of answers. Default: as the files say.")] = None,
    record: Annotated[bool, typer.Option("--record", help="Write what the model answers into cassettes.")] = False,
    runs: Annotated[int | None, typer.Option(min=1, max=100, help="Hold each conversation this many times.")] = None,
    name: Annotated[str | None, typer.Option("-k", help="Only conversations with this in their names.")] = None,
    processes: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes. Default: as it pays.")] = None,
    thread_id: Annotated[
        str | None, typer.Option("--from", help="Write a test, and its cassette, of this stored conversation.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="The server that stores it. It and the token are as for other commands.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a report as JUnit XML.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of the files, for editors.")] = False,
    folder: Annotated[Path, typer.Option(help="The project's folder, or one in it.")] = Path(),
) -> None:
    """Hold conversations with a project's agents, and check what happens."""
    if schema:
        from baton_project.schemas import make_conversation_schema

        typer.echo(json.dumps(make_conversation_schema(), indent=1, ensure_ascii=False))
        return
    with exit_on_unusable_tests():
        require_extra(TEST, "test")
        options = Options(paths or (), folder, model, record, runs, name, processes, thread_id, url, junit, as_json)
        raise typer.Exit(_run(options))


def _run(options: Options) -> int:
    """Run tests, or write one, and return the exit code. Raises ``ProjectProblem`` and ``CannotRun``."""
    from baton_project.project import Project
    from baton_testing.conversation_files import find_files, read_files
    from baton_testing.known_names import KnownNames
    from baton_testing.project_agents import check_functions

    project = Project.find(options.folder)
    agent_place = _make_place(project)
    with agent_place.enter():
        if options.thread_id is not None:
            return _write_test(agent_place, options.thread_id, options)
        agents = agent_place.load()
        paths = options.paths or [shorten_path(project.folder / "tests")]
        files = read_files(find_files(paths), KnownNames.of(agents))
        check_functions(agents)
        return _run_batch(_make_batch(agent_place, files, options), options)


def _make_place(project: Project) -> AgentPlace:
    from baton_testing.project_agents import AgentPlace

    return AgentPlace.of(project.folder, project.agents, project.tools, project.make_environment())


def _make_batch(agent_place: AgentPlace, files: Sequence[ReadFile], options: Options) -> Batch:
    """Return the chosen conversations of the files, with the source of answers."""
    from baton_local.demo_model import SCRIPT
    from baton_testing.batch import Batch
    from baton_testing.conversation_test import ModelKind
    from baton_testing.models.choice import Answering

    answering = Answering(
        kind=ModelKind(options.model.value) if options.model is not None else None,
        records=options.record,
        script=Path(dict(agent_place.environment).get("BATON_DEMO_SCRIPT") or SCRIPT),
        wanted_runs=options.runs,
    )
    return Batch.of(agent_place, answering, files, options.name)


def _run_batch(batch: Batch, options: Options) -> int:
    """Run the conversations, print the results, and return the exit code.

    Raises ``CannotRun``, and ``ProjectProblem`` if the report cannot be written.
    """
    from baton_client.command.process_start import count_seconds_since_start
    from baton_testing.batch import record
    from baton_testing.reports.junit import write_junit
    from baton_testing.reports.report import Report
    from baton_testing.reports.terminal import Terminal

    if options.record:
        batch.check_kept_recordings()
    terminal = Terminal()
    results: list[ConversationResult] = []
    is_interrupted = False
    try:
        for result in batch.hold_all(options.processes):
            results.append(result)
            if not options.as_json:
                terminal.print_result(result)
    except KeyboardInterrupt:
        is_interrupted = True
    report = Report(results, len(batch.chosen) - len(results), count_seconds_since_start())
    if options.as_json:
        typer.echo(json.dumps(report.as_json()))
    else:
        terminal.print_summary(report)
    if options.record:
        for path in record(results):
            typer.echo(f"recorded: {path}", err=True)
    if options.junit is not None:
        try:
            write_junit(report, options.junit)
        except OSError as problem:
            raise ProjectProblem(f"{problem.filename} cannot be written: {problem.strerror}.") from None
    return 130 if is_interrupted else 0 if report.passed else 1


def _write_test(agent_place: AgentPlace, thread_id: str, options: Options) -> int:
    """Write a test of a stored conversation, print the result, and return the exit code."""
    import asyncio

    import httpx

    from baton_client.command.exits import CommandError
    from baton_client.command.session import Environment, SignIn
    from baton_testing.errors import CannotRun
    from baton_testing.recordings.stored_thread import SECONDS, StoredThread, read_thread
    from baton_testing.recordings.thread_recording import write_test
    from baton_testing.reports.terminal import Terminal

    async def load_stored() -> StoredThread:
        environment = Environment.of_process(url=options.url)
        try:
            profile = environment.read_profile()
            async with environment.make_http_client() as http:
                token = await SignIn(environment, profile, http).get_token()
        except CommandError as problem:
            raise CannotRun(str(problem)) from None
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=profile.url, headers=headers, timeout=SECONDS) as client:
            return await (await read_thread(client, thread_id)).redact()

    default = agent_place.folder / "tests" / f"{_make_file_name(thread_id)}.yaml"
    chosen = options.paths[0] if options.paths else shorten_path(default)
    written = write_test(asyncio.run(load_stored()), agent_place, chosen)
    Terminal().print_result(written.result)
    typer.echo(f"written: {written.test}, {written.cassette}", err=True)
    for part in written.left_out:
        typer.echo(f"left out: {part}", err=True)
    return 0 if written.result.passed else 1


def _make_file_name(thread_id: str) -> str:
    """Return a name for the test of a conversation, without characters that file systems refuse."""
    return "".join(character if character.isalnum() or character in "-_" else "-" for character in thread_id)[:80]
