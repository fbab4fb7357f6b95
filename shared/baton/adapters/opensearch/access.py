"""Permissions of the functions' roles inside a domain with fine-grained access control."""

from __future__ import annotations

from collections.abc import Sequence

from baton.adapters.opensearch.definitions import Layout
from baton.adapters.opensearch.engine import Engine

ALLOWED = [
    "indices:admin/get",
    "indices:admin/mapping/put",
    "indices:admin/mappings/get",
    "indices:admin/refresh*",
    "indices:data/read/*",
    "indices:data/write/*",
]


async def grant(engine: Engine, layout: Layout, roles: Sequence[str]) -> None:
    """Let the IAM ``roles`` (ARNs), and no others, read and write the indices. A repetition changes nothing."""
    body = {
        "description": "Functions of Baton that search and index",
        "cluster_permissions": ["cluster_composite_ops"],
        "index_permissions": [{"index_patterns": [f"{layout.prefix}-*"], "allowed_actions": ALLOWED}],
    }
    await engine.request("PUT", f"/_plugins/_security/api/roles/{layout.prefix}", body)
    await engine.request("PUT", f"/_plugins/_security/api/rolesmapping/{layout.prefix}", {"backend_roles": list(roles)})
