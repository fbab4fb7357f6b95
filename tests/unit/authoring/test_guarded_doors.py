"""Every text of a caller that reaches a guarded agent is judged by its input guardrails, by whatever door it comes."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from baton import Agent, Handoff, Refuse, RunContext, tool
from baton.adapters.tools.header_values import HeaderValues
from baton.adapters.tools.python_tools import PythonTools
from baton.adapters.tools.toolbox import Toolbox
from baton.authoring.functions import Functions
from baton.domain.agents.guardrail import Origin
from baton.domain.agents.tool import PythonTool
from baton.domain.memory.procedure import Procedure, ProcedureDraft, ProcedureStep
from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision
from baton.domain.threads.a2a_task import EXTENSION_URI
from baton.domain.threads.message import Role
from baton.domain.threads.turn_requests import ClientOffer, ClientTool, ContextItem, IncomingHandoff
from baton.memory.prompt.context import AgentHistory, Assembly
from baton.threads.requests.parsing import make_decision_request
from baton.threads.requests.session_import import parse_imported_session
from baton_testing.fakes.documents.files import FakeFiles
from tests.fakes.chat_model import Answer
from tests.harness.armed import call
from tests.harness.coded import NoSecrets
from tests.harness.events import TAKES, EventSender
from tests.harness.harness import Harness
from tests.harness.page import COLOUR, PAGE, result, run_until_interrupt
from tests.harness.remembered import remember
from tests.unit.api.a2a_client import A2AServed, blocking, message
from tests.unit.api.served import Served

WORD = "FORBIDDEN"
GUARDED, PLAIN = "Guard the house.", "Be plain."
PAGE_OF_DOCS = Path(__file__).parents[3] / "docs/how-to/add-guardrails.md"
QUESTION = "What is my cat called?"


@tool(approval="always")
def refund(amount: int) -> str:
    """Pay money back."""
    return f"{amount} paid."


class GuardedHarness(Harness):
    """A guarded agent, an unguarded one that hands over to it and consults it, and all that was judged."""

    def __init__(self, main: str = "guarded", *, runs: bool = False) -> None:
        """The guarded agent has a coroutine that answers if it ``runs``."""
        self.judged: list[tuple[str, str]] = []
        functions = Functions()
        guarded = Agent("guarded", GUARDED, main=True, tools=(refund,), triggers=["guard me"], events=TAKES["events"])
        plain = Agent("plain", PLAIN, main=True, handoffs=[Handoff(guarded, context_mode="full")], sub_agents=[guarded])

        @guarded.input_guardrail
        def judge(text: str, origin: str) -> Refuse | None:
            self.judged.append((origin, text))
            return Refuse("Not that.") if WORD in text else None

        if runs:

            @guarded.run
            async def run(context: RunContext, message: str) -> None:
                await context.answer()

        toolbox = Toolbox({PythonTool: lambda: PythonTools(functions)}, HeaderValues(NoSecrets(), NoSecrets(), "dev"))
        agents = {agent.id: agent.definition for agent in (guarded, plain)}
        first = agents.pop(main)
        super().__init__(
            assistant=first, others=tuple(agents.values()), recalls=True, tools=toolbox, functions=functions
        )

    async def answer(self, value: InterruptDecision) -> None:
        """Answer the interrupt of the conversation."""
        await self.turns.run(self.ada, make_decision_request(self.thread_id, [value]), lambda event: None, seconds=20)

    async def says_at_last(self) -> str:
        """The text of the conversation's last message."""
        thread = await self.store.get_thread(self.ada, self.thread_id)
        return (await self.store.read_messages(self.ada, thread, limit=9, before=None)).messages[-1].text

    @property
    def requests(self) -> list[str]:
        """The requests to the model of the guarded agent, with their tools."""
        return [
            f"{request.prompts} {request.tools}"
            for request in self.model.requests
            if GUARDED in str(request.prompts[0].content)
        ]


Door = Callable[[], Awaitable[GuardedHarness]]


async def question() -> GuardedHarness:
    harness = GuardedHarness()
    await harness.say("m1", f"Say {WORD}")
    return harness


async def send_event() -> GuardedHarness:
    harness = GuardedHarness()
    shop = EventSender(harness)
    await shop.send(data={"carrier": WORD})
    await shop.run_queue()
    return harness


