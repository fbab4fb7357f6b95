"""A conversation at a desk within a run: its arrival, its messages and its return, with the events that show them."""

from __future__ import annotations

from dataclasses import replace

from baton.agents.attempt_context import Attempt
from baton.agents.call_outcome import Transfer
from baton.domain.agents.agent import AgentDefinition, is_desk
from baton.domain.agents.handoff_rules import list_needed_permissions
from baton.domain.agents.sentences import write_sentence
from baton.domain.desks.desk import DeskDefinition
from baton.domain.desks.desk_session import MAX_PREVIEW, DeskSession, ReturnReason
from baton.domain.errors import NotAtDesk
from baton.domain.handoffs.handoff import HandoffDefinition, HandoffOutcome
from baton.domain.locale_formats import find_format
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import derive_record_id
from baton.domain.text import split_slices
from baton.domain.threads.content import make_preview, text_of
from baton.domain.threads.events import MAX_DELTA_CHARS, make_text_content, make_text_end, make_text_start
from baton.domain.threads.message import DESK
from baton.domain.threads.running_conversation import SpecialistProblem
from baton.domain.threads.turn_requests import ActionRequest, ConversationAction
from baton.domain.times import convert_to_zone
from baton.ports.tenants.audit import Once
from baton.turns.dialogue.handoff_events import HandoffEvents

_OUTCOMES = {ReturnReason.PERSON: HandoffOutcome.RETURNED, ReturnReason.USER: HandoffOutcome.EXITED}
"""The outcomes by reason. With any other reason nobody has answered, and the handoff has failed."""
_SENTENCES = {
    ReturnReason.PERSON: "desk_returned",
    ReturnReason.SILENCE: "desk_silent",
    ReturnReason.NOBODY: "desk_nobody",
    ReturnReason.HOURS: "desk_over",
}


