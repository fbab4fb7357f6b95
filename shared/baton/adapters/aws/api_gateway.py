"""Post to WebSocket clients through API Gateway's @connections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from baton.adapters.aws.blocking_calls import Operations, ThreadedOperations, call, error_code
from baton.domain.errors import StoreUnavailable
from baton.ports.threads.connections import ConnectionBusy, ConnectionGone, FrameRefused

if TYPE_CHECKING:
    from mypy_boto3_apigatewaymanagementapi import ApiGatewayManagementApiClient

_BUSY = {"LimitExceededException", "TooManyRequestsException", "ThrottlingException", "429"}


@dataclass(frozen=True, slots=True)
class ApiGatewayConnections:
    """``Connections`` over the management API of one WebSocket API."""

    client: ApiGatewayManagementApiClient
    operations: Operations | None = None
    """The operations that post frames; None: ``client`` has them, in threads."""

    async def post(self, connection_id: str, frame: str) -> None:
        operations = self.operations or ThreadedOperations(self.client)
        try:
            await operations.call("PostToConnection", {"ConnectionId": connection_id, "Data": frame.encode()})
        except StoreUnavailable:
            # Throttled after the SDK's retries, or a temporary fault: the caller sends the frame again, more slowly.
            raise ConnectionBusy from None
        except ClientError as error:
            raise _meaning(error) from None

    async def close(self, connection_id: str) -> None:
        try:
            await call(self.client.delete_connection, ConnectionId=connection_id)
        except (ClientError, StoreUnavailable):
            return  # it is gone, or the gateway closes it after its idle timeout


def _meaning(error: ClientError) -> Exception:
    """Return what the refusal means. Only "gone" is about the client; all others may be fixed here.

    Credentials that have expired, a role without permission and a frame that is too large say nothing about the client.
    """
    code, status = error_code(error), error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if code == "GoneException" or status == 410:
        return ConnectionGone()
    if code in _BUSY:
        return ConnectionBusy()
    is_too_large = code == "PayloadTooLargeException" or status == 413
    return FrameRefused(code or str(status), may_pass_later=not is_too_large)
