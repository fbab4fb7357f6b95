"""The texts of models that play users and judge conversations, or are recorded."""

from __future__ import annotations

from baton.ports.agents.chat_model import ModelSettings
from baton.ports.documents.files import NoFiles
from baton_testing.conversation_test import ConversationTest
from baton_testing.fakes.documents.files import FakeFiles
from baton_testing.models.recorded import RecordingModel
from baton_testing.played_user import DONE, PlayedUser
from tests.fakes.chat_model import Answer, ScriptedChatModel, TextTakenBack


async def test_thinking_that_an_endpoint_took_back_is_no_message_of_the_user() -> None:
    model = ScriptedChatModel()
    model.script(Answer((f"They want me to say {DONE} later.", TextTakenBack(), "My order is late.")))
    test = ConversationTest(name="late", persona="Impatient.", goal="A refund.", judge="It is polite.")
    assert await PlayedUser(model, "m", FakeFiles(), test).write_message([]) == "My order is late."


async def test_thinking_that_an_endpoint_took_back_is_not_recorded() -> None:
    model = ScriptedChatModel()
    model.script(Answer(("Let me think.", TextTakenBack(), "It is late.")))
    recording = RecordingModel(model)
    async for _ in recording.stream(ModelSettings("m"), (), thread_files=NoFiles()):
        pass
    assert recording.recordings[0].answer.text == "It is late."
