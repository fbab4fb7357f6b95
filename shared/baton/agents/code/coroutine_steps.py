"""The steps of a coroutine. Each step is carried out once and recorded; later attempts use the record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial
from random import Random
from typing import Any, NoReturn, TypeVar
from uuid import UUID

from pydantic_core import PydanticSerializationError, to_jsonable_python

from baton.agents.agent_work import ROOM_SHARE, AgentWork
from baton.agents.code.coroutine_answer import CoroutineAnswer
from baton.agents.code.coroutine_calls import CoroutineCalls
from baton.agents.code.coroutine_models import CoroutineModels
from baton.agents.code.step_places import FOREIGN, AwaitedStep, StepNotAwaited, StepPlaces, StepPosition
from baton.authoring.containment import Owner, get_current_owner
from baton.authoring.run_context import Convert
from baton.concurrency.tasks import gather_all
from baton.domain.agents.answer_schema import AnswerType
from baton.domain.errors import RunLimitReached
from baton.domain.runs.run_step import (
    MAX_BRANCHES,
    MAX_STEP_BYTES,
    RunStep,
    StepKind,
    derive_step_digest,
    derive_step_id,
)
from baton.domain.runs.tool_call import ASK, RETURN, TRANSFER, make_tool_name
from baton.domain.text import replace_surrogates
from baton.ports.agents.tools import ToolFailed

T = TypeVar("T")

StepWork = Callable[[RunStep], Awaitable[RunStep]]

TOO_LARGE = "The result has {size} bytes; at most {most} can be recorded. Ask for less."
TOO_MUCH = "The arguments of step {place} have more than {most} characters. Please ask for less at once."
ASKS_AT_ONCE = 8
"""Agents that one coroutine asks at the same time."""


class CoroutineSteps:
    """The steps of one coroutine, as ``authoring.run_context.Steps``.

    A step never returns if it fails with an error that ends the turn, or waits for an approval: the coroutine ends
    instead. So its code cannot catch the error and continue without records.
    """

    def __init__(
        self,
        work: AgentWork,
        calls: CoroutineCalls,
        models: CoroutineModels,
        answer: CoroutineAnswer,
        *,
        on_call: Callable[[RunStep], Awaitable[None]],
        repeat: Callable[[RunStep], None],
    ) -> None:
        """``on_call`` gets the step of a call before it is recorded. ``repeat`` applies a recorded step again."""
        context = self._context = work.context
        self._journal = context.steps
        self._work = work
        self._calls = calls
        self._models = models
        self._answer = answer
        self._on_call = on_call
        self._repeat = repeat
        self._places = StepPlaces(context.thread_id, "\0".join(("run", self._journal.message_id, work.caller)))
        self._slots = {
            StepKind.CALL: self._journal.slots,
            StepKind.MODEL: self._journal.slots,
            StepKind.ASK: asyncio.Semaphore(ASKS_AT_ONCE),
        }
        """The slots for parallel steps of a kind. Steps of other kinds need none."""
        self._loop = asyncio.get_running_loop()
        self.ending: asyncio.Future[None] = self._loop.create_future()
        """Done once the coroutine cannot continue, because of ``failure`` or because it waits."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._active = 0
        self._is_waiting = False
        self._not_awaited: list[StepNotAwaited] = []
        self.failure: Exception | None = None
        """The error that has ended the coroutine."""

    # Steps that the coroutine calls

    def ask(self, agent_id: str, message: str) -> Awaitable[str]:
        name, arguments = make_tool_name(ASK, agent_id), {"message": message}
        return self._make_awaited_step("ask", self._take_outside, StepKind.ASK, name, arguments, str)

    def begin_task(self, agent_id: str, message: str) -> Awaitable[str]:
        name, arguments = make_tool_name(ASK, agent_id), {"message": message}
        return self._make_awaited_step("begin", self._take_outside, StepKind.BEGIN, name, arguments, str)

    def call(self, name: str, arguments: Mapping[str, Any], convert: Convert) -> Awaitable[Any]:
        return self._make_awaited_step("call", self._take_outside, StepKind.CALL, name, arguments, convert)

    def model(self, instruction: str, kind: AnswerType | None, convert: Convert, *, history: bool) -> Awaitable[Any]:
        async def work(step: RunStep) -> RunStep:
            run_step = await self._models.ask(step, instruction, kind, history=history)
            self._work.sources.add(run_step.sources)  # the coroutine may quote the answer with its citations
            return run_step

        parameters = [instruction, kind and kind.schema, history]
        return self._make_awaited_step("model", self._take_value, StepKind.MODEL, parameters, work, convert)

    def answer(self, instruction: str | None) -> Awaitable[None]:
        async def work(step: RunStep) -> RunStep:
            run_step = await self._models.let_answer(step, instruction)
            self._answer.note(run_step)
            return run_step

        return self._make_awaited_step("answer", self._take_value, StepKind.ANSWER, instruction, work)

    def say(self, text: str) -> Awaitable[None]:
        if not isinstance(text, str):
            raise TypeError(f"say takes text, and not {type(text).__name__}")
        return self._make_awaited_step(
            "say", self._take_value, StepKind.SAY, text, partial(self._answer.say, text=text)
        )

    def incoming(self) -> Awaitable[list[str]]:
        async def work(step: RunStep) -> RunStep:
            room = self._context.fit_agent(self._work.agent).memory.max_working_memory_tokens // ROOM_SHARE
            texts = [(message.id, message.text) for message in await self._work.enter_messages(room=room)]
            ended_at = self._context.services.clock.now()
            return replace(step, value=json.dumps(texts, ensure_ascii=False), ended_at=ended_at)

        return self._make_awaited_step("incoming", self._take_value, StepKind.INCOMING, None, work, _read_texts)

    def hand_over(self, agent_id: str, reason: str, summary: str) -> Awaitable[None]:
        arguments = {"reason": reason, "context_summary": summary}
        return self._make_awaited_step("hand_over", self._take_control, make_tool_name(TRANSFER, agent_id), arguments)

    def return_to_main(self, summary: str, outcome: str) -> Awaitable[None]:
        arguments = {"summary": summary, "outcome": outcome}
        return self._make_awaited_step("return_to_main", self._take_control, RETURN, arguments)

    def branch_out(self, branches: tuple[Awaitable[Any], ...]) -> Awaitable[list[Any]]:
        return self._make_awaited_step("gather", self._take_gather, branches, get_current_owner())

    def now(self) -> datetime:
        return self._places.branch.now

    @property
    def random(self) -> Random:
        return self._places.branch.random

    def uuid(self) -> UUID:
        return self._places.new_id()

    def _make_awaited_step(
        self, name: str, work: Callable[..., Coroutine[Any, Any, Any]], *about: object
    ) -> Awaitable[Any]:
        """Return an awaitable that carries out ``work`` at the caller's next place. ``name`` is for its error."""
        return AwaitedStep(partial(work, self._places.take_next(), *about), name, self._not_awaited)

    # Control by the agent

    async def begin(self, work: Awaitable[Any]) -> Any:
        """Await the coroutine as the first branch, in which step numbers begin with 1."""
        return await self._places.run_first(work, self._journal.began_at)

    def check_awaited(self, returned: Any) -> None:
        """Raise ``StepNotAwaited`` if the coroutine has dropped a step, or if ``returned`` is a step."""
        if isinstance(returned, AwaitedStep):
            raise returned.error
        if self._not_awaited:
            raise self._not_awaited[0]

    def end(self, failure: Exception | None = None) -> None:
        """End the coroutine at its next await. The first reason counts."""
        if not self.ending.done():
            self.failure = failure
            self.ending.set_result(None)

    @property
    def unfinished(self) -> list[asyncio.Task[Any]]:
        """The tasks of steps that have not ended, including steps that nobody awaits."""
        return [task for task in self._tasks if not task.done()]

    async def wait_forever(self) -> NoReturn:
        """Wait until the coroutine is stopped."""
        # Each wait needs a new future. A cancelled future is done, so code that catches the cancellation would loop.
        await self._loop.create_future()
        raise AssertionError

    # Records of steps

    def find_input(self) -> str | None:
        """Return the recorded input of the coroutine, which is step 0; None if it is not recorded."""
        step = self._journal.find(self._derive_id("0"), StepKind.INPUT, derive_step_digest(StepKind.INPUT, None), "0")
        return step.value if step is not None else None

    async def keep_input(self, value: str) -> None:
        """Record the input of the coroutine as step 0. Raises ``LeaseLost`` and ``StoreUnavailable``."""
        await self._keep(replace(self._make_step("0", StepKind.INPUT, None), value=value))

    async def _take_outside(
        self, position: StepPosition | None, kind: StepKind, name: str, fields: Mapping[str, Any], convert: Convert
    ) -> Any:
        """Take a step that calls a tool or asks an agent, and return its converted result or the id of its task.

        Raises ``ToolFailed`` if the call has failed, and ``TypeError`` for arguments that are no JSON.
        """
        position = await self._require_position(position)
        try:
            arguments = replace_surrogates(
                json.dumps(to_jsonable_python(dict(fields)), ensure_ascii=False, sort_keys=True)
            )
        except (PydanticSerializationError, ValueError) as problem:
            raise TypeError(f"The arguments of {name} are no JSON: {problem}") from problem

        async def work(step: RunStep) -> RunStep:
            run_step = await self._calls.make(step, name, arguments)
            await self._on_call(run_step)
            return run_step

        step = await self._take(position, kind, [name, arguments], work, may_wait=self._calls.may_wait(name))
        if step.error is not None:
            raise ToolFailed(step.error, is_outage=step.is_outage, is_refused=step.is_refused)
        if kind is StepKind.BEGIN and step.task_id is not None:
            return step.task_id
        return convert(step.value)

    async def _take_value(
        self,
        position: StepPosition | None,
        kind: StepKind,
        about: object,
        work: StepWork,
        convert: Convert = lambda _: None,
    ) -> Any:
        """Return the converted value of a step; None without ``convert``, when the text is only for the user."""
        return convert((await self._take(position, kind, about, work)).value)

    async def _take_control(self, position: StepPosition | None, name: str, arguments: Mapping[str, Any]) -> None:
        """Carry out a step that ends the coroutine. It is not recorded, so that a later attempt repeats it.

        Raises ``ToolFailed`` if its built-in tool cannot be used.
        """
        await self._require_position(position)
        problem = await self._end_on_error(
            self._begin_control(name, replace_surrogates(json.dumps(arguments, ensure_ascii=False)))
        )
        raise ToolFailed(problem, is_refused=True)

    async def _begin_control(self, name: str, arguments: str) -> str:
        """Use a built-in tool that ends the coroutine. Return the reason why it cannot be used, or never return."""
        await self._continue_or_wait()
        problem = await self._calls.use_control_tool(name, arguments)
        if problem is None:
            self.end()
            await self.wait_forever()
        return problem

    async def _take_gather(
        self, position: StepPosition | None, branches: tuple[Awaitable[Any], ...], owner: Owner | None
    ) -> list[Any]:
        """Run the branches in parallel, and return their results in order. Too many branches end the coroutine."""
        if position is None or len(branches) > MAX_BRANCHES:
            for branch in branches:
                if asyncio.iscoroutine(branch):
                    branch.close()
            position = await self._require_position(position)
            self.end(RunLimitReached(f"gather takes at most {MAX_BRANCHES} branches, and has {len(branches)}."))
            await self.wait_forever()
        tasks = [
            asyncio.ensure_future(self._places.run_branch(branch, position, number, owner))
            for number, branch in enumerate(branches)
        ]
        self._tasks.update(tasks)
        return await gather_all(*tasks)

    async def _take(
        self, position: StepPosition | None, kind: StepKind, about: object, work: StepWork, *, may_wait: bool = False
    ) -> RunStep:
        """Return a step from its record, or carry it out and record it.

        ``about`` distinguishes the step from other steps at the same place, and ``may_wait`` says that the step may
        wait for an approval.
        """
        position, task = await self._require_position(position), asyncio.current_task()
        if _count_chars(about) > MAX_STEP_BYTES:
            self.end(RunLimitReached(TOO_MUCH.format(place=position.path, most=MAX_STEP_BYTES)))
            await self.wait_forever()
        if task is not None:
            self._tasks.add(task)
        step = await self._end_on_error(self._find_or_carry_out(position.path, kind, about, work, may_wait=may_wait))
        position.branch.note_end(step.ended_at)
        return step

    async def _require_position(self, position: StepPosition | None) -> StepPosition:
        """Return ``position``. If it is None, let other tasks run and then raise ``RuntimeError``."""
        if position is None:
            if self.ending.done():
                await self.wait_forever()
            await asyncio.sleep(0)
            raise RuntimeError(FOREIGN)
        return position

    async def _end_on_error(self, work: Awaitable[T]) -> T:
        """Await a part of a step. An error ends the coroutine, instead of being raised in its code."""
        try:
            return await work
        except Exception as error:  # noqa: BLE001 - the turn ends with it
            self.end(error)
            await self.wait_forever()

    async def _find_or_carry_out(
        self, path: str, kind: StepKind, about: object, work: StepWork, *, may_wait: bool
    ) -> RunStep:
        """Return the recorded step at ``path``; otherwise carry it out and record it.

        A step that waits for an approval never returns.
        """
        await self._continue_or_wait()
        record = self._journal.find(self._derive_id(path), kind, derive_step_digest(kind, about), path)
        if record is not None and not record.waits:
            self._repeat(record)
            return record
        if self._is_waiting and not may_wait:
            await self.wait_forever()
        async with self._slots.get(kind, nullcontext()):
            # Another step may have begun to wait while this one waited for its slot.
            if self._is_waiting and not may_wait:
                await self.wait_forever()
            if not await self._context.may_act():
                await self.wait_forever()
            self._active += 1
            try:
                step = _limit_size(await work(self._make_step(path, kind, about)))
                if self._context.stop.is_set():
                    await self.wait_forever()
                await self._keep(step)
                self._is_waiting |= step.waits
            finally:
                self._active -= 1
                if self._is_waiting and not self._active:
                    self.end()
        if step.waits:
            await self.wait_forever()
        return step

    async def _continue_or_wait(self) -> None:
        """Let other tasks run, because recorded steps do not wait. Never return if the coroutine has ended."""
        await asyncio.sleep(0)
        if self.ending.done() or self._context.stop.is_set():
            await self.wait_forever()
        self.check_awaited(None)
        self._journal.take()

    async def _keep(self, step: RunStep) -> None:
        await self._journal.keep(self._context.services.records, self._context.lease(), step)

    def _make_step(self, path: str, kind: StepKind, about: object) -> RunStep:
        return RunStep(
            id=self._derive_id(path),
            message_id=self._journal.message_id,
            run_id=self._context.run.run_id,
            place=path,
            kind=kind,
            digest=derive_step_digest(kind, about),
            ended_at=self._context.services.clock.now(),
        )

    def _derive_id(self, path: str) -> str:
        return derive_step_id(self._context.thread_id, self._journal.message_id, self._work.caller, path)


def _read_texts(value: str) -> list[str]:
    """Return the texts of the messages in a recorded ``incoming`` step."""
    return [text for _, text in json.loads(value)]


def _count_chars(about: object) -> int:
    """Return the number of characters of the texts in a step's arguments."""
    parts = about if isinstance(about, list) else [about]
    return sum(len(part) for part in parts if isinstance(part, str))


def _limit_size(step: RunStep) -> RunStep:
    """Return the step, or a failed step if the result is too large to be recorded."""
    if step.size <= MAX_STEP_BYTES:
        return step
    return replace(step, value="", error=TOO_LARGE.format(size=step.size, most=MAX_STEP_BYTES), sources=())
