"""Every door refuses a tenant whose removal is confirmed, and background work of it is dropped without a failure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from baton.api.notifications import Notifications
from baton.domain.documents.document import UPLOAD_WAIT
from baton.domain.errors import TenantRemoved
from baton.domain.memory.forgetting import Retention
from baton.domain.metrics import Metric, collect_counts
from baton.knowledge.document_records import DocumentRecords
from tests.harness.due import DueHarness
from tests.harness.harness import Harness
from tests.harness.removals import remove_tenant
from tests.harness.sessions import close
from tests.harness.sockets import TAB, Socketed
from tests.harness.webhooks import webhook, with_webhooks
from tests.unit.api.a2a_client import A2AServed
from tests.unit.api.mcp_client import McpServed, request
from tests.unit.api.served import Served
from tests.unit.knowledge.pipeline import Pipeline
from tests.unit.knowledge.source_world import SITE, World


@pytest.fixture
def harness() -> Harness:
    return Harness()


def fail(*_: object, **__: object) -> None:
    """Fail as a write to the table does for a removed tenant."""
    raise TenantRemoved


class TestDoors:
    async def test_http(self, harness: Harness) -> None:
        served = Served(harness)
        assert (await served.get("/threads")).status_code == 200
        await remove_tenant(harness)
        refused = [
            await served.get("/threads"),
            await served.get("/users/me"),
            await served.post("/messages", {"messageId": "m", "message": "Hello"}),
            await served.post("/tenant/removal", None, "tenant:remove"),
        ]
        assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(410, "tenant_removed")}

    async def test_the_progress_of_the_removal_is_still_served(self, harness: Harness) -> None:
        await remove_tenant(harness)
        answer = await Served(harness).get("/tenant/removal", "tenant:remove")
        assert (answer.status_code, answer.json()["status"]) == (200, "removing")

    async def test_a2a(self) -> None:
        served = A2AServed()
        await remove_tenant(served.harness)
        answer = await served.post_a2a(b"{}")
        assert (answer.status_code, answer.json()["code"]) == (410, "tenant_removed")

    async def test_mcp(self) -> None:
        served = McpServed.over()
        await remove_tenant(served.harness)
        answer = await served.send(request("tools/list"))
        assert (answer.status_code, answer.json()["code"]) == (410, "tenant_removed")

    async def test_a_new_websocket(self, harness: Harness) -> None:
        await remove_tenant(harness)
        with pytest.raises(TenantRemoved):
            await harness.app.actions.admit_connection(harness.ada, "tab")
        await harness.app.actions.admit_connection(replace(harness.ada, tenant_id="other"), "tab")

    async def test_a_frame_is_refused_and_its_connection_closed(self, harness: Harness) -> None:
        await remove_tenant(harness)
        await Socketed(harness).send("ping")
        [refusal] = harness.connections.events(TAB)
        assert refusal["code"] == "tenant_removed"
        assert harness.connections.closed == [TAB]


class TestBackground:
    @pytest.mark.parametrize("is_dead", [False, True])
    async def test_a_queued_message_is_dropped(self, harness: Harness, is_dead: bool) -> None:
        socketed = Socketed(harness)
        await socketed.send("message", content="Hello", messageId="m")
        assert [event["name"] for event in socketed.take_events()] == ["message_accepted"]
        await remove_tenant(harness)
        await (socketed.give_up() if is_dead else socketed.run_queue())
        assert socketed.take_events() == []
        assert harness.model.requests == []

    async def test_a_queued_delivery_to_a_webhook_is_dropped(self, harness: Harness) -> None:
        hooked = with_webhooks(harness, webhook("crm", "thread.closed"))
        hooked.receivers.answers = [500]
        await harness.say()
        await close(harness)
        await hooked.settle()
        [delivery] = harness.push_queue.sent
        posted = len(hooked.receivers.posted)
        await remove_tenant(harness)
        await Notifications.of(harness.app).run(delivery.model_dump_json(by_alias=True, exclude_none=True), "", 2)
        assert len(hooked.receivers.posted) == posted

    async def test_the_sweeper_counts_no_failure(self, harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
        await harness.say()
        harness.clock.advance(31 * 60)
        monkeypatch.setattr(harness.idle, "_read", fail)
        report = await harness.sweeper.sweep(seconds=5)
        assert (report.failed, report.postponed) == (0, 1)

    async def test_a_due_schedule_is_no_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        harness = DueHarness()
        schedule = await harness.remind()
        harness.clock.advance(3600)
        monkeypatch.setattr(harness.due_items, "load", fail)
        counts: Counter[str] = Counter()
        with collect_counts(counts.update):
            await harness.app.self_started.due_starts.sweep(seconds=10)
            await harness.app.self_started.due_starts.start_queued(
                harness.schedules.make_entry(harness.ada, schedule).model_dump_json()
            )
        assert counts[Metric.SWEEP_FAILURES] == 0

    async def test_a_due_source_is_no_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        world = World()
        await world.create(urls=[f"{SITE}/a"])
        monkeypatch.setattr(world.store, "save", fail)
        assert (await world.refresh()).failed == 0

    async def test_a_due_document_is_no_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pipeline = Pipeline()
        await pipeline.create()
        pipeline.clock.advance(UPLOAD_WAIT.total_seconds())
        starts = pipeline.app.knowledge.ingestion_starts
        monkeypatch.setattr(DocumentRecords, "change", fail)
        counts: Counter[str] = Counter()
        with collect_counts(counts.update):
            assert await starts.resume(seconds=10) == 0
        assert counts[Metric.SWEEP_FAILURES] == 0

    async def test_a_due_retention_is_no_failure(self, harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
        await harness.retentions.put(harness.ada, Retention(threads=3, changed_at=harness.clock.now()))
        monkeypatch.setattr(harness.forget_requests, "open", fail)
        assert await harness.app.privacy.retention_runs.start_due() == 0
