"""Conversations that leave a record of every kind behind, on fakes or in real stores."""

from __future__ import annotations

import asyncio
import json
import uuid
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.desks.desk_session import DeskSession
from baton.domain.documents.document import IngestionStep, VersionStatus
from baton.domain.documents.source import Refresh, RefreshCounts, SourceError, SourceStatus
from baton.domain.errors import ModelUnavailable
from baton.domain.memory.procedure import Procedure, ProcedureAction, ProcedureScope, parse_draft
from baton.domain.runs.task import Task
from baton.domain.runs.tool_call import ToolCall
from baton.domain.schedules.background_task import BackgroundStatus
from baton.domain.schedules.run_source import CauseKind, RunSource
from baton.domain.tenants.identity import Permission, ProjectScope, Scope, resolve_thread_ref
from baton.domain.threads.desk_requests import (
    make_note_request,
    make_reply_request,
    make_return_request,
    make_take_request,
)
from baton.domain.threads.thread import EndReason, Thread
from baton.domain.threads.turn_requests import ActionRequest
from baton.memory.procedures.administration import ReadVersion
from baton.ports.agents.agent_client import AgentFailed
from baton.ports.agents.tools import ToolFailed, ToolResult
from baton.ports.threads.leases import LeaseRequest
from baton.ports.threads.messages import TurnRecord
from baton_documents.results import PageError
from baton_testing.fakes.agents.agent_client import Reply
from baton_testing.fakes.clock import NOON
from baton_testing.fakes.documents.files import FakeFiles
from tests.contracts.dead_deliveries import dead_delivery
from tests.contracts.documents import new_document, processing, waiting
from tests.contracts.evaluations import make_evaluation
from tests.contracts.schedules import new_background_task, new_schedule
from tests.contracts.sources import new_source
from tests.contracts.stores import Stores, make_question
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.harness.desks import ANNA, SUPPORT, desk
from tests.harness.handoffs import HELPER, LOCKED, MAKER, HandoffHarness, advance, calling, transfer
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.sessions import make_episode
from tests.harness.wiki import answer, delete, no, yes

HOST_ID = "booking 4711 ä"
LONGER_THAN_A_LEASE = 31.0
ARMED = {
    "tools": [{"type": "python", "name": "look", "description": "Looks.", "entry_point": "wiki:look"}],
    "limits": {"tool_calls": 3, "bad_calls": 3},
}
EXPERT = AgentDefinition.model_validate(
    {"id": "expert", "name": "Expert", "description": "Knows.", "system_prompt": "Be exact.", **ARMED}
)
SLOW = AgentDefinition.model_validate(
    {
        "id": "slow",
        "name": "Slow",
        "description": "Takes its time.",
        "system_prompt": "Think.",
        "timeouts": {"consult_seconds": 0.01},
    }
)
ELSEWHERE = AgentDefinition.model_validate(
    {
        "id": "elsewhere",
        "name": "Elsewhere",
        "description": "Runs elsewhere.",
        "remote": {"card_url": "https://agents.example.com"},
        "handoffs": [],
    }
)
BRANCHED = HELPER.model_copy(update={"id": "branched", "name": "Branched", "triggers": ("branch off",)})
LIBRARY = "manual"
MAIN = AgentDefinition.model_validate(
    {
        **ASSISTANT.model_dump(),
        **ARMED,
        "libraries": [LIBRARY],
        "sub_agents": ["expert", "slow", "elsewhere"],
        "handoffs": [
            {"agent": "maker"},
            {"agent": "helper", "context_mode": "recent"},
            {"agent": "branched", "context_mode": "forked"},
            {"agent": "locked"},
            {"agent": "elsewhere"},
            {"agent": "support"},
            {"agent": "billing"},
        ],
    }
)


