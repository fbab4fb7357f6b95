"""The course of a run: who speaks in it, in which order, and who has the floor at its end."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from ag_ui.core import BaseEvent

from baton.conversation.agent_loop import AgentLoop
from baton.conversation.agents import missing_permissions
from baton.conversation.approvals import refusals
from baton.conversation.call_outcome import Return, Transfer
from baton.conversation.consult import Consultations
from baton.conversation.forks import ForkedExchange, fork_id
from baton.conversation.handoff_summary import summarised
from baton.conversation.merging import SOURCE, merged
from baton.conversation.own_tools import OwnTools
from baton.conversation.prompting import CONTINUING, notes_for
from baton.conversation.relay import Relay
from baton.conversation.requests import FloorAction, FloorRequest, MergeRequest, TurnRequest
from baton.conversation.run_context import RunContext
from baton.conversation.running_floor import RunningFloor, Trouble
from baton.conversation.tool_kit import ToolKit, tool_kit
from baton.conversation.transcript import Transcript
from baton.domain.agent import AgentDefinition
from baton.domain.errors import InterruptUnavailable, ModelError, WorkflowUnavailable
from baton.domain.events import text_content, text_end, text_start
from baton.domain.floor_events import HANDOFF, RETURN, handed_over
from baton.domain.handoff import ContextMode, HandoffDefinition, HandoffOutcome, HandoffRequest
from baton.domain.handoff_rules import Refusal, RefusalReason, declared_handoff, may_hand_off, triggered
from baton.domain.interrupt import PendingInterrupts
from baton.domain.message import Role, StoredMessage
from baton.domain.sentences import filled_sentence, sentence
from baton.domain.skill import Skill
from baton.domain.thread import Thread
from baton.domain.tool_call import ToolCall
from baton.domain.triggers import exit_locale
from baton.domain.usage import Usage
from baton.domain.workflow import Workflow, progress
from baton.domain.workflow_moves import DefinitionChanged, Resumed, resume
from baton.memory.context import AssembledContext, assemble, history_budget
from baton.memory.handoff_context import granted, granted_ids
from baton.ports.chat_model import Prompt


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """Everything needed to answer what was asked."""

    context: RunContext
    thread: Thread
    floor: RunningFloor
    request: TurnRequest
    opening: StoredMessage
    """The first message of the run: the user's, the result of a call that had waited, or what an action begins with."""
    history: Sequence[StoredMessage]
    """The messages before what is being answered."""
    unfinished: Sequence[StoredMessage]
    """The exchange that was interrupted, where the run goes on with one."""
    transcript: Transcript
    skills: Sequence[Skill]
    """What the main agent's users have taught it."""
    answered: PendingInterrupts | None
    """What the run goes on with, all of it answered; None: it answers a user's message, or carries out an action."""
    previous_seq: int | None
    """Where the jump in the sequence begins that a worker's death has left; None: there is none."""


class Speaker(Protocol):
    """An agent that has the floor, for one answer."""

    agent: AgentDefinition
    usage: Usage
    model: str | None
    waiting: list[ToolCall]
    transfer: Transfer | None
    returns: Return | None
    ends_conversation: bool
    has_answered: bool

    def events(self) -> AsyncGenerator[BaseEvent, None]:
        """Its answer. Raises the ``BatonError`` that ends it, after closing what was opened."""
        ...


