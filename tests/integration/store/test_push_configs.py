"""Every store of push notification configurations keeps its contract; the table holds no secret in clear."""

from __future__ import annotations

from dataclasses import replace

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.a2a_tasks import DynamoPushConfigs
from baton.adapters.tokens.receiver_secrets import ReceiverSecrets
from baton_testing.fakes.clock import FakeClock
from tests.contracts.push_configs import PushConfigsContract, config_of
from tests.contracts.stores import new_thread_id
from tests.fakes.push import without_secrets
from tests.integration.store.conftest import Engine

SECRETS = {"token": "very-secret-token", "scheme": "Bearer", "credentials": "very-secret-credentials"}


class TestPushConfigs(PushConfigsContract):
    pass


def configs(engine: Engine, secret: str = "a secret") -> DynamoPushConfigs:  # noqa: S107 - not one of anybody
    return DynamoPushConfigs(engine.table, FakeClock(), ReceiverSecrets(lambda: secret))


async def test_secrets_are_stored_sealed_and_open_in_their_own_place_only(on_dynamodb_local: Engine) -> None:
    engine, stores, thread_id = on_dynamodb_local, on_dynamodb_local.stores(), new_thread_id()
    config = config_of(stores, **SECRETS)
    await configs(engine).put(stores.ada, thread_id, config)
    key = keys.push_config(stores.ada, thread_id, config.root, config.id)
    item = await engine.table.get(key)
    assert item is not None
    assert "very-secret" not in repr(item)
    assert await configs(engine).get(stores.ada, thread_id, config.root, config.id) == config

    for change in ({"url": "https://elsewhere.example/"}, {"sealed": item["sealed"][:-4] + "AAA="}):
        await engine.table.put({**item, **change})
        assert await configs(engine).get(stores.ada, thread_id, config.root, config.id) is None
    other = keys.push_config(stores.ada, thread_id, config.root, "c-2")
    await engine.table.put({**item, **other, "config_id": "c-2"})
    assert await configs(engine).get(stores.ada, thread_id, config.root, "c-2") is None


async def test_secrets_of_another_key_are_lost_with_their_configuration(on_dynamodb_local: Engine) -> None:
    stores, thread_id = on_dynamodb_local.stores(), new_thread_id()
    config = config_of(stores, **SECRETS)
    await configs(on_dynamodb_local).put(stores.ada, thread_id, config)
    later = configs(on_dynamodb_local, "another secret")
    assert await later.get(stores.ada, thread_id, config.root, config.id) is None
    assert list(await later.of_thread(stores.ada, thread_id)) == [without_secrets(config)]
    bare = replace(without_secrets(config), id="c-2")
    await later.put(stores.ada, thread_id, bare)
    assert await configs(on_dynamodb_local).get(stores.ada, thread_id, bare.root, bare.id) == bare


async def test_an_item_of_an_earlier_version_is_still_used(on_dynamodb_local: Engine) -> None:
    engine, stores, thread_id = on_dynamodb_local, on_dynamodb_local.stores(), new_thread_id()
    config = config_of(stores, **SECRETS)
    await configs(engine).put(stores.ada, thread_id, without_secrets(config))
    item = await engine.table.get(keys.push_config(stores.ada, thread_id, config.root, config.id))
    assert item is not None
    await engine.table.put({**item, "token": config.token, "credentials": config.credentials})
    assert await configs(engine).get(stores.ada, thread_id, config.root, config.id) == config
    assert list(await configs(engine).of_task(stores.ada, thread_id, config.root)) == [without_secrets(config)]
