"""The forms of the table's partitions and keys. ``keys`` and ``agent_keys`` list the partitions and keys in use."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from baton.domain.tenants.identity import Scope

Key = dict[str, str]


@dataclass(frozen=True, slots=True)
class TenantPartition:
    """One partition for each tenant."""

    name: str

    def __call__(self, scope: Scope) -> str:
        return f"{scope.tenant_id}#~{self.name}"


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition for each id of a tenant, such as an agent's."""

    name: str

    def __call__(self, scope: Scope, of: str) -> str:
        return f"{scope.tenant_id}#~{self.name}#{of}"


@dataclass(frozen=True, slots=True)
class Shards:
    """Several partitions for one list of all tenants."""

    name: str
    count: int

    def __call__(self) -> list[str]:
        """Return all partitions of the list."""
        return [f"~{self.name}#{number}" for number in range(self.count)]

    def of(self, member: str) -> str:
        """Return the partition for a member's id."""
        return self()[_compute_shard(member, self.count)]


@dataclass(frozen=True, slots=True)
class TenantShards:
    """Several partitions for one list of each tenant."""

    name: str
    count: int = 8

    def __call__(self, scope: Scope) -> list[str]:
        """Return all partitions of the list."""
        return [f"{scope.tenant_id}#~{self.name}#{number}" for number in range(self.count)]

    def of(self, scope: Scope, member: str) -> str:
        """Return the partition for a member's id."""
        return self(scope)[_compute_shard(member, self.count)]


@dataclass(frozen=True, slots=True)
class ListedKey:
    """Keys by an id, in a partition of the caller's tenant or user."""

    partition: Callable[[Scope], str]
    prefix: str

    def __call__(self, scope: Scope, member: str) -> Key:
        return {"PK": self.partition(scope), "SK": f"{self.prefix}{member}"}


@dataclass(frozen=True, slots=True)
class MemberKey:
    """Keys by an id, in a partition ``of`` a thread or an agent."""

    partition: Callable[[Scope, str], str]
    prefix: str

    def __call__(self, scope: Scope, of: str, member: str) -> Key:
        return {"PK": self.partition(scope, of), "SK": f"{self.prefix}{member}"}

    def read_ids(self, key: Key) -> tuple[str, str, str]:
        """Return the ids of the tenant, agent and member in the key of an agent's record."""
        tenant_id, _, agent_id = key["PK"].split("#")
        return tenant_id, agent_id, key["SK"].removeprefix(self.prefix)


LAST_NUMBER = 10**12 - 1
"""The largest number of 12 digits. No message, event or record has this number."""


@dataclass(frozen=True, slots=True)
class NumberedKey:
    """Keys in the order of a number, in a partition ``of`` a thread."""

    partition: Callable[[Scope, str], str]
    prefix: str
    digits: int = 12

    def __call__(self, scope: Scope, of: str, number: int) -> Key:
        return {"PK": self.partition(scope, of), "SK": self.make_sort_key(number)}

    def make_sort_key(self, number: int) -> str:
        """Return the sort key."""
        return f"{self.prefix}{number:0{self.digits}d}"

    def read_number(self, key: Mapping[str, Any]) -> int:
        """Return the number in a key."""
        return int(key["SK"].removeprefix(self.prefix))


@dataclass(frozen=True, slots=True)
class UnderNumber:
    """Keys by an id under a number, such as those of a run's calls under its first ordinal."""

    partition: Callable[[Scope, str], str]
    prefix: str

    def __call__(self, scope: Scope, of: str, number: int, member: str) -> Key:
        return {"PK": self.partition(scope, of), "SK": f"{self.make_sort_key(number)}#{member}"}

    def make_sort_key(self, number: int) -> str:
        """Return the prefix of all keys under ``number``, which sorts before them."""
        return f"{self.prefix}{number:012d}"


def _compute_shard(name: str, shards: int) -> int:
    """Return the shard of a name, which never changes. It depends on the whole name: ids may begin with the time."""
    return zlib.crc32(name.encode()) % shards
