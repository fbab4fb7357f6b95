"""An agent whose ``run`` is a coroutine. The run's journal records the steps of the coroutine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from aws_lambda_powertools import Logger

from baton.agents.agent_work import AgentWork
from baton.agents.call_outcome import AgentResult, CallOutcome
from baton.agents.code.coroutine_answer import CoroutineAnswer
from baton.agents.code.coroutine_calls import CALLS, CoroutineCalls
from baton.agents.code.coroutine_models import AssemblePrompt, CoroutineModels, VisibleRefusal
from baton.agents.code.coroutine_steps import CoroutineSteps
from baton.agents.guardrails.hooks import HookRefusal
from baton.agents.guardrails.judged_texts import judge_question
from baton.authoring.run_context import RunContext
from baton.domain.agents.agent_code import HookPoint
from baton.domain.errors import TurnTimeout
from baton.domain.runs.conversation_data import ConversationData
from baton.domain.runs.run_step import RunStep, StepKind
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.content import Content, text_of

logger = Logger(child=True)

GRACE_SECONDS = 5.0
"""The time in which a stopped coroutine should end. After that, nothing waits for it any more."""


class CoroutineAgent:
    """One agent's answer by its ``run``. Texts, calls and results are added to the transcript and emitted as events."""

    def __init__(
        self, work: AgentWork, assemble: AssemblePrompt, *, content: Content, is_question_judged: bool = False
    ) -> None:
        """``content`` is the question. ``assemble`` makes the prompts for the agent's model."""
        context = work.context
        self._work = work
        self._context = context
        self._agent = work.agent
        self._content = content
        self._message = text_of(content)
        self._is_question_judged = is_question_judged
        context.numbers.reserve(context.steps.sources)
        self._data = ConversationData(context.data.values)
        """The conversation's data as the coroutine sees them: as at its beginning, with the changes of its steps."""
        self._first_data = self._data.copy()
        self._state: dict[str, Any] = {}
        self._calls = CoroutineCalls(work)
        self._models = CoroutineModels(work, assemble)
        self._answer = CoroutineAnswer(work)
        self._steps = CoroutineSteps(
            work, self._calls, self._models, self._answer, on_call=self._take_call, repeat=self._repeat
        )

    @property
    def result(self) -> AgentResult:
        """The result so far; it is final once ``answer`` has returned."""
        return self._work.result

    async def go_on(
        self, calls: Sequence[ToolCall], approved: Collection[str], settled: Mapping[str, CallOutcome]
    ) -> None:
        """Execute the ``approved`` calls of an interrupted run, and use the ``settled`` outcomes of the others.

        ``approved`` has call ids, and ``settled`` has outcomes by call id.
        """
        await self._calls.go_on(calls, approved, settled)

    async def answer(self) -> None:
        """Run the coroutine. Raises the coroutine's exceptions, and the error that ends the run."""
        if not await self._context.may_act():
            return
        try:
            await self._begin()
            returned_value = await self._run()
            if returned_value is not None:
                await self._answer.finish(returned_value)
        except VisibleRefusal:
            self._work.result.has_answered = True
        except HookRefusal as refusal:
            if not await self._work.end_silently(refusal):
                self._answer.refuse(refusal)
        if self._work.result.waiting and not self._context.stop.is_set():
            self._calls.show_waiting()

    async def _begin(self) -> None:
        """Restore the question and the state with which the exchange began, or judge a new question and record both."""
        stored_input, hooks, screened = self._steps.find_input(), self._work.hooks, self._context.screened
        if stored_input is not None:
            values = json.loads(stored_input)
            self._data = ConversationData(values["state"])
            judged_text = values["text"]
        elif hooks is None or self._is_question_judged or not hooks.has(HookPoint.INPUT_GUARDRAIL):
            return
        else:
            screened.is_refused = True  # until guardrails allow it, because the run may be stopped before
            judged_text = await judge_question(hooks, self._context, self._content)
        screened.allow(self._agent)
        screened.text = judged_text if judged_text != self._message else screened.text
        self._message = judged_text
        if stored_input is None:
            await self._keep_input()

    async def _keep_input(self) -> None:
        """Record the question and the state, so that they are the same when the coroutine begins again."""
        if self._steps.find_input() is None:
            values = {"text": self._message, "state": self._first_data}
            await self._steps.keep_input(json.dumps(values, ensure_ascii=False))

    async def _run(self) -> Any:
        """Run the coroutine until it ends, has to wait, or is stopped.

        Return its value, or an empty text if it has shown no answer and returned None. Return None if the coroutine has
        shown its answer, waits, or was stopped. Raises ``TurnTimeout``, the errors of the coroutine and its steps, and
        ``RuntimeError`` if the coroutine has cancelled itself.
        """
        context, agent = self._context, self._agent
        function = agent.code.run
        assert function is not None  # noqa: S101 - only agents with ``run`` get a ``CoroutineAgent``
        self._state.update(self._data.copy())
        run_context = context.make_context(RunContext, agent, state=self._state, steps=self._steps)
        work = context.services.functions.call_with(function, run_context, {"message": self._message}, ("message",))
        running = asyncio.ensure_future(self._steps.begin(work))
        stopped = asyncio.ensure_future(context.stop.wait())
        try:
            async with asyncio.timeout_at(context.deadline):
                futures = {running, self._steps.ending, stopped}
                await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            raise TurnTimeout from None
        finally:
            is_done = running.done()
            self._steps.end()
            await self._give_up(running, stopped, *self._steps.unfinished)
        if self._steps.failure is not None:
            raise self._steps.failure
        if not is_done or context.stop.is_set():
            return None
        if running.cancelled():
            raise RuntimeError(f"run of {agent.id} has cancelled itself")
        returned_value = running.result()
        self._steps.check_awaited(returned_value)
        return returned_value if returned_value is not None or self._work.result.has_answered else ""

    async def _give_up(self, *tasks: asyncio.Future[Any]) -> None:
        """Cancel tasks and wait until they end, at most ``GRACE_SECONDS``. A task may catch its cancellation."""
        unfinished = {task for task in tasks if not task.done()}
        for task in unfinished:
            task.cancel()
        if unfinished:
            _, unfinished = await asyncio.wait(unfinished, timeout=GRACE_SECONDS)
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()  # marks the error as retrieved, so that asyncio does not log it
        if unfinished:
            logger.error("run does not end", agent=self._agent.id, thread_id=self._context.thread_id)

    async def _take_call(self, step: RunStep) -> None:
        """Apply the outcome of a call. If the call waits, record the question and the state first."""
        if step.waits:
            await self._keep_input()
        self._apply_data(step)

    def _repeat(self, step: RunStep) -> None:
        """Apply the effects of a recorded step again.

        The effects of a step of this run were lost with the earlier attempt, so they are also shown again. The effects
        of a step of an earlier run in the exchange were committed.
        """
        is_lost = step.run_id == self._context.run.run_id
        self._apply_data(step)
        self._calls.count(step)
        self._models.count(step, is_paid=is_lost)
        if not is_lost:
            self._answer.note(step)
        elif step.kind in (StepKind.SAY, StepKind.ANSWER):
            self._answer.show_again(step)
        elif step.kind is StepKind.INCOMING:
            self._work.enter_again(dict(json.loads(step.value)))
        elif step.kind in CALLS and not self._calls.is_settled(step):
            if step.data is not None:
                self._context.data.apply(step.data)
            self._calls.show_again(step)

    def _apply_data(self, step: RunStep) -> None:
        """Apply a step's change of the conversation's data to the data that the coroutine sees."""
        if step.data is not None:
            self._data.apply(step.data)
            self._state.clear()
            self._state.update(self._data.copy())
