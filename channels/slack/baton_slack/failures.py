"""Failures of jobs: their kinds, and the time of the next attempt."""

from __future__ import annotations

from typing import TypeGuard

import aiohttp
import httpx
from slack_sdk.errors import SlackApiError

from baton_client import APIConnectionError, APIStatusError
from baton_slack.storage import Job

ATTEMPT_GAPS = (1, 5, 15, 60, 300, 900, 3_600, 3_600, 7_200, 14_400, 28_800)
"""Seconds between the attempts at a job, about 16 hours in all."""
MAX_REFUSED_RETRIES = 6
"""Repetitions of a request that Slack refuses for good, in 20 minutes: the conversation's next jobs wait for it."""
MAX_UNEXPECTED_RETRIES = 3
"""Repetitions of a job that fails unexpectedly."""
LATER_STATUSES = frozenset({408, 429})
"""HTTP statuses below 500 after which a later request may succeed."""
REFUSED_TOKEN = {
    *("account_inactive", "invalid_auth", "missing_scope", "not_authed"),
    *("token_expired", "token_revoked"),
}
"""Errors of Slack after which an operator has to install the app again, with the scopes of the guide."""
OUTAGES = {"", "fatal_error", "internal_error", "request_timeout", "service_unavailable", "team_added_to_org"}
"""Errors of Slack that end by themselves. An answer that is not JSON counts as the empty one."""
INSTALLATION_ADVICE = (
    " (install the app with the scopes of the guide, set SLACK_BOT_TOKEN, and start the channel again)"
)
CONNECTION_FAILURES = (APIConnectionError, aiohttp.ClientError, httpx.HTTPError, OSError, TimeoutError)


def get_error_code(failure: SlackApiError) -> str:
    """Return Slack's code of an error; empty for an answer that is not JSON, such as a gateway's."""
    data = getattr(failure.response, "data", None)
    return str(data.get("error") or "") if isinstance(data, dict) else ""


def is_rate_limit(failure: Exception) -> TypeGuard[SlackApiError]:
    """Return whether Slack limits the rate. Such a failure ends by itself, and does not count as an attempt."""
    return isinstance(failure, SlackApiError) and getattr(failure.response, "status_code", 0) == 429


def is_refusal(failure: SlackApiError) -> bool:
    """Return whether Slack refuses this request, and would refuse a repetition."""
    return not is_rate_limit(failure) and get_error_code(failure) not in OUTAGES | REFUSED_TOKEN


def pause_after(job: Job, failure: Exception) -> float | None:
    """Return the seconds until a job that has failed is tried again; None to give it up."""
    if is_rate_limit(failure):
        return max(1.0, float(failure.response.headers.get("Retry-After") or 1))
    if job.attempts >= len(ATTEMPT_GAPS):
        return None
    gap = float(ATTEMPT_GAPS[job.attempts])
    if isinstance(failure, SlackApiError):
        return None if is_refusal(failure) and job.attempts >= MAX_REFUSED_RETRIES else gap
    if isinstance(failure, APIStatusError):
        return max(gap, failure.retry_after or 0) if failure.retryable or failure.status == 401 else None
    return gap if isinstance(failure, CONNECTION_FAILURES) or job.attempts < MAX_UNEXPECTED_RETRIES else None


def describe(failure: Exception) -> str:
    """Return a failure for the log, without its text, which may quote a request and with it a token."""
    if isinstance(failure, SlackApiError):
        error = get_error_code(failure)
        return f"Slack: {error or 'no answer'}" + (INSTALLATION_ADVICE if error in REFUSED_TOKEN else "")
    if isinstance(failure, APIStatusError):
        return f"Baton: {failure.code}"
    return type(failure).__name__
