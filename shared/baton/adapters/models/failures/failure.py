"""Failures of a model's endpoint in one form for every API, and the errors that callers get."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

from baton.adapters.models.failures import wordings
from baton.domain import errors

MAX_BACKOFF_SECONDS = 8.0
MAX_RETRY_AFTER_SECONDS = 20.0
MAX_TEXT = 2_000
"""The maximum number of characters of a provider's text that are read."""
MAX_LOGGED = 500
"""The maximum number of characters of a provider's text that are logged."""
MAX_NESTING = 6
"""The maximum depth at which an error is searched for in a body."""
_STATUSES = ("code", "status", "statusCode", "status_code")
"""Fields of an error with an HTTP status."""

_OUTAGE_STATUSES = frozenset({409, 424, 425, 498, 499})
"""Statuses below 500 that are outages."""


class FailureKind(StrEnum):
    """The ways in which a request fails."""

    ANSWER = "answer"
    """The endpoint answered with an error, or sent one in its stream."""
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    PROTOCOL = "protocol"
    """The endpoint sent something that is not an answer."""


@dataclass
class ProviderFailure(Exception):
    """A request that failed, with the endpoint's words."""

    name: str
    """The class or name of the failure, for the log."""
    kind: FailureKind = FailureKind.ANSWER
    status: int | None = None
    """The HTTP status, or the one that an error inside a stream names."""
    code: str = ""
    type: str = ""
    param: str = ""
    """The field of the request that the endpoint names."""
    text: str = ""
    """The endpoint's words. They may quote the request, so callers never see it."""
    retry_after: float | None = None
    """Seconds that the endpoint asks to wait before a retry."""
    is_final: bool = False
    """Whether the endpoint says that a retry is useless."""
    request_id: str | None = None

    @classmethod
    def of(cls, body: object, name: str) -> ProviderFailure:
        """Return the failure that a body of any provider means, with the wait that its text asks for.

        Bodies are ``{"error": {...}}``, a list of such, ``{"detail": [...]}`` or a text. ``name`` is for the log.
        """
        for _ in range(MAX_NESTING):
            if isinstance(body, list):
                body = next((entry for entry in body if entry), "")
            elif isinstance(body, Mapping) and body.get("error") and not isinstance(body["error"], bool):
                body = body["error"]
            else:
                break
        if not isinstance(body, Mapping):
            text = _to_text(body)
            return cls(name, text=text, retry_after=_read_wait_seconds(text))
        detail = body.get("detail")
        located = detail[0] if isinstance(detail, list) and detail and isinstance(detail[0], Mapping) else {}
        texts = [body.get("message") or body.get("Message") or located.get("msg") or detail or write_json_text(body)]
        path = located.get("loc")
        location = ".".join(str(entry) for entry in path if entry != "body") if isinstance(path, list) else ""
        # Gateways quote the provider here.
        texts += [write_json_text(body[key]) for key in ("innererror", "metadata", "details") if body.get(key)]
        text = " ".join(map(_to_text, texts))
        return cls(
            name,
            status=next(filter(None, (_read_status(body.get(key)) for key in _STATUSES)), None),
            code=_to_text(body.get("code")),
            type=_to_text(body.get("type") or body.get("__type") or body.get("status") or located.get("type")),
            param=_to_text(body.get("param")) or location,
            text=text[:MAX_TEXT],
            retry_after=_read_wait_seconds(text),
        )

    def __str__(self) -> str:
        return self.text or self.name

    @property
    def words(self) -> str:
        """Everything that the endpoint said, in lower case."""
        return f"{self.code} {self.type} {self.param} {self.text}".lower()

    @property
    def is_refusal(self) -> bool:
        """Whether the endpoint refused this request, but may accept another form of it."""
        return self.kind is FailureKind.ANSWER and isinstance(self.error, errors.ModelRefused)

    @property
    def may_be_refusal(self) -> bool:
        """Whether the status means an outage, but the text may be about the request (llama.cpp, vLLM).

        An error of a gateway, or one that asks to try again, counts as an outage even if it quotes the request.
        """
        if self.kind is not FailureKind.ANSWER or not isinstance(self.error, errors.ModelUnavailable):
            return False
        if self.status not in (None, 500, 501) or wordings.OVERLOADED.search(self.words):
            return False
        return wordings.ABOUT_REQUEST.search(self.words) is not None

    @property
    def error(self) -> errors.ModelError:
        """The error for callers. It contains no text of the provider."""
        if self.kind is FailureKind.TIMEOUT:
            return errors.ModelTimeout()
        if self.kind is not FailureKind.ANSWER:
            return errors.ModelUnavailable()
        words = self.words
        if wordings.FILTERED.search(words):
            return errors.ContentFiltered()
        if self.status == 413 or (wordings.OVERFLOW.search(words) and not wordings.NO_OVERFLOW.search(words)):
            return errors.ContextTooLong()
        if self.status == 402 or wordings.NO_CREDIT.search(words):
            return errors.OutOfCredit()
        if self.status == 429 and wordings.DAILY.search(words):
            return errors.OutOfCredit()
        if (
            wordings.QUOTA_SPENT.search(words)
            and not wordings.A_MINUTE.search(words)
            and _read_wait_seconds(words) is None
        ):
            return errors.OutOfCredit()
        if "tool_use_failed" in words:  # the server could not read a call that the model wrote; a retry may succeed
            return errors.ModelUnavailable()
        if self.status is not None:
            return _make_error_of_status(self.status, words)
        return _make_error_of_words(f"{self.name} {self.code} {self.type}".lower())

    def log_fields(self, secret: str) -> dict[str, object]:
        """Return the log fields, with ``***`` in place of ``secret``; an empty secret replaces nothing."""
        fields: dict[str, object] = {"failure": self.name}
        if self.kind is FailureKind.ANSWER:
            code, kind = (_redact(secret, text)[:MAX_LOGGED] or None for text in (self.code, self.type))
            fields |= {"provider_code": code, "provider_type": kind}
        if self.status is not None:
            fields |= {"http_status": self.status, "provider_request_id": self.request_id}
        # The secret is removed before the text is cut, because a part of a key is a secret too.
        return fields | {"text": _redact(secret, self.text)[:MAX_LOGGED]}


