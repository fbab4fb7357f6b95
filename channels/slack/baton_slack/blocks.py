"""Messages as blocks of Slack. Texts of users and agents are escaped, and nothing in them is parsed for mentions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from baton_slack.mrkdwn import escape, from_markdown, shorten, split

Block = dict[str, Any]

MAX_BLOCKS = 50
"""Blocks of a message (https://docs.slack.dev/reference/block-kit/blocks)."""
SECTIONS_A_MESSAGE = 3
"""Sections of a long text in one message. The other sections follow in further messages."""
MAX_TEXT = 10_000
"""The most characters of all blocks of a message. Slack refuses more than about 12,000 (``msg_blocks_too_long``)."""
MAX_LAST_MESSAGE = MAX_TEXT // 10
"""The most characters of each of the last messages that a conversation at a desk shows."""

TAKE, RETURN, APPROVE, DECLINE, NOTE = (f"baton_{name}" for name in ("take", "return", "approve", "decline", "note"))
"""Ids of actions."""


def make_section(text: str) -> Block:
    """Return a section. ``text`` is Slack's markup, at most 3,000 characters."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def make_context_line(text: str) -> Block:
    """Return a small grey line. ``text`` is Slack's markup."""
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text, "verbatim": True}]}


def make_button(action_id: str, text: str, value: dict[str, Any], style: str | None = None) -> Block:
    """Return a button. A press sends its ``value`` back: at most 2,000 characters of JSON."""
    element: Block = {
        "type": "button",
        "action_id": action_id,
        "text": {"type": "plain_text", "text": text},
        "value": json.dumps(value, separators=(",", ":")),
    }
    return element | ({"style": style} if style else {})


def make_message_pages(author: str | None, text: str, *, is_markdown: bool) -> Iterator[list[Block]]:
    """Yield the blocks of each message in turn. Together they show ``text``, below the name of its author."""
    pieces = list(split(text, from_markdown if is_markdown else escape))
    for first in range(0, len(pieces), SECTIONS_A_MESSAGE):
        named = [make_context_line(f"*{escape(author)}*")] if author else []
        yield [*named, *(make_section(piece) for piece in pieces[first : first + SECTIONS_A_MESSAGE])]


def make_desk_blocks(
    heading: str, status: str, messages: Sequence[tuple[str, str]], actions: Sequence[Block]
) -> list[Block]:
    """Return the first message of a conversation at a desk: the heading, its state, the last messages and buttons."""
    lines = [
        make_section(f"*{escape(shorten(author, 80))}*\n{next(split(text, limit=MAX_LAST_MESSAGE), '')}")
        for author, text in messages
    ]
    header = {"type": "header", "text": {"type": "plain_text", "text": shorten(heading, 150)}}
    return [header, make_context_line(status), *lines, *actions]


def make_take_actions(thread_id: str) -> list[Block]:
    """Return the buttons of a conversation that waits."""
    return [{"type": "actions", "elements": [make_button(TAKE, "Take", {"threadId": thread_id}, "primary")]}]


def make_return_actions(thread_id: str) -> list[Block]:
    """Return the field for a note and the button of a conversation that somebody has taken."""
    note = {
        "type": "input",
        "block_id": NOTE,
        "optional": True,
        "label": {"type": "plain_text", "text": "Note for the agent"},
        "element": {"type": "plain_text_input", "action_id": NOTE, "multiline": True, "max_length": 3_000},
    }
    return [note, {"type": "actions", "elements": [make_button(RETURN, "Hand back", {"threadId": thread_id})]}]


def make_approval_blocks(
    questions: Sequence[tuple[str, Sequence[str]]], thread_id: str, run_id: str
) -> tuple[list[Block], bool]:
    """Return the message that asks for approval, and whether it has buttons for the decision.

    ``questions`` has the question of each call, with the lines of its arguments. If they do not fit into one message,
    there are no buttons: nobody should permit what they have not read.
    """
    texts = ["\n".join([question, *lines]) for question, lines in questions]
    blocks = [make_section(piece) for text in texts for piece in split(text)]
    if len(blocks) >= MAX_BLOCKS or sum(len(block["text"]["text"]) for block in blocks) > MAX_TEXT:
        shortened = make_section("Calls wait for approval. They are too long for Slack: decide in the console.")
        return [shortened], False
    value = {"threadId": thread_id, "runId": run_id}
    suffix = " all" if len(questions) > 1 else ""
    approve = make_button(APPROVE, f"Approve{suffix}", value, "primary")
    decline = make_button(DECLINE, f"Decline{suffix}", value, "danger")
    return [*blocks, {"type": "actions", "elements": [approve, decline]}], True


def remove_actions(blocks: Sequence[Block], status: str) -> list[Block]:
    """Return the blocks of a sent message with a line in place of its buttons and fields."""
    return [block for block in blocks if block.get("type") not in ("actions", "input")] + [make_context_line(status)]
