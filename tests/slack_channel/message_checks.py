"""Checks of messages: Slack's own limits, and mentions, which no message of the app may have."""

from __future__ import annotations

import re
from typing import Any

Json = dict[str, Any]
MENTION = re.compile(r"<[!@#][^>]*>|(?<!\w)@(?:channel|here|everyone)\b")
ACTIONS = ("button", "plain_text_input")


class Refused(Exception):
    """An error of the Web API."""


def check_message(arguments: Json) -> None:
    """Raise ``Refused`` for blocks that Slack refuses, and for texts that mention a user."""
    blocks, identities = arguments.get("blocks", []), list[str]()
    if not 1 <= len(arguments["text"]) <= 40_000 or len(blocks) > 50:
        raise Refused("invalid_blocks: number")
    texts = [text["text"] for block in blocks for text in [block.get("text"), *block.get("elements", [])] if text]
    if sum(len(text) for text in texts if isinstance(text, str)) > 12_000:
        raise Refused("msg_blocks_too_long")
    metadata = arguments.get("metadata")
    if metadata is not None and set(metadata) != {"event_type", "event_payload"}:
        raise Refused("metadata_invalid")
    if arguments.get("parse") != "none" or MENTION.search(arguments["text"].replace("&lt;", "")):
        raise Refused("mention: text")
    for block in blocks:
        identities += [block["block_id"]] if "block_id" in block else []
        match block["type"]:
            case "section" | "context":
                texts = [block["text"]] if block["type"] == "section" else block["elements"]
                if not 1 <= len(texts) <= 10:
                    raise Refused("invalid_blocks: context")
                for text in texts:
                    _check_text(text, 3_000)
            case "header":
                _check_text(block["text"], 150, kind="plain_text")
            case "actions":
                if not 1 <= len(block["elements"]) <= 25:
                    raise Refused("invalid_blocks: actions")
                for element in block["elements"]:
                    _check_element(element)
            case "input":
                _check_text(block["label"], 2_000, kind="plain_text")
                _check_element(block["element"])
            case kind:
                raise Refused(f"invalid_blocks: {kind}")
    if len(set(identities)) < len(identities) or any(len(identity) > 255 for identity in identities):
        raise Refused("invalid_blocks: block_id")


def _check_text(text: Json, longest: int, *, kind: str = "mrkdwn") -> None:
    if text["type"] != kind or not 1 <= len(text["text"]) <= longest:
        raise Refused(f"invalid_blocks: {kind} of {len(text['text'])}")
    if kind == "mrkdwn" and (text.get("verbatim") is not True or re.search(r"<[!@#]", text["text"])):
        raise Refused("mention: block")


def _check_element(element: Json) -> None:
    if element["type"] not in ACTIONS or not 1 <= len(element["action_id"]) <= 255:
        raise Refused("invalid_blocks: action")
    if element["type"] == "button":
        _check_text(element["text"], 75, kind="plain_text")
        if len(element["value"]) > 2_000 or element.get("style") not in (None, "primary", "danger"):
            raise Refused("invalid_blocks: button")
    elif element.get("max_length", 1) > 3_000:
        raise Refused("invalid_blocks: max_length")
