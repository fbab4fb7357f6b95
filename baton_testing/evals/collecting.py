"""Make a data set from stored conversations, by the administration API and without personal data."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TextIO

from baton.adapters.pii import InProcessPiiDetector
from baton.tenants.privacy.readers import may_hold_text, replace_texts
from baton.tenants.privacy.redaction import Redactor
from baton_client import AsyncBaton
from baton_client.models import Message, Thread, Turn
from baton_testing.evals.answer import read_text
from baton_testing.evals.dataset import MAX_TURNS
from baton_testing.evals.reading import MAX_LINE

MAX_THREADS = 5_000
"""The most conversations that are read."""
MAX_MESSAGES = 2_000
"""The number of newest messages of a conversation that are read."""
MAX_TEXT = 100_000
"""The most characters of one text of a case."""
MAX_COMMENT = 10_000
"""The most characters of a user's comment."""
DELIVERED = "delivered"
"""The status of a turn that people answer, so that it is no case for agents."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The turns to collect. Without a condition, all turns that agents have ended are collected."""

    rating: str | None = None
    """``up`` or ``down``, for turns with such a rating."""
    errors: bool = False
    """Whether to collect turns that ended with an error. With a rating, turns must meet one of the two conditions."""
    agent: str | None = None
    """The main agent of the conversations; None for all agents."""
    since: datetime | None = None
    """The earliest beginning of a turn; None for no limit."""
    limit: int = 100
    """The most turns."""

    def takes(self, turn: Turn) -> bool:
        """Return whether a turn meets the conditions."""
        if turn.status in {"running", "interrupted", DELIVERED} or turn.started_at is None:
            return False
        if self.since is not None and turn.started_at < self.since:
            return False
        if self.rating is None and not self.errors:
            return True
        is_rated = any(feedback.rating == self.rating for feedback in turn.feedback or ())
        return (self.rating is not None and is_rated) or (self.errors and turn.error_code is not None)


async def collect(client: AsyncBaton, criteria: Wanted) -> AsyncIterator[dict[str, Any]]:
    """Yield a case for each turn of the tenant that meets ``criteria``, without personal data, newest first.

    At most ``MAX_THREADS`` conversations are read. Turns without text are left out. Raises the client's errors.
    """
    count = 0
    looked_at = 0
    async for thread in _list_threads(client, criteria):
        looked_at += 1
        if looked_at > MAX_THREADS:
            return
        all_turns = [turn async for turn in client.threads.turns(thread.id, limit=100)]
        turns = [turn for turn in all_turns if criteria.takes(turn)]
        if not turns:
            continue
        delivered = {turn.run_id for turn in all_turns if turn.status == DELIVERED}
        messages = await _read_messages(client, thread.id)
        for turn in turns:
            case = _make_case(thread, turn, messages, delivered)
            if case is None:
                continue
            yield await _redact(case)
            count += 1
            if count >= criteria.limit:
                return


async def _list_threads(client: AsyncBaton, criteria: Wanted) -> AsyncIterator[Thread]:
    has_error = True if criteria.errors and criteria.rating is None else None
    has_feedback = True if criteria.rating is not None and not criteria.errors else None
    listed = client.threads.list(
        scope="tenant",
        agent_id=criteria.agent,
        has_error=has_error,
        has_feedback=has_feedback,
        since=criteria.since,
        limit=100,
    )
    async for thread in listed:
        yield thread


async def _read_messages(client: AsyncBaton, thread_id: str) -> list[Message]:
    messages: list[Message] = []
    async for page in client.threads.messages(thread_id, roles=["user", "assistant"], limit=100).pages():
        messages = [*page.items, *messages]  # pages go back in time
        if len(messages) >= MAX_MESSAGES:
            break
    return messages


def _make_case(
    thread: Thread, turn: Turn, messages: Sequence[Message], delivered: Collection[str]
) -> dict[str, Any] | None:
    """Return the case of a turn; None if its messages were not read, no user began it, or a question has no text.

    ``delivered`` are the runs whose messages people answered. They are left out, because agents never got them.
    """
    run = [message for message in messages if message.metadata.run_id == turn.run_id]
    if not run or run[0].role != "user":
        return None
    user_messages = [message for message in messages if message.role == "user"]
    earlier = [message for message in user_messages if message.metadata.ordinal < run[0].metadata.ordinal]
    before = [message for message in earlier if message.metadata.run_id not in delivered]
    questions = [read_text(message) for message in (*before, run[0])][-MAX_TURNS:]
    if not all(questions):
        return None  # a turn with files only cannot be asked again
    reference = "\n".join(read_text(message) for message in run if message.role == "assistant" and read_text(message))
    feedback = list(turn.feedback or ())
    metadata: dict[str, Any] = {"threadId": thread.id, "runId": turn.run_id, "agentId": turn.agent_id}
    if turn.error_code is not None:
        metadata["errorCode"] = turn.error_code
    if feedback:
        metadata["rating"] = feedback[-1].rating
        if feedback[-1].comment:
            metadata["comment"] = feedback[-1].comment[:MAX_COMMENT]
    left_out = [name for message in (*before, run[0]) for name in _list_file_types(message)]
    if left_out:
        metadata["filesLeftOut"] = len(left_out)
    if len(before) < len(earlier):
        metadata["deskMessagesLeftOut"] = len(earlier) - len(before)
    tags = ["collected", *([f"feedback-{feedback[-1].rating}"] if feedback else [])]
    tags += ["error"] if turn.error_code is not None else []
    return {
        "name": f"{thread.id[:8]} {turn.run_id}"[:200],
        "input": [text[:MAX_TEXT] for text in questions] if len(questions) > 1 else questions[0][:MAX_TEXT],
        "agent": thread.agent_id,
        "expected": None,
        "reference": reference[:MAX_TEXT] or None,
        "checks": [],
        "tags": tags,
        "metadata": metadata,
    }


async def _redact(case: dict[str, Any]) -> dict[str, Any]:
    """Return the case with placeholders for personal data. Equal values get the same placeholder."""
    texts = {"input": case["input"], "reference": case["reference"], "comment": case["metadata"].get("comment")}
    clean = await replace_texts(texts, Redactor(InProcessPiiDetector()), may_hold_text)
    metadata = case["metadata"] | ({"comment": clean["comment"]} if clean["comment"] else {})
    return case | {"input": clean["input"], "reference": clean["reference"], "metadata": metadata}


async def write_cases(cases: AsyncIterator[dict[str, Any]], file: TextIO) -> int:
    """Write cases, one a line, and return their number. Conversations that are too long for a line are cut."""
    count = 0
    async for case in cases:
        file.write(_write_line(case) + "\n")
        count += 1
    return count


def _write_line(case: dict[str, Any]) -> str:
    """Return the case as a line short enough to be read. The oldest turns are left out first, then texts are cut."""
    left_out = 0
    while len(line := json.dumps(case, ensure_ascii=True)) >= MAX_LINE:
        turns, reference = case["input"], case["reference"] or ""
        if isinstance(turns, list):
            left_out += 1
            metadata = case["metadata"] | {"turnsLeftOut": left_out}
            case = case | {"input": turns[1:] if len(turns) > 2 else turns[1], "metadata": metadata}
        else:
            case = case | {"input": turns[: MAX_TEXT // 2], "reference": reference[: len(reference) // 2] or None}
    return line


def _list_file_types(message: Message) -> list[str]:
    content = message.content if isinstance(message.content, list) else []
    return [str(part.get("type")) for part in content if part.get("type") != "text"]
