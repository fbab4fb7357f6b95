"""The spans of turns: their structure, their attributes, and nothing that is secret."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

from baton import Refuse, Replace
from baton.adapters.tracing.traced_model import TracedEmbedder
from baton.authoring.agent_hooks import HookDecorator
from baton.domain.agents.agent_code import HookPoint
from baton.domain.errors import ModelUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import join_answer_texts
from baton.domain.threads.queued import QueuedTitle, RecordDelivery, parse_queued
from baton.domain.threads.thread_title import TitleSource
from baton.domain.tracing import CONTENT, get_current_traceparent, joining
from baton_testing.fakes.documents.embedder import FakeEmbedder
from tests.collector import Collector
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.harness.traced import SECRET, TracedHarness, say_everything
from tests.unit.api.a2a_client import A2AServed, blocking, message
from tests.unit.api.served import Served

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


async def test_a_turn_is_one_trace_of_agents_models_tools_and_handoffs(collector: Collector) -> None:
    harness = TracedHarness(collector.endpoint)
    await say_everything(harness)

    [run] = collector.of("invoke_workflow")
    assert run.parent_id == ""
    assert {span.trace_id for span in collector.spans} == {run.trace_id}
    shape = {(span.name, above.name) for span in collector.spans if (above := collector.parent_of(span)) is not None}
    assert shape == {
        ("invoke_agent assistant", "invoke_workflow assistant"),
        ("handoff maker", "invoke_workflow assistant"),
        ("invoke_agent maker", "invoke_workflow assistant"),
        ("chat test-model", "invoke_agent assistant"),
        ("execute_tool ask_knowledge", "invoke_agent assistant"),
        ("execute_tool ask_web_research", "invoke_agent assistant"),
        ("execute_tool weather", "invoke_agent assistant"),
        ("execute_tool transfer_to_maker", "invoke_agent assistant"),
        ("invoke_agent knowledge", "execute_tool ask_knowledge"),
        ("chat test-model", "invoke_agent knowledge"),
        ("invoke_agent web-research", "execute_tool ask_web_research"),
        ("chat test-model", "invoke_agent maker"),
    }
    assert not [span for span in collector.spans if span.is_failed]


async def test_spans_have_the_attributes_of_the_conventions(collector: Collector) -> None:
    harness = TracedHarness(collector.endpoint)
    await say_everything(harness)

    for span in collector.spans:
        assert span.attributes["gen_ai.conversation.id"] == harness.thread_id
        assert span.attributes["baton.tenant.id"] == "acme"
        assert span.name == f"{span.attributes['gen_ai.operation.name']} {span.name.split(' ', 1)[1]}"
        assert span.resource == {"service.name": "baton"}
    chat = collector.of("chat")[0].attributes
    assert chat["gen_ai.provider.name"] == "openai"
    assert chat["gen_ai.request.model"] == chat["gen_ai.response.model"] == "test-model"
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (10, 2)
    assert chat["baton.usage.cost"] == pytest.approx(14 / 1_000_000)
    reasons = sorted(span.attributes["gen_ai.response.finish_reasons"][0] for span in collector.of("chat"))
    assert reasons == ["stop", "stop", "tool_calls", "tool_calls"]
    [handoff] = collector.of("handoff")
    assert (handoff.attributes["baton.handoff.source"], handoff.attributes["baton.handoff.target"]) == (
        "assistant",
        "maker",
    )
    agent = next(span for span in collector.of("invoke_agent") if span.name.endswith("knowledge")).attributes
    assert (agent["gen_ai.agent.id"], agent["gen_ai.agent.name"]) == ("knowledge", "Knowledge")
    tool = next(span for span in collector.of("execute_tool") if span.name.endswith("weather")).attributes
    assert tool["gen_ai.tool.name"] == "weather"


async def test_no_span_has_words_of_users_models_or_tools(collector: Collector) -> None:
    harness = TracedHarness(collector.endpoint)
    await say_everything(harness)
    harness.scripted.script(Answer.calling(ToolCall("x", f"leak_{SECRET}", json.dumps({"text": SECRET}))), "Sorry.")
    await harness.say("m2", SECRET)
    harness.scripted.script(ModelUnavailable(f"No {SECRET}."))
    await harness.say("m3", SECRET)
    harness.wait_until_sent()

    assert len(collector.spans) > 15
    for span in collector.spans:
        assert SECRET not in json.dumps([span.name, span.attributes, span.resource])
        assert not CONTENT & span.attributes.keys()
        assert not span.has_events, "exceptions would be events, with their messages"


async def test_content_is_in_spans_where_it_is_allowed(collector: Collector) -> None:
    harness = TracedHarness(collector.endpoint, shows_content=True)
    await say_everything(harness)
    first = next(span for span in collector.of("chat") if "weather" in span.attributes["gen_ai.output.messages"])
    assert SECRET in first.attributes["gen_ai.system_instructions"]
    [*_, question] = json.loads(first.attributes["gen_ai.input.messages"])
    assert question == {"role": "user", "parts": [{"type": "text", "content": f"Please help with {SECRET}"}]}
    tool = next(span for span in collector.of("execute_tool") if span.name.endswith("weather")).attributes
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"city": SECRET}
    assert tool["gen_ai.tool.call.result"] == f"Sunny in {SECRET}, {SECRET}."


async def test_turns_and_agents_have_their_question_and_answer(collector: Collector) -> None:
    """Pages of sessions show the first span of each trace, by OpenInference's names for its texts."""
    harness = TracedHarness(collector.endpoint, shows_content=True)
    await say_everything(harness)
    [run] = collector.of("invoke_workflow")
    question, messages = f"Please help with {SECRET}", run.attributes["output.value"]
    assert run.attributes["input.value"] == question
    [request] = json.loads(run.attributes["gen_ai.input.messages"])
    assert request == {"role": "user", "parts": [{"type": "text", "content": question}]}
    [answered] = json.loads(run.attributes["gen_ai.output.messages"])
    assert (answered["role"], answered["parts"]) == ("assistant", [{"type": "text", "content": messages}])
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    stored = (await harness.store.read_messages(harness.ada, thread, limit=50, before=None)).messages
    assert messages == join_answer_texts(stored)
    agents = {span.attributes["gen_ai.agent.id"]: span.attributes for span in collector.of("invoke_agent")}
    assert all(about["input.value"] for about in agents.values())
    assert {name for name, about in agents.items() if "output.value" in about} == {"knowledge", "web-research", "maker"}
    assert agents["maker"]["output.value"] in messages
    assert (agents["assistant"]["input.value"], agents["knowledge"]["output.value"]) == (question, f"It is {SECRET}.")


