"""Conversations with the demo model."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.demo_model.conversation import Conversation
from local.demo_model.reply import Call, Reply
from local.demo_model.rules import answer
from local.demo_model.wire import CalledFunction, CalledTool, ChatMessage, OfferedFunction

Content = str | list[dict[str, Any]]


def last_answer(*user: Content) -> str:
    """What it says to the last of the user's messages, after it has answered those before."""
    messages: list[ChatMessage] = [ChatMessage(role="system", content="You are an assistant.")]
    for content in user:
        messages.append(ChatMessage(role="user", content=content))
        messages.append(ChatMessage(role="assistant", content=answer(Conversation.of(messages)).text))
    return str(messages[-1].content)


def test_it_greets() -> None:
    assert last_answer("Hello!").startswith("Hello!")


def test_it_greets_by_name_whoever_introduced_themselves() -> None:
    assert last_answer("Hi, I'm Ada.").startswith("Hello, Ada!")
    assert last_answer("My name is Ada", "good morning").startswith("Hello, Ada!")


@pytest.mark.parametrize("question", ["Who are you?", "what is your name?", "Are you ChatGPT?", "Which model are you?"])
def test_it_says_that_it_is_a_rule_based_stand_in(question: str) -> None:
    assert "offline demo model" in last_answer(question)
    assert "rule-based stand-in" in last_answer(question)


@pytest.mark.parametrize(
    ("told", "asked", "known"),
    [
        ("My name is Grace Hopper.", "What is my name?", "Grace Hopper"),
        ("call me Bob please", "who am i", "Bob"),
        ("I am called Lin, and I live in Graz", "what's my name", "Lin"),
        ("my favorite color is dark green", "What is my favourite colour?", "dark green"),
        ("My dog's name is Rex.", "What is my dog's name?", "Rex"),
        ("my dog is called Rex and my cat is Tom", "what is my cat?", "Tom"),
        ("My order number is 4711.", "what's my order number?", "4711"),
        ("I live in Vienna and I love sailing", "Where do I live?", "Vienna"),
        ("I live in Vienna and I love sailing", "What do I like?", "sailing"),
        ("Remember that the meeting is on Thursday.", "What did I ask you to remember?", "the meeting is on Thursday"),
        ("My name is Ada. I live in Graz.", "What do you know about me?", "Ada"),
        ("my name is Ada", "tell me about the weather in Graz, ok?", ""),
        ("my hobbies are chess and go", "What are my hobbies?", "Your hobbies are chess and go."),
        ("I am Bob from Berlin", "Where am I from?", "You are from Berlin."),
        ("I'm 36 years old", "How old am I?", "You are 36."),
        ("remember to buy milk", "What should you remember?", "- to buy milk"),
    ],
)
def test_it_remembers_what_it_was_told(told: str, asked: str, known: str) -> None:
    assert known in last_answer(told, "Let us talk about trees.", asked)


def test_what_was_told_last_counts() -> None:
    assert "Eve" in last_answer("my name is Ada", "no, my name is Eve", "what is my name?")


def test_it_does_not_invent_what_it_was_not_told() -> None:
    assert "not told me" in last_answer("What is my name?")
    assert "not told me" in last_answer("My name is Ada", "What is my shoe size?")


def test_it_quotes_what_was_said_before() -> None:
    said = ("The first thing", "The second thing")
    assert "“The second thing”" in last_answer(*said, "What did I say before?")
    assert "“The first thing”" in last_answer(*said, "What was my first message?")
    assert "first thing you have said" in last_answer("What did I say before?")


def test_it_summarizes() -> None:
    summary = last_answer("My name is Ada.", "Trees are tall.", "Please summarize our conversation")
    assert "2 messages" in summary
    assert "“Trees are tall.”" in summary
    assert "Your name is Ada." in summary


@pytest.mark.parametrize(
    ("question", "result"),
    [
        ("what is 12 * (3 + 4)?", "84"),
        ("17 plus 4", "21"),
        ("What's 15% of 80?", "12"),
        ("how much is 10 divided by 4?", "2.5"),
        ("2^10 = ?", "1024"),
        ("7 × 6", "42"),  # noqa: RUF001
        ("1,000 + 1", "1001"),
        ("please calculate -3 - 4", "-7"),
    ],
)
def test_it_calculates(question: str, result: str) -> None:
    assert last_answer(question).endswith(f"= {result}")


@pytest.mark.parametrize("question", ["1/0", "9**9**9", "(1)**0.5**-3000", "2**300*2**300*2**300*2**300"])
def test_sums_without_a_result_are_answered_too(question: str) -> None:
    assert "=" not in last_answer(question)


@pytest.mark.parametrize("text", ["I have 3 apples - 2 pears", "2024-01-05", "call 112", "version 3.11"])
def test_numbers_are_not_taken_for_sums(text: str) -> None:
    assert f"“{text}”" in last_answer(text)


@pytest.mark.parametrize("count", [1, 7, 500])
def test_it_writes_as_many_words_as_wished(count: int) -> None:
    assert len(last_answer(f"Write {count} words about lighthouses").split()) == count


def test_it_tells_stories() -> None:
    story = last_answer("Tell me a story about whales, please")
    assert "whales" in story
    assert len(story.split()) > 150


