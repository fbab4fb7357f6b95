"""Actions in conversation tests: of the user, of people at desks and of other systems, and time that passes."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from baton_testing.durations import Duration

ACTIONS = ("say", "approve", "decline", "exit", "continue_", "close", "another", "wait", "desk", "person", "event")
"""The fields of an action. Each action has exactly one of them."""


class Part(BaseModel):
    """The base of all parts of a test file. Unknown fields are errors, so that misspelt fields are noticed."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=False, validate_by_alias=True)


class PersonStep(Part):
    """Actions of a person of a desk, in this order: take the conversation, write, leave a note, hand on or back."""

    id: str = "anna"
    name: str = "Anna"
    takes: bool = False
    says: str | None = Field(default=None, min_length=1)
    """A message to the user."""
    notes: str | None = Field(default=None, min_length=1)
    """A note for people, and for the agent after the return."""
    transfers: str | None = None
    """The desk that the conversation is transferred to."""
    returns: bool | str = False
    """Hand the conversation back; a text is the note for the agent."""

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if not (self.takes or self.says or self.notes or self.transfers or self.returns):
            raise ValueError("does nothing: give it takes, says, notes, transfers or returns")
        return self


class Meanwhile(Part):
    """A message that the user sends while the agent works."""

    say: str = Field(min_length=1)
    while_busy: Literal["queue", "steer", "interrupt"] | None = None
    """The treatment of the message; absent: as in the agent's definition."""
    during: str | None = None
    """The tool during whose call it is sent; absent: it is sent during the run's first call of a model."""
    withdraws: bool = False
    """True if the user withdraws it at once."""


class EventStep(Part):
    """An event of another system, sent into the conversation."""

    type: str = Field(min_length=1)
    data: Any = None
    """The event's data, any JSON value."""
    id: str | None = Field(default=None, min_length=1)
    """The sender's id of the event; absent: a new one. An event with the same id again is ignored."""


class Action(Part):
    """One action of the user, of a person at a desk or of another system, or time that passes."""

    say: str | None = Field(default=None, min_length=1)
    """A message."""
    files: tuple[str, ...] = ()
    """Files that are attached to the message, by their paths from the test's file."""
    approve: bool | str | None = None
    """Approve the waiting calls: all of them, or those of the named tool."""
    decline: bool | str | None = None
    """Decline the waiting calls: all of them, or those of the named tool."""
    comment: str | None = None
    """The person's comment on the decision."""
    meanwhile: tuple[Meanwhile, ...] = ()
    """Messages that the user sends while the agent works, in order."""
    exit: bool = False
    """Leave the specialist by the button of the page."""
    continue_: bool = Field(default=False, alias="continue")
    """Continue the unfinished workflow that was changed last, by the button of the page."""
    close: bool = False
    """Close the conversation."""
    another: bool = False
    """Take the steps from now on in another conversation of the same user."""
    wait: Duration | None = None
    """Let virtual time pass, which takes no real time."""
    desk: bool | str = False
    """Ask for the people of a desk by the button of the page: of the first desk, or of the named one."""
    person: PersonStep | None = None
    event: EventStep | None = None

    @model_validator(mode="after")
    def _is_one_action(self) -> Self:
        actions = self.model_fields_set & set(ACTIONS)
        if len(actions) != 1:
            raise ValueError(f"does one of: {', '.join(name.rstrip('_') for name in ACTIONS)}")
        [action] = actions
        if not getattr(self, action):
            raise ValueError(f"{action.rstrip('_')} cannot be false, null or empty: leave the action out")
        if self.files and self.say is None:
            raise ValueError("files go with say")
        if self.comment is not None and self.approve is None and self.decline is None:
            raise ValueError("comment goes with approve or decline")
        if self.meanwhile and not actions & {"say", "approve", "decline"}:
            raise ValueError("meanwhile goes with say, approve or decline")
        return self

    @property
    def title(self) -> str:
        """The step in a few words."""
        if self.say is not None:
            return f"say: {self.say}"
        if self.wait is not None:
            return f"wait: {self.wait}"
        if self.person is not None:
            return f"{self.person.name}: {self.person.says or 'acts'}"
        if self.event is not None:
            return f"event: {self.event.type}"
        return next(name for name in ACTIONS if getattr(self, name)).rstrip("_")
