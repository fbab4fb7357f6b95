"""The pieces of a remote agent's answer, put together: every word once, whatever is told twice."""

from __future__ import annotations

import pytest
from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.a2a.answer import Answer
from baton.ports.agent_client import AgentDone, AgentFailed, AgentProgress
from baton.ports.chat_model import TextDelta

WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), min_size=1, max_size=8)


def message(text: str, message_id: str = "m1") -> Message:
    return Message(message_id=message_id, role=Role.ROLE_AGENT, parts=[Part(text=text)])


def piece(text: str, *, append: bool = True, artifact_id: str = "a1") -> StreamResponse:
    artifact = Artifact(artifact_id=artifact_id, parts=[Part(text=text)])
    return StreamResponse(artifact_update=TaskArtifactUpdateEvent(task_id="t", artifact=artifact, append=append))


def status(state: TaskState, said: Message | None = None) -> StreamResponse:
    return StreamResponse(
        status_update=TaskStatusUpdateEvent(task_id="t", status=TaskStatus(state=state, message=said))
    )


def task(state: TaskState, *texts: str, said: Message | None = None, history: list[Message] | None = None) -> Task:
    artifacts = [Artifact(artifact_id="a1", parts=[Part(text=text) for text in texts])] if texts else []
    return Task(id="t", status=TaskStatus(state=state, message=said), artifacts=artifacts, history=history or [])


def told(answer: Answer, *responses: StreamResponse) -> str:
    chunks = [chunk for response in responses for chunk in answer.take(response)]
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


@given(WORDS, st.data())
def test_every_word_is_told_once_however_often_the_task_is_shown(words: list[str], data: st.DataObject) -> None:
    answer, heard = Answer(None), ""
    for index, word in enumerate(words):
        heard += told(answer, piece(word, append=index > 0 or data.draw(st.booleans())))
        known = data.draw(st.integers(0, index + 1))
        heard += told(answer, StreamResponse(task=task(TaskState.TASK_STATE_WORKING, *words[:known])))
    final = task(
        TaskState.TASK_STATE_COMPLETED, *words, said=message("".join(words)) if data.draw(st.booleans()) else None
    )
    heard += told(answer, StreamResponse(task=final))
    assert heard == "".join(words)
    assert answer.done() == AgentDone()


@given(WORDS)
def test_looks_at_a_growing_task_tell_what_is_new(words: list[str]) -> None:
    answer = Answer(None)
    heard = [
        told(answer, StreamResponse(task=task(TaskState.TASK_STATE_WORKING, *words[:n])))
        for n in range(1, len(words) + 1)
    ]
    assert heard == words


def test_a_status_is_not_told_again_with_the_task() -> None:
    answer, said = Answer(None), message("Which city?")
    assert told(answer, status(TaskState.TASK_STATE_INPUT_REQUIRED, said)) == "Which city?"
    assert told(answer, StreamResponse(task=task(TaskState.TASK_STATE_INPUT_REQUIRED, said=said))) == ""
    assert answer.done() == AgentDone("t")


def test_what_is_said_at_work_is_progress() -> None:
    answer = Answer(None)
    [progress] = answer.take(status(TaskState.TASK_STATE_WORKING, message("Looking\n  it up")))
    assert progress == AgentProgress("Looking it up")
    [progress] = answer.take(status(TaskState.TASK_STATE_WORKING, message("x" * 1000)))
    assert isinstance(progress, AgentProgress)
    assert len(progress.label) == 200


def test_an_agent_that_says_everything_at_work_is_heard_at_the_end() -> None:
    answer = Answer(None)
    at_work = [status(TaskState.TASK_STATE_WORKING, message(text, text)) for text in ("It is ", "fine.")]
    assert told(answer, *at_work) == ""
    history = [Message(message_id="q", role=Role.ROLE_USER, parts=[Part(text="Weather?")]), message("It is ", "It is ")]
    final = StreamResponse(task=task(TaskState.TASK_STATE_COMPLETED, history=history))
    assert told(answer, final) == "It is fine."


def test_an_artifact_that_begins_anew_is_told_anew() -> None:
    answer = Answer(None)
    assert told(answer, piece("Draft"), piece("Final", append=False)) == "Draft\n\nFinal"


def test_the_words_of_an_earlier_answer_are_not_told_again_but_may_be_repeated() -> None:
    answer = Answer("t")
    answer.skip(task(TaskState.TASK_STATE_INPUT_REQUIRED, "Yes.", said=message("Sure?", "m1")))
    assert told(answer, StreamResponse(task=task(TaskState.TASK_STATE_WORKING, "Yes."))) == ""
    assert told(answer, piece("Yes.", artifact_id="a2")) == "Yes."
    assert told(answer, status(TaskState.TASK_STATE_INPUT_REQUIRED, message("Sure?", "m2"))) == "\n\nSure?"


def test_a_task_that_still_waits_as_before_has_not_taken_the_message_up() -> None:
    waiting = task(TaskState.TASK_STATE_INPUT_REQUIRED, said=message("Sure?"))
    answer = Answer("t")
    answer.skip(waiting)
    assert list(answer.take_task(waiting)) == [AgentProgress()]
    assert not answer.is_over
    assert not answer.has_begun
    list(answer.take_task(task(TaskState.TASK_STATE_COMPLETED, "Done.")))
    assert answer.is_over


@pytest.mark.parametrize("response", [StreamResponse()])
def test_an_event_that_is_none_is_a_failure(response: StreamResponse) -> None:
    with pytest.raises(AgentFailed):
        told(Answer(None), response)


def test_a_file_is_told_by_its_name_type_and_address() -> None:
    files = [
        Part(url="https://files.example/q.pdf", filename="q.pdf", media_type="application/pdf"),
        Part(raw=b"bytes", filename="x" * 5_000),
    ]
    said = Message(message_id="m1", role=Role.ROLE_AGENT, parts=[Part(text="Here they are."), *files])
    heard = told(Answer(None), status(TaskState.TASK_STATE_COMPLETED, said))
    text, first, second = heard.split("\n")
    assert (text, first) == ("Here they are.", "[File: q.pdf, application/pdf, https://files.example/q.pdf]")
    assert len(second) < 1_100
    only = Message(message_id="m1", role=Role.ROLE_AGENT, parts=files[:1])
    assert told(Answer(None), status(TaskState.TASK_STATE_COMPLETED, only)) == first
