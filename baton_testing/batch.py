"""Many conversations, held in this process or in several."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from baton_testing.conversation_files import ReadFile, read_file
from baton_testing.conversation_ports import make_token_counter
from baton_testing.errors import CannotRun
from baton_testing.models.cassette import Cassette
from baton_testing.models.choice import Answering
from baton_testing.project_agents import AgentPlace
from baton_testing.reports.result import ConversationResult
from baton_testing.runner import Runner

FEW = 300
"""The number of conversations up to which one process is faster than the start of several."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The conversations of a run of tests."""

    place: AgentPlace
    answering: Answering
    chosen: Sequence[tuple[ReadFile, int]]
    """The files and numbers, from 0, of the conversations."""

    @classmethod
    def of(
        cls, agent_place: AgentPlace, answering: Answering, files: Sequence[ReadFile], name: str | None = None
    ) -> Batch:
        """Choose all conversations, or those whose names contain ``name``. Raises ``CannotRun`` if none does."""
        chosen = [
            (file, number)
            for file in files
            for number, test in enumerate(file.content.conversations)
            if name is None or name.casefold() in test.name.casefold()
        ]
        if not chosen:
            names = "; ".join(test.name for file in files for test in file.content.conversations)
            raise CannotRun(f"No conversation has {name!r} in its name. Available: {names}")
        return cls(agent_place, answering, chosen)

    def check_kept_recordings(self) -> None:
        """Raise ``CannotRun`` if a cassette cannot be read whose other recordings must be kept.

        They must be if only some conversations of a file are recorded. If all are, the cassette is replaced.
        """
        counts = Counter(file.path for file, _ in self.chosen)
        for file in {file.path: file for file, _ in self.chosen}.values():
            path = Cassette.derive_path(file.path)
            if counts[file.path] < len(file.content.conversations) and path.exists():
                Cassette.read(path)

    def hold_all(self, processes: int | None = None) -> Iterator[ConversationResult]:
        """Hold the conversations, and yield their results in their order. Raises ``CannotRun``.

        If ``processes`` is None, there is one, or one for each core if there are more than ``FEW`` conversations.
        """
        if processes is None:
            processes = min(os.cpu_count() or 1, len(self.chosen)) if len(self.chosen) > FEW else 1
        if processes <= 1:
            runner = _make_runner(self.place, self.answering)
            yield from (runner.run(file, number) for file, number in self.chosen)
            return
        # "spawn", because a process with threads must not be forked.
        executor = ProcessPoolExecutor(
            processes, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(self.place,)
        )
        try:
            waiting: list[Future[ConversationResult]] = [
                executor.submit(_hold, self.place, self.answering, file.path, number) for file, number in self.chosen
            ]
            for future in waiting:
                yield future.result()
        finally:
            executor.shutdown(wait=False, cancel_futures=True)


def record(results: Sequence[ConversationResult]) -> list[Path]:
    """Write the recordings of the last runs into cassettes, and return the cassettes' files.

    Failed runs with a model's error are left out.
    """
    written: dict[Path, Cassette] = {}
    for result in results:
        run = result.runs[-1]
        if any(recording.answer.error is not None for recording in run.recordings) and not run.passed:
            continue
        path = Cassette.derive_path(result.file)
        if path not in written:
            written[path] = _read_cassette(path, result)
        written[path] = written[path].with_conversation(result.name, run.recordings)
    for path, cassette in written.items():
        cassette.write(path)
    return list(written)


def _read_cassette(path: Path, result: ConversationResult) -> Cassette:
    """Return the cassette at ``path``; an empty one if it cannot be read or was recorded with other models."""
    try:
        cassette = Cassette.read(path)
    except CannotRun:
        return Cassette(result.names)
    return cassette if cassette.names == result.names else Cassette(result.names)


_entered = ExitStack()
"""The contexts that a process of the pool has entered. They end with the process."""


def _begin(agent_place: AgentPlace) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process handles Ctrl-C
    _entered.enter_context(agent_place.enter())


@cache
def _get_runner(agent_place: AgentPlace, answering: Answering) -> Runner:
    return _make_runner(agent_place, answering)


def _make_runner(agent_place: AgentPlace, answering: Answering) -> Runner:
    runner = Runner(agent_place.load(), make_token_counter(), answering)
    runner.warm_up()
    return runner


@cache
def _get_file(path: Path) -> ReadFile:
    return read_file(path)


def _hold(agent_place: AgentPlace, answering: Answering, path: Path, number: int) -> ConversationResult:
    return _get_runner(agent_place, answering).run(_get_file(path), number)
