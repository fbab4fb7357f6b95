"""Every failure that is caught is counted, and every alarm of our own counts looks at one that is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from botocore.exceptions import ClientError
from fastapi import Request

from baton import Agent
from baton.adapters.a2a import RemoteAgents
from baton.adapters.aws.blocking_calls import ThreadedOperations
from baton.adapters.aws.sqs import SqsRecords
from baton.adapters.cached_value import RefreshedValue
from baton.adapters.documents.document_reader import ChildProcessExtractor, ChildProcessReader
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.tenants.audit import DynamoAuditLog
from baton.adapters.models.openai import OpenAIChatModel
from baton.adapters.models.profiles.known_profiles import Profiles
from baton.adapters.models.provider_models import ProviderModels
from baton.adapters.opensearch.engine import Engine
from baton.adapters.opensearch.index import OpenSearchIndex
from baton.adapters.tokens.embed_keys import EmbedKeys
from baton.adapters.tokens.verifier import JwtVerifier
from baton.adapters.tracing.otel_tracer import OtelTracer
from baton.adapters.tracing.sending import BoundedSending, RestingExporter, SpansDropped
from baton.api.http.problems import make_response
from baton.api.mcp.access import McpCaller
from baton.api.mcp.running import cancel_named
from baton.api.notifications import Notifications
from baton.composition import metrics
from baton.composition.app import build
from baton.composition.metrics import NAMESPACE, write_metrics
from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents import pipelines
from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.errors import (
    DocumentUnreadable,
    EmbedderUnavailable,
    ExtractionUnavailable,
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelUnavailable,
    SearchUnavailable,
    StoreUnavailable,
    ThreadBusy,
    Unauthorized,
)
from baton.domain.memory.procedure import InvalidProcedure
from baton.domain.metrics import Metric, collect_counts
from baton.domain.runs.usage import Price, Prices, Usage
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.spending_rules import SpendingLimit, SpendingRules
from baton.domain.tenants.tenant_limits import DeploymentLimits
from baton.domain.threads.events import make_custom, make_unsequenced
from baton.domain.threads.feedback import Rating
from baton.domain.threads.message import Role
from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.run_end import FollowedProcedure, OutcomeType, RunEnd
from baton.domain.threads.thread_change import MAX_RECEIVES, ChangeKind, ThreadChange
from baton.domain.threads.thread_title import TitleSource
from baton.entry.jobs.sweep import SweepReport
from baton.ports.agents.agent_client import AgentFailed
from baton.ports.agents.chat_model import ModelSettings, Prompt
from baton.ports.agents.tools import ToolFailed
from baton.ports.clock import SystemClock
from baton.ports.tenants.tenants import CountsTooLarge
from baton.ports.threads.connections import ConnectionBusy, FrameRefused
from baton.threads.outbox.connection_sender import send_to
from baton.threads.requests.parsing import parse_message_request
from baton.threads.requests.queue_mapping import make_queued_message
from baton.turns.run import RunExecution
from baton_documents.formats import DocumentFormat
from baton_local.engines.process import find_free_port
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.threads.connections import FakeConnections
from tests.contracts.agent_client import a_task
from tests.contracts.search import document as search_document
from tests.embedded_index import make_embedded_index
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.fakes.objects import FakeS3
from tests.harness.coded import make_coded_harness
from tests.harness.desks import DeskHarness
from tests.harness.due import DueHarness
from tests.harness.handoffs import advance, calling
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.little_memory import with_little_memory
from tests.harness.sessions import close, make_episode
from tests.harness.skills import SkillHarness, script_draft
from tests.harness.sockets import Socketed
from tests.harness.webhooks import with_webhooks
from tests.infrastructure.alarms import metrics_of
from tests.infrastructure.stack import Stack as Template
from tests.infrastructure.stack import read_template
from tests.integration.agents.conftest import define_agent, resolve
from tests.integration.tools.harness import Harness as ToolHarness
from tests.integration.tools.harness import agent_with
from tests.unit.identity.signing import SECRET, OneSecret
from tests.unit.knowledge.pipeline import Pipeline, text_of
from tests.unit.knowledge.source_world import SITE, World, page
from tests.unit.memory.procedures.tasks import OPERATOR, complete_task, equip
from tests.unit.metrics.written import Context, counts, function
from tests.unit.tenants.registry.worker import TUTOR, Worker

Failure = Callable[[pytest.MonkeyPatch], Awaitable[object]]
FAILURES: dict[Metric, Failure] = {}
ADA = Scope("acme", "ada")
RECORD = json.loads((Path(__file__).parents[3] / "events/sqs_turns.json").read_text())


def failure(metric: Metric) -> Callable[[Failure], Failure]:
    """Conditions that Baton counts as failures."""

    def named(cause: Failure) -> Failure:
        FAILURES[metric] = cause
        return cause

    return named


class Broken:
    """Anything whose every method raises."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def fail(*args: Any, **kwargs: Any) -> Any:
            raise self._error

        return fail


