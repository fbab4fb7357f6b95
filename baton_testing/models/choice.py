"""The choice of the model that answers a test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from baton.ports.agents.chat_model import ChatModel, TokenCounter
from baton_testing.conversation_files import ReadFile
from baton_testing.conversation_ports import ModelNames
from baton_testing.conversation_test import ConversationTest, ModelKind, ScriptedAnswer
from baton_testing.errors import CannotRun
from baton_testing.models.cassette import Cassette, Recording
from baton_testing.models.own_time import OwnTime
from baton_testing.models.recorded import RecordedModel, RecordingModel
from baton_testing.models.scripted import ScriptedModel

OF_THIS_MACHINE = ModelNames("baton-demo", "baton-demo-light")
"""The names of the demo model, which scripted models have too."""


class TestModel(ChatModel, Protocol):
    """A chat model that answers a test, and reports if the test cannot continue."""

    problems: list[str]
    """The reasons why the test cannot continue."""


class AnsweringModel:
    """The model of one run of a conversation."""

    def __init__(
        self,
        model: TestModel,
        names: ModelNames,
        close: Callable[[], Awaitable[None]] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.names = names
        self.notes = notes
        """Notes about the model that may explain a failure."""
        self._close = close
        self._model = model
        self._recorder: RecordingModel | None = None

    def start_recording(self) -> AnsweringModel:
        """Record the model's answers from now on, and return this object."""
        self._recorder = RecordingModel(self._model)
        return self

    @property
    def model(self) -> ChatModel:
        """The model for agents."""
        return self._recorder or self._model

    @property
    def recordings(self) -> list[Recording]:
        """The recorded requests and answers."""
        return self._recorder.recordings if self._recorder is not None else []

    def give(self, answers: Sequence[ScriptedAnswer]) -> None:
        """Pass the answers of a step to the model, if it is a scripted one."""
        if isinstance(self._model, ScriptedModel):
            self._model.give(answers)

    def take_problems(self) -> list[str]:
        """Return the reasons why the test cannot continue, or one for each unused answer, and clear both."""
        problems, self._model.problems = self._model.problems, []
        if isinstance(self._model, ScriptedModel):
            answers = self._model.take_unused()
            return problems or [f"Nobody asked for the answer {_shorten(answer)}." for answer in answers]
        return problems

    async def aclose(self) -> None:
        """Close the model's connections."""
        if self._close is not None:
            await self._close()


@dataclass(frozen=True, slots=True)
class Answering:
    """The choice of each conversation's model. It can be sent to other processes."""

    kind: ModelKind | None = None
    """The kind of model on the command line; None if the files decide."""
    records: bool = False
    """Whether the answers are written into cassettes."""
    script: Path | None = None
    """The demo model's script for tests that have neither answers nor a script."""
    wanted_runs: int | None = None
    """The number of runs of each conversation; None if the tests decide."""
    may_keep_some: bool = False
    """Whether unused scripted answers are no problem."""

    def count_runs(self, test: ConversationTest) -> int:
        """Return how often a conversation is run; once if its answers are recorded."""
        return 1 if self.records else self.wanted_runs or test.runs

    def choose_kind(self, file: ReadFile, test: ConversationTest) -> ModelKind:
        """Return the kind of model that answers a conversation."""
        if self.records and self.kind in (None, ModelKind.RECORDED):
            return ModelKind.REAL
        if self.kind is not None:
            return self.kind
        if file.content.model is not None:
            return file.content.model
        if _has_answers(test) or file.content.script is not None:
            return ModelKind.SCRIPTED
        return ModelKind.RECORDED if Cassette.derive_path(file.path).is_file() else ModelKind.SCRIPTED

    def choose_model(self, file: ReadFile, number: int, counter: TokenCounter, own_time: OwnTime) -> AnsweringModel:
        """Return the model for a conversation. Raises ``CannotRun``."""
        test = file.content.conversations[number]
        match self.choose_kind(file, test):
            case ModelKind.RECORDED:
                cassette = _read_cassette(Cassette.derive_path(file.path))
                recordings = cassette.conversations.get(test.name, ())
                chosen = AnsweringModel(RecordedModel(recordings, own_time), cassette.names)
            case ModelKind.REAL:
                from baton_testing.models.real import RealModel

                real = RealModel()
                chosen = AnsweringModel(real, real.names, real.aclose, real.notes)
            case ModelKind.SCRIPTED if _has_answers(test):
                chosen = AnsweringModel(ScriptedModel(may_keep_some=self.may_keep_some), OF_THIS_MACHINE)
            case ModelKind.SCRIPTED:
                script = file.path.parent / file.content.script if file.content.script is not None else self.script
                if script is None:
                    location = file.locate(("conversations", number))
                    raise CannotRun(
                        f"{location}: its steps have no answers and the file names no `script`: add one of them."
                    )
                # Imported here, because it would add a second to every start.
                from baton_testing.models.demo_script import DemoScriptModel, read_engine

                chosen = AnsweringModel(DemoScriptModel(read_engine(script), counter, own_time), OF_THIS_MACHINE)
        return chosen.start_recording() if self.records else chosen


def _has_answers(test: ConversationTest) -> bool:
    return bool(test.answers) or any(step.answers for step in test.steps)


def _shorten(answer: ScriptedAnswer) -> str:
    text = answer.say or ", ".join(answer.call) or answer.fail or ""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def _read_cassette(path: Path) -> Cassette:
    changed = path.stat().st_mtime_ns if path.is_file() else 0
    return _read_version(path, changed)


@lru_cache(16)
def _read_version(path: Path, changed: int) -> Cassette:
    """Return the cassette at ``path``. ``changed`` is in the cache's key, so that a changed file is read again."""
    return Cassette.read(path)
