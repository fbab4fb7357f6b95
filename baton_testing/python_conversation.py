"""Conversations for tests in Python, with plain asserts about the agents' texts, calls and handoffs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from copy import copy
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from pydantic import PrivateAttr

from baton.adapters.agents.agent_files import AgentFiles
from baton.adapters.tools.python_tools import REFUSED_WITHOUT_REASON
from baton.domain.agents.guardrail import Refuse
from baton.ports.agents.tools import ToolFailed
from baton_testing.actions import EventStep, Meanwhile, PersonStep
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
ANSWERS_EXAMPLE = (
    'Write a list of texts and of calls of tools, such as answers=[call("order_status", {"number": "A-1001"}), "Soon."]'
)
StubFunction = Callable[[dict[str, Any]], Any]
"""A function that answers a tool's call: it takes the arguments, and returns JSON or ``Refuse``, or raises
``ToolFailed``."""


class ConversationFailed(AssertionError):
    """A failure of a step that could not be done, or of a run that ended with an unexpected error."""


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
            result = self._function(arguments)
        except ToolFailed as problem:
            if problem.state is None and not problem.is_refused:
                return Case(fails=problem.message)
            return Case(refuses=problem.message, state=problem.state)
        if isinstance(result, Refuse):
            return Case(refuses=result.sentence or REFUSED_WITHOUT_REASON, state=result.state)
        return Case(returns=result)


class Conversation:
    """A user in front of a project's agents, on the code of a deployment, over stores in memory and in virtual time.

    Each method is a step of the user and returns its ``Observation``. A step that cannot be done, and an error that the
    test does not expect, raise ``ConversationFailed``. Call ``end`` after the last step.
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
        """``folder`` is the base of the paths of files. All ids are derived from ``name``.

        ``agent`` and the parameters after ``folder`` are those of ``ConversationMaker``.
        """
        stubs = {
            name: stub if isinstance(stub, ToolStub) else _FunctionStub.of(stub) for name, stub in (tools or {}).items()
        }
        self._model = model
        self._steps: list[Observation] = []
        self._others: list[Conversation] = []
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
        """The observations of the steps so far."""
        return tuple(self._steps)

    @property
    def workflow(self) -> str | None:
        """The state of the newest workflow; None if no workflow has begun."""
        return self._steps[-1].workflow if self._steps else None

    def say(
        self,
        text: str,
        *,
        answers: Sequence[Answer] = (),
        files: Sequence[str] = (),
        meanwhile: Sequence[Meanwhile] = (),
        error: str | None = None,
    ) -> Observation:
        """Send a message. ``answers`` are those of a scripted model, in order; a real one ignores them.

        ``files`` are paths, ``meanwhile`` are messages that the user sends while the agent works, ``error`` is the code
        of the error with which the run must end.
        """
        return self._take(self._driven.say(text, files, meanwhile), answers, error)

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

    def begin_another(self) -> Conversation:
        """Begin another conversation of the same user, which remembers this one.

        A conversation is recalled in others as soon as it is closed, by ``close`` or because it is idle.
        """
        other = copy(self)
        other._driven = self._driven.begin_another()
        other._steps, other._others = [], []
        self._others.append(other)
        return other

    def ask_desk(
        self, desk_id: str | None = None, *, answers: Sequence[Answer] = (), error: str | None = None
    ) -> Observation:
        """Ask for the people of a desk, by default of the first one, by the button of the page."""
        return self._take(self._driven.ask_desk(desk_id), answers, error)

    def act_as_person(
        self, step: PersonStep, *, answers: Sequence[Answer] = (), error: str | None = None
    ) -> Observation:
        """Let a person of the desk act. Permissions are not checked."""
        return self._take(self._driven.act_as_person(step), answers, error)

    def send_event(
        self,
        type: str,  # noqa: A002 - its name on the wire
        data: Any = None,
        *,
        id: str | None = None,  # noqa: A002
        answers: Sequence[Answer] = (),
        error: str | None = None,
    ) -> Observation:
        """Send an event into the conversation, as your server or a hook does. The same ``id`` again counts once."""
        return self._take(self._driven.send_event(EventStep(type=type, data=data, id=id)), answers, error)

    def wait(
        self,
        duration: timedelta = timedelta(),
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        answers: Sequence[Answer] = (),
    ) -> Observation:
        """Let virtual time pass, which takes no real time.

        Idle conversations are closed, and reminders begin at their times.
        """
        duration += timedelta(days=days, hours=hours, minutes=minutes)
        return self._take(self._driven.wait(duration), answers, None)

    def transcript(self) -> str:
        """Return the steps as text, also those of others that began here, with notes that may explain a failure."""
        notes = [f"note: {note}" for note in (*self._ports.notes, *self._model.notes)]
        return "\n".join([*self._list_lines(), *notes])

    def _list_lines(self) -> list[str]:
        others = [line for other in self._others for line in ("another conversation:", *other._list_lines())]
        return [*(line for step in self._steps for line in step.transcript()), *others]

    def end(self) -> None:
        """Close connections and the event loop."""

        async def close() -> None:
            await self._model.aclose()
            await self._ports.functions.aclose()

        try:
            self._run(close())
        finally:
            self._loop.close()

    def _take(
        self, step: Coroutine[Any, Any, Observation], answers: Sequence[Answer], error: str | None
    ) -> Observation:
        try:
            self._model.give(_to_scripted(answers))
        except ConversationFailed:
            step.close()
            raise
        seen = self._run(step)
        self._steps.append(seen)
        problems = [*seen.problems, *self._model.take_problems()]
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


def _to_scripted(answers: Sequence[Answer]) -> list[ScriptedAnswer]:
    """Return answers in one form.

    Raises ``ConversationFailed`` for invalid values, because tests may be written without a type checker.
    """
    if not isinstance(answers, list | tuple):
        raise ConversationFailed(f"`answers` is {answers!r}, which is not a list. {ANSWERS_EXAMPLE}")
    scripted = [ScriptedAnswer(say=answer) if isinstance(answer, str) else answer for answer in answers]
    for answer in scripted:
        if not isinstance(answer, ScriptedAnswer):
            raise ConversationFailed(f"`answers` has {answer!r}, which is not an answer. {ANSWERS_EXAMPLE}")
    return scripted


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
        are in ``tools``. ``begins_at`` is the time of its beginning, with a time zone; by default that of conversation
        tests.
        """