def make_denied(operation: str = "Operation") -> ClientError:
    return ClientError({"Error": {"Code": "AccessDeniedException"}}, operation)


@failure(Metric.INTERNAL_FAULTS)
async def a_bug_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    monkeypatch.setattr(harness.model, "stream", Broken(RuntimeError("a bug")).stream)
    assert (await harness.say()).last["code"] == "internal_error"


@failure(Metric.REQUESTS_FAILED)
async def a_queue_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    socketed = Socketed(Harness())
    monkeypatch.setattr(socketed.harness.queue, "send", Broken(StoreUnavailable()).send)
    await socketed.send("message", messageId="m1", content="Hello")


@failure(Metric.SUMMARIES_FAILED)
async def a_summary_that_cannot_be_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = {"max_working_memory_tokens": 500}
    harness = Harness(assistant=AgentDefinition.model_validate({**ASSISTANT.model_dump(), "memory": memory}))
    harness.queue.is_down = True
    for number in range(8):
        await harness.say(f"m{number}", "word " * 60)


@failure(Metric.CONNECTIONS_REFUSED)
async def a_token_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = EmbedKeys(OneSecret({"host": {"tenant": "acme", "algorithm": "HS256", "key": SECRET}}), "embed-keys")
    app = function(monkeypatch, "authorizer/app.py", {"ports.verifier": JwtVerifier(tuple, keys)})
    event = {"methodArn": "arn", "headers": {"Sec-WebSocket-Protocol": "baton.v1, nonsense"}}
    with pytest.raises(Exception, match=r"^Unauthorized$"):
        app.handler(event, Context())


@failure(Metric.TOKENS_REFUSED)
async def a_token_that_nobody_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unauthorized):
        JwtVerifier(tuple, None).verify("nonsense")


@failure(Metric.KEYS_UNREADABLE)
async def a_secret_that_makes_no_sense(monkeypatch: pytest.MonkeyPatch) -> None:
    assert EmbedKeys(cast("Any", OneText("no JSON")), "embed-keys").find("host") is None


