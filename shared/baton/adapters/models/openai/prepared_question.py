"""A question prepared for OpenAI's APIs: its messages and tools, before one of them renders it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from baton.adapters.models.answers.answer_forms import STRICT_NAME, is_strict, schema_note
from baton.adapters.models.attachments.content import LaidMessage
from baton.adapters.models.learning import RequestForm, SentFeatures
from baton.adapters.models.model_api import ModelQuestion
from baton.adapters.models.profiles.profile import AnswerForm, Api, ModelProfile
from baton.adapters.models.prompt_layout import PromptLayout, lay_out
from baton.adapters.models.tool_schemas import ModelTools, offered_tools
from baton.domain.threads.message import Role


@dataclass(frozen=True, slots=True)
class PreparedQuestion:
    """The messages and tools of one request."""

    messages: list[LaidMessage]
    tools: ModelTools
    has_schema: bool

    @property
    def characters(self) -> int:
        """The length of all messages."""
        return sum(len(message.text) for message in self.messages)

    def features(self, *fields: str) -> SentFeatures:
        """Return what the request holds, with the names of its optional ``fields``."""
        return SentFeatures(
            fields=fields,
            has_tools=bool(self.tools.tools),
            has_media=any(message.media for message in self.messages),
            media_kinds=frozenset(media.kind for message in self.messages for media in message.media),
            has_parts=any(message.parts is not None for message in self.messages),
            has_schema=self.has_schema,
        )


async def prepare_question(
    question: ModelQuestion, form: RequestForm, origin: str, *, hides_tools: bool = False
) -> PreparedQuestion:
    """Return the question as the form of the request asks. ``origin`` is the model that it goes to.

    With ``hides_tools`` no tools are declared, and earlier calls are text.
    Raises ``ModelRefused`` for more tools than the model takes, and the errors of the uploads' store.
    """
    settings, profile = question.settings, form.profile
    pieces = await question.attachments.pieces_of_all([prompt.content for prompt in question.prompts], profile)
    declared = question.tools if not hides_tools and _declares_tools(question, profile) else ()
    calls_as_text = hides_tools or (profile.api is Api.CHAT and profile.tools_with_history and not declared)
    layout = PromptLayout(profile, origin, sends_parts=form.sends_parts, calls_as_text=calls_as_text)
    messages = lay_out(question.prompts, pieces, layout)
    note = schema_note(settings.answer_schema, profile)
    if note is not None:
        messages = _with_note(messages, note)
    called = [call.name for message in messages for call in message.calls]
    tools = offered_tools(declared, profile, called)
    return PreparedQuestion(messages, tools, settings.answer_schema is not None)


def answer_format(schema: Mapping[str, Any] | None, profile: ModelProfile) -> dict[str, Any] | None:
    """Return the form of the answer as ``{"type": "json_object"}`` or with the schema's own fields; None for text."""
    if schema is None or profile.answer_form is AnswerForm.PROMPT:
        return None
    if profile.answer_form is AnswerForm.OBJECT:
        return {"type": "json_object"}
    return {"type": "json_schema", "name": STRICT_NAME, "strict": is_strict(schema), "schema": dict(schema)}


def _declares_tools(question: ModelQuestion, profile: ModelProfile) -> bool:
    """Return whether tools are declared: not where none may be called, unless the history needs them."""
    if question.settings.tool_choice != "none":
        return True
    return profile.tools_with_history or not any(prompt.tool_calls for prompt in question.prompts)


def _with_note(messages: list[LaidMessage], note: str) -> list[LaidMessage]:
    """Add a note to the system prompt, where it is the same in all requests of a turn."""
    if messages and messages[0].role is Role.SYSTEM:
        return [replace(messages[0], pieces=(*messages[0].pieces, note)), *messages[1:]]
    return [LaidMessage(Role.SYSTEM, (note,)), *messages]
