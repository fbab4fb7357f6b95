"""The table's keys of agents' records: definitions, procedures, documents and their sources."""

from __future__ import annotations

import hashlib

from baton.adapters.dynamodb.key_forms import Key, ListedKey, MemberKey, Partition, Shards, TenantPartition
from baton.adapters.dynamodb.keys import user_listing
from baton.domain.tenants.identity import Scope

APPROVED = "APPROVED#"
PRIVATE_SKILL = "SKILL#"
DOCUMENT = "DOC#"
SOURCE = "SOURCE#"
SOURCE_PAGE = "PAGE#"
EVALUATION = "EVAL#"

own_agents = TenantPartition("AGENTS")
"""The partition of a tenant's own agents."""
evaluations = TenantPartition("EVALUATIONS")
"""The partition of a tenant's published evaluations."""
procedures = Partition("PROCEDURES")
"""The partition of an agent's procedures, or of the tenant's, whose owner is empty."""
documents = Partition("DOCUMENTS")
"""The partition of an agent's documents, in the table and in the ``listing`` index."""
sources = Partition("SOURCES")
"""The partition of the sources of an agent's documents."""
source_shards = Shards("SOURCES", 2)
"""The partitions of the ``idle`` index for sources. A refresh writes to them a few times."""
ingestion_shards = Shards("INGESTING", 2)
"""The partitions of the ``idle`` index for documents in a pipeline. A document is written to them a few times."""

document = MemberKey(documents, DOCUMENT)
source = MemberKey(sources, SOURCE)
approved_procedure = MemberKey(procedures, APPROVED)
"""The copy of a procedure's approved version, by its slug."""
evaluation = ListedKey(evaluations, EVALUATION)
"""An evaluation in the list. Ids of evaluations sort by time."""
evaluation_details = ListedKey(evaluations, "DETAILS#")
"""An evaluation's metrics and cases, which lists do not read."""


def agent_list(scope: Scope) -> Key:
    """Return the key of the list of a tenant's own agents."""
    return {"PK": own_agents(scope), "SK": "LIST"}


def private_skill(scope: Scope, agent_id: str, slug: str) -> Key:
    """Return the key of a private skill, in its maker's partition."""
    return {"PK": user_listing(scope), "SK": f"{private_skills(agent_id)}{slug}"}


def agent_version(scope: Scope, agent_id: str, number: int) -> Key:
    """Return the key of one version of a tenant's own agent."""
    return {"PK": own_agents(scope), "SK": f"{agent_versions(agent_id)}{number:09d}"}


def agent_versions(agent_id: str) -> str:
    """Return the prefix of the sort keys of an agent's versions."""
    return f"VERSION#{agent_id}#"


def procedure_version(scope: Scope, owner: str, slug: str, version: int) -> Key:
    """Return the key of one version of a procedure. The newest sorts last."""
    return {"PK": procedures(scope, owner), "SK": f"{procedure_versions(slug)}{version:06d}"}


def procedure_versions(slug: str) -> str:
    """Return the prefix of the sort keys of a procedure's versions."""
    return f"VERSION#{slug}#"


def procedure_source(scope: Scope, owner: str, source: str) -> Key:
    """Return the key of the note that names the version that was made from a source."""
    return {"PK": procedures(scope, owner), "SK": f"SOURCE#{hashlib.sha256(source.encode()).hexdigest()}"}


def procedure_uses(scope: Scope, owner: str, slug: str, version: int) -> Key:
    """Return the key of the counts of a version's uses."""
    return {"PK": procedures(scope, owner), "SK": f"USES#{slug}#{version:06d}"}


def procedure_use(scope: Scope, owner: str, slug: str, run_id: str) -> Key:
    """Return the key of the note that a run's use was counted. Clients may choose the run's id."""
    return {"PK": procedures(scope, owner), "SK": f"USED#{slug}#{hashlib.sha256(run_id.encode()).hexdigest()}"}


def procedure_listing(scope: Scope, owner: str, status: str) -> str:
    """Return the partition of the ``listing`` index with the versions in a status."""
    return f"{procedures(scope, owner)}#{status}"


def private_skills(agent_id: str) -> str:
    """Return the prefix of the sort keys of a user's private skills of an agent."""
    return f"{PRIVATE_SKILL}{agent_id}#"


def source_pages(scope: Scope, agent_id: str, source_id: str) -> str:
    """Return the partition of the pages of a source."""
    return f"{scope.tenant_id}#~PAGES#{agent_id}#{source_id}"


def source_page(scope: Scope, agent_id: str, source_id: str, document_id: str) -> Key:
    """Return the key of a page, by the id of its document."""
    return {"PK": source_pages(scope, agent_id, source_id), "SK": f"{SOURCE_PAGE}{document_id}"}


def capture_allowance(scope: Scope, agent_id: str, day: str) -> Key:
    """Return the key of the count of an agent's captures on a day."""
    return {"PK": f"{scope.tenant_id}#~LEARNING", "SK": f"DAY#{day}#{agent_id}"}
