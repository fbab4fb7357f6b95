"""Chat Completions as an API of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from baton.adapters.models.attachments.content import LaidMessage
from baton.adapters.models.learning.request_form import TOOLS_EFFORT, RequestForm
from baton.adapters.models.openai.answer_body import AnswerBody
from baton.adapters.models.openai.chat_answer import ChatAnswer
from baton.adapters.models.openai.clients import LIMITS
from baton.adapters.models.openai.endpoint import (
    Endpoint,
    choose_tools,
    make_answer_format,
    make_tool_choice,
    note_refusal,
)
from baton.adapters.models.openai.messages import Wire, make_chat_messages, make_chat_tools
from baton.adapters.models.profiles.profile import CacheHints
from baton.adapters.models.question import ModelQuestion, PreparedQuestion, choose_output_limit, prepare_question
from baton.domain.runs.provider_parts import ProviderParts
from baton.ports.agents.chat_model import Prompt

MAX_BREAKPOINTS = 4
"""The maximum number of marks in one request. Anthropic and Amazon Bedrock refuse more."""


class ChatCompletions:
    """``ModelApi`` over Chat Completions of any endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def open(self, question: ModelQuestion, form: RequestForm) -> ChatAnswer:
        """See ``ModelApi``."""
        settings, profile = question.settings, form.profile
        origin = f"chat:{self._endpoint.host}/{settings.model}"
        declared = choose_tools(question, profile)
        calls_as_text = question.hides_tools or (profile.tools_with_history and not declared)
        prepared = await prepare_question(question, form, origin, declared, calls_as_text=calls_as_text)
        fields = self._make_optional_fields(prepared)
        takes_marks = self._endpoint.choose_hints(profile) is CacheHints.BREAKPOINTS
        marks = choose_prefix_ends(prepared.messages, profile.max_cache_marks) if takes_marks else ()
        messages = mark_messages(make_chat_messages(prepared.messages, prepared.tools, profile), marks)
        extra = {name: value for name, value in settings.extra.items() if name not in profile.dropped}
        body = {"model": settings.model, "messages": messages, "stream": True, **fields, **extra}
        sent = replace(
            prepared.make_features(*fields, *settings.extra, *(["cache_control"] if marks else ())),
            withheld=_find_withheld(question.prompts, origin, messages),
            body=body,
        )
        with note_refusal(sent):
            stream = await self._endpoint.post("/chat/completions", body)
        return ChatAnswer(AnswerBody(stream.response, LIMITS), prepared, sent)

    def _make_optional_fields(self, question: PreparedQuestion) -> dict[str, Any]:
        """Return the fields besides model and messages, without those that the model does not take."""
        settings, profile, tools = question.settings, question.profile, question.tools
        # Some models take tools with one effort only.
        effort_with_tools = profile.further.get(TOOLS_EFFORT) if tools.tools else None
        fields = {
            profile.limit_field: choose_output_limit(settings, profile),
            "stream_options": {"include_usage": True},
            "reasoning_effort": effort_with_tools or settings.reasoning_effort,
            "verbosity": settings.verbosity,
            "response_format": _nest(make_answer_format(settings.answer_schema, profile)),
            "tools": make_chat_tools(tools) or None,
            "tool_choice": _nest(make_tool_choice(settings.tool_choice, tools)),
        }
        return self._endpoint.make_optional_fields(question, fields)


def _find_withheld(prompts: Sequence[Prompt], origin: str, messages: Sequence[Wire]) -> dict[str, Any]:
    """Return the fields, with their first values, that this model has sent in more answers than the messages send back.

    ``origin`` names the API, the host and the model.
    """
    answers = [prompt.provider_parts for prompt in prompts if prompt.provider_parts is not None]
    withheld: dict[str, list[Any]] = {}
    for fields in (_list_fields(parts) for parts in answers if parts.origin == origin):
        for name, value in fields.items():
            withheld.setdefault(name, []).append(value)
    return {
        name: values[0]
        for name, values in withheld.items()
        if len(values) > sum(name in message for message in messages)
    }


def _list_fields(parts: ProviderParts) -> dict[str, Any]:
    """Return all fields of an answer's message, whether they are sent back or not."""
    fields: dict[str, Any] = {}
    for part in parts.parts:
        fields |= part.get("withheld", {})
        fields |= part.get("fields", {}) if "call" not in part else {}
    return fields


def _nest(value: Any) -> Any:
    """Return an object of Responses in the form of Chat Completions: its members under the name of its type.

    Other values, and objects with a type only, are returned unchanged.
    """
    if not isinstance(value, dict) or len(value) == 1:
        return value
    members = {name: member for name, member in value.items() if name != "type"}
    return {"type": value["type"], value["type"]: members}


def choose_prefix_ends(prompts: Sequence[Prompt | LaidMessage], most: int = MAX_BREAKPOINTS) -> Sequence[int]:
    """Return the indices of at most ``most`` messages that end a prefix, to mark them.

    Of more messages, half are the first, whose prefixes change least, and half are the newest.
    """
    ends = [index for index, prompt in enumerate(prompts) if prompt.ends_prefix]
    if len(ends) <= most:
        return ends
    first = most // 2
    return [*ends[:first], *ends[len(ends) - (most - first) :]]


def mark_messages(messages: Sequence[dict[str, Any]], marks: Sequence[int]) -> list[dict[str, Any]]:
    """Return the messages with ``cache_control`` on the last content part of those at ``marks``."""
    return [_mark(message) if index in marks else message for index, message in enumerate(messages)]


def _mark(message: dict[str, Any]) -> dict[str, Any]:
    """Return the message with ``cache_control`` on its last part, or unchanged if it has no content."""
    content: Any = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
    if not isinstance(parts, list) or not parts:
        return message  # an answer of nothing but calls has no part to mark
    last = {**parts[-1], "cache_control": {"type": "ephemeral"}}
    return {**message, "content": [*parts[:-1], last]}
