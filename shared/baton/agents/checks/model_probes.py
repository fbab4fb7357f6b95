"""Trials of a chat model: a text, a tool call, two calls at once, a structured answer, an image."""

from __future__ import annotations

import asyncio
import base64
import struct
import zlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from ag_ui.core import DataSource, ImagePart, TextPart
from aws_lambda_powertools import Logger

from baton.agents.checks.model_advice import NO_CALL, NO_IMAGES, NO_SCHEMA, NO_TEXT, NOT_SEEN, advise_on_error
from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent_settings import ModelChoice
from baton.domain.agents.answer_schema import find_violations
from baton.domain.agents.model_providers import Ability, AbilityCheck
from baton.domain.errors import BatonError, InternalError, ModelError, ModelTimeout
from baton.domain.json_values import find_json_object, make_closed_object
from baton.domain.metrics import Metric, count
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.ports.agents import chat_model
from baton.ports.agents.chat_model import ModelSettings, Prompt, ToolSpec
from baton.ports.documents.files import NoFiles

SIDE = 64
"""Pixels of each side. Some models refuse pictures smaller than 28 by 28."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def draw_plain_png(red: int, green: int, blue: int) -> bytes:
    """Return a square PNG of one colour. The parts of the colour are from 0 to 255."""
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)  # 8 bits of red, green and blue each
    rows = (b"\0" + bytes((red, green, blue)) * SIDE) * SIDE
    return (
        _SIGNATURE
        + _make_chunk(b"IHDR", header)
        + _make_chunk(b"IDAT", zlib.compress(rows))
        + _make_chunk(b"IEND", b"")
    )


def _make_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PROBE_SECONDS = 20.0
"""Time limit of one trial, with all its requests."""
MAX_OUTPUT_TOKENS = 2_000
"""Tokens of one answer, which is a few words after the model's thinking."""
MAX_QUOTED = 80
"""Characters of an answer or a tool's name that a report quotes."""
MAX_REASON = 300
"""Characters of an error's reason in a report."""

TOOL = ToolSpec(
    "get_temperature",
    "Returns the present temperature of a city.",
    make_closed_object({"city": {"type": "string", "description": "The name of the city."}}),
)
TEMPERATURES = {"oslo": "11 °C", "lima": "23 °C"}
SCHEMA = make_closed_object({"city": {"type": "string"}, "days": {"type": "integer"}})
COLOUR = ("green", (0, 160, 0))
IMAGE_PARTS = (
    TextPart(text="Which colour does this image have? Answer with one word."),
    ImagePart(source=DataSource(value=base64.b64encode(draw_plain_png(*COLOUR[1])).decode(), mime_type="image/png")),
)

logger = Logger(child=True)


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    calls: tuple[ToolCall, ...]
    finished: chat_model.Finished

    @property
    def description(self) -> str:
        """A description of the answer, with the beginning of its text, for a remark in the report."""
        words = " ".join(self.text.split())
        if words:
            return f"it answered {words[:MAX_QUOTED]!r}"
        is_cut = self.finished.reason is chat_model.FinishReason.LENGTH
        return f"its answer was empty{' when its length limit was reached' if is_cut else ''}"


