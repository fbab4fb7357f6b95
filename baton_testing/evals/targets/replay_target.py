"""A version of a tenant's agent, which answers turns of stored conversations again in dry runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from baton_client import AsyncBaton, AuthenticationError, BatonError, PermissionDeniedError
from baton_client.conditions import UnknownAgentVersionError
from baton_client.models import Rerun
from baton_testing.errors import CannotRun
from baton_testing.evals.answer import Answer, read_retrieved
from baton_testing.evals.reading import Problem, ReadCase
from baton_testing.observation import Called


@dataclass(frozen=True)
class ReplayTarget:
    """A version of an agent as a target. Nothing is stored, and tool calls get the results of the stored turn."""

    client: AsyncBaton
    agent_id: str
    version: int

    async def hold(self, case: ReadCase, attempt: int) -> Answer:
        """See ``Target``. ``attempt`` makes no difference."""
        thread_id, run_id = _find_turn(case) or ("", "")
        began = time.monotonic()
        try:
            rerun = await self.client.threads.rerun(
                thread_id, run_id, agent_id=self.agent_id, agent_version=self.version
            )
        except (AuthenticationError, PermissionDeniedError) as refusal:
            raise CannotRun(f"{self.client.base_url}: {refusal} A replay needs context:inspect.") from None
        except UnknownAgentVersionError as unknown:
            raise CannotRun(f"{self.agent_id} version {self.version}: {unknown}") from None
        except BatonError as failure:
            return Answer(error=f"the server: {failure}", thread_id=thread_id, seconds=time.monotonic() - began)
        answer = _to_answer(rerun, thread_id, time.monotonic() - began)
        if (rerun.agent_versions or {}).get(self.agent_id) == self.version:
            return answer
        return replace(answer, error=f"{self.agent_id} took no part in this answer: {rerun.agent_id} answered.")


def select_of_agent(cases: Sequence[ReadCase], agent_id: str) -> list[ReadCase]:
    """Return the cases of turns in which the agent spoke last, or in which no agent spoke."""
    return [case for case in cases if case.case.metadata.get("agentId") in (None, agent_id)]


def find_replay_problems(cases: Sequence[ReadCase]) -> Iterator[Problem]:
    """Yield a problem for each case that is not a turn of a stored conversation."""
    for case in cases:
        if _find_turn(case) is None:
            yield Problem(
                case.path,
                case.line,
                "metadata: with --version, cases are turns of stored conversations, made by `baton eval collect`",
            )


def _find_turn(case: ReadCase) -> tuple[str, str] | None:
    match case.case.metadata:
        case {"threadId": str(thread_id), "runId": str(run_id)}:
            return thread_id, run_id
    return None


def _to_answer(rerun: Rerun, thread_id: str, seconds: float) -> Answer:
    calls = tuple(
        Called(call.agent_id, call.tool_name, call.input, call.output, call.is_recorded) for call in rerun.tool_calls
    )
    response = rerun.http_response
    context = response.json["context"] if response is not None else {}
    return Answer(
        text=rerun.answer,
        answered_by=rerun.agent_id,
        calls=calls,
        retrieved=read_retrieved(context),
        tokens=rerun.usage.total_tokens,
        seconds=seconds,
        transcript=(rerun.answer, *(f"  [{call}]" for call in calls)),
        thread_id=thread_id,
    )
