"""An endpoint with OpenAI's APIs, and its operator's choices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openai import AsyncOpenAI

from baton.adapters.models.profile import CacheHints, ModelProfile
from baton.adapters.openai.messages import wire_metadata
from baton.ports.chat_model import ModelSettings


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint that requests go to."""

    client: Callable[[], AsyncOpenAI]
    """Returns the client of the running event loop."""
    host: str
    sends_metadata: bool = False
    """True if requests have the field ``metadata``, which some endpoints refuse."""
    cache_hints: CacheHints | None = None
    """The operator's choice, instead of the one of profiles."""

    def metadata_of(self, settings: ModelSettings) -> dict[str, str] | None:
        """Return the metadata of a request; None if it has none."""
        return (wire_metadata(settings.metadata) or None) if self.sends_metadata else None

    def hints_for(self, profile: ModelProfile) -> CacheHints:
        """Return the hints for the prompt cache that the model takes."""
        hints = profile.cache if self.cache_hints is None else self.cache_hints
        return CacheHints.NONE if "cache_control" in profile.dropped else hints