async def test_a_turn_shows_what_guardrails_have_left(collector: Collector) -> None:
    harness = TracedHarness(collector.endpoint, shows_content=True)
    HookDecorator(harness.assistant, HookPoint.OUTPUT_GUARDRAIL)(lambda text: Replace(text.replace(SECRET, "[name]")))
    harness.scripted.script(f"Hello, {SECRET}.")
    await harness.say()
    harness.wait_until_sent()
    [run] = collector.of("invoke_workflow")
    assert run.attributes["output.value"] == "Hello, [name]."
    assert SECRET not in json.dumps([span.attributes for span in collector.spans])


async def test_a_question_that_a_guardrail_refuses_is_in_no_span(collector: Collector) -> None:
    harness = TracedHarness(collector.endpoint, shows_content=True)
    HookDecorator(harness.assistant, HookPoint.INPUT_GUARDRAIL)(lambda text: Refuse("Not that."))
    await harness.say(content=SECRET)
    harness.wait_until_sent()
    [run] = collector.of("invoke_workflow")
    assert "input.value" not in run.attributes
    assert SECRET not in json.dumps([span.attributes for span in collector.spans])


@pytest.mark.parametrize("point", [HookPoint.INPUT_GUARDRAIL, HookPoint.OUTPUT_GUARDRAIL, HookPoint.BEFORE_TOOL])
async def test_models_of_agents_whose_words_are_judged_have_no_content_in_spans(
    collector: Collector, point: HookPoint
) -> None:
    harness = TracedHarness(collector.endpoint, shows_content=True)
    HookDecorator(harness.assistant, point)(lambda: None)
    await harness.say()
    harness.wait_until_sent()
    [chat] = collector.of("chat")
    [agent] = collector.of("invoke_agent")
    assert not CONTENT & (chat.attributes.keys() | agent.attributes.keys())
    assert chat.attributes["gen_ai.usage.input_tokens"] == 10


async def test_what_is_recalled_is_a_retrieval_and_its_embedding_a_span(collector: Collector) -> None:
    embedder = TracedEmbedder(FakeEmbedder(), lambda _: "openai")
    harness = TracedHarness(collector.endpoint, recalls=True, embedder=embedder)
    await harness.say(content="What about errors?")
    harness.wait_until_sent()
    [embedding] = collector.of("embeddings")
    assert embedding.attributes["gen_ai.request.model"] == embedder.name
    sources = {span.attributes["gen_ai.data_source.id"]: span for span in collector.of("retrieval")}
    assert sources.keys() == {"knowledge", "episodes"}
    assert sources["knowledge"].attributes["baton.retrieval.count"] == 0
    [run] = collector.of("invoke_workflow")
    assert {span.parent_id for span in (embedding, *sources.values())} == {run.span_id}


