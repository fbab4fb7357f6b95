"""Calls of AWS without a thread: botocore's steps of a call, with asynchronous sending between them.

botocore takes more than a millisecond of CPU time for a small request, most of it in steps that these services do not
need. It still decides about retries with their pauses and quota, and supplies the parsing of refusals, exceptions,
credentials and time limits. Handlers of its events are called as for a call by boto3, except those that change how a
request is built and signed.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from zlib import crc32

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import NoCredentialsError
from botocore.hooks import first_non_none_response
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from botocore.utils import get_environ_proxies

from baton.adapters.aws import blocking_calls as aws
from baton.adapters.aws.connections import OriginConnections
from baton.adapters.aws.session import CredentialSource, get_own_session
from baton.adapters.aws.signature import AwsSignature
from baton.concurrency.tasks import LARGE, off_loop
from baton.domain.errors import StoreUnavailable

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials
    from botocore.model import OperationModel

Write = Callable[[Mapping[str, Any]], bytes]
"""A function that returns the body of a request."""
Read = Callable[[str, bytes], dict[str, Any] | None]
"""A function that parses the body of an operation's answer as boto3 does. It returns None to leave it to botocore."""


def make_operations(
    client: Any, session: CredentialSource | None = None, *, write: Write | None = None, read: Read | None = None
) -> aws.Operations:
    """Return the operations of a boto3 ``client``, sent by the event loop if possible.

    Through a proxy, with a client certificate and on Windows they are sent in threads. ``session`` is the session that
    made the client; None for the process's own. ``write`` and ``read`` replace botocore's writing and parsing, for a
    service that takes its requests as JSON at the path ``/``.
    """
    config = client.meta.config
    needs_client = config.proxies or config.client_cert or get_environ_proxies(client.meta.endpoint_url)
    if needs_client or sys.platform == "win32":  # its event loop does not watch sockets
        return aws.ThreadedOperations(client)
    return DirectOperations(client, (session or get_own_session()).get_credentials(), write=write, read=read)


