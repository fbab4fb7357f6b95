"""An API of models as ``ModelCalls`` asks it: a question, the answer that arrives, and a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from baton.adapters.models.attachments.laid_out_attachments import Attachments
from baton.adapters.models.learning import RequestForm, SentFeatures
from baton.adapters.models.learning.failure import ProviderFailure
from baton.ports.agents.chat_model import FinishReason, ModelChunk, ModelSettings, Prompt, ToolSpec


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """A question to a model."""

    settings: ModelSettings
    prompts: Sequence[Prompt]
    tools: Sequence[ToolSpec]
    attachments: Attachments


class OpenedAnswer(Protocol):
    """An answer that arrives."""

    @property
    def sent(self) -> SentFeatures:
        """The optional parts of the request."""
        ...

    @property
    def size(self) -> int:
        """Bytes of the model's output so far: text, calls and thinking."""
        ...

    @property
    def reason(self) -> FinishReason | None:
        """The reason for which the model stopped; None until it has."""
        ...

    @property
    def is_cut(self) -> bool:
        """True if the answer was cut at its length limit. The rest is not read."""
        ...

    async def next(self) -> Sequence[ModelChunk] | None:
        """Return what the next event of the stream holds; None at its end.

        Raises ``ProviderFailure`` and ``ModelError``.
        """
        ...

    def cut(self) -> None:
        """End the answer here, as one that is too long."""
        ...

    def end(self) -> Sequence[ModelChunk]:
        """Return the tool calls and ``Finished``. Raises ``ModelUnavailable`` for an answer without its end."""
        ...

    def learned(self, form: RequestForm) -> RequestForm:
        """Return the form of later requests, with what this answer has shown."""
        ...

    async def aclose(self) -> None:
        """Close the stream."""
        ...


class ModelApi(Protocol):
    """One API of models."""

    async def open(self, question: ModelQuestion, form: RequestForm) -> OpenedAnswer:
        """Send the request and return its answer. Raises ``RefusedQuestion``, ``ProviderFailure`` and time-outs."""
        ...


class RefusedQuestion(Exception):
    """An endpoint refused a request that held ``sent``."""

    def __init__(self, failure: ProviderFailure, sent: SentFeatures) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.sent = sent
