"""Handing the floor over and back, in the words that Baton itself says (H2, H4 to H6, W2)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator
from dataclasses import replace
from datetime import datetime

from ag_ui.core import BaseEvent

from baton.conversation.agents import missing_permissions
from baton.conversation.answer_step import AnswerStep
from baton.conversation.call_outcome import Transfer
from baton.conversation.forks import fork_id
from baton.conversation.handoff_summary import summarised
from baton.conversation.own_tools import LONGEST_SUMMARY
from baton.conversation.running_floor import Trouble
from baton.domain.agent import AgentDefinition
from baton.domain.events import text_content, text_end, text_start
from baton.domain.floor_events import HANDOFF, RETURN, handed_over
from baton.domain.handoff import ContextMode, HandoffOutcome, HandoffRequest
from baton.domain.handoff_rules import Refusal
from baton.domain.sentences import filled_sentence, sentence
from baton.domain.usage import Usage
from baton.domain.workflow import Workflow, progress
from baton.domain.workflow_moves import DefinitionChanged, Resumed, resume
from baton.memory.handoff_context import granted_ids


class Handing:
    """What happens to the floor in one run, as events; what is said goes into the transcript."""

    def __init__(self, step: AnswerStep) -> None:
        self.has_spoken = False
        """Whether Baton itself has said something to the user."""
        self.usage = Usage()
        """What summing up has used."""
        self._step = step
        self._context = step.context
        self._floor = step.floor
        self._services = step.context.services
        self._clock = step.context.services.clock
        self._text = step.asked.text if step.asked is not None else ""

    async def hand_over(self, wanted: Transfer, workflow: Workflow | None) -> AsyncGenerator[BaseEvent, None]:
        """Give the floor to another agent and show it; or say why not (H5, H6). ``workflow``: the one to continue."""
        step, floor, now = self._step, self._floor, self._clock.now()
        request = self._request(wanted)
        if wanted.refusal is not None:
            floor.refuse(request, now)
            for event in self.refuse(wanted, wanted.refusal):
                yield event
            return
        goes_on = self._resumed(wanted.target, workflow, now) if workflow is not None else None
        begun = goes_on.workflow if goes_on else floor.new_workflow(wanted.target, step.opening.ordinal, now)
        source, before = floor.agent, floor.state
        child_id = fork_id(request) if request.context_mode is ContextMode.FORKED else None
        request = replace(request, workflow_id=begun.id if begun else None, child_thread_id=child_id)
        floor.hand_over(request, wanted.target, begun)
        label = sentence(wanted.target, "connecting", agent=wanted.target.name)
        activity_id = step.transcript.new_activity_id()
        yield handed_over(activity_id, HANDOFF, source, wanted.target, label, wanted.reason)
        for event in (*floor.news_since(before), *floor.step_begins()):
            yield event
        if goes_on is not None and goes_on.changed is not None:
            for event in self.tell_redefined(goes_on.changed):
                yield event
        if wanted.summary is None:
            summary, usage = await summarised(self._context, step.history, self._text)
            self.usage += usage
            floor.describe_handoff(context_summary=summary[:LONGEST_SUMMARY])

    def _resumed(self, target: AgentDefinition, workflow: Workflow, now: datetime) -> Resumed | None:
        """The workflow as it goes on in this thread; None if its agent leads through none (any more)."""
        if target.workflow is None:
            return None
        resumed = resume(target.workflow, workflow, thread_id=self._step.thread.id, now=now)
        if workflow.thread_id != self._step.thread.id:
            self._floor.moved_from = workflow.without_data()
        return resumed

    def _request(self, wanted: Transfer) -> HandoffRequest:
        step, floor, handoff = self._step, self._floor, wanted.handoff
        return HandoffRequest(
            thread_id=step.thread.id,
            tenant_id=self._context.scope.tenant_id,
            user_id=self._context.scope.user_id,
            ordinal=step.opening.ordinal,
            number=floor.handoffs_so_far,
            source_agent_id=floor.agent.id,
            target_agent_id=wanted.target.id,
            context_mode=handoff.context_mode,
            context_summary=wanted.summary or self._text[:LONGEST_SUMMARY],
            recent_messages=(
                *granted_ids(handoff.context_mode, handoff.recent_messages, step.history),
                # After an approval it is not the first message of its run.
                *([step.asked.id] if step.asked is not None and step.asked is not step.opening else []),
            ),
            handoff_reason=wanted.reason,
            started_at=step.opening.timestamp,
            preserve_state=handoff.preserve_state,
            return_expected=handoff.return_expected,
            show_tool_calls=handoff.show_tool_calls,
        )

    def refuse(self, wanted: Transfer, refusal: Refusal) -> Iterator[BaseEvent]:
        """Say why the conversation stays where it is."""
        floor = self._floor
        if refusal.permission is not None:
            self._audit_denial(wanted.target, refusal.permission)
        words = floor.agent if refusal.session is not None else wanted.target
        name = refusal.sentence or "unavailable"
        yield from self.say(floor.agent, sentence(words, name, agent=wanted.target.name, session=refusal.session or ""))

    def without_specialist(self, trouble: Trouble) -> Iterator[BaseEvent]:
        """Give the floor back because its specialist cannot go on; the user is told why, unless it is of no matter."""
        floor, specialist = self._floor, self._floor.agent
        if trouble is Trouble.LOST:
            yield from self._lose()
            return
        yield from self._give_back(HandoffOutcome.FAILED)
        name = "forbidden" if trouble is Trouble.FORBIDDEN else "unavailable"
        for permission in missing_permissions(self._context.scope, specialist)[:1]:
            self._audit_denial(specialist, permission)
        yield from self.say(floor.main, sentence(specialist, name, agent=specialist.name))

    def fail(self) -> Iterator[BaseEvent]:
        """Take a handoff back whose target did not say a word (H6)."""
        floor, target = self._floor, self._floor.agent
        workflow = floor.workflow
        is_new = workflow is not None and workflow.id in floor.begun_ids and not any(workflow.data.values())
        yield from self._give_back(HandoffOutcome.FAILED, keeps=not is_new)
        yield from self.say(floor.main, sentence(target, "unavailable", agent=target.name))

    def leave(self, outcome: HandoffOutcome, locale: str | None = None) -> Iterator[BaseEvent]:
        """Return to the main agent: both say their sentences (H4, W2)."""
        floor, specialist, workflow = self._floor, self._floor.agent, self._floor.workflow
        if floor.trouble is Trouble.LOST:
            yield from self._lose()
            yield from self.say(floor.main, sentence(floor.main, "main_confirms", locale=locale))
            return
        is_complete = floor.is_workflow_complete
        is_done = is_complete or (workflow is None and outcome is HandoffOutcome.RETURNED)
        yield from self.say(specialist, sentence(specialist, "completed" if is_done else "exit", locale=locale))
        is_saved = yield from self._give_back(outcome)
        confirmation = None
        if is_saved:
            confirmation = sentence(specialist, "saved_for_later", locale=locale)
        elif is_done:
            confirmation = filled_sentence(specialist, "main_confirms", _collected(workflow), locale=locale)
        yield from self.say(floor.main, confirmation or sentence(floor.main, "main_confirms", locale=locale))

    def _lose(self) -> Iterator[BaseEvent]:
        """Give the floor back where the specialist has nothing left to do here."""
        floor, specialist = self._floor, self._floor.agent
        yield from self._give_back(HandoffOutcome.CLOSED, is_lost=True)
        if floor.elsewhere is not None:
            told = sentence(specialist, "continued_elsewhere", workflow=floor.elsewhere.name)
            yield from self.say(floor.main, told)

    def _give_back(
        self, outcome: HandoffOutcome, *, is_lost: bool = False, keeps: bool = True
    ) -> Generator[BaseEvent, None, bool]:
        """Give the floor to the main agent and show it; returns whether the workflow was saved."""
        floor, specialist = self._floor, self._floor.agent
        yield from floor.step_ends()
        before = floor.state
        now, handoff = self._clock.now(), floor.handoff
        saved = None
        if is_lost:
            floor.let_go(outcome, now)
        else:
            saved = floor.give_back(outcome, now, keeps=keeps and (handoff is None or handoff.preserve_state))
        label = sentence(floor.main, "back_with", agent=floor.main.name)
        activity_id = self._step.transcript.new_activity_id()
        yield handed_over(activity_id, RETURN, specialist, floor.main, label, outcome.value)
        yield from floor.news_since(before)
        return saved is not None

    def tell_redefined(self, changed: DefinitionChanged) -> Iterator[BaseEvent]:
        """Tell that the workflow's steps are others than when it was left."""
        agent, workflow = self._floor.agent, self._floor.workflow
        at = progress(agent.workflow, workflow) if agent.workflow is not None and workflow is not None else None
        label = at.label if at is not None else changed.goes_on_in
        yield from self.say(agent, sentence(agent, "workflow_changed", label=label))

    def welcome(self, offer: Workflow) -> Iterator[BaseEvent]:
        """Offer to continue a workflow that was left (W2)."""
        words = self._floor.describe(offer.agent_id) or self._floor.main
        yield from self.say(self._floor.main, sentence(words, "welcome_back", workflow=offer.name))

    def say(self, agent: AgentDefinition, text: str, *, source: str | None = None) -> Iterator[BaseEvent]:
        """Let ``agent`` say what Baton has it say."""
        transcript = self._step.transcript
        message_id = transcript.new_id()
        yield text_start(message_id, agent)
        yield text_content(message_id, text)
        yield text_end(message_id)
        transcript.add_answer(message_id, agent, text, source=source)
        self.has_spoken = True

    def _audit_denial(self, target: AgentDefinition, permission: str) -> None:
        context = self._context
        detail = {"targetAgentId": target.id, "permission": permission, "runId": context.run.run_id}
        context.writes.add(
            self._services.audit.record(
                context.scope, "handoff", thread_id=context.thread_id, outcome="denied", detail=detail
            )
        )


def _collected(workflow: Workflow | None) -> dict[str, str]:
    """What a workflow has collected that can stand in a sentence."""
    found: dict[str, str] = {}
    for fields in (workflow.data if workflow is not None else {}).values():
        found |= {name: value for name, value in fields.items() if isinstance(value, str)}
    return found
