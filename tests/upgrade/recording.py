"""The data and events of a release: kept as JSON, and put into the engines of another release."""

from __future__ import annotations

import base64
import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_sqs.client import SQSClient

Json = dict[str, Any]


@dataclass(frozen=True)
class Recording:
    """Everything in the table and the buckets, and what functions were called with."""

    at: str
    """The time of the recording, ISO 8601."""
    items: list[Json]
    """Items as DynamoDB's API has them, with bytes as ``{"base64": ...}``."""
    objects: list[Json]
    """``bucket``, ``key``, ``type`` and ``content`` (deflated, base64)."""
    queued: list[Json]
    """Records that were still in queues: ``queue``, ``body``, ``group`` and ``deduplication_id``."""
    events: list[Json]
    """``function`` and ``event``: other queue records, the steps of state machines, and what schedules send."""

    @classmethod
    def take(cls, dynamodb: DynamoDBClient, s3: S3Client, queues: Path, notes: Path) -> Recording:
        """Read the engines, the file of the queues, and the notes of ``recorded_cloud``, which was killed."""
        [table] = dynamodb.list_tables()["TableNames"]
        items: list[Any] = []
        for page in dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
            items += page["Items"]
        queued = list(_read_queues(queues))
        waiting = {record["body"] for record in queued}
        lines = [line for line in map(json.loads, notes.read_text().splitlines()) if not waiting & _bodies(line)]
        return cls(
            datetime.now(UTC).isoformat(timespec="seconds"),
            sorted((_encode(item) for item in items), key=lambda item: (item["PK"]["S"], item["SK"]["S"])),
            list(_read_objects(s3)),
            queued,
            list({json.dumps(_generalize(line), sort_keys=True): line for line in lines}.values()),
        )

    @classmethod
    def read(cls, file: Path) -> Recording:
        """Read what ``write`` has written."""
        return cls(**json.loads(file.read_text()))

    @property
    def made_at(self) -> datetime:
        """The time of the recording."""
        return datetime.fromisoformat(self.at)

    def write(self, file: Path) -> None:
        """Write it, with a line for each item, object and event, so that a change shows in a diff."""
        lists = {"items": self.items, "objects": self.objects, "queued": self.queued, "events": self.events}
        parts = (f'"{name}": [\n{_to_lines(values)}\n]' for name, values in lists.items())
        file.write_text("{" + ",\n".join([f'"at": "{self.at}"', *parts]) + "}\n")

    def send(self, sqs: SQSClient) -> None:
        """Send the records that were in queues."""
        for record in self.queued:
            sqs.send_message(
                QueueUrl=sqs.get_queue_url(QueueName=record["queue"])["QueueUrl"],
                MessageBody=record["body"],
                MessageGroupId=record["group"],
                MessageDeduplicationId=record["deduplication_id"],
            )

    def restore(self, dynamodb: DynamoDBClient, s3: S3Client, table: str) -> None:
        """Put items and objects into engines that have the table and the buckets, but no record into a queue.

        Items expire as long after now as after the recording, since the engine removes expired ones.
        """
        age = int((datetime.now(UTC) - self.made_at).total_seconds())
        for item in self.items:
            restored = _decode(item)
            if "expires_at" in restored:
                restored["expires_at"] = {"N": str(int(restored["expires_at"]["N"]) + age)}
            dynamodb.put_item(TableName=table, Item=restored)
        for content in self.objects:
            s3.put_object(
                Bucket=content["bucket"],
                Key=content["key"],
                Body=zlib.decompress(base64.b64decode(content["content"])),
                ContentType=content["type"],
            )


def _to_lines(values: Iterable[Json]) -> str:
    return ",\n".join(json.dumps(value, sort_keys=True, separators=(",", ":")) for value in values)


def _read_objects(s3: S3Client) -> Iterable[Json]:
    for bucket in sorted(listed["Name"] for listed in s3.list_buckets()["Buckets"]):
        for entry in s3.list_objects_v2(Bucket=bucket).get("Contents", []):
            content = s3.get_object(Bucket=bucket, Key=entry["Key"])
            body = base64.b64encode(zlib.compress(content["Body"].read(), 9)).decode()
            yield {"bucket": bucket, "key": entry["Key"], "type": content["ContentType"], "content": body}


def _read_queues(file: Path) -> Iterable[Json]:
    with closing(sqlite3.connect(file)) as database:
        for queue, text in database.execute("SELECT queue, message FROM messages ORDER BY queue, number"):
            message = json.loads(text)
            names = ("body", "group", "deduplication_id")
            yield {"queue": queue, **{name: message[name] for name in names}}


def _bodies(line: Json) -> set[str]:
    """Return the bodies of the queue records in an event."""
    return {record.get("body") for record in line["event"].get("Records", [])}


def _encode(value: Any) -> Any:
    match value:
        case bytes():
            return {"base64": base64.b64encode(value).decode()}
        case Mapping():
            return {name: _encode(member) for name, member in value.items()}
        case list() | set():
            return [_encode(member) for member in value]
    return value


def _decode(value: Any) -> Any:
    match value:
        case {"base64": str(text), **rest} if not rest:
            return base64.b64decode(text)
        case Mapping():
            return {name: _decode(member) for name, member in value.items()}
        case list():
            return [_decode(member) for member in value]
    return value


def _generalize(line: Json) -> Json:
    """Return a note without the times and counts by which events of the sweeper and of deliveries differ."""
    if line["event"].keys() == {"time"} or "detail-type" in line["event"]:
        return {"function": line["function"]}
    return line