@failure(Metric.SETTINGS_UNREADABLE)
async def settings_that_make_no_sense(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = RefreshedValue(Broken(StoreUnavailable()).send)
    with pytest.raises(StoreUnavailable):
        settings.get()


@failure(Metric.QUEUED_TURNS_FAILED)
async def a_turn_that_goes_back_to_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    app = function(monkeypatch, "turns/app.py", {"queued_turns": Failing(StoreUnavailable())})
    assert len(app.handler(RECORD, Context())["batchItemFailures"]) == 1


@failure(Metric.DEAD_TURNS_FAILED)
async def a_dead_turn_that_cannot_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    app = function(monkeypatch, "turns/dead.py", {"dead_turns": Failing(StoreUnavailable())})
    assert len(app.handler(RECORD, Context())["batchItemFailures"]) == 1


@failure(Metric.TURNS_INTERRUPTED)
async def a_run_that_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    await harness.turns.give_up(harness.ada, harness.request(), subscriber=None)


@failure(Metric.TURNS_TIMED_OUT)
async def a_run_whose_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    harness.model.script(Answer(("Half an ", "answer"), gate=asyncio.Event(), gate_at=1))
    request = parse_message_request(harness.ada, thread_id=harness.thread_id, message_id="m1", content="Hello")
    await harness.turns.run(harness.ada, request, lambda event: None, seconds=0.3)


@failure(Metric.ANSWERS_DISCARDED)
async def a_message_that_was_answered_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = with_little_memory()
    for number in (1, 2, 3, 4, 5, 6, 1):
        await harness.say(f"m{number}", "words " * 10)


@failure(Metric.MODEL_FAILURES)
async def a_model_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    harness.model.script(ModelRateLimited())
    await harness.say()


@failure(Metric.MODEL_CALLS_FAILED)
async def a_call_of_a_model_that_nobody_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = OpenAIChatModel(api_key="key", base_url="http://127.0.0.1:9/v1", max_retries=0)
    settings = ModelSettings(model="gpt", timeout_seconds=10)
    with pytest.raises(ModelError):
        async for _ in model.stream(settings, [Prompt(Role.USER, "Hello")], thread_files=cast("Any", None)):
            pass
    await model.aclose()


@failure(Metric.ATTACHMENTS_UNREAD)
async def a_document_that_ends_the_process_that_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = ChildProcessReader(module="baton.no_such_module")
    with pytest.raises(DocumentUnreadable):
        await reader.read(b"%PDF-1.4", "a.pdf", DocumentFormat.PDF, seconds=30)


@failure(Metric.DOCUMENTS_UNREAD)
async def a_document_of_knowledge_that_ends_the_process_that_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ExtractionUnavailable):
        await ChildProcessExtractor(module="baton.no_such_module").inspect(b"%PDF-1.4", "a.pdf", "application/pdf")


@failure(Metric.MODEL_FACTS_LEARNED)
async def a_model_whose_refusal_has_taught_something(monkeypatch: pytest.MonkeyPatch) -> None:
    profiles = Profiles("model.test")
    profiles.learn("m", replace(profiles.of("m"), images=False), profiles.of("m"))


