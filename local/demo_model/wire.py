"""The shapes of Chat Completions that the demo model takes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool = False


class ChatMessage(BaseModel):
    """One message; parts of its content are read by ``conversation``."""

    model_config = ConfigDict(extra="allow")

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = None
    name: str | None = None


class ChatRequest(BaseModel):
    """A request to ``POST /chat/completions``; what the stand-in has no use for is accepted and ignored."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(min_length=1)
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool = False
    stream_options: StreamOptions | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, le=2)

    @property
    def output_limit(self) -> int | None:
        """The most tokens the answer may have."""
        return self.max_completion_tokens or self.max_tokens
