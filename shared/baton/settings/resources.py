"""Settings of what a deployment consists of: its table, bucket, queue, search engine and so on."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from baton.settings.base import Name, Settings, Url

SearchUrl = Annotated[str, Field(pattern=r"^(https?://.+|sqlite:///.+)?$")]


class StoreSettings(Settings):
    """The table and the bucket."""

    table: Name = Field(validation_alias="BATON_TABLE")
    bucket: Name = Field(validation_alias="BATON_BUCKET")


class SearchSettings(Settings):
    """The search engine."""

    url: SearchUrl = Field(default="", validation_alias="BATON_SEARCH_URL")
    """An OpenSearch (``https://...``) or a folder of the embedded index (``sqlite:///path``). Empty: search is off."""
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*$", max_length=128)] = Field(
        default="baton", validation_alias="BATON_SEARCH_PREFIX"
    )
    """The beginning of the names of indices in OpenSearch, so that several deployments can share one."""
    shards: int = Field(default=1, ge=1, le=64, validation_alias="BATON_SEARCH_SHARDS")
    """Shards of a new index. A tenant's documents are in one of them."""
    replicas: int = Field(default=0, ge=0, le=4, validation_alias="BATON_SEARCH_REPLICAS")
    """Copies of each shard of a new index, each on another node."""


class QueueSettings(Settings):
    """The queue of turns."""

    turns_queue_url: Url = Field(validation_alias="BATON_TURNS_QUEUE_URL")


class SocketSettings(Settings):
    """The endpoint for posts to WebSocket connections."""

    connections_url: Url = Field(validation_alias="BATON_CONNECTIONS_URL")


class AnnouncementSettings(Settings):
    """Where events for other systems go."""

    event_bus: Name = Field(default="default", validation_alias="BATON_EVENT_BUS")
    """The name or ARN of an EventBridge bus."""


class MetricSettings(Settings):
    """The dimensions of metrics."""

    stack: Name = Field(default="baton", validation_alias="BATON_STACK")