async def edit_question() -> GuardedHarness:
    harness = GuardedHarness()
    await harness.say("m1", "Hello")
    await harness.say("m2", f"Say {WORD}", branch={"from": "m1"})
    return harness


async def consult() -> GuardedHarness:
    harness = GuardedHarness("plain")
    harness.model.script(Answer.calling(call("ask_guarded", 1, message=f"Say {WORD}")), "Well.", "It does not say.")
    await harness.say("m1", "Ask")
    return harness


def with_file(name: str, text: str, encoding: str = "utf-8") -> Door:
    async def attach() -> GuardedHarness:
        harness = GuardedHarness()
        source = {"type": "data", "value": base64.b64encode(text.encode(encoding)).decode(), "mimeType": "text/plain"}
        part = {"type": "document", "source": source, "metadata": {"name": name}}
        await harness.say("m1", [{"type": "text", "text": "Read it"}, part])
        assert await harness.says_at_last() == "Not that."
        return harness

    return attach


async def upload_file() -> GuardedHarness:
    harness = GuardedHarness()
    assert isinstance(harness.files, FakeFiles)
    upload = await harness.files.presign_upload(harness.ada, harness.thread_id, "a.txt", "text/plain", 13)
    harness.files.put(upload, f"Say {WORD}".encode())
    source = {"type": "file", "provider": "baton", "value": upload.file_id}
    await harness.say("m1", [{"type": "text", "text": "Read it"}, {"type": "document", "source": source}])
    return harness


async def handoff_over_http() -> GuardedHarness:
    harness = GuardedHarness()
    served = A2AServed(harness)
    handoff = {"handoff_reason": "Yours.", "recent_messages": [{"role": "user", "content": f"Say {WORD}"}]}
    sent = message("Hello", metadata={EXTENSION_URI: {"handoff": handoff}})
    answer = await served.call("message/send", blocking(sent))
    assert "Hello there." in str(answer["result"])
    return harness


def make_offering_door(*, runs: bool = False, **offer: Any) -> Door:
    async def offer_it() -> GuardedHarness:
        harness = GuardedHarness(runs=runs)
        await harness.say("m1", client=ClientOffer(**offer))
        assert harness.requests
        return harness

    return offer_it


async def client_result() -> GuardedHarness:
    harness = GuardedHarness()
    [interrupt] = await run_until_interrupt(harness)
    harness.model.script("Fine.")
    await harness.answer(result(interrupt, f"It says {WORD}"))
    assert len(harness.requests) == 2
    return harness


async def comment() -> GuardedHarness:
    harness = GuardedHarness()
    harness.model.script(Answer.calling(call("refund", 1, amount=7)), "As you like.")
    turn = await harness.say("m1", "Refund it")
    [interrupt] = turn.last["outcome"]["interrupts"]
    await harness.answer(
        InterruptDecision(interrupt["id"], DecisionStatus.RESOLVED, {"approved": False, "comment": WORD}, "ada")
    )
    assert len(harness.requests) == 2
    return harness


async def transfer() -> GuardedHarness:
    harness = GuardedHarness("plain")
    handed = call("transfer_to_guarded", 1, reason=f"They say {WORD}", context_summary=f"About {WORD}")
    harness.model.script(Answer.calling(handed), "Welcome.")
    await harness.say("m1", "Please")
    assert harness.requests
    return harness


async def trigger() -> GuardedHarness:
    harness = GuardedHarness("plain")
    await harness.say("m1", "Hello")
    harness.model.script(f"They speak of {WORD}.", "Welcome.")
    await harness.say("m2", "guard me")
    return harness


async def history_of_others() -> GuardedHarness:
    harness = GuardedHarness("plain")
    harness.model.script(f"You say {WORD}.")
    await harness.say("m1", f"Say {WORD}")
    harness.model.script(Answer.calling(call("transfer_to_guarded", 1, reason="asked", context_summary="x")), "Yes?")
    await harness.say("m2", "Please")
    await harness.say("m3", "And now?")
    assert len(harness.requests) == 2
    return harness


