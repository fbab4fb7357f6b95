"""Decide what a stand-in's model answers, from the words of the last user message.

| the user says | the model |
| --- | --- |
| `use the tool NAME with {"a": 1}` | calls it; `3 times` at the end: in three rounds |
| `use the tool NAME with malformed arguments` | sends half an object; `no`: empty text; `null`: the word null |
| `use NAME and OTHER in parallel` | makes two calls in one answer |
| `ask NAME about X` | calls `ask_NAME` |
| `hand me over to NAME` | calls `transfer_to_NAME` |
| `hand me back` | calls `return_to_main` |
| `think` (together with the others too) | reasons before it answers |
| `filter this`, `filter this late` | is stopped by the provider's filter, before or in the middle of its answer |
| `refuse this` | declines |
| `say N words` | answers with N words |
| `say nothing` | ends without text or calls |
| `find X` | quotes each line of the prompt that has X |

A message with attachments is answered with their kinds and names. Tool results are quoted. Where the answer has a
schema, it is a value that meets it. Everything else is repeated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tests.models.standins.instances import instance_of
from tests.models.standins.question import Answer, Call, Finish, Message, Question, Role, tokens_of

QUOTED = 400
"""Characters that an answer repeats of each text."""
FILLERS = {"Noted.", "OK."}
"""Assistant messages behind a tool's result that only separate it from the next message."""

_TOOL = re.compile(r"\buse the tool ([\w.:/-]+)", re.IGNORECASE)
_PARALLEL = re.compile(r"\buse ([\w, .:/-]+?) and ([\w.:/-]+) in parallel", re.IGNORECASE)
_ASK = re.compile(r"\bask (\w+) about (.+)", re.IGNORECASE | re.DOTALL)
_OVER = re.compile(r"\bhand me over to ([\w-]+)", re.IGNORECASE)
_BACK = re.compile(r"\bhand me back\b", re.IGNORECASE)
_WORDS = re.compile(r"\bsay (\d+) words\b", re.IGNORECASE)
_FIND = re.compile(r"\bfind (\S+)", re.IGNORECASE)
_WRONG = {"malformed": '{"half": ', "no": "", "null": "null"}


def answer(question: Question) -> Answer:
    """Return the model's answer to ``question``."""
    message, results = _turn(question.messages)
    folded_text = message.text.casefold()
    thinking = f"The user says: {message.text[:80]}" if re.search(r"\bthink\b", folded_text) else ""
    if "filter this" in folded_text:
        late = "filter this late" in folded_text
        return Answer("The beginning of ", thinking, finish=Finish.FILTERED_LATE if late else Finish.FILTERED)
    if "refuse this" in folded_text:
        return Answer("I cannot help with that.", thinking, finish=Finish.REFUSED)
    calls = _calls(question, message.text, len(results))
    if calls:
        return Answer("", thinking, calls, Finish.CALLS)
    text = _text(question, message, results)
    if question.max_tokens is not None and tokens_of(text) > question.max_tokens:
        return Answer(text[: question.max_tokens * 4], thinking, finish=Finish.LENGTH)
    return Answer(text, thinking)


def _turn(messages: Sequence[Message]) -> tuple[Message, list[str]]:
    """Return what the user asked last, and the tool results since. Text behind the results is a note, no question."""
    talk = [message for message in messages if message.role is not Role.SYSTEM]
    start = max((at for at, message in enumerate(talk) if _ends_turn(talk, at)), default=-1) + 1
    results = [message.text for message in talk[start:] if message.role is Role.TOOL]
    messages_of_user = [message for message in talk[start:] if message.role is Role.USER]
    if results:
        first = next(at for at, message in enumerate(talk) if at >= start and message.role is Role.TOOL)
        messages_of_user = [message for message in talk[start:first] if message.role is Role.USER]
    texts = "\n".join(message.text for message in messages_of_user)
    attachments = tuple(attachment for message in messages_of_user for attachment in message.attachments)
    return Message(Role.USER, texts, attachments), results


def _ends_turn(talk: Sequence[Message], at: int) -> bool:
    message = talk[at]
    if message.role is not Role.ASSISTANT or message.calls:
        return False
    return not (at and talk[at - 1].role is Role.TOOL and message.text in FILLERS)


def _calls(question: Question, text: str, answered: int) -> tuple[Call, ...]:
    if not question.tools or question.tool_choice == "none":
        return ()
    forced = question.tool_choice in question.tools or question.tool_choice == "required"
    calls, times = _parse_calls(text)
    if forced and not calls:
        name = next(iter(question.tools)) if question.tool_choice == "required" else question.tool_choice
        calls = [(name, None)]
    if answered >= times * max(len(calls), 1):
        return ()
    return tuple(
        Call(name, json.dumps(instance_of(question.tools[name], text)) if arguments is None else arguments)
        for name, arguments in calls
        if name in question.tools
    )


def _parse_calls(text: str) -> tuple[list[tuple[str, str | None]], int]:
    """Return the tools that ``text`` names with their arguments, and the number of rounds."""
    if parallel := _PARALLEL.search(text):
        names = [*re.split(r",\s*", parallel[1]), parallel[2]]
        return [(name, _arguments(text[parallel.end() :])) for name in names], 1
    if single := _TOOL.search(text):
        rest = text[single.end() :]
        times = re.search(r"(\d+) times", rest)
        return [(single[1], _arguments(rest))], int(times[1]) if times else 1
    if asking := _ASK.search(text):
        return [(f"ask_{asking[1]}", json.dumps({"message": asking[2]}))], 1
    if over := _OVER.search(text):
        return [(f"transfer_to_{over[1]}", None)], 1
    return ([("return_to_main", None)] if _BACK.search(text) else []), 1


def _arguments(rest: str) -> str | None:
    """Return the arguments at the beginning of ``rest``; None if the schema is to decide."""
    if wrong := re.match(r" with (malformed|no|null) arguments", rest):
        return _WRONG[wrong[1]]
    if not (start := re.match(r" with (?=\{)", rest)):
        return None
    _, end = json.JSONDecoder().raw_decode(rest[start.end() :])
    return rest[start.end() : start.end() + end]


def _text(question: Question, user_message: Message, results: Sequence[str]) -> str:
    text = user_message.text[:QUOTED]
    if question.schema is not None:
        return json.dumps(instance_of(question.schema, text or "nothing"), ensure_ascii=False)
    if results:
        return "The tools say: " + " | ".join(result[:QUOTED] for result in results)
    if words := _WORDS.search(text):
        return " ".join(f"w{number}" for number in range(int(words[1])))
    if "say nothing" in text.casefold():
        return ""
    if match := _FIND.search(text):
        lines = [line for message in question.messages for line in message.text.splitlines()]
        return f"Found: {[line[:QUOTED] for line in lines if match[1].casefold() in line.casefold()]}"
    if user_message.attachments:
        return _describe_message(user_message)
    if missing := [name for name, _ in _parse_calls(text)[0]]:
        return f"I have no tool {' and '.join(missing)}."
    return f"You said: {text}"


def _describe_message(message: Message) -> str:
    attachments = [
        f"{file.kind} {file.name} ({file.media_type}, {file.size} bytes) {file.text[:QUOTED]}"
        for file in message.attachments
    ]
    return f"I received: {'; '.join(line.strip() for line in attachments)}. You said: {message.text[:QUOTED]}"
