"""The pieces of a remote agent's answer, put together: every word once, whatever is sent twice."""

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
from google.protobuf.struct_pb2 import Struct, Value  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.a2a.answer import Answer
from baton.ports.agents.agent_client import AgentData, AgentDone, AgentFailed, AgentFile, AgentProgress, Attachment
from baton.ports.agents.chat_model import TextDelta

WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), min_size=1, max_size=8)


def message(text: str, message_id: str = "m1") -> Message:
    return Message(message_id=message_id, role=Role.ROLE_AGENT, parts=[Part(text=text)])


def piece(text: str, *, append: bool = True, artifact_id: str = "a1") -> StreamResponse:
    artifact = Artifact(artifact_id=artifact_id, parts=[Part(text=text)])
    return StreamResponse(artifact_update=TaskArtifactUpdateEvent(task_id="t", artifact=artifact, append=append))


def status(state: TaskState, status_message: Message | None = None) -> StreamResponse:
    return StreamResponse(
        status_update=TaskStatusUpdateEvent(task_id="t", status=TaskStatus(state=state, message=status_message))
    )


def task(
    state: TaskState, *texts: str, status_message: Message | None = None, history: list[Message] | None = None
) -> Task:
    artifacts = [Artifact(artifact_id="a1", parts=[Part(text=text) for text in texts])] if texts else []
    return Task(
        id="t", status=TaskStatus(state=state, message=status_message), artifacts=artifacts, history=history or []
    )


def read_text(answer: Answer, *responses: StreamResponse) -> str:
    chunks = [chunk for response in responses for chunk in answer.take(response)]
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


@given(WORDS, st.data())
def test_every_word_is_reported_once_however_often_the_task_is_shown(words: list[str], data: st.DataObject) -> None:
    answer, text = Answer(None), ""
    for index, word in enumerate(words):
        text += read_text(answer, piece(word, append=index > 0 or data.draw(st.booleans())))
        existing = data.draw(st.integers(0, index + 1))
        text += read_text(answer, StreamResponse(task=task(TaskState.TASK_STATE_WORKING, *words[:existing])))
    final = task(
        TaskState.TASK_STATE_COMPLETED,
        *words,
        status_message=message("".join(words)) if data.draw(st.booleans()) else None,
    )
    text += read_text(answer, StreamResponse(task=final))
    assert text == "".join(words)
    assert answer.make_done() == AgentDone()


@given(WORDS)
def test_looks_at_a_growing_task_show_what_is_new(words: list[str]) -> None:
    answer = Answer(None)
    received = [
        read_text(answer, StreamResponse(task=task(TaskState.TASK_STATE_WORKING, *words[:n])))
        for n in range(1, len(words) + 1)
    ]
    assert received == words


def test_a_status_is_not_reported_again_with_the_task() -> None:
    answer, messages = Answer(None), message("Which city?")
    assert read_text(answer, status(TaskState.TASK_STATE_INPUT_REQUIRED, messages)) == "Which city?"
    assert (
        read_text(answer, StreamResponse(task=task(TaskState.TASK_STATE_INPUT_REQUIRED, status_message=messages))) == ""
    )
    assert answer.make_done() == AgentDone("t")


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
    assert read_text(answer, *at_work) == ""
    history = [Message(message_id="q", role=Role.ROLE_USER, parts=[Part(text="Weather?")]), message("It is ", "It is ")]
    final = StreamResponse(task=task(TaskState.TASK_STATE_COMPLETED, history=history))
    assert read_text(answer, final) == "It is fine."


def test_an_artifact_that_begins_again_is_reported_again() -> None:
    answer = Answer(None)
    assert read_text(answer, piece("Draft"), piece("Final", append=False)) == "Draft\n\nFinal"


def test_the_words_of_an_earlier_answer_are_not_sent_again_but_may_be_repeated() -> None:
    answer = Answer("t")
    answer.skip(task(TaskState.TASK_STATE_INPUT_REQUIRED, "Yes.", status_message=message("Sure?", "m1")))
    assert read_text(answer, StreamResponse(task=task(TaskState.TASK_STATE_WORKING, "Yes."))) == ""
    assert read_text(answer, piece("Yes.", artifact_id="a2")) == "Yes."
    assert read_text(answer, status(TaskState.TASK_STATE_INPUT_REQUIRED, message("Sure?", "m2"))) == "\n\nSure?"


def test_a_task_that_still_waits_as_before_has_not_taken_the_message_up() -> None:
    waiting = task(TaskState.TASK_STATE_INPUT_REQUIRED, status_message=message("Sure?"))
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
        read_text(Answer(None), response)


def test_files_and_data_come_once_each_however_often_they_are_shown() -> None:
    seats = {f"seat {number}": number for number in range(12)}  # more names than come in one order by chance
    form = Struct()
    form.update(seats)
    parts = [
        Part(text="Here they are."),
        Part(url="https://files.example/q.pdf", filename="q.pdf", media_type="application/pdf"),
        Part(raw=b"bytes", filename="x" * 5_000),
        Part(data=Value(struct_value=form)),
        Part(),
    ]
    sent_message = Message(message_id="m1", role=Role.ROLE_AGENT, parts=parts)
    waiting = task(TaskState.TASK_STATE_INPUT_REQUIRED, status_message=sent_message, history=[sent_message])
    answer = Answer(None)
    chunks = [*answer.take(status(TaskState.TASK_STATE_INPUT_REQUIRED, sent_message)), *answer.take_task(waiting)]
    assert [chunk for chunk in chunks if not isinstance(chunk, TextDelta)] == [
        AgentFile(Attachment("q.pdf", "application/pdf", url="https://files.example/q.pdf")),
        AgentFile(Attachment("x" * 199 + "…", None, data=b"bytes")),
        AgentData(seats),
    ]
    text = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
    assert text == "Here they are.\n[A part of a kind that is not understood here.]"


