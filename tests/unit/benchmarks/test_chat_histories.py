"""The histories that recall is measured on."""

from __future__ import annotations

from benchmarks.inputs.chat_histories import make_history


def test_a_history_is_the_same_each_time_and_another_for_another_user() -> None:
    assert make_history(1, sessions=10, questions=10) == make_history(1, sessions=10, questions=10)
    assert make_history(1, sessions=10, questions=10) != make_history(2, sessions=10, questions=10)


def test_every_question_is_answered_by_one_message_of_its_episode() -> None:
    sample = make_history(3, sessions=30, questions=40)
    assert len(sample.questions) == 40
    assert len({question.text for question in sample.questions}) >= 39
    messages = {
        episode.ref.id: {message.id: message for message in messages} for episode, messages, _ in sample.sessions
    }
    facts = {name: fact for _, _, facts in sample.sessions for fact in facts for name in fact.message_ids}
    for question in sample.questions:
        assert facts[question.message_id].text in messages[question.episode_id][question.message_id].text


def test_ids_of_messages_are_unique_and_times_grow() -> None:
    sample = make_history(4, sessions=20, questions=5)
    messages = [message for _, messages, _ in sample.sessions for message in messages]
    assert len({message.id for message in messages}) == len(messages)
    assert [message.timestamp for message in messages] == sorted(message.timestamp for message in messages)
