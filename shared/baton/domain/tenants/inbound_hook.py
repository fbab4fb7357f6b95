"""Inbound hooks: the signed requests of other systems that become events in conversations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

from baton.domain.definition import EVENT_TYPE, AgentId
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import TENANT_ID
from baton.domain.tenants.secret import HEADER_NAME
from baton.domain.tenants.webhook import WebhookId

MAX_HOOKS = 1_000
MAX_POINTER = 500
"""Characters of a JSON pointer."""


class HookCheck(StrEnum):
    """The way in which the requests of a hook are signed."""

    STANDARD = "standard"
    """Standard Webhooks."""
    HMAC = "hmac"
    """HMAC-SHA256 of the body in one header."""


def _check_pointer(text: str) -> str:
    """Return the text. Raise ``ValueError`` for a JSON pointer (RFC 6901) with a wrong escape."""
    if text.startswith("/") and re.search("~(?![01])", text):
        raise ValueError("a JSON pointer writes ~ as ~0, and / in a name as ~1")
    return text


Place = Annotated[str, StringConstraints(min_length=1, max_length=MAX_POINTER), AfterValidator(_check_pointer)]
"""A JSON pointer into the body, which begins with a slash, or a fixed value."""
Pointer = Annotated[str, StringConstraints(pattern="^/", max_length=MAX_POINTER), AfterValidator(_check_pointer)]


class InboundHook(BaseModel):
    """A hook, as operators write it in the settings document."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    id: WebhookId
    """The last part of its address, ``/v1/hooks/<id>``."""
    tenant: Annotated[str, StringConstraints(pattern=f"^{TENANT_ID.pattern}$")]
    """The tenant whose conversations get its events. No request can name another tenant."""
    type: Place
    """The type of its events, or the pointer to it."""
    verify: HookCheck = HookCheck.STANDARD
    header: Annotated[str, StringConstraints(pattern=f"^{HEADER_NAME.pattern}$")] | None = None
    """The header with the signature of ``hmac``."""
    encoding: Literal["hex", "base64"] = "hex"
    """The encoding of that signature."""
    prefix: Annotated[str, StringConstraints(pattern=r"^[!-~]*$", max_length=20)] = ""
    """The text before that signature, such as ``sha256=``."""
    secret: Annotated[
        str, StringConstraints(pattern=r"^baton/[a-z0-9]{1,16}/hooks/[A-Za-z0-9_/+=.@-]{1,150}$", max_length=200)
    ]
    """The name of the secret in Secrets Manager. The secret may have several values, separated by white space."""
    user: Place
    """The user of the conversation, or the pointer to their id."""
    thread: Place
    """The conversation, or the pointer to its id. The id is resolved for the user."""
    data: Pointer | None = None
    """The pointer to the data of the event. None: the whole body."""
    agent_id: AgentId | None = None
    """The main agent of a new conversation. None: the default one."""

    @model_validator(mode="after")
    def _is_complete(self) -> InboundHook:
        if (self.verify is HookCheck.HMAC) == (self.header is None):
            raise ValueError("a hook with `verify: hmac` needs a `header`, and other hooks have none")
        if not self.type.startswith("/") and re.fullmatch(EVENT_TYPE, self.type) is None:
            raise ValueError("type must be a JSON pointer, or letters, digits and . _ : / -")
        return self


@dataclass(frozen=True, slots=True)
class HookSettings:
    """The hooks of a deployment."""

    all: tuple[InboundHook, ...] = ()

    def find(self, hook_id: str) -> InboundHook | None:
        """Return the hook with this id; None if there is none."""
        return next((hook for hook in self.all if hook.id == hook_id), None)


def find_text(pointer: str, body: Any, name: str) -> str:
    """Return the text or whole number at a pointer into a request's body; a fixed value is returned as it is.

    Raises ``InvalidRequest`` if there is no text or whole number. ``name`` names the value in the error.
    """
    if not pointer.startswith("/"):
        return pointer
    value = find_value(pointer, body, name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"{name}: the body has no text at {pointer}.")
    return value


def find_value(pointer: str, body: Any, name: str) -> Any:
    """Return the value at a JSON pointer. Raises ``InvalidRequest``, which names it ``name``, if there is none."""
    value = body
    for part in _split_pointer(pointer):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,5}", part) and int(part) < len(value):
            value = value[int(part)]
        else:
            raise InvalidRequest(f"{name}: the body has nothing at {pointer}.")
    return value


def _split_pointer(pointer: str) -> Sequence[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
