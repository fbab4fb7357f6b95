"""Routing within a run: the agents that speak, their order, and the agent that is active at the end."""

from __future__ import annotations

from dataclasses import replace

from baton.agents.attempt_context import Attempt
from baton.agents.call_outcome import AgentResult, Transfer
from baton.agents.guardrails.hooks import HookRefusal, Hooks, RunStopped, judges_questions, run_unless_stopped
from baton.agents.tools.builtin_tools import MAX_REASON
from baton.concurrency.tasks import gather_all, off_loop
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.guardrail import Origin
from baton.domain.agents.handoff_rules import (
    Refusal,
    find_declared_handoff,
    find_handoff_refusal,
    find_session_refusal,
    find_triggered,
)
from baton.domain.desks.desk_session import ReturnReason
from baton.domain.documents.numbered_passages import join_consulted
from baton.domain.errors import ModelError, UnknownAgent, WorkflowUnavailable
from baton.domain.handoffs.handoff import MAX_SUMMARY, HandoffDefinition, HandoffOutcome
from baton.domain.handoffs.triggers import find_exit_locale, find_first_match
from baton.domain.handoffs.workflow import Workflow
from baton.domain.metrics import Metric, count
from baton.domain.threads.running_conversation import SpecialistProblem
from baton.domain.threads.turn_requests import ActionRequest, ConversationAction
from baton.threads.handoffs.forks import SPECIALIST
from baton.threads.requests.waiting_messages import TRIGGERS
from baton.turns.dialogue.agent_histories import DialogueServices
from baton.turns.dialogue.desk_events import DeskEvents
from baton.turns.dialogue.handoff_events import HandoffEvents


