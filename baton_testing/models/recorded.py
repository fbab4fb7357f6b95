"""A model that plays a cassette, and a model that fills one."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from baton.domain.errors import ModelError
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.ports.agents.chat_model import (
    ChatModel,
    Finished,
    FinishReason,
    ModelChunk,
    ModelSettings,
    Prompt,
    TextDelta,
    TextTakenBack,
    ToolSpec,
)
from baton.ports.documents.files import ThreadFiles
from baton_testing.models.answering import ModelAnswer, make_model_error
from baton_testing.models.cassette import Recording
from baton_testing.models.own_time import OwnTime
from baton_testing.models.request import RenderedRequest

MAX_DIFF_LINES = 60


class RecordedModel:
    """``ChatModel`` that gives recorded answers. A request without a recording is a problem of the test."""

    def __init__(self, recordings: Sequence[Recording], own_time: OwnTime | None = None) -> None:
        self._recordings = recordings
        self._by_key: dict[str, list[ModelAnswer]] = {}
        for recording in recordings:
            self._by_key.setdefault(recording.request.key, []).append(recording.answer)
        self._played: Counter[str] = Counter()
        self._own_time = own_time or OwnTime()
        self.problems: list[str] = []

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the next recorded answer to this request, or the last one again if all were given.

        Raises ``ModelError`` if the request was not recorded, or the answer is an error.
        """
        with self._own_time.not_counted():
            answer = self._answer(RenderedRequest.of(settings, prompts, tools))
        async for chunk in answer.stream(settings.model):
            yield chunk

    def _answer(self, request: RenderedRequest) -> ModelAnswer:
        answers = self._by_key.get(request.key)
        if answers is None:
            self.problems.append(self._describe_difference(request))
            raise make_model_error("model_refused")
        played = self._played[request.key]
        self._played[request.key] += 1
        return answers[min(played, len(answers) - 1)]

    def _describe_difference(self, request: RenderedRequest) -> str:
        """Return the difference of a request from the most similar recorded one, if possible from an unplayed one."""
        unplayed = [recording.request for recording in self._recordings if not self._played[recording.request.key]]
        nearest = max(
            unplayed or [recording.request for recording in self._recordings], key=_make_likeness(request), default=None
        )
        if nearest is None:
            return "The cassette has no recording of this conversation. Record it: `baton test FILE -k NAME --record`."
        lines = difflib.unified_diff(nearest.lines, request.lines, "recorded", "now", n=2, lineterm="")
        differences = list(lines)
        if len(differences) > MAX_DIFF_LINES:
            differences = [*differences[:MAX_DIFF_LINES], f"... and {len(differences) - MAX_DIFF_LINES} more lines"]
        return "\n".join(
            [
                "This prompt was not recorded. If the change is wanted, record again with --record. The difference:",
                *differences,
            ]
        )


def _make_likeness(request: RenderedRequest) -> Callable[[RenderedRequest], float]:
    def compute_likeness(other: RenderedRequest) -> float:
        return difflib.SequenceMatcher(None, other.lines, request.lines, autojunk=False).ratio()

    return compute_likeness


class RecordingModel:
    """``ChatModel`` that records the answers of another one."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.recordings: list[Recording] = []

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the model's chunks, and record the request and the answer, as far as it came and was not taken back."""
        request = RenderedRequest.of(settings, prompts, tools)
        text: list[str] = []
        calls: list[tuple[str, str]] = []
        reason, usage, error = FinishReason.STOP, None, None
        stream = self._model.stream(settings, prompts, thread_files=thread_files, tools=tools)
        try:
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    match chunk:
                        case TextDelta(piece):
                            text.append(piece)
                        case TextTakenBack():
                            text.clear()
                        case ToolCall(_, name, arguments):
                            calls.append((name, arguments))
                        case Finished(why, _, used):
                            reason, usage = why, used
                    yield chunk
        except ModelError as failure:
            error = failure.code
            raise
        finally:
            answer = ModelAnswer("".join(text), tuple(calls), reason, _drop_cache(usage), error)
            self.recordings.append(Recording(request, answer))


def _drop_cache(usage: Usage | None) -> Usage | None:
    return Usage(usage.input_tokens, usage.output_tokens) if usage is not None else None
