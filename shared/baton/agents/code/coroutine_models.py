"""Calls of a model by a coroutine, each with the agent's prompt and an instruction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from baton.agents.agent_loop import AgentLoop
from baton.agents.agent_work import AgentWork, make_unseen_transcript
from baton.agents.attempt_context import Attempt
from baton.agents.call_outcome import AgentResult
from baton.agents.guardrails.hooks import HookRefusal
from baton.agents.tools.tool_set import ToolSet
from baton.agents.transcript import Transcript
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.answer_schema import AnswerType
from baton.domain.documents.numbered_passages import join_consulted
from baton.domain.errors import AnswerInvalid, ModelUnavailable, RunLimitReached
from baton.domain.runs.run_step import RunStep
from baton.domain.runs.usage import OTHER_MODELS, ModelUsage
from baton.domain.threads.message import Role, StoredMessage
from baton.memory.prompt.context import AssembledContext
from baton.memory.prompt.message_prompts import count_prompt_tokens
from baton.ports.agents.chat_model import Prompt

AssemblePrompt = Callable[[str | None], Awaitable[AssembledContext]]
"""Makes the agent's prompt from the given message alone, or from the conversation so far if it is None."""

_NO_TOOLS = ToolSet({})


class VisibleRefusal(HookRefusal):
    """A refusal of an answer whose sentence the user has seen already."""


class CoroutineModels:
    """The calls of one coroutine's model."""

    def __init__(self, work: AgentWork, assemble: AssemblePrompt) -> None:
        """``assemble`` makes the prompts for the agent's model."""
        self._work = work
        self._context = work.context
        self._agent = work.agent
        self._transcript = work.transcript
        self._assemble = assemble
        self._is_inspected = False

    async def ask(self, step: RunStep, instruction: str, kind: AnswerType | None, *, history: bool) -> RunStep:
        """Ask the model, and return the step with its answer, which the user does not see.

        ``kind`` is the type of a structured answer, None for a text. With ``history``, the prompt has the conversation;
        otherwise the instruction is its only message.

        Raises ``HookRefusal``, ``RunLimitReached``, and ``ModelError``, such as ``AnswerInvalid`` for a cut text.
        """
        unseen = make_unseen_transcript(self._context, f"{self._work.caller}\0{step.place}")
        agent = self._agent.for_unseen_answer(kind)
        context = replace(self._context, emit=lambda _: None)  # the user does not see the answer
        prompt = await self._assemble(None if history else instruction)
        if history:
            prompt = self._add_instruction(prompt, instruction)
        result, message = await self._run_loop(context, agent, unseen, prompt, notes_history=history)
        if kind is None and message.is_cut:
            raise AnswerInvalid("The model's answer was cut at its length limit. Please ask for less.")
        if message.refused_by is not None:
            raise HookRefusal(message.text, message.refused_by)
        return self._finish_step(step, message, result)

    async def let_answer(self, step: RunStep, instruction: str | None) -> RunStep:
        """Let the model answer the user, and return the step with the text that the user has seen.

        Raises ``VisibleRefusal``, ``RunLimitReached`` and ``ModelError``.
        """
        prompt = await self._assemble(None)
        if instruction is not None:
            prompt = self._add_instruction(prompt, instruction)
        agent = self._agent.for_seen_answer()
        result, message = await self._run_loop(self._context, agent, self._transcript, prompt, notes_history=True)
        if message.refused_by is not None:
            raise VisibleRefusal(message.text, message.refused_by)
        return self._finish_step(step, message, result)

    def count(self, step: RunStep, *, is_paid: bool) -> None:
        """Count a recorded model call towards the limits. With ``is_paid``, its tokens are charged to this run."""
        if step.model is None:
            return
        self._work.budget.count_model_call(step.usage)
        if is_paid:
            self._work.result.usage += step.usage
            self._context.spent.append(ModelUsage(step.model or OTHER_MODELS, step.usage))

    async def _run_loop(
        self,
        context: Attempt,
        agent: AgentDefinition,
        transcript: Transcript,
        prompt: AssembledContext,
        *,
        notes_history: bool,
    ) -> tuple[AgentResult, StoredMessage]:
        """Ask the model, once more if an answer does not fit its schema. Return the result and the answer's message.

        Raises ``RunLimitReached``, ``ModelUnavailable`` for an empty answer, and the errors of ``AgentLoop.answer``.
        """
        if not self._work.budget.allows_model_call:
            raise RunLimitReached(
                f"{self._agent.name} has asked its model as often as one answer may: see limits.model_calls and "
                "limits.tokens of the agent."
            )
        loop = AgentLoop(AgentWork(context, agent, _NO_TOOLS, transcript, task_id=self._work.task_id))
        is_inspected = not self._is_inspected
        await loop.begin(prompt, is_question_judged=True, is_inspected=is_inspected, earlier=self._work.sources.all)
        self._is_inspected = True
        try:
            await loop.answer()
        finally:
            result = loop.result
            self._work.result.usage += result.usage
            self._work.result.model = result.model
            self._work.budget.count_model_call(result.usage)
            if notes_history:
                self._work.result.history, self._work.result.followed = result.history, result.followed
        last = transcript.messages[-1] if transcript.messages else None
        if last is None or last.role is not Role.ASSISTANT or not last.text or not result.has_answered:
            raise ModelUnavailable("The model gave an empty answer. Please try again.")
        return result, last

    def _add_instruction(self, prompt: AssembledContext, instruction: str) -> AssembledContext:
        """Return the prompt with an instruction at its end, so that the part that providers cache stays the same."""
        instruction_prompt = Prompt(Role.SYSTEM, instruction)
        tokens = (
            prompt.tokens + count_prompt_tokens(instruction_prompt, self._context.services.counter)
            if prompt.tokens
            else 0
        )
        return replace(prompt, prompts=(*prompt.prompts, instruction_prompt), tokens=tokens)

    def _finish_step(self, step: RunStep, message: StoredMessage, result: AgentResult) -> RunStep:
        return replace(
            step,
            ended_at=self._context.services.clock.now(),
            value=message.text,
            usage=result.usage,
            model=result.model or OTHER_MODELS,
            sources=join_consulted(message.sources, message.consulted),
        )
