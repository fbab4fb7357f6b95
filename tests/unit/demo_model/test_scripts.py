"""All problems of a script are reported at once, with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from baton_local.demo_model.app import SCRIPT, create_app
from baton_local.demo_model.engine import Call, Engine
from baton_local.demo_model.script import VARIABLES, Rule, Script, ScriptError
from baton_local.demo_model.script_file import ScriptFile
from tests.unit.demo_model.playing import ask, engine, get_shipped_engine, make_calls, make_results
from tests.unit.docs.pages import ROOT, blocks, table

GUIDE = ROOT / "docs" / "how-to" / "script-the-demo-model.md"


def problems(folder: Path, script: str) -> list[str]:
    """The reported problems of a script, without its folder."""
    path = folder / "script.yaml"
    path.write_text(script, encoding="utf-8")
    with pytest.raises(ScriptError) as raised:
        Script.read(path)
    return str(raised.value).replace(f"{path}:", "").splitlines()


MESSAGE = "scenes:\n  message:\n"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("scenes: [", "2: did not find expected node content"),
        ("- say: x", "1: the file must be a mapping of fields"),
        ("values: {}", "1: scenes: Field required"),
        ("scenes: {}", "1: scenes: there is no scene 'message', where every turn begins"),
        (f"{MESSAGE}    - says: x", "3: scenes.message.0: the rule does nothing: give it say, call or next"),
        (f"{MESSAGE}    - say: x\n      sais: y", "4: scenes.message.0.sais: Extra inputs are not permitted"),
        (f"{MESSAGE}    - say: x\n      says: '(y'", "4: scenes.message.0.says: missing ), unterminated subpattern"),
        (f"{MESSAGE}    - say: '{{{{ x'", "3: scenes.message.0.say: unexpected end of template"),
        (f"{MESSAGE}    - say: '{{{{ nmae }}}}'", "3: scenes.message.0.say: there is no variable nmae"),
        (f"{MESSAGE}    - say: x\n      if: 1 +", "4: scenes.message.0.if: unexpected"),
        (f"{MESSAGE}    - call:\n        t: {{a: [1, '{{{{ b }}}}']}}", "4: scenes.message.0.call.t.a.1: there is no"),
        (f"{MESSAGE}    - next: gone", "3: scenes.message.0.next: there is no scene 'gone'"),
        (f"{MESSAGE}    - next: a\n  a:\n    - next: a", "4: scenes.a: the scene leads back to itself"),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, script: str, expected: str) -> None:
    [problem] = problems(tmp_path, script)
    assert problem.startswith(expected)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    reported = problems(tmp_path, f"{MESSAGE}    - say: '{{{{ x }}}}'\n    - next: gone\n      says: '['")
    assert [problem.split(":")[0] for problem in reported] == ["3", "5", "4"]


def test_a_file_that_is_missing_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"gone\.yaml:1: .*No such file"):
        create_app({"BATON_DEMO_SCRIPT": str(tmp_path / "gone.yaml")})


def test_the_script_of_the_guide_plays_what_it_shows(tmp_path: Path) -> None:
    [script] = [block.text for block in blocks(GUIDE) if block.language == "yaml" and block.mark is None]
    demo = engine(tmp_path, script)
    request = ask(demo, "Please book a room to Graz", tools={"find_rooms": {}})
    assert request.text == "Let me look for a room in Graz."
    assert request.calls == (Call("find_rooms", {"city": "Graz", "nights": 2}),)
    reported = make_results('{"rooms": [{"name": "Blue"}, {"name": "Red"}]}')
    assert ask(demo, "Please book a room to Graz", make_calls(*request.calls), *reported).text.endswith(
        "\n\n- Blue\n- Red"
    )


@pytest.mark.parametrize(
    ("messages", "answer"),
    [
        (["My name is Ada."], "Your name is Ada."),
        (["I live in Vienna.", "I see.", "Where do I live?"], "You live in Vienna."),
        (["What is my dog called?"], "2026-03-14: Your dog is called Rufus."),
        (["How long is the warranty?"], "The warranty is two years long. [2]"),
        (["remember: my name is Ada and I live in Vienna"], "- Your name is Ada.\n- You live in Vienna."),
        (["Is it raining?"], "I do not know."),
    ],
)
def test_the_rules_of_the_guide_answer_from_memory_and_documents(
    tmp_path: Path, messages: list[str], answer: str
) -> None:
    [rules] = [block.text for block in blocks(GUIDE) if block.mark == "memory_rules"]
    statement = {"kind": "message", "role": "user", "date": "2026-03-14", "text": "My dog is called Rufus."}
    passage = {"kind": "chunk", "source": "Terms", "number": 2, "text": "The warranty is two years long."}
    recalled = {"recalled__1": json.dumps(statement), "recalled__2": json.dumps(passage)}
    assert ask(engine(tmp_path, rules), *messages, **recalled).text == answer


def test_the_guide_lists_every_field_and_variable() -> None:
    fields = {field.alias or name for name, field in Rule.model_fields.items()}
    assert {*table(GUIDE, "condition"), *table(GUIDE, "field")} == fields
    listed = {name for cell in table(GUIDE, "variable") for name in cell.replace("`", "").split(", ")}
    assert listed == VARIABLES - {"task"}


def test_the_script_that_ships_is_whole() -> None:
    assert "message" in Script.read(SCRIPT).scenes


MESSAGES = [
    {"n": 1, "date": "2026-03-14", "weekday": "Saturday", "role": "user", "text": 'I moved to "Bern" <today>.'},
    {"n": 2, "date": "2026-03-14", "weekday": "Saturday", "role": "assistant", "text": "I see."},
    {"n": 3, "date": "2026-03-14", "weekday": "Saturday", "role": "user", "text": "What is my name?"},
]


def test_the_script_that_ships_summarizes_sessions_that_have_ended() -> None:
    reported = ask(get_shipped_engine(), json.dumps({"messages": MESSAGES}), task="episode_summary").text
    assert reported.startswith('On 2026-03-14 the user said: “I moved to "Bern" <today>.” and “What is my name?”.')
    parts = ask(get_shipped_engine(), json.dumps({"summaries": ["One.", "Two."]}), task="episode_summary").text
    assert parts == "One. Two."


def test_the_script_that_ships_lists_what_users_said_about_themselves_as_facts() -> None:
    reported = json.loads(ask(get_shipped_engine(), json.dumps({"messages": MESSAGES}), task="episode_facts").text)
    text = 'The user said: “I moved to "Bern" <today>.”'
    assert reported == {"facts": [{"text": text, "date": "2026-03-14", "sources": [1]}]}
    assert json.loads(ask(get_shipped_engine(), '{"messages": []}', task="episode_facts").text) == {"facts": []}


def test_the_script_that_ships_leaves_its_own_excuses_out_of_summaries() -> None:
    excuse = {**MESSAGES[1], "text": ask(get_shipped_engine(), "Blue elephants?").text}
    reported = ask(get_shipped_engine(), json.dumps({"messages": [MESSAGES[0], excuse]}), task="episode_summary").text
    assert reported == 'On 2026-03-14 the user said: “I moved to "Bern" <today>.”.'


@pytest.mark.parametrize(
    ("now", "before", "relation"),
    [
        ("My favourite colour is green.", "my favourite colour is red", "contradicts"),
        ("My favourite colour is green.", "My favourite colour is green", "same"),
        ("My favourite colour is green.", "My favourite food is rice", None),
        ("My dog is called Rufus", "My dog is called Rex.", "contradicts"),
        ("My dog is hungry", "My dog is black", None),
        ("I moved to Zurich.", "I live in Bern, as you know.", "contradicts"),
        ("My mail is ada@example.com", "My mail is ada@example.org", "contradicts"),
        ("My name is Ada and I live in Vienna.", "My name is Ada", None),
        ("My name is Ada and I live in Vienna.", "My name is Eve", "contradicts"),
        ("Nothing of the kind", "I like tea", None),
    ],
)
def test_the_script_that_ships_shows_what_replaces_an_earlier_fact(now: str, before: str, relation: str | None) -> None:
    noise = {"n": 1, "date": "2026-03-01", "text": "The user said: “I like walking.”"}
    data = {
        "facts": [noise, {"n": 2, "date": "2026-03-14", "text": f"The user said: “{now}”"}],
        "others": [noise, {"n": 2, "date": "2026-03-02", "text": f"The user said: “{before}”"}],
    }
    pairs = [{"fact": 2, "other": 2, "relation": relation}] if relation else []
    assert json.loads(ask(get_shipped_engine(), json.dumps(data), task="fact_changes").text) == {"pairs": pairs}
    assert json.loads(ask(get_shipped_engine(), '{"facts": [], "others": []}', task="fact_changes").text) == {
        "pairs": []
    }


def test_an_edited_script_is_played_by_the_next_answer_and_a_broken_one_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(f"{MESSAGE}    - say: One\n")
    script = ScriptFile(path)
    assert ask(script.load_engine(), "Hello").text == "One"
    path.write_text(f"{MESSAGE}    - say: The second\n")
    assert ask(script.load_engine(), "Hello").text == "The second"
    path.write_text(f"{MESSAGE}    - sya: A third one\n")
    assert [ask(script.load_engine(), "Hello").text for _ in range(2)] == ["The second"] * 2
    assert len([record for record in caplog.records if "scenes.message.0" in record.getMessage()]) == 1
    path.write_text(f"{MESSAGE}    - say: The third\n")
    assert ask(script.load_engine(), "Hello").text == "The third"
    assert capsys.readouterr().out == "Reloaded: script.yaml\n" * 2


@pytest.mark.parametrize("script", [SCRIPT, ROOT / "baton_project/skeleton/demo.yaml"])
@pytest.mark.parametrize(("kind", "part"), [("reply", "I will look into it"), ("summary", "- My lamp")])
def test_people_at_desks_get_drafts_and_summaries(script: Path, kind: str, part: str) -> None:
    messages = [{"role": "user", "text": "My lamp"}, {"role": "person", "name": "Anna", "text": "Hello"}]
    draft = ask(Engine(Script.read(script)), json.dumps({"kind": kind, "messages": messages}), task="desk_draft")
    assert part in draft.text
    assert "Hello" not in draft.text


@pytest.mark.parametrize(
    "script",
    [SCRIPT, ROOT / "baton_project/skeleton/demo.yaml", *sorted((ROOT / "examples/projects").glob("*/demo.yaml"))],
    ids=lambda path: path.parent.name,
)
def test_who_takes_over_reads_what_the_user_wrote_and_no_json(script: Path) -> None:
    messages = [{"role": "assistant", "text": "How can I help?"}, {"role": "user", "text": "My lamp has a scratch."}]
    summary = ask(Engine(Script.read(script)), json.dumps({"messages": messages}), task="handoff_summary")
    assert summary.text == "My lamp has a scratch."
    messages = [{"role": "person", "text": "I have looked into it."}]
    assert ask(Engine(Script.read(script)), json.dumps({"messages": messages}), task="handoff_summary").text
