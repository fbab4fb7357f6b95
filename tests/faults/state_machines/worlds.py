"""Worlds for the machine of memories: a table, a versioned bucket and an embedded index, with separate tenants."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from boto3.dynamodb.types import Binary

from baton.adapters.dynamodb.bodies import pack, unpack
from baton.domain.errors import StoreUnavailable
from baton_testing.fakes.agents.shipped_agents import FakeShippedAgents
from tests.embedded_index import list_stored_files
from tests.harness.harness import ASSISTANT
from tests.integration.privacy.conftest import World


@dataclass
class MemoryWorld(World):
    """A separate tenant, whose agent remembers earlier conversations."""

    recall_seconds: ClassVar[float] = 0.05
    search_bucket: str = ""
    """The bucket of the embedded index."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ada, self.bob = self.stores.ada, self.stores.bob
        self.name = self.ada.tenant_id[-8:]
        self.ports = self.ports.with_ports(
            shipped_agents=FakeShippedAgents(ASSISTANT), recall_deadline=timedelta(seconds=self.recall_seconds)
        )

    def items(self) -> list[dict[str, Any]]:
        """Everything of the tenant in the table."""
        return [item for item in super().items() if item["PK"].startswith(self.ada.tenant_id) or self._is_owned(item)]

    def index_text(self) -> str:
        """Return what stands in the files of the index, byte by byte."""
        return " ".join(body.decode("latin-1") for body in list_stored_files(self.s3, self.search_bucket).values())

    def _is_owned(self, item: dict[str, Any]) -> bool:
        return self.ada.tenant_id in item.values()


def item_text(item: dict[str, Any]) -> str:
    """Return everything in an item of the table; packed values are unpacked."""
    return " ".join(map(_text, item.values()))


def _text(value: Any) -> str:
    if isinstance(value, bytes | Binary) and bytes(value)[:1] == pack({})[:1]:
        with suppress(StoreUnavailable):  # a digest may begin with the same byte
            return str(unpack(bytes(value)))
    return str(value)
