"""The owners of files, and the keys of their files in the bucket: ``<tenant>/<index>/<owner>.sqlite``."""

from __future__ import annotations

import re
from hashlib import sha256

from baton.domain.documents.search import IndexName
from baton.domain.tenants.identity import Scope

SUFFIX = ".sqlite"
_SAFE_ID = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_NO_AGENT = "~"
"""The owner's part of the key for documents that belong to the tenant and not to an agent."""


def make_owner_key(scope: Scope, index: IndexName, agent_id: str | None = None) -> str:
    """Return the key of the file with the user's episodes, or with an agent's documents in another index.

    Ids of users, and ids of agents with characters that have a meaning in keys, are hashed.
    """
    if index is IndexName.EPISODES:
        owner = sha256(scope.user_id.encode()).hexdigest()
    elif agent_id is None:
        owner = _NO_AGENT
    else:
        owner = agent_id if _SAFE_ID.fullmatch(agent_id) else f"~{sha256(agent_id.encode()).hexdigest()}"
    return f"{make_index_prefix(scope.tenant_id, index)}{owner}{SUFFIX}"


def make_index_prefix(tenant_id: str, index: IndexName) -> str:
    """Return the common beginning of the keys of a tenant's files in an index."""
    return f"{make_tenant_prefix(tenant_id)}{index.value}/"


def make_tenant_prefix(tenant_id: str) -> str:
    """Return the common beginning of the keys of all objects of a tenant."""
    return f"{tenant_id}/"


def is_of_index(key: str, index: IndexName) -> bool:
    """Return whether a key of the bucket names a file of the index."""
    _, _, rest = key.partition("/")
    return rest.startswith(f"{index.value}/") and key.endswith(SUFFIX)
