"""Bodies of answers in all the forms that endpoints send, over both of OpenAI's APIs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest

from baton.adapters.egress.stream_limits import StreamTooLong
from baton.adapters.models.failures.failure import ProviderFailure
from baton.adapters.models.openai.answer_body import AnswerBody
from baton.adapters.models.openai.clients import LIMITS
from baton.domain.errors import ModelError, ModelRateLimited, ModelUnavailable
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, TextDelta
from tests.unit.adapters.models import responses_endpoint
from tests.unit.adapters.models.chat_endpoint import Endpoint, Stream, ask, chunk

CHAT = [chunk({"content": "Hello"}), chunk({"content": " you."}), chunk({}, "stop")]
RESPONSES = responses_endpoint.answers(responses_endpoint.message("Hello you."))
MARK = "[DONE]"


def response(body: str | bytes, kind: str | None = "text/event-stream", status: int = 200) -> httpx2.Response:
    data = body.encode() if isinstance(body, str) else body
    return httpx2.Response(status, headers={"content-type": kind} if kind else {}, stream=Stream(data))


def events(values: Sequence[Any], *, begin: str = "data: ", end: str = "\n\n") -> str:
    return "".join(f"{begin}{value if isinstance(value, str) else json.dumps(value)}{end}" for value in values)


async def answer_body(body: str | bytes, kind: str | None = "text/event-stream", api: str = "chat") -> list[ModelChunk]:
    if api == "chat":
        return await ask(Endpoint(lambda _: response(body, kind)))

    class Sent(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            return response(body, kind)

    return await responses_endpoint.ask(responses_endpoint.Endpoint().model(transport=Sent(), max_retries=1))


FORMS = {
    "usual": lambda values: events([*values, MARK]),
    "a byte order mark": lambda values: b"\xef\xbb\xbf" + events([*values, MARK]).encode(),
    "CRLF": lambda values: events([*values, MARK], end="\r\n\r\n"),
    "CR": lambda values: events([*values, MARK], end="\r\r"),
    "no blank after the colon": lambda values: events([*values, MARK], begin="data:"),
    "no empty lines": lambda values: events([*values, MARK], end="\n"),
    "no mark and no end of the last line": lambda values: events(values).rstrip("\n"),
    "comments": lambda values: ": hello\n\n:\n" + events(values, begin=": PROCESSING\n\ndata: "),
    "pings": lambda values: (
        "event: ping\ndata: {}\n\ndata: \n\ndata: ping\n\nevent: ping\ndata: ping\n\n" + events(values)
    ),
    "empty values": lambda values: events(["null", "{}", "[]", *values]),
    "other fields": lambda values: events([*values, MARK], begin="id: 1\nretry: 5\ndata: "),
    "one value over several lines": lambda values: "".join(
        "data: " + json.dumps(value, indent=1).replace("\n", "\ndata: ") + "\n\n" for value in values
    ),
    "lines of JSON": lambda values: "\n".join(map(json.dumps, values)),
    "comments after the mark": lambda values: events([*values, MARK]) + ": bye\n\n" * 9,
    "a mark in lower case": lambda values: events([*values, "[done]"]),
}


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json", "text/plain", None])
@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("form", FORMS)
async def test_an_answer_is_read_in_any_form_and_under_any_content_type(form: str, api: str, kind: str | None) -> None:
    chunks = await answer_body(FORMS[form](CHAT if api == "chat" else RESPONSES), kind, api)
    assert "".join(item.text for item in chunks if isinstance(item, TextDelta)) == "Hello you."
    assert isinstance(chunks[-1], Finished)
    assert chunks[-1].reason is FinishReason.STOP


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json", None])
@pytest.mark.parametrize("indent", [None, 2])
async def test_a_whole_answer_needs_no_reason_to_stop_and_no_content_type(kind: str | None, indent: int | None) -> None:
    whole = {"object": "chat.completion", "model": "m", "choices": [{"message": {"content": "Hello you."}}]}
    chunks = await answer_body(json.dumps(whole, indent=indent), kind)
    assert [type(item) for item in chunks] == [TextDelta, Finished]


async def test_the_types_of_events_may_be_their_names_only() -> None:
    body = "".join(
        f"event: {response['type']}\ndata: {json.dumps({**response, 'type': None})}\n\n" for response in RESPONSES
    )
    assert responses_endpoint.text_of(await answer_body(body, api="responses")) == "Hello you."


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<html><body>Sign in</body></html>", "<html><body>Sign in</body></html>"),
        ("", "nothing"),
        ("upstream connect error", "upstream connect error"),
        ("event: error\ndata: upstream timed out\n\n", "upstream timed out"),
        ("data: {}\n\n", "before its end"),
        (events(['{"a":' * 5_000 + "1" + "}" * 5_000]), "recursion"),
    ],
)
async def test_operators_learn_what_came_instead_of_an_answer(body: str, words: str, api: str) -> None:
    with pytest.raises(ModelUnavailable) as failed:
        await answer_body(body, "text/html", api)
    assert failed.value.reason is not None
    assert words in failed.value.reason


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(
    "body",
    [
        events([{"error": {"message": "Slow down.", "code": 429}}]),
        events([{"message": "Slow down.", "statusCode": 429}]),
        events([{"object": "error", "message": "Slow down.", "code": 429}]),
        'event: error\ndata: {"message": "Slow down.", "code": 429}\n\n',
        'event: error\ndata: {"message": "Slow down.", "code": 429, "usage": null}\ndata: {"n": 1}\n',
        events([{"error": {"message": "Slow down.", "code": 429}}, "<html>"]),
        '{"error": {"message": "Slow down.", "code": "429"}}\n',
        ": comment\n\n" + '{"error": {"message": "Slow down.", "code": "429"}}\n',
        '[{"error": {"message": "Slow down.", "status": 429}}]',
    ],
)
async def test_an_error_in_an_answer_is_known_in_any_form(body: str, api: str) -> None:
    with pytest.raises(ModelRateLimited):
        await answer_body(body, api=api)


@pytest.mark.parametrize("form", ["usual", "CRLF", "no empty lines", "lines of JSON"])
async def test_a_long_answer_is_read_whole_in_any_form(form: str) -> None:
    chunks = await answer_body(FORMS[form]([chunk({"content": "word "})] * 3_000 + [chunk({}, "stop")]))
    assert "".join(item.text for item in chunks if isinstance(item, TextDelta)) == "word " * 3_000
    assert isinstance(chunks[-1], Finished)
    assert chunks[-1].reason is FinishReason.STOP


@pytest.mark.parametrize("begin", ["data: ", ""])
@pytest.mark.parametrize(
    ("line", "number"), [("1,", LIMITS.event_values), ('"' + "a" * 10_000 + '",', LIMITS.event_bytes // 10_000 + 1)]
)
async def test_an_event_of_many_lines_is_bounded(begin: str, line: str, number: int) -> None:
    body = "\n".join([f"{begin}[", *[begin + line] * number])
    with pytest.raises(StreamTooLong, match=r"An event of the stream (holds more|is longer) than"):
        await anext(AnswerBody(response(body), LIMITS))


@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_lines_may_be_cut_anywhere(size: int) -> None:
    body = b"\xef\xbb\xbf" + events([{"n": 1}, {"n": "\u00e9\u2028"}, MARK], end="\r\n\r\n").encode()

    class Pieces(Stream):
        async def __aiter__(self):  # type: ignore[no-untyped-def]
            for at in range(0, len(body), size):
                yield body[at : at + size]

    read = AnswerBody(httpx2.Response(200, stream=Pieces(b"")), LIMITS)
    assert [item.value async for item in read] == [{"n": 1}, {"n": "\u00e9\u2028"}]
    assert read.has_end_mark


async def test_events_before_one_that_is_no_json_are_read_although_they_came_in_one_piece() -> None:
    read = AnswerBody(response(events([{"n": 1}, "<html>", {"n": 2}])), LIMITS)
    assert (await anext(read)).value == {"n": 1}
    for _ in range(2):
        with pytest.raises(ProviderFailure, match="Expecting value"):
            await anext(read)


async def test_an_event_that_the_end_cuts_is_no_answer() -> None:
    with pytest.raises(ModelError):
        await answer_body(events(CHAT)[:-40])


async def test_characters_that_are_no_utf8_cost_no_more_than_themselves() -> None:
    body = events(CHAT).encode().replace(b" you", b" y\xffu")
    assert (
        "".join(message.text for message in await answer_body(body) if isinstance(message, TextDelta))
        == "Hello y\ufffdu."
    )