async def fork() -> GuardedHarness:
    harness = GuardedHarness("plain")
    await harness.say("m1", f"Say {WORD}")
    child = await harness.forks.fork(harness.ada, harness.thread_id, agent_id="guarded")
    await harness.say("m2", "And now?", thread_id=child.id)
    assert harness.requests
    return harness


async def sandbox() -> GuardedHarness:
    harness = GuardedHarness("plain")
    await harness.say("m1", f"Say {WORD}")
    harness.model.script(Answer.calling(call("transfer_to_guarded", 1, reason="asked", context_summary="x")), "Yes?")
    await harness.say("m2", "Please")
    served = Served(harness)
    response = await served.post(
        f"/threads/{harness.thread_id}/sandbox", {"messageId": "m2"}, "thread:read_all", "pii:read", user="boss"
    )
    harness.judged.clear()
    body = {"sessionId": response.json()["id"], "messageId": "m3", "message": "And now?"}
    (await served.post("/messages", body, user="boss")).raise_for_status()
    return harness


async def import_session() -> GuardedHarness:
    harness = GuardedHarness()
    at = "2026-03-01T10:00:00Z"
    messages = [
        {"role": "user", "content": "Hello", "timestamp": at},
        {"role": "assistant", "content": f"I say {WORD}", "timestamp": at},
    ]
    session = parse_imported_session(
        harness.ada, session_id="old", agent_id=None, messages=messages, ended_at=None, now=harness.clock.now()
    )
    await harness.app.sessions.importer.run(harness.ada, session)
    await harness.say("m2", "And now?", thread_id=session.thread_id)
    assert harness.requests
    return harness


async def earlier_summary() -> GuardedHarness:
    harness = GuardedHarness()
    history = AgentHistory(harness.thread_id, (), (), summary=f"They say {WORD}")
    agent = harness.assistant.model_copy(
        update={"memory": harness.assistant.memory.model_copy(update={"summary": True})}
    )
    [prompt] = [
        prompt
        for prompt in Assembly(agent, history, harness.counter).make_prompt().prompts
        if WORD in str(prompt.content)
    ]
    harness.judged.append((str(prompt.origin), str(prompt.content)))
    return harness


async def recall() -> GuardedHarness:
    harness = GuardedHarness()
    await remember(harness.search, harness.embedder, harness.ada, f"My cat is called {WORD}")
    await harness.say("m1", QUESTION)
    assert harness.requests
    record = await harness.context()
    assert "refused by a guardrail" in json.dumps(record)
    return harness


async def private_skill() -> GuardedHarness:
    harness = GuardedHarness()
    draft = ProcedureDraft("Cats", "Names cats.", (QUESTION.rstrip("?"),), (ProcedureStep(f"Say {WORD}"),))
    procedure = Procedure(draft, "acme", "guarded", "ada", harness.clock.now())
    await harness.private_skills.save(harness.ada, procedure, made_of="w-1")
    await harness.say("m1", QUESTION)
    assert harness.requests
    return harness