class AgentRouter:
    """The router within a run, which decides which agent speaks. A model never writes Baton's own messages."""

    def __init__(self, attempt: Attempt, services: DialogueServices) -> None:
        self.handoffs = HandoffEvents(attempt)
        self._desks = DeskEvents(attempt, self.handoffs)
        self._attempt = attempt
        self._facts = attempt.facts
        self._tracker = attempt.tracker
        self._services = services
        self._text = attempt.facts.question.text
        self.has_last_word = False
        """True if the last message is Baton's own."""
        self.is_delivered = False
        """True if the message goes to the people of a desk."""

    async def begin(self) -> bool:
        """Carry out Baton's own steps before an agent answers. Return whether an agent is to answer.

        Raises the errors of the request's action, such as ``UnknownAgent``, ``WorkflowUnavailable`` and ``NotAtDesk``.
        """
        request = self._facts.request
        if not isinstance(request, ActionRequest):
            return await self._begin_answer()
        match request.action:
            case ConversationAction.CONTINUE:
                return await self._continue(request.about or "")
            case ConversationAction.EXIT:
                self._end_session(HandoffOutcome.EXITED)
            case ConversationAction.MERGE:
                await self._merge_answer(*request.named_answer)
            case ConversationAction.DESK_ASK:
                await self._ask_desk(request.about or "")
            case _:
                self.has_last_word = True
                await self._desks.carry_out(request)
        return False

    async def hand_on(self, result: AgentResult) -> bool:
        """Carry out the handoff or return that the last speaker asks for. Return whether another agent speaks next."""
        if self._attempt.stop.is_set() or result.waiting:
            return False
        if result.transfer is not None and (result.transfer.refusal is None or result.returns is None):
            workflow = await self._find_wanted_workflow(result.transfer)
            await self._hand_over(await self._judge(result.transfer), workflow)
            self.has_last_word = self.has_last_word or result.transfer.refusal is not None
            return not self.has_last_word
        conversation = self._tracker.current
        # An agent whose workflow is complete should have returned.
        must_return = (
            conversation.handoff is not None
            and conversation.handoff.return_expected
            and conversation.is_workflow_complete
        )
        if result.returns is not None or must_return:
            self._end_session(HandoffOutcome.RETURNED)
        elif self._is_silent_target:
            self._undo_handoff()
        return False

    def take_back(self, failure: ModelError) -> None:
        """Undo the handoff to a specialist whose model failed before it said anything.

        Raises ``failure`` if the active agent has said something, or was active before the run.
        """
        if not self._is_silent_target:
            raise failure
        count(Metric.MODEL_FAILURES)
        self._undo_handoff()

    async def _begin_answer(self) -> bool:
        """Begin to answer a message, or to continue a run whose interrupts are answered.

        Return whether an agent is to answer.
        """
        trouble = self._tracker.current.trouble
        if trouble is not None:
            self._return_without_specialist(trouble)
            if trouble is not SpecialistProblem.LOST:
                return False
        # The text of an event does not ask for an agent, or to leave one.
        is_message = self._facts.answered is None and self._facts.question.begun_by is None
        size = len(self._text) * TRIGGERS
        transfer = await off_loop(size, self._find_requested, self._text) if is_message else None
        # A user who asks for a session right away is not offered another one.
        conversation = self._tracker.current
        is_offered = is_message or self._facts.answered is not None
        if conversation.offer is not None and transfer is None and conversation.desk is None and is_offered:
            self._tracker.current = conversation.mark_offered()
            if all(workflow.updated_at <= conversation.offer.updated_at for workflow in conversation.resumable):
                # Only the newest workflow is mentioned. Clients show the others as buttons.
                self.handoffs.offer_workflow(conversation.offer)
        if conversation.redefined is not None:
            self.handoffs.say_redefined(conversation.redefined)
        locale = (
            find_exit_locale(conversation.agent.exit_words, self._text)
            if is_message and conversation.handoff is not None
            else None
        )
        if locale is not None:
            self._attempt.screened.is_refused = False
            self._end_session(HandoffOutcome.EXITED, locale)
            return False
        if transfer is not None:
            if await self._refuse_by_hook(transfer):
                return False
            await self._hand_over(transfer, None)
            return transfer.refusal is None and not self.has_last_word
        if self._tracker.current.desk is not None:
            self.is_delivered = True
            self._desks.deliver()
            return False
        return True

    async def _hand_over(self, transfer: Transfer, workflow: Workflow | None) -> None:
        """Hand over to an agent, which answers next, or to a desk, whose people answer later."""
        if transfer.target.desk is None or transfer.refusal is not None:
            await self.handoffs.hand_over(transfer, workflow)
            return
        self.has_last_word = True
        if not self._desks.refuse_closed(transfer.target, transfer.target.desk):
            await self.handoffs.hand_over(transfer, None)
            states = self._services.conversations
            self._desks.begin_waiting(
                transfer.target.desk, await states.count_waiting(self._attempt.scope, transfer.target.id)
            )

    async def _ask_desk(self, desk_id: str) -> None:
        """Hand over to a desk of the main agent, as the user asks. Raises ``UnknownAgent`` for any other id."""
        conversation = self._tracker.current
        target, handoff = conversation.describe(desk_id), find_declared_handoff(conversation.main, desk_id)
        if target is None or target.desk is None or handoff is None:
            raise UnknownAgent
        transfer = Transfer(target, handoff, "asked", None, refusal=self._find_refusal(target, handoff))
        await self._hand_over(transfer, None)
        self.has_last_word = True

    async def _judge(self, transfer: Transfer) -> Transfer:
        """Return the handoff with its reason and summary as the target's input guardrails have left them."""
        if transfer.refusal is not None or not judges_questions(transfer.target):
            return transfer
        hooks = Hooks(self._attempt, transfer.target)

        async def judge(text: str) -> str:
            try:
                return await run_unless_stopped(self._attempt, hooks.judge_other(text, Origin.HANDOFF)) or ""
            except RunStopped:
                return ""

        reason, summary = await gather_all(judge(transfer.reason), judge(transfer.summary or ""))
        if transfer.summary is None:  # the summary is written and judged at the handoff
            return replace(transfer, reason=reason[:MAX_REASON])
        return replace(transfer, reason=reason[:MAX_REASON], summary=summary[:MAX_SUMMARY])

    async def _refuse_by_hook(self, transfer: Transfer) -> bool:
        """Return whether a hook refuses the handoff that a trigger asks for. If so, say the hook's sentence."""
        agent = self._tracker.current.agent
        hooks = Hooks.of(self._attempt, agent) if transfer.refusal is None else None
        try:
            if hooks is not None:
                await hooks.observe_handoff(transfer)
        except HookRefusal as refusal:
            self._attempt.screened.is_refused = judges_questions(agent)  # no guardrail has judged the question
            self.has_last_word = True
            self.handoffs.say(agent, refusal.sentence, refused_by=refusal.by)
            return True
        return False

    async def _continue(self, workflow_id: str) -> bool:
        """Continue an unfinished workflow of this thread or of another one. Return whether its agent is to answer.

        Raises ``WorkflowUnavailable``.
        """
        trouble = self._tracker.current.trouble
        if trouble is SpecialistProblem.LOST:
            self._return_without_specialist(trouble)
        workflow = await self._services.conversations.find_unfinished(self._attempt.scope, workflow_id)
        conversation = self._tracker.current
        target = conversation.describe(workflow.agent_id)
        if target is None or target.workflow is None:
            raise WorkflowUnavailable
        handoff = find_declared_handoff(conversation.main, target.id) or HandoffDefinition(agent=target.id)
        summary = f"The user continues {workflow.name}."
        transfer = Transfer(target, handoff, "continue", summary, refusal=self._find_refusal(target, handoff))
        await self.handoffs.hand_over(transfer, workflow)
        return transfer.refusal is None

    async def _merge_answer(self, fork_thread_id: str, answer_id: str) -> None:
        """Copy an answer of a fork into this thread. The fork may have newer answers by now."""
        answer = await self._services.forks.find_answer(self._attempt.scope, fork_thread_id, answer_id)
        conversation = self._tracker.current
        agent = conversation.describe(answer.agent_id or "") or conversation.main
        sources = join_consulted(answer.sources, answer.consulted)
        self.handoffs.say(agent, answer.text, source=SPECIALIST, is_structured=answer.is_structured, sources=sources)

    def _return_without_specialist(self, trouble: SpecialistProblem) -> None:
        if self._tracker.current.desk is not None:
            self._desks.return_without_desk(trouble)
        else:
            self.handoffs.return_without_specialist(trouble)

    def _end_session(self, outcome: HandoffOutcome, locale: str | None = None) -> None:
        self.has_last_word = True
        if self._tracker.current.desk is not None:
            self._desks.leave(ReturnReason.USER, locale=locale)
        else:
            self.handoffs.leave(outcome, locale)

    @property
    def _is_silent_target(self) -> bool:
        """True if the specialist became active in this run and has not said anything yet."""
        conversation = self._tracker.current
        return conversation.was_handed_over_by(self._facts.question) and not any(
            message.agent_id == conversation.agent.id and message.is_said
            for message in self._attempt.transcript.messages
        )

    def _undo_handoff(self) -> None:
        self.has_last_word = True
        self.handoffs.undo_handoff()

    def _find_requested(self, text: str) -> Transfer | None:
        """Return the handoff that a trigger in the message asks for, without calling a model; None if there is none.

        At a desk there is none: every message goes to its people.
        """
        conversation = self._tracker.current
        if conversation.desk is not None:
            return None
        repeated_trigger = (
            find_first_match(conversation.agent.triggers_in_session, text) if conversation.handoff is not None else None
        )
        if repeated_trigger is not None:
            refusal = find_session_refusal(conversation.agent, conversation.agent, conversation.workflow)
            to_itself = HandoffDefinition(agent=conversation.agent.id)
            return Transfer(conversation.agent, to_itself, f"trigger: {repeated_trigger}", None, refusal=refusal)
        active_agent_id = conversation.agent.id if conversation.handoff is not None else None
        match = find_triggered(conversation.main, self._facts.agents.all(), text, active_agent_id=active_agent_id)
        handoff = find_declared_handoff(conversation.main, match[0].id) if match is not None else None
        if match is None or handoff is None:
            return None
        target, trigger = match
        return Transfer(target, handoff, f"trigger: {trigger}", None, refusal=self._find_refusal(target, handoff))

    def _find_refusal(self, target: AgentDefinition, handoff: HandoffDefinition) -> Refusal | None:
        """Return the reason why the user may not be handed over to the target; None if they may."""
        conversation = self._tracker.current
        # The main agent need not declare a handoff to continue a workflow, because the user asks for it.
        source = conversation.main.model_copy(update={"handoffs": (handoff,)})
        session = conversation.agent if conversation.handoff is not None else None
        return find_handoff_refusal(
            source, target.id, target, self._attempt.scope, session=session, workflow=conversation.workflow
        )

    async def _find_wanted_workflow(self, transfer: Transfer) -> Workflow | None:
        """Return the unfinished workflow that an agent's handoff continues; None if it cannot be continued."""
        if transfer.workflow_id is None or transfer.refusal is not None:
            return None
        try:
            return await self._services.conversations.find_unfinished(self._attempt.scope, transfer.workflow_id)
        except WorkflowUnavailable:
            return None
