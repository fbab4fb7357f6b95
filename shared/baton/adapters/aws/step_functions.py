"""Executions of state machines on Step Functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from baton.adapters.aws.blocking_calls import call, error_code
from baton.domain.documents.pipelines import Pipeline, PipelineRun
from baton.domain.errors import StoreUnavailable
from baton.domain.memory.forgetting import ForgetRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_stepfunctions import SFNClient

WORKER = "baton"
"""The user of steps that concern a whole tenant."""


@dataclass(frozen=True, slots=True)
class StepFunctionsExecutions:
    """``Executions`` of state machines. Their input holds only references, because it is limited to 256 KB."""

    client: SFNClient
    arns: Mapping[Pipeline, Callable[[], str]]
    """Functions that return the ARNs of the state machines that may be started."""

    async def start(self, run: PipelineRun) -> bool:
        return await _start_execution(self.client, self.arns[run.pipeline](), run.name, run.described)


@dataclass(frozen=True, slots=True)
class StepFunctionsForgettings:
    """``Forgettings`` as executions of a state machine."""

    client: SFNClient
    state_machine_arn: str

    async def start(self, request: ForgetRequest) -> None:
        input_data = {"tenantId": request.tenant_id, "userId": request.user_id, "requestId": request.id}
        await _start_execution(self.client, self.state_machine_arn, request.id, input_data)

    async def start_work(self, tenant_id: str, work_id: str, name: str) -> None:
        input_data = {"tenantId": tenant_id, "userId": WORKER, "requestId": work_id}
        await _start_execution(self.client, self.state_machine_arn, name, input_data)


async def _start_execution(client: SFNClient, arn: str, name: str, input_data: Mapping[str, Any]) -> bool:
    """Start an execution. Return False if its name was used before. Raises ``StoreUnavailable``."""
    try:
        await call(client.start_execution, stateMachineArn=arn, name=name, input=json.dumps(input_data))
    except ClientError as error:
        if error_code(error) != "ExecutionAlreadyExists":
            raise StoreUnavailable from error
        return False
    return True