@failure(Metric.MODEL_FALLBACKS)
async def a_model_that_another_one_stands_in_for(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = ScriptedChatModel()
    scripted.script(ModelRateLimited())
    models = ProviderModels({"default": lambda: scripted})
    settings = ModelSettings(model="gpt", fallback=("other",))
    async for _ in models.stream(settings, [Prompt(Role.USER, "Hello")], thread_files=cast("Any", None)):
        pass


@failure(Metric.TOOL_FAILURES)
async def a_tool_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = agent_with(
        {
            "type": "python",
            "name": "leaks",
            "description": "Fails.",
            "entry_point": "tests.integration.tools.functions:leaks",
        }
    )
    with pytest.raises(ToolFailed):
        await ToolHarness(Path()).call(agent, "leaks")


@failure(Metric.GUARDRAIL_REFUSALS)
@failure(Metric.GUARDRAIL_FAILURES)
async def a_guardrail_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent("assistant", "Be brief.", main=True)

    @agent.output_guardrail
    def broken(text: str) -> None:
        raise RuntimeError(text)

    await make_coded_harness(agent, answers=("Hello.",)).say()


@failure(Metric.AGENT_FAILURES)
async def a_remote_agent_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    client = RemoteAgents(httpx.AsyncClient, resolve)
    with pytest.raises(AgentFailed):
        async for _ in client.stream(define_agent("http://127.0.0.1:9"), a_task("Hello")):
            pass


@failure(Metric.SEARCHES_FAILED)
async def an_engine_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(f"http://127.0.0.1:{find_free_port()}")
    with pytest.raises(SearchUnavailable):
        await OpenSearchIndex(engine, SystemClock()).count(ADA, IndexName.EPISODES, SearchFilter())
    await engine.close()


@failure(Metric.RECALLS_INCOMPLETE)
async def a_search_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness(recalls=True)
    harness.search.failure = SearchUnavailable()
    await harness.say()


@failure(Metric.CONTEXTS_NOT_KEPT)
async def a_record_of_the_inspector_that_cannot_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    harness.context_records.failure = StoreUnavailable()
    await harness.say()


@failure(Metric.SKILLS_NOT_PUBLISHED)
async def a_skill_that_is_not_valid_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = SkillHarness(
        *script_draft(
            advance("COMPLETE", samples=["send slack alert"], approved=True),
            calling("return_to_main", summary="Made.", outcome="completed"),
        )
    )
    # The rules have changed between the review and now.
    monkeypatch.setattr(
        "baton.threads.handoffs.skill_making.SkillMaking.save", Failing(InvalidProcedure(["new rules"])).save
    )
    await harness.say("m1", "create a skill")


@failure(Metric.NOTIFICATIONS_NOT_QUEUED)
async def a_queue_of_notifications_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    harness.push_queue.is_down = True
    await harness.app.change_notifications.note_mark(harness.ada, harness.thread_id, "m1", "canceled")


@failure(Metric.NOTIFICATIONS_FAILED)
async def a_notification_of_a_conversation_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    queue = Failing(StoreUnavailable())
    ports = harness.with_ports(push_configs=cast("Any", queue))
    change = ThreadChange(tenant_id="acme", user_id="ada", thread_id=harness.thread_id, kind=ChangeKind.BEGAN)
    with pytest.raises(StoreUnavailable):
        await Notifications.of(build(ports)).run(change.model_dump_json(), "handle", MAX_RECEIVES)


@failure(Metric.WEBHOOKS_DEAD)
async def an_event_that_its_receiver_refuses_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    hooked = with_webhooks(Harness())
    hooked.receivers.answers = [410]
    await hooked.harness.say()
    await hooked.settle()


@failure(Metric.TIME_TO_PERSON)
@failure(Metric.DESKS_LEFT)
async def a_conversation_that_a_person_takes_and_hands_back(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = DeskHarness()
    await harness.ask()
    harness.clock.advance(30)
    await harness.take()
    await harness.hand_back()


@failure(Metric.DESKS_MISSED)
async def a_conversation_that_nobody_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = DeskHarness()
    await harness.ask()
    harness.clock.advance(11 * 60)
    await harness.sweep()


@failure(Metric.TIME_TO_START)
@failure(Metric.RUNS_LATE)
async def a_reminder_after_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    due = DueHarness()
    await due.remind()
    await due.pass_time(hours=2)


@failure(Metric.RUNS_DROPPED)
async def a_reminder_of_an_agent_that_is_no_longer_there(monkeypatch: pytest.MonkeyPatch) -> None:
    due = DueHarness()
    await due.remind()
    del due.shipped_agents.definitions["assistant"]
    await due.pass_time(hours=1)


@failure(Metric.RUNS_NOT_STOPPED)
async def a_cancellation_over_mcp_whose_run_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    app = SimpleNamespace(ports=SimpleNamespace(mcp_calls=Failing(StoreUnavailable())))
    caller = McpCaller(ADA, cast("Any", app), cast("Any", None), ends_at=0.0, session_id="s-1")
    await cancel_named(caller, {"method": "notifications/cancelled", "params": {"requestId": 1}})


@failure(Metric.FRAMES_GIVEN_UP)
async def a_client_that_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = FakeConnections()
    connections.script("c1", *[ConnectionBusy()] * 3)
    assert not await send_to(connections, "c1", [make_unsequenced(make_custom("heartbeat", {}))], patience=0.0)


@failure(Metric.FRAMES_REFUSED)
async def a_frame_that_the_gateway_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = FakeConnections()
    connections.script("c1", FrameRefused("PayloadTooLargeException", may_pass_later=False))
    assert not await send_to(connections, "c1", [make_unsequenced(make_custom("heartbeat", {}))])


@failure(Metric.RECORDS_NOT_HIDDEN)
async def a_record_that_cannot_be_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    records = SqsRecords(ThreadedOperations(Broken(make_denied())), "https://queue.test")
    async with records.hide("receipt", RecordDelivery("record", 1)):
        await asyncio.sleep(0.1)


@failure(Metric.CLOSINGS_NOT_STARTED)
async def a_closing_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    monkeypatch.setattr(harness.closings, "start", Failing(StoreUnavailable()).start)
    await harness.say()
    harness.clock.advance(1800)
    assert (await harness.sweeper.sweep(seconds=5)).closed == 1


@failure(Metric.EPISODES_INCOMPLETE)
async def an_episode_that_is_not_indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    harness.search.failure = SearchUnavailable()
    await harness.say()
    await close(harness)
    assert (await make_episode(harness, failing=True)).missing


@failure(Metric.AUDIT_RECORDS_LOST)
async def an_audit_record_that_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    log = DynamoAuditLog(Table(cast("Any", Broken(make_denied())), "table"), FakeClock())
    await log.record(ADA, "thread.read", thread_id=None, outcome="denied", detail={})


@failure(Metric.SWEEP_FAILURES)
async def a_thread_that_nobody_can_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    await harness.say()
    harness.idle.unreadable.add(harness.thread_id)
    harness.clock.advance(1800)
    await harness.sweeper.sweep(seconds=5)


@failure(Metric.CAPTURES_NOT_STARTED)
async def a_capture_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = equip(Harness(assistant=OPERATOR))
    harness.captures.is_down = True
    await complete_task(harness)


@failure(Metric.CAPTURES_FAILED)
async def a_capture_that_fails_permanently(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = equip(Harness(assistant=OPERATOR))
    await complete_task(harness)
    scope, ref, _ = harness.captures.started[-1]
    await harness.app.procedures.capture.give_up(scope, ref)


@failure(Metric.USES_NOT_COUNTED)
async def a_use_that_cannot_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    end = RunEnd(OutcomeType.SUCCESS, Usage(), followed=(FollowedProcedure("assistant", "slack-alert", 1),))
    turn = await harness.say()
    assert turn.finished is not None
    messages = (*turn.finished.messages[:-1], replace(turn.finished.messages[-1], end=end))
    monkeypatch.setattr(harness.procedures, "record_use", Failing(StoreUnavailable()).record_use)
    await harness.app.procedures.learning.learn_from_run(harness.ada, turn.finished.thread, messages)


@failure(Metric.AGENTS_UNREADABLE)
async def an_own_agent_that_todays_rules_do_not_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker()
    await worker.tenant.put("tutor", {**TUTOR, "name": ""})
    assert await worker.names() == {}


@failure(Metric.DOCUMENTS_FAILED)
async def a_document_that_cannot_be_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = Pipeline()
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(3, "Bolts"))
    pipeline.embedder.failure = EmbedderUnavailable()
    with pytest.raises(EmbedderUnavailable):
        await pipeline.run(ref)
    await pipeline.step(ref, "fail", error="EmbedderUnavailable")


@failure(Metric.SOURCE_FAILURES)
async def a_source_whose_refresh_breaks_off(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.web.pages = {f"{SITE}/a": page("A")}
    await world.create(urls=[f"{SITE}/a"])
    monkeypatch.setattr(world.web, "before_fetch", Failing(RuntimeError("a bug")).fetch)
    assert (await world.refresh()).failed == 1


@failure(Metric.SWEEPS_UNFINISHED)
async def a_sweep_without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    await harness.say()
    harness.clock.advance(1800)
    await harness.sweeper.sweep(seconds=-1)


@failure(Metric.RATES_NOT_COUNTED)
async def counts_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    harness.deployment_limits = DeploymentLimits(user_messages_per_minute=1)

    async def refuse(*about: object, **stored: object) -> bool:
        raise CountsTooLarge

    monkeypatch.setattr(harness.activity, "change", refuse)
    assert (await harness.say()).types[-1] == "RUN_FINISHED"


@failure(Metric.SPENDING_NOT_COUNTED)
async def a_cost_that_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness(prices=Prices({"test-model": Price(input=1.0, output=1.0)}))
    harness.deployment_limits = DeploymentLimits(spending=SpendingRules(tenant=SpendingLimit(per_day=1.0)))

    async def fail(*about: object) -> None:
        raise StoreUnavailable

    monkeypatch.setattr(harness.spending, "settle", fail)
    assert (await harness.say()).types[-1] == "RUN_FINISHED"


@failure(Metric.SPENDING_WARNINGS)
async def a_limit_of_which_most_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness(prices=Prices({"test-model": Price(input=1_000_000, output=1_000_000)}))
    harness.deployment_limits = DeploymentLimits(spending=SpendingRules(tenant=SpendingLimit(per_day=12.0)))
    assert (await harness.say()).types[-1] == "RUN_FINISHED"


@failure(Metric.SPANS_DROPPED)
async def a_dead_collector_of_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped = SpansDropped()
    exporter = RestingExporter("http://127.0.0.1:9/v1/traces", dict, dropped, seconds=0.5)
    tracer = OtelTracer(BoundedSending(exporter, dropped), dropped, resource={})
    await Harness(tracer=tracer).say()
    tracer.flush(30)


@failure(Metric.RUNS_NOT_ADMITTED)
async def an_end_of_a_run_that_is_not_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    monkeypatch.setattr(harness.admission.queue, "read_running", Failing(StoreUnavailable()).read_running)
    await harness.admission.note_end(pipelines.Pipeline.CLOSING, "a session")


class Sweeping:
    """The sweeper's function over jobs of which one fails."""

    JOBS = ("sweeper", "ingestion_starts", "admission", "retention_runs")

    def __init__(self, failing: str) -> None:
        self.failing = failing
        self.done: list[str] = []

    def handler(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        async def work(name: str) -> Any:
            if name == self.failing:
                raise StoreUnavailable
            self.done.append(name)
            return SweepReport() if name == "sweeper" else 0

        jobs = {name: SimpleNamespace() for name in self.JOBS}
        jobs["sweeper"].sweep = lambda seconds: work("sweeper")
        jobs["ingestion_starts"].resume = lambda seconds: work("ingestion_starts")
        jobs["admission"].admit_all = lambda: work("admission")
        jobs["retention_runs"].start_due = lambda: work("retention_runs")
        places = ("", "knowledge.", "ports.", "privacy.")
        built = {location + name: jobs[name] for location, name in zip(places, self.JOBS, strict=True)}
        return function(monkeypatch, "sweeper/app.py", built).handler

    async def fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Sweep: the other jobs are done, and the invocation fails."""
        handler = self.handler(monkeypatch)
        with pytest.raises(ExceptionGroup) as raised:
            await asyncio.to_thread(handler, {}, Context())
        assert [type(exception) for exception in raised.value.exceptions] == [StoreUnavailable]
        assert self.done == [name for name in self.JOBS if name != self.failing]


@failure(Metric.SWEEPS_FAILED)
async def a_sweep_that_fails_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    await Sweeping("sweeper").fail(monkeypatch)


@failure(Metric.DOCUMENT_RESUMES_FAILED)
async def documents_that_cannot_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    await Sweeping("ingestion_starts").fail(monkeypatch)


@failure(Metric.ADMISSIONS_FAILED)
async def waiting_runs_that_cannot_be_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    await Sweeping("admission").fail(monkeypatch)


@failure(Metric.RETENTIONS_FAILED)
async def retention_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    await Sweeping("retention_runs").fail(monkeypatch)


async def test_a_sweep_without_failures_returns_the_counts_of_all_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = await asyncio.to_thread(Sweeping("none").handler(monkeypatch), {}, Context())
    assert {"looked_at", "documents", "runs", "retentions"} <= reported.keys()


class Failing:
    """Anything whose every method is a coroutine that raises."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def fail(*args: Any, **kwargs: Any) -> Any:
            raise self._error

        return fail


class OneText:
    """A secret that is this text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def get(self, name: str) -> str:
        return self._text

    renew = get


@pytest.fixture(autouse=True)
def stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_read_stack_name", lambda: "baton-test")
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)


@failure(Metric.TITLES_FAILED)
async def a_title_that_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    harness.title_source = TitleSource.MODEL
    await harness.say()
    harness.model.script(ModelRateLimited())
    await harness.app.sessions.made_titles.make(ADA, harness.thread_id)


async def _rate(rating: Rating) -> None:
    harness = Harness()
    await harness.say()
    [_, answer] = harness.store.committed("acme", harness.thread_id)
    await harness.app.sessions.ratings.rate(ADA, harness.thread_id, answer.id, rating, None)


@failure(Metric.ANSWERS_RATED_UP)
async def an_answer_that_is_liked(monkeypatch: pytest.MonkeyPatch) -> None:
    await _rate(Rating.UP)


@failure(Metric.ANSWERS_RATED_DOWN)
async def an_answer_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    await _rate(Rating.DOWN)


@failure(Metric.TURNS)
@failure(Metric.TIME_TO_FIRST_TOKEN)
@failure(Metric.INPUT_TOKENS)
@failure(Metric.OUTPUT_TOKENS)
async def an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    monkeypatch.setattr(RunExecution, "_measure_milliseconds_since", lambda self, question: 250)
    harness.model.script(Answer(("Hello ", "Ada"), usage=Usage(100, 20)))
    await harness.say()


def make_queued_body(harness: Harness) -> str:
    request = parse_message_request(ADA, thread_id=harness.thread_id, message_id="m1", content="Hello")
    return make_queued_message(ADA, request, request_id="q1").model_dump_json(by_alias=True)


@failure(Metric.TIME_IN_QUEUE)
async def a_message_that_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    sent_at = harness.clock.now()
    harness.clock.advance(7.5)
    await harness.app.queued_turns.run(
        make_queued_body(harness), "receipt", RecordDelivery("q1", 1), seconds=20, sent_at=sent_at
    )


@failure(Metric.SEARCH_INDEX_FILL)
async def a_write_into_the_embedded_index(monkeypatch: pytest.MonkeyPatch) -> None:
    await make_embedded_index(FakeS3(), "search").put(ADA, IndexName.EPISODES, [search_document("a", "green")])


@failure(Metric.MODEL_ERRORS_ANSWERED)
async def a_request_that_the_model_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    make_response(Request({"type": "http", "headers": []}), ModelUnavailable())


@pytest.mark.parametrize("metric", Metric)
async def test_a_failure_that_is_caught_is_written_down(
    metric: Metric, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with collect_counts(write_metrics):
        await FAILURES[metric](monkeypatch)
    assert counts(capsys.readouterr().out)[metric] >= 1


async def test_a_turn_that_goes_well_counts_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with collect_counts(write_metrics):
        await an_answer(monkeypatch)
    assert counts(capsys.readouterr().out) == {
        "Turns": 1,
        "TimeToFirstToken": 250,
        "InputTokens": 100,
        "OutputTokens": 20,
    }


async def test_only_the_first_delivery_says_how_long_a_message_has_waited(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with collect_counts(write_metrics):
        await a_message_that_has_waited(monkeypatch)
    assert counts(capsys.readouterr().out)[Metric.TIME_IN_QUEUE] == 7500
    harness = Harness()
    again = RecordDelivery("q1", 2)
    with collect_counts(write_metrics):
        await harness.app.queued_turns.run(
            make_queued_body(harness), "receipt", again, seconds=20, sent_at=harness.clock.now()
        )
    assert Metric.TIME_IN_QUEUE not in counts(capsys.readouterr().out)


def test_a_misconfigured_model_is_no_outage_of_its_provider(capsys: pytest.CaptureFixture[str]) -> None:
    with collect_counts(write_metrics):
        make_response(Request({"type": "http", "headers": []}), ModelMisconfigured())
    assert counts(capsys.readouterr().out) == {"RequestsFailed": 1}


async def test_a_thread_that_is_busy_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app = function(monkeypatch, "turns/app.py", {"queued_turns": Failing(ThreadBusy())})
    assert len(app.handler(RECORD, Context())["batchItemFailures"]) == 1
    assert counts(capsys.readouterr().out) == {}


def test_every_alarm_of_our_own_counts_looks_at_one_that_is_written_down() -> None:
    """Each of ``FAILURES`` is written down by the test above."""
    alarms = Template(read_template()).of_type("AWS::CloudWatch::Alarm").values()
    watched = {
        metric["MetricName"] for alarm in alarms for metric in metrics_of(alarm) if metric["Namespace"] == NAMESPACE
    }
    assert watched
    assert watched <= set(FAILURES)
    assert set(FAILURES) == set(Metric)
