"""The demo model's script as a model, without its server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from baton.adapters.models.openai.messages import make_wire_messages, make_wire_metadata, make_wire_tools
from baton.domain.errors import ModelError
from baton.domain.runs.usage import Usage
from baton.ports.agents.chat_model import FinishReason, ModelChunk, ModelSettings, Prompt, TokenCounter, ToolSpec
from baton.ports.documents.files import ThreadFiles
from baton_local.demo_model.completion import Completion
from baton_local.demo_model.engine import Engine
from baton_local.demo_model.schema_instance import fit_to_format
from baton_local.demo_model.script import Script, ScriptError
from baton_local.demo_model.situation import Situation
from baton_local.demo_model.wire import ChatRequest
from baton_testing.errors import CannotRun
from baton_testing.models.answering import ModelAnswer, make_model_error
from baton_testing.models.own_time import OwnTime


@cache
def read_engine(script: Path) -> Engine:
    """Return the engine that plays a script. Raises ``CannotRun`` if the script cannot be used."""
    try:
        return Engine(Script.read(script))
    except ScriptError as problem:
        raise CannotRun(str(problem)) from None


class DemoScriptModel:
    """``ports.agents.chat_model.ChatModel`` that plays a script."""

    def __init__(self, engine: Engine, counter: TokenCounter, own_time: OwnTime) -> None:
        self._engine = engine
        self._own_time = own_time
        self._counter = counter
        self.problems: list[str] = []

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the script's answer, as the demo model's server does."""
        request = ChatRequest.model_validate(
            {
                "model": settings.model,
                "messages": await make_wire_messages(prompts, thread_files),
                "tools": make_wire_tools(tools) or None,
                "metadata": make_wire_metadata(settings.metadata) or None,
                "max_tokens": settings.max_output_tokens,
                "tool_choice": settings.tool_choice,
                "response_format": _make_response_format(settings.answer_schema),
            }
        )
        with self._own_time.not_counted():
            answer = self._answer(request)
        async for chunk in answer.stream(settings.model):
            yield chunk

    def _answer(self, request: ChatRequest) -> ModelAnswer:
        situation = Situation.of(request)
        try:
            reply = fit_to_format(self._engine.reply(situation), request)
        except ScriptError as problem:
            raise self._fail(f"The script failed: {problem}") from None
        completion = Completion.of(request, reply, self._counter)
        if not completion.text and not completion.calls:
            task = situation.variables["task"]
            raise self._fail(
                f"No rule of the script with `task: {task}` fits."
                if task
                else f"No rule of the script fits: {situation.message!r}."
            )
        return ModelAnswer(
            completion.text,
            tuple((call.name, call.arguments) for call in completion.calls),
            FinishReason(completion.finish_reason),
            Usage(completion.prompt_tokens, completion.completion_tokens),
        )

    def _fail(self, reason: str) -> ModelError:
        self.problems.append(reason)
        error = make_model_error("model_unavailable")
        error.reason = reason
        return error


def _make_response_format(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}} if schema is not None else None