def test_a_form_that_is_asked_again_comes_again() -> None:
    form = [Part(data=Value(string_value="How many?"))]
    first = Message(message_id="m1", role=Role.ROLE_AGENT, parts=form)
    answer = Answer("t")
    answer.skip(task(TaskState.TASK_STATE_INPUT_REQUIRED, status_message=first))
    repeated_message = Message(message_id="m2", role=Role.ROLE_AGENT, parts=form)
    assert list(answer.take(status(TaskState.TASK_STATE_INPUT_REQUIRED, repeated_message))) == [AgentData("How many?")]


def test_data_beyond_the_limit_becomes_text_that_is_cut() -> None:
    sent_message = Message(message_id="m1", role=Role.ROLE_AGENT, parts=[Part(data=Value(string_value="x" * 500_000))])
    text = read_text(Answer(None), status(TaskState.TASK_STATE_COMPLETED, sent_message))
    assert text.startswith('[Data, of which this is the beginning: "xxx')
    assert len(text) < 40_000


@pytest.mark.parametrize("field", ["task_id", "context_id"])
def test_an_answer_for_another_task_or_conversation_is_a_lie(field: str) -> None:
    answer = Answer(None)
    task_ids = {"task_id": "t", "context_id": "c"}
    at_work = TaskStatus(state=TaskState.TASK_STATE_WORKING)
    list(answer.take(StreamResponse(status_update=TaskStatusUpdateEvent(**task_ids, status=at_work))))
    other = {**task_ids, field: "another"}
    with pytest.raises(AgentFailed, match="another"):
        list(answer.take(StreamResponse(status_update=TaskStatusUpdateEvent(**other, status=at_work))))
    assert answer.task_id == "t", "which is the one to be stopped"


def test_an_id_that_nobody_would_store_is_refused() -> None:
    with pytest.raises(AgentFailed):
        list(Answer(None).take_task(Task(id="t" * 2_000)))


def test_twenty_thousand_updates_are_read_in_no_more_than_their_own_length() -> None:
    answer = Answer(None)
    for number in range(20_000):
        sent_message = message(f"Step {number}", f"m{number}")
        list(answer.take(status(TaskState.TASK_STATE_WORKING, sent_message)))
    words = read_text(answer, StreamResponse(task=task(TaskState.TASK_STATE_COMPLETED)))
    assert words.endswith("Step 19999")


def test_an_answer_in_countless_pieces_is_given_up() -> None:
    pieces = [piece("x", artifact_id=f"a{number}") for number in range(2_000)]
    with pytest.raises(AgentFailed, match="pieces"):
        read_text(Answer(None), *pieces)


def test_a_sign_in_is_asked_of_the_user_and_the_task_waits() -> None:
    answer = Answer(None)
    text = read_text(answer, status(TaskState.TASK_STATE_AUTH_REQUIRED, message("Open https://login.example.")))
    assert text == "Open https://login.example."
    assert answer.make_done() == AgentDone("t", needs_sign_in=True)


class TestATaskThatIsTakenOver:
    """A dead worker has sent the message ``ours``; another one follows the task."""

    def test_everything_is_reported_from_the_message_on(self) -> None:
        answer = Answer("t")
        running = task(TaskState.TASK_STATE_WORKING, "It is ", history=[message("Weather?", "ours")])
        assert answer.resume(running, "ours", {})
        assert read_text(answer, StreamResponse(task=running), piece("fine.")) == "It is fine."

    def test_what_the_task_had_before_the_message_is_not_reported_again(self) -> None:
        first = Answer("t")
        first.skip(task(TaskState.TASK_STATE_INPUT_REQUIRED, "Draft. ", status_message=message("Sure?", "m1")))
        history = [message("Sure?", "m1"), message("Yes.", "ours")]
        done = task(TaskState.TASK_STATE_COMPLETED, "Draft. ", "Final.", history=history)
        second = Answer("t")
        assert second.resume(done, "ours", first.known)
        assert read_text(second, StreamResponse(task=done)) == "Final."
        assert second.is_over

    @pytest.mark.parametrize("history", [[], [message("Sure?", "m1")]])
    def test_a_task_that_still_waits_without_the_message_has_not_received_it(self, history: list[Message]) -> None:
        first, waiting = Answer("t"), task(TaskState.TASK_STATE_INPUT_REQUIRED, status_message=message("Sure?", "m1"))
        first.skip(waiting)
        waiting.history.extend(history)
        assert not Answer("t").resume(waiting, "ours", first.known)

    def test_a_question_that_waited_before_is_not_the_answer(self) -> None:
        first, waiting = Answer("t"), task(TaskState.TASK_STATE_INPUT_REQUIRED, status_message=message("Sure?", "m1"))
        first.skip(waiting)
        waiting.history.append(message("Yes.", "ours"))
        second = Answer("t")
        assert second.resume(waiting, "ours", first.known)
        assert read_text(second, StreamResponse(task=waiting)) == ""
        assert not second.is_over
