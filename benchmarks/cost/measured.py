"""The counts of the benchmarks, from ``measured.yaml``."""

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
    """Capacity units of DynamoDB, including those of indexes."""

    write_units: float
    read_units: float

    def subtract(self, other: Units) -> Units:
        """Return the units beyond those of ``other``."""
        return Units(self.write_units - other.write_units, self.read_units - other.read_units)


@dataclass(frozen=True, slots=True)
class Panel:
    """The frames and connections of an open panel at rest, in an hour."""

    sent: float
    """Frames from the client."""
    received: float
    connections: float
    """New connections, after tokens or connections have expired."""


class Measured(BaseModel):
    """Counts of the benchmarks. Turns are counted with the rates of users that deployments have by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    date: date
    first_turn: Units
    """The first turn of a conversation with one attached connection."""
    later_turn: Units
    """A turn with a full history."""
    first_turn_over_sse: Units
    frames: int
    """The frames that a turn sends to the client."""
    title: Units
    summary: Units
    closing: Units
    closing_model_calls: int
    closing_s3_reads: int
    closing_s3_writes: int
    conversation_index_bytes: int
    """The bytes that a conversation of three turns adds to the user's index file."""
    idle_check: Units
    """The sweeper's check of an idle conversation."""
    desk: Mapping[str, Units]
    """The writes of each act of a stay at a desk. Reads are not counted."""
    due: Mapping[str, Units]
    """The steps of schedules and of background tasks."""
    panel: Panel


def read_measured(path: Path = FILE) -> Measured:
    """Read the counts. Raises pydantic's ``ValidationError`` if the file has another form."""
    return Measured.model_validate(yaml.safe_load(path.read_text()))
