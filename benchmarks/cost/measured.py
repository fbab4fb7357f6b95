"""The counts of the benchmarks, as ``measured.yaml`` has them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict
from pydantic.dataclasses import dataclass

FILE = Path(__file__).with_name("measured.yaml")


@dataclass(frozen=True, slots=True)
class Units:
    """Capacity units of DynamoDB, indexes included."""

    write_units: float
    read_units: float

    def minus(self, other: Units) -> Units:
        """Return what this takes beyond another one."""
        return Units(self.write_units - other.write_units, self.read_units - other.read_units)


@dataclass(frozen=True, slots=True)
class Panel:
    """An hour of an open panel at rest."""

    sent: float
    """Frames from the client."""
    received: float
    connections: float
    """New connections, because tokens and connections end."""


class Measured(BaseModel):
    """Counts of the benchmarks. Those of turns include the rates of users that deployments have by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    date: date
    first_turn: Units
    """The first turn of a conversation, with one connection that is attached to it."""
    later_turn: Units
    """A turn with a full history."""
    first_turn_over_sse: Units
    frames: int
    """Frames to the client in a turn."""
    title: Units
    summary: Units
    closing: Units
    closing_model_calls: int
    closing_s3_reads: int
    closing_s3_writes: int
    conversation_index_bytes: int
    """By which a conversation of three turns makes the user's index file grow."""
    idle_check: Units
    """The sweeper's check of an idle conversation."""
    desk: Mapping[str, Units]
    """Writes of the acts of a stay at a desk. Reads are not counted."""
    due: Mapping[str, Units]
    """The steps of schedules and of tasks in the background."""
    panel: Panel


def read_measured(path: Path = FILE) -> Measured:
    """Read the counts. Raises pydantic's ``ValidationError`` if the file has another form."""
    return Measured.model_validate(yaml.safe_load(path.read_text()))
