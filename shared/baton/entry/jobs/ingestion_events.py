"""Events of the function that ingests documents: stored objects, and steps of its state machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baton.concurrency.tasks import work_for
from baton.domain.documents.document import DocumentRef
from baton.domain.documents.pipelines import Pipeline
from baton.entry.jobs.pipeline_admission import PipelineAdmission
from baton.knowledge.cleaning import Cleaning
from baton.knowledge.ingestion import Ingestion, Part
from baton.knowledge.ingestion_starts import IngestionStarts
from baton_documents.formats import DocumentFormat

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class IngestionEvents:
    """The handler of the ingestion pipeline's events.

    Answers contain no content of documents, because a state has at most 256 KB.
    """

    starts: IngestionStarts
    ingestion: Ingestion
    cleaning: Cleaning
    admission: PipelineAdmission

    async def start_stored(self, event: Event) -> dict[str, Any]:
        """Start the pipeline for the object in an "Object Created" event of S3. Return whether it was started."""
        ref = await self.starts.start_uploaded(event["detail"]["object"]["key"])
        return {"started": ref is not None}

    async def run_step(self, event: Event) -> dict[str, Any]:
        """Carry out a step of the state machine. Raises ``ValueError`` for an unknown step."""
        answer = await self._carry_out(event)
        # The step that remains after a wait only removes files, so another run may begin already.
        if event["step"] in ("check", "clean") and answer["next"] in ("done", "wait"):
            await self.admission.note_end(Pipeline.INGESTION, event["document"]["subject"])
        return answer

    async def _carry_out(self, event: Event) -> dict[str, Any]:
        ref = read_document_ref(event)
        work_for(ref.tenant_id)
        match event["step"]:
            case "check":
                return await self._check(ref)
            case "extract":
                first, last = event["part"]
                part = Part(DocumentFormat(event["format"]), (first, last), event["index"], event["count"])
                await self.ingestion.extract(ref, part)
                return {}
            case "chunk":
                batches = await self.ingestion.chunk(ref, event["parts"])
                return {"next": "index" if batches else "clean", "batches": list(range(batches)), "count": batches}
            case "index":
                await self.ingestion.index(ref, event["batch"], event["count"])
                return {}
            case "activate":
                await self.ingestion.activate(ref)
                return {}
            case "clean":
                seconds = await self.cleaning.clean(ref)
                # Rounded up, because states wait for whole seconds.
                return {"next": "wait" if seconds else "done", "waitSeconds": int(seconds) + 1}
            case "fail":
                await self.ingestion.fail(ref, event.get("error", ""))
                return {}
        raise ValueError(f"There is no step {event['step']!r}.")

    async def _check(self, ref: DocumentRef) -> dict[str, Any]:
        checked = await self.ingestion.check(ref)
        if checked.is_waiting:
            return {"next": "done"}
        if checked.form is None:
            return {"next": "clean"}
        parts = [list(part) for part in checked.parts]
        return {"next": "extract", "format": checked.form.value, "parts": parts, "count": len(parts)}


def read_document_ref(event: Event) -> DocumentRef:
    """Return the version of the document in the input of an execution, which a step's event contains."""
    document = event["document"]
    key = document["tenantId"], document["agentId"], document["documentId"], document["version"]
    return DocumentRef(*key, rebuilds=document.get("rebuilds", False))
