"""The doors: requests of Slack and of Baton are verified, kept as jobs and acknowledged. Nothing else happens here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from slack_sdk.signature import SignatureVerifier
from standardwebhooks import Webhook, WebhookVerificationError
from standardwebhooks.webhooks import EmptyWebhookSecretError

from baton_slack.blocks import NOTE
from baton_slack.configuration import Configuration, ConfigurationError
from baton_slack.storage import OF_USERS, Job, Jobs

MAX_BODY = 2 * 2**20
"""The most bytes of a request. Events of Baton and of Slack are smaller."""
PERSON_SUBTYPES = frozenset({None, "file_share", "thread_broadcast"})
"""Subtypes of messages that people have written. Edits, deletions, joins and bots' messages have other subtypes."""
BATON_EVENTS = frozenset(
    {"desk.waiting", "desk.taken", "desk.returned", "message.created", "approval.requested", "run.failed"}
)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request."""

    status: int
    body: str = ""
    media_type: str = "text/plain"


class Doors:
    """The doors for requests. An answer of 200 or 204 means that the job is stored."""

    def __init__(self, configuration: Configuration, jobs: Jobs) -> None:
        """Raise ``ConfigurationError`` if the secret of Baton's webhook is not one of Standard Webhooks."""
        self._configuration = configuration
        self._jobs = jobs
        self._slack = SignatureVerifier(configuration.signing_secret.get_secret_value())
        self._webhooks = _make_verifiers(configuration.webhook_secret.get_secret_value())

    def take_slack(self, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Take an event or an action of Slack. Slack waits for the answer for three seconds, and repeats events."""
        if not self._is_signed_by_slack(body, headers):
            return Reply(401, "The signature is missing, wrong or older than five minutes.")
        request = _read_slack(body)
        if request is None:
            return Reply(400, "This is neither an event nor an action.")
        if request.get("type") == "url_verification":
            return Reply(200, str(request.get("challenge") or ""))
        team = request.get("team_id") or (request.get("team") or {}).get("id")
        if team != self._configuration.team:
            return Reply(403, "This app answers in another workspace.")
        job = _make_event_job(request) if request.get("type") == "event_callback" else _make_action_job(request)
        if job is not None:
            self._jobs.add_job(job)
        return Reply(200)

    def take_baton(self, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Take an event of Baton. Baton waits for the answer for ten seconds, and repeats the event for a day."""
        event = self._verify(body, headers)
        if event is None:
            return Reply(401, "The signature is missing, wrong or older than five minutes.")
        is_ours = event.get("tenantId") == self._configuration.tenant and event.get("type") in BATON_EVENTS
        data = event.get("data")
        if is_ours and isinstance(data, dict) and isinstance(data.get("threadId"), str):
            job = Job(str(event["id"]), f"baton:{data['threadId']}", str(event["type"]), {"data": data})
            self._jobs.add_job(job)
        return Reply(204)

    def _is_signed_by_slack(self, body: bytes, headers: Mapping[str, str]) -> bool:
        try:
            return self._slack.is_valid_request(body, dict(headers))
        except ValueError:  # the time is not a number, or the body is not UTF-8
            return False

    def _verify(self, body: bytes, headers: Mapping[str, str]) -> Json | None:
        lowered = {name.lower(): value for name, value in headers.items()}
        for webhook in self._webhooks:
            try:
                event = webhook.verify(body, lowered)
            except (WebhookVerificationError, ValueError):
                continue
            return event if isinstance(event, dict) else None
        return None


def _make_verifiers(secrets: str) -> list[Webhook]:
    """Return a verifier for each of the secrets, which white space separates. Raises ``ConfigurationError``."""
    try:
        webhooks = [Webhook(secret) for secret in secrets.split()]
    except (ValueError, EmptyWebhookSecretError):
        webhooks = []
    if not webhooks:
        raise ConfigurationError("BATON_WEBHOOK_SECRET must be whsec_ and bytes in Base64, as the webhook has it.")
    return webhooks


def _read_slack(body: bytes) -> Json | None:
    """Return an event, sent as JSON, or an action, sent as a form with a field of JSON; None for anything else."""
    text = body.decode()
    try:
        if text.startswith("payload="):
            text = parse_qs(text, max_num_fields=10).get("payload", [""])[0]
        request = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return request if isinstance(request, dict) else None


def _make_event_job(request: Json) -> Job | None:
    """Return the job of an event; None for an event that the channel ignores, such as all messages of bots."""
    event = request.get("event") or {}
    is_message = event.get("type") in ("message", "app_mention") and event.get("subtype") in PERSON_SUBTYPES
    if not is_message or event.get("bot_id") or not event.get("user") or not event.get("ts"):
        return None
    payload = {name: event.get(name) for name in ("type", "channel", "channel_type", "user", "text", "ts", "thread_ts")}
    payload["written"] = event["ts"]
    payload["files"] = [
        {name: file.get(name) for name in ("id", "name", "mimetype", "size", "url_private_download")}
        for file in event.get("files") or []
    ]
    is_of_user = event["type"] == "app_mention" or event.get("channel_type") == "im"
    group = f"{OF_USERS if is_of_user else 'slack:'}{event['channel']}:{event.get('thread_ts') or event['ts']}"
    return Job(str(request["event_id"]), group, f"slack.{event['type']}", payload)


def _make_action_job(request: Json) -> Job | None:
    """Return the job of a pressed button; None for any other interaction."""
    actions = request.get("actions") or []
    if request.get("type") != "block_actions" or len(actions) != 1 or actions[0].get("type") != "button":
        return None
    message, action = request.get("message") or {}, actions[0]
    try:
        value = json.loads(action.get("value") or "")
    except ValueError:
        return None
    note = (((request.get("state") or {}).get("values") or {}).get(NOTE) or {}).get(NOTE) or {}
    channel, user = (request.get("channel") or {}).get("id"), (request.get("user") or {}).get("id")
    press = {
        "action": action["action_id"],
        "value": value,
        "note": (note.get("value") or "").strip(),
        "channel": channel,
        "user": user,
        "ts": message.get("ts"),
        "written": action.get("action_ts"),
        "thread_ts": message.get("thread_ts"),
        "blocks": message.get("blocks") or [],
    }
    key = f"{channel} {message.get('ts')} {user} {action.get('action_ts')} {action['action_id']}"
    job_id = f"action_{hashlib.sha256(key.encode()).hexdigest()}"
    return Job(job_id, f"slack:{channel}:{message.get('ts')}", "slack.action", press)
