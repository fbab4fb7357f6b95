"""Conversations for tests in Python: plain asserts on what agents say, call and hand over."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from pydantic import PrivateAttr

from baton.adapters.agents.agent_files import AgentFiles
from baton.ports.agents.tools import ToolFailed
from baton_testing.conversation import Decision, DrivenConversation
from baton_testing.conversation_ports import ConversationPorts, make_token_counter
from baton_testing.conversation_test import Case, ConversationFile, ScriptedAnswer, ToolStub, User
from baton_testing.models.choice import AnsweringModel
from baton_testing.models.own_time import OwnTime
from baton_testing.observation import Observation
from baton_testing.virtual_time import LoopClock, VirtualTimeLoop

T = TypeVar("T")
__tracebackhide__ = True  # pytest shows the step of the test that failed

Answer = str | ScriptedAnswer
"""An answer of the scripted model: a text, or what ``call``, ``answer`` and ``failure`` return."""
StubFunction = Callable[[dict[str, Any]], Any]
"""A function that answers a tool's call: it takes the arguments, and returns JSON or raises ``ToolFailed``."""


class ConversationFailed(AssertionError):
    """A step that could not be done, or a run that ended with an error which the test does not expect."""


def call(
    tool: str, arguments: Mapping[str, Any] | None = None, *, agent: str | None = None, say: str = ""
) -> ScriptedAnswer:
    """Return an answer that calls a tool.

    ``agent`` is the agent that gets it, by default the next one that asks; ``say`` is its text beside the call.
    """
    return ScriptedAnswer(call={tool: dict(arguments or {})}, agent=agent, say=say)


def answer(text: str, *, agent: str | None = None, task: str | None = None) -> ScriptedAnswer:
    """Return an answer for one agent, or for a ``task`` of Baton itself, such as ``handoff_summary``."""
    return ScriptedAnswer(say=text, agent=agent, task=task)


def failure(code: str, *, agent: str | None = None) -> ScriptedAnswer:
    """Return a failure of the model in place of an answer. ``code``: such as ``model_timeout``."""
    return ScriptedAnswer(fail=code, agent=agent)


class _FunctionStub(ToolStub):
    """A tool that a function of the test answers."""

    _function: StubFunction = PrivateAttr()

    @classmethod
    def of(cls, function: StubFunction) -> Self:
        stub = cls()
        stub._function = function
        return stub

    def answer_to(self, arguments: dict[str, Any]) -> Case:
        try:
            return Case(returns=self._function(arguments))
        except ToolFailed as problem:
            return Case(fails=str(problem))


