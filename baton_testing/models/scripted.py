"""A model that gives the answers of a test."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING

from baton.domain.runs.usage import Usage
from baton.ports.agents.chat_model import FinishReason, ModelChunk, ModelSettings, Prompt, ToolSpec
from baton.ports.documents.files import ThreadFiles
from baton_testing.conversation_test import ScriptedAnswer
from baton_testing.errors import CannotRun
from baton_testing.models.answering import ModelAnswer, make_model_error

if TYPE_CHECKING:
    from baton_testing.models.demo_script import DemoScriptModel

DEFAULT_ANSWERS = {
    "handoff_summary": "The user needs the specialist.",
    "history_summary": "The user and the assistant have talked.",
    "episode_summary": "The user and the assistant have talked.",
    "episode_facts": '{"facts": []}',
    "fact_changes": '{"pairs": []}',
    "thread_title": "A conversation",
}
"""The answers to Baton's own requests for which a test has none."""


class ScriptedModel:
    """``ports.agents.chat_model.ChatModel`` that gives each answer once, to the first request of its agent or task."""

    def __init__(
        self, *, may_keep_some: bool = False, read_script: Callable[[], DemoScriptModel] | None = None
    ) -> None:
        """``may_keep_some`` says whether unused answers are no problem.

        ``read_script`` returns a model that answers until ``give`` is called with answers.
        """
        self._may_keep_some = may_keep_some
        self._read_script = read_script
        self._script: DemoScriptModel | None = None
        self._waiting: list[ScriptedAnswer] = []
        self._not_offered: dict[str, None] = {}
        """Tools that answers have called although they were not offered."""
        self.problems: list[str] = []
        """Descriptions of requests for which there was no answer."""

    def give(self, answers: Sequence[ScriptedAnswer]) -> None:
        """Add answers. The first ones end the use of the demo model's script."""
        self._waiting += answers
        if answers:
            self._read_script = self._script = None

    def take_unused(self) -> list[ScriptedAnswer]:
        """Drop the unused answers, and return them unless they are no problem."""
        answers, self._waiting = self._waiting, []
        return [] if self._may_keep_some else answers

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the next answer for the agent or task of the request. Raises ``ModelError`` if there is none."""
        if self._script is None and self._read_script is not None:
            try:
                self._script = self._read_script()
            except CannotRun as problem:
                self.problems.append(str(problem))
                raise make_model_error("model_unavailable") from None
        if self._script is not None:
            script = self._script
            try:
                async for chunk in script.stream(settings, prompts, thread_files=thread_files, tools=tools):
                    yield chunk
            finally:
                self.problems += script.problems
                script.problems = []
            return
        agent, task = settings.metadata.get("agent"), settings.metadata.get("task")
        chosen = next((answer for answer in self._waiting if _is_for(answer, agent, task)), None)
        if chosen is not None:
            self._waiting.remove(chosen)
            answer = _make_answer(chosen)
            self._not_offered.update(dict.fromkeys(set(chosen.call) - {tool.name for tool in tools}))
        elif task in DEFAULT_ANSWERS:
            answer = ModelAnswer(DEFAULT_ANSWERS[task], usage=Usage())
        else:
            offered = ", ".join(tool.name for tool in tools) or "none"
            if self._not_offered:
                self.problems.append(
                    f"An answer calls {', '.join(self._not_offered)}, which the agent is not offered here. If it is a "
                    "tool that tests do not reach, stub it under `tools`, or name it in `reach`."
                )
            self.problems.append(
                f"The test has no answer for {agent or task or 'the model'}. Add a text or a call of a tool to the "
                "`answers` of this step. The demo model's script answers only conversations without `answers`. "
                f"Last message: {_shorten_last(prompts)!r}; tools: {offered}."
            )
            raise make_model_error("model_refused")
        async for chunk in answer.stream(settings.model):
            yield chunk


def _is_for(answer: ScriptedAnswer, agent: object, task: object) -> bool:
    if answer.task is not None or task is not None:
        return answer.task == task
    return answer.agent is None or answer.agent == agent


def _make_answer(scripted: ScriptedAnswer) -> ModelAnswer:
    calls = tuple((name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in scripted.call.items())
    return ModelAnswer(
        scripted.say,
        calls,
        FinishReason.TOOL_CALLS if calls else FinishReason.STOP,
        Usage(scripted.input_tokens, scripted.output_tokens),
        scripted.fail,
    )


def _shorten_last(prompts: Sequence[Prompt]) -> str:
    content = prompts[-1].content if prompts else ""
    text = content if isinstance(content, str) else "(parts)"
    return text if len(text) <= 120 else f"{text[:117]}..."
