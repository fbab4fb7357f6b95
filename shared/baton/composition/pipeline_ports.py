"""The pipelines of a deployment, with the admission of their runs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition.store_ports import StorePorts

if TYPE_CHECKING:
    from datetime import datetime

    from baton.entry.jobs.pipeline_admission import Admission
    from baton.ports.documents.documents import Ingestions
    from baton.ports.memory.episodes import Closings
    from baton.ports.memory.procedures import Captures


class PipelinePorts(StorePorts):
    """The ports to the pipelines. See ``Ports``."""

    @cached_property
    def pipelines_since(self) -> datetime | None:
        """The start of the pipelines' engine, if earlier runs ended with an earlier engine."""
        from baton.settings.resources import PipelineSettings

        return PipelineSettings().since

    @cached_property
    def admission(self) -> Admission:
        """Admission of the pipelines' runs."""
        from baton.adapters.aws.blocking_calls import deferred_client
        from baton.adapters.aws.step_functions import StepFunctionsExecutions
        from baton.adapters.dynamodb.pipeline_queue import DynamoPipelineQueue
        from baton.domain.documents.pipelines import Pipeline
        from baton.entry.jobs.pipeline_admission import Admission
        from baton.settings.resources import CaptureSettings, ClosingSettings, IngestionSettings, PipelineSettings

        executions = StepFunctionsExecutions(
            deferred_client("stepfunctions"),
            {
                Pipeline.CLOSING: lambda: ClosingSettings().close_session_arn,
                Pipeline.CAPTURE: lambda: CaptureSettings().capture_procedure_arn,
                Pipeline.INGESTION: lambda: IngestionSettings().ingest_document_arn,
            },
        )
        limits = PipelineSettings().limits
        return Admission(DynamoPipelineQueue(self.table), executions, self.clock, limits, self.pipelines_since)

    @cached_property
    def ingestions(self) -> Ingestions:
        """The pipeline that ingests documents."""
        from baton.entry.jobs.pipeline_starts import AdmittedIngestions

        return AdmittedIngestions(self.admission)

    @cached_property
    def captures(self) -> Captures:
        """The pipeline that captures procedures."""
        from baton.entry.jobs.pipeline_starts import AdmittedCaptures

        return AdmittedCaptures(self.admission)

    @cached_property
    def closings(self) -> Closings:
        """The pipeline that makes episodes."""
        from baton.entry.jobs.pipeline_starts import AdmittedClosings

        return AdmittedClosings(self.admission)
