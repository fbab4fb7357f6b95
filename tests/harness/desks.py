"""Conversations at desks, on fakes and with scripted models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.desks.desk_session import DeskSession, Person
from baton.domain.tenants.identity import Scope
from baton.domain.threads.desk_requests import (
    make_note_request,
    make_reply_request,
    make_return_request,
    make_take_request,
    make_transfer_request,
)
from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.thread import Thread
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.harness.harness import ASSISTANT, Harness, Turn

ANNA = Person("anna", "Anna")
BEN = Person("ben", "Ben")


def desk(id_: str = "support", **fields: Any) -> AgentDefinition:
    """A desk."""
    rules = {"id": id_, "kind": "desk", "name": f"{id_.title()} team", "description": "People."}
    return AgentDefinition.model_validate({**rules, **fields})


SUPPORT = desk(triggers=["talk to a human"])


class DeskHarness(Harness):
    """A harness whose assistant hands over to desks."""

    def __init__(
        self,
        *answers: Answer,
        support: AgentDefinition = SUPPORT,
        billing_triggers: Sequence[str] = (),
        billing_permissions: Sequence[str] = (),
        **ports: Any,
    ) -> None:
        handoffs = [{"to": "support"}, {"to": "billing"}]
        assistant = AgentDefinition.model_validate({**ASSISTANT.model_dump(), "handoffs": handoffs, "mcp": True})
        model = ScriptedChatModel(otherwise=Answer(("Hello there.",)))
        model.script(*answers)
        super().__init__(
            model=model,
            assistant=assistant,
            others=(
                support,
                desk("billing", triggers=list(billing_triggers), required_permissions=list(billing_permissions)),
            ),
            **ports,
        )
        self._carried_out: set[str] = set()

    async def act(self, request: Any) -> Turn:
        """Carry out what a person does, in the scope of the user."""
        run = Turn([], None)
        run.finished = await self.turns.run(
            Scope(self.ada.tenant_id, self.ada.user_id), request, run.events.append, seconds=20
        )
        return run

    async def ask(self, message_id: str = "m1") -> Turn:
        """Ada asks for a person by a trigger."""
        self.model.script("Ada wants a person.")
        return await self.say(message_id, "I want to talk to a human")

    async def thread(self) -> Thread:
        return await self.store.get_thread(self.ada, self.thread_id)

    async def session(self) -> DeskSession:
        """The state at the desk."""
        session = (await self.thread()).conversation.desk
        assert session is not None
        return session

    async def take(self, person: Person = ANNA) -> Turn:
        return await self.act(make_take_request(await self.thread(), await self.session(), person))

    async def reply(self, text: str = "I am here.", message_id: str = "p1", person: Person = ANNA) -> Turn:
        return await self.act(make_reply_request(await self.thread(), person, message_id, text))

    async def note(self, text: str, message_id: str = "n1", person: Person = ANNA) -> Turn:
        return await self.act(make_note_request(await self.thread(), person, message_id, text))

    async def hand_back(self, note: str = "", person: Person = ANNA) -> Turn:
        return await self.act(make_return_request(await self.thread(), await self.session(), person, note))

    async def hand_on(self, desk_id: str = "billing", note: str = "", person: Person = ANNA) -> Turn:
        return await self.act(make_transfer_request(await self.thread(), await self.session(), person, desk_id, note))

    def make_person_scope(self, *permissions: str, user_id: str = "anna") -> Scope:
        """Return the scope of a person with permissions."""
        return replace(self.ada, user_id=user_id, permissions=frozenset({"desk:answer", *permissions}))

    async def sweep(self) -> None:
        """Sweep the due threads, and carry out the records that this queues."""
        await self.sweeper.sweep(seconds=20)
        await self.run_queue()

    async def run_queue(self) -> None:
        """Carry out the queued records."""
        for _, queued in list(self.queue.sent):
            if queued.request_id not in self._carried_out:
                self._carried_out.add(queued.request_id)
                record = queued.model_dump_json(by_alias=True)
                await self.app.queued_turns.run(record, "", RecordDelivery(queued.request_id, 1), seconds=20)
