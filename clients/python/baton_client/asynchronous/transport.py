"""Requests and their answers: repeated if that is safe, with errors as exceptions."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from baton_client.asynchronous.tokens import AsyncTokens
from baton_client.errors import APIConnectionError, APIStatusError, APITimeoutError, UnexpectedAnswerError
from baton_client.model_base import HttpResponse, Model
from baton_client.options import Options
from baton_client.retries import LONGEST_ADVICE, STATUSES, choose_wait_seconds, read_retry_after
from baton_client.status_errors import error_of

if TYPE_CHECKING:
    from baton_client.models import UploadTarget

logger = logging.getLogger("baton_client")

T = TypeVar("T")

MAX_ERROR_BYTES = 1024 * 1024
"""Bytes of an error's body after which it is not read on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of the API."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    """Query parameters. Those that are ``None`` are left out."""
    json: Any = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeatable: bool = True
    """Whether sending it twice has the effect of sending it once."""
    read_seconds: float | None = None
    """Seconds to wait for the answer, instead of the client's timeout."""


class AsyncTransport:
    """A sender of requests with the token, which repeats them after failures."""

    def __init__(self, http: httpx.AsyncClient, tokens: AsyncTokens, options: Options) -> None:
        """``http`` stays the caller's to close."""
        self.http = http
        self.tokens = tokens
        self.options = options

    async def read_value(self, request: Request, type_: type[T] | Any) -> T:
        """Return the answer's body as ``type_``.

        Raises ``APIStatusError`` for an error, ``APIConnectionError`` without an answer, ``UnexpectedAnswerError`` for
        another body.
        """
        async with self.open(request) as response:
            body = await _read_json(response)
        try:
            value: T = TypeAdapter(type_).validate_python(body)
        except ValidationError as problem:
            raise UnexpectedAnswerError(_describe_mismatch(request, problem)) from problem
        if isinstance(value, Model):
            value._http_response = HttpResponse(response.status_code, dict(response.headers), body)
        return value

    async def read_text(self, request: Request) -> str:
        """Return the answer's body as text. Raises like ``read_value``."""
        async with self.open(request) as response:
            await response.aread()
            return response.text

    async def upload(self, target: UploadTarget, content: bytes) -> None:
        """Send a file to the address that the server has given. Raises ``APIConnectionError`` if it is not accepted.

        The address is signed, so the token is not sent.
        """
        headers = dict(target.headers)
        for attempt in range(1, self.options.max_retries + 2):
            try:
                response = await self.http.request(target.method, target.url, content=content, headers=headers)
            except httpx.TransportError as problem:
                failure = str(problem)
            else:
                if response.is_success:
                    return
                failure = str(response.status_code)
                if response.status_code not in STATUSES | {500}:
                    break
            if attempt <= self.options.max_retries:
                await asyncio.sleep(choose_wait_seconds(attempt))
        raise APIConnectionError(f"The file was not accepted ({failure}). Upload it again.")

    @asynccontextmanager
    async def open(self, request: Request, *, read_seconds: float | None = None) -> AsyncIterator[httpx.Response]:
        """Yield the answer before its body is read. ``read_seconds`` replaces the timeout for reading.

        Raises ``APIStatusError`` and ``APIConnectionError``.
        """
        response = await self._send(request, request.read_seconds if read_seconds is None else read_seconds)
        try:
            yield response
        except httpx.TimeoutException as problem:
            raise APITimeoutError(f"{request.method} {request.path}: the server fell silent.") from problem
        except httpx.TransportError as problem:
            raise APIConnectionError(f"{request.method} {request.path}: the connection ended.") from problem
        finally:
            await response.aclose()

    async def _send(self, request: Request, read_seconds: float | None) -> httpx.Response:
        """Return the open answer of the first successful attempt. Raises an error that no further attempt can avoid."""
        attempt = 0
        renewed = False
        while True:
            attempt += 1
            is_last = attempt > self.options.max_retries or not request.is_repeatable
            try:
                response = await self._attempt(request, read_seconds)
            except httpx.TransportError as problem:
                if is_last:
                    raise self._make_connection_error(request, problem, attempt) from problem
                advised = None
            else:
                if response.is_success:
                    return response
                if response.status_code == 401 and self.tokens.can_renew and not renewed:
                    # The server took nothing in, so the same request goes out again.
                    renewed = True
                    await response.aclose()
                    await self.tokens.renew()
                    attempt -= 1
                    continue
                advised = read_retry_after(response.headers)
                is_hopeless = response.status_code not in STATUSES or (advised or 0) > LONGEST_ADVICE
                if is_last or is_hopeless:
                    raise await _read_error(response, advised)
                await response.aclose()
            seconds = choose_wait_seconds(attempt, advised)
            logger.info("%s %s is sent again in %.1f s", request.method, request.path, seconds)
            await asyncio.sleep(seconds)

    def _make_connection_error(
        self, request: Request, problem: httpx.TransportError, attempts: int
    ) -> APIConnectionError:
        operation = f"{request.method} {request.path}"
        if isinstance(problem, httpx.TimeoutException):
            return APITimeoutError(f"{operation}: no answer in time ({attempts} attempts).")
        return APIConnectionError(f"{operation}: {self.options.base_url} cannot be reached ({problem}).")

    async def _attempt(self, request: Request, read_seconds: float | None) -> httpx.Response:
        options = self.options
        token = await self.tokens.get()
        authorization = {"Authorization": f"Bearer {token}"} if token else {}
        timeout = options.timeout
        if read_seconds is not None:
            timeout = httpx.Timeout(read=read_seconds, connect=timeout.connect, write=timeout.write, pool=timeout.pool)
        built = self.http.build_request(
            request.method,
            options.base_url + request.path,
            params={name: value for name, value in request.params.items() if value is not None},
            json=request.json,
            content=request.content,
            headers={**options.headers, **authorization, **request.headers},
            timeout=timeout,
        )
        response = await self.http.send(built, stream=True)
        logger.debug("%s %s: %d", request.method, request.path, response.status_code)
        return response


async def _read_json(response: httpx.Response) -> Any:
    if response.status_code == 204:
        return None
    await response.aread()
    try:
        return response.json()
    except ValueError as problem:
        content_type = response.headers.get("content-type", "no content type")
        raise UnexpectedAnswerError(
            f"The answer of {response.url} is not JSON ({content_type}). Is base_url the address of Baton?"
        ) from problem


async def _read_error(response: httpx.Response, advised: float | None) -> APIStatusError:
    body = bytearray()
    problem: Any = None
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_ERROR_BYTES:
                break
        problem = json.loads(body)
    except (httpx.TransportError, ValueError):
        problem = None  # the status alone must do
    await response.aclose()
    details = problem if isinstance(problem, dict) else {}
    return error_of(details, status=response.status_code, retry_after=advised)


def _describe_mismatch(request: Request, problem: ValidationError) -> str:
    first = problem.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"])) or "the whole"
    return (
        f"The answer to {request.method} {request.path} is not as this client knows it ({field}: {first['msg']}). "
        "The server may be much older or newer."
    )
