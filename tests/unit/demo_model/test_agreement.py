"""What short answers mean."""

from __future__ import annotations

import pytest

from local.demo_model.agreement import is_no, is_vague, is_yes, leaves

YES = ["yes", "Yes!", "ok", "looks good", "Looks good to me.", "sure, go ahead", "yes please", "I approve", "passt"]
YES += ["that's right", "perfect, thanks", "Let's do it", "take that one", "all right then", "ja, genau", "it's fine"]
NO = ["no", "Nope.", "no thanks", "not yet", "nothing else", "none", "that's all", "That is it.", "nein danke"]
VAGUE = ["", "?", "...", "hm", "Hmm, I don't know", "not sure", "I'm not sure", "whatever", "what?", "no idea", "maybe"]
OTHER = ["send slack alert", "yes, but call it Alarm", "no, the triggers", "#ops", "good morning alert", "Slack", "42"]
LEAVE = ["never mind", "forget it", "stop", "Please stop this now.", "bring me back", "go back to the main assistant"]


@pytest.mark.parametrize("text", [*YES, *NO, *VAGUE, *OTHER])
def test_an_answer_means_one_thing(text: str) -> None:
    assert (is_yes(text), is_no(text), is_vague(text)) == (text in YES, text in NO, text in VAGUE)
    assert not leaves(text)


@pytest.mark.parametrize("text", LEAVE)
def test_whoever_wants_to_leave_is_understood(text: str) -> None:
    assert leaves(text)


@pytest.mark.parametrize("text", ["stop words should be removed", "never mind the gap", "forget it when it is old"])
def test_sentences_that_only_begin_like_it_are_others(text: str) -> None:
    assert not leaves(text)
