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
    """The operations that post frames; None to call ``client`` in threads."""

    async def post(self, connection_id: str, frame: str) -> None:
        operations = self.operations or ThreadedOperations(self.client)
        try:
            await operations.call("PostToConnection", {"ConnectionId": connection_id, "Data": frame.encode()})
        except StoreUnavailable:
            # The SDK's retries were throttled or failed. The caller repeats the call, more slowly.
            raise ConnectionBusy from None
        except ClientError as error:
            raise _to_connection_error(error) from None

    async def close(self, connection_id: str) -> None:
        try:
            await call(self.client.delete_connection, ConnectionId=connection_id)
        except (ClientError, StoreUnavailable):
            return  # the connection is gone, or the gateway closes it after its idle timeout


def _to_connection_error(error: ClientError) -> Exception:
    """Return the port's error for a refusal.

    Only ``ConnectionGone`` is about the client. Expired credentials, a role without permission and a frame that is too
    large are the deployment's own faults.
    """
    code, status = error_code(error), error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if code == "GoneException" or status == 410:
        return ConnectionGone()
    if code in _BUSY:
        return ConnectionBusy()
    is_too_large = code == "PayloadTooLargeException" or status == 413
    return FrameRefused(code or str(status), may_pass_later=not is_too_large)
