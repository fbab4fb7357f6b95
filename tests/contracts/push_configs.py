"""The contract of every store of push notification configurations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from baton.domain.errors import InvalidRequest, ThreadUnavailable
from baton.domain.threads.push_config import LIFETIME, MAX_CONFIGS, MAX_OF_THREAD, Line, PushConfig
from baton.ports.threads.leases import LeaseRequest
from tests.contracts.stores import Stores, new_thread_id

URL = "https://client.example/hook"


def config_of(stores: Stores, root: str = "m-1", config_id: str = "c-1", **fields: Any) -> PushConfig:
    options = {"root": root, "id": config_id, "user_id": "ada", "url": URL, "line": Line.CURRENT} | fields
    return PushConfig(set_at=stores.clock.now(), **options)


class PushConfigsContract:
    """Configurations are kept by thread, task and id, and threads know that they have some."""

    @pytest.mark.parametrize(
        ("root", "config_id"), [("m-1", "c-1"), ("PUSH#1", "a#b"), ("日本語", "PUSH#"), ("a", "a")]
    )
    async def test_a_configuration_is_read_as_it_was_written(self, stores: Stores, root: str, config_id: str) -> None:
        thread_id = new_thread_id()
        bare = config_of(stores, root, config_id)
        whole = config_of(
            stores, root, f"{config_id}+", line=Line.OLDER, token="t", scheme="Bearer", credentials="secret"
        )
        for config in (bare, whole):
            await stores.push_configs.put(stores.ada, thread_id, config)
            assert await stores.push_configs.get(stores.ada, thread_id, root, config.id) == config
        listed = await stores.push_configs.of_task(stores.ada, thread_id, root)
        assert list(listed) == [bare, replace(whole, token=None, credentials=None)]
        assert sorted(item.id for item in await stores.push_configs.of_thread(stores.ada, thread_id)) == sorted(
            [bare.id, whole.id]
        )

    async def test_the_same_id_replaces_and_a_removed_one_is_gone(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await stores.push_configs.put(stores.ada, thread_id, config_of(stores, token="t"))
        later = config_of(stores, url=f"{URL}/2")
        await stores.push_configs.put(stores.ada, thread_id, later)
        assert list(await stores.push_configs.of_task(stores.ada, thread_id, "m-1")) == [later]
        for _ in range(2):
            await stores.push_configs.delete(stores.ada, thread_id, "m-1", "c-1")
        assert await stores.push_configs.get(stores.ada, thread_id, "m-1", "c-1") is None
        assert list(await stores.push_configs.of_thread(stores.ada, thread_id)) == []

    async def test_a_task_has_a_limited_number(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for number in range(MAX_CONFIGS):
            await stores.push_configs.put(stores.ada, thread_id, config_of(stores, config_id=str(number)))
        with pytest.raises(InvalidRequest):
            await stores.push_configs.put(stores.ada, thread_id, config_of(stores, config_id="more"))
        await stores.push_configs.put(stores.ada, thread_id, config_of(stores, config_id="0"))
        await stores.push_configs.put(stores.ada, thread_id, config_of(stores, "m-2"))
        assert len(await stores.push_configs.of_task(stores.ada, thread_id, "m-1")) == MAX_CONFIGS

    async def test_the_oldest_of_a_thread_make_room_for_those_of_new_tasks(self, stores: Stores) -> None:
        """Clients that send one with every message go on."""
        thread_id = new_thread_id()
        for number in range(MAX_OF_THREAD + 2):
            await stores.push_configs.put(stores.ada, thread_id, config_of(stores, f"m-{number}"))
            stores.clock.advance(1)
        stored = {config.root for config in await stores.push_configs.of_thread(stores.ada, thread_id)}
        assert stored == {f"m-{number}" for number in range(2, MAX_OF_THREAD + 2)}

    async def test_others_have_no_such_configuration(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await stores.push_configs.put(stores.ada, thread_id, config_of(stores))
        for scope in (stores.bob, stores.stranger, stores.auditor):
            assert await stores.push_configs.get(scope, thread_id, "m-1", "c-1") is None
            assert list(await stores.push_configs.of_thread(scope, thread_id)) == []
        assert await stores.push_configs.get(stores.ada, new_thread_id(), "m-1", "c-1") is None
        assert list(await stores.push_configs.of_task(stores.ada, thread_id, "m-2")) == []

    async def test_an_old_one_is_not_used(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await stores.push_configs.put(stores.ada, thread_id, config_of(stores))
        stores.clock.advance(LIFETIME.total_seconds() + 1)
        assert await stores.push_configs.get(stores.ada, thread_id, "m-1", "c-1") is None
        assert list(await stores.push_configs.of_thread(stores.ada, thread_id)) == []

    async def test_a_thread_remembers_that_clients_want_to_be_notified(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        with pytest.raises(ThreadUnavailable) as refused:
            await stores.store.want_notifications(stores.ada, thread_id)
        assert refused.value.is_unused
        await stores.turn(thread_id)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert (thread.notifies, thread.has_tasks) == (False, False)
        expected = await stores.store.want_notifications(stores.ada, thread_id)
        assert expected == await stores.store.get_thread(stores.ada, thread_id)
        assert expected.notifies
        with pytest.raises(ThreadUnavailable) as refused:
            await stores.store.want_notifications(stores.bob, thread_id)
        assert not refused.value.is_unused

    async def test_a_run_in_progress_learns_of_it_when_it_commits(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        lease = await stores.acquire(thread_id)
        assert not lease.thread.notifies
        await stores.store.want_notifications(stores.ada, thread_id)
        assert await stores.store.close(lease, last_seq=lease.first_seq, ended=None)
        assert (await stores.lease(thread_id)).thread.notifies

    async def test_a_run_of_a_task_marks_its_thread(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        request = LeaseRequest(
            thread_id, "r1", "m1", may_create=True, agent_id="assistant", begins_task=True, notifies=True
        )
        lease = await stores.store.acquire(stores.ada, request)
        assert (lease.thread.has_tasks, lease.thread.notifies) == (True, True)
        await stores.store.release(lease)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert (thread.has_tasks, thread.notifies) == (True, True)
