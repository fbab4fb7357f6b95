"""A language model that streams its answer, and the counter of its tokens."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from pydantic import JsonValue

from baton.domain.agents.guardrail import Origin
from baton.domain.runs.provider_parts import ProviderParts
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.spending import SpendingWarning
from baton.domain.threads.message import Content, Role
from baton.ports.documents.files import ThreadFiles

MAX_ANSWER_BYTES = 1024 * 1024
"""Bytes of an answer's text, calls and reasoning, in UTF-8. Longer answers are cut and end with ``LENGTH``.

This is the limit of a user's message too, and eight times the longest output of current models."""


QUOTED_CONTEXT = "<quoted-context>\n{text}\n</quoted-context>"
"""The form of a context prompt for a model: text of the user in a frame that shows that it is not the user's own."""


class FinishReason(StrEnum):
    """The reason for which the model stopped, by the values of OpenAI's Chat Completions API."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model may call."""

    name: str
    """At most 64 letters, digits, ``_`` and ``-``."""
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments, of type object."""
    is_client: bool = field(default=False, compare=False)
    """True if the user's client declares it."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One message to the model; file references in ``content`` are resolved by the adapter through ``Files``.

    System prompts before the first other message are the head. A later one is a note: the adapter renders it where it
    stands, in the form that the model accepts there. A context prompt is sent as text of the user in the frame
    ``QUOTED_CONTEXT``, never with the role of the system: models trust that role most, and the text is by others.
    """

    role: Role
    content: Content
    tool_calls: tuple[ToolCall, ...] = ()
    """The calls of an assistant message. The result of each call must follow before any other message."""
    tool_call_id: str | None = None
    """The call that a tool message answers. Without it, the message is sent as text of the user."""
    is_steered: bool = field(default=False, compare=False)
    """True if it is a message of the user that has entered a run, and begins no exchange."""
    ends_prefix: bool = field(default=False, compare=False)
    """True if later requests are likely to begin with all prompts up to here, for endpoints with marked caches."""
    origin: Origin | None = field(default=None, compare=False)
    """The origin of words of others that no guardrail of the agent has judged yet; None for all other prompts."""
    provider_parts: ProviderParts | None = None
    """Opaque parts of an assistant message. The adapter sends them to the model that gave them, and drops others."""


@dataclass(frozen=True, slots=True)
class ModelCaller:
    """The tenant, user and conversation of a request. What fails because of them changes nothing for other tenants."""

    tenant_id: str
    user_id: str
    thread_id: str | None = None
    """None outside conversations."""
    agent_id: str | None = field(default=None, compare=False)
    """The agent whose spending the request counts for; None for none."""
    may_overspend: bool = field(default=False, compare=False)
    """True if the user wants to go on beyond a spending limit, where the limits ask."""

    @classmethod
    def of(cls, scope: Scope, thread_id: str | None = None, *, agent_id: str | None = None) -> ModelCaller:
        """Return the caller with the user of a scope."""
        return cls(scope.tenant_id, scope.user_id, thread_id, agent_id)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The model and its parameters."""

    model: str
    """The model's name at its endpoint, or ``<provider>/<name>``."""
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    """The effort of the model's thinking, in its provider's words, such as ``low``."""
    verbosity: str | None = None
    """The length of its answers, such as ``low``."""
    tool_choice: str | None = None
    """``auto``, ``required``, ``none`` or the name of a tool. With ``none`` no call is yielded."""
    parallel_tool_calls: bool | None = None
    shows_reasoning: bool = False
    """True if the model's thinking is asked for and yielded as ``ReasoningDelta``."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, passed through as they are."""
    fallback: tuple[str, ...] = ()
    """Models that are asked in this order while ``model`` is unavailable or throttled."""
    timeout_seconds: float = 60.0
    """The longest wait for the first chunk of the answer, and between two chunks."""
    cache_key: str | None = None
    """A key of calls whose prompts begin alike. Endpoints with prompt caches send them to the same one."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the call, as JSON values by name. An adapter sends them only if the deployment wants it."""
    answer_schema: Mapping[str, Any] | None = None
    """JSON Schema of the answer, which is then JSON. Endpoints that know no schemas ignore it: check the answer."""
    caller: ModelCaller | None = field(default=None, compare=False)
    """For whom the model is asked; None for the deployment, as in checks, whose lessons hold for all tenants."""


@dataclass(frozen=True, slots=True)
class AnsweredBy:
    """The model that answers, before its first chunk, if its endpoint knows it by another name than the settings."""

    model: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's visible thinking, never empty. It is not part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TextTakenBack:
    """The notice that all text so far was thinking, as only the tag after it shows."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of the answer; ``usage`` is None if the endpoint reports none."""

    reason: FinishReason
    model: str
    """The model that answered, as its endpoint names it."""
    usage: Usage | None
    provider_parts: ProviderParts | None = None
    """The opaque parts that the model wants back with this answer."""
    dropped: tuple[str, ...] = ()
    """The settings and files that the model did not get, because it does not take them.

    Names of settings, ``images``, ``documents`` if it got their text only, and ``answer_schema`` if that stood in the
    prompt only.
    """
    warning: SpendingWarning | None = None
    """The account that had spent most of what it may before this call; None if there is none."""


ModelChunk = AnsweredBy | TextDelta | ReasoningDelta | TextTakenBack | ToolCall | Finished


class ChatModel(Protocol):
    """A chat model. Failures are ``ModelError`` and its subclasses, nothing else.

    As long as no chunk was yielded, the adapter retries with back-off before it raises an error.
    """

    def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the answer's text as it arrives, then its tool calls in the model's order, then one ``Finished``.

        ``AnsweredBy`` comes first, if a provider was selected or a fallback answers. Thinking is yielded as it arrives
        too, if ``settings.shows_reasoning``. ``TextTakenBack`` revokes all text that came before it. The ids of tool
        calls are unique within their answer, and never empty.

        The order of ``prompts`` is guaranteed: within a turn each request's prompts and tools begin with those of the
        request before it, unless the turn had to be shortened. Models bind their thinking to the prompts before it.

        Closing the generator stops the model. An answer that broke off yields no calls, and neither does one that
        ``FinishReason.LENGTH`` cut. ``Finished.reason`` is ``TOOL_CALLS`` after calls, unless the answer was cut.

        ``thread_files`` reads the uploads that file parts refer to. The model may call any of ``tools``. Raises
        ``ModelRateLimited``, ``ModelTimeout``, ``ModelUnavailable``, ``ModelRefused`` (even when the model takes no
        tools), ``ContextTooLong``, ``OutOfCredit`` and ``ContentFiltered``.
        """


@runtime_checkable
class LearningModel(Protocol):
    """A chat model that learns the abilities of its models from refusals."""

    def learned(self, model: str) -> Mapping[str, JsonValue]:
        """Return facts that this process has learned about a model, as ``modelProfiles`` takes them; maybe none."""


class TokenCounter(Protocol):
    """A counter of tokens as the configured models count them (``o200k_base``)."""

    def count(self, text: str) -> int:
        """Return the number of tokens of ``text``; special-token spellings count as ordinary text.

        Takes some milliseconds at most: long texts may be estimated.
        """
