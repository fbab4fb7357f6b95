"""Skills: a SKILL.md says the same as the draft it was written from, and nothing else passes for one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.memory.procedure import (
    InvalidProcedure,
    Procedure,
    ProcedureAction,
    ProcedureDecision,
    ProcedureDraft,
    ProcedureStatus,
    ProcedureStep,
    find_next_status,
    make_slug,
    parse_draft,
    try_draft,
)
from baton.domain.memory.skill_markdown import MAX_BYTES, parse_skill_markdown, write_skill_markdown
from tests.unit.domain.skill_creation import NOW

FIELDS: dict[str, Any] = {
    "name": "Slack Alert",
    "description": "Posts an alert to a Slack channel.",
    "triggers": ["send slack alert", r"alert (me|the team) on slack"],
    "allowed_tools": ["slack_post"],
    "steps": [
        {"text": "Ask which channel the alert goes to.", "condition": "skip if the user has named one"},
        {"text": "Post the alert."},
    ],
}
DRAFT = parse_draft(FIELDS)
MARKDOWN = """\
---
name: Slack Alert
description: Posts an alert to a Slack channel.
triggers:
- send slack alert
- alert (me|the team) on slack
allowed-tools:
- slack_post
---

1. Ask which channel the alert goes to.
   (skip if the user has named one)
