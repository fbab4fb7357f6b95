"""The rules of a tenant for runs that begin by themselves: a switch, daily limits, and quiet hours."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

MAX_STARTS = 100_000
"""The highest daily limit."""

HourAndMinute = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Number = TypeVar("Number", int, float)
Starts = Annotated[int, Field(ge=0, le=MAX_STARTS)]


class _Rules(BaseModel):
    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, from_attributes=True
    )


class QuietHours(_Rules):
    """The hours of a day in which runs that begin by themselves wait, on the clocks of the user."""

    begin: HourAndMinute = Field(description="The hour and minute at which they begin.", examples=["22:00"])
    end: HourAndMinute = Field(
        description="The hour and minute at which they end; a time before `begin` is on the next day."
    )

    @model_validator(mode="after")
    def _have_a_length(self) -> QuietHours:
        if self.begin == self.end:
            raise ValueError("begin and end must differ")
        return self

    def count_seconds_left(self, local: datetime) -> int:
        """Return the seconds until the quiet hours end; 0 outside them. ``local`` is the time on the user's clocks."""
        now, begin, end = local.time(), time.fromisoformat(self.begin), time.fromisoformat(self.end)
        is_over_midnight = end < begin
        is_quiet = (now >= begin or now < end) if is_over_midnight else begin <= now < end
        if not is_quiet:
            return 0
        # If the user's clocks change meanwhile, the run is put off once more, or begins an hour late.
        day = local.date() + timedelta(days=1 if is_over_midnight and now >= begin else 0)
        until = datetime.combine(day, end, local.tzinfo)
        return max(1, int((until - local).total_seconds()) + 1)


class SelfStartedRuns(_Rules):
    """The rules for runs that no message of a user begins. What is null is not limited, or as deployed."""

    enabled: bool = Field(default=True, description="False: no schedule and no event begins a run.")
    per_conversation_per_day: Starts | None = Field(
        default=None, description="The most such runs in one conversation on one day (UTC).", examples=[100]
    )
    per_user_per_day: Starts | None = Field(
        default=None, description="The most such runs of one user on one day (UTC).", examples=[500]
    )
    quiet_hours: QuietHours | None = Field(default=None, description="The hours in which they wait.")

    def within(self, deployment: SelfStartedRuns) -> SelfStartedRuns:
        """Return the rules that apply in a deployment: the stricter of each. Quiet hours of the tenant come first."""
        return SelfStartedRuns(
            enabled=self.enabled and deployment.enabled,
            per_conversation_per_day=choose_lower(self.per_conversation_per_day, deployment.per_conversation_per_day),
            per_user_per_day=choose_lower(self.per_user_per_day, deployment.per_user_per_day),
            quiet_hours=self.quiet_hours or deployment.quiet_hours,
        )


def choose_lower(own: Number | None, most: Number | None) -> Number | None:
    """Return the lower of two limits, where None is no limit."""
    limits = [limit for limit in (own, most) if limit is not None]
    return min(limits, default=None)
