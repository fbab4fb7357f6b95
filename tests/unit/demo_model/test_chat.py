"""Answers of the shipped script to users who just talk."""

from __future__ import annotations

import json

import pytest

from baton_local.demo_model.engine import Call
from tests.unit.demo_model.playing import Json, ask, get_shipped_engine, make_calls, make_results


@pytest.mark.parametrize(
    ("messages", "answer"),
    [
        (["What is 12 * (3 + 4)?"], "12 * (3 + 4) = 84"),
        (["2.5*2"], "2.5*2 = 5"),
        (["What is 10 / 4?"], "10 / 4 = 2.5"),
        (["My favourite colour is green."], "Your favourite colour is green. I will remember it."),
        (["My favourite colour is green.", "!", "What is my favourite colour?"], "Your favourite colour is green."),
        (["My cats are old", "!", "My cats are very old", "!", "What are my cats?"], "Your cats are very old."),
        (["My name is Ada.", "!", "What is my name?"], "Your name is Ada."),
        (["My mail is ada@example.com. Thanks."], "Your mail is ada@example.com. I will remember it."),
        (["My mail is ada@example.com", "!", "What is my mail?"], "Your mail is ada@example.com."),
        (["What did I say?"], "This is the first thing you have said in this conversation."),
        (["What's my name?"], "You have not told me your name yet. What is it?"),
        (
            ["Remember that tea is at 5", "!", "What did I ask you to remember?"],
            "You asked me to remember:\n\n- tea is at 5",
        ),
        (["One", "!", "Two", "!", "What did I say before?"], "Just before this you said: “Two”"),
        (["One", "Uno", "What did you say?"], "I said: “Uno”"),
        (["One", "!", "Two", "!", "Summarize"], "So far you have sent me 2 messages:\n\n1. You: “One”\n2. You: “Two”"),
        (["Say one two three"], "one two three"),
        (["Goodbye!"], "Goodbye! This conversation is kept, so you can come back to it."),
        (["Thanks!"], "You are welcome! Is there anything else?"),
        ([""], "I received your message, but there was no text in it."),
    ],
)
def test_the_script_answers(messages: list[str], answer: str) -> None:
    assert ask(get_shipped_engine(), *messages).text == answer


@pytest.mark.parametrize(
    "message", ["What are you?", "Which model is this?", "What can you do?", "Hi!", "Blue elephants?"]
)
def test_the_model_says_that_it_is_the_demo_model(message: str) -> None:
    assert "offline demo model" in ask(get_shipped_engine(), message).text


@pytest.mark.parametrize("message", ["1 / 0", "9**9**9", "2 +", "()" * 50 + "1+1", "2026"])
def test_what_cannot_be_calculated_gets_another_answer(message: str) -> None:
    assert "=" not in ask(get_shipped_engine(), message).text


def test_a_text_has_as_many_words_as_were_asked_for() -> None:
    assert len(ask(get_shipped_engine(), "Write 500 words about bees").text.split()) == 500
    assert len(ask(get_shipped_engine(), "Write 999999 words").text.split()) == 5000
    assert "about bees" in ask(get_shipped_engine(), "Tell me a story about bees").text


def test_the_model_answers_questions_about_its_story() -> None:
    reported = ["Tell me a story about whales", ask(get_shipped_engine(), "Tell me a story about whales").text]
    for question, answer in [
        ("Who is Mara?", "Mara packed bread, a lamp and a small notebook"),
        ("What did the sailor say?", "“do not look far. Look long.”"),
        ("What happened then?", "The next morning another boat lay in the harbour."),
        ("Tell me another story", "Here is another one about whales."),
        ("Who is Jonas?", "Jonas had a map"),
    ]:
        reported += [question, ask(get_shipped_engine(), *reported, question).text]
        assert answer in reported[-1]


