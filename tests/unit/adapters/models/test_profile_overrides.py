"""Facts about models that operators declare: unknown ones and wrong values are named with their place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from baton.adapters.models.profiles.profile import AnswerForm, Api, ModelProfile, SystemPlace, read_profile_overrides


def test_facts_have_the_types_of_a_profile() -> None:
    written = {
        "my-qwen*": {"system": "first", "alternates": True, "dropped": ["temperature"], "max_tools": 20},
        "*": {"api": "responses", "answerForm": "prompt", "callIds": "[a-z0-9]{9}", "defaultMaxOutput": None},
    }
    overrides = read_profile_overrides(written)
    assert replace(ModelProfile(), **overrides["my-qwen*"]) == ModelProfile(
        system=SystemPlace.FIRST, alternates=True, dropped=frozenset({"temperature"}), max_tools=20
    )
    assert replace(ModelProfile(), **overrides["*"]) == ModelProfile(
        api=Api.RESPONSES, answer_form=AnswerForm.PROMPT, call_ids="[a-z0-9]{9}"
    )


@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"maxTool": 3}, r"modelProfiles: gpt\.maxTool: there is no such fact; there are .*maxTools"),
        ({"thinksFirst": True}, r"gpt\.thinksFirst: there is no such fact"),
        ({"maxTools": "20"}, r"gpt\.maxTools: Input should be a valid integer"),
        ({"maxTools": 0}, r"gpt\.maxTools: must be 1 or more"),
        ({"tokenRatio": 0}, r"gpt\.tokenRatio: must be a finite number above 0"),
        ({"tokenRatio": float("nan")}, r"gpt\.tokenRatio: must be a finite number above 0"),
        ({"alternates": "yes"}, r"gpt\.alternates: Input should be a valid boolean"),
        ({"system": "last"}, r"gpt\.system: Input should be 'anywhere', 'head', 'first' or 'user'"),
        ({"toolNames": "["}, r"gpt\.toolNames: is no regular expression"),
        ({"maxTools": 3, "max_tools": 4}, r"gpt\.max_tools: is given twice"),
        ([], r"modelProfiles: gpt: must be an object"),
    ],
)
def test_a_wrong_fact_is_named_with_its_place(facts: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_profile_overrides({"gpt": facts})
