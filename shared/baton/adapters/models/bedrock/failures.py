"""Read the errors of Amazon Bedrock as ``ProviderFailure``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import httpx2 as httpx

from baton.adapters.models.bedrock.event_stream import BrokenStream, StreamEvent
from baton.adapters.models.failures.failure import (
    MAX_TEXT,
    FailureKind,
    ProviderFailure,
    read_retry_after,
    write_json_text,
)

_STATUS = {
    "accessdeniedexception": 403,
    "internalserverexception": 500,
    "modelerrorexception": 424,
    "modelnotreadyexception": 429,
    "modelstreamerrorexception": 424,
    "modeltimeoutexception": 408,
    "resourcenotfoundexception": 404,
    "servicequotaexceededexception": 429,
    "serviceunavailableexception": 503,
    "throttlingexception": 429,
    "validationexception": 400,
}
"""The statuses of errors by their names, in lower case. AWS sends an exceeded quota with status 400."""
_EXPIRED = ("expiredtoken", "expiredtokenexception")
_ACCOUNT = ("on-demand throughput", "data retention mode", "not authorized to perform", "access to the model")
"""Texts of refusals with status 400 or 403 whose cause only an operator can fix."""
_AGREEMENT = "mpagreementbeingcreated"
"""A word of the error while AWS subscribes to a model after its first use, for up to 15 minutes."""

_FIELD = (
    re.compile(r"extraneous key \[([\w.]+)\]"),
    re.compile(r"support the ([\w.]+) field"),
    re.compile(r"[Uu]n(?:known|supported) (?:parameter|value): '([\w.]+)'"),
    re.compile(r"errors?: ([\w.]+): Extra inputs"),
    re.compile(r"[`'\"]([\w.]+)[`'\"] (?:is deprecated|is not supported|cannot both be specified)"),
    re.compile(r"^([a-zA-Z_.]+): Extra inputs"),
    re.compile(r"\b(max_tokens|maxTokens)\b.{0,60}(?:maximum|limit)"),
)
_SETTINGS = {
    "cachePoint": "cache_point",
    "maxTokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "outputConfig": "answer_schema",
    "output_config": "reasoning_effort",
    "reasoning": "reasoning_effort",
    "reasoningConfig": "reasoning_effort",
    "reasoning_config": "reasoning_effort",
    "reasoning_effort": "reasoning_effort",
    "requestMetadata": "metadata",
    "status": "result_status",
    "temperature": "temperature",
    "thinking": "reasoning_effort",
    "toolChoice": "tool_choice",
    "tool_choice": "tool_choice",
    "topP": "top_p",
    "top_p": "top_p",
}
"""Fields of requests, and their names in profiles."""


class NoCredentials(ValueError):
    """There are no credentials, or they cannot be renewed. The message says why."""


def read_response_failure(status: int, headers: Mapping[str, str], body: bytes) -> ProviderFailure:
    """Return the failure that an HTTP response from Bedrock means. A ``body`` that is not JSON is its text."""
    fields: Any
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = {"message": body.decode("utf-8", "replace")}
    if not isinstance(fields, dict):
        fields = {}
    # The header may continue with the address of a description of the error.
    name = headers.get("x-amzn-errortype", "").partition(":")[0] or str(fields.get("__type", "")).rpartition("#")[2]
    failure = _make_failure(name or f"HTTP {status}", fields, _STATUS.get(name.lower(), status))
    failure.request_id = headers.get("x-amzn-requestid")
    failure.retry_after = read_retry_after(headers)
    return failure


def read_streamed_failure(event: StreamEvent) -> ProviderFailure:
    """Return the failure that an exception in the stream means. botocore would give all of them status 400."""
    status = _STATUS.get(event.name.lower())
    original = event.fields.get("originalStatusCode")
    if status == 424 and isinstance(original, int) and 400 <= original < 600:
        status = original
    return _make_failure(event.name, event.fields, status)


def make_broken_failure(error: httpx.HTTPError | BrokenStream | NoCredentials) -> ProviderFailure:
    """Return the failure of a request that got no answer, or none that can be read."""
    name = type(error).__name__
    if isinstance(error, NoCredentials):
        return ProviderFailure(name, status=403, text=str(error))
    is_protocol = isinstance(error, BrokenStream | httpx.DecodingError)
    return ProviderFailure(name, FailureKind.PROTOCOL if is_protocol else FailureKind.CONNECTION, text=str(error))


def is_expired(failure: ProviderFailure) -> bool:
    """Return whether AWS refused the credentials because they have expired."""
    return failure.code.lower() in _EXPIRED


def _make_failure(name: str, fields: Mapping[str, Any], status: int | None) -> ProviderFailure:
    texts = (fields.get("message") or fields.get("Message"), fields.get("originalMessage"))
    text = " ".join(text for text in texts if isinstance(text, str))[:MAX_TEXT]
    text = text or (write_json_text(fields) if set(fields) - {"message", "Message"} else "")
    failure = ProviderFailure(name, status=status, code=name, param=_find_setting_name(text), text=text)
    words = failure.words
    if _AGREEMENT in words:
        failure.status, failure.is_final = 503, True
    elif status == 400 and any(phrase in words for phrase in _ACCOUNT):
        failure.status = 403
    return failure


def _find_setting_name(text: str) -> str:
    """Return the profile's name for the field that the text is about; empty if the text names no field."""
    if "prompt caching" in text:
        return "cache_point"
    for pattern in _FIELD:
        match = pattern.search(text)
        if match:
            names = match[1].split(".")
            return next((_SETTINGS[name] for name in names if name in _SETTINGS), names[-1])
    return ""
