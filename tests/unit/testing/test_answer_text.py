"""The texts of models that play users and judge conversations."""

from __future__ import annotations

from baton_testing.conversation_test import ConversationTest
from baton_testing.fakes.documents.files import FakeFiles
from baton_testing.played_user import DONE, PlayedUser
from tests.fakes.chat_model import Answer, ScriptedChatModel, TextTakenBack


async def test_thinking_that_an_endpoint_took_back_is_no_message_of_the_user() -> None:
    model = ScriptedChatModel()
    model.script(Answer((f"They want me to say {DONE} later.", TextTakenBack(), "My order is late.")))
    test = ConversationTest(name="late", persona="Impatient.", goal="A refund.", judge="It is polite.")
    assert await PlayedUser(model, "m", FakeFiles(), test).write_message([]) == "My order is late."