def test_the_model_ends_the_conversation_if_it_has_the_tool() -> None:
    bye = Call("end_conversation", {"reason": "The user said goodbye."})
    reply = ask(get_shipped_engine(), "That's all, thanks", tools=["end_conversation"])
    assert (reply.text[:8], reply.calls) == ("Goodbye!", (bye,))
    after = ask(
        get_shipped_engine(), "That's all, thanks", make_calls(bye), *make_results("Ended."), tools=["end_conversation"]
    )
    assert (after.text, after.calls) == ("", ())


def test_the_model_describes_attachments() -> None:
    parts: list[Json] = [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
    ]
    text = ask(get_shipped_engine(), {"role": "user", "content": parts}).text
    assert text.startswith("Thank you, I received 3 attachments:")
    assert "- image **PNG image** (image/png, 3 bytes)\n- image **https://example.com/x.png**\n" in text
    assert "- document **a.pdf** (application/pdf, 3 bytes)" in text


def test_a_tool_is_called_that_the_user_names() -> None:
    call = Call("find_page", {"text": "otters and seals"})
    assert ask(get_shipped_engine(), "Use the find_page tool for otters and seals", tools=["find_page"]).calls == (
        call,
    )
    reported = ask(
        get_shipped_engine(),
        "Use find_page for otters",
        make_calls(call),
        *make_results("Otters swim."),
        tools=["find_page"],
    )
    assert reported.text == "According to `find_page`:\n\nOtters swim."
    assert ask(get_shipped_engine(), "Use find_page for otters").calls == ()


def test_an_agent_is_asked_that_the_user_names() -> None:
    [call] = ask(get_shipped_engine(), "Ask Nice Otters about fish", tools=["ask_nice_otters", "ask_seals"]).calls
    assert call == Call("ask_nice_otters", {"message": "fish"})


@pytest.mark.parametrize("message", ["bye", "never mind", "I'm done"])
def test_a_specialist_that_the_script_does_not_know_hands_back(message: str) -> None:
    [call] = ask(get_shipped_engine(), message, tools=["return_to_main", "end_conversation"], agent="otters").calls
    assert call.name == "return_to_main"


def test_the_model_summarises_for_a_specialist() -> None:
    reported = "user: Hello\nassistant: Hi!\nuser: I want to create a skill."
    assert ask(get_shipped_engine(), reported, task="handoff_summary").text == "User wants to create a skill."
    reported = {
        "messages": [{"role": "user", "text": "Hello"}, {"role": "user", "text": 'I\'d like to make a "skill"!'}]
    }
    assert (
        ask(get_shipped_engine(), json.dumps(reported), task="handoff_summary").text == 'User wants to make a "skill".'
    )
    reported["messages"].append({"role": "user", "text": "Make me one"})
    assert ask(get_shipped_engine(), json.dumps(reported), task="handoff_summary").text == "Make me one"


# Past conversations

MISO = {"kind": "message", "date": "2026-03-14", "source": "the user said", "role": "user", "text": "My cat is Miso."}
FACT = {"kind": "fact", "date": "2026-03-15", "source": "noted", "role": None, "text": "The user likes tea."}
CHUNK = {"kind": "chunk", "date": "2026-01-02", "source": "Handbook", "role": None, "text": "Tea is at five."}
ON_THE_DAY = "On 2026-03-14 you told me: “My cat is Miso.”"


@pytest.mark.parametrize(
    "message",
    [
        "What is my cat called?",
        "What's my cat?",
        "What did I tell you about my cat?",
        "Do you remember my cat",
        "Do I have a cat?",
        "Who is Miso?",
        "What did I ask you to remember?",
        "How old is Miso?",
        "What did I say before?",
        "Summarize",
    ],
)
def test_the_model_answers_from_recalled_messages(message: str) -> None:
    assert ask(get_shipped_engine(), message, recalled__1=json.dumps(MISO)).text == ON_THE_DAY


def test_the_model_shows_all_recalled_items_with_their_dates() -> None:
    recalled = {f"recalled__{number}": json.dumps(item) for number, item in enumerate((MISO, FACT, CHUNK), start=1)}
    assert ask(get_shipped_engine(), "And what about tea?", **recalled).text.split("\n\n") == [
        ON_THE_DAY,
        "From our conversation of 2026-03-15: The user likes tea.",
        "According to Handbook (2026-01-02): “Tea is at five.”",
    ]


