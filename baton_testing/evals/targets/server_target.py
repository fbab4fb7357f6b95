"""The agents of a running server, over its HTTP API. Each run is a stored conversation of the token's user."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from baton_client import AsyncBaton, AuthenticationError, BatonError, NotFoundError, PermissionDeniedError
from baton_client.models import Message, MessageAnswer, Task, ToolCallRecord
from baton_testing.errors import CannotRun
from baton_testing.evals.answer import Answer, Source, read_retrieved, read_source, read_text
from baton_testing.evals.reading import MAX_PROBLEMS, Check, Problem, ReadCase
from baton_testing.observation import Called, Observation, Said

_T = TypeVar("_T")
ANSWER_SECONDS = 870.0
"""The time limit of an answer of the server."""
MAX_RECORDS = 500
"""The most tool calls, sub-tasks, handoffs and turns of a conversation that are read."""


@dataclass(frozen=True)
class ServerTarget:
    """The agents of a server as a target."""

    client: AsyncBaton
    evaluation_id: str = field(default_factory=lambda: secrets.token_hex(6))
    """A part of the ids of its conversations, which makes them unique."""

    async def hold(self, case: ReadCase, attempt: int) -> Answer:
        """See ``Target``."""
        name = hashlib.sha256(case.case.name.encode("utf-8", "replace")).hexdigest()[:12]
        thread_id = f"eval-{self.evaluation_id}-{name}-{attempt + 1}"
        began, answers = time.monotonic(), list[MessageAnswer]()
        try:
            for number, turn in enumerate(case.case.input, start=1):
                answers.append(
                    await self.client.messages.create(
                        turn.say,
                        thread_id=thread_id,
                        message_id=f"m{number}",
                        agent_id=case.case.agent,
                        timeout=ANSWER_SECONDS,
                    )
                )
            seconds = time.monotonic() - began
            return await self._read(thread_id, case, answers, seconds)
        except (AuthenticationError, PermissionDeniedError) as refusal:
            raise CannotRun(f"{self.client.base_url}: {refusal} Sign in again, or set BATON_TOKEN.") from None
        except BatonError as failure:
            # One lost connection, after its retries, must not lose the results of other runs.
            return Answer(error=f"the server: {failure}", thread_id=thread_id, seconds=time.monotonic() - began)

    async def _read(self, thread_id: str, case: ReadCase, answers: Sequence[MessageAnswer], seconds: float) -> Answer:
        stored = answers[-1].session_id
        threads = self.client.threads
        calls = [
            _to_called(call_record) for call_record in await _read_first(aiter(threads.tool_calls(stored, limit=100)))
        ][::-1]
        tasks: list[Task] = await _read_first(aiter(threads.tasks.list(stored, limit=100)))
        handoffs = await _read_first(aiter(threads.handoffs(stored, limit=100)))
        turns = await _read_first(aiter(threads.turns(stored, limit=100)))
        costs = [turn.cost for turn in turns]
        failed = next((turn.error_code for turn in turns if turn.error_code is not None), None)
        seen = [
            _to_observation(str(turn.say), answer.messages, delivered=answer.outcome.type == "delivered")
            for turn, answer in zip(case.case.input, answers, strict=True)
        ]
        last = [message for message in answers[-1].messages if message.role == "assistant"]
        sources = [source for message in last for source in message.metadata.sources]
        return Answer(
            text=seen[-1].text_of_agents,
            result=answers[-1].result,
            answered_by=seen[-1].answered_by,
            delivered=seen[-1].delivered,
            calls=tuple(calls),
            consulted=tuple(dict.fromkeys(task.agent_id for task in tasks)),
            handoffs=tuple(handoff.target_agent_id for handoff in handoffs if handoff.outcome != "refused"),
            sources=tuple(read_source(source) for source in sources if source.get("kind") == "document"),
            retrieved=await self._read_retrieved(stored, answers[-1].run_id),
            tokens=sum(turn.usage.total_tokens for turn in turns),
            usd=None if None in costs else sum(cost for cost in costs if cost is not None),
            seconds=seconds,
            error=f"the run ended with {failed}" if failed is not None else None,
            transcript=tuple(line for observation in seen for line in observation.transcript())
            + tuple(f"  [{call}]" for call in calls),
            thread_id=stored,
        )

    async def _read_retrieved(self, thread_id: str, run_id: str) -> tuple[Source, ...] | None:
        try:
            context = await self.client.threads.context(thread_id, run_id)
        except (NotFoundError, PermissionDeniedError):
            return None
        response = context.http_response
        return read_retrieved(response.json) if response is not None else None


def find_server_problems(cases: Sequence[ReadCase]) -> Iterator[Problem]:
    """Yield a problem for each case that can run only with a project's agents in this process."""
    for case in cases:
        if any(turn.say is None or turn.files for turn in case.case.input):
            yield Problem(case.path, case.line, "input: with --url, turns are messages without files")
        if case.case.begins_at is not None:
            yield Problem(case.path, case.line, "begins_at: with --url, conversations begin now")
        if case.case.tools or case.case.reach:
            yield Problem(case.path, case.line, "tools, reach: with --url, the server calls its own tools")


def check_for_server(cases: Sequence[ReadCase], find_problems: Check = find_server_problems) -> None:
    """Raise ``CannotRun`` for cases that can run only with a project's agents in this process.

    ``find_problems`` yields the problems of the cases.
    """
    problems = list(map(str, find_problems(cases)))
    if problems:
        raise CannotRun("\n".join(problems[:MAX_PROBLEMS]))


async def _read_first(items: AsyncIterator[_T]) -> list[_T]:
    records: list[_T] = []
    async for item in items:
        records.append(item)
        if len(records) >= MAX_RECORDS:
            break
    return records


def _to_called(call: ToolCallRecord) -> Called:
    return Called(call.agent_id, call.tool_name, call.input, call.output, call.succeeded)


def _to_observation(title: str, messages: Sequence[Message], *, delivered: bool) -> Observation:
    utterances = tuple(
        Said(
            message.metadata.agent_id or "",
            message.metadata.author.name if message.metadata.author else message.metadata.agent_name or "",
            read_text(message),
            is_person=message.metadata.author is not None,
        )
        for message in messages
        if message.role == "assistant" and read_text(message)
    )
    return Observation(f"say: {title}", said=utterances, delivered=delivered)
