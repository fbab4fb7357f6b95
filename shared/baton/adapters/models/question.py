"""A question to a model, and its preparation for one request: messages laid out, tools in the form of the model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ag_ui.core import ImagePart

from baton.adapters.models.attachments.content import LaidMessage
from baton.adapters.models.attachments.laid_out_attachments import Attachments
from baton.adapters.models.failures.failure import ProviderFailure
from baton.adapters.models.learning.request_form import RequestForm, SentFeatures
from baton.adapters.models.profiles.profile import AnswerForm, ModelProfile, SystemPlace
from baton.adapters.models.prompt_layout import NOTE, PromptLayout, lay_out
from baton.adapters.models.tool_schemas import ModelTools, make_model_tools
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import ModelSettings, Prompt, ToolSpec

SCHEMA_NOTE = (
    "Your last answer, the one after which you call no more tools, is a JSON object and nothing else: no code block, "
    "no words before or after it. It is valid against this JSON Schema: {schema}"
)
USUALLY_READ = ModelProfile().documents
"""Media types of documents that models usually read themselves. Others are extracted for every model."""


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """A question to a model."""

    settings: ModelSettings
    prompts: Sequence[Prompt]
    tools: Sequence[ToolSpec]
    attachments: Attachments
    hides_tools: bool = False
    """Whether the request declares no tools and earlier calls are text, because the model has called tools although it
    might call none."""


def choose_output_limit(settings: ModelSettings, profile: ModelProfile) -> int | None:
    """Return the limit of an answer's tokens; None leaves it to the endpoint.

    An agent's limit is raised by the thinking that counts against it. A model's default limit is not.
    """
    if settings.max_output_tokens is None:
        return profile.default_max_output
    thinks = settings.reasoning_effort != "none"
    return settings.max_output_tokens + (profile.thinking_tokens if thinks else 0)


def without_refused(settings: ModelSettings, profile: ModelProfile) -> ModelSettings:
    """Return the settings, with None for those whose values the model refuses."""
    return replace(settings, **dict.fromkeys(_list_refused_settings(settings, profile)))  # type: ignore[arg-type]  # to None


def _list_refused_settings(settings: ModelSettings, profile: ModelProfile) -> set[str]:
    return {name for name, value in profile.refused_values if repr(getattr(settings, name)) == value}


def find_lost_parts(question: ModelQuestion, profile: ModelProfile) -> set[str]:
    """Return the names of the parts of a question that the model does not get as they are.

    These are the names of settings whose values the model refuses, ``images`` if it gets no image, ``documents`` if it
    gets only the text of a document, and ``answer_schema`` if only the prompt contains the schema.
    """
    names = _list_refused_settings(question.settings, profile)
    media_types = question.attachments.media_types  # of the attachments that were read
    contents = [prompt.content for prompt in question.prompts if not isinstance(prompt.content, str)]
    has_images = any(media_type.startswith("image/") for media_type in media_types) or any(
        isinstance(part, ImagePart) for content in contents for part in content
    )
    if has_images and not profile.images:
        names.add("images")
    if (USUALLY_READ - profile.documents) & media_types:
        names.add("documents")
    if question.settings.answer_schema is not None and profile.answer_form is not AnswerForm.SCHEMA:
        names.add("answer_schema")
    return names


class RefusedQuestion(Exception):
    """An endpoint refused a request with the features ``sent``."""

    def __init__(self, failure: ProviderFailure, sent: SentFeatures) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.sent = sent


@dataclass(frozen=True, slots=True)
class PreparedQuestion:
    """The messages and tools of one request, before an API renders them."""

    settings: ModelSettings
    profile: ModelProfile
    origin: str
    """The provider and model of the request."""
    messages: list[LaidMessage]
    tools: ModelTools

    @property
    def characters(self) -> int:
        """The number of characters in all messages."""
        return sum(len(message.text) for message in self.messages)

    def make_features(self, *fields: str) -> SentFeatures:
        """Return the optional parts of the request, with the names of its optional ``fields``."""
        media_kinds = frozenset(media.kind for message in self.messages for media in message.media)
        return SentFeatures(
            fields=fields,
            has_tools=bool(self.tools.tools),
            has_media=bool(media_kinds),
            media_kinds=media_kinds,
            has_parts=any(message.parts is not None for message in self.messages),
            has_schema=self.settings.answer_schema is not None,
        )


async def prepare_question(
    question: ModelQuestion,
    form: RequestForm,
    origin: str,
    declared: Sequence[ToolSpec],
    *,
    calls_as_text: bool = False,
) -> PreparedQuestion:
    """Return the question prepared for the form of the request, with the ``declared`` tools.

    ``calls_as_text`` writes earlier calls and their results as text.
    Raises ``ModelRefused`` for more tools than the model takes, and the errors of the uploads' store.
    """
    profile = form.profile
    pieces = await question.attachments.make_all_pieces([prompt.content for prompt in question.prompts], profile)
    layout = PromptLayout(profile, origin, sends_parts=form.sends_parts, calls_as_text=calls_as_text)
    messages = lay_out(question.prompts, pieces, layout)
    schema = question.settings.answer_schema
    if schema is not None and profile.answer_form is not AnswerForm.SCHEMA:  # the API does not enforce the schema
        note = SCHEMA_NOTE.format(schema=json.dumps(schema, ensure_ascii=False, sort_keys=True))
        messages = _with_note(messages, note, profile)
    called = [call.name for message in messages for call in message.calls]
    return PreparedQuestion(question.settings, profile, origin, messages, make_model_tools(declared, profile, called))


def _with_note(messages: list[LaidMessage], note: str, profile: ModelProfile) -> list[LaidMessage]:
    """Add a note to the system prompt, at a position that is the same in all requests of a turn."""
    if profile.system is SystemPlace.USER:  # the model takes no message of the system
        framed = NOTE.format(text=note)
        if messages and messages[0].role is Role.USER:
            return [replace(messages[0], pieces=(framed, *messages[0].pieces)), *messages[1:]]
        return [LaidMessage(Role.USER, (framed,)), *messages]
    head = next((index for index, message in enumerate(messages) if message.role is not Role.SYSTEM), len(messages))
    if not head:
        return [LaidMessage(Role.SYSTEM, (note,)), *messages]
    index = head - 1 if profile.system is SystemPlace.HEAD else 0
    message = messages[index]
    return [*messages[:index], replace(message, pieces=(*message.pieces, note)), *messages[index + 1 :]]
