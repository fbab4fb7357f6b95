"""The endpoints that speak Chat Completions, one data file each: what they refuse and how they answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from tests.models.standins.journal import Refusal

FOLDER = Path(__file__).parent / "endpoints"


class Wording(BaseModel):
    """An error as its endpoint words it; ``{name}`` in the texts stands for what the rule found."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: int = 400
    message: str
    type: str | None = None
    code: str | int | None = None
    param: str | None = None
    more: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the error object."""


class Refused(Wording):
    """The error for a field that the endpoint does not take."""

    allow: list[Any] = Field(default_factory=list)
    """Values with which the field is taken."""
    unless: dict[str, Any] = Field(default_factory=dict)
    """Values of other fields with which the field is taken."""


class Streaming(BaseModel):
    """Form of an endpoint's streams."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    usage: str = "asked"
    """``asked``: a separate chunk if the request asks for it. ``last``: with the last content. ``none``."""
    reasoning: str = "none"
    """The field of the deltas with reasoning; ``list``: parts of the content, ``tags``: between tags in the content."""
    always_reasons: bool = False
    whole_calls: bool = False
    call_index: str = "counted"
    """``counted``, ``zero`` for all calls, or ``missing``."""
    call_ids: str = "long"
    """``long``: unique. ``nine``: nine letters and digits. ``counted``: call_0 in each answer. ``missing``."""
    finish_with_calls: str | None = "tool_calls"
    finish: str | None = "stop"
    """The word at the end of a text; None: there is none."""
    signature: str = ""
    """Place of a call's signature: ``call``, or ``own`` for a separate delta."""
    comments: str = ""
    """A comment before each event."""
    first_chunk: dict[str, Any] | None = None
    """Fields of the first chunk that replace those of other chunks."""
    null_delta: bool = False
    """True if a chunk comes whose delta is null."""
    null_content: bool = False
    """True if deltas with calls have a content of null."""
    done: bool = True


class Dialect(BaseModel):
    """The dialect of an endpoint."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    context: int = 128_000
    """Tokens, as ``tokens_of`` counts them."""
    errors: str = "openai"
    """The form of error bodies: ``openai``, ``google``, ``text``, ``plain``, ``detail`` or ``litellm``."""
    unknown: str = "refuse"
    """``refuse`` or ``ignore`` what the API does not declare."""
    also_takes: tuple[str, ...] = ()
    """Paths, without indexes, that OpenAI's types do not have."""
    unknown_field: Wording = Wording(
        message="Unrecognized request argument supplied: {path}", type="invalid_request_error"
    )
    refuses: dict[str, Refused] = Field(default_factory=dict)
    """Fields of the request, as paths without indexes."""
    ignores: tuple[str, ...] = ()
    """Fields, as paths without indexes, that are dropped without a word."""
    rules: dict[str, Wording] = Field(default_factory=dict)
    """Rules of ``chat_rules``, ``chat_tool_rules`` and ``chat_replay`` that it applies, with its own words."""
    overflow: Wording | None = Wording(
        message="This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens}"
        " tokens. Please reduce the length of the messages.",
        type="invalid_request_error",
        code="context_length_exceeded",
        param="messages",
    )
    """None: what does not fit is cut from the beginning, silently."""
    empty_on_overflow: bool = False
    filter: Wording | None = None
    """Form of the refusal of a filtered prompt; without it the stream ends with the word ``content_filter``."""
    clumsy_once: Wording | None = None
    """The error with which the first call of a tool fails."""
    stream: Streaming = Streaming()


@dataclass(frozen=True, slots=True)
class Complaint:
    """The reason of a refusal: the wording and its values."""

    wording: Wording
    values: Mapping[str, object]


def refusal(dialect: Dialect, complaint: Complaint) -> Refusal:
    """Return the answer with which ``dialect`` refuses."""
    wording, results = complaint.wording, complaint.values
    message = _fill(wording.message, results)
    param = _fill(wording.param, results) if wording.param else None
    more = {
        key: results.get(value[1:-1], value) if isinstance(value, str) else value for key, value in wording.more.items()
    }
    error: dict[str, Any] = {"message": message, "type": wording.type, "param": param, "code": wording.code} | more
    return Refusal(wording.status, _body(dialect.errors, error, wording.status))


def _fill(text: str, result: Mapping[str, object]) -> str:
    """Fill the gaps; other braces stay, because messages quote JSON."""
    return re.sub(r"\{(\w+)\}", lambda gap: str(result.get(gap[1], gap[0])), text)


def _body(form: str, error: dict[str, Any], status: int) -> Any:
    message = error["message"]
    if form == "google":
        details = {key: value for key, value in error.items() if key == "details"}
        word = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED"}.get(status, "UNAVAILABLE")
        return [{"error": {"code": status, "message": message, "status": word} | details}]
    if form == "text":
        return {"error": message}
    if form == "plain":
        return {"object": "error"} | error
    if form == "detail":
        return {"detail": error.get("detail", message)}
    if form == "litellm":
        name = {400: "BadRequestError", 429: "RateLimitError", 401: "AuthenticationError"}.get(status, "APIError")
        return {"error": error | {"message": f"litellm.{name}: AnthropicException - {message}", "code": str(status)}}
    return {"error": error}


@cache
def dialects() -> dict[str, Dialect]:
    """Return all endpoints by name."""
    rows: dict[str, Dialect] = {}
    for file in sorted(FOLDER.glob("*.yaml")):
        for name, row in yaml.safe_load(file.read_text()).items():
            rows[name] = Dialect.model_validate(row)
    return rows