class DirectOperations:
    """``Operations`` that the event loop sends itself."""

    def __init__(self, client: Any, credentials: Any, *, write: Write | None = None, read: Read | None = None) -> None:
        """``credentials`` are botocore's; None if none are configured. See ``make_operations``."""
        meta, config = client.meta, client.meta.config
        self._client = client
        self._events = meta.events
        self._model = meta.service_model
        self._service = self._model.service_id.hyphenize()
        self._credentials = credentials
        self._endpoint = meta.endpoint_url.rstrip("/")
        self._region = meta.region_name
        self._signature = AwsSignature(self._region, self._model.signing_name, self._endpoint)
        self._serializer = create_serializer(self._model.resolved_protocol)
        self._parser = create_parser(self._model.resolved_protocol)
        self._write, self._read = write, read
        self._connections = OriginConnections(
            self._endpoint,
            connect_seconds=config.connect_timeout,
            read_seconds=config.read_timeout,
            max_idle=config.max_pool_connections,
        )

    async def call(self, operation: str, request: Mapping[str, Any], *, seconds: float = math.inf) -> Any:
        with aws.convert_outages():
            return await self._call(operation, dict(request), asyncio.get_running_loop().time() + seconds)

    def prepare(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """See ``last_wills.Preparing``."""
        prepared = self._build_request(self._model.operation_model(operation), dict(request), {})
        body = prepared["body"]
        return {
            "service": self._model.signing_name,
            "region": self._region,
            "url": prepared["url"],
            "headers": dict(prepared["headers"]),
            "body": body if isinstance(body, str) else body.decode(),
        }

    async def _call(self, operation: str, parameters: dict[str, Any], deadline: float) -> Any:
        """Call the operation with botocore's events. ``deadline`` is a time of the event loop."""
        model: OperationModel = self._model.operation_model(operation)
        meta, event = self._client.meta, f"{self._service}.{operation}"
        context: dict[str, Any] = {"client_region": meta.region_name, "client_config": meta.config}
        details = {"model": model, "context": context}
        responses = self._events.emit(f"provide-client-params.{event}", params=parameters, **details)
        parameters = first_non_none_response(responses, parameters)
        self._events.emit(f"before-parameter-build.{event}", params=parameters, **details)
        request_dict = self._build_request(model, parameters, context)
        _, early_answer = self._events.emit_until_response(
            f"before-call.{event}", params=request_dict, request_signer=None, **details
        )
        http, parsed = early_answer or await self._send_until(deadline, model, request_dict)
        self._events.emit(f"after-call.{event}", http_response=http, parsed=parsed, **details)
        if http.status_code >= 300:
            code = parsed.get("Error", {}).get("Code")
            raise self._client.exceptions.from_code(code)(parsed, operation)
        return parsed

    def _build_request(
        self, model: OperationModel, parameters: dict[str, Any], context: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the request as the dictionary that botocore passes to handlers."""
        if self._write is None:
            request_dict: dict[str, Any] = self._serializer.serialize_to_request(parameters, model)
        else:
            target = f"{self._model.metadata['targetPrefix']}.{model.name}"
            version = self._model.metadata["jsonVersion"]
            headers = {"X-Amz-Target": target, "Content-Type": f"application/x-amz-json-{version}"}
            body = self._write(parameters)
            request_dict = {"url_path": "/", "query_string": {}, "method": "POST", "headers": headers, "body": body}
        request_dict["url"] = f"{self._endpoint}{request_dict['url_path']}"
        request_dict["context"] = context
        return request_dict

    async def _send_until(
        self, deadline: float, model: OperationModel, request_dict: dict[str, Any]
    ) -> tuple[AWSResponse, dict[str, Any]]:
        """Send the request, and repeat it as the client's retries decide, until ``deadline``.

        Raises ``StoreUnavailable`` if the next attempt would begin after ``deadline``.
        """
        loop, attempts = asyncio.get_running_loop(), 0
        while True:
            attempts += 1
            response, failure = None, None
            try:
                response = await self._send(deadline - loop.time(), model, request_dict)
            except Exception as error:  # noqa: BLE001 - the client's retries decide, as in botocore
                failure = error
            pause = None
            if response is None or not _is_intact_success(response[0]):
                decisions = self._events.emit(
                    f"needs-retry.{self._service}.{model.name}",
                    response=response,
                    endpoint=None,
                    operation=model,
                    attempts=attempts,
                    caught_exception=failure,
                    request_dict=request_dict,
                )
                pause = first_non_none_response(decisions)  # in seconds; None or False for no other attempt
            if pause is None or pause is False:
                if failure is not None:
                    raise failure
                assert response is not None  # noqa: S101 - there was no failure
                response[1].setdefault("ResponseMetadata", {})["RetryAttempts"] = attempts - 1
                return response
            if loop.time() + pause >= deadline:
                raise StoreUnavailable from failure
            if pause:
                await asyncio.sleep(pause)

    async def _send(
        self, seconds: float, model: OperationModel, request_dict: dict[str, Any]
    ) -> tuple[AWSResponse, dict[str, Any]]:
        """Sign and send the request once. Return the response and its parsed body.

        ``seconds`` limits connecting, and the wait for each part of the response.
        """
        method, url, body = request_dict["method"], request_dict["url"], request_dict["body"]
        path = urlsplit(url).path if self._write is None else "/"
        headers = self._signature.sign(method, path, request_dict["headers"], body, await self._get_credentials())
        handler_headers: Any = headers  # handlers take any mapping
        handler_request = AWSPreparedRequest(
            method, url, handler_headers, body, stream_output=False, context=request_dict["context"]
        )
        _, http = self._events.emit_until_response(f"before-send.{self._service}.{model.name}", request=handler_request)
        if http is None:
            all_headers = {"User-Agent": self._client.meta.config.user_agent, **headers}
            lines = "".join([f"{name}: {value}\r\n" for name, value in all_headers.items()])
            head = f"{method} {path} HTTP/1.1\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode("latin-1")
            answer = await self._connections.send(head + body, seconds=seconds)
            fields: Any = answer.headers
            http = AWSResponse(url, answer.status, fields, _Body(answer.body))
        size = len(http.content)
        return http, self._parse(model, http) if size < LARGE else await off_loop(size, self._parse, model, http)

    async def _get_credentials(self) -> ReadOnlyCredentials:
        """Return the credentials, renewed if necessary. Raises ``NoCredentialsError`` and the errors of renewal."""
        credentials = self._credentials
        if credentials is None:
            raise NoCredentialsError
        needs_refresh = getattr(credentials, "refresh_needed", None)
        if needs_refresh is not None and needs_refresh():
            renewed: ReadOnlyCredentials = await aws.start(credentials.get_frozen_credentials)
            return renewed
        current: ReadOnlyCredentials = credentials.get_frozen_credentials()
        return current

    def _parse(self, model: OperationModel, http: AWSResponse) -> dict[str, Any]:
        """Return the answer as botocore returns it."""
        if http.status_code == 200 and self._read is not None:
            answer = self._read(model.name, http.content)
            if answer is not None:
                request_id = http.headers.get("x-amzn-requestid", "")
                answer["ResponseMetadata"] = {"RequestId": request_id, "HTTPStatusCode": 200}
                return answer
        context = {"operation_name": model.name}
        answer_parts = {
            "body": http.content,
            "headers": http.headers,
            "status_code": http.status_code,
            "context": context,
        }
        output: Any = model.output_shape
        parsed: dict[str, Any] = self._parser.parse(answer_parts, output)
        if http.status_code >= 300 and (code := parsed.get("Error", {}).get("Code")) is not None:
            shape = self._model.shape_for_error_code(code)
            if shape is not None:
                parsed.update(self._parser.parse(answer_parts, shape))
        return parsed


@dataclass(frozen=True, slots=True)
class _Body:
    """The body of an answer, as ``AWSResponse`` reads it."""

    content: bytes

    def stream(self) -> Iterator[bytes]:
        yield self.content


def _is_intact_success(http: AWSResponse) -> bool:
    """Return whether the answer is a success that arrived unchanged."""
    if http.status_code >= 300:
        return False
    checksum = http.headers.get("x-amz-crc32")  # DynamoDB's
    return checksum is None or int(checksum) == crc32(http.content)