@dataclass
class RecordedHarness(HandoffHarness):
    """Scenes, each in a separate conversation; ``threads`` names them."""

    def __init__(self, stores: Stores | None = None) -> None:
        others = (MAKER, HELPER, LOCKED, EXPERT, SLOW, ELSEWHERE, BRANCHED, SUPPORT, desk("billing"))
        Harness.__init__(self, model=ScriptedChatModel(), assistant=MAIN, others=others, stores=stores)
        self.threads: dict[str, str] = {}
        self.documents_made: list[str] = []
        self.sources_made: list[str] = []
        self.procedures_made: list[str] = []
        self.deliveries_made: list[str] = []
        self.schedules_made: list[str] = []
        self._messages = 0
        self._add_tools()

    def _add_tools(self) -> None:
        async def look() -> str:
            return "Three pages. 猫 \U0001f600"

        async def mute() -> str:
            return ""

        async def read() -> ToolResult:
            source = {"kind": "document", "id": "d-1", "title": "Limits", "url": "https://example.com/d-1"}
            return ToolResult("word " * 100_000, (source,))

        async def broken() -> str:
            raise ToolFailed("The station is closed.")

        async def out() -> str:
            raise ToolFailed("Nobody answers.", is_outage=True)

        async def crash() -> str:
            raise RuntimeError("a fault of ours")

        async def remove(page: str) -> str:
            return f"{page} is gone."

        page = {"type": "object", "properties": {"page": {"type": "string"}}, "required": ["page"]}
        for function in (look, mute, read, broken, out, crash):
            self.tools.add(function.__name__, function)
        self.tools.add("delete", remove, parameters=page, requires_approval=True)

    async def add_documents(self) -> None:
        """Add a document in every state, and sources that have been read, are being read and have failed."""
        errors = (PageError(3, "The page holds no text."),)
        ready = replace(waiting(1), status=VersionStatus.READY, chunks=40, page_errors=errors, page_error_count=1)
        failed = replace(waiting(2), status=VersionStatus.FAILED, error_code="document_empty", error="It is empty.")
        new = replace(new_document(agent_id="assistant"), required_permission="hr:read")
        busy = replace(processing(2), step=IngestionStep.EXTRACT, progress=40, pages=12)
        for number, (active, newest) in enumerate(((None, waiting(1)), (ready, None), (ready, busy), (None, failed))):
            document_id = f"doc_{number:032x}"
            at = NOON + timedelta(seconds=number)
            record = replace(new, id=document_id, created_at=at, active=active, next=newest, check_at=None)
            await self.documents.create(self.ada, record)
            self.documents_made.append(document_id)
        manual = replace(new_document(agent_id=LIBRARY), id=f"doc_{4:032x}", active=ready, next=None, check_at=None)
        await self.documents.create(ProjectScope(), manual)
        source_errors = (SourceError("https://example.com/a", "HTTP 503"),)
        counts = RefreshCounts(1, 2, 3, 4)
        for number, change in enumerate(
            (
                {},
                {"status": SourceStatus.REFRESHING, "refresh": Refresh(1, NOON, counts, source_errors)},
                {"status": SourceStatus.READY, "counts": counts, "errors": source_errors, "refreshed_at": NOON},
                {"status": SourceStatus.FAILED, "error": "The sitemap lists no pages of its own host."},
            )
        ):
            source = replace(new_source(agent_id="assistant", number=number), **change)  # type: ignore[arg-type]
            await self.sources.create(self.ada, source)
            self.sources_made.append(source.id)

    async def add_procedures(self) -> None:
        """Add a procedure in a version of every status, and a procedure of all agents."""
        author = replace(self.ada, permissions=frozenset({Permission.PROCEDURE_APPROVE}))
        admin = self.app.procedures.administration

        async def make(words: str, of: ProcedureScope = ProcedureScope.AGENT, *, name: str = "Post Alert") -> Procedure:
            steps = [{"text": words, "condition": "skip if it is late"}, {"text": "Post it."}]
            fields = {"name": name, "description": words, "triggers": ["post an alert"], "steps": steps}
            return await admin.create(author, "assistant", parse_draft(fields), of)

        async def decide(procedure: Procedure, action: ProcedureAction, reason: str | None = None) -> None:
            await admin.decide(
                author, "assistant", procedure.id, action, read=ReadVersion(procedure.version), reason=reason
            )
            self.clock.advance(1)

        await decide(await make("Post."), ProcedureAction.REJECT, "Too vague.")
        await decide(await make("Post it once."), ProcedureAction.APPROVE)
        await decide(await make("Post it there."), ProcedureAction.APPROVE)
        changed = await make("Post it there, please.")
        shared = await make("Post it for all.", ProcedureScope.TENANT)
        await decide(shared, ProcedureAction.APPROVE)
        other = await make("Greet.", name="Greet")
        await decide(other, ProcedureAction.APPROVE)
        await decide(other, ProcedureAction.RETIRE)
        self.procedures_made += [changed.id, shared.id, other.id]

    async def everything(self) -> None:
        """Play every scene. The one whose worker dies and the one that is still running come last."""
        operator = replace(self.ada, permissions=frozenset({Permission.TENANT_REMOVE}))
        await self.app.privacy.removal_calls.plan(operator)  # which only counts
        await self.add_documents()
        await self.add_procedures()
        await self.send_words()
        await self.run_without_users()
        await self.send_attachments()
        await self.calls()
        await self.consult_agents()
        await self.end_runs()
        await self.ask_for_approvals()
        await self.hand_over()
        await self.at_desks()
        await self.make_forks()
        await self.add_agents()
        await self.publish_evaluations()
        await self.add_dead_deliveries()
        await self.add_schedules()
        await self.add_tasks()
        await self.end_sessions()
        await self.cause_denials()
        await self.leave_runs_unfinished()

    async def add_agents(self) -> None:
        """Add agents of the tenant: one with two versions, and one that is deleted."""
        for prompt in ("Ask.", "Ask twice."):
            await self.make_agent("tutor", prompt)
        await self.make_agent("left", "Ask.")
        await self.app.agent_editing.delete(self.ada, "left")

    async def publish_evaluations(self) -> None:
        """Publish three evaluations."""
        for number in range(3):
            await self.evaluations.put(self.ada, make_evaluation(self.clock, number))

    async def add_dead_deliveries(self) -> None:
        """Add three events that no receiver of a webhook took."""
        for number in range(3):
            dead = dead_delivery(self.ada, self.clock.now(), number, thread_id=next(iter(self.threads.values())))
            await self.dead_deliveries.put(dead)
            self.deliveries_made.append(dead.id)

    async def add_tasks(self) -> None:
        """Add background tasks of a conversation: one that works, and one that has ended."""
        now = self.clock.now()
        working = new_background_task(now, progress="The third of ten pages", message="Find out about Ada Lovelace.")
        end = new_background_task(now, "t2").end(BackgroundStatus.COMPLETED, now, "r2")
        for task in (working, end):
            await self.background_tasks.add(self.ada, self.thread_id, task)

    async def run_without_users(self) -> None:
        """Run turns that a schedule, an event and a task begin; one run stays silent."""
        self.begin_thread("begun by themselves")
        causes = [RunSource(CauseKind.SCHEDULE, "once", late=3600), RunSource(CauseKind.EVENT, "e1", "order.shipped")]
        causes += [RunSource(CauseKind.TASK, "t1"), RunSource(CauseKind.EVENT, "e2", "order.shipped")]
        scripts = ["Water them.", "It is on its way.", "It is done.", Answer.calling(call("stay_silent"))]
        for cause, script in zip(causes, scripts, strict=True):
            self.clock.advance(1)
            self.model.script(script)
            request = replace(self.request(f"begun-{cause.id}", '{"carrier": "DHL"}'), begun_by=cause)
            await self.turns.run(self.ada, request, lambda event: None, seconds=20)
        await self.ask("Thanks", "You are welcome.")

    async def add_schedules(self) -> None:
        """Add a reminder of one run, one that repeats, one that is paused, and one that is finished."""
        now = self.clock.now()
        for reminder in (
            new_schedule(now, "once"),
            new_schedule(now, "daily", rule="FREQ=DAILY", follows_user=True, created_by="agent"),
            new_schedule(now, "paused ü#", hours=None, paused=True),
            new_schedule(now, "finished", hours=None, last_at=now, last_run_id="r", runs=1),
        ):
            await self.schedules.add(self.ada, reminder)
            self.schedules_made.append(reminder.id)

    async def make_agent(self, agent_id: str, prompt: str) -> None:
        """Add a version of an agent of the tenant."""
        values = {"name": "Tutor", "description": "Helps.", "system_prompt": prompt}
        await self.app.agent_editing.put(self.ada, agent_id, values, as_served=False, comment="Better")

    def begin_thread(self, name: str, thread_id: str | None = None) -> None:
        """Begin a conversation."""
        self.model.forget()
        self.threads[name] = self.thread_id = thread_id or str(uuid.uuid4())

    async def ask(self, text: Any, *answers: Answer | str | ModelUnavailable, scope: Scope | None = None) -> Any:
        """Run a turn with the model's answers."""
        self.clock.advance(1)
        self._messages += 1
        self.model.script(*answers)
        return await self.say(f"m{self._messages}", text, scope=scope)

    async def send_words(self) -> None:
        self.begin_thread("words")
        await self.ask("Hello", "Hi.")
        await self.ask("Ünï\u200dcode \U0001f600\n\ttabs", "So long.")
        await self.ask("x" * 400_000, "Long.")
        self.begin_thread("of a host", HOST_ID)
        await self.ask("Hello", "Hi.")
        self.threads["of a host, canonical"] = resolve_thread_ref(self.ada, HOST_ID).id

    async def send_attachments(self) -> None:
        self.begin_thread("attachments")
        files = self.files
        assert isinstance(files, FakeFiles)
        sent = await files.presign_upload(self.ada, self.thread_id, "a.pdf", "application/pdf", 4)
        never_sent = await files.presign_upload(self.ada, self.thread_id, "b.png", "image/png", 4)
        files.put(sent, b"%PDF")

        def upload(kind: str, file_id: str, mime: str, **more: Any) -> dict[str, Any]:
            source = {"type": "file", "value": file_id, "provider": "baton", "mimeType": mime}
            return {"type": kind, "source": source, **more}

        await self.ask(
            [
                {"type": "text", "text": "What are these?"},
                {"type": "image", "source": {"type": "url", "value": "https://example.com/cat.png"}},
                {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
                upload("document", sent.file_id, "application/pdf", metadata={"name": "a.pdf", "size": 4}),
            ],
            "Pictures.",
        )
        with_lost_file = [upload("image", never_sent.file_id, "image/png")]
        await self.ask(with_lost_file, ModelUnavailable())

    async def calls(self) -> None:
        self.begin_thread("calls")
        for number, name in enumerate(("look", "mute", "read", "broken", "out", "crash", "unknown")):
            text = "Let me see." if number % 2 else ""
            await self.ask("Well?", Answer.calling(call(name), text=text), "That is it.")
        bad = [ToolCall("b1", "delete", "{}"), ToolCall("b2", "look", "no json"), ToolCall("b3", "look", "[1]")]
        await self.ask("Wrong?", Answer.calling(*bad), "Sorry.")
        await self.ask("Too many?", Answer.calling(*(call("look", number) for number in range(5))), "Enough.")
        await self.ask("Silent?", Answer.calling(call("look")), Answer(()))

    async def consult_agents(self) -> None:
        self.begin_thread("consultations")
        await self.ask(
            "One?", Answer.calling(make_asking_call("expert")), Answer.calling(call("look")), "It is so.", "So it is."
        )
        self.agent_client.script("elsewhere", "All fine.", AgentFailed("It is down."), Reply(()))
        for _ in range(3):
            await self.ask("Elsewhere?", Answer.calling(make_asking_call("elsewhere")), "They say.")
        await self.ask("In vain?", Answer.calling(make_asking_call("expert")), ModelUnavailable(), "I do not know.")
        await self.ask("Slow?", Answer.calling(make_asking_call("slow")), Answer(gate=asyncio.Event()), "No answer.")

    async def end_runs(self) -> None:
        self.begin_thread("endings")
        await self.ask("Fails?", ModelUnavailable())
        await self.ask("Fails later?", Answer(("Well, ",), ModelUnavailable()))
        began = asyncio.Event()

        async def dig() -> str:
            began.set()
            await asyncio.Event().wait()
            return "never"

        self.tools.add("dig", dig)
        running = asyncio.ensure_future(self.ask("Dig", Answer.calling(call("dig"), text="Digging.")))
        await began.wait()
        await self.controls.cancel(self.ada, self.thread_id, None)
        await running
        self.tools.withdraw("dig")
        endless = Answer(("Once ", "upon"), gate=asyncio.Event(), gate_at=1)
        await self._cancel(endless)
        await self._cancel(Answer.calling(make_asking_call("expert")), endless)

    async def _cancel(self, *answers: Answer) -> None:
        """Run a turn, and cancel it in the middle of the last answer."""
        times = len(self.model.requests) + len(answers)
        running = asyncio.ensure_future(self.ask("Talk", *answers))
        await self.wait_for_requests(times)
        await self.controls.cancel(self.ada, self.thread_id, None)
        await running

    async def ask_for_approvals(self) -> None:
        decisions = {"approved": yes, "refused": no}
        for name, decide in decisions.items():
            interrupt = await self._interrupt(name)
            self.model.script("So be it.")
            await answer(self, decide(interrupt))
        interrupt = await self._interrupt("refused with a comment")
        await answer(self, yes(interrupt, {"approved": False, "comment": "Not that one!"}))
        await self._interrupt("passed over")
        await self.ask("Never mind", "Fine.")
        interrupt = await self._interrupt("expired")
        self.clock.advance(100 * 3600)
        await answer(self, yes(interrupt))
        await self._interrupt("waiting for one")
        await self._interrupt("waiting for two", "home", "about")

    async def _interrupt(self, name: str, *pages: str) -> dict[str, Any]:
        self.begin_thread(name)
        received = await self.ask("Delete it.", Answer.calling(*map(delete, pages or ("home",)), call("look")))
        first: dict[str, Any] = received.last["outcome"]["interrupts"][0]
        return first

    async def hand_over(self) -> None:
        name = {"name": "Box"}
        self.begin_thread("returned")
        back = calling("return_to_main", summary="Box.", outcome="completed")
        done = [advance("BUILD", **name), advance("DONE"), back]
        await self.ask("Make one", transfer(), "What name?")
        await self.ask("Box", *done, "Made.")
        self.begin_thread("exited")
        await self.ask("Make one", transfer(), "What name?")
        await self.exit()
        self.begin_thread("in session")
        await self.ask("Please make a thing", "Ada wants a thing.", "What name?")
        await self.ask("And?", calling("advance_workflow", state="DONE", data={}), "Not yet.")
        await self.ask("And?", advance("BUILD", **name), "Building.")
        self.begin_thread("closed in session")
        await self.ask("Make one", transfer(), "What name?")
        await self.close()
        self.begin_thread("refused handoffs")
        await self.ask("Open sesame", "No.")
        await self.ask("Cave?", transfer("locked"), "No.")
        self.begin_thread("recent")
        await self.ask("Hello", Answer.calling(call("look")), "Hi.")
        await self.ask("Help", transfer("helper"), "How?")
        self.begin_thread("branched off")
        await self.ask("Hello", "Hi.")
        await self.ask("Branch", transfer("branched"), Answer.calling(call("look")), "Off we go.")
        await self.ask("More", "Gone on.")
        self.threads["the branch"] = str((await self.list_handoffs())[0]["childThreadId"])
        self.begin_thread("failed handoff")
        self.agent_client.script("elsewhere", AgentFailed("It is down."))
        await self.ask("There", transfer("elsewhere"), "They are out.")
        self.begin_thread("relayed")
        self.agent_client.script("elsewhere", "Here we are.")
        await self.ask("There", transfer("elsewhere"))

    async def at_desks(self) -> None:
        """A conversation that waits at a desk, one that a person has taken, and one that was handed back."""
        for name in ("waiting at a desk", "taken", "handed back"):
            self.begin_thread(name)
            await self.ask("I want to talk to a human", "Ada wants a person.")
            await self.ask("Is anybody there?")
            if name != "waiting at a desk":
                await self.act(make_take_request(*await self.at_desk(), ANNA))
                await self.act(make_reply_request((await self.at_desk())[0], ANNA, "p1", "I am here."))
                await self.act(make_note_request((await self.at_desk())[0], ANNA, "n1", "She is in a hurry."))
            if name == "handed back":
                await self.act(make_return_request(*await self.at_desk(), ANNA, "All is well."))

    async def at_desk(self) -> tuple[Thread, DeskSession]:
        """The thread that is at a desk, and its state there."""
        thread = await self.store.get_thread(self.ada, self.thread_id)
        assert thread.conversation.desk is not None
        return thread, thread.conversation.desk

    async def act(self, request: ActionRequest) -> None:
        """Carry out what a person of a desk does."""
        await self.turns.run(self.ada, request, lambda event: None, seconds=20)

    async def make_forks(self) -> None:
        self.begin_thread("forked")
        await self.ask("Hello", Answer.calling(call("look"), text="Let me see."), "Hi.")
        for count in (0, 5):
            instance = await self.forks.fork(
                self.ada, self.thread_id, agent_id="helper", include_history_messages=count
            )
            self.threads[f"fork with {count}"] = instance.id

    async def end_sessions(self) -> None:
        for name, reason in (("closed", EndReason.USER_CLOSED), ("timed out", EndReason.TIMEOUT)):
            self.begin_thread(name)
            await self.ask("Hello, I am ada@example.com", "Hi.")
            await self.close(reason)
            await make_episode(self)
        self.begin_thread("reopened")
        await self.ask("Hello", "Hi.")
        await self.close()
        await self.ask("Hello again", "Hi again.")
        self.begin_thread("ended by the agent")
        await self.ask("Bye", Answer.calling(call("end_conversation", reason="done"), text="Bye."))

    async def close(self, reason: EndReason = EndReason.USER_CLOSED) -> None:
        await self.closer.close(self.ada, self.thread_id, reason, patience=5)

    async def cause_denials(self) -> None:
        self.begin_thread("of another user")
        await self.ask("Mine", "Yours.", scope=replace(self.ada, user_id="bob"))
        self.begin_thread("of another tenant")
        await self.ask("Mine", "Yours.", scope=Scope(f"{self.ada.tenant_id}-2", "ada"))

    async def leave_runs_unfinished(self) -> None:
        for name in ("of a dead worker", "running"):
            self.begin_thread(name)
            await self.ask("Hello", "Hi.")
            request = LeaseRequest(self.thread_id, "r-9", "m-9")
            lease = await self.store.acquire(self.ada, request)
            record = TurnRecord("m-9", "r-9", "digest", lease.thread.next_ordinal, lease.fence)
            await self.store.open_turn(lease, record)
            await self.store.put_message(lease, make_question(lease, "And now?"))
            began = Task(str(uuid.uuid4()), "r-9", "call_9", "expert", "Which?", self.clock.now())
            await self.records.put_task(lease, began)
            if name != "running":
                self.clock.advance(LONGER_THAN_A_LEASE)


def call(name: str, number: int = 0, **arguments: Any) -> ToolCall:
    """A call of a tool outside."""
    return ToolCall(f"call-{name}-{number}", name, json.dumps({**arguments, **({"n": number} if number else {})}))


def make_asking_call(agent_id: str) -> ToolCall:
    """A call of another agent."""
    return ToolCall(f"call-{agent_id}", f"ask_{agent_id}", json.dumps({"message": "Which?"}))
