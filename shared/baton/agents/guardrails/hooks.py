"""The hooks and guardrails of an agent in a run: calls of its functions and endpoints, and their verdicts."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from aws_lambda_powertools import Logger

from baton.agents.attempt_context import Attempt
from baton.agents.call_outcome import Transfer
from baton.concurrency.tasks import stop_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_code import HOOK_ARGUMENTS, Hook, HookPoint
from baton.domain.agents.guardrail import (
    MAX_LONG_REPLACEMENT,
    MAX_REPLACEMENT,
    MAX_SENTENCE,
    Guardrail,
    GuardrailPoint,
    HandOver,
    OnFailure,
    Origin,
    Refuse,
    Replace,
    Verdict,
)
from baton.domain.agents.handoff_rules import find_declared_handoff
from baton.domain.agents.sentences import write_sentence
from baton.domain.errors import LeaseLost, StoreUnavailable, Unauthorized
from baton.domain.metrics import Metric, count
from baton.domain.text import replace_surrogates
from baton.domain.times import to_millis
from baton.memory.inspection.inspection import Judgement
from baton.ports.agents.tools import CallContext, TurnContext

logger = Logger(child=True)

_LONG = frozenset({HookPoint.INPUT_GUARDRAIL, HookPoint.AFTER_TOOL})
"""Points at which a replacement may have ``MAX_LONG_REPLACEMENT`` characters."""
_HANDING_OVER = (HookPoint.BEFORE_MODEL, HookPoint.AFTER_MODEL)
"""Points at which a verdict may hand the conversation over."""
_TEXTS = frozenset({HookPoint.INPUT_GUARDRAIL, HookPoint.OUTPUT_GUARDRAIL, HookPoint.AFTER_TOOL})
"""Points at which a replacement is a text."""
REPLACING = (HookPoint.INPUT_GUARDRAIL, HookPoint.OUTPUT_GUARDRAIL, HookPoint.BEFORE_TOOL)
"""Points at which texts of users or models are replaced or refused."""
STOPPED_SECONDS = 2.0
"""The time limit of each hook once the run is stopped, because the user waits for the end of the answer."""


def judges_questions(agent: AgentDefinition) -> bool:
    """Return whether the agent has an input guardrail."""
    return bool(agent.code.at(HookPoint.INPUT_GUARDRAIL)) or any(
        GuardrailPoint.INPUT in guardrail.checks for guardrail in agent.guardrails
    )


def replaces_words(agent: AgentDefinition) -> bool:
    """Return whether the agent's hooks or guardrails may change or refuse texts. Traces then contain no texts."""
    return bool(agent.guardrails) or any(map(agent.code.at, REPLACING))


T = TypeVar("T")


class RunStopped(Exception):
    """The run was stopped before hooks had given their verdict."""


async def run_unless_stopped(context: Attempt, work: Awaitable[T]) -> T:
    """Return the result of ``work``. Raises ``RunStopped`` as soon as the run is stopped."""
    working, stopped = asyncio.ensure_future(work), asyncio.ensure_future(context.stop.wait())
    try:
        await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise RunStopped
        return working.result()
    finally:
        await stop_all(working, stopped)


class HookRefusal(Exception):
    """A refusal by the hook or guardrail named ``by``. ``sentence`` is for the user or the model."""

    def __init__(self, sentence: str, by: str) -> None:
        self.sentence = sentence
        self.by = by
        super().__init__(by)


class HookHandOver(HookRefusal):
    """A verdict that hands the conversation over. ``sentence`` is for the user if the handoff is impossible."""

    def __init__(self, sentence: str, by: str, verdict: HandOver) -> None:
        super().__init__(sentence, by)
        self.verdict = verdict


@dataclass(frozen=True, slots=True)
class _Check:
    """A function or an endpoint that gives verdicts."""

    name: str
    on_failure: OnFailure
    timeout_seconds: float
    ask: Callable[[Mapping[str, Any]], Awaitable[Any]]