class DeskEvents:
    """The events of a run at a desk, in which no model takes part."""

    def __init__(self, attempt: Attempt, handoffs: HandoffEvents) -> None:
        self._attempt = attempt
        self._handoffs = handoffs
        self._facts = attempt.facts
        self._tracker = attempt.tracker
        self._clock = attempt.services.clock

    def refuse_closed(self, target: AgentDefinition, desk: DeskDefinition) -> bool:
        """Refuse a desk that takes no conversations now, and say when it opens. Return whether it is refused."""
        if desk.takes_at(self._clock.now()):
            return False
        self._say(self._tracker.current.agent, self._write_opening_sentence("desk_closed", target, desk))
        return True

    def begin_waiting(self, desk: DeskDefinition, ahead: int | None, previous: DeskSession | None = None) -> None:
        """Begin to wait at the desk that has just become active.

        ``ahead`` is the number of conversations that wait there already; None if it is not known. ``previous`` is the
        session at the desk from which a person has transferred the conversation.
        """
        agent, is_open = self._tracker.current.agent, desk.is_open(self._clock.now())
        session = self._session.take_over(previous) if previous is not None else self._add_user(self._session)
        self._change_session(replace(session, ahead=ahead if is_open else None))
        if is_open:
            self._say(agent, write_sentence(agent, "desk_waiting", locale=self._locale, agent=agent.name))
        else:
            self._say(agent, self._write_opening_sentence("desk_queued", agent, desk))
        self._audit("wait")

    def _add_user(self, session: DeskSession) -> DeskSession:
        """Return the session with the user's last message, and their name, language and permissions from the token."""
        user, message = self._attempt.scope, self._facts.user_message
        if message is not None and message.is_own:
            session = session.receive(make_preview(message.content), self._facts.question.timestamp)
        else:
            session = replace(session, last_message=self._last_words[:MAX_PREVIEW])
        return replace(
            session, user_name=user.name, user_locale=user.locale, permissions=self._find_relevant_permissions()
        )

    def _find_relevant_permissions(self) -> tuple[str, ...]:
        """Return the user's permissions that desks require. Transfers use them, as people act without the token."""
        main = self._tracker.current.main
        desks = (agent for agent in self._facts.agents.all() if is_desk(agent))
        required_permissions = {permission for desk in desks for permission in list_needed_permissions(main, desk)}
        return tuple(sorted(required_permissions & self._attempt.scope.permissions))

    def deliver(self) -> None:
        """Record the user's message as the newest one at the desk, whose people answer it."""
        question = self._facts.question
        session = replace(self._session, permissions=self._find_relevant_permissions())
        self._change_session(session.receive(make_preview(question.content), question.timestamp))

    async def carry_out(self, request: ActionRequest) -> None:
        """Carry out what a person of the desk does, or what Baton does in their place. Raises ``NotAtDesk``."""
        match request.action:
            case ConversationAction.DESK_TAKE:
                self._take_conversation(request)
            case ConversationAction.DESK_REPLY:
                self._send_reply(request)
            case ConversationAction.DESK_NOTE:
                self._add_note(request)
                self._audit("note")
            case ConversationAction.DESK_TRANSFER:
                await self._transfer_conversation(request)
            case _:
                self.leave(request.return_reason, request)

    def leave(self, reason: ReturnReason, request: ActionRequest | None = None, *, locale: str | None = None) -> None:
        """Return to the main agent, with the person's note for it, and say why."""
        if reason is ReturnReason.UNAVAILABLE:
            self.return_without_desk(SpecialistProblem.UNAVAILABLE)
            return
        if request is not None and request.content:
            self._add_note(request)
        conversation, session, locale = self._tracker.current, self._session, locale or self._locale
        outcome = _OUTCOMES.get(reason, HandoffOutcome.FAILED)
        self._note_return(reason, outcome)
        self._handoffs.give_back(outcome)
        text = write_sentence(
            conversation.agent,
            _SENTENCES.get(reason, "main_confirms"),
            locale=locale,
            agent=conversation.main.name,
            desk=conversation.agent.name,
            person=session.person.name if session.person is not None else conversation.agent.name,
        )
        self._say(conversation.main, text)

    def return_without_desk(self, trouble: SpecialistProblem) -> None:
        """Return to the main agent because the desk is no longer available to the user, and say so."""
        self._note_return(ReturnReason.UNAVAILABLE, HandoffOutcome.FAILED)
        self._handoffs.return_without_specialist(trouble, source=DESK, locale=self._locale)

    def _note_return(self, reason: ReturnReason, outcome: HandoffOutcome) -> None:
        self._audit("return", reason=reason.value)
        count(Metric.DESKS_MISSED if outcome is HandoffOutcome.FAILED else Metric.DESKS_LEFT)

    @property
    def _session(self) -> DeskSession:
        """The state at the desk. Raises ``NotAtDesk`` if the main agent or a specialist is active."""
        session = self._tracker.current.desk
        if session is None:
            raise NotAtDesk
        return session

    @property
    def _last_words(self) -> str:
        """The user's last message before this run, in the current session; empty if there is none."""
        first = self._facts.thread.episode_first_ordinal
        messages = (message for message in reversed(self._attempt.history.messages) if message.ordinal >= first)
        return next((make_preview(message.content) for message in messages if message.is_own), "")

    @property
    def _locale(self) -> str | None:
        """The user's language on arrival, because people act without the user's token; otherwise the scope's."""
        session = self._tracker.current.desk
        return (session.user_locale if session is not None else None) or self._attempt.scope.locale

    def _say(self, agent: AgentDefinition, text: str) -> None:
        self._handoffs.say(agent, text, source=DESK)

    def _change_session(self, session: DeskSession) -> None:
        """Replace the state at the desk, and emit the events of the change."""
        before = self._tracker.current.shown
        self._tracker.current = replace(self._tracker.current, desk=session)
        self._attempt.emit_all(self._tracker.list_changes_since(before))

    def _take_conversation(self, request: ActionRequest) -> None:
        person, agent = request.author, self._tracker.current.agent
        if person is None:
            raise NotAtDesk
        self._change_session(self._session.take(person, self._facts.question.timestamp))
        notice = write_sentence(agent, "desk_taken", locale=self._locale, person=person.name, agent=agent.name)
        self._say(agent, notice)
        self._audit("take")
        waiting_time = self._facts.question.timestamp - self._session.arrived_at
        count(Metric.TIME_TO_PERSON, max(0, round(waiting_time.total_seconds() * 1000)))

    def _send_reply(self, request: ActionRequest) -> None:
        person, agent, transcript = request.author, self._tracker.current.agent, self._attempt.transcript
        if person is None:
            raise NotAtDesk
        message_id, text = transcript.new_id(), text_of(request.content)
        message = transcript.add_message_of(message_id, agent, request.content, person)
        self._attempt.emit(make_text_start(message_id, agent, author=person))
        self._attempt.emit_all(
            make_text_content(message_id, text[start:end]) for start, end in split_slices(text, MAX_DELTA_CHARS)
        )
        self._attempt.emit(make_text_end(message_id, attachments=message.attachments))
        self._change_session(self._session.answer(make_preview(request.content)))
        self._audit("reply")

    def _add_note(self, request: ActionRequest) -> None:
        transcript = self._attempt.transcript
        if request.author is not None:
            text = text_of(request.content)
            transcript.add_note_of(transcript.new_id(), self._tracker.current.agent, text, request.author)

    async def _transfer_conversation(self, request: ActionRequest) -> None:
        conversation, before = self._tracker.current, self._session
        target = conversation.describe(request.about or "")
        if target is None or target.desk is None:
            raise NotAtDesk
        self._audit("transfer", deskId=target.id)
        if request.content:
            self._add_note(request)
        self._handoffs.give_back(HandoffOutcome.RETURNED, goes_on=True)
        handoff = HandoffDefinition(agent=target.id)
        # The user can read a handoff's summary, so the note is not in it.
        await self._handoffs.hand_over(Transfer(target, handoff, "transferred", ""), None)
        self.begin_waiting(target.desk, None, before)

    def _write_opening_sentence(self, name: str, agent: AgentDefinition, desk: DeskDefinition) -> str:
        """Return the sentence ``name`` with the next opening, in the user's time zone if it is known.

        Without a next opening, return the sentence that the desk is unavailable.
        """
        opening = desk.find_next_opening(self._clock.now())
        if opening is None or desk.hours is None:
            return write_sentence(agent, "unavailable", locale=self._locale, agent=agent.name)
        zone = self._attempt.today.known_zone or desk.hours.zone
        locale = agent.find_sentence_locale(name, self._locale)
        local, formats = convert_to_zone(zone, opening), find_format(locale or agent.default_locale)
        return write_sentence(
            agent,
            name,
            locale=locale,
            agent=agent.name,
            weekday=formats.format_weekday(local),
            date=formats.format_day(local),
            time=formats.format_clock(local),
            zone=zone,
        )

    def _audit(self, action: str, **detail: str) -> None:
        """Audit an action at the desk, once for all attempts at the run."""
        attempt, request = self._attempt, self._facts.request
        person = request.author if isinstance(request, ActionRequest) else None
        scope = attempt.scope if person is None else replace(attempt.scope, user_id=person.id)
        once = Once(
            derive_record_id(attempt.thread_id, f"desk.{action}", request.message_id), self._facts.question.timestamp
        )
        desk_id = detail.get("deskId") or self._tracker.current.agent.id
        attempt.writes.add(
            attempt.services.audit.record(
                scope,
                f"desk.{action}",
                thread_id=attempt.thread_id,
                outcome="done",
                detail={"deskId": desk_id, "runId": attempt.run.run_id, **detail},
                once=once,
            )
        )
