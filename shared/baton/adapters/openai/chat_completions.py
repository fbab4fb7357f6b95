"""Chat Completions as an API of models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from openai import AsyncOpenAI, AsyncStream, OpenAIError
from openai.types.chat import ChatCompletionChunk

from baton.adapters.models.answer_forms import STRICT_NAME, is_strict, output_limit, schema_note
from baton.adapters.models.content import LaidMessage
from baton.adapters.models.learning import RequestForm, SentFeatures
from baton.adapters.models.model_calls import Question, Refused
from baton.adapters.models.profile import AnswerForm, CacheHints, ModelProfile
from baton.adapters.models.prompt_layout import Layout, lay_out
from baton.adapters.models.tool_schemas import OfferedTools, offered_tools
from baton.adapters.openai.cache_hints import ends_of_prefixes, marked
from baton.adapters.openai.chat_answer import ChatAnswer
from baton.adapters.openai.errors import provider_failure
from baton.adapters.openai.messages import chat_messages, chat_tools, wire_metadata
from baton.domain.message import Role

CACHE_FIELDS = ("prompt_cache_key", "cache_control")
"""Fields of which an endpoint's refusal says that it takes no hints."""


class ChatCompletions:
    """``ModelApi`` over Chat Completions of any endpoint."""

    def __init__(
        self,
        client: Callable[[], AsyncOpenAI],
        host: str,
        *,
        sends_metadata: bool = False,
        cache_hints: CacheHints | None = None,
    ) -> None:
        """``cache_hints`` replaces what profiles say; None leaves it to them."""
        self._client = client
        self._host = host
        self._sends_metadata = sends_metadata
        self._cache_hints = cache_hints

    async def open(self, question: Question, form: RequestForm) -> ChatAnswer:
        """See ``ModelApi``."""
        settings, profile = question.settings, form.profile
        origin = f"chat:{self._host}/{settings.model}"
        pieces = await question.attachments.pieces_of_all([each.content for each in question.prompts], profile)
        laid = lay_out(question.prompts, pieces, Layout(profile, origin, sends_parts=form.sends_parts))
        note = schema_note(settings.answer_schema, profile)
        if note is not None:
            laid = _with_note(laid, note)
        called = [call.name for message in laid for call in message.calls]
        tools = offered_tools(question.tools if _declares_tools(question, profile) else (), profile, called)
        fields = self._optional_fields(question, profile, tools)
        hints = self._hints(profile)
        marks = ends_of_prefixes(laid, profile.max_cache_marks) if hints is CacheHints.BREAKPOINTS else ()
        messages = marked(chat_messages(laid, tools, profile), marks)
        sent = SentFeatures(
            fields=(*fields, *settings.extra, *(CACHE_FIELDS[1:] if marks else ())),
            has_tools=bool(tools.tools),
            has_media=any(message.media for message in laid),
            has_parts=any(message.parts is not None for message in laid),
            has_schema=settings.answer_schema is not None,
        )
        extra = {name: value for name, value in settings.extra.items() if name not in profile.dropped}
        try:
            # The fields depend on the profile, so only the endpoint can check them.
            create: Any = self._client().chat.completions.create
            stream: AsyncStream[ChatCompletionChunk] = await create(
                model=settings.model, messages=messages, stream=True, **fields, extra_body=extra or None
            )
        except (OpenAIError, ValueError) as error:
            raise Refused(provider_failure(error), sent) from None
        return ChatAnswer(
            stream,
            settings,
            profile,
            origin,
            tools,
            sent,
            asked_characters=sum(len(message.text) for message in laid),
        )

    def _optional_fields(self, question: Question, profile: ModelProfile, tools: OfferedTools) -> dict[str, Any]:
        """Return the fields besides model and messages, without those that the model does not take."""
        settings = question.settings
        fields: dict[str, Any] = {
            "stream_options": {"include_usage": True},
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            profile.limit_field: output_limit(settings, profile),
            "reasoning_effort": settings.reasoning_effort,
            "verbosity": settings.verbosity,
            "response_format": _response_format(question, profile),
            "metadata": (wire_metadata(settings.metadata) if self._sends_metadata else None) or None,
            "prompt_cache_key": settings.cache_key if self._hints(profile) is CacheHints.KEY else None,
        }
        if tools.tools:
            fields["tools"] = chat_tools(tools)
            fields["tool_choice"] = _tool_choice(settings.tool_choice, tools)
            fields["parallel_tool_calls"] = settings.parallel_tool_calls
        return {name: value for name, value in fields.items() if value is not None and name not in profile.dropped}

    def _hints(self, profile: ModelProfile) -> CacheHints:
        hints = profile.cache if self._cache_hints is None else self._cache_hints
        return CacheHints.NONE if "cache_control" in profile.dropped else hints


def _declares_tools(question: Question, profile: ModelProfile) -> bool:
    """Return whether tools are declared: not where none may be called, unless the history needs them."""
    if question.settings.tool_choice != "none":
        return True
    return profile.tools_with_history or not any(prompt.tool_calls for prompt in question.prompts)


def _tool_choice(choice: str | None, tools: OfferedTools) -> Any:
    if choice in (None, "auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": tools.name_outside(choice or "")}}


def _response_format(question: Question, profile: ModelProfile) -> dict[str, Any] | None:
    schema = question.settings.answer_schema
    if schema is None or profile.answer_form is AnswerForm.PROMPT:
        return None
    if profile.answer_form is AnswerForm.OBJECT:
        return {"type": "json_object"}
    return {
        "type": "json_schema",
        "json_schema": {"name": STRICT_NAME, "strict": is_strict(schema), "schema": dict(schema)},
    }


def _with_note(laid: list[LaidMessage], note: str) -> list[LaidMessage]:
    """Add a note to the system prompt, where it is the same in all requests of a turn."""
    if laid and laid[0].role is Role.SYSTEM:
        return [replace(laid[0], pieces=(*laid[0].pieces, note)), *laid[1:]]
    return [LaidMessage(Role.SYSTEM, (note,)), *laid]
