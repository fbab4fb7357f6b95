"""Push notifications in memory: configurations, their queue, receivers, and a key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from baton.adapters.tokens.signing_keys import DerivedSigningKey
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import Scope
from baton.domain.threads.push_config import LIFETIME, MAX_CONFIGS, PushConfig, find_displaced
from baton.domain.times import from_millis, to_millis
from baton.ports.agents.a2a import WebhookRefused, WebhookUnreachable
from baton.ports.clock import Clock, SystemClock


def without_secrets(config: PushConfig) -> PushConfig:
    """Return a configuration as it is listed."""
    return replace(config, token=None, credentials=None)


class FakePushConfigs:
    """``ports.agents.a2a.PushConfigs``."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self.configs: dict[tuple[str, str, str, str], PushConfig] = {}

    async def put(self, scope: Scope, thread_id: str, config: PushConfig) -> None:
        key = (scope.tenant_id, thread_id, config.root, config.id)
        others = [config for entry, config in self.configs.items() if entry[:2] == key[:2] and entry != key]
        if sum(push_config.root == config.root for push_config in others) >= MAX_CONFIGS:
            raise InvalidRequest(f"A task has at most {MAX_CONFIGS} push notification configurations.")
        for oldest in find_displaced(config, others):
            await self.delete(scope, thread_id, oldest.root, oldest.id)
        self.configs[key] = config

    async def get(self, scope: Scope, thread_id: str, root: str, config_id: str) -> PushConfig | None:
        result = self.configs.get((scope.tenant_id, thread_id, root, config_id))
        return result if result is not None and self._is_shown(scope, result) else None

    async def of_task(self, scope: Scope, thread_id: str, root: str) -> Sequence[PushConfig]:
        configs = [config for config in await self.of_thread(scope, thread_id) if config.root == root]
        return sorted(configs, key=lambda config: config.id)

    async def of_thread(self, scope: Scope, thread_id: str) -> Sequence[PushConfig]:
        owner = (scope.tenant_id, thread_id)
        stored = [config for key, config in self.configs.items() if key[:2] == owner and self._is_shown(scope, config)]
        return [without_secrets(config) for config in stored]

    async def delete(self, scope: Scope, thread_id: str, root: str, config_id: str) -> None:
        self.configs.pop((scope.tenant_id, thread_id, root, config_id), None)

    def _is_shown(self, scope: Scope, config: PushConfig) -> bool:
        is_kept = from_millis(to_millis(config.set_at)) + LIFETIME > self._clock.now()
        return is_kept and config.user_id == scope.user_id


@dataclass(frozen=True)
class Posted:
    """A request to a receiver."""

    url: str
    body: bytes
    headers: Mapping[str, str]


@dataclass
class FakeWebhooks:
    """``ports.agents.a2a.Webhooks``: receivers that answer as a test asks."""

    is_on: bool = True
    refused: set[str] = field(default_factory=set)
    """Hosts that the deployment does not call."""
    answers: list[int | type[WebhookRefused | WebhookUnreachable]] = field(default_factory=list)
    """The answers to the next requests; 200 when there are no more."""
    posted: list[Posted] = field(default_factory=list)

    def find_refusal(self, url: str) -> str | None:
        is_refused = not url.startswith("https://") or any(host in url for host in self.refused)
        return "url: not here." if is_refused else None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        await asyncio.sleep(0)
        self.posted.append(Posted(url, body, headers))
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, int):
            return answer
        raise answer("told to")


class _KnownSecret:
    def get(self, name: str) -> str:
        return "a secret of more than thirty-two characters"

    renew: Callable[[Any, str], str] = get


def known_key() -> DerivedSigningKey:
    """A real key from a known secret."""
    return DerivedSigningKey(_KnownSecret(), "test/key")  # type: ignore[arg-type]