DOORS: Mapping[str, tuple[Origin, tuple[Door, ...]]] = {
    "the question, with data parts over A2A": (Origin.QUESTION, (question,)),
    "an edited question": (Origin.QUESTION, (edit_question,)),
    "the schedule, event or result of a task that begins a run": (Origin.QUESTION, (send_event,)),
    "the question of an agent that consults it": (Origin.QUESTION, (consult,)),
    "names of files, addresses of documents": (Origin.FILE, (with_file(f"{WORD}.txt", "Hello"),)),
    "texts of text files": (
        Origin.FILE,
        (with_file("a.txt", f"Say {WORD}"), with_file("a.txt", f"Say {WORD}", "utf-16"), upload_file),
    ),
    "context of the page": (
        Origin.PAGE,
        (
            make_offering_door(context=(ContextItem("The page", WORD),)),
            make_offering_door(context=(ContextItem(WORD, "Hello"),)),
            make_offering_door(runs=True, context=(ContextItem("The page", WORD),)),
        ),
    ),
    "names, descriptions and schemas of the page's tools": (
        Origin.PAGE,
        (
            make_offering_door(tools=(*PAGE.tools, ClientTool("show", f"Say {WORD}", COLOUR))),
            make_offering_door(tools=(*PAGE.tools, ClientTool(WORD, "Shows.", COLOUR))),
            make_offering_door(
                tools=(*PAGE.tools, ClientTool("show", "Shows.", {"type": "object", "properties": {WORD: {}}}))
            ),
        ),
    ),
    "results of the page's tools": (Origin.PAGE, (client_result,)),
    "comments on declined approvals": (Origin.PAGE, (comment,)),
    "handoffs over A2A: reason, summary and messages": (
        Origin.HANDOFF,
        (
            make_offering_door(handoff=IncomingHandoff("a", WORD, "s")),
            make_offering_door(handoff=IncomingHandoff("a", "r", WORD)),
            make_offering_door(handoff=IncomingHandoff("a", "r", "s", (("user", WORD),))),
            make_offering_door(handoff=IncomingHandoff(WORD)),
            make_offering_door(runs=True, handoff=IncomingHandoff("a", "r", WORD)),
            handoff_over_http,
        ),
    ),
    "handoffs of other agents: reason and summary": (Origin.HANDOFF, (transfer,)),
    "summaries made for triggers' handoffs": (Origin.HANDOFF, (trigger,)),
    "messages that other agents have answered, and their answers and reports": (Origin.HISTORY, (history_of_others,)),
    "messages copied into a fork": (Origin.HISTORY, (fork,)),
    "messages copied into a sandbox": (Origin.HISTORY, (sandbox,)),
    "imported messages in a continued conversation": (Origin.HISTORY, (import_session,)),
    "summaries of earlier messages": (Origin.HISTORY, (earlier_summary,)),
    "recalled messages, facts and summaries, also of imported conversations": (Origin.MEMORY, (recall,)),
    "private skills": (Origin.MEMORY, (private_skill,)),
}
BESIDE_THE_MODEL = {Origin.QUESTION, Origin.FILE}
"""Origins of texts that are judged while the model is already answering."""


def rows() -> list[list[str]]:
    """The rows of the page's table of texts."""
    section = PAGE_OF_DOCS.read_text().partition("## Texts that are judged")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_lists_all_doors_with_their_origins_and_says_why_others_are_not_judged() -> None:
    listed = {name: origin.strip("`") for name, _, origin in rows() if origin}
    assert listed == {name: origin.value for name, (origin, _) in DOORS.items()}
    assert all(reason.startswith(("never: ", "by `after_tool`")) for _, reason, origin in rows() if not origin)


@pytest.mark.parametrize(
    ("origin", "door"),
    [(origin, door) for origin, doors in DOORS.values() for door in doors],
    ids=[f"{name} {number}" for name, (_, doors) in DOORS.items() for number, _ in enumerate(doors)],
)
async def test_a_forbidden_word_is_judged_and_kept_from_the_agent(origin: Origin, door: Door) -> None:
    harness = await door()
    assert [text for judged, text in harness.judged if judged == origin.value and WORD in text]
    if origin not in BESIDE_THE_MODEL:
        assert not [request for request in harness.requests if WORD in request]


async def test_tools_of_a_page_that_are_allowed_stay_beside_a_refused_one() -> None:
    harness = await DOORS["names, descriptions and schemas of the page's tools"][1][0]()
    assert {"paint", "choose"} <= {spec.name for spec in harness.model.requests[-1].tools}
    assert "show" not in {spec.name for spec in harness.model.requests[-1].tools}


async def test_a_question_that_the_agent_has_allowed_is_not_judged_again() -> None:
    harness = GuardedHarness()
    await harness.say("m1", "Hello")
    await harness.say("m2", "And now?")
    assert harness.judged == [("question", "Hello"), ("question", "And now?")]
    assert [str(prompt.content) for prompt in harness.model.requests[-1].prompts if prompt.role is Role.USER] == [
        "Hello",
        "And now?",
    ]


async def test_a_sandbox_has_no_refused_question() -> None:
    harness = GuardedHarness()
    await harness.say("m1", f"Say {WORD}")
    await harness.say("m2", "Hello")
    served = Served(harness)
    path = f"/threads/{harness.thread_id}/sandbox"
    response = await served.post(path, {"messageId": "m2"}, "thread:read_all", "pii:read", user="boss")
    listed = await served.get(f"/threads/{response.json()['id']}/messages", user="boss")
    assert [message["content"] for message in listed.json()["items"]] == ["Hello", "Hello there."]
