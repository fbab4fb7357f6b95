"""The table's keys of what agents have: definitions, procedures, documents and their sources."""

from __future__ import annotations

import hashlib

from baton.adapters.dynamodb.keys import Key, shard, user_listing
from baton.domain.tenants.identity import Scope

APPROVED = "APPROVED#"
PRIVATE_SKILL = "SKILL#"
DOCUMENT = "DOC#"
SOURCE = "SOURCE#"
SOURCE_PAGE = "PAGE#"
EVALUATION = "EVAL#"
INGESTION_SHARDS = 2
"""Partitions of the idle index with documents. It is written a few times a document."""
SOURCE_SHARDS = 2
"""Partitions of the idle index with sources. It is written a few times a refresh."""


def own_agents(scope: Scope) -> str:
    """Return the partition of a tenant's own agents."""
    return f"{scope.tenant_id}#~AGENTS"


def agent_list(scope: Scope) -> Key:
    """Return the key of the list of a tenant's own agents."""
    return {"PK": own_agents(scope), "SK": "LIST"}


def agent_version(scope: Scope, agent_id: str, number: int) -> Key:
    """Return the key of one version of a tenant's own agent."""
    return {"PK": own_agents(scope), "SK": f"{agent_versions(agent_id)}{number:09d}"}


def agent_versions(agent_id: str) -> str:
    """Return what the sort keys of an agent's versions begin with."""
    return f"VERSION#{agent_id}#"


def procedures(scope: Scope, owner: str) -> str:
    """Return the partition of an agent's procedures, or of the tenant's, whose ``owner`` is empty."""
    return f"{scope.tenant_id}#~PROCEDURES#{owner}"


def procedure_version(scope: Scope, owner: str, slug: str, version: int) -> Key:
    """Return the key of one version of a procedure. The newest sorts last."""
    return {"PK": procedures(scope, owner), "SK": f"{procedure_versions(slug)}{version:06d}"}


def procedure_versions(slug: str) -> str:
    """Return the prefix of the sort keys of a procedure's versions."""
    return f"VERSION#{slug}#"


def approved_procedure(scope: Scope, owner: str, slug: str) -> Key:
    """Return the key of the copy of a procedure's approved version."""
    return {"PK": procedures(scope, owner), "SK": f"{APPROVED}{slug}"}


def procedure_source(scope: Scope, owner: str, source: str) -> Key:
    """Return the key of the note of which version was made of a source."""
    return {"PK": procedures(scope, owner), "SK": f"SOURCE#{hashlib.sha256(source.encode()).hexdigest()}"}


def procedure_uses(scope: Scope, owner: str, slug: str, version: int) -> Key:
    """Return the key of how often a version was used."""
    return {"PK": procedures(scope, owner), "SK": f"USES#{slug}#{version:06d}"}


def procedure_use(scope: Scope, owner: str, slug: str, run_id: str) -> Key:
    """Return the key of the note that a run's use was counted. Clients may choose the run's id."""
    return {"PK": procedures(scope, owner), "SK": f"USED#{slug}#{hashlib.sha256(run_id.encode()).hexdigest()}"}


def procedure_listing(scope: Scope, owner: str, status: str) -> str:
    """Return the partition of the ``listing`` index with the versions in a status."""
    return f"{procedures(scope, owner)}#{status}"


def private_skills(agent_id: str) -> str:
    """Return what the sort keys of a user's private skills of an agent begin with."""
    return f"{PRIVATE_SKILL}{agent_id}#"


def private_skill(scope: Scope, agent_id: str, slug: str) -> Key:
    """Return the key of a private skill, in its maker's partition."""
    return {"PK": user_listing(scope), "SK": f"{private_skills(agent_id)}{slug}"}


def documents(scope: Scope, agent_id: str) -> str:
    """Return the partition of an agent's documents. It is also the one of the ``listing`` index with them."""
    return f"{scope.tenant_id}#~DOCUMENTS#{agent_id}"


def documents_place(partition: str) -> tuple[str, str] | None:
    """Return tenant and agent of a partition of ``documents``, None for another partition."""
    tenant_id, _, rest = partition.partition("#")
    kind, _, agent_id = rest.partition("#")
    return (tenant_id, agent_id) if kind == "~DOCUMENTS" else None


def document(scope: Scope, agent_id: str, document_id: str) -> Key:
    return {"PK": documents(scope, agent_id), "SK": f"{DOCUMENT}{document_id}"}


def document_place(key: Key) -> tuple[str, str, str]:
    """Return tenant, agent and id of a document's key."""
    tenant_id, _, agent_id = key["PK"].split("#")
    return tenant_id, agent_id, key["SK"].removeprefix(DOCUMENT)


def sources(scope: Scope, agent_id: str) -> str:
    """Return the partition of the sources of an agent's documents."""
    return f"{scope.tenant_id}#~SOURCES#{agent_id}"


def source(scope: Scope, agent_id: str, source_id: str) -> Key:
    return {"PK": sources(scope, agent_id), "SK": f"{SOURCE}{source_id}"}


def source_place(key: Key) -> tuple[str, str, str]:
    """Return tenant, agent and id of a source's key."""
    tenant_id, _, agent_id = key["PK"].split("#")
    return tenant_id, agent_id, key["SK"].removeprefix(SOURCE)


def source_pages(scope: Scope, agent_id: str, source_id: str) -> str:
    """Return the partition of the pages of a source."""
    return f"{scope.tenant_id}#~PAGES#{agent_id}#{source_id}"


def source_page(scope: Scope, agent_id: str, source_id: str, document_id: str) -> Key:
    """Return the key of a page, by the id of its document."""
    return {"PK": source_pages(scope, agent_id, source_id), "SK": f"{SOURCE_PAGE}{document_id}"}


def source_shards() -> list[str]:
    """Return every partition of the ``idle`` index with sources."""
    return [f"~SOURCES#{number}" for number in range(SOURCE_SHARDS)]


def source_shard(source_id: str) -> str:
    """Return the partition of the ``idle`` index for a source."""
    return source_shards()[shard(source_id, SOURCE_SHARDS)]


def ingestion_shards() -> list[str]:
    """Return every partition of the ``idle`` index with documents."""
    return [f"~INGESTING#{number}" for number in range(INGESTION_SHARDS)]


def ingestion_shard(document_id: str) -> str:
    """Return the partition of the ``idle`` index for a document whose pipeline has not ended."""
    return ingestion_shards()[shard(document_id, INGESTION_SHARDS)]


def capture_allowance(scope: Scope, agent_id: str, day: str) -> Key:
    """Return the key of the count of an agent's captures on a day."""
    return {"PK": f"{scope.tenant_id}#~LEARNING", "SK": f"DAY#{day}#{agent_id}"}


def evaluations(scope: Scope) -> str:
    """Return the partition of a tenant's published evaluations."""
    return f"{scope.tenant_id}#~EVALUATIONS"


def evaluation(scope: Scope, evaluation_id: str) -> Key:
    """Return the key of an evaluation in the list, whose ids are in the order of time."""
    return {"PK": evaluations(scope), "SK": f"{EVALUATION}{evaluation_id}"}


def evaluation_id_of(sort: str) -> str:
    """Return the id in a sort key of ``evaluation``."""
    return sort.removeprefix(EVALUATION)


def evaluation_details(scope: Scope, evaluation_id: str) -> Key:
    """Return the key of an evaluation's metrics and cases, which lists do not read."""
    return {"PK": evaluations(scope), "SK": f"DETAILS#{evaluation_id}"}
