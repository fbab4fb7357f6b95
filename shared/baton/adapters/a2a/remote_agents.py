"""Remote agents over A2A, by the official SDK's client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
from a2a.types import AgentCard
from aws_lambda_powertools import Logger

from baton.adapters.a2a.answer import Answer, AnswerChunk
from baton.adapters.a2a.cards import AgentCards
from baton.adapters.a2a.connection import MAX_FETCHED, fetch_files, prepare
from baton.adapters.a2a.failures import AgentRefused, CardRefused, to_agent_failed
from baton.adapters.a2a.peer import Peer
from baton.adapters.a2a.signatures import UntrustedCard
from baton.adapters.egress.circuit_breaker import CircuitBreakers, CircuitOpen
from baton.adapters.models.answers.thinking_tags import SeparatedText, ThinkingTags
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import RemoteAgent
from baton.domain.errors import BatonError, Unauthorized
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.secret import HeaderValue, TokenExchange
from baton.domain.tracing import get_current_traceparent
from baton.ports.agents.agent_client import (
    AgentChunk,
    AgentData,
    AgentFailed,
    AgentFile,
    AgentProgress,
    AgentReport,
    AgentStarted,
    AgentTask,
    Attachment,
    NotSent,
    TaskLost,
)
from baton.ports.agents.chat_model import TextDelta, TextTakenBack

FAILURES_BEFORE_OPEN = 3
"""Consecutive failures after which the circuit of a remote agent opens."""
CHECK_SECONDS = 5.0
"""Seconds for which the check at the start waits for an agent's card."""
SHARE_OF_SILENCE = 0.9
"""The read timeout as a share of ``consult_seconds``. It ends first, so that the circuit breaker counts the failure."""

logger = Logger(child=True)