class ModelProbes:
    """Trials of chat models. Each trial asks for a few words, ends after ``seconds``, and reports errors as results."""

    def __init__(self, model: chat_model.ChatModel, *, seconds: float = PROBE_SECONDS) -> None:
        self._model = model
        self._seconds = seconds
        self.tokens = 0
        """Tokens that the trials have used, as far as the endpoint reports them."""

    async def check(self, name: str, choices: Sequence[ModelChoice] = ()) -> tuple[AbilityCheck, ...]:
        """Try the abilities of the model ``name`` with the settings of the agents that use it, and return the results.

        If the model does not answer with text, its other abilities are not tried.
        """
        settings = _merge_settings(name, choices, self._seconds)
        text = await self._run_trial(Ability.TEXT, self._try_text, settings)
        other_trials: dict[Ability, Callable[[ModelSettings], Awaitable[AbilityCheck]]] = {
            Ability.TOOL_CALL: self._try_tool_call,
            Ability.PARALLEL_CALLS: self._try_parallel_calls,
            Ability.STRUCTURED_ANSWER: self._try_structured_answer,
            Ability.IMAGE: self._try_image,
        }
        if not text.works:
            return (text, *(AbilityCheck(ability, None, "not tried, because text fails") for ability in other_trials))
        checks = await gather_all(
            *(self._run_trial(ability, trial, settings) for ability, trial in other_trials.items())
        )
        return (text, *checks)

    async def _run_trial(
        self, ability: Ability, trial: Callable[[ModelSettings], Awaitable[AbilityCheck]], settings: ModelSettings
    ) -> AbilityCheck:
        """Return the result of a trial, even if it fails or takes too long."""
        error: BatonError
        try:
            async with asyncio.timeout(self._seconds):
                return await trial(settings)
        except TimeoutError:
            error = ModelTimeout()
        except BatonError as failure:
            error = failure
        except Exception:
            # Reading a key or calling a provider may raise any error. The other trials continue.
            logger.exception("The trial of a model failed", extra={"model": settings.model, "ability": ability})
            count(Metric.INTERNAL_FAULTS)
            error = InternalError()
        reason = error.reason if isinstance(error, ModelError) else None
        return AbilityCheck(
            ability,
            works=False,
            remark=f"no answer within {self._seconds:g} seconds" if isinstance(error, ModelTimeout) else None,
            error=error.code,
            reason=" ".join(reason.split())[:MAX_REASON] if reason else None,
            advice=advise_on_error(error, ability),
        )

    async def _try_text(self, settings: ModelSettings) -> AbilityCheck:
        answer = await self._ask(settings, [Prompt(Role.USER, "Answer with the single word: ready")])
        if not answer.text.strip():
            return _fail(Ability.TEXT, answer, answer.description, NO_TEXT)
        return _pass(Ability.TEXT, answer)

    async def _try_tool_call(self, settings: ModelSettings) -> AbilityCheck:
        question = "What is the temperature in Oslo now? Ask the tool, then answer with its result only."
        calling, final = await self._call_tool(settings, question, 1)
        if final is None:
            return _fail(Ability.TOOL_CALL, calling, _describe_missing_call(calling), NO_CALL)
        if "11" not in final.text:
            remark = f"it called the tool and did not use the result: {final.description}"
            return _fail(Ability.TOOL_CALL, final, remark, NO_CALL)
        return _pass(Ability.TOOL_CALL, final)

    async def _try_parallel_calls(self, settings: ModelSettings) -> AbilityCheck:
        question = (
            "What are the temperatures in Oslo and in Lima now? Call the tool for both cities at the same time, then "
            "answer with the results only."
        )
        calling, final = await self._call_tool(replace(settings, parallel_tool_calls=None), question, 2)
        if final is None:
            remark = "it calls one tool after the other" if calling.calls else _describe_missing_call(calling)
            return _fail(Ability.PARALLEL_CALLS, calling, remark, None if calling.calls else NO_CALL)
        missing_cities = [city.title() for city, result in TEMPERATURES.items() if result[:2] not in final.text]
        if missing_cities:
            remark = f"it did not use the result for {' and '.join(missing_cities)}: {final.description}"
            return _fail(Ability.PARALLEL_CALLS, final, remark, NO_CALL)
        return _pass(Ability.PARALLEL_CALLS, final)

    async def _try_structured_answer(self, settings: ModelSettings) -> AbilityCheck:
        question = "Three days in Paris: answer with the city and the number of days, as JSON."
        reply = await self._ask(replace(settings, answer_schema=SCHEMA), [Prompt(Role.USER, question)])
        answer = find_json_object(reply.text)
        problems = ["it is no JSON object"] if answer is None else find_violations(SCHEMA, answer)
        if problems:
            return _fail(Ability.STRUCTURED_ANSWER, reply, f"{'; '.join(problems)}: {reply.description}", NO_SCHEMA)
        if "answer_schema" in reply.finished.dropped:
            remark = "the schema stands in the prompt only, so that answers may need a correction"
            return _pass(Ability.STRUCTURED_ANSWER, reply, remark)
        return _pass(Ability.STRUCTURED_ANSWER, reply)

    async def _try_image(self, settings: ModelSettings) -> AbilityCheck:
        answer = await self._ask(settings, [Prompt(Role.USER, IMAGE_PARTS)])
        if "images" in answer.finished.dropped:
            return _fail(Ability.IMAGE, answer, "it takes no images; the prompt says that there was one", NO_IMAGES)
        if COLOUR[0] not in answer.text.casefold():
            remark = f"it did not see that the image was {COLOUR[0]}: {answer.description}"
            return _fail(Ability.IMAGE, answer, remark, NOT_SEEN)
        return _pass(Ability.IMAGE, answer)

    async def _call_tool(self, settings: ModelSettings, question: str, calls: int) -> tuple[_Answer, _Answer | None]:
        """Ask a question that needs ``calls`` calls of the tool.

        Return the answer with the calls, and the answer to the results of the calls. The second answer is None if the
        model made too few calls.
        """
        prompts = [Prompt(Role.USER, question)]
        answer = await self._ask(settings, prompts, TOOL)
        tool_calls = [call for call in answer.calls if call.name == TOOL.name]
        if len(tool_calls) < calls:
            return answer, None
        prompts.append(
            Prompt(Role.ASSISTANT, answer.text, tool_calls=answer.calls, provider_parts=answer.finished.provider_parts)
        )
        for call in answer.calls:
            city = str((call.parse_arguments() or {}).get("city", "")).casefold()
            result = next((text for name, text in TEMPERATURES.items() if name in city), "There is no such city.")
            prompts.append(Prompt(Role.TOOL, result, tool_call_id=call.id))
        return answer, await self._ask(settings, prompts, TOOL)

    async def _ask(self, settings: ModelSettings, prompts: Sequence[Prompt], *tools: ToolSpec) -> _Answer:
        """Return the whole answer of the model, and count its tokens. Raises the errors of the model."""
        text = chat_model.AnswerText()
        calls: list[ToolCall] = []
        finished: chat_model.Finished | None = None
        async with aclosing(self._model.stream(settings, prompts, thread_files=NoFiles(), tools=tools)) as chunks:
            async for chunk in chunks:
                match chunk:
                    case chat_model.TextDelta() | chat_model.TextTakenBack():
                        text.take(chunk)
                    case ToolCall():
                        calls.append(chunk)
                    case chat_model.Finished():
                        finished = chunk
        if finished is None:
            raise InternalError
        self.tokens += finished.usage.total_tokens if finished.usage is not None else 0
        return _Answer(text.text, tuple(calls), finished)