2. Post the alert.
"""


def problems(text: str) -> str:
    with pytest.raises(InvalidProcedure) as refusal:
        parse_skill_markdown(text)
    return str(refusal.value)


def test_a_draft_is_written_as_a_skill_md() -> None:
    assert write_skill_markdown(DRAFT) == MARKDOWN
    assert parse_skill_markdown(MARKDOWN) == DRAFT


def test_a_file_that_people_have_edited_is_read_as_well() -> None:
    edited = "\ufeff" + MARKDOWN.replace("---\n\n1.", "---\n# Slack Alert\n\n## Steps\n\n1.").replace("\n", "\r\n")
    assert parse_skill_markdown(edited) == DRAFT
    without_tools = MARKDOWN.replace("allowed-tools:\n- slack_post\n", "")
    assert parse_skill_markdown(without_tools) == replace(DRAFT, allowed_tools=())


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (MARKDOWN, "", "begins with front matter"),
        (MARKDOWN, "# Slack Alert\n", "begins with front matter"),
        ("---\n\n1.", "\n1.", "begins with front matter"),
        ("name: Slack Alert", "colour: red\nname: Slack Alert", "the unknown field 'colour'"),
        ("name: Slack Alert", "name: Slack Alert\nname: Mail", "name: the field occurs twice"),
        ("name: Slack Alert", "name: [Slack", "not YAML"),
        ("name: Slack Alert", "name: &a x\nlicense: *a", "aliases"),
        ("name: Slack Alert", "name: yes", "name: True is not of type 'string'"),
        ("name: Slack Alert", "name: 2026-02-31", "not YAML"),
        ("name: Slack Alert", "name: !!python/name:os.system", "not YAML"),
        ("name: Slack Alert", "name: ''", "name: '' should be non-empty"),
        ("name: Slack Alert", f"name: {'x' * 65}", "too long"),
        ("name: Slack Alert", "? [a]\n: b\nname: x", "not YAML"),
        ("name: Slack Alert\n", "", "'name' is a required property"),
        ("- send slack alert\n", "- (?=x)\n", "lookahead"),
        ("- send slack alert\n", "- .*\n", "nearly every message"),
        ("- send slack alert\n", "- ([a-z ]{1,99}x){1,4}y\n", "is too large"),
        ("- slack_post", "- slack post", "does not match"),
        ("- slack_post", "- transfer_to_sales", "Baton's own"),
        ("- slack_post", "- slack_post\n- slack_post", "non-unique"),
        ("- slack_post", "- 2026-02-28", "a value that JSON does not have"),
        ("- send slack alert\n", "- on: deploy\n", "is not of type 'string'"),
        ("2. Post", "3. Post", "step 2 is numbered 3"),
        ("2. Post", "Post", "neither a step"),
        ("   (skip", "   (only on Mondays)\n   (skip", "neither a step"),
        ("1. Ask", "   (skip it)\n1. Ask", "neither a step"),
        ("1. Ask", "1. \x00Ask", "step 1 must be printable"),
        ("(skip if", "(skip\x07 if", "the condition of step 1 must be printable"),
        ("2. Post the alert.", f"2. {'x' * 1001}", "too long"),
        ("2. Post the alert.", "x" * MAX_BYTES, "at most 64 KB"),
    ],
)
def test_what_is_no_skill_is_refused_with_the_reason(old: str, new: str, expected: str) -> None:
    assert old in MARKDOWN
    assert expected in problems(MARKDOWN.replace(old, new, 1))


def test_a_file_without_steps_is_no_skill() -> None:
    assert "steps: [] should be non-empty" in problems(MARKDOWN[: MARKDOWN.index("1. Ask")])


def test_a_short_file_cannot_stand_for_an_endless_value() -> None:
    laughs = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9) if n else 'ha'}]" for n in range(30))
    assert "aliases" in problems(f"---\n{laughs}\n---\n\n1. Laugh.\n")


@pytest.mark.parametrize(
    "wrong",
    [
        {**FIELDS, "colour": "red"},
        {**FIELDS, "steps": []},
        {**FIELDS, "steps": ["Post."]},
        {**FIELDS, "steps": [{"text": " "}]},
        {**FIELDS, "name": "\ud800"},
        {**FIELDS, "triggers": []},
        {},
    ],
)
def test_fields_that_make_no_skill_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidProcedure):
        parse_draft(wrong)


def test_samples_show_which_messages_the_skill_answers() -> None:
    trials = try_draft(DRAFT, ["Please send a Slack alert", "What is Slack?", "Alert the team on Slack!"])
    assert [trial.trigger for trial in trials] == ["send slack alert", None, r"alert (me|the team) on slack"]
    assert [trial.matches for trial in trials] == [True, False, True]


def at(status: ProcedureStatus) -> Procedure:
    return Procedure(DRAFT, "acme", "assistant", "ada", NOW, version=1, status=status)


@pytest.mark.parametrize(
    ("status", "action", "then"),
    [
        (ProcedureStatus.PENDING, ProcedureAction.APPROVE, ProcedureStatus.APPROVED),
        (ProcedureStatus.PENDING, ProcedureAction.REJECT, ProcedureStatus.REJECTED),
        (ProcedureStatus.PENDING, ProcedureAction.RETIRE, ProcedureStatus.RETIRED),
        (ProcedureStatus.APPROVED, ProcedureAction.APPROVE, None),
        (ProcedureStatus.APPROVED, ProcedureAction.REJECT, None),
        (ProcedureStatus.APPROVED, ProcedureAction.RETIRE, ProcedureStatus.RETIRED),
        (ProcedureStatus.REJECTED, ProcedureAction.APPROVE, None),
        (ProcedureStatus.REJECTED, ProcedureAction.REJECT, None),
        (ProcedureStatus.REJECTED, ProcedureAction.RETIRE, None),
        (ProcedureStatus.RETIRED, ProcedureAction.APPROVE, None),
        (ProcedureStatus.RETIRED, ProcedureAction.REJECT, None),
        (ProcedureStatus.RETIRED, ProcedureAction.RETIRE, None),
    ],
)
def test_what_can_be_done_with_a_version(
    status: ProcedureStatus, action: ProcedureAction, then: ProcedureStatus | None
) -> None:
    assert find_next_status(status, action) is then
    decided = ProcedureDecision(action, "bob", NOW, "because").apply(at(status))
    if then is None:
        assert decided is None
    else:
        assert decided == replace(at(then), decided_by="bob", decided_at=NOW, reason="because")


@given(st.lists(st.sampled_from(ProcedureAction), max_size=6))
def test_what_was_rejected_or_retired_is_never_used_again(actions: list[ProcedureAction]) -> None:
    status, end = ProcedureStatus.PENDING, False
    for action in actions:
        status = find_next_status(status, action) or status
        assert not (end and status is ProcedureStatus.APPROVED)
        end = status in (ProcedureStatus.REJECTED, ProcedureStatus.RETIRED)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Slack Alert", "slack-alert"),
        ("  Größe & Gewicht!  ", "groe-gewicht"),
        ("Ça va?", "ca-va"),
        ("x" * 100, "x" * 64),
        ("a" * 63 + " b", "a" * 63),
        ("Match!", "skill-match"),
    ],
)
def test_a_name_makes_an_id(name: str, slug: str) -> None:
    assert make_slug(name) == slug


def test_names_of_other_scripts_have_ids_of_their_own() -> None:
    assert make_slug("警报").startswith("skill-")
    assert make_slug("警报") != make_slug("天气")


lines = st.text(
    st.characters(exclude_categories=["C", "Z"]) | st.sampled_from(" #-:*&!%@`\"'()[]{}"), min_size=1, max_size=40
)
texts = lines.filter(lambda text: bool(text.strip()))
phrases = st.lists(st.from_regex(r"[a-zäßж]{1,8}", fullmatch=True), min_size=1, max_size=4).map(" ".join)
patterns = st.sampled_from(
    [r"(a|b) skill", r"^/do\b", r"\w+ alert\?", r"[\w-]+: #1", "yes", "null", "1.5", "- x", "a: b"]
)
drafts = st.builds(
    lambda **fields: parse_draft(fields),
    name=texts,
    description=texts,
    triggers=st.lists(phrases | patterns, min_size=1, max_size=4),
    allowed_tools=st.lists(st.from_regex(r"[xyz0-9_-]{1,20}", fullmatch=True), unique=True, max_size=3),
    steps=st.lists(st.fixed_dictionaries({"text": texts}, optional={"condition": texts}), min_size=1, max_size=12),
)


@given(drafts)
def test_any_draft_comes_back_from_its_skill_md(draft: ProcedureDraft) -> None:
    assert parse_skill_markdown(write_skill_markdown(draft)) == draft


@given(st.text() | st.lists(st.sampled_from([*MARKDOWN.splitlines(keepends=True), "- x\n", "3. y\n"])).map("".join))
def test_any_text_is_a_skill_or_an_error(text: str) -> None:
    try:
        draft = parse_skill_markdown(text)
    except InvalidProcedure as refusal:
        reasons = refusal.problems
    else:
        reasons = ("none",)
        assert parse_skill_markdown(write_skill_markdown(draft)) == draft
    assert reasons


def test_steps_are_one_line_each() -> None:
    draft = parse_draft({**FIELDS, "steps": [{"text": "Ask\n\nfor\tit.", "condition": " skip  it "}]})
    assert draft.steps == (ProcedureStep("Ask for it.", "skip it"),)
