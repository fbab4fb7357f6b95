"""The spans of a run: its agents, model calls, tools, handoffs and retrievals.

``baton.ports.tracing.Tracer`` begins the span of a run. Each step inside calls ``traced``, which begins a child of the
current span and does nothing without one, so that a deployment without traces only reads a context variable.

Names and attributes follow the semantic conventions for generative AI
(https://github.com/open-telemetry/semantic-conventions-genai). Names that the conventions lack begin with
``baton.``.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from enum import StrEnum
from typing import Any, Protocol

from baton.domain.errors import BatonError, InternalError

Value = str | int | float | bool | Sequence[str]

TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
"""A trace context of version 00 (https://www.w3.org/TR/trace-context/)."""


class Operation(StrEnum):
    """The kinds of spans, as ``gen_ai.operation.name``."""

    RUN = "invoke_workflow"
    AGENT = "invoke_agent"
    CHAT = "chat"
    EMBEDDINGS = "embeddings"
    TOOL = "execute_tool"
    HANDOFF = "handoff"
    """A value of Baton's, because the conventions have none for handoffs."""
    RETRIEVAL = "retrieval"


class Attribute(StrEnum):
    """The attributes of spans."""

    OPERATION = "gen_ai.operation.name"
    PROVIDER = "gen_ai.provider.name"
    CONVERSATION = "gen_ai.conversation.id"
    WORKFLOW = "gen_ai.workflow.name"
    AGENT_ID = "gen_ai.agent.id"
    AGENT_NAME = "gen_ai.agent.name"
    TOOL_NAME = "gen_ai.tool.name"
    TOOL_TYPE = "gen_ai.tool.type"
    TOOL_CALL_ID = "gen_ai.tool.call.id"
    DATA_SOURCE = "gen_ai.data_source.id"
    REQUEST_MODEL = "gen_ai.request.model"
    REQUEST_STREAM = "gen_ai.request.stream"
    REQUEST_TEMPERATURE = "gen_ai.request.temperature"
    REQUEST_TOP_P = "gen_ai.request.top_p"
    REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
    RESPONSE_MODEL = "gen_ai.response.model"
    FINISH_REASONS = "gen_ai.response.finish_reasons"
    FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
    """The time to the first chunk, in seconds."""
    INPUT_TOKENS = "gen_ai.usage.input_tokens"
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
    CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
    CACHE_WRITE_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
    REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
    ERROR = "error.type"
    TENANT = "baton.tenant.id"
    THREAD = "baton.thread.id"
    """The thread of work after a run, such as a summary. Spans of turns have ``CONVERSATION``."""
    RUN = "baton.run.id"
    ATTEMPT = "baton.run.attempt"
    OUTCOME = "baton.outcome"
    COST = "baton.usage.cost"
    """The cost in the currency of the deployment's prices; left out where the model has no price."""
    TASK = "baton.task.id"
    HANDOFF_FROM = "baton.handoff.source"
    HANDOFF_TO = "baton.handoff.target"
    FOUND = "baton.retrieval.count"
    # Attributes of ``CONTENT``, which only deployments that allow it have.
    SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
    INPUT_MESSAGES = "gen_ai.input.messages"
    OUTPUT_MESSAGES = "gen_ai.output.messages"
    TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
    TOOL_RESULT = "gen_ai.tool.call.result"
    INPUT_VALUE = "input.value"
    """The text of a turn's or an agent's question by OpenInference, from which tools make the pages of sessions."""
    OUTPUT_VALUE = "output.value"


CONTENT = frozenset({
    Attribute.SYSTEM_INSTRUCTIONS, Attribute.INPUT_MESSAGES, Attribute.OUTPUT_MESSAGES, Attribute.TOOL_ARGUMENTS,
    Attribute.TOOL_RESULT, Attribute.INPUT_VALUE, Attribute.OUTPUT_VALUE,
})  # fmt: skip
"""Attributes with words of users, models, tools and documents."""

Attributes = Mapping[Attribute, Value | None]
"""The attributes of a span. Attributes with the value None are left out."""


class Span(Protocol):
    """A step in progress. No method waits or raises."""

    @property
    def shows_content(self) -> bool:
        """True if attributes in ``CONTENT`` are recorded. Otherwise they need not be computed."""

    @property
    def traceparent(self) -> str | None:
        """The trace context for steps in other processes; None if nothing is traced."""

    def begin(
        self,
        operation: Operation,
        name: str,
        attributes: Attributes,
        *,
        is_remote: bool = False,
        began_ns: int | None = None,
    ) -> Span:
        """Begin a step inside this one. ``is_remote``: another server carries it out.

        ``began_ns`` is the time at which it began, in nanoseconds since 1970; None for now.
        """

    def set(self, attributes: Attributes) -> None:
        """Add attributes, or replace their values."""

    def fail(self, code: str) -> None:
        """Mark the step as failed, with the code of its error."""

    def end(self, *, at_ns: int | None = None) -> None:
        """End the step, at a time in nanoseconds since 1970; None for now. Later changes have no effect."""


class Untraced:
    """The ``Span`` of a step that is not traced."""

    shows_content = False
    traceparent = None

    def begin(self, *_: Any, **__: Any) -> Span:
        return self

    def set(self, attributes: Attributes) -> None:
        """Do nothing."""

    def fail(self, code: str) -> None:
        """Do nothing."""

    def end(self, *, at_ns: int | None = None) -> None:
        """Do nothing."""


UNTRACED = Untraced()

_current: ContextVar[Span] = ContextVar("span", default=UNTRACED)
"""The span of the step in progress. Tasks that a step begins are inside it."""
_joined: ContextVar[str | None] = ContextVar("joined_trace", default=None)
"""The caller's trace context, to which the next run belongs; None without one."""
_withholds: ContextVar[bool] = ContextVar("withheld_content", default=False)
"""True within ``content_withheld``."""


@contextmanager
def content_withheld() -> Iterator[None]:
    """Leave content out of the spans of models that the block asks, because a guardrail has yet to judge it."""
    token = _withholds.set(True)
    try:
        yield
    finally:
        _withholds.reset(token)


def is_content_withheld() -> bool:
    """Return whether spans that begin now leave out content."""
    return _withholds.get()


def get_current_span() -> Span:
    """Return the span of the step in progress."""
    return _current.get()


def get_current_traceparent() -> str | None:
    """Return the trace context for work in other processes; None if nothing is traced.

    It is that of the current step, or else that of the caller: see ``joining``.
    """
    return _current.get().traceparent or _joined.get()


def get_current_trace_id() -> str | None:
    """Return the id of the sampled trace of the step in progress; None if the step is not traced or not sampled."""
    traceparent = _current.get().traceparent
    if traceparent is None:
        return None
    _, trace_id, _, flags = traceparent.split("-")
    return trace_id if int(flags, 16) & 1 else None


def get_joined_traceparent() -> str | None:
    """Return the caller's trace context in a block of ``joining``; None outside such a block."""
    return _joined.get()


def join(traceparent: str | None) -> Token[str | None]:
    """Make later runs of this task part of the caller's trace. Return the token with which ``joining`` ends this."""
    valid = traceparent if traceparent is not None and TRACEPARENT.fullmatch(traceparent) else None
    return _joined.set(valid)


@contextmanager
def joining(traceparent: str | None) -> Iterator[None]:
    """Make the block's run part of the caller's trace. An invalid ``traceparent`` is ignored.

    Use it only for trusted callers, because they choose the trace in which the run is shown.
    """
    token = join(traceparent)
    try:
        yield
    finally:
        _joined.reset(token)


@contextmanager
def making_current(span: Span) -> Iterator[None]:
    """Make ``span`` the current span for the block, and leave it open."""
    token = _current.set(span)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def inside(span: Span) -> Iterator[Span]:
    """Make ``span`` the current span for the block, and end it afterwards. An exception marks it as failed."""
    try:
        with making_current(span):
            yield span
    except BaseException as error:
        span.fail(find_error_code(error))
        raise
    finally:
        span.end()


@contextmanager
def traced(
    operation: Operation, name: str, attributes: Attributes | None = None, *, is_remote: bool = False
) -> Iterator[Span]:
    """Trace the block as a step of the current span; without a current span, do nothing.

    Attributes must hold nothing secret and no words of users or models, except those in ``CONTENT``. Do not use it
    around the ``yield`` of an asynchronous generator, whose reader would be inside the span too.
    """
    parent = _current.get()
    if parent is UNTRACED:
        yield UNTRACED
        return
    with inside(parent.begin(operation, name, attributes or {}, is_remote=is_remote)) as span:
        yield span


def find_error_code(error: BaseException) -> str:
    """Return the code of a failure for ``error.type``, without its message."""
    if isinstance(error, BatonError):
        return error.code
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        return "cancelled"
    return InternalError.code


def to_content(value: Any, limit: int = 16_384) -> str:
    """Return a value as text for an attribute in ``CONTENT``, cut after ``limit`` characters and marked as cut."""
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= limit else f"{text[:limit]} [cut]"


def describe_exchange(question: str | None, answer: str) -> Attributes:
    """Return a question and its answer as attributes. None: the question must not be recorded."""
    question_text = to_content(question) if question is not None else None
    answer_text = to_content(answer)
    output = {"role": "assistant", "parts": [{"type": "text", "content": answer_text}], "finish_reason": "stop"}
    input_message = {"role": "user", "parts": [{"type": "text", "content": question_text}]}
    return {
        Attribute.INPUT_MESSAGES: json.dumps([input_message], ensure_ascii=False)
        if question_text is not None
        else None,
        Attribute.INPUT_VALUE: question_text,
        Attribute.OUTPUT_MESSAGES: json.dumps([output], ensure_ascii=False) if answer_text else None,
        Attribute.OUTPUT_VALUE: answer_text or None,
    }


def parse_trace_headers(text: str) -> dict[str, str]:
    """Return the headers in a secret's value. Raises ``InternalError`` with the flaw, without the value."""
    try:
        headers = json.loads(text)
    except ValueError:
        headers = None
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise InternalError('is no JSON object of headers with text values, such as {"x-api-key": "..."}')
    if not all(headers) or not all(part.isascii() and part.isprintable() for item in headers.items() for part in item):
        raise InternalError("has a header whose name or value is not printable ASCII, as HTTP requires")
    return headers
