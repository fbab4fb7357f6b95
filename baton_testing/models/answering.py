"""The answer of a model in tests, as data and as a stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from baton.domain.errors import ModelError, ModelRefused, list_error_classes
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, TextDelta

MODEL_ERRORS = {error.code: error for error in list_error_classes() if issubclass(error, ModelError)}
"""The errors that models fail with, by their codes."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """One answer of a model."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    """The names of tools, with their arguments as JSON."""
    reason: FinishReason = FinishReason.STOP
    usage: Usage | None = None
    error: str | None = None
    """The code of the error that ends the answer."""

    def as_json(self) -> dict[str, Any]:
        """Return the answer in the form of cassettes."""
        values: dict[str, Any] = {}
        if self.text:
            values["text"] = self.text
        if self.calls:
            values["calls"] = [{"name": name, "arguments": arguments} for name, arguments in self.calls]
        if self.reason is FinishReason.LENGTH:
            values["reason"] = self.reason.value
        if self.usage is not None:
            values["usage"] = {"input": self.usage.input_tokens, "output": self.usage.output_tokens}
        if self.error is not None:
            values["error"] = self.error
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ModelAnswer:
        """Return the answer that ``as_json`` has written."""
        calls = tuple((call["name"], call["arguments"]) for call in values.get("calls", ()))
        reason = FinishReason(values.get("reason", FinishReason.TOOL_CALLS if calls else FinishReason.STOP))
        usage = values.get("usage")
        return cls(
            values.get("text", ""),
            calls,
            reason,
            Usage(usage["input"], usage["output"]) if usage is not None else None,
            values.get("error"),
        )

    async def stream(self, model: str) -> AsyncGenerator[ModelChunk, None]:
        """Yield the answer as the chunks of ``ChatModel``. Raises the ``ModelError`` of ``error`` after the text."""
        if self.text:
            yield TextDelta(self.text)
        if self.error is not None:
            raise make_model_error(self.error)
        for number, (name, arguments) in enumerate(self.calls, start=1):
            yield ToolCall(f"c{number}", name, arguments)
        yield Finished(self.reason, model, self.usage)


def make_model_error(code: str) -> ModelError:
    """Return an error with this code; a ``ModelRefused`` if no model's error has the code."""
    return MODEL_ERRORS.get(code, ModelRefused)()
