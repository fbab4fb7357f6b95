"""Map failures of remote agents to ``AgentFailed``, with a reason that contains no secrets."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator

import httpx
from a2a.client.errors import A2AClientError
from a2a.utils.errors import A2AError, InternalError, InvalidAgentResponseError

from baton.ports.agents.agent_client import AgentFailed

MAX_REASON = 300
"""The length to which an agent's text in a reason is cut, in characters."""


class AgentRefused(AgentFailed):
    """The agent answered with a refusal or a failure. Circuit breakers do not count it."""

    def __init__(self, reason: str, *, is_final: bool = True) -> None:
        super().__init__(reason, is_final=is_final)


class CardRefused(AgentFailed):
    """The agent's card is not signed as the agent's definition requires. No message was sent."""


def to_agent_failed(error: Exception) -> AgentFailed:
    """Return the failure for an ``error`` of the SDK, the HTTP client or a parser."""
    if isinstance(error, AgentFailed):
        return error
    for cause in _list_causes(error):
        if isinstance(cause, httpx.HTTPStatusError):
            return _to_status_failure(cause.response.status_code)
        if isinstance(cause, httpx.TimeoutException | TimeoutError):
            return AgentFailed("The agent did not answer in time.")
        if isinstance(cause, ssl.SSLError):
            return AgentFailed("No secure connection to the agent could be made.")
    if isinstance(error, A2AError) and not isinstance(error, A2AClientError):
        reason = f"The agent refused: {shorten(error.message)}"
        is_broken = isinstance(error, InternalError | InvalidAgentResponseError)
        return AgentFailed(reason) if is_broken else AgentRefused(reason)
    for cause in _list_causes(error):
        if isinstance(cause, httpx.ConnectError):
            return AgentFailed("The agent cannot be reached.")
        if isinstance(cause, httpx.TransportError):
            return AgentFailed("The connection to the agent broke.")
        if isinstance(cause, json.JSONDecodeError | UnicodeDecodeError):
            return AgentFailed("The agent sent something that is not JSON.")
    return AgentFailed("The agent's answer is not valid A2A.")


def shorten(text: str, max_length: int = MAX_REASON) -> str:
    """Return ``text`` on one line of at most ``max_length`` characters."""
    # Cut first, because the text may be long.
    line = " ".join(text[: 4 * max_length].split())
    return line if len(line) <= max_length else f"{line[: max_length - 1]}…"


def _to_status_failure(status: int) -> AgentFailed:
    """Return the failure for the HTTP ``status`` of a response that is no success."""
    if 300 <= status < 400:
        return AgentFailed(f"The agent's address redirects elsewhere (HTTP {status}), which is not followed.")
    if status in (401, 403):
        return AgentRefused(f"The agent refused the credentials (HTTP {status}).")
    if status == httpx.codes.REQUEST_TIMEOUT:
        return AgentFailed("The agent did not get the request in time (HTTP 408).")
    if status == httpx.codes.TOO_MANY_REQUESTS:
        return AgentRefused("The agent is receiving too many requests (HTTP 429).", is_final=False)
    if 400 <= status < 500:
        return AgentRefused(f"The agent refused the request (HTTP {status}).")
    return AgentFailed(f"The agent's server failed (HTTP {status}).")


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield ``error`` and its causes, nearest first."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__
