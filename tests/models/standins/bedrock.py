"""Stand-ins for models on Amazon Bedrock: ConverseStream and Converse, and InvokeModel for embeddings."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from baton_local.account import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from tests.models.standins import bedrock_rules, bedrock_thinking
from tests.models.standins.bedrock_embeddings import embed
from tests.models.standins.bedrock_families import Family, family_of, plain_id
from tests.models.standins.bedrock_shapes import violation
from tests.models.standins.bedrock_stream import ConverseStream, other_frame, question_of
from tests.models.standins.event_stream import MEDIA_TYPE
from tests.models.standins.journal import Fault, Journal, Received, Refusal
from tests.models.standins.memory import Memory
from tests.models.standins.question import Answer, Finish, Json, tokens_of
from tests.models.standins.sending import EventStream, refuse, with_fault
from tests.models.standins.signed import ACCESS_KEY, SECRET_KEY, aws_error, find_signature_problem
from tests.models.standins.steering import answer as answer_to

NO_CACHE = (
    "You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more."
)
NO_STREAM = "This model doesn't support tool use in streaming mode."
ON_DEMAND = (
    "Invocation of model ID {model} with on-demand throughput isn\u2019t supported. Retry your request with the ID or"
    " ARN of an inference profile that contains this model."
)
MIN_CACHED = 512
"""Tokens below which a cache point has no effect."""


class Bedrock:
    """All models of one account and region."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._memory = Memory()
        self._written: set[str] = set()
        self.contexts: dict[str, int] = {}
        """Tokens, by the model id of the path."""
        self.aliases: dict[str, str] = {}
        """Models by the id of an application inference profile."""
        self.keys = {ACCESS_KEY: SECRET_KEY, ACCESS_KEY_ID: SECRET_ACCESS_KEY}
        """Secret keys by access key. The second is that of the local cloud."""
        self.denied: set[str] = set()
        """Model ids of the path that the role may not invoke."""
        self.routes = [
            Route("/model/{id:path}/converse-stream", self._converse, methods=["POST"]),
            Route("/model/{id:path}/converse", self._converse, methods=["POST"]),
            Route("/model/{id:path}/invoke", self._invoke, methods=["POST"]),
        ]

    def reset(self) -> None:
        """Forget all answers, cached prefixes and changes."""
        self._memory.reset()
        for changed in (self._written, self.contexts, self.aliases, self.denied):
            changed.clear()

    async def _receive(self, request: Request) -> tuple[Received, Refusal | None]:
        data = await request.body()
        try:
            body = json.loads(data)
        except ValueError:
            body = None
        model_id = request.path_params["id"]
        received = self._journal.add(Received(model_id, request.url.path, dict(request.headers), body))
        refusal = find_signature_problem(request, data, self.keys)
        if (
            refusal is None
            and "/" in model_id
            and b"/" in request.scope["raw_path"].split(b"/model/")[1].rpartition(b"/")[0]
        ):
            refusal = aws_error("UnknownOperationException", "A slash of the model id must be percent-encoded.", 404)
        if refusal is None and model_id in self.denied:
            message = f"User: turns is not authorized to perform: bedrock:InvokeModel on resource: {model_id}"
            refusal = aws_error("AccessDeniedException", message, 403)
        return received, refusal

    async def _invoke(self, request: Request) -> Response:
        received, refusal = await self._receive(request)
        if refusal:
            return refuse(received, refusal)
        fault = self._journal.fault(received.who)
        if fault and fault.status:
            return refuse(received, Refusal(fault.status, fault.body, fault.headers), ruled=False)
        model, _ = plain_id(received.who, self.aliases)
        answer = embed(model, received.body)
        return refuse(received, answer) if isinstance(answer, Refusal) else answer

    async def _converse(self, request: Request) -> Response:
        received, refusal = await self._receive(request)
        model, has_profile = plain_id(received.who, self.aliases)
        family = family_of(model)
        if refusal is None and family is None:
            refusal = aws_error("ValidationException", "The provided model identifier is invalid.")
        if refusal or family is None:
            return refuse(received, refusal or aws_error("ValidationException", ""))
        if family.needs_profile and not has_profile:
            return refuse(received, aws_error("ValidationException", ON_DEMAND.format(model=model)))
        refusal = self._refusal(family, received)
        if refusal:
            return refuse(received, refusal)
        fault = self._journal.fault(received.who)
        if fault and fault.status:
            return refuse(received, Refusal(fault.status, fault.body, fault.headers), ruled=False)
        streams = request.url.path.endswith("-stream")
        if streams and (received.body.get("toolConfig") or {}).get("tools") and not family.streams_tools:
            return refuse(received, aws_error("ValidationException", NO_STREAM))
        return self._answer(family, received, fault, streams=streams)

    def _refusal(self, family: Family, received: Received) -> Refusal | None:
        body = received.body
        if not isinstance(body, dict):
            return aws_error("SerializationException", "The request body is no JSON object.")
        if wrong := violation("ConverseStream", received.who, body):
            return aws_error("ValidationException", wrong)
        if bedrock_rules.uses_cache(body) and family.cache == "none":
            return aws_error("AccessDeniedException", NO_CACHE, 403)
        for complaints in (
            bedrock_rules.complaints(family, body),
            bedrock_thinking.complaints(family, body, self._memory),
        ):
            if wrong := next(complaints, None):
                return aws_error("ValidationException", wrong)
        limit, size = self.contexts.get(received.who, family.context), _size(body)
        if size > limit:
            return aws_error("ValidationException", family.overflow.format(tokens=size, limit=limit))
        return None

    def _answer(self, family: Family, received: Received, fault: Fault | None, *, streams: bool) -> Response:
        body = received.body
        question = question_of(body)
        answer = self._thoughts(family, body, answer_to(question))
        secret = "think secretly" in question.messages[-1].text and bool(answer.thinking)
        visible = family.thinks != "always" or _thinking(body).get("display") == "summarized"
        thinking = "redacted" if secret else answer.thinking if visible else ""
        signature = bedrock_thinking.signature(family, body, body["messages"], thinking) if answer.thinking else ""
        self._memory.keep(answer.calls, answer.thinking)
        stream = ConverseStream(_size(body), self._cached(body), guarded=bool(body.get("guardrailConfig")))
        ids = [f"tooluse_{uuid.uuid4().hex[:22]}" for _ in answer.calls]
        signs = signature if family.reasoning in ("signed", "bound") else ""
        if not streams:
            return JSONResponse(stream.whole(answer, signs, signature if secret else "", ids, thoughts=visible))
        frames = stream.frames(answer, signs, signature if secret else "", ids, thoughts=visible)
        frames = _with_broken_checksum(frames, fault) if fault and fault.crc else frames
        return EventStream(with_fault(frames, fault, other_frame), MEDIA_TYPE, self._journal, received)

    def _thoughts(self, family: Family, body: Json, answer: Answer) -> Answer:
        request = _thinking(body).get("type", "disabled") != "disabled" or family.reasoning == "plain"
        if family.thinks == "never" or (family.thinks == "asked" and not request):
            return replace(answer, thinking="")
        if family.thinks == "always" and not answer.thinking and answer.finish is not Finish.FILTERED:
            return replace(answer, thinking="The answer is easy.")
        return answer

    def _cached(self, body: Json) -> tuple[int, int]:
        """Return the tokens read from the cache and written to it."""
        read = total = 0
        parts: list[Any] = [*((body.get("toolConfig") or {}).get("tools") or ()), *(body.get("system") or ())]
        parts += [block for message in body["messages"] for block in message["content"]]
        reported: list[Any] = []
        for part in parts:
            if "cachePoint" not in part:
                reported.append(part)
                continue
            prefix = json.dumps(reported, sort_keys=True)
            if tokens_of(reported) >= MIN_CACHED:
                total = tokens_of(reported)
                read = total if prefix in self._written else read
                self._written.add(prefix)
        return read, total - read


def _thinking(body: Json) -> Json:
    return dict((body.get("additionalModelRequestFields") or {}).get("thinking") or {})


def _size(body: Json) -> int:
    tools = (body.get("toolConfig") or {}).get("tools") or []
    return tokens_of(body["messages"]) + tokens_of(body.get("system") or []) + tokens_of(tools)


def _with_broken_checksum(frames: Iterator[bytes], fault: Fault) -> Iterator[bytes]:
    for number, frame in enumerate(frames):
        yield frame[:-1] + bytes([frame[-1] ^ 1]) if number == fault.after else frame
