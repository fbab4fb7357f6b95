"""A turn goes a short way: from the worker's handler to the model, and from the model's stream to the outbox."""

from __future__ import annotations

from benchmarks.call_depth import measure

MOST_FRAMES = 18
MOST_GENERATORS = 3
MOST_TASKS = 2
MOST_BUFFERS = 3


def test_few_calls_are_between_the_handler_and_the_model_and_few_generators_pass_its_answer_on() -> None:
    depth = measure()

    assert "QueuedTurns.run" in [step.name for step in depth.to_request]
    assert depth.to_request[-1].location.startswith("shared/baton/adapters/models/openai/")
    assert depth.frames <= MOST_FRAMES, depth.to_request
    assert 1 <= len(depth.generators) <= MOST_GENERATORS, depth.generators
    assert 1 <= len(depth.tasks) <= MOST_TASKS, depth.tasks
    assert 1 <= len(depth.buffers) <= MOST_BUFFERS, depth.buffers
