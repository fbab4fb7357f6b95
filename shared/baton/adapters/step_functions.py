"""Start the pipelines on Step Functions."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from baton.adapters.aws import call, error_code
from baton.domain.capture import CaptureRef
from baton.domain.document import DocumentRef
from baton.domain.episode import EpisodeRef
from baton.domain.errors import StoreUnavailable
from baton.domain.forgetting import ForgetRequest
from baton.domain.identity import Scope
from baton.domain.times import to_millis

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient


@dataclass(frozen=True, slots=True)
class StepFunctionsClosings:
    """``Closings`` as executions of a state machine. Their input contains references only (256 KB limit)."""

    client: SFNClient
    state_machine_arn: str

    async def start(self, scope: Scope, ref: EpisodeRef, *, attempt: int) -> None:
        described = {
            "tenantId": scope.tenant_id,
            "userId": scope.user_id,
            "threadId": ref.thread_id,
            "episode": ref.number,
            "episodeId": ref.id,
            "firstOrdinal": ref.first_ordinal,
            "endOrdinal": ref.end_ordinal,
            "reason": ref.reason.value,
            "attempt": attempt,
        }
        # A name is reserved for 90 days, so that the same attempt cannot be started twice. The id of a forgotten thread
        # may be used again within that time.
        name = f"{ref.thread_id}-{ref.number}-{attempt}"
        if ref.thread_created_at is not None:
            name += f"-{to_millis(ref.thread_created_at)}"
        await _start(self.client, self.state_machine_arn, name, described)


@dataclass(frozen=True, slots=True)
class StepFunctionsForgettings:
    """``Forgettings`` as executions of a state machine."""

    client: SFNClient
    state_machine_arn: str

    async def start(self, request: ForgetRequest) -> None:
        described = {"tenantId": request.tenant_id, "userId": request.user_id, "requestId": request.id}
        await _start(self.client, self.state_machine_arn, request.id, described)


@dataclass(frozen=True, slots=True)
class StepFunctionsCaptures:
    """``Captures`` as executions of a state machine. Their input contains references only."""

    client: SFNClient
    state_machine_arn: str

    async def start(self, scope: Scope, ref: CaptureRef, *, attempt: int) -> None:
        described = {
            "tenantId": scope.tenant_id,
            "userId": scope.user_id,
            "threadId": ref.thread_id,
            "agentId": ref.agent_id,
            "firstOrdinal": ref.first_ordinal,
            "endOrdinal": ref.end_ordinal,
            "attempt": attempt,
        }
        # A name is the account's, and two tenants may have threads of the same id; a forgotten one's may be used again.
        created_at = to_millis(ref.thread_created_at) if ref.thread_created_at is not None else ""
        place = _hashed(scope.tenant_id, ref.thread_id, created_at)
        name = f"{place}-{ref.first_ordinal}-{ref.end_ordinal}-{attempt}"
        await _start(self.client, self.state_machine_arn, name, described)


@dataclass(frozen=True, slots=True)
class StepFunctionsIngestions:
    """``Ingestions`` as executions of a state machine."""

    client: SFNClient
    state_machine_arn: str

    async def start(self, ref: DocumentRef, *, attempt: int, created_at: datetime) -> None:
        described = {
            "tenantId": ref.tenant_id,
            "agentId": ref.agent_id,
            "documentId": ref.document_id,
            "version": ref.version,
        }
        # Documents of different tenants and agents may have the same id, and a name is the account's.
        # A document that was removed may be created again, with the same id, while its name is still reserved.
        place = _hashed(ref.tenant_id, ref.agent_id, ref.document_id)
        name = f"{place}-{ref.version}-{attempt}-{to_millis(created_at)}"
        await _start(self.client, self.state_machine_arn, name, described)


def _hashed(*place: object) -> str:
    """Return a part of a name for something that one tenant has. Ids have no slashes in front of the last one."""
    return hashlib.sha256("/".join(map(str, place)).encode()).hexdigest()[:32]


async def _start(client: SFNClient, arn: str, name: str, described: dict[str, Any]) -> None:
    try:
        await call(client.start_execution, stateMachineArn=arn, name=name, input=json.dumps(described))
    except ClientError as error:
        if error_code(error) != "ExecutionAlreadyExists":
            raise StoreUnavailable from error
