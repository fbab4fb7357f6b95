"""The shapes of Chat Completions and of the Embeddings API that the demo model takes."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

MAX_TEXTS = 2_048
"""The most texts of one request for embeddings, as OpenAI allows."""


class EmbeddingRequest(BaseModel):
    """A request to ``POST /embeddings``."""

    model: str = Field(min_length=1)
    input: str | list[str] = Field(min_length=1)
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None

    @field_validator("input")
    @classmethod
    def _has_texts(cls, value: str | list[str]) -> str | list[str]:
        texts = [value] if isinstance(value, str) else value
        if len(texts) > MAX_TEXTS:
            raise ValueError(f"must not be more than {MAX_TEXTS} texts")
        if not all(texts):
            raise ValueError("must not be an empty text")
        return value

    @property
    def texts(self) -> list[str]:
        """The texts as a list."""
        return [self.input] if isinstance(self.input, str) else self.input


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool = False


class CalledFunction(BaseModel):
    """The function of a tool call."""

    name: str = Field(min_length=1)
    arguments: str


class CalledTool(BaseModel):
    """A tool call that the assistant made before."""

    id: str = Field(min_length=1)
    type: Literal["function"]
    function: CalledFunction


class OfferedFunction(BaseModel):
    """A function that the model may call."""

    model_config = ConfigDict(extra="allow")

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None


class OfferedTool(BaseModel):
    """A tool that the model may call."""

    type: Literal["function"]
    function: OfferedFunction


class ChatMessage(BaseModel):
    """One message. ``situation`` reads the parts of its content."""

    model_config = ConfigDict(extra="allow")

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = None
    name: str | None = None
    tool_calls: list[CalledTool] | None = Field(default=None, min_length=1)
    tool_call_id: str | None = None


class ChatRequest(BaseModel):
    """A request to ``POST /chat/completions``; fields that the stand-in does not use are accepted and ignored."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(min_length=1)
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool = False
    stream_options: StreamOptions | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, le=2)
    tools: list[OfferedTool] | None = Field(default=None, min_length=1)
    tool_choice: str | dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    response_format: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _each_call_has_its_result(self) -> Self:
        """Refuse results without their calls, and calls whose results do not follow at once, as OpenAI does."""
        open_calls: set[str] = set()
        for message in self.messages:
            if message.role == "tool":
                if message.tool_call_id not in open_calls:
                    raise ValueError("messages with role 'tool' must follow the 'tool_calls' that they answer")
                open_calls.remove(message.tool_call_id)
            elif open_calls:
                break
            elif message.role == "assistant":
                open_calls = {call.id for call in message.tool_calls or ()}
        if open_calls:
            raise ValueError(f"'tool_calls' must be followed by the results of {', '.join(sorted(open_calls))}")
        return self

    @property
    def offered(self) -> dict[str, OfferedFunction]:
        """The tools that may be called, by name."""
        if self.tool_choice == "none":
            return {}
        return {tool.function.name: tool.function for tool in self.tools or ()}

    @property
    def answer_schema(self) -> dict[str, Any] | None:
        """The JSON Schema that the answer has to fit; None if it may be any text."""
        match self.response_format:
            case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
                return schema
        return None

    @property
    def output_limit(self) -> int | None:
        """The most tokens that the answer may have; None if unlimited."""
        return self.max_completion_tokens or self.max_tokens