async def test_a_failed_model_fails_its_span_and_the_runs(collector: Collector) -> None:
    harness = TracedHarness(collector.endpoint)
    harness.scripted.script(ModelUnavailable())
    await harness.say()
    harness.wait_until_sent()
    failed = {span.name: span.attributes["error.type"] for span in collector.spans if span.is_failed}
    assert failed.keys() == {"chat test-model", "invoke_agent assistant", "invoke_workflow assistant"}
    assert set(failed.values()) == {"model_unavailable"}


async def test_an_attempt_after_a_dead_worker_links_to_the_one_before(collector: Collector) -> None:
    harness = TracedHarness(collector.endpoint)
    harness.scripted.script(Answer(("Hello",), gate=asyncio.Event(), gate_at=0))
    running = asyncio.ensure_future(harness.say())
    async with asyncio.timeout(10):
        while not harness.scripted.requests:  # noqa: ASYNC110 - the fake has no event for it
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await harness.say()
    harness.wait_until_sent()

    first, second = sorted(collector.of("invoke_workflow"), key=lambda span: span.attributes["baton.run.attempt"])
    assert [first.attributes["baton.run.attempt"], second.attributes["baton.run.attempt"]] == [1, 2]
    assert first.attributes["baton.outcome"] == "cancelled"
    assert second.trace_id != first.trace_id
    assert second.links == [(first.trace_id, first.span_id)]


async def test_a_run_joins_the_trace_of_a_trusted_caller(collector: Collector) -> None:
    harness = TracedHarness(collector.endpoint)
    with joining(CALLER):
        await harness.say()
    harness.wait_until_sent()
    [run] = collector.of("invoke_workflow")
    assert (run.trace_id, run.parent_id) == ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")


@pytest.mark.parametrize(
    "broken", ["", "x", CALLER.upper(), CALLER.replace("00-", "ff-"), f"00-{'0' * 32}-{'1' * 16}-01"]
)
async def test_a_broken_trace_context_is_ignored(collector: Collector, broken: str) -> None:
    harness = TracedHarness(collector.endpoint)
    with joining(broken):
        assert get_current_traceparent() is None
        await harness.say()
    harness.wait_until_sent()
    [run] = collector.of("invoke_workflow")
    assert run.parent_id == ""


async def test_work_that_a_run_queues_belongs_to_its_trace(collector: Collector) -> None:
    harness = TracedHarness(collector.endpoint, title_source=TitleSource.MODEL)
    await harness.say()
    [title] = [record for _, record in harness.queue.sent if isinstance(record, QueuedTitle)]
    body = title.model_dump_json(by_alias=True)
    older = {name: value for name, value in json.loads(body).items() if name != "traceparent"}
    assert parse_queued(json.dumps(older)).traceparent is None, "records of an earlier release have none"
    await harness.app.queued_turns.run(body, "receipt", RecordDelivery("r1", 1), seconds=60)
    harness.wait_until_sent()

    [run] = [span for span in collector.of("invoke_workflow") if span.parent_id == ""]
    [work] = [span for span in collector.of("invoke_workflow") if span.parent_id]
    assert (work.trace_id, work.parent_id) == (run.trace_id, run.span_id)
    assert work in [collector.parent_of(span) for span in collector.of("chat")]
    assert "gen_ai.conversation.id" not in work.attributes, "tools would take it for a turn"
    assert work.attributes["baton.thread.id"] == harness.thread_id


async def test_a_turn_names_its_trace(collector: Collector) -> None:
    harness = TracedHarness(collector.endpoint)
    await harness.say()
    harness.wait_until_sent()
    [turn], _ = await Served(harness).items(f"/threads/{harness.thread_id}/turns")
    [run] = collector.of("invoke_workflow")
    assert turn["traceId"] == run.trace_id
    assert turn["runId"] == run.attributes["baton.run.id"]


async def test_a_turn_without_a_trace_names_none() -> None:
    harness = Harness()
    await harness.say()
    [turn], _ = await Served(harness).items(f"/threads/{harness.thread_id}/turns")
    assert "traceId" not in turn


@pytest.mark.parametrize(("permissions", "is_joined"), [(("trace:continue",), True), ((), False)])
@pytest.mark.parametrize("is_blocking", [True, False])
async def test_over_a2a_only_trusted_callers_choose_the_trace(
    collector: Collector, permissions: tuple[str, ...], *, is_joined: bool, is_blocking: bool
) -> None:
    """A call that does not block goes through the queue, whose record holds the trace."""
    served = A2AServed(TracedHarness(collector.endpoint))
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "message/send",
        "params": blocking(message("Hi"), blocking=is_blocking),
    }
    answer = await served.post_a2a(json.dumps(call).encode(), *permissions, headers={"traceparent": CALLER})
    assert "result" in answer.json()
    await served.queue.wait_until_idle()
    assert isinstance(served.harness, TracedHarness)
    served.harness.wait_until_sent()
    [run] = collector.of("invoke_workflow")
    assert (run.trace_id == CALLER.split("-")[1]) is is_joined
