"""The cost of closing a session in DynamoDB, S3 and calls of models: ``python -m benchmarks.closing_cost``.

One session of plain turns is closed in one invocation, and another one step by step, as after a failure. Both are
written into the user's file of the embedded index, with vectors of the default embedding model's length.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from baton.adapters.dynamodb.pipeline_queue import DynamoPipelineQueue
from baton.composition.app import build
from baton.domain.documents.pipelines import PipelineLimits, PipelineRun
from baton.domain.runs.usage import Usage
from baton.domain.threads.thread import EndReason
from baton.entry.jobs.pipeline_admission import PipelineAdmission
from baton.entry.jobs.pipeline_starts import AdmittedClosings
from baton.memory.episodes.session_closing import ClosingStep
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, ModelSettings, Prompt, TextDelta, ToolSpec
from baton.ports.documents.files import ThreadFiles
from baton.threads.requests.parsing import parse_message_request
from benchmarks.capacity import Request
from benchmarks.instruments.metered_baton import SCOPE, MeteredPorts, started
from benchmarks.instruments.report import describe_machine, format_table
from benchmarks.instruments.search_index import MadeUpEmbedder, SearchBucket
from benchmarks.workload import QUESTION

DIMENSIONS = 1536
"""The length of vectors of ``text-embedding-3-small``, the default of deployments."""
DIGEST = '{"summary": "Two plants lose leaves after a move.", "facts": [], "pairs": []}'


@dataclass
class LightModel:
    """A ``ChatModel`` that answers each prompt with a digest, and counts the prompts."""

    calls: int = 0

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Stream the digest as one piece."""
        self.calls += 1
        yield TextDelta(DIGEST)
        yield Finished(FinishReason.STOP, settings.model, Usage(400, 30))


@dataclass
class NotedExecutions:
    """``Executions`` that records executions and starts none."""

    runs: list[PipelineRun] = field(default_factory=list)

    async def start(self, run: PipelineRun) -> bool:
        self.runs.append(run)
        return True


@dataclass(frozen=True, slots=True)
class ClosingCost:
    """The requests of one closing, with its invocations and calls of the model."""

    name: str
    invocations: int
    requests: tuple[Request, ...]
    model_calls: int
    s3_reads: int
    s3_writes: int
    index_bytes: int
    """The bytes by which the user's file of the embedded index has grown."""

    @property
    def row(self) -> tuple[object, ...]:
        """The cells of the report. A closing has as many state transitions as invocations."""
        writes = sum(request.write_units for request in self.requests)
        reads = sum(request.read_units for request in self.requests)
        counts = (self.invocations, self.invocations, writes, reads, len(self.requests), self.model_calls)
        return self.name, *counts, self.s3_reads, self.s3_writes, self.index_bytes


async def measure(turns: int) -> list[ClosingCost]:
    """Close a session of ``turns`` turns in one invocation, and another session step by step. Return both costs."""
    model, executions, bucket = LightModel(), NotedExecutions(), SearchBucket()

    def configure(ports: MeteredPorts) -> None:
        queue = DynamoPipelineQueue(ports.table)
        ports.admission = PipelineAdmission(queue, executions, ports.clock, PipelineLimits())
        ports.closings = AdmittedClosings(ports.admission)

    costs = []
    async with started(configure=configure) as baton:
        ports = baton.make_ports()
        ports.model = model
        bucket.attach(ports.bodies.client, ports.bodies.bucket)
        ports.search, ports.embedder = bucket.make_index(DIMENSIONS), MadeUpEmbedder(DIMENSIONS)
        app = build(ports)
        for name, steps in (
            ("in one invocation", ["whole"]),
            ("step by step", [*list(ClosingStep)[:-1], "learn", ClosingStep.COMPLETE]),
        ):
            thread_id = baton.clock.new_id()
            for _ in range(turns):
                request = parse_message_request(
                    SCOPE, thread_id=thread_id, message_id=baton.clock.new_id(), content=QUESTION
                )
                await app.turns.run(SCOPE, request, lambda event: None, seconds=60)
            await app.closer.close(SCOPE, thread_id, EndReason.USER_CLOSED, patience=5)
            execution = executions.runs[-1].described
            baton.meter.take()
            bucket.take()
            size = bucket.measure_size()
            model.calls = 0
            for step in steps:
                await app.closing_events.run_step({"step": step, "session": execution}, seconds=600)
            reads, writes = bucket.take()
            growth = bucket.measure_size() - size
            costs.append(ClosingCost(name, len(steps), baton.meter.take(), model.calls, reads, writes, growth))
    return costs


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.closing_cost", description=__doc__)
    parser.add_argument("--turns", type=int, default=3, help="turns of the session (default: 3)")
    arguments = parser.parse_args()
    costs = asyncio.run(measure(arguments.turns))
    print(f"Measured on {describe_machine()}. A session of {arguments.turns} plain turns.\n")
    head = ["", "transitions", "invocations", "write units", "read units", "requests", "model calls"]
    head += ["S3 reads", "S3 writes", "bytes of the index"]
    print(format_table(head, [cost.row for cost in costs]))


if __name__ == "__main__":
    main()