class Hooks:
    """The hooks and guardrails of one agent in one answer. They are called one after the other, in their order.

    A worker that takes over a run may call them again.
    """

    def __init__(self, context: Attempt, agent: AgentDefinition, task_id: str | None = None) -> None:
        self._context = context
        self._agent = agent
        self._task_id = task_id
        self._requests = 0
        self._checks_by_point: dict[HookPoint, list[_Check]] = {}

    @classmethod
    def of(cls, context: Attempt, agent: AgentDefinition, task_id: str | None = None) -> Hooks | None:
        """Return the hooks and guardrails of an agent; None if it has neither."""
        return cls(context, agent, task_id) if agent.code.hooks or agent.guardrails else None

    def has(self, point: HookPoint) -> bool:
        """Return whether the agent has a hook or guardrail at this point."""
        return bool(self._list_checks(point))

    async def judge(self, point: HookPoint, arguments: Mapping[str, Any], subject: str) -> Any:
        """Call the hooks of a point. Return the argument named ``subject``, or its replacement by the hooks.

        Raises ``HookRefusal``.
        """
        current = dict(arguments)
        async for verdict in self._yield_verdicts(point, current):
            if isinstance(verdict, Replace):
                current[subject] = verdict.value
        return current[subject]

    async def judge_question(self, text: str) -> str:
        """Return the question, or its replacement by the input guardrails. Raises ``HookRefusal``."""
        arguments = {"text": text, "origin": Origin.QUESTION.value}
        return str(await self.judge(HookPoint.INPUT_GUARDRAIL, arguments, "text"))

    async def require_allowed(self, text: str) -> None:
        """Raise ``HookRefusal`` unless the input guardrails allow the text of a question's file unchanged."""
        arguments = {"text": text, "origin": Origin.FILE.value}
        if await self.judge(HookPoint.INPUT_GUARDRAIL, arguments, "text") != text:
            raise HookRefusal(
                write_sentence(self._agent, "refused"), self._list_checks(HookPoint.INPUT_GUARDRAIL)[0].name
            )

    async def judge_other(self, text: str, origin: Origin) -> str | None:
        """Return a text of the prompt that is not the question, or its replacement; None if guardrails refuse it.

        Each text is judged only once in a run, even if several requests to the model contain it.
        """
        key, verdicts = (self._agent.id, origin, text), self._context.verdicts
        if key not in verdicts:
            try:
                judged_text = await self.judge(
                    HookPoint.INPUT_GUARDRAIL, {"text": text, "origin": origin.value}, "text"
                )
            except HookRefusal:
                judged_text = None
            verdicts[key] = judged_text
        return verdicts[key]

    async def add_instructions(self, messages: Sequence[Mapping[str, str]]) -> list[str]:
        """Call the hooks before a request to the model. Return their instructions. Raises ``HookRefusal``."""
        return [
            verdict.value
            async for verdict in self._yield_verdicts(HookPoint.BEFORE_MODEL, {"messages": messages})
            if isinstance(verdict, Replace)
        ]

    async def observe(self, point: HookPoint, arguments: Mapping[str, Any]) -> None:
        """Call hooks that cannot replace anything. Raises ``HookRefusal``, of which ``HookHandOver`` is a kind."""
        async for _ in self._yield_verdicts(point, arguments):
            pass

    async def observe_handoff(self, transfer: Transfer) -> None:
        """Call the hooks of a handoff. Raises ``HookRefusal``."""
        arguments = {"agent": transfer.target.id, "reason": transfer.reason, "summary": transfer.summary}
        await self.observe(HookPoint.ON_HANDOFF, arguments)

    async def _yield_verdicts(self, point: HookPoint, arguments: Mapping[str, Any]) -> AsyncIterator[Verdict]:
        """Yield the verdicts of a point that do not refuse. The caller may change ``arguments`` between verdicts.

        Raises ``HookRefusal``.
        """
        clock = self._context.services.clock
        for check in self._list_checks(point):
            began_at = clock.now()
            verdict, failure = await self._ask(check, point, arguments)
            if verdict is not None or failure is not None:
                duration_ms = to_millis(clock.now()) - to_millis(began_at)
                kind = _name_kind(verdict)
                self._context.inspection.add_judgement(
                    Judgement(self._agent.id, self._task_id, point.value, check.name, kind, duration_ms, failure)
                )
            if isinstance(verdict, Refuse):
                count(Metric.GUARDRAIL_REFUSALS)
                logger.info("refused", hook=check.name, point=point.value, agent=self._agent.id)
                raise HookRefusal(verdict.sentence or write_sentence(self._agent, "refused"), check.name)
            if isinstance(verdict, HandOver):
                handover = replace(verdict, reason=verdict.reason or check.name)
                raise HookHandOver(
                    write_sentence(self._agent, "unavailable", agent=verdict.agent_id), check.name, handover
                )
            yield verdict

    async def _ask(self, check: _Check, point: HookPoint, arguments: Mapping[str, Any]) -> tuple[Verdict, str | None]:
        """Return the verdict of a check, and None or the name of the error's class if the check has failed.

        After a failure ``on_failure`` decides the verdict, except that a timeout before the check's own limit always
        refuses. Raises ``LeaseLost``, ``StoreUnavailable`` and ``Unauthorized``.
        """
        seconds = self._limit_seconds(check)
        try:
            async with asyncio.timeout(seconds):
                verdict = _check_verdict(point, await check.ask(arguments))
                if isinstance(verdict, HandOver):
                    self._check_target(verdict)
                return verdict, None
        except (LeaseLost, StoreUnavailable, Unauthorized):
            raise
        except Exception as error:
            failure = type(error).__name__
            count(Metric.GUARDRAIL_FAILURES)
            # The error's message may quote the judged text, which must not be logged.
            trace = error if self._context.services.functions.logs_messages() else None
            logger.error(
                "hook failed", exc_info=trace, hook=check.name, point=point.value, agent=self._agent.id, reason=failure
            )
            # A user who stops the run or uses up its time must not get a text past the check.
            had_less_time = isinstance(error, TimeoutError) and seconds < check.timeout_seconds
            is_allowed = check.on_failure is OnFailure.OPEN and not had_less_time
            return (None if is_allowed else Refuse(write_sentence(self._agent, "unchecked"))), failure

    def _check_target(self, verdict: HandOver) -> None:
        """Raise ``ValueError`` if the agent can never hand over to this target."""
        if self._task_id is not None:
            raise ValueError("an agent that another one consults cannot hand over")
        if find_declared_handoff(self._agent, verdict.agent_id) is None:
            raise ValueError(f"{self._agent.id} has no handoff to {verdict.agent_id}")

    def _limit_seconds(self, check: _Check) -> float:
        remaining = self._context.deadline - asyncio.get_running_loop().time()
        longest = STOPPED_SECONDS if self._context.stop.is_set() else check.timeout_seconds
        return max(0.0, min(check.timeout_seconds, longest, remaining))

    def _list_checks(self, point: HookPoint) -> list[_Check]:
        """Return the functions of a point, then its guardrails, in the order of the definition."""
        if point not in self._checks_by_point:
            checks = [self._make_function_check(hook) for hook in self._agent.code.at(point)]
            guardrails = [
                guardrail for guardrail in self._agent.guardrails if _to_guardrail_point(point) in guardrail.checks
            ]
            checks += [self._make_endpoint_check(guardrail, point) for guardrail in guardrails]
            self._checks_by_point[point] = checks
        return self._checks_by_point[point]

    def _make_function_check(self, hook: Hook) -> _Check:
        context, names = self._context, HOOK_ARGUMENTS[hook.point]

        async def ask(arguments: Mapping[str, Any]) -> Any:
            turn = context.make_context(TurnContext, self._agent, state=context.data.copy())
            # Each hook gets a copy: only verdicts may change the arguments of the next one.
            return await context.services.functions.call_with(hook.function, turn, copy.deepcopy(arguments), names)

        return _Check(hook.name, hook.on_failure, hook.timeout_seconds, ask)

    def _make_endpoint_check(self, guardrail: Guardrail, point: HookPoint) -> _Check:
        """Return the check by a guardrail that an endpoint carries out."""
        context = self._context
        caller = self._agent.model_copy(update={"tools": (guardrail.as_tool,)})

        async def ask(arguments: Mapping[str, Any]) -> Any:
            self._requests += 1
            # A run may have several ``Hooks`` of one agent. The digest distinguishes their requests.
            digest = hashlib.sha256(repr(arguments).encode(errors="surrogatepass")).hexdigest()[:16]
            caller_id = self._task_id or self._agent.id
            key = f"{context.run.run_id}:{caller_id}:{guardrail.name}:{digest}:{self._requests}"
            call_context = context.make_context(CallContext, self._agent, call_id=key, idempotency_key=key)
            body = {
                "guardrail": guardrail.name,
                "check": _to_guardrail_point(point).value,
                "tenantId": context.scope.tenant_id,
                "userId": context.scope.user_id,
                "threadId": context.thread_id,
                "runId": context.run.run_id,
                "agentId": self._agent.id,
                **{_WIRE.get(name, name): value for name, value in arguments.items()},
            }
            answer = await context.services.tools.call(caller, guardrail.name, body, call_context)
            return _read_answer(point, answer.text)

        return _Check(guardrail.name, guardrail.on_failure, guardrail.timeout_seconds + _GRACE_SECONDS, ask)


