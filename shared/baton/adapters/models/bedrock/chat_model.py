"""A chat model behind the Converse API of Amazon Bedrock."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.models.bedrock.answer import ConverseAnswer
from baton.adapters.models.bedrock.connection import BedrockConnection
from baton.adapters.models.bedrock.events import JSON_TYPE, Events
from baton.adapters.models.bedrock.request import BedrockGuardrail, ConverseRequest, make_converse_request
from baton.adapters.models.failures.failure import Backoff, ProviderFailure
from baton.adapters.models.learning.request_form import RequestForm
from baton.adapters.models.model_calls import ApiChatModel
from baton.adapters.models.profiles.bedrock_profiles import HOST
from baton.adapters.models.profiles.known_profiles import Profiles
from baton.adapters.models.prompt_layout import with_calls_as_text
from baton.adapters.models.question import ModelQuestion, PreparedQuestion, RefusedQuestion, prepare_question
from baton.concurrency.tasks import off_loop
from baton.ports.documents.documents import DocumentReader

STREAM_TYPE = "application/vnd.amazon.eventstream"


class BedrockChatModel(ApiChatModel):
    """``ports.agents.chat_model.ChatModel`` over ConverseStream, for foundation models and inference profiles.

    See ``ApiChatModel`` for retries and the circuit. Requests are signed and sent without a thread for each answer.
    With ``sends_metadata`` invocation logs show the metadata of each request. ``guardrail`` judges all questions and
    answers. ``profiles`` override declared facts of models.
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
        self._guardrail = guardrail
        self._sends_metadata = sends_metadata
        super().__init__(
            lambda profile: self,
            Profiles(HOST, profiles),
            endpoint=connection.endpoint,
            max_retries=max_retries,
            backoff=Backoff(backoff_seconds),
            breakers=breakers or CircuitBreakers(),
            reader=reader,
        )

    async def open(self, question: ModelQuestion, form: RequestForm) -> ConverseAnswer:
        """See ``ModelApi``."""
        model = question.settings.model
        declared = () if question.hides_tools else question.tools
        prepared = await prepare_question(question, form, f"{HOST}/{model}", declared)
        if not declared:
            # Blocks of calls are refused without tools.
            prepared = replace(prepared, messages=with_calls_as_text(prepared.messages))
        size = sum(len(media.data or b"") for message in prepared.messages for media in message.media)
        request, body = await off_loop(size, self._render_request, prepared)
        action, accept = ("converse-stream", STREAM_TYPE) if request.streams else ("converse", JSON_TYPE)
        try:
            response = await self._connection.post(model, action, body, accept)
        except ProviderFailure as failure:
            raise RefusedQuestion(failure, request.sent) from None
        return ConverseAnswer(Events(response, streams=request.streams), prepared, request)

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._connection.aclose()

    def _render_request(self, question: PreparedQuestion) -> tuple[ConverseRequest, bytes]:
        """Return the request, and its body as bytes of JSON."""
        request = make_converse_request(question, guardrail=self._guardrail, sends_metadata=self._sends_metadata)
        # Lone surrogates have no UTF-8 form.
        return request, json.dumps(request.body, ensure_ascii=False).encode("utf-8", "replace")