def of_miso(**fields: str | None) -> str:
    return json.dumps({**MISO, **fields})


def test_what_users_said_comes_before_the_answers_and_each_thing_once() -> None:
    recalled = {
        "recalled__1": of_miso(role="assistant", text="Your cat is Miso. I will remember it."),
        "recalled__2": of_miso(),
        "recalled__3": of_miso(kind="fact", role=None, text="The user said: “my cat is Miso”"),
    }
    assert ask(get_shipped_engine(), "What is my cat?", **recalled).text == ON_THE_DAY


def test_a_message_that_a_fact_has_replaced_is_not_quoted() -> None:
    recalled = {
        "recalled__1": of_miso(text="My favourite colour is green"),
        "recalled__2": of_miso(kind="fact", role=None, text="The user said: “My favourite colour is red”"),
        "recalled__3": of_miso(),
    }
    reported = ask(get_shipped_engine(), "What is my favourite colour?", **recalled).text
    assert reported == "From our conversation of 2026-03-14: The user said: “My favourite colour is red”"


def test_what_others_said_is_quoted_if_there_is_nothing_else() -> None:
    reported = ask(get_shipped_engine(), "What is my cat?", recalled__1=of_miso(role="assistant", text="A tabby.")).text
    assert reported == "On 2026-03-14 you were told: “A tabby.”"


def test_the_models_description_of_itself_is_no_memory() -> None:
    boilerplate = of_miso(role="assistant", text=ask(get_shipped_engine(), "Blue elephants?").text)
    assert (
        ask(get_shipped_engine(), "What is my name?", recalled__1=boilerplate).text
        == "You have not told me your name yet. What is it?"
    )
    assert (
        ask(get_shipped_engine(), "How old is Miso?", recalled__1=boilerplate, recalled__2=of_miso()).text == ON_THE_DAY
    )


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("What is my name?", "You have not told me your name yet. What is it?"),
        ("Where do I live?", "You have not told me where you live yet. Tell me, and I will remember it."),
    ],
)
def test_what_was_said_of_something_else_is_no_answer(message: str, answer: str) -> None:
    assert ask(get_shipped_engine(), message, recalled__1=json.dumps(MISO)).text == answer


def test_statements_of_this_conversation_come_before_the_past() -> None:
    messages = ["My cat is Rex.", "!", "What is my cat?"]
    assert ask(get_shipped_engine(), *messages, recalled__1=json.dumps(MISO)).text == "Your cat is Rex."


def test_a_statement_is_not_answered_from_the_past() -> None:
    assert "2026" not in ask(get_shipped_engine(), "My cat is fine.", recalled__1=json.dumps(MISO)).text


def test_recalled_data_that_was_cut_is_not_known() -> None:
    assert "offline demo model" in ask(get_shipped_engine(), "Blue elephants?", recalled__1='{"kind": "mess').text


COLOUR = {"type": "object", "properties": {"color": {"type": "string"}}}
PAGE = {"change_background": COLOUR, "show_on_map": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("Please make the background light blue!", Call("change_background", {"color": "light blue"})),
        ("change the background of the page to #ff8800", Call("change_background", {"color": "#ff8800"})),
        ("Show me Paris on the map", Call("show_on_map", {"place": "Paris"})),
        ("Where is the Louvre on my map?", Call("show_on_map", {"place": "the Louvre"})),
    ],
)
def test_the_model_calls_tools_that_a_page_offers(message: str, call: Call) -> None:
    assert ask(get_shipped_engine(), message, tools=PAGE).calls == (call,)
    assert ask(get_shipped_engine(), message).calls == ()


def test_the_model_reports_the_results_of_the_page() -> None:
    call = Call("change_background", {"color": "red"})
    reported = ask(
        get_shipped_engine(), "Make the background red", make_calls(call), *make_results("It is red now."), tools=PAGE
    )
    assert reported.text == "The background is changed. The page says: “It is red now.”"
    assert reported.calls == ()
