"""Chat Completions as an API of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cachetools import LRUCache
from openai import AsyncStream, OpenAIError

from baton.adapters.models.answers.answer_forms import output_limit
from baton.adapters.models.learning import TOOLS_EFFORT, RequestForm
from baton.adapters.models.model_api import ModelQuestion, RefusedQuestion
from baton.adapters.models.openai.cache_hints import ends_of_prefixes, marked
from baton.adapters.models.openai.chat_answer import ChatAnswer
from baton.adapters.models.openai.clients import Endpoint
from baton.adapters.models.openai.errors import provider_failure
from baton.adapters.models.openai.messages import Wire, chat_messages, chat_tools
from baton.adapters.models.openai.prepared_question import answer_format, prepare_question
from baton.adapters.models.profiles.known_profiles import MAX_PROFILES
from baton.adapters.models.profiles.profile import CacheHints, ModelProfile
from baton.adapters.models.prompt_layout import fields_of
from baton.adapters.models.tool_schemas import ModelTools
from baton.ports.agents.chat_model import ModelCaller, ModelSettings, Prompt

CACHE_FIELDS = ("prompt_cache_key", "cache_control")
"""Fields of which an endpoint's refusal says that it takes no hints."""


class ChatCompletions:
    """``ModelApi`` over Chat Completions of any endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._insisting: LRUCache[tuple[ModelCaller | None, str], bool] = LRUCache(MAX_PROFILES)
        """Models that have called tools where none may be called, instead of answering, in a conversation."""

    async def open(self, question: ModelQuestion, form: RequestForm) -> ChatAnswer:
        """See ``ModelApi``."""
        settings, profile = question.settings, form.profile
        origin = f"chat:{self._endpoint.host}/{settings.model}"
        insists = settings.tool_choice == "none" and (settings.caller, settings.model) in self._insisting
        prepared = await prepare_question(question, form, origin, hides_tools=insists)
        fields = self._optional_fields(question, profile, prepared.tools)
        hints = self._endpoint.hints_for(profile)
        marks = ends_of_prefixes(prepared.messages, profile.max_cache_marks) if hints is CacheHints.BREAKPOINTS else ()
        messages = marked(chat_messages(prepared.messages, prepared.tools, profile), marks)
        extra = {name: value for name, value in settings.extra.items() if name not in profile.dropped}
        body = {"model": settings.model, "messages": messages, "stream": True, **fields, **extra}
        sent = replace(
            prepared.features(*fields, *settings.extra, *(CACHE_FIELDS[1:] if marks else ())),
            withheld=_withheld(question.prompts, origin, messages),
            body=body,
        )
        try:
            # The fields depend on the profile, so only the endpoint can check them. The method of the SDK for this
            # path would copy every message, and make models of every chunk.
            stream: AsyncStream[object] = await self._endpoint.client().post(
                "/chat/completions",
                body=body,
                cast_to=object,
                options={"security": {"bearer_auth": True}},
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except (OpenAIError, ValueError, RecursionError) as error:
            raise RefusedQuestion(provider_failure(error), sent) from None
        return ChatAnswer(
            stream,
            settings,
            profile,
            origin,
            prepared.tools,
            sent,
            asked_characters=prepared.characters,
            note_insisting=self._note_insisting,
        )

    def _note_insisting(self, settings: ModelSettings) -> None:
        self._insisting[settings.caller, settings.model] = True

    def _optional_fields(self, question: ModelQuestion, profile: ModelProfile, tools: ModelTools) -> dict[str, Any]:
        """Return the fields besides model and messages, without those that the model does not take."""
        settings = question.settings
        effort = _effort(question, profile, tools)
        fields: dict[str, Any] = {
            "stream_options": {"include_usage": True},
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            profile.limit_field: output_limit(settings, profile),
            "reasoning_effort": effort,
            "verbosity": settings.verbosity,
            "response_format": _response_format(question, profile),
            "metadata": self._endpoint.metadata_of(settings),
            "prompt_cache_key": settings.cache_key if self._endpoint.hints_for(profile) is CacheHints.KEY else None,
        }
        if tools.tools:
            fields["tools"] = chat_tools(tools)
            fields["tool_choice"] = _tool_choice(settings.tool_choice, tools)
            fields["parallel_tool_calls"] = settings.parallel_tool_calls
        return {name: value for name, value in fields.items() if value is not None and name not in profile.dropped}


def _withheld(prompts: Sequence[Prompt], origin: str, messages: Sequence[Wire]) -> dict[str, Any]:
    """Return the fields that this model has sent in more of its answers than the messages send back."""
    answers = [prompt.provider_parts for prompt in prompts if prompt.provider_parts is not None]
    withheld: dict[str, list[Any]] = {}
    for fields in (fields_of(parts) for parts in answers if parts.origin == origin):
        for name, value in fields.items():
            withheld.setdefault(name, []).append(value)
    return {
        name: values[0]
        for name, values in withheld.items()
        if len(values) > sum(name in message for message in messages)
    }


def _tool_choice(choice: str | None, tools: ModelTools) -> Any:
    if choice in (None, "auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": tools.name_outside(choice or "")}}


def _response_format(question: ModelQuestion, profile: ModelProfile) -> dict[str, Any] | None:
    form = answer_format(question.settings.answer_schema, profile)
    if form is None or form["type"] != "json_schema":
        return form
    return {"type": form.pop("type"), "json_schema": form}


def _effort(question: ModelQuestion, profile: ModelProfile, tools: ModelTools) -> str | None:
    """Return how long the model thinks: not at all, where it takes no tools otherwise."""
    if tools.tools and profile.further.get(TOOLS_EFFORT):
        return profile.further[TOOLS_EFFORT]
    return question.settings.reasoning_effort
