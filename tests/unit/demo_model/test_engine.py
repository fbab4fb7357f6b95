"""Playing a script: the rule that answers, its text and calls, and its next state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from baton.agents.answer_sources import CITED
from baton.memory.prompt.message_prompts import NOTED, REPORTED, WRITTEN_BY_PERSON
from baton.memory.prompt.quoting import quote
from baton_local.demo_model.engine import Call, Engine
from baton_local.demo_model.script import ScriptError
from tests.unit.demo_model.playing import ask, engine, make_calls, make_results


@pytest.fixture
def booking(tmp_path: Path) -> Engine:
    """A script for an agent that books trips."""
    script = """
    values:
      polite: '(?:please )?'
    scenes:
      message:
        - agent: [booking, travel]
          state: WHERE
          says: '^{{ polite }}to (?P<city>\\w+)'
          say: 'To {{ city }}?'
          call:
            advance_workflow: {state: WHEN, data: {city: '{{ city }}', nights: 2, guests: '{{ [said, city] }}'}}
        - agent: booking
          state: WHEN
          next: dates
        - says: '^and my (?P<thing>\\w+)'
          earlier: 'my {{ thing }} is (?P<value>\\w+)'
          say: 'Your {{ thing }} is {{ value }}.'
        - says: weather
          call:
            weather_{{ said | length }}: {}
            forecast: {text: '{{ said }}'}
        - if: attachments
          say: '{{ attachments | length }} attached'
        - say: 'Hello{{ unfinished.w }}, {{ before }}'
      dates:
        - says: 'tomorrow'
          say: A day in {{ workflow.data.city }}.
          next: thanks
      thanks:
        - say: Thank you.
      result:
        - after: fore*
          result: '(?P<degrees>\\d+) degrees'
          say: 'It is {{ degrees }} in {{ said }}: {{ results[0].json.sky }}'
        - after: advance_workflow
          if: results[-1].arguments.state != workflow.state
          say: refused
        - after: advance_workflow
          call:
            advance_workflow: {state: DONE}
    """
    return engine(tmp_path, script)


def test_the_first_rule_answers_whose_conditions_all_hold(booking: Engine) -> None:
    arguments = {"state": "WHEN", "data": {"city": "Graz", "nights": 2, "guests": ["Please to Graz", "Graz"]}}
    reply = ask(booking, "Please to Graz", tools=["advance_workflow"], agent="booking", workflow__state="WHERE")
    assert (reply.text, reply.calls) == ("To Graz?", (Call("advance_workflow", arguments),))
    for agent, state, message in (
        ("other", "WHERE", "To Graz"),
        ("booking", "WHY", "To Graz"),
        ("travel", "WHERE", "Hm"),
    ):
        assert ask(booking, message, tools=["advance_workflow"], agent=agent, workflow__state=state).calls == ()


def test_a_rule_goes_on_in_the_next_scene_and_does_not_fit_where_that_has_no_answer(booking: Engine) -> None:
    where = {"agent": "booking", "workflow__state": "WHEN", "workflow__data__city": "Graz"}
    assert ask(booking, "Tomorrow", **where).text == "A day in Graz.\n\nThank you."
    assert ask(booking, "Never", **where).text == "Hello,"


def test_patterns_may_use_what_was_found_in_earlier_messages(booking: Engine) -> None:
    assert ask(booking, "My cat is old", "I see", "My cat is grey", "Oh", "And my cat?").text == "Your cat is grey."
    assert ask(booking, "My dog is old", "I see.", "And my cat?").text == "Hello, I see."


def test_only_tools_that_are_offered_are_called(booking: Engine) -> None:
    offered = {"weather_11": {}, "forecast": {}}
    assert [call.name for call in ask(booking, "the weather", tools=offered).calls] == ["weather_11", "forecast"]
    [call] = ask(booking, "the weather", tools=["forecast"]).calls
    assert call == Call("forecast", {"text": "the weather"})
    assert ask(booking, "the weather").text == "Hello,"


def test_results_are_read_as_text_and_as_json(booking: Engine) -> None:
    call = make_calls(Call("forecast", {}))
    reported = make_results('{"sky": "blue", "about": "21 degrees"}')
    assert ask(booking, "Graz", call, *reported).text == "It is 21 in Graz: blue"


def test_a_call_is_not_repeated_within_a_turn(booking: Engine) -> None:
    turn = ["Hm", make_calls(Call("advance_workflow", {"state": "NEXT"})), *make_results("ok")]
    tools, where = ["advance_workflow"], {"workflow__state": "NEXT"}
    second_call = Call("advance_workflow", {"state": "DONE"})
    assert ask(booking, *turn, tools=tools, **where).calls == (second_call,)
    turn += [make_calls(second_call), *make_results("ok")]
    reply = ask(booking, *turn, tools=tools, workflow__state="DONE")
    assert (reply.text, reply.calls) == ("", ())


def test_what_a_request_lacks_is_empty(booking: Engine) -> None:
    assert ask(booking, "x", unfinished='{"w": " Ada"}').text == "Hello Ada,"
    for metadata in ({"unfinished": '{"w": " Ada'}, {"workflow": "none", "workflow__state": "x"}, {"workflow": "[1]"}):
        assert ask(booking, "x", **metadata).text == "Hello,"


def test_no_words_of_the_prompt_are_read(booking: Engine) -> None:
    system = {"role": "system", "content": "To Graz, weather, and my cat"}
    assert ask(booking, system, {"role": "user", "content": "Hm"}).text == "Hello,"


FRAME = '<quoted-context>\nSnippets, quoted:\n- 2026-03-14: the user said: "To Graz, my cat"\n</quoted-context>'

SAID = {"Anna of Support": 'I am "sorry".', "Ben": "Me, too."}


@pytest.mark.parametrize(
    "messages",
    [
        [FRAME, "Hm"],
        [FRAME, FRAME, "Hm"],
        [f"{FRAME}\n\n{FRAME}\n\nHm"],
        [[{"type": "text", "text": FRAME}, {"type": "text", "text": "Hm"}]],
        ["Hm", FRAME],
    ],
)
def test_quoted_context_is_no_message_of_the_user(booking: Engine, messages: list[Any]) -> None:
    assert ask(booking, *({"role": "user", "content": content} for content in messages)).text == "Hello,"


def test_the_users_words_are_read_without_the_quotations_in_the_same_part(tmp_path: Path) -> None:
    script = "scenes:\n  message:\n    - say: '{{ said }}'\n"
    parts = [{"type": "text", "text": f"{FRAME}\n\nHm"}]
    assert ask(engine(tmp_path, script), {"role": "user", "content": parts}).text == "Hm"


def test_words_of_people_of_desks_are_read_from_their_quotations_alone(tmp_path: Path) -> None:
    message = {name: WRITTEN_BY_PERSON.format(person=name, text=quote(text)) for name, text in SAID.items()}
    noted = NOTED.format(person="Anna", note=quote("Agreed."))
    report = REPORTED.format(agent="Orders", report=quote(message["Anna of Support"]))
    quoted = "\n\n".join(f"<quoted-context>\n{text}\n</quoted-context>" for text in (*message.values(), noted, report))
    script = "scenes:\n  message:\n    - say: '{{ people | json }} {{ notes | json }}'\n"
    answer = ask(engine(tmp_path, script), {"role": "user", "content": f"{quoted}\n\n{message['Ben']}"})
    words = [{"name": name, "text": text} for name, text in SAID.items()]
    assert answer.text == f'{json.dumps(words)} [{{"name": "Anna", "text": "Agreed."}}]'


def test_a_template_that_fails_shows_its_place(tmp_path: Path) -> None:
    script = "scenes:\n  message:\n    - say: '{{ said + 1 }}'\n"
    with pytest.raises(ScriptError, match=r"script\.yaml:3: scenes\.message\.0: TypeError"):
        ask(engine(tmp_path, script), "Hello")


def test_templates_cannot_leave_their_sandbox(tmp_path: Path) -> None:
    script = "scenes:\n  message:\n    - say: \"{{ said.__class__.__mro__ }}{{ ''.__class__ }}\"\n"
    assert ask(engine(tmp_path, script), "Hello").text == ""


@pytest.mark.parametrize("message", ["a" * 100_000, "to " * 30_000, "\n" * 100_000])
def test_long_messages_are_answered(booking: Engine, message: str) -> None:
    assert ask(booking, message).text.startswith("Hello")


def test_what_a_consulted_agent_said_is_repeated_without_the_note_about_its_citations(tmp_path: Path) -> None:
    script = engine(tmp_path, "scenes:\n  message: [{say: Hm}]\n  result: [{say: '{{ results[-1].text }}'}]\n")
    note = CITED.format('[1] "Returns (all)", page 2; [2] "Prices"')
    [result] = make_results(f"Within 30 days [1].\n\n{note}")
    reply = ask(script, "When?", make_calls(Call("ask_orders", {})), result)
    assert reply.text == "Within 30 days [1]."


def test_a_deeply_nested_result_is_text(tmp_path: Path) -> None:
    script = engine(tmp_path, "scenes:\n  message: [{say: Hm}]\n  result: [{say: 'JSON: {{ results[-1].json }}'}]\n")
    [result] = make_results("[" * 100_000)
    assert ask(script, "Go", make_calls(Call("nest", {})), result).text == "JSON: None"
