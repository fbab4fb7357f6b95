"""Requests of Slack, signed as Slack signs them."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
import urllib.parse
from typing import Any

from tests.slack_channel.stand_in import SIGNING_SECRET, TEAM

Json = dict[str, Any]


def sign(body: bytes, *, at: float | None = None, secret: str = SIGNING_SECRET) -> dict[str, str]:
    """Return the headers of a request of Slack."""
    moment = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), f"v0:{moment}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": moment, "X-Slack-Signature": f"v0={digest}"}


def event(about: Json, *, event_id: str | None = None, team: str = TEAM) -> bytes:
    """Return the body of an event."""
    identity = event_id or f"Ev{about['ts']}{about['type']}"
    return json.dumps({"type": "event_callback", "team_id": team, "event_id": identity, "event": about}).encode()


def press(message: Json, user: str, action_id: str, note: str | None = None) -> bytes:
    """Return the body of a press of a button of ``message``."""
    buttons = [button for block in message["blocks"] if block["type"] == "actions" for button in block["elements"]]
    button = next(button for button in buttons if button["action_id"] == action_id)
    payload = {
        "type": "block_actions",
        "team": {"id": TEAM},
        "user": {"id": user},
        "channel": {"id": message["channel"]},
        "message": {key: message[key] for key in ("ts", "blocks")} | {"thread_ts": message["thread_ts"]},
        "actions": [{**button, "action_ts": f"{time.time():.6f}"}],
        "state": {"values": {"baton_note": {"baton_note": {"type": "plain_text_input", "value": note}}}},
    }
    return b"payload=" + urllib.parse.quote_plus(json.dumps(payload)).encode()