@dataclass(frozen=True, slots=True)
class RemoteAgents:
    """``AgentClient`` over A2A with JSON-RPC, in version 1.0 if the agent's card offers it, else in 0.3."""

    http: Callable[[], httpx.AsyncClient]
    """Makes a guarded client, which is used for one task and closed."""
    resolve: Callable[[Mapping[str, HeaderValue], Scope | None], Awaitable[dict[str, str]]]
    """Returns headers with their secrets. May raise ``BatonError``."""
    redact: Callable[[str], str] = str
    """Removes secrets from texts for models and logs."""
    breakers: CircuitBreakers = field(default_factory=lambda: CircuitBreakers(failures=FAILURES_BEFORE_OPEN))
    cards: AgentCards = field(default_factory=AgentCards)
    poll_seconds: float = 0.5
    """The first pause between two requests for a task of an agent that does not stream."""

    async def stream(
        self, agent: AgentDefinition, task: AgentTask, *, is_passed_on: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[AgentChunk, None]:
        """Yield the answer's text as it arrives, then one ``AgentDone``; see the port."""
        remote = agent.remote
        if remote is None:
            raise AgentFailed(f"The agent {agent.id} does not run elsewhere.")
        credentials = await self._resolve_headers(agent.id, remote.headers, task.scope)
        traceparent = get_current_traceparent() if remote.sends_trace else None
        if traceparent is not None:
            credentials = {**credentials, "traceparent": traceparent}
        answer = Answer(task.follows.remote_task_id if task.follows is not None else task.remote_task_id)
        try:
            async with (
                self.breakers.guard(
                    # Agents share no circuit, because their authors choose their time limits.
                    f"a2a {agent.tenant_id or ''} {agent.id} {remote.card_url}",
                    tenant_id=task.scope.tenant_id,
                    conversation=task.thread_id,
                    is_failure=lambda error: not isinstance(error, AgentRefused | TaskLost),
                ),
                aclosing(self._ask(agent, remote, credentials, task, answer, is_passed_on)) as chunks,
            ):
                async for chunk in remove_thinking(chunks):
                    yield self._redact_chunk(chunk)
        except CircuitOpen as error:
            logger.warning("A remote agent is not called", extra={"agent": agent.id, "text": str(error)})
            count(Metric.AGENT_FAILURES)
            raise AgentFailed("The agent failed repeatedly and is not called for a moment.") from None
        except TaskLost:
            raise
        except AgentFailed as failure:
            raise AgentFailed(self.redact(failure.reason), is_final=failure.is_final) from None
        if task.is_background and not answer.is_over:
            return
        done = answer.make_done()
        yield replace(
            done,
            documents=tuple(map(self._redact_values, done.documents)),
            report=AgentReport(self.redact(done.report.summary), self.redact(done.report.outcome))
            if done.report is not None
            else None,
        )

    async def check(self, agent: AgentDefinition) -> str | None:
        """Read the card of ``agent``. Return the reason why the agent cannot be reached; None if it can be."""
        remote = agent.remote
        if remote is None:
            return None
        try:
            # Headers with a user's token are left out, because there is no user.
            headers = {name: value for name, value in remote.headers.items() if not isinstance(value, TokenExchange)}
            credentials = await self._resolve_headers(agent.id, headers, None)
            async with asyncio.timeout(CHECK_SECONDS), self.http() as http:
                prepare(http, remote.card_url, credentials, CHECK_SECONDS)
                Peer.connect(await self._get_card(agent, remote, http), http)
        except Exception as error:  # noqa: BLE001 - untrusted bytes may raise anything
            return self.redact(to_agent_failed(error).reason)
        return None

    async def _get_card(self, agent: AgentDefinition, remote: RemoteAgent, http: httpx.AsyncClient) -> AgentCard:
        """Return the agent's card. Raises ``CardRefused`` if it is not signed as the agent's definition requires."""
        try:
            return await self.cards.get(
                remote.card_url, http, tenant_id=agent.tenant_id, signature=remote.card_signature
            )
        except UntrustedCard as error:
            raise CardRefused(f"The card of the agent {agent.id} cannot be trusted: {error}.") from None

    async def _resolve_headers(
        self, agent_id: str, headers: Mapping[str, HeaderValue], scope: Scope | None
    ) -> dict[str, str]:
        """Return the headers with their secrets. Raises ``Unauthorized``, and ``AgentFailed`` for other errors."""
        try:
            return await self.resolve(headers, scope)
        except Unauthorized:
            raise
        except BatonError as error:
            logger.warning("A remote agent's headers cannot be read", extra={"agent": agent_id, "text": str(error)})
            count(Metric.AGENT_FAILURES)
            raise AgentFailed("The credentials for the agent cannot be read.") from None

    async def cancel(self, agent: AgentDefinition, scope: Scope, remote_task_id: str) -> None:
        """Ask the agent to stop a task that nobody follows any more; see the port."""
        remote = agent.remote
        if remote is None:
            return
        try:
            credentials = await self._resolve_headers(agent.id, remote.headers, scope)
            async with asyncio.timeout(CHECK_SECONDS), self.http() as http:
                prepare(http, remote.card_url, credentials, CHECK_SECONDS)
                await Peer.connect(await self._get_card(agent, remote, http), http).cancel(remote_task_id)
        except Exception as error:  # noqa: BLE001 - untrusted bytes may raise anything, and the run goes on anyway
            self._log_failure(agent.id, error, to_agent_failed(error))

    async def _ask(
        self,
        agent: AgentDefinition,
        remote: RemoteAgent,
        credentials: dict[str, str],
        task: AgentTask,
        answer: Answer,
        is_passed_on: Callable[[], bool],
    ) -> AsyncGenerator[AnswerChunk | AgentStarted | NotSent, None]:
        """Send the task and yield its answer, the files last. The task is stopped if the caller leaves early."""
        silence = agent.timeouts.consult_seconds * SHARE_OF_SILENCE
        async with self.http() as http:
            prepare(http, remote.card_url, credentials, silence)
            peer: Peer | None = None
            must_stop_task = not task.is_background  # if the caller leaves early
            try:
                card = await self._get_card(agent, remote, http)
                peer = Peer.connect(card, http, waits=not task.is_background)
                files: list[Attachment] = []
                async with aclosing(peer.stream_answer(task, answer, self.poll_seconds)) as chunks:
                    async for chunk in chunks:
                        if isinstance(chunk, AgentFile) and len(files) < MAX_FETCHED:
                            files.append(chunk.attachment)
                        else:
                            yield chunk
                # Files are fetched after the text, which need not wait for them.
                for file in await fetch_files(files, self.http, remote.card_url, credentials) if files else ():
                    yield AgentFile(file)
            except Exception as error:  # noqa: BLE001 - untrusted bytes may raise anything
                # A task that waits for input keeps waiting if the message did not reach it.
                must_stop_task = must_stop_task and answer.has_begun
                self.cards.forget(remote.card_url, tenant_id=agent.tenant_id, signature=remote.card_signature)
                failure = to_agent_failed(error)
                self._log_failure(agent.id, error, failure)
                raise failure from None
            finally:
                must_stop_task = must_stop_task and not answer.is_over and not is_passed_on()
                if must_stop_task and peer is not None and answer.task_id:
                    await peer.cancel(answer.task_id)

    def _redact_chunk(self, chunk: AnswerChunk | TextTakenBack | AgentStarted | NotSent) -> AgentChunk:
        """Return a chunk of the answer without secrets."""
        match chunk:
            case AgentProgress():
                return AgentProgress(self.redact(chunk.label))
            case TextDelta():
                return TextDelta(self.redact(chunk.text))
            case AgentData():
                return AgentData(self._redact_values(chunk.value))
            case AgentFile(file):
                name, url = (self.redact(text) if text is not None else None for text in (file.name, file.url))
                return AgentFile(replace(file, name=name, url=url))
        return chunk

    def _redact_values(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, list):
            return [self._redact_values(member) for member in value]
        if isinstance(value, dict):
            return {self.redact(key): self._redact_values(member) for key, member in value.items()}
        return value

    def _log_failure(self, agent_id: str, error: Exception, failure: AgentFailed) -> None:
        """Log and count a failure. Texts are logged without secrets."""
        details = {"agent": agent_id, "reason": self.redact(failure.reason), "failure": type(error).__name__}
        if error is not failure:
            details["text"] = self.redact(str(error)[:500])
        logger.warning("A remote agent failed", extra=details)
        count(Metric.AGENT_FAILURES)


async def remove_thinking(
    chunks: AsyncGenerator[AnswerChunk | AgentStarted | NotSent, None],
) -> AsyncGenerator[AnswerChunk | TextTakenBack | AgentStarted | NotSent, None]:
    """Yield the chunks without the thinking in the agent's text."""
    tags = ThinkingTags()
    async for chunk in chunks:
        if not isinstance(chunk, TextDelta):
            yield chunk
            continue
        for piece in _as_pieces(tags.take(chunk.text)):
            yield piece
    for piece in _as_pieces(tags.end()):
        yield piece


def _as_pieces(separated: SeparatedText) -> list[TextDelta | TextTakenBack]:
    taken_back: list[TextDelta | TextTakenBack] = [TextTakenBack()] if separated.takes_back else []
    return [*taken_back, TextDelta(separated.text)] if separated.text else taken_back