@dataclass(frozen=True, slots=True)
class Backoff:
    """The waits between attempts. The first takes up to ``seconds``, each further one twice as long.

    No wait is longer than ``MAX_BACKOFF_SECONDS``.
    """

    seconds: float

    def choose_delay(self, failure: ProviderFailure, attempt: int) -> float | None:
        """Return the seconds to wait after the failed ``attempt``, counted from 0; None if a retry is useless.

        The endpoint's wait counts first. A retry is useless if that wait is longer than ``MAX_RETRY_AFTER_SECONDS``.
        """
        if failure.kind is FailureKind.TIMEOUT or failure.is_final:
            return None
        if not isinstance(failure.error, errors.ModelRateLimited | errors.ModelUnavailable | errors.ModelTimeout):
            return None
        if failure.retry_after is not None:
            return failure.retry_after if failure.retry_after <= MAX_RETRY_AFTER_SECONDS else None
        return self.compute_delay(attempt)

    def compute_delay(self, attempt: int) -> float:
        """Return the seconds to wait after the failed ``attempt``, counted from 0. Jitter takes up to a quarter."""
        backoff = min(self.seconds * 2.0**attempt, MAX_BACKOFF_SECONDS)
        return backoff * (1 - 0.25 * random.random())  # noqa: S311 - jitter


def _make_error_of_status(status: int, words: str) -> errors.ModelError:
    """Return the error for an HTTP status, and for the endpoint's words in lower case where the status is ambiguous."""
    if 300 <= status < 400:
        return errors.ModelMisconfigured()
    if status == 429:
        return errors.ModelRateLimited()
    if status == 408:
        return errors.ModelTimeout()
    if status >= 500 or status in _OUTAGE_STATUSES:
        return errors.ModelUnavailable()
    if status == 403 and wordings.FLAGGED.search(words):
        return errors.ContentFiltered()
    if (status == 403 and "prompt caching" in words) or wordings.UNROUTED.search(words):
        return errors.ModelRefused()
    if status in (401, 403, 404) or _is_misconfigured(words):
        return errors.ModelMisconfigured()
    return errors.ModelRefused() if status >= 400 else errors.ModelUnavailable()


def _make_error_of_words(words: str) -> errors.ModelError:
    """Return the error for a failure without a status, by its name, code and type in lower case."""
    if wordings.RATE_LIMITED.search(words):
        return errors.ModelRateLimited()
    if wordings.TIMED_OUT.search(words):
        return errors.ModelTimeout()
    if _is_misconfigured(words):
        return errors.ModelMisconfigured()
    if wordings.REFUSED.search(words):
        return errors.ModelRefused()
    return errors.ModelUnavailable()


def _is_misconfigured(words: str) -> bool:
    return bool(wordings.UNKNOWN_MODEL.search(words) or wordings.BAD_KEY.search(words))


def _read_wait_seconds(text: str) -> float | None:
    """Return the seconds that a text asks the client to wait; None if it names no wait."""
    match = wordings.WAIT.search(text.lower())
    if match is None:
        return None
    if match["delay"] is not None:
        return float(match["delay"])
    seconds = float(match["seconds"]) / (1000 if match["unit"] == "ms" else 1)
    return 3600 * float(match["hours"] or 0) + 60 * float(match["minutes"] or 0) + seconds


def _redact(secret: str, text: str) -> str:
    return text.replace(secret, "***") if secret else text


def _to_text(value: object) -> str:
    if value is None or isinstance(value, bool):
        return ""
    return value[:MAX_TEXT] if isinstance(value, str) else write_json_text(value)[:MAX_TEXT]


def write_json_text(value: Any) -> str:
    """Return a value as JSON, cut at ``MAX_TEXT``; empty if it has no JSON form."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:MAX_TEXT]
    except (ValueError, RecursionError):
        return ""


def _read_status(value: object) -> int | None:
    """Return the HTTP status that an error's field means; None for other values.

    Gateways put it into an error inside a stream of status 200.
    """
    if isinstance(value, str) and value.isdecimal() and len(value) == 3:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600 else None


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of ``retry-after-ms`` or ``Retry-After`` (RFC 9110 10.2.3); None without a valid value."""
    seconds = _read_number(headers.get("retry-after-ms"))
    if seconds is not None:
        return seconds / 1000
    header = headers.get("retry-after")
    seconds = _read_number(header)
    if seconds is not None or header is None:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(header).astimezone(UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):  # not a date, or a date beyond the last year
        return None


def _read_number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
