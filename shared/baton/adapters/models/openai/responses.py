"""OpenAI's Responses API as an API of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from openai import AsyncStream, OpenAIError

from baton.adapters.models.answers.answer_forms import output_limit
from baton.adapters.models.learning import RequestForm
from baton.adapters.models.model_api import ModelQuestion, RefusedQuestion
from baton.adapters.models.openai.clients import Endpoint
from baton.adapters.models.openai.errors import provider_failure
from baton.adapters.models.openai.prepared_question import PreparedQuestion, answer_format, prepare_question
from baton.adapters.models.openai.response_input import input_items, response_tools
from baton.adapters.models.openai.responses_answer import ResponsesAnswer
from baton.adapters.models.profiles.profile import OBFUSCATION, CacheHints, EffortForm, ModelProfile
from baton.adapters.models.tool_schemas import ModelTools
from baton.ports.agents.chat_model import ModelSettings

MIN_OUTPUT_TOKENS = 16
"""OpenAI refuses lower limits."""


class Responses:
    """``ModelApi`` over the Responses API of any endpoint.

    Nothing is stored at the endpoint: every request says ``store: false`` and holds the whole conversation, with the
    encrypted reasoning of the turn.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def open(self, question: ModelQuestion, form: RequestForm) -> ResponsesAnswer:
        """See ``ModelApi``."""
        settings, profile = question.settings, form.profile
        origin = f"responses:{self._endpoint.host}/{settings.model}"
        prepared = await prepare_question(question, form, origin)
        fields = self._optional_fields(settings, profile, prepared)
        body = _join(fields, {name: value for name, value in settings.extra.items() if name not in profile.dropped})
        body |= {
            "model": settings.model,
            "input": input_items(prepared.messages, prepared.tools),
            "store": False,
            "stream": True,
        }
        sent = replace(prepared.features(*_names(fields), *settings.extra), body=body)
        try:
            # Not by ``client.responses``: it loads for half a second, and makes an object of each value of each event.
            stream: AsyncStream[object] = await self._endpoint.client().post(
                "/responses", body=body, cast_to=object, stream=True, stream_cls=AsyncStream[object]
            )
        except (OpenAIError, ValueError, RecursionError) as error:
            raise RefusedQuestion(provider_failure(error), sent) from None
        return ResponsesAnswer(
            stream, settings, profile, origin, prepared.tools, sent, asked_characters=prepared.characters
        )

    def _optional_fields(
        self, settings: ModelSettings, profile: ModelProfile, prepared: PreparedQuestion
    ) -> dict[str, Any]:
        """Return the fields besides model and input, without those that the model does not take."""
        limit = output_limit(settings, profile)
        hints = self._endpoint.hints_for(profile)
        takes_effort = profile.effort is not EffortForm.NONE and "reasoning_effort" not in profile.dropped
        shows_summary = settings.shows_reasoning and "reasoning_summary" not in profile.dropped
        fields: dict[str, Any] = {
            "include": ["reasoning.encrypted_content"],
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_output_tokens": max(limit, MIN_OUTPUT_TOKENS) if limit is not None else None,
            "reasoning": _drop_missing(
                effort=settings.reasoning_effort if takes_effort else None, summary="auto" if shows_summary else None
            ),
            "text": _drop_missing(
                format=answer_format(settings.answer_schema, profile),
                verbosity=settings.verbosity if "verbosity" not in profile.dropped else None,
            ),
            "metadata": self._endpoint.metadata_of(settings),
            "prompt_cache_key": settings.cache_key if hints is CacheHints.KEY else None,
            "stream_options": {"include_obfuscation": False}
            if profile.further.get(OBFUSCATION) == "optional"
            else None,
        }
        if prepared.tools.tools:
            fields["tools"] = response_tools(prepared.tools, takes_strict="strict" not in profile.dropped)
            fields["tool_choice"] = _tool_choice(settings.tool_choice, prepared.tools)
            fields["parallel_tool_calls"] = settings.parallel_tool_calls
        return {name: value for name, value in fields.items() if value is not None and name not in profile.dropped}


def _names(fields: Mapping[str, Any]) -> list[str]:
    """Return the names of what a request holds, as profiles call it."""
    names = [name for name in fields if name != "text"]
    names += [f"reasoning_{name}" for name in fields.get("reasoning", ())]
    names += ["verbosity"] if "verbosity" in fields.get("text", ()) else []
    return names + (["strict"] if any(tool["strict"] for tool in fields.get("tools", ())) else [])


def _join(fields: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with further ones. Objects that both have, such as ``reasoning``, are joined."""
    joined = dict(fields)
    for name, value in extra.items():
        own = fields.get(name)
        joined[name] = {**own, **value} if isinstance(own, Mapping) and isinstance(value, Mapping) else value
    return joined


def _tool_choice(choice: str | None, tools: ModelTools) -> Any:
    if choice in (None, "auto", "none", "required"):
        return choice
    return {"type": "function", "name": tools.name_outside(choice or "")}


def _drop_missing(**members: Any) -> dict[str, Any] | None:
    """Return the members that have a value; None if none has."""
    return {name: value for name, value in members.items() if value is not None} or None
