"""The table with the data of a point in time, which an operator or this module has created."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from baton_deployment.account import read_code
from baton_deployment.errors import DeploymentError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

POLL_SECONDS = 20.0
"""The pause between two questions for the state of a new table."""
Write = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RestoredTable:
    """A table with restored data, which no program changes."""

    name: str
    at: datetime
    """The time of its data."""


def parse_time(text: str) -> datetime:
    """Return a time from an operator's text, in UTC. Raises ``DeploymentError`` if it is wrong or has no offset."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise DeploymentError(f"{text!r} is not a time such as 2026-11-26T09:30:00Z.") from None
    if moment.tzinfo is None:
        raise DeploymentError(f"{text} has no time zone: write {text}Z for UTC, or an offset such as +01:00.")
    return moment.astimezone(UTC)


def read_restored_table(client: DynamoDBClient, name: str, at: datetime | None, live: str) -> RestoredTable:
    """Return an existing table with the time of its data: ``at``, or the time that DynamoDB has recorded.

    Raises ``DeploymentError``.
    """
    if name == live:
        raise DeploymentError(f"{name} is the live table. Name the one with the data of the earlier time.")
    try:
        description = client.describe_table(TableName=name)["Table"]
    except ClientError as problem:
        if read_code(problem) != "ResourceNotFoundException":
            raise
        raise DeploymentError(f"There is no table {name} in this account and region.") from None
    noted = description.get("RestoreSummary", {}).get("RestoreDateTime")
    moment = at or noted
    if moment is None:
        raise DeploymentError(f"{name} does not say of what time its data are: add --at TIME.")
    schema = {key["AttributeName"]: key["KeyType"] for key in description["KeySchema"]}
    if schema != {"PK": "HASH", "SK": "RANGE"}:
        raise DeploymentError(f"{name} is not a table of Baton: its keys are {', '.join(schema)}.")
    return RestoredTable(name, moment.astimezone(UTC))


def make_restored_table(client: DynamoDBClient, live: str, at: datetime, write: Write) -> RestoredTable:
    """Restore the live table of the time ``at`` into a second table, unless that was done before.

    Wait until the table can be read, which takes minutes, or hours if it is large. Raises ``DeploymentError``.
    """
    name = f"{live[:230]}-{at:%Y%m%dT%H%M%SZ}"
    try:
        status = client.describe_table(TableName=name)["Table"]["TableStatus"]
    except ClientError as problem:
        if read_code(problem) != "ResourceNotFoundException":
            raise
        _check_window(client, live, at)
        client.restore_table_to_point_in_time(SourceTableName=live, TargetTableName=name, RestoreDateTime=at)
        write(f"Restoring {live} as it was at {at:%Y-%m-%d %H:%M:%S} UTC into {name} ...")
        status = "CREATING"
    began_at = time.monotonic()
    while status != "ACTIVE":
        time.sleep(POLL_SECONDS)
        status = client.describe_table(TableName=name)["Table"]["TableStatus"]
        minutes = (time.monotonic() - began_at) / 60
        write(f"{name} is {status.lower()} after {minutes:.0f} minutes. Ctrl-C is harmless: the same command goes on.")
    return RestoredTable(name, at)


def _check_window(client: DynamoDBClient, live: str, at: datetime) -> None:
    """Raise ``DeploymentError`` if the table cannot be restored to the time ``at``."""
    description = client.describe_continuous_backups(TableName=live)["ContinuousBackupsDescription"]
    window = description.get("PointInTimeRecoveryDescription", {})
    earliest, latest = window.get("EarliestRestorableDateTime"), window.get("LatestRestorableDateTime")
    if window.get("PointInTimeRecoveryStatus") != "ENABLED":
        raise DeploymentError(f"Point-in-time recovery is off for {live}: name a table of a backup by --from.")
    if earliest is not None and latest is not None and not earliest <= at <= latest:
        first, last = (f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" for moment in (earliest, latest))
        raise DeploymentError(
            f"{live} can be restored to times from {first} to {last}. The last five minutes or so are never among them."
        )