@pytest.mark.parametrize(
    ("wish", "topic"),
    [
        ("Tell me a story about the three bears, please", "the three bears"),
        ("write a poem about my cat", "your cat"),
        ("Write an essay", "a lighthouse"),
        ("write 50 words about the tides", "the tides"),
    ],
)
def test_what_it_writes_about_stands_well_in_a_sentence(wish: str, topic: str) -> None:
    assert f" about {topic}" in last_answer(wish)


@pytest.mark.parametrize(
    ("said", "then"),
    [
        ("Hello, my name is Zoe", "Hello, Zoe! Nice to meet you."),
        ("remember that the meeting is at noon", "I will remember for this conversation: the meeting is at noon."),
        ("My name is Ada.", "Your name is Ada. I will remember it for this conversation."),
    ],
)
def test_it_says_nothing_twice(said: str, then: str) -> None:
    assert last_answer(said) == then


def test_quotations_in_quotations_have_single_marks() -> None:
    assert last_answer("one", "What did I say before?", "What did you say?") == (
        "I said: “Just before this you said: ‘one’”"  # noqa: RUF001
    )


def test_it_describes_attachments() -> None:
    png = base64.b64encode(b"x" * 2048).decode()
    described = last_answer(
        [
            {
                "type": "text",
                "text": 'Look:\n\n<document name="a.csv" type="text/csv" bytes="9">\nx;y\n1;2\n</document>',
            },
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/cat.jpg"}},
            {"type": "file", "file": {"filename": "r.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
        ]
    )
    assert "4 attachments" in described
    assert "document **a.csv** (text/csv, 9 bytes), which begins with: “x;y”" in described
    assert "image **PNG image** (image/png, 2.0 KB)" in described
    assert "image **https://example.com/cat.jpg**" in described
    assert "document **r.pdf** (application/pdf, 4 bytes)" in described


def test_it_knows_an_earlier_attachment() -> None:
    file = [{"type": "file", "file": {"filename": "r.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}}]
    assert "r.pdf" in last_answer(file, "thanks", "What was the file I sent?")


FAREWELLS = [
    "bye",
    "Goodbye!",
    "ok, bye-bye",
    "Thanks, bye then",
    "Goodbye, and thanks for all the fish",
    "See you tomorrow!",
    "good night",
    "That's all, thanks",
    "no, that’s all, thank you very much.",  # noqa: RUF001
    "That is it for today. Bye!",
    "end the conversation",
    "Can you please end this chat now?",
    "I want to end the conversation",
]


def said_goodbye(*messages: ChatMessage, tool: str = "end_conversation") -> Reply:
    return answer(Conversation.of(messages, {tool: OfferedFunction(name=tool)}))


@pytest.mark.parametrize("farewell", FAREWELLS)
def test_it_ends_the_conversation_when_the_user_says_goodbye_and_it_may(farewell: str) -> None:
    reply = said_goodbye(ChatMessage(role="user", content=farewell))
    assert reply.text.startswith("Goodbye")
    assert reply.calls == (Call("end_conversation", {"reason": "The user said goodbye."}),)


@pytest.mark.parametrize("farewell", FAREWELLS)
def test_without_the_tool_it_just_says_goodbye(farewell: str) -> None:
    reply = said_goodbye(ChatMessage(role="user", content=farewell), tool="another_tool")
    assert reply.text.startswith("Goodbye")
    assert reply.calls == ()


@pytest.mark.parametrize(
    "text",
    [
        "What does goodbye mean?",
        "Say goodbye",
        "goodbye is a nice word",
        "That's all I know about bees, what about wasps?",
        "See you can do it",
        "do not end the conversation",
        "How do I end the conversation?",
        "thanks",
    ],
)
def test_talk_about_goodbyes_ends_nothing(text: str) -> None:
    assert said_goodbye(ChatMessage(role="user", content=text)).calls == ()


@pytest.mark.parametrize(("farewell", "then"), [("Goodbye, Ada!", ""), (None, "Goodbye!")])
def test_after_the_tools_result_it_says_goodbye_once(farewell: str | None, then: str) -> None:
    called = CalledTool(id="c1", type="function", function=CalledFunction(name="end_conversation", arguments="{}"))
    reply = said_goodbye(
        ChatMessage(role="user", content="Hello"),
        ChatMessage(role="assistant", content="Hello!"),
        ChatMessage(role="user", content="bye"),
        ChatMessage(role="assistant", content=farewell, tool_calls=[called]),
        ChatMessage(role="tool", content="The conversation ends.", tool_call_id="c1"),
    )
    assert reply == Reply(then)


def test_a_conversation_that_was_ended_and_goes_on_can_be_ended_again() -> None:
    called = CalledTool(id="c1", type="function", function=CalledFunction(name="end_conversation", arguments="{}"))
    ended = (
        ChatMessage(role="user", content="bye"),
        ChatMessage(role="assistant", tool_calls=[called]),
        ChatMessage(role="tool", content="The conversation ends.", tool_call_id="c1"),
    )
    assert "bye" in said_goodbye(*ended, ChatMessage(role="user", content="What did I say before?")).text
    assert said_goodbye(*ended, ChatMessage(role="user", content="Goodbye")).calls


def test_it_quotes_the_topic_and_says_how_to_get_a_real_model_when_no_rule_fits() -> None:
    said = last_answer("How do bees find their way home?")
    assert "“How do bees find their way home?”" in said
    assert "OPENAI_BASE_URL" in said


@given(st.lists(st.text(max_size=80), min_size=1, max_size=4))
def test_it_answers_whatever_it_is_told(texts: list[str]) -> None:
    assert last_answer(*texts).strip()
