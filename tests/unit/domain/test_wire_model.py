"""Shapes of the wire are read from the attributes of what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum

from pydantic import Field

from baton.domain.wire_model import Milliseconds, Timestamp, WireModel


class Status(StrEnum):
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Job:
    """The value that a store would keep."""

    id: str
    began_at: datetime
    duration: timedelta
    parts: tuple[str, ...] = ()
    status: Status = Status.OPEN

    @property
    def part_count(self) -> int:
        return len(self.parts)


class ServedJob(WireModel):
    job_id: str = Field(validation_alias="id")
    began_at: Timestamp
    duration_ms: Milliseconds = Field(validation_alias="duration")
    parts: list[str]
    part_count: int
    status: Status


JOB = Job("j1", datetime(2026, 3, 14, 9, 26, 53, 589_999, UTC), timedelta(seconds=1, microseconds=2_999), ("a", "b"))
WIRE = {
    "jobId": "j1",
    "beganAt": "2026-03-14T09:26:53.589Z",
    "durationMs": 1002,
    "parts": ["a", "b"],
    "partCount": 2,
    "status": "open",
}


def test_fields_are_attributes_in_camel_case_and_in_the_order_of_their_declaration() -> None:
    assert list(ServedJob.of(JOB).wire().items()) == list(WIRE.items())


def test_what_a_record_lacks_is_given_by_the_attributes_name() -> None:
    assert ServedJob.of(JOB, part_count=7, id="j2").wire() == {**WIRE, "jobId": "j2", "partCount": 7}


def test_times_are_served_in_utc() -> None:
    elsewhere = JOB.began_at.astimezone(timezone(timedelta(hours=5, minutes=45)))
    assert ServedJob.of(JOB, began_at=elsewhere).wire() == WIRE


def test_the_description_is_of_what_is_served() -> None:
    described = ServedJob.model_json_schema(mode="serialization")
    kinds = {name: field["type"] for name, field in described["properties"].items() if "type" in field}
    assert kinds == {
        "jobId": "string",
        "beganAt": "string",
        "durationMs": "integer",
        "parts": "array",
        "partCount": "integer",
    }
    assert described["required"] == list(WIRE)