class Course:
    """Who speaks in a run. What Baton itself says is never left to a model."""

    def __init__(self, step: AnswerStep) -> None:
        context = step.context
        self.last: Speaker | None = None
        """The agent that spoke last; None where the last words are Baton's own."""
        self.has_answered = False
        """Whether the user got an answer, from an agent or from Baton itself."""
        self.forked: ForkedExchange | None = None
        """What was said in the specialist's fork, and has to be written there."""
        self._step = step
        self._context = context
        self._floor = step.floor
        self._services = context.services
        self._clock = context.services.clock
        self._is_action = isinstance(step.request, FloorRequest | MergeRequest)
        self._text = step.opening.text
        self._own = OwnTools(step.floor, context.scope, self._clock)
        self._consultations = Consultations(context)
        self._speakers: list[Speaker] = []
        self._summing_up = Usage()

    @property
    def usage(self) -> Usage:
        """Everything that models have used."""
        return sum((speaker.usage for speaker in self._speakers), self._summing_up + self._consultations.usage)

    @property
    def model(self) -> str | None:
        """The model that spoke last."""
        return self._speakers[-1].model if self._speakers else None

    async def events(self) -> AsyncGenerator[BaseEvent, None]:
        """Everything that is said and done. Raises the ``BatonError`` that ends the run."""
        for event in self._floor.step_begins():
            yield event
        request = self._step.request
        if isinstance(request, MergeRequest):
            parts = self._merge(request)
        elif not isinstance(request, FloorRequest):
            parts = self._answer()
        elif request.action is FloorAction.EXIT:
            parts = self._exit()
        else:
            parts = self._continue(request.workflow_id or "")
        async with contextlib.aclosing(parts) as events:
            async for event in events:
                yield event

    async def _answer(self) -> AsyncGenerator[BaseEvent, None]:
        """Answer a message, or go on with what had waited."""
        floor = self._floor
        if floor.trouble is not None:
            for event in self._without_specialist(floor.trouble):
                yield event
            if floor.trouble is not Trouble.LOST:
                return
        offer = floor.take_offer()
        if offer is not None:
            for event in self._say(floor.main, self._welcome(offer)):
                yield event
        if floor.redefined is not None:
            for event in self._tell_redefined(floor.redefined):
                yield event
        is_message = self._step.answered is None
        locale = exit_locale(floor.agent.exit_words, self._text) if is_message and floor.handoff is not None else None
        if locale is not None:
            for event in self._leave(HandoffOutcome.EXITED, locale):
                yield event
            return
        wanted = self._asked_for(self._text) if is_message else None
        if wanted is not None:
            async with contextlib.aclosing(self._hand_over(wanted, None)) as events:
                async for event in events:
                    yield event
        if wanted is None or wanted.refusal is None:
            async with contextlib.aclosing(self._converse()) as events:
                async for event in events:
                    yield event

    async def _exit(self) -> AsyncGenerator[BaseEvent, None]:
        """Leave the specialist without asking any model (W2)."""
        for event in self._leave(HandoffOutcome.EXITED):
            yield event

    async def _continue(self, workflow_id: str) -> AsyncGenerator[BaseEvent, None]:
        """Take up an unfinished workflow, here or from another thread."""
        floor = self._floor
        workflow = await self._unfinished(workflow_id)
        target = floor.describe(workflow.agent_id)
        if target is None or target.workflow is None:
            raise WorkflowUnavailable
        handoff = declared_handoff(floor.main, target.id) or HandoffDefinition(agent=target.id)
        summary = f"The user continues {workflow.name}."
        refusal = self._refusal(target)
        if refusal is not None and refusal.reason is RefusalReason.UNKNOWN:
            refusal = None  # the main agent of this thread does not know it, but the user does
        wanted = Transfer(target, handoff, "continue", summary, refusal=refusal)
        async with contextlib.aclosing(self._hand_over(wanted, workflow)) as events:
            async for event in events:
                yield event
        if wanted.refusal is None:
            async with contextlib.aclosing(self._converse()) as events:
                async for event in events:
                    yield event

    async def _merge(self, request: MergeRequest) -> AsyncGenerator[BaseEvent, None]:
        """Take over the last thing that was said in a fork."""
        _, answer = await self._services.forks.newest_answer(self._context.scope, request.fork_thread_id)
        agent = self._floor.describe(answer.agent_id or "") or self._floor.main
        for event in self._say(agent, answer.text, source=SOURCE):
            yield event

    async def _converse(self) -> AsyncGenerator[BaseEvent, None]:
        """Let whoever has the floor speak, until nobody hands it on."""
        floor, stop = self._floor, self._context.stop
        while not stop.is_set():
            try:
                async with contextlib.aclosing(self._speech()) as events:
                    async for event in events:
                        yield event
            except ModelError:
                if not self._has_just_taken_over or self._has_spoken(floor.agent):
                    raise
                for event in self._fail_handoff():
                    yield event
                return
            speaker = self._speakers[-1]
            self.has_answered |= speaker.has_answered
            self._note_task(speaker)
            if stop.is_set() or speaker.waiting:
                return
            if speaker.transfer is not None:
                workflow = await self._wanted_workflow(speaker.transfer)
                async with contextlib.aclosing(self._hand_over(speaker.transfer, workflow)) as events:
                    async for event in events:
                        yield event
                if speaker.transfer.refusal is not None:
                    return
                continue
            if speaker.returns is not None or self._is_done:
                for event in self._leave(HandoffOutcome.RETURNED):
                    yield event
            return

    @property
    def _is_done(self) -> bool:
        """Whether the specialist has nothing left to do but to return, and forgot it."""
        handoff = self._floor.handoff
        return handoff is not None and handoff.return_expected and self._floor.is_workflow_complete

    @property
    def _has_just_taken_over(self) -> bool:
        handoff = self._floor.handoff
        return handoff is not None and handoff.ordinal == self._step.opening.ordinal

    def _has_spoken(self, agent: AgentDefinition) -> bool:
        return any(message.agent_id == agent.id for message in self._step.transcript.messages)

    async def _speech(self) -> AsyncGenerator[BaseEvent, None]:
        """What the agent says that has the floor; in this thread, or in its fork."""
        handoff = self._floor.handoff
        if handoff is None or handoff.context_mode is not ContextMode.FORKED:
            parts = self._speech_in(self._step.transcript)
        else:
            parts = self._speech_in_fork(handoff)
        async with contextlib.aclosing(parts) as events:
            async for event in events:
                yield event

    async def _speech_in_fork(self, handoff: HandoffRequest) -> AsyncGenerator[BaseEvent, None]:
        """What the specialist says in its fork, merged into this thread; what it answered before it died counts."""
        step, agent, context = self._step, self._floor.agent, self._context
        answered: Sequence[StoredMessage] = ()
        if context.run.attempt > 1 and not self._is_action:
            answered = await self._services.forks.answer(context.scope, handoff, step.opening.id)
        if answered:
            text = "\n\n".join(message.text for message in answered if message.is_said)
            for event in self._say(agent, text, source=SOURCE):
                yield event
            return
        transcript = Transcript(
            fork_id(handoff),
            context.run,
            first_ordinal=0,
            clock=self._clock,
            counter=self._services.counter,
        )
        parts = merged(self._speech_in(transcript), agent, step.transcript, context.stop)
        try:
            async with contextlib.aclosing(parts) as events:
                async for event in events:
                    yield event
        finally:
            if transcript.messages:
                copied = [message for message in step.history if message.id in handoff.recent_messages]
                self.forked = ForkedExchange(handoff, agent, context.run, copied, step.opening, transcript.messages)

    async def _speech_in(self, transcript: Transcript) -> AsyncGenerator[BaseEvent, None]:
        floor = self._floor
        if floor.agent.remote is not None and floor.handoff is not None:
            speaker: Speaker = await self._relay(floor.handoff, transcript)
            self._speakers.append(speaker)
        else:
            kit = await tool_kit(
                floor.agent, self._context.scope, self._services.agents, self._services.tools, floor=floor
            )
            loop = speaker = self._loop(kit, transcript)
            self._speakers.append(speaker)
            current: Sequence[StoredMessage] = () if self._is_action else (self._step.opening,)
            if self._step.answered is not None and len(self._speakers) == 1:
                async with contextlib.aclosing(self._go_on(loop, self._step.answered)) as events:
                    async for event in events:
                        yield event
                current = (*self._step.unfinished, *self._step.transcript.messages)
            loop.begin(await self._assembled(kit, current), notes_for(floor, kit, self._step.skills, self._text))
        self.last = speaker
        if not self._context.stop.is_set():
            async with contextlib.aclosing(speaker.events()) as events:
                async for event in events:
                    yield event

    async def _relay(self, handoff: HandoffRequest, transcript: Transcript) -> Relay:
        history = await self._history()
        earlier = [message for message in history if message.ordinal < handoff.ordinal and message.is_said]
        is_first = self._has_just_taken_over
        text = self._text or CONTINUING.format(workflow="this")
        return Relay(
            self._context, self._floor.agent, transcript, handoff, text=text, earlier=earlier, is_first=is_first
        )

    def _loop(self, kit: ToolKit, transcript: Transcript) -> AgentLoop:
        consult = self._consultations.ask
        return AgentLoop(self._context, self._floor.agent, kit, transcript, consult=consult, own=self._own)

    async def _assembled(self, kit: ToolKit, current: Sequence[StoredMessage]) -> AssembledContext:
        """The prompt of the agent that has the floor."""
        floor, counter = self._floor, self._services.counter
        history, reserved = await self._history(), kit.tokens(counter)
        made = assemble(floor.agent, history, current, counter, reserved=reserved, handoff=floor.handoff)
        if not self._is_action or floor.workflow is None:
            return made
        asked = Prompt(Role.USER, CONTINUING.format(workflow=floor.workflow.name))
        return replace(made, prompts=(*made.prompts, asked))

    async def _history(self) -> Sequence[StoredMessage]:
        """What the agent that has the floor may see of what was said before."""
        step, handoff = self._step, self._floor.handoff
        if handoff is None:
            return step.history
        history = step.history
        if handoff.context_mode is ContextMode.FORKED and not self._has_just_taken_over:
            return await self._services.forks.history(
                self._context.scope, handoff, token_budget=self._floor.agent.memory.max_working_memory_tokens
            )
        if handoff.context_mode is ContextMode.FULL and self._has_just_taken_over:
            # What was read for the main agent may be less than this one has room for.
            budget = history_budget(self._floor.agent, step.opening.tokens, self._services.counter)
            history = await self._services.store.recent_messages(self._context.scope, step.thread, token_budget=budget)
        return granted(handoff, history)

    async def _go_on(self, loop: AgentLoop, answered: PendingInterrupts) -> AsyncGenerator[BaseEvent, None]:
        """Carry out the calls that were approved; the model is told what became of the others."""
        known = {call.id: call for message in self._step.unfinished for call in message.tool_calls}
        calls = [known[each.tool_call_id] for each in answered.interrupts if each.tool_call_id in known]
        if not calls:
            raise InterruptUnavailable
        refused = refusals(answered)
        approved = {call.id for call in calls} - refused.keys()
        async with contextlib.aclosing(loop.go_on(calls, approved, refused)) as events:
            async for event in events:
                yield event

    def _asked_for(self, text: str) -> Transfer | None:
        """The handoff that the message's words ask for, without a model."""
        floor = self._floor
        held_by = floor.agent.id if floor.handoff is not None else None
        found = triggered(floor.main, self._services.agents.all(), text, active_agent_id=held_by)
        handoff = declared_handoff(floor.main, found[0].id) if found is not None else None
        if found is None or handoff is None:
            return None
        target, trigger = found
        return Transfer(target, handoff, f"trigger: {trigger}", None, refusal=self._refusal(target))

    def _refusal(self, target: AgentDefinition) -> Refusal | None:
        floor = self._floor
        session = floor.agent if floor.handoff is not None else None
        return may_hand_off(
            floor.main, target.id, target, self._context.scope, session=session, workflow=floor.workflow
        )

    async def _hand_over(self, wanted: Transfer, workflow: Workflow | None) -> AsyncGenerator[BaseEvent, None]:
        """Give the floor to another agent and show it; or say why not (H5, H6). ``workflow``: the one to continue."""
        step, floor, now = self._step, self._floor, self._clock.now()
        request = self._request(wanted)
        if wanted.refusal is not None:
            floor.refuse(request, now)
            for event in self._refuse(wanted, wanted.refusal):
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
            for event in self._tell_redefined(goes_on.changed):
                yield event
        if wanted.summary is None:
            summary, usage = await summarised(self._context, step.history, self._text)
            self._summing_up += usage
            floor.describe_handoff(context_summary=summary)

    def _resumed(self, target: AgentDefinition, workflow: Workflow, now: datetime) -> Resumed | None:
        """The workflow as it goes on in this thread; None if its agent leads through none (any more)."""
        if target.workflow is None:
            return None
        resumed = resume(target.workflow, workflow, thread_id=self._step.thread.id, now=now)
        if workflow.thread_id != self._step.thread.id:
            self._floor.moved_from = workflow.thread_id
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
            context_summary=wanted.summary or self._text,
            recent_messages=granted_ids(handoff.context_mode, handoff.recent_messages, step.history),
            handoff_reason=wanted.reason,
            started_at=step.opening.timestamp,
            preserve_state=handoff.preserve_state,
            return_expected=handoff.return_expected,
            show_tool_calls=handoff.show_tool_calls,
        )

    def _refuse(self, wanted: Transfer, refusal: Refusal) -> Iterator[BaseEvent]:
        """Say why the conversation stays where it is."""
        floor = self._floor
        if refusal.permission is not None:
            self._audit_denial(wanted.target, refusal.permission)
        words = floor.agent if refusal.session is not None else wanted.target
        name = refusal.sentence or "unavailable"
        yield from self._say(
            floor.agent, sentence(words, name, agent=wanted.target.name, session=refusal.session or "")
        )

    def _without_specialist(self, trouble: Trouble) -> Iterator[BaseEvent]:
        """Give the floor back because its specialist cannot go on; the user is told why, unless it is of no matter."""
        floor, specialist = self._floor, self._floor.agent
        if trouble is Trouble.LOST:
            yield from self._give_back(HandoffOutcome.CLOSED, is_lost=True)
            return
        yield from self._give_back(HandoffOutcome.FAILED)
        name = "forbidden" if trouble is Trouble.FORBIDDEN else "unavailable"
        for permission in missing_permissions(self._context.scope, specialist)[:1]:
            self._audit_denial(specialist, permission)
        yield from self._say(floor.main, sentence(specialist, name, agent=specialist.name))

    def _fail_handoff(self) -> Iterator[BaseEvent]:
        """Take a handoff back whose target did not say a word (H6)."""
        floor, target = self._floor, self._floor.agent
        is_new = floor.workflow is not None and floor.workflow.id in floor.begun_ids
        yield from self._give_back(HandoffOutcome.FAILED, keeps=not is_new)
        yield from self._say(floor.main, sentence(target, "unavailable", agent=target.name))

    def _leave(self, outcome: HandoffOutcome, locale: str | None = None) -> Iterator[BaseEvent]:
        """Return to the main agent: both say their sentences (H4, W2)."""
        floor, specialist, workflow = self._floor, self._floor.agent, self._floor.workflow
        if floor.trouble is Trouble.LOST:
            yield from self._give_back(HandoffOutcome.CLOSED, is_lost=True)
            yield from self._say(floor.main, sentence(floor.main, "main_confirms", locale=locale))
            return
        is_complete = floor.is_workflow_complete
        is_done = is_complete or (workflow is None and outcome is HandoffOutcome.RETURNED)
        yield from self._say(specialist, sentence(specialist, "completed" if is_done else "exit", locale=locale))
        is_saved = yield from self._give_back(outcome)
        confirmation = None
        if is_saved:
            confirmation = sentence(specialist, "saved_for_later", locale=locale)
        elif is_done:
            confirmation = filled_sentence(specialist, "main_confirms", _collected(workflow), locale=locale)
        yield from self._say(floor.main, confirmation or sentence(floor.main, "main_confirms", locale=locale))

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

    def _welcome(self, offer: Workflow) -> str:
        words = self._floor.describe(offer.agent_id) or self._floor.main
        return sentence(words, "welcome_back", workflow=offer.name)

    def _tell_redefined(self, changed: DefinitionChanged) -> Iterator[BaseEvent]:
        """Tell that the workflow's steps are others than when it was left."""
        agent, workflow = self._floor.agent, self._floor.workflow
        at = progress(agent.workflow, workflow) if agent.workflow is not None and workflow is not None else None
        label = at.label if at is not None else changed.goes_on_in
        yield from self._say(agent, sentence(agent, "workflow_changed", label=label))

    def _say(self, agent: AgentDefinition, text: str, *, source: str | None = None) -> Iterator[BaseEvent]:
        """Let ``agent`` say what Baton has it say."""
        transcript = self._step.transcript
        message_id = transcript.new_id()
        yield text_start(message_id, agent)
        yield text_content(message_id, text)
        yield text_end(message_id)
        transcript.add_answer(message_id, agent, text, source=source)
        self.has_answered, self.last = True, None

    async def _wanted_workflow(self, wanted: Transfer) -> Workflow | None:
        """The unfinished workflow that an agent hands over to continue, if it still can be."""
        if wanted.workflow_id is None or wanted.refusal is not None:
            return None
        try:
            return await self._unfinished(wanted.workflow_id)
        except WorkflowUnavailable:
            return None

    async def _unfinished(self, workflow_id: str) -> Workflow:
        return await self._services.floors.unfinished(self._context.scope, workflow_id)

    def _audit_denial(self, target: AgentDefinition, permission: str) -> None:
        context = self._context
        detail = {"targetAgentId": target.id, "permission": permission, "runId": context.run.run_id}
        context.writes.add(
            self._services.audit.record(
                context.scope, "handoff", thread_id=context.thread_id, outcome="denied", detail=detail
            )
        )

    def _note_task(self, speaker: Speaker) -> None:
        """Remember the task that a specialist elsewhere goes on with at the user's next message."""
        handoff = self._floor.handoff
        if isinstance(speaker, Relay) and handoff is not None and handoff.remote_task_id != speaker.remote_task_id:
            self._floor.describe_handoff(remote_task_id=speaker.remote_task_id)


def _collected(workflow: Workflow | None) -> dict[str, str]:
    """What a workflow has collected that can stand in a sentence."""
    found: dict[str, str] = {}
    for fields in (workflow.data if workflow is not None else {}).values():
        found |= {name: value for name, value in fields.items() if isinstance(value, str)}
    return found
