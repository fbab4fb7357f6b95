"""An endpoint with OpenAI's APIs, and the parts that the requests to both have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from openai import AsyncOpenAI, AsyncStream, OpenAIError

from baton.adapters.models.learning.request_form import SentFeatures
from baton.adapters.models.openai.errors import make_provider_failure
from baton.adapters.models.openai.messages import make_wire_metadata
from baton.adapters.models.profiles.profile import AnswerForm, CacheHints, ModelProfile
from baton.adapters.models.question import ModelQuestion, PreparedQuestion, RefusedQuestion
from baton.adapters.models.tool_schemas import STRICT_NAME, ModelTools, is_strict
from baton.ports.agents.chat_model import ToolSpec


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint with OpenAI's APIs."""

    client: Callable[[], AsyncOpenAI]
    """Returns the client of the running event loop."""
    host: str
    sends_metadata: bool = False
    """Whether requests have the field ``metadata``, which some endpoints refuse."""
    cache_hints: CacheHints | None = None
    """The operator's choice; None for the choice of the model's profile."""

    def choose_hints(self, profile: ModelProfile) -> CacheHints:
        """Return the operator's or the profile's hints for the prompt cache; ``NONE`` if the model refuses them."""
        hints = profile.cache if self.cache_hints is None else self.cache_hints
        return CacheHints.NONE if "cache_control" in profile.dropped else hints

    def make_optional_fields(self, question: PreparedQuestion, own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the optional fields of a request: the API's ``own``, and the fields that both APIs have.

        Fields without a value, and fields that the model does not take, are left out.
        """
        settings, profile = question.settings, question.profile
        takes_key = self.choose_hints(profile) is CacheHints.KEY
        fields: dict[str, Any] = {
            **own,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "metadata": (make_wire_metadata(settings.metadata) or None) if self.sends_metadata else None,
            "prompt_cache_key": settings.cache_key if takes_key else None,
            "parallel_tool_calls": settings.parallel_tool_calls if question.tools.tools else None,
        }
        return {name: value for name, value in fields.items() if value is not None and name not in profile.dropped}

    def post(self, path: str, body: dict[str, Any]) -> Awaitable[AsyncStream[object]]:
        """Send a request and return the stream of its answer. Raises the SDK's errors.

        The fields depend on the profile, so only the endpoint can check them. The SDK's methods for these paths take
        half a second to load, copy every message, and make pydantic models of every event.
        """
        return self.client().post(
            path,
            body=body,
            cast_to=object,
            options={"security": {"bearer_auth": True}},
            stream=True,
            stream_cls=AsyncStream[object],
        )


@contextmanager
def note_refusal(sent: SentFeatures) -> Iterator[None]:
    """Raise ``RefusedQuestion`` for the SDK's errors inside the block. ``sent`` are the request's features."""
    try:
        yield
    except (OpenAIError, ValueError, RecursionError) as error:
        raise RefusedQuestion(make_provider_failure(error), sent) from None


def choose_tools(question: ModelQuestion, profile: ModelProfile) -> Sequence[ToolSpec]:
    """Return the tools to declare; none if the question hides them.

    If the model may call no tool, they are left out only after calls in the history for which the profile needs none.
    """
    if question.hides_tools:
        return ()
    is_needed = profile.tools_with_history or not any(prompt.tool_calls for prompt in question.prompts)
    return question.tools if is_needed or question.settings.tool_choice != "none" else ()


def make_answer_format(schema: Mapping[str, Any] | None, profile: ModelProfile) -> dict[str, Any] | None:
    """Return the form of the answer as Responses takes it: any object, or one of a schema; None for text."""
    if schema is None or profile.answer_form is AnswerForm.PROMPT:
        return None
    if profile.answer_form is AnswerForm.OBJECT:
        return {"type": "json_object"}
    return {"type": "json_schema", "name": STRICT_NAME, "strict": is_strict(schema), "schema": dict(schema)}


def make_tool_choice(choice: str | None, tools: ModelTools) -> Any:
    """Return ``ModelSettings.tool_choice`` as Responses takes it; None without a choice or without tools."""
    if choice in (None, "auto", "none", "required") or not tools.tools:
        return choice if tools.tools else None
    return {"type": "function", "name": tools.name_outside(choice or "")}
