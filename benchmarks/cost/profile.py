"""The assumed use for a bill, from ``profile.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field

FILE = Path(__file__).with_name("profile.yaml")

Amount = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class Profile(BaseModel):
    """A user's month, with times and sizes. The file explains each line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    conversations: Amount
    turns: Annotated[float, Field(ge=1, le=1e6)]
    share_over_sse: Share
    panel_openings: Amount
    panel_minutes: Amount
    reminders: Amount
    background_tasks: Amount
    documents: Amount
    document_chunks: Amount
    share_at_desks: Share
    desk_messages: Amount
    desk_list_hours: Amount
    first_token_seconds: Amount
    answer_seconds: Amount
    light_model_seconds: Amount
    prompt_bytes: Amount
    months_stored: Amount
    working_days: Positive
    busiest_hour: Annotated[float, Field(gt=0, le=1)]
    cold_starts: Share


def read_profile(changes: Path | None = None) -> Profile:
    """Read the profile, with the lines of the file ``changes`` in place of those in ``profile.yaml``.

    Raises pydantic's ``ValidationError``, which names the line, and ``ValueError`` if the file is not a list of names
    and values.
    """
    values = yaml.safe_load(FILE.read_text())
    if changes is not None:
        own = yaml.safe_load(changes.read_text()) or {}
        if not isinstance(own, dict):
            raise ValueError(f"{changes} must have lines such as `turns: 4`.")
        values.update(own)
    return Profile.model_validate(values)
