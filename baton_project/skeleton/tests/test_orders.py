"""Tests in Python: `pytest`. `baton test` runs the conversations of the YAML files beside this one."""

from baton_testing import Conversation, call


def test_the_assistant_asks_orders_about_an_order(conversation: Conversation) -> None:
    step = conversation.say(
        "Where is my order A-1001?",
        answers=[
            call("ask_orders", {"message": "What is the state of the order A-1001?"}),
            call("order_status", {"number": "A-1001"}, agent="orders"),
            "It is on its way.",
            "Your order A-1001 is on its way.",
        ],
    )

    assert step.consulted == ("orders",)
    assert [(called.tool, called.arguments) for called in step.calls if called.agent_id == "orders"] == [
        ("order_status", {"number": "A-1001"})
    ]
    assert "on its way" in step.text