class Conversation:
    """A user in front of a project's agents, on the code of a deployment, over stores in memory and in virtual time.

    Each method is a step of the user and returns its ``Observation``. A step that cannot be done, and an error that the
    test does not expect, raise ``ConversationFailed``. Close it at the end.
    """

    def __init__(
        self,
        agents: AgentFiles,
        model: AnsweringModel,
        *,
        name: str,
        folder: Path,
        agent: str | None = None,
        user: User | None = None,
        tools: Mapping[str, ToolStub | StubFunction] | None = None,
        reach: Sequence[str] = (),
        begins_at: datetime | None = None,
    ) -> None:
        """``folder`` is where paths of files begin. The other parameters are those of ``ConversationMaker``."""
        stubs = {
            name: stub if isinstance(stub, ToolStub) else _FunctionStub.of(stub) for name, stub in (tools or {}).items()
        }
        self._model = model
        self._steps: list[Observation] = []
        self._loop = asyncio.Runner(loop_factory=VirtualTimeLoop)
        begins_at = begins_at or ConversationFile.model_fields["begins_at"].default

        async def begin() -> tuple[ConversationPorts, DrivenConversation]:
            ports = ConversationPorts(
                clock=LoopClock(begins_at, name),
                agents=agents,
                model=self._model.model,
                names=self._model.names,
                counter=make_token_counter(),
                stubs=stubs,
                reach=reach,
            )
            thread_name = hashlib.sha256(name.encode()).hexdigest()
            return ports, DrivenConversation(
                ports, user or User(), OwnTime(), name=thread_name, agent=agent, folder=folder
            )

        self._ports, self._driven = self._run(begin())

    @property
    def steps(self) -> Sequence[Observation]:
        """The steps until now."""
        return tuple(self._steps)

    @property
    def workflow(self) -> str | None:
        """The state that the newest workflow is in; None if none has begun."""
        return self._steps[-1].workflow if self._steps else None

    def say(
        self, text: str, *, answers: Sequence[Answer] = (), files: Sequence[str] = (), error: str | None = None
    ) -> Observation:
        """Send a message. ``answers`` are those of a scripted model, in order; a real one ignores them.

        ``files`` are paths, ``error`` is the code of the error with which the run must end.
        """
        return self._take(self._driven.say(text, files), answers, error)

    def approve(
        self,
        tool: str | None = None,
        *,
        comment: str | None = None,
        answers: Sequence[Answer] = (),
        error: str | None = None,
    ) -> Observation:
        """Agree to the calls that wait, or to those of ``tool``."""
        return self._take(self._driven.decide(Decision(agrees=True, tool=tool, comment=comment)), answers, error)

    def decline(
        self,
        tool: str | None = None,
        *,
        comment: str | None = None,
        answers: Sequence[Answer] = (),
        error: str | None = None,
    ) -> Observation:
        """Disagree with the calls that wait, or with those of ``tool``."""
        return self._take(self._driven.decide(Decision(agrees=False, tool=tool, comment=comment)), answers, error)

    def exit(self, *, answers: Sequence[Answer] = (), error: str | None = None) -> Observation:
        """Leave the specialist by the button of the page."""
        return self._take(self._driven.exit(), answers, error)

    def go_on(self, *, answers: Sequence[Answer] = (), error: str | None = None) -> Observation:
        """Continue the unfinished workflow that was changed last, by the button of the page."""
        return self._take(self._driven.go_on(), answers, error)

    def close(self, *, answers: Sequence[Answer] = ()) -> Observation:
        """Close the conversation. The next message opens it again."""
        return self._take(self._driven.close(), answers, None)

    def wait(self, duration: timedelta, *, answers: Sequence[Answer] = ()) -> Observation:
        """Let time pass; it takes none. Idle conversations are closed."""
        return self._take(self._driven.wait(duration), answers, None)

    def transcript(self) -> str:
        """Return the steps as text, with notes that may explain a failure."""
        lines = [line for step in self._steps for line in step.transcript()]
        notes = [f"note: {note}" for note in (*self._ports.notes, *self._model.notes)]
        return "\n".join([*lines, *notes])

    def end(self) -> None:
        """Close connections and the event loop."""

        async def end() -> None:
            await self._model.aclose()
            await self._ports.functions.aclose()

        try:
            self._run(end())
        finally:
            self._loop.close()

    def _take(
        self, step: Coroutine[Any, Any, Observation], answers: Sequence[Answer], error: str | None
    ) -> Observation:
        self._model.give([ScriptedAnswer(say=one) if isinstance(one, str) else one for one in answers])
        seen = self._run(step)
        self._steps.append(seen)
        problems = [*seen.problems, *self._model.problems()]
        if problems:
            raise ConversationFailed("\n".join([f"{seen.title}: {problem}" for problem in problems]))
        if seen.error != error:
            expected = f"the error {error}" if error else "no error"
            happened = f"the error {seen.error}" if seen.error else "no error"
            raise ConversationFailed(f"{seen.title}: expected {expected}, happened {happened}")
        return seen

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return self._loop.run(work)
        except RuntimeError as problem:
            if "running event loop" not in str(problem):
                raise
            work.close()
            raise ConversationFailed(
                "A conversation has its own event loop: write the test as `def`, without `async`."
            ) from None


class ConversationMaker(Protocol):
    """A function that begins a conversation."""

    def __call__(
        self,
        *,
        agent: str | None = None,
        user: User | None = None,
        tools: Mapping[str, ToolStub | StubFunction] | None = None,
        reach: Sequence[str] = (),
        begins_at: datetime | None = None,
    ) -> Conversation:
        """Begin a conversation.

        ``agent`` is the main agent, by default the project's; ``tools`` are answers for tools by name: a ``ToolStub``
        or a function; ``reach`` names tools and servers outside that are really called. Python tools are, unless they
        are in ``tools``. ``begins_at`` is the time of its beginning, with a time zone.
        """
