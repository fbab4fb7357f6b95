"""What all models of tests have in common: an answer as data, and as a model streams it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from baton.domain.errors import ModelError, ModelRefused, error_classes
from baton.domain.tool_call import ToolCall
from baton.domain.usage import Usage
from baton.ports.chat_model import Finished, FinishReason, ModelChunk, TextDelta

MODEL_ERRORS = {error.code: error for error in error_classes() if issubclass(error, ModelError)}
"""The errors that models fail with, by their codes."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """One answer of a model."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    """Tools, and the arguments as JSON."""
    reason: FinishReason = FinishReason.STOP
    usage: Usage | None = None
    error: str | None = None
    """The code of the error that ends it."""

    def as_json(self) -> dict[str, Any]:
        """Return the answer as a cassette keeps it."""
        told: dict[str, Any] = {}
        if self.text:
            told["text"] = self.text
        if self.calls:
            told["calls"] = [{"name": name, "arguments": arguments} for name, arguments in self.calls]
        if self.reason is FinishReason.LENGTH:
            told["reason"] = self.reason.value
        if self.usage is not None:
            told["usage"] = {"input": self.usage.input_tokens, "output": self.usage.output_tokens}
        if self.error is not None:
            told["error"] = self.error
        return told

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> ModelAnswer:
        """Read what ``as_json`` has made."""
        calls = tuple((call["name"], call["arguments"]) for call in told.get("calls", ()))
        reason = FinishReason(told.get("reason", FinishReason.TOOL_CALLS if calls else FinishReason.STOP))
        usage = told.get("usage")
        return cls(
            told.get("text", ""),
            calls,
            reason,
            Usage(usage["input"], usage["output"]) if usage is not None else None,
            told.get("error"),
        )

    async def stream(self, model: str) -> AsyncGenerator[ModelChunk, None]:
        """Yield the answer as the port has it."""
        if self.text:
            yield TextDelta(self.text)
        if self.error is not None:
            raise model_error(self.error)
        for number, (name, arguments) in enumerate(self.calls, start=1):
            yield ToolCall(f"c{number}", name, arguments)
        yield Finished(self.reason, model, self.usage)


def model_error(code: str) -> ModelError:
    """Return the error of this code; ``ModelRefused`` if no model fails with it."""
    return MODEL_ERRORS.get(code, ModelRefused)()
