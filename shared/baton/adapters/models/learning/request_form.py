"""The form in which a request is sent, and its optional parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from baton.adapters.models.attachments.content import MediaKind
from baton.adapters.models.profiles.profile import Api, ModelProfile, with_facts

TOOLS_EFFORT = "effort_with_tools"
"""The further fact of a model that takes tools over Chat Completions only with this effort."""


@dataclass(frozen=True, slots=True)
class RequestForm:
    """The form in which a request is sent: by the model's profile, with or without the parts of earlier answers."""

    profile: ModelProfile
    sends_parts: bool = True
    """Whether opaque parts are sent back. They are left out of a request whose parts the endpoint does not accept."""
    refused_apis: frozenset[Api] = frozenset()
    """The APIs over which the endpoint has refused this request."""
    refused_limits: frozenset[str] = frozenset()
    """The fields for the limit of an answer's tokens that the endpoint has refused."""
    refused_parts: frozenset[str] = frozenset()
    """The fields of earlier answers that the endpoint has refused."""
    before_guess: RequestForm | None = None
    """The form before a guess, which is a change that no words of a refusal ask for. It returns if the guess fails."""
    temporary_facts: frozenset[str] = frozenset()
    """Facts of the profile that hold for this request only, because its content is the likely cause of the refusal."""

    def with_facts(self, **facts: Any) -> RequestForm | None:
        """Return the form with further facts of the profile; None if they are known already. See ``with_facts``."""
        changed = with_facts(self.profile, facts)
        return replace(self, profile=changed) if changed != self.profile else None

    def make_lasting_profile(self, since: ModelProfile) -> ModelProfile:
        """Return the profile for later requests. Temporary facts are as in ``since``, the profile before this one."""
        return replace(self.profile, **{name: getattr(since, name) for name in self.temporary_facts})


@dataclass(frozen=True, slots=True)
class SentFeatures:
    """The optional parts of a request, which an endpoint may refuse."""

    fields: Collection[str] = ()
    """The names of the request's optional fields."""
    has_tools: bool = False
    has_media: bool = False
    media_kinds: Collection[MediaKind] = tuple(MediaKind)
    """The kinds that the request's media may have."""
    has_parts: bool = False
    withheld: Mapping[str, Any] = field(default_factory=dict)
    """Fields that the endpoint has sent in its answers, but that not all of its answers have in the request."""
    has_schema: bool = False
    """Whether the agent declares an answer schema."""
    body: Any = field(default=None, repr=False)
    """The whole request as JSON values."""
