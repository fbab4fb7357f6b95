"""Records on their way between two releases: each reads those of the other.

During a deployment functions of both releases are at work, and records in the queues and running state machines outlast
it. ``tests/records/`` has those of each release, as it wrote them. A release reads all of the previous release, and the
release before reads its own: no field is renamed or left out, and unknown fields are ignored.
"""

from __future__ import annotations

import json
import tomllib
from datetime import UTC, datetime
from typing import Any, cast, get_args

import pytest
from pydantic import TypeAdapter

from baton.domain.documents.document import DocumentRef, IngestionStep
from baton.domain.documents.pipelines import PipelineRun
from baton.domain.memory.capture import CaptureRef, CaptureStep
from baton.domain.memory.episode import EpisodeRef
from baton.domain.schedules.due_entry import DueEntry
from baton.domain.schedules.run_source import CauseKind, RunSource
from baton.domain.tenants.identity import Scope
from baton.domain.threads.push_config import PushNotice
from baton.domain.threads.queued import Queued, QueuedMessage, parse_queued
from baton.domain.threads.thread import EndReason
from baton.domain.threads.thread_change import ThreadChange
from baton.domain.threads.webhook_delivery import WebhookDelivery
from baton.entry.jobs.ingestion_events import read_document_ref
from baton.entry.jobs.pipeline_admission import PipelineAdmission
from baton.entry.jobs.pipeline_starts import AdmittedCaptures, AdmittedClosings, AdmittedIngestions
from baton.memory.episodes.session_closing import ClosingStep
from baton_local.root import ROOT

Json = dict[str, Any]

RELEASES = {path.stem: json.loads(path.read_text()) for path in (ROOT / "tests/records").glob("*.json")}
TURNS = [record for release in RELEASES.values() for record in release["turns"]]
NOTIFICATIONS = [record for release in RELEASES.values() for record in release["notifications"]]
LATER = {"fieldOfALaterRelease": {"of": ["any", "shape"]}}
Record = ThreadChange | PushNotice | WebhookDelivery
ADA = Scope("acme", "ada")
AT = datetime(2026, 3, 14, 8, tzinfo=UTC)
SAMPLES = {
    "close_session": ("states_closing", "session"),
    "capture_procedure": ("states_learning", "task"),
    "ingest_document": ("states_ingestion", "document"),
    "forget_user": ("states_forgetting", None),
}
"""State machine -> a sample of events/, and the part of it that is the machine's input."""
STEPS: dict[str, set[str]] = {
    "close_session": set(ClosingStep) | {"whole", "learn", "fail"},
    "capture_procedure": set(CaptureStep) | {"fail"},
    "ingest_document": set(IngestionStep) | {"fail"},
    "forget_user": {"sweep", "verify", "failed"},
}
"""State machine -> the steps that its function carries out."""


def notification(record: Json) -> Record:
    adapter: TypeAdapter[Record] = TypeAdapter(Record)
    return adapter.validate_python(record)


def is_within(older: Any, newer: Any) -> bool:
    """Return whether ``newer`` has every value of ``older`` under the same name."""
    if isinstance(older, dict) and isinstance(newer, dict):
        return all(name in newer and is_within(value, newer[name]) for name, value in older.items())
    if isinstance(older, list) and isinstance(newer, list):
        return len(older) == len(newer) and all(map(is_within, older, newer))
    return bool(older == newer)


def test_the_records_of_this_release_are_kept() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    stored = {record["action"] for record in RELEASES[version]["turns"]}
    kinds = {kind for shape in get_args(Queued) for kind in get_args(shape.model_fields["action"].annotation)}
    assert stored == kinds
    assert {record["record"] for record in RELEASES[version]["notifications"]} == {"change", "notice", "delivery"}


@pytest.mark.parametrize("record", TURNS, ids=lambda record: record["action"])
def test_a_turns_record_is_read_and_written_with_everything_it_has(record: Json) -> None:
    read = parse_queued(json.dumps(record))
    assert is_within(record, json.loads(read.model_dump_json(by_alias=True)))
    assert parse_queued(json.dumps({**record, **LATER})) == read


@pytest.mark.parametrize("record", NOTIFICATIONS, ids=lambda record: record["record"])
def test_a_notifications_record_is_read_and_written_with_everything_it_has(record: Json) -> None:
    read = notification(record)
    assert is_within(record, json.loads(read.model_dump_json(by_alias=True)))
    assert notification({**record, **LATER}) == read


def test_causes_of_runs_come_back() -> None:
    messages = [parse_queued(json.dumps(record)) for record in TURNS if "begunBy" in record]
    assert [message.request.begun_by for message in messages if isinstance(message, QueuedMessage)] == [
        RunSource(CauseKind.EVENT, "e-1", "order.shipped"),
        RunSource(CauseKind.SCHEDULE, "water", late=7200),
    ]


@pytest.mark.parametrize("version", RELEASES)
def test_a_record_of_the_queue_of_due_items_is_read_and_written_with_everything_it_has(version: str) -> None:
    for record in RELEASES[version]["due"]:
        read = DueEntry.model_validate_json(json.dumps({**record, **LATER}))
        assert is_within(record, json.loads(read.model_dump_json()))


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("machine", SAMPLES)
def test_functions_are_tried_with_the_inputs_of_each_release(version: str, machine: str) -> None:
    name, part = SAMPLES[machine]
    sample = json.loads((ROOT / f"events/{name}.json").read_text())
    assert is_within(RELEASES[version]["inputs"][machine], sample[part] if part else sample)


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("machine", STEPS)
def test_a_function_carries_out_the_steps_of_running_executions(version: str, machine: str) -> None:
    assert set(RELEASES[version]["steps"][machine]) <= STEPS[machine]


@pytest.mark.parametrize("version", RELEASES)
async def test_inputs_have_what_functions_of_each_release_read(version: str) -> None:
    older = RELEASES[version]["inputs"]
    started = _Started()
    admission = cast("PipelineAdmission", started)
    session, task = older["close_session"], older["capture_procedure"]
    episode = EpisodeRef(
        session["threadId"],
        session["episode"],
        session["firstOrdinal"],
        session["endOrdinal"],
        EndReason(session["reason"]),
        AT,
        AT,
    )
    await AdmittedClosings(admission).start(ADA, episode, attempt=session["attempt"])
    capture = CaptureRef(task["threadId"], task["agentId"], task["firstOrdinal"], task["endOrdinal"], AT)
    await AdmittedCaptures(admission).start(ADA, capture, attempt=task["attempt"])
    document = read_document_ref({"document": older["ingest_document"]})
    assert isinstance(document, DocumentRef)
    await AdmittedIngestions(admission).start(document, attempt=1, created_at=AT)
    for run in started.runs:
        named = older[run.pipeline.value]
        assert is_within({**named, "subject": ""}, {**run.described, "subject": ""})
        assert isinstance(run.described["subject"], str)


class _Started:
    """The runs that would begin."""

    def __init__(self) -> None:
        self.runs: list[PipelineRun] = []

    async def start(self, run: PipelineRun) -> None:
        self.runs.append(run)