def _merge_settings(name: str, choices: Sequence[ModelChoice], seconds: float) -> ModelSettings:
    """Return settings with every parameter that one of ``choices`` sets, so that refused parameters are found.

    If several choices set a parameter, the first value is used.
    """

    def find_first(field: str) -> Any:
        return next((value for choice in choices if (value := getattr(choice, field)) is not None), None)

    extra: dict[str, Any] = {}
    for choice in choices:
        extra = {**choice.extra, **extra}
    return ModelSettings(
        model=name,
        temperature=find_first("temperature"),
        top_p=find_first("top_p"),
        reasoning_effort=find_first("reasoning_effort"),
        verbosity=find_first("verbosity"),
        parallel_tool_calls=find_first("parallel_tool_calls"),
        max_output_tokens=MAX_OUTPUT_TOKENS,
        extra=extra,
        timeout_seconds=seconds,
    )


def _describe_missing_call(answer: _Answer) -> str:
    if answer.calls:
        return f"it called {answer.calls[0].name[:MAX_QUOTED]!r}, which does not exist"
    return f"it called no tool: {answer.description}"


def _pass(ability: Ability, answer: _Answer, remark: str | None = None) -> AbilityCheck:
    return AbilityCheck(ability, works=True, remark=remark, dropped=answer.finished.dropped)


def _fail(ability: Ability, answer: _Answer, remark: str, advice: str | None) -> AbilityCheck:
    return AbilityCheck(ability, works=False, remark=remark, advice=advice, dropped=answer.finished.dropped)