_WIRE = {"is_last": "isLast"}
"""The names of arguments in requests to endpoints, where they differ."""
_GRACE_SECONDS = 1.0
"""Additional time for a check, so that the request's own time limit ends it first."""


def _to_guardrail_point(point: HookPoint) -> GuardrailPoint:
    """Return the point as it is named in agents' files and in requests to endpoints."""
    return GuardrailPoint(point.value.removesuffix("_guardrail"))


def _name_kind(verdict: Verdict) -> str:
    """Return the name of a verdict in records and in the responses of endpoints."""
    if isinstance(verdict, HandOver):
        return "hand_over"
    return "allow" if verdict is None else type(verdict).__name__.lower()


def _read_answer(point: HookPoint, text: str) -> Any:
    """Return the verdict in an endpoint's response, in the form in which a function returns it.

    Raises ``ValueError`` for any other response.
    """
    answer = json.loads(text)
    kind = answer.get("verdict") if isinstance(answer, dict) else None
    if kind == "allow":
        return None
    if kind == "replace" and point is HookPoint.BEFORE_MODEL:
        if not isinstance(answer.get("text"), str):
            raise ValueError("an instruction is text")
        return answer["text"]
    if kind == "replace":
        return Replace(answer.get("arguments" if point is HookPoint.BEFORE_TOOL else "text"))
    if kind == "refuse":  # a refusal counts even if its sentence is invalid
        return Refuse(answer["sentence"] if isinstance(answer.get("sentence"), str) else "")
    if kind == "hand_over" and isinstance(answer.get("agentId"), str):
        reason, summary = answer.get("reason"), answer.get("summary")
        return HandOver(answer["agentId"], reason or "", summary)
    raise ValueError("a guardrail answers with the verdict allow, replace, refuse or hand_over")


