"""Clients of models that the settings have replaced are closed, but not while an answer needs them."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from baton.adapters.aws.secrets import SecretsManager
from baton.composition.models import provider_models
from baton.composition.models.current_models import CurrentModels
from baton.domain.agents.model_providers import Provider
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import ModelSettings, Prompt
from baton.ports.documents.files import ThreadFiles
from baton.settings.document import SettingsDocument
from tests.fakes.chat_model import Answer, ScriptedChatModel

HELLO = [Prompt(Role.USER, "Hello")]
NO_FILES = cast("ThreadFiles", None)


class Clients(ScriptedChatModel):
    """The clients of one state of the settings."""

    def __init__(self, settings: Any) -> None:
        super().__init__()
        self.providers = set(settings.providers)
        self.is_closed = False

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.fixture
def clients_made(monkeypatch: pytest.MonkeyPatch) -> list[Clients]:
    """All clients so far."""
    clients: list[Clients] = []

    def make(settings: Any, secrets: SecretsManager) -> Clients:
        clients.append(Clients(settings))
        return clients[-1]

    monkeypatch.setattr(provider_models, "make_deployed_models", make)
    monkeypatch.setenv("BATON_CHAT_MODEL", "gpt")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    return clients


def document(*providers: str) -> SettingsDocument:
    chosen = {name: Provider.model_validate({"baseUrl": f"http://{name}.test/v1"}) for name in providers}
    return SettingsDocument().model_copy(update={"model_providers": chosen})


async def ask(current: CurrentModels) -> None:
    async for _ in current.stream(ModelSettings(model="gpt"), HELLO, thread_files=NO_FILES):
        pass


async def test_replaced_clients_are_closed_when_their_last_answer_is_over(clients_made: list[Clients]) -> None:
    now = document()
    current = CurrentModels(lambda: now, SecretsManager())
    _ = current.settings
    [first] = clients_made
    goes_on = asyncio.Event()
    first.script(Answer(("Hello",), gate=goes_on))
    answering = asyncio.ensure_future(ask(current))
    while not first.requests:  # noqa: ASYNC110 - the fake has no event for it
        await asyncio.sleep(0)

    for number in range(6):
        now = document(f"p{number}")
        await ask(current)
        await asyncio.sleep(0)
    assert [clients.is_closed for clients in clients_made] == [False, *[True] * 5, False]
    goes_on.set()
    await answering
    await asyncio.sleep(0)
    assert [clients.is_closed for clients in clients_made] == [*[True] * 6, False]


async def test_clients_that_were_never_asked_are_not_kept(clients_made: list[Clients]) -> None:
    now = document()
    current = CurrentModels(lambda: now, SecretsManager())
    for number in range(3):
        now = document(f"p{number}")
        assert f"p{number}" in current.settings.providers
    await current.aclose()
    assert [clients.is_closed for clients in clients_made] == [False, False, True]
