"""A chat model behind the Converse API of Amazon Bedrock."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cachetools import LRUCache
from pydantic import JsonValue

from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.models.answers.answer_forms import schema_note
from baton.adapters.models.attachments.content import LaidMessage
from baton.adapters.models.attachments.laid_out_attachments import Attachments
from baton.adapters.models.bedrock.answer import ConverseAnswer
from baton.adapters.models.bedrock.connection import BedrockConnection
from baton.adapters.models.bedrock.events import JSON_TYPE, Events
from baton.adapters.models.bedrock.request import BedrockGuardrail, ConverseRequest, converse_request
from baton.adapters.models.learning import RequestForm
from baton.adapters.models.learning.failure import Backoff, ProviderFailure
from baton.adapters.models.model_api import ModelQuestion, RefusedQuestion
from baton.adapters.models.model_calls import ModelCalls
from baton.adapters.models.profiles.bedrock_profiles import HOST
from baton.adapters.models.profiles.known_profiles import MAX_PROFILES, Profiles
from baton.adapters.models.profiles.profile import ModelProfile
from baton.adapters.models.prompt_layout import PromptLayout, lay_out, with_calls_as_text
from baton.adapters.models.tool_schemas import ModelTools, offered_tools
from baton.concurrency.tasks import off_loop
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import ModelCaller, ModelChunk, ModelSettings, Prompt, ToolSpec
from baton.ports.documents.documents import DocumentReader
from baton.ports.documents.files import ThreadFiles

STREAM_TYPE = "application/vnd.amazon.eventstream"


class BedrockChatModel:
    """``ports.agents.chat_model.ChatModel`` over ConverseStream, for foundation models and inference profiles.

    Attempts, retries and the circuit are those of ``ModelCalls``. Requests are signed and sent without a thread for
    each answer. With ``sends_metadata`` each request says in invocation logs what it is about. ``guardrail`` judges all
    questions and answers. ``profiles`` replace what is declared of models.
    """

    def __init__(
        self,
        connection: BedrockConnection,
        *,
        guardrail: BedrockGuardrail | None = None,
        sends_metadata: bool = False,
        max_retries: int = 3,
        backoff_seconds: float = 0.5,
        breakers: CircuitBreakers | None = None,
        profiles: Mapping[str, Mapping[str, Any]] | None = None,
        reader: DocumentReader | None = None,
    ) -> None:
        self._connection = connection
        self._reader = reader
        converse = Converse(connection, guardrail=guardrail, sends_metadata=sends_metadata)
        self._calls = ModelCalls(
            lambda profile: converse,
            Profiles(HOST, profiles),
            endpoint=connection.endpoint,
            max_retries=max_retries,
            backoff=Backoff(backoff_seconds),
            breakers=breakers or CircuitBreakers(),
        )

    def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """See ``ChatModel``."""
        return self._calls.stream(ModelQuestion(settings, prompts, tools, Attachments(thread_files, self._reader)), str)

    def learned(self, model: str) -> Mapping[str, JsonValue]:
        """See ``LearningModel``."""
        return self._calls.learned(model)

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._connection.aclose()


class Converse:
    """``ModelApi`` over Converse and ConverseStream."""

    def __init__(
        self, connection: BedrockConnection, *, guardrail: BedrockGuardrail | None = None, sends_metadata: bool = False
    ) -> None:
        self._connection = connection
        self._guardrail = guardrail
        self._sends_metadata = sends_metadata
        self._insisting: LRUCache[tuple[ModelCaller | None, str], bool] = LRUCache(MAX_PROFILES)
        """Models that have called tools where none may be called, instead of answering, in a conversation."""

    async def open(self, question: ModelQuestion, form: RequestForm) -> ConverseAnswer:
        """See ``ModelApi``."""
        settings, profile = question.settings, form.profile
        origin = f"{HOST}/{settings.model}"
        pieces = await question.attachments.pieces_of_all([prompt.content for prompt in question.prompts], profile)
        laid = lay_out(question.prompts, pieces, PromptLayout(profile, origin, sends_parts=form.sends_parts))
        called = [call.name for message in laid for call in message.calls]
        insists = settings.tool_choice == "none" and (settings.caller, settings.model) in self._insisting
        tools = offered_tools(() if insists else question.tools, profile, called)
        if called and not tools.tools:
            laid = with_calls_as_text(laid)  # blocks of calls are refused without tools
        note = schema_note(settings.answer_schema, profile)
        if note is not None:
            laid = _with_note(laid, note)
        size = sum(len(media.data or b"") for message in laid for media in message.media)
        request, body = await off_loop(size, self._render, settings, laid, tools, profile)
        action, accept = ("converse-stream", STREAM_TYPE) if request.streams else ("converse", JSON_TYPE)
        try:
            response = await self._connection.post(settings.model, action, body, accept)
        except ProviderFailure as failure:
            raise RefusedQuestion(failure, request.sent) from None
        events = Events(response, streams=request.streams)
        return ConverseAnswer(events, request, settings, profile, origin, tools, self._note_insisting)

    def _note_insisting(self, settings: ModelSettings) -> None:
        self._insisting[settings.caller, settings.model] = True

    def _render(
        self, settings: ModelSettings, laid: Sequence[LaidMessage], tools: ModelTools, profile: ModelProfile
    ) -> tuple[ConverseRequest, bytes]:
        request = converse_request(
            settings, laid, tools, profile, guardrail=self._guardrail, sends_metadata=self._sends_metadata
        )
        # Lone surrogates have no UTF-8 form.
        return request, json.dumps(request.body, ensure_ascii=False).encode("utf-8", "replace")


def _with_note(laid: list[LaidMessage], note: str) -> list[LaidMessage]:
    """Add a note to the end of the system prompt, where it is the same in all requests of a turn."""
    head = next((at for at, message in enumerate(laid) if message.role is not Role.SYSTEM), len(laid))
    if head:
        last = laid[head - 1]
        return [*laid[: head - 1], replace(last, pieces=(*last.pieces, note)), *laid[head:]]
    return [LaidMessage(Role.SYSTEM, (note,)), *laid]