def _check_verdict(point: HookPoint, returned: Any) -> Verdict:
    """Return a hook's value as a verdict that the point allows. Raises ``ValueError`` for any other value."""
    if returned is None:
        return None
    if isinstance(returned, Refuse):
        if not isinstance(returned.sentence, str):
            raise ValueError("the sentence of a refusal is text")
        return replace(returned, sentence=replace_surrogates(returned.sentence[:MAX_SENTENCE]))
    if isinstance(returned, HandOver) and point in _HANDING_OVER:
        if not isinstance(returned.reason, str) or not isinstance(returned.summary, str | None):
            raise ValueError("the reason and the summary of a handoff are texts")
        reason, summary = replace_surrogates(returned.reason), replace_surrogates(returned.summary or "") or None
        return replace(returned, reason=reason, summary=summary)
    if point is HookPoint.BEFORE_MODEL and isinstance(returned, str):
        returned = Replace(returned)
    elif not isinstance(returned, Replace) or point not in (*_TEXTS, HookPoint.BEFORE_TOOL):
        raise ValueError(f"{point.value} cannot return {type(returned).__name__}")
    value = returned.value
    if point is HookPoint.BEFORE_TOOL:
        json_text = json.dumps(value, allow_nan=False)
        if not isinstance(value, dict) or len(json_text) > MAX_REPLACEMENT:
            raise ValueError(f"arguments are a dictionary of at most {MAX_REPLACEMENT} characters as JSON")
        return Replace(json.loads(json_text))
    longest = MAX_LONG_REPLACEMENT if point in _LONG else MAX_REPLACEMENT
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError(f"a replacement is a text of at most {longest} characters")
    return Replace(replace_surrogates(value))
