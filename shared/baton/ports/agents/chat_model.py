"""The port to a language model that streams its answer, and to the counter of its tokens."""

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
from baton.domain.threads.content import Content
from baton.domain.threads.message import Role
from baton.ports.documents.files import ThreadFiles

MAX_ANSWER_BYTES = 1024 * 1024
"""Bytes of an answer's text, calls and reasoning, in UTF-8. Longer answers are cut and end with ``LENGTH``.

A user's message has the same limit, which is eight times the longest output of current models."""


QUOTED_CONTEXT = "<quoted-context>\n{text}\n</quoted-context>"
"""The form of a context prompt for a model: a frame shows that the text is not the user's own."""


class FinishReason(StrEnum):
    """The reason why the model stopped, with the values of OpenAI's Chat Completions API."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model may call."""

    name: str
    """The name: at most 64 letters, digits, ``_`` and ``-``."""
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments, of type object."""
    is_client: bool = field(default=False, compare=False)
    """True if the user's client declares it."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One message to the model. The adapter resolves file references in ``content`` through ``ThreadFiles``.

    System prompts before the first other message are the head. A later system prompt is a note, which the adapter
    renders at its position, in a form that the model accepts. A context prompt is sent as text of the user in the frame
    ``QUOTED_CONTEXT``, never with the role of the system: models trust that role most, and the text is by others.
    """

    role: Role
    content: Content
    tool_calls: tuple[ToolCall, ...] = ()
    """The calls of an assistant message. The result of each call must follow before any other message."""
    tool_call_id: str | None = None
    """The call that a tool message answers. Without it, the message is sent as text of the user."""
    is_steered: bool = field(default=False, compare=False)
    """True if it is a message of the user that has entered a run, and does not begin an exchange."""
    ends_prefix: bool = field(default=False, compare=False)
    """True if later requests probably begin with the prompts up to this one, for caches with explicit breakpoints."""
    origin: Origin | None = field(default=None, compare=False)
    """The origin of words that the agent's guardrails have yet to judge; None for all other prompts."""
    provider_parts: ProviderParts | None = None
    """Opaque parts of an assistant message. The adapter sends them only to the model that gave them."""


@dataclass(frozen=True, slots=True)
class ModelCaller:
    """The tenant, user and conversation of a request. Failures that they cause do not affect other tenants."""

    tenant_id: str
    user_id: str
    thread_id: str | None = None
    """The conversation; None for a request outside conversations."""
    agent_id: str | None = field(default=None, compare=False)
    """The agent to whose spending the request counts; None if it counts to no agent's."""
    may_overspend: bool = field(default=False, compare=False)
    """True if the user continues beyond a spending limit, which limits with ``ask`` permit."""

    @classmethod
    def of(cls, scope: Scope, thread_id: str | None = None, *, agent_id: str | None = None) -> ModelCaller:
        """Return the caller with the tenant and user of a scope."""
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
    """True if the model's thinking is requested and yielded as ``ReasoningDelta``."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, passed through as they are."""
    fallback: tuple[str, ...] = ()
    """Models that are asked in this order if ``model`` is unavailable, throttled, too slow or without credit."""
    timeout_seconds: float = 60.0
    """The longest wait for the first chunk of the answer, and between two chunks."""
    cache_key: str | None = None
    """A key of calls whose prompts begin alike. Endpoints with prompt caches route these calls to the same cache."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the call, as JSON values by name. An adapter sends them only if the provider's ``metadata`` is on."""
    answer_schema: Mapping[str, Any] | None = None
    """JSON Schema of the answer, which is then JSON. Some endpoints ignore schemas: callers must check the answer."""
    caller: ModelCaller | None = field(default=None, compare=False)
    """The caller; None for requests of the deployment itself. Facts learned from these hold for all tenants."""


@dataclass(frozen=True, slots=True)
class AnsweredBy:
    """The notice of the model that answers, if its name differs from that in the settings, before the first chunk."""

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
    """The notice that all text so far was thinking, which only a closing tag has shown."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of the answer. ``usage`` is None if the endpoint reports none."""

    reason: FinishReason
    model: str
    """The model that answered, as its endpoint names it."""
    usage: Usage | None
    provider_parts: ProviderParts | None = None
    """The opaque parts that the model requires back with this answer."""
    dropped: tuple[str, ...] = ()
    """The settings and files that the model did not get, because it does not accept them.

    These are names of settings, ``images``, ``documents`` if the model got only their text, and ``answer_schema`` if
    only the prompt had the schema.
    """
    warning: SpendingWarning | None = None
    """The account that had spent most of its limit before this call; None if there is none."""


ModelChunk = AnsweredBy | TextDelta | ReasoningDelta | TextTakenBack | ToolCall | Finished


class AnswerText:
    """The text of an answer so far, without text that was taken back."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.size = 0
        """The number of characters."""

    @property
    def text(self) -> str:
        """The text; empty before the first piece."""
        return "".join(self._pieces)

    def take(self, chunk: object) -> None:
        """Take a chunk of the answer. Chunks other than ``TextDelta`` and ``TextTakenBack`` change nothing."""
        if isinstance(chunk, TextDelta):
            self._pieces.append(chunk.text)
            self.size += len(chunk.text)
        elif isinstance(chunk, TextTakenBack):
            self._pieces, self.size = [], 0


class ChatModel(Protocol):
    """A chat model. Failures are ``ModelError`` and its subclasses, and those of reading the prompts' uploads.

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
        too, if ``settings.shows_reasoning``. ``TextTakenBack`` revokes all earlier text. The ids of tool calls are
        unique within their answer, and never empty.

        Callers guarantee the order of ``prompts``: within a turn, each request's prompts and tools begin with those of
        the previous request, unless the turn had to be shortened, because models bind their thinking to the prompts
        before it.

        Closing the generator stops the model. An answer that broke off yields no calls, and an answer that was cut
        (``FinishReason.LENGTH``) only those with complete arguments. ``Finished.reason`` is ``TOOL_CALLS`` after calls,
        unless the answer was cut.

        ``thread_files`` reads the uploads that file parts refer to. The model may call any of ``tools``. Raises
        ``ModelRateLimited``, ``ModelTimeout``, ``ModelUnavailable``, ``ModelRefused`` (even when the model takes no
        tools), ``ModelMisconfigured``, ``ContextTooLong``, ``OutOfCredit`` and ``ContentFiltered``.
        """


@runtime_checkable
class LearningModel(Protocol):
    """A chat model that learns the abilities of its models from refusals."""

    def list_learned_facts(self, model: str) -> Mapping[str, JsonValue]:
        """Return what this process learned about a model for all tenants, in the form of ``modelProfiles``.

        The result may be empty.
        """


class TokenCounter(Protocol):
    """A counter of tokens as the configured models count them (``o200k_base``)."""

    def count(self, text: str) -> int:
        """Return the number of tokens of ``text``. Spellings of special tokens count as ordinary text.

        The call takes at most some milliseconds, because long texts may be estimated.
        """
