"""Reduce an AG-UI run input: clients send the whole conversation, of which the end is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton.domain.interrupt import answer_message_id, is_client_call

MAX_ENTRIES = 1_000
"""Entries of ``tools``, of ``context`` and of ``resume``, and of a list in a message. Each is validated."""
MAX_RESULTS = 64
"""Results of the client's tools that are read: more than wait at once."""


def newest_only(body: Any) -> Any:
    """Return the input with its last user message, the client's results next to it, and its last message.

    Validating a thousand messages would take a tenth of a second. Raises ``ValueError`` for lists that are too long.
    """
    if not isinstance(body, dict):
        return body
    for name in ("tools", "context", "resume"):
        if isinstance(body.get(name), list) and len(body[name]) > MAX_ENTRIES:
            raise ValueError(f"{name} must have at most {MAX_ENTRIES} entries")
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    places = [n for n, message in enumerate(messages) if isinstance(message, dict) and message.get("role") == "user"]
    asked = places[-1] if places else -1
    since = asked
    while since > 0 and isinstance(messages[since - 1], dict) and messages[since - 1].get("role") == "tool":
        since -= 1
    before = [n for n in range(since, asked) if _is_client_result(messages[n])]
    results = [n for n in range(asked + 1, len(messages)) if _is_client_result(messages[n])]
    read = sorted({*before[-MAX_RESULTS:], *places[-1:], *results[-MAX_RESULTS:], len(messages) - 1} - {-1})
    for place in read:
        _check_lists(messages[place])
    return {**body, "messages": [messages[place] for place in read]}


def _check_lists(message: object) -> None:
    for name, value in message.items() if isinstance(message, dict) else ():
        if isinstance(value, list) and len(value) > MAX_ENTRIES:
            raise ValueError(f"{str(name)[:80]} of a message must have at most {MAX_ENTRIES} entries")


def _is_client_result(message: object) -> bool:
    if not isinstance(message, Mapping) or message.get("role") != "tool":
        return False
    call_id = message.get("toolCallId")
    return isinstance(call_id, str) and is_client_call(call_id)


def given_results(messages: Sequence[Any]) -> list[Any]:
    """Return the tool messages at the end that bring results of the client's tools, all of one run.

    ``messages`` is what ``newest_only`` has left. Results of Baton's own tools stand there too, as the client has got
    them, and bring nothing. A last message with the result of any other call is one that nothing waits for.
    """
    _, results = _client_results(messages)
    last = messages[-1] if messages else None
    if not results and last is not None and last.role == "tool" and not _is_own_call(last.tool_call_id):
        return [last]
    return _of_one_run(results)


def results_before(messages: Sequence[Any]) -> list[Any]:
    """Return the tool messages right before the last user message that bring results of the client's tools.

    The user has written on while the client had them, and nobody has sent them yet.
    """
    results, _ = _client_results(messages)
    return _of_one_run(results)


def _client_results(messages: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the tool messages with results of the client's tools before, and after, the last user message."""
    before: list[Any] = []
    after: list[Any] = []
    for message in messages:
        if message.role == "user":
            before, after = after, []
        elif message.role == "tool" and is_client_call(message.tool_call_id):
            after.append(message)
    return before, after


def _of_one_run(results: list[Any]) -> list[Any]:
    """Return the last result of each call of the run that the last one belongs to."""
    runs = [answer_message_id(each.tool_call_id) for each in results]
    return list({each.tool_call_id: each for each, run in zip(results, runs, strict=True) if run == runs[-1]}.values())


def _is_own_call(call_id: str) -> bool:
    """Return whether the id is that of a call that Baton has carried out itself."""
    return call_id.startswith("call_")
