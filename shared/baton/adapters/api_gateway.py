"""Posting to WebSocket clients through API Gateway's @connections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from baton.adapters.aws import call, error_code
from baton.domain.errors import StoreUnavailable
from baton.ports.connections import ConnectionBusy, ConnectionGone

if TYPE_CHECKING:
    from mypy_boto3_apigatewaymanagementapi import ApiGatewayManagementApiClient

_BUSY = {"LimitExceededException", "TooManyRequestsException", "ThrottlingException", "429"}


@dataclass(frozen=True, slots=True)
class ApiGatewayConnections:
    """``Connections`` over the management API of one WebSocket API."""

    client: ApiGatewayManagementApiClient

    async def post(self, connection_id: str, frame: str) -> None:
        try:
            await call(self.client.post_to_connection, ConnectionId=connection_id, Data=frame.encode())
        except StoreUnavailable:
            # Throttled beyond the SDK's retries, or a passing fault: the frame is offered again, more slowly.
            raise ConnectionBusy from None
        except ClientError as error:
            raise _meaning(error) from None

    async def close(self, connection_id: str) -> None:
        try:
            await call(self.client.delete_connection, ConnectionId=connection_id)
        except (ClientError, StoreUnavailable):
            return  # gone already, or it will be when its idle time is over


def _meaning(error: ClientError) -> Exception:
    code = error_code(error)
    if code in _BUSY:
        return ConnectionBusy()
    # Everything else (gone, forbidden, an id of another API) means that this connection will never take a frame.
    return ConnectionGone()
